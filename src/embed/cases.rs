//! Cases, run as `celador test` runs them.
//!
//! In: paths, on the disk or among texts that a program has. Out: what came of each case, and of a failure what was expected and what was found, for people. Whoever asks is
//! told as well what the cases have tried of their policies, what the operations of each went through, and which changes of the policies no case would notice.

use crate::{Error, Flaw};
use celador::EngineLimits;
use celador::manifest::given::Files;
use celador::scenario::{
    Case, CaseOutcome, Coverage, ExplainedOperation, FoundCases, Palette, Report, Runner, Summary, find_cases,
};
use serde::{Deserialize, Serialize, Serializer};
use serde_json::Value;
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
    /// `passed`, `failed`, or `broken` where it cannot be read or run, or its manifests were not loaded completely.
    pub outcome: &'static str,
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
    /// Which small changes of their policies they notice, and of the others the cases that would.
    pub mutate: bool,
}

/// What came of cases.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Tested {
    /// Of each.
    pub results: Vec<CaseResult>,
    /// Documents of folders that no command reads.
    #[serde(serialize_with = "as_json")]
    pub warnings: Vec<Flaw>,
    /// What they have tried of their policies, if that was asked for.
    pub coverage: Option<Value>,
    /// What came of the mutants, if that was asked for: `noticed` is how many were, `mutants` says of each what it changes and which case has noticed it, or which would.
    pub mutation: Option<Value>,
}

/// Runs the cases of files and folders, in the order of their names.
///
/// # Errors
/// A path that cannot be read, and a folder without YAML files.
pub fn run_cases<P: AsRef<Path>>(paths: &[P], wishes: CaseWishes) -> Result<Tested, Error> {
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
) -> Result<Tested, Error> {
    #[cfg(not(feature = "authoring"))]
    if wishes.mutate {
        return Err(Error::not_here());
    }
    let limits = EngineLimits::default();
    let runner = Runner::among(files.clone(), limits);
    let mut runner = if wishes.coverage { runner.covering() } else { runner };
    let (mut results, mut tried) = (Vec::new(), Vec::new());
    let FoundCases { cases, warnings } = find_cases(files, paths, &limits)?;
    for case in cases {
        let report = match case {
            Ok(case) => {
                let report = if wishes.explain { runner.explain(&case) } else { runner.run(&case) };
                tried.extend(Some(case).filter(|_| wishes.mutate));
                report
            }
            Err(report) => report,
        };
        results.push(CaseResult::of(report, wishes));
    }
    let coverage = runner.coverage().map(Coverage::to_json);
    let mutation = if wishes.mutate { mutation(&mut runner, &tried) } else { None };
    let warnings = warnings.iter().map(Flaw::of).collect();
    Ok(Tested { results, warnings, coverage, mutation })
}

fn as_json<S: Serializer>(warnings: &[Flaw], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(warnings.iter().map(Flaw::to_json))
}

impl Tested {
    /// Number of cases with an outcome: `passed`, `failed` or `broken`.
    #[must_use]
    pub fn count(&self, outcome: &str) -> usize {
        self.results.iter().filter(|result| result.outcome == outcome).count()
    }

    /// The counts in one line, as the last line of `celador test`.
    #[must_use]
    pub fn summary(&self) -> String {
        let [passed, failed, broken] = ["passed", "failed", "broken"].map(|outcome| self.count(outcome));
        Summary { passed, failed, broken }.render().trim_end().to_owned()
    }
}

#[cfg(feature = "authoring")]
fn mutation(runner: &mut Runner, cases: &[Case]) -> Option<Value> {
    use celador::scenario::Search;
    let mutation = runner.mutate(cases, Search::Arguments);
    let mutants: Vec<Value> = mutation.rows().collect();
    Some(serde_json::json!({ "noticed": mutation.noticed(), "mutants": mutants }))
}

#[cfg(not(feature = "authoring"))]
fn mutation(_: &mut Runner, _: &[Case]) -> Option<Value> {
    None
}

impl CaseResult {
    fn of(report: Report, wishes: CaseWishes) -> Self {
        let has_passed = matches!(report.outcome, CaseOutcome::Passed);
        let outcome = report.word();
        let failure = (!has_passed).then(|| report.render(&Palette::PLAIN));
        let explained = if wishes.explain || !has_passed { report.explained.into_vec() } else { Vec::new() };
        Self { name: report.name, about: report.about.into(), file: report.file, outcome, failure, explained }
    }
}
