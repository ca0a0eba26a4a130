//! An agent to its policy: every text compiled in its scope, every name resolved to a position.
//!
//! In: a resolved agent and the mount. Out: a [`Policy`] and the findings; with an error among them, or in the documents
//! themselves, there is no policy. It goes on after each problem. Linear in the manifests; each distinct scope is made once,
//! and only if something stands in it: a scope is dearer than an expression.

use super::binding::Binding;
use super::claims::Claims;
use super::compiler::{Compiler, ScopeKey};
use super::declaration::{Declaration, called, description, setting_defaults, target};
use super::delegation::DelegationBound;
use super::encoding::{fingerprint, rules};
use super::event::Event;
use super::expression::Expression;
use super::function::{AgentFunction, Execute};
use super::host_functions::expected_of_host;
use super::message::compile_prompt;
use super::messages;
use super::of_agents::OfPolicyStep;
use super::offered_schema::OfferedSchema;
use super::parameters::{InputOf, Parameters};
use super::reads::KnownDependencies;
use super::reviews::siblings;
use super::task_limits::AllLimits;
use super::tool_template::{check_tool_templates, context_paths};
use super::{Expose, Policy, secrets};
use crate::cel::{Cache, Type};
use crate::context::Scope;
use crate::diagnostic::Diagnostic;
use crate::limits::EngineLimits;
use crate::manifest::agent::Capability;
use crate::manifest::capability_key::sanitise;
use crate::manifest::catalog::{CapabilityEntry, ResolvedAgent};
use crate::manifest::mount::Mount;
use crate::manifest::tool::DeclaredExecute;
use std::collections::{HashMap, HashSet};
use std::sync::{Arc, OnceLock};

/// An agent, compiled.
#[derive(Debug, Default)]
pub(crate) struct CompiledAgent {
    /// Its policy, if neither its documents nor the findings hold an error.
    pub(crate) policy: Option<Arc<Policy>>,
    /// What was found about its own documents.
    pub(crate) findings: Vec<Diagnostic>,
    /// What was found about the steps of policy documents, for each step that is for the agent.
    pub(crate) of_policies: Vec<OfPolicyStep>,
}

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
        let CompiledAgent { policy, mut findings, of_policies } =
            Self::compile_agent(resolved, mount, limits, cache);
        findings.extend(of_policies.into_iter().flat_map(|step| step.findings));
        (policy, findings)
    }

    /// The same with what was found about the steps of policy documents, step by step: a step is compiled for each agent that
    /// it is for, and what one agent lacks another may have.
    pub(crate) fn compile_agent(
        resolved: &ResolvedAgent,
        mount: Option<&Arc<Mount>>,
        limits: &EngineLimits,
        cache: &Cache,
    ) -> CompiledAgent {
        // two records of one key are an error of the documents, which the manifest layer has reported
        let Some(mut compiler) = Compiler::new(resolved, limits, cache) else {
            return CompiledAgent::default();
        };
        let policy = compiler.policy(mount);
        let (findings, of_policies) = (compiler.texts.findings, compiler.texts.of_policies);
        let mut all = findings.iter().chain(of_policies.iter().flat_map(|step| &step.findings));
        let sound = resolved.sound && !all.any(Diagnostic::is_error);
        CompiledAgent { policy: policy.filter(|_| sound).map(Arc::new), findings, of_policies }
    }
}

impl Compiler<'_> {
    fn policy(&mut self, mount: Option<&Arc<Mount>>) -> Option<Policy> {
        let agent = self.agent;
        let bindings = self.compile_bindings();
        let functions = self.compile_functions(&bindings);
        let events = self.events();
        let capabilities = self.capabilities();
        let guardrails = &agent.guardrails;
        let guardrails_before = self.guardrails(&guardrails.before, Scope::GuardrailBefore);
        let guardrails_after = self.guardrails(&guardrails.after, Scope::GuardrailAfter);
        let policies = self.policies();
        let counters = policies.as_ref().map(|steps| self.counters(steps));
        self.check_unread_variables();
        self.check_named_expressions();
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
            policies: policies?,
            counters: counters??,
            mode: self.resolved.mode,
            siblings: siblings(self.resolved),
            task_limits: AllLimits::of(self.resolved),
            claims: Claims::of(self.resolved),
            delegation: DelegationBound::of(self.resolved),
            host_functions: expected_of_host(self.resolved),
            exposes: exposes?,
            input,
            prompt,
            fingerprint: fingerprint(
                self.resolved,
                &self.functions,
                self.schema.secrets(),
                workspace,
                self.texts.pseudonyms.hashes,
            ),
            rules: rules(self.resolved),
            limits: self.limits,
            own_names: own_names(&functions),
            backend_paths: self.resolved.capabilities.iter().flat_map(context_paths).collect(),
            values_read: OnceLock::new(),
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
        // a binding is of all functions of its capability, and told of once
        let mut misfits = HashSet::new();
        for (position, declaration) in declared.iter().enumerate() {
            let Declaration { capability: at, function, parameters, output, call } = declaration;
            let Some(entry) = self.resolved.capabilities.get(*at) else { continue };
            let execute = self.execute(entry, declaration, position);
            let is_bound = |binding: &&Arc<Binding>| parameters.is_bound(&binding.name);
            let bound = bindings.get(*at).and_then(Option::as_ref);
            let given = bound.into_iter().flatten();
            let given = given.filter_map(|binding| Some((&*binding.name, binding.expression()?)));
            secrets::warn_of_shown(given, function, &[], &self.schema, &mut self.texts.findings);
            for parameter in parameters.iter() {
                let mut own = bound.into_iter().flatten().filter(|binding| binding.name == parameter.name);
                if let Some(binding) = own.find(|binding| binding.misfits(&parameter.shape))
                    && misfits.insert(Arc::as_ptr(binding))
                {
                    self.texts.findings.push(binding.told_of_misfit(&function.key));
                }
            }
            compiled.push(execute.map(|execute| {
                AgentFunction {
                    key: function.key.as_str().into(),
                    called: called(entry, function),
                    annotations: entry
                        .tool()
                        .filter(|tool| tool.listing.is_some())
                        .and_then(|_| Some(entry.action(function)?.annotations)),
                    name: sanitise(&function.name),
                    call: call.clone(),
                    capability: *at,
                    offered: function.active && entry.listed.is_some() && !matches!(execute, Execute::Absent),
                    description: description(entry, function),
                    schema: OfferedSchema::of(
                        function,
                        entry.action(function).and_then(|action| action.rules.node.as_ref()),
                    ),
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
}

fn own_names(functions: &[AgentFunction]) -> HashMap<Arc<str>, usize> {
    let functions = functions.iter().enumerate().filter(|(_, function)| function.called != function.key);
    functions.map(|(position, function)| (function.called.clone(), position)).collect()
}
