//! Operations that wait for others before they are decided, and what those came to that have waited.

use super::call_id::{CallId, DecidedKind};
use super::decision::{DecidedCall, Decision};
use super::review_answer::given;
use super::start::Call;
use super::subject::Extent;
use super::under_way::UnderWay;
use crate::cel::Json;
use serde::{Deserialize, Serialize};

/// An operation that waits: its decision reads what a call that is still open may change, or a review is open.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(try_from = "StoredOperation")]
pub(in crate::task) struct QueuedOperation {
    pub(in crate::task) id: CallId,
    /// What is to be decided.
    #[serde(flatten)]
    pub(in crate::task) wanted: Wanted,
    /// When it began to wait for calls, in nanoseconds since 1970; nothing of a call that waits for reviews, and of an input or an event,
    /// which wait as long as they must.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::task) since: Option<i128>,
    /// How far its steps came: then it waits for the end of reviews, and nothing else stands in its way. Nothing of one that
    /// waits for calls.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::task) held: Option<Box<UnderWay>>,
}

/// What is to be decided of an operation that waits, as whoever wants it has put it.
#[derive(Clone, Debug, Serialize)]
#[serde(untagged)]
pub(in crate::task) enum Wanted {
    /// A call.
    Call {
        /// As the model made it, without its id.
        call: Call,
        extent: Extent,
    },
    /// An input.
    Input {
        /// As its sender gave it: its parameters inherit from the input that is ahead of it by then.
        input: Json,
    },
    /// An event whose sender is verified.
    Event {
        /// As the manifest names the capability.
        capability: String,
        event: String,
        payload: Json,
    },
}

/// An operation that waits, as it is stored: what is wanted stands beside the rest, and its members say what it is.
#[derive(Deserialize)]
struct StoredOperation {
    id: CallId,
    call: Option<Call>,
    extent: Option<Extent>,
    #[serde(default, deserialize_with = "given")]
    input: Option<Json>,
    capability: Option<String>,
    event: Option<String>,
    #[serde(default, deserialize_with = "given")]
    payload: Option<Json>,
    since: Option<i128>,
    held: Option<Box<UnderWay>>,
}

impl TryFrom<StoredOperation> for QueuedOperation {
    type Error = &'static str;

    fn try_from(stored: StoredOperation) -> Result<Self, &'static str> {
        let StoredOperation { id, call, extent, input, capability, event, payload, since, held } = stored;
        let wanted = match (call.zip(extent), input, capability.zip(event).zip(payload)) {
            (Some((call, extent)), ..) => Wanted::Call { call, extent },
            (_, Some(input), _) => Wanted::Input { input },
            (.., Some(((capability, event), payload))) => Wanted::Event { capability, event, payload },
            _ => return Err("expected a call, an input or an event that waits"),
        };
        Ok(Self { id, wanted, since, held })
    }
}

/// The operations of a task that wait for each other.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(in crate::task) struct Queue {
    /// Those that wait, in the order in which they were asked for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(in crate::task) waiting: Vec<QueuedOperation>,
    /// Those that have waited or asked, until the model has its next turn; of inputs and events the last of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(in crate::task) settled: Vec<DecidedCall>,
    /// How many of these, from the end, no operation has told of.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub(in crate::task) untold: usize,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands a reference over")]
fn is_zero(count: &usize) -> bool {
    *count == 0
}

impl Queue {
    /// Keeps the decision of a call, of which the operation under way is to tell.
    pub(in crate::task) fn settle(&mut self, decided: DecidedCall) {
        self.forget(&decided.call);
        self.settled.push(decided);
        self.untold = self.untold.saturating_add(1);
    }

    /// The same of a call whose decision is what the operation under way comes to.
    pub(in crate::task) fn settle_told(&mut self, decided: DecidedCall) {
        self.forget(&decided.call);
        self.settled.insert(self.told(), decided);
    }

    /// Forgets what a call came to.
    pub(in crate::task) fn forget(&mut self, call: &CallId) {
        if let Some(at) = self.settled.iter().position(|settled| settled.call == *call) {
            if at >= self.told() {
                self.untold = self.untold.saturating_sub(1);
            }
            self.settled.remove(at);
        }
    }

    /// Forgets what was told.
    pub(in crate::task) fn forget_told(&mut self) {
        self.settled.drain(..self.told());
    }

    /// Forgets what inputs, events and responses came to that was told, but for the last of them: a model that has no turn between
    /// them must not make them pile up.
    pub(in crate::task) fn forget_old_words(&mut self, most: usize) {
        let is_said = |settled: &&DecidedCall| !settled.kind.is_call();
        let mut surplus = self.settled.iter().take(self.told()).filter(is_said).count().saturating_sub(most);
        while surplus > 0
            && let Some(at) = self.settled.iter().position(|settled| !settled.kind.is_call())
        {
            self.settled.remove(at);
            surplus = surplus.saturating_sub(1);
        }
    }

    /// What no operation has told of.
    pub(in crate::task) fn tell(&mut self) -> Vec<DecidedCall> {
        let untold = self.settled.iter().skip(self.told()).cloned().collect();
        self.untold = 0;
        untold
    }

    fn told(&self) -> usize {
        self.settled.len().saturating_sub(self.untold)
    }

    /// Whether calls are held until reviews are closed.
    pub(in crate::task) fn holds(&self) -> bool {
        self.waiting.iter().any(|queued| queued.held.is_some())
    }

    /// How many calls wait.
    pub(in crate::task) fn calls(&self) -> usize {
        self.waiting.iter().filter(|queued| !queued.wanted.is_said()).count()
    }

    /// The inputs and events that wait.
    pub(in crate::task) fn said(&self) -> impl Iterator<Item = &Wanted> {
        self.waiting.iter().map(|queued| &queued.wanted).filter(|wanted| wanted.is_said())
    }

    /// Whether there is no word of any operation.
    pub(in crate::task) fn is_empty(&self) -> bool {
        self.waiting.is_empty() && self.settled.is_empty()
    }
}

impl Wanted {
    /// Whether somebody but the model has said it: it is an input or an event.
    pub(in crate::task) fn is_said(&self) -> bool {
        !matches!(self, Self::Call { .. })
    }

    /// The document that it brings.
    pub(in crate::task) fn document(&self) -> &Json {
        match self {
            Self::Call { call, .. } => &call.arguments,
            Self::Input { input } => input,
            Self::Event { payload, .. } => payload,
        }
    }

    /// The kind of operation.
    pub(in crate::task) fn kind(&self) -> DecidedKind {
        match self {
            Self::Call { .. } => DecidedKind::Call,
            Self::Input { .. } => DecidedKind::Input,
            Self::Event { .. } => DecidedKind::Event,
        }
    }

    /// The same under its name.
    pub(in crate::task) fn named(&self, id: CallId) -> Named {
        let function = if let Self::Call { call, .. } = self { call.function.clone() } else { String::new() };
        Named { id, kind: self.kind(), function }
    }
}

/// An operation with a name, which somebody waits for.
pub(in crate::task) struct Named {
    pub(in crate::task) id: CallId,
    pub(in crate::task) kind: DecidedKind,
    /// The function of a call.
    pub(in crate::task) function: String,
}

impl Named {
    /// What it came to.
    pub(in crate::task) fn decided(self, decision: Decision) -> DecidedCall {
        let Self { id: call, kind, function } = self;
        DecidedCall { call, kind, function, decision }
    }
}

#[cfg(test)]
mod tests {
    use super::QueuedOperation;
    use serde_json::{Value, json};

    #[test]
    fn what_waits_is_read_as_it_was_written() {
        let course = json!({
            "subject": { "Input": "Caller" }, "stage": "GuardrailBefore", "step": 0, "entered": false, "formed": null, "exchanges": [],
            "trace": [], "findings": [], "cost": 0,
        });
        for stored in [
            json!({ "id": "c1", "call": { "function": "f", "arguments": {} }, "extent": "Whole", "since": 5 }),
            json!({ "id": "i1", "input": null }),
            json!({ "id": "i2", "input": { "message": "m" }, "held": course }),
            json!({ "id": "e1", "capability": "c", "event": "e", "payload": null }),
        ] {
            let read: QueuedOperation = serde_json::from_value(stored.clone()).unwrap();
            assert_eq!(serde_json::to_value(&read).unwrap(), stored);
        }
    }

    #[test]
    fn what_waits_for_nothing_that_is_known_is_refused() {
        let refused =
            |stored: Value| serde_json::from_value::<QueuedOperation>(stored).unwrap_err().to_string();
        let course = json!({ "stage": "Before", "step": 0, "entered": false, "formed": null, "exchanges": [], "trace": [], "findings": [] });
        for stored in [
            json!({ "id": "c1" }),
            json!({ "id": "c1", "call": { "function": "f", "arguments": {} } }),
            json!({ "id": "e1", "capability": "c", "event": "e" }),
        ] {
            assert_eq!(refused(stored), "expected a call, an input or an event that waits");
        }
        assert_eq!(refused(json!({ "id": "i1", "input": {}, "held": course })), "missing field `subject`");
    }
}
