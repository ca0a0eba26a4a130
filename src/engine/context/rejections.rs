//! Which invocations of a list were rejected because their arguments are not what the function declares.
//!
//! In: each invocation as it is added. Out: the place of the n-th that was not rejected, and the order of the times of those. The lists
//! `calls` leave rejected invocations out: `t.input` has the declared type in each of their elements, so that `calls.map(t, double(t.input.amount))`
//! goes on working after a call without an amount. To find a place is a search by halves in the rejected ones, and constant time while there are none.

use super::log::Log;
use super::moment::Moment;
use super::times::Times;
use crate::cel::TimeOrder;

/// The rejected entries of a list of invocations that grows.
#[derive(Clone, Debug, Default)]
pub(super) struct Rejections {
    /// Their places among all entries, ascending.
    places: Log<u32>,
    /// The times of all other entries.
    times: Times,
}

impl Rejections {
    /// An entry is added at a place; `at` says when those ahead of it were, by their places.
    pub(super) fn add(
        &mut self,
        place: u32,
        is_rejected: bool,
        at: Moment,
        times: impl Fn(u32) -> Option<Moment>,
    ) {
        if is_rejected {
            self.places.push(place);
            return;
        }
        let rejected = u32::try_from(self.places.len()).unwrap_or(u32::MAX);
        let places = &self.places;
        let time = |nth: u32| times(u32::try_from(nth_kept(places, nth as usize)).ok()?);
        self.times.add(place.saturating_sub(rejected), at, time);
    }

    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.places.len()
    }

    /// The place of the n-th entry that was not rejected, 0 the oldest.
    pub(super) fn nth_kept(&self, nth: usize) -> usize {
        nth_kept(&self.places, nth)
    }

    /// The place of a rejected entry, 0 the most recent.
    pub(super) fn newest(&self, index: usize) -> Option<u32> {
        self.places.nth_back(index).copied()
    }

    /// Whether the entry at a place was rejected.
    pub(super) fn has(&self, place: u32) -> bool {
        let before = first_where(&self.places, |_, rejected| rejected >= place);
        self.places.get(before) == Some(&place)
    }

    /// The order of the times of those that were not rejected.
    pub(super) fn time_order(&self) -> TimeOrder {
        self.times.order()
    }

    /// The bytes on the heap.
    pub(super) fn heap_bytes(&self) -> usize {
        self.places.heap_bytes()
    }
}

fn nth_kept(places: &Log<u32>, nth: usize) -> usize {
    // ahead of the rejected entry at this index stand as many kept ones as its place says, less the rejected
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
    use super::Rejections;
    use crate::cel::Timestamp;
    use crate::context::Moment;

    fn moment(second: i128) -> Moment {
        Timestamp::from_nanos(second.saturating_mul(1_000_000_000)).unwrap().into()
    }

    #[test]
    fn the_entries_that_are_kept_are_counted_without_the_others() {
        for pattern in 0_u32..256 {
            let mut rejections = Rejections::default();
            let rejected = |place: u32| pattern >> place & 1 == 1;
            for place in 0..8 {
                rejections
                    .add(place, rejected(place), moment(place.into()), |place| Some(moment(place.into())));
            }
            let kept: Vec<u32> = (0..8).filter(|place| !rejected(*place)).collect();
            for (nth, place) in kept.iter().enumerate() {
                assert_eq!(rejections.nth_kept(nth), *place as usize, "{pattern:b}");
            }
            let newest: Vec<u32> = (0..8).map_while(|index| rejections.newest(index)).collect();
            assert_eq!(newest, (0..8).rev().filter(|place| rejected(*place)).collect::<Vec<_>>());
            assert!((0..8).all(|place| rejections.has(place) == rejected(place)) && !rejections.has(8));
            assert_eq!(rejections.len() + kept.len(), 8);
        }
    }

    #[test]
    fn the_order_of_times_is_that_of_the_entries_that_are_kept() {
        let mut rejections = Rejections::default();
        // the clock goes back at the rejected entry, and for the kept ones only at the last
        let times = [3, 1, 4, 2];
        let at = |place: u32| Some(moment(times[place as usize]));
        for place in 0..4 {
            rejections.add(place, place == 1, at(place).unwrap(), at);
        }
        let order = rejections.time_order();
        assert_eq!((order.from, order.latest_before), (2, Some(1)));
    }
}
