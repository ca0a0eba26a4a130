//! The limits of counters: `limit` of a counter as steps ahead of the calls that add to it.
//!
//! In: a counter with a limit. Out: one step for the calls of functions that add to it, and one for those of the model, each an assert over
//! the counter and what the call would add. So decisions, traces, proofs and coverage know limits as they know steps. The amounts are
//! those of the counter's own expressions, so nothing can be counted otherwise than it is bounded.

use super::counter::{CounterCalls, DeclaredCounter, Decrease};
use super::policy::PolicyCapability;
use super::policy_step::{OfPolicy, PolicyStep};
use super::review::NoteReader;
use super::step::{DeclaredAction, DeclaredStep, OnFail};
use crate::source::Embedded;
use std::sync::Arc;

impl DeclaredCounter {
    /// The steps ahead of the calls of functions that the limit is for.
    pub(super) fn limits_of_calls(&self, policy: &OfPolicy) -> Vec<PolicyCapability> {
        let Some(limit) = &self.limit else { return Vec::new() };
        let adds = self.add.as_ref().map_or("1", |add| &add.text);
        let step = self.limit_step(limit, adds, policy);
        let capability = |CounterCalls { key, calls, path }: &CounterCalls| PolicyCapability {
            key: key.clone(),
            calls: calls.clone(),
            path: path.clone(),
            before_first: Vec::new(),
            before: vec![step.clone()],
            after: Vec::new(),
        };
        self.on.iter().map(capability).collect()
    }

    /// The step ahead of calls of the model that the limit is for.
    pub(super) fn limit_of_model(&self, policy: &OfPolicy) -> Option<DeclaredStep> {
        let (limit, adds) = (self.limit.as_ref()?, self.model.as_ref()?);
        Some(self.limit_step(limit, &adds.text, policy))
    }

    fn limit_step(&self, limit: &Embedded, adds: &str, policy: &OfPolicy) -> DeclaredStep {
        let (name, most) = (&self.name.text, &limit.text);
        // a counter of two amounts may hold parts of ones, whatever each of them adds; an expression may end in a comment
        let sum = match !self.on.is_empty() && self.model.is_some() {
            true => format!("double(counters.{name}) + double({adds}\n) <= double({most}\n)"),
            false => format!("counters.{name} + ({adds}\n) <= ({most}\n)"),
        };
        // what takes something away is no step towards the limit, also where that is exceeded already
        let sum = match self.decrease {
            Decrease::None => sum,
            Decrease::ToZero | Decrease::BelowZero => format!("double({adds}\n) <= 0.0 || {sum}"),
        };
        let text = |text: String| Embedded::new(text, limit.place.clone(), []);
        let path = format!("{}.limit", self.path);
        DeclaredStep {
            place: limit.place.clone(),
            path: path.clone(),
            index: 0,
            name: Some(Arc::new(PolicyStep { id: Some(path.into()), ..policy.name.clone() })),
            action: DeclaredAction::Limit(text(sum)),
            condition: None,
            match_name: None,
            on_fail: OnFail::Block,
            error_message: Some(text(format!("The limit of the counter {name} would be exceeded."))),
            mode: policy.mode,
            user_message: None,
            question: None,
            note: NoteReader::Model,
            excepted: None,
        }
    }
}
