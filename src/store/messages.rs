//! Every message of the stores, one function each.

use super::retention::{Age, Retention};
use std::fmt::Display;
use std::path::Path;

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

pub(super) fn switches_turned() -> String {
    "the switches were turned since the step was decided".to_owned()
}

pub(super) fn altered_turn(number: u64) -> String {
    format!("turn {number} of the switches is not what was written")
}

pub(super) fn altered_policy(task: &str) -> String {
    format!("what is said of the policy of the task `{task}` is not what was written")
}

pub(super) fn altered_manifests(digest: &str) -> String {
    format!("the manifests with the digest `{digest}` are not what was written")
}

pub(super) fn purged() -> String {
    "the task was purged".to_owned()
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
/// A write-ahead log without its file.
pub(super) fn log_alone() -> String {
    "its file is not there, and the file's write-ahead log (`-wal`) is: put the file back, or take the log away too".to_owned()
}

pub(super) const MOVED: &str = "its file was removed or replaced";
pub(super) const CLOSED: &str = "the connection was closed";
pub(super) const INJECTED: &str = "a fault was asked for";
pub(super) const ZERO_CHARACTER: &str = "a text with the character U+0000";
pub(super) const TOO_LONG: &str = "a text that is longer than the database takes, in all or in an index";

pub(super) const NO_CONNECTION_STRING: &str = "no Postgres connection string";
pub(super) const NO_SSLMODE: &str =
    "`sslmode` is one of `disable`, `allow`, `prefer`, `require`, `verify-ca` and `verify-full`";
pub(super) const WEAK_WITH_SYSTEM: &str = "with `sslrootcert=system`, `sslmode` has to be `verify-full`";

pub(super) fn unknown_parameter(name: &str) -> String {
    format!("the parameter `{}` of the connection string is not known", name.escape_debug())
}

pub(super) fn no_tls(why: &impl Display) -> String {
    format!("no TLS to Postgres: {why}")
}

pub(super) fn unreadable(file: &Path, error: &std::io::Error) -> String {
    format!("`{}` cannot be read: {error}", file.display())
}

pub(super) fn no_certificates(file: &Path) -> String {
    format!("`{}` holds no certificate as PEM", file.display())
}

pub(super) fn no_private_key(file: &Path) -> String {
    format!("`{}` holds no private key as PEM; one with a password cannot be read", file.display())
}

pub(super) fn key_for_others(file: &Path) -> String {
    format!(
        "`{}` can be read by others: a private key has the mode 0600, or 0640 if it is root's",
        file.display()
    )
}

pub(super) fn no_key_for(file: &Path) -> String {
    format!("`sslkey` is missing for the certificate `{}`", file.display())
}

pub(super) fn key_without_certificate() -> String {
    "`sslkey` needs `sslcert`".to_owned()
}

pub(super) fn no_roots() -> String {
    "`sslmode=verify-ca` and `verify-full` need `sslrootcert`, a file or `system`".to_owned()
}

pub(super) fn no_system_roots() -> String {
    "this system has no root certificates".to_owned()
}

pub(super) fn column(index: usize) -> String {
    format!("a row has not the right kind of value in column {index}")
}

pub(super) fn database_code(code: i32) -> String {
    format!("the database says code {code}")
}

pub(super) fn has_ended() -> String {
    "the task has ended already".to_owned()
}

pub(super) fn waits() -> String {
    "the task waits for an answer in the middle of its policy, which is needed to end it".to_owned()
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

pub(super) fn altered_tombstone(task: &str) -> String {
    format!("the tombstone of task `{}` is not what was written", task.escape_debug())
}

pub(super) fn left_over(task: &str) -> String {
    format!("rows of task `{}` are there although it was purged", task.escape_debug())
}

pub(super) const BAD_REASON: &str = "a reason that is empty or longer than `max_reason_bytes`";

pub(super) const NOT_JSON: &str = "a number that is not finite";

pub(super) fn failed_check() -> String {
    "the database's own check of its pages and indexes failed".to_owned()
}

pub(super) fn no_kind(setting: &str) -> String {
    let kinds: Vec<String> = Retention::ROWS.iter().map(|row| format!("`{}`", row.name)).collect();
    format!("`{}` is no rule: expected KIND=AGE with a kind of {}", setting.escape_debug(), kinds.join(", "))
}

pub(super) fn no_age(text: &str) -> String {
    format!(
        "`{}` is no age: expected numbers with units, such as `30d`, `12h` or `1d12h`",
        text.escape_debug()
    )
}

pub(super) fn too_short(text: &str) -> String {
    format!("`{}` is too short: expected at least `1m`", text.escape_debug())
}

pub(super) fn set_twice(name: &str) -> String {
    format!("`{name}` is set twice")
}

pub(super) fn tombstones_before(tombstones: Age, kind: &str, age: Option<Age>) -> String {
    let kept = age.map_or_else(|| "are kept for ever".to_owned(), |age| format!("are kept for {age}"));
    let why = match kind {
        "answers" => {
            "the answer that created a task would be given again although nothing says any more that it was purged"
        }
        _ => {
            "lines of the decision log would be about tasks of which nothing says any more that they were purged"
        }
    };
    format!(
        "`tombstones={tombstones}` is shorter than `{kind}`, which {kept}: {why}; set `{kind}={tombstones}` or less"
    )
}
