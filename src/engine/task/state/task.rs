//! A task as plain data, and what can be read off it.

use super::activity::Activity;
use super::counting::Holdings;
use super::delivered::Deliveries;
use super::effect::{Question, Request};
use super::error::TaskError;
use super::journal::Journal;
use super::known_calls::KnownCalls;
use super::lifecycle::End;
use super::model::ModelCalls;
use super::open_call::OpenCall;
use super::pending::Pending;
use super::queue::Queue;
use super::retain::Retain;
use super::review::Review;
use super::start::{Offer, Parent};
use super::stretches::Stretches;
use super::switch::Switches;
use crate::cel::{Cache, Fault, HostFunctionSet, Json};
use crate::context::{MountFacts, Runtime, TaskContext};
use crate::diagnostic::Diagnostic;
use crate::manifest::brought::{BroughtTool, LeftOut};
use crate::policy::{AgentFunction, AllowList, OutputSchema, Policy};
use std::collections::BTreeMap;
use std::sync::Arc;

/// A running task of one agent. It keeps the policy that it started with.
///
/// ```
/// use celador::{Call, CallResult, Engine, EngineLimits, Json, Outcome, StartTask, Usage, User};
/// # std::env::set_current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))?;
/// # let engine = Engine::open(&["examples/first-policy"], EngineLimits::default())?;
/// # let now = std::time::SystemTime::UNIX_EPOCH;
/// # let user = User { id: "u-7".into(), email: Some("kim@example.com".into()), ..User::default() };
/// # let mut task = engine.start(StartTask::new("t-1", "shop", "clerk", user, now))?;
///
/// assert!(task.input(&Json::string("Where is my money?"), now).outcome().is_allowed());
/// assert!(task.model_turn(Usage { prompt_tokens: 640, completion_tokens: 35, ..Usage::default() }, now).is_allowed());
///
/// let call = Call::new("payout", serde_json::json!({"amount": 40}).into());
/// let Outcome::Allowed(allowed) = task.before(&call, now)?.outcome() else { panic!("40 is little") };
/// assert_eq!(allowed.arguments.to_string(), r#"{"customer":"u-7","amount":40}"#);
///
/// // the host has carried it out
/// let result = CallResult::successful(serde_json::json!({"paid": true}).into());
/// let Outcome::Allowed(seen) = task.after(&allowed.call, result, now)?.outcome() else { panic!("no rule hides it") };
/// assert_eq!(seen.value.to_string(), r#"{"paid":true}"#);
/// assert_eq!(task.context().calls_by_model(), 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Task {
    pub(in crate::task) id: String,
    pub(in crate::task) policy: Arc<Policy>,
    pub(in crate::task) cache: Arc<Cache>,
    pub(in crate::task) context: TaskContext,
    pub(in crate::task) runtime: Runtime,
    pub(in crate::task) mount: Option<MountFacts>,
    pub(in crate::task) parent: Option<Parent>,
    /// The parent as it is now, where it decides the calls of the task as well. It is not stored.
    pub(in crate::task) above: Option<Arc<Task>>,
    pub(in crate::task) metadata: BTreeMap<String, String>,
    pub(in crate::task) retain: Retain,
    pub(in crate::task) end: Option<End>,
    /// Operations that wait for an answer, in the order in which they asked.
    pub(in crate::task) waiting: Vec<Pending>,
    pub(in crate::task) next_question: u32,
    /// Reviews that need no answer any more, in the order in which they were closed.
    pub(in crate::task) reviews: Vec<Review>,
    /// Calls that wait for calls.
    pub(in crate::task) queue: Queue,
    /// Calls that were let through and have no result yet.
    pub(in crate::task) open: Vec<OpenCall>,
    /// The bytes of their arguments.
    pub(in crate::task) open_bytes: u64,
    /// The bytes that the script under way holds while it makes a call.
    pub(in crate::task) script_bytes: u64,
    /// What stands for its id in the prefix of its mount, if it is another name.
    pub(in crate::task) mount_id: Option<String>,
    pub(in crate::task) begun_with: Option<String>,
    pub(in crate::task) next_call: u64,
    /// The calls of the model that it was asked about.
    pub(in crate::task) model: ModelCalls,
    /// The calls that it knows by their ids.
    pub(in crate::task) known: KnownCalls,
    /// When steps were taken, for the subscriptions.
    pub(in crate::task) activity: Activity,
    /// Where the last message and the last turn of the model began.
    pub(in crate::task) stretches: Stretches,
    /// What the parameters of each capability have had.
    pub(in crate::task) allowed: Vec<AllowList>,
    /// Which deliveries of webhooks it has taken.
    pub(in crate::task) delivered: Deliveries,
    /// What an operator stops.
    pub(in crate::task) switches: Switches,
    /// The functions of its host.
    pub(in crate::task) functions: Arc<HostFunctionSet>,
    /// What its calls hold of counters.
    pub(in crate::task) holdings: Holdings,
    /// The tools that it has brought.
    pub(in crate::task) tools: Arc<[BroughtTool]>,
    /// Those of them that nobody can call, and what is worth a look in the rules about them.
    pub(in crate::task) left_out: Arc<[LeftOut]>,
    pub(in crate::task) tool_findings: Arc<[Diagnostic]>,
    /// What its operations go through, if somebody has asked for that. It is not stored.
    pub(in crate::task) journal: Option<Arc<Journal>>,
}

impl Task {
    /// A second task that has come as far, for whoever wants to see what would come of it: two hosts must never go on with one task, so hosts
    /// have no such thing.
    pub(crate) fn fork(&self) -> Self {
        Self {
            id: self.id.clone(),
            policy: self.policy.clone(),
            cache: self.cache.clone(),
            context: self.context.clone(),
            runtime: self.runtime.clone(),
            mount: self.mount.clone(),
            parent: self.parent.clone(),
            above: self.above.clone(),
            metadata: self.metadata.clone(),
            retain: self.retain,
            end: self.end.clone(),
            waiting: self.waiting.clone(),
            next_question: self.next_question,
            reviews: self.reviews.clone(),
            queue: self.queue.clone(),
            open: self.open.clone(),
            open_bytes: self.open_bytes,
            script_bytes: self.script_bytes,
            mount_id: self.mount_id.clone(),
            begun_with: self.begun_with.clone(),
            next_call: self.next_call,
            model: self.model.clone(),
            known: self.known.clone(),
            activity: self.activity,
            stretches: self.stretches,
            allowed: self.allowed.clone(),
            delivered: self.delivered.clone(),
            switches: self.switches.clone(),
            functions: self.functions.clone(),
            holdings: self.holdings.clone(),
            tools: self.tools.clone(),
            left_out: self.left_out.clone(),
            tool_findings: self.tool_findings.clone(),
            journal: None,
        }
    }

    /// The text that its host began it with ([`StartTask::begun_with`](super::StartTask::begun_with)), if it gave one.
    #[must_use]
    pub fn begun_with(&self) -> Option<&str> {
        self.begun_with.as_deref()
    }

    /// The id that the host gave it.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.id
    }

    /// The policy that it runs under.
    #[must_use]
    pub fn policy(&self) -> &Arc<Policy> {
        &self.policy
    }

    /// The task that has delegated to it, if one has.
    #[must_use]
    pub fn parent(&self) -> Option<&Parent> {
        self.parent.as_ref()
    }

    /// The id of the root of its tree of delegated tasks: its own id, if no task has delegated to it.
    #[must_use]
    pub fn tree_root(&self) -> &str {
        self.parent.as_ref().map_or(&self.id, Parent::tree_root)
    }

    /// How many tasks have delegated, one to the other, to come to it: `context.depth`.
    #[must_use]
    pub fn depth(&self) -> u32 {
        self.parent.as_ref().map_or(0, Parent::depth_below)
    }

    /// What whoever began it has written on it.
    #[must_use]
    pub fn metadata(&self) -> &BTreeMap<String, String> {
        &self.metadata
    }

    /// How much of its calls it keeps.
    #[must_use]
    pub fn retain(&self) -> Retain {
        self.retain
    }

    /// The context, as the engine holds it.
    #[must_use]
    pub fn context(&self) -> &TaskContext {
        &self.context
    }

    /// From now on takes no digest of values that it does not keep. A caller that has all values needs none.
    pub(crate) fn take_no_digests(&mut self) {
        self.context.take_no_digests();
    }

    /// The context as JSON: exactly what expressions see. Linear.
    ///
    /// # Errors
    /// As [`TaskContext::to_json`].
    pub fn context_json(&self) -> Result<Json, Fault> {
        self.context.to_json()
    }

    /// The mount, if the agent works in one; requests name paths below its prefix.
    #[must_use]
    pub fn mount(&self) -> Option<&MountFacts> {
        self.mount.as_ref()
    }

    /// Whether it was interrupted and has taken no step since: it then has no event subscriptions (SUB-11).
    #[must_use]
    pub fn is_interrupted(&self) -> bool {
        self.activity.is_interrupted()
    }

    /// The request of the operation that has waited longest; nothing if no operation waits.
    #[must_use]
    pub fn request(&self) -> Option<&Request> {
        self.waiting.first().map(|pending| &pending.request)
    }

    /// What is asked at present, in the order in which it was asked.
    pub fn questions(&self) -> impl Iterator<Item = Question> {
        self.waiting.iter().map(Pending::question)
    }

    /// The tools that it has brought, those that cannot be called too.
    #[must_use]
    pub fn tools(&self) -> &[BroughtTool] {
        &self.tools
    }

    /// The tools that it has brought and that cannot be called, with the reasons: a schema that is not supported, or a name that no
    /// capability of the agent admits.
    #[must_use]
    pub fn tools_left_out(&self) -> &[LeftOut] {
        &self.left_out
    }

    /// Warnings about the agent's rules, now that the tools are known. No rule is lost by them: a step that cannot be evaluated
    /// fails, and so the call does.
    #[must_use]
    pub fn tool_findings(&self) -> &[Diagnostic] {
        &self.tool_findings
    }

    pub(crate) fn note_tools(&mut self, left_out: Arc<[LeftOut]>, findings: Arc<[Diagnostic]>) {
        (self.left_out, self.tool_findings) = (left_out, findings);
    }

    /// The functions that the model is offered, in the order of the manifest (AG-11, AG-22); interfaces of models call them tools.
    pub fn offers(&self) -> impl Iterator<Item = Offer<'_>> {
        self.policy.offered_functions().map(|function| Offer {
            name: &function.called,
            description: function.description.as_deref(),
            schema: function.schema(),
            output: function.output.as_ref().map(OutputSchema::schema),
            annotations: function.annotations.as_ref(),
        })
    }

    /// The names of the functions that the model is offered.
    pub fn functions(&self) -> impl Iterator<Item = &str> {
        self.policy.offered_functions().map(|function| &*function.called)
    }

    /// The JSON Schema of a function's parameters as the model sees them (BND-03, BND-20).
    ///
    /// # Errors
    /// [`TaskError::UnknownFunction`] for one that the model is not offered.
    pub fn schema(&self, function: &str) -> Result<&serde_json::Value, TaskError> {
        let offered = self.policy.offered_functions().find(|offered| *offered.called == *function);
        offered.map(AgentFunction::schema).ok_or_else(|| TaskError::UnknownFunction(function.to_owned()))
    }
}
