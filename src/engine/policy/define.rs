//! Reads the names that a policy document gives to expressions and values.
//!
//! In: the variables, named expressions and parameters of a policy as they were written, and those of the policies that it uses. Out: [`Definitions`], in which each parameter is the literal of
//! its value, and each variable or named expression a tree that reads no other name; findings about those that cannot be read. A variable or named expression asks for no review and changes nothing, so it may stand for its
//! name wherever that is written. All of a policy together have at most `max_plan_nodes` parts. Linear in these.

use super::definitions::{Definition, Definitions, Names, ParameterValue, ValueKind};
use super::expansion::{Expansion, NameRead, asking, names_read};
use super::messages;
use super::read_path::for_each_path;
use super::shape::Shape;
use super::substitution::problems;
use crate::cel::{Element, Expr, ExprId, ExprKind, Json, Literal, MapEntry, NameId, parse};
use crate::context::Root;
use crate::diagnostic::Diagnostic;
use crate::limits::EvalLimits;
use crate::manifest::named_expression::{ExpressionParameter, NamedExpression};
use crate::manifest::policy::{DeclaredPolicy, DeclaredVariable};
use crate::manifest::policy_use::{GivenValue, PolicyParameter};
use crate::source::{Embedded, Span};
use serde_json::Value;
use std::collections::HashMap;
use std::sync::Arc;

/// The names of a policy, and what is wrong with what they stand for, each with the place of its text.
pub(super) fn define(policy: &DeclaredPolicy, limits: &EvalLimits) -> (Definitions, Vec<Diagnostic>) {
    let mut builder = Builder {
        written: HashMap::new(),
        known: Definitions { libraries: libraries(policy, limits), ..Definitions::default() },
        left: limits.max_plan_nodes,
        limits,
        findings: Vec::new(),
    };
    for parameter in &policy.parameters {
        builder.value(parameter);
    }
    let variables = policy.variables.iter().map(|DeclaredVariable { name, path, expression }| Written {
        names: Names::Variables,
        name,
        path: path.clone(),
        text: expression,
        parameters: &[],
    });
    let expressions = policy.expressions.iter().map(|NamedExpression { name, path, parameters, value }| {
        Written { names: Names::Expressions, name, path: path.clone() + ".value", text: value, parameters }
    });
    let written: Vec<Written<'_>> = variables.chain(expressions).collect();
    for one in &written {
        builder.read(one);
    }
    for one in &written {
        builder.resolve((one.names, &one.name.text), &mut Vec::new());
    }
    (builder.known, builder.findings)
}

/// The names of the policies that a policy uses. What is wrong with them is told of those policies.
fn libraries(policy: &DeclaredPolicy, limits: &EvalLimits) -> HashMap<Arc<str>, Option<Arc<Definitions>>> {
    let mut libraries = HashMap::new();
    for import in &policy.imports {
        let (definitions, _) = define(&import.policy, limits);
        let ambiguous = |known: &mut Option<Arc<Definitions>>| *known = None;
        libraries.entry(import.name.clone()).and_modify(ambiguous).or_insert(Some(Arc::new(definitions)));
    }
    libraries
}

/// An expression of a policy that has a name.
struct Written<'p> {
    names: Names,
    name: &'p Embedded,
    path: String,
    text: &'p Embedded,
    /// The parameters of a named expression.
    parameters: &'p [ExpressionParameter],
}

struct Builder<'p> {
    written: HashMap<(Names, &'p str), (&'p Written<'p>, Expr)>,
    known: Definitions,
    /// How many parts the named expressions and variables may still have.
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
            kind: ValueKind::of(&json),
        };
        let definition = Definition::new(stands_for, &node.place).with_values(vec![own]);
        self.known.parameters.insert(name.text.clone(), definition);
    }

    fn read(&mut self, written: &'p Written<'p>) {
        let text = written.text;
        match parse(&text.text, self.limits) {
            Ok(expr) => {
                // It may stand in a condition, or twice in a step, and is looked at or not, as the rest of the step has it:
                // nobody could say how often a person is asked.
                if let Some(asking) = asking(&expr) {
                    self.report(written, messages::impure_variable(text.locate(asking), written.names));
                    return;
                }
                if written.names == Names::Expressions {
                    let problems = problems(&expr, written.parameters);
                    if !problems.is_empty() {
                        for problem in problems {
                            self.report(written, problem.finding(text));
                        }
                        return;
                    }
                }
                self.written.insert((written.names, &written.name.text), (written, expr));
            }
            Err(issues) => {
                for issue in &issues {
                    self.report(written, messages::of_issue(issue, text));
                }
            }
        }
    }

    fn report(&mut self, written: &Written<'_>, finding: Diagnostic) {
        self.findings.push(finding.path(&written.path));
        self.know(written, None, Vec::new());
    }

    fn know(&mut self, written: &Written<'_>, value: Option<Expr>, values: Vec<ParameterValue>) {
        let reads_own = value.as_ref().and_then(reads_own);
        let parameters =
            written.parameters.iter().map(|ExpressionParameter { name, ty }| (name.text.clone(), ty.clone()));
        let parameters: Vec<_> = parameters.collect();
        let mut definition = Definition::of_text(value, written.text).with_values(values);
        definition.parameters = parameters;
        definition.reads_own = reads_own;
        let known = match written.names {
            Names::Expressions => &mut self.known.expressions,
            Names::Variables | Names::Parameters => &mut self.known.variables,
        };
        known.insert(written.name.text.clone(), definition);
    }

    /// Puts into an expression the other names that it reads. `chain` are the names that lead here, each reading the next.
    fn resolve(&mut self, (names, name): (Names, &str), chain: &mut Vec<(Names, &'p str)>) {
        if self.known.get(names, name).is_some() {
            return;
        }
        let Some((written, expr)) =
            self.written.get(&(names, name)).map(|(written, expr)| (*written, expr.clone()))
        else {
            return;
        };
        if let Some(first) = chain.iter().position(|known| *known == (names, name)) {
            let circle: Vec<(Names, &str)> = chain.iter().skip(first).copied().collect();
            let finding = messages::circle_of_variables(&written.text.place, &circle);
            self.report(written, finding);
            return;
        }
        if chain.len() >= self.limits.max_depth {
            let place = written.text.place.clone();
            self.report(written, messages::variables_too_deep(place, self.limits.max_depth));
            return;
        }
        chain.push((names, &written.name.text));
        for NameRead { names, library, name, .. } in names_read(&expr) {
            if library.is_none() && names != Names::Parameters {
                self.resolve((names, &name), chain);
            }
        }
        chain.pop();
        // it may have been found to be part of a circle
        if self.known.get(names, name).is_none() {
            self.put_in(written, expr);
        }
    }

    fn put_in(&mut self, written: &Written<'_>, mut expr: Expr) {
        let parameters = written.parameters.iter().map(|parameter| parameter.name.text.to_string());
        let mut expansion = Expansion::new(&self.known, self.left, self.limits).within(parameters.collect());
        expansion.expand(&mut expr);
        self.left = expansion.left();
        let values = expansion.values_read().into_iter().flat_map(|read| read.values).collect();
        let (is_whole, findings) = expansion.end(written.text);
        for finding in findings {
            self.report(written, finding);
        }
        if written.names == Names::Variables {
            // one that is another variable and nothing else is remembered as that one
            expr.in_place_of.get_or_insert_with(NameId::next);
        }
        self.know(written, is_whole.then_some(expr), values);
    }
}

/// What an expression reads that its policy alone has: counters, or results of `invoke` steps.
fn reads_own(expr: &Expr) -> Option<Root> {
    let mut found = None;
    for_each_path(expr, &mut |root, _| {
        found = found.or([Root::Counters, Root::Invoked].into_iter().find(|own| own.name() == root));
    });
    found
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
