//! All cases through the library: those of the specification and those of the policies that people copy.

use celador::limits::EngineLimits;
use celador::scenario::{Outcome, Palette, Runner, Summary, load_cases};
use std::path::Path;

fn run(folder: &str) -> Summary {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
    let limits = EngineLimits::default();
    let mut runner = Runner::new(limits);
    let mut summary = Summary::default();
    let mut failures = String::new();
    for loaded in load_cases(&[root], &limits).unwrap() {
        let report = loaded.map_or_else(|report| report, |case| runner.run(&case));
        summary.add(&report);
        if !matches!(report.outcome, Outcome::Passed) {
            failures.push_str(&report.render(&Palette::PLAIN));
        }
    }
    println!("{folder}: {}", summary.render().trim_end());
    assert!(failures.is_empty(), "{failures}\n{}", summary.render());
    summary
}

#[test]
fn the_cases_of_the_specification_pass() {
    let summary = run("tests/data/cases/spec");
    assert_eq!(summary.passed, 193, "no case is lost");
}

#[test]
fn the_cases_of_our_own_pass() {
    let summary = run("tests/data/cases/own");
    assert!(summary.passed > 30, "{}", summary.render());
}

#[test]
fn the_cases_of_the_policies_pass() {
    let summary = run("policies");
    assert!(summary.passed > 150, "{}", summary.render());
}
