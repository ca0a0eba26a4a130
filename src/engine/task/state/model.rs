//! Calls of the model around which the task was asked, as plain data.
//!
//! In: a request that was let through, an answer that came. Out: which calls of the model are open, which answers count as turns
//! already, and the last answer, for a host that did not hear of it. Requests are kept until their answers come, because the steps
//! behind a call see both.

use super::decision::CallId;
use crate::cel::Json;
use crate::policy::{ModelAnswer, ModelRequest};
use serde::{Deserialize, Serialize};

/// A call of the model that is about to be made.
///
/// ```
/// use celador::ModelCall;
///
/// let request = serde_json::json!({
///     "model": "small-1",
///     "messages": [
///         {"role": "system", "text": "You are a careful clerk."},
///         {"role": "user", "text": "Where is my money?"},
///     ],
///     "tools": ["payout"],
///     "parameters": {"temperature": 0.2},
/// });
/// let call = ModelCall::new(request.into()).with_id("msg_01");
/// assert_eq!(call.request.root().get("model").and_then(|name| name.as_str()), Some("small-1"));
/// ```
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ModelCall {
    /// The id of the call: 1 to `max_id_bytes` bytes without control characters, and that of no other call in this task, be it one of the
    /// model or of a tool. Without one the task makes an id up.
    #[serde(default)]
    pub id: Option<CallId>,
    /// What is sent to the model.
    #[cfg_attr(feature = "schema", schemars(schema_with = "request_schema"))]
    pub request: Json,
}

#[cfg(feature = "schema")]
fn request_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
    schemars::Schema::try_from(crate::policy::request_schema()).unwrap_or_default()
}

impl ModelCall {
    /// A call with this request, an object; the task makes its id up.
    #[must_use]
    pub fn new(request: Json) -> Self {
        Self { id: None, request }
    }

    /// The same under an id.
    #[must_use]
    pub fn with_id(self, id: impl Into<CallId>) -> Self {
        Self { id: Some(id.into()), ..self }
    }
}

/// A call of the model between its two lists of steps, or within one of them.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(in crate::task) struct ModelUnderWay {
    /// What is sent, as the transforms so far left it.
    pub(in crate::task) request: ModelRequest,
    /// What came back, as the transforms so far left it; nothing ahead of the call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(in crate::task) answer: Option<ModelAnswer>,
}

impl ModelUnderWay {
    /// The document that is judged.
    pub(in crate::task) fn judged(&self) -> &Json {
        self.answer.as_ref().map_or_else(|| self.request.json(), ModelAnswer::json)
    }

    /// Puts what a transform has made in the place of what is judged.
    pub(in crate::task) fn transform(&mut self, made: &Json) -> Result<(), String> {
        match &mut self.answer {
            Some(answer) => *answer = answer.transformed(made)?,
            None => self.request = self.request.transformed(made)?,
        }
        Ok(())
    }

    /// Whether what a transform has made could take the place of what is judged.
    pub(in crate::task) fn can_become(&self, made: &Json) -> bool {
        match &self.answer {
            Some(answer) => answer.transformed(made).is_ok(),
            None => self.request.transformed(made).is_ok(),
        }
    }
}

/// A call of the model that was let through and whose answer is awaited.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::task) struct OpenModelCall {
    pub(in crate::task) id: CallId,
    pub(in crate::task) request: ModelRequest,
}

/// An answer that was counted as a turn of the model, while nobody has reported the turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct CountedTurn {
    /// Whether its tokens were counted, too.
    has_usage: bool,
}

/// What becomes of a turn that is reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::task) enum ReportedTurn {
    /// It is a turn that nobody has told of.
    New,
    /// Its answer was counted, and did not tell its tokens.
    Counted,
    /// Its answer was counted with its tokens.
    CountedWithTokens,
}

/// The calls of the model that a task was asked about.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::task) struct ModelCalls {
    /// Those whose answers are awaited, in the order in which they were let through.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(in crate::task) open: Vec<OpenModelCall>,
    /// The last answer that was let through, as the steps left it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(in crate::task) last: Option<(CallId, ModelAnswer)>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    counted: Vec<CountedTurn>,
}

/// Where the calls of the model were at one moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::task) struct ModelMark {
    open: Vec<CallId>,
    last: Option<CallId>,
    counted: Vec<bool>,
}

impl ModelCalls {
    /// Whether there is nothing to be kept.
    pub(in crate::task) fn is_empty(&self) -> bool {
        self.open.is_empty() && self.last.is_none() && self.counted.is_empty()
    }

    /// The open call with an id.
    pub(in crate::task) fn get(&self, id: &CallId) -> Option<&OpenModelCall> {
        self.open.iter().find(|open| open.id == *id)
    }

    /// Takes an open call out.
    pub(in crate::task) fn take(&mut self, id: &CallId) -> Option<OpenModelCall> {
        let position = self.open.iter().position(|open| open.id == *id)?;
        Some(self.open.remove(position))
    }

    /// An answer is counted as a turn.
    pub(in crate::task) fn count(&mut self, has_usage: bool) {
        self.counted.push(CountedTurn { has_usage });
    }

    /// The next call begins: turns that nobody has reported by now are over.
    pub(in crate::task) fn begin(&mut self) {
        self.counted.clear();
    }

    /// Whether a turn that is reported would be that of an answer.
    pub(in crate::task) fn has_counted(&self) -> bool {
        !self.counted.is_empty()
    }

    /// A turn is reported: that of the oldest answer which was counted and not reported, if there is one.
    pub(in crate::task) fn report_turn(&mut self) -> ReportedTurn {
        if self.counted.is_empty() {
            return ReportedTurn::New;
        }
        match self.counted.remove(0) {
            CountedTurn { has_usage: true } => ReportedTurn::CountedWithTokens,
            CountedTurn { has_usage: false } => ReportedTurn::Counted,
        }
    }

    /// The bytes of the documents.
    pub(in crate::task) fn bytes(&self) -> u64 {
        let open = self.open.iter().map(|open| open.request.json());
        let documents = open.chain(self.last.iter().map(|(_, answer)| answer.json()));
        documents.fold(0, |sum, document| sum.saturating_add(document.heap_bytes() as u64))
    }

    pub(in crate::task) fn mark(&self) -> ModelMark {
        ModelMark {
            open: self.open.iter().map(|open| open.id.clone()).collect(),
            last: self.last.as_ref().map(|(id, _)| id.clone()),
            counted: self.counted.iter().map(|turn| turn.has_usage).collect(),
        }
    }
}
