//! Counters across tasks, users and days: their rules as functions of data.
//!
//! In: the states of some counters, what the calls of a task hold of them, and the changes of one step. Out: the states
//! after it, or a conflict: a counter is not as the step has read it, and the step has to be decided anew. Nothing here
//! stores anything or knows the time: a store applies the same functions to its rows, in the transaction of the step's
//! event, and [`CounterBook`] applies them in memory.
//!
//! ```
//! use celador::counter::{Amount, CounterBook, CounterChanges, CounterId, CounterRead, CounterWindow, HoldEnd, Reservation};
//! # use celador::Timestamp;
//! # let noon: Timestamp = "2026-06-01T12:00:00Z".parse()?;
//! # let evening: Timestamp = "2026-06-01T19:00:00Z".parse()?;
//! # let tomorrow: Timestamp = "2026-06-02T19:00:00Z".parse()?;
//!
//! // what each user spends in any 24 hours, over all tasks
//! let window: CounterWindow = "24h".parse()?;
//! let spend = CounterId::new("acme/payments-baseline", "spend", r#""u-7""#);
//! let mut book = CounterBook::default();
//!
//! // a step reads it, and lets a call through that pays 40.10
//! let seen = book.read(&spend);
//! assert_eq!(seen.counted(window, noon), Amount::ZERO);
//! let read = vec![CounterRead { counter: spend.clone(), version: seen.version }];
//! let amount = Amount::from_double(40.1)?;
//! let reserve = vec![Reservation { counter: spend.clone(), window, call: "call_1".into(), amount: amount.into() }];
//! let changes = CounterChanges { read, reserve, ..CounterChanges::default() };
//! book.apply("t-1", &changes, noon)?;
//! assert_eq!(book.read(&spend).counted(window, noon).to_string(), "40.1");
//!
//! // whoever has read it before that decides anew
//! assert!(book.apply("t-2", &changes, noon).is_err());
//!
//! // the result of the call comes in the evening; the amount counts for 24 hours from then
//! let over = vec![("call_1".into(), HoldEnd::Spent)];
//! book.apply("t-1", &CounterChanges { over, ..CounterChanges::default() }, evening)?;
//! assert_eq!(book.read(&spend).counted(window, evening), amount);
//! assert_eq!(book.read(&spend).counted(window, tomorrow), Amount::ZERO);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod book;
mod changes;
mod tally;
mod window;

pub use crate::amount::{Amount, AmountError, Decimal};
pub use book::CounterBook;
pub(crate) use changes::observed_book;
pub use changes::{
    CounterChanges, CounterConflict, CounterId, CounterRead, CounterState, CounterStates, Hold, HoldEnd,
    Reservation,
};
pub use tally::Tally;
pub use window::{CalendarUnit, CounterWindow, WindowError};
