//! Claims: exactly one of several processes runs a call that was let through.
//!
//! In: a call and the random text of a claimant. Out: allow for one claimant, and a mistake of the host for every other one. The claim is part of
//! the task, so a store that takes one version of a task once decides between processes. A claim is given back only by its claimant, which says
//! that nothing was run. A claim that has lapsed is never handed on: its process may have died behind the tool, so the call is lost.

use crate::cel::Timestamp;
use crate::task::messages;
use crate::task::state::{CallClaim, CallId, Decision, Ran, Stage, Task, TaskError, Verdict};

impl Task {
    pub(in crate::task) fn begin_claim(
        &mut self,
        call: &CallId,
        claimant: &str,
        now: Timestamp,
    ) -> Result<Decision, TaskError> {
        let max = self.policy.limits().max_id_bytes;
        if !CallId::from(claimant).is_sound(max) {
            return Err(TaskError::BadClaimant { max });
        }
        let Ok(position) = self.open_position(call) else {
            return self.standing_of_claimed(call).ok_or_else(|| TaskError::UnknownCall(call.clone()));
        };
        if self.is_invoked(position) {
            return Err(TaskError::UnknownCall(call.clone()));
        }
        match self.open.get(position).and_then(|open| open.claim.as_ref()) {
            Some(claim) if *claim.claimant != *claimant => {
                return match claim.has_lapsed(now.nanos(), self.policy.limits().max_claim_ms) {
                    true => Ok(self.lose_call(call, position, now)),
                    false => Err(TaskError::CallClaimed(call.clone())),
                };
            }
            // in the hands of the host, which was asked to carry it out
            None if self.open.get(position).is_some_and(|open| open.asked.is_some()) => {
                return Err(TaskError::CallClaimed(call.clone()));
            }
            _ => {}
        }
        // the call stays open: a result of it is taken
        if let Some(refusal) = self.hindrance_of_open(position, now) {
            return Ok(refusal);
        }
        if let Some(open) = self.open.get_mut(position) {
            open.claim = Some(CallClaim { claimant: claimant.into(), at: now.nanos() });
        }
        self.standing(call).ok_or_else(|| TaskError::UnknownCall(call.clone()))
    }

    pub(in crate::task) fn begin_release(
        &mut self,
        call: &CallId,
        claimant: &str,
    ) -> Result<Decision, TaskError> {
        let unknown = || TaskError::UnknownCall(call.clone());
        let position = self.open_position(call)?;
        let open = self.open.get_mut(position).ok_or_else(unknown)?;
        if open.claim.as_ref().is_some_and(|claim| *claim.claimant != *claimant) {
            return Err(TaskError::CallClaimed(call.clone()));
        }
        open.claim = None;
        self.standing(call).ok_or_else(unknown)
    }

    /// How far a call has come that is not open: it may not run, whatever it came to.
    fn standing_of_claimed(&self, call: &CallId) -> Option<Decision> {
        if self.is_unruled(call) {
            // it is not on record, so every claim of it is the first one
            return Some(Decision { call: Some(call.clone()), ..Decision::new(Verdict::allow(None)) });
        }
        let standing = self.standing(call)?;
        Some(if standing.is_allowed() { Decision::turned_away(messages::reported()) } else { standing })
    }

    /// Why a call that is open may not be carried out now: the task is at its end, or an operator has stopped it.
    pub(in crate::task) fn hindrance_of_open(&mut self, position: usize, now: Timestamp) -> Option<Decision> {
        let hindrance = self.hindrance_at_end(now);
        hindrance.or_else(|| {
            let function = self.policy.function(self.open.get(position)?.function)?;
            self.stopped_function(function).map(Decision::switched_off)
        })
    }

    /// Takes back a call whose claimant has not reported it in time: it may have run, and is not run again.
    fn lose_call(&mut self, call: &CallId, position: usize, now: Timestamp) -> Decision {
        self.take_step_unless_ended(now);
        let operation = self.take_open(position, Stage::Execute);
        let withdrawn = self.withdrawn(operation, Ran::Unknown, now.into());
        let decision = Decision { verdict: Verdict::block(messages::lost()), ..withdrawn };
        self.close_unless_open(Some(call), &decision);
        decision
    }
}
