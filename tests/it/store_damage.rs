//! Files that are not what was written: cut short, with a bit turned, made by somebody else, by a later or an earlier
//! release. Opening and reading them gives what was written, or refuses; never something else.
//!
//! `CELADOR_DAMAGES` says how many bits are turned. `BLESS=1` writes the file that later releases must open.

use crate::store_fixture::{Kept, once};
use crate::store_tasks::limits;
use celador::task::VerdictKind;
use celador_store::{
    Database, Location, Once, Owner, StoreError, StoreLimits, StoredEvent, StoredTasks, TaskSummary,
};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

fn kim() -> Owner {
    Owner::caller("kim")
}

fn open(path: &Path) -> Result<StoredTasks, StoreError> {
    Ok(StoredTasks::new(
        Database::open(&Location::File(path.to_owned()), &StoreLimits::default())?,
        &limits(),
    ))
}

/// Everything that a store says of its tasks.
#[derive(Clone, Debug, PartialEq)]
struct Content {
    list: Vec<TaskSummary>,
    tasks: BTreeMap<String, (serde_json::Value, Vec<StoredEvent>, Option<Once>)>,
}

fn task(
    store: &StoredTasks,
    id: &str,
) -> Result<(serde_json::Value, Vec<StoredEvent>, Option<Once>), StoreError> {
    let saved = serde_json::to_value(store.load(&kim(), id)?.saved).unwrap();
    Ok((saved, store.events(&kim(), id, 0, 1000)?, store.answer(&kim(), Some(id), "k-2")?))
}

fn content(store: &StoredTasks) -> Content {
    let list = store.tasks(&kim(), None, 1000).unwrap();
    let tasks = list.iter().map(|row| (row.id.clone(), task(store, &row.id).unwrap())).collect();
    Content { list, tasks }
}

/// A store with tasks of every kind.
fn fill(store: &StoredTasks) {
    for (id, memos) in [
        ("active", &["m", "m", "never", "m", "m", "m", "m"][..]),
        ("fresh", &[]),
        ("suspended", &["m", "ask"]),
        ("long", &["m"; 12]),
    ] {
        let mut kept = Kept::create(store, &kim(), id).unwrap();
        for memo in memos {
            let key = format!("k-{}", kept.head.version());
            kept.post(memo, Some(once(&key))).unwrap();
        }
    }
}

/// A file that was closed: no log beside it.
fn written(folder: &Path) -> (PathBuf, Content) {
    let path = folder.join("whole.db");
    let store = open(&path).unwrap();
    fill(&store);
    let content = content(&store);
    drop(store);
    assert!(!folder.join("whole.db-wal").exists(), "the last handle closes the store");
    (path, content)
}

/// What reading a damaged file came to.
#[derive(Debug, Default)]
struct Tally {
    refused_to_open: usize,
    refused_to_read: usize,
    as_written: usize,
}

impl Tally {
    /// Opens a file and reads everything: each answer is that of before the damage, or a refusal.
    fn read(&mut self, path: &Path, expected: &Content, what: &str) {
        let store = match open(path) {
            Ok(store) => store,
            Err(error) => return self.refuse(&error, what),
        };
        let mut refused = false;
        let mut compare = |same: Result<bool, StoreError>| match same {
            Ok(same) => assert!(same, "{what}: something else was read"),
            Err(StoreError::NotFound) => panic!("{what}: a task is not found"),
            Err(_) => refused = true,
        };
        compare(store.tasks(&kim(), None, 1000).map(|list| list == expected.list));
        for (id, before) in &expected.tasks {
            compare(task(&store, id).map(|now| now == *before));
        }
        if refused {
            self.refused_to_read += 1;
        } else {
            self.as_written += 1;
        }
    }

    fn refuse(&mut self, error: &StoreError, what: &str) {
        let clear = matches!(
            error,
            StoreError::NotOurs
                | StoreError::Corrupt(_)
                | StoreError::Refused(_)
                | StoreError::Unavailable(_)
                | StoreError::NewerVersion { .. }
        );
        assert!(clear, "{what}: {error:?}");
        self.refused_to_open += 1;
    }
}

#[test]
fn a_file_that_was_cut_short_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let (path, content) = written(folder.path());
    let whole = fs::read(&path).unwrap();
    let mut tally = Tally::default();
    let damaged = folder.path().join("damaged.db");
    let lengths = (0..whole.len()).step_by(1024).chain([1, 15, 16, 99, 100, 101, whole.len() - 1]);
    for length in lengths {
        fs::write(&damaged, &whole[..length]).unwrap();
        tally.read(&damaged, &content, &format!("cut after {length} of {} bytes", whole.len()));
        remove(&damaged);
    }
    println!("cut short: {tally:?}");
    assert!(tally.refused_to_open > 50 && tally.as_written <= 1, "{tally:?}");
    fs::write(&damaged, &whole).unwrap();
    tally.read(&damaged, &content, "the whole file");
    assert_eq!(tally.as_written, 1, "{tally:?}");
}

#[test]
fn a_file_with_a_bit_turned_is_refused_or_as_it_was() {
    let folder = tempfile::tempdir().unwrap();
    let (path, content) = written(folder.path());
    let whole = fs::read(&path).unwrap();
    let count = std::env::var("CELADOR_DAMAGES").ok().and_then(|count| count.parse().ok()).unwrap_or(400);
    let mut tally = Tally::default();
    let damaged = folder.path().join("damaged.db");
    // all over the file, and each byte of its header
    let spread = (0..count).map(|number: usize| (number * 7_919 + number / 8, number % 8));
    let header = (0..100).map(|offset| (offset, offset % 8));
    for (offset, bit) in header.chain(spread) {
        let offset = offset % whole.len();
        let mut bytes = whole.clone();
        bytes[offset] ^= 1 << bit;
        fs::write(&damaged, &bytes).unwrap();
        tally.read(&damaged, &content, &format!("bit {bit} of byte {offset}"));
        remove(&damaged);
    }
    println!("a bit turned: {tally:?}");
    assert!(tally.refused_to_open > 50, "{tally:?}");
}

/// The log is what came last: without its end, the store is as it was some steps earlier, step by step.
#[test]
fn a_log_that_was_cut_short_or_turned_gives_a_beginning() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("whole.db");
    let store = open(&path).unwrap();
    fill(&store);
    let expected = content(&store);
    let [file, log] = [path.clone(), path.with_extension("db-wal")].map(|path| fs::read(path).unwrap());
    assert!(log.len() > 100_000);
    let damaged = folder.path().join("damaged.db");
    let mut beginnings = BTreeMap::new();
    for number in 0..100 {
        let mut log = log.clone();
        let at = number * log.len() / 100;
        if number % 2 == 0 {
            log.truncate(at)
        } else {
            log[at] ^= 1 << (number % 8)
        }
        fs::write(&damaged, &file).unwrap();
        fs::write(damaged.with_extension("db-wal"), &log).unwrap();
        let store = match open(&damaged) {
            Ok(store) => store,
            // the file as it was made, before the log was ever put into it
            Err(error) => {
                assert!(matches!(error, StoreError::NotOurs | StoreError::Corrupt(_)), "{number}: {error:?}");
                continue;
            }
        };
        let mut steps = 0;
        for row in store.tasks(&kim(), None, 1000).unwrap() {
            let (_, events, _) = task(&store, &row.id).unwrap();
            assert_eq!(events, expected.tasks[&row.id].1[..events.len()], "{number}");
            steps += events.len();
        }
        store.verify().unwrap();
        beginnings.insert(number, steps);
        drop(store);
        remove(&damaged);
    }
    assert!(beginnings.values().is_sorted() && beginnings.len() > 90, "{beginnings:?}");
}

fn remove(path: &Path) {
    for end in ["db", "db-wal", "db-shm"] {
        let _ = fs::remove_file(path.with_extension(end));
    }
}

#[test]
fn what_is_not_a_store_is_refused_and_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let other = folder.path().join("other.db");
    rusqlite::Connection::open(&other).unwrap().execute_batch("CREATE TABLE theirs (n)").unwrap();
    let text = folder.path().join("text.db");
    fs::write(&text, "somebody's notes ".repeat(100)).unwrap();
    let empty = folder.path().join("empty.db");
    fs::write(&empty, "").unwrap();
    for path in [&other, &text, &empty] {
        let before = fs::read(path).unwrap();
        assert_eq!(open(path).err(), Some(StoreError::NotOurs), "{}", path.display());
        assert_eq!(fs::read(path).unwrap(), before, "{}", path.display());
    }
    assert!(open(folder.path()).is_err() && open(Path::new("/nowhere/at/all.db")).is_err());
}

#[test]
fn a_store_of_a_later_release_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let (path, _) = written(folder.path());
    let file = rusqlite::Connection::open(&path).unwrap();
    let known: i64 = file.query_row("SELECT count(*) FROM celador_schema", [], |row| row.get(0)).unwrap();
    file.execute("INSERT INTO celador_schema VALUES (?1, 'later', '')", [known + 1]).unwrap();
    let error = open(&path).unwrap_err();
    assert_eq!(error, StoreError::NewerVersion { found: known as u64 + 1, known: known as u64 });
    file.execute("DELETE FROM celador_schema WHERE name = 'later'", []).unwrap();
    assert!(open(&path).is_ok());
    file.execute_batch("DROP TABLE task_answer; CREATE TABLE task_answer (owner TEXT)").unwrap();
    assert!(matches!(open(&path), Err(StoreError::Corrupt(_))), "a table that is not the one that was made");
}

/// `celador store check`: yes of a whole store, no of a damaged one, and a store that is not there is not made.
#[test]
fn the_command_checks_a_store() {
    let folder = tempfile::tempdir().unwrap();
    let (path, _) = written(folder.path());
    let check = |path: &Path| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_celador"));
        let output = command.args(["store", "check"]).arg(path).output().unwrap();
        let text = [output.stdout, output.stderr].map(|text| String::from_utf8(text).unwrap()).concat();
        (output.status.code(), text)
    };
    let whole =
        (Some(0), "4 task(s), 25 event(s), 21 answer(s), 1 review(s), as they were written\n".to_owned());
    assert_eq!(check(&path), whole);
    let file = rusqlite::Connection::open(&path).unwrap();
    file.execute_batch("UPDATE task_event SET at = '' WHERE task = 'long' AND version = 5").unwrap();
    drop(file);
    let (code, text) = check(&path);
    assert!(
        code == Some(2) && text.contains("event 5 of task `long` is not what was written"),
        "{code:?} {text}"
    );
    let nothing = folder.path().join("nothing.db");
    assert_eq!(check(&nothing).0, Some(1));
    assert!(!nothing.exists());
}

/// A review that was taken out of its table is missed, be it open or answered, as its task says that it was asked.
#[test]
fn a_review_that_is_gone_is_missed() {
    let folder = tempfile::tempdir().unwrap();
    let (path, _) = written(folder.path());
    let take_away = |path: &Path| {
        let file = rusqlite::Connection::open(path).unwrap();
        assert_eq!(file.execute("DELETE FROM review", []).unwrap(), 1);
    };
    let store = open(&path).unwrap();
    assert_eq!(store.verify().unwrap().reviews, 1);
    let lost = store.reviews(&celador_store::ReviewFilter::default(), 0, 1).unwrap().0.remove(0).review.id;
    let expected = Err(StoreError::Corrupt(format!("the review `{lost}` of task `suspended` is not there")));
    drop(store);

    let open_one = folder.path().join("open.db");
    fs::copy(&path, &open_one).unwrap();
    take_away(&open_one);
    assert_eq!(open(&open_one).unwrap().verify().map(drop), expected);

    let store = open(&path).unwrap();
    let mut suspended = Kept::load(&store, &kim(), "suspended").unwrap();
    assert_eq!(suspended.review(true).unwrap().verdict.kind(), VerdictKind::Allow);
    assert_eq!(store.verify().unwrap().reviews, 1);
    take_away(&path);
    assert_eq!(store.verify().map(drop), expected);
}
