//! What has been called: one append-only log of invocations, and for each function and tool the positions in it.
//!
//! Recording copies nothing of what is there, and every read is constant time: counts are kept, never recounted, and the lists of a
//! record (`outputs`, `timestamps`, …) are newest-first views over its positions (`REC-03`). All lists of a record are
//! views over the same positions, so they cannot differ in length (`REC-02`), and an invocation has one status, so
//! exactly one of its three flags is true (`REC-04`). Nothing is ever removed.

use super::call_type::{ERRORED, RESTRICTED, SUCCESSFUL};
use super::log::Log;
use super::moment::Moment;
use super::schema::ContextSchema;
use super::schema_decl::FunctionId;
use super::shorten::shorten;
use crate::cel::Json;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// An invocation on record: its position in the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct InvocationId(pub(super) u32);

/// How an invocation ended (`REC-04`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum InvocationStatus {
    /// The capability gave a result.
    Successful,
    /// The capability failed, or the call could not be formed (`REC-07`).
    Errored,
    /// Middleware stopped the call or withheld its result (`REC-05`, `REC-06`).
    Restricted,
}

/// Who wants a capability carried out, or has had it done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Caller {
    /// The model: it counts towards `max_tool_calls` (`LIM-09`).
    Model,
    /// An invoke step: it does not (`LIM-11`), and the model sees nothing of it (`MW-14`).
    Middleware,
}

/// One attempt to run a function.
#[derive(Clone, Debug, PartialEq)]
pub struct InvocationRecord {
    /// The function.
    pub function: FunctionId,
    /// When.
    pub at: Moment,
    /// The resolved arguments (`REC-08`).
    pub input: Json,
    /// The result as the capability gave it (`MW-16`); `None` if the capability did not run.
    pub output: Option<Json>,
    /// How it ended.
    pub status: InvocationStatus,
    /// Whether the capability itself ran; `before_first` depends on it (`MW-41`).
    pub executed: bool,
    /// Who asked for it.
    pub origin: Caller,
    /// The child task, if the function is a sub-agent and got that far (`REC-14`).
    pub task_id: Option<Arc<str>>,
}

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

impl InvocationStatus {
    /// The word that expressions see.
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Successful => SUCCESSFUL,
            Self::Errored => ERRORED,
            Self::Restricted => RESTRICTED,
        }
    }
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
    pub(super) counts: Counts,
    /// The model's calls that ran.
    executed: u32,
    /// How often the status of another invocation than the last changed.
    pub(super) rewritten: u64,
    /// How often a value was shortened that had been read whole.
    pub(super) shortened: u64,
}

/// A part of an invocation that may be kept as its digest only.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeptPart {
    /// The arguments that middleware formed.
    Input,
    /// The result.
    Output,
}

/// What an invocation takes besides its documents: its place in the log and in two records.
const INVOCATION_BYTES: usize = 128;

/// The log, and what is kept about it.
#[derive(Clone, Debug)]
pub(super) struct History {
    log: Log<InvocationRecord>,
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

    /// Appends an invocation. One of a function that the schema does not have is in the log and in no record.
    pub(super) fn record(&mut self, schema: &ContextSchema, invocation: InvocationRecord) -> InvocationId {
        let position = u32::try_from(self.log.len()).unwrap_or(u32::MAX);
        let by_model = invocation.origin == Caller::Model;
        for &record in schema.records_of(invocation.function) {
            let Some(record) = self.records.get_mut(record as usize) else { continue };
            record.positions.push(position);
            record.counts.add(invocation.status);
            record.executed = record.executed.saturating_add(u32::from(by_model && invocation.executed));
        }
        self.delegations =
            self.delegations.saturating_add(u32::from(schema.is_delegation(invocation.function)));
        self.calls_by_model = self.calls_by_model.saturating_add(u32::from(by_model));
        self.document_bytes = self.document_bytes.saturating_add(invocation.document_bytes());
        self.lacking_bytes = self.lacking_bytes.saturating_add(invocation.lacking_bytes());
        self.log.push(invocation);
        InvocationId(position)
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
    pub(super) fn log(&self) -> &Log<InvocationRecord> {
        &self.log
    }

    pub(super) fn get(&self, id: InvocationId) -> Option<&InvocationRecord> {
        self.log.get(id.0 as usize)
    }

    /// A function's or tool's record.
    pub(super) fn of(&self, record: u32) -> Option<&Record> {
        self.records.get(record as usize)
    }

    /// An invocation of a record, 0 the most recent.
    pub(super) fn newest(&self, record: u32, index: usize) -> Option<&InvocationRecord> {
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
        let positions = self.records.iter().map(|record| record.positions.heap_bytes());
        let positions = positions.fold(0, usize::saturating_add);
        let records = self.records.len().saturating_mul(size_of::<Record>());
        let log = self.log.heap_bytes().saturating_add(self.document_bytes);
        log.saturating_add(records).saturating_add(positions).saturating_add(self.restrictions.heap_bytes())
    }
}

impl InvocationRecord {
    /// The bytes of its values that the task had no room for.
    fn lacking_bytes(&self) -> u64 {
        let values = std::iter::once(&self.input).chain(&self.output).filter_map(Json::shortened);
        values.filter(|value| value.lacks_room).fold(0, |sum, value| sum.saturating_add(value.bytes))
    }

    /// The bytes on the heap, as if nothing of it were shared.
    fn document_bytes(&self) -> usize {
        let output = self.output.as_ref().map_or(0, Json::heap_bytes);
        let task_id = self.task_id.as_ref().map_or(0, |id| id.len());
        self.input.heap_bytes().saturating_add(output).saturating_add(task_id)
    }
}
