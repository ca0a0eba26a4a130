//! Points in time and lengths of time: whole nanoseconds inside, calendars only here.
//!
//! Only here, in `zone` and where values of the crate `cel` come in is `chrono` known, so that the crate can be exchanged. Ranges are CEL's: years 1 to 9999, and durations of at most 10,000 years. Nothing here reads a clock; the clock's
//! own [`SystemTime`] comes in and goes out at the edges.

use super::duration_text::{self, DurationError};
use super::zone;
use crate::fault::{ErrorCode, Fault};
use chrono::{DateTime, Datelike, FixedOffset, TimeZone, Timelike, Utc};
use std::cmp::Ordering;
use std::fmt;
use std::str::FromStr;
use std::time::{SystemTime, UNIX_EPOCH};

const NANOS: i128 = 1_000_000_000;
const NANOS_OF_SECOND: u32 = 1_000_000_000;
const MIN_SECONDS: i64 = -62_135_596_800;
const MAX_SECONDS: i64 = 253_402_300_799;
const MAX_DURATION_SECONDS: i128 = 315_576_000_000;

/// A point in time, to the nanosecond, between the years 1 and 9999.
///
/// ```
/// use celador_cel::{Duration, Timestamp};
///
/// let noon: Timestamp = "2026-06-01T12:00:00Z".parse().expect("RFC 3339");
/// let later = noon.plus(Duration::parse("1h30m").expect("a duration")).expect("within the calendar");
/// assert_eq!(later.to_string(), "2026-06-01T13:30:00Z");
/// assert_eq!(Timestamp::from(std::time::SystemTime::UNIX_EPOCH).seconds(), 0);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp {
    seconds: i64,
    nanos: u32,
}

/// A length of time, to the nanosecond, either way.
///
/// ```
/// use celador_cel::Duration;
///
/// let whole = Duration::parse("1h30m")?;
/// assert_eq!(whole.nanos(), 90 * 60 * 1_000_000_000);
/// assert_eq!(whole.to_string(), "5400s");
/// # Ok::<(), celador_cel::DurationError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Duration {
    seconds: i64,
    nanos: i32,
}

/// A field of the calendar that a getter of a timestamp reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CalendarField {
    /// `getFullYear()`
    FullYear,
    /// `getMonth()`, January is 0
    Month,
    /// `getDate()`, from 1
    Date,
    /// `getDayOfMonth()`, from 0
    DayOfMonth,
    /// `getDayOfWeek()`, Sunday is 0
    DayOfWeek,
    /// `getDayOfYear()`, from 0
    DayOfYear,
    /// `getHours()`
    Hours,
    /// `getMinutes()`
    Minutes,
    /// `getSeconds()`
    Seconds,
    /// `getMilliseconds()` of the second
    Milliseconds,
    /// `weekday()`, Monday is 1 and Sunday 7 (ISO 8601)
    Weekday,
}

impl Timestamp {
    /// The time this many seconds after 1970.
    ///
    /// # Errors
    /// `overflow` outside the years 1 to 9999.
    pub fn from_unix(seconds: i64) -> Result<Self, Fault> {
        Self::from_nanos(i128::from(seconds).saturating_mul(NANOS))
    }

    /// The time this many nanoseconds after 1970.
    ///
    /// # Errors
    /// `overflow` outside the years 1 to 9999.
    pub fn from_nanos(nanos: i128) -> Result<Self, Fault> {
        let seconds = i64::try_from(nanos.div_euclid(NANOS)).map_err(|_| ErrorCode::Overflow)?;
        let nanos = u32::try_from(nanos.rem_euclid(NANOS)).map_err(|_| ErrorCode::Overflow)?;
        if !(MIN_SECONDS..=MAX_SECONDS).contains(&seconds) {
            return Err(ErrorCode::Overflow.into());
        }
        Ok(Self { seconds, nanos })
    }

    /// Nanoseconds since 1970.
    #[must_use]
    pub fn nanos(self) -> i128 {
        i128::from(self.seconds).saturating_mul(NANOS).saturating_add(i128::from(self.nanos))
    }

    /// Whole seconds since 1970, rounded down.
    #[must_use]
    pub fn seconds(self) -> i64 {
        self.seconds
    }

    /// The time this much later.
    ///
    /// # Errors
    /// `overflow` outside the years 1 to 9999.
    pub fn plus(self, duration: Duration) -> Result<Self, Fault> {
        Self::from_nanos(self.nanos().saturating_add(duration.nanos()))
    }

    /// The time this much earlier.
    ///
    /// # Errors
    /// `overflow` outside the years 1 to 9999.
    pub fn minus(self, duration: Duration) -> Result<Self, Fault> {
        Self::from_nanos(self.nanos().saturating_sub(duration.nanos()))
    }

    /// The time from `earlier` to this.
    ///
    /// # Errors
    /// `overflow` where the nanoseconds do not fit in 64 bits (about 292 years), as the conformance suite has it.
    pub fn since(self, earlier: Self) -> Result<Duration, Fault> {
        let nanos = self.nanos().saturating_sub(earlier.nanos());
        let nanos = i64::try_from(nanos).map_err(|_| ErrorCode::Overflow)?;
        Duration::from_nanos(i128::from(nanos))
    }

    /// A calendar field in UTC or in a zone: an IANA name or an offset such as `-08:00`.
    ///
    /// # Errors
    /// `invalid_argument` for a zone that is neither.
    pub(crate) fn field(self, field: CalendarField, zone: Option<&str>) -> Result<i64, Fault> {
        match zone {
            None => Ok(read(&self.calendar()?, field)),
            Some(zone) => Ok(read(&self.calendar_in(zone)?, field)),
        }
    }

    /// The date in a zone, as RFC 3339 writes it: `2026-05-20`.
    ///
    /// # Errors
    /// As [`Timestamp::field`]; `overflow` for a date of the year 0 or 10000.
    pub(crate) fn date_in(self, zone: &str) -> Result<String, Fault> {
        let time = self.calendar_in(zone)?;
        match time.year() {
            year @ 1..=9999 => Ok(format!("{year:04}-{:02}-{:02}", time.month(), time.day())),
            _ => Err(ErrorCode::Overflow.into()),
        }
    }

    /// The time that the clocks of a zone show, as the length of time since 0 o'clock. It is not the time that has passed since then
    /// on a day on which the clocks are changed.
    ///
    /// # Errors
    /// As [`Timestamp::field`].
    pub(crate) fn time_of_day_in(self, zone: &str) -> Result<Duration, Fault> {
        let time = self.calendar_in(zone)?;
        let seconds = i128::from(time.num_seconds_from_midnight()).saturating_mul(NANOS);
        Duration::from_nanos(seconds.saturating_add(i128::from(time.nanosecond())))
    }

    fn calendar_in(self, zone: &str) -> Result<DateTime<FixedOffset>, Fault> {
        let offset = zone::offset_at(zone, self.seconds).ok_or(Fault::refused(zone::ZONES))?;
        Ok(offset.from_utc_datetime(&self.calendar()?.naive_utc()))
    }

    fn calendar(self) -> Result<DateTime<Utc>, Fault> {
        DateTime::from_timestamp(self.seconds, self.nanos).ok_or_else(|| ErrorCode::Overflow.into())
    }
}

fn read<Z: TimeZone>(time: &DateTime<Z>, field: CalendarField) -> i64 {
    match field {
        CalendarField::FullYear => i64::from(time.year()),
        CalendarField::Month => i64::from(time.month0()),
        CalendarField::Date => i64::from(time.day()),
        CalendarField::DayOfMonth => i64::from(time.day0()),
        CalendarField::DayOfWeek => i64::from(time.weekday().num_days_from_sunday()),
        CalendarField::DayOfYear => i64::from(time.ordinal0()),
        CalendarField::Hours => i64::from(time.hour()),
        CalendarField::Minutes => i64::from(time.minute()),
        CalendarField::Seconds => i64::from(time.second()),
        CalendarField::Milliseconds => i64::from(time.nanosecond() / 1_000_000),
        CalendarField::Weekday => i64::from(time.weekday().number_from_monday()),
    }
}

impl From<SystemTime> for Timestamp {
    /// The same point in time; the nearest one of the calendar for one outside the years 1 to 9999.
    fn from(time: SystemTime) -> Self {
        let (seconds, nanos) = match time.duration_since(UNIX_EPOCH) {
            Ok(after) => (i64::try_from(after.as_secs()).unwrap_or(i64::MAX), after.subsec_nanos()),
            Err(before) => {
                let before = before.duration();
                let seconds = i64::try_from(before.as_secs()).map_or(i64::MIN, i64::saturating_neg);
                match NANOS_OF_SECOND.saturating_sub(before.subsec_nanos()) {
                    NANOS_OF_SECOND => (seconds, 0),
                    nanos => (seconds.saturating_sub(1), nanos),
                }
            }
        };
        match seconds {
            MAX_SECONDS.. => {
                Self { seconds: MAX_SECONDS, nanos: if seconds == MAX_SECONDS { nanos } else { 0 } }
            }
            MIN_SECONDS.. => Self { seconds, nanos },
            _ => Self { seconds: MIN_SECONDS, nanos: 0 },
        }
    }
}

impl From<Timestamp> for SystemTime {
    fn from(time: Timestamp) -> Self {
        let seconds = std::time::Duration::from_secs(time.seconds.unsigned_abs());
        let whole =
            if time.seconds < 0 { UNIX_EPOCH.checked_sub(seconds) } else { UNIX_EPOCH.checked_add(seconds) };
        let nanos = std::time::Duration::from_nanos(u64::from(time.nanos));
        // every system whose clock begins later than year 1 knows its own beginning
        whole.and_then(|whole| whole.checked_add(nanos)).unwrap_or(UNIX_EPOCH)
    }
}

impl TryFrom<std::time::Duration> for Duration {
    type Error = Fault;

    /// The same length.
    ///
    /// # Errors
    /// `overflow` beyond 10,000 years.
    fn try_from(length: std::time::Duration) -> Result<Self, Fault> {
        Self::from_nanos(i128::try_from(length.as_nanos()).map_err(|_| ErrorCode::Overflow)?)
    }
}

impl FromStr for Timestamp {
    type Err = Fault;

    /// RFC 3339, such as `2026-05-20T03:45:00Z`.
    fn from_str(text: &str) -> Result<Self, Fault> {
        let time = DateTime::parse_from_rfc3339(text).map_err(|_| ErrorCode::InvalidArgument)?;
        // chrono lets a space stand for the `T` and keeps second 60 as a nanosecond beyond the second
        if !matches!(text.as_bytes().get(10), Some(b'T' | b't'))
            || time.timestamp_subsec_nanos() >= 1_000_000_000
        {
            return Err(ErrorCode::InvalidArgument.into());
        }
        let seconds = i128::from(time.timestamp()).saturating_mul(NANOS);
        Self::from_nanos(seconds.saturating_add(i128::from(time.timestamp_subsec_nanos())))
    }
}

impl Timestamp {
    /// The longest text: `2026-05-20T03:45:00.123456789Z`.
    pub const MAX_TEXT: usize = 30;

    /// The text of [`fmt::Display`], followed by zeros up to [`Self::MAX_TEXT`] bytes. Many times as quick as formatting.
    #[must_use]
    pub fn to_text(self) -> [u8; Self::MAX_TEXT] {
        let mut text = [0; Self::MAX_TEXT];
        let second = self.to_second_text();
        let mut digits = [0; 10];
        let mut rest = self.nanos;
        for place in digits.iter_mut().skip(1).rev() {
            // a digit is below ten
            *place = b'0'.saturating_add((rest % 10) as u8);
            rest /= 10;
        }
        digits[0] = b'.';
        let fraction = digits.strip_suffix(b"000000000").map_or(&digits[..], |_| &[]);
        let zeros = fraction.iter().rev().take_while(|digit| **digit == b'0').count();
        let fraction = fraction.iter().take(fraction.len().saturating_sub(zeros));
        let (whole, end) = second.split_at(SECOND);
        for (place, byte) in text.iter_mut().zip(whole.iter().chain(fraction).chain(end)) {
            *place = *byte;
        }
        text
    }

    /// RFC 3339 in UTC to the whole second, always as long: `2026-05-20T03:45:00Z`.
    fn to_second_text(self) -> [u8; 20] {
        let Ok(time) = self.calendar() else { return *b"0001-01-01T00:00:00Z" };
        let time = time.naive_utc();
        // a digit is below ten
        let digit = |number: u32| b'0'.saturating_add((number % 10) as u8);
        let [year, month, day] = [time.year().unsigned_abs(), time.month(), time.day()];
        let [hour, minute, second] = [time.hour(), time.minute(), time.second()];
        [
            digit(year / 1000),
            digit(year / 100),
            digit(year / 10),
            digit(year),
            b'-',
            digit(month / 10),
            digit(month),
            b'-',
            digit(day / 10),
            digit(day),
            b'T',
            digit(hour / 10),
            digit(hour),
            b':',
            digit(minute / 10),
            digit(minute),
            b':',
            digit(second / 10),
            digit(second),
            b'Z',
        ]
    }
}

impl fmt::Display for Timestamp {
    /// RFC 3339 in UTC, with as many digits of the second as it has: `2026-05-20T03:45:00Z`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let time = self.calendar().map_err(|_| fmt::Error)?;
        write!(f, "{:04}-{:02}-{:02}T", time.year(), time.month(), time.day())?;
        write!(f, "{:02}:{:02}:{:02}", time.hour(), time.minute(), time.second())?;
        fraction(f, self.nanos)?;
        f.write_str("Z")
    }
}

impl Duration {
    /// No time at all.
    pub const ZERO: Self = Self { seconds: 0, nanos: 0 };

    /// The length of this many nanoseconds.
    ///
    /// # Errors
    /// `overflow` beyond 10,000 years.
    pub fn from_nanos(nanos: i128) -> Result<Self, Fault> {
        if (nanos / NANOS).abs() > MAX_DURATION_SECONDS {
            return Err(ErrorCode::Overflow.into());
        }
        let seconds = i64::try_from(nanos / NANOS).map_err(|_| ErrorCode::Overflow)?;
        let nanos = i32::try_from(nanos % NANOS).map_err(|_| ErrorCode::Overflow)?;
        Ok(Self { seconds, nanos })
    }

    /// Reads Go's grammar: an optional sign, then decimal numbers with `h`, `m`, `s`, `ms`, `us`, `µs` or `ns`; or `0`.
    ///
    /// # Errors
    /// [`DurationError`] for a text that is not a duration or out of range.
    pub fn parse(text: &str) -> Result<Self, DurationError> {
        Self::from_nanos(duration_text::nanos(text)?).map_err(|_| DurationError::TooLong)
    }

    /// The length in nanoseconds.
    #[must_use]
    pub fn nanos(self) -> i128 {
        i128::from(self.seconds).saturating_mul(NANOS).saturating_add(i128::from(self.nanos))
    }

    /// The sum.
    ///
    /// # Errors
    /// `overflow` beyond 10,000 years.
    pub fn plus(self, other: Self) -> Result<Self, Fault> {
        Self::from_nanos(self.nanos().saturating_add(other.nanos()))
    }

    /// The difference.
    ///
    /// # Errors
    /// `overflow` beyond 10,000 years.
    pub fn minus(self, other: Self) -> Result<Self, Fault> {
        Self::from_nanos(self.nanos().saturating_sub(other.nanos()))
    }

    /// The same length the other way.
    #[must_use]
    pub fn negated(self) -> Self {
        Self { seconds: self.seconds.saturating_neg(), nanos: self.nanos.saturating_neg() }
    }

    /// `getHours()`, `getMinutes()`, `getSeconds()`: the whole length in that unit, rounded towards zero;
    /// `getMilliseconds()`: the milliseconds of the second. `None` for other fields, which durations do not have.
    #[must_use]
    pub(crate) fn field(self, field: CalendarField) -> Option<i64> {
        match field {
            CalendarField::Hours => Some(self.seconds / 3600),
            CalendarField::Minutes => Some(self.seconds / 60),
            CalendarField::Seconds => Some(self.seconds),
            CalendarField::Milliseconds => Some(i64::from(self.nanos / 1_000_000)),
            _ => None,
        }
    }
}

impl FromStr for Duration {
    type Err = Fault;

    /// As [`Duration::parse`].
    fn from_str(text: &str) -> Result<Self, Fault> {
        Self::parse(text).map_err(|error| match error {
            DurationError::TooLong => ErrorCode::Overflow.into(),
            _ => ErrorCode::InvalidArgument.into(),
        })
    }
}

impl fmt::Display for Duration {
    /// Seconds with as many digits as it has: `5400s`, `-0.5s`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.seconds < 0 || self.nanos < 0 {
            f.write_str("-")?;
        }
        write!(f, "{}", self.seconds.unsigned_abs())?;
        fraction(f, self.nanos.unsigned_abs())?;
        f.write_str("s")
    }
}

/// Bytes of a time up to its second: `2026-05-20T03:45:00`.
const SECOND: usize = "0000-00-00T00:00:00".len();

/// The order of two times that are texts; nothing if one of them is no time. Most are in UTC, and of different seconds.
pub(super) fn order_of_texts(a: &str, b: &str) -> Option<Ordering> {
    if let (Some((a, a_fraction)), Some((b, b_fraction))) = (in_utc(a), in_utc(b)) {
        return Some(a.cmp(b).then_with(|| a_fraction.cmp(b_fraction)));
    }
    Some(a.parse::<Timestamp>().ok()?.cmp(&b.parse().ok()?))
}

/// The whole second of a time in UTC, and the digits of the rest without zeros at their end.
fn in_utc(text: &str) -> Option<(&str, &str)> {
    let (second, rest) = text.split_at_checked(SECOND)?;
    let shape = |(at, byte): (usize, u8)| match at {
        4 | 7 => byte == b'-',
        10 => byte == b'T',
        13 | 16 => byte == b':',
        _ => byte.is_ascii_digit(),
    };
    let rest = rest.strip_suffix('Z')?;
    let fraction =
        if rest.is_empty() { rest } else { rest.strip_prefix('.').filter(|rest| !rest.is_empty())? };
    let is_time = second.bytes().enumerate().all(shape) && fraction.bytes().all(|byte| byte.is_ascii_digit());
    is_time.then(|| (second, fraction.trim_end_matches('0')))
}

/// The digits of a second, if there are any: `.5`.
fn fraction(f: &mut fmt::Formatter<'_>, nanos: u32) -> fmt::Result {
    if nanos == 0 {
        return Ok(());
    }
    let digits = format!("{nanos:09}");
    write!(f, ".{}", digits.trim_end_matches('0'))
}
