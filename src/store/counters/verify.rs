//! The test of stored counters: each row is what was written, and each holds what its calls do.
//!
//! In: a page. Out: how many rows there are and the key of the last, or the first counter that is not what was written.

use super::rows::{COUNTER, CounterRow, HOLD, HoldRow, key_of, state_of};
use crate::{Sql, StoreError, messages};
use celador::counter::Amount;

/// Tests the counters behind a key, one page; the key of the last of them, and how many there are.
pub(crate) fn verify_page(
    sql: &mut Sql<'_>,
    [owner, policy, name, key]: &[String; 4],
    page: u64,
) -> Result<Option<([String; 4], u64)>, StoreError> {
    let statement = format!(
        "SELECT {COUNTER} FROM counter WHERE (owner, policy, name, key) > ($1, $2, $3, $4) \
         ORDER BY owner, policy, name, key LIMIT $5"
    );
    let values = [owner.into(), policy.into(), name.into(), key.into(), page.into()];
    let rows = sql.query(&statement, &values)?;
    let mut last = None;
    for row in &rows {
        let CounterRow { owner, counter, state, .. } = CounterRow::read(row)?;
        if held(sql, &owner, &counter)? != state.tally.held() {
            return Err(StoreError::Corrupt(messages::altered_counter(counter.name())));
        }
        last = Some([&*owner, counter.policy(), counter.name(), counter.key()].map(str::to_owned));
    }
    Ok(last.map(|last| (last, rows.len() as u64)))
}

/// What calls hold of a counter.
fn held(sql: &mut Sql<'_>, owner: &str, counter: &celador::counter::CounterId) -> Result<Amount, StoreError> {
    let statement = format!(
        "SELECT {HOLD} FROM counter_hold WHERE owner = $1 AND policy = $2 AND name = $3 AND key = $4"
    );
    let rows = sql.query(&statement, &key_of(owner, counter))?;
    rows.iter().try_fold(Amount::ZERO, |sum, row| Ok(sum.plus(HoldRow::read(row)?.hold.amount.or_zero())))
}

/// Tests the holds behind a key, one page, each against its counter; the key of the last of them.
pub(crate) fn verify_holds(
    sql: &mut Sql<'_>,
    [owner, task, call, policy, name, key]: &[String; 6],
    page: u64,
) -> Result<Option<[String; 6]>, StoreError> {
    let statement = format!(
        "SELECT {HOLD} FROM counter_hold WHERE (owner, task, call_id, policy, name, key) > ($1, $2, $3, $4, $5, $6) \
         ORDER BY owner, task, call_id, policy, name, key LIMIT $7"
    );
    let values =
        [owner.into(), task.into(), call.into(), policy.into(), name.into(), key.into(), page.into()];
    let mut last = None;
    for row in &sql.query(&statement, &values)? {
        let HoldRow { owner, task, hold } = HoldRow::read(row)?;
        let counter = &hold.counter;
        if state_of(sql, &owner, counter)?.tally.held() < hold.amount.or_zero() {
            return Err(StoreError::Corrupt(messages::altered_counter(counter.name())));
        }
        let texts = [&*owner, &task, &hold.call, counter.policy(), counter.name(), counter.key()];
        last = Some(texts.map(str::to_owned));
    }
    Ok(last)
}
