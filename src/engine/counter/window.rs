//! The times that a counter looks at: a stretch that slides along, a period of the calendar, or all time.
//!
//! In: the present time. Out: from when on amounts count, and from when on they are kept. Times are whole milliseconds since
//! 1970. Amounts are kept for one window longer than they count, so that a clock that was ahead by less than a window, or
//! a server whose clock is, forgets nothing for the others.

use crate::cel::{Duration, Timestamp};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;
use std::str::FromStr;

const SECOND: i64 = 1_000;
const MINUTE: i64 = 60 * SECOND;
const HOUR: i64 = 60 * MINUTE;
const DAY: i64 = 24 * HOUR;

/// The longest stretch: ten years.
const LONGEST: i64 = 3_653 * DAY;

/// How many parts of a stretch a busy counter tells apart.
const PARTS: i64 = 60;

/// The times whose amounts count.
///
/// ```
/// use celador::counter::{CalendarUnit, CounterWindow, WindowError};
///
/// assert_eq!("24h".parse(), Ok(CounterWindow::sliding(std::time::Duration::from_secs(86_400))?));
/// assert_eq!("day".parse(), Ok(CounterWindow::Calendar(CalendarUnit::Day)));
/// assert_eq!("ever".parse(), Ok(CounterWindow::Ever));
/// assert_eq!("1 day".parse::<CounterWindow>(), Err(WindowError::NotAWindow));
/// assert_eq!("100ms".parse::<CounterWindow>(), Err(WindowError::OutOfRange));
/// assert_eq!("1h30m".parse::<CounterWindow>()?.to_string(), "5400s");
/// # Ok::<(), WindowError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum CounterWindow {
    /// The time up to now of this many milliseconds: written as a duration, `24h`.
    Sliding(SlidingLength),
    /// The present period of the calendar, in UTC: written as its unit, `day`.
    Calendar(CalendarUnit),
    /// All time: `ever`.
    Ever,
}

/// The length of a sliding window: from a second to ten years, in whole milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SlidingLength(i64);

/// A period of the calendar, in UTC.
///
/// ```
/// use celador::counter::CalendarUnit;
///
/// assert_eq!(CalendarUnit::parse("week"), Some(CalendarUnit::Week));
/// assert_eq!(CalendarUnit::Month.as_str(), "month");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CalendarUnit {
    /// From full minute to full minute.
    Minute,
    /// From full hour to full hour.
    Hour,
    /// From midnight to midnight.
    Day,
    /// From Monday to Sunday.
    Week,
    /// From the first to the last day of a month.
    Month,
    /// From January to December.
    Year,
}

/// Why a text is no window.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WindowError {
    /// Neither a duration nor a unit.
    #[error(
        "expected a duration such as `24h`, `ever`, or one of `minute`, `hour`, `day`, `week`, `month` and `year`"
    )]
    NotAWindow,
    /// Shorter than a second, longer than ten years, or not of whole milliseconds.
    #[error("a window is a second at least and ten years at most, in whole milliseconds")]
    OutOfRange,
}

impl CalendarUnit {
    const ALL: [Self; 6] = [Self::Minute, Self::Hour, Self::Day, Self::Week, Self::Month, Self::Year];

    /// The word for it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Minute => "minute",
            Self::Hour => "hour",
            Self::Day => "day",
            Self::Week => "week",
            Self::Month => "month",
            Self::Year => "year",
        }
    }

    /// The unit of a word.
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|unit| unit.as_str() == word)
    }

    /// When the period began that a time is in.
    fn begins(self, at: i64) -> i64 {
        let start_of = |length: i64| at.saturating_sub(at.rem_euclid(length));
        match self {
            Self::Minute => start_of(MINUTE),
            Self::Hour => start_of(HOUR),
            Self::Day => start_of(DAY),
            Self::Week => {
                let midnight = start_of(DAY);
                // the first day of 1970 was a Thursday
                let since_monday = midnight.div_euclid(DAY).saturating_add(3).rem_euclid(7);
                midnight.saturating_sub(since_monday.saturating_mul(DAY))
            }
            Self::Month => in_calendar(at, "0000-00-".len(), "01T00:00:00Z"),
            Self::Year => in_calendar(at, "0000-".len(), "01-01T00:00:00Z"),
        }
    }

    /// More than this unit is long, and less than two of it are.
    fn about(self) -> i64 {
        match self {
            Self::Minute => MINUTE,
            Self::Hour => HOUR,
            Self::Day => DAY,
            Self::Week => DAY.saturating_mul(7),
            Self::Month => DAY.saturating_mul(31),
            Self::Year => DAY.saturating_mul(366),
        }
    }
}

/// The time whose text begins as that of another and ends like this; the beginning of the calendar if there is none.
fn in_calendar(at: i64, same: usize, rest: &str) -> i64 {
    let text = Timestamp::from_nanos(i128::from(at).saturating_mul(1_000_000)).map(|at| at.to_string());
    let text = text.ok().and_then(|text| Some(format!("{}{rest}", text.get(..same)?)));
    let begins = text.and_then(|text| text.parse::<Timestamp>().ok());
    begins.map_or(i64::MIN, |begins| begins.seconds().saturating_mul(SECOND))
}

/// Milliseconds since 1970, rounded down.
pub(super) fn millis(at: Timestamp) -> i64 {
    // the years 1 to 9999 fit
    i64::try_from(at.nanos().div_euclid(1_000_000)).unwrap_or(i64::MAX)
}

/// Milliseconds since 1970, rounded up.
pub(super) fn millis_up(at: Timestamp) -> i64 {
    let whole = millis(at);
    whole.saturating_add(i64::from(at.nanos().rem_euclid(1_000_000) > 0))
}

impl CounterWindow {
    /// The window that slides along and is this long.
    ///
    /// # Errors
    /// [`WindowError::OutOfRange`].
    pub fn sliding(length: std::time::Duration) -> Result<Self, WindowError> {
        let millis = i64::try_from(length.as_millis()).map_err(|_| WindowError::OutOfRange)?;
        let is_whole = length.subsec_nanos().is_multiple_of(1_000_000);
        if !is_whole || !(SECOND..=LONGEST).contains(&millis) {
            return Err(WindowError::OutOfRange);
        }
        Ok(Self::Sliding(SlidingLength(millis)))
    }

    /// The first moment whose amounts count now. Amounts of the future count too: somebody's clock was ahead.
    pub(super) fn counts_from(self, now: i64) -> i64 {
        match self {
            // what is exactly as old as the window has left it
            Self::Sliding(SlidingLength(length)) => now.saturating_sub(length).saturating_add(1),
            Self::Calendar(unit) => unit.begins(now),
            Self::Ever => i64::MIN,
        }
    }

    /// The first moment whose amounts are kept: one window before those that count.
    pub(super) fn kept_from(self, now: i64) -> i64 {
        self.counts_from(self.counts_from(now).saturating_sub(1))
    }

    /// When an amount that was spent at a time is kept no longer; nothing if that is never.
    pub(super) fn kept_until(self, at: i64) -> Option<i64> {
        match self {
            Self::Sliding(SlidingLength(length)) => Some(at.saturating_add(length.saturating_mul(2))),
            Self::Calendar(unit) => {
                // one unit behind the end of the period, or a little more
                let more = unit.about().saturating_mul(2);
                Some(unit.begins(at).saturating_add(more).saturating_add(DAY))
            }
            Self::Ever => None,
        }
    }

    /// The part of the window that a time is in. Amounts of one part may be kept as one.
    pub(super) fn part(self, at: i64) -> i64 {
        match self {
            Self::Sliding(SlidingLength(length)) => at.div_euclid(length.saturating_add(PARTS - 1) / PARTS),
            Self::Calendar(unit) => unit.begins(at),
            Self::Ever => 0,
        }
    }

    /// Whether amounts of one part count and leave together anyway.
    pub(super) fn has_whole_parts(self) -> bool {
        !matches!(self, Self::Sliding(_))
    }
}

impl FromStr for CounterWindow {
    type Err = WindowError;

    /// A duration such as `24h`, a unit of the calendar such as `day`, or `ever`.
    fn from_str(text: &str) -> Result<Self, WindowError> {
        if text == "ever" {
            return Ok(Self::Ever);
        }
        if let Some(unit) = CalendarUnit::parse(text) {
            return Ok(Self::Calendar(unit));
        }
        let length = Duration::parse(text).map_err(|_| WindowError::NotAWindow)?;
        let nanos = u64::try_from(length.nanos()).map_err(|_| WindowError::OutOfRange)?;
        Self::sliding(std::time::Duration::from_nanos(nanos))
    }
}

impl fmt::Display for CounterWindow {
    /// As it is read: a sliding one in seconds.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Sliding(SlidingLength(millis)) => {
                let nanos = i128::from(*millis).saturating_mul(1_000_000);
                Duration::from_nanos(nanos).map_err(|_| fmt::Error)?.fmt(f)
            }
            Self::Calendar(unit) => f.write_str(unit.as_str()),
            Self::Ever => f.write_str("ever"),
        }
    }
}

impl Serialize for CounterWindow {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for CounterWindow {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(D::Error::custom)
    }
}
