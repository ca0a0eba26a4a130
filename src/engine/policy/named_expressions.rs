//! Checks named expressions of policies: each by itself, with its parameters as variables of their types.
//!
//! In: the policies of an agent, whose steps are compiled. Out: findings at the named expression itself, whether a step calls it or not. The scope of its callers is not known, so it is
//! wrong if it is wrong in every scope of a policy; the findings of the scope with the fewest are reported. Linear in the named expressions, times the scopes.

use super::compiler::Compiler;
use super::expression::Expression;
use super::known_call::reads_call;
use super::of_agents::{OfPolicyStep, UseOfPolicy};
use crate::context::Scope;
use std::sync::Arc;

/// The scopes of policies that know different names.
const SCOPES: [Scope; 7] = [
    Scope::BeforeCondition,
    Scope::AfterCondition,
    Scope::GuardrailBefore,
    Scope::GuardrailAfter,
    Scope::ModelBefore,
    Scope::ModelAfter,
    Scope::Tools,
];

impl Compiler<'_> {
    pub(super) fn check_named_expressions(&mut self) {
        let policies = &self.resolved.policies;
        let definitions = self.definitions.clone();
        for (at, (applied, definitions)) in policies.iter().zip(&definitions).enumerate() {
            for expression in &applied.policy.expressions {
                let known = definitions.expressions.get(&expression.name.text);
                let Some(value) = known.and_then(|of| of.stands_for.as_ref()) else { continue };
                if self.functions.is_empty() && reads_call(value) {
                    // no call of this agent has a type
                    continue;
                }
                let path = format!("{}.value", expression.path);
                let findings = self.least_findings(at, &SCOPES, &mut |scope, texts| {
                    let parameters = expression.parameters.iter();
                    let parameters =
                        parameters.map(|parameter| (&*parameter.name.text, parameter.ty.clone()));
                    let scope = Arc::new(scope.with_locals(parameters));
                    Expression::compile_with(definitions, &scope, &expression.value, &path, texts);
                });
                let place = expression.value.place.clone();
                let of = UseOfPolicy::of_policy(&applied.policy);
                self.texts.of_policies.push(OfPolicyStep { of, place, findings });
            }
        }
    }
}
