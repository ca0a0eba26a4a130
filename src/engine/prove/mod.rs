//! What is to hold of every call and every task of some agents: proved, broken by a task that shows it, or not known.
//!
//! In: manifests, [`Invariants`] and [`Bounds`]. Out: for each invariant and agent a [`Proof`]. An invariant about calls holds if the steps that stop what fails leave no
//! call that it is false of: its negation and those steps are put to the solver that decides clauses (`analysis`). One about tasks holds if it is true of a new task and stays true from call to call. What
//! is not proved so is searched for a task that breaks it, within bounds, by the engine itself.
//!
//! | module | what it holds |
//! |---|---|
//! | `invariants` | the file that says what is to hold |
//! | `induction` | tasks of which something holds from one call to the next |
//! | `woven` | invariants as steps that watch |
//! | `operations` | calls that are worth trying |
//! | `play` | calls through the engine |
//! | `search` | tasks that break an invariant, the shortest first |
//! | `counterexample` | such a task, and the case that it makes |
//! | `within` | whether an agent may do no more than another one |
//! | `messages` | what is wrong with a file of invariants |

mod counterexample;
mod induction;
mod invariants;
mod messages;
mod operations;
mod play;
mod search;
mod within;
mod woven;

pub use crate::evidence::{Evidence, Rejection};
pub use counterexample::Counterexample;
pub use invariants::{Invariant, Invariants};
pub use play::Made;
pub use search::Reached;
pub use within::{WithinError, prove_within};

use crate::analysis::{Grounds as Entailed, Inquiry, Of, entailed};
use crate::candidates::{GeneratedWorld, brought_tools};
use crate::diagnostic::Diagnostic;
use crate::engine::{Door, Engine};
use crate::limits::EngineLimits;
use crate::manifest::Catalog;
use crate::manifest::brought::BroughtTool;
use crate::manifest::load::File;
use crate::manifest::mode::Mode;
use crate::policy::{Origin, Policy};
use induction::Ground;
use play::Stage;
use search::{SearchResult, search};
use serde::Serialize;
use serde_json::{Value, json};
use std::sync::Arc;
use woven::{Claim, Woven, of_call, of_task, weave};

/// How far a task is searched for that breaks an invariant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// The calls of the longest task.
    pub depth: usize,
    /// The calls that are tried, for each agent.
    pub operations: usize,
}

/// How far also what is proved is searched, so that no claim rests on the solver alone.
const CHECKED: Bounds = Bounds { depth: 2, operations: 500 };

impl Default for Bounds {
    fn default() -> Self {
        Self { depth: 8, operations: 20_000 }
    }
}

/// Of how many invariants something is known, one that is about several agents counted for each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Summary {
    /// Those that hold.
    pub hold: usize,
    /// Those that are broken.
    pub broken: usize,
    /// Those of which neither is known.
    pub unknown: usize,
}

/// What is known of an invariant, as far as one agent is concerned.
#[derive(Clone, Debug)]
pub struct Proof {
    /// The invariant.
    pub invariant: Invariant,
    /// The agent: `namespace/name`.
    pub agent: String,
    /// What is known.
    pub answer: Answer,
    /// The calls, or of an invariant about tasks the tasks, that were tried, and how many of them came to the invariant.
    pub evidence: Evidence,
}

/// What is known of an invariant.
#[derive(Clone, Debug)]
pub enum Answer {
    /// It holds of every call.
    Holds(Grounds),
    /// A task breaks it.
    Broken(Box<Counterexample>),
    /// Neither is known.
    Unknown(Reached),
}

/// Why an invariant holds.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Grounds {
    /// The rules without which it would not be known, each once.
    pub rules: Vec<Origin>,
    /// The limits of the task without which it would not be known, such as `max_tool_calls`, each once.
    pub limits: Vec<String>,
    /// Functions of which no call is ever let by.
    pub never_called: Vec<String>,
    /// Whether it is proved for sums of doubles without rounding: a sum may be beyond by its last digit.
    pub unrounded: bool,
}

/// Proves invariants, or finds tasks that break them. `goes_on` is asked again and again and ends the search by saying no, such as when time is up.
///
/// ```
/// use celador::manifest::load::{File, FileOrigin};
/// use celador::prove::{Answer, Bounds, Invariants, prove};
/// use celador::source::Source;
/// use celador::EngineLimits;
///
/// let policies = r#"
/// kind: commonagents.info/v1beta2/tool
/// namespace: shop
/// name: refund
/// description: Pays money back.
/// actions:
///   - name: pay
///     description: Pays.
///     parameters: {properties: {amount: {type: number}}}
///     execute: {stateless_http: {method: POST, url: "https://pay.example.com"}}
/// ---
/// kind: commonagents.info/v1beta2/agent
/// namespace: shop
/// name: clerk
/// description: Answers customers.
/// prompt: You are a careful clerk.
/// capabilities:
///   refund:
///     before:
///       - assert: input.amount <= 1000 || review('lead@example.com')
/// "#;
/// let invariants = r#"
/// kind: celador/v1/invariants
/// invariants:
///   - {id: reviewed, call: refund, always: "input.amount <= 1000 || review('lead@example.com')"}
///   - {id: small, call: refund, always: input.amount <= 1000}
/// "#;
/// let limits = EngineLimits::default();
/// let file = File { source: Source::new("shop.yaml", policies), origin: FileOrigin::Named };
/// let invariants = Invariants::read(&Source::new("invariants.yaml", invariants), &limits).expect("it is sound");
/// let proofs = prove(&[file], &invariants, limits, &Bounds::default(), &|| true).expect("they fit the policies");
///
/// let Answer::Holds(grounds) = &proofs[0].answer else { panic!("the step says so") };
/// assert_eq!(grounds.rules[0].path, "capabilities.refund.before[0].assert");
/// let Answer::Broken(task) = &proofs[1].answer else { panic!("the lead may approve of more") };
/// assert_eq!(task.made.len(), 1);
/// assert_eq!(task.made[0].reviews, [("lead@example.com".to_owned(), true)]);
/// ```
///
/// # Errors
/// What is wrong with the invariants: a name that is unknown where they would stand, a key that selects nothing, an agent that is not loaded; and errors of
/// the manifests. Warnings about manifests are not looked at: open them first.
///
/// # Cost
/// That of compiling the manifests, and for each agent at most `operations` calls through the engine. What the solver does is bounded.
pub fn prove(
    files: &[File],
    invariants: &Invariants,
    limits: EngineLimits,
    bounds: &Bounds,
    goes_on: &dyn Fn() -> bool,
) -> Result<Vec<Proof>, Vec<Diagnostic>> {
    let claims: Vec<Claim> = invariants.invariants.iter().map(claim).collect();
    let woven = weave(files, &claims, limits)?;
    let (catalog, _) = Catalog::parse(files, &limits);
    let (plain, _) = Engine::through((Door::Lenient, Mode::Enforce), &catalog, limits);
    let mut proofs = Vec::new();
    for (agent, declared) in woven.agents() {
        let resolved = woven.catalog.agent(agent.0, agent.1);
        let tools = brought_tools(resolved.as_slice(), &limits);
        let with_tools = woven.engine.policy_with(agent.0, agent.1, &tools).ok();
        let policy = with_tools.unwrap_or_else(|| declared.clone());
        let of_agent =
            Subject { files, woven: &woven, plain: &plain, agent, tools: &tools, declared, policy };
        proofs.extend(of_agent.proofs(invariants, (bounds, goes_on)));
    }
    let is_proved = |one: &&Invariant| proofs.iter().any(|proof| proof.invariant.id.text == one.id.text);
    let without: Vec<Proof> =
        invariants.invariants.iter().filter(|one| !is_proved(one)).map(about_nothing).collect();
    proofs.extend(without);
    // invariant by invariant, as they were written
    let position =
        |proof: &Proof| invariants.invariants.iter().position(|one| one.id.text == proof.invariant.id.text);
    proofs.sort_by_key(position);
    Ok(proofs)
}

/// What is known of an invariant that is about no function of any agent: only tools that tasks bring could be what it is about.
fn about_nothing(invariant: &Invariant) -> Proof {
    let reason = "no agent has a function that the invariant is about".to_owned();
    let evidence = Evidence { rejected: vec![Rejection { reason, count: 0 }], ..Evidence::default() };
    let answer = Answer::Unknown(Reached::default());
    Proof { invariant: invariant.clone(), agent: "*".to_owned(), answer, evidence }
}

fn claim(invariant: &Invariant) -> Claim {
    Claim {
        name: invariant.id.text.to_string(),
        agents: invariant.agents.clone(),
        call: invariant.call.clone(),
        always: invariant.always.clone(),
        place: invariant.place.clone(),
    }
}

/// An agent whose invariants are looked at.
struct Subject<'s> {
    files: &'s [File],
    woven: &'s Woven,
    /// The same policies with nothing woven in.
    plain: &'s Engine,
    agent: (&'s str, &'s str),
    /// Tools that tasks may bring.
    tools: &'s [BroughtTool],
    /// The policy without them.
    declared: Arc<Policy>,
    /// The policy with them.
    policy: Arc<Policy>,
}

impl Subject<'_> {
    fn proofs(&self, invariants: &Invariants, bounds: (&Bounds, &dyn Fn() -> bool)) -> Vec<Proof> {
        let is_about_it = |invariant: &&Invariant| match &invariant.call {
            Some(_) => self.functions_of(invariant).next().is_some(),
            None => of_task(&self.policy, &invariant.id.text).is_some(),
        };
        let own: Vec<&Invariant> = invariants.invariants.iter().filter(is_about_it).collect();
        let grounds: Vec<Option<Grounds>> = own.iter().map(|invariant| self.grounds(invariant)).collect();
        let (bounds, goes_on) = bounds;
        let few = Bounds {
            depth: bounds.depth.min(CHECKED.depth),
            operations: bounds.operations.min(CHECKED.operations),
        };
        let named = |is_proved: bool| -> Vec<&str> {
            let all = own.iter().zip(&grounds).filter(|(_, grounds)| grounds.is_some() == is_proved);
            all.map(|(invariant, _)| &*invariant.id.text).collect()
        };
        let look = |claims: Vec<&str>, bounds: &Bounds| match claims.is_empty() {
            true => SearchResult::default(),
            false => search(self.woven, (self.agent, self.tools), &self.policy, &claims, (bounds, goes_on)),
        };
        let searched = look(named(false), bounds);
        let checked = look(named(true), &few);
        let mut proofs = Vec::new();
        for (invariant, grounds) in own.into_iter().zip(grounds) {
            let id = &*invariant.id.text;
            let breach = searched.found.get(id).or_else(|| checked.found.get(id));
            let answer = match (breach.and_then(|breach| self.confirmed(breach)), grounds) {
                (Some(task), _) => Answer::Broken(Box::new(task)),
                (None, Some(grounds)) if breach.is_none() => Answer::Holds(grounds),
                (None, Some(_)) => Answer::Unknown(checked.reached),
                (None, None) => Answer::Unknown(searched.reached),
            };
            let agent = format!("{}/{}", self.agent.0, self.agent.1);
            let evidence = searched.evidence.get(id).or_else(|| checked.evidence.get(id));
            let evidence = evidence.cloned().unwrap_or_default();
            proofs.push(Proof { invariant: invariant.clone(), agent, answer, evidence });
        }
        proofs
    }

    /// The functions that an invariant is about, by position.
    fn functions_of<'a>(&'a self, invariant: &'a Invariant) -> impl Iterator<Item = usize> + 'a {
        let all = 0..self.policy.functions().len();
        all.filter(|at| of_call(&self.policy, *at, &invariant.id.text).is_some())
    }

    /// Why an invariant holds, if it is known to. Of tools that tasks bring nothing is proved: each has a schema of its own.
    fn grounds(&self, invariant: &Invariant) -> Option<Grounds> {
        if invariant.call.is_none() {
            let always = of_task(&self.declared, &invariant.id.text)?;
            let (limits, place) = (*self.woven.engine.limits(), &invariant.place);
            let Self { files, agent, declared: policy, .. } = self;
            return Ground { files, limits, agent: *agent, policy, place }.grounds(always);
        }
        let mut grounds = Grounds::default();
        for function in self.functions_of(invariant) {
            if self.policy.function(function).is_none_or(|it| self.declared.position(&it.key).is_none()) {
                return None;
            }
            let goal = of_call(&self.policy, function, &invariant.id.text)?;
            let inquiry = Inquiry { goal, given: &[], of: Of::Judged, adds_nothing_negative: false };
            grounds.add(&self.policy, function, entailed(&self.policy, function, inquiry)?);
        }
        Some(grounds)
    }

    /// A task that breaks an invariant, if it goes the same way under the policies as they are.
    fn confirmed(&self, breach: &search::Breach) -> Option<Counterexample> {
        let search::Breach { beginning, filled, moves, made, invoked, results } = breach;
        let stage = Stage::new(self.plain, (self.agent, self.tools), invoked.clone(), *results);
        stage.confirms(beginning, moves, made).then(|| Counterexample {
            agent: format!("{}/{}", self.agent.0, self.agent.1),
            user: beginning.user_json(),
            tools: self.tools.to_vec(),
            input: beginning.input.clone().into(),
            counters: GeneratedWorld::counters_json(filled),
            invoked: invoked.clone(),
            made: made.clone(),
        })
    }
}

impl Proof {
    /// As JSON: `invariant`, `agent`, `answer`, `method` (`proof` or `search`), `evidence`, and what goes with the answer: `grounds`, `task`, or `reached`.
    #[must_use]
    pub fn to_json(&self) -> Value {
        let mut shown = json!({
            "invariant": &*self.invariant.id.text,
            "text": self.invariant.text.as_ref().map(|text| &*text.text),
            "agent": self.agent,
            "answer": self.answer.as_str(),
            "method": self.answer.method(),
            "evidence": self.evidence,
        });
        let (key, value) = match &self.answer {
            Answer::Holds(grounds) => ("grounds", grounds.to_json()),
            Answer::Broken(task) => ("task", task.to_json()),
            Answer::Unknown(Reached { depth, operations }) => {
                ("reached", json!({ "depth": depth, "operations": operations }))
            }
        };
        if let Some(members) = shown.as_object_mut() {
            members.insert(key.to_owned(), value);
        }
        shown
    }
}

impl Proof {
    /// The same with the `case` of a task that breaks it, as text: its name is that of the invariant, and its manifests are found by these paths.
    #[must_use]
    pub fn to_json_with_case(&self, manifests: &[String]) -> Value {
        let mut shown = self.to_json();
        if let (Answer::Broken(task), Some(members)) = (&self.answer, shown.as_object_mut()) {
            let case = task.case(&self.case_name(), &self.invariant, manifests);
            members.insert("case".to_owned(), case.into());
        }
        shown
    }

    /// The id of its invariant, as far as it can be the name of a file.
    #[must_use]
    pub fn case_name(&self) -> String {
        let is_plain = |sign: char| sign.is_ascii_alphanumeric() || sign == '-' || sign == '_';
        self.invariant.id.text.chars().map(|sign| if is_plain(sign) { sign } else { '-' }).collect()
    }
}

impl Summary {
    /// That of some proofs.
    #[must_use]
    pub fn of(proofs: &[Proof]) -> Self {
        let count = |is_it: fn(&Answer) -> bool| proofs.iter().filter(|proof| is_it(&proof.answer)).count();
        Self {
            hold: count(|it| matches!(it, Answer::Holds(_))),
            broken: count(|it| matches!(it, Answer::Broken(_))),
            unknown: count(|it| matches!(it, Answer::Unknown(_))),
        }
    }
}

impl Answer {
    /// In one word: `holds`, `broken` or `unknown`.
    #[must_use]
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::Holds(_) => "holds",
            Self::Broken(_) => "broken",
            Self::Unknown(_) => "unknown",
        }
    }
}

impl Answer {
    /// How it was found: `proof` or `search`.
    #[must_use]
    pub const fn method(&self) -> &'static str {
        match self {
            Self::Holds(_) => "proof",
            Self::Broken(_) | Self::Unknown(_) => "search",
        }
    }
}

impl Grounds {
    /// Adds why something holds of the calls of a function.
    fn add(&mut self, policy: &Policy, function: usize, found: Entailed<'_>) {
        let Entailed { steps, limits, is_vacuous, is_rounded } = found;
        if is_vacuous {
            self.never_called.extend(policy.function(function).map(|function| function.key.to_string()));
        }
        for rule in steps.into_iter().map(|step| step.origin()) {
            if !self.rules.contains(&rule) {
                self.rules.push(rule);
            }
        }
        for limit in limits {
            if !self.limits.iter().any(|known| known == limit) {
                self.limits.push(limit.to_owned());
            }
        }
        self.unrounded |= is_rounded;
    }

    fn to_json(&self) -> Value {
        json!({
            "rules": self.rules, "limits": self.limits, "never_called": self.never_called, "unrounded": self.unrounded,
        })
    }
}
