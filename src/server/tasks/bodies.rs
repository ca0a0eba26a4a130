//! The bodies of the requests that take a step of a task: each is the body of one [`Operation`].
//!
//! In: JSON that is read strictly. Out: the operation. The document of the API describes these types.

use crate::request::Empty;
use celador::cel::Json;
use celador::task::{
    Answer, Call, CallId, CallResult, Delivery, ModelCall, Next, Operation, QuestionId, Ran, ReportedCall,
    Turn, Usage,
};
use serde::Deserialize;

/// A text, or an object with `message`, which is a text or a list of parts, and the parameters of the agent.
#[derive(Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(extend("type" = ["string", "object"])))]
struct Message(Json);

/// Somebody says something.
#[derive(Deserialize)]
#[serde(transparent)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(inline))]
pub(crate) struct Input(Message);

impl From<Input> for Operation {
    fn from(Input(Message(message)): Input) -> Self {
        Self::Input(message)
    }
}

/// The model has a response.
#[derive(Deserialize)]
#[serde(transparent)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(inline))]
pub(crate) struct Output(Message);

impl From<Output> for Operation {
    fn from(Output(Message(message)): Output) -> Self {
        Self::Output(message)
    }
}

/// Something is about to be sent to the model.
#[derive(Deserialize)]
#[serde(transparent)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(inline))]
pub(crate) struct ModelBefore(ModelCall);

impl From<ModelBefore> for Operation {
    fn from(ModelBefore(call): ModelBefore) -> Self {
        Self::ModelBefore(call)
    }
}

/// The model has answered a call that was let through.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct ModelAfter {
    /// The call that `model-before` let through.
    call: CallId,
    /// What the model has answered.
    #[cfg_attr(feature = "schema", schemars(schema_with = "answer_schema"))]
    answer: Json,
}

#[cfg(feature = "schema")]
fn answer_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
    schemars::Schema::try_from(celador::policy::answer_schema()).unwrap_or_default()
}

impl From<ModelAfter> for Operation {
    fn from(ModelAfter { call, answer }: ModelAfter) -> Self {
        Self::ModelAfter { call, answer }
    }
}

/// The model has answered.
#[derive(Deserialize)]
#[serde(transparent)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(inline))]
pub(crate) struct ModelTurn(Usage);

impl From<ModelTurn> for Operation {
    fn from(ModelTurn(usage): ModelTurn) -> Self {
        Self::ModelTurn(usage)
    }
}

/// The model has answered, with all the calls that it wants.
#[derive(Deserialize)]
#[serde(transparent)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(inline))]
pub(crate) struct TurnStep(Turn);

impl From<TurnStep> for Operation {
    fn from(TurnStep(turn): TurnStep) -> Self {
        Self::Turn(turn)
    }
}

/// The model calls a function; the host will carry it out.
#[derive(Deserialize)]
#[serde(transparent)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(inline))]
pub(crate) struct Before(Call);

impl From<Before> for Operation {
    fn from(Before(call): Before) -> Self {
        Self::Before(call)
    }
}

/// The model calls a function; what carrying it out needs is asked for.
#[derive(Deserialize)]
#[serde(transparent)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(inline))]
pub(crate) struct Invoke(Call);

impl From<Invoke> for Operation {
    fn from(Invoke(call): Invoke) -> Self {
        Self::Invoke(call)
    }
}

/// A call that was let through has run.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct After {
    /// The call that `before` let through.
    call: CallId,
    /// Its result.
    result: CallResult,
}

impl From<After> for ReportedCall {
    fn from(After { call, result }: After) -> Self {
        Self { call, result }
    }
}

impl From<After> for Operation {
    fn from(after: After) -> Self {
        Self::After(after.into())
    }
}

/// Several calls that were let through have run.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct Results {
    /// The calls with their results, in the order in which they are to be recorded.
    #[cfg_attr(feature = "schema", schemars(length(min = 1)))]
    results: Vec<After>,
}

impl From<Results> for Operation {
    fn from(Results { results }: Results) -> Self {
        Self::Results { results: results.into_iter().map(ReportedCall::from).collect() }
    }
}

/// A call that was let through is to be carried out.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct Execute {
    /// The call that `before` let through.
    call: CallId,
}

impl From<Execute> for Operation {
    fn from(Execute { call }: Execute) -> Self {
        Self::Execute { call }
    }
}

/// One of several processes claims a call, and runs it if it is allowed.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct Claim {
    /// The call that was let through.
    call: CallId,
    /// A random text that the claimant makes anew for each attempt to run a call: 1 to `max_id_bytes` bytes without control characters.
    #[cfg_attr(feature = "schema", schemars(length(min = 1)))]
    claimant: String,
}

impl From<Claim> for Operation {
    fn from(Claim { call, claimant }: Claim) -> Self {
        Self::Claim { call, claimant }
    }
}

/// A claim is given back: the call was not run.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct Release {
    /// The call.
    call: CallId,
    /// The text of the claim.
    #[cfg_attr(feature = "schema", schemars(length(min = 1)))]
    claimant: String,
}

impl From<Release> for Operation {
    fn from(Release { call, claimant }: Release) -> Self {
        Self::Release { call, claimant }
    }
}

/// A call is taken back: its runtime will never report it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct Withdraw {
    /// The call: one that was let through, that waits for others, or that asks.
    call: CallId,
    /// Whether it has run: `false` if it never will, `"unknown"` if nobody knows.
    #[cfg_attr(feature = "schema", schemars(with = "serde_json::Value", extend("enum" = [false, "unknown"])))]
    ran: Ran,
}

impl From<Withdraw> for Operation {
    fn from(Withdraw { call, ran }: Withdraw) -> Self {
        Self::Withdraw { call, ran }
    }
}

/// The answer to what the task asked for.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct Resume {
    /// The question that is answered; needed only where several are open.
    #[serde(default)]
    question: Option<QuestionId>,
    /// The answer, of the kind that the question wants.
    answer: Answer,
}

impl From<Resume> for Operation {
    fn from(Resume { question, answer }: Resume) -> Self {
        Self::Resume { question, answer }
    }
}

/// May this be done next?
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "Next"))]
pub(crate) struct Limits {
    /// The coming step.
    next: Next,
}

impl From<Limits> for Operation {
    fn from(Limits { next }: Limits) -> Self {
        Self::Limits { next }
    }
}

/// An event of a tool is delivered.
#[derive(Deserialize)]
#[serde(transparent)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(inline))]
pub(crate) struct Event(Delivery);

impl From<Event> for Operation {
    fn from(Event(delivery): Event) -> Self {
        Self::Event(delivery)
    }
}

/// The model writes a script of calls.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct Script {
    /// The script as the model wrote it.
    source: String,
}

impl From<Script> for Operation {
    fn from(Script { source }: Script) -> Self {
        Self::Script { source }
    }
}

/// The task is interrupted.
#[derive(Deserialize)]
#[serde(transparent)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(inline))]
pub(crate) struct Interrupt(Empty);

impl From<Interrupt> for Operation {
    fn from(_: Interrupt) -> Self {
        Self::Interrupt {}
    }
}

/// The task is ended.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct End {
    /// The reason, of at most `max_reason_bytes`.
    #[cfg_attr(feature = "schema", schemars(length(min = 1)))]
    reason: String,
}

impl From<End> for Operation {
    fn from(End { reason }: End) -> Self {
        Self::End { reason }
    }
}

/// A locked task is to take steps again.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct Unlock {
    /// The reason, of at most `max_reason_bytes`.
    #[cfg_attr(feature = "schema", schemars(length(min = 1)))]
    pub(crate) reason: String,
    /// The identity of the caller whose task it is; without it, the operator's own.
    #[serde(default)]
    pub(crate) owner: Option<String>,
}
