//! What manifests and policies permit, decided before anything runs.
//!
//! In: compiled policies. Out: findings about clauses that no input makes true or false, about steps that no call
//! reaches or that those before them make moot, and an [`Analysis`], which says how much could be decided at all. An expression is taken apart into clauses
//! about paths; the values of each path are divided into few cells in which all clauses have one answer; the evaluator itself answers
//! them for one value of each cell, and a SAT solver looks for cells that go together. What is not understood may be anything. So a
//! finding says what holds of every input, within the schemas that the runtime enforces, and silence says nothing.
//!
//! | module | what it holds |
//! |---|---|
//! | `path` | what an expression reads |
//! | `subject` | what a clause asks about, and the values that are left to it |
//! | `facts` | what schemas say of the values of arguments, and functions of the texts that they give |
//! | `range` | where numbers lie that are computed |
//! | `derived` | lists that are made of the elements of another list |
//! | `emptiness` | whether lists are empty, as their sizes, elements and macros say |
//! | `predicate` | what macros over one list ask of its elements |
//! | `node` | the parts of an expression, down to its clauses |
//! | `questions` | the clauses of several expressions, and the subjects at which they meet |
//! | `spelled_out` | an expression with what `cel.bind` names in the place of the names |
//! | `formula` | what an expression asks, as clauses |
//! | `listed` | macros that ask about one path with each constant of a list |
//! | `sample`, `number`, `monotone`, `text` | values that stand for many |
//! | `cells` | the values of a subject, divided by the answers of its clauses |
//! | `twins` | texts that are compared with each other, and the cells in which they lie then |
//! | `fixed` | what follows of a list or a text that is equal to a constant |
//! | `sat`, `problem` | what is asked, as propositions |
//! | `reached` | parts that are decided where an expression gets to them |
//! | `claim` | what can be said of a part of an expression |
//! | `verdict`, `counterexample` | what is decided of one expression, and the runs that could refute it |
//! | `members` | constants of lists to which nothing is equal that is looked for there |
//! | `steps` | what is decided of a list of steps |
//! | `entailed` | what holds of every call that is let by |
//! | `reach` | what of all that steps and time may change |
//! | `calls`, `tally` | lists of calls on record, counts of them and sums over them |
//! | `amounts`, `compared`, `inequality`, `bounds` | comparisons of sums as inequalities, whether these contradict each other, and what holds of all of them |
//! | `weighed` | propositions and inequalities together |
//! | `behind` | what is said of a task, said ahead of a further call |
//! | `written` | expressions made of parts of others |
//! | `equivalence` | whether two expressions answer alike |
//! | `arithmetic` | operations that take some numbers and fail on others |
//! | `misuse` | constants that say something else than their author meant |
//! | `labels` | labels that are asked for and that no step gives |
//! | `pattern` | regular expressions that find more than was meant |
//! | `loose` | text comparisons that allow more than they name |
//! | `optional` | optional arguments that a step reads without `has` |
//! | `step_questions` | the questions of a step, each with whether a yes lets a call by |
//! | `argument_names` | names of arguments that say what kind of text they hold |
//! | `negation` | asserts that demand what rules stop |
//! | `one_element` | checks of one element of a list, and of one of several detectors |
//! | `by_hand` | texts that an expression parses by itself, though the language has a parser |
//! | `letter_case` | denials that the same in other letters passes |
//! | `ordered` | texts that stand for numbers, versions or dates |
//! | `placement` | asserts in lists in which they stop nothing, or run too late |
//! | `messages` | what is said of it |
//!
//! Every bound counts work and no time, so the same manifests have the same findings on every machine.

mod amounts;
mod argument_names;
mod arithmetic;
mod behind;
mod bounds;
mod by_hand;
mod calls;
mod cells;
mod claim;
mod compared;
mod counterexample;
mod derived;
mod emptiness;
mod entailed;
mod equivalence;
mod facts;
mod fixed;
mod formula;
mod inequality;
mod labels;
mod letter_case;
mod listed;
mod loose;
mod members;
mod messages;
mod misuse;
mod monotone;
mod negation;
mod node;
mod number;
mod one_element;
mod optional;
mod ordered;
mod path;
mod pattern;
mod placement;
mod predicate;
mod problem;
mod questions;
mod range;
mod reach;
mod reached;
mod sample;
mod sat;
mod spelled_out;
mod step_questions;
mod steps;
mod subject;
mod tally;
mod text;
mod twins;
mod verdict;
mod weighed;
mod written;

pub(crate) use behind::Told;
pub(crate) use calls::Status;
pub(crate) use entailed::{Grounds, Inquiry, Of, entailed};
pub(crate) use equivalence::answer_alike;
pub(crate) use steps::never_both_fail;

use crate::cel::{Checked, Expr, ExprKind, Type};
use crate::diagnostic::Diagnostic;
use crate::limits::EvalLimits;
use crate::manifest::catalog::ResolvedAgent;
use crate::manifest::step::Hook;
use crate::policy::{
    AgentFunction, Expression, Filter, OfPolicyStep, ParameterValue, Policy, Step, StepAction, StepKey,
    Trigger, UseOfPolicy, ValueKind, of_all_agents, step_key,
};
use crate::source::{Place, Span};
use cells::Trial;
use claim::{Claim, Verdict};
use labels::Labels;
use serde_json::{Value, json};
use spelled_out::{Names, spell_out};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;
use verdict::decide;

/// How much was decided of the policies of some agents.
///
/// ```
/// use celador::manifest::Catalog;
/// use celador::manifest::load::{File, FileOrigin};
/// use celador::source::Source;
/// use celador::{Engine, EngineLimits};
///
/// let manifests = r#"
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
///       - assert: input.amount > 0 || input.amount <= 1000
/// "#;
/// let file = File { source: Source::new("shop.yaml", manifests), origin: FileOrigin::Named };
/// let (catalog, _) = Catalog::parse(&[file], &EngineLimits::default());
/// let (engine, found) = Engine::from_catalog(&catalog, EngineLimits::default());
///
/// // what was found is refused as any finding is that may lose a rule
/// assert_eq!(found.iter().map(|finding| finding.code).collect::<Vec<_>>(), ["never_false"]);
/// assert!(found[0].is_refused() && !engine.is_whole());
/// let analysis = engine.analysis();
/// assert_eq!((analysis.decided, analysis.unknown.len(), analysis.contradicted), (2, 0, 0));
/// ```
#[derive(Clone, Debug, Default)]
pub struct Analysis {
    /// The clauses of asserts, conditions, filters and exposed truths whose answers are known for every input. A clause that several functions or
    /// agents share counts once.
    pub decided: usize,
    /// The places of the clauses of which something is not known.
    pub unknown: Vec<Place>,
    /// Claims that a run has contradicted, which nobody is told: faults of this analysis.
    pub contradicted: usize,
}

impl Analysis {
    /// How many clauses there are, as JSON: `clauses`, `decided`, `unknown`, `contradicted`.
    #[must_use]
    pub fn counts(&self) -> Value {
        json!({
            "clauses": self.decided.saturating_add(self.unknown.len()),
            "decided": self.decided,
            "unknown": self.unknown.len(),
            "contradicted": self.contradicted,
        })
    }

    /// The clauses of which something is not known, each as JSON: `file`, `line`, `column`, `expr`.
    pub fn unknown_clauses(&self) -> impl Iterator<Item = Value> {
        self.unknown.iter().map(|place| {
            let at = place.position();
            let text = place.source.slice(place.span).split_whitespace().collect::<Vec<_>>().join(" ");
            json!({ "file": place.source.name(), "line": at.line, "column": at.column, "expr": text })
        })
    }
}

/// What is found while policies are looked at, one after the other.
#[derive(Default)]
pub(crate) struct Analyst {
    findings: Vec<Diagnostic>,
    of_policies: Vec<OfPolicyStep>,
    /// By file and characters: whether a clause is decided, wherever it stands.
    clauses: BTreeMap<(String, u32, u32), (Place, bool)>,
    contradicted: usize,
    /// The arguments that are numbers, of the policy that is looked at.
    numbers: HashSet<Arc<str>>,
    labels: Labels,
    /// The steps that are looked at, with those in lists beside them; all of them if it is not said.
    only: Option<HashSet<StepKey>>,
}

impl Analyst {
    /// One that looks at these steps alone, as they stand in their lists.
    pub(crate) fn among(steps: &[Place]) -> Self {
        Self { only: Some(steps.iter().map(step_key).collect()), ..Self::default() }
    }

    /// Whether a step is looked at.
    fn looks_at(&self, step: &Step) -> bool {
        self.only.as_ref().is_none_or(|only| only.contains(&step_key(step.place())))
    }

    /// Looks at the policy of an agent.
    pub(crate) fn policy(&mut self, policy: &Policy) {
        self.numbers = arithmetic::numbers(policy);
        let mut trial = Trial::new(tried(&policy.limits().eval));
        let mut lists = steps::lists_of(policy);
        lists.retain(|list| list.iter().any(|step| self.looks_at(step)));
        let mut lists = steps::findings(lists, &mut trial);
        let early = steps::early_reviews_of(policy, &mut trial);
        let others = optional::findings(policy).into_iter().chain(placement::findings(policy));
        for (step, findings) in others.chain(early) {
            lists.entry(step).or_default().extend(findings);
        }
        let called = called(policy);
        let mut known = HashSet::new();
        for step in policy.steps().filter(|step| known.insert(std::ptr::from_ref(*step))) {
            self.labels.note_step(step);
            let mut findings = lists.remove(&std::ptr::from_ref(step)).unwrap_or_default();
            let called =
                called.get(&std::ptr::from_ref(step)).copied().filter(|function| names(step, function));
            if self.looks_at(step) {
                self.step(step, called, &mut trial, &mut findings);
            }
            if step.name.is_some() {
                let of = step.name.as_deref().map(UseOfPolicy::of).unwrap_or_default();
                self.of_policies.push(OfPolicyStep { of, place: step.place().clone(), findings });
            } else {
                self.findings.extend(findings);
            }
        }
        if self.only.is_some() {
            return;
        }
        let filters = policy.events().iter().filter_map(|event| event.filter()).map(Filter::expression);
        // what an agent tells of itself is asked as a rule is, where it is a truth
        let told = policy.exposes().iter().map(|expose| &expose.value).filter(|value| is_truth(value));
        for expression in filters.chain(told) {
            let mut findings = Vec::new();
            self.expression(expression, &mut trial, &mut findings);
            self.findings.extend(findings);
        }
    }

    /// Looks at the steps of a trigger.
    pub(crate) fn trigger(&mut self, trigger: &Trigger) {
        self.numbers.clear();
        let mut trial = Trial::new(tried(trigger.limits()));
        let mut lists = steps::findings(vec![trigger.steps().iter().collect()], &mut trial);
        for step in trigger.steps() {
            let mut findings = lists.remove(&std::ptr::from_ref(step)).unwrap_or_default();
            self.step(step, None, &mut trial, &mut findings);
            self.findings.extend(findings);
        }
    }

    /// Looks at a step by itself; `called` is the function whose calls alone it is about.
    fn step(
        &mut self,
        step: &Step,
        called: Option<&AgentFunction>,
        trial: &mut Trial,
        findings: &mut Vec<Diagnostic>,
    ) {
        findings.extend(misuse::of_step(step));
        let assert = match &step.action {
            StepAction::Assert(assert) => Some(assert),
            _ => None,
        };
        for expression in step.condition.iter().chain(assert) {
            self.expression(expression, trial, findings);
            if let Some((called, checked)) = called.zip(expression.checked()) {
                findings.extend(misuse::of_presence(expression, &checked, called));
            }
        }
    }

    /// Looks at the documents of an agent as they are written: its limits and those of policies, and the defaults of parameters.
    pub(crate) fn documents(&mut self, resolved: &ResolvedAgent) {
        self.findings.extend(misuse::of_parameters(resolved));
        self.findings.extend(misuse::of_claims(resolved));
        self.findings.extend(misuse::of_turns(&resolved.agent.name.place, &resolved.agent.limits));
        self.findings.extend(misuse::of_agent(resolved));
        self.findings.extend(misuse::of_default(resolved));
        for policy in resolved.policies.iter().map(|applied| &applied.policy) {
            self.findings.extend(misuse::of_limits(policy));
            self.findings.extend(misuse::of_turns(&policy.name.place, &policy.limits));
        }
    }

    fn expression(&mut self, expression: &Expression, trial: &mut Trial, findings: &mut Vec<Diagnostic>) {
        let Some(written) = expression.checked() else { return };
        let [exact, all] =
            [Names::OfWhatIsThere, Names::All].map(|names| spell_out(expression, &written, names));
        let mut decided = decide(all.as_ref().unwrap_or(&written), trial, &tried(expression.limits()));
        if all.as_ref().map(|checked| &checked.expr) != exact.as_ref().map(|checked| &checked.expr) {
            // where the value of a name is missing, what decides nothing without the name may decide with it
            decided.verdicts.retain(|verdict| !verdict.claim.compares_failures());
        }
        self.contradicted = self.contradicted.saturating_add(decided.contradicted);
        for (span, is_decided) in &decided.clauses {
            let place = expression.place_of(*span);
            let key = (place.source.name().to_owned(), place.span.start, place.span.end);
            let (_, known) = self.clauses.entry(key).or_insert((place, true));
            *known &= is_decided;
        }
        findings.extend(misuse::of_expression(
            expression,
            &written,
            &self.numbers,
            &tried(expression.limits()),
        ));
        self.labels.note_questions(expression, &written);
        // what is constant is found when it is loaded
        if expression.program().constant().is_some() {
            return;
        }
        for verdict in &decided.verdicts {
            // what the checker says of a value of a parameter is not told where the value may be meant
            let is_known = is_known(expression, verdict.span);
            if is_known && expression.values_in(verdict.span).next().is_none() {
                continue;
            }
            if !is_meant(expression, verdict) {
                findings.extend((!is_known).then(|| told(expression, verdict)));
            } else if is_held_by_parameter(expression, &written, verdict)
                && (!is_known || reads_list(expression, verdict.span))
            {
                let finding = messages::held_by_parameter(expression.place_of(verdict.span), verdict);
                findings.push(with_values(finding, expression, verdict));
            }
        }
    }

    /// All that was found, each thing once, and how much was decided.
    pub(crate) fn end(self) -> (Analysis, Vec<Diagnostic>) {
        let mut findings = self.findings;
        findings.extend(of_all_agents(self.of_policies));
        findings.extend(self.labels.end());
        let mut known = HashSet::new();
        findings.retain(|finding| {
            let at = |place: &Place| (place.source.name().to_owned(), place.span);
            let values: Vec<_> = finding.related.iter().map(|label| at(&label.place)).collect();
            known.insert((at(&finding.place), finding.code, values))
        });
        let (decided, unknown): (Vec<_>, Vec<_>) =
            self.clauses.into_values().partition(|(_, is_decided)| *is_decided);
        let analysis = Analysis {
            decided: decided.len(),
            unknown: unknown.into_iter().map(|(place, _)| place).collect(),
            contradicted: self.contradicted,
        };
        (analysis, findings)
    }
}

/// The least cost that a sample may have: what a guard may cost is no matter of what it asks.
const TRYING_COST: u64 = 100_000;

/// The bounds under which samples are tried: those of the host, but for a budget that is too small for anything.
fn tried(limits: &EvalLimits) -> EvalLimits {
    EvalLimits { max_cost: limits.max_cost.max(TRYING_COST), ..*limits }
}

/// Whether an expression gives a truth.
fn is_truth(expression: &Expression) -> bool {
    expression.checked().is_some_and(|checked| *checked.type_of(checked.expr.id) == Type::Bool)
}

/// Whether the checker has said something about the part, or about something in it, already.
fn is_known(expression: &Expression, part: Span) -> bool {
    let issues = expression.program().issues().iter();
    issues.map(|issue| issue.span).any(|span| span.start < part.end && part.start < span.end)
}

/// Whether the value of a parameter may be meant to have this effect. A bound of 0 or an empty list switches one clause off on purpose. Two clauses that
/// contradict each other, or a clause with a value that decides nothing, are mistakes.
fn is_meant(expression: &Expression, verdict: &Verdict) -> bool {
    let reads = |span: Span| expression.values_in(span).next().is_some();
    if !reads(verdict.span) && !verdict.reasons.iter().copied().any(reads) {
        return false;
    }
    match verdict.claim {
        _ if verdict.by_schema => true,
        Claim::NeverTrue | Claim::NeverFalse | Claim::NeverTrueHere => verdict.reasons.len() < 2,
        Claim::Moot | Claim::NeverFalseHere => !reads(verdict.span) || verdict.reasons.is_empty(),
        Claim::NeverMember => true,
        Claim::AlwaysFails | Claim::NeverOfElement | Claim::AlwaysOfElement => false,
    }
}

/// Whether the value of a parameter decides a part, which is hardly meant: an empty text that everything fits, a text or a list that nothing fits, an element of a list that nothing is equal to, a number at the bounds of a schema, or 0
/// where a whole assert or condition is never true. A value that switches one clause of several off is meant, and so is one that the expression itself asks about.
fn is_held_by_parameter(expression: &Expression, checked: &Checked, verdict: &Verdict) -> bool {
    let values: Vec<&ParameterValue> = expression.values_in(verdict.span).collect();
    let any = |kind: ValueKind| values.iter().any(|value| value.kind == kind);
    let is_of_value = match (verdict.claim, verdict.by_schema) {
        (Claim::NeverTrue, true) => {
            let of_whole = [ValueKind::Text, ValueKind::List, ValueKind::Zero];
            any(ValueKind::Number) || verdict.is_whole && of_whole.into_iter().any(any)
        }
        (Claim::NeverFalse, true) => any(ValueKind::Number),
        // a number that no function gives: an hour of 24
        (Claim::NeverFalse, false) if any(ValueKind::Number) => true,
        // a text that no function gives: capitals beside `.lowerAscii()`
        (Claim::NeverMember | Claim::NeverOfElement, false) => any(ValueKind::Text) || any(ValueKind::List),
        (Claim::NeverFalse, false) => any(ValueKind::EmptyText),
        (Claim::NeverTrue, false) => {
            any(ValueKind::Text)
                || any(ValueKind::List)
                || verdict.is_whole && (any(ValueKind::Zero) || any(ValueKind::Number))
        }
        _ => false,
    };
    is_of_value && !any(ValueKind::Switch) && !compares_constants(&checked.expr)
}

/// Whether a part reads a list that is the value of a parameter. Of a single text the checker says itself what it is near to.
fn reads_list(expression: &Expression, part: Span) -> bool {
    expression.values_in(part).any(|value| value.kind == ValueKind::List)
}

/// Whether some part asks a question of constants alone: `parameters.folder == ''`.
fn compares_constants(expr: &Expr) -> bool {
    let is_literal = |expr: &Expr| matches!(expr.kind, ExprKind::Literal(_));
    let mut compares = match &expr.kind {
        ExprKind::Call { function, target: None, args } => {
            matches!(function.text.as_str(), "_==_" | "_!=_" | "_<_" | "_<=_" | "_>_" | "_>=_" | "size")
                && args.iter().all(is_literal)
        }
        _ => false,
    };
    expr.for_each_part(&mut |part| compares |= compares_constants(part));
    compares
}

fn told(expression: &Expression, verdict: &Verdict) -> Diagnostic {
    let text = |span: &Span| expression.source().get(span.range()).unwrap_or_default();
    let reasons: Vec<&str> = verdict.reasons.iter().map(text).collect();
    let place = expression.place_of(verdict.span);
    with_values(messages::verdict(place, verdict, &reasons, text(&verdict.span)), expression, verdict)
}

/// The same with a label at the value of each parameter that is read there.
fn with_values(finding: Diagnostic, expression: &Expression, verdict: &Verdict) -> Diagnostic {
    let mut values: Vec<&ParameterValue> = Vec::new();
    for span in std::iter::once(&verdict.span).chain(&verdict.reasons) {
        for value in expression.values_in(*span) {
            if !values.iter().any(|known| known.name == value.name) {
                values.push(value);
            }
        }
    }
    let finding = match verdict.claim {
        Claim::NeverTrue | Claim::NeverFalse | Claim::NeverTrueHere
            if !values.is_empty() && finding.code != "held_by_parameter" =>
        {
            finding.help("check the values of the parameters, then the comparisons")
        }
        _ => finding,
    };
    let finding = values.into_iter().fold(finding, |finding, value| {
        finding.value(value.place.clone(), &format!("parameters.{}", value.name))
    });
    finding.path(expression.origin().path)
}

/// The function whose calls each step is about, of steps that are about those of one. Of an event's input nothing is known.
fn called(policy: &Policy) -> HashMap<*const Step, &AgentFunction> {
    let mut called: HashMap<*const Step, Vec<&AgentFunction>> = HashMap::new();
    for (position, function) in policy.functions().iter().enumerate() {
        for hook in [Hook::BeforeFirst, Hook::Before] {
            let steps = policy.steps_of_call(hook, position);
            for step in steps.iter().filter(|step| step.is_for(&function.name)) {
                called.entry(std::ptr::from_ref(step)).or_default().push(function);
            }
        }
    }
    for event in policy.events() {
        for step in policy
            .steps_of_event(Hook::Before, event.capability)
            .iter()
            .filter(|step| step.is_for(&event.key))
        {
            called.remove(&std::ptr::from_ref(step));
        }
    }
    called.retain(|_, functions| functions.len() == 1);
    called.into_iter().filter_map(|(step, functions)| Some((step, *functions.first()?))).collect()
}

/// Whether a step says which function it is about: that of a manifest, or one under the function's own key. What a pattern selects today, it may
/// not be all that it will.
fn names(step: &Step, function: &AgentFunction) -> bool {
    step.name.is_none() || step.origin().path.starts_with(&format!("capabilities.{}.", function.key))
}

/// The step's own document: the policy that it is of, or none for the manifest.
fn document(step: &Step) -> Option<&str> {
    step.name.as_deref().map(|step| &*step.name)
}
