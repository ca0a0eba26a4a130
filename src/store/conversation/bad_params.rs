//! What is wrong with parameters of a request, one refusal each (−32602). None holds a value.

use super::id::MAX_ID_BYTES;
use super::refusal::ContextRefusal;

pub(super) fn not_an_object(name: &str) -> ContextRefusal {
    ContextRefusal::Params(format!("`{name}` is to be an object"))
}

pub(super) fn wrong_type(name: &str) -> ContextRefusal {
    ContextRefusal::Params(format!("`{name}` has a value of a wrong type"))
}

pub(super) fn not_changeable(name: &str) -> ContextRefusal {
    ContextRefusal::Params(format!("`{name}` is no member that can be changed"))
}

pub(super) fn not_whole(name: &str) -> ContextRefusal {
    ContextRefusal::Params(format!("`{name}` is to be a whole number of at least 0"))
}

pub(super) fn not_positive(name: &str) -> ContextRefusal {
    ContextRefusal::Params(format!("`{name}` is to be at least 1"))
}

pub(super) fn not_one_of(name: &str, choices: &str) -> ContextRefusal {
    ContextRefusal::Params(format!("`{name}` is to be one of {choices}"))
}

pub(super) fn not_a_time(name: &str) -> ContextRefusal {
    ContextRefusal::Params(format!("`{name}` is to be a date and time of RFC 3339 with an offset"))
}

pub(super) fn no_context_id() -> ContextRefusal {
    ContextRefusal::Params("`contextId` is to be a string".to_owned())
}

pub(super) fn not_a_uuid() -> ContextRefusal {
    ContextRefusal::Params("`contextId` is to be a UUID".to_owned())
}

pub(super) fn bad_id(name: &str) -> ContextRefusal {
    ContextRefusal::Params(format!(
        "`{name}` is to be a string of 1 to {MAX_ID_BYTES} bytes, without the character U+0000"
    ))
}

pub(super) fn bad_parent() -> ContextRefusal {
    ContextRefusal::Params(
        "`parentContextId` is to be another context of the same owner, and none that came out of this one"
            .to_owned(),
    )
}

pub(super) fn other_context() -> ContextRefusal {
    ContextRefusal::Params("the task belongs to another context".to_owned())
}

pub(super) fn ambiguous_task() -> ContextRefusal {
    ContextRefusal::Params("tasks of several owners have this id".to_owned())
}

pub(super) fn bad_message() -> ContextRefusal {
    ContextRefusal::Params(
        "a message is to be an object in which `messageId` and `role` are strings and `parts` a list"
            .to_owned(),
    )
}

pub(super) fn bad_artifact() -> ContextRefusal {
    ContextRefusal::Params("an artifact is to be an object in which `parts` is a list".to_owned())
}

pub(super) fn unknown_state() -> ContextRefusal {
    ContextRefusal::Params("the state is to be one of A2A".to_owned())
}

pub(super) fn unknown_status() -> ContextRefusal {
    not_one_of("status", "`active`, `paused`, `completed`, `archived`")
}

pub(super) fn not_importable() -> ContextRefusal {
    ContextRefusal::Params("an id is there already or cannot be, or a task has no context".to_owned())
}

// The envelope.
