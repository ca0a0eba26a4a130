//! Variables of policies that no step of an agent reads: what is wrong with them is told as it is of the others.
//!
//! In: the policies of an agent, whose steps are compiled. Out: findings, at the variable itself. For which step it was written nobody
//! can know, so it is wrong if it is wrong ahead of calls, behind them and on messages; what is told is what is wrong ahead of calls. It sees
//! arguments and results of any type. A variable that another one reads is checked with that one. Linear in the variables.

use super::compiler::{Compiler, ScopeKey};
use super::expression::{Expression, Texts};
use super::known_call::reads_call;
use super::of_agents::{OfPolicyStep, UseOfPolicy};
use crate::cel::Type;
use crate::context::{Scope, ScopeEnv};
use crate::diagnostic::Diagnostic;
use crate::manifest::policy::DeclaredVariable;
use std::sync::Arc;

/// Where a variable may be read, as far as scopes of steps know different names.
const SCOPES: [Scope; 4] =
    [Scope::BeforeCondition, Scope::AfterCondition, Scope::GuardrailBefore, Scope::GuardrailAfter];

impl Compiler<'_> {
    pub(super) fn check_unread_variables(&mut self) {
        let policies = &self.resolved.policies;
        let definitions = self.definitions.clone();
        for (at, (applied, definitions)) in policies.iter().zip(&definitions).enumerate() {
            self.texts.definitions = Some(definitions.clone());
            for variable in &applied.policy.variables {
                let unread = definitions.variables.get(&variable.name.text).filter(|of| !of.is_read());
                let Some(value) = unread.and_then(|of| of.stands_for.as_ref()) else { continue };
                if self.functions.is_empty() && reads_call(value) {
                    // no call of this agent has a type
                    continue;
                }
                let findings = self.found_in_variable(at, variable);
                let place = variable.expression.place.clone();
                let of = UseOfPolicy::of_policy(&applied.policy);
                self.texts.of_policies.push(OfPolicyStep { of, place, findings });
            }
        }
        self.texts.definitions = None;
    }

    fn found_in_variable(&mut self, policy: usize, variable: &DeclaredVariable) -> Vec<Diagnostic> {
        self.least_findings(policy, &SCOPES, &mut |scope, texts| {
            Expression::compile(scope, &variable.expression, &variable.path, texts);
        })
    }

    /// The findings about an expression of a policy, compiled in each of these scopes: those of the scope with the fewest.
    pub(super) fn least_findings(
        &mut self,
        policy: usize,
        scopes: &[Scope],
        compile: &mut dyn FnMut(&Arc<ScopeEnv>, &mut Texts<'_>),
    ) -> Vec<Diagnostic> {
        let mut least: Option<Vec<Diagnostic>> = None;
        for &scope in scopes {
            let functions =
                if scope.tests_messages() { Vec::new() } else { (0..self.functions.len()).collect() };
            let counters = Some(policy).filter(|at| self.counters.contains_key(at));
            let invoked = self.resolved.policies.get(policy).and_then(|applied| self.results_of(applied));
            let host = Some(policy);
            let key =
                ScopeKey { functions, counters, invoked, host, of_policy: true, ..ScopeKey::plain(scope) };
            let scope = self.new_scope(&key, Type::Dyn, Type::Dyn, Type::Dyn);
            let known = self.texts.findings.len();
            compile(&scope, &mut self.texts);
            let found = self.texts.findings.split_off(known);
            let errors = |found: &[Diagnostic]| found.iter().filter(|finding| finding.is_error()).count();
            let is_less =
                |least: &Vec<Diagnostic>| (errors(&found), found.len()) < (errors(least), least.len());
            if least.as_ref().is_none_or(is_less) {
                least = Some(found);
            }
            if least.as_ref().is_some_and(Vec::is_empty) {
                break;
            }
        }
        least.unwrap_or_default()
    }
}
