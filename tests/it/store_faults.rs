//! A backend that fails at each of its statements and commits in turn, and a disk that is full: what was answered stays,
//! what was refused left no trace, and trying again succeeds.

use crate::store_database::databases;
use crate::store_fixture::{Kept, new_task, once, second};
use crate::store_load::owner;
use crate::store_tasks::limits;
use celador::task::VerdictKind;
use celador_store::{
    Database, FaultPlan, Location, Owner, StoreError, StoreLimits, StoredEvent, StoredTasks,
};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Tries until it works; how often it did not.
fn again<T>(failures: &mut u64, mut attempt: impl FnMut() -> Result<T, StoreError>) -> T {
    loop {
        match attempt() {
            Ok(done) => return done,
            Err(error) => {
                assert!(error.is_temporary(), "{error}");
                *failures += 1;
                assert!(*failures < 5, "it never works again");
            }
        }
    }
}

/// The life of a task through a store, with everything that a store is asked for; its events, and how often something failed.
fn life(store: &StoredTasks, owner: &Owner) -> (Vec<StoredEvent>, u64) {
    let mut failures = 0;
    let task = new_task("t-1");
    let mut failed_before = false;
    again(&mut failures, || match store.create(owner, &task, second(0), Some(once("make"))) {
        // the answer to the first attempt was lost
        Err(StoreError::AlreadyExists) if failed_before => Ok(()),
        other => {
            failed_before = true;
            other.map(drop)
        }
    });
    assert_eq!(again(&mut failures, || store.answer(owner, None, "make")), Some(once("make")));
    let mut version = 1;
    for memo in ["m", "ask", "m", "never", "m", "m", "ask", "m"] {
        let key = format!("{version}");
        let suspended = again(&mut failures, || {
            let mut kept = Kept::load(store, owner, "t-1")?;
            assert!([version, version + 1].contains(&kept.head.version()));
            if kept.head.version() == version {
                kept.post(memo, Some(once(&key)))?;
            }
            Ok(kept.task.request().is_some())
        });
        version += 1;
        assert_eq!(again(&mut failures, || store.answer(owner, Some("t-1"), &key)), Some(once(&key)));
        assert_eq!(suspended, memo == "ask");
        if suspended {
            again(&mut failures, || {
                let mut kept = Kept::load(store, owner, "t-1")?;
                if kept.head.version() == version { kept.review(true).map(drop) } else { Ok(()) }
            });
            version += 1;
        }
        assert_eq!(again(&mut failures, || store.version(owner, "t-1")), version);
    }
    assert_eq!(again(&mut failures, || store.tasks(owner, None, 10)).len(), 1);
    (again(&mut failures, || store.events(owner, "t-1", 0, 1000)), failures)
}

#[test]
fn every_access_may_fail_and_nothing_is_lost() {
    for (name, database, _folder) in databases() {
        let store = StoredTasks::new(database.clone(), &limits());
        let faults = database.faults();
        faults.plan(FaultPlan::Nothing);
        let (expected, failures) = life(&store, &Owner::caller("straight"));
        assert_eq!((expected.len(), failures), (11, 0));
        let (accesses, commits) = (faults.accesses(), faults.commits());
        for number in 1..=accesses {
            faults.plan(FaultPlan::Access(number));
            let (events, failures) = life(&store, &Owner::caller(&format!("access {number}")));
            assert_eq!((events, failures), (expected.clone(), 1), "{name}: access {number} of {accesses}");
        }
        for number in 1..=commits {
            // the store looks whether the write is there: nobody notices
            faults.plan(FaultPlan::CommitAnswer(number));
            let (events, failures) = life(&store, &Owner::caller(&format!("commit {number}")));
            assert_eq!((events, failures), (expected.clone(), 0), "{name}: commit {number} of {commits}");
        }
        faults.plan(FaultPlan::Everything);
        let down = Kept::create(&store, &Owner::nobody(), "t-1").err();
        assert!(matches!(down, Some(StoreError::Unavailable(_))), "{name}: {down:?}");
        assert!(store.verify().is_err(), "{name}");
        faults.plan(FaultPlan::Nothing);
        let verified = store.verify().unwrap();
        assert_eq!(verified.tasks, 1 + accesses + commits, "{name}");
        println!(
            "{name}: each of {accesses} accesses failed and each of {commits} answers was lost once; \
             {} events, all as without a fault",
            verified.events
        );
    }
}

/// A folder of two megabytes, if this user may mount one.
struct SmallDisk(PathBuf);

impl SmallDisk {
    fn mount(folder: &Path) -> Option<Self> {
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", "size=2m", "celador-test"]).arg(folder);
        mount.output().is_ok_and(|output| output.status.success()).then(|| Self(folder.to_owned()))
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(&self.0).output();
    }
}

#[test]
fn a_full_disk_refuses_and_loses_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let disk = SmallDisk::mount(folder.path());
    let ballast = folder.path().join("ballast");
    std::fs::write(&ballast, vec![1; 400_000]).unwrap();
    let location = Location::File(folder.path().join("celador.db"));
    let database = Database::open(&location, &StoreLimits::default()).unwrap();
    let pages = |most: u64| {
        let statement = format!("PRAGMA max_page_count = {most}");
        database.write(|sql| sql.query(&statement, &[])).unwrap();
    };
    if disk.is_none() {
        pages(100);
    }
    let store = StoredTasks::new(database.clone(), &limits());
    Kept::create(&store, &owner(), "t-1").unwrap();
    let mut memos: Vec<String> = Vec::new();
    let mut refusals = 0;
    let mut kept = Kept::load(&store, &owner(), "t-1").unwrap();
    while refusals < 3 {
        let memo = format!("{} {}", memos.len(), "long ".repeat(2_000));
        match kept.post(&memo, None) {
            Ok(decision) => {
                assert_eq!(decision.verdict.kind(), VerdictKind::Allow);
                memos.push(memo);
            }
            Err(error) => {
                assert!(error.is_temporary(), "{error}");
                refusals += 1;
                kept = Kept::load(&store, &owner(), "t-1").unwrap();
            }
        }
    }
    let stored = || {
        let loaded = Kept::load(&store, &owner(), "t-1").unwrap();
        let calls = serde_json::to_value(loaded.task.save()).unwrap()["open"].take();
        let memos: Vec<String> = calls
            .as_array()
            .unwrap()
            .iter()
            .map(|call| call["arguments"]["memo"].as_str().unwrap().into())
            .collect();
        memos
    };
    assert!(stored() == memos, "what was answered is there, and nothing else");
    // there is room again
    std::fs::remove_file(ballast).unwrap();
    pages(1_000_000);
    let mut kept = Kept::load(&store, &owner(), "t-1").unwrap();
    for number in 0..3 {
        let memo = format!("after {number}");
        kept.post(&memo, None).unwrap();
        memos.push(memo);
    }
    assert!(stored() == memos);
    store.verify().unwrap();
    let how = if disk.is_some() { "a disk of 2 MB" } else { "a file of 100 pages" };
    println!("{how} was full after {} steps; {refusals} were refused, none was lost", memos.len() - 3);
}
