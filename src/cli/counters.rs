//! `celador counters`: what counts across tasks in a store, and a counter that begins anew, beside the servers that use the store.

use super::operator::Operator;
use super::store::Log;
use super::switch::Store;
use super::{ExitCode, Failure, Format, Screen, clock, messages};
use celador::cel::Json;
use celador::counter::CounterId;
use celador::scenario::visible;
use celador_store::{CounterReset, DueLine, Owner, StoreError, StoreLimits, StoredCounter, StoredTasks};
use clap::{Args, Subcommand};
use serde_json::json;
use std::path::PathBuf;

/// See what counts across tasks, and reset a counter
#[derive(Args)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    action: Action,
}

#[derive(Subcommand)]
enum Action {
    /// List the counters of a store, of all callers
    ///
    /// One line a counter: caller (`-` for nobody), policy and name, key as JSON (`-` without one), the amount that counts now, the
    /// part of it that calls hold, and the window. A server may go on working meanwhile.
    List(List),
    /// Forget what was spent of a counter
    ///
    /// What calls hold that are under way goes on counting. A server may go on working meanwhile. The line for the decision log is
    /// written to `--decision-log`, or by the first server with a log that finds it.
    Reset(Reset),
}

#[derive(Args)]
#[command(after_long_help = "\
Examples:
  celador counters list --store celador-data/celador.db
  CELADOR_STORE=postgres://celador@db/celador celador counters list --owner desk

Exit codes: 0 listed, 1 the store cannot be read.")]
struct List {
    /// Counters of this caller only; empty for nobody's
    #[arg(long, value_name = "CALLER")]
    owner: Option<String>,

    #[command(flatten)]
    store: Store,
}

#[derive(Args)]
#[command(after_long_help = "\
Examples:
  celador counters reset shop/spending#spend --key u-7 --reason 'the payments were called back'
  celador counters reset shop/mail#sent --owner desk --reason 'a test run' --store celador-data/celador.db

Exit codes: 0 done, 2 there is no such counter, 1 it could not be done.")]
struct Reset {
    /// The policy and the counter's name in it, with `#` between
    #[arg(value_name = "POLICY#NAME")]
    counter: String,

    /// The text of its key, if it has one
    #[arg(long, value_name = "TEXT")]
    key: Option<String>,

    /// Its key as `celador counters list` shows it: for a key that is shown as a digest
    #[arg(long, value_name = "KEY", conflicts_with = "key")]
    listed_key: Option<String>,

    /// Whose tasks count on it; nobody's if not said
    #[arg(long, value_name = "CALLER", default_value = "", hide_default_value = true)]
    owner: String,

    /// Why; kept in the decision log
    #[arg(long, value_name = "TEXT")]
    reason: String,

    #[command(flatten)]
    operator: Operator,

    #[command(flatten)]
    store: Store,

    /// The decision log to write to; no server may have it open
    #[arg(long, value_name = "FOLDER")]
    decision_log: Option<PathBuf>,
}

impl Arguments {
    pub(super) fn run(self, screen: &mut Screen) -> Result<ExitCode, Failure> {
        match self.action {
            Action::List(list) => list.run(screen),
            Action::Reset(reset) => reset.run(screen),
        }
    }
}

impl List {
    fn run(self, screen: &mut Screen) -> Result<ExitCode, Failure> {
        let limits = StoreLimits::default();
        let tasks = StoredTasks::new(self.store.open(&limits)?, &limits);
        let owner = self.owner.as_deref().map(Owner::caller);
        let mut last: Option<StoredCounter> = None;
        loop {
            let after = last.as_ref().map(|last| (&last.owner, &last.counter));
            let page = tasks.list_counters(owner.as_ref(), after, limits.max_page);
            let page = page.map_err(|error| Failure::Unusable(error.to_string()))?;
            for found in &page {
                show(found, screen)?;
            }
            match page.into_iter().next_back() {
                Some(found) => last = Some(found),
                None => return Ok(ExitCode::Yes),
            }
        }
    }
}

impl Reset {
    fn run(self, screen: &mut Screen) -> Result<ExitCode, Failure> {
        let Some((policy, name)) = self.counter.rsplit_once('#') else {
            return Err(Failure::Unusable(messages::no_counter_name(&self.counter)));
        };
        let counter = match (&self.key, &self.listed_key) {
            (Some(key), _) => CounterId::keyed(policy, name, &Json::string(key)),
            (None, key) => CounterId::new(policy, name, key.as_deref().unwrap_or_default()),
        };
        let (limits, at) = (StoreLimits::default(), clock::now(None)?);
        let tasks = StoredTasks::new(self.store.open(&limits)?, &limits);
        let log = Log::open(self.decision_log, at)?;
        let who = self.operator.name();
        let reset = CounterReset { at, who: &who, reason: &self.reason };
        let line = |line| Some(DueLine::for_any_log(line));
        match tasks.reset_counter(&Owner::caller(&self.owner), &counter, &reset, line) {
            Ok(mut found) => {
                log.write(tasks.database())?;
                found.state.tally.forget_spent();
                show(&found, screen)?;
                Ok(ExitCode::Yes)
            }
            Err(StoreError::NotFound) => {
                screen.error(&messages::no_counter(&self.counter));
                Ok(ExitCode::No)
            }
            Err(error) => Err(Failure::Unusable(error.to_string())),
        }
    }
}

fn show(found: &StoredCounter, screen: &mut Screen) -> Result<(), Failure> {
    let StoredCounter { owner, counter, state } = found;
    let counted = state.counted(state.window, clock::now(None)?);
    let (held, window) = (state.tally.held(), state.window);
    match screen.format() {
        Format::Human => {
            let or_dash = |text: &str| if text.is_empty() { "-".to_owned() } else { visible(text) };
            let (owner, key) = (or_dash(owner.as_str()), or_dash(counter.key()));
            let (policy, name) = (visible(counter.policy()), counter.name());
            screen.line(&format!("{owner} {policy}#{name} {key} {counted} {held} {window}"))?;
        }
        Format::Json => {
            let row = json!({
                "owner": owner.as_str(), "policy": counter.policy(), "name": counter.name(), "key": counter.key(),
                "window": window.to_string(), "counted": counted.to_string(), "held": held.to_string(),
            });
            screen.json("counter", row)?;
        }
    }
    Ok(())
}
