//! Every message of the policy layer, one function each: diagnostics about manifests, and words for the model.
//!
//! A message names parameters and types and never a value of a task. What a model reads names nothing that it does not
//! see in its functions' schemas.

use super::shape::Misfit;
use crate::cel::Kind;
use crate::diagnostic::Diagnostic;
use crate::manifest::schema::SchemaKind;
use crate::source::Place;

// For the model.

pub(super) fn arguments_not_an_object(found: Kind) -> String {
    format!("expected an object of arguments, found {found}")
}

pub(super) fn missing_parameter(name: &str) -> String {
    format!("the parameter `{name}` is missing")
}

pub(super) fn not_settable() -> String {
    "a parameter that only the policy can set has no value".to_owned()
}

pub(super) fn misfit(parameter: &str, misfit: &Misfit) -> String {
    match misfit {
        Misfit::Kind { at, expected, found } => {
            format!("the parameter `{parameter}{at}`: expected {}, found {found}", schema_kind(*expected))
        }
        Misfit::NotAllowed { at } => {
            format!("the parameter `{parameter}{at}`: the value is none of those that its `enum` allows")
        }
    }
}

fn schema_kind(kind: SchemaKind) -> &'static str {
    match kind {
        SchemaKind::String => "string",
        SchemaKind::Number => "number",
        SchemaKind::Integer => "integer",
        SchemaKind::Boolean => "boolean",
        SchemaKind::Object => "object",
        SchemaKind::Array => "array",
    }
}

// About expressions and templates.

pub(super) fn bare_word(place: Place, word: &str) -> Diagnostic {
    let message = format!("the bare word `{word}` is taken as text");
    Diagnostic::warning("bare_word", message, place)
        .label("no expression")
        .help(format!("write `\"'{word}'\"` to say so"))
        .rule("BND-10")
}

pub(super) fn mount_without_scope(place: Place) -> Diagnostic {
    Diagnostic::error("no_mount", "`mount` is not known: the agent's mount is `none`", place)
        .help("give the agent a `mount` of `task`, `agent` or `workspace`")
        .rule("BND-14")
}

pub(super) fn malformed_placeholder(place: Place) -> Diagnostic {
    Diagnostic::error("malformed_placeholder", "this is no placeholder", place)
        .label("expected a path such as `{input.items[0].id}`")
        .help("a placeholder is a path, not an expression; a lone `{` cannot stand in a message")
        .rule("INT-19")
}

pub(super) fn unknown_root(place: Place, root: &str, near: Option<&str>, why: Option<&str>) -> Diagnostic {
    let finding = Diagnostic::error("unknown_root", format!("`{root}` is not known here"), place).rule("INT-19");
    match (why, near) {
        (Some(why), _) => finding.help(why),
        (None, Some(near)) => finding.help(format!("did you mean `{near}`?")),
        (None, None) => finding,
    }
}

pub(super) fn template_too_long(place: Place, limit: usize) -> Diagnostic {
    Diagnostic::error("source_too_long", format!("`max_source_bytes` {limit} exceeded"), place)
}

pub(super) fn unresolved_target(place: Place, target: &str) -> Diagnostic {
    let message = format!("`{target}` names no capability that is loaded");
    Diagnostic::warning("unresolved_target", message, place).help("the step fails whenever it runs").rule("MW-11")
}
