//! The steps of a task over HTTP: what the log may show of each, which of them a task that is held takes, and what they answer.
//!
//! In: a step, a task, the time. Out: how far it came. A denial is a decision; what the
//! host did wrong (the id of no call, an answer to no question) is a problem, and then nothing has happened.

use crate::identity::Person;
use crate::messages;
use crate::problem::{Kind, Problem};
use celador::cel::{Json, Timestamp};
use celador::context::MASK;
use celador::task::{
    Answer, Call, CallId, CallResult, Content, Delivery, Operation, Progress, QuestionId, ReportedCall,
    ReviewAnswer, Task, TaskError,
};
use celador_store::OperationKind;
use serde_json::Value;
use std::collections::BTreeMap;

/// One step of a task.
pub(crate) trait TaskStep {
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

    /// Whether a task that has ended takes steps again because of it.
    fn revives(&self) -> bool {
        false
    }

    /// Its body as the decision log may show it, for a task without secrets.
    fn body(&self) -> Value;

    /// The same for a task that has secrets and has not taken it yet.
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

    /// An answer as the task is to take it. Who passes on the answer to a review is on record with it: the server knows nobody else.
    fn answer(&self, task: &Task, question: Option<QuestionId>, answer: &Answer) -> Result<Answer, Problem> {
        Ok(match answer.clone() {
            Answer::Review(answer) if answer.by.is_some() || !answer.addressed_as.is_empty() => {
                return Err(Problem::new(Kind::BadRequest, messages::by_is_known()));
            }
            Answer::Review(answer) => {
                Answer::Review(ReviewAnswer { by: self.person.map(Person::identity), ..answer })
            }
            Answer::Result(result) => {
                Answer::Result(self.result(task, task.function_asked(question), &result)?)
            }
            answer => answer,
        })
    }
}

/// Any operation of a task.
impl TaskStep for Operation {
    fn operation(&self) -> OperationKind {
        self.into()
    }

    fn function(&self) -> Option<&str> {
        Self::function(self)
    }

    fn reason(&self) -> Option<&str> {
        match self {
            Self::End { reason } | Self::Unlock { reason } => Some(reason),
            _ => None,
        }
    }

    fn revives(&self) -> bool {
        matches!(self, Self::Unlock { .. })
    }

    fn body(&self) -> Value {
        let Ok(Value::Object(members)) = serde_json::to_value(self) else { return Value::Null };
        members.into_iter().next().map(|(_, body)| body).unwrap_or_default()
    }

    fn masked(&self, task: &Task, mut body: Value) -> Value {
        let policy = task.policy();
        let arguments = |call: &Call| written(&policy.masked_arguments(&call.function, &call.arguments));
        let output = |ReportedCall { call, result }: &ReportedCall| {
            masked_result(task, task.function_of(call).unwrap_or_default(), result)
        };
        match self {
            Self::Input(message) => return written(&policy.masked_input(message)),
            Self::Before(call) | Self::Invoke(call) => replace(&mut body, "/arguments", arguments(call)),
            Self::Turn(turn) => {
                for (at, call) in turn.calls.iter().enumerate() {
                    replace(&mut body, &format!("/calls/{at}/arguments"), arguments(call));
                }
            }
            Self::After(reported) => replace(&mut body, "/result/output", output(reported)),
            Self::Results { results } => {
                for (at, reported) in results.iter().enumerate() {
                    replace(&mut body, &format!("/results/{at}/result/output"), output(reported));
                }
            }
            Self::ModelBefore(call) => {
                replace(&mut body, "/request", written(&policy.masked_of_model(&call.request)));
            }
            Self::ModelAfter { answer, .. } => {
                replace(&mut body, "/answer", written(&policy.masked_of_model(answer)));
            }
            // no schema is about its headers and bytes
            Self::Event(Delivery { content: Content::Request { .. }, .. }) => {
                replace(&mut body, "/request", MASK.into());
            }
            // arguments stand in it as the model wrote them
            Self::Script { .. } => replace(&mut body, "/source", MASK.into()),
            Self::Resume { question, answer: Answer::Result(result) } => {
                // an answer that fits no question is a problem
                let function = task.function_asked(*question).unwrap_or_default();
                replace(&mut body, "/answer/result/output", masked_result(task, function, result));
            }
            // no schema is about what stands in a file
            Self::Resume { answer: Answer::Text(_), .. } => replace(&mut body, "/answer/text", MASK.into()),
            Self::Event(_)
            | Self::Output(_)
            | Self::Limits { .. }
            | Self::ModelTurn(_)
            | Self::Claim { .. }
            | Self::Release { .. }
            | Self::Withdraw { .. }
            | Self::Execute { .. }
            | Self::Resume { .. }
            | Self::Interrupt {}
            | Self::End { .. }
            | Self::Unlock { .. } => {}
        }
        body
    }

    fn comes_again(&self, task: &Task) -> bool {
        let has_call = |id: &Option<CallId>| id.as_ref().is_some_and(|id| task.has_call(id));
        let is_closed = |call: &CallId| task.function_of(call).is_none() && task.has_call(call);
        match self {
            Self::Before(call) | Self::Invoke(call) => has_call(&call.id),
            Self::Turn(turn) => !turn.calls.is_empty() && turn.calls.iter().all(|call| has_call(&call.id)),
            Self::After(reported) => is_closed(&reported.call),
            Self::Results { results } => results.iter().all(|reported| is_closed(&reported.call)),
            Self::Claim { call, .. } => is_closed(call),
            Self::ModelBefore(call) => has_call(&call.id),
            Self::ModelAfter { call, .. } => !task.awaits_answer(call) && task.has_call(call),
            _ => false,
        }
    }

    fn passes_on(&self) -> bool {
        matches!(self, Self::Resume { answer: Answer::Review(_), .. })
    }

    fn while_held(&self, task: &Task) -> WhileHeld {
        match self {
            Self::After(_)
            | Self::Results { .. }
            | Self::Release { .. }
            | Self::Withdraw { .. }
            | Self::ModelAfter { .. } => WhileHeld::Taken,
            Self::Resume { answer: Answer::Result(_), .. } if task.awaits_result() => WhileHeld::Taken,
            Self::End { .. } => WhileHeld::Ends,
            _ => WhileHeld::Refused,
        }
    }

    fn answers(&self) -> Answers {
        match self {
            Self::Turn(turn) => Answers::Turn(turn.calls.len()),
            Self::Results { results } => Answers::Results(results.len()),
            _ => Answers::One,
        }
    }

    fn take(&self, task: &mut Task, at: &Circumstances<'_>) -> Result<Progress, Problem> {
        let reported = |task: &Task, ReportedCall { call, result }: &ReportedCall| {
            let result = at.result(task, task.function_of(call), result)?;
            Ok::<_, Problem>(ReportedCall { call: call.clone(), result })
        };
        let operation = match self {
            Self::After(report) => Self::After(reported(task, report)?),
            Self::Results { results } if results.is_empty() => {
                return Err(Problem::new(Kind::BadRequest, messages::no_results()));
            }
            Self::Results { results } => {
                let results = results.iter().map(|report| reported(task, report));
                Self::Results { results: results.collect::<Result<_, Problem>>()? }
            }
            Self::Resume { question, answer } => {
                Self::Resume { question: *question, answer: at.answer(task, *question, answer)? }
            }
            Self::End { reason } | Self::Unlock { reason } => {
                check_reason(reason, task.policy().limits().max_reason_bytes)?;
                self.clone()
            }
            operation => operation.clone(),
        };
        Ok(task.apply(operation, at.settings, at.now)?)
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
