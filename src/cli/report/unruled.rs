//! The tools that no step is for, and those that no manifest names.
//!
//! In: manifests, and the functions that were called. Out: each function that an agent offers its model and that no step
//! mentions, with how often it was called; and each function that was called and that no agent has.

use super::tally::Tally;
use celador::Engine;
use celador::manifest::Catalog;
use celador::manifest::mode::Mode;
use std::collections::BTreeSet;

/// What no rule speaks of.
#[derive(Debug, Default)]
pub(super) struct Unruled {
    /// Those that were called most first.
    pub(super) without_steps: Vec<Tool>,
    pub(super) undeclared: Vec<(String, u64)>,
}

/// A function of an agent.
#[derive(Debug)]
pub(super) struct Tool {
    pub(super) agent: String,
    pub(super) function: String,
    pub(super) calls: u64,
}

pub(super) fn find(catalog: &Catalog, engine: &Engine, tally: &Tally) -> Unruled {
    let mut unruled = Unruled::default();
    let mut declared = BTreeSet::new();
    let calls_of = |names: [&str; 2]| {
        let calls = tally.calls().filter(|(function, _)| names.contains(function));
        calls.fold(0_u64, |sum, (_, calls)| sum.saturating_add(calls))
    };
    for resolved in catalog.agents() {
        let (namespace, name) = (&*resolved.agent.namespace.text, &*resolved.agent.name.text);
        let Ok(policy) = engine.policy(namespace, name) else { continue };
        let unmentioned = resolved.unmentioned(Mode::Observe);
        let unmentioned: Vec<&str> = unmentioned
            .iter()
            .filter_map(|at| resolved.function(*at))
            .map(|(_, function)| function.key.as_str())
            .collect();
        for function in policy.functions() {
            declared.extend([function.key.to_string(), function.called.to_string()]);
            if function.offered && unmentioned.contains(&&*function.key) {
                let calls = calls_of([&*function.key, &*function.called]);
                let agent = format!("{namespace}/{name}");
                unruled.without_steps.push(Tool { agent, function: function.called.to_string(), calls });
            }
        }
    }
    unruled.without_steps.sort_by_key(|tool| std::cmp::Reverse(tool.calls));
    let others = tally.calls().filter(|(function, _)| !declared.contains(*function));
    unruled.undeclared = others.map(|(function, calls)| (function.to_owned(), calls)).collect();
    unruled.undeclared.sort_by_key(|(_, calls)| std::cmp::Reverse(*calls));
    unruled
}
