//! `celador check`: every problem of the manifests, with its place.

mod analysis;
mod cost;
mod reads;
mod unmentioned;

use super::clock::now;
use super::service_reports::{Results, Wanted};
use super::watch::Watch;
use super::{ExitCode, Failure, Format, Screen, messages};
use celador::diagnostic::{Diagnostic, Standing, in_order};
use celador::engine::Engine;
use celador::limits::EngineLimits;
use celador::manifest::{Catalog, load};
use clap::Args;
use serde_json::json;
use std::collections::BTreeSet;
use std::path::PathBuf;

/// Check manifests: every problem with its place, and how to repair it
///
/// Reads files and folders together, as one namespace: an agent is checked against the tools that it names. Every
/// expression is compiled in its scope, so a misspelt field or an `output` in a `before` step is found here, not by a
/// rule that never fires. Then its clauses are decided: one that no input makes true or false is found, and a step that no call
/// reaches.
#[derive(Args)]
#[command(after_long_help = "\
Examples:
  celador check policies/support-desk
  celador check agent.yaml tools/ --strict
  celador check policies/support-desk --cost
  celador check policies/support-desk --reads
  celador check policies/support-desk --analysis
  celador check policies --report sarif=celador.sarif --report github
  celador check policies --watch
  celador check policies --format json | jq 'select(.severity == \"error\" or .standing == \"refused\")'

A finding by which a rule may be lost is an error, here as for `serve`, `run` and `test`; `celador explain-code CODE`
explains it. A comment on its line or on the line above allows it:
  # celador: allow(unknown_match) the action comes with the next release

Exit codes: 0 valid, 3 refused (with --strict: for any warning that no comment allows), 1 a path cannot be read.")]
pub(crate) struct Arguments {
    /// Manifest files, and folders to search for them
    #[arg(required = true, value_name = "PATH")]
    paths: Vec<PathBuf>,

    /// Refuse every warning that no comment allows
    #[arg(long)]
    strict: bool,

    /// Also list what each expression costs, the dearest first
    #[arg(long)]
    cost: bool,

    /// Also say how many clauses could be decided, and list those of which something is unknown
    #[arg(long)]
    analysis: bool,

    /// Also list of which calls the decision on each function reads: it waits for those that are still open
    #[arg(long)]
    reads: bool,

    #[command(flatten)]
    reports: Wanted,

    #[command(flatten)]
    watch: Watch,
}

impl Arguments {
    pub(super) fn run(self, screen: &mut Screen) -> Result<ExitCode, Failure> {
        self.watch.run(screen, |screen, watched| {
            watched.extend_from_slice(&self.paths);
            self.round(screen)
        })
    }

    fn round(&self, screen: &mut Screen) -> Result<ExitCode, Failure> {
        let limits = EngineLimits::default();
        let (files, mut findings) =
            load(&self.paths, &limits).map_err(|error| Failure::Unusable(error.to_string()))?;
        let (catalog, read) = Catalog::parse(&files, &limits);
        let catalog = catalog.for_verification();
        let (engine, compiled) = Engine::from_catalog(&catalog, limits);
        findings.extend(read);
        findings.extend(compiled);
        findings.extend(catalog.expired_exceptions(now(None)?));
        in_order(&mut findings);
        for finding in &findings {
            screen.diagnostic(finding)?;
        }
        let agents = catalog.agents().iter().map(|resolved| &resolved.agent);
        let policies = agents.filter_map(|agent| engine.policy(&agent.namespace.text, &agent.name.text).ok());
        let policies: Vec<_> = policies.collect();
        if self.cost {
            cost::list(&policies, screen)?;
        }
        if self.reads {
            reads::list(&policies, screen)?;
        }
        if self.analysis {
            analysis::list(&engine.analysis(), screen)?;
        }
        // a document that cannot be read may mention any function, or decide for all
        if !findings.iter().any(Diagnostic::is_error) {
            unmentioned::list(&catalog, screen)?;
        }
        let names = files_with_manifests(&catalog, &findings);
        let files = names.len();
        // a warning that no comment allows, and that keeps the manifests from being used, counts as an error
        let errors = findings.iter().filter(|finding| finding.is_refused()).count();
        let warnings = findings.len().saturating_sub(errors);
        let warnings_that = |standing: fn(&Standing) -> bool| {
            findings.iter().filter(|finding| !finding.is_error() && standing(&finding.standing)).count()
        };
        let refused = warnings_that(|standing| *standing == Standing::Refused);
        let allowed = warnings_that(|standing| matches!(standing, Standing::Allowed(_)));
        // an error is what has to be understood first
        let first = findings.iter().find(|finding| finding.is_refused()).or(findings.first());
        if let Some(first) = first.filter(|_| screen.format() == Format::Human) {
            screen.line(&messages::explained(first.code))?;
        }
        match screen.format() {
            Format::Human => {
                let counts = [(files, "file"), (errors, "error"), (warnings, "warning")];
                let counts = counts.map(|(count, noun)| plural(count, noun)).join(", ");
                match allowed {
                    0 => screen.line(&counts)?,
                    allowed => screen.line(&format!("{counts} ({allowed} allowed)"))?,
                }
            }
            Format::Json => {
                let counts = json!({
                    "files": files, "errors": errors, "warnings": warnings, "refused": refused, "allowed": allowed,
                });
                screen.json("summary", counts)?;
            }
        }
        let results = Results::of_check(names.into_iter(), &findings, self.strict);
        self.reports.write(&results, screen)?;
        let valid = errors == 0 && !(self.strict && warnings > allowed);
        Ok(if valid { ExitCode::Yes } else { ExitCode::Invalid })
    }
}

/// The files that hold manifests, or something that is wrong; cases and recorded tasks beside them do not count.
fn files_with_manifests<'f>(catalog: &'f Catalog, findings: &'f [Diagnostic]) -> BTreeSet<&'f str> {
    let places = catalog.places().chain(findings.iter().map(|finding| &finding.place));
    places.map(|place| place.source.name()).collect()
}

fn plural(count: usize, noun: &str) -> String {
    let end = if count == 1 { "" } else { "s" };
    format!("{count} {noun}{end}")
}
