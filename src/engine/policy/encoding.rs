//! Everything of a policy that decides, written out by hand: what its fingerprint is the digest of.
//!
//! In: an agent with all that its manifest names, its functions as they were declared, the mount. Out: a [`Fingerprint`].
//! Each struct is taken apart by its fields, so that a field that is new does not compile until somebody has said here
//! whether it decides. What does not: where something stands, texts for people and for the model alone, what only the host
//! reads (backends, priorities), and the bounds of the host, which are no part of a manifest. Linear in the manifests.
//!
//! Tasks that are suspended hold fingerprints. Whoever changes what is written here, or its order, raises [`VERSION`], and
//! says in [`Fingerprint`] how the fingerprints of before are told from the new ones.

use super::declaration::{Declaration, setting_defaults, target};
use super::encoder::{Encoder, RULES_VERSION};
use super::fingerprint::Fingerprint;
use super::function::InvocationTarget;
use super::parameter::{Missing, Parameter, ParameterSource};
use super::parameters::Parameters;
use super::policy_encoding::{calls_of_policies, target_key};
use super::shape::{Others, Shape, ShapeField};
use crate::cel::JsonRef;
use crate::context::{CallSecrets, SecretRule, Secrets, TaskSecrets};
use crate::digest::Digest;
use crate::manifest::agent::{Agent, Capability, DeclaredExpose, Guardrails, MountScope};
use crate::manifest::argument_rules::Undeclared;
use crate::manifest::binding::DeclaredBinding;
use crate::manifest::catalog::{CapabilityEntry, DeclaredFunction, EventEntry, ResolvedAgent};
use crate::manifest::event::{EventDecl, Receive, ReceiveKind};
use crate::manifest::label::LabelTexts;
use crate::manifest::mode::Mode;
use crate::manifest::mount::Mount;
use crate::manifest::review::NoteReader;
use crate::manifest::schema::{Property, SchemaKind};
use crate::manifest::step::{DeclaredAction, DeclaredInvoke, DeclaredStep, OnFail};
use crate::manifest::step_effect::{
    DeclaredCredential, DeclaredDelay, DeclaredEffect, DeclaredObligation, DeclaredSet,
};
use crate::manifest::task_limit::TaskLimits;
use crate::manifest::tool::{ActionDecl, DeclaredExecute};
use crate::source::Embedded;
use std::collections::HashMap;

/// What the encoding is called. It is part of every fingerprint.
const VERSION: &str = "celador policy 2";
/// The same of what a reviewer is shown.
const REVIEW_VERSION: &str = "celador review 1";

/// What tells the policy of an agent from others.
pub(super) fn fingerprint(
    resolved: &ResolvedAgent,
    functions: &[Declaration<'_>],
    secrets: &TaskSecrets,
    mount: Option<&Mount>,
    hashes: bool,
) -> Fingerprint {
    let mut encoder = Encoder::new(VERSION);
    encoder.agent(resolved, mount);
    encoder.part("functions");
    encoder.list(functions, |it, function| it.function(resolved, function));
    encoder.part("entries");
    encoder.list(&resolved.capabilities, |it, entry| it.entry(&resolved.agent, entry));
    encoder.secrets(secrets);
    // they write nothing of an agent for which there are no such steps: it has the fingerprint of its manifests alone
    encoder.policies(resolved);
    if resolved.mode == Mode::Observe {
        encoder.part("observed as a whole");
    }
    // digests under another key are other values for every rule that compares them
    if let Some(key) = resolved.hash_key.as_ref().filter(|_| hashes) {
        encoder.part("hash key");
        encoder.text(&key.id());
    }
    Fingerprint::of(encoder.finish())
}

/// What the rules of a capability decide by, or those of the guardrails: part of what the answer of a reviewer is bound to, so
/// that a change elsewhere voids no review.
pub(super) fn rules(resolved: &ResolvedAgent) -> Rules {
    let Agent { capabilities, guardrails, .. } = &*resolved.agent;
    let of_capability = |capability: &Capability| {
        let mut encoder = Encoder::new(RULES_VERSION);
        encoder.capability(resolved, capability);
        encoder.finish()
    };
    let mut encoder = Encoder::new(RULES_VERSION);
    let own = |invoke: &DeclaredInvoke| target_key(resolved, resolved.invoke_target(invoke));
    encoder.part("guardrails");
    for steps in [&guardrails.before, &guardrails.after] {
        encoder.list(steps, |it, step| it.step(&own, step));
    }
    encoder.policy_guardrails(resolved);
    encoder.policy_models(resolved);
    Rules {
        capabilities: capabilities.iter().map(of_capability).collect(),
        guardrails: encoder.finish(),
        policies: calls_of_policies(resolved),
    }
}

/// The digests of rules.
#[derive(Debug)]
pub(super) struct Rules {
    capabilities: Box<[Digest]>,
    guardrails: Digest,
    /// Of the policies' steps around the calls of a function, by its key.
    policies: HashMap<String, Digest>,
}

impl Rules {
    /// The digest of what a reviewer is shown under the rules of a capability, or under the guardrails. Linear in the documents.
    pub(super) fn review(
        &self,
        capability: Option<usize>,
        function: Option<&str>,
        documents: [Option<JsonRef<'_>>; 3],
    ) -> Digest {
        let rules = capability.and_then(|capability| self.capabilities.get(capability));
        let mut encoder = Encoder::new(REVIEW_VERSION);
        encoder.text(&rules.unwrap_or(&self.guardrails).to_string());
        if let Some(rules) = function.and_then(|function| self.policies.get(function)) {
            encoder.part("policies");
            encoder.text(&rules.to_string());
        }
        encoder.optional(function, Encoder::text);
        for document in documents {
            encoder.optional(document, Encoder::json);
        }
        encoder.finish()
    }
}

impl Encoder {
    pub(super) fn embedded(&mut self, text: &Embedded) {
        self.text(&text.text);
    }

    fn written(&mut self, text: Option<&Embedded>) {
        self.optional(text, Self::embedded);
    }

    fn agent(&mut self, resolved: &ResolvedAgent, workspace: Option<&Mount>) {
        let Agent {
            place: _,
            path: _,
            sound: _,
            // what a version means otherwise is read into the same fields
            kind: _,
            namespace,
            name,
            description: _,
            prompt,
            model,
            priority: _,
            mount,
            mount_place: _,
            limits,
            parameters,
            capabilities,
            model_capabilities: _,
            guardrails: Guardrails { before, after },
            exposes,
        } = &*resolved.agent;
        self.part("agent");
        self.embedded(namespace);
        self.embedded(name);
        self.written(prompt.as_ref());
        self.written(model.as_ref());
        self.mount(*mount, workspace);
        self.limits(limits);
        self.parameters(&Parameters::of_agent(parameters));
        self.part("capabilities");
        self.list(capabilities, |it, capability| it.capability(resolved, capability));
        self.part("guardrails");
        let own = |invoke: &DeclaredInvoke| target_key(resolved, resolved.invoke_target(invoke));
        self.list(before, |it, step| it.step(&own, step));
        self.list(after, |it, step| it.step(&own, step));
        self.part("exposes");
        self.list(exposes, |it, DeclaredExpose { name, value, path: _ }| {
            it.embedded(name);
            it.embedded(value);
        });
    }

    pub(super) fn mount(&mut self, scope: MountScope, mount: Option<&Mount>) {
        self.part("mount");
        self.text(match scope {
            MountScope::None => "none",
            MountScope::Task => "task",
            MountScope::Agent => "agent",
            MountScope::Workspace => "workspace",
        });
        // of the prefixes only that of the scope is read
        let mount = mount.and_then(|mount| Some((mount, mount.prefix(scope)?)));
        self.optional(mount, |it, (mount, prefix)| {
            it.embedded(prefix);
            it.embedded(&mount.bucket);
            it.text(mount.backend.name());
        });
    }

    pub(super) fn limits(&mut self, limits: &TaskLimits) {
        self.part("limits");
        for (limit, bound) in limits.iter() {
            self.text(limit.as_str());
            self.text(&bound.to_string());
        }
    }

    pub(super) fn capability(&mut self, resolved: &ResolvedAgent, capability: &Capability) {
        let Capability {
            reference,
            path: _,
            // says which functions and events are active, and each of them says so itself
            include: _,
            bindings,
            // worked out with what the tool says, and written with each event
            event_timeout: _,
            before_first,
            before,
            after,
        } = capability;
        self.embedded(reference);
        self.list(bindings, Self::binding);
        let own = |invoke: &DeclaredInvoke| target_key(resolved, resolved.invoke_target(invoke));
        for steps in [before_first, before, after] {
            self.list(steps, |it, step| it.step(&own, step));
        }
    }

    pub(super) fn binding(&mut self, DeclaredBinding { name, value, path: _ }: &DeclaredBinding) {
        self.embedded(name);
        self.embedded(value);
    }

    /// A step; `target` gives the key of the function that an invoke step calls.
    pub(super) fn step<'k>(
        &mut self,
        target: &dyn Fn(&DeclaredInvoke) -> Option<&'k str>,
        step: &DeclaredStep,
    ) {
        let DeclaredStep {
            place: _,
            path: _,
            index: _,
            // what people call it
            name: _,
            action,
            condition,
            match_name,
            on_fail,
            error_message,
            mode,
            user_message,
            question,
            note,
            // what is asserted has them
            excepted: _,
        } = step;
        self.part("step");
        // nothing of a step that decides, so that it has the digest that it had before there were others
        if *mode == Mode::Observe {
            self.text("observe");
        }
        match action {
            DeclaredAction::Assert(text) => {
                self.text("assert");
                self.embedded(text);
            }
            DeclaredAction::Deny(_) => self.text("deny"),
            DeclaredAction::Limit(text) => {
                self.text("limit");
                self.embedded(text);
            }
            DeclaredAction::Transform(text) => {
                self.text("transform");
                self.embedded(text);
            }
            DeclaredAction::Effect(effect) => self.effect(effect),
            DeclaredAction::Label(labels) => {
                self.text(labels.key());
                match &labels.texts {
                    LabelTexts::Written(texts) => self.list(texts, Self::embedded),
                    LabelTexts::Computed(text) => self.embedded(text),
                }
            }
            DeclaredAction::Invoke(invoke) => {
                self.text("invoke");
                self.optional(target(invoke), Self::text);
                // the two are the target, taken apart
                let DeclaredInvoke { target, tool: _, capability: _, bindings } = invoke;
                self.embedded(target);
                self.list(bindings, Self::binding);
            }
        }
        for text in [condition, match_name, error_message] {
            self.written(text.as_ref());
        }
        // a step without it is written as it was before there was such a key
        if let Some(text) = user_message {
            self.part("user_message");
            self.embedded(text);
        }
        if let Some(text) = question {
            self.part("question");
            self.embedded(text);
        }
        if *note == NoteReader::Private {
            self.part("private note");
        }
        self.text(match on_fail {
            OnFail::Block => "block",
            OnFail::Continue => "continue",
            OnFail::LockTask => "lock_task",
        });
    }

    fn effect(&mut self, effect: &DeclaredEffect) {
        self.text(effect.key());
        match effect {
            DeclaredEffect::Set(DeclaredSet::Each(values)) => self.list(values, Self::binding),
            DeclaredEffect::Set(DeclaredSet::Whole(text)) => {
                self.part("all arguments");
                self.embedded(text);
            }
            DeclaredEffect::Respond(text) => self.embedded(text),
            DeclaredEffect::Delay(DeclaredDelay { milliseconds, place: _ }) => self.count(*milliseconds),
            DeclaredEffect::Oblige(obligations) => self.list(obligations, |it, obligation| {
                let DeclaredObligation { id, values } = obligation;
                it.embedded(id);
                it.list(values, Self::binding);
            }),
            DeclaredEffect::Credential(DeclaredCredential { audience, scopes, path: _ }) => {
                self.embedded(audience);
                self.list(scopes, Self::embedded);
            }
        }
    }

    pub(super) fn function(&mut self, resolved: &ResolvedAgent, declaration: &Declaration<'_>) {
        // what `call` is in a step is written with the steps that may ask for it
        let Declaration { capability, function, parameters, output, call: _ } = declaration;
        // the parameters are there as they are taken, and the action as what it does
        let DeclaredFunction { key, name, action: _, active, parameters: _ }: &DeclaredFunction = function;
        let entry = resolved.capabilities.get(*capability);
        self.part("function");
        self.count(*capability as u64);
        self.text(key);
        self.text(name);
        self.flag(*active);
        self.parameters(parameters);
        self.optional(output.as_ref(), |it, output| it.shape(output.shape()));
        let cel = entry.and_then(|entry| match &entry.action(function)?.execute {
            DeclaredExecute::Cel(text) => Some(text),
            DeclaredExecute::Runtime(_) | DeclaredExecute::Host | DeclaredExecute::Absent => None,
        });
        self.written(cel);
        if entry.and_then(|entry| entry.action(function)).is_some_and(ActionDecl::is_absent) {
            self.part("absent");
        }
        self.optional(entry, |it, entry| match target(entry, function) {
            InvocationTarget::Action { namespace, tool, action } => {
                ["action", &*namespace, &*tool, &*action].into_iter().for_each(|text| it.text(text));
            }
            InvocationTarget::Agent { namespace, agent } => {
                ["agent", &*namespace, &*agent].into_iter().for_each(|text| it.text(text));
            }
        });
    }

    pub(super) fn entry(&mut self, agent: &Agent, entry: &CapabilityEntry) {
        // what it is the target of and which functions it brings was written with them
        let CapabilityEntry { reference, key, listed, target: _, functions: _, events } = entry;
        self.text(reference);
        self.text(key);
        self.optional(*listed, |it, listed| it.count(listed as u64));
        self.list(&setting_defaults(entry), |it, (name, default)| {
            it.text(name);
            it.json(default.root());
        });
        self.list(events, |it, event| it.event(agent, entry, event));
    }

    fn event(&mut self, agent: &Agent, entry: &CapabilityEntry, event: &EventEntry) {
        self.part("event");
        self.optional(entry.event(event), Self::declared_event);
        let EventEntry { name, event: _, active } = event;
        self.text(name);
        self.flag(*active);
        self.optional(entry.subscription_timeout(agent, event), Self::whole);
    }

    fn declared_event(&mut self, event: &EventDecl) {
        let EventDecl {
            path: _,
            name: _,
            description: _,
            message,
            // both are in the timeout of the subscription
            timeout: _,
            max_timeout: _,
            parameters,
            aliases,
            payload,
            receive: Receive { kind, path: _, filter, node: _ },
        } = event;
        match kind {
            ReceiveKind::Webhook { secret } => {
                self.text("webhook");
                self.written(secret.as_ref());
            }
            ReceiveKind::Subscription => self.text("subscription"),
            ReceiveKind::Poll { detect } => {
                self.text("poll");
                self.embedded(detect);
            }
        }
        self.written(message.as_ref());
        self.written(filter.as_ref());
        self.list(aliases, Self::binding);
        self.list(parameters, |it, Property { name, path: _, schema }| {
            it.embedded(name);
            it.shape(&Shape::of(schema));
        });
        self.optional(payload.as_deref(), |it, payload| it.shape(&Shape::of(payload)));
    }

    pub(super) fn parameters(&mut self, parameters: &Parameters) {
        // the keys are the names, packed
        let Parameters { list, undeclared, derived, whole, keys: _ } = parameters;
        self.part("parameters");
        self.flag(*derived);
        // of the parameters of a listed tool alone
        match undeclared {
            Undeclared::Dropped => {}
            Undeclared::Kept if *derived => {}
            Undeclared::Refused => self.part("others refused"),
            Undeclared::KeptUnsaid => self.part("others kept unsaid"),
            Undeclared::Kept => self.part("others kept"),
        }
        if let Some(whole) = whole.as_deref() {
            self.part("all of them");
            self.plain_json(whole.schema());
        }
        self.list(list, |it, Parameter { name, shape, source, missing }| {
            it.text(name);
            it.shape(shape);
            it.text(match source {
                ParameterSource::Model => "model",
                ParameterSource::Binding => "binding",
                ParameterSource::Nobody => "nobody",
            });
            match missing {
                Missing::Fault => it.text("fault"),
                Missing::LeftOut => it.text("left out"),
                Missing::Default(default) => {
                    it.text("default");
                    it.json(default.root());
                }
            }
        });
    }

    /// Recurses as deep as the schema, which is as deep as its file may be.
    pub(super) fn shape(&mut self, shape: &Shape) {
        let Shape { kind, nullable, allowed, items, fields, others, alternatives, bounds, validator } = shape;
        self.part("shape");
        self.optional(*kind, |it, kind| it.text(SchemaKind::name(kind)));
        self.flag(*nullable);
        self.optional(allowed.as_deref(), |it, allowed| it.list(allowed, |it, value| it.json(value.root())));
        self.optional(items.as_deref(), Self::shape);
        self.list(fields, |it, ShapeField { name, shape, required }| {
            it.text(name);
            it.shape(shape);
            it.flag(*required);
        });
        match others {
            Others::Any => self.text("any"),
            Others::Refused => self.text("refused"),
            Others::Of(shape) => {
                self.text("of");
                self.shape(shape);
            }
        }
        self.list(alternatives, Self::shape);
        self.optional(bounds.sizes[1], Self::count);
        self.optional(validator.as_deref(), |it, validator| it.plain_json(validator.schema()));
    }

    pub(super) fn secrets(&mut self, secrets: &TaskSecrets) {
        let TaskSecrets { functions, input, exposes } = secrets;
        self.part("secrets");
        self.list(functions, |it, CallSecrets { arguments, result }| {
            it.secret_rules(arguments);
            it.secret_rules(result);
        });
        self.secret_rules(input);
        self.list(exposes, |it, name| it.text(name));
    }

    fn secret_rules(&mut self, secrets: &Secrets) {
        let positions = |it: &mut Self, list: &[usize]| it.list(list, |it, at| it.count(*at as u64));
        self.list(secrets.rules(), |it, rule| {
            let SecretRule { whole, same, members, others, items, rest, parts, closed } = rule;
            it.flag(*whole);
            it.list(members, |it, (name, at)| {
                it.text(name);
                it.count(*at as u64);
            });
            for list in [same, others, items, rest, parts] {
                positions(it, list);
            }
            it.flag(*closed);
        });
    }
}
