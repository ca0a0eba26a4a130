//! `celador log`: the decision log of a server or a runtime, read again.

use super::messages;
use super::{ExitCode, Failure, Format, Screen};
use celador_store::decision_log::{Digest, Intact, verify};
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
/// place. Lines cut off the end are found with the digest of a line that was noted before: `--head`. With `--store` each
/// decision of the store has to be in a log, and each line has to have its decision in the store; several servers over one
/// store each have a log, and all of them are compared together. A server may go on working meanwhile.
#[derive(Args)]
#[command(after_long_help = "\
Examples:
  celador log verify /var/lib/celador/decisions
  celador log verify decisions --head 3f0c…  some line must have this digest
  celador log verify decisions --store celador-data/celador.db
  celador log verify server-1 server-2 --store postgres://celador@db/celador

Environment:
  CELADOR_STORE   what `--store` is without a value, so that a password stands in no list of processes

Exit codes: 0 as it was written and nothing missing, 2 not, 1 it cannot be read.")]
struct Verify {
    /// The folder of the log; with `--store` those of all servers of the store
    #[arg(value_name = "FOLDER", required = true)]
    folders: Vec<PathBuf>,

    /// A digest that was noted once, as this command prints it; some log must have it
    #[arg(long, value_name = "DIGEST")]
    head: Option<Digest>,

    /// The store of the servers that wrote the logs: a file, or `postgres://…`
    #[arg(long, value_name = "STORE", num_args = 0..=1, default_missing_value = "")]
    store: Option<String>,
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
        let mut code = ExitCode::Yes;
        let mut noted = self.head;
        for (position, folder) in (1_usize..).zip(&self.folders) {
            let is_last = position == self.folders.len();
            // the digest may be of any of the logs
            let found = match verify(folder, noted) {
                Ok(intact) => {
                    noted = None;
                    Ok(intact)
                }
                Err(celador_store::decision_log::VerifyError::Missing(_)) if !is_last => verify(folder, None),
                Err(error) => Err(error),
            };
            match found {
                Ok(intact) => tell(screen, &intact)?,
                Err(error) if error.is_broken() => {
                    code = ExitCode::No;
                    match screen.format() {
                        Format::Human => screen.error(&error.to_string()),
                        Format::Json => {
                            screen.json("log", json!({ "intact": false, "message": error.to_string() }))?;
                        }
                    }
                }
                Err(error) => return Err(Failure::Unusable(error.to_string())),
            }
        }
        if let (Some(store), ExitCode::Yes) = (&self.store, &code) {
            return against_store(screen, store, &self.folders);
        }
        Ok(code)
    }
}

fn tell(screen: &mut Screen, intact: &Intact) -> Result<(), Failure> {
    let Intact { files, first, said, last, head } = intact;
    match screen.format() {
        Format::Human => {
            let begins = match (first, said) {
                (0 | 1, _) => "",
                (_, true) => "; those before were removed by a rule, as a line says",
                (_, false) => "; those before are not there, and no line says why",
            };
            screen
                .line(&format!("lines {first} to {last} in {files} file(s), as they were written{begins}"))?;
            screen.line(&format!("head {head}"))?;
        }
        Format::Json => {
            let head = head.to_string();
            let intact = json!({ "intact": true, "files": files, "first": first, "said": said, "last": last, "head": head });
            screen.json("log", intact)?;
        }
    }
    Ok(())
}

/// Compares logs with their store and names each difference.
fn against_store(screen: &mut Screen, store: &str, folders: &[PathBuf]) -> Result<ExitCode, Failure> {
    use celador_store::{Database, Difference, Location, compare};
    let store = match store {
        "" => std::env::var("CELADOR_STORE").unwrap_or_default(),
        store => store.to_owned(),
    };
    let location = Location::parse(&store);
    // opening would make one
    if matches!(&location, Location::File(path) if !path.is_file()) {
        return Err(Failure::Unusable(messages::no_store(&store)));
    }
    let unusable = |error: &dyn std::fmt::Display| Failure::Unusable(error.to_string());
    let database = Database::open(&location, &celador_store::StoreLimits::default());
    let database = database.map_err(|error| unusable(&error))?;
    let (mut differences, mut told) = (0_u64, Ok(()));
    let compared = compare(&database, folders, |difference| {
        differences = differences.saturating_add(1);
        if told.is_err() {
            return;
        }
        told = match screen.format() {
            Format::Human => screen.line(&messages::difference(&difference)),
            Format::Json => {
                let difference = match &difference {
                    Difference::Missing { owner, task, version, at, operation } => {
                        json!({ "difference": "missing", "owner": owner, "task": task, "version": version, "at": at, "operation": operation })
                    }
                    Difference::WithoutDecision { folder, line } => {
                        json!({ "difference": "without_decision", "folder": folder, "line": line.number, "task": line.task, "version": line.version })
                    }
                    Difference::Different { folder, line } => {
                        json!({ "difference": "different", "folder": folder, "line": line.number, "task": line.task, "version": line.version })
                    }
                };
                screen.json("difference", difference)
            }
        };
    });
    told?;
    let compared = compared.map_err(|error| unusable(&error))?;
    match screen.format() {
        Format::Human => screen.line(&format!(
            "{} decision(s) in the store, {} line(s) about decisions, {} of them late, {} other line(s); {differences} difference(s)",
            compared.decisions, compared.lines, compared.late, compared.apart
        ))?,
        Format::Json => screen.json(
            "compared",
            json!({ "decisions": compared.decisions, "lines": compared.lines, "late": compared.late, "others": compared.apart, "differences": differences }),
        )?,
    }
    Ok(if differences == 0 { ExitCode::Yes } else { ExitCode::No })
}
