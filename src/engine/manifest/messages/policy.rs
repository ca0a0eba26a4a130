//! What is said of policy documents: for whom they are, and what their keys select.
//!
//! In: the place and the words of a part of a policy, and what there is to choose from. Steps of policies are steps like any
//! other, and `step.rs` speaks of them.

use super::{named, quoted};
use crate::cel::Type;
use crate::diagnostic::{Diagnostic, nearest};
use crate::source::{Embedded, Place};

pub(in crate::manifest) fn unread_parameter(name: &Embedded) -> Diagnostic {
    let message =
        format!("nothing in the policy reads the parameter `{}`, so its value changes nothing", name.text);
    Diagnostic::warning("unread_parameter", message, name.place.clone())
        .help(format!("read it as `parameters.{}`, or take it out", name.text))
}

pub(in crate::manifest) fn unread_variable(name: &Embedded) -> Diagnostic {
    let message =
        format!("nothing in the policy reads the variable `{}`, so what it asks is asked nowhere", name.text);
    Diagnostic::warning("unread_variable", message, name.place.clone())
        .help(format!("read it in a step as `variables.{}`, or take it out", name.text))
}

pub(in crate::manifest) fn bad_expression_name(name: &Embedded) -> Diagnostic {
    let message = format!("no expression can be called as `expressions.{}(…)`", name.text);
    Diagnostic::error("bad_expression_name", message, name.place.clone())
        .help("take an identifier such as `within_cap` that is no macro and no reserved word")
}

/// Why no function of a host can have a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::manifest) enum BadFunctionName {
    /// It has no namespace.
    Unqualified,
    /// A part of it is no identifier.
    NoIdentifiers,
    /// It begins with a variable of expressions.
    Variable,
    /// Functions of the language begin so.
    OfLanguage,
}

pub(in crate::manifest) fn bad_function_name(name: &Embedded, problem: BadFunctionName) -> Diagnostic {
    let written = &name.text;
    let begins = written.split('.').next().unwrap_or_default();
    let message = match problem {
        BadFunctionName::Unqualified => {
            format!("expected a name with a namespace such as `risk.score`, found `{written}`")
        }
        BadFunctionName::NoIdentifiers => {
            format!("expected identifiers with a dot between them, found `{written}`")
        }
        BadFunctionName::Variable => {
            format!("`{begins}` is a variable of expressions, so no function is called `{written}`")
        }
        BadFunctionName::OfLanguage => format!(
            "functions of the language begin with `{begins}.`, so no function of the host is called `{written}`"
        ),
    };
    Diagnostic::error("bad_function_name", message, name.place.clone())
        .help("take a namespace of your own, such as the name of your company")
}

/// A type of a function of the host of which JSON has no values.
pub(in crate::manifest) fn type_without_json(at: &Embedded, ty: &Type) -> Diagnostic {
    let message =
        format!("a function of the host takes and gives values of JSON, and `{ty}` is none of them");
    Diagnostic::error("type_without_json", message, at.place.clone())
        .help("types are `bool`, `int`, `double`, `string`, `null_type`, `dyn`, and `list(T)` and `map(string, T)` of such")
}

/// A reason why an entry of `parameters` of a named expression declares no parameter.
pub(in crate::manifest) enum BadParameter<'p> {
    /// The mapping has this many entries, and not one.
    Count(&'p Place, usize),
    /// An earlier entry has the name.
    Twice(&'p Embedded),
    /// The name is no identifier, or that of a variable of policies.
    Name(&'p Embedded),
}

pub(in crate::manifest) fn bad_expression_parameter(problem: BadParameter<'_>) -> Diagnostic {
    let (message, place, help) = match problem {
        BadParameter::Count(place, found) => (
            format!("expected one `name: type` in each entry of the list, found {found}"),
            place,
            "write `[amount: double, cap: double]`",
        ),
        BadParameter::Twice(name) => (
            format!("an entry before declares the parameter `{}`", name.text),
            &name.place,
            "give each parameter a name of its own",
        ),
        BadParameter::Name(name) => (
            format!("`{}` cannot be the name of a parameter", name.text),
            &name.place,
            "take an identifier such as `amount` that is no variable of policies (`input`, `context`, `now`) and no reserved word",
        ),
    };
    Diagnostic::error("bad_expression_parameter", message, place.clone()).help(help)
}

/// Types that other languages have, with those that CEL calls so.
const TYPES: [(&str, &str); 12] = [
    ("number", "double"),
    ("float", "double"),
    ("integer", "int"),
    ("boolean", "bool"),
    ("str", "string"),
    ("text", "string"),
    ("array", "list(dyn)"),
    ("list", "list(dyn)"),
    ("object", "map(string, dyn)"),
    ("map", "map(string, dyn)"),
    ("any", "dyn"),
    ("null", "null_type"),
];

pub(in crate::manifest) fn unknown_cel_type(text: &Embedded) -> Diagnostic {
    const KNOWN: [&str; 9] =
        ["bool", "bytes", "double", "duration", "dyn", "int", "string", "timestamp", "uint"];
    let finding = Diagnostic::error(
        "unknown_cel_type",
        format!("expected a type of CEL, found `{}`", text.text),
        text.place.clone(),
    );
    let other = TYPES.iter().find(|(name, _)| *name == &*text.text).map(|(_, known)| *known);
    match other.or_else(|| nearest(&text.text, KNOWN)) {
        Some(near) => finding.help(format!("did you mean `{near}`?")),
        None => {
            finding.help(format!("types are {}, and `list(T)` and `map(string, T)` of such", quoted(&KNOWN)))
        }
    }
}

pub(in crate::manifest) fn empty_policy(place: &Place) -> Diagnostic {
    Diagnostic::warning(
        "empty_policy",
        "the policy has no steps, limits, named expressions or settings for reviews",
        place.clone(),
    )
    .help("put steps under `capabilities`, `guardrails` or `model`")
}

pub(in crate::manifest) fn bad_copy_letters(key: &Place, least: usize, most: usize) -> Diagnostic {
    let message = format!("`copy_letters` is a whole number from {least} to {most}");
    Diagnostic::error("bad_copy_letters", message, key.clone())
        .help("leave it out, or take the length of the shortest text that must not be repeated unseen")
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

pub(in crate::manifest) fn no_parents_named(key: &Place) -> Diagnostic {
    Diagnostic::error("no_parents_named", "the list names no agents", key.clone())
        .help("without `agents` the tasks of those agents may delegate whose manifests list the agent")
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

pub(in crate::manifest) fn observed_limits(key: &Embedded) -> Diagnostic {
    let message = "`mode: observe` is about steps, and `limits` would end tasks all the same";
    Diagnostic::error("observed_limits", message, key.place.clone())
        .help("keep the limits in a policy of their own")
}

// Policies as libraries.

pub(in crate::manifest) fn bad_version(text: &Embedded) -> Diagnostic {
    let message = format!("`{}` is no version", text.text);
    Diagnostic::error("bad_version", message, text.place.clone()).help("a version has three numbers: `1.2.0`")
}

pub(in crate::manifest) fn bad_required_version(text: &Embedded) -> Diagnostic {
    let message = format!("`{}` asks for no version", text.text);
    Diagnostic::error("bad_required_version", message, text.place.clone())
        .help("`1.2.0` asks for this version, `^1.2` for it or a later one that is compatible")
}

pub(in crate::manifest) fn secret_of_a_policy(name: &Place) -> Diagnostic {
    let message = "a parameter of a policy stands in a document, and is no secret";
    Diagnostic::error("secret_of_a_policy", message, name.clone())
}

pub(in crate::manifest) fn scope_of_library(key: &Place) -> Diagnostic {
    let message = "a parameter has no default, so the policy is for nobody until another one uses it";
    Diagnostic::error("scope_of_library", message, key.clone())
        .help("give each parameter a `default`, or leave out `applies_to`")
}

pub(in crate::manifest) fn unused_library(name: &Embedded) -> Diagnostic {
    let message = "a parameter has no default and no policy uses this one, so it guards nothing";
    Diagnostic::warning("unused_library", message, name.place.clone())
        .help("name it under `uses` of a policy, with a value for each such parameter")
}

pub(in crate::manifest) fn unknown_policy(policy: &Embedded, known: &[&str]) -> Diagnostic {
    let message = format!("no policy `{}` is loaded", policy.text);
    let finding = Diagnostic::error("unknown_policy", message, policy.place.clone());
    match nearest(&policy.text, known.iter().copied()) {
        Some(near) => finding.help(format!("did you mean `{near}`?")),
        None => finding.help("policies are named as `namespace/name`, and loaded together"),
    }
}

pub(in crate::manifest) fn same_use(policy: &Embedded, first: Place) -> Diagnostic {
    let message = format!("`{}` is used twice under one name", policy.text);
    Diagnostic::error("same_use", message, policy.place.clone())
        .related(first, "used here, too")
        .help("give each use a name with `as`, so that decisions tell their steps apart")
}

/// Policies of which each uses the next, and the last one the first.
pub(in crate::manifest) fn circle_of_uses(policy: &Embedded, circle: &[String]) -> Diagnostic {
    let chain: Vec<String> = circle.iter().chain(circle.first()).map(|name| format!("`{name}`")).collect();
    let message = format!("the policy uses itself: {}", chain.join(" uses "));
    Diagnostic::error("circle_of_uses", message, policy.place.clone())
}

pub(in crate::manifest) fn uses_too_deep(policy: &Embedded, limit: usize) -> Diagnostic {
    let message = format!("`max_depth` {limit} exceeded by policies of which each uses the next");
    Diagnostic::error("uses_too_deep", message, policy.place.clone())
}

pub(in crate::manifest) fn too_many_uses(policy: &Embedded, limit: usize) -> Diagnostic {
    let message = format!("`max_rule_matches` {limit} exceeded by the steps of the policies that are used");
    Diagnostic::error("too_many_uses", message, policy.place.clone())
}

pub(in crate::manifest) fn unfit_version(
    required: &Embedded,
    found: Option<&str>,
    policy: Place,
) -> Diagnostic {
    let message = match found {
        Some(found) => format!("`{}` is needed, and `{found}` is loaded", required.text),
        None => format!("`{}` is needed, and the policy has no version", required.text),
    };
    Diagnostic::error("unfit_version", message, required.place.clone()).related(policy, "the policy")
}

pub(in crate::manifest) fn surplus_value(name: &Embedded, policy: &str, known: &[&str]) -> Diagnostic {
    let message = format!("`{policy}` has no parameter `{}`", name.text);
    named(Diagnostic::error("surplus_value", message, name.place.clone()), name, known)
}

pub(in crate::manifest) fn unknown_parameter(text: &Embedded, name: &str, known: &[&str]) -> Diagnostic {
    let message = format!("the policy has no parameter `{name}` to pass on");
    let finding = Diagnostic::error("unknown_parameter", message, text.place.clone());
    match nearest(name, known.iter().copied()) {
        Some(near) => finding.help(format!("did you mean `parameters.{near}`?")),
        None => finding
            .help("a policy declares them under `parameters`; this text as a value is the `default` of one"),
    }
}

pub(in crate::manifest) fn missing_value(policy: &Embedded, parameter: &str, declared: Place) -> Diagnostic {
    let message = format!("`{}` needs a value for `{parameter}`", policy.text);
    Diagnostic::error("missing_value", message, policy.place.clone())
        .related(declared, "declared here, without a default")
        .help(format!("write `with: {{{parameter}: …}}`"))
}
