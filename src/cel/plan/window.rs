//! Finds in the predicate of a loop the clause that asks of an element whether it is late enough.
//!
//! In: the steps of the predicate, and which of them are such calls. Out: a [`Window`], if a clause is one that is about the element of the
//! loop and whose other arguments no element changes. An element for which the clause decides the predicate needs no other look, whatever else fails in it.
//! A question to the host is asked for each element in turn, so a predicate with one has no window. Linear in the predicate.

use super::correlation::Steps;
use super::node::{Local, Node, NodeId, Window};

/// The window of a predicate, whose steps begin at `inside`; `first` is the variable of the loop.
pub(super) fn window(
    nodes: &[Node],
    of_time: &[NodeId],
    inside: usize,
    body: NodeId,
    first: Local,
) -> Option<Window> {
    if of_time.is_empty() || nodes.get(inside..)?.iter().any(|node| matches!(node, Node::Host { .. })) {
        return None;
    }
    let (clauses, is_alone): (Vec<NodeId>, bool) = match nodes.get(body.0 as usize)? {
        Node::And(clauses) | Node::Or(clauses) => (clauses.iter().map(|clause| clause.step).collect(), false),
        _ => (vec![body], true),
    };
    let is_any = matches!(nodes.get(body.0 as usize), Some(Node::Or(_)));
    let is_all = matches!(nodes.get(body.0 as usize), Some(Node::And(_)));
    let steps = Steps { nodes, first };
    clauses.into_iter().find_map(|clause| {
        let (call, otherwise) = match nodes.get(clause.0 as usize)? {
            Node::Not(call) => (*call, true),
            _ => (clause, false),
        };
        let decides = is_alone || (otherwise && is_any) || (!otherwise && is_all);
        let Some(Node::Call { args, .. }) = nodes.get(call.0 as usize).filter(|_| of_time.contains(&call))
        else {
            return None;
        };
        let (element, others) = args.split_first()?;
        let is_element = matches!(nodes.get(element.0 as usize), Some(Node::Local(local)) if *local == first);
        // the steps of the others stand behind that of the element, up to the call
        let behind = (element.0 as usize).saturating_add(1)..=(others.last()?.0 as usize);
        (decides && is_element && steps.is_outside(behind)).then_some(Window { call, otherwise, is_alone })
    })
}
