//! Invariants as steps that watch: woven into the policies of the agents that they are about.
//!
//! In: the files of manifests, and things that are to hold. Out: an engine whose tasks decide as ever and note for each call whether what is to hold of
//! it does, behind all steps. So an invariant has the types, names and moments of any step, and the evaluator judges it. Steps that are only tried out
//! are left out, as they decide nothing and observed steps see what they would have changed.

use super::messages;
use crate::cel::{Expr, ExprKind, Reference};
use crate::context::Root;
use crate::diagnostic::{Diagnostic, Severity, Standing};
use crate::engine::{Door, Engine};
use crate::limits::EngineLimits;
use crate::manifest::Catalog;
use crate::manifest::document::Document;
use crate::manifest::kind::{DocumentKind, Family};
use crate::manifest::load::File;
use crate::manifest::mode::Mode;
use crate::manifest::node::{Data, Entry, Node};
use crate::manifest::step::Hook;
use crate::manifest::yaml::YamlDocument;
use crate::policy::{Expression, Policy, Step, StepAction};
use crate::source::{Embedded, Place};
use std::sync::Arc;

/// The namespace of the policies that invariants become: behind all names that people give, so that they come last.
const NAMESPACE: &str = "~invariants";

/// Something that is to hold of calls or of tasks.
#[derive(Clone, Debug)]
pub(super) struct Claim {
    /// Its name, which no other has.
    pub(super) name: String,
    pub(super) agents: Vec<Embedded>,
    /// The key that selects calls; without one it is about tasks.
    pub(super) call: Option<Embedded>,
    pub(super) always: Embedded,
    pub(super) place: Place,
}

/// Policies with claims in them.
#[derive(Debug)]
pub(super) struct Woven {
    pub(super) catalog: Catalog,
    pub(super) engine: Engine,
}

/// Weaves claims into the policies of some files, and says nothing of what is wrong with one: an agent that it is about then has no policy.
pub(super) fn weave_quietly(files: &[File], claims: &[Claim], limits: EngineLimits) -> Woven {
    woven(files, claims, limits).0
}

fn woven(files: &[File], claims: &[Claim], limits: EngineLimits) -> (Woven, Vec<Diagnostic>) {
    let mut findings = Vec::new();
    let documents = claims.iter().filter_map(|claim| document(claim, &limits, &mut findings)).collect();
    let (catalog, linked) = Catalog::parse_watched(files, documents, &limits);
    let (engine, compiled) = Engine::through((Door::Lenient, Mode::Enforce), &catalog, limits);
    findings.extend(linked);
    findings.extend(compiled);
    (Woven { catalog, engine }, findings)
}

/// Weaves claims into the policies of some files.
///
/// # Errors
/// What is wrong with the claims.
pub(super) fn weave(
    files: &[File],
    claims: &[Claim],
    limits: EngineLimits,
) -> Result<Woven, Vec<Diagnostic>> {
    let (Woven { catalog, engine }, findings) = woven(files, claims, limits);
    let is_about = |finding: &Diagnostic, claim: &Claim| {
        let found = &finding.place;
        let texts = claim.agents.iter().chain(&claim.call).chain([&claim.always]).map(|text| &text.place);
        let mut own = texts.chain([&claim.place]).filter(|own| own.source.same(&found.source));
        own.any(|own| own.span.start <= found.span.start && found.span.end <= own.span.end)
    };
    let mut wrong = Vec::new();
    // a warning is one that its author wants to hear of: what is misspelt is never true, and would be broken for nothing
    for finding in &findings {
        let Some(claim) = claims.iter().find(|claim| is_about(finding, claim)) else { continue };
        wrong.push(match (finding.code, &claim.call) {
            ("no_agent_in_scope" | "unmatched_agents", _) => messages::no_such_agent(&finding.place),
            ("unmatched_key", Some(call)) => messages::no_such_call(call),
            _ => Diagnostic { severity: Severity::Error, standing: Standing::Told, ..finding.clone() },
        });
    }
    for claim in claims.iter().filter(|claim| claim.call.is_none()) {
        let reads = |policy: &Arc<Policy>| {
            let expression = of_task(policy, &claim.name)?;
            let checked = expression.checked()?;
            reads_output(&checked, &checked.expr).then_some(())
        };
        if agents(&catalog, &engine).any(|(_, policy)| reads(&policy).is_some()) {
            wrong.push(messages::reads_output(&claim.always));
        }
    }
    if wrong.is_empty() && !engine.is_whole() {
        wrong.extend(findings.into_iter().filter(Diagnostic::is_error));
    }
    if wrong.is_empty() { Ok(Woven { catalog, engine }) } else { Err(wrong) }
}

/// The agents that can run, with their policies.
fn agents<'c>(
    catalog: &'c Catalog,
    engine: &'c Engine,
) -> impl Iterator<Item = ((&'c str, &'c str), Arc<Policy>)> {
    catalog.agents().iter().filter_map(|resolved| {
        let name = (&*resolved.agent.namespace.text, &*resolved.agent.name.text);
        Some((name, engine.policy(name.0, name.1).ok()?))
    })
}

impl Woven {
    pub(super) fn agents(&self) -> impl Iterator<Item = ((&str, &str), Arc<Policy>)> {
        agents(&self.catalog, &self.engine)
    }
}

/// A policy document that says what a claim says.
fn document(claim: &Claim, limits: &EngineLimits, findings: &mut Vec<Diagnostic>) -> Option<Document> {
    let text = |text: &str| Embedded::new(text, claim.place.clone(), []);
    let node = |data| Node { place: claim.place.clone(), data };
    let written =
        |embedded: &Embedded| Node { place: embedded.place.clone(), data: Data::String(embedded.clone()) };
    let mapping = |entries: Vec<(Embedded, Node)>| {
        let entries: Vec<Entry> = entries.into_iter().map(|(key, value)| Entry { key, value }).collect();
        node(Data::Mapping(entries.into()))
    };
    let word = |key: &str, value: &str| (text(key), node(Data::String(text(value))));
    let list = |items: Vec<Node>| node(Data::Sequence(items.into()));
    let everybody = [text("*")];
    let agents = if claim.agents.is_empty() { &everybody[..] } else { &claim.agents };
    let scope = mapping(vec![(text("agents"), list(agents.iter().map(written).collect()))]);
    // findings about steps are told apart by the places of the steps
    let step =
        Node { place: claim.always.place.clone(), ..mapping(vec![(text("assert"), written(&claim.always))]) };
    let step = list(vec![step]);
    let (key, steps) = match &claim.call {
        Some(call) => {
            let steps = mapping(vec![(text("before"), step)]);
            ("capabilities", mapping(vec![(call.clone(), steps)]))
        }
        None => ("guardrails", mapping(vec![(text("after"), step)])),
    };
    let document = mapping(vec![
        word("kind", &DocumentKind::current(Family::Policy)),
        word("namespace", NAMESPACE),
        word("name", &claim.name),
        word("mode", "observe"),
        (text("applies_to"), scope),
        (text(key), steps),
    ]);
    let document = YamlDocument { node: document, sound: true };
    match Document::read(&document, "", limits, findings)? {
        Document::Policy(mut policy) => {
            policy.watches = true;
            Some(Document::Policy(policy))
        }
        _ => None,
    }
}

/// The name of the claim that a step stands for.
pub(super) fn claim_of(policy: &str) -> Option<&str> {
    policy.strip_prefix(NAMESPACE)?.strip_prefix('/')
}

fn is_of(step: &Step, claim: &str) -> bool {
    step.name.as_ref().and_then(|name| claim_of(&name.name)) == Some(claim)
}

/// The expression of a claim about calls of the function at this position; nothing if it is not about them.
pub(super) fn of_call<'p>(policy: &'p Policy, function: usize, claim: &str) -> Option<&'p Expression> {
    let step = policy.steps_of_call(Hook::Before, function).iter().find(|step| is_of(step, claim))?;
    asserted(step)
}

/// The expression of a claim about tasks; nothing if it is not about those of this agent.
pub(super) fn of_task<'p>(policy: &'p Policy, claim: &str) -> Option<&'p Expression> {
    let step = policy.guardrails(Hook::GuardrailAfter).iter().find(|step| is_of(step, claim))?;
    asserted(step)
}

fn asserted(step: &Step) -> Option<&Expression> {
    match &step.action {
        StepAction::Assert(assert) => Some(assert),
        _ => None,
    }
}

fn reads_output(checked: &crate::cel::Checked, expr: &Expr) -> bool {
    let is_output = matches!(&expr.kind, ExprKind::Ident { name, .. } if Root::long_name(name) == Root::Output.name())
        && matches!(checked.reference(expr.id), Some(Reference::Variable(_)));
    let mut reads = is_output;
    expr.for_each_part(&mut |part| reads |= reads_output(checked, part));
    reads
}
