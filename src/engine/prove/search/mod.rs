//! Tasks made of calls that are worth trying, through the engine, the shortest first, until one breaks what is to hold.
//!
//! In: policies with claims in them, and bounds. Out: for each claim that is broken the calls that break it; and how far the search came. After each
//! length the tasks are thinned: of those whose calls differ in amounts alone the heaviest and the lightest go on. So what is found was decided by the
//! engine, and that nothing is found proves nothing. A call or a task counts as evidence for a claim if its evaluation came to the claim. First each call has its result ahead of the next one; then, in a fifth of the calls that may be tried, all are made side by side, and their results
//! come behind the last.
//!
//! | module | what it holds |
//! |---|---|
//! | `choices` | the arguments that are tried, and the ways in which a call may go |
//! | `thinned` | the tasks of one length that go on |

mod choices;
mod thinned;

use super::Bounds;
use super::operations::{Callable, weight};
use super::play::{Made, Move, Results, Stage, State};
use super::woven::{Woven, claim_of, of_call, of_task};
use crate::candidates::{Beginning, Named, beginnings};
use crate::context::Root;
use crate::counter::CounterId;
use crate::evidence::{Evidence, reason_of};
use crate::manifest::brought::BroughtTool;
use crate::policy::{AgentFunction, Expression, Policy, StepAction, for_each_path};
use crate::task::{Decision, ObservedStep, StepOutcome, VerdictKind};
use choices::{Passed, moves};
use serde_json::{Map, Value};
use std::collections::{BTreeMap, BTreeSet};
use thinned::thinned;

/// The most tasks of one length that go on.
const WIDTH: usize = 48;
/// The most arguments of a function that are tried behind the first call.
const CHOICES: usize = 24;
/// The most users, claims, parameters and amounts of counters that tasks begin with.
const BEGINNINGS: usize = 24;

/// The calls that break a claim.
#[derive(Clone, Debug)]
pub(super) struct Breach {
    pub(super) beginning: Beginning,
    /// The counters that the task has read, with what they held at the beginning.
    pub(super) filled: Vec<(CounterId, i64)>,
    pub(super) moves: Vec<Move>,
    pub(super) made: Vec<Made>,
    /// What functions gave that steps invoke.
    pub(super) invoked: BTreeMap<String, Value>,
    /// When the results came.
    pub(super) results: Results,
}

/// How far a search came.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reached {
    /// The number of calls of the longest tasks of which all that were to be tried were.
    pub depth: usize,
    /// The calls that were tried.
    pub operations: usize,
}

/// What came of a search.
#[derive(Clone, Debug, Default)]
pub(super) struct SearchResult {
    /// By claim, the calls that break it.
    pub(super) found: BTreeMap<String, Breach>,
    /// By claim, what was tried.
    pub(super) evidence: BTreeMap<String, Evidence>,
    pub(super) reached: Reached,
}

struct Search<'s> {
    stage: Stage<'s>,
    beginnings: Vec<Beginning>,
    /// By claim about calls, the functions that it is about.
    of_calls: BTreeMap<&'s str, BTreeSet<String>>,
    evidence: BTreeMap<String, Evidence>,
    callables: Vec<Callable>,
    of_tasks: Vec<(&'s str, &'s Expression)>,
    /// The functions whose calls the claims about tasks read.
    claimed: BTreeSet<String>,
    open: BTreeSet<&'s str>,
    found: BTreeMap<String, Breach>,
    bounds: &'s Bounds,
    /// The calls that may be tried so far.
    most: usize,
    /// How many arguments of a function are made of one beginning.
    variety: usize,
    goes_on: &'s dyn Fn() -> bool,
    reached: Reached,
}

/// A task with the calls that led to it.
#[derive(Clone)]
struct Node {
    state: State,
    /// The position of its beginning.
    beginning: usize,
    moves: Vec<Move>,
    weight: f64,
}

/// Looks for tasks of an agent that break claims.
pub(super) fn search<'s>(
    woven: &'s Woven,
    (agent, tools): ((&'s str, &'s str), &'s [BroughtTool]),
    policy: &'s Policy,
    claims: &[&'s str],
    (bounds, goes_on): (&'s Bounds, &'s dyn Fn() -> bool),
) -> SearchResult {
    let mut named = Named::default();
    let resolved = woven.catalog.agent(agent.0, agent.1);
    resolved.iter().for_each(|resolved| named.add(resolved, woven.engine.limits()));
    let beginnings = beginnings(resolved.as_slice(), &named, BEGINNINGS);
    let invoked = invoked(policy, &named);
    let offered = policy.offered_functions();
    let callables: Vec<Callable> = offered.map(|function| Callable::new(function, &named)).collect();
    let of_tasks: Vec<(&str, &Expression)> =
        claims.iter().filter_map(|claim| Some((*claim, of_task(policy, claim)?))).collect();
    let functions_of = |claim: &str| -> BTreeSet<String> {
        let all = policy.functions().iter().enumerate();
        let own = all.filter(|(at, _)| of_call(policy, *at, claim).is_some());
        own.map(|(_, function)| function.key.to_string()).collect()
    };
    let of_calls = claims.iter().filter(|claim| of_task(policy, claim).is_none());
    let mut search = Search {
        beginnings,
        of_calls: of_calls.map(|claim| (*claim, functions_of(claim))).collect(),
        evidence: BTreeMap::new(),
        stage: Stage::new(&woven.engine, (agent, tools), invoked, Results::AtOnce),
        claimed: claimed(policy, &of_tasks),
        variety: variety(bounds, callables.len()),
        callables,
        of_tasks,
        open: claims.iter().copied().collect(),
        found: BTreeMap::new(),
        bounds,
        most: bounds.operations,
        goes_on,
        reached: Reached::default(),
    };
    // what is made side by side comes behind, and has room of its own
    let aside = bounds.operations.checked_div(5).unwrap_or_default();
    search.most = bounds.operations.saturating_sub(aside);
    search.run();
    let depth = search.reached.depth;
    search.most = search.reached.operations.saturating_add(aside);
    search.stage.results = Results::Last;
    search.run();
    let Search { found, evidence, reached, .. } = search;
    SearchResult { found, evidence, reached: Reached { depth, ..reached } }
}

/// The functions whose calls claims about tasks read by the names of their records.
fn claimed(policy: &Policy, of_tasks: &[(&str, &Expression)]) -> BTreeSet<String> {
    let mut claimed = BTreeSet::new();
    for (_, expression) in of_tasks {
        for_each_path(expression.program().expr(), &mut |root, path| {
            if Root::long_name(root) == Root::Context.name() {
                let functions = policy.schema().calls_on_path(root, path).functions.unwrap_or_default();
                let keys = functions.into_iter().filter_map(|function| policy.schema().key(function));
                claimed.extend(keys.map(|key| key.to_string()));
            }
        });
    }
    claimed
}

/// How many arguments are tried at the first call of a task, so that there is room for longer tasks.
fn variety(bounds: &Bounds, functions: usize) -> usize {
    let room = bounds.operations.checked_div(functions.saturating_mul(12)).unwrap_or_default();
    room.clamp(30, 600)
}

/// What the functions give that steps invoke.
fn invoked(policy: &Policy, named: &Named) -> BTreeMap<String, Value> {
    let targets = policy.steps().filter_map(|step| match &step.action {
        StepAction::Invoke(invoke) => policy.function(invoke.function?),
        _ => None,
    });
    let result = |function: &AgentFunction| {
        let callable = Callable::new(function, named);
        (callable.key, callable.results.into_iter().next().unwrap_or_default())
    };
    targets.map(result).collect()
}

impl Search<'_> {
    fn run(&mut self) {
        let mut frontier: Vec<Node> = Vec::new();
        for (at, beginning) in self.beginnings.iter().enumerate() {
            match self.stage.begin(beginning) {
                Ok(state) => frontier.push(Node { state, beginning: at, moves: Vec::new(), weight: 0.0 }),
                Err(why) => {
                    for claim in &self.open {
                        self.evidence.entry((*claim).to_owned()).or_default().reject(&why);
                    }
                }
            }
        }
        for node in &frontier.clone() {
            self.look_at(node, "nothing was called");
        }
        // the arguments with which each function was let by, and those with which it was not
        let mut choices: Vec<Vec<Map<String, Value>>> = self
            .callables
            .iter()
            .map(|callable| callable.around(&callable.beginning(), self.variety))
            .collect();
        for depth in 1..=self.bounds.depth {
            if self.open.is_empty() || frontier.is_empty() {
                return;
            }
            let mut next = Vec::new();
            let mut passed: Vec<Passed> = self.callables.iter().map(|_| Passed::default()).collect();
            // the first task with all arguments, each other one with a few
            let mut promising = Vec::new();
            for (at, node) in frontier.iter().enumerate() {
                let most = if depth == 1 && at > 0 { self.sample(frontier.len()) } else { usize::MAX };
                let before = next.len();
                if !self.calls(node, (&choices, most), &mut passed, &mut next) {
                    return;
                }
                let is_let_by = |node: &Node| node.state.made.last().is_some_and(Made::is_let_by);
                promising.extend(next.iter().skip(before).any(is_let_by).then_some(node));
            }
            if depth == 1 {
                // around what was let by there may be more
                let most = self.variety.checked_div(promising.len()).unwrap_or_default().max(30);
                for node in promising {
                    let further: Vec<_> = self
                        .callables
                        .iter()
                        .zip(&passed)
                        .map(|(it, passed)| passed.further(it, self.variety))
                        .collect();
                    if !self.calls(node, (&further, most), &mut passed, &mut next) {
                        return;
                    }
                }
            }
            self.reached.depth = depth;
            let (width, breadth) = self.room(depth);
            for (choices, passed) in choices.iter_mut().zip(&passed) {
                passed.narrow(choices, breadth);
            }
            frontier = thinned(next, width, &self.claimed);
        }
    }

    /// How many tasks go on behind this length, and how many arguments of a function are tried from each: as many as leave room for as many
    /// calls at each length.
    fn room(&self, depth: usize) -> (usize, usize) {
        let left = self.most.saturating_sub(self.reached.operations);
        let lengths = self.bounds.depth.saturating_sub(depth).max(1);
        let budget = left.checked_div(lengths).unwrap_or_default();
        let width = budget.isqrt().clamp(4, WIDTH);
        let all = budget.checked_div(width).unwrap_or_default();
        (width, all.checked_div(self.callables.len().max(1)).unwrap_or_default().clamp(3, CHOICES))
    }

    /// How many arguments of a function are tried at the first call of each task but the first, of so many tasks.
    fn sample(&self, tasks: usize) -> usize {
        let all = tasks.saturating_mul(self.callables.len()).saturating_mul(12);
        self.bounds.operations.checked_div(all).unwrap_or_default().clamp(3, 16)
    }

    /// Makes all calls from one task on, of each function at most so many; whether there is room for more.
    fn calls(
        &mut self,
        node: &Node,
        (choices, most): (&[Vec<Map<String, Value>>], usize),
        passed: &mut [Passed],
        next: &mut Vec<Node>,
    ) -> bool {
        for (at, choices) in choices.iter().enumerate() {
            for arguments in choices.iter().take(most) {
                if self.reached.operations >= self.most || !(self.goes_on)() {
                    return false;
                }
                if self.open.is_empty() {
                    return true;
                }
                let Some(callable) = self.callables.get(at) else { continue };
                let is_first = passed.get(at).is_some_and(|passed| passed.allowed.is_empty());
                let moves = moves(callable, arguments, is_first);
                let (mut is_asked, mut is_let_by) = (false, None);
                for call in moves {
                    // nobody denies what nobody is asked, and no result is one of a call that does not run
                    if !call.approves && !is_asked || call.approves && is_let_by == Some(false) {
                        continue;
                    }
                    self.reached.operations = self.reached.operations.saturating_add(1);
                    let Some(beginning) = self.beginnings.get(node.beginning) else { continue };
                    let Some((state, decision)) = self.stage.make(beginning, &node.state, &call) else {
                        continue;
                    };
                    let Some(made) = state.made.last() else { continue };
                    is_asked |= !made.reviews.is_empty();
                    let is_allowed = made.verdict == VerdictKind::Allow;
                    is_let_by.get_or_insert(is_allowed);
                    if let Some(passed) = passed.get_mut(at) {
                        passed.note(arguments, is_allowed);
                    }
                    let weight = if is_allowed { weight(arguments) } else { 0.0 };
                    let moves = node.moves.iter().cloned().chain([call]).collect();
                    let node = Node { state, beginning: node.beginning, moves, weight: node.weight + weight };
                    self.look_at_call(&node, &decision);
                    self.look_at(&node, &reason_of(&decision));
                    next.push(node);
                }
            }
        }
        true
    }

    /// Whether the call that was let by breaks something.
    fn look_at_call(&mut self, node: &Node, decision: &Decision) {
        let Some(function) = node.state.made.last().map(|made| &made.function) else { return };
        let claim = |observed: &ObservedStep| {
            let policy = observed.origin.policy.as_ref()?;
            claim_of(&policy.name).map(str::to_owned)
        };
        let judged: BTreeSet<String> = decision.observed.iter().filter_map(claim).collect();
        for (claim, functions) in &self.of_calls {
            if self.open.contains(claim) && functions.contains(function) {
                let evidence = self.evidence.entry((*claim).to_owned()).or_default();
                match judged.contains(*claim) && decision.verdict.kind() == VerdictKind::Allow {
                    true => evidence.reach(),
                    false => evidence.reject(&reason_of(decision)),
                }
            }
        }
        if decision.verdict.kind() != VerdictKind::Allow {
            return;
        }
        for observed in decision.observed.iter().filter(|observed| observed.outcome != StepOutcome::Pass) {
            claim(observed).into_iter().for_each(|claim| self.note(&claim, node));
        }
    }

    /// Whether the task as it stands breaks something. A task is evidence if a call that the claim reads was let by; `why` says why it was not.
    fn look_at(&mut self, node: &Node, why: &str) {
        if self.of_tasks.iter().all(|(claim, _)| !self.open.contains(claim)) {
            return;
        }
        let Some(beginning) = self.beginnings.get(node.beginning) else { return };
        let Some(state) = self.stage.settled(beginning, &node.state) else { return };
        let settled = Node { state, ..node.clone() };
        let is_read = |made: &Made| self.claimed.is_empty() || self.claimed.contains(&made.function);
        let is_evidence = settled.state.made.iter().any(|made| made.is_let_by() && is_read(made));
        for (claim, expression) in self.of_tasks.clone() {
            if !self.open.contains(claim) {
                continue;
            }
            let evidence = self.evidence.entry(claim.to_owned()).or_default();
            match is_evidence {
                true => evidence.reach(),
                false => evidence.reject(why),
            }
            if !settled.state.task.fulfils(expression, Stage::now()) {
                self.note(claim, &settled);
            }
        }
    }

    fn note(&mut self, claim: &str, node: &Node) {
        if self.open.remove(claim) {
            let Some(beginning) = self.beginnings.get(node.beginning) else { return };
            let Some(state) = self.stage.settled(beginning, &node.state) else { return };
            let breach = Breach {
                beginning: beginning.clone(),
                filled: state.filled.clone(),
                moves: node.moves.clone(),
                made: state.made.clone(),
                invoked: self.stage.invoked().clone(),
                results: self.stage.results,
            };
            self.found.insert(claim.to_owned(), breach);
        }
    }
}
