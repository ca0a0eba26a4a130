//! The step of a task that takes an event: its payload, or the request that somebody sent, with the bytes as they came.

use crate::messages;
use crate::problem::{Kind, Problem};
use crate::tasks::steps::{Circumstances, TaskStep};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use celador::cel::Json;
use celador::task::{Content, Delivery, Progress, Task};
use celador_store::OperationKind;
use serde::Deserialize;

/// Something happened outside.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct Event {
    /// The capability, as the manifest of the agent names it.
    capability: String,
    /// The name of the event.
    event: String,
    /// Data that came in a way that is trusted; then there is no `request`.
    #[serde(default)]
    payload: Option<Json>,
    /// The request that somebody sent; then there is no `payload`.
    #[serde(default)]
    request: Option<Received>,
}

/// A request of somebody, as it came.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct Received {
    /// Names and values, as they came.
    headers: Vec<(String, String)>,
    /// The body, if it is text.
    #[serde(default)]
    body: Option<String>,
    /// The body in Base64, if it is no text.
    #[serde(default)]
    body_base64: Option<String>,
}

impl Received {
    fn bytes(&self) -> Option<Vec<u8>> {
        match (&self.body, &self.body_base64) {
            (Some(text), None) => Some(text.clone().into_bytes()),
            (None, Some(text)) => STANDARD.decode(text).ok(),
            _ => None,
        }
    }
}

impl TaskStep for Event {
    fn operation(&self) -> OperationKind {
        OperationKind::Event
    }

    fn take(&self, task: &mut Task, at: &Circumstances<'_>) -> Result<Progress, Problem> {
        let unreadable = |detail: &'static str| Problem::new(Kind::BadRequest, detail);
        match (&self.payload, &self.request) {
            (Some(payload), None) => {
                let delivery = Delivery { content: Content::Payload(payload), settings: at.settings };
                Ok(task.event(&self.capability, &self.event, &delivery, at.now).into_progress())
            }
            (None, Some(request)) => {
                let body = request.bytes().ok_or_else(|| unreadable(messages::bad_body_of_request()))?;
                let headers: Vec<(&str, &str)> =
                    request.headers.iter().map(|(name, value)| (&**name, &**value)).collect();
                let content = Content::Request { headers: &headers, body: &body };
                let delivery = Delivery { content, settings: at.settings };
                Ok(task.event(&self.capability, &self.event, &delivery, at.now).into_progress())
            }
            _ => Err(unreadable(messages::payload_or_request())),
        }
    }
}
