//! `celador switch`: an operator stops an agent, a tool or a user, for all servers that share a store.

use super::operator::Operator;
use super::{ExitCode, Failure, Format, Screen, clock, messages, store};
use celador::task::Switch;
use celador_store::StoreLimits;
use celador_store::{Database, StoreError, StoredSwitches, SwitchTurn};
use clap::{Args, Subcommand};
use serde_json::{Value, json};

/// Stop an agent, a tool or a user at once
#[derive(Args)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    action: Action,
}

#[derive(Subcommand)]
enum Action {
    /// Stop something: in force at the next step of every task, new or not, on every server that shares the store
    On(Turn),
    /// Let it go on
    Off(Turn),
    /// Say what is stopped
    List(List),
}

#[derive(Args)]
#[command(after_long_help = "\
Examples:
  celador switch on --agent support/support-desk --reason 'hands out refunds'
  celador switch on --tool support/payments --function refund --reason 'the bank is down'
  celador switch off --user u-7 --reason 'cleared'

Exit codes: 0 done, 2 it was not on, 1 it could not be done.")]
struct Turn {
    #[command(flatten)]
    subject: Subject,

    /// One action of the tool only
    #[arg(long, value_name = "NAME", requires = "tool")]
    function: Option<String>,

    /// Why; kept in the history
    #[arg(long, value_name = "TEXT")]
    reason: String,

    #[command(flatten)]
    operator: Operator,

    #[command(flatten)]
    store: Store,
}

#[derive(Args)]
#[group(required = true, multiple = false)]
struct Subject {
    /// An agent
    #[arg(long, value_name = "NAMESPACE/NAME")]
    agent: Option<String>,

    /// A tool, whichever agent calls it
    #[arg(long, value_name = "NAMESPACE/NAME")]
    tool: Option<String>,

    /// A user, by their id
    #[arg(long, value_name = "ID")]
    user: Option<String>,
}

#[derive(Args)]
struct List {
    /// All turns, those that were taken back too
    #[arg(long)]
    history: bool,

    #[command(flatten)]
    store: Store,
}

/// Where tasks are kept.
#[derive(Args)]
pub(super) struct Store {
    /// `file:PATH` or `postgres://…`; `CELADOR_STORE` if not said, so that a password stands in no list of processes
    #[arg(long, value_name = "STORE")]
    store: Option<String>,
}

impl Store {
    /// Opens a store that is there.
    pub(super) fn open(self, limits: &StoreLimits) -> Result<Database, Failure> {
        let location = store::location(self.store)?;
        Database::open(&location, limits).map_err(|error| Failure::Unusable(error.to_string()))
    }
}

impl Arguments {
    pub(super) fn run(self, screen: &mut Screen) -> Result<ExitCode, Failure> {
        match self.action {
            Action::On(turn) => turn.run(true, screen),
            Action::Off(turn) => turn.run(false, screen),
            Action::List(list) => list.run(screen),
        }
    }
}

impl Turn {
    fn run(self, on: bool, screen: &mut Screen) -> Result<ExitCode, Failure> {
        let switch = self.subject.switch(self.function)?;
        let limits = StoreLimits::default();
        let switches = StoredSwitches::new(self.store.open(&limits)?, &limits);
        let who = self.operator.name();
        match switches.turn(&switch, on, clock::now(None)?, &who, &self.reason) {
            Ok(turn) => {
                show(&turn, screen)?;
                Ok(ExitCode::Yes)
            }
            Err(StoreError::NotFound) => {
                screen.error(&messages::not_on(&switch.to_string()));
                Ok(ExitCode::No)
            }
            Err(error) => Err(Failure::Unusable(error.to_string())),
        }
    }
}

impl Subject {
    fn switch(self, function: Option<String>) -> Result<Switch, Failure> {
        match (self.agent, self.tool, self.user) {
            (Some(agent), _, _) => named(&agent).map(|(namespace, name)| Switch::Agent { namespace, name }),
            (_, Some(tool), _) => {
                named(&tool).map(|(namespace, name)| Switch::Tool { namespace, name, function })
            }
            (_, _, user) => Ok(Switch::User { name: user.unwrap_or_default() }),
        }
    }
}

/// A name with its namespace.
pub(super) fn named(text: &str) -> Result<(String, String), Failure> {
    match text.split_once('/') {
        Some((namespace, name)) if !namespace.is_empty() && !name.is_empty() => {
            Ok((namespace.to_owned(), name.to_owned()))
        }
        _ => Err(Failure::Unusable(messages::no_qualified_name(text))),
    }
}

impl List {
    fn run(self, screen: &mut Screen) -> Result<ExitCode, Failure> {
        let limits = StoreLimits { max_page: usize::MAX, ..StoreLimits::default() };
        let switches = StoredSwitches::new(self.store.open(&limits)?, &limits);
        let turns = match self.history {
            true => switches.history(0, usize::MAX),
            false => switches.on().map(|present| present.on),
        };
        for turn in turns.map_err(|error| Failure::Unusable(error.to_string()))? {
            show(&turn, screen)?;
        }
        Ok(ExitCode::Yes)
    }
}

fn show(turn: &SwitchTurn, screen: &mut Screen) -> Result<(), Failure> {
    let SwitchTurn { number, at, who, on, switch, reason } = turn;
    match screen.format() {
        Format::Human => {
            let turned = if *on { "on" } else { "off" };
            screen.line(&format!("{number} {at} {turned} {switch}, by {who}: {reason}"))?;
        }
        Format::Json => {
            let switch: Value = serde_json::to_value(switch).unwrap_or_default();
            let turn = json!({
                "number": number, "at": at, "who": who, "on": on, "switch": switch, "reason": reason
            });
            screen.json("switch", turn)?;
        }
    }
    Ok(())
}
