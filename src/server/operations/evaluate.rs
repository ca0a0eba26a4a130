//! Expressions and templates that a caller tries out: on a task of theirs, or on a context that they give.
//!
//! In: a text, its scope, the values that a step would bring. Out: a value, a failure by code and place, or a question; of
//! a check its findings, type and cost. Nothing of a task changes, and no secret can be reached: settings and tokens are
//! not among the values.

use crate::manifests::AgentName;
use crate::messages;
use crate::problem::{Kind, Problem};
use celador::cel::{EvalError, Issue, Json, LANGUAGE, Program, Stop, Timestamp};
use celador::context::{Bound, Moment, Runtime, Scope, ScopeDecl, ScopeEnv, TaskContext, TaskIo, Unanswered};
use celador::limits::EngineLimits;
use celador::policy::{Policy, run_to_json};
use celador::scenario::{SCOPES, restore};
use celador::task::{Exchange, Given, Request, Task, TemplateKind, Trial, Tried};
use celador_service::{
    CheckedExpression, CostBounds, ExpressionOutcome, FailedExpression, Findings, TaskExpression,
};
use serde::{Deserialize, Deserializer, Serialize, de};
use serde_json::Value;
use std::sync::Arc;

/// An expression and the scope in which it would stand.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct Check {
    /// The scope.
    #[serde(deserialize_with = "scope")]
    #[cfg_attr(feature = "schema", schemars(schema_with = "scopes"))]
    scope: Scope,
    /// The expression.
    expression: String,
    /// The agent whose types the scope has; only where no task says it.
    #[serde(default)]
    pub(crate) agent: Option<AgentName>,
}

/// An expression with the values that it is to be tried out on.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct Evaluate {
    /// The scope.
    #[serde(deserialize_with = "scope")]
    #[cfg_attr(feature = "schema", schemars(schema_with = "scopes"))]
    scope: Scope,
    /// The expression.
    expression: String,
    /// The value of `input`; of guardrails and `exposes` the entry under test.
    #[serde(default)]
    input: Option<Json>,
    /// The value of `output`; of guardrails and `exposes` the entry under test.
    #[serde(default)]
    output: Option<Json>,
    /// The value of `event`.
    #[serde(default)]
    event: Option<Json>,
    /// The value of `parameters` of a filter.
    #[serde(default)]
    parameters: Option<Json>,
    /// The answers to the questions that the expression asked so far, in their order; only on a task.
    #[serde(default)]
    pub(crate) answers: Vec<Exchange>,
    /// The agent whose types the scope has; only where there is no task.
    #[serde(default)]
    pub(crate) agent: Option<AgentName>,
    /// The context, as reading that of a task gives it; empty if it is left out; only where there is no task.
    #[serde(default)]
    pub(crate) context: Option<Json>,
}

/// A template with the values that it is to be rendered with.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct Render {
    /// The place in a manifest in which the template would stand.
    kind: RenderKind,
    /// The template; the agent's own prompt, if it is left out.
    #[serde(default)]
    template: Option<String>,
    /// The value of `input`.
    #[serde(default)]
    input: Option<Json>,
    /// The value of `output`.
    #[serde(default)]
    output: Option<Json>,
    /// The value of `event`.
    #[serde(default)]
    event: Option<Json>,
}

#[derive(Clone, Copy, Deserialize, PartialEq)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(inline))]
enum RenderKind {
    Prompt,
    Event,
    ErrorMessage,
}

/// A rendered text.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct Rendered {
    /// The text.
    text: String,
}

#[cfg(feature = "schema")]
fn scopes(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
    let words: Vec<&str> = SCOPES.iter().map(|(word, _)| *word).collect();
    schemars::json_schema!({ "type": "string", "enum": words })
}

fn scope<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Scope, D::Error> {
    let word = String::deserialize(deserializer)?;
    scope_of(&word).map_err(de::Error::custom)
}

impl Check {
    /// An expression in a scope of a task.
    pub(crate) fn on_task(scope: Scope, expression: &str) -> Self {
        Self { scope, expression: expression.to_owned(), agent: None }
    }

    /// What a compiler says in the scope of a policy.
    pub(crate) fn run(&self, policy: Option<&Policy>, limits: &EngineLimits) -> CheckedExpression {
        let env = match policy {
            Some(policy) => policy.trial_scope(self.scope),
            None => alone(self.scope, None, limits),
        };
        match Program::compile(env.env(), &self.expression) {
            Ok(program) => CheckedExpression {
                valid: true,
                result_type: Some(program.result_type().to_string()),
                cost: Some(CostBounds { min: program.cost().min, max: program.cost().max }),
                findings: told(program.issues()),
            },
            Err(findings) => {
                CheckedExpression { valid: false, result_type: None, cost: None, findings: told(&findings) }
            }
        }
    }
}

impl Evaluate {
    /// An expression that is tried out on a task.
    ///
    /// # Errors
    /// A word of no scope.
    pub(crate) fn of(expression: TaskExpression) -> Result<Self, Problem> {
        let TaskExpression { scope, expression, input, output } = expression;
        let scope = scope_of(&scope).map_err(|expected| Problem::new(Kind::BadRequest, expected))?;
        let (event, parameters, answers) = (None, None, Vec::new());
        Ok(Self { scope, expression, input, output, event, parameters, answers, agent: None, context: None })
    }

    /// The expression on a task.
    pub(crate) fn on_task(&self, task: &Task, now: Timestamp) -> Result<ExpressionOutcome, Problem> {
        let trial = Trial {
            scope: self.scope,
            text: &self.expression,
            input: self.input.as_ref(),
            output: self.output.as_ref(),
            event: self.event.as_ref(),
            parameters: self.parameters.as_ref(),
        };
        let tried = task.evaluate(&trial, &self.answers, now).map_err(|issues| invalid(issues.to_vec()))?;
        Ok(match tried {
            Tried::Value(value) => ExpressionOutcome::Value(value),
            Tried::Failed(error) => ExpressionOutcome::Failed(failed(&error)),
            Tried::Asks(request) => ExpressionOutcome::Asks(request),
        })
    }

    /// The expression on the context that came with it.
    pub(crate) fn on_context(
        &self,
        policy: Option<&Policy>,
        limits: &EngineLimits,
        now: Timestamp,
    ) -> Result<ExpressionOutcome, Problem> {
        let empty = Json::object([]);
        let snapshot = self.context.as_ref().unwrap_or(&empty);
        let schema = policy.map(|policy| policy.schema().clone());
        let no_context = |detail: String| Problem::new(Kind::InvalidContext, detail);
        let mut context = restore(snapshot, schema).map_err(|error| no_context(error.to_string()))?;
        if self.scope.tests_messages() {
            let entry = |json: &Json| TaskIo::of(json.root()).map_err(|error| no_context(error.to_string()));
            self.input.as_ref().map(entry).transpose()?.into_iter().for_each(|it| context.push_input(it));
            self.output.as_ref().map(entry).transpose()?.into_iter().for_each(|it| context.push_output(it));
        }
        let env = match policy {
            Some(policy) => policy.trial_scope(self.scope),
            None => alone(self.scope, Some(&context), limits),
        };
        let program = Program::compile(env.env(), &self.expression).map_err(invalid)?;
        let (now, runtime) = (Moment::from(now), Runtime::default());
        let bound = Bound {
            context: Some(&context),
            input: self.input.as_ref().map(Json::value),
            output: self.output.as_ref().map(Json::value),
            event: self.event.as_ref().map(Json::value),
            parameters: self.parameters.as_ref().map(Json::value),
            now: Some(&now),
            runtime: Some(&runtime),
            ..Bound::default()
        };
        let mut asked = Unanswered::default();
        Ok(match run_to_json(&program, &env, &bound, &mut asked).0 {
            Ok((value, _)) => ExpressionOutcome::Value(value),
            Err(Stop::Failed(error)) => ExpressionOutcome::Failed(failed(&error)),
            Err(Stop::Asked) => ExpressionOutcome::Asks(Request::Review {
                reviewer: asked.reviewer.unwrap_or_default(),
                panel: None,
            }),
        })
    }
}

impl Render {
    /// The text on a task.
    pub(crate) fn on_task(&self, task: &Task, now: Timestamp) -> Result<Rendered, Problem> {
        let Some(template) = &self.template else {
            let prompt = (self.kind == RenderKind::Prompt).then(|| task.render_prompt(now)).flatten();
            let text = prompt.ok_or_else(|| Problem::new(Kind::InvalidExpression, messages::no_prompt()))?;
            return Ok(Rendered { text });
        };
        let kind = match self.kind {
            RenderKind::Prompt => TemplateKind::Prompt,
            RenderKind::Event => TemplateKind::Event,
            RenderKind::ErrorMessage => TemplateKind::ErrorMessage,
        };
        let given = Given {
            input: self.input.as_ref(),
            output: self.output.as_ref(),
            event: self.event.as_ref(),
            ..Given::default()
        };
        let text = task.interpolate(kind, template, &given, now);
        let text = text.map_err(|error| Problem::new(Kind::InvalidExpression, error.to_string()))?;
        Ok(Rendered { text })
    }
}

fn failed(error: &EvalError) -> FailedExpression {
    FailedExpression { code: error.code.as_str().to_owned(), message: error.to_string(), span: error.span }
}

/// Findings as they are told.
fn told(findings: &[Issue]) -> Vec<Value> {
    findings.iter().filter_map(|finding| serde_json::to_value(finding).ok()).collect()
}

/// The scope of a word.
///
/// # Errors
/// The words that there are.
pub(crate) fn scope_of(word: &str) -> Result<Scope, String> {
    let found = SCOPES.iter().find(|(name, _)| *name == word).map(|(_, scope)| *scope);
    found.ok_or_else(|| {
        let known: Vec<String> = SCOPES.iter().map(|(name, _)| format!("`{name}`")).collect();
        format!("expected one of {}", known.join(", "))
    })
}

/// A scope without an agent: the context has the types that it shows.
fn alone(scope: Scope, context: Option<&TaskContext>, limits: &EngineLimits) -> Arc<ScopeEnv> {
    Arc::new(ScopeEnv::new(&ScopeDecl {
        schema: context.map(TaskContext::schema),
        libraries: LANGUAGE,
        ..ScopeDecl::new(scope, limits.eval)
    }))
}

fn invalid(issues: Vec<Issue>) -> Problem {
    Problem::from(Kind::InvalidExpression).with_findings(Findings::Expression(issues))
}
