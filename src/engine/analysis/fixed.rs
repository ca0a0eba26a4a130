//! What follows of a list or a text that is equal to a constant: every question about it alone is answered by a run.
//!
//! In: the clauses of an expression. Out: the answers that other clauses have where `p == ['a', 'b']` is true. Numbers are left out: what is equal to `5` may be written `5.0`. Quadratic in the
//! clauses, for at most [`MAX_CONSTANTS`] constants.

use super::cells::{Answer, Trial};
use super::path::{asks_host, function, is_path, key, part};
use super::questions::{Clause, Form, Questions, VARIABLE};
use super::sample::{Sample, constant};
use crate::cel::{Checked, Expr, ExprKind, Reference, Type};

/// The most constants of one expression that are looked at.
const MAX_CONSTANTS: usize = 16;

/// The answer of a clause where another one has an answer.
#[derive(Clone, Copy)]
pub(super) struct Implied {
    pub(super) given: (usize, bool),
    pub(super) clause: usize,
    pub(super) answer: Answer,
}

/// A path that a clause compares with a constant.
struct Fixed<'e> {
    clause: usize,
    /// The answer of the clause where they are equal.
    answer: bool,
    path: String,
    constant: &'e Expr,
}

/// What the clauses of an expression say of each other because of paths that are compared with constants.
pub(super) fn implied(checked: &Checked, questions: &Questions, trial: &Trial) -> Vec<Implied> {
    let clauses = questions.clauses.iter().enumerate();
    let fixed = clauses.filter_map(|(at, clause)| fixed(checked, at, clause)).take(MAX_CONSTANTS);
    let mut found = Vec::new();
    for Fixed { clause: given, answer: is_equal, path, constant } in fixed {
        for (clause, asked) in questions.clauses.iter().enumerate().filter(|(at, _)| *at != given) {
            let Some(expr) = about(checked, questions, asked, (&path, constant)) else { continue };
            let at_root = matches!(asked.form, Form::Truth { at_root: true });
            let Some(answer) = trial.answer_of(&expr, at_root) else { continue };
            found.push(Implied { given: (given, is_equal), clause, answer });
        }
    }
    found
}

fn fixed<'e>(checked: &'e Checked, clause: usize, Clause { id, .. }: &Clause) -> Option<Fixed<'e>> {
    let expr = part(&checked.expr, *id)?;
    let ExprKind::Call { target: None, args, .. } = &expr.kind else { return None };
    let answer = match function(checked, expr)?.0 {
        "_==_" => true,
        "_!=_" => false,
        _ => return None,
    };
    let path = args.iter().find(|it| is_path(checked, it))?;
    let is_text = |expr: &Expr| matches!(constant(expr), Some(Sample::Text(_)));
    let is_constant = |expr: &&Expr| match &expr.kind {
        ExprKind::List(elements) => elements.iter().all(|it| !it.optional && is_text(&it.value)),
        // a time is equal to a text, too
        _ => is_text(expr) && *checked.type_of(path.id) == Type::String,
    };
    let constant = args.iter().find(is_constant)?;
    Some(Fixed { clause, answer, path: key(checked, path), constant })
}

/// What a clause asks, with a constant in the place of a path; nothing if it asks about anything else, too.
fn about(
    checked: &Checked,
    questions: &Questions,
    clause: &Clause,
    (path, constant): (&str, &Expr),
) -> Option<Expr> {
    if questions.subjects.get(clause.subject).is_some_and(|subject| subject.key == path) {
        let mut asked = clause.asked.clone();
        put(
            &mut asked,
            &|expr| matches!(&expr.kind, ExprKind::Ident { name, .. } if name == VARIABLE),
            constant,
        );
        return (!matches!(clause.form, Form::Has)).then_some(asked);
    }
    let mut asked = part(&checked.expr, clause.id)?.clone();
    let reads_it = reads(checked, &asked, path) && !asks_host(checked, &asked);
    if !reads_it || !reads_alone(checked, &asked, path) {
        return None;
    }
    put(&mut asked, &|expr| is_path(checked, expr) && key(checked, expr) == path, constant);
    Some(asked)
}

/// Whether an expression reads a path.
fn reads(checked: &Checked, expr: &Expr, path: &str) -> bool {
    let mut reads_it = is_path(checked, expr) && key(checked, expr) == path;
    expr.for_each_part(&mut |part| reads_it = reads_it || reads(checked, part, path));
    reads_it
}

/// Whether an expression reads nothing but a path.
fn reads_alone(checked: &Checked, expr: &Expr, path: &str) -> bool {
    if is_path(checked, expr) && key(checked, expr) == path {
        return true;
    }
    if matches!(&expr.kind, ExprKind::Ident { .. })
        && matches!(checked.reference(expr.id), Some(Reference::Variable(_)))
    {
        return false;
    }
    let mut alone = !matches!(expr.kind, ExprKind::Has { .. });
    expr.for_each_part(&mut |part| alone = alone && reads_alone(checked, part, path));
    alone
}

/// Puts a constant in the place of what is equal to it.
fn put(expr: &mut Expr, is_it: &dyn Fn(&Expr) -> bool, constant: &Expr) {
    if is_it(expr) {
        *expr = constant.clone();
    } else {
        expr.for_each_part_mut(&mut |part| put(part, is_it, constant));
    }
}
