//! What is decided of one expression: parts that are never true, never false, or fail whatever the input is, and operands that decide nothing.
//!
//! In: a checked expression. Out: [`Verdict`]s, each about the smallest part of which it holds, with the clauses that it takes. None
//! rests on the solver alone: the part is run on [inputs](Counterexamples) at the bounds of the cells, and a run that says otherwise
//! takes the verdict back. Macros are looked into, each predicate on its own.

use super::amounts::Amounts;
use super::cells::Trial;
use super::claim::{Claim, Decided, Verdict};
use super::counterexample::Counterexamples;
use super::fixed;
use super::members;
use super::node::{Node, NodeKind};
use super::path::{is_predicate, part};
use super::problem::{Problem, Truth};
use super::questions::{MAX_CLAUSES, Questions};
use super::reached::{self, Path, Settled};
use super::sat::Literal;
use super::written::call;
use crate::cel::{Checked, Comprehension, Expr, ExprKind};
use crate::limits::EvalLimits;
use crate::source::Span;

/// Decides what can be decided of an expression.
pub(super) fn decide(checked: &Checked, trial: &mut Trial, limits: &EvalLimits) -> Decided {
    let mut decided = all_parts(checked, trial, limits);
    if decided.verdicts.is_empty() {
        return decided;
    }
    // what holds of every value of the type holds without the schemas, and is told as such
    trial.counts_facts = false;
    let bare = all_parts(checked, trial, limits);
    trial.counts_facts = true;
    let overlaps = |one: Span, two: Span| one.start < two.end && two.start < one.end;
    decided.verdicts.retain(|found| !bare.verdicts.iter().any(|bare| overlaps(bare.span, found.span)));
    decided.verdicts.iter_mut().for_each(|found| found.by_schema = true);
    // a part that decides nothing because of a schema is one that it holds, which is told where it stands alone; one that names all values that a schema
    // lets by, and the rest, is careful
    decided.verdicts.retain(|found| {
        !matches!(
            found.claim,
            Claim::Moot
                | Claim::NeverTrueHere
                | Claim::NeverFalseHere
                | Claim::NeverMember
                | Claim::NeverOfElement
                | Claim::AlwaysOfElement
        )
    });
    decided.verdicts.extend(bare.verdicts);
    decided.verdicts.sort_by_key(|found| found.span.start);
    decided.contradicted = decided.contradicted.saturating_add(bare.contradicted);
    decided
}

fn all_parts(checked: &Checked, trial: &mut Trial, limits: &EvalLimits) -> Decided {
    let mut decided = Decided::default();
    let mut questions = Questions::default();
    let node = questions.read(checked);
    put(checked, &checked.expr, (&questions, &node), (&mut *trial, limits), &mut decided);
    predicates(checked, &checked.expr, (&mut *trial, limits), &mut decided);
    members::look(checked, &checked.expr, (trial, limits), &mut decided);
    decided
}

/// Decides the predicates of macros.
fn predicates(
    checked: &Checked,
    expr: &Expr,
    (trial, limits): (&mut Trial, &EvalLimits),
    decided: &mut Decided,
) {
    if let ExprKind::Comprehension(comprehension) = &expr.kind {
        let Comprehension { kind, body, filter, .. } = &**comprehension;
        for predicate in filter.iter().chain(is_predicate(*kind).then_some(body)) {
            let mut questions = Questions::default();
            let node = questions.read_part(checked, predicate);
            put(checked, predicate, (&questions, &node), (&mut *trial, limits), decided);
        }
    }
    let mut parts = Vec::new();
    expr.for_each_part(&mut |part| parts.push(part));
    for part in parts {
        predicates(checked, part, (&mut *trial, limits), decided);
    }
}

fn put(
    checked: &Checked,
    expr: &Expr,
    (questions, node): (&Questions, &Node),
    (trial, limits): (&mut Trial, &EvalLimits),
    decided: &mut Decided,
) {
    if questions.clauses.len() > MAX_CLAUSES {
        decided.clauses.extend(questions.clauses.iter().map(|clause| (clause.span, false)));
        return;
    }
    let mut problem = Problem::new(questions, trial);
    let mut amounts = Amounts::new(None, trial.counts_facts);
    amounts.read(checked, questions, 0);
    problem.weigh_several(amounts);
    problem.imply(fixed::implied(checked, questions, trial));
    // all is asked at one time, and of one person once
    problem.answer_once(questions, |clause| clause.subject == usize::MAX);
    for (clause, is_known) in questions.clauses.iter().zip(&problem.is_decided) {
        decided.clauses.push((clause.span, *is_known));
    }
    let mut found = Vec::new();
    look(node, None, &mut problem, &mut found);
    if found.is_empty() {
        found.extend(reached::settled(node, &mut problem).into_iter().map(Found::from));
    }
    for found in found {
        let is_whole = expr.id == checked.expr.id && found.node.id == expr.id;
        let run = is_contradicted(&found, is_whole, (expr, node), (questions, &problem), limits);
        let Some(is_contradicted) = run else { continue };
        if is_contradicted {
            decided.contradicted = decided.contradicted.saturating_add(1);
            continue;
        }
        let Found { node, claim, reasons, .. } = found;
        let reasons = reasons.iter().filter_map(|clause| questions.clauses.get(*clause));
        decided.verdicts.push(Verdict {
            claim,
            span: node.span,
            reasons: reasons.map(|clause| clause.span).collect(),
            by_schema: false,
            is_whole,
        });
    }
}

/// A part of which something holds, by its node.
struct Found<'n> {
    node: &'n Node,
    claim: Claim,
    reasons: Vec<usize>,
    around: Around<'n>,
}

/// What counts beside the part, for what is claimed of it.
enum Around<'n> {
    Nothing,
    /// All that an operand or a condition that decides nothing stands among.
    Chain(&'n Node),
    /// What leads to the part.
    Path(Path<'n>),
}

impl<'n> From<Settled<'n>> for Found<'n> {
    fn from(Settled { node, never, reasons, path }: Settled<'n>) -> Self {
        let claim = if never { Claim::NeverTrueHere } else { Claim::NeverFalseHere };
        Self { node, claim, reasons, around: Around::Path(path) }
    }
}

/// Whether a run says otherwise than what was found; nothing if there is no part to be run.
fn is_contradicted(
    Found { node, claim, around, .. }: &Found<'_>,
    is_whole: bool,
    (expr, root): (&Expr, &Node),
    (questions, problem): (&Questions, &Problem),
    limits: &EvalLimits,
) -> Option<bool> {
    let inputs = |of: &Node| Counterexamples::of(questions, of, problem, limits);
    Some(match around {
        Around::Nothing => {
            let part = part(expr, node.id)?;
            inputs(node).is_some_and(|tried| tried.refute(part, is_whole, |truth| claim.is_refuted_by(truth)))
        }
        Around::Chain(chain) => {
            let [one, other] = with_and_without(part(expr, chain.id)?, node);
            inputs(chain).is_some_and(|tried| tried.differ(&one, &other))
        }
        Around::Path(path) => {
            // what is put together has the number of the whole, which is that of no clause
            let answered = |of: &Node, answer: bool| {
                let part = part(expr, of.id)?.clone();
                Some(if answer { part } else { call(expr, "!_", vec![part]) })
            };
            let mut reached = answered(node, matches!(claim, Claim::NeverTrueHere))?;
            for (part, answer) in path {
                reached = call(expr, "_&&_", vec![answered(part, *answer)?, reached]);
            }
            inputs(root).is_some_and(|tried| tried.refute(&reached, false, |truth| truth == Some(true)))
        }
    })
}

/// Finds the smallest parts of which something holds. `around` is what the node is an operand of.
fn look<'n>(node: &'n Node, around: Option<&'n Node>, problem: &mut Problem, found: &mut Vec<Found<'n>>) {
    if matches!(node.kind, NodeKind::Constant(_)) {
        return;
    }
    let mut clauses = Vec::new();
    node.clauses(&mut clauses);
    let Truth { yes, no } = problem.truth(node);
    let can_be = [yes, no].map(|answer| problem.can_hold(&[answer], &clauses));
    let (claim, refuted) = match can_be {
        [Some(false), Some(false)] => (Claim::AlwaysFails, problem.sat.any(&[yes, no])),
        [Some(false), _] => (Claim::NeverTrue, yes),
        [_, Some(false)] => (Claim::NeverFalse, no),
        _ => {
            let before = found.len();
            node.parts().iter().for_each(|part| look(part, Some(node), problem, found));
            let goes_on = around.is_some_and(|around| around.is_chained(node));
            if found.len() == before && !goes_on {
                // to ask ahead of a macro whether there is an element is careful
                problem.counts_lists = false;
                found.extend(moot(node, &clauses, problem));
                found.extend(moot_condition(node, &clauses, problem));
                problem.counts_lists = true;
            }
            return;
        }
    };
    let before = found.len();
    node.parts().iter().for_each(|part| look(part, Some(node), problem, found));
    if found.len() == before {
        let reasons = problem.reasons(&[refuted], &clauses);
        found.push(Found { node, claim, reasons, around: Around::Nothing });
    }
}

/// The most operands of one chain of `&&` or `||` of which each is left out in turn.
const MAX_OPERANDS: usize = 16;

/// The last operand of a chain of `&&` or `||` without which the others are true, false and fail for the same inputs.
fn moot<'n>(chain: &'n Node, clauses: &[usize], problem: &mut Problem) -> Option<Found<'n>> {
    let mut operands = Vec::new();
    chain.operands(&mut operands);
    if operands.len() < 2 || operands.len() > MAX_OPERANDS {
        return None;
    }
    let is_all = matches!(chain.kind, NodeKind::And(_));
    let whole = problem.truth(chain);
    let truths: Vec<Truth> = operands.iter().map(|operand| problem.truth(operand)).collect();
    for (at, node) in operands.iter().enumerate().rev() {
        let of_others = |answer: fn(&Truth) -> Literal| -> Vec<Literal> {
            let others = truths.iter().enumerate().filter(|(other, _)| *other != at);
            others.map(|(_, truth)| answer(truth)).collect()
        };
        let (yes, no) = (of_others(|truth| truth.yes), of_others(|truth| truth.no));
        let (yes, no) = match is_all {
            true => (problem.sat.all(&yes), problem.sat.any(&no)),
            false => (problem.sat.any(&yes), problem.sat.all(&no)),
        };
        if problem.are_alike(Truth { yes, no }, whole, clauses) {
            let mut own = Vec::new();
            node.clauses(&mut own);
            let refuted = if is_all { [yes, !whole.yes] } else { [no, !whole.no] };
            let mut reasons = problem.reasons(&refuted, clauses);
            reasons.retain(|clause| !own.contains(clause));
            return Some(Found { node, claim: Claim::Moot, reasons, around: Around::Chain(chain) });
        }
    }
    None
}

/// The condition of a `? :` whose branches are true, false and fail for the same inputs.
fn moot_condition<'n>(choice: &'n Node, clauses: &[usize], problem: &mut Problem) -> Option<Found<'n>> {
    let NodeKind::If(parts) = &choice.kind else { return None };
    let [condition, branches @ ..] = &**parts;
    let [one, other] = branches.each_ref().map(|branch| problem.truth(branch));
    let is_alike = problem.are_alike(one, other, clauses);
    is_alike.then(|| Found {
        node: condition,
        claim: Claim::Moot,
        reasons: Vec::new(),
        around: Around::Chain(choice),
    })
}

/// Two expressions that answer alike if the part decides nothing: a chain of `&&` or `||` with and without an operand, or the branches of the `? :`
/// whose condition it is.
fn with_and_without(whole: &Expr, part: &Node) -> [Expr; 2] {
    if let ExprKind::Call { args, .. } = &whole.kind
        && let [condition, one, other] = args.as_slice()
        && condition.id == part.id
    {
        return [one.clone(), other.clone()];
    }
    let mut rest = whole.clone();
    leave_out(&mut rest, part);
    [whole.clone(), rest]
}

fn leave_out(expr: &mut Expr, operand: &Node) {
    if let ExprKind::Call { args, .. } = &expr.kind
        && let [left, right] = args.as_slice()
        && let Some(other) = [(left, right), (right, left)].iter().find(|(own, _)| own.id == operand.id)
    {
        *expr = other.1.clone();
        return;
    }
    expr.for_each_part_mut(&mut |part| leave_out(part, operand));
}
