//! `celador repl`: expressions read, evaluated and shown, one after the other.
//!
//! In: a terminal, or lines through a pipe. Out: values with their types, errors with a caret. Through a pipe there are
//! no prompts, and the exit code says whether everything went well.
//!
//! | module | what it holds |
//! |---|---|
//! | `command` | an input to what it asks for |
//! | `answer` | what is done and shown for it |
//! | `session` | what expressions are evaluated in |
//! | `input` | where inputs come from |
//! | `complete` | what may stand at the cursor |
//! | `explain`, `tree` | the parts of an expression with their values, as data and as text |
//! | `rounds` | one round of a loop that is explained |
//! | `messages` | what all this says by itself |

mod answer;
mod command;
mod complete;
mod explain;
mod input;
mod messages;
mod rounds;
mod session;
mod tree;

use super::eval::scopes;
use super::subject::SubjectArguments;
use super::{ExitCode, Failure, Screen};
use answer::{Answer, Flow};
use celador::context::Scope;
use clap::Args;
use input::{Input, Next};
use session::Session;
use std::cell::RefCell;
use std::io::{self, IsTerminal as _};
use std::path::PathBuf;
use std::rc::Rc;

/// Try expressions out, one after the other
///
/// At a terminal: with history, completion and continued lines. Otherwise lines are read as they come, without prompts,
/// and the exit code is 1 if any of them failed. `:help` lists the commands.
#[derive(Args)]
#[command(after_long_help = "\
Examples:
  celador repl
  celador repl policies/support-desk --agent support-desk --scope before
  celador repl --context task.json
  celador repl --case cases/too-much.yaml
  echo \"size('héllo') == 5\" | celador repl

The file of --context is the JSON of a task context, or YAML with the keys `env` and `state` of a
case, which needs manifests.")]
pub(crate) struct Arguments {
    /// Manifests whose agent the task is of
    #[arg(value_name = "MANIFESTS")]
    manifests: Vec<PathBuf>,

    /// The agent, if the manifests have several
    #[arg(long, value_name = "NAME", requires = "manifests")]
    agent: Option<String>,

    /// The state of the task
    #[arg(long, value_name = "FILE")]
    context: Option<PathBuf>,

    /// A case: its manifests, its past, its clock, and the values that its operation brings
    #[arg(long, value_name = "FILE", conflicts_with_all = ["manifests", "agent", "context"])]
    case: Option<PathBuf>,

    /// Of a case with steps, the state ahead of this one, from 1
    #[arg(long, value_name = "N", requires = "case")]
    step: Option<usize>,

    /// The scope: which variables and functions there are; that of the case, else `after`
    #[arg(long, value_parser = scopes())]
    scope: Option<Scope>,
}

impl Arguments {
    pub(super) fn run(self, screen: &mut Screen) -> Result<ExitCode, Failure> {
        let Self { manifests, agent, context, case, step, .. } = self;
        let paths = SubjectArguments { manifests, agent, context, case, step };
        let session = Rc::new(RefCell::new(Session::open(self.scope, paths, screen)?));
        let attended = io::stdin().is_terminal() && io::stdout().is_terminal();
        let mut input =
            if attended { Input::terminal(&session)? } else { Input::pipe(session.borrow().limits().eval) };
        if attended {
            screen.line(&messages::welcome(env!("CARGO_PKG_VERSION")))?;
        }
        let mut failed = false;
        loop {
            screen.flush()?;
            let (text, line) = match input.next()? {
                Next::Text(text, line) => (text, line),
                Next::Again => continue,
                Next::End => break,
            };
            let source = line.map_or_else(|| "input".to_owned(), |line| format!("line {line}"));
            let mut answer =
                Answer { session: &mut session.borrow_mut(), screen: &mut *screen, source: &source };
            match answer.to(&text) {
                Ok(Flow::On) => {}
                Ok(Flow::End) => break,
                Err(Failure::Told(_)) => failed = true,
                Err(Failure::Unusable(message)) => {
                    screen.error(&message);
                    failed = true;
                }
                Err(output) => return Err(output),
            }
        }
        Ok(if failed && !attended { ExitCode::Unusable } else { ExitCode::Yes })
    }
}
