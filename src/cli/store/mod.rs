//! `celador store`: what an operator does to a store of tasks, beside the servers that use it. One action a file.
//!
//! In: a store, perhaps a task in it. Out: what is there, or what was done. Ending and purging are the same events and
//! tombstones as over HTTP; the line for the decision log is written by the command, or by the first server that finds it.

mod check;
mod end;
mod list;
mod log;
mod purge;

pub(super) use log::Log;

use super::operator::Operator;
use super::{ExitCode, Failure, Format, Screen, clock, messages};
use celador_store::StoreLimits;
use celador_store::{Database, Location, Owner, StoredTasks};
use clap::{Args, Subcommand};
use std::path::PathBuf;

/// See to a store of tasks: check it, list, end and purge its tasks
#[derive(Args)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    action: Action,
}

#[derive(Subcommand)]
enum Action {
    Check(check::Check),
    List(list::List),
    End(end::End),
    Purge(purge::Purge),
}

impl Arguments {
    pub(super) fn run(self, screen: &mut Screen) -> Result<ExitCode, Failure> {
        match self.action {
            Action::Check(check) => check.run(screen),
            Action::List(list) => list.run(screen),
            Action::End(end) => end.run(screen),
            Action::Purge(purge) => purge.run(screen),
        }
    }
}

/// The store that an argument or the environment names, which has to be there: opening would make one.
pub(super) fn location(said: Option<String>) -> Result<Location, Failure> {
    let store = said.or_else(|| std::env::var("CELADOR_STORE").ok()).unwrap_or_default();
    let location = Location::parse(&store);
    if matches!(&location, Location::File(path) if !path.is_file()) {
        return Err(Failure::Unusable(messages::no_store(&store)));
    }
    Ok(location)
}

/// The folder of the log in which hooks that observe count unjudged events: beside the store. `None` for a store that is no file.
pub(super) fn unjudged_folder(store: &Location) -> Option<PathBuf> {
    let Location::File(path) = store else { return None };
    let mut name = path.clone().into_os_string();
    name.push(".unjudged");
    Some(name.into())
}

/// The tasks of the store that an argument or the environment names.
pub(super) fn tasks(said: Option<String>, limits: &StoreLimits) -> Result<StoredTasks, Failure> {
    let location = location(said)?;
    let database = Database::open(&location, limits).map_err(|error| Failure::Unusable(error.to_string()))?;
    Ok(StoredTasks::new(database, limits))
}

/// Whose a task is: the caller who was said, or the only one who has or had a task of this id.
pub(super) fn owner_of(
    tasks: &StoredTasks,
    id: &str,
    said: Option<String>,
) -> Result<Option<Owner>, Failure> {
    if let Some(owner) = said {
        return Ok(Some(Owner::caller(&owner)));
    }
    let owners = tasks.owners_of(id).map_err(|error| Failure::Unusable(error.to_string()))?;
    match <[Owner; 1]>::try_from(owners) {
        Ok([owner]) => Ok(Some(owner)),
        Err(owners) if owners.is_empty() => Ok(None),
        Err(_) => Err(Failure::Unusable(messages::several_owners(id))),
    }
}

/// Two positional arguments of which the first may be left out.
fn store_and_task(mut named: Vec<String>) -> (Option<String>, String) {
    let task = named.pop().unwrap_or_default();
    (named.pop(), task)
}
