//! One expression of a manifest, compiled in its scope.
//!
//! In: a text with the way back into its file. Out: an [`Expression`] that runs on the values of its scope, or diagnostics
//! with carets in the YAML. What goes wrong when it runs is told by its code and place, never by a value.

use super::argument_types::argument_misfits;
use super::braces::issues_of_braces;
use super::definitions::{Definitions, ParameterValue, ValuesRead};
use super::expansion::{Expansion, may_refer};
use super::known_call::write_call;
use super::messages;
use super::named_calls::issues_of_named_calls;
use super::of_agents::OfPolicyStep;
use super::origin::Origin;
use super::pseudonym_checks::PseudonymUse;
use crate::cel::{
    Cache, Checked, Compiled, EvalError, Expr, ExprKind, Fault, HostFunctionSet, HostFunctions, Issue, Json,
    List, Map, Part, Program, Stop, Type, Value, check,
};
use crate::context::{Activations, Bound, CallAtHand, ExpressionWatch, ScopeEnv, WatchedExpression};
use crate::diagnostic::Diagnostic;
use crate::limits::EvalLimits;
use crate::manifest::policy_step::PolicyStep;
use crate::source::{Embedded, Place, Span};
use std::sync::Arc;

/// What compiling the texts of an agent needs, and what it finds.
pub(super) struct Texts<'c> {
    /// The engine's compiled expressions; equal texts of one scope are one program.
    pub(super) cache: &'c Cache,
    /// The name of the step whose texts are compiled, where it is one of a policy document.
    pub(super) step: Option<Arc<PolicyStep>>,
    /// The function of whose calls the texts are, where they are compiled for one alone.
    pub(super) call: Option<CallAtHand>,
    /// Whether a policy of the agent denies functions that no step mentions.
    pub(super) denies_by_default: bool,
    /// What stands for personal data in the texts.
    pub(super) pseudonyms: PseudonymUse,
    /// The names of that policy document.
    pub(super) definitions: Option<Arc<Definitions>>,
    pub(super) findings: Vec<Diagnostic>,
    pub(super) of_policies: Vec<OfPolicyStep>,
}

impl<'c> Texts<'c> {
    pub(super) fn new(cache: &'c Cache) -> Self {
        Self {
            cache,
            step: None,
            call: None,
            denies_by_default: false,
            pseudonyms: PseudonymUse::default(),
            definitions: None,
            findings: Vec::new(),
            of_policies: Vec::new(),
        }
    }

    /// Compiles what takes the place of a value of the task.
    pub(super) fn replacing<T>(&mut self, compile: impl FnOnce(&mut Self) -> T) -> T {
        self.pseudonyms.replaces = true;
        let compiled = compile(self);
        self.pseudonyms.replaces = false;
        compiled
    }
}

/// A value that JSON can express.
#[derive(Clone, Debug)]
pub enum JsonValue<'a> {
    /// As it is, where it is.
    InPlace(Value<'a>),
    /// In a document of its own.
    Packed(Json),
}

impl JsonValue<'_> {
    /// The value.
    #[must_use]
    pub fn value(&self) -> Value<'_> {
        match self {
            Self::InPlace(value) => value.clone(),
            Self::Packed(json) => json.value(),
        }
    }

    /// The value as a part of a document.
    #[inline]
    #[must_use]
    pub fn part(&self) -> Part<'_> {
        match self {
            Self::InPlace(value) => Part::Value(value),
            Self::Packed(json) => Part::Json(json.root()),
        }
    }
}

/// A compiled expression and where it stands.
#[derive(Debug)]
pub struct Expression {
    scope: Arc<ScopeEnv>,
    program: Arc<Program>,
    text: Embedded,
    path: Box<str>,
    step: Option<Arc<PolicyStep>>,
    /// Parts that read values of parameters of its policy.
    values: Vec<ValuesRead>,
    /// The names of its policy, if it may read one.
    pub(super) definitions: Option<Arc<Definitions>>,
}

/// Findings about what has the same value whatever the task does.
const OF_CONSTANTS: [&str; 3] = ["always_false", "always_true", "never_equal"];

impl Expression {
    /// Compiles an expression. Its errors and warnings are reported; with an error there is none.
    pub(super) fn compile(
        scope: &Arc<ScopeEnv>,
        text: &Embedded,
        path: &str,
        texts: &mut Texts<'_>,
    ) -> Option<Self> {
        if let Some(definitions) = texts.definitions.clone().filter(|_| may_refer(&text.text)) {
            return Self::compile_with(&definitions, scope, text, path, texts);
        }
        let compiled = match &texts.call {
            None => texts.cache.compile(scope.env(), &text.text),
            Some(call) => {
                let compiled = Program::compile_rewritten(scope.env(), &text.text, |expr| {
                    write_call(expr, call, false);
                });
                compiled.map(Arc::new).map_err(Arc::from)
            }
        };
        Self::of_program(scope, text, path, texts, compiled)
    }

    /// The same of a policy document, whose names are put in before anything is checked. The cache does not know what they stand
    /// for, so it is not asked.
    pub(super) fn compile_with(
        definitions: &Arc<Definitions>,
        scope: &Arc<ScopeEnv>,
        text: &Embedded,
        path: &str,
        texts: &mut Texts<'_>,
    ) -> Option<Self> {
        let limits = scope.env().limits();
        let mut expansion = Expansion::new(definitions, limits.max_plan_nodes, limits);
        let call = texts.call.as_ref();
        let compiled = Program::compile_rewritten(scope.env(), &text.text, |expr| {
            expansion.expand(expr);
            // a variable may ask for the function, too
            call.into_iter().for_each(|call| write_call(expr, call, false));
        });
        let issues = match &compiled {
            Ok(program) => program.issues(),
            Err(issues) => issues,
        };
        let arguments = expansion.arguments();
        let misfits: Vec<Diagnostic> =
            compiled.iter().flat_map(|it| argument_misfits(it, scope, arguments, text)).collect();
        // a value of a parameter may make a part constant on purpose, and an argument of another type is told once
        let values = expansion.values_read();
        let is_meant = |issue: &&Issue| match issue.code {
            code if OF_CONSTANTS.contains(&code) => {
                let about =
                    compiled.as_ref().map_or(issue.span, |program| asked_in(program.expr(), issue.span));
                let is_given = values.iter().any(|read| about.contains(read.span));
                let is_misspelt = is_misspelt(issue, &values);
                // a word that the call itself gives to a named expression is the author's own
                let is_own = issue.code == "never_equal" && expansion.is_literal_argument(issue.span);
                expansion.is_call(issue.span) && !is_misspelt && !is_own || is_given && !is_misspelt
            }
            "no_matching_overload" => !misfits.is_empty() && expansion.is_call(issue.span),
            _ => false,
        };
        let more: Vec<Issue> =
            compiled.iter().flat_map(|program| more_issues(program, scope, path)).collect();
        let explained = issues.iter().chain(&more).filter(|issue| !is_meant(issue)).map(|issue| {
            let finding = messages::of_issue(issue, text);
            expansion.explain(issue.span, finding).path(path)
        });
        let mut explained: Vec<Diagnostic> = explained.collect();
        explained.extend(misfits.into_iter().map(|finding| finding.path(path)));
        let (is_whole, problems) = expansion.end(text);
        if !is_whole {
            texts.findings.extend(problems.into_iter().map(|problem| problem.path(path)));
            return None;
        }
        texts.findings.extend(explained);
        if let Ok(program) = &compiled {
            texts.findings.extend(texts.pseudonyms.check(program.expr(), text, path));
        }
        let (scope, text, step) = (scope.clone(), text.clone(), texts.step.clone());
        let (program, definitions) = (Arc::new(compiled.ok()?), Some(definitions.clone()));
        Some(Self { scope, program, text, path: path.into(), step, values, definitions })
    }

    /// The same where the scope gives some of what is written a meaning of its own; see [`Program::compile_rewritten`].
    pub(super) fn compile_rewritten(
        scope: &Arc<ScopeEnv>,
        text: &Embedded,
        path: &str,
        texts: &mut Texts<'_>,
        rewrite: impl FnOnce(&mut Expr),
    ) -> Option<Self> {
        let compiled = Program::compile_rewritten(scope.env(), &text.text, rewrite);
        Self::of_program(scope, text, path, texts, compiled.map(Arc::new).map_err(Arc::from))
    }

    fn of_program(
        scope: &Arc<ScopeEnv>,
        text: &Embedded,
        path: &str,
        texts: &mut Texts<'_>,
        compiled: Compiled,
    ) -> Option<Self> {
        let report = |issue: &Issue| messages::of_issue(issue, text).path(path);
        match compiled {
            Ok(program) => {
                let more = more_issues(&program, scope, path);
                texts.findings.extend(program.issues().iter().chain(&more).map(report));
                texts.findings.extend(texts.pseudonyms.check(program.expr(), text, path));
                let (scope, text, step) = (scope.clone(), text.clone(), texts.step.clone());
                let (path, definitions) = (path.into(), None);
                Some(Self { scope, program, text, path, step, values: Vec::new(), definitions })
            }
            Err(issues) => {
                texts.findings.extend(issues.iter().map(report));
                None
            }
        }
    }

    /// Runs it on the values of its scope.
    ///
    /// # Errors
    /// As [`Program::run`].
    ///
    /// # Cost
    /// At most the scope's `max_cost`; what ends in a bool allocates nothing.
    pub fn run<'a>(
        &'a self,
        values: &mut Activations<'a>,
        host: Option<&mut dyn HostFunctions>,
    ) -> Result<Value<'a>, Stop> {
        self.run_metered(values, host).0
    }

    /// The same, and what it cost in cost units, whether it gave a value or not.
    #[inline]
    pub(super) fn run_metered<'a>(
        &'a self,
        values: &mut Activations<'a>,
        host: Option<&mut dyn HostFunctions>,
    ) -> (Result<Value<'a>, Stop>, u64) {
        if let Some(watch) = values.bound().watch {
            return self.run_watched(values, host, watch);
        }
        let mut own = values.bound().functions.map(HostFunctionSet::answers);
        let host = host_or(host, &mut own);
        match values.of(&self.scope, &self.program) {
            Ok((activation, remembered)) => self.program.run_remembering(activation, host, remembered),
            Err(fault) => (Err(self.failure(fault)), 0),
        }
    }

    /// The same where somebody is told what each part came to.
    #[cold]
    fn run_watched<'a>(
        &'a self,
        values: &mut Activations<'a>,
        host: Option<&mut dyn HostFunctions>,
        watch: &dyn ExpressionWatch,
    ) -> (Result<Value<'a>, Stop>, u64) {
        let mut own = values.bound().functions.map(HostFunctionSet::answers);
        let host = host_or(host, &mut own);
        let (activation, remembered) = match values.of(&self.scope, &self.program) {
            Ok(values) => values,
            Err(fault) => return (Err(self.failure(fault)), 0),
        };
        let (result, cost, recording) = self.program.run_recorded(activation, host, remembered);
        let (text, path, program) = (&self.text, &*self.path, &*self.program);
        watch.evaluated(&WatchedExpression { text, path, program }, &recording);
        self.watch_names(values.bound(), &recording, watch);
        (result, cost)
    }

    /// The scope in which it was compiled.
    pub(super) fn scope(&self) -> &Arc<ScopeEnv> {
        &self.scope
    }

    /// The characters of its text, with the way back into its file.
    pub(super) fn text(&self) -> &Embedded {
        &self.text
    }

    /// The name of its step, where it is one of a policy document.
    pub(super) fn step_name(&self) -> Option<&Arc<PolicyStep>> {
        self.step.as_ref()
    }

    /// A failure that no part of it alone is to blame for.
    pub(super) fn failure(&self, fault: Fault) -> Stop {
        whole_failure(&self.program, fault, self.scope.env().limits())
    }

    /// What one run may cost.
    pub(super) fn max_cost(&self) -> u64 {
        self.scope.env().limits().max_cost
    }

    /// Runs it and judges the result by its truth (CEL-14).
    ///
    /// # Errors
    /// As [`Program::run`].
    pub fn holds<'a>(
        &'a self,
        values: &mut Activations<'a>,
        host: Option<&mut dyn HostFunctions>,
    ) -> Result<bool, Stop> {
        self.holds_metered(values, host).0
    }

    /// The same, and what it cost.
    #[inline]
    pub(crate) fn holds_metered<'a>(
        &'a self,
        values: &mut Activations<'a>,
        host: Option<&mut dyn HostFunctions>,
    ) -> (Result<bool, Stop>, u64) {
        if let Some(watch) = values.bound().watch {
            let (result, cost) = self.run_watched(values, host, watch);
            return (result.map(|value| value.is_truthy()), cost);
        }
        let mut own = values.bound().functions.map(HostFunctionSet::answers);
        let host = host_or(host, &mut own);
        match values.of(&self.scope, &self.program) {
            Ok((activation, remembered)) => self.program.holds_remembering(activation, host, remembered),
            Err(fault) => (Err(self.failure(fault)), 0),
        }
    }

    /// Runs it and keeps the result as JSON (CEL-41).
    ///
    /// # Errors
    /// As [`Program::run`], and `not_json` or `budget_exceeded` for a result that JSON cannot express or store.
    pub fn json<'a>(
        &'a self,
        values: &mut Activations<'a>,
        host: Option<&mut dyn HostFunctions>,
    ) -> Result<Json, Stop> {
        self.json_metered(values, host).0
    }

    /// The same, and what it cost.
    pub(crate) fn json_metered<'a>(
        &'a self,
        values: &mut Activations<'a>,
        host: Option<&mut dyn HostFunctions>,
    ) -> (Result<Json, Stop>, u64) {
        let (result, cost) = self.run_metered(values, host);
        (result.and_then(|value| self.pack(&value)), cost)
    }

    /// The same, where the result goes into another document: a value that is JSON already is borrowed, not copied.
    ///
    /// # Errors
    /// As [`Expression::json`].
    pub fn json_value<'a>(
        &'a self,
        values: &mut Activations<'a>,
        host: Option<&mut dyn HostFunctions>,
    ) -> Result<JsonValue<'a>, Stop> {
        let constant = self.program.constant();
        match constant.map_or_else(|| self.run(values, host), Ok)? {
            value @ (Value::Null
            | Value::Bool(_)
            | Value::Int(_)
            | Value::String(_)
            | Value::List(List::Json(_))
            | Value::Map(Map::Json(_))) => Ok(JsonValue::InPlace(value)),
            other => self.pack(&other).map(JsonValue::Packed),
        }
    }

    fn pack(&self, value: &Value<'_>) -> Result<Json, Stop> {
        Json::from_value_within(value, self.limits()).map_err(|fault| self.failure(fault))
    }

    /// The bounds of its scope.
    #[must_use]
    pub fn limits(&self) -> &EvalLimits {
        self.scope.env().limits()
    }

    /// Whether its result is taken as a truth, and not as a value.
    #[must_use]
    pub fn is_judged(&self) -> bool {
        is_judged(&self.path)
    }

    /// The places of its clauses ([`Program::clauses`]).
    #[must_use]
    pub fn clauses(&self) -> Vec<Place> {
        let clauses = self.program.clauses(self.is_judged());
        clauses.into_iter().map(|span| self.text.locate(span)).collect()
    }

    /// Its truth, if it is decided before it runs and nobody meant it to be: a parameter of its policy may decide it.
    pub(super) fn decided(&self) -> Option<bool> {
        if self.is_given() { None } else { self.program.constant_truth() }
    }

    /// The program.
    #[must_use]
    pub fn program(&self) -> &Program {
        &self.program
    }

    /// The same with the type of each part.
    pub(crate) fn checked(&self) -> Option<Checked> {
        check(self.program.expr().clone(), self.scope.env()).0
    }

    /// The same of what is written in its place.
    pub(crate) fn checked_as(&self, mut other: Expr) -> Option<Checked> {
        other.number();
        check(other, self.scope.env()).0
    }

    /// Whether it gives a number, of which no more is known.
    pub(super) fn is_some_number(&self) -> bool {
        *self.program.result_type() == Type::Dyn
            && self.checked().is_some_and(|checked| {
                checked.domain_of(checked.expr.id).is_some_and(|domain| domain.numbers.is_some())
            })
    }

    /// Where a part of the expression stands in its file.
    pub(crate) fn place_of(&self, part: Span) -> Place {
        self.text.locate(part)
    }

    /// Its text.
    #[must_use]
    pub fn source(&self) -> &str {
        &self.text.text
    }

    /// Whether a parameter of its policy has a part in it, so that whoever gave the parameter its value has decided what follows.
    pub(crate) fn is_given(&self) -> bool {
        !self.values.is_empty()
    }

    /// Values of parameters that a part reads, directly or by a variable.
    pub(crate) fn values_in(&self, part: Span) -> impl Iterator<Item = &ParameterValue> {
        self.values.iter().filter(move |read| part.contains(read.span)).flat_map(|read| &read.values)
    }

    /// The characters of its text.
    pub(crate) fn place(&self) -> &Place {
        &self.text.place
    }

    /// Where the expression stands.
    #[must_use]
    pub fn origin(&self) -> Origin {
        Origin::new(&self.path, &self.text.place).of(self.step.as_ref())
    }

    /// Where a part of the expression stands.
    #[must_use]
    pub fn origin_of(&self, part: Span) -> Origin {
        Origin::new(&self.path, &self.text.locate(part)).of(self.step.as_ref())
    }
}

/// Characters that an issue is about: an issue about an operator is about its operands, too.
fn asked_in(expr: &Expr, issue: Span) -> Span {
    if let ExprKind::Call { function, .. } = &expr.kind
        && function.span == issue
    {
        // of a chain each operand is an expression of its own
        let is_chain = matches!(function.text.as_str(), "_&&_" | "_||_");
        return if is_chain { issue } else { expr.span };
    }
    let mut found = issue;
    expr.for_each_part(&mut |part| {
        if part.span.contains(issue) && found == issue {
            found = asked_in(part, issue);
        }
    });
    found
}

/// Whether an issue says that the value of a parameter is equal to nothing, and the value was given by a use or is nearly a valid one. The default of a library
/// may name what only some agents have.
fn is_misspelt(issue: &Issue, values: &[ValuesRead]) -> bool {
    let is_near = issue.help.as_deref().is_some_and(|help| help.starts_with("did you mean"));
    let of_value = values.iter().filter(|read| read.span == issue.span).flat_map(|read| &read.values);
    issue.code == "never_equal" && of_value.into_iter().any(|value| is_near || !value.is_default)
}

/// What is doubtful about a program beyond its own issues.
fn more_issues(program: &Program, scope: &ScopeEnv, path: &str) -> Vec<Issue> {
    let mut issues = issues_of_named_calls(program, scope.env());
    if !is_judged(path) {
        issues.extend(issues_of_braces(program, scope.env()));
    }
    issues
}

/// Whether what stands at a path of a manifest is taken as a truth.
pub(crate) fn is_judged(path: &str) -> bool {
    let key = path.rsplit('.').next().unwrap_or(path);
    matches!(key, "assert" | "condition" | "filter")
}

/// Runs a program that is tried out on the values of its scope. The result is JSON, with its truth (`CEL-14`); beside it stands
/// the cost in cost units, whatever the end.
///
/// # Errors
/// As [`Program::run`]; of the whole program if the values are those of another scope, or if JSON cannot express the result.
///
/// # Cost
/// At most the scope's `max_cost`, and a copy of the result.
pub fn run_to_json<'a>(
    program: &'a Program,
    scope: &ScopeEnv,
    bound: &Bound<'a>,
    host: &mut dyn HostFunctions,
) -> (Result<(Json, bool), Stop>, u64) {
    let limits = scope.env().limits();
    run_to(program, scope, bound, host, |value| Ok((Json::from_value(value, limits)?, value.is_truthy())))
}

/// Runs a program as [`run_to_json`] does, and makes something of its result while that is there.
///
/// # Errors
/// As [`Program::run`]; of the whole program if the values are those of another scope, or if nothing can be made of the result.
pub fn run_to<'a, T>(
    program: &'a Program,
    scope: &ScopeEnv,
    bound: &Bound<'a>,
    host: &mut dyn HostFunctions,
    convert: impl FnOnce(&Value<'_>) -> Result<T, Fault>,
) -> (Result<T, Stop>, u64) {
    let limits = scope.env().limits();
    let activation = match scope.activation(bound) {
        Ok(activation) => activation,
        Err(fault) => return (Err(whole_failure(program, fault, limits)), 0),
    };
    let (result, cost) = program.run_metered(&activation, Some(host));
    let convert = |value: Value<'_>| convert(&value).map_err(|fault| whole_failure(program, fault, limits));
    (result.and_then(convert), cost)
}

/// The host of a run: the one that is given, which knows the functions of its task, or where nobody can be asked these functions alone.
fn host_or<'h, 'g: 'h>(
    host: Option<&'h mut (dyn HostFunctions + 'g)>,
    functions: &'h mut Option<impl HostFunctions>,
) -> Option<&'h mut dyn HostFunctions> {
    match host {
        Some(host) => Some(host),
        None => functions.as_mut().map(|functions| functions as &mut dyn HostFunctions),
    }
}

/// A failure that no part of a program alone is to blame for: of its scope, or of its result. The bounds are those that it
/// runs under.
fn whole_failure(program: &Program, fault: Fault, limits: &EvalLimits) -> Stop {
    Stop::Failed(EvalError {
        code: fault.code,
        span: program.expr().span,
        found: fault.found,
        function: None,
        bound: fault.bound.and_then(|name| Some((name, limits.get(name)?))),
        detail: None,
    })
}
