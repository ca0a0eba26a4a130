//! One task under one set of policies, held to what was recorded of it.
//!
//! In: recorded steps, in order. Out: what these policies decide about each, on the history that really was. Where they decide otherwise than
//! was decided then, the task is led back: a call that ran is let through all the same, one that was stopped is withdrawn, a lock is taken off.
//! So the next step is judged on what happened and not on what would have happened, and one difference does not bring a hundred with it. What
//! cannot be led back (a task that these policies end) is told, and then nothing more of the task is judged.

use super::recorded::{Recorded, RecordedStep};
use crate::cel::{Json, Timestamp};
use crate::counter::CounterBook;
use crate::digest::Digest;
use crate::engine::Engine;
use crate::policy::Execute;
use crate::task::{
    Answer, Call, CallId, CallResult, Decision, Host, Invocation, Operation, Past, Progress, QuestionId, Ran,
    ReportedCall, Retain, ReviewState, ReviewWord, StartTask, Task, TaskError, TaskState, Turn, User,
    Verdict, VerdictKind,
};
use std::collections::{BTreeMap, HashMap};

/// A task under one set of policies.
#[derive(Debug)]
pub(super) struct Side {
    task: Task,
    /// Calls whose standing here is not that of the recording, by their recorded ids.
    strayed: HashMap<CallId, Strayed>,
    /// Whether it ended here and not in the recording.
    is_lost: bool,
    /// What executions gave in the whole task.
    gave: Gave,
}

/// By function, what executions gave, and how many of them were asked for.
#[derive(Debug, Default)]
struct Gave {
    results: BTreeMap<String, Vec<CallResult>>,
    /// Whether what is not among them gives an empty object.
    plays_others: bool,
    asked: HashMap<String, usize>,
}

impl Gave {
    fn next(&mut self, function: &str) -> Option<CallResult> {
        let Some(results) = self.results.get(function) else {
            return self.plays_others.then(|| CallResult::successful(Json::object([])));
        };
        let asked = self.asked.entry(function.to_owned()).or_default();
        let result = results.get(*asked).or(results.last());
        *asked = asked.saturating_add(1);
        result.cloned()
    }
}

/// A call whose standing is not that of the recording.
#[derive(Debug)]
struct Strayed {
    call: Call,
    /// The id under which it was let through all the same.
    under: Option<CallId>,
}

/// What was decided about one thing of a step.
#[derive(Debug)]
pub(super) enum Came {
    /// This.
    To(Box<Decision>),
    /// It asks for an execution whose result was not recorded.
    Unanswered,
    /// Nothing, as the recording has nothing to decide here on this side: the review of a call that nobody is asked about.
    Nothing,
}

/// How a call stood, as far as it was recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stood {
    /// It ran, or may.
    Through,
    /// It was not let through.
    Stopped,
    /// It waits for a reviewer or for other calls.
    Waits,
}

impl Stood {
    pub(super) const fn with(verdict: VerdictKind) -> Self {
        match verdict {
            VerdictKind::Allow | VerdictKind::Route => Self::Through,
            VerdictKind::Suspend | VerdictKind::Wait => Self::Waits,
            _ => Self::Stopped,
        }
    }
}

/// How often a call is led through reviews that the recording does not have: each policy has few.
const MAX_REVIEWS: usize = 16;

/// Answers what steps ask for, as far as it was recorded.
struct Recollection<'r> {
    now: Timestamp,
    /// In this step, and in the whole task.
    gave: [&'r mut Gave; 2],
    counters: &'r mut CounterBook,
}

impl Host for Recollection<'_> {
    fn now(&mut self) -> Timestamp {
        self.now
    }

    fn invoke(&mut self, invocation: &Invocation) -> Option<CallResult> {
        self.gave.iter_mut().find_map(|gave| gave.next(&invocation.function))
    }

    fn counters(&mut self) -> Option<&mut CounterBook> {
        Some(self.counters)
    }

    fn review(&mut self, _: &str) -> Option<bool> {
        None
    }

    fn read_mount(&mut self, _: &str) -> Option<String> {
        None
    }

    fn write_mount(&mut self, _: &str, _: &str) -> bool {
        true
    }
}

impl Side {
    /// Begins a task.
    ///
    /// # Errors
    /// As [`Engine::start`].
    pub(super) fn start(
        engine: &Engine,
        (namespace, agent): (&str, &str),
        first: &Recorded,
        at: Timestamp,
    ) -> Result<Self, TaskError> {
        let user = first.user.clone().unwrap_or_else(|| User { id: "-".to_owned(), ..User::default() });
        // counters tell the calls of tasks apart by it; a recording may have ids that no task has
        let id = Digest::of(first.task.as_bytes()).to_string();
        let start = StartTask {
            retain: Retain::Needed,
            model: Some("recorded/model".to_owned()),
            ..StartTask::new(&id, namespace, agent, user, first.started_at.unwrap_or(at))
        };
        let gave = Gave { results: first.gave.clone(), plays_others: first.plays_others, ..Gave::default() };
        let mut task = engine.start(start)?;
        task.take_no_digests();
        Ok(Self { task, strayed: HashMap::new(), is_lost: false, gave })
    }

    /// Whether nothing more can be judged.
    pub(super) const fn is_lost(&self) -> bool {
        self.is_lost
    }

    /// What is decided about a call in a word: its function, if the agent has it.
    pub(super) fn function_of(&self, id: &CallId) -> Option<String> {
        let under = self.strayed.get(id).and_then(|strayed| strayed.under.as_ref()).unwrap_or(id);
        self.task.function_of(under).map(str::to_owned)
    }

    /// Judges a step other than a turn.
    pub(super) fn judge(
        &mut self,
        recorded: &Recorded,
        at: Timestamp,
        counters: &mut CounterBook,
    ) -> Result<Came, TaskError> {
        let mut own = Gave { results: recorded.gave.clone(), ..Gave::default() };
        let mut gave = std::mem::take(&mut self.gave);
        let mut world = Recollection { now: at, gave: [&mut own, &mut gave], counters };
        let came = self.judge_in(recorded, at, &mut world);
        self.gave = gave;
        self.keep_counters(counters, at);
        came
    }

    fn judge_in(
        &mut self,
        recorded: &Recorded,
        at: Timestamp,
        world: &mut Recollection<'_>,
    ) -> Result<Came, TaskError> {
        match &recorded.step {
            RecordedStep::Operation(operation) => {
                let operation = self.as_taken_here(operation)?;
                let may_be_void = matches!(operation, Operation::Withdraw { .. } | Operation::Unlock { .. });
                let is_unlock = matches!(operation, Operation::Unlock { .. });
                match self.task.apply(operation, &BTreeMap::new(), at) {
                    // here the call may have been refused, and the task may never have been locked
                    Err(_) if may_be_void => Ok(Came::Nothing),
                    // an operator decides that, and no policy
                    Ok(_) if is_unlock => Ok(Came::Nothing),
                    progress => self.drive(progress?, world),
                }
            }
            RecordedStep::Review { call, reviewer, word } => {
                let asked = self.question_about(call.as_ref(), reviewer.as_deref());
                self.review(asked, *word, world)
            }
            RecordedStep::Unreadable => Ok(Came::Nothing),
        }
    }

    /// The operation as this side takes it. Its policy says whether the engine evaluates a call, and a call that was let through although a
    /// step of this side refused it has another id.
    fn as_taken_here(&mut self, operation: &Operation) -> Result<Operation, TaskError> {
        Ok(match operation {
            Operation::Before(call) | Operation::Invoke(call) => match self.is_evaluated(&call.function) {
                true => Operation::Invoke(call.clone()),
                false => Operation::Before(call.clone()),
            },
            Operation::After(ReportedCall { call, result }) => {
                Operation::After(ReportedCall { call: self.awaited(call)?, result: result.clone() })
            }
            Operation::Withdraw { call, ran } => {
                let under = self.strayed.remove(call).and_then(|strayed| strayed.under);
                Operation::Withdraw { call: under.unwrap_or_else(|| call.clone()), ran: *ran }
            }
            operation => operation.clone(),
        })
    }

    /// Judges a turn of the model: its limits, then each of its calls.
    pub(super) fn judge_turn(
        &mut self,
        recorded: &Recorded,
        turn: &Turn,
        at: Timestamp,
        counters: &mut CounterBook,
    ) -> Result<(Decision, Vec<Came>), TaskError> {
        let turned = self.task.turn(turn, at)?;
        let mut came = Vec::with_capacity(turned.calls.len());
        let mut own = Gave { results: recorded.gave.clone(), ..Gave::default() };
        let mut gave = std::mem::take(&mut self.gave);
        let mut world = Recollection { now: at, gave: [&mut own, &mut gave], counters };
        for decided in turned.calls {
            let open = decided.decision.verdict.question().filter(|asked| self.is_open(*asked));
            came.push(match open {
                Some(question) => self.drive_at(question, &mut world)?,
                None => Came::To(Box::new(decided.decision)),
            });
        }
        self.gave = gave;
        self.keep_counters(counters, at);
        Ok((turned.limits, came))
    }

    fn keep_counters(&mut self, counters: &mut CounterBook, at: Timestamp) {
        let changes = self.task.take_counter_changes();
        if changes.is_empty() {
            return;
        }
        // whoever was ahead has been recorded ahead, so a counter that moved is what it was then, too
        let _ = counters.apply(self.task.id(), &changes, at);
    }

    fn drive(&mut self, progress: Progress, world: &mut Recollection<'_>) -> Result<Came, TaskError> {
        match progress {
            Progress::Decided(decision) => Ok(Came::To(Box::new(decision))),
            Progress::Asks(question) => self.drive_at(question.id, world),
        }
    }

    fn drive_at(&mut self, question: QuestionId, world: &mut Recollection<'_>) -> Result<Came, TaskError> {
        let pending = self.task.pending_at(question).ok_or(TaskError::NothingPending)?;
        let decision = pending.drive(world)?.into_decision();
        let is_unanswered = matches!(decision.verdict, Verdict::Suspend { reviewer: None, .. });
        Ok(if is_unanswered { Came::Unanswered } else { Came::To(Box::new(decision)) })
    }

    fn is_open(&self, question: QuestionId) -> bool {
        self.task.questions().any(|open| open.id == question)
    }

    /// Whether the engine itself carries a function out.
    fn is_evaluated(&self, function: &str) -> bool {
        let policy = self.task.policy();
        let function = policy.position(function).and_then(|position| policy.function(position));
        function.is_some_and(|function| matches!(function.execute, Execute::Cel(_)))
    }

    /// The id under which the result of a call is awaited here; one that is not is let through now.
    fn awaited(&mut self, id: &CallId) -> Result<CallId, TaskError> {
        let Some(strayed) = self.strayed.remove(id) else { return Ok(id.clone()) };
        match strayed.under {
            Some(under) => Ok(under),
            None if self.task.function_of(id).is_some() && !self.is_waiting(id) => Ok(id.clone()),
            None => self.let_through(id, &strayed.call),
        }
    }

    fn is_waiting(&self, id: &CallId) -> bool {
        self.task.standing(id).is_some_and(|decision| Stood::with(decision.verdict.kind()) == Stood::Waits)
    }

    /// The answer of a reviewer, if somebody is asked here too.
    fn review(
        &mut self,
        asked: Option<QuestionId>,
        word: ReviewWord,
        world: &mut Recollection<'_>,
    ) -> Result<Came, TaskError> {
        let Some(question) = asked else { return Ok(Came::Nothing) };
        let approves = matches!(word, ReviewWord::Approve | ReviewWord::Edit);
        let progress =
            self.task.answer(question, Answer::Review(approves.into()), world.now)?.into_progress();
        self.drive(progress, world)
    }

    /// The open question about a call, or to a reviewer.
    fn question_about(&self, id: Option<&CallId>, reviewer: Option<&str>) -> Option<QuestionId> {
        let mut reviews = self.task.reviews().filter(|review| review.state == ReviewState::Open);
        let meant = reviews.find(|review| {
            id.is_none_or(|id| review.call.as_ref() == Some(id))
                && reviewer.is_none_or(|reviewer| *review.reviewer == *reviewer)
        });
        meant.map(|review| review.question)
    }

    /// Leads a call to where it stood in the recording.
    pub(super) fn lead_call(
        &mut self,
        id: &CallId,
        call: &Call,
        stood: Stood,
        came: &Came,
        at: Timestamp,
        counters: &mut CounterBook,
    ) -> Result<(), TaskError> {
        let verdict = match came {
            Came::To(decision) => Some(decision.verdict.kind()),
            Came::Unanswered => None,
            // of a review that nobody is asked for here: the call stands as it stood before
            Came::Nothing => self.task.standing(id).map(|decision| decision.verdict.kind()),
        };
        let here = verdict.map_or(Stood::Waits, Stood::with);
        let stray = |side: &mut Self, under| {
            side.strayed.insert(id.clone(), Strayed { call: call.clone(), under });
        };
        match (stood, here) {
            (Stood::Through, Stood::Through) | (Stood::Stopped, Stood::Stopped) => {}
            (Stood::Through, Stood::Waits) => {
                if self.approve(id, at, counters)? {
                    return Ok(());
                }
                let _ = self.task.withdraw(id, Ran::Never, at);
                let under = self.let_through(id, call)?;
                stray(self, Some(under));
            }
            (Stood::Through, Stood::Stopped) => {
                let under = self.let_through(id, call)?;
                stray(self, Some(under));
            }
            (Stood::Stopped, _) => {
                let strayed = self.strayed.remove(id).and_then(|strayed| strayed.under);
                let _ = self.task.withdraw(strayed.as_ref().unwrap_or(id), Ran::Never, at);
            }
            (Stood::Waits, _) => stray(self, None),
        }
        Ok(())
    }

    /// Leads a message to where it stood in the recording: it was taken, or the task went on.
    pub(super) fn lead_message(
        &mut self,
        recorded: &Recorded,
        stood: Stood,
        came: &Came,
        at: Timestamp,
    ) -> Result<(), TaskError> {
        let is_through =
            matches!(came, Came::To(decision) if Stood::with(decision.verdict.kind()) == Stood::Through);
        if stood != Stood::Through || is_through {
            return Ok(());
        }
        self.unlock();
        let past = match &recorded.step {
            RecordedStep::Operation(Operation::Input(input)) => Past::Input(input.clone()),
            RecordedStep::Operation(Operation::Output(output)) => Past::Output(output.clone()),
            _ => return Ok(()),
        };
        if self.is_lost {
            return Ok(());
        }
        self.task.record(past, at)
    }

    /// Lets a call through whatever its steps say. It has another id then, as its own is known as that of a call that was stopped.
    fn let_through(&mut self, id: &CallId, call: &Call) -> Result<CallId, TaskError> {
        self.unlock();
        let under = CallId::from(format!("{id}~"));
        let call = Call { id: Some(under), ..call.clone() };
        self.task.await_result(&call)
    }

    /// Takes a lock off that the recording does not have.
    fn unlock(&mut self) {
        match self.task.state() {
            TaskState::Locked { .. } => {
                let _ = self.task.unlock("the recorded task went on");
            }
            TaskState::Terminated(_) => self.is_lost = true,
            _ => {}
        }
    }

    /// Notes that the task ended here.
    pub(super) fn note_end(&mut self, stood: Stood) {
        if stood == Stood::Through {
            self.unlock();
        }
    }

    /// Approves all that is asked about a call, as it ran. Whether it is let through then.
    fn approve(&mut self, id: &CallId, at: Timestamp, counters: &mut CounterBook) -> Result<bool, TaskError> {
        for _ in 0..MAX_REVIEWS {
            let Some(question) = self.question_about(Some(id), None) else { return Ok(false) };
            let (mut own, mut gave) = (Gave::default(), std::mem::take(&mut self.gave));
            let mut world = Recollection { now: at, gave: [&mut own, &mut gave], counters: &mut *counters };
            let came = self.review(Some(question), ReviewWord::Approve, &mut world);
            self.gave = gave;
            match came? {
                Came::To(decision) if decision.verdict.kind() == VerdictKind::Allow => return Ok(true),
                Came::To(decision) if decision.verdict.kind() == VerdictKind::Suspend => {}
                _ => return Ok(false),
            }
        }
        Ok(false)
    }
}
