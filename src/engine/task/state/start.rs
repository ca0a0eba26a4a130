//! The facts of a task that is about to begin, what its model is offered, and the calls that it makes.

use super::call_id::CallId;
use super::error::TaskError;
use super::retain::Retain;
use crate::amount::Amount;
use crate::cel::{Json, Timestamp};
use crate::context::{LabelSet, Runtime};
use crate::limits::EngineLimits;
use crate::manifest::brought::BroughtTool;
use crate::manifest::listing::Annotations;
use core::net::IpAddr;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The data that a task begins with. It holds no secrets: settings and tokens never enter a task (CTX-22).
///
/// ```
/// use celador::context::Runtime;
/// use celador::{StartTask, User};
///
/// let kim = User { id: "u-7".into(), email: Some("kim@example.com".into()), claims: None };
/// let start = StartTask {
///     model: Some("large-1".into()),
///     runtime: Runtime { version: "2.4".into(), ..Runtime::default() },
///     ..StartTask::new("t-1", "shop", "clerk", kim, std::time::SystemTime::now())
/// };
/// assert_eq!(start.agent, "clerk");
/// ```
#[derive(Clone, Debug)]
pub struct StartTask {
    /// Its id, unique for the host.
    pub id: String,
    /// The agent's namespace.
    pub namespace: String,
    /// The agent's name.
    pub agent: String,
    /// For whom it runs.
    pub user: User,
    /// When it was created: `context.agent.started_at`, and what `max_age` counts from (CTX-03).
    pub started_at: Timestamp,
    /// The network address from which it is begun: `context.request.address`. Only what the host itself knows of the connection, never what a caller says
    /// of itself.
    pub address: Option<IpAddr>,
    /// The resolved model; the agent's own wish if the host does not say (AG-17).
    pub model: Option<String>,
    /// The platform it runs on.
    pub runtime: Runtime,
    /// The name that stands for `{task}` in the prefix of its mount; without one, its id. A host whose callers choose the ids of
    /// tasks gives a name of its own: two callers with the same id would share files.
    pub mount_id: Option<String>,
    /// A text that tells how it was begun from how others were, such as a digest of the request: [`Task::begun_with`](super::Task::begun_with)
    /// gives it back, so that a host knows a request that comes again.
    pub begun_with: Option<String>,
    /// The tools that it brings, each as `tools/list` of MCP has it. The agent can call those that its manifests keep places
    /// for (`brought` in a document of kind `celador/v1/tools`).
    pub tools: Vec<BroughtTool>,
    /// The task that has delegated to it, if one has.
    pub parent: Option<Parent>,
    /// What whoever begins it has written on it, to find it by: texts under names of ASCII letters, digits, `_`, `-`, `.` and `/`.
    /// Expressions do not see it.
    pub metadata: BTreeMap<String, String>,
    /// How much of its calls it keeps.
    pub retain: Retain,
}

/// The task that has delegated to another one.
///
/// ```
/// use celador::{Engine, EngineLimits, Parent, StartTask, User};
/// # std::env::set_current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))?;
/// # let engine = Engine::open(&["examples/first-policy"], EngineLimits::default())?;
/// # let now = std::time::SystemTime::UNIX_EPOCH;
///
/// // a runtime that keeps its tasks apart says on each whose child it is
/// let parent = Parent { task: "t-1".into(), ..Parent::default() };
/// let start = StartTask { parent: Some(parent), ..StartTask::new("t-2", "shop", "clerk", User::default(), now) };
/// let task = engine.start(start)?;
/// assert_eq!(task.parent().map(|parent| &*parent.task), Some("t-1"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Parent {
    /// Its id.
    pub task: String,
    /// Its call that is the delegation, if that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call: Option<CallId>,
    /// The labels that the arguments of the delegation carry, and so the first input.
    #[serde(default, skip_serializing_if = "LabelSet::is_empty")]
    pub labels: LabelSet,
    /// The first task of the tree, if that is not this task itself. A server knows it, and does not ask its callers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub root: Option<String>,
    /// How many tasks stand above it. A server knows that, too.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub depth: u32,
}

impl Parent {
    /// A task that delegates, without anything known of the call.
    #[must_use]
    pub fn new(task: &str) -> Self {
        Self { task: task.to_owned(), ..Self::default() }
    }

    /// The same with the place of the task in its tree, which has `above` above it.
    #[must_use]
    pub fn below(self, above: Option<&Self>) -> Self {
        let root = above.map(|above| above.tree_root().to_owned());
        Self { root, depth: above.map_or(0, Self::depth_below), ..self }
    }

    /// The first task of the tree.
    pub(in crate::task) fn tree_root(&self) -> &str {
        self.root.as_deref().unwrap_or(&self.task)
    }

    /// How many tasks stand above one to which it delegates.
    pub(in crate::task) fn depth_below(&self) -> u32 {
        self.depth.saturating_add(1)
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands a reference over")]
fn is_zero(number: &u32) -> bool {
    *number == 0
}

impl StartTask {
    /// A task of an agent for a user, created now, with the agent's own model and an unnamed runtime.
    #[must_use]
    pub fn new(id: &str, namespace: &str, agent: &str, user: User, started_at: impl Into<Timestamp>) -> Self {
        let (id, namespace, agent) = (id.to_owned(), namespace.to_owned(), agent.to_owned());
        let started_at = started_at.into();
        Self {
            id,
            namespace,
            agent,
            user,
            started_at,
            address: None,
            model: None,
            runtime: Runtime::default(),
            mount_id: None,
            begun_with: None,
            tools: Vec::new(),
            parent: None,
            metadata: BTreeMap::new(),
            retain: Retain::All,
        }
    }

    /// Whether its metadata is within the bounds, and under names that can stand in a query.
    pub(crate) fn check_metadata(&self, limits: &EngineLimits) -> Result<(), TaskError> {
        let fits = |bound: &'static str, what: &'static str, value: usize, most: usize| {
            if value > most { Err(TaskError::MetadataTooLarge { what, bound, most }) } else { Ok(()) }
        };
        let (keys, values) = (limits.max_metadata_key_bytes, limits.max_metadata_value_bytes);
        fits("max_metadata_entries", "entries", self.metadata.len(), limits.max_metadata_entries)?;
        for (key, value) in &self.metadata {
            fits("max_metadata_key_bytes", "bytes of a name", key.len(), keys)?;
            fits("max_metadata_value_bytes", "bytes of a text", value.len(), values)?;
            if key.is_empty()
                || !key.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-./".contains(&byte))
            {
                return Err(TaskError::MetadataName);
            }
            if value.contains(char::is_control) {
                return Err(TaskError::MetadataText);
            }
        }
        Ok(())
    }
}

/// For whom a task runs.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct User {
    /// The identifier.
    pub id: String,
    /// The address, if it is known (CTX-05).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub email: Option<String>,
    /// Roles, groups and the like that somebody vouches for, an object: what the user's own verified token says. Never what the runtime
    /// that begins the task says of itself. Policies see those that they name (`claims`) as `context.user.claims`; they are frozen with
    /// the task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(extend("type" = ["object", "null"])))]
    pub claims: Option<Json>,
}

/// A call that the model wants to make.
///
/// ```
/// use celador::{Call, Json, cel::EvalLimits};
///
/// // the text as the model wrote it, read within the bounds of the language
/// let arguments = Json::parse(r#"{"amount": 40}"#, &EvalLimits::default())?;
/// let call = Call::new("payout", arguments).with_id("toolu_01A09q90qw90lq917835lq9");
/// assert_eq!(call.arguments.root().get("amount").and_then(|amount| amount.as_int()), Some(40));
/// # Ok::<(), celador::cel::JsonError>(())
/// ```
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Call {
    /// The id of the call, such as the one that the model gave it: 1 to `max_id_bytes` bytes without control characters, and no other
    /// call's in this task. Without one the task makes an id up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<CallId>,
    /// The function's name as the model wrote it.
    pub function: String,
    /// The arguments as the model wrote them: an object.
    #[cfg_attr(feature = "schema", schemars(extend("type" = "object")))]
    pub arguments: Json,
}

impl Call {
    /// A call of a function with these arguments, an object; the task makes its id up.
    #[must_use]
    pub fn new(function: impl Into<String>, arguments: Json) -> Self {
        Self { id: None, function: function.into(), arguments }
    }

    /// The same under an id.
    #[must_use]
    pub fn with_id(self, id: impl Into<CallId>) -> Self {
        Self { id: Some(id.into()), ..self }
    }
}

/// A turn of the model: what it used, and the calls that it asks for, in its order.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Turn {
    /// The tokens that it used, and what it cost. A turn without counts as a turn that used none, so bounds of tokens and of cost do not hold for it.
    #[serde(default)]
    pub usage: Usage,
    /// The calls; none if the model answered with a text alone.
    #[serde(default)]
    pub calls: Vec<Call>,
}

/// A function as the model is to know it.
///
/// ```
/// use celador::{Engine, EngineLimits, StartTask, User};
/// # std::env::set_current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))?;
/// # let engine = Engine::open(&["examples/first-policy"], EngineLimits::default())?;
/// # let now = std::time::SystemTime::UNIX_EPOCH;
/// # let user = User { id: "u-7".into(), email: Some("kim@example.com".into()), ..User::default() };
/// # let task = engine.start(StartTask::new("t-1", "shop", "clerk", user, now))?;
///
/// let offers: Vec<_> = task.offers().collect();
/// assert_eq!(offers[0].name, "payout");
/// assert_eq!(offers[0].description, Some("Pays an amount."));
/// // the manifest binds `customer`, so the model does not see it
/// assert!(offers[0].schema["properties"].get("customer").is_none());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Offer<'t> {
    /// The name that it calls (KEY-04).
    pub name: &'t str,
    /// The description of the function in the manifest, if it has one.
    pub description: Option<&'t str>,
    /// The JSON Schema of its arguments, without those that are bound (BND-03, BND-20).
    pub schema: &'t serde_json::Value,
    /// The JSON Schema of its successful results, if its tool declares one.
    pub output: Option<&'t serde_json::Value>,
    /// What its server says of its calls, if it is a tool of a host (`celador/v1/tools`).
    pub annotations: Option<&'t Annotations>,
}

/// What one turn of the model used: tokens, and what they cost if the host knows.
///
/// ```
/// use celador::{Amount, Usage};
///
/// // without a cost it is 0
/// let usage = Usage { prompt_tokens: 640, completion_tokens: 35, ..Usage::default() };
/// let priced = Usage { cost: "0.0023".parse()?, ..usage };
/// assert_eq!(priced.cost.plus(usage.cost), Amount::from_double(0.0023)?);
/// # Ok::<(), celador::AmountError>(())
/// ```
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "ModelTurn"))]
pub struct Usage {
    /// Tokens read.
    pub prompt_tokens: u64,
    /// Tokens written.
    pub completion_tokens: u64,
    /// What the turn cost, in a unit of the host's: one currency, or credits. A number, or a decimal as text with up to nine digits behind
    /// the point, from 0 to 10^18; further digits of a number round up. Limits of policies are in the same unit.
    #[serde(default, deserialize_with = "crate::amount::reported")]
    #[cfg_attr(
        feature = "schema",
        schemars(with = "String", extend("type" = ["string", "number"], "minimum" = 0, "pattern" = r"^[0-9]+(\.[0-9]+)?$"))
    )]
    pub cost: Amount,
}

/// The coming step, for [`Task::limits`](super::Task::limits).
///
/// ```
/// use celador::{Engine, EngineLimits, Next, StartTask, User};
/// # std::env::set_current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))?;
/// # let engine = Engine::open(&["examples/first-policy"], EngineLimits::default())?;
/// # let now = std::time::SystemTime::UNIX_EPOCH;
/// # let user = User { id: "u-7".into(), email: Some("kim@example.com".into()), ..User::default() };
/// # let mut task = engine.start(StartTask::new("t-1", "shop", "clerk", user, now))?;
///
/// // before the model is asked: may it take another turn?
/// assert!(task.limits(Next::ModelTurn, now).is_allowed());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(inline))]
pub enum Next {
    /// A turn of the model.
    ModelTurn,
    /// A call by the model.
    Capability,
    /// Any other step.
    Other,
}
