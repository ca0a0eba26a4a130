//! Small changes of the steps and limits of loaded documents, for those who ask whether anybody would notice.
//!
//! In: linked documents, and an [`Edit`]. Out: the same documents with that change, everywhere where the step or name is applied. The files stay what they are. A step
//! and the text or value of a name are told by their characters in their file, as the same one may be applied to several agents. Linear in the documents.

use super::catalog::{Catalog, ResolvedLaunch};
use super::counter::{CounterScope, DeclaredCounter};
use super::event::EventDecl;
use super::mentions::settle_defaults;
use super::node::{Data, Node};
use super::policy::DeclaredPolicy;
use super::resolved_agent::{CapabilityEntry, Target};
use super::step::{DeclaredAction, DeclaredStep, OnFail};
use super::task_limit::{LimitNumber, TaskLimit, TaskLimits};
use crate::counter::CounterWindow;
use crate::source::{Embedded, Place};
use serde_json::Value;
use std::sync::Arc;

/// One change.
#[derive(Clone, Debug)]
pub enum Edit {
    /// A step is not there.
    Drop,
    /// A step comes behind the one that follows it.
    Swap,
    /// An expression reads otherwise: of a step, a variable, a counter or an event. It is at the place of the edit.
    Text(Arc<str>),
    /// The value of a parameter is another one.
    Value(Value),
    /// A counter, at the place of the edit, looks at another time.
    Window(CounterWindow),
    /// It counts the calls of others.
    Scope(CounterScope),
    /// Calls need not be within those of a parent task: the policy at the place has no `delegate`.
    Unbound,
    /// A failure has other consequences.
    OnFail(OnFail),
    /// A step is for every action and event.
    AnyMatch,
    /// A step runs whatever its condition says.
    NoCondition,
}

/// The consequences that the failures of a list may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Endings {
    /// A lock, a block, or none at all.
    All,
    /// A lock, or none at all.
    LockOrContinue,
    /// A block: a trigger makes no task then, and a tool is left out.
    Block,
}

/// A list of steps of one document.
pub struct StepsOf<'d> {
    /// The steps.
    pub steps: &'d [DeclaredStep],
    /// The consequences that a failure may have.
    pub endings: Endings,
    /// The actions and events that pass it; nothing if they are not told apart.
    pub selected: Vec<&'d str>,
}

impl<'d> StepsOf<'d> {
    fn new(steps: &'d [DeclaredStep], endings: Endings) -> Self {
        Self { steps, endings, selected: Vec::new() }
    }
}

impl Catalog {
    /// The lists of steps of all agents, of the policies that are for them, and of triggers. A list that is applied to several agents comes several times.
    pub fn step_lists(&self) -> Vec<StepsOf<'_>> {
        let mut lists = Vec::new();
        for resolved in self.agents() {
            for (position, capability) in resolved.agent.capabilities.iter().enumerate() {
                let entry = resolved.capabilities.iter().find(|entry| entry.listed == Some(position));
                let functions = entry.into_iter().flat_map(|entry| &entry.functions);
                let functions = functions.filter(|it| it.active).map(|function| &*function.name);
                let events = entry.into_iter().flat_map(|entry| &entry.events);
                let events = events.filter(|it| it.active).map(|event| &*event.name);
                let selected: Vec<&str> = functions.chain(events).collect();
                let own = [&capability.before_first, &capability.before, &capability.after];
                lists.extend(own.map(|steps| StepsOf {
                    selected: selected.clone(),
                    ..StepsOf::new(steps, Endings::All)
                }));
            }
            let guardrails = &resolved.agent.guardrails;
            lists.extend(
                [&guardrails.before, &guardrails.after]
                    .map(|steps| StepsOf::new(steps, Endings::LockOrContinue)),
            );
            for applied in &resolved.policies {
                let policy = &applied.policy;
                for capability in policy.capabilities.iter().chain(&policy.default_denial) {
                    let own = [&capability.before_first, &capability.before, &capability.after];
                    lists.extend(own.map(|steps| StepsOf::new(steps, Endings::All)));
                }
                let messages = [
                    &policy.guardrails_before,
                    &policy.guardrails_after,
                    &policy.model_before,
                    &policy.model_after,
                ];
                lists.extend(messages.map(|steps| StepsOf::new(steps, Endings::All)));
                lists.push(StepsOf::new(&policy.tools, Endings::Block));
            }
        }
        let triggers = self.triggers().iter().filter(|resolved| resolved.document.launch.enabled);
        lists.extend(triggers.map(|resolved| StepsOf::new(&resolved.document.before, Endings::Block)));
        lists.retain(|list| !list.steps.is_empty());
        lists
    }

    /// The same documents with a step, or the text or value of a name, changed. `at` are its characters.
    #[must_use]
    pub fn with_edit(&self, at: &Place, edit: &Edit) -> Self {
        let mut edited = self.clone();
        for resolved in &mut edited.agents {
            if resolved.agent.place.source.same(&at.source) {
                Arc::make_mut(&mut resolved.agent).lists_mut().for_each(|list| change(list, at, edit));
            }
            for applied in &mut resolved.policies {
                if applied.policy.place.source.same(&at.source) {
                    let policy = Arc::make_mut(&mut applied.policy);
                    policy.lists_mut().for_each(|list| change(list, at, edit));
                    match edit {
                        Edit::Text(text) => rewrite_names(policy, at, text),
                        Edit::Window(window) => counters(policy, at).for_each(|it| it.window = *window),
                        Edit::Scope(scope) => counters(policy, at).for_each(|it| it.scope = *scope),
                        Edit::Unbound => {
                            policy.delegation = policy.delegation.take().filter(|it| !is_same(&it.place, at))
                        }
                        _ => {}
                    }
                }
                match edit {
                    Edit::Text(text) => rewrite_imports(&mut applied.policy, at, text),
                    // the value of a parameter may stand in the document that uses the policy
                    Edit::Value(value) => replace_value(&mut applied.policy, at, value),
                    _ => {}
                }
            }
            if let Edit::Text(text) = edit {
                rewrite_events(&mut resolved.capabilities, at, text);
            }
            // without a step its functions may be mentioned by none
            settle_defaults(&resolved.agent, &resolved.capabilities, &mut resolved.policies);
        }
        for ResolvedLaunch { document, .. } in &mut edited.triggers {
            if document.launch.place.source.same(&at.source) {
                change(&mut Arc::make_mut(document).before, at, edit);
            }
        }
        edited
    }

    /// The same documents with each value of a limit greater by so many units (a second of an age, else one); nothing if none is set, or none can be so.
    #[must_use]
    pub fn with_limit(&self, limit: TaskLimit, by: i64) -> Option<Self> {
        let mut edited = self.clone();
        let mut is_changed = false;
        let mut change = |limits: &TaskLimits| {
            let moved = limit.moved(limits.get(limit)?, by)?;
            is_changed = true;
            let mut limits = *limits;
            limits.set(limit, Some(moved));
            Some(limits)
        };
        for resolved in &mut edited.agents {
            if let Some(limits) = change(&resolved.agent.limits) {
                Arc::make_mut(&mut resolved.agent).limits = limits;
            }
            for applied in &mut resolved.policies {
                if let Some(limits) = change(&applied.policy.limits) {
                    Arc::make_mut(&mut applied.policy).limits = limits;
                }
            }
        }
        is_changed.then_some(edited)
    }

    /// The value of a limit in the first document in which it is set.
    #[must_use]
    pub(crate) fn limit(&self, limit: TaskLimit) -> Option<LimitNumber> {
        self.agents.iter().find_map(|resolved| {
            let of_policies = resolved.policies.iter().map(|applied| &applied.policy.limits);
            let mut all = std::iter::once(&resolved.agent.limits).chain(of_policies);
            all.find_map(|limits| limits.get(limit))
        })
    }
}

fn is_same(place: &Place, at: &Place) -> bool {
    place.source.same(&at.source) && place.span == at.span
}

fn change(list: &mut Vec<DeclaredStep>, at: &Place, edit: &Edit) {
    if let Edit::Text(text) = edit {
        return list.iter_mut().for_each(|step| rewrite(step, at, text));
    }
    let Some(position) = list.iter().position(|step| is_same(&step.place, at)) else { return };
    match edit {
        Edit::Drop => {
            list.remove(position);
        }
        Edit::Swap => {
            let next = position.saturating_add(1);
            if next < list.len() {
                list.swap(position, next);
            }
        }
        Edit::OnFail(on_fail) => {
            list.get_mut(position).into_iter().for_each(|step| step.on_fail = *on_fail);
        }
        Edit::AnyMatch => list.get_mut(position).into_iter().for_each(|step| step.match_name = None),
        Edit::NoCondition => list.get_mut(position).into_iter().for_each(|step| step.condition = None),
        Edit::Text(_) | Edit::Value(_) | Edit::Window(_) | Edit::Scope(_) | Edit::Unbound => {}
    }
}

/// Puts another text in the place of the expression of a step at a place.
fn rewrite(step: &mut DeclaredStep, at: &Place, text: &Arc<str>) {
    let action = match &mut step.action {
        DeclaredAction::Assert(expression) | DeclaredAction::Transform(expression) => Some(expression),
        DeclaredAction::Invoke(_)
        | DeclaredAction::Effect(_)
        | DeclaredAction::Label(_)
        | DeclaredAction::Deny(_)
        | DeclaredAction::Limit(_) => None,
    };
    step.condition.iter_mut().chain(action).for_each(|expression| replace_text(expression, at, text));
}

/// The same of the variables, named expressions and counters of a policy.
fn rewrite_names(policy: &mut DeclaredPolicy, at: &Place, text: &Arc<str>) {
    let variables = policy.variables.iter_mut().map(|variable| &mut variable.expression);
    let counters = policy.counters.iter_mut().flat_map(DeclaredCounter::expressions_mut);
    let expressions = policy.expressions.iter_mut().map(|expression| &mut expression.value);
    variables.chain(expressions).chain(counters).for_each(|expression| replace_text(expression, at, text));
}

/// The counter at a place.
fn counters<'p>(policy: &'p mut DeclaredPolicy, at: &Place) -> impl Iterator<Item = &'p mut DeclaredCounter> {
    policy.counters.iter_mut().filter(move |counter| is_same(&counter.place, at))
}

/// The same of the named expressions that a policy can call, which may be those of another file.
fn rewrite_imports(policy: &mut Arc<DeclaredPolicy>, at: &Place, text: &Arc<str>) {
    if policy.imports.is_empty() {
        return;
    }
    for import in &mut Arc::make_mut(policy).imports {
        rewrite_names(Arc::make_mut(&mut import.policy), at, text);
        rewrite_imports(&mut import.policy, at, text);
    }
}

/// The same of the events of tools.
fn rewrite_events(capabilities: &mut [CapabilityEntry], at: &Place, text: &Arc<str>) {
    for entry in capabilities {
        let Target::Tool(tool) = &mut entry.target else { continue };
        let has_it = |event: &EventDecl| event.expressions().any(|(_, text)| is_same(&text.place, at));
        if tool.events.iter().any(has_it) {
            let expressions = Arc::make_mut(tool).events.iter_mut().flat_map(EventDecl::expressions_mut);
            expressions.for_each(|expression| replace_text(expression, at, text));
        }
    }
}

fn replace_text(expression: &mut Embedded, at: &Place, text: &Arc<str>) {
    if is_same(&expression.place, at) {
        let start = [(0, at.span.start)];
        *expression = Embedded::new(text.clone(), expression.place.clone(), start);
    }
}

/// Puts another value in the place of that of a parameter at a place.
fn replace_value(policy: &mut Arc<DeclaredPolicy>, at: &Place, value: &Value) {
    if !policy.imports.is_empty() {
        let imports = Arc::make_mut(policy).imports.iter_mut();
        imports.for_each(|import| replace_value(&mut import.policy, at, value));
    }
    let is_it = |policy: &DeclaredPolicy| {
        let mut values = policy.parameters.iter().filter_map(|parameter| parameter.value.as_ref());
        values.any(|known| is_same(&known.node.place, at))
    };
    if !is_it(policy) {
        return;
    }
    let parameters = Arc::make_mut(policy).parameters.iter_mut();
    let values = parameters.filter_map(|parameter| parameter.value.as_mut());
    values.filter(|known| is_same(&known.node.place, at)).for_each(|known| {
        known.node = Node { data: data_of(value, at), place: at.clone() };
    });
}

/// A value as a node holds it, all of it at one place. An object is null: none takes the place of a value.
fn data_of(value: &Value, at: &Place) -> Data {
    match value {
        Value::Null | Value::Object(_) => Data::Null,
        Value::Bool(truth) => Data::Bool(*truth),
        Value::Number(number) => {
            number.as_i64().map_or_else(|| Data::Float(number.as_f64().unwrap_or_default()), Data::Int)
        }
        Value::String(text) => Data::String(Embedded::new(text.as_str(), at.clone(), [(0, at.span.start)])),
        Value::Array(items) => {
            let items = items.iter().map(|item| Node { place: at.clone(), data: data_of(item, at) });
            Data::Sequence(items.collect())
        }
    }
}
