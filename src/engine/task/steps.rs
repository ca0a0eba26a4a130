//! The one runner of step lists, for capabilities and guardrails alike, and the loop over the stages of an operation.
//!
//! Steps run in order (MW-02); each is skipped, passes, fails or asks. What fails does what its `on_fail` says, and every
//! error is a failure: of the condition (MW-26), of the expression, of the call. A finished step never runs again (RV-04).

use super::evaluation::replay::Halt;
use super::execution::{RESULT_MISFIT, result_misfit};
use super::flow::{Flow, StepEnd, StopKind, Stopped, ended, halted};
use super::judge::Due;
use super::messages;
use super::state::{
    Course, Enforced, Exchange, Finding, Pending, Progress, QuestionId, Request, Results, Rewriting, Said,
    Stage, StepEnding, StepOutcome, Subject, Task, UnderWay, VerdictKind,
};
use crate::cel::{HostFunctions, Json, Stop};
use crate::context::{Activations, InvocationStatus, Moment, TaskIo};
use crate::manifest::review::NoteReader;
use crate::manifest::step::{Hook, OnFail};
use crate::policy::{Effect, Expression, Policy, Step, StepAction};

impl Task {
    /// Takes an operation as far as it goes.
    pub(super) fn advance(&mut self, operation: UnderWay, now: Moment) -> Progress {
        let policy = self.policy.clone();
        self.advance_under(&policy, operation, now)
    }

    /// The same for who holds the policy already: all tasks of an agent share it, and to count who holds it is the one
    /// thing that they would wait for each other with.
    pub(super) fn advance_under(
        &mut self,
        policy: &Policy,
        mut operation: UnderWay,
        now: Moment,
    ) -> Progress {
        operation.course.remembered.clear();
        loop {
            let flow = match operation.course.stage.hook() {
                Some(_) => self.run_steps(policy, &mut operation, &now),
                None => self.run_call(policy, &mut operation, &now),
            };
            if policy.observes() && matches!(flow, Flow::Passed) && operation.goes_on_unbound() {
                let enforced = Enforced::new(VerdictKind::Error, messages::missing_policy_value());
                operation.course.would_stop(enforced);
            }
            match flow {
                Flow::Passed => match operation.next_stage() {
                    Some(Stage::Execute) | None if self.is_held(&operation) => {
                        return self.hold(operation).into();
                    }
                    Some(stage) => {
                        if stage == Stage::Execute
                            && let Some(switch) = self.stopped_subject(policy, &operation.subject)
                        {
                            return self.switch_off(operation, switch, now).into();
                        }
                        if stage == Stage::GuardrailBefore {
                            self.put_under_test(&mut operation);
                        }
                        operation.course.enter(stage);
                    }
                    None => {
                        let recorded = std::mem::take(&mut operation.course.recorded);
                        let decision = self.finish(operation, now);
                        self.keep_what_fits(&recorded);
                        return decision.into();
                    }
                },
                Flow::Answered => operation.course.enter(Stage::After),
                Flow::Again => operation.course.ask_again(),
                Flow::Held => return self.hold(operation).into(),
                Flow::Stopped(stopped) => {
                    let recorded = std::mem::take(&mut operation.course.recorded);
                    let decision = self.stop(operation, stopped, now);
                    self.keep_what_fits(&recorded);
                    return decision.into();
                }
                Flow::Ended(termination) => {
                    self.keep_what_fits(&operation.course.recorded);
                    self.take_back_waiting(now);
                    return ended(operation, termination).into();
                }
                Flow::Asks(request) => {
                    if let Some(switch) = self.stopped_request(policy, &request) {
                        return self.switch_off(operation, switch, now).into();
                    }
                    return self.ask(operation, request, &now);
                }
            }
        }
    }

    /// Lays an operation aside until its question is answered.
    pub(super) fn ask(&mut self, operation: UnderWay, request: Request, now: &Moment) -> Progress {
        let is_named = matches!(request, Request::Review { .. }) || operation.subject.call().is_some();
        let operation = if is_named { self.with_name(operation) } else { operation };
        let id = QuestionId(self.next_question);
        self.next_question = self.next_question.saturating_add(1);
        let asked = if matches!(request, Request::Review { .. }) {
            self.asked(&operation, &request, now)
        } else {
            None
        };
        let pending = Pending { id, operation, request, script: None, asked };
        let question = pending.question();
        self.waiting.push(pending);
        Progress::Asks(question)
    }

    /// Runs the rest of the stage's list.
    pub(super) fn run_steps(&mut self, policy: &Policy, operation: &mut UnderWay, now: &Moment) -> Flow {
        let Some(hook) = operation.course.stage.hook() else { return Flow::Passed };
        let list = operation.subject.steps(policy, hook);
        while let Some((step, due)) = self.judge_steps(policy, list, operation, now) {
            let end = match due {
                Due::End(end) => end,
                Due::Observed(labelling) => {
                    self.note_end(StepEnding::Observed);
                    self.context.label(*labelling);
                    operation.course.next_step();
                    continue;
                }
                Due::Counters => match self.read_counters(policy, operation, now) {
                    Flow::Passed if !operation.subject.has_unread_counters() => continue,
                    Flow::Passed => StepEnd::Failed(Some(no_counters(step))),
                    flow => return flow,
                },
                Due::Action if operation.course.has_invoked() => {
                    self.note_end(StepEnding::Pass);
                    operation.course.next_step();
                    continue;
                }
                // what was let through before a review was asked goes on with its result
                Due::Action
                    if self.is_held(operation)
                        && !operation.course.is_invoking()
                        && !step.is_about_call_alone() =>
                {
                    return Flow::Held;
                }
                Due::Action => {
                    let end = self.act(policy, step, operation, now);
                    if !step.adds_terms() {
                        // expressions may see something else now
                        operation.course.remembered.clear();
                    }
                    end
                }
            };
            match end {
                StepEnd::Passed => {
                    self.note_end(StepEnding::Pass);
                    operation.course.leave_trace(step, StepOutcome::Pass, None);
                    let has_answered = operation.subject.call().is_some_and(|call| call.record.is_some());
                    if operation.course.stage.is_ahead_of_call() && has_answered {
                        return Flow::Answered;
                    }
                }
                StepEnd::Labelled(labels) => {
                    self.note_end(StepEnding::Pass);
                    operation.course.leave_labels(step, labels);
                }
                StepEnd::Failed(finding) => {
                    operation.course.findings.extend(finding);
                    let is_explained =
                        self.journal.as_ref().is_some_and(|journal| journal.keeps_expressions());
                    let is_asked = is_explained || step.suggests();
                    let suggestions =
                        if is_asked { self.suggestions(policy, step, operation, now) } else { Vec::new() };
                    let suggestion = suggestions.first().map_or("", |first| first.text.as_str());
                    let results = operation.course.results.clone();
                    let about = (&operation.subject, &results);
                    let message = self.message_with(step, about, suggestion, now);
                    self.note_suggestions(suggestions);
                    operation.course.leave_trace(step, StepOutcome::Fail, message.clone());
                    if let Some(mut stopped) = stopped(step, &operation.subject, message) {
                        stopped.user_message = self.user_message_of(step, about, now);
                        if stopped.kind == StopKind::Block && step.note == NoteReader::Model {
                            let notes = operation.course.denial_notes();
                            stopped.message = notes.fold(stopped.message, Said::with_note);
                        }
                        self.note_end(StepEnding::Fail);
                        self.note_rest(policy, operation);
                        return Flow::Stopped(stopped);
                    }
                    self.note_end(StepEnding::Fail);
                }
                StepEnd::Asks(request) => {
                    self.note_end(StepEnding::Suspend);
                    self.note_rest(policy, operation);
                    return Flow::Asks(request);
                }
            }
            operation.course.next_step();
        }
        if operation.course.rewriting == Rewriting::Lapsed {
            return Flow::Again;
        }
        let is_ahead = match &operation.subject {
            Subject::Call(call) => hook == Hook::Before && !call.unbound,
            Subject::Model(_) => hook == Hook::ModelBefore,
            Subject::Event(_) | Subject::Input(_) | Subject::Output | Subject::Script(_) => false,
        };
        if is_ahead {
            // a call that adds to a counter which other calls are judged by
            return match self.read_counters(policy, operation, now) {
                Flow::Passed => self.hold_within_parent(policy, operation, now),
                flow => flow,
            };
        }
        Flow::Passed
    }

    /// Runs a step that does more than to judge, whose condition has held.
    fn act(&mut self, policy: &Policy, step: &Step, operation: &mut UnderWay, now: &Moment) -> StepEnd {
        match &step.action {
            StepAction::Invoke(invoke) => self.run_invoke(policy, step, invoke, operation, now),
            StepAction::Transform(expression) => {
                self.context.open_pseudonyms();
                let UnderWay { subject, course, .. } = operation;
                let remembered = std::mem::take(&mut course.remembered);
                let results = course.results.clone();
                let mut values = Activations::new(self.bound(subject, &results, now)).remembering(remembered);
                let value = self.run(expression, course, &mut values, Expression::json_metered);
                drop(values);
                let end = match value {
                    Ok(value) => {
                        if let Subject::Call(call) = &mut operation.subject {
                            call.made = self.made_by(call, expression);
                        }
                        self.transform(operation, value, step)
                    }
                    Err(halt) => halted(halt, course, expression),
                };
                self.context.close_pseudonyms(matches!(end, StepEnd::Passed));
                end
            }
            StepAction::Effect(effect) => match effect {
                Effect::Set(values) => self.rewrite(policy, step, values, operation, now),
                Effect::Respond(response) => self.respond(step, response, operation, now),
                Effect::Delay(_) | Effect::Oblige(_) | Effect::Credential(_) => {
                    self.add_terms(policy, step, effect, operation, now)
                }
            },
            StepAction::Label(labels) => self.label(step, labels, operation, now),
            StepAction::Assert(_) => StepEnd::Passed,
        }
    }

    /// What a step says that failed, and what views show of it.
    pub(super) fn message_of(&self, step: &Step, about: (&Subject, &Results), now: &Moment) -> Option<Said> {
        self.message_with(step, about, "", now)
    }

    /// The same with what would have let the call pass.
    fn message_with(
        &self,
        step: &Step,
        (subject, results): (&Subject, &Results),
        suggestion: &str,
        now: &Moment,
    ) -> Option<Said> {
        let bound = self.bound_of(step, subject, results, now);
        let text = step.message(&bound, suggestion)?;
        let shown = step.masked_message(&bound, suggestion, |shown| self.shows_secret(step, subject, shown));
        Some(Said { text, shown })
    }

    /// What the user is told of a step that stops something, and what views show of it.
    fn user_message_of(
        &self,
        step: &Step,
        (subject, results): (&Subject, &Results),
        now: &Moment,
    ) -> Option<Said> {
        let bound = self.bound(subject, results, now);
        let text = step.user_message(&bound)?;
        let shown = step.masked_user_message(&bound, |shown| self.shows_secret(step, subject, shown));
        Some(Said { text, shown })
    }

    /// What a reviewer is asked by the step under way.
    pub(super) fn asked_text(&self, operation: &UnderWay, now: &Moment) -> Said {
        let subject = &operation.subject;
        let step = operation.step_under_way(&self.policy);
        let written = step.and_then(|step| {
            let bound = self.bound_of(step, subject, &operation.course.results, now);
            let text = step.question(&bound)?;
            let shown = step.masked_question(&bound, |shown| self.shows_secret(step, subject, shown));
            Some(Said { text, shown })
        });
        written.unwrap_or_else(|| {
            let call = subject.call();
            let function = call.and_then(|call| self.policy.function(call.function)).map(|it| &*it.key);
            messages::question(subject, function).into()
        })
    }

    /// Puts the value of a transform in the place of what is being handled.
    fn transform(&mut self, operation: &mut UnderWay, value: Json, step: &Step) -> StepEnd {
        let entry = match &mut operation.subject {
            Subject::Call(call) => {
                let record = call.record.and_then(|record| self.context.invocation(record));
                let has_failed = record.is_some_and(|record| record.status == InvocationStatus::Errored);
                let function = self.policy.function(call.function).filter(|_| !has_failed);
                // of several transforms the last one decides
                operation.course.findings.retain(|finding| finding.code != RESULT_MISFIT);
                operation.course.findings.extend(function.and_then(|it| result_misfit(it, &value)));
                call.output = Some(value);
                return StepEnd::Passed;
            }
            Subject::Event(event) => {
                return match event.transform(&value) {
                    Ok(()) => StepEnd::Passed,
                    Err(_) => StepEnd::Failed(Some(misshapen(step, &operation.subject))),
                };
            }
            Subject::Model(model) => {
                return match model.transform(&value) {
                    Ok(()) => StepEnd::Passed,
                    Err(_) => StepEnd::Failed(Some(misshapen(step, &operation.subject))),
                };
            }
            // no list of steps is about a script
            Subject::Input(_) | Subject::Output | Subject::Script(_) => self.judged_entry(&operation.subject),
        };
        match (entry.map(|entry| entry.transformed(value.root())), &operation.subject) {
            (Some(Ok(entry)), Subject::Input(_)) => self.context.replace_last_input(entry),
            (Some(Ok(entry)), _) => self.context.replace_last_output(entry),
            (Some(Err(_)) | None, _) => return StepEnd::Failed(Some(misshapen(step, &operation.subject))),
        }
        StepEnd::Passed
    }

    /// The entry that a message or a response is while steps judge it.
    pub(super) fn judged_entry(&self, subject: &Subject) -> Option<&TaskIo> {
        match subject {
            Subject::Input(_) => self.context.last_input(),
            Subject::Output => self.context.last_output(),
            Subject::Call(_) | Subject::Event(_) | Subject::Model(_) | Subject::Script(_) => None,
        }
    }

    /// Runs an expression of the step under way with the answers that it was given.
    #[inline]
    pub(super) fn run<'a, T>(
        &self,
        expression: &'a Expression,
        course: &mut Course,
        values: &mut Activations<'a>,
        judge: impl FnOnce(
            &'a Expression,
            &mut Activations<'a>,
            Option<&mut dyn HostFunctions>,
        ) -> (Result<T, Stop>, u64),
    ) -> Result<T, Halt> {
        let answers = (&*course.exchanges, &*course.approved);
        self.run_with(expression, answers, &mut course.cost, values, judge)
    }

    /// Evaluates an expression with these answers of hosts and approvals, and adds what it costs.
    #[inline]
    pub(super) fn run_with<'a, T>(
        &self,
        expression: &'a Expression,
        (exchanges, approved): (&[Exchange], &[String]),
        cost: &mut u64,
        values: &mut Activations<'a>,
        judge: impl FnOnce(
            &'a Expression,
            &mut Activations<'a>,
            Option<&mut dyn HostFunctions>,
        ) -> (Result<T, Stop>, u64),
    ) -> Result<T, Halt> {
        let mut replay = self.replay(exchanges).approved(approved);
        let (result, spent) = judge(expression, values, Some(&mut replay));
        *cost = cost.saturating_add(spent);
        replay.settle(result)
    }
}

/// What follows from a failed step: nothing under `continue`, else the end of the operation.
pub(super) fn stopped(step: &Step, subject: &Subject, message: Option<Said>) -> Option<Stopped> {
    let kind = match step.on_fail {
        OnFail::Continue => return None,
        OnFail::Block => StopKind::Block,
        OnFail::LockTask => StopKind::LockTask,
    };
    let default = match subject {
        Subject::Call(_) | Subject::Event(_) => messages::blocked,
        Subject::Model(model) if kind == StopKind::Block => match model.answer {
            Some(_) => messages::answer_refused,
            None => messages::request_refused,
        },
        _ if kind == StopKind::Block => messages::message_refused,
        Subject::Input(_) | Subject::Output | Subject::Model(_) | Subject::Script(_) => messages::locked,
    };
    let message = message.unwrap_or_else(|| default().into());
    Some(Stopped { kind, message, user_message: None, origin: step.origin() })
}

fn no_counters(step: &Step) -> Finding {
    Finding::new("counters_unavailable", messages::no_counters(), Some(step.origin()))
}

/// The finding of a transform whose value cannot take the place of what the step judges.
pub(super) fn misshapen(step: &Step, subject: &Subject) -> Finding {
    let (code, message) = match subject {
        Subject::Model(model) if model.answer.is_some() => ("no_answer", messages::no_such_answer()),
        Subject::Model(_) => ("no_request", messages::no_such_request()),
        _ => ("no_message", messages::no_such_message()),
    };
    Finding::new(code, message, Some(step.origin()))
}
