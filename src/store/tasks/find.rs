//! Finding tasks: by agent, user, state, parent, metadata and times.
//!
//! In: whose tasks, where a page begins, what they are to have. Out: exactly those, in the order of their ids. Agent, user, parent,
//! metadata and every state but active are looked up in an index; times are held against each task that is left, as an index of
//! the last change would be written with every step of every task.

use super::StoredTasks;
use super::labels::{METADATA, PARENT, TaskLabels, USER, labels_of};
use super::owner::Owner;
use super::rows::{TASK, summary};
use super::task_records::TaskSummary;
use crate::{SqlValue, StoreError};
use celador::cel::Timestamp;
use celador::task::TaskState;
use std::fmt::Write as _;

/// What tasks are to have, to be found. With nothing of it, all tasks are.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TaskFilter {
    /// The namespace of their agent.
    pub namespace: Option<String>,
    /// The name of their agent.
    pub agent: Option<String>,
    /// The identifier of their user.
    pub user: Option<String>,
    /// The word of their state ([`TaskState::WORDS`]).
    pub state: Option<String>,
    /// The id of the task that has delegated to them.
    pub parent: Option<String>,
    /// Names and texts of their metadata: all of these.
    pub metadata: Vec<(String, String)>,
    /// They began at this time or later.
    pub started_after: Option<Timestamp>,
    /// They began earlier than this.
    pub started_before: Option<Timestamp>,
    /// Their last event was at this time or later.
    pub changed_after: Option<Timestamp>,
    /// Their last event was earlier than this.
    pub changed_before: Option<Timestamp>,
}

/// A task that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundTask {
    /// Its owner.
    pub owner: Owner,
    /// What its row says.
    pub task: TaskSummary,
    /// What else it is found by.
    pub labels: TaskLabels,
}

/// A statement with its values, in the order of their places.
struct Statement<'v> {
    text: String,
    values: Vec<SqlValue<'v>>,
}

impl<'v> Statement<'v> {
    /// The place of a value.
    fn place(&mut self, value: impl Into<SqlValue<'v>>) -> String {
        self.values.push(value.into());
        format!("${}", self.values.len())
    }

    fn add(&mut self, text: &str) {
        self.text.push_str(text);
    }
}

impl TaskFilter {
    /// The labels that are wanted: kind, name, text.
    fn labels(&self) -> impl Iterator<Item = (&'static str, &str, &str)> {
        let metadata = self.metadata.iter().map(|(key, value)| (METADATA, &**key, &**value));
        let user = self.user.as_deref().map(|user| (USER, "", user));
        let parent = self.parent.as_deref().map(|parent| (PARENT, "", parent));
        metadata.chain(parent).chain(user)
    }

    fn statement<'v>(
        &'v self,
        owner: Option<&'v Owner>,
        after: Option<(&'v Owner, &'v str)>,
        limit: SqlValue<'v>,
    ) -> Statement<'v> {
        let columns: Vec<String> = TASK.split(", ").map(|column| format!("task.{column}")).collect();
        let text = format!("SELECT {} FROM task", columns.join(", "));
        let mut made = Statement { text, values: Vec::new() };
        for (at, (kind, key, value)) in self.labels().enumerate() {
            let [kind, key, value] = [kind, key, value].map(|text| made.place(text));
            made.add(&format!(
                " JOIN task_label AS l{at} ON l{at}.owner = task.owner AND l{at}.task = task.id \
                 AND l{at}.kind = {kind} AND l{at}.key = {key} AND l{at}.value = {value}"
            ));
        }
        let (last_owner, last) = after.map_or(("", ""), |(owner, id)| (owner.as_str(), id));
        let begin = [owner.map_or(last_owner, Owner::as_str), last].map(|text| made.place(text));
        let [of, last] = &begin;
        if owner.is_some() {
            made.add(&format!(" WHERE task.owner = {of} AND task.id > {last}"));
            // the same of a label, so that the index of labels gives the tasks in their order
            if self.labels().next().is_some() {
                made.add(&format!(" AND l0.owner = {of} AND l0.task > {last}"));
            }
        } else {
            made.add(&format!(" WHERE (task.owner > {of} OR (task.owner = {of} AND task.id > {last}))"));
        }
        for (column, wanted) in
            [("namespace", &self.namespace), ("agent", &self.agent), ("state", &self.state)]
        {
            if let Some(wanted) = wanted {
                let place = made.place(wanted);
                made.add(&format!(" AND task.{column} = {place}"));
            }
        }
        if self.state.as_deref().is_some_and(|state| state != TaskState::ACTIVE) {
            // said in words, by which the databases know that their index has all that is wanted
            made.add(" AND task.state <> 'active'");
        }
        for (column, test, time) in [
            ("started_at", ">=", self.started_after),
            ("started_at", "<", self.started_before),
            ("changed_at", ">=", self.changed_after),
            ("changed_at", "<", self.changed_before),
        ] {
            if let Some(time) = time {
                // times are stored in UTC, with as many digits as they have: without the `Z` their order is that of the texts
                let place = made.place(time.to_string().trim_end_matches('Z').to_owned());
                made.add(&format!(" AND RTRIM(task.{column}, 'Z') {test} {place}"));
            }
        }
        let limit = made.place(limit);
        let order = if owner.is_some() { "task.id" } else { "task.owner, task.id" };
        let _ = write!(made.text, " ORDER BY {order} LIMIT {limit}");
        made
    }
}

impl StoredTasks {
    /// The tasks of an owner, or of all, that have what a filter wants: those behind one, by owner and id, at most so many and at
    /// most `max_page`.
    ///
    /// # Errors
    /// [`StoreError::Corrupt`], and those of the database.
    ///
    /// # Cost
    /// With an owner, linear in the tasks that have the label, the agent or the state that is wanted; without one of these, in the
    /// owner's tasks up to the end of the page. Of 100,000 tasks a time of which few began is found in less than 0.1 s (SQLite); a time in
    /// which few have changed takes 0.7 s, since rows are read for it: an index of that would be written with every step.
    pub fn find(
        &self,
        owner: Option<&Owner>,
        after: Option<(&Owner, &str)>,
        filter: &TaskFilter,
        limit: usize,
    ) -> Result<Vec<FoundTask>, StoreError> {
        let Statement { text, values } = filter.statement(owner, after, self.page(limit));
        self.database().read(|sql| {
            let rows = sql.query(&text, &values)?;
            let found = rows.iter().map(summary).collect::<Result<Vec<_>, _>>()?;
            let mut all = Vec::with_capacity(found.len());
            for of_one in found.chunk_by(|(one, _), (other, _)| one == other) {
                let Some((owner, _)) = of_one.first() else { continue };
                let ids: Vec<&str> = of_one.iter().map(|(_, task)| &*task.id).collect();
                let mut labels = labels_of(sql, owner.as_str(), &ids)?;
                all.extend(of_one.iter().map(|(owner, task)| {
                    let labels = labels.remove(&task.id).unwrap_or_default();
                    FoundTask { owner: owner.clone(), task: task.clone(), labels }
                }));
            }
            Ok(all)
        })
    }
}
