//! Times with their fractions, beyond standard CEL.
//!
//! Standard CEL reads durations in whole units alone: `getSeconds()` cuts, `getMilliseconds()` is the part below a second, and
//! `int(d)` counts nanoseconds. A rule that reckons with rates or with parameters in seconds wants the length as one number.

use super::no_overload;
use crate::fault::{ErrorCode, Fault};
use crate::function::{Code, Function};
use crate::value::{Duration, Value};

pub(super) static TIMES_EXT: &[Function] = &[Function {
    name: "totalSeconds",
    doc: "the whole duration in seconds, with its fraction, as the nearest double",
    cost: "1",
    overloads: &[("duration_total_seconds", "duration.totalSeconds() -> double")],
    examples: &[
        ("duration('1m1.5s').totalSeconds()", "61.5"),
        ("duration('-250ms').totalSeconds()", "-0.25"),
        ("(timestamp('2026-05-20T03:45:00.9Z') - timestamp('2026-05-20T03:45:00.1Z')).totalSeconds()", "0.8"),
    ],
    code: Code::Pure(|_, args| match args {
        [Value::Duration(duration)] => Ok(Value::Double(seconds(*duration)?)),
        _ => no_overload(args),
    }),
}];

/// Nanoseconds beyond 53 bits are no doubles, and to divide what was rounded would round twice: the decimals are read instead.
fn seconds(duration: Duration) -> Result<f64, Fault> {
    let text = duration.to_string();
    text.trim_end_matches('s').parse().map_err(|_| ErrorCode::Overflow.into())
}
