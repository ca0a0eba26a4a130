//! Reads the names that a policy document gives to expressions.
//!
//! In: the variables of a policy as they were written. Out: [`Definitions`], in which each variable is a tree that names no other
//! variable; findings about those that cannot be read. A variable asks nobody and changes nothing, so it may stand for its
//! name wherever that is written. All variables of a policy together have at most `max_plan_nodes` parts. Linear in these.

use super::definitions::{Definitions, Variable};
use super::expansion::{Expansion, referred};
use super::messages;
use crate::cel::{Expr, ExprKind, parse};
use crate::diagnostic::Diagnostic;
use crate::limits::EvalLimits;
use crate::manifest::policy::{DeclaredPolicy, DeclaredVariable};
use crate::source::Embedded;
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
    fn read(&mut self, variable: &'p DeclaredVariable) {
        let text = &variable.expression;
        match parse(&text.text, self.limits) {
            Ok(expr) => {
                if let Some(finding) = asks(&expr, text) {
                    self.report(variable, finding);
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
        let variable_of = Variable { value, place: variable.expression.place.clone() };
        self.known.variables.insert(variable.name.text.clone(), variable_of);
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
        let (is_whole, findings) = expansion.end(&variable.expression);
        for finding in findings {
            self.report(variable, finding);
        }
        self.know(variable, is_whole.then_some(expr));
    }
}

/// Why an expression cannot be a variable: it asks a person. A variable may stand in a condition, or twice in a step, and is
/// looked at or not, as the rest of the step has it: nobody could say how often a person is asked.
fn asks(expr: &Expr, text: &Embedded) -> Option<Diagnostic> {
    let mut found = match &expr.kind {
        ExprKind::Call { function, target: None, .. }
            if function.text.trim_start_matches('.') == "review" =>
        {
            Some(messages::impure_variable(text.locate(function.span)))
        }
        _ => None,
    };
    expr.for_each_part(&mut |part| found = found.take().or_else(|| asks(part, text)));
    found
}
