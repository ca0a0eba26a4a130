//! What stopped operations, or would have, counted: a row for each verdict, step and function.
//!
//! In: what was seen. Out: rows in the order of their counts, and how many calls each function had. The rows are bounded; what finds no
//! room is counted and told.

use super::seen::Seen;
use std::collections::BTreeMap;

/// The most rows, and the most functions.
const MAX_ROWS: usize = 10_000;

/// One row.
#[derive(Clone, Debug)]
pub(super) struct Row {
    pub(super) observed: bool,
    pub(super) verdict: String,
    pub(super) step: String,
    pub(super) function: String,
    pub(super) count: u64,
    pub(super) first: String,
    pub(super) last: String,
}

impl Row {
    /// Whether the operation does not go on; otherwise it goes on changed.
    pub(super) fn stops(&self) -> bool {
        self.verdict != "change"
    }
}

/// The rows so far.
#[derive(Debug, Default)]
pub(super) struct Tally {
    since: Option<String>,
    decisions: u64,
    rows: BTreeMap<(bool, String, String, String), Row>,
    calls: BTreeMap<String, u64>,
    /// What was forwarded unjudged, by its form.
    unjudged: BTreeMap<String, Unjudged>,
    left_out: u64,
}

/// Traffic of one form that was forwarded unjudged.
#[derive(Clone, Debug, Default)]
pub(super) struct Unjudged {
    pub(super) count: u64,
    pub(super) first: String,
    pub(super) last: String,
}

impl Tally {
    /// Nothing yet, of what happened at this time or later.
    pub(super) fn since(since: Option<String>) -> Self {
        Self { since, ..Self::default() }
    }

    pub(super) fn count(&mut self, seen: &Seen) {
        let Seen { at, function, is_call, stops } = seen;
        // RFC 3339 in UTC, as all times are written, is in its order as text, to the second
        if self.since.as_ref().is_some_and(|since| at < since) {
            return;
        }
        self.decisions = self.decisions.saturating_add(1);
        if *is_call
            && !function.is_empty()
            && (self.calls.contains_key(function) || self.calls.len() < MAX_ROWS)
        {
            let calls = self.calls.entry(function.clone()).or_default();
            *calls = calls.saturating_add(1);
        }
        for stop in stops {
            let key = (stop.observed, stop.verdict.clone(), stop.by.clone(), function.clone());
            if !self.rows.contains_key(&key) && self.rows.len() >= MAX_ROWS {
                self.left_out = self.left_out.saturating_add(1);
                continue;
            }
            let row = self.rows.entry(key).or_insert_with(|| Row {
                observed: stop.observed,
                verdict: stop.verdict.clone(),
                step: stop.by.clone(),
                function: function.clone(),
                count: 0,
                first: at.clone(),
                last: at.clone(),
            });
            row.count = row.count.saturating_add(1);
            if *at < row.first {
                row.first.clone_from(at);
            }
            if *at > row.last {
                row.last.clone_from(at);
            }
        }
    }

    /// Counts traffic that was forwarded unjudged.
    pub(super) fn count_unjudged(&mut self, form: &str, at: &str, count: u64) {
        if self.since.as_ref().is_some_and(|since| at < since.as_str()) {
            return;
        }
        if !self.unjudged.contains_key(form) && self.unjudged.len() >= MAX_ROWS {
            self.left_out = self.left_out.saturating_add(1);
            return;
        }
        let new = || Unjudged { count: 0, first: at.to_owned(), last: at.to_owned() };
        let row = self.unjudged.entry(form.to_owned()).or_insert_with(new);
        row.count = row.count.saturating_add(count);
        if at < row.first.as_str() {
            at.clone_into(&mut row.first);
        }
        if at > row.last.as_str() {
            at.clone_into(&mut row.last);
        }
    }

    /// What was forwarded unjudged, by its form; what was most often first.
    pub(super) fn unjudged(&self) -> impl Iterator<Item = (&str, &Unjudged)> {
        let mut rows: Vec<_> = self.unjudged.iter().map(|(form, row)| (&**form, row)).collect();
        rows.sort_by_key(|(_, row)| std::cmp::Reverse(row.count));
        rows.into_iter()
    }

    /// How many decisions were read.
    pub(super) fn decisions(&self) -> u64 {
        self.decisions
    }

    /// How many found no room.
    pub(super) fn left_out(&self) -> u64 {
        self.left_out
    }

    /// The rows, those that count most first.
    pub(super) fn rows(&self) -> impl Iterator<Item = &Row> {
        let mut rows: Vec<&Row> = self.rows.values().collect();
        rows.sort_by_key(|row| std::cmp::Reverse(row.count));
        rows.into_iter()
    }

    /// The functions that were called, and how often.
    pub(super) fn calls(&self) -> impl Iterator<Item = (&str, u64)> {
        self.calls.iter().map(|(function, calls)| (&**function, *calls))
    }
}
