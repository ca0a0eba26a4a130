//! Every sentence of the server, one function each: lower case, no final stop, no value of task data.

use celador::task::TaskError;
use celador_store::{Age, LogBehind, StoreError};
use serde_json::error::Category;
use std::net::SocketAddr;

/// What a parser is told about an object with two members of one key.
pub(super) const DUPLICATE_KEY: &str = "duplicate key";

pub(super) fn open_to_all(address: &SocketAddr) -> String {
    format!(
        "{address} is not a loopback address and callers would need no token: configure tokens or a JWKS, or allow \
         it with `--allow-unauthenticated`"
    )
}

pub(super) fn not(expected: &str, found: &str) -> String {
    format!("expected {expected}, found `{found}`")
}

pub(super) fn foreign_host() -> &'static str {
    "without tokens only requests for loopback, for the configured address or for an allowed host (`--allow-host`) are answered"
}

pub(super) fn foreign_origin() -> &'static str {
    "a page of another site may change nothing unless its origin is allowed (`--allow-origin`)"
}

pub(super) fn not_utf8() -> String {
    "is not UTF-8".to_owned()
}

pub(super) fn not_json_file(error: &serde_json::Error) -> String {
    format!("is not what is expected at line {}, column {}", error.line(), error.column())
}

pub(super) fn no_digest(row: usize) -> String {
    format!("`tokens[{row}].sha256` is not a SHA-256 digest of 64 hexadecimal digits")
}

pub(super) fn no_identity(row: usize) -> String {
    format!("`tokens[{row}].identity` is empty")
}

pub(super) fn identity_of_an_issuer(row: usize) -> String {
    format!("`tokens[{row}].identity` begins with `jwt:`, as only the identities of JSON Web Tokens do")
}

pub(super) fn unknown_scope(row: usize) -> String {
    let known: Vec<_> =
        super::identity::Scope::ALL.iter().map(|scope| format!("`{}`", scope.as_str())).collect();
    format!("`tokens[{row}].scopes` names a scope that is not one of {}", known.join(", "))
}

pub(super) fn by_is_known() -> &'static str {
    "`by` and `addressed_as` are not taken from a request: whoever sends it is on record"
}

pub(super) fn review_state() -> String {
    let states = celador::task::ReviewState::WORDS.map(|state| format!("`{state}`"));
    format!("`state` is one of {} and `all`", states.join(", "))
}

pub(super) fn bad_note(most: usize) -> String {
    format!("`note` has at most {most} bytes (`max_reason_bytes`)")
}

pub(super) fn no_keys() -> String {
    "has no key for RS256, ES256 or EdDSA".to_owned()
}

pub(super) fn no_certificate() -> String {
    "holds no certificate as PEM".to_owned()
}

pub(super) fn no_private_key() -> String {
    "holds no private key as PEM".to_owned()
}

pub(super) fn certificate_and_key(reason: &str) -> String {
    format!("does not go with its key: {reason}")
}

pub(super) fn header_over(bound: usize) -> String {
    format!("`max_header_bytes` {bound} exceeded")
}

pub(super) fn body_over(bound: usize) -> String {
    format!("`max_body_bytes` {bound} exceeded")
}

pub(super) fn too_deep(bound: usize) -> String {
    format!("`max_json_depth` {bound} exceeded")
}

pub(super) fn not_json(error: &serde_json::Error) -> String {
    let place = format!("the body is not JSON at line {}, column {}", error.line(), error.column());
    // what serde_json says of the syntax repeats nothing of the text; what a type says of a value may
    match error.classify() {
        Category::Syntax | Category::Eof => {
            let reason = error.to_string();
            let reason = reason.split(" at line ").next().unwrap_or_default();
            format!("{place}: {reason}")
        }
        Category::Data | Category::Io => place,
    }
}

pub(super) fn no_page_of_counters() -> String {
    "`after` is not the `next` of a page of counters".to_owned()
}

/// A page of a context that is not there any more.
pub(super) fn cursor_of_the_past() -> String {
    "the task has taken a step since the page before: begin without a `cursor`".to_owned()
}

pub(super) fn bad_query(known: &[&str]) -> String {
    let known: Vec<_> = known.iter().map(|name| format!("`{name}`")).collect();
    match known.as_slice() {
        [] => "no query parameter is expected".to_owned(),
        known => {
            format!("expected no other query parameters than {}, each fitting and once", known.join(" and "))
        }
    }
}

/// A path or a cursor of a context that is none.
pub(super) fn bad_context_query() -> &'static str {
    "`paths` names no part of the context, or `cursor` is not the `next` of a page"
}

pub(super) fn media_type() -> &'static str {
    "expected `Content-Type: application/json`"
}

pub(super) fn bad_key(bound: usize) -> String {
    format!("`Idempotency-Key` has to be 1 to {bound} visible ASCII characters (`max_idempotency_key_bytes`)")
}

pub(super) fn lacks(scope: &str) -> String {
    format!("the scope `{scope}` is needed")
}

pub(super) fn reached(name: &str, bound: usize) -> String {
    format!("`{name}` {bound} reached")
}

pub(super) fn request_over(bound: u64) -> String {
    format!(
        "`max_request_ms` {bound} exceeded; what was decided can be asked for again with the same idempotency key"
    )
}

pub(super) fn no_time() -> &'static str {
    "the clock of this machine is outside the calendar"
}

pub(super) fn no_prompt() -> &'static str {
    "the agent has no prompt"
}

pub(super) fn task_has_them() -> &'static str {
    "the task has an agent and a context of its own; expected neither `agent` nor `context`"
}

pub(super) fn answers_need_a_task() -> &'static str {
    "`answers` are for expressions on a task"
}

pub(super) fn not_storable() -> &'static str {
    "a text that the store cannot keep, such as one with the character 0, or a name longer than an index takes"
}

pub(super) fn store_unavailable() -> String {
    "the store does not answer".to_owned()
}

pub(super) fn store_unwritable(error: &StoreError) -> String {
    format!("the store cannot be written: {error}")
}

pub(super) fn log_unwritable(error: &LogBehind, owed: usize) -> String {
    format!("the decision log cannot be written and lacks {owed} decision(s): {error}")
}

pub(super) fn manifests_refused() -> String {
    "the files of the manifests cannot be served as they are now; those of before are served on".to_owned()
}

pub(super) fn authentication_closed() -> String {
    "a file of tokens or keys cannot be read, and none of its tokens is accepted".to_owned()
}

pub(super) fn authentication_stale() -> String {
    "a file of tokens or keys cannot be read; what it said before is in force".to_owned()
}

pub(super) fn bad_task_id(bound: usize) -> String {
    format!(
        "expected an `id` of 1 to {bound} bytes (`max_id_bytes`) without control characters, and neither `.` nor `..`"
    )
}

pub(super) fn bad_filter() -> &'static str {
    "expected times in RFC 3339, a `state` that tasks have, and `metadata` as `NAME:TEXT`"
}

/// A task is begun as the child of one of another user.
pub(super) fn claims_and_token() -> &'static str {
    "the claims of a user stand in their token or beside their id, not in both"
}

pub(super) fn user_of_parent() -> &'static str {
    "expected the `user` of the task that delegates"
}

/// Results are reported, and there are none.
pub(super) fn no_results() -> &'static str {
    "expected one result at least in `results`"
}

/// A task whose calls would have to be within too many tasks.
pub(super) fn too_many_parents(most: usize) -> String {
    format!("the task must be within more than {most} tasks above it")
}

/// The last words of a task whose parent has ended.
pub(super) fn ended_with(parent: &str) -> String {
    format!("the task `{parent}`, which had delegated to it, was locked or has ended")
}

pub(super) fn bad_reason(bound: usize) -> String {
    format!("expected a `reason` that is not empty and has at most {bound} bytes (`max_reason_bytes`)")
}

pub(super) fn long_switch(most: usize) -> String {
    format!("a switch has names of at most {most} bytes together (`max_switch_bytes`)")
}

pub(super) fn bad_switch() -> &'static str {
    "expected `kind=agent` or `kind=tool` with `namespace` and `name` (and perhaps `function` of a tool), or `kind=user` with \
     `name`"
}

pub(super) const fn manifests_not_kept() -> &'static str {
    "the store does not have the manifests that the task is under"
}

pub(super) const fn manifests_not_compiled() -> &'static str {
    "this release cannot take the manifests that the task is under, or makes another policy of them"
}

pub(super) fn bad_form(most: usize) -> String {
    format!("`form` is a text of 1 to {most} bytes, and `count` is 1 at least")
}

pub(super) const fn held_locked() -> &'static str {
    "the task was begun under another policy than the one that is served, and takes no step until an operator decides"
}

pub(super) fn held_unreadable(error: &TaskError) -> String {
    format!("the policy that is served cannot take the task over ({error}), and an operator is to decide")
}

pub(super) fn held_lost(lack: &str) -> String {
    format!("the task is to keep its policy, and that cannot be had: {lack}")
}

pub(super) fn cannot_adopt(error: &TaskError) -> String {
    format!("the policy that is served cannot take the task over: {error}")
}

pub(super) const fn has_ended() -> &'static str {
    "the task has ended, and takes no step under any policy"
}

pub(super) fn no_digest_line(line: usize) -> String {
    format!("line {line} is not one of `sha256sum`: 64 hexadecimal digits, two spaces, a name")
}

pub(super) fn listed_file_missing(name: &str) -> String {
    format!("lists `{name}`, which is not among the manifests")
}

pub(super) fn file_not_listed(name: &str) -> String {
    format!("does not list the manifest `{name}`")
}

pub(super) fn file_differs(name: &str) -> String {
    format!("has another digest for `{name}`: the files are being written, or the list is of another set")
}

/// A rule of retention, as it is set.
pub(super) fn rule(kind: &str, age: Age) -> String {
    format!("{kind}={age}")
}

pub(super) fn retention_failed(kinds: &[&str]) -> String {
    format!("what is too old could not all be taken away ({}); the next sweep tries again", kinds.join(", "))
}

pub(super) const fn no_webhook_secret() -> &'static str {
    "a line `whsec_…` is expected, with 24 to 64 bytes in Base64; several lines are several secrets"
}

pub(super) fn version_or_function() -> String {
    "either `version`, the number of an event, or `function` with `arguments` says what is to be explained"
        .to_owned()
}

pub(super) fn not_explainable() -> String {
    "the event does not tell what its operation was about, or the rules of that time are not there any more"
        .to_owned()
}
