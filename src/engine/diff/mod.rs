//! Two sets of policies side by side: for each operation of each agent whether anything is decided otherwise.
//!
//! In: manifests, linked, of before and after. Out: for each operation `none`, where the rules are the same but for expressions that are proved to answer alike; a witness for each direction in which
//! a difference was found, run through both engines; or `unknown`. A search that finds no difference proves nothing, so its answer is `unknown`, too. Each answer has its
//! [`Method`] and its [`Evidence`]: how many tasks were tried, and how many of them reached a rule that differs.
//!
//! | module | what it holds |
//! |---|---|
//! | `old_words` | new rules in the words of the old ones, where both say the same |
//! | `changed_steps` | the steps that differ, which a task has to reach to be evidence |
//! | `search` | tasks and calls made of them, through both engines |
//! | `model_calls` | calls of the model and their answers |
//! | `events` | events of tools |
//! | `witness` | the tasks that show a difference, and the evidence of all that were tried |
//! | `triggers` | triggers |
//! | `payloads` | payloads of events |
//! | `schedules` | schedules, and times of their runs |

mod changed_steps;
mod events;
mod model_calls;
mod old_words;
mod payloads;
mod schedules;
mod search;
mod triggers;
mod witness;

pub use crate::evidence::{Evidence, Rejection};
pub use witness::{Outcome, Witness};

use crate::candidates::{Named, brought_tools};
use crate::digest::Digest;
use crate::engine::Engine;
use crate::manifest::Catalog;
use crate::manifest::brought::{BroughtTool, bring};
use crate::manifest::catalog::ResolvedAgent;
use crate::policy::{OperationRules, Policy};
use changed_steps::{ChangedSteps, are_uncompared};
use old_words::in_old_words;
use search::Search;
use serde::Serialize;
use serde_json::{Value, json};
use std::borrow::Cow;
use std::collections::BTreeSet;
use std::sync::Arc;

/// What is known of the difference in one operation.
#[derive(Clone, Debug, PartialEq)]
pub enum Difference {
    /// Everything that decides is the same, or is proved to answer alike and no task that was tried shows a difference.
    None,
    /// At least one witness was found.
    Found {
        /// What was let by is stopped now, or what a person could let by.
        stricter: Option<Box<Witness>>,
        /// What was stopped is let by now, or by a person.
        looser: Option<Box<Witness>>,
        /// It goes as far, with another value, verdict or message.
        otherwise: Option<Box<Witness>>,
    },
    /// Rules differ, and no task that was tried shows a difference.
    Unknown,
    /// The operation is new.
    Added,
    /// The operation has gone.
    Removed,
}

/// The way in which an answer was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// The rules of both sides are the same text.
    Identical,
    /// The solver has proved that both sides answer alike.
    Proof,
    /// Tasks were tried.
    Search,
}

impl Method {
    /// The word for programs: `identical`, `proof` or `search`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Identical => "identical",
            Self::Proof => "proof",
            Self::Search => "search",
        }
    }
}

/// An answer for one operation.
#[derive(Clone, Debug, PartialEq)]
struct Answer {
    difference: Difference,
    method: Option<Method>,
    evidence: Evidence,
}

impl Answer {
    /// An answer that nothing was tried for.
    fn without_tries(difference: Difference, method: Option<Method>) -> Self {
        Self { difference, method, evidence: Evidence::default() }
    }

    /// The answer that tasks have shown, or the proof has where no task shows a difference: no proof rests on the solver alone.
    fn of_search((difference, evidence): (Difference, Evidence), is_alike: bool) -> Self {
        match difference {
            Difference::Unknown if is_alike => {
                Self { difference: Difference::None, method: Some(Method::Proof), evidence }
            }
            difference => Self { difference, method: Some(Method::Search), evidence },
        }
    }
}

/// Of how many operations something is known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Summary {
    /// All operations.
    pub operations: usize,
    /// Those that are decided otherwise.
    pub differ: usize,
    /// Those that differ in their rules, and in no task that was tried.
    pub unknown: usize,
}

/// One operation of an agent.
#[derive(Clone, Debug, PartialEq)]
pub struct OperationDifference {
    /// The agent: `namespace/name`.
    pub agent: String,
    /// The operation: `input`, `output`, `model`, `event`, `before` and `after` of a function, `trigger` and `schedule`; `brought` where rules differ that are only for
    /// tools that tasks bring, and no tool was made that they are for.
    pub operation: &'static str,
    /// The function of a call, or the name of a trigger or a schedule.
    pub function: Option<String>,
    /// What is known.
    pub difference: Difference,
    /// How that was found; nothing for an operation that is new or gone, or that no task was tried for.
    pub method: Option<Method>,
    /// The tasks that were tried: payloads for a trigger, runs for a schedule.
    pub evidence: Evidence,
}

/// A set of policies to be compared: what its manifests say, and the engine that decides by them.
#[derive(Debug)]
pub struct PolicySet {
    catalog: Catalog,
    engine: Engine,
}

impl PolicySet {
    /// The set of a catalog and the engine that was made from it.
    #[must_use]
    pub const fn new(catalog: Catalog, engine: Engine) -> Self {
        Self { catalog, engine }
    }

    fn agents(&self) -> impl Iterator<Item = (String, String)> {
        let agents = self.catalog.agents().iter().map(|resolved| &resolved.agent);
        agents.map(|agent| (agent.namespace.text.to_string(), agent.name.text.to_string()))
    }

    fn agent(&self, name: (&str, &str), tools: &[BroughtTool]) -> Option<AgentOfSet<'_>> {
        AgentOfSet::of(&self.catalog, &self.engine, name, tools)
    }
}

/// Whether it is proved that every operation of every agent, every trigger and every schedule is decided alike by both sides: their rules are the same but for expressions that answer alike.
/// The budgets of evaluations are not compared.
pub(crate) fn proved_alike(old: (&Catalog, &Engine), new: (&Catalog, &Engine)) -> bool {
    let ((old_catalog, old_engine), (new_catalog, new_engine)) = (old, new);
    old_catalog.agents().len() == new_catalog.agents().len()
        && triggers::proved_alike(old, new)
        && schedules::proved_alike(old_catalog, new_catalog)
        && old_catalog.agents().iter().all(|resolved| {
            let agent = (&*resolved.agent.namespace.text, &*resolved.agent.name.text);
            let both = [old_catalog, new_catalog].map(|catalog| catalog.agent(agent.0, agent.1));
            let both: Vec<&ResolvedAgent> = both.into_iter().flatten().collect();
            let tools = brought_tools(&both, old_engine.limits());
            let old = AgentOfSet::of(old_catalog, old_engine, agent, &tools);
            let new = AgentOfSet::of(new_catalog, new_engine, agent, &tools);
            match (old, new) {
                // what does not compile decides nothing
                (None, None) => true,
                (Some(old), Some(new)) => {
                    old.rules == new.rules
                        || new.in_words_of(&old, new_catalog, new_engine).is_some_and(|new| old.rules == new)
                }
                _ => false,
            }
        })
}

/// An agent that is valid in its set, with tools that its tasks may bring.
struct AgentOfSet<'s> {
    resolved: Cow<'s, ResolvedAgent>,
    policy: Arc<Policy>,
    rules: OperationRules,
}

impl<'s> AgentOfSet<'s> {
    fn of(
        catalog: &'s Catalog,
        engine: &Engine,
        (namespace, name): (&str, &str),
        tools: &[BroughtTool],
    ) -> Option<Self> {
        let plain = engine.policy(namespace, name).ok()?;
        let resolved = catalog.agent(namespace, name)?;
        let (mount, limits) = (catalog.mount().map(Arc::as_ref), engine.limits());
        let with_tools = || {
            let policy = engine.policy_with(namespace, name, tools).ok()?;
            let linked = bring(resolved, mount, tools, |tool| plain.refuses_tool(tool), limits).ok()?;
            Some((Cow::Owned(linked.agent), policy))
        };
        let brought = Some(tools).filter(|tools| !tools.is_empty()).and_then(|_| with_tools());
        let (resolved, policy) = brought.unwrap_or((Cow::Borrowed(resolved), plain.clone()));
        let rules = OperationRules::of(&resolved, mount, limits)?;
        Some(Self { resolved, policy, rules })
    }

    /// What its operations decide by, in the words of before where both say the same; nothing if that makes no difference.
    fn in_words_of(&self, old: &Self, catalog: &Catalog, engine: &Engine) -> Option<OperationRules> {
        let rewritten = in_old_words((&old.resolved, &old.policy), (&self.resolved, &self.policy))?;
        OperationRules::of(&rewritten, catalog.mount().map(Arc::as_ref), engine.limits())
    }

    fn functions(&self) -> BTreeSet<&str> {
        let offered = self.policy.offered_functions();
        offered.map(|function| &*function.key).collect()
    }
}

/// Compares the operations of all agents, all triggers and all schedules. What is not valid on one side counts as not there.
///
/// # Cost
/// For each operation whose rules differ at most some thousand decisions on each side.
#[must_use]
pub fn compare(old: &PolicySet, new: &PolicySet) -> Vec<OperationDifference> {
    let (old_set, new_set) = (old, new);
    let all: BTreeSet<(String, String)> = old.agents().chain(new.agents()).collect();
    let mut found = Vec::new();
    for (namespace, name) in &all {
        let agent = (&**namespace, &**name);
        let both = [old, new].map(|set| set.catalog.agent(agent.0, agent.1));
        let both: Vec<&ResolvedAgent> = both.into_iter().flatten().collect();
        let tools = brought_tools(&both, old.engine.limits());
        let sides = [old, new].map(|set| set.agent(agent, &tools));
        let mut named = Named::default();
        for (side, set) in sides.iter().zip([old, new]) {
            if let Some(side) = side {
                named.add(&side.resolved, set.engine.limits());
            }
        }
        let [old_side, new_side] = &sides;
        let resolved: Vec<&ResolvedAgent> = sides.iter().flatten().map(|side| &*side.resolved).collect();
        let policies = [old_side, new_side].map(|side| side.as_ref().map(|side| side.policy.clone()));
        let search = Search::new(([&old.engine, &new.engine], policies), agent, resolved, (&named, &tools));
        let (old, new) = (old_side, new_side);
        let said_alike = old
            .as_ref()
            .zip(new.as_ref())
            .and_then(|(old, new)| new.in_words_of(old, &new_set.catalog, &new_set.engine));
        let sides = Sides { old: old.as_ref(), new: new.as_ref(), said_alike };
        found.extend(operations(&format!("{namespace}/{name}"), &sides, &search));
    }
    for (operation, compared) in
        [("trigger", triggers::compare(old_set, new_set)), ("schedule", schedules::compare(old_set, new_set))]
    {
        found.extend(
            compared.into_iter().map(|(agent, name, answer)| answer.at(&agent, operation, Some(&name))),
        );
    }
    found
}

/// An agent on both sides.
struct Sides<'s> {
    old: Option<&'s AgentOfSet<'s>>,
    new: Option<&'s AgentOfSet<'s>>,
    /// The rules of the new side in the words of the old one, where that makes a difference.
    said_alike: Option<OperationRules>,
}

impl Sides<'_> {
    /// What is known of operations whose rules have these digests.
    fn compared(
        &self,
        digest: impl Fn(&OperationRules) -> Option<Digest>,
        tried: impl FnOnce([&AgentOfSet<'_>; 2]) -> Option<(Difference, Evidence)>,
    ) -> Answer {
        let (old, new) = match (self.old, self.new) {
            (Some(old), Some(new)) => (old, new),
            (None, _) => return Answer::without_tries(Difference::Added, None),
            (_, None) => return Answer::without_tries(Difference::Removed, None),
        };
        let before = digest(&old.rules);
        if before.is_some() && before == digest(&new.rules) {
            return Answer::without_tries(Difference::None, Some(Method::Identical));
        }
        let is_alike = before.is_some() && before == self.said_alike.as_ref().and_then(digest);
        match tried([old, new]) {
            Some(found) => Answer::of_search(found, is_alike),
            None if is_alike => Answer::without_tries(Difference::None, Some(Method::Proof)),
            None => Answer::without_tries(Difference::Unknown, None),
        }
    }
}

fn operations(agent: &str, sides: &Sides<'_>, search: &Search<'_>) -> Vec<OperationDifference> {
    let message = |operation: &'static str| {
        let digest = |rules: &OperationRules| Some(rules.messages);
        let answer = sides.compared(digest, |sides| {
            Some(search.message(operation, &ChangedSteps::of(sides, operation, None)))
        });
        answer.at(agent, operation, None)
    };
    let model = || {
        let answer = sides.compared(
            |rules| Some(rules.models),
            |sides| Some(search.model(&ChangedSteps::of(sides, "model", None))),
        );
        answer.at(agent, "model", None)
    };
    let event = || {
        let answer = sides.compared(
            |rules| Some(rules.events),
            |sides| search.event(sides, &ChangedSteps::of(sides, "event", None)),
        );
        answer.at(agent, "event", None)
    };
    let mut found = vec![message("input"), message("output"), model(), event()];
    let of_old = sides.old.map(AgentOfSet::functions).unwrap_or_default();
    let of_new = sides.new.map(AgentOfSet::functions).unwrap_or_default();
    for function in of_old.union(&of_new) {
        for (position, operation) in ["before", "after"].into_iter().enumerate() {
            let digest = |rules: &OperationRules| rules.calls.get(*function)?.get(position).copied();
            let answer = match (of_old.contains(function), of_new.contains(function)) {
                (false, _) => Answer::without_tries(Difference::Added, None),
                (_, false) => Answer::without_tries(Difference::Removed, None),
                _ => sides.compared(digest, |sides| {
                    Some(search.call(
                        operation,
                        function,
                        &ChangedSteps::of(sides, operation, Some(function)),
                    ))
                }),
            };
            found.push(answer.at(agent, operation, Some(function)));
        }
    }
    if let (Some(old), Some(new)) = (sides.old, sides.new)
        && are_uncompared([old, new])
    {
        found.push(Answer::without_tries(Difference::Unknown, None).at(agent, "brought", None));
    }
    found
}

impl Answer {
    /// The answer for an operation of an agent.
    fn at(self, agent: &str, operation: &'static str, function: Option<&str>) -> OperationDifference {
        let Self { difference, method, evidence } = self;
        let (agent, function) = (agent.to_owned(), function.map(str::to_owned));
        OperationDifference { agent, operation, function, difference, method, evidence }
    }
}

impl Difference {
    /// In one word.
    #[must_use]
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Found { .. } => "found",
            Self::Unknown => "unknown",
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

impl Summary {
    /// That of some differences.
    #[must_use]
    pub fn of(found: &[OperationDifference]) -> Self {
        let count =
            |is_it: fn(&Difference) -> bool| found.iter().filter(|one| is_it(&one.difference)).count();
        Self {
            operations: found.len(),
            differ: count(|it| !matches!(it, Difference::None | Difference::Unknown)),
            unknown: count(|it| matches!(it, Difference::Unknown)),
        }
    }
}

impl OperationDifference {
    /// As JSON: `agent`, `operation`, `function`, `difference`, `method`, `evidence`, `witnesses`.
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
            "method": self.method.map(Method::as_str),
            "evidence": self.evidence,
            "witnesses": witnesses.collect::<Vec<_>>(),
        })
    }
}
