//! The tasks of all callers: in memory while they are used, in the store always, in the decision log once they are decided.
//!
//! In: who asks, and a step. Out: the decision once it is durable. A task has one seat, so its steps take turns.

pub(crate) mod child_labels;
pub(crate) mod children;
pub(crate) mod counters;
pub(crate) mod former_policies;
pub(crate) mod ledger;
mod live_tasks;
pub(crate) mod recorder;
pub(crate) mod review_feed;
pub(crate) mod seat;
pub(crate) mod steps;
mod task_id;
pub(crate) mod task_opening;

pub(crate) use live_tasks::{Begun, Key, Tasks, begun_task, once, owner};
pub(crate) use task_id::check_task_id;
