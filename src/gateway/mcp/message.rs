//! Messages of JSON-RPC as MCP restricts it: requests, notifications and responses, decoded strictly.
//!
//! A message is never forwarded as it came. Decoding keeps the members that JSON-RPC defines; encoding writes them anew. What the
//! parameters and results hold is decoded by the table of methods ([`super::methods`]).

use super::notices::Notices;
use serde_json::{Map, Number, Value, json};
use std::sync::LazyLock;

/// The lines about members of messages, which no session has written: a message is decoded before its session is known.
static MEMBERS: LazyLock<Notices> = LazyLock::new(Notices::default);

/// The members of an object: parameters of a request, or a result.
pub(super) type Members = Map<String, Value>;

/// Invalid JSON was received, in the codes of JSON-RPC.
pub(super) const PARSE_ERROR: i64 = -32_700;
/// The message is no request.
pub(super) const INVALID_REQUEST: i64 = -32_600;
/// The method does not exist.
pub(super) const METHOD_NOT_FOUND: i64 = -32_601;
/// The parameters are not those of the method.
pub(super) const INVALID_PARAMS: i64 = -32_602;
/// An error of the side that answers.
pub(super) const INTERNAL_ERROR: i64 = -32_603;

/// A message, with the request to which it belongs where the transport says so.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Message {
    pub(super) body: Body,
    /// The id of the request in whose course this message is sent. Only transports with several streams know it.
    pub(super) within: Option<Value>,
}

/// The three forms of a message. An id is a text or an integer.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Body {
    Request { id: Value, method: String, params: Option<Members> },
    Notification { method: String, params: Option<Members> },
    Response { id: Value, outcome: Result<Value, Failure> },
}

/// The error of a response.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Failure {
    pub(super) code: i64,
    pub(super) message: String,
    pub(super) data: Option<Value>,
}

impl Failure {
    pub(super) fn new(code: i64, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), data: None }
    }
}

/// A value that is no message, with what an answer to it needs.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Malformed {
    pub(super) reason: &'static str,
    /// Its id, if it has one that is valid.
    pub(super) id: Option<Value>,
    /// Whether it would be a response: it has a result or an error.
    pub(super) is_response: bool,
}

impl Message {
    /// Decodes a message; nothing if the value is none.
    pub(super) fn of(value: Value) -> Option<Self> {
        Self::decode(value).ok()
    }

    /// Decodes a message.
    ///
    /// # Errors
    /// A value that is not exactly one of the three forms.
    pub(super) fn decode(value: Value) -> Result<Self, Malformed> {
        let Value::Object(mut members) = value else {
            return Err(Malformed { reason: "it is no object", id: None, is_response: false });
        };
        let raw_id = members.remove("id");
        let id = raw_id.as_ref().and_then(valid_id);
        let is_response = members.contains_key("result") || members.contains_key("error");
        let fail = |reason| Malformed { reason, id: id.clone(), is_response };
        if members.remove("jsonrpc") != Some("2.0".into()) {
            return Err(fail("`jsonrpc` is not \"2.0\""));
        }
        let (method, params) = (members.remove("method"), members.remove("params"));
        let (result, error) = (members.remove("result"), members.remove("error"));
        if let Some(name) = members.keys().next() {
            MEMBERS.warn("a member that JSON-RPC does not define is dropped", name);
        }
        let body = match (method, result, error) {
            (Some(Value::String(method)), None, None) => {
                let params = match params {
                    None => None,
                    Some(Value::Object(params)) => Some(params),
                    Some(_) => return Err(fail("`params` is no object")),
                };
                match (&raw_id, id.clone()) {
                    (None, _) => Body::Notification { method, params },
                    (Some(_), Some(id)) => Body::Request { id, method, params },
                    (Some(_), None) => return Err(fail("`id` is neither a text nor an integer")),
                }
            }
            (Some(_), None, None) => return Err(fail("`method` is no text")),
            (Some(_), ..) => return Err(fail("it has a method and a result")),
            (None, Some(_), Some(_)) => return Err(fail("it has a result and an error")),
            (None, result, error) => {
                if params.is_some() {
                    return Err(fail("a response has no `params`"));
                }
                let outcome = match (result, error) {
                    (Some(result @ Value::Object(_)), _) => Ok(result),
                    (Some(_), _) => return Err(fail("`result` is no object")),
                    (None, Some(error)) => Err(failure(error).ok_or_else(|| fail("`error` is none"))?),
                    (None, None) => return Err(fail("it has neither a method nor a result nor an error")),
                };
                let id = id.clone().ok_or_else(|| fail("a response has no valid `id`"))?;
                Body::Response { id, outcome }
            }
        };
        Ok(Self { body, within: None })
    }

    pub(super) fn request(id: Value, method: &str, params: Option<Members>) -> Self {
        Body::Request { id, method: method.to_owned(), params }.into()
    }

    pub(super) fn notification(method: &str, params: Option<Members>) -> Self {
        Body::Notification { method: method.to_owned(), params }.into()
    }

    pub(super) fn response(id: Value, outcome: Result<Value, Failure>) -> Self {
        Body::Response { id, outcome }.into()
    }

    pub(super) fn result(id: Value, result: Value) -> Self {
        Self::response(id, Ok(result))
    }

    pub(super) fn error(id: Value, code: i64, message: &str) -> Self {
        Self::response(id, Err(Failure::new(code, message)))
    }

    /// The method of a request or a notification.
    pub(super) fn method(&self) -> Option<&str> {
        match &self.body {
            Body::Request { method, .. } | Body::Notification { method, .. } => Some(method),
            Body::Response { .. } => None,
        }
    }

    /// The id of a request or a response.
    pub(super) fn id(&self) -> Option<&Value> {
        match &self.body {
            Body::Request { id, .. } | Body::Response { id, .. } => Some(id),
            Body::Notification { .. } => None,
        }
    }

    pub(super) fn is_request(&self) -> bool {
        matches!(self.body, Body::Request { .. })
    }

    /// The result of a response that is no error.
    pub(super) fn outcome(&self) -> Option<&Value> {
        match &self.body {
            Body::Response { outcome: Ok(result), .. } => Some(result),
            _ => None,
        }
    }

    /// Encodes the message.
    pub(super) fn into_value(self) -> Value {
        let mut members = Members::new();
        members.insert("jsonrpc".to_owned(), "2.0".into());
        let mut add = |name: &str, value: Value| members.insert(name.to_owned(), value);
        match self.body {
            Body::Request { id, method, params } => {
                add("id", id);
                add("method", method.into());
                params.map(|params| add("params", Value::Object(params)));
            }
            Body::Notification { method, params } => {
                add("method", method.into());
                params.map(|params| add("params", Value::Object(params)));
            }
            Body::Response { id, outcome } => {
                add("id", id);
                match outcome {
                    Ok(result) => add("result", result),
                    Err(Failure { code, message, data }) => {
                        let mut error = json!({ "code": code, "message": message });
                        if let (Some(members), Some(data)) = (error.as_object_mut(), data) {
                            members.insert("data".to_owned(), data);
                        }
                        add("error", error)
                    }
                };
            }
        }
        Value::Object(members)
    }

    pub(super) fn to_line(&self) -> String {
        self.clone().into_value().to_string()
    }
}

impl From<Body> for Message {
    fn from(body: Body) -> Self {
        Self { body, within: None }
    }
}

/// Integers that a double holds exactly, beyond which clients do not tell ids apart.
const MAX_EXACT: f64 = 9_007_199_254_740_992.0;

/// An id as it is compared and encoded: a text, or an integer. `7.0` is 7, as clients read it.
pub(super) fn valid_id(id: &Value) -> Option<Value> {
    match id {
        Value::String(_) => Some(id.clone()),
        Value::Number(number) if number.is_f64() => {
            let float = number.as_f64().filter(|it| it.fract() == 0.0 && it.abs() <= MAX_EXACT)?;
            // the text of an integral double within that range is that of an integer
            format!("{float:.0}").parse::<i64>().ok().map(|integer| Value::Number(Number::from(integer)))
        }
        Value::Number(_) => Some(id.clone()),
        _ => None,
    }
}

fn failure(error: Value) -> Option<Failure> {
    let Value::Object(mut members) = error else { return None };
    let Some(Value::String(message)) = members.remove("message") else { return None };
    let code = members.remove("code").and_then(|code| valid_id(&code)?.as_i64())?;
    Some(Failure { code, message, data: members.remove("data") })
}

#[cfg(test)]
mod tests {
    use super::Message;
    use serde_json::{Value, json};

    /// Messages, and their encoding; null where they are refused.
    #[test]
    fn a_message_is_exactly_one_of_three_forms() {
        let cases = [
            (
                json!({ "jsonrpc": "2.0", "id": 7.0, "method": "m", "x": 1 }),
                json!({ "jsonrpc": "2.0", "id": 7, "method": "m" }),
            ),
            (
                json!({ "jsonrpc": "2.0", "id": "7", "method": "m", "params": {} }),
                json!({ "jsonrpc": "2.0", "id": "7", "method": "m", "params": {} }),
            ),
            (json!({ "jsonrpc": "2.0", "method": "m" }), json!({ "jsonrpc": "2.0", "method": "m" })),
            (
                json!({ "result": {}, "id": -0.0, "jsonrpc": "2.0" }),
                json!({ "jsonrpc": "2.0", "id": 0, "result": {} }),
            ),
            (
                json!({ "jsonrpc": "2.0", "id": 1, "error": { "code": -1.0, "message": "m", "data": [1], "x": 2 } }),
                json!({ "jsonrpc": "2.0", "id": 1, "error": { "code": -1, "message": "m", "data": [1] } }),
            ),
            (json!({ "id": 1, "method": "m" }), Value::Null),
            (json!({ "jsonrpc": 2.0, "id": 1, "method": "m" }), Value::Null),
            (json!({ "jsonrpc": "2.0", "id": null, "method": "m" }), Value::Null),
            (json!({ "jsonrpc": "2.0", "id": 1.5, "method": "m" }), Value::Null),
            (json!({ "jsonrpc": "2.0", "id": 1e300, "method": "m" }), Value::Null),
            (json!({ "jsonrpc": "2.0", "id": [1], "method": "m" }), Value::Null),
            (json!({ "jsonrpc": "2.0", "id": 1, "method": 5 }), Value::Null),
            (json!({ "jsonrpc": "2.0", "id": 1, "method": "m", "params": [] }), Value::Null),
            (json!({ "jsonrpc": "2.0", "id": 1, "method": "m", "result": {} }), Value::Null),
            (json!({ "jsonrpc": "2.0", "id": 1, "method": null, "result": {} }), Value::Null),
            (json!({ "jsonrpc": "2.0", "id": 1, "result": {}, "error": null }), Value::Null),
            (json!({ "jsonrpc": "2.0", "id": 1, "result": "text" }), Value::Null),
            (json!({ "jsonrpc": "2.0", "id": 1, "result": {}, "params": {} }), Value::Null),
            (json!({ "jsonrpc": "2.0", "id": null, "result": {} }), Value::Null),
            (json!({ "jsonrpc": "2.0", "result": {} }), Value::Null),
            (json!({ "jsonrpc": "2.0", "id": 1, "error": "text" }), Value::Null),
            (json!({ "jsonrpc": "2.0", "id": 1, "error": { "code": "1", "message": "m" } }), Value::Null),
            (json!({ "jsonrpc": "2.0", "id": 1, "error": { "code": 1 } }), Value::Null),
            (json!({ "jsonrpc": "2.0", "id": 1 }), Value::Null),
            (json!([]), Value::Null),
        ];
        for (message, expected) in cases {
            let encoded = Message::of(message.clone()).map_or(Value::Null, Message::into_value);
            assert_eq!(encoded.to_string(), expected.to_string(), "{message}");
        }
    }
}
