//! What is said where documents refer to each other: names, keys, bindings and invoked tools that meet, or do not.
//!
//! In: the name that refers, what it may have meant, and where the other side stands. What depends on a document that
//! is not loaded is a warning: it may be loaded yet.

use super::meant::{meant_by_capability, meant_by_match};
use super::named;
use crate::diagnostic::{Diagnostic, nearest};
use crate::source::{Embedded, Place};

pub(in crate::manifest) fn unresolved_capability(reference: &Embedded, near: Option<&str>) -> Diagnostic {
    let message =
        format!("no tool or agent `{}` is loaded; what depends on it is not checked", reference.text);
    let finding =
        Diagnostic::warning("unresolved_capability", message, reference.place.clone()).rule("AG-18");
    match (meant_by_capability(&reference.text), near) {
        (Some(help), _) => finding.help(help),
        (None, Some(near)) => finding.help(format!("did you mean `{near}`?")),
        (None, None) => finding.help(
            "a tool that tasks bring is named under `brought` in a document of kind `celador/v1/tools`",
        ),
    }
}

pub(in crate::manifest) fn ambiguous_capability(reference: &Embedded, candidates: &[Place]) -> Diagnostic {
    let message = format!("`{}` names more than one tool or agent", reference.text);
    let finding = Diagnostic::error("ambiguous_capability", message, reference.place.clone()).rule("AG-18");
    candidates.iter().fold(finding, |finding, place| finding.related(place.clone(), "this one"))
}

pub(in crate::manifest) fn key_collision(reference: &Embedded, key: &str, first: Place) -> Diagnostic {
    let message = format!("the key `{key}` is taken");
    Diagnostic::error("key_collision", message, reference.place.clone())
        .label("brings it again")
        .related(first, "brings it first")
        .help("characters outside `[A-Za-z0-9_]` become `_`; rename one of the two")
        .rule("KEY-07")
}

pub(in crate::manifest) fn meta_key(reference: &Embedded) -> Diagnostic {
    let message = format!("`{}` gives the key `_meta`, which is the record of all calls", reference.text);
    Diagnostic::error("meta_key", message, reference.place.clone()).rule("KEY-08")
}

pub(in crate::manifest) fn unknown_include(name: &Embedded, target: &str, known: &[&str]) -> Diagnostic {
    let message = format!("`{target}` has no action or event `{}`", name.text);
    named(Diagnostic::warning("unknown_include", message, name.place.clone()).rule("AG-21"), name, known)
}

pub(in crate::manifest) fn unknown_match(
    name: &Embedded,
    target: &str,
    what: &str,
    known: &[&str],
) -> Diagnostic {
    let message = format!("`{target}` has no {what} `{}`; the step never runs", name.text);
    let finding = Diagnostic::warning("unknown_match", message, name.place.clone()).rule("MW-23");
    match meant_by_match(&name.text) {
        Some(help) => finding.help(help),
        None => named(finding, name, known),
    }
}

pub(in crate::manifest) fn excluded_match(name: &Embedded) -> Diagnostic {
    let message = format!("`include` leaves out `{}`, so the step never runs", name.text);
    Diagnostic::warning("excluded_match", message, name.place.clone())
        .help("add it to `include`, or take the step out")
        .rule("AG-11")
}

pub(in crate::manifest) fn unknown_binding(name: &Embedded, target: &str, known: &[&str]) -> Diagnostic {
    let message = format!("`{target}` declares no parameter `{}`", name.text);
    named(Diagnostic::error("unknown_binding", message, name.place.clone()).rule("BND-04"), name, known)
}

pub(in crate::manifest) fn unbound_parameter(owner: &Embedded, name: &str, declared: Place) -> Diagnostic {
    Diagnostic::error("unbound_parameter", format!("`{name}` needs a binding"), owner.place.clone())
        .related(declared, "says so")
        .rule("BND-05")
}

pub(in crate::manifest) fn hidden_parameter(owner: &Embedded, name: &str, declared: Place) -> Diagnostic {
    let message = format!("the model may not set `{name}` and nothing binds it, so each call fails");
    Diagnostic::warning("hidden_parameter", message, owner.place.clone())
        .related(declared, "hides it")
        .rule("KV-11")
}

pub(in crate::manifest) fn unbound_child_parameter(
    owner: &Embedded,
    name: &str,
    declared: Place,
) -> Diagnostic {
    let message = format!("the agent requires `{name}` and nothing binds it, so each call fails");
    Diagnostic::warning("unbound_child_parameter", message, owner.place.clone())
        .related(declared, "declared here, without default")
        .rule("DEL-05")
}

pub(in crate::manifest) fn mount_template(value: &Embedded) -> Diagnostic {
    let message = "the value names the mount, and the agent has none";
    Diagnostic::error("mount_template", message, value.place.clone())
        .help("set `mount` to `task`, `agent` or `workspace`")
        .rule("BND-14")
}

pub(in crate::manifest) fn unresolved_invoke(
    target: &Embedded,
    tool: &str,
    near: Option<&str>,
) -> Diagnostic {
    let message = format!("no tool `{tool}` is loaded; the step fails when it runs");
    let finding = Diagnostic::warning("unresolved_invoke", message, target.place.clone()).rule("MW-11");
    match near {
        Some(near) => finding.help(format!("did you mean `{near}`?")),
        None => finding,
    }
}

pub(in crate::manifest) fn ambiguous_invoke(target: &Embedded, tool: &str) -> Diagnostic {
    let message = format!("`{tool}` names more than one tool or agent; the step fails when it runs");
    Diagnostic::warning("ambiguous_invoke", message, target.place.clone()).rule("MW-11")
}

pub(in crate::manifest) fn invoked_agent(target: &Embedded, tool: &str) -> Diagnostic {
    let message = format!("`{tool}` is an agent, and only tools are invoked; the step fails when it runs");
    Diagnostic::warning("invoked_agent", message, target.place.clone()).rule("MW-11")
}

pub(in crate::manifest) fn unknown_invoke(
    target: &Embedded,
    tool: &str,
    capability: &str,
    known: &[&str],
) -> Diagnostic {
    let message = format!("`{tool}` has no action `{capability}`; the step fails when it runs");
    let finding = Diagnostic::warning("unknown_invoke", message, target.place.clone()).rule("MW-11");
    match nearest(capability, known.iter().copied()) {
        Some(near) => finding.help(format!("did you mean `{tool}:{near}`?")),
        None => finding,
    }
}

pub(in crate::manifest) fn invoke_unbound(target: &Embedded, name: &str, declared: Place) -> Diagnostic {
    let message = format!("`{name}` needs a binding in this step or in the agent's capability");
    Diagnostic::error("invoke_unbound", message, target.place.clone())
        .related(declared, "says so")
        .rule("BND-18")
}

pub(in crate::manifest) fn invoke_incomplete(target: &Embedded, name: &str, declared: Place) -> Diagnostic {
    let message = format!("`{name}` is required and nothing binds it, so the step fails when it runs");
    Diagnostic::warning("invoke_incomplete", message, target.place.clone())
        .related(declared, "declared here, without default")
        .rule("BND-17")
}

pub(in crate::manifest) fn agent_too_large(reference: &Embedded, limit: usize) -> Diagnostic {
    let message = format!("`max_yaml_nodes` {limit} exceeded by the functions and parameters of the agent");
    Diagnostic::error("agent_too_large", message, reference.place.clone())
}
