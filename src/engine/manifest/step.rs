//! Middleware steps (MW): one check, call or rewrite in a list of an agent or trigger.
//!
//! In: a list of mappings and the hook it belongs to. Out: [`DeclaredStep`]s with exactly one action each, their expressions as
//! text. A step that breaks a rule of its hook is reported and left out. Steps of policy documents are read here too: they
//! have names, select their calls by the key that they stand under, and may refuse a message. Nothing here reads an
//! expression or a template.

use super::binding::{Bindings, DeclaredBinding};
use super::exception::Excepted;
use super::fields::{Field, Fields, Key};
use super::label::{DeclaredLabels, LabelKeys, label_keys};
use super::messages;
use super::mode::Mode;
use super::policy_step::{NameKeys, OfPolicy, PolicyStep};
use super::reader::Reader;
use super::review::NoteReader;
use super::shape::{Definitions, Expression, OneOf, Part, Shape, Text, mapping, shape, with, words};
use super::step_effect::{self, DeclaredEffect, EffectKeys};
use crate::source::{Embedded, Place};
use serde_json::{Value, json};
use std::sync::Arc;

/// One step.
#[derive(Clone, Debug)]
pub struct DeclaredStep {
    /// Where it stands.
    pub place: Place,
    /// The manifest path, such as `capabilities.ledger.before[0]`.
    pub path: String,
    /// Its position in the list that it is written in.
    pub index: usize,
    /// How a step of a policy document is named; nothing for a step of an agent or trigger.
    pub name: Option<Arc<PolicyStep>>,
    /// What it does.
    pub action: DeclaredAction,
    /// An expression that skips the step when it is falsy (MW-24).
    pub condition: Option<Embedded>,
    /// The action or event it is for (MW-20, MW-21); compared after sanitising (MW-22). Never on guardrails.
    pub match_name: Option<Embedded>,
    /// What follows when it fails; the hook's default is filled in (MW-27, GR-03).
    pub on_fail: OnFail,
    /// The template of the message to the model or the reason of the lock.
    pub error_message: Option<Embedded>,
    /// Whether it decides, or is only tried out; a step of an agent or trigger decides.
    pub mode: Mode,
    /// The template of the message to the user, of a step of a policy document.
    pub user_message: Option<Embedded>,
    /// The template of what a reviewer is asked, of a step of a policy document.
    pub question: Option<Embedded>,
    /// The reader of the reviewer's note.
    pub note: NoteReader,
    /// The rule and its exceptions, apart, where it has some: what it asserts has them in it.
    pub(crate) excepted: Option<Box<Excepted>>,
}

impl DeclaredStep {
    /// The path of the expression that decides: `….assert`, `….invoke` or `….transform`.
    #[must_use]
    pub fn action_path(&self) -> String {
        let key = match &self.action {
            DeclaredAction::Assert(_) => "assert",
            DeclaredAction::Invoke(_) => "invoke",
            DeclaredAction::Transform(_) => "transform",
            DeclaredAction::Effect(effect) => effect.key(),
            DeclaredAction::Label(labels) => labels.key(),
            // the word of the policy is the rule
            DeclaredAction::Deny(_) | DeclaredAction::Limit(_) => return self.path.clone(),
        };
        format!("{}.{key}", self.path)
    }

    /// The name under which later steps of its policy read its result: the id of an `invoke` step.
    pub(crate) fn gives_result(&self) -> Option<&Arc<str>> {
        let is_invoke = matches!(self.action, DeclaredAction::Invoke(_));
        self.name.as_ref().filter(|_| is_invoke)?.id.as_ref()
    }

    /// What it says, to the model, the user and reviewers.
    pub(crate) fn says(&self) -> impl Iterator<Item = &Embedded> {
        self.error_message.iter().chain(&self.user_message).chain(&self.question)
    }

    /// The texts that are evaluated: the condition, and what the action asks.
    pub(crate) fn expressions(&self) -> Box<dyn Iterator<Item = &Embedded> + '_> {
        let (action, bindings): (_, &[DeclaredBinding]) = match &self.action {
            DeclaredAction::Effect(effect) => return Box::new(self.condition.iter().chain(effect.texts())),
            DeclaredAction::Assert(text)
            | DeclaredAction::Transform(text)
            | DeclaredAction::Deny(text)
            | DeclaredAction::Limit(text) => (Some(text), &[]),
            DeclaredAction::Label(labels) => (labels.computed(), &[]),
            DeclaredAction::Invoke(invoke) => (None, &invoke.bindings),
        };
        Box::new(self.condition.iter().chain(action).chain(bindings.iter().map(|binding| &binding.value)))
    }
}

/// What a step does; exactly one of the first three in a manifest (MW-03, MW-04).
#[derive(Clone, Debug)]
pub enum DeclaredAction {
    /// `assert: input.amount < 100`: an expression that must be truthy.
    Assert(Embedded),
    /// `invoke: audit:record`: a capability that runs, unseen by the model.
    Invoke(DeclaredInvoke),
    /// `transform: output.put('note', 'x')`: an expression whose value takes the place of the output or message.
    Transform(Embedded),
    /// `default: deny`: an expression that is never true.
    Deny(Embedded),
    /// `limit` of a counter: an expression over the counter and what a call adds.
    Limit(Embedded),
    /// What it does to the call itself, in a policy document.
    Effect(DeclaredEffect),
    /// `label: [untrusted]` or `declassify: [untrusted]`: what a step of a policy says of the value that came in.
    Label(DeclaredLabels),
}

/// The call of an invoke step.
#[derive(Clone, Debug)]
pub struct DeclaredInvoke {
    /// `tool:capability` as written (MW-08).
    pub target: Embedded,
    /// The part before the colon, not empty.
    pub tool: String,
    /// The part behind the colon, not empty.
    pub capability: String,
    /// The arguments: expressions in the scope of the step (MW-13).
    pub bindings: Vec<DeclaredBinding>,
}

/// What follows when a step fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnFail {
    /// The call does not happen or its result is withheld; the model gets the message (MW-28, MW-29).
    Block,
    /// The next step (MW-30).
    Continue,
    /// The task ends for good (MW-31).
    LockTask,
}

/// The list that a step stands in: it decides what a step may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hook {
    /// `before_first` of a capability.
    BeforeFirst,
    /// `before` of a capability.
    Before,
    /// `after` of a capability.
    After,
    /// `guardrails.before`.
    GuardrailBefore,
    /// `guardrails.after`.
    GuardrailAfter,
    /// `source.before` of a trigger: asserts alone, before there is a task (TRG-02).
    Trigger,
    /// `model.before` of a policy document: ahead of each call of the model.
    ModelBefore,
    /// `model.after` of a policy document: on each answer of the model.
    ModelAfter,
    /// `tools` of a policy document: asserts alone, on each tool that a task brings, before the task begins.
    Tools,
}

impl Hook {
    /// What its steps are called, unless they belong to a capability.
    fn owner(self) -> Option<&'static str> {
        match self {
            Self::BeforeFirst | Self::Before | Self::After => None,
            Self::GuardrailBefore | Self::GuardrailAfter => Some("a guardrail"),
            Self::Trigger => Some("a trigger"),
            Self::ModelBefore | Self::ModelAfter => Some("a step around model calls"),
            Self::Tools => Some("a check of tools"),
        }
    }

    /// All of them, in the order of their numbers.
    const ALL: [Self; 9] = [
        Self::BeforeFirst,
        Self::Before,
        Self::After,
        Self::GuardrailBefore,
        Self::GuardrailAfter,
        Self::Trigger,
        Self::ModelBefore,
        Self::ModelAfter,
        Self::Tools,
    ];

    /// How JSON Schema calls its steps.
    fn definition(self) -> &'static str {
        match self {
            Self::BeforeFirst | Self::Before => "beforeStep",
            Self::After => "afterStep",
            Self::GuardrailBefore | Self::GuardrailAfter => "guardrailStep",
            Self::Trigger => "triggerStep",
            Self::ModelBefore | Self::ModelAfter => "modelStep",
            Self::Tools => "toolStep",
        }
    }

    /// The same of the steps of policy documents.
    fn definition_in_policy(self) -> &'static str {
        match self {
            Self::BeforeFirst => "policyBeforeFirstStep",
            Self::Before => "policyBeforeStep",
            Self::After => "policyAfterStep",
            Self::GuardrailBefore | Self::GuardrailAfter | Self::Trigger => "policyGuardrailStep",
            Self::ModelBefore | Self::ModelAfter => "policyModelStep",
            Self::Tools => "policyToolStep",
        }
    }

    /// What its steps may do, by key: exactly one of these (MW-03, MW-04, TRG-02). A step of a policy document may do more to the call
    /// itself.
    fn actions(self, of_policy: bool) -> Vec<&'static str> {
        let mut actions = self.actions_without_effects(of_policy).to_vec();
        if of_policy && self == Self::Before {
            actions.extend(step_effect::keys());
        }
        actions
    }

    fn actions_without_effects(self, of_policy: bool) -> &'static [&'static str] {
        match self {
            Self::BeforeFirst | Self::Before => &["assert", "invoke"],
            Self::After | Self::GuardrailBefore if of_policy => {
                &["assert", "invoke", "transform", "label", "declassify", "label_task", "unlabel_task"]
            }
            Self::After
            | Self::GuardrailBefore
            | Self::GuardrailAfter
            | Self::ModelBefore
            | Self::ModelAfter => &["assert", "invoke", "transform"],
            Self::Trigger | Self::Tools => &["assert"],
        }
    }

    /// What its steps may do when they fail; the first is the default (MW-27, GR-03, TRG-04). A guardrail of a policy document
    /// may refuse the one message; its default stays that of a manifest, so that a step that moves there loses nothing.
    fn on_fail(self, of_policy: bool) -> &'static [(&'static str, OnFail)] {
        const BLOCK: (&str, OnFail) = ("block", OnFail::Block);
        const CONTINUE: (&str, OnFail) = ("continue", OnFail::Continue);
        const LOCK_TASK: (&str, OnFail) = ("lock_task", OnFail::LockTask);
        match self {
            Self::BeforeFirst | Self::Before | Self::After => &[BLOCK, CONTINUE, LOCK_TASK],
            Self::GuardrailBefore | Self::GuardrailAfter if of_policy => &[LOCK_TASK, CONTINUE, BLOCK],
            Self::ModelBefore | Self::ModelAfter => &[LOCK_TASK, CONTINUE, BLOCK],
            Self::GuardrailBefore | Self::GuardrailAfter => &[LOCK_TASK, CONTINUE],
            Self::Trigger | Self::Tools => &[BLOCK],
        }
    }
}

mapping! {
    /// A step of a list.
    StepKeys = "a step" {
        /// The step is for this action or event only.
        match_name = "match": Text,
        /// The step is skipped where this is falsy.
        condition: Expression,
        /// The step fails where this is falsy.
        assert: Expression,
        /// A capability to carry out, as `tool:action`.
        invoke: Target,
        /// What takes the place of the result or the message.
        transform: Expression,
        /// Arguments of the capability.
        bindings: Bindings,
        /// What a failing step does.
        on_fail: AfterFailure,
        /// What the model reads when the step fails, also because a reviewer has denied; `{input.x}` and the like are filled in.
        error_message: Text,
    }

    /// A step of a list of a policy document.
    PolicyStepKeys = "a step" {
        name: Part<NameKeys>,
        step: Part<StepKeys>,
        /// What the user is told when the step stops something; expressions in braces are filled in.
        user_message: Text,
        /// What a reviewer is asked, where the step asks for a review; expressions in braces are filled in. Without it a question that names the function.
        question: Text,
        /// Whether the model reads the reviewer's note. The default is `note` under `reviews` of the policy.
        note: OneOf<NoteReader>,
        effect: Part<EffectKeys>,
        /// Whether the step decides, or is only tried out: what it would have done is told, and nothing else happens. Without it the `mode` of the
        /// policy counts.
        mode: OneOf<Mode>,
        labels: Part<LabelKeys>,
    }
}

shape! {
    /// `tool:capability`.
    Target = |_| json!({ "type": "string", "pattern": "^[^:]+:.+$" });
    /// One of the words that the hook of the step knows.
    AfterFailure = |_| json!({});
}

/// The steps of a hook, by its place in [`Hook::ALL`].
pub(super) enum Steps<const HOOK: usize> {}

impl<const HOOK: usize> Shape for Steps<HOOK> {
    fn schema(definitions: &mut Definitions) -> Value {
        let Some(hook) = Hook::ALL.get(HOOK) else { return Value::Null };
        let step = definitions.refer(hook.definition(), |definitions| {
            let keys = StepKeys::schema(definitions);
            step_schema(*hook, false, keys)
        });
        json!({ "type": "array", "items": step })
    }
}

/// The steps of a hook of a policy document, by the same place.
pub(super) enum PolicySteps<const HOOK: usize> {}

impl<const HOOK: usize> Shape for PolicySteps<HOOK> {
    fn schema(definitions: &mut Definitions) -> Value {
        let Some(hook) = Hook::ALL.get(HOOK) else { return Value::Null };
        let step = definitions.refer(hook.definition_in_policy(), |definitions| {
            let keys = PolicyStepKeys::schema(definitions);
            step_schema(*hook, true, keys)
        });
        json!({ "type": "array", "items": step })
    }
}

/// What JSON Schema says of a step of a hook: of the keys of all steps those that the hook allows.
fn step_schema(hook: Hook, of_policy: bool, keys: Value) -> Value {
    let actions = hook.actions(of_policy);
    let effects = step_effect::keys();
    let one_of = actions.iter().map(|action| json!({ "required": [action] })).collect::<Value>();
    let mut schema = with(keys, "oneOf", one_of);
    let may_invoke = actions.contains(&"invoke");
    if let Some(Value::Object(keys)) = schema.get_mut("properties") {
        keys.retain(|key, _| match key.as_str() {
            "assert" | "invoke" | "transform" | "label" | "declassify" | "label_task" | "unlabel_task" => {
                actions.contains(&key.as_str())
            }
            key if effects.contains(&key) => actions.contains(&key),
            "bindings" => may_invoke,
            "match" => hook.owner().is_none() && !of_policy,
            _ => true,
        });
        if let Some(on_fail) = keys.get_mut("on_fail") {
            // the first of the words is what counts without any
            let words = words(hook.on_fail(of_policy));
            let default = words.first().copied().unwrap_or_default();
            *on_fail = with(with(on_fail.take(), "enum", words), "default", default);
        }
    }
    if !may_invoke {
        return schema;
    }
    with(schema, "dependentRequired", json!({ "bindings": ["invoke"] }))
}

impl<const HOOK: usize> Key<'_, '_, Steps<HOOK>> {
    /// The steps of a list. A step that breaks a rule is reported and left out.
    pub(super) fn steps(&self, reader: &mut Reader) -> Vec<DeclaredStep> {
        let (Some(field), Some(hook)) = (self.get(), Hook::ALL.get(HOOK)) else { return Vec::new() };
        let items = reader.list(field.node, &field.path).unwrap_or_default().iter().enumerate();
        let read = |(at, item)| {
            let path = field.path.item(at);
            let fields = reader.fields::<StepKeys>(item, &path)?;
            let step = DeclaredStep::read(&fields, at, *hook, None, None, reader);
            fields.refuse_others(reader);
            step
        };
        items.filter_map(read).collect()
    }
}

impl<const HOOK: usize> Key<'_, '_, PolicySteps<HOOK>> {
    /// The steps of a list of a policy that has this name, these labels and this mode. A step that breaks a rule is reported and left out.
    pub(super) fn steps(&self, policy: &OfPolicy, reader: &mut Reader) -> Vec<DeclaredStep> {
        let (Some(field), Some(hook)) = (self.get(), Hook::ALL.get(HOOK)) else { return Vec::new() };
        let items = reader.list(field.node, &field.path).unwrap_or_default().iter().enumerate();
        let read = |(at, item)| {
            let path = field.path.item(at);
            let fields = reader.fields::<PolicyStepKeys>(item, &path)?;
            let name = PolicyStep::read(&policy.name, &fields.name().part(), reader);
            let user_message = fields.user_message().text(reader);
            let question = fields.question().text(reader);
            let note = fields.note().note(policy.note, reader);
            let mode = fields.mode().mode(policy.mode, reader);
            let own = OwnKeys { effects: fields.effect().part(), labels: fields.labels().part() };
            let step = DeclaredStep::read(&fields.step().part(), at, *hook, Some(name), Some(&own), reader);
            fields.refuse_others(reader);
            Some(DeclaredStep { mode, user_message, question, note, ..step? })
        };
        items.filter_map(read).collect()
    }
}

/// The keys that only a step of a policy document has.
struct OwnKeys<'a> {
    effects: Fields<'a, EffectKeys>,
    labels: Fields<'a, LabelKeys>,
}

impl<'a> OwnKeys<'a> {
    /// Those of them that say what the step does.
    fn written(&self) -> Vec<Field<'a>> {
        let of_labels = label_keys(&self.labels).into_iter().flatten();
        step_effect::written(&self.effects).into_iter().chain(of_labels).collect()
    }

    /// What the step does, if one of them says so.
    fn read(&self, reader: &mut Reader) -> Option<DeclaredAction> {
        if let Some(labels) = DeclaredLabels::read(&self.labels, reader) {
            return Some(DeclaredAction::Label(labels));
        }
        step_effect::read(&self.effects, reader).map(DeclaredAction::Effect)
    }
}

impl DeclaredStep {
    fn read(
        fields: &Fields<'_, StepKeys>,
        index: usize,
        hook: Hook,
        name: Option<PolicyStep>,
        own: Option<&OwnKeys<'_>>,
        reader: &mut Reader,
    ) -> Option<Self> {
        let (path, place) = (&fields.path, fields.place);
        let (assert, invoke, transform) = (fields.assert(), fields.invoke(), fields.transform());
        let (asserts, invokes, transforms) = (assert.get(), invoke.get(), transform.get());
        let actions = [assert.get(), invoke.get(), transform.get()].into_iter().flatten();
        let actions: Vec<_> = actions.chain(own.into_iter().flat_map(OwnKeys::written)).collect();
        let keys = actions.iter().map(|field| field.key.clone()).collect::<Vec<_>>();
        // what there is to choose from is what a manifest has, or what the list of a policy has
        let known = match own {
            Some(_) => hook.actions(true),
            None => vec!["assert", "invoke", "transform"],
        };
        match keys.split_first() {
            None => reader.report(path, messages::step_without_action(place, &known)),
            Some((_, [])) => {}
            Some((first, others)) => reader.report(path, messages::step_with_actions(first, others, &known)),
        }
        let allowed = hook.actions(own.is_some());
        for field in actions.iter().filter(|field| !allowed.contains(&&*field.key.text)) {
            let finding = match (hook, &*field.key.text) {
                (Hook::Trigger, _) => messages::trigger_action(field.key),
                (Hook::Tools, _) => messages::tools_action(field.key),
                (_, "transform") => messages::transform_too_early(field.key),
                (_, "label" | "declassify" | "label_task" | "unlabel_task") => {
                    messages::label_too_early(field.key)
                }
                _ => messages::misplaced_effect(field.key),
            };
            reader.report(&field.path, finding);
        }
        let bindings = fields.bindings();
        if let Some(field) = bindings.get().filter(|_| invokes.is_none() && !keys.is_empty()) {
            reader.report(&field.path, messages::bindings_without_invoke(field.key));
        }
        let bindings = bindings.bindings("BND-19", reader);
        let action = if asserts.is_some() {
            assert.expression("CEL-01", reader).map(DeclaredAction::Assert)
        } else if transforms.is_some() {
            transform.expression("CEL-01", reader).map(DeclaredAction::Transform)
        } else if let Some(field) = invokes {
            read_invoke(&field, bindings, reader).map(DeclaredAction::Invoke)
        } else {
            own.and_then(|own| own.read(reader))
        };
        let condition = fields.condition().expression("CEL-01", reader);
        let match_name = read_match(fields, hook, name.is_some(), reader);
        let on_fail = read_on_fail(fields, hook, name.is_some(), reader);
        let error_message = fields.error_message().text(reader);
        if keys.len() > 1 {
            return None;
        }
        Some(Self {
            place: place.clone(),
            path: path.to_string(),
            index,
            name: name.map(Arc::new),
            action: action?,
            condition,
            match_name,
            on_fail,
            error_message,
            mode: Mode::Enforce,
            user_message: None,
            question: None,
            note: NoteReader::Model,
            excepted: None,
        })
    }
}

/// `tool:capability`, both parts not empty (MW-08).
fn read_invoke(
    field: &Field<'_>,
    bindings: Vec<DeclaredBinding>,
    reader: &mut Reader,
) -> Option<DeclaredInvoke> {
    let target = reader.text(field.node, &field.path)?;
    let parts = target.text.split_once(':').filter(|(tool, capability)| {
        !tool.trim().is_empty() && !capability.trim().is_empty() && !capability.contains(':')
    });
    let Some((tool, capability)) = parts else {
        reader.report(&field.path, messages::bad_invoke(&target));
        return None;
    };
    let (tool, capability) = (tool.to_owned(), capability.to_owned());
    Some(DeclaredInvoke { target, tool, capability, bindings })
}

/// The name that selects the calls a step is for; a guardrail or trigger has none (MW-23), and in a policy document the key
/// above the step selects them.
fn read_match(
    fields: &Fields<'_, StepKeys>,
    hook: Hook,
    of_policy: bool,
    reader: &mut Reader,
) -> Option<Embedded> {
    let field = fields.match_name().get()?;
    if of_policy {
        reader.report(&field.path, messages::match_in_policy(field.key));
        return None;
    }
    if let Some(owner) = hook.owner() {
        reader.report(&field.path, messages::misplaced_match(field.key, owner));
        return None;
    }
    reader.text(field.node, &field.path)
}

/// What follows a failure. A value that is unknown or does not belong here is reported; in its stead stands the hook's
/// default, which stops.
fn read_on_fail(fields: &Fields<'_, StepKeys>, hook: Hook, of_policy: bool, reader: &mut Reader) -> OnFail {
    let known = hook.on_fail(of_policy);
    let default = known.first().map_or(OnFail::LockTask, |(_, default)| *default);
    let Some(field) = fields.on_fail().get() else { return default };
    let Some(word) = reader.text(field.node, &field.path) else { return default };
    if let Some((_, on_fail)) = known.iter().find(|(name, _)| **name == *word.text) {
        return *on_fail;
    }
    let names = words(known);
    let finding = match (hook, &*word.text) {
        (Hook::GuardrailBefore | Hook::GuardrailAfter, "block") => messages::guardrail_block(&word.place),
        (Hook::Trigger, _) => messages::trigger_on_fail(&word),
        (Hook::Tools, _) => messages::tools_on_fail(&word),
        _ => messages::unknown_word(&word, "on_fail", &names, "MW-33"),
    };
    reader.report(&field.path, finding);
    default
}
