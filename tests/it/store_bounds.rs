//! The bounds of the stores, each seen to bound, and who may read them.

use crate::store_fixture::Kept;
use celador_store::{Database, Location, Owner, StoreError, StoreLimits, StoredTasks};
use std::fs;
use std::sync::Barrier;
use std::time::{Duration, Instant};
use tempfile::TempDir;

fn with(change: impl FnOnce(&mut StoreLimits)) -> StoreLimits {
    let mut limits = StoreLimits::default();
    change(&mut limits);
    limits
}

/// A file store of so many tasks.
fn file(tasks: usize) -> (TempDir, Location) {
    let folder = TempDir::new().unwrap();
    let location = Location::File(folder.path().join("celador.db"));
    let store = StoredTasks::new(
        Database::open(&location, &StoreLimits::default()).unwrap(),
        &StoreLimits::default(),
    );
    for task in 0..tasks {
        Kept::create(&store, &Owner::caller("kim"), &format!("t-{task:03}")).unwrap();
    }
    (folder, location)
}

#[test]
fn who_finds_no_connection_waits_no_longer_than_is_allowed() {
    let (_folder, location) = file(1);
    let limits = with(|limits| (limits.max_connections, limits.max_connection_wait) = (2, 1));
    let database = Database::open(&location, &limits).unwrap();
    let everybody_reads = Barrier::new(3);
    let nobody_waits = Barrier::new(3);
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                let reading = database.read(|_| {
                    everybody_reads.wait();
                    nobody_waits.wait();
                    Ok(())
                });
                reading.unwrap();
            });
        }
        everybody_reads.wait();
        let begun = Instant::now();
        let third = database.read(|_| Ok(()));
        nobody_waits.wait();
        assert!(matches!(third, Err(StoreError::Unavailable(_))), "{third:?}");
        assert!(begun.elapsed() >= Duration::from_secs(1));
    });
    database.read(|_| Ok(())).unwrap();
}

#[test]
fn a_page_is_no_longer_than_is_allowed() {
    let (_folder, location) = file(5);
    let limits = with(|limits| limits.max_page = 3);
    let store = StoredTasks::new(Database::open(&location, &limits).unwrap(), &limits);
    let kim = Owner::caller("kim");
    let page = store.tasks(&kim, None, usize::MAX).unwrap();
    assert_eq!(page.iter().map(|task| &*task.id).collect::<Vec<_>>(), ["t-000", "t-001", "t-002"]);
    let rest = store.tasks(&kim, Some("t-002"), usize::MAX).unwrap();
    assert_eq!(rest.iter().map(|task| &*task.id).collect::<Vec<_>>(), ["t-003", "t-004"]);
    let mut kept = Kept::load(&store, &kim, "t-000").unwrap();
    (0..4).for_each(|_| drop(kept.post("m", None).unwrap()));
    let events = |after| store.events(&kim, "t-000", after, usize::MAX).unwrap().len();
    assert_eq!((events(0), events(3)), (3, 2));
    // a page has a row at least: nothing would be verified otherwise, and a list would seem to be over
    let limits = with(|limits| limits.max_page = 0);
    let store = StoredTasks::new(Database::open(&location, &limits).unwrap(), &limits);
    assert_eq!(store.tasks(&kim, None, usize::MAX).unwrap().len(), 1);
    let verified = store.verify().unwrap();
    assert_eq!((verified.tasks, verified.events), (5, 5 + 4));
}

#[test]
fn one_commit_carries_no_more_writes_than_is_allowed() {
    const WRITERS: usize = 40;
    let commits = |batch: usize| {
        let (_folder, location) = file(WRITERS);
        let limits = with(|limits| limits.max_commit_batch = batch);
        let database = Database::open(&location, &limits).unwrap();
        let store = StoredTasks::new(database.clone(), &limits);
        let kim = Owner::caller("kim");
        let together = Barrier::new(WRITERS);
        database.faults().plan(celador_store::FaultPlan::Nothing);
        std::thread::scope(|scope| {
            for writer in 0..WRITERS {
                let (store, kim, together) = (&store, &kim, &together);
                scope.spawn(move || {
                    let mut kept = Kept::load(store, kim, &format!("t-{writer:03}")).unwrap();
                    together.wait();
                    (0..5).for_each(|_| drop(kept.post("m", None).unwrap()));
                });
            }
        });
        database.faults().commits()
    };
    let (alone, grouped) = (commits(1), commits(256));
    let writes = (WRITERS * 5) as u64;
    assert!(alone >= writes, "{alone} commits of {writes} writes");
    assert!(grouped < writes, "{grouped} commits of {writes} writes");
}

#[test]
fn a_file_beyond_the_bound_is_not_read_whole_when_it_is_opened() {
    let (_folder, Location::File(path)) = file(40) else { panic!("a file") };
    let whole = fs::read(&path).unwrap();
    let bytes = whole.len() as u64;
    let unread = with(|limits| limits.max_checked_file_bytes = bytes - 1);
    let read = with(|limits| limits.max_checked_file_bytes = bytes);
    let location = Location::File(path.clone());
    let refused_only_when_read = (whole.len() / 2..whole.len()).step_by(97).any(|at| {
        let mut damaged = whole.clone();
        damaged[at] ^= 0xff;
        fs::write(&path, &damaged).unwrap();
        let refused = matches!(Database::open(&location, &read), Err(StoreError::Corrupt(_)));
        fs::write(&path, &damaged).unwrap();
        refused && Database::open(&location, &unread).is_ok()
    });
    assert!(refused_only_when_read);
}

/// What a process reads that opens the store after one that ended without closing it.
#[test]
fn a_log_is_emptied_where_it_is_longer_than_it_may_be() {
    let (folder, location) = file(1);
    let limits = StoreLimits::default();
    let database = Database::open(&location, &limits).unwrap();
    let store = StoredTasks::new(database.clone(), &limits);
    let mut kept = Kept::load(&store, &Owner::caller("kim"), "t-000").unwrap();
    (0..20).for_each(|_| drop(kept.post("m", None).unwrap()));
    let log = || fs::metadata(folder.path().join("celador.db-wal")).unwrap().len();
    let before = log();
    assert!(before > 0);
    database.shorten_log(before).unwrap();
    assert_eq!(log(), before);
    database.shorten_log(before - 1).unwrap();
    assert_eq!(log(), 0);
    drop(kept.post("m", None).unwrap());
    assert_eq!(store.events(&Owner::caller("kim"), "t-000", 0, usize::MAX).unwrap().len(), 22);
}

/// Whoever has answered a request has no time to wait for those who read.
#[test]
fn a_log_that_somebody_reads_is_left_to_the_next_time() {
    let (folder, location) = file(1);
    let limits = StoreLimits::default();
    let database = Database::open(&location, &limits).unwrap();
    let path = folder.path().join("celador.db");
    let reader = rusqlite::Connection::open(&path).unwrap();
    reader.execute_batch("BEGIN; SELECT count(*) FROM write_probe").unwrap();
    let store = StoredTasks::new(database.clone(), &limits);
    drop(Kept::load(&store, &Owner::caller("kim"), "t-000").unwrap().post("m", None).unwrap());
    let log = || fs::metadata(folder.path().join("celador.db-wal")).unwrap().len();
    let before = log();
    let began = Instant::now();
    database.shorten_log(0).unwrap();
    // the bound tells no wait from the ten seconds of one
    assert!(began.elapsed() < Duration::from_secs(5));
    assert_eq!(log(), before);
    reader.execute_batch("COMMIT").unwrap();
    database.shorten_log(0).unwrap();
    assert_eq!(log(), 0);
}

#[cfg(unix)]
#[test]
fn only_its_owner_may_read_what_is_stored() {
    use std::os::unix::fs::PermissionsExt;
    let (folder, location) = file(1);
    let _open = Database::open(&location, &StoreLimits::default()).unwrap();
    let log = celador_store::decision_log::LogSettings::new(folder.path());
    let _log = celador_store::decision_log::DecisionLog::open(log, crate::store_fixture::second(0)).unwrap();
    for entry in fs::read_dir(folder.path()).unwrap() {
        let path = entry.unwrap().path();
        let mode = fs::metadata(&path).unwrap().permissions().mode() & 0o777;
        assert!(mode == 0o600 || path.ends_with("lock"), "{}: {mode:o}", path.display());
    }
}
