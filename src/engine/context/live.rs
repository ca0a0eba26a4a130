//! The view of a task's context that expressions read: each field of each record, and each element of each list.
//!
//! The fields stand in the order of the schema's record types. Every read is constant time and allocates nothing.

use super::call_kinds::CallKind;
use super::invocation::{InvocationStatus, Logged};
use super::label_functions::{
    BINDINGS, CALL_LABELS, LABELS, SOURCES, TASK_LABELS, WHOLE_BINDINGS, WHOLE_SOURCES,
};
use super::labels::{SeenBy, ValueSource};
use super::part::{MAX_INDEX, Part};
use super::pseudonym_functions::{PII_DETOKENIZE, PII_HASH, PII_TOKENIZE};
use super::schema_decl::FunctionId;
use super::sources::Extent;
use super::task_context::{Entries, Entry, TaskContext, TurnKind};
use crate::cel::{
    At, Fault, GrowingEnd, Growth, JsonRef, LiveList, LiveRecord, Meter, RecordType, Repeated, TimeOrder,
    Value, View,
};
use std::ops::Range;

/// Which `context` it is that observed steps see; in all but labels it is that of the others.
const OBSERVED: u32 = 1;

impl TaskContext {
    /// `context`, as expressions see it.
    #[must_use]
    pub fn value(&self) -> Value<'_> {
        self.record_at(Part::Context, 0).into()
    }

    /// The same, as observed steps see it: with the labels that observed steps would have given and taken.
    #[must_use]
    pub fn observed_value(&self) -> Value<'_> {
        self.record_at(Part::Context, OBSERVED).into()
    }

    /// The last input as guardrails and `exposes` see it: a list of one entry, on which a field may be selected
    /// directly (`GR-08`).
    #[must_use]
    pub fn input_under_test(&self) -> Value<'_> {
        self.list_at(Part::PendingInput, 0).into()
    }

    /// The last response in the same form (`GR-10`, `EXP-04`).
    #[must_use]
    pub fn output_under_test(&self) -> Value<'_> {
        self.list_at(Part::PendingOutput, 0).into()
    }

    fn record_at(&self, part: Part, index: u32) -> View<'_> {
        View::Record { of: self, at: part.at(index) }
    }

    fn list_at(&self, part: Part, index: u32) -> View<'_> {
        View::List { of: self, at: part.at(index) }
    }

    /// The entry that is seen as a record, or whose message is seen as a list.
    fn entry(&self, part: Part, index: u32) -> Option<&Entry> {
        match part {
            Part::Input | Part::InputMessage => self.inputs.get(index as usize),
            _ => self.outputs.get(index as usize),
        }
    }

    fn context_field(&self, slot: usize) -> Option<View<'_>> {
        Some(match slot {
            0 => self.record_at(Part::Agent, 0),
            1 => self.record_at(Part::User, 0),
            2 => self.record_at(Part::Llm, 0),
            3 => self.record_at(Part::History, 0),
            4 => self.list_at(Part::Inputs, 0),
            5 => self.list_at(Part::Outputs, 0),
            6 => self.record_at(Part::Capabilities, 0),
            7 => self.list_at(Part::Reviews, 0),
            8 => self.list_at(Part::Calls, 0),
            9 => self.list_at(Part::Rejected, 0),
            10 => self.record_at(Part::Request, 0),
            11 => View::Int(self.start.depth.into()),
            12 => self.list_at(Part::Invoked, 0),
            _ => return None,
        })
    }

    /// `_meta`, or the record of a function or tool.
    fn capability(&self, slot: usize) -> Option<View<'_>> {
        let Some(record) = slot.checked_sub(1) else { return Some(self.record_at(Part::Meta, 0)) };
        let record = u32::try_from(record).ok()?;
        self.history.of(record).map(|_| self.record_at(Part::Record, record))
    }

    /// The message of an entry, or one of its further keys.
    fn entry_field(&self, part: Part, message: Part, index: u32, slot: usize) -> Option<View<'_>> {
        let Some(extra) = slot.checked_sub(1) else { return Some(self.list_at(message, index)) };
        let (_, value) = self.entry(part, index)?.io.extra().entry(extra)?;
        Some(View::Json(value))
    }

    /// The number in a field of an entry. It is apart from the numbers of the context itself, because these are read without
    /// a frame on the stack, and one that they share with entries would cost more than reading them.
    #[inline(never)]
    fn int_of_entry(&self, at: At, slot: usize) -> Option<i64> {
        self.field(at, slot)?.as_int()
    }

    /// The same of a text.
    #[inline(never)]
    fn text_of_entry(&self, at: At, slot: usize) -> Option<&str> {
        self.field(at, slot)?.as_str()
    }

    /// A list of a record.
    fn capability_list(&self, record: u32, slot: usize) -> Option<View<'_>> {
        self.history.of(record)?;
        Some(match slot {
            3 => self.list_at(Part::Timestamps, record),
            4 => self.list_at(Part::RecordInputs, record),
            5 => self.list_at(Part::RecordOutputs, record),
            6 => self.list_at(Part::Successful, record),
            7 => self.list_at(Part::Errored, record),
            8 => self.list_at(Part::Restricted, record),
            9 if self.schema.has_task_ids(record) => self.list_at(Part::TaskIds, record),
            9 => View::Null,
            10 => self.list_at(Part::RecordCalls, record),
            11 => self.list_at(Part::RecordRejected, record),
            12 => self.list_at(Part::RecordInvoked, record),
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
            Part::Request => &shapes.request,
            Part::Llm => &shapes.llm,
            Part::Tokens => &shapes.tokens,
            Part::History => &shapes.history,
            Part::Capabilities => &shapes.capabilities,
            Part::Meta => &shapes.meta,
            Part::Input | Part::Output => self.entry(part, index).map_or(&shapes.input, |entry| &entry.shape),
            Part::Record => shapes.records.get(index as usize).unwrap_or(&shapes.meta),
            Part::Call | Part::OpenCall => &shapes.call,
            _ => &shapes.context,
        }
    }

    fn field(&self, at: At, slot: usize) -> Option<View<'_>> {
        let (part, index) = Part::of(at);
        match part {
            Part::Context => self.context_field(slot),
            Part::Capabilities => self.capability(slot),
            Part::Record => match slot {
                0..=2 => self.int(at, slot).map(View::Int),
                _ => self.capability_list(index, slot),
            },
            Part::Llm if slot == 1 => Some(self.record_at(Part::Tokens, 0)),
            Part::Llm if slot == 2 => Some(View::Double(self.spend.nearest)),
            Part::Llm if slot == 3 => self.int(at, slot).map(View::Int),
            Part::History if slot == 0 => Some(self.list_at(Part::Turns, 0)),
            Part::Meta if slot == 0 => Some(self.list_at(Part::Invocations, 0)),
            Part::Agent if slot == 2 => Some(View::Time(self.started.as_str())),
            Part::User if slot == 2 => self.claims.as_ref().map(|claims| View::Json(claims.root())),
            Part::Agent | Part::User | Part::Request | Part::Llm => self.text(at, slot).map(View::Text),
            Part::Tokens | Part::History | Part::Meta => self.int(at, slot).map(View::Int),
            Part::Input => self.entry_field(part, Part::InputMessage, index, slot),
            Part::Output => self.entry_field(part, Part::OutputMessage, index, slot),
            Part::Call => self.call_field(index, slot),
            Part::OpenCall => self.open_call_field(index, slot),
            _ => None,
        }
    }

    fn int(&self, at: At, slot: usize) -> Option<i64> {
        let (part, index) = Part::of(at);
        match (part, slot) {
            (Part::Tokens, 0) => Some(self.prompt_tokens),
            (Part::Tokens, 1) => Some(self.completion_tokens),
            (Part::Tokens, 2) => Some(self.prompt_tokens.saturating_add(self.completion_tokens)),
            (Part::Llm, 3) => Some(self.withheld.into()),
            (Part::History, 1) => Some(count(self.turns.len())),
            (Part::Meta, 1) => Some(count(self.history.log().len())),
            (Part::Meta, 2) => Some(self.history.delegations.into()),
            (Part::Record, 0) => Some(self.history.of(index)?.counts.successful.into()),
            (Part::Record, 1) => Some(self.history.of(index)?.counts.errored.into()),
            (Part::Record, 2) => Some(self.history.of(index)?.counts.restricted.into()),
            (Part::Input | Part::Output | Part::Call | Part::OpenCall, _) => self.int_of_entry(at, slot),
            _ => None,
        }
    }

    fn text(&self, at: At, slot: usize) -> Option<&str> {
        match (Part::of(at).0, slot) {
            (Part::Agent, 0) => Some(&self.start.agent),
            (Part::Agent, 1) => Some(&self.start.namespace),
            (Part::Agent, 2) => Some(self.started.as_str()),
            (Part::User, 0) => Some(&self.start.user_id),
            (Part::User, 1) => Some(self.start.user_email.as_deref().unwrap_or_default()),
            (Part::Request, 0) => Some(self.start.address.as_deref().unwrap_or_default()),
            (Part::Llm, 0) => Some(&self.start.model),
            (Part::Input | Part::Output | Part::Call | Part::OpenCall, _) => self.text_of_entry(at, slot),
            _ => None,
        }
    }

    fn document(&self, at: At, slot: usize, index: usize) -> Option<JsonRef<'_>> {
        let (part, record) = Part::of(at);
        match (part, slot) {
            (Part::Record, 4) => Some(self.history.newest(record, index)?.input.root()),
            (Part::Record, 5) => Some(self.history.newest(record, index)?.output.as_ref()?.root()),
            _ => None,
        }
    }

    fn answer(
        &self,
        at: At,
        question: &str,
        about: &Value<'_>,
        meter: &mut Meter<'_>,
    ) -> Result<Value<'static>, Fault> {
        let who = if Part::of(at).1 == OBSERVED { SeenBy::Observed } else { SeenBy::Everybody };
        match question {
            LABELS => self.answer_labels(who, about, meter),
            SOURCES => self.answer_sources(who, about, Extent::Part, meter),
            WHOLE_SOURCES => self.answer_sources(who, about, Extent::Whole, meter),
            BINDINGS => self.answer_bindings(about, Extent::Part, meter),
            WHOLE_BINDINGS => self.answer_bindings(about, Extent::Whole, meter),
            CALL_LABELS => self.answer_call_labels(who, about, meter),
            TASK_LABELS => self.answer_marks(who, ValueSource::Task, meter),
            PII_HASH => self.answer_hash(about, meter),
            PII_TOKENIZE => self.answer_tokenized(about, meter),
            PII_DETOKENIZE => self.answer_detokenized(about, meter),
            _ => Err(Fault::no_overload([about.kind()])),
        }
    }

    /// The names of the capabilities are those of the schema.
    fn growth(&self, at: At) -> Option<Growth<'_>> {
        let (part, _) = Part::of(at);
        let settled = self.shape(at).key_count();
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
        if let Some((kind, record)) = calls_of(part, index) {
            return self.calls_len(kind, record);
        }
        match part {
            Part::Turns => self.turns.len(),
            Part::Invocations => self.history.log().len(),
            Part::Inputs => self.inputs.len(),
            Part::Outputs => self.outputs.len(),
            Part::Reviews => self.reviews.len(),
            Part::PendingInput => self.inputs.len().min(1),
            Part::PendingOutput => self.outputs.len().min(1),
            Part::InputMessage | Part::OutputMessage => {
                self.entry(part, index).map_or(0, |entry| entry.io.message().len())
            }
            _ => self.history.of(index).map_or(0, super::history::Record::len),
        }
    }

    fn item(&self, at: At, index: usize) -> Option<View<'_>> {
        let (part, which) = Part::of(at);
        if let Some((kind, record)) = calls_of(part, which) {
            return self.call_at(kind, record, index);
        }
        match part {
            Part::Turns => self.turns.get(index).map(|turn| View::Text(turn.as_str())),
            Part::Invocations => {
                self.history.log().get(index).map(|call| View::Text(self.name_of(call.function)))
            }
            Part::Inputs => self.entry_at(Part::Input, &self.inputs, index),
            Part::Outputs => self.entry_at(Part::Output, &self.outputs, index),
            Part::Reviews => self.reviews.get(index).map(|review| View::Json(review.root())),
            Part::PendingInput => self.last_of(Part::Input, &self.inputs, index),
            Part::PendingOutput => self.last_of(Part::Output, &self.outputs, index),
            Part::InputMessage | Part::OutputMessage => {
                self.entry(part, which)?.io.message().item(index).map(View::Json)
            }
            Part::TaskIds => {
                let position = self.history.newest_position(which, index)?;
                Some(self.history.task_id(position).map_or(View::Null, |id| View::Text(id)))
            }
            _ => self.history.newest(which, index).map(|invocation| one_of(part, invocation)),
        }
    }

    fn names(&self, at: At, part: Range<usize>) -> Option<Vec<Repeated<'_>>> {
        match Part::of(at).0 {
            Part::Turns => {
                let texts = TurnKind::ALL.map(TurnKind::as_str);
                Some(names(texts, part, |position| self.turns.get(position).map(|turn| *turn as usize)))
            }
            Part::Invocations => {
                // what the schema does not have comes last, and has no name
                let known = self.schema.functions().map(|(_, key)| &**key);
                let last = self.schema.function_count();
                if last > part.len() {
                    return None;
                }
                let log = self.history.log();
                let which = |position| log.get(position).map(|call| (call.function.0 as usize).min(last));
                Some(names(known.chain([""]), part, which))
            }
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

    /// A call that failed or was stopped has no result. `outputs.exists(d, d.id == x)` asks whether a result with that id is
    /// there, and one call without a result must not make it an error for the rest of the task. `outputs[0].id` stays an
    /// error: who asks for the last result in particular has to be told that there is none.
    fn has_gaps(&self, at: At) -> bool {
        let (part, index) = Part::of(at);
        part == Part::RecordOutputs || calls_of(part, index).is_some()
    }

    fn forwards(&self, at: At) -> bool {
        matches!(Part::of(at).0, Part::PendingInput | Part::PendingOutput)
    }

    /// Calls are recorded as they come to their end, and clocks may go back.
    fn time_order(&self, at: At) -> Option<TimeOrder> {
        match Part::of(at) {
            (Part::Calls, _) => Some(self.history.kinds.time_order()),
            (Part::RecordCalls, record) => Some(self.history.of(record)?.kinds.time_order()),
            (Part::Timestamps, record) => Some(self.history.of(record)?.times.order()),
            _ => None,
        }
    }

    /// All lists but those of one entry grow. The last input and response may still be replaced or taken back, and the
    /// last invocation of a record may become restricted.
    fn growth(&self, at: At) -> Option<Growth<'_>> {
        let (part, index) = Part::of(at);
        if let Some((kind, record)) = calls_of(part, index) {
            return self.calls_growth(kind, record);
        }
        let (end, settled, epoch) = match part {
            Part::Turns => (GrowingEnd::Back, self.turns.len(), 0),
            Part::Invocations => (GrowingEnd::Back, self.history.log().len(), 0),
            Part::Inputs => (GrowingEnd::Back, self.inputs.settled, self.inputs.epoch),
            Part::Outputs => (GrowingEnd::Back, self.outputs.settled, self.outputs.epoch),
            Part::Reviews => (GrowingEnd::Back, self.reviews.len(), 0),
            Part::Timestamps | Part::TaskIds => (GrowingEnd::Front, self.history.of(index)?.len(), 0),
            // a value that is shortened is read otherwise than before
            Part::RecordInputs | Part::RecordOutputs => {
                let record = self.history.of(index)?;
                (GrowingEnd::Front, record.len(), record.shortened)
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
    pub(super) fn name_of(&self, function: FunctionId) -> &str {
        self.schema.key(function).map_or("", |key| key)
    }

    fn entry_at(&self, part: Part, entries: &Entries, index: usize) -> Option<View<'_>> {
        entries.get(index)?;
        let index = u32::try_from(index).ok().filter(|&index| index <= MAX_INDEX)?;
        Some(self.record_at(part, index))
    }

    fn last_of(&self, part: Part, entries: &Entries, index: usize) -> Option<View<'_>> {
        let last = entries.len().checked_sub(1).filter(|_| index == 0)?;
        self.entry_at(part, entries, last)
    }
}

/// Which calls a list shows, if it is one of calls: their kind, and the record, or none for those of all functions.
fn calls_of(list: Part, index: u32) -> Option<(CallKind, Option<u32>)> {
    match list {
        Part::Calls => Some((CallKind::Model, None)),
        Part::RecordCalls => Some((CallKind::Model, Some(index))),
        Part::Rejected => Some((CallKind::Rejected, None)),
        Part::RecordRejected => Some((CallKind::Rejected, Some(index))),
        Part::Invoked => Some((CallKind::Invoked, None)),
        Part::RecordInvoked => Some((CallKind::Invoked, Some(index))),
        _ => None,
    }
}

/// Which of these texts stand in a part of a list, by the number of the text at each position.
fn names<'a>(
    texts: impl IntoIterator<Item = &'a str>,
    part: Range<usize>,
    which: impl Fn(usize) -> Option<usize>,
) -> Vec<Repeated<'a>> {
    let unseen = |text| Repeated { text, first: usize::MAX, count: 0 };
    let mut names: Vec<Repeated<'a>> = texts.into_iter().map(unseen).collect();
    for position in part {
        if let Some(name) = which(position).and_then(|which| names.get_mut(which)) {
            name.first = name.first.min(position);
            name.count = name.count.saturating_add(1);
        }
    }
    names.retain(|name| name.count > 0);
    names
}

/// What an invocation has at its place in one of a record's lists, but for its child task.
fn one_of(list: Part, invocation: &Logged) -> View<'_> {
    match list {
        Part::Timestamps => View::Time(invocation.at.as_str()),
        Part::RecordInputs => View::Json(invocation.input.root()),
        Part::RecordOutputs => {
            invocation.output.as_ref().map_or(View::Null, |output| View::Json(output.root()))
        }
        Part::Successful => View::Bool(invocation.status == InvocationStatus::Successful),
        Part::Errored => View::Bool(invocation.status == InvocationStatus::Errored),
        _ => View::Bool(invocation.status == InvocationStatus::Restricted),
    }
}

fn count(number: usize) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}
