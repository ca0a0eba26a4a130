//! What is said of the words of JSON Schema: unknown, not supported, with a value that they cannot have.
//!
//! In: the key or the value of a word. A name that is refused has what it was meant to be beside it.

use super::meant::meant_by_key;
use super::nearest_key;
use crate::diagnostic::{Diagnostic, nearest};
use crate::manifest::node::Node;
use crate::source::{Embedded, Place};

pub(in crate::manifest) fn unknown_keyword(key: &Embedded, known: &[&str]) -> Diagnostic {
    let message = format!("there is no word `{}` in JSON Schema", key.text);
    let finding = Diagnostic::error("unknown_keyword", message, key.place.clone()).rule("PAR-08");
    match (meant_by_key("a schema", &key.text), nearest_key(key, known)) {
        (Some(help), _) => finding.help(help),
        (None, Some(near)) => finding.help(format!("did you mean `{near}`?")),
        (None, None) => finding.help("a word of your own begins with `x-`"),
    }
}

pub(in crate::manifest) fn unsupported_keyword(key: &Embedded, reason: &str) -> Diagnostic {
    let message = format!("`{}` is not supported", key.text);
    Diagnostic::error("unsupported_keyword", message, key.place.clone()).help(reason).rule("PAR-08")
}

pub(in crate::manifest) fn only_of_parameters(key: &Embedded) -> Diagnostic {
    let message = format!("`{}` is a word of parameters, not of what is within one", key.text);
    Diagnostic::error("misplaced_keyword", message, key.place.clone())
}

pub(in crate::manifest) fn secret_of_all(key: &Embedded) -> Diagnostic {
    let message = "`secret` marks one parameter, not all of them together";
    Diagnostic::error("secret_of_all", message, key.place.clone())
        .help("write `secret: true` in the schema of each parameter that is secret")
}

pub(in crate::manifest) fn not_enforced(key: &Embedded) -> Diagnostic {
    let message = format!("no value is held to `{}`", key.text);
    Diagnostic::warning("not_enforced", message, key.place.clone())
        .help("say what a value must look like with `pattern` or in a `before` step")
}

/// A word, a format or a pattern in the schema of a listed tool that no value is held to.
pub(in crate::manifest) fn not_enforced_of_tool(key: &Embedded, reason: &str) -> Diagnostic {
    let message = format!("`{}` in the schema of this tool is not enforced: {reason}", key.text);
    Diagnostic::warning("unenforced_word", message, key.place.clone())
}

/// A key or a word of a schema without a value, or with one that it makes nothing of.
pub(in crate::manifest) fn nothing_said(key: &Embedded, follows: &str) -> Diagnostic {
    let message = format!("`{}` says nothing here, so {follows}", key.text);
    Diagnostic::warning("empty_keyword", message, key.place.clone())
        .help("give it a value that it takes, or leave it out")
}

/// A word about values of another type.
pub(in crate::manifest) fn not_about(key: &Embedded, kinds: &[&str]) -> Diagnostic {
    let kinds = kinds.join("` or `");
    let message = format!("`{}` says nothing about values of this type, so no value is held to it", key.text);
    Diagnostic::warning("foreign_keyword", message, key.place.clone())
        .help(format!("it is about `type: {kinds}`; a `before` step can say the same of other values"))
}

pub(in crate::manifest) fn without_partner(key: &Embedded, partner: &str) -> Diagnostic {
    let message = format!("`{}` says nothing without {partner}", key.text);
    Diagnostic::error("lone_keyword", message, key.place.clone()).rule("PAR-08")
}

pub(in crate::manifest) fn bad_keyword(key: &str, node: &Node, expected: &str) -> Diagnostic {
    let message = format!("`{key}` takes {expected}, found {}", node.kind_name());
    Diagnostic::error("bad_keyword", message, node.place.clone()).rule("PAR-08")
}

pub(in crate::manifest) fn inexact_number(node: &Node) -> Diagnostic {
    let message = "a number of a schema must be one that the engine holds exactly";
    Diagnostic::error("inexact_number", message, node.place.clone())
        .help("whole numbers have 64 bits, others are doubles, and none is infinite")
}

pub(in crate::manifest) fn unknown_format(found: &Embedded, known: &[&str]) -> Diagnostic {
    let message = format!("the format `{}` is not known, so no value could be held to it", found.text);
    let finding = Diagnostic::error("unknown_format", message, found.place.clone()).rule("PAR-08");
    match nearest(&found.text, known.iter().copied()) {
        Some(near) => finding.help(format!("did you mean `{near}`?")),
        None => finding.help("say it with `pattern`"),
    }
}

pub(in crate::manifest) fn unknown_dialect(found: &Embedded) -> Diagnostic {
    let message = "this dialect of JSON Schema is not supported";
    Diagnostic::error("unknown_dialect", message, found.place.clone())
        .help("known are 2020-12, 2019-09, draft-07 and draft-06")
}

pub(in crate::manifest) fn bad_pattern(found: &Embedded, reason: &str) -> Diagnostic {
    let message = format!("this pattern is not supported: {reason}");
    Diagnostic::error("bad_pattern", message, found.place.clone()).rule("PAR-08")
}

pub(in crate::manifest) fn bad_reference(found: &Embedded, reason: &str) -> Diagnostic {
    Diagnostic::error("bad_reference", reason, found.place.clone())
        .help("a reference is `#/$defs/name`, and `$defs` stands beside `properties`")
}

pub(in crate::manifest) fn schema_refused(place: &Place, reason: &str) -> Diagnostic {
    let message = format!("no value can be held to this schema: {reason}");
    Diagnostic::error("schema_refused", message, place.clone()).rule("PAR-08")
}

pub(in crate::manifest) fn schemas_too_large(place: &Place, limit: usize) -> Diagnostic {
    let message =
        format!("`max_schema_bytes` {limit} exceeded by this schema and those before it in the document");
    Diagnostic::error("schemas_too_large", message, place.clone())
        .label("no schema from here on was looked at")
        .help(
            "a definition weighs once for each parameter that refers to it, a pattern what it takes compiled",
        )
        .rule("PAR-08")
}

pub(in crate::manifest) fn all_arguments(key: &Embedded) -> Diagnostic {
    let message = format!("`{}` about all arguments together is not supported", key.text);
    Diagnostic::error("all_arguments", message, key.place.clone())
        .help("write a `before` step, or put it into the schema of a parameter")
        .rule("PAR-08")
}

pub(in crate::manifest) fn not_an_object(node: &Node) -> Diagnostic {
    let message = "the type of parameters together is `object`";
    Diagnostic::error("not_an_object", message, node.place.clone()).rule("TOOL-15")
}
