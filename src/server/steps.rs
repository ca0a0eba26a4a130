//! The steps of a task on the wire: one body a step, each taken by the operation of [`Task`] that it names.
//!
//! In: a body that was read strictly, a task, the time. Out: the operation's progress. A denial is a decision; what the
//! host did wrong (the id of no call, an answer to no question) is a problem, and then nothing has happened.

use super::messages;
use super::problem::{Kind, Problem};
use celador::cel::{Json, Timestamp};
use celador::context::MASK;
use celador::task::{
    Answer, Call, CallId, CallResult, CallStatus, Decision, Next, Progress, Task, TaskError, Usage,
};
use celador_store::OperationKind;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::collections::BTreeMap;

/// One step of a task.
pub(super) trait StepBody: DeserializeOwned {
    /// What it is in the words of the store, the decision log and the figures.
    fn operation(&self) -> OperationKind;

    /// The function that it is about, for the decision log.
    fn function(&self) -> Option<&str> {
        None
    }

    /// Why, if it ends the task.
    fn reason(&self) -> Option<&str> {
        None
    }

    /// Its body as the decision log may show it, for a task that has secrets and has not taken it yet.
    fn masked(&self, _: &Task, body: Value) -> Value {
        body
    }

    /// Whether it is taken by a task that is held until an operator decides about its policy.
    fn while_held(&self, _: &Task) -> WhileHeld {
        WhileHeld::Refused
    }

    /// Takes it.
    fn take(&self, task: &mut Task, at: &Circumstances<'_>) -> Result<Progress, Problem>;
}

/// What becomes of a step of a task that is held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WhileHeld {
    /// It is not taken.
    Refused,
    /// It tells of something that has run, and is taken under the task's own policy.
    Taken,
    /// It ends the task, under any policy.
    Ends,
}

/// What a step needs besides its task.
pub(super) struct Circumstances<'c> {
    pub(super) now: Timestamp,
    /// The settings of the task's namespace, for the secrets of webhooks.
    pub(super) settings: &'c BTreeMap<String, Json>,
}

/// Somebody says something: `{message, …parameters}`, or a text alone.
#[derive(Deserialize)]
#[serde(transparent)]
pub(super) struct Input(Json);

impl StepBody for Input {
    fn operation(&self) -> OperationKind {
        OperationKind::Input
    }

    fn masked(&self, task: &Task, _: Value) -> Value {
        written(&task.policy().masked_input(&self.0))
    }

    fn take(&self, task: &mut Task, at: &Circumstances<'_>) -> Result<Progress, Problem> {
        Ok(task.input(&self.0, at.now).into_progress())
    }
}

/// The model has a response: `{message}`, or a text alone.
#[derive(Deserialize)]
#[serde(transparent)]
pub(super) struct Output(Json);

impl StepBody for Output {
    fn operation(&self) -> OperationKind {
        OperationKind::Output
    }

    fn take(&self, task: &mut Task, at: &Circumstances<'_>) -> Result<Progress, Problem> {
        Ok(task.output(&self.0, at.now).into_progress())
    }
}

/// The model has answered.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ModelTurn {
    prompt_tokens: u64,
    completion_tokens: u64,
}

impl StepBody for ModelTurn {
    fn operation(&self) -> OperationKind {
        OperationKind::ModelTurn
    }

    fn take(&self, task: &mut Task, at: &Circumstances<'_>) -> Result<Progress, Problem> {
        let Self { prompt_tokens, completion_tokens } = *self;
        Ok(task.model_turn(Usage { prompt_tokens, completion_tokens }, at.now).into())
    }
}

/// The model calls a function; the host will carry it out.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Before {
    function: String,
    arguments: Json,
}

impl StepBody for Before {
    fn operation(&self) -> OperationKind {
        OperationKind::Before
    }

    fn function(&self) -> Option<&str> {
        Some(&self.function)
    }

    fn masked(&self, task: &Task, mut body: Value) -> Value {
        let arguments = task.policy().masked_arguments(&self.function, &self.arguments);
        replace(&mut body, "/arguments", written(&arguments));
        body
    }

    fn take(&self, task: &mut Task, at: &Circumstances<'_>) -> Result<Progress, Problem> {
        let call = Call { function: self.function.clone(), arguments: self.arguments.clone() };
        Ok(task.before(&call, at.now).into_progress())
    }
}

/// The model calls a function; what carrying it out needs is asked for.
#[derive(Deserialize)]
#[serde(transparent)]
pub(super) struct Invoke(Before);

impl StepBody for Invoke {
    fn operation(&self) -> OperationKind {
        OperationKind::Invoke
    }

    fn function(&self) -> Option<&str> {
        self.0.function()
    }

    fn masked(&self, task: &Task, body: Value) -> Value {
        self.0.masked(task, body)
    }

    fn take(&self, task: &mut Task, at: &Circumstances<'_>) -> Result<Progress, Problem> {
        let call = Call { function: self.0.function.clone(), arguments: self.0.arguments.clone() };
        Ok(task.invoke(&call, at.now).into_progress())
    }
}

/// A call that was let through has run.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct After {
    call: CallId,
    result: ToolResult,
}

/// What came of a call.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ToolResult {
    status: CallStatus,
    output: Json,
    #[serde(default)]
    task_id: Option<String>,
}

impl ToolResult {
    fn masked(&self, task: &Task, function: &str) -> Value {
        written(&task.policy().masked_result(function, self.status, &self.output))
    }

    fn to_result(&self) -> CallResult {
        CallResult { status: self.status, output: self.output.clone(), task_id: self.task_id.clone() }
    }
}

impl StepBody for After {
    fn operation(&self) -> OperationKind {
        OperationKind::After
    }

    fn masked(&self, task: &Task, mut body: Value) -> Value {
        let function = task.function_of(self.call).unwrap_or_default();
        replace(&mut body, "/result/output", self.result.masked(task, function));
        body
    }

    fn while_held(&self, _: &Task) -> WhileHeld {
        WhileHeld::Taken
    }

    fn take(&self, task: &mut Task, at: &Circumstances<'_>) -> Result<Progress, Problem> {
        Ok(task.after(self.call, self.result.to_result(), at.now)?.into_progress())
    }
}

/// A call that was let through is to be carried out.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Execute {
    call: CallId,
}

impl StepBody for Execute {
    fn operation(&self) -> OperationKind {
        OperationKind::Execute
    }

    fn take(&self, task: &mut Task, at: &Circumstances<'_>) -> Result<Progress, Problem> {
        Ok(task.execute(self.call, at.now)?.into_progress())
    }
}

/// What the task asked for.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Resume {
    answer: Given,
}

/// The answer to a question.
#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum Given {
    Result(ToolResult),
    Review(bool),
    Text(String),
    Written,
    Size(u64),
    Failed,
}

impl StepBody for Resume {
    fn operation(&self) -> OperationKind {
        match self.answer {
            Given::Review(_) => OperationKind::Review,
            _ => OperationKind::Resume,
        }
    }

    fn masked(&self, task: &Task, mut body: Value) -> Value {
        match (&self.answer, task.request()) {
            (Given::Result(result), asked) => {
                let function = match asked {
                    Some(celador::task::Request::Invoke(invocation)) => &*invocation.function,
                    // the answer fits no question, and is a problem
                    _ => "",
                };
                replace(&mut body, "/answer/result/output", result.masked(task, function));
            }
            // no schema is about what stands in a file
            (Given::Text(_), _) => replace(&mut body, "/answer/text", MASK.into()),
            _ => {}
        }
        body
    }

    fn while_held(&self, task: &Task) -> WhileHeld {
        let is_result = matches!(self.answer, Given::Result(_)) && task.awaits_result();
        if is_result { WhileHeld::Taken } else { WhileHeld::Refused }
    }

    fn take(&self, task: &mut Task, at: &Circumstances<'_>) -> Result<Progress, Problem> {
        let answer = match &self.answer {
            Given::Result(result) => Answer::Result(result.to_result()),
            Given::Review(approved) => Answer::Review(*approved),
            Given::Text(text) => Answer::Text(text.clone()),
            Given::Written => Answer::Written,
            Given::Size(bytes) => Answer::Size(*bytes),
            Given::Failed => Answer::Failed,
        };
        Ok(task.resume(answer, at.now)?.into_progress())
    }
}

/// May this be done next?
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Limits {
    next: Coming,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Coming {
    ModelTurn,
    Capability,
    Other,
}

impl StepBody for Limits {
    fn operation(&self) -> OperationKind {
        OperationKind::Limits
    }

    fn take(&self, task: &mut Task, at: &Circumstances<'_>) -> Result<Progress, Problem> {
        let next = match self.next {
            Coming::ModelTurn => Next::ModelTurn,
            Coming::Capability => Next::Capability,
            Coming::Other => Next::Other,
        };
        Ok(task.limits(next, at.now).into())
    }
}

/// The model writes a script of calls.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Script {
    source: String,
}

impl StepBody for Script {
    fn operation(&self) -> OperationKind {
        OperationKind::Script
    }

    fn masked(&self, _: &Task, mut body: Value) -> Value {
        // arguments stand in it as the model wrote them
        replace(&mut body, "/source", MASK.into());
        body
    }

    fn take(&self, task: &mut Task, at: &Circumstances<'_>) -> Result<Progress, Problem> {
        Ok(match task.script(&self.source, at.now) {
            Ok(operation) => operation.into_progress(),
            Err(issues) => Decision::refused_script(&issues).into(),
        })
    }
}

/// The task is interrupted.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Interrupt {}

impl StepBody for Interrupt {
    fn operation(&self) -> OperationKind {
        OperationKind::Interrupt
    }

    fn take(&self, task: &mut Task, at: &Circumstances<'_>) -> Result<Progress, Problem> {
        Ok(task.interrupt(at.now).into())
    }
}

/// The task is ended.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct End {
    reason: String,
}

impl StepBody for End {
    fn operation(&self) -> OperationKind {
        OperationKind::End
    }

    fn reason(&self) -> Option<&str> {
        Some(&self.reason)
    }

    fn while_held(&self, _: &Task) -> WhileHeld {
        WhileHeld::Ends
    }

    fn take(&self, task: &mut Task, at: &Circumstances<'_>) -> Result<Progress, Problem> {
        check_reason(&self.reason, task.policy().limits().max_reason_bytes)?;
        Ok(task.end(&self.reason, at.now).into())
    }
}

/// Puts a value in the place of a part of a body.
fn replace(body: &mut Value, place: &str, value: Value) {
    match body.pointer_mut(place) {
        Some(part) => *part = value,
        // then it is not the body that was read, and none of it is shown
        None => *body = MASK.into(),
    }
}

fn written(json: &Json) -> Value {
    serde_json::to_value(json).unwrap_or_else(|_| MASK.into())
}

/// Whether a reason says something, and no more than is allowed.
pub(super) fn check_reason(reason: &str, most: usize) -> Result<(), Problem> {
    let sound = !reason.trim().is_empty() && reason.len() <= most;
    if sound { Ok(()) } else { Err(Problem::new(Kind::BadRequest, messages::bad_reason(most))) }
}

impl From<TaskError> for Problem {
    fn from(error: TaskError) -> Self {
        let kind = match error {
            TaskError::UnknownAgent(_) | TaskError::UnknownTrigger(_) => Kind::UnknownAgent,
            TaskError::InvalidAgent(_) | TaskError::InvalidTrigger(_) => Kind::InvalidAgent,
            TaskError::UnknownCall(_) => Kind::UnknownCall,
            TaskError::UnknownFunction(_) | TaskError::NotAMessage => Kind::BadRequest,
            TaskError::NothingPending => Kind::NothingAsked,
            TaskError::WrongAnswer => Kind::WrongAnswer,
            TaskError::PolicyChanged => Kind::PolicyChanged,
            TaskError::UnknownFormat(_) | TaskError::NotRestorable(_) => Kind::NotRestorable,
            // a step of a task that waits was refused before it was begun
            _ => Kind::Internal,
        };
        Self::new(kind, error.to_string())
    }
}
