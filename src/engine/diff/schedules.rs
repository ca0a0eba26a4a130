//! The schedules of two sets of policies side by side.
//!
//! In: schedules before and after, by name. Out: for each whether it makes other tasks, or makes them at other times, with a time at which the two
//! sides differ. What follows from the texts of both is proved; where only the texts differ and no run does, nobody knows.

use super::witness::{Judgement, Outcome, Tries, Witness};
use super::{Answer, Difference, Method, PolicySet};
use crate::cel::Timestamp;
use crate::evidence::Evidence;
use crate::manifest::Catalog;
use crate::manifest::schedule::Schedule;
use crate::task::VerdictKind;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};

/// The second after which runs are compared, which is the beginning of 2026: the same on every machine and every day.
const AFTER: i64 = 1_767_225_600;

/// How many runs of each side are compared.
const RUNS: usize = 400;

/// The schedules that are valid, by namespace and name.
fn schedules(catalog: &Catalog) -> BTreeMap<(&str, &str), &Schedule> {
    let all = catalog.schedules().iter().map(|resolved| &*resolved.document);
    let valid = all.filter(|schedule| schedule.launch.sound);
    valid.map(|it| ((&*it.launch.namespace.text, &*it.launch.name.text), it)).collect()
}

/// The task that a run makes: its agent, whose it is and its first input.
fn task(schedule: &Schedule) -> Value {
    let launch = &schedule.launch;
    json!({ "agent": &*launch.agent.text, "owner": &*launch.owner.text, "input": schedule.input() })
}

/// Whether both make the same tasks at the same times.
fn is_alike(old: &Schedule, new: &Schedule) -> bool {
    match (old.launch.enabled, new.launch.enabled) {
        (false, false) => true,
        (true, true) => task(old) == task(new) && old.keeps_time_of(new),
        _ => false,
    }
}

/// Whether what decides is written alike.
fn is_same_text(old: &Schedule, new: &Schedule) -> bool {
    let zone = |side: &Schedule| side.timezone.as_ref().map(|zone| zone.text.clone());
    old.launch.enabled == new.launch.enabled
        && task(old) == task(new)
        && old.cron.text == new.cron.text
        && zone(old) == zone(new)
}

/// Whether it is proved that the schedules of both sides make the same tasks at the same times.
pub(super) fn proved_alike(old: &Catalog, new: &Catalog) -> bool {
    let (old, new) = (schedules(old), schedules(new));
    old.len() == new.len()
        && old.iter().all(|(name, old)| new.get(name).is_some_and(|new| is_alike(old, new)))
}

/// Each schedule with its agent, its name and what is known of the difference. One that is not valid on one side counts as not there.
pub(super) fn compare(old: &PolicySet, new: &PolicySet) -> Vec<(String, String, Answer)> {
    let [old, new] = [old, new].map(|set| schedules(&set.catalog));
    let names: BTreeSet<(&str, &str)> = old.keys().chain(new.keys()).copied().collect();
    let compared = names.into_iter().filter_map(|name| {
        let sides = (old.get(&name).copied(), new.get(&name).copied());
        let launch = &sides.1.or(sides.0)?.launch;
        let answer = match sides {
            (None, _) => Answer::without_tries(Difference::Added, None),
            (_, None) => Answer::without_tries(Difference::Removed, None),
            (Some(old), Some(new)) if is_alike(old, new) => {
                let method = if is_same_text(old, new) { Method::Identical } else { Method::Proof };
                Answer::without_tries(Difference::None, Some(method))
            }
            (Some(old), Some(new)) => Answer::of_search(tried(old, new), false),
        };
        let agent = format!("{}/{}", launch.namespace.text, launch.agent.text);
        Some((agent, name.1.to_owned(), answer))
    });
    compared.collect()
}

/// What the next runs show: a time at which one side alone makes a task, and one at which the two make different ones.
fn tried(old: &Schedule, new: &Schedule) -> (Difference, Evidence) {
    let mut tries = Tries::default();
    let Ok(after) = Timestamp::from_unix(AFTER) else { return tries.difference() };
    let runs = [old, new].map(|side| side.next_runs(after, RUNS));
    // past the last run that is known of one side nobody can say that the other one alone runs
    let ends = runs.each_ref().map(|runs| runs.last().filter(|_| runs.len() == RUNS).copied());
    let end = ends.into_iter().flatten().min();
    let times: BTreeSet<Timestamp> = runs.iter().flatten().copied().collect();
    let outcomes = |at: &Timestamp| {
        [(old, &runs[0]), (new, &runs[1])].map(|(side, runs)| {
            let runs_then = runs.binary_search(at).is_ok();
            let verdict = if runs_then { VerdictKind::Allow } else { VerdictKind::Block };
            let outcome = Outcome { verdict, value: runs_then.then(|| task(side)), message: None, by: None };
            Judgement { outcome: Some(outcome), reached: Ok(()) }
        })
    };
    for at in times.iter().filter(|at| end.is_none_or(|end| **at <= end)) {
        if tries.are_enough() {
            break;
        }
        tries.add(outcomes(at), |was, is| {
            let launch = &new.launch;
            let call = json!({ "op": "schedule", "name": &*launch.name.text, "at": at.to_string() });
            Witness {
                user: json!({ "id": &*launch.owner.text }),
                tools: Vec::new(),
                counters: None,
                state: Vec::new(),
                call,
                old: was,
                new: is,
            }
        });
    }
    tries.difference()
}
