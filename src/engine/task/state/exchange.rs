//! A question of an operation with its answer: what an evaluation that begins anew is given again.

use super::effect::{Answer, Request};
use serde::{Deserialize, Serialize};

/// A question that was answered.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Exchange {
    /// The question.
    pub question: Request,
    /// The answer.
    pub answer: Answer,
}

impl Exchange {
    /// The documents and texts that it holds.
    pub(in crate::task) fn bytes(&self) -> u64 {
        let question = match &self.question {
            Request::Invoke(invocation) => invocation.arguments.heap_bytes(),
            Request::WriteMount { text, .. } => text.len(),
            Request::Review { .. }
            | Request::ReadMount { .. }
            | Request::MeasureFile { .. }
            | Request::Counters { .. } => 0,
        };
        let answer = match &self.answer {
            Answer::Result(result) => result.output.heap_bytes(),
            Answer::Text(text) => text.len(),
            Answer::Review(answer) => answer.bytes(),
            _ => 0,
        };
        question.saturating_add(answer) as u64
    }
}
