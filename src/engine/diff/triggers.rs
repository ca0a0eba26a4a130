//! The triggers of two sets of policies side by side.
//!
//! In: triggers before and after, by name. Out: for each whether its events make other tasks, with payloads that both sides have judged.

use super::old_words::trigger_in_old_words;
use super::payloads::payloads;
use super::witness::{Judgement, Outcome, Tries, Witness};
use super::{Answer, Difference, Method, PolicySet};
use crate::candidates::Named;
use crate::cel::{Json, Timestamp};
use crate::engine::Engine;
use crate::evidence::Evidence;
use crate::limits::EngineLimits;
use crate::manifest::Catalog;
use crate::manifest::launch::Launch;
use crate::manifest::trigger::DeclaredTrigger;
use crate::policy::{FiringOutcome, Trigger, rules_of_trigger};
use crate::task::VerdictKind;
use serde_json::json;
use std::collections::BTreeSet;
use std::sync::Arc;

/// A trigger that is valid in its set.
struct TriggerOfSet<'s> {
    written: &'s DeclaredTrigger,
    trigger: Arc<Trigger>,
}

/// The names of the triggers: namespace and name.
fn names(catalog: &Catalog) -> impl Iterator<Item = (&str, &str)> {
    let launches = catalog.triggers().iter().map(|resolved| &resolved.document.launch);
    launches.map(|launch| (&*launch.namespace.text, &*launch.name.text))
}

impl<'s> TriggerOfSet<'s> {
    fn of(catalog: &'s Catalog, engine: &Engine, (namespace, name): (&str, &str)) -> Option<Self> {
        let trigger = engine.trigger(namespace, name).ok()?;
        let mut all = catalog.triggers().iter().map(|resolved| &*resolved.document);
        let written = all.find(|written| {
            (&*written.launch.namespace.text, &*written.launch.name.text) == (namespace, name)
        })?;
        Some(Self { written, trigger })
    }

    /// Whether both have the same rules.
    fn is_same(&self, new: &Self) -> bool {
        rules_of_trigger(self.written) == rules_of_trigger(new.written)
    }

    /// Whether it is proved that both make the same tasks of the same events.
    fn is_alike(&self, new: &Self) -> bool {
        self.is_same(new)
            || trigger_in_old_words((self.written, &self.trigger), (new.written, &new.trigger))
                .is_some_and(|new| rules_of_trigger(self.written) == rules_of_trigger(&new))
    }

    /// What an event of this payload comes to: a task with its owner and its first input, or none. A payload that does not fit reaches no step.
    fn judge(&self, payload: &Json) -> Judgement {
        let none = |message: Option<String>, by: Option<String>| Outcome {
            verdict: VerdictKind::Block,
            value: None,
            message,
            by,
        };
        let mut reached = Ok(());
        let outcome = match self.trigger.fire(payload, Timestamp::from(std::time::UNIX_EPOCH)).outcome {
            FiringOutcome::Create(input) => {
                let Launch { agent, owner, .. } = self.trigger.launch();
                let input = input.and_then(|input| serde_json::to_value(input).ok());
                let value = json!({ "agent": &*agent.text, "owner": &*owner.text, "input": input });
                Outcome { verdict: VerdictKind::Allow, value: Some(value), message: None, by: None }
            }
            FiringOutcome::Disabled => none(None, None),
            FiringOutcome::Misfit { message, by } => {
                reached = Err(message.clone());
                none(Some(message), Some(by.path))
            }
            FiringOutcome::Refused { message, by } => none(message, Some(by.path)),
        };
        Judgement { outcome: Some(outcome), reached }
    }

    /// The agent of its tasks: `namespace/name`.
    fn agent(&self) -> String {
        let launch = &self.written.launch;
        format!("{}/{}", launch.namespace.text, launch.agent.text)
    }
}

/// Whether it is proved that the triggers of both sides make the same tasks of the same events.
pub(super) fn proved_alike(old: (&Catalog, &Engine), new: (&Catalog, &Engine)) -> bool {
    old.0.triggers().len() == new.0.triggers().len()
        && names(old.0).all(|name| {
            match (TriggerOfSet::of(old.0, old.1, name), TriggerOfSet::of(new.0, new.1, name)) {
                (None, None) => true,
                (Some(old), Some(new)) => old.is_alike(&new),
                _ => false,
            }
        })
}

/// Each trigger with its agent, its name and what is known of the difference. One that is not valid on one side counts as not there.
pub(super) fn compare(old: &PolicySet, new: &PolicySet) -> Vec<(String, String, Answer)> {
    let all: BTreeSet<(&str, &str)> = names(&old.catalog).chain(names(&new.catalog)).collect();
    let compared = all.into_iter().filter_map(|name| {
        let [of_old, of_new] = [old, new].map(|set| TriggerOfSet::of(&set.catalog, &set.engine, name));
        let agent = of_new.as_ref().or(of_old.as_ref())?.agent();
        let answer = match (&of_old, &of_new) {
            (Some(of_old), Some(of_new)) if of_old.is_same(of_new) => {
                Answer::without_tries(Difference::None, Some(Method::Identical))
            }
            (Some(of_old), Some(of_new)) => {
                Answer::of_search(tried(of_old, of_new, old.engine.limits()), of_old.is_alike(of_new))
            }
            (None, _) => Answer::without_tries(Difference::Added, None),
            (_, None) => Answer::without_tries(Difference::Removed, None),
        };
        Some((agent, name.1.to_owned(), answer))
    });
    compared.collect()
}

/// What payloads show that are made of the values which both triggers name.
fn tried(old: &TriggerOfSet<'_>, new: &TriggerOfSet<'_>, limits: &EngineLimits) -> (Difference, Evidence) {
    let mut named = Named::default();
    [old, new].iter().for_each(|side| named.add_trigger(side.written, limits));
    let mut tries = Tries::default();
    let declared = [old, new].map(|side| side.written.payload.as_ref().map(|schema| schema.node.to_json()));
    let expressions: Vec<_> = [old, new].into_iter().flat_map(|side| side.trigger.expressions()).collect();
    for payload in payloads(&named, declared, &expressions) {
        if tries.are_enough() {
            break;
        }
        let packed = Json::from(&payload);
        tries.add([old, new].map(|side| side.judge(&packed)), |was, is| {
            let Launch { name, owner, .. } = new.trigger.launch();
            let call = json!({ "op": "trigger", "name": &*name.text, "payload": payload });
            let user = json!({ "id": &*owner.text });
            Witness { user, tools: Vec::new(), counters: None, state: Vec::new(), call, old: was, new: is }
        });
    }
    tries.difference()
}
