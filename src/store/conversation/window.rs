//! Which part of a long list is read.

/// Which of a list, counted from its newest end (A1, G2).
///
/// ```
/// use celador_store::conversation::{Conversations, HistoryOrder, Incoming, Message, Window};
/// use celador_store::{Database, Location, StoreLimits};
/// use serde_json::value::RawValue;
/// # let database = Database::open(&Location::Memory, &StoreLimits::default())?;
/// # let conversations = Conversations::new(database, || uuid::Uuid::new_v4().as_u128());
/// # let now: celador::Timestamp = "2026-01-15T12:00:00Z".parse()?;
///
/// // three tasks of one context, with a message each
/// for (task, id) in [("t-1", "first"), ("t-2", "second"), ("t-3", "third")] {
///     let message = Message::read(&*RawValue::from_string(format!(r#"{{"messageId": "{id}"}}"#))?)?;
///     let incoming = Incoming { context_id: Some("c-1"), task_id: Some(task), message: Some(&message) };
///     conversations.send(Some("kim"), &incoming, now)?;
/// }
///
/// // without the newest task, the one before it
/// let window = Window { offset: 1, length: Some(1) };
/// let read = conversations.get_context(Some("kim"), "c-1", window, HistoryOrder::OldestFirst)?;
/// let said: Vec<_> = read.history.iter().map(|message| message.json().get()).collect();
/// assert_eq!(said, [r#"{"messageId": "second"}"#]);
/// // the default window is the whole list
/// assert_eq!(conversations.get_contexts(Some("kim"), Window::default())?, ["c-1"]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Window {
    /// How many are skipped.
    pub offset: u128,
    /// How many are kept; nothing for all.
    pub length: Option<u128>,
}
