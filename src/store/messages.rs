//! Every message of the stores, one function each.

pub(super) fn unavailable(why: &str) -> String {
    format!("the store is not available: {why}")
}

pub(super) fn full() -> String {
    "the store has no room left".to_owned()
}

pub(super) fn uncertain() -> String {
    "the store went away while it wrote: read to know whether the write is there".to_owned()
}

pub(super) fn conflict(expected: u64, found: u64) -> String {
    format!("the task is at version {found}, expected was version {expected}")
}

pub(super) fn already_exists() -> String {
    "it is there already".to_owned()
}

pub(super) fn not_found() -> String {
    "there is no such thing".to_owned()
}

pub(super) fn corrupt(place: &str) -> String {
    format!("the store is damaged: {place}")
}

pub(super) fn newer_version(found: u64, known: u64) -> String {
    format!("the store has schema {found}, which a later release wrote; this one knows up to {known}")
}

pub(super) fn not_ours() -> String {
    "this is no store of celador, or its beginning is damaged".to_owned()
}

pub(super) fn not_storable(why: &str) -> String {
    format!("a value cannot be stored: {why}")
}

pub(super) fn refused(code: &str) -> String {
    format!("the database refused a statement with code {code}")
}

pub(super) const NO_CONNECTION: &str = "no connection came free in time";
pub(super) const BUSY: &str = "others write all the time";
pub(super) const CLOSED: &str = "the connection was closed";
pub(super) const INJECTED: &str = "a fault was asked for";
pub(super) const ZERO_CHARACTER: &str = "a text with the character U+0000";
pub(super) const TOO_LONG: &str = "a text that is longer than the database takes, in all or in an index";

pub(super) fn column(index: usize) -> String {
    format!("a row has not the right kind of value in column {index}")
}

pub(super) fn database_code(code: i32) -> String {
    format!("the database says code {code}")
}

pub(super) fn altered_schema(name: &str) -> String {
    format!("the definition of `{name}` is not the one that was made")
}

pub(super) fn altered_task(task: &str) -> String {
    format!("the row of task `{}` is not what was written", task.escape_debug())
}

pub(super) fn altered_event(task: &str, version: u64) -> String {
    format!("event {version} of task `{}` is not what was written", task.escape_debug())
}

pub(super) fn altered_answer(task: &str) -> String {
    format!("an answer of task `{}` is not what was written", task.escape_debug())
}

pub(super) const NOT_JSON: &str = "a number that is not finite";

pub(super) fn failed_check() -> String {
    "the database's own check of its pages and indexes failed".to_owned()
}
