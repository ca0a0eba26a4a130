//! The operations on a task as data, so that one place may take them and another pass them on, store them or explain them.
//!
//! In: an [`Operation`], such as the body of a request has it. Out: with [`Task::apply`] how far it came. Each operation is the method of [`Task`] that has
//! its name. Secrets of webhooks are no part of an event: the settings of the namespace are passed beside the operation, so they are never stored with it.

use super::delivery::Delivery;
use super::state::{
    Answer, Call, CallId, CallResult, DecidedKind, Decision, ModelCall, Next, Progress, QuestionId, Ran,
    Task, TaskError, Turn, Usage,
};
use crate::cel::{Json, Timestamp};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// An operation on a task. In JSON it is an object with one member: its name, such as `before`, and the body that the HTTP API has for it.
///
/// ```
/// use celador::task::{Operation, Progress};
/// use celador::{Engine, EngineLimits, StartTask, User, VerdictKind};
/// use std::collections::BTreeMap;
/// # std::env::set_current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))?;
/// # let engine = Engine::open(&["examples/first-policy"], EngineLimits::default())?;
/// # let now = std::time::SystemTime::UNIX_EPOCH;
/// let mut task = engine.start(StartTask::new("t-1", "shop", "clerk", User::default(), now))?;
/// let text = r#"{"before": {"id": "c1", "function": "payout", "arguments": {"amount": 2000}}}"#;
/// let operation: Operation = serde_json::from_str(text)?;
///
/// assert_eq!((operation.name(), operation.function()), ("before", Some("payout")));
/// let Progress::Decided(decision) = task.apply(operation, &BTreeMap::new(), now)? else { panic!("nobody is asked") };
/// assert_eq!(decision.verdict.kind(), VerdictKind::Block);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Operation {
    /// Somebody says something: a text, or an object with `message` and the parameters of the agent.
    Input(#[cfg_attr(feature = "schema", schemars(with = "schema::Message"))] Json),
    /// The model has a response: a text, or an object with `message`.
    Output(#[cfg_attr(feature = "schema", schemars(with = "schema::Message"))] Json),
    /// May this be done next?
    Limits {
        /// The coming step.
        next: Next,
    },
    /// The model has answered; its calls come one by one.
    ModelTurn(Usage),
    /// The model has answered, with all of its calls.
    Turn(Turn),
    /// Something is to be sent to the model.
    ModelBefore(ModelCall),
    /// The model has answered what was sent.
    ModelAfter {
        /// The call that `model_before` let through.
        call: CallId,
        /// What the model has answered.
        #[cfg_attr(feature = "schema", schemars(schema_with = "schema::answer"))]
        answer: Json,
    },
    /// The model calls a function, and the host will carry it out.
    Before(Call),
    /// The model calls a function; what carrying it out needs is asked for.
    Invoke(Call),
    /// A call that was let through has run.
    After(ReportedCall),
    /// Several calls that were let through have run.
    Results {
        /// The calls with their results, in the order in which they are recorded.
        #[cfg_attr(feature = "schema", schemars(length(min = 1)))]
        results: Vec<ReportedCall>,
    },
    /// One of several processes claims a call that was let through, to run it.
    Claim {
        /// The call that was let through.
        call: CallId,
        /// A random text that the claimant makes anew for each attempt to run a call: 1 to `max_id_bytes` bytes without control characters.
        #[cfg_attr(feature = "schema", schemars(length(min = 1)))]
        claimant: String,
    },
    /// A claimed call was not run.
    Release {
        /// The call.
        call: CallId,
        /// The text of the claim.
        #[cfg_attr(feature = "schema", schemars(length(min = 1)))]
        claimant: String,
    },
    /// A call is taken back: its runtime will never report it.
    Withdraw {
        /// The call: one that was let through, that waits for others, or that asks.
        call: CallId,
        /// Whether it has run: `false` if it never will, `"unknown"` if nobody knows.
        #[cfg_attr(feature = "schema", schemars(with = "serde_json::Value", extend("enum" = [false, "unknown"])))]
        ran: Ran,
    },
    /// A call that was let through is to be carried out.
    Execute {
        /// The call that `before` let through.
        call: CallId,
    },
    /// An event of a tool is delivered.
    Event(Delivery),
    /// The model writes a script of calls.
    Script {
        /// The script as the model wrote it.
        source: String,
    },
    /// The answer to what an operation asks.
    Resume {
        /// The question that is answered; needed only where several are open.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        question: Option<QuestionId>,
        /// The answer, of the kind that the question wants.
        answer: Answer,
    },
    /// The task is interrupted.
    Interrupt {},
    /// The task is ended.
    End {
        /// The reason, of at most `max_reason_bytes`.
        #[cfg_attr(feature = "schema", schemars(length(min = 1)))]
        reason: String,
    },
    /// A locked task is to take steps again.
    Unlock {
        /// The reason, of at most `max_reason_bytes`.
        #[cfg_attr(feature = "schema", schemars(length(min = 1)))]
        reason: String,
    },
}

/// A call that has run, with its result.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "After"))]
pub struct ReportedCall {
    /// The call that `before` let through.
    pub call: CallId,
    /// Its result.
    pub result: CallResult,
}

impl Operation {
    /// Its name, as the member of its JSON has it.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Input(_) => "input",
            Self::Output(_) => "output",
            Self::Limits { .. } => "limits",
            Self::ModelTurn(_) => "model_turn",
            Self::Turn(_) => "turn",
            Self::ModelBefore(_) => "model_before",
            Self::ModelAfter { .. } => "model_after",
            Self::Before(_) => "before",
            Self::Invoke(_) => "invoke",
            Self::After(_) => "after",
            Self::Results { .. } => "results",
            Self::Claim { .. } => "claim",
            Self::Release { .. } => "release",
            Self::Withdraw { .. } => "withdraw",
            Self::Execute { .. } => "execute",
            Self::Event(_) => "event",
            Self::Script { .. } => "script",
            Self::Resume { .. } => "resume",
            Self::Interrupt {} => "interrupt",
            Self::End { .. } => "end",
            Self::Unlock { .. } => "unlock",
        }
    }

    /// The function that the model calls.
    #[must_use]
    pub fn function(&self) -> Option<&str> {
        match self {
            Self::Before(call) | Self::Invoke(call) => Some(&call.function),
            _ => None,
        }
    }

    /// The one call that it is about: of a function or of the model. A call whose id the task is to make up has none.
    #[must_use]
    pub const fn call(&self) -> Option<&CallId> {
        match self {
            Self::Before(call) | Self::Invoke(call) => call.id.as_ref(),
            Self::ModelBefore(call) => call.id.as_ref(),
            Self::After(ReportedCall { call, .. })
            | Self::ModelAfter { call, .. }
            | Self::Claim { call, .. }
            | Self::Release { call, .. }
            | Self::Withdraw { call, .. }
            | Self::Execute { call } => Some(call),
            Self::Input(_)
            | Self::Output(_)
            | Self::Limits { .. }
            | Self::ModelTurn(_)
            | Self::Turn(_)
            | Self::Results { .. }
            | Self::Event(_)
            | Self::Script { .. }
            | Self::Resume { .. }
            | Self::Interrupt {}
            | Self::End { .. }
            | Self::Unlock { .. } => None,
        }
    }

    /// The kind of operation that it decides, as far as that is known from it alone.
    #[must_use]
    pub const fn decided_kind(&self) -> DecidedKind {
        match self {
            Self::Input(_) => DecidedKind::Input,
            Self::Output(_) => DecidedKind::Output,
            Self::Event(_) => DecidedKind::Event,
            Self::ModelBefore(_) | Self::ModelAfter { .. } => DecidedKind::Model,
            _ => DecidedKind::Call,
        }
    }

    /// Whether it may have to wait for other calls or for people, so that its answer can be waited for.
    #[must_use]
    pub const fn can_wait(&self) -> bool {
        matches!(
            self,
            Self::Input(_)
                | Self::Output(_)
                | Self::Turn(_)
                | Self::Before(_)
                | Self::Invoke(_)
                | Self::Event(_)
                | Self::Results { .. }
                | Self::Resume { .. }
        )
    }

    /// A few words for it: `before refund`, `input`.
    #[must_use]
    pub fn called(&self) -> String {
        match self.function() {
            Some(function) => format!("{} {function}", self.name()),
            None => self.name().to_owned(),
        }
    }
}

impl Task {
    /// Takes an operation. The decision on a turn or on results has those of their calls in [`Decision::decided`]. `settings` are those of the
    /// namespace, for the secrets of webhooks; only an event reads them. A signed webhook whose secret is not among them is discarded.
    ///
    /// # Errors
    /// Those of the method of the operation; nothing has happened then. A script that cannot be read is a decision, too.
    ///
    /// # Cost
    /// That of the method.
    pub fn apply(
        &mut self,
        operation: Operation,
        settings: &BTreeMap<String, Json>,
        now: impl Into<Timestamp>,
    ) -> Result<Progress, TaskError> {
        let now = now.into();
        Ok(match operation {
            Operation::Input(message) => self.input(&message, now).into_progress(),
            Operation::Output(message) => self.output(&message, now).into_progress(),
            Operation::Limits { next } => self.limits(next, now).into(),
            Operation::ModelTurn(usage) => self.model_turn(usage, now).into(),
            Operation::Turn(turn) => self.turn(&turn, now)?.into_decision().into(),
            Operation::ModelBefore(call) => self.model_before(&call, now)?.into_progress(),
            Operation::ModelAfter { call, answer } => self.model_after(&call, &answer, now)?.into_progress(),
            Operation::Before(call) => self.before(&call, now)?.into_progress(),
            Operation::Invoke(call) => self.invoke(&call, now)?.into_progress(),
            Operation::After(ReportedCall { call, result }) => {
                self.after(&call, result, now)?.into_progress()
            }
            Operation::Results { results } => {
                let results = results.into_iter().map(|ReportedCall { call, result }| (call, result));
                self.results(results.collect(), now)?.into_decision().into()
            }
            Operation::Claim { call, claimant } => self.claim(&call, &claimant, now)?.into(),
            Operation::Release { call, claimant } => self.release(&call, &claimant)?.into(),
            Operation::Withdraw { call, ran } => self.withdraw(&call, ran, now)?.into(),
            Operation::Execute { call } => self.execute(&call, now)?.into_progress(),
            Operation::Event(delivery) => self.event(&delivery, settings, now).into_progress(),
            Operation::Script { source } => match self.script(&source, now) {
                Ok(operation) => operation.into_progress(),
                Err(issues) => Decision::refused_script(&issues).into(),
            },
            Operation::Resume { question: Some(question), answer } => {
                self.answer(question, answer, now)?.into_progress()
            }
            Operation::Resume { question: None, answer } => self.resume(answer, now)?.into_progress(),
            Operation::Interrupt {} => self.interrupt(now).into(),
            Operation::End { reason } => self.end(&reason, now).into(),
            Operation::Unlock { reason } => self.unlock(&reason)?.into(),
        })
    }
}

/// Schemas of values that are [`Json`] here, as they are read by a manifest's types or by steps.
#[cfg(feature = "schema")]
mod schema {
    use crate::cel::Json;
    use schemars::{JsonSchema, Schema, SchemaGenerator};

    /// A text, or an object with `message`, which is a text or a list of parts, and the parameters of the agent.
    #[derive(JsonSchema)]
    #[schemars(extend("type" = ["string", "object"]))]
    pub(super) struct Message(#[expect(dead_code, reason = "its schema is looked at")] Json);

    pub(super) fn answer(_: &mut SchemaGenerator) -> Schema {
        Schema::try_from(crate::policy::answer_schema()).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::Operation;
    use serde_json::{Value, json};

    /// Each operation as JSON: its name is that of the one member, and it is written as it was read.
    #[test]
    fn an_operation_is_written_as_it_was_read() {
        let call = json!({ "id": "c1", "function": "pay", "arguments": { "amount": 5 } });
        let result = json!({ "status": "successful", "output": { "paid": true }, "task_id": null });
        let usage = json!({ "prompt_tokens": 3, "completion_tokens": 4, "cost": "0.5" });
        let bodies = json!({
            "input": { "message": "Hello." },
            "output": "Done.",
            "limits": { "next": "model_turn" },
            "model_turn": usage,
            "turn": { "usage": usage, "calls": [call] },
            "model_before": { "id": "m1", "request": { "messages": [] }, "estimate": usage },
            "model_after": { "call": "m1", "answer": { "content": [] } },
            "before": call,
            "invoke": call,
            "after": { "call": "c1", "result": result },
            "results": { "results": [{ "call": "c1", "result": result }] },
            "claim": { "call": "c1", "claimant": "worker-1" },
            "release": { "call": "c1", "claimant": "worker-1" },
            "withdraw": { "call": "c1", "ran": "unknown" },
            "execute": { "call": "c1" },
            "event": { "capability": "desk", "event": "replied", "payload": { "who": "kim" } },
            "script": { "source": "pay({'amount': 5})" },
            "resume": { "question": 2, "answer": { "text": "a file" } },
            "interrupt": {},
            "end": { "reason": "The customer has left." },
            "unlock": { "reason": "It was a mistake." },
        });
        for (name, body) in bodies.as_object().unwrap() {
            let written = Value::Object([(name.clone(), body.clone())].into_iter().collect());
            let operation: Operation = serde_json::from_value(written.clone()).unwrap();
            assert_eq!(operation.name(), name);
            assert_eq!(serde_json::to_value(&operation).unwrap(), written, "{name}");
            // the same by the name and the body
            let text = body.to_string();
            let mut read = serde_json::Deserializer::from_str(&text);
            let operation = Operation::from_body(name, &mut read).unwrap();
            assert_eq!(serde_json::to_value(&operation).unwrap(), written, "{name}");
            let without_body = Operation::from_body(name, &mut serde_json::Deserializer::from_str("null"));
            assert_eq!(without_body.is_ok(), ["input", "output"].contains(&&**name), "{name}");
        }
        assert!(Operation::from_body("pay", json!({})).is_err());
        for (request, expected) in [
            (
                json!({ "headers": [["X-A", "1"]], "body": "{}" }),
                json!({ "headers": [["X-A", "1"]], "body": "{}" }),
            ),
            (
                json!({ "headers": [], "body_base64": "/w==" }),
                json!({ "headers": [], "body_base64": "/w==" }),
            ),
            // a body that is text is written as text
            (json!({ "headers": [], "body_base64": "e30=" }), json!({ "headers": [], "body": "{}" })),
        ] {
            let event =
                |request| json!({ "event": { "capability": "desk", "event": "signed", "request": request } });
            let operation: Operation = serde_json::from_value(event(request)).unwrap();
            assert_eq!(serde_json::to_value(&operation).unwrap(), event(expected));
        }
        for wrong in [
            json!({ "event": { "capability": "desk", "event": "e" } }),
            json!({ "event": { "capability": "desk", "event": "e", "payload": 1, "request": { "headers": [], "body": "" } } }),
            json!({ "event": { "capability": "desk", "event": "e", "request": { "headers": [] } } }),
            json!({ "event": { "capability": "desk", "event": "e", "request": { "headers": [], "body": "", "body_base64": "" } } }),
            json!({ "event": { "capability": "desk", "event": "e", "request": { "headers": [], "body_base64": "%" } } }),
            json!({ "event": { "capability": "desk", "event": "e", "payload": 1, "settings": {} } }),
            json!({ "pay": {} }),
            json!({ "end": {} }),
            json!({ "execute": { "call": "c1", "cal": "c2" } }),
            json!({ "withdraw": { "call": "c1", "ran": true } }),
        ] {
            assert!(serde_json::from_value::<Operation>(wrong.clone()).is_err(), "{wrong}");
        }
    }
}
