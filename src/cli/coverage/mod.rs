//! What cases have tried, for people, for programs and for the services that show coverage.
//!
//! In: the [`Coverage`] of a run. Out: a listing beside the YAML, counts, and a file for each `--coverage-report`.
//!
//! | module | what it writes |
//! |---|---|
//! | `listing` | the YAML with marks, and the counts |
//! | `lcov` | a tracefile of lcov |
//! | `cobertura` | XML as Cobertura 4 has it |
//! | `html` | one page with the same marks |

mod cobertura;
mod html;
mod lcov;
mod lines;
mod listing;

use super::{Failure, Format, Screen, messages};
use celador::scenario::Coverage;
use clap::Args;
use std::fs;
use std::path::PathBuf;

/// What is asked of coverage.
#[derive(Args)]
#[group(skip)]
pub(crate) struct Wanted {
    /// Tell which steps and clauses the cases have tried
    #[arg(long)]
    coverage: bool,

    /// Exit with 2 if fewer clauses than so many percent were covered
    #[arg(long, value_name = "PERCENT", value_parser = percent, requires = "coverage")]
    threshold: Option<f64>,

    /// Also write the coverage as `html=FILE`, `lcov=FILE`, `cobertura=FILE` or `json=FILE`. Can be given several times
    #[arg(long = "coverage-report", value_name = "FORMAT=FILE", value_parser = wanted, requires = "coverage")]
    coverage_reports: Vec<(Form, PathBuf)>,
}

/// The form of a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    Html,
    Lcov,
    Cobertura,
    Json,
}

fn wanted(text: &str) -> Result<(Form, PathBuf), String> {
    let (form, file) = text.split_once('=').filter(|(_, file)| !file.is_empty()).unwrap_or((text, ""));
    let form = match form {
        "html" => Form::Html,
        "lcov" => Form::Lcov,
        "cobertura" => Form::Cobertura,
        "json" => Form::Json,
        _ => return Err(messages::no_coverage_form()),
    };
    if file.is_empty() { Err(messages::no_coverage_file()) } else { Ok((form, file.into())) }
}

fn percent(text: &str) -> Result<f64, String> {
    let number = text.strip_suffix('%').unwrap_or(text).parse::<f64>().ok();
    number.filter(|number| (0.0..=100.0).contains(number)).ok_or_else(messages::no_percent)
}

impl Wanted {
    pub(crate) fn is_wanted(&self) -> bool {
        self.coverage
    }

    /// Tells of the coverage. Says whether it is enough.
    ///
    /// # Errors
    /// A report or an output that cannot be written.
    pub(crate) fn tell(&self, coverage: &Coverage, screen: &mut Screen) -> Result<bool, Failure> {
        for (form, file) in &self.coverage_reports {
            let text = match form {
                Form::Html => html::report(coverage),
                Form::Lcov => lcov::report(coverage),
                Form::Cobertura => {
                    cobertura::report(coverage).map_err(|error| Failure::Unusable(error.to_string()))?
                }
                Form::Json => coverage.to_json().to_string() + "\n",
            };
            fs::write(file, text)
                .map_err(|error| Failure::Unusable(messages::cannot_write_file(file, &error)))?;
        }
        match screen.format() {
            Format::Human => {
                let text = listing::render(coverage, &screen.palette());
                screen.text(&text)?;
            }
            Format::Json => screen.json("coverage", coverage.to_json())?,
        }
        let clauses = coverage.clauses();
        let is_enough = self.threshold.is_none_or(|threshold| clauses.reaches(threshold));
        if let Some(threshold) = self.threshold.filter(|_| !is_enough) {
            screen.note(&messages::below_threshold(clauses.percent(), threshold));
        }
        Ok(is_enough)
    }
}
