//! Counters across tasks: the door of [`counters`](crate::counters).

use super::StoredTasks;
use super::owner::Owner;
use crate::StoreError;
use crate::counters::{CounterTurn, state_of};
use celador::counter::{CounterId, CounterState};
use std::time::Duration;

impl StoredTasks {
    /// Some counters of an owner as they are, in the order of the question, at one moment. A counter that nobody has reserved is
    /// the empty one. A step that is decided on them names their versions when it is stored
    /// ([`Terms::counters`](super::Terms::counters)).
    ///
    /// ```
    /// use celador::counter::{Amount, CounterChanges, CounterId, CounterRead, CounterState, Reservation};
    /// use celador::{Call, Engine, EngineLimits, StartTask, User};
    /// use celador_store::{Database, Location, NewEvent, OperationKind, Owner, StoreError, StoreLimits, StoredTasks, Terms};
    /// # std::env::set_current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))?;
    /// # let engine = Engine::open(&["examples/first-policy"], EngineLimits::default())?;
    /// # let now: celador::Timestamp = "2026-06-01T12:00:00Z".parse()?;
    /// # let limits = StoreLimits::default();
    /// # let tasks = StoredTasks::new(Database::open(&Location::Memory, &limits)?, &limits);
    ///
    /// let owner = Owner::caller("desk");
    /// let mut task = engine.start(StartTask::new("t-1", "shop", "clerk", User::default(), now))?;
    /// let head = tasks.create(&owner, &task, now, None)?;
    ///
    /// // what the step reads, what it decides, and what its call holds from then on
    /// let (spend, window) = (CounterId::new("acme/payments", "spend", r#""u-7""#), "24h".parse()?);
    /// let seen: Vec<CounterState> = tasks.counters(&owner, &[spend.clone()])?;
    /// let before = task.mark();
    /// let call = Call::new("payout", serde_json::json!({"amount": 40}).into());
    /// let decision = task.before(&call, now)?.outcome().into_decision();
    /// let amount = Amount::from_int(40)?;
    /// let call = decision.call.as_ref().ok_or("it is allowed")?.to_string();
    /// let counters = CounterChanges {
    ///     read: vec![CounterRead { counter: spend.clone(), version: seen[0].version }],
    ///     reserve: vec![Reservation { counter: spend.clone(), window, call, amount: amount.into() }],
    ///     ..CounterChanges::default()
    /// };
    /// let operation = OperationKind::Before;
    /// let step = NewEvent { operation, at: now, task: &task, before: &before, decision: Some(&decision), once: None };
    /// let head = tasks.append_under(&head, &step, Terms { counters, ..Terms::default() })?;
    ///
    /// assert_eq!(head.holds()[0].amount, amount);
    /// assert_eq!(tasks.counters(&owner, &[spend])?[0].counted(window, now), amount);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`StoreError::Corrupt`], and those of the database: whoever cannot read a counter has to refuse.
    ///
    /// # Cost
    /// One row for each counter, of at most 128 amounts.
    pub fn counters(&self, owner: &Owner, counters: &[CounterId]) -> Result<Vec<CounterState>, StoreError> {
        self.database()
            .read(|sql| counters.iter().map(|counter| state_of(sql, owner.as_str(), counter)).collect())
    }

    /// A turn at some counters, to be taken before they are read and kept until the step is stored. Steps of this process
    /// that read one counter then come one after the other, and none is decided for nothing; without turns all of it holds too.
    /// Who takes a turn while it has one may wait in vain, at most `max_counter_wait_ms`.
    ///
    /// ```
    /// use celador::counter::CounterId;
    /// use celador_store::{CounterTurn, Database, Location, Owner, StoreLimits, StoredTasks};
    ///
    /// let limits = StoreLimits { max_counter_wait_ms: 20, ..StoreLimits::default() };
    /// let tasks = StoredTasks::new(Database::open(&Location::Memory, &limits)?, &limits);
    /// let (desk, spend) = (Owner::caller("desk"), [CounterId::new("acme/payments", "spend", "7")]);
    ///
    /// let turn: CounterTurn = tasks.counter_turn(&desk, &spend);
    /// assert!(turn.came());
    /// assert!(!tasks.counter_turn(&desk, &spend).came());
    /// drop(turn);
    /// assert!(tasks.counter_turn(&desk, &spend).came());
    /// # Ok::<(), celador_store::StoreError>(())
    /// ```
    pub fn counter_turn(&self, owner: &Owner, counters: &[CounterId]) -> CounterTurn {
        let longest = Duration::from_millis(self.limits().max_counter_wait_ms);
        self.turns().take(owner.as_str(), counters, longest)
    }
}
