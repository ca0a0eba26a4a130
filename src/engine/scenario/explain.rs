//! Why cases and recorded tasks were decided as they were: each operation with every step and every expression.
//!
//! In: a recorded task, or what a case has carried out. Out: an [`ExplainedOperation`] for each operation, as data; as text it is made in `explain_text`.

use super::agent::full_name;
use super::replay::Replay;
use super::replayed::{Happened, ReplayedEvent};
use super::script::Script;
use crate::diagnostic::Diagnostic;
use crate::task::{Delivery, ExplainedDecision, Explanation, Operation, Origin, VerdictKind};
use serde::Serialize;

/// One operation, and what it went through.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ExplainedOperation {
    /// Its number among the operations of the case or the recorded task, from 1.
    pub number: usize,
    /// What it is, such as `before refund` or `call c1 refund`.
    pub called: String,
    /// What it came to: a verdict, or what a case calls the outcome.
    pub decision: Option<String>,
    /// What the model or the sender is told.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// The rule that decided.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decided_by: Option<Origin>,
    /// The steps and expressions.
    #[serde(flatten)]
    pub explanation: Explanation,
    /// The agent: namespace and name.
    pub agent: String,
    /// The limits that were reached, by name.
    #[serde(skip)]
    pub(super) limits: Vec<String>,
    /// The events that came: `capability/event`.
    #[serde(skip)]
    pub(super) events: Vec<String>,
}

impl ExplainedOperation {
    /// What a step of a recorded task has decided: of a turn the decision about the turn.
    pub(super) fn of_events(
        number: usize,
        agent: String,
        events: &[ReplayedEvent],
        explanation: Explanation,
    ) -> Option<Self> {
        let first = events.first()?;
        let decision = first.decision.clone().masked();
        let called: Vec<String> = events.iter().map(|event| event.happened.called()).collect();
        Some(Self {
            number,
            called: called.join(", "),
            decision: Some(decision.verdict.kind().to_string()),
            message: decision.verdict.message().map(str::to_owned),
            decided_by: decision.decided_by,
            explanation,
            agent,
            limits: events
                .iter()
                .filter_map(|event| Some(event.decision.verdict.limit()?.which.to_string()))
                .collect(),
            events: events.iter().filter_map(|event| event.happened.event_name()).collect(),
        })
    }

    /// A decision that a store has, as the event of this number.
    #[must_use]
    pub fn of_stored(
        number: usize,
        agent: &str,
        operation: &Operation,
        explained: &ExplainedDecision,
    ) -> Self {
        let decision = &explained.decision;
        Self {
            number,
            called: operation.called(),
            decision: Some(decision.verdict.kind().to_string()),
            message: decision.verdict.message().map(str::to_owned),
            decided_by: decision.decided_by.clone(),
            explanation: explained.explanation.clone(),
            agent: agent.to_owned(),
            limits: decision.verdict.limit().iter().map(|limit| limit.which.to_string()).collect(),
            events: Vec::new(),
        }
    }

    /// The same with its steps of this name alone, such as `before[0]`; nothing if it has none.
    #[must_use]
    pub fn step_alone(mut self, name: &str) -> Option<Self> {
        self.explanation.steps = self.explanation.steps_named(name).cloned().collect();
        self.explanation.expressions.clear();
        (!self.explanation.steps.is_empty()).then_some(self)
    }

    /// Whether it went on.
    #[must_use]
    pub fn went_on(&self) -> bool {
        let goes_on = [VerdictKind::Allow, VerdictKind::Route].map(|verdict| verdict.to_string());
        self.decision.as_ref().is_some_and(|decision| goes_on.contains(decision))
    }
}

impl Happened {
    /// `capability/event`, if it is an event.
    fn event_name(&self) -> Option<String> {
        match self {
            Self::Operation(Operation::Event(Delivery { capability, event, .. })) => {
                Some(format!("{capability}/{event}"))
            }
            _ => None,
        }
    }

    /// A few words for it: `call c1 refund`.
    #[must_use]
    pub fn called(&self) -> String {
        match self {
            Self::Operation(operation) => match (operation, operation.call()) {
                (Operation::ModelBefore(_), Some(id)) => format!("request {id}"),
                (Operation::ModelAfter { .. }, Some(id)) => format!("answer {id}"),
                (Operation::Before(call) | Operation::Invoke(call), Some(id)) => {
                    format!("call {id} {}", call.function)
                }
                (Operation::Withdraw { .. }, Some(id)) => format!("withdrawal {id}"),
                (Operation::ModelTurn(_), _) => "model turn".to_owned(),
                (Operation::Event(Delivery { capability, event, .. }), _) => {
                    format!("event {event} of {capability}")
                }
                _ => operation.called(),
            },
            Self::Decided { id } => format!("call {id}"),
            Self::Result { function, reported } => format!("result {} {function}", reported.call),
            Self::Review { reviewer, call, .. } => match call {
                Some(call) => format!("review of call {call} by {reviewer}"),
                None => format!("review by {reviewer}"),
            },
        }
    }
}

/// Plays a recorded task to its end, and explains each of its steps. `replay` is its beginning.
///
/// # Errors
/// A step that cannot have happened. What was explained until then is in `explained`.
pub fn explain_script(
    script: &Script,
    replay: Replay,
    explained: &mut Vec<ExplainedOperation>,
) -> Result<(), Box<Diagnostic>> {
    let mut replay = replay.explaining();
    let mut ahead = &*script.steps;
    let mut number: usize = 0;
    while let Some((step, behind)) = ahead.split_first() {
        ahead = behind;
        number = number.saturating_add(1);
        let mut events = Vec::new();
        let taken = replay.step(step, ahead, &mut events);
        let told = replay.explanation();
        let agent = full_name(replay.task().policy().agent());
        explained.extend(ExplainedOperation::of_events(number, agent, &events, told));
        taken?;
    }
    Ok(())
}
