//! How far a call, or another operation that has waited or asked, has come: asked by its name, at any time, and nothing happens.

use crate::task::messages;
use crate::task::state::{Allowed, CallId, Decision, Task, Verdict};

impl Task {
    /// How far a call, or an input, event or response that has waited or asked, has come: [`Verdict::Wait`] while it waits for others, [`Verdict::Suspend`] while it asks,
    /// [`Verdict::Allow`] with its arguments while its result is awaited; of a call that has waited the decision, until the
    /// model has its next turn. Of a call that is over it is what it came to, as far as that is kept: [`Verdict::Rejected`] once its
    /// result was reported. Nothing of a call that the task does not know (any more: `max_known_calls`).
    ///
    /// # Cost
    /// Linear in the calls that are open or wait.
    #[must_use]
    pub fn standing(&self, call: &CallId) -> Option<Decision> {
        let queued = self.queue.waiting.iter().position(|queued| queued.id == *call);
        if let Some((at, queued)) = queued.and_then(|at| Some((at, self.queue.waiting.get(at)?))) {
            if let Some(held) = &queued.held {
                return Some(self.hold_decision(call, held));
            }
            let awaited = self.dependencies_of(&queued.wanted).and_then(|own| self.awaited_by(own, at));
            let message =
                if queued.wanted.is_said() { messages::is_said_later() } else { messages::waits_for_calls() };
            let operation = self.operation_of(&queued.wanted);
            return Some(self.wait_decision(call.clone(), operation, awaited.unwrap_or_default(), message));
        }
        if let Some(question) = self.question_of(call) {
            return self.suspension_at(question);
        }
        if let Some(settled) = self.queue.settled.iter().find(|settled| settled.call == *call) {
            return Some(settled.decision.clone());
        }
        if let Some(open) = self.model.get(call) {
            return Some(self.request_decision(open));
        }
        let Some(open) = self.open.iter().find(|open| open.id == *call) else {
            return self.known.get(call).map(|known| self.over(known, call));
        };
        let secret = self.hidden_arguments(open.function, &open.arguments);
        let value = Some(open.arguments.clone());
        let (terms, notes) = (open.terms.clone(), open.notes.clone());
        let verdict = Verdict::Allow(Allowed { value, terms, ..Allowed::default() });
        Some(Decision { call: Some(call.clone()), secret, notes, ..Decision::new(verdict) })
    }
}
