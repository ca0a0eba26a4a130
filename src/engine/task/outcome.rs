//! What operations come to, typed: what one that goes on hands to its host, and why one does not.
//!
//! In: a [`Decision`], which is the form for wires, logs and stores. Out: an [`Outcome`], in which each operation has the fields
//! that are its own. The decision stays inside, for whoever writes it down.

use super::state::{CallId, Decision, EventStage, LimitReached, Question, QuestionId, Request, Verdict};
use crate::cel::Json;

/// The end of an operation: it goes on, is refused, or waits for an answer.
///
/// `T` says what an operation that goes on hands over: [`AllowedCall`], [`Received`], [`AcceptedInput`], [`RoutedEvent`] or
/// [`DeliveredOutput`]; after [`Task::resume`](super::Task::resume), which may go on with any of them, the [`Decision`].
///
/// ```
/// use celador::{Call, Engine, EngineLimits, Outcome, StartTask, User};
/// # std::env::set_current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))?;
/// # let engine = Engine::open(&["examples/first-policy"], EngineLimits::default())?;
/// # let now = std::time::SystemTime::UNIX_EPOCH;
/// # let user = User { id: "u-7".into(), email: Some("kim@example.com".into()) };
/// # let mut task = engine.start(StartTask::new("t-1", "shop", "clerk", user, now))?;
///
/// let mut pay = |amount: i64| {
///     let call = Call { function: "payout".into(), arguments: serde_json::json!({"amount": amount}).into() };
///     match task.before(&call, now).outcome() {
///         Outcome::Allowed(allowed) => format!("run it with {}", allowed.arguments),
///         Outcome::Refused(refusal) => format!("tell the model: {}", refusal.message()),
///         Outcome::Waits(waiting) => format!("ask {}", waiting.reviewer().unwrap_or("the host")),
///         Outcome::Queued(queued) => format!("wait for {:?}", queued.waits_for),
///     }
/// };
/// assert_eq!(pay(40), r#"run it with {"customer":"u-7","amount":40}"#);
/// assert_eq!(pay(2_000), "tell the model: 2000 is outside what a clerk may pay.");
/// assert_eq!(pay(250), "ask lead@example.com");
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
    /// It waits for other calls, which may change what its decision reads. [`Task::standing`](super::Task::standing) tells its
    /// decision once they are reported or withdrawn.
    Queued(Queued),
}

/// A call that may run, from [`Task::before`](super::Task::before).
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
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct RoutedEvent {
    /// The entry of `context.input` that it became: an object with `message`.
    pub entry: Json,
    /// The whole decision.
    pub decision: Decision,
}

/// A response that the guardrails let through, from [`Task::output`](super::Task::output).
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
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Refusal {
    /// The whole decision. Its verdict is neither allow nor route, suspend nor wait.
    pub decision: Decision,
}

/// An operation that waits for an answer, which [`Task::resume`](super::Task::resume) takes.
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

/// A call that waits for other calls.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Queued {
    /// Its name, for [`Task::standing`](super::Task::standing), [`Task::after`](super::Task::after) and
    /// [`Task::withdraw`](super::Task::withdraw).
    pub call: CallId,
    /// The calls that it waits for, in the order in which they were made.
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
    AllowedCall = |decision| match decision.call {
        Some(call) => Outcome::Allowed(Self { call, arguments: value_of(&decision), decision }),
        None => Outcome::Refused(Refusal { decision }),
    };
    Received = |decision| Outcome::Allowed(Self { value: value_of(&decision), decision });
    AcceptedInput = |decision| Outcome::Allowed(Self { entry: value_of(&decision), decision });
    RoutedEvent = |decision| Outcome::Allowed(Self { entry: value_of(&decision), decision });
    DeliveredOutput = |decision| {
        Outcome::Allowed(Self { entry: value_of(&decision), exposes: decision.exposes.clone(), decision })
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
    decision.value.clone().unwrap_or_else(Json::null)
}

impl<T: HandedOver> Outcome<T> {
    /// What an operation came to that is decided.
    pub(super) fn new(decision: Decision) -> Self {
        match decision.call {
            _ if decision.is_allowed() => T::of(decision),
            Some(call) if decision.verdict == Verdict::Wait => {
                Self::Queued(Queued { call, waits_for: decision.waits_for.clone(), decision })
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
    pub const fn verdict(&self) -> Verdict {
        self.decision.verdict
    }

    /// The text for the model in the place of a result, or for the caller in the place of an answer.
    #[must_use]
    pub fn message(&self) -> &str {
        self.decision.message.as_deref().unwrap_or_default()
    }

    /// Whether the task takes no step any more because of it.
    #[must_use]
    pub const fn ends_task(&self) -> bool {
        matches!(self.decision.verdict, Verdict::LockTask | Verdict::Terminate)
    }

    /// The limit that was reached, if that is why.
    #[must_use]
    pub const fn limit(&self) -> Option<&LimitReached> {
        self.decision.limit.as_ref()
    }

    /// How far an event came that was discarded.
    #[must_use]
    pub const fn stage(&self) -> Option<EventStage> {
        self.decision.stage
    }
}

impl Waiting {
    /// Who is asked, if it waits for a review.
    #[must_use]
    pub fn reviewer(&self) -> Option<&str> {
        match &self.request {
            Request::Review { reviewer } => Some(reviewer),
            _ => None,
        }
    }
}
