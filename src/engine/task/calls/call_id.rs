//! Which call an id names: a new one, one that is made or reported once more, or another, and then it is the host's mistake.
//!
//! In: a call as the host makes it, or a result as it reports it. Out: nothing for what is new; how far the call has come for what
//! was there before, and nothing happens. So a host that does not know whether its request arrived sends it again.

use crate::cel::Json;
use crate::context::{InvocationId, InvocationStatus, KeptPart, LabelSet};
use crate::task::messages;
use crate::task::state::{
    Call, CallId, CallResult, CallStatus, Closed, DecidedKind, Decision, Enforced, Extent, KnownCall, Mark,
    Progress, Task, TaskError, VerdictKind,
};

impl Task {
    /// How far a call has come that is made once more.
    pub(in crate::task) fn made_before(
        &self,
        call: &Call,
        extent: Extent,
    ) -> Result<Option<Progress>, TaskError> {
        let Some(id) = &call.id else { return Ok(None) };
        let Some(known) = self.known_id(id)? else { return Ok(None) };
        if !known.is_made_so(Mark::of_call(call, extent)) {
            return Err(TaskError::CallExists(id.clone()));
        }
        if extent == Extent::Before && self.is_unruled(id) {
            let message = messages::unknown_function(&call.function, &self.policy, &self.left_out);
            let enforced = Enforced::new(VerdictKind::Error, message);
            return Ok(Some(self.unruled(call, id.clone(), Some(enforced)).into()));
        }
        let standing = self.standing(id).map(|decision| match (extent, &decision.call) {
            // it was carried out: its value is no argument to go on with
            (Extent::Before, None) if decision.is_allowed() => Decision::turned_away(messages::reported()),
            _ => decision,
        });
        Ok(self.asks_at(id).or_else(|| standing.map(Progress::from)))
    }

    /// What is known of an id that a host gives.
    pub(in crate::task) fn known_id(&self, id: &CallId) -> Result<Option<&KnownCall>, TaskError> {
        let max = self.policy.limits().max_id_bytes;
        if id.is_sound(max) { Ok(self.known.get(id)) } else { Err(TaskError::BadCallId { max }) }
    }

    /// What the result came to that is reported once more; nothing of a call whose result nobody has reported.
    pub(in crate::task) fn reported_again(
        &self,
        call: &CallId,
        result: &CallResult,
    ) -> Option<Result<Progress, TaskError>> {
        let known = self.known.get(call)?;
        if known.result()? != Mark::of_result(result) {
            return Some(Err(TaskError::OtherResult(call.clone())));
        }
        let decision = match known.closed() {
            // it is the result that was reported before, as its digest says: what was not kept of it is at hand again
            Closed::OnRecord(decision, record) if self.is_shortened(record) => {
                decision.with_value(result.output.clone())
            }
            _ => self.came_to(known),
        };
        Some(Ok(self.asks_at(call).unwrap_or_else(|| decision.into())))
    }

    /// Whether the task knows a call by this id: one that is open or waits, or one of the last `max_known_calls` that are over.
    #[must_use]
    pub fn has_call(&self, id: &CallId) -> bool {
        self.known.get(id).is_some()
    }

    pub(in crate::task) fn asks_at(&self, call: &CallId) -> Option<Progress> {
        let question = self.question_of(call)?;
        self.questions().find(|asked| asked.id == question).map(Progress::Asks)
    }

    /// How far a call has come that is over.
    pub(in crate::task) fn over(&self, known: &KnownCall, id: &CallId) -> Decision {
        let decision = match known.result() {
            Some(_) => Decision::turned_away(messages::reported()),
            None => self.came_to(known),
        };
        // one that is allowed under an id is to be carried out
        let call = (!decision.is_allowed()).then(|| id.clone());
        Decision { call, ..decision }
    }

    /// What a call came to that is over.
    pub(in crate::task) fn came_to(&self, known: &KnownCall) -> Decision {
        match known.closed() {
            Closed::Told(decision) => decision,
            Closed::OnRecord(decision, record) => {
                let value = self.context.value_of(record, KeptPart::Output);
                match value.filter(|value| !value.is_shortened()) {
                    Some(value) => decision.with_value(value.clone()),
                    None => Decision::turned_away(messages::not_kept()),
                }
            }
            Closed::NotKept => {
                self.rejection_at_end().unwrap_or_else(|| Decision::turned_away(messages::not_kept()))
            }
        }
    }

    /// The id of a call that begins: its own, or one that is made up.
    pub(in crate::task) fn name(&mut self, call: &Call, extent: Extent) -> CallId {
        match &call.id {
            Some(id) => {
                self.known.make(id.clone(), Some(Mark::of_call(call, extent)));
                id.clone()
            }
            None => self.made_up_id(DecidedKind::Call),
        }
    }

    /// An id for a call that was given none, or for another operation that somebody waits for.
    pub(in crate::task) fn made_up_id(&mut self, kind: DecidedKind) -> CallId {
        loop {
            let id = CallId::of_kind(kind, self.next_call);
            self.next_call = self.next_call.saturating_add(1);
            if !self.has_call(&id) {
                self.known.make(id.clone(), None);
                return id;
            }
        }
    }

    /// Closes a call that came to its end with this decision, and that has an id.
    pub(in crate::task) fn close_with(&mut self, id: Option<&CallId>, progress: &Progress) {
        if let Progress::Decided(decision) = progress {
            self.close_unless_open(id, decision);
        }
    }

    /// The same for a call that is decided. One that was let through, or that waits, is open.
    pub(in crate::task) fn close_unless_open(&mut self, id: Option<&CallId>, decision: &Decision) {
        let Some(id) = id.filter(|id| !self.is_under_way(id)) else { return };
        let record = self.known.get(id).and_then(KnownCall::on_record);
        let is_on_record = decision
            .verdict
            .value()
            .zip(record)
            .is_some_and(|(value, record)| self.is_result(value, record, self.known.get(id)));
        let most = self.policy.limits().max_known_calls;
        self.known.close(id, decision, is_on_record, most);
    }

    /// Whether the result on record is not kept whole.
    fn is_shortened(&self, record: InvocationId) -> bool {
        self.context.value_of(record, KeptPart::Output).is_some_and(Json::is_shortened)
    }

    /// Whether a value is the result of a call, as it is on record, or as its digest says that it was reported.
    fn is_result(&self, value: &Json, record: InvocationId, known: Option<&KnownCall>) -> bool {
        let Some(record) = self.context.invocation(record) else { return false };
        let Some(output) = &record.output else { return false };
        if !output.is_shortened() {
            return output.is_same(value);
        }
        let Some(reported) = known.and_then(KnownCall::result) else { return false };
        let status = match record.status {
            InvocationStatus::Successful => CallStatus::Successful,
            InvocationStatus::Errored => CallStatus::Errored,
            InvocationStatus::Restricted => return false,
        };
        let task_id = record.task_id.as_deref().map(str::to_owned);
        let result = CallResult { status, output: value.clone(), task_id, labels: LabelSet::new() };
        Mark::of_result(&result) == reported
    }

    fn is_under_way(&self, id: &CallId) -> bool {
        self.open.iter().any(|open| open.id == *id)
            || self.model.get(id).is_some()
            || self.question_of(id).is_some()
            || self.queue.waiting.iter().any(|queued| queued.id == *id)
    }
}
