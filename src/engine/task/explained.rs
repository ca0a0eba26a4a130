//! An operation that was decided before, decided once more so that it can be explained.
//!
//! In: the operation, a copy of the task as it was, and the decision of that time. Out: an [`ExplainedDecision`]. Nothing of the task itself changes, and nobody is asked.

use super::operation::Operation;
use super::state::{Decision, Explanation, Progress, Task, TaskError};
use crate::cel::Timestamp;
use crate::counter::{CounterId, CounterState, Tally};
use serde::Serialize;
use std::collections::BTreeMap;

/// A decision and what it came of.
///
/// ```
/// use celador::task::{Call, Operation};
/// use celador::{Engine, EngineLimits, StartTask, User, VerdictKind};
/// # std::env::set_current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))?;
/// # let now: celador::Timestamp = "2026-06-01T12:00:00Z".parse()?;
///
/// let engine = Engine::open(&["examples/first-policy"], EngineLimits::default())?;
/// let user = User { id: "u-7".into(), ..User::default() };
/// let task = engine.start(StartTask::new("t-1", "shop", "clerk", user, now))?;
/// let arguments = celador::Json::from(&serde_json::json!({"amount": 2000}));
/// let call = Operation::Before(Call::new("payout", arguments));
///
/// // no rule of this agent counts across tasks
/// let explained = call.explained(task.copy()?, now, None, |_| Ok::<_, celador::TaskError>(Vec::new()))?;
/// assert_eq!(explained.decision.verdict.kind(), VerdictKind::Block);
/// assert_eq!(explained.explanation.steps[0].why_not[0].text, "amount at most 1000");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ExplainedDecision {
    /// The decision, as it comes out when the operation is taken once more.
    pub decision: Decision,
    /// Whether its verdict is of the kind that the event has. An answer that came later and other rules make it differ.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub same: Option<bool>,
    /// The steps and expressions.
    #[serde(flatten)]
    pub explanation: Explanation,
}

impl Operation {
    /// Takes the operation on a copy of its task, which is used up, and says what it came of. What manifests mark as secret is masked. `read` gives what counters
    /// across tasks held, for a decision that was made those of that time ([`Decision::counters_then`]). There are no settings here: a signed webhook is discarded at its signature.
    ///
    /// # Errors
    /// As [`Task::apply`], and those of `read`.
    ///
    /// # Cost
    /// That of the operation, and of what is written down about it.
    pub fn explained<E: From<TaskError>>(
        &self,
        mut copy: Task,
        at: Timestamp,
        stored: Option<&Decision>,
        read: impl FnMut(&[CounterId]) -> Result<Vec<CounterState>, E>,
    ) -> Result<ExplainedDecision, E> {
        copy.explain();
        let progress = copy.apply(self.clone(), &BTreeMap::new(), at)?;
        let decision = match copy.settle_counters(progress, read, at)? {
            Progress::Decided(decision) => decision,
            // a task that asks has a decision that says so
            Progress::Asks(question) => {
                copy.suspension_at(question.id).unwrap_or_else(|| Decision::suspended(question.id, None))
            }
        };
        let same = stored.map(|stored| stored.verdict.kind() == decision.verdict.kind());
        let explanation = copy.explanation().unwrap_or_default();
        Ok(ExplainedDecision { decision: decision.masked(), same, explanation })
    }
}

impl Decision {
    /// What counters across tasks held when this was decided; nothing if it does not tell what one of them held, as it may be a secret.
    #[must_use]
    pub fn counters_then(&self, counters: &[CounterId]) -> Option<Vec<CounterState>> {
        let states = counters.iter().map(|counter| {
            let mut used = self.counters.iter();
            let used = used.find(|used| used.is_of(counter))?;
            Some(CounterState { tally: Tally::of(used.counted?), ..CounterState::default() })
        });
        states.collect()
    }
}
