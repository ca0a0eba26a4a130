//! The steps of a task as data, so that one place may take them and another pass them on.

use celador::cel::Json;
use celador::task::{Answer, Call, CallId, CallResult, DecidedKind, ModelCall, Next, QuestionId, Ran, Turn};

/// A step of a task. Each is the operation of [`celador::Task`] that has its name.
#[derive(Clone, Debug)]
pub enum Step {
    /// Somebody says something: a text, or an object with `message` and the parameters of the agent.
    Input(Json),
    /// The model has a response.
    Output(Json),
    /// May this be done next?
    Limits(Next),
    /// The model has answered, with all of its calls.
    Turn(Turn),
    /// The model calls a function, and the host will carry it out.
    Before(Call),
    /// A call has run.
    After {
        /// The call.
        call: CallId,
        /// Its result.
        result: CallResult,
    },
    /// Several calls have run.
    Results(Vec<(CallId, CallResult)>),
    /// One of several processes claims a call that was let through, to run it.
    Claim {
        /// The call.
        call: CallId,
        /// The random text of this attempt to run it.
        claimant: String,
    },
    /// A claimed call was not run.
    Release {
        /// The call.
        call: CallId,
        /// The text of the claim.
        claimant: String,
    },
    /// A call is taken back.
    Withdraw {
        /// The call.
        call: CallId,
        /// Whether it has run.
        ran: Ran,
    },
    /// The model calls a function; what carrying it out needs is asked for.
    Invoke(Call),
    /// A call that was let through is to be carried out.
    Execute(CallId),
    /// The model writes a script of calls.
    Script(String),
    /// The answer to what an operation asks.
    Resume {
        /// The question; needed only where several are open.
        question: Option<QuestionId>,
        /// The answer.
        answer: Answer,
    },
    /// Something is to be sent to the model.
    ModelBefore(ModelCall),
    /// The model has answered what was sent.
    ModelAfter {
        /// The call of the model.
        call: CallId,
        /// The answer.
        answer: Json,
    },
    /// The task is interrupted.
    Interrupt,
    /// The task is ended.
    End {
        /// Why.
        reason: String,
    },
}

impl Step {
    /// The kind of operation that it decides, as far as that is known from the step alone.
    pub(crate) fn kind(&self) -> DecidedKind {
        match self {
            Self::Input(_) => DecidedKind::Input,
            Self::Output(_) => DecidedKind::Output,
            Self::ModelBefore(_) | Self::ModelAfter { .. } => DecidedKind::Model,
            _ => DecidedKind::Call,
        }
    }

    /// The function of the call.
    pub(crate) fn function(&self) -> Option<String> {
        match self {
            Self::Before(call) | Self::Invoke(call) => Some(call.function.clone()),
            _ => None,
        }
    }
}

/// What of a task is to be explained.
#[derive(Clone, Debug)]
pub enum ToExplain {
    /// The decision of an event of the past, by its number ([`Task::events`](crate::Task::events)).
    Event(u64),
    /// What this call would come to now.
    Call(Call),
}
