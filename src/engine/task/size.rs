//! What a task takes, and what it keeps of the results of its calls.
//!
//! In: the limits of the policy, and the calls that an operation has put on record. Out: a count in constant time, and
//! values of which only the digest is kept. A step that would bring more than there is room for ends the task; a result
//! cannot be refused, for the call has run. So it is kept as its digest if it does not fit, and its bytes go on counting:
//! the next step then says that the task is full, and no guard ever takes a part of a value for the whole.
//! Where the host wants no more kept than rules read, the others are dropped at once: the steps of the call have its values in hand.

use super::state::{Exchange, Retain, Review, Subject, Task, UnderWay};
use crate::cel::Json;
use crate::context::{CallValues, Caller, InvocationId, InvocationRecord, KeptPart};

/// Values that take no more than this are kept: a digest would hardly be shorter.
const SMALL_BYTES: u64 = 1_024;

/// What a document takes.
pub(super) fn of(document: &Json) -> u64 {
    document.heap_bytes() as u64
}

impl Task {
    /// The bytes that the task takes: messages, arguments and results, calls that are let through and not reported, what waits
    /// for others, and what an operation holds that waits. Results that it had no room for count as if they were there. `max_task_bytes`
    /// bounds it.
    ///
    /// # Cost
    /// Constant in the length of the task; linear in the answers that a waiting operation was given, and in the operations that wait.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.held_bytes().saturating_add(self.context.lacking_bytes())
    }

    /// The same without the results that it had no room for.
    fn held_bytes(&self) -> u64 {
        let waiting = self.waiting.iter().flat_map(|pending| {
            let script = pending.script.as_deref().map_or(0, UnderWay::bytes);
            [pending.operation.bytes(), script]
        });
        let queued = self.queue.waiting.iter().map(|queued| {
            let held = queued.held.as_deref().map_or(0, UnderWay::bytes);
            held.saturating_add(of(queued.wanted.document()))
        });
        let settled =
            self.queue.settled.iter().filter_map(|settled| settled.decision.verdict.value().map(of));
        let reviews = self.reviews.iter().map(Review::bytes);
        [self.open_bytes, self.script_bytes, self.known.bytes(), self.model.bytes()]
            .into_iter()
            .chain(reviews)
            .chain(waiting)
            .chain(queued)
            .chain(settled)
            .fold(self.context.bytes(), u64::saturating_add)
    }

    /// Puts an invocation on record, and keeps of its values what the task is to keep.
    pub(super) fn put_on_record(&mut self, invocation: InvocationRecord) -> InvocationId {
        let kept = match self.retain {
            Retain::All => CallValues::ALL,
            Retain::Needed => self.policy.values_read(invocation.function.0 as usize),
        };
        self.context.record_keeping(invocation, kept)
    }

    /// Shortens the values on record that are too large by themselves, or that the task has no room for, once no step
    /// of the operation reads them any more.
    pub(super) fn keep_what_fits(&mut self, recorded: &[InvocationId]) {
        let limits = self.policy.limits();
        let (most, each) = (limits.max_task_bytes, limits.max_kept_value_bytes as u64);
        for &id in recorded {
            for part in [KeptPart::Output, KeptPart::Input] {
                let Some(bytes) = self.value_bytes(id, part) else { continue };
                let is_full = self.held_bytes() > most;
                if bytes > each || is_full && bytes > SMALL_BYTES {
                    self.context.shorten(id, part, is_full);
                }
            }
        }
    }

    /// What a value takes that may be shortened: arguments of the model were let through within the limit.
    fn value_bytes(&self, id: InvocationId, part: KeptPart) -> Option<u64> {
        let may_be = part == KeptPart::Output || self.context.invocation(id)?.origin == Caller::Middleware;
        self.context.value_of(id, part).filter(|value| may_be && !value.is_dropped()).map(of)
    }
}

impl UnderWay {
    /// The documents that it holds.
    pub(super) fn bytes(&self) -> u64 {
        let subject = match &self.subject {
            Subject::Call(call) => {
                // on record its result is counted already, but a transform makes another
                of(&call.arguments).saturating_add(call.output.as_ref().map_or(0, of))
            }
            Subject::Event(event) => of(&event.data).saturating_add(of(&event.entry)),
            Subject::Script(script) => script.source.len() as u64,
            Subject::Model(model) => of(model.judged()),
            Subject::Input(_) | Subject::Output => 0,
        };
        let course = &self.course;
        let exchanges = course.exchanges.iter().map(Exchange::bytes);
        let formed = course.formed.as_ref().map_or(0, of);
        let notes = course.notes.iter().map(|note| note.len() as u64);
        let results = course.results.bytes();
        exchanges.chain(notes).chain([formed, results]).fold(subject, u64::saturating_add)
    }
}
