//! Two sets of policies side by side: for each operation of each agent whether anything is decided otherwise.
//!
//! In: manifests, linked, of before and after. Out: for each operation `none`, where the rules are the same to the letter; a witness for each direction in which
//! a difference was found, run through both engines; or `unknown`. That no difference was found proves nothing, so `none` is never claimed for that.
//!
//! | module | what it holds |
//! |---|---|
//! | `candidates` | the values that the policies name, and those beside them |
//! | `search` | tasks and calls made of them, through both engines |

mod candidates;
mod search;

pub use search::{Outcome, Witness};

use crate::engine::Engine;
use crate::limits::EngineLimits;
use crate::manifest::Catalog;
use crate::policy::Policy;
use candidates::Named;
use search::Search;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::sync::Arc;

/// What is known of the difference in one operation.
#[derive(Clone, Debug, PartialEq)]
pub enum Difference {
    /// Everything that decides is the same.
    None,
    /// At least one witness was found.
    Found {
        /// What was let by is stopped now.
        stricter: Option<Box<Witness>>,
        /// What was stopped is let by now.
        looser: Option<Box<Witness>>,
        /// It goes the same way, with another value, verdict or message.
        otherwise: Option<Box<Witness>>,
    },
    /// Rules differ, and none of so many tries shows a difference.
    Unknown {
        /// How many tasks were tried.
        tried: usize,
    },
    /// The operation is new.
    Added,
    /// The operation has gone.
    Removed,
}

/// One operation of an agent.
#[derive(Clone, Debug, PartialEq)]
pub struct OperationDifference {
    /// The agent: `namespace/name`.
    pub agent: String,
    /// The operation: `input`, `output`, `before`, `after` of a function.
    pub operation: &'static str,
    /// The function, of a call.
    pub function: Option<String>,
    /// What is known.
    pub difference: Difference,
}

/// Compares the operations of all agents. An agent that is not valid on one side counts as not there.
///
/// # Cost
/// For each operation whose rules differ at most some thousand decisions on each side.
#[must_use]
pub fn compare(old: &Catalog, new: &Catalog, limits: EngineLimits) -> Vec<OperationDifference> {
    let engines = [Engine::from_catalog(old, limits).0, Engine::from_catalog(new, limits).0];
    let names = |catalog: &Catalog| -> Vec<(String, String)> {
        let agents = catalog.agents().iter().map(|resolved| &resolved.agent);
        agents.map(|agent| (agent.namespace.text.to_string(), agent.name.text.to_string())).collect()
    };
    let all: BTreeSet<(String, String)> = names(old).into_iter().chain(names(new)).collect();
    let mut found = Vec::new();
    for (namespace, name) in all {
        let [before, after] = [&engines[0], &engines[1]].map(|engine| engine.policy(&namespace, &name).ok());
        let agent = format!("{namespace}/{name}");
        let mut named = Named::default();
        for catalog in [old, new] {
            if let Some(resolved) = catalog.agent(&namespace, &name) {
                named.add(resolved, &limits);
            }
        }
        let search =
            Search { engines: [&engines[0], &engines[1]], agent: (&namespace, &name), named: &named };
        found.extend(operations(&agent, before.as_ref(), after.as_ref(), &search));
    }
    found
}

fn operations(
    agent: &str,
    old: Option<&Arc<Policy>>,
    new: Option<&Arc<Policy>>,
    search: &Search<'_>,
) -> Vec<OperationDifference> {
    let at = |operation, function: Option<&str>, difference| OperationDifference {
        agent: agent.to_owned(),
        operation,
        function: function.map(str::to_owned),
        difference,
    };
    let functions = |policy: Option<&Arc<Policy>>| -> BTreeSet<String> {
        let functions = policy.into_iter().flat_map(|policy| policy.functions());
        functions.filter(|function| function.offered).map(|function| function.key.to_string()).collect()
    };
    let (of_old, of_new) = (functions(old), functions(new));
    let mut found = Vec::new();
    for operation in ["input", "output"] {
        let difference = match (old, new) {
            (Some(old), Some(new)) if old.rules_of_messages() == new.rules_of_messages() => Difference::None,
            (Some(_), Some(_)) => search.message(operation),
            (None, _) => Difference::Added,
            (_, None) => Difference::Removed,
        };
        found.push(at(operation, None, difference));
    }
    for function in of_old.union(&of_new) {
        for (position, operation) in ["before", "after"].into_iter().enumerate() {
            let difference = match (of_old.contains(function), of_new.contains(function)) {
                (false, _) => Difference::Added,
                (_, false) => Difference::Removed,
                _ => {
                    let rules = |policy: Option<&Arc<Policy>>| {
                        policy?.rules_of_calls(function)?.get(position).copied()
                    };
                    let (old, new) = (rules(old), rules(new));
                    if old.is_some() && old == new {
                        Difference::None
                    } else {
                        search.call(operation, function)
                    }
                }
            };
            found.push(at(operation, Some(function), difference));
        }
    }
    found
}

impl Difference {
    /// In one word.
    #[must_use]
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Found { .. } => "found",
            Self::Unknown { .. } => "unknown",
            Self::Added => "added",
            Self::Removed => "removed",
        }
    }

    /// The witnesses with the direction of each.
    pub fn witnesses(&self) -> impl Iterator<Item = (&'static str, &Witness)> {
        let all = match self {
            Self::Found { stricter, looser, otherwise } => [
                ("stricter", stricter.as_deref()),
                ("looser", looser.as_deref()),
                ("otherwise", otherwise.as_deref()),
            ],
            _ => [("stricter", None), ("looser", None), ("otherwise", None)],
        };
        all.into_iter().filter_map(|(direction, witness)| Some((direction, witness?)))
    }
}

impl OperationDifference {
    /// As JSON: `agent`, `operation`, `function`, `difference`, `witnesses`.
    #[must_use]
    pub fn to_json(&self) -> Value {
        let witnesses = self.difference.witnesses().map(|(direction, witness)| {
            let mut shown = witness.to_json();
            if let Some(members) = shown.as_object_mut() {
                members.insert("direction".to_owned(), direction.into());
            }
            shown
        });
        json!({
            "agent": self.agent,
            "operation": self.operation,
            "function": self.function,
            "difference": self.difference.as_str(),
            "witnesses": witnesses.collect::<Vec<_>>(),
        })
    }
}
