//! The two settings in which published documents and running servers disagree.
//!
//! In: nothing, or the configuration of a server. Out: [`ConversationSettings`], which every answer of the protocols reads. The
//! default of each follows the document; the other value is wire-equal to what today's servers send. Neither changes
//! what is stored.

use serde::{Deserialize, Serialize};

/// How `contexts/list` and the Aion methods shape their answers.
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
