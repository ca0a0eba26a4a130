//! How long a call waits for a decision, and how its wait ends.
//!
//! In: how a call stands. Out: a decision, or the reason why there is none yet. Meanwhile the user of the client is asked where they are the
//! one to answer.

use super::course::Course;
use super::guard::{Asked, Standing};
use super::messages;
use super::session::Session;
use serde_json::Value;
use std::time::{Duration, Instant};

/// How long one question about a call that waits may take. It is asked again as long as the call may wait.
const SLICE: Duration = Duration::from_secs(20);

/// The end of a call's wait.
pub(super) enum Settled {
    Goes {
        value: Value,
        delay: Duration,
    },
    Answered(Value),
    Refused(String),
    /// It waits on; the text says what to do.
    Waits(String),
    /// The user of the client is asked in the answer to the request.
    Ask(Asked),
    /// The client has taken it back, or is gone.
    Gone,
}

impl Settled {
    /// The reason why a call does not go on, for the log.
    pub(super) fn reason(&self) -> &str {
        match self {
            Self::Refused(why) | Self::Waits(why) => why,
            _ => messages::CANCELLED,
        }
    }
}

impl Session {
    /// Waits until a call is decided, asks the user of the client where they are the one to answer, or says what it waits for.
    pub(super) async fn settle(
        &self,
        course: &Course,
        stands: Result<Standing, String>,
        has_run: bool,
    ) -> Settled {
        let until = Instant::now().checked_add(self.settings.review_wait);
        let mut stands = stands;
        loop {
            let left = until.map_or(SLICE, |until| until.saturating_duration_since(Instant::now()));
            let next = match stands {
                Err(why) => return Settled::Refused(why),
                Ok(Standing::Goes { value, delay }) => return Settled::Goes { value, delay },
                Ok(Standing::Answered(value)) => return Settled::Answered(value),
                Ok(Standing::Refused(why)) => return Settled::Refused(why),
                Ok(Standing::Beyond(why)) => {
                    self.withdraw(&course.begun, &course.call, has_run).await;
                    return Settled::Refused(why.to_owned());
                }
                Ok(Standing::Review(asked)) if course.modern && self.may_elicit(course, &asked) => {
                    return Settled::Ask(asked);
                }
                Ok(Standing::Review(asked)) if self.may_elicit(course, &asked) => {
                    self.elicit(course, &asked, has_run).await
                }
                Ok(Standing::Review(asked)) if left.is_zero() => {
                    return Settled::Waits(self.how_to_review(&asked));
                }
                Ok(Standing::Waits(_)) if left.is_zero() => {
                    return Settled::Waits(messages::WAITS_FOR_OTHERS.to_owned());
                }
                Ok(Standing::Waits(others)) => {
                    self.forget(course, &others).await;
                    self.wait(course, left.min(SLICE)).await
                }
                Ok(Standing::Review(_)) => self.wait(course, left.min(SLICE)).await,
            };
            let Some(next) = next else {
                self.withdraw(&course.begun, &course.call, has_run).await;
                return Settled::Gone;
            };
            stands = next;
        }
    }

    /// How a call stands after a while; nothing if the client takes it back.
    async fn wait(&self, course: &Course, wait: Duration) -> Option<Result<Standing, String>> {
        tokio::select! {
            stands = course.begun.guard.standing(&course.call, wait) => Some(stands),
            () = course.cancellation.token.cancelled() => None,
        }
    }

    /// Takes back the calls that this one waits for and that are never reported: those of a session before this one.
    async fn forget(&self, course: &Course, others: &[String]) {
        let unknown: Vec<&String> = {
            let state = self.state();
            let is_known = |call: &&String| {
                state.open.contains(*call)
                    || state.parked.calls().any(|it| it == *call)
                    || state.tasks.has_call(call)
            };
            others.iter().filter(|call| !is_known(call)).collect()
        };
        for other in unknown {
            course.begun.guard.withdraw(other, true).await;
        }
    }

    fn how_to_review(&self, asked: &Asked) -> String {
        messages::waits_for_review(&asked.reviewer, self.settings.reviews_at.as_deref())
    }
}
