//! The functions of an agent: what the model or an invoke step calls, compiled.

use super::binding::Binding;
use super::expression::Expression;
use super::offered_schema::OfferedSchema;
use super::parameters::Parameters;
use super::result::OutputSchema;
use crate::cel::Json;
use crate::context::CallAtHand;
use crate::manifest::listing::Annotations;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// A function of an agent. Its position among the policy's functions is its id in the task context.
#[derive(Debug)]
pub struct AgentFunction {
    /// The key of its record, by which the model calls it too (KEY-04).
    pub key: Arc<str>,
    /// The name that the model is offered: the key, or the own name of a tool of the host, such as `read-file`.
    pub called: Arc<str>,
    /// What the server of a tool of the host says of its calls; nothing for any other function.
    pub annotations: Option<Annotations>,
    /// The action's or agent's name, sanitised: what `match` selects (MW-22).
    pub name: String,
    /// What `call` is in steps of policies about its calls.
    pub call: CallAtHand,
    /// The position of its capability in the policy; functions of unlisted tools have one without steps.
    pub capability: usize,
    /// Whether the model is offered it (AG-11).
    pub offered: bool,
    /// Its parameters.
    pub parameters: Parameters,
    /// The capability's bindings of its parameters.
    pub bindings: Vec<Arc<Binding>>,
    /// Its description in the manifest, for the model.
    pub description: Option<Arc<str>>,
    /// What [`schema`](Self::schema) gives.
    pub(super) schema: OfferedSchema,
    /// The schema of its successful results, if its tool declares one.
    pub output: Option<OutputSchema>,
    /// Defaults of the settings of its tool (INT-23).
    pub setting_defaults: Arc<[(Arc<str>, Json)]>,
    /// How it is carried out.
    pub execute: Execute,
    /// The action or agent that the host carries out for it.
    pub target: InvocationTarget,
}

impl AgentFunction {
    /// The JSON Schema of its parameters as the model sees it (BND-03). Linear in the schemas of the parameters, once.
    #[must_use]
    pub fn schema(&self) -> &serde_json::Value {
        self.schema.get()
    }

    /// Whether its calls are tasks of another agent.
    #[must_use]
    pub fn is_delegation(&self) -> bool {
        matches!(self.target, InvocationTarget::Agent { .. })
    }
}

/// How a function is carried out.
#[derive(Debug)]
pub enum Execute {
    /// By evaluating this expression (TOOL-06).
    Cel(Expression),
    /// By the host.
    Host,
    /// By nobody: the task has not brought the tool.
    Absent,
}

/// The action of a tool, or the agent, that a call carries out.
///
/// ```
/// use celador::{Call, CallResult, Engine, EngineLimits, InvocationTarget, Json, Outcome, Request, StartTask, User};
/// # std::env::set_current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))?;
/// # let engine = Engine::open(&["policies/support-desk"], EngineLimits::default())?;
/// # let now = std::time::SystemTime::UNIX_EPOCH;
/// # let mut task = engine.start(StartTask::new("t-1", "support", "support-desk", User::default(), now))?;
/// # let json = |value: serde_json::Value| -> Json { value.into() };
/// # assert!(task.input(&json(serde_json::json!({"message": "Answer this customer.", "ticket_id": "T-1041"})), now).outcome().is_allowed());
/// # let fetch = Call::new("zendesk_fetch_ticket", json(serde_json::json!({})));
/// # let Outcome::Allowed(fetch) = task.before(&fetch, now)?.outcome() else { panic!("reading is allowed") };
/// # let ticket = serde_json::json!({"id": "T-1041", "status": "open", "subject": "Lamp", "description": "In pieces.",
/// #     "order_id": "ord-77", "order_total": 240, "customer_id": "cus-5"});
/// # assert!(task.after(&fetch.call, CallResult::successful(json(ticket)), now)?.outcome().is_allowed());
///
/// // where a host sends what it is to carry out
/// let address = |target: &InvocationTarget| match target {
///     InvocationTarget::Action { tool, action, .. } => format!("https://tools.example.com/{tool}/{action}"),
///     InvocationTarget::Agent { namespace, agent } => format!("a task of {namespace}/{agent}"),
/// };
///
/// // before a refund the policy asks for the score of the customer
/// let arguments = json(serde_json::json!({"amount": 80, "reason": "Broken."}));
/// let refund = Call::new("payments_refund", arguments);
/// let operation = task.before(&refund, now)?;
/// let Some(Request::Invoke(invocation)) = operation.request() else { panic!("a step invokes the check") };
/// assert_eq!(address(&invocation.target), "https://tools.example.com/fraud-check/score");
/// assert_eq!(invocation.arguments.root().get("customer_id").map(|id| id.to_string()), Some(r#""cus-5""#.to_owned()));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "Target"))]
pub enum InvocationTarget {
    /// An action of a tool.
    Action {
        /// The tool's namespace.
        namespace: Arc<str>,
        /// The tool's name.
        tool: Arc<str>,
        /// The action's name.
        action: Arc<str>,
    },
    /// A child task of another agent (DEL-02), for the same user (DEL-06).
    Agent {
        /// The agent's namespace.
        namespace: Arc<str>,
        /// The agent's name.
        agent: Arc<str>,
    },
}
