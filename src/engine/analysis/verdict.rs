//! What is decided of one expression: parts that are never true, never false, or fail whatever the input is, and operands that decide nothing.
//!
//! In: a checked expression. Out: [`Verdict`]s, each about the smallest part of which it holds, with the clauses that it takes. None
//! rests on the solver alone: the part is run on up to [`MAX_RUNS`] inputs at the bounds of the cells, and a run that says otherwise
//! takes the verdict back. Macros are looked into, each predicate on its own.

use super::cells::{Cell, Trial, two};
use super::formula::{Form, MAX_CLAUSES, Node, NodeKind, Questions, SECOND, VARIABLE};
use super::problem::{Problem, Truth};
use super::sat::Literal;
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
    /// The operands beside it answer the same without it.
    Moot,
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
    // a part that a schema makes moot is one that it holds, which is told where it stands alone
    decided.verdicts.retain(|found| found.claim != Claim::Moot);
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
    look(node, None, &mut problem, &mut found);
    for Found { node, claim, reasons, chain } in found {
        let is_whole = expr.id == checked.expr.id && node.id == expr.id;
        let Some(part) = part_of(expr, chain.unwrap_or(node)) else { continue };
        let is_contradicted = match Trials::of(questions, chain.unwrap_or(node), &problem, limits) {
            None => false,
            Some(trials) => match claim {
                Claim::Moot => trials.differ(part, &without(part, node)),
                claim => trials.contradict(part, claim, is_whole),
            },
        };
        if is_contradicted {
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

/// A part of which something holds, by its node.
struct Found<'n> {
    node: &'n Node,
    claim: Claim,
    reasons: Vec<usize>,
    /// Of an operand that decides nothing: all that it stands among.
    chain: Option<&'n Node>,
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
                found.extend(moot(node, &clauses, problem));
            }
            return;
        }
    };
    let before = found.len();
    node.parts().iter().for_each(|part| look(part, Some(node), problem, found));
    if found.len() == before {
        let reasons = problem.reasons(&[refuted], &clauses);
        found.push(Found { node, claim, reasons, chain: None });
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
        let differing = [[yes, !whole.yes], [!yes, whole.yes], [no, !whole.no], [!no, whole.no]];
        if differing.iter().all(|differs| problem.can_hold(differs, clauses) == Some(false)) {
            let mut own = Vec::new();
            node.clauses(&mut own);
            let refuted = if is_all { [yes, !whole.yes] } else { [no, !whole.no] };
            let mut reasons = problem.reasons(&refuted, clauses);
            reasons.retain(|clause| !own.contains(clause));
            return Some(Found { node, claim: Claim::Moot, reasons, chain: Some(chain) });
        }
    }
    None
}

/// A chain of `&&` or `||` without one operand.
fn without(chain: &Expr, operand: &Node) -> Expr {
    let mut rest = chain.clone();
    leave_out(&mut rest, operand);
    rest
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

/// Runs of parts at the bounds of the cells.
struct Trials<'t> {
    questions: &'t Questions,
    problem: &'t Problem,
    clauses: Vec<usize>,
    subjects: Vec<usize>,
    env: Env,
}

impl<'t> Trials<'t> {
    /// Those of a part; nothing if a host would have to answer.
    fn of(questions: &'t Questions, node: &Node, problem: &'t Problem, limits: &EvalLimits) -> Option<Self> {
        let mut clauses = Vec::new();
        node.clauses(&mut clauses);
        let mut subjects: Vec<usize> =
            clauses.iter().filter_map(|at| Some(questions.clauses.get(*at)?.subject)).collect();
        subjects.sort_unstable();
        subjects.dedup();
        if subjects.last() == Some(&usize::MAX) {
            return None;
        }
        let builder = subjects.iter().fold(Env::builder().limits(*limits), |builder, subject| {
            let builder = builder.optional_variable(&named(*subject), Type::Dyn);
            builder.optional_variable(&second(&named(*subject)), Type::Dyn)
        });
        let env = LANGUAGE.iter().copied().fold(builder, EnvBuilder::library).build();
        Some(Self { questions, problem, clauses, subjects, env })
    }

    /// A part with variables in the place of what it asks about.
    fn program(&self, part: &Expr) -> Option<Program> {
        let any = named(self.subjects.first().copied().unwrap_or_default());
        let program = Program::compile_rewritten(&self.env, &any, |expr| {
            *expr = part.clone();
            substitute(expr, self.questions, &self.clauses);
        });
        program.ok()
    }

    /// Whether a run says otherwise.
    fn contradict(&self, part: &Expr, claim: Claim, at_root: bool) -> bool {
        let Some(program) = self.program(part) else { return false };
        self.any(|activation| {
            let truth = truth(&program, activation, at_root);
            match claim {
                Claim::NeverTrue => truth == Some(true),
                Claim::NeverFalse => truth == Some(false),
                Claim::AlwaysFails => truth.is_some(),
                Claim::Moot => false,
            }
        })
    }

    /// Whether two parts answer some input differently.
    fn differ(&self, one: &Expr, other: &Expr) -> bool {
        let (Some(one), Some(other)) = (self.program(one), self.program(other)) else { return false };
        self.any(|activation| truth(&one, activation, false) != truth(&other, activation, false))
    }

    /// Whether something is so for one of up to [`MAX_RUNS`] inputs.
    fn any(&self, is_so: impl Fn(&Activation<'_>) -> bool) -> bool {
        let Self { questions, problem, subjects, env, .. } = self;
        // an input in which a path and its beginning do not go together is none
        let goes_together = !subjects.iter().any(|subject| {
            questions.subjects.get(*subject).is_some_and(|subject| !subject.beginnings.is_empty())
        }) || subjects.len() < 2
            || !shares_beginnings(questions, subjects);
        if !goes_together {
            return false;
        }
        let mut choice = vec![0_usize; subjects.len()];
        for _ in 0..MAX_RUNS {
            let mut activation = Activation::new(env);
            let mut is_an_input = true;
            for (subject, cell) in subjects.iter().zip(&choice) {
                match problem.cells.get(*subject).and_then(|cells| cells.cells.get(*cell)) {
                    Some(Cell::Value(sample)) => {
                        activation = activation.with(env, &named(*subject), sample.value());
                    }
                    Some(Cell::Two(order)) => {
                        let [one, other] = two(*order);
                        activation = activation.with(env, &named(*subject), one);
                        activation = activation.with(env, &second(&named(*subject)), other);
                    }
                    Some(Cell::Absent) => {}
                    _ => is_an_input = false,
                }
            }
            if is_an_input && is_so(&activation) {
                return true;
            }
            // the next combination, the first subject turning fastest
            let mut turned = false;
            for (at, subject) in choice.iter_mut().zip(subjects) {
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
}

/// What a run says. At the root of an expression anything has a truth (`CEL-14`).
fn truth(program: &Program, activation: &Activation<'_>, at_root: bool) -> Option<bool> {
    if at_root {
        return program.holds(activation, None).ok();
    }
    match program.run(activation, None) {
        Ok(Value::Bool(truth)) => Some(truth),
        _ => None,
    }
}

/// The variable in the place of a subject.
fn named(subject: usize) -> String {
    format!("{VARIABLE}{subject}")
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
    let name = named(clause.subject);
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
