//! Events of tools, tried through both engines.
//!
//! In: the events to which either side is subscribed, and the constants of both. Out: a witness for each direction, and the evidence.

use super::changed_steps::ChangedSteps;
use super::payloads::payloads;
use super::search::Search;
use super::{AgentOfSet, Difference};
use crate::cel::Json;
use crate::evidence::Evidence;
use crate::manifest::step::Hook;
use crate::policy::Expression;
use crate::task::{Content, Delivery};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};

impl Search<'_> {
    /// Tries payloads of each event to which a side is subscribed; nothing if there is no event.
    pub(super) fn event(
        &self,
        sides: [&AgentOfSet<'_>; 2],
        changed: &ChangedSteps,
    ) -> Option<(Difference, Evidence)> {
        let events: BTreeSet<(&str, &str)> = sides.iter().flat_map(|side| subscribed(side)).collect();
        let calls: Vec<Value> = events
            .into_iter()
            .flat_map(|(capability, event)| {
                let declared = sides.map(|side| payload_schema(side, capability, event));
                let expressions: Vec<&Expression> =
                    sides.into_iter().flat_map(|side| expressions(side, capability, event)).collect();
                let payloads = payloads(self.named(), declared, &expressions).into_iter();
                payloads.map(move |payload| {
                    json!({ "op": "event", "capability": capability, "event": event, "payload": payload })
                })
            })
            .collect();
        if calls.is_empty() {
            return None;
        }
        Some(self.tried(changed, &calls, &|task, call, world| {
            let text = |name: &str| call.get(name).and_then(Value::as_str).unwrap_or_default();
            let payload = Json::from(call.get("payload").unwrap_or(&Value::Null));
            let delivery = Delivery::new(text("capability"), text("event"), Content::Payload(payload));
            let now = world.now;
            world.drive(task.event(&delivery, &BTreeMap::new(), now), &mut |_| None)
        }))
    }
}

/// The events to which an agent is subscribed: capability and name.
fn subscribed<'s>(side: &'s AgentOfSet<'_>) -> impl Iterator<Item = (&'s str, &'s str)> {
    side.resolved.capabilities.iter().flat_map(|entry| {
        let active = entry.events.iter().filter(|event| event.active);
        active.map(|event| (&*entry.reference, &*event.name))
    })
}

/// The schema of an event's payload, where its tool declares one.
fn payload_schema(side: &AgentOfSet<'_>, capability: &str, event: &str) -> Option<Value> {
    let entry = side.resolved.capabilities.iter().find(|entry| entry.reference == capability)?;
    let declared = entry.tool()?.events.iter().find(|declared| &*declared.name.text == event)?;
    declared.payload.as_ref().map(|schema| schema.node.to_json())
}

/// Expressions that read an event: its own, and those of the steps of its capability.
fn expressions<'s>(side: &'s AgentOfSet<'_>, capability: &str, event: &str) -> Vec<&'s Expression> {
    let policy = &side.policy;
    let own = policy.event_of(capability, event).into_iter().flat_map(|(_, event)| event.expressions());
    let hooks = [Hook::BeforeFirst, Hook::Before, Hook::After].into_iter();
    let position = policy.capability(capability);
    let lists = hooks.filter_map(|hook| Some(policy.steps_of_event(hook, position?)));
    own.chain(lists.flat_map(|steps| steps.iter()).flat_map(|step| step.expressions())).collect()
}
