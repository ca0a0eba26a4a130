//! Reads the names that a policy document gives to expressions and values.
//!
//! In: the variables and parameters of a policy as they were written. Out: [`Definitions`], in which each parameter is the literal of
//! its value, and each variable a tree that names no other variable; findings about those that cannot be read. A variable asks nobody and changes nothing, so it may stand for its
//! name wherever that is written. All variables of a policy together have at most `max_plan_nodes` parts. Linear in these.

use super::definitions::{Definition, Definitions, ParameterValue};
use super::expansion::{Expansion, asking, referred};
use super::messages;
use super::shape::Shape;
use crate::cel::{Element, Expr, ExprId, ExprKind, Json, Literal, MapEntry, NameId, parse};
use crate::diagnostic::Diagnostic;
use crate::limits::EvalLimits;
use crate::manifest::policy::{DeclaredPolicy, DeclaredVariable};
use crate::manifest::policy_use::{GivenValue, PolicyParameter};
use crate::source::Span;
use serde_json::Value;
use std::collections::HashMap;

/// The names of a policy, and what is wrong with what they stand for, each with the place of its text.
pub(super) fn define(policy: &DeclaredPolicy, limits: &EvalLimits) -> (Definitions, Vec<Diagnostic>) {
    let mut builder = Builder {
        written: HashMap::new(),
        known: Definitions::default(),
        left: limits.max_plan_nodes,
        limits,
        findings: Vec::new(),
    };
    for parameter in &policy.parameters {
        builder.value(parameter);
    }
    for variable in &policy.variables {
        builder.read(variable);
    }
    for variable in &policy.variables {
        builder.resolve(&variable.name.text, &mut Vec::new());
    }
    (builder.known, builder.findings)
}

struct Builder<'p> {
    written: HashMap<&'p str, (&'p DeclaredVariable, Expr)>,
    known: Definitions,
    /// How many parts the variables may still have.
    left: usize,
    limits: &'p EvalLimits,
    findings: Vec<Diagnostic>,
}

impl<'p> Builder<'p> {
    /// The value of a parameter, held to its schema.
    fn value(&mut self, parameter: &PolicyParameter) {
        let PolicyParameter { name, path: _, schema, value } = parameter;
        let Some(GivenValue { node, path, passed }) = value else {
            // a use that gives none has been refused
            self.known.parameters.insert(name.text.clone(), Definition::new(None, &name.place));
            return;
        };
        let json = node.to_json();
        let checked = Shape::of(schema).check(&Json::from(&json).value());
        if let Err(misfit) = &checked {
            let finding = messages::value_misfit(&node.place, &name.text, misfit, &name.place);
            let finding = match passed {
                Some(passed) => finding.related(passed.clone(), "passed on here"),
                None => finding,
            };
            self.findings.push(finding.path(path));
        }
        let stands_for = checked.is_ok().then(|| literal(&json));
        let own = ParameterValue {
            name: name.text.clone(),
            place: node.place.clone(),
            is_default: path.ends_with(".default"),
        };
        let definition = Definition::new(stands_for, &node.place).with_values(vec![own]);
        self.known.parameters.insert(name.text.clone(), definition);
    }

    fn read(&mut self, variable: &'p DeclaredVariable) {
        let text = &variable.expression;
        match parse(&text.text, self.limits) {
            Ok(expr) => {
                // It may stand in a condition, or twice in a step, and is looked at or not, as the rest of the step has it:
                // nobody could say how often a person is asked.
                if let Some(asking) = asking(&expr) {
                    self.report(variable, messages::impure_variable(text.locate(asking)));
                    return;
                }
                self.written.insert(&variable.name.text, (variable, expr));
            }
            Err(issues) => {
                for issue in &issues {
                    self.report(variable, messages::of_issue(issue, text));
                }
            }
        }
    }

    fn report(&mut self, variable: &DeclaredVariable, finding: Diagnostic) {
        self.findings.push(finding.path(&variable.path));
        self.know(variable, None);
    }

    fn know(&mut self, variable: &DeclaredVariable, value: Option<Expr>) {
        let definition = Definition::of_text(value, &variable.expression);
        self.known.variables.insert(variable.name.text.clone(), definition);
    }

    /// Puts into a variable those that it names. `chain` are the variables that lead here, each naming the next.
    fn resolve(&mut self, name: &str, chain: &mut Vec<&'p str>) {
        if self.known.variables.contains_key(name) {
            return;
        }
        let Some((variable, expr)) = self.written.get(name).map(|(variable, expr)| (*variable, expr.clone()))
        else {
            return;
        };
        if let Some(first) = chain.iter().position(|known| *known == name) {
            let circle: Vec<&str> = chain.iter().skip(first).copied().collect();
            let finding = messages::circle_of_variables(&variable.expression.place, &circle);
            self.report(variable, finding);
            return;
        }
        if chain.len() >= self.limits.max_depth {
            let place = variable.expression.place.clone();
            self.report(variable, messages::variables_too_deep(place, self.limits.max_depth));
            return;
        }
        chain.push(&variable.name.text);
        for named in referred(&expr) {
            self.resolve(&named, chain);
        }
        chain.pop();
        // it may have been found to be part of a circle
        if !self.known.variables.contains_key(name) {
            self.put_in(variable, expr);
        }
    }

    fn put_in(&mut self, variable: &DeclaredVariable, mut expr: Expr) {
        let mut expansion = Expansion::new(&self.known, self.left, self.limits);
        expansion.expand(&mut expr);
        self.left = expansion.left();
        let values = expansion.values_read().into_iter().flat_map(|read| read.values).collect();
        let (is_whole, findings) = expansion.end(&variable.expression);
        for finding in findings {
            self.report(variable, finding);
        }
        // one that is another variable and nothing else is remembered as that one
        expr.in_place_of.get_or_insert_with(NameId::next);
        let definition = Definition::of_text(is_whole.then_some(expr), &variable.expression);
        self.known.variables.insert(variable.name.text.clone(), definition.with_values(values));
    }
}

/// A value, written as an expression. Numbers are ints and doubles as they are written, like those of any JSON.
fn literal(value: &Value) -> Expr {
    let kind = match value {
        Value::Null => ExprKind::Literal(Literal::Null),
        Value::Bool(value) => ExprKind::Literal(Literal::Bool(*value)),
        Value::Number(number) => ExprKind::Literal(match number.as_i64() {
            Some(whole) => Literal::Int(whole),
            None => Literal::Double(number.as_f64().unwrap_or(f64::NAN)),
        }),
        Value::String(text) => ExprKind::Literal(Literal::String(text.clone())),
        Value::Array(items) => ExprKind::List(
            items.iter().map(|item| Element { value: literal(item), optional: false }).collect(),
        ),
        Value::Object(fields) => {
            let entry = |(name, value): (&String, &Value)| MapEntry {
                key: literal(&Value::from(name.as_str())),
                value: literal(value),
                optional: false,
            };
            ExprKind::Map(fields.iter().map(entry).collect())
        }
    };
    Expr { id: ExprId(0), span: Span::new(0, 0), kind, in_place_of: None }
}
