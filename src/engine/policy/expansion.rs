//! Puts what names stand for in their place: `variables.paid` becomes the expression of the variable, `parameters.cap` a literal.
//!
//! In: a parsed expression of a policy, before it is checked, and the names of the policy. Out: the same without these names, and
//! findings about those that the policy does not have. What is put in gets the characters of the name, so that a caret
//! points at what the author of the expression wrote. It is as if the author had written the variable's text there: types, read
//! sets, kept outcomes and indexes see through it. A variable of a macro never captures a name of what is put in. Linear
//! in what comes out, which `max_plan_nodes` and `max_depth` bound.

use super::definitions::{Definition, Definitions, Names, ValuesRead};
use super::messages;
use crate::cel::{Expr, ExprKind, Literal};
use crate::diagnostic::{Diagnostic, nearest};
use crate::limits::EvalLimits;
use crate::source::{Embedded, Span};

/// Whether a text may hold a name that stands for something else. Linear.
pub(super) fn may_refer(text: &str) -> bool {
    Names::ALL.iter().any(|names| text.contains(names.root()))
}

/// Where an expression asks a person, if it does.
pub(super) fn asking(expr: &Expr) -> Option<Span> {
    let mut found = match &expr.kind {
        ExprKind::Call { function, target: None, .. }
            if function.text.trim_start_matches('.') == "review" =>
        {
            Some(function.span)
        }
        _ => None,
    };
    expr.for_each_part(&mut |part| found = found.or_else(|| asking(part)));
    found
}

/// The names of the variables that an expression reads.
pub(super) fn referred(expr: &Expr) -> Vec<String> {
    fn collect(expr: &Expr, found: &mut Vec<String>) {
        if let Reference::To(Names::Variables, name) = reference(expr, &[]) {
            found.push(name.to_owned());
            return;
        }
        expr.for_each_part(&mut |part| collect(part, found));
    }
    let mut found = Vec::new();
    collect(expr, &mut found);
    found
}

/// The names of the policy that an expression reads, each with its characters.
pub(super) fn names_read(expr: &Expr) -> Vec<(Span, Names, String)> {
    fn collect(expr: &Expr, found: &mut Vec<(Span, Names, String)>) {
        match reference(expr, &[]) {
            Reference::To(names, name) | Reference::Presence(names, name) => {
                found.push((expr.span, names, name.to_owned()));
            }
            Reference::Other(_) | Reference::Nothing => expr.for_each_part(&mut |part| collect(part, found)),
        }
    }
    let mut found = Vec::new();
    collect(expr, &mut found);
    found
}

/// What an expression is, as far as names of the policy go.
enum Reference<'e> {
    /// `variables.paid`, `variables['paid']`
    To(Names, &'e str),
    /// `has(variables.paid)`, `variables.?paid`
    Presence(Names, &'e str),
    /// `variables` in any other way.
    Other(Names),
    /// Anything else.
    Nothing,
}

/// `bound` are the variables of the macros around.
fn reference<'e>(expr: &'e Expr, bound: &[String]) -> Reference<'e> {
    let root = |expr: &Expr| {
        let ExprKind::Ident { name, absolute } = &expr.kind else { return None };
        let is_free = *absolute || !bound.iter().any(|known| known == name);
        Names::ALL.into_iter().find(|names| is_free && names.root() == name)
    };
    let (ExprKind::Select { operand, .. } | ExprKind::Index { operand, .. } | ExprKind::Has { operand, .. }) =
        &expr.kind
    else {
        return root(expr).map_or(Reference::Nothing, Reference::Other);
    };
    let Some(names) = root(operand) else { return Reference::Nothing };
    match &expr.kind {
        ExprKind::Select { field, optional: false, .. } => Reference::To(names, &field.text),
        ExprKind::Select { field, .. } | ExprKind::Has { field, .. } => {
            Reference::Presence(names, &field.text)
        }
        ExprKind::Index { index, optional, .. } => match &index.kind {
            ExprKind::Literal(Literal::String(name)) if *optional => Reference::Presence(names, name),
            ExprKind::Literal(Literal::String(name)) => Reference::To(names, name),
            _ => Reference::Other(names),
        },
        _ => Reference::Other(names),
    }
}

/// Putting names of a policy into one expression.
pub(super) struct Expansion<'d> {
    definitions: &'d Definitions,
    limits: &'d EvalLimits,
    /// How many parts may still be put in.
    left: usize,
    /// The variables of the macros around, the innermost last.
    bound: Vec<String>,
    problems: Vec<Problem>,
    /// The names that were put in, and where.
    known: Vec<(Span, Names, &'d Definition, String)>,
    /// Whether a variable was named whose own text is wrong.
    broken: bool,
}

enum Problem {
    /// The policy has no variable or parameter of this name.
    Unknown(Span, Names, String),
    /// It is not said which one is meant.
    NotNamed(Span, Names),
    /// `has(variables.x)`, or `variables[?'x']`: whether there is one is known before anything runs.
    Presence(Span, Names, String),
    TooLarge(Span),
    TooDeep(Span),
}

impl<'d> Expansion<'d> {
    /// At most so many parts are put in.
    pub(super) fn new(definitions: &'d Definitions, left: usize, limits: &'d EvalLimits) -> Self {
        Self {
            definitions,
            limits,
            left,
            bound: Vec::new(),
            problems: Vec::new(),
            known: Vec::new(),
            broken: false,
        }
    }

    /// How many parts may still be put in.
    pub(super) fn left(&self) -> usize {
        self.left
    }

    /// Puts into an expression what its names stand for.
    pub(super) fn expand(&mut self, expr: &mut Expr) {
        self.walk(expr, 0);
    }

    /// Whether each name was found, and a finding for each that was not.
    pub(super) fn end(self, text: &Embedded) -> (bool, Vec<Diagnostic>) {
        let is_whole = self.problems.is_empty() && !self.broken;
        let findings = self.problems.iter().map(|problem| match problem {
            Problem::Unknown(span, names, name) => {
                let near = nearest(name, self.definitions.known(*names));
                messages::unknown_name(text.locate(*span), *names, name, near)
            }
            Problem::NotNamed(span, names) => {
                messages::not_named(text.locate(*span), *names, self.definitions.known(*names))
            }
            Problem::Presence(span, names, name) => {
                messages::presence_of_name(text.locate(*span), *names, name)
            }
            Problem::TooLarge(span) => {
                messages::variables_too_large(text.locate(*span), self.limits.max_plan_nodes)
            }
            Problem::TooDeep(span) => messages::variables_too_deep(text.locate(*span), self.limits.max_depth),
        });
        (is_whole, findings.collect())
    }

    /// A finding about an expression, with the place of the variable that it is about, if it is about one.
    pub(super) fn explain(&self, at: Span, finding: Diagnostic) -> Diagnostic {
        match self.known.iter().find(|(span, ..)| *span == at) {
            Some((_, names, definition, name)) => {
                let root = names.root();
                finding.related(definition.place.clone(), format!("`{root}.{name}` stands for this"))
            }
            None => finding,
        }
    }

    /// Parts that read values of parameters, directly or by a variable. Such a part may be constant on purpose.
    pub(super) fn values_read(&self) -> Vec<ValuesRead> {
        let read = self.known.iter().filter(|(_, _, definition, _)| !definition.values.is_empty());
        read.map(|(span, _, definition, _)| ValuesRead { span: *span, values: definition.values.clone() })
            .collect()
    }

    fn walk(&mut self, expr: &mut Expr, level: usize) {
        let (names, name) = match reference(expr, &self.bound) {
            Reference::To(names, name) => (names, name.to_owned()),
            Reference::Other(names) => return self.problems.push(Problem::NotNamed(expr.span, names)),
            Reference::Presence(names, name) => {
                let problem = match self.definitions.get(names, name) {
                    Some(_) => Problem::Presence(expr.span, names, name.to_owned()),
                    None => Problem::Unknown(expr.span, names, name.to_owned()),
                };
                return self.problems.push(problem);
            }
            Reference::Nothing => return self.walk_parts(expr, level.saturating_add(1)),
        };
        let Some(definition) = self.definitions.get(names, &name) else {
            return self.problems.push(Problem::Unknown(expr.span, names, name));
        };
        definition.note_read();
        let Some(value) = &definition.stands_for else {
            self.broken = true;
            return;
        };
        let Some(left) = self.left.checked_sub(parts(value)) else {
            return self.problems.push(Problem::TooLarge(expr.span));
        };
        if level.saturating_add(levels(value)) > self.limits.max_depth {
            return self.problems.push(Problem::TooDeep(expr.span));
        }
        self.left = left;
        let (id, span) = (expr.id, expr.span);
        *expr = value.clone();
        expr.id = id;
        expr.place_at(span);
        free(expr, &self.bound, &mut Vec::new());
        self.known.push((span, names, definition, name));
    }

    fn walk_parts(&mut self, expr: &mut Expr, level: usize) {
        let outside = self.bound.len();
        match &mut expr.kind {
            ExprKind::Comprehension(loops) => {
                self.walk(&mut loops.range, level);
                self.bound.push(loops.variable.text.clone());
                self.bound.extend(loops.second.iter().map(|second| second.text.clone()));
                loops.filter.iter_mut().for_each(|filter| self.walk(filter, level));
                self.walk(&mut loops.body, level);
            }
            ExprKind::Bind { variable, value: outer, body }
            | ExprKind::OptMap { operand: outer, variable, body, .. } => {
                self.walk(outer, level);
                self.bound.push(variable.text.clone());
                self.walk(body, level);
            }
            _ => expr.for_each_part_mut(&mut |part| self.walk(part, level)),
        }
        self.bound.truncate(outside);
    }
}

fn parts(expr: &Expr) -> usize {
    let mut count: usize = 1;
    expr.for_each_part(&mut |part| count = count.saturating_add(parts(part)));
    count
}

fn levels(expr: &Expr) -> usize {
    let mut below: usize = 0;
    expr.for_each_part(&mut |part| below = below.max(levels(part)));
    below.saturating_add(1)
}

/// Keeps the names of an expression free of the variables of macros that stand around it now: they mean what they meant where
/// it was written. `own` are the variables of its own macros.
fn free(expr: &mut Expr, around: &[String], own: &mut Vec<String>) {
    let outside = own.len();
    match &mut expr.kind {
        ExprKind::Ident { name, absolute } => {
            *absolute |= around.contains(name) && !own.contains(name);
        }
        ExprKind::Comprehension(loops) => {
            free(&mut loops.range, around, own);
            own.push(loops.variable.text.clone());
            own.extend(loops.second.iter().map(|second| second.text.clone()));
            loops.filter.iter_mut().for_each(|filter| free(filter, around, own));
            free(&mut loops.body, around, own);
        }
        ExprKind::Bind { variable, value: outer, body }
        | ExprKind::OptMap { operand: outer, variable, body, .. } => {
            free(outer, around, own);
            own.push(variable.text.clone());
            free(body, around, own);
        }
        _ => expr.for_each_part_mut(&mut |part| free(part, around, own)),
    }
    own.truncate(outside);
}
