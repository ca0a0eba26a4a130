//! How steps and stages end, as plain data, and what follows from an expression that gave no value.

use super::evaluation::replay::Halt;
use super::state::{
    Course, Decision, Finding, Refused, Request, Said, Termination, UnderWay, Verdict, VerdictKind,
};
use crate::cel::EvalError;
use crate::context::{FunctionId, LabelSet};
use crate::policy::{Expression, Origin};
use std::borrow::Cow;

/// How a stage ended.
pub(super) enum Flow {
    /// Nothing stands in the way.
    Passed,
    /// A step has answered in the place of the tool.
    Answered,
    /// The arguments have changed since somebody approved of them: the steps ahead of the call are passed again.
    Again,
    /// It has come as far as it may while reviews of other calls are open.
    Held,
    /// A step stopped the operation.
    Stopped(Stopped),
    /// The task was terminated.
    Ended(Termination),
    /// The host must answer first.
    Asks(Request),
}

/// How a failed step stops an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum StopKind {
    Block,
    LockTask,
}

impl StopKind {
    pub(super) const fn verdict(self) -> VerdictKind {
        match self {
            Self::Block => VerdictKind::Block,
            Self::LockTask => VerdictKind::LockTask,
        }
    }

    /// The verdict. The reason for which a task is locked is the message.
    pub(super) fn with(self, refused: Refused) -> Verdict {
        match self {
            Self::Block => Verdict::Block(refused),
            Self::LockTask => Verdict::LockTask(Refused { reason: Some(refused.message.clone()), ..refused }),
        }
    }
}

/// A failed step that does not let the operation go on.
pub(super) struct Stopped {
    pub(super) kind: StopKind,
    /// Its rendered message, or the default.
    pub(super) message: Said,
    /// What the user is told.
    pub(super) user_message: Option<Said>,
    pub(super) origin: Origin,
}

/// How one step ended that was not skipped.
pub(super) enum StepEnd {
    Passed,
    /// It gave these labels, or took them away.
    Labelled(LabelSet),
    Failed(Option<Finding>),
    Asks(Request),
}

impl Finding {
    /// An expression that failed.
    pub(super) fn of_error(error: &EvalError, origin: Origin) -> Self {
        Self { origin: Some(origin), ..Self::failed(error) }
    }

    /// The same without its place.
    pub(super) fn failed(error: &EvalError) -> Self {
        Self { code: Cow::Borrowed(error.code.as_str()), message: error.to_string(), origin: None }
    }

    pub(super) fn new(code: &'static str, message: String, origin: Option<Origin>) -> Self {
        Self { code: Cow::Borrowed(code), message, origin }
    }
}

/// The id of a function in the task context.
pub(super) fn function_id(position: usize) -> FunctionId {
    FunctionId(u32::try_from(position).unwrap_or(u32::MAX))
}

pub(super) fn halted(halt: Halt, course: &mut Course, expression: &Expression) -> StepEnd {
    match halt {
        Halt::Failed(error) => {
            let origin = expression.origin_of(error.span);
            StepEnd::Failed(Some(Finding::of_error(&error, origin)))
        }
        Halt::Asks(request, used) => {
            course.exchanges.truncate(used);
            StepEnd::Asks(request)
        }
    }
}

/// The decision of an operation at whose end the task has ended too.
pub(super) fn ended(operation: UnderWay, termination: Termination) -> Decision {
    operation.decide(termination.verdict())
}

impl Termination {
    /// The verdict of the operation that has ended the task, other than at a limit.
    pub(super) fn verdict(self) -> Verdict {
        let Self { reason, message } = self;
        Verdict::Terminate { reason, message, limit: None }
    }
}
