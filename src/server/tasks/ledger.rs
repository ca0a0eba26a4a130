//! The decision log of a server, held against the store: no decision that the store has stays out of the log for good.
//!
//! In: lines of decisions, purges and turns of switches. Each is stored with what it is about, then written to the log. Out:
//! lines in the log; one that could not be written is owed, and is written, marked `late`, as soon as the log can be written
//! again, or when the server starts again. With a log that is required, nothing is decided while a line is owed. Lines that
//! any log may take are taken over here.

use celador::cel::Timestamp;
use celador_store::decision_log::{DecisionLog, LogError, read_back};
use celador_store::{
    Database, DueLine, KeptLine, LogBehind, StoreError, forget, lines_from, lines_of_purged, put_turns,
    take_over,
};
use std::collections::{BTreeSet, HashSet, VecDeque};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Lines that stay in the store although the log has them: so much of its end a log may lose and be made whole again.
const KEPT: usize = 1_024;

/// Lines that go at a time.
const FORGOTTEN: usize = 256;

/// Lines that are read at a time.
const PAGE: usize = 1_000;

/// A log and what it is owed.
pub(crate) struct Ledger {
    log: DecisionLog,
    database: Database,
    /// The number of the next line.
    next: AtomicU64,
    lines: Mutex<Lines>,
}

#[derive(Default)]
struct Lines {
    /// In the log, and still in the store.
    written: VecDeque<u64>,
    /// In the store, if their decisions were stored, and not in the log.
    owed: BTreeSet<u64>,
}

impl Ledger {
    /// The log as it is, with every line of its gap found.
    ///
    /// # Errors
    /// A store or a log that cannot be read.
    pub(crate) fn open(log: DecisionLog, database: Database) -> Result<Self, LogBehind> {
        let (mut lines, mut next) = (Lines::default(), 1);
        let mut kept: Vec<KeptLine> = Vec::new();
        loop {
            let page = lines_from(&database, log.id(), next, PAGE)?;
            let Some(last) = page.last() else { break };
            next = last.number.saturating_add(1);
            kept.extend(page);
        }
        let place = |owner: &str, task: &str, version| (owner.to_owned(), task.to_owned(), version);
        let mut missing: HashSet<(String, String, u64)> =
            kept.iter().map(|it| place(&it.owner, &it.task, it.version)).collect();
        if !missing.is_empty() {
            read_back(log.folder(), |line| {
                if let (Some(owner), Some(version), false) = (&line.owner, line.version, line.replayed) {
                    missing.remove(&place(owner, &line.task, version));
                }
                !missing.is_empty()
            })?;
        }
        for line in &kept {
            if missing.contains(&place(&line.owner, &line.task, line.version)) {
                lines.owed.insert(line.number);
            } else {
                lines.written.push_back(line.number);
            }
        }
        let ledger = Self { log, database, next: AtomicU64::new(next), lines: Mutex::new(lines) };
        ledger.take_over()?;
        Ok(ledger)
    }

    /// Takes over the lines that any log may take: they are owed then.
    pub(crate) fn take_over(&self) -> Result<(), StoreError> {
        let next = || self.next.fetch_add(1, Ordering::Relaxed);
        let taken = take_over(&self.database, self.log.id(), next)?;
        self.lines().owed.extend(taken);
        Ok(())
    }

    /// Stores the lines of turns of switches, each under the turn's number, for those of which this log was never told.
    /// Answers their numbers: the others need not be written.
    pub(crate) fn put_turns(&self, turns: &[(u64, DueLine)]) -> Result<Vec<u64>, StoreError> {
        let put = put_turns(&self.database, self.log.id(), turns);
        if put == Err(StoreError::Uncertain) {
            self.lines().owed.extend(turns.iter().map(|(_, due)| due.number));
        }
        put
    }

    /// Lets go of the lines of tasks that were purged, as far as the log has them on disk.
    pub(crate) fn forget_purged(&self) -> Result<(), LogBehind> {
        let purged = lines_of_purged(&self.database, self.log.id())?;
        self.forget_written(&mut self.lines(), purged)
    }

    /// Lets go of the lines from before a time that the log has on disk; how many.
    pub(crate) fn forget_before(&self, before: Timestamp) -> Result<u64, LogBehind> {
        let (mut next, mut old) = (0, Vec::new());
        loop {
            let page = lines_from(&self.database, self.log.id(), next, PAGE)?;
            let Some(last) = page.last() else { break };
            next = last.number.saturating_add(1);
            old.extend(page.iter().filter(|line| line.is_before(before)).map(|line| line.number));
        }
        let mut lines = self.lines();
        let held = lines.written.len();
        self.forget_written(&mut lines, old)?;
        Ok(held.saturating_sub(lines.written.len()) as u64)
    }

    /// Lets go of those of these lines that the log has, once they are on disk.
    fn forget_written(&self, lines: &mut Lines, numbers: Vec<u64>) -> Result<(), LogBehind> {
        let written: HashSet<u64> = lines.written.iter().copied().collect();
        let numbers: Vec<u64> = numbers.into_iter().filter(|number| written.contains(number)).collect();
        if numbers.is_empty() {
            return Ok(());
        }
        self.log.sync()?;
        forget(&self.database, self.log.id(), &numbers)?;
        let gone: HashSet<u64> = numbers.into_iter().collect();
        lines.written.retain(|number| !gone.contains(number));
        Ok(())
    }

    /// The log itself.
    pub(crate) fn log(&self) -> &DecisionLog {
        &self.log
    }

    /// A line that is to be stored with its decision.
    pub(crate) fn due(&self, line: String) -> DueLine {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        DueLine { log: self.log.id().to_owned(), number, line }
    }

    /// Writes the line of a decision that the store has.
    pub(crate) fn write(&self, number: u64, entry: &impl serde::Serialize) -> Result<(), LogError> {
        let written = self.log.record(entry);
        let mut lines = self.lines();
        match written {
            Ok(_) => {
                lines.written.push_back(number);
                self.forget_old(&mut lines);
                Ok(())
            }
            Err(error) => {
                lines.owed.insert(number);
                Err(error)
            }
        }
    }

    /// A line whose decision may be in the store or not.
    pub(crate) fn doubtful(&self, number: u64) {
        self.lines().owed.insert(number);
    }

    /// How many lines are owed.
    pub(crate) fn owed(&self) -> usize {
        self.lines().owed.len()
    }

    /// Writes what is owed, marked late; how many lines that were.
    ///
    /// # Errors
    /// What still stands in the way; what is owed stays so.
    pub(crate) fn settle(&self) -> Result<usize, LogBehind> {
        let mut lines = self.lines();
        let mut settled = 0_usize;
        while let Some(first) = lines.owed.first().copied() {
            let page = lines_from(&self.database, self.log.id(), first, PAGE)?;
            let end = match page.last() {
                Some(last) if page.len() >= PAGE => last.number,
                _ => u64::MAX,
            };
            for line in page.iter().filter(|line| lines.owed.contains(&line.number)).collect::<Vec<_>>() {
                self.log.record(&line.late()?)?;
                lines.owed.remove(&line.number);
                lines.written.push_back(line.number);
                settled = settled.saturating_add(1);
            }
            // the decisions of the others were never stored
            lines.owed.retain(|number| *number > end);
        }
        if settled > 0 {
            self.log.sync()?;
        }
        Ok(settled)
    }

    /// Lets the oldest lines go. They stay if that fails: a line too many is in nobody's way.
    fn forget_old(&self, lines: &mut Lines) {
        if lines.written.len() < KEPT.saturating_add(FORGOTTEN) || self.log.sync().is_err() {
            return;
        }
        let old: Vec<u64> = lines.written.iter().take(FORGOTTEN).copied().collect();
        if forget(&self.database, self.log.id(), &old).is_ok() {
            lines.written.drain(..FORGOTTEN);
        }
    }

    fn lines(&self) -> MutexGuard<'_, Lines> {
        // numbers are whole at every moment
        self.lines.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
