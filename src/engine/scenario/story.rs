//! The steps of a case through the engine, and the expectations of each compared.
//!
//! In: a case with steps, and its task. Out: the mismatches of all steps and of the end, and what was found where the first one is. A
//! step that cannot have happened breaks the case.

use super::agent::full_name;
use super::case::{Aspect, Case, Check, TestedStep, Want};
use super::expect::{Found, Mismatch, compare};
use super::explain::ExplainedOperation;
use super::messages;
use super::observed::{counted, decided, decided_message, failed, of_context};
use super::replay::Replay;
use super::replayed::{Happened, ReplayedEvent};
use super::step::ScriptStep;
use crate::diagnostic::Diagnostic;
use crate::task::{CallId, Operation, VerdictKind};

/// Plays the steps.
pub(super) fn tell(
    case: &Case,
    steps: &[TestedStep],
    replay: Replay,
    explained: &mut Vec<ExplainedOperation>,
) -> Result<(Vec<Mismatch>, Found), Box<Diagnostic>> {
    let all: Vec<ScriptStep> = steps.iter().map(|tested| tested.step.clone()).collect();
    let mut story = Story { replay, mismatches: Vec::new(), blamed: None };
    let mut ahead = &*all;
    let mut end = Found::default();
    for (at, tested) in steps.iter().enumerate() {
        ahead = ahead.get(1..).unwrap_or_default();
        let mut events = Vec::new();
        let taken = story.replay.step(&tested.step, ahead, &mut events);
        let told = story.replay.explanation();
        let (number, agent) = (at.saturating_add(1), full_name(story.replay.task().policy().agent()));
        explained.extend(ExplainedOperation::of_events(number, agent, &events, told));
        let rejected = match taken {
            Ok(()) => None,
            // an answer that is not for this person changes nothing, so a case may expect that
            Err(finding) if finding.code == messages::NOT_ADDRESSED && expects_decision(&tested.expect) => {
                Some(failed(VerdictKind::Rejected.as_str(), Some(finding.message)))
            }
            Err(impossible) => return story.broken_off(impossible),
        };
        let mut found = rejected.or_else(|| events.first().map(of_event)).unwrap_or_default();
        found.invoked = events.iter().flat_map(|event| event.invoked.clone()).collect();
        story.compare(&format!("steps[{at}]."), &tested.expect, &found);
        for (call, checks) in &tested.calls {
            story.compare(
                &format!("steps[{at}].{}.", call.text),
                checks,
                &story.of_call(&events, &call.text),
            );
        }
        end = events.last().map(of_event).unwrap_or_default();
    }
    end.invoked.clone_from(&story.replay.world.invoked);
    story.compare("", &case.expect, &end);
    let found = story.blamed.unwrap_or(end);
    Ok((story.mismatches, found))
}

/// Whether something is expected of the decision.
fn expects_decision(checks: &[Check]) -> bool {
    checks.iter().any(|check| matches!(check.want, Want::Text(Aspect::Decision, _)))
}

/// A case under way.
struct Story {
    replay: Replay,
    mismatches: Vec<Mismatch>,
    /// What was found where the first expectation did not hold.
    blamed: Option<Found>,
}

impl Story {
    /// A step that cannot have happened. If an expectation ahead of it does not hold, that is why, and the case has failed.
    fn broken_off(self, impossible: Box<Diagnostic>) -> Result<(Vec<Mismatch>, Found), Box<Diagnostic>> {
        let Some(mut found) = self.blamed else { return Err(impossible) };
        found.diagnostics.push(*impossible);
        Ok((self.mismatches, found))
    }

    /// Compares with what was found; `prefix` tells the keys of steps and calls from each other.
    fn compare(&mut self, prefix: &str, checks: &[Check], found: &Found) {
        let Replay { task, world, .. } = &self.replay;
        let counted = counted(checks, task, &world.counters, world.now);
        let mut found = Found { files: world.files.clone(), counted, ..found.clone() };
        found.set(Aspect::Task, Some(task.state().as_str()));
        found.labels.find(task);
        found.find_question(task);
        let mismatches = compare(checks, &found, |expr| of_context(task, &expr.text, world.now));
        if !mismatches.is_empty() {
            self.blamed.get_or_insert(found);
        }
        let named = mismatches.into_iter().map(|mismatch| {
            let key = format!("{prefix}{}", mismatch.key);
            Mismatch { key, ..mismatch }
        });
        self.mismatches.extend(named);
    }

    /// What a step has decided about a call; of one that it has decided nothing about, how it stands.
    fn of_call(&self, events: &[ReplayedEvent], name: &str) -> Found {
        let about = || events.iter().filter(|event| event.happened.call() == Some(name));
        let standing = || self.replay.task().standing(&CallId::from(name)).map(decided);
        let mut found = about().next_back().map(of_event).or_else(standing).unwrap_or_default();
        found.invoked = about().flat_map(|event| event.invoked.clone()).collect();
        found
    }
}

/// What was found with a decision; the value of one on a message is its text.
fn of_event(event: &ReplayedEvent) -> Found {
    let decision = event.decision.clone();
    match &event.happened {
        Happened::Operation(Operation::Input(_) | Operation::Output(_) | Operation::Event(_)) => {
            decided_message(decision)
        }
        Happened::Operation(Operation::Before(call) | Operation::Invoke(call)) => {
            let mut found = decided(decision);
            found.labels.made(&call.arguments);
            found
        }
        _ => decided(decision),
    }
}
