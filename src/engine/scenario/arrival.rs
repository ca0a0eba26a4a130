//! Something that happens outside, as cases and scripts have it: `capability`, `event`, and a payload or a request.
//!
//! In: the fields of a mapping. Out: an [`Arrival`], which can be brought to a task. A `payload` is data that the host
//! vouches for; a `raw_body` is a request, and with its `headers` what is signed, byte for byte.

use super::{messages, values};
use crate::cel::{Json, Timestamp};
use crate::manifest::reader::{Fields, Reader};
use crate::source::Embedded;
use crate::task::{Content, Delivery, Progress, Task};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Something that happens outside.
#[derive(Clone, Debug)]
pub struct Arrival {
    /// The capability whose event it is.
    pub capability: Embedded,
    /// The event.
    pub event: Embedded,
    /// The payload or the request that comes.
    pub body: ArrivalBody,
    /// The headers of the request.
    pub headers: BTreeMap<String, String>,
}

/// The payload of an event, or the request that brings it.
#[derive(Clone, Debug)]
pub enum ArrivalBody {
    /// `payload`: data.
    Payload(Json),
    /// `raw_body`: the body of a request.
    Raw(Arc<str>),
}

impl Arrival {
    /// Reads one; `what` is blamed if it does not say what comes.
    pub(super) fn read(what: &Embedded, fields: &mut Fields<'_>, reader: &mut Reader) -> Option<Self> {
        let capability = values::required_text(fields, "capability", reader);
        let event = values::required_text(fields, "event", reader);
        let payload = values::json(fields, "payload").map(ArrivalBody::Payload);
        let raw = fields.text("raw_body", reader).map(|text| ArrivalBody::Raw(text.text));
        if payload.is_some() == raw.is_some() {
            reader.report(&fields.path, messages::payload(&what.place));
        }
        let headers = values::strings(fields, "headers", reader);
        Some(Self { capability: capability?, event: event?, body: payload.or(raw)?, headers })
    }

    /// Brings it to a task of a namespace with these settings.
    pub(super) fn bring(
        &self,
        task: &mut Task,
        settings: &BTreeMap<String, Json>,
        now: Timestamp,
    ) -> Progress {
        let headers = self.headers.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        let headers: Vec<_> = headers.collect();
        let content = match &self.body {
            ArrivalBody::Payload(payload) => Content::Payload(payload),
            ArrivalBody::Raw(body) => Content::Request { headers: &headers, body: body.as_bytes() },
        };
        task.event(&self.capability.text, &self.event.text, &Delivery { content, settings }, now)
            .into_progress()
    }
}
