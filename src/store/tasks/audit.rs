//! Decision logs held against a store: is each decision in a log, and is there a decision for each line?
//!
//! In: a database, and the folders of all logs that were written beside it. Out: each difference by name, one at a time. Logs
//! are read first and the store is read in pages, so a server may go on deciding meanwhile: what the logs lack is looked for
//! once more at their ends. Neither logs nor store are held in memory: a line takes 48 bytes there.

use crate::decision_log::{Recorded, VerifyError, read};
use crate::{Database, Row, StoreError};
use celador::digest::Digest;
use std::path::PathBuf;

/// The result of comparing logs with a store.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Compared {
    /// Lines that name a decision of the store.
    pub lines: u64,
    /// Decisions of the store.
    pub decisions: u64,
    /// Lines that were written when a gap was closed.
    pub late: u64,
    /// Lines about something that a store does not have: rejections, notices.
    pub apart: u64,
}

/// Where logs and store differ.
///
/// ```
/// use celador::{Engine, EngineLimits, StartTask, User};
/// use celador_store::decision_log::{DecisionLog, LogSettings, VerifyError};
/// use celador_store::{
///     CompareError, Database, Difference, Ending, Location, Owner, StoreLimits, StoredTasks, compare,
/// };
/// # std::env::set_current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))?;
/// # let engine = Engine::open(&["examples/first-policy"], EngineLimits::default())?;
/// # let now: celador::Timestamp = "2026-06-01T12:00:00Z".parse()?;
/// # let limits = StoreLimits::default();
/// # let tasks = StoredTasks::new(Database::open(&Location::Memory, &limits)?, &limits);
/// # let folder = std::env::temp_dir().join(format!("celador-compare-{}", std::process::id()));
///
/// let owner = Owner::caller("desk");
/// let task = engine.start(StartTask::new("t-1", "shop", "clerk", User::default(), now))?;
/// tasks.create(&owner, &task, now, None)?;
/// let ending = Ending { at: now, who: "kim", reason: "The order was cancelled.", with_parent: false, expected: None };
/// tasks.end(&owner, "t-1", &ending, None, |_| None)?;
///
/// // nobody wrote a line about the end
/// let log = DecisionLog::open(LogSettings::new(&folder), now)?;
/// let mut missing = Vec::new();
/// let compared = compare(tasks.database(), &[folder.clone()], |difference| match difference {
///     Difference::Missing { task, version, operation, .. } => missing.push((task, version, operation)),
///     Difference::WithoutDecision { line, .. } | Difference::Different { line, .. } => panic!("{line:?}"),
/// })?;
/// assert_eq!(missing, [("t-1".to_owned(), 2, "end".to_owned())]);
/// assert_eq!((compared.lines, compared.decisions), (0, 1));
///
/// // a log that cannot be read is an error, and no difference
/// let elsewhere = folder.join("elsewhere");
/// match compare(tasks.database(), &[elsewhere.clone()], |_| {}) {
///     Err(CompareError::Log(VerifyError::Unreadable { path, .. })) => assert_eq!(path, elsewhere),
///     other => panic!("{other:?}"),
/// }
/// # drop(log);
/// # std::fs::remove_dir_all(folder)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Difference {
    /// A decision that no log has.
    Missing {
        /// The owner of the task.
        owner: String,
        /// The task.
        task: String,
        /// The number of the event.
        version: u64,
        /// When it was made.
        at: String,
        /// The operation.
        operation: String,
    },
    /// A line whose decision the store does not have.
    WithoutDecision {
        /// The folder of the log.
        folder: PathBuf,
        /// The line.
        line: Box<Recorded>,
    },
    /// A line whose decision is another one in the store: the digests of the event differ.
    Different {
        /// The folder of the log.
        folder: PathBuf,
        /// The line.
        line: Box<Recorded>,
    },
}

/// Why they cannot be compared.
#[derive(Debug, thiserror::Error)]
pub enum CompareError {
    /// A log that is not as it was written, or cannot be read.
    #[error(transparent)]
    Log(#[from] VerifyError),
    /// A store that cannot be read.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// What is kept of a line.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Known {
    key: [u8; 16],
    /// The beginning of the event's digest; zero if the line does not name it.
    event: u64,
    log: u16,
    number: u64,
    state: State,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum State {
    New,
    Found,
    Differs,
}

const PAGE: u64 = 1_000;

/// Compares, and hands each difference on.
///
/// # Errors
/// [`CompareError`].
///
/// # Cost
/// Linear in logs and store, but for a logarithm.
pub fn compare(
    database: &Database,
    folders: &[PathBuf],
    mut each: impl FnMut(Difference),
) -> Result<Compared, CompareError> {
    let mut compared = Compared::default();
    let (mut known, mut ends) = (Vec::new(), Vec::new());
    for (log, folder) in (0_u16..).zip(folders) {
        let end = read(folder, true, |line, _| {
            compared.late = compared.late.saturating_add(u64::from(line.late));
            match key_of(&line) {
                Some(key) => {
                    let event = line.event.as_deref().map_or(0, beginning);
                    known.push(Known { key, event, log, number: line.number, state: State::New });
                }
                None => compared.apart = compared.apart.saturating_add(1),
            }
        })?;
        ends.push(end.last.map_or(0, |(number, _)| number));
    }
    known.sort_unstable();
    compared.lines = known.len() as u64;

    let mut candidates = Vec::new();
    decisions(database, |row| {
        compared.decisions = compared.decisions.saturating_add(1);
        let decision = Decision::read(row)?;
        if !decision.settle(&mut known) {
            candidates.push(decision);
        }
        Ok(())
    })?;
    // written while the store was read
    let mut since = Vec::new();
    if !candidates.is_empty() {
        for (folder, end) in folders.iter().zip(&ends) {
            read(folder, true, |line, _| {
                let new = key_of(&line).filter(|_| line.number > *end);
                since.extend(new.map(|key| Known { key, event: 0, log: 0, number: 0, state: State::New }));
            })?;
        }
        since.sort_unstable();
    }
    for decision in candidates {
        if !decision.settle(&mut since) {
            let Decision { owner, task, version, at, operation, .. } = decision;
            each(Difference::Missing { owner, task, version, at, operation });
        }
    }
    let mut wrong: Vec<Known> = known.into_iter().filter(|known| known.state != State::Found).collect();
    wrong.sort_unstable_by_key(|known| (known.log, known.number));
    let mut failed = None;
    for (log, folder) in (0_u16..).zip(folders) {
        if !wrong.iter().any(|known| known.log == log) {
            continue;
        }
        read(folder, true, |line, _| {
            let at = wrong.binary_search_by_key(&(log, line.number), |known| (known.log, known.number));
            let Some(known) = at.ok().and_then(|at| wrong.get(at)) else { return };
            let (folder, line) = (folder.clone(), Box::new(line));
            match known.state {
                State::Differs => each(Difference::Different { folder, line }),
                State::New | State::Found => match is_purged(database, &line) {
                    Ok(true) => {}
                    Ok(false) => each(Difference::WithoutDecision { folder, line }),
                    Err(error) => failed = Some(error),
                },
            }
        })?;
        if let Some(error) = failed.take() {
            return Err(error.into());
        }
    }
    Ok(compared)
}

/// A decision of the store.
struct Decision {
    owner: String,
    task: String,
    version: u64,
    at: String,
    operation: String,
    event: u64,
}

impl Decision {
    fn read(row: &Row) -> Result<Self, StoreError> {
        Ok(Self {
            owner: row.text(0)?.to_owned(),
            task: row.text(1)?.to_owned(),
            version: row.count(2)?,
            at: row.text(3)?.to_owned(),
            operation: row.text(4)?.to_owned(),
            event: beginning(row.text(5)?),
        })
    }

    /// Marks its lines; whether there is one.
    fn settle(&self, known: &mut [Known]) -> bool {
        let Self { owner, task, version, at, operation, event } = self;
        let keys = [numbered(owner, task, *version), timed(owner, task, at, operation)];
        let mut found = false;
        for key in keys {
            let from = known.partition_point(|known| known.key < key);
            for known in known.iter_mut().skip(from).take_while(|known| known.key == key) {
                let differs = known.event != 0 && known.event != *event;
                known.state = if differs { State::Differs } else { State::Found };
                found |= !differs;
            }
        }
        found
    }
}

/// Whether the task of a line was purged: then its line stays, and its decision does not.
fn is_purged(database: &Database, line: &Recorded) -> Result<bool, StoreError> {
    let owner = line.owner.as_ref().or(line.who.as_ref()).map_or("", |owner| owner);
    let statement = "SELECT 1 FROM task_tombstone WHERE owner = $1 AND id = $2";
    Ok(!database.read(|sql| sql.query(statement, &[owner.into(), (&line.task).into()]))?.is_empty())
}

/// What the decision of a line is found by: its number, or, in lines of before, its time. None of a line that has none.
fn key_of(line: &Recorded) -> Option<[u8; 16]> {
    let verdict = line.verdict.as_deref()?;
    match (&line.owner, line.version) {
        (Some(owner), Some(version)) => Some(numbered(owner, &line.task, version)),
        _ if verdict == "rejected" || line.task.is_empty() => None,
        _ => Some(timed(line.who.as_deref().unwrap_or_default(), &line.task, &line.at, &line.operation)),
    }
}

fn numbered(owner: &str, task: &str, version: u64) -> [u8; 16] {
    short(&["number", owner, task, &version.to_string()])
}

fn timed(owner: &str, task: &str, at: &str, operation: &str) -> [u8; 16] {
    short(&["time", owner, task, at, operation])
}

fn short(parts: &[&str]) -> [u8; 16] {
    Digest::of_parts(parts).as_bytes().first_chunk().copied().unwrap_or_default()
}

/// The first 60 bits of a digest in hexadecimal digits; never zero.
fn beginning(digest: &str) -> u64 {
    let digits = digest.get(..15).unwrap_or_default();
    u64::from_str_radix(digits, 16).unwrap_or_default().max(1)
}

/// All decisions of a store, a page at a time.
fn decisions(
    database: &Database,
    mut each: impl FnMut(&Row) -> Result<(), StoreError>,
) -> Result<(), StoreError> {
    let statement = "SELECT owner, task, version, at, kind, chain FROM task_event \
         WHERE decision IS NOT NULL AND (owner, task, version) > ($1, $2, $3) ORDER BY owner, task, version LIMIT $4";
    let mut last = (String::new(), String::new(), 0_u64);
    loop {
        let values = [(&last.0).into(), (&last.1).into(), last.2.into(), PAGE.into()];
        let rows = database.read(|sql| sql.query(statement, &values))?;
        let Some(end) = rows.last() else { return Ok(()) };
        last = (end.text(0)?.to_owned(), end.text(1)?.to_owned(), end.count(2)?);
        rows.iter().try_for_each(&mut each)?;
    }
}
