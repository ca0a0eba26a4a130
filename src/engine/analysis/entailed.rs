//! What holds of every call that the steps ahead of it let by.
//!
//! In: a policy, a function and an expression that is asked of its calls. Out: the steps because of which the expression is true of every call that is
//! let by, or nothing where that is not known. A step counts if it stops what fails: it decides, and its `on_fail` is no `continue`. An error in it is a
//! failure. Whatever takes time may change what expressions read: a question to a person, a counter, a tool that is invoked. What is read behind it
//! is then not what was read before; the arguments alone stay, until a step sets them.

use super::amounts::Amounts;
use super::cells::Trial;
use super::node::Node;
use super::path::asks_host;
use super::problem::{Problem, Truth};
use super::questions::{Changes, Clause, MAX_CLAUSES, Questions};
use super::reach::Lasting;
use super::sat::Literal;
use super::spelled_out::{Names, spelled_out};
use super::tried;
use super::weighed::{Numbers, Weights};
use crate::cel::{Expr, ExprKind, Json, Literal as Constant, MapEntry};
use crate::manifest::mode::Mode;
use crate::manifest::step::{Hook, OnFail};
use crate::policy::{Effect, Expression, Missing, Policy, ReviewPanel, Step, StepAction};
use serde_json::Value;
use std::collections::HashSet;

/// A step as it is read: what its condition and its assert ask.
struct Asked<'p> {
    step: &'p Step,
    condition: Option<Node>,
    action: Option<Node>,
}

/// Why something holds of every call that is let by.
#[derive(Clone, Debug, Default)]
pub(crate) struct Grounds<'p> {
    /// The steps without any of which it would not be known.
    pub(crate) steps: Vec<&'p Step>,
    /// The limits of the task without any of which it would not be known.
    pub(crate) limits: Vec<&'static str>,
    /// Whether no call is ever let by.
    pub(crate) is_vacuous: bool,
    /// Whether sums of doubles were taken to be those of mathematics.
    pub(crate) is_rounded: bool,
}

/// What is asked of the calls of a function.
#[derive(Clone, Copy)]
pub(crate) struct Inquiry<'e> {
    /// What is to be true.
    pub(crate) goal: &'e Expression,
    /// What is true already.
    pub(crate) given: &'e [&'e Expression],
    /// Of which calls, and when.
    pub(crate) of: Of,
    /// Whether nothing below 0 is added up of calls that were let by.
    pub(crate) adds_nothing_negative: bool,
}

/// The calls of which something is asked.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Of {
    /// Those that pass all steps, when the last one has judged.
    Judged,
    /// The same when they are let through: reviews of other calls may have held them up since.
    LetThrough,
    /// The same when their results are taken.
    Closed,
    /// All, whether they pass any step or none.
    Any,
}

/// The steps that make an expression true of every call of a function that is let by; nothing where it is not known whether it is.
pub(crate) fn entailed<'p>(policy: &'p Policy, function: usize, inquiry: Inquiry<'_>) -> Option<Grounds<'p>> {
    let Inquiry { goal, given, of, adds_nothing_negative } = inquiry;
    let is_let_by = of != Of::Any;
    let name = &policy.function(function)?.name;
    let mut trial = Trial::new(tried(&policy.limits().eval));
    let mut questions = Questions::default();
    questions.lasting = match of {
        Of::Closed => Lasting::until_closed(policy, function),
        Of::Judged | Of::LetThrough | Of::Any => Lasting::until_let_through(policy, function),
    };
    questions.given = always_given(policy, function);
    let mut reading =
        Reading { questions, amounts: Amounts::new(Some(policy), is_let_by), has_read_counters: false };
    let decides = |step: &&Step| is_let_by && step.mode == Mode::Enforce && step.is_for(name);
    let mut asked = Vec::new();
    for step in policy.steps_of_call(Hook::Before, function).iter().filter(decides) {
        asked.push(reading.step(step));
    }
    if matches!(of, Of::LetThrough | Of::Closed) {
        reading.questions.pass(Changes::WhatPasses);
    }
    let first = reading.questions.clauses.len();
    let goal = reading.node(goal)?;
    let given: Vec<Node> = given.iter().map(|given| reading.node(given)).collect::<Option<_>>()?;
    let Reading { questions, amounts, .. } = reading;
    if questions.clauses.len() > MAX_CLAUSES {
        return None;
    }
    let mut problem = Problem::new(&questions, &mut trial);
    let (known, own) = questions.clauses.split_at_checked(first)?;
    approvals(known, own, &mut problem);
    let passes: Vec<Option<Literal>> = asked.iter().map(|asked| passes(asked, &mut problem)).collect();
    let fails = !problem.truth(&goal).yes;
    let given: Vec<Literal> = given.iter().map(|given| problem.truth(given).yes).collect();
    let mut steps: Vec<(&Step, Literal)> = Vec::new();
    for (asked, passes) in asked.iter().zip(passes) {
        steps.extend(passes.map(|passes| (asked.step, passes)));
    }
    let facts = amounts.facts(policy, is_let_by, adds_nothing_negative);
    problem.weigh(amounts, facts, Numbers::Apart);
    let all: Vec<usize> = (0..questions.clauses.len()).collect();
    let mut put = Put { problem, all };
    let propositions = |steps: &[(&Step, Literal)], more: Option<Literal>| -> Vec<Literal> {
        steps.iter().map(|(_, passes)| *passes).chain(given.iter().copied()).chain(more).collect()
    };
    let kinds = [Numbers::Apart, Numbers::Exact, Numbers::Unrounded];
    let numbers = kinds.into_iter().find(|kind| {
        put.weights(|weights| weights.numbers = *kind);
        put.is_impossible(&propositions(&steps, Some(fails)))
    })?;
    let is_vacuous = is_let_by && put.is_impossible(&propositions(&steps, None));
    let refuted = Some(fails).filter(|_| !is_vacuous);
    let mut kept = steps.clone();
    for one in &steps {
        let without: Vec<(&Step, Literal)> =
            kept.iter().filter(|(step, _)| !std::ptr::eq(*step, one.0)).copied().collect();
        if put.is_impossible(&propositions(&without, refuted)) {
            kept = without;
        }
    }
    let limits = put.limits_used(&propositions(&kept, refuted));
    let steps = kept.into_iter().map(|(step, _)| step).collect();
    Some(Grounds { steps, limits, is_vacuous, is_rounded: numbers == Numbers::Unrounded })
}

/// All clauses of a problem, which count.
struct Put {
    problem: Problem,
    all: Vec<usize>,
}

impl Put {
    fn weights(&mut self, change: impl FnOnce(&mut Weights)) {
        self.problem.weights.as_mut().map(change);
    }

    fn is_impossible(&mut self, propositions: &[Literal]) -> bool {
        self.problem.can_hold(propositions, &self.all) == Some(false)
    }

    /// The limits without any of which propositions could hold together that cannot.
    fn limits_used(&mut self, propositions: &[Literal]) -> Vec<&'static str> {
        let mut used = Vec::new();
        for limit in self.problem.weights.as_ref().map(Weights::limits).unwrap_or_default() {
            self.weights(|weights| weights.without.push(limit));
            if !self.is_impossible(propositions) {
                self.weights(|weights| weights.without.retain(|without| *without != limit));
                used.push(limit);
            }
        }
        used
    }
}

/// The arguments that a call has which is let by: one that lacks them has wrong arguments, or a binding without a value.
pub(super) fn always_given(policy: &Policy, function: usize) -> HashSet<String> {
    let parameters = policy.function(function).into_iter().flat_map(|function| function.parameters.iter());
    let given = parameters.filter(|parameter| !matches!(parameter.missing, Missing::LeftOut));
    given.map(|parameter| format!("input.{}", parameter.name)).collect()
}

/// Expressions that are read one after the other.
struct Reading<'p> {
    questions: Questions,
    amounts: Amounts<'p>,
    has_read_counters: bool,
}

impl Reading<'_> {
    /// Reads a step, and notes what may have changed ahead of it, within it and behind it.
    fn step<'s>(&mut self, step: &'s Step) -> Asked<'s> {
        if step.reads_counters && !self.has_read_counters {
            // the host is asked for them, and other calls may be reported meanwhile
            self.questions.pass(Changes::WhatPasses);
            self.has_read_counters = true;
        }
        let condition = step.condition.as_ref().map(|condition| self.node(condition));
        let (within, behind) = match &step.action {
            // it is asked anew with the answer, so all of it is of the time of the answer; its condition is not
            StepAction::Assert(assert) if asks(assert) => (Changes::WhatPasses, Changes::Nothing),
            StepAction::Assert(_) => (Changes::Nothing, Changes::Nothing),
            StepAction::Effect(Effect::Set(_)) | StepAction::Transform(_) => {
                (Changes::AllButInput, Changes::All)
            }
            StepAction::Effect(_) | StepAction::Invoke(_) | StepAction::Label(_) => {
                (Changes::AllButInput, Changes::AllButInput)
            }
        };
        self.questions.pass(within);
        let action = match &step.action {
            StepAction::Assert(assert) => Some(self.node(assert)),
            _ => None,
        };
        self.questions.pass(behind);
        // of what cannot be read nothing is known, and nothing follows from it
        match (condition, action) {
            (Some(None), _) | (_, Some(None)) => Asked { step, condition: None, action: None },
            (condition, action) => Asked { step, condition: condition.flatten(), action: action.flatten() },
        }
    }

    fn node(&mut self, expression: &Expression) -> Option<Node> {
        let checked = spelled_out(expression, Names::OfWhatIsThere)?;
        let first = self.questions.clauses.len();
        let node = self.questions.read(&checked);
        self.amounts.read(&checked, &self.questions, first);
        Some(node)
    }
}

fn asks(expression: &Expression) -> bool {
    expression.checked().is_none_or(|checked| asks_host(&checked, &checked.expr))
}

/// What holds of a call behind a step; nothing if that is nothing.
fn passes(asked: &Asked<'_>, problem: &mut Problem) -> Option<Literal> {
    let Asked { step, condition, action } = asked;
    if step.on_fail == OnFail::Continue {
        return None;
    }
    let always = Truth { yes: problem.always(), no: !problem.always() };
    let is_unread = step.condition.is_some() && condition.is_none();
    let condition = condition.as_ref().map_or(always, |condition| problem.truth(condition));
    let passed = match (&step.action, action) {
        _ if is_unread => return None,
        (StepAction::Assert(_), Some(action)) => problem.truth(action).yes,
        (StepAction::Assert(_), None) => return None,
        // the model has its answer, and the call does not run
        (StepAction::Effect(Effect::Respond(_)), _) => !always.yes,
        _ => always.yes,
    };
    let runs_and_passes = problem.sat.all(&[condition.yes, passed]);
    Some(problem.sat.any(&[condition.no, runs_and_passes]))
}

/// Whoever has approved of the call for a step has approved of it for what is asked of it behind all steps.
fn approvals(known: &[Clause], own: &[Clause], problem: &mut Problem) {
    for (at, clause) in own.iter().enumerate() {
        let Some(reviewer) = reviewer(&clause.asked) else { continue };
        let Some(goal) = problem.truth_of_clause(known.len().saturating_add(at)) else { continue };
        for (given, _) in
            known.iter().enumerate().filter(|(_, it)| self::reviewer(&it.asked).as_ref() == Some(&reviewer))
        {
            if let Some(given) = problem.truth_of_clause(given) {
                problem.sat.clause([!given.yes, goal.yes]);
            }
        }
    }
}

/// The people whom a review asks, as the engine tells reviews apart: by the name of the reviewer, or by the text of the panel.
fn reviewer(asked: &Expr) -> Option<String> {
    let ExprKind::Call { function, target: None, args } = &asked.kind else { return None };
    let [argument] = args.as_slice() else { return None };
    if function.text != "review" {
        return None;
    }
    match constant(argument)? {
        Value::String(reviewer) => Some(reviewer),
        panel @ Value::Object(_) => {
            let panel = ReviewPanel::read(Json::from(&panel).root()).ok()?;
            Some(panel.to_string())
        }
        _ => None,
    }
}

/// The value of an expression that is made of constants alone; nothing of any other.
fn constant(expression: &Expr) -> Option<Value> {
    Some(match &expression.kind {
        ExprKind::Literal(Constant::String(text)) => text.as_str().into(),
        ExprKind::Literal(Constant::Int(number)) => (*number).into(),
        ExprKind::Literal(Constant::Bool(truth)) => (*truth).into(),
        ExprKind::List(items) => {
            let items = items.iter().map(|item| constant(&item.value).filter(|_| !item.optional));
            Value::Array(items.collect::<Option<_>>()?)
        }
        ExprKind::Map(entries) => {
            let entry = |entry: &MapEntry| match constant(&entry.key)? {
                Value::String(key) if !entry.optional => Some((key, constant(&entry.value)?)),
                _ => None,
            };
            Value::Object(entries.iter().map(entry).collect::<Option<_>>()?)
        }
        _ => return None,
    })
}
