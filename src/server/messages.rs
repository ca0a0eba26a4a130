//! Every sentence of the server, one function each: lower case, no final stop, no value of task data.

use std::net::SocketAddr;

pub(super) fn open_to_all(address: &SocketAddr) -> String {
    format!(
        "{address} is not a loopback address and nobody would have to say who he is: configure tokens or a JWKS, or allow \
         it with `--allow-unauthenticated`"
    )
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

pub(super) fn unknown_scope(row: usize) -> String {
    let known: Vec<_> =
        super::identity::Scope::ALL.iter().map(|scope| format!("`{}`", scope.as_str())).collect();
    format!("`tokens[{row}].scopes` names a scope that is not one of {}", known.join(", "))
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
    format!("the body is not JSON at line {}, column {}", error.line(), error.column())
}

/// What serde says of members and types names what was expected; what was found may be data and is left out.
pub(super) fn misfit(error: &serde_json::Error) -> String {
    let said = error.to_string();
    let known =
        said.split_once("expected ").map(|(_, rest)| rest.split(" at line ").next().unwrap_or_default());
    let place = format!("line {}, column {}", error.line(), error.column());
    if let Some(missing) = said.strip_prefix("missing field ") {
        let name = missing.split(" at line ").next().unwrap_or_default();
        return format!("the member {name} is missing in the object that ends at {place}");
    }
    let what = if said.starts_with("unknown field") {
        "an unknown member"
    } else if said.starts_with("duplicate field") {
        "a member that is there already"
    } else {
        "a value that does not fit"
    };
    match known {
        Some(known) => format!("{what} at {place}, expected {known}"),
        None => format!("{what} at {place}"),
    }
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

pub(super) fn media_type() -> &'static str {
    "expected `Content-Type: application/json`"
}

pub(super) fn bad_key(bound: usize) -> String {
    format!("`Idempotency-Key` has to be 1 to {bound} visible ASCII characters (`max_idempotency_key_bytes`)")
}

pub(super) fn lacks(scope: &str) -> String {
    format!("the scope `{scope}` is needed")
}

pub(super) fn in_flight(bound: usize) -> String {
    format!("`max_requests_in_flight` {bound} reached")
}

pub(super) fn request_over(bound: u64) -> String {
    format!(
        "`max_request_ms` {bound} exceeded; what was decided can be asked for again with the same idempotency key"
    )
}

pub(super) fn payload_or_request() -> &'static str {
    "expected either `payload` or `request`"
}

pub(super) fn bad_body_of_request() -> &'static str {
    "expected either `body` or `body_base64`, the latter as base64"
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
