//! What authors and operators ask of a task.

use celador::task::Call;

/// What of a task is to be explained.
#[derive(Clone, Debug)]
pub enum ToExplain {
    /// The decision of an event of the past, by its number ([`Task::events`](crate::Task::events)).
    Event(u64),
    /// What this call would come to now.
    Call(Call),
}
