//! The results of `invoke` steps as the steps of their policy read them: the type of `invoked`, and findings about results that are never there.
//!
//! In: a policy and the functions that its keys select. Out: [`NamedResults`] for its scopes; findings. Linear in the steps of the policy, times the results that they read.

use super::compiler::Compiler;
use super::messages;
use super::named_results::{Giver, NamedResults, Never, Standing};
use super::result::OutputSchema;
use super::step::Step;
use crate::cel::Type;
use crate::context::{Root, invoked_type};
use crate::diagnostic::Diagnostic;
use crate::manifest::catalog::AppliedPolicy;
use crate::manifest::mode::Mode;
use crate::manifest::step::{DeclaredAction, DeclaredStep, Hook};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

impl Compiler<'_> {
    /// Finds the `invoke` steps of a policy that have ids. Gives the name by which its scopes know them; nothing if it has none.
    pub(super) fn declare_results(&mut self, applied: &AppliedPolicy) -> Option<Arc<str>> {
        let has_some = applied.policy.steps().any(|step| step.gives_result().is_some());
        if !has_some {
            return None;
        }
        let mut standings = HashMap::new();
        let mut steps = HashMap::new();
        let mut types = Vec::new();
        for (step, standing) in self.standings(applied) {
            if let Some(id) = step.gives_result().cloned() {
                let place = step.place.clone();
                let is_observed = step.mode == Mode::Observe;
                types.push((id.clone(), self.type_of_result(applied, step)));
                steps.insert(id, Giver { standing: standing.clone(), place, is_observed });
            }
            standings.insert(step.path.clone(), standing);
        }
        let policy: Arc<str> = applied.name().policy().into();
        let results = NamedResults { ty: invoked_type(types), steps, standings };
        self.results.insert(policy.clone(), Arc::new(results));
        Some(policy)
    }

    /// The name by which scopes of the steps of a policy know its results.
    pub(super) fn results_of(&self, applied: &AppliedPolicy) -> Option<Arc<str>> {
        if self.results.is_empty() {
            return None;
        }
        let policy = applied.name().policy();
        self.results.get_key_value(&*policy).map(|(policy, _)| policy.clone())
    }

    fn standings<'p>(&self, applied: &'p AppliedPolicy) -> Vec<(&'p DeclaredStep, Standing)> {
        let mut found = Vec::new();
        let mut add = |steps: &'p [DeclaredStep], hook: Hook, key: usize, functions: &[usize]| {
            let standing = |index| Standing { hook, key, index, functions: functions.to_vec() };
            found.extend(steps.iter().enumerate().map(|(index, step)| (step, standing(index))));
        };
        for (at, (key, selected)) in applied.keys().enumerate() {
            let functions: Vec<usize> = selected.functions.iter().map(|at| self.position(*at)).collect();
            add(&key.before_first, Hook::BeforeFirst, at, &functions);
            add(&key.before, Hook::Before, at, &functions);
            add(&key.after, Hook::After, at, &functions);
        }
        let policy = &applied.policy;
        add(&policy.guardrails_before, Hook::GuardrailBefore, 0, &[]);
        add(&policy.guardrails_after, Hook::GuardrailAfter, 0, &[]);
        add(&policy.model_before, Hook::ModelBefore, 0, &[]);
        add(&policy.model_after, Hook::ModelAfter, 0, &[]);
        found
    }

    fn type_of_result(&self, applied: &AppliedPolicy, step: &DeclaredStep) -> Type {
        let DeclaredAction::Invoke(invoke) = &step.action else { return Type::Dyn };
        let target = applied.invoke_target(invoke).map(|at| self.position(at));
        let Some(target) = target.and_then(|at| self.functions.get(at)) else { return Type::Dyn };
        OutputSchema::ty(
            &format!("result of {}", invoke.target.text),
            std::iter::once(target.output.as_ref()),
        )
    }

    /// Findings about the results that a step reads.
    pub(super) fn check_results_read(
        &mut self,
        applied: &AppliedPolicy,
        written: &DeclaredStep,
        step: Option<&Step>,
    ) {
        let (Some(policy), Some(step)) = (self.results_of(applied), step) else { return };
        let Some(results) = self.results.get(&policy) else { return };
        let Some(standing) = results.standings.get(&written.path) else { return };
        let mut told = HashSet::new();
        let mut findings: Vec<Diagnostic> = Vec::new();
        step.for_each_member(Root::Invoked, &mut |id, place| {
            let Some((id, giver)) = id.and_then(|id| results.steps.get_key_value(id)) else { return };
            let Some(never) = giver.hidden_from(step, standing).filter(|_| told.insert(id.clone())) else {
                return;
            };
            let finding = match never {
                Never::Ahead => messages::result_ahead_of_step(place.clone(), id, step.sets().is_some()),
                Never::Elsewhere => messages::result_of_other_operation(place.clone(), id),
                Never::Observed => messages::result_of_observed_step(place.clone(), id),
            };
            findings
                .push(finding.related(giver.place.clone(), "this step gives the result").path(&written.path));
        });
        self.texts.findings.extend(findings);
    }
}
