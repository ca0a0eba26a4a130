//! What is decided of one expression: parts that are never true, never false, or fail whatever the input is.
//!
//! In: a checked expression. Out: [`Verdict`]s, each about the smallest part of which it holds, with the clauses that it takes. None
//! rests on the solver alone: the part is run on up to [`MAX_RUNS`] inputs at the bounds of the cells, and a run that says otherwise
//! takes the verdict back. Macros are looked into, each predicate on its own.

use super::cells::{Cell, Trial, two};
use super::formula::{Form, MAX_CLAUSES, Node, NodeKind, Questions, SECOND, VARIABLE};
use super::problem::{Problem, Truth};
use crate::cel::{
    Activation, Checked, Comprehension, ComprehensionKind, Env, EnvBuilder, Expr, ExprKind, LANGUAGE, Name,
    Program, Type, Value,
};
use crate::limits::EvalLimits;
use crate::source::Span;

/// Inputs on which a part is run before anything is said of it.
const MAX_RUNS: usize = 256;

/// What holds of a part, whatever the input is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Claim {
    NeverTrue,
    NeverFalse,
    AlwaysFails,
}

/// A part of which something holds, and the clauses because of which it does.
#[derive(Clone, Debug)]
pub(super) struct Verdict {
    pub(super) claim: Claim,
    pub(super) span: Span,
    pub(super) reasons: Vec<Span>,
    /// Whether it holds of what the schemas of arguments let by, and not of every value of their types.
    pub(super) by_schema: bool,
    /// Whether it holds of the whole expression.
    pub(super) is_whole: bool,
}

/// What was decided of an expression.
#[derive(Clone, Debug, Default)]
pub(super) struct Decided {
    pub(super) verdicts: Vec<Verdict>,
    /// The clauses, and whether their answers are known for every input.
    pub(super) clauses: Vec<(Span, bool)>,
    /// Verdicts that a run has contradicted, which are faults of this analysis.
    pub(super) contradicted: usize,
}

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
    decided.verdicts.extend(bare.verdicts);
    decided.verdicts.sort_by_key(|found| found.span.start);
    decided.contradicted = decided.contradicted.saturating_add(bare.contradicted);
    decided
}

fn all_parts(checked: &Checked, trial: &mut Trial, limits: &EvalLimits) -> Decided {
    let mut decided = Decided::default();
    let mut questions = Questions::default();
    let node = questions.read(checked);
    put(checked, &checked.expr, (&questions, &node), (trial, limits), &mut decided);
    predicates(checked, &checked.expr, (trial, limits), &mut decided);
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
        let is_predicate = matches!(
            kind,
            ComprehensionKind::All
                | ComprehensionKind::Exists
                | ComprehensionKind::ExistsOne
                | ComprehensionKind::Filter
        );
        for predicate in filter.iter().chain(is_predicate.then_some(body)) {
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
    for (clause, is_known) in questions.clauses.iter().zip(&problem.is_decided) {
        decided.clauses.push((clause.span, *is_known));
    }
    let mut found = Vec::new();
    look(node, &mut problem, &mut found);
    for (node, claim, reasons) in found {
        let is_whole = expr.id == checked.expr.id && node.id == expr.id;
        let Some(part) = part_of(expr, node) else { continue };
        if is_contradicted(part, (questions, node, claim), &problem, limits, is_whole) {
            decided.contradicted = decided.contradicted.saturating_add(1);
            continue;
        }
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

/// Finds the smallest parts of which something holds.
fn look<'n>(node: &'n Node, problem: &mut Problem, found: &mut Vec<(&'n Node, Claim, Vec<usize>)>) {
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
            node.parts().iter().for_each(|part| look(part, problem, found));
            return;
        }
    };
    let before = found.len();
    node.parts().iter().for_each(|part| look(part, problem, found));
    if found.len() == before {
        let reasons = problem.reasons(&[refuted], &clauses);
        found.push((node, claim, reasons));
    }
}

fn part_of<'e>(expr: &'e Expr, node: &Node) -> Option<&'e Expr> {
    if expr.id == node.id {
        return Some(expr);
    }
    let mut found = None;
    expr.for_each_part(&mut |part| {
        if found.is_none() {
            found = part_of(part, node);
        }
    });
    found
}

/// Whether a run at the bounds of the cells says otherwise.
fn is_contradicted(
    part: &Expr,
    (questions, node, claim): (&Questions, &Node, Claim),
    problem: &Problem,
    limits: &EvalLimits,
    at_root: bool,
) -> bool {
    let mut clauses = Vec::new();
    node.clauses(&mut clauses);
    let mut subjects: Vec<usize> =
        clauses.iter().filter_map(|at| Some(questions.clauses.get(*at)?.subject)).collect();
    subjects.sort_unstable();
    subjects.dedup();
    if subjects.last() == Some(&usize::MAX) {
        // a host would have to answer
        return false;
    }
    let name = |subject: usize| format!("{VARIABLE}{subject}");
    let builder = subjects.iter().fold(Env::builder().limits(*limits), |builder, subject| {
        let builder = builder.optional_variable(&name(*subject), Type::Dyn);
        builder.optional_variable(&second(&name(*subject)), Type::Dyn)
    });
    let env = LANGUAGE.iter().copied().fold(builder, EnvBuilder::library).build();
    let program =
        Program::compile_rewritten(&env, &name(subjects.first().copied().unwrap_or_default()), |expr| {
            *expr = part.clone();
            substitute(expr, questions, &clauses);
        });
    let Ok(program) = program else { return false };
    let mut choice = vec![0_usize; subjects.len()];
    for _ in 0..MAX_RUNS {
        let mut activation = Activation::new(&env);
        let mut is_an_input = true;
        for (subject, cell) in subjects.iter().zip(&choice) {
            match problem.cells.get(*subject).and_then(|cells| cells.cells.get(*cell)) {
                Some(Cell::Value(sample)) => {
                    activation = activation.with(&env, &name(*subject), sample.value());
                }
                Some(Cell::Two(order)) => {
                    let [one, other] = two(*order);
                    activation = activation.with(&env, &name(*subject), one);
                    activation = activation.with(&env, &second(&name(*subject)), other);
                }
                Some(Cell::Absent) => {}
                _ => is_an_input = false,
            }
        }
        if is_an_input {
            let truth = if at_root {
                program.holds(&activation, None).ok()
            } else {
                match program.run(&activation, None) {
                    Ok(Value::Bool(truth)) => Some(truth),
                    _ => None,
                }
            };
            let otherwise = match claim {
                Claim::NeverTrue => truth == Some(true),
                Claim::NeverFalse => truth == Some(false),
                Claim::AlwaysFails => truth.is_some(),
            };
            // an input in which a path and its beginning do not go together is none
            let goes_together = !subjects.iter().any(|subject| {
                questions.subjects.get(*subject).is_some_and(|subject| !subject.beginnings.is_empty())
            }) || subjects.len() < 2
                || !shares_beginnings(questions, &subjects);
            if otherwise && goes_together {
                return true;
            }
        }
        // the next combination, the first subject turning fastest
        let mut turned = false;
        for (at, subject) in choice.iter_mut().zip(&subjects) {
            let cells = problem.cells.get(*subject).map_or(0, |cells| cells.cells.len());
            *at = at.saturating_add(1);
            if *at < cells {
                turned = true;
                break;
            }
            *at = 0;
        }
        if !turned {
            break;
        }
    }
    false
}

fn shares_beginnings(questions: &Questions, subjects: &[usize]) -> bool {
    let of = |subject: &usize| questions.subjects.get(*subject);
    subjects
        .iter()
        .filter_map(of)
        .any(|subject| subjects.iter().filter_map(of).any(|other| other.beginnings.contains(&subject.key)))
}

/// Puts variables in the place of the subjects of clauses.
fn substitute(expr: &mut Expr, questions: &Questions, clauses: &[usize]) {
    let own = clauses.iter().filter_map(|at| questions.clauses.get(*at)).find(|clause| clause.id == expr.id);
    let Some(clause) = own else {
        expr.for_each_part_mut(&mut |part| substitute(part, questions, clauses));
        return;
    };
    let name = format!("{VARIABLE}{}", clause.subject);
    if matches!(clause.form, Form::Has) {
        expr.kind = ExprKind::HasVariable(Name { text: name, span: expr.span });
        return;
    }
    expr.kind = clause.asked.kind.clone();
    rename(expr, &name);
}

fn second(name: &str) -> String {
    format!("{name}_second")
}

fn rename(expr: &mut Expr, to: &str) {
    if let ExprKind::Ident { name, .. } = &mut expr.kind {
        match name.as_str() {
            VARIABLE => to.clone_into(name),
            SECOND => *name = second(to),
            _ => {}
        }
    }
    expr.for_each_part_mut(&mut |part| rename(part, to));
}
