//! Calls that are pending: how long a request waits until one is decided, and calls that have waited for others for too long.
//!
//! A request that waits holds no thread, no place at work and no lock: it asks again from time to time, each time in its turn, and
//! so hears of what other processes over the same store decide, too.

use crate::problem::Problem;
use crate::query;
use crate::reviews::Expiring;
use crate::service::Service;
use crate::task_request::TaskRequest;
use crate::tasks::Key;
use crate::tasks::seat::Seat;
use celador::cel::Timestamp;
use serde::Deserialize;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tracing::debug;

/// How soon it is asked again for the first time, and how long the pause between two times becomes.
const PAUSES: (Duration, Duration) = (Duration::from_millis(20), Duration::from_millis(250));

/// Whether an answer waits for what is pending.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct WaitQuery {
    /// How long the answer may wait for a call that is pending to be decided, in milliseconds: at most `max_pending_ms`. Without it the answer
    /// comes at once.
    wait_ms: Option<u64>,
}

/// How long a request wants to wait, and may.
///
/// # Errors
/// Another query.
pub(crate) fn wait_of(query: &str, most: u64) -> Result<Option<Duration>, Problem> {
    let WaitQuery { wait_ms } = query::read(query)?;
    Ok(wait_ms.map(|wait| Duration::from_millis(wait.min(most))))
}

/// The pauses between two looks at what is pending, until a time is over.
pub(crate) struct Pauses {
    begun: Instant,
    wait: Duration,
    next: Duration,
}

impl Pauses {
    /// From now on, for so long.
    pub(crate) fn new(wait: Duration) -> Self {
        Self { begun: Instant::now(), wait, next: PAUSES.0 }
    }

    /// The next pause; nothing once the time is over.
    pub(crate) fn next(&mut self) -> Option<Duration> {
        let left = self.wait.saturating_sub(self.begun.elapsed());
        let pause = self.next.min(left);
        self.next = self.next.saturating_mul(2).min(PAUSES.1);
        (!left.is_zero()).then_some(pause)
    }
}

/// Refuses the calls of tasks in memory that have waited for others for too long, until it is to stop. Those of other tasks are
/// refused when somebody asks for them.
pub(crate) fn refuse_overdue(service: &Service, stop: &dyn Fn() -> bool) {
    let now = service.now();
    let overdue: Vec<Key> =
        service.tasks.live.iter().filter(|(_, seat)| has_overdue(seat, now)).map(|(key, _)| key).collect();
    for (owner, id) in overdue {
        if stop() {
            return;
        }
        if let Err(problem) = service.tasks.step_of(&owner, &TaskRequest::of_server(&id), &Expiring) {
            debug!(%problem, "a call that has waited too long still waits");
        }
    }
}

/// A task that a request uses just now is looked at the next time.
fn has_overdue(seat: &Arc<Seat>, now: Timestamp) -> bool {
    let open = seat.try_lock();
    open.is_ok_and(|open| open.as_ref().is_some_and(|open| open.task.has_overdue_calls(now)))
}
