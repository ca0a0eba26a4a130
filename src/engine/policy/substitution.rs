//! Substitutes arguments for the parameters of a named expression, without capture.
//!
//! In: the expression, in which no other name of the policy is read, and one argument for each parameter. Out: the expression that the call stands for.
//! A variable of a macro captures nothing in either direction: names of the expression mean what they mean where it is written, and
//! names of an argument what they mean where the call is. To that end names of the scope become absolute (`.input`) below variables of the same name
//! around the call, and variables of the expression's own macros are renamed if an argument reads that name. Linear in the result.

use super::messages;
use crate::cel::{Expr, ExprKind};
use crate::diagnostic::Diagnostic;
use crate::manifest::named_expression::ExpressionParameter;
use crate::source::{Embedded, Span};
use std::collections::HashSet;
use std::sync::Arc;

/// A reason why a text cannot be the value of a named expression.
pub(super) enum ValueProblem {
    /// `cel.block`, whose variables an argument could read.
    Block(Span),
    /// `has(parameter)`: whether an argument is there is known where the call is.
    Presence(Span, Arc<str>),
    /// A parameter that the value does not read.
    Unused(Embedded),
}

impl ValueProblem {
    /// The finding in the text of the value.
    pub(super) fn finding(&self, text: &Embedded) -> Diagnostic {
        match self {
            Self::Block(span) => messages::block_of_expression(text.locate(*span)),
            Self::Presence(span, name) => messages::presence_of_argument(text.locate(*span), name),
            Self::Unused(name) => messages::unused_parameter(name),
        }
    }
}

/// The reasons why an expression cannot be the value of a named expression with these parameters.
pub(super) fn problems(expr: &Expr, parameters: &[ExpressionParameter]) -> Vec<ValueProblem> {
    let mut found = Vec::new();
    check(expr, parameters, &mut found);
    let unused =
        parameters.iter().filter(|parameter| occurrences(expr, &parameter.name.text, &mut Vec::new()) == 0);
    found.extend(unused.map(|parameter| ValueProblem::Unused(parameter.name.clone())));
    found
}

fn check(expr: &Expr, parameters: &[ExpressionParameter], found: &mut Vec<ValueProblem>) {
    match &expr.kind {
        ExprKind::Block { .. } => found.push(ValueProblem::Block(expr.span)),
        ExprKind::HasVariable(name) => {
            let of = parameters.iter().find(|parameter| *parameter.name.text == *name.text);
            found.extend(of.map(|of| ValueProblem::Presence(expr.span, of.name.text.clone())));
        }
        _ => {}
    }
    expr.for_each_part(&mut |part| check(part, parameters, found));
}

/// Number of times that an expression reads a parameter.
pub(super) fn occurrences(expr: &Expr, parameter: &str, own: &mut Vec<String>) -> usize {
    let mut count: usize = 0;
    if let ExprKind::Ident { name, absolute: false } = &expr.kind {
        let is_own = own.iter().any(|known| known == name);
        return usize::from(name == parameter && !is_own);
    }
    let mut add = |part: &Expr, own: &mut Vec<String>| {
        count = count.saturating_add(occurrences(part, parameter, own));
    };
    let outside = own.len();
    match &expr.kind {
        ExprKind::Comprehension(loops) => {
            add(&loops.range, own);
            own.push(loops.variable.text.clone());
            own.extend(loops.second.iter().map(|second| second.text.clone()));
            loops.filter.iter().for_each(|filter| add(filter, own));
            add(&loops.body, own);
        }
        ExprKind::Bind { variable, value: outer, body }
        | ExprKind::OptMap { operand: outer, variable, body, .. } => {
            add(outer, own);
            own.push(variable.text.clone());
            add(body, own);
        }
        _ => expr.for_each_part(&mut |part| add(part, own)),
    }
    own.truncate(outside);
    count
}

/// Substitutes arguments for parameters. `around` are the variables of the macros around the call.
pub(super) fn substitute(expr: &mut Expr, arguments: &[(Arc<str>, Expr)], around: &[String]) {
    let mut taken = HashSet::new();
    arguments.iter().for_each(|(_, argument)| identifiers(argument, &mut taken));
    let read = taken.clone();
    identifiers(expr, &mut taken);
    Substitution { arguments, around, read, taken, own: Vec::new() }.walk(expr);
}

/// All identifiers that an expression reads or binds.
fn identifiers(expr: &Expr, found: &mut HashSet<String>) {
    match &expr.kind {
        ExprKind::Ident { name, .. } => drop(found.insert(name.clone())),
        ExprKind::HasVariable(name) => drop(found.insert(name.text.clone())),
        ExprKind::Comprehension(loops) => {
            let variables = std::iter::once(&loops.variable).chain(&loops.second);
            found.extend(variables.map(|name| name.text.clone()));
        }
        ExprKind::Bind { variable, .. } | ExprKind::OptMap { variable, .. } => {
            found.insert(variable.text.clone());
        }
        _ => {}
    }
    expr.for_each_part(&mut |part| identifiers(part, found));
}

struct Substitution<'s> {
    arguments: &'s [(Arc<str>, Expr)],
    /// The variables of the macros around the call.
    around: &'s [String],
    /// The identifiers of the arguments.
    read: HashSet<String>,
    /// All identifiers of the arguments and the expression, those of renamed variables included.
    taken: HashSet<String>,
    /// The variables of the expression's own macros around the part at hand, each with its new name; the innermost last.
    own: Vec<(String, String)>,
}

impl Substitution<'_> {
    fn walk(&mut self, expr: &mut Expr) {
        let outside = self.own.len();
        match &mut expr.kind {
            ExprKind::Ident { name, absolute } => {
                if *absolute {
                    return;
                }
                if let Some((_, renamed)) = self.own.iter().rfind(|(known, _)| known == name) {
                    name.clone_from(renamed);
                } else if let Some((_, argument)) =
                    self.arguments.iter().find(|(parameter, _)| **parameter == **name)
                {
                    *expr = argument.clone();
                } else {
                    *absolute = self.around.contains(name);
                }
            }
            ExprKind::HasVariable(name) => {
                if let Some((_, renamed)) = self.own.iter().rfind(|(known, _)| *known == name.text) {
                    name.text.clone_from(renamed);
                }
            }
            ExprKind::Comprehension(loops) => {
                self.walk(&mut loops.range);
                self.bind(&mut loops.variable.text);
                loops.second.iter_mut().for_each(|second| self.bind(&mut second.text));
                loops.filter.iter_mut().for_each(|filter| self.walk(filter));
                self.walk(&mut loops.body);
            }
            ExprKind::Bind { variable, value: outer, body }
            | ExprKind::OptMap { operand: outer, variable, body, .. } => {
                self.walk(outer);
                self.bind(&mut variable.text);
                self.walk(body);
            }
            _ => expr.for_each_part_mut(&mut |part| self.walk(part)),
        }
        self.own.truncate(outside);
    }

    /// Declares a variable of a macro, under another name if an argument reads this one.
    fn bind(&mut self, variable: &mut String) {
        let written = variable.clone();
        if self.read.contains(variable) {
            let mut count: u64 = 1;
            while self.taken.contains(variable) {
                *variable = format!("{written}_{count}");
                count = count.saturating_add(1);
            }
            self.taken.insert(variable.clone());
        }
        self.own.push((written, variable.clone()));
    }
}
