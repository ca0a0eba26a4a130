//! Tasks made of calls that are worth trying, through the engine, the shortest first, until one breaks what is to hold.
//!
//! In: policies with claims in them, and bounds. Out: for each claim that is broken the calls that break it; and how far the search came. After each
//! length the tasks are thinned: of those whose calls differ in amounts alone the heaviest and the lightest go on. So what is found was decided by the
//! engine, and that nothing is found proves nothing.

use super::Bounds;
use super::operations::{Callable, outline, weight};
use super::play::{Made, Move, Stage, State};
use super::woven::{Woven, claim_of, of_task};
use crate::candidates::Named;
use crate::policy::{AgentFunction, Expression, Policy, Step, StepAction};
use crate::task::{Decision, StepOutcome, TaskState, Verdict};
use serde_json::{Map, Value};
use std::collections::{BTreeMap, BTreeSet, HashMap};

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
    open: BTreeSet<&'s str>,
    found: BTreeMap<String, Breach>,
    bounds: &'s Bounds,
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
    let offered = policy.functions().iter().filter(|function| function.offered);
    let callables: Vec<Callable> = offered.map(|function| Callable::new(function, &named)).collect();
    let of_tasks = claims.iter().filter_map(|claim| Some((*claim, of_task(policy, claim)?))).collect();
    let mut search = Search {
        stage: Stage::new(&woven.engine, agent, invoked),
        variety: variety(bounds, callables.len()),
        callables,
        of_tasks,
        open: claims.iter().copied().collect(),
        found: BTreeMap::new(),
        bounds,
        goes_on,
        reached: Reached::default(),
    };
    let mut texts = policy.steps().flat_map(Step::expressions).map(|expression| expression.source());
    let asks_for_people = texts.any(|text| text.contains("email"));
    let others = named.addresses().filter(|_| asks_for_people).map(str::to_owned);
    let emails: Vec<String> = std::iter::once("u1@example.com".to_owned()).chain(others).collect();
    search.run(&emails);
    (search.found, search.reached)
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
            frontier = thinned(next, width);
        }
    }

    /// How many tasks go on behind this length, and how many arguments of a function are tried from each: as many as leave room for as many
    /// calls at each length.
    fn room(&self, depth: usize) -> (usize, usize) {
        let left = self.bounds.operations.saturating_sub(self.reached.operations);
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
                if self.reached.operations >= self.bounds.operations || !(self.goes_on)() {
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
        for (claim, expression) in self.of_tasks.clone() {
            if self.open.contains(claim) && !node.state.task.fulfils(expression, Stage::now()) {
                self.note(claim, node);
            }
        }
    }

    fn note(&mut self, claim: &str, node: &Node) {
        if self.open.remove(claim) {
            let Node { state, email, moves, .. } = node;
            let breach = Breach {
                email: email.clone(),
                moves: moves.clone(),
                made: state.made.clone(),
                invoked: self.stage.invoked().clone(),
            };
            self.found.insert(claim.to_owned(), breach);
        }
    }
}

/// The ways in which a call may go: those who are asked approve, or not; of one call also other results.
fn moves(callable: &Callable, arguments: &Map<String, Value>, is_first: bool) -> Vec<Move> {
    let call = |approves, result: Option<&Value>| Move {
        function: callable.key.clone(),
        arguments: arguments.clone(),
        approves,
        result: result.cloned(),
        is_evaluated: callable.is_evaluated,
    };
    let first = callable.results.first();
    let mut all = vec![call(true, first), call(false, first)];
    if is_first && !callable.is_evaluated {
        all.extend(callable.results.iter().skip(1).map(|result| call(true, Some(result))));
        all.push(call(true, None));
    }
    all
}

/// The arguments of a function that were let by, and some that were not.
#[derive(Default)]
struct Passed {
    allowed: Vec<Map<String, Value>>,
    refused: Vec<Map<String, Value>>,
}

impl Passed {
    fn note(&mut self, arguments: &Map<String, Value>, is_allowed: bool) {
        if is_allowed {
            if self.allowed.last() != Some(arguments) && self.allowed.len() < 2_000 {
                self.allowed.push(arguments.clone());
            }
        } else if self.refused.len() < 2 {
            self.refused.push(arguments.clone());
        }
    }

    /// What is to be tried around the heaviest arguments that were let by.
    fn further(&self, callable: &Callable, most: usize) -> Vec<Map<String, Value>> {
        let heaviest = self.allowed.iter().max_by(|one, two| weight(one).total_cmp(&weight(two)));
        heaviest.map(|arguments| callable.around(arguments, most)).unwrap_or_default()
    }

    /// What is tried behind the first call: of arguments that differ in amounts alone the heaviest, then the lightest, then those between; of each such
    /// kind in turn, in the order in which they came.
    fn narrow(&self, choices: &mut Vec<Map<String, Value>>, most: usize) {
        if self.allowed.is_empty() {
            choices.truncate(most.saturating_mul(2));
            return;
        }
        let mut kinds: Vec<(String, Vec<&Map<String, Value>>)> = Vec::new();
        for arguments in &self.allowed {
            let kind = outline(arguments);
            match kinds.iter_mut().find(|(known, _)| *known == kind) {
                Some((_, alike)) => alike.push(arguments),
                None => kinds.push((kind, vec![arguments])),
            }
        }
        for (_, alike) in &mut kinds {
            alike.sort_by(|one, two| weight(two).total_cmp(&weight(one)));
            alike.dedup();
            // the lightest is second
            if let Some(lightest) = alike.pop() {
                alike.insert(alike.len().min(1), lightest);
            }
        }
        let longest = kinds.iter().map(|(_, alike)| alike.len()).max().unwrap_or_default();
        let mut kept: Vec<Map<String, Value>> = Vec::new();
        for place in 0..longest {
            kept.extend(kinds.iter().filter_map(|(_, alike)| alike.get(place)).map(|it| (*it).clone()));
        }
        kept.truncate(most.saturating_sub(1));
        kept.extend(self.refused.first().cloned());
        *choices = kept;
    }
}

/// Tasks whose calls differ in amounts alone.
struct Alike {
    heaviest: Node,
    lightest: Node,
}

/// The tasks that go on: of those whose calls differ in amounts alone the heaviest and the lightest. Of those with the same functions in them one, then of
/// each the next.
fn thinned(nodes: Vec<Node>, width: usize) -> Vec<Node> {
    let mut kinds: HashMap<String, Alike> = HashMap::new();
    let mut order = Vec::new();
    for node in nodes {
        if node.state.task.state() != TaskState::Active {
            continue;
        }
        let kind = kind(&node);
        match kinds.get_mut(&kind) {
            Some(Alike { heaviest, .. }) if node.weight > heaviest.weight => *heaviest = node,
            Some(Alike { lightest, .. }) if node.weight < lightest.weight => *lightest = node,
            Some(_) => {}
            None => {
                kinds.insert(kind.clone(), Alike { heaviest: node.clone(), lightest: node });
                order.push(kind);
            }
        }
    }
    let mut groups: Vec<(String, [Vec<&Node>; 2])> = Vec::new();
    for Alike { heaviest, lightest } in order.iter().filter_map(|kind| kinds.get(kind)) {
        let group = group(heaviest);
        let at = groups.iter().position(|(known, _)| *known == group).unwrap_or_else(|| {
            groups.push((group, [Vec::new(), Vec::new()]));
            groups.len().saturating_sub(1)
        });
        if let Some((_, [heavy, light])) = groups.get_mut(at) {
            heavy.push(heaviest);
            light.extend(Some(lightest).filter(|it| it.weight < heaviest.weight));
        }
    }
    let groups: Vec<Vec<&Node>> = groups
        .into_iter()
        .map(|(_, [mut heavy, mut light])| {
            heavy.sort_by(|one, two| two.weight.total_cmp(&one.weight));
            light.sort_by(|one, two| one.weight.total_cmp(&two.weight));
            heavy.into_iter().chain(light).collect()
        })
        .collect();
    let longest = groups.iter().map(Vec::len).max().unwrap_or_default();
    let rounds = (0..longest).flat_map(|place| groups.iter().filter_map(move |own| own.get(place)));
    rounds.take(width).map(|node| (*node).clone()).collect()
}

/// The functions of a task, and how its calls were decided.
fn group(node: &Node) -> String {
    let made = node.state.made.iter();
    let mut calls: Vec<String> = made
        .map(|made| {
            let failed = if made.result.as_ref().is_some_and(Value::is_null) { " and failed" } else { "" };
            format!("{} {}{failed}", made.function, made.verdict)
        })
        .collect();
    calls.sort();
    calls.join("; ")
}

fn kind(node: &Node) -> String {
    let mut calls: Vec<String> = node
        .state
        .made
        .iter()
        .map(|made| {
            let shape = made.arguments.as_object().map(outline).unwrap_or_default();
            let reviewed: Vec<bool> = made.reviews.iter().map(|(_, approved)| *approved).collect();
            format!("{}({shape}) {} {reviewed:?} {:?}", made.function, made.verdict, made.result)
        })
        .collect();
    calls.sort();
    format!("{} {}", node.email, calls.join("; "))
}
