//! What a task has operated on, tool by tool (ALW): its allow lists, and when they change.
//!
//! In: calls that ran and the bindings of the policy. Out: the values that filters of events ask for. A name with a binding
//! is sealed when the task starts; while its binding gives nothing it has no value, and each step tries again (ALW-10).
//! A call of the model that ran adds its arguments; what was stopped and what middleware calls adds nothing (ALW-11, ALW-13).

use crate::cel::{Json, Timestamp};
use crate::context::{Activations, Moment};
use crate::policy::{AllowList, InvocationTarget, Policy};
use crate::task::evaluation::replay::Replay;
use crate::task::state::{Retain, Task};

impl Task {
    /// The allow list of a capability, by its reference in the manifest; nothing of one that the agent does not have.
    #[must_use]
    pub fn allow_list(&self, capability: &str) -> Option<&AllowList> {
        self.allowed.get(self.policy.capability(capability)?)
    }

    /// The task takes a step: its subscriptions live on (SUB-07), and bindings that had no value may have one now.
    pub(in crate::task) fn take_step(&mut self, now: Timestamp) {
        self.activity.step(now);
        self.seal(now);
    }

    /// Gives the sealed names that wait for one the value of their binding, if there is one.
    pub(in crate::task) fn seal(&mut self, now: Timestamp) {
        if !self.allowed.iter().any(AllowList::awaits_any) {
            return;
        }
        let policy = self.policy.clone();
        let now = Moment::from(now);
        for capability in 0..self.allowed.len() {
            for binding in policy.bindings(capability) {
                if !self.allowed.get(capability).is_some_and(|list| list.awaits(&binding.name)) {
                    continue;
                }
                let surroundings = self.surroundings(&now);
                let value = binding.evaluate(&mut Activations::new(surroundings), None);
                let value = Replay::mute().settle(value);
                let limits = &policy.limits().eval;
                let value = value.ok().and_then(|value| Json::from_value(&value.value(), limits).ok());
                if let (Some(value), Some(list)) = (value, self.allowed.get_mut(capability)) {
                    list.seal(&binding.name, value.root());
                }
            }
        }
    }

    /// The model's call of a function has run with these arguments (ALW-03, ALW-12). A task that keeps only what is needed notes them where the
    /// filter of an event asks for them. Linear in the events, and in the arguments.
    pub(in crate::task) fn allow_arguments(&mut self, function: usize, arguments: &Json) {
        let Some(function) = self.policy.function(function) else { return };
        if self.retain == Retain::Needed && !self.policy.filters_events_of(function.capability) {
            return;
        }
        // sub-agents bring no events
        if let (InvocationTarget::Action { .. }, Some(list)) =
            (&function.target, self.allowed.get_mut(function.capability))
        {
            list.add(arguments);
        }
    }
}

/// The lists of a task that starts, one for each capability of the manifest: all names with a binding are sealed (ALW-08),
/// and no others (ALW-19).
pub(in crate::task) fn lists(policy: &Policy) -> Vec<AllowList> {
    let capabilities = 0..policy.agent().capabilities.len();
    capabilities
        .map(|at| AllowList::sealed(policy.bindings(at).iter().map(|binding| &binding.name)))
        .collect()
}
