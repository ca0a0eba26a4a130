//! An operation under way, as plain data: what it is about, and how far it came, with what was asked and answered.
//!
//! Everything that the rest of the operation depends on is here or in the task context, nothing on a stack: so an
//! operation can wait for days, be stored, and go on in another process.

use super::beside::read_beside;
use super::call_id::CallId;
use super::course::Course;
use super::decision::Decision;
use super::stage::Stage;
use super::subject::{Extent, Subject};
use super::verdict::Verdict;
use crate::policy::{Policy, Step};
use serde::de::{Error, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use std::fmt;

/// An operation under way.
#[derive(Clone, Debug, Serialize)]
pub(in crate::task) struct UnderWay {
    pub(in crate::task) subject: Subject,
    /// The name of an input, an event or a response that somebody waits for; a call has its own.
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<CallId>,
    #[serde(flatten)]
    pub(in crate::task) course: Course,
}

impl UnderWay {
    pub(in crate::task) fn new(subject: Subject, stage: Stage) -> Self {
        Self { subject, name: None, course: Course::at(stage) }
    }

    /// The name under which somebody waits for it, if it has one by now.
    pub(in crate::task) fn name(&self) -> Option<&CallId> {
        match &self.subject {
            Subject::Call(call) => call.id.as_ref(),
            _ => self.name.as_ref(),
        }
    }

    /// The same under a name, or without one.
    pub(in crate::task) fn under(mut self, name: Option<CallId>) -> Self {
        match &mut self.subject {
            Subject::Call(call) => call.id = name,
            _ => self.name = name,
        }
        self
    }

    /// Whether it can have come about under a policy: nothing of it points beyond what there is.
    pub(in crate::task) fn fits(&self, policy: &Policy) -> bool {
        let stage = match (&self.subject, self.course.stage) {
            (Subject::Call(call), Stage::BeforeFirst | Stage::Before | Stage::Execute | Stage::After) => {
                policy.function(call.function).is_some()
            }
            (Subject::Event(event), Stage::Before | Stage::After) => policy.events().len() > event.event,
            (Subject::Input(_), Stage::GuardrailBefore) | (Subject::Output, Stage::GuardrailAfter) => true,
            (Subject::Model(model), Stage::ModelBefore) => model.answer.is_none(),
            (Subject::Model(model), Stage::ModelAfter) => model.answer.is_some(),
            (Subject::Script(_), Stage::Execute) => true,
            _ => false,
        };
        let list = self.course.stage.hook().map(|hook| self.subject.steps(policy, hook));
        // one that is held may have come through its list
        stage && list.is_none_or(|list| self.course.step <= list.len())
    }

    /// Whether a call lacks what a binding should supply, and its steps have had their say: it goes on without from here.
    pub(in crate::task) fn goes_on_unbound(&mut self) -> bool {
        let Self { subject: Subject::Call(call), course, .. } = self else { return false };
        course.stage == Stage::Before && std::mem::take(&mut call.unbound)
    }

    /// The stage that follows; none if the operation has come through.
    pub(in crate::task) fn next_stage(&self) -> Option<Stage> {
        match (self.course.stage, &self.subject) {
            (Stage::BeforeFirst, _) => Some(Stage::Before),
            (Stage::Before, Subject::Call(call)) if call.extent == Extent::Whole && !call.unbound => {
                Some(Stage::Execute)
            }
            (Stage::Before, Subject::Event(_)) | (Stage::Execute, _) => Some(Stage::After),
            (Stage::After, Subject::Event(_)) => Some(Stage::GuardrailBefore),
            (
                Stage::Before
                | Stage::After
                | Stage::GuardrailBefore
                | Stage::GuardrailAfter
                | Stage::ModelBefore
                | Stage::ModelAfter,
                _,
            ) => None,
        }
    }

    /// The step that is under way, if one is.
    pub(in crate::task) fn step_under_way<'p>(&self, policy: &'p Policy) -> Option<&'p Step> {
        let hook = self.course.stage.hook()?;
        self.subject.steps(policy, hook).get(self.course.step)
    }

    /// A decision about one of its calls, behind what was told of it so far.
    pub(in crate::task) fn told_before(&self, mut decision: Decision) -> Decision {
        decision.trace.splice(0..0, self.course.trace.iter().cloned());
        decision.observed.splice(0..0, self.course.observed.iter().cloned());
        decision.enforced = self.course.enforced.clone().or(decision.enforced);
        decision.findings.splice(0..0, self.course.findings.iter().cloned());
        decision.counters.splice(0..0, self.course.counters.iter().cloned());
        decision.cost = decision.cost.saturating_add(self.course.cost);
        decision
    }

    /// The decision that it ends in, with what was found on the way.
    pub(in crate::task) fn decide(self, verdict: Verdict) -> Decision {
        let Course { trace, observed, enforced, findings, counters, cost, notes, .. } = self.course;
        Decision { trace, observed, enforced, findings, counters, cost, notes, ..Decision::new(verdict) }
    }
}

impl<'de> Deserialize<'de> for UnderWay {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Members;
        impl<'de> Visitor<'de> for Members {
            type Value = UnderWay;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an operation under way")
            }

            fn visit_map<A: MapAccess<'de>>(self, members: A) -> Result<UnderWay, A::Error> {
                let (mut subject, mut name) = (None, None);
                let course = read_beside(members, |member, members: &mut A| {
                    match member {
                        "subject" => subject = Some(members.next_value()?),
                        "name" => name = members.next_value()?,
                        _ => return Ok(false),
                    }
                    Ok(true)
                })?;
                let subject = subject.ok_or_else(|| A::Error::missing_field("subject"))?;
                Ok(UnderWay { subject, name, course })
            }
        }
        deserializer.deserialize_map(Members)
    }
}
