//! What is said of tools: their actions and backends, their events, and the schemas of parameters.
//!
//! In: the place or the name of a part of a tool, and what there is to choose from.

use super::{nearest_key, quoted};
use crate::diagnostic::Diagnostic;
use crate::manifest::node::Node;
use crate::source::{Embedded, Place};

pub(in crate::manifest) fn tool_without_actions(place: &Place) -> Diagnostic {
    Diagnostic::warning("tool_without_actions", "the tool has no actions, so nothing of it can be called", place.clone())
        .help("list one under `actions`: `- {name: refund, description: …, parameters: {properties: {…}}, execute: {…}}`")
        .rule("TOOL-03")
}

pub(in crate::manifest) fn no_tools_listed(place: &Place) -> Diagnostic {
    Diagnostic::warning("no_tools_listed", "the document lists no tools", place.clone())
        .help("list tools under `tools` as MCP does, or name under `brought` those that a task brings")
}

pub(in crate::manifest) fn required_without_schema(name: &Embedded) -> Diagnostic {
    let message = format!("`required` names `{}`, which `properties` does not have", name.text);
    Diagnostic::error("required_unknown", message, name.place.clone())
        .help("say under `properties` what it may be")
}

pub(in crate::manifest) fn duplicate_action(name: &Embedded, first: Place) -> Diagnostic {
    let message = format!("the action `{}` has the same key as another", name.text);
    Diagnostic::error("duplicate_action", message, name.place.clone())
        .related(first, "the other one")
        .rule("TOOL-04")
}

pub(in crate::manifest) fn duplicate_event(name: &Embedded, first: Place) -> Diagnostic {
    Diagnostic::error(
        "duplicate_event",
        format!("the event `{}` stands twice", name.text),
        name.place.clone(),
    )
    .label("again here")
    .related(first, "first here")
    .rule("EVT-18")
}

pub(in crate::manifest) fn no_backend(place: &Place, known: &[&str]) -> Diagnostic {
    Diagnostic::error("no_backend", "the action has no backend", place.clone())
        .help(format!(
            "give `execute` one of {}; a tool that a framework or an MCP server runs stands in a document of kind `celador/v1/tools`, as `celador init --from-tools` writes it",
            quoted(known)
        ))
        .rule("TOOL-01")
}

pub(in crate::manifest) fn several_backends(place: &Place, found: &[&str]) -> Diagnostic {
    let message = format!("an action has one backend, found {}", quoted(found));
    Diagnostic::error("several_backends", message, place.clone()).rule("TOOL-01")
}

pub(in crate::manifest) fn no_receive(place: &Place) -> Diagnostic {
    let message = "`receive` has one of `webhook`, `subscription` and `poll`, found none";
    Diagnostic::error("no_receive", message, place.clone()).rule("EVT-02")
}

pub(in crate::manifest) fn several_receives(place: &Place, found: &[&str]) -> Diagnostic {
    let message =
        format!("`receive` has one of `webhook`, `subscription` and `poll`, found {}", quoted(found));
    Diagnostic::error("several_receives", message, place.clone()).rule("EVT-02")
}

pub(in crate::manifest) fn max_below_timeout(place: &Place, timeout: Place) -> Diagnostic {
    Diagnostic::error("max_below_timeout", "`max_timeout` is shorter than `timeout`", place.clone())
        .related(timeout, "the timeout")
        .rule("SUB-06")
}

pub(in crate::manifest) fn payload_alias(name: &Embedded) -> Diagnostic {
    let message = "`event.payload` is always there and cannot be defined";
    Diagnostic::error("payload_alias", message, name.place.clone()).rule("EVT-08")
}

pub(in crate::manifest) fn unknown_type(node: &Node, known: &[&str]) -> Diagnostic {
    let message = format!("the type of a parameter is one of {}", quoted(known));
    let finding = Diagnostic::error("unknown_type", message, node.place.clone()).rule("TOOL-15");
    match node.as_string().and_then(|text| nearest_key(text, known)) {
        Some(near) => finding.help(format!("did you mean `{near}`?")),
        None => finding,
    }
}

pub(in crate::manifest) fn required_list(place: &Place) -> Diagnostic {
    let message = "`required` is ignored: a parameter without `default` is required";
    Diagnostic::warning("required_list", message, place.clone()).rule("PAR-06")
}

pub(in crate::manifest) fn bare_schema(key: &Embedded) -> Diagnostic {
    let message = format!("`{}` declares no parameter: parameters stand under `properties`", key.text);
    Diagnostic::warning("bare_schema", message, key.place.clone())
}

pub(in crate::manifest) fn secret_of_an_event(place: &Place) -> Diagnostic {
    Diagnostic::error("secret_of_event", "`secret` would mask nothing of an event", place.clone()).help(
        "it marks arguments and results of actions, and parameters of agents; what an event brings is shown",
    )
}
