//! A message of MCP as it came.
//!
//! In: a JSON object. Out: the same, with what a guard asks of it: its method, its id, its parameters. Nothing of it is left out or
//! put into another order, so what a guard does not look at goes through as it is, members of later protocols included.

use serde_json::{Map, Value, json};

/// A message, and the request of the client to which it belongs, where the transport tells.
#[derive(Clone, Debug)]
pub(super) struct Message {
    body: Map<String, Value>,
    /// The id of the request of the client in whose course a server sends this one. Only transports with several streams know it.
    pub(super) within: Option<Value>,
}

impl Message {
    /// A message; nothing if the value is none.
    pub(super) fn of(value: Value) -> Option<Self> {
        match value {
            Value::Object(body) if body.contains_key("method") || body.contains_key("id") => {
                Some(Self { body, within: None })
            }
            _ => None,
        }
    }

    fn made(value: Value) -> Self {
        let body = if let Value::Object(body) = value { body } else { Map::new() };
        Self { body, within: None }
    }

    pub(super) fn request(id: &str, method: &str, params: Value) -> Self {
        Self::made(json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }))
    }

    pub(super) fn notification(method: &str, params: Value) -> Self {
        Self::made(json!({ "jsonrpc": "2.0", "method": method, "params": params }))
    }

    pub(super) fn result(id: Value, result: Value) -> Self {
        Self::made(json!({ "jsonrpc": "2.0", "id": id, "result": result }))
    }

    pub(super) fn error(id: Value, code: i64, message: &str) -> Self {
        Self::made(json!({ "jsonrpc": "2.0", "id": id, "error": { "code": code, "message": message } }))
    }

    /// The method of a request or a notification.
    pub(super) fn method(&self) -> Option<&str> {
        self.body.get("method").and_then(Value::as_str)
    }

    /// The id of a request or a response.
    pub(super) fn id(&self) -> Option<&Value> {
        self.body.get("id").filter(|id| !id.is_null())
    }

    /// The id as a key of a table. A number and a text of the same digits are two.
    pub(super) fn key(&self) -> Option<String> {
        self.id().map(Value::to_string)
    }

    pub(super) fn is_request(&self) -> bool {
        self.method().is_some() && self.id().is_some()
    }

    /// A part of the parameters, by a JSON pointer.
    pub(super) fn param(&self, pointer: &str) -> Option<&Value> {
        self.body.get("params").and_then(|params| params.pointer(pointer))
    }

    /// Sets a member of the parameters.
    pub(super) fn set_param(&mut self, name: &str, value: Value) {
        let params = self.body.entry("params").or_insert_with(|| json!({}));
        if let Some(params) = params.as_object_mut() {
            params.insert(name.to_owned(), value);
        }
    }

    /// Takes a member out of the parameters.
    pub(super) fn take_param(&mut self, name: &str) -> Option<Value> {
        self.body.get_mut("params").and_then(Value::as_object_mut)?.remove(name)
    }

    /// The protocol of a request, where each request says it: then a server sends no requests of its own, and results say that they are whole.
    pub(super) fn protocol(&self) -> Option<&Value> {
        self.param("/_meta/io.modelcontextprotocol~1protocolVersion")
    }

    /// The result of a response that is no error.
    pub(super) fn outcome(&self) -> Option<&Value> {
        self.body.get("result")
    }

    pub(super) fn outcome_mut(&mut self) -> Option<&mut Value> {
        self.body.get_mut("result")
    }

    /// The error of a response.
    pub(super) fn failure(&self) -> Option<&Value> {
        self.body.get("error")
    }

    pub(super) fn failure_mut(&mut self) -> Option<&mut Value> {
        self.body.get_mut("error")
    }

    pub(super) fn into_value(self) -> Value {
        Value::Object(self.body)
    }

    pub(super) fn to_line(&self) -> String {
        serde_json::to_string(&self.body).unwrap_or_default()
    }
}
