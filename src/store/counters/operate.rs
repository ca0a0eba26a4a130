//! Counters as an operator sees to them: a page of them, and one of which nothing is spent any more.
//!
//! In: where a page begins, or the counter. Out: rows, each held against its digest. A reset takes the row before it looks at it, as a
//! step does, so a reservation that is written beside it comes before it or after it and is never lost.

use super::commit::write_counter;
use super::rows::{COUNTER, CounterRow, key_of};
use crate::{Sql, SqlValue, StoreError};
use celador::Timestamp;
use celador::counter::{CounterId, CounterState};

/// The counters of an owner, or of all, behind one of them, in the order of their owners, policies, names and keys.
///
/// # Cost
/// One row for each counter of the page.
pub(crate) fn page_behind(
    sql: &mut Sql<'_>,
    owner: Option<&str>,
    after: Option<(&str, &CounterId)>,
    most: SqlValue<'_>,
) -> Result<Vec<(String, CounterId, CounterState)>, StoreError> {
    let of = if owner.is_some() { "owner = $6 AND " } else { "" };
    let statement = format!(
        "SELECT {COUNTER} FROM counter WHERE {of}(owner, policy, name, key) > ($1, $2, $3, $4) \
         ORDER BY owner, policy, name, key LIMIT $5"
    );
    let empty = CounterId::new("", "", "");
    let (behind, counter) = after.unwrap_or(("", &empty));
    let mut values: Vec<SqlValue<'_>> = key_of(behind, counter).to_vec();
    values.push(most);
    values.extend(owner.map(SqlValue::from));
    let rows = sql.query(&statement, &values)?;
    rows.iter()
        .map(|row| {
            CounterRow::read(row).map(|CounterRow { owner, counter, state, .. }| (owner, counter, state))
        })
        .collect()
}

/// Forgets what was spent of a counter, and returns it as it was before; nothing if there is no such counter. Its version stays: nobody
/// who has read it before was let through who would not be now.
pub(crate) fn forget_spent(
    sql: &mut Sql<'_>,
    owner: &str,
    counter: &CounterId,
    at: Timestamp,
) -> Result<Option<CounterState>, StoreError> {
    let statement = format!(
        "UPDATE counter SET digest = digest WHERE owner = $1 AND policy = $2 AND name = $3 AND key = $4 RETURNING {COUNTER}"
    );
    let Some(row) = sql.query_one(&statement, &key_of(owner, counter))? else { return Ok(None) };
    let before = CounterRow::read(&row)?.state;
    let mut state = before.clone();
    state.tally.forget_spent();
    write_counter(sql, &CounterRow::new(owner, counter, state, at))?;
    Ok(Some(before))
}
