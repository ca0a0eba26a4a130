//! The keeping of what operations go through, for whoever has asked for it.
//!
//! In: each step as the task comes to it, and each expression that is evaluated meanwhile. Out: an [`Explanation`]. Nothing is evaluated for it that would not be
//! evaluated anyway, and nothing is kept unless somebody has asked. What may show a secret is masked here, by the same rules as what a step says.

use super::flow::function_id;
use super::state::{
    Course, Detail, ExplainedStep, Explanation, Journal, Made, SkipReason, Spot, Stage, StepEnding, StepKind,
    StepName, Subject, Suggestion, Task, UnderWay,
};
use crate::cel::{Json, Recording, Timestamp};
use crate::context::{ExpressionWatch, WatchedExpression, WatchedName};
use crate::manifest::exception::PolicyException;
use crate::manifest::mode::Mode;
use crate::manifest::step::Hook;
use crate::policy::{Firing, FiringWatch, Policy, Step, Trigger};
use std::sync::Arc;

impl Task {
    /// From now on keeps what each step and each expression comes to, for [`Task::explanation`]. Decisions are the same as without, and take
    /// several times as long.
    ///
    /// ```
    /// use celador::{Call, Engine, EngineLimits, StartTask, User};
    /// # std::env::set_current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))?;
    /// # let engine = Engine::open(&["examples/first-policy"], EngineLimits::default())?;
    /// # let now = std::time::SystemTime::UNIX_EPOCH;
    /// let mut task = engine.start(StartTask::new("t-1", "shop", "clerk", User::default(), now))?;
    /// task.explain();
    /// let call = Call::new("payout", serde_json::json!({"amount": 2000}).into());
    /// assert!(!task.before(&call, now)?.outcome().is_allowed());
    ///
    /// let explanation = task.explanation().ok_or("it was asked for")?;
    /// let step = explanation.deciding().ok_or("a step stopped it")?;
    /// assert_eq!(step.called(), "before[0]");
    /// let deciding: Vec<&str> = step.expressions[0].tree.deciding().iter().map(|part| &*part.text).collect();
    /// assert_eq!(deciding, ["input.amount <= 1000"]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn explain(&mut self) {
        self.journal = Some(Arc::new(Journal::new(self.policy.clone(), Detail::Everything)));
    }

    /// Keeps what the checks of the tools come to that the task has brought. They were made when the task began, and come to the same.
    pub(crate) fn explain_tools(&self) {
        let Some(journal) = self.journal.as_deref() else { return };
        let told = ToldSteps { journal, policy: &self.policy, hook: Hook::Tools };
        for tool in self.tools() {
            self.policy.check_tool(tool, Some(&told));
        }
        journal.were_of_tools();
    }

    /// Keeps from now on to which steps operations come, for [`Task::explanation`], and none of their expressions.
    pub(crate) fn explain_steps(&mut self) {
        self.journal = Some(Arc::new(Journal::new(self.policy.clone(), Detail::Steps)));
    }

    /// Judges an event of a trigger's source as [`Trigger::fire`] does. This is the task that the event would make: what the trigger's steps come to is kept with
    /// what its own come to, if somebody has asked.
    #[must_use]
    pub fn fire(&self, trigger: &Trigger, payload: &Json, now: Timestamp) -> Firing {
        let hook = Hook::Trigger;
        let told = self.journal.as_deref().map(|journal| ToldSteps { journal, policy: &self.policy, hook });
        trigger.fire_watched(payload, now, told.as_ref().map(|told| told as &dyn FiringWatch))
    }

    /// What was kept since it was asked for or taken last; nothing if nobody has asked.
    #[must_use]
    pub fn explanation(&self) -> Option<Explanation> {
        Some(self.journal.as_ref()?.take())
    }

    /// Notes that the operation has come to a step.
    #[inline]
    pub(super) fn note_begin(&self, policy: &Policy, step: &Step, subject: &Subject, stage: Stage) {
        if let Some(journal) = &self.journal {
            self.begin_in(journal, policy, step, subject, stage);
        }
    }

    #[cold]
    fn begin_in(&self, journal: &Journal, policy: &Policy, step: &Step, subject: &Subject, stage: Stage) {
        let Some(explained) = explained(policy, step, subject, stage) else { return };
        let counters = policy.counters();
        let is_secret = match subject {
            // what is sent to a model repeats what the task was told and got
            Subject::Model(_) => !policy.secrets().is_empty(),
            _ => {
                subject.call().is_some_and(|call| call.made == Made::OfSecrets)
                    || step.expressions().any(|it| counters.show_secret(step, it.program().expr()))
            }
        };
        let function = subject.call().map(|call| function_id(call.function));
        journal.begin(explained, &self.policy, function, is_secret);
    }

    /// Notes how the step has ended.
    #[inline]
    pub(super) fn note_end(&self, outcome: StepEnding) {
        if let Some(journal) = &self.journal {
            journal.end(outcome, None);
        }
    }

    /// Notes the exception by which the step passes, if it is one.
    #[inline]
    pub(super) fn note_exception(&self, exception: Option<&Arc<PolicyException>>) {
        if let (Some(journal), Some(exception)) = (&self.journal, exception) {
            journal.except(exception);
        }
    }

    /// Notes what would have let the step pass.
    #[inline]
    pub(super) fn note_suggestions(&self, suggestions: Vec<Suggestion>) {
        if let Some(journal) = &self.journal {
            journal.suggest(suggestions);
        }
    }

    /// Notes that the step was left out.
    #[inline]
    pub(super) fn note_skip(&self, step: &Step, is_selected: bool, course: &Course, subject: &Subject) {
        if let Some(journal) = &self.journal {
            let reason = if !is_selected {
                SkipReason::Match
            } else if step.sets().is_some() && course.has_set() {
                SkipReason::AlreadySet
            } else if course.stage == Stage::BeforeFirst && !self.is_first(step, subject) {
                SkipReason::NotFirst
            } else {
                SkipReason::Condition
            };
            match step.mode {
                Mode::Observe if is_selected => journal.end(StepEnding::Observed, None),
                _ => journal.end(StepEnding::Skipped, Some(reason)),
            }
        }
    }

    /// Notes the steps that the operation does not come to any more.
    #[inline]
    pub(super) fn note_rest(&self, policy: &Policy, operation: &UnderWay) {
        if let Some(journal) = &self.journal {
            rest(journal, policy, operation);
        }
    }
}

#[cold]
fn rest(journal: &Journal, policy: &Policy, operation: &UnderWay) {
    let UnderWay { subject, course, .. } = operation;
    let first = (course.stage, course.step.saturating_add(1));
    let second = (course.stage == Stage::BeforeFirst).then_some((Stage::Before, 0));
    for (stage, from) in std::iter::once(first).chain(second) {
        let Some(hook) = stage.hook() else { continue };
        let rest = subject.steps(policy, hook).iter().skip(from);
        let selected = subject.selected(policy);
        let rest = rest.filter(|step| selected.is_none_or(|name| step.is_for(name)));
        journal.rest(rest.filter_map(|step| explained(policy, step, subject, stage)));
    }
}

/// A journal that is told of steps that belong to no operation: those of a trigger, and checks of tools.
#[derive(Debug)]
struct ToldSteps<'t> {
    journal: &'t Journal,
    policy: &'t Arc<Policy>,
    hook: Hook,
}

impl ExpressionWatch for ToldSteps<'_> {
    fn named(&self, name: &WatchedName<'_>) {
        self.journal.named(name);
    }

    fn evaluated(&self, expression: &WatchedExpression<'_>, recording: &Recording<'_>) {
        self.journal.evaluated(expression, recording);
    }
}

impl FiringWatch for ToldSteps<'_> {
    fn begins(&self, step: &Step) {
        self.journal.begin(not_reached(step, self.hook, None), self.policy, None, false);
    }

    fn ends(&self, passed: Option<bool>) {
        match passed {
            Some(true) => self.journal.end(StepEnding::Pass, None),
            Some(false) => self.journal.end(StepEnding::Fail, None),
            None => self.journal.end(StepEnding::Skipped, Some(SkipReason::Condition)),
        }
    }

    fn leaves(&self, steps: &[Step]) {
        self.journal.rest(steps.iter().map(|step| not_reached(step, self.hook, None)));
    }
}

/// A step, as far as it is known before it runs.
fn explained(policy: &Policy, step: &Step, subject: &Subject, stage: Stage) -> Option<ExplainedStep> {
    let function = subject.call().and_then(|call| policy.function(call.function));
    Some(not_reached(step, stage.hook()?, function.map(|function| function.key.to_string())))
}

fn not_reached(step: &Step, hook: Hook, function: Option<String>) -> ExplainedStep {
    ExplainedStep {
        step: StepName { hook, index: step.index },
        function,
        action: StepKind::of(step),
        origin: step.origin(),
        outcome: StepEnding::NotReached,
        skipped: None,
        expressions: Vec::new(),
        exception: None,
        why_not: Vec::new(),
        place: Spot(Some(step.place().clone())),
    }
}
