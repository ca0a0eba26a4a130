//! The texts of a task in which copies are looked for, made when somebody first asks.
//!
//! In: values under their numbers as they come. Out: for a text the values that it may repeat, and whether all there is can be looked at.
//! A task keeps one such index for values that are labelled and one for all of them, as far as rules ask; neither is stored. Bounded by
//! [`CopyRules::max_bytes`]: whatever is beyond makes each answer an error.

use super::labels::ValueSource;
use crate::cel::{ErrorCode, Fault, JsonRef};
use crate::copies::{Copies, Letters, SHORTEST, text_bytes};
use std::collections::BTreeSet;

/// How copies are looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CopyRules {
    /// The letters in a row that make a copy.
    pub least: usize,
    /// The bytes of the texts in which copies are looked for.
    pub max_bytes: usize,
}

impl Default for CopyRules {
    /// The shortest copies that there are, in nothing.
    fn default() -> Self {
        Self { least: SHORTEST, max_bytes: 0 }
    }
}

/// The parts of a value in which copies are looked for; nothing if they are not all there.
pub(super) type Parts<'v> = Option<Vec<JsonRef<'v>>>;

/// The texts of some values.
#[derive(Debug)]
pub(super) struct CopyIndex {
    copies: Copies,
    rules: CopyRules,
    /// Those that may still be replaced: they are looked at themselves.
    unsettled: BTreeSet<ValueSource>,
    /// Those of which not all is there.
    lost: BTreeSet<ValueSource>,
    bytes: usize,
}

impl CopyIndex {
    pub(super) fn new(rules: CopyRules) -> Self {
        let copies = Copies::new(rules.least);
        Self { copies, rules, unsettled: BTreeSet::new(), lost: BTreeSet::new(), bytes: 0 }
    }

    /// A value that never changes again. Linear in its texts.
    pub(super) fn add(&mut self, source: ValueSource, parts: &Parts<'_>) {
        self.unsettled.remove(&source);
        let Some(parts) = parts else {
            self.lost.insert(source);
            return;
        };
        for part in parts {
            self.bytes = self.bytes.saturating_add(text_bytes(*part));
            if self.bytes <= self.rules.max_bytes {
                self.copies.add(source.number(), *part);
            }
        }
    }

    /// A value that may still be replaced.
    pub(super) fn add_unsettled(&mut self, source: ValueSource) {
        self.unsettled.insert(source);
    }

    /// Those that may still be replaced.
    pub(super) fn unsettled(&self) -> impl Iterator<Item = ValueSource> {
        self.unsettled.iter().copied()
    }

    /// A value of which not all is there any more.
    pub(super) fn lose(&mut self, source: ValueSource) {
        self.lost.insert(source);
    }

    /// Whether an answer can rest on it, as far as values count.
    ///
    /// # Errors
    /// `value_shortened` if not all of a value is there, and `budget_exceeded` if there are more texts than it may look at.
    pub(super) fn hold(&self, counts: impl Fn(ValueSource) -> bool) -> Result<(), Fault> {
        if self.bytes > self.rules.max_bytes {
            return Err(Fault::budget("max_label_bytes"));
        }
        match self.lost.iter().any(|source| counts(*source)) {
            true => Err(ErrorCode::ValueShortened.into()),
            false => Ok(()),
        }
    }

    /// The values that a text may repeat; it repeats no other.
    pub(super) fn candidates(&self, text: &Letters) -> BTreeSet<ValueSource> {
        let found = self.copies.candidates(text).into_iter().map(ValueSource::numbered);
        found.chain(self.unsettled()).collect()
    }

    /// The bytes that it holds on the heap.
    pub(super) fn heap_bytes(&self) -> usize {
        self.copies.heap_bytes()
    }
}
