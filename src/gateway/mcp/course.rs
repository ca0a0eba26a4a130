//! Requests of a client, and calls of the task that are made of them.

use super::begun::Begun;
use super::kinds::Kind;
use super::message::Members;
use super::methods::Method;
use super::peer::Cancellation;
use serde_json::Value;
use std::sync::Arc;

/// The revision from which on each request says its protocol, servers send no requests, and results say that they are whole.
const MODERN: &str = "2026-07-28";

/// A request of the client, decoded.
pub(super) struct Request {
    pub(super) id: Value,
    pub(super) method: &'static Method,
    /// The name of the method, which the row of an unknown one does not have.
    pub(super) name: String,
    pub(super) params: Option<Members>,
    pub(super) cancellation: Cancellation,
}

impl Request {
    pub(super) fn param(&self, name: &str) -> Option<&Value> {
        self.params.as_ref()?.get(name)
    }

    pub(super) fn text(&self, name: &str) -> &str {
        self.param(name).and_then(Value::as_str).unwrap_or_default()
    }

    fn meta(&self, name: &str) -> Option<&Value> {
        self.param("_meta")?.get(format!("io.modelcontextprotocol/{name}"))
    }

    /// Whether the request speaks a revision without sessions.
    pub(super) fn is_modern(&self) -> bool {
        self.meta("protocolVersion").and_then(Value::as_str).is_some_and(|version| version >= MODERN)
    }

    /// Whether the client of a later revision knows tasks.
    pub(super) fn knows_tasks(&self) -> bool {
        let extensions = self.meta("clientCapabilities").and_then(|it| it.get("extensions"));
        self.is_modern() && extensions.is_some_and(|it| it.get("io.modelcontextprotocol/tasks").is_some())
    }

    /// Whether the client can ask its user, by what the request says, and otherwise by what it said when the session began.
    pub(super) fn can_elicit(&self, since: bool) -> bool {
        if self.is_modern() { can_elicit(self.meta("clientCapabilities")) } else { since }
    }

    /// The members of `_meta` that say the protocol, where each request says it.
    pub(super) fn protocol(&self) -> Option<Value> {
        let meta = self.param("_meta")?.as_object()?;
        let is_protocol =
            |name: &str| name.starts_with("io.modelcontextprotocol/") && !name.ends_with("/related-task");
        let kept: Members = meta
            .iter()
            .filter(|(name, _)| is_protocol(name))
            .map(|(name, it)| (name.clone(), it.clone()))
            .collect();
        (!kept.is_empty()).then_some(Value::Object(kept))
    }
}

/// Whether a client can show its user a form. Capabilities without modes are those of before there were modes.
pub(super) fn can_elicit(capabilities: Option<&Value>) -> bool {
    let elicitation = capabilities.and_then(|it| it.get("elicitation")).and_then(Value::as_object);
    elicitation.is_some_and(|modes| modes.contains_key("form") || !modes.contains_key("url"))
}

/// A call of the task: what all that is done for it needs to know.
#[derive(Clone)]
pub(super) struct Course {
    pub(super) begun: Arc<Begun>,
    pub(super) kind: Kind,
    /// The id of the client's request in whose course the call is made, if there is one.
    pub(super) id: Option<Value>,
    /// The id of the call in the task.
    pub(super) call: String,
    pub(super) function: String,
    /// The arguments that the model chose.
    pub(super) arguments: Value,
    /// Whether its protocol has servers that send no requests.
    pub(super) modern: bool,
    /// Whether the client can ask its user.
    pub(super) elicits: bool,
    /// Whether the same call made again goes on where this one is.
    pub(super) repeats: bool,
    pub(super) cancellation: Cancellation,
}

impl Course {
    /// The function and its arguments, by which the same call is known when it is made again.
    pub(super) fn same(&self) -> String {
        format!("{} {}", self.function, self.arguments)
    }
}
