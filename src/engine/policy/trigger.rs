//! Triggers, compiled (TRG): whether an event makes a task, and what the task begins with.
//!
//! In: a trigger with its agent. Out: a [`Trigger`] that judges payloads, or diagnostics. A payload is read as it comes: no
//! map of names of a tool applies (TRG-05). Whatever goes wrong makes no task (TRG-03). Starting the task and putting the
//! first input through its guardrails (TRG-12) is the host's next step.

use super::event::{check_payload, payload_type};
use super::expression::{Expression, Texts};
use super::launch::check_inputs;
use super::message::compile_event_message;
use super::messages;
use super::origin::Origin;
use super::shape::Shape;
use super::step::{Step, StepScopes};
use super::template::Template;
use crate::cel::{Cache, Json, LANGUAGE, Timestamp};
use crate::context::{Activations, Bound, ExpressionWatch, Moment, Scope, ScopeDecl, ScopeEnv, event_type};
use crate::diagnostic::Diagnostic;
use crate::limits::{EngineLimits, EvalLimits};
use crate::manifest::catalog::ResolvedLaunch;
use crate::manifest::launch::Launch;
use crate::manifest::trigger::DeclaredTrigger;
use std::sync::Arc;

/// A compiled trigger.
#[derive(Debug)]
pub struct Trigger {
    written: Arc<DeclaredTrigger>,
    /// What the payload of its events looks like, if it says so.
    payload: Option<Shape>,
    before: Vec<Step>,
    message: Option<Template>,
    limits: EvalLimits,
}

/// What an event comes to.
#[derive(Clone, Debug, PartialEq)]
pub struct Firing {
    /// Whether a task is made, and from what.
    pub outcome: FiringOutcome,
    /// The steps that were evaluated, by position, and whether each passed; a skipped one leaves no trace (MW-24).
    pub trace: Vec<(usize, bool)>,
}

/// Whether an event makes a task.
#[derive(Clone, Debug, PartialEq)]
pub enum FiringOutcome {
    /// A task of the trigger's agent, for its owner, with this first input; none if the trigger says nothing of one, and
    /// the task is idle (TRG-07).
    Create(Option<Json>),
    /// None: the trigger is not enabled (TRG-09).
    Disabled,
    /// None: the payload is not what the trigger declares. No step has looked at it.
    Misfit {
        /// What does not fit, without anything of the payload.
        message: String,
        /// The schema.
        by: Origin,
    },
    /// None: an assert did not pass (TRG-01).
    Refused {
        /// What the step says to it, if its manifest says anything.
        message: Option<String>,
        /// The step.
        by: Origin,
    },
}

/// Is told what the steps of a trigger come to, beside what their expressions do.
pub(crate) trait FiringWatch: ExpressionWatch {
    /// An event has come to a step.
    fn begins(&self, step: &Step);
    /// The step has passed or failed; nothing if its condition left it out.
    fn ends(&self, passed: Option<bool>);
    /// The event does not come to these any more.
    fn leaves(&self, steps: &[Step]);
}

impl Trigger {
    /// Compiles a trigger. It is there if neither its asserts and its message nor its documents hold an error.
    #[must_use]
    pub fn compile(
        resolved: &ResolvedLaunch<DeclaredTrigger>,
        limits: &EngineLimits,
        cache: &Cache,
    ) -> (Option<Arc<Self>>, Vec<Diagnostic>) {
        let mut texts = Texts::new(cache);
        let written = &resolved.document;
        let launch = &written.launch;
        let payload = written.payload.as_deref().map(Shape::of);
        let scope = Arc::new(ScopeEnv::new(&ScopeDecl {
            event: event_type(payload_type(payload.as_ref()), []),
            libraries: LANGUAGE,
            ..ScopeDecl::new(Scope::Trigger, limits.eval)
        }));
        let scopes = StepScopes { action: scope.clone(), condition: scope.clone() };
        let before: Vec<_> =
            written.before.iter().map(|step| Step::compile(step, &scopes, &[], None, &mut texts)).collect();
        let message = launch
            .message
            .as_ref()
            .map(|text| compile_event_message(&scope, text, &launch.path_of("message"), &mut texts.findings));
        if let Some(agent) = &resolved.agent {
            check_inputs(launch, agent, &mut texts.findings);
        }
        let sound = resolved.sound && !texts.findings.iter().any(Diagnostic::is_error);
        let before = before.into_iter().collect::<Option<Vec<_>>>().filter(|_| sound);
        let trigger = before.map(|before| {
            Arc::new(Self { written: written.clone(), payload, before, message, limits: limits.eval })
        });
        (trigger, texts.findings)
    }

    /// Which tasks it makes.
    #[must_use]
    pub fn launch(&self) -> &Launch {
        &self.written.launch
    }

    /// Judges an event of the trigger's source. Costs a copy of the payload, the look at its schema and the asserts.
    #[must_use]
    pub fn fire(&self, payload: &Json, now: Timestamp) -> Firing {
        self.fire_watched(payload, now, None)
    }

    /// The same, and somebody is told what each step and each expression comes to.
    pub(crate) fn fire_watched(
        &self,
        payload: &Json,
        now: Timestamp,
        watch: Option<&dyn FiringWatch>,
    ) -> Firing {
        let mut trace = Vec::new();
        let (outcome, left) = self.judge(payload, now, watch, &mut trace);
        watch.into_iter().for_each(|watch| watch.leaves(left));
        Firing { outcome, trace }
    }

    /// Its steps, in the order in which they stand.
    #[must_use]
    pub fn steps(&self) -> &[Step] {
        &self.before
    }

    /// The expressions of its steps.
    pub fn expressions(&self) -> impl Iterator<Item = &Expression> {
        self.before.iter().flat_map(Step::expressions)
    }

    /// The bounds of its expressions.
    pub(crate) const fn limits(&self) -> &EvalLimits {
        &self.limits
    }

    /// What the event comes to, and the steps that it does not come to.
    fn judge<'s>(
        &'s self,
        payload: &Json,
        now: Timestamp,
        watch: Option<&dyn FiringWatch>,
        trace: &mut Vec<(usize, bool)>,
    ) -> (FiringOutcome, &'s [Step]) {
        if !self.launch().enabled {
            return (FiringOutcome::Disabled, &self.before);
        }
        if let (Err(message), Some(schema)) =
            (check_payload(self.payload.as_ref(), payload), &self.written.payload)
        {
            let by = Origin::new(&self.launch().path_of("source.payload"), &schema.node.place);
            let message = messages::unfit_payload(&message);
            return (FiringOutcome::Misfit { message, by }, &self.before);
        }
        let event = Json::object([("payload", payload.clone())]);
        let now = Moment::from(now);
        let bound = Bound {
            event: Some(event.value()),
            now: Some(&now),
            watch: watch.map(|watch| watch as &dyn ExpressionWatch),
            ..Bound::default()
        };
        let mut values = Activations::new(bound);
        let mut ahead = &*self.before;
        while let Some((step, behind)) = ahead.split_first() {
            ahead = behind;
            watch.into_iter().for_each(|watch| watch.begins(step));
            let passed = step.asserts(&mut values);
            watch.into_iter().for_each(|watch| watch.ends(passed));
            let Some(passed) = passed else { continue };
            trace.push((step.index, passed));
            if !passed {
                let message = step.message(values.bound(), "");
                return (FiringOutcome::Refused { message, by: step.origin() }, ahead);
            }
        }
        if !self.launch().has_input() {
            return (FiringOutcome::Create(None), ahead);
        }
        let message = self
            .message
            .as_ref()
            .map(|template| template.render(&self.limits, |placeholder| placeholder.follow(event.value())));
        (FiringOutcome::Create(Some(self.launch().input(message.as_deref()).into())), ahead)
    }
}
