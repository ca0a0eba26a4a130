//! The tasks of one length that go on.
//!
//! In: tasks. Out: few of them, so that each kind of task has one: of tasks whose calls differ in amounts alone the heaviest and the lightest, and those whose calls the
//! claims are about in turn with all others.

use super::Node;
use crate::prove::operations::outline;
use crate::task::TaskState;
use serde_json::Value;
use std::collections::{BTreeSet, HashMap};

/// Tasks whose calls differ in amounts alone.
struct Alike {
    heaviest: Node,
    lightest: Node,
}

/// The tasks that go on: of those whose calls differ in amounts alone the heaviest and the lightest. Of those with the same functions in them one, then of
/// each the next; every second place is for those with the most calls that something is claimed of.
pub(super) fn thinned(nodes: Vec<Node>, width: usize, claimed: &BTreeSet<String>) -> Vec<Node> {
    let mut kinds: HashMap<String, Alike> = HashMap::new();
    let mut order = Vec::new();
    for node in nodes {
        if node.state.task.state() != TaskState::Active {
            continue;
        }
        let kind = kind(&node);
        match kinds.get_mut(&kind) {
            Some(Alike { heaviest, .. }) if node.weight > heaviest.weight => *heaviest = node,
            Some(Alike { lightest, .. }) if node.weight < lightest.weight => *lightest = node,
            Some(_) => {}
            None => {
                kinds.insert(kind.clone(), Alike { heaviest: node.clone(), lightest: node });
                order.push(kind);
            }
        }
    }
    let mut groups: Vec<(String, [Vec<&Node>; 2])> = Vec::new();
    for Alike { heaviest, lightest } in order.iter().filter_map(|kind| kinds.get(kind)) {
        let group = group(heaviest);
        let at = groups.iter().position(|(known, _)| *known == group).unwrap_or_else(|| {
            groups.push((group, [Vec::new(), Vec::new()]));
            groups.len().saturating_sub(1)
        });
        if let Some((_, [heavy, light])) = groups.get_mut(at) {
            heavy.push(heaviest);
            light.extend(Some(lightest).filter(|it| it.weight < heaviest.weight));
        }
    }
    let mut groups: Vec<Vec<&Node>> = groups
        .into_iter()
        .map(|(_, [mut heavy, mut light])| {
            heavy.sort_by(|one, two| two.weight.total_cmp(&one.weight));
            light.sort_by(|one, two| one.weight.total_cmp(&two.weight));
            heavy.into_iter().chain(light).collect()
        })
        .collect();
    if !claimed.is_empty() {
        groups = in_turn(groups, claimed);
    }
    let longest = groups.iter().map(Vec::len).max().unwrap_or_default();
    let rounds = (0..longest).flat_map(|place| groups.iter().filter_map(move |own| own.get(place)));
    rounds.take(width).map(|node| (*node).clone()).collect()
}

/// The groups as they came, in turn with those in which the most calls were let by that something is claimed of.
fn in_turn<'n>(groups: Vec<Vec<&'n Node>>, claimed: &BTreeSet<String>) -> Vec<Vec<&'n Node>> {
    let calls = |group: &Vec<&Node>| {
        let made = group.iter().flat_map(|node| &node.state.made);
        made.filter(|made| made.is_let_by() && claimed.contains(&made.function)).count()
    };
    let mut places: Vec<usize> = (0..groups.len()).collect();
    let of = |place: &usize| {
        groups.get(*place).map(|group| calls(group).checked_div(group.len())).unwrap_or_default()
    };
    places.sort_by_key(|place| std::cmp::Reverse(of(place)));
    let both = places.into_iter().enumerate().flat_map(|(place, claimed)| [claimed, place]);
    let mut known = BTreeSet::new();
    both.filter(|place| known.insert(*place)).filter_map(|place| groups.get(place).cloned()).collect()
}

/// The functions of a task, and how its calls were decided.
fn group(node: &Node) -> String {
    let made = node.state.made.iter();
    let mut calls: Vec<String> = made
        .map(|made| {
            let failed = if made.result.as_ref().is_some_and(Value::is_null) { " and failed" } else { "" };
            format!("{} {}{failed}", made.function, made.verdict)
        })
        .collect();
    calls.sort();
    calls.join("; ")
}

fn kind(node: &Node) -> String {
    let mut calls: Vec<String> = node
        .state
        .made
        .iter()
        .map(|made| {
            let shape = made.arguments.as_object().map(outline).unwrap_or_default();
            let reviewed: Vec<String> =
                made.reviews.iter().map(|(_, approved)| approved.to_string()).collect();
            let result = made.result.as_ref().map(Value::to_string).unwrap_or_default();
            format!("{}({shape}) {} [{}] {result}", made.function, made.verdict, reviewed.join(" "))
        })
        .collect();
    calls.sort();
    format!("{} {}", node.beginning, calls.join("; "))
}
