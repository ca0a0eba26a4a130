//! What tasks have shown: for each direction a task on which the two sides differ, and the evidence of all that were tried.
//!
//! In: the decisions of both sides on a task. Out: a [`Difference`] with its [`Evidence`]. A witness is what both engines have decided, never a guess.

use super::Difference;
use crate::evidence::Evidence;
use crate::manifest::brought::BroughtTool;
use crate::task::{Decision, VerdictKind};
use serde_json::{Value, json};
use std::cmp::Ordering;

/// How many tasks are tried for an operation, and payloads for a trigger.
pub(super) const MOST: usize = 3_000;

/// What one side has decided.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// The verdict.
    pub verdict: VerdictKind,
    /// The value to go on with.
    pub value: Option<Value>,
    /// The message.
    pub message: Option<String>,
    /// What decided.
    pub by: Option<String>,
}

/// A task on which the two sides differ: as it stands in a case.
#[derive(Clone, Debug, PartialEq)]
pub struct Witness {
    /// The user, as `env.user` of a case has it: `id`, `email` and `claims`.
    pub user: Value,
    /// The tools that the task brings, as `env.tools` of a case has them.
    pub tools: Vec<BroughtTool>,
    /// What counters held at the beginning, as `counters` of a case has it; nothing if all were empty.
    pub counters: Option<Value>,
    /// What happened so far, as `state` of a case has it.
    pub state: Vec<Value>,
    /// The operation, as `call` of a case has it.
    pub call: Value,
    /// What was decided before.
    pub old: Outcome,
    /// What is decided now.
    pub new: Outcome,
}

/// The decision of one side on a task.
#[derive(Debug)]
pub(super) struct Judgement {
    /// What it came to; nothing where the side cannot decide it.
    pub(super) outcome: Option<Outcome>,
    /// Whether the evaluation reached a rule that differs, and if not, the reason.
    pub(super) reached: Result<(), String>,
}

/// What has come of the tries so far.
#[derive(Default)]
pub(super) struct Tries {
    evidence: Evidence,
    stricter: Option<Box<Witness>>,
    looser: Option<Box<Witness>>,
    otherwise: Option<Box<Witness>>,
}

impl Tries {
    /// Number of tasks that were tried.
    pub(super) fn count(&self) -> usize {
        self.evidence.tried
    }

    /// Whether there is a witness for each direction, or there were enough of them.
    pub(super) fn are_enough(&self) -> bool {
        self.count() >= MOST || (self.stricter.is_some() && self.looser.is_some())
    }

    /// Adds what both sides have decided, if they could; the first witness of a direction is kept. Returns whether a side reached a rule that differs.
    pub(super) fn add(
        &mut self,
        judged: [Judgement; 2],
        witness: impl FnOnce(Outcome, Outcome) -> Witness,
    ) -> bool {
        let is_reached = match &judged {
            // where one side cannot decide, nothing is compared
            [Judgement { outcome: None, reached: Err(reason) }, _]
            | [_, Judgement { outcome: None, reached: Err(reason) }] => Err(reason),
            [Judgement { reached: Err(_), .. }, Judgement { reached: Err(reason), .. }] => Err(reason),
            _ => Ok(()),
        };
        match is_reached {
            Ok(()) => self.evidence.reach(),
            Err(reason) => self.evidence.reject(reason),
        }
        let is_reached = is_reached.is_ok();
        let [Judgement { outcome: Some(old), .. }, Judgement { outcome: Some(new), .. }] = judged else {
            return is_reached;
        };
        if (old.verdict, &old.value, &old.message) == (new.verdict, &new.value, &new.message) {
            return is_reached;
        }
        let slot = match strictness(new.verdict).cmp(&strictness(old.verdict)) {
            Ordering::Greater => &mut self.stricter,
            Ordering::Less => &mut self.looser,
            Ordering::Equal => &mut self.otherwise,
        };
        slot.get_or_insert_with(|| Box::new(witness(old, new)));
        is_reached
    }

    /// What they show.
    pub(super) fn difference(self) -> (Difference, Evidence) {
        let Self { evidence, stricter, looser, otherwise } = self;
        if stricter.is_none() && looser.is_none() && otherwise.is_none() {
            (Difference::Unknown, evidence)
        } else {
            (Difference::Found { stricter, looser, otherwise }, evidence)
        }
    }
}

/// How much stands in the way: nothing, a person who may still say yes, or the rules.
const fn strictness(verdict: VerdictKind) -> u8 {
    match verdict {
        VerdictKind::Allow | VerdictKind::Route => 0,
        VerdictKind::Suspend | VerdictKind::Wait => 1,
        _ => 2,
    }
}

impl Outcome {
    pub(super) fn of(decision: &Decision) -> Self {
        let by = decision.decided_by_name();
        let value = decision.verdict.value().and_then(|value| serde_json::to_value(value).ok());
        let message = decision.verdict.reviewer().or(decision.verdict.message()).map(str::to_owned);
        Self { verdict: decision.verdict.kind(), value, message, by }
    }

    /// The outcome of a task that does not begin.
    pub(super) fn not_begun(why: String) -> Self {
        Self { verdict: VerdictKind::Error, value: None, message: Some(why), by: None }
    }

    fn to_json(&self) -> Value {
        json!({ "verdict": self.verdict, "value": self.value, "message": self.message, "by": self.by })
    }
}

impl Witness {
    /// As JSON: `user`, `tools`, `counters`, `state` and `call` as a case has them, and both outcomes.
    #[must_use]
    pub fn to_json(&self) -> Value {
        json!({
            "user": self.user,
            "tools": self.tools,
            "counters": self.counters,
            "state": self.state,
            "call": self.call,
            "old": self.old.to_json(),
            "new": self.new.to_json(),
        })
    }
}
