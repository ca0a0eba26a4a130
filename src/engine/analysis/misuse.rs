//! Constants and steps that say something else than their author meant.
//!
//! In: steps, expressions and limits. Out: findings. Nothing here is guessed of values: each finding names what stands in the text,
//! and what it does. Linear in the texts.

use super::arithmetic::mixed_numbers;
use super::by_hand;
use super::letter_case;
use super::loose;
use super::messages;
use super::negation;
use super::one_element;
use super::ordered::Ordered;
use super::path::{asks_host, function, is_argument, is_predicate, mentions};
use super::pattern::wide;
use super::reach::is_root;
use super::sample::{Sample, constant};
use crate::cel::{
    Checked, Comprehension, ComprehensionKind, Duration, Expr, ExprKind, Json, Literal, Name, Numbers,
    Reference, Storage, Type,
};
use crate::context::Root;
use crate::diagnostic::Diagnostic;
use crate::limits::EvalLimits;
use crate::manifest::catalog::ResolvedAgent;
use crate::manifest::mode::Mode;
use crate::manifest::policy::DeclaredPolicy;
use crate::manifest::step::OnFail;
use crate::manifest::task_limit::{LimitNumber, Quantity, TaskLimit, TaskLimits};
use crate::policy::{
    AgentFunction, ClaimOf, Effect, Expression, Missing, ParameterSource, ReviewPanel, SetArguments, Shape,
    Step, StepAction, contrary_claims,
};
use crate::source::{Place, Span};
use std::collections::HashSet;
use std::sync::Arc;

/// What is said of a name, or of a limit, at its place.
type Says = fn(Place, &str) -> Diagnostic;

/// A step whose failure changes nothing, and which asks a person; one that puts in the place of a value the same again; asserts and conditions that are no
/// questions, or that let by more than they name.
pub(super) fn of_step(step: &Step) -> Vec<Diagnostic> {
    let mut findings = Vec::new();
    let assert = match &step.action {
        StepAction::Assert(assert) => Some(assert),
        _ => None,
    };
    for expression in step.condition.iter().chain(assert) {
        let Some(checked) = expression.checked() else { continue };
        if expression.program().constant().is_none() {
            findings.extend(truths(expression, &checked, &checked.expr));
        }
    }
    findings.extend(loose::of_step(step));
    findings.extend(one_element::of_step(step));
    findings.extend(negation::of_step(step));
    findings.extend(by_hand::of_step(step));
    findings.extend(letter_case::of_step(step));
    findings.extend(same_again(step));
    if let Some(assert) = assert
        && let Some(checked) = assert.checked()
    {
        early_reviews(assert, &checked, &checked.expr, &mut findings);
        chosen_reviewers(&checked, &checked.expr, &mut |reviewer| {
            let place = assert.place_of(reviewer.span);
            findings.push(messages::chosen_reviewer(place).path(assert.origin().path));
        });
        negated_reviews(&checked, &checked.expr, false, &mut |review| {
            let place = assert.place_of(review.span);
            findings.push(messages::negated_review(place).path(assert.origin().path));
        });
    }
    if let StepAction::Transform(value) = &step.action
        && step.on_fail == OnFail::Continue
        && value.program().constant().is_none()
    {
        findings.push(messages::unheeded_transform(value.place().clone()).path(value.origin().path));
    }
    let stops = step.on_fail != OnFail::Continue || step.mode != Mode::Enforce;
    if let Some(assert) = assert.filter(|_| !stops)
        && assert.checked().is_some_and(|checked| asks_host(&checked, &checked.expr))
    {
        findings.push(messages::unheeded_review(assert.place().clone()).path(assert.origin().path));
    }
    findings
}

/// Reviews in a chain of `&&` or `||` ahead of an operand that could decide the chain without one: operands are evaluated from left to right.
fn early_reviews(assert: &Expression, checked: &Checked, expr: &Expr, findings: &mut Vec<Diagnostic>) {
    let mut operands = Vec::new();
    let name = function(checked, expr).map_or("", |(name, _)| name);
    if matches!(name, "_&&_" | "_||_") {
        chain(checked, name, expr, &mut operands);
        let early = operands.iter().position(|operand| asks_person(checked, operand));
        let behind = early.and_then(|early| operands.get(early..)?.iter().find(|it| !asks_host(checked, it)));
        if let Some((review, behind)) = early.and_then(|early| operands.get(early)).zip(behind) {
            let text = assert.source().get(behind.span.range()).unwrap_or_default();
            let found = messages::early_review(assert.place_of(review.span), text, name == "_||_");
            findings.push(found.path(assert.origin().path));
        }
        operands.into_iter().for_each(|operand| early_reviews(assert, checked, operand, findings));
    } else {
        expr.for_each_part(&mut |part| early_reviews(assert, checked, part, findings));
    }
}

/// Hands over the reviewers of each review that are arguments of the call or parts of them.
fn chosen_reviewers<'e>(checked: &Checked, expr: &'e Expr, found: &mut dyn FnMut(&'e Expr)) {
    if let (Some(("review", _)), ExprKind::Call { args, .. }) = (function(checked, expr), &expr.kind)
        && let Some(reviewer) = args.first().filter(|reviewer| is_argument(checked, reviewer))
    {
        found(reviewer);
    }
    let mut parts = Vec::new();
    expr.for_each_part(&mut |part| parts.push(part));
    parts.into_iter().for_each(|part| chosen_reviewers(checked, part, found));
}

/// Hands over each review whose approval makes an assert fail, and whose denial makes it hold. `negated` says whether the part does so where it is true.
fn negated_reviews<'e>(checked: &Checked, expr: &'e Expr, negated: bool, found: &mut dyn FnMut(&'e Expr)) {
    let ExprKind::Call { args, .. } = &expr.kind else { return };
    let truth = |expr: &Expr| match expr.kind {
        ExprKind::Literal(Literal::Bool(truth)) => Some(truth),
        _ => None,
    };
    match (function(checked, expr).map_or("", |(name, _)| name), args.as_slice()) {
        ("review", _) if negated => found(expr),
        ("!_", [operand]) => negated_reviews(checked, operand, !negated, found),
        (name @ ("_==_" | "_!=_"), [one, other]) => {
            let (operand, truth) = match (truth(one), truth(other)) {
                (None, Some(truth)) => (one, truth),
                (Some(truth), None) => (other, truth),
                _ => return,
            };
            let is_same = (name == "_==_") == truth;
            negated_reviews(checked, operand, negated == is_same, found);
        }
        ("_&&_" | "_||_", operands) => {
            operands.iter().for_each(|operand| negated_reviews(checked, operand, negated, found));
        }
        ("_?_:_", [_, yes, no]) => {
            [yes, no].into_iter().for_each(|branch| negated_reviews(checked, branch, negated, found));
        }
        _ => {}
    }
}

/// The operands of a chain of one operator, from left to right.
fn chain<'e>(checked: &Checked, name: &str, expr: &'e Expr, found: &mut Vec<&'e Expr>) {
    match &expr.kind {
        ExprKind::Call { args, .. } if function(checked, expr).is_some_and(|(own, _)| own == name) => {
            args.iter().for_each(|operand| chain(checked, name, operand, found));
        }
        _ => found.push(expr),
    }
}

/// Whether a person is asked in an expression.
pub(super) fn asks_person(checked: &Checked, expr: &Expr) -> bool {
    let mut asks = function(checked, expr).is_some_and(|(name, _)| name == "review");
    expr.for_each_part(&mut |part| asks |= asks_person(checked, part));
    asks
}

/// Functions that `default: deny` does not deny, as a step behind their calls mentions them, and no step ahead does.
pub(super) fn of_default(resolved: &ResolvedAgent) -> Vec<Diagnostic> {
    if !resolved.denies_by_default() {
        return Vec::new();
    }
    let opened = resolved.mentioned_behind_calls().into_iter();
    let told = opened.filter_map(|(at, place)| {
        resolved.function(at).map(|(_, function)| messages::opened_behind(place, &function.key))
    });
    told.collect()
}

/// A step that puts in the place of a result or an argument what is there already.
fn same_again(step: &Step) -> Vec<Diagnostic> {
    let is_same = |value: &Expression, argument: Option<&str>| {
        value.checked().is_some_and(|checked| match (&checked.expr.kind, argument) {
            (_, None) => is_root(&checked, &checked.expr, Root::Output),
            (ExprKind::Select { operand, field, .. }, Some(name)) => {
                field.text == name && is_root(&checked, operand, Root::Input)
            }
            _ => false,
        })
    };
    let told = |value: &Expression| messages::same_again(value.place().clone()).path(value.origin().path);
    match &step.action {
        StepAction::Transform(value)
            if is_same(value, None) || puts_same(value) || redacts_nothing(value) =>
        {
            vec![told(value)]
        }
        StepAction::Effect(Effect::Set(SetArguments::Whole(value))) => {
            let is_input = |checked: &Checked| is_root(checked, &checked.expr, Root::Input);
            value.checked().as_ref().is_some_and(is_input).then(|| told(value)).into_iter().collect()
        }
        StepAction::Effect(Effect::Set(SetArguments::Each(values))) => {
            let same = values.iter().filter(|it| is_same(&it.value, Some(&it.name)));
            same.map(|it| told(&it.value)).collect()
        }
        _ => Vec::new(),
    }
}

/// `redact(output, [])`. A list that is the value of a parameter may be empty on purpose.
fn redacts_nothing(value: &Expression) -> bool {
    let Some(checked) = value.checked().filter(|_| !value.is_given()) else { return false };
    match (function(&checked, &checked.expr), &checked.expr.kind) {
        (Some(("redact", _)), ExprKind::Call { args, .. }) => {
            matches!(args.as_slice(), [_, Expr { kind: ExprKind::List(keys), .. }] if keys.is_empty())
        }
        _ => false,
    }
}

/// `output.put('card', output.card)`
fn puts_same(value: &Expression) -> bool {
    let Some(checked) = value.checked() else { return false };
    let ExprKind::Call { target: Some(target), args, .. } = &checked.expr.kind else { return false };
    let ([key, put], Some(("put", _))) = (args.as_slice(), function(&checked, &checked.expr)) else {
        return false;
    };
    match (constant(key), &put.kind) {
        (Some(Sample::Text(key)), ExprKind::Select { operand, field, .. }) => {
            *field.text == *key && operand.to_string() == target.to_string()
        }
        _ => false,
    }
}

/// Values that are judged by their truth, and of which it says hardly anything: any text that is not empty is true, and any number but 0.
fn truths(expression: &Expression, checked: &Checked, expr: &Expr) -> Vec<Diagnostic> {
    if let ("_?_:_", ExprKind::Call { args, .. }) =
        (function(checked, expr).map_or("", |it| it.0), &expr.kind)
        && let [_, yes, no] = args.as_slice()
    {
        return [yes, no].into_iter().flat_map(|branch| truths(expression, checked, branch)).collect();
    }
    let numbers = checked.domain_of(expr.id).and_then(|domain| domain.numbers);
    let (kind, is_false, other) = match (checked.type_of(expr.id), numbers) {
        (Type::String, _) => ("text", "empty", "''"),
        (Type::List(_), _) => ("list", "empty", "[]"),
        (Type::Map(_), _) => ("map", "empty", "{}"),
        (Type::Optional(value), _) if **value != Type::Bool => {
            let place = expression.place_of(expr.span);
            return vec![messages::truth_of_optional(place).path(expression.origin().path)];
        }
        // whether a count is zero is a question that is meant
        (Type::Dyn, Some(Numbers::All | Numbers::Whole)) => ("number", "0", "0"),
        // a call that no overload takes has been told of
        (Type::Dyn, None) if matches!(checked.reference(expr.id), Some(Reference::Function { overloads, .. }) if overloads.is_empty()) =>
        {
            return Vec::new();
        }
        (Type::Dyn, None) => {
            let place = expression.place_of(expr.span);
            return vec![messages::truth_of_unknown(place).path(expression.origin().path)];
        }
        _ => return Vec::new(),
    };
    let place = expression.place_of(expr.span);
    vec![messages::truth_of_value(place, (kind, is_false), other).path(expression.origin().path)]
}

/// Texts that look like regular expressions and are none, regular expressions that have lost a backslash, reviewers who are nobody,
/// predicates that are not about their elements, indexes that no list has, and arithmetic that fails for some numbers.
pub(super) fn of_expression(
    expression: &Expression,
    checked: &Checked,
    numbers: &HashSet<Arc<str>>,
    limits: &EvalLimits,
) -> Vec<Diagnostic> {
    let mut findings = Vec::new();
    if let Some(rest) = cut_off(expression.place()) {
        findings.push(messages::cut_expression(rest).path(expression.origin().path));
    }
    look(checked, &checked.expr, &mut Vec::new(), &mut |name, constant, text| {
        let place = || expression.place_of(constant.span);
        let path = expression.origin().path;
        match name {
            "review" if !ReviewPanel::is_name(text) => {
                findings.push(messages::no_reviewer(place()).path(path));
            }
            "review" => {}
            _ if text.chars().any(is_eaten) => {
                findings.push(messages::eaten_backslash(place()).path(path));
            }
            "matches" => findings.extend(
                wide(text)
                    .iter()
                    .map(|wide| messages::wide_pattern(place(), wide).path(expression.origin().path)),
            ),
            "contains" | "startsWith" | "endsWith" if looks_like_pattern(name, text) => {
                findings.push(messages::looks_like_pattern(place(), name).path(path));
            }
            _ => {}
        }
    });
    constant_predicates(&checked.expr, &mut |part, name, truth| {
        // a parameter may switch a predicate off
        if expression.values_in(part.span).next().is_none() {
            let finding = messages::constant_predicate(expression.place_of(part.span), name, truth);
            findings.push(finding.path(expression.origin().path));
        }
    });
    empty_windows(checked, &checked.expr, &mut |part| {
        if expression.values_in(part.span).next().is_none() {
            let finding = messages::empty_window(expression.place_of(part.span));
            findings.push(finding.path(expression.origin().path));
        }
    });
    unused_variables(&checked.expr, &mut |variable, told| {
        let place = expression.place_of(variable.span);
        findings.push(told(place, &variable.text).path(expression.origin().path));
    });
    divisions(checked, &checked.expr, &mut |part| {
        findings
            .push(messages::division_by_zero(expression.place_of(part.span)).path(expression.origin().path));
    });
    negative_indexes(checked, &checked.expr, &mut |index| {
        let place = expression.place_of(index.span);
        findings.push(messages::negative_index(place).path(expression.origin().path));
    });
    times_of_records(checked, &checked.expr, &mut |part, record| {
        let place = expression.place_of(part.span);
        findings.push(messages::no_time(place, record).path(expression.origin().path));
    });
    text_orders(checked, &checked.expr, &mut |constant, kind| {
        let place = expression.place_of(constant.span);
        findings.push(messages::text_order(place, kind).path(expression.origin().path));
    });
    times_of_day(checked, &checked.expr, &mut |part, is_true| {
        // a policy that gives a parameter such a value opens all day
        if expression.values_in(part.span).next().is_none() {
            let finding = messages::time_of_day(expression.place_of(part.span), is_true);
            findings.push(finding.path(expression.origin().path));
        }
    });
    findings.extend(mixed_numbers(expression, checked, numbers, limits));
    findings
}

/// Hands over each constant that stands for a number, a version or a date and is put in order as a text, and each sum of texts that is put in order as a time.
fn text_orders<'e>(checked: &Checked, expr: &'e Expr, found: &mut dyn FnMut(&'e Expr, Ordered)) {
    if let ExprKind::Call { args, .. } = &expr.kind
        && let (Some(("_<_" | "_<=_" | "_>_" | "_>=_", _)), [one, other]) =
            (function(checked, expr), args.as_slice())
    {
        for (constant, of) in [(one, other), (other, one)] {
            let is_text = *checked.type_of(of.id) == Type::String;
            let is_now = is_root(checked, of, Root::Now);
            if let ExprKind::Literal(Literal::String(text)) = &constant.kind
                && let Some(kind) =
                    Ordered::of(text).filter(|kind| is_text && !(is_now && *kind == Ordered::Number))
            {
                found(constant, kind);
            }
            if let ExprKind::Call { args, .. } = &constant.kind
                && let (Some(("_+_", _)), [time, _]) = (function(checked, constant), args.as_slice())
                && is_root(checked, time, Root::Now)
            {
                found(constant, Ordered::Sum);
            }
        }
    }
    expr.for_each_part(&mut |part| text_orders(checked, part, found));
}

/// Questions whether an argument is there which every call has: the model must give it, or a default stands in for it. Only those that decide
/// something: an `&&` that is careful costs nothing. `called` is the function that the step names.
pub(super) fn of_presence(
    expression: &Expression,
    checked: &Checked,
    called: &AgentFunction,
) -> Vec<Diagnostic> {
    let is_given = |name: &str| {
        let mut own = called.parameters.iter().filter(|parameter| *parameter.name == *name);
        own.any(|it| it.source == ParameterSource::Model && it.missing != Missing::LeftOut)
    };
    let mut found = Vec::new();
    presences(checked, &checked.expr, true, &mut |part, name| {
        let is_written =
            expression.source().get(part.span.range()).is_some_and(|text| text.starts_with("has"));
        if is_written && is_given(name) {
            let place = expression.place_of(part.span);
            found.push(messages::always_given(place, name).path(expression.origin().path));
        }
    });
    found
}

/// Hands over each `has(input.x)` that alone makes the expression true or false.
fn presences<'e>(checked: &Checked, expr: &'e Expr, decides: bool, found: &mut dyn FnMut(&'e Expr, &'e str)) {
    match &expr.kind {
        ExprKind::Has { operand, field } if decides && is_root(checked, operand, Root::Input) => {
            found(expr, &field.text);
        }
        ExprKind::Call { target: None, args, .. } => {
            let decides = match function(checked, expr).map_or("", |(name, _)| name) {
                "_||_" => true,
                "!_" => decides,
                _ => false,
            };
            args.iter().for_each(|arg| presences(checked, arg, decides, found));
        }
        _ => {}
    }
}

/// The comment behind an expression that goes on where the expression ends: YAML has cut it off. A remark of an author begins with no
/// operator.
fn cut_off(place: &Place) -> Option<Place> {
    const OPERATORS: [&str; 9] = ["&&", "||", "==", "!=", "<", ">", "+ ", "? ", "in ["];
    let end = place.span.range().end;
    let behind = place.source.text().get(end..)?.lines().next()?;
    let comment = behind.trim_start().strip_prefix('#').filter(|_| behind.starts_with([' ', '\t']))?;
    let rest = comment.trim_start();
    if !OPERATORS.iter().any(|operator| rest.starts_with(operator)) {
        return None;
    }
    let start = end.checked_add(behind.len())?.checked_sub(behind.trim_start().len())?;
    let whole = end.checked_add(behind.trim_end().len())?;
    Some(Place::new(&place.source, Span::new(start, whole)))
}

/// Bounds that let nothing by, and defaults that their own schemas refuse. Null is none: it says that nothing stands in for the value (PAR-04).
pub(super) fn of_parameters(resolved: &ResolvedAgent) -> Vec<Diagnostic> {
    let functions = resolved.capabilities.iter().flat_map(|entry| &entry.functions);
    let declared = functions.flat_map(|function| &function.parameters).filter_map(|it| it.declared.as_ref());
    let mut findings = Vec::new();
    for property in declared {
        let shape = Shape::of(&property.schema);
        let place = || property.schema.node.place.clone();
        if shape.is_impossible() {
            findings.push(messages::impossible_schema(place()).path(property.path.clone()));
        } else if shape.refuses_its_constants() {
            findings.push(messages::impossible_constants(place()).path(property.path.clone()));
        }
        let Some(default) = property.schema.default.as_ref().filter(|default| !default.is_null()) else {
            continue;
        };
        let Some(node) = property.schema.node.get("default") else { continue };
        if shape.check(&Json::from(default).value()).is_err() {
            let finding = messages::default_misfit(node.place.clone());
            findings.push(finding.path(format!("{}.default", property.path)));
        }
    }
    findings
}

/// Hands over the constant part of each question about a text, and the name of each reviewer. A variable of a macro stands for the constants of its list; `local` are the variables around.
fn look<'e>(
    checked: &Checked,
    expr: &'e Expr,
    local: &mut Vec<(&'e str, &'e Expr)>,
    found: &mut dyn FnMut(&'static str, &'e Expr, &'e str),
) {
    if let ExprKind::Call { args, .. } = &expr.kind
        && let Some((name @ ("contains" | "startsWith" | "endsWith" | "matches" | "review"), _)) =
            function(checked, expr)
        && let Some(written) = args.last()
    {
        let list = match &written.kind {
            ExprKind::Ident { name, absolute: false } => {
                local.iter().rev().find(|(known, _)| known == name).map(|(_, list)| *list)
            }
            _ => Some(written),
        };
        let constants: Vec<&Expr> = match list.map(|list| (&list.kind, list)) {
            Some((ExprKind::List(elements), _)) => elements.iter().map(|it| &it.value).collect(),
            Some((_, constant)) => vec![constant],
            None => Vec::new(),
        };
        for constant in constants {
            if let ExprKind::Literal(Literal::String(text)) = &constant.kind {
                found(name, constant, text);
            }
        }
    }
    let outside = local.len();
    match &expr.kind {
        ExprKind::Comprehension(comprehension) if comprehension.second.is_none() => {
            local.push((&comprehension.variable.text, &comprehension.range));
        }
        ExprKind::Bind { variable, value, .. } => local.push((&variable.text, value)),
        _ => {}
    }
    let mut parts = Vec::new();
    expr.for_each_part(&mut |part| parts.push(part));
    parts.into_iter().for_each(|part| look(checked, part, local, found));
    local.truncate(outside);
}

/// Hands over each comparison of a time of day with a constant that has one answer, with the answer.
fn times_of_day<'e>(checked: &Checked, expr: &'e Expr, found: &mut dyn FnMut(&'e Expr, bool)) {
    let is_time = |expr: &Expr| function(checked, expr).is_some_and(|(name, _)| name == "timeOfDay");
    let span = |expr: &Expr| match (function(checked, expr), &expr.kind) {
        (Some(("duration", _)), ExprKind::Call { args, .. }) => match args.first().map(|text| &text.kind) {
            Some(ExprKind::Literal(Literal::String(text))) => Duration::parse(text).ok(),
            _ => None,
        },
        _ => None,
    };
    if let (Some((name, _)), ExprKind::Call { target: None, args, .. }) =
        (function(checked, expr), &expr.kind)
        && let [one, other] = args.as_slice()
        && let (Ok(none), Ok(day)) = (Duration::parse("0s"), Duration::parse("24h"))
    {
        let mirrored = match name {
            "_<_" => "_>_",
            "_<=_" => "_>=_",
            "_>_" => "_<_",
            "_>=_" => "_<=_",
            same => same,
        };
        let compared = match (is_time(one), is_time(other)) {
            (true, false) => span(other).map(|bound| (name, bound)),
            (false, true) => span(one).map(|bound| (mirrored, bound)),
            _ => None,
        };
        let answer = compared.and_then(|(sign, bound)| match sign {
            "_<_" | "_<=_" if bound >= day => Some(true),
            "_>=_" | "_>_" if bound >= day => Some(false),
            "_>=_" if bound <= none => Some(true),
            "_<_" if bound <= none => Some(false),
            _ => None,
        });
        if let Some(answer) = answer {
            found(expr, answer);
        }
    }
    expr.for_each_part(&mut |part| times_of_day(checked, part, found));
}

/// Hands over each macro whose predicate is a truth that leaves nothing to ask, with its name: `list.all(x, true)`. `list.all(x, false)` and `list.exists(x, true)` ask whether there is an element.
fn constant_predicates<'e>(expr: &'e Expr, found: &mut dyn FnMut(&'e Expr, &'e str, bool)) {
    if let ExprKind::Comprehension(comprehension) = &expr.kind
        && let ExprKind::Literal(Literal::Bool(truth)) = comprehension.body.kind
    {
        let asks_nothing = match comprehension.kind {
            ComprehensionKind::All => truth,
            ComprehensionKind::Exists => !truth,
            kind => kind == ComprehensionKind::Filter || kind == ComprehensionKind::ExistsOne && !truth,
        };
        if asks_nothing {
            found(expr, &comprehension.name.text, truth);
        }
    }
    expr.for_each_part(&mut |part| constant_predicates(part, found));
}

/// Hands over each constant length of `within` that is zero or below it. A text below zero is a refused constant, which is reported as that.
fn empty_windows<'e>(checked: &Checked, expr: &'e Expr, found: &mut dyn FnMut(&'e Expr)) {
    if let ("within", ExprKind::Call { target, args, .. }) =
        (function(checked, expr).map_or("", |(name, _)| name), &expr.kind)
        && let Some(length) = args.get(usize::from(target.is_none()))
    {
        let (text, is_duration) = match &length.kind {
            ExprKind::Call { args, .. }
                if function(checked, length).is_some_and(|(name, _)| name == "duration") =>
            {
                (args.first().map(|text| &text.kind), true)
            }
            kind => (Some(kind), false),
        };
        if let Some(ExprKind::Literal(Literal::String(text))) = text
            && let (Ok(length), Ok(none)) = (Duration::parse(text), Duration::parse("0s"))
            && (length == none || is_duration && length < none)
        {
            found(expr);
        }
    }
    expr.for_each_part(&mut |part| empty_windows(checked, part, found));
}

/// Hands over the variable of each macro that asks or makes something of each element and does not mention it, and each name of `cel.bind` that nothing mentions. A name that begins with `_` says that this is meant.
fn unused_variables<'e>(expr: &'e Expr, found: &mut dyn FnMut(&'e Name, Says)) {
    if let ExprKind::Comprehension(comprehension) = &expr.kind {
        let Comprehension { kind, variable, second, filter, body, .. } = &**comprehension;
        let is_of_each = is_predicate(*kind) || *kind == ComprehensionKind::Map && filter.is_none();
        let is_question = is_of_each && !is_constant(body);
        let mut names = [Some(variable), second.as_ref()].into_iter().flatten();
        if is_question && !names.any(|name| name.text.starts_with('_') || mentions(body, &name.text)) {
            found(variable, messages::unused_variable);
        }
    }
    if let ExprKind::Bind { variable, body, .. } = &expr.kind
        && !variable.text.starts_with('_')
        && !mentions(body, &variable.text)
    {
        found(variable, messages::unused_name);
    }
    expr.for_each_part(&mut |part| unused_variables(part, found));
}

/// Whether a value is one for all elements on purpose, as `1` is where they are counted.
fn is_constant(expr: &Expr) -> bool {
    let mut is_constant = matches!(expr.kind, ExprKind::Literal(_) | ExprKind::List(_) | ExprKind::Map(_));
    expr.for_each_part(&mut |part| is_constant = is_constant && self::is_constant(part));
    is_constant
}

/// Hands over each constant index below zero, of what may be a list.
fn negative_indexes<'e>(checked: &Checked, expr: &'e Expr, found: &mut dyn FnMut(&'e Expr)) {
    if let ExprKind::Index { operand, index, optional: false } = &expr.kind
        && matches!(checked.type_of(operand.id), Type::List(_) | Type::Dyn)
        && matches!(constant(index), Some(Sample::Int(..0)))
    {
        found(index);
    }
    expr.for_each_part(&mut |part| negative_indexes(checked, part, found));
}

/// Hands over what `within` is asked of where that is a record without a time: the calls of a function, and no call.
fn times_of_records<'e>(checked: &'e Checked, expr: &'e Expr, found: &mut dyn FnMut(&'e Expr, &'e str)) {
    if let ("within", ExprKind::Call { args, .. }) =
        (function(checked, expr).map_or("", |(name, _)| name), &expr.kind)
        && let Some(of) = args.first()
        && let Type::Record(record) = checked.type_of(of.id)
        && record.storage == Storage::Live
        && record.slot("at").is_none()
    {
        found(of, &record.name);
    }
    expr.for_each_part(&mut |part| times_of_records(checked, part, found));
}

/// Hands over each division of whole numbers by the constant zero.
fn divisions<'e>(checked: &Checked, expr: &'e Expr, found: &mut dyn FnMut(&'e Expr)) {
    if let ("_/_" | "_%_", ExprKind::Call { args, .. }) =
        (function(checked, expr).map_or("", |(name, _)| name), &expr.kind)
        && let Some(Expr { kind: ExprKind::Literal(Literal::Int(0) | Literal::UInt(0)), .. }) = args.get(1)
    {
        found(expr);
    }
    expr.for_each_part(&mut |part| divisions(checked, part, found));
}

/// The control characters that `\a`, `\b`, `\f` and `\v` stand for. Nobody looks for one of them in what people write.
fn is_eaten(c: char) -> bool {
    matches!(c, '\u{7}' | '\u{8}' | '\u{b}' | '\u{c}')
}

/// Signs that regular expressions have, and other texts hardly: a sign that holds the place of any, a class, an anchor.
fn looks_like_pattern(name: &str, text: &str) -> bool {
    const SIGNS: [&str; 8] = [".*", ".+", "\\b", "\\d", "\\s", "\\w", "[a-z", "[0-9"];
    let ends = text.ends_with('$') && (name == "endsWith" || text.starts_with(['^', '(']));
    let anchored = text.len() > 1 && (text.starts_with('^') || ends && name != "startsWith");
    // `*.pdf`, as a shell has it
    let is_begun = |text: &str| text.ends_with(|end: char| end.is_ascii_alphanumeric());
    let is_glob = text.len() > 2
        && (text.starts_with("*.") || name == "startsWith" && text.strip_suffix('*').is_some_and(is_begun));
    anchored || is_glob || SIGNS.iter().any(|sign| text.contains(sign))
}

/// Claims that two policies of an agent declare so that no value is what both say.
pub(super) fn of_claims(resolved: &ResolvedAgent) -> Vec<Diagnostic> {
    let told = |[one, other]: [ClaimOf; 2]| {
        messages::contrary_claims(other.place, &other.name, &one.policy, one.place)
            .path(format!("claims.properties.{}", other.name))
    };
    contrary_claims(resolved).into_iter().map(told).collect()
}

/// Limits of a stretch of a task that a longer stretch, or the whole task, reaches first.
pub(super) fn of_limits(policy: &DeclaredPolicy) -> Vec<Diagnostic> {
    let limits = || policy.limits.iter();
    let hidden = limits().flat_map(|(limit, bound)| {
        let is_longer = move |(other, most): &(TaskLimit, LimitNumber)| {
            other.quantity() == limit.quantity() && other.stretch() > limit.stretch() && bound >= *most
        };
        limits().filter(is_longer).map(move |(other, _)| (limit.as_str(), other.as_str()))
    });
    let told = |(hidden, by): (&str, &str)| {
        messages::hidden_limit(policy.name.place.clone(), hidden, by).path(format!("limits.{hidden}"))
    };
    hidden.map(told).collect()
}

/// Limits of an agent or a policy that no task can keep to; `name` is where they are told of.
pub(super) fn of_turns(name: &Place, limits: &TaskLimits) -> Vec<Diagnostic> {
    let none = limits.iter().filter(|(_, most)| *most == LimitNumber::Count(0));
    let told = none.filter_map(|(limit, _)| {
        let says: Says = match limit.quantity() {
            Quantity::Turns => messages::no_turns,
            Quantity::PromptTokens | Quantity::CompletionTokens => messages::no_tokens,
            Quantity::Age | Quantity::Calls | Quantity::Spend => return None,
        };
        Some(says(name.clone(), limit.as_str()).path(format!("limits.{}", limit.as_str())))
    });
    told.collect()
}

/// A limit of an agent that lets none of its calls by, and times for events that its tasks do not live to see. As long as a task lives is meant.
pub(super) fn of_agent(resolved: &ResolvedAgent) -> Vec<Diagnostic> {
    let agent = &resolved.agent;
    let limits = &agent.limits;
    let has_calls = resolved.capabilities.iter().any(|entry| !entry.functions.is_empty());
    let no_calls = (has_calls && limits.count(TaskLimit::MaxToolCalls) == Some(0))
        .then(|| messages::no_calls(agent.name.place.clone()).path("limits.max_tool_calls"));
    let max_age = limits.count(TaskLimit::MaxAge);
    let is_late = |timeout: i64| max_age.is_some_and(|age| timeout.unsigned_abs() > age);
    let late =
        agent.capabilities.iter().filter(|it| it.event_timeout.is_some_and(is_late)).map(|capability| {
            messages::hidden_limit(capability.reference.place.clone(), "event_timeout", "max_age")
                .path(format!("{}.event_timeout", capability.path))
        });
    no_calls.into_iter().chain(late).collect()
}
