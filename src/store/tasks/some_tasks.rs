//! Statements about some tasks of an owner, by their ids.

use crate::SqlValue;

/// The values of a statement about some tasks of an owner.
pub(super) fn values_of<'v>(owner: &'v str, tasks: &[&'v str]) -> Vec<SqlValue<'v>> {
    std::iter::once(owner).chain(tasks.iter().copied()).map(SqlValue::from).collect()
}

/// The places of ids behind that of their owner: `$2, $3`. Where there is no id it is null, which equals nothing.
pub(super) fn places(tasks: &[&str]) -> String {
    let places: Vec<String> = (2..).take(tasks.len()).map(|at: usize| format!("${at}")).collect();
    if places.is_empty() { "NULL".to_owned() } else { places.join(", ") }
}
