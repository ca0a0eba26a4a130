//! Tasks on a server.
//!
//! In: operations. Out: what the server has answered. A request that got no answer may have been taken. Nothing here is tried twice, but for what
//! [`KeptClient`] knows never to have been sent.

use crate::{
    BegunTask, CheckedExpression, ClientError, ClientReply, ContextPage, ContextQuery, EventPage, Explain,
    ExpressionOutcome, KeptClient, NewTask, Offers, OperationAnswer, Person, ProblemDetails, ProblemKind,
    PurgedTask, ReviewPage, ReviewedReview, ReviewsQuery, ServiceError, StepTerms, TaskExpression,
    TaskProgress, TaskService, TaskStanding, messages,
};
use celador::BroughtTool;
use celador::task::{CallId, Operation, ReviewReply};
use form_urlencoded::Serializer;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::time::Duration;

/// Tasks on a server, of the caller whose token the client has. It runs on tokio, with sockets and timers.
pub struct RemoteTasks {
    client: KeptClient,
}

impl RemoteTasks {
    /// The tasks on the server of a client. Nothing is sent yet.
    #[must_use]
    pub const fn new(client: KeptClient) -> Self {
        Self { client }
    }

    /// The body of the answer to a request.
    async fn ask(
        &self,
        method: &str,
        path: &str,
        key: Option<&str>,
        body: Option<&[u8]>,
    ) -> Result<Vec<u8>, ServiceError> {
        let header = key.map(|key| ("Idempotency-Key", key));
        let ClientReply { status, body } = self.client.answer(method, path, header.as_slice(), body).await?;
        if (200..300).contains(&status) { Ok(body) } else { Err(ProblemDetails::read(status, &body).into()) }
    }

    async fn get<T: DeserializeOwned>(&self, path: &str) -> Result<T, ServiceError> {
        read(&self.ask("GET", path, None, None).await?)
    }

    async fn post<T: DeserializeOwned>(
        &self,
        path: &str,
        key: Option<&str>,
        body: &impl Serialize,
    ) -> Result<T, ServiceError> {
        let body = serde_json::to_vec(body).map_err(|_| ClientError::Text)?;
        read(&self.ask("POST", path, key, Some(&body)).await?)
    }
}

impl TaskService for RemoteTasks {
    async fn begin(&self, new: NewTask) -> Result<BegunTask, ServiceError> {
        self.post("/v1/tasks", None, &new).await
    }

    async fn bring(&self, task: &str, tools: Vec<BroughtTool>) -> Result<BegunTask, ServiceError> {
        self.post(&path_of(task, "/tools"), None, &json!({ "tools": tools })).await
    }

    async fn take(
        &self,
        task: &str,
        operation: Operation,
        StepTerms { key, wait }: StepTerms,
    ) -> Result<OperationAnswer<'static>, ServiceError> {
        let written = serde_json::to_value(&operation).map_err(|_| ClientError::Text)?;
        let Value::Object(members) = written else { return Err(ClientError::Text.into()) };
        let (name, body) = members.into_iter().next().ok_or(ClientError::Text)?;
        let waits = if operation.can_wait() { wait_query(wait) } else { String::new() };
        let path = path_of(task, &format!("/{}{waits}", name.replace('_', "-")));
        self.post(&path, key.as_deref(), &body).await
    }

    async fn standing(
        &self,
        task: &str,
        call: &CallId,
        wait: Duration,
    ) -> Result<TaskProgress<'static>, ServiceError> {
        let call = path_segment(call.as_str());
        self.get(&path_of(task, &format!("/calls/{call}{}", wait_query(wait)))).await
    }

    async fn state(&self, task: &str) -> Result<TaskStanding, ServiceError> {
        self.get(&path_of(task, "")).await
    }

    async fn offers(&self, task: &str) -> Result<Offers, ServiceError> {
        self.get(&path_of(task, "/offers")).await
    }

    async fn agent_offers(&self, namespace: &str, agent: &str) -> Result<Offers, ServiceError> {
        let query = written_query(&[("agent", Some(format!("{namespace}/{agent}")))]);
        self.get(&format!("/v1/offers{query}")).await
    }

    async fn purge(&self, task: &str, reason: Option<&str>) -> Result<PurgedTask, ServiceError> {
        let query = written_query(&[("reason", reason.map(str::to_owned))]);
        read(&self.ask("DELETE", &path_of(task, &query), None, None).await?)
    }

    async fn context(&self, task: &str, query: ContextQuery) -> Result<ContextPage, ServiceError> {
        let ContextQuery { paths, limit, cursor } = query;
        let limit = limit.map(|limit| limit.to_string());
        let query = written_query(&[("paths", paths), ("limit", limit), ("cursor", cursor)]);
        self.get(&path_of(task, &format!("/context{query}"))).await
    }

    async fn events(&self, task: &str, after: Option<u64>) -> Result<EventPage, ServiceError> {
        let query = written_query(&[("after", after.map(|after| after.to_string()))]);
        self.get(&path_of(task, &format!("/events{query}"))).await
    }

    async fn evaluate(
        &self,
        task: &str,
        expression: TaskExpression,
    ) -> Result<ExpressionOutcome, ServiceError> {
        self.post(&path_of(task, "/evaluate"), None, &expression).await
    }

    async fn check(
        &self,
        task: &str,
        scope: &str,
        expression: &str,
    ) -> Result<CheckedExpression, ServiceError> {
        let asked = json!({ "scope": scope, "expression": expression });
        self.post(&path_of(task, "/check"), None, &asked).await
    }

    async fn explain(&self, task: &str, what: Explain) -> Result<Value, ServiceError> {
        self.post(&path_of(task, "/explain"), None, &what).await
    }

    async fn reviews(&self, query: ReviewsQuery) -> Result<ReviewPage, ServiceError> {
        let ReviewsQuery { reviewer, state, agent, after } = query;
        let after = after.map(|after| after.to_string());
        let members = [("reviewer", reviewer), ("state", state), ("agent", agent), ("after", after)];
        self.get(&format!("/v1/reviews{}", written_query(&members))).await
    }

    async fn answer_review(
        &self,
        review: &str,
        reply: ReviewReply,
        by: Option<Person>,
    ) -> Result<ReviewedReview, ServiceError> {
        if by.is_some() {
            let detail = Some(messages::known_by_the_token().to_owned());
            return Err(ProblemDetails::new(ProblemKind::BadRequest, detail, "").into());
        }
        self.post(&format!("/v1/reviews/{}", path_segment(review)), None, &reply).await
    }

    async fn note_unjudged(&self, form: &str, count: u64) -> Result<bool, ServiceError> {
        #[derive(Deserialize)]
        struct Noted {
            noted: bool,
        }
        let Noted { noted } =
            self.post("/v1/unjudged", None, &json!({ "form": form, "count": count })).await?;
        Ok(noted)
    }
}

fn path_of(task: &str, rest: &str) -> String {
    format!("/v1/tasks/{}{rest}", path_segment(task))
}

fn wait_query(wait: Duration) -> String {
    written_query(&[("wait_ms", (!wait.is_zero()).then(|| wait.as_millis().to_string()))])
}

/// The query of these members, as far as they are there, with its question mark.
fn written_query(members: &[(&str, Option<String>)]) -> String {
    let mut written = Serializer::new(String::new());
    for (name, value) in members {
        if let Some(value) = value {
            written.append_pair(name, value);
        }
    }
    let query = written.finish();
    if query.is_empty() { query } else { format!("?{query}") }
}

fn read<T: DeserializeOwned>(answer: &[u8]) -> Result<T, ServiceError> {
    let unreadable = |_| ClientError::Broken(messages::no_answer_of_celador().to_owned());
    serde_json::from_slice(answer).map_err(unreadable).map_err(ServiceError::from)
}

/// A text as one part of a path: all but ASCII letters, digits and `-._~` as `%` and two hexadecimal digits.
///
/// ```
/// assert_eq!(celador_service::path_segment("a b/ü"), "a%20b%2F%C3%BC");
/// ```
#[must_use]
pub fn path_segment(text: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
    text.bytes().fold(String::with_capacity(text.len()), |mut written, byte| {
        if plain(byte) {
            written.push(char::from(byte));
        } else {
            written.push_str(&format!("%{byte:02X}"));
        }
        written
    })
}
