//! Reviews: what a person is shown while an operation waits for them, and what their answer does to it.
//!
//! In: operations that ask for a review, and answers. Out: [`Review`]s as data, open and closed. An approval or a denial is the value of
//! the `review` that asked. An edit gives the call other arguments, which pass the steps ahead of it from their beginning. A
//! response is the result of a call that does not run. Nobody's answer in time is a denial.

use crate::cel::{Json, JsonRef, Timestamp};
use crate::context::{InvocationStatus, Moment, TaskIo};
use crate::manifest::review::NoteReader;
use crate::policy::{Resolution, ReviewPanel};
use crate::task::execution::result_misfit;
use crate::task::messages;
use crate::task::state::{
    Answer, Asked, CallCounters, CallUnderWay, Exchange, Named, Pending, Progress, Request, Review,
    ReviewAnswer, ReviewChoice, ReviewState, Reviewed, Rule, Stage, StepName, Subject, Task, TaskError,
    UnderWay, Verdict,
};
use std::sync::Arc;

const NANOS_PER_MILLI: i128 = 1_000_000;

impl Task {
    /// The reviews of the task: those that are closed in the order in which they were closed, then those that are open in the
    /// order in which they were asked.
    ///
    /// # Cost
    /// Linear in the reviews, and for each open one in what is reviewed.
    pub fn reviews(&self) -> impl Iterator<Item = Review> {
        let open = self.waiting.iter().filter_map(|pending| self.open_review(pending));
        self.reviews.iter().cloned().chain(open)
    }

    fn open_review(&self, pending: &Pending) -> Option<Review> {
        let reviewer = pending.reviewer()?.to_owned();
        let operation = &pending.operation;
        let call = operation.subject.call();
        let (arguments, result) = match call {
            Some(call) if call.record.is_some() => (Some(call.arguments.clone()), call.output.clone()),
            Some(call) => (Some(call.arguments.clone()), None),
            None => (None, None),
        };
        let message = match &operation.subject {
            Subject::Input(_) => self.context.last_input().map(TaskIo::to_json),
            Subject::Output => self.context.last_output().map(TaskIo::to_json),
            Subject::Event(event) => Some(event.entry.clone()),
            Subject::Model(model) => Some(self.policy.masked_of_model(model.judged())),
            Subject::Call(_) | Subject::Script(_) => None,
        };
        let step = operation.step_under_way(&self.policy);
        let hook = operation.course.stage.hook();
        let name = step.and_then(|step| Some(StepName { hook: hook?, index: step.index }));
        let capability = operation.subject.capability(&self.policy);
        let digest = self.policy.review_digest(
            call.map(|_| capability),
            call.and_then(|call| self.policy.function(call.function)).map(|function| &*function.key),
            [&arguments, &result, &message].map(|document| document.as_ref().map(Json::root)),
        );
        let (asked_at, expires_at, text, approvals) = match &pending.asked {
            Some(Asked { at, expires, text, approvals }) => {
                (Some(*at), *expires, text.clone(), approvals.clone())
            }
            None => (None, None, None, Vec::new()),
        };
        let panel = pending.panel().cloned();
        Some(Review {
            question: pending.id,
            state: ReviewState::Open,
            reviewer,
            panel,
            approvals,
            call: call.and_then(|call| call.id.clone()),
            function: call.and_then(|call| Some(self.policy.function(call.function)?.key.to_string())),
            step: name,
            arguments,
            result,
            message,
            text,
            rule: step
                .map(|step| Rule { expression: step.source().map(str::to_owned), origin: step.origin() }),
            asked_at,
            expires_at,
            digest,
            answered: None,
        })
    }

    /// What is known of a review from the moment when it is asked.
    pub(in crate::task) fn asked(
        &self,
        operation: &UnderWay,
        request: &Request,
        now: &Moment,
    ) -> Option<Asked> {
        let text = Some(self.asked_text(operation, now).shown().to_owned());
        let at = now.timestamp()?;
        let most = self.policy.limits().max_review_ms;
        let Request::Review { reviewer, panel } = request else { return None };
        let patience = panel.as_ref().and_then(|panel| panel.expires_ms).map_or(most, |own| own.min(most));
        let patience = i128::from(patience).saturating_mul(NANOS_PER_MILLI);
        // who has changed the arguments has approved of them
        let editors = operation.course.editors.iter().filter(|(of, _)| of == reviewer);
        let approvals = editors.filter(|_| panel.is_some()).map(|(_, edit)| edit.clone()).collect();
        // beyond the end of time it never expires
        let expires = Timestamp::from_nanos(at.nanos().saturating_add(patience)).ok();
        Some(Asked { at, expires, text, approvals })
    }

    /// Puts a review on record that needs no answer any more.
    pub(in crate::task) fn close_review(
        &mut self,
        pending: &Pending,
        state: ReviewState,
        answered: Option<Reviewed>,
    ) {
        if let Some(review) = self.open_review(pending) {
            // what the call gave is on record with the call, as far as the task has room for it
            let closed = Review { state, answered, result: None, message: None, ..review };
            self.context.push_review(closed.in_context());
            self.reviews.push(closed);
        }
    }

    /// What the model is told of the notes with which a review is closed: those of all who approved of it, or that of who did not.
    pub(in crate::task) fn notes_of(&self, pending: &Pending, answer: &Answer) -> Vec<String> {
        let Answer::Review(answer) = answer else { return Vec::new() };
        let step = pending.operation.step_under_way(&self.policy);
        if step.is_some_and(|step| step.note == NoteReader::Private) {
            return Vec::new();
        }
        let others = match answer.choice {
            ReviewChoice::Approve => pending.approvals(),
            _ => &[],
        };
        let is_same = |other: &&Reviewed| other.answer.by != answer.by;
        let others = others.iter().filter(is_same).map(|other| &other.answer);
        others.chain([answer]).filter_map(|answer| answer.note.clone()).collect()
    }

    /// The parameters that an edit comes to, if the answer is one.
    pub(in crate::task) fn edited(
        &self,
        pending: &Pending,
        answer: &ReviewAnswer,
        now: Timestamp,
    ) -> Result<Option<Resolution>, TaskError> {
        let is_ahead = pending.operation.course.stage.is_ahead_of_call();
        let call = pending.operation.subject.call().filter(|_| is_ahead);
        match (&answer.choice, call) {
            (ReviewChoice::Approve | ReviewChoice::Deny, _) => Ok(None),
            (ReviewChoice::Respond { .. }, Some(_)) => Ok(None),
            (ReviewChoice::Edit { arguments }, Some(call)) => {
                self.resolved_edit(call, arguments, now).map(Some)
            }
            (ReviewChoice::Edit { .. } | ReviewChoice::Respond { .. }, None) => Err(TaskError::WrongAnswer),
        }
    }

    fn resolved_edit(
        &self,
        call: &CallUnderWay,
        arguments: &Json,
        now: Timestamp,
    ) -> Result<Resolution, TaskError> {
        let function = self.policy.function(call.function).ok_or(TaskError::WrongAnswer)?;
        if !arguments.root().is_object() {
            return Err(TaskError::BadEdit(messages::edit_not_an_object(arguments.root().value().kind())));
        }
        let resolution = self.resolve_parameters(function, arguments, &now.into(), &mut Vec::new());
        let value = |document: &Json, name: &str| document.root().get(name).map(JsonRef::to_json);
        let is_changed = |name: &&Arc<str>| value(arguments, name) != value(&call.arguments, name);
        if let Some(bound) = resolution.ignored.iter().find(is_changed) {
            return Err(TaskError::BadEdit(messages::bound_parameter(bound)));
        }
        if !resolution.faults.is_empty() {
            return Err(TaskError::BadEdit(messages::bad_arguments(&resolution.faults)));
        }
        Ok(resolution)
    }

    /// Gives an answer to the operation that has asked.
    pub(in crate::task) fn give(
        &mut self,
        operation: &mut UnderWay,
        question: Request,
        answer: Answer,
        edited: Option<Resolution>,
        now: Timestamp,
    ) {
        if let Request::Counters { .. } = question {
            return self.count(operation, answer, now);
        }
        let UnderWay { subject, course, .. } = operation;
        if let (Request::Review { reviewer, panel }, Answer::Review(answer), Subject::Call(call)) =
            (&question, &answer, subject)
        {
            if let Some(resolution) = edited {
                call.arguments = resolution.arguments;
                call.unbound = !resolution.unbound.is_empty();
                call.counters = CallCounters::Unread;
                course.counters.clear();
                course.begin_anew();
                let is_enough = |panel: &ReviewPanel| panel.is_full(&[&*answer.addressed_as]);
                if panel.as_ref().is_none_or(is_enough) {
                    course.approved.push(reviewer.clone());
                } else {
                    let approval = ReviewAnswer { choice: ReviewChoice::Approve, ..answer.clone() };
                    course.editors.push((reviewer.clone(), Reviewed { answer: approval, at: now }));
                }
                return;
            }
            if let ReviewChoice::Respond { result } = &answer.choice {
                let record = self.record_call(call, None, InvocationStatus::Restricted, &now.into());
                call.record = Some(record);
                let function = self.policy.function(call.function);
                let misfit = function.and_then(|function| result_misfit(function, result));
                call.output = Some(result.clone());
                call.responded = true;
                course.findings.extend(misfit);
                return course.enter(Stage::After);
            }
            if answer.approves() && course.stage.is_ahead_of_call() {
                course.approved.push(reviewer.clone());
            }
        }
        course.exchanges.push(Exchange { question, answer });
    }

    /// Denies the reviews that nobody has answered in time, and keeps the decisions of their calls for the runtime.
    pub(in crate::task) fn deny_expired(&mut self, now: Timestamp) {
        while self.end.is_none()
            && let Some(position) = self.waiting.iter().position(|pending| pending.has_expired(now))
        {
            let pending = self.waiting.remove(position);
            self.close_review(&pending, ReviewState::Expired, None);
            let Pending { mut operation, request, script, .. } = pending;
            let named = self.named(&operation);
            operation.course.exchanges.push(Exchange { question: request, answer: Answer::deny() });
            let progress = self.go_on(operation, script, now);
            let progress = self.settle_event(progress, now);
            if let (Some(named), Progress::Decided(decision)) = (named, progress)
                && !matches!(decision.verdict, Verdict::Wait { .. })
            {
                self.close_unless_open(Some(&named.id), &decision);
                self.queue.settle(named.decided(decision));
            }
        }
    }

    /// Names an operation that has no name yet: somebody is about to wait for it.
    pub(in crate::task) fn with_name(&mut self, operation: UnderWay) -> UnderWay {
        match (operation.name(), operation.subject.kind()) {
            (None, Some(kind)) => operation.under(Some(self.made_up_id(kind))),
            _ => operation,
        }
    }

    /// An operation by its name, if it has one.
    pub(in crate::task) fn named(&self, operation: &UnderWay) -> Option<Named> {
        let function = match operation.subject.call() {
            Some(call) => self.policy.function(call.function)?.key.to_string(),
            None => String::new(),
        };
        Some(Named { id: operation.name()?.clone(), kind: operation.subject.kind()?, function })
    }
}
