//! An agent with everything that its manifest names: its capabilities, their targets, functions and events.
//!
//! Data, and what can be read off it: `link` makes it, and policies are compiled from it. The target of a reference that
//! names nothing that is loaded is unknown.

use super::agent::{Agent, Capability};
use super::applied::AppliedPolicy;
use super::event::EventDecl;
use super::function_ref::FunctionRef;
use super::mode::Mode;
use super::mount::Mount;
use super::schema::Property;
use super::selector::Tags;
use super::step::DeclaredInvoke;
use super::subscription;
use super::tool::{ActionDecl, Tool};
use crate::hash_key::HashKey;
use crate::source::{Place, Source};
use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

/// An agent with everything that its manifest names.
#[derive(Clone, Debug)]
pub struct ResolvedAgent {
    /// The manifest.
    pub agent: Arc<Agent>,
    /// Whether the agent and every document it uses are free of errors.
    pub sound: bool,
    /// What it may call, in the order of its manifest, then the unlisted tools that its steps invoke (MW-12).
    pub capabilities: Vec<CapabilityEntry>,
    /// The policies that are for it, in the order of their names.
    pub policies: Vec<AppliedPolicy>,
    /// Whether its tasks are held to any of this, or it is only told what would have come of it.
    pub mode: Mode,
    /// The key of `pii.hash`; without one its policies may not call it.
    pub(crate) hash_key: Option<HashKey>,
    /// `(tool, capability)` of invoke steps, as written, to their functions.
    pub(super) invoked: HashMap<(String, String), FunctionRef>,
}

/// A capability with its target.
#[derive(Clone, Debug)]
pub struct CapabilityEntry {
    /// The reference, as the manifest writes it.
    pub reference: String,
    /// The reference as a key: the record of the whole tool, if it has several actions (KEY-10).
    pub key: String,
    /// The position in [`Agent::capabilities`]; none for a tool that only invoke steps name.
    pub listed: Option<usize>,
    /// What the reference names.
    pub target: Target,
    /// The functions it brings: one an action, or one for a sub-agent.
    pub functions: Vec<Arc<DeclaredFunction>>,
    /// The events it brings.
    pub events: Vec<EventEntry>,
}

/// What a reference names (AG-18).
#[derive(Clone, Debug)]
pub enum Target {
    /// A tool.
    Tool(Arc<Tool>),
    /// An agent.
    Agent(Arc<Agent>),
    /// A document that is not loaded; everything that depends on it is left unchecked.
    Unknown,
}

/// What the model or an invoke step calls.
#[derive(Clone, Debug)]
pub struct DeclaredFunction {
    /// The name that the model calls and the key of its record (KEY-01 to KEY-04).
    pub key: String,
    /// The action's name, or the agent's: what `match` selects (MW-20).
    pub name: String,
    /// The position in [`Tool::actions`]; none for a sub-agent.
    pub action: Option<usize>,
    /// Whether the model is offered it (AG-11); one that a task would have to bring, as soon as a task has.
    pub active: bool,
    /// Its parameters: those of the tool's root and its own, which replace a root one of the same name (PAR-01, PAR-11).
    /// Of a sub-agent: `message`, then the parameters of the agent (DEL-01, DEL-03).
    pub parameters: Vec<DeclaredParameter>,
}

/// A parameter of a function, as one agent uses it.
#[derive(Clone, Debug)]
pub struct DeclaredParameter {
    /// Its name.
    pub name: String,
    /// Its schema; none for the `message` of a sub-agent that does not declare it, which is a string.
    pub declared: Option<Property>,
    /// Whether a binding of the capability supplies it (BND-03).
    pub bound: bool,
    /// Whether the model sees it and may set it (BND-03, KV-11, DEL-01).
    pub offered: bool,
}

/// An event, as one agent uses it.
#[derive(Clone, Debug)]
pub struct EventEntry {
    /// Its name.
    pub name: String,
    /// The position in [`Tool::events`].
    pub event: usize,
    /// Whether the agent is subscribed to it (AG-11).
    pub active: bool,
}

impl ResolvedAgent {
    /// The agent as it is tried out as a whole: each step of its manifest and of its policies is observed. Limits stay, as what would
    /// have ended a task is told, too.
    #[must_use]
    pub(crate) fn observed(&self) -> Self {
        let mut observed = Self { mode: Mode::Observe, ..self.clone() };
        Arc::make_mut(&mut observed.agent).observe();
        for applied in &mut observed.policies {
            Arc::make_mut(&mut applied.policy).observe_steps();
        }
        observed
    }

    /// The agent whose policies hash with this key; without one it stays as it is.
    pub(crate) fn hashing(&self, key: Option<&HashKey>) -> Cow<'_, Self> {
        match key {
            Some(key) => Cow::Owned(Self { hash_key: Some(key.clone()), ..self.clone() }),
            None => Cow::Borrowed(self),
        }
    }

    /// The agent without the steps that are only tried out, which decide nothing; those that watch stay.
    pub(super) fn enforced_alone(&mut self) {
        for applied in self.policies.iter_mut().filter(|applied| !applied.policy.watches) {
            Arc::make_mut(&mut applied.policy).enforce_alone();
        }
    }

    /// The files of the agent, of every document that it uses and of its policies.
    pub(crate) fn sources<'a>(&'a self, mount: Option<&'a Mount>) -> impl Iterator<Item = &'a Source> {
        let targets = self.capabilities.iter().filter_map(|entry| match &entry.target {
            Target::Tool(tool) => Some(&tool.place.source),
            Target::Agent(agent) => Some(&agent.place.source),
            Target::Unknown => None,
        });
        let own = std::iter::once(&self.agent.place.source);
        let policies = self.policies.iter().map(|applied| &applied.policy.place.source);
        own.chain(policies).chain(targets).chain(mount.map(|mount| &mount.place.source))
    }

    /// The function of a reference.
    #[must_use]
    pub fn function(&self, at: FunctionRef) -> Option<(&CapabilityEntry, &DeclaredFunction)> {
        let entry = self.capabilities.get(at.capability)?;
        Some((entry, entry.functions.get(at.function)?))
    }

    /// The function that an invoke step of this agent calls; `None` if its target is not loaded, in which case the
    /// step fails when it runs (MW-11).
    #[must_use]
    pub fn invoke_target(&self, invoke: &DeclaredInvoke) -> Option<FunctionRef> {
        self.invoked.get(&(invoke.tool.clone(), invoke.capability.clone())).copied()
    }
}

impl CapabilityEntry {
    /// The capability in the agent's manifest; none for a tool that only invoke steps name.
    #[must_use]
    pub fn capability<'a>(&self, agent: &'a Agent) -> Option<&'a Capability> {
        agent.capabilities.get(self.listed?)
    }

    /// The declaration of an action or event needs the tool.
    #[must_use]
    pub fn tool(&self) -> Option<&Arc<Tool>> {
        match &self.target {
            Target::Tool(tool) => Some(tool),
            Target::Agent(_) | Target::Unknown => None,
        }
    }

    /// How the tool declares a function; none for a sub-agent.
    #[must_use]
    pub fn action(&self, function: &DeclaredFunction) -> Option<&ActionDecl> {
        self.tool()?.actions.get(function.action?)
    }

    /// The tags of a function.
    #[must_use]
    pub fn tags(&self, function: &DeclaredFunction) -> Tags<'_> {
        let action = self.action(function);
        action.map(|action| Tags { hints: action.annotations, given: &action.tags }).unwrap_or_default()
    }

    /// How the tool declares an event.
    #[must_use]
    pub fn event(&self, entry: &EventEntry) -> Option<&EventDecl> {
        self.tool()?.events.get(entry.event)
    }

    /// How long a subscription to an event lives without activity, in nanoseconds; none for ever (SUB-01).
    #[must_use]
    pub fn subscription_timeout(&self, agent: &Agent, event: &EventEntry) -> Option<i64> {
        subscription::effective_timeout(self.capability(agent), self.event(event)?)
    }

    /// The key of the record that sums up a tool of several actions (KEY-10); none for any other target.
    #[must_use]
    pub fn tool_record(&self) -> Option<&str> {
        let tool = self.tool()?;
        let has_record = tool.listing.as_ref().map_or(tool.actions.len() > 1, |listing| listing.has_record);
        has_record.then_some(self.key.as_str())
    }
}

impl Target {
    /// The namespace of the document.
    pub(super) fn namespace(&self) -> Option<&str> {
        match self {
            Self::Tool(tool) => Some(&tool.namespace.text),
            Self::Agent(agent) => Some(&agent.namespace.text),
            Self::Unknown => None,
        }
    }

    /// Where its name stands.
    pub(super) fn place(&self) -> Option<Place> {
        match self {
            Self::Tool(tool) => Some(tool.name.place.clone()),
            Self::Agent(agent) => Some(agent.name.place.clone()),
            Self::Unknown => None,
        }
    }

    /// Whether nothing in it is an error.
    pub(super) fn is_sound(&self) -> bool {
        match self {
            Self::Tool(tool) => tool.sound,
            Self::Agent(agent) => agent.sound,
            Self::Unknown => true,
        }
    }
}
