//! Reports for the services that show results: JUnit, SARIF, annotations of GitHub.
//!
//! In: what `check` found and what came of the cases of `test`, in one shape. Out: a file for each `--report`, or lines on standard
//! output. A report adds to what the command says; the exit code stays what it is without reports.

mod github;
mod junit;
mod sarif;

use super::{Failure, Format, Screen, messages};
use celador::diagnostic::{Diagnostic, Severity, Standing};
use celador::replay::Tally;
use celador::scenario::{CaseOutcome, Report};
use celador::source::{Place, Position};
use clap::Args;
use std::fs;
use std::path::{Path, PathBuf};

/// The reports that a command was asked for.
#[derive(Args)]
pub(crate) struct Wanted {
    /// Also write a report: `junit=FILE`, `sarif=FILE`, or `github` for annotations on standard output. Can be given several times
    #[arg(long = "report", value_name = "FORMAT[=FILE]", value_parser = wanted)]
    reports: Vec<(Form, Option<PathBuf>)>,
}

/// The form of a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    /// XML of test results, as JUnit began it and most services of continuous integration read it.
    Junit,
    /// Results of an analysis, as the OASIS standard 2.1.0 has them.
    Sarif,
    /// Commands in the output of a workflow, which GitHub shows beside the lines.
    Github,
}

fn wanted(text: &str) -> Result<(Form, Option<PathBuf>), String> {
    let (form, file) = text.split_once('=').map_or((text, None), |(form, file)| (form, Some(file)));
    let form = match form {
        "junit" => Form::Junit,
        "sarif" => Form::Sarif,
        "github" => Form::Github,
        _ => return Err(messages::no_report_form()),
    };
    match file {
        None | Some("") if form != Form::Github => Err(messages::no_report_file()),
        file => Ok((form, file.map(PathBuf::from))),
    }
}

/// How much a problem weighs, for whoever reads the report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Weight {
    /// The command says no because of it.
    Error,
    /// Worth a look.
    Warning,
    /// A comment at its place allows it, for this reason.
    Allowed,
}

/// One problem with its place.
struct Problem {
    weight: Weight,
    /// A stable word for the kind of problem, such as `unknown_key`.
    code: String,
    message: String,
    help: Option<String>,
    /// Why it is allowed; empty if it is not.
    reason: String,
    file: String,
    start: Position,
    /// The place behind the last character.
    end: Position,
}

impl Problem {
    fn at(place: &Place, weight: Weight, code: impl Into<String>, message: impl Into<String>) -> Self {
        Self {
            weight,
            code: code.into(),
            message: message.into(),
            help: None,
            reason: String::new(),
            file: place.source.name().to_owned(),
            start: place.position(),
            end: place.source.position(place.span.end),
        }
    }

    fn of(found: &Diagnostic, is_strict: bool) -> Self {
        let (weight, reason) = match (&found.severity, &found.standing) {
            (Severity::Warning, Standing::Allowed(reason)) => (Weight::Allowed, reason.to_string()),
            (Severity::Warning, Standing::Told) if !is_strict => (Weight::Warning, String::new()),
            _ => (Weight::Error, String::new()),
        };
        let help = found.help.clone();
        Self { help, reason, ..Self::at(&found.place, weight, found.code, found.message.as_str()) }
    }
}

/// One thing that was tried: a file that was checked, or a case that was run.
struct Tried {
    /// The folder or command that it belongs to.
    suite: String,
    name: String,
    file: String,
    problems: Vec<Problem>,
    /// The whole text for people; empty if there is nothing to say.
    text: String,
}

impl Tried {
    fn has_failed(&self) -> bool {
        self.problems.iter().any(|problem| problem.weight == Weight::Error)
    }
}

/// What a command tried, in the order in which it did.
#[derive(Default)]
pub(crate) struct Results(Vec<Tried>);

impl Results {
    /// The files that were checked, each with what was found in it. Files without findings are listed too, so that a report of
    /// nothing wrong says what was looked at.
    pub(crate) fn of_check<'f>(
        files: impl Iterator<Item = &'f str>,
        findings: &[Diagnostic],
        is_strict: bool,
    ) -> Self {
        let tried = files.map(|file| {
            let here = || findings.iter().filter(|found| found.place.source.name() == file);
            Tried {
                suite: "check".to_owned(),
                name: file.to_owned(),
                file: file.to_owned(),
                problems: here().map(|found| Problem::of(found, is_strict)).collect(),
                text: here().map(|found| found.render(false)).collect::<Vec<_>>().join("\n\n"),
            }
        });
        Self(tried.collect())
    }

    /// Adds what came of a case.
    pub(crate) fn add_case(&mut self, report: &Report) {
        let problems = match &report.outcome {
            CaseOutcome::Passed => Vec::new(),
            CaseOutcome::Failed { mismatches, .. } => {
                let problem = |mismatch: &celador::scenario::Mismatch| {
                    let message = messages::mismatch(report, mismatch);
                    Problem::at(&mismatch.place, Weight::Error, "case_failed", message)
                };
                mismatches.iter().map(problem).collect()
            }
            CaseOutcome::Broken(found) => found.iter().map(|found| Problem::of(found, true)).collect(),
        };
        let folder = Path::new(&report.file).parent().unwrap_or(Path::new(""));
        self.0.push(Tried {
            suite: folder.display().to_string(),
            name: report.name.clone(),
            file: report.file.clone(),
            problems,
            text: report.render(&celador::scenario::Palette::PLAIN),
        });
    }
}

impl Results {
    /// What came of judging recorded tasks anew: a test for each kind of difference, at the task where it came first.
    pub(crate) fn of_replay(tally: &Tally) -> Self {
        let rows = tally.rows().into_iter();
        let tried = rows.map(|row| {
            let message = messages::flip(&row);
            let place = Position { line: 1, column: 1 };
            let problem = Problem {
                weight: Weight::Error,
                code: "decided_otherwise".to_owned(),
                message: message.clone(),
                help: None,
                reason: String::new(),
                file: row.task.clone(),
                start: place,
                end: place,
            };
            Tried {
                suite: "replay".to_owned(),
                name: row.kind.function.clone().unwrap_or_else(|| row.kind.operation.clone()),
                file: row.task,
                problems: vec![problem],
                text: message,
            }
        });
        let judged = Tried {
            suite: "replay".to_owned(),
            name: "judged".to_owned(),
            file: String::new(),
            problems: Vec::new(),
            text: messages::replayed(tally),
        };
        Self(tried.chain([judged]).collect())
    }
}

impl Wanted {
    /// Writes the reports of these results.
    ///
    /// # Errors
    /// A file or an output that cannot be written; annotations among lines of JSON.
    pub(crate) fn write(&self, results: &Results, screen: &mut Screen) -> Result<(), Failure> {
        for (form, file) in &self.reports {
            let text = match form {
                Form::Junit => {
                    junit::report(results).map_err(|error| Failure::Unusable(error.to_string()))?
                }
                Form::Sarif => sarif::report(results),
                Form::Github => github::report(results),
            };
            match file {
                None if screen.format() == Format::Json => {
                    return Err(Failure::Unusable(messages::mixed_output()));
                }
                None => screen.text(&text)?,
                Some(file) => fs::write(file, text)
                    .map_err(|error| Failure::Unusable(messages::cannot_write_file(file, &error)))?,
            }
        }
        Ok(())
    }
}
