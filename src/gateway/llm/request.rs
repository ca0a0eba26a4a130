//! A request as it came in.

use super::wire::Api;
use axum::body::Bytes;
use axum::http::HeaderMap;

/// A request that carries a conversation.
pub(super) struct Asked {
    pub(super) api: Api,
    /// The path and query of the model's API.
    pub(super) address: String,
    pub(super) headers: HeaderMap,
    pub(super) body: Bytes,
    pub(super) said: Said,
}

/// What a client says of a request besides its body.
#[derive(Clone, Debug, Default)]
pub(super) struct Said {
    /// `x-celador-task`.
    pub(super) task: Option<String>,
    /// `x-celador-user`.
    pub(super) user: Option<String>,
    /// Whether the client sends the request again (`x-stainless-retry-count`, of OpenAI's and Anthropic's own clients).
    pub(super) again: bool,
}
