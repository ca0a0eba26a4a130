//! `celador schedule`: when the schedules run next.

use super::{ExitCode, Failure, Format, Screen, clock, load_engine};
use celador::cel::Timestamp;
use celador::limits::EngineLimits;
use clap::Args;
use serde_json::json;
use std::path::PathBuf;

/// Show when schedules run next, in UTC
///
/// Reads files and folders together, as one namespace. A schedule that is not enabled has no runs.
#[derive(Args)]
#[command(after_long_help = "\
Examples:
  celador schedule policies/
  celador schedule nightly.yaml agent.yaml --count 10 --now 2026-10-24T00:00:00Z

Exit codes: 0 shown, 3 the manifests are not valid, 1 a path cannot be read.")]
pub(crate) struct Arguments {
    /// Manifest files, and folders to search for them
    #[arg(required = true, value_name = "PATH")]
    paths: Vec<PathBuf>,

    /// How many runs of each schedule
    #[arg(long, default_value = "5", value_parser = clap::value_parser!(u16).range(1..=1_000))]
    count: u16,

    /// The time after which to look, in RFC 3339; the clock's, if left out
    #[arg(long, value_name = "TIME")]
    now: Option<String>,
}

impl Arguments {
    pub(super) fn run(self, screen: &mut Screen) -> Result<ExitCode, Failure> {
        let now = clock::now(self.now.as_deref())?;
        let (catalog, _) = load_engine(&self.paths, EngineLimits::default(), screen)?;
        for resolved in catalog.schedules() {
            let schedule = &resolved.document;
            let launch = &schedule.launch;
            let title = format!("{}/{}", launch.namespace.text, launch.name.text);
            let zone = schedule.timezone.as_ref().map_or("UTC", |zone| &zone.text);
            let runs = schedule.next_runs(now, self.count.into());
            let runs: Vec<String> = runs.iter().map(Timestamp::to_string).collect();
            match screen.format() {
                Format::Human => {
                    let state = if launch.enabled { "" } else { ", not enabled" };
                    screen.line(&format!("{title}: {} {zone}{state}", schedule.cron.text))?;
                    for run in &runs {
                        screen.line(&format!("  {run}"))?;
                    }
                }
                Format::Json => {
                    let shown = json!({ "schedule": title, "enabled": launch.enabled, "runs": runs });
                    screen.json("schedule", shown)?;
                }
            }
        }
        Ok(ExitCode::Yes)
    }
}
