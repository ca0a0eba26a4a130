//! What operations come to, typed: what one that goes on hands to its host, and why one does not.
//!
//! In: a [`Decision`], which is the form for wires, logs and stores. Out: an [`Outcome`], in which each operation has the fields
//! that are its own. The decision stays inside, for whoever writes it down.

use super::model_outcome::{AllowedModelCall, ReceivedAnswer};
use super::state::{
    CallId, Decision, EventStage, LimitReached, Question, QuestionId, Request, Verdict, VerdictKind,
};
use crate::cel::Json;

/// The end of an operation: it goes on, is refused, or waits for an answer.
///
/// `T` says what an operation that goes on hands over: [`AllowedCall`], [`Received`], [`AcceptedInput`], [`RoutedEvent`],
/// [`DeliveredOutput`], [`AllowedModelCall`] or [`ReceivedAnswer`]; after [`Task::resume`](super::Task::resume), which may go on with any of them, the [`Decision`].
///
/// ```
/// use celador::{Call, Engine, EngineLimits, Outcome, StartTask, User};
/// # std::env::set_current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))?;
/// # let engine = Engine::open(&["examples/first-policy"], EngineLimits::default())?;
/// # let now = std::time::SystemTime::UNIX_EPOCH;
/// # let user = User { id: "u-7".into(), email: Some("kim@example.com".into()), ..User::default() };
/// # let mut task = engine.start(StartTask::new("t-1", "shop", "clerk", user, now))?;
///
/// let mut pay = |amount: i64| {
///     let call = Call::new("payout", serde_json::json!({"amount": amount}).into());
///     let said = match task.before(&call, now)?.outcome() {
///         Outcome::Allowed(allowed) => format!("run it with {}", allowed.arguments),
///         Outcome::Refused(refusal) => format!("tell the model: {}", refusal.message()),
///         Outcome::Waits(waiting) => format!("ask {}", waiting.reviewer().unwrap_or("the host")),
///         Outcome::Queued(queued) => format!("wait for {:?}", queued.waits_for),
///     };
///     Ok::<String, celador::TaskError>(said)
/// };
/// assert_eq!(pay(40)?, r#"run it with {"customer":"u-7","amount":40}"#);
/// assert_eq!(pay(2_000)?, "tell the model: 2000 is outside what a clerk may pay.");
/// assert_eq!(pay(250)?, "ask lead@example.com");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
#[must_use = "what was not let through must not be done"]
pub enum Outcome<T> {
    /// It goes on.
    Allowed(T),
    /// It does not. The task may be locked or have ended.
    Refused(Refusal),
    /// It waits for an answer.
    Waits(Waiting),
    /// It waits for other calls, which may change what its decision reads, or for reviews. [`Task::standing`](super::Task::standing) tells its
    /// decision once they are reported or withdrawn, and closed.
    Queued(Queued),
}

/// A call that may run, from [`Task::before`](super::Task::before).
///
/// ```
/// use celador::{AllowedCall, Call, CallResult, Engine, EngineLimits, Outcome, Received, StartTask, User};
/// # std::env::set_current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))?;
/// # let engine = Engine::open(&["examples/first-policy"], EngineLimits::default())?;
/// # let now = std::time::SystemTime::UNIX_EPOCH;
/// # let user = User { id: "u-7".into(), email: None, ..User::default() };
/// # let mut task = engine.start(StartTask::new("t-1", "shop", "clerk", user, now))?;
///
/// // the model names somebody else; the manifest binds who is paid
/// let arguments = serde_json::json!({"amount": 40, "customer": "u-8"});
/// let call = Call::new("payout", arguments.into());
/// let Outcome::Allowed(AllowedCall { call, arguments, .. }) = task.before(&call, now)?.outcome() else { panic!("40 is little") };
/// assert_eq!(arguments.to_string(), r#"{"customer":"u-7","amount":40}"#);
///
/// // the host pays with these arguments and reports what came back; the model is told what the steps behind the call leave
/// let result = CallResult::successful(serde_json::json!({"paid": 40}).into());
/// let Outcome::Allowed(Received { value, .. }) = task.after(&call, result, now)?.outcome() else { panic!("no step looks at it") };
/// assert_eq!(value.to_string(), r#"{"paid":40}"#);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct AllowedCall {
    /// Under which [`Task::after`](super::Task::after) takes its result.
    pub call: CallId,
    /// The arguments that it runs with: those of the model, those that the manifest binds, and defaults. An object.
    pub arguments: Json,
    /// The whole decision.
    pub decision: Decision,
}

/// A result for the model, of a call or of a script, from [`Task::after`](super::Task::after),
/// [`Task::execute`](super::Task::execute), [`Task::invoke`](super::Task::invoke) and [`Task::script`](super::Task::script).
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Received {
    /// The result, as the steps behind the call left it.
    pub value: Json,
    /// The whole decision.
    pub decision: Decision,
}

/// An input that the guardrails let through, from [`Task::input`](super::Task::input).
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct AcceptedInput {
    /// The entry of `context.input` that it became: an object with `message` and the agent's parameters.
    pub entry: Json,
    /// The whole decision.
    pub decision: Decision,
}

/// An event that became an input of the task, from [`Task::event`](super::Task::event).
///
/// ```
/// use celador::{Content, Delivery, Engine, EngineLimits, Json, Outcome, RoutedEvent, StartTask, User};
/// use std::collections::BTreeMap;
/// # std::env::set_current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))?;
/// # let engine = Engine::open(&["policies/support-desk"], EngineLimits::default())?;
/// # let now = std::time::SystemTime::UNIX_EPOCH;
/// # let mut task = engine.start(StartTask::new("t-1", "support", "support-desk", User::default(), now))?;
/// # let input = serde_json::json!({"message": "Answer this customer.", "ticket_id": "T-1041"}).into();
/// # assert!(task.input(&input, now).outcome().is_allowed());
///
/// // a customer writes, and the help desk tells the host with a request that it has signed
/// let body = br#"{"type":"comment","ticket":{"id":"T-1041"},"comment":{"body":"Any news?"}}"#;
/// let signature = "sha256=0fa52c68d26630d291eee340c9edacbc6601c759c527015c24ca530e949b5059";
/// let settings = BTreeMap::from([("zendesk.webhook_secret".to_owned(), Json::string("s3cret"))]);
/// let headers = [("X-Hub-Signature-256", signature)];
/// let reply = |body: &[u8]| Delivery::new("zendesk", "customer_reply", Content::request(&headers, body));
/// let routed = task.event(&reply(body), &settings, now).outcome();
/// let Outcome::Allowed(RoutedEvent { entry, .. }) = routed else { panic!("it is signed and about this ticket") };
/// assert!(entry.to_string().contains("The customer wrote on ticket T-1041: Any news?"));
///
/// // the same request with another body is dropped, and the task hears nothing of it
/// assert!(!task.event(&reply(b"{}"), &settings, now).outcome().is_allowed());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct RoutedEvent {
    /// The entry of `context.input` that it became: an object with `message`.
    pub entry: Json,
    /// The whole decision.
    pub decision: Decision,
}

/// A response that the guardrails let through, from [`Task::output`](super::Task::output).
///
/// ```
/// use celador::{AcceptedInput, DeliveredOutput, Engine, EngineLimits, Json, Outcome, StartTask, User};
/// # std::env::set_current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))?;
/// # let engine = Engine::open(&["policies/support-desk"], EngineLimits::default())?;
/// # let now = std::time::SystemTime::UNIX_EPOCH;
/// # let mut task = engine.start(StartTask::new("t-1", "support", "support-desk", User::default(), now))?;
///
/// // what a caller sends becomes an entry of `context.input`, with the parameters of the agent
/// let input: Json = serde_json::json!({"message": "Answer this customer.", "ticket_id": "T-1041"}).into();
/// let Outcome::Allowed(AcceptedInput { entry, .. }) = task.input(&input, now).outcome() else { panic!("a harmless input") };
/// assert_eq!(entry.root().get("ticket_id").map(|id| id.to_string()), Some(r#""T-1041""#.to_owned()));
///
/// // what the model answers goes out with the values that the agent exposes, which the model cannot claim
/// let answer: Json = serde_json::json!({"message": "I have paid it back."}).into();
/// let Outcome::Allowed(DeliveredOutput { exposes, .. }) = task.output(&answer, now).outcome() else { panic!("it is delivered") };
/// let exposes = exposes.map(|exposes| exposes.to_string());
/// assert_eq!(exposes.as_deref(), Some(r#"{"ticket_id":"T-1041","refunded":false}"#));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct DeliveredOutput {
    /// The entry of `context.output` that is delivered: an object with `message` and what the agent exposes.
    pub entry: Json,
    /// The values that `exposes` added, as an object, if the agent exposes any.
    pub exposes: Option<Json>,
    /// The whole decision.
    pub decision: Decision,
}

/// Why an operation does not go on.
///
/// ```
/// use celador::{Call, Engine, EngineLimits, Outcome, Refusal, StartTask, User, VerdictKind};
/// # std::env::set_current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))?;
/// # let engine = Engine::open(&["examples/first-policy"], EngineLimits::default())?;
/// # let now = std::time::SystemTime::UNIX_EPOCH;
/// # let mut task = engine.start(StartTask::new("t-1", "shop", "clerk", User::default(), now))?;
///
/// let call = Call::new("payout", serde_json::json!({"amount": 2_000}).into());
/// let mut refusals: Vec<Refusal> = Vec::new();
/// while refusals.last().is_none_or(|refusal| !refusal.ends_task()) {
///     let Outcome::Refused(refusal) = task.before(&call, now)?.outcome() else { panic!("2000 is too much") };
///     refusals.push(refusal);
/// }
///
/// // a call that is blocked goes back to the model as an error of the tool, and the model may try another one
/// assert_eq!((refusals[0].verdict(), refusals[0].limit()), (VerdictKind::Block, None));
/// assert_eq!(refusals[0].message(), "2000 is outside what a clerk may pay.");
/// // after `max_tool_calls` of the manifest the task has ended
/// let last = refusals.last().ok_or("there are refusals")?;
/// let limit = last.limit().ok_or("a limit was reached")?;
/// assert_eq!((refusals.len(), last.verdict(), &*limit.which, limit.bound.count()), (6, VerdictKind::Terminate, "max_tool_calls", 5));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Refusal {
    /// The whole decision. Its verdict is neither allow nor route, suspend nor wait.
    pub decision: Decision,
}

/// An operation that waits for an answer, which [`Task::resume`](super::Task::resume) takes.
///
/// ```
/// use celador::{Answer, Call, Engine, EngineLimits, Outcome, Request, StartTask, User, Waiting};
/// # std::env::set_current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))?;
/// # let engine = Engine::open(&["examples/first-policy"], EngineLimits::default())?;
/// # let now = std::time::SystemTime::UNIX_EPOCH;
/// # let mut task = engine.start(StartTask::new("t-1", "shop", "clerk", User::default(), now))?;
///
/// let call = Call::new("payout", serde_json::json!({"amount": 250}).into());
/// let Outcome::Waits(waiting) = task.before(&call, now)?.outcome() else { panic!("250 needs a review") };
/// let mail = match &waiting {
///     Waiting { request: Request::Review { reviewer, .. }, question, .. } => format!("to {reviewer}: question {question} waits"),
///     other => panic!("{:?}", other.request),
/// };
/// assert!(mail.starts_with("to lead@example.com"));
///
/// // the lead says no, and the model is told so
/// let Outcome::Refused(refusal) = task.answer(waiting.question, Answer::deny(), now)?.outcome() else {
///     panic!("the lead said no")
/// };
/// assert_eq!(refusal.message(), "The lead did not approve 250.");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Waiting {
    /// The name of the question, for [`Task::answer`](super::Task::answer).
    pub question: QuestionId,
    /// The request that is to be answered.
    pub request: Request,
    /// The whole decision, whose verdict is suspend.
    pub decision: Decision,
}

/// A call, an input or an event that waits for others.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Queued {
    /// Its name, for [`Task::standing`](super::Task::standing), [`Task::after`](super::Task::after) and
    /// [`Task::withdraw`](super::Task::withdraw).
    pub call: CallId,
    /// The calls, inputs and events that it waits for, in the order in which they came.
    pub waits_for: Vec<CallId>,
    /// The whole decision, whose verdict is wait.
    pub decision: Decision,
}

/// The data that an operation hands over when it goes on. Only this crate implements it.
pub trait HandedOver: Sized + sealed::Sealed {
    /// What a decision comes to that lets the operation go on; one that lacks what is handed over refuses it.
    #[doc(hidden)]
    fn of(decision: Decision) -> Outcome<Self>;

    /// The whole decision.
    fn decision(&self) -> &Decision;

    #[doc(hidden)]
    fn into_decision(self) -> Decision;
}

mod sealed {
    pub trait Sealed {}
}

macro_rules! handed_over {
    ($($name:ident = |$decision:ident| $made:expr;)+) => {$(
        impl sealed::Sealed for $name {}

        impl HandedOver for $name {
            fn of($decision: Decision) -> Outcome<Self> {
                $made
            }

            fn decision(&self) -> &Decision {
                &self.decision
            }

            fn into_decision(self) -> Decision {
                self.decision
            }
        }
    )+};
}

handed_over! {
    AllowedCall = |decision| match decision.call.clone() {
        Some(call) => Outcome::Allowed(Self { call, arguments: value_of(&decision), decision }),
        None => Outcome::Refused(Refusal { decision }),
    };
    Received = |decision| Outcome::Allowed(Self { value: value_of(&decision), decision });
    AcceptedInput = |decision| Outcome::Allowed(Self { entry: value_of(&decision), decision });
    AllowedModelCall = |decision| match decision.call.clone() {
        Some(call) => Outcome::Allowed(Self { call, request: value_of(&decision), decision }),
        None => Outcome::Refused(Refusal { decision }),
    };
    ReceivedAnswer = |decision| Outcome::Allowed(Self { answer: value_of(&decision), decision });
    RoutedEvent = |decision| Outcome::Allowed(Self { entry: value_of(&decision), decision });
    DeliveredOutput = |decision| {
        Outcome::Allowed(Self { entry: value_of(&decision), exposes: decision.verdict.exposes().cloned(), decision })
    };
}

impl sealed::Sealed for Decision {}

impl HandedOver for Decision {
    fn of(decision: Decision) -> Outcome<Self> {
        Outcome::Allowed(decision)
    }

    fn decision(&self) -> &Decision {
        self
    }

    fn into_decision(self) -> Decision {
        self
    }
}

/// The value of a decision: `null` for a call whose result is none. A clone shares its text.
fn value_of(decision: &Decision) -> Json {
    decision.verdict.value().cloned().unwrap_or_else(Json::null)
}

impl<T: HandedOver> Outcome<T> {
    /// What an operation came to that is decided.
    pub(super) fn new(decision: Decision) -> Self {
        match decision.call.clone() {
            _ if decision.is_allowed() => T::of(decision),
            Some(call) if matches!(decision.verdict, Verdict::Wait { .. }) => {
                Self::Queued(Queued { call, waits_for: decision.verdict.waits_for().to_vec(), decision })
            }
            _ => Self::Refused(Refusal { decision }),
        }
    }

    /// What an operation came to that asks.
    pub(super) fn waits(question: Question, decision: Decision) -> Self {
        Self::Waits(Waiting { question: question.id, request: question.request, decision })
    }

    /// The decision, whichever it is.
    #[must_use]
    pub fn decision(&self) -> &Decision {
        match self {
            Self::Allowed(handed) => handed.decision(),
            Self::Refused(refusal) => &refusal.decision,
            Self::Waits(waiting) => &waiting.decision,
            Self::Queued(queued) => &queued.decision,
        }
    }

    /// The decision alone, as it is written down.
    #[must_use]
    pub fn into_decision(self) -> Decision {
        match self {
            Self::Allowed(handed) => handed.into_decision(),
            Self::Refused(refusal) => refusal.decision,
            Self::Waits(waiting) => waiting.decision,
            Self::Queued(queued) => queued.decision,
        }
    }

    /// Whether it goes on.
    #[must_use]
    pub const fn is_allowed(&self) -> bool {
        matches!(self, Self::Allowed(_))
    }
}

impl Refusal {
    /// How it was refused: block, lock_task, terminate, rejected, invalid_input, error or discard.
    #[must_use]
    pub const fn verdict(&self) -> VerdictKind {
        self.decision.verdict.kind()
    }

    /// The text for the model in the place of a result, or for the caller in the place of an answer.
    #[must_use]
    pub fn message(&self) -> &str {
        self.decision.verdict.message().unwrap_or_default()
    }

    /// Whether the task takes no step any more because of it.
    #[must_use]
    pub const fn ends_task(&self) -> bool {
        matches!(self.decision.verdict, Verdict::LockTask(_) | Verdict::Terminate { .. })
    }

    /// The limit that was reached, if that is why.
    #[must_use]
    pub fn limit(&self) -> Option<&LimitReached> {
        self.decision.verdict.limit()
    }

    /// How far an event came that was discarded.
    #[must_use]
    pub const fn stage(&self) -> Option<EventStage> {
        self.decision.verdict.stage()
    }
}

impl Waiting {
    /// Who is asked, if it waits for a review.
    #[must_use]
    pub fn reviewer(&self) -> Option<&str> {
        match &self.request {
            Request::Review { reviewer, .. } => Some(reviewer),
            _ => None,
        }
    }
}
