//! One guarded call on its way: what all that is done for it needs to know.

use super::begun::Begun;
use super::kinds::Kind;
use super::message::Message;
use super::session::can_elicit;
use serde_json::Value;
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

/// A call on its way.
pub(super) struct Course {
    pub(super) begun: Arc<Begun>,
    pub(super) kind: Kind,
    /// The id of the client's request.
    pub(super) id: Value,
    /// The id of the call in the task.
    pub(super) call: String,
    pub(super) function: String,
    /// The function and its arguments, by which the same call is known when it is made again; empty for one that is not.
    pub(super) same: String,
    /// Told when the client takes it back.
    pub(super) cancelled: CancellationToken,
    /// Whether its protocol has servers that send no requests.
    pub(super) modern: bool,
    /// Whether the client can ask its user.
    pub(super) elicits: bool,
}

/// Whether a client can ask its user, by what its request says, and otherwise by what it said when the session began.
pub(super) fn elicits(request: &Message, since: bool) -> bool {
    if request.protocol().is_some() {
        can_elicit(request.param("/_meta/io.modelcontextprotocol~1clientCapabilities"))
    } else {
        since
    }
}

/// A result as the protocol of its request wants it: in later ones it says that it is whole.
pub(super) fn whole(mut response: Message, modern: bool) -> Message {
    if let Some(Value::Object(result)) = response.outcome_mut().filter(|_| modern) {
        result.entry("resultType").or_insert_with(|| "complete".into());
    }
    response
}
