//! The values that expressions of a task see.
//!
//! In: the task, and what an operation is about. Out: names with their values, borrowed from both; nothing is copied.

use super::replay::Replay;
use crate::cel::Json;
use crate::context::{Bound, ExpressionWatch, Moment};
use crate::manifest::mode::Mode;
use crate::policy::Step;
use crate::task::state::{Exchange, Results, Subject, Task};

impl Task {
    /// The host of an expression, with the answers that it was given.
    pub(in crate::task) fn replay<'e>(&'e self, exchanges: &'e [Exchange]) -> Replay<'e> {
        Replay::new(exchanges, self.mount.is_some(), self.policy.limits()).with_functions(&self.functions)
    }

    /// The values that the expressions of an operation see.
    #[inline]
    pub(in crate::task) fn bound<'a>(
        &'a self,
        subject: &'a Subject,
        results: &'a Results,
        now: &'a Moment,
    ) -> Bound<'a> {
        let mut bound = self.surroundings(now);
        bound.invoked = results.all();
        match subject {
            Subject::Call(call) => {
                bound.input = Some(call.arguments.value());
                bound.output = call.output.as_ref().map(Json::value);
                bound.counters = call.counters.values();
                bound.call = self.policy.function(call.function).map(|function| &function.call);
            }
            Subject::Event(event) => {
                bound.input = Some(event.input.value());
                bound.event = Some(event.data.value());
            }
            Subject::Model(model) => {
                bound.input = Some(model.request.json().value());
                bound.output = model.answer.as_ref().map(|answer| answer.json().value());
                bound.counters = model.counters.values();
                bound.usage = Some(model.usage.value());
            }
            Subject::Input(_) | Subject::Output | Subject::Script(_) => {}
        }
        bound
    }

    /// The values that the expressions of a step see: those of an observed one see the labels that observed steps would have given.
    pub(in crate::task) fn bound_of<'a>(
        &'a self,
        step: &Step,
        subject: &'a Subject,
        results: &'a Results,
        now: &'a Moment,
    ) -> Bound<'a> {
        Bound { is_observed: step.mode == Mode::Observe, ..self.bound(subject, results, now) }
    }

    /// Who is told what expressions come to, if somebody has asked.
    #[inline]
    pub(in crate::task) fn watch(&self) -> Option<&dyn ExpressionWatch> {
        let journal = self.journal.as_deref().filter(|journal| journal.keeps_expressions());
        journal.map(|journal| journal as &dyn ExpressionWatch)
    }

    /// The values that any expression of the task sees.
    #[inline]
    pub(in crate::task) fn surroundings<'a>(&'a self, now: &'a Moment) -> Bound<'a> {
        Bound {
            context: Some(&self.context),
            now: Some(now),
            runtime: Some(&self.runtime),
            mount: self.mount.as_ref(),
            watch: self.watch(),
            functions: Some(&*self.functions).filter(|functions| !functions.is_empty()),
            ..Bound::default()
        }
    }
}
