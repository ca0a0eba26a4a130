//! What was said in a window of tasks: messages, artifacts, state (A1 to A10).
//!
//! In: the tasks of the window, newest first, with what they hold. Out: one conversation in the order that is set. Every
//! message and artifact stays the text that it was stored as (A9); the window was chosen before, and the order changes
//! neither it nor which version of an artifact stays. Linear in what the window holds.

use super::bad_params;
use super::lifecycle::A2aTaskState;
use super::members::{Members, is_null};
use super::refusal::ContextRefusal;
use super::settings::HistoryOrder;
use serde_json::value::RawValue;
use std::collections::HashSet;

/// An A2A 1.0 Message as JSON.
#[derive(Clone, Debug)]
pub struct Message(Box<RawValue>);

/// An A2A 1.0 Artifact as JSON. It may lack an id.
#[derive(Clone, Debug)]
pub struct Artifact(Box<RawValue>);

/// A task of A2A with its messages and artifacts.
#[derive(Clone, Debug)]
pub struct TaskRecord {
    /// Its id, which its client may have chosen.
    pub id: String,
    /// How far it is.
    pub state: A2aTaskState,
    /// Its messages, oldest first.
    pub history: Vec<Message>,
    /// The message inside its status.
    pub status_message: Option<Message>,
    /// Its artifacts, in stored order.
    pub artifacts: Vec<Artifact>,
}

/// The result of `GetContext` and `context/get`, before it has a shape.
///
/// ```
/// use celador_store::conversation::{
///     A2aTaskState, Artifact, Conversation, HistoryOrder, Message, TaskRecord, conversation,
/// };
/// use serde_json::{json, value::to_raw_value};
///
/// let task = |id: &str, state, text: &str| -> Result<TaskRecord, Box<dyn std::error::Error>> {
///     let message = json!({"messageId": format!("m-{id}"), "role": "user", "parts": [{"text": text}]});
///     // each task makes a new version of the same artifact
///     let artifact = json!({"artifactId": "report", "parts": [{"text": format!("after {id}")}]});
///     Ok(TaskRecord {
///         id: id.to_owned(),
///         state,
///         history: vec![Message::read(&*to_raw_value(&message)?)?],
///         status_message: None,
///         artifacts: vec![Artifact::read(&*to_raw_value(&artifact)?)?],
///     })
/// };
/// let older = task("t-1", A2aTaskState::Completed, "Where is my order?")?;
/// let newer = task("t-2", A2aTaskState::InputRequired, "Pay it back.")?;
///
/// // the tasks come newest first; what was said comes in the order that is set
/// let window = vec![newer, older];
/// let Conversation { history, artifacts, state } = conversation(window.clone(), HistoryOrder::OldestFirst);
/// assert!(history[0].json().get().contains("Where is my order?"));
/// assert_eq!(state, A2aTaskState::InputRequired);
/// // of an artifact the newest version stays, in either order
/// assert_eq!(artifacts.len(), 1);
/// assert!(artifacts[0].json().get().contains("after t-2"));
/// assert!(conversation(window, HistoryOrder::NewestFirst).history[0].json().get().contains("Pay it back."));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Conversation {
    /// Messages in order.
    pub history: Vec<Message>,
    /// Artifacts in order.
    pub artifacts: Vec<Artifact>,
    /// That of the newest task of the window (A2), or that nothing is known (A8).
    pub state: A2aTaskState,
}

/// The keys under which message types were written, the present and the older one (A4).
const TYPE_KEYS: [&str; 2] = ["aion:messageType", "aion:message_type"];

/// The name of artifacts that only repeat a message (A7).
const REPEATED_MESSAGE: &str = "Message Result";

impl Message {
    /// Takes a message as it is. A2A's JSON leaves empty members out, so every member is optional.
    ///
    /// # Errors
    /// [`ContextRefusal::Params`] if it is not an object, or has a `messageId` or `role` that is no string, or `parts` that are no
    /// list.
    pub fn read(raw: &RawValue) -> Result<Self, ContextRefusal> {
        let whole = Members::of(raw).is_some_and(|members| {
            starts(&members, "messageId", '"')
                && starts(&members, "role", '"')
                && starts(&members, "parts", '[')
        });
        if whole { Ok(Self(raw.to_owned())) } else { Err(bad_params::bad_message()) }
    }

    /// What was stored.
    pub(super) fn stored(raw: Box<RawValue>) -> Self {
        Self(raw)
    }

    /// The JSON.
    #[must_use]
    pub fn json(&self) -> &RawValue {
        &self.0
    }

    /// Whether it is something else than a plain message and hence not shown (A4).
    fn is_hidden(&self) -> bool {
        let metadata = Members::of(&self.0).and_then(|message| message.get("metadata").and_then(Members::of));
        metadata.is_some_and(|metadata| {
            TYPE_KEYS
                .iter()
                .filter_map(|key| metadata.present(key))
                .any(|kind| serde_json::from_str::<String>(kind.get()).map_or(true, |kind| kind != "message"))
        })
    }
}

impl Artifact {
    /// Takes an artifact as it is.
    ///
    /// # Errors
    /// [`ContextRefusal::Params`] if it is not an object, or has `parts` that are no list.
    pub fn read(raw: &RawValue) -> Result<Self, ContextRefusal> {
        let whole = Members::of(raw).is_some_and(|members| starts(&members, "parts", '['));
        if whole { Ok(Self(raw.to_owned())) } else { Err(bad_params::bad_artifact()) }
    }

    /// What was stored.
    pub(super) fn stored(raw: Box<RawValue>) -> Self {
        Self(raw)
    }

    /// The JSON.
    #[must_use]
    pub fn json(&self) -> &RawValue {
        &self.0
    }

    /// Whether it stays, given the ids that were seen in newer tasks and earlier in its own (A7).
    fn is_kept(&self, seen: &mut HashSet<String>) -> bool {
        let Some(members) = Members::of(&self.0) else { return true };
        if members.text("name").is_some_and(|name| name == REPEATED_MESSAGE) {
            return false;
        }
        let id = members.text("artifactId").filter(|id| !id.is_empty());
        id.is_none_or(|id| seen.insert(id))
    }
}

/// Whether the member is of the kind whose JSON begins so, or not there.
fn starts(members: &Members<'_>, name: &str, sign: char) -> bool {
    members.get(name).is_none_or(|value| value.get().starts_with(sign))
}

/// The conversation of a window of tasks, which come newest first.
#[must_use]
pub fn conversation(window: Vec<TaskRecord>, order: HistoryOrder) -> Conversation {
    let state = window.first().map_or(A2aTaskState::Unspecified, |newest| newest.state);
    let mut seen = HashSet::new();
    let mut groups: Vec<(Vec<Message>, Vec<Artifact>)> = window
        .into_iter()
        .map(|task| {
            let artifacts =
                task.artifacts.into_iter().filter(|artifact| artifact.is_kept(&mut seen)).collect();
            (said(task.history, task.status_message, order), artifacts)
        })
        .collect();
    if order == HistoryOrder::OldestFirst {
        groups.reverse();
    }
    let (histories, artifacts): (Vec<_>, Vec<_>) = groups.into_iter().unzip();
    Conversation {
        history: histories.into_iter().flatten().collect(),
        artifacts: artifacts.into_iter().flatten().collect(),
        state,
    }
}

/// The shown messages of one task: the status message is its newest, unless there is nothing before it (A5, A6).
fn said(history: Vec<Message>, status: Option<Message>, order: HistoryOrder) -> Vec<Message> {
    if history.is_empty() {
        return Vec::new();
    }
    let status = status.filter(|status| !is_null(&status.0));
    let mut shown: Vec<Message> =
        history.into_iter().filter(|message| !message.is_hidden()).chain(status).collect();
    if order == HistoryOrder::NewestFirst {
        shown.reverse();
    }
    shown
}
