//! Calls of the model: the steps of policies on what is sent, and on what comes back.
//!
//! In: a request before it is sent, and the answer. Out: whether either goes on, and what is sent or used instead. The engine calls no
//! model; its host does. An answer is a turn of the model, so it is counted when it comes, and a turn that its host reports
//! afterwards is not counted again.
//!
//! Steps ahead of a call judge what is known: while calls are open that may change what they read, no call of the model begins.
//! Those behind it never wait, as steps behind a call of a tool do not.

use super::messages;
use super::size;
use super::state::{
    CallId, CountedTurn, DecidedKind, Decision, Finding, Hidden, KnownCall, Mark, ModelCall, ModelUnderWay,
    Next, OpenModelCall, Progress, Ran, Refused, SpentTurn, Stage, Subject, Task, TaskError, UnderWay, Usage,
    Verdict,
};
use crate::cel::{Json, Timestamp};
use crate::counter::HoldEnd;
use crate::policy::{DecidedOperation, ModelAnswer, ModelRequest};

impl Task {
    pub(super) fn begin_model_before(
        &mut self,
        call: &ModelCall,
        now: Timestamp,
    ) -> Result<Progress, TaskError> {
        match self.model_asked_before(call)? {
            Some(progress) => Ok(progress),
            None => Ok(self.judge_request(call, now)),
        }
    }

    /// How far a call of the model has come that is announced once more.
    fn model_asked_before(&self, call: &ModelCall) -> Result<Option<Progress>, TaskError> {
        let Some(id) = &call.id else { return Ok(None) };
        let Some(known) = self.known_id(id)? else { return Ok(None) };
        if !known.is_made_so(Mark::of_request(&call.request)) {
            return Err(TaskError::CallExists(id.clone()));
        }
        Ok(self.asks_at(id).or_else(|| self.standing(id).map(Progress::from)))
    }

    fn judge_request(&mut self, call: &ModelCall, now: Timestamp) -> Progress {
        if let Some(hindrance) = self.hindrance(now) {
            return hindrance.into();
        }
        let policy = self.policy.clone();
        if let Some(waits_for) = self.awaited_by(policy.dependencies_of_model(), self.queue.waiting.len()) {
            let because = self.because(DecidedOperation::Model, &waits_for);
            let refused = Refused::for_the_reason(messages::model_waits());
            return Decision::new(Verdict::Rejected { refused, waits_for, because }).into();
        }
        let would_be_beyond = self.would_be_beyond(Next::ModelTurn, now);
        let beyond = self.beyond(Next::ModelTurn, now).or_else(|| self.beyond_a_stretch(Next::ModelTurn));
        if let Some(decision) = beyond {
            return decision.into();
        }
        let request = match ModelRequest::of(call.request.root()) {
            Ok(request) => request,
            Err(why) => return not_valid(why).into(),
        };
        if let Some(decision) = self.beyond_bytes(size::of(request.json())) {
            return decision.into();
        }
        self.take_step(now);
        self.model.begin();
        let id = match &call.id {
            Some(id) => {
                self.known.make(id.clone(), Some(Mark::of_request(&call.request)));
                id.clone()
            }
            None => self.made_up_id(DecidedKind::Model),
        };
        let subject = Subject::Model(ModelUnderWay::new(request, call.usage()));
        let mut operation = UnderWay::new(subject, Stage::ModelBefore).under(Some(id.clone()));
        operation.course.would_stop(would_be_beyond);
        let progress = self.advance_under(&policy, operation, now.into());
        self.close_with(Some(&id), &progress);
        progress
    }

    pub(super) fn begin_model_after(
        &mut self,
        id: &CallId,
        answer: &Json,
        now: Timestamp,
    ) -> Result<Progress, TaskError> {
        let mark = Mark::of_answer(answer);
        if let Some(reported) = self.known.get(id).and_then(KnownCall::result) {
            if reported != mark {
                return Err(TaskError::OtherResult(id.clone()));
            }
            return Ok(self.asks_at(id).unwrap_or_else(|| self.answered_before(id).into()));
        }
        if self.model.get(id).is_none() {
            return Err(TaskError::UnknownCall(id.clone()));
        }
        let answer = match ModelAnswer::of(answer.root()) {
            Ok(answer) => answer,
            Err(why) => return Ok(not_valid(why).into()),
        };
        let Some(open) = self.model.take(id) else {
            return Err(TaskError::UnknownCall(id.clone()));
        };
        self.known.report(id, mark);
        let progress = self.judge_answer(id, ModelUnderWay::answered(open, answer), now);
        self.close_with(Some(id), &progress);
        Ok(progress)
    }

    fn judge_answer(&mut self, id: &CallId, model: ModelUnderWay, now: Timestamp) -> Progress {
        // a model that has answered was paid, also where a step has locked the task meanwhile
        let turn = self.settle_turn(id, &model, now);
        if let Some(refusal) = self.refusal_at_end(now) {
            return refusal.into();
        }
        self.take_step(now);
        let answer = model.answer.as_ref();
        let (usage, cost) = (answer.and_then(ModelAnswer::usage), answer.and_then(ModelAnswer::cost));
        let (prompt_tokens, completion_tokens) = usage.unwrap_or_default();
        self.record_turn(Usage { prompt_tokens, completion_tokens, cost: cost.unwrap_or_default() });
        let is_spent = turn.fault.is_none() && !turn.amounts.is_empty();
        let spent = is_spent.then(|| SpentTurn {
            request: model.request.clone(),
            usage: model.usage,
            amounts: turn.amounts,
        });
        self.model.count(CountedTurn { has_usage: usage.is_some(), has_cost: cost.is_some(), spent });
        if let Some(fault) = turn.fault {
            return Decision {
                findings: turn.findings.into_iter().chain([fault]).collect(),
                ..Decision::new(Verdict::block(messages::answer_refused()))
            }
            .into();
        }
        let bytes = size::of(model.judged());
        let beyond = self.beyond(Next::Other, now).or_else(|| self.beyond_bytes(bytes));
        if let Some(beyond) = beyond.or_else(|| self.beyond_a_stretch(Next::Other)) {
            return beyond.into();
        }
        let mut operation = UnderWay::new(Subject::Model(model), Stage::ModelAfter).under(Some(id.clone()));
        operation.course.would_stop(self.would_be_beyond(Next::Other, now));
        operation.course.counters = turn.uses;
        operation.course.findings = turn.findings;
        self.advance(operation, now.into())
    }

    /// What an answer came to that is reported once more.
    fn answered_before(&self, id: &CallId) -> Decision {
        match &self.model.last {
            Some((last, answer)) if last == id => self.answered_with(answer),
            _ => self
                .known
                .get(id)
                .map_or_else(|| Decision::turned_away(messages::not_kept()), |known| self.came_to(known)),
        }
    }

    /// Lets what is sent, or what came back, go on.
    pub(super) fn let_model_go_on(&mut self, mut operation: UnderWay) -> Decision {
        let name = operation.name().cloned();
        let Subject::Model(ModelUnderWay { request, answer, usage, counters: _ }) = &mut operation.subject
        else {
            return operation.decide(Verdict::rejected(Refused::for_the_reason(messages::not_kept())));
        };
        match answer.take() {
            Some(answer) => {
                self.model.last = name.map(|id| (id, answer.clone()));
                let secret = self.hidden_of_model();
                Decision { secret, ..operation.decide(Verdict::allow(Some(answer.json().clone()))) }
            }
            None => {
                let (request, usage) = (request.clone(), *usage);
                let id = name.unwrap_or_else(|| self.made_up_id(DecidedKind::Model));
                let open = OpenModelCall { id, request, usage };
                let passed = self.request_decision(&open);
                self.model.open.push(open);
                Decision { call: passed.call, secret: passed.secret, ..operation.decide(passed.verdict) }
            }
        }
    }

    /// The decision that lets a request go out.
    pub(super) fn request_decision(&self, open: &OpenModelCall) -> Decision {
        let verdict = Verdict::allow(Some(open.request.json().clone()));
        Decision { call: Some(open.id.clone()), secret: self.hidden_of_model(), ..Decision::new(verdict) }
    }

    /// The decision that lets an answer through.
    fn answered_with(&self, answer: &ModelAnswer) -> Decision {
        let verdict = Verdict::allow(Some(answer.json().clone()));
        Decision { secret: self.hidden_of_model(), ..Decision::new(verdict) }
    }

    /// What is secret of what is sent to a model and of what it answers: all of it where anything of the task is, as nobody
    /// knows what of the task they repeat.
    fn hidden_of_model(&self) -> Option<Box<Hidden>> {
        self.hidden_of_script()
    }

    /// Takes back a call of the model that will never be answered. One that may have been made counts as a turn.
    pub(super) fn withdraw_model_call(&mut self, id: &CallId, ran: Ran, now: Timestamp) -> Option<Decision> {
        self.model.take(id)?;
        if self.end.is_none() {
            self.take_step(now);
        }
        if ran == Ran::Unknown {
            self.record_turn(Usage::default());
            // the model may have been paid as much as was expected
            self.holdings.end(id.as_str(), HoldEnd::Spent);
        }
        let decision = Decision::new(Verdict::block(messages::withdrawn()));
        self.close_unless_open(Some(id), &decision);
        Some(decision)
    }

    /// Whether the answer to this call of the model is awaited.
    #[must_use]
    pub fn awaits_answer(&self, call: &CallId) -> bool {
        self.model.get(call).is_some()
    }

    /// Whether an answer was counted as a turn of the model, and neither was that turn reported since nor has the next call of the model
    /// begun.
    #[must_use]
    pub fn has_counted_answer(&self) -> bool {
        self.model.has_counted()
    }

    /// Records a turn of the model that its host reports, unless its answer was counted when it came. A call of the model whose turn is
    /// reported without an answer is over. What its answer has told counts as it was told there. Why the turn cannot be counted, if a
    /// counter has no key or no amount for it.
    pub(super) fn record_reported_turn(&mut self, usage: Usage, now: Timestamp) -> Option<Finding> {
        let Some(CountedTurn { has_usage, has_cost, spent }) = self.model.report_turn() else {
            let open = self.model.open.first().map(|open| open.id.clone());
            let open = open.and_then(|open| self.model.take(&open));
            if let Some(open) = &open {
                self.close_unless_open(Some(&open.id), &Decision::turned_away(messages::not_kept()));
            }
            self.record_turn(usage);
            return self.count_reported_turn(open, usage, now);
        };
        if !has_usage {
            self.context.add_tokens(usage.prompt_tokens, usage.completion_tokens);
        }
        if !has_cost {
            self.context.add_cost(usage.cost);
        }
        let mut spent = spent.filter(|_| !(has_usage && has_cost))?;
        if !has_usage {
            spent.usage = spent.usage.with_tokens(usage.prompt_tokens, usage.completion_tokens);
        }
        if !has_cost {
            spent.usage = spent.usage.with_cost(usage.cost);
        }
        self.correct_turn(&spent, now)
    }
}

fn not_valid(why: String) -> Decision {
    Decision::new(Verdict::invalid_input(why))
}
