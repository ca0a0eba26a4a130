//! The shape of a case: a past, one operation or several steps, and what must come of it.
//!
//! Data only; [`read`](super::read()) makes it out of YAML, and [`Runner`](super::Runner) runs it. Whatever is compared or
//! answered keeps its place in the file, so that a report can point to it. A case file has the name of its case:
//!
//! ```yaml
//! name: too-much
//! about: A refund above 1000 is blocked.
//! manifest: {files: [../agent.yaml, ../tools], agent: clerk}   # or whole manifests: {agent: {…}, tools: [{…}]}
//! state:                                                       # what happened so far
//!   - input: {message: My lamp is broken.}
//!   - call: {fn: orders, args: {id: o-1}, output: {total: 5000}}
//! mocks: {audit: [{output: {id: a-1}}]}                        # what executions return, in turn
//! call: {op: invoke, fn: refund, args: {order: o-1, amount: 5000}}
//! expect: {decision: block, message: 5000 is too much.}        # what is not named is not checked
//! ```
//!
//! In the place of `call` and `resume` may stand `steps`: those of a recorded task, each with an `expect` of its own.
//!
//! ```yaml
//! steps:
//!   - llm: {calls: [{id: c1, fn: orders, args: {id: o-1}}, {id: c2, fn: refund, args: {order: o-1, amount: 50}}]}
//!     expect: {calls: {c1: {decision: allow}, c2: {decision: wait, waits_for: [c1]}}}
//!   - results: [{id: c1, output: {total: 60}}]
//!     expect: {calls: {c2: {decision: suspend, reviewer: lead@example.com}}}
//!   - review: {call: c2, verdict: approved}
//!     expect: {decision: allow}
//! expect: {task: active}                                       # in the end
//! ```

use super::background::Background;
use super::counted::CountedAmount;
use super::host_answers::HostAnswers;
use super::step::ScriptStep;
use crate::cel::Json;
use crate::context::Scope;
use crate::manifest::mode::Mode;
use crate::manifest::node::Node;
use crate::source::{Embedded, Place};
use crate::task::{Call, CallResult, ModelCall, Operation, TemplateKind};
use std::collections::BTreeMap;

/// One case.
#[derive(Clone, Debug)]
pub struct Case {
    /// Its name: that of its file, without the ending.
    pub name: Embedded,
    /// The requirements that it shows.
    pub requirements: Vec<String>,
    /// One sentence about it.
    pub about: String,
    /// The manifests of the task.
    pub manifests: Manifests,
    /// Whether its rules decide, or are only observed.
    pub mode: Mode,
    /// Namespace settings; flat keys.
    pub settings: BTreeMap<String, Json>,
    /// Tokens by provider.
    pub auth: BTreeMap<String, String>,
    /// The data that the task starts with, and its history before the case.
    pub background: Background,
    /// The results of executions in turn, by function key; the last one repeats.
    pub mocks: BTreeMap<String, Vec<CallResult>>,
    /// Who approves (`true`) or denies when asked; a reviewer not named is undecided.
    pub reviews: BTreeMap<String, bool>,
    /// What functions of the host give.
    pub functions: HostAnswers,
    /// Files below the mount prefix.
    pub files: BTreeMap<String, String>,
    /// What counters hold at the beginning.
    pub counters: Vec<CountedAmount>,
    /// The operation under test, or several.
    pub operation: TestedOperation,
    /// Where it stands.
    pub operation_place: Place,
    /// The verdicts that are given, one for each time the operation suspends.
    pub resume: Vec<ReviewAnswer>,
    /// The expectations.
    pub expect: Vec<Check>,
    /// Its keys as they are written, with those that it shares with others of its file.
    pub(super) written: Node,
}

/// Where the manifests of a case stand.
#[derive(Clone, Debug)]
pub enum Manifests {
    /// In the case itself: each with the path that findings about it begin with; that of the agent under test is empty.
    Inline(Vec<(String, Node)>),
    /// In files and folders, named relative to the folder of the case.
    Files {
        /// The paths as written.
        paths: Vec<Embedded>,
        /// The name of the agent under test.
        agent: Embedded,
    },
    /// Nowhere: the operation brings its own.
    None,
}

/// The operation under test.
#[derive(Clone, Debug)]
pub enum TestedOperation {
    /// Are the manifests valid?
    Validate,
    /// Which functions does the model see?
    Functions,
    /// Which parameters of a function does the model see?
    Schema(Embedded),
    /// What are the arguments of a call, without middleware?
    Binding(Call),
    /// What does an operation on the task come to?
    Operation(Operation),
    /// Does the result of a call that is let through pass `after`?
    After(Call, CallResult),
    /// Does the answer to a request pass, if the request goes to the model?
    ModelAfter(ModelCall, Json),
    /// What is the prompt?
    Prompt,
    /// What does an expression give in a scope?
    Cel {
        /// The scope.
        scope: Scope,
        /// The expression.
        expr: Embedded,
        /// The variables that are bound.
        bound: BoundVariables,
    },
    /// What does a template give in a scope?
    Interpolate {
        /// Where the template would stand.
        kind: TemplateKind,
        /// The template.
        template: Embedded,
        /// The resolved parameters, an object.
        parameters: Option<Json>,
        /// The variables that are bound.
        bound: BoundVariables,
    },
    /// What does a bundle bring?
    Bundle(Embedded),
    /// How long does a subscription live?
    Subscription {
        /// The capability.
        capability: Embedded,
        /// The event.
        event: Embedded,
    },
    /// Which values have the parameters of a capability had?
    AllowList(Embedded),
    /// Does an event make a task, and what does it begin with?
    Trigger {
        /// The name of the trigger; without it the first of the agent.
        name: Option<Embedded>,
        /// The payload of the event.
        payload: Json,
    },
    /// What comes of several operations, one after the other?
    Steps(Vec<TestedStep>),
}

/// A step of a case, and what must come of it.
#[derive(Clone, Debug)]
pub struct TestedStep {
    /// The step.
    pub step: ScriptStep,
    /// The expectations about its decision; of several results that of the first.
    pub expect: Vec<Check>,
    /// The expectations about calls, by their names.
    pub calls: Vec<(Embedded, Vec<Check>)>,
}

impl TestedOperation {
    /// The word for it in a case.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Validate => "validate",
            Self::Functions => "functions",
            Self::Schema(_) => "schema",
            Self::Binding(_) => "binding",
            Self::Operation(operation) => operation.name(),
            Self::After(..) => "after",
            Self::ModelAfter(..) => "model_after",
            Self::Prompt => "prompt",
            Self::Cel { .. } => "cel",
            Self::Interpolate { .. } => "interpolate",
            Self::Bundle(_) => "bundle",
            Self::Subscription { .. } => "subscription",
            Self::AllowList(_) => "allowlist",
            Self::Trigger { .. } => "trigger",
            Self::Steps(_) => "steps",
        }
    }
}

/// The variables of a scope that a case gives a value; one not given is unbound.
#[derive(Clone, Debug, Default)]
pub struct BoundVariables {
    /// `input`
    pub input: Option<Json>,
    /// `output`
    pub output: Option<Json>,
    /// `event`
    pub event: Option<Json>,
}

/// The verdict of a reviewer.
#[derive(Clone, Debug)]
pub struct ReviewAnswer {
    /// Who gives it.
    pub reviewer: Embedded,
    /// Whether it approves.
    pub approved: bool,
}

/// One key of `expect`, or one expression of its `context`.
#[derive(Clone, Debug)]
pub struct Check {
    /// Where it stands.
    pub place: Place,
    /// The expectations.
    pub want: Want,
}

/// An expectation about the outcome of the operation.
#[derive(Clone, Debug)]
pub enum Want {
    /// A word or text; `None` if it must be absent.
    Text(Aspect, Option<String>),
    /// `value`
    Value(Json),
    /// `message_contains`: each of these.
    MessageContains(Vec<String>),
    /// `message_excludes`: there is a message, and it contains none of these texts.
    MessageExcludes(Vec<String>),
    /// `waits_for`: the whole list.
    WaitsFor(Vec<String>),
    /// `notes`: the whole list.
    Notes(Vec<String>),
    /// `invoked`: the whole list, in order; the input where it is given.
    Invoked(Vec<(String, Option<Json>)>),
    /// `trace`: the whole list of steps and outcomes.
    Trace(Vec<(String, String)>),
    /// `observed`: the whole list of observed steps; of each the keys that are given.
    Observed(Vec<serde_json::Map<String, serde_json::Value>>),
    /// `terms`: of those of the call the keys that are given.
    Terms(Json),
    /// One of `labels`: an argument, all of them, or what the operation is about, and its labels.
    Labels(LabelsOf, Vec<String>),
    /// `exposes`: an object.
    Exposes(Json),
    /// One of `files`: a path and its content.
    File(String, String),
    /// What a counter holds afterwards.
    Counter(CountedAmount),
    /// `error_at`: the path of some error starts with it.
    ErrorAt(String),
    /// One of `warn_at`: the path of some warning starts with it.
    WarnAt(String),
    /// `no_warnings: true`
    NoWarnings,
    /// One of `context`: an expression over `context`, `c` and `now`, and its value.
    Context(Embedded, Json),
}

/// What has labels.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LabelsOf {
    /// `input`: all arguments of a call, or the message that came in.
    Input,
    /// `arguments.NAME`: one argument of a call.
    Argument(String),
    /// `output`: the result of a call.
    Output,
}

/// The keys of `expect` that hold one text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Aspect {
    /// `decision`
    Decision,
    /// `message`
    Message,
    /// `user_message`
    UserMessage,
    /// `stage`
    Stage,
    /// `limit`
    Limit,
    /// `reason`
    Reason,
    /// `reviewer`
    Reviewer,
    /// `question`
    Question,
    /// `enforced`
    Enforced,
    /// `enforced_message`
    EnforcedMessage,
    /// `task`
    Task,
}

impl Aspect {
    /// All of them.
    pub const ALL: [Self; 11] = [
        Self::Decision,
        Self::Message,
        Self::UserMessage,
        Self::Stage,
        Self::Limit,
        Self::Reason,
        Self::Reviewer,
        Self::Question,
        Self::Enforced,
        Self::EnforcedMessage,
        Self::Task,
    ];

    /// The key.
    #[must_use]
    pub const fn key(self) -> &'static str {
        match self {
            Self::Decision => "decision",
            Self::Message => "message",
            Self::UserMessage => "user_message",
            Self::Stage => "stage",
            Self::Limit => "limit",
            Self::Reason => "reason",
            Self::Reviewer => "reviewer",
            Self::Question => "question",
            Self::Enforced => "enforced",
            Self::EnforcedMessage => "enforced_message",
            Self::Task => "task",
        }
    }
}
