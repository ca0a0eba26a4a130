//! What has come of an answer that comes in events, and how much of it has gone on: the data on which each interface works.

use super::shape::{Kinds, short};
use super::text_of;
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
    /// What no table knows and does not go on.
    pub(super) gone: Vec<String>,
    /// Whether kinds that no table has go on.
    pub(super) lax: bool,
}

impl Assembly {
    /// Whether a table has the kind of an event; if not, it is named.
    pub(super) fn knows(&mut self, kinds: &Kinds, event: &Value) -> bool {
        let is_known = event.as_object().is_some_and(|event| kinds.row(event).is_some());
        if !is_known {
            self.gone.push(format!("an event of type `{}`", short(text_of(event, "type"))));
        }
        is_known
    }
}

/// How much of an answer a client has been sent that is sent in events.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
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
}
