//! Tasks in the memory of this process.
//!
//! In: steps. Out: what they came to. The engine decides on the task where it lies: nothing becomes JSON on the way, nothing is written.
//! Tasks have their callers' ids, unique in one set of policies, and stay until they are purged or the set is dropped. Counters count
//! across them. [`Memory::begin`] gets or begins, as `POST /v1/tasks` of a server does.

use crate::decided::{Decided, Several, Stepped};
use crate::patience::Patience;
use crate::review::{Person, ReviewFilter};
use crate::to_explain::ToExplain;
use crate::{Clock, Error};
use celador::cel::Timestamp;
use celador::counter::{CounterBook, CounterId};
use celador::engine::Engine;
use celador::task::{
    Answer, CallId, DecidedKind, Decision, Identity, Operation, Progress, ReviewAnswer, ReviewRecord,
    ReviewReply, ReviewState, SavedTask, StartTask, Task, VerdictKind,
};
use serde_json::Value;
use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Tasks that may be in memory at a time. Each keeps what its policy may ask for later, so none is ever dropped to make room.
const MAX_TASKS: usize = 100_000;

/// The tasks of one set of policies.
pub(crate) struct Memory {
    tasks: Mutex<Tasks>,
    book: Mutex<CounterBook>,
    clock: Clock,
    /// Whether policies may call functions of the host.
    calls_host: bool,
}

#[derive(Default)]
struct Tasks {
    by_id: HashMap<String, Arc<Held>>,
    /// In the order in which they began.
    begun: u64,
}

/// A task in memory.
pub(crate) struct Held {
    id: String,
    number: u64,
    task: Mutex<Option<Task>>,
    /// Told of every step.
    stepped: Condvar,
}

impl Memory {
    pub(crate) fn new(clock: Clock, calls_host: bool) -> Self {
        Self { tasks: Mutex::default(), book: Mutex::default(), clock, calls_host }
    }

    pub(crate) fn calls_host(&self) -> bool {
        self.calls_host
    }

    pub(crate) fn now(&self) -> Timestamp {
        (self.clock)()
    }

    /// The task of this id: the one that is there, if it began the same way, else a new one.
    pub(crate) fn begin(
        &self,
        engine: &Engine,
        start: StartTask,
        is_named: bool,
    ) -> Result<Arc<Held>, Error> {
        let id = start.id.clone();
        let mut tasks = unpoisoned(&self.tasks);
        if let Some(found) = tasks.by_id.get(&id) {
            let is_same = found.with(|task| task.begun_with() == start.begun_with.as_deref())?;
            let message = "another task has this id: it began otherwise";
            return if is_same { Ok(found.clone()) } else { Err(Error::misuse("task_exists", message)) };
        }
        let task = engine.start(start)?;
        self.hold(&mut tasks, task, is_named)
    }

    /// Takes a task in that was saved.
    pub(crate) fn restore(&self, engine: &Engine, text: &str) -> Result<Arc<Held>, Error> {
        let unreadable = |error: serde_json::Error| {
            Error::misuse("bad_request", format!("the text is no saved task: line {} of it", error.line()))
        };
        let saved: SavedTask = serde_json::from_str(text).map_err(unreadable)?;
        let mut tasks = unpoisoned(&self.tasks);
        if tasks.by_id.contains_key(saved.id()) {
            return Err(Error::misuse("task_exists", "a task of this id is in memory already"));
        }
        let task = engine.restore(saved)?;
        self.hold(&mut tasks, task, true)
    }

    fn hold(&self, tasks: &mut Tasks, task: Task, is_kept: bool) -> Result<Arc<Held>, Error> {
        let number = tasks.begun;
        tasks.begun = tasks.begun.saturating_add(1);
        let id = task.id().to_owned();
        let held =
            Arc::new(Held { id: id.clone(), number, task: Mutex::new(Some(task)), stepped: Condvar::new() });
        if is_kept {
            if tasks.by_id.len() >= MAX_TASKS {
                let message = format!(
                    "{MAX_TASKS} tasks are in memory: purge those that are over, or keep tasks in a store"
                );
                return Err(Error::misuse("overloaded", message));
            }
            match tasks.by_id.entry(id) {
                Entry::Vacant(free) => drop(free.insert(held.clone())),
                Entry::Occupied(_) => return Err(Error::misuse("task_exists", "another task has this id")),
            }
        }
        Ok(held)
    }

    /// Forgets a task. Handles of it answer that there is no such task.
    pub(crate) fn purge(&self, held: &Held, reason: &str) -> Result<(), Error> {
        unpoisoned(&self.tasks).by_id.remove(&held.id);
        let mut place = unpoisoned(&held.task);
        let Some(mut task) = place.take() else { return Err(purged()) };
        let now = self.now();
        // what its calls hold of counters is given back or stays spent, as the engine has it
        let _ = task.end(reason, now);
        self.count(&mut task, now);
        Ok(())
    }

    /// Takes a step.
    pub(crate) fn step(&self, held: &Held, operation: Operation) -> Result<Stepped, Error> {
        let (kind, function) = (operation.decided_kind(), operation.function().map(str::to_owned));
        // whether it is a turn, and how many calls it or the results have
        let several = match &operation {
            Operation::Turn(turn) => Some((true, turn.calls.len())),
            Operation::Results { results } => Some((false, results.len())),
            _ => None,
        };
        held.change(|task| {
            let now = self.now();
            // tasks in memory have no namespace settings, so webhooks with a secret are discarded
            let progress = task.apply(operation, &BTreeMap::new(), now)?;
            let progress = self.settled(task, progress, now);
            Ok(shown(task, progress, (kind, function), several))
        })
    }

    /// Answers what an operation asks of the book of counters, and makes the changes of the step in it.
    fn settled(&self, task: &mut Task, progress: Progress, now: Timestamp) -> Progress {
        let is_asked = !task.asked_counters().is_empty();
        if !is_asked {
            self.count(task, now);
            return progress;
        }
        // held from the reading to the changes, so that no step is ever decided anew
        let mut book = unpoisoned(&self.book);
        let read = |counters: &[CounterId]| {
            Ok::<_, std::convert::Infallible>(counters.iter().map(|counter| book.read(counter)).collect())
        };
        let progress = match task.settle_counters(progress, read, now) {
            Ok(progress) => progress,
            Err(never) => match never {},
        };
        let changes = task.take_counter_changes();
        // nobody else has had the book since it was read
        let _ = book.apply(task.id(), &changes, now);
        progress
    }

    fn count(&self, task: &mut Task, now: Timestamp) {
        let changes = task.take_counter_changes();
        if !changes.is_empty() {
            let _ = unpoisoned(&self.book).apply(task.id(), &changes, now);
        }
    }

    /// How far a call has come, or an input or response that waits, once that is decided or after so long; nothing of one that the task
    /// does not know.
    pub(crate) fn decided(
        &self,
        held: &Held,
        call: &CallId,
        wait: Duration,
    ) -> Result<Option<Decided>, Error> {
        let patience = Patience::of(wait);
        let mut place = unpoisoned(&held.task);
        loop {
            let stands = standing(place.as_ref().ok_or_else(purged)?, call);
            let left = patience.left();
            if left.is_zero() || stands.as_ref().is_none_or(|decided| !decided.waits_for_others()) {
                return Ok(stands);
            }
            let waited = held.stepped.wait_timeout(place, left);
            place = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// What a call would come to, on a copy of the task.
    pub(crate) fn explain(&self, held: &Held, what: &ToExplain) -> Result<Value, Error> {
        let ToExplain::Call(call) = what else { return Err(Error::no_events()) };
        let copy = held.with(Task::copy)??;
        let book = unpoisoned(&self.book);
        let read = |counters: &[CounterId]| {
            Ok::<_, Error>(counters.iter().map(|counter| book.read(counter)).collect())
        };
        let explained = Operation::Before(call.clone()).explained(copy, self.now(), None, read)?;
        // through its text, which can be written anyway: values have a serializer of their own, and it would be compiled for decisions once more
        let value = serde_json::to_string(&explained).and_then(|text| serde_json::from_str(&text));
        value.map_err(|_| Error::internal("an explanation cannot be written"))
    }

    /// An id for a task that comes without one.
    #[cfg(not(feature = "stores"))]
    pub(crate) fn next_id(&self) -> String {
        let mut tasks = unpoisoned(&self.tasks);
        tasks.begun = tasks.begun.saturating_add(1);
        format!("task-{}", tasks.begun)
    }

    /// The reviews of all tasks that are kept, in the order in which they were asked.
    pub(crate) fn reviews(&self, filter: &ReviewFilter, agent: &str) -> Result<Vec<ReviewRecord>, Error> {
        let mut held: Vec<Arc<Held>> = unpoisoned(&self.tasks).by_id.values().cloned().collect();
        held.sort_by_key(|held| held.number);
        let mut reviews = Vec::new();
        for held in held {
            // one that is purged just now has none
            let of_agent = |task: &Task| {
                let of = task.policy().agent();
                let is_theirs = agent.split_once('/') == Some((&*of.namespace.text, &*of.name.text));
                if is_theirs { reviews_of(task, filter) } else { Vec::new() }
            };
            let found = held.with(of_agent).unwrap_or_default();
            reviews.extend(found);
        }
        reviews.sort_by(|a, b| a.asked_at.cmp(&b.asked_at));
        Ok(reviews)
    }

    /// Answers a review, and says what became of the operation that asked.
    pub(crate) fn answer(
        &self,
        held: &Held,
        review: &ReviewRecord,
        reply: ReviewReply,
        by: Option<Person>,
    ) -> Result<(ReviewRecord, VerdictKind), Error> {
        let bad = |expected: &'static str| Error::misuse("bad_request", expected);
        let choice = reply.choice().map_err(bad)?;
        if let Some(person) = &by {
            may_answer(person, review)?;
        }
        let addressed_as = by.as_ref().filter(|_| review.panel.is_some());
        let answer = ReviewAnswer {
            choice,
            addressed_as: addressed_as.map(Person::names).unwrap_or_default(),
            by: by.map(|by| Identity { issuer: None, subject: by.id, email: by.email }),
            note: reply.note,
        };
        let step = Operation::Resume { question: Some(review.question), answer: Answer::Review(answer) };
        let filter = ReviewFilter { state: None, ..ReviewFilter::default() };
        let is_open = held.with(|task| {
            let found = reviews_of(task, &filter).into_iter().find(|it| it.question == review.question);
            found.is_some_and(|it| it.state == ReviewState::Open)
        })?;
        if !is_open {
            return Err(Error::misuse(
                "review_closed",
                "the review was answered, has expired, or needs no answer",
            ));
        }
        let Stepped::One(decided) = self.step(held, step)? else {
            return Err(Error::new(crate::ErrorKind::Internal, "internal", "an answer is one operation"));
        };
        let after = held
            .with(|task| reviews_of(task, &filter).into_iter().find(|it| it.question == review.question))?;
        let verdict = decided.decision.verdict;
        let mut after = after.unwrap_or_else(|| review.clone());
        if let Some(answered) = &mut after.answered {
            answered.decision = Some(verdict.kind());
        }
        Ok((after, verdict.kind()))
    }

    /// The task of a review that is kept.
    pub(crate) fn holder(&self, task: &str) -> Option<Arc<Held>> {
        unpoisoned(&self.tasks).by_id.get(task).cloned()
    }
}

impl Held {
    pub(crate) fn id(&self) -> &str {
        &self.id
    }

    /// Looks at the task.
    pub(crate) fn with<T>(&self, look: impl FnOnce(&Task) -> T) -> Result<T, Error> {
        unpoisoned(&self.task).as_ref().map(look).ok_or_else(purged)
    }

    fn change<T>(&self, change: impl FnOnce(&mut Task) -> Result<T, Error>) -> Result<T, Error> {
        let mut place = unpoisoned(&self.task);
        let changed = change(place.as_mut().ok_or_else(purged)?);
        drop(place);
        self.stepped.notify_all();
        changed
    }
}

fn purged() -> Error {
    Error::misuse("purged", "the task was purged")
}

/// A lock, also where a thread has panicked that held it: what it holds is changed by the engine alone, which does not panic, and whole
/// after each of its operations.
fn unpoisoned<T>(lock: &Mutex<T>) -> MutexGuard<'_, T> {
    lock.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What a step came to, with what it asks.
fn shown(
    task: &Task,
    progress: Progress,
    (kind, function): (DecidedKind, Option<String>),
    several: Option<(bool, usize)>,
) -> Stepped {
    match (progress, several) {
        (Progress::Decided(mut decision), Some((is_turn, count))) => {
            let mut told = std::mem::take(&mut decision.decided).into_iter();
            let called = |call| asking(task, Decided::of_call(call));
            let calls = told.by_ref().take(count).map(called).collect();
            let decided = told.map(called).collect();
            let limits = is_turn.then(|| Decided::of(DecidedKind::Call, None, decision));
            Stepped::Several(Several { limits, calls, decided })
        }
        (Progress::Decided(decision), None) => {
            Stepped::One(asking(task, Decided::of(kind, function, decision)))
        }
        (Progress::Asks(question), _) => {
            let decision = task.suspension_at(question.id);
            let decision = decision.unwrap_or_else(|| Decision::suspended(question.id, None));
            let asks = Some(question.request);
            Stepped::One(Decided { asks, ..Decided::of(kind, function, decision) })
        }
    }
}

fn standing(task: &Task, call: &CallId) -> Option<Decided> {
    let decision = task.standing(call)?;
    let function = task.function_of(call).map(str::to_owned);
    Some(asking(task, Decided::of(DecidedKind::Call, function, decision).with_kind_of(call)))
}

/// The same with the question that it waits for.
fn asking(task: &Task, decided: Decided) -> Decided {
    let Some(question) = decided.decision.verdict.question() else { return decided };
    let asked = task.questions().find(|it| it.id == question);
    Decided { asks: asked.map(|it| it.request), ..decided }
}

/// The reviews of a task that are wanted, with what is secret masked.
pub(crate) fn reviews_of(task: &Task, filter: &ReviewFilter) -> Vec<ReviewRecord> {
    if filter.task.as_deref().is_some_and(|wanted| wanted != task.id()) {
        return Vec::new();
    }
    let reviews = task.reviews().map(|review| {
        let id = format!("{}/{}", task.id(), review.question);
        ReviewRecord::of(task, review, id)
    });
    reviews
        .filter(|review| filter.state.is_none_or(|state| state == review.state))
        .filter(|review| filter.reviewer.as_deref().is_none_or(|name| is_asked(review, name)))
        .collect()
}

fn is_asked(review: &ReviewRecord, name: &str) -> bool {
    match &review.panel {
        None => same_name(&review.reviewer, name),
        Some(panel) => panel.names().any(|asked| same_name(asked, name)),
    }
}

/// Whether two names are of one person or group: addresses have no case.
fn same_name(a: &str, b: &str) -> bool {
    let (a, b) = (a.trim(), b.trim());
    a == b || a.contains('@') && a.eq_ignore_ascii_case(b)
}

/// Whether a review is addressed to somebody, and they are not the one for whom the task runs.
fn may_answer(person: &Person, review: &ReviewRecord) -> Result<(), Error> {
    if person.names().iter().any(|name| is_asked(review, name)) {
        Ok(())
    } else {
        Err(Error::misuse("not_addressed", "the review is addressed to somebody else"))
    }
}
