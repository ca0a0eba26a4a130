//! What this module says to people: why a context cannot be made or restored, and why a name is not known in a scope.

use super::scope::{Root, Scope};
use crate::cel::Kind;

pub(super) fn key_is_taken(key: &str) -> String {
    format!("two records of `context.capabilities` would be called `{key}`")
}

pub(super) fn no_such_member(tool: &str) -> String {
    format!("tool `{tool}` has a member that is none of the agent's functions")
}

pub(super) fn not_a_message(found: Kind) -> String {
    format!("a message is text or a list of content parts, not `{found}`")
}

pub(super) fn not_a_part(found: Kind) -> String {
    format!("a content part is an object, not `{found}`")
}

pub(super) fn no_content() -> String {
    "a content part has a `text` or a `mimeType`".to_owned()
}

pub(super) fn no_message() -> String {
    "an entry needs a `message`".to_owned()
}

pub(super) fn other_version(found: u32, known: u32) -> String {
    format!("the stored state has version {found}, and this one reads version {known}")
}

pub(super) const fn no_digest() -> &'static str {
    "the stored state has something else than a digest of the values that were not kept"
}

pub(super) fn unknown_function(key: &str) -> String {
    format!("the stored state has an invocation of `{key}`, which the agent does not have")
}

/// The names that some scope or template knows, each with the reason why this scope does not. A scope that has a name
/// after all leaves its reason out.
pub(super) fn known_elsewhere(scope: Scope) -> impl Iterator<Item = (&'static str, &'static str)> {
    let variables = Root::ALL.iter().flat_map(move |&root| {
        let names = std::iter::once(root.name()).chain(root.alias());
        names.map(move |name| (name, no_variable(root, scope)))
    });
    let functions = [
        ("review", no_review(scope)),
        ("mount.read", "only a CEL tool reads and writes files"),
        ("mount.write", "only a CEL tool reads and writes files"),
        ("file", no_file(scope)),
        ("put", SCRIPT),
        ("labels", no_labels(scope)),
        ("sources", no_labels(scope)),
        ("callLabels", no_labels(scope)),
        ("taskLabels", no_labels(scope)),
    ];
    let never =
        ["settings", "auth", "session"].map(|name| (name, "settings and tokens never reach an expression"));
    variables.chain(functions).chain(never)
}

/// Why an expression does not know a function that some policy declares.
pub(super) const fn no_host_function() -> &'static str {
    "functions of the host are called by the steps, variables and named expressions of the policies that declare them, and by nothing else"
}

const SCRIPT: &str = "a script of the model knows its capabilities, `file` and operators only";

fn no_variable(root: Root, scope: Scope) -> &'static str {
    match (scope, root) {
        (Scope::Script, _) => SCRIPT,
        (_, Root::Parameters) => {
            "only the filter of an event knows `parameters`; resolved arguments are `input`"
        }
        (Scope::ModelAfter, Root::Counters) => {
            "what the call of the model has used counts already; steps ahead of it read counters"
        }
        (_, Root::Tool) => {
            "only `tools` of a policy document, which checks tools that a task brings, knows `tool`"
        }
        (Scope::Tools, _) => "tools are checked before there is a task, each by what it says of itself",
        (_, Root::Call) => "only the steps of a policy around calls know `call`",
        (_, Root::Item) => "only the fields of a polled event know `item`",
        (_, Root::Response | Root::Poll) => "only `poll.detect` knows the response of a poll",
        (Scope::Before | Scope::BeforeCondition | Scope::ModelBefore, Root::Counters) => {
            "only the steps of a policy document with `counters` know them"
        }
        (_, Root::Invoked) => {
            "only the steps of a policy document with an `invoke` step that has an `id` know results"
        }
        (_, Root::Usage) => {
            "only steps around a call of the model, and `model` of a counter, know what it uses"
        }
        (_, Root::Counters) => "only steps ahead of a call, in a policy document with `counters`, know them",
        (Scope::Binding, Root::Mount) => "the agent has no mount",
        (_, Root::Mount) => "only bindings of an agent with a mount know `mount`",
        (
            Scope::Filter | Scope::EventField | Scope::PollField | Scope::PollDetect | Scope::Trigger,
            Root::Context,
        ) => "an event is judged before it has a task, so there is no context",
        (Scope::PollField, Root::Event) => "the fields of a polled event are read from `item`",
        (Scope::Filter | Scope::EventField | Scope::PollField | Scope::PollDetect | Scope::Trigger, _) => {
            "an event is judged by its own data only"
        }
        (Scope::GuardrailBefore | Scope::GuardrailAfter, Root::Event) => {
            "a guardrail tests messages, whatever brought them"
        }
        (Scope::ModelBefore | Scope::ModelAfter, Root::Event) => "a call of the model has no event",
        (_, Root::Event) => "only `before` and `after` of a capability know `event`",
        (Scope::Before | Scope::BeforeCondition, Root::Output) => "the capability has not run yet",
        (Scope::GuardrailBefore, Root::Output) => {
            "the model has not answered yet; earlier responses are in `context.output`"
        }
        (Scope::GuardrailAfter, Root::Input) => {
            "the message under test is `output`; inputs are in `context.input`"
        }
        (Scope::ModelBefore, Root::Output) => {
            "the model has not answered yet; earlier responses are in `context.output`"
        }
        (Scope::CelTool, Root::Output) => "the expression itself gives the output",
        (Scope::Binding, Root::Input) => "a binding must not depend on what the model supplies",
        (Scope::Binding, Root::Output) => {
            "the capability has not run yet; earlier results are in `context.capabilities`"
        }
        (_, Root::Input) => "no call and no message is being tested; inputs are in `context.input`",
        (_, Root::Output) => "no call and no message is being tested; responses are in `context.output`",
        (_, Root::Context | Root::Now | Root::Runtime) => "it is not known here",
    }
}

fn no_labels(scope: Scope) -> &'static str {
    match scope {
        Scope::Script => SCRIPT,
        _ => "only the steps of policies ask where a value came from",
    }
}

fn no_review(scope: Scope) -> &'static str {
    match scope {
        Scope::BeforeCondition | Scope::AfterCondition => {
            "a condition cannot ask for a review; the `assert` of its step can"
        }
        Scope::GuardrailBefore | Scope::GuardrailAfter => "a guardrail cannot ask for a review",
        Scope::ModelBefore | Scope::ModelAfter => "a step around a call of the model cannot ask for a review",
        Scope::Script => SCRIPT,
        _ => "only capability middleware and CEL tools can ask for a review",
    }
}

fn no_file(scope: Scope) -> &'static str {
    match scope {
        Scope::Script => "the agent has no mount",
        _ => "only a script of the model knows `file`",
    }
}
