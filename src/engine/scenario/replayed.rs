//! One decision of a task that is played: what happened, what the engine decided, and how the task stands.
//!
//! Data only, with the view of it that masks what a manifest marks as secret.

use crate::cel::{Json, Timestamp};
use crate::policy::Policy;
use crate::source::Place;
use crate::task::{
    Call, CallId, CallResult, Decision, ModelCall, Operation, ReportedCall, ReviewState, TaskState,
};

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
    /// An operation, such as `before` of a call; of a turn of the model its usage, as each of its calls is a step of its own.
    Operation(Operation),
    /// A function that was let through has run.
    Result {
        /// The function.
        function: String,
        /// The call with its result.
        reported: ReportedCall,
    },
    /// A call that waited for other calls is decided.
    Decided {
        /// The call.
        id: CallId,
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
}

impl Happened {
    /// The name of the call that it is about.
    #[must_use]
    pub fn call(&self) -> Option<&str> {
        match self {
            Self::Operation(operation) => operation.call().map(CallId::as_str),
            Self::Result { reported, .. } => Some(reported.call.as_str()),
            Self::Decided { id } => Some(id.as_str()),
            Self::Review { call, .. } => call.as_deref(),
        }
    }

    fn masked(self, policy: &Policy) -> Self {
        match self {
            Self::Operation(operation) => Self::Operation(match operation {
                Operation::Input(input) => Operation::Input(policy.masked_input(&input)),
                Operation::Before(call) => Operation::Before(masked_call(call, policy)),
                Operation::Invoke(call) => Operation::Invoke(masked_call(call, policy)),
                Operation::ModelBefore(call) => Operation::ModelBefore(ModelCall {
                    request: policy.masked_of_model(&call.request),
                    ..call
                }),
                Operation::ModelAfter { call, answer } => {
                    Operation::ModelAfter { call, answer: policy.masked_of_model(&answer) }
                }
                operation => operation,
            }),
            Self::Result { function, reported: ReportedCall { call, result } } => {
                let output = policy.masked_result(&function, result.status, &result.output);
                let reported = ReportedCall { call, result: CallResult { output, ..result } };
                Self::Result { function, reported }
            }
            other @ (Self::Decided { .. } | Self::Review { .. }) => other,
        }
    }
}

fn masked_call(call: Call, policy: &Policy) -> Call {
    Call { arguments: policy.masked_arguments(&call.function, &call.arguments), ..call }
}

impl ReplayedEvent {
    /// The event as views show it, under the policy of its task.
    #[must_use]
    pub fn masked(self, policy: &Policy) -> Self {
        let happened = self.happened.masked(policy);
        let invoked = self.invoked.into_iter().map(|(function, arguments)| {
            let arguments = policy.masked_arguments(&function, &arguments);
            (function, arguments)
        });
        let invoked = invoked.collect();
        Self { happened, invoked, decision: self.decision.masked(), ..self }
    }
}
