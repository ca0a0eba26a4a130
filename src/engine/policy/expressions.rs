//! All expressions of a policy, one after the other, for those who want to know what each of them costs.

use super::{Binding, Effect, Event, Execute, Expression, Policy, Step, StepAction};

impl Policy {
    /// The expressions of the policy: of functions (their bindings and backends), events, steps, guardrails, policies with their counters, and `exposes`.
    /// One that several functions share comes once for each. Linear in the policy.
    pub fn expressions(&self) -> impl Iterator<Item = &Expression> {
        let functions = self.functions.iter().flat_map(|function| {
            let bindings = function.bindings.iter().filter_map(|binding| binding.expression());
            let backend = match &function.execute {
                Execute::Cel(expression) => Some(expression),
                Execute::Host | Execute::Absent => None,
            };
            bindings.chain(backend)
        });
        let counters = self.counters.expressions();
        functions
            .chain(self.events.iter().flat_map(Event::expressions))
            .chain(self.steps().flat_map(Step::expressions))
            .chain(counters)
            .chain(self.exposes.iter().map(|expose| &expose.value))
    }

    /// The steps of the policy: around calls and events, then those of guardrails, then those of policy documents. A step that is for several functions
    /// comes once for each. Linear in the policy.
    pub fn steps(&self) -> impl Iterator<Item = &Step> {
        let capabilities = self.capabilities.iter();
        let steps = capabilities.flat_map(|steps| [&steps.before_first, &steps.before, &steps.after]);
        let steps = steps.chain([&self.guardrails_before, &self.guardrails_after]).flatten();
        steps.chain(self.policies.steps())
    }
}

impl Step {
    /// The condition, then what the action evaluates.
    pub fn expressions(&self) -> impl Iterator<Item = &Expression> {
        let (action, bindings, effect): (_, &[Binding], _) = match &self.action {
            StepAction::Assert(expression) | StepAction::Transform(expression) => {
                (Some(expression), &[], None)
            }
            StepAction::Label(labels) => (labels.computed(), &[], None),
            StepAction::Invoke(invoke) => (None, &invoke.bindings, None),
            StepAction::Effect(effect) => (None, &[], Some(effect)),
        };
        let bindings = bindings.iter().filter_map(Binding::expression);
        let effects = effect.into_iter().flat_map(Effect::expressions);
        self.condition.iter().chain(action).chain(bindings).chain(effects)
    }
}
