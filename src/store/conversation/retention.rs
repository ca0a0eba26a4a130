//! Contexts that have not changed for long, a page at a time.
//!
//! In: where a page begins, an age, the time. Out: how many contexts went, and where the next page begins. A context goes with
//! its tasks, messages and artifacts in a transaction of its own, whatever its status, and only if it has not changed since it
//! was looked at.

use super::service::Conversations;
use super::tables;
use crate::{Age, StoreError, SweptPage};
use celador::cel::Timestamp;

impl Conversations {
    /// Removes the contexts of one page that are over an age. `goes_on` is asked before each of them.
    ///
    /// # Errors
    /// Those of the store; removals before the error stay.
    ///
    /// # Cost
    /// Linear in the page and in the removed rows.
    pub fn sweep(
        &self,
        (age, now): (Age, Timestamp),
        after: &str,
        page: usize,
        mut goes_on: impl FnMut() -> bool,
    ) -> Result<SweptPage<String>, StoreError> {
        let found = self.database().read(|sql| tables::ages(sql, after, page))?;
        let mut gone = 0_u64;
        for context in found.iter().filter(|[_, at]| age.is_over(at, now)) {
            if !goes_on() {
                return Ok(SweptPage { gone, last: None });
            }
            let removed = self.database().write_rows(|sql| tables::remove_unchanged(sql, context))?;
            gone = gone.saturating_add(u64::from(removed));
        }
        Ok(SweptPage { gone, last: found.into_iter().next_back().map(|[id, _]| id) })
    }
}
