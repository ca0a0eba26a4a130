//! A step of a task over HTTP: decided under the task's lock, stored, written down, answered.
//!
//! In: a step and the request that brings it. Out: an answer that the store has on disk. What another process did meanwhile
//! is a conflict: the task is opened again and the step decided anew. What the store did not take leaves nothing in memory.

use crate::problem::{Kind, Problem};
use crate::request::{Answer, Request};
use crate::reviews::Expiring;
use crate::service::Service;
use crate::task_request::TaskRequest;
use crate::tasks::recorder::Recorded;
use crate::tasks::seat::{Open, has_ended, sit};
use crate::tasks::steps::{Answers, Circumstances, TaskStep, WhileHeld};
use crate::tasks::{Tasks, once, owner};
use celador::cel::{Json, Timestamp};
use celador::task::{CallId, CallResult, DecidedKind, Decision, Progress, Task};
use celador_service::{CallProgress, CameTo, OperationAnswer, SeveralCalls, TaskProgress};
use celador_store::{self as store, Owner, StoreError, Terms};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::time::Instant;
use tracing::debug;

/// `GET /v1/tasks/{task}/calls/{call}`
pub(crate) fn standing(service: &Service, request: &Request) -> Result<Answer, Problem> {
    Answer::json(200, &service.standing(&request.of_task(), &CallId::from(&*request.part))?)
}

impl Service {
    /// How far a call has come, or an input, event or response that waits.
    pub(crate) fn standing(
        &self,
        request: &TaskRequest,
        call: &CallId,
    ) -> Result<TaskProgress<'static>, Problem> {
        let tasks = &self.tasks;
        let has_overdue = |open: &Open| Ok(open.task.has_overdue_calls(self.now()));
        if tasks.look(request, has_overdue)? {
            // what waits too long is refused by whoever looks first; a task that is held says how it stands
            let own = owner(&request.caller);
            if let Err(problem) = tasks.step_of(&own, &TaskRequest::of_server(&request.task), &Expiring) {
                debug!(%problem, "a call that has waited too long still waits");
            }
        }
        tasks.look(request, |open| stands(open, call).ok_or_else(|| Kind::UnknownCall.into()))
    }

    /// What was told, with the calls as they stand by now that it left pending.
    ///
    /// # Errors
    /// A call that the task does not know any more.
    pub(crate) fn standing_now(
        &self,
        request: &TaskRequest,
        told: &OperationAnswer<'static>,
    ) -> Result<OperationAnswer<'static>, Problem> {
        let stands = |open: &Open| stands_now(open, told).ok_or_else(|| Kind::UnknownCall.into());
        self.tasks.look(request, stands)
    }
}

/// How far a call has come; nothing of one that the task does not know.
fn stands(Open { task, head, is_borrowed, .. }: &Open, call: &CallId) -> Option<TaskProgress<'static>> {
    let decision = task.standing(call)?;
    let decision = if *is_borrowed { decision.masked() } else { decision };
    let mut question = task.questions().find(|question| decision.verdict.question() == Some(question.id));
    if let Some(question) = question.as_mut().filter(|_| *is_borrowed) {
        question.request = question.request.masked();
    }
    let came_to = match &question {
        Some(question) => CameTo::asks(task, question, Some(&decision)),
        None => CameTo::decided(&decision),
    };
    Some(TaskProgress { task: task.id().into(), version: head.version(), came_to }.into_owned())
}

/// What was told, as it stands now; nothing where it left nothing pending, or nobody knows of the call any more.
fn stands_now(open: &Open, told: &OperationAnswer<'static>) -> Option<OperationAnswer<'static>> {
    match told {
        OperationAnswer::One(progress) => stands(open, progress.came_to.pending()?).map(OperationAnswer::One),
        OperationAnswer::Several(several) => {
            let calls = several.calls.iter().map(|call| call_stands(open, call));
            let (version, calls) = (open.head.version(), calls.collect());
            told.is_pending()
                .then(|| OperationAnswer::Several(SeveralCalls { version, calls, ..several.clone() }))
        }
    }
}

/// One of several calls as it stands now, if it was pending.
fn call_stands(open: &Open, told: &CallProgress<'static>) -> CallProgress<'static> {
    let Some(decision) = told.is_pending().then(|| open.task.standing(&told.id)).flatten() else {
        return told.clone();
    };
    let decision = if open.is_borrowed { decision.masked() } else { decision };
    let asked = open.task.questions().find(|question| decision.verdict.question() == Some(question.id));
    let asks = asked.map(|it| if open.is_borrowed { it.request.masked() } else { it.request });
    let kind = DecidedKind::Call;
    CallProgress { kind, decision: Cow::Owned(decision), asks, ..told.clone() }
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
    /// What it came to, for callers in this process.
    taken: Option<OperationAnswer<'static>>,
}

/// Who is told what a step came to.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Told {
    /// A client, by the answer.
    Client,
    /// A caller in this process.
    Process,
}

impl Tasks {
    /// Takes a step of a task of the caller and answers when it is durable.
    pub(crate) fn step<S: TaskStep>(&self, request: &TaskRequest, step: &S) -> Result<Answer, Problem> {
        self.step_of(&owner(&request.caller), request, step)
    }

    /// Takes a step of a task, whoever owns it.
    pub(crate) fn step_of<S: TaskStep>(
        &self,
        owner: &Owner,
        request: &TaskRequest,
        step: &S,
    ) -> Result<Answer, Problem> {
        self.take_step(owner, request, step, Told::Client).map(|taken| taken.answer)
    }

    /// The same for callers in this process: what the step came to.
    pub(crate) fn take<S: TaskStep>(
        &self,
        request: &TaskRequest,
        step: &S,
    ) -> Result<OperationAnswer<'static>, Problem> {
        let taken = self.take_step(&owner(&request.caller), request, step, Told::Process)?;
        taken.taken.ok_or_else(|| Kind::Internal.into())
    }

    fn take_step<S: TaskStep>(
        &self,
        owner: &Owner,
        request: &TaskRequest,
        step: &S,
        told: Told,
    ) -> Result<TakenStep, Problem> {
        // a lock is for good unless the operator has said otherwise
        if step.revives() && !self.unlocks {
            return Err(Kind::UnlockDisabled.into());
        }
        let begun = Instant::now();
        let seat = self.seat(owner, &request.task);
        let mut open = sit(&seat);
        let about = About::of(step);
        for _ in 0..=self.limits.max_conflicts {
            self.recorder.ready()?;
            if let Some(taken) = self.answered(owner, request, Some(&request.task))? {
                let taken = self.true_now(owner, &request.task, taken, &mut open)?;
                let answer = Answer::json(200, &taken)?.replayed();
                let about = (about.operation, about.function);
                self.recorder.record_replay(request, (self.clock)(), about, &answer.body)?;
                return Ok(TakenStep { answer, taken: Some(taken) });
            }
            let mut found = match open.take() {
                Some(open) => self.brought_up(open)?,
                None => self.open(owner, &request.task)?,
            };
            if let Some(problem) = hindrance(&found, step) {
                // another process may have been told what becomes of it
                let present = self.store.version(owner, &request.task);
                if present.map_err(|error| self.gone(owner, &request.task, &error))? != found.head.version() {
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
            let content = self.recorder.content_of(step, &found.task);
            let comes_again = step.comes_again(&found.task);
            let progress = match step.take(&mut found.task, &at) {
                Ok(progress) => progress,
                Err(problem) => {
                    // nothing has happened, as the operations promise; but another process may know of the call or question
                    let present = self.store.version(owner, &request.task);
                    if present.map_err(|error| self.gone(owner, &request.task, &error))?
                        != found.head.version()
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
            let decision = match &progress {
                Progress::Decided(decision) => Some(decision),
                Progress::Asks(_) => suspension.as_ref(),
            };
            let is_turned_away = decision.is_some_and(|decision| task.turned_away_since(&before, decision));
            if is_turned_away || comes_again && task.is_at(&before) {
                // nothing is stored that would tell that another process was ahead, or has purged the task
                let present = self.store.version(owner, &request.task);
                if present.map_err(|error| self.gone(owner, &request.task, &error))? != head.version() {
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
                let came_to = came_to(step, task, head.version(), (&progress, suspension.as_ref()));
                let answer = Answer::json(200, &came_to)?;
                let owned = (told == Told::Process).then(|| came_to.into_owned());
                let taken =
                    Self::taken(request, about, (task, owner, now), begun, (&progress, &answer), content);
                let recorded = self.recorder.record_rejection(&taken);
                *open = Some(found);
                return recorded.map(|()| TakenStep { answer, taken: owned });
            }
            let version = head.version().saturating_add(1);
            let came_to = came_to(step, task, version, (&progress, suspension.as_ref()));
            let answer = Answer::json(200, &came_to)?;
            let owned = (told == Told::Process).then(|| came_to.into_owned());
            let operation = step.operation();
            let once = once(request, &answer.body);
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
                    let taken = Recorded { took: begun.elapsed(), ..taken };
                    let recorded = self.recorder.record(&taken, due.as_ref(), &head);
                    if recorded.is_err() {
                        self.writing.failed();
                    }
                    let is_over = !was_over && has_ended(&found.task);
                    *open = Some(Open { head, ..found });
                    if is_over {
                        // its children have seats of their own
                        drop(open);
                        self.end_children(owner, &request.task, who);
                    }
                    // stored all the same: who sends it again under its key is answered when the log has it
                    return recorded.map(|()| TakenStep { answer, taken: owned });
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

    /// What is told once more. Where it left a call pending it says how far that has come by now.
    fn true_now(
        &self,
        owner: &Owner,
        id: &str,
        told: OperationAnswer<'static>,
        open: &mut Option<Open>,
    ) -> Result<OperationAnswer<'static>, Problem> {
        if !told.is_pending() {
            return Ok(told);
        }
        let present = self.store.version(owner, id).map_err(|error| self.gone(owner, id, &error))?;
        let found = match open.take() {
            Some(found) if found.head.version() >= present => self.brought_up(found)?,
            _ => self.open(owner, id)?,
        };
        // or nobody knows any more what it came to
        Ok(stands_now(open.insert(found), &told).unwrap_or(told))
    }

    /// A step as the decision log is told of it.
    fn taken<'t>(
        request: &'t TaskRequest,
        About { operation, function, reason }: About<'t>,
        (task, owner, at): (&'t Task, &'t Owner, Timestamp),
        begun: Instant,
        (progress, answer): (&'t Progress, &'t Answer),
        shown: Option<serde_json::Value>,
    ) -> Recorded<'t> {
        let took = begun.elapsed();
        Recorded { request, task, owner, at, took, operation, function, reason, progress, answer, shown }
    }

    /// The settings of a task's namespace.
    fn settings_of(&self, task: &Task) -> &BTreeMap<String, Json> {
        self.namespaces.get(&*task.policy().agent().namespace.text).unwrap_or(&self.no_settings)
    }
}

/// What a step came to, once it is durable.
fn came_to<'p>(
    step: &impl TaskStep,
    task: &'p Task,
    version: u64,
    (progress, suspension): (&'p Progress, Option<&'p Decision>),
) -> OperationAnswer<'p> {
    let (is_turn, count) = match step.answers() {
        Answers::One => (false, None),
        Answers::Turn(count) => (true, Some(count)),
        Answers::Results(count) => (false, Some(count)),
    };
    let came_to = match (progress, count) {
        (Progress::Decided(decision), Some(count)) => {
            return OperationAnswer::Several(SeveralCalls::of(task, version, decision, is_turn, count));
        }
        (Progress::Decided(decision), None) => CameTo::decided(decision),
        (Progress::Asks(question), _) => CameTo::asks(task, question, suspension),
    };
    OperationAnswer::One(TaskProgress { task: task.id().into(), version, came_to })
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
