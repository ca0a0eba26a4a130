//! What the cases of some policies have tried, and what they have not.
//!
//! In: the policies that cases run under, and what each case went through. Out: for each step how often it was reached, passed, failed and was left out,
//! and for each clause, of steps, variables and counters alike, whether it was seen true, seen false and seen deciding; names of policies, limits, messages, transforms and events
//! beside. The same characters of a file are one step or clause, for however many functions and agents they were compiled. Nothing is run here. What is counted is a row
//! of [`COUNTS`].

use super::agent::full_name;
use super::explain::ExplainedOperation;
use crate::manifest::catalog::ResolvedAgent;
use crate::manifest::given::plain;
use crate::manifest::named_expression::EXPRESSIONS;
use crate::policy::{Policy, Step, Trigger, mentions, steps_reading};
use crate::source::{Place, Source, Span};
use crate::task::{ClauseSeen, ExplainedStep, NameSeen, SkipReason, StepEnding, StepKind};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::path::Path;
use std::sync::Arc;

/// What was tried of some manifests.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Coverage {
    /// By file, in the order of their names.
    pub files: BTreeMap<String, FileCoverage>,
    /// The variables, parameters and counters of each policy.
    pub names: Vec<SeenPart>,
    /// The limits of each agent.
    pub limits: Vec<SeenPart>,
    /// The events that each agent hears of, and the triggers that make tasks of it.
    pub events: Vec<SeenPart>,
}

/// A part of an agent or a policy that is no step.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SeenPart {
    /// The agent, or of a name the policy: namespace and name.
    pub agent: String,
    /// Its name: of a limit or of a trigger, `capability/event`, or `variables.paid`.
    pub name: String,
    /// Whether a case has reached the limit, brought an event of this name or source, or read the name.
    pub seen: bool,
}

/// What was tried of one file.
#[derive(Clone, Debug, Serialize)]
pub struct FileCoverage {
    /// The text.
    #[serde(skip)]
    pub source: Source,
    /// The steps, in the order in which they stand.
    #[serde(serialize_with = "values")]
    pub steps: BTreeMap<Span, StepCoverage>,
    /// The clauses, in the order in which they stand.
    #[serde(serialize_with = "values")]
    pub clauses: BTreeMap<Span, ClauseCoverage>,
}

fn values<T: Serialize, S: serde::Serializer>(
    map: &BTreeMap<Span, T>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(map.values())
}

/// What was tried of a step.
#[derive(Clone, Debug, Serialize)]
pub struct StepCoverage {
    /// Its path in the manifest.
    pub path: String,
    /// Its line, from 1.
    pub line: usize,
    /// The kind of step.
    pub action: StepKind,
    /// How often an operation came to it, or left it out.
    pub reached: usize,
    /// How often it passed.
    pub passed: usize,
    /// How often it failed.
    pub failed: usize,
    /// How often it waited for an answer.
    pub suspended: usize,
    /// How often its condition left it out; nothing if it has none.
    pub skipped: Option<usize>,
    /// How often its message was said; nothing if it has none.
    pub message: Option<usize>,
    /// The files of the cases that came to it.
    #[serde(skip)]
    pub cases: BTreeSet<Arc<str>>,
}

/// What was tried of a clause.
#[derive(Clone, Debug, Serialize)]
pub struct ClauseCoverage {
    /// Its text.
    pub text: String,
    /// The line where it begins, from 1.
    pub line: usize,
    /// The column, from 1, in characters.
    pub column: usize,
    /// How often it was true.
    pub held: usize,
    /// How often it was false.
    pub held_not: usize,
    /// How often it failed.
    pub failed: usize,
    /// How often the result of its expression came of it.
    pub decided: usize,
}

impl ClauseCoverage {
    /// Whether it was seen true, seen false and seen deciding.
    #[must_use]
    pub fn is_covered(&self) -> bool {
        self.held > 0 && self.held_not > 0 && self.decided > 0
    }

    /// What was not seen of it, in words.
    #[must_use]
    pub fn lacks(&self) -> Vec<&'static str> {
        if self.held == 0 && self.held_not == 0 {
            return vec![if self.failed > 0 { "failed only" } else { "never evaluated" }];
        }
        let all = [
            (self.held == 0, "never true"),
            (self.held_not == 0, "never false"),
            (self.decided == 0, "never deciding"),
        ];
        all.into_iter().filter(|(lacks, _)| *lacks).map(|(_, word)| word).collect()
    }
}

impl StepCoverage {
    /// What was not seen of it, in words.
    #[must_use]
    pub fn lacks(&self) -> Vec<&'static str> {
        if self.reached == 0 {
            return vec!["never reached"];
        }
        let judges = self.action == StepKind::Assert;
        let all = [
            (self.passed == 0, "never passed"),
            (judges && self.failed == 0 && self.suspended == 0, "never failed"),
            (self.skipped == Some(0), "never left out by its condition"),
            (self.message == Some(0), "its message was never said"),
        ];
        all.into_iter().filter(|(lacks, _)| *lacks).map(|(_, word)| word).collect()
    }
}

/// So many of so many.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Share {
    /// Seen.
    pub seen: usize,
    /// All there are.
    pub all: usize,
}

impl Share {
    fn of(seen: impl Iterator<Item = bool>) -> Self {
        seen.fold(Self::default(), |share, seen| Self {
            seen: share.seen.saturating_add(usize::from(seen)),
            all: share.all.saturating_add(1),
        })
    }

    /// Whether it is at least so many percent. Of nothing it is everything.
    #[must_use]
    pub fn reaches(self, percent: f64) -> bool {
        self.percent() >= percent
    }

    /// In percent; of nothing, a hundred.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "a count of clauses is far below what a double holds")]
    pub fn percent(self) -> f64 {
        if self.all == 0 { 100.0 } else { self.seen as f64 * 100.0 / self.all as f64 }
    }
}

/// Something that is counted.
#[derive(Clone, Copy, Debug)]
pub struct Count {
    /// The key in JSON.
    pub key: &'static str,
    /// The name for people.
    pub name: &'static str,
    share: fn(&Coverage) -> Share,
}

/// Everything that is counted, the clauses first.
pub const COUNTS: &[Count] = &[
    Count {
        key: "clauses",
        name: "clauses seen true, false and deciding",
        share: |it| {
            Share::of(
                it.files.values().flat_map(|file| file.clauses.values()).map(ClauseCoverage::is_covered),
            )
        },
    },
    Count {
        key: "reached",
        name: "steps reached",
        share: |it| Share::of(it.steps().map(|step| step.reached > 0)),
    },
    Count {
        key: "passed",
        name: "steps passed",
        share: |it| Share::of(it.steps().map(|step| step.passed > 0)),
    },
    Count {
        key: "failed",
        name: "asserts failed",
        share: |it| {
            let asserts = it.steps().filter(|step| step.action == StepKind::Assert);
            Share::of(asserts.map(|step| step.failed > 0 || step.suspended > 0))
        },
    },
    Count {
        key: "skipped",
        name: "conditions that left out",
        share: |it| Share::of(it.steps().filter_map(|step| step.skipped).map(|count| count > 0)),
    },
    Count {
        key: "messages",
        name: "messages said",
        share: |it| Share::of(it.steps().filter_map(|step| step.message).map(|count| count > 0)),
    },
    Count {
        key: "transforms",
        name: "transforms made",
        share: |it| {
            let transforms = it.steps().filter(|step| step.action == StepKind::Transform);
            Share::of(transforms.map(|step| step.passed > 0))
        },
    },
    Count { key: "names", name: "names read", share: |it| Share::of(it.names.iter().map(|name| name.seen)) },
    Count {
        key: "limits",
        name: "limits reached",
        share: |it| Share::of(it.limits.iter().map(|it| it.seen)),
    },
    Count {
        key: "events",
        name: "events that came",
        share: |it| Share::of(it.events.iter().map(|it| it.seen)),
    },
];

impl Count {
    /// How much of it was seen.
    #[must_use]
    pub fn share(&self, coverage: &Coverage) -> Share {
        (self.share)(coverage)
    }
}

impl Coverage {
    /// Adds what a policy has of steps, clauses, limits and events, none of it seen so far.
    pub fn add_policy(&mut self, policy: &Policy) {
        let agent = full_name(policy.agent());
        for step in policy.steps() {
            self.add_step(step);
        }
        let mut known = HashSet::new();
        for expression in policy.expressions() {
            for clause in expression.clauses().into_iter().chain(expression.name_clauses(&mut known)) {
                self.clause(&clause);
            }
        }
        for (limit, _) in policy.task_limits().iter() {
            add_part(&mut self.limits, &agent, limit.as_str());
        }
        let capabilities = &policy.agent().capabilities;
        for event in policy.events().iter().filter(|event| event.active) {
            let capability = capabilities.get(event.capability).map_or("", |it| &*it.reference.text);
            add_part(&mut self.events, &agent, &format!("{capability}/{}", event.name));
        }
    }

    /// Adds the names of the policies that are for an agent, none of them read so far. A name of which no step knows is not counted.
    pub(super) fn add_names(&mut self, resolved: &ResolvedAgent) {
        for applied in &resolved.policies {
            let policy = &*applied.policy;
            let named = [
                ("variables", policy.variables.iter().map(|it| &it.name).collect::<Vec<_>>()),
                ("parameters", policy.parameters.iter().map(|it| &it.name).collect()),
                ("counters", policy.counters.iter().map(|it| &it.name).collect()),
                (EXPRESSIONS, policy.expressions.iter().map(|it| &it.name).collect()),
            ];
            for (root, names) in named {
                for name in
                    names.into_iter().filter(|name| !steps_reading(policy, root, &name.text).is_empty())
                {
                    add_part(&mut self.names, &policy.applied_name(), &format!("{root}.{}", name.text));
                }
            }
        }
    }

    /// Adds a trigger, none of whose steps and clauses was seen so far. One that makes no tasks has none to be seen.
    pub fn add_trigger(&mut self, trigger: &Trigger) {
        let launch = trigger.launch();
        if !launch.enabled {
            return;
        }
        trigger.steps().iter().for_each(|step| self.add_step(step));
        for clause in trigger.expressions().flat_map(crate::policy::Expression::clauses) {
            self.clause(&clause);
        }
        let agent = format!("{}/{}", launch.namespace.text, launch.agent.text);
        add_part(&mut self.events, &agent, &launch.name.text);
    }

    fn file(&mut self, place: &Place) -> &mut FileCoverage {
        self.files.entry(file_name(place)).or_insert_with(|| FileCoverage {
            source: place.source.clone(),
            steps: BTreeMap::new(),
            clauses: BTreeMap::new(),
        })
    }

    fn add_step(&mut self, step: &Step) {
        let place = step.place().clone();
        let origin = step.origin();
        let action = StepKind::of(step);
        let (skipped, message) = (step.condition.as_ref().map(|_| 0), step.has_message().then_some(0));
        self.file(&place).steps.entry(place.span).or_insert_with(|| StepCoverage {
            path: origin.path,
            line: place.position().line,
            action,
            reached: 0,
            passed: 0,
            failed: 0,
            suspended: 0,
            skipped,
            message,
            cases: BTreeSet::new(),
        });
    }

    fn clause(&mut self, place: &Place) -> &mut ClauseCoverage {
        let text = place.source.slice(place.span).split_whitespace().collect::<Vec<_>>().join(" ");
        let position = place.position();
        self.file(place).clauses.entry(place.span).or_insert_with(|| ClauseCoverage {
            text,
            line: position.line,
            column: position.column,
            held: 0,
            held_not: 0,
            failed: 0,
            decided: 0,
        })
    }

    /// Adds what a case of this file went through.
    pub fn add_case(&mut self, file: &Arc<str>, operations: &[ExplainedOperation]) {
        for operation in operations {
            let seen = |parts: &mut [SeenPart], names: &[String]| {
                let own = parts.iter_mut().filter(|part| part.agent == operation.agent);
                own.filter(|part| names.contains(&part.name)).for_each(|part| part.seen = true);
            };
            seen(&mut self.limits, &operation.limits);
            seen(&mut self.events, &operation.events);
            for step in operation.explanation.steps.iter().chain(&operation.explanation.tools) {
                self.see_step(file, step);
            }
            operation.explanation.names.iter().for_each(|name| self.see_name(name));
            operation.explanation.expressions.iter().for_each(|it| self.see_clauses(&it.clauses));
        }
    }

    /// Notes that a name was read, and of a variable what its clauses came to and which counters it reads.
    fn see_name(&mut self, name: &NameSeen) {
        self.see_clauses(&name.clauses);
        let own = self.names.iter_mut().filter(|part| part.agent == name.policy);
        for part in own {
            let is_read_by = |text: &String| is_counter_in(part.name.as_str(), text);
            part.seen |= part.name == name.name || name.text.as_ref().is_some_and(is_read_by);
        }
    }

    fn see_step(&mut self, case: &Arc<str>, step: &ExplainedStep) {
        for expression in &step.expressions {
            self.see_clauses(&expression.clauses);
            let policy = step.origin.policy.as_ref().map(|policy| &*policy.name);
            for part in self.names.iter_mut().filter(|part| Some(&*part.agent) == policy) {
                part.seen |= is_counter_in(&part.name, &expression.tree.text);
            }
        }
        let Some(place) = &step.place.0 else { return };
        let Some(seen) = self.file(place).steps.get_mut(&place.span) else { return };
        let count = match (step.outcome, step.skipped) {
            (StepEnding::NotReached, _) | (StepEnding::Skipped, Some(SkipReason::Match)) => return,
            (StepEnding::Pass | StepEnding::Observed, _) => Some(&mut seen.passed),
            (StepEnding::Fail, _) => Some(&mut seen.failed),
            (StepEnding::Suspend, _) => Some(&mut seen.suspended),
            (StepEnding::Skipped, Some(SkipReason::Condition)) => seen.skipped.as_mut(),
            (StepEnding::Skipped, _) => None,
        };
        count.into_iter().for_each(|count| *count = count.saturating_add(1));
        seen.reached = seen.reached.saturating_add(1);
        if matches!(step.outcome, StepEnding::Fail | StepEnding::Suspend) {
            seen.message.iter_mut().for_each(|count| *count = count.saturating_add(1));
        }
        seen.cases.insert(case.clone());
    }

    fn see_clauses(&mut self, clauses: &[ClauseSeen]) {
        for clause in clauses {
            let Some(place) = &clause.place.0 else { continue };
            let seen = self.clause(place);
            seen.held = seen.held.saturating_add(clause.held);
            seen.held_not = seen.held_not.saturating_add(clause.held_not);
            seen.failed = seen.failed.saturating_add(clause.failed);
            seen.decided = seen.decided.saturating_add(usize::from(clause.decided));
        }
    }

    /// Whether a case was seen to come to a step; of a step that is not known it may have.
    #[must_use]
    pub fn comes_to(&self, case: &str, step: &Place) -> bool {
        let file = self.files.get(&file_name(step));
        file.and_then(|file| file.steps.get(&step.span)).is_none_or(|seen| seen.cases.contains(case))
    }

    /// All of it for a program, with the shares under `shares`.
    #[must_use]
    pub fn to_json(&self) -> serde_json::Value {
        let mut all = serde_json::json!(self);
        if let Some(members) = all.as_object_mut() {
            let shares =
                COUNTS.iter().map(|count| (count.key.to_owned(), serde_json::json!(count.share(self))));
            members.insert("shares".to_owned(), serde_json::Value::Object(shares.collect()));
        }
        all
    }

    /// How many clauses were seen true, seen false and seen deciding.
    #[must_use]
    pub fn clauses(&self) -> Share {
        COUNTS.first().map(|count| count.share(self)).unwrap_or_default()
    }

    fn steps(&self) -> impl Iterator<Item = &StepCoverage> {
        self.files.values().flat_map(|file| file.steps.values())
    }
}

/// Whether a part is a counter that a text reads.
fn is_counter_in(part: &str, text: &str) -> bool {
    part.split_once('.').is_some_and(|(root, name)| root == "counters" && mentions(text, root, name))
}

/// Adds a part that was not seen so far, unless it is there.
fn add_part(parts: &mut Vec<SeenPart>, agent: &str, name: &str) {
    if !parts.iter().any(|part| part.agent == agent && part.name == name) {
        parts.push(SeenPart { agent: agent.to_owned(), name: name.to_owned(), seen: false });
    }
}

/// The name of the file of a place, as several cases may come to it by several ways: `cases/../agent.yaml` is `agent.yaml`.
pub(super) fn file_name(place: &Place) -> String {
    plain(Path::new(place.source.name())).display().to_string()
}
