//! What single operations of an agent decide by, each written out as a digest: two that have the same one decide alike.
//!
//! In: an agent with all that its manifest and policies say. Out: for the calls of each function, for messages and for calls of the model a digest of
//! everything that may make a difference to them; the same for a trigger. It rather holds too much than too little: different digests prove nothing.

use super::claims::Claims;
use super::compiler::Compiler;
use super::declaration::Declaration;
use super::delegation::DelegationBound;
use super::encoder::Encoder;
use super::labels::copy_letters;
use super::parameters::Parameters;
use super::policy_encoding::{calls_of_policies, target_key};
use super::reviews::siblings;
use super::shape::Shape;
use super::task_limits::AllLimits;
use crate::cel::Cache;
use crate::context::TaskSecrets;
use crate::digest::Digest;
use crate::limits::EngineLimits;
use crate::manifest::agent::{Capability, DeclaredExpose};
use crate::manifest::capability_key::sanitise;
use crate::manifest::catalog::ResolvedAgent;
use crate::manifest::launch::Launch;
use crate::manifest::mode::Mode;
use crate::manifest::mount::Mount;
use crate::manifest::review::Siblings;
use crate::manifest::step::{DeclaredAction, DeclaredInvoke};
use crate::manifest::trigger::DeclaredTrigger;
use std::collections::HashMap;

const VERSION: &str = "celador operation 1";

/// The digests of what operations decide by.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct OperationRules {
    /// Of inputs and responses.
    pub(crate) messages: Digest,
    /// Of what is sent to the model, its prompt included, of what comes back, and of the tools that a task brings.
    pub(crate) models: Digest,
    /// Of events from outside.
    pub(crate) events: Digest,
    /// By function, of its calls and of their results.
    pub(crate) calls: HashMap<String, [Digest; 2]>,
}

impl OperationRules {
    /// The digests of an agent; nothing for one whose records cannot be made.
    ///
    /// # Cost
    /// Linear in the manifests for each function: it is for those who compare agents, and no part of compiling them.
    pub(crate) fn of(resolved: &ResolvedAgent, mount: Option<&Mount>, limits: &EngineLimits) -> Option<Self> {
        let cache = Cache::new(&limits.eval);
        let compiler = Compiler::new(resolved, limits, &cache)?;
        Some(Self::written(resolved, &compiler.functions, compiler.schema.secrets(), mount))
    }

    fn written(
        resolved: &ResolvedAgent,
        functions: &[Declaration<'_>],
        secrets: &TaskSecrets,
        mount: Option<&Mount>,
    ) -> Self {
        let rest = rest(resolved, functions, secrets, mount).to_string();
        let begin = || {
            let mut encoder = Encoder::new(VERSION);
            encoder.text(&rest);
            encoder
        };
        let policies = calls_of_policies(resolved);
        let call = |declaration: &Declaration<'_>| {
            let mut encoder = begin();
            encoder.function(resolved, declaration);
            let entry = resolved.capabilities.get(declaration.capability);
            encoder.optional(entry, |it, entry| {
                let tags: Vec<&str> = entry.tags(declaration.function).all().into_iter().collect();
                it.list(&tags, |it, tag| it.text(tag));
            });
            let shared = encoder.finish().to_string();
            let capability = entry.and_then(|entry| entry.capability(&resolved.agent));
            let capability = capability.map(|capability| selected(capability, &declaration.function.name));
            let mut before = Encoder::new(VERSION);
            before.text(&shared);
            before.optional(capability.as_ref(), |it, capability| it.capability(resolved, capability));
            let of_policies = policies.get(&declaration.function.key).map(ToString::to_string);
            before.optional(of_policies.as_deref(), Encoder::text);
            // what is judged when a result comes knows of the steps ahead of the call only what is on record
            let mut after = Encoder::new(VERSION);
            after.text(&shared);
            let own = |invoke: &DeclaredInvoke| target_key(resolved, resolved.invoke_target(invoke));
            after.optional(capability.as_ref(), |it, capability| {
                it.list(&capability.after, |it, step| it.step(&own, step))
            });
            after.steps_behind(resolved, &declaration.function.key);
            (declaration.function.key.clone(), [before.finish(), after.finish()])
        };
        let mut messages = begin();
        messages.parameters(&Parameters::of_agent(&resolved.agent.parameters));
        let own = |invoke: &DeclaredInvoke| target_key(resolved, resolved.invoke_target(invoke));
        for steps in [&resolved.agent.guardrails.before, &resolved.agent.guardrails.after] {
            messages.list(steps, |it, step| it.step(&own, step));
        }
        messages.list(&resolved.agent.exposes, |it, DeclaredExpose { name, value, path: _ }| {
            it.embedded(name);
            it.embedded(value);
        });
        messages.policy_guardrails(resolved);
        let mut models = begin();
        models.optional(resolved.agent.prompt.as_ref(), Encoder::embedded);
        models.policy_models(resolved);
        let mut events = begin();
        events.list(&resolved.capabilities, |it, entry| it.entry(&resolved.agent, entry));
        Self {
            messages: messages.finish(),
            models: models.finish(),
            events: events.finish(),
            calls: functions.iter().map(call).collect(),
        }
    }
}

/// A capability with those of its steps alone that calls of this function pass.
fn selected(capability: &Capability, function: &str) -> Capability {
    let mut selected = capability.clone();
    let Capability { before_first, before, after, .. } = &mut selected;
    for steps in [before_first, before, after] {
        steps.retain(|step| {
            let name = step.match_name.as_ref();
            name.is_none_or(|name| sanitise(&name.text) == sanitise(function))
        });
    }
    selected
}

/// The digest of what a trigger decides by, and of what its tasks begin with.
pub(crate) fn rules_of_trigger(trigger: &DeclaredTrigger) -> Digest {
    let DeclaredTrigger { launch, source_type, payload, before } = trigger;
    let Launch {
        place: _,
        path: _,
        sound: _,
        kind: _,
        namespace,
        name,
        agent,
        owner,
        message,
        inputs,
        enabled,
    } = launch;
    let mut encoder = Encoder::new(VERSION);
    encoder.part("trigger");
    for text in [namespace, name, agent, owner, source_type] {
        encoder.embedded(text);
    }
    encoder.optional(message.as_ref(), Encoder::embedded);
    encoder.optional(inputs.as_ref(), |it, inputs| it.plain_json(&inputs.to_json()));
    encoder.flag(*enabled);
    encoder.optional(payload.as_deref(), |it, payload| it.shape(&Shape::of(payload)));
    // a trigger's steps call nothing
    encoder.list(before, |it, step| it.step(&|_| None, step));
    encoder.finish()
}

/// What every operation may depend on: limits, counters, claims, secrets, and, where a step calls another function, all functions with their bindings.
fn rest(
    resolved: &ResolvedAgent,
    functions: &[Declaration<'_>],
    secrets: &TaskSecrets,
    mount: Option<&Mount>,
) -> Digest {
    let agent = &*resolved.agent;
    let mut encoder = Encoder::new(VERSION);
    encoder.embedded(&agent.namespace);
    encoder.embedded(&agent.name);
    encoder.optional(agent.model.as_ref(), Encoder::embedded);
    encoder.mount(agent.mount, mount);
    encoder.limits(&AllLimits::of(resolved).limits);
    encoder.secrets(secrets);
    encoder.count(copy_letters(resolved) as u64);
    encoder.flag(siblings(resolved) == Siblings::Run);
    encoder.flag(resolved.mode == Mode::Observe);
    if let Some(bound) = DelegationBound::of(resolved) {
        encoder.delegation(&bound);
    }
    for (_, schema) in Claims::of(resolved).schemas() {
        encoder.shape(schema);
    }
    for applied in &resolved.policies {
        encoder.policy_counters(resolved, applied);
    }
    let steps_of_agent = agent.capabilities.iter().flat_map(|capability| capability.steps());
    let steps_of_policies = resolved.policies.iter().flat_map(|applied| applied.policy.steps());
    let guardrails = agent.guardrails.before.iter().chain(&agent.guardrails.after);
    let mut steps = steps_of_agent.chain(steps_of_policies).chain(guardrails);
    if steps.any(|step| matches!(step.action, DeclaredAction::Invoke(_))) {
        encoder.part("steps call functions");
        encoder.list(functions, |it, function| it.function(resolved, function));
        encoder.list(&agent.capabilities, |it, capability| {
            it.list(&capability.bindings, Encoder::binding);
        });
    }
    encoder.finish()
}
