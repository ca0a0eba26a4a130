//! Policies of agents with the tools that tasks bring: compiled once for each set of tools, and shared.
//!
//! In: an agent that keeps places for brought tools, and tools. Out: its policy with them, and what was left out. The policy of
//! the agent's manifests stays as it is: a task without tools is under that one. A bounded number of policies is kept, by a
//! digest of the tools; one that made room is compiled again. Compiling holds no lock.

use crate::cel::Cache;
use crate::diagnostic::Diagnostic;
use crate::digest::Digest;
use crate::limits::EngineLimits;
use crate::manifest::brought::{BroughtTool, LeftOut, Linked, ToolsError, bring, takes_tools};
use crate::manifest::catalog::ResolvedAgent;
use crate::manifest::mount::Mount;
use crate::policy::Policy;
use crate::source::Span;
use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, PoisonError};

/// What became of the tools of a task.
#[derive(Clone, Debug)]
pub(crate) struct Layer {
    /// The policy with those that can be called.
    pub(crate) policy: Arc<Policy>,
    pub(crate) left_out: Arc<[LeftOut]>,
    /// What is worth a look in the rules, now that the tools are known. No rule is lost by it: a step that fails blocks.
    pub(crate) findings: Arc<[Diagnostic]>,
}

/// The agents of a set of manifests, and policies of theirs with tools that tasks have brought.
#[derive(Debug, Default)]
pub(crate) struct Layers {
    agents: HashMap<(String, String), Taker>,
    /// By the digest of agent and tools, those that were used last in front.
    made: Mutex<Vec<(Digest, Layer)>>,
}

/// An agent as it was linked. Also one that keeps no places for tools: names that are brought must not be its own.
#[derive(Debug)]
struct Taker {
    resolved: ResolvedAgent,
    mount: Option<Arc<Mount>>,
    /// What was found about its rules without any tools.
    known: HashSet<(String, Span, String)>,
}

fn about(finding: &Diagnostic) -> (String, Span, String) {
    (finding.place.source.name().to_owned(), finding.place.span, finding.message.clone())
}

impl Layers {
    /// Takes an agent in, with what compiling it has found.
    pub(crate) fn add<'d>(
        &mut self,
        resolved: &ResolvedAgent,
        mount: Option<&Arc<Mount>>,
        findings: impl Iterator<Item = &'d Diagnostic>,
    ) {
        let known = findings.filter(|_| takes_tools(resolved)).map(about).collect();
        let name = (resolved.agent.namespace.text.to_string(), resolved.agent.name.text.to_string());
        self.agents.insert(name, Taker { resolved: resolved.clone(), mount: mount.cloned(), known });
    }

    /// The policy of an agent with tools. `base` is its policy without.
    ///
    /// # Errors
    /// [`ToolsError`], and then no task may begin with these tools.
    pub(crate) fn layer(
        &self,
        base: &Arc<Policy>,
        tools: &[BroughtTool],
        limits: &EngineLimits,
        cache: &Cache,
    ) -> Result<Layer, ToolsError> {
        let text = serde_json::to_string(tools).unwrap_or_default();
        if text.len() > limits.max_brought_bytes {
            return Err(ToolsError::TooMany("max_brought_bytes", limits.max_brought_bytes));
        }
        let agent = base.agent();
        let name = (agent.namespace.text.to_string(), agent.name.text.to_string());
        let digest = Digest::of_parts([&*name.0, &*name.1, &*text]);
        if let Some(layer) = self.made(digest) {
            return Ok(layer);
        }
        let taker = self.agents.get(&name).ok_or(ToolsError::Misfit(String::new()))?;
        let refuses = |tool: &BroughtTool| base.refuses_tool(tool);
        let Linked { agent, left_out, mut findings } =
            bring(&taker.resolved, taker.mount.as_deref(), tools, refuses, limits)?;
        let (policy, compiled) = if takes_tools(&taker.resolved) {
            Policy::compile(&agent, taker.mount.as_ref(), limits, cache)
        } else {
            (Some(base.clone()), Vec::new())
        };
        findings.extend(compiled);
        let Some(policy) = policy else {
            let error = findings.iter().find(|finding| finding.is_error());
            let said = error.map(|finding| format!("{}: {}", finding.place, finding.message));
            return Err(ToolsError::Misfit(said.unwrap_or_default()));
        };
        let mut told = HashSet::new();
        findings.retain(|finding| !taker.known.contains(&about(finding)) && told.insert(about(finding)));
        findings.truncate(limits.max_diagnostics);
        let layer = Layer { policy, left_out: left_out.into(), findings: findings.into() };
        self.keep(digest, layer.clone(), limits.max_brought_sets);
        Ok(layer)
    }

    /// A policy that is kept; it was used last now. Linear in those that are kept.
    fn made(&self, digest: Digest) -> Option<Layer> {
        let mut made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        let at = made.iter().position(|(known, _)| *known == digest)?;
        let found = made.remove(at);
        let layer = found.1.clone();
        made.insert(0, found);
        Some(layer)
    }

    fn keep(&self, digest: Digest, layer: Layer, most: usize) {
        let mut made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        // another thread may have made the same
        made.retain(|(known, _)| *known != digest);
        made.insert(0, (digest, layer));
        made.truncate(most);
    }
}
