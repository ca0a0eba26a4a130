//! The mutants of some policies: small changes, each of which some case ought to notice.
//!
//! In: linked documents. Out: for each step that it is not there, comes later, fails with milder consequences, or is for more than it says; for each expression, be it of a step,
//! a variable, a counter or an event, one for each operator of `mutation_operators` and each part; for each value of a parameter and each limit that it is another one. Nothing is run
//! here: [`Runner::mutate`](super::Runner::mutate) tries them.

use super::coverage::file_name;
use super::mutation_operators::{Replacement, replacements};
use crate::cel::parse;
use crate::counter::CounterWindow;
use crate::limits::EngineLimits;
use crate::manifest::Catalog;
use crate::manifest::capability_key::sanitise;
use crate::manifest::catalog::CapabilityEntry;
use crate::manifest::counter::{CounterScope, DeclaredCounter};
use crate::manifest::edit::{Edit, Endings, StepsOf};
use crate::manifest::named_expression::EXPRESSIONS;
use crate::manifest::policy::DeclaredPolicy;
use crate::manifest::step::{DeclaredAction, DeclaredStep, OnFail};
use crate::manifest::task_limit::{LimitNumber, Quantity, TaskLimit};
use crate::policy::{mentions, steps_reading};
use crate::source::{Embedded, Place, Span};
use serde_json::Value;
use std::collections::HashSet;

/// The kind of a mutant in which two steps change places.
pub(super) const SWAPPED: &str = "steps_swapped";

/// One change.
#[derive(Clone, Debug)]
pub struct Mutant {
    /// What is changed, by its path in the manifest.
    pub path: String,
    /// Where it stands.
    pub place: Place,
    /// The kind of change, as a word for programs.
    pub kind: &'static str,
    /// The change, for people.
    pub about: String,
    pub(super) change: Change,
}

/// What is changed.
#[derive(Clone, Debug)]
pub(super) enum Change {
    /// A step, or the text or value of a name, at a place. Only cases that come to one of these steps can notice; all may if there are none.
    Edit(Place, Edit, Vec<Place>),
    /// A limit, by so many units.
    Limit(TaskLimit, i64),
}

impl Mutant {
    /// An edit at the place of the mutant.
    fn edit(
        path: String,
        place: &Place,
        kind: &'static str,
        about: impl Into<String>,
        (edit, steps): (Edit, Vec<Place>),
    ) -> Self {
        let change = Change::Edit(place.clone(), edit, steps);
        Self { path, place: place.clone(), kind, about: about.into(), change }
    }

    /// The name of the file.
    #[must_use]
    pub fn file(&self) -> String {
        file_name(&self.place)
    }

    /// The documents with the change; nothing if there is nothing to change.
    pub(super) fn apply(&self, catalog: &Catalog) -> Option<Catalog> {
        match &self.change {
            Change::Edit(place, edit, _) => Some(catalog.with_edit(place, edit)),
            Change::Limit(limit, by) => catalog.with_limit(*limit, *by),
        }
    }

    /// The limit that it is about, and what it lets by today.
    pub(super) fn limit(&self, catalog: &Catalog) -> Option<(TaskLimit, LimitNumber)> {
        let Change::Limit(limit, _) = self.change else { return None };
        Some((limit, catalog.limit(limit)?))
    }

    /// The steps to which a case has to come to notice: the changed one and that behind it, or those that read the changed name.
    pub(super) fn steps(&self) -> &[Place] {
        match &self.change {
            Change::Edit(_, _, steps) => steps,
            Change::Limit(..) => &[],
        }
    }

    /// Whether it changes something within these characters.
    pub(super) fn is_within(&self, place: &Place) -> bool {
        let own = self.place.span;
        self.place.source.same(&place.source) && place.span.start <= own.start && own.end <= place.span.end
    }

    /// Whether only cases that come to its steps can notice.
    pub(super) fn is_local(&self) -> bool {
        !self.steps().is_empty() && !matches!(&self.change, Change::Edit(_, Edit::AnyMatch, _))
    }
}

/// All mutants of some documents, in the order in which they stand.
pub(super) fn mutants(catalog: &Catalog, limits: &EngineLimits) -> Vec<Mutant> {
    let mut seen = HashSet::new();
    let mut found = Vec::new();
    for StepsOf { steps, endings, selected } in catalog.step_lists() {
        for (position, step) in steps.iter().enumerate() {
            let is_new = seen.insert((step.place.source.name().to_owned(), step.place.span));
            if is_new {
                let next = steps.get(position.saturating_add(1));
                let selects_all =
                    step.match_name.as_ref().is_some_and(|name| selects_all(&selected, &name.text));
                of_step(step, next, (endings, selects_all), limits, &mut found);
            }
        }
    }
    for resolved in catalog.agents() {
        for applied in &resolved.policies {
            of_definitions(&applied.policy, limits, &mut seen, &mut found);
        }
        resolved.capabilities.iter().for_each(|entry| of_events(entry, limits, &mut seen, &mut found));
    }
    for resolved in catalog.agents() {
        let policies =
            resolved.policies.iter().map(|applied| (&applied.policy.place, &applied.policy.limits));
        let all = std::iter::once((&resolved.agent.place, &resolved.agent.limits)).chain(policies);
        for (place, own) in all {
            for (limit, _) in own.iter() {
                let name = limit.as_str();
                if !seen.insert((format!("{} {name}", place.source.name()), place.span)) {
                    continue;
                }
                let unit = if limit.quantity() == Quantity::Age { "a second" } else { "one" };
                for (by, word) in [(1, "greater"), (-1, "smaller")] {
                    found.push(Mutant {
                        path: format!("limits.{name}"),
                        place: limit_place(place, name),
                        kind: "limit",
                        about: format!("`{name}` is {word} by {unit}"),
                        change: Change::Limit(limit, by),
                    });
                }
            }
        }
    }
    found.retain(|mutant| match mutant.change {
        Change::Limit(limit, by) => catalog.limit(limit).and_then(|bound| limit.moved(bound, by)).is_some(),
        Change::Edit(..) => true,
    });
    found
}

/// Whether a `match` is that of everything that passes its list, so that it leaves nothing out.
fn selects_all(selected: &[&str], name: &str) -> bool {
    !selected.is_empty() && selected.iter().all(|known| sanitise(known) == sanitise(name))
}

/// The key of a limit in its document, or the document.
fn limit_place(document: &Place, name: &str) -> Place {
    let text = document.source.text().get(document.span.start as usize..).unwrap_or_default();
    let found = text.find(&format!("{name}:"));
    found.map_or_else(
        || document.clone(),
        |at| {
            let start = (document.span.start as usize).saturating_add(at);
            Place::new(&document.source, Span::new(start, start.saturating_add(name.len())))
        },
    )
}

fn of_step(
    step: &DeclaredStep,
    next: Option<&DeclaredStep>,
    (endings, selects_all): (Endings, bool),
    limits: &EngineLimits,
    found: &mut Vec<Mutant>,
) {
    let mut add = |kind, about: String, edit, next: Option<&DeclaredStep>| {
        let steps = std::iter::once(step).chain(next).map(|step| step.place.clone()).collect();
        found.push(Mutant::edit(step.path.clone(), &step.place, kind, about, (edit, steps)));
    };
    add("step_dropped", "the step is not there".to_owned(), Edit::Drop, None);
    // a denial by default or a limit of a counter is there or is not
    if matches!(step.action, DeclaredAction::Deny(_) | DeclaredAction::Limit(_)) {
        return;
    }
    // of steps for different actions no operation passes both
    let may_meet = |next: &&DeclaredStep| match (&step.match_name, &next.match_name) {
        (Some(own), Some(other)) => sanitise(&own.text) == sanitise(&other.text),
        _ => true,
    };
    if next.filter(may_meet).is_some_and(|next| !fail_alike(step, next)) {
        add(SWAPPED, "the step comes behind the next one".to_owned(), Edit::Swap, next);
    }
    // these never fail
    let cannot_fail = match &step.action {
        DeclaredAction::Label(labels) => step.condition.is_none() && labels.computed().is_none(),
        DeclaredAction::Assert(text) => step.condition.is_none() && text.text.trim() == "true",
        _ => false,
    };
    let weaker = match (step.on_fail, endings) {
        _ if cannot_fail => None,
        (OnFail::Continue, _) | (_, Endings::Block) => None,
        (OnFail::LockTask, Endings::All) => Some((OnFail::Block, "block")),
        (OnFail::Block | OnFail::LockTask, _) => Some((OnFail::Continue, "continue")),
    };
    if let Some((weaker, word)) = weaker {
        add("on_fail_weakened", format!("`on_fail` is `{word}`"), Edit::OnFail(weaker), None);
    }
    if step.match_name.is_some() && !selects_all {
        add("match_widened", "`match` is not there".to_owned(), Edit::AnyMatch, None);
    }
    if step.condition.is_some() {
        add("condition_dropped", "`condition` is not there".to_owned(), Edit::NoCondition, None);
    }
    let action = match &step.action {
        DeclaredAction::Assert(text) => Some((text, true, "assert")),
        DeclaredAction::Transform(text) => Some((text, false, "transform")),
        DeclaredAction::Invoke(_)
        | DeclaredAction::Effect(_)
        | DeclaredAction::Label(_)
        | DeclaredAction::Deny(_)
        | DeclaredAction::Limit(_) => None,
    };
    let condition = step.condition.iter().map(|text| (text, true, "condition"));
    for (text, is_judged, key) in condition.chain(action) {
        let of_step = MutatedText {
            text,
            is_judged,
            path: format!("{}.{key}", step.path),
            steps: vec![step.place.clone()],
        };
        of_step.mutants(limits, found);
    }
}

/// Whether two asserts that follow each other come to the same in either order: what fails one of them has the same consequence and the same message as what fails the other.
fn fail_alike(step: &DeclaredStep, next: &DeclaredStep) -> bool {
    let (DeclaredAction::Assert(own), DeclaredAction::Assert(other)) = (&step.action, &next.action) else {
        return false;
    };
    let text = |text: &Option<Embedded>| text.as_ref().map(|text| text.text.clone());
    let asks = |text: &Embedded| text.text.contains("review(");
    step.on_fail == next.on_fail
        && step.mode == next.mode
        && text(&step.error_message) == text(&next.error_message)
        && text(&step.user_message) == text(&next.user_message)
        && !asks(own)
        && !asks(other)
}

/// An expression of which mutants are made.
struct MutatedText<'t> {
    text: &'t Embedded,
    /// Whether its result is taken as a truth.
    is_judged: bool,
    path: String,
    /// The steps to which a case has to come to notice; none if that is not known.
    steps: Vec<Place>,
}

impl MutatedText<'_> {
    fn mutants(self, limits: &EngineLimits, found: &mut Vec<Mutant>) {
        let Self { text, is_judged, path, steps } = self;
        let Ok(expression) = parse(&text.text, &limits.eval) else { return };
        for Replacement { span, instead, kind } in replacements(&expression, is_judged, &text.text) {
            let Some(old) = text.text.get(span.range()) else { continue };
            let mut changed = text.text.to_string();
            changed.replace_range(span.range(), &instead);
            let old = old.split_whitespace().collect::<Vec<_>>().join(" ");
            found.push(Mutant {
                path: path.clone(),
                place: text.locate(span),
                kind,
                about: format!("`{old}` is `{instead}`"),
                change: Change::Edit(text.place.clone(), Edit::Text(changed.into()), steps.clone()),
            });
        }
    }
}

/// Mutants of what the names of a policy stand for (variables, named expressions, counters and values of parameters), and of the bound of its tasks.
fn of_definitions(
    policy: &DeclaredPolicy,
    limits: &EngineLimits,
    seen: &mut HashSet<(String, Span)>,
    found: &mut Vec<Mutant>,
) {
    let mut is_new = |place: &Place| seen.insert((place.source.name().to_owned(), place.span));
    for variable in policy.variables.iter().filter(|variable| is_new(&variable.expression.place)) {
        let Some(steps) = readers(policy, "variables", &variable.name.text) else { continue };
        let path = variable.path.clone();
        MutatedText { text: &variable.expression, is_judged: true, path, steps }.mutants(limits, found);
    }
    for expression in policy.expressions.iter().filter(|expression| is_new(&expression.value.place)) {
        // steps of another policy may call those of a used one
        let steps = match policy.used_by {
            Some(_) => Some(Vec::new()),
            None => readers(policy, EXPRESSIONS, &expression.name.text),
        };
        let Some(steps) = steps else { continue };
        let path = format!("{}.value", expression.path);
        MutatedText { text: &expression.value, is_judged: true, path, steps }.mutants(limits, found);
    }
    for counter in &policy.counters {
        if is_new(&counter.place) {
            let mut add = |key: &str, kind, about: &str, edit| {
                let path = format!("{}.{key}", counter.path);
                found.push(Mutant::edit(path, &counter.place, kind, about, (edit, Vec::new())));
            };
            if counter.window != CounterWindow::Ever {
                add("window", "window_dropped", "`window` is `ever`", Edit::Window(CounterWindow::Ever));
            }
            if counter.scope == CounterScope::Tree {
                add("scope", "scope_narrowed", "`scope` is `caller`", Edit::Scope(CounterScope::Caller));
            }
        }
        // a limit is a step
        for (key, text) in counter.expressions().filter(|(key, _)| *key != "limit") {
            if is_new(&text.place) {
                // what a call adds matters to later calls of other functions
                let path = format!("{}.{key}", counter.path);
                MutatedText { text, is_judged: false, path, steps: Vec::new() }.mutants(limits, found);
            }
        }
    }
    if let Some(bound) = policy.delegation.as_ref().filter(|bound| is_new(&bound.place)) {
        let edit = (Edit::Unbound, Vec::new());
        let about = "`delegate` is not there";
        found.push(Mutant::edit(bound.path.clone(), &bound.place, "delegate_dropped", about, edit));
    }
    for parameter in &policy.parameters {
        let Some(value) = parameter.value.as_ref().filter(|value| is_new(&value.node.place)) else {
            continue;
        };
        let Some(steps) = readers(policy, "parameters", &parameter.name.text) else { continue };
        let old = value.node.to_json();
        for (changed, kind) in other_values(&old) {
            let about = format!("`{old}` is `{changed}`");
            let edit = (Edit::Value(changed), steps.clone());
            found.push(Mutant::edit(value.path.clone(), &value.node.place, kind, about, edit));
        }
    }
}

/// Mutants of the expressions of the events that a capability brings: filters, aliases, and those of new items.
fn of_events(
    entry: &CapabilityEntry,
    limits: &EngineLimits,
    seen: &mut HashSet<(String, Span)>,
    found: &mut Vec<Mutant>,
) {
    let declared = entry.tool().map(|tool| tool.events.as_slice()).unwrap_or_default();
    let active = entry.events.iter().filter(|event| event.active);
    for event in active.filter_map(|event| declared.get(event.event)) {
        for (path, text) in event.expressions() {
            if !seen.insert((text.place.source.name().to_owned(), text.place.span)) {
                continue;
            }
            let is_filter =
                event.receive.filter.as_ref().is_some_and(|filter| filter.place.span == text.place.span);
            if is_filter {
                let edit = (Edit::Text("true".into()), Vec::new());
                let about = "`filter` is not there";
                found.push(Mutant::edit(path.clone(), &text.place, "filter_dropped", about, edit));
            }
            MutatedText { text, is_judged: is_filter, path, steps: Vec::new() }.mutants(limits, found);
        }
    }
}

/// The steps to which a case has to come to notice that a name stands for something else; none if any case may. Nothing of a name that is not read.
fn readers(policy: &DeclaredPolicy, root: &str, name: &str) -> Option<Vec<Place>> {
    let steps = steps_reading(policy, root, name);
    let mut of_counters = policy.counters.iter().flat_map(DeclaredCounter::expressions);
    match of_counters.any(|(_, text)| mentions(&text.text, root, name)) {
        true => Some(Vec::new()),
        false => Some(steps).filter(|steps| !steps.is_empty()),
    }
}

/// The most members of a list that are left out, each by itself.
const MOST_MEMBERS: usize = 8;

/// Values near to one, each with the kind of its mutant.
fn other_values(value: &Value) -> Vec<(Value, &'static str)> {
    let moved = |value: Value| (value, "constant_moved");
    match value {
        Value::Bool(truth) => vec![moved((!truth).into())],
        Value::Number(number) => match (number.as_i64(), number.as_f64()) {
            (Some(number), _) => {
                let others = [number.checked_add(1), number.checked_sub(1)];
                others.into_iter().flatten().map(|other| moved(other.into())).collect()
            }
            (None, Some(number)) => vec![moved((number + 1.0).into())],
            (None, None) => Vec::new(),
        },
        Value::String(text) => vec![moved(format!("{text}~").into())],
        Value::Array(items) => (0..items.len())
            .take(MOST_MEMBERS)
            .map(|at| {
                let mut rest = items.clone();
                rest.remove(at);
                (rest.into(), "member_removed")
            })
            .collect(),
        Value::Null | Value::Object(_) => Vec::new(),
    }
}
