//! The values that a step of a policy document computes for what it does to a call.
//!
//! In: expressions, the operation that they are about, and the answers that the step was given. Out: their values, in order; or why
//! there are none. One log of answers runs through all of them, and they share what variables of policies came to.

use super::evaluation::replay::Halt;
use super::flow::StepEnd;
use super::state::{Course, Exchange, Finding, Request, Results, Subject, Task};
use crate::cel::{Json, Remembered};
use crate::context::{Activations, Moment};
use crate::policy::{Expression, Step};

/// Why there are no values.
pub(super) enum NotComputed {
    /// One failed, or is none that can be used.
    Failed(Vec<Finding>),
    /// One asks; this many answers are still good.
    Asks(Request, usize),
}

impl NotComputed {
    /// How the step ends.
    pub(super) fn end(self, course: &mut Course) -> StepEnd {
        match self {
            Self::Asks(request, used) => {
                course.exchanges.truncate(used);
                StepEnd::Asks(request)
            }
            Self::Failed(mut findings) => {
                let last = findings.pop();
                course.findings.extend(findings);
                StepEnd::Failed(last)
            }
        }
    }
}

impl Task {
    /// The values of some expressions of a step, and what they cost.
    pub(super) fn compute<'e>(
        &self,
        step: &Step,
        expressions: impl Iterator<Item = &'e Expression>,
        (subject, results): (&Subject, &Results),
        (exchanges, approved): (&[Exchange], &[String]),
        remembered: &mut Remembered<'static>,
        now: &Moment,
    ) -> (Result<Vec<Json>, NotComputed>, u64) {
        let expressions: Vec<&Expression> = expressions.collect();
        let known = std::mem::take(remembered);
        let mut seen = Activations::new(self.bound_of(step, subject, results, now)).remembering(known);
        let mut replay = self.replay(exchanges).approved(approved);
        let (mut values, mut total) = (Vec::new(), 0_u64);
        let mut why = None;
        for expression in expressions {
            let (result, cost) = expression.json_metered(&mut seen, Some(&mut replay));
            total = total.saturating_add(cost);
            match replay.settle(result) {
                Ok(json) => values.push(json),
                Err(Halt::Asks(request, used)) => why = Some(NotComputed::Asks(request, used)),
                Err(Halt::Failed(error)) => {
                    let finding = Finding::of_error(&error, expression.origin_of(error.span));
                    why = Some(NotComputed::Failed(vec![finding]));
                }
            }
            if why.is_some() {
                break;
            }
        }
        *remembered = seen.into_remembered();
        (why.map_or(Ok(values), Err), total)
    }
}
