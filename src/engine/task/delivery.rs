//! An event as a host delivers it: data that the host trusts, or the HTTP request that brings the event.
//!
//! In: JSON with the shape of the HTTP API, or what a host has. Out: a [`Delivery`], which owns its content. It never holds the secret of a webhook.

use super::messages;
use crate::cel::Json;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};

/// An event that is delivered to a task. The secrets of webhooks are no part of it: [`Task::event`](super::Task::event) takes the settings beside it.
///
/// In JSON it has the shape of the HTTP API: `payload`, or `request` with `headers` and `body` or, where the body is no text, `body_base64`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "DeliveryBody", into = "DeliveryBody")]
#[cfg_attr(
    feature = "schema",
    derive(schemars::JsonSchema),
    schemars(with = "DeliveryBody", rename = "Event", description = "Something happened outside.")
)]
pub struct Delivery {
    /// The capability, as the manifest of the agent names it.
    pub capability: String,
    /// The name of the event.
    pub event: String,
    /// The data or the request that came.
    pub content: Content,
}

/// The data or the request that brings an event.
#[derive(Clone, Debug, PartialEq)]
pub enum Content {
    /// Data that the host got in a way it trusts: a notification that it asked for, an item that it polled for.
    Payload(Json),
    /// An HTTP request whose sender is not authenticated.
    Request {
        /// Its headers: names in any case, and values.
        headers: Vec<(String, String)>,
        /// Its body, byte for byte, as it was signed (WH-05).
        body: Vec<u8>,
    },
}

impl Delivery {
    /// A delivery of an event of this capability.
    #[must_use]
    pub fn new(capability: impl Into<String>, event: impl Into<String>, content: Content) -> Self {
        Self { capability: capability.into(), event: event.into(), content }
    }
}

impl Content {
    /// A request with these headers and this body.
    #[must_use]
    pub fn request(headers: &[(&str, &str)], body: impl Into<Vec<u8>>) -> Self {
        let headers = headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        Self::Request { headers: headers.collect(), body: body.into() }
    }
}

/// A [`Delivery`] in JSON.
#[derive(Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct DeliveryBody {
    /// The capability, as the manifest of the agent names it.
    capability: String,
    /// The name of the event.
    event: String,
    /// Data that came in a way that is trusted; then there is no `request`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    payload: Option<Json>,
    /// The request that somebody sent; then there is no `payload`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    request: Option<RequestBody>,
}

/// A request of somebody, as it came.
#[derive(Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "Received"))]
struct RequestBody {
    /// Names and values, as they came.
    headers: Vec<(String, String)>,
    /// The body, if it is text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    body: Option<String>,
    /// The body in Base64, if it is no text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    body_base64: Option<String>,
}

impl TryFrom<DeliveryBody> for Delivery {
    type Error = &'static str;

    fn try_from(delivery: DeliveryBody) -> Result<Self, Self::Error> {
        let DeliveryBody { capability, event, payload, request } = delivery;
        let content = match (payload, request) {
            (Some(payload), None) => Content::Payload(payload),
            (None, Some(request)) => request.try_into()?,
            _ => return Err(messages::payload_or_request()),
        };
        Ok(Self { capability, event, content })
    }
}

impl TryFrom<RequestBody> for Content {
    type Error = &'static str;

    fn try_from(request: RequestBody) -> Result<Self, Self::Error> {
        let RequestBody { headers, body, body_base64 } = request;
        let body = match (body, body_base64) {
            (Some(text), None) => Some(text.into_bytes()),
            (None, Some(text)) => STANDARD.decode(text).ok(),
            _ => None,
        };
        Ok(Self::Request { headers, body: body.ok_or(messages::bad_body_of_request())? })
    }
}

impl From<Delivery> for DeliveryBody {
    fn from(Delivery { capability, event, content }: Delivery) -> Self {
        let (payload, request) = match content {
            Content::Payload(payload) => (Some(payload), None),
            Content::Request { headers, body } => {
                let (body, body_base64) = match String::from_utf8(body) {
                    Ok(text) => (Some(text), None),
                    Err(bytes) => (None, Some(STANDARD.encode(bytes.as_bytes()))),
                };
                (None, Some(RequestBody { headers, body, body_base64 }))
            }
        };
        Self { capability, event, payload, request }
    }
}
