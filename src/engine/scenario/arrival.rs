//! Something that happens outside, as cases and scripts have it: `capability`, `event`, and a payload or a request.
//!
//! In: the fields of a mapping. Out: an [`Arrival`], which can be brought to a task. A `payload` is data that the host
//! vouches for; a `raw_body` is a request, and with its `headers` what is signed, byte for byte.

use super::messages;
use crate::cel::{Json, Timestamp};
use crate::manifest::fields::Fields;
use crate::manifest::reader::Reader;
use crate::manifest::shape::{Anything, ByName, Required, Text, mapping};
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

mapping! {
    /// Something that happens outside, with a `payload` or a `raw_body`.
    pub(super) ArrivalKeys = "an event" {
        /// The capability whose event it is.
        capability: Required<Text>,
        /// The event.
        event: Required<Text>,
        /// Data that the host vouches for.
        payload: Anything,
        /// The body of a request, byte for byte.
        raw_body: Text,
        /// The headers of the request.
        headers: ByName<Text>,
    }
}

impl Arrival {
    /// Reads one; `what` is blamed if it does not say what comes.
    pub(super) fn read(
        what: &Embedded,
        fields: &Fields<'_, ArrivalKeys>,
        reader: &mut Reader,
    ) -> Option<Self> {
        let capability = fields.capability().required_text(reader);
        let event = fields.event().required_text(reader);
        let payload = fields.payload().json().map(ArrivalBody::Payload);
        let raw = fields.raw_body().text(reader).map(|text| ArrivalBody::Raw(text.text));
        if payload.is_some() == raw.is_some() {
            reader.report(&fields.path, messages::payload(&what.place));
        }
        let headers = fields.headers().strings(reader);
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
