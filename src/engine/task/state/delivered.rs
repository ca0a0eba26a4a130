//! Deliveries of webhooks that the task has taken, so that one that comes again is known.
//!
//! In: the names that a sender gave a delivery, digested. Out: whether one of them was there before. The last
//! `max_deliveries` names are kept, with the task and across restarts; the oldest make room.

use crate::digest::Digest;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// Digits of a digest that are kept: nobody finds another name with the same 128 bits.
const DIGITS: usize = 32;

/// The names of deliveries, from the oldest to the latest.
#[derive(Clone, Debug, Default)]
pub(in crate::task) struct Deliveries {
    kept: VecDeque<String>,
    /// How many made room since the task was opened.
    forgotten: usize,
}

/// What happened to the names between two moments.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::task) struct DeliveriesChange {
    #[serde(default, skip_serializing_if = "is_zero")]
    forgotten: usize,
    added: Vec<String>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands a reference over")]
fn is_zero(count: &usize) -> bool {
    *count == 0
}

/// What is kept of a name: where it came to, the header that it stood in, and itself, so that two events of one request are
/// two, and long names are as short as any.
pub(in crate::task) fn delivery_name(capability: &str, event: &str, header: &str, id: &str) -> String {
    let mut digest = Digest::of_parts([capability, event, header, id]).to_string();
    digest.truncate(DIGITS);
    digest
}

impl Deliveries {
    /// Whether one of these names was there before.
    pub(in crate::task) fn knows(&self, names: &[String]) -> bool {
        names.iter().any(|name| self.kept.contains(name))
    }

    /// Keeps names that are new, and no more than so many in all.
    pub(in crate::task) fn add(&mut self, names: Vec<String>, most: usize) {
        self.kept.extend(names);
        while self.kept.len() > most {
            self.kept.pop_front();
            self.forgotten = self.forgotten.saturating_add(1);
        }
    }

    /// How many there have been since the task was opened: grows with each.
    pub(in crate::task) fn count(&self) -> usize {
        self.forgotten.saturating_add(self.kept.len())
    }

    /// How many made room since the task was opened.
    pub(in crate::task) fn forgotten(&self) -> usize {
        self.forgotten
    }

    /// What happened since there had been so many, of which so many had made room; nothing if nothing did.
    pub(in crate::task) fn since(&self, count: usize, forgotten: usize) -> Option<DeliveriesChange> {
        let known = count.saturating_sub(self.forgotten);
        let added: Vec<String> = self.kept.iter().skip(known).cloned().collect();
        let forgotten = self.forgotten.saturating_sub(forgotten);
        (!added.is_empty() || forgotten > 0).then_some(DeliveriesChange { forgotten, added })
    }

    pub(in crate::task) fn save(&self) -> Vec<String> {
        self.kept.iter().cloned().collect()
    }

    pub(in crate::task) fn restore(saved: Vec<String>) -> Self {
        Self { kept: saved.into(), forgotten: 0 }
    }
}

impl DeliveriesChange {
    /// Puts the change into what was saved. Names that were added and made room at once are in neither.
    pub(in crate::task) fn apply(self, saved: &mut Vec<String>) {
        saved.drain(..self.forgotten.min(saved.len()));
        saved.extend(self.added);
    }
}
