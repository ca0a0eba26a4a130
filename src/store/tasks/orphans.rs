//! Tasks that have outlived the task which delegated to them: whoever ended that one died before they were ended, too.
//!
//! In: where a page begins. Out: tasks that take steps, under one that takes none any more or is gone, a page at a time.

use super::StoredTasks;
use super::labels::PARENT;
use super::owner::Owner;
use crate::StoreError;

/// A task under one that takes no step any more.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Orphan {
    /// Whose task it is.
    pub owner: Owner,
    /// The task.
    pub task: String,
    /// The task that had delegated to it.
    pub parent: String,
}

impl StoredTasks {
    /// The tasks that are active or suspended under a task which is neither, behind one by owner and id, at most so many and at most
    /// `max_page`.
    ///
    /// # Errors
    /// Those of the database.
    ///
    /// # Cost
    /// It looks at all labels of tasks.
    ///
    /// # Example
    ///
    /// ```
    /// use celador::{Engine, EngineLimits, Parent, StartTask, User};
    /// use celador_store::{Database, Ending, Location, Orphan, Owner, StoreLimits, StoredTasks};
    /// # std::env::set_current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))?;
    /// # let engine = Engine::open(&["examples/first-policy"], EngineLimits::default())?;
    /// # let now: celador::Timestamp = "2026-06-01T12:00:00Z".parse()?;
    /// # let limits = StoreLimits::default();
    /// # let tasks = StoredTasks::new(Database::open(&Location::Memory, &limits)?, &limits);
    /// let desk = Owner::caller("desk");
    /// for (id, parent) in [("t-1", None), ("t-2", Some(Parent { task: "t-1".into(), ..Parent::default() }))] {
    ///     let begun = StartTask { parent, ..StartTask::new(id, "shop", "clerk", User::default(), now) };
    ///     tasks.create(&desk, &engine.start(begun)?, now, None)?;
    /// }
    /// assert_eq!(tasks.orphans(None, 10)?, []);
    ///
    /// let ending = Ending { at: now, who: "kim", reason: "Done.", with_parent: false, expected: None };
    /// tasks.end(&desk, "t-1", &ending, None, |_| None)?;
    /// let Orphan { task, parent, .. } = &tasks.orphans(None, 10)?[0];
    /// assert_eq!((&**task, &**parent), ("t-2", "t-1"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn orphans(&self, after: Option<(&Owner, &str)>, limit: usize) -> Result<Vec<Orphan>, StoreError> {
        let (owner, id) = after.map_or(("", ""), |(owner, id)| (owner.as_str(), id));
        let statement = "SELECT task.owner, task.id, task_label.value FROM task_label \
             JOIN task ON task.owner = task_label.owner AND task.id = task_label.task \
             LEFT JOIN task AS parent ON parent.owner = task_label.owner AND parent.id = task_label.value \
             WHERE task_label.kind = $1 AND task.state IN ('active', 'suspended') \
             AND (parent.state IS NULL OR parent.state NOT IN ('active', 'suspended')) \
             AND (task.owner, task.id) > ($2, $3) ORDER BY task.owner, task.id LIMIT $4";
        let values = [PARENT.into(), owner.into(), id.into(), self.page(limit)];
        let rows = self.database().read(|sql| sql.query(statement, &values))?;
        let orphan = |row: &crate::Row| {
            let [owner, task, parent] = [row.text(0)?, row.text(1)?, row.text(2)?];
            Ok(Orphan { owner: Owner::caller(owner), task: task.to_owned(), parent: parent.to_owned() })
        };
        rows.iter().map(orphan).collect()
    }
}
