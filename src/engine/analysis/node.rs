//! The tree of an expression that says yes or no: its leaves are clauses, which `&&`, `||`, `!` and `? :` put together.

use crate::cel::ExprId;
use crate::source::Span;

/// A part of an expression that says yes or no.
#[derive(Clone, Debug)]
pub(super) struct Node {
    pub(super) span: Span,
    pub(super) id: ExprId,
    pub(super) kind: NodeKind,
}

#[derive(Clone, Debug)]
pub(super) enum NodeKind {
    Constant(bool),
    /// A clause, by its position.
    Clause(usize),
    Not(Box<Node>),
    /// What says the same as its part.
    Same(Box<Node>),
    And(Box<[Node; 2]>),
    Or(Box<[Node; 2]>),
    If(Box<[Node; 3]>),
}

impl Node {
    /// Its parts.
    pub(super) fn parts(&self) -> &[Node] {
        match &self.kind {
            NodeKind::Constant(_) | NodeKind::Clause(_) => &[],
            NodeKind::Not(operand) | NodeKind::Same(operand) => std::slice::from_ref(operand),
            NodeKind::And(operands) | NodeKind::Or(operands) => &**operands,
            NodeKind::If(parts) => &**parts,
        }
    }

    /// The same part, with so many clauses ahead of its own.
    pub(super) fn behind(&self, clauses: usize) -> Self {
        let behind = |part: &Self| part.behind(clauses);
        let kind = match &self.kind {
            NodeKind::Constant(value) => NodeKind::Constant(*value),
            NodeKind::Clause(clause) => NodeKind::Clause(clause.saturating_add(clauses)),
            NodeKind::Not(operand) => NodeKind::Not(Box::new(behind(operand))),
            NodeKind::Same(operand) => NodeKind::Same(Box::new(behind(operand))),
            NodeKind::And(operands) => NodeKind::And(Box::new(operands.each_ref().map(behind))),
            NodeKind::Or(operands) => NodeKind::Or(Box::new(operands.each_ref().map(behind))),
            NodeKind::If(parts) => NodeKind::If(Box::new(parts.each_ref().map(behind))),
        };
        Self { kind, ..*self }
    }

    /// How many parts it is made of.
    pub(super) fn size(&self) -> usize {
        self.parts().iter().fold(1, |size: usize, part| size.saturating_add(part.size()))
    }

    /// Whether this and an operand of it are one chain of `&&`, or of `||`.
    pub(super) fn is_chained(&self, operand: &Self) -> bool {
        matches!(
            (&self.kind, &operand.kind),
            (NodeKind::And(_), NodeKind::And(_)) | (NodeKind::Or(_), NodeKind::Or(_))
        )
    }

    /// The operands of a chain of `&&` or `||`; of anything else, itself.
    pub(super) fn operands<'n>(&'n self, found: &mut Vec<&'n Self>) {
        let (NodeKind::And(operands) | NodeKind::Or(operands)) = &self.kind else {
            found.push(self);
            return;
        };
        for operand in &**operands {
            if self.is_chained(operand) {
                operand.operands(found);
            } else {
                found.push(operand);
            }
        }
    }

    /// The clauses in it.
    pub(super) fn clauses(&self, found: &mut Vec<usize>) {
        if let NodeKind::Clause(clause) = self.kind {
            found.push(clause);
        }
        self.parts().iter().for_each(|part| part.clauses(found));
    }
}
