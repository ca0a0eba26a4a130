//! Middleware steps (MW): one check, call or rewrite in a list of an agent or trigger.
//!
//! In: a list of mappings and the hook it belongs to. Out: [`DeclaredStep`]s with exactly one action each, their expressions as
//! text. A step that breaks a rule of its hook is reported and left out. Steps of policy documents are read here too: they
//! have names, select their calls by the key that they stand under, and may refuse a message. Nothing here reads an
//! expression or a template.

use super::binding::{Bindings, DeclaredBinding};
use super::fields::{Field, Fields, Key};
use super::label::{DeclaredLabels, LabelKeys, label_keys};
use super::messages;
use super::policy_step::{NameKeys, PolicyStep};
use super::reader::Reader;
use super::shape::{Definitions, Expression, Part, Shape, Text, mapping, shape, with, words};
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
}

impl DeclaredStep {
    /// The path of the expression that decides: `….assert`, `….invoke` or `….transform`.
    #[must_use]
    pub fn action_path(&self) -> String {
        let key = match &self.action {
            DeclaredAction::Assert(_) => "assert",
            DeclaredAction::Invoke(_) => "invoke",
            DeclaredAction::Transform(_) => "transform",
            DeclaredAction::Label(labels) => labels.key(),
        };
        format!("{}.{key}", self.path)
    }

    /// The texts that are evaluated: the condition, and what the action asks.
    pub(crate) fn expressions(&self) -> impl Iterator<Item = &Embedded> {
        let (action, bindings): (_, &[DeclaredBinding]) = match &self.action {
            DeclaredAction::Assert(text) | DeclaredAction::Transform(text) => (Some(text), &[]),
            DeclaredAction::Label(labels) => (labels.computed(), &[]),
            DeclaredAction::Invoke(invoke) => (None, &invoke.bindings),
        };
        self.condition.iter().chain(action).chain(bindings.iter().map(|binding| &binding.value))
    }
}

/// What a step does; exactly one of these (MW-03, MW-04).
#[derive(Clone, Debug)]
pub enum DeclaredAction {
    /// `assert: input.amount < 100`: an expression that must be truthy.
    Assert(Embedded),
    /// `invoke: audit:record`: a capability that runs, unseen by the model.
    Invoke(DeclaredInvoke),
    /// `transform: output.put('note', 'x')`: an expression whose value takes the place of the output or message.
    Transform(Embedded),
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
}

impl Hook {
    /// What its steps are called, unless they belong to a capability.
    fn owner(self) -> Option<&'static str> {
        match self {
            Self::BeforeFirst | Self::Before | Self::After => None,
            Self::GuardrailBefore | Self::GuardrailAfter => Some("a guardrail"),
            Self::Trigger => Some("a trigger"),
        }
    }

    /// All of them, in the order of their numbers.
    const ALL: [Self; 6] = [
        Self::BeforeFirst,
        Self::Before,
        Self::After,
        Self::GuardrailBefore,
        Self::GuardrailAfter,
        Self::Trigger,
    ];

    /// How JSON Schema calls its steps.
    fn definition(self) -> &'static str {
        match self {
            Self::BeforeFirst | Self::Before => "beforeStep",
            Self::After => "afterStep",
            Self::GuardrailBefore | Self::GuardrailAfter => "guardrailStep",
            Self::Trigger => "triggerStep",
        }
    }

    /// The same of the steps of policy documents.
    fn definition_in_policy(self) -> &'static str {
        match self {
            Self::BeforeFirst | Self::Before => "policyBeforeStep",
            Self::After => "policyAfterStep",
            Self::GuardrailBefore | Self::GuardrailAfter | Self::Trigger => "policyGuardrailStep",
        }
    }

    /// What its steps may do, by key: exactly one of these (MW-03, MW-04, TRG-02).
    fn actions(self, of_policy: bool) -> &'static [&'static str] {
        match self {
            Self::BeforeFirst | Self::Before => &["assert", "invoke"],
            Self::After | Self::GuardrailBefore if of_policy => {
                &["assert", "invoke", "transform", "label", "declassify"]
            }
            Self::After | Self::GuardrailBefore | Self::GuardrailAfter => &["assert", "invoke", "transform"],
            Self::Trigger => &["assert"],
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
            Self::GuardrailBefore | Self::GuardrailAfter => &[LOCK_TASK, CONTINUE],
            Self::Trigger => &[BLOCK],
        }
    }
}

mapping! {
    /// A step of a list.
    StepKeys = "a step" {
        /// The step fails where this is falsy.
        assert: Expression,
        /// A capability to carry out, as `tool:action`.
        invoke: Target,
        /// What takes the place of the result or the message.
        transform: Expression,
        /// Arguments of the capability.
        bindings: Bindings,
        /// The step is skipped where this is falsy.
        condition: Expression,
        /// The step is for this action or event only.
        match_name = "match": Text,
        /// What a failing step does.
        on_fail: AfterFailure,
        /// The message on failure; `{input.x}` and the like are filled in.
        error_message: Text,
    }

    /// A step of a list of a policy document.
    PolicyStepKeys = "a step" {
        step: Part<StepKeys>,
        name: Part<NameKeys>,
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
    let one_of = actions.iter().map(|action| json!({ "required": [action] })).collect::<Value>();
    let mut schema = with(keys, "oneOf", one_of);
    let may_invoke = actions.contains(&"invoke");
    if let Some(Value::Object(keys)) = schema.get_mut("properties") {
        keys.retain(|key, _| match key.as_str() {
            "assert" | "invoke" | "transform" | "label" | "declassify" => actions.contains(&key.as_str()),
            "bindings" => may_invoke,
            "match" => hook.owner().is_none() && !of_policy,
            _ => true,
        });
        if let Some(on_fail) = keys.get_mut("on_fail") {
            *on_fail = with(on_fail.take(), "enum", words(hook.on_fail(of_policy)));
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
            let step = DeclaredStep::read(&fields, None, at, *hook, None, reader);
            fields.refuse_others(reader);
            step
        };
        items.filter_map(read).collect()
    }
}

impl<const HOOK: usize> Key<'_, '_, PolicySteps<HOOK>> {
    /// The steps of a list of a policy that has this name and these labels. A step that breaks a rule is reported and left out.
    pub(super) fn steps(&self, policy: &PolicyStep, reader: &mut Reader) -> Vec<DeclaredStep> {
        let (Some(field), Some(hook)) = (self.get(), Hook::ALL.get(HOOK)) else { return Vec::new() };
        let items = reader.list(field.node, &field.path).unwrap_or_default().iter().enumerate();
        let read = |(at, item)| {
            let path = field.path.item(at);
            let fields = reader.fields::<PolicyStepKeys>(item, &path)?;
            let name = PolicyStep::read(policy, &fields.name().part(), reader);
            let (step, labels) = (fields.step().part(), fields.labels().part());
            let step = DeclaredStep::read(&step, Some(&labels), at, *hook, Some(name), reader);
            fields.refuse_others(reader);
            step
        };
        items.filter_map(read).collect()
    }
}

impl DeclaredStep {
    fn read(
        fields: &Fields<'_, StepKeys>,
        labels: Option<&Fields<'_, LabelKeys>>,
        index: usize,
        hook: Hook,
        name: Option<PolicyStep>,
        reader: &mut Reader,
    ) -> Option<Self> {
        let (path, place) = (&fields.path, fields.place);
        let (assert, invoke, transform) = (fields.assert(), fields.invoke(), fields.transform());
        let of_labels = labels.map(label_keys);
        let of_labels = of_labels.into_iter().flatten();
        let actions: Vec<_> =
            [assert.get(), invoke.get(), transform.get()].into_iter().chain(of_labels).collect();
        let keys = actions.iter().flatten().map(|field| field.key.clone()).collect::<Vec<_>>();
        match keys.split_first() {
            None => reader.report(path, messages::step_without_action(place)),
            Some((_, [])) => {}
            Some((first, others)) => reader.report(path, messages::step_with_actions(first, others)),
        }
        let allowed = hook.actions(name.is_some());
        for field in actions.iter().flatten().filter(|field| !allowed.contains(&&*field.key.text)) {
            let finding = match hook {
                Hook::Trigger => messages::trigger_action(field.key),
                _ if *field.key.text != *"transform" => messages::label_too_early(field.key),
                _ => messages::transform_too_early(field.key),
            };
            reader.report(&field.path, finding);
        }
        let [asserts, invokes, transforms] = [assert.get(), invoke.get(), transform.get()];
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
            labels.and_then(|labels| DeclaredLabels::read(labels, reader)).map(DeclaredAction::Label)
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
        _ => messages::unknown_word(&word, "on_fail", &names, "MW-33"),
    };
    reader.report(&field.path, finding);
    default
}
