//! Cases, run as `celador test` runs them.
//!
//! In: paths, on the disk or among texts that a program has. Out: what came of each case, and of a failure what was expected and what was found, for people. Whoever asks is
//! told as well what the cases have tried of their policies, and what the operations of each went through.

use crate::Error;
use celador::EngineLimits;
use celador::manifest::given::Files;
use celador::scenario::{CaseOutcome, Coverage, ExplainedOperation, Palette, Report, Runner, cases_among};
use serde::{Deserialize, Serialize};
use std::path::Path;

/// What came of one case.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CaseResult {
    /// The name of the case, or of the file if that cannot be read.
    pub name: String,
    /// The sentence about it.
    pub about: String,
    /// The file.
    pub file: String,
    /// Why it has not passed: expected and found side by side. Nothing if it has.
    pub failure: Option<String>,
    /// What its operations went through: of a case that has failed, and of every case if that was asked for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub explained: Vec<ExplainedOperation>,
}

/// What is asked of cases beside whether they pass.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct CaseWishes {
    /// What they have tried of their policies.
    pub coverage: bool,
    /// What the operations of each went through.
    pub explain: bool,
}

/// Runs the cases of files and folders, in the order of their names.
///
/// # Errors
/// A path that cannot be read, and a folder without YAML files.
pub fn run_cases<P: AsRef<Path>>(
    paths: &[P],
    wishes: CaseWishes,
) -> Result<(Vec<CaseResult>, Option<Coverage>), Error> {
    run_cases_among(&Files::System, paths, wishes)
}

/// The same among files that need not lie on a disk.
///
/// # Errors
/// As [`run_cases`].
pub fn run_cases_among<P: AsRef<Path>>(
    files: &Files,
    paths: &[P],
    wishes: CaseWishes,
) -> Result<(Vec<CaseResult>, Option<Coverage>), Error> {
    let limits = EngineLimits::default();
    let runner = Runner::among(files.clone(), limits);
    let mut runner = if wishes.coverage { runner.covering() } else { runner };
    let mut results = Vec::new();
    for case in cases_among(files, paths, &limits)? {
        let report = match case {
            Ok(case) if wishes.explain => runner.explain(&case),
            Ok(case) => runner.run(&case),
            Err(report) => report,
        };
        results.push(CaseResult::of(report, wishes));
    }
    Ok((results, runner.coverage().cloned()))
}

impl CaseResult {
    fn of(report: Report, wishes: CaseWishes) -> Self {
        let has_passed = matches!(report.outcome, CaseOutcome::Passed);
        let failure = (!has_passed).then(|| report.render(&Palette::PLAIN));
        let explained = if wishes.explain || !has_passed { report.explained.into_vec() } else { Vec::new() };
        Self { name: report.name, about: report.about, file: report.file, failure, explained }
    }
}
