//! Results as JUnit's XML: a suite for each folder, a test for each case or checked file.

use super::{Results, Tried, Weight};
use quick_junit::{NonSuccessKind, Report, SerializeError, TestCase, TestCaseStatus, TestSuite};

/// The word that the writer puts on the root, where the schema of Jenkins has none; no test of ours is ever skipped.
const NOT_IN_THE_SCHEMA: &str = " skipped=\"0\"";

/// The XML of these results. Characters that XML cannot carry are left out by the writer.
pub(super) fn report(results: &Results) -> Result<String, SerializeError> {
    let mut report = Report::new("celador");
    // cases come folder by folder; one that comes back is a suite of its own again, in the order of the run
    for together in results.0.chunk_by(|one, next| one.suite == next.suite) {
        let name = together.first().map(|tried| tried.suite.as_str()).unwrap_or_default();
        let mut suite = TestSuite::new(if name.is_empty() { "." } else { name });
        suite.add_test_cases(together.iter().map(case));
        report.add_test_suite(suite);
    }
    // the root comes first, and its name is no text of anybody's
    Ok(report.to_string()?.replacen(NOT_IN_THE_SCHEMA, "", 1))
}

fn case(tried: &Tried) -> TestCase {
    let mut status = TestCaseStatus::success();
    if let Some(first) = tried.problems.iter().find(|problem| problem.weight == Weight::Error) {
        status = TestCaseStatus::non_success(NonSuccessKind::Failure);
        status.set_message(first.message.as_str()).set_type(first.code.as_str());
        status.set_description(tried.text.as_str());
    }
    let mut case = TestCase::new(tried.name.as_str(), status);
    case.set_classname(tried.file.as_str());
    if !tried.has_failed() && !tried.text.is_empty() {
        case.set_system_out(tried.text.as_str());
    }
    case
}
