//! Tasks and whatever else outlives a process, on disk.
//!
//! In: what happened, as rows in transactions. Out: the same after any restart, or an error; never something else.
//! [`Database`] is one way to read and write SQLite (in a file or in memory) and Postgres; the layers above keep what they
//! keep in its tables. Everything here blocks. Nothing decides anything: policies and tasks know nothing of stores.

mod connection;
mod database;
mod digest;
mod error;
mod faults;
mod messages;
mod migrations;
mod pool;
mod postgresql;
mod rows;
mod sqlite;
mod stored_tasks;
mod task_store;
mod value;
mod verify;
mod writer;

pub use database::{Database, Location, Sql};
pub use error::StoreError;
pub use faults::{FaultPlan, Faults};
pub use stored_tasks::StoredTasks;
pub use task_store::{
    LoadedTask, Once, Operation, Owner, Step, StoredEvent, TaskHead, TaskStore, TaskSummary, Verified,
};
pub use value::{Row, SqlValue};
