//! The labels of tasks: what they are found by besides their own row. The user, the task that delegated to it, and the metadata.
//!
//! In: a task that begins. Out: rows, each with a digest of its own. They follow from the first event of the task and are never
//! changed, so whoever verifies a store makes them anew and compares.

use super::owner::Owner;
use super::reading::stored_events;
use super::some_tasks::{places, values_of};
use crate::database::storable;
use crate::row_digest::digest;
use crate::{Row, Sql, SqlValue, StoreError, StoreLimits, messages};
use celador::Parent;
use celador::task::SavedTask;
use std::collections::BTreeMap;

/// The columns of `task_label`, in the order in which [`Label::read`] takes them.
const LABEL: &str = "owner, task, kind, key, value, digest";

/// The words for the kinds of labels.
pub(super) const USER: &str = "user";
pub(super) const PARENT: &str = "parent";
pub(super) const METADATA: &str = "metadata";

/// One label of a task.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Label {
    kind: String,
    key: String,
    value: String,
}

/// What a task is found by besides its own row.
///
/// ```
/// use celador::{Engine, EngineLimits, StartTask, User};
/// use celador_store::{Database, FoundTask, Location, Owner, StoreLimits, StoredTasks, TaskFilter, TaskLabels};
/// # std::env::set_current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))?;
/// # let engine = Engine::open(&["examples/first-policy"], EngineLimits::default())?;
/// # let now: celador::Timestamp = "2026-06-01T12:00:00Z".parse()?;
/// # let limits = StoreLimits::default();
/// # let tasks = StoredTasks::new(Database::open(&Location::Memory, &limits)?, &limits);
/// let desk = Owner::caller("desk");
/// for (id, order) in [("t-1", "o-7"), ("t-2", "o-8")] {
///     let kim = User { id: "u-7".into(), email: None, ..User::default() };
///     let metadata = [("order".into(), order.into())].into();
///     let task = engine.start(StartTask { metadata, ..StartTask::new(id, "shop", "clerk", kim, now) })?;
///     tasks.create(&desk, &task, now, None)?;
/// }
///
/// let filter = TaskFilter { metadata: vec![("order".into(), "o-8".into())], ..TaskFilter::default() };
/// let found: Vec<FoundTask> = tasks.find(Some(&desk), None, &filter, 10)?;
/// let [FoundTask { task, labels: TaskLabels { user, .. }, .. }] = &*found else { panic!("one has this order") };
/// assert_eq!((&*task.id, user.as_deref()), ("t-2", Some("u-7")));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TaskLabels {
    /// The identifier of the user for whom it runs; `None` if a database cannot store it.
    pub user: Option<String>,
    /// The id of the task that has delegated to it, if one has.
    pub parent: Option<String>,
    /// Its metadata.
    pub metadata: BTreeMap<String, String>,
}

impl TaskLabels {
    fn of(labels: impl Iterator<Item = Label>) -> Self {
        let mut all = Self::default();
        for Label { kind, key, value } in labels {
            match &*kind {
                USER => all.user = Some(value),
                PARENT => all.parent = Some(value),
                _ => drop(all.metadata.insert(key, value)),
            }
        }
        all
    }
}

impl Label {
    /// The labels of a task with this user. What no database stores is no label: nobody could ask for it.
    pub(super) fn all(user: &str, parent: Option<&Parent>, metadata: &BTreeMap<String, String>) -> Vec<Self> {
        let label = |kind: &str, key: &str, value: &str| Self {
            kind: kind.to_owned(),
            key: key.to_owned(),
            value: value.to_owned(),
        };
        let mut labels: Vec<Self> = metadata.iter().map(|(key, value)| label(METADATA, key, value)).collect();
        labels.extend(parent.map(|parent| label(PARENT, "", &parent.task)));
        labels.push(label(USER, "", user));
        labels.retain(|label| storable(&[(&label.value).into()]).is_ok());
        labels
    }

    /// The labels of a task as it was stored when it began.
    fn of_saved(saved: &SavedTask) -> Vec<Self> {
        Self::all(saved.user(), saved.parent(), saved.metadata())
    }

    fn digest(&self, owner: &str, task: &str) -> String {
        digest(&[owner, task, &self.kind, &self.key, &self.value])
    }

    /// A label with the task that it is of, held against its digest.
    fn read(row: &Row) -> Result<(String, Self), StoreError> {
        let (owner, task) = (row.text(0)?, row.text(1)?);
        let [kind, key, value] = [row.text(2)?, row.text(3)?, row.text(4)?].map(str::to_owned);
        let label = Self { kind, key, value };
        if row.text(5)? != label.digest(owner, task) {
            return Err(StoreError::Corrupt(messages::altered_labels(task)));
        }
        Ok((task.to_owned(), label))
    }

    /// Writes it beside the row of its task, if that is there and it is not.
    pub(super) fn put(&self, sql: &mut Sql<'_>, owner: &str, task: &str) -> Result<(), StoreError> {
        let Self { kind, key, value } = self;
        let values: [SqlValue<'_>; 6] = [
            owner.into(),
            task.into(),
            kind.into(),
            key.into(),
            value.into(),
            self.digest(owner, task).into(),
        ];
        let statement = format!(
            "INSERT INTO task_label ({LABEL}) SELECT owner, id, $3, $4, $5, $6 FROM task \
             WHERE owner = $1 AND id = $2 ON CONFLICT DO NOTHING"
        );
        sql.execute(&statement, &values)?;
        Ok(())
    }
}

/// The labels of some tasks of an owner, by their ids.
pub(super) fn labels_of(
    sql: &mut Sql<'_>,
    owner: &str,
    tasks: &[&str],
) -> Result<BTreeMap<String, TaskLabels>, StoreError> {
    let mut labels: BTreeMap<String, Vec<Label>> = BTreeMap::new();
    for row in &rows(sql, owner, tasks)? {
        let (task, label) = Label::read(row)?;
        labels.entry(task).or_default().push(label);
    }
    Ok(labels.into_iter().map(|(task, labels)| (task, TaskLabels::of(labels.into_iter()))).collect())
}

fn rows(sql: &mut Sql<'_>, owner: &str, tasks: &[&str]) -> Result<Vec<Row>, StoreError> {
    let statement =
        format!("SELECT {LABEL} FROM task_label WHERE owner = $1 AND task IN ({})", places(tasks));
    sql.query(&statement, &values_of(owner, tasks))
}

/// Compares the labels of a task with those that follow from its first event.
pub(super) fn verify(
    sql: &mut Sql<'_>,
    owner: &Owner,
    task: &str,
    limits: &StoreLimits,
) -> Result<(), StoreError> {
    let rows = rows(sql, owner.as_str(), &[task])?;
    let mut found = rows.iter().map(|row| Ok(Label::read(row)?.1)).collect::<Result<Vec<_>, StoreError>>()?;
    found.sort();
    let mut wanted = Label::of_saved(&begun(sql, owner, task, limits)?);
    wanted.sort();
    if found != wanted {
        return Err(StoreError::Corrupt(messages::altered_labels(task)));
    }
    Ok(())
}

/// A task as it was stored when it began.
fn begun(
    sql: &mut Sql<'_>,
    owner: &Owner,
    task: &str,
    limits: &StoreLimits,
) -> Result<SavedTask, StoreError> {
    let altered = || StoreError::Corrupt(messages::altered_labels(task));
    let first = stored_events(sql, owner, task, 0, (1, limits))?;
    let first = first.first().ok_or_else(altered)?;
    serde_json::from_str(&first.change).map_err(|_| altered())
}
