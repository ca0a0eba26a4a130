//! Inputs and responses: parameters, `exposes`, guardrails (GR, CTX, EXP).
//!
//! The entry under test is the last of `context.input` or `context.output` while its guardrails run (GR-08); it stays if they
//! let it through and is taken back if not. A turn of an input is added when the input is admitted.

use super::evaluation::replay::{Halt, Replay};
use super::messages;
use super::state::{
    Allowed, CallId, Decision, Enforced, Finding, Next, Progress, Sender, Stage, Subject, Task, UnderWay,
    Verdict, VerdictKind, Wanted,
};
use crate::cel::{Json, JsonRef, Timestamp};
use crate::context::{Activations, Moment, TaskIo};
use crate::policy::DecidedOperation;

impl Task {
    pub(super) fn begin_input(&mut self, input: &Json, now: Timestamp) -> Progress {
        let wanted = || Wanted::Input { input: input.clone() };
        let put_off = |task: &mut Self| task.put_off(DecidedOperation::Input, wanted);
        match self.hindrance_at_end(now).or_else(|| put_off(self)) {
            Some(decision) => decision.into(),
            None => self.judge_input(input, None, now),
        }
    }

    /// Judges an input that waits for no other operation, under its name if it has waited.
    pub(super) fn judge_input(&mut self, input: &Json, name: Option<CallId>, now: Timestamp) -> Progress {
        if let Some(decision) = self.beyond(Next::Other, now) {
            return decision.into();
        }
        let mut operation = UnderWay::new(Subject::Input(Sender::Caller), Stage::GuardrailBefore);
        operation.course.would_stop(self.would_be_beyond(Next::Other, now));
        let entry = match self.entry(input.root()) {
            Ok(entry) => entry,
            Err(message) => match self.unfit_entry(input.root()) {
                Some(entry) => {
                    operation.course.would_stop(Enforced::new(VerdictKind::InvalidInput, message));
                    entry
                }
                None => {
                    return Decision::new(Verdict::invalid_input(message)).into();
                }
            },
        };
        if let Some(decision) = self.beyond_bytes(entry.bytes() as u64) {
            return decision.into();
        }
        self.take_step(now);
        self.context.push_input(entry);
        self.label_first_input();
        self.advance(operation.under(name), now.into())
    }

    /// The entry of an input that does not fit the agent's parameters and goes on all the same, as the task is only observed: with the
    /// values that it came with. What has no message is no input.
    fn unfit_entry(&self, input: JsonRef<'_>) -> Option<TaskIo> {
        if !self.policy.observes() {
            return None;
        }
        let text = input.as_str().map(|_| input);
        let entry = TaskIo::new(text.or_else(|| input.get("message"))?).ok()?;
        let others = input.entries().filter(|(name, _)| *name != "message");
        let extra = Json::object(others.map(|(name, value)| (name, value.to_json())));
        Some(entry.with_extra(extra.root()))
    }

    pub(super) fn begin_output(&mut self, output: &Json, now: Timestamp) -> Progress {
        if let Some(refusal) = self.hindrance(now) {
            return refusal.into();
        }
        let message = output.root().get("message").unwrap_or(output.root());
        let entry = match TaskIo::new(message) {
            Ok(entry) => entry,
            Err(error) => {
                return Decision::new(Verdict::invalid_input(messages::not_a_message(error))).into();
            }
        };
        if let Some(decision) = self.beyond_bytes(entry.bytes() as u64) {
            return decision.into();
        }
        self.take_step(now);
        let now = Moment::from(now);
        self.context.push_output(entry.clone());
        let mut operation = UnderWay::new(Subject::Output, Stage::GuardrailAfter);
        if !self.policy.exposes().is_empty() {
            let exposed = self.expose(&now, &mut operation.course.findings);
            self.context.replace_last_output(entry.with_extra(exposed.root()));
        }
        self.advance(operation, now)
    }

    /// The entry of an input, its parameters resolved; or why it is not valid.
    pub(super) fn entry(&self, input: JsonRef<'_>) -> Result<TaskIo, String> {
        let parameters = self.policy.input();
        if !input.is_object() && input.as_str().is_none() {
            return Err(messages::input_not_an_object(input.value().kind()));
        }
        let text = input.as_str().map(|_| input);
        let message = text.or_else(|| input.get("message"));
        let message = message.or_else(|| parameters.default_message().map(Json::root));
        let entry = match message {
            Some(message) => TaskIo::new(message),
            None => Err(crate::context::TaskIoError::NoMessage),
        };
        let entry = entry.map_err(messages::not_a_message)?;
        let fits = parameters.admit_message(|| entry.message_text());
        fits.map_err(|fault| messages::bad_input(&[fault]))?;
        let previous = self.context.last_input().map(TaskIo::extra);
        match parameters.admit(input, previous, &self.policy.limits().eval) {
            Ok(extra) => Ok(entry.with_extra(extra.root())),
            Err(faults) => Err(messages::bad_input(&faults)),
        }
    }

    /// The values of `exposes`. One that fails is null and a finding; the response still goes out (EXP-03).
    fn expose(&self, now: &Moment, findings: &mut Vec<Finding>) -> Json {
        let mut surroundings = Activations::new(self.surroundings(now));
        let values = self.policy.exposes().iter().map(|expose| {
            let mut replay = Replay::mute();
            let value = match replay.settle(expose.value.json(&mut surroundings, None)) {
                Ok(value) => value,
                Err(Halt::Failed(error)) => {
                    findings.push(Finding::of_error(&error, expose.value.origin_of(error.span)));
                    Json::null()
                }
                // the scope of `exposes` has no function that asks
                Err(Halt::Asks(..)) => Json::null(),
            };
            (&*expose.name, value)
        });
        Json::object(values)
    }

    /// Accepts the input under test.
    pub(super) fn admit(&mut self, operation: UnderWay) -> Decision {
        self.record_message();
        let value = self.context.last_input().map(TaskIo::to_json);
        let secret = self.hidden_input(value.as_ref());
        let verdict = match operation.subject {
            Subject::Input(Sender::Event) => Verdict::Route { value },
            _ => Verdict::allow(value),
        };
        Decision { secret, ..operation.decide(verdict) }
    }

    /// Lets the response under test out.
    pub(super) fn deliver(&mut self, operation: UnderWay) -> Decision {
        let entry = self.context.last_output();
        let value = entry.map(TaskIo::to_json);
        let exposes = entry.map(|entry| entry.extra().to_json()).filter(|exposes| !exposes.root().is_empty());
        let secret = self.hidden_response(exposes.as_ref());
        let passed = Allowed { value, exposes, ..Allowed::default() };
        Decision { secret, ..operation.decide(Verdict::Allow(passed)) }
    }
}
