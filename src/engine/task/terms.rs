//! `delay`, `obligations`, `credential` and `respond` of policy documents: what a call may run under, and what is said in its place.
//!
//! In: what a step computes from the call. Out: [`Terms`] that the decision carries once nothing stands in the way, or a result
//! that the model receives as if the tool had given it. A value that fails, asks in vain or has no room is a failure of its step.

use super::compute::NotComputed;
use super::flow::{StepEnd, function_id};
use super::messages;
use super::size;
use super::state::{Course, Credential, Exchange, Finding, Obligation, Subject, Task, Terms, UnderWay};
use crate::cel::Json;
use crate::context::{InvocationStatus, Moment};
use crate::policy::{CredentialFor, Duty, Effect, Expression, Policy, Step, reads_secret};
use std::sync::Arc;

impl Task {
    /// Runs a step that adds to the terms of its call.
    pub(super) fn add_terms(
        &self,
        policy: &Policy,
        step: &Step,
        effect: &Effect,
        operation: &mut UnderWay,
        now: &Moment,
    ) -> StepEnd {
        let UnderWay { subject, course, .. } = operation;
        let exchanges = std::mem::take(&mut course.exchanges);
        let terms = self.terms_after(policy, step, effect, subject, course, &exchanges, now);
        course.exchanges = exchanges;
        match terms {
            Ok(terms) => {
                course.terms = terms;
                StepEnd::Passed
            }
            Err(why) => why.end(course),
        }
    }

    /// The terms of a call with those that a step adds.
    #[expect(clippy::too_many_arguments, reason = "a step, what it is about, and what it may see")]
    pub(super) fn terms_after(
        &self,
        policy: &Policy,
        step: &Step,
        effect: &Effect,
        subject: &Subject,
        course: &mut Course,
        exchanges: &[Exchange],
        now: &Moment,
    ) -> Result<Terms, NotComputed> {
        let approved = course.approved.clone();
        let (values, cost) = self.compute(
            step,
            effect.expressions(),
            (subject, &course.results),
            (exchanges, &approved),
            &mut course.remembered,
            now,
        );
        course.cost = course.cost.saturating_add(cost);
        let mut values = values?.into_iter();
        let mut terms = course.terms.clone();
        match effect {
            Effect::Delay(milliseconds) => {
                terms.delay_ms = terms.delay_ms.max(Some(*milliseconds));
            }
            Effect::Oblige(duties) => {
                for duty in duties {
                    let own: Vec<_> = values.by_ref().take(duty.values.len()).collect();
                    terms.obligations.push(self.obligation(step, duty, own, subject));
                }
            }
            Effect::Credential(asked) => {
                let credential = credential(step, asked, values)?;
                let is_same = |known: &&Credential| {
                    known.audience == credential.audience && known.scopes == credential.scopes
                };
                if !terms.credentials.iter().any(|known| is_same(&known)) {
                    terms.credentials.push(credential);
                }
            }
            // they are no terms
            Effect::Set(_) | Effect::Respond(_) => {}
        }
        let bound = policy.limits().max_terms_bytes;
        if terms_size(&terms) > bound {
            let finding =
                Finding::new("limit_exceeded", messages::terms_too_large(bound), Some(step.origin()));
            return Err(NotComputed::Failed(vec![finding]));
        }
        Ok(terms)
    }

    fn obligation(&self, step: &Step, duty: &Duty, values: Vec<Json>, subject: &Subject) -> Obligation {
        let function = subject.call().map(|call| function_id(call.function));
        let is_secret = |expression: &Expression| {
            let read = expression.program().expr();
            reads_secret(read, self.policy.schema(), function)
                || self.policy.counters().show_secret(step, read)
        };
        let secret = duty.values.iter().filter(|computed| is_secret(&computed.value));
        let secret: Vec<Arc<str>> = secret.map(|computed| computed.name.clone()).collect();
        let members = duty.values.iter().zip(values).map(|(computed, value)| (&*computed.name, value));
        let values = Json::object(members);
        Obligation { id: duty.id.clone(), values, secret, policy: step.name.clone() }
    }

    /// Runs a step that answers in the place of the tool: the call is over, and its result passes the steps behind it.
    pub(super) fn respond(
        &mut self,
        step: &Step,
        response: &Expression,
        operation: &mut UnderWay,
        now: &Moment,
    ) -> StepEnd {
        let UnderWay { subject, course, .. } = operation;
        let answers = (&*course.exchanges, &*course.approved);
        let about = (&*subject, &course.results);
        let (value, cost) =
            self.compute(step, std::iter::once(response), about, answers, &mut course.remembered, now);
        course.cost = course.cost.saturating_add(cost);
        let value = match value {
            Ok(mut values) => values.pop().unwrap_or_else(Json::null),
            Err(why) => return why.end(course),
        };
        let Subject::Call(call) = subject else { return StepEnd::Passed };
        if let Some(misfit) = self.misfit_of(step, call.function, &value) {
            return StepEnd::Failed(Some(misfit));
        }
        // it has not run (REC-05)
        let record = self.record_call(call, None, InvocationStatus::Restricted, now);
        call.made = self.responded_by(step, call, response);
        call.record = Some(record);
        call.output = Some(value);
        call.responded = true;
        call.answered_by = Some(Box::new(step.origin()));
        StepEnd::Passed
    }
}

impl Task {
    /// Why a value cannot be answered in the place of a function's result: it is not what the function declares.
    pub(super) fn misfit_of(&self, step: &Step, function: usize, value: &Json) -> Option<Finding> {
        let function = self.policy.function(function)?;
        let why = function.output.as_ref()?.check(value).err()?;
        let text = messages::respond_misfit(&function.called, &why);
        Some(Finding::new("respond_misfit", text, Some(step.origin())))
    }
}

/// The credential that a step asks for: its values are texts, and neither the audience nor a scope is empty.
pub(super) fn credential(
    step: &Step,
    asked: &CredentialFor,
    values: impl Iterator<Item = Json>,
) -> Result<Credential, NotComputed> {
    let texts = asked.expressions().zip(values).map(|(expression, value)| {
        let text = value.root().as_str().filter(|text| !text.is_empty()).map(str::to_owned);
        text.ok_or_else(|| {
            let finding =
                Finding::new("bad_credential", messages::bad_credential(), Some(expression.origin()));
            NotComputed::Failed(vec![finding])
        })
    });
    let mut texts = texts.collect::<Result<Vec<_>, _>>()?.into_iter();
    let audience = texts.next().unwrap_or_default();
    Ok(Credential { audience, scopes: texts.collect(), policy: step.name.clone() })
}

/// What terms hold, in bytes.
fn terms_size(terms: &Terms) -> u64 {
    let obligations =
        terms.obligations.iter().map(|it| size::of(&it.values).saturating_add(it.id.len() as u64));
    let texts = terms.credentials.iter().flat_map(|it| it.scopes.iter().chain([&it.audience]));
    let texts = texts.map(|text| text.len() as u64);
    obligations.chain(texts).fold(0, u64::saturating_add)
}
