//! What was tried, line by line: what every form of coverage is made of.
//!
//! In: the coverage of a file. Out: for each line that has a step or a clause how much of it was seen, and what was not.

use celador::scenario::{FileCoverage, StepCoverage};
use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};

/// How much of a line was seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Seen {
    /// Nothing of it was ever evaluated.
    Nothing,
    /// Something is lacking.
    Partly,
    /// All that is counted.
    Everything,
}

/// A line that has a step or a clause.
#[derive(Debug, Default)]
pub(super) struct Line {
    /// How often what stands here was evaluated; the most of all that do.
    pub(super) hits: usize,
    /// The ways that clauses can go, and how many of them were seen: true and false of each.
    pub(super) branches: Vec<[usize; 2]>,
    /// What was not seen, in words, with what lacks it.
    pub(super) lacks: Vec<String>,
    /// How many things are counted here.
    parts: usize,
    /// How many of them were never come to.
    untouched: usize,
}

impl Line {
    pub(super) fn seen(&self) -> Seen {
        match (self.lacks.is_empty(), self.untouched == self.parts) {
            (true, _) => Seen::Everything,
            (false, true) => Seen::Nothing,
            (false, false) => Seen::Partly,
        }
    }

    fn add(&mut self, hits: usize, lacks: Vec<String>) {
        self.hits = self.hits.max(hits);
        self.parts = self.parts.saturating_add(1);
        self.untouched = self.untouched.saturating_add(usize::from(hits == 0));
        self.lacks.extend(lacks);
    }
}

/// The lines of a file that have steps or clauses, by their numbers from 1.
pub(super) fn lines(file: &FileCoverage) -> BTreeMap<usize, Line> {
    let mut lines: BTreeMap<usize, Line> = BTreeMap::new();
    for step in file.steps.values() {
        let lacks = step.lacks().into_iter().map(|word| format!("{}: {word}", step.path)).collect();
        lines.entry(step.line).or_default().add(step.reached, lacks);
    }
    for clause in file.clauses.values() {
        let line = lines.entry(clause.line).or_default();
        let hits = clause.held.saturating_add(clause.held_not).saturating_add(clause.failed);
        line.branches.push([clause.held, clause.held_not]);
        line.add(hits, clause.lacks().into_iter().map(|word| format!("`{}` {word}", clause.text)).collect());
    }
    lines
}

/// A name for each step of a file, in their order: its path, with its line where the file has several agents and so the path twice.
pub(super) fn names(file: &FileCoverage) -> Vec<Cow<'_, str>> {
    let mut counts: HashMap<&str, usize> = HashMap::new();
    for step in file.steps.values() {
        let count = counts.entry(&step.path).or_default();
        *count = count.saturating_add(1);
    }
    let name = |step: &StepCoverage| match counts.get(&*step.path) {
        Some(1) => None,
        _ => Some(format!("{}:{}", step.path, step.line)),
    };
    let steps = file.steps.values();
    steps.map(|step| name(step).map_or(Cow::Borrowed(&*step.path), Cow::Owned)).collect()
}
