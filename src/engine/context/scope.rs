//! Where an expression may stand, and which variables and functions it may name there, as the specification says.
//!
//! In: a [`Scope`]. Out: its variables in the order of their slots, each a [`Root`] with its names, and its functions. Bindings
//! of an invoke step are expressions of the scope of their step (`MW-13`), so they have none here.

use super::function::{FILE, HASH, MOUNT, PUT, REVIEW, WITHIN};
use super::pseudonym_functions::{HASHING, PSEUDONYMS};
use crate::cel::Function;
use crate::detect::DETECTION;
#[cfg(feature = "parsers")]
use crate::parsers::PARSERS;

/// A build without parsers has none of their functions: a policy that calls one does not load.
#[cfg(not(feature = "parsers"))]
const PARSERS: &[Function] = &[];

/// Where an expression stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Scope {
    /// `assert`, `transform` and invoke bindings in `before` and `before_first` of a capability (`CEL-25`).
    Before,
    /// A `condition` there: the same without `review` (`CEL-36`).
    BeforeCondition,
    /// `assert`, `transform` and invoke bindings in `after` of a capability (`CEL-26`).
    After,
    /// A `condition` there.
    AfterCondition,
    /// `guardrails.before` (`CEL-27`).
    GuardrailBefore,
    /// `guardrails.after` (`CEL-28`).
    GuardrailAfter,
    /// `model.before` of a policy document.
    ModelBefore,
    /// `model.after` of a policy document.
    ModelAfter,
    /// `tools` of a policy document: tools that a task brings, before it begins.
    Tools,
    /// `bindings` of a capability (`CEL-29`).
    Binding,
    /// `execute.cel.expression` of a tool (`CEL-30`).
    CelTool,
    /// `exposes` of an agent (`CEL-31`).
    Exposes,
    /// The prompt of an agent, whose placeholders are paths of this scope (`INT-11`).
    Prompt,
    /// `receive.filter` of an event (`CEL-32`).
    Filter,
    /// A value of an event's map of names, from a webhook or subscription (`EVT-08`).
    EventField,
    /// The same from a poll.
    PollField,
    /// `poll.detect` (`TOOL-13`).
    PollDetect,
    /// `source.before` of a trigger (`CEL-33`).
    Trigger,
    /// The capability script of the model: no variable at all (`CEL-34`).
    Script,
}

/// A variable of some scope.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Root {
    /// `context`, also `c`
    Context,
    /// `input`, also `i`
    Input,
    /// `output`, also `o`
    Output,
    /// `event`
    Event,
    /// `now`
    Now,
    /// `runtime`
    Runtime,
    /// `mount`
    Mount,
    /// `parameters`
    Parameters,
    /// `item` of a poll
    Item,
    /// `response` of a poll
    Response,
    /// `poll`
    Poll,
    /// `counters` of a policy document
    Counters,
    /// `invoked` of a policy document
    Invoked,
    /// `usage` of a call of the model
    Usage,
    /// `call`, in steps of policies
    Call,
    /// `tool` that a task brings, in checks of tools
    Tool,
}

impl Root {
    /// All of them.
    pub const ALL: &[Self] = &[
        Self::Context,
        Self::Input,
        Self::Output,
        Self::Event,
        Self::Now,
        Self::Runtime,
        Self::Mount,
        Self::Parameters,
        Self::Item,
        Self::Response,
        Self::Poll,
        Self::Counters,
        Self::Invoked,
        Self::Usage,
        Self::Call,
        Self::Tool,
    ];

    /// The name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Context => "context",
            Self::Input => "input",
            Self::Output => "output",
            Self::Event => "event",
            Self::Now => "now",
            Self::Runtime => "runtime",
            Self::Mount => "mount",
            Self::Parameters => "parameters",
            Self::Item => "item",
            Self::Response => "response",
            Self::Poll => "poll",
            Self::Counters => "counters",
            Self::Invoked => "invoked",
            Self::Usage => "usage",
            Self::Call => "call",
            Self::Tool => "tool",
        }
    }

    /// The name that a short one stands for; any other name is its own.
    #[must_use]
    pub fn long_name(name: &str) -> &str {
        let aliased = Self::ALL.iter().find(|root| root.alias() == Some(name));
        aliased.map_or(name, |root| root.name())
    }

    /// What it is, in a line for the reference.
    #[must_use]
    pub const fn about(self) -> &'static str {
        match self {
            Self::Context => "the task so far",
            Self::Input => {
                "the arguments of the call; in guardrails the message, around the model what is sent to it"
            }
            Self::Output => "the result of the call; in guardrails the response, around the model its answer",
            Self::Event => "the event that is handled, if one is",
            Self::Now => "the time of the operation",
            Self::Runtime => "the platform",
            Self::Mount => "where the files of the agent are",
            Self::Parameters => "what the agent has asked of the event, by name",
            Self::Item => "an item that a poll has found",
            Self::Response => "what a poll was answered",
            Self::Poll => "the poll",
            Self::Counters => "what the counters of the policy hold, ahead of the call",
            Self::Invoked => "what `invoke` steps of the policy gave, by their ids",
            Self::Usage => "what the call of the model uses: ahead of it the host's estimate",
            Self::Call => "the call at hand",
            Self::Tool => "a tool that a task brings, by what it says of itself",
        }
    }

    /// The short name, if there is one (`CEL-18`, `CEL-20`, `CEL-21`).
    #[must_use]
    pub const fn alias(self) -> Option<&'static str> {
        match self {
            Self::Context => Some("c"),
            Self::Input => Some("i"),
            Self::Output => Some("o"),
            _ => None,
        }
    }
}

impl Scope {
    /// All of them.
    pub const ALL: &[Self] = &[
        Self::Before,
        Self::BeforeCondition,
        Self::After,
        Self::AfterCondition,
        Self::GuardrailBefore,
        Self::GuardrailAfter,
        Self::ModelBefore,
        Self::ModelAfter,
        Self::Tools,
        Self::Binding,
        Self::CelTool,
        Self::Exposes,
        Self::Prompt,
        Self::Filter,
        Self::EventField,
        Self::PollField,
        Self::PollDetect,
        Self::Trigger,
        Self::Script,
    ];

    /// The variables of the scope, in the order of their slots. `mount` of bindings is there only where the agent has
    /// a mount, `call` of middleware only in steps of policies, `counters` and `invoked` only in those of a policy that has some, and
    /// `event` of middleware may be without a value.
    #[must_use]
    pub const fn roots(self) -> &'static [Root] {
        use Root::{
            Call, Context, Counters, Event, Input, Invoked, Item, Mount, Now, Output, Parameters, Poll,
            Response, Runtime, Tool, Usage,
        };
        match self {
            Self::Before | Self::BeforeCondition => {
                &[Context, Input, Now, Runtime, Event, Call, Counters, Invoked]
            }
            Self::After | Self::AfterCondition => {
                &[Context, Input, Output, Now, Runtime, Event, Call, Invoked]
            }
            Self::CelTool => &[Context, Input, Now, Runtime],
            Self::GuardrailBefore => &[Context, Input, Now, Runtime, Invoked],
            Self::ModelBefore => &[Context, Input, Now, Runtime, Usage, Counters, Invoked],
            Self::ModelAfter => &[Context, Input, Output, Now, Runtime, Usage, Invoked],
            Self::GuardrailAfter => &[Context, Output, Now, Runtime, Invoked],
            Self::Binding => &[Context, Now, Runtime, Mount],
            Self::Exposes => &[Context, Input, Output, Now, Runtime],
            Self::Prompt => &[Context, Now, Runtime],
            Self::Tools => &[Tool],
            Self::Filter => &[Event, Parameters],
            Self::EventField => &[Event],
            Self::PollField => &[Item],
            Self::PollDetect => &[Response, Poll],
            Self::Trigger => &[Event, Now],
            Self::Script => &[],
        }
    }

    /// Where its expressions stand, in words for the reference.
    #[must_use]
    pub const fn place(self) -> &'static str {
        match self {
            Self::Before => {
                "`before` and `before_first` of calls: `assert`, arguments of `invoke`, what steps set or answer"
            }
            Self::BeforeCondition => "`condition` there",
            Self::After => "`after` of calls: `assert`, `transform`, arguments of `invoke`, labels",
            Self::AfterCondition => "`condition` there",
            Self::GuardrailBefore => "`guardrails.before`",
            Self::GuardrailAfter => "`guardrails.after`",
            Self::ModelBefore => "`model.before` of a policy",
            Self::ModelAfter => "`model.after` of a policy",
            Self::Tools => "`tools` of a policy",
            Self::Binding => "`bindings` of a capability",
            Self::CelTool => "`execute.cel.expression` of a tool",
            Self::Exposes => "`exposes` of an agent",
            Self::Prompt => "braces of a prompt",
            Self::Filter => "`filter` of an event",
            Self::EventField => "names for parts of an event",
            Self::PollField => "names for parts of an item of a poll",
            Self::PollDetect => "`poll.detect`",
            Self::Trigger => "`source.before` of a trigger",
            Self::Script => "a script of the model",
        }
    }

    /// The functions beyond the language that the scope has: the specification's own, digests, what looks for personal data and
    /// secrets, and parsers of SQL, e-mail addresses and links; `file` only where the agent has a mount.
    #[must_use]
    pub const fn functions(self) -> &'static [&'static [Function]] {
        match self {
            Self::Before | Self::After => {
                &[PUT, HASH, WITHIN, DETECTION, HASHING, PSEUDONYMS, PARSERS, REVIEW]
            }
            Self::GuardrailBefore | Self::GuardrailAfter | Self::ModelBefore | Self::ModelAfter => {
                &[PUT, HASH, WITHIN, DETECTION, HASHING, PSEUDONYMS, PARSERS]
            }
            Self::CelTool => &[PUT, HASH, WITHIN, DETECTION, HASHING, PARSERS, REVIEW, MOUNT],
            Self::Script => &[FILE],
            Self::Tools | Self::Filter | Self::EventField | Self::PollField | Self::PollDetect => {
                &[PUT, HASH, DETECTION, PARSERS]
            }
            // the key is that of a task's policy, and there is no task yet
            Self::Trigger => &[PUT, HASH, WITHIN, DETECTION, PARSERS],
            _ => &[PUT, HASH, WITHIN, DETECTION, HASHING, PARSERS],
        }
    }

    /// Whether `input` and `output` are the entries under test, in the form of `GR-08`.
    #[must_use]
    pub const fn tests_messages(self) -> bool {
        matches!(self, Self::GuardrailBefore | Self::GuardrailAfter | Self::Exposes)
    }

    /// Whether it is of `before` or `after` of a capability, where an event may be handled.
    pub(super) const fn is_middleware(self) -> bool {
        matches!(self, Self::Before | Self::BeforeCondition | Self::After | Self::AfterCondition)
    }
}
