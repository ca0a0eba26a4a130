//! The calls that a task knows by their ids, so that one that comes again is not made or recorded a second time.
//!
//! In: a call when it is made, when its result is taken, and when it is closed. Out: whether the same call or the same result
//! was there before, which call was made first, and what was told of one that is closed. A call that is open or waits is known
//! as long as that; of those that are closed the last `max_known_calls` are, and the oldest make room. Of functions, arguments
//! and results digests are kept, and no values.

use super::decision::{CallId, Decision, LimitReached};
use super::effect::CallResult;
use super::hidden::Hidden;
use super::start::Call;
use super::switch::Switch;
use super::under_way::Extent;
use super::verdict::Verdict;
use crate::cel::{Json, JsonRef, Kind};
use crate::context::InvocationId;
use crate::digest::Digest;
use crate::policy::Origin;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use smallvec::SmallVec;
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::fmt;
use std::io::Write as _;

/// The first half of a digest: nobody finds another value with the same 128 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub(in crate::task) struct Mark(u128);

/// One call that a task knows.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::task) struct KnownCall {
    /// How many calls the task had known when it was made.
    number: u64,
    id: CallId,
    /// Of its function and its arguments, as the model gave them; absent for an id that the task made up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    made: Option<Mark>,
    /// Of the result that was reported.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    result: Option<Mark>,
    /// Its entry on record, once it has run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    record: Option<InvocationId>,
    /// What it came to, once it is closed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    told: Option<Box<Told>>,
}

/// What is kept of the decision of a call that is closed.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Told {
    verdict: Verdict,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    message: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    limit: Option<LimitReached>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    switch: Option<Box<Switch>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    decided_by: Option<Origin>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    secret: Option<Box<Hidden>>,
    /// Whether its value is the result of the call, which is on record or was reported.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    is_on_record: bool,
}

/// What a task knows of a call that is closed.
pub(in crate::task) enum Closed {
    /// It came to this decision, which has no value.
    Told(Decision),
    /// It came to this decision, whose value is the output of this entry, as far as that is kept.
    OnRecord(Decision, InvocationId),
    /// What it came to is not kept.
    NotKept,
}

/// The calls that a task knows.
#[derive(Clone, Debug, Default)]
pub(in crate::task) struct KnownCalls {
    calls: BTreeMap<u64, KnownCall>,
    numbers: HashMap<CallId, u64>,
    /// The numbers of those that are closed, in the order in which they were.
    closed: VecDeque<u64>,
    /// How many made room since the task was opened.
    forgotten: usize,
    next: u64,
    /// What their texts take.
    bytes: u64,
}

/// The calls that a task knows, as they are stored.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::task) struct SavedCalls {
    next: u64,
    /// Those that are open or wait, in the order in which they were made.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    open: Vec<KnownCall>,
    /// Those that are closed, in the order in which they were.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    closed: Vec<KnownCall>,
}

/// Where the calls were at one moment.
#[derive(Clone, Copy, Debug)]
pub(in crate::task) struct CallsMark {
    next: u64,
    closed: usize,
    forgotten: usize,
}

/// What became of the calls between two moments.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::task) struct CallsChange {
    next: u64,
    /// Closed ones that made room.
    #[serde(default, skip_serializing_if = "is_zero")]
    forgotten: usize,
    /// Those that are open and new.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    made: Vec<KnownCall>,
    /// Those that are open and were reported.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    reported: Vec<KnownCall>,
    /// Those that were closed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    closed: Vec<KnownCall>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands a reference over")]
fn is_zero(count: &usize) -> bool {
    *count == 0
}

impl KnownCalls {
    /// The call with an id.
    pub(in crate::task) fn get(&self, id: &CallId) -> Option<&KnownCall> {
        self.calls.get(self.numbers.get(id)?)
    }

    fn get_mut(&mut self, id: &CallId) -> Option<&mut KnownCall> {
        self.calls.get_mut(self.numbers.get(id)?)
    }

    /// How many calls the task had known when this one was made; the largest number for one that it does not know.
    pub(in crate::task) fn number(&self, id: &CallId) -> u64 {
        self.numbers.get(id).copied().unwrap_or(u64::MAX)
    }

    /// A call is made, under an id that no other has.
    pub(in crate::task) fn make(&mut self, id: CallId, made: Option<Mark>) {
        let number = self.next;
        self.put(KnownCall { number, id, made, result: None, record: None, told: None });
    }

    fn put(&mut self, call: KnownCall) {
        self.next = self.next.max(call.number.saturating_add(1));
        self.bytes = self.bytes.saturating_add(call.bytes());
        self.numbers.insert(call.id.clone(), call.number);
        self.calls.insert(call.number, call);
    }

    /// Its result is reported.
    pub(in crate::task) fn report(&mut self, id: &CallId, result: Mark) {
        if let Some(call) = self.get_mut(id) {
            call.result = Some(result);
        }
    }

    /// It has an entry on record.
    pub(in crate::task) fn record(&mut self, id: &CallId, record: InvocationId) {
        if let Some(call) = self.get_mut(id) {
            call.record = Some(record);
        }
    }

    /// It is closed, and came to this decision; `is_on_record` says that the decision's value is the output on record, or was before that was dropped. At most
    /// `most` that are closed stay.
    pub(in crate::task) fn close(
        &mut self,
        id: &CallId,
        decision: &Decision,
        is_on_record: bool,
        most: usize,
    ) {
        let Some(call) = self.get_mut(id).filter(|call| call.told.is_none()) else { return };
        let (number, before) = (call.number, call.bytes());
        call.told = Some(Box::new(Told::of(decision, is_on_record)));
        let more = call.bytes().saturating_sub(before);
        self.bytes = self.bytes.saturating_add(more);
        self.closed.push_back(number);
        while self.closed.len() > most {
            let Some(call) = self.closed.pop_front().and_then(|oldest| self.calls.remove(&oldest)) else {
                break;
            };
            self.bytes = self.bytes.saturating_sub(call.bytes());
            self.numbers.remove(&call.id);
            self.forgotten = self.forgotten.saturating_add(1);
        }
    }

    /// What their texts take.
    pub(in crate::task) fn bytes(&self) -> u64 {
        self.bytes
    }

    pub(in crate::task) fn mark(&self) -> CallsMark {
        let closed = self.forgotten.saturating_add(self.closed.len());
        CallsMark { next: self.next, closed, forgotten: self.forgotten }
    }

    /// Whether no call was made or closed since a mark.
    pub(in crate::task) fn is_at(&self, mark: &CallsMark) -> bool {
        self.next == mark.next && self.forgotten.saturating_add(self.closed.len()) == mark.closed
    }

    /// What happened since a mark. Linear in that, and in the calls that are open.
    pub(in crate::task) fn since(&self, mark: &CallsMark) -> Option<CallsChange> {
        let is_open = |call: &&KnownCall| call.told.is_none();
        let made: Vec<_> =
            self.calls.range(mark.next..).map(|(_, call)| call).filter(is_open).cloned().collect();
        let open = self.calls.range(..mark.next).map(|(_, call)| call).filter(is_open);
        let reported: Vec<_> =
            open.filter(|call| call.record.is_some() || call.result.is_some()).cloned().collect();
        let known = mark.closed.saturating_sub(self.forgotten);
        let closed = self.closed.iter().skip(known).filter_map(|number| self.calls.get(number));
        let closed: Vec<_> = closed.cloned().collect();
        let forgotten = self.forgotten.saturating_sub(mark.forgotten);
        let is_empty = made.is_empty() && reported.is_empty() && closed.is_empty() && forgotten == 0;
        (!is_empty || self.next != mark.next).then_some(CallsChange {
            next: self.next,
            forgotten,
            made,
            reported,
            closed,
        })
    }

    pub(in crate::task) fn save(&self) -> SavedCalls {
        let closed = self.closed.iter().filter_map(|number| self.calls.get(number));
        let open = self.calls.values().filter(|call| call.told.is_none());
        SavedCalls { next: self.next, open: open.cloned().collect(), closed: closed.cloned().collect() }
    }

    /// The calls of a task that was stored; `ids` are those that are open or wait, for a task of an earlier release, which numbered
    /// its calls.
    pub(in crate::task) fn restore(saved: SavedCalls, ids: impl IntoIterator<Item = CallId>) -> Self {
        let closed = saved.closed.iter().map(|call| call.number).collect();
        let mut calls = Self { closed, ..Self::default() };
        saved.closed.into_iter().chain(saved.open).for_each(|call| calls.put(call));
        calls.next = calls.next.max(saved.next);
        let mut others: Vec<CallId> = ids.into_iter().filter(|id| calls.get(id).is_none()).collect();
        others.sort_by_key(|id| id.as_str().parse().unwrap_or(u64::MAX));
        others.into_iter().for_each(|id| calls.make(id, None));
        calls
    }
}

impl SavedCalls {
    /// Whether nothing is known.
    pub(in crate::task) fn is_empty(&self) -> bool {
        self.next == 0
    }

    /// The calls after a change. What was closed and made room at once is in neither.
    pub(in crate::task) fn apply(&mut self, change: CallsChange) {
        let CallsChange { next, forgotten, made, reported, closed } = change;
        self.next = self.next.max(next);
        self.closed.drain(..forgotten.min(self.closed.len()));
        let is_changed = |call: &KnownCall| {
            let mut changed = closed.iter().chain(&reported);
            changed.any(|other| other.number == call.number)
        };
        self.open.retain(|call| !is_changed(call));
        self.open.extend(reported);
        self.open.extend(made);
        self.open.sort_by_key(|call| call.number);
        self.closed.extend(closed);
    }
}

impl KnownCall {
    /// Whether a call is this one, made once more.
    pub(in crate::task) fn is_made_so(&self, made: Mark) -> bool {
        self.made == Some(made)
    }

    /// The digest of its result, if it was reported.
    pub(in crate::task) fn result(&self) -> Option<Mark> {
        self.result
    }

    /// Its entry on record, if it has run.
    pub(in crate::task) fn on_record(&self) -> Option<InvocationId> {
        self.record
    }

    /// What it came to.
    pub(in crate::task) fn closed(&self) -> Closed {
        match (&self.told, self.record) {
            (None, _) => Closed::NotKept,
            (Some(told), Some(record)) if told.is_on_record => Closed::OnRecord(told.decision(), record),
            // a value that is not on record was for the model, once
            (Some(told), _) if told.verdict == Verdict::Allow => Closed::NotKept,
            (Some(told), _) => Closed::Told(told.decision()),
        }
    }

    fn bytes(&self) -> u64 {
        let told = self.told.as_ref().map_or(0, |told| {
            let texts = [&told.message, &told.reason].into_iter().flatten();
            texts.fold(size_of::<Told>(), |sum, text| sum.saturating_add(text.len()))
        });
        size_of::<Self>().saturating_add(self.id.as_str().len()).saturating_add(told) as u64
    }
}

impl Told {
    fn of(decision: &Decision, is_on_record: bool) -> Self {
        Self {
            verdict: decision.verdict,
            message: decision.message.clone(),
            reason: decision.reason.clone(),
            limit: decision.limit.clone(),
            switch: decision.switch.clone(),
            decided_by: decision.decided_by.clone(),
            secret: decision.secret.clone(),
            is_on_record,
        }
    }

    fn decision(&self) -> Decision {
        Decision {
            message: self.message.clone(),
            reason: self.reason.clone(),
            limit: self.limit.clone(),
            switch: self.switch.clone(),
            decided_by: self.decided_by.clone(),
            secret: self.secret.clone(),
            ..Decision::new(self.verdict)
        }
    }
}

impl Mark {
    /// Of a call, as the model made it, and how far it is to go. Members of objects count without their order. Linear.
    pub(in crate::task) fn of_call(call: &Call, extent: Extent) -> Self {
        Self::of(format_args!("{extent:?} {}", call.function), &call.arguments)
    }

    /// Of a result. Linear.
    pub(in crate::task) fn of_result(result: &CallResult) -> Self {
        let child = result.task_id.as_deref().unwrap_or_default();
        Self::of(format_args!("{:?} {child}", result.status), &result.output)
    }

    /// Of what is sent to a model. Linear.
    pub(in crate::task) fn of_request(request: &Json) -> Self {
        Self::of(format_args!("request"), request)
    }

    /// Of what a model has answered. Linear.
    pub(in crate::task) fn of_answer(answer: &Json) -> Self {
        Self::of(format_args!("answer"), answer)
    }

    fn of(name: fmt::Arguments<'_>, value: &Json) -> Self {
        let mut state = Sha256::new();
        digest_text(name, &mut state);
        digest_value(value.root(), &mut state);
        let digest = Digest::finished(state);
        let (half, _) = digest.as_bytes().split_at(16);
        Self(half.iter().fold(0, |sum, byte| sum << 8 | u128::from(*byte)))
    }
}

/// Bytes with their length, so that no two lists of texts come to the same.
fn digest(bytes: &[u8], state: &mut Sha256) {
    state.update((bytes.len() as u64).to_be_bytes());
    state.update(bytes);
}

/// The same of a text that is short, which is not put together elsewhere: every call and every result pays for this.
fn digest_text(text: fmt::Arguments<'_>, state: &mut Sha256) {
    let mut bytes = SmallVec::<[u8; 64]>::new();
    // a vector takes whatever is written to it
    let _ = bytes.write_fmt(text);
    digest(&bytes, state);
}

/// A value; those whose members only stand in another order come to the same. As deep as a document may be.
fn digest_value(value: JsonRef<'_>, state: &mut Sha256) {
    match value.kind() {
        Kind::Map => {
            let mut members: SmallVec<[(&str, JsonRef<'_>); 8]> = value.entries().collect();
            members.sort_unstable_by_key(|(name, _)| *name);
            digest(b"{", state);
            state.update((members.len() as u64).to_be_bytes());
            for (name, member) in members {
                digest(name.as_bytes(), state);
                digest_value(member, state);
            }
        }
        Kind::List => {
            digest(b"[", state);
            state.update((value.len() as u64).to_be_bytes());
            value.items().for_each(|item| digest_value(item, state));
        }
        Kind::String => {
            digest(b"\"", state);
            digest(value.as_str().unwrap_or_default().as_bytes(), state);
        }
        _ => digest_text(format_args!("{value}"), state),
    }
}

impl From<Mark> for String {
    fn from(mark: Mark) -> Self {
        format!("{:032x}", mark.0)
    }
}

impl TryFrom<String> for Mark {
    type Error = std::num::ParseIntError;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        u128::from_str_radix(&text, 16).map(Self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::EvalLimits;

    /// Marks are stored with tasks, so they must not change with a release.
    #[test]
    fn a_mark_is_made_of_these_bytes() {
        let output = Json::parse(r#"{"b": [true], "a": "x"}"#, &EvalLimits::default()).unwrap();
        let number = |number: u64| number.to_be_bytes().to_vec();
        let text = |text: &str| [number(text.len() as u64), text.into()].concat();
        let object = [text("{"), number(2), text("a"), text("\""), text("x"), text("b")].concat();
        let list = [text("["), number(1), text("true")].concat();
        let bytes = [text("Successful "), object, list].concat();
        let digest = Digest::of(&bytes).to_string();
        assert!(digest.starts_with(&String::from(Mark::of_result(&CallResult::successful(output)))));
    }
}
