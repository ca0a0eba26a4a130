//! What has been called: one append-only log of invocations, and for each function and tool the positions in it.
//!
//! Recording copies nothing of what is there, and every read is constant time: counts are kept, never recounted, and the lists of a
//! record (`outputs`, `timestamps`, …) are newest-first views over its positions (`REC-03`). All lists of a record are
//! views over the same positions, so they cannot differ in length (`REC-02`), and an invocation has one status, so
//! exactly one of its three flags is true (`REC-04`). No invocation is ever removed. Of its values those may be dropped that no rule
//! reads: the invocation then takes its place in the log and no more.

use super::call_kinds::{CallKind, CallKinds};
use super::dropped::{Dropped, RunningDigest};
use super::invocation::{Caller, InvocationId, InvocationRecord, InvocationStatus, KeptPart, Logged};
use super::log::Log;
use super::moment::Moment;
use super::schema::ContextSchema;
use super::schema_decl::FunctionId;
use super::shorten::shorten;
use super::times::Times;
use super::values_on_path::CallValues;
use crate::cel::Json;
use std::collections::BTreeMap;
use std::sync::Arc;

/// How many invocations ended in each way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// `count_successful`
    pub successful: u32,
    /// `count_errored`
    pub errored: u32,
    /// `count_restricted`
    pub restricted: u32,
}

impl Counts {
    fn of(&mut self, status: InvocationStatus) -> &mut u32 {
        match status {
            InvocationStatus::Successful => &mut self.successful,
            InvocationStatus::Errored => &mut self.errored,
            InvocationStatus::Restricted => &mut self.restricted,
        }
    }

    fn add(&mut self, status: InvocationStatus) {
        let count = self.of(status);
        *count = count.saturating_add(1);
    }

    fn remove(&mut self, status: InvocationStatus) {
        let count = self.of(status);
        *count = count.saturating_sub(1);
    }
}

/// The invocations of one function or tool.
#[derive(Clone, Debug, Default)]
pub(super) struct Record {
    /// Positions in the log, oldest first.
    positions: Log<u32>,
    pub(super) times: Times,
    /// Which list of calls shows each of them, and the times of the model's calls.
    pub(super) kinds: CallKinds,
    pub(super) counts: Counts,
    /// The model's calls that ran.
    executed: u32,
    /// How often the status of another invocation than the last changed.
    pub(super) rewritten: u64,
    /// How often a value was shortened that had been read whole.
    pub(super) shortened: u64,
    /// Of how many the arguments were dropped.
    dropped_inputs: u32,
    /// The same of results.
    dropped_outputs: u32,
}

/// What an invocation takes besides its documents: its place in the log and in two records.
const INVOCATION_BYTES: usize = 128;

/// The log, and what is kept about it.
#[derive(Clone, Debug)]
pub(super) struct History {
    log: Log<Logged>,
    /// Which list of calls shows each of them, and whether the model's calls stand in the order of time.
    pub(super) kinds: CallKinds,
    /// When those were let through that did not end at once: their positions, ascending, and the times.
    starts: Log<(u32, Moment)>,
    /// The child tasks of those that got as far as one.
    task_ids: BTreeMap<u32, Arc<str>>,
    /// The messages that they were made for: the position of each invocation whose message is not that of the one before, and the
    /// message.
    messages: Log<(u32, u32)>,
    /// What was dropped.
    dropped: RunningDigest,
    /// What stands in the place of a value that was dropped: one document for all of them.
    nothing: Option<Json>,
    /// The positions that were made restricted, in that order.
    restrictions: Log<u32>,
    /// The positions of which a value was shortened, in that order.
    shortenings: Log<u32>,
    /// The bytes of values that were shortened for want of room: what the task would hold besides.
    pub(super) lacking_bytes: u64,
    /// Functions, then tools, as the schema has them.
    records: Box<[Record]>,
    pub(super) delegations: u32,
    pub(super) calls_by_model: u32,
    /// The bytes that the documents and texts of the log hold.
    document_bytes: usize,
    /// How often another invocation than the last was restricted, whichever record it is in.
    rewritten: u64,
}

impl Record {
    pub(super) fn len(&self) -> usize {
        self.positions.len()
    }

    /// How often what had been read of a settled invocation changed.
    pub(super) fn changes(&self) -> u64 {
        self.rewritten.saturating_add(self.shortened)
    }
}

impl History {
    pub(super) fn new(schema: &ContextSchema) -> Self {
        Self {
            log: Log::default(),
            kinds: CallKinds::default(),
            starts: Log::default(),
            task_ids: BTreeMap::new(),
            messages: Log::default(),
            dropped: RunningDigest::default(),
            nothing: None,
            restrictions: Log::default(),
            shortenings: Log::default(),
            lacking_bytes: 0,
            records: vec![Record::default(); schema.record_count()].into(),
            delegations: 0,
            calls_by_model: 0,
            document_bytes: 0,
            rewritten: 0,
        }
    }

    /// Appends an invocation, of which only these values are kept. One of a function that the schema does not have is in the log and in
    /// no record. Constant time, but for the digest of what is dropped.
    pub(super) fn record(
        &mut self,
        schema: &ContextSchema,
        mut invocation: InvocationRecord,
        kept: CallValues,
    ) -> InvocationId {
        let position = u32::try_from(self.log.len()).unwrap_or(u32::MAX);
        if !kept.input {
            self.drop_value(&mut invocation.input, position, KeptPart::Input);
        }
        if let Some(output) = invocation.output.as_mut().filter(|_| !kept.output) {
            self.drop_value(output, position, KeptPart::Output);
        }
        let [no_input, no_output] = [Some(&invocation.input), invocation.output.as_ref()]
            .map(|value| u32::from(value.is_some_and(Json::is_dropped)));
        let by_model = invocation.origin == Caller::Model;
        let kind = CallKind::of(invocation.origin, invocation.rejected);
        for &record in schema.records_of(invocation.function) {
            let Some(record) = self.records.get_mut(record as usize) else { continue };
            let Record { positions, times, kinds, .. } = record;
            let index = u32::try_from(positions.len()).unwrap_or(u32::MAX);
            let time = |index: u32| Some(self.log.get(*positions.get(index as usize)? as usize)?.at);
            times.add(index, invocation.at, time);
            kinds.add(index, kind, invocation.at, time);
            positions.push(position);
            record.counts.add(invocation.status);
            record.executed = record.executed.saturating_add(u32::from(by_model && invocation.executed));
            record.dropped_inputs = record.dropped_inputs.saturating_add(no_input);
            record.dropped_outputs = record.dropped_outputs.saturating_add(no_output);
        }
        self.delegations =
            self.delegations.saturating_add(u32::from(schema.is_delegation(invocation.function)));
        self.calls_by_model = self.calls_by_model.saturating_add(u32::from(by_model));
        let InvocationRecord { function, at, started_at, input, output, status, .. } = invocation;
        let InvocationRecord { executed, origin, task_id, message, .. } = invocation;
        if self.messages.last().map_or(0, |(_, before)| *before) != message {
            self.messages.push((position, message));
        }
        let logged = Logged { input, output, at, function, status, executed, origin };
        let of_child = task_id.as_ref().map_or(0, |id| id.len());
        self.task_ids.extend(task_id.map(|id| (position, id)));
        let documents = logged.document_bytes().saturating_add(of_child);
        self.document_bytes = self.document_bytes.saturating_add(documents);
        self.lacking_bytes = self.lacking_bytes.saturating_add(logged.lacking_bytes());
        if started_at != at {
            self.starts.push((position, started_at));
        }
        let time = |position: u32| Some(self.log.get(position as usize)?.at);
        self.kinds.add(position, kind, at, time);
        self.log.push(logged);
        InvocationId(position)
    }

    /// Puts nothing in the place of a value.
    fn drop_value(&mut self, value: &mut Json, position: u32, part: KeptPart) {
        if !value.is_shortened() {
            self.dropped.add(position, part, value);
            *value = self.nothing.get_or_insert_with(Json::dropped).clone();
        }
    }

    /// What was dropped so far.
    pub(super) fn dropped(&self) -> Option<Dropped> {
        self.dropped.told()
    }

    /// From now on takes no digest of values that are dropped.
    pub(super) fn take_no_digests(&mut self) {
        self.dropped = RunningDigest::off();
    }

    /// Goes on from what was dropped before; whether that is what it says.
    pub(super) fn resume_dropped(&mut self, dropped: &Dropped) -> bool {
        RunningDigest::resume(dropped).map(|dropped| self.dropped = dropped).is_some()
    }

    /// Of how many invocations of a record a value was dropped.
    pub(super) fn dropped_of(&self, record: u32, part: KeptPart) -> u32 {
        self.of(record).map_or(0, |record| match part {
            KeptPart::Input => record.dropped_inputs,
            KeptPart::Output => record.dropped_outputs,
        })
    }

    /// Changes the status of an invocation to restricted. Constant time; its result stays.
    pub(super) fn restrict(&mut self, schema: &ContextSchema, id: InvocationId) {
        let Some(invocation) = self.log.get_mut(id.0 as usize) else { return };
        let function = invocation.function;
        let before = std::mem::replace(&mut invocation.status, InvocationStatus::Restricted);
        self.restrictions.push(id.0);
        let is_last = self.log.len().checked_sub(1) == Some(id.0 as usize);
        self.rewritten = self.rewritten.saturating_add(u64::from(!is_last));
        for &record in schema.records_of(function) {
            let Some(record) = self.records.get_mut(record as usize) else { continue };
            record.counts.remove(before);
            record.counts.add(InvocationStatus::Restricted);
            let is_last = record.positions.last() == Some(&id.0);
            record.rewritten = record.rewritten.saturating_add(u64::from(!is_last));
        }
    }

    /// Keeps only what is known of a value. For want of room, or because it is too large by itself: what then is lacking
    /// goes on counting. Constant time but for the digest.
    pub(super) fn shorten(&mut self, schema: &ContextSchema, id: InvocationId, part: KeptPart, lacks: bool) {
        let Some(invocation) = self.log.get_mut(id.0 as usize) else { return };
        let before = invocation.document_bytes();
        let value = match part {
            KeptPart::Input => Some(&mut invocation.input),
            KeptPart::Output => invocation.output.as_mut(),
        };
        let Some(value) = value.filter(|value| !value.is_shortened()) else { return };
        let shortened = shorten(value, lacks);
        *value = shortened.to_json();
        let after = invocation.document_bytes();
        if lacks {
            self.lacking_bytes = self.lacking_bytes.saturating_add(shortened.bytes);
        }
        self.document_bytes = self.document_bytes.saturating_sub(before).saturating_add(after);
        self.shortenings.push(id.0);
        for &record in schema.records_of(invocation.function) {
            let Some(record) = self.records.get_mut(record as usize) else { continue };
            record.shortened = record.shortened.saturating_add(1);
        }
    }

    /// The positions of which a value was shortened since the context is in memory.
    pub(super) fn shortenings(&self) -> &Log<u32> {
        &self.shortenings
    }

    /// The bytes that the log takes, counted the same way wherever it is: not what was allocated, but what is there.
    pub(super) fn bytes(&self) -> usize {
        let places = self.log.len().saturating_mul(INVOCATION_BYTES);
        self.document_bytes.saturating_add(places)
    }

    /// The positions that were made restricted since the context is in memory.
    pub(super) fn restrictions(&self) -> &Log<u32> {
        &self.restrictions
    }

    /// The invocations, oldest first.
    pub(super) fn log(&self) -> &Log<Logged> {
        &self.log
    }

    pub(super) fn get(&self, id: InvocationId) -> Option<&Logged> {
        self.log.get(id.0 as usize)
    }

    /// The child task of the invocation at a position.
    pub(super) fn task_id(&self, position: u32) -> Option<&Arc<str>> {
        self.task_ids.get(&position)
    }

    /// An invocation with all that is known of it. Its documents are shared.
    pub(super) fn told(&self, position: u32, logged: &Logged) -> InvocationRecord {
        InvocationRecord {
            function: logged.function,
            at: logged.at,
            started_at: *self.start_of(position, logged),
            input: logged.input.clone(),
            output: logged.output.clone(),
            status: logged.status,
            executed: logged.executed,
            origin: logged.origin,
            task_id: self.task_id(position).cloned(),
            message: self.message_of(position),
            rejected: self.kinds.is_rejected(position),
        }
    }

    /// When the invocation at a position was let through, or was stopped. By halves.
    pub(super) fn start_of<'l>(&'l self, position: u32, logged: &'l Logged) -> &'l Moment {
        let found = find(&self.starts, position);
        match self.starts.get(found) {
            Some((of, at)) if *of == position => at,
            _ => &logged.at,
        }
    }

    /// A call of a kind, of a record or of all functions, 0 the most recent: its position in the log.
    pub(super) fn newest_call(&self, kind: CallKind, record: Option<u32>, index: usize) -> Option<u32> {
        match record {
            None => self.kinds.newest(kind, index, self.log.len()),
            Some(record) => {
                let Record { positions, kinds, .. } = self.of(record)?;
                positions.get(kinds.newest(kind, index, positions.len())? as usize).copied()
            }
        }
    }

    /// How many calls of a record or of all functions are of a kind.
    pub(super) fn calls_len(&self, kind: CallKind, record: Option<u32>) -> usize {
        match record {
            None => self.kinds.len(kind, self.log.len()),
            Some(record) => self.of(record).map_or(0, |record| record.kinds.len(kind, record.len())),
        }
    }

    /// The message that the invocation at a position was made for. By halves, as there are fewer messages than invocations.
    pub(super) fn message_of(&self, position: u32) -> u32 {
        let after = find(&self.messages, position.saturating_add(1));
        after.checked_sub(1).and_then(|run| self.messages.get(run)).map_or(0, |(_, message)| *message)
    }

    /// All invocations from a position on, oldest first.
    pub(super) fn told_from(
        &self,
        start: usize,
    ) -> impl DoubleEndedIterator<Item = InvocationRecord> + ExactSizeIterator {
        let [start_at, end] = [start, self.log.len()].map(|at| u32::try_from(at).unwrap_or(u32::MAX));
        self.log.iter_from(start).zip(start_at..end).map(|(logged, position)| self.told(position, logged))
    }

    /// A function's or tool's record.
    pub(super) fn of(&self, record: u32) -> Option<&Record> {
        self.records.get(record as usize)
    }

    /// An invocation of a record, 0 the most recent.
    pub(super) fn newest(&self, record: u32, index: usize) -> Option<&Logged> {
        self.log.get(self.newest_position(record, index)? as usize)
    }

    /// Where it stands in the log.
    pub(super) fn newest_position(&self, record: u32, index: usize) -> Option<u32> {
        self.of(record)?.positions.nth_back(index).copied()
    }

    /// How often what had been read of a settled invocation changed, whichever record it is in.
    pub(super) fn changes(&self) -> u64 {
        self.rewritten.saturating_add(self.shortenings.len() as u64)
    }

    /// How many of the model's calls of a function ran.
    pub(super) fn executed(&self, function: FunctionId) -> u32 {
        self.of(function.0).map_or(0, |record| record.executed)
    }

    /// The bytes that the history holds on the heap; constant time in its length.
    pub(super) fn heap_bytes(&self) -> usize {
        let of_record =
            |record: &Record| record.positions.heap_bytes().saturating_add(record.kinds.heap_bytes());
        let positions = self.records.iter().map(of_record);
        let positions = positions.fold(0, usize::saturating_add);
        let records = self.records.len().saturating_mul(size_of::<Record>());
        let log = self.log.heap_bytes().saturating_add(self.document_bytes);
        let task_ids = self.task_ids.len().saturating_mul(size_of::<(u32, Arc<str>)>());
        let marks = self.kinds.heap_bytes().saturating_add(self.starts.heap_bytes());
        let others = self.restrictions.heap_bytes().saturating_add(task_ids).saturating_add(marks);
        log.saturating_add(records).saturating_add(positions).saturating_add(others)
    }
}

/// The index of the first entry at this position or behind it, in a log whose positions ascend. By halves.
fn find<T: Clone>(log: &Log<(u32, T)>, position: u32) -> usize {
    let (mut start, mut end) = (0_usize, log.len());
    while start < end {
        let middle = start.midpoint(end);
        match log.get(middle) {
            Some((at, _)) if *at < position => start = middle.saturating_add(1),
            _ => end = middle,
        }
    }
    start
}
