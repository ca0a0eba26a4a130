//! What is said of schedules and triggers: when a task begins, of which agent, and with which inputs.
//!
//! In: names, places and the parameters that an agent declares. The values of inputs are never repeated.

use super::named;
use crate::diagnostic::{Diagnostic, nearest};
use crate::manifest::cadence::FieldRule;
use crate::manifest::node::Node;
use crate::source::{Embedded, Place};

pub(in crate::manifest) fn cron_fields(cron: &Embedded, found: usize) -> Diagnostic {
    let message = format!("a cron line has five fields, found {found}");
    Diagnostic::error("cron_fields", message, cron.place.clone())
        .help("they are minute, hour, day of month, month and day of week; there are no seconds")
        .rule("SCH-01")
}

pub(in crate::manifest) fn cron_field(place: Place, rule: &FieldRule) -> Diagnostic {
    let message = format!("this is no {}: expected {}", rule.name, rule.values);
    Diagnostic::error("cron_field", message, place)
        .help("a field is `*`, a value, a range `1-5`, steps `*/2`, or several of them divided by commas")
        .rule("SCH-01")
}

pub(in crate::manifest) fn cron_never(cron: &Embedded) -> Diagnostic {
    let message = "no day of any year is met by the cron line";
    Diagnostic::error("cron_never", message, cron.place.clone()).rule("SCH-01")
}

pub(in crate::manifest) fn unknown_timezone(
    name: &Embedded,
    known: impl Iterator<Item = &'static str>,
) -> Diagnostic {
    let message = format!("`{}` is no time zone", name.text);
    let finding = Diagnostic::error("unknown_timezone", message, name.place.clone()).rule("SCH-02");
    match nearest(&name.text, known) {
        Some(near) => finding.help(format!("did you mean `{near}`?")),
        None => finding.help("write an IANA name such as `Europe/Lisbon`"),
    }
}

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
