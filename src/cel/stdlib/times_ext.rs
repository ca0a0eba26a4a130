//! Times with their fractions and times by the clocks of a zone, beyond standard CEL.
//!
//! Standard CEL reads durations in whole units alone: `getSeconds()` cuts, `getMilliseconds()` is the part below a second, and
//! `int(d)` counts nanoseconds. A rule that computes rates, or has parameters in seconds, needs the length as one number. A date and a time of day
//! take five calls of standard CEL, and its days of the week begin with 0 for Sunday.

use super::{charge_texts, no_overload};
use crate::fault::{ErrorCode, Fault};
use crate::function::{Code, Function};
use crate::meter::Meter;
use crate::value::{CalendarField, Duration, Timestamp, Value};

pub(super) static TIMES_EXT: &[Function] = &[
    Function {
        name: "totalSeconds",
        doc: "the whole duration in seconds, with its fraction, as the nearest double",
        cost: "1",
        overloads: &[("duration_total_seconds", "duration.totalSeconds() -> double")],
        examples: &[
            ("duration('1m1.5s').totalSeconds()", "61.5"),
            ("duration('-250ms').totalSeconds()", "-0.25"),
            (
                "(timestamp('2026-05-20T03:45:00.9Z') - timestamp('2026-05-20T03:45:00.1Z')).totalSeconds()",
                "0.8",
            ),
        ],
        code: Code::Pure(|_, args| match args {
            [Value::Duration(duration)] => Ok(Value::Double(seconds(*duration)?)),
            _ => no_overload(args),
        }),
    },
    Function {
        name: "date",
        doc: "the date of a time, a timestamp or an RFC 3339 text such as `now`, in a zone: an IANA name or an offset; as `YYYY-MM-DD`, so dates compare as strings do",
        cost: "1, and the lengths of the texts",
        overloads: &[
            ("timestamp_date", "date(timestamp, string) -> string"),
            ("string_date", "date(string, string) -> string"),
        ],
        examples: &[
            ("date(timestamp('2026-05-20T23:45:00Z'), 'Europe/Berlin')", "'2026-05-21'"),
            ("date('2026-12-24T23:30:00Z', 'Europe/Berlin') in ['2026-12-25', '2026-12-26']", "true"),
            ("date('2026-05-20T23:45:00Z', 'UTC') < '2026-06-01'", "true"),
            ("date('2026-05-20T23:45:00Z', '-05:00')", "'2026-05-20'"),
            ("date('2026-05-20', 'UTC')", "error: invalid_argument"),
            ("date('2026-05-20T23:45:00Z', 'Mars/X')", "error: invalid_argument"),
        ],
        code: Code::Pure(|meter, args| {
            in_zone(meter, args, |time, zone| Ok(Value::owned_text(time.date_in(zone)?)))
        }),
    },
    Function {
        name: "weekday",
        doc: "the day of the week of a time, a timestamp or an RFC 3339 text such as `now`, in a zone: from 1 for Monday to 7 for Sunday (ISO 8601)",
        cost: "1, and the lengths of the texts",
        overloads: &[
            ("timestamp_weekday", "weekday(timestamp, string) -> int"),
            ("string_weekday", "weekday(string, string) -> int"),
        ],
        examples: &[
            ("weekday('2026-05-24T21:00:00Z', 'Europe/Berlin')", "7"),
            ("weekday('2026-05-24T22:00:00Z', 'Europe/Berlin')", "1"),
            ("weekday(timestamp('2026-05-20T12:00:00Z'), 'UTC') <= 5", "true"),
            ("weekday('2026-05-20T12:00:00Z', 'Mars/X')", "error: invalid_argument"),
        ],
        code: Code::Pure(|meter, args| {
            in_zone(meter, args, |time, zone| Ok(Value::Int(time.field(CalendarField::Weekday, Some(zone))?)))
        }),
    },
    Function {
        name: "timeOfDay",
        doc: "the time of day in a zone, as the duration since midnight that its clocks show: on a day on which they are changed, less or more \
              time has passed. The time is a timestamp or an RFC 3339 text such as `now`",
        cost: "1, and the lengths of the texts",
        overloads: &[
            ("timestamp_time_of_day", "timeOfDay(timestamp, string) -> duration"),
            ("string_time_of_day", "timeOfDay(string, string) -> duration"),
        ],
        examples: &[
            ("timeOfDay('2026-05-20T07:30:00Z', 'Europe/Berlin') >= duration('9h30m')", "true"),
            ("timeOfDay('2026-01-20T07:30:00Z', 'Europe/Berlin') >= duration('9h')", "false"),
            ("timeOfDay(timestamp('2026-03-29T01:00:00Z'), 'Europe/Berlin')", "duration('3h')"),
            ("timeOfDay('2026-05-20T07:30:00.5Z', 'UTC')", "duration('7h30m0.5s')"),
            ("timeOfDay('2026-05-20T07:30:00Z', 'Mars/X')", "error: invalid_argument"),
        ],
        code: Code::Pure(|meter, args| {
            in_zone(meter, args, |time, zone| Ok(Value::Duration(time.time_of_day_in(zone)?)))
        }),
    },
];

/// Whether a function reads the clocks of a zone, its last argument.
pub(super) fn is_of_zone(function: &str) -> bool {
    let reads_zone = |row: &&Function| row.overloads.iter().any(|(id, _)| id.starts_with("timestamp_"));
    TIMES_EXT.iter().filter(reads_zone).any(|row| row.name == function)
}

/// Calls a reader with a time, a timestamp or its text, and a zone.
fn in_zone<'a>(
    meter: &mut Meter<'_>,
    args: &[&Value<'a>],
    read: fn(Timestamp, &str) -> Result<Value<'a>, Fault>,
) -> Result<Value<'a>, Fault> {
    charge_texts(meter, args)?;
    match args {
        [Value::Timestamp(time), Value::String(zone)] => read(*time, zone),
        [Value::String(time), Value::String(zone)] => read(time.parse()?, zone),
        _ => no_overload(args),
    }
}

/// Nanoseconds beyond 53 bits are no doubles, and to divide what was rounded would round twice: the decimals are read instead.
fn seconds(duration: Duration) -> Result<f64, Fault> {
    let text = duration.to_string();
    text.trim_end_matches('s').parse().map_err(|_| ErrorCode::Overflow.into())
}
