//! What is to hold of tasks, by induction over their calls: it holds of a task in which nothing was called, and what holds ahead of a call holds behind it.
//!
//! In: an invariant about the tasks of an agent. Out: what it rests on, or nothing where it is not proved so. Two ways are tried. The first looks at the moment when a call succeeds: what its steps have
//! read is still so then, as far as it is about functions whose calls wait for each other; of all else nothing is known but that the invariant holds. The second looks at the moment when a call is let
//! through, and counts open calls as if they had succeeded: it takes a bound from above, and sums of what is never below 0. Each way is tried a second time with a bound on what one call
//! adds, found in the rules. What is to be shown of a single call is woven into the policies as a claim (`woven`) and put to the solver.

use super::Grounds;
use super::woven::{Claim, Woven, of_call, weave_quietly};
use crate::analysis::{Grounds as Entailed, Inquiry, Of, Status, Told, entailed};
use crate::cel::{Expr, ExprKind, Literal};
use crate::limits::EngineLimits;
use crate::manifest::load::File;
use crate::manifest::step::Hook;
use crate::policy::{Expression, Policy, Step};
use crate::source::{Embedded, Place};
use std::sync::Arc;

/// The most numbers that are tried as a bound on what one call adds.
const MAX_BOUNDS: usize = 8;

/// The ways to go from one call to the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    /// From one call that succeeds to the next.
    OneByOne,
    /// From one call that is let through to the next, open calls counting as if they had succeeded.
    Committed,
}

/// An agent and the files that it is made of.
pub(super) struct Ground<'g> {
    pub(super) files: &'g [File],
    pub(super) limits: EngineLimits,
    pub(super) agent: (&'g str, &'g str),
    pub(super) policy: &'g Policy,
    /// Where the invariant stands.
    pub(super) place: &'g Place,
}

/// Expressions about the calls of functions, compiled.
struct Compiled {
    policy: Arc<Policy>,
    /// The function of each, by its place.
    functions: Vec<usize>,
}

impl Compiled {
    fn get(&self, at: usize) -> Option<(usize, &Expression)> {
        let function = *self.functions.get(at)?;
        Some((function, of_call(&self.policy, function, &name(at))?))
    }
}

fn name(at: usize) -> String {
    format!("part {at}")
}

impl Ground<'_> {
    /// Why an invariant holds of every task, if it is known to.
    pub(super) fn grounds(&self, always: &Expression) -> Option<Grounds> {
        let told = Told::new(self.policy, always)?;
        let changing = changing(self.policy, &told)?;
        // calls that steps invoke pass no steps
        if told.reads_invoked() && self.policy.invoked().any(|function| changing.contains(&function)) {
            return None;
        }
        let mut added = Added::default();
        if told.has_sums() {
            added = self.added(&told, &changing)?;
        }
        let committed = told.with_open_calls().filter(|_| !told.has_sums() || added.is_never_negative);
        let ways = [(Way::OneByOne, Some(told)), (Way::Committed, committed)];
        let ways: Vec<(Way, Told<'_>)> =
            ways.into_iter().filter_map(|(way, told)| Some((way, told?))).collect();
        let bounded =
            ways.iter().filter_map(|(way, told)| Some((*way, told.with_bounds(added.most?)?.text())));
        let plain = ways.iter().map(|(way, told)| (*way, told.text()));
        let tried: Vec<(Way, String)> = plain.chain(bounded).collect();
        tried.iter().find_map(|(way, said)| self.by(*way, said, &changing, &added))
    }

    /// Why something holds of every task that is told so, if one step leads to the next.
    fn by(&self, way: Way, said: &str, changing: &[usize], added: &Added) -> Option<Grounds> {
        let mut texts: Vec<(usize, String)> =
            changing.iter().map(|function| (*function, said.to_owned())).collect();
        if texts.is_empty() {
            let offered = self.policy.functions().iter().position(|function| function.offered)?;
            texts.push((offered, said.to_owned()));
        }
        let own = self.compile(&texts)?;
        let (function, expression) = own.get(0)?;
        let told = Told::new(&own.policy, expression)?;
        let is_changed_by =
            |function: usize, status: Status| Some(told.behind(function, status)? != told.text());
        if way == Way::OneByOne && !is_about_success(changing, &is_changed_by)? {
            return None;
        }
        let mut wanted = vec![(function, told.at_first()?)];
        for function in changing {
            wanted.push((*function, told.behind(*function, Status::Successful)?));
        }
        let first = texts.len();
        texts.extend(wanted);
        let all = self.compile(&texts)?;
        let given = |wanted: usize| {
            let mut places = 0..first;
            let place = places.find(|at| texts.get(*at).is_some_and(|(function, _)| *function == wanted))?;
            Some(all.get(place)?.1)
        };
        let mut grounds = Grounds::default();
        for at in first..texts.len() {
            let (function, goal) = all.get(at)?;
            let given = [given(function)?];
            let is_beginning = at == first;
            let inquiry = Inquiry {
                goal,
                given: if is_beginning { &[] } else { &given },
                of: match way {
                    _ if is_beginning => Of::Any,
                    Way::OneByOne => Of::Closed,
                    Way::Committed => Of::LetThrough,
                },
                adds_nothing_negative: added.is_never_negative,
            };
            grounds.add(&all.policy, function, entailed(&all.policy, function, inquiry)?);
        }
        for (policy, function, found) in added.grounds() {
            grounds.add(policy, function, found?);
        }
        grounds.never_called.clear();
        Some(grounds)
    }

    /// What calls add to the sums: whether it is ever below 0, and the least number of the rules that it is never above.
    fn added(&self, told: &Told<'_>, changing: &[usize]) -> Option<Added> {
        let mut texts = Vec::new();
        let mut questions: Vec<(Option<f64>, std::ops::Range<usize>)> = Vec::new();
        let bounds = numbers(self.policy, changing).into_iter().map(Some);
        for bound in std::iter::once(None).chain(bounds) {
            let begin = texts.len();
            for function in changing {
                let (order, number) = bound.map_or(("_>=_", 0.0), |bound| ("_<=_", bound));
                let additions = told.additions(*function, order, number)?;
                texts.extend(additions.into_iter().map(|text| (*function, text)));
            }
            questions.push((bound, begin..texts.len()));
        }
        let compiled = self.compile(&texts)?;
        let mut added = Added::default();
        for (bound, places) in questions {
            if bound.is_some() && added.most.is_some() {
                break;
            }
            let holds = places.clone().all(|at| entailed_at(&compiled, at).is_some());
            match bound {
                None => {
                    added.is_never_negative = holds;
                    added.never_negative = if holds { places.collect() } else { Vec::new() };
                }
                Some(bound) if holds => {
                    added.most = Some(bound);
                    added.at_most = places.collect();
                }
                Some(_) => {}
            }
        }
        added.compiled = Some(compiled);
        Some(added)
    }

    fn compile(&self, texts: &[(usize, String)]) -> Option<Compiled> {
        let (namespace, agent) = self.agent;
        let place = self.place;
        let text = |text: &str| Embedded::new(text, place.clone(), []);
        let mut claims = Vec::new();
        for (at, (function, said)) in texts.iter().enumerate() {
            claims.push(Claim {
                name: name(at),
                agents: vec![text(&format!("{namespace}/{agent}"))],
                call: Some(text(&self.policy.function(*function)?.key)),
                always: text(said),
                place: place.clone(),
            });
        }
        let Woven { engine, .. } = weave_quietly(self.files, &claims, self.limits);
        let functions = texts.iter().map(|(function, _)| *function).collect();
        Some(Compiled { policy: engine.policy(namespace, agent).ok()?, functions })
    }
}

/// What calls add to sums.
#[derive(Default)]
struct Added {
    compiled: Option<Compiled>,
    /// Whether it is never below 0.
    is_never_negative: bool,
    /// The least number that it is never above.
    most: Option<f64>,
    /// The places of the expressions that say the one, and the other.
    never_negative: Vec<usize>,
    at_most: Vec<usize>,
}

impl Added {
    /// Why it is so, function by function.
    fn grounds(&self) -> impl Iterator<Item = (&Policy, usize, Option<Entailed<'_>>)> {
        let places = self.never_negative.iter().chain(&self.at_most);
        places.filter_map(|at| {
            let compiled = self.compiled.as_ref()?;
            Some((&*compiled.policy, *compiled.functions.get(*at)?, entailed_at(compiled, *at)))
        })
    }
}

fn entailed_at(compiled: &Compiled, at: usize) -> Option<Entailed<'_>> {
    let (function, goal) = compiled.get(at)?;
    let inquiry = Inquiry { goal, given: &[], of: Of::Judged, adds_nothing_negative: false };
    entailed(&compiled.policy, function, inquiry)
}

/// The functions whose calls may change whether something is true; nothing where that is not understood.
fn changing(policy: &Policy, told: &Told<'_>) -> Option<Vec<usize>> {
    let mut changing = Vec::new();
    for function in 0..policy.functions().len() {
        let mut changes = false;
        for status in Status::ALL {
            changes |= told.behind(function, status)? != told.text();
        }
        changing.extend(changes.then_some(function));
    }
    Some(changing)
}

/// Whether something changes with calls that succeed alone. A call with wrong arguments, or one that is taken back, is on record without a decision of its steps.
fn is_about_success(
    changing: &[usize],
    is_changed_by: &dyn Fn(usize, Status) -> Option<bool>,
) -> Option<bool> {
    for function in changing {
        for status in [Status::Errored, Status::Restricted, Status::Open] {
            if is_changed_by(*function, status)? {
                return Some(false);
            }
        }
    }
    Some(true)
}

/// The numbers that the steps ahead of the calls of these functions name, and the greatest that their schemas allow, in order.
fn numbers(policy: &Policy, functions: &[usize]) -> Vec<f64> {
    let mut numbers = Vec::new();
    for function in functions {
        for step in policy.steps_of_call(Hook::Before, *function).iter() {
            for expression in Step::expressions(step) {
                literals(expression.program().expr(), &mut numbers);
            }
        }
        let schema = policy.function(*function).and_then(|function| function.schema().get("properties"));
        let properties = schema.and_then(|properties| properties.as_object()).into_iter().flatten();
        numbers.extend(properties.filter_map(|(_, property)| property.get("maximum")?.as_f64()));
    }
    numbers.sort_by(f64::total_cmp);
    numbers.dedup();
    numbers.truncate(MAX_BOUNDS);
    numbers
}

fn literals(expr: &Expr, found: &mut Vec<f64>) {
    #[expect(clippy::cast_precision_loss, reason = "each number is tried, and proved or not")]
    match &expr.kind {
        ExprKind::Literal(Literal::Int(value)) => found.push(*value as f64),
        ExprKind::Literal(Literal::Double(value)) => found.push(*value),
        _ => {}
    }
    expr.for_each_part(&mut |part| literals(part, found));
}
