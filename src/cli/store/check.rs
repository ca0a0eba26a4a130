//! `celador store check`: a store of tasks, read again as a whole.

use super::{ExitCode, Failure, Format, Screen, location};
use celador_store::StoreLimits;
use celador_store::{Database, Location, StoreError, StoredTasks, Verified};
use clap::Args;
use serde_json::json;

/// Read a whole store again: is each row the one that was written, and does each event follow the one before?
///
/// Tests the digest of every row, the chain of every task's events, and of a file its pages and indexes. A server may go on
/// working meanwhile.
#[derive(Args)]
#[command(after_long_help = "\
Examples:
  celador store check celador-data/celador.db
  CELADOR_STORE=postgres://celador@db/celador celador store check

Exit codes: 0 as it was written, 2 not, 1 it cannot be read.")]
pub(super) struct Check {
    /// The file, or `postgres://…`; `CELADOR_STORE` if not said, so that a password stands in no list of processes
    #[arg(value_name = "STORE")]
    store: Option<String>,
}

impl Check {
    pub(super) fn run(self, screen: &mut Screen) -> Result<ExitCode, Failure> {
        let location = location(self.store)?;
        let found = match verify(&location) {
            Ok(verified) => Ok(verified),
            Err(error @ (StoreError::Corrupt(_) | StoreError::NotOurs)) => Err(error.to_string()),
            Err(error) => return Err(Failure::Unusable(error.to_string())),
        };
        match (screen.format(), &found) {
            (Format::Human, Ok(Verified { tasks, events, answers, tombstones, reviews, counters })) => {
                let purged =
                    if *tombstones == 0 { String::new() } else { format!(", {tombstones} tombstone(s)") };
                let asked = if *reviews == 0 { String::new() } else { format!(", {reviews} review(s)") };
                let counted = if *counters == 0 { String::new() } else { format!(", {counters} counter(s)") };
                screen.line(&format!(
                    "{tasks} task(s), {events} event(s), {answers} answer(s){asked}{counted}{purged}, as they were written"
                ))?;
            }
            (Format::Human, Err(message)) => screen.error(message),
            (Format::Json, Ok(Verified { tasks, events, answers, tombstones, reviews, counters })) => {
                let sound = json!({
                    "intact": true, "tasks": tasks, "events": events, "answers": answers, "tombstones": tombstones,
                    "reviews": reviews, "counters": counters
                });
                screen.json("store", sound)?;
            }
            (Format::Json, Err(message)) => {
                screen.json("store", json!({ "intact": false, "message": message }))?;
            }
        }
        Ok(if found.is_ok() { ExitCode::Yes } else { ExitCode::No })
    }
}

fn verify(location: &Location) -> Result<Verified, StoreError> {
    let limits = StoreLimits::default();
    StoredTasks::new(Database::open(location, &limits)?, &limits).verify()
}
