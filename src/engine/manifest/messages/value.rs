//! What is said of keys and values wherever they stand: missing, unknown, of another type, out of range.
//!
//! In: the node or the name, the words that are known, and the rule that a document cites. No message here knows a kind
//! of document.

use super::meant::meant_by_key;
use super::{nearest_key, quoted};
use crate::amount::AmountError;
use crate::cel::DurationError;
use crate::diagnostic::Diagnostic;
use crate::manifest::node::Node;
use crate::source::{Embedded, Place};

pub(in crate::manifest) fn wrong_type(node: &Node, expected: &str) -> Diagnostic {
    let message = format!("expected {expected}, found {}", node.kind_name());
    let finding = Diagnostic::error("wrong_type", message, node.place.clone());
    let scalar = node.as_sequence().is_none() && node.as_mapping().is_none() && !node.is_null();
    match (scalar, expected) {
        (true, expected) if expected.contains("text") => finding.help("put it in quotes"),
        (false, expected) if expected.contains("expression") && !node.is_null() => finding.help(
            "YAML takes `{`, `[` and `: ` for its own: put the whole expression in quotes, or on a line of its own below `>-`",
        ),
        _ => finding,
    }
}

pub(in crate::manifest) fn missing_key(place: &Place, key: &str, rule: &'static str) -> Diagnostic {
    Diagnostic::error("missing_key", format!("`{key}` is missing"), place.clone()).rule(rule)
}

pub(in crate::manifest) fn empty_name(place: &Place, key: &str, rule: &'static str) -> Diagnostic {
    Diagnostic::error("empty_name", format!("`{key}` is empty"), place.clone()).rule(rule)
}

fn other_key(finding: Diagnostic, key: &Embedded, owner: &str, known: &[&str]) -> Diagnostic {
    match (owner, &*key.text) {
        ("a capability", "timeout") => finding.help("the field is `event_timeout`").rule("AG-25"),
        ("a tool", "capabilities") => finding.help("the field is `actions`; `capabilities` is that of `v1`"),
        _ => match (meant_by_key(owner, &key.text), nearest_key(key, known)) {
            (Some(help), _) => finding.help(help),
            (None, Some(near)) => finding.help(format!("did you mean `{near}`?")),
            (None, None) if known.is_empty() => finding,
            (None, None) => finding.help(format!("the keys of {owner} are {}", quoted(known))),
        },
    }
}

pub(in crate::manifest) fn unknown_key(key: &Embedded, owner: &str, known: &[&str]) -> Diagnostic {
    let message = format!("{owner} has no key `{}`", key.text);
    other_key(Diagnostic::error("unknown_key", message, key.place.clone()).rule("AG-10"), key, owner, known)
}

pub(in crate::manifest) fn ignored_key(key: &Embedded, owner: &str, known: &[&str]) -> Diagnostic {
    let message = format!("{owner} has no key `{}`; it is ignored", key.text);
    other_key(Diagnostic::warning("ignored_key", message, key.place.clone()), key, owner, known)
}

pub(in crate::manifest) fn unknown_word(
    found: &Embedded,
    what: &str,
    known: &[&str],
    rule: &'static str,
) -> Diagnostic {
    let message = format!("`{what}` is one of {}, not `{}`", quoted(known), found.text);
    let finding = Diagnostic::error("unknown_word", message, found.place.clone()).rule(rule);
    match nearest_key(found, known) {
        Some(near) => finding.help(format!("did you mean `{near}`?")),
        None => finding,
    }
}

pub(in crate::manifest) fn negative_limit(place: &Place) -> Diagnostic {
    Diagnostic::error("negative_limit", "a limit is a whole number from 0 on", place.clone())
        .help("leave it out for no limit")
        .rule("LIM-13")
}

pub(in crate::manifest) fn bad_amount(place: &Place, why: AmountError) -> Diagnostic {
    Diagnostic::error("bad_amount", why.to_string(), place.clone())
        .help("an amount is a number such as `0.05`, or the same as text; leave it out for no limit")
}

pub(in crate::manifest) fn bad_duration(place: &Place, problem: DurationError) -> Diagnostic {
    let found = match problem {
        DurationError::Malformed => "found something else",
        DurationError::NoUnit => "found a number without unit",
        DurationError::UnknownUnit => "found an unknown unit",
        DurationError::TooLong => "found more than 292 years",
    };
    let message = format!("expected a duration such as `1h30m`, {found}");
    Diagnostic::error("bad_duration", message, place.clone())
        .help("the units are `h`, `m`, `s`, `ms`, `us` and `ns`")
        .rule("SUB-14")
}

pub(in crate::manifest) fn duration_not_positive(place: &Place, rule: &'static str) -> Diagnostic {
    Diagnostic::error("duration_not_positive", "the duration must be longer than nothing", place.clone())
        .rule(rule)
}
