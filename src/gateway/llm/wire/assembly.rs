//! What has come of an answer that comes in events, and how much of it has gone on: the data on which each interface works.

use super::shape::{Kinds, short};
use super::{sse, text_of};
use serde_json::Value;

/// What has come of an answer.
#[derive(Debug, Default)]
pub(super) struct Assembly {
    pub(super) whole: Value,
    /// The position under which the API has each call, block or item.
    pub(super) indexes: Vec<Option<u64>>,
    /// Which blocks or items have come whole.
    pub(super) done: Vec<bool>,
    /// Whether the API says that it is still at work.
    pub(super) pinged: bool,
    /// Whether all of it has come.
    pub(super) complete: bool,
    /// What no table knows: it does not go on, or unjudged.
    pub(super) gone: Vec<String>,
    /// Events that no table has, where those go on.
    pub(super) unjudged: Vec<Value>,
    /// Whether kinds that no table has go on.
    pub(super) lax: bool,
}

impl Assembly {
    /// Whether a table has the kind of an event; if not, it is named, and may go on as it was read.
    pub(super) fn knows(&mut self, kinds: &Kinds, event: &Value) -> bool {
        let is_known = event.as_object().is_some_and(|event| kinds.row(event).is_some());
        if !is_known {
            self.gone.push(format!("an event of type `{}`", short(text_of(event, "type"))));
            self.keep_unjudged(event);
        }
        is_known
    }

    /// Keeps an event that nobody judges, where those go on.
    pub(super) fn keep_unjudged(&mut self, event: &Value) {
        if self.lax {
            self.unjudged.push(event.clone());
        }
    }
}

/// How much of an answer a client has been sent that is sent in events.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Sent {
    /// Whether the answer was begun.
    pub(crate) begun: bool,
    /// Blocks or items, as the interface counts, that were sent whole.
    pub(super) units: usize,
    /// Whether the next one was begun, and which of its parts.
    pub(super) open: bool,
    pub(super) part: usize,
    pub(super) part_open: bool,
    /// Bytes of the text that is being sent; of each of the texts of a message that come side by side.
    pub(super) bytes: [usize; 4],
    /// What stands beside the text and was sent: tokens, annotations.
    pub(super) marks: usize,
    /// The number of the next event, where they have numbers.
    pub(super) sequence: u64,
    /// Events that no table has and that go on behind what is sent next.
    pub(super) unjudged: Vec<Value>,
}

impl Sent {
    /// Events that nobody has judged, written as they were read; nothing ahead of the beginning of the answer.
    pub(super) fn unjudged(&mut self) -> String {
        if !self.begun {
            return String::new();
        }
        let events = std::mem::take(&mut self.unjudged);
        let written = events.iter().map(|event| match event.get("type").and_then(Value::as_str) {
            Some(kind) => sse::event(&short(kind), event),
            None => sse::data(event),
        });
        written.collect()
    }

    /// What is sent of the next block or item: nothing.
    pub(super) fn next_unit(&mut self) {
        let units = self.units.saturating_add(1);
        let unjudged = std::mem::take(&mut self.unjudged);
        *self = Self { begun: true, units, sequence: self.sequence, unjudged, ..Self::default() };
    }
}
