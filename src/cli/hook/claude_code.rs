//! `celador hook claude-code`: one event of Claude Code on standard input, the answer of its hook on standard output.
//!
//! In: the event, and who decides: the manifests that are named, with the tasks of sessions in a store, or a server. Out: the JSON that
//! Claude Code reads, and 0. The request is the same in both cases (`POST /hooks/claude-code`), so the answer is. Where nothing can be
//! decided the answer refuses; where not even that can be said the code is 2, which Claude Code takes for a refusal, too.

use super::super::service::from_environment;
use super::super::{ExitCode, Failure, Screen, Started, messages};
use super::how::How;
use super::{config_change, settings};
use celador_server::{
    Client, ClientReply, HookDesk, Parts, ReadManifests, ServerLimits, Settings, hook_refusal, system_clock,
};
use celador_store::{Database, Location};
use clap::Args;
use serde_json::{Value, json};
use std::io::{self, Read as _};
use std::mem::forget;
use std::path::{Path, PathBuf};
use std::thread;

/// Answer an event of a hook of Claude Code
///
/// Reads the event on standard input and writes the answer of the hook. `celador hook install` writes hooks that call it.
#[derive(Args)]
#[command(after_long_help = "\
Exit codes: 0 with an answer, 2 where there is none and the event is to go no further, 1 where it goes on (`--fail open`).")]
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
    how: How,
}

/// The longest write-ahead log that is left to the next event, which reads all of it: that of some ten events.
const LOG_BYTES: u64 = 131_072;

/// The most events after the last snapshot of a task, which the next event replays. A server replays them once, and has fewer snapshots.
const EVENTS_TO_REPLAY: u64 = 32;

/// Why there is no answer, in words.
type Why = String;

impl Arguments {
    pub(super) fn run(self, started: &Started, screen: &mut Screen) -> Result<ExitCode, Failure> {
        let limits = ServerLimits::default();
        let event = match event(limits.max_body_bytes) {
            Ok(event) => event,
            Err(why) => return Ok(self.unanswered(&why, screen)),
        };
        if let Some(answer) = self.of_settings(&event, started) {
            screen.line(&answer.to_string())?;
            return Ok(ExitCode::Yes);
        }
        let mut opened = None;
        let code = match self.answer(&event, limits, &mut opened) {
            Ok(answer) => {
                screen.bytes(&answer)?;
                screen.text("\n")?;
                ExitCode::Yes
            }
            Err(why) if self.is_open() => self.unanswered(&why, screen),
            Err(why) => {
                screen.error(&why);
                screen.bytes(&hook_refusal(&event, &why))?;
                screen.text("\n")?;
                ExitCode::Yes
            }
        };
        // the answer is out before the log is touched, since another process may be in the way there; what is decided is in the store either way
        screen.flush()?;
        if let Some((desk, store)) = opened {
            let _ = store.shorten_log(LOG_BYTES);
            // all of it is on disk, and goes with the process: to take it apart would take longer than to decide
            forget((desk, store));
        }
        Ok(code)
    }

    /// What is answered to a change of settings: nobody's rules are asked, as no rule could see what follows from it.
    fn of_settings(&self, event: &[u8], started: &Started) -> Option<Value> {
        // where nobody knows how this process was started, no settings are known to start it
        let hook = || started.again().map(|call| settings::command(call, &self.how)).unwrap_or_default();
        config_change::answer(event, hook).map(|answer| if self.observe { json!({}) } else { answer })
    }

    fn is_open(&self) -> bool {
        self.how.fail == "open"
    }

    fn unanswered(&self, why: &str, screen: &mut Screen) -> ExitCode {
        screen.error(why);
        if self.is_open() { ExitCode::Unusable } else { ExitCode::No }
    }

    /// The answer, and who gave it over which store, if one was opened for it.
    fn answer(
        &self,
        event: &[u8],
        limits: ServerLimits,
        opened: &mut Option<(HookDesk, Database)>,
    ) -> Result<Vec<u8>, Why> {
        match &self.server {
            Some(server) => self.asked(server, event),
            None => {
                let (desk, _) = opened.insert(self.desk(limits)?);
                desk.answer(&self.how.query(), event.to_vec())
            }
        }
    }

    /// The answer of a server.
    fn asked(&self, server: &str, event: &[u8]) -> Result<Vec<u8>, Why> {
        let token = self.token()?;
        let client = Client::new(server, token.as_deref()).map_err(|error| error.to_string())?;
        let reply = client.send("POST", &self.how.path(), Some(event)).map_err(|error| error.to_string())?;
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
        let location = match self.store.clone().or_else(|| from_environment("CELADOR_STORE")) {
            Some(store) => Location::parse(&store),
            None => Location::File(self.data.join("celador.db")),
        };
        if let Location::File(path) = &location {
            let folder = path.parent().unwrap_or(Path::new("."));
            std::fs::create_dir_all(folder).map_err(|error| messages::cannot_create(folder, &error))?;
        }
        // neither is it one to decide all clauses: the first event of these manifests has done so
        let of_manifests = Settings::new(self.manifests.clone());
        let settings = Settings { observe: self.observe, analyse_kept: false, limits, ..of_manifests };
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

/// The event on standard input, within the bound of a body.
fn event(most: usize) -> Result<Vec<u8>, Why> {
    let mut event = Vec::new();
    let limit = u64::try_from(most).unwrap_or(u64::MAX).saturating_add(1);
    let read = io::stdin().lock().take(limit).read_to_end(&mut event);
    read.map_err(|error| messages::cannot_read(Path::new("-"), &error))?;
    if event.len() > most { Err(messages::too_large(Path::new("-"), most)) } else { Ok(event) }
}
