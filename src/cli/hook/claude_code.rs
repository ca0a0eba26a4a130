//! `celador hook claude-code`: one event of Claude Code on standard input, the answer of its hook on standard output.
//!
//! In: the event, and who decides: the manifests that are named, with the tasks of sessions in a store, or a server. Out: the JSON that
//! Claude Code reads, and 0. The request is the same in both cases (`POST /hooks/claude-code`), so the answer is. Where nothing can be
//! decided the answer refuses; where not even that can be said the code is 2, which Claude Code takes for a refusal, too.

use super::super::hash_key::HashKeyFile;
use super::super::service::from_environment;
use super::super::{ExitCode, Failure, Screen};
use super::config_change::{self, Settled};
use super::how::How;
use super::messages;
use super::nested;
use super::settings::timeout;
use super::unjudged_log;
use celador_server::{
    HookDesk, Parts, ReadManifests, ServerLimits, Settings, UnknownEvent, hook_refusal, hook_stranger,
    system_clock,
};
use celador_service::{Client, ClientReply};
use celador_store::{Database, Location};
use clap::Args;
use serde_json::Value;
use std::io::{self, Read as _, Write as _};
use std::mem::forget;
use std::panic;
use std::path::{Path, PathBuf};
use std::process;
#[cfg(unix)]
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::Duration;

/// Answer an event of a hook of Claude Code
///
/// Reads the event on standard input and writes the answer of the hook. `celador hook install` writes hooks that call it.
#[derive(Args)]
#[command(after_long_help = "\
Exit codes: 0 with an answer; 2 for an event that is unknown or cannot be read, and where no answer can be written; 1 in the place of a refusal without rules with `--fail open`.")]
pub(crate) struct Arguments {
    /// Manifest files, and folders to search for them
    #[arg(value_name = "MANIFESTS", default_value = "policies")]
    manifests: Vec<PathBuf>,

    /// Where the tasks of sessions are kept: `file:PATH` or `postgres://…`; `CELADOR_STORE`, or `celador.db` in the data folder if not said
    #[arg(long, value_name = "STORE")]
    store: Option<String>,

    /// The folder of the store
    #[arg(long, value_name = "FOLDER", default_value = "celador-data")]
    data: PathBuf,

    /// Ask this server in the place of manifests and a store
    #[arg(long, value_name = "URL")]
    server: Option<String>,

    /// A file with the token for it; `CELADOR_TOKEN` if not said
    #[arg(long, value_name = "FILE", requires = "server")]
    token_file: Option<PathBuf>,

    /// Stop nothing: let each event by, and tell in the store what would have come of it
    #[arg(long, conflicts_with = "server")]
    observe: bool,

    #[command(flatten)]
    hash_key: HashKeyFile,

    #[command(flatten)]
    how: How,
}

/// The longest write-ahead log that is left to the next event, which reads all of it: that of some ten events.
const LOG_BYTES: u64 = 131_072;

/// The most events after the last snapshot of a task, which the next event replays. A server replays them once, and has fewer snapshots.
const EVENTS_TO_REPLAY: u64 = 32;

/// The largest event that is read, so that the shape of a large result is known when it is withheld.
const MOST_EVENT_BYTES: u64 = 67_108_864;

/// Time between the deadline of a hook and the moment at which Claude Code gives it up, in seconds.
const SPARE_SECONDS: u64 = 2;

/// The stack of the thread that decides: that of a main thread.
const STACK_BYTES: usize = 8_388_608;

/// The answer to an event that goes on.
const NOTHING: &[u8] = b"{}";

/// Why there is no answer, in words.
type Why = String;

/// What the thread that decides has come to.
enum Outcome {
    /// An answer by rules, and what was opened for it.
    Decided(Vec<u8>, Option<Box<(HookDesk, Database)>>),
    /// No answer, for a reason.
    Undecided(Why),
    /// An event that no rule can judge.
    Unknown(UnknownEvent),
    /// No event at all.
    Unread(Why),
}

impl Arguments {
    pub(super) fn run(self, screen: &mut Screen) -> Result<ExitCode, Failure> {
        let without_answer = if self.is_open() { ExitCode::Unusable } else { ExitCode::No };
        // Claude Code takes the code 2 for a refusal, and that of a panic for nothing
        panic::set_hook(Box::new(move |about| {
            let _ = writeln!(io::stderr(), "error: {about}");
            process::exit(without_answer as i32);
        }));
        on_abort(without_answer as i32)?;
        let (observes, is_open) = (self.observe, self.is_open());
        let deadline = timeout(&self.how).saturating_sub(SPARE_SECONDS);
        let event = Arc::new(OnceLock::new());
        let (sender, receiver) = channel();
        let deciding = {
            let event = event.clone();
            move || drop(sender.send(self.decide(&event)))
        };
        thread::Builder::new().stack_size(STACK_BYTES).spawn(deciding)?;
        let outcome = match receiver.recv_timeout(Duration::from_secs(deadline)) {
            Ok(outcome) => outcome,
            Err(RecvTimeoutError::Timeout) => Outcome::Undecided(messages::no_decision_within(deadline)),
            Err(RecvTimeoutError::Disconnected) => Outcome::Undecided(messages::NO_DECISION.to_owned()),
        };
        let refusal = |why: &str| hook_refusal(event.get().map(Vec::as_slice).unwrap_or_default(), why);
        let (answer, code) = match &outcome {
            Outcome::Decided(answer, _) => (answer.clone(), ExitCode::Yes),
            Outcome::Unknown(unknown) if observes => {
                screen.note(&messages::unjudged(&unknown.reason));
                (NOTHING.to_vec(), ExitCode::Yes)
            }
            Outcome::Undecided(why)
            | Outcome::Unknown(UnknownEvent { reason: why, .. })
            | Outcome::Unread(why)
                if is_open =>
            {
                screen.error(why);
                return Ok(ExitCode::Unusable);
            }
            Outcome::Undecided(why) => {
                screen.error(why);
                (refusal(why), ExitCode::Yes)
            }
            // the code refuses where the answer means nothing to the agent
            Outcome::Unknown(UnknownEvent { reason: why, .. }) | Outcome::Unread(why) => {
                screen.error(why);
                (refusal(why), ExitCode::No)
            }
        };
        if let Err(error) = write_out(&answer) {
            screen.error(&messages::cannot_write(&error));
            // an error that is told already, so that nobody writes what is left of the answer and fails with a code of their own
            return Err(Failure::Told(without_answer));
        }
        // the answer is out before the log is touched, since another process may be in the way there; what is decided is in the store either way
        if let Outcome::Decided(_, Some(opened)) = outcome {
            let _ = opened.1.shorten_log(LOG_BYTES);
            // all of it is on disk, and goes with the process: to take it apart would take longer than to decide
            forget(opened);
        }
        Ok(code)
    }

    fn is_open(&self) -> bool {
        self.how.fail == "open"
    }

    /// Reads the event and decides about it.
    fn decide(&self, read: &OnceLock<Vec<u8>>) -> Outcome {
        let limits = ServerLimits::default();
        let event = match event() {
            Ok(event) => read.get_or_init(|| event),
            Err(why) => return Outcome::Unread(why),
        };
        if event.len() > limits.max_body_bytes {
            return Outcome::Undecided(messages::event_too_large(limits.max_body_bytes));
        }
        if let Some(unknown) = hook_stranger(event) {
            if self.observe
                && let Err(why) = self.count_unjudged(&unknown.form)
            {
                // the event goes on either way
                let _ = writeln!(io::stderr(), "warning: {}", messages::not_counted(&why));
            }
            return Outcome::Unknown(unknown);
        }
        match config_change::settle(event, &self.data) {
            Settled::Answer(_) if self.observe => return Outcome::Decided(NOTHING.to_vec(), None),
            Settled::Answer(answer) => return Outcome::Decided(answer.to_string().into_bytes(), None),
            Settled::Failed(why) if !self.observe => return Outcome::Undecided(why),
            Settled::Failed(_) | Settled::Other => {}
        }
        let mut opened = None;
        match self.answer(event, limits, &mut opened) {
            Ok(answer) => Outcome::Decided(answer, opened.map(Box::new)),
            Err(why) => Outcome::Undecided(why),
        }
    }

    /// Counts an unjudged event for `celador report`.
    fn count_unjudged(&self, form: &str) -> Result<(), Why> {
        let clock = system_clock().map_err(|error| error.to_string())?;
        unjudged_log::note(&self.location()?, form, clock()).map_err(|error| error.to_string())
    }

    /// The store that the hooks of a session share. The folder of a file is there.
    fn location(&self) -> Result<Location, Why> {
        let location = match self.store.clone().or_else(|| from_environment("CELADOR_STORE")) {
            Some(store) => Location::parse(&store),
            None => Location::File(self.data.join("celador.db")),
        };
        if let Location::File(path) = &location {
            let folder = path.parent().unwrap_or(Path::new("."));
            std::fs::create_dir_all(folder).map_err(|error| messages::cannot_create(folder, &error))?;
        }
        Ok(location)
    }

    /// The answer, and who gave it over which store, if one was opened for it.
    fn answer(
        &self,
        event: &[u8],
        limits: ServerLimits,
        opened: &mut Option<(HookDesk, Database)>,
    ) -> Result<Vec<u8>, Why> {
        let parent = nested::parent(event);
        match &self.server {
            Some(server) => self.asked(server, event, parent.as_deref()),
            None => {
                let (desk, _) = opened.insert(self.desk(limits)?);
                desk.answer(&self.how.query(parent.as_deref()), event.to_vec())
            }
        }
    }

    /// The answer of a server.
    fn asked(&self, server: &str, event: &[u8], parent: Option<&str>) -> Result<Vec<u8>, Why> {
        let token = self.token()?;
        let client = Client::new(server, token.as_deref()).map_err(|error| error.to_string())?;
        let reply =
            client.send("POST", &self.how.path(parent), Some(event)).map_err(|error| error.to_string())?;
        let ClientReply { status, body } = reply;
        if status == 200 {
            return Ok(body);
        }
        let problem: Value = serde_json::from_slice(&body).unwrap_or_default();
        let said = ["detail", "title"].iter().find_map(|name| problem.get(name)?.as_str());
        Err(said.map_or_else(|| messages::no_answer_of_a_server(status), str::to_owned))
    }

    fn token(&self) -> Result<Option<String>, Why> {
        match &self.token_file {
            Some(path) => {
                let text = std::fs::read_to_string(path);
                let text = text.map_err(|error| messages::cannot_read(path, &error))?;
                Ok(Some(text.trim().to_owned()))
            }
            None => Ok(from_environment("CELADOR_TOKEN")),
        }
    }

    /// Who decides in this process, over the store that the hooks of a session share, and that store.
    fn desk(&self, mut limits: ServerLimits) -> Result<(HookDesk, Database), Why> {
        // a review is waited for within one request, of which a fifth is for all else
        let waits_ms = self.how.review_wait.saturating_mul(1_250);
        limits.max_request_ms = limits.max_request_ms.max(waits_ms);
        // an event is no time to read the whole store; what is read of it is checked where it is read
        limits.store.max_checked_file_bytes = 0;
        // one after the other reads and writes here, and each event opens the store and the task anew
        limits.store.max_connections = 1;
        limits.store.max_commit_batch = 1;
        limits.store.max_events_to_replay = EVENTS_TO_REPLAY;
        let location = self.location()?;
        // neither is it one to decide all clauses: the first event of these manifests has done so
        let of_manifests = Settings::new(self.manifests.clone());
        let hash_key = self.hash_key.read()?;
        let settings =
            Settings { observe: self.observe, analyse_kept: false, hash_key, limits, ..of_manifests };
        let clock = system_clock().map_err(|error| error.to_string())?;
        let (database, manifests) =
            beside(|| Database::open(&location, &settings.limits.store), || ReadManifests::of(&settings));
        let database = database.map_err(|error| error.to_string())?;
        let manifests = manifests.map_err(|error| error.to_string())?;
        let parts = Parts { clock, database: database.clone(), log: None };
        let desk = HookDesk::open(settings, manifests, parts).map_err(|error| error.to_string())?;
        Ok((desk, database))
    }
}

/// Sets the exit code of a process that aborts, as where memory runs out. Claude Code lets an event go on after 134, the code of an abort.
#[cfg(unix)]
fn on_abort(code: i32) -> io::Result<()> {
    let is_set = Arc::new(AtomicBool::new(true));
    signal_hook::flag::register_conditional_shutdown(signal_hook::consts::SIGABRT, code, is_set)?;
    Ok(())
}

#[cfg(not(unix))]
#[expect(clippy::unnecessary_wraps, reason = "registration can fail elsewhere")]
fn on_abort(_code: i32) -> io::Result<()> {
    Ok(())
}

/// The answers of two functions, of which the first runs on another thread if one can be begun.
fn beside<A: Send, B>(first: impl Fn() -> A + Sync, second: impl FnOnce() -> B) -> (A, B) {
    thread::scope(|scope| {
        let begun = thread::Builder::new().spawn_scoped(scope, &first);
        let second = second();
        // one that could not be begun, or that panicked, is made up for here
        let first = begun.ok().and_then(|thread| thread.join().ok()).unwrap_or_else(&first);
        (first, second)
    })
}

/// Writes an answer. A reader that is gone is an error, since the event would go on unanswered.
fn write_out(answer: &[u8]) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(answer)?;
    out.write_all(b"\n")?;
    out.flush()
}

/// The event on standard input. One that is larger than any is read to its end, as Claude Code waits for that.
fn event() -> Result<Vec<u8>, Why> {
    let mut event = Vec::new();
    let mut input = io::stdin().lock();
    let read = input.by_ref().take(MOST_EVENT_BYTES.saturating_add(1)).read_to_end(&mut event);
    let read = read.map_err(|error| messages::cannot_read(Path::new("-"), &error))?;
    if u64::try_from(read).unwrap_or(u64::MAX) <= MOST_EVENT_BYTES {
        return Ok(event);
    }
    let _ = io::copy(&mut input, &mut io::sink());
    Err(messages::event_too_large(usize::try_from(MOST_EVENT_BYTES).unwrap_or(usize::MAX)))
}
