//! A task as plain data, so that it can wait in a store and go on in another process.
//!
//! In: a task, with or without a pending operation. Out: a [`SavedTask`], and back under the same policy. What was restored
//! decides the same as what was never saved. A task that waits in the middle of a policy goes on only under that very
//! policy: a step that was already passed might not be there any more.

use super::calls::all_labels;
use super::calls::allowed::lists;
use super::flow::function_id;
use super::state::{
    Activity, CallClaim, CallId, Deliveries, End, Holdings, KnownCalls, ModelCalls, OpenCall, Parent,
    Pending, QuestionId, Queue, Request, Results, Retain, Review, SavedCalls, Stretches, Switches, Task,
    TaskError, TaskState, Terms,
};
use crate::cel::{Cache, Json, JsonRef};
use crate::context::{Caller, ContextState, LabelSet, Moment, OpenInvocation, Runtime, TaskContext};
use crate::manifest::agent::Capability;
use crate::manifest::brought::BroughtTool;
use crate::policy::{AllowList, Fingerprint, Policy};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The format that is written and read.
const FORMAT: u32 = 1;

/// A task in a store.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct SavedTask {
    format: u32,
    id: String,
    namespace: String,
    agent: String,
    pub(super) fingerprint: Fingerprint,
    pub(super) context: ContextState,
    version: String,
    dashboard_url: String,
    api_root: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    parent: Option<Parent>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    metadata: BTreeMap<String, String>,
    #[serde(default, skip_serializing_if = "Retain::is_all")]
    retain: Retain,
    pub(super) end: Option<End>,
    /// The operations that wait for an answer.
    #[serde(rename = "pending")]
    pub(super) waiting: Vec<Pending>,
    pub(super) next_question: u32,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) reviews: Vec<Review>,
    #[serde(default, skip_serializing_if = "Queue::is_empty")]
    pub(super) queue: Queue,
    pub(super) open: Vec<SavedCall>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    mount_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    begun_with: Option<String>,
    pub(super) next_call: u64,
    #[serde(default, skip_serializing_if = "ModelCalls::is_empty")]
    pub(super) model: ModelCalls,
    #[serde(default, skip_serializing_if = "SavedCalls::is_empty")]
    pub(super) known: SavedCalls,
    pub(super) activity: Activity,
    #[serde(default, skip_serializing_if = "Stretches::are_at_beginning")]
    pub(super) stretches: Stretches,
    pub(super) allowed: Vec<SavedAllowList>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) delivered: Vec<String>,
    #[serde(default, skip_serializing_if = "Holdings::is_empty")]
    pub(super) holdings: Holdings,
    #[serde(default, skip_serializing_if = "<[_]>::is_empty")]
    pub(super) tools: Arc<[BroughtTool]>,
}

/// What one capability's parameters have had, by its reference: positions change with the manifest.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct SavedAllowList {
    pub(super) capability: String,
    names: Vec<SavedName>,
}

/// The values of one name.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct SavedName {
    name: Arc<str>,
    sealed: bool,
    values: Vec<Json>,
}

/// A call that was let through, by the key of its function: positions change with the manifest.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct SavedCall {
    pub(super) id: CallId,
    function: String,
    arguments: Json,
    /// The fingerprint of the policy that let it through.
    admitted: Fingerprint,
    /// When it was let through.
    started_at: Moment,
    /// Position of the message that it was let through for.
    message: u32,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    is_invoked: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    terms: Option<Box<Terms>>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    notes: Vec<String>,
    #[serde(default, skip_serializing_if = "Results::is_empty")]
    results: Results,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    asked: Option<QuestionId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) claim: Option<CallClaim>,
}

impl SavedCall {
    /// The function and the arguments.
    pub(super) fn told(&self) -> (&str, &Json) {
        (&self.function, &self.arguments)
    }
}

impl SavedTask {
    /// The agent whose policy it needs: namespace and name.
    #[must_use]
    pub fn agent(&self) -> (&str, &str) {
        (&self.namespace, &self.agent)
    }

    /// As [`Task::begun_with`].
    #[must_use]
    pub fn begun_with(&self) -> Option<&str> {
        self.begun_with.as_deref()
    }

    /// The tools that it has brought, which its policy is made with.
    #[must_use]
    pub fn tools(&self) -> &[BroughtTool] {
        &self.tools
    }

    /// The task with these tools in the place of those that it has brought.
    pub(crate) fn with_tools(self, tools: Vec<BroughtTool>) -> Self {
        Self { tools: tools.into(), ..self }
    }

    /// The task's id.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.id
    }

    /// The task that has delegated to it, as [`Task::parent`].
    #[must_use]
    pub fn parent(&self) -> Option<&Parent> {
        self.parent.as_ref()
    }

    /// What whoever began it has written on it, as [`Task::metadata`].
    #[must_use]
    pub fn metadata(&self) -> &BTreeMap<String, String> {
        &self.metadata
    }

    /// The identifier of the user for whom it runs.
    #[must_use]
    pub fn user(&self) -> &str {
        self.context.user()
    }

    /// The claims of that user, as far as policies named them when the task began: an object.
    #[must_use]
    pub fn claims(&self) -> Option<&Json> {
        self.context.claims()
    }

    /// Whether it takes steps, as [`Task::state`].
    #[must_use]
    pub fn state(&self) -> TaskState {
        TaskState::of(self.end.as_ref(), &self.waiting)
    }

    /// What it waits for, as [`Task::request`].
    #[must_use]
    pub fn request(&self) -> Option<&Request> {
        self.waiting.first().map(|pending| &pending.request)
    }

    /// As [`Task::is_interrupted`].
    #[must_use]
    pub fn is_interrupted(&self) -> bool {
        self.activity.is_interrupted()
    }

    /// All labels that steps have given to its results and inputs, and that came along with delegations.
    #[must_use]
    pub fn labels_given(&self) -> LabelSet {
        all_labels(self.context.labellings())
    }

    /// Whether the result of a call is awaited: it was let through, or waits for an answer.
    #[must_use]
    pub fn awaits(&self, call: &CallId) -> bool {
        let under_way =
            self.waiting.iter().filter_map(|pending| pending.operation.subject.call()?.id.as_ref());
        self.open.iter().map(|open| &open.id).chain(under_way).any(|id| id == call)
    }

    /// Whether it is at its end, and takes no step any more.
    #[must_use]
    pub fn has_ended(&self) -> bool {
        self.end.is_some()
    }

    /// What tells its policy from others ([`Policy::fingerprint`]). Restored under another one, a task has other
    /// bindings and other functions: a store then begins anew with a snapshot, on which the changes of before have no
    /// bearing.
    #[must_use]
    pub fn fingerprint(&self) -> Fingerprint {
        self.fingerprint
    }
}

impl Task {
    /// The task as plain data. Linear in its history.
    #[must_use]
    pub fn save(&self) -> SavedTask {
        let agent = self.policy.agent();
        SavedTask {
            format: FORMAT,
            id: self.id.clone(),
            namespace: agent.namespace.text.to_string(),
            agent: agent.name.text.to_string(),
            fingerprint: self.policy.fingerprint(),
            context: self.context.state(),
            version: self.runtime.version.to_string(),
            dashboard_url: self.runtime.dashboard_url.to_string(),
            api_root: self.runtime.api_root.to_string(),
            parent: self.parent.clone(),
            metadata: self.metadata.clone(),
            retain: self.retain,
            end: self.end.clone(),
            waiting: self.waiting.clone(),
            next_question: self.next_question,
            reviews: self.reviews.clone(),
            queue: self.queue.clone(),
            open: self.open.iter().filter_map(|call| self.saved_call(call)).collect(),
            mount_id: self.mount_id.clone(),
            begun_with: self.begun_with.clone(),
            next_call: self.next_call,
            model: self.model.clone(),
            known: self.known.save(),
            activity: self.activity,
            stretches: self.stretches,
            allowed: agent.capabilities.iter().zip(&self.allowed).map(SavedAllowList::of).collect(),
            delivered: self.delivered.save(),
            holdings: self.holdings.clone(),
            tools: self.tools.clone(),
        }
    }

    pub(super) fn saved_call(&self, call: &OpenCall) -> Option<SavedCall> {
        let function = self.policy.function(call.function)?.key.to_string();
        let (arguments, admitted) = (call.arguments.clone(), call.admitted);
        let OpenCall { is_invoked, asked, message, .. } = *call;
        let (terms, notes, claim) = (call.terms.clone(), call.notes.clone(), call.claim.clone());
        let (id, results) = (call.id.clone(), call.results.clone());
        let started_at = call.started_at;
        Some(SavedCall {
            id,
            function,
            arguments,
            admitted,
            started_at,
            message,
            is_invoked,
            terms,
            notes,
            results,
            asked,
            claim,
        })
    }

    /// The task that was saved, under a policy of its agent.
    ///
    /// # Errors
    /// [`TaskError::UnknownFormat`], [`TaskError::PolicyChanged`] if it waits and the policy is another than when it
    /// was saved, or cannot be compared with it, and [`TaskError::NotRestorable`] if its history is not one of this agent.
    pub fn restore(policy: Arc<Policy>, cache: Arc<Cache>, saved: SavedTask) -> Result<Self, TaskError> {
        if saved.format != FORMAT {
            return Err(TaskError::UnknownFormat(saved.format));
        }
        let stops = !saved.waiting.is_empty() || saved.queue.holds();
        if stops && saved.fingerprint != policy.fingerprint() {
            return Err(TaskError::PolicyChanged);
        }
        let held = || saved.queue.waiting.iter().filter_map(|queued| queued.held.as_deref());
        if !saved.waiting.iter().all(|pending| pending.fits(&policy))
            || !held().all(|held| held.fits(&policy))
        {
            return Err(TaskError::NotRestorable("its operation is not one of this agent"));
        }
        let mut open = Vec::new();
        for call in saved.open {
            let function = policy.position(&call.function);
            let function = function.ok_or(TaskError::NotRestorable("an open call has no function"))?;
            open.push(OpenCall {
                id: call.id,
                function,
                arguments: call.arguments,
                admitted: call.admitted,
                started_at: call.started_at,
                message: call.message,
                is_invoked: call.is_invoked,
                terms: call.terms,
                notes: call.notes,
                results: call.results,
                asked: call.asked,
                claim: call.claim,
            });
        }
        let mut allowed = lists(&policy);
        for saved in saved.allowed {
            let list = policy.capability(&saved.capability).and_then(|at| allowed.get_mut(at));
            list.into_iter().for_each(|list| saved.clone().put_into(list));
        }
        let mut context = TaskContext::restore(policy.schema().clone(), saved.context)
            .map_err(|_| TaskError::NotRestorable("its history is not one of this agent"))?;
        saved.reviews.iter().for_each(|review| context.push_review(review.in_context()));
        for call in &open {
            context.open_call(OpenInvocation {
                function: function_id(call.function),
                input: call.arguments.clone(),
                message: call.message,
                started_at: call.started_at,
                origin: if call.is_invoked { Caller::Middleware } else { Caller::Model },
            });
        }
        let known = KnownCalls::restore(saved.known);
        Ok(Self {
            mount: policy.mount(saved.mount_id.as_deref().unwrap_or(&saved.id)),
            mount_id: saved.mount_id,
            begun_with: saved.begun_with,
            id: saved.id,
            policy,
            cache,
            context,
            runtime: Runtime {
                version: saved.version.into(),
                dashboard_url: saved.dashboard_url.into(),
                api_root: saved.api_root.into(),
            },
            parent: saved.parent,
            above: None,
            metadata: saved.metadata,
            retain: saved.retain,
            end: saved.end,
            next_question: saved.next_question,
            waiting: saved.waiting,
            reviews: saved.reviews,
            queue: saved.queue,
            open_bytes: open.iter().fold(0, |sum, call| sum.saturating_add(call.bytes())),
            open,
            script_bytes: 0,
            next_call: saved.next_call,
            model: saved.model,
            known,
            activity: saved.activity,
            stretches: saved.stretches,
            allowed,
            delivered: Deliveries::restore(saved.delivered),
            switches: Switches::default(),
            functions: Arc::default(),
            holdings: saved.holdings,
            tools: saved.tools,
            left_out: Arc::default(),
            tool_findings: Arc::default(),
            journal: None,
        })
    }
}

impl Task {
    /// A copy of it, to try something on.
    ///
    /// # Errors
    /// As [`Task::restore`].
    ///
    /// # Cost
    /// Linear in the task.
    pub fn copy(&self) -> Result<Self, TaskError> {
        self.copy_at(self.save())
    }

    /// The same as it was earlier, under the policy that it has now.
    ///
    /// # Errors
    /// As [`Task::restore`].
    pub fn copy_at(&self, earlier: SavedTask) -> Result<Self, TaskError> {
        let copy = Self::restore(self.policy.clone(), self.cache.clone(), earlier)?;
        Ok(Self { above: self.above.clone(), ..copy })
    }
}

impl SavedAllowList {
    fn of((capability, list): (&Capability, &AllowList)) -> Self {
        let names = list.names().map(|(name, sealed)| SavedName {
            name: name.clone(),
            sealed,
            values: list.values(name).map(JsonRef::to_json).collect(),
        });
        Self { capability: capability.reference.text.to_string(), names: names.collect() }
    }

    /// What came after so many values had.
    pub(super) fn since(capability: &Capability, list: &AllowList, count: usize) -> Self {
        let names = list.since(count);
        let names = names.map(|(name, sealed, values)| SavedName { name: name.clone(), sealed, values });
        Self { capability: capability.reference.text.to_string(), names: names.collect() }
    }

    /// Adds what came later. A name that was sealed meanwhile has the value of its binding and no other.
    pub(super) fn extend(&mut self, later: Self) {
        for name in later.names {
            match self.names.iter_mut().find(|known| known.name == name.name) {
                Some(known) if known.sealed == name.sealed => known.values.extend(name.values),
                Some(known) => *known = name,
                None => self.names.push(name),
            }
        }
    }

    /// Puts the values back. A name that has a binding by now is sealed: what calls gave it before does not count.
    fn put_into(self, list: &mut AllowList) {
        for SavedName { name, sealed, values } in self.names {
            if sealed || !list.awaits(&name) {
                list.put(name, sealed, values);
            }
        }
    }
}
