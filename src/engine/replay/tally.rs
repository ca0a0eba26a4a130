//! What came of judging anew, counted: how much was judged, and what would be decided otherwise, by step and capability.
//!
//! In: one difference after the other. Out: rows, as many as the bound allows, and the number of what has no row. Two tallies can be put
//! together, so parts of a recording can be judged apart.

use crate::task::VerdictKind;
use indexmap::IndexMap;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// How many rows a tally keeps; further ones are counted alone.
const MAX_ROWS: usize = 10_000;

/// What makes a row: the same decision about the same function, decided otherwise by the same rules.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct FlipKind {
    /// The operation: `input`, `before`, `after`, `output`, `turn`, `review`.
    pub operation: String,
    /// The function, of a call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub function: Option<String>,
    /// The verdict that it was compared with.
    pub was: VerdictKind,
    /// What decided then: a step, or a limit; nothing where nothing stood in the way, or where it is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub was_by: Option<String>,
    /// The verdict of the new policies.
    pub is: VerdictKind,
    /// What decides now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub is_by: Option<String>,
    /// Whether both let it go on, with other values.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub other_value: bool,
}

/// A row: how often, and where first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FlipRow {
    /// What.
    #[serde(flatten)]
    pub kind: FlipKind,
    /// How often.
    pub count: u64,
    /// The task of the first one.
    pub task: String,
    /// The number of its step within its task, from 1.
    pub step: u64,
}

/// Why something was not judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NotJudged {
    /// The first step of its task names an agent that the policies do not have.
    NoAgent,
    /// The first step of its task names no agent, so it is none: the lines of the task are not in their order, or some are in another part.
    NoBeginning,
    /// A step of the policies asks for an execution whose result was not recorded.
    NoResult,
    /// These policies have ended the task before.
    Ended,
    /// The step cannot follow what was recorded before it.
    Impossible,
    /// Its task was put aside, as more tasks were under way than the bound allows.
    PutAside,
    /// It is an event from outside or a call of the model.
    OtherKind,
    /// There is no decision to compare with.
    NothingToCompare,
    /// Its task must be within a parent task, which is not judged with it.
    NoParent,
}

impl NotJudged {
    /// The reason in words.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::NoAgent => "the policies do not have the agent of its task",
            Self::NoBeginning => {
                "its task does not begin here: lines of one task belong into one part, in their order"
            }
            Self::NoResult => "a step asks for an execution whose result was not recorded",
            Self::Ended => "one of the policies has ended the task before",
            Self::Impossible => "it cannot follow what was recorded before it",
            Self::PutAside => "its task was put aside: too many were under way",
            Self::OtherKind => "events and what is sent to a model are not judged anew",
            Self::NoParent => "its task must be within a parent task, which is not judged with it",
            Self::NothingToCompare => "no verdict was recorded, and there are no policies to compare with",
        }
    }
}

/// What came of judging anew.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// How many decisions were judged and compared.
    pub decisions: u64,
    /// How many tasks were begun.
    pub tasks: u64,
    /// What was not judged, by reason.
    pub not_judged: BTreeMap<NotJudged, u64>,
    rows: IndexMap<FlipKind, (u64, String, u64)>,
    /// Differences that have no row.
    pub left_out: u64,
}

/// A tally on a wire.
#[derive(Serialize, Deserialize)]
struct Wire {
    decisions: u64,
    tasks: u64,
    flips: u64,
    #[serde(default)]
    not_judged: BTreeMap<NotJudged, u64>,
    rows: Vec<FlipRow>,
    #[serde(default)]
    left_out: u64,
}

impl Tally {
    /// How many decisions would be otherwise.
    #[must_use]
    pub fn flips(&self) -> u64 {
        self.rows.values().fold(self.left_out, |sum, (count, ..)| sum.saturating_add(*count))
    }

    /// The differences, the most frequent first.
    #[must_use]
    pub fn rows(&self) -> Vec<FlipRow> {
        let rows = self.rows.iter().map(|(kind, (count, task, step))| FlipRow {
            kind: kind.clone(),
            count: *count,
            task: task.clone(),
            step: *step,
        });
        let mut rows: Vec<FlipRow> = rows.collect();
        rows.sort_by_key(|row| std::cmp::Reverse(row.count));
        rows
    }

    pub(super) fn flip(&mut self, kind: FlipKind, task: &str, step: u64) {
        self.add_row(kind, 1, task, step);
    }

    fn add_row(&mut self, kind: FlipKind, count: u64, task: &str, step: u64) {
        let is_full = self.rows.len() >= MAX_ROWS;
        match self.rows.get_mut(&kind) {
            Some((known, ..)) => *known = known.saturating_add(count),
            None if is_full => self.left_out = self.left_out.saturating_add(count),
            None => {
                self.rows.insert(kind, (count, task.to_owned(), step));
            }
        }
    }

    pub(super) fn leave(&mut self, why: NotJudged) {
        let count = self.not_judged.entry(why).or_default();
        *count = count.saturating_add(1);
    }

    /// Adds what came of another part of the recording.
    pub fn add(&mut self, other: &Self) {
        self.decisions = self.decisions.saturating_add(other.decisions);
        self.tasks = self.tasks.saturating_add(other.tasks);
        self.left_out = self.left_out.saturating_add(other.left_out);
        for (why, count) in &other.not_judged {
            let known = self.not_judged.entry(*why).or_default();
            *known = known.saturating_add(*count);
        }
        for (kind, (count, task, step)) in &other.rows {
            self.add_row(kind.clone(), *count, task, *step);
        }
    }

    /// The tally as JSON: `decisions`, `tasks`, `flips`, `not_judged`, `rows`.
    #[must_use]
    pub fn to_json(&self) -> serde_json::Value {
        let wire = Wire {
            decisions: self.decisions,
            tasks: self.tasks,
            flips: self.flips(),
            not_judged: self.not_judged.clone(),
            rows: self.rows(),
            left_out: self.left_out,
        };
        serde_json::to_value(wire).unwrap_or_default()
    }

    /// A tally out of its JSON.
    ///
    /// # Errors
    /// What is no such JSON.
    pub fn from_json(json: &str) -> Result<Self, serde_json::Error> {
        let Wire { decisions, tasks, not_judged, rows, left_out, .. } = serde_json::from_str(json)?;
        let mut tally = Self { decisions, tasks, not_judged, left_out, ..Self::default() };
        for FlipRow { kind, count, task, step } in rows {
            tally.add_row(kind, count, &task, step);
        }
        Ok(tally)
    }
}
