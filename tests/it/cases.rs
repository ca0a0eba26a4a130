//! All cases through the library: those of the specification and those of the policies that people copy.

use crate::suites::root;
use celador::limits::EngineLimits;
use celador::scenario::{CaseOutcome, Palette, Runner, Summary, load_cases};

/// Runs the cases of a folder: there are some, and all pass.
fn run(folder: &str) {
    let cases = root().join(folder);
    let limits = EngineLimits::default();
    let mut runner = Runner::new(limits);
    let mut summary = Summary::default();
    let mut failures = String::new();
    for loaded in load_cases(&[cases], &limits).unwrap() {
        let report = loaded.map_or_else(|report| report, |case| runner.run(&case));
        summary.add(&report);
        if !matches!(report.outcome, CaseOutcome::Passed) {
            failures.push_str(&report.render(&Palette::PLAIN));
        }
    }
    println!("{folder}: {}", summary.render().trim_end());
    assert!(failures.is_empty() && summary.passed > 0, "{failures}\n{}", summary.render());
}

#[test]
#[cfg(feature = "schedules")]
fn the_cases_of_the_specification_pass() {
    run("tests/data/cases/spec");
}

#[test]
#[cfg(feature = "schemas")]
fn the_cases_of_our_own_pass() {
    run("tests/data/cases/own");
}

#[test]
fn the_cases_of_the_policies_pass() {
    run("policies");
}
