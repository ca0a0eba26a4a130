//! Counters across tasks in a store: what their rules ([`celador::counter`]) come to, as rows.
//!
//! In: the changes of the steps of one transaction. Out: the rows after them, or the steps that have to be decided anew
//! because a counter was reserved since. Rows are changed behind those of all tasks of the transaction, in the order of their
//! keys, so that two processes never wait for each other in turn.

mod commit;
mod operate;
mod rows;
mod turns;
mod verify;

pub(crate) use commit::{CounterWork, CounterWrite, put, spend_all, stale};
pub(crate) use operate::{forget_spent, page_behind};
pub(crate) use rows::{COUNTER, CounterRow, holds_of, state_of};
pub use turns::CounterTurn;
pub(crate) use turns::CounterTurns;
pub(crate) use verify::{verify_holds, verify_page};
