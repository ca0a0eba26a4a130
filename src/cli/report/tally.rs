//! What stopped operations, or would have, counted: a row for each verdict, step and function.
//!
//! In: what was seen. Out: rows in the order of their counts, and how many calls each function had. The rows are bounded; what finds no
//! room is counted and told.

use super::seen::{Excepted, Seen, Stop};
use celador::manifest::policy_step::{Labels, Severity};
use std::collections::BTreeMap;

/// The most rows, and the most functions.
const MAX_ROWS: usize = 10_000;

/// One row.
#[derive(Clone, Debug)]
pub(super) struct Row {
    pub(super) observed: bool,
    pub(super) verdict: String,
    pub(super) step: String,
    pub(super) severity: Option<Severity>,
    pub(super) labels: Labels,
    pub(super) function: String,
    pub(super) count: u64,
    pub(super) first: String,
    pub(super) last: String,
}

/// Which steps are counted.
#[derive(Clone, Debug, Default)]
pub(super) struct Wanted {
    /// Those of this severity or a graver one.
    pub(super) severity: Option<Severity>,
    /// Those with each of these labels: the name, and the text.
    pub(super) labels: Vec<(String, String)>,
}

impl Wanted {
    fn has(&self, stop: &Stop) -> bool {
        self.severity.is_none_or(|least| stop.severity.is_some_and(|severity| severity >= least))
            && self
                .labels
                .iter()
                .all(|(name, text)| stop.labels.get(name).is_some_and(|own| own.contains(text)))
    }
}

/// By what rows are summed up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum SumBy {
    Severity,
    /// The label of this name.
    Label(String),
}

impl SumBy {
    /// The word for it on the command line.
    pub(super) fn word(&self) -> &str {
        match self {
            Self::Severity => "severity",
            Self::Label(name) => name,
        }
    }
}

/// Something that passed by an exception.
#[derive(Clone, Debug, Default)]
pub(super) struct Passed {
    pub(super) rule: String,
    pub(super) exception: Excepted,
    pub(super) count: u64,
    pub(super) first: String,
    pub(super) last: String,
}

impl Row {
    /// Under which words it is summed up.
    fn sums(&self, by: &SumBy) -> Vec<&str> {
        let of_label =
            |name: &String| self.labels.get(name).into_iter().flatten().map(String::as_str).collect();
        let words: Vec<&str> = match by {
            SumBy::Severity => self.severity.map(Severity::as_str).into_iter().collect(),
            SumBy::Label(name) => of_label(name),
        };
        if words.is_empty() { vec!["-"] } else { words }
    }

    /// Whether the operation does not go on; otherwise it goes on changed.
    pub(super) fn stops(&self) -> bool {
        self.verdict != "change"
    }
}

/// The rows so far.
#[derive(Debug, Default)]
pub(super) struct Tally {
    since: Option<String>,
    wanted: Wanted,
    decisions: u64,
    /// What passed by exceptions, by rule and place.
    passed: BTreeMap<(String, String), Passed>,
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
    /// Nothing yet, of what happened at this time or later and of these steps.
    pub(super) fn since(since: Option<String>, wanted: Wanted) -> Self {
        Self { since, wanted, ..Self::default() }
    }

    pub(super) fn count(&mut self, seen: &Seen) {
        let Seen { at, function, is_call, stops, exceptions } = seen;
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
        for exception in exceptions {
            self.count_exception(exception, at);
        }
        for stop in stops.iter().filter(|stop| self.wanted.has(stop)) {
            let key = (stop.observed, stop.verdict.clone(), stop.by.clone(), function.clone());
            if !self.rows.contains_key(&key) && self.rows.len() >= MAX_ROWS {
                self.left_out = self.left_out.saturating_add(1);
                continue;
            }
            let row = self.rows.entry(key).or_insert_with(|| Row {
                observed: stop.observed,
                verdict: stop.verdict.clone(),
                step: stop.by.clone(),
                severity: stop.severity,
                labels: stop.labels.clone(),
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

    fn count_exception(&mut self, exception: &Excepted, at: &str) {
        let key = (exception.rule(), exception.path.clone());
        if !self.passed.contains_key(&key) && self.passed.len() >= MAX_ROWS {
            self.left_out = self.left_out.saturating_add(1);
            return;
        }
        let rule = key.0.clone();
        let row = self.passed.entry(key).or_insert_with(|| Passed {
            rule,
            first: at.to_owned(),
            last: at.to_owned(),
            ..Passed::default()
        });
        // the words of the latest: an exception may have been extended
        if at >= row.last.as_str() {
            row.exception = exception.clone();
            at.clone_into(&mut row.last);
        }
        row.count = row.count.saturating_add(1);
        if at < row.first.as_str() {
            at.clone_into(&mut row.first);
        }
    }

    /// What passed by exceptions; what did most often first.
    pub(super) fn passed(&self) -> impl Iterator<Item = &Passed> {
        let mut rows: Vec<&Passed> = self.passed.values().collect();
        rows.sort_by_key(|row| std::cmp::Reverse(row.count));
        rows.into_iter()
    }

    /// How often something was stopped, or would have been, by severity or by the texts of a label; what was most often first. What has several texts
    /// of a label counts under each.
    pub(super) fn sums(&self, by: &SumBy, observed: bool) -> Vec<(String, u64)> {
        let mut sums: BTreeMap<&str, u64> = BTreeMap::new();
        for row in self.rows.values().filter(|row| row.observed == observed && row.stops()) {
            for word in row.sums(by) {
                let sum = sums.entry(word).or_default();
                *sum = sum.saturating_add(row.count);
            }
        }
        let mut sums: Vec<_> = sums.into_iter().map(|(word, count)| (word.to_owned(), count)).collect();
        sums.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        sums
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
