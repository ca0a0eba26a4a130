//! The contract of a store of tasks, the same for every database: what was stored comes back, of two writers one is first,
//! nobody learns of another's tasks, and what was altered is refused.

use crate::store_database::databases;
use crate::store_fixture::{Kept, new_task, once, second};
use crate::task_change::{AGENT, Deed, deed, run};
use crate::task_fixture::{call, engine, noon, start};
use celador::task::{CallResult, Progress, Task, TaskMark, VerdictKind};
use celador_store::{NewEvent, OperationKind, Owner, StoreError, StoreLimits, StoredTasks, Verified};
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use serde_json::json;
use std::sync::Barrier;

/// A snapshot every few events, so that tests meet many.
pub fn limits() -> StoreLimits {
    StoreLimits { max_events_to_replay: 5, ..StoreLimits::default() }
}

/// A store of each kind.
fn stores() -> Vec<(&'static str, StoredTasks, Option<tempfile::TempDir>)> {
    databases()
        .into_iter()
        .map(|(name, database, folder)| (name, StoredTasks::new(database, &limits()), folder))
        .collect()
}

fn kim() -> Owner {
    Owner::caller("kim")
}

#[test]
fn a_task_comes_back_as_it_was() {
    for (name, store, _folder) in stores() {
        let mut kept = Kept::create(&store, &kim(), "t-1").unwrap();
        for round in 0..13 {
            let memo = ["m", "ask", "never"][round % 3];
            let decision = kept.post(memo, None).unwrap();
            match decision.verdict.kind() {
                VerdictKind::Suspend => drop(kept.review(true).unwrap()),
                VerdictKind::Allow => drop(kept.report(&decision).unwrap()),
                _ => {}
            }
            let loaded = store.load(&kim(), "t-1").unwrap();
            assert_eq!(loaded.head, kept.head, "{name}");
            assert!(loaded.replayed <= 5, "{name}: {}", loaded.replayed);
            let json = |task| serde_json::to_value(task).unwrap();
            assert_eq!(json(&loaded.saved), json(&kept.task.save()), "{name}");
        }
        let events = store.events(&kim(), "t-1", 0, 1000).unwrap();
        assert_eq!(events.len() as u64, kept.head.version(), "{name}");
        assert!(events.iter().map(|event| event.version).eq(1..=kept.head.version()), "{name}");
        assert_eq!((events[0].operation, &events[0].decision), (OperationKind::Started, &None));
        let verdicts: Vec<String> = events[1..]
            .iter()
            .map(|event| {
                let decision: serde_json::Value =
                    serde_json::from_str(event.decision.as_ref().unwrap()).unwrap();
                decision["verdict"].as_str().unwrap().to_owned()
            })
            .collect();
        assert_eq!(verdicts[..5], ["allow", "allow", "suspend", "allow", "block"], "{name}");
        assert_eq!(store.events(&kim(), "t-1", 3, 2).unwrap(), events[3..5], "{name}");
        assert_eq!(store.version(&kim(), "t-1"), Ok(kept.head.version()), "{name}");
        let found = Verified { tasks: 1, events: kept.head.version(), reviews: 4, ..Verified::default() };
        assert_eq!(store.verify(), Ok(found), "{name}");
    }
}

#[test]
fn random_tasks_decide_the_same_through_a_store() {
    let mut runner = TestRunner::deterministic();
    let strategy = (prop::collection::vec(deed(), 4..40), prop::collection::vec(any::<u8>(), 1..32));
    let engine = engine(AGENT);
    for (name, store, _folder) in stores() {
        for number in 0..8 {
            let (deeds, rolls): (Vec<Deed>, Vec<u8>) = strategy.new_tree(&mut runner).unwrap().current();
            let task = start(&engine);
            let owner = Owner::caller(&format!("o-{number}"));
            let mut head = store.create(&owner, &task, second(0), None).unwrap();
            let mut keep = |task: &Task, before: &TaskMark| {
                let step = NewEvent {
                    operation: OperationKind::Resume,
                    at: second(1),
                    task,
                    before,
                    decision: None,
                    once: None,
                };
                head = store.append(&head, &step).unwrap();
                let loaded = store.load(&owner, "t-1").unwrap();
                assert_eq!(loaded.head, head, "{name}");
                Some(engine.restore(loaded.saved).unwrap())
            };
            let kept = run(task, &deeds, &rolls, &mut keep);
            assert_eq!(
                kept,
                run(start(&engine), &deeds, &rolls, &mut |_, _| None),
                "{name}: {deeds:?} {rolls:?}"
            );
        }
    }
}

#[test]
fn of_two_writers_one_is_first() {
    for (name, store, _folder) in stores() {
        Kept::create(&store, &kim(), "t-1").unwrap();
        let load = || Kept::load(&store, &kim(), "t-1").unwrap();
        let (mut first, mut second) = (load(), load());
        first.post("m", None).unwrap();
        assert_eq!(second.post("m", None), Err(StoreError::Conflict { expected: 1, found: 2 }), "{name}");
        load().post("m", None).unwrap();
        // many at once: as many succeed as there are versions
        let (threads, rounds) = (4, 20);
        let barrier = Barrier::new(threads);
        let work = || {
            barrier.wait();
            (0..rounds).filter(|_| load().post("m", None).is_ok()).count() as u64
        };
        let done: u64 = std::thread::scope(|scope| {
            let workers: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
            workers.into_iter().map(|worker| worker.join().unwrap()).sum()
        });
        assert_eq!(store.version(&kim(), "t-1"), Ok(3 + done), "{name}");
        assert!(done >= rounds, "{name}: {done}");
        store.verify().unwrap();
    }
}

#[test]
fn a_request_that_is_sent_again_counts_once() {
    for (name, store, _folder) in stores() {
        let task = new_task("t-1");
        store.create(&kim(), &task, second(0), Some(once("make"))).unwrap();
        let again = store.create(&kim(), &new_task("t-2"), second(0), Some(once("make")));
        assert_eq!(again, Err(StoreError::AlreadyExists), "{name}");
        assert_eq!(store.answer(&kim(), None, "make"), Ok(Some(once("make"))), "{name}");
        assert_eq!(store.version(&kim(), "t-2"), Err(StoreError::NotFound), "{name}");
        let mut kept = Kept::load(&store, &kim(), "t-1").unwrap();
        kept.post("m", Some(once("k"))).unwrap();
        assert_eq!(kept.post("m", Some(once("k"))), Err(StoreError::AlreadyExists), "{name}");
        assert_eq!(store.version(&kim(), "t-1"), Ok(2), "{name}");
        assert_eq!(store.answer(&kim(), Some("t-1"), "k"), Ok(Some(once("k"))), "{name}");
        for (owner, task, key) in
            [(kim(), Some("t-1"), "make"), (kim(), None, "k"), (Owner::nobody(), Some("t-1"), "k")]
        {
            assert_eq!(store.answer(&owner, task, key), Ok(None), "{name}");
        }
        // a key and an id that Postgres cannot store fail nobody else
        assert!(matches!(
            Kept::load(&store, &kim(), "t-1").unwrap().post("m", Some(once("\0"))),
            Err(StoreError::NotStorable(_))
        ));
        assert_eq!(
            store.verify(),
            Ok(Verified { tasks: 1, events: 2, answers: 2, ..Verified::default() }),
            "{name}"
        );
    }
}

#[test]
fn nobody_learns_of_anothers_tasks() {
    for (name, store, _folder) in stores() {
        let owners = [kim(), Owner::caller("lee"), Owner::nobody()];
        for owner in &owners {
            for id in ["t-2", "t-1", "T-3", "t-ü"] {
                Kept::create(&store, owner, id).unwrap();
            }
        }
        Kept::load(&store, &kim(), "t-1").unwrap().post("ask", None).unwrap();
        assert_eq!(Kept::create(&store, &kim(), "t-1").err(), Some(StoreError::AlreadyExists), "{name}");
        Kept::create(&store, &kim(), "t-9").unwrap();
        for owner in &owners[1..] {
            assert_eq!(store.version(owner, "t-1"), Ok(1), "{name}");
            assert_eq!(store.load(owner, "t-9").err(), Some(StoreError::NotFound), "{name}");
            assert_eq!(store.version(owner, "t-9"), Err(StoreError::NotFound), "{name}");
            assert_eq!(store.events(owner, "t-9", 0, 9).err(), Some(StoreError::NotFound), "{name}");
        }
        let page = |after, limit| store.tasks(&kim(), after, limit).unwrap();
        let ids = |after, limit| page(after, limit).into_iter().map(|task| task.id).collect::<Vec<_>>();
        assert_eq!(ids(None, 100), ["T-3", "t-1", "t-2", "t-9", "t-ü"], "{name}");
        assert_eq!(ids(Some("t-1"), 2), ["t-2", "t-9"], "{name}");
        let states: Vec<_> =
            page(None, 2).into_iter().map(|task| (task.agent, task.state, task.version)).collect();
        let clerk = |state: &str, version| ("clerk".to_owned(), state.to_owned(), version);
        assert_eq!(states, [clerk("active", 1), clerk("suspended", 2)], "{name}");
    }
}

/// Each column of each row is part of a digest: with any other value the row is refused, or was never read.
#[test]
fn what_was_altered_is_refused() {
    let alterations = [
        ("UPDATE task SET state = 'locked'", true),
        ("UPDATE task SET namespace = 'other'", true),
        ("UPDATE task SET agent = 'other'", true),
        ("UPDATE task SET started_at = '2020-01-01T00:00:00Z'", true),
        ("UPDATE task SET changed_at = '2020-01-01T00:00:00Z'", true),
        ("UPDATE task SET version = version - 1", true),
        ("UPDATE task SET chain = ''", true),
        ("UPDATE task SET digest = ''", true),
        ("DELETE FROM task_event WHERE version = 8", true),
        ("DELETE FROM task_event WHERE version = 7", true),
        ("UPDATE task_event SET version = 100 WHERE version = 7", true),
        ("UPDATE task_event SET at = '2020-01-01T00:00:00Z' WHERE version = 7", true),
        ("UPDATE task_event SET kind = 'output' WHERE version = 7", true),
        ("UPDATE task_event SET kind = 'other' WHERE version = 7", true),
        ("UPDATE task_event SET decision = NULL WHERE version = 7", true),
        ("UPDATE task_event SET change = change || ' ' WHERE version = 7", true),
        ("UPDATE task_event SET chain = '' WHERE version = 8", true),
        ("UPDATE task_snapshot SET saved = saved || ' '", true),
        ("UPDATE task_snapshot SET version = 4", true),
        ("UPDATE task_snapshot SET chain = ''", true),
        ("UPDATE task_snapshot SET digest = ''", true),
        // what only a reader of the whole sees
        ("UPDATE task_event SET decision = '{}' WHERE version = 2", false),
        ("DELETE FROM task_event WHERE version = 1", false),
        ("UPDATE task_answer SET answer = '{}'", false),
        ("UPDATE task_answer SET request = ''", false),
    ];
    for (name, database, _folder) in databases() {
        let store = StoredTasks::new(database.clone(), &limits());
        for (number, (alteration, refuses_load)) in alterations.into_iter().enumerate() {
            let owner = Owner::caller(&number.to_string());
            let mut kept = Kept::create(&store, &owner, "t-1").unwrap();
            for round in 0..7 {
                kept.post("m", Some(once(&round.to_string()))).unwrap();
            }
            assert_eq!(store.load(&owner, "t-1").unwrap().replayed, 3);
            let (scope, column) = if alteration.contains("WHERE") { ("AND", "") } else { ("WHERE", "") };
            let statement = format!("{alteration} {scope} owner = $1{column}");
            assert!(database.write(|sql| sql.execute(&statement, &[owner.as_str().into()])).unwrap() > 0);
            let loaded = store.load(&owner, "t-1");
            if refuses_load {
                assert!(matches!(loaded, Err(StoreError::Corrupt(_))), "{name}: {alteration}: {loaded:?}");
            }
            let verified = store.verify();
            assert!(matches!(verified, Err(StoreError::Corrupt(_))), "{name}: {alteration}: {verified:?}");
            database
                .write(|sql| {
                    for table in ["task_event", "task_snapshot", "task_answer", "task"] {
                        sql.execute(
                            &format!("DELETE FROM {table} WHERE owner = $1"),
                            &[owner.as_str().into()],
                        )?;
                    }
                    Ok(())
                })
                .unwrap();
            assert_eq!(store.verify(), Ok(Verified::default()), "{name}");
        }
    }
}

/// A task that goes on under other manifests is stored anew as a whole: what the old ones let it keep does not come back.
#[test]
fn a_task_goes_on_under_another_policy() {
    let free = engine("capabilities: {ledger: '*'}\n");
    let bound = engine("capabilities: {ledger: {bindings: {account: \"'bound'\"}}}\n");
    let post = |task: &mut Task, account: &str| {
        let arguments = json!({ "amount": 1, "account": account });
        let Progress::Decided(decision) =
            task.before(&call("ledger_post_entry", arguments), noon()).unwrap().into_progress()
        else {
            panic!()
        };
        let _ =
            task.after(&decision.call.unwrap(), CallResult::successful(json!({}).into()), noon()).unwrap();
    };
    for (name, store, _folder) in stores() {
        let mut task = start(&free);
        let mut head = store.create(&kim(), &task, noon(), None).unwrap();
        for (round, engine) in [&free, &bound, &bound, &free, &bound].into_iter().enumerate() {
            let before = task.mark();
            post(&mut task, &format!("account {round}"));
            let step = NewEvent {
                operation: OperationKind::After,
                at: noon(),
                task: &task,
                before: &before,
                decision: None,
                once: None,
            };
            let appended = store.append(&head, &step).unwrap();
            let loaded = store.load(&kim(), "t-1").unwrap();
            assert_eq!(loaded.head, appended, "{name}: round {round}");
            let [kept, lived] =
                [&loaded.saved, &task.save()].map(|saved| serde_json::to_value(saved).unwrap());
            assert_eq!(kept, lived, "{name}: round {round}");
            task = engine.restore(loaded.saved).unwrap();
            head = loaded.head;
        }
        store.verify().unwrap();
    }
}
