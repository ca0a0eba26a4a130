//! `celador test`: cases, each failure with what was expected and what was found.

use super::service_reports::{Results, Wanted};
use super::watch::Watch;
use super::{ExitCode, Failure, Format, Screen, messages};
use super::{coverage, mutants};
use celador::limits::EngineLimits;
use celador::manifest::given::Files;
use celador::scenario::{FoundCases, Loaded, Runner, Summary, find_cases};
use clap::Args;
use std::path::PathBuf;

/// Run cases: a task's past, one operation, and what must come of it
///
/// A case is a YAML file with `name`, `manifest`, `call` and `expect`, or one of several in a file. In folders, manifests and recorded tasks are left
/// alone; files of other programs are reported, and what is nearly a case is broken. Tools, reviewers and files are played from the case, so nothing outside is touched.
#[derive(Args)]
#[command(after_long_help = "\
Examples:
  celador test policies/                          all cases below a folder
  celador test policies/support-desk/cases/refund-needs-ticket.yaml
  celador test policies/ --filter refund          only cases with `refund` in their name
  celador test policies/ --report junit=results.xml
  celador test policies/ --watch                  again with each change of a file
  celador test policies/ --coverage --threshold 90 --coverage-report lcov=coverage.info
  celador test policies/ --format json | jq 'select(.outcome != \"passed\")'

The last line is always `N passed, M failed`, or `N passed, M broken` where cases cannot be read or run: their manifests
are not loaded completely, say. With --coverage the line before is `coverage: N of M
clauses`. A clause is covered if it was seen true, seen false and seen deciding. With --mutate the last
line is `mutants: N of M noticed`.

Exit codes: 0 all passed, 1 some failed, --threshold is not reached, no case was found or a path cannot be read, 2 some are broken.")]
pub(crate) struct Arguments {
    /// Case files, and folders to search for them
    #[arg(required = true, value_name = "PATH")]
    paths: Vec<PathBuf>,

    /// Only cases whose name contains this text
    #[arg(long, value_name = "TEXT")]
    filter: Option<String>,

    #[command(flatten)]
    reports: Wanted,

    #[command(flatten)]
    watch: Watch,

    #[command(flatten)]
    coverage: coverage::Wanted,

    #[command(flatten)]
    mutants: mutants::Wanted,
}

impl Arguments {
    pub(super) fn run(self, screen: &mut Screen) -> Result<ExitCode, Failure> {
        self.watch.run(screen, |screen, watched| self.round(screen, watched))
    }

    /// Runs the cases, and names the files that they are made of.
    fn round(&self, screen: &mut Screen, watched: &mut Vec<PathBuf>) -> Result<ExitCode, Failure> {
        watched.extend_from_slice(&self.paths);
        let limits = EngineLimits::default();
        let FoundCases { cases: loaded, warnings } = find_cases(&Files::System, &self.paths, &limits)
            .map_err(|error| Failure::Unusable(error.to_string()))?;
        screen.complain(&warnings);
        let runner = Runner::new(limits);
        let mut runner = if self.coverage.is_wanted() { runner.covering() } else { runner };
        let (mut summary, mut results) = (Summary::default(), Results::default());
        let mut cases = Vec::new();
        let loaded = self.filtered(loaded)?;
        for case in loaded {
            let report = match case {
                Ok(case) => {
                    watched.extend(case.manifest_paths());
                    let report = runner.run(&case);
                    cases.push(case);
                    report
                }
                Err(report) => report,
            };
            summary.add(&report);
            results.add_case(&report);
            match screen.format() {
                Format::Human => {
                    let text = report.render(&screen.palette());
                    screen.text(&text)?;
                }
                Format::Json => screen.json("case", report.to_json())?,
            }
        }
        if summary == Summary::default() {
            return Err(Failure::Unusable(messages::no_cases()));
        }
        // ahead of the counts, which stay the last line
        self.reports.write(&results, screen)?;
        let is_enough = match runner.coverage() {
            Some(coverage) => self.coverage.tell(coverage, screen)?,
            None => true,
        };
        match screen.format() {
            Format::Human => screen.text(&summary.render())?,
            Format::Json => screen.json("summary", summary.to_json())?,
        }
        if self.mutants.is_wanted() {
            let mutation = runner.mutate(&cases, self.mutants.search());
            mutants::tell(&self.mutants, &mutation, screen)?;
        }
        Ok(match (summary.broken, summary.failed) {
            (0, 0) if is_enough => ExitCode::Yes,
            (0, _) => ExitCode::Unusable,
            _ => ExitCode::No,
        })
    }

    /// The cases that `--filter` chooses. A file that cannot be read stays: the chosen cases may be in it.
    fn filtered(&self, loaded: Vec<Loaded>) -> Result<Vec<Loaded>, Failure> {
        let Some(filter) = self.filter.as_ref().filter(|_| !loaded.is_empty()) else { return Ok(loaded) };
        let is_chosen = |loaded: &Loaded| match loaded {
            Ok(case) => case.name.text.contains(filter.as_str()),
            Err(report) => report.hides_cases || report.name.contains(filter.as_str()),
        };
        if !loaded.iter().any(is_chosen) {
            let known: Vec<&str> =
                loaded.iter().filter_map(|loaded| Some(&*loaded.as_ref().ok()?.name.text)).collect();
            return Err(Failure::Unusable(messages::no_filtered_case(filter, &known)));
        }
        Ok(loaded.into_iter().filter(is_chosen).collect())
    }
}
