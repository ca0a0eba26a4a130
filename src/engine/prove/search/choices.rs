//! The arguments that are tried, and the ways in which a call may go.
//!
//! In: what was let by and what was not. Out: for each function the arguments that go on, few of them: of those that differ in amounts alone the heaviest and the lightest first.

use crate::prove::operations::{Callable, outline, weight};
use crate::prove::play::Move;
use serde_json::{Map, Value};

/// The ways in which a call may go: those who are asked approve, or not; of one call also other results.
pub(super) fn moves(callable: &Callable, arguments: &Map<String, Value>, is_first: bool) -> Vec<Move> {
    let call = |approves, result: Option<&Value>| Move {
        function: callable.key.clone(),
        arguments: arguments.clone(),
        approves,
        result: result.cloned(),
        is_evaluated: callable.is_evaluated,
    };
    let first = callable.results.first();
    let mut all = vec![call(true, first), call(false, first)];
    if is_first && !callable.is_evaluated {
        all.extend(callable.results.iter().skip(1).map(|result| call(true, Some(result))));
        all.push(call(true, None));
    }
    all
}

/// The arguments of a function that were let by, and some that were not.
#[derive(Default)]
pub(super) struct Passed {
    pub(super) allowed: Vec<Map<String, Value>>,
    refused: Vec<Map<String, Value>>,
}

impl Passed {
    pub(super) fn note(&mut self, arguments: &Map<String, Value>, is_allowed: bool) {
        if is_allowed {
            if self.allowed.last() != Some(arguments) && self.allowed.len() < 2_000 {
                self.allowed.push(arguments.clone());
            }
        } else if self.refused.len() < 2 {
            self.refused.push(arguments.clone());
        }
    }

    /// What is to be tried around the heaviest arguments that were let by.
    pub(super) fn further(&self, callable: &Callable, most: usize) -> Vec<Map<String, Value>> {
        let heaviest = self.allowed.iter().max_by(|one, two| weight(one).total_cmp(&weight(two)));
        heaviest.map(|arguments| callable.around(arguments, most)).unwrap_or_default()
    }

    /// What is tried behind the first call: of arguments that differ in amounts alone the heaviest, then the lightest, then those between; of each such
    /// kind in turn, in the order in which they came.
    pub(super) fn narrow(&self, choices: &mut Vec<Map<String, Value>>, most: usize) {
        if self.allowed.is_empty() {
            choices.truncate(most.saturating_mul(2));
            return;
        }
        let mut kinds: Vec<(String, Vec<&Map<String, Value>>)> = Vec::new();
        for arguments in &self.allowed {
            let kind = outline(arguments);
            match kinds.iter_mut().find(|(known, _)| *known == kind) {
                Some((_, alike)) => alike.push(arguments),
                None => kinds.push((kind, vec![arguments])),
            }
        }
        for (_, alike) in &mut kinds {
            alike.sort_by(|one, two| weight(two).total_cmp(&weight(one)));
            alike.dedup();
            // the lightest is second
            if let Some(lightest) = alike.pop() {
                alike.insert(alike.len().min(1), lightest);
            }
        }
        let longest = kinds.iter().map(|(_, alike)| alike.len()).max().unwrap_or_default();
        let mut kept: Vec<Map<String, Value>> = Vec::new();
        for place in 0..longest {
            kept.extend(kinds.iter().filter_map(|(_, alike)| alike.get(place)).map(|it| (*it).clone()));
        }
        kept.truncate(most.saturating_sub(1));
        kept.extend(self.refused.first().cloned());
        *choices = kept;
    }
}
