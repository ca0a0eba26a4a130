//! Answers to the questions of one expression, given again each time it is evaluated.
//!
//! An expression that asks is evaluated from its beginning when the answer is there; the answers so far come from a log, in
//! the order of the questions. An answer counts only for the very question it was given to: if an evaluation asks another
//! one, because the time has moved on, the answer is dropped and the new question is put (RV-04, RV-10, RV-11).

use super::file_reference::FileReference;
use super::mount_path;
use crate::cel::{
    ErrorCode, EvalError, Fault, HostFunctionSet, HostFunctions, Interruption, Json, Stop, Value,
};
use crate::context::Caller;
use crate::limits::{EngineLimits, EvalLimits};
use crate::policy::{Policy, ReviewPanel};
use crate::task::state::{Answer, Exchange, Invocation, Request};

/// The host of one evaluation.
#[derive(Debug)]
pub(in crate::task) struct Replay<'e> {
    exchanges: &'e [Exchange],
    /// Reviewers who have approved of what is handled, and are not asked again.
    approved: &'e [String],
    used: usize,
    asked: Option<Request>,
    has_mount: bool,
    /// The capabilities that a script calls.
    script: Option<&'e Policy>,
    max_questions: usize,
    /// The functions of the host.
    functions: Option<&'e HostFunctionSet>,
    /// The bounds of what it asks for; nothing where nothing is asked.
    limits: Option<EvalLimits>,
}

/// Why an evaluation gave no value.
#[derive(Debug)]
pub(in crate::task) enum Halt {
    /// It failed.
    Failed(EvalError),
    /// It asks; this many answers are still good.
    Asks(Request, usize),
}

impl<'e> Replay<'e> {
    /// A host with these answers. One without a mount reads and writes no files.
    pub(in crate::task) fn new(exchanges: &'e [Exchange], has_mount: bool, limits: &EngineLimits) -> Self {
        let max_questions = limits.max_questions;
        Self {
            exchanges,
            approved: &[],
            used: 0,
            asked: None,
            has_mount,
            script: None,
            max_questions,
            functions: None,
            limits: Some(limits.eval),
        }
    }

    /// The same where reviewers have approved already.
    pub(in crate::task) fn approved(self, approved: &'e [String]) -> Self {
        Self { approved, ..self }
    }

    /// The same with functions of the host.
    pub(in crate::task) fn with_functions(self, functions: &'e HostFunctionSet) -> Self {
        Self { functions: Some(functions), ..self }
    }

    /// A host for a script of the model: it calls capabilities, and refers to files where its scope lets it.
    pub(in crate::task) fn of_script(exchanges: &'e [Exchange], policy: &'e Policy) -> Self {
        Self { script: Some(policy), ..Self::new(exchanges, true, policy.limits()) }
    }

    /// A host for scopes that have nothing to ask.
    pub(in crate::task) fn mute() -> Self {
        Self {
            exchanges: &[],
            approved: &[],
            used: 0,
            asked: None,
            has_mount: false,
            script: None,
            max_questions: 0,
            functions: None,
            limits: None,
        }
    }

    /// What came of the evaluation. The next one with this host goes on where this one stopped reading the log.
    #[inline]
    pub(in crate::task) fn settle<T>(&mut self, result: Result<T, Stop>) -> Result<T, Halt> {
        result.map_err(|stop| self.halt(stop))
    }

    #[cold]
    fn halt(&mut self, stop: Stop) -> Halt {
        match (stop, self.asked.take()) {
            (Stop::Failed(error), _) => Halt::Failed(error),
            (Stop::Asked, Some(request)) => Halt::Asks(request, self.used),
            (Stop::Asked, None) => Halt::Failed(never_asked()),
        }
    }

    /// The question that a call of a host's function puts.
    fn question(&self, function: &str, args: &[Value<'_>]) -> Result<Request, Interruption> {
        let text = |index: usize| args.get(index).and_then(Value::as_str);
        let invalid = || Interruption::Fault(ErrorCode::InvalidArgument.into());
        let path = || {
            let path = text(0).ok_or_else(invalid)?;
            let refused = |why: mount_path::Refusal| Interruption::Fault(Fault::refused(why.as_str()));
            mount_path::check(path).map(|()| path.to_owned()).map_err(refused)
        };
        if let Some(policy) = self.script
            && !(function == "file" && text(0).is_some())
        {
            return call_of(policy, function, args);
        }
        match function {
            "review" => {
                if let Some(argument @ Value::Map(_)) = args.first() {
                    let limits = self.limits.as_ref().ok_or_else(host_failed)?;
                    let argument = Json::from_value(argument, limits).map_err(Interruption::Fault)?;
                    let panel = ReviewPanel::read(argument.root()).map_err(|_| invalid())?;
                    return Ok(Request::Review { reviewer: panel.to_string(), panel: Some(panel) });
                }
                let reviewer = text(0).filter(|reviewer| !reviewer.is_empty()).ok_or_else(invalid)?;
                Ok(Request::Review { reviewer: reviewer.to_owned(), panel: None })
            }
            "mount.read" if self.has_mount => Ok(Request::ReadMount { path: path()? }),
            "mount.write" if self.has_mount => {
                let text = text(1).ok_or_else(invalid)?.to_owned();
                Ok(Request::WriteMount { path: path()?, text })
            }
            "file" if self.has_mount && text(0).is_some() => Ok(Request::MeasureFile { path: path()? }),
            _ => Err(host_failed()),
        }
    }
}

impl HostFunctions for Replay<'_> {
    fn call(&mut self, function: &str, args: &[Value<'_>]) -> Result<Value<'static>, Interruption> {
        if let Some(functions) = self.functions.filter(|functions| functions.has(function)) {
            return functions.call(function, args).map_err(Interruption::Fault);
        }
        let question = self.question(function, args)?;
        let next = self.exchanges.get(self.used);
        let known = next.filter(|exchange| exchange.question == question);
        let Some(exchange) = known else {
            if let Request::Review { reviewer, .. } = &question
                && self.approved.contains(reviewer)
            {
                return Ok(Value::Bool(true));
            }
            if self.script.is_some() && next.is_some() {
                // a script asks the same whenever it is evaluated; if not, its finished calls must not run again
                return Err(host_failed());
            }
            if self.used >= self.max_questions {
                return Err(Interruption::Fault(Fault::budget("max_questions")));
            }
            self.asked = Some(question);
            return Err(Interruption::Asked);
        };
        self.used = self.used.saturating_add(1);
        match (&exchange.answer, question) {
            (Answer::Review(answer), _) => Ok(Value::Bool(answer.approves())),
            (Answer::Text(text), _) => Ok(Value::owned_text(text.as_str())),
            (Answer::Written, Request::WriteMount { text, .. }) => Ok(Value::owned_text(text)),
            (Answer::Result(result), _) => Ok(result.output.root().to_static()),
            (answer @ (Answer::Size(_) | Answer::Failed), Request::MeasureFile { path }) => {
                Ok(FileReference::measured(&path, answer).to_json().root().to_static())
            }
            _ => Err(host_failed()),
        }
    }
}

impl Answer {
    /// Whether it is of the kind that a request asks for.
    pub(in crate::task) fn fits(&self, request: &Request) -> bool {
        matches!(
            (self, request),
            (Self::Result(_), Request::Invoke(_))
                | (Self::Review(_), Request::Review { .. })
                | (Self::Text(_) | Self::Failed, Request::ReadMount { .. })
                | (Self::Written | Self::Failed, Request::WriteMount { .. })
                | (Self::Size(_) | Self::Failed, Request::MeasureFile { .. })
                | (Self::Counters(_) | Self::Failed, Request::Counters { .. })
        )
    }
}

/// The call that a script makes: one map of arguments (SCR-02).
fn call_of(policy: &Policy, key: &str, args: &[Value<'_>]) -> Result<Request, Interruption> {
    let function = policy.position(key).and_then(|position| policy.function(position));
    let function = function.filter(|function| function.offered).ok_or_else(host_failed)?;
    let [arguments @ Value::Map(_)] = args else {
        let fault = Fault::no_overload(args.iter().map(Value::kind));
        return Err(Interruption::Fault(fault));
    };
    Ok(Request::Invoke(Invocation {
        function: key.to_owned(),
        caller: Caller::Model,
        target: function.target.clone(),
        arguments: Json::from_value(arguments, &policy.limits().eval).map_err(Interruption::Fault)?,
        terms: None,
    }))
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
        detail: None,
    }
}
