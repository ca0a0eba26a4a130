//! The task of a session: what its calls come to.
//!
//! In: tools of a server, calls, results, answers of people. Out: how each stands, in the words of a guard: it may run, it is refused with
//! a text for the model, a person is asked, it waits for others. Each is a request of the API, so what a session may do is said by
//! the same rules wherever they run. What cannot be decided is refused.

use super::kinds::as_text;
use super::messages;
use crate::desk::{Desk, Reply};
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Duration;

/// How a call stands.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Standing {
    /// It runs with these arguments, or the model receives this result.
    Goes {
        value: Value,
        /// How long it is held back before it runs.
        delay: Duration,
    },
    /// It does not run; the model receives this in the place of its result.
    Answered(Value),
    /// It does not run, or its result is withheld; the text is for the model.
    Refused(String),
    /// A person is asked.
    Review(Asked),
    /// It waits for these calls.
    Waits(Vec<String>),
    /// It asks for what no guard does, or under terms that no guard knows; the text is for people.
    Beyond(&'static str),
}

/// A question to a person.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Asked {
    /// Its name in the task.
    pub(super) question: Value,
    /// Whom.
    pub(super) reviewer: String,
    /// Whether several people are asked.
    pub(super) several: bool,
}

/// What a task is begun with.
pub(super) struct Start {
    pub(super) id: String,
    pub(super) agent: (String, String),
    pub(super) user: Value,
    /// Tools as `tools/list` has them.
    pub(super) tools: Vec<Value>,
}

/// What a task made of its tools.
#[derive(Debug, Default)]
pub(super) struct Offers {
    /// The functions that may be called, each with its schema as the model is to see it.
    pub(super) functions: Vec<(String, Value)>,
    /// Tools that nobody can call, with the reason.
    pub(super) left_out: Vec<(String, String)>,
}

/// Why a task does not have tools that were brought.
pub(super) struct Unbrought {
    /// Whether it cannot have them together, whatever happens; otherwise they may be brought later.
    pub(super) is_unfit: bool,
    /// The reason, for people.
    pub(super) reason: String,
}

/// A task that has begun.
pub(super) struct Guard {
    desk: Arc<Desk>,
    id: String,
    /// Its address.
    path: String,
}

/// Members of a tool that a task is told of. The others are between server and client.
const TOLD: [&str; 6] = ["name", "title", "description", "inputSchema", "outputSchema", "annotations"];

impl Guard {
    /// Begins a task, or finds the one that was begun with the same tools.
    ///
    /// # Errors
    /// The reason why there is none, for people.
    pub(super) async fn begin(desk: Arc<Desk>, start: Start) -> Result<(Self, Offers), String> {
        let Start { id, agent: (namespace, agent), user, tools } = start;
        let body =
            json!({ "id": id, "namespace": namespace, "agent": agent, "user": user, "tools": told(&tools) });
        let path = format!("/v1/tasks/{}", encoded(&id));
        let guard = Self { desk, id, path };
        let begun = done(guard.ask("POST", "/v1/tasks", Some(&body)).await?)?;
        let offers = guard.offers(&begun).await?;
        Ok((guard, offers))
    }

    /// Brings tools that the task does not know. Those that it knows as they are here are passed over.
    ///
    /// # Errors
    /// The reason why it has none of them.
    pub(super) async fn bring(&self, tools: &[Value]) -> Result<Offers, Unbrought> {
        let later = |reason| Unbrought { is_unfit: false, reason };
        let reply = self.post("tools", &json!({ "tools": told(tools) })).await.map_err(later)?;
        let is_unfit = reply.problem() == "invalid-tools";
        let brought = done(reply).map_err(|reason| Unbrought { is_unfit, reason })?;
        self.offers(&brought).await.map_err(later)
    }

    /// The functions of the task. `begun` is the answer that says which tools were left out.
    async fn offers(&self, begun: &Value) -> Result<Offers, String> {
        let left_out = list(begun, "left_out").iter();
        let left_out = left_out.map(|left| (text(left, "name"), text(left, "reason"))).collect();
        let offers = done(self.ask("GET", &format!("{}/offers", self.path), None).await?)?;
        let function = |it: &Value| (text(it, "name"), it.get("schema").cloned().unwrap_or_default());
        let functions = list(&offers, "functions").iter().map(function).collect();
        Ok(Offers { functions, left_out })
    }

    /// A call is asked for.
    pub(super) async fn before(
        &self,
        call: &str,
        function: &str,
        arguments: &Value,
    ) -> Result<Standing, String> {
        self.step("before", &json!({ "id": call, "function": function, "arguments": arguments })).await
    }

    /// A call has run.
    pub(super) async fn after(&self, call: &str, failed: bool, output: &Value) -> Result<Standing, String> {
        let status = if failed { "errored" } else { "successful" };
        self.step("after", &json!({ "call": call, "result": { "status": status, "output": output } })).await
    }

    /// How a call stands, at the latest after a while.
    pub(super) async fn standing(&self, call: &str, wait: Duration) -> Result<Standing, String> {
        let path = format!("{}/calls/{}?wait_ms={}", self.path, encoded(call), wait.as_millis());
        Ok(standing(&done(self.ask("GET", &path, None).await?)?))
    }

    /// Passes on what a person has answered.
    pub(super) async fn answer(&self, question: &Value, approves: bool) -> Result<Standing, String> {
        self.step("resume", &json!({ "question": question, "answer": { "review": approves } })).await
    }

    /// Takes a call back. One that may have run is on record as that.
    pub(super) async fn withdraw(&self, call: &str, may_have_run: bool) {
        let ran = if may_have_run { Value::from("unknown") } else { Value::from(false) };
        // a call that is not there is as good as taken back
        let _ = self.step("withdraw", &json!({ "call": call, "ran": ran })).await;
    }

    /// Ends the task, as its session is over.
    pub(super) async fn end(&self) {
        let _ = self.step("end", &json!({ "reason": messages::SESSION_OVER })).await;
    }

    /// What a question is about: the sentence of the rule, the function and its arguments as the person may see them.
    pub(super) async fn question(&self, asked: &Asked) -> Option<Value> {
        let reply = self.ask("GET", "/v1/reviews", None).await.ok().filter(Reply::is_done)?;
        let is_it = |review: &&Value| {
            review.get("task").and_then(Value::as_str) == Some(&self.id)
                && review.get("question") == Some(&asked.question)
        };
        list(&reply.body, "reviews").iter().find(is_it).cloned()
    }

    async fn step(&self, step: &str, body: &Value) -> Result<Standing, String> {
        Ok(standing(&done(self.post(step, body).await?)?))
    }

    async fn post(&self, step: &str, body: &Value) -> Result<Reply, String> {
        self.ask("POST", &format!("{}/{step}", self.path), Some(body)).await
    }

    async fn ask(&self, method: &str, path: &str, body: Option<&Value>) -> Result<Reply, String> {
        self.desk.ask(method, path, body).await.map_err(|error| messages::no_answer(&error))
    }
}

/// Tools as a task is told of them.
fn told(tools: &[Value]) -> Vec<Value> {
    let told = |tool: &Value| {
        let members = TOLD.iter().filter_map(|name| Some(((*name).to_owned(), tool.get(name)?.clone())));
        Value::Object(members.collect())
    };
    tools.iter().map(told).collect()
}

/// The body of an answer to what was done.
fn done(reply: Reply) -> Result<Value, String> {
    if reply.is_done() { Ok(reply.body) } else { Err(messages::not_done(&reply)) }
}

/// How a call stands by the answer to a step of it.
fn standing(progress: &Value) -> Standing {
    if let Some(asks) = progress.get("asks") {
        return match asks.get("review") {
            Some(review) => Standing::Review(Asked {
                question: progress.get("question").cloned().unwrap_or_default(),
                reviewer: text(review, "reviewer"),
                several: review.get("panel").is_some_and(|panel| !panel.is_null()),
            }),
            None => Standing::Beyond(messages::ASKS_FOR_MORE),
        };
    }
    let Some(decided) = progress.get("decided") else {
        return Standing::Refused(messages::UNREADABLE.to_owned());
    };
    let value = || decided.get("value").cloned().unwrap_or_default();
    if let Some(why) = replaced_by_misfit(decided) {
        return Standing::Refused(why);
    }
    match decided.get("verdict").and_then(Value::as_str) {
        Some("allow") if is_misfit(decided) => Standing::Refused(text(&value(), "error")),
        Some("allow") => match terms(decided.get("terms")) {
            Ok(delay) => Standing::Goes { value: value(), delay },
            Err(beyond) => Standing::Beyond(beyond),
        },
        Some("respond") => Standing::Answered(value()),
        Some("wait") => {
            let waits_for = list(decided, "waits_for").iter();
            Standing::Waits(waits_for.filter_map(Value::as_str).map(str::to_owned).collect())
        }
        _ => {
            let said = decided.get("message").and_then(Value::as_str).filter(|text| !text.is_empty());
            Standing::Refused(said.unwrap_or(messages::REFUSED).to_owned())
        }
    }
}

/// Whether a result is withheld because it does not fit the schema of its tool.
fn is_misfit(decided: &Value) -> bool {
    let is_found = |finding: &Value| text(finding, "code") == "output_misfit";
    let is_replaced =
        decided.get("value").is_some_and(|value| value.get("error").is_some_and(Value::is_string));
    is_replaced && list(decided, "findings").iter().any(is_found)
}

/// The text in the place of a result that a rule or a reviewer has replaced by one that does not fit the schema of its tool. Clients hold results to
/// that schema, and fail on one that breaks it; a text with `isError` is held to nothing.
fn replaced_by_misfit(decided: &Value) -> Option<String> {
    let finding =
        list(decided, "findings").iter().find(|finding| text(finding, "code") == "result_misfit")?;
    match decided.get("verdict").and_then(Value::as_str)? {
        "allow" => Some(messages::misfit(&text(finding, "message"))),
        // what somebody has said in the tool's place is for the model
        "respond" => decided.get("value").map(as_text),
        _ => None,
    }
}

/// How long a call is held back, if that is all that is asked for.
fn terms(terms: Option<&Value>) -> Result<Duration, &'static str> {
    let Some(terms) = terms.and_then(Value::as_object) else { return Ok(Duration::ZERO) };
    let is_asked =
        |name: &str| terms.get(name).and_then(Value::as_array).is_some_and(|list| !list.is_empty());
    if is_asked("obligations") || is_asked("credentials") {
        return Err(messages::UNKNOWN_TERMS);
    }
    Ok(Duration::from_millis(terms.get("delay_ms").and_then(Value::as_u64).unwrap_or_default()))
}

fn text(value: &Value, member: &str) -> String {
    value.get(member).and_then(Value::as_str).unwrap_or_default().to_owned()
}

fn list<'v>(value: &'v Value, member: &str) -> &'v [Value] {
    value.get(member).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}

/// An id as a part of a path.
fn encoded(id: &str) -> String {
    id.bytes().fold(String::new(), |mut path, byte| {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b'~') {
            path.push(char::from(byte));
        } else {
            let _ = write!(path, "%{byte:02X}");
        }
        path
    })
}
