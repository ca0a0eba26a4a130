//! A limit that was reached, as plain data and in words.

use crate::cel::Duration;
use crate::manifest::task_limit::{Quantity, TaskLimit};
use crate::policy::LimitNumber;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

/// The bound of the engine on what a task keeps.
pub(in crate::task) const MAX_TASK_BYTES: &str = "max_task_bytes";

/// A limit that was reached: the step that would have gone beyond it was not taken (LIM-02).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "Limit"))]
pub struct LimitReached {
    /// Its name, such as `max_turns`.
    pub which: Cow<'static, str>,
    /// The greatest value that is allowed.
    pub bound: LimitNumber,
    /// The value that the step would have led to.
    pub value: LimitNumber,
    /// Namespace and name of the policy document that sets it; nothing if the manifest does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub policy: Option<Arc<str>>,
}

impl fmt::Display for LimitReached {
    /// The two numbers and what they count: `16 of 15 tool calls`, `2h1m of 2h since it began`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { which, bound, value, policy: _ } = self;
        match TaskLimit::parse(which) {
            Some(limit) if limit.quantity() == Quantity::Age => {
                write!(f, "{} of {} {}", age(value.count()), age(bound.count()), limit.counted())
            }
            Some(limit) => write!(f, "{value} of {bound} {}", limit.counted()),
            None if which == MAX_TASK_BYTES => write!(f, "{value} of {bound} bytes"),
            None => write!(f, "{value} of {bound} {which}"),
        }
    }
}

/// A length of time as manifests write it: `2h1m`, `0.5s`.
fn age(nanos: u64) -> String {
    const SECOND: u64 = 1_000_000_000;
    const MINUTE: u64 = 60 * SECOND;
    const HOUR: u64 = 60 * MINUTE;
    let parts = [(nanos / HOUR, "h"), (nanos % HOUR / MINUTE, "m")];
    let mut text: String =
        parts.iter().filter(|(count, _)| *count > 0).map(|(count, unit)| format!("{count}{unit}")).collect();
    let rest = nanos % MINUTE;
    if rest > 0 || text.is_empty() {
        let seconds =
            Duration::from_nanos(rest.into()).map_or_else(|_| String::new(), |rest| rest.to_string());
        text.push_str(&seconds);
    }
    text
}
