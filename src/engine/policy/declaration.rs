//! What the functions of an agent are before anything of them is compiled: parameters, results, and what the model is shown.
//!
//! In: a resolved agent. Out: [`Declaration`]s, from which the types of its context and its functions are made. Linear in
//! the manifests.

use super::claims::Claims;
use super::function::InvocationTarget;
use super::parameters::{InputOf, Parameters};
use super::result::OutputSchema;
use crate::cel::{Json, Type};
use crate::context::{CallAtHand, FunctionDecl, FunctionId, SchemaDecl, ToolDecl};
use crate::manifest::agent::Agent;
use crate::manifest::catalog::{CapabilityEntry, DeclaredFunction, ResolvedAgent, Target};
use crate::manifest::schema::Property;
use crate::manifest::tool::DeclaredExecute;
use std::sync::Arc;

/// A function as its tool or agent declares it.
pub(super) struct Declaration<'d> {
    /// The position of its capability.
    pub(super) capability: usize,
    pub(super) function: &'d Arc<DeclaredFunction>,
    pub(super) parameters: Parameters,
    /// What it returns, if its tool says so.
    pub(super) output: Option<OutputSchema>,
    /// What `call` is in steps of policies about it.
    pub(super) call: CallAtHand,
}

/// All functions of an agent, in the order of its manifest.
pub(super) fn declarations(resolved: &ResolvedAgent) -> Vec<Declaration<'_>> {
    let mut all = Vec::new();
    for (capability, entry) in resolved.capabilities.iter().enumerate() {
        for function in &entry.functions {
            let output = entry.action(function).and_then(|action| {
                action.output.as_ref().map(|schema| OutputSchema::of(schema, &action.path))
            });
            let parameters = parameters(&resolved.agent, entry, function);
            let call = call_at_hand(&resolved.agent, entry, function);
            all.push(Declaration { capability, function, parameters, output, call });
        }
    }
    all
}

fn call_at_hand(agent: &Agent, entry: &CapabilityEntry, function: &DeclaredFunction) -> CallAtHand {
    let bindings = entry.capability(agent).map_or(&[][..], |capability| &capability.bindings);
    CallAtHand {
        function: function.key.as_str().into(),
        tool: entry.reference.as_str().into(),
        tags: entry.tags(function).all().into_iter().map(Arc::from).collect(),
        bound: bindings.iter().map(|binding| binding.name.text.clone()).collect(),
    }
}

/// The parameters of a function. Those of a tool that lie elsewhere take whatever comes (PAR-12), and whatever is bound.
fn parameters(agent: &Agent, entry: &CapabilityEntry, function: &DeclaredFunction) -> Parameters {
    let derived = match entry.action(function).map(|action| &action.execute) {
        Some(DeclaredExecute::Runtime(runtime)) => runtime.kind.derives_parameters(),
        Some(DeclaredExecute::Absent) => true,
        Some(DeclaredExecute::Cel(_) | DeclaredExecute::Host) | None => false,
    };
    let bindings = entry.capability(agent).map_or(&[][..], |capability| &capability.bindings);
    let bound = bindings.iter().map(|binding| &binding.name.text);
    if derived {
        Parameters::open(&function.parameters, bound)
    } else if function.action.is_none() {
        Parameters::of_delegation(&function.parameters)
    } else {
        match entry.action(function).filter(|action| matches!(action.execute, DeclaredExecute::Host)) {
            Some(action) => Parameters::listed(&function.parameters, &action.rules, bound),
            None => Parameters::closed(&function.parameters),
        }
    }
}

/// What the task context of the agent consists of.
pub(super) fn declare(resolved: &ResolvedAgent, functions: &[Declaration<'_>]) -> SchemaDecl {
    let function = |declaration: &Declaration<'_>| {
        let Declaration { function, parameters, output, .. } = declaration;
        let name = |of: &str| format!("{of} of {}", function.key);
        FunctionDecl {
            key: function.key.as_str().into(),
            input: Parameters::input_type(&name("input"), &[parameters], InputOf::Attempt),
            output: OutputSchema::ty(&name("output"), std::iter::once(output.as_ref())),
            delegation: function.action.is_none(),
        }
    };
    let tools = resolved.capabilities.iter().enumerate().filter_map(|(at, entry)| {
        let members = (0..).map(FunctionId).zip(functions).filter(|(_, function)| function.capability == at);
        Some(ToolDecl { key: entry.tool_record()?.into(), members: members.map(|(id, _)| id).collect() })
    });
    let parameters = Parameters::of_agent(&resolved.agent.parameters);
    SchemaDecl {
        functions: functions.iter().map(function).collect(),
        tools: tools.collect(),
        parameters: parameters.iter().map(|parameter| (parameter.name.clone(), parameter.ty())).collect(),
        domains: parameters.iter().filter_map(|it| Some((it.name.clone(), it.domain()?))).collect(),
        exposes: resolved.agent.exposes.iter().map(|expose| (expose.name.text.clone(), Type::Dyn)).collect(),
        claims: Claims::of(resolved).ty(),
        ..SchemaDecl::default()
    }
}

/// The name by which the model calls a function: its own, where it is a tool of a host, else the key (KEY-04).
pub(super) fn called(entry: &CapabilityEntry, function: &DeclaredFunction) -> Arc<str> {
    let has_own = entry.tool().is_some_and(|tool| tool.listing.is_some());
    if has_own { function.name.as_str().into() } else { function.key.as_str().into() }
}

/// The defaults of a tool's settings.
pub(super) fn setting_defaults(entry: &CapabilityEntry) -> Arc<[(Arc<str>, Json)]> {
    let settings = entry.tool().map_or(&[][..], |tool| &tool.settings);
    let default = |setting: &Property| {
        let default = setting.schema.default.as_ref()?;
        Some((setting.name.text.clone(), Json::from(default)))
    };
    settings.iter().filter_map(default).collect()
}

/// The words of the action, or those of its tool if it has none; of a sub-agent its own.
pub(super) fn description(entry: &CapabilityEntry, function: &DeclaredFunction) -> Option<Arc<str>> {
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

pub(super) fn target(entry: &CapabilityEntry, function: &DeclaredFunction) -> InvocationTarget {
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
