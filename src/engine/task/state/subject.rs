//! What an operation is about: a call, a script, an event, an input, an output or a call of the model.

use super::call_id::{CallId, DecidedKind};
use super::counting::CallCounters;
use super::effect::Request;
use super::model::ModelUnderWay;
use crate::cel::Json;
use crate::context::{InvocationId, Moment};
use crate::counter::{CounterId, CounterState};
use crate::manifest::step::Hook;
use crate::policy::{CounterReader, Origin, Policy, StepList};
use serde::{Deserialize, Serialize};

/// What an operation is about.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(in crate::task) enum Subject {
    /// A call by the model.
    Call(CallUnderWay),
    /// An event of a tool, on its way to become an input.
    Event(EventUnderWay),
    /// The last entry of `context.input`, not yet admitted.
    Input(Sender),
    /// The last entry of `context.output`, not yet delivered.
    Output,
    /// A call of the model, before it is made or when its answer has come.
    Model(ModelUnderWay),
    /// A script of the model; its exchanges are its finished calls.
    Script(ScriptUnderWay),
}

/// A script of the model.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(in crate::task) struct ScriptUnderWay {
    /// As the model wrote it.
    pub(in crate::task) source: String,
    /// The call under way, as the script puts it.
    pub(in crate::task) call: Option<Request>,
}

/// A call by the model.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(in crate::task) struct CallUnderWay {
    /// Its name, once somebody waits for it.
    #[serde(default)]
    pub(in crate::task) id: Option<CallId>,
    /// The position of the function in the policy.
    pub(in crate::task) function: usize,
    /// The resolved arguments.
    pub(in crate::task) arguments: Json,
    /// Whether an argument is missing or is not what the function declares. That a binding could not be evaluated is reported after the steps had
    /// their say (BND-08).
    pub(in crate::task) unbound: bool,
    /// How far the operation goes.
    pub(in crate::task) extent: Extent,
    /// What the model would receive, as the transforms so far left it.
    pub(in crate::task) output: Option<Json>,
    /// What the output is made of.
    #[serde(default, skip_serializing_if = "Made::is_by_function")]
    pub(in crate::task) made: Made,
    /// The entry on record, once it has run.
    pub(in crate::task) record: Option<InvocationId>,
    /// Whether a person or a policy gave its result in the tool's place.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(in crate::task) responded: bool,
    /// What it knows of the counters that it needs.
    #[serde(default, skip_serializing_if = "CallCounters::is_unread")]
    pub(in crate::task) counters: CallCounters,
    /// The counters by which the parent task decides it, as they were read.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(in crate::task) parent_counters: Vec<(CounterId, CounterState)>,
    /// The step of a policy that gave it, if one did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(in crate::task) answered_by: Option<Box<Origin>>,
    /// When it was let through, if it was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(in crate::task) started_at: Option<Moment>,
    /// The message that it was let through for, if it was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(in crate::task) message: Option<u32>,
}

impl CallUnderWay {
    /// A call at its beginning.
    pub(in crate::task) fn new(id: Option<CallId>, function: usize, arguments: Json, extent: Extent) -> Self {
        Self {
            id,
            function,
            arguments,
            unbound: false,
            extent,
            output: None,
            made: Made::default(),
            record: None,
            responded: false,
            counters: CallCounters::default(),
            parent_counters: Vec::new(),
            answered_by: None,
            started_at: None,
            message: None,
        }
    }
}

/// What the output of a call is made of, as far as secrets are concerned.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::task) enum Made {
    /// It is what the function gave.
    #[default]
    ByFunction,
    /// A transform made it, of a secret among other things.
    OfSecrets,
    /// A transform made it, of no secret.
    OfOthers,
}

impl Made {
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands a reference over")]
    fn is_by_function(&self) -> bool {
        *self == Self::ByFunction
    }
}

/// Where an input comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::task) enum Sender {
    /// Whoever talks to the task.
    Caller,
    /// An event, formatted.
    Event,
}

/// An event of a tool.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(in crate::task) struct EventUnderWay {
    /// The position of the event in the policy.
    pub(in crate::task) event: usize,
    /// What `event` is to expressions.
    pub(in crate::task) data: Json,
    /// The entry that it would become, as the transforms so far left it: an object with `message`.
    pub(in crate::task) entry: Json,
    /// What `input` is to its steps: `{message: text}` (EVT-12).
    pub(in crate::task) input: Json,
}

/// How far an operation on a call goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::task) enum Extent {
    /// To the decision whether it may run: the host runs it.
    Before,
    /// To what the model receives.
    Whole,
}

impl Subject {
    /// The capability of the call or event; guardrails have none, and for them it does not count.
    pub(in crate::task) fn capability(&self, policy: &Policy) -> usize {
        let capability = match self {
            Self::Call(call) => policy.function(call.function).map(|function| function.capability),
            Self::Event(event) => policy.events().get(event.event).map(|event| event.capability),
            Self::Input(_) | Self::Output | Self::Model(_) | Self::Script(_) => None,
        };
        capability.unwrap_or_default()
    }

    /// The steps of a list that it passes.
    pub(in crate::task) fn steps<'p>(&self, policy: &'p Policy, hook: Hook) -> StepList<'p> {
        match self {
            Self::Call(call) => policy.steps_of_call(hook, call.function),
            Self::Event(_) => policy.steps_of_event(hook, self.capability(policy)),
            Self::Input(_) | Self::Output => policy.guardrails(hook),
            Self::Model(_) => policy.steps_of_model(hook),
            // a script has no steps of its own
            Self::Script(_) => StepList::default(),
        }
    }

    /// The action or event that `match` selects steps by (MW-20, MW-21); guardrails have none, and run all of theirs.
    pub(in crate::task) fn selected<'p>(&self, policy: &'p Policy) -> Option<&'p str> {
        match self {
            Self::Call(call) => policy.function(call.function).map(|function| function.name.as_str()),
            Self::Event(event) => policy.events().get(event.event).map(|event| event.key.as_str()),
            Self::Input(_) | Self::Output | Self::Model(_) | Self::Script(_) => None,
        }
    }

    /// The kind of operation. Nobody waits for a script: its calls are what asks.
    pub(in crate::task) fn kind(&self) -> Option<DecidedKind> {
        match self {
            Self::Call(_) => Some(DecidedKind::Call),
            Self::Input(Sender::Caller) => Some(DecidedKind::Input),
            Self::Event(_) | Self::Input(Sender::Event) => Some(DecidedKind::Event),
            Self::Output => Some(DecidedKind::Output),
            Self::Model(_) => Some(DecidedKind::Model),
            Self::Script(_) => None,
        }
    }

    /// Whether it is a call that has not read its counters.
    pub(in crate::task) fn has_unread_counters(&self) -> bool {
        self.counters().is_some_and(|counters| counters.values().is_none())
    }

    /// What a call of a function or of the model knows of the counters that it needs.
    pub(in crate::task) fn counters(&self) -> Option<&CallCounters> {
        match self {
            Self::Call(call) => Some(&call.counters),
            Self::Model(model) => Some(&model.counters),
            Self::Event(_) | Self::Input(_) | Self::Output | Self::Script(_) => None,
        }
    }

    /// The same, to be changed.
    pub(in crate::task) fn counters_mut(&mut self) -> Option<&mut CallCounters> {
        match self {
            Self::Call(call) => Some(&mut call.counters),
            Self::Model(model) => Some(&mut model.counters),
            Self::Event(_) | Self::Input(_) | Self::Output | Self::Script(_) => None,
        }
    }

    /// What reads the counters.
    pub(in crate::task) fn counter_reader(&self) -> Option<CounterReader> {
        match self {
            Self::Call(call) => Some(CounterReader::Function(call.function)),
            Self::Model(_) => Some(CounterReader::Model),
            Self::Event(_) | Self::Input(_) | Self::Output | Self::Script(_) => None,
        }
    }

    /// Whether it is an answer of the model: what came back of a call of it, or a response.
    pub(in crate::task) fn is_answer(&self) -> bool {
        matches!(self, Self::Output | Self::Model(ModelUnderWay { answer: Some(_), .. }))
    }

    /// The call, if it is one.
    pub(in crate::task) fn call(&self) -> Option<&CallUnderWay> {
        match self {
            Self::Call(call) => Some(call),
            Self::Event(_) | Self::Input(_) | Self::Output | Self::Model(_) | Self::Script(_) => None,
        }
    }
}
