//! Documents that belong together: names resolved, functions and their keys worked out, rules across documents held.
//!
//! In: files, or documents that were read already. Out: for each agent a [`ResolvedAgent`], from which policies are compiled,
//! and a diagnostic for every problem. Linear in the documents. An agent with an error, or with a tool that has one, is
//! not [sound](ResolvedAgent::sound) and must never run; it is kept so that its expressions can be checked all the same.

use super::agent::{Agent, Capability};
use super::bundle::Bundle;
use super::comments::comments;
use super::document::{Document, Role};
use super::event::EventDecl;
use super::link;
use super::load::{File, Origin};
use super::messages;
use super::mount::Mount;
use super::schedule::Schedule;
use super::schema::Property;
use super::step::Invoke;
use super::stray;
use super::subscription;
use super::tool::{ActionDecl, Tool};
use super::trigger::Trigger;
use super::yaml;
use crate::diagnostic::{Diagnostic, Standing};
use crate::limits::EngineLimits;
use crate::lint::Allowances;
use crate::source::{Place, Source, Span};
use std::collections::HashMap;
use std::sync::Arc;

/// Loaded documents, linked.
#[derive(Clone, Debug, Default)]
pub struct Catalog {
    pub(super) agents: Vec<ResolvedAgent>,
    pub(super) tools: Vec<Arc<Tool>>,
    pub(super) mount: Option<Arc<Mount>>,
    pub(super) schedules: Vec<ResolvedLaunch<Schedule>>,
    pub(super) triggers: Vec<ResolvedLaunch<Trigger>>,
    pub(super) by_name: HashMap<(String, String), usize>,
    /// What the comments of the files allow, as far as the findings about documents have used it up.
    pub(super) allowances: Allowances,
    /// The findings about the documents that are refused: errors, and warnings that may lose a rule.
    pub(super) refused: Vec<Diagnostic>,
}

/// An agent with everything that its manifest names.
#[derive(Clone, Debug)]
pub struct ResolvedAgent {
    /// The manifest.
    pub agent: Arc<Agent>,
    /// Whether the agent and every document it uses are free of errors.
    pub sound: bool,
    /// What it may call, in the order of its manifest, then the unlisted tools that its steps invoke (MW-12).
    pub capabilities: Vec<CapabilityEntry>,
    /// `(tool, capability)` of invoke steps, as written, to their functions.
    pub(super) invoked: HashMap<(String, String), FunctionRef>,
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
    pub functions: Vec<Function>,
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
    /// Nothing that is loaded; what depends on it is not checked.
    Unknown,
}

/// What the model or an invoke step calls.
#[derive(Clone, Debug)]
pub struct Function {
    /// The name that the model calls and the key of its record (KEY-01 to KEY-04).
    pub key: String,
    /// The action's name, or the agent's: what `match` selects (MW-20).
    pub name: String,
    /// The position in [`Tool::actions`]; none for a sub-agent.
    pub action: Option<usize>,
    /// Whether the model is offered it (AG-11).
    pub active: bool,
    /// Its parameters: those of the tool's root and its own, which replace a root one of the same name (PAR-01, PAR-11).
    /// Of a sub-agent: `message`, then the parameters of the agent (DEL-01, DEL-03).
    pub parameters: Vec<Parameter>,
}

/// A parameter of a function, as one agent uses it.
#[derive(Clone, Debug)]
pub struct Parameter {
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

/// A function of an agent: positions in [`ResolvedAgent::capabilities`] and [`CapabilityEntry::functions`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FunctionRef {
    /// The capability.
    pub capability: usize,
    /// The function in it.
    pub function: usize,
}

impl Catalog {
    /// Reads and links files. The findings are in the order of the files and, in a file, of their places; of a file with
    /// more than `max_diagnostics` the rest is counted.
    #[must_use]
    pub fn parse(files: &[File], limits: &EngineLimits) -> (Self, Vec<Diagnostic>) {
        let mut findings = Vec::new();
        let mut documents = Vec::new();
        let mut bundles = Vec::new();
        let mut unread = None;
        for file in files {
            let before = findings.len();
            let trees = yaml::parse(&file.source, limits, &mut findings);
            if findings.iter().skip(before).any(Diagnostic::is_error) && trees.iter().all(|tree| tree.sound) {
                unread.get_or_insert(&file.source);
            }
            if trees.is_empty() && findings.len() == before && file.origin == Origin::Named {
                findings.push(messages::no_documents(start(&file.source)));
            }
            if Bundle::is_meant(&trees) {
                documents.extend(Bundle::of_documents(&trees, limits, &mut findings).documents);
                bundles.push(&file.source);
                continue;
            }
            for tree in &trees {
                match (file.origin, Role::of(&tree.node)) {
                    (Origin::Found, Role::Companion) => {}
                    (Origin::Found, Role::Foreign) => {
                        findings.push(stray::finding(&tree.node));
                    }
                    _ => documents.extend(Document::read(tree, "", limits, &mut findings)),
                }
            }
        }
        if let Some(file) = files.first()
            && documents.is_empty()
            && bundles.is_empty()
            && !findings.iter().any(Diagnostic::is_error)
        {
            findings.push(messages::no_manifests(start(&file.source)));
        }
        let allowances = files.iter().filter_map(|file| comments(&file.source, limits));
        let mut catalog = Self::linked(documents, unread, limits, &mut findings, Allowances::new(allowances));
        for source in bundles {
            catalog.condemn(source, &findings);
        }
        (catalog, in_order(files, findings, limits.max_diagnostics))
    }

    /// Lets nothing of a bundle run if anything in it is an error (BUN-12).
    fn condemn(&mut self, bundle: &Source, findings: &[Diagnostic]) {
        let within = |place: &Place| place.source.same(bundle);
        if !findings.iter().any(|finding| finding.is_error() && within(&finding.place)) {
            return;
        }
        let agents = self.agents.iter_mut().map(|one| (&one.agent.place, &mut one.sound));
        let schedules = self.schedules.iter_mut().map(|one| (&one.document.launch.place, &mut one.sound));
        let triggers = self.triggers.iter_mut().map(|one| (&one.document.launch.place, &mut one.sound));
        for (place, sound) in agents.chain(schedules).chain(triggers) {
            *sound &= !within(place);
        }
    }

    /// Links documents that were read one by one, such as those of a case file. `findings` holds what reading them found,
    /// and comes to hold what linking them finds. No comment allows anything there.
    #[must_use]
    pub fn link(documents: Vec<Document>, limits: &EngineLimits, findings: &mut Vec<Diagnostic>) -> Self {
        Self::linked(documents, None, limits, findings, Allowances::default())
    }

    fn linked(
        documents: Vec<Document>,
        unread: Option<&Source>,
        limits: &EngineLimits,
        findings: &mut Vec<Diagnostic>,
        mut allowances: Allowances,
    ) -> Self {
        let mut catalog = link::link(documents, unread, limits, findings);
        allowances.judge(findings);
        catalog.allowances = allowances;
        catalog.refused = findings.iter().filter(|finding| finding.is_refused()).cloned().collect();
        catalog
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
            entries.any(|entry| entry.tool().is_some_and(|used| Arc::ptr_eq(used, tool)))
        };
        self.tools.iter().filter(|tool| tool.place.source.same(source)).all(|tool| used(&tool))
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

    /// The schedules, in the order in which they were loaded.
    #[must_use]
    pub fn schedules(&self) -> &[ResolvedLaunch<Schedule>] {
        &self.schedules
    }

    /// The triggers, in the order in which they were loaded.
    #[must_use]
    pub fn triggers(&self) -> &[ResolvedLaunch<Trigger>] {
        &self.triggers
    }

    /// Where each of its documents stands.
    pub fn places(&self) -> impl Iterator<Item = &Place> {
        let agents = self.agents.iter().map(|one| &one.agent.place);
        let tools = self.tools.iter().map(|tool| &tool.place);
        let mount = self.mount.iter().map(|mount| &mount.place);
        let schedules = self.schedules.iter().map(|one| &one.document.launch.place);
        let triggers = self.triggers.iter().map(|one| &one.document.launch.place);
        agents.chain(tools).chain(mount).chain(schedules).chain(triggers)
    }

    /// The workspace mount, if one is loaded.
    #[must_use]
    pub fn mount(&self) -> Option<&Arc<Mount>> {
        self.mount.as_ref()
    }
}

impl ResolvedAgent {
    /// The files of the agent and of every document that it uses.
    pub(crate) fn sources<'a>(&'a self, mount: Option<&'a Mount>) -> impl Iterator<Item = &'a Source> {
        let targets = self.capabilities.iter().filter_map(|entry| match &entry.target {
            Target::Tool(tool) => Some(&tool.place.source),
            Target::Agent(agent) => Some(&agent.place.source),
            Target::Unknown => None,
        });
        let own = std::iter::once(&self.agent.place.source);
        own.chain(targets).chain(mount.map(|mount| &mount.place.source))
    }

    /// The function of a reference.
    #[must_use]
    pub fn function(&self, at: FunctionRef) -> Option<(&CapabilityEntry, &Function)> {
        let entry = self.capabilities.get(at.capability)?;
        Some((entry, entry.functions.get(at.function)?))
    }

    /// The function that an invoke step of this agent calls; none if it names nothing that is loaded, in which case the
    /// step fails when it runs.
    #[must_use]
    pub fn invoke_target(&self, invoke: &Invoke) -> Option<FunctionRef> {
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
    pub fn action(&self, function: &Function) -> Option<&ActionDecl> {
        self.tool()?.actions.get(function.action?)
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
        (self.tool()?.actions.len() > 1).then_some(self.key.as_str())
    }
}

/// The beginning of a source: where to point when the whole of it is meant.
fn start(source: &Source) -> Place {
    Place::new(source, Span::new(0, 0))
}

/// Findings file by file and place by place, at most `limit` a file and one that counts the rest.
fn in_order(files: &[File], findings: Vec<Diagnostic>, limit: usize) -> Vec<Diagnostic> {
    let positions =
        files.iter().enumerate().map(|(at, file)| (file.source.name(), at)).collect::<HashMap<_, _>>();
    let mut by_file = vec![Vec::new(); files.len()];
    for finding in findings {
        let at = positions.get(finding.place.source.name()).copied().unwrap_or_default();
        by_file.get_mut(at).into_iter().for_each(|list| list.push(finding.clone()));
    }
    for list in &mut by_file {
        list.sort_by_key(|finding| finding.place.span.start);
        let hidden = list.split_off(limit.min(list.len()));
        if let Some(first) = hidden.first() {
            let error = hidden.iter().any(Diagnostic::is_error);
            let mut rest = messages::too_many_findings(first.place.clone(), hidden.len(), error);
            if hidden.iter().any(Diagnostic::is_refused) {
                rest.standing = Standing::Refused;
            }
            list.push(rest);
        }
    }
    by_file.into_iter().flatten().collect()
}
