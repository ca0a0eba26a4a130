//! The rules across documents: what an agent names must be there, once, and be used as it is declared.
//!
//! In: documents that were read. Out: the [`Catalog`], and a diagnostic for every problem at the place in the agent's
//! manifest. Linear in the documents and in the functions with their parameters, which `max_yaml_nodes` bounds for one
//! agent. A reference that names nothing is a warning and what hangs on it is left unchecked.

use super::agent::{Agent, Capability, MountScope};
use super::applied::{AppliedKey, AppliedPolicy};
use super::apply::{apply, apply_counter, check_policies};
use super::binding::DeclaredBinding;
use super::capability_key::{META, sanitise};
use super::catalog::{Catalog, ResolvedLaunch};
use super::document::Document;
use super::function_ref::FunctionRef;
use super::functions::{events_of, functions_of};
use super::launch::Launches;
use super::mentions::settle_defaults;
use super::messages;
use super::mode::Mode;
use super::mount::Mount;
use super::names::{Names, Resolution, only_mount, refuse_twins};
use super::policy::DeclaredPolicy;
use super::reader::{Path, Reader};
use super::resolved_agent::{CapabilityEntry, ResolvedAgent, Target};
use super::schema::Property;
use super::selection::{check_include, check_matches, names_of};
use super::step::{DeclaredAction, DeclaredInvoke, DeclaredStep};
use super::tool::{ActionDecl, Tool};
use super::uses::{Policies, with_uses};
use crate::diagnostic::Diagnostic;
use crate::limits::EngineLimits;
use crate::source::{Embedded, Source};
use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// Links documents into a catalog. `unread` is a file that may hold more of them, because it is no YAML.
pub(super) fn link(
    documents: Vec<Document>,
    unread: Option<&Source>,
    limits: &EngineLimits,
    findings: &mut Vec<Diagnostic>,
) -> Catalog {
    let mut reader = Reader::default();
    let (mut agents, mut tools, mut mounts) = (Vec::new(), Vec::new(), Vec::new());
    let (mut schedules, mut triggers, mut policies) = (Vec::new(), Vec::new(), Vec::new());
    for document in documents {
        match document {
            Document::Agent(agent) => agents.push(*agent),
            Document::Tool(tool) => tools.push(*tool),
            Document::Mount(mount) => mounts.push(*mount),
            Document::Schedule(schedule) => schedules.push(*schedule),
            Document::Trigger(trigger) => triggers.push(*trigger),
            Document::Policy(policy) => policies.push(*policy),
            Document::Descriptor(_) => {}
        }
    }
    refuse_twins(&mut agents, &mut reader);
    refuse_twins(&mut tools, &mut reader);
    refuse_twins(&mut schedules, &mut reader);
    refuse_twins(&mut triggers, &mut reader);
    refuse_twins(&mut policies, &mut reader);
    let mount = only_mount(mounts, &mut reader);
    let Policies { documents: policies, all } = with_uses(policies, limits, &mut reader);
    findings.extend(reader.into_findings());

    let agents: Vec<Arc<Agent>> = agents.into_iter().map(Arc::new).collect();
    let tools: Vec<Arc<Tool>> = tools.into_iter().map(Arc::new).collect();
    let names = Names::new(&agents, &tools, unread, limits.max_diagnostics);
    let mut by_name = HashMap::new();
    let mut resolved = Vec::new();
    for agent in &agents {
        let name = (agent.namespace.text.to_string(), agent.name.text.to_string());
        by_name.entry(name).or_insert(resolved.len());
        let own = all.iter().filter(|policy| policy.agents.selects(agent));
        let own = own.map(|policy| (policy, &[][..]));
        let linked = Linker::new(agent, &names, limits).link(mount.as_deref(), own);
        resolved.push(linked.0);
        findings.extend(linked.1);
    }
    drop(names);
    let mut reader = Reader::default();
    check_policies(&policies, &mut resolved, &mut reader);
    findings.extend(reader.into_findings());
    let mut catalog = Catalog { agents: resolved, tools, policies, mount, by_name, ..Catalog::default() };
    catalog.schedules = link_launches(schedules, &catalog, unread, findings);
    catalog.triggers = link_launches(triggers, &catalog, unread, findings);
    catalog
}

/// An agent linked anew, with other documents in the place of some that it was linked with. Nothing else is looked for.
pub(super) fn relink(
    resolved: &ResolvedAgent,
    mount: Option<&Mount>,
    limits: &EngineLimits,
    other: impl Fn(&Tool) -> Option<Tool>,
) -> (ResolvedAgent, Vec<Diagnostic>) {
    let targets = resolved.capabilities.iter().map(|entry| (&*entry.reference, entry.target.with(&other)));
    let names = Names::of_targets(targets);
    let policies = resolved.policies.iter().map(|applied| (&applied.policy, &*applied.calls));
    let (agent, findings) = Linker::new(&resolved.agent, &names, limits).link(mount, policies);
    (ResolvedAgent { mode: resolved.mode, hash_key: resolved.hash_key.clone(), ..agent }, findings)
}

/// Finds the agent of each schedule or trigger, in its own namespace and nowhere else (SCH-06, TRG-11).
fn link_launches<T: Launches>(
    documents: Vec<T>,
    catalog: &Catalog,
    unread: Option<&Source>,
    findings: &mut Vec<Diagnostic>,
) -> Vec<ResolvedLaunch<T>> {
    let link = |document: T| {
        let launch = document.launch();
        let mut reader = Reader::default();
        let resolved = catalog.agent(&launch.namespace.text, &launch.agent.text);
        match resolved {
            Some(resolved) => launch.check_inputs(&resolved.agent, &mut reader),
            // an empty name has been reported where it is missing
            None if launch.agent.text.is_empty() => {}
            // the agent may be in the file that cannot be read, which is an error itself
            None if unread.is_some() => {}
            None => {
                let mut others = catalog.agents().iter().map(|resolved| &resolved.agent.name);
                let elsewhere = others.find(|name| name.text == launch.agent.text);
                let elsewhere = elsewhere.map(|name| name.place.clone());
                let finding = messages::unknown_agent(
                    &launch.agent,
                    &launch.namespace.text,
                    elsewhere,
                    launch.rules().agent,
                );
                reader.report(&Path::document(&launch.path).key("agent"), finding);
            }
        }
        let agent = resolved.map(|resolved| Arc::clone(&resolved.agent));
        let sound = launch.sound && !reader.has_errors() && resolved.is_some_and(|resolved| resolved.sound);
        findings.extend(reader.into_findings());
        ResolvedLaunch { document: Arc::new(document), agent, sound }
    };
    documents.into_iter().map(link).collect()
}

/// Links one agent.
struct Linker<'a> {
    agent: &'a Arc<Agent>,
    names: &'a Names<'a>,
    reader: Reader,
    entries: Vec<CapabilityEntry>,
    /// Entries by reference.
    by_reference: HashMap<String, usize>,
    /// Sanitised action names of each entry to their functions.
    functions: Vec<HashMap<String, usize>>,
    /// Keys that are taken, by whom.
    keys: HashMap<String, Embedded>,
    invoked: HashMap<(String, String), FunctionRef>,
    /// How many functions and parameters the agent may still have.
    budget: usize,
    /// How many steps of policies its functions may still have.
    matches: usize,
    limits: &'a EngineLimits,
}

impl<'a> Linker<'a> {
    fn new(agent: &'a Arc<Agent>, names: &'a Names<'a>, limits: &'a EngineLimits) -> Self {
        Self {
            agent,
            names,
            reader: Reader::default(),
            entries: Vec::new(),
            by_reference: HashMap::new(),
            functions: Vec::new(),
            keys: HashMap::new(),
            invoked: HashMap::new(),
            budget: limits.max_yaml_nodes,
            matches: limits.max_rule_matches,
            limits,
        }
    }

    /// Links the agent under its policies. Beside each stands what its keys were found to select before, if they were.
    fn link<'p>(
        mut self,
        mount: Option<&Mount>,
        policies: impl Iterator<Item = (&'p Arc<DeclaredPolicy>, &'p [AppliedKey])>,
    ) -> (ResolvedAgent, Vec<Diagnostic>) {
        for (at, capability) in self.agent.capabilities.iter().enumerate() {
            let path = Path::document(&capability.path);
            let target = self.resolve_capability(&capability.reference, &path);
            let entry = self.add(&capability.reference, &path, target, Some(at));
            self.check_bindings(capability, entry);
            self.check_selection(capability, entry);
        }
        let agent = self.agent;
        let steps = agent.capabilities.iter().flat_map(Capability::steps).chain(agent.guardrails.steps());
        for step in steps {
            if let DeclaredAction::Invoke(invoke) = &step.action
                && let Some(at) = self.link_invoke(step, invoke, &agent.namespace.text)
            {
                self.invoked.insert((invoke.tool.clone(), invoke.capability.clone()), at);
            }
        }
        let mut policies: Vec<AppliedPolicy> =
            policies.map(|(policy, before)| self.apply(policy, before)).collect();
        settle_defaults(agent, &self.entries, &mut policies);
        policies.iter().for_each(|applied| self.count_denied(applied));
        self.check_mount(mount);
        let uses_mount = agent.mount != MountScope::None;
        let sound = agent.sound
            && !self.reader.has_errors()
            && self.entries.iter().all(|entry| entry.target.is_sound())
            && (!uses_mount || mount.is_none_or(|mount| mount.sound));
        let resolved = ResolvedAgent {
            agent: Arc::clone(agent),
            sound,
            capabilities: self.entries,
            policies,
            mode: Mode::Enforce,
            hash_key: None,
            invoked: self.invoked,
        };
        (resolved, self.reader.into_findings())
    }

    /// A policy, as it applies to the agent. Its steps invoke the tools of its own namespace, so that no agent puts another tool
    /// in the place of one that the policy means.
    fn apply(&mut self, policy: &Arc<DeclaredPolicy>, before: &[AppliedKey]) -> AppliedPolicy {
        let mut calls = Vec::new();
        for (at, key) in policy.capabilities.iter().enumerate() {
            let applied = apply(key, &self.entries, &mut self.matches);
            let path = Path::document(&key.path);
            if applied.is_none() {
                let limit = self.limits.max_rule_matches;
                self.reader.report(&path, messages::too_many_matches(&key.key, limit));
            }
            // a key that selects too much selects something
            let too_many = AppliedKey { is_known: true, ..AppliedKey::default() };
            let mut applied = applied.unwrap_or(too_many);
            applied.is_awaited = before.get(at).is_some_and(|before| before.is_awaited);
            if applied.is_awaited && !applied.is_known {
                self.reader.report(&path, messages::nothing_brought(&key.key));
            }
            calls.push(applied);
        }
        let mut counters = Vec::new();
        for counter in &policy.counters {
            let applied = apply_counter(counter, &self.entries, &mut self.matches);
            if applied.is_none() {
                let (path, limit) = (Path::document(&counter.path), self.limits.max_rule_matches);
                self.reader.report(&path, messages::too_many_matches(&counter.name, limit));
            }
            counters.push(applied.unwrap_or_default());
        }
        let mut invoked = HashMap::new();
        for step in policy.steps() {
            if let DeclaredAction::Invoke(invoke) = &step.action
                && let Some(at) = self.link_invoke(step, invoke, &policy.namespace.text)
            {
                invoked.insert((invoke.tool.clone(), invoke.capability.clone()), at);
            }
        }
        let default = AppliedKey { is_known: true, ..AppliedKey::default() };
        AppliedPolicy { policy: Arc::clone(policy), calls, default, counters, invoked }
    }

    /// Counts the functions that a policy denies by default among the steps of policies.
    fn count_denied(&mut self, applied: &AppliedPolicy) {
        let Some(denial) = &applied.policy.default_denial else { return };
        match self.matches.checked_sub(applied.default.functions.len()) {
            Some(left) => self.matches = left,
            None => {
                let (path, limit) = (Path::document(&denial.path), self.limits.max_rule_matches);
                self.reader.report(&path, messages::too_many_matches(&denial.key, limit));
            }
        }
    }

    /// The tool or agent of a capability (AG-18).
    fn resolve_capability(&mut self, reference: &Embedded, path: &Path) -> Target {
        match self.names.resolve(&reference.text, &self.agent.namespace.text, |_| true) {
            Resolution::Found(target) => target,
            Resolution::Several(places) => {
                self.reader.report(path, messages::ambiguous_capability(reference, &places));
                Target::Unknown
            }
            Resolution::Nothing => {
                let near = self.names.nearest(&reference.text);
                let finding = messages::unresolved_capability(reference, near);
                self.reader.report(path, self.names.or_unread(finding));
                Target::Unknown
            }
        }
    }

    /// Adds an entry with its functions and takes their keys. Gives its position.
    fn add(&mut self, reference: &Embedded, path: &Path, target: Target, listed: Option<usize>) -> usize {
        let key = sanitise(&reference.text);
        let capability = listed.and_then(|at| self.agent.capabilities.get(at));
        let mut entry = CapabilityEntry {
            reference: reference.text.to_string(),
            key,
            listed,
            target,
            functions: Vec::new(),
            events: Vec::new(),
        };
        let functions = functions_of(&entry, capability);
        let mut by_name = HashMap::new();
        for function in functions {
            let size = function.parameters.len().saturating_add(1);
            let Some(left) = self.budget.checked_sub(size) else {
                self.reader.report(path, messages::agent_too_large(reference, self.limits.max_yaml_nodes));
                break;
            };
            self.budget = left;
            self.take_key(&function.key, reference, path);
            by_name.entry(sanitise(&function.name)).or_insert(entry.functions.len());
            entry.functions.push(Arc::new(function));
        }
        if let Some(key) = entry.tool_record().map(str::to_owned) {
            self.take_key(&key, reference, path);
        }
        entry.events = events_of(&entry, capability);
        let position = self.entries.len();
        self.by_reference.insert(entry.reference.clone(), position);
        self.entries.push(entry);
        self.functions.push(by_name);
        position
    }

    /// Takes a key for a function or a record; two of one key are an error (KEY-07), and so is `_meta` (KEY-08).
    fn take_key(&mut self, key: &str, reference: &Embedded, path: &Path) {
        if key == META {
            self.reader.report(path, messages::meta_key(reference));
            return;
        }
        match self.keys.entry(key.to_owned()) {
            // Two actions of one tool: that is the tool's error, and stands there.
            Entry::Occupied(first) if Arc::ptr_eq(&first.get().text, &reference.text) => {}
            Entry::Occupied(first) => {
                let finding = messages::key_collision(reference, key, first.get().place.clone());
                self.reader.report(path, finding);
            }
            Entry::Vacant(free) => {
                free.insert(reference.clone());
            }
        }
    }

    /// Whether names that are not declared may exist all the same, because they are declared elsewhere.
    fn has_hidden_names(&self, entry: usize) -> bool {
        self.entries.get(entry).is_none_or(|entry| match &entry.target {
            Target::Tool(tool) => {
                tool.actions.is_empty() && tool.has_derived_parameters() || tool.takes_patterns()
            }
            Target::Agent(_) => false,
            Target::Unknown => true,
        })
    }

    fn check_selection(&mut self, capability: &Capability, entry: usize) {
        let Some(entry) = self.entries.get(entry).filter(|_| !self.has_hidden_names(entry)) else { return };
        check_include(capability, entry, self.names, &mut self.reader);
        check_matches(capability, entry, self.names, &mut self.reader);
    }

    /// Bindings name declared parameters (BND-04), and parameters that need one have one (BND-05, KV-11, DEL-04, DEL-05).
    fn check_bindings(&mut self, capability: &Capability, entry: usize) {
        self.check_mount_templates(&capability.bindings);
        let Some(entry) = self.entries.get(entry) else { return };
        let declared = declared_parameters(&entry.target);
        let is_agent = matches!(entry.target, Target::Agent(_));
        let checked = match &entry.target {
            // of a tool that no task has brought nobody knows the parameters
            Target::Tool(tool) if tool.takes_patterns() || tool.actions.iter().any(ActionDecl::is_absent) => {
                false
            }
            Target::Tool(tool) => !(declared.is_empty() && tool.has_derived_parameters()),
            Target::Agent(_) => true,
            Target::Unknown => false,
        };
        if !checked {
            return;
        }
        let reference = &capability.reference;
        let mut known = declared.iter().map(|parameter| &*parameter.name.text).collect::<HashSet<_>>();
        known.extend(is_agent.then_some("message"));
        let mut bound = HashSet::new();
        for binding in &capability.bindings {
            bound.insert(&*binding.name.text);
            if !known.contains(&*binding.name.text) {
                let others = self.names.alternatives(&known);
                let finding = messages::unknown_binding(&binding.name, &reference.text, &others);
                self.reader.report(&Path::document(&binding.path), finding);
            }
        }
        let path = Path::document(&capability.path).key("bindings");
        let mut told = HashSet::new();
        for parameter in declared {
            let (name, schema) = (&*parameter.name.text, &parameter.schema);
            if bound.contains(name) {
                continue;
            }
            let place = parameter.name.place.clone();
            let finding = if schema.require_binding {
                messages::unbound_parameter(reference, name, place)
            } else if is_agent && name != "message" && schema.is_required() {
                messages::unbound_child_parameter(reference, name, place)
            } else if !schema.allow_from_llm {
                messages::hidden_parameter(reference, name, place)
            } else {
                continue;
            };
            if told.insert((name, finding.code)) {
                self.reader.report(&path, finding);
            }
        }
    }

    /// Templates of the mount need one (BND-14).
    fn check_mount_templates(&mut self, bindings: &[DeclaredBinding]) {
        if self.agent.mount != MountScope::None {
            return;
        }
        for binding in bindings {
            let text = &binding.value.text;
            if ["{mount.bucket}", "{mount.prefix}", "{mount.backend}"].iter().any(|part| text.contains(part))
            {
                let finding = messages::mount_template(&binding.value);
                self.reader.report(&Path::document(&binding.path), finding);
            }
        }
    }

    /// An agent that works in a mount should find one.
    fn check_mount(&mut self, mount: Option<&Mount>) {
        if let Some(place) = &self.agent.mount_place
            && self.agent.mount != MountScope::None
            && mount.is_none()
        {
            let path = Path::document(&self.agent.path).key("mount");
            self.reader.report(&path, messages::mount_not_loaded(place));
        }
    }

    /// The function of an invoke step of a document of this namespace, its arguments checked (MW-11, MW-12).
    fn link_invoke(
        &mut self,
        step: &DeclaredStep,
        invoke: &DeclaredInvoke,
        namespace: &str,
    ) -> Option<FunctionRef> {
        self.check_mount_templates(&invoke.bindings);
        let path = Path::document(&step.path).key("invoke");
        let entry = self.invoked_entry(invoke, namespace, &path)?;
        let name = sanitise(&invoke.capability);
        let function = self.functions.get(entry).and_then(|functions| functions.get(&name)).copied();
        let Some(function) = function else {
            if !self.has_hidden_names(entry) {
                let known = self.entries.get(entry).map(names_of).unwrap_or_default();
                let finding = messages::unknown_invoke(
                    &invoke.target,
                    &invoke.tool,
                    &invoke.capability,
                    &self.names.alternatives(&known),
                );
                self.reader.report(&path, finding);
            }
            return None;
        };
        let at = FunctionRef { capability: entry, function };
        self.check_arguments(step, invoke, at);
        Some(at)
    }

    /// The entry of the tool that a step invokes: that of the capability, or a new one (MW-12).
    fn invoked_entry(&mut self, invoke: &DeclaredInvoke, namespace: &str, path: &Path) -> Option<usize> {
        let is_tool = |target: &Target| matches!(target, Target::Tool(_));
        let is_own = *namespace == *self.agent.namespace.text;
        if let Some(at) = self.by_reference.get(&invoke.tool) {
            match self.entries.get(*at).map(|entry| &entry.target) {
                Some(Target::Tool(_)) if is_own => return Some(*at),
                Some(Target::Tool(known)) => match self.names.resolve(&invoke.tool, namespace, is_tool) {
                    // another tool of this name gets an entry of its own, whose key is taken: that is an error
                    Resolution::Found(Target::Tool(meant)) if meant.is_part_of(known) => return Some(*at),
                    _ => {}
                },
                Some(Target::Unknown) => return None,
                Some(Target::Agent(_)) | None => {}
            }
        }
        let finding = match self.names.resolve(&invoke.tool, namespace, is_tool) {
            Resolution::Found(target) => {
                let reference = Embedded::new(invoke.tool.as_str(), invoke.target.place.clone(), []);
                return Some(self.add(&reference, path, target, None));
            }
            Resolution::Several(_) => messages::ambiguous_invoke(&invoke.target, &invoke.tool),
            Resolution::Nothing => match self.names.resolve(&invoke.tool, namespace, |_| true) {
                Resolution::Nothing => {
                    let near = self.names.nearest(&invoke.tool);
                    self.names.or_unread(messages::unresolved_invoke(&invoke.target, &invoke.tool, near))
                }
                _ => messages::invoked_agent(&invoke.target, &invoke.tool),
            },
        };
        self.reader.report(path, finding);
        None
    }

    /// The arguments of a step are declared (BND-04) and complete (BND-17, BND-18).
    fn check_arguments(&mut self, step: &DeclaredStep, invoke: &DeclaredInvoke, at: FunctionRef) {
        let Some(entry) = self.entries.get(at.capability) else { return };
        let Some(function) = entry.functions.get(at.function) else { return };
        let is_absent = entry.action(function).is_some_and(ActionDecl::is_absent);
        let derived = is_absent || entry.tool().is_some_and(|tool| tool.has_derived_parameters());
        if function.parameters.is_empty() && derived {
            return;
        }
        let step_path = Path::document(&step.path);
        let names =
            function.parameters.iter().map(|parameter| parameter.name.as_str()).collect::<HashSet<_>>();
        for binding in &invoke.bindings {
            if !names.contains(&*binding.name.text) {
                let others = self.names.alternatives(&names);
                let finding = messages::unknown_binding(&binding.name, &invoke.target.text, &others);
                self.reader.report(&Path::document(&binding.path), finding);
            }
        }
        let given = invoke.bindings.iter().map(|binding| &*binding.name.text).collect::<HashSet<_>>();
        for parameter in &function.parameters {
            let Some(property) = &parameter.declared else { continue };
            if parameter.bound || given.contains(parameter.name.as_str()) {
                continue;
            }
            let place = property.name.place.clone();
            if property.schema.require_binding {
                // A listed capability has been told so already.
                if entry.listed.is_none() {
                    let finding = messages::invoke_unbound(&invoke.target, &parameter.name, place);
                    self.reader.report(&step_path.key("bindings"), finding);
                }
            } else if property.schema.is_required() {
                let finding = messages::invoke_incomplete(&invoke.target, &parameter.name, place);
                self.reader.report(&step_path.key("bindings"), finding);
            }
        }
    }
}

/// Every parameter that a binding may name: of the tool, its actions and its events, or of the agent.
fn declared_parameters(target: &Target) -> Vec<&Property> {
    match target {
        Target::Tool(tool) => {
            let actions = tool.actions.iter().flat_map(|action| &action.parameters);
            let events = tool.events.iter().flat_map(|event| &event.parameters);
            tool.parameters.iter().chain(actions).chain(events).collect()
        }
        Target::Agent(agent) => agent.parameters.iter().collect(),
        Target::Unknown => Vec::new(),
    }
}
