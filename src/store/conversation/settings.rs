//! The two settings in which published documents and running servers disagree.
//!
//! In: nothing, or the configuration of a server. Out: [`ConversationSettings`], which every answer of the protocols reads. The
//! default of each follows the document; the other value is wire-equal to what today's servers send. Neither changes
//! what is stored.

use serde::{Deserialize, Serialize};

/// How `contexts/list` and the Aion methods shape their answers.
///
/// ```
/// use celador_store::conversation::{
///     ConversationSettings, Conversations, HistoryOrder, Incoming, ListShape, answer,
/// };
/// use celador_store::{Database, Location, StoreLimits};
/// use serde_json::Value;
/// # let conversations = Conversations::new(Database::open(&Location::Memory, &StoreLimits::default())?, || 7);
/// # let now: celador::Timestamp = "2026-01-15T12:00:00Z".parse()?;
/// conversations.send(Some("kim"), &Incoming::default(), now)?;
///
/// // one list in both shapes: as documented, and as the servers of today send it
/// let list = |settings: &ConversationSettings| -> Result<Value, serde_json::Error> {
///     let request = br#"{"jsonrpc": "2.0", "id": 1, "method": "contexts/list"}"#;
///     let answered: Value = serde_json::from_slice(&answer(&conversations, settings, Some("kim"), request, now))?;
///     Ok(answered["result"].clone())
/// };
/// let documented = ConversationSettings::default();
/// let deployed = ConversationSettings { bindu_list_shape: ListShape::Deployed, ..documented };
/// assert_eq!(list(&documented)?["contexts"][0]["role"], "assistant");
/// assert_eq!(list(&deployed)?.as_array().map(Vec::len), Some(1));
///
/// // a server reads them from its configuration
/// let read: ConversationSettings = serde_json::from_str(r#"{"aion_history_order": "newest_first"}"#)?;
/// assert_eq!(read, ConversationSettings { aion_history_order: HistoryOrder::NewestFirst, ..documented });
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ConversationSettings {
    /// The result of `contexts/list` (B1, B10).
    pub bindu_list_shape: ListShape,
    /// The order of messages and artifacts in `GetContext` and `context/get` (A3, A10).
    pub aion_history_order: HistoryOrder,
}

/// The shape of the answer to `contexts/list`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ListShape {
    /// An object with whole contexts and their paging (B1).
    #[default]
    Documented,
    /// A bare list of three members each, capped by `historyLength` (B10).
    Deployed,
}

/// Which end of a conversation comes first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HistoryOrder {
    /// As it happened (A3).
    #[default]
    OldestFirst,
    /// The latest message first, artifacts by their task (A10).
    NewestFirst,
}
