//! Parts that are decided where an expression gets to them: a branch of `? :` that its condition contradicts, the condition of a `? :` within
//! another one, an operand of `||` that the operands of an `&&` around it contradict.
//!
//! In: the parts of an expression, and the problem in which they have truths. Out: the parts that are never true, or never false, for any input with which
//! they are reached, and the parts around them because of which they are not. A part is reached where each operand beside it in an `&&` is true, and each
//! condition ahead of it has the answer that leads to it: elsewhere the expression has the same answer, or fails, without the part. One question to the
//! solver for each answer of a part, at most [`MAX_PARTS`] parts.

use super::node::{Node, NodeKind};
use super::problem::Problem;
use super::sat::Literal;

/// The most parts of one expression that are asked about.
const MAX_PARTS: usize = 64;

/// A part that never has one of its answers where it is reached.
pub(super) struct Settled<'n> {
    pub(super) node: &'n Node,
    /// The answer that it never has.
    pub(super) never: bool,
    pub(super) reasons: Vec<usize>,
    /// With what it is reached: the parts around it, and the answer of each.
    pub(super) path: Path<'n>,
}

/// Parts, and the answer that each has.
pub(super) type Path<'n> = Vec<(&'n Node, bool)>;

/// The smallest parts of an expression that are settled where it gets to them.
pub(super) fn settled<'n>(root: &'n Node, problem: &mut Problem) -> Vec<Settled<'n>> {
    let mut search = Search { problem, asked: 0, found: Vec::new() };
    search.within(root, &Vec::new());
    search.found
}

struct Search<'n, 'p> {
    problem: &'p mut Problem,
    asked: usize,
    found: Vec<Settled<'n>>,
}

impl<'n> Search<'n, '_> {
    /// Looks at what a part is made of.
    fn within(&mut self, node: &'n Node, path: &Path<'n>) {
        match &node.kind {
            NodeKind::Constant(_) | NodeKind::Clause(_) => {}
            NodeKind::Not(operand) | NodeKind::Same(operand) => self.within(operand, path),
            NodeKind::And(_) => {
                let mut operands = Vec::new();
                node.operands(&mut operands);
                for (at, operand) in operands.iter().enumerate() {
                    let others = operands.iter().enumerate().filter(|(other, _)| *other != at);
                    self.within(operand, &joined(path, others.map(|(_, other)| (*other, true))));
                }
            }
            NodeKind::Or(_) => {
                let mut operands = Vec::new();
                node.operands(&mut operands);
                for operand in operands {
                    // an operand that is true for each of these inputs makes the whole `||` decide nothing, which is told of the whole
                    self.part(operand, path, &[true]);
                }
            }
            NodeKind::If(parts) => {
                let [condition, then, otherwise] = &**parts;
                // `a == b` stands as `a ? b : !b`, and what is said of `b` in one place does not hold in the other one
                if then.id == otherwise.id {
                    return;
                }
                self.part(condition, path, &[true, false]);
                self.part(then, &joined(path, [(condition, true)]), &[true, false]);
                self.part(otherwise, &joined(path, [(condition, false)]), &[true, false]);
            }
        }
    }

    /// Asks whether a part that is reached in this way ever has these answers, if nothing in it is settled.
    fn part(&mut self, node: &'n Node, path: &Path<'n>, answers: &[bool]) {
        let before = self.found.len();
        self.within(node, path);
        let is_constant = matches!(node.kind, NodeKind::Constant(_));
        // with nothing around it, it has been asked already
        if self.found.len() > before || is_constant || path.is_empty() {
            return;
        }
        self.asked = self.asked.saturating_add(1);
        if self.asked > MAX_PARTS {
            return;
        }
        let mut clauses = Vec::new();
        path.iter().map(|(around, _)| *around).chain([node]).for_each(|part| part.clauses(&mut clauses));
        clauses.sort_unstable();
        clauses.dedup();
        let reached = self.assumed(path);
        for never in answers {
            let asked: Vec<Literal> = reached.iter().copied().chain([self.answer(node, *never)]).collect();
            // a part that is never reached says nothing of itself
            if self.problem.can_hold(&asked, &clauses) == Some(false)
                && self.problem.can_hold(&reached, &clauses) == Some(true)
            {
                let reasons = self.problem.reasons(&asked, &clauses);
                self.found.push(Settled { node, never: *never, reasons, path: path.clone() });
                return;
            }
        }
    }

    fn assumed(&mut self, path: &Path<'n>) -> Vec<Literal> {
        path.iter().map(|(around, answer)| self.answer(around, *answer)).collect()
    }

    /// That a part has an answer.
    fn answer(&mut self, node: &'n Node, answer: bool) -> Literal {
        let truth = self.problem.truth(node);
        if answer { truth.yes } else { truth.no }
    }
}

fn joined<'n>(path: &Path<'n>, more: impl IntoIterator<Item = (&'n Node, bool)>) -> Path<'n> {
    path.iter().copied().chain(more).collect()
}
