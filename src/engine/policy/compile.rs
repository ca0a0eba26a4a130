//! An agent to its policy: every text compiled in its scope, every name resolved to a position.
//!
//! In: a resolved agent and the mount. Out: a [`Policy`] and the findings; with an error among them, or in the documents
//! themselves, there is no policy. It goes on after each problem. Linear in the manifests; each distinct scope is made once,
//! and only if something stands in it: a scope is dearer than an expression.

use super::binding::Binding;
use super::declaration::{
    Declaration, called, declarations, declare, description, offered_schema, setting_defaults, target,
};
use super::encoding::{fingerprint, rules};
use super::event::{Event, shared_type};
use super::expression::{Expression, Texts};
use super::function::{AgentFunction, Execute};
use super::message::compile_prompt;
use super::messages;
use super::parameters::{InputOf, Parameters};
use super::put::added_keys;
use super::reads::KnownDependencies;
use super::result::OutputSchema;
use super::step::{Step, StepAction, StepScopes};
use super::tool_template::check_tool_templates;
use super::{CapabilitySteps, Expose, Policy, entries, secrets};
use crate::cel::{Cache, LANGUAGE, Type};
use crate::context::{ContextSchema, FunctionId, Scope, ScopeDecl, ScopeEnv};
use crate::diagnostic::Diagnostic;
use crate::limits::EngineLimits;
use crate::manifest::agent::{Agent, Capability, MountScope};
use crate::manifest::capability_key::sanitise;
use crate::manifest::catalog::{CapabilityEntry, ResolvedAgent};
use crate::manifest::mount::Mount;
use crate::manifest::step::{DeclaredAction, DeclaredStep, Hook};
use crate::manifest::tool::DeclaredExecute;
use crate::source::Embedded;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

impl Policy {
    /// Compiles an agent.
    ///
    /// # Errors
    /// Errors and warnings come as diagnostics; the policy is there if neither they nor the agent's documents hold an
    /// error.
    #[must_use]
    pub fn compile(
        resolved: &ResolvedAgent,
        mount: Option<&Arc<Mount>>,
        limits: &EngineLimits,
        cache: &Cache,
    ) -> (Option<Arc<Self>>, Vec<Diagnostic>) {
        // two records of one key are an error of the documents, which the manifest layer has reported
        let Some(mut compiler) = Compiler::new(resolved, limits, cache) else { return (None, Vec::new()) };
        let policy = compiler.policy(mount);
        let findings = compiler.texts.findings;
        let sound = resolved.sound && !findings.iter().any(Diagnostic::is_error);
        (policy.filter(|_| sound).map(Arc::new), findings)
    }
}

/// What the types of a scope depend on.
#[derive(Clone, PartialEq, Eq, Hash)]
struct ScopeKey {
    scope: Scope,
    /// The functions that share a step.
    functions: Vec<usize>,
    /// The events that run it too: the positions of their capabilities, and theirs in it.
    events: Vec<(usize, usize)>,
    /// Whether a transform has made something else of the result by then.
    transformed: bool,
}

impl ScopeKey {
    fn plain(scope: Scope) -> Self {
        Self { scope, functions: Vec::new(), events: Vec::new(), transformed: false }
    }
}

struct Compiler<'c> {
    resolved: &'c ResolvedAgent,
    agent: &'c Agent,
    schema: Arc<ContextSchema>,
    functions: Arc<[Declaration<'c>]>,
    limits: EngineLimits,
    scopes: HashMap<ScopeKey, Arc<ScopeEnv>>,
    texts: Texts<'c>,
}

impl<'c> Compiler<'c> {
    fn new(resolved: &'c ResolvedAgent, limits: &EngineLimits, cache: &'c Cache) -> Option<Self> {
        let agent = &*resolved.agent;
        let functions = declarations(resolved);
        let mut declared = declare(resolved, &functions);
        entries::close(&mut declared, resolved, &limits.eval);
        let schema = secrets::schema(&declared, resolved, &functions, limits).ok()?;
        Some(Self {
            resolved,
            agent,
            schema,
            functions: functions.into(),
            limits: *limits,
            scopes: HashMap::new(),
            texts: Texts::new(cache),
        })
    }

    fn policy(&mut self, mount: Option<&Arc<Mount>>) -> Option<Policy> {
        let agent = self.agent;
        let bindings = self.compile_bindings();
        let functions = self.compile_functions(&bindings);
        let events = self.events();
        let capabilities = self.capabilities();
        let guardrails = &agent.guardrails;
        let guardrails_before = self.guardrails(&guardrails.before, Scope::GuardrailBefore);
        let guardrails_after = self.guardrails(&guardrails.after, Scope::GuardrailAfter);
        let exposes = self.exposes();
        let prompt = agent.prompt.as_ref().map(|text| {
            let scope = self.plain_scope(Scope::Prompt);
            compile_prompt(&scope, text, &self.path("prompt"), &mut self.texts.findings)
        });
        let input = Parameters::of_agent(&agent.parameters);
        let workspace = mount.map(Arc::as_ref);
        let (functions, events) = (functions?, events?);
        Some(Policy {
            agent: self.resolved.agent.clone(),
            mount: mount.cloned(),
            schema: self.schema.clone(),
            bindings: bindings.into_iter().collect::<Option<_>>()?,
            capabilities: capabilities?,
            guardrails_before: guardrails_before?,
            guardrails_after: guardrails_after?,
            exposes: exposes?,
            input,
            prompt,
            fingerprint: fingerprint(self.resolved, &self.functions, self.schema.secrets(), workspace),
            rules: rules(self.resolved),
            limits: self.limits,
            own_names: own_names(&functions),
            dependencies: KnownDependencies::new(functions.len(), events.len()),
            functions,
            events,
            trial_scopes: Default::default(),
        })
    }

    /// A path of the agent's document.
    fn path(&self, key: &str) -> String {
        if self.agent.path.is_empty() { key.to_owned() } else { format!("{}.{key}", self.agent.path) }
    }

    /// The bindings of each capability; none where one does not compile.
    fn compile_bindings(&mut self) -> Vec<Option<Vec<Arc<Binding>>>> {
        let mut bindings = Vec::new();
        for entry in &self.resolved.capabilities {
            bindings.push(self.bindings(entry.capability(self.agent)));
            check_tool_templates(entry, self.agent.mount, &mut self.texts.findings);
        }
        bindings
    }

    fn events(&mut self) -> Option<Vec<Event>> {
        let mut events = Vec::new();
        for (at, entry) in self.resolved.capabilities.iter().enumerate() {
            for event in &entry.events {
                events.push(Event::compile(self.agent, entry, event, at, &self.limits, &mut self.texts));
            }
        }
        events.into_iter().collect()
    }

    fn compile_functions(&mut self, bindings: &[Option<Vec<Arc<Binding>>>]) -> Option<Vec<AgentFunction>> {
        let declared = self.functions.clone();
        let mut compiled = Vec::new();
        for (position, declaration) in declared.iter().enumerate() {
            let Declaration { capability: at, function, parameters, output } = declaration;
            let Some(entry) = self.resolved.capabilities.get(*at) else { continue };
            let execute = self.execute(entry, declaration, position);
            let is_bound = |binding: &&Arc<Binding>| parameters.is_bound(&binding.name);
            let bound = bindings.get(*at).and_then(Option::as_ref);
            let given = bound.into_iter().flatten().map(Arc::as_ref);
            secrets::warn_of_shown(given, function, &[], &self.schema, &mut self.texts.findings);
            compiled.push(execute.map(|execute| {
                AgentFunction {
                    key: function.key.as_str().into(),
                    called: called(entry, function),
                    annotations: entry
                        .tool()
                        .filter(|tool| tool.listing.is_some())
                        .and_then(|_| Some(entry.action(function)?.annotations)),
                    name: sanitise(&function.name),
                    capability: *at,
                    offered: function.active && entry.listed.is_some() && !matches!(execute, Execute::Absent),
                    description: description(entry, function),
                    schema: offered_schema(function),
                    bindings: bound.into_iter().flatten().filter(is_bound).cloned().collect(),
                    parameters: parameters.clone(),
                    output: output.clone(),
                    setting_defaults: setting_defaults(entry),
                    target: target(entry, function),
                    execute,
                }
            }));
        }
        compiled.into_iter().collect()
    }

    fn bindings(&mut self, capability: Option<&Capability>) -> Option<Vec<Arc<Binding>>> {
        let written = capability.map_or(&[][..], |capability| &capability.bindings);
        if written.is_empty() {
            return Some(Vec::new());
        }
        let scope = self.plain_scope(Scope::Binding);
        let compile = |binding| Binding::compile(&scope, binding, &mut self.texts).map(Arc::new);
        let compiled: Vec<_> = written.iter().map(compile).collect();
        compiled.into_iter().collect()
    }

    fn execute(
        &mut self,
        entry: &CapabilityEntry,
        declaration: &Declaration<'_>,
        position: usize,
    ) -> Option<Execute> {
        let Declaration { function, parameters, .. } = declaration;
        let Some(action) = entry.action(function) else { return Some(Execute::Host) };
        let text = match &action.execute {
            DeclaredExecute::Cel(text) => text,
            DeclaredExecute::Runtime(_) | DeclaredExecute::Host => return Some(Execute::Host),
            DeclaredExecute::Absent => return Some(Execute::Absent),
        };
        let name = format!("input of {}", function.key);
        let input = Parameters::input_type(&name, &[parameters], InputOf::FormedCall);
        let key = ScopeKey { functions: vec![position], ..ScopeKey::plain(Scope::CelTool) };
        let scope = self.scope(key, input, Type::Dyn, Type::Dyn);
        let path = format!("{}.execute.cel.expression", action.path);
        let compiled = Expression::compile(&scope, text, &path, &mut self.texts)?;
        if let Some(output) = declaration.output.as_ref().filter(|output| output.excludes(&compiled)) {
            self.texts.findings.push(messages::tool_output_misfit(text, output.place()).path(&path));
        }
        Some(Execute::Cel(compiled))
    }

    fn capabilities(&mut self) -> Option<Vec<CapabilitySteps>> {
        let mut all = Vec::new();
        for (at, entry) in self.resolved.capabilities.iter().enumerate() {
            let Some(capability) = entry.capability(self.agent) else {
                all.push(Some(CapabilitySteps::default()));
                continue;
            };
            let before_first = self.steps(&capability.before_first, at, entry, Hook::BeforeFirst);
            let before = self.steps(&capability.before, at, entry, Hook::Before);
            let after = self.steps(&capability.after, at, entry, Hook::After);
            all.push((|| {
                Some(CapabilitySteps { before_first: before_first?, before: before?, after: after? })
            })());
        }
        all.into_iter().collect()
    }

    fn steps(
        &mut self,
        written: &[DeclaredStep],
        at: usize,
        entry: &CapabilityEntry,
        hook: Hook,
    ) -> Option<Vec<Step>> {
        let mut steps = Vec::new();
        // the functions of which a step before has made something else
        let mut transformed = HashSet::new();
        for step in written {
            let selected = step.match_name.as_ref().map(|name| sanitise(&name.text));
            let is_for = |name: &str| selected.as_deref().is_none_or(|selected| selected == sanitise(name));
            let own = |(_, declaration): &(usize, &Declaration<'_>)| {
                declaration.capability == at && is_for(&declaration.function.name)
            };
            let positions = self.functions.iter().enumerate().filter(own);
            let positions: Vec<usize> = positions.map(|(position, _)| position).collect();
            // `before_first` never runs for events (MW-43)
            let heard = entry.events.iter().enumerate().filter(|_| hook != Hook::BeforeFirst);
            let heard = heard.filter(|(_, event)| event.active && is_for(&event.name));
            let events: Vec<_> = heard.map(|(position, _)| (at, position)).collect();
            let (action, condition) = match hook {
                Hook::After => (Scope::After, Scope::AfterCondition),
                _ => (Scope::Before, Scope::BeforeCondition),
            };
            let is_transformed = positions.iter().any(|position| transformed.contains(position));
            let key = |scope| ScopeKey {
                scope,
                functions: positions.clone(),
                events: events.clone(),
                transformed: is_transformed,
            };
            let action = self.step_scope(key(action), &entry.reference);
            let condition = match &step.condition {
                Some(_) => self.step_scope(key(condition), &entry.reference),
                None => action.clone(),
            };
            let scopes = StepScopes { action, condition };
            let compiled = self.step(step, &scopes, &positions);
            if let DeclaredAction::Transform(text) = &step.action {
                self.check_transform(&positions, compiled.as_ref(), text);
                transformed.extend(positions);
            }
            steps.push(compiled);
        }
        steps.into_iter().collect()
    }

    /// Says so if a transform makes something that none of its actions declares. It is no error: what an agent makes of a
    /// result, such as a mask in the place of an address, is its own affair. A mask in the place of nothing is one.
    fn check_transform(&mut self, functions: &[usize], step: Option<&Step>, text: &Embedded) {
        let Some(StepAction::Transform(transform)) = step.map(|step| &step.action) else { return };
        let path = transform.origin().path;
        let declared = functions.iter().filter_map(|&at| self.functions.get(at)?.output.as_ref());
        if let Some(output) = declared.clone().find(|output| output.excludes(transform)) {
            let finding = messages::transform_misfit(text.place.clone(), output.place());
            self.texts.findings.push(finding.path(&path));
            return;
        }
        for key in added_keys(transform) {
            let place = transform.place_of(key.span);
            let finding = match (&key.near, declared.clone().next()) {
                (Some(near), _) => messages::put_beside(place, &key.record, &key.key, near),
                (None, Some(output)) if key.to_result => messages::transform_misfit(place, output.place()),
                (None, _) => continue,
            };
            self.texts.findings.push(finding.path(&path));
        }
    }

    fn guardrails(&mut self, written: &[DeclaredStep], scope: Scope) -> Option<Vec<Step>> {
        if written.is_empty() {
            return Some(Vec::new());
        }
        let scope = self.plain_scope(scope);
        let scopes = StepScopes { action: scope.clone(), condition: scope };
        let mut steps = Vec::new();
        for step in written {
            let compiled = self.step(step, &scopes, &[]);
            if let DeclaredAction::Transform(text) = &step.action {
                self.check_transform(&[], compiled.as_ref(), text);
            }
            steps.push(compiled);
        }
        steps.into_iter().collect()
    }

    /// A step about the calls of these functions, or of none.
    fn step(&mut self, written: &DeclaredStep, scopes: &StepScopes, callers: &[usize]) -> Option<Step> {
        let target = match &written.action {
            DeclaredAction::Invoke(invoke) => self.resolved.invoke_target(invoke),
            DeclaredAction::Assert(_) | DeclaredAction::Transform(_) => None,
        };
        let called = target.and_then(|at| self.resolved.function(at));
        let key = called.map(|(_, function)| &function.key);
        let function =
            key.and_then(|key| self.schema.function(key)).map(|FunctionId(position)| position as usize);
        let step = Step::compile(written, scopes, function, &mut self.texts)?;
        if let (StepAction::Invoke(invoke), Some((_, target))) = (&step.action, called) {
            let callers = callers.iter().filter_map(|at| Some(FunctionId(u32::try_from(*at).ok()?)));
            let callers: Vec<FunctionId> = callers.collect();
            let findings = &mut self.texts.findings;
            secrets::warn_of_shown(&invoke.bindings, target, &callers, &self.schema, findings);
        }
        Some(step)
    }

    fn exposes(&mut self) -> Option<Vec<Expose>> {
        if self.agent.exposes.is_empty() {
            return Some(Vec::new());
        }
        let scope = self.plain_scope(Scope::Exposes);
        let mut exposes = Vec::new();
        for expose in &self.agent.exposes {
            let value = Expression::compile(&scope, &expose.value, &expose.path, &mut self.texts);
            exposes.push(value.map(|value| Expose { name: expose.name.text.clone(), value }));
        }
        exposes.into_iter().collect()
    }

    fn plain_scope(&mut self, scope: Scope) -> Arc<ScopeEnv> {
        self.scope(ScopeKey::plain(scope), Type::Dyn, Type::Dyn, Type::Dyn)
    }

    /// The scope of a step that these functions share.
    fn step_scope(&mut self, key: ScopeKey, name: &str) -> Arc<ScopeEnv> {
        let shared: Vec<_> = key.functions.iter().filter_map(|&at| self.functions.get(at)).collect();
        let parameters: Vec<&Parameters> = shared.iter().map(|function| &function.parameters).collect();
        let of = if key.events.is_empty() { InputOf::Attempt } else { InputOf::AttemptOrEvent };
        let input = Parameters::input_type(&format!("input of {name}"), &parameters, of);
        let output = if key.transformed {
            Type::Dyn
        } else {
            let outputs = shared.iter().map(|function| function.output.as_ref());
            OutputSchema::ty(&format!("output of {name}"), outputs)
        };
        let resolved = self.resolved;
        let event = |&(at, event): &(usize, usize)| {
            let entry = resolved.capabilities.get(at)?;
            entry.event(entry.events.get(event)?)
        };
        let event = shared_type(key.events.clone().iter().filter_map(event));
        self.scope(key, input, output, event)
    }

    fn scope(&mut self, key: ScopeKey, input: Type, output: Type, event: Type) -> Arc<ScopeEnv> {
        let make = || {
            Arc::new(ScopeEnv::new(&ScopeDecl {
                schema: Some(&self.schema),
                input,
                output,
                event,
                has_mount: self.agent.mount != MountScope::None,
                libraries: LANGUAGE,
                ..ScopeDecl::new(key.scope, self.limits.eval)
            }))
        };
        self.scopes.entry(key.clone()).or_insert_with(make).clone()
    }
}

fn own_names(functions: &[AgentFunction]) -> HashMap<Arc<str>, usize> {
    let functions = functions.iter().enumerate().filter(|(_, function)| function.called != function.key);
    functions.map(|(position, function)| (function.called.clone(), position)).collect()
}
