//! The agent manifest (AG): who it is, what it may call, and under which checks.
//!
//! In: the mapping of one document. Out: an [`Agent`] with every expression still as text and in its place. It reads all
//! of the document and reports each problem; a part that has one is left out and the agent is not [sound](Agent::sound).
//! It never looks at another document and never reads an expression.

use super::binding::DeclaredBinding;
use super::kind::DocumentKind;
use super::messages;
use super::node::{Data, Entry};
use super::reader::{Fields, Path, Reader};
use super::schema::{Property, Role, Schema, read_properties};
use super::step::{DeclaredStep, Hook};
use super::yaml::YamlDocument;
use crate::source::{Embedded, Place};
use serde_json::Value;
use std::collections::HashMap;
use std::sync::Arc;

/// An agent manifest.
#[derive(Clone, Debug)]
pub struct Agent {
    /// Where the document stands.
    pub place: Place,
    /// The path of the document: empty, or that of a case file, such as `agents[0]`.
    pub path: String,
    /// Whether nothing in this document is an error. An agent that is not sound may lack checks: it must never run.
    pub sound: bool,
    /// Its kind.
    pub kind: DocumentKind,
    /// Its namespace (AG-01).
    pub namespace: Embedded,
    /// Its name, unique in the namespace (AG-01).
    pub name: Embedded,
    /// What it is for.
    pub description: Option<Embedded>,
    /// The system prompt, a template (INT-11).
    pub prompt: Option<Embedded>,
    /// The model it asks for (AG-17).
    pub model: Option<Embedded>,
    /// The scheduling priority it asks for (AG-17).
    pub priority: Option<i64>,
    /// Which part of the workspace mount it works in.
    pub mount: MountScope,
    /// Where it says so.
    pub(crate) mount_place: Option<Place>,
    /// The limits of its tasks.
    pub limits: TaskLimits,
    /// The parameters of an input, `message` among them if it is declared (AG-05, KV-16). `default_message` of `v1` is
    /// the default of `message` here (KV-12).
    pub parameters: Vec<Property>,
    /// What it may call, in order.
    pub capabilities: Vec<Capability>,
    /// Abilities of the model that the provider switches on.
    pub model_capabilities: Vec<Embedded>,
    /// Checks of what goes in and out.
    pub guardrails: Guardrails,
    /// Names and expressions that go out with each response (EXP-01).
    pub exposes: Vec<DeclaredExpose>,
}

/// One entry of `capabilities`. The wildcard `"*"` is an entry without any of the fields (AG-07).
#[derive(Clone, Debug)]
pub struct Capability {
    /// The key: the name of a tool or an agent.
    pub reference: Embedded,
    /// The manifest path, such as `capabilities.ledger`.
    pub path: String,
    /// The actions and events that are active; all of them if absent (AG-11, AG-13).
    pub include: Option<Vec<Embedded>>,
    /// Parameters that the model cannot set.
    pub bindings: Vec<DeclaredBinding>,
    /// How long an event subscription lives without activity, in nanoseconds (AG-23).
    pub event_timeout: Option<i64>,
    /// Steps ahead of the first call (MW-39).
    pub before_first: Vec<DeclaredStep>,
    /// Steps ahead of each call and each event (MW-44).
    pub before: Vec<DeclaredStep>,
    /// Steps behind each call and each formatted event (MW-45).
    pub after: Vec<DeclaredStep>,
}

impl Capability {
    /// All steps, in the order in which the lists run.
    pub fn steps(&self) -> impl Iterator<Item = &DeclaredStep> {
        self.before_first.iter().chain(&self.before).chain(&self.after)
    }
}

/// Checks at the agent's border (GR).
#[derive(Clone, Debug, Default)]
pub struct Guardrails {
    /// Steps on each input.
    pub before: Vec<DeclaredStep>,
    /// Steps on each response.
    pub after: Vec<DeclaredStep>,
}

impl Guardrails {
    /// All steps, `before` first.
    pub fn steps(&self) -> impl Iterator<Item = &DeclaredStep> {
        self.before.iter().chain(&self.after)
    }
}

/// The limits of a task; an absent one does not limit (LIM-13).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TaskLimits {
    /// Model turns (LIM-03).
    pub max_turns: Option<u64>,
    /// Prompt tokens over the whole task (LIM-04).
    pub max_prompt_tokens: Option<u64>,
    /// Completion tokens over the whole task (LIM-05).
    pub max_completion_tokens: Option<u64>,
    /// Age in nanoseconds, positive (LIM-07, LIM-15).
    pub max_age: Option<i64>,
    /// Calls by the model (LIM-09).
    pub max_tool_calls: Option<u64>,
}

/// Which part of the workspace mount an agent works in (AG-03).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MountScope {
    /// No files.
    #[default]
    None,
    /// Those of the task.
    Task,
    /// Those of the agent.
    Agent,
    /// Those of the whole workspace.
    Workspace,
}

/// One entry of `exposes`.
#[derive(Clone, Debug)]
pub struct DeclaredExpose {
    /// The key that goes out; never `message` (AG-20).
    pub name: Embedded,
    /// The expression.
    pub value: Embedded,
    /// The manifest path, such as `exposes.score`.
    pub path: String,
}

impl Agent {
    /// Reads the mapping of one document; none if it is no mapping. `kind` has been read from it.
    pub(super) fn read(
        document: &YamlDocument,
        kind: DocumentKind,
        path: &Path,
        reader: &mut Reader,
    ) -> Option<Self> {
        let mut fields = reader.fields(&document.node, path)?;
        fields.written("kind");
        let namespace = fields.name("namespace", "AG-01", reader);
        let name = fields.name("name", "AG-01", reader);
        let [description, prompt] = ["description", "prompt"].map(|key| {
            let text = fields.text(key, reader);
            if fields.get(key).is_none() {
                let finding = messages::text_missing(fields.place, "agent", key, "AG-02");
                reader.report(&fields.path.key(key), finding);
            }
            text
        });
        let model = fields.text("model", reader);
        let priority = read_priority(&mut fields, reader);
        let mount = read_mount(&mut fields, reader);
        let mount_place = fields.get("mount").map(|field| field.node.place.clone());
        let limits = read_limits(&mut fields, reader);
        let mut parameters = fields
            .get("parameters")
            .map(|field| read_properties(field.node, &field.path, Role::Parameters, reader))
            .unwrap_or_default();
        read_default_message(&mut fields, &mut parameters, reader);
        let capabilities = read_capabilities(&mut fields, reader);
        let model_capabilities = read_model_capabilities(&mut fields, &capabilities, mount, reader);
        let guardrails = read_guardrails(&mut fields, reader);
        let exposes = read_exposes(&mut fields, reader);
        if let Some(field) = fields.get("memory") {
            reader.report(&field.path, messages::without_effect(&field.key.place, "memory"));
        }
        let place = fields.place.clone();
        fields.warn_of_others("an agent", &["capabilities", "guardrails", "limits"], reader);
        Some(Self {
            place,
            path: path.to_string(),
            sound: document.sound && !reader.has_errors(),
            kind,
            namespace,
            name,
            description,
            prompt,
            model,
            priority,
            mount,
            mount_place,
            limits,
            parameters,
            capabilities,
            model_capabilities,
            guardrails,
            exposes,
        })
    }
}

fn read_priority(fields: &mut Fields<'_>, reader: &mut Reader) -> Option<i64> {
    let field = fields.get("priority")?;
    if let Data::Int(value) = field.node.data {
        return Some(value);
    }
    reader.report(&field.path, messages::wrong_type(field.node, "a whole number"));
    None
}

fn read_mount(fields: &mut Fields<'_>, reader: &mut Reader) -> MountScope {
    let Some(field) = fields.get("mount") else { return MountScope::None };
    let Some(word) = reader.text(field.node, &field.path) else { return MountScope::None };
    match &*word.text {
        "none" => MountScope::None,
        "task" => MountScope::Task,
        "agent" => MountScope::Agent,
        "workspace" => MountScope::Workspace,
        _ => {
            let known = ["none", "task", "agent", "workspace"];
            reader.report(&field.path, messages::unknown_word(&word, "mount", &known, "AG-03"));
            MountScope::None
        }
    }
}

fn read_limits(fields: &mut Fields<'_>, reader: &mut Reader) -> TaskLimits {
    let Some(field) = fields.get("limits") else { return TaskLimits::default() };
    let Some(mut fields) = reader.fields(field.node, &field.path) else { return TaskLimits::default() };
    let [max_turns, max_prompt_tokens, max_completion_tokens, max_tool_calls] =
        ["max_turns", "max_prompt_tokens", "max_completion_tokens", "max_tool_calls"].map(|key| {
            let field = fields.get(key)?;
            reader.count(field.node, &field.path)
        });
    let max_age = fields.duration("max_age", "LIM-15", reader);
    fields.refuse_others("`limits`", reader);
    TaskLimits { max_turns, max_prompt_tokens, max_completion_tokens, max_age, max_tool_calls }
}

/// Takes `default_message` of `v1` as the default of the parameter `message` (KV-12).
fn read_default_message(fields: &mut Fields<'_>, parameters: &mut Vec<Property>, reader: &mut Reader) {
    let Some(field) = fields.get("default_message") else { return };
    let Some(text) = reader.text(field.node, &field.path) else { return };
    let message = parameters.iter_mut().find(|parameter| &*parameter.name.text == "message");
    match message {
        Some(message) if message.schema.is_required() => {
            Arc::make_mut(&mut message.schema).default = Some(Value::from(&*text.text));
        }
        Some(_) => reader.report(&field.path, messages::message_twice(&field.key.place)),
        None => {
            let schema = Arc::new(Schema::of_text_with_default(field.node, &text));
            let name = Embedded::new("message", field.key.place.clone(), []);
            parameters.push(Property { name, path: field.path.into(), schema });
        }
    }
}

fn read_capabilities(fields: &mut Fields<'_>, reader: &mut Reader) -> Vec<Capability> {
    let Some(field) = fields.get("capabilities") else { return Vec::new() };
    let entries = reader.mapping(field.node, &field.path).unwrap_or_default();
    entries
        .iter()
        .filter_map(|entry| read_capability(entry, &field.path.key(&entry.key.text), reader))
        .collect()
}

fn read_capability(entry: &Entry, path: &Path, reader: &mut Reader) -> Option<Capability> {
    let mut capability = Capability {
        reference: entry.key.clone(),
        path: path.to_string(),
        include: None,
        bindings: Vec::new(),
        event_timeout: None,
        before_first: Vec::new(),
        before: Vec::new(),
        after: Vec::new(),
    };
    let wildcard = entry.value.as_string().is_some_and(|text| &*text.text == "*");
    if wildcard {
        return Some(capability);
    }
    let Some(entries) = entry.value.as_mapping() else {
        let mut finding = messages::bad_capability(&entry.value);
        if entry.value.place.span.start == entry.value.place.span.end {
            finding.place = entry.key.place.clone();
        }
        reader.report(path, finding);
        return Some(capability);
    };
    if entries.is_empty() {
        reader.report(path, messages::empty_capability(&entry.value.place));
    }
    let mut fields = reader.fields(&entry.value, path)?;
    if let Some(field) = fields.written("include").filter(|field| field.node.is_null()) {
        reader.report(&field.path, messages::null_include(&field.key.place));
    }
    capability.include = fields.get("include").and_then(|field| reader.texts(field.node, &field.path));
    capability.bindings = fields
        .get("bindings")
        .map(|field| DeclaredBinding::read_all(field.node, &field.path, "BND-19", reader))
        .unwrap_or_default();
    capability.event_timeout = fields.duration("event_timeout", "AG-23", reader);
    capability.before_first = read_steps(&mut fields, "before_first", Hook::BeforeFirst, reader);
    capability.before = read_steps(&mut fields, "before", Hook::Before, reader);
    capability.after = read_steps(&mut fields, "after", Hook::After, reader);
    fields.refuse_others("a capability", reader);
    Some(capability)
}

/// The abilities of the model; none may be named like a capability (AG-15), and those that make files need a mount
/// (AG-16).
fn read_model_capabilities(
    fields: &mut Fields<'_>,
    capabilities: &[Capability],
    mount: MountScope,
    reader: &mut Reader,
) -> Vec<Embedded> {
    let Some(field) = fields.get("model_capabilities") else { return Vec::new() };
    let names = reader.texts(field.node, &field.path).unwrap_or_default();
    let listed = capabilities
        .iter()
        .map(|capability| (&*capability.reference.text, &capability.reference))
        .collect::<HashMap<_, _>>();
    for (at, name) in names.iter().enumerate() {
        let path = field.path.item(at);
        if let Some(reference) = listed.get(&*name.text) {
            reader.report(&path, messages::model_capability_listed(name, reference.place.clone()));
        }
        let makes_files = matches!(&*name.text, "image-generation" | "audio-generation" | "video-generation");
        if makes_files && mount == MountScope::None {
            reader.report(&path, messages::media_without_mount(name));
        }
    }
    names
}

fn read_steps(
    fields: &mut Fields<'_>,
    key: &'static str,
    hook: Hook,
    reader: &mut Reader,
) -> Vec<DeclaredStep> {
    fields
        .get(key)
        .map(|field| DeclaredStep::read_all(field.node, &field.path, hook, reader))
        .unwrap_or_default()
}

fn read_guardrails(fields: &mut Fields<'_>, reader: &mut Reader) -> Guardrails {
    let Some(field) = fields.get("guardrails") else { return Guardrails::default() };
    let Some(mut fields) = reader.fields(field.node, &field.path) else { return Guardrails::default() };
    let guardrails = Guardrails {
        before: read_steps(&mut fields, "before", Hook::GuardrailBefore, reader),
        after: read_steps(&mut fields, "after", Hook::GuardrailAfter, reader),
    };
    fields.refuse_others("`guardrails`", reader);
    guardrails
}

fn read_exposes(fields: &mut Fields<'_>, reader: &mut Reader) -> Vec<DeclaredExpose> {
    let Some(field) = fields.get("exposes") else { return Vec::new() };
    let entries = reader.mapping(field.node, &field.path).unwrap_or_default();
    entries
        .iter()
        .filter(|entry| !entry.value.is_null())
        .filter_map(|entry| {
            let path = field.path.key(&entry.key.text);
            if &*entry.key.text == "message" {
                reader.report(&path, messages::exposed_message(&entry.key.place));
            }
            let value = reader.expression(&entry.value, &path, "CEL-01")?;
            Some(DeclaredExpose { name: entry.key.clone(), value, path: path.into() })
        })
        .collect()
}
