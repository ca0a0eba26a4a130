//! An agent to its policy: every text compiled in its scope, every name resolved to a position.
//!
//! In: a resolved agent and the mount. Out: a [`Policy`] and the findings; with an error among them, or in the documents
//! themselves, there is no policy. It goes on after each problem. Linear in the manifests; each distinct scope is made once,
//! and only if something stands in it: a scope is dearer than an expression.

use super::binding::Binding;
use super::event::Event;
use super::expression::{Expression, Texts};
use super::fingerprint::Fingerprint;
use super::function::{Execute, Function, InvocationTarget};
use super::message::compile_prompt;
use super::parameters::{InputOf, Parameters};
use super::step::{Step, StepScopes};
use super::tool_template::check_tool_templates;
use super::{CapabilitySteps, Expose, Policy, secrets};
use crate::cel::{Cache, Json, LANGUAGE, Type};
use crate::context::{
    ContextSchema, FunctionDecl, FunctionId, SchemaDecl, Scope, ScopeDecl, ScopeEnv, ToolDecl,
};
use crate::diagnostic::Diagnostic;
use crate::limits::EvalLimits;
use crate::manifest::agent::{Agent, Capability, MountScope};
use crate::manifest::capability_key::sanitise;
use crate::manifest::catalog::{CapabilityEntry, Function as Declared, ResolvedAgent, Target};
use crate::manifest::json_schema::Shown;
use crate::manifest::mount::Mount;
use crate::manifest::schema::Property;
use crate::manifest::step::{Hook, Step as WrittenStep, StepAction};
use crate::manifest::tool::Execute as WrittenExecute;
use std::collections::HashMap;
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
        limits: &EvalLimits,
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

struct Compiler<'c> {
    resolved: &'c ResolvedAgent,
    agent: &'c Agent,
    schema: Arc<ContextSchema>,
    /// The parameters of each function, and where it stands among the capabilities.
    functions: Arc<[(usize, &'c Declared, Parameters)]>,
    limits: EvalLimits,
    /// Scopes by what their types depend on: the functions that share a step, and whether events run it too.
    scopes: HashMap<(Scope, Vec<usize>, bool), Arc<ScopeEnv>>,
    fingerprint: Fingerprint,
    texts: Texts<'c>,
}

impl<'c> Compiler<'c> {
    fn new(resolved: &'c ResolvedAgent, limits: &EvalLimits, cache: &'c Cache) -> Option<Self> {
        let agent = &*resolved.agent;
        let mut functions = Vec::new();
        for (at, entry) in resolved.capabilities.iter().enumerate() {
            for function in &entry.functions {
                functions.push((at, function, parameters(agent, entry, function)));
            }
        }
        let declared = functions.iter().map(|(at, function, _)| {
            let entry = resolved.capabilities.get(*at);
            (*function, entry.and_then(|entry| entry.action(function)))
        });
        let schema = secrets::schema(&declare(resolved, &functions), agent, declared, limits).ok()?;
        Some(Self {
            resolved,
            agent,
            schema,
            functions: functions.into(),
            limits: *limits,
            scopes: HashMap::new(),
            fingerprint: Fingerprint::new(),
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
            self.fingerprint.text(&text.text);
            compile_prompt(&scope, text, &self.path("prompt"), &mut self.texts.findings)
        });
        let input = Parameters::of_agent(&agent.parameters);
        self.fingerprint.debug(&input);
        self.fingerprint.debug(&agent.limits);
        self.fingerprint.debug(&agent.mount);
        if !self.schema.secrets().is_empty() {
            self.fingerprint.debug(self.schema.secrets());
        }
        Some(Policy {
            agent: self.resolved.agent.clone(),
            mount: mount.cloned(),
            schema: self.schema.clone(),
            functions: functions?,
            events: events?,
            bindings: bindings.into_iter().collect::<Option<_>>()?,
            capabilities: capabilities?,
            guardrails_before: guardrails_before?,
            guardrails_after: guardrails_after?,
            exposes: exposes?,
            input,
            prompt,
            fingerprint: self.fingerprint.value(),
            limits: self.limits,
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
                if let Some(declared) = entry.event(event) {
                    let timeout = entry.subscription_timeout(self.agent, event);
                    self.fingerprint.event(declared, event.active, timeout);
                }
                events.push(Event::compile(self.agent, entry, event, at, &self.limits, &mut self.texts));
            }
        }
        events.into_iter().collect()
    }

    fn compile_functions(&mut self, bindings: &[Option<Vec<Arc<Binding>>>]) -> Option<Vec<Function>> {
        let declared = self.functions.clone();
        let mut compiled = Vec::new();
        for (position, (at, function, parameters)) in declared.iter().enumerate() {
            let Some(entry) = self.resolved.capabilities.get(*at) else { continue };
            self.fingerprint.text(&function.key);
            self.fingerprint.debug(&(function.active, parameters));
            let execute = self.execute(entry, function, parameters, position);
            let is_bound = |binding: &&Arc<Binding>| parameters.is_bound(&binding.name);
            let bound = bindings.get(*at).and_then(Option::as_ref);
            compiled.push(execute.map(|execute| Function {
                key: function.key.as_str().into(),
                name: sanitise(&function.name),
                capability: *at,
                offered: function.active && entry.listed.is_some(),
                description: description(entry, function),
                schema: offered_schema(function),
                bindings: bound.into_iter().flatten().filter(is_bound).cloned().collect(),
                parameters: parameters.clone(),
                setting_defaults: setting_defaults(entry),
                target: target(entry, function),
                execute,
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
        self.fingerprint.bindings(written);
        let compile = |binding| Binding::compile(&scope, binding, &mut self.texts).map(Arc::new);
        let compiled: Vec<_> = written.iter().map(compile).collect();
        compiled.into_iter().collect()
    }

    fn execute(
        &mut self,
        entry: &CapabilityEntry,
        function: &Declared,
        parameters: &Parameters,
        position: usize,
    ) -> Option<Execute> {
        let Some(action) = entry.action(function) else { return Some(Execute::Host) };
        let WrittenExecute::Cel(text) = &action.execute else { return Some(Execute::Host) };
        let name = format!("input of {}", function.key);
        let input = Parameters::input_type(&name, &[parameters], InputOf::FormedCall);
        let scope = self.scope((Scope::CelTool, vec![position], false), input);
        self.fingerprint.text(&text.text);
        let path = format!("{}.execute.cel.expression", action.path);
        Expression::compile(&scope, text, &path, &mut self.texts).map(Execute::Cel)
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
        written: &[WrittenStep],
        at: usize,
        entry: &CapabilityEntry,
        hook: Hook,
    ) -> Option<Vec<Step>> {
        let mut steps = Vec::new();
        for step in written {
            let selected = step.match_name.as_ref().map(|name| sanitise(&name.text));
            let is_for = |name: &str| selected.as_deref().is_none_or(|selected| selected == sanitise(name));
            let own = |&(position, function): &(usize, usize)| {
                let declared = self.functions.get(position).map(|(_, declared, _)| *declared);
                function == at && declared.is_some_and(|declared| is_for(&declared.name))
            };
            let positions = self.functions.iter().map(|(at, _, _)| *at).enumerate();
            let positions: Vec<usize> = positions.filter(own).map(|(position, _)| position).collect();
            // `before_first` never runs for events (MW-43)
            let events = hook != Hook::BeforeFirst
                && entry.events.iter().any(|event| event.active && is_for(&event.name));
            let (action, condition) = match hook {
                Hook::After => (Scope::After, Scope::AfterCondition),
                _ => (Scope::Before, Scope::BeforeCondition),
            };
            let action = self.step_scope(action, &positions, events, &entry.reference);
            let condition = match &step.condition {
                Some(_) => self.step_scope(condition, &positions, events, &entry.reference),
                None => action.clone(),
            };
            let scopes = StepScopes { action, condition };
            steps.push(self.step(step, &scopes));
        }
        steps.into_iter().collect()
    }

    fn guardrails(&mut self, written: &[WrittenStep], scope: Scope) -> Option<Vec<Step>> {
        if written.is_empty() {
            return Some(Vec::new());
        }
        let scope = self.plain_scope(scope);
        let scopes = StepScopes { action: scope.clone(), condition: scope };
        let steps: Vec<_> = written.iter().map(|step| self.step(step, &scopes)).collect();
        steps.into_iter().collect()
    }

    fn step(&mut self, written: &WrittenStep, scopes: &StepScopes) -> Option<Step> {
        self.fingerprint.step(written);
        let target = match &written.action {
            StepAction::Invoke(invoke) => self.resolved.invoke_target(invoke),
            StepAction::Assert(_) | StepAction::Transform(_) => None,
        };
        let key = target.and_then(|at| self.resolved.function(at)).map(|(_, function)| &function.key);
        let function =
            key.and_then(|key| self.schema.function(key)).map(|FunctionId(position)| position as usize);
        Step::compile(written, scopes, function, &mut self.texts)
    }

    fn exposes(&mut self) -> Option<Vec<Expose>> {
        if self.agent.exposes.is_empty() {
            return Some(Vec::new());
        }
        let scope = self.plain_scope(Scope::Exposes);
        let mut exposes = Vec::new();
        for expose in &self.agent.exposes {
            self.fingerprint.text(&expose.name.text);
            self.fingerprint.text(&expose.value.text);
            let value = Expression::compile(&scope, &expose.value, &expose.path, &mut self.texts);
            exposes.push(value.map(|value| Expose { name: expose.name.text.clone(), value }));
        }
        exposes.into_iter().collect()
    }

    fn plain_scope(&mut self, scope: Scope) -> Arc<ScopeEnv> {
        self.scope((scope, Vec::new(), false), Type::Dyn)
    }

    /// The scope of a step that these functions share.
    fn step_scope(&mut self, scope: Scope, functions: &[usize], events: bool, name: &str) -> Arc<ScopeEnv> {
        let shared: Vec<&Parameters> = functions
            .iter()
            .filter_map(|&at| self.functions.get(at))
            .map(|(_, _, parameters)| parameters)
            .collect();
        let of = if events { InputOf::AttemptOrEvent } else { InputOf::Attempt };
        let input = Parameters::input_type(&format!("input of {name}"), &shared, of);
        self.scope((scope, functions.to_vec(), events), input)
    }

    fn scope(&mut self, key: (Scope, Vec<usize>, bool), input: Type) -> Arc<ScopeEnv> {
        let make = || {
            Arc::new(ScopeEnv::new(&ScopeDecl {
                schema: Some(&self.schema),
                input,
                has_mount: self.agent.mount != MountScope::None,
                libraries: LANGUAGE,
                limits: self.limits,
                ..ScopeDecl::new(key.0)
            }))
        };
        self.scopes.entry(key.clone()).or_insert_with(make).clone()
    }
}

/// The parameters of a function. Those of a tool that lie elsewhere take whatever comes (PAR-12), and whatever is bound.
fn parameters(agent: &Agent, entry: &CapabilityEntry, function: &Declared) -> Parameters {
    let derived = match entry.action(function).map(|action| &action.execute) {
        Some(WrittenExecute::Runtime(runtime)) => runtime.kind.derives_parameters(),
        Some(WrittenExecute::Cel(_)) | None => false,
    };
    let bindings = entry.capability(agent).map_or(&[][..], |capability| &capability.bindings);
    let bound = bindings.iter().map(|binding| &binding.name.text);
    if derived {
        Parameters::open(&function.parameters, bound)
    } else if function.action.is_none() {
        Parameters::of_delegation(&function.parameters)
    } else {
        Parameters::closed(&function.parameters)
    }
}

/// What the task context of the agent consists of.
fn declare(resolved: &ResolvedAgent, functions: &[(usize, &Declared, Parameters)]) -> SchemaDecl {
    let function = |(_, function, parameters): &(usize, &Declared, Parameters)| FunctionDecl {
        key: function.key.as_str().into(),
        input: Parameters::input_type(&format!("input of {}", function.key), &[parameters], InputOf::Attempt),
        output: Type::Dyn,
        delegation: function.action.is_none(),
    };
    let tools = resolved.capabilities.iter().enumerate().filter_map(|(at, entry)| {
        let members = (0..).map(FunctionId).zip(functions).filter(|(_, (of, _, _))| *of == at);
        Some(ToolDecl { key: entry.tool_record()?.into(), members: members.map(|(id, _)| id).collect() })
    });
    let parameters = Parameters::of_agent(&resolved.agent.parameters);
    SchemaDecl {
        functions: functions.iter().map(function).collect(),
        tools: tools.collect(),
        parameters: parameters.iter().map(|parameter| (parameter.name.clone(), parameter.ty())).collect(),
        exposes: resolved.agent.exposes.iter().map(|expose| (expose.name.text.clone(), Type::Dyn)).collect(),
    }
}

/// The schema that the model sees: the offered parameters, without the words that are not for it (BND-20).
fn offered_schema(function: &Declared) -> serde_json::Value {
    let mut shown = Shown::default();
    let mut properties = serde_json::Map::new();
    let mut required = Vec::new();
    for parameter in function.parameters.iter().filter(|parameter| parameter.offered) {
        let declared = parameter.declared.as_ref().map(|property| &property.schema);
        let schema = match declared {
            Some(schema) if function.action.is_some() => shown.schema(&schema.node, &schema.root),
            _ => serde_json::json!({ "type": "string" }),
        };
        if declared.is_none_or(|schema| schema.is_required()) {
            required.push(serde_json::Value::from(parameter.name.as_str()));
        }
        properties.insert(parameter.name.clone(), schema);
    }
    let mut schema = serde_json::json!({ "type": "object", "properties": properties, "required": required });
    let definitions = shown.definitions();
    if let Some(schema) = schema.as_object_mut().filter(|_| !definitions.is_empty()) {
        schema.insert("$defs".to_owned(), serde_json::Value::Object(definitions));
    }
    schema
}

/// The defaults of a tool's settings.
fn setting_defaults(entry: &CapabilityEntry) -> Arc<[(Arc<str>, Json)]> {
    let settings = entry.tool().map_or(&[][..], |tool| &tool.settings);
    let default = |setting: &Property| {
        let default = setting.schema.default.as_ref()?;
        Some((setting.name.text.clone(), Json::from(default)))
    };
    settings.iter().filter_map(default).collect()
}

/// The words of the action, or those of its tool if it has none; of a sub-agent its own.
fn description(entry: &CapabilityEntry, function: &Declared) -> Option<Arc<str>> {
    let written = match &entry.target {
        Target::Tool(tool) => {
            let action = function.action.and_then(|at| tool.actions.get(at));
            action.and_then(|action| action.description.as_ref()).or(tool.description.as_ref())
        }
        Target::Agent(agent) => agent.description.as_ref(),
        Target::Unknown => None,
    };
    written.map(|text| text.text.clone())
}

fn target(entry: &CapabilityEntry, function: &Declared) -> InvocationTarget {
    match &entry.target {
        Target::Tool(tool) => InvocationTarget::Action {
            namespace: tool.namespace.text.clone(),
            tool: tool.name.text.clone(),
            action: function.name.as_str().into(),
        },
        Target::Agent(agent) => InvocationTarget::Agent {
            namespace: agent.namespace.text.clone(),
            agent: agent.name.text.clone(),
        },
        // a reference to nothing that is loaded brings no functions
        Target::Unknown => InvocationTarget::Action {
            namespace: "".into(),
            tool: entry.reference.as_str().into(),
            action: function.name.as_str().into(),
        },
    }
}
