//! Policies matched against agents, once, when documents are linked: which steps belong to which functions.
//!
//! In: a policy that is for an agent, and the agent with its functions. Out: the functions that each key selects, and findings
//! about keys and patterns that select nothing. Functions that `include` leaves out run no steps, and neither do tools that
//! only steps invoke. Linear in the keys times the functions; `max_rule_matches` bounds what is kept of it.

use super::applied::{AppliedCounter, AppliedKey, AppliedPolicy};
use super::counter::DeclaredCounter;
use super::function_ref::FunctionRef;
use super::listing::is_like;
use super::messages;
use super::policy::{DeclaredPolicy, PolicyCapability};
use super::reader::{Path, Reader};
use super::resolved_agent::{CapabilityEntry, DeclaredFunction, ResolvedAgent, Target};
use super::selector::CallSelector;
use std::collections::BTreeSet;
use std::sync::Arc;

/// Whether a key selects a function: by the name that the model calls, by the key of its record, or by the name of its tool or
/// agent in the agent's manifest.
fn selects(calls: &CallSelector, entry: &CapabilityEntry, function: &DeclaredFunction) -> bool {
    let own = entry.tool().filter(|tool| tool.listing.is_some()).map(|_| &*function.name);
    let names = [Some(&*function.key), own, Some(&*entry.reference)];
    calls.selects(names.into_iter().flatten(), &entry.tags(function))
}

/// The functions of an agent that a key selects; `left` is how many steps of functions may still be kept.
pub(super) fn apply(
    capability: &PolicyCapability,
    entries: &[CapabilityEntry],
    left: &mut usize,
) -> Option<AppliedKey> {
    let mut applied = AppliedKey::default();
    let steps = capability.steps().count();
    for (at, entry) in entries.iter().enumerate().filter(|(_, entry)| entry.listed.is_some()) {
        for (function, declared) in entry.functions.iter().enumerate() {
            if !selects(&capability.calls, entry, declared) {
                continue;
            }
            applied.is_known = true;
            if declared.active {
                *left = left.checked_sub(steps)?;
                applied.functions.push(FunctionRef { capability: at, function });
            }
        }
    }
    Some(applied)
}

/// The functions of an agent whose calls add to a counter; `left` is how many functions of steps and counters may still be kept.
pub(super) fn apply_counter(
    counter: &DeclaredCounter,
    entries: &[CapabilityEntry],
    left: &mut usize,
) -> Option<AppliedCounter> {
    let mut applied = AppliedCounter { functions: Vec::new(), known: vec![false; counter.on.len()] };
    for (at, entry) in entries.iter().enumerate().filter(|(_, entry)| entry.listed.is_some()) {
        for (function, declared) in entry.functions.iter().enumerate() {
            let mut is_counted = false;
            for (on, known) in counter.on.iter().zip(&mut applied.known) {
                let is_selected = selects(&on.calls, entry, declared);
                *known |= is_selected;
                is_counted |= is_selected && declared.active;
            }
            if is_counted {
                *left = left.checked_sub(1)?;
                applied.functions.push(FunctionRef { capability: at, function });
            }
        }
    }
    Some(applied)
}

/// Whether an agent may have functions that nobody knows yet.
fn has_hidden_functions(agent: &ResolvedAgent) -> Hidden {
    let mut hidden = Hidden::Nothing;
    for entry in agent.capabilities.iter().filter(|entry| entry.listed.is_some()) {
        match &entry.target {
            Target::Unknown => return Hidden::NotLoaded,
            Target::Tool(tool) if tool.takes_patterns() => hidden = Hidden::Brought,
            Target::Tool(_) | Target::Agent(_) => {}
        }
    }
    hidden
}

/// Functions of an agent that nobody knows yet.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Hidden {
    /// There are no such functions.
    Nothing,
    /// Tasks bring them.
    Brought,
    /// They are in a document that is not loaded, which has a finding of its own.
    NotLoaded,
}

/// Says which policies are for no agent, and which keys select nothing that any agent has; an agent under a policy with an
/// error is not sound.
pub(super) fn check_policies(
    policies: &[Arc<DeclaredPolicy>],
    agents: &mut [ResolvedAgent],
    reader: &mut Reader,
) {
    let mut faulty = BTreeSet::new();
    for policy in policies {
        let is_it = |applied: &&AppliedPolicy| applied.policy.is_of(policy);
        let scope: Vec<&ResolvedAgent> =
            agents.iter().filter(|agent| agent.policies.iter().any(|applied| is_it(&applied))).collect();
        if scope.is_empty() && policy.is_library() {
            reader.report(&Path::document(&policy.path), messages::unused_library(&policy.name));
            continue;
        }
        if scope.is_empty() && policy.has_expressions_alone() {
            continue;
        }
        if scope.is_empty() {
            reader.report(
                &Path::document(&policy.path),
                messages::no_agent_in_scope(&policy.name, &policy.agents.patterns),
            );
            continue;
        }
        // where others alone use it, its own patterns are nobody's
        let by_itself = |agent: &&ResolvedAgent| {
            agent.policies.iter().any(|applied| is_it(&applied) && applied.policy.used_by.is_none())
        };
        if scope.iter().any(by_itself) {
            check_agent_patterns(policy, &scope, reader);
        }
        let hidden = scope.iter().map(|agent| has_hidden_functions(agent)).max().unwrap_or(Hidden::Nothing);
        let mut awaited = Vec::new();
        for (at, key) in policy.capabilities.iter().enumerate() {
            let mut applied = scope.iter().flat_map(|agent| agent.policies.iter().filter(is_it));
            if key.calls.is_general()
                || applied.any(|applied| applied.calls.get(at).is_some_and(|calls| calls.is_known))
            {
                continue;
            }
            match hidden {
                Hidden::NotLoaded => {}
                Hidden::Brought => awaited.push(at),
                // it is told of the counter
                Hidden::Nothing if key.is_limit() => {}
                Hidden::Nothing => {
                    let known = function_keys(&scope);
                    reader.report(&Path::document(&key.path), messages::unmatched_key(&key.key, &known));
                    faulty.insert(policy.full_name());
                }
            }
        }
        if hidden == Hidden::Nothing && !check_counters(policy, &scope, reader) {
            faulty.insert(policy.full_name());
        }
        for agent in agents.iter_mut() {
            for applied in agent.policies.iter_mut().filter(|applied| applied.policy.is_of(policy)) {
                for at in &awaited {
                    applied.calls.get_mut(*at).into_iter().for_each(|calls| calls.is_awaited = true);
                }
            }
        }
    }
    for agent in agents.iter_mut() {
        let is_sound =
            |applied: &AppliedPolicy| applied.policy.sound && !faulty.contains(&applied.policy.full_name());
        agent.sound &= agent.policies.iter().all(is_sound);
    }
}

/// The keys of all functions that the models of some agents may call, each once.
fn function_keys<'a>(agents: &[&'a ResolvedAgent]) -> Vec<&'a str> {
    let entries = agents.iter().flat_map(|agent| &agent.capabilities);
    let listed = entries.filter(|entry| entry.listed.is_some());
    let known: BTreeSet<&str> =
        listed.flat_map(|entry| entry.functions.iter().map(|function| &*function.key)).collect();
    known.into_iter().collect()
}

/// Whether each key of the counters of a policy selects something that an agent has.
fn check_counters(policy: &Arc<DeclaredPolicy>, scope: &[&ResolvedAgent], reader: &mut Reader) -> bool {
    let applied = || {
        let all = scope.iter().flat_map(|agent| &agent.policies);
        all.filter(|applied| applied.policy.is_of(policy))
    };
    let mut all_known = true;
    for (at, counter) in policy.counters.iter().enumerate() {
        for (position, on) in counter.on.iter().enumerate() {
            let is_known = |applied: &AppliedPolicy| {
                applied.counters.get(at).and_then(|counter| counter.known.get(position)) == Some(&true)
            };
            if !on.calls.is_general() && !applied().any(is_known) {
                let finding = messages::unmatched_counter(&on.key, &function_keys(scope));
                reader.report(&Path::document(&on.path), finding);
                all_known = false;
            }
        }
    }
    all_known
}

/// A pattern that is like no agent is most likely misspelt, though the policy is for other agents.
fn check_agent_patterns(policy: &DeclaredPolicy, scope: &[&ResolvedAgent], reader: &mut Reader) {
    let path = Path::document(&policy.path).key("applies_to").key("agents");
    for (at, pattern) in policy.agents.patterns.iter().enumerate() {
        let is_it = |agent: &&&ResolvedAgent| {
            let name = format!("{}/{}", agent.agent.namespace.text, agent.agent.name.text);
            is_like(&name, &pattern.text)
        };
        if !scope.iter().any(|agent| is_it(&agent)) {
            reader.report(&path.item(at), messages::unmatched_agents(pattern));
        }
    }
}
