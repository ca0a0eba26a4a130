//! What the parts of an expression came to in one evaluation, as the walk has told it.
//!
//! In: a plan, and the notes of a walk over it. Out: for people the parts as a tree, each with its value, and those that the walk did not come to; for counts
//! what each clause came to and whether it decided. Nothing is evaluated here. Values are those of the evaluation, borrowed where it borrowed them: they
//! are data of a task, and whoever shows them has to know which of them may be shown. Linear in the notes.

use super::error::{Halt, Stop};
use super::watch::{Note, Noted, Notes};
use super::{EvalError, tally};
use crate::limits::EvalLimits;
use crate::plan::{Node, NodeId, Plan};
use crate::source::Span;
use crate::value::Value;

/// What happened in one evaluation; see [`Program::run_recorded`](crate::Program::run_recorded).
///
/// ```
/// use celador_cel::{
///     Activation, CameTo, Env, EnvBuilder, EvaluatedPart, Program, Remembered, STANDARD, SeenClause, Type, Value,
/// };
///
/// let scope = Env::builder().variable("amount", Type::Int);
/// let env = STANDARD.iter().copied().fold(scope, EnvBuilder::library).build();
/// let program = Program::compile(&env, "amount > 0 && (amount <= 1000 || amount % 100 == 0)").unwrap();
/// let activation = Activation::new(&env).with(&env, "amount", Value::Int(1250));
///
/// let (result, _, recording) = program.run_recorded(&activation, None, &mut Remembered::default());
/// assert!(matches!(result, Ok(Value::Bool(false))));
/// let text = |span: celador_cel::source::Span| &program.source()[span.range()];
/// let clauses: Vec<SeenClause> = recording.clauses(true);
/// assert_eq!(clauses.iter().map(|clause| (clause.held, clause.held_not)).collect::<Vec<_>>(), [(1, 0), (0, 1), (0, 1)]);
/// let deciding = clauses.iter().filter(|clause| clause.decided);
/// assert_eq!(deciding.map(|clause| text(clause.span)).collect::<Vec<_>>(), ["amount <= 1000", "amount % 100 == 0"]);
///
/// let tree: EvaluatedPart<'_> = recording.tree();
/// assert!(matches!(tree.parts[0].came_to, CameTo::Value(Value::Bool(true))));
/// assert_eq!(text(tree.parts[0].span), "amount > 0");
/// ```
#[derive(Debug)]
pub struct Recording<'a> {
    plan: &'a Plan,
    limits: EvalLimits,
    notes: Notes<'a>,
}

/// A part of an expression.
#[derive(Clone, Debug)]
pub struct EvaluatedPart<'a> {
    /// Its characters in the expression.
    pub span: Span,
    /// What it came to.
    pub came_to: CameTo<'a>,
    /// Whether the result came of it: with another truth of this part, the whole would have been another one.
    pub decides: bool,
    /// What it is made of, in the order in which it was evaluated. Constants, and paths to values that were found, have no parts.
    pub parts: Vec<Self>,
}

/// What came of a part.
#[derive(Clone, Debug)]
pub enum CameTo<'a> {
    /// A value.
    Value(Value<'a>),
    /// It failed, itself.
    Failed(EvalError),
    /// It failed because a part of it did.
    FailedBelow,
    /// The host has to answer first.
    Asked,
    /// The evaluation did not come to it.
    Skipped,
    /// A round of a loop, whose variables had these values: the element or key, and of a macro with two variables the value.
    Round([Option<Value<'a>>; 2]),
    /// So many rounds of a loop that are not kept.
    Rounds(usize),
    /// More than is kept.
    Cut,
}

/// A clause, and what it came to in one evaluation: more than one thing if it stands in a loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SeenClause {
    /// Its characters in the expression.
    pub span: Span,
    /// How often it was true.
    pub held: usize,
    /// How often it was false.
    pub held_not: usize,
    /// How often it failed.
    pub failed: usize,
    /// Whether the result came of it.
    pub decided: bool,
}

impl<'a> Recording<'a> {
    pub(super) fn new(plan: &'a Plan, limits: EvalLimits, notes: Notes<'a>) -> Self {
        Self { plan, limits, notes }
    }

    /// The parts as a tree.
    #[must_use]
    pub fn tree(&self) -> EvaluatedPart<'a> {
        let parts = self.notes.parts();
        let decides = self.decides(&parts);
        let mut tree = Tree { of: self, parts: &parts, decides: &decides }.part(0, self.plan.root);
        if self.notes.is_cut() {
            tree.parts.push(EvaluatedPart::new(Span::default(), CameTo::Cut));
        }
        tree
    }

    /// The clauses in the order in which they stand, those included that the evaluation did not come to. `is_judged` says whether the result
    /// was taken as a truth.
    #[must_use]
    pub fn clauses(&self, is_judged: bool) -> Vec<SeenClause> {
        let decides = self.decides(&self.notes.parts());
        let mut decided = vec![false; self.plan.nodes.len()];
        for (note, _) in decides.iter().enumerate().filter(|(_, decides)| **decides) {
            let step = self.step(note).and_then(|step| decided.get_mut(step.0 as usize));
            step.into_iter().for_each(|step| *step = true);
        }
        let seen = self.plan.clauses(is_judged).into_iter().map(|step| {
            let tally = self.notes.tally(step);
            let decided = decided.get(step.0 as usize).copied().unwrap_or_default();
            let (held, held_not, failed) = (tally.held, tally.held_not, tally.failed);
            SeenClause { span: self.plan.span(step), held, held_not, failed, decided }
        });
        seen.collect()
    }

    fn step(&self, note: usize) -> Option<NodeId> {
        match self.notes.get(note)?.what {
            Noted::Step { step, .. } => Some(step),
            Noted::Round { .. } => None,
        }
    }

    fn truth(&self, note: usize) -> Option<bool> {
        match self.notes.get(note)?.came {
            Some(Ok(Value::Bool(truth))) => Some(truth),
            _ => None,
        }
    }

    fn has_failed(&self, note: usize) -> bool {
        !matches!(self.notes.get(note), Some(Note { came: Some(Ok(_)), .. }))
    }

    /// Of each note, whether the result came of it. From the whole to its parts: of `&&` and `||` the clause decides that has the deciding
    /// value, and if none has, all do.
    fn decides(&self, parts: &[Vec<usize>]) -> Vec<bool> {
        let mut decides = vec![false; parts.len()];
        // a part stands behind what it is a part of
        for note in 0..parts.len() {
            let is_deciding = note == 0 || decides.get(note).copied().unwrap_or_default();
            let Some(own) = parts.get(note).filter(|_| is_deciding) else { continue };
            for deciding in self.deciding_parts(note, own) {
                decides.get_mut(deciding).into_iter().for_each(|it| *it = true);
            }
            decides.get_mut(note).into_iter().for_each(|it| *it = true);
        }
        decides
    }

    fn deciding_parts(&self, note: usize, parts: &[usize]) -> Vec<usize> {
        let all = || parts.to_vec();
        let with = |truth: bool| parts.iter().copied().find(|part| self.truth(*part) == Some(truth));
        let failed = || parts.iter().copied().filter(|part| self.has_failed(*part)).collect::<Vec<_>>();
        let Some(node) = self.step(note).and_then(|step| self.plan.node(step)) else { return all() };
        match node {
            Node::And(_) | Node::Or(_) => {
                let deciding = matches!(node, Node::Or(_));
                match (self.truth(note), with(deciding)) {
                    (Some(truth), Some(part)) if truth == deciding => vec![part],
                    (Some(_), _) => all(),
                    (None, _) => failed(),
                }
            }
            Node::Loop(inner) => match (tally::deciding(inner.kind), self.truth(note), parts.last()) {
                // the round that ended it is the last
                (Some(deciding), Some(truth), Some(last)) if truth == deciding => vec![*last],
                _ => all(),
            },
            _ => all(),
        }
    }
}

impl EvaluatedPart<'_> {
    fn new(span: Span, came_to: CameTo<'_>) -> EvaluatedPart<'_> {
        EvaluatedPart { span, came_to, decides: false, parts: Vec::new() }
    }
}

/// Makes the tree.
struct Tree<'t, 'a> {
    of: &'t Recording<'a>,
    parts: &'t [Vec<usize>],
    decides: &'t [bool],
}

impl<'a> Tree<'_, 'a> {
    /// The part that a note of a step is about.
    fn part(&self, note: usize, step: NodeId) -> EvaluatedPart<'a> {
        let span = self.of.plan.span(step);
        let Some(Note { what, came, .. }) = self.of.notes.get(note) else {
            return EvaluatedPart::new(span, CameTo::Skipped);
        };
        let own = self.parts.get(note).map(Vec::as_slice).unwrap_or_default();
        let hidden = match what {
            Noted::Step { hidden, .. } => *hidden,
            Noted::Round { .. } => 0,
        };
        let parts = match (self.of.plan.node(step), came) {
            // a path that has a value says all by itself
            (Some(node), Some(Ok(_))) if node.is_path() => Vec::new(),
            (Some(node), _) => self.parts_of(node, span, own, hidden),
            (None, _) => Vec::new(),
        };
        let came_to = match came {
            Some(Ok(value)) => CameTo::Value(value.clone()),
            Some(Err(halt)) => self.halted(*halt, step, &parts),
            None => CameTo::Cut,
        };
        EvaluatedPart { span, came_to, decides: self.decides.get(note).copied().unwrap_or_default(), parts }
    }

    fn halted(&self, halt: Halt, step: NodeId, parts: &[EvaluatedPart<'a>]) -> CameTo<'a> {
        let below = |part: &EvaluatedPart<'_>| part.has_failed();
        match halt {
            Halt::Fault(_, at) if at != step && parts.iter().any(below) => CameTo::FailedBelow,
            halt => match halt.explain(self.of.plan, &self.of.limits) {
                Stop::Failed(error) => CameTo::Failed(error),
                Stop::Asked => CameTo::Asked,
            },
        }
    }

    fn parts_of(&self, node: &'a Node, around: Span, own: &[usize], hidden: usize) -> Vec<EvaluatedPart<'a>> {
        let mut parts: Vec<EvaluatedPart<'a>> = Vec::new();
        let decision =
            matches!(node, Node::And(_) | Node::Or(_) | Node::Conditional(..) | Node::OrOptional { .. });
        if decision {
            // those that the walk did not come to are told too
            node.for_each_operand(&mut |operand| {
                // what stands for a name has its characters, and is told as the name
                if self.of.plan.span(operand) == around {
                    return;
                }
                let note = own.iter().copied().find(|note| self.of.step(*note) == Some(operand));
                parts.push(match note {
                    Some(note) => self.part(note, operand),
                    None => EvaluatedPart::new(self.of.plan.span(operand), CameTo::Skipped),
                });
            });
            return parts;
        }
        let mut hidden = Some(hidden).filter(|hidden| *hidden > 0);
        let last = own.last();
        for note in own {
            let Some(found) = self.of.notes.get(*note) else { continue };
            match &found.what {
                Noted::Step { step, .. } => {
                    let is_plain = self.of.plan.node(*step).is_some_and(Node::is_plain);
                    let has_value = matches!(found.came, Some(Ok(_)));
                    let is_same = self.of.plan.span(*step) == around;
                    if has_value && (is_plain || is_same) {
                        continue;
                    }
                    parts.push(self.part(*note, *step));
                }
                Noted::Round { variables } => {
                    if let Some(hidden) = hidden.take_if(|_| Some(note) == last) {
                        parts.push(EvaluatedPart::new(around, CameTo::Rounds(hidden)));
                    }
                    let mut round = EvaluatedPart::new(around, CameTo::Round(variables.clone()));
                    round.decides = self.decides.get(*note).copied().unwrap_or_default();
                    for part in self.parts.get(*note).into_iter().flatten() {
                        let step = self.of.step(*part);
                        round.parts.extend(step.map(|step| self.part(*part, step)));
                    }
                    parts.push(round);
                }
            }
        }
        parts
    }
}

impl EvaluatedPart<'_> {
    /// Whether it failed or, for a round, one of its parts.
    #[must_use]
    pub fn has_failed(&self) -> bool {
        match self.came_to {
            CameTo::Failed(_) | CameTo::FailedBelow => true,
            CameTo::Round(_) => self.parts.iter().any(Self::has_failed),
            _ => false,
        }
    }
}

impl Node {
    /// Whether the step finds a value at the end of a path.
    fn is_path(&self) -> bool {
        matches!(
            self,
            Self::Variable(_)
                | Self::Local(_)
                | Self::Path { .. }
                | Self::Field { .. }
                | Self::Member { .. }
                | Self::Index { .. }
                | Self::Constant(_)
        )
    }

    /// Whether the step is not worth a line: a constant, or a variable of a loop whose value the round tells.
    fn is_plain(&self) -> bool {
        matches!(self, Self::Constant(_) | Self::Local(_))
    }
}
