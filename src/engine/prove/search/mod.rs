//! Tasks made of calls that are worth trying, through the engine, the shortest first, until one breaks what is to hold.
//!
//! In: policies with claims in them, and bounds. Out: for each claim that is broken the calls that break it; and how far the search came. After each
//! length the tasks are thinned: of those whose calls differ in amounts alone the heaviest and the lightest go on. So what is found was decided by the
//! engine, and that nothing is found proves nothing. First each call has its result ahead of the next one; then, in a fifth of the calls that may be tried, all are made side by side, and their results
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
use super::woven::{Woven, claim_of, of_task};
use crate::candidates::Named;
use crate::context::Root;
use crate::policy::{AgentFunction, Expression, Policy, Step, StepAction, for_each_path};
use crate::task::{Decision, StepOutcome, Verdict};
use choices::{Passed, moves};
use serde_json::{Map, Value};
use std::collections::{BTreeMap, BTreeSet};
use thinned::thinned;

/// The most tasks of one length that go on.
const WIDTH: usize = 48;
/// The most arguments of a function that are tried behind the first call.
const CHOICES: usize = 24;

/// The calls that break a claim.
#[derive(Clone, Debug)]
pub(super) struct Breach {
    pub(super) email: String,
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

struct Search<'s> {
    stage: Stage<'s>,
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
    email: String,
    moves: Vec<Move>,
    weight: f64,
}

/// Looks for tasks of an agent that break claims.
pub(super) fn search<'s>(
    woven: &'s Woven,
    agent: (&'s str, &'s str),
    policy: &'s Policy,
    claims: &[&'s str],
    (bounds, goes_on): (&'s Bounds, &'s dyn Fn() -> bool),
) -> (BTreeMap<String, Breach>, Reached) {
    let mut named = Named::default();
    if let Some(resolved) = woven.catalog.agent(agent.0, agent.1) {
        named.add(resolved, woven.engine.limits());
    }
    let invoked = invoked(policy, &named);
    let offered = policy.offered_functions();
    let callables: Vec<Callable> = offered.map(|function| Callable::new(function, &named)).collect();
    let of_tasks: Vec<(&str, &Expression)> =
        claims.iter().filter_map(|claim| Some((*claim, of_task(policy, claim)?))).collect();
    let mut search = Search {
        stage: Stage::new(&woven.engine, agent, invoked, Results::AtOnce),
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
    let mut texts = policy.steps().flat_map(Step::expressions).map(|expression| expression.source());
    let asks_for_people = texts.any(|text| text.contains("email"));
    let others = named.addresses().filter(|_| asks_for_people).map(str::to_owned);
    let emails: Vec<String> = std::iter::once("u1@example.com".to_owned()).chain(others).collect();
    // what is made side by side comes behind, and has room of its own
    let aside = bounds.operations.checked_div(5).unwrap_or_default();
    search.most = bounds.operations.saturating_sub(aside);
    search.run(&emails);
    let reached = search.reached.depth;
    search.most = search.reached.operations.saturating_add(aside);
    search.stage.results = Results::Last;
    search.run(&emails);
    search.reached.depth = reached;
    (search.found, search.reached)
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
    fn run(&mut self, emails: &[String]) {
        let begun = emails.iter().filter_map(|email| {
            let state = self.stage.begin(email)?;
            Some(Node { state, email: email.clone(), moves: Vec::new(), weight: 0.0 })
        });
        let mut frontier: Vec<Node> = begun.collect();
        for node in &frontier.clone() {
            self.look_at(node);
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
            for node in &frontier {
                if !self.calls(node, &choices, &mut passed, &mut next) {
                    return;
                }
            }
            if depth == 1 {
                // around what was let by there may be more
                for node in &frontier {
                    let further: Vec<_> = self
                        .callables
                        .iter()
                        .zip(&passed)
                        .map(|(it, passed)| passed.further(it, self.variety))
                        .collect();
                    if !self.calls(node, &further, &mut passed, &mut next) {
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

    /// Makes all calls from one task on; whether there is room for more.
    fn calls(
        &mut self,
        node: &Node,
        choices: &[Vec<Map<String, Value>>],
        passed: &mut [Passed],
        next: &mut Vec<Node>,
    ) -> bool {
        for (at, choices) in choices.iter().enumerate() {
            for arguments in choices {
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
                    let Some((state, decision)) = self.stage.make(&node.state, &call) else { continue };
                    let Some(made) = state.made.last() else { continue };
                    is_asked |= !made.reviews.is_empty();
                    let is_allowed = made.verdict == Verdict::Allow;
                    is_let_by.get_or_insert(is_allowed);
                    if let Some(passed) = passed.get_mut(at) {
                        passed.note(arguments, is_allowed);
                    }
                    let weight = if is_allowed { weight(arguments) } else { 0.0 };
                    let moves = node.moves.iter().cloned().chain([call]).collect();
                    let node = Node { state, email: node.email.clone(), moves, weight: node.weight + weight };
                    self.look_at_call(&node, &decision);
                    self.look_at(&node);
                    next.push(node);
                }
            }
        }
        true
    }

    /// Whether the call that was let by breaks something.
    fn look_at_call(&mut self, node: &Node, decision: &Decision) {
        if decision.verdict != Verdict::Allow {
            return;
        }
        for observed in decision.observed.iter().filter(|observed| observed.outcome != StepOutcome::Pass) {
            let policy = observed.origin.policy.as_ref();
            if let Some(claim) = policy.and_then(|policy| claim_of(&policy.name)) {
                self.note(claim, node);
            }
        }
    }

    /// Whether the task as it stands breaks something.
    fn look_at(&mut self, node: &Node) {
        if self.of_tasks.iter().all(|(claim, _)| !self.open.contains(claim)) {
            return;
        }
        let Some(state) = self.stage.settled(&node.state) else { return };
        let settled = Node { state, ..node.clone() };
        for (claim, expression) in self.of_tasks.clone() {
            if self.open.contains(claim) && !settled.state.task.fulfils(expression, Stage::now()) {
                self.note(claim, &settled);
            }
        }
    }

    fn note(&mut self, claim: &str, node: &Node) {
        if self.open.remove(claim) {
            let Node { email, moves, .. } = node;
            let Some(state) = self.stage.settled(&node.state) else { return };
            let breach = Breach {
                email: email.clone(),
                moves: moves.clone(),
                made: state.made.clone(),
                invoked: self.stage.invoked().clone(),
                results: self.stage.results,
            };
            self.found.insert(claim.to_owned(), breach);
        }
    }
}
