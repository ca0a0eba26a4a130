//! How long somebody still waits.
//!
//! In: a span. Out: what is left of it, each time that it is asked for. Where there is one thread, as in WebAssembly, nothing can happen while
//! it waits, and there is no clock to wait by: what is left is nothing from the beginning.

use std::time::{Duration, Instant};

const DAY: Duration = Duration::from_secs(86_400);

/// An end of waiting.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Patience {
    /// Nothing where nobody waits.
    until: Option<Instant>,
}

impl Patience {
    /// From now on, for so long.
    pub(crate) fn of(wait: Duration) -> Self {
        let waits = !wait.is_zero() && !cfg!(target_family = "wasm");
        // what is longer than there is time is as long as a day, and may be asked for again
        let until = |now: Instant| now.checked_add(wait).or_else(|| now.checked_add(DAY));
        Self { until: waits.then(Instant::now).and_then(until) }
    }

    /// What is left.
    pub(crate) fn left(self) -> Duration {
        self.until.map_or(Duration::ZERO, |until| until.saturating_duration_since(Instant::now()))
    }
}
