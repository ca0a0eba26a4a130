//! Whether an agent may do no more than another one: each call that its own rules allow is one that the rules of the other allow, too.
//!
//! In: manifests, and the names of two agents, the parent and the child. Out: a [`Proof`] for each step of the parent before calls that the child may
//! make, and for each such function that the parent lacks. The step of the parent becomes an invariant of the child's calls, as far as it reads
//! what both have: the arguments, the user and the time. What a step reads of the records of its task is not known. Limits are not compared. For an agent
//! whose tasks are bound by their parents (`delegate: {within: parent}`) all of them hold: each call is decided by the parent.

use super::invariants::{Invariant, Invariants};
use super::search::Reached;
use super::{Answer, Bounds, Grounds, Proof, prove};
use crate::context::{Root, Selector};
use crate::diagnostic::Diagnostic;
use crate::engine::{Door, Engine};
use crate::evidence::{Evidence, Rejection};
use crate::limits::EngineLimits;
use crate::manifest::Catalog;
use crate::manifest::load::File;
use crate::manifest::mode::Mode;
use crate::manifest::step::Hook;
use crate::policy::{AgentFunction, Policy, Step, StepAction, for_each_path};
use crate::source::Embedded;
use crate::task::TaskError;
use std::sync::Arc;

/// Why two agents cannot be compared.
#[derive(Debug, thiserror::Error)]
pub enum WithinError {
    /// One of them is not loaded, or must not run.
    #[error(transparent)]
    Agent(#[from] TaskError),
    /// What is wrong with an invariant that a step of the parent became.
    #[error("a rule of the parent cannot be asked of calls of the child")]
    Refused(Vec<Diagnostic>),
}

/// What is to hold of the calls of one function of the child.
struct Demand {
    invariant: Invariant,
    /// Whether the step reads what the two agents do not have in common.
    is_of_task: bool,
}

/// Proves that an agent may make no call that another one may not make with the same arguments. The names are `namespace/name`.
///
/// ```
/// use celador::limits::EngineLimits;
/// use celador::manifest::load::{File, FileOrigin};
/// use celador::prove::{Bounds, prove_within};
/// use celador::source::Source;
///
/// let manifests = r#"
/// kind: celador/v1/tools
/// namespace: shop
/// name: money
/// tools: [{name: refund, inputSchema: {type: object, properties: {amount: {type: number}}, required: [amount]}}]
/// ---
/// kind: commonagents.info/v1beta2/agent
/// namespace: shop
/// name: lead
/// description: Answers customers.
/// prompt: You are careful.
/// capabilities: {money: {before: [{assert: input.amount <= 100.0}]}}
/// ---
/// kind: commonagents.info/v1beta2/agent
/// namespace: shop
/// name: clerk
/// description: Pays money back.
/// prompt: You are careful.
/// capabilities: {money: {before: [{assert: input.amount <= 50.0}]}}
/// "#;
/// let files = [File { source: Source::new("shop.yaml", manifests), origin: FileOrigin::Named }];
/// let within = |parent, child| {
///     let proofs = prove_within(&files, (parent, child), EngineLimits::default(), &Bounds::default(), &|| true)?;
///     Ok::<_, celador::prove::WithinError>(proofs.iter().map(|proof| proof.answer.as_str()).collect::<Vec<_>>())
/// };
/// assert_eq!(within("shop/lead", "shop/clerk")?, ["holds"]);
/// assert_eq!(within("shop/clerk", "shop/lead")?, ["broken"]);
/// # Ok::<(), celador::prove::WithinError>(())
/// ```
///
/// # Errors
/// [`WithinError`].
///
/// # Cost
/// As [`prove`], with an invariant for each step of the parent before a function of the child.
pub fn prove_within(
    files: &[File],
    (parent, child): (&str, &str),
    limits: EngineLimits,
    bounds: &Bounds,
    goes_on: &dyn Fn() -> bool,
) -> Result<Vec<Proof>, WithinError> {
    let (catalog, _) = Catalog::parse(files, &limits);
    let (engine, _) = Engine::through((Door::Lenient, Mode::Enforce), &catalog, limits);
    let policy = |name: &str| {
        let (namespace, agent) = name.split_once('/').unwrap_or(("", name));
        engine.policy(namespace, agent)
    };
    let (parent, child) = (policy(parent)?, policy(child)?);
    let demands = demands(&parent, &child);
    let bound =
        child.delegation().filter(|bound| bound.mode == Mode::Enforce && bound.admits(&child, &parent));
    let answered = |invariant: &Invariant, answer: Answer, evidence: Evidence| Proof {
        invariant: invariant.clone(),
        agent: child.full_name(),
        answer,
        evidence,
    };
    if let Some(bound) = bound {
        let grounds = || Grounds { rules: vec![bound.origin().clone()], ..Grounds::default() };
        let holds =
            |demand: &Demand| answered(&demand.invariant, Answer::Holds(grounds()), Evidence::default());
        return Ok(demands.iter().map(holds).collect());
    }
    let asked: Vec<Invariant> =
        demands.iter().filter(|demand| !demand.is_of_task).map(|demand| demand.invariant.clone()).collect();
    let proved = match asked.is_empty() {
        true => Vec::new(),
        false => prove(files, &Invariants { invariants: asked }, limits, bounds, goes_on)
            .map_err(WithinError::Refused)?,
    };
    let proof = |demand: &Demand| {
        let id = &demand.invariant.id.text;
        let known = proved.iter().find(|proof| proof.invariant.id.text == *id);
        known.cloned().unwrap_or_else(|| {
            let reason = "the rule reads more than the arguments, the user and the time".to_owned();
            let evidence = Evidence { rejected: vec![Rejection { reason, count: 0 }], ..Evidence::default() };
            answered(&demand.invariant, Answer::Unknown(Reached::default()), evidence)
        })
    };
    Ok(demands.iter().map(proof).collect())
}

/// For each function of the child what the parent demands of its calls, in the order of the functions and of the steps.
fn demands(parent: &Arc<Policy>, child: &Policy) -> Vec<Demand> {
    let mut demands = Vec::new();
    for function in child.offered_functions() {
        let Some(position) = parent.position_of_target(&function.target) else {
            let name = format!("{} of {}", function.key, parent.full_name());
            demands.push(demand(child, function, &name, "false", false));
            continue;
        };
        let lists = [Hook::BeforeFirst, Hook::Before].map(|hook| parent.steps_of_call(hook, position));
        let steps = lists.into_iter().flat_map(|list| list.iter());
        let name_of = parent.function(position).map_or("", |function| function.name.as_str());
        let steps = steps.filter(|step| step.mode == Mode::Enforce && step.is_for(name_of));
        for (at, step) in steps.enumerate() {
            let Some(always) = always(step) else { continue };
            let name = format!("{} before {} ({})", step.origin().name(), function.key, at.saturating_add(1));
            demands.push(demand(child, function, &name, &always, reads_task(step)));
        }
    }
    demands
}

/// The expression that is true of a call if the step lets it pass. `None` for a step that lets all calls pass.
fn always(step: &Step) -> Option<String> {
    let condition = step.condition.as_ref().map(|condition| condition.program().expr().to_string());
    let passes = match &step.action {
        StepAction::Assert(assert) if assert.program().asks_host() => None,
        StepAction::Assert(assert) => Some(assert.program().expr().to_string()),
        StepAction::Label(_) => return None,
        // the parent makes no call with these arguments by itself
        StepAction::Transform(_) | StepAction::Invoke(_) | StepAction::Effect(_) => None,
    };
    Some(match (condition, passes) {
        (Some(condition), Some(passes)) => format!("!({condition}) || ({passes})"),
        (Some(condition), None) => format!("!({condition})"),
        (None, Some(passes)) => passes,
        (None, None) => "false".to_owned(),
    })
}

/// Whether a step reads anything but the arguments of the call, the user and the time.
fn reads_task(step: &Step) -> bool {
    let mut reads = false;
    for expression in step.expressions().filter(|expression| !expression.program().asks_host()) {
        for_each_path(expression.program().expr(), &mut |root, path| {
            let root = Root::long_name(root);
            let is_user = root == Root::Context.name()
                && matches!(path.first(), Some(Selector::Name(name)) if &**name == "user");
            reads |= !(is_user || [Root::Input.name(), Root::Now.name()].contains(&root));
        });
    }
    reads
}

fn demand(child: &Policy, function: &AgentFunction, name: &str, always: &str, is_of_task: bool) -> Demand {
    let text = |text: &str| Embedded::alone(name, text);
    let always = text(always);
    let invariant = Invariant {
        id: text(name),
        text: None,
        agents: vec![text(&child.full_name())],
        call: Some(text(&function.called)),
        place: always.place.clone(),
        always,
    };
    Demand { invariant, is_of_task }
}
