//! What is said of agents and their capabilities, as far as one document shows.
//!
//! In: the place or the name of a part of an agent. What only shows beside the tools of the other documents stands in
//! `link.rs`.

use crate::diagnostic::Diagnostic;
use crate::manifest::node::Node;
use crate::source::{Embedded, Place};

pub(in crate::manifest) fn text_missing(
    place: &Place,
    owner: &str,
    key: &str,
    rule: &'static str,
) -> Diagnostic {
    Diagnostic::warning("text_missing", format!("the {owner} has no `{key}`"), place.clone()).rule(rule)
}

pub(in crate::manifest) fn bad_capability(node: &Node) -> Diagnostic {
    let found = if node.as_string().is_some() { "another text" } else { node.kind_name() };
    let message = format!("expected `\"*\"` or a mapping, found {found}");
    Diagnostic::error("bad_capability", message, node.place.clone())
        .help("`\"*\"` grants everything the tool has")
        .rule("AG-09")
}

pub(in crate::manifest) fn empty_capability(place: &Place) -> Diagnostic {
    Diagnostic::error("empty_capability", "a capability has at least one field", place.clone())
        .help("write `\"*\"` to grant everything the tool has")
        .rule("AG-08")
}

pub(in crate::manifest) fn null_include(place: &Place) -> Diagnostic {
    Diagnostic::warning(
        "null_include",
        "`include` is empty, so every action and event is active",
        place.clone(),
    )
    .help("write `[]` for none, or leave it out")
    .rule("AG-13")
}

pub(in crate::manifest) fn exposed_message(place: &Place) -> Diagnostic {
    Diagnostic::error(
        "exposed_message",
        "`message` is the response itself and cannot be exposed",
        place.clone(),
    )
    .rule("AG-20")
}

pub(in crate::manifest) fn without_effect(place: &Place, key: &str) -> Diagnostic {
    let message = format!("`{key}` belongs to an older version and has no effect");
    Diagnostic::warning("without_effect", message, place.clone()).rule("KV-14")
}

pub(in crate::manifest) fn message_twice(place: &Place) -> Diagnostic {
    let message = "`default_message` is ignored: `message` has a default in `parameters`";
    Diagnostic::warning("message_twice", message, place.clone()).rule("KV-12")
}

pub(in crate::manifest) fn model_capability_listed(name: &Embedded, first: Place) -> Diagnostic {
    let message = format!("`{}` is a capability already", name.text);
    Diagnostic::error("model_capability_listed", message, name.place.clone())
        .related(first, "listed here")
        .rule("AG-15")
}

pub(in crate::manifest) fn media_without_mount(name: &Embedded) -> Diagnostic {
    let message = format!("`{}` needs a place for its files, and the agent has no mount", name.text);
    Diagnostic::error("media_without_mount", message, name.place.clone())
        .help("set `mount` to `task`, `agent` or `workspace`")
        .rule("AG-16")
}
