//! Policy documents (`celador/v1/policy`): rules that hold for many agents, beside their manifests.
//!
//! In: the mapping of one document. Out: a [`DeclaredPolicy`] with every expression still as text and in its place. It can only
//! tighten what the manifests allow: it has no key that grants a call or takes a step away. It never looks at another
//! document; `applied` says to which agents and calls its steps belong.

use super::agent::{LimitKeys, TaskLimits, read_limits};
use super::counter::{CounterKeys, DeclaredCounter, read_counters};
use super::fields::{Field, Key};
use super::kind::{DocumentKind, Family, KindOf};
use super::messages;
use super::node::Entry;
use super::policy_step::{Labels, PolicyStep};
use super::reader::{Path, Reader};
use super::selector::{AgentSelector, CallSelector};
use super::shape::{ByName, List, Name, Required, Text, TextOrTexts, mapping};
use super::step::{DeclaredStep, Hook, PolicySteps};
use super::yaml::YamlDocument;
use crate::source::{Embedded, Place};
use std::collections::HashMap;

/// A policy document.
#[derive(Clone, Debug)]
pub struct DeclaredPolicy {
    /// Where the document stands.
    pub place: Place,
    /// The path of the document: empty, or that of a case file, such as `policies[0]`.
    pub path: String,
    /// Whether nothing in it is an error. No agent that it is for runs without it, so none does under one that is not sound.
    pub sound: bool,
    /// Its kind.
    pub kind: DocumentKind,
    /// Its namespace.
    pub namespace: Embedded,
    /// Its name, unique among the policies of the namespace.
    pub name: Embedded,
    /// The purpose of the policy.
    pub description: Option<Embedded>,
    /// Texts by name for those who read decisions.
    pub labels: Labels,
    /// The agents that it is for.
    pub agents: AgentSelector,
    /// The limits of their tasks. Of several limits of one name the smallest counts.
    pub limits: TaskLimits,
    /// Amounts that count across tasks, which its steps read.
    pub counters: Vec<DeclaredCounter>,
    /// Steps around calls, by key.
    pub capabilities: Vec<PolicyCapability>,
    /// Steps on each input.
    pub guardrails_before: Vec<DeclaredStep>,
    /// Steps on each response.
    pub guardrails_after: Vec<DeclaredStep>,
}

/// The steps of a policy around the calls that a key selects.
#[derive(Clone, Debug)]
pub struct PolicyCapability {
    /// The key, as written.
    pub key: Embedded,
    /// The calls that it selects.
    pub calls: CallSelector,
    /// The manifest path, such as `capabilities.payments_*`.
    pub path: String,
    /// Steps ahead of the first of these calls in a task.
    pub before_first: Vec<DeclaredStep>,
    /// Steps ahead of each of these calls.
    pub before: Vec<DeclaredStep>,
    /// Steps behind each of these calls.
    pub after: Vec<DeclaredStep>,
}

impl PolicyCapability {
    /// All steps, in the order in which the lists run.
    pub fn steps(&self) -> impl Iterator<Item = &DeclaredStep> {
        self.before_first.iter().chain(&self.before).chain(&self.after)
    }
}

impl DeclaredPolicy {
    /// Namespace and name: `acme/payments`. Policies apply in the order of these texts.
    #[must_use]
    pub fn full_name(&self) -> String {
        format!("{}/{}", self.namespace.text, self.name.text)
    }

    /// All steps, those of capabilities first.
    pub fn steps(&self) -> impl Iterator<Item = &DeclaredStep> {
        let of_calls = self.capabilities.iter().flat_map(PolicyCapability::steps);
        of_calls.chain(&self.guardrails_before).chain(&self.guardrails_after)
    }
}

mapping! {
    /// Rules for many agents, which only tighten what their manifests allow. Other runtimes skip such a document.
    pub(super) PolicyKeys as "policy" = "a policy" {
        /// Version and type of the document.
        _kind = "kind": Required<KindOf<{ Family::Policy as usize }>>,
        /// The namespace of the policy, of the agents that it is for unless `applies_to` says otherwise, and of the tools that
        /// its steps invoke.
        namespace: Required<Name>,
        /// A name, unique among the policies of the namespace.
        name: Required<Name>,
        /// What the policy is for.
        description: Text,
        /// Texts by name for those who read decisions.
        labels: ByName<TextOrTexts>,
        /// The agents that the policy is for.
        applies_to: ScopeKeys,
        /// Bounds of a task; the smallest counts, whoever sets it.
        limits: LimitKeys,
        /// Amounts that calls add up across tasks, users and days; expressions of the policy read them as `counters.NAME`.
        counters: ByName<CounterKeys>,
        /// Steps around calls, by the names of functions or tools, by patterns of them, or by `tag:` and a tag.
        capabilities: ByName<CallKeys>,
        /// Checks of messages.
        guardrails: MessageKeys,
    }

    ScopeKeys = "`applies_to`" {
        /// Agents as `namespace/name`; `*` stands for any characters.
        agents: List<Text>,
        /// Agents among those for which the policy is not.
        except: List<Text>,
    }

    #[rules = { "minProperties": 1 }]
    CallKeys = "a capability" {
        /// Steps ahead of the first of these calls in a task.
        before_first: PolicySteps<{ Hook::BeforeFirst as usize }>,
        /// Steps ahead of each of these calls.
        before: PolicySteps<{ Hook::Before as usize }>,
        /// Steps behind each of these calls.
        after: PolicySteps<{ Hook::After as usize }>,
    }

    MessageKeys = "`guardrails`" {
        /// Steps on each input.
        before: PolicySteps<{ Hook::GuardrailBefore as usize }>,
        /// Steps on each response.
        after: PolicySteps<{ Hook::GuardrailAfter as usize }>,
    }
}

impl DeclaredPolicy {
    /// Reads the mapping of one document; none if it is no mapping. `kind` has been read from it.
    pub(super) fn read(
        document: &YamlDocument,
        kind: DocumentKind,
        path: &Path,
        reader: &mut Reader,
    ) -> Option<Self> {
        let fields = reader.fields::<PolicyKeys>(&document.node, path)?;
        let namespace = fields.namespace().text_or_empty("KV-03", reader);
        let name = fields.name().text_or_empty("KV-03", reader);
        let description = fields.description().text(reader);
        let labels = fields.labels().labels(reader);
        let agents = read_scope(&fields.applies_to(), &namespace, reader);
        let limits = read_limits(&fields.limits(), reader);
        let counters = read_counters(&fields.counters(), reader);
        let own = PolicyStep {
            name: format!("{}/{}", namespace.text, name.text).into(),
            id: None,
            severity: None,
            labels: labels.clone(),
        };
        let capabilities = read_capabilities(&fields.capabilities(), &own, reader);
        let guardrails = fields.guardrails().fields(reader);
        let (guardrails_before, guardrails_after) = guardrails.map_or_else(Default::default, |fields| {
            let lists = (fields.before().steps(&own, reader), fields.after().steps(&own, reader));
            fields.refuse_others(reader);
            lists
        });
        let place = fields.place.clone();
        fields.refuse_others(reader);
        let mut policy = Self {
            place,
            path: path.to_string(),
            sound: true,
            kind,
            namespace,
            name,
            description,
            labels,
            agents,
            limits,
            counters,
            capabilities,
            guardrails_before,
            guardrails_after,
        };
        policy.check_ids(reader);
        let is_empty = policy.steps().next().is_none() && policy.limits == TaskLimits::default();
        if is_empty && !reader.has_errors() {
            reader.report(path, messages::empty_policy(&policy.place));
        }
        policy.sound = document.sound && !reader.has_errors();
        Some(policy)
    }

    /// No two steps have one id.
    fn check_ids(&self, reader: &mut Reader) {
        let mut known: HashMap<&str, &Place> = HashMap::new();
        for step in self.steps() {
            let Some(id) = step.name.as_ref().and_then(|name| name.id.as_deref()) else { continue };
            if let Some(first) = known.insert(id, &step.place) {
                let path = Path::document(&step.path).key("id");
                reader.report(&path, messages::duplicate_step_id(&step.place, first.clone()));
            }
        }
    }
}

/// The agents that a policy is for: those of its namespace, unless it says otherwise. Where that cannot be read it is for
/// all of them, so that no agent runs without a policy that may be its own.
fn read_scope(key: &Key<'_, '_, ScopeKeys>, namespace: &Embedded, reader: &mut Reader) -> AgentSelector {
    let Some(field) = key.get() else { return AgentSelector::of_namespace(namespace) };
    let errors = reader.errors();
    let Some(fields) = key.fields(reader) else { return AgentSelector::everybody(field.node) };
    let agents = fields.agents().get().map(|field| read_patterns(&field, reader));
    let except = fields.except().get().map(|field| read_patterns(&field, reader));
    fields.refuse_others(reader);
    if reader.errors() > errors {
        return AgentSelector::everybody(field.node);
    }
    let agents = agents.unwrap_or_else(|| AgentSelector::of_namespace(namespace).patterns);
    AgentSelector { patterns: agents, except: except.unwrap_or_default() }
}

/// Patterns of `namespace/name`.
fn read_patterns(field: &Field<'_>, reader: &mut Reader) -> Vec<Embedded> {
    let patterns = reader.texts(field.node, &field.path).unwrap_or_default();
    if patterns.is_empty() {
        reader.report(&field.path, messages::no_agents_named(&field.key.place));
    }
    for (at, pattern) in patterns.iter().enumerate() {
        if &*pattern.text != "*" && !pattern.text.contains('/') {
            reader.report(&field.path.item(at), messages::bad_agent_pattern(pattern));
        }
    }
    patterns
}

fn read_capabilities(
    key: &Key<'_, '_, ByName<CallKeys>>,
    policy: &PolicyStep,
    reader: &mut Reader,
) -> Vec<PolicyCapability> {
    let Some(field) = key.get() else { return Vec::new() };
    let entries = reader.mapping(field.node, &field.path).unwrap_or_default();
    let read = |entry: &Entry| read_capability(entry, &field.path.key(&entry.key.text), policy, reader);
    entries.iter().filter_map(read).collect()
}

fn read_capability(
    entry: &Entry,
    path: &Path,
    policy: &PolicyStep,
    reader: &mut Reader,
) -> Option<PolicyCapability> {
    let calls = CallSelector::parse(&entry.key.text);
    if calls.is_none() {
        reader.report(path, messages::bad_call_key(&entry.key));
    }
    let fields = reader.fields::<CallKeys>(&entry.value, path)?;
    let capability = PolicyCapability {
        key: entry.key.clone(),
        calls: calls?,
        path: path.to_string(),
        before_first: fields.before_first().steps(policy, reader),
        before: fields.before().steps(policy, reader),
        after: fields.after().steps(policy, reader),
    };
    if capability.steps().next().is_none() {
        reader.report(path, messages::empty_policy_key(&entry.key));
    }
    fields.refuse_others(reader);
    Some(capability)
}
