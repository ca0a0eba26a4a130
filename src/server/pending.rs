//! Calls that are pending: a request that waits until one is decided, and calls that have waited for others for too long.
//!
//! In: the answer to a step that leaves a call pending. Out: how the call stands once it is decided, or when the time is over. A
//! request that waits holds no thread, no place at work and no lock: it asks again from time to time, each time in its turn, and
//! so hears of what other processes over the same store decide, too.

use super::problem::Problem;
use super::query;
use super::request::Request;
use super::reviews::Expiring;
use super::seat::Seat;
use super::service::Service;
use super::tasks::Key;
use celador::cel::Timestamp;
use celador::task::{CallId, Verdict};
use serde::Deserialize;
use serde::de::IgnoredAny;
use std::sync::Arc;
use std::time::Duration;
use tracing::debug;

/// How soon it is asked again for the first time, and how long the pause between two times becomes.
const PAUSES: (Duration, Duration) = (Duration::from_millis(20), Duration::from_millis(250));

/// Whether an answer waits for what is pending.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(super) struct WaitQuery {
    /// How long the answer may wait for a call that is pending to be decided, in milliseconds: at most `max_pending_ms`. Without it the answer
    /// comes at once.
    wait_ms: Option<u64>,
}

/// How long a request wants to wait, and may.
///
/// # Errors
/// Another query.
pub(super) fn wait_of(query: &str, most: u64) -> Result<Option<Duration>, Problem> {
    let WaitQuery { wait_ms } = query::read(query)?;
    Ok(wait_ms.map(|wait| Duration::from_millis(wait.min(most))))
}

/// The pause that follows one, or the first.
pub(super) fn pause_after(pause: Option<Duration>) -> Duration {
    let (first, longest) = PAUSES;
    pause.map_or(first, |pause| pause.saturating_mul(2).min(longest))
}

/// The call that an answer leaves pending: it waits for others, or a person is asked. What the runtime itself is asked for is
/// not pending.
pub(super) fn pending_call(answer: &[u8]) -> Option<CallId> {
    #[derive(Deserialize)]
    struct Progress {
        decided: Option<Decided>,
        asks: Option<Asks>,
        call: Option<CallId>,
    }

    #[derive(Deserialize)]
    struct Decided {
        verdict: Verdict,
        call: Option<CallId>,
    }

    #[derive(Deserialize)]
    struct Asks {
        review: Option<IgnoredAny>,
    }

    let progress: Progress = serde_json::from_slice(answer).ok()?;
    match progress {
        Progress { decided: Some(Decided { verdict: Verdict::Wait | Verdict::Suspend, call }), .. } => call,
        Progress { asks: Some(Asks { review: Some(_) }), call, .. } => call,
        _ => None,
    }
}

/// Refuses the calls of tasks in memory that have waited for others for too long, until it is to stop. Those of other tasks are
/// refused when somebody asks for them.
pub(super) fn refuse_overdue(service: &Service, stop: &dyn Fn() -> bool) {
    let now = service.now();
    let overdue: Vec<Key> =
        service.tasks.live.iter().filter(|(_, seat)| has_overdue(seat, now)).map(|(key, _)| key).collect();
    for (owner, id) in overdue {
        if stop() {
            return;
        }
        if let Err(problem) = service.tasks.step_of(&owner, &Request::of_server(&id), &Expiring) {
            debug!(%problem, "a call that has waited too long still waits");
        }
    }
}

/// A task that a request uses just now is looked at the next time.
fn has_overdue(seat: &Arc<Seat>, now: Timestamp) -> bool {
    let open = seat.try_lock();
    open.is_ok_and(|open| open.as_ref().is_some_and(|open| open.task.has_overdue_calls(now)))
}
