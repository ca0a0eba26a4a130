//! The clauses of a plan: the parts that are true or false, and of which the rest is made.
//!
//! In: a plan. Out: the steps that are clauses, in the order in which they stand. A clause is an operand of `&&`, `||` and `!`, the condition of
//! `?:`, and the predicate of a loop, as far as it is none of these itself; and each comparison, wherever it stands. A constant is none, as it is never
//! another one. What stands for a name of the host is one clause, and its inside none: it has the characters of the name. Linear in the steps.

use super::Plan;
use super::node::{LoopKind, Node, NodeId};
use crate::source::Span;

impl Plan {
    /// The clauses. `is_judged` says whether the result is taken as a truth.
    pub(crate) fn clauses(&self, is_judged: bool) -> Vec<NodeId> {
        let mut found = Vec::new();
        self.find_clauses(self.root, is_judged, None, &mut found);
        found
    }

    fn find_clauses(&self, step: NodeId, is_judged: bool, inside: Option<Span>, found: &mut Vec<NodeId>) {
        let Some(node) = self.node(step) else { return };
        let span = self.span(step);
        if inside == Some(span) {
            return;
        }
        let mut inside = inside;
        let stands_for_name = self.stands_for_name(node, span);
        let is_clause = match stands_for_name {
            true => is_judged || node.is_test(),
            false => node.is_clause(is_judged),
        };
        if is_clause {
            found.push(step);
        }
        if is_clause || stands_for_name {
            inside = Some(span);
        }
        let passes = |position: usize| node.passes_truth(position, is_judged);
        let mut position: usize = 0;
        node.for_each_operand(&mut |operand| {
            self.find_clauses(operand, passes(position), inside, found);
            position = position.saturating_add(1);
        });
    }
}

impl Plan {
    /// Whether a step was put in for a name, of which all parts have the characters.
    fn stands_for_name(&self, node: &Node, span: Span) -> bool {
        let mut found = false;
        node.for_each_operand(&mut |operand| {
            // arguments that a function is given beside those that are written have its characters
            let is_given = matches!(self.node(operand), Some(Node::Constant(_) | Node::Variable(_)));
            found = found || (!is_given && self.span(operand) == span);
        });
        found
    }
}

impl Node {
    /// Whether the step is a clause. `is_judged` says whether something asks for its truth.
    fn is_clause(&self, is_judged: bool) -> bool {
        match self {
            Self::And(_) | Self::Or(_) | Self::Not(_) | Self::Conditional(..) | Self::Constant(_) => false,
            Self::Loop(inner) if is_judged => !inner.kind.is_predicate(),
            Self::Bind { .. } | Self::Block { .. } => false,
            // a loop with a predicate of its own is made of what it asks of each element
            node => node.is_test() || is_judged,
        }
    }

    /// Whether the truth of an operand is asked for. Operands are counted in the order of [`Node::for_each_operand`].
    fn passes_truth(&self, position: usize, is_judged: bool) -> bool {
        match self {
            Self::And(_) | Self::Or(_) | Self::Not(_) => true,
            Self::Conditional(..) => position == 0 || is_judged,
            Self::Bind { .. } => position == 1 && is_judged,
            Self::Block { .. } => is_judged,
            Self::Loop(inner) => match position {
                0 => false,
                1 if inner.filter.is_some() => true,
                _ => inner.kind.is_predicate() || matches!(inner.kind, LoopKind::Filter | LoopKind::Count),
            },
            _ => false,
        }
    }

    /// Names the steps that the step is made of, in the order in which a walk comes to them.
    pub(crate) fn for_each_operand(&self, found: &mut dyn FnMut(NodeId)) {
        match self {
            Self::Constant(_)
            | Self::Variable(_)
            | Self::Local(_)
            | Self::HasVariable(_)
            | Self::Path { .. }
            | Self::Fail(_) => {}
            Self::Field { operand, .. }
            | Self::Member { operand, .. }
            | Self::OptionalMember { operand, .. }
            | Self::Ask { operand, .. }
            | Self::Not(operand)
            | Self::Negate(operand)
            | Self::Bound(_, operand)
            | Self::Block { body: operand, .. }
            | Self::Remembered { value: operand, .. } => found(*operand),
            Self::Index { operand: a, index: b }
            | Self::OptionalIndex { operand: a, index: b }
            | Self::Equal(a, b)
            | Self::NotEqual(a, b)
            | Self::Compare(_, a, b)
            | Self::Arithmetic(_, a, b)
            | Self::In(a, b)
            | Self::Test { a, b, .. }
            | Self::Bind { value: a, body: b, .. }
            | Self::MapOptional { operand: a, body: b, .. }
            | Self::OrOptional { operand: a, other: b, .. } => [*a, *b].into_iter().for_each(found),
            Self::Conditional(a, b, c) => [*a, *b, *c].into_iter().for_each(found),
            Self::And(clauses) | Self::Or(clauses) => {
                clauses.iter().map(|clause| clause.step).for_each(found)
            }
            Self::Call { args, .. } | Self::Host { args, .. } => args.iter().copied().for_each(found),
            Self::List(items) => items.iter().map(|item| item.value).for_each(found),
            Self::Map(entries) => {
                entries.iter().flat_map(|(key, item)| [*key, item.value]).for_each(found);
            }
            Self::Loop(inner) => {
                std::iter::once(inner.range).chain(inner.filter).chain([inner.body]).for_each(found);
            }
        }
    }
}

impl LoopKind {
    /// Whether the loop is true or false by what it asks of each element.
    pub(crate) fn is_predicate(self) -> bool {
        matches!(self, Self::All | Self::Exists | Self::ExistsOne)
    }
}
