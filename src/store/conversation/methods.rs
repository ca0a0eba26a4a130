//! The six methods: their parameters, and their results as JSON (sections 4 to 6).
//!
//! In: the members of `params`. Out: the JSON of a result, or why there is none. Parameters are checked whole before the
//! store is asked anything, so a wrong one is refused whether or not the store answers.

use super::bad_params;
use super::history::{Conversation, Message};
use super::list::ListQuery;
use super::members::{Members, is_null, is_object, text};
use super::messages;
use super::number::whole;
use super::older;
use super::refusal::{ContextRefusal, ConversationError};
use super::service::Conversations;
use super::settings::{ConversationSettings, ListShape};
use super::window::Window;
use serde::Serialize;
use serde_json::value::{RawValue, to_raw_value};

/// A method of the protocols. Names are case-sensitive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Method {
    /// Bindu `contexts/list`
    ContextsList,
    /// Bindu `contexts/clear`
    ContextsClear,
    /// Aion `GetContext`
    GetContext,
    /// Aion `GetContexts`
    GetContexts,
    /// `GetContext` under its older name and in older shapes
    OlderGetContext,
    /// `GetContexts` under its older name
    OlderGetContexts,
}

/// Why there is no result.
#[derive(Debug)]
pub(super) enum Failure {
    /// A rule says no.
    Refused(ContextRefusal),
    /// The store failed; why is for its own log.
    Store,
}

impl From<ContextRefusal> for Failure {
    fn from(refusal: ContextRefusal) -> Self {
        Self::Refused(refusal)
    }
}

impl From<ConversationError> for Failure {
    fn from(error: ConversationError) -> Self {
        match error {
            ConversationError::Refused(refusal) => Self::Refused(refusal),
            ConversationError::Store(_) => Self::Store,
        }
    }
}

impl Failure {
    /// The `data` of the error (K2).
    pub(super) fn data(&self) -> Option<Box<RawValue>> {
        let Self::Refused(ContextRefusal::Unknown(id)) = self else { return None };
        to_raw_value(&UnknownContext { context_id: id, reason: "CONTEXT_NOT_FOUND", documented_code: -32020 })
            .ok()
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct UnknownContext<'i> {
    context_id: &'i str,
    reason: &'static str,
    documented_code: i32,
}

impl Method {
    /// The method of this name.
    pub(super) fn from_name(name: &str) -> Option<Self> {
        Some(match name {
            "contexts/list" => Self::ContextsList,
            "contexts/clear" => Self::ContextsClear,
            "GetContext" => Self::GetContext,
            "GetContexts" => Self::GetContexts,
            "context/get" => Self::OlderGetContext,
            "contexts/get" => Self::OlderGetContexts,
            _ => return None,
        })
    }

    /// Whether it is Aion's, under either name (J12).
    pub(super) fn is_aion(self) -> bool {
        !matches!(self, Self::ContextsList | Self::ContextsClear)
    }

    /// Carries it out.
    pub(super) fn call(
        self,
        conversations: &Conversations,
        settings: &ConversationSettings,
        caller: Option<&str>,
        params: &Members<'_>,
    ) -> Result<Box<RawValue>, Failure> {
        let metadata = metadata(params)?;
        match self {
            Self::ContextsList => contexts_list(conversations, settings, caller, params, metadata),
            Self::ContextsClear => {
                let id = required_id(params)?;
                if id.is_empty() {
                    return Err(bad_params::no_context_id().into());
                }
                let id = conversations.clear(caller, &id)?;
                json(&Cleared { success: true, message: messages::cleared(&id) })
            }
            Self::GetContext | Self::OlderGetContext => {
                let id = required_id(params)?;
                let window = window(params)?;
                let order = settings.aion_history_order;
                let conversation = conversations.get_context(caller, &id, window, order)?;
                if self == Self::GetContext { present(&id, &conversation) } else { older(&id, &conversation) }
            }
            Self::GetContexts | Self::OlderGetContexts => {
                json(&conversations.get_contexts(caller, window(params)?)?)
            }
        }
    }
}

fn contexts_list(
    conversations: &Conversations,
    settings: &ConversationSettings,
    caller: Option<&str>,
    params: &Members<'_>,
    metadata: Option<&RawValue>,
) -> Result<Box<RawValue>, Failure> {
    let length = number(params, "historyLength", "history_length")?;
    match settings.bindu_list_shape {
        ListShape::Documented => {
            let query = metadata.map_or_else(|| Ok(ListQuery::default()), ListQuery::read)?;
            let page = conversations.list(caller, &query)?;
            let shown = page.items.iter().map(|(context, tasks)| context.shown(tasks)).collect::<Vec<_>>();
            json(&Listed { contexts: shown, total: page.total, page: page.page, page_size: page.page_size })
        }
        ListShape::Deployed => {
            // newest first without a filter is the default query; its limit is what the length means here (B10)
            let query = ListQuery { limit: length.filter(|length| *length > 0), ..ListQuery::default() };
            let page = conversations.list(caller, &query)?;
            let items = page.items.iter().map(|(context, tasks)| Deployed {
                context_id: &context.id,
                task_count: tasks.len(),
                task_ids: tasks,
            });
            json(&items.collect::<Vec<_>>())
        }
    }
}

/// The result of `contexts/list` (B1).
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Listed<C> {
    contexts: Vec<C>,
    total: usize,
    page: u128,
    page_size: u128,
}

/// An item of `contexts/list` as running servers send it (B10).
#[derive(Serialize)]
struct Deployed<'c> {
    context_id: &'c str,
    task_count: usize,
    task_ids: &'c [String],
}

/// The result of `contexts/clear` (K1).
#[derive(Serialize)]
struct Cleared {
    success: bool,
    message: String,
}

/// The result of `GetContext` and `context/get`; the id is there twice (section 5.2).
#[derive(Serialize)]
struct Conversed<'c> {
    #[serde(rename = "contextId")]
    camel_id: &'c str,
    #[serde(rename = "context_id")]
    snake_id: &'c str,
    history: Vec<&'c RawValue>,
    artifacts: Vec<&'c RawValue>,
    status: State,
}

#[derive(Serialize)]
struct State {
    state: &'static str,
}

/// In the shapes of A2A 1.0: as it is stored (A9).
fn present(id: &str, conversation: &Conversation) -> Result<Box<RawValue>, Failure> {
    json(&Conversed {
        camel_id: id,
        snake_id: id,
        history: conversation.history.iter().map(Message::json).collect(),
        artifacts: conversation.artifacts.iter().map(super::history::Artifact::json).collect(),
        status: State { state: conversation.state.name() },
    })
}

/// In the shapes of A2A 0.3 (O2).
fn older(id: &str, conversation: &Conversation) -> Result<Box<RawValue>, Failure> {
    let history: Vec<_> = conversation.history.iter().map(older::message).collect();
    let artifacts: Vec<_> = conversation.artifacts.iter().map(older::artifact).collect();
    json(&Conversed {
        camel_id: id,
        snake_id: id,
        history: history.iter().map(AsRef::as_ref).collect(),
        artifacts: artifacts.iter().map(AsRef::as_ref).collect(),
        status: State { state: conversation.state.older_name() },
    })
}

/// `contextId`: a string (J11).
fn required_id(params: &Members<'_>) -> Result<String, ContextRefusal> {
    params.either("contextId", "context_id").and_then(text).ok_or_else(bad_params::no_context_id)
}

/// `historyLength` and `historyOffset`; a length of 0 is no limit (A11, G2).
fn window(params: &Members<'_>) -> Result<Window, ContextRefusal> {
    let length = number(params, "historyLength", "history_length")?.filter(|length| *length > 0);
    let offset = number(params, "historyOffset", "history_offset")?.unwrap_or_default();
    Ok(Window { offset, length })
}

/// A whole number (J9, J10).
fn number(params: &Members<'_>, camel: &str, snake: &str) -> Result<Option<u128>, ContextRefusal> {
    let value = params.either(camel, snake);
    value.map_or(Ok(None), |value| whole(value).map_err(|_| bad_params::not_whole(camel)))
}

/// `metadata`: an object or null (J6).
fn metadata<'p>(params: &Members<'p>) -> Result<Option<&'p RawValue>, ContextRefusal> {
    match params.get("metadata").filter(|metadata| !is_null(metadata)) {
        Some(metadata) if !is_object(metadata) => Err(bad_params::not_an_object("metadata")),
        metadata => Ok(metadata),
    }
}

fn json<T: Serialize>(value: &T) -> Result<Box<RawValue>, Failure> {
    // a value that has no JSON was not stored as JSON
    to_raw_value(value).map_err(|_| Failure::Store)
}
