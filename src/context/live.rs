//! The view of a task's context that expressions read: each field of each record, and each element of each list.
//!
//! The fields stand in the order of the schema's record types. Every read is constant time and allocates nothing.

use super::history::{Invocation, Status};
use super::part::{MAX_INDEX, Part};
use super::task_context::{Entries, Entry, TaskContext, TurnKind};
use crate::cel::{At, GrowingEnd, Growth, Json, JsonRef, LiveList, LiveRecord, RecordType, Value};

impl TaskContext {
    /// `context`, as expressions see it.
    #[must_use]
    pub fn value(&self) -> Value<'_> {
        self.record_at(Part::Context, 0)
    }

    /// The last input as guardrails and `exposes` see it: a list of one entry, on which a field may be selected
    /// directly (`GR-08`).
    #[must_use]
    pub fn input_under_test(&self) -> Value<'_> {
        self.list_at(Part::PendingInput, 0)
    }

    /// The last response in the same form (`GR-10`, `EXP-04`).
    #[must_use]
    pub fn output_under_test(&self) -> Value<'_> {
        self.list_at(Part::PendingOutput, 0)
    }

    fn record_at(&self, part: Part, index: u32) -> Value<'_> {
        Value::record(self, part.at(index))
    }

    fn list_at(&self, part: Part, index: u32) -> Value<'_> {
        Value::view(self, part.at(index))
    }

    /// The entry that is seen as a record, or whose message is seen as a list.
    fn entry(&self, part: Part, index: u32) -> Option<&Entry> {
        match part {
            Part::Input | Part::InputMessage => self.inputs.get(index as usize),
            _ => self.outputs.get(index as usize),
        }
    }

    fn context_field(&self, slot: usize) -> Option<Value<'_>> {
        Some(match slot {
            0 => self.record_at(Part::Agent, 0),
            1 => self.record_at(Part::User, 0),
            2 => self.record_at(Part::Llm, 0),
            3 => self.record_at(Part::History, 0),
            4 => self.list_at(Part::Inputs, 0),
            5 => self.list_at(Part::Outputs, 0),
            6 => self.record_at(Part::Capabilities, 0),
            _ => return None,
        })
    }

    /// `_meta`, or the record of a function or tool.
    fn capability(&self, slot: usize) -> Option<Value<'_>> {
        let Some(record) = slot.checked_sub(1) else { return Some(self.record_at(Part::Meta, 0)) };
        let record = u32::try_from(record).ok()?;
        self.history.of(record).map(|_| self.record_at(Part::Record, record))
    }

    /// The message of an entry, or one of its further keys.
    fn entry_field(&self, part: Part, message: Part, index: u32, slot: usize) -> Option<Value<'_>> {
        let Some(extra) = slot.checked_sub(1) else { return Some(self.list_at(message, index)) };
        let (_, value) = self.entry(part, index)?.io.extra().entry(extra)?;
        Some(value.value())
    }

    fn capability_field(&self, record: u32, slot: usize) -> Option<Value<'_>> {
        let counts = self.history.of(record)?.counts;
        Some(match slot {
            0 => Value::Int(counts.successful.into()),
            1 => Value::Int(counts.errored.into()),
            2 => Value::Int(counts.restricted.into()),
            3 => self.list_at(Part::Timestamps, record),
            4 => self.list_at(Part::RecordInputs, record),
            5 => self.list_at(Part::RecordOutputs, record),
            6 => self.list_at(Part::Successful, record),
            7 => self.list_at(Part::Errored, record),
            8 => self.list_at(Part::Restricted, record),
            9 if self.schema.has_task_ids(record) => self.list_at(Part::TaskIds, record),
            9 => Value::Null,
            _ => return None,
        })
    }
}

impl LiveRecord for TaskContext {
    fn shape(&self, at: At) -> &RecordType {
        let shapes = &self.schema.shapes;
        let (part, index) = Part::of(at);
        match part {
            Part::Agent => &shapes.agent,
            Part::User => &shapes.user,
            Part::Llm => &shapes.llm,
            Part::Tokens => &shapes.tokens,
            Part::History => &shapes.history,
            Part::Capabilities => &shapes.capabilities,
            Part::Meta => &shapes.meta,
            Part::Input | Part::Output => self.entry(part, index).map_or(&shapes.input, |entry| &entry.shape),
            Part::Record => shapes.records.get(index as usize).unwrap_or(&shapes.meta),
            _ => &shapes.context,
        }
    }

    fn field(&self, at: At, slot: usize) -> Option<Value<'_>> {
        let (part, index) = Part::of(at);
        match part {
            Part::Context => self.context_field(slot),
            Part::Capabilities => self.capability(slot),
            Part::Record => self.capability_field(index, slot),
            Part::Llm => match slot {
                0 => Some(Value::text(&self.start.model)),
                1 => Some(self.record_at(Part::Tokens, 0)),
                _ => None,
            },
            Part::Tokens => match slot {
                0 => Some(Value::Int(self.prompt_tokens)),
                1 => Some(Value::Int(self.completion_tokens)),
                2 => Some(Value::Int(self.prompt_tokens.saturating_add(self.completion_tokens))),
                _ => None,
            },
            Part::History => match slot {
                0 => Some(self.list_at(Part::Turns, 0)),
                1 => Some(count(self.turns.len())),
                _ => None,
            },
            Part::Meta => match slot {
                0 => Some(self.list_at(Part::Invocations, 0)),
                1 => Some(count(self.history.log().len())),
                2 => Some(Value::Int(self.history.delegations.into())),
                _ => None,
            },
            Part::Agent => match slot {
                0 => Some(Value::text(&self.start.agent)),
                1 => Some(Value::text(&self.start.namespace)),
                2 => Some(self.started.value()),
                _ => None,
            },
            Part::User => match slot {
                0 => Some(Value::text(&self.start.user_id)),
                1 => Some(Value::text(self.start.user_email.as_deref().unwrap_or_default())),
                _ => None,
            },
            Part::Input => self.entry_field(part, Part::InputMessage, index, slot),
            Part::Output => self.entry_field(part, Part::OutputMessage, index, slot),
            _ => None,
        }
    }

    /// The names of the capabilities are those of the schema.
    fn growth(&self, at: At) -> Option<Growth<'_>> {
        let (part, _) = Part::of(at);
        let settled = self.shape(at).fields.len();
        (part == Part::Capabilities).then_some(Growth {
            folds: &self.folds,
            end: GrowingEnd::Back,
            settled,
            epoch: 0,
        })
    }
}

impl LiveList for TaskContext {
    fn len(&self, at: At) -> usize {
        let (part, index) = Part::of(at);
        match part {
            Part::Turns => self.turns.len(),
            Part::Invocations => self.history.log().len(),
            Part::Inputs => self.inputs.len(),
            Part::Outputs => self.outputs.len(),
            Part::PendingInput => self.inputs.len().min(1),
            Part::PendingOutput => self.outputs.len().min(1),
            Part::InputMessage | Part::OutputMessage => {
                self.entry(part, index).map_or(0, |entry| entry.io.message().len())
            }
            _ => self.history.of(index).map_or(0, super::history::Record::len),
        }
    }

    fn item(&self, at: At, index: usize) -> Option<Value<'_>> {
        let (part, which) = Part::of(at);
        match part {
            Part::Turns | Part::Invocations => self.name(at, index).map(Value::text),
            Part::Inputs => self.entry_at(Part::Input, &self.inputs, index),
            Part::Outputs => self.entry_at(Part::Output, &self.outputs, index),
            Part::PendingInput => self.last_of(Part::Input, &self.inputs, index),
            Part::PendingOutput => self.last_of(Part::Output, &self.outputs, index),
            Part::InputMessage | Part::OutputMessage => {
                self.entry(part, which)?.io.message().item(index).map(JsonRef::value)
            }
            _ => self.history.newest(which, index).map(|invocation| one_of(part, invocation)),
        }
    }

    fn name(&self, at: At, index: usize) -> Option<&str> {
        match Part::of(at).0 {
            Part::Turns => self.turns.get(index).map(|turn| TurnKind::as_str(*turn)),
            Part::Invocations => self.history.log().get(index).map(|invocation| self.name_of(invocation)),
            _ => None,
        }
    }

    fn size(&self, at: At) -> usize {
        match Part::of(at) {
            (part @ (Part::InputMessage | Part::OutputMessage), index) => {
                self.entry(part, index).map_or(0, |entry| entry.io.characters())
            }
            _ => self.len(at),
        }
    }

    fn forwards(&self, at: At) -> bool {
        matches!(Part::of(at).0, Part::PendingInput | Part::PendingOutput)
    }

    /// All lists but those of one entry grow. The last input and response may still be replaced or taken back, and the
    /// last invocation of a record may become restricted.
    fn growth(&self, at: At) -> Option<Growth<'_>> {
        let (part, index) = Part::of(at);
        let (end, settled, epoch) = match part {
            Part::Turns => (GrowingEnd::Back, self.turns.len(), 0),
            Part::Invocations => (GrowingEnd::Back, self.history.log().len(), 0),
            Part::Inputs => (GrowingEnd::Back, self.inputs.settled, self.inputs.epoch),
            Part::Outputs => (GrowingEnd::Back, self.outputs.settled, self.outputs.epoch),
            Part::Timestamps | Part::RecordInputs | Part::RecordOutputs | Part::TaskIds => {
                (GrowingEnd::Front, self.history.of(index)?.len(), 0)
            }
            Part::Successful | Part::Errored | Part::Restricted => {
                let record = self.history.of(index)?;
                (GrowingEnd::Front, record.len().saturating_sub(1), record.rewritten)
            }
            _ => return None,
        };
        Some(Growth { folds: &self.folds, end, settled, epoch })
    }
}

impl TaskContext {
    /// The function's name from the schema: never a copy.
    fn name_of(&self, invocation: &Invocation) -> &str {
        self.schema.key(invocation.function).map_or("", |key| key)
    }

    fn entry_at(&self, part: Part, entries: &Entries, index: usize) -> Option<Value<'_>> {
        entries.get(index)?;
        let index = u32::try_from(index).ok().filter(|&index| index <= MAX_INDEX)?;
        Some(self.record_at(part, index))
    }

    fn last_of(&self, part: Part, entries: &Entries, index: usize) -> Option<Value<'_>> {
        let last = entries.len().checked_sub(1).filter(|_| index == 0)?;
        self.entry_at(part, entries, last)
    }
}

/// What an invocation has at its place in one of a record's lists.
fn one_of(list: Part, invocation: &Invocation) -> Value<'_> {
    match list {
        Part::Timestamps => invocation.at.value(),
        Part::RecordInputs => invocation.input.value(),
        Part::RecordOutputs => invocation.output.as_ref().map_or(Value::Null, Json::value),
        Part::Successful => Value::Bool(invocation.status == Status::Successful),
        Part::Errored => Value::Bool(invocation.status == Status::Errored),
        Part::Restricted => Value::Bool(invocation.status == Status::Restricted),
        _ => invocation.task_id.as_ref().map_or(Value::Null, |id| Value::text(id)),
    }
}

fn count(number: usize) -> Value<'static> {
    Value::Int(i64::try_from(number).unwrap_or(i64::MAX))
}
