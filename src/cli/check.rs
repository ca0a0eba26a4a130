//! `celador check`: every problem of the manifests, with its place.

use super::{ExitCode, Failure, Format, Screen};
use celador::limits::EvalLimits;
use celador::manifest::{Catalog, load};
use clap::Args;
use serde_json::json;
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
  celador check policies --format json | jq 'select(.severity == \"error\")'

Exit codes: 0 valid, 3 not valid (with --strict: or doubtful), 1 a path cannot be read.")]
pub(crate) struct Arguments {
    /// Manifest files, and folders to search for them
    #[arg(required = true, value_name = "PATH")]
    paths: Vec<PathBuf>,

    /// Refuse warnings as well
    #[arg(long)]
    strict: bool,
}

impl Arguments {
    pub(super) fn run(self, screen: &mut Screen) -> Result<ExitCode, Failure> {
        let limits = EvalLimits::default();
        let (files, mut findings) =
            load(&self.paths, &limits).map_err(|error| Failure::Unusable(error.to_string()))?;
        let (_, more) = Catalog::parse(&files, &limits);
        findings.extend(more);
        for finding in &findings {
            screen.diagnostic(finding)?;
        }
        let errors = findings.iter().filter(|finding| finding.is_error()).count();
        let warnings = findings.len().saturating_sub(errors);
        match screen.format() {
            Format::Human => {
                let counts = [(files.len(), "file"), (errors, "error"), (warnings, "warning")];
                screen.line(&counts.map(|(count, noun)| plural(count, noun)).join(", "))?;
            }
            Format::Json => {
                let counts = json!({ "files": files.len(), "errors": errors, "warnings": warnings });
                screen.json("summary", counts)?;
            }
        }
        let valid = errors == 0 && !(self.strict && warnings > 0);
        Ok(if valid { ExitCode::Yes } else { ExitCode::Invalid })
    }
}

fn plural(count: usize, noun: &str) -> String {
    let end = if count == 1 { "" } else { "s" };
    format!("{count} {noun}{end}")
}
