//! What an operation came to, in one shape wherever its task is kept.
//!
//! In: what the engine says, or what a store or a server has answered. Out: the engine's own decision, with what it is about and what it
//! asks. Bindings show it as a value of their language.

use celador::cel::Json;
use celador::task::{CallId, DecidedCall, DecidedKind, Decision, Request, VerdictKind};
use serde::Serialize;

/// What an operation came to.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Decided {
    /// The kind of operation.
    #[serde(skip_serializing_if = "DecidedKind::is_call")]
    pub kind: DecidedKind,
    /// The function of a call, where it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub function: Option<String>,
    /// The decision.
    #[serde(flatten)]
    pub decision: Decision,
    /// What it asks, under the name in `question`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub asks: Option<Request>,
}

/// What came of a step.
#[derive(Clone, Debug, PartialEq)]
pub enum Stepped {
    /// One operation.
    One(Decided),
    /// A turn, or several results.
    Several(Several),
}

/// What a turn of the model came to, or the results of several calls.
#[derive(Clone, Debug, PartialEq)]
pub struct Several {
    /// Whether the turn is within the limits; without that no call is looked at. Nothing where results were reported.
    pub limits: Option<Decided>,
    /// How far each call came, in the order in which they were given.
    pub calls: Vec<Decided>,
    /// The calls, inputs and events that waited and were decided because of these.
    pub decided: Vec<Decided>,
}

impl Decided {
    pub(crate) fn of(kind: DecidedKind, function: Option<String>, decision: Decision) -> Self {
        Self { kind, function, decision, asks: None }
    }

    /// One of the calls that a decision tells of.
    pub fn of_call(call: DecidedCall) -> Self {
        let DecidedCall { call, kind, function, decision } = call;
        let function = Some(function).filter(|function| !function.is_empty());
        // the entry names it, and the decision itself only where the call goes on
        let decision = Decision { call: decision.call.or(Some(call)), ..decision };
        Self::of(kind, function, decision)
    }

    /// Whether the operation goes on.
    #[must_use]
    pub fn is_allowed(&self) -> bool {
        self.decision.is_allowed()
    }

    /// Whether it is not decided yet.
    #[must_use]
    pub fn is_pending(&self) -> bool {
        matches!(self.decision.verdict.kind(), VerdictKind::Suspend | VerdictKind::Wait)
    }

    /// Whether it waits for a person or for other calls, and not for its host.
    #[must_use]
    pub fn waits_for_others(&self) -> bool {
        match self.decision.verdict.kind() {
            VerdictKind::Wait => true,
            VerdictKind::Suspend => matches!(self.asks, Some(Request::Review { .. })),
            _ => false,
        }
    }

    /// The arguments that a call which is let through runs with.
    #[must_use]
    pub fn arguments(&self) -> Option<&Json> {
        let value = self.decision.verdict.value().filter(|value| value.root().is_object())?;
        (self.kind == DecidedKind::Call && self.decision.verdict.kind() == VerdictKind::Allow)
            .then_some(value)
    }

    /// The same where only its id says what kind of operation it is: what a task makes up for an input is `input-3`.
    pub(crate) fn with_kind_of(self, id: &CallId) -> Self {
        let made_up = [DecidedKind::Input, DecidedKind::Event, DecidedKind::Output];
        let is_of = |kind: &DecidedKind| {
            let number = id.as_str().strip_prefix(kind.as_str()).and_then(|rest| rest.strip_prefix('-'));
            number.is_some_and(|number| number.parse::<u64>().is_ok())
        };
        let is_message =
            self.decision.verdict.value().is_none_or(|value| value.root().get("message").is_some());
        let kind = made_up.into_iter().find(is_of).filter(|_| is_message && self.function.is_none());
        Self { kind: kind.unwrap_or(self.kind), ..self }
    }

    /// The id of the call, or of the input, event or response that waits.
    #[must_use]
    pub fn call(&self) -> Option<&CallId> {
        self.decision.call.as_ref()
    }
}
