//! The steps of policy documents, compiled and laid out by what they are about, so that nothing is matched when a call comes.
//!
//! Data, and what can be read off it: `step_lists` makes it. A function holds the steps that are for it and no others, in the
//! order in which they run; a step that is for several is compiled once and shared.

use super::Step;
use crate::manifest::step::Hook;
use std::collections::HashSet;
use std::sync::Arc;

/// The steps of all policies that are for an agent.
#[derive(Debug, Default)]
pub(super) struct PolicySteps {
    /// By function. Empty if no policy has a step about a call of the agent.
    pub(super) calls: Vec<CallSteps>,
    /// On each input.
    pub(super) guardrails_before: Vec<Arc<Step>>,
    /// On each response.
    pub(super) guardrails_after: Vec<Arc<Step>>,
    /// Ahead of each call of the model.
    pub(super) model_before: Vec<Arc<Step>>,
    /// On each answer of the model.
    pub(super) model_after: Vec<Arc<Step>>,
    /// On each tool that a task brings.
    pub(super) tools: Vec<Arc<Step>>,
}

/// The steps of all policies around the calls of one function.
#[derive(Clone, Debug, Default)]
pub(super) struct CallSteps {
    pub(super) before_first: Vec<Arc<Step>>,
    pub(super) before: Vec<Arc<Step>>,
    /// Those that only look at what all others have let by, behind the steps of the manifest.
    pub(super) watching: Vec<Arc<Step>>,
    pub(super) after: Vec<Arc<Step>>,
}

impl PolicySteps {
    /// Those of a list that are about the calls of a function.
    pub(super) fn of_call(&self, hook: Hook, function: usize) -> &[Arc<Step>] {
        let Some(steps) = self.calls.get(function) else { return &[] };
        match hook {
            Hook::BeforeFirst => &steps.before_first,
            Hook::Before => &steps.before,
            Hook::After => &steps.after,
            Hook::GuardrailBefore
            | Hook::GuardrailAfter
            | Hook::ModelBefore
            | Hook::ModelAfter
            | Hook::Tools
            | Hook::Trigger => &[],
        }
    }

    /// Those that look at calls of a function which all others have let by.
    pub(super) fn watching(&self, function: usize) -> &[Arc<Step>] {
        self.calls.get(function).map_or(&[], |steps| &steps.watching)
    }

    /// All steps, each once.
    pub(super) fn steps(&self) -> impl Iterator<Item = &Step> {
        let calls = self.calls.iter();
        let calls =
            calls.flat_map(|steps| [&steps.before_first, &steps.before, &steps.watching, &steps.after]);
        let messages = [&self.guardrails_before, &self.guardrails_after];
        let all = calls.chain(messages).chain([&self.model_before, &self.model_after, &self.tools]).flatten();
        let mut known = HashSet::new();
        all.filter(move |step| known.insert(Arc::as_ptr(step))).map(Arc::as_ref)
    }
}
