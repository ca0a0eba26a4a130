//! A policy document as it applies to one agent: which of its steps belong to which functions.
//!
//! Data, and what can be read off it: `apply` makes it when documents are linked, and policies are compiled from it.

use super::function_ref::FunctionRef;
use super::policy::{DeclaredPolicy, PolicyCapability};
use super::policy_step::PolicyStep;
use super::step::DeclaredInvoke;
use std::collections::HashMap;
use std::sync::Arc;

/// A policy as it applies to one agent.
#[derive(Clone, Debug)]
pub struct AppliedPolicy {
    /// The document.
    pub policy: Arc<DeclaredPolicy>,
    /// By the keys of its `capabilities`: the functions of the agent that the steps are for.
    pub calls: Vec<AppliedKey>,
    /// The functions that it denies by default.
    pub default: AppliedKey,
    /// By its counters: the functions of the agent whose calls add to each.
    pub counters: Vec<AppliedCounter>,
    /// `(tool, capability)` of its invoke steps, as written, to the functions of the agent.
    pub(super) invoked: HashMap<(String, String), FunctionRef>,
}

/// A key of a policy's `capabilities` as it applies to one agent.
#[derive(Clone, Debug, Default)]
pub struct AppliedKey {
    /// The functions that the model can call.
    pub functions: Vec<FunctionRef>,
    /// Whether the key selects anything that the agent has, also what its `include` leaves out.
    pub(super) is_known: bool,
    /// Whether no agent has what it selects, and tasks may bring it.
    pub(super) is_awaited: bool,
}

/// A counter of a policy as it applies to one agent.
#[derive(Clone, Debug, Default)]
pub struct AppliedCounter {
    /// The functions whose calls add to it, each once.
    pub functions: Vec<FunctionRef>,
    /// By the keys of `on`: whether it selects anything that the agent has.
    pub(super) known: Vec<bool>,
}

impl AppliedPolicy {
    /// The function of an invoke step of the policy; nothing if its target is not loaded.
    #[must_use]
    pub fn invoke_target(&self, invoke: &DeclaredInvoke) -> Option<FunctionRef> {
        self.invoked.get(&(invoke.tool.clone(), invoke.capability.clone())).copied()
    }

    /// How its steps are named, without a step: the policy with the uses that lead to it, and the labels of the first one.
    pub(crate) fn name(&self) -> Arc<PolicyStep> {
        let policy = &self.policy;
        let (uses, labels) = match &policy.used_by {
            Some(by) => (by.uses.clone(), by.user.labels.clone()),
            None => (Vec::new(), policy.labels.clone()),
        };
        Arc::new(PolicyStep { name: policy.applied_name(), uses, id: None, severity: None, labels })
    }

    /// The keys of its `capabilities` and its default denial, each with what it selects.
    pub fn keys(&self) -> impl Iterator<Item = (&PolicyCapability, &AppliedKey)> {
        let default = self.policy.default_denial.iter().zip(std::iter::once(&self.default));
        self.policy.capabilities.iter().zip(&self.calls).chain(default)
    }
}
