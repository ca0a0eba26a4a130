//! What the steps and the expressions of a task come to, kept while its operations run.
//!
//! In: each step as the task comes to it, and each expression that is evaluated meanwhile. Out: an [`Explanation`]. What may show a secret is
//! masked when it comes in, by the same rules as what a step says.

use super::explanation::{
    ClauseSeen, ExplainedExpression, ExplainedStep, Explanation, NameSeen, SkipReason, Spot, StepEnding,
    Suggestion,
};
use crate::cel::{Expr, Recording, SeenClause};
use crate::context::{ExpressionWatch, FunctionId, WatchedExpression, WatchedName};
use crate::explained::ExplainedPart;
use crate::manifest::exception::PolicyException;
use crate::policy::{Origin, Policy, is_judged, reads_secret};
use crate::source::Embedded;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Keeps what is told of steps and expressions.
#[derive(Debug)]
pub(in crate::task) struct Journal {
    kept: Mutex<Kept>,
    detail: Detail,
}

/// How much a journal keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::task) enum Detail {
    /// The steps with their endings.
    Steps,
    /// The steps, their expressions, and what would have let a failed step pass.
    Everything,
}

#[derive(Debug)]
struct Kept {
    told: Explanation,
    /// Whether the last step has begun and not ended.
    is_open: bool,
    /// How many of those who try something out have asked for silence.
    paused: usize,
    /// By whose rules values are masked.
    policy: Arc<Policy>,
    /// The function whose arguments and result expressions see.
    function: Option<FunctionId>,
    /// Whether any value may be a secret.
    is_secret: bool,
}

impl Journal {
    /// One in which nothing is, of a task under this policy.
    pub(in crate::task) fn new(policy: Arc<Policy>, detail: Detail) -> Self {
        let told = Explanation::default();
        let kept = Kept { told, is_open: false, paused: 0, policy, function: None, is_secret: false };
        Self { kept: Mutex::new(kept), detail }
    }

    /// Whether it keeps more than the steps.
    pub(in crate::task) fn keeps_expressions(&self) -> bool {
        self.detail == Detail::Everything
    }

    /// A step begins; its expressions see the arguments and the result of a function. One that was asked to wait, or was judged before something was read
    /// for it, begins anew.
    pub(in crate::task) fn begin(
        &self,
        step: ExplainedStep,
        policy: &Arc<Policy>,
        function: Option<FunctionId>,
        is_secret: bool,
    ) {
        let mut kept = self.kept();
        if kept.paused > 0 {
            return;
        }
        (kept.function, kept.is_secret) = (function, is_secret);
        if !Arc::ptr_eq(&kept.policy, policy) {
            kept.policy = policy.clone();
        }
        let is_open = kept.is_open;
        let steps = &mut kept.told.steps;
        let last = steps.iter().rposition(|step| is_open || step.outcome != StepEnding::NotReached);
        let begins_anew = |last: &ExplainedStep| {
            (is_open || last.outcome == StepEnding::Suspend)
                && (last.step, &last.function, &last.place) == (step.step, &step.function, &step.place)
        };
        if let Some(last) = last
            && steps.get(last).is_some_and(begins_anew)
        {
            steps.truncate(last);
        }
        steps.push(step);
        kept.is_open = true;
    }

    /// It has ended.
    pub(in crate::task) fn end(&self, outcome: StepEnding, skipped: Option<SkipReason>) {
        let mut kept = self.kept();
        if kept.paused > 0 {
            return;
        }
        if kept.is_open
            && let Some(step) = kept.told.steps.last_mut()
        {
            (step.outcome, step.skipped) = (outcome, skipped);
        }
        kept.is_open = false;
    }

    /// The exception by which the step under way passes.
    pub(in crate::task) fn except(&self, exception: &Arc<PolicyException>) {
        let mut kept = self.kept();
        let is_open = kept.is_open;
        if let Some(step) = kept.told.steps.last_mut().filter(|_| is_open) {
            step.exception = Some(exception.clone());
        }
    }

    /// What would have let the step under way pass.
    pub(in crate::task) fn suggest(&self, suggestions: Vec<Suggestion>) {
        let mut kept = self.kept();
        let is_open = kept.is_open;
        if let Some(step) = kept.told.steps.last_mut().filter(|_| is_open) {
            step.why_not = suggestions;
        }
    }

    /// Keeps nothing while what comes out is there: something is tried out.
    pub(in crate::task) fn pause(&self) -> Pause<'_> {
        let mut kept = self.kept();
        kept.paused = kept.paused.saturating_add(1);
        Pause(self)
    }

    /// Steps that the operation does not come to.
    pub(in crate::task) fn rest(&self, steps: impl Iterator<Item = ExplainedStep>) {
        self.kept().told.steps.extend(steps);
    }

    /// Moves the steps that were kept so far to those of tools.
    pub(in crate::task) fn were_of_tools(&self) {
        let mut kept = self.kept();
        kept.is_open = false;
        let steps = std::mem::take(&mut kept.told.steps);
        kept.told.tools.extend(steps);
    }

    /// What was kept so far.
    pub(in crate::task) fn take(&self) -> Explanation {
        let mut kept = self.kept();
        kept.is_open = false;
        std::mem::take(&mut kept.told)
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A time in which a journal keeps nothing.
#[derive(Debug)]
pub(in crate::task) struct Pause<'j>(&'j Journal);

impl Drop for Pause<'_> {
    fn drop(&mut self) {
        let mut kept = self.0.kept();
        kept.paused = kept.paused.saturating_sub(1);
    }
}

/// A clause of a text, and what it came to.
fn clause_seen(text: &Embedded, clause: SeenClause) -> ClauseSeen {
    ClauseSeen {
        place: Spot(Some(text.locate(clause.span))),
        held: clause.held,
        held_not: clause.held_not,
        failed: clause.failed,
        decided: clause.decided,
    }
}

impl ExpressionWatch for Journal {
    fn named(&self, name: &WatchedName<'_>) {
        let mut kept = self.kept();
        if kept.paused > 0 {
            return;
        }
        let WatchedName { policy, root, name, text, clauses } = name;
        let clauses = text.iter().flat_map(|text| clauses.iter().map(|clause| clause_seen(text, *clause)));
        let seen = NameSeen {
            policy: (*policy).to_owned(),
            name: format!("{root}.{name}"),
            text: text.map(|text| text.text.to_string()),
            clauses: clauses.collect(),
        };
        kept.told.names.push(seen);
    }

    fn evaluated(&self, expression: &WatchedExpression<'_>, recording: &Recording<'_>) {
        let mut kept = self.kept();
        if kept.paused > 0 {
            return;
        }
        let whole = expression.program.expr();
        let is_secret =
            |part: &Expr| kept.is_secret || reads_secret(part, kept.policy.schema(), kept.function);
        let tree = ExplainedPart::of(recording, expression.program.source(), whole, &is_secret);
        let clauses = recording.clauses(is_judged(expression.path)).into_iter();
        let clauses = clauses.map(|clause| clause_seen(expression.text, clause));
        let path = expression.path;
        let explained = ExplainedExpression {
            key: path.rsplit('.').next().unwrap_or(path).to_owned(),
            origin: Origin::new(path, &expression.text.place),
            tree,
            clauses: clauses.collect(),
        };
        let is_open = kept.is_open;
        match kept.told.steps.last_mut().filter(|_| is_open) {
            Some(step) => step.expressions.push(explained),
            None => kept.told.expressions.push(explained),
        }
    }
}
