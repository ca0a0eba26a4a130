//! Finds in the predicate of a loop the comparison by which most elements can be left out.
//!
//! In: the steps of the predicate. Out: a [`Correlation`], if one of the clauses compares a part of each element with a value
//! that no element changes. An element for which that clause decides the predicate needs no other look: `false && …` is
//! false whatever else fails, and so is `true || …` true. A question to the host is asked for each element in turn, so a
//! predicate with one is none of these. Linear in the predicate.

use super::node::{Correlation, Local, Node, NodeId};
use super::question::Question;
use crate::value::FoldId;
use std::ops::RangeInclusive;

/// The comparison in a predicate, whose steps begin at `inside`; `first` is the variable of the loop.
pub(super) fn correlation(nodes: &[Node], inside: usize, body: NodeId, first: Local) -> Option<Correlation> {
    if nodes.get(inside..)?.iter().any(|node| matches!(node, Node::Host { .. })) {
        return None;
    }
    let (clauses, otherwise): (Vec<NodeId>, bool) = match nodes.get(body.0 as usize)? {
        Node::And(clauses) => (clauses.iter().map(|clause| clause.step).collect(), false),
        Node::Or(clauses) => (clauses.iter().map(|clause| clause.step).collect(), true),
        Node::Equal(..) => (vec![body], false),
        Node::NotEqual(..) => (vec![body], true),
        _ => return None,
    };
    let steps = Steps { nodes, first };
    let mut from = inside;
    let mut found = None;
    let mut others = Vec::new();
    for clause in clauses {
        let own = from..=clause.0 as usize;
        from = own.end().saturating_add(1);
        match steps.compared(clause, otherwise, *own.start()) {
            Some(sides) if found.is_none() => found = Some(sides),
            _ if steps.is_plain(own) => others.push(clause),
            _ => {}
        }
    }
    let (key, value) = found?;
    Some(Correlation { id: FoldId::next(), key, value, otherwise, others: others.into() })
}

pub(super) struct Steps<'n> {
    pub(super) nodes: &'n [Node],
    pub(super) first: Local,
}

impl Steps<'_> {
    /// The part of the element and the value that a clause compares; its steps begin at `from`, those of the left side first.
    fn compared(&self, clause: NodeId, otherwise: bool, from: usize) -> Option<(NodeId, NodeId)> {
        let (left, right) = match (self.nodes.get(clause.0 as usize)?, otherwise) {
            (&Node::Equal(left, right), false) | (&Node::NotEqual(left, right), true) => (left, right),
            _ => return None,
        };
        let of_left = from..=left.0 as usize;
        let of_right = of_left.end().saturating_add(1)..=right.0 as usize;
        if self.is_part(of_left.clone()) && self.is_outside(of_right.clone()) {
            Some((left, right))
        } else if self.is_part(of_right) && self.is_outside(of_left) {
            Some((right, left))
        } else {
            None
        }
    }

    fn all(&self, steps: RangeInclusive<usize>, is: impl Fn(&Node) -> bool) -> bool {
        self.nodes.get(steps).is_some_and(|nodes| nodes.iter().all(is))
    }

    /// Whether steps lead to a part of the element and to nothing else.
    fn is_part(&self, steps: RangeInclusive<usize>) -> bool {
        let begins =
            matches!(self.nodes.get(*steps.start()), Some(Node::Local(local)) if *local == self.first);
        let leads = |node: &Node| match node {
            Node::Local(local) => *local == self.first,
            Node::Field { .. } | Node::Member { .. } | Node::Index { .. } | Node::Constant(_) => true,
            _ => false,
        };
        begins && self.all(steps, leads)
    }

    /// Whether steps read no variable of the loop.
    pub(super) fn is_outside(&self, steps: RangeInclusive<usize>) -> bool {
        self.all(steps, |node| !matches!(node, Node::Local(local) if local.0 >= self.first.0))
    }

    /// Whether steps are questions about the element alone, none of which costs more than what is written there.
    fn is_plain(&self, steps: RangeInclusive<usize>) -> bool {
        self.all(steps, |node| match node {
            Node::Local(local) => *local == self.first,
            Node::Ask { question, .. } => !matches!(question, Question::Matches(_)),
            Node::Field { .. }
            | Node::Member { .. }
            | Node::Index { .. }
            | Node::Constant(_)
            | Node::Not(_)
            | Node::And(_)
            | Node::Or(_) => true,
            _ => false,
        })
    }
}
