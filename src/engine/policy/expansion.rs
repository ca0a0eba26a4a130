//! Puts what names stand for in their place: `variables.paid` becomes the expression of the variable, `parameters.cap` a literal, `expressions.over(x)` the named
//! expression with `x` in the place of its parameter.
//!
//! In: a parsed expression of a policy, before it is checked, and the names of the policy. Out: the same without these names, and
//! findings about those that the policy does not have. What is put in gets the characters of the name, so that a caret
//! points at what the author of the expression wrote. It is as if the author had written the variable's text there: types, read
//! sets, kept outcomes and indexes see through it. A variable of a macro never captures a name of what is put in. Linear
//! in what comes out, which `max_plan_nodes` and `max_depth` bound.

use super::definitions::{Definition, Definitions, Names, ValuesRead};
use super::messages;
use super::substitution::{occurrences, substitute};
use crate::cel::{Expr, ExprKind, Literal, Type};
use crate::context::Root;
use crate::diagnostic::{Diagnostic, nearest};
use crate::limits::EvalLimits;
use crate::source::{Embedded, Span};
use std::sync::Arc;

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

/// A name of a policy that an expression reads.
pub(super) struct NameRead {
    /// The characters of the whole part that reads it.
    pub(super) span: Span,
    /// Which names it is one of.
    pub(super) names: Names,
    /// The use whose policy has the named expression; its own policy without one.
    pub(super) library: Option<String>,
    /// The name.
    pub(super) name: String,
    /// The arguments, as written.
    pub(super) arguments: Vec<Expr>,
}

/// The names of the policy that an expression reads.
pub(super) fn names_read(expr: &Expr) -> Vec<NameRead> {
    fn collect(expr: &Expr, found: &mut Vec<NameRead>) {
        let read = |names, library: Option<&str>, name: &str, arguments: &[Expr]| NameRead {
            span: expr.span,
            names,
            library: library.map(str::to_owned),
            name: name.to_owned(),
            arguments: arguments.to_vec(),
        };
        match reference(expr, &[]) {
            Reference::To(names, name) | Reference::Presence(names, name) => {
                found.push(read(names, None, name, &[]));
            }
            Reference::Call { library, name, arguments } => {
                found.push(read(Names::Expressions, library, name, arguments));
                arguments.iter().for_each(|argument| collect(argument, found));
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
    /// `expressions.within_cap(input.amount)`, `expressions.money.within_cap(input.amount)`
    Call {
        /// The use whose policy has the expression; its own policy without one.
        library: Option<&'e str>,
        name: &'e str,
        arguments: &'e [Expr],
    },
    /// `variables` in any other way.
    Other(Names),
    /// Anything else.
    Nothing,
}

/// `bound` are the variables of the macros around.
fn reference<'e>(expr: &'e Expr, bound: &[String]) -> Reference<'e> {
    let root = |expr: &'e Expr| {
        let ExprKind::Ident { name, absolute } = &expr.kind else { return None };
        let is_free = *absolute || !bound.iter().any(|known| known == name);
        Names::ALL.into_iter().find(|names| is_free && names.root() == name)
    };
    if let ExprKind::Call { function, target: Some(target), args } = &expr.kind {
        let call = |library| Reference::Call { library, name: &function.text, arguments: args };
        return match root(target) {
            Some(Names::Expressions) => call(None),
            Some(names) => Reference::Other(names),
            None => match use_of(target, &root) {
                Some(library) => call(Some(library)),
                None => Reference::Nothing,
            },
        };
    }
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

/// The name of a use in `expressions.money` or `expressions['money']`.
fn use_of<'e>(expr: &'e Expr, root: &impl Fn(&'e Expr) -> Option<Names>) -> Option<&'e str> {
    let (operand, name) = match &expr.kind {
        ExprKind::Select { operand, field, optional: false } => (operand, field.text.as_str()),
        ExprKind::Index { operand, index, optional: false } => match &index.kind {
            ExprKind::Literal(Literal::String(name)) => (operand, name.as_str()),
            _ => return None,
        },
        _ => return None,
    };
    (root(operand) == Some(Names::Expressions)).then_some(name)
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
    known: Vec<PutIn<'d>>,
    /// The arguments of calls of named expressions.
    arguments: Vec<Argument>,
    /// Whether a variable was named whose own text is wrong.
    broken: bool,
}

/// An argument of a call of a named expression.
pub(super) struct Argument {
    /// Its characters.
    pub(super) span: Span,
    /// The named expression.
    pub(super) of: String,
    /// The parameter.
    pub(super) parameter: Arc<str>,
    /// The declared type.
    pub(super) ty: Type,
    /// Whether the author of the call wrote a constant.
    pub(super) is_literal: bool,
}

/// A name that was put in.
struct PutIn<'d> {
    span: Span,
    names: Names,
    name: String,
    definition: &'d Definition,
}

enum Problem {
    /// The policy has no variable or parameter of this name.
    Unknown(Span, Names, String),
    /// No use of the policy, or more than one, has this name.
    UnknownUse(Span, String),
    /// A policy in `uses` has no named expression of this name.
    UnknownOfUse(Span, String, String),
    /// A call with so many arguments where so many are declared.
    Count(Span, String, usize, usize),
    /// A named expression of another policy that reads what that policy alone has.
    OfOther(Span, String, Root),
    /// An argument that asks for a review.
    Asks(Span),
    /// A named expression that is not called.
    NotCalled(Span, String),
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
            arguments: Vec::new(),
            broken: false,
        }
    }

    /// The same where these variables are known around the expression.
    pub(super) fn within(self, bound: Vec<String>) -> Self {
        Self { bound, ..self }
    }

    /// The arguments of the named expressions that were put in.
    pub(super) fn arguments(&self) -> &[Argument] {
        &self.arguments
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
            Problem::UnknownUse(span, name) => {
                let known = self.definitions.libraries.iter();
                let is_ambiguous = matches!(self.definitions.libraries.get(&**name), Some(None));
                let known = known.filter(|(_, of)| of.is_some()).map(|(name, _)| &**name);
                messages::unknown_use(text.locate(*span), name, is_ambiguous, nearest(name, known))
            }
            Problem::UnknownOfUse(span, library, name) => {
                let known = self.definitions.library(Some(library));
                let known = known.into_iter().flat_map(|of| of.known(Names::Expressions));
                messages::unknown_of_use(text.locate(*span), library, name, nearest(name, known))
            }
            Problem::Count(span, name, expected, found) => {
                messages::argument_count(text.locate(*span), name, *expected, *found)
            }
            Problem::OfOther(span, name, root) => messages::own_of_use(text.locate(*span), name, *root),
            Problem::Asks(span) => messages::impure_variable(text.locate(*span), Names::Expressions),
            Problem::NotCalled(span, name) => messages::not_called(text.locate(*span), name),
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
        match self.known.iter().find(|known| known.span == at) {
            Some(PutIn { names, name, definition, .. }) => {
                let root = names.root();
                finding.value(definition.place.clone(), &format!("{root}.{name}"))
            }
            None => finding,
        }
    }

    /// Parts that read values of parameters, directly or by another name. Such a part may be constant on purpose.
    pub(super) fn values_read(&self) -> Vec<ValuesRead> {
        let read = self.known.iter().filter(|known| !known.definition.values.is_empty());
        read.map(|known| ValuesRead { span: known.span, values: known.definition.values.clone() }).collect()
    }

    /// Whether these are the characters of a call of a named expression, or of an argument: what is always the same in its value is so by the arguments.
    pub(super) fn is_call(&self, span: Span) -> bool {
        self.arguments.iter().any(|argument| argument.span == span)
            || self.known.iter().any(|known| known.names == Names::Expressions && known.span == span)
    }

    /// Whether these are the characters of a constant that is an argument of a call of a named expression.
    pub(super) fn is_literal_argument(&self, span: Span) -> bool {
        self.arguments.iter().any(|argument| argument.span == span && argument.is_literal)
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
            Reference::Call { library, name, .. } => {
                let (library, name) = (library.map(str::to_owned), name.to_owned());
                return self.call(expr, library.as_deref(), &name, level);
            }
            Reference::Nothing => return self.walk_parts(expr, level.saturating_add(1)),
        };
        if names == Names::Expressions {
            return self.problems.push(Problem::NotCalled(expr.span, name));
        }
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
        self.known.push(PutIn { span, names, name, definition });
    }

    /// Puts a named expression in the place of its call.
    fn call(&mut self, expr: &mut Expr, library: Option<&str>, name: &str, level: usize) {
        let ExprKind::Call { args, .. } = &mut expr.kind else { return };
        let literals: Vec<bool> =
            args.iter().map(|argument| matches!(argument.kind, ExprKind::Literal(_))).collect();
        args.iter_mut().for_each(|argument| self.walk(argument, level.saturating_add(1)));
        let (id, span) = (expr.id, expr.span);
        if let Some(asked) = args.iter().find_map(asking) {
            return self.problems.push(Problem::Asks(asked));
        }
        let Some(of) = self.definitions.library(library) else {
            let library = library.unwrap_or_default().to_owned();
            return self.problems.push(Problem::UnknownUse(span, library));
        };
        let Some(definition) = of.get(Names::Expressions, name) else {
            return self.problems.push(match library {
                Some(library) => Problem::UnknownOfUse(span, library.to_owned(), name.to_owned()),
                None => Problem::Unknown(span, Names::Expressions, name.to_owned()),
            });
        };
        let called = library.map_or_else(|| name.to_owned(), |library| format!("{library}.{name}"));
        definition.note_read();
        let Definition { stands_for, parameters, reads_own, .. } = definition;
        if args.len() != parameters.len() {
            return self.problems.push(Problem::Count(span, called, parameters.len(), args.len()));
        }
        if let Some(root) = reads_own.filter(|_| library.is_some()) {
            return self.problems.push(Problem::OfOther(span, called, root));
        }
        let Some(value) = stands_for else {
            self.broken = true;
            return;
        };
        let arguments: Vec<(Arc<str>, Expr)> =
            parameters.iter().map(|(name, _)| name.clone()).zip(std::mem::take(args)).collect();
        let size = arguments.iter().fold(parts(value), |size, (name, argument)| {
            let times = occurrences(value, name, &mut Vec::new());
            size.saturating_add(times.saturating_mul(parts(argument)))
        });
        let Some(left) = self.left.checked_sub(size) else {
            return self.problems.push(Problem::TooLarge(span));
        };
        let deepest = arguments.iter().map(|(_, argument)| levels(argument)).max().unwrap_or_default();
        if level.saturating_add(levels(value)).saturating_add(deepest) > self.limits.max_depth {
            return self.problems.push(Problem::TooDeep(span));
        }
        self.left = left;
        for (((name, argument), (_, ty)), is_literal) in arguments.iter().zip(parameters).zip(literals) {
            self.arguments.push(Argument {
                span: argument.span,
                of: called.clone(),
                parameter: name.clone(),
                ty: ty.clone(),
                is_literal,
            });
        }
        *expr = value.clone();
        expr.place_at(span);
        substitute(expr, &arguments, &self.bound);
        expr.id = id;
        self.known.push(PutIn { span, names: Names::Expressions, name: called, definition });
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
