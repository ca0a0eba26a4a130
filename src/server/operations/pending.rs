//! Calls that are pending: a request that waits until one is decided, and calls that have waited for others for too long.
//!
//! In: the answer to a step that leaves a call pending. Out: how the call stands once it is decided, or when the time is over. A
//! request that waits holds no thread, no place at work and no lock: it asks again from time to time, each time in its turn, and
//! so hears of what other processes over the same store decide, too.

use crate::problem::Problem;
use crate::query;
use crate::request::Request;
use crate::reviews::Expiring;
use crate::service::Service;
use crate::tasks::Key;
use crate::tasks::seat::Seat;
use celador::cel::Timestamp;
use celador::task::{CallId, VerdictKind};
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

/// The pause that follows one, or the first.
pub(crate) fn pause_after(pause: Option<Duration>) -> Duration {
    let (first, longest) = PAUSES;
    pause.map_or(first, |pause| pause.saturating_mul(2).min(longest))
}

/// What an answer leaves pending: calls that wait for others, or of which a person is asked. What the runtime itself is asked
/// for is not pending.
pub(crate) enum Pending {
    /// The call of one operation.
    Call(CallId),
    /// Calls of a turn, or of several results.
    Several(Vec<CallId>),
}

/// What an answer leaves pending, if anything.
pub(crate) fn pending(answer: &[u8]) -> Option<Pending> {
    #[derive(Deserialize)]
    struct Progress {
        decided: Option<Told>,
        asks: Option<Asks>,
        call: Option<CallId>,
        calls: Option<Vec<OfSeveral>>,
    }

    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Told {
        Decided {
            verdict: VerdictKind,
            call: Option<CallId>,
        },
        /// The calls that were decided because of several others.
        Others(IgnoredAny),
    }

    #[derive(Deserialize)]
    struct OfSeveral {
        id: CallId,
        verdict: VerdictKind,
        asks: Option<Asks>,
    }

    #[derive(Deserialize)]
    struct Asks {
        review: Option<IgnoredAny>,
    }

    let Progress { decided, asks, call, calls } = serde_json::from_slice(answer).ok()?;
    if let Some(calls) = calls {
        let is_pending = |call: &OfSeveral| match call.verdict {
            VerdictKind::Wait => true,
            VerdictKind::Suspend => call.asks.as_ref().is_some_and(|asks| asks.review.is_some()),
            _ => false,
        };
        let calls: Vec<CallId> = calls.into_iter().filter(is_pending).map(|call| call.id).collect();
        return (!calls.is_empty()).then_some(Pending::Several(calls));
    }
    let call = match (decided, asks) {
        (Some(Told::Decided { verdict: VerdictKind::Wait | VerdictKind::Suspend, call }), _) => call,
        (_, Some(Asks { review: Some(_) })) => call,
        _ => None,
    };
    call.map(Pending::Call)
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
