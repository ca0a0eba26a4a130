//! What is said of policy documents: for whom they are, and what their keys select.
//!
//! In: the place and the words of a part of a policy, and what there is to choose from. Steps of policies are steps like any
//! other, and `step.rs` speaks of them.

use super::quoted;
use crate::diagnostic::{Diagnostic, nearest};
use crate::source::{Embedded, Place};

pub(in crate::manifest) fn empty_policy(place: &Place) -> Diagnostic {
    Diagnostic::warning("empty_policy", "the policy has no steps and no limits", place.clone())
        .help("put steps under `capabilities` or `guardrails`")
}

pub(in crate::manifest) fn empty_policy_key(key: &Embedded) -> Diagnostic {
    let message = format!("no step stands under `{}`", key.text);
    Diagnostic::warning("empty_policy_key", message, key.place.clone())
        .help("put steps under `before_first`, `before` or `after`")
}

pub(in crate::manifest) fn bad_call_key(key: &Embedded) -> Diagnostic {
    Diagnostic::error("bad_call_key", "the key selects nothing", key.place.clone()).help(
        "a key is a name such as `payments_refund`, a pattern such as `payments_*`, or `tag:` and a tag",
    )
}

pub(in crate::manifest) fn no_agents_named(key: &Place) -> Diagnostic {
    Diagnostic::error("no_agents_named", "the list names no agents", key.clone())
        .help("without `applies_to` a policy is for the agents of its namespace")
}

pub(in crate::manifest) fn bad_agent_pattern(pattern: &Embedded) -> Diagnostic {
    let message = format!("agents are named as `namespace/name`, found `{}`", pattern.text);
    Diagnostic::error("bad_agent_pattern", message, pattern.place.clone())
        .help(format!("write `*/{0}`, `{0}/*`, or `*` for all agents", pattern.text))
}

pub(in crate::manifest) fn no_agent_in_scope(name: &Embedded, patterns: &[Embedded]) -> Diagnostic {
    let patterns: Vec<&str> = patterns.iter().map(|pattern| &*pattern.text).collect();
    let message =
        format!("no agent that is loaded is one of {}, so the policy guards nothing", quoted(&patterns));
    Diagnostic::warning("no_agent_in_scope", message, name.place.clone())
        .help("load it together with its agents, and name those of other namespaces under `applies_to`")
}

pub(in crate::manifest) fn unmatched_agents(pattern: &Embedded) -> Diagnostic {
    let message = format!("no agent that is loaded is like `{}`", pattern.text);
    Diagnostic::warning("unmatched_agents", message, pattern.place.clone())
}

pub(in crate::manifest) fn unmatched_key(key: &Embedded, known: &[&str]) -> Diagnostic {
    let message = format!("`{}` selects no function of any agent that the policy is for", key.text);
    let finding = Diagnostic::error("unmatched_key", message, key.place.clone());
    match nearest(&key.text, known.iter().copied()) {
        Some(near) => finding.help(format!("did you mean `{near}`?")),
        None if known.is_empty() => finding,
        None => finding.help(format!("there are {}", quoted(known))),
    }
}

pub(in crate::manifest) fn nothing_brought(key: &Embedded) -> Diagnostic {
    let message =
        format!("`{}` selects nothing, neither of the agents nor of what the task brings", key.text);
    Diagnostic::warning("nothing_brought", message, key.place.clone())
}

pub(in crate::manifest) fn too_many_matches(key: &Embedded, limit: usize) -> Diagnostic {
    let message =
        format!("`max_rule_matches` {limit} exceeded by the functions of one agent that the key selects");
    Diagnostic::error("too_many_matches", message, key.place.clone())
}

pub(in crate::manifest) fn tag_of_hints(tag: &Embedded) -> Diagnostic {
    let message = format!("the tag `{}` follows from `annotations`, and is not given", tag.text);
    Diagnostic::error("tag_of_hints", message, tag.place.clone()).help(
        "say `readOnlyHint`, `destructiveHint`, `idempotentHint` or `openWorldHint` under `annotations`",
    )
}

pub(in crate::manifest) fn no_claims(key: &Place) -> Diagnostic {
    Diagnostic::error("no_claims", "`claims` names no claim", key.clone())
        .help("put the claims that expressions read under `properties`; no other claim is visible")
}

pub(in crate::manifest) fn claims_not_an_object(ty: &Place) -> Diagnostic {
    Diagnostic::error("claims_not_an_object", "claims are an object", ty.clone())
        .help("write `type: object`, or leave `type` out")
}

pub(in crate::manifest) fn secret_claim(key: &Place) -> Diagnostic {
    Diagnostic::error("secret_claim", "`secret` would mask nothing of a claim", key.clone())
        .help("views of a task show the claims of its user; leave out a claim that nobody may see")
}
