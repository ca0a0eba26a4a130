//! What outlives a process: tasks, conversation contexts and the decision log of Celador, on disk.
//!
//! In: what happened, as rows in transactions. Out: the same after any restart, or an error; never something else.
//! [`Database`] is one way to read and write SQLite (in a file or in memory) and Postgres; the layers above keep what they
//! keep in its tables. Everything here blocks. Nothing decides anything: policies and tasks know nothing of stores.
//!
//! ```
//! use celador::{Engine, EngineLimits, StartTask, User};
//! use celador_store::{Database, Location, Owner, StoreLimits, StoredTasks};
//! # std::env::set_current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))?;
//! # let now: celador::Timestamp = "2026-06-01T12:00:00Z".parse()?;
//!
//! let engine = Engine::open(&["policies/support-desk"], EngineLimits::default())?;
//! let limits = StoreLimits::default();
//! // a path of a file keeps it longer than this process
//! let tasks = StoredTasks::new(Database::open(&Location::parse("memory"), &limits)?, &limits);
//!
//! let kim = User { id: "u-7".into(), email: None, ..User::default() };
//! let task = engine.start(StartTask::new("t-1041", "support", "support-desk", kim, now))?;
//! let owner = Owner::caller("desk");
//! tasks.create(&owner, &task, now, None)?;
//!
//! // another process goes on with it
//! let loaded = tasks.load(&owner, "t-1041")?;
//! let restored = engine.restore(loaded.saved)?;
//! assert_eq!(restored.id(), "t-1041");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! | module | what it is |
//! |---|---|
//! | [`decision_log`] | every decision as one line, chained to the one before it |
//! | [`conversation`] | conversation contexts: their rules as functions of data, the store behind them, JSON-RPC without a transport |
//! | `counters` | amounts that count across tasks |
//! | `database` | connections, transactions, migrations |
//! | `tasks` | tasks and what was done to them, in tables |

#![forbid(unsafe_code)]

pub mod conversation;
mod counters;
mod database;
pub mod decision_log;
mod error;
mod limits;
mod messages;
mod row_digest;
mod same_file;
mod tasks;

pub use counters::CounterTurn;
pub use database::{Database, FaultPlan, Faults, Location, Row, Sql, SqlValue};
pub(crate) use database::{PostgresAddress, PostgresFailure, read_certificates, read_file};
pub use error::StoreError;
pub use limits::StoreLimits;
pub use tasks::{
    Age, CompareError, Compared, CounterReset, Difference, DueLine, Ended, Ending, Fate, FoundTask, KeptLine,
    LoadedTask, LogBehind, ManifestSet, NewEvent, Once, OperationKind, Orphan, Owner, PolicyDecided,
    PolicyDecision, Purge, Retention, RetentionError, RetentionRow, ReviewFilter, ReviewRow, ReviewViewer,
    StoredCounter, StoredEvent, StoredSwitches, StoredTasks, SweptPage, SwitchTurn, SwitchesOn, TaskFilter,
    TaskHead, TaskLabels, TaskPolicy, TaskSummary, Terms, Tombstone, Verified, compare, forget, lines_from,
    lines_of_purged, put_turns, review_id, reviewer_name, sweep_answers, sweep_counters, sweep_tombstones,
    take_over, write_waiting,
};
