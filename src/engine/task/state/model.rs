//! Calls of the model around which the task was asked, as plain data.
//!
//! In: a request that was let through, an answer that came. Out: which calls of the model are open, which answers count as turns
//! already, and the last answer, for a host that did not hear of it. Requests are kept until their answers come, because the steps
//! behind a call see both.

use super::call_id::CallId;
use super::counting::CallCounters;
use super::start::Usage;
use crate::cel::Json;
use crate::context::ModelUsage;
use crate::counter::Reservation;
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
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ModelCall {
    /// The id of the call: 1 to `max_id_bytes` bytes without control characters, and that of no other call in this task, be it one of the
    /// model or of a tool. Without one the task makes an id up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<CallId>,
    /// What is sent to the model.
    #[cfg_attr(feature = "schema", schemars(schema_with = "request_schema"))]
    pub request: Json,
    /// What the call is expected to use, as far as its host can tell: at least the tokens that it sends, and those that it lets the model
    /// write. Counters that calls of the model add to reserve as much until the answer comes. Without it they reserve the least above nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub estimate: Option<Usage>,
}

#[cfg(feature = "schema")]
fn request_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
    schemars::Schema::try_from(crate::policy::request_schema()).unwrap_or_default()
}

impl ModelCall {
    /// A call with this request, an object; the task makes its id up.
    #[must_use]
    pub fn new(request: Json) -> Self {
        Self { id: None, request, estimate: None }
    }

    /// The same with what it is expected to use.
    #[must_use]
    pub fn with_estimate(self, estimate: Usage) -> Self {
        Self { estimate: Some(estimate), ..self }
    }

    /// What its steps read as `usage`.
    pub(in crate::task) fn usage(&self) -> ModelUsage {
        let Usage { prompt_tokens, completion_tokens, cost } = self.estimate.unwrap_or_default();
        ModelUsage::estimated(prompt_tokens, completion_tokens, cost)
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
    /// What the call uses: the host's estimate, of which an answer replaces what it tells.
    #[serde(default)]
    pub(in crate::task) usage: ModelUsage,
    /// What it knows of the counters that it needs.
    #[serde(default, skip_serializing_if = "CallCounters::is_unread")]
    pub(in crate::task) counters: CallCounters,
}

impl ModelUnderWay {
    /// A call that is about to be made.
    pub(in crate::task) fn new(request: ModelRequest, usage: ModelUsage) -> Self {
        Self { request, answer: None, usage, counters: CallCounters::default() }
    }

    /// The same when its answer has come.
    pub(in crate::task) fn answered(open: OpenModelCall, answer: ModelAnswer) -> Self {
        let OpenModelCall { id: _, request, usage } = open;
        let tokens = answer.usage();
        let usage = tokens.map_or(usage, |(prompt, completion)| usage.with_tokens(prompt, completion));
        let cost = answer.cost();
        let usage = cost.map_or_else(|| usage.with_estimated_cost(), |cost| usage.with_cost(cost));
        Self { answer: Some(answer), ..Self::new(request, usage) }
    }

    /// The document that is judged.
    pub(in crate::task) fn judged(&self) -> &Json {
        self.answer.as_ref().map_or_else(|| self.request.json(), ModelAnswer::json)
    }

    /// Puts what a transform has made in the place of what is judged.
    pub(in crate::task) fn transform(&mut self, made: &Json) -> Result<(), String> {
        match &mut self.answer {
            Some(answer) => *answer = answer.transformed(made)?,
            None => {
                let request = self.request.transformed(made)?;
                if request != self.request {
                    // whose counter it is, and how much the call adds, may be something else now
                    self.counters = CallCounters::Unread;
                }
                self.request = request;
            }
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
    /// What it is expected to use.
    #[serde(default)]
    pub(in crate::task) usage: ModelUsage,
}

/// An answer that was counted as a turn of the model, while nobody has reported the turn.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::task) struct CountedTurn {
    /// Whether its tokens were counted, too.
    pub(in crate::task) has_usage: bool,
    /// Whether its cost was.
    #[serde(default)]
    pub(in crate::task) has_cost: bool,
    /// What it has spent of counters, where calls of the model add to some.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(in crate::task) spent: Option<SpentTurn>,
}

/// What a turn has spent of counters, and what it came of: a report may know better.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::task) struct SpentTurn {
    pub(in crate::task) request: ModelRequest,
    pub(in crate::task) usage: ModelUsage,
    pub(in crate::task) amounts: Vec<Reservation>,
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
    pub(in crate::task) fn count(&mut self, turn: CountedTurn) {
        self.counted.push(turn);
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
    pub(in crate::task) fn report_turn(&mut self) -> Option<CountedTurn> {
        if self.counted.is_empty() { None } else { Some(self.counted.remove(0)) }
    }

    /// The bytes of the documents.
    pub(in crate::task) fn bytes(&self) -> u64 {
        let open = self.open.iter().map(|open| open.request.json());
        let spent = self.counted.iter().filter_map(|turn| Some(turn.spent.as_ref()?.request.json()));
        let documents = open.chain(spent).chain(self.last.iter().map(|(_, answer)| answer.json()));
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
