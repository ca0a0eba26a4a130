//! Compiling an agent: the scopes of its expressions, each made once, and the findings so far.
//!
//! In: a resolved agent, the types of its task context, its functions as they were declared. Out: a [`Compiler`], by which
//! `step_lists` and `compile` get the scope of each text. A scope is dearer than an expression, so each distinct one is made
//! once, and only if something stands in it.

use super::counter::Added;
use super::declaration::{Declaration, declarations, declare};
use super::define::define;
use super::definitions::Definitions;
use super::event::shared_type;
use super::expression::Texts;
use super::host_functions::expected_of_host;
use super::labels::copy_rules;
use super::named_results::NamedResults;
use super::of_agents::{OfPolicyStep, UseOfPolicy};
use super::parameters::{InputOf, Parameters};
use super::result::OutputSchema;
use super::{entries, secrets};
use crate::cel::{Cache, LANGUAGE, Signature, Type};
use crate::context::{CallAtHand, ContextSchema, Scope, ScopeDecl, ScopeEnv};
use crate::limits::{EngineLimits, EvalLimits};
use crate::manifest::agent::{Agent, MountScope};
use crate::manifest::catalog::{AppliedPolicy, ResolvedAgent};
use std::collections::HashMap;
use std::sync::Arc;

/// What the types of a scope depend on.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(super) struct ScopeKey {
    pub(super) scope: Scope,
    /// The functions that share a step.
    pub(super) functions: Vec<usize>,
    /// The events that run it too: the positions of their capabilities, and theirs in it.
    pub(super) events: Vec<(usize, usize)>,
    /// Whether a transform may have made something else of the result by then.
    pub(super) transformed: bool,
    /// The policy document whose counters it knows, by its position.
    pub(super) counters: Option<usize>,
    /// The policy of whose `invoke` steps it knows the results.
    pub(super) invoked: Option<Arc<str>>,
    /// The policy document whose functions of the host it knows, by its position.
    pub(super) host: Option<usize>,
    /// Whether the step is one of a policy.
    pub(super) of_policy: bool,
}

impl ScopeKey {
    pub(super) fn plain(scope: Scope) -> Self {
        Self {
            scope,
            functions: Vec::new(),
            events: Vec::new(),
            transformed: false,
            of_policy: false,
            counters: None,
            invoked: None,
            host: None,
        }
    }
}

/// The position of a policy whose expressions know functions of the host.
pub(super) fn declares_functions(at: usize, applied: &AppliedPolicy) -> Option<usize> {
    Some(at).filter(|_| !applied.policy.functions.is_empty())
}

/// An agent that is being compiled.
pub(super) struct Compiler<'c> {
    pub(super) resolved: &'c ResolvedAgent,
    pub(super) agent: &'c Agent,
    pub(super) schema: Arc<ContextSchema>,
    pub(super) functions: Arc<[Declaration<'c>]>,
    pub(super) limits: EngineLimits,
    scopes: HashMap<ScopeKey, Arc<ScopeEnv>>,
    /// By the positions of the policy documents that have counters: their names, and the types of `counters`.
    pub(super) counters: HashMap<usize, (Arc<str>, Type)>,
    /// By the same positions: what each counter adds.
    pub(super) added: HashMap<usize, Vec<Option<Added>>>,
    /// By the names of the policies that have some: their `invoke` steps with ids.
    pub(super) results: HashMap<Arc<str>, Arc<NamedResults>>,
    /// The names of each of its policies.
    pub(super) definitions: Vec<Arc<Definitions>>,
    pub(super) texts: Texts<'c>,
}

impl<'c> Compiler<'c> {
    pub(super) fn new(resolved: &'c ResolvedAgent, limits: &EngineLimits, cache: &'c Cache) -> Option<Self> {
        let agent = &*resolved.agent;
        let functions = declarations(resolved);
        let mut declared = declare(resolved, &functions);
        let mut texts = Texts::new(cache);
        texts.denies_by_default =
            resolved.policies.iter().any(|applied| applied.policy.default_denial.is_some());
        let definitions = definitions(resolved, &limits.eval, &mut texts);
        entries::close(&mut declared, resolved, &definitions, &limits.eval);
        declared.copies = copy_rules(resolved, limits);
        declared.hash_key.clone_from(&resolved.hash_key);
        declared.most_pseudonyms = (limits.max_pseudonyms, limits.max_pseudonym_bytes);
        texts.pseudonyms.has_hash_key = resolved.hash_key.is_some();
        let schema = secrets::schema(&declared, resolved, &functions, limits).ok()?;
        Some(Self {
            resolved,
            agent,
            schema,
            functions: functions.into(),
            limits: *limits,
            scopes: HashMap::new(),
            counters: HashMap::new(),
            added: HashMap::new(),
            results: HashMap::new(),
            definitions,
            texts,
        })
    }

    pub(super) fn plain_scope(&mut self, scope: Scope) -> Arc<ScopeEnv> {
        self.scope(ScopeKey::plain(scope), Type::Dyn, Type::Dyn, Type::Dyn)
    }

    /// The scope of a step that these functions share.
    pub(super) fn step_scope(&mut self, key: ScopeKey, name: &str) -> Arc<ScopeEnv> {
        self.scope_with(key, |compiler, key| compiler.step_types(key, name))
    }

    /// The types of `input`, `output` and `event` in such a step.
    fn step_types(&self, key: &ScopeKey, name: &str) -> [Type; 3] {
        let shared: Vec<_> = key.functions.iter().filter_map(|&at| self.functions.get(at)).collect();
        let parameters: Vec<&Parameters> = shared.iter().map(|function| &function.parameters).collect();
        let of = if key.events.is_empty() { InputOf::Attempt } else { InputOf::AttemptOrEvent };
        let input = Parameters::input_type(&format!("input of {name}"), &parameters, of);
        let output = if key.transformed {
            Type::Dyn
        } else {
            let outputs = shared.iter().map(|function| function.output.as_ref());
            OutputSchema::ty(&format!("output of {name}"), outputs)
        };
        let resolved = self.resolved;
        let event = |&(at, event): &(usize, usize)| {
            let entry = resolved.capabilities.get(at)?;
            entry.event(entry.events.get(event)?)
        };
        [input, output, shared_type(key.events.iter().filter_map(event))]
    }

    pub(super) fn scope(&mut self, key: ScopeKey, input: Type, output: Type, event: Type) -> Arc<ScopeEnv> {
        self.scope_with(key, |_, _| [input, output, event])
    }

    /// The same with types that are worked out for a scope that is not there yet.
    fn scope_with(
        &mut self,
        key: ScopeKey,
        types: impl FnOnce(&Self, &ScopeKey) -> [Type; 3],
    ) -> Arc<ScopeEnv> {
        if let Some(made) = self.scopes.get(&key) {
            return made.clone();
        }
        let [input, output, event] = types(self, &key);
        let made = self.new_scope(&key, input, output, event);
        self.scopes.insert(key, made.clone());
        made
    }

    /// The same for a scope that is asked for once.
    pub(super) fn new_scope(&self, key: &ScopeKey, input: Type, output: Type, event: Type) -> Arc<ScopeEnv> {
        let call = (key.of_policy && !key.functions.is_empty()).then(|| {
            let functions = key.functions.iter().filter_map(|&at| self.functions.get(at));
            CallAtHand::cel_type(functions.map(|function| &function.call))
        });
        let declared = key.host.and_then(|at| self.resolved.policies.get(at));
        let declared = declared.into_iter().flat_map(|applied| &applied.policy.functions);
        let host: Vec<Signature> = declared.map(|function| function.signature.clone()).collect();
        let host_elsewhere = expected_of_host(self.resolved);
        Arc::new(ScopeEnv::new(&ScopeDecl {
            schema: Some(&self.schema),
            host: &host,
            host_elsewhere: &host_elsewhere,
            input,
            output,
            event,
            counters: key.counters.and_then(|at| self.counters.get(&at)).cloned(),
            invoked: key
                .invoked
                .as_ref()
                .and_then(|policy| Some((policy.clone(), self.results.get(policy)?.ty.clone()))),
            of_manifest: !key.of_policy,
            of_policy: key.of_policy,
            call,
            has_mount: self.agent.mount != MountScope::None,
            libraries: LANGUAGE,
            ..ScopeDecl::new(key.scope, self.limits.eval)
        }))
    }
}

/// The names of each policy of an agent. What is wrong with one is told as what is wrong with a step: once for all agents.
fn definitions(
    resolved: &ResolvedAgent,
    limits: &EvalLimits,
    texts: &mut Texts<'_>,
) -> Vec<Arc<Definitions>> {
    let of = |applied: &AppliedPolicy| {
        let (definitions, findings) = define(&applied.policy, limits);
        let (of, place) = (UseOfPolicy::of_policy(&applied.policy), applied.policy.place.clone());
        texts.of_policies.push(OfPolicyStep { of, place, findings });
        Arc::new(definitions)
    };
    resolved.policies.iter().map(of).collect()
}
