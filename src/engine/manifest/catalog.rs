//! Documents that belong together, linked: agents with what they name, tools, schedules, triggers and the mount.
//!
//! Data, and the ways to find a document in it: `parse` makes it out of files. For each agent there is a [`ResolvedAgent`],
//! from which policies are compiled. An agent with an error, or with a tool that has one, is not
//! [sound](ResolvedAgent::sound) and must never run; it is kept so that its expressions can be checked all the same.

use super::agent::Agent;
use super::mount::Mount;
use super::policy::DeclaredPolicy;
use super::schedule::Schedule;
use super::tool::Tool;
use super::trigger::DeclaredTrigger;
use crate::cel::HostFunctionSet;
use crate::diagnostic::Diagnostic;
use crate::hash_key::HashKey;
use crate::lint::Allowances;
use crate::source::{Place, Source};
use std::collections::HashMap;
use std::sync::Arc;

pub use super::applied::{AppliedCounter, AppliedKey, AppliedPolicy};
pub use super::function_ref::FunctionRef;
pub use super::resolved_agent::{
    CapabilityEntry, DeclaredFunction, DeclaredParameter, EventEntry, ResolvedAgent, Target,
};

/// Loaded documents, linked.
#[derive(Clone, Debug, Default)]
pub struct Catalog {
    pub(super) agents: Vec<ResolvedAgent>,
    pub(super) tools: Vec<Arc<Tool>>,
    /// In the order of their names.
    pub(super) policies: Vec<Arc<DeclaredPolicy>>,
    pub(super) mount: Option<Arc<Mount>>,
    pub(super) schedules: Vec<ResolvedLaunch<Schedule>>,
    pub(super) triggers: Vec<ResolvedLaunch<DeclaredTrigger>>,
    pub(super) by_name: HashMap<(String, String), usize>,
    /// What the comments of the files allow, as far as the findings about documents have used it up.
    pub(super) allowances: Allowances,
    /// The findings about the documents that are refused: errors, and warnings that may lose a rule.
    pub(super) refused: Vec<Diagnostic>,
    /// The key of `pii.hash`.
    pub(super) hash_key: Option<HashKey>,
    /// The functions of the host, if some were given.
    pub(super) functions: Option<Arc<HostFunctionSet>>,
    /// Whether functions of the host are known by what policies declare.
    pub(super) has_declared_functions: bool,
}

/// A schedule or trigger with its agent.
#[derive(Clone, Debug)]
pub struct ResolvedLaunch<T> {
    /// The manifest.
    pub document: Arc<T>,
    /// The agent, if it is loaded.
    pub agent: Option<Arc<Agent>>,
    /// Whether the manifest, its agent and every document that the agent uses are free of errors.
    pub sound: bool,
}

impl Catalog {
    /// The same documents for an engine whose policies hash with this key (`pii.hash`). Without one, an agent with a policy that hashes is refused.
    #[must_use]
    pub fn with_hash_key(self, key: HashKey) -> Self {
        Self { hash_key: Some(key), ..self }
    }

    /// The same documents for an engine whose host has these functions, which policies declare under `functions`. Without them an agent with such a policy is refused.
    #[must_use]
    pub fn with_host_functions(self, functions: Arc<HostFunctionSet>) -> Self {
        Self { functions: Some(functions), ..self }
    }

    /// The same documents for those who decide nothing by them, such as an operator who ends a task: functions of the host are known by what policies declare, and a call fails.
    #[must_use]
    pub fn with_declared_functions(self) -> Self {
        Self { has_declared_functions: true, ..self }
    }

    /// The same documents for those who only find out what their policies do: these hash with the key of
    /// [verification](HashKey::for_verification), unless they have another one, and know functions of the host by what policies declare.
    #[must_use]
    pub fn for_verification(self) -> Self {
        let key = self.hash_key.clone().unwrap_or_else(HashKey::for_verification);
        self.with_hash_key(key).with_declared_functions()
    }

    /// Whether functions of the host are known by what policies declare.
    pub(crate) fn has_declared_functions(&self) -> bool {
        self.has_declared_functions
    }

    /// The functions of the host.
    pub(crate) fn host_functions(&self) -> Option<&Arc<HostFunctionSet>> {
        self.functions.as_ref()
    }

    /// The key of `pii.hash`.
    pub(crate) fn hash_key(&self) -> Option<&HashKey> {
        self.hash_key.as_ref()
    }

    /// What the comments of its files allow that no finding about the documents has used up.
    pub(crate) fn allowances(&self) -> &Allowances {
        &self.allowances
    }

    /// The findings about its documents for which they are not used.
    pub(crate) fn refused(&self) -> &[Diagnostic] {
        &self.refused
    }

    /// Whether every expression and template of a file is compiled with the agents: so are not those of a tool that no
    /// agent uses.
    pub(crate) fn is_in_use(&self, source: &Source) -> bool {
        let used = |tool: &&Arc<Tool>| {
            let mut entries = self.agents.iter().flat_map(|agent| &agent.capabilities);
            entries.any(|entry| entry.tool().is_some_and(|used| used.is_part_of(tool)))
        };
        let applied = |policy: &&Arc<DeclaredPolicy>| {
            let mut applied = self.agents.iter().flat_map(|agent| &agent.policies);
            applied.any(|applied| applied.policy.is_of(policy))
        };
        let policies = self.policies.iter().filter(|policy| policy.place.source.same(source));
        let tools = self.tools.iter().filter(|tool| tool.place.source.same(source));
        tools.clone().all(|tool| used(&tool)) && policies.clone().all(|policy| applied(&policy))
    }

    /// The agents, in the order in which they were loaded.
    #[must_use]
    pub fn agents(&self) -> &[ResolvedAgent] {
        &self.agents
    }

    /// The agent of a namespace and name.
    #[must_use]
    pub fn agent(&self, namespace: &str, name: &str) -> Option<&ResolvedAgent> {
        self.agents.get(*self.by_name.get(&(namespace.to_owned(), name.to_owned()))?)
    }

    /// The tools, in the order in which they were loaded.
    #[must_use]
    pub fn tools(&self) -> &[Arc<Tool>] {
        &self.tools
    }

    /// The policies, in the order of their names.
    #[must_use]
    pub fn policies(&self) -> &[Arc<DeclaredPolicy>] {
        &self.policies
    }

    /// The schedules, in the order in which they were loaded.
    #[must_use]
    pub fn schedules(&self) -> &[ResolvedLaunch<Schedule>] {
        &self.schedules
    }

    /// The triggers, in the order in which they were loaded.
    #[must_use]
    pub fn triggers(&self) -> &[ResolvedLaunch<DeclaredTrigger>] {
        &self.triggers
    }

    /// Where each of its documents stands.
    pub fn places(&self) -> impl Iterator<Item = &Place> {
        let agents = self.agents.iter().map(|one| &one.agent.place);
        let tools = self.tools.iter().map(|tool| &tool.place);
        let policies = self.policies.iter().map(|policy| &policy.place);
        let mount = self.mount.iter().map(|mount| &mount.place);
        let schedules = self.schedules.iter().map(|one| &one.document.launch.place);
        let triggers = self.triggers.iter().map(|one| &one.document.launch.place);
        agents.chain(tools).chain(policies).chain(mount).chain(schedules).chain(triggers)
    }

    /// The workspace mount, if one is loaded.
    #[must_use]
    pub fn mount(&self) -> Option<&Arc<Mount>> {
        self.mount.as_ref()
    }
}
