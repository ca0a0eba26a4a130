//! The rows of counters and of what calls hold of them: columns, digests, reading.
//!
//! In: columns. Out: rows that are what was written, or [`StoreError::Corrupt`] with the counter's name.

use crate::row_digest::digest;
use crate::{Row, Sql, SqlValue, StoreError, messages};
use celador::Timestamp;
use celador::counter::{CounterId, CounterState, Hold, Tally};

/// How long a counter stays when nothing of it counts any more, in milliseconds: longer than any step that has read it goes on.
const REST: i64 = 86_400_000;

/// The columns of `counter`, in the order in which [`CounterRow::read`] takes them.
pub(crate) const COUNTER: &str = "owner, policy, name, key, span, version, spent, held, over_at, digest";

/// The columns of `counter_hold`, in the order in which [`HoldRow::read`] takes them.
pub(super) const HOLD: &str = "owner, task, call_id, policy, name, key, amount, digest";

/// A row of `counter`.
#[derive(Clone, Debug)]
pub(crate) struct CounterRow {
    pub(crate) owner: String,
    pub(crate) counter: CounterId,
    pub(crate) state: CounterState,
    /// When it may be taken away, in milliseconds since 1970.
    pub(crate) over_at: Option<i64>,
}

impl CounterRow {
    /// The row of a counter that changes at a time.
    pub(super) fn new(owner: &str, counter: &CounterId, state: CounterState, at: Timestamp) -> Self {
        let over_at = state.tally.over_at(state.window, at).map(|over| over.saturating_add(REST));
        Self { owner: owner.to_owned(), counter: counter.clone(), state, over_at }
    }

    /// The row of a result, if it is what was written.
    pub(crate) fn read(row: &Row) -> Result<Self, StoreError> {
        let counter = CounterId::new(row.text(1)?, row.text(2)?, row.text(3)?);
        let altered = || StoreError::Corrupt(messages::altered_counter(counter.name()));
        let held = row.text(7)?.parse().map_err(|_| altered())?;
        let tally = Tally::read(row.text(6)?, held).ok_or_else(altered)?;
        let window = row.text(4)?.parse().map_err(|_| altered())?;
        let state = CounterState { window, version: row.count(5)?, tally };
        let read = Self {
            owner: row.text(0)?.to_owned(),
            counter: counter.clone(),
            state,
            over_at: row.optional_int(8)?,
        };
        if row.text(9)? == read.digest() { Ok(read) } else { Err(altered()) }
    }

    fn digest(&self) -> String {
        let [owner, policy, name, key, span, version, spent, held, over_at] = self.texts();
        digest(&["counter", &owner, &policy, &name, &key, &span, &version, &spent, &held, &over_at])
    }

    fn texts(&self) -> [String; 9] {
        let Self { owner, counter, state: CounterState { window, version, tally }, over_at } = self;
        [
            owner.clone(),
            counter.policy().to_owned(),
            counter.name().to_owned(),
            counter.key().to_owned(),
            window.to_string(),
            version.to_string(),
            tally.spent_json(),
            tally.held().to_string(),
            over_at.map_or_else(String::new, |at| at.to_string()),
        ]
    }

    /// Its columns.
    pub(super) fn values(&self) -> [SqlValue<'static>; 10] {
        let digest = self.digest();
        let [owner, policy, name, key, span, _, spent, held, _] = self.texts();
        [
            owner.into(),
            policy.into(),
            name.into(),
            key.into(),
            span.into(),
            self.state.version.into(),
            spent.into(),
            held.into(),
            self.over_at.into(),
            digest.into(),
        ]
    }
}

/// A row of `counter_hold`.
#[derive(Clone, Debug)]
pub(super) struct HoldRow {
    pub(super) owner: String,
    pub(super) task: String,
    pub(super) hold: Hold,
}

impl HoldRow {
    pub(super) fn read(row: &Row) -> Result<Self, StoreError> {
        let counter = CounterId::new(row.text(3)?, row.text(4)?, row.text(5)?);
        let altered = || StoreError::Corrupt(messages::altered_hold(row.text(4).unwrap_or_default()));
        let amount = row.text(6)?.parse().map_err(|_| altered())?;
        let hold = Hold { call: row.text(2)?.to_owned(), counter, amount };
        let read = Self { owner: row.text(0)?.to_owned(), task: row.text(1)?.to_owned(), hold };
        if row.text(7)? == read.digest() { Ok(read) } else { Err(altered()) }
    }

    fn digest(&self) -> String {
        let Self { owner, task, hold: Hold { call, counter, amount } } = self;
        let amount = amount.to_string();
        digest(&["hold", owner, task, call, counter.policy(), counter.name(), counter.key(), &amount])
    }

    /// Its columns.
    pub(super) fn values(&self) -> [SqlValue<'_>; 8] {
        let digest = self.digest();
        let Self { owner, task, hold: Hold { call, counter, amount } } = self;
        [
            owner.into(),
            task.into(),
            call.into(),
            counter.policy().into(),
            counter.name().into(),
            counter.key().into(),
            amount.to_string().into(),
            digest.into(),
        ]
    }
}

/// A counter as it is; of one that is not there, the empty one.
pub(crate) fn state_of(
    sql: &mut Sql<'_>,
    owner: &str,
    counter: &CounterId,
) -> Result<CounterState, StoreError> {
    let statement =
        format!("SELECT {COUNTER} FROM counter WHERE owner = $1 AND policy = $2 AND name = $3 AND key = $4");
    let row = sql.query_one(&statement, &key_of(owner, counter))?;
    Ok(row.as_ref().map(CounterRow::read).transpose()?.map(|row| row.state).unwrap_or_default())
}

/// What the calls of a task hold, in order.
pub(crate) fn holds_of(sql: &mut Sql<'_>, owner: &str, task: &str) -> Result<Vec<Hold>, StoreError> {
    let statement = format!(
        "SELECT {HOLD} FROM counter_hold WHERE owner = $1 AND task = $2 ORDER BY call_id, policy, name, key"
    );
    let rows = sql.query(&statement, &[owner.into(), task.into()])?;
    rows.iter().map(|row| Ok(HoldRow::read(row)?.hold)).collect()
}

pub(super) fn key_of<'v>(owner: &'v str, counter: &'v CounterId) -> [SqlValue<'v>; 4] {
    [owner.into(), counter.policy().into(), counter.name().into(), counter.key().into()]
}
