//! A context to JSON for people and programs, and to a stored state and back for tasks that are suspended.
//!
//! The JSON is exactly what expressions see, key by key, because it is read through the same view; it is written in
//! one pass. The stored state holds each fact once (the log, not its views), so it is smaller, and a task restored from
//! it under the same schema cannot be told from the one that was stored.

use super::dropped::Dropped;
use super::invocation::{Caller, InvocationRecord, InvocationStatus};
use super::labels::Labelling;
use super::messages;
use super::moment::Moment;
use super::pseudonyms::TaskPseudonyms;
use super::schema::ContextSchema;
use super::task_context::{TaskContext, TaskFacts, TurnKind};
use super::task_io::{TaskIo, TaskIoError};
use crate::amount::Amount;
use crate::cel::{Fault, Json, Shortened, Timestamp};
use crate::detect::Pseudonym;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// The version of [`ContextState`] that is written and read here.
const VERSION: u32 = 1;

/// A stored task context. Its serialised form is for storing; programs should read [`TaskContext::to_json`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ContextState {
    version: u32,
    agent: Arc<str>,
    namespace: Arc<str>,
    #[serde(with = "super::full_time")]
    started_at: Timestamp,
    user_id: Arc<str>,
    user_email: Option<Arc<str>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    user_claims: Option<Json>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    address: Option<Arc<str>>,
    pub(super) model: Arc<str>,
    #[serde(default, skip_serializing_if = "is_zero")]
    depth: u32,
    pub(super) prompt_tokens: u64,
    pub(super) completion_tokens: u64,
    #[serde(default, skip_serializing_if = "Amount::is_zero")]
    pub(super) spend: Amount,
    #[serde(default, skip_serializing_if = "is_zero")]
    pub(super) withheld: u32,
    pub(super) turns: Vec<TurnKind>,
    pub(super) inputs: Vec<Json>,
    pub(super) outputs: Vec<Json>,
    pub(super) invocations: Vec<StoredInvocation>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) labels: Vec<Labelling>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) dropped: Option<Dropped>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) pseudonyms: Vec<Pseudonym>,
}

impl ContextState {
    /// The identifier of the user.
    pub(crate) fn user(&self) -> &str {
        &self.user_id
    }

    /// Everything that was said of labels, in order.
    pub(crate) fn labellings(&self) -> &[Labelling] {
        &self.labels
    }

    /// The claims of the user.
    pub(crate) fn claims(&self) -> Option<&Json> {
        self.user_claims.as_ref()
    }
}

/// An invocation with its function by key, so that a schema with other positions reads it right.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct StoredInvocation {
    function: Arc<str>,
    at: Moment,
    /// When it was let through, if that is not when it came to its end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    started_at: Option<Moment>,
    input: Json,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    output: Option<Json>,
    pub(super) status: InvocationStatus,
    executed: bool,
    origin: Caller,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    task_id: Option<Arc<str>>,
    #[serde(default, skip_serializing_if = "is_zero")]
    message: u32,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    rejected: bool,
    #[serde(default, skip_serializing_if = "Kept::is_whole")]
    pub(super) kept: Kept,
}

impl StoredInvocation {
    /// The function and the arguments of a call by the model, if they are kept whole.
    pub(super) fn of_model(&self) -> Option<(&str, &Json)> {
        (self.origin == Caller::Model && self.kept.is_whole()).then_some((&*self.function, &self.input))
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands over a reference")]
const fn is_zero(number: &u32) -> bool {
    *number == 0
}

/// Which values of an invocation are not kept whole. Beside the values and never in their place, where a tool's result that
/// only looks like this would be.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Kept {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    input: Option<Shortened>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    output: Option<Shortened>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    input_dropped: bool,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    output_dropped: bool,
}

impl Kept {
    fn is_whole(&self) -> bool {
        *self == Self::default()
    }

    pub(super) fn of(input: &Json, output: Option<&Json>) -> Self {
        Self {
            input: input.shortened(),
            output: output.and_then(Json::shortened),
            input_dropped: input.is_dropped(),
            output_dropped: output.is_some_and(Json::is_dropped),
        }
    }
}

impl StoredInvocation {
    /// The same of which less is kept.
    pub(super) fn shorten(&mut self, kept: Kept) {
        if kept.input.is_some() || kept.input_dropped {
            self.input = Json::null();
        }
        if kept.output.is_some() || kept.output_dropped {
            self.output = None;
        }
        self.kept = kept;
    }
}

/// Why a stored state cannot be restored.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RestoreError {
    /// a state that a later version wrote
    #[error("{}", messages::other_version(*.0, VERSION))]
    OtherVersion(u32),
    /// an invocation of a function that the agent no longer has
    #[error("{}", messages::unknown_function(.0))]
    UnknownFunction(Arc<str>),
    /// something else than a digest where the digest of what was dropped should be
    #[error("{}", messages::no_digest())]
    NoDigest,
    /// an input or a response that is none
    #[error(transparent)]
    Entry(#[from] TaskIoError),
}

impl TaskContext {
    /// The whole context as JSON, in the shape of the specification: the value of `context` in expressions. Linear.
    ///
    /// # Errors
    /// `not_json` if a document that was recorded holds a number that is not finite.
    pub fn to_json(&self) -> Result<Json, Fault> {
        Json::from_host(&self.value())
    }

    /// The state to store. Linear, but documents are shared, not copied.
    #[must_use]
    pub fn state(&self) -> ContextState {
        let start = self.start().clone();
        ContextState {
            version: VERSION,
            agent: start.agent,
            namespace: start.namespace,
            started_at: start.started_at,
            user_id: start.user_id,
            user_email: start.user_email,
            user_claims: start.user_claims,
            address: start.address,
            model: start.model,
            depth: start.depth,
            prompt_tokens: self.prompt_tokens.unsigned_abs(),
            completion_tokens: self.completion_tokens.unsigned_abs(),
            spend: self.spend(),
            withheld: self.withheld,
            turns: self.turns().collect(),
            inputs: self.inputs().map(TaskIo::to_json).collect(),
            outputs: self.outputs().map(TaskIo::to_json).collect(),
            invocations: self.invocations().map(|invocation| self.stored(invocation)).collect(),
            labels: self.labellings().cloned().collect(),
            dropped: self.dropped(),
            pseudonyms: self.pseudonyms.known().all().to_vec(),
        }
    }

    pub(super) fn stored(&self, invocation: InvocationRecord) -> StoredInvocation {
        let whole = |value: &Json| !value.is_shortened();
        let kept = Kept::of(&invocation.input, invocation.output.as_ref());
        StoredInvocation {
            function: self.schema.key(invocation.function).cloned().unwrap_or_default(),
            at: invocation.at,
            started_at: Some(invocation.started_at).filter(|started_at| *started_at != invocation.at),
            input: Some(invocation.input).filter(whole).unwrap_or_else(Json::null),
            output: invocation.output.filter(whole),
            kept,
            status: invocation.status,
            executed: invocation.executed,
            origin: invocation.origin,
            task_id: invocation.task_id,
            message: invocation.message,
            rejected: invocation.rejected,
        }
    }

    /// The context that a state was stored from. Linear.
    ///
    /// # Errors
    /// A state of another version, an invocation of a function that the schema does not have, or an entry that is no
    /// message.
    pub fn restore(schema: Arc<ContextSchema>, state: ContextState) -> Result<Self, RestoreError> {
        if state.version != VERSION {
            return Err(RestoreError::OtherVersion(state.version));
        }
        let mut task = Self::new(
            schema,
            TaskFacts {
                agent: state.agent,
                namespace: state.namespace,
                started_at: state.started_at,
                user_id: state.user_id,
                user_email: state.user_email,
                user_claims: state.user_claims,
                address: state.address,
                model: state.model,
                depth: state.depth,
            },
        );
        task.add_tokens(state.prompt_tokens, state.completion_tokens);
        task.add_cost(state.spend);
        task.withheld = state.withheld;
        state.turns.into_iter().for_each(|kind| task.turn(kind));
        for input in &state.inputs {
            task.push_input(TaskIo::from_entry(input.root())?);
        }
        for output in &state.outputs {
            task.push_output(TaskIo::from_entry(output.root())?);
        }
        let nothing = Json::dropped();
        let left = |shortened: Option<&Shortened>, is_dropped: bool| match shortened {
            Some(shortened) => Some(shortened.to_json()),
            None => is_dropped.then(|| nothing.clone()),
        };
        for stored in state.invocations {
            let Some(function) = task.schema.function(&stored.function) else {
                return Err(RestoreError::UnknownFunction(stored.function));
            };
            task.record(InvocationRecord {
                function,
                at: stored.at,
                started_at: stored.started_at.unwrap_or(stored.at),
                input: left(stored.kept.input.as_ref(), stored.kept.input_dropped).unwrap_or(stored.input),
                output: left(stored.kept.output.as_ref(), stored.kept.output_dropped).or(stored.output),
                status: stored.status,
                executed: stored.executed,
                origin: stored.origin,
                task_id: stored.task_id,
                message: stored.message,
                rejected: stored.rejected,
            });
        }
        state.labels.into_iter().for_each(|labelling| task.label(labelling));
        task.pseudonyms = TaskPseudonyms::of(state.pseudonyms);
        if state.dropped.as_ref().is_some_and(|dropped| !task.history.resume_dropped(dropped)) {
            return Err(RestoreError::NoDigest);
        }
        Ok(task)
    }
}
