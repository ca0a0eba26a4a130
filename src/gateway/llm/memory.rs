//! What the proxy remembers of conversations, beside what the task itself knows.
//!
//! In: what was judged, what the client was given and what it was not. Out: the same when the next request of the conversation comes.
//! It is bounded and may be lost: a conversation that is not remembered is judged anew from what the client sends, and where it
//! cannot be, it is refused. No decision is kept here that the task does not have.

use super::wire::{ModelCall, Told};
use celador::digest::Digest;
use quick_cache::sync::Cache;
use serde_json::Value;
use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Conversations that are remembered. The one that was used longest ago makes room.
const MAX_THREADS: usize = 1_024;

/// Points of conversations by which a request finds its task.
const MAX_POINTS: usize = 65_536;

/// Things that are named once in the log.
const MAX_NAMED: usize = 1_024;

/// What is remembered.
pub(crate) struct Memory {
    threads: Cache<String, Arc<Thread>>,
    points: Cache<Digest, Arc<str>>,
    /// What was named in the log.
    named: Cache<String, ()>,
}

/// What is remembered of one task.
#[derive(Default)]
pub(crate) struct Thread(Mutex<Notes>);

/// The same, while it is looked at.
#[derive(Default)]
pub(crate) struct Notes {
    /// For whom the task was begun, once it was begun or found.
    pub(crate) user: Option<String>,
    /// Keys of calls in this task.
    pub(crate) used: HashSet<String>,
    /// The key of the call that had an id on the wire last.
    pub(crate) latest: HashMap<String, String>,
    /// Keys that are not the ids on the wire, by where the call stands.
    pub(crate) keys: HashMap<(Digest, String), String>,
    /// Messages of the user that were judged, by the conversation up to them.
    pub(crate) inputs: HashMap<Digest, Judged>,
    /// What the proxy has given as answers, by the conversation up to them.
    pub(crate) answers: HashSet<Digest>,
    /// Results that were judged, by the id of the call.
    pub(crate) results: HashMap<String, JudgedResult>,
    /// Arguments that the client was given, or that were judged when they came from it, by the id of the call.
    pub(crate) arguments: HashMap<String, Digest>,
    /// Calls that the client was given and has not reported.
    pub(crate) open: HashSet<String>,
    /// Calls that the client does not know of, with what the model is told of them: by the id of one of the same turn that it does.
    pub(crate) beside: HashMap<String, Vec<Told>>,
    /// Calls that wait for a person or for other calls, in the order of the model.
    pub(crate) held: Vec<Held>,
    /// The id of the last answer: where the API keeps the conversation, it says how far that has come.
    pub(crate) last_id: String,
    /// The last answer, and the request that it was given to.
    pub(crate) last: Option<Last>,
    /// Requests of which the vendor knows nothing, by the id of the answer that the proxy made.
    pub(crate) made: HashMap<String, Made>,
}

/// What became of something that a client has sent.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Judged {
    /// The model gets it as it came.
    AsItCame,
    /// The model gets these texts in its place, one for each.
    Changed(Vec<String>),
    /// The model does not get it, and this in its place.
    Withheld(String),
}

/// What became of a result.
#[derive(Clone, Debug)]
pub(crate) struct JudgedResult {
    /// The digest of the text that was judged.
    pub(crate) of: Digest,
    pub(crate) judged: Judged,
}

/// A call that waits.
#[derive(Clone, Debug)]
pub(crate) struct Held {
    pub(crate) call: ModelCall,
    /// A call of the same turn that the client knows of.
    pub(crate) beside: Option<String>,
    /// What the model was not told yet of other calls of the turn, as the client knows none of them.
    pub(crate) told: Vec<Told>,
    /// The answer of the model that it was in, without texts and calls.
    pub(crate) frame: Value,
}

/// An answer that the client was given.
#[derive(Clone, Debug)]
pub(crate) struct Last {
    pub(crate) request: Digest,
    pub(crate) whole: Value,
    pub(crate) calls: Vec<String>,
}

/// A request that the vendor was not sent.
#[derive(Clone, Debug)]
pub(crate) struct Made {
    /// The answer of the vendor that it goes on from.
    pub(crate) previous: Option<String>,
    /// What was said in it, with the answer that the proxy made.
    pub(crate) said: Vec<Value>,
}

impl Last {
    /// Whether it has calls of which none was reported.
    pub(crate) fn is_open(&self, open: &HashSet<String>) -> bool {
        !self.calls.is_empty() && self.calls.iter().all(|call| open.contains(call))
    }
}

/// Notes of one kind that a conversation may have; one with more begins anew with empty ones, and what it needs is asked again.
const MAX_NOTES: usize = 8_192;

/// Requests that a conversation may have of which the vendor knows nothing, and the longest answer that is kept to be given again.
const MAX_MADE: usize = 32;
const MAX_LAST_BYTES: usize = 262_144;

impl Memory {
    pub(crate) fn new() -> Self {
        Self {
            threads: Cache::new(MAX_THREADS),
            points: Cache::new(MAX_POINTS),
            named: Cache::new(MAX_NAMED),
        }
    }

    /// What of this was not named in the log yet.
    pub(crate) fn unnamed(&self, what: Vec<String>) -> Vec<String> {
        let is_new = |what: &String| {
            let is_new = self.named.get(what).is_none();
            self.named.insert(what.clone(), ());
            is_new
        };
        what.into_iter().filter(is_new).collect()
    }

    /// What is remembered of a task; nothing yet if it is new.
    pub(crate) fn thread(&self, task: &str) -> Arc<Thread> {
        let made = self.threads.get_or_insert_with(task, || Ok::<_, ()>(Arc::default()));
        made.unwrap_or_default()
    }

    /// The task of which this is a point.
    pub(crate) fn task_at(&self, point: &Digest) -> Option<Arc<str>> {
        self.points.get(point).filter(|task| !task.is_empty())
    }

    /// Remembers a point that leads to one task alone; one that leads to two leads nowhere.
    pub(crate) fn mark_alone(&self, point: Digest, task: &str) {
        let is_other = self.points.get(&point).is_some_and(|known| *known != *task);
        self.points.insert(point, if is_other { "".into() } else { task.into() });
    }

    /// Remembers a point of a task's conversation.
    pub(crate) fn mark(&self, point: Digest, task: &str) {
        self.points.insert(point, task.into());
    }
}

impl Notes {
    /// Remembers an answer, unless it is so long that it is not worth its room: then the model is asked again.
    pub(crate) fn keep_last(&mut self, request: Digest, whole: &Value, calls: Vec<String>) {
        self.last_id = whole.get("id").and_then(Value::as_str).unwrap_or_default().to_owned();
        let is_short = whole.to_string().len() <= MAX_LAST_BYTES;
        self.last = is_short.then(|| Last { request, whole: whole.clone(), calls });
    }
}

impl Thread {
    /// Looks at what is remembered. Not to be held while anything is waited for.
    pub(crate) fn notes(&self) -> MutexGuard<'_, Notes> {
        let mut notes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if notes.inputs.len() > MAX_NOTES {
            notes.inputs.clear();
        }
        if notes.answers.len() > MAX_NOTES {
            notes.answers.clear();
        }
        if notes.results.len() > MAX_NOTES {
            notes.results.clear();
        }
        if notes.arguments.len() > MAX_NOTES {
            notes.arguments.clear();
        }
        if notes.used.len() > MAX_NOTES {
            notes.used.clear();
        }
        if notes.latest.len() > MAX_NOTES {
            notes.latest.clear();
        }
        if notes.keys.len() > MAX_NOTES {
            notes.keys.clear();
        }
        if notes.made.len() > MAX_MADE {
            notes.made.clear();
        }
        notes
    }
}
