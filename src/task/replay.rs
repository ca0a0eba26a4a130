//! Answers to the questions of one expression, given again each time it is evaluated.
//!
//! An expression that asks is evaluated from its beginning when the answer is there; the answers so far come from a log, in
//! the order of the questions. An answer counts only for the very question it was given to: if an evaluation asks another
//! one, because the time has moved on, the answer is dropped and the new question is put (RV-04, RV-10, RV-11).

use super::effect::{Answer, Request};
use super::mount_path::is_inside;
use crate::cel::{ErrorCode, EvalError, Fault, Host, Interruption, Stop, Value};
use crate::limits::EvalLimits;
use serde::{Deserialize, Serialize};

/// A question that was answered.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Exchange {
    /// What was asked.
    pub question: Request,
    /// What was answered.
    pub answer: Answer,
}

/// The host of one evaluation.
#[derive(Debug)]
pub(super) struct Replay<'e> {
    exchanges: &'e [Exchange],
    used: usize,
    asked: Option<Request>,
    has_mount: bool,
    max_questions: usize,
}

/// Why an evaluation gave no value.
#[derive(Debug)]
pub(super) enum Halt {
    /// It failed.
    Failed(EvalError),
    /// It asks; this many answers are still good.
    Asks(Request, usize),
}

impl<'e> Replay<'e> {
    /// A host with these answers. One without a mount reads and writes no files.
    pub(super) fn new(exchanges: &'e [Exchange], has_mount: bool, limits: &EvalLimits) -> Self {
        Self { exchanges, used: 0, asked: None, has_mount, max_questions: limits.max_questions }
    }

    /// A host for scopes that have nothing to ask.
    pub(super) fn mute() -> Self {
        Self { exchanges: &[], used: 0, asked: None, has_mount: false, max_questions: 0 }
    }

    /// What came of the evaluation. The next one with this host goes on where this one stopped reading the log.
    pub(super) fn settle<T>(&mut self, result: Result<T, Stop>) -> Result<T, Halt> {
        match (result, self.asked.take()) {
            (Ok(value), _) => Ok(value),
            (Err(Stop::Failed(error)), _) => Err(Halt::Failed(error)),
            (Err(Stop::Asked), Some(request)) => Err(Halt::Asks(request, self.used)),
            (Err(Stop::Asked), None) => Err(Halt::Failed(never_asked())),
        }
    }

    /// The question that a call of a host's function puts.
    fn question(&self, function: &str, args: &[Value<'_>]) -> Result<Request, Interruption> {
        let text = |index: usize| args.get(index).and_then(Value::as_str);
        let invalid = || Interruption::Fault(ErrorCode::InvalidArgument.into());
        let path = || text(0).filter(|path| is_inside(path)).map(str::to_owned).ok_or_else(invalid);
        match function {
            "review" => {
                let reviewer = text(0).filter(|reviewer| !reviewer.is_empty()).ok_or_else(invalid)?;
                Ok(Request::Review { reviewer: reviewer.to_owned() })
            }
            "mount.read" if self.has_mount => Ok(Request::ReadMount { path: path()? }),
            "mount.write" if self.has_mount => {
                let text = text(1).ok_or_else(invalid)?.to_owned();
                Ok(Request::WriteMount { path: path()?, text })
            }
            _ => Err(host_failed()),
        }
    }
}

impl Host for Replay<'_> {
    fn call(&mut self, function: &'static str, args: &[Value<'_>]) -> Result<Value<'static>, Interruption> {
        let question = self.question(function, args)?;
        let known = self.exchanges.get(self.used).filter(|exchange| exchange.question == question);
        let Some(exchange) = known else {
            if self.used >= self.max_questions {
                return Err(Interruption::Fault(Fault::budget("max_questions")));
            }
            self.asked = Some(question);
            return Err(Interruption::Asked);
        };
        self.used = self.used.saturating_add(1);
        match (&exchange.answer, question) {
            (Answer::Review(approved), _) => Ok(Value::Bool(*approved)),
            (Answer::Text(text), _) => Ok(Value::owned_text(text.as_str())),
            (Answer::Written, Request::WriteMount { text, .. }) => Ok(Value::owned_text(text)),
            _ => Err(host_failed()),
        }
    }
}

impl Answer {
    /// Whether it is of the kind that a request asks for.
    pub(super) fn fits(&self, request: &Request) -> bool {
        matches!(
            (self, request),
            (Self::Result(_), Request::Invoke(_))
                | (Self::Review(_), Request::Review { .. })
                | (Self::Text(_) | Self::Failed, Request::ReadMount { .. })
                | (Self::Written | Self::Failed, Request::WriteMount { .. })
        )
    }
}

fn host_failed() -> Interruption {
    Interruption::Fault(ErrorCode::HostFailed.into())
}

/// An evaluation that stopped for a question which nobody put.
fn never_asked() -> EvalError {
    EvalError {
        code: ErrorCode::HostFailed,
        span: crate::source::Span::default(),
        found: [None; 3],
        function: None,
        bound: None,
    }
}
