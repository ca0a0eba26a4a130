//! Operations that wait: for other calls, for people, and how far each of them has come.

pub(super) mod panel;
pub(super) mod queue;
mod review;
mod standing;
