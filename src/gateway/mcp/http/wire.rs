//! Messages in bodies of HTTP: decoded strictly, one at a time, and encoded.

use super::super::message::Message;
use super::messages;
use celador_server::strict_json;
use serde_json::{Value, json};

pub(super) const PARSE_ERROR: i64 = -32_700;
pub(super) const INVALID_REQUEST: i64 = -32_600;
pub(super) const METHOD_NOT_FOUND: i64 = -32_601;
pub(super) const INVALID_PARAMS: i64 = -32_602;
pub(super) const INTERNAL_ERROR: i64 = -32_603;
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

/// Decodes the body of a request, or an event: exactly one message.
pub(super) fn decode(bytes: &[u8]) -> Result<Message, NoMessage> {
    let fail = |code, reason, id| NoMessage { code, reason, id };
    let value = match strict_json::from_slice(bytes) {
        Ok(value @ Value::Object(_)) => value,
        Ok(_) => return Err(fail(INVALID_REQUEST, messages::NO_BATCH, Value::Null)),
        Err(_) => return Err(fail(PARSE_ERROR, messages::NO_MESSAGE, Value::Null)),
    };
    let id = value.get("id").filter(|id| id.is_string() || id.is_i64() || id.is_u64()).cloned();
    let is_whole = value.get("jsonrpc") == Some(&"2.0".into());
    let message = Message::of(value).filter(|_| is_whole);
    message.ok_or_else(|| fail(INVALID_REQUEST, messages::NO_MESSAGE, id.unwrap_or_default()))
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
