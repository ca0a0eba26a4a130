//! Tasks and whatever else outlives a process, on disk.
//!
//! In: what happened, as rows in transactions. Out: the same after any restart, or an error; never something else.
//! [`Database`] is one way to read and write SQLite (in a file or in memory) and Postgres; the layers above keep what they
//! keep in its tables. Everything here blocks. Nothing decides anything: policies and tasks know nothing of stores.

mod all_tasks;
mod audit;
mod connection;
mod database;
mod decision_lines;
mod digest;
mod ending;
mod error;
mod faults;
mod limits;
mod messages;
mod migrations;
mod pool;
mod postgres_address;
mod postgres_tls;
mod postgresql;
mod purge;
mod retention;
mod rows;
mod sqlite;
mod stored_tasks;
mod sweep;
mod switches;
mod task_policies;
mod task_store;
mod value;
mod verify;
mod writer;

pub use audit::{CompareError, Compared, Difference, compare};
pub use database::{Database, Location, Sql};
pub use decision_lines::{
    DueLine, KeptLine, LogBehind, forget, lines_from, lines_of_purged, put_turns, take_over, write_waiting,
};
pub use ending::{Ended, Ending};
pub use error::StoreError;
pub use faults::{FaultPlan, Faults};
pub use limits::StoreLimits;
pub(crate) use postgres_address::{PostgresAddress, PostgresFailure};
pub(crate) use postgres_tls::{read_certificates, read_file};
pub use retention::{Age, Fate, Retention, RetentionError, RetentionRow};
pub use stored_tasks::{StoredTasks, Terms};
pub use sweep::{SweptPage, sweep_answers, sweep_tombstones};
pub use switches::{StoredSwitches, SwitchTurn, SwitchesOn};
pub use task_policies::{ManifestSet, PolicyDecided, PolicyDecision, TaskPolicy};
pub use task_store::{
    LoadedTask, Once, Operation, Owner, Purge, Step, StoredEvent, TaskHead, TaskStore, TaskSummary,
    Tombstone, Verified,
};
pub use value::{Row, SqlValue};
