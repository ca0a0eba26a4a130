//! The calls that a task knows by their ids, so that one that comes again is not made or recorded a second time.
//!
//! In: a call when it is made, when its result is taken, and when it is closed. Out: whether the same call or the same result
//! was there before, which call was made first, and what was told of one that is closed. A call that is open or waits is known
//! as long as that; of those that are closed the last `max_known_calls` are, and the oldest make room. Of functions, arguments
//! and results digests are kept, and no values.

use super::call_id::CallId;
use super::closed_calls::ClosedCalls;
use super::decision::Decision;
use super::known_call::{KnownCall, Told};
use super::mark::Mark;
use crate::context::InvocationId;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, HashMap};

/// The calls that a task knows.
#[derive(Clone, Debug, Default)]
pub(in crate::task) struct KnownCalls {
    /// Those that are open or wait, by their numbers.
    open: BTreeMap<u64, KnownCall>,
    numbers: HashMap<CallId, u64>,
    closed: ClosedCalls,
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
        match self.numbers.get(id) {
            Some(number) => self.open.get(number),
            None => self.closed.get(id),
        }
    }

    fn open_mut(&mut self, id: &CallId) -> Option<&mut KnownCall> {
        self.open.get_mut(self.numbers.get(id)?)
    }

    /// How many calls the task had known when this one was made; the largest number for one that it does not know.
    pub(in crate::task) fn number(&self, id: &CallId) -> u64 {
        self.get(id).map_or(u64::MAX, |call| call.number)
    }

    /// A call is made, under an id that no other has.
    pub(in crate::task) fn make(&mut self, id: CallId, made: Option<Mark>) {
        let number = self.next;
        self.put(KnownCall { number, id, made, result: None, record: None, told: None });
    }

    fn put(&mut self, call: KnownCall) {
        self.next = self.next.max(call.number.saturating_add(1));
        self.bytes = self.bytes.saturating_add(call.bytes());
        if call.told.is_some() {
            self.closed.push(call);
        } else {
            self.numbers.insert(call.id.clone(), call.number);
            self.open.insert(call.number, call);
        }
    }

    /// Its result is reported.
    pub(in crate::task) fn report(&mut self, id: &CallId, result: Mark) {
        if let Some(call) = self.open_mut(id) {
            call.result = Some(result);
        }
    }

    /// It has an entry on record.
    pub(in crate::task) fn record(&mut self, id: &CallId, record: InvocationId) {
        if let Some(call) = self.open_mut(id) {
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
        let Some(mut call) = self.numbers.remove(id).and_then(|number| self.open.remove(&number)) else {
            return;
        };
        self.bytes = self.bytes.saturating_sub(call.bytes());
        call.told = Some(Told::of(decision, is_on_record));
        // first, so that there is never room for one more than stays
        self.make_room(most.saturating_sub(1));
        self.put(call);
        self.make_room(most);
    }

    /// Forgets the oldest of those that are closed until only so many are left.
    fn make_room(&mut self, most: usize) {
        while self.closed.len() > most {
            let Some(oldest) = self.closed.pop_oldest() else { break };
            self.bytes = self.bytes.saturating_sub(oldest.bytes());
        }
    }

    /// What their texts take.
    pub(in crate::task) fn bytes(&self) -> u64 {
        self.bytes
    }

    pub(in crate::task) fn mark(&self) -> CallsMark {
        CallsMark { next: self.next, closed: self.closed.ever(), forgotten: self.closed.forgotten() }
    }

    /// Whether no call was made or closed since a mark.
    pub(in crate::task) fn is_at(&self, mark: &CallsMark) -> bool {
        self.next == mark.next && self.closed.ever() == mark.closed
    }

    /// What happened since a mark. Linear in that, and in the calls that are open.
    pub(in crate::task) fn since(&self, mark: &CallsMark) -> Option<CallsChange> {
        let made: Vec<_> = self.open.range(mark.next..).map(|(_, call)| call.clone()).collect();
        let open = self.open.range(..mark.next).map(|(_, call)| call);
        let reported: Vec<_> =
            open.filter(|call| call.record.is_some() || call.result.is_some()).cloned().collect();
        let closed: Vec<_> = self.closed.since(mark.closed).cloned().collect();
        let forgotten = self.closed.forgotten().saturating_sub(mark.forgotten);
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
        let open = self.open.values().cloned().collect();
        SavedCalls { next: self.next, open, closed: self.closed.since(0).cloned().collect() }
    }

    /// The calls of a task that was stored.
    pub(in crate::task) fn restore(saved: SavedCalls) -> Self {
        let mut calls = Self::default();
        saved.closed.into_iter().chain(saved.open).for_each(|call| calls.put(call));
        calls.next = calls.next.max(saved.next);
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
