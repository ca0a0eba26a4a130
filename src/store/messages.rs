//! Every message of the stores, one function each.

use std::fmt::Display;
use std::path::Path;

pub(crate) fn unavailable(why: &str) -> String {
    format!("the store is not available: {why}")
}

pub(crate) fn full() -> String {
    "the store has no room left".to_owned()
}

pub(crate) fn uncertain() -> String {
    "the store went away while it wrote: read to know whether the write is there".to_owned()
}

pub(crate) fn conflict(expected: u64, found: u64) -> String {
    format!("the task is at version {found}, expected was version {expected}")
}

pub(crate) fn already_exists() -> String {
    "it is there already".to_owned()
}

pub(crate) fn not_found() -> String {
    "there is no such thing".to_owned()
}

pub(crate) fn switches_turned() -> String {
    "the switches were turned since the step was decided".to_owned()
}

pub(crate) fn counters_moved() -> String {
    "a counter was reserved since the step was decided".to_owned()
}

pub(crate) fn altered_counter(name: &str) -> String {
    format!("a counter `{}` is not what was written", name.escape_debug())
}

pub(crate) fn altered_hold(name: &str) -> String {
    format!("what a call holds of a counter `{}` is not what was written", name.escape_debug())
}

pub(crate) const HELD_TWICE: &str = "a call that holds something of one counter twice";

pub(crate) fn altered_turn(number: u64) -> String {
    format!("turn {number} of the switches is not what was written")
}

pub(crate) fn altered_labels(task: &str) -> String {
    format!("what the task `{task}` is found by is not what was written")
}

pub(crate) fn altered_policy(task: &str) -> String {
    format!("what is said of the policy of the task `{task}` is not what was written")
}

pub(crate) fn altered_manifests(digest: &str) -> String {
    format!("the manifests with the digest `{digest}` are not what was written")
}

pub(crate) fn purged() -> String {
    "the task was purged".to_owned()
}

pub(crate) fn corrupt(place: &str) -> String {
    format!("the store is damaged: {place}")
}

pub(crate) fn newer_version(found: u64, known: u64) -> String {
    format!("the store has schema {found}, which a later release wrote; this one knows up to {known}")
}

pub(crate) fn not_ours() -> String {
    "this is no store of celador, or its beginning is damaged".to_owned()
}

pub(crate) fn not_storable(why: &str) -> String {
    format!("a value cannot be stored: {why}")
}

pub(crate) fn refused(code: &str) -> String {
    format!("the database refused a statement with code {code}")
}

pub(crate) const NO_CONNECTION: &str = "no connection came free in time";
pub(crate) const BUSY: &str = "others write all the time";
/// A write-ahead log without its file.
pub(crate) fn log_alone() -> String {
    "its file is not there, and the file's write-ahead log (`-wal`) is: put the file back, or take the log away too".to_owned()
}

pub(crate) const MOVED: &str = "its file was removed or replaced";
pub(crate) const CLOSED: &str = "the connection was closed";
pub(crate) const INJECTED: &str = "a fault was asked for";
pub(crate) const ZERO_CHARACTER: &str = "a text with the character U+0000";
pub(crate) const TOO_LONG: &str = "a text that is longer than the database takes, in all or in an index";

pub(crate) const NO_CONNECTION_STRING: &str = "no Postgres connection string";
pub(crate) const NO_SSLMODE: &str =
    "`sslmode` is one of `disable`, `allow`, `prefer`, `require`, `verify-ca` and `verify-full`";
pub(crate) const WEAK_WITH_SYSTEM: &str = "with `sslrootcert=system`, `sslmode` has to be `verify-full`";

pub(crate) fn unknown_parameter(name: &str) -> String {
    format!("the parameter `{}` of the connection string is not known", name.escape_debug())
}

pub(crate) fn no_tls(why: &impl Display) -> String {
    format!("no TLS to Postgres: {why}")
}

pub(crate) fn unreadable(file: &Path, error: &std::io::Error) -> String {
    format!("`{}` cannot be read: {error}", file.display())
}

pub(crate) fn no_certificates(file: &Path) -> String {
    format!("`{}` holds no certificate as PEM", file.display())
}

pub(crate) fn no_private_key(file: &Path) -> String {
    format!("`{}` holds no private key as PEM; one with a password cannot be read", file.display())
}

pub(crate) fn key_for_others(file: &Path) -> String {
    format!(
        "`{}` can be read by others: a private key has the mode 0600, or 0640 if it is root's",
        file.display()
    )
}

pub(crate) fn no_key_for(file: &Path) -> String {
    format!("`sslkey` is missing for the certificate `{}`", file.display())
}

pub(crate) fn key_without_certificate() -> String {
    "`sslkey` needs `sslcert`".to_owned()
}

pub(crate) fn no_roots() -> String {
    "`sslmode=verify-ca` and `verify-full` need `sslrootcert`, a file or `system`".to_owned()
}

pub(crate) fn no_system_roots() -> String {
    "this system has no root certificates".to_owned()
}

pub(crate) fn column(index: usize) -> String {
    format!("a row has not the right kind of value in column {index}")
}

pub(crate) fn database_code(code: i32) -> String {
    format!("the database says code {code}")
}

pub(crate) fn has_ended() -> String {
    "the task has ended already".to_owned()
}

pub(crate) fn waits() -> String {
    "the task waits for an answer in the middle of its policy, which is needed to end it".to_owned()
}

pub(crate) fn altered_schema(name: &str) -> String {
    format!("the definition of `{name}` is not the one that was made")
}

pub(crate) fn altered_task(task: &str) -> String {
    format!("the row of task `{}` is not what was written", task.escape_debug())
}

pub(crate) fn altered_event(task: &str, version: u64) -> String {
    format!("event {version} of task `{}` is not what was written", task.escape_debug())
}

pub(crate) fn altered_answer(task: &str) -> String {
    format!("an answer of task `{}` is not what was written", task.escape_debug())
}

pub(crate) fn altered_review(id: &str) -> String {
    format!("the review `{}` is not what was written", id.escape_debug())
}

pub(crate) fn lost_review(id: &str, task: &str) -> String {
    format!("the review `{id}` of task `{}` is not there", task.escape_debug())
}

pub(crate) const OWN_COUNT: &str = "the count of changes of reviews, which counts by itself";

pub(crate) fn altered_tombstone(task: &str) -> String {
    format!("the tombstone of task `{}` is not what was written", task.escape_debug())
}

pub(crate) fn left_over(task: &str) -> String {
    format!("rows of task `{}` are there although it was purged", task.escape_debug())
}

pub(crate) const BAD_REASON: &str = "a reason that is empty or longer than `max_reason_bytes`";

pub(crate) const NOT_JSON: &str = "a number that is not finite";

pub(crate) fn failed_check() -> String {
    "the database's own check of its pages and indexes failed".to_owned()
}

pub(crate) fn no_kind(setting: &str, kinds: impl Iterator<Item = &'static str>) -> String {
    let kinds: Vec<String> = kinds.map(|kind| format!("`{kind}`")).collect();
    format!("`{}` is no rule: expected KIND=AGE with a kind of {}", setting.escape_debug(), kinds.join(", "))
}

pub(crate) fn no_age(text: &str) -> String {
    format!(
        "`{}` is no age: expected numbers with units, such as `30d`, `12h` or `1d12h`",
        text.escape_debug()
    )
}

pub(crate) fn too_short(text: &str) -> String {
    format!("`{}` is too short: expected at least `1m`", text.escape_debug())
}

pub(crate) fn set_twice(name: &str) -> String {
    format!("`{name}` is set twice")
}

pub(crate) fn tombstones_before(tombstones: impl Display, kind: &str, age: Option<impl Display>) -> String {
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
