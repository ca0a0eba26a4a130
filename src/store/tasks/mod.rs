//! Tasks in a store: what happened to them, in tables.
//!
//! In: a task, what a step changed of it, who owns it. Out: the same task after any restart, lists, tombstones, lines that the
//! decision log is owed. [`StoredTasks`] is the door; the rules of age and of switches are functions of rows.

mod all_tasks;
mod asked_reviews;
mod audit;
mod counter_list;
mod counter_store;
mod decision_lines;
mod ending;
mod find;
mod labels;
mod orphans;
mod owner;
mod policy_store;
mod purge;
mod reading;
mod recording;
mod retention;
mod review;
mod review_store;
mod reviews;
mod rows;
mod some_tasks;
mod stored_tasks;
mod sweep;
mod switches;
mod task_policies;
mod task_records;
mod tombstones;
mod verify;
mod writer;

pub use audit::{CompareError, Compared, Difference, compare};
pub use counter_list::{CounterReset, StoredCounter};
pub use decision_lines::{
    DueLine, KeptLine, LogBehind, forget, lines_from, lines_of_purged, put_turns, take_over, write_waiting,
};
pub use ending::{Ended, Ending};
pub use find::{FoundTask, TaskFilter};
pub use labels::TaskLabels;
pub use orphans::Orphan;
pub use owner::Owner;
pub use retention::{Age, Fate, Retention, RetentionError, RetentionRow};
pub use review::reviewer_name;
pub use review_store::{ReviewFilter, ReviewViewer};
pub use reviews::{ReviewRow, review_id};
pub use stored_tasks::{StoredTasks, Terms};
pub use sweep::{SweptPage, sweep_answers, sweep_counters, sweep_tombstones};
pub use switches::{StoredSwitches, SwitchTurn, SwitchesOn};
pub use task_policies::{ManifestSet, PolicyDecided, PolicyDecision, TaskPolicy};
pub use task_records::{
    LoadedTask, NewEvent, Once, OperationKind, Purge, StoredEvent, TaskHead, TaskSummary, Tombstone, Verified,
};
