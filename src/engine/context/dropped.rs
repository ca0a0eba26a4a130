//! What is known of the values that a task did not keep: how many there were, and one digest of all of them.
//!
//! In: each value when it is dropped, with the number of its call. Out: a count, and the digest as it runs on. A task of many calls holds
//! no more of what nobody reads than these few bytes. Who has the values elsewhere, in a decision log with contents for example, can tell
//! from the digest whether they are those that the task saw.

use super::invocation::KeptPart;
use super::shorten::digest_of;
use crate::cel::Json;
use crate::digest::Digest;
use serde::{Deserialize, Serialize};
use smallvec::SmallVec;
use std::io::Write as _;

/// The values that a task did not keep, all told.
///
/// The digest is the SHA-256 of the digest before it (no text at first) and one line: the call's number as `seq` of
/// [calls](https://docs.rs/celador) has it, `input` or `output`, and the SHA-256 of the value's compact JSON.
///
/// ```
/// use celador::{Engine, EngineLimits, Retain, StartTask, User};
/// # std::env::set_current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))?;
/// # let engine = Engine::open(&["examples/first-policy"], EngineLimits::default())?;
/// # let now = std::time::SystemTime::UNIX_EPOCH;
/// # let user = User { id: "u-7".into(), ..User::default() };
///
/// let start = StartTask { retain: Retain::Needed, ..StartTask::new("t-1", "shop", "clerk", user, now) };
/// let mut task = engine.start(start)?;
/// assert!(task.context().dropped().is_none());
///
/// // a call that is refused is on record with its arguments, which no rule of this agent reads later
/// let call = celador::Call::new("payout", serde_json::json!({"amount": 2_000}).into());
/// assert!(!task.before(&call, now)?.outcome().is_allowed());
/// let dropped = task.context().dropped().ok_or("its arguments are not kept")?;
/// assert_eq!((dropped.values, dropped.sha256.len()), (1, 64));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "DroppedValues"))]
pub struct Dropped {
    /// How many values, inputs and outputs each for itself.
    pub values: u64,
    /// The digest: 64 hexadecimal digits.
    pub sha256: String,
}

/// The same as it runs on.
#[derive(Clone, Debug, Default)]
pub(super) struct RunningDigest {
    values: u64,
    last: Option<Digest>,
    /// Whether no value is added to it.
    is_off: bool,
}

impl RunningDigest {
    /// The digest of a task whose caller has all values: it stays as it is.
    pub(super) fn off() -> Self {
        Self { is_off: true, ..Self::default() }
    }

    /// Takes note of a value that is dropped. Linear in the value.
    pub(super) fn add(&mut self, call: u32, part: KeptPart, value: &Json) {
        if self.is_off {
            return;
        }
        let (digest, _) = digest_of(value);
        let number = u64::from(call).saturating_add(1);
        let mut line = SmallVec::<[u8; 256]>::new();
        line.extend_from_slice(self.last.map(|last| last.hex()).as_ref().map_or(&[], |digits| digits));
        // a vector takes whatever is written to it
        let _ = write!(line, "{number} {} ", part.as_str());
        line.extend_from_slice(&digest.hex());
        line.push(b'\n');
        self.last = Some(Digest::of(&line));
        self.values = self.values.saturating_add(1);
    }

    pub(super) fn told(&self) -> Option<Dropped> {
        Some(Dropped { values: self.values, sha256: self.last?.to_string() })
    }

    /// Goes on from where it was; nothing if that is no digest.
    pub(super) fn resume(dropped: &Dropped) -> Option<Self> {
        Some(Self { values: dropped.values, last: Some(dropped.sha256.parse().ok()?), is_off: false })
    }
}
