//! Checks of the tools that tasks bring (`tools` of policy documents), compiled, and asked.
//!
//! In: the steps of a policy, and later a tool. Out: steps whose only variable is `tool`, and the reason why a tool is left out. What a check
//! says depends on the tool alone, so a set of tools is checked once. Whatever goes wrong in a check leaves the tool out. Linear in the steps.

use super::compiler::{Compiler, ScopeKey};
use super::messages;
use super::step::StepScopes;
use super::trigger::FiringWatch;
use super::{Policy, Step};
use crate::cel::Type;
use crate::context::{Activations, Bound, ExpressionWatch, Scope, tool_value};
use crate::manifest::brought::BroughtTool;
use crate::manifest::catalog::AppliedPolicy;
use crate::manifest::mode::Mode;
use std::sync::Arc;

impl Compiler<'_> {
    /// The checks of a policy; nothing if one does not compile.
    pub(super) fn tool_checks(&mut self, applied: &AppliedPolicy) -> Option<Vec<Arc<Step>>> {
        let written = &applied.policy.tools;
        if written.is_empty() {
            return Some(Vec::new());
        }
        let scope = self.scope(ScopeKey::plain(Scope::Tools), Type::Dyn, Type::Dyn, Type::Dyn);
        let scopes = StepScopes { action: scope.clone(), condition: scope };
        // all of them are compiled, so that each problem is told
        let steps: Vec<_> =
            written.iter().map(|step| self.policy_step(applied, step, &scopes, &[])).collect();
        steps.into_iter().collect()
    }
}

impl Policy {
    /// Why a tool that a task brings is left out, if a check says so. Checks that are only tried out leave nothing out.
    pub(crate) fn refuses_tool(&self, tool: &BroughtTool) -> Option<String> {
        self.check_tool(tool, None)
    }

    /// The same where each check is told of.
    pub(crate) fn check_tool(&self, tool: &BroughtTool, watch: Option<&dyn FiringWatch>) -> Option<String> {
        let checks = &self.policies.tools;
        if checks.is_empty() || self.observes() {
            return None;
        }
        let value = tool_value(serde_json::to_value(tool).unwrap_or_default());
        let watched = watch.map(|watch| watch as &dyn ExpressionWatch);
        let bound = Bound { tool: Some(value.value()), watch: watched, ..Bound::default() };
        let mut values = Activations::new(bound);
        let mut failed = None;
        for step in checks.iter().filter(|step| step.mode == Mode::Enforce) {
            watch.into_iter().for_each(|watch| watch.begins(step));
            let passed = step.asserts(&mut values);
            watch.into_iter().for_each(|watch| watch.ends(passed));
            if passed == Some(false) {
                failed = Some(step);
                break;
            }
        }
        let failed = failed?;
        let name = failed.name.as_ref().map(ToString::to_string).unwrap_or_default();
        Some(messages::tool_refused(&name, failed.message(values.bound(), "").as_deref()))
    }
}
