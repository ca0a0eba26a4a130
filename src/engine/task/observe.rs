//! Observed steps: tried out where they stand in their list, and told beside what was done.
//!
//! In: a step that does not decide (of a policy document that is tried out, or any of an engine that observes), and the operation that passes it. Out: an [`ObservedStep`] for the
//! decision; nothing where its condition does not hold, or where it would put in the place of what is handled the same again. It asks nobody, invokes nothing, replaces nothing (the arguments
//! that it would have set, and the labels that it would have given or taken, other observed steps see) and stops nothing, and
//! its errors stand with it alone. It costs what the step would have cost, and variables of policies have values of their own in it.

use super::compute::NotComputed;
use super::evaluation::replay::Halt;
use super::flow::{StopKind, Stopped};
use super::invoke_step::Formed;
use super::rewrite::with_arguments;
use super::state::{
    Answer, Course, Enforced, Exchange, Finding, ObservedStep, Request, Sender, Stage, StepKind, StepName,
    StepOutcome, Subject, Task, VerdictKind,
};
use super::steps::{misshapen, stopped};
use crate::cel::{HostFunctions, Json, Stop};
use crate::context::{Activations, Caller, LabelSet, Labelling, Moment, SeenBy};
use crate::policy::{Effect, Expression, Invoke, LabelStep, Policy, Step, StepAction, StepLabels};

/// How an observed step would have ended.
enum Seen {
    Passed,
    Labels(LabelSet),
    Responds,
    Failed(Vec<Finding>),
    Asks(Request),
}

impl Seen {
    /// How a step ends whose expression came to no value.
    fn of(halt: Halt, expression: &Expression) -> Self {
        match halt {
            Halt::Asks(request, _) => Self::Asks(request),
            Halt::Failed(error) => {
                Self::Failed(vec![Finding::of_error(&error, expression.origin_of(error.span))])
            }
        }
    }
}

impl From<NotComputed> for Seen {
    fn from(why: NotComputed) -> Self {
        match why {
            NotComputed::Failed(findings) => Self::Failed(findings),
            NotComputed::Asks(request, _) => Self::Asks(request),
        }
    }
}

impl Task {
    /// Tries a step out. Gives what it would have done with labels, which observed steps behind it see.
    #[cold]
    pub(super) fn observe<'a>(
        &self,
        policy: &Policy,
        step: &'a Step,
        subject: &Subject,
        course: &mut Course,
        values: &mut Activations<'a>,
        now: &Moment,
    ) -> Option<Labelling> {
        // what it adds to terms is computed apart from what was tried out before
        course.remembered.clear();
        let tried = with_arguments(subject, course.tried.as_ref());
        if tried.is_none() && !self.context.has_observed_labels() {
            return values.observing(|values| self.observe_in(policy, step, subject, course, values, now));
        }
        let subject = tried.as_ref().unwrap_or(subject);
        let results = course.results.clone();
        let mut values = Activations::new(self.bound_of(step, subject, &results, now));
        self.observe_in(policy, step, subject, course, &mut values, now)
    }

    fn observe_in<'a>(
        &self,
        policy: &Policy,
        step: &'a Step,
        subject: &Subject,
        course: &mut Course,
        values: &mut Activations<'a>,
        now: &Moment,
    ) -> Option<Labelling> {
        if course.stage == Stage::BeforeFirst && !self.is_first(step, subject) {
            return None;
        }
        let condition = step.condition.as_ref();
        let holds = condition.map(|it| self.try_out(it, course, values, Expression::holds_metered));
        let seen = match holds {
            Some(Ok(false)) => return None,
            Some(Err(seen)) => seen,
            Some(Ok(true)) | None => match &step.action {
                StepAction::Assert(assert) => {
                    let watches = subject.call().is_some_and(|call| policy.watches(call.function, step));
                    let held = match watches {
                        true => self.try_settled(assert, course, values),
                        false => self.try_out(assert, course, values, Expression::holds_metered),
                    };
                    match held {
                        Ok(true) => Seen::Passed,
                        Ok(false) => Seen::Failed(Vec::new()),
                        Err(seen) => seen,
                    }
                }
                StepAction::Transform(transform) => {
                    match self.try_out(transform, course, values, Expression::json_metered) {
                        // as a step whose condition is false, it would have done nothing
                        Ok(value) if self.is_handled(subject, &value) => return None,
                        Ok(value) if self.can_replace(subject, &value) => Seen::Passed,
                        Ok(_) => Seen::Failed(vec![misshapen(step, subject)]),
                        Err(seen) => seen,
                    }
                }
                StepAction::Effect(Effect::Set(values)) => {
                    let (set, cost) = self.set(
                        policy,
                        step,
                        values,
                        (subject, &course.results),
                        (&[], &course.approved),
                        now,
                    );
                    course.cost = course.cost.saturating_add(cost);
                    match set {
                        Ok(arguments) => {
                            course.tried = Some(arguments);
                            Seen::Passed
                        }
                        Err(why) => why.into(),
                    }
                }
                StepAction::Effect(Effect::Respond(response)) => {
                    match self.try_out(response, course, values, Expression::json_metered) {
                        Ok(value) => {
                            let misfit =
                                subject.call().and_then(|call| self.misfit_of(step, call.function, &value));
                            misfit.map_or(Seen::Responds, |misfit| Seen::Failed(vec![misfit]))
                        }
                        Err(seen) => seen,
                    }
                }
                StepAction::Effect(effect) => {
                    let terms = self.terms_after(policy, step, effect, subject, course, &[], now);
                    terms.map_or_else(Seen::from, |_| Seen::Passed)
                }
                StepAction::Label(labels) => self.try_label(step, labels, course, values),
                StepAction::Invoke(invoke) => self.try_invoke(policy, step, invoke, subject, course, now),
            },
        };
        let labelling = match (&seen, &step.action) {
            (Seen::Labels(labels), StepAction::Label(step_labels)) => {
                self.labelling(step, step_labels, labels, subject, SeenBy::Observed)
            }
            _ => None,
        };
        let observed = self.seen(step, subject, course, seen, now);
        if self.policy.observes() {
            course.would_stop(observed.as_ref().and_then(Enforced::of_step));
        }
        course.observed.extend(observed);
        labelling
    }

    /// Runs an expression of an observed step. It has no answers but the approvals that the call has by now.
    fn try_out<'a, T>(
        &self,
        expression: &'a Expression,
        course: &mut Course,
        values: &mut Activations<'a>,
        judge: impl FnOnce(
            &'a Expression,
            &mut Activations<'a>,
            Option<&mut dyn HostFunctions>,
        ) -> (Result<T, Stop>, u64),
    ) -> Result<T, Seen> {
        let approved = (&[][..], &*course.approved);
        let ran = self.run_with(expression, approved, &mut course.cost, values, judge);
        ran.map_err(|halt| Seen::of(halt, expression))
    }

    /// The same for what is to hold of every call: it asks about what has happened, so a review that nobody has approved counts as denied.
    fn try_settled<'a>(
        &self,
        expression: &'a Expression,
        course: &mut Course,
        values: &mut Activations<'a>,
    ) -> Result<bool, Seen> {
        let mut denied: Vec<Exchange> = Vec::new();
        loop {
            let answers = (&*denied, &*course.approved);
            match self.run_with(expression, answers, &mut course.cost, values, Expression::holds_metered) {
                Err(Halt::Asks(question @ Request::Review { .. }, _)) => {
                    denied.push(Exchange { question, answer: Answer::deny() });
                }
                ran => return ran.map_err(|halt| Seen::of(halt, expression)),
            }
        }
    }

    /// Finds the labels that a step would give or take away.
    fn try_label<'a>(
        &self,
        step: &Step,
        labels: &'a LabelStep,
        course: &mut Course,
        values: &mut Activations<'a>,
    ) -> Seen {
        let expression = match &labels.labels {
            StepLabels::Written(labels) => return Seen::Labels(labels.clone()),
            StepLabels::Computed(expression) => expression,
        };
        match self.try_out(expression, course, values, Expression::json_metered) {
            Ok(texts) => match self.labels_by(step, &texts) {
                Ok(labels) => Seen::Labels(labels),
                Err(finding) => Seen::Failed(vec![finding]),
            },
            Err(seen) => seen,
        }
    }

    /// Forms the arguments of an invoke step, and goes no further.
    fn try_invoke(
        &self,
        policy: &Policy,
        step: &Step,
        invoke: &Invoke,
        subject: &Subject,
        course: &Course,
        now: &Moment,
    ) -> Seen {
        let function = match Self::invoked(policy, step, invoke) {
            Ok((_, function)) => function,
            Err(finding) => return Seen::Failed(vec![finding]),
        };
        match self.form(step, function, invoke, (subject, &course.results), (&[], &course.approved), now) {
            Formed::Arguments(arguments) => {
                Seen::Asks(function.invocation(Caller::Middleware, arguments, None))
            }
            Formed::Incomplete(_, findings) => Seen::Failed(findings),
            Formed::Asks(request, _) => Seen::Asks(request),
        }
    }

    /// Whether what a transform makes is what is handled anyway. Of a request to a model and its answer it is not known.
    fn is_handled(&self, subject: &Subject, value: &Json) -> bool {
        match subject {
            Subject::Call(call) => call.output.as_ref() == Some(value),
            Subject::Model(_) => false,
            Subject::Input(_) | Subject::Output | Subject::Event(_) | Subject::Script(_) => self
                .judged_entry(subject)
                .is_some_and(|entry| entry.transformed(value.root()).is_ok_and(|made| made == *entry)),
        }
    }

    /// Whether what a transform makes could take the place of what is handled.
    fn can_replace(&self, subject: &Subject, value: &Json) -> bool {
        match subject {
            Subject::Call(_) => true,
            Subject::Model(model) => model.can_become(value),
            // no step of a policy is about an event or a script
            Subject::Input(_) | Subject::Output | Subject::Event(_) | Subject::Script(_) => {
                self.judged_entry(subject).is_some_and(|entry| entry.transformed(value.root()).is_ok())
            }
        }
    }

    fn seen(
        &self,
        step: &Step,
        subject: &Subject,
        course: &Course,
        seen: Seen,
        now: &Moment,
    ) -> Option<ObservedStep> {
        let step_name = StepName { hook: course.stage.hook()?, index: step.index };
        let mut observed = ObservedStep {
            step: step_name,
            action: StepKind::of(step),
            outcome: StepOutcome::Pass,
            verdict: None,
            reviewer: None,
            message: None,
            shown: None,
            set: if matches!(seen, Seen::Passed) { step.names_set() } else { Vec::new() },
            labels: LabelSet::new(),
            findings: Vec::new(),
            origin: step.origin(),
        };
        match seen {
            Seen::Passed => {}
            Seen::Labels(labels) => observed.labels = labels,
            Seen::Responds => observed.verdict = Some(VerdictKind::Respond),
            Seen::Asks(request) => {
                observed.outcome = StepOutcome::Suspend;
                if let Request::Review { reviewer, .. } = request {
                    (observed.verdict, observed.reviewer) = (Some(VerdictKind::Suspend), Some(reviewer));
                }
            }
            Seen::Failed(findings) => {
                (observed.outcome, observed.findings) = (StepOutcome::Fail, findings);
                let message = self.message_of(step, (subject, &course.results), now);
                let said = match stopped(step, subject, message.clone()) {
                    Some(Stopped { kind, message, .. }) => {
                        // an event that is refused as an input is dropped
                        let is_dropped =
                            kind == StopKind::Block && matches!(subject, Subject::Input(Sender::Event));
                        observed.verdict =
                            Some(if is_dropped { VerdictKind::Discard } else { kind.verdict() });
                        Some(message)
                    }
                    None => message,
                };
                (observed.message, observed.shown) =
                    said.map_or((None, None), |said| (Some(said.text), said.shown));
            }
        }
        Some(observed)
    }
}
