//! Constants of a list that are equal to nothing that is looked for in it: `timestamp(now).getDayOfWeek() in [6, 7]`, as Sunday is 0.
//!
//! In: a checked expression. Out: [`Verdict`]s about such constants, each with what is looked for. A list of which this holds as a whole is never true, and is told of as such. One
//! question for each constant of a list of at most [`MAX_MEMBERS`].

use super::cells::Trial;
use super::claim::{Claim, Decided, Verdict};
use super::counterexample::Counterexamples;
use super::problem::Problem;
use super::questions::Questions;
use super::sample::constant;
use super::subject::Subject;
use super::written::with;
use crate::cel::{Checked, Element, Expr, ExprKind};
use crate::limits::EvalLimits;

/// The most constants of a list that are asked for one by one.
const MAX_MEMBERS: usize = 64;

/// Looks for such constants in an expression and its parts.
pub(super) fn look(
    checked: &Checked,
    expr: &Expr,
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
    let mut parts = Vec::new();
    expr.for_each_part(&mut |part| parts.push(part));
    for part in parts {
        look(checked, part, (&mut *trial, limits), decided);
    }
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
