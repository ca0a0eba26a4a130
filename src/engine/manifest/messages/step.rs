//! What is said of the steps of capabilities, guardrails and triggers, as far as one document shows.
//!
//! In: the keys and words of a step. What an expression or a template in it says is for the layer above; whether an
//! invoked tool is there stands in `link.rs`.

use super::{nearest_key, quoted};
use crate::diagnostic::Diagnostic;
use crate::source::{Embedded, Place};

pub(in crate::manifest) fn step_without_action(place: &Place, known: &[&str]) -> Diagnostic {
    let message = format!("a step has one of {}, found none", quoted(known));
    Diagnostic::error("step_without_action", message, place.clone()).rule("MW-04")
}

pub(in crate::manifest) fn step_with_actions(
    first: &Embedded,
    others: &[Embedded],
    known: &[&str],
) -> Diagnostic {
    let found = std::iter::once(first).chain(others).map(|key| &*key.text).collect::<Vec<_>>();
    let message = format!("a step has one of {}, found {}", quoted(known), quoted(&found));
    let finding = Diagnostic::error("step_with_actions", message, first.place.clone())
        .help("make each a step of its own")
        .rule("MW-03");
    others.iter().fold(finding, |finding, key| finding.related(key.place.clone(), "and here"))
}

pub(in crate::manifest) fn transform_too_early(key: &Embedded) -> Diagnostic {
    let message = "`transform` rewrites a result, and before the call there is none";
    Diagnostic::error("transform_too_early", message, key.place.clone())
        .help("move the step to `after`, or bind the parameter")
        .rule("MW-19")
}

pub(in crate::manifest) fn misplaced_effect(key: &Embedded) -> Diagnostic {
    let message = format!("`{}` is about a call that is about to run", key.text);
    Diagnostic::error("misplaced_effect", message, key.place.clone())
        .help("move the step to `before` of a key of `capabilities`")
}

pub(in crate::manifest) fn label_too_early(key: &Embedded) -> Diagnostic {
    let message = format!("`{}` is for steps behind a call and on an input", key.text);
    Diagnostic::error("label_too_early", message, key.place.clone())
        .help("move the step to `after` of a capability or to `guardrails.before`")
}

pub(in crate::manifest) fn no_labels(key: &Embedded) -> Diagnostic {
    Diagnostic::error("no_labels", format!("`{}` names no label", key.text), key.place.clone())
}

pub(in crate::manifest) fn bad_label(label: &Embedded, most: usize) -> Diagnostic {
    let message = format!("a label has 1 to {most} bytes");
    Diagnostic::error("bad_label", message, label.place.clone())
}

pub(in crate::manifest) fn no_obligations(key: &Place) -> Diagnostic {
    Diagnostic::error("no_obligations", "the list has no obligations", key.clone())
        .help("write `{id: …, values: {…}}` for each, or leave the step out")
}

pub(in crate::manifest) fn bindings_without_invoke(key: &Embedded) -> Diagnostic {
    let message = "only an `invoke` step has `bindings`";
    Diagnostic::error("bindings_without_invoke", message, key.place.clone()).rule("MW-48")
}

pub(in crate::manifest) fn guardrail_block(value: &Place) -> Diagnostic {
    let message = "a guardrail cannot `block`: there is no call to keep from happening";
    Diagnostic::error("guardrail_block", message, value.clone())
        .help("`lock_task` is the default; `continue` lets it pass")
        .rule("GR-04")
}

pub(in crate::manifest) fn misplaced_match(key: &Embedded, owner: &str) -> Diagnostic {
    let message = format!("`match` selects an action of a capability; {owner} has none");
    Diagnostic::error("misplaced_match", message, key.place.clone()).rule("MW-23")
}

pub(in crate::manifest) fn trigger_action(key: &Embedded) -> Diagnostic {
    let message = format!("a trigger judges an event by `assert` alone, found `{}`", key.text);
    Diagnostic::error("trigger_action", message, key.place.clone())
        .help("there is no task yet that could call or rewrite anything")
        .rule("TRG-02")
}

pub(in crate::manifest) fn trigger_on_fail(word: &Embedded) -> Diagnostic {
    let message = format!("a step of a trigger can only `block`, not `{}`", word.text);
    Diagnostic::error("trigger_on_fail", message, word.place.clone())
        .help("leave it out: the event then makes no task")
        .rule("TRG-04")
}

pub(in crate::manifest) fn tools_action(key: &Embedded) -> Diagnostic {
    let message = format!("a tool is checked by `assert` alone, found `{}`", key.text);
    Diagnostic::error("tools_action", message, key.place.clone())
        .help("there is no task yet that could call or rewrite anything")
}

pub(in crate::manifest) fn tools_on_fail(word: &Embedded) -> Diagnostic {
    let message = format!("a check of tools can only `block`, not `{}`", word.text);
    Diagnostic::error("tools_on_fail", message, word.place.clone())
        .help("leave it out: nobody can call the tool then")
}

pub(in crate::manifest) fn bad_invoke(target: &Embedded) -> Diagnostic {
    Diagnostic::error("bad_invoke", "expected `tool:capability`", target.place.clone())
        .help("such as `audit-log:record_event`")
        .rule("MW-08")
}

pub(in crate::manifest) fn match_in_policy(key: &Embedded) -> Diagnostic {
    let message = "a policy selects calls by the keys of `capabilities`, and its steps have no `match`";
    Diagnostic::error("match_in_policy", message, key.place.clone())
        .help("give the step a key of its own, such as `\"payments_*\"`")
}

pub(in crate::manifest) fn empty_step_id(value: &Place) -> Diagnostic {
    Diagnostic::error("empty_step_id", "`id` is empty", value.clone())
}

pub(in crate::manifest) fn duplicate_step_id(value: &Place, first: Place) -> Diagnostic {
    Diagnostic::error("duplicate_step_id", "another step of the policy has this id", value.clone())
        .related(first, "the other one")
}

pub(in crate::manifest) fn unknown_rule(rule: &Embedded, known: &[&str]) -> Diagnostic {
    let message = format!("the policy has no rule `{}`", rule.text);
    let finding = Diagnostic::error("unknown_rule", message, rule.place.clone());
    match nearest_key(rule, known) {
        Some(near) => finding.help(format!("did you mean `{near}`?")),
        None if known.is_empty() => finding.help("a rule has the name that stands under `id` of its step"),
        None => finding.help(format!("the rules are {}", quoted(known))),
    }
}

pub(in crate::manifest) fn exception_of_no_assert(rule: &Embedded) -> Diagnostic {
    let message = format!("`{}` has no exceptions: an `assert` about calls and messages has", rule.text);
    Diagnostic::error("exception_of_no_assert", message, rule.place.clone())
        .help("give the step a `condition` that leaves out what it is not for")
}

pub(in crate::manifest) fn bad_end_of_exception(until: &Embedded) -> Diagnostic {
    let message = format!("`until` is a day or a time, not `{}`", until.text);
    Diagnostic::error("bad_end_of_exception", message, until.place.clone())
        .help("write a day (`2026-12-31`) or a time (`2026-12-31T18:00:00Z`)")
}

pub(in crate::manifest) fn expired_exception(until: &Embedded) -> Diagnostic {
    let message = format!("the exception held until `{}`, and lets nothing pass any more", until.text);
    Diagnostic::warning("expired_exception", message, until.place.clone())
        .help("take it out, or agree on a later day and write it down")
}

pub(in crate::manifest) fn unknown_severity(found: &Embedded, known: &[&str]) -> Diagnostic {
    let message = not_one_of("severity", found, known);
    meant(Diagnostic::error("unknown_severity", message, found.place.clone()), found, known)
}

pub(in crate::manifest) fn unknown_mode(found: &Embedded, known: &[&str]) -> Diagnostic {
    let message = not_one_of("mode", found, known);
    meant(Diagnostic::error("unknown_mode", message, found.place.clone()), found, known)
}

pub(in crate::manifest) fn unknown_default(found: &Embedded, known: &[&str]) -> Diagnostic {
    let message = not_one_of("default", found, known);
    meant(Diagnostic::error("unknown_default", message, found.place.clone()), found, known)
}

pub(in crate::manifest) fn unknown_bound(found: &Embedded, known: &[&str]) -> Diagnostic {
    let message = not_one_of("within", found, known);
    meant(Diagnostic::error("unknown_bound", message, found.place.clone()), found, known)
}

pub(in crate::manifest) fn unknown_review_word(key: &str, found: &Embedded, known: &[&str]) -> Diagnostic {
    let message = not_one_of(key, found, known);
    meant(Diagnostic::error("unknown_review_word", message, found.place.clone()), found, known)
}

fn not_one_of(key: &str, found: &Embedded, known: &[&str]) -> String {
    format!("`{key}` is one of {}, not `{}`", quoted(known), found.text)
}

fn meant(finding: Diagnostic, found: &Embedded, known: &[&str]) -> Diagnostic {
    match nearest_key(found, known) {
        Some(near) => finding.help(format!("did you mean `{near}`?")),
        None => finding,
    }
}
