//! Calls of functions: the ids by which callers know them, the turns in which they come, their steps, what they may operate on, how
//! they are handed to another agent and bounded by the task that has delegated, and how they are taken back; and what becomes of those that nobody stops.

pub(super) mod allowed;
mod call_id;
mod capability_call;
mod claim;
mod counting;
mod delegation;
mod parent;
mod script;
pub(super) mod turn;
mod unruled;
mod withdrawal;

pub(super) use delegation::all_labels;
