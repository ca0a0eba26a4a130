//! Evidence of a search: how many tasks were tried, how many of them reached the rule in question, and why the others did not.
//!
//! In: one entry for each task. Out: counts, and the reasons with their counts, the most frequent first. A search without a task that reached the rule says nothing
//! about the rule.

use crate::task::{Decision, Verdict};
use serde::Serialize;

/// The most reasons that are told apart; tasks with further reasons are counted under [`OTHER`].
const MAX_REASONS: usize = 16;

/// The reason of tasks beyond [`MAX_REASONS`].
const OTHER: &str = "other reasons";

/// The tasks of a search.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Evidence {
    /// Number of tasks, payloads, runs or calls that were tried.
    pub tried: usize,
    /// Number of those whose evaluation reached the rule.
    pub reached: usize,
    /// The reasons for which the others did not, the most frequent first.
    pub rejected: Vec<Rejection>,
}

/// A reason for which tasks did not reach a rule.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Rejection {
    /// The reason: what the start of the task, a schema or an earlier step said.
    pub reason: String,
    /// Number of tasks.
    pub count: usize,
}

impl Evidence {
    /// Counts a task that reached the rule.
    pub(crate) fn reach(&mut self) {
        self.tried = self.tried.saturating_add(1);
        self.reached = self.reached.saturating_add(1);
    }

    /// Counts a task that did not reach the rule.
    pub(crate) fn reject(&mut self, reason: &str) {
        self.tried = self.tried.saturating_add(1);
        let known = self.rejected.iter().any(|known| known.reason == reason);
        let reason = if known || self.rejected.len() < MAX_REASONS { reason } else { OTHER };
        let at = self.rejected.iter().position(|known| known.reason == reason).unwrap_or_else(|| {
            self.rejected.push(Rejection { reason: reason.to_owned(), count: 0 });
            self.rejected.len().saturating_sub(1)
        });
        // counts only grow, so one entry at most is out of order
        let Some(entry) = self.rejected.get_mut(at) else { return };
        entry.count = entry.count.saturating_add(1);
        let count = entry.count;
        let before = self.rejected.iter().take(at).position(|earlier| earlier.count < count);
        before.into_iter().for_each(|before| self.rejected.swap(before, at));
    }

    /// Number of tasks that did not reach the rule.
    #[must_use]
    pub fn refused(&self) -> usize {
        self.tried.saturating_sub(self.reached)
    }
}

/// The reason for which a decision came before the rule.
pub(crate) fn reason_of(decision: &Decision) -> String {
    match (decision.decided_by_name(), decision.verdict.message()) {
        (Some(by), _) => format!("`{by}` decided first"),
        (None, _) if matches!(decision.verdict, Verdict::Suspend { .. }) => {
            "a review was asked for first".to_owned()
        }
        (None, Some(message)) => message.to_owned(),
        (None, None) if decision.is_allowed() => "the rule did not apply".to_owned(),
        (None, None) => format!("the operation ended with `{}`", decision.verdict.kind()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasons_are_ordered_by_their_counts() {
        let mut evidence = Evidence::default();
        for reason in ["a", "b", "c", "c", "b", "c"] {
            evidence.reject(reason);
        }
        evidence.reach();
        let counts: Vec<_> = evidence.rejected.iter().map(|it| (&*it.reason, it.count)).collect();
        assert_eq!(counts, [("c", 3), ("b", 2), ("a", 1)]);
        assert_eq!((evidence.tried, evidence.reached, evidence.refused()), (7, 1, 6));
    }

    #[test]
    fn the_number_of_reasons_is_bounded() {
        let mut evidence = Evidence::default();
        (0..100).for_each(|number| evidence.reject(&number.to_string()));
        assert_eq!((evidence.rejected.len(), evidence.rejected[0].count), (MAX_REASONS + 1, 84));
        assert_eq!(evidence.rejected[0].reason, OTHER);
    }
}
