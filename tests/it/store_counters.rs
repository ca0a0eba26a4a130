//! Counters in a store: what their rules say, on every database; what fails, is altered, goes or is killed in between; and many
//! tasks at once.
//!
//! `CELADOR_KILLS` says how many kills there are to be; `--nocapture` shows what was counted.

use crate::servers::PostgresServer;
use crate::store_crash::{kills, moment};
use crate::store_database::databases;
use crate::store_fixture::{clerk, new_task, second};
use crate::store_load::open;
use crate::store_tasks::limits;
use crate::task_fixture::call;
use celador::cel::Timestamp;
use celador::counter::{
    Amount, CounterBook, CounterChanges, CounterId, CounterRead, CounterWindow, Decimal, HoldEnd, Reservation,
};
use celador::task::{CallId, CallResult, Decision, Progress, Ran, Task};
use celador_store::{
    Database, Ending, FaultPlan, Location, NewEvent, OperationKind, Owner, Purge, StoreError, StoreLimits,
    StoredTasks, TaskHead, Terms, Verified, sweep_counters,
};
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::Barrier;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime};

fn kim() -> Owner {
    Owner::caller("kim")
}

fn counter(name: &str) -> CounterId {
    CounterId::new("acme/payments", name, "\"u-1\"")
}

fn window(text: &str) -> CounterWindow {
    text.parse().unwrap()
}

fn amount(text: &str) -> Amount {
    text.parse().unwrap()
}

/// A task whose steps touch counters.
struct Spender<'s> {
    store: &'s StoredTasks,
    task: Task,
    head: TaskHead,
}

impl<'s> Spender<'s> {
    fn create(store: &'s StoredTasks, id: &str) -> Result<Self, StoreError> {
        let task = new_task(id);
        let head = store.create(&kim(), &task, second(0), None)?;
        Ok(Self { store, task, head })
    }

    fn load(store: &'s StoredTasks, id: &str) -> Result<Self, StoreError> {
        let loaded = store.load(&kim(), id)?;
        Ok(Self { store, task: clerk().restore(loaded.saved).unwrap(), head: loaded.head })
    }

    /// A call that is let through.
    fn post(
        &mut self,
        (amount, memo): (f64, &str),
        counters: CounterChanges,
        now: Timestamp,
    ) -> Result<Decision, StoreError> {
        let posting = call("ledger_post_entry", json!({ "amount": amount, "memo": memo, "account": "a" }));
        // the id that the task is about to give it, under which the reservations stand
        self.step(OperationKind::Before, counters, now, |task| {
            task.before(&posting, now).unwrap().into_progress()
        })
    }

    fn report(&mut self, call: &CallId, counters: CounterChanges, now: Timestamp) -> Result<(), StoreError> {
        let result = CallResult::successful(json!({ "ok": true }).into());
        let take = |task: &mut Task| task.after(call, result, now).unwrap().into_progress();
        self.step(OperationKind::After, counters, now, take).map(drop)
    }

    fn withdraw(
        &mut self,
        call: &CallId,
        counters: CounterChanges,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let take = |task: &mut Task| Progress::Decided(task.withdraw(call, Ran::Never, now).unwrap());
        self.step(OperationKind::Withdraw, counters, now, take).map(drop)
    }

    fn step(
        &mut self,
        operation: OperationKind,
        counters: CounterChanges,
        now: Timestamp,
        step: impl FnOnce(&mut Task) -> Progress,
    ) -> Result<Decision, StoreError> {
        let before = self.task.mark();
        let Progress::Decided(decision) = step(&mut self.task) else { panic!("a step that asks") };
        let task = &self.task;
        let event =
            NewEvent { operation, at: now, task, before: &before, decision: Some(&decision), once: None };
        self.head = self.store.append_under(&self.head, &event, Terms { counters, ..Terms::default() })?;
        Ok(decision)
    }
}

fn reserve(
    counter: &CounterId,
    window: CounterWindow,
    call: &str,
    amount: impl Into<Decimal>,
) -> Reservation {
    Reservation { counter: counter.clone(), window, call: call.into(), amount: amount.into() }
}

fn reserving(counter: &CounterId, version: u64, call: &str, text: &str) -> CounterChanges {
    CounterChanges {
        read: vec![CounterRead { counter: counter.clone(), version }],
        reserve: vec![reserve(counter, window("1h"), call, amount(text))],
        ..CounterChanges::default()
    }
}

fn over(call: &str, end: HoldEnd) -> CounterChanges {
    CounterChanges { over: vec![(call.into(), end)], ..CounterChanges::default() }
}

/// What one step does, by chance: to which task, and how much later it is.
#[derive(Clone, Debug)]
struct Deed {
    task: usize,
    later: i64,
    what: What,
}

#[derive(Clone, Debug)]
enum What {
    /// Reserves of these counters for a call, perhaps on what was read before somebody else reserved.
    Reserve { call: usize, of: Vec<(usize, i32)>, stale: bool },
    /// A call ends.
    Over(usize, bool),
    /// The task ends, in the store or by a step, and another one begins.
    End(bool),
    /// The task is purged, and another one begins.
    Purge,
}

fn deed() -> impl Strategy<Value = Deed> {
    let of = prop::collection::btree_map(0_usize..3, any::<i32>(), 1..3);
    let reserve = (0_usize..4, of, prop::bool::weighted(0.15)).prop_map(|(call, of, stale)| What::Reserve {
        call,
        of: of.into_iter().collect(),
        stale,
    });
    let over = (0_usize..4, any::<bool>()).prop_map(|(call, spent)| What::Over(call, spent));
    let end = any::<bool>().prop_map(What::End);
    let what = prop_oneof![6 => reserve, 6 => over, 1 => end, 1 => Just(What::Purge)];
    (0_usize..3, -300_i64..2_000, what).prop_map(|(task, later, what)| Deed { task, later, what })
}

#[test]
fn rows_of_every_database_do_what_the_book_in_memory_does() {
    let counters = [counter("spend"), counter("sent"), counter("ever")];
    let windows = ["1h", "day", "ever"].map(window);
    let mut runner = TestRunner::deterministic();
    let strategy = prop::collection::vec(deed(), 20..60);
    let mut conflicts = 0;
    for (name, database, _folder) in databases() {
        let store = StoredTasks::new(database, &limits());
        let mut book = CounterBook::default();
        let mut ids = ["0-a", "1-a", "2-a"].map(str::to_owned);
        let mut spenders = ids.clone().map(|id| Some(Spender::create(&store, &id).unwrap()));
        let mut now = second(0);
        for _ in 0..3 {
            let deeds: Vec<Deed> = strategy.new_tree(&mut runner).unwrap().current();
            for Deed { task, later, what } in deeds {
                now = Timestamp::from_nanos(now.nanos() + i128::from(later) * 1_000_000_000).unwrap();
                let id = ids[task].clone();
                let mut spender = spenders[task].take().unwrap();
                let changes = match &what {
                    What::Reserve { call, of, stale } => {
                        let amount = |part: i32| {
                            let sign = if part < 0 { "-" } else { "" };
                            format!("{sign}0.{:010}", part.unsigned_abs()).parse().unwrap()
                        };
                        let of: Vec<(usize, Decimal)> =
                            of.iter().map(|(at, part)| (*at, amount(*part))).collect();
                        let version = |at: usize| book.read(&counters[at]).version;
                        let read = |(at, _): &(usize, Decimal)| CounterRead {
                            counter: counters[*at].clone(),
                            version: version(*at) + u64::from(*stale),
                        };
                        let call = format!("c-{call}");
                        CounterChanges {
                            read: of.iter().map(read).collect(),
                            reserve: of
                                .iter()
                                .map(|(at, amount)| reserve(&counters[*at], windows[*at], &call, *amount))
                                .collect(),
                            ..CounterChanges::default()
                        }
                    }
                    What::Over(call, spent) => {
                        over(&format!("c-{call}"), if *spent { HoldEnd::Spent } else { HoldEnd::Released })
                    }
                    What::End(_) | What::Purge => {
                        CounterChanges { all_over: true, ..CounterChanges::default() }
                    }
                };
                let expected = book.apply(&id, &changes, now);
                let done = match &what {
                    What::Reserve { .. } | What::Over(..) => spender.post((1.0, "m"), changes, now).map(drop),
                    What::End(true) => spender
                        .step(OperationKind::End, CounterChanges::default(), now, |task| {
                            Progress::Decided(task.end("over", now))
                        })
                        .map(drop),
                    What::End(false) => {
                        let ending = Ending {
                            at: now,
                            who: "kim",
                            reason: "over",
                            with_parent: false,
                            expected: None,
                        };
                        store.end(&kim(), &id, &ending, None, |_| None).map(drop)
                    }
                    What::Purge => {
                        let purge = Purge { at: now, who: "kim", reason: "over" };
                        store.purge(&kim(), &id, &purge).map(drop)
                    }
                };
                match (&expected, &done) {
                    (Ok(()), Ok(())) => {}
                    (Err(_), Err(StoreError::CountersMoved | StoreError::NotStorable(_))) => conflicts += 1,
                    _ => panic!("{name}: {what:?}: {expected:?}, {done:?}"),
                }
                spenders[task] = Some(if matches!(what, What::End(_) | What::Purge) {
                    ids[task].push('a');
                    Spender::create(&store, &ids[task]).unwrap()
                } else {
                    let loaded = Spender::load(&store, &id).unwrap();
                    if done.is_ok() {
                        assert_eq!(loaded.head, spender.head, "{name}");
                    }
                    loaded
                });
                let mut held = book.holds(&id).to_vec();
                held.sort();
                let head = &spenders[task].as_ref().unwrap().head;
                assert!(matches!(what, What::End(_) | What::Purge) || head.holds() == held, "{name}");
                let stored = store.counters(&kim(), &counters).unwrap();
                let expected: Vec<_> = counters.iter().map(|counter| book.read(counter)).collect();
                assert_eq!(stored, expected, "{name}: {what:?}");
                assert_eq!(store.counters(&Owner::caller("lee"), &counters[..1]).unwrap()[0].version, 0);
            }
            assert_eq!(store.verify().unwrap().counters, 3, "{name}");
        }
    }
    assert!(conflicts > 20, "{conflicts} conflicts");
}

#[test]
fn a_step_whose_counter_moved_leaves_no_trace() {
    for (name, database, _folder) in databases() {
        let store = StoredTasks::new(database, &limits());
        let spend = counter("spend");
        let mut first = Spender::create(&store, "t-1").unwrap();
        let mut late = Spender::create(&store, "t-2").unwrap();
        first.post((1.0, "m"), reserving(&spend, 0, "1", "10"), second(1)).unwrap();
        let moved = late.post((1.0, "m"), reserving(&spend, 0, "1", "10"), second(1));
        assert_eq!(moved, Err(StoreError::CountersMoved), "{name}");
        assert_eq!(store.version(&kim(), "t-2"), Ok(1), "{name}");
        // a step that has only read it is as late
        let mut late = Spender::load(&store, "t-2").unwrap();
        let only = CounterChanges { reserve: Vec::new(), ..reserving(&spend, 0, "1", "10") };
        assert_eq!(late.post((1.0, "m"), only.clone(), second(1)), Err(StoreError::CountersMoved), "{name}");
        let mut late = Spender::load(&store, "t-2").unwrap();
        let only = CounterChanges { read: vec![CounterRead { version: 1, ..only.read[0].clone() }], ..only };
        late.post((1.0, "m"), only, second(1)).unwrap();
        let state = store.counters(&kim(), &[spend]).unwrap().remove(0);
        assert_eq!((state.version, state.counted(window("1h"), second(1))), (1, amount("10")), "{name}");
        let found = Verified { tasks: 2, events: 4, counters: 1, ..Verified::default() };
        assert_eq!(store.verify(), Ok(found), "{name}");
    }
}

#[test]
fn counters_go_a_day_after_they_count_for_nobody() {
    let (hour, day) = (3_600, 86_400);
    for (name, database, _folder) in databases() {
        let store = StoredTasks::new(database, &limits());
        let sweep = |now: u64, page: usize| {
            let (mut after, mut gone) = ([(); 4].map(|()| String::new()), 0);
            loop {
                let swept = sweep_counters(store.database(), second(now), &after, page).unwrap();
                gone += swept.gone;
                let Some(last) = swept.last else { return gone };
                after = last;
            }
        };
        let mut spender = Spender::create(&store, "t-1").unwrap();
        for (number, key) in ["over", "open", "ever", "read"].into_iter().enumerate() {
            let counter = counter(key);
            let mut changes = reserving(&counter, 0, &number.to_string(), "5");
            match key {
                "ever" => changes.reserve[0].window = window("ever"),
                "read" => changes.reserve.clear(),
                _ => {}
            }
            spender.post((1.0, "m"), changes, second(0)).unwrap();
        }
        for call in ["0", "2"] {
            spender.post((1.0, "m"), over(call, HoldEnd::Spent), second(0)).unwrap();
        }
        assert_eq!(store.verify().unwrap().counters, 4, "{name}");
        assert_eq!(sweep(day - 1, 1), 0, "{name}");
        // one that was only read
        assert_eq!(sweep(day, 1), 1, "{name}");
        assert_eq!(sweep(day + 2 * hour - 1, 10), 0, "{name}");
        assert_eq!(sweep(day + 2 * hour, 10), 1, "{name}");
        // one that a call holds, and one that counts for ever
        assert_eq!(sweep(1_000 * day, 2), 0, "{name}");
        assert_eq!(store.verify().unwrap().counters, 2, "{name}");
        // a counter that has gone begins anew
        let fresh = store.counters(&kim(), &[counter("over")]).unwrap().remove(0);
        assert_eq!(fresh.version, 0, "{name}");
    }
}

#[test]
fn a_row_that_was_altered_is_refused() {
    let mut refused = 0;
    for (name, database, _folder) in databases() {
        let store = StoredTasks::new(database.clone(), &limits());
        let mut spender = Spender::create(&store, "t-1").unwrap();
        spender.post((1.0, "m"), reserving(&counter("spend"), 0, "1", "10"), second(1)).unwrap();
        spender.post((1.0, "m"), over("1", HoldEnd::Spent), second(2)).unwrap();
        spender.post((1.0, "m"), reserving(&counter("spend"), 1, "2", "2.5"), second(3)).unwrap();
        store.verify().unwrap();
        let reads = || {
            store.counters(&kim(), &[counter("spend")])?;
            store.load(&kim(), "t-1").map(drop)
        };
        for statement in [
            "UPDATE counter SET spent = '[]'",
            "UPDATE counter SET spent = 'nonsense'",
            "UPDATE counter SET held = '0'",
            "UPDATE counter SET held = '-2.5'",
            "UPDATE counter SET span = '1s'",
            "UPDATE counter SET span = 'never'",
            "UPDATE counter SET version = 0",
            "UPDATE counter SET over_at = 0",
            "UPDATE counter SET digest = 'x'",
            "UPDATE counter_hold SET amount = '0'",
            "UPDATE counter_hold SET amount = 'much'",
            "UPDATE counter_hold SET call_id = '1'",
            "UPDATE counter_hold SET policy = 'acme/other'",
            "UPDATE counter_hold SET name = 'sent'",
            "UPDATE counter_hold SET key = '7'",
            "UPDATE counter_hold SET digest = 'x'",
        ] {
            let changed = database.write(|sql| {
                let changed = sql.execute(statement, &[])?;
                Ok((changed, sql.query("SELECT 1", &[])?))
            });
            assert_eq!(changed.unwrap().0, 1, "{name}: {statement}");
            assert!(matches!(reads(), Err(StoreError::Corrupt(_))), "{name}: {statement}");
            assert!(matches!(store.verify(), Err(StoreError::Corrupt(_))), "{name}: {statement}");
            refused += 1;
            // as it was
            restore(&database, &spender);
            reads().unwrap();
        }
        // what no single row shows: rows that are not there, and rows that were given to somebody else
        for statement in [
            "UPDATE counter SET key = '7'",
            "UPDATE counter SET owner = 'lee'",
            "UPDATE counter SET name = 'sent'",
            "DELETE FROM counter",
            "DELETE FROM counter_hold",
        ] {
            assert_eq!(database.write(|sql| sql.execute(statement, &[])), Ok(1), "{name}: {statement}");
            assert!(matches!(store.verify(), Err(StoreError::Corrupt(_))), "{name}: {statement}");
            refused += 1;
            restore(&database, &spender);
        }
        store.verify().unwrap();
    }
    assert_eq!(refused, 3 * 21);
}

/// Puts the rows of the only counter and of the only hold back as the store had written them.
fn restore(database: &Database, spender: &Spender<'_>) {
    let model = StoredTasks::new(Database::open(&Location::Memory, &limits()).unwrap(), &limits());
    let mut other = Spender::create(&model, spender.head.id()).unwrap();
    other.post((1.0, "m"), reserving(&counter("spend"), 0, "1", "10"), second(1)).unwrap();
    other.post((1.0, "m"), over("1", HoldEnd::Spent), second(2)).unwrap();
    other.post((1.0, "m"), reserving(&counter("spend"), 1, "2", "2.5"), second(3)).unwrap();
    for (table, columns) in [("counter", 10), ("counter_hold", 8)] {
        let row = model.database().read(|sql| sql.query_one(&format!("SELECT * FROM {table}"), &[]));
        let row = row.unwrap().unwrap();
        let values: Vec<_> = (0..columns)
            .map(|column| match row.optional_text(column) {
                Ok(text) => text.map(str::to_owned).into(),
                Err(_) => row.optional_int(column).unwrap().into(),
            })
            .collect();
        let places: Vec<String> = (1..=columns).map(|place| format!("${place}")).collect();
        database
            .write(|sql| {
                sql.execute(&format!("DELETE FROM {table}"), &[])?;
                sql.execute(&format!("INSERT INTO {table} VALUES ({})", places.join(", ")), &values)
            })
            .unwrap();
    }
}

#[test]
fn every_access_may_fail_and_nothing_is_spent_twice_or_lost() {
    for (name, database, _folder) in databases() {
        let store = StoredTasks::new(database.clone(), &limits());
        let faults = database.faults();
        let spend = |round: &str| CounterId::new("acme/payments", "spend", round);
        // the life of a task: a reservation, its end, another one, the end of the task
        let life = |round: &str| {
            let id = format!("t-{round}");
            let spend = spend(round);
            let mut failures = 0_u64;
            let mut again = |attempt: &mut dyn FnMut() -> Result<(), StoreError>| {
                while let Err(error) = attempt() {
                    assert!(error.is_temporary(), "{error}");
                    failures += 1;
                    assert!(failures < 5, "it never works again");
                }
            };
            let mut tried = false;
            again(&mut || match Spender::create(&store, &id) {
                Err(StoreError::AlreadyExists) if tried => Ok(()),
                other => {
                    tried = true;
                    other.map(drop)
                }
            });
            for version in 1..5 {
                again(&mut || {
                    let mut spender = Spender::load(&store, &id)?;
                    if spender.head.version() > version {
                        return Ok(());
                    }
                    let seen = store.counters(&kim(), std::slice::from_ref(&spend))?.remove(0).version;
                    match version {
                        1 => {
                            spender.post((1.0, "m"), reserving(&spend, seen, "a", "10"), second(1)).map(drop)
                        }
                        2 => spender.post((1.0, "m"), over("a", HoldEnd::Spent), second(2)).map(drop),
                        3 => {
                            spender.post((1.0, "m"), reserving(&spend, seen, "b", "0.5"), second(3)).map(drop)
                        }
                        _ => spender
                            .step(OperationKind::End, CounterChanges::default(), second(4), |task| {
                                Progress::Decided(task.end("over", second(4)))
                            })
                            .map(drop),
                    }
                });
            }
            failures
        };
        let state = |round: &str| store.counters(&kim(), &[spend(round)]).unwrap().remove(0);
        faults.plan(FaultPlan::Nothing);
        assert_eq!(life("straight"), 0);
        let (accesses, commits) = (faults.accesses(), faults.commits());
        let expected = state("straight");
        assert_eq!(expected.counted(window("1h"), second(4)), amount("10.5"));
        assert_eq!((expected.version, expected.tally.held()), (2, Amount::ZERO));
        for number in 1..=accesses {
            faults.plan(FaultPlan::Access(number));
            let round = format!("access {number}");
            assert_eq!(life(&round), 1, "{name}: {round} of {accesses}");
            assert_eq!(state(&round), expected, "{name}: {round} of {accesses}");
        }
        for number in 1..=commits {
            faults.plan(FaultPlan::CommitAnswer(number));
            let round = format!("commit {number}");
            assert_eq!(life(&round), 0, "{name}: {round} of {commits}");
            assert_eq!(state(&round), expected, "{name}: {round} of {commits}");
        }
        // a store that is away: nobody learns what is spent, and nobody reserves
        let mut spender = Spender::create(&store, "t-away").unwrap();
        faults.plan(FaultPlan::Everything);
        let read = store.counters(&kim(), &[spend("straight")]);
        assert!(matches!(read, Err(StoreError::Unavailable(_))), "{name}: {read:?}");
        let reserved = spender.post((1.0, "m"), reserving(&spend("straight"), 2, "c", "1"), second(5));
        assert!(matches!(reserved, Err(StoreError::Unavailable(_))), "{name}: {reserved:?}");
        faults.plan(FaultPlan::Nothing);
        assert_eq!(state("straight"), expected, "{name}");
        assert_eq!(store.verify().unwrap().counters, 1 + accesses + commits, "{name}");
    }
}

#[test]
fn a_step_pays_for_the_counters_that_it_touches() {
    const ROUNDS: u64 = 60;
    for (name, database, _folder) in databases() {
        let store = StoredTasks::new(database.clone(), &limits());
        let mut spender = Spender::create(&store, "t-1").unwrap();
        let spend = counter("spend");
        let (mut took, mut accesses) = ([Duration::ZERO; 4], [0_u64; 4]);
        let mut measure = |at: usize, work: &mut dyn FnMut()| {
            database.faults().plan(FaultPlan::Nothing);
            let begun = Instant::now();
            work();
            took[at] += begun.elapsed();
            accesses[at] = database.faults().accesses();
        };
        for round in 0..ROUNDS {
            let (call, now) = (round.to_string(), second(round * 100));
            // a step that writes a snapshot besides is left out
            while spender.head.version() % 5 == 4 {
                spender.post((1.0, "m"), CounterChanges::default(), now).unwrap();
            }
            let mut post = |changes| drop(spender.post((1.0, "m"), changes, now).unwrap());
            match round % 3 {
                0 => measure(0, &mut || post(CounterChanges::default())),
                1 => {
                    let mut version = 0;
                    measure(1, &mut || {
                        version = store.counters(&kim(), std::slice::from_ref(&spend)).unwrap()[0].version;
                    });
                    measure(2, &mut || post(reserving(&spend, version, &call, "1")));
                }
                _ => measure(3, &mut || post(over(&(round - 1).to_string(), HoldEnd::Spent))),
            }
        }
        // a beginning, the task's row, the event and the commit; a row of a counter is looked at, taken and written, and a
        // hold made; or it is taken and written, and a hold goes
        assert_eq!(accesses, [4, 2, 8, 7], "{name}");
        let [plain, read, reserve, spent] = took.map(|took| took.as_secs_f64() * 3.0 / ROUNDS as f64 * 1e6);
        println!(
            "{name}: a step {plain:.0} µs; reading a counter {read:.0}, a step that reserves {reserve:.0}, one that spends {spent:.0}"
        );
    }
}

/// All that may ever be spent, and in any two seconds, in the story of many tasks.
const CAP: &str = "300";
const PACE: &str = "60";

const ORDER: &str = "CELADOR_COUNTER_CHILD";

fn all() -> CounterId {
    CounterId::new("acme/payments", "all", "null")
}

fn pace() -> CounterId {
    CounterId::new("acme/payments", "pace", "null")
}

/// What a task came to that wanted to spend.
#[derive(Default)]
struct Tally {
    calls: AtomicU64,
    conflicts: AtomicU64,
}

/// Lets a task make calls until nothing is left to spend. Whatever fails for now is tried again. In: whether it takes turns.
fn spend(store: &StoredTasks, id: &str, takes_turns: bool, tally: &Tally) {
    let now = || Timestamp::from(SystemTime::now());
    let mut open: Option<Spender<'_>> = None;
    let mut number = 0_u64;
    let begun = Instant::now();
    loop {
        // a process whose database went with its parent ends too
        assert!(begun.elapsed() < Duration::from_secs(180), "there is still something to spend");
        let opened = open.take().map_or_else(
            || match Spender::load(store, id) {
                Err(StoreError::NotFound) => Spender::create(store, id),
                other => other,
            },
            Ok,
        );
        let mut spender = match opened {
            Ok(spender) => spender,
            Err(StoreError::AlreadyExists) => continue,
            Err(error) => {
                assert!(error.is_temporary(), "{error}");
                std::thread::sleep(Duration::from_millis(10));
                continue;
            }
        };
        let counters = [all(), pace()];
        // a time from before a long wait is one whose amounts may no longer be kept
        let turn = takes_turns.then(|| store.counter_turn(&kim(), &counters));
        let at = now();
        let seen = match store.counters(&kim(), &counters) {
            Ok(seen) => seen,
            Err(error) => {
                assert!(error.is_temporary(), "{error}");
                std::thread::sleep(Duration::from_millis(10));
                continue;
            }
        };
        // a tenth to a one, or what is left
        number += 1;
        let tenths = (number * 7 + id.len() as u64 * 3 + u64::from(id.as_bytes()[id.len() - 1])) % 10 + 1;
        let spent = seen[0].counted(window("ever"), at);
        let Some(left) = amount(CAP).minus(spent).filter(|left| *left > Amount::ZERO) else { return };
        let wanted = amount(&format!("{}.{}", tenths / 10, tenths % 10)).min(left);
        if seen[1].counted(window("2s"), at).plus(wanted) > amount(PACE) {
            drop(turn);
            open = Some(spender);
            std::thread::sleep(Duration::from_millis(20));
            continue;
        }
        let call = spender.head.version().to_string();
        // `call` names it among the holds: a task gives its calls numbers, which are known only afterwards
        let changes = CounterChanges {
            read: (counters.iter().zip(&seen))
                .map(|(counter, state)| CounterRead { counter: counter.clone(), version: state.version })
                .collect(),
            reserve: vec![
                reserve(&counters[0], window("ever"), &call, wanted),
                reserve(&counters[1], window("2s"), &call, wanted),
            ],
            ..CounterChanges::default()
        };
        let memo = format!("{} {spent}", seen[0].version);
        let decided = spender.post((wanted.to_double(), &memo), changes, at);
        drop(turn);
        let decision = match decided {
            Ok(decision) => decision,
            Err(StoreError::CountersMoved) => {
                tally.conflicts.fetch_add(1, Ordering::Relaxed);
                continue;
            }
            Err(error) => {
                assert!(error.is_temporary(), "{error}");
                continue;
            }
        };
        tally.calls.fetch_add(1, Ordering::Relaxed);
        let made = decision.call.unwrap();
        let ended = match number % 10 {
            // nobody tells what became of it
            0 => Ok(()),
            3 | 6 => spender.withdraw(&made, over(&call, HoldEnd::Released), now()),
            _ => {
                std::thread::sleep(Duration::from_millis(number % 4));
                spender.report(&made, over(&call, HoldEnd::Spent), now())
            }
        };
        open = ended.is_ok().then_some(spender);
    }
}

/// Works on an order if there is one: `location worker tasks`.
#[test]
fn child() {
    let Ok(order) = std::env::var(ORDER) else { return };
    let [location, worker, tasks] = order.split(' ').collect::<Vec<_>>()[..] else { panic!("{order}") };
    let store = open(&Location::parse(location));
    let tally = Tally::default();
    println!("spending");
    std::thread::scope(|scope| {
        for task in 0..tasks.parse::<usize>().unwrap() {
            let (store, tally) = (&store, &tally);
            scope.spawn(move || spend(store, &format!("{worker}-{task:03}"), true, tally));
        }
    });
    println!("spent {} {}", tally.calls.load(Ordering::Relaxed), tally.conflicts.load(Ordering::Relaxed));
}

/// A process with some tasks, and what it says.
fn process(location: &str, worker: &str, tasks: usize) -> (Child, BufReader<std::process::ChildStdout>) {
    let mut process = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "store_counters::child", "--nocapture"])
        .env(ORDER, format!("{location} {worker} {tasks}"))
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::inherit())
        .spawn()
        .unwrap();
    let mut said = BufReader::new(process.stdout.take().unwrap());
    line_of(&mut said, "spending");
    (process, said)
}

/// The rest of the line with this word.
fn line_of(said: &mut impl BufRead, word: &str) -> String {
    loop {
        let mut line = String::new();
        assert!(said.read_line(&mut line).unwrap() > 0, "the process has ended");
        if let Some((_, rest)) = line.split_once(word) {
            return rest.trim().to_owned();
        }
    }
}

/// A call that was let through, as the events of its task tell.
struct Made {
    /// The version of the counter that its decision saw, and what was spent then.
    seen: (u64, Amount),
    amount: Amount,
    decided: Timestamp,
    /// When it was reported or withdrawn, and whether it ran.
    ended: Option<(Timestamp, bool)>,
}

fn made(store: &StoredTasks) -> Vec<Made> {
    let mut all = Vec::new();
    let mut after = None;
    loop {
        let tasks = store.tasks(&kim(), after.as_deref(), 1000).unwrap();
        let Some(last) = tasks.last() else { return all };
        after = Some(last.id.clone());
        for task in tasks {
            let mut calls: BTreeMap<String, Made> = BTreeMap::new();
            for event in store.events(&kim(), &task.id, 0, 1000).unwrap() {
                let at: Timestamp = event.at.parse().unwrap();
                let change: Value = serde_json::from_str(&event.change).unwrap();
                for open in change["opened"].as_array().into_iter().flatten() {
                    let arguments = &open["arguments"];
                    let (version, spent) = arguments["memo"].as_str().unwrap().split_once(' ').unwrap();
                    let amount = Amount::from_double(arguments["amount"].as_f64().unwrap()).unwrap();
                    let seen = (version.parse().unwrap(), spent.parse().unwrap());
                    let call = Made { seen, amount, decided: at, ended: None };
                    calls.insert(open["id"].as_str().unwrap().to_owned(), call);
                }
                for closed in change["closed"].as_array().into_iter().flatten() {
                    let call = calls.get_mut(closed.as_str().unwrap()).unwrap();
                    call.ended = Some((at, event.operation == OperationKind::After));
                }
            }
            all.extend(calls.into_values());
        }
    }
}

/// Holds the counters against what the events of all tasks say; how many calls there were.
fn settle(store: &StoredTasks) -> usize {
    let mut calls = made(store);
    calls.sort_by_key(|call| call.seen.0);
    let sum = |calls: &[&Made]| calls.iter().fold(Amount::ZERO, |sum, call| sum.plus(call.amount));
    let counts = |call: &&Made| call.ended.is_none_or(|(_, ran)| ran);
    let (mut before, mut kept) = (Amount::ZERO, Amount::ZERO);
    for (position, call) in calls.iter().enumerate() {
        // each version was decided on once: an order in which one decision follows the other
        assert_eq!(call.seen.0, position as u64, "a version was decided on twice, or is missing");
        assert!(kept <= call.seen.1 && call.seen.1 <= before, "decision {position} saw what was not spent");
        assert!(call.seen.1.plus(call.amount) <= amount(CAP));
        before = before.plus(call.amount);
        kept = if counts(&call) { kept.plus(call.amount) } else { kept };
    }
    let all_calls: Vec<&Made> = calls.iter().collect();
    let counting: Vec<&Made> = all_calls.iter().copied().filter(counts).collect();
    let open: Vec<&Made> = counting.iter().copied().filter(|call| call.ended.is_none()).collect();
    let states = store.counters(&kim(), &[all(), pace()]).unwrap();
    let now = Timestamp::from(SystemTime::now());
    assert_eq!(states[0].counted(window("ever"), now), sum(&counting), "something has leaked");
    assert_eq!(states[0].tally.held(), sum(&open), "something is held by nobody");
    assert_eq!(states[1].tally.held(), sum(&open), "something is held by nobody");
    assert!(sum(&counting) <= amount(CAP), "more was spent than may be");
    // whether a call was carried out when it was decided or when it was reported: no two seconds have more in them
    let length = Duration::from_secs(2).as_nanos() as i128;
    for moment in [|call: &Made| Some(call.decided), |call: &Made| call.ended.map(|(at, _)| at)] {
        for last in counting.iter().filter_map(|call| moment(call)) {
            let within = |call: &&&Made| {
                moment(call).is_some_and(|at| at <= last && at.nanos() > last.nanos() - length)
            };
            let spent: Vec<&Made> = counting.iter().filter(within).copied().collect();
            assert!(sum(&spent) <= amount(PACE), "{} within two seconds", sum(&spent));
        }
    }
    calls.len()
}

#[test]
fn two_hundred_tasks_over_two_processes_never_spend_more_and_lose_nothing_when_they_are_killed() {
    let location = PostgresServer::shared().database();
    let store = open(&Location::parse(&location));
    let (mut stays, mut said) = process(&location, "stays", 100);
    let kills = kills(4).min(20);
    for round in 0..kills {
        let (mut killed, _said) = process(&location, &format!("r{round}"), 100);
        std::thread::sleep(moment(900));
        killed.kill().unwrap();
        killed.wait().unwrap();
    }
    let (mut last, mut last_said) = process(&location, "last", 100);
    let counts = [line_of(&mut said, "spent"), line_of(&mut last_said, "spent")];
    assert!(stays.wait().unwrap().success() && last.wait().unwrap().success());
    // what was withdrawn last is spent too, until nothing is left
    spend(&store, "rest", true, &Tally::default());
    let calls = settle(&store);
    let now = Timestamp::from(SystemTime::now());
    let spent = store.counters(&kim(), &[all()]).unwrap().remove(0).counted(window("ever"), now);
    assert_eq!(spent, amount(CAP));
    let verified = store.verify().unwrap();
    assert_eq!(verified.counters, 2);
    println!(
        "two processes of 100 tasks each, one killed {kills} times: {calls} calls of {} tasks, {spent} spent, nothing leaked; \
         calls and conflicts of the two that stayed: {counts:?}",
        verified.tasks
    );
}

#[test]
fn turns_spare_decisions_that_would_be_made_for_nothing() {
    let conflicts = |takes_turns: bool| {
        let folder = tempfile::tempdir().unwrap();
        let store = open(&Location::File(folder.path().join("celador.db")));
        let (tally, together) = (Tally::default(), Barrier::new(24));
        let begun = Instant::now();
        std::thread::scope(|scope| {
            for task in 0..24 {
                let (store, tally, together) = (&store, &tally, &together);
                scope.spawn(move || {
                    together.wait();
                    // a few calls each, on one counter
                    let mut spender = Spender::create(store, &format!("t-{task}")).unwrap();
                    for number in 0..4 {
                        loop {
                            let turn = takes_turns.then(|| store.counter_turn(&kim(), &[all()]));
                            assert!(turn.as_ref().is_none_or(celador_store::CounterTurn::came));
                            let seen = store.counters(&kim(), &[all()]).unwrap()[0].version;
                            let changes = reserving(&all(), seen, &number.to_string(), "1");
                            match spender.post((1.0, "m"), changes, second(1)) {
                                Ok(_) => break,
                                Err(StoreError::CountersMoved) => {
                                    tally.conflicts.fetch_add(1, Ordering::Relaxed);
                                    spender = Spender::load(store, &format!("t-{task}")).unwrap();
                                }
                                Err(error) => panic!("{error}"),
                            }
                        }
                    }
                });
            }
        });
        let state = store.counters(&kim(), &[all()]).unwrap().remove(0);
        assert_eq!((state.version, state.tally.held()), (96, amount("96")));
        store.verify().unwrap();
        (tally.conflicts.into_inner(), begun.elapsed())
    };
    let ((with, took), (without, took_without)) = (conflicts(true), conflicts(false));
    println!(
        "24 tasks, 4 reservations each of one counter: {with} conflicts in {took:?} with turns, {without} in {took_without:?} without"
    );
    assert_eq!(with, 0);
    assert!(without > 0);
}

#[test]
fn nobody_waits_longer_for_a_turn_than_is_allowed() {
    let limits = StoreLimits { max_counter_wait_ms: 30, ..limits() };
    let store = StoredTasks::new(Database::open(&Location::Memory, &limits).unwrap(), &limits);
    let [spend, sent] = [counter("spend"), counter("sent")];
    let first = store.counter_turn(&kim(), &[spend.clone(), sent.clone()]);
    let begun = Instant::now();
    let late = store.counter_turn(&kim(), std::slice::from_ref(&sent));
    assert!(first.came() && !late.came() && begun.elapsed() >= Duration::from_millis(30));
    // others' counters, and other counters, are nobody's business
    assert!(store.counter_turn(&Owner::caller("lee"), std::slice::from_ref(&sent)).came());
    assert!(store.counter_turn(&kim(), &[counter("ever")]).came());
    // one that did not come frees nothing when it goes
    drop(late);
    assert!(!store.counter_turn(&kim(), std::slice::from_ref(&sent)).came());
    drop(first);
    assert!(store.counter_turn(&kim(), &[sent, spend]).came());
}
