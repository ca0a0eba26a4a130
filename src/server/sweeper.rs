//! What retention takes away, again and again while the server works.
//!
//! In: the settings, the time, a sign to stop. Out: tasks that are ended or purged, rows, contexts and files that are gone, each
//! as if somebody had done it by hand, and figures of it. What a rule says is decided in `store/retention.rs`; here it is done:
//! in pages, each task and context in a transaction of its own, and after each with a rest as long as it took, so that requests
//! come through. Other servers may do the same at the same time: who comes second finds it done. What fails is told and tried
//! again with the next sweep; it stops nothing.

use super::messages;
use super::tasks::Tasks;
use super::telemetry::metrics::Metrics;
use super::telemetry::reasons::Reason;
use celador::cel::Timestamp;
use celador_store::conversation::Conversations;
use celador_store::decision_log::{Notice, Removal};
use celador_store::{
    Age, Ending, Fate, LogBehind, Owner, Purge, Retention, StoreError, TaskSummary, sweep_answers,
    sweep_counters, sweep_tombstones,
};
use std::sync::{Mutex, PoisonError, TryLockError};
use std::time::{Duration, Instant};
use tracing::{info, warn};

/// Whose word it is.
const WHO: &str = "retention";

/// The longest rest after one piece of work.
const REST: Duration = Duration::from_millis(100);

/// The rules of one server.
pub(super) struct Sweeper {
    retention: Retention,
    /// Rows of one page.
    page: usize,
    /// What the last sweep could not do. Held by whoever looks; [`Sweeper::turn`] by whoever sweeps.
    failing: Mutex<Vec<&'static str>>,
    turn: Mutex<()>,
}

/// Why something was not done.
enum Failed {
    Store(StoreError),
    Log,
}

impl From<StoreError> for Failed {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

impl From<LogBehind> for Failed {
    fn from(behind: LogBehind) -> Self {
        match behind {
            LogBehind::Store(error) => Self::Store(error),
            LogBehind::Log(error) => {
                warn!(%error, "the decision log could not be swept");
                Self::Log
            }
        }
    }
}

/// What is swept, and as of when.
pub(super) struct Swept<'s> {
    pub(super) tasks: &'s Tasks,
    pub(super) conversations: &'s Conversations,
    pub(super) metrics: &'s Metrics,
    pub(super) now: Timestamp,
}

/// One sweep.
struct Sweep<'s> {
    of: &'s Swept<'s>,
    stop: &'s dyn Fn() -> bool,
    failing: Vec<&'static str>,
}

impl Sweeper {
    pub(super) fn new(retention: Retention, page: usize) -> Self {
        Self { retention, page: page.max(1), failing: Mutex::default(), turn: Mutex::default() }
    }

    /// What the last sweep could not do, for `/readyz`: it stops nothing.
    pub(super) fn reason(&self) -> Option<Reason> {
        let failing = self.failing.lock().unwrap_or_else(PoisonError::into_inner);
        (!failing.is_empty()).then(|| Reason::told("retention-failed", messages::retention_failed(&failing)))
    }

    /// Keeps every rule once, or as far as it comes until it is to stop. Counters go by their windows, whatever the rules are.
    pub(super) fn sweep(&self, of: &Swept<'_>, stop: &dyn Fn() -> bool) {
        let _turn = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
        let mut sweep = Sweep { of, stop, failing: Vec::new() };
        let counters = sweep.counters(self.page).map(|gone| {
            if gone > 0 {
                of.metrics.swept("counters", gone);
            }
        });
        sweep.note("counters", counters);
        let Retention { ended_tasks, idle_tasks, tombstones, answers, contexts, log_files, .. } =
            self.retention;
        // tombstones last: they outlive what they stand for
        if let Some(kind) = ended_tasks.map(|_| "ended-tasks").or(idle_tasks.map(|_| "idle-tasks")) {
            let done = sweep.tasks(&self.retention, self.page);
            sweep.note(kind, done);
        }
        sweep.keep("answers", answers, |sweep, age| sweep.answers(age, self.page));
        sweep.keep("contexts", contexts, |sweep, age| sweep.contexts(age, self.page));
        sweep.keep("decision-lines", self.retention.lines(), Sweep::lines);
        sweep.keep("log-files", log_files, Sweep::files);
        sweep.keep("tombstones", tombstones, |sweep, age| sweep.tombstones(age, self.page));
        *self.failing.lock().unwrap_or_else(PoisonError::into_inner) = sweep.failing;
    }
}

impl Sweep<'_> {
    /// Keeps one rule, and says how many rows went.
    fn keep(
        &mut self,
        kind: &'static str,
        age: Option<Age>,
        work: impl FnOnce(&mut Self, Age) -> Result<u64, Failed>,
    ) {
        let Some(age) = age.filter(|_| !(self.stop)()) else { return };
        let done = work(self, age);
        if let Ok(gone @ 1..) = done {
            self.of.metrics.swept(kind, gone);
            info!(kind, gone, "retention took away what was too old");
            // the files of the log have said so themselves
            if kind != "log-files" {
                let (subject, reason) = (Some(kind), messages::rule(kind, age));
                self.of.tasks.recorder().note(&Notice {
                    who: Some(WHO),
                    subject,
                    count: Some(gone),
                    reason: Some(&reason),
                    ..Notice::new(self.of.now, "sweep")
                });
            }
        }
        self.note(kind, done.map(drop));
    }

    /// Remembers what failed.
    fn note(&mut self, kind: &'static str, done: Result<(), Failed>) {
        let Err(failed) = done else { return };
        if let Failed::Store(error) = failed {
            warn!(%error, kind, "retention could not do its work");
        }
        self.of.metrics.sweep_error(kind);
        if !self.failing.contains(&kind) {
            self.failing.push(kind);
        }
    }

    /// Looks at each task once.
    fn tasks(&mut self, rules: &Retention, page: usize) -> Result<(), Failed> {
        let tasks = &self.of.tasks;
        let mut last: Option<(Owner, String)> = None;
        loop {
            let after = last.as_ref().map(|(owner, id)| (owner, &**id));
            let found = tasks.store.all(after, page)?;
            let Some((owner, task)) = found.last() else { return Ok(()) };
            last = Some((owner.clone(), task.id.clone()));
            let mut purged = 0_u64;
            for (owner, task) in &found {
                let (kind, age) = match rules.fate(task, self.of.now) {
                    Fate::Keep => continue,
                    Fate::End => ("idle-tasks", rules.idle_tasks),
                    Fate::Purge => ("ended-tasks", rules.ended_tasks),
                };
                if (self.stop)() {
                    return Ok(());
                }
                let begun = Instant::now();
                let rule = age.map(|age| messages::rule(kind, age)).unwrap_or_default();
                match tasks.sweep_task(owner, task, kind, &rule, self.of.now) {
                    Ok(true) => {
                        self.of.metrics.swept(kind, 1);
                        purged = purged.saturating_add(u64::from(kind == "ended-tasks"));
                    }
                    // somebody uses it, or was first
                    Ok(false) => {}
                    Err(Failed::Store(error)) if !error.is_temporary() => self.note(kind, Err(error.into())),
                    Err(failed) => return Err(failed),
                }
                rest(begun);
            }
            if purged > 0 {
                tasks.empty_log();
                if let Err(error) = tasks.recorder().tidy() {
                    warn!(%error, "lines of purged tasks stay in the store for now");
                }
            }
        }
    }

    fn answers(&self, age: Age, page: usize) -> Result<u64, Failed> {
        let mut last = [(); 3].map(|()| String::new());
        self.pages(|database| {
            let swept = sweep_answers(database, (age, self.of.now), &last, page)?;
            let goes_on = swept.last.is_some();
            last = swept.last.unwrap_or_default();
            Ok((swept.gone, goes_on))
        })
    }

    fn tombstones(&self, age: Age, page: usize) -> Result<u64, Failed> {
        let mut last = [(); 2].map(|()| String::new());
        self.pages(|database| {
            let swept = sweep_tombstones(database, (age, self.of.now), &last, page)?;
            let goes_on = swept.last.is_some();
            last = swept.last.unwrap_or_default();
            Ok((swept.gone, goes_on))
        })
    }

    fn counters(&self, page: usize) -> Result<u64, Failed> {
        let mut last = [(); 4].map(|()| String::new());
        self.pages(|database| {
            let swept = sweep_counters(database, self.of.now, &last, page)?;
            let goes_on = swept.last.is_some();
            last = swept.last.unwrap_or_default();
            Ok((swept.gone, goes_on))
        })
    }

    fn contexts(&self, age: Age, page: usize) -> Result<u64, Failed> {
        let mut last = String::new();
        self.pages(|_| {
            let mut begun = Instant::now();
            let goes_on = || {
                rest(begun);
                begun = Instant::now();
                !(self.stop)()
            };
            let swept = self.of.conversations.sweep((age, self.of.now), &last, page, goes_on)?;
            let goes_on = swept.last.is_some();
            last = swept.last.unwrap_or_default();
            Ok((swept.gone, goes_on))
        })
    }

    fn lines(&mut self, age: Age) -> Result<u64, Failed> {
        let Some(before) = age.before(self.of.now) else { return Ok(0) };
        Ok(self.of.tasks.recorder().forget_before(before)?)
    }

    fn files(&mut self, age: Age) -> Result<u64, Failed> {
        let Some(before) = age.before(self.of.now) else { return Ok(0) };
        let reason = messages::rule("log-files", age);
        let removal = Removal { at: self.of.now, before, who: WHO, reason: &reason };
        Ok(self.of.tasks.recorder().remove_files(&removal)?)
    }

    /// Goes through pages; how many rows went in all.
    fn pages(
        &self,
        mut page: impl FnMut(&celador_store::Database) -> Result<(u64, bool), StoreError>,
    ) -> Result<u64, Failed> {
        let mut gone = 0_u64;
        loop {
            let begun = Instant::now();
            let (went, goes_on) = page(self.of.tasks.store.database())?;
            gone = gone.saturating_add(went);
            if !goes_on || (self.stop)() {
                break;
            }
            rest(begun);
        }
        if gone > 0 {
            self.of.tasks.empty_log();
        }
        Ok(gone)
    }
}

/// Leaves the store to others for as long as it was just used.
fn rest(begun: Instant) {
    std::thread::sleep(begun.elapsed().min(REST));
}

impl Tasks {
    /// Ends or purges a task that a rule says is too old; whether it was done. A task that a request of this server uses just
    /// now stays, and so does one that has taken another step since the rule was asked.
    fn sweep_task(
        &self,
        owner: &Owner,
        task: &TaskSummary,
        kind: &'static str,
        rule: &str,
        now: Timestamp,
    ) -> Result<bool, Failed> {
        self.recorder.ready().map_err(|_| Failed::Log)?;
        // a task that nobody has in memory takes no seat there: another process could have it anyway
        let seat = self.live.peek(&(owner.clone(), task.id.clone()));
        let open = match seat.as_ref().map(|seat| seat.try_lock()) {
            Some(Err(TryLockError::WouldBlock)) => return Ok(false),
            Some(Ok(open)) => Some(open),
            // what a panic left is half a step, and the store decides
            Some(Err(TryLockError::Poisoned(open))) => Some(open.into_inner()),
            None => None,
        };
        let recorded = if kind == "idle-tasks" {
            let ending =
                Ending { at: now, who: WHO, reason: rule, with_parent: false, expected: Some(task.version) };
            self.end_seated(owner, &task.id, &ending, open)
        } else {
            let purge = Purge { at: now, who: WHO, reason: rule };
            let purged = self.purge_seated(owner, &task.id, &purge, Some(task.version), open);
            purged.map(|(_, recorded)| recorded)
        };
        match recorded {
            Ok(recorded) => {
                self.end_children(owner, &task.id, WHO);
                recorded.map(|()| true).map_err(|_| Failed::Log)
            }
            Err(
                StoreError::NotFound
                | StoreError::Purged
                | StoreError::HasEnded
                | StoreError::Conflict { .. },
            ) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }
}
