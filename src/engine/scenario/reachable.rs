//! Whether a task can have the past that a case claims: who could have put it on record?
//!
//! In: an entry of `state`, and the policy of the task. Out: a finding for what no step of the policy can have produced: a label
//! that no step gives to this result or input, an execution of a function that no step invokes, a lock where no step locks.
//! What an expression computes may be anything. A case that brings its own manifests may claim a past that these leave out:
//! there labels alone are checked, if steps give any. Linear in the steps of the policy.

use super::messages;
use super::past::StateEntry;
use crate::context::LabelSet;
use crate::diagnostic::Diagnostic;
use crate::manifest::step::{Hook, OnFail};
use crate::policy::{Policy, Step, StepAction, StepLabels};
use crate::task::Past;
use std::collections::BTreeSet;
use std::sync::Arc;

/// The labels that some steps give.
#[derive(Default)]
struct GivenLabels {
    written: BTreeSet<Arc<str>>,
    /// Whether an expression gives labels, which may be any.
    is_any: bool,
}

impl GivenLabels {
    /// The labels that steps give to the task, or to what they are about.
    fn of<'p>(steps: impl Iterator<Item = &'p Step>, of_task: bool) -> Self {
        let mut given = Self::default();
        for step in steps {
            let StepAction::Label(labels) = &step.action else { continue };
            match &labels.labels {
                _ if labels.takes || labels.of_task != of_task => {}
                StepLabels::Written(written) => given.written.extend(written.iter().cloned()),
                StepLabels::Computed(_) => given.is_any = true,
            }
        }
        given
    }

    /// The first label that is not among them.
    fn missing<'l>(&self, labels: &'l LabelSet) -> Option<&'l Arc<str>> {
        labels.iter().filter(|_| !self.is_any).find(|label| !self.written.contains(*label))
    }
}

/// What no step of the policy can have put on record. `is_served` tells whether the policy is that of files.
pub(super) fn unreachable(entry: &StateEntry, policy: &Policy, is_served: bool) -> Option<Diagnostic> {
    if !is_served {
        let gives = |step: &Step| matches!(&step.action, StepAction::Label(labels) if !labels.takes);
        return policy.steps().any(gives).then(|| unreachable_labels(entry, policy)).flatten();
    }
    unreachable_labels(entry, policy).or_else(|| {
        let why = match &entry.past {
            Past::Invoke(call) => {
                let function = policy.position(&call.function)?;
                let is_invoked = policy.invoked().any(|invoked| invoked == function);
                (!is_invoked).then(|| messages::never_invoked(&call.function))?
            }
            Past::Locked(_) => {
                let locks = policy.steps().any(|step| step.on_fail == OnFail::LockTask);
                (!locks).then(messages::never_locked)?
            }
            _ => return None,
        };
        Some(messages::past_misfit(&entry.place, &why))
    })
}

/// A label of an entry that no step can have given.
fn unreachable_labels(entry: &StateEntry, policy: &Policy) -> Option<Diagnostic> {
    if let Past::TaskLabels(labels) = &entry.past {
        let given = GivenLabels::of(policy.steps(), true);
        return unreachable_label(entry, &given, labels, "the task");
    }
    let (given, labels, of) = match (&entry.past, entry.labels.as_ref()?) {
        (Past::Call(call), Past::CallLabels(labels)) => {
            let position = policy.position(&call.function)?;
            // the result of a delegation brings labels of the child
            if policy.function(position)?.is_delegation() {
                return None;
            }
            let steps = policy.steps_of_call(Hook::After, position).iter();
            (GivenLabels::of(steps, false), labels, format!("a result of `{}`", call.function))
        }
        (Past::Input(_), Past::InputLabels(labels)) => {
            let steps = policy.guardrails(Hook::GuardrailBefore).iter();
            (GivenLabels::of(steps, false), labels, "an input".to_owned())
        }
        _ => return None,
    };
    unreachable_label(entry, &given, labels, &of)
}

fn unreachable_label(
    entry: &StateEntry,
    given: &GivenLabels,
    labels: &LabelSet,
    of: &str,
) -> Option<Diagnostic> {
    let missing = given.missing(labels)?;
    let known: Vec<&str> = given.written.iter().map(|label| &**label).collect();
    Some(messages::unreachable_label(&entry.place, missing, of, &known))
}
