//! A step of a task over HTTP: decided under the task's lock, stored, written down, answered.
//!
//! In: a step and the request that brings it. Out: an answer that the store has on disk. What another process did meanwhile
//! is a conflict: the task is opened again and the step decided anew. What the store did not take leaves nothing in memory.

use super::pending::{Pending, pending};
use crate::problem::{Kind, Problem};
use crate::request::{Answer, Request};
use crate::reviews::Expiring;
use crate::service::Service;
use crate::tasks::recorder::Taken;
use crate::tasks::seat::{Open, has_ended, sit};
use crate::tasks::steps::{Answers, Circumstances, TaskStep, WhileHeld};
use crate::tasks::{Tasks, once, owner};
use celador::cel::{Json, Timestamp};
use celador::task::{
    CallId, CallResult, DecidedCall, DecidedKind, Decision, Progress, Question, QuestionId, Task,
};
use celador_store::{self as store, Owner, StoreError, Terms};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use std::collections::BTreeMap;
use std::time::Instant;
use tracing::debug;

/// How far an operation of a task came: to its decision, or to a question. It is told when it is durable.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "Progress"))]
pub(crate) struct Stepped<'p> {
    /// The task's id.
    task: &'p str,
    /// The number of the task's last event, from 1.
    #[cfg_attr(feature = "schema", schemars(range(min = 1)))]
    version: u64,
    #[serde(flatten)]
    progress: Shown<'p>,
}

#[derive(Serialize)]
#[serde(untagged)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
enum Shown<'p> {
    /// The operation has ended.
    Decided {
        /// Its decision.
        decided: &'p Decision,
    },
    /// The operation waits for an answer.
    Asks {
        /// The question, which `resume` answers.
        asks: &'p celador::task::Request,
        /// Its name, which `resume` needs where several questions are open.
        question: QuestionId,
        /// The call that asks, or the input, event or response, by the id that the task has made up for it. Absent where a script asks.
        #[serde(skip_serializing_if = "Option::is_none")]
        call: Option<CallId>,
        /// The decision so far: `suspend`, with the steps that were evaluated and the rule that asks. Absent where the runtime has a call in
        /// its hands that was let through.
        #[serde(skip_serializing_if = "Option::is_none")]
        decision: Option<&'p Decision>,
        /// The places in `asks` that a manifest marks as secret, as JSON pointers; views do not show them. Absent if there are none.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        secret: Vec<String>,
    },
}

/// How far a whole turn came, or the results of several calls. It is told when it is durable.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "SeveralCalls"))]
pub(crate) struct SteppedTogether<'p> {
    /// The task's id.
    task: &'p str,
    /// The number of the task's last event, from 1.
    #[cfg_attr(feature = "schema", schemars(range(min = 1)))]
    version: u64,
    /// Whether the turn is within the limits; without that no call is looked at. Absent in the answer to results.
    #[serde(skip_serializing_if = "Option::is_none")]
    limits: Option<Decision>,
    /// How far each call came, in the order of the request.
    calls: Vec<SteppedCall<'p>>,
    /// The calls, inputs and events that have waited and were decided because of these.
    decided: Vec<SteppedCall<'p>>,
}

/// How far one of several calls came, or an input or event that has waited for them.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "OneOfSeveralCalls"))]
struct SteppedCall<'p> {
    /// Its id.
    id: &'p CallId,
    /// The kind of operation; absent for a call.
    #[serde(skip_serializing_if = "DecidedKind::is_call")]
    kind: DecidedKind,
    /// The function of a call; absent for all else.
    #[serde(skip_serializing_if = "str::is_empty")]
    function: &'p str,
    #[serde(flatten)]
    decision: &'p Decision,
    /// The question that it asks, under the name in `question`; absent if it asks for nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    asks: Option<celador::task::Request>,
}

impl<'p> SteppedTogether<'p> {
    fn of(task: &'p Task, version: u64, decision: &'p Decision, is_turn: bool, count: usize) -> Self {
        let called = |decided: &'p DecidedCall| {
            let DecidedCall { call, kind, function, decision } = decided;
            let asked = task.questions().find(|question| decision.verdict.question() == Some(question.id));
            SteppedCall {
                id: call,
                kind: *kind,
                function,
                decision,
                asks: asked.map(|question| question.request),
            }
        };
        Self {
            task: task.id(),
            version,
            limits: is_turn.then(|| Decision { decided: Vec::new(), ..decision.clone() }),
            calls: decision.decided.iter().take(count).map(called).collect(),
            decided: decision.decided.iter().skip(count).map(called).collect(),
        }
    }
}

impl<'p> Shown<'p> {
    fn asks(task: &Task, question: &'p Question, suspension: Option<&'p Decision>) -> Self {
        let Question { id, request: asks } = question;
        let secret = task.policy().secret_places(asks);
        Self::Asks {
            asks,
            question: *id,
            call: suspension.and_then(|decision| decision.call.clone()),
            decision: suspension,
            secret,
        }
    }
}

/// `GET /v1/tasks/{task}/calls/{call}`
pub(crate) fn standing(service: &Service, request: &Request) -> Result<Answer, Problem> {
    let (tasks, call) = (&service.tasks, CallId::from(&*request.part));
    let has_overdue = |open: &Open| Ok(open.task.has_overdue_calls(service.now()));
    if tasks.look(request, has_overdue)? {
        // what waits too long is refused by whoever looks first; a task that is held says how it stands
        let own = owner(&request.caller);
        if let Err(problem) = tasks.step_of(&own, &Request::of_server(&request.id), &Expiring) {
            debug!(%problem, "a call that has waited too long still waits");
        }
    }
    tasks.look(request, |open| stands(open, &call).unwrap_or_else(|| Err(Kind::UnknownCall.into())))
}

/// How far a call has come; nothing of one that the task does not know.
fn stands(Open { task, head, is_borrowed, .. }: &Open, call: &CallId) -> Option<Result<Answer, Problem>> {
    let decision = task.standing(call)?;
    let decision = if *is_borrowed { decision.masked() } else { decision };
    let mut question = task.questions().find(|question| decision.verdict.question() == Some(question.id));
    if let Some(question) = question.as_mut().filter(|_| *is_borrowed) {
        question.request = question.request.masked();
    }
    let progress = match &question {
        Some(question) => Shown::asks(task, question, Some(&decision)),
        None => Shown::Decided { decided: &decision },
    };
    Some(Answer::json(200, &Stepped { task: task.id(), version: head.version(), progress }))
}

/// How the calls stand that an answer left pending; nothing where it left none, or nobody knows of the call any more.
fn stands_now(open: &Open, answer: &[u8]) -> Option<Result<Answer, Problem>> {
    match pending(answer)? {
        Pending::Call(call) => stands(open, &call),
        Pending::Several(calls) => Some(stand_together(open, answer, &calls)),
    }
}

/// An answer to several calls in which these are told as they stand now.
fn stand_together(open: &Open, answer: &[u8], pending: &[CallId]) -> Result<Answer, Problem> {
    #[derive(Deserialize, Serialize)]
    struct Told {
        task: String,
        version: u64,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        limits: Option<Box<RawValue>>,
        calls: Vec<Box<RawValue>>,
        decided: Vec<Box<RawValue>>,
    }

    #[derive(Deserialize)]
    struct Named {
        id: CallId,
        function: String,
    }

    let internal = |_| Problem::from(Kind::Internal);
    let mut told: Told = serde_json::from_slice(answer).map_err(internal)?;
    told.version = open.head.version();
    for call in &mut told.calls {
        let Named { id, function } = serde_json::from_str(call.get()).map_err(internal)?;
        let Some(decision) = pending.contains(&id).then(|| open.task.standing(&id)).flatten() else {
            continue;
        };
        let decision = if open.is_borrowed { decision.masked() } else { decision };
        let asked = open.task.questions().find(|question| decision.verdict.question() == Some(question.id));
        let asks = asked.map(|it| if open.is_borrowed { it.request.masked() } else { it.request });
        let kind = DecidedKind::Call;
        let stands = SteppedCall { id: &id, kind, function: &function, decision: &decision, asks };
        *call = serde_json::value::to_raw_value(&stands).map_err(internal)?;
    }
    Answer::json(200, &told)
}

/// How the calls stand by now that an answer, the body of this request, left pending.
pub(crate) fn standing_now(service: &Service, request: &Request) -> Result<Answer, Problem> {
    service.tasks.look(request, |open| {
        stands_now(open, &request.body).unwrap_or_else(|| Err(Kind::UnknownCall.into()))
    })
}

/// What a step is about, in the words of the decision log.
#[derive(Clone, Copy)]
struct About<'s> {
    operation: &'static str,
    function: Option<&'s str>,
    reason: Option<&'s str>,
}

impl<'s> About<'s> {
    fn of(step: &'s impl TaskStep) -> Self {
        Self { operation: step.operation().as_str(), function: step.function(), reason: step.reason() }
    }
}

/// A step that was taken.
struct TakenStep {
    answer: Answer,
    /// How far it came, and the decision so far where it asks; nothing where an answer was given once more.
    came_to: Option<(Progress, Option<Decision>)>,
}

impl Tasks {
    /// Takes a step of a task of the caller and answers when it is durable.
    pub(crate) fn step<S: TaskStep>(&self, request: &Request, step: &S) -> Result<Answer, Problem> {
        self.step_of(&owner(&request.caller), request, step)
    }

    /// Takes a step of a task, whoever owns it.
    pub(crate) fn step_of<S: TaskStep>(
        &self,
        owner: &Owner,
        request: &Request,
        step: &S,
    ) -> Result<Answer, Problem> {
        self.take_step(owner, request, step).map(|taken| taken.answer)
    }

    /// The same for callers in this process, which have no `Idempotency-Key`: how far the step came, and the decision so far where it asks.
    pub(crate) fn take<S: TaskStep>(
        &self,
        request: &Request,
        step: &S,
    ) -> Result<(Progress, Option<Decision>), Problem> {
        let taken = self.take_step(&owner(&request.caller), request, step)?;
        taken.came_to.ok_or_else(|| Kind::Internal.into())
    }

    fn take_step<S: TaskStep>(
        &self,
        owner: &Owner,
        request: &Request,
        step: &S,
    ) -> Result<TakenStep, Problem> {
        let begun = Instant::now();
        let seat = self.seat(owner, &request.id);
        let mut open = sit(&seat);
        let about = About::of(step);
        for _ in 0..=self.limits.max_conflicts {
            self.recorder.ready()?;
            if let Some(answer) = self.answered(owner, request, Some(&request.id))? {
                let answer = self.true_now(owner, &request.id, answer, &mut open)?;
                let about = (about.operation, about.function);
                self.recorder.record_replay(request, (self.clock)(), about, &answer.body)?;
                return Ok(TakenStep { answer, came_to: None });
            }
            let mut found = match open.take() {
                Some(open) => self.brought_up(open)?,
                None => self.open(owner, &request.id)?,
            };
            if let Some(problem) = hindrance(&found, step) {
                // another process may have been told what becomes of it
                let present = self.store.version(owner, &request.id);
                if present.map_err(|error| self.gone(owner, &request.id, &error))? != found.head.version() {
                    self.metrics().conflict();
                    continue;
                }
                *open = Some(found);
                return Err(problem);
            }
            let who = request.caller.identity.as_deref().unwrap_or_default();
            if self.end_orphan(owner, &found.task, who)? {
                continue;
            }
            self.give_parents_for_step(owner, &mut found.task)?;
            let was_over = has_ended(&found.task);
            let switches = self.engine_switches().version();
            let (now, before) = ((self.clock)(), found.task.mark());
            let (settings, person) = (self.settings_of(&found.task), request.caller.person.as_ref());
            let with_labels = |task: &Task, result: &CallResult| self.with_labels(owner, task, result);
            let at = Circumstances { now, settings, person, with_labels: &with_labels };
            // before the step is taken: it may close the call and the question that its body is about
            let content = self.recorder.content_of(step, &found.task, &request.body);
            let comes_again = step.comes_again(&found.task);
            let progress = match step.take(&mut found.task, &at) {
                Ok(progress) => progress,
                Err(problem) => {
                    // nothing has happened, as the operations promise; but another process may know of the call or question
                    let present = self.store.version(owner, &request.id);
                    if present.map_err(|error| self.gone(owner, &request.id, &error))? != found.head.version()
                    {
                        self.metrics().conflict();
                        continue;
                    }
                    *open = Some(found);
                    return Err(problem);
                }
            };
            // kept until the step is stored
            let (progress, _turns) = self.counted(owner, &mut found.task, progress, now)?;
            let counters = found.task.take_counter_changes();
            let Open { task, head, manifests, .. } = &found;
            let suspension = match &progress {
                Progress::Decided(_) => None,
                Progress::Asks(question) => task.suspension_at(question.id),
            };
            let shown = match &progress {
                Progress::Decided(decided) => Shown::Decided { decided },
                Progress::Asks(question) => Shown::asks(task, question, suspension.as_ref()),
            };
            let decision = match &progress {
                Progress::Decided(decision) => Some(decision),
                Progress::Asks(_) => suspension.as_ref(),
            };
            let is_turned_away = decision.is_some_and(|decision| task.turned_away_since(&before, decision));
            if is_turned_away || comes_again && task.is_at(&before) {
                // nothing is stored that would tell that another process was ahead, or has purged the task
                let present = self.store.version(owner, &request.id);
                if present.map_err(|error| self.gone(owner, &request.id, &error))? != head.version() {
                    self.metrics().conflict();
                    continue;
                }
                if decision.is_some_and(|decision| decision.verdict.switch().is_some())
                    && self.store.switches_version() != Ok(switches)
                {
                    self.learn_switches().map_err(|error| self.problem(&error))?;
                    continue;
                }
                // nothing has happened, so nothing is stored, and the same request may be decided otherwise some day
                let version = head.version();
                let answer = answer_of(step, task, version, (&progress, shown))?;
                let taken =
                    Self::taken(request, about, (task, owner, now), begun, (&progress, &answer), content);
                let recorded = self.recorder.record_rejection(&taken);
                *open = Some(found);
                return recorded.map(|()| TakenStep { answer, came_to: Some((progress, suspension)) });
            }
            let version = head.version().saturating_add(1);
            let answer = answer_of(step, task, version, (&progress, shown))?;
            let operation = step.operation();
            let once = once(request, &answer);
            let stored = store::NewEvent { operation, at: now, task, before: &before, decision, once };
            let taken = Self::taken(request, about, (task, owner, now), begun, (&progress, &answer), content);
            let due = self.recorder.due(&taken, version);
            let (switches, manifests) = (Some(switches), manifests.clone());
            let passed_on = step.passes_on();
            let due_line = due.clone();
            let terms = Terms { switches, due: due_line, manifests, counters, passed_on, ..Terms::default() };
            match self.store.append_under(head, &stored, terms) {
                Ok(head) => {
                    if head.has_reviews() || found.head.has_reviews() {
                        self.feed.nudge();
                    }
                    let taken = Taken { took: begun.elapsed(), ..taken };
                    let recorded = self.recorder.record(&taken, due.as_ref(), &head);
                    if recorded.is_err() {
                        self.writing.failed();
                    }
                    let is_over = !was_over && has_ended(&found.task);
                    *open = Some(Open { head, ..found });
                    if is_over {
                        // its children have seats of their own
                        drop(open);
                        self.end_children(owner, &request.id, who);
                    }
                    // stored all the same: who sends it again under its key is answered when the log has it
                    return recorded.map(|()| TakenStep { answer, came_to: Some((progress, suspension)) });
                }
                // what is in memory is no more than an attempt now, and goes
                Err(StoreError::Conflict { .. } | StoreError::AlreadyExists | StoreError::CountersMoved) => {
                    self.metrics().conflict();
                }
                Err(StoreError::SwitchesTurned) => {
                    self.learn_switches().map_err(|error| self.problem(&error))?;
                }
                Err(error) => {
                    if matches!(error, StoreError::Uncertain) {
                        self.recorder.doubtful(due.as_ref());
                    }
                    return Err(self.problem(&error));
                }
            }
        }
        Err(Kind::Contended.into())
    }

    /// An answer that is given once more. One that left a call pending says how far that has come by now.
    fn true_now(
        &self,
        owner: &Owner,
        id: &str,
        answer: Answer,
        open: &mut Option<Open>,
    ) -> Result<Answer, Problem> {
        if pending(&answer.body).is_none() {
            return Ok(answer);
        }
        let present = self.store.version(owner, id).map_err(|error| self.gone(owner, id, &error))?;
        let found = match open.take() {
            Some(found) if found.head.version() >= present => self.brought_up(found)?,
            _ => self.open(owner, id)?,
        };
        match stands_now(open.insert(found), &answer.body) {
            Some(stands) => Ok(Answer { headers: answer.headers, ..stands? }),
            // nobody knows any more what it came to
            None => Ok(answer),
        }
    }

    /// A step as the decision log is told of it.
    fn taken<'t>(
        request: &'t Request,
        About { operation, function, reason }: About<'t>,
        (task, owner, at): (&'t Task, &'t Owner, Timestamp),
        begun: Instant,
        (progress, answer): (&'t Progress, &'t Answer),
        shown: Option<serde_json::Value>,
    ) -> Taken<'t> {
        let took = begun.elapsed();
        Taken { request, task, owner, at, took, operation, function, reason, progress, answer, shown }
    }

    /// The settings of a task's namespace.
    fn settings_of(&self, task: &Task) -> &BTreeMap<String, Json> {
        self.namespaces.get(&*task.policy().agent().namespace.text).unwrap_or(&self.no_settings)
    }
}

/// The answer to a step, once it is durable.
fn answer_of(
    step: &impl TaskStep,
    task: &Task,
    version: u64,
    (progress, shown): (&Progress, Shown<'_>),
) -> Result<Answer, Problem> {
    let (is_turn, count) = match step.answers() {
        Answers::One => (false, None),
        Answers::Turn(count) => (true, Some(count)),
        Answers::Results(count) => (false, Some(count)),
    };
    match (progress, count) {
        (Progress::Decided(decision), Some(count)) => {
            Answer::json(200, &SteppedTogether::of(task, version, decision, is_turn, count))
        }
        _ => Answer::json(200, &Stepped { task: task.id(), version, progress: shown }),
    }
}

/// Why a task that is held does not take a step. The result of a call that was let through is taken under the policy that
/// let it through, and a task can be ended under any.
fn hindrance(open: &Open, step: &impl TaskStep) -> Option<Problem> {
    // what takes steps again must do so under a policy that can be had
    let held = open.held.as_ref().filter(|_| step.revives() || !has_ended(&open.task))?;
    let is_taken = match step.while_held(&open.task) {
        WhileHeld::Refused => false,
        WhileHeld::Taken => !open.is_borrowed,
        WhileHeld::Ends => true,
    };
    (!is_taken).then(|| Problem::from(held))
}
