//! What a task knows of counters: what a call has read of them, and what its calls hold.
//!
//! In: counters as they are read, calls that are let through, run or end. Out: the changes of the steps since the host was last
//! told of them ([`CounterChanges`]), and what counts with these. A call that is denied gives back what it holds without anybody saying so:
//! what no call under way holds is released. Linear in what the calls hold.

use crate::context::CounterValue;
use crate::counter::{
    CounterChanges, CounterId, CounterRead, CounterWindow, Decimal, Hold, HoldEnd, Reservation,
};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// What a call knows of the counters that it needs.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(in crate::task) enum CallCounters {
    /// Nothing yet.
    #[default]
    Unread,
    /// The host is asked for these.
    Asked(Vec<AskedCounter>),
    /// All of them.
    Read(Vec<CounterValue>),
    /// The host could not read them.
    Unavailable,
}

/// A counter that the host is asked for.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(in crate::task) struct AskedCounter {
    pub(in crate::task) policy: Arc<str>,
    pub(in crate::task) name: Arc<str>,
    pub(in crate::task) id: CounterId,
    pub(in crate::task) window: CounterWindow,
    /// What the call adds; nothing if it only reads the counter.
    pub(in crate::task) add: Option<Decimal>,
    pub(in crate::task) is_whole: bool,
    pub(in crate::task) is_secret: bool,
    /// Whether it can go below zero.
    #[serde(default)]
    pub(in crate::task) is_below_zero: bool,
    /// Whether its policy is only tried out.
    #[serde(default)]
    pub(in crate::task) is_observed: bool,
    /// Whether it is read for observed steps alone: nothing that is wrong with it stops the call.
    #[serde(default)]
    pub(in crate::task) is_tried: bool,
    /// Whose steps read it.
    #[serde(default)]
    pub(in crate::task) reader: CounterReading,
}

/// The task whose steps read a counter for a call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::task) enum CounterReading {
    /// The task of the call.
    #[default]
    Own,
    /// A parent task that decides the call as well; the call adds nothing to it.
    Parent,
    /// Both.
    Both,
}

impl CallCounters {
    pub(in crate::task) fn is_unread(&self) -> bool {
        matches!(self, Self::Unread)
    }

    /// What was read.
    pub(in crate::task) fn values(&self) -> Option<&[CounterValue]> {
        match self {
            Self::Read(values) => Some(values),
            Self::Unread | Self::Asked(_) | Self::Unavailable => None,
        }
    }
}

/// What the calls of a task hold, and what the host has not been told of yet.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(in crate::task) struct Holdings {
    /// What calls hold, what the host has not been told of too.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    holds: Vec<Hold>,
    /// What happened since the host was told.
    #[serde(skip_serializing_if = "CounterChanges::is_empty")]
    untold: CounterChanges,
    /// What was given back since.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    released: Vec<Hold>,
}

impl Holdings {
    pub(in crate::task) fn is_empty(&self) -> bool {
        self.holds.is_empty() && self.untold.is_empty()
    }

    /// A counter was read at a version. The first reading since the host was told is what the changes depend on.
    pub(in crate::task) fn read(&mut self, counter: &CounterId, version: u64) {
        let reads = &mut self.untold.read;
        if !reads.iter().any(|read| read.counter == *counter) {
            reads.push(CounterRead { counter: counter.clone(), version });
        }
    }

    /// What counts, of which the host says `counted`: with what was reserved since, and without what was given back.
    /// What was taken away since counts when the host knows of it.
    pub(in crate::task) fn with_untold(&self, counter: &CounterId, counted: Decimal) -> Decimal {
        let of = |other: &CounterId, amount: Decimal| {
            if other == counter { amount.or_zero().into() } else { Decimal::ZERO }
        };
        let reserved = self.untold.reserved().map(|reserved| of(&reserved.counter, reserved.amount));
        let released = self.released.iter().map(|hold| of(&hold.counter, hold.amount).negated());
        reserved.chain(released).fold(counted, Decimal::plus)
    }

    /// Counts what the calls of another task have reserved or released since its host was told, but for one call.
    pub(in crate::task) fn count_reservations(&mut self, other: &Self, except: &str) {
        let reserved = other.untold.reserved().filter(|reserved| reserved.call != except);
        self.untold.reserve.extend(reserved.cloned());
        self.released.extend(other.released.iter().filter(|hold| hold.call != except).cloned());
    }

    /// A call holds an amount from now on.
    pub(in crate::task) fn reserve(&mut self, reservation: Reservation) {
        let Reservation { counter, call, amount, .. } = &reservation;
        self.holds.push(Hold { call: call.clone(), counter: counter.clone(), amount: *amount });
        self.untold.reserve.push(reservation);
    }

    /// A call holds nothing any more.
    pub(in crate::task) fn end(&mut self, call: &str, end: HoldEnd) {
        let (ended, left) = std::mem::take(&mut self.holds).into_iter().partition(|hold| hold.call == call);
        self.holds = left;
        let ended: Vec<Hold> = ended;
        if ended.is_empty() {
            return;
        }
        let (own, others): (Vec<_>, Vec<_>) =
            std::mem::take(&mut self.untold.reserve).into_iter().partition(|reserved| reserved.call == call);
        self.untold.reserve = others;
        let is_told = |hold: &Hold| !own.iter().any(|reserved| reserved.counter == hold.counter);
        let told: Vec<Hold> = ended.into_iter().filter(is_told).collect();
        if !told.is_empty() {
            self.untold.over.push((call.to_owned(), end));
        }
        match end {
            HoldEnd::Spent => self.untold.spend.extend(own),
            HoldEnd::Released => self.released.extend(told),
        }
    }

    /// The counters that a call holds something of.
    pub(in crate::task) fn of(&self, call: &str) -> impl Iterator<Item = &CounterId> {
        self.holds.iter().filter(move |hold| hold.call == call).map(|hold| &hold.counter)
    }

    /// A call holds nothing any more, and has spent these amounts in the place of what it held.
    pub(in crate::task) fn settle(&mut self, call: &str, spent: Vec<Reservation>) {
        self.end(call, HoldEnd::Released);
        self.untold.spend.extend(spent);
    }

    /// Spends amounts that no call has reserved.
    pub(in crate::task) fn spend(&mut self, amounts: Vec<Reservation>) {
        self.untold.spend.extend(amounts);
    }

    /// Gives back what no call under way holds.
    pub(in crate::task) fn release_unless(&mut self, is_under_way: impl Fn(&str) -> bool) {
        let over: Vec<String> = self.holds.iter().map(|hold| hold.call.clone()).collect();
        for call in over.into_iter().filter(|call| !is_under_way(call)) {
            self.end(&call, HoldEnd::Released);
        }
    }

    /// The changes since this was last asked; from now on the host knows of them. Of a task at its end all that is held is spent.
    pub(in crate::task) fn tell(&mut self, has_ended: bool) -> CounterChanges {
        self.released.clear();
        let mut changes = std::mem::take(&mut self.untold);
        if has_ended && !self.holds.is_empty() {
            self.holds.clear();
            changes.all_over = true;
        }
        changes
    }
}
