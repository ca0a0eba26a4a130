//! Timestamps and durations, and what can be read off them.

use super::conversions::converted;
use super::{charge_texts, no_overload};
use crate::fault::Fault;
use crate::function::{Code, Function};
use crate::meter::Meter;
use crate::value::{CalendarField, Value};

pub(super) static TIMES: &[Function] = &[
    Function {
        name: "timestamp",
        doc: "the time that an RFC 3339 text or a number of seconds since 1970 says",
        cost: "1, and the length of the text",
        overloads: &[
            ("timestamp_to_timestamp", "timestamp(timestamp) -> timestamp"),
            ("string_to_timestamp", "timestamp(string) -> timestamp"),
            ("int64_to_timestamp", "timestamp(int) -> timestamp"),
        ],
        examples: &[
            ("timestamp(0) == timestamp('1970-01-01T00:00:00Z')", "true"),
            ("timestamp('noon')", "error: invalid_argument"),
        ],
        code: Code::Pure(|meter, args| converted(meter, args, Value::to_timestamp)),
    },
    Function {
        name: "duration",
        doc: "the length of time that a text says: decimal numbers with `h`, `m`, `s`, `ms`, `us` or `ns`",
        cost: "1, and the length of the text",
        overloads: &[
            ("duration_to_duration", "duration(duration) -> duration"),
            ("string_to_duration", "duration(string) -> duration"),
        ],
        examples: &[
            ("duration('1h30m') == duration('90m')", "true"),
            ("duration('2d')", "error: invalid_argument"),
        ],
        code: Code::Pure(|meter, args| converted(meter, args, Value::to_duration)),
    },
    Function {
        name: "getFullYear",
        doc: "the year, in UTC or in a zone: an IANA name or an offset",
        cost: "1",
        overloads: &[
            ("timestamp_to_year", "timestamp.getFullYear() -> int"),
            ("timestamp_to_year_with_tz", "timestamp.getFullYear(string) -> int"),
        ],
        examples: &[("timestamp('2026-05-20T03:45:00Z').getFullYear()", "2026")],
        code: Code::Pure(|meter, args| calendar(meter, args, CalendarField::FullYear)),
    },
    Function {
        name: "getMonth",
        doc: "the month, from 0 for January",
        cost: "1",
        overloads: &[
            ("timestamp_to_month", "timestamp.getMonth() -> int"),
            ("timestamp_to_month_with_tz", "timestamp.getMonth(string) -> int"),
        ],
        examples: &[("timestamp('2026-05-20T03:45:00Z').getMonth()", "4")],
        code: Code::Pure(|meter, args| calendar(meter, args, CalendarField::Month)),
    },
    Function {
        name: "getDate",
        doc: "the day of the month, from 1",
        cost: "1",
        overloads: &[
            ("timestamp_to_day_of_month_1_based", "timestamp.getDate() -> int"),
            ("timestamp_to_day_of_month_1_based_with_tz", "timestamp.getDate(string) -> int"),
        ],
        examples: &[("timestamp('2026-05-20T03:45:00Z').getDate()", "20")],
        code: Code::Pure(|meter, args| calendar(meter, args, CalendarField::Date)),
    },
    Function {
        name: "getDayOfMonth",
        doc: "the day of the month, from 0",
        cost: "1",
        overloads: &[
            ("timestamp_to_day_of_month", "timestamp.getDayOfMonth() -> int"),
            ("timestamp_to_day_of_month_with_tz", "timestamp.getDayOfMonth(string) -> int"),
        ],
        examples: &[("timestamp('2026-05-20T03:45:00Z').getDayOfMonth()", "19")],
        code: Code::Pure(|meter, args| calendar(meter, args, CalendarField::DayOfMonth)),
    },
    Function {
        name: "getDayOfWeek",
        doc: "the day of the week, from 0 for Sunday",
        cost: "1",
        overloads: &[
            ("timestamp_to_day_of_week", "timestamp.getDayOfWeek() -> int"),
            ("timestamp_to_day_of_week_with_tz", "timestamp.getDayOfWeek(string) -> int"),
        ],
        examples: &[("timestamp('2026-05-20T03:45:00Z').getDayOfWeek()", "3")],
        code: Code::Pure(|meter, args| calendar(meter, args, CalendarField::DayOfWeek)),
    },
    Function {
        name: "getDayOfYear",
        doc: "the day of the year, from 0",
        cost: "1",
        overloads: &[
            ("timestamp_to_day_of_year", "timestamp.getDayOfYear() -> int"),
            ("timestamp_to_day_of_year_with_tz", "timestamp.getDayOfYear(string) -> int"),
        ],
        examples: &[("timestamp('2026-02-01T00:00:00Z').getDayOfYear()", "31")],
        code: Code::Pure(|meter, args| calendar(meter, args, CalendarField::DayOfYear)),
    },
    Function {
        name: "getHours",
        doc: "the hour of the day, or a duration in whole hours",
        cost: "1",
        overloads: &[
            ("timestamp_to_hours", "timestamp.getHours() -> int"),
            ("timestamp_to_hours_with_tz", "timestamp.getHours(string) -> int"),
            ("duration_to_hours", "duration.getHours() -> int"),
        ],
        examples: &[
            ("timestamp('2026-05-20T03:45:00Z').getHours()", "3"),
            ("timestamp('2026-05-20T03:45:00Z').getHours('America/New_York')", "23"),
            ("timestamp('2026-05-20T03:45:00Z').getHours('+05:30')", "9"),
            ("timestamp('2026-05-20T03:45:00Z').getHours('Mars/X')", "error: invalid_argument"),
            ("duration('90m').getHours()", "1"),
        ],
        code: Code::Pure(|meter, args| calendar(meter, args, CalendarField::Hours)),
    },
    Function {
        name: "getMinutes",
        doc: "the minute of the hour, or a duration in whole minutes",
        cost: "1",
        overloads: &[
            ("timestamp_to_minutes", "timestamp.getMinutes() -> int"),
            ("timestamp_to_minutes_with_tz", "timestamp.getMinutes(string) -> int"),
            ("duration_to_minutes", "duration.getMinutes() -> int"),
        ],
        examples: &[
            ("timestamp('2026-05-20T03:45:00Z').getMinutes()", "45"),
            ("duration('90m').getMinutes()", "90"),
        ],
        code: Code::Pure(|meter, args| calendar(meter, args, CalendarField::Minutes)),
    },
    Function {
        name: "getSeconds",
        doc: "the second of the minute, or a duration in whole seconds",
        cost: "1",
        overloads: &[
            ("timestamp_to_seconds", "timestamp.getSeconds() -> int"),
            ("timestamp_to_seconds_tz", "timestamp.getSeconds(string) -> int"),
            ("duration_to_seconds", "duration.getSeconds() -> int"),
        ],
        examples: &[("duration('90m').getSeconds()", "5400")],
        code: Code::Pure(|meter, args| calendar(meter, args, CalendarField::Seconds)),
    },
    Function {
        name: "getMilliseconds",
        doc: "the milliseconds of the second, of a time or a duration",
        cost: "1",
        overloads: &[
            ("timestamp_to_milliseconds", "timestamp.getMilliseconds() -> int"),
            ("timestamp_to_milliseconds_with_tz", "timestamp.getMilliseconds(string) -> int"),
            ("duration_to_milliseconds", "duration.getMilliseconds() -> int"),
        ],
        examples: &[("duration('1.25s').getMilliseconds()", "250")],
        code: Code::Pure(|meter, args| calendar(meter, args, CalendarField::Milliseconds)),
    },
];

/// Whether a function reads a field of the calendar, and so takes a time zone.
pub(super) fn is_calendar(function: &str) -> bool {
    TIMES.iter().any(|row| row.name == function && row.name.starts_with("get"))
}

fn calendar<'a>(
    meter: &mut Meter<'_>,
    args: &[&Value<'a>],
    field: CalendarField,
) -> Result<Value<'a>, Fault> {
    charge_texts(meter, args)?;
    match args {
        [Value::Timestamp(time)] => time.field(field, None).map(Value::Int),
        [Value::Timestamp(time), Value::String(zone)] => time.field(field, Some(zone)).map(Value::Int),
        [Value::Duration(duration)] => {
            duration.field(field).map_or_else(|| no_overload(args), |value| Ok(Value::Int(value)))
        }
        _ => no_overload(args),
    }
}
