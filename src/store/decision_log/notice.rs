//! What one line says of something that is no decision: a task was purged, a switch was turned.
//!
//! In: who did what, when and why. Out: the members of a JSON object, in the order of the fields; what is not there is left
//! out. The reason is in the words of whoever did it; nothing else here is anybody's text.

use super::entry::text;
use celador::cel::Timestamp;
use serde::Serialize;

/// Something that was done to tasks from outside.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Notice<'n> {
    /// When.
    #[serde(serialize_with = "text")]
    pub at: Timestamp,
    /// Who, if that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub who: Option<&'n str>,
    /// The action: `purge`, `switch_on`, `switch_off`, `policy_adopt`, `policy_keep`, `counter_reset`, `unjudged`.
    pub operation: &'n str,
    /// The task, if it is about one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task: Option<&'n str>,
    /// The owner of the task, as the store names it; empty without an owner, and in lines that are about no task. Of a counter the owner of the tasks that count on it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub owner: Option<&'n str>,
    /// Its number in the store: of a purge the number after the task's last event, of a switch the number of
    /// its turn.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<u64>,
    /// The target of a switch, if it is about a switch; the counter, if it is about one; the form of traffic that was forwarded unjudged.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub subject: Option<&'n str>,
    /// How many events the task had that was purged; how often traffic was forwarded unjudged.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub count: Option<u64>,
    /// Why.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<&'n str>,
}

impl<'n> Notice<'n> {
    /// The action of traffic that was forwarded unjudged.
    pub const UNJUDGED: &'static str = "unjudged";

    /// A notice with a time and an action, and nothing else.
    #[must_use]
    pub fn new(at: Timestamp, operation: &'n str) -> Self {
        Self {
            at,
            who: None,
            operation,
            task: None,
            owner: None,
            version: None,
            subject: None,
            count: None,
            reason: None,
        }
    }
}
