//! Constants of a list that are equal to nothing that is looked for in it: `timestamp(now).getDayOfWeek() in [6, 7]`, as Sunday is 0.
//!
//! In: a checked expression. Out: [`Verdict`]s about such constants, each with what is looked for. A list of which this holds as a whole is never true, and is told of as such. The same of a macro over
//! constants, whose predicate has one answer for one of them: `['Drop'].exists(w, input.sql.lowerAscii().contains(w))`. One question for each constant of a list of at most [`MAX_MEMBERS`].

use super::cells::Trial;
use super::claim::{Claim, Decided, Verdict};
use super::counterexample::Counterexamples;
use super::path::mentions;
use super::problem::Problem;
use super::questions::Questions;
use super::sample::constant;
use super::spelled_out::put;
use super::subject::Subject;
use super::written::{not, with};
use crate::cel::{Checked, Comprehension, ComprehensionKind, Element, Expr, ExprKind};
use crate::limits::EvalLimits;
use crate::source::Span;

/// The most constants of a list that are asked for one by one.
const MAX_MEMBERS: usize = 64;

/// Looks for such constants in an expression and its parts.
pub(super) fn look(checked: &Checked, expr: &Expr, tried: (&mut Trial, &EvalLimits), decided: &mut Decided) {
    look_at(checked, expr, false, tried, decided);
}

/// The same; `is_inner` says whether a macro around it declares a variable, which stands for many values.
fn look_at(
    checked: &Checked,
    expr: &Expr,
    is_inner: bool,
    (trial, limits): (&mut Trial, &EvalLimits),
    decided: &mut Decided,
) {
    if let ExprKind::Call { function, target: None, args } = &expr.kind
        && let ("@in", [item, of]) = (function.text.as_str(), args.as_slice())
        && let ExprKind::List(members) = &of.kind
        && (2..=MAX_MEMBERS).contains(&members.len())
        && constant(item).is_none()
        && members.iter().all(|member| !member.optional && constant(&member.value).is_some())
        // what a schema names is compared by the checker
        && Subject::of(checked, item).is_some_and(|subject| subject.domain.is_none_or(|domain| domain.allowed.is_none()))
    {
        // the same question about a list of one
        let alone = |member: &Element| {
            let list = with(of, ExprKind::List(vec![member.clone()]));
            let args = vec![item.clone(), list];
            Expr {
                span: member.value.span,
                ..with(expr, ExprKind::Call { function: function.clone(), target: None, args })
            }
        };
        let mut answers = Vec::new();
        for member in members {
            answers.push((&member.value, is_never(checked, &alone(member), (&mut *trial, limits))));
        }
        let count = |of: Never| answers.iter().filter(|(_, answer)| *answer == of).count();
        decided.contradicted = decided.contradicted.saturating_add(count(Never::Contradicted));
        if count(Never::Yes) < members.len() {
            let never = answers.iter().filter(|(_, answer)| *answer == Never::Yes);
            decided.verdicts.extend(never.map(|(member, _)| Verdict {
                claim: Claim::NeverMember,
                span: member.span,
                reasons: vec![item.span],
                by_schema: false,
                is_whole: false,
            }));
        }
    }
    if let ExprKind::Comprehension(comprehension) = &expr.kind
        && !is_inner
    {
        elements(checked, expr, comprehension, (&mut *trial, limits), decided);
    }
    let is_inner = is_inner || declares_variable(expr);
    let mut parts = Vec::new();
    expr.for_each_part(&mut |part| parts.push(part));
    for part in parts {
        look_at(checked, part, is_inner, (&mut *trial, limits), decided);
    }
}

/// The constants of the list of a macro for which its predicate has one answer.
fn elements(
    checked: &Checked,
    expr: &Expr,
    comprehension: &Comprehension,
    (trial, limits): (&mut Trial, &EvalLimits),
    decided: &mut Decided,
) {
    let Comprehension { kind, range, variable, second: None, filter: None, body, .. } = comprehension else {
        return;
    };
    let ExprKind::List(members) = &range.kind else { return };
    let is_told = decided.verdicts.iter().any(|found| overlaps(found.span, expr.span));
    let is_asked = matches!(kind, ComprehensionKind::All | ComprehensionKind::Exists)
        && (1..=MAX_MEMBERS).contains(&members.len())
        && members.iter().all(|member| !member.optional && constant(&member.value).is_some())
        && is_flat(body)
        && mentions(body, &variable.text);
    if is_told || !is_asked {
        return;
    }
    for member in members.iter().map(|member| &member.value) {
        let mut asked = body.clone();
        put(&mut asked, &variable.text, member);
        asked.span = member.span;
        let answers = [(Claim::NeverOfElement, asked.clone()), (Claim::AlwaysOfElement, not(asked))];
        for (claim, asked) in answers {
            let answer = is_never(checked, &asked, (&mut *trial, limits));
            decided.contradicted =
                decided.contradicted.saturating_add(usize::from(answer == Never::Contradicted));
            if answer == Never::Yes {
                let reasons = vec![body.span];
                let verdict =
                    Verdict { claim, span: member.span, reasons, by_schema: false, is_whole: false };
                decided.verdicts.push(verdict);
                break;
            }
        }
    }
}

fn overlaps(one: Span, other: Span) -> bool {
    one.start < other.end && other.start < one.end
}

fn declares_variable(expr: &Expr) -> bool {
    matches!(
        expr.kind,
        ExprKind::Comprehension(_) | ExprKind::Bind { .. } | ExprKind::Block { .. } | ExprKind::OptMap { .. }
    )
}

/// Whether an expression and its parts declare no variable.
fn is_flat(expr: &Expr) -> bool {
    let mut is_flat = !declares_variable(expr);
    expr.for_each_part(&mut |part| is_flat &= self::is_flat(part));
    is_flat
}

/// Whether a question is never true.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Never {
    Yes,
    No,
    /// The solver says so, and a run says otherwise.
    Contradicted,
}

fn is_never(checked: &Checked, asked: &Expr, (trial, limits): (&mut Trial, &EvalLimits)) -> Never {
    let mut questions = Questions::default();
    let node = questions.read_part(checked, asked);
    let mut problem = Problem::new(&questions, trial);
    let truth = problem.truth(&node);
    let mut clauses = Vec::new();
    node.clauses(&mut clauses);
    if problem.can_hold(&[truth.yes], &clauses) != Some(false) {
        return Never::No;
    }
    match Counterexamples::of(&questions, &node, &problem, limits) {
        Some(tried) if tried.refute(asked, false, |truth| truth == Some(true)) => Never::Contradicted,
        Some(_) => Never::Yes,
        None => Never::No,
    }
}
