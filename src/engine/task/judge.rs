//! The steps that only judge: conditions and asserts, one after the other on the same values.
//!
//! In: a list of steps, and how far an operation came in it. Out: the first step at which more is due than that it passed
//! or was left out; nothing if the list is through. Nothing that a judging step does changes what expressions see, so the
//! values of all of them are found once, those of variables of policies among them.

use super::flow::{StepEnd, function_id, halted};
use super::state::{Course, Rewriting, Stage, StepEnding, Subject, Task, UnderWay};
use crate::context::{Activations, Labelling, Moment};
use crate::manifest::exception::PolicyException;
use crate::manifest::mode::Mode;
use crate::policy::{Expression, Policy, Step, StepAction, StepList};
use std::sync::Arc;

/// What is due at a step.
pub(super) enum Due {
    /// Its condition has held, and what it does is more than to judge.
    Action,
    /// It reads counters, and the call has not read them yet.
    Counters,
    /// It is observed, and would have done this with labels: observed steps behind it see that.
    Observed(Box<Labelling>),
    /// What follows from how it ended.
    End(StepEnd),
}

/// How a step was judged.
enum Judged {
    Skipped,
    /// By an exception of the step, if the rule alone would have stopped it.
    Passed(Option<Arc<PolicyException>>),
    Due(Due),
}

impl Task {
    /// Goes over the steps that judge, as far as they pass.
    pub(super) fn judge_steps<'p>(
        &self,
        policy: &Policy,
        list: StepList<'p>,
        operation: &mut UnderWay,
        now: &Moment,
    ) -> Option<(&'p Step, Due)> {
        let UnderWay { subject, course, .. } = operation;
        list.get(course.step)?;
        let remembered = std::mem::take(&mut course.remembered);
        let results = course.results.clone();
        let mut values = Activations::new(self.bound(subject, &results, now)).remembering(remembered);
        let due = self.judge_in(policy, list, subject, course, &mut values, now);
        course.remembered = values.into_remembered();
        due
    }

    fn judge_in<'p: 'a, 'a>(
        &self,
        policy: &Policy,
        list: StepList<'p>,
        subject: &Subject,
        course: &mut Course,
        values: &mut Activations<'a>,
        now: &Moment,
    ) -> Option<(&'p Step, Due)> {
        let selected = subject.selected(policy);
        while let Some(step) = list.get(course.step) {
            if course.rewriting == Rewriting::Lapsed && step.sets().is_none() {
                return None;
            }
            let is_selected = selected.is_none_or(|name| step.is_for(name));
            self.note_begin(policy, step, subject, course.stage);
            let judged = match is_selected {
                true if step.reads_counters && subject.has_unread_counters() => Judged::Due(Due::Counters),
                true => self.judge_step(policy, step, subject, course, values, now),
                false => Judged::Skipped,
            };
            match judged {
                Judged::Skipped => self.note_skip(step, is_selected, course, subject),
                Judged::Passed(exception) => {
                    self.note_exception(exception.as_ref());
                    self.note_end(StepEnding::Pass);
                    course.leave_pass(step, exception);
                }
                Judged::Due(due) => return Some((step, due)),
            }
            course.next_step();
        }
        None
    }

    fn judge_step<'a>(
        &self,
        policy: &Policy,
        step: &'a Step,
        subject: &Subject,
        course: &mut Course,
        values: &mut Activations<'a>,
        now: &Moment,
    ) -> Judged {
        if step.sets().is_some() && course.rewriting == Rewriting::Done {
            return Judged::Skipped;
        }
        if step.mode == Mode::Observe {
            let labelling = self.observe(policy, step, subject, course, values, now);
            return labelling.map_or(Judged::Skipped, |it| Judged::Due(Due::Observed(Box::new(it))));
        }
        if !course.entered {
            if course.stage == Stage::BeforeFirst && !self.is_first(step, subject) {
                return Judged::Skipped;
            }
            if let Some(condition) = &step.condition {
                match self.run(condition, course, values, Expression::holds_metered) {
                    Ok(true) => {}
                    Ok(false) => return Judged::Skipped,
                    Err(halt) => return Judged::Due(Due::End(halted(halt, course, condition))),
                }
            }
            course.entered = true;
        }
        let StepAction::Assert(assert) = &step.action else { return Judged::Due(Due::Action) };
        match self.run(assert, course, values, Expression::holds_metered) {
            Ok(true) => Judged::Passed(exception_of(step, values, now)),
            Ok(false) => Judged::Due(Due::End(StepEnd::Failed(None))),
            Err(halt) => Judged::Due(Due::End(halted(halt, course, assert))),
        }
    }

    /// Whether `before_first` still applies: no call that ran is on record of a function that the step is for.
    pub(super) fn is_first(&self, step: &Step, subject: &Subject) -> bool {
        let has_run = |position: &usize| self.context.executed(function_id(*position)) > 0;
        subject.call().is_none() || !step.functions.iter().any(has_run)
    }
}

/// The exception that let something pass at a step which has passed, if its rule alone would have stopped it.
fn exception_of<'a>(
    step: &'a Step,
    values: &mut Activations<'a>,
    now: &Moment,
) -> Option<Arc<PolicyException>> {
    let excepted = step.excepted.as_ref()?;
    excepted.by(values, now.timestamp()?).cloned()
}
