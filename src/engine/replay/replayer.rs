//! Recorded steps of many tasks, judged anew one after the other.
//!
//! In: the steps, those of a task in their order, the tasks mixed as they come. Out: a [`Tally`]. Each task has a [`Side`] under the new policies and,
//! if they are compared with others, one under those. Memory is bounded: by the number of tasks that are under way, and for each by `max_task_bytes`.

use super::recorded::{Recorded, RecordedStep, Was};
use super::side::{Came, Side, Stood};
use super::tally::{FlipKind, NotJudged, Tally};
use crate::cel::{Json, Timestamp};
use crate::counter::CounterBook;
use crate::engine::Engine;
use crate::task::{Call, CallId, Operation, ReportedCall, TaskError, VerdictKind};
use std::collections::HashMap;
use std::sync::Arc;

/// Judges recorded steps anew.
///
/// ```
/// use celador::replay::{Recorded, Replayer};
/// use celador::{Engine, EngineLimits};
/// use std::sync::Arc;
/// # std::env::set_current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))?;
///
/// let limits = EngineLimits::default();
/// let policies = Arc::new(Engine::open(&["examples/first-policy"], limits)?);
/// let mut replayer = Replayer::new(policies);
/// let lines = [
///     r#"{"task": "t-1", "agent": "shop/clerk", "at": "2026-06-01T12:00:00Z", "input": {"message": "Pay Kim."}, "verdict": "allow"}"#,
///     r#"{"task": "t-1", "call": {"id": "c1", "fn": "payout", "args": {"amount": 5000}}, "verdict": "allow"}"#,
///     r#"{"task": "t-1", "result": {"id": "c1", "output": {}}, "verdict": "allow"}"#,
/// ];
/// for line in lines {
///     replayer.step(&Recorded::parse(line.as_bytes(), &limits)?);
/// }
/// let tally = replayer.into_tally();
/// assert_eq!((tally.decisions, tally.flips()), (3, 1));
/// let row = &tally.rows()[0];
/// assert_eq!(row.kind.is_by.as_deref(), Some("capabilities.payout.before[0].assert"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Replayer {
    new: Arc<Engine>,
    old: Option<Arc<Engine>>,
    max_tasks: usize,
    tasks: HashMap<String, UnderWay>,
    /// What counts across tasks, on each side.
    counters: [CounterBook; 2],
    /// How many steps were taken, by which the tasks are found that rested longest.
    clock: u64,
    /// Whether tasks were put aside.
    has_put_aside: bool,
    tally: Tally,
}

/// A task under way.
#[derive(Debug)]
struct UnderWay {
    /// Nothing for a task that cannot be judged, with why.
    sides: Result<(Side, Option<Side>), NotJudged>,
    at: Timestamp,
    /// How many steps it has taken.
    steps: u64,
    last: u64,
}

/// How many tasks are under way at once, unless a caller says otherwise.
const MAX_TASKS: usize = 10_000;

impl Replayer {
    /// Judges under these policies, and compares with what was recorded.
    #[must_use]
    pub fn new(policies: Arc<Engine>) -> Self {
        Self {
            new: policies,
            old: None,
            max_tasks: MAX_TASKS,
            tasks: HashMap::new(),
            counters: [CounterBook::default(), CounterBook::default()],
            clock: 0,
            has_put_aside: false,
            tally: Tally::default(),
        }
    }

    /// The same, compared with what these policies decide.
    #[must_use]
    pub fn against(self, old: Arc<Engine>) -> Self {
        Self { old: Some(old), ..self }
    }

    /// The same with another bound of the tasks under way. Those that rested longest are put aside where it is reached.
    #[must_use]
    pub fn with_max_tasks(self, max_tasks: usize) -> Self {
        Self { max_tasks: max_tasks.max(1), ..self }
    }

    /// What came of it so far.
    #[must_use]
    pub fn tally(&self) -> &Tally {
        &self.tally
    }

    /// What came of it.
    #[must_use]
    pub fn into_tally(self) -> Tally {
        self.tally
    }

    /// Forgets a task that takes no more steps.
    pub fn end(&mut self, task: &str) {
        self.tasks.remove(task);
    }

    /// Judges a step.
    ///
    /// # Cost
    /// That of the operation, under one set of policies or two.
    pub fn step(&mut self, recorded: &Recorded) {
        self.clock = self.clock.saturating_add(1);
        let under_way = match self.tasks.get_mut(&recorded.task) {
            Some(known) => known,
            None => {
                let begun = self.begin(recorded);
                self.tasks.entry(recorded.task.clone()).or_insert(begun)
            }
        };
        under_way.steps = under_way.steps.saturating_add(1);
        under_way.last = self.clock;
        under_way.at = recorded.at.unwrap_or(under_way.at).max(under_way.at);
        let (new, old) = match &mut under_way.sides {
            Ok(sides) => sides,
            Err(why) => {
                let why = *why;
                self.tally.leave(why);
                return;
            }
        };
        if new.is_lost() || old.as_ref().is_some_and(Side::is_lost) {
            self.tally.leave(NotJudged::Ended);
            return;
        }
        if !recorded.step.is_judged() {
            self.tally.leave(NotJudged::OtherKind);
            return;
        }
        let (at, step) = (under_way.at, under_way.steps);
        let mut judging = Judging {
            new,
            old: old.as_mut(),
            counters: &mut self.counters,
            recorded,
            at,
            step,
            tally: &mut self.tally,
        };
        if judging.judge().is_err() {
            self.tally.leave(NotJudged::Impossible);
        }
    }

    fn begin(&mut self, first: &Recorded) -> UnderWay {
        if self.tasks.len() >= self.max_tasks {
            self.put_aside();
        }
        let at = first.at.unwrap_or_else(|| std::time::UNIX_EPOCH.into());
        let sides = self.sides(first, at);
        if sides.is_ok() {
            self.tally.tasks = self.tally.tasks.saturating_add(1);
        }
        UnderWay { sides, at, steps: 0, last: self.clock }
    }

    /// Forgets the quarter of the tasks that rested longest, so that not every new task looks at all of them.
    fn put_aside(&mut self) {
        let mut rested: Vec<u64> = self.tasks.values().map(|task| task.last).collect();
        rested.sort_unstable();
        let newest = rested.get(self.max_tasks / 4).copied().unwrap_or_default();
        self.tasks.retain(|_, task| task.last > newest);
        self.has_put_aside = true;
    }

    fn sides(&self, first: &Recorded, at: Timestamp) -> Result<(Side, Option<Side>), NotJudged> {
        // a step in the middle of a task names none
        let why = if self.has_put_aside { NotJudged::PutAside } else { NotJudged::NoBeginning };
        let named = first.agent.as_deref().ok_or(why)?;
        let start = |engine: &Engine| {
            let agent = match named.split_once('/') {
                Some((namespace, name)) => Some((namespace.to_owned(), name.to_owned())),
                None => engine.agent_named(named),
            };
            let (namespace, name) = agent.ok_or(NotJudged::NoAgent)?;
            Side::start(engine, (&namespace, &name), first, at).map_err(|error| match error {
                TaskError::ParentRequired(_) => NotJudged::NoParent,
                _ => NotJudged::NoAgent,
            })
        };
        Ok((start(&self.new)?, self.old.as_deref().map(start).transpose()?))
    }
}

/// A step being judged.
struct Judging<'j> {
    new: &'j mut Side,
    old: Option<&'j mut Side>,
    counters: &'j mut [CounterBook; 2],
    recorded: &'j Recorded,
    at: Timestamp,
    step: u64,
    tally: &'j mut Tally,
}

impl Judging<'_> {
    fn judge(&mut self) -> Result<(), TaskError> {
        let [counters_new, counters_old] = &mut *self.counters;
        let (recorded, at) = (self.recorded, self.at);
        if let Some(turn) = recorded.step.turn() {
            let (limits, came) = self.new.judge_turn(recorded, &turn, at, counters_new)?;
            let before = match &mut self.old {
                Some(old) => Some(old.judge_turn(recorded, &turn, at, counters_old)?),
                None => None,
            };
            let (old_limits, mut old_came) = match before {
                Some((limits, came)) => (Some(Came::To(Box::new(limits))), came.into_iter()),
                None => (None, Vec::new().into_iter()),
            };
            let limits = Came::To(Box::new(limits));
            let stood = stood(recorded.was.as_ref(), old_limits.as_ref(), &limits);
            self.compare("turn", None, recorded.was.as_ref(), old_limits.as_ref(), &limits);
            self.new.note_end(stood);
            if let Some(old) = &mut self.old {
                old.note_end(stood);
            }
            let mut were = recorded.calls_were.iter();
            for (call, came) in turn.calls.iter().zip(&came) {
                let (old, was) = (old_came.next(), were.next().and_then(Option::as_ref));
                self.call(call, was, old.as_ref(), came)?;
            }
            return Ok(());
        }
        let function = match &recorded.step {
            RecordedStep::Operation(Operation::After(ReportedCall { call, .. }))
            | RecordedStep::Review { call: Some(call), .. } => self.new.function_of(call),
            _ => None,
        };
        let came = self.new.judge(recorded, at, counters_new)?;
        let old = match &mut self.old {
            Some(old) => Some(old.judge(recorded, at, counters_old)?),
            None => None,
        };
        if let RecordedStep::Operation(Operation::Before(call) | Operation::Invoke(call)) = &recorded.step {
            return self.call(call, recorded.was.as_ref(), old.as_ref(), &came);
        }
        let operation = recorded.step.operation();
        self.compare(operation, function.as_deref(), recorded.was.as_ref(), old.as_ref(), &came);
        let stood = stood(recorded.was.as_ref(), old.as_ref(), &came);
        match &recorded.step {
            RecordedStep::Operation(Operation::Input(_) | Operation::Output(_)) => {
                self.new.lead_message(recorded, stood, &came, at)?;
                if let (Some(side), Some(old)) = (&mut self.old, &old) {
                    side.lead_message(recorded, stood, old, at)?;
                }
            }
            RecordedStep::Review { call: Some(id), .. } => {
                let call = Call::new("", Json::object([])).with_id(id.clone());
                self.lead(id, &call, stood, &came, old.as_ref())?;
            }
            RecordedStep::Operation(Operation::After(_)) => {
                self.new.note_end(stood);
                if let Some(old) = &mut self.old {
                    old.note_end(stood);
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn call(
        &mut self,
        call: &Call,
        was: Option<&Was>,
        old: Option<&Came>,
        came: &Came,
    ) -> Result<(), TaskError> {
        self.compare("before", Some(&call.function), was, old, came);
        let Some(id) = call.id.clone() else { return Ok(()) };
        let stood = stood(was, old, came);
        self.lead(&id, call, stood, came, old)
    }

    fn lead(
        &mut self,
        id: &CallId,
        call: &Call,
        stood: Stood,
        came: &Came,
        old: Option<&Came>,
    ) -> Result<(), TaskError> {
        let [counters_new, counters_old] = &mut *self.counters;
        self.new.lead_call(id, call, stood, came, self.at, counters_new)?;
        match (&mut self.old, old) {
            (Some(side), Some(old)) => side.lead_call(id, call, stood, old, self.at, counters_old),
            _ => Ok(()),
        }
    }

    /// Counts a decision, and notes where it is another.
    fn compare(
        &mut self,
        operation: &str,
        function: Option<&str>,
        was: Option<&Was>,
        old: Option<&Came>,
        came: &Came,
    ) {
        let is = match came {
            Came::To(decision) => decision,
            Came::Unanswered => return self.tally.leave(NotJudged::NoResult),
            Came::Nothing => return,
        };
        let (verdict, by, other_value) = match (old, was) {
            (Some(Came::To(old)), _) => {
                let other_value = old.verdict.kind() == VerdictKind::Allow
                    && is.verdict.kind() == VerdictKind::Allow
                    && old.verdict.value() != is.verdict.value();
                (old.verdict.kind(), None, other_value)
            }
            (Some(Came::Unanswered), _) => return self.tally.leave(NotJudged::NoResult),
            (Some(Came::Nothing), _) => return,
            (None, Some(was)) => (was.verdict, was.by.clone(), false),
            (None, None) => return self.tally.leave(NotJudged::NothingToCompare),
        };
        self.tally.decisions = self.tally.decisions.saturating_add(1);
        if verdict == is.verdict.kind() && !other_value {
            return;
        }
        let by = match old {
            Some(Came::To(old)) => old.decided_by_name(),
            _ => by,
        };
        let kind = FlipKind {
            operation: operation.to_owned(),
            function: function.map(str::to_owned),
            was: verdict,
            was_by: by,
            is: is.verdict.kind(),
            is_by: is.decided_by_name(),
            other_value,
        };
        self.tally.flip(kind, &self.recorded.task, self.step);
    }
}

/// How something stood then: as was recorded, else as the policies say that it is compared with, else as the new ones say.
fn stood(was: Option<&Was>, old: Option<&Came>, came: &Came) -> Stood {
    let of = |came: &Came| match came {
        Came::To(decision) => Some(decision.verdict.kind()),
        Came::Unanswered | Came::Nothing => None,
    };
    let verdict = was.map(|was| was.verdict).or_else(|| old.and_then(of)).or_else(|| of(came));
    verdict.map_or(Stood::Through, Stood::with)
}
