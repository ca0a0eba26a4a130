//! Something that happens outside, as cases and scripts have it: `capability`, `event`, and a payload or a request.
//!
//! In: the fields of a mapping. Out: a [`Delivery`]. A `payload` is data that the host vouches for; a `raw_body` is a request, and with its
//! `headers` what is signed, byte for byte.

use super::messages;
use crate::manifest::fields::Fields;
use crate::manifest::reader::Reader;
use crate::manifest::shape::{Anything, ByName, Required, Text, mapping};
use crate::source::Embedded;
use crate::task::{Content, Delivery};

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

/// Reads one; `what` is blamed if it does not say what comes.
pub(super) fn read_delivery(
    what: &Embedded,
    fields: &Fields<'_, ArrivalKeys>,
    reader: &mut Reader,
) -> Option<Delivery> {
    let capability = fields.capability().required_text(reader);
    let event = fields.event().required_text(reader);
    let payload = fields.payload().json();
    let raw = fields.raw_body().text(reader);
    if payload.is_some() == raw.is_some() {
        reader.report(&fields.path, messages::payload(&what.place));
    }
    let headers = fields.headers().strings(reader);
    let request = |body: Embedded| Content::Request {
        headers: headers.into_iter().collect(),
        body: body.text.as_bytes().to_vec(),
    };
    let content = payload.map(Content::Payload).or_else(|| raw.map(request))?;
    Some(Delivery::new(&*capability?.text, &*event?.text, content))
}
