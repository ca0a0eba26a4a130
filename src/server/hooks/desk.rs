//! Events that are answered in this process: for a process that is started for one event and ends.
//!
//! In: an event and the query of its address. Out: what a server would answer, by the function of the same route. There are neither
//! routes to look up, nor threads, nor a runtime, which would take longer to begin than an event to decide.

use super::claude_code::claude_code;
use crate::error::ServeError;
use crate::gate::done_by;
use crate::identity::Caller;
use crate::manifests::ReadManifests;
use crate::request::Request;
use crate::service::{Parts, Service};
use crate::settings::Settings;

/// Answers events of hooks in this process. Callers need no token: whoever has this value may do everything that a server without tokens
/// lets its callers do. Nothing is done beside events: what is due is left to others of the same store.
///
/// ```
/// use celador_server::{HookDesk, Parts, ReadManifests, Settings, system_clock};
/// use celador_store::{Database, Location};
/// # std::env::set_current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))?;
///
/// let settings = Settings::new(vec!["examples/claude-code".into()]);
/// let store = settings.limits.store;
/// let opening = std::thread::spawn(move || Database::open(&Location::Memory, &store));
/// let manifests = ReadManifests::of(&settings)?;
/// let database = opening.join().map_err(|_| "the store")??;
/// let desk = HookDesk::open(settings, manifests, Parts { clock: system_clock()?, database, log: None })?;
///
/// let event = br#"{"hook_event_name": "PreToolUse", "session_id": "s-1", "cwd": "/srv", "tool_name": "Bash",
///     "tool_input": {"command": "sudo reboot"}, "tool_use_id": "toolu_1"}"#;
/// let answer = String::from_utf8(desk.answer("user=kim", event.to_vec())?)?;
/// assert!(answer.contains(r#""permissionDecision":"deny""#) && answer.contains("This program is never run."));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct HookDesk {
    service: Service,
}

impl HookDesk {
    /// Compiles manifests that were read for these settings. What the settings say about the network has no meaning here; a review is waited
    /// for as long as within a request of `max_request_ms`.
    ///
    /// # Errors
    /// [`ServeError`], but for those of a network.
    pub fn open(settings: Settings, manifests: ReadManifests, parts: Parts) -> Result<Self, ServeError> {
        let address = settings.address;
        Ok(Self { service: Service::open(settings, manifests, parts, address)? })
    }

    /// Answers one event of Claude Code. A step takes as long as it takes.
    ///
    /// # Errors
    /// The reason, in words, why nothing could be decided, where the query says `fail=open`, or cannot be read. Where it does not, that is
    /// an answer, which refuses.
    pub fn answer(&self, query: &str, event: Vec<u8>) -> Result<Vec<u8>, String> {
        let request = Request {
            caller: Caller::anybody(),
            query: query.to_owned(),
            body: event,
            target: String::new(),
            id: String::new(),
            part: String::new(),
            key: None,
            headers: Vec::new(),
            address: None,
        };
        let answer = done_by(&self.service, |service| claude_code(service, &request));
        let answer = answer.map_err(|problem| problem.detail().unwrap_or(problem.kind.title()).to_owned())?;
        Ok(answer.body)
    }
}
