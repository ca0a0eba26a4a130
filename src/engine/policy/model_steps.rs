//! The steps of policies around calls of the model, compiled.
//!
//! In: the lists of one policy. Out: steps in the two scopes whose `input` and `output` are what is sent and what is answered, or findings.
//! A transform that can make neither is found here. Linear in the steps.

use super::Step;
use super::compiler::{Compiler, ScopeKey, declares_functions};
use super::messages;
use super::model_call::{answer_type, excludes_answer, excludes_request, request_type};
use super::step::{StepAction, StepScopes};
use crate::cel::Type;
use crate::context::Scope;
use crate::manifest::catalog::AppliedPolicy;
use crate::manifest::step::Hook;
use std::sync::Arc;

impl Compiler<'_> {
    /// The steps of a policy ahead of each call of the model, or on each of its answers; nothing if one does not compile.
    pub(super) fn model_steps(
        &mut self,
        (at, applied): (usize, &AppliedPolicy),
        hook: Hook,
    ) -> Option<Vec<Arc<Step>>> {
        let is_before = hook == Hook::ModelBefore;
        let (written, scope) = match is_before {
            true => (&applied.policy.model_before, Scope::ModelBefore),
            false => (&applied.policy.model_after, Scope::ModelAfter),
        };
        if written.is_empty() {
            return Some(Vec::new());
        }
        let counters = Some(at).filter(|_| is_before && !applied.policy.counters.is_empty());
        let invoked = self.results_of(applied);
        let host = declares_functions(at, applied);
        let key = ScopeKey { counters, invoked, host, of_policy: true, ..ScopeKey::plain(scope) };
        let scope = self.scope(key, request_type(), answer_type(), Type::Dyn);
        let scopes = StepScopes { action: scope.clone(), condition: scope };
        let mut steps = Vec::new();
        // all of them are compiled, so that each problem is told
        for step in written {
            let compiled = self.policy_step(applied, step, &scopes, &[]);
            if let Some(StepAction::Transform(transform)) = compiled.as_ref().map(|step| &step.action) {
                let excludes = if is_before { excludes_request } else { excludes_answer };
                if excludes(transform) {
                    let finding = messages::model_transform_misfit(transform.place().clone(), is_before);
                    // it belongs to what was found about the step, which is told once for all agents
                    let found = self.texts.of_policies.last_mut();
                    let finding = finding.path(transform.origin().path);
                    found.into_iter().for_each(|found| found.findings.push(finding.clone()));
                }
            }
            steps.push(compiled);
        }
        steps.into_iter().collect()
    }
}
