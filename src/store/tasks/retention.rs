//! How long what is kept: a setting for each kind of data, off unless somebody sets it.
//!
//! In: settings such as `ended-tasks=30d`, and later what a row says of its age, and the time. Out: what is to become of it.
//! Nothing here reads a clock or a store, so whoever tests a rule waits for nothing. Settings that would break a promise
//! together are refused.

use super::task_records::TaskSummary;
use crate::messages;
use celador::cel::{self, Timestamp};
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

const SECOND: u64 = 1_000_000_000;
const MINUTE: u64 = 60 * SECOND;
const HOUR: u64 = 60 * MINUTE;
const DAY: u64 = 24 * HOUR;

/// How old something may become, in whole nanoseconds: at least a minute, so that a slip of the pen empties no store while
/// people work in it.
///
/// ```
/// use celador_store::Age;
///
/// let age: Age = "1d12h".parse()?;
/// assert_eq!(age, "36h".parse()?);
/// assert!("30".parse::<Age>().is_err());
/// # Ok::<(), celador_store::RetentionError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Age(u64);

impl Age {
    /// Whether more than this has gone by since a time in RFC 3339. False for a text that is not a time.
    #[must_use]
    pub fn is_over(self, since: &str, now: Timestamp) -> bool {
        let since: Option<Timestamp> = since.parse().ok();
        since.is_some_and(|since| now.nanos().saturating_sub(since.nanos()) > i128::from(self.0))
    }
}

impl Age {
    /// The time before which events are over this age; `None` if the calendar does not reach back so far.
    #[must_use]
    pub fn before(self, now: Timestamp) -> Option<Timestamp> {
        Timestamp::from_nanos(now.nanos().saturating_sub(i128::from(self.0))).ok()
    }

    /// The same length of time.
    #[must_use]
    pub fn duration(self) -> Duration {
        Duration::from_nanos(self.0)
    }
}

impl FromStr for Age {
    type Err = RetentionError;

    /// Days and what manifests take for a duration, such as `30d`, `12h` or `1d12h`.
    fn from_str(text: &str) -> Result<Self, RetentionError> {
        let refused = || RetentionError::NoAge(text.to_owned());
        let (days, rest) = match text.split_once('d') {
            Some((days, rest)) if days.bytes().all(|byte| byte.is_ascii_digit()) => {
                (days.parse::<u64>().map_err(|_| refused())?, rest)
            }
            _ => (0, text),
        };
        let rest = match rest {
            "" if days > 0 => 0,
            rest if rest.starts_with(['+', '-']) => return Err(refused()),
            rest => {
                let length = cel::Duration::parse(rest).map_err(|_| refused())?;
                u64::try_from(length.nanos()).map_err(|_| refused())?
            }
        };
        let nanos = days.checked_mul(DAY).and_then(|days| days.checked_add(rest)).ok_or_else(refused)?;
        if nanos < MINUTE { Err(RetentionError::TooShort(text.to_owned())) } else { Ok(Self(nanos)) }
    }
}

impl fmt::Display for Age {
    /// As it is written, the largest units first.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut rest = self.0;
        for (unit, size) in [("d", DAY), ("h", HOUR), ("m", MINUTE), ("s", SECOND), ("ns", 1)] {
            let count = rest.checked_div(size).unwrap_or_default();
            rest = rest.checked_rem(size).unwrap_or_default();
            if count > 0 {
                write!(f, "{count}{unit}")?;
            }
        }
        Ok(())
    }
}

/// One kind of data as documentation shows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RetentionRow {
    /// Its name in a setting.
    pub name: &'static str,
    /// The rows that are removed, and the moment from which their age counts.
    pub what: &'static str,
}

macro_rules! kinds {
    ($($(#[doc = $doc:literal])+ $field:ident = $name:literal;)+) => {
        /// How long each kind of row is kept. Without a setting it is kept for ever.
        ///
        /// ```
        /// use celador_store::{Retention, RetentionRow};
        ///
        /// let mut retention = Retention::default();
        /// retention.set("ended-tasks=30d")?;
        /// retention.check()?;
        /// assert_eq!(retention.rules().map(|(name, _)| name).collect::<Vec<_>>(), ["ended-tasks"]);
        /// let names: Vec<_> = Retention::ROWS.iter().map(|RetentionRow { name, .. }| *name).collect();
        /// assert!(names.contains(&"tombstones"));
        /// # Ok::<(), celador_store::RetentionError>(())
        /// ```
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub struct Retention { $($(#[doc = $doc])+ pub $field: Option<Age>,)+ }

        impl Retention {
            /// All kinds of data.
            pub const ROWS: &'static [RetentionRow] =
                &[$(RetentionRow { name: $name, what: concat!($($doc),+) },)+];

            /// The field of a kind.
            fn of(&mut self, name: &str) -> Option<&mut Option<Age>> {
                match name { $($name => Some(&mut self.$field),)+ _ => None }
            }

            /// The settings that are on, by name.
            pub fn rules(&self) -> impl Iterator<Item = (&'static str, Age)> {
                [$(self.$field.map(|age| ($name, age)),)+].into_iter().flatten()
            }
        }
    };
}

kinds! {
    /// Tasks that have ended, since their last event: purged, a tombstone stays.
    ended_tasks = "ended-tasks";
    /// Tasks that have not ended and wait for no review, since their last event: ended, with the rule as the reason.
    idle_tasks = "idle-tasks";
    /// Tombstones, since the purge: nothing says then that the task was there.
    tombstones = "tombstones";
    /// Answers under idempotency keys, since they were given: a request that comes again later counts anew.
    answers = "answers";
    /// Lines of decisions that the decision log has on disk, since their decision; at most as long as `log-files`.
    decision_lines = "decision-lines";
    /// Conversation contexts with all that was said in them, since their last change.
    contexts = "contexts";
    /// Files of the decision log that are closed, since their last line.
    log_files = "log-files";
}

/// What retention does with a task.
///
/// ```
/// use celador::{Engine, EngineLimits, StartTask, Timestamp, User};
/// use celador_store::{Database, Fate, Location, Owner, Retention, StoreLimits, StoredTasks, TaskSummary};
/// # std::env::set_current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))?;
/// # let engine = Engine::open(&["examples/first-policy"], EngineLimits::default())?;
/// # let now: celador::Timestamp = "2026-06-01T12:00:00Z".parse()?;
/// # let limits = StoreLimits::default();
/// # let tasks = StoredTasks::new(Database::open(&Location::Memory, &limits)?, &limits);
///
/// let owner = Owner::caller("desk");
/// let task = engine.start(StartTask::new("t-1", "shop", "clerk", User::default(), now))?;
/// tasks.create(&owner, &task, now, None)?;
///
/// let mut retention = Retention::default();
/// retention.set("idle-tasks=7d")?;
/// let summary: TaskSummary = tasks.summary(&owner, "t-1")?;
/// assert_eq!((&*summary.state, &*summary.changed_at), ("active", "2026-06-01T12:00:00Z"));
/// let (sixth_day, eighth_day): (Timestamp, Timestamp) = ("2026-06-07T12:00:00Z".parse()?, "2026-06-09T12:00:00Z".parse()?);
/// assert_eq!(retention.fate(&summary, sixth_day), Fate::Keep);
/// assert_eq!(retention.fate(&summary, eighth_day), Fate::End);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It stays.
    Keep,
    /// It is ended: `idle-tasks`.
    End,
    /// It is purged: `ended-tasks`.
    Purge,
}

/// A setting that cannot be.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RetentionError {
    /// `tasks=30d`, `30d`: no kind of data.
    #[error("{}", messages::no_kind(.0, Retention::ROWS.iter().map(|row| row.name)))]
    NoKind(String),
    /// `soon`, `30`, `-1h`: no age.
    #[error("{}", messages::no_age(.0))]
    NoAge(String),
    /// `0s`, `30s`: less than a minute.
    #[error("{}", messages::too_short(.0))]
    TooShort(String),
    /// A kind that is set twice.
    #[error("{}", messages::set_twice(.0))]
    Twice(String),
    /// Tombstones that go before something that only makes sense with them.
    #[error("{}", messages::tombstones_before(*.0, .1, *.2))]
    TombstonesBefore(Age, &'static str, Option<Age>),
}

impl Retention {
    /// Takes a setting: `KIND=AGE`.
    ///
    /// # Errors
    /// All but [`RetentionError::TombstonesBefore`].
    pub fn set(&mut self, setting: &str) -> Result<(), RetentionError> {
        let no_kind = || RetentionError::NoKind(setting.to_owned());
        let (name, age) = setting.split_once('=').ok_or_else(no_kind)?;
        let field = self.of(name).ok_or_else(no_kind)?;
        if field.is_some() {
            return Err(RetentionError::Twice(name.to_owned()));
        }
        *field = Some(age.parse()?);
        Ok(())
    }

    /// Whether the settings go together. A tombstone has to outlive the answers to creations, which would otherwise be given
    /// again for a task that is gone, and the files of the decision log, whose lines are compared with it.
    ///
    /// # Errors
    /// [`RetentionError::TombstonesBefore`].
    pub fn check(&self) -> Result<(), RetentionError> {
        let Some(tombstones) = self.tombstones else { return Ok(()) };
        if self.answers.is_none_or(|answers| answers > tombstones) {
            return Err(RetentionError::TombstonesBefore(tombstones, "answers", self.answers));
        }
        match self.log_files.filter(|files| *files > tombstones) {
            Some(files) => Err(RetentionError::TombstonesBefore(tombstones, "log-files", Some(files))),
            None => Ok(()),
        }
    }

    /// How long lines of decisions stay in the store: not longer than the files of the log, or they would be taken for lines
    /// that the log lacks.
    #[must_use]
    pub fn lines(&self) -> Option<Age> {
        self.decision_lines.into_iter().chain(self.log_files).min()
    }

    /// What retention does with a task now. The caller makes sure that nobody has used the task since: it is changed only at the version
    /// of this summary.
    #[must_use]
    pub fn fate(&self, task: &TaskSummary, now: Timestamp) -> Fate {
        let is_over = |age: Option<Age>| age.is_some_and(|age| age.is_over(&task.changed_at, now));
        match &*task.state {
            "locked" | "terminated" if is_over(self.ended_tasks) => Fate::Purge,
            // one that waits for a reviewer is not idle, however long they take
            "active" if is_over(self.idle_tasks) => Fate::End,
            _ => Fate::Keep,
        }
    }
}
