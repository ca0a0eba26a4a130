//! One step of a task that was recorded: what happened, when, and what was decided then.
//!
//! In: a line of JSON, or what a caller knows. Out: a [`Recorded`]. The words are those of the steps of a recorded task (`celador run`); beside
//! the step stand `task`, which tells tasks apart, and on the first line of a task its `agent` and `user`.
//!
//! ```json
//! {"task": "t-1", "agent": "shop/clerk", "at": "2026-06-01T12:00:00Z", "input": {"message": "Pay Kim."}, "verdict": "allow"}
//! {"task": "t-1", "call": {"id": "c1", "fn": "payout", "args": {"amount": 40}}, "verdict": "allow"}
//! {"task": "t-1", "result": {"id": "c1", "output": {"paid": true}}, "verdict": "allow"}
//! ```

use super::error::RecordError;
use crate::cel::{Json, Timestamp};
use crate::limits::EngineLimits;
use crate::task::{
    Call, CallId, CallResult, CallStatus, Operation, Ran, ReportedCall, ReviewWord, Turn, Usage, User,
    VerdictKind,
};
use crate::unfit::unfit;
use serde::Deserialize;
use std::collections::BTreeMap;

/// One step of a recorded task.
#[derive(Clone, Debug)]
pub struct Recorded {
    /// The task, as whoever recorded it tells tasks apart.
    pub task: String,
    /// Its agent, `namespace/name` or a name alone; needed on its first step.
    pub agent: Option<String>,
    /// For whom it runs; of its first step.
    pub user: Option<User>,
    /// When the task was created; when its first step happened without it.
    pub started_at: Option<Timestamp>,
    /// When it happened; as the step before it without it.
    pub at: Option<Timestamp>,
    /// What happened.
    pub step: RecordedStep,
    /// What was decided then; of a turn of the model about its limits.
    pub was: Option<Was>,
    /// What was decided about the calls of a turn, in their order, as far as that is known.
    pub calls_were: Vec<Option<Was>>,
    /// By function, what the executions that steps asked for gave, in turn; of a first step for the whole task, the last one again and again.
    pub gave: BTreeMap<String, Vec<CallResult>>,
    /// Whether any other execution in the task gives an empty object, as where a recorded task is played; of a first step.
    pub plays_others: bool,
}

/// What was decided when a step was taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Was {
    /// The verdict.
    pub verdict: VerdictKind,
    /// What decided: the name of a step of a policy, the place of one of a manifest, a limit.
    pub by: Option<String>,
}

/// A step of a recorded task.
#[derive(Clone, Debug)]
pub enum RecordedStep {
    /// An operation on the task. Whether a call is evaluated by the engine is the new policies' to say, so `before` and `invoke` are judged alike.
    Operation(Operation),
    /// A reviewer decided. The question that they answer is found when the step is judged.
    Review {
        /// The call that the review is about; without it the first one that this reviewer is asked for.
        call: Option<CallId>,
        /// The reviewer, where no call is named.
        reviewer: Option<String>,
        /// The decision.
        word: ReviewWord,
    },
    /// An operation that the recording names without its content, or whose content cannot be read.
    Unreadable,
}

impl RecordedStep {
    /// The steps of an operation: one, but of several results one each, as each is judged by itself.
    #[must_use]
    pub fn from_operation(operation: Operation) -> Vec<Self> {
        match operation {
            Operation::Results { results } => {
                results.into_iter().map(|reported| Self::Operation(Operation::After(reported))).collect()
            }
            operation => vec![Self::Operation(operation)],
        }
    }

    /// The name of the operation in tallies.
    #[must_use]
    pub fn operation(&self) -> &'static str {
        match self {
            Self::Operation(operation) => operation.name(),
            Self::Review { .. } => "review",
            Self::Unreadable => "other",
        }
    }

    /// Whether such a step is judged anew. Events, what is sent to a model and what a process does with an open call are not.
    pub(super) fn is_judged(&self) -> bool {
        match self {
            Self::Operation(operation) => matches!(
                operation,
                Operation::Input(_)
                    | Operation::Output(_)
                    | Operation::ModelTurn(_)
                    | Operation::Turn(_)
                    | Operation::Before(_)
                    | Operation::Invoke(_)
                    | Operation::After(_)
                    | Operation::Withdraw { .. }
                    | Operation::Unlock { .. }
            ),
            Self::Review { .. } => true,
            Self::Unreadable => false,
        }
    }

    /// The turn of the model that it is, with or without calls.
    pub(super) fn turn(&self) -> Option<Turn> {
        match self {
            Self::Operation(Operation::Turn(turn)) => Some(turn.clone()),
            Self::Operation(Operation::ModelTurn(usage)) => Some(Turn { usage: *usage, calls: Vec::new() }),
            _ => None,
        }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    task: String,
    agent: Option<String>,
    user: Option<User>,
    started_at: Option<String>,
    at: Option<String>,
    verdict: Option<VerdictKind>,
    by: Option<String>,
    #[serde(default)]
    mocks: BTreeMap<String, Vec<LineResult>>,
    input: Option<Json>,
    llm: Option<LineTurn>,
    call: Option<LineCall>,
    result: Option<LineResult>,
    withdraw: Option<LineWithdraw>,
    review: Option<LineReview>,
    output: Option<Json>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct LineTurn {
    #[serde(default)]
    prompt_tokens: u64,
    #[serde(default)]
    completion_tokens: u64,
    #[serde(default)]
    calls: Vec<LineCall>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct LineCall {
    id: CallId,
    #[serde(rename = "fn")]
    function: String,
    args: Option<Json>,
    verdict: Option<VerdictKind>,
    by: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct LineResult {
    id: Option<CallId>,
    status: Option<CallStatus>,
    output: Option<Json>,
    task_id: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct LineWithdraw {
    id: CallId,
    ran: Ran,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct LineReview {
    call: Option<CallId>,
    reviewer: Option<String>,
    verdict: LineVerdict,
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum LineVerdict {
    Approved,
    Denied,
    Edited,
    Responded,
}

impl Recorded {
    /// A step out of a line of JSON.
    ///
    /// # Errors
    /// [`RecordError`] for a line that is longer than `max_json_bytes`, that is no such JSON, or that has no step or several.
    ///
    /// # Cost
    /// Linear in the line, which is gone through once.
    pub fn parse(line: &[u8], limits: &EngineLimits) -> Result<Self, RecordError> {
        if line.len() > limits.eval.max_json_bytes {
            return Err(RecordError::TooLong(limits.eval.max_json_bytes));
        }
        let line: Line = serde_json::from_slice(line).map_err(|error| RecordError::Json(unfit(&error)))?;
        let Line { task, agent, user, started_at, at, verdict, by, mocks, .. } = line;
        let time = |at: Option<String>| at.map(|at| at.parse().map_err(|_| RecordError::Time)).transpose();
        let (started_at, at) = (time(started_at)?, time(at)?);
        let mut calls_were = Vec::new();
        let operations = [
            line.input.map(|input| Ok(Operation::Input(input))),
            line.llm.map(|turn| Ok(turn.operation(&mut calls_were))),
            line.call.map(|call| Ok(Operation::Before(call.call().0))),
            line.result.map(LineResult::operation),
            line.withdraw.map(|LineWithdraw { id, ran }| Ok(Operation::Withdraw { call: id, ran })),
            line.output.map(|output| Ok(Operation::Output(output))),
        ];
        let operations = operations.into_iter().flatten().map(|one| one.map(RecordedStep::Operation));
        let mut steps = operations.chain(line.review.map(|review| Ok(review.step())));
        let (Some(step), None) = (steps.next(), steps.next()) else { return Err(RecordError::OneStep) };
        let gave = mocks.into_iter().map(|(function, results)| {
            (function, results.into_iter().map(LineResult::result).collect::<Vec<_>>())
        });
        let was = verdict.map(|verdict| Was { verdict, by });
        Ok(Self {
            task,
            agent,
            user,
            started_at,
            at,
            step: step?,
            was,
            calls_were,
            gave: gave.collect(),
            plays_others: false,
        })
    }
}

impl LineTurn {
    /// The turn; what was decided about its calls goes to `calls_were`.
    fn operation(self, calls_were: &mut Vec<Option<Was>>) -> Operation {
        let Self { prompt_tokens, completion_tokens, calls } = self;
        let usage = Usage { prompt_tokens, completion_tokens, ..Usage::default() };
        let (calls, were) = calls.into_iter().map(LineCall::call).unzip();
        *calls_were = were;
        Operation::Turn(Turn { usage, calls })
    }
}

impl LineReview {
    fn step(self) -> RecordedStep {
        let word = match self.verdict {
            LineVerdict::Approved => ReviewWord::Approve,
            LineVerdict::Denied => ReviewWord::Deny,
            LineVerdict::Edited => ReviewWord::Edit,
            LineVerdict::Responded => ReviewWord::Respond,
        };
        RecordedStep::Review { call: self.call, reviewer: self.reviewer, word }
    }
}

impl LineCall {
    fn call(self) -> (Call, Option<Was>) {
        let Self { id, function, args, verdict, by } = self;
        let arguments = args.unwrap_or_else(|| Json::object([]));
        (Call { id: Some(id), function, arguments }, verdict.map(|verdict| Was { verdict, by }))
    }
}

impl LineResult {
    fn operation(self) -> Result<Operation, RecordError> {
        let call = self.id.clone().ok_or(RecordError::NoId)?;
        Ok(Operation::After(ReportedCall { call, result: self.result() }))
    }

    fn result(self) -> CallResult {
        let output = self.output.unwrap_or_else(|| Json::object([]));
        let status = self.status.unwrap_or(CallStatus::Successful);
        CallResult { status, task_id: self.task_id, ..CallResult::successful(output) }
    }
}
