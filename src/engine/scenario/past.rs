//! What a task has behind it, as a case has it under `state`: its inputs, calls, model turns and responses.
//!
//! In: the key `state` of a case, or of a file with `env` and `state` alone. Out: a [`StateEntry`] for each entry, in order,
//! and a finding for each that is not as it must be. Whether a task can have had that past is not asked here.

use super::values::{Entry, Time, UsageKeys};
use super::{messages, values};
use crate::cel::Timestamp;
use crate::context::{InvocationStatus, LabelSet};
use crate::manifest::fields::{Fields, Key};
use crate::manifest::label::MAX_LABEL_BYTES;
use crate::manifest::node::Node;
use crate::manifest::reader::{Path, Reader};
use crate::manifest::shape::{
    Anything, Boolean, List, Mapping, Name, Object, OneOf, Required, Text, Vocabulary, mapping, names,
};
use crate::source::Place;
use crate::task::{Past, PastCall};

/// One entry of `state`.
#[derive(Clone, Debug)]
pub struct StateEntry {
    /// Where it stands.
    pub place: Place,
    /// The time of the processing step, if the entry says so; else that of the entry before.
    pub at: Option<Timestamp>,
    /// The recorded step.
    pub past: Past,
    /// The labels that the input, or the result of the call, has had since.
    pub labels: Option<Past>,
}

mapping! {
    /// Something that happened, and when.
    #[rules = { "oneOf": [
        { "required": ["input"] }, { "required": ["llm"] }, { "required": ["call"] }, { "required": ["invoke"] },
        { "required": ["output"] }, { "required": ["interrupt"] }, { "required": ["locked"] },
        { "required": ["task_labels"] }
    ] }]
    pub(super) PastKeys as "past" = "an entry of `state`" {
        /// When it happened, RFC 3339; as the entry before without it.
        at: Time,
        /// Somebody said something.
        input: Entry,
        /// The model answered.
        llm: UsageKeys,
        /// The model called a function.
        call: PastCallKeys,
        /// A step called a function.
        invoke: PastCallKeys,
        /// The model had a response.
        output: Entry,
        /// The work on a response was broken off.
        interrupt: InterruptKeys,
        /// A step locked the task.
        locked: LockedKeys,
        /// Steps gave the task these labels.
        task_labels: List<Name>,
        /// Labels that steps have given to the input, or to the result of the call.
        labels: List<Name>,
    }

    /// A call and what came of it.
    PastCallKeys as "pastCall" = "a call" {
        /// The function.
        function = "fn": Required<Text>,
        /// The arguments.
        args: Object,
        /// What became of the call; `successful` without it.
        status: OneOf<InvocationStatus>,
        /// The output.
        output: Anything,
        /// The task of a sub-agent.
        task_id: Text,
        /// When the call was made, RFC 3339.
        at: Time,
        /// Whether the function has run; `true` without it, unless the call was restricted.
        executed: Boolean,
    }

    InterruptKeys = "`interrupt`" {}

    LockedKeys = "`locked`" {
        /// Why.
        reason: Text,
    }
}

impl Vocabulary for InvocationStatus {
    type Meaning = Self;
    const WORDS: &'static [(&'static str, Self)] =
        &[("successful", Self::Successful), ("errored", Self::Errored), ("restricted", Self::Restricted)];
}

/// `state`: what happened so far.
pub(super) fn read_state(key: &Key<'_, '_, List<PastKeys>>, reader: &mut Reader) -> Vec<StateEntry> {
    key.items(reader, read_past)
}

fn read_past(node: &Node, path: &Path, reader: &mut Reader) -> Option<StateEntry> {
    let fields = reader.fields::<PastKeys>(node, path)?;
    let at = fields.at().time(reader);
    let mut events = names(PastKeys::ROWS);
    let beside = [fields.at().name(), fields.labels().name()];
    events.retain(|name| !beside.contains(name));
    let Some((key, _)) = values::only_key(node, &beside) else {
        reader.report(path, messages::one_key_of(&node.place, PastKeys::OWNER, &events));
        return None;
    };
    let past = if let Some(field) = fields.input().written() {
        Past::Input(values::entry(field.node, &field.path, reader)?)
    } else if let Some(field) = fields.output().written() {
        Past::Output(values::entry(field.node, &field.path, reader)?)
    } else if let Some(field) = fields.llm().written() {
        let fields = reader.fields(field.node, &field.path)?;
        let usage = values::usage(&fields, reader);
        fields.refuse_others(reader);
        Past::ModelTurn(usage)
    } else if let Some(field) = fields.call().written() {
        Past::Call(read_past_call(field.node, &field.path, reader)?)
    } else if let Some(field) = fields.invoke().written() {
        Past::Invoke(read_past_call(field.node, &field.path, reader)?)
    } else if let Some(field) = fields.task_labels().written() {
        Past::TaskLabels(label_set(field.node, &field.path, reader)?)
    } else if let Some(field) = fields.interrupt().written() {
        reader.fields::<InterruptKeys>(field.node, &field.path)?.refuse_others(reader);
        Past::Interrupt
    } else if let Some(field) = fields.locked().written() {
        let fields = reader.fields::<LockedKeys>(field.node, &field.path)?;
        let reason = fields.reason().string(reader).unwrap_or_default();
        fields.refuse_others(reader);
        Past::Locked(reason)
    } else {
        reader.report(&path.key(&key.text), messages::unknown_key(key, PastKeys::OWNER, &events));
        return None;
    };
    let labels = read_labels(&fields, &past, reader);
    Some(StateEntry { place: key.place.clone(), at, past, labels })
}

/// The labels of what is on record.
fn read_labels(fields: &Fields<'_, PastKeys>, past: &Past, reader: &mut Reader) -> Option<Past> {
    let field = fields.labels().get()?;
    let labels = label_set(field.node, &field.path, reader)?;
    match past {
        Past::Input(_) => Some(Past::InputLabels(labels)),
        Past::Call(_) | Past::Invoke(_) => Some(Past::CallLabels(labels)),
        _ => {
            reader.report(&field.path, messages::nothing_to_label(field.node));
            None
        }
    }
}

fn label_set(node: &Node, path: &Path, reader: &mut Reader) -> Option<LabelSet> {
    let texts = reader.texts(node, path)?;
    let is_label = |text: &str| (1..=MAX_LABEL_BYTES).contains(&text.len());
    for (at, text) in texts.iter().enumerate().filter(|(_, text)| !is_label(&text.text)) {
        reader.report(&path.item(at), messages::bad_label(text, MAX_LABEL_BYTES));
    }
    Some(texts.iter().map(|text| text.text.clone()).collect())
}

fn read_past_call(node: &Node, path: &Path, reader: &mut Reader) -> Option<PastCall> {
    let fields = reader.fields::<PastCallKeys>(node, path)?;
    let function = fields.function().required_text(reader);
    let arguments = fields.args().object_or_empty(reader);
    let status = fields.status().word(reader).unwrap_or(InvocationStatus::Successful);
    let output = fields.output().json();
    let task_id = fields.task_id().string(reader);
    let at = fields.at().time(reader);
    let executed = fields.executed().boolean(reader).unwrap_or(status != InvocationStatus::Restricted);
    fields.refuse_others(reader);
    let function = function?.text.to_string();
    Some(PastCall { function, arguments, output, status, executed, task_id, at })
}
