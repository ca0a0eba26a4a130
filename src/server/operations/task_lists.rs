//! Lists of tasks and of the events of one, a page at a time, read from the store.

use crate::identity::Caller;
use crate::problem::{Kind, Problem};
use crate::task_request::TaskRequest;
use crate::tasks::{Tasks, owner};
use celador::task::{Decision, ReviewRecord, ReviewState};
use celador_service::{ClosedReview, EventPage, TaskEvent};
use celador_store::{FoundTask, Owner, ReviewRow, StoredEvent, TaskFilter, TaskPolicy, TaskSummary};
use serde::Serialize;
use std::collections::BTreeMap;

/// Tasks of the caller, in the order of their ids.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "TaskPage"))]
pub(crate) struct Page {
    /// The tasks.
    tasks: Vec<Listed>,
    /// The value of `after` for the next page; null at the end.
    next: Option<String>,
}

/// A task in a list.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "ListedTask"))]
struct Listed {
    /// Its id.
    task: String,
    /// The identifier of the user for whom it runs; null if a database cannot store it.
    user: Option<String>,
    /// The id of the task that has delegated to it; null if none has.
    parent: Option<String>,
    /// Its metadata.
    metadata: BTreeMap<String, String>,
    /// The number of its last event, from 1.
    #[cfg_attr(feature = "schema", schemars(range(min = 1)))]
    version: u64,
    /// The agent's namespace.
    namespace: String,
    /// The agent's name.
    agent: String,
    /// Whether it takes steps.
    #[cfg_attr(feature = "schema", schemars(extend("enum" = celador::task::TaskState::WORDS)))]
    state: String,
    /// The time when it began: RFC 3339.
    started_at: String,
    /// The time of its last event: RFC 3339.
    changed_at: String,
    /// Whether its last step was stored under the policy that is served now; null if the store does not know.
    current: Option<bool>,
}

/// How many pages are looked at in which nothing is wanted, before one is given that is empty.
const EMPTY_PAGES: usize = 16;

impl Tasks {
    /// The tasks of a caller behind an id that have what a filter wants, a page at a time: all of them, or those that are under the
    /// policy that is served, or those that are not, have not ended, and so may be held. Which policy is served no row says: a page
    /// of those may be short, and after [`EMPTY_PAGES`] that were empty there is an empty one with another behind it.
    pub(crate) fn list(
        &self,
        caller: &Caller,
        after: Option<String>,
        filter: &TaskFilter,
        wanted: Option<bool>,
    ) -> Result<Page, Problem> {
        let owner = owner(caller);
        let mut page = Page { tasks: Vec::new(), next: after };
        for _ in 0..EMPTY_PAGES {
            page = self.page_of(&owner, page.next.as_deref().unwrap_or_default(), filter, wanted)?;
            if !page.tasks.is_empty() || page.next.is_none() {
                break;
            }
        }
        Ok(page)
    }

    fn page_of(
        &self,
        owner: &Owner,
        after: &str,
        filter: &TaskFilter,
        wanted: Option<bool>,
    ) -> Result<Page, Problem> {
        let find = |after: &str, most: usize| {
            let found = self.store.find(Some(owner), Some((owner, after)), filter, most);
            found.map_err(|error| self.problem(&error))
        };
        let found = find(after, self.page)?;
        let ids: Vec<&str> = found.iter().map(|found| &*found.task.id).collect();
        let under = self.store.policies(owner, &ids).map_err(|error| self.problem(&error))?;
        let served = self.manifests.served();
        let current = |task: &TaskSummary| {
            let policy = served.engine.policy(&task.namespace, &task.agent);
            let fingerprint = policy.ok().map(|policy| policy.fingerprint());
            let is_current =
                |under: &TaskPolicy| fingerprint.is_some_and(|fingerprint| under.is(&fingerprint));
            under.get(&task.id).map(is_current)
        };
        let is_wanted = |state: &str, current: Option<bool>| match wanted {
            Some(true) => current == Some(true),
            Some(false) => current == Some(false) && !["locked", "terminated"].contains(&state),
            None => true,
        };
        let mut next = found.last().filter(|_| found.len() >= self.page).map(|last| last.task.id.clone());
        if let Some(last) = &next
            && find(last, 1)?.is_empty()
        {
            next = None;
        }
        let listed = found.into_iter().map(|FoundTask { task: it, labels, .. }| Listed {
            current: current(&it),
            task: it.id,
            user: labels.user,
            parent: labels.parent,
            metadata: labels.metadata,
            version: it.version,
            namespace: it.namespace,
            agent: it.agent,
            state: it.state,
            started_at: it.started_at,
            changed_at: it.changed_at,
        });
        let listed = listed.filter(|task| is_wanted(&task.state, task.current));
        Ok(Page { tasks: listed.collect(), next })
    }

    /// What happened to a task behind a version, a page at a time.
    pub(crate) fn events(&self, request: &TaskRequest, after: u64) -> Result<EventPage, Problem> {
        let found = self.store.events(&owner(&request.caller), &request.task, after, self.page);
        let found = found.map_err(|error| self.problem(&error))?;
        // a page may also end where its bytes do
        let present = self.store.version(&owner(&request.caller), &request.task);
        let present = present.map_err(|error| self.problem(&error))?;
        let is_cut = |last: &&StoredEvent| found.len() >= self.page || last.version < present;
        let next = found.last().filter(is_cut).map(|last| last.version);
        let (first, last) = (after.saturating_add(1), found.last().map_or(0, |last| last.version));
        let reviews = self.store.reviews_at(&owner(&request.caller), &request.task, (first, last));
        let mut closed: BTreeMap<u64, Vec<ClosedReview>> = BTreeMap::new();
        for ReviewRow { version, review, .. } in reviews.map_err(|error| self.problem(&error))? {
            if review.state != ReviewState::Open {
                let ReviewRecord { id: review, state, answered, .. } = review;
                closed.entry(version).or_default().push(ClosedReview { review, state, answered });
            }
        }
        let events = found.into_iter().map(|it| {
            let decision = it.decision.map(Decision::masked_json).transpose();
            let decision = decision.map_err(|_| Problem::from(Kind::NotRestorable))?;
            let decision = decision.map(serde_json::value::RawValue::from_string).transpose();
            let decision = decision.map_err(|_| Problem::from(Kind::NotRestorable))?;
            let reviews = closed.remove(&it.version).unwrap_or_default();
            Ok(TaskEvent { version: it.version, at: it.at, operation: it.operation, decision, reviews })
        });
        Ok(EventPage { events: events.collect::<Result<_, Problem>>()?, next })
    }
}
