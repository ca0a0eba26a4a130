//! `celador eval`: one expression, in one scope, on one state of a task.

use super::limits::Changes;
use super::subject::{Subject, SubjectArguments};
use super::{ExitCode, Failure, Format, Screen, clock, messages, read_text};
use celador::cel::{ErrorCode, EvalError, Json, Program, Stop};
use celador::context::{Bound, Moment, Scope, ScopeEnv, Unanswered};
use celador::diagnostic::Diagnostic;
use celador::limits::EngineLimits;
use celador::policy::run_to;
use celador::scenario::SCOPES;
use celador::source::Embedded;
use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use serde_json::json;
use std::path::Path;

/// Evaluate an expression and print its value as JSON
///
/// A value that JSON does not have, such as an address or an optional, is printed as the CEL text that gives it.
///
/// The expression is compiled in a scope, so it may name what an expression at that place of a manifest may: in `before`
/// there is `input` and no `output`. Without manifests the functions of `context.capabilities` are those of the file.
#[derive(Args)]
#[command(after_long_help = "\
Examples:
  celador eval \"size('héllo') == 5\"
  celador eval 'input.amount <= 100' --input '{\"amount\": 250}' --exit-status
  celador eval 'c.cap.refund.count_successful' --context task.json
  celador eval 'context.cap.payments.outputs[0].state' --context state.yaml \\
      --manifests policies/support-desk --agent support-desk
  celador eval 'input.amount <= 1000' --case cases/too-much.yaml
  celador eval @guard.cel --scope guardrail_before --input '{\"message\": \"hi\"}'

With --case the expression sees what the steps of the case's operation see, at the time of the case.

The file of --context is the JSON of a task context, or YAML with the keys `env` and `state` of a
case, which needs --manifests.

Exit codes: 0 a value, 1 the evaluation failed, 3 the expression does not compile, 4 it asks for a
review, and with --exit-status 2 the value is false, null, zero or empty.")]
pub(crate) struct Arguments {
    /// The expression; `@FILE` reads it from a file, `@-` from standard input
    expression: String,

    /// The scope; that of the case, or `after` if there is an output, else `before`
    #[arg(long, value_parser = scopes())]
    scope: Option<Scope>,

    #[command(flatten)]
    task: SubjectArguments,

    /// `input`, as JSON or `@FILE`
    #[arg(long, value_name = "JSON")]
    input: Option<String>,

    /// `output`, as JSON or `@FILE`
    #[arg(long, value_name = "JSON")]
    output: Option<String>,

    /// `event`, as JSON or `@FILE`
    #[arg(long, value_name = "JSON")]
    event: Option<String>,

    /// `now`, RFC 3339; that of the case or of the clock if it is not given
    #[arg(long, value_name = "TIME")]
    now: Option<String>,

    /// Exit with 2 if the value is false, null, zero or empty
    #[arg(long)]
    exit_status: bool,

    #[command(flatten)]
    changes: Changes,
}

pub(super) fn scopes() -> impl TypedValueParser<Value = Scope> {
    PossibleValuesParser::new(SCOPES.map(|(name, _)| name))
        .map(|word| SCOPES.iter().find(|(name, _)| *name == word).map_or(Scope::Before, |(_, scope)| *scope))
}

impl Arguments {
    pub(super) fn run(self, screen: &mut Screen) -> Result<ExitCode, Failure> {
        let limits = self.changes.of_engine()?;
        let text = match self.expression.strip_prefix('@') {
            Some(path) => read_text(Path::new(path), limits.eval.max_source_bytes)?,
            None => self.expression.clone(),
        };
        if text.len() > limits.eval.max_source_bytes {
            // a caret under a text of this size helps nobody
            screen.error(&messages::expression_too_long(limits.eval.max_source_bytes, text.len()));
            return Ok(ExitCode::Invalid);
        }
        let [input, output, event] =
            [("--input", &self.input), ("--output", &self.output), ("--event", &self.event)].map(
                |(option, value)| value.as_deref().map(|value| read_json(option, value, &limits)).transpose(),
            );
        let (input, output, event) = (input?, output?, event?);
        let mut subject = Subject::new(&self.task, limits, screen)?;
        let (mut scope, mut time) = (if output.is_some() { Scope::After } else { Scope::Before }, None);
        let (mut input, mut output) = (input, output);
        if let Some(brought) = subject.brought.take() {
            (scope, time) = (brought.scope, Some(brought.now));
            (input, output) = (input.or(brought.input), output.or(brought.output));
        }
        let scope = self.scope.unwrap_or(scope);
        let now: Moment = match time.filter(|_| self.now.is_none()) {
            Some(time) => time.into(),
            None => clock::now(self.now.as_deref())?.into(),
        };
        if scope.tests_messages() {
            subject.test(input.as_ref(), output.as_ref())?;
        }
        let bound = Bound {
            context: Some(&subject.context),
            input: input.as_ref().map(Json::value),
            output: output.as_ref().map(Json::value),
            event: event.as_ref().map(Json::value),
            now: Some(&now),
            runtime: Some(&subject.runtime),
            mount: subject.mount.as_ref(),
            ..Bound::default()
        };
        evaluate(&text, &subject.scope(scope), &bound, self.exit_status, screen)
    }
}

fn evaluate(
    text: &str,
    env: &ScopeEnv,
    bound: &Bound<'_>,
    exit_status: bool,
    screen: &mut Screen,
) -> Result<ExitCode, Failure> {
    let embedded = Embedded::alone("expression", text);
    let program = match Program::compile(env.env(), text) {
        Ok(program) => program,
        Err(issues) => {
            screen.complain(&issues.iter().map(|issue| issue.locate(&embedded)).collect::<Vec<_>>());
            return Ok(ExitCode::Invalid);
        }
    };
    screen.complain(&program.issues().iter().map(|issue| issue.locate(&embedded)).collect::<Vec<_>>());
    let mut host = Unanswered::default();
    let (result, cost) = run_to(&program, env, bound, &mut host, |value| {
        let json = match Json::from_value(value, env.env().limits()) {
            Ok(json) => Some(json),
            Err(fault) if fault.code == ErrorCode::NotJson => None,
            Err(fault) => return Err(fault),
        };
        Ok((json, value.shown(usize::MAX), value.is_truthy()))
    });
    let (value, cel, truthy) = match result {
        Ok(result) => result,
        Err(Stop::Failed(error)) => {
            let EvalError { code, span, .. } = error;
            screen.complain(&[Diagnostic::error(code.as_str(), error.to_string(), embedded.locate(span))]);
            return Ok(ExitCode::Unusable);
        }
        Err(Stop::Asked) => {
            screen.error(&messages::review_pending(host.reviewer.as_deref().unwrap_or_default()));
            return Ok(ExitCode::Undecided);
        }
    };
    match screen.format() {
        // JSON has no text for an address, an optional, a type and a few others
        Format::Human => screen.line(&value.map_or(cel, |value| value.to_string()))?,
        Format::Json => {
            let ty = program.result_type().to_string();
            let row =
                json!({ "value": value, "cel": cel, "truthy": truthy, "result_type": ty, "cost": cost });
            screen.json("value", row)?;
        }
    }
    Ok(if exit_status && !truthy { ExitCode::No } else { ExitCode::Yes })
}

/// The JSON of an option, or of the file that it names.
fn read_json(option: &str, value: &str, limits: &EngineLimits) -> Result<Json, Failure> {
    let text = match value.strip_prefix('@') {
        Some(path) => read_text(Path::new(path), limits.eval.max_json_bytes)?,
        None => value.to_owned(),
    };
    Json::parse(&text, &limits.eval).map_err(|error| Failure::Unusable(messages::not_json(option, &error)))
}
