//! Calls that nothing is known of, or that cannot be formed, of a task that is only observed: they go on as they came.
//!
//! In: a call of a function that the agent does not have, or arguments with what is wrong with them. Out: the decision that lets it by,
//! and the arguments that it runs with. No entry is on record of what the agent does not have, so its result is passed on as it is.

use crate::cel::Json;
use crate::policy::{AgentFunction, Resolution};
use crate::task::state::{Call, CallId, CallResult, Decision, Enforced, KnownCall, Task, Verdict};

impl Task {
    /// Lets a call by of a function that the agent does not have, of a task that is only observed. No rule is about it, and it has no
    /// entry on record.
    pub(super) fn let_unruled_by(&mut self, call: &Call, id: CallId, enforced: Enforced) -> Decision {
        let decision = self.unruled(call, id.clone(), Some(enforced));
        self.close_unless_open(Some(&id), &decision);
        decision
    }

    /// The decision on such a call.
    pub(in crate::task) fn unruled(&self, call: &Call, id: CallId, enforced: Option<Enforced>) -> Decision {
        let verdict = Verdict::allow(Some(call.arguments.clone()));
        Decision { call: Some(id), enforced: enforced.map(Box::new), ..Decision::new(verdict) }
    }

    /// Whether a call was let through although the agent does not have its function.
    pub(in crate::task) fn is_unruled(&self, call: &CallId) -> bool {
        self.policy.observes() && self.known.get(call).is_some_and(KnownCall::was_let_by_unseen)
    }

    /// The result of such a call, which the model receives as it is.
    pub(super) fn pass_on(result: CallResult) -> Decision {
        Decision::new(Verdict::allow(Some(result.output)))
    }
}

/// The arguments that the model gave, whatever is wrong with them, of a call that is only observed. What bindings supply and what
/// defaults stand in for is of the tool itself, and the call could not run without it.
pub(super) fn as_it_came(function: &AgentFunction, resolution: Resolution, given: &Json) -> Resolution {
    let Resolution { arguments, .. } = &resolution;
    let is_bound = |name: &str| function.bindings.iter().any(|binding| *binding.name == *name);
    let is_lost = |name: &str| arguments.root().get(name).is_none() && !is_bound(name);
    if !given.root().entries().any(|(name, _)| is_lost(name)) {
        return resolution;
    }
    let came = given.root().entries().filter(|(name, _)| is_lost(name));
    let all = arguments.root().entries().chain(came).map(|(name, value)| (name, value.to_json()));
    Resolution { arguments: Json::object(all), ..resolution }
}
