//! Cases, run as `celador test` runs them.
//!
//! In: paths, on the disk or among texts that a program has. Out: what came of each case, and of a failure what was expected and what was found, for people.

use crate::Error;
use celador::EngineLimits;
use celador::manifest::given::Files;
use celador::scenario::{CaseOutcome, Palette, Report, Runner, cases_among};
use serde::Serialize;
use std::path::Path;

/// What came of one case.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CaseResult {
    /// The name of the case, or of the file if that cannot be read.
    pub name: String,
    /// The sentence about it.
    pub about: String,
    /// The file.
    pub file: String,
    /// Why it has not passed: expected and found side by side. Nothing if it has.
    pub failure: Option<String>,
}

/// Runs the cases of files and folders, in the order of their names.
///
/// # Errors
/// A path that cannot be read, and a folder without YAML files.
pub fn run_cases<P: AsRef<Path>>(paths: &[P]) -> Result<Vec<CaseResult>, Error> {
    run_cases_among(&Files::System, paths)
}

/// The same among files that need not lie on a disk.
///
/// # Errors
/// As [`run_cases`].
pub fn run_cases_among<P: AsRef<Path>>(files: &Files, paths: &[P]) -> Result<Vec<CaseResult>, Error> {
    let limits = EngineLimits::default();
    let mut runner = Runner::among(files.clone(), limits);
    let loaded = cases_among(files, paths, &limits)?;
    let reports = loaded.into_iter().map(|case| case.map_or_else(|report| report, |case| runner.run(&case)));
    Ok(reports.map(CaseResult::of).collect())
}

impl CaseResult {
    fn of(report: Report) -> Self {
        let has_passed = matches!(report.outcome, CaseOutcome::Passed);
        let failure = (!has_passed).then(|| report.render(&Palette::PLAIN));
        Self { name: report.name, about: report.about, file: report.file, failure }
    }
}
