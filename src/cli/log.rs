//! `celador log`: the decision log of a server or a runtime, read again.

use super::{ExitCode, Failure, Format, Screen};
use celador::decision_log::{Digest, Intact, verify};
use clap::{Args, Subcommand};
use serde_json::json;
use std::path::PathBuf;

/// Check that a decision log is as it was written
#[derive(Args)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    action: Action,
}

#[derive(Subcommand)]
enum Action {
    Verify(Verify),
}

/// Read a whole log again: is each line the one that was written, and does each follow the one before?
///
/// Each line holds the digest of the line before it, so a line that was changed, dropped, inserted or moved is found at its
/// place. Lines cut off the end are found with the digest of a line that was noted before: `--head`.
#[derive(Args)]
#[command(after_long_help = "\
Examples:
  celador log verify /var/lib/celador/decisions
  celador log verify decisions --head 3f0c…  some line must have this digest

Exit codes: 0 as it was written, 2 not, 1 it cannot be read.")]
struct Verify {
    /// The folder of the log
    #[arg(value_name = "FOLDER")]
    folder: PathBuf,

    /// A digest that was noted once, as this command prints it
    #[arg(long, value_name = "DIGEST")]
    head: Option<Digest>,
}

impl Arguments {
    pub(super) fn run(self, screen: &mut Screen) -> Result<ExitCode, Failure> {
        match self.action {
            Action::Verify(verify) => verify.run(screen),
        }
    }
}

impl Verify {
    fn run(self, screen: &mut Screen) -> Result<ExitCode, Failure> {
        let found = match verify(&self.folder, self.head) {
            Ok(intact) => Ok(intact),
            Err(error) if error.is_broken() => Err(error.to_string()),
            Err(error) => return Err(Failure::Unusable(error.to_string())),
        };
        match (screen.format(), &found) {
            (Format::Human, Ok(Intact { files, first, last, head })) => {
                screen.line(&format!("lines {first} to {last} in {files} file(s), as they were written"))?;
                screen.line(&format!("head {head}"))?;
            }
            (Format::Human, Err(message)) => screen.error(message),
            (Format::Json, Ok(Intact { files, first, last, head })) => {
                let head = head.to_string();
                screen.json(
                    "log",
                    json!({ "intact": true, "files": files, "first": first, "last": last, "head": head }),
                )?;
            }
            (Format::Json, Err(message)) => {
                screen.json("log", json!({ "intact": false, "message": message }))?;
            }
        }
        Ok(if found.is_ok() { ExitCode::Yes } else { ExitCode::No })
    }
}
