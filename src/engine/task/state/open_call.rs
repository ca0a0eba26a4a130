//! A call that runs.

use super::call_id::CallId;
use super::claim::CallClaim;
use super::course::Results;
use super::effect::QuestionId;
use super::terms::Terms;
use crate::cel::Json;
use crate::context::Moment;
use crate::policy::Fingerprint;

/// A call that was let through and whose result is awaited.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::task) struct OpenCall {
    pub(in crate::task) id: CallId,
    /// The position of the function in the policy.
    pub(in crate::task) function: usize,
    pub(in crate::task) arguments: Json,
    /// The fingerprint of the policy that let it through.
    pub(in crate::task) admitted: Fingerprint,
    /// When it was let through.
    pub(in crate::task) started_at: Moment,
    /// The message that it was let through for.
    pub(in crate::task) message: u32,
    /// Whether a step invoked it, and not the model, and the operation of the step was taken back meanwhile.
    pub(in crate::task) is_invoked: bool,
    /// What the host has to do for it.
    pub(in crate::task) terms: Option<Box<Terms>>,
    /// What reviewers have added who approved of it.
    pub(in crate::task) notes: Vec<String>,
    /// What `invoke` steps ahead of it gave, for the steps behind it.
    pub(in crate::task) results: Results,
    /// The question by which the host was asked to carry it out, if its operation was taken back meanwhile: the answer to that is its result.
    pub(in crate::task) asked: Option<QuestionId>,
    /// The claim of the process that runs it, where several share a store.
    pub(in crate::task) claim: Option<CallClaim>,
}

impl OpenCall {
    /// The bytes of the documents that it keeps.
    pub(in crate::task) fn bytes(&self) -> u64 {
        (self.arguments.heap_bytes() as u64).saturating_add(self.results.bytes())
    }
}
