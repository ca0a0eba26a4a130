//! Whether the times of a growing list stand in order, and from where on.
//!
//! In: the time of each element as it is added. Out: a [`TimeOrder`]. Clocks may go back: then the order begins anew there, and of what is ahead
//! of it the latest is known. Constant time and size.

use super::moment::Moment;
use crate::cel::TimeOrder;

/// The order of the times of one list.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Times {
    from: u32,
    latest_before: Option<u32>,
    /// The latest of all; of several the last.
    latest: u32,
}

impl Times {
    /// An element is added at a position, counted from the oldest; those ahead of it have these times.
    pub(super) fn add(&mut self, position: u32, at: Moment, times: impl Fn(u32) -> Option<Moment>) {
        let Some(before) = position.checked_sub(1) else { return };
        let is_later = |position: u32| times(position).is_some_and(|time| time > at);
        if is_later(before) {
            (self.from, self.latest_before) = (position, Some(self.latest));
        }
        if !is_later(self.latest) {
            self.latest = position;
        }
    }

    pub(super) fn order(self) -> TimeOrder {
        TimeOrder { from: self.from as usize, latest_before: self.latest_before.map(|at| at as usize) }
    }
}
