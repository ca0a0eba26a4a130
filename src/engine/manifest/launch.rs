//! What schedules and triggers have in common: of which agent they make tasks, as whom, and from which inputs.
//!
//! In: the fields of one document. Out: a [`Launch`], and for the agent that it names a finding about every input that
//! the agent would not take. Whether a value is of the type that its schema says is for the layer above.

use super::agent::Agent;
use super::fields::Fields;
use super::kind::{DocumentKind, Family};
use super::messages;
use super::names::Named;
use super::node::{Data, Node};
use super::reader::{Path, Reader};
use super::shape::{Boolean, Name, Object, Required, Text, mapping};
use super::yaml::YamlDocument;
use crate::source::{Embedded, Place};
use serde_json::{Map, Value};

/// The name of the input that carries what is said.
const MESSAGE: &str = "message";

/// What the specification demands of schedules and triggers alike, by the rules of each.
pub(super) struct Rules {
    kind: &'static str,
    pub(super) agent: &'static str,
    owner: &'static str,
    enabled: &'static str,
    message: &'static str,
    parameters: &'static str,
}

const OF_SCHEDULES: Rules = Rules {
    kind: "KV-05",
    agent: "SCH-06",
    owner: "SCH-05",
    enabled: "SCH-07",
    message: "SCH-03",
    parameters: "SCH-04",
};

const OF_TRIGGERS: Rules = Rules {
    kind: "KV-04",
    agent: "TRG-11",
    owner: "TRG-08",
    enabled: "TRG-09",
    message: "TRG-07",
    parameters: "TRG-10",
};

impl Rules {
    fn of(kind: DocumentKind) -> &'static Self {
        if kind.family == Family::Schedule { &OF_SCHEDULES } else { &OF_TRIGGERS }
    }
}

/// The part of a schedule or trigger that says which tasks it makes.
#[derive(Clone, Debug)]
pub struct Launch {
    /// Where the document stands.
    pub place: Place,
    /// The path of the document: empty, or that of a case file, such as `trigger`.
    pub path: String,
    /// Whether nothing in this document is an error; one that is not sound makes no tasks.
    pub sound: bool,
    /// Its kind.
    pub kind: DocumentKind,
    /// Its namespace.
    pub namespace: Embedded,
    /// Its name, unique in the namespace.
    pub name: Embedded,
    /// The agent of the tasks, in the same namespace (SCH-06, TRG-11).
    pub agent: Embedded,
    /// As whom the tasks run, whoever is the cause (SCH-05, TRG-08).
    pub owner: Embedded,
    /// The message beside the inputs, which it goes before: of a trigger a template (TRG-06), of a schedule the text
    /// itself (KV-13).
    pub message: Option<Embedded>,
    /// The first input of each task: a mapping, taken literally.
    pub inputs: Option<Node>,
    /// Whether it makes tasks at all (SCH-07, TRG-09).
    pub enabled: bool,
}

mapping! {
    /// Which tasks a schedule or a trigger makes.
    pub(super) LaunchKeys = "a schedule or a trigger" {
        /// The namespace of the document and of its agent.
        namespace: Required<Name>,
        /// A name, unique in the namespace.
        name: Required<Name>,
        /// The agent of the tasks.
        agent: Required<Name>,
        /// As whom the tasks run.
        owner: Required<Name>,
        /// The message of the first input.
        message: Text,
        /// The first input of each task, literally.
        inputs: Object,
        /// Whether it makes tasks at all.
        enabled: Required<Boolean>,
    }
}

impl Launch {
    /// Reads the fields that a schedule and a trigger share. The caller says at the end whether it is sound.
    pub(super) fn read(fields: &Fields<'_, LaunchKeys>, kind: DocumentKind, reader: &mut Reader) -> Self {
        let rules = Rules::of(kind);
        let namespace = fields.namespace().text_or_empty(rules.kind, reader);
        let name = fields.name().text_or_empty(rules.kind, reader);
        let agent = fields.agent().text_or_empty(rules.agent, reader);
        let owner = fields.owner().text_or_empty(rules.owner, reader);
        let message = fields.message().text(reader);
        let inputs = fields.inputs().get().filter(|field| reader.mapping(field.node, &field.path).is_some());
        let inputs = inputs.map(|field| field.node.clone());
        let given = inputs.as_ref().and_then(|inputs| inputs.get(MESSAGE)).filter(|node| !node.is_null());
        if let Some(given) = given {
            let path = fields.inputs().path().key(MESSAGE);
            if let Some(message) = &message {
                reader.report(&path, messages::message_in_inputs(&given.place, message.place.clone()));
            }
            if !is_message(given) {
                reader.report(&path, messages::bad_message(given));
            }
        }
        let enabled = fields.enabled().required(rules.enabled, reader);
        let enabled = enabled.and_then(|key| key.boolean(reader));
        if kind.family == Family::Schedule
            && let Some(field) = fields.message().get()
        {
            reader.report(&field.path, messages::schedule_message(&field.key.place));
        }
        Self {
            place: fields.place.clone(),
            path: fields.path.to_string(),
            sound: false,
            kind,
            namespace,
            name,
            agent,
            owner,
            message,
            inputs,
            enabled: enabled.unwrap_or(false),
        }
    }

    /// The rules that its findings name.
    pub(super) fn rules(&self) -> &'static Rules {
        Rules::of(self.kind)
    }

    /// Judges a document once all of it has been read.
    pub(super) fn settle(&mut self, document: &YamlDocument, reader: &Reader) {
        self.sound = document.sound && !reader.has_errors();
    }

    /// Whether a task begins with an input: always that of a schedule; that of a trigger if it gives a message or inputs.
    #[must_use]
    pub fn has_input(&self) -> bool {
        self.kind.family == Family::Schedule || self.message.is_some() || self.inputs.is_some()
    }

    /// The first input: the inputs as written, and this message in the place of theirs. Linear in the inputs.
    #[must_use]
    pub fn input(&self, message: Option<&str>) -> Value {
        let written = self.inputs.as_ref().map(Node::to_json);
        let mut input = match written {
            Some(Value::Object(input)) => input,
            _ => Map::new(),
        };
        if input.get(MESSAGE).is_some_and(Value::is_null) {
            input.shift_remove(MESSAGE);
        }
        if let Some(message) = message {
            input.insert(MESSAGE.to_owned(), Value::from(message));
        }
        Value::Object(input)
    }

    /// The manifest path of a key of the document.
    #[must_use]
    pub fn path_of(&self, key: &str) -> String {
        Path::document(&self.path).key(key).into()
    }

    /// Whether the agent takes the input: there is a message (SCH-03, TRG-07) and every parameter without a default
    /// (SCH-04, TRG-10).
    pub(super) fn check_inputs(&self, agent: &Agent, reader: &mut Reader) {
        if !self.has_input() {
            return;
        }
        let path = Path::document(&self.path).key("inputs");
        let written = self.inputs.as_ref().and_then(Node::as_mapping).unwrap_or_default();
        let place = self.inputs.as_ref().map_or(&self.place, |inputs| &inputs.place);
        let given = |name: &str| written.iter().find(|entry| &*entry.key.text == name);
        let declared = |name: &str| agent.parameters.iter().find(|parameter| &*parameter.name.text == name);
        let has_message = self.message.is_some()
            || given(MESSAGE).is_some_and(|entry| !entry.value.is_null())
            || declared(MESSAGE).is_some_and(|message| !message.schema.is_required());
        if !has_message {
            reader.report(
                &path.key(MESSAGE),
                messages::no_message(place, &agent.name.text, self.rules().message),
            );
        }
        for parameter in &agent.parameters {
            let name = &*parameter.name.text;
            if name != MESSAGE && parameter.schema.is_required() && given(name).is_none() {
                let finding = messages::missing_input(place, &parameter.name, self.rules().parameters);
                reader.report(&path.key(name), finding);
            }
        }
        for entry in written {
            let name = &*entry.key.text;
            if name != MESSAGE && declared(name).is_none() {
                let known =
                    agent.parameters.iter().map(|parameter| &*parameter.name.text).collect::<Vec<_>>();
                let finding = messages::undeclared_input(&entry.key, &agent.name.text, &known);
                reader.report(&path.key(name), finding);
            }
        }
    }
}

/// Whether a value is a message: text, or a list of content parts (CTX-13).
fn is_message(node: &Node) -> bool {
    match &node.data {
        Data::String(_) => true,
        Data::Sequence(parts) => parts.iter().all(|part| part.as_mapping().is_some()),
        _ => false,
    }
}

/// A document that makes tasks.
pub(super) trait Launches {
    /// `schedule` or `trigger`.
    const FAMILY: &'static str;
    fn launch(&self) -> &Launch;
    fn launch_mut(&mut self) -> &mut Launch;
}

impl<T: Launches> Named for T {
    const FAMILY: &'static str = <T as Launches>::FAMILY;
    fn namespace(&self) -> &Embedded {
        &self.launch().namespace
    }
    fn name(&self) -> &Embedded {
        &self.launch().name
    }
    fn path(&self) -> Path {
        Path::document(&self.launch().path)
    }
    fn condemn(&mut self) {
        self.launch_mut().sound = false;
    }
}
