//! The steps of a task on the wire: one body a step, each taken by the operation of [`Task`] that it names.
//!
//! In: a body that was read strictly, a task, the time. Out: the operation's progress. A denial is a decision; what the
//! host did wrong (the id of no call, an answer to no question) is a problem, and then nothing has happened.

use crate::identity::Person;
use crate::messages;
use crate::problem::{Kind, Problem};
use crate::request::Empty;
use celador::cel::{Json, Timestamp};
use celador::context::MASK;
use celador::task::{
    Answer, Call, CallId, CallResult, Decision, Next, Progress, QuestionId, Ran, ReviewAnswer, Task,
    TaskError, Usage,
};
use celador_store::OperationKind;
use serde::Deserialize;
use serde_json::Value;
use std::collections::BTreeMap;

/// One step of a task.
pub(crate) trait StepBody {
    /// What it is in the words of the store, the decision log and the figures.
    fn operation(&self) -> OperationKind;

    /// The function that it is about, for the decision log.
    fn function(&self) -> Option<&str> {
        None
    }

    /// Why, if it ends the task or unlocks it.
    fn reason(&self) -> Option<&str> {
        None
    }

    /// The identity of the caller whose task it is, if it says so: it may be another than the one who asks.
    fn owner(&self) -> Option<&str> {
        None
    }

    /// Whether a task that has ended takes steps again because of it.
    fn revives(&self) -> bool {
        false
    }

    /// Its body as the decision log may show it, for a task that has secrets and has not taken it yet.
    fn masked(&self, _: &Task, body: Value) -> Value {
        body
    }

    /// Whether it is about a call that the task knows, and is taken only to say how far that has come.
    fn comes_again(&self, _: &Task) -> bool {
        false
    }

    /// Whether it passes on the answer to a review of somebody whom the runtime alone knows.
    fn passes_on(&self) -> bool {
        false
    }

    /// Whether it is taken by a task that is held until an operator decides about its policy.
    fn while_held(&self, _: &Task) -> WhileHeld {
        WhileHeld::Refused
    }

    /// What it answers.
    fn answers(&self) -> Answers {
        Answers::One
    }

    /// Takes it.
    fn take(&self, task: &mut Task, at: &Circumstances<'_>) -> Result<Progress, Problem>;
}

/// What a step answers.
pub(crate) enum Answers {
    /// How far the one operation came.
    One,
    /// How far a turn came, with so many calls.
    Turn(usize),
    /// How far so many calls came that were reported.
    Results(usize),
}

/// What becomes of a step of a task that is held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WhileHeld {
    /// It is not taken.
    Refused,
    /// It tells of something that has run, and is taken under the task's own policy.
    Taken,
    /// It ends the task, under any policy.
    Ends,
}

/// What a step needs besides its task.
pub(crate) struct Circumstances<'c> {
    pub(crate) now: Timestamp,
    /// The settings of the task's namespace, for the secrets of webhooks.
    pub(crate) settings: &'c BTreeMap<String, Json>,
    /// Who brings it; nobody is known where callers need no token.
    pub(crate) person: Option<&'c Person>,
    /// A result of another agent with the labels that it carries in that agent's task.
    pub(crate) with_labels: &'c dyn Fn(&Task, &CallResult) -> Result<CallResult, Problem>,
}

impl Circumstances<'_> {
    /// A result of a function as the task is to take it: that of another agent with the labels that it brings along.
    pub(crate) fn result(
        &self,
        task: &Task,
        function: Option<&str>,
        result: &CallResult,
    ) -> Result<CallResult, Problem> {
        match function.is_some_and(|function| task.delegates(function)) {
            true => (self.with_labels)(task, result),
            false => Ok(result.clone()),
        }
    }
}

/// A text, or an object with `message`, which is a text or a list of parts, and the parameters of the agent.
#[derive(Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(extend("type" = ["string", "object"])))]
struct Message(Json);

/// Somebody says something.
#[derive(Deserialize)]
#[serde(transparent)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(inline))]
pub(crate) struct Input(Message);

impl StepBody for Input {
    fn operation(&self) -> OperationKind {
        OperationKind::Input
    }

    fn masked(&self, task: &Task, _: Value) -> Value {
        written(&task.policy().masked_input(&self.0.0))
    }

    fn take(&self, task: &mut Task, at: &Circumstances<'_>) -> Result<Progress, Problem> {
        Ok(task.input(&self.0.0, at.now).into_progress())
    }
}

/// The model has a response.
#[derive(Deserialize)]
#[serde(transparent)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(inline))]
pub(crate) struct Output(Message);

impl StepBody for Output {
    fn operation(&self) -> OperationKind {
        OperationKind::Output
    }

    fn take(&self, task: &mut Task, at: &Circumstances<'_>) -> Result<Progress, Problem> {
        Ok(task.output(&self.0.0, at.now).into_progress())
    }
}

/// The model has answered.
#[derive(Deserialize)]
#[serde(transparent)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(inline))]
pub(crate) struct ModelTurn(Usage);

impl StepBody for ModelTurn {
    fn operation(&self) -> OperationKind {
        OperationKind::ModelTurn
    }

    fn take(&self, task: &mut Task, at: &Circumstances<'_>) -> Result<Progress, Problem> {
        Ok(task.model_turn(self.0, at.now).into())
    }
}

/// The model calls a function; the host will carry it out.
#[derive(Deserialize)]
#[serde(transparent)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(inline))]
pub(crate) struct Before(Call);

impl StepBody for Before {
    fn operation(&self) -> OperationKind {
        OperationKind::Before
    }

    fn function(&self) -> Option<&str> {
        Some(&self.0.function)
    }

    fn masked(&self, task: &Task, mut body: Value) -> Value {
        let arguments = task.policy().masked_arguments(&self.0.function, &self.0.arguments);
        replace(&mut body, "/arguments", written(&arguments));
        body
    }

    fn comes_again(&self, task: &Task) -> bool {
        self.0.id.as_ref().is_some_and(|id| task.has_call(id))
    }

    fn take(&self, task: &mut Task, at: &Circumstances<'_>) -> Result<Progress, Problem> {
        Ok(task.before(&self.0, at.now)?.into_progress())
    }
}

/// The model calls a function; what carrying it out needs is asked for.
#[derive(Deserialize)]
#[serde(transparent)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(inline))]
pub(crate) struct Invoke(Before);

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

    fn comes_again(&self, task: &Task) -> bool {
        self.0.comes_again(task)
    }

    fn take(&self, task: &mut Task, at: &Circumstances<'_>) -> Result<Progress, Problem> {
        Ok(task.invoke(&self.0.0, at.now)?.into_progress())
    }
}

/// A call that was let through has run.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct After {
    /// The call that `before` let through.
    pub(crate) call: CallId,
    /// Its result.
    pub(crate) result: CallResult,
}

impl StepBody for After {
    fn operation(&self) -> OperationKind {
        OperationKind::After
    }

    fn masked(&self, task: &Task, mut body: Value) -> Value {
        let function = task.function_of(&self.call).unwrap_or_default();
        replace(&mut body, "/result/output", masked_result(task, function, &self.result));
        body
    }

    fn while_held(&self, _: &Task) -> WhileHeld {
        WhileHeld::Taken
    }

    fn comes_again(&self, task: &Task) -> bool {
        task.function_of(&self.call).is_none() && task.has_call(&self.call)
    }

    fn take(&self, task: &mut Task, at: &Circumstances<'_>) -> Result<Progress, Problem> {
        let result = at.result(task, task.function_of(&self.call), &self.result)?;
        Ok(task.after(&self.call, result, at.now)?.into_progress())
    }
}

/// A call that was let through is to be carried out.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct Execute {
    /// The call that `before` let through.
    call: CallId,
}

impl StepBody for Execute {
    fn operation(&self) -> OperationKind {
        OperationKind::Execute
    }

    fn take(&self, task: &mut Task, at: &Circumstances<'_>) -> Result<Progress, Problem> {
        Ok(task.execute(&self.call, at.now)?.into_progress())
    }
}

/// One of several processes claims a call, and runs it if it is allowed.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct Claim {
    /// The call that was let through.
    call: CallId,
    /// A random text that the claimant makes anew for each attempt to run a call: 1 to `max_id_bytes` bytes without control characters.
    #[cfg_attr(feature = "schema", schemars(length(min = 1)))]
    claimant: String,
}

impl StepBody for Claim {
    fn operation(&self) -> OperationKind {
        OperationKind::Claim
    }

    fn comes_again(&self, task: &Task) -> bool {
        task.function_of(&self.call).is_none() && task.has_call(&self.call)
    }

    fn take(&self, task: &mut Task, at: &Circumstances<'_>) -> Result<Progress, Problem> {
        Ok(task.claim(&self.call, &self.claimant, at.now)?.into())
    }
}

/// A claim is given back: the call was not run.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct Release {
    /// The call.
    call: CallId,
    /// The text of the claim.
    #[cfg_attr(feature = "schema", schemars(length(min = 1)))]
    claimant: String,
}

impl StepBody for Release {
    fn operation(&self) -> OperationKind {
        OperationKind::Release
    }

    fn while_held(&self, _: &Task) -> WhileHeld {
        WhileHeld::Taken
    }

    fn take(&self, task: &mut Task, _: &Circumstances<'_>) -> Result<Progress, Problem> {
        Ok(task.release(&self.call, &self.claimant)?.into())
    }
}

/// A call is taken back: its runtime will never report it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct Withdraw {
    /// The call: one that was let through, that waits for others, or that asks.
    call: CallId,
    /// Whether it has run: `false` if it never will, `"unknown"` if nobody knows.
    #[cfg_attr(feature = "schema", schemars(with = "serde_json::Value", extend("enum" = [false, "unknown"])))]
    ran: Ran,
}

impl StepBody for Withdraw {
    fn operation(&self) -> OperationKind {
        OperationKind::Withdraw
    }

    fn while_held(&self, _: &Task) -> WhileHeld {
        WhileHeld::Taken
    }

    fn take(&self, task: &mut Task, at: &Circumstances<'_>) -> Result<Progress, Problem> {
        Ok(task.withdraw(&self.call, self.ran, at.now)?.into())
    }
}

/// The answer to what the task asked for.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct Resume {
    /// The question that is answered; needed only where several are open.
    #[serde(default)]
    question: Option<QuestionId>,
    /// The answer, of the kind that the question wants.
    answer: Answer,
}

impl StepBody for Resume {
    fn operation(&self) -> OperationKind {
        match self.answer {
            Answer::Review(_) => OperationKind::Review,
            _ => OperationKind::Resume,
        }
    }

    fn masked(&self, task: &Task, mut body: Value) -> Value {
        match &self.answer {
            Answer::Result(result) => {
                // an answer that fits no question is a problem
                let function = task.function_asked(self.question).unwrap_or_default();
                replace(&mut body, "/answer/result/output", masked_result(task, function, result));
            }
            // no schema is about what stands in a file
            Answer::Text(_) => replace(&mut body, "/answer/text", MASK.into()),
            _ => {}
        }
        body
    }

    fn passes_on(&self) -> bool {
        matches!(self.answer, Answer::Review(_))
    }

    fn while_held(&self, task: &Task) -> WhileHeld {
        let is_result = matches!(self.answer, Answer::Result(_)) && task.awaits_result();
        if is_result { WhileHeld::Taken } else { WhileHeld::Refused }
    }

    /// Who passes on the answer to a review is on record with it: the server knows nobody else.
    fn take(&self, task: &mut Task, at: &Circumstances<'_>) -> Result<Progress, Problem> {
        let answer = match self.answer.clone() {
            Answer::Review(answer) if answer.by.is_some() || !answer.addressed_as.is_empty() => {
                return Err(Problem::new(Kind::BadRequest, messages::by_is_known()));
            }
            Answer::Review(answer) => {
                Answer::Review(ReviewAnswer { by: at.person.map(Person::identity), ..answer })
            }
            Answer::Result(result) => {
                Answer::Result(at.result(task, task.function_asked(self.question), &result)?)
            }
            answer => answer,
        };
        let answered = match self.question {
            Some(question) => task.answer(question, answer, at.now),
            None => task.resume(answer, at.now),
        };
        Ok(answered?.into_progress())
    }
}

/// May this be done next?
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "Next"))]
pub(crate) struct Limits {
    /// The coming step.
    next: Next,
}

impl StepBody for Limits {
    fn operation(&self) -> OperationKind {
        OperationKind::Limits
    }

    fn take(&self, task: &mut Task, at: &Circumstances<'_>) -> Result<Progress, Problem> {
        Ok(task.limits(self.next, at.now).into())
    }
}

/// The model writes a script of calls.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct Script {
    /// The script as the model wrote it.
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
#[serde(transparent)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(inline))]
pub(crate) struct Interrupt(Empty);

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
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct End {
    /// The reason, of at most `max_reason_bytes`.
    #[cfg_attr(feature = "schema", schemars(length(min = 1)))]
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

/// A locked task is to take steps again.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct Unlock {
    /// The reason, of at most `max_reason_bytes`.
    #[cfg_attr(feature = "schema", schemars(length(min = 1)))]
    reason: String,
    /// The identity of the caller whose task it is; without it, the operator's own.
    #[serde(default)]
    owner: Option<String>,
}

impl StepBody for Unlock {
    fn operation(&self) -> OperationKind {
        OperationKind::Unlock
    }

    fn reason(&self) -> Option<&str> {
        Some(&self.reason)
    }

    fn owner(&self) -> Option<&str> {
        self.owner.as_deref()
    }

    fn revives(&self) -> bool {
        true
    }

    fn take(&self, task: &mut Task, _: &Circumstances<'_>) -> Result<Progress, Problem> {
        check_reason(&self.reason, task.policy().limits().max_reason_bytes)?;
        Ok(task.unlock(&self.reason)?.into())
    }
}

/// Puts a value in the place of a part of a body.
pub(crate) fn replace(body: &mut Value, place: &str, value: Value) {
    match body.pointer_mut(place) {
        Some(part) => *part = value,
        // then it is not the body that was read, and none of it is shown
        None => *body = MASK.into(),
    }
}

pub(crate) fn masked_result(task: &Task, function: &str, result: &CallResult) -> Value {
    written(&task.policy().masked_result(function, result.status, &result.output))
}

pub(crate) fn written(json: &Json) -> Value {
    serde_json::to_value(json).unwrap_or_else(|_| MASK.into())
}

/// Whether a reason says something, and no more than is allowed.
pub(crate) fn check_reason(reason: &str, most: usize) -> Result<(), Problem> {
    let sound = !reason.trim().is_empty() && reason.len() <= most;
    if sound { Ok(()) } else { Err(Problem::new(Kind::BadRequest, messages::bad_reason(most))) }
}

impl From<TaskError> for Problem {
    fn from(error: TaskError) -> Self {
        let kind = match error {
            TaskError::UnknownAgent(_) | TaskError::UnknownTrigger(_) | TaskError::NoDefaultAgent { .. } => {
                Kind::UnknownAgent
            }
            TaskError::MetadataTooLarge { .. } | TaskError::MetadataName | TaskError::MetadataText => {
                Kind::BadRequest
            }
            TaskError::InvalidAgent(_) | TaskError::InvalidTrigger(_) => Kind::InvalidAgent,
            TaskError::ClaimsNotAnObject | TaskError::ClaimsTooLarge(_) => Kind::BadRequest,
            TaskError::ClaimsMisfit { .. } => Kind::ClaimsMisfit,
            TaskError::ParentRequired(_) | TaskError::OtherParent | TaskError::ParentNotAdmitted { .. } => {
                Kind::BadRequest
            }
            TaskError::Tools(_) => Kind::InvalidTools,
            TaskError::UnknownCall(_) => Kind::UnknownCall,
            TaskError::CallExists(_) => Kind::CallExists,
            TaskError::CallClaimed(_) => Kind::CallClaimed,
            TaskError::OtherResult(_) => Kind::OtherResult,
            TaskError::UnknownFunction(_)
            | TaskError::NotAMessage
            | TaskError::BadCallId { .. }
            | TaskError::BadClaimant { .. } => Kind::BadRequest,
            TaskError::NothingPending | TaskError::UnknownQuestion(_) => Kind::NothingAsked,
            TaskError::ReviewExpired(_) => Kind::ReviewClosed,
            TaskError::NotAddressed(_) => Kind::NotAddressed,
            TaskError::SeveralPending => Kind::SeveralAsked,
            TaskError::WrongAnswer => Kind::WrongAnswer,
            TaskError::BadEdit(_) => Kind::BadEdit,
            TaskError::NotLocked | TaskError::HasEnded => Kind::NotLocked,
            TaskError::PolicyChanged => Kind::PolicyChanged,
            TaskError::Waiting => Kind::TaskWaits,
            TaskError::UnknownFormat(_) | TaskError::NotRestorable(_) => Kind::NotRestorable,
            // a step of a task that waits was refused before it was begun
            _ => Kind::Internal,
        };
        Self::new(kind, error.to_string())
    }
}
