//! One invocation on record: what is known of it, and how it lies in the log.

use super::call_type::{ERRORED, RESTRICTED, SUCCESSFUL};
use super::moment::Moment;
use super::schema_decl::FunctionId;
use crate::cel::Json;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// An invocation on record: its position in the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct InvocationId(pub(super) u32);

/// How an invocation ended (`REC-04`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum InvocationStatus {
    /// The capability gave a result.
    Successful,
    /// The capability failed, or the call could not be formed (`REC-07`).
    Errored,
    /// Middleware stopped the call or withheld its result (`REC-05`, `REC-06`).
    Restricted,
}

/// Who wants a capability carried out, or has had it done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Caller {
    /// The model: it counts towards `max_tool_calls` (`LIM-09`).
    Model,
    /// An invoke step: it does not (`LIM-11`), and the model sees nothing of it (`MW-14`).
    Middleware,
}

/// One attempt to run a function.
#[derive(Clone, Debug, PartialEq)]
pub struct InvocationRecord {
    /// The function.
    pub function: FunctionId,
    /// When it came to its end.
    pub at: Moment,
    /// When it was let through; of one that was stopped, when it was stopped.
    pub started_at: Moment,
    /// The resolved arguments (`REC-08`).
    pub input: Json,
    /// The result as the capability gave it (`MW-16`); `None` if the capability did not run.
    pub output: Option<Json>,
    /// How it ended.
    pub status: InvocationStatus,
    /// Whether the capability itself ran; `before_first` depends on it (`MW-41`).
    pub executed: bool,
    /// Who asked for it.
    pub origin: Caller,
    /// The child task, if the function is a sub-agent and got that far (`REC-14`).
    pub task_id: Option<Arc<str>>,
    /// The message that it was made for: how many inputs the task had when it was let through, or was stopped.
    pub message: u32,
    /// Whether it was rejected because its arguments are not what the function declares (`PAR-08`, `BND-08`): `input` is what there was of them.
    pub rejected: bool,
}

/// An invocation as the log has it: without what few of them have, as a task may have many.
#[derive(Clone, Debug)]
pub(super) struct Logged {
    pub(super) input: Json,
    pub(super) output: Option<Json>,
    pub(super) at: Moment,
    pub(super) function: FunctionId,
    pub(super) status: InvocationStatus,
    pub(super) executed: bool,
    pub(super) origin: Caller,
}

/// A part of an invocation that may be kept as its digest only.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeptPart {
    /// The arguments that middleware formed.
    Input,
    /// The result.
    Output,
}

impl KeptPart {
    /// The word for it: `input` or `output`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Input => "input",
            Self::Output => "output",
        }
    }
}

impl InvocationStatus {
    /// Whether a call that ended so was rejected: of those that failed only these did not run.
    #[must_use]
    pub const fn is_rejection(self, executed: bool) -> bool {
        matches!(self, Self::Errored) && !executed
    }

    /// The word that expressions see.
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Successful => SUCCESSFUL,
            Self::Errored => ERRORED,
            Self::Restricted => RESTRICTED,
        }
    }
}

/// What a document takes; one that was dropped is shared by all of them.
fn bytes_of(document: &Json) -> usize {
    if document.is_dropped() { 0 } else { document.heap_bytes() }
}

impl Logged {
    /// Its arguments or its result, or what stands in their place.
    pub(super) fn value(&self, part: KeptPart) -> Option<&Json> {
        match part {
            KeptPart::Input => Some(&self.input),
            KeptPart::Output => self.output.as_ref(),
        }
    }

    /// The bytes of its values that the task had no room for.
    pub(super) fn lacking_bytes(&self) -> u64 {
        let values = std::iter::once(&self.input).chain(&self.output).filter_map(Json::shortened);
        values.filter(|value| value.lacks_room).fold(0, |sum, value| sum.saturating_add(value.bytes))
    }

    /// The bytes on the heap, as if nothing of it were shared.
    pub(super) fn document_bytes(&self) -> usize {
        bytes_of(&self.input).saturating_add(self.output.as_ref().map_or(0, bytes_of))
    }
}
