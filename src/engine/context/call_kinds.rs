//! The invocations of a list, apart by what lists show them: calls of the model, calls of `invoke` steps, and rejected ones.
//!
//! In: each invocation as it is added. Out: the place of the n-th of each kind, and the order of the times of the model's calls. The lists
//! `calls` leave the others out. A rejected invocation has arguments that are not what the function declares, so `t.input` has the declared type in each element
//! of `calls`, and `calls.map(t, double(t.input.amount))` goes on working after a call without an amount. What a step invokes is no doing of the model, so a bound
//! on its calls does not count it. To find a place is a search by halves in those that are left out, and constant time while there are none.

use super::invocation::Caller;
use super::log::Log;
use super::moment::Moment;
use super::times::Times;
use crate::cel::TimeOrder;

/// The list that shows an invocation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CallKind {
    /// `calls`: a call of the model.
    Model,
    /// `invoked`: a call of an `invoke` step.
    Invoked,
    /// `rejected`: its arguments are not what the function declares.
    Rejected,
}

impl CallKind {
    /// The kind of an invocation on record.
    pub(super) fn of(origin: Caller, is_rejected: bool) -> Self {
        match origin {
            _ if is_rejected => Self::Rejected,
            Caller::Middleware => Self::Invoked,
            Caller::Model => Self::Model,
        }
    }
}

/// The entries of a list of invocations that grows, by kind.
#[derive(Clone, Debug, Default)]
pub(super) struct CallKinds {
    /// The places of those that are no calls of the model, ascending.
    others: Log<u32>,
    /// The places of the rejected ones among them.
    rejected: Log<u32>,
    /// The places of those that steps invoked.
    invoked: Log<u32>,
    /// The times of the calls of the model.
    times: Times,
}

impl CallKinds {
    /// An entry is added at a place; `at` says when those ahead of it were, by their places.
    pub(super) fn add(
        &mut self,
        place: u32,
        kind: CallKind,
        at: Moment,
        times: impl Fn(u32) -> Option<Moment>,
    ) {
        match kind {
            CallKind::Rejected => self.rejected.push(place),
            CallKind::Invoked => self.invoked.push(place),
            CallKind::Model => {
                let before = u32::try_from(self.others.len()).unwrap_or(u32::MAX);
                let others = &self.others;
                let time = |nth: u32| times(u32::try_from(nth_kept(others, nth as usize)).ok()?);
                self.times.add(place.saturating_sub(before), at, time);
                return;
            }
        }
        self.others.push(place);
    }

    /// How many of all entries, of which there are so many, are of a kind.
    pub(super) fn len(&self, kind: CallKind, all: usize) -> usize {
        match kind {
            CallKind::Model => all.saturating_sub(self.others.len()),
            CallKind::Invoked => self.invoked.len(),
            CallKind::Rejected => self.rejected.len(),
        }
    }

    /// The place of an entry of a kind, 0 the most recent, among so many entries.
    pub(super) fn newest(&self, kind: CallKind, index: usize, all: usize) -> Option<u32> {
        match kind {
            CallKind::Model => {
                let nth = self.len(kind, all).checked_sub(index)?.checked_sub(1)?;
                u32::try_from(nth_kept(&self.others, nth)).ok()
            }
            CallKind::Invoked => self.invoked.nth_back(index).copied(),
            CallKind::Rejected => self.rejected.nth_back(index).copied(),
        }
    }

    /// Whether the entry at a place was rejected.
    pub(super) fn is_rejected(&self, place: u32) -> bool {
        let before = first_where(&self.rejected, |_, rejected| rejected >= place);
        self.rejected.get(before) == Some(&place)
    }

    /// The order of the times of the calls of the model.
    pub(super) fn time_order(&self) -> TimeOrder {
        self.times.order()
    }

    /// The bytes on the heap.
    pub(super) fn heap_bytes(&self) -> usize {
        let of_steps = self.rejected.heap_bytes().saturating_add(self.invoked.heap_bytes());
        self.others.heap_bytes().saturating_add(of_steps)
    }
}

fn nth_kept(places: &Log<u32>, nth: usize) -> usize {
    // ahead of the left out entry at this index stand as many kept ones as its place says, less those left out
    let before = first_where(places, |index, place| (place as usize).saturating_sub(index) > nth);
    nth.saturating_add(before)
}

/// The first index from which on something holds that holds from some index on.
fn first_where(places: &Log<u32>, holds: impl Fn(usize, u32) -> bool) -> usize {
    let (mut start, mut end) = (0, places.len());
    while start < end {
        let middle = start.midpoint(end);
        match places.get(middle) {
            Some(place) if !holds(middle, *place) => start = middle.saturating_add(1),
            _ => end = middle,
        }
    }
    start
}

#[cfg(test)]
mod tests {
    use super::{CallKind, CallKinds};
    use crate::cel::Timestamp;
    use crate::context::Moment;

    const ALL: [CallKind; 3] = [CallKind::Model, CallKind::Invoked, CallKind::Rejected];

    fn moment(second: i128) -> Moment {
        Timestamp::from_nanos(second.saturating_mul(1_000_000_000)).unwrap().into()
    }

    #[test]
    fn the_entries_of_each_kind_are_counted_without_the_others() {
        for pattern in 0_usize..729 {
            let mut kinds = CallKinds::default();
            let kind = |place: u32| ALL[pattern / 3_usize.pow(place) % 3];
            for place in 0..6 {
                kinds.add(place, kind(place), moment(place.into()), |place| Some(moment(place.into())));
            }
            for wanted in ALL {
                let newest: Vec<u32> = (0..6).map_while(|index| kinds.newest(wanted, index, 6)).collect();
                let expected: Vec<u32> = (0..6).rev().filter(|place| kind(*place) == wanted).collect();
                assert_eq!(newest, expected, "{pattern} {wanted:?}");
                assert_eq!(kinds.len(wanted, 6), expected.len());
            }
            let is_rejected = |place: u32| kinds.is_rejected(place) == (kind(place) == CallKind::Rejected);
            assert!((0..6).all(is_rejected) && !kinds.is_rejected(6));
        }
    }

    #[test]
    fn the_order_of_times_is_that_of_the_calls_of_the_model() {
        let mut kinds = CallKinds::default();
        // the clock goes back at the rejected entry and at the invoked one, and for the others only at the last
        let times = [3, 1, 0, 4, 2];
        let at = |place: u32| Some(moment(times[place as usize]));
        for place in 0..5 {
            let kind = [ALL[0], ALL[2], ALL[1], ALL[0], ALL[0]][place as usize];
            kinds.add(place, kind, at(place).unwrap(), at);
        }
        let order = kinds.time_order();
        assert_eq!((order.from, order.latest_before), (2, Some(1)));
    }
}
