//! The agent manifest (AG): who it is, what it may call, and under which checks.
//!
//! In: the mapping of one document. Out: an [`Agent`] with every expression still as text and in its place. It reads all
//! of the document and reports each problem; a part that has one is left out and the agent is not [sound](Agent::sound).
//! It never looks at another document and never reads an expression.

use super::binding::{Bindings, DeclaredBinding};
use super::fields::{Fields, Key};
use super::kind::{DocumentKind, Family, KindOf};
use super::messages;
use super::mode::Mode;
use super::node::Entry;
use super::reader::{Path, Reader};
use super::schema::{Parameters, Property, Schema};
use super::shape::{
    Anything, ByName, Duration, Expression, List, Name, OneOf, Required, Text, Vocabulary, Whole, mapping,
    shape, with, words,
};
use super::step::{DeclaredStep, Hook, Steps};
use super::task_limit::{LimitKeys, TaskLimits};
use super::yaml::YamlDocument;
use crate::source::{Embedded, Place};
use serde_json::{Value, json};
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

impl Agent {
    /// Tries each step out.
    pub(super) fn observe(&mut self) {
        self.lists_mut().flatten().for_each(|step| step.mode = Mode::Observe);
    }

    /// All lists of steps.
    pub(super) fn lists_mut(&mut self) -> impl Iterator<Item = &mut Vec<DeclaredStep>> {
        let of_calls = self.capabilities.iter_mut().flat_map(|capability| {
            let Capability { before_first, before, after, .. } = capability;
            [before_first, before, after]
        });
        let of_messages = [&mut self.guardrails.before, &mut self.guardrails.after];
        of_calls.chain(of_messages)
    }
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

mapping! {
    /// Who an agent is, what it may call, and under which checks.
    pub(super) AgentKeys as "agent" = "an agent" {
        /// Version and type of the manifest.
        _kind = "kind": Required<KindOf<{ Family::Agent as usize }>>,
        /// The namespace of the agent and of what it refers to.
        namespace: Required<Name>,
        /// A name, unique in the namespace.
        name: Required<Name>,
        /// What the agent is for.
        description: Text,
        /// The system prompt; `{context.user.id}` and the like are filled in.
        prompt: Text,
        /// The model that the agent asks for.
        model: Text,
        /// The priority of its tasks.
        priority: Whole,
        /// How far files are shared.
        mount: OneOf<MountScope> => "none",
        /// Bounds of a task; an absent one does not bind.
        limits: LimitKeys,
        /// What an input has beside its message.
        parameters: Parameters,
        /// Of v1: the default of `message`.
        default_message: Text,
        /// Tools and agents that the model may call.
        capabilities: ByName<CapabilityValue>,
        /// Abilities of the model that its provider switches on.
        model_capabilities: List<Text>,
        /// Checks of messages.
        guardrails: GuardrailKeys,
        /// Values that go out with each response.
        exposes: Exposes,
        /// Of v1: without effect.
        memory: Anything,
    }

    #[rules = { "minProperties": 1 }]
    CapabilityKeys = "a capability" {
        /// The actions and events that are active; all without it.
        include: List<Text>,
        /// Parameters that the model cannot set.
        bindings: Bindings,
        /// How long a subscription to an event lives without activity.
        event_timeout: Duration,
        /// Steps ahead of the first call of a task.
        before_first: Steps<{ Hook::BeforeFirst as usize }>,
        /// Steps ahead of each call and event.
        before: Steps<{ Hook::Before as usize }>,
        /// Steps behind each call and event.
        after: Steps<{ Hook::After as usize }>,
    }

    GuardrailKeys = "`guardrails`" {
        /// Steps on each input.
        before: Steps<{ Hook::GuardrailBefore as usize }>,
        /// Steps on each response.
        after: Steps<{ Hook::GuardrailAfter as usize }>,
    }
}

impl Vocabulary for MountScope {
    type Meaning = Self;
    const WORDS: &'static [(&'static str, Self)] =
        &[("none", Self::None), ("task", Self::Task), ("agent", Self::Agent), ("workspace", Self::Workspace)];
}

shape! {
    /// The wildcard, or the fields of a capability.
    CapabilityValue as "capability" = |definitions| {
        json!({ "anyOf": [{ "const": "*" }, CapabilityKeys::schema(definitions)] })
    };
    /// Names and expressions; `message` is taken.
    Exposes = |definitions| {
        let names = json!({ "not": { "const": "message" } });
        with(<ByName<Expression>>::schema(definitions), "propertyNames", names)
    };
}

impl Agent {
    /// Reads the mapping of one document; none if it is no mapping. `kind` has been read from it.
    pub(super) fn read(
        document: &YamlDocument,
        kind: DocumentKind,
        path: &Path,
        reader: &mut Reader,
    ) -> Option<Self> {
        let fields = reader.fields::<AgentKeys>(&document.node, path)?;
        let namespace = fields.namespace().text_or_empty("AG-01", reader);
        let name = fields.name().text_or_empty("AG-01", reader);
        let [description, prompt] = [fields.description(), fields.prompt()].map(|key| {
            let text = key.text(reader);
            if key.get().is_none() {
                let finding = messages::text_missing(fields.place, "agent", key.name(), "AG-02");
                reader.report(&key.path(), finding);
            }
            text
        });
        let model = fields.model().text(reader);
        let priority = fields.priority().whole(reader);
        let mount = read_mount(&fields.mount(), reader);
        let mount_place = fields.mount().get().map(|field| field.node.place.clone());
        let limits = fields.limits().limits(reader);
        let mut parameters = fields.parameters().properties(reader);
        read_default_message(&fields.default_message(), &mut parameters, reader);
        let capabilities = read_capabilities(&fields.capabilities(), reader);
        let model_capabilities =
            read_model_capabilities(&fields.model_capabilities(), &capabilities, mount, reader);
        let guardrails = read_guardrails(&fields.guardrails(), reader);
        let exposes = read_exposes(&fields.exposes(), reader);
        if let Some(field) = fields.memory().get() {
            reader.report(&field.path, messages::without_effect(&field.key.place, "memory"));
        }
        let place = fields.place.clone();
        fields.warn_of_others(&["capabilities", "guardrails", "limits"], reader);
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

fn read_mount(key: &Key<'_, '_, OneOf<MountScope>>, reader: &mut Reader) -> MountScope {
    let Some(field) = key.get() else { return MountScope::None };
    let Some(word) = reader.text(field.node, &field.path) else { return MountScope::None };
    if let Some((_, scope)) = MountScope::WORDS.iter().find(|(known, _)| **known == *word.text) {
        return *scope;
    }
    let known = words(MountScope::WORDS);
    reader.report(&field.path, messages::unknown_word(&word, key.name(), &known, "AG-03"));
    MountScope::None
}

/// Takes `default_message` of `v1` as the default of the parameter `message` (KV-12).
fn read_default_message(key: &Key<'_, '_, Text>, parameters: &mut Vec<Property>, reader: &mut Reader) {
    let Some(field) = key.get() else { return };
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

fn read_capabilities(key: &Key<'_, '_, ByName<CapabilityValue>>, reader: &mut Reader) -> Vec<Capability> {
    let Some(field) = key.get() else { return Vec::new() };
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
    let fields: Fields<'_, CapabilityKeys> = reader.fields(&entry.value, path)?;
    if let Some(field) = fields.include().written().filter(|field| field.node.is_null()) {
        reader.report(&field.path, messages::null_include(&field.key.place));
    }
    capability.include = fields.include().texts(reader);
    capability.bindings = fields.bindings().bindings("BND-19", reader);
    capability.event_timeout = fields.event_timeout().duration("AG-23", reader);
    capability.before_first = fields.before_first().steps(reader);
    capability.before = fields.before().steps(reader);
    capability.after = fields.after().steps(reader);
    fields.refuse_others(reader);
    Some(capability)
}

/// The abilities of the model; none may be named like a capability (AG-15), and those that make files need a mount
/// (AG-16).
fn read_model_capabilities(
    key: &Key<'_, '_, List<Text>>,
    capabilities: &[Capability],
    mount: MountScope,
    reader: &mut Reader,
) -> Vec<Embedded> {
    let names = key.texts(reader).unwrap_or_default();
    let listed = capabilities
        .iter()
        .map(|capability| (&*capability.reference.text, &capability.reference))
        .collect::<HashMap<_, _>>();
    for (at, name) in names.iter().enumerate() {
        let path = key.path().item(at);
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

fn read_guardrails(key: &Key<'_, '_, GuardrailKeys>, reader: &mut Reader) -> Guardrails {
    let Some(fields) = key.fields(reader) else { return Guardrails::default() };
    let guardrails =
        Guardrails { before: fields.before().steps(reader), after: fields.after().steps(reader) };
    fields.refuse_others(reader);
    guardrails
}

fn read_exposes(key: &Key<'_, '_, Exposes>, reader: &mut Reader) -> Vec<DeclaredExpose> {
    let Some(field) = key.get() else { return Vec::new() };
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
