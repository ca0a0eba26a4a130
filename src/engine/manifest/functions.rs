//! What a capability brings: functions with their keys and parameters, and events.
//!
//! In: an entry with its target and the capability of the manifest. Out: its [`DeclaredFunction`]s, made one at a time so that
//! the caller can stop, and its [`EventEntry`]s. An unlisted tool, which only invoke steps name, offers the model nothing.

use super::agent::{Agent, Capability};
use super::capability_key::{of_action, sanitise};
use super::resolved_agent::{CapabilityEntry, DeclaredFunction, DeclaredParameter, EventEntry, Target};
use super::schema::Property;
use super::tool::{ActionDecl, Tool};
use std::collections::HashSet;

/// The functions of an entry, one at a time (KEY-01 to KEY-04, PAR-01).
pub(super) fn functions_of(
    entry: &CapabilityEntry,
    capability: Option<&Capability>,
) -> impl Iterator<Item = DeclaredFunction> + use<> {
    let bound = bound_names(capability);
    let include = included(capability);
    let listed = capability.is_some();
    let (reference, key, target) = (entry.reference.clone(), entry.key.clone(), entry.target.clone());
    let count = match &target {
        Target::Tool(tool) => tool.actions.len(),
        Target::Agent(_) => 1,
        Target::Unknown => 0,
    };
    (0..count).filter_map(move |at| match &target {
        Target::Tool(tool) => {
            let action = tool.actions.get(at)?;
            let name = action.name.text.to_string();
            Some(DeclaredFunction {
                key: match &tool.listing {
                    Some(_) => sanitise(&name),
                    None if count == 1 => key.clone(),
                    None => of_action(&reference, &name),
                },
                active: listed && is_included(include.as_ref(), &name),
                name,
                action: Some(at),
                parameters: action_parameters(tool, action, &bound),
            })
        }
        Target::Agent(agent) => {
            let name = agent.name.text.to_string();
            Some(DeclaredFunction {
                key: key.clone(),
                active: listed && is_included(include.as_ref(), &name),
                name,
                action: None,
                parameters: agent_parameters(agent, &bound),
            })
        }
        Target::Unknown => None,
    })
}

pub(super) fn events_of(entry: &CapabilityEntry, capability: Option<&Capability>) -> Vec<EventEntry> {
    let include = included(capability);
    let events = entry.tool().map(|tool| tool.events.as_slice()).unwrap_or_default();
    events
        .iter()
        .enumerate()
        .map(|(event, declared)| EventEntry {
            name: declared.name.text.to_string(),
            event,
            active: capability.is_some() && is_included(include.as_ref(), &declared.name.text),
        })
        .collect()
}

fn bound_names(capability: Option<&Capability>) -> HashSet<String> {
    let bindings = capability.map(|capability| capability.bindings.as_slice()).unwrap_or_default();
    bindings.iter().map(|binding| binding.name.text.to_string()).collect()
}

/// The names that `include` lists; none if there is no `include`.
fn included(capability: Option<&Capability>) -> Option<HashSet<String>> {
    let include = capability?.include.as_ref()?;
    Some(include.iter().map(|name| name.text.to_string()).collect())
}

/// Whether a name is active (AG-11 to AG-13).
fn is_included(include: Option<&HashSet<String>>, name: &str) -> bool {
    include.is_none_or(|names| names.contains(name))
}

/// The root's parameters and the action's own; one of the action takes the place of the root's (PAR-11).
fn action_parameters(tool: &Tool, action: &ActionDecl, bound: &HashSet<String>) -> Vec<DeclaredParameter> {
    let own = action.parameters.iter().map(|property| &*property.name.text).collect::<HashSet<_>>();
    let root = tool.parameters.iter().filter(|property| !own.contains(&*property.name.text));
    root.chain(&action.parameters)
        .map(|property| {
            let name = property.name.text.to_string();
            let bound = bound.contains(&name);
            let offered = !bound && property.schema.allow_from_llm;
            DeclaredParameter { name, declared: Some(property.clone()), bound, offered }
        })
        .collect()
}

/// `message`, which alone the model sees (DEL-01), and what bindings may set besides (DEL-03).
fn agent_parameters(agent: &Agent, bound: &HashSet<String>) -> Vec<DeclaredParameter> {
    let is_message = |property: &&Property| &*property.name.text == "message";
    let message = DeclaredParameter {
        name: "message".to_owned(),
        declared: agent.parameters.iter().find(is_message).cloned(),
        bound: bound.contains("message"),
        offered: !bound.contains("message"),
    };
    let others = agent.parameters.iter().filter(|property| !is_message(property)).map(|property| {
        let name = property.name.text.to_string();
        let bound = bound.contains(&name);
        DeclaredParameter { name, declared: Some(property.clone()), bound, offered: false }
    });
    std::iter::once(message).chain(others).collect()
}
