//! The state of one running task, and every change it can go through.
//!
//! Operations of the task come in as method calls, in the order in which they happen; expressions read the result
//! through [`TaskContext::value`]. Every change is amortised constant time in the length of the task, every count is
//! kept. Expressions cannot change anything here (`CTX-21`), a child's task has a context of its own (`CTX-24`,
//! `DEL-07`), and time comes in as an argument.

use super::claims;
use super::dropped::Dropped;
use super::history::{Counts, History};
use super::invocation::{InvocationId, InvocationRecord, KeptPart};
use super::labels::ValueSource;
use super::log::Log;
use super::moment::Moment;
use super::open_calls::OpenCalls;
use super::provenance::Provenance;
use super::pseudonyms::TaskPseudonyms;
use super::schema::ContextSchema;
use super::schema_decl::FunctionId;
use super::task_io::TaskIo;
use super::values_on_path::CallValues;
use crate::amount::Amount;
use crate::cel::{Field, Folds, Json, RecordType, Storage, Timestamp, Type};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::sync::Arc;

/// The facts that a task starts with and keeps.
#[derive(Clone, Debug, PartialEq)]
pub struct TaskFacts {
    /// The agent (`CTX-01`).
    pub agent: Arc<str>,
    /// Its namespace (`CTX-02`).
    pub namespace: Arc<str>,
    /// When the task was created (`CTX-03`); expressions see it to the second.
    pub started_at: Timestamp,
    /// The user; of a trigger's or schedule's task, the owner (`CTX-04`).
    pub user_id: Arc<str>,
    /// The user's address, if it is known; expressions see an empty text if not (`CTX-05`).
    pub user_email: Option<Arc<str>>,
    /// What is known of the user besides: the claims of their own token, an object.
    pub user_claims: Option<Json>,
    /// The network address from which the task was begun, if its host knows one.
    pub address: Option<Arc<str>>,
    /// The resolved model (`CTX-06`).
    pub model: Arc<str>,
    /// How many tasks have delegated, one to the other, to come to this one.
    pub depth: u32,
}

/// The kind of a turn of the conversation (`CTX-09`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TurnKind {
    /// An input was accepted.
    Input,
    /// The model answered.
    Llm,
    /// A result, an error or a block message went to the model (`CTX-25`).
    Capability,
}

impl TurnKind {
    /// All of them.
    pub(super) const ALL: [Self; 3] = [Self::Input, Self::Llm, Self::Capability];

    /// The word in `context._history.turns`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Input => "input",
            Self::Llm => "llm",
            Self::Capability => "capability",
        }
    }
}

/// The context of one task. A clone is a snapshot for reading: it shares the history and copies at most the latest part
/// of it.
#[derive(Clone)]
pub struct TaskContext {
    pub(super) schema: Arc<ContextSchema>,
    pub(super) start: TaskFacts,
    /// `started_at` as expressions see it.
    pub(super) started: Moment,
    /// The claims of the user that are visible, if any policy names one.
    pub(super) claims: Option<Json>,
    pub(super) prompt_tokens: i64,
    pub(super) completion_tokens: i64,
    pub(super) spend: Spend,
    pub(super) turns: Log<TurnKind>,
    llm_turns: u32,
    /// How many answers of the model a step withheld.
    pub(super) withheld: u32,
    pub(super) inputs: Entries,
    pub(super) outputs: Entries,
    /// The closed reviews, as expressions see them.
    pub(super) reviews: Vec<Json>,
    pub(super) history: History,
    /// The calls whose results are awaited. Whoever runs the task says which: they are no part of the stored context.
    pub(super) open: OpenCalls,
    /// What is kept of the loops over all this; nothing that it is needed for.
    pub(super) folds: Folds,
    /// Where values came from, and their labels.
    pub(super) provenance: Provenance,
    /// Pseudonyms of personal data of the task.
    pub(super) pseudonyms: TaskPseudonyms,
}

/// What the model's turns have cost: the sum, and the nearest double, which expressions read without computing it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Spend {
    exact: Amount,
    pub(super) nearest: f64,
}

/// `context.input` or `context.output`, oldest first (`CTX-11`, `CTX-12`).
#[derive(Clone, Debug, Default)]
pub(super) struct Entries {
    entries: Log<Entry>,
    /// How many have another after them: only the last is taken back or replaced.
    pub(super) settled: usize,
    /// How often one of those was taken back all the same.
    pub(super) epoch: u64,
    document_bytes: usize,
}

/// An entry with the names of its keys, so that a key is found like a field. Entries with the same keys share them.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    pub(super) io: TaskIo,
    pub(super) shape: Arc<RecordType>,
    /// The bytes on the heap that came with it.
    bytes: usize,
}

impl TaskContext {
    /// The context of a task that starts: no turns, and a record of zeros for every function (`KEY-11`).
    #[must_use]
    pub fn new(schema: Arc<ContextSchema>, start: TaskFacts) -> Self {
        Self {
            history: History::new(&schema),
            started: start.started_at.into(),
            claims: claims::visible(&schema, start.user_claims.as_ref()),
            schema,
            start,
            prompt_tokens: 0,
            completion_tokens: 0,
            spend: Spend::default(),
            turns: Log::default(),
            llm_turns: 0,
            withheld: 0,
            inputs: Entries::default(),
            outputs: Entries::default(),
            reviews: Vec::new(),
            open: OpenCalls::default(),
            folds: Folds::default(),
            provenance: Provenance::default(),
            pseudonyms: TaskPseudonyms::default(),
        }
    }

    /// Appends a closed review: an object with the fields of the type `review`.
    pub(crate) fn push_review(&mut self, review: Json) {
        self.reviews.push(review);
    }

    /// Appends an input. While `guardrails.before` tests it, it is the last entry already (`GR-09`).
    pub fn push_input(&mut self, input: TaskIo) {
        self.inputs.push(input, self.schema.input_type());
    }

    /// Replaces the last input (`GR-11`). Does nothing if there is no input.
    pub fn replace_last_input(&mut self, input: TaskIo) {
        if self.inputs.pop().is_some() {
            self.push_input(input);
        }
    }

    /// Takes the last input back, if a guardrail refused it and the task does not keep it.
    pub fn pop_input(&mut self) -> Option<TaskIo> {
        let taken = self.inputs.pop();
        if let Ok(last) = u32::try_from(self.inputs.len()) {
            self.provenance.labels.forget(ValueSource::Input(last));
        }
        taken
    }

    /// Appends a response. While `exposes` and `guardrails.after` read it, it is the last entry already (`GR-10`).
    pub fn push_output(&mut self, output: TaskIo) {
        self.outputs.push(output, self.schema.output_type());
    }

    /// Puts another response in the place of the last: with its exposed values (`EXP-02`), or transformed (`GR-12`).
    pub fn replace_last_output(&mut self, output: TaskIo) {
        if self.outputs.pop().is_some() {
            self.push_output(output);
        }
    }

    /// Takes the last response back.
    pub fn pop_output(&mut self) -> Option<TaskIo> {
        self.outputs.pop()
    }

    /// Appends a turn (`CTX-09`).
    pub fn turn(&mut self, kind: TurnKind) {
        self.turns.push(kind);
        self.llm_turns = self.llm_turns.saturating_add(u32::from(kind == TurnKind::Llm));
    }

    /// A step withheld an answer of the model.
    pub fn withhold_answer(&mut self) {
        self.withheld = self.withheld.saturating_add(1);
    }

    /// How many answers of the model a step withheld.
    #[must_use]
    pub fn withheld(&self) -> u32 {
        self.withheld
    }

    /// Adds the tokens of a model turn (`CTX-07`).
    pub fn add_tokens(&mut self, prompt: u64, completion: u64) {
        self.prompt_tokens = self.prompt_tokens.saturating_add_unsigned(prompt);
        self.completion_tokens = self.completion_tokens.saturating_add_unsigned(completion);
    }

    /// Adds what a model turn cost.
    pub fn add_cost(&mut self, cost: Amount) {
        let exact = self.spend.exact.plus(cost);
        self.spend = Spend { exact, nearest: exact.to_double() };
    }

    /// Records an invocation: in its function's record, its tool's, and `_meta` (`MW-46`, `REC-13`, `REC-17`). One of
    /// a function that the schema does not have enters `_meta` only, and limits count it.
    pub fn record(&mut self, invocation: InvocationRecord) -> InvocationId {
        self.record_keeping(invocation, CallValues::ALL)
    }

    /// The same of an invocation of which only these values are kept. What is dropped enters the running digest
    /// ([`TaskContext::dropped`]); to read it is `value_shortened`. Linear in what is dropped.
    pub fn record_keeping(&mut self, mut invocation: InvocationRecord, kept: CallValues) -> InvocationId {
        // a result of null and none are the same to expressions, and a document of its own costs memory
        invocation.output = invocation.output.filter(|output| !output.root().is_null());
        self.history.record(&self.schema, invocation, kept)
    }

    /// How many values of calls the task did not keep, and the digest of all of them; nothing if it kept each. The digest is for those who
    /// have the values elsewhere: of a short secret it would let others make sure what they guess.
    #[must_use]
    pub fn dropped(&self) -> Option<Dropped> {
        self.history.dropped()
    }

    /// From now on takes no digest of values that are dropped. A caller that has all values needs none.
    pub(crate) fn take_no_digests(&mut self) {
        self.history.take_no_digests();
    }

    /// Of how many calls of a function a value was dropped. Constant time.
    #[must_use]
    pub fn dropped_of(&self, function: FunctionId, part: KeptPart) -> u32 {
        self.history.dropped_of(function.0, part)
    }

    /// Makes an invocation restricted whose result `after` withheld; the result stays on record (`REC-06`).
    pub fn restrict(&mut self, id: InvocationId) {
        self.history.restrict(&self.schema, id);
    }

    /// Keeps of a value of an invocation only its digest, its length and its kind: reading it is `value_shortened` from now
    /// on. Of one that `lacks` for want of room the bytes go on counting ([`TaskContext::lacking_bytes`]). Linear in the
    /// value, once.
    pub fn shorten(&mut self, id: InvocationId, part: KeptPart, lacks: bool) {
        self.history.shorten(&self.schema, id, part, lacks);
    }

    /// The bytes that the task's texts, messages, arguments and results take, with a fixed part for each entry. The same
    /// for the same task, wherever it was opened. Constant time.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        let entries = self.inputs.bytes().saturating_add(self.outputs.bytes());
        let bytes = self.turns.len().saturating_add(entries).saturating_add(self.history.bytes());
        let bytes = bytes.saturating_add(self.provenance.labels.bytes());
        bytes.saturating_add(self.pseudonyms.known().bytes()) as u64
    }

    /// The bytes of results that the task had no room for. Constant time.
    #[must_use]
    pub fn lacking_bytes(&self) -> u64 {
        self.history.lacking_bytes
    }

    /// The schema of the agent.
    #[must_use]
    pub fn schema(&self) -> &Arc<ContextSchema> {
        &self.schema
    }

    /// The facts that the task started with.
    #[must_use]
    pub fn start(&self) -> &TaskFacts {
        &self.start
    }

    /// The person for whom the task runs: their id, and their e-mail address if the host gave one.
    #[must_use]
    pub fn user(&self) -> (&str, Option<&str>) {
        (&self.start.user_id, self.start.user_email.as_deref())
    }

    /// When the task was created; `max_age` counts from here (`LIM-08`).
    #[must_use]
    pub fn started_at(&self) -> Timestamp {
        self.start.started_at
    }

    /// The number of the model's turns, bounded by `max_turns` (`LIM-03`).
    #[must_use]
    pub fn llm_turns(&self) -> u32 {
        self.llm_turns
    }

    /// All turns, in order.
    pub fn turns(&self) -> impl DoubleEndedIterator<Item = TurnKind> + ExactSizeIterator {
        self.turns.iter().copied()
    }

    /// Prompt tokens so far, bounded by `max_prompt_tokens` (`LIM-04`).
    #[must_use]
    pub fn prompt_tokens(&self) -> i64 {
        self.prompt_tokens
    }

    /// Completion tokens so far, bounded by `max_completion_tokens` (`LIM-05`).
    #[must_use]
    pub fn completion_tokens(&self) -> i64 {
        self.completion_tokens
    }

    /// What the model's turns have cost so far, in the unit in which the host reports it; bounded by `max_spend`.
    #[must_use]
    pub fn spend(&self) -> Amount {
        self.spend.exact
    }

    /// The number of the model's calls, delegations among them, bounded by `max_tool_calls` (`LIM-09` to `LIM-11`).
    #[must_use]
    pub fn calls_by_model(&self) -> u32 {
        self.history.calls_by_model
    }

    /// How many of the model's calls of a function ran: while it is 0, `before_first` applies (`MW-39`, `MW-41`).
    #[must_use]
    pub fn executed(&self, function: FunctionId) -> u32 {
        self.history.executed(function)
    }

    /// The counts in a function's record.
    #[must_use]
    pub fn counts(&self, function: FunctionId) -> Counts {
        self.history.of(function.0).map(|record| record.counts).unwrap_or_default()
    }

    /// An invocation on record.
    #[must_use]
    pub fn invocation(&self, id: InvocationId) -> Option<InvocationRecord> {
        Some(self.history.told(id.0, self.history.get(id)?))
    }

    /// The arguments or the result of an invocation on record, or what stands in their place.
    #[must_use]
    pub fn value_of(&self, id: InvocationId, part: KeptPart) -> Option<&Json> {
        self.history.get(id)?.value(part)
    }

    /// All invocations, oldest first; their documents are shared.
    pub fn invocations(&self) -> impl DoubleEndedIterator<Item = InvocationRecord> + ExactSizeIterator {
        self.history.told_from(0)
    }

    /// All inputs, oldest first.
    pub fn inputs(&self) -> impl DoubleEndedIterator<Item = &TaskIo> + ExactSizeIterator {
        self.inputs.entries.iter().map(|entry| &entry.io)
    }

    /// All responses, oldest first.
    pub fn outputs(&self) -> impl DoubleEndedIterator<Item = &TaskIo> + ExactSizeIterator {
        self.outputs.entries.iter().map(|entry| &entry.io)
    }

    /// The last input: the pending one while it is tested.
    #[must_use]
    pub fn last_input(&self) -> Option<&TaskIo> {
        self.inputs.entries.last().map(|entry| &entry.io)
    }

    /// The last response: the pending one while it is tested.
    #[must_use]
    pub fn last_output(&self) -> Option<&TaskIo> {
        self.outputs.entries.last().map(|entry| &entry.io)
    }

    /// The bytes that the context holds on the heap, documents in full even if others share them, and the schema not.
    /// Constant time in the length of the task.
    #[must_use]
    pub fn heap_bytes(&self) -> usize {
        let start = [&self.start.agent, &self.start.namespace, &self.start.user_id, &self.start.model];
        let start = start.into_iter().chain(&self.start.user_email);
        let claims = self.start.user_claims.iter().chain(&self.claims);
        let claims = claims.fold(0_usize, |sum, claims| sum.saturating_add(claims.heap_bytes()));
        start
            .fold(claims, |sum, text| sum.saturating_add(text.len()))
            .saturating_add(self.turns.heap_bytes())
            .saturating_add(self.inputs.heap_bytes())
            .saturating_add(self.outputs.heap_bytes())
            .saturating_add(self.history.heap_bytes())
            .saturating_add(self.open.heap_bytes())
            .saturating_add(self.folds.heap_bytes())
            .saturating_add(self.provenance.heap_bytes())
    }
}

impl fmt::Debug for TaskContext {
    /// How much there is, and nothing of what it says: task data must not reach a log by accident.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TaskContext")
            .field("turns", &self.turns.len())
            .field("inputs", &self.inputs.len())
            .field("outputs", &self.outputs.len())
            .field("invocations", &self.history.log().len())
            .finish()
    }
}

impl Entries {
    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    pub(super) fn get(&self, index: usize) -> Option<&Entry> {
        self.entries.get(index)
    }

    fn push(&mut self, io: TaskIo, declared: &Arc<RecordType>) {
        let known = [Some(declared), self.entries.last().map(|entry| &entry.shape)];
        let shared = known.into_iter().flatten().find(|shape| is_shape_of(shape, &io)).cloned();
        let own_names = if shared.is_some() { 0 } else { names_bytes(&io) };
        let shape = shared.unwrap_or_else(|| shape_of(&io));
        let bytes = io.heap_bytes().saturating_add(own_names);
        self.document_bytes = self.document_bytes.saturating_add(bytes);
        self.settled = self.entries.len();
        self.entries.push(Entry { io, shape, bytes });
    }

    fn pop(&mut self) -> Option<TaskIo> {
        let last = self.entries.pop()?;
        self.document_bytes = self.document_bytes.saturating_sub(last.bytes);
        if self.entries.len() < self.settled {
            self.settled = self.entries.len();
            self.epoch = self.epoch.saturating_add(1);
        }
        Some(last.io)
    }

    fn bytes(&self) -> usize {
        self.document_bytes.saturating_add(self.entries.len().saturating_mul(size_of::<Entry>()))
    }

    fn heap_bytes(&self) -> usize {
        self.entries.heap_bytes().saturating_add(self.document_bytes)
    }
}

/// Whether a record's names are the keys of an entry, in its order.
fn is_shape_of(shape: &RecordType, io: &TaskIo) -> bool {
    let names = shape.fields.keys().skip(1).map(|name| &**name);
    names.eq(io.extra().entries().map(|(key, _)| key))
}

/// A record with the keys of this entry. What they hold is not declared anywhere.
fn shape_of(io: &TaskIo) -> Arc<RecordType> {
    let keys = std::iter::once("message").chain(io.extra().entries().map(|(key, _)| key));
    let field = |key: &str| (key.into(), Field::required(Type::Dyn));
    Arc::new(RecordType {
        name: "TaskIO".to_owned(),
        fields: keys.map(field).collect(),
        aliases: Vec::new(),
        storage: Storage::Open,
    })
}

fn names_bytes(io: &TaskIo) -> usize {
    let field = size_of::<(Arc<str>, Field)>().saturating_mul(2);
    let keys = io.extra().entries().map(|(key, _)| key.len().saturating_add(field));
    keys.fold(field, usize::saturating_add)
}
