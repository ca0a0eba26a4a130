//! What `include` and `match` of a capability name: actions and events of its tool.
//!
//! In: a capability and what it names. Out: a finding for each name that is none, and for each step whose action
//! `include` leaves out. Linear in the names.

use super::agent::Capability;
use super::capability_key::sanitise;
use super::messages;
use super::names::Names;
use super::reader::{Path, Reader};
use super::resolved_agent::CapabilityEntry;
use super::step::DeclaredStep;
use std::collections::HashSet;

/// The names in `include` are those of actions and events (AG-21).
pub(super) fn check_include(
    capability: &Capability,
    entry: &CapabilityEntry,
    names: &Names<'_>,
    reader: &mut Reader,
) {
    let Some(include) = &capability.include else { return };
    let known = names_of(entry);
    let path = Path::document(&capability.path).key("include");
    for (at, name) in include.iter().enumerate().filter(|(_, name)| !known.contains(&*name.text)) {
        let others = names.alternatives(&known);
        reader.report(&path.item(at), messages::unknown_include(name, &capability.reference.text, &others));
    }
}

/// The names in `match` are those of actions and events that the agent has (MW-23, AG-11); no event runs the steps of
/// `before_first` (MW-43).
pub(super) fn check_matches(
    capability: &Capability,
    entry: &CapabilityEntry,
    names: &Names<'_>,
    reader: &mut Reader,
) {
    let actions = entry.functions.iter().map(|function| function.name.as_str()).collect();
    let active = active_names(entry).map(sanitise).collect::<HashSet<_>>();
    let later = capability.before.iter().chain(&capability.after);
    let of = |steps, what, known| Selection { target: &capability.reference.text, what, known, steps };
    let first = of(capability.before_first.iter().collect(), "action", actions);
    let later = of(later.collect(), "action or event", names_of(entry));
    for selection in [first, later] {
        selection.check(&active, names, reader);
    }
}

/// Steps with the names that their `match` may have.
struct Selection<'s> {
    target: &'s str,
    what: &'static str,
    known: HashSet<&'s str>,
    steps: Vec<&'s DeclaredStep>,
}

impl Selection<'_> {
    fn check(&self, active: &HashSet<String>, names: &Names<'_>, reader: &mut Reader) {
        let keys = self.known.iter().map(|name| sanitise(name)).collect::<HashSet<_>>();
        for step in &self.steps {
            let Some(name) = &step.match_name else { continue };
            let key = sanitise(&name.text);
            let finding = if !keys.contains(&key) {
                let others = names.alternatives(&self.known);
                messages::unknown_match(name, self.target, self.what, &others)
            } else if !active.contains(&key) {
                messages::excluded_match(name)
            } else {
                continue;
            };
            reader.report(&Path::document(&step.path).key("match"), finding);
        }
    }
}

/// Names of actions and events, as written.
pub(super) fn names_of(entry: &CapabilityEntry) -> HashSet<&str> {
    let functions = entry.functions.iter().map(|function| function.name.as_str());
    functions.chain(entry.events.iter().map(|event| event.name.as_str())).collect()
}

/// The same of those that `include` leaves to the agent.
fn active_names(entry: &CapabilityEntry) -> impl Iterator<Item = &str> {
    let functions = entry.functions.iter().filter(|function| function.active);
    let events = entry.events.iter().filter(|event| event.active);
    functions.map(|function| function.name.as_str()).chain(events.map(|event| event.name.as_str()))
}
