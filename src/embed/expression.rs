//! Expressions that are tried out: on a task, or alone.
//!
//! In: a text and values. Out: a value, or what is wrong, with carets under the text. Nothing of a task changes.

use crate::flaw::EXPRESSION;
use crate::sources::one_file;
use crate::{Error, Flaw};
use celador::cel::{Activation, Env, EnvBuilder, EvalLimits, Issue, Json, LANGUAGE, Program, Stop, Type};
use celador::context::Scope;
use celador::diagnostic::Diagnostic;
use celador::manifest::given::Files;
use celador::scenario::{CaseOutcome, Runner, SCOPES, Stage, read};
use celador::source::{Embedded, Span};
use celador::task::{Task, Trial, Tried};
use celador::{EngineLimits, Timestamp};
use std::path::Path;

/// An expression that is tried out on a task.
#[derive(Clone, Debug)]
pub struct Tryout {
    /// The word of the scope, such as `before`.
    pub scope: String,
    /// The text.
    pub expression: String,
    /// The value of `input`; of guardrails the entry under test.
    pub input: Option<Json>,
    /// The value of `output`.
    pub output: Option<Json>,
}

pub(crate) fn scope(word: &str) -> Result<Scope, Error> {
    let found = SCOPES.iter().find(|(name, _)| *name == word).map(|(_, scope)| *scope);
    found.ok_or_else(|| {
        let known: Vec<String> = SCOPES.iter().map(|(name, _)| format!("`{name}`")).collect();
        Error::misuse("bad_request", format!("expected a scope, which is one of {}", known.join(", ")))
    })
}

/// The value of an expression on a task in memory.
pub(crate) fn on_task(task: &Task, tryout: &Tryout, now: Timestamp) -> Result<Json, Error> {
    let Tryout { scope: word, expression, input, output } = tryout;
    let trial =
        Trial { input: input.as_ref(), output: output.as_ref(), ..Trial::new(scope(word)?, expression) };
    tried(task, &trial, now)
}

/// The value of an expression on what the steps of a case's operation see, at the time of the case; of a case with steps ahead of the step of this number, from 1.
///
/// # Errors
/// A file that holds no case or several, a case that cannot be run, and an expression that is not valid, that fails or that asks.
pub fn evaluate_on_case(
    expression: &str,
    files: &Files,
    case: &Path,
    step: Option<usize>,
) -> Result<Json, Error> {
    let limits = EngineLimits::default();
    let mut cases = read(&one_file(files, case)?, &limits);
    let (Some(case), true) = (cases.pop(), cases.is_empty()) else {
        return Err(Error::misuse("bad_request", "expected a file of one case"));
    };
    let broken = |outcome| match outcome {
        CaseOutcome::Broken(findings) => Error::refused(findings),
        _ => Error::internal("a case was run that was to be read"),
    };
    let case = case.map_err(|report| broken(report.outcome))?;
    let stage = Runner::among(files.clone(), limits).stage(&case, step).map_err(Error::refused)?;
    let Stage { task, now, scope, input, output } = stage;
    let trial = Trial { input: input.as_ref(), output: output.as_ref(), ..Trial::new(scope, expression) };
    tried(&task, &trial, now)
}

fn tried(task: &Task, trial: &Trial<'_>, now: Timestamp) -> Result<Json, Error> {
    let expression = trial.text;
    match task.evaluate(trial, &[], now) {
        Err(issues) => Err(Error::refused(located(&issues, expression))),
        Ok(Tried::Value(value)) => Ok(value),
        Ok(Tried::Failed(error)) => {
            Err(failed(error.code.as_str(), error.to_string(), expression, error.span))
        }
        Ok(Tried::Asks(_)) => Err(asks()),
    }
}

/// What a compiler says of an expression in the scope of a task.
pub(crate) fn check_on_task(task: &Task, word: &str, expression: &str) -> Result<Vec<Flaw>, Error> {
    let scope = task.policy().trial_scope(scope(word)?);
    Ok(flaws(Program::compile(scope.env(), expression), expression))
}

fn flaws(compiled: Result<Program, Vec<Issue>>, text: &str) -> Vec<Flaw> {
    let issues = match compiled {
        Ok(program) => program.issues().to_vec(),
        Err(issues) => issues,
    };
    located(&issues, text).iter().map(Flaw::of).collect()
}

/// The value of an expression of the language alone, with these variables.
///
/// # Errors
/// An expression that is not valid, or that fails.
pub fn evaluate(expression: &str, variables: &[(String, Json)]) -> Result<Json, Error> {
    let limits = EvalLimits::default();
    let declared = variables
        .iter()
        .fold(Env::builder().limits(limits), |scope, (name, _)| scope.variable(name, Type::Dyn));
    let env = LANGUAGE.iter().copied().fold(declared, EnvBuilder::library).build();
    let program =
        Program::compile(&env, expression).map_err(|issues| Error::refused(located(&issues, expression)))?;
    let activation = variables
        .iter()
        .fold(Activation::new(&env), |values, (name, value)| values.with(&env, name, value.value()));
    match program.run(&activation, None) {
        Ok(value) => Json::from_value(&value, &limits)
            .map_err(|fault| Error::misuse("failed", format!("the value cannot be shown: {fault}"))),
        Err(Stop::Failed(error)) => {
            Err(failed(error.code.as_str(), error.to_string(), expression, error.span))
        }
        Err(Stop::Asked) => Err(asks()),
    }
}

pub(crate) fn located(issues: &[Issue], text: &str) -> Vec<Diagnostic> {
    let embedded = Embedded::alone(EXPRESSION, text);
    issues.iter().map(|issue| issue.locate(&embedded)).collect()
}

/// An expression that has no value, with a caret under what went wrong.
pub(crate) fn failed(code: &str, message: String, text: &str, span: Span) -> Error {
    let place = Embedded::alone(EXPRESSION, text).locate(span);
    let flaw = Flaw::of(&Diagnostic::error("failed", message, place));
    let shown = flaw.shown.replacen("error[failed]", &format!("error[{code}]"), 1);
    let flaw = Flaw { code: code.to_owned(), shown: shown.clone(), ..flaw };
    Error { flaws: vec![flaw], ..Error::misuse(code.to_owned(), shown) }
}

pub(crate) fn asks() -> Error {
    Error::misuse("asks", "the expression asks a person, and so has no value here")
}
