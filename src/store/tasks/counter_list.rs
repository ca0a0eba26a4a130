//! Counters as an operator sees to them: a list, and one that begins anew.
//!
//! In: whose counters, where a page begins; or a counter, with who resets it and why. Out: counters as they are, or as one was. The line
//! that a decision log is to have of a reset is stored in the same transaction.

use super::StoredTasks;
use super::decision_lines::DueLine;
use super::owner::Owner;
use super::tombstones::check_reason;
use crate::StoreError;
use crate::counters::{forget_spent, page_behind};
use crate::decision_log::Notice;
use celador::Timestamp;
use celador::counter::{CounterId, CounterState};

/// A counter of an owner, as it is at one moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredCounter {
    /// Whose tasks count on it.
    pub owner: Owner,
    /// The counter.
    pub counter: CounterId,
    /// What it knows.
    pub state: CounterState,
}

/// Who resets a counter, when and why.
///
/// ```
/// use celador::counter::{Amount, CounterChanges, CounterId, Reservation};
/// use celador::{Engine, EngineLimits, StartTask, User};
/// use celador_store::{
///     CounterReset, Database, DueLine, Location, NewEvent, OperationKind, Owner, StoreLimits, StoredCounter, StoredTasks,
///     Terms,
/// };
/// # std::env::set_current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))?;
/// # let engine = Engine::open(&["examples/first-policy"], EngineLimits::default())?;
/// # let now: celador::Timestamp = "2026-06-01T12:00:00Z".parse()?;
/// # let limits = StoreLimits::default();
/// # let tasks = StoredTasks::new(Database::open(&Location::Memory, &limits)?, &limits);
///
/// // 40 are spent, and a call that is under way holds 5
/// let owner = Owner::caller("desk");
/// let mut task = engine.start(StartTask::new("t-1", "shop", "clerk", User::default(), now))?;
/// let head = tasks.create(&owner, &task, now, None)?;
/// let (spend, window) = (CounterId::new("acme/payments", "spend", r#""u-7""#), "24h".parse()?);
/// let one = |call: &str, amount| Ok::<_, Box<dyn std::error::Error>>(Reservation {
///     counter: spend.clone(), window, call: call.into(), amount: Amount::from_int(amount)?.into(),
/// });
/// let counters = CounterChanges {
///     spend: vec![one("call_1", 40)?],
///     reserve: vec![one("call_2", 5)?],
///     ..CounterChanges::default()
/// };
/// let before = task.mark();
/// task.input(&serde_json::json!("Hello").into(), now);
/// let operation = OperationKind::Input;
/// let step = NewEvent { operation, at: now, task: &task, before: &before, decision: None, once: None };
/// tasks.append_under(&head, &step, Terms { counters, ..Terms::default() })?;
///
/// let reset = CounterReset { at: now, who: "kim", reason: "The payments were called back." };
/// let line = |line| Some(DueLine::for_any_log(line));
/// let was: StoredCounter = tasks.reset_counter(&owner, &spend, &reset, line)?;
/// assert_eq!(was.state.counted(window, now).to_int(), 45);
/// let listed = tasks.list_counters(Some(&owner), None, 10)?;
/// assert_eq!((listed.len(), listed[0].state.counted(window, now).to_int()), (1, 5));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct CounterReset<'r> {
    /// When.
    pub at: Timestamp,
    /// Who asked for it: the name that an operator gives, or that authentication has.
    pub who: &'r str,
    /// Why, in their words: at least one byte and at most `max_reason_bytes`.
    pub reason: &'r str,
}

impl CounterReset<'_> {
    /// What a decision log says of it. `subject` is the counter as text.
    #[must_use]
    pub fn notice<'n>(&'n self, owner: &'n Owner, subject: &'n str) -> Notice<'n> {
        Notice {
            who: Some(self.who).filter(|who| !who.is_empty()),
            owner: Some(owner.as_str()),
            subject: Some(subject),
            reason: Some(self.reason),
            ..Notice::new(self.at, "counter_reset")
        }
    }
}

impl StoredTasks {
    /// The counters of an owner, or of all owners, behind one of them, at most so many and at most `max_page`, in the order of their
    /// owners, policies, names and keys.
    ///
    /// # Errors
    /// [`StoreError::Corrupt`], and those of the database.
    ///
    /// # Cost
    /// One row for each counter of the page.
    pub fn list_counters(
        &self,
        owner: Option<&Owner>,
        after: Option<(&Owner, &CounterId)>,
        limit: usize,
    ) -> Result<Vec<StoredCounter>, StoreError> {
        let behind = after.map(|(owner, counter)| (owner.as_str(), counter));
        let rows = self
            .database()
            .read(|sql| page_behind(sql, owner.map(Owner::as_str), behind, self.page(limit)))?;
        let stored = |(owner, counter, state): (String, _, _)| {
            let owner = Owner::caller(&owner);
            StoredCounter { owner, counter, state }
        };
        Ok(rows.into_iter().map(stored).collect())
    }

    /// Forgets what was spent of a counter, and returns the counter as it was before. What calls hold goes on counting, until their
    /// results are taken and for one window from then on. What `due` answers is stored with it: it is given what a decision log is to
    /// say of it, perhaps several times.
    ///
    /// # Errors
    /// [`StoreError::NotFound`] if there is no such counter; [`StoreError::NotStorable`] for a reason that is empty or too long;
    /// [`StoreError::Corrupt`], and those of the database.
    ///
    /// # Cost
    /// One row.
    pub fn reset_counter(
        &self,
        owner: &Owner,
        counter: &CounterId,
        reset: &CounterReset<'_>,
        mut due: impl FnMut(String) -> Option<DueLine>,
    ) -> Result<StoredCounter, StoreError> {
        check_reason(reset.reason, self.limits().engine.max_reason_bytes)?;
        let subject = counter.to_string();
        let state = self.database().write_rows(|sql| {
            let found = forget_spent(sql, owner.as_str(), counter, reset.at)?;
            let state = found.ok_or(StoreError::NotFound)?;
            let line = serde_json::to_string(&reset.notice(owner, &subject)).unwrap_or_default();
            due(line).map_or(Ok(()), |due| due.put(sql, "", "", 0))?;
            Ok(state)
        })?;
        Ok(StoredCounter { owner: owner.clone(), counter: counter.clone(), state })
    }
}
