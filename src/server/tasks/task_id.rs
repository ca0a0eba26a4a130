//! The ids that callers give their tasks.

use crate::messages;
use crate::problem::{Kind, Problem};

/// Whether a task may have an id that its caller gives it. A dot alone would be a step in an address, which clients take.
pub(crate) fn check_task_id(id: &str, most: usize) -> Result<(), Problem> {
    let is_sound = !id.is_empty() && id.len() <= most && !id.contains(char::is_control);
    let is_step = matches!(id, "." | "..");
    if is_sound && !is_step {
        Ok(())
    } else {
        Err(Problem::new(Kind::BadRequest, messages::bad_task_id(most)))
    }
}
