//! Counters across tasks over HTTP, for operators: the list of them, and one that begins anew.
//!
//! In: a request of somebody who may see, or reset, the counters of all callers. Out: what counts, or what a counter held before it was
//! reset. A reset is a line of the decision log, stored with it; without a log it waits in the store for the first one. No step is
//! decided anew because of it.

use crate::messages;
use crate::problem::{Kind, Problem};
use crate::request::{Answer, Request};
use crate::service::Service;
use crate::tasks::Tasks;
use crate::tasks::steps::check_reason;
use celador::cel::Timestamp;
use celador::counter::{Amount, CounterId, CounterWindow};
use celador_store::{CounterReset, DueLine, Owner, StoreError, StoredCounter};
use serde::{Deserialize, Serialize};
use tracing::warn;

/// Counters, in the order of their owners, policies, names and keys.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "CounterPage"))]
pub(crate) struct Counters {
    /// The counters.
    counters: Vec<Counted>,
    /// The value of `after` for the next page; null at the end.
    next: Option<String>,
}

/// A counter as it is.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "Counter"))]
pub(crate) struct Counted {
    /// The identity of the caller whose tasks count on it; empty where callers do not have to authenticate.
    owner: String,
    /// The policy that declares it: namespace and name, with the way in `uses` if it has one.
    policy: String,
    /// Its name there.
    name: String,
    /// Its key as JSON, or `sha256:` and a digest of a key that is long or made of a secret; empty of a counter without a key.
    key: String,
    /// The window whose amounts count, as its last reservation had it.
    window: String,
    /// The amount that counts now, held amounts included: a decimal as text.
    counted: String,
    /// The part of it that calls hold which are under way: a decimal as text.
    held: String,
}

/// The counters that are listed.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct CountersQuery {
    /// The identity of the caller whose tasks count on them; empty for those of nobody. Without it the counters of all callers.
    owner: Option<String>,
    /// The `next` of the page before.
    after: Option<String>,
}

/// A counter that is to begin anew, named as the list has it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct ResetCounter {
    /// The identity of the caller whose tasks count on it; empty for nobody.
    #[serde(default)]
    owner: String,
    /// The policy that declares it.
    policy: String,
    /// Its name there.
    name: String,
    /// Its key as the list has it; empty of a counter without a key.
    #[serde(default)]
    key: String,
    /// The reason, of at most `max_reason_bytes`.
    #[cfg_attr(feature = "schema", schemars(length(min = 1)))]
    reason: String,
}

/// `GET /v1/counters`
pub(crate) fn list(service: &Service, request: &Request) -> Result<Answer, Problem> {
    let CountersQuery { owner, after } = request.query()?;
    let after = after.as_deref().map(read_cursor).transpose()?;
    Answer::json(200, &service.tasks.counter_page(owner.as_deref(), after)?)
}

/// `POST /v1/counters/reset`
pub(crate) fn reset(service: &Service, request: &Request) -> Result<Answer, Problem> {
    let ResetCounter { owner, policy, name, key, reason } =
        request.read(&service.settings.limits.store.engine)?;
    check_reason(&reason, service.settings.limits.store.engine.max_reason_bytes)?;
    let counter = CounterId::new(&policy, &name, &key);
    Answer::json(200, &service.tasks.reset(request, &Owner::caller(&owner), &counter, &reason)?)
}

impl Tasks {
    fn counter_page(
        &self,
        owner: Option<&str>,
        after: Option<(Owner, CounterId)>,
    ) -> Result<Counters, Problem> {
        let owner = owner.map(Owner::caller);
        let behind = after.as_ref().map(|(owner, counter)| (owner, counter));
        let found = self.store.list_counters(owner.as_ref(), behind, self.page);
        let found = found.map_err(|error| self.problem(&error))?;
        let next = found.last().filter(|_| found.len() >= self.page).map(cursor);
        let now = (self.clock)();
        Ok(Counters { counters: found.into_iter().map(|found| Counted::of(found, now)).collect(), next })
    }

    /// Resets a counter on the word of a caller. With a decision log that is required, it is answered when its line is on disk.
    fn reset(
        &self,
        request: &Request,
        owner: &Owner,
        counter: &CounterId,
        reason: &str,
    ) -> Result<Counted, Problem> {
        self.recorder.ready()?;
        let who = request.caller.identity.as_deref().unwrap_or_default();
        let reset = CounterReset { at: (self.clock)(), who, reason };
        let mut due = None;
        let was = self.store.reset_counter(owner, counter, &reset, |line| {
            due = self.recorder.due_line(line.clone());
            Some(due.clone().unwrap_or_else(|| DueLine::for_any_log(line)))
        });
        if let Err(StoreError::Uncertain) = &was {
            self.recorder.doubtful(due.as_ref());
        }
        let was = was.map_err(|error| match error {
            StoreError::NotFound => Kind::UnknownCounter.into(),
            error => self.problem(&error),
        })?;
        let subject = counter.to_string();
        warn!(%subject, owner = owner.as_str(), who, "a counter was reset");
        self.recorder.record_line(due.as_ref(), &reset.notice(owner, &subject))?;
        let mut state = was.state;
        state.tally.forget_spent();
        Ok(Counted::of(StoredCounter { state, ..was }, reset.at))
    }
}

impl Counted {
    fn of(found: StoredCounter, now: Timestamp) -> Self {
        let StoredCounter { owner, counter, state } = found;
        let window: CounterWindow = state.window;
        let text = |amount: Amount| amount.to_string();
        Self {
            owner: owner.as_str().to_owned(),
            policy: counter.policy().to_owned(),
            name: counter.name().to_owned(),
            key: counter.key().to_owned(),
            window: window.to_string(),
            counted: text(state.counted(window, now)),
            held: text(state.tally.held()),
        }
    }
}

/// Where the next page begins: the four texts of a counter as JSON.
fn cursor(last: &StoredCounter) -> String {
    let StoredCounter { owner, counter, .. } = last;
    let texts = [owner.as_str(), counter.policy(), counter.name(), counter.key()];
    serde_json::to_string(&texts).unwrap_or_default()
}

fn read_cursor(text: &str) -> Result<(Owner, CounterId), Problem> {
    let read: Result<[String; 4], _> = serde_json::from_str(text);
    let [owner, policy, name, key] =
        read.map_err(|_| Problem::new(Kind::BadRequest, messages::no_page_of_counters()))?;
    Ok((Owner::caller(&owner), CounterId::new(&policy, &name, &key)))
}
