//! Finding tasks in each store: exactly those that a filter wants, in the order of their ids; and what they
//! are found by is compared with what happened.

use crate::store_database::databases;
use crate::store_fixture::{clerk, second};
use celador::task::{StartTask, User};
use celador::{Parent, Task};
use celador_store::{Database, Owner, Purge, StoreError, StoreLimits, StoredTasks, TaskFilter};

fn kim() -> Owner {
    Owner::caller("kim")
}

fn new(id: &str, user: &str, order: &str, at: i64) -> Task {
    let user = User { id: user.into(), email: None, ..User::default() };
    let parent = (id != "t-0").then(|| Parent { task: "t-0".into(), ..Parent::default() });
    let metadata = [("order".to_owned(), order.to_owned()), ("shop".to_owned(), "north".to_owned())].into();
    let now = second(at.try_into().unwrap());
    clerk().start(StartTask { parent, metadata, ..StartTask::new(id, "demo", "clerk", user, now) }).unwrap()
}

fn filled(database: &Database) -> StoredTasks {
    let store = StoredTasks::new(database.clone(), &StoreLimits { max_page: 2, ..StoreLimits::default() });
    for at in 0..7 {
        let task = new(&format!("t-{at}"), ["u-1", "u-2"][at % 2], &format!("o-{}", at % 3), at as i64);
        store.create(&kim(), &task, second(at as u64), None).unwrap();
    }
    // another's tasks are nobody else's
    store.create(&Owner::caller("lee"), &new("t-9", "u-2", "o-1", 9), second(9), None).unwrap();
    store
}

/// The ids of all pages, in which only the last is short.
fn ids(store: &StoredTasks, owner: Option<&Owner>, filter: &TaskFilter) -> Vec<String> {
    let mut all: Vec<(Owner, String)> = Vec::new();
    loop {
        let after = all.last().map(|(owner, id)| (owner, &**id));
        let page = store.find(owner, after, filter, 2).unwrap();
        let is_last = page.len() < 2;
        all.extend(page.into_iter().map(|found| (found.owner, found.task.id)));
        if is_last {
            return all.into_iter().map(|(_, id)| id).collect();
        }
    }
}

#[test]
fn a_filter_finds_exactly_what_it_wants_page_by_page() {
    let user = |user: &str| TaskFilter { user: Some(user.into()), ..TaskFilter::default() };
    let order = |order: &str| ("order".to_owned(), order.to_owned());
    let rows: Vec<(TaskFilter, &[usize])> = vec![
        (TaskFilter::default(), &[0, 1, 2, 3, 4, 5, 6]),
        (user("u-2"), &[1, 3, 5]),
        (user("u-3"), &[]),
        (TaskFilter { metadata: vec![order("o-1")], ..TaskFilter::default() }, &[1, 4]),
        (TaskFilter { metadata: vec![order("o-1"), ("shop".into(), "north".into())], ..user("u-2") }, &[1]),
        (TaskFilter { metadata: vec![order("o-1"), order("o-2")], ..TaskFilter::default() }, &[]),
        (TaskFilter { parent: Some("t-0".into()), ..TaskFilter::default() }, &[1, 2, 3, 4, 5, 6]),
        (
            TaskFilter { agent: Some("clerk".into()), namespace: Some("demo".into()), ..user("u-1") },
            &[0, 2, 4, 6],
        ),
        (TaskFilter { namespace: Some("other".into()), ..TaskFilter::default() }, &[]),
        (TaskFilter { state: Some("active".into()), ..user("u-2") }, &[1, 3, 5]),
        (TaskFilter { state: Some("locked".into()), ..TaskFilter::default() }, &[]),
        (
            TaskFilter {
                started_after: Some(second(2)),
                started_before: Some(second(5)),
                ..TaskFilter::default()
            },
            &[2, 3, 4],
        ),
        (TaskFilter { changed_after: Some(second(6)), ..TaskFilter::default() }, &[6]),
    ];
    for (name, database, _folder) in databases() {
        let store = filled(&database);
        for (filter, wanted) in &rows {
            let wanted: Vec<String> = wanted.iter().map(|at| format!("t-{at}")).collect();
            assert_eq!(ids(&store, Some(&kim()), filter), wanted, "{name}: {filter:?}");
        }
        assert_eq!(ids(&store, None, &user("u-2")), ["t-1", "t-3", "t-5", "t-9"], "{name}");
        let [found, ..] = &*store.find(Some(&kim()), None, &user("u-2"), 1).unwrap() else {
            panic!("{name}")
        };
        assert_eq!(
            (found.labels.user.as_deref(), found.labels.parent.as_deref()),
            (Some("u-2"), Some("t-0"))
        );
        assert_eq!(found.labels.metadata["order"], "o-1");
        // a purged task leaves none of it
        let purge = Purge { at: second(20), who: "kim", reason: "done" };
        store.purge(&kim(), "t-1", &purge).unwrap();
        assert_eq!(ids(&store, Some(&kim()), &user("u-2")), ["t-3", "t-5"], "{name}");
        store.verify().unwrap();
    }
}

#[test]
fn what_a_task_is_found_by_is_held_against_its_first_event() {
    let changes = [
        "UPDATE task_label SET value = 'u-9' WHERE kind = 'user' AND task = 't-3'",
        "UPDATE task_label SET task = 't-4' WHERE kind = 'parent' AND task = 't-3'",
        "DELETE FROM task_label WHERE kind = 'metadata' AND key = 'order' AND task = 't-3'",
        "DELETE FROM task_label WHERE kind = 'user' AND task = 't-3'",
    ];
    for (at, change) in changes.iter().enumerate() {
        for (name, database, _folder) in databases() {
            let store = filled(&database);
            if at == 1 {
                database
                    .write(|sql| {
                        sql.execute("DELETE FROM task_label WHERE task = 't-4' AND kind = 'parent'", &[])
                    })
                    .unwrap();
            }
            database.write(|sql| sql.execute(change, &[])).unwrap();
            assert!(matches!(store.verify(), Err(StoreError::Corrupt(_))), "{name}: {change}");
        }
    }
    // a label that is not what was written is refused by whoever finds its task
    for (name, database, _folder) in databases() {
        let store = filled(&database);
        database.write(|sql| sql.execute(changes[0], &[])).unwrap();
        let locked = TaskFilter { metadata: vec![("order".into(), "o-0".into())], ..TaskFilter::default() };
        assert!(
            matches!(
                store.find(Some(&kim()), Some((&kim(), "t-2")), &locked, 9),
                Err(StoreError::Corrupt(_))
            ),
            "{name}"
        );
    }
}
