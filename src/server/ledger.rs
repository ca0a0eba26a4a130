//! The decision log of a server, held against the store: no decision that the store has stays out of the log for good.
//!
//! In: lines of decisions. Each is stored with its decision, then written to the log. Out: lines in the log; one that could
//! not be written is owed, and is written, marked `late`, as soon as the log can be written again, or when the server starts
//! again. With a log that is required, nothing is decided while a line is owed.

use crate::decision_log::{DecisionLog, LogError, read_back};
use crate::store::{Database, DueLine, KeptLine, StoreError, forget, lines_from};
use serde_json::value::RawValue;
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
pub(super) struct Ledger {
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

/// Why the log is not up to date.
#[derive(Debug, thiserror::Error)]
pub(super) enum Behind {
    #[error(transparent)]
    Log(#[from] LogError),
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl Ledger {
    /// The log as it is, with every line of its gap found.
    ///
    /// # Errors
    /// A store or a log that cannot be read.
    pub(super) fn open(log: DecisionLog, database: Database) -> Result<Self, Behind> {
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
        Ok(Self { log, database, next: AtomicU64::new(next), lines: Mutex::new(lines) })
    }

    /// The log itself.
    pub(super) fn log(&self) -> &DecisionLog {
        &self.log
    }

    /// A line that is to be stored with its decision.
    pub(super) fn due(&self, line: String) -> DueLine {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        DueLine { log: self.log.id().to_owned(), number, line }
    }

    /// Writes the line of a decision that the store has.
    pub(super) fn write(&self, number: u64, entry: &impl serde::Serialize) -> Result<(), LogError> {
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
    pub(super) fn doubtful(&self, number: u64) {
        self.lines().owed.insert(number);
    }

    /// How many lines are owed.
    pub(super) fn owed(&self) -> usize {
        self.lines().owed.len()
    }

    /// Writes what is owed, marked late; how many lines that were.
    ///
    /// # Errors
    /// What still stands in the way; what is owed stays so.
    pub(super) fn settle(&self) -> Result<usize, Behind> {
        let mut lines = self.lines();
        let mut settled = 0_usize;
        while let Some(first) = lines.owed.first().copied() {
            let page = lines_from(&self.database, self.log.id(), first, PAGE)?;
            let end = match page.last() {
                Some(last) if page.len() >= PAGE => last.number,
                _ => u64::MAX,
            };
            for line in page.iter().filter(|line| lines.owed.contains(&line.number)).collect::<Vec<_>>() {
                self.log.record(&late(line)?)?;
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

/// A line as it is written late: with the digest of its event, and the mark.
fn late(line: &KeptLine) -> Result<Box<RawValue>, LogError> {
    let members = line.line.trim_end().strip_suffix('}').unwrap_or("{\"task\":\"\"");
    let event = line.event.as_ref().map(|event| format!(",\"event\":\"{event}\"")).unwrap_or_default();
    RawValue::from_string(format!("{members}{event},\"late\":true}}")).map_err(|_| LogError::Entry)
}
