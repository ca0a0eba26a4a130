//! Parts of a task that authors and operators ask about.

use celador::task::Call;

/// The part of a task that is to be explained.
#[derive(Clone, Debug)]
pub enum ToExplain {
    /// The decision of an event of the past, by its number ([`Task::events`](crate::Task::events)).
    Event(u64),
    /// The decision that this call would have now.
    Call(Call),
}
