//! A decision log with content as recorded steps, to be judged anew.
//!
//! In: its lines, in order. Out: a [`Recorded`] step for each operation that was decided, with what was decided. An operation that asked for something is
//! held until it is answered: the results of the executions that it asked for are part of it. It holds one step a task that waits, and no more.

use celador::cel::Json;
use celador::manifest::policy_step::PolicyStep;
use celador::replay::{Recorded, RecordedStep, Was};
use celador::task::{Answer, Call, CallId, Invocation, Operation, Ran, Turn, User, VerdictKind};
use serde::Deserialize;
use serde_json::value::RawValue;
use std::collections::{BTreeMap, HashMap};

/// A line of a log, as far as it is needed to judge its decision anew.
#[derive(Debug, Deserialize)]
pub struct LoggedDecision {
    #[serde(default)]
    at: String,
    #[serde(default)]
    who: Option<String>,
    #[serde(default)]
    task: String,
    #[serde(default)]
    owner: Option<String>,
    #[serde(default)]
    namespace: String,
    #[serde(default)]
    agent: String,
    #[serde(default)]
    operation: String,
    #[serde(default)]
    verdict: String,
    #[serde(default)]
    step: Option<String>,
    #[serde(default)]
    policy: Option<PolicyStep>,
    #[serde(default)]
    limit: Option<String>,
    #[serde(default)]
    replayed: bool,
    #[serde(default)]
    content: Option<Content>,
}

#[derive(Debug, Deserialize)]
struct Content {
    request: Box<RawValue>,
    #[serde(default)]
    answer: Answered,
}

/// What was answered, as far as it names calls.
#[derive(Debug, Default, Deserialize)]
struct Answered {
    #[serde(default)]
    decided: Option<Decided>,
    #[serde(default)]
    asks: Option<Asked>,
    /// The call that waits.
    #[serde(default)]
    call: Option<CallId>,
}

#[derive(Debug, Deserialize)]
struct Decided {
    #[serde(default)]
    call: Option<CallId>,
    #[serde(default)]
    decided: Vec<DecidedCall>,
}

#[derive(Debug, Deserialize)]
struct DecidedCall {
    call: CallId,
    decision: DecidedVerdict,
}

#[derive(Debug, Deserialize)]
struct DecidedVerdict {
    verdict: VerdictKind,
}

/// What an operation asks for; what is neither an execution nor a review is answered by the line that follows and needs nothing.
#[derive(Debug, Default, Deserialize)]
struct Asked {
    #[serde(default)]
    invoke: Option<Invocation>,
    #[serde(default)]
    review: Option<serde::de::IgnoredAny>,
}

/// Makes steps out of the lines of a log.
///
/// ```
/// use celador_store::decision_log::{LoggedDecision, Recording};
///
/// let line = r#"{"at": "2026-06-01T12:00:00Z", "task": "t-1", "owner": "", "namespace": "shop", "agent": "clerk", "operation": "input",
///     "verdict": "allow", "content": {"request": {"message": "Hi."}, "answer": {}}}"#;
/// let line: LoggedDecision = serde_json::from_str(line)?;
/// let mut recording = Recording::default();
/// let steps = recording.take(line);
/// assert_eq!((steps[0].agent.as_deref(), steps[0].step.operation()), (Some("shop/clerk"), "input"));
/// assert_eq!(recording.without_content(), 0);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Default)]
pub struct Recording {
    /// By owner and task, the operation that asks, and the function that it asks for.
    held: HashMap<(String, String), Held>,
    without_content: u64,
    /// How many calls have had no id of their own.
    made_up: u64,
}

#[derive(Debug)]
struct Held {
    steps: Vec<Recorded>,
    function: String,
}

impl Recording {
    /// How many lines of decisions had no content, so that nothing could be made of them.
    #[must_use]
    pub const fn without_content(&self) -> u64 {
        self.without_content
    }

    /// The steps that are complete with this line, in their order.
    pub fn take(&mut self, mut line: LoggedDecision) -> Vec<Recorded> {
        if line.task.is_empty() || line.replayed || line.operation == "started" {
            return Vec::new();
        }
        let Some(content) = line.content.take() else {
            self.without_content = self.without_content.saturating_add(1);
            return Vec::new();
        };
        let key = (line.owner.clone().unwrap_or_default(), line.task.clone());
        let asks = content.answer.asks.as_ref().and_then(|asked| asked.invoke.as_ref());
        let asks = asks.map(|invocation| invocation.function.clone());
        if line.operation == "resume" {
            let Some(mut held) = self.held.remove(&key) else { return Vec::new() };
            if let Some(Operation::Resume { answer: Answer::Result(result), .. }) =
                logged_operation(&line.operation, &content.request)
                && let Some(first) = held.steps.first_mut()
            {
                first.gave.entry(std::mem::take(&mut held.function)).or_default().push(result);
            }
            if let Some(first) = held.steps.first_mut() {
                first.was = was(&line, &content.answer);
            }
            return self.ready(key, held.steps, asks);
        }
        let (steps, calls_were) = self.steps(&line, &content);
        let (was, at) = (was(&line, &content.answer), line.at.parse().ok());
        let user = User { id: line.who.clone().unwrap_or_else(|| "-".to_owned()), ..User::default() };
        let steps = steps.into_iter().map(|step| Recorded {
            task: format!("{}/{}", key.0, key.1),
            agent: Some(format!("{}/{}", line.namespace, line.agent)),
            user: Some(user.clone()),
            started_at: None,
            at,
            step,
            was: was.clone(),
            calls_were: calls_were.clone(),
            gave: BTreeMap::new(),
            plays_others: false,
        });
        let steps = steps.collect();
        self.ready(key, steps, asks)
    }

    /// The steps, unless they ask for an execution.
    fn ready(&mut self, key: (String, String), steps: Vec<Recorded>, asks: Option<String>) -> Vec<Recorded> {
        let Some(function) = asks else { return steps };
        self.held.insert(key, Held { steps, function });
        Vec::new()
    }

    /// The steps of a line, and what was decided about the calls of a turn.
    fn steps(&mut self, line: &LoggedDecision, content: &Content) -> (Vec<RecordedStep>, Vec<Option<Was>>) {
        let Content { request, answer } = content;
        let decided = answer.decided.as_ref();
        // a lock that was lifted must not be lost, however the operator said so
        let unlock =
            || (line.operation == "unlock").then(|| Operation::Unlock { reason: "as recorded".to_owned() });
        let Some(operation) = logged_operation(&line.operation, request).or_else(unlock) else {
            return (vec![RecordedStep::Unreadable], Vec::new());
        };
        let mut calls_were = Vec::new();
        let operation = match operation {
            Operation::Input(said) => Operation::Input(message(said)),
            Operation::Output(said) => Operation::Output(message(said)),
            Operation::Before(call) | Operation::Invoke(call) => {
                let id = call.id.clone().or_else(|| decided?.call.clone()).or_else(|| answer.call.clone());
                Operation::Before(Call { id: Some(id.unwrap_or_else(|| self.made_up())), ..call })
            }
            Operation::Turn(Turn { usage, calls }) => {
                let calls = calls.into_iter().map(|call| {
                    let of_call = decided.and_then(|decided| {
                        decided.decided.iter().find(|one| Some(&one.call) == call.id.as_ref())
                    });
                    calls_were.push(of_call.map(|one| Was { verdict: one.decision.verdict, by: None }));
                    Call { id: Some(call.id.clone().unwrap_or_else(|| self.made_up())), ..call }
                });
                Operation::Turn(Turn { usage, calls: calls.collect() })
            }
            // a lapsed claim takes its call back, and any other changes nothing that rules read
            Operation::Claim { call, .. } if line.verdict == "block" => {
                Operation::Withdraw { call, ran: Ran::Unknown }
            }
            Operation::Claim { .. } | Operation::Release { .. } => return (Vec::new(), Vec::new()),
            Operation::Resume { answer: Answer::Review(review), .. } => {
                let call = decided.and_then(|decided| decided.call.clone());
                let review = RecordedStep::Review { call, reviewer: None, word: review.choice.word() };
                return (vec![review], Vec::new());
            }
            operation => operation,
        };
        (RecordedStep::from_operation(operation), calls_were)
    }

    fn made_up(&mut self) -> CallId {
        self.made_up = self.made_up.saturating_add(1);
        CallId::from(format!("logged {}", self.made_up))
    }
}

/// The operation of a line: its name, and as its body the request. The answer to a review has a name of its own in logs.
fn logged_operation(name: &str, request: &RawValue) -> Option<Operation> {
    let name = if name == "review" { "resume" } else { name };
    Operation::from_body(name, request).ok()
}

/// A message as a task takes it: a text stands for an object with it.
fn message(said: Json) -> Json {
    if said.root().is_object() { said } else { Json::object([("message", said)]) }
}

/// What was decided; of an operation that waits for a person, that.
fn was(line: &LoggedDecision, answer: &Answered) -> Option<Was> {
    let by = match (&line.policy, &line.limit, &line.step) {
        (Some(policy), _, Some(step)) => Some(policy.at(step)),
        (Some(policy), _, None) if policy.id.is_some() => Some(policy.to_string()),
        (_, Some(limit), None) => Some(limit.clone()),
        (_, _, step) => step.clone(),
    };
    let verdict = if line.verdict == "asks" {
        answer.asks.as_ref()?.review.as_ref().map(|_| VerdictKind::Suspend)?
    } else {
        serde_json::from_value(line.verdict.clone().into()).ok()?
    };
    Some(Was { verdict, by })
}
