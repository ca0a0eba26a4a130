//! Messages in bodies of HTTP: decoded strictly, one at a time, and encoded.

use super::super::link;
use super::super::message::{Malformed, Message};
use super::messages;
use serde_json::{Value, json};

use super::super::message::PARSE_ERROR;
pub(super) use super::super::message::{INTERNAL_ERROR, INVALID_PARAMS, INVALID_REQUEST, METHOD_NOT_FOUND};

/// A header of a request disagrees with its body.
pub(super) const HEADER_MISMATCH: i64 = -32_020;
/// A client lacks a capability that the server requires.
pub(super) const MISSING_CAPABILITY: i64 = -32_021;
/// The revision of the protocol is not supported.
pub(super) const UNSUPPORTED_VERSION: i64 = -32_022;

/// The revision without sessions.
pub(super) const STATELESS: &str = "2026-07-28";
/// Revisions with sessions.
pub(super) const WITH_SESSIONS: [&str; 4] = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"];

/// Pointer to the revision in a request that names one.
const VERSION_POINTER: &str = "/params/_meta/io.modelcontextprotocol~1protocolVersion";

/// A body that is no message.
pub(super) struct NoMessage {
    pub(super) code: i64,
    pub(super) reason: &'static str,
    pub(super) id: Value,
}

/// Decodes the body of a request or a response, or an event: exactly one message, as strictly as a line of a pipe.
pub(super) fn decode(bytes: &[u8]) -> Result<Message, NoMessage> {
    if bytes.trim_ascii_start().starts_with(b"[") {
        return Err(NoMessage { code: INVALID_REQUEST, reason: messages::NO_BATCH, id: Value::Null });
    }
    match link::decode(bytes).pop() {
        Some(Ok(message)) => Ok(message),
        Some(Err(Malformed { reason, id, .. })) => {
            let is_json = reason != super::super::messages::NO_JSON;
            let code = if is_json { INVALID_REQUEST } else { PARSE_ERROR };
            Err(NoMessage { code, reason, id: id.unwrap_or_default() })
        }
        None => Err(NoMessage { code: PARSE_ERROR, reason: messages::NO_MESSAGE, id: Value::Null }),
    }
}

/// The id of a message as a key of a table. A number and a text of the same digits are two.
pub(super) fn key(id: &Value) -> String {
    id.to_string()
}

/// The revision that a request or a notification names in its body.
pub(super) fn version_of(body: &Value) -> Option<&Value> {
    body.pointer(VERSION_POINTER)
}

/// The body of an error.
pub(super) fn error(id: Value, code: i64, message: &str, data: Option<Value>) -> Value {
    let mut error = json!({ "code": code, "message": message });
    if let (Some(members), Some(data)) = (error.as_object_mut(), data) {
        members.insert("data".to_owned(), data);
    }
    json!({ "jsonrpc": "2.0", "id": id, "error": error })
}
