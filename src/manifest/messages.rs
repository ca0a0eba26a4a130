//! Every message of the manifest layer, one function each.
//!
//! In: places and the words of the user. Out: a [`Diagnostic`] without its path, which the reader adds. A message names
//! what was expected and what was found; a value that is not a name of the manifest's own is never repeated.

use super::cadence::FieldRule;
use super::duration::Problem;
use super::node::Node;
use super::step::Invoke;
use crate::diagnostic::{Diagnostic, nearest};
use crate::source::{Embedded, Place};

// YAML: the text itself.

pub(super) fn manifest_too_large(place: Place, name: &str, limit: usize) -> Diagnostic {
    Diagnostic::error("manifest_too_large", format!("`{name}` {limit} exceeded"), place)
        .help("split the documents over several files")
}

pub(super) fn not_utf8(place: Place, offset: usize) -> Diagnostic {
    let line = place.position().line;
    let message = format!("the file is not UTF-8: byte {offset}, on line {line}, begins no character");
    Diagnostic::error("not_utf8", message, place).help("save the file as UTF-8")
}

pub(super) fn yaml_syntax(place: Place, problem: &str) -> Diagnostic {
    let finding = Diagnostic::error("yaml_syntax", format!("this is not YAML: {problem}"), place);
    if problem.contains("tab") { finding.help("YAML indents with spaces") } else { finding }
}

pub(super) fn yaml_character(place: Place, character: char) -> Diagnostic {
    let message =
        format!("this is not YAML: the character U+{:04X} may not stand here", u32::from(character));
    Diagnostic::error("yaml_character", message, place)
}

pub(super) fn yaml_too_deep(place: Place, limit: usize) -> Diagnostic {
    Diagnostic::error("yaml_too_deep", format!("`max_yaml_depth` {limit} exceeded"), place)
        .label("nested too deeply here")
}

pub(super) fn yaml_too_large(place: Place, limit: usize) -> Diagnostic {
    Diagnostic::error("yaml_too_large", format!("`max_yaml_nodes` {limit} exceeded"), place)
        .label("the file grows past it here")
        .help("an alias counts as often as it is used")
}

pub(super) fn duplicate_key(key: &Embedded, first: Place) -> Diagnostic {
    Diagnostic::error("duplicate_key", format!("the key `{}` stands twice", key.text), key.place.clone())
        .label("again here")
        .related(first, "first here")
}

pub(super) fn unknown_alias(place: Place, name: &str) -> Diagnostic {
    Diagnostic::error("unknown_alias", format!("no anchor `&{name}` stands before its alias"), place)
}

pub(super) fn recursive_alias(place: Place) -> Diagnostic {
    Diagnostic::error("recursive_alias", "an alias stands inside its own anchor", place)
}

pub(super) fn key_not_scalar(place: Place) -> Diagnostic {
    Diagnostic::error("key_not_scalar", "expected a name as key, found a collection", place)
}

pub(super) fn merge_key(place: Place) -> Diagnostic {
    Diagnostic::error("merge_key", "there is no merge key `<<` in YAML 1.2", place).help("write the keys out")
}

pub(super) fn unknown_tag(place: Place, tag: &str) -> Diagnostic {
    Diagnostic::error("unknown_tag", format!("unknown tag `{tag}`"), place)
        .help("the tags are `!!str`, `!!int`, `!!float`, `!!bool`, `!!null`, `!!seq` and `!!map`")
}

pub(super) fn wrong_tag(place: Place, tag: &str) -> Diagnostic {
    Diagnostic::error("wrong_tag", format!("the value is not of its tag `{tag}`"), place)
}

pub(super) fn too_many_findings(place: Place, hidden: usize, error: bool) -> Diagnostic {
    let message = format!("{hidden} more findings in this file are not shown");
    let code = "too_many_findings";
    if error { Diagnostic::error(code, message, place) } else { Diagnostic::warning(code, message, place) }
}

// Values and keys.

pub(super) fn wrong_type(node: &Node, expected: &str) -> Diagnostic {
    let message = format!("expected {expected}, found {}", node.kind_name());
    let finding = Diagnostic::error("wrong_type", message, node.place.clone());
    let scalar = node.as_sequence().is_none() && node.as_mapping().is_none() && !node.is_null();
    if scalar && expected.contains("text") { finding.help("put it in quotes") } else { finding }
}

pub(super) fn missing_key(place: &Place, key: &str, rule: &'static str) -> Diagnostic {
    Diagnostic::error("missing_key", format!("`{key}` is missing"), place.clone()).rule(rule)
}

pub(super) fn empty_name(place: &Place, key: &str, rule: &'static str) -> Diagnostic {
    Diagnostic::error("empty_name", format!("`{key}` is empty"), place.clone()).rule(rule)
}

/// The known key that an unknown one was meant to be.
pub(super) fn nearest_key<'a>(key: &Embedded, known: &[&'a str]) -> Option<&'a str> {
    nearest(&key.text, known.iter().copied())
}

fn other_key(finding: Diagnostic, key: &Embedded, owner: &str, known: &[&str]) -> Diagnostic {
    match (owner, &*key.text) {
        ("a capability", "timeout") => finding.help("the field is `event_timeout`").rule("AG-25"),
        ("a tool", "capabilities") => finding.help("the field is `actions`; `capabilities` is that of `v1`"),
        _ => match nearest_key(key, known) {
            Some(near) => finding.help(format!("did you mean `{near}`?")),
            None if known.is_empty() => finding,
            None => finding.help(format!("the keys of {owner} are {}", quoted(known))),
        },
    }
}

pub(super) fn unknown_key(key: &Embedded, owner: &str, known: &[&str]) -> Diagnostic {
    let message = format!("{owner} has no key `{}`", key.text);
    other_key(Diagnostic::error("unknown_key", message, key.place.clone()).rule("AG-10"), key, owner, known)
}

pub(super) fn ignored_key(key: &Embedded, owner: &str, known: &[&str]) -> Diagnostic {
    let message = format!("{owner} has no key `{}`; it is ignored", key.text);
    other_key(Diagnostic::warning("ignored_key", message, key.place.clone()), key, owner, known)
}

pub(super) fn unknown_word(found: &Embedded, what: &str, known: &[&str], rule: &'static str) -> Diagnostic {
    let message = format!("`{what}` is one of {}, not `{}`", quoted(known), found.text);
    let finding = Diagnostic::error("unknown_word", message, found.place.clone()).rule(rule);
    match nearest_key(found, known) {
        Some(near) => finding.help(format!("did you mean `{near}`?")),
        None => finding,
    }
}

pub(super) fn negative_limit(place: &Place) -> Diagnostic {
    Diagnostic::error("negative_limit", "a limit is a whole number from 0 on", place.clone())
        .help("leave it out for no limit")
        .rule("LIM-13")
}

pub(super) fn bad_duration(place: &Place, problem: Problem) -> Diagnostic {
    let found = match problem {
        Problem::Malformed => "found something else",
        Problem::NoUnit => "found a number without unit",
        Problem::UnknownUnit => "found an unknown unit",
        Problem::TooLong => "found more than 292 years",
    };
    let message = format!("expected a duration such as `1h30m`, {found}");
    Diagnostic::error("bad_duration", message, place.clone())
        .help("the units are `h`, `m`, `s`, `ms`, `us` and `ns`")
        .rule("SUB-14")
}

pub(super) fn duration_not_positive(place: &Place, rule: &'static str) -> Diagnostic {
    Diagnostic::error("duration_not_positive", "the duration must be longer than nothing", place.clone())
        .rule(rule)
}

// Kinds.

pub(super) fn missing_kind(place: &Place) -> Diagnostic {
    Diagnostic::error("missing_kind", "the document has no `kind`", place.clone())
        .help("an agent's is `commonagents.info/v1beta2/agent`, a tool's `commonagents.info/v1beta2/tool`")
        .rule("KV-01")
}

pub(super) fn unknown_kind(kind: &Embedded, known: &[String]) -> Diagnostic {
    let message = format!("`{}` is no kind of manifest", kind.text);
    let finding = Diagnostic::error("unknown_kind", message, kind.place.clone()).rule("KV-09");
    match nearest(&kind.text, known.iter().map(String::as_str)) {
        Some(near) => finding.help(format!("did you mean `{near}`?")),
        None => finding.help("a kind is `commonagents.info/<version>/<type>`"),
    }
}

pub(super) fn unpublished_kind(kind: &Embedded, usual: &str) -> Diagnostic {
    let message = format!("`{}` is read, but is not how the specification spells it", kind.text);
    Diagnostic::warning("unpublished_kind", message, kind.place.clone())
        .help(format!("write `{usual}`"))
        .rule("KV-08")
}

pub(super) fn not_a_manifest(place: &Place) -> Diagnostic {
    Diagnostic::warning("not_a_manifest", "the document is no manifest and is skipped", place.clone())
        .help("a manifest has a `kind` such as `commonagents.info/v1beta2/agent`")
}

pub(super) fn no_documents(place: Place) -> Diagnostic {
    Diagnostic::error("no_documents", "the file holds no document", place)
}

pub(super) fn duplicate_manifest(name: &Embedded, family: &str, first: Place) -> Diagnostic {
    let message = format!("the {family} `{}` stands twice in its namespace", name.text);
    Diagnostic::error("duplicate_manifest", message, name.place.clone())
        .label("again here")
        .related(first, "first here")
        .rule("AG-01")
}

// Agents.

pub(super) fn text_missing(place: &Place, owner: &str, key: &str, rule: &'static str) -> Diagnostic {
    Diagnostic::warning("text_missing", format!("the {owner} has no `{key}`"), place.clone()).rule(rule)
}

pub(super) fn bad_capability(node: &Node) -> Diagnostic {
    let found = if node.as_string().is_some() { "another text" } else { node.kind_name() };
    let message = format!("expected `\"*\"` or a mapping, found {found}");
    Diagnostic::error("bad_capability", message, node.place.clone())
        .help("`\"*\"` grants everything the tool has")
        .rule("AG-09")
}

pub(super) fn empty_capability(place: &Place) -> Diagnostic {
    Diagnostic::error("empty_capability", "a capability has at least one field", place.clone())
        .help("write `\"*\"` to grant everything the tool has")
        .rule("AG-08")
}

pub(super) fn null_include(place: &Place) -> Diagnostic {
    Diagnostic::warning(
        "null_include",
        "`include` is empty, so every action and event is active",
        place.clone(),
    )
    .help("write `[]` for none, or leave it out")
    .rule("AG-13")
}

pub(super) fn exposed_message(place: &Place) -> Diagnostic {
    Diagnostic::error(
        "exposed_message",
        "`message` is the response itself and cannot be exposed",
        place.clone(),
    )
    .rule("AG-20")
}

pub(super) fn without_effect(place: &Place, key: &str) -> Diagnostic {
    let message = format!("`{key}` belongs to an older version and has no effect");
    Diagnostic::warning("without_effect", message, place.clone()).rule("KV-14")
}

pub(super) fn message_twice(place: &Place) -> Diagnostic {
    let message = "`default_message` is ignored: `message` has a default in `parameters`";
    Diagnostic::warning("message_twice", message, place.clone()).rule("KV-12")
}

pub(super) fn model_capability_listed(name: &Embedded, first: Place) -> Diagnostic {
    let message = format!("`{}` is a capability already", name.text);
    Diagnostic::error("model_capability_listed", message, name.place.clone())
        .related(first, "listed here")
        .rule("AG-15")
}

pub(super) fn media_without_mount(name: &Embedded) -> Diagnostic {
    let message = format!("`{}` needs a place for its files, and the agent has no mount", name.text);
    Diagnostic::error("media_without_mount", message, name.place.clone())
        .help("set `mount` to `task`, `agent` or `workspace`")
        .rule("AG-16")
}

// Steps.

pub(super) fn step_without_action(place: &Place) -> Diagnostic {
    let message = "a step has one of `assert`, `invoke` and `transform`, found none";
    Diagnostic::error("step_without_action", message, place.clone()).rule("MW-04")
}

pub(super) fn step_with_actions(first: &Embedded, others: &[Embedded]) -> Diagnostic {
    let found = std::iter::once(first).chain(others).map(|key| &*key.text).collect::<Vec<_>>();
    let message = format!("a step has one of `assert`, `invoke` and `transform`, found {}", quoted(&found));
    let finding = Diagnostic::error("step_with_actions", message, first.place.clone())
        .help("make each a step of its own")
        .rule("MW-03");
    others.iter().fold(finding, |finding, key| finding.related(key.place.clone(), "and here"))
}

pub(super) fn transform_too_early(key: &Embedded) -> Diagnostic {
    let message = "`transform` rewrites a result, and before the call there is none";
    Diagnostic::error("transform_too_early", message, key.place.clone())
        .help("move the step to `after`, or bind the parameter")
        .rule("MW-19")
}

pub(super) fn bindings_without_invoke(key: &Embedded) -> Diagnostic {
    let message = "only an `invoke` step has `bindings`";
    Diagnostic::error("bindings_without_invoke", message, key.place.clone()).rule("MW-48")
}

pub(super) fn guardrail_block(value: &Place) -> Diagnostic {
    let message = "a guardrail cannot `block`: there is no call to keep from happening";
    Diagnostic::error("guardrail_block", message, value.clone())
        .help("`lock_task` is the default; `continue` lets it pass")
        .rule("GR-04")
}

pub(super) fn misplaced_match(key: &Embedded, owner: &str) -> Diagnostic {
    let message = format!("`match` selects an action of a capability; {owner} has none");
    Diagnostic::error("misplaced_match", message, key.place.clone()).rule("MW-23")
}

pub(super) fn trigger_action(key: &Embedded) -> Diagnostic {
    let message = format!("a trigger judges an event by `assert` alone, found `{}`", key.text);
    Diagnostic::error("trigger_action", message, key.place.clone())
        .help("there is no task yet that could call or rewrite anything")
        .rule("TRG-02")
}

pub(super) fn trigger_on_fail(word: &Embedded) -> Diagnostic {
    let message = format!("a step of a trigger can only `block`, not `{}`", word.text);
    Diagnostic::error("trigger_on_fail", message, word.place.clone())
        .help("leave it out: the event then makes no task")
        .rule("TRG-04")
}

pub(super) fn bad_invoke(target: &Embedded) -> Diagnostic {
    Diagnostic::error("bad_invoke", "expected `tool:capability`", target.place.clone())
        .help("such as `audit-log:record_event`")
        .rule("MW-08")
}

// Tools and schemas.

pub(super) fn tool_without_actions(place: &Place) -> Diagnostic {
    Diagnostic::warning("tool_without_actions", "the tool has no actions", place.clone()).rule("TOOL-03")
}

pub(super) fn duplicate_action(name: &Embedded, first: Place) -> Diagnostic {
    let message = format!("the action `{}` has the same key as another", name.text);
    Diagnostic::error("duplicate_action", message, name.place.clone())
        .related(first, "the other one")
        .rule("TOOL-04")
}

pub(super) fn duplicate_event(name: &Embedded, first: Place) -> Diagnostic {
    Diagnostic::error(
        "duplicate_event",
        format!("the event `{}` stands twice", name.text),
        name.place.clone(),
    )
    .label("again here")
    .related(first, "first here")
    .rule("EVT-18")
}

pub(super) fn no_backend(place: &Place, known: &[&str]) -> Diagnostic {
    Diagnostic::error("no_backend", "the action has no backend", place.clone())
        .help(format!("give `execute` one of {}, or the tool a runtime of its own", quoted(known)))
        .rule("TOOL-01")
}

pub(super) fn several_backends(place: &Place, found: &[&str]) -> Diagnostic {
    let message = format!("an action has one backend, found {}", quoted(found));
    Diagnostic::error("several_backends", message, place.clone()).rule("TOOL-01")
}

pub(super) fn no_receive(place: &Place) -> Diagnostic {
    let message = "`receive` has one of `webhook`, `subscription` and `poll`, found none";
    Diagnostic::error("no_receive", message, place.clone()).rule("EVT-02")
}

pub(super) fn several_receives(place: &Place, found: &[&str]) -> Diagnostic {
    let message =
        format!("`receive` has one of `webhook`, `subscription` and `poll`, found {}", quoted(found));
    Diagnostic::error("several_receives", message, place.clone()).rule("EVT-02")
}

pub(super) fn max_below_timeout(place: &Place, timeout: Place) -> Diagnostic {
    Diagnostic::error("max_below_timeout", "`max_timeout` is shorter than `timeout`", place.clone())
        .related(timeout, "the timeout")
        .rule("SUB-06")
}

pub(super) fn payload_alias(name: &Embedded) -> Diagnostic {
    let message = "`event.payload` is always there and cannot be defined";
    Diagnostic::error("payload_alias", message, name.place.clone()).rule("EVT-08")
}

pub(super) fn unknown_type(node: &Node, known: &[&str]) -> Diagnostic {
    let message = format!("the type of a parameter is one of {}", quoted(known));
    let finding = Diagnostic::error("unknown_type", message, node.place.clone()).rule("TOOL-15");
    match node.as_string().and_then(|text| nearest_key(text, known)) {
        Some(near) => finding.help(format!("did you mean `{near}`?")),
        None => finding,
    }
}

pub(super) fn required_list(place: &Place) -> Diagnostic {
    let message = "`required` is ignored: a parameter without `default` is required";
    Diagnostic::warning("required_list", message, place.clone()).rule("PAR-06")
}

pub(super) fn bare_schema(key: &Embedded) -> Diagnostic {
    let message = format!("`{}` declares no parameter: parameters stand under `properties`", key.text);
    Diagnostic::warning("bare_schema", message, key.place.clone())
}

// Mounts.

pub(super) fn mount_backends(place: &Place, found: &[&str]) -> Diagnostic {
    let found = if found.is_empty() { "none".to_owned() } else { quoted(found) };
    let message = format!("a mount has one of `gcs` and `s3`, found {found}");
    Diagnostic::error("mount_backends", message, place.clone()).rule("MNT-01")
}

pub(super) fn several_mounts(place: &Place, first: Place) -> Diagnostic {
    Diagnostic::error("several_mounts", "a workspace has one mount", place.clone())
        .label("another one here")
        .related(first, "the first one")
}

pub(super) fn mount_not_loaded(place: &Place) -> Diagnostic {
    Diagnostic::warning("mount_not_loaded", "the agent works in a mount, and none is loaded", place.clone())
        .rule("MNT-04")
}

// Schedules and triggers.

pub(super) fn cron_fields(cron: &Embedded, found: usize) -> Diagnostic {
    let message = format!("a cron line has five fields, found {found}");
    Diagnostic::error("cron_fields", message, cron.place.clone())
        .help("they are minute, hour, day of month, month and day of week; there are no seconds")
        .rule("SCH-01")
}

pub(super) fn cron_field(place: Place, rule: &FieldRule) -> Diagnostic {
    let message = format!("this is no {}: expected {}", rule.name, rule.values);
    Diagnostic::error("cron_field", message, place)
        .help("a field is `*`, a value, a range `1-5`, steps `*/2`, or several of them divided by commas")
        .rule("SCH-01")
}

pub(super) fn cron_never(cron: &Embedded) -> Diagnostic {
    let message = "no day of any year is met by the cron line";
    Diagnostic::error("cron_never", message, cron.place.clone()).rule("SCH-01")
}

pub(super) fn unknown_timezone(name: &Embedded, known: impl Iterator<Item = &'static str>) -> Diagnostic {
    let message = format!("`{}` is no time zone", name.text);
    let finding = Diagnostic::error("unknown_timezone", message, name.place.clone()).rule("SCH-02");
    match nearest(&name.text, known) {
        Some(near) => finding.help(format!("did you mean `{near}`?")),
        None => finding.help("write an IANA name such as `Europe/Lisbon`"),
    }
}

pub(super) fn schedule_message(place: &Place) -> Diagnostic {
    let message = "`message` of a schedule belongs to an older version; it is taken as `inputs.message`";
    Diagnostic::warning("schedule_message", message, place.clone())
        .help("write it as `message` under `inputs`")
        .rule("KV-13")
}

pub(super) fn message_in_inputs(place: &Place, message: Place) -> Diagnostic {
    let text = "this message is ignored: another one stands beside the inputs";
    Diagnostic::warning("message_in_inputs", text, place.clone()).related(message, "this one is taken")
}

pub(super) fn bad_message(node: &Node) -> Diagnostic {
    let found = if node.as_sequence().is_some() { "a list of something else" } else { node.kind_name() };
    let message = format!("expected a text or a list of content parts, found {found}");
    Diagnostic::error("bad_message", message, node.place.clone())
        .help("a content part is a mapping with `mimeType` and `text`")
        .rule("CTX-17")
}

pub(super) fn no_message(place: &Place, agent: &str, rule: &'static str) -> Diagnostic {
    let message = format!("the input has no `message`, and the agent `{agent}` has no default for it");
    Diagnostic::error("no_message", message, place.clone()).rule(rule)
}

pub(super) fn missing_input(place: &Place, parameter: &Embedded, rule: &'static str) -> Diagnostic {
    let message = format!("the agent requires `{}`, and the inputs lack it", parameter.text);
    Diagnostic::error("missing_input", message, place.clone())
        .related(parameter.place.clone(), "declared here, without default")
        .rule(rule)
}

pub(super) fn undeclared_input(key: &Embedded, agent: &str, known: &[&str]) -> Diagnostic {
    let message = format!("the agent `{agent}` declares no parameter `{}`; it is dropped", key.text);
    named(Diagnostic::warning("undeclared_input", message, key.place.clone()).rule("PAR-07"), key, known)
}

pub(super) fn unknown_agent(
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

// Bundles.

pub(super) fn too_many_documents(place: &Place, limit: usize) -> Diagnostic {
    let message = format!("`max_bundle_documents` {limit} exceeded");
    Diagnostic::error("too_many_documents", message, place.clone()).label("one too many").rule("BUN-10")
}

pub(super) fn document_too_large(place: &Place, limit: usize) -> Diagnostic {
    let message = format!("`max_document_bytes` {limit} exceeded");
    Diagnostic::error("document_too_large", message, place.clone())
        .label("by the document that begins here")
        .rule("BUN-10")
}

pub(super) fn misplaced_descriptor(place: &Place, first: Place) -> Diagnostic {
    let message = "a bundle has one descriptor, and it stands first";
    Diagnostic::error("misplaced_descriptor", message, place.clone())
        .related(first, "the first document")
        .rule("BUN-02")
}

pub(super) fn skipped_document(kind: &Embedded, known: &[String]) -> Diagnostic {
    let message = format!("the document is skipped: `{}` is no kind that is known", kind.text);
    let finding = Diagnostic::warning("skipped_document", message, kind.place.clone()).rule("BUN-06");
    match nearest(&kind.text, known.iter().map(String::as_str)) {
        Some(near) => finding.help(format!("did you mean `{near}`?")),
        None => finding,
    }
}

// Across documents.

pub(super) fn unresolved_capability(reference: &Embedded, near: Option<&str>) -> Diagnostic {
    let message =
        format!("no tool or agent `{}` is loaded; what depends on it is not checked", reference.text);
    let finding =
        Diagnostic::warning("unresolved_capability", message, reference.place.clone()).rule("AG-18");
    match near {
        Some(near) => finding.help(format!("did you mean `{near}`?")),
        None => finding,
    }
}

pub(super) fn ambiguous_capability(reference: &Embedded, candidates: &[Place]) -> Diagnostic {
    let message = format!("`{}` names more than one tool or agent", reference.text);
    let finding = Diagnostic::error("ambiguous_capability", message, reference.place.clone()).rule("AG-18");
    candidates.iter().fold(finding, |finding, place| finding.related(place.clone(), "this one"))
}

pub(super) fn key_collision(reference: &Embedded, key: &str, first: Place) -> Diagnostic {
    let message = format!("the key `{key}` is taken");
    Diagnostic::error("key_collision", message, reference.place.clone())
        .label("brings it again")
        .related(first, "brings it first")
        .help("characters outside `[A-Za-z0-9_]` become `_`; rename one of the two")
        .rule("KEY-07")
}

pub(super) fn meta_key(reference: &Embedded) -> Diagnostic {
    let message = format!("`{}` gives the key `_meta`, which is the record of all calls", reference.text);
    Diagnostic::error("meta_key", message, reference.place.clone()).rule("KEY-08")
}

pub(super) fn unknown_include(name: &Embedded, target: &str, known: &[&str]) -> Diagnostic {
    let message = format!("`{target}` has no action or event `{}`", name.text);
    named(Diagnostic::warning("unknown_include", message, name.place.clone()).rule("AG-21"), name, known)
}

pub(super) fn unknown_match(name: &Embedded, target: &str, known: &[&str]) -> Diagnostic {
    let message = format!("`{target}` has no action or event `{}`; the step never runs", name.text);
    named(Diagnostic::warning("unknown_match", message, name.place.clone()).rule("MW-23"), name, known)
}

pub(super) fn unknown_binding(name: &Embedded, target: &str, known: &[&str]) -> Diagnostic {
    let message = format!("`{target}` declares no parameter `{}`", name.text);
    named(Diagnostic::error("unknown_binding", message, name.place.clone()).rule("BND-04"), name, known)
}

pub(super) fn unbound_parameter(owner: &Embedded, name: &str, declared: Place) -> Diagnostic {
    Diagnostic::error("unbound_parameter", format!("`{name}` needs a binding"), owner.place.clone())
        .related(declared, "says so")
        .rule("BND-05")
}

pub(super) fn hidden_parameter(owner: &Embedded, name: &str, declared: Place) -> Diagnostic {
    let message = format!("the model may not set `{name}` and nothing binds it, so each call fails");
    Diagnostic::warning("hidden_parameter", message, owner.place.clone())
        .related(declared, "hides it")
        .rule("KV-11")
}

pub(super) fn unbound_child_parameter(owner: &Embedded, name: &str, declared: Place) -> Diagnostic {
    let message = format!("the agent requires `{name}` and nothing binds it, so each call fails");
    Diagnostic::warning("unbound_child_parameter", message, owner.place.clone())
        .related(declared, "declared here, without default")
        .rule("DEL-05")
}

pub(super) fn mount_template(value: &Embedded) -> Diagnostic {
    let message = "the value names the mount, and the agent has none";
    Diagnostic::error("mount_template", message, value.place.clone())
        .help("set `mount` to `task`, `agent` or `workspace`")
        .rule("BND-14")
}

pub(super) fn unresolved_invoke(target: &Embedded, tool: &str, near: Option<&str>) -> Diagnostic {
    let message = format!("no tool `{tool}` is loaded; the step fails when it runs");
    let finding = Diagnostic::warning("unresolved_invoke", message, target.place.clone()).rule("MW-11");
    match near {
        Some(near) => finding.help(format!("did you mean `{near}`?")),
        None => finding,
    }
}

pub(super) fn ambiguous_invoke(target: &Embedded, tool: &str) -> Diagnostic {
    let message = format!("`{tool}` names more than one tool or agent; the step fails when it runs");
    Diagnostic::warning("ambiguous_invoke", message, target.place.clone()).rule("MW-11")
}

pub(super) fn invoked_agent(target: &Embedded, tool: &str) -> Diagnostic {
    let message = format!("`{tool}` is an agent, and only tools are invoked; the step fails when it runs");
    Diagnostic::warning("invoked_agent", message, target.place.clone()).rule("MW-11")
}

pub(super) fn unknown_invoke(invoke: &Invoke, known: &[&str]) -> Diagnostic {
    let Invoke { target, tool, capability, .. } = invoke;
    let message = format!("`{tool}` has no action `{capability}`; the step fails when it runs");
    let finding = Diagnostic::warning("unknown_invoke", message, target.place.clone()).rule("MW-11");
    match nearest(capability, known.iter().copied()) {
        Some(near) => finding.help(format!("did you mean `{tool}:{near}`?")),
        None => finding,
    }
}

pub(super) fn invoke_unbound(target: &Embedded, name: &str, declared: Place) -> Diagnostic {
    let message = format!("`{name}` needs a binding in this step or in the agent's capability");
    Diagnostic::error("invoke_unbound", message, target.place.clone())
        .related(declared, "says so")
        .rule("BND-18")
}

pub(super) fn invoke_incomplete(target: &Embedded, name: &str, declared: Place) -> Diagnostic {
    let message = format!("`{name}` is required and nothing binds it, so the step fails when it runs");
    Diagnostic::warning("invoke_incomplete", message, target.place.clone())
        .related(declared, "declared here, without default")
        .rule("BND-17")
}

pub(super) fn agent_too_large(reference: &Embedded, limit: usize) -> Diagnostic {
    let message = format!("`max_yaml_nodes` {limit} exceeded by the functions and parameters of the agent");
    Diagnostic::error("agent_too_large", message, reference.place.clone())
}

pub(super) fn no_manifests(place: Place) -> Diagnostic {
    Diagnostic::error("no_manifests", "none of the files holds a manifest", place)
        .help("a manifest has a `kind` such as `commonagents.info/v1beta2/agent`")
}

/// The finding with its words on one line and of a length that fits a screen, whatever names the file holds.
pub(super) fn on_one_line(mut finding: Diagnostic) -> Diagnostic {
    finding.message = one_line(&finding.message);
    finding.help = finding.help.map(|help| one_line(&help));
    finding
}

fn one_line(text: &str) -> String {
    const SHOWN: usize = 400;
    let mut line = String::new();
    for (at, character) in text.chars().enumerate() {
        match character {
            _ if at == SHOWN => {
                line.push('…');
                break;
            }
            character if character.is_control() => line.extend(character.escape_default()),
            character => line.push(character),
        }
    }
    line
}

/// Adds what the name was meant to be, or what there is.
fn named(finding: Diagnostic, name: &Embedded, known: &[&str]) -> Diagnostic {
    match nearest_key(name, known) {
        Some(near) => finding.help(format!("did you mean `{near}`?")),
        None if known.is_empty() => finding,
        None => finding.help(format!("there are {}", quoted(known))),
    }
}

/// Words in backticks, divided by commas and a last `and`; past a dozen, how many more there are.
fn quoted(words: &[&str]) -> String {
    const SHOWN: usize = 12;
    let mut shown = words.iter().take(SHOWN).map(|word| format!("`{word}`")).collect::<Vec<_>>();
    match words.len().saturating_sub(SHOWN) {
        0 => {}
        hidden => shown.push(format!("{hidden} more")),
    }
    match shown.split_last() {
        Some((last, rest)) if !rest.is_empty() => format!("{} and {last}", rest.join(", ")),
        _ => shown.concat(),
    }
}
