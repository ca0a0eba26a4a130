//! Policy documents (`celador/v1/policy`): rules that hold for many agents, beside their manifests.
//!
//! In: the mapping of one document. Out: a [`DeclaredPolicy`] with every expression still as text and in its place. It can only
//! tighten what the manifests allow: it has no key that grants a call or takes a step away. It never looks at another
//! document; `applied` says to which agents and calls its steps belong.

use super::claims::ClaimsSchema;
use super::counter::{CounterKeys, DeclaredCounter, read_counters};
use super::default_decision::DefaultDecision;
use super::delegation::{DeclaredDelegation, DelegationKeys};
use super::exception::{DeclaredException, ExceptionKeys};
use super::fields::{Field, Key};
use super::host_function::{DeclaredFunction, HostFunctionKeys, read_host_functions};
use super::kind::{DocumentKind, Family, KindOf};
use super::messages;
use super::mode::Mode;
use super::named_expression::{NamedExpression, NamedExpressionKeys, read_named_expressions};
use super::node::Entry;
use super::policy_step::{Labels, OfPolicy, PolicyStep};
use super::policy_use::{DeclaredUse, Library, LibraryKeys, PolicyParameter, UsedBy};
use super::reader::{Path, Reader};
use super::review::{DeclaredReviews, ReviewKeys};
use super::schema::Schema;
use super::selector::{AgentSelector, CallSelector};
use super::shape::{
    ByName, Expression, List, Name, OneOf, Part, Required, Text, TextOrTexts, mapping, shape,
};
use super::step::{DeclaredAction, DeclaredStep, Hook, PolicySteps};
use super::task_limit::{PolicyLimitKeys, TaskLimits};
use super::unread::check_unread;
use super::yaml::YamlDocument;
use crate::cel::Semver;
use crate::context::Root;
use crate::copies::SHORTEST;
use crate::source::{Embedded, Place};
use serde_json::json;
use std::collections::HashMap;
use std::sync::Arc;

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
    /// Its version.
    pub version: Option<Semver>,
    /// Texts by name for those who read decisions.
    pub labels: Labels,
    /// Whether its steps decide, but for those that say so themselves.
    pub mode: Mode,
    /// Whether its steps ahead of calls only look at what all others have let by: they run behind those of manifests, too. No document says
    /// so; invariants are such policies.
    pub(crate) watches: bool,
    /// Values that are the same for all of it, which its expressions read as `parameters.NAME`.
    pub parameters: Vec<PolicyParameter>,
    /// The policies that hold wherever this one does.
    pub uses: Vec<DeclaredUse>,
    /// How it comes to apply, if another policy uses it; nothing for a document as it is written.
    pub used_by: Option<Arc<UsedBy>>,
    /// The agents that it is for.
    pub agents: AgentSelector,
    /// The bound of its agents' tasks to which other tasks delegate, if it has one.
    pub delegation: Option<DeclaredDelegation>,
    /// The claims of the user that are visible to its expressions: the schema of an object.
    pub claims: Option<Arc<Schema>>,
    /// The limits of their tasks. Of several limits of one name the smallest counts.
    pub limits: TaskLimits,
    /// Amounts that count across tasks, which its steps read.
    pub counters: Vec<DeclaredCounter>,
    /// What it says of the reviews of its agents' tasks.
    pub reviews: DeclaredReviews,
    /// How many letters in a row make a copy of a text, if it says so. Of several policies the smallest number counts.
    pub copy_letters: Option<usize>,
    /// What its rules, and those that it uses, let pass until a time.
    pub exceptions: Vec<DeclaredException>,
    /// Expressions by name, which its other expressions read as `variables.NAME`.
    pub variables: Vec<DeclaredVariable>,
    /// Expressions with parameters, which its other expressions call as `expressions.NAME(…)`.
    pub expressions: Vec<NamedExpression>,
    /// Functions that its host gives, which its expressions call by their names.
    pub functions: Vec<DeclaredFunction>,
    /// The named expressions of the policies that it uses, which its expressions call as `expressions.USE.NAME(…)`.
    pub(crate) imports: Vec<ImportedExpressions>,
    /// Steps around calls, by key.
    pub capabilities: Vec<PolicyCapability>,
    /// The rule that denies calls of functions that no step mentions, if the policy says `default: deny`.
    pub default_denial: Option<PolicyCapability>,
    /// Steps on each input.
    pub guardrails_before: Vec<DeclaredStep>,
    /// Steps on each response.
    pub guardrails_after: Vec<DeclaredStep>,
    /// Checks of the tools that a task brings.
    pub tools: Vec<DeclaredStep>,
    /// Steps ahead of each call of the model.
    pub model_before: Vec<DeclaredStep>,
    /// Steps on each answer of the model.
    pub model_after: Vec<DeclaredStep>,
}

/// Named expressions of a policy that another one uses.
#[derive(Clone, Debug)]
pub(crate) struct ImportedExpressions {
    /// The name under which the using policy has them: that of the use, or of the policy without its namespace.
    pub(crate) name: Arc<str>,
    /// The policy, with the values that the use gives to its parameters.
    pub(crate) policy: Arc<DeclaredPolicy>,
}

/// An expression that the others of its policy know by a name.
#[derive(Clone, Debug)]
pub struct DeclaredVariable {
    /// The name.
    pub name: Embedded,
    /// The manifest path, such as `variables.paid`.
    pub path: String,
    /// The expression.
    pub expression: Embedded,
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
    /// Whether it is the limit of a counter, for the calls that add to it.
    pub(super) fn is_limit(&self) -> bool {
        self.steps().next().is_some_and(|step| matches!(step.action, DeclaredAction::Limit(_)))
    }

    /// All steps, in the order in which the lists run.
    pub fn steps(&self) -> impl Iterator<Item = &DeclaredStep> {
        self.before_first.iter().chain(&self.before).chain(&self.after)
    }
}

impl DeclaredPolicy {
    /// Whether it is for nobody until another policy uses it: a parameter has no value.
    #[must_use]
    pub fn is_library(&self) -> bool {
        self.parameters.iter().any(|parameter| parameter.value.is_none())
    }

    /// Whether it has named expressions and no rules, as a policy has that others use for its expressions.
    #[must_use]
    pub fn has_expressions_alone(&self) -> bool {
        !self.expressions.is_empty() && self.steps().next().is_none() && self.limits == TaskLimits::default()
    }

    /// Whether both are of one document.
    #[must_use]
    pub fn is_of(&self, document: &Self) -> bool {
        self.place.source.same(&document.place.source) && self.place.span == document.place.span
    }

    /// The name under which it applies, as decisions have it: that of the policy that uses it, or its own.
    #[must_use]
    pub fn applied_name(&self) -> Arc<str> {
        match &self.used_by {
            Some(by) => by.user.name.clone(),
            None => self.full_name().into(),
        }
    }

    /// Namespace and name of the document: `acme/payments`. Policies apply in the order of these texts.
    #[must_use]
    pub fn full_name(&self) -> String {
        format!("{}/{}", self.namespace.text, self.name.text)
    }

    /// The texts of its variables and named expressions, then those of the policies whose named expressions it can call.
    pub fn named_texts(&self) -> impl Iterator<Item = &Embedded> {
        let variables = self.variables.iter().map(|variable| &variable.expression);
        let own = variables.chain(self.expressions.iter().map(|expression| &expression.value));
        let imported: Vec<&Embedded> =
            self.imports.iter().flat_map(|import| import.policy.named_texts().collect::<Vec<_>>()).collect();
        own.chain(imported)
    }

    /// The `invoke` steps whose results other steps may read, with their ids; none if nothing of the policy reads results.
    pub fn results(&self) -> Vec<(&Arc<str>, &DeclaredStep)> {
        let of_steps = self.steps().flat_map(|step| step.expressions().chain(step.says()));
        if !of_steps.chain(self.named_texts()).any(|text| text.text.contains(Root::Invoked.name())) {
            return Vec::new();
        }
        self.steps().filter_map(|step| Some((step.gives_result()?, step))).collect()
    }

    /// All steps, those of capabilities first.
    pub fn steps(&self) -> impl Iterator<Item = &DeclaredStep> {
        let of_calls = self.capabilities.iter().chain(&self.default_denial).flat_map(PolicyCapability::steps);
        let of_messages = self.guardrails_before.iter().chain(&self.guardrails_after);
        of_calls.chain(of_messages).chain(&self.model_before).chain(&self.model_after).chain(&self.tools)
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
        library: Part<LibraryKeys>,
        /// Texts by name for those who read decisions.
        labels: ByName<TextOrTexts>,
        /// Whether the steps decide, or are only tried out: what they would have done is told, and nothing else happens.
        mode: OneOf<Mode> => "enforce",
        /// The agents that the policy is for.
        applies_to: ScopeKeys,
        /// The decision about calls of functions that no step of any document mentions. If one policy of an agent says `deny`, they are denied.
        default: OneOf<DefaultDecision> => "allow",
        /// The bound of tasks that other tasks begin. The agents that the policy is for have no tasks without a parent then.
        delegate: DelegationKeys,
        /// The claims of the user that its expressions read as `context.user.claims`.
        claims: ClaimsSchema,
        /// Bounds of a task; the smallest counts, whoever sets it.
        limits: PolicyLimitKeys,
        /// Amounts that calls of functions and of the model add up across tasks, users and days; expressions of the policy read them as `counters.NAME`.
        counters: ByName<CounterKeys>,
        /// Settings for reviews: whether other calls proceed while one is open, and whether the model reads the reviewers' notes.
        reviews: ReviewKeys,
        /// How many letters in a row make a copy of a text, for `labels` and `sources`.
        copy_letters: CopyLetters,
        /// What rules let pass for a reason and until a time.
        exceptions: List<ExceptionKeys>,
        /// Expressions by name, which the others read as `variables.NAME`.
        variables: ByName<Expression>,
        /// Expressions with parameters, by name, which the others call as `expressions.NAME(…)`; those of a policy in `uses` as `expressions.USE.NAME(…)`.
        expressions: ByName<NamedExpressionKeys>,
        /// Functions that the host of the policy registers, by qualified names such as `risk.score`. A host without them does not load the policy.
        functions: ByName<HostFunctionKeys>,
        /// Steps around calls, by the names of functions or tools, by patterns of them, or by `tag:` and a tag.
        capabilities: ByName<CallKeys>,
        /// Checks of messages.
        guardrails: MessageKeys,
        /// Checks of what is sent to the model, and of what comes back.
        model: ModelKeys,
        /// Checks of the tools that a task brings, by what they say of themselves. A tool that fails one is left out.
        tools: PolicySteps<{ Hook::Tools as usize }>,
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

    ModelKeys = "`model`" {
        /// Steps ahead of each call of the model, on what is sent to it.
        before: PolicySteps<{ Hook::ModelBefore as usize }>,
        /// Steps on each answer of the model.
        after: PolicySteps<{ Hook::ModelAfter as usize }>,
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
        let Library { version, parameters, uses } = Library::read(&fields.library().part(), reader);
        let scope = fields.applies_to().get().map(|field| (field.path, field.key.place.clone()));
        let agents = read_scope(&fields.applies_to(), &namespace, reader);
        let delegation = fields.delegate().delegation(reader);
        let claims = fields.claims().claims(reader);
        let limits = fields.limits().limits(reader);
        let counters = read_counters(&fields.counters(), reader);
        let mode = fields.mode().mode(Mode::Enforce, reader);
        let reviews = fields.reviews().reviews(reader);
        let copy_letters = read_copy_letters(&fields.copy_letters(), reader);
        let exceptions = fields.exceptions().exceptions(reader);
        let variables = read_variables(&fields.variables(), reader);
        let expressions = read_named_expressions(&fields.expressions(), reader);
        let functions = read_host_functions(&fields.functions(), reader);
        let own = PolicyStep {
            labels: labels.clone(),
            ..PolicyStep::of(&format!("{}/{}", namespace.text, name.text))
        };
        let own = OfPolicy { name: own, mode, note: reviews.note };
        let default_denial = fields.default().get().and_then(|field| {
            let step = fields.default().denial(&own, reader)?;
            Some(PolicyCapability {
                key: field.key.clone(),
                calls: CallSelector::Unmentioned,
                path: field.path.to_string(),
                before_first: Vec::new(),
                before: vec![step],
                after: Vec::new(),
            })
        });
        if let Some(field) = fields.limits().get().filter(|_| mode == Mode::Observe) {
            reader.report(&field.path, messages::observed_limits(field.key));
        }
        let mut capabilities = read_capabilities(&fields.capabilities(), &own, reader);
        capabilities.extend(counters.iter().flat_map(|counter| counter.limits_of_calls(&own)));
        let guardrails = fields.guardrails().fields(reader);
        let (guardrails_before, guardrails_after) = guardrails.map_or_else(Default::default, |fields| {
            let lists = (fields.before().steps(&own, reader), fields.after().steps(&own, reader));
            fields.refuse_others(reader);
            lists
        });
        let model = fields.model().fields(reader);
        let (mut model_before, model_after) = model.map_or_else(Default::default, |fields| {
            let lists = (fields.before().steps(&own, reader), fields.after().steps(&own, reader));
            fields.refuse_others(reader);
            lists
        });
        model_before.extend(counters.iter().filter_map(|counter| counter.limit_of_model(&own)));
        let tools = fields.tools().steps(&own, reader);
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
            version,
            labels,
            mode,
            watches: false,
            parameters,
            uses,
            used_by: None,
            agents,
            delegation,
            claims,
            limits,
            counters,
            reviews,
            copy_letters,
            exceptions,
            variables,
            expressions,
            functions,
            imports: Vec::new(),
            capabilities,
            default_denial,
            guardrails_before,
            guardrails_after,
            model_before,
            model_after,
            tools,
        };
        policy.check_ids(reader);
        policy.except(reader);
        let parameters = policy.parameters.iter().map(|parameter| (&parameter.name, &*parameter.path));
        check_unread(&document.node, "parameters", parameters, messages::unread_parameter, reader);
        let variables = policy.variables.iter().map(|variable| (&variable.name, &*variable.path));
        check_unread(&document.node, "variables", variables, messages::unread_variable, reader);
        if let Some((path, place)) = scope.filter(|_| policy.is_library()) {
            reader.report(&path, messages::scope_of_library(&place));
        }
        let has_steps = policy.steps().next().is_some() || !policy.uses.is_empty();
        let is_empty = !has_steps
            && policy.expressions.is_empty()
            && policy.delegation.is_none()
            && policy.limits == TaskLimits::default()
            && policy.reviews == DeclaredReviews::default();
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
            // a limit is one step, wherever it is for
            if let Some(first) = known
                .insert(id, &step.place)
                .filter(|first| first.span != step.place.span || !first.source.same(&step.place.source))
            {
                let path = Path::document(&step.path).key("id");
                reader.report(&path, messages::duplicate_step_id(&step.place, first.clone()));
            }
        }
    }
}

shape! {
    /// How many letters make a copy.
    CopyLetters = |_| json!({ "type": "integer", "minimum": SHORTEST, "maximum": MAX_COPY_LETTERS });
}

/// The most letters that a policy may want in a row: with more, what is copied line by line would pass.
const MAX_COPY_LETTERS: usize = 64;

fn read_copy_letters(key: &Key<'_, '_, CopyLetters>, reader: &mut Reader) -> Option<usize> {
    let field = key.get()?;
    let letters = reader.whole(field.node, &field.path)?;
    let letters =
        usize::try_from(letters).ok().filter(|letters| (SHORTEST..=MAX_COPY_LETTERS).contains(letters));
    if letters.is_none() {
        reader.report(&field.path, messages::bad_copy_letters(&field.key.place, SHORTEST, MAX_COPY_LETTERS));
    }
    letters
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

fn read_variables(key: &Key<'_, '_, ByName<Expression>>, reader: &mut Reader) -> Vec<DeclaredVariable> {
    let Some(field) = key.get() else { return Vec::new() };
    let entries = reader.mapping(field.node, &field.path).unwrap_or_default();
    let read = |entry: &Entry| {
        let path = field.path.key(&entry.key.text);
        let expression = reader.expression(&entry.value, &path, "CEL-01")?;
        Some(DeclaredVariable { name: entry.key.clone(), path: path.to_string(), expression })
    };
    entries.iter().filter_map(read).collect()
}

fn read_capabilities(
    key: &Key<'_, '_, ByName<CallKeys>>,
    policy: &OfPolicy,
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
    policy: &OfPolicy,
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
