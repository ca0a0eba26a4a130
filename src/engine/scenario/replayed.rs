//! One decision of a task that is played: what happened, what the engine decided, and how the task stands.
//!
//! Data only, with the view of it that masks what a manifest marks as secret.

use crate::cel::{Json, Timestamp};
use crate::policy::Policy;
use crate::source::Place;
use crate::task::{Call, CallResult, Decision, Ran, ReviewState, TaskState, Usage};

/// One decision of a recorded task.
#[derive(Clone, Debug)]
pub struct ReplayedEvent {
    /// Where the step stands.
    pub place: Place,
    /// When it happened.
    pub at: Timestamp,
    /// The step that was taken.
    pub happened: Happened,
    /// The decision of the engine.
    pub decision: Decision,
    /// The executions on the way: function and arguments, in order.
    pub invoked: Vec<(String, Json)>,
    /// The task afterwards.
    pub state: TaskState,
}

/// The step that was taken.
#[derive(Clone, Debug)]
pub enum Happened {
    /// Somebody said something.
    Input(Json),
    /// Something was about to be sent to the model.
    Request {
        /// The name of the call.
        id: String,
        /// What was to be sent.
        request: Json,
    },
    /// The model's answer came.
    Answer {
        /// The name of the call.
        id: String,
        /// What came.
        answer: Json,
    },
    /// The model answered.
    ModelTurn(Usage),
    /// The model called a function.
    Call {
        /// The name of the call.
        id: String,
        /// The function and its arguments.
        call: Call,
    },
    /// A call that waited for other calls is decided.
    Decided {
        /// The name of the call.
        id: String,
    },
    /// A function that was let through has run.
    Result {
        /// The name of the call.
        id: String,
        /// The function.
        function: String,
        /// Its result.
        result: CallResult,
    },
    /// A call was taken back.
    Withdrawn {
        /// The name of the call.
        id: String,
        /// Whether it has run.
        ran: Ran,
    },
    /// A reviewer decided.
    Review {
        /// Who.
        reviewer: String,
        /// The name of the call that the review was about.
        call: Option<String>,
        /// What they decided: approved, denied, edited or responded.
        verdict: ReviewState,
        /// Whether a step of the recording says so; if not, [`Unanswered`](super::Unanswered) did.
        recorded: bool,
    },
    /// Something happened outside.
    Event {
        /// The capability whose event it is said to be.
        capability: String,
        /// The event.
        event: String,
    },
    /// The model had a response.
    Output(Json),
}

impl Happened {
    /// The name of the call that it is about.
    #[must_use]
    pub fn call(&self) -> Option<&str> {
        match self {
            Self::Request { id, .. }
            | Self::Answer { id, .. }
            | Self::Call { id, .. }
            | Self::Decided { id }
            | Self::Result { id, .. }
            | Self::Withdrawn { id, .. } => Some(id),
            Self::Review { call, .. } => call.as_deref(),
            Self::Input(_) | Self::ModelTurn(_) | Self::Event { .. } | Self::Output(_) => None,
        }
    }
}

impl ReplayedEvent {
    /// The event as views show it, under the policy of its task.
    #[must_use]
    pub fn masked(self, policy: &Policy) -> Self {
        let happened = match self.happened {
            Happened::Input(input) => Happened::Input(policy.masked_input(&input)),
            Happened::Call { id, call } => {
                let arguments = policy.masked_arguments(&call.function, &call.arguments);
                Happened::Call { id, call: Call { arguments, ..call } }
            }
            Happened::Result { id, function, result } => {
                let output = policy.masked_result(&function, result.status, &result.output);
                Happened::Result { id, function, result: CallResult { output, ..result } }
            }
            Happened::Request { id, request } => {
                Happened::Request { id, request: policy.masked_of_model(&request) }
            }
            Happened::Answer { id, answer } => {
                Happened::Answer { id, answer: policy.masked_of_model(&answer) }
            }
            other @ (Happened::ModelTurn(_)
            | Happened::Review { .. }
            | Happened::Withdrawn { .. }
            | Happened::Decided { .. }
            | Happened::Event { .. }
            | Happened::Output(_)) => other,
        };
        let invoked = self.invoked.into_iter().map(|(function, arguments)| {
            let arguments = policy.masked_arguments(&function, &arguments);
            (function, arguments)
        });
        let invoked = invoked.collect();
        Self { happened, invoked, decision: self.decision.masked(), ..self }
    }
}
