//! The outcome of cases: for people expected and found side by side, for programs JSON.
//!
//! In: what came of each case. Out: text or JSON, and the counts. It decides nothing: a case has passed, has failed, or is
//! broken: it cannot be read or run, or its manifests were not loaded completely.

use super::case::Case;
use super::expect::{Found, Mismatch};
use super::explain::ExplainedOperation;
use super::explain_text::Detail;
use super::table;
use super::terminal::Palette;
use crate::diagnostic::Diagnostic;
use crate::source::{Place, Source, Span};
use crate::task::Origin;
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::path::Path;

/// What came of one case.
#[derive(Clone, Debug)]
pub struct Report {
    /// The name of the case, or of the file if that cannot be read.
    pub name: String,
    /// The sentence about it.
    pub about: Box<str>,
    /// The file.
    pub file: String,
    /// Its outcome.
    pub outcome: CaseOutcome,
    /// What its operations went through, if it failed or somebody has asked.
    pub explained: Box<[ExplainedOperation]>,
    /// Whether it is about a file or folder whose cases are not known by name.
    pub hides_cases: bool,
}

/// What came of one case.
#[derive(Clone, Debug)]
pub enum CaseOutcome {
    /// Everything held.
    Passed,
    /// Some checks did not hold.
    Failed {
        /// Which ones.
        mismatches: Vec<Mismatch>,
        /// The outcome of the operation.
        found: Box<Found>,
    },
    /// The case cannot be read or run.
    Broken(Vec<Diagnostic>),
}

/// The number of cases by outcome.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// Cases whose checks all held.
    pub passed: usize,
    /// Cases of which a check did not hold.
    pub failed: usize,
    /// Cases that cannot be read or run, and files and folders in which cases may be lost.
    pub broken: usize,
}

/// A case, or the report that it cannot be read.
pub type Loaded = Result<Case, Report>;

impl Report {
    /// The report about a file that cannot be read; it stands for the cases that may be in it.
    pub(super) fn of_broken(source: &Source, findings: Vec<Diagnostic>) -> Self {
        Self { hides_cases: true, ..Self::of_broken_case(stem(source.name()), source, findings) }
    }

    /// The report about a case that cannot be read.
    pub(super) fn of_broken_case(name: &str, source: &Source, findings: Vec<Diagnostic>) -> Self {
        Self {
            explained: Box::default(),
            name: name.to_owned(),
            about: Box::default(),
            file: source.name().to_owned(),
            outcome: CaseOutcome::Broken(findings),
            hides_cases: false,
        }
    }

    /// The report about a path in which no case was found.
    pub(super) fn of_lost(path: &str, finding: fn(Place) -> Diagnostic) -> Self {
        let source = Source::new(path, "");
        let place = Place::new(&source, Span::default());
        Self { hides_cases: true, ..Self::of_broken_case(path, &source, vec![finding(place)]) }
    }

    /// The word for the outcome.
    #[must_use]
    pub fn word(&self) -> &'static str {
        match self.outcome {
            CaseOutcome::Passed => "passed",
            CaseOutcome::Failed { .. } => "failed",
            CaseOutcome::Broken(_) => "broken",
        }
    }

    /// The report for a person; of a case that passed, nothing.
    #[must_use]
    pub fn render(&self, palette: &Palette) -> String {
        let mut text = String::new();
        match &self.outcome {
            CaseOutcome::Passed => {}
            CaseOutcome::Failed { mismatches, found } => {
                self.head(&mut text, palette);
                let place = mismatches.first().map(|mismatch| mismatch.place.to_string());
                let place = place.as_deref().unwrap_or(&self.file);
                let _ = writeln!(text, "  {}at{} {place}", palette.dim, palette.reset);
                table::side_by_side(&mut text, mismatches, palette);
                explain(&mut text, found, palette);
                for operation in
                    self.explained.iter().filter(|operation| self.is_blamed(operation, mismatches))
                {
                    let told = operation.render(Detail::OfOthers, palette);
                    text.extend(told.lines().map(|line| format!("  {line}\n")));
                }
                text.push('\n');
            }
            CaseOutcome::Broken(diagnostics) => {
                self.head(&mut text, palette);
                for diagnostic in diagnostics {
                    let _ = writeln!(text, "{}\n", diagnostic.render(palette.is_colored()));
                }
            }
        }
        text
    }

    /// Whether an operation is where to look: of several steps those whose expectations do not hold, or the last.
    fn is_blamed(&self, operation: &ExplainedOperation, mismatches: &[Mismatch]) -> bool {
        let of_step = |mismatch: &Mismatch| {
            let rest = mismatch.key.strip_prefix("steps[")?;
            rest.split(']').next()?.parse::<usize>().ok()?.checked_add(1)
        };
        let first = mismatches.iter().find_map(of_step);
        operation.number == first.unwrap_or(self.explained.len())
    }

    fn head(&self, text: &mut String, palette: &Palette) {
        let Palette { red, bold, reset, .. } = palette;
        let about = if self.about.is_empty() { String::new() } else { format!(": {}", self.about) };
        let _ = writeln!(text, "{red}{bold}{}{reset} {bold}{}{reset}{about}", self.word(), self.name);
    }

    /// The report for a program.
    #[must_use]
    pub fn to_json(&self) -> Value {
        let mut object = json!({ "case": self.name, "file": self.file, "outcome": self.word() });
        let (key, value) = match &self.outcome {
            CaseOutcome::Passed => return object,
            CaseOutcome::Failed { mismatches, .. } => {
                ("mismatches", mismatches.iter().map(mismatch_to_json).collect())
            }
            CaseOutcome::Broken(found) => ("diagnostics", found.iter().map(Diagnostic::to_json).collect()),
        };
        if let Some(object) = object.as_object_mut() {
            object.insert(key.to_owned(), value);
            if !self.explained.is_empty() {
                object.insert("explained".to_owned(), json!(self.explained));
            }
        }
        object
    }
}

/// The name of a file without its folder and extension.
fn stem(file: &str) -> &str {
    Path::new(file).file_stem().and_then(|stem| stem.to_str()).unwrap_or(file)
}

fn mismatch_to_json(mismatch: &Mismatch) -> Value {
    let position = mismatch.place.position();
    json!({
        "key": mismatch.key,
        "expected": mismatch.expected,
        "found": mismatch.found,
        "line": position.line,
        "column": position.column,
    })
}

/// Which rule decided, and what went wrong on the way: where to look first when a case fails.
fn explain(text: &mut String, found: &Found, palette: &Palette) {
    let Palette { dim, reset, .. } = palette;
    if let Some(origin) = &found.decided_by {
        let step = origin.policy.as_ref().map(|step| format!("{step}, ")).unwrap_or_default();
        let at = place(origin);
        let _ = writeln!(text, "  {dim}decided by{reset} {step}{} {dim}at{reset} {at}", origin.path);
    }
    for finding in &found.findings {
        let at = finding.origin.as_ref().map(|origin| format!(" {dim}at{reset} {}", place(origin)));
        let _ = writeln!(text, "  {dim}note:{reset} {}{}", finding.message, at.unwrap_or_default());
    }
    for diagnostic in found.diagnostics.iter().filter(|diagnostic| diagnostic.is_error()) {
        let _ = writeln!(text, "  {dim}note:{reset} {diagnostic}");
    }
}

fn place(origin: &Origin) -> String {
    format!("{}:{}:{}", origin.file, origin.line, origin.column)
}

impl Summary {
    /// Counts a case.
    pub fn add(&mut self, report: &Report) {
        let count = match report.outcome {
            CaseOutcome::Passed => &mut self.passed,
            CaseOutcome::Failed { .. } => &mut self.failed,
            CaseOutcome::Broken(_) => &mut self.broken,
        };
        *count = count.saturating_add(1);
    }

    /// The counts for a person, in one line: `3 passed, 0 failed`, `3 passed, 1 broken` or `3 passed, 1 failed, 1 broken`.
    #[must_use]
    pub fn render(&self) -> String {
        let Self { passed, failed, broken } = self;
        match (failed, broken) {
            (_, 0) => format!("{passed} passed, {failed} failed\n"),
            (0, _) => format!("{passed} passed, {broken} broken\n"),
            _ => format!("{passed} passed, {failed} failed, {broken} broken\n"),
        }
    }

    /// The counts for a program.
    #[must_use]
    pub fn to_json(&self) -> Value {
        json!({ "passed": self.passed, "failed": self.failed, "broken": self.broken })
    }
}
