//! The view of a task's context that expressions read: each field of each record, and each element of each list.
//!
//! An [`At`] is a part of the context (low bits) and which one of its kind (the rest). The fields stand in the order of
//! the schema's record types. Every read is constant time and allocates nothing.

use super::history::{Invocation, Status};
use super::task_context::{Entries, Entry, TaskContext, TurnKind};
use crate::cel::{At, Json, JsonRef, LiveList, LiveRecord, RecordType, Value};

/// Declares the parts, and the list in which a part's number finds it.
macro_rules! parts {
    ($($(#[$doc:meta])* $name:ident,)+) => {
        /// A part of the context that is a record or a list of its own.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        enum Part {
            $($(#[$doc])* $name,)+
        }

        const PARTS: &[Part] = &[$(Part::$name,)+];
    };
}

parts! {
    Context,
    Agent,
    User,
    Llm,
    Tokens,
    History,
    Turns,
    Capabilities,
    Meta,
    Invocations,
    Inputs,
    Outputs,
    /// The input under test: a list of the last one (`GR-08`).
    PendingInput,
    /// The response under test (`GR-10`).
    PendingOutput,
    /// An entry of `context.input`, by position.
    Input,
    /// An entry of `context.output`, by position.
    Output,
    InputMessage,
    OutputMessage,
    /// A function's or tool's record; with its lists, by record.
    Record,
    Timestamps,
    RecordInputs,
    RecordOutputs,
    Successful,
    Errored,
    Restricted,
    TaskIds,
}

/// Enough for all parts; what is left is for the index.
const PART_BITS: u32 = 5;
const MAX_INDEX: u32 = u32::MAX >> PART_BITS;

impl Part {
    fn at(self, index: u32) -> At {
        At(index << PART_BITS | self as u32)
    }

    /// The part and the index. No [`At`] but those made above comes here; another reads as the whole context.
    fn of(at: At) -> (Self, u32) {
        let part = PARTS.get((at.0 & !(MAX_INDEX << PART_BITS)) as usize).copied();
        (part.unwrap_or(Self::Context), at.0 >> PART_BITS)
    }
}

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

    /// The record in a slot of a record, if there is one.
    fn record_in(&self, at: At, slot: usize) -> Option<At> {
        let part = match (Part::of(at).0, slot) {
            (Part::Context, 0) => Part::Agent,
            (Part::Context, 1) => Part::User,
            (Part::Context, 2) => Part::Llm,
            (Part::Context, 3) => Part::History,
            (Part::Context, 6) => Part::Capabilities,
            (Part::Llm, 1) => Part::Tokens,
            (Part::Capabilities, 0) => Part::Meta,
            (Part::Capabilities, _) => {
                let record = u32::try_from(slot.checked_sub(1)?).ok()?;
                return self.history.of(record).map(|_| Part::Record.at(record));
            }
            _ => return None,
        };
        Some(part.at(0))
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

    fn path(&self, at: At, slots: &[usize]) -> Option<Value<'_>> {
        let (&last, way) = slots.split_last()?;
        let at = way.iter().try_fold(at, |at, &slot| self.record_in(at, slot))?;
        self.field(at, last)
    }

    fn field(&self, at: At, slot: usize) -> Option<Value<'_>> {
        if let Some(record) = self.record_in(at, slot) {
            return Some(Value::record(self, record));
        }
        let (part, index) = Part::of(at);
        Some(match (part, slot) {
            (Part::Context, 4) => self.list_at(Part::Inputs, 0),
            (Part::Context, 5) => self.list_at(Part::Outputs, 0),
            (Part::Agent, 0) => Value::text(&self.start.agent),
            (Part::Agent, 1) => Value::text(&self.start.namespace),
            (Part::Agent, 2) => self.started.value(),
            (Part::User, 0) => Value::text(&self.start.user_id),
            (Part::User, 1) => Value::text(self.start.user_email.as_deref().unwrap_or_default()),
            (Part::Llm, 0) => Value::text(&self.start.model),
            (Part::Tokens, 0) => Value::Int(self.prompt_tokens),
            (Part::Tokens, 1) => Value::Int(self.completion_tokens),
            (Part::Tokens, 2) => Value::Int(self.prompt_tokens.saturating_add(self.completion_tokens)),
            (Part::History, 0) => self.list_at(Part::Turns, 0),
            (Part::History, 1) => count(self.turns.len()),
            (Part::Meta, 0) => self.list_at(Part::Invocations, 0),
            (Part::Meta, 1) => count(self.history.log().len()),
            (Part::Meta, 2) => Value::Int(self.history.delegations.into()),
            (Part::Input, 0) => self.list_at(Part::InputMessage, index),
            (Part::Output, 0) => self.list_at(Part::OutputMessage, index),
            (Part::Input | Part::Output, _) => {
                let (_, value) = self.entry(part, index)?.io.extra().entry(slot.checked_sub(1)?)?;
                value.value()
            }
            (Part::Record, _) => self.capability_field(index, slot)?,
            _ => return None,
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
            Part::Turns => self.turns.get(index).map(|turn| Value::text(TurnKind::as_str(*turn))),
            Part::Invocations => {
                self.history.log().get(index).map(|invocation| self.function_name(invocation))
            }
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
}

impl TaskContext {
    /// The function's name from the schema: never a copy.
    fn function_name(&self, invocation: &Invocation) -> Value<'_> {
        Value::text(self.schema.key(invocation.function).map_or("", |key| key))
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
