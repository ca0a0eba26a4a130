//! `celador check`: every problem of the manifests, with its place.

use super::{ExitCode, Failure, Format, Screen, messages};
use celador::cel::CostEstimate;
use celador::diagnostic::{Diagnostic, Standing};
use celador::engine::Engine;
use celador::limits::EngineLimits;
use celador::manifest::{Catalog, load};
use celador::scenario::Palette;
use clap::Args;
use serde_json::json;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

/// Check manifests: every problem with its place, and how to repair it
///
/// Reads files and folders together, as one namespace: an agent is checked against the tools that it names. Every
/// expression is compiled in its scope, so a misspelt field or an `output` in a `before` step is found here, not by a
/// rule that never fires.
#[derive(Args)]
#[command(after_long_help = "\
Examples:
  celador check policies/support-desk
  celador check agent.yaml tools/ --strict
  celador check policies/support-desk --cost
  celador check policies --format json | jq 'select(.severity == \"error\")'

A warning that may lose a rule is refused, here as by `serve`, `run` and `test` (docs/findings.md).
A comment on its line or on the line above allows it:
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
}

impl Arguments {
    pub(super) fn run(self, screen: &mut Screen) -> Result<ExitCode, Failure> {
        let limits = EngineLimits::default();
        let (files, mut findings) =
            load(&self.paths, &limits).map_err(|error| Failure::Unusable(error.to_string()))?;
        let (catalog, read) = Catalog::parse(&files, &limits);
        let (engine, compiled) = Engine::from_catalog(&catalog, limits);
        findings.extend(read);
        findings.extend(compiled);
        in_order(&mut findings);
        for finding in &findings {
            screen.diagnostic(finding)?;
        }
        if self.cost {
            list_costs(&catalog, &engine, screen)?;
        }
        let files = files_with_manifests(&catalog, &findings);
        let errors = findings.iter().filter(|finding| finding.is_error()).count();
        let warnings = findings.len().saturating_sub(errors);
        let warnings_that = |standing: fn(&Standing) -> bool| {
            findings.iter().filter(|finding| !finding.is_error() && standing(&finding.standing)).count()
        };
        let refused = warnings_that(|standing| *standing == Standing::Refused);
        let allowed = warnings_that(|standing| matches!(standing, Standing::Allowed(_)));
        match screen.format() {
            Format::Human => {
                let counts = [(files, "file"), (errors, "error"), (warnings, "warning")];
                let counts = counts.map(|(count, noun)| plural(count, noun)).join(", ");
                let of_which = [(refused, "refused"), (allowed, "allowed")];
                let of_which = of_which.iter().filter(|(count, _)| *count > 0);
                let of_which: Vec<String> = of_which.map(|(count, word)| format!("{count} {word}")).collect();
                match of_which.join(", ") {
                    none if none.is_empty() => screen.line(&counts)?,
                    some => screen.line(&format!("{counts} ({some})"))?,
                }
            }
            Format::Json => {
                let counts = json!({
                    "files": files, "errors": errors, "warnings": warnings, "refused": refused, "allowed": allowed,
                });
                screen.json("summary", counts)?;
            }
        }
        let valid = errors == 0 && refused == 0 && !(self.strict && warnings > allowed);
        Ok(if valid { ExitCode::Yes } else { ExitCode::Invalid })
    }
}

/// Brings the findings of each file into the order of their places; the files stay as they come.
fn in_order(findings: &mut [Diagnostic]) {
    let mut files: Vec<String> = Vec::new();
    for finding in findings.iter() {
        let file = finding.place.source.name();
        if !files.iter().any(|known| known == file) {
            files.push(file.to_owned());
        }
    }
    findings.sort_by_key(|finding| {
        let file = finding.place.source.name();
        (files.iter().position(|known| known == file), finding.place.span.start)
    });
}

/// How many files hold manifests, or something that is wrong; cases and recorded tasks beside them do not count.
fn files_with_manifests(catalog: &Catalog, findings: &[Diagnostic]) -> usize {
    let places = catalog.places().chain(findings.iter().map(|finding| &finding.place));
    places.map(|place| place.source.name()).collect::<BTreeSet<_>>().len()
}

/// Where an expression stands, its path and its text, what one evaluation costs, and the part of it that nothing bounds.
type Cost = ((String, usize, usize), (String, String, CostEstimate, Option<String>));

/// Lists the static cost of the expressions of all agents that are valid. One that several functions share is one line.
fn list_costs(catalog: &Catalog, engine: &Engine, screen: &mut Screen) -> Result<(), Failure> {
    let agents = catalog.agents().iter().map(|resolved| &resolved.agent);
    let policies = agents.filter_map(|agent| engine.policy(&agent.namespace.text, &agent.name.text).ok());
    let mut costs = BTreeMap::new();
    for policy in policies {
        costs.extend(policy.expressions().map(|expression| -> Cost {
            let origin = expression.origin();
            let program = expression.program();
            let cost = program.cost();
            let one_line = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
            let unbounded = cost.assumes.unbounded.and_then(|part| program.source().get(part.range()));
            let texts = (one_line(program.source()), unbounded.map(one_line));
            ((origin.file, origin.line, origin.column), (origin.path, texts.0, cost, texts.1))
        }));
    }
    let mut costs: Vec<Cost> = costs.into_iter().collect();
    costs.sort_by_key(|(_, (.., cost, _))| std::cmp::Reverse((cost.max.unwrap_or(u64::MAX), cost.min)));
    for ((file, line, column), (path, text, CostEstimate { min, max, assumes }, unbounded)) in costs {
        let assumes = messages::assumptions(&assumes);
        match screen.format() {
            Format::Human => {
                let Palette { bold, dim, reset, .. } = screen.palette();
                let max = max.map_or_else(|| "no bound".to_owned(), |max| max.to_string());
                screen.line(&format!("{bold}{min:>6} to {max:<9}{reset} {text}"))?;
                screen.line(&format!("{:19} {dim}{file}:{line}:{column}: {path}{reset}", ""))?;
                let terms = assumes.iter().map(|term| messages::if_assumed(term));
                for line in terms.chain(unbounded.as_deref().map(messages::unbounded)) {
                    screen.line(&format!("{:19} {dim}{line}{reset}", ""))?;
                }
            }
            Format::Json => {
                let cost = json!({
                    "file": file, "line": line, "column": column, "path": path,
                    "expr": text, "min": min, "max": max, "assumes": assumes,
                    "unbounded": unbounded,
                });
                screen.json("cost", cost)?;
            }
        }
    }
    Ok(())
}

fn plural(count: usize, noun: &str) -> String {
    let end = if count == 1 { "" } else { "s" };
    format!("{count} {noun}{end}")
}
