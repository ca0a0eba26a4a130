//! All cases through the library: those of the specification and those of the policies that people copy.

use crate::suites::root;
use celador::limits::EngineLimits;
use celador::scenario::{CaseOutcome, Palette, Runner, Summary, load_cases};

fn run(folder: &str) -> Summary {
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
    assert!(failures.is_empty(), "{failures}\n{}", summary.render());
    summary
}

#[test]
#[cfg(feature = "schedules")]
fn the_cases_of_the_specification_pass() {
    let summary = run("tests/data/cases/spec");
    assert_eq!(summary.passed, 193, "no case is lost");
}

#[test]
#[cfg(feature = "schemas")]
fn the_cases_of_our_own_pass() {
    let summary = run("tests/data/cases/own");
    assert_eq!(summary.passed, 1060, "no case is lost");
}

#[test]
fn the_cases_of_the_policies_pass() {
    let summary = run("policies");
    assert_eq!(summary.passed, 1961, "no case is lost");
}
