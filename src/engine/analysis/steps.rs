//! What is decided of a list of steps: which no call reaches, and which stop nothing that those before them let by.
//!
//! In: the steps of one document around the calls of each function, or on messages, or those of a trigger. Out: findings by step. A call goes on behind a
//! step if its condition is false, or its assert is true; what a step changes is unknown behind it. A condition and its assert can contradict each other, or one can imply the other. Steps of different documents
//! are not held against each other: a policy may say again what a manifest says, and is meant to. Only a review of calls all of which another document rejects later is told of. Each list is put to the solver
//! once, whatever number of functions share it.

use super::amounts::Amounts;
use super::cells::Trial;
use super::document;
use super::entailed::always_given;
use super::messages;
use super::misuse::asks_person;
use super::node::{Node, NodeKind};
use super::path::asks_host;
use super::placement::{reads_task, reads_what_passes};
use super::problem::{Problem, Truth};
use super::questions::{Changes, MAX_CLAUSES, Questions};
use super::sat::Literal;
use super::spelled_out::{Names, spelled_out};
use super::tried;
use crate::diagnostic::Diagnostic;
use crate::limits::EvalLimits;
use crate::manifest::mode::Mode;
use crate::manifest::step::{Hook, OnFail};
use crate::policy::{Effect, Expression, Policy, Step, StepAction};
use crate::source::Place;
use std::collections::{BTreeMap, HashMap, HashSet};

/// What was found about a step in one list.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Found {
    Dead(Vec<usize>),
    NeverPasses(Vec<usize>),
    Moot(Vec<usize>),
    /// The assert is false wherever the condition holds.
    ContraryCondition,
    /// The assert is true wherever the condition holds.
    ImpliedByCondition,
}

/// The steps of one list and one document, by the addresses of the steps.
type List<'p> = Vec<&'p Step>;

/// What is found about lists of steps, by step.
pub(super) fn findings(all: Vec<List<'_>>, trial: &mut Trial) -> HashMap<*const Step, Vec<Diagnostic>> {
    let mut lists: HashSet<Vec<*const Step>> = HashSet::new();
    let mut ordered: Vec<List<'_>> = Vec::new();
    for list in all {
        for own in by_document(list) {
            let addresses = own.iter().map(|step| std::ptr::from_ref(*step)).collect();
            if lists.insert(addresses) {
                ordered.push(own);
            }
        }
    }
    // a step is told of what holds in each list that it stands in
    let mut stands_in: HashMap<*const Step, usize> = HashMap::new();
    let mut found: HashMap<(*const Step, &'static str), (usize, Diagnostic)> = HashMap::new();
    for list in &ordered {
        for step in list {
            let count = stands_in.entry(std::ptr::from_ref(*step)).or_default();
            *count = count.saturating_add(1);
        }
        for (step, finding) in decide(list, ListCheck::Order, trial) {
            let (count, _) = found.entry((step, finding.code)).or_insert((0, finding));
            *count = count.saturating_add(1);
        }
    }
    let mut findings: HashMap<*const Step, Vec<Diagnostic>> = HashMap::new();
    for ((step, _), (count, finding)) in found {
        if stands_in.get(&step) == Some(&count) {
            findings.entry(step).or_default().push(finding);
        }
    }
    findings
}

/// Which findings about a list are looked for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ListCheck {
    /// Steps that no call reaches, and those that stop nothing.
    Order,
    /// Reviews ahead of steps of their document that reject some of the same calls.
    EarlyReviews,
    /// Reviews ahead of steps of any document that reject all of the same calls.
    VainReviews,
}

/// Reviews that are asked for ahead of steps that reject the same calls, by step. The steps ahead of a call are one list here, those of `before_first` too. Ahead of the calls of
/// one function is enough: a review under `"*"` is for many, and the other step for one of them.
pub(super) fn early_reviews_of(policy: &Policy, trial: &mut Trial) -> HashMap<*const Step, Vec<Diagnostic>> {
    let mut known: HashSet<Vec<*const Step>> = HashSet::new();
    let mut findings: HashMap<*const Step, Vec<Diagnostic>> = HashMap::new();
    let of_calls = policy.functions().iter().enumerate().map(|(position, function)| -> List<'_> {
        let steps = |hook| policy.steps_of_call(hook, position).iter();
        let ahead = [Hook::BeforeFirst, Hook::Before].into_iter().flat_map(steps);
        ahead.filter(|step| step.is_for(&function.name)).collect()
    });
    let of_events = policy.events().iter().map(|event| -> List<'_> {
        let steps = policy.steps_of_event(Hook::Before, event.capability);
        steps.iter().filter(|step| step.is_for(&event.key)).collect()
    });
    for ahead in of_calls.chain(of_events) {
        let of_all = [(ahead.clone(), ListCheck::VainReviews)];
        let of_each = by_document(ahead).into_iter().map(|list| (list, ListCheck::EarlyReviews));
        for (list, check) in of_each.chain(of_all) {
            let addresses: Vec<*const Step> = list.iter().map(|step| std::ptr::from_ref(*step)).collect();
            if !list.iter().any(|step| asks(step)) || !known.insert(addresses) {
                continue;
            }
            for (step, finding) in decide(&list, check, trial) {
                let own = findings.entry(step).or_default();
                if own.is_empty() {
                    own.push(finding);
                }
            }
        }
    }
    findings
}

/// The lists that calls, events and messages pass.
pub(super) fn lists_of(policy: &Policy) -> Vec<List<'_>> {
    let mut lists = Vec::new();
    for (position, function) in policy.functions().iter().enumerate() {
        for hook in [Hook::BeforeFirst, Hook::Before, Hook::After] {
            let steps = policy.steps_of_call(hook, position);
            lists.push(steps.iter().filter(|step| step.is_for(&function.name)).collect());
        }
    }
    for event in policy.events() {
        for hook in [Hook::Before, Hook::After] {
            let steps = policy.steps_of_event(hook, event.capability);
            lists.push(steps.iter().filter(|step| step.is_for(&event.key)).collect());
        }
    }
    for hook in [Hook::GuardrailBefore, Hook::GuardrailAfter] {
        lists.push(policy.guardrails(hook).iter().collect());
    }
    for hook in [Hook::ModelBefore, Hook::ModelAfter] {
        lists.push(policy.steps_of_model(hook).iter().collect());
    }
    lists
}

fn by_document(list: List<'_>) -> Vec<List<'_>> {
    let mut documents: BTreeMap<Option<&str>, List<'_>> = BTreeMap::new();
    for step in list {
        documents.entry(document(step)).or_default().push(step);
    }
    documents.into_values().collect()
}

/// A step as the solver has it.
struct Asked {
    condition: Truth,
    /// What holds of every call that goes on behind it.
    passes: Literal,
    /// What holds of every call that it stops.
    fails: Literal,
    /// The assert of a step that has a condition, too.
    assert: Option<Truth>,
    /// Whether it is the word `false`, by which an author stops everything.
    says_never: bool,
    /// Whether some call passes it, if no other step is looked at.
    can_pass: bool,
    /// Whether it judges, and can be moot.
    judges: bool,
}

/// What holds of the steps of a list.
fn decide(list: &[&Step], check: ListCheck, trial: &mut Trial) -> Vec<(*const Step, Diagnostic)> {
    if list.len() < 2 && !list.iter().any(|step| has_both(step)) {
        return Vec::new();
    }
    let (mut questions, mut amounts) = (Questions::default(), Amounts::new(None, trial.counts_facts));
    let mut read = Vec::new();
    for step in list {
        let mut node = |expression| node(expression, &mut questions, &mut amounts);
        let condition = step.condition.as_ref().map(&mut node);
        let action = match &step.action {
            StepAction::Assert(assert) => Some(node(assert)),
            StepAction::Transform(_)
            | StepAction::Invoke(_)
            | StepAction::Effect(_)
            | StepAction::Label(_) => None,
        };
        if matches!((&condition, &action), (Some(None), _) | (_, Some(None))) {
            return Vec::new();
        }
        read.push((condition.flatten(), action.flatten()));
        questions.pass(changes(step));
    }
    if questions.clauses.len() > MAX_CLAUSES {
        return Vec::new();
    }
    let mut problem = Problem::new(&questions, trial);
    problem.weigh_several(amounts);
    let all: Vec<usize> = (0..questions.clauses.len()).collect();
    let mut asked: Vec<Asked> = Vec::new();
    for (step, (condition, action)) in list.iter().zip(&read) {
        asked.push(ask(step, (condition.as_ref(), action.as_ref()), &mut problem, &all));
    }
    let mut found = Vec::new();
    if check != ListCheck::Order {
        let is_vain = check == ListCheck::VainReviews;
        for (at, behind) in early_reviews(list, &asked, is_vain, &mut problem, &all) {
            let (Some(step), Some(behind)) = (list.get(at), list.get(behind)) else { continue };
            let finding = messages::early_step(place_of(step), place_of(behind), is_vain);
            found.push((std::ptr::from_ref(*step), finding.path(step.origin().path)));
        }
        return found;
    }
    for (at, (step, own)) in list.iter().zip(&asked).enumerate() {
        let before: Vec<usize> =
            (0..at).filter(|earlier| asked.get(*earlier).is_some_and(|earlier| earlier.can_pass)).collect();
        let of_list = judge(own, &before, &asked, &mut problem, &all);
        let Some(verdict) = of_list.or_else(|| judge_alone(own, &mut problem, &all)) else { continue };
        let place = |at: &usize| list.get(*at).map(|step| place_of(step));
        let places = |of: &[usize]| of.iter().filter_map(place).collect::<Vec<Place>>();
        let (finding, is_last) = match &verdict {
            Found::Dead(of) => (messages::dead_step(condition_of(step), &places(of)), false),
            Found::NeverPasses(of) => (messages::never_passes(place_of(step), &places(of)), true),
            Found::Moot(of) => (messages::moot_step(place_of(step), &places(of)), false),
            Found::ContraryCondition => {
                (messages::contrary_condition(place_of(step), condition_of(step)), false)
            }
            Found::ImpliedByCondition => {
                (messages::implied_by_condition(place_of(step), condition_of(step)), false)
            }
        };
        found.push((std::ptr::from_ref(*step), finding.path(step.origin().path)));
        if is_last {
            break;
        }
    }
    found
}

/// Steps that ask a person about calls that a later step rejects without a review, each with the later step: some of them, or all, so that the person is asked in vain. Nothing between them changes what the later step
/// reads.
fn early_reviews(
    list: &[&Step],
    asked: &[Asked],
    is_vain: bool,
    problem: &mut Problem,
    clauses: &[usize],
) -> Vec<(usize, usize)> {
    let mut found = Vec::new();
    let reviews = list.iter().enumerate().zip(asked).filter(|((_, step), own)| own.judges && asks(step));
    for ((at, _), own) in reviews {
        let behind = list.iter().enumerate().zip(asked).skip(at.saturating_add(1));
        // a step between them that changes the call keeps the later step from running earlier
        let behind = behind.take_while(|((_, step), _)| asks(step) || changes(step) == Changes::Nothing);
        // behind steps that judge the task, another one may be about what happened during the review
        let judges_task = list.iter().take(at).any(|step| reads_task(step.expressions()));
        let mut rejects = behind.filter(|((_, step), other)| {
            let is_apart =
                reads_what_passes(step.expressions()) || judges_task && reads_task(step.expressions());
            other.judges && !other.says_never && !asks(step) && !is_apart
        });
        // the person decides where the step passes for one answer and fails for the other
        let is_asked = [problem.sat.all(&[own.condition.yes, own.passes]), own.fails];
        // a review that no call comes to asks nobody
        let mut reached: Vec<Literal> = asked.iter().take(at).map(|earlier| earlier.passes).collect();
        reached.push(own.condition.yes);
        let rejected = rejects.find(|(_, other)| {
            let mut can_hold = |of: &[Literal]| problem.can_hold(of, clauses) == Some(true);
            match is_vain {
                true => {
                    can_hold(&reached)
                        && can_hold(&[other.passes])
                        && !is_asked.iter().any(|one| can_hold(&[*one, other.passes]))
                }
                false => is_asked.iter().all(|one| can_hold(&[*one, other.fails])),
            }
        });
        found.extend(rejected.map(|((behind, _), _)| (at, behind)));
    }
    found
}

/// Whether two asserts, one of which follows the other in its lists, decide alike in either order: nothing fails both.
pub(crate) fn never_both_fail(policy: &Policy, one: &Step, two: &Step) -> bool {
    let has_both = |function: &usize| {
        [Hook::BeforeFirst, Hook::Before, Hook::After].into_iter().any(|hook| {
            let list = policy.steps_of_call(hook, *function);
            [one, two].iter().all(|own| list.iter().any(|step| std::ptr::eq(step, *own)))
        })
    };
    let mut given: Vec<HashSet<String>> = (0..policy.functions().len())
        .filter(has_both)
        .map(|function| always_given(policy, function))
        .collect();
    if given.is_empty() {
        given.push(HashSet::new());
    }
    given.into_iter().all(|given| are_apart(one, two, given, &policy.limits().eval))
}

/// Whether nothing with these arguments fails both of two asserts. `limits` bound what is tried.
fn are_apart(one: &Step, two: &Step, given: HashSet<String>, limits: &EvalLimits) -> bool {
    let judges = |step: &Step| match &step.action {
        StepAction::Assert(assert) => {
            step.mode == Mode::Enforce
                && step.on_fail != OnFail::Continue
                && [Some(assert), step.condition.as_ref()].into_iter().flatten().all(|expression| {
                    expression.checked().is_some_and(|checked| !asks_host(&checked, &checked.expr))
                })
        }
        _ => false,
    };
    if !judges(one) || !judges(two) {
        return false;
    }
    let mut trial = Trial::new(tried(limits));
    let mut questions = Questions::default();
    questions.given = given;
    let mut amounts = Amounts::new(None, trial.counts_facts);
    let mut nodes = Vec::new();
    for step in [one, two] {
        let mut read = |expression| node(expression, &mut questions, &mut amounts);
        let condition = step.condition.as_ref().map(&mut read);
        let StepAction::Assert(assert) = &step.action else { return false };
        let (Some(action), false) = (read(assert), matches!(condition, Some(None))) else { return false };
        nodes.push((step, condition.flatten(), action));
    }
    if questions.clauses.len() > MAX_CLAUSES {
        return false;
    }
    let mut problem = Problem::new(&questions, &mut trial);
    problem.weigh_several(amounts);
    let all: Vec<usize> = (0..questions.clauses.len()).collect();
    let fails: Vec<Literal> = nodes
        .iter()
        .map(|(step, condition, action)| {
            ask(step, (condition.as_ref(), Some(action)), &mut problem, &all).fails
        })
        .collect();
    problem.can_hold(&fails, &all) == Some(false)
}

/// Whether a step asserts a review.
fn asks(step: &Step) -> bool {
    let StepAction::Assert(assert) = &step.action else { return false };
    assert.checked().is_some_and(|checked| asks_person(&checked, &checked.expr))
}

fn judge(
    own: &Asked,
    before: &[usize],
    asked: &[Asked],
    problem: &mut Problem,
    clauses: &[usize],
) -> Option<Found> {
    if before.is_empty() || own.says_never {
        return None;
    }
    let passes =
        |of: &[usize]| -> Vec<Literal> { of.iter().filter_map(|at| Some(asked.get(*at)?.passes)).collect() };
    let mut holds_of = |of: &[usize], own: Literal| {
        let propositions: Vec<Literal> = passes(of).into_iter().chain([own]).collect();
        problem.can_hold(&propositions, clauses)
    };
    type Says = fn(Vec<usize>) -> Found;
    let kinds: [(Literal, Says); 3] =
        [(own.condition.yes, Found::Dead), (own.passes, Found::NeverPasses), (own.fails, Found::Moot)];
    for (proposition, found) in kinds {
        let is_moot = proposition == own.fails;
        if is_moot && !own.judges {
            continue;
        }
        // what never holds by itself is no matter of the steps before
        if holds_of(&[], proposition) != Some(true) || holds_of(before, proposition) != Some(false) {
            continue;
        }
        let mut reasons = before.to_vec();
        for at in before {
            let without: Vec<usize> = reasons.iter().copied().filter(|kept| kept != at).collect();
            if holds_of(&without, proposition) == Some(false) {
                reasons = without;
            }
        }
        return Some(found(reasons));
    }
    None
}

/// What the condition of a step says of its assert.
fn judge_alone(own: &Asked, problem: &mut Problem, clauses: &[usize]) -> Option<Found> {
    let (assert, condition) = (own.assert.filter(|_| own.judges)?, own.condition);
    let mut can_hold = |of: &[Literal]| problem.can_hold(of, clauses);
    // what never holds by itself is told of there
    let each = [condition.yes, condition.no, assert.yes, assert.no];
    if each.iter().any(|one| can_hold(&[*one]) != Some(true)) {
        return None;
    }
    if can_hold(&[condition.yes, !assert.yes]) == Some(false) {
        return Some(Found::ImpliedByCondition);
    }
    let is_contrary = can_hold(&[condition.yes, assert.yes]) == Some(false);
    is_contrary.then_some(Found::ContraryCondition)
}

/// Whether a step asks something under a condition. What the value of a parameter decides in one of the two, another value may decide otherwise.
fn has_both(step: &Step) -> bool {
    match (&step.condition, &step.action) {
        (Some(condition), StepAction::Assert(assert)) => condition.is_given() == assert.is_given(),
        _ => false,
    }
}

fn ask(
    step: &Step,
    (condition, action): (Option<&Node>, Option<&Node>),
    problem: &mut Problem,
    clauses: &[usize],
) -> Asked {
    let always = Truth { yes: problem.always(), no: !problem.always() };
    let condition = condition.map_or(always, |condition| problem.truth(condition));
    let says_never = action.is_some_and(|action| matches!(action.kind, NodeKind::Constant(false)))
        && step.condition.is_none();
    let judges = action.is_some();
    let assert = action.filter(|_| has_both(step)).map(|assert| problem.truth(assert));
    let stops = step.on_fail != OnFail::Continue && step.mode == Mode::Enforce;
    let action = match (action, &step.action) {
        (Some(action), _) => problem.truth(action),
        // the model has its answer, and no later step ahead of the call runs
        (None, StepAction::Effect(Effect::Respond(_))) => Truth { yes: !always.yes, no: always.yes },
        (None, _) => Truth { yes: always.yes, no: !always.yes },
    };
    let runs_and_passes = problem.sat.all(&[condition.yes, action.yes]);
    let goes_on = problem.sat.any(&[condition.no, runs_and_passes]);
    let passes = if stops { goes_on } else { always.yes };
    // a step that stops everything by itself is told of there, and not once more by each step behind it
    let can_pass = !says_never && problem.can_hold(&[passes], clauses) == Some(true);
    Asked { condition, passes, fails: !goes_on, assert, says_never, can_pass, judges: judges && stops }
}

/// The clauses of an expression; nothing if it does not check.
fn node(expression: &Expression, questions: &mut Questions, amounts: &mut Amounts<'_>) -> Option<Node> {
    let (checked, first) = (spelled_out(expression, Names::OfWhatIsThere)?, questions.clauses.len());
    let node = questions.read(&checked);
    amounts.read(&checked, questions, first);
    Some(node)
}

/// What a step changes of what later steps read: nothing, all but the arguments, or all.
fn changes(step: &Step) -> Changes {
    let asks = |expression: &Expression| {
        expression.checked().is_none_or(|checked| asks_host(&checked, &checked.expr))
    };
    match &step.action {
        StepAction::Effect(Effect::Set(_)) | StepAction::Transform(_) => Changes::All,
        StepAction::Effect(Effect::Respond(_)) | StepAction::Invoke(_) | StepAction::Label(_) => {
            Changes::AllButInput
        }
        StepAction::Effect(_) => Changes::Nothing,
        // other calls go on while a person thinks
        StepAction::Assert(assert) if asks(assert) => Changes::AllButInput,
        StepAction::Assert(_) => Changes::Nothing,
    }
}

fn place_of(step: &Step) -> Place {
    match &step.action {
        StepAction::Assert(assert) => assert.place().clone(),
        _ => step.place().clone(),
    }
}

fn condition_of(step: &Step) -> Place {
    step.condition.as_ref().map_or_else(|| place_of(step), |condition| condition.place().clone())
}
