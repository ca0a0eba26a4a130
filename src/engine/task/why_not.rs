//! What would have let a call pass: the nearest arguments that do, or what has to happen first.
//!
//! In: a step that has failed, and the operation that it stops. Out: [`Suggestion`]s. Each was tried: the steps that judge are passed once more by the same functions, with the
//! other arguments or with the other past, and what does not pass is not suggested. Texts are made of names and of constants of the policy, so they show nothing
//! of anybody's data, and a parameter that is marked as secret has none. Bounded: at most [`MAX_TRIES`] runs of one list of steps.

use super::flow::{StepEnd, function_id};
use super::judge::Due;
use super::record::{Past, PastCall};
use super::state::{Allowed, Call, Stage, Subject, Suggestion, Task, UnderWay, Verdict};
use crate::cel::{Expr, ExprKind, Json, Literal};
use crate::context::{InvocationStatus, Moment, Root, Selector};
use crate::manifest::step::OnFail;
use crate::policy::{AgentFunction, Excepted, Policy, Step, StepAction, for_each_path};
use serde_json::{Number, Value, json};

/// How many other arguments and pasts are tried.
const MAX_TRIES: usize = 48;
/// How many suggestions are made.
const MAX_SUGGESTIONS: usize = 3;

/// Another value of one argument.
#[derive(Clone, Debug, PartialEq)]
struct Change {
    /// The names that lead to it, from the arguments.
    path: Vec<String>,
    value: Value,
    /// `amount at most 1000`
    text: String,
}

impl Task {
    /// What would have let a call pass that a step has stopped.
    #[cold]
    pub(super) fn suggestions(
        &self,
        policy: &Policy,
        step: &Step,
        operation: &UnderWay,
        now: &Moment,
    ) -> Vec<Suggestion> {
        let StepAction::Assert(assert) = &step.action else { return Vec::new() };
        let Subject::Call(call) = &operation.subject else { return Vec::new() };
        let Some(function) = policy.function(call.function) else { return Vec::new() };
        let _quiet = self.journal.as_ref().map(|journal| journal.pause());
        // what an exception is for is nothing to be suggested
        let rule = step.excepted.as_ref().map_or(assert, Excepted::rule);
        let expression = rule.program().expr();
        let mut found = Vec::new();
        if operation.course.stage.is_ahead_of_call() {
            let arguments: Value = serde_json::from_str(&call.arguments.to_string()).unwrap_or_default();
            let mut changes = Vec::new();
            changes_of(expression, false, &arguments, &mut changes);
            changes.retain(|change| self.is_open(policy, function, call.function, change));
            changes.dedup();
            self.other_arguments(policy, function, operation, &arguments, &changes, now, &mut found);
        }
        if found.is_empty() {
            self.other_pasts(policy, expression, operation, now, &mut found);
        }
        found.truncate(MAX_SUGGESTIONS);
        found
    }

    /// Whether the model may give the argument, and everybody may read what is said of it.
    fn is_open(&self, policy: &Policy, function: &AgentFunction, position: usize, change: &Change) -> bool {
        let Some(name) = change.path.first() else { return false };
        let path: Vec<Selector> = change.path.iter().cloned().map(Selector::Name).collect();
        let is_bound = function.bindings.iter().any(|binding| *binding.name == **name);
        !is_bound && !policy.schema().meets_secret(Some(function_id(position)), "input", &path)
    }

    /// Tries changes of one argument, then of two.
    #[expect(clippy::too_many_arguments, reason = "they are what an operation is, and what is tried of it")]
    fn other_arguments(
        &self,
        policy: &Policy,
        function: &AgentFunction,
        operation: &UnderWay,
        arguments: &Value,
        changes: &[Change],
        now: &Moment,
        found: &mut Vec<Suggestion>,
    ) {
        let pairs = changes.iter().enumerate().flat_map(|(at, one)| {
            let rest = changes.iter().skip(at.saturating_add(1));
            rest.filter(|other| other.path != one.path).map(move |other| vec![one, other])
        });
        let single = changes.iter().map(|change| vec![change]);
        let mut size = 0;
        for set in single.chain(pairs).take(MAX_TRIES) {
            // two changes are no nearer than one that is enough
            if !found.is_empty() && set.len() > size {
                break;
            }
            let mut changed = arguments.clone();
            set.iter().for_each(|change| put(&mut changed, &change.path, change.value.clone()));
            if self.passes_with(policy, function, operation, &changed, now) {
                size = set.len();
                let texts: Vec<&str> = set.iter().map(|change| change.text.as_str()).collect();
                let named = set.iter().filter_map(|change| {
                    let name = change.path.first()?;
                    Some((name.as_str(), Json::from(changed.get(name)?)))
                });
                let arguments = Some(Json::object(named));
                found.push(Suggestion { text: texts.join(" and "), arguments, first: None });
            }
        }
    }

    /// Whether all steps that judge are passed with other arguments. Steps that do more have done it, or are not come to.
    fn passes_with(
        &self,
        policy: &Policy,
        function: &AgentFunction,
        operation: &UnderWay,
        arguments: &Value,
        now: &Moment,
    ) -> bool {
        let Some(time) = now.timestamp() else { return false };
        let resolved = self.resolve(&Call::new(&*function.key, arguments.into()), time);
        let Verdict::Allow(Allowed { value: Some(arguments), .. }) = resolved.verdict else { return false };
        let mut tried = operation.clone();
        if let Subject::Call(call) = &mut tried.subject {
            call.arguments = arguments;
        }
        self.goes_beyond(policy, tried, operation.course.step, Extent::All, now)
    }

    /// Goes over a list from its beginning. Whether it is passed beyond a step, or to its end.
    fn goes_beyond(
        &self,
        policy: &Policy,
        mut tried: UnderWay,
        failed: usize,
        extent: Extent,
        now: &Moment,
    ) -> bool {
        let stage = tried.course.stage;
        let Some(hook) = stage.hook() else { return false };
        if stage == Stage::BeforeFirst || stage == Stage::Before {
            tried.course.enter(stage);
        }
        loop {
            let list = tried.subject.steps(policy, hook);
            let due = self.judge_steps(policy, list, &mut tried, now);
            let at = tried.course.step;
            match due {
                None => return true,
                Some(_) if extent == Extent::Step && at > failed => return true,
                Some((step, Due::End(StepEnd::Failed(_)))) if step.on_fail != OnFail::Continue => {
                    return false;
                }
                // what is asked of others, and what is done, is not known before
                Some((_, Due::Counters)) => return false,
                Some((_, Due::Action | Due::End(StepEnd::Asks(_)))) if at >= failed => return true,
                Some(_) => tried.course.next_step(),
            }
        }
    }

    /// Tries calls that have not succeeded so far, and of which the expression reads.
    fn other_pasts(
        &self,
        policy: &Policy,
        expression: &Expr,
        operation: &UnderWay,
        now: &Moment,
        found: &mut Vec<Suggestion>,
    ) {
        let mut functions: Vec<&AgentFunction> = Vec::new();
        for_each_path(expression, &mut |root, path| {
            if let (true, [Selector::Name(records), Selector::Name(key), ..]) =
                (Root::long_name(root) == Root::Context.name(), path)
                && matches!(records.as_str(), "capabilities" | "cap")
                && let Some(position) = policy.position(key)
                && let Some(function) = policy.function(position)
                && !functions.iter().any(|known| known.key == function.key)
            {
                functions.push(function);
            }
        });
        for function in functions {
            if self.passes_after(policy, function, operation, now) == Some(true) {
                let text = format!("{} must have succeeded", function.called);
                found.push(Suggestion { text, arguments: None, first: Some(function.called.to_string()) });
            }
        }
    }

    /// Whether the step is passed once a function has succeeded; nothing if that cannot be tried.
    fn passes_after(
        &self,
        policy: &Policy,
        function: &AgentFunction,
        operation: &UnderWay,
        now: &Moment,
    ) -> Option<bool> {
        let mut past = self.copy().ok()?;
        let call = PastCall {
            function: function.key.to_string(),
            arguments: Json::object([]),
            output: Some(Json::object([])),
            status: InvocationStatus::Successful,
            executed: true,
            task_id: None,
            at: None,
        };
        past.record(Past::Call(call), now.timestamp()?).ok()?;
        Some(past.goes_beyond(policy, operation.clone(), operation.course.step, Extent::Step, now))
    }
}

/// How far a trial has to come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Extent {
    /// Beyond the step that has failed.
    Step,
    /// To the end of the list, or to a step that asks or does something.
    All,
}

/// Puts a value at the end of a path of names.
fn put(into: &mut Value, path: &[String], value: Value) {
    match path.split_first() {
        None => *into = value,
        Some((name, rest)) => {
            if !into.is_object() {
                *into = json!({});
            }
            if let Some(members) = into.as_object_mut() {
                put(members.entry(name.clone()).or_insert(Value::Null), rest, value);
            }
        }
    }
}

/// The changes that could turn one of the clauses of an expression, whether they do or not.
fn changes_of(expression: &Expr, is_negated: bool, arguments: &Value, found: &mut Vec<Change>) {
    let ExprKind::Call { function, target, args } = &expression.kind else {
        if let Some(path) = path_of(expression) {
            let (value, word) = if is_negated { (json!(false), "false") } else { (json!(true), "true") };
            if arguments.pointer(&pointer(&path)).is_some_and(Value::is_boolean) {
                found.push(Change { text: format!("{} {word}", path.join(".")), path, value });
            }
        }
        return;
    };
    match (function.text.as_str(), target.as_deref(), args.as_slice()) {
        ("_&&_" | "_||_", None, [a, b]) => {
            changes_of(a, is_negated, arguments, found);
            changes_of(b, is_negated, arguments, found);
        }
        ("!_", None, [a]) => changes_of(a, !is_negated, arguments, found),
        ("_?_:_", None, [_, yes, no]) => {
            changes_of(yes, is_negated, arguments, found);
            changes_of(no, is_negated, arguments, found);
        }
        ("@in", None, [a, list]) if !is_negated => {
            let (Some(path), ExprKind::List(elements)) = (path_of(a), &list.kind) else { return };
            let values: Vec<&Expr> = elements.iter().map(|element| &element.value).collect();
            let now = arguments.pointer(&pointer(&path));
            let literals: Option<Vec<Value>> = values.iter().map(|value| literal_of(value)).collect();
            if literals.is_none_or(|literals| now.is_some_and(|now| literals.contains(now))) {
                return;
            }
            let shown: Vec<String> = values.iter().map(ToString::to_string).collect();
            let text = format!("{} one of {}", path.join("."), shown.join(", "));
            let first = values.first().and_then(|value| literal_of(value));
            found.extend(first.map(|value| Change { path, value, text }));
        }
        (name, None, [a, b]) => match (path_of(a), literal_of(b), literal_of(a), path_of(b)) {
            (Some(path), Some(bound), ..) => compared(name, is_negated, path, &bound, b, arguments, found),
            (.., Some(bound), Some(path)) => {
                compared(mirrored(name), is_negated, path, &bound, a, arguments, found);
            }
            _ => {}
        },
        (name @ ("startsWith" | "endsWith" | "contains"), Some(text), [part]) => {
            let (Some(path), Some(Value::String(part_text))) = (path_of(text), literal_of(part)) else {
                return;
            };
            let now = arguments.pointer(&pointer(&path)).and_then(Value::as_str).unwrap_or_default();
            let (value, word) = match (name, is_negated) {
                ("startsWith", false) => (format!("{part_text}{now}"), "beginning with"),
                ("endsWith", false) => (format!("{now}{part_text}"), "ending with"),
                ("contains", false) => (format!("{now}{part_text}"), "containing"),
                ("contains", true) => (now.replace(&part_text, ""), "without"),
                _ => return,
            };
            let text = format!("{} {word} {part}", path.join("."));
            found.push(Change { path, value: value.into(), text });
        }
        _ => {}
    }
}

fn mirrored(operator: &str) -> &str {
    match operator {
        "_<_" => "_>_",
        "_<=_" => "_>=_",
        "_>_" => "_<_",
        "_>=_" => "_<=_",
        other => other,
    }
}

/// The nearest value for which a comparison with a constant holds, or does not.
fn compared(
    operator: &str,
    is_negated: bool,
    path: Vec<String>,
    bound: &Value,
    written: &Expr,
    arguments: &Value,
    found: &mut Vec<Change>,
) {
    let operator = match (operator, is_negated) {
        ("_<_", true) => "_>=_",
        ("_<=_", true) => "_>_",
        ("_>_", true) => "_<=_",
        ("_>=_", true) => "_<_",
        ("_==_", true) => "_!=_",
        ("_!=_", true) => "_==_",
        (operator, _) => operator,
    };
    let beside = |by: i64| match bound.as_i64() {
        Some(bound) => bound.checked_add(by).map(Value::from),
        None => bound
            .as_f64()
            .and_then(|bound| Number::from_f64(bound + if by > 0 { 0.01 } else { -0.01 }))
            .map(Value::from),
    };
    let (value, word) = match operator {
        "_<=_" => (Some(bound.clone()), "at most"),
        "_>=_" => (Some(bound.clone()), "at least"),
        "_==_" => (Some(bound.clone()), "equal to"),
        "_<_" => (beside(-1), "below"),
        "_>_" => (beside(1), "above"),
        "_!=_" => match bound {
            Value::String(text) => (Some(format!("{text}-").into()), "other than"),
            Value::Bool(value) => (Some((!value).into()), "other than"),
            _ => (beside(1), "other than"),
        },
        _ => return,
    };
    let now = arguments.pointer(&pointer(&path));
    // what holds already is not why
    if now.is_some_and(|now| holds(operator, now, bound)) {
        return;
    }
    // a number is not put in the place of a text
    let fits = now.is_none_or(|now| std::mem::discriminant(now) == std::mem::discriminant(bound));
    if let Some(value) = value.filter(|_| fits) {
        let text = format!("{} {word} {written}", path.join("."));
        found.push(Change { path, value, text });
    }
}

/// Whether a comparison holds of a value as it is.
fn holds(operator: &str, now: &Value, bound: &Value) -> bool {
    match (operator, now.as_f64(), bound.as_f64()) {
        ("_==_", Some(now), Some(bound)) => now.total_cmp(&bound).is_eq(),
        ("_!=_", Some(now), Some(bound)) => now.total_cmp(&bound).is_ne(),
        ("_==_", ..) => now == bound,
        ("_!=_", ..) => now != bound,
        (_, Some(now), Some(bound)) => match operator {
            "_<_" => now < bound,
            "_<=_" => now <= bound,
            "_>_" => now > bound,
            "_>=_" => now >= bound,
            _ => false,
        },
        _ => false,
    }
}

fn pointer(path: &[String]) -> String {
    path.iter().map(|name| format!("/{}", name.replace('~', "~0").replace('/', "~1"))).collect()
}

/// The names from `input` on, if the expression is such a path.
fn path_of(expression: &Expr) -> Option<Vec<String>> {
    match &expression.kind {
        ExprKind::Select { operand, field, optional: false } => {
            if let ExprKind::Ident { name, .. } = &operand.kind {
                return (Root::long_name(name) == Root::Input.name()).then(|| vec![field.text.clone()]);
            }
            let mut path = path_of(operand)?;
            path.push(field.text.clone());
            Some(path)
        }
        _ => None,
    }
}

/// The value of a constant.
fn literal_of(expression: &Expr) -> Option<Value> {
    match &expression.kind {
        ExprKind::Literal(Literal::Bool(value)) => Some((*value).into()),
        ExprKind::Literal(Literal::Int(value)) => Some((*value).into()),
        ExprKind::Literal(Literal::UInt(value)) => Some((*value).into()),
        ExprKind::Literal(Literal::Double(value)) => Number::from_f64(*value).map(Value::from),
        ExprKind::Literal(Literal::String(text)) => Some(text.as_str().into()),
        _ => None,
    }
}
