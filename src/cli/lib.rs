//! The command line: one command a file, each from its arguments to an exit code.
//!
//! In: the arguments. Out: text or JSON on standard output, errors on standard error, and one of the codes of `exit`.
//! This is the rim: files are read and the clock is asked here and nowhere below. No input makes it panic.

mod check;
mod clock;
mod completions;
#[cfg(feature = "store")]
mod counters;
mod coverage;
#[cfg(feature = "gateway")]
mod decisions;
mod diff;
mod eval;
mod exit;
mod explain;
mod explain_code;
#[cfg(feature = "store")]
mod explain_stored;
mod files;
mod fmt;
mod functions;
mod hash_key;
#[cfg(feature = "server")]
mod hook;
mod import;
mod init;
mod launcher;
mod limits;
#[cfg(feature = "store")]
mod log;
#[cfg(feature = "gateway")]
mod mcp;
mod messages;
mod mutants;
#[cfg(feature = "store")]
mod operator;
mod prove;
#[cfg(feature = "gateway")]
mod proxy;
mod ready_policies;
mod repl;
mod replay;
#[cfg(feature = "store")]
mod report;
#[cfg(feature = "server")]
mod reviews;
mod run;
mod schedule;
mod schema;
mod screen;
#[cfg(feature = "server")]
mod serve;
#[cfg(feature = "server")]
mod service;
mod service_reports;
#[cfg(feature = "store")]
mod store;
mod subject;
#[cfg(feature = "store")]
mod switch;
#[cfg(feature = "store")]
mod task;
mod test;
mod timeline;
mod variables;
mod watch;

use clap::error::ErrorKind;
use clap::{Parser, Subcommand};
use exit::ExitCode;
use files::{load_engine, read_source, read_text};
pub use launcher::Launcher;
use launcher::Started;
use screen::{Color, Format, Screen};
use std::ffi::OsString;
use std::io;

#[derive(Parser)]
#[command(
    name = "celador",
    version,
    about = "Policy and guardrail engine for AI agents",
    long_about = "Celador checks, evaluates and tests the policies of AI agents: the CEL middleware, guardrails and \
                  limits that Common Agent manifests declare.",
    after_help = format!("{EXAMPLES}\n\n{}", ExitCode::help()),
    propagate_version = true,
    max_term_width = 100
)]
struct Arguments<C: Subcommand> {
    #[command(subcommand)]
    command: C,

    /// For whom the output is: text for people, or one JSON object a line for programs
    #[arg(long, global = true, value_enum, default_value = "human")]
    format: Format,

    /// When to use colours; `auto` also heeds NO_COLOR
    #[arg(long, global = true, value_enum, default_value = "auto")]
    color: Color,
}

const EXAMPLES: &str = "\
Examples:
  celador init my-agent                            an agent, a tool and cases to begin with
  celador check policies/                          every problem of the manifests, with its place
  celador eval \"size('héllo') == 5\"                one expression
  celador run policies/support-desk task.yaml      a recorded task, step by step
  celador test policies/                           all cases below a folder
  celador repl policies/support-desk               expressions, one after the other";

#[derive(Subcommand)]
enum Command {
    Init(init::Arguments),
    Import(import::Arguments),
    Check(check::Arguments),
    Eval(eval::Arguments),
    Run(run::Arguments),
    Test(test::Arguments),
    Fmt(fmt::Arguments),
    Diff(diff::Arguments),
    Prove(prove::Arguments),
    Replay(Box<replay::Arguments>),
    Explain(explain::Arguments),
    ExplainCode(explain_code::Arguments),
    Repl(repl::Arguments),
    Schedule(schedule::Arguments),
    Functions(functions::Arguments),
    Variables(variables::Arguments),
    Schema(schema::Arguments),
    Limits(limits::Arguments),
    #[cfg(feature = "server")]
    Serve(Box<serve::Arguments>),
    #[cfg(feature = "server")]
    Hook(hook::Arguments),
    #[cfg(feature = "server")]
    Reviews(reviews::Arguments),
    #[cfg(feature = "gateway")]
    Mcp(Box<mcp::Arguments>),
    #[cfg(feature = "gateway")]
    Proxy(Box<proxy::Arguments>),
    #[cfg(feature = "store")]
    Store(store::Arguments),
    #[cfg(feature = "store")]
    Switch(switch::Arguments),
    #[cfg(feature = "store")]
    Counters(counters::Arguments),
    #[cfg(feature = "store")]
    Task(task::Arguments),
    #[cfg(feature = "store")]
    Log(log::Arguments),
    #[cfg(feature = "store")]
    Report(report::Arguments),
    Completions(completions::Arguments),
}

/// The command that Claude Code starts at each event, by itself: to lay out the options of all others would take longer than to read its own.
#[cfg(feature = "server")]
#[derive(Subcommand)]
enum HookAlone {
    Hook(hook::Arguments),
}

/// Why a command ended without an answer.
enum Failure {
    /// It has said so already.
    Told(ExitCode),
    /// It could not do its work, for this reason.
    Unusable(String),
    /// Its output cannot be written.
    Output(io::Error),
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Self::Output(error)
    }
}

/// Runs the command that these arguments name, the first of which is the name of the program, and gives the code to end the
/// process with.
///
/// ```
/// let answer = celador_cli::run(["celador", "limits", "--format", "json"].map(Into::into));
/// assert_eq!(answer, 0);
/// assert_eq!(celador_cli::run(["celador", "chekc"].map(Into::into)), 1); // and says on standard error what it takes
/// ```
pub fn run(arguments: impl IntoIterator<Item = OsString>) -> u8 {
    run_by(Launcher::own(), arguments)
}

/// The same for whoever brings the command along, as a package of another language does. `launcher` says how the command is started there; without it nothing is
/// written that starts it.
pub fn run_by(launcher: Option<Launcher>, arguments: impl IntoIterator<Item = OsString>) -> u8 {
    let arguments: Vec<OsString> = arguments.into_iter().collect();
    answer(&Started::new(launcher), arguments) as u8
}

#[cfg(feature = "server")]
fn parsed(arguments: Vec<OsString>, is_hook: bool) -> Result<Arguments<Command>, clap::Error> {
    if !is_hook {
        return Arguments::try_parse_from(arguments);
    }
    let Arguments { command: HookAlone::Hook(hook), format, color } = Arguments::try_parse_from(arguments)?;
    Ok(Arguments { command: Command::Hook(hook), format, color })
}

#[cfg(not(feature = "server"))]
fn parsed(arguments: Vec<OsString>, _: bool) -> Result<Arguments<Command>, clap::Error> {
    Arguments::try_parse_from(arguments)
}

#[cfg_attr(
    not(feature = "server"),
    expect(unused_variables, reason = "hooks alone ask how the program was started")
)]
fn answer(started: &Started, arguments: Vec<OsString>) -> ExitCode {
    let is_hook = matches!(&*arguments, [_, hook, agent, ..] if hook == "hook" && agent == "claude-code");
    let arguments = match parsed(arguments, is_hook) {
        Ok(arguments) => arguments,
        // a hook with arguments that nobody understands must not let anything by
        Err(error) => match usage(&error) {
            ExitCode::Unusable if is_hook => return ExitCode::No,
            code => return code,
        },
    };
    let mut screen = Screen::new(arguments.format, arguments.color);
    let answer = match arguments.command {
        Command::Init(init) => init.run(&mut screen),
        Command::Import(import) => import.run(&mut screen),
        Command::Check(check) => check.run(&mut screen),
        Command::Eval(eval) => eval.run(&mut screen),
        Command::Run(run) => run.run(&mut screen),
        Command::Test(test) => test.run(&mut screen),
        Command::Fmt(fmt) => fmt.run(&mut screen),
        Command::Diff(diff) => diff.run(&mut screen),
        Command::Prove(prove) => prove.run(&mut screen),
        Command::Replay(replay) => replay.run(&mut screen),
        Command::Explain(explain) => explain.run(&mut screen),
        Command::ExplainCode(explain) => explain.run(&mut screen),
        Command::Repl(repl) => repl.run(&mut screen),
        Command::Schedule(schedule) => schedule.run(&mut screen),
        Command::Functions(functions) => functions.run(&mut screen),
        Command::Variables(variables) => variables.run(&mut screen),
        Command::Schema(schema) => schema.run(&mut screen),
        Command::Limits(limits) => limits.run(&mut screen),
        #[cfg(feature = "server")]
        Command::Serve(serve) => serve.run(&mut screen),
        #[cfg(feature = "server")]
        Command::Hook(hook) => hook.run(started, &mut screen),
        #[cfg(feature = "server")]
        Command::Reviews(reviews) => reviews.run(&mut screen),
        #[cfg(feature = "gateway")]
        Command::Mcp(mcp) => mcp.run(&mut screen),
        #[cfg(feature = "gateway")]
        Command::Proxy(proxy) => proxy.run(&mut screen),
        #[cfg(feature = "store")]
        Command::Store(store) => store.run(&mut screen),
        #[cfg(feature = "store")]
        Command::Switch(switch) => switch.run(&mut screen),
        #[cfg(feature = "store")]
        Command::Counters(counters) => counters.run(&mut screen),
        #[cfg(feature = "store")]
        Command::Task(task) => task.run(&mut screen),
        #[cfg(feature = "store")]
        Command::Log(log) => log.run(&mut screen),
        #[cfg(feature = "store")]
        Command::Report(report) => report.run(&mut screen),
        Command::Completions(completions) => completions.run(&mut screen),
    };
    let answer = answer.and_then(|code| Ok(screen.flush().map(|()| code)?));
    match answer {
        Ok(code) | Err(Failure::Told(code)) => code,
        Err(Failure::Unusable(message)) => {
            screen.error(&message);
            ExitCode::Unusable
        }
        Err(Failure::Output(error)) => {
            screen.error(&messages::cannot_write(&error));
            ExitCode::Unusable
        }
    }
}

/// Help and version are answers; all else is a mistake. A closed stream leaves nobody to tell.
fn usage(error: &clap::Error) -> ExitCode {
    let _ = error.print();
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => ExitCode::Yes,
        _ => ExitCode::Unusable,
    }
}
