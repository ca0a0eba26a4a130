//! What is said of schedules and triggers: when a task begins, of which agent, and with which inputs.
//!
//! In: names, places and the parameters that an agent declares. The values of inputs are never repeated.

use super::named;
use crate::diagnostic::Diagnostic;
use crate::manifest::node::Node;
use crate::source::{Embedded, Place};

pub(in crate::manifest) fn schedule_message(place: &Place) -> Diagnostic {
    let message = "`message` of a schedule belongs to an older version; it is taken as `inputs.message`";
    Diagnostic::warning("schedule_message", message, place.clone())
        .help("write it as `message` under `inputs`")
        .rule("KV-13")
}

pub(in crate::manifest) fn message_in_inputs(place: &Place, message: Place) -> Diagnostic {
    let text = "this message is ignored: another one stands beside the inputs";
    Diagnostic::warning("message_in_inputs", text, place.clone()).related(message, "this one is taken")
}

pub(in crate::manifest) fn bad_message(node: &Node) -> Diagnostic {
    let found = if node.as_sequence().is_some() { "a list of something else" } else { node.kind_name() };
    let message = format!("expected a text or a list of content parts, found {found}");
    Diagnostic::error("bad_message", message, node.place.clone())
        .help("a content part is a mapping with `mimeType` and `text`")
        .rule("CTX-17")
}

pub(in crate::manifest) fn no_message(place: &Place, agent: &str, rule: &'static str) -> Diagnostic {
    let message = format!("the input has no `message`, and the agent `{agent}` has no default for it");
    Diagnostic::error("no_message", message, place.clone()).rule(rule)
}

pub(in crate::manifest) fn missing_input(
    place: &Place,
    parameter: &Embedded,
    rule: &'static str,
) -> Diagnostic {
    let message = format!("the agent requires `{}`, and the inputs lack it", parameter.text);
    Diagnostic::error("missing_input", message, place.clone())
        .related(parameter.place.clone(), "declared here, without default")
        .rule(rule)
}

pub(in crate::manifest) fn undeclared_input(key: &Embedded, agent: &str, known: &[&str]) -> Diagnostic {
    let message = format!("the agent `{agent}` declares no parameter `{}`; it is dropped", key.text);
    named(Diagnostic::warning("undeclared_input", message, key.place.clone()).rule("PAR-07"), key, known)
}

pub(in crate::manifest) fn unknown_agent(
    agent: &Embedded,
    namespace: &str,
    elsewhere: Option<Place>,
    rule: &'static str,
) -> Diagnostic {
    let message = format!("no agent `{}` is loaded in the namespace `{namespace}`", agent.text);
    let finding = Diagnostic::error("unknown_agent", message, agent.place.clone()).rule(rule);
    match elsewhere {
        Some(place) => finding.related(place, "this one is of another namespace"),
        None => finding,
    }
}
