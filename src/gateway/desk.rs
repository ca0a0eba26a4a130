//! Where decisions come from: out of this process, or from a server.
//!
//! In: a request of the HTTP API. Out: its answer, or the reason why there is none. Whoever asks cannot tell the two apart, so a
//! guard means the same with a server as without one.

use celador_server::{Client, ClientError, ClientReply, InProcess};
use serde_json::{Value, json};

/// Who is asked.
pub enum Desk {
    /// The engine in this process.
    Here(InProcess),
    /// A server.
    There(Client),
}

/// An answer of the API.
#[derive(Debug)]
pub struct Reply {
    /// The HTTP status.
    pub status: u16,
    /// The body; null if it is no JSON.
    pub body: Value,
}

impl Reply {
    /// Whether what was asked for was done.
    #[must_use]
    pub fn is_done(&self) -> bool {
        (200..300).contains(&self.status)
    }

    /// What kind of problem it is: the last part of its type, such as `task-exists`; empty if it is none.
    #[must_use]
    pub fn problem(&self) -> &str {
        let kind = self.body.get("type").and_then(Value::as_str).unwrap_or_default();
        kind.rsplit(':').next().unwrap_or_default()
    }

    /// What the problem says of itself.
    #[must_use]
    pub fn detail(&self) -> &str {
        let text = |member| self.body.get(member).and_then(Value::as_str).filter(|text| !text.is_empty());
        text("detail").or_else(|| text("title")).unwrap_or("the answer is no answer of Celador")
    }
}

impl Desk {
    /// Asks. A path begins with `/v1` and may have a query.
    ///
    /// # Errors
    /// [`ClientError`]: nobody knows then whether anything was done.
    pub async fn ask(&self, method: &str, path: &str, body: Option<&Value>) -> Result<Reply, ClientError> {
        self.ask_under(None, method, path, body).await
    }

    /// Says that something was forwarded which no rule saw, for the decision log. Where that cannot be said, traffic that is only observed goes on, and
    /// the log of the process has a line.
    pub(crate) async fn note_unjudged(&self, form: &str, count: u64) {
        let body = json!({ "form": form, "count": count });
        let why = match self.ask("POST", "/v1/unjudged", Some(&body)).await {
            Ok(reply) if reply.is_done() => return,
            Ok(reply) => reply.detail().to_owned(),
            Err(error) => error.to_string(),
        };
        tracing::warn!(form, why, "unjudged traffic is not counted");
    }

    /// Asks under an idempotency key: what was asked under it before is answered as it was, and nothing happens twice.
    ///
    /// # Errors
    /// As [`Desk::ask`].
    pub async fn ask_under(
        &self,
        key: Option<&str>,
        method: &str,
        path: &str,
        body: Option<&Value>,
    ) -> Result<Reply, ClientError> {
        let header = key.map(|key| ("Idempotency-Key", key));
        let headers = header.as_slice();
        let text = body.map(Value::to_string);
        let text = text.as_deref().map(str::as_bytes);
        let ClientReply { status, body } = match self {
            Self::Here(engine) => engine.answer(method, path, headers, text).await?,
            Self::There(server) => server.answer(method, path, headers, text).await?,
        };
        Ok(Reply { status, body: serde_json::from_slice(&body).unwrap_or_default() })
    }
}
