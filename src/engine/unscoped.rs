//! Errors in policies that are for no loaded agent: their expressions are compiled for an agent that stands in.
//!
//! In: the documents. Out: the errors of each policy that no agent has, so that its author reads them together with
//! `no_agent_in_scope`, and not one load later. The stand-in has a tool for each key of the policy, with any arguments.
//! Warnings are left out: they depend on the schemas of the real tools. Linear in the policies that no agent has.

use crate::cel::Cache;
use crate::diagnostic::Diagnostic;
use crate::hash_key::HashKey;
use crate::limits::EngineLimits;
use crate::manifest::catalog::Catalog;
use crate::manifest::policy::DeclaredPolicy;
use crate::manifest::selector::CallSelector;
use crate::manifest::{Document, yaml};
use crate::policy::{CompiledAgent, Policy, of_all_agents};
use crate::source::Source;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// The errors in policies that no agent of the catalog has.
pub(crate) fn errors(
    catalog: &Catalog,
    limits: &EngineLimits,
    cache: &Cache,
    hash_key: Option<&HashKey>,
) -> Vec<Diagnostic> {
    let has = |policy: &DeclaredPolicy| {
        let mut applied = catalog.agents().iter().flat_map(|agent| &agent.policies);
        applied.any(|applied| applied.policy.is_of(policy))
    };
    let alone = catalog.policies().iter().filter(|policy| !policy.is_library() && !has(policy));
    alone.flat_map(|policy| errors_in(policy, catalog, (limits, cache, hash_key))).collect()
}

fn errors_in(
    policy: &DeclaredPolicy,
    catalog: &Catalog,
    (limits, cache, hash_key): (&EngineLimits, &Cache, Option<&HashKey>),
) -> Vec<Diagnostic> {
    let mut ignored = Vec::new();
    let mut documents = Vec::new();
    for manifest in stand_in(policy) {
        let source = Source::new("stand-in", manifest.to_string());
        let read = yaml::parse(&source, limits, &mut ignored);
        documents.extend(read.iter().filter_map(|tree| Document::read(tree, "", limits, &mut ignored)));
    }
    let is_used = |other: &DeclaredPolicy| other.is_library() || !other.expressions.is_empty();
    let libraries = catalog.policies().iter().filter(|other| is_used(other) && !other.is_of(policy));
    let policies = std::iter::once(policy).chain(libraries.map(AsRef::as_ref));
    documents.extend(policies.map(|policy| Document::Policy(Box::new(policy.clone()))));
    let linked = Catalog::link(documents, limits, &mut ignored);
    let mut findings = Vec::new();
    for agent in linked.agents() {
        let agent = agent.hashing(hash_key);
        let CompiledAgent { findings: found, of_policies, .. } =
            Policy::compile_agent(&agent, None, limits, cache);
        findings.extend(found);
        findings.extend(of_all_agents(of_policies));
    }
    let is_own = |finding: &Diagnostic| finding.is_error() && finding.place.source.same(&policy.place.source);
    findings.retain(is_own);
    findings
}

/// The manifests of an agent that the policy is for, and of tools that its keys select.
fn stand_in(policy: &DeclaredPolicy) -> [Value; 2] {
    let pattern = policy.agents.patterns.first().map_or("*", |pattern| &*pattern.text).replace('*', "any");
    let (namespace, name) = pattern.split_once('/').unwrap_or((&*policy.namespace.text, pattern.as_str()));
    let mut tools = BTreeMap::from([
        ("any_tool".to_owned(), json!({})),
        ("any_reader".to_owned(), json!({ "annotations": { "readOnlyHint": true, "idempotentHint": true } })),
    ]);
    for (at, key) in policy.capabilities.iter().enumerate() {
        match &key.calls {
            CallSelector::Named(pattern) => tools.insert(pattern.replace('*', "any"), json!({})),
            CallSelector::Tagged(tag) => tools.insert(format!("tagged_{at}"), json!({ "tags": [tag] })),
            // the tools that stand in for all others
            CallSelector::Unmentioned => None,
        };
    }
    let listed = tools.into_iter().map(|(name, mut tool)| {
        if let Some(members) = tool.as_object_mut() {
            members.insert("name".to_owned(), name.into());
            members.insert("inputSchema".to_owned(), json!({ "type": "object" }));
        }
        tool
    });
    let tools = json!({
        "kind": "celador/v1/tools",
        "namespace": namespace,
        "name": "stand_in",
        "tools": listed.collect::<Vec<_>>(),
    });
    let agent = json!({
        "kind": "commonagents.info/v1beta2/agent",
        "namespace": namespace,
        "name": name,
        "description": "Stands in.",
        "prompt": "Stand in.",
        "capabilities": { "stand_in": "*" },
    });
    [tools, agent]
}
