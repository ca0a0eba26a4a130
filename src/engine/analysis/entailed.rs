//! What holds of every call that the steps ahead of it let by.
//!
//! In: a policy, a function and an expression that is asked of its calls. Out: the steps because of which the expression is true of every call that is
//! let by, or nothing where that is not known. A step counts if it stops what fails: it decides, and its `on_fail` is no `continue`. An error in it is a
//! failure. Whatever takes time may change what expressions read: a question to a person, a counter, a tool that is invoked. What is read behind it
//! is then not what was read before; the arguments alone stay, until a step sets them.

use super::cells::Trial;
use super::formula::{Changes, Clause, MAX_CLAUSES, Node, Questions};
use super::problem::{Problem, Truth};
use super::sat::Literal;
use super::subject::asks_host;
use super::tried;
use crate::cel::{Expr, ExprKind, Literal as Constant};
use crate::manifest::mode::Mode;
use crate::manifest::step::{Hook, OnFail};
use crate::policy::{Effect, Expression, Policy, Step, StepAction};

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
    /// Whether no call is ever let by.
    pub(crate) is_vacuous: bool,
}

/// The steps that make an expression true of every call of a function that is let by; nothing where it is not known whether it is.
pub(crate) fn entailed<'p>(policy: &'p Policy, function: usize, goal: &Expression) -> Option<Grounds<'p>> {
    let name = &policy.function(function)?.name;
    let mut trial = Trial::new(tried(&policy.limits().eval));
    let mut questions = Questions::default();
    let decides = |step: &&Step| step.mode == Mode::Enforce && step.is_for(name);
    let mut asked = Vec::new();
    let mut has_read_counters = false;
    for step in policy.steps_of_call(Hook::Before, function).iter().filter(decides) {
        asked.push(read(step, &mut questions, &mut has_read_counters));
    }
    let checked = goal.checked()?;
    let first = questions.clauses.len();
    let goal = questions.read(&checked);
    if questions.clauses.len() > MAX_CLAUSES {
        return None;
    }
    let mut problem = Problem::new(&questions, &mut trial);
    let all: Vec<usize> = (0..questions.clauses.len()).collect();
    let (known, own) = questions.clauses.split_at_checked(first)?;
    approvals(known, own, &mut problem);
    let passes: Vec<Option<Literal>> = asked.iter().map(|asked| passes(asked, &mut problem)).collect();
    let fails = !problem.truth(&goal).yes;
    let mut steps: Vec<(&Step, Literal)> = Vec::new();
    for (asked, passes) in asked.iter().zip(passes) {
        steps.extend(passes.map(|passes| (asked.step, passes)));
    }
    let mut can_hold = |steps: &[(&Step, Literal)], more: Option<Literal>| {
        let propositions: Vec<Literal> = steps.iter().map(|(_, passes)| *passes).chain(more).collect();
        problem.can_hold(&propositions, &all)
    };
    if can_hold(&steps, Some(fails)) != Some(false) {
        return None;
    }
    let is_vacuous = can_hold(&steps, None) == Some(false);
    let refuted = Some(fails).filter(|_| !is_vacuous);
    let mut kept = steps.clone();
    for one in &steps {
        let without: Vec<(&Step, Literal)> =
            kept.iter().filter(|(step, _)| !std::ptr::eq(*step, one.0)).copied().collect();
        if can_hold(&without, refuted) == Some(false) {
            kept = without;
        }
    }
    Some(Grounds { steps: kept.into_iter().map(|(step, _)| step).collect(), is_vacuous })
}

/// Reads a step, and notes what may have changed ahead of it, within it and behind it.
fn read<'p>(step: &'p Step, questions: &mut Questions, has_read_counters: &mut bool) -> Asked<'p> {
    if step.reads_counters && !*has_read_counters {
        // the host is asked for them, and other calls may be reported meanwhile
        questions.pass(Changes::AllButInput);
        *has_read_counters = true;
    }
    let condition = step.condition.as_ref().map(|condition| node(condition, questions));
    let (within, behind) = match &step.action {
        // it is asked anew with the answer, so all of it is of the time of the answer; its condition is not
        StepAction::Assert(assert) if asks(assert) => (Changes::AllButInput, Changes::Nothing),
        StepAction::Assert(_) => (Changes::Nothing, Changes::Nothing),
        StepAction::Effect(Effect::Set(_)) | StepAction::Transform(_) => (Changes::AllButInput, Changes::All),
        StepAction::Effect(_) | StepAction::Invoke(_) | StepAction::Label(_) => {
            (Changes::AllButInput, Changes::AllButInput)
        }
    };
    questions.pass(within);
    let action = match &step.action {
        StepAction::Assert(assert) => Some(node(assert, questions)),
        _ => None,
    };
    questions.pass(behind);
    // of what cannot be read nothing is known, and nothing follows from it
    match (condition, action) {
        (Some(None), _) | (_, Some(None)) => Asked { step, condition: None, action: None },
        (condition, action) => Asked { step, condition: condition.flatten(), action: action.flatten() },
    }
}

fn node(expression: &Expression, questions: &mut Questions) -> Option<Node> {
    Some(questions.read(&expression.checked()?))
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
            known.iter().enumerate().filter(|(_, it)| self::reviewer(&it.asked) == Some(reviewer))
        {
            if let Some(given) = problem.truth_of_clause(given) {
                problem.sat.clause([!given.yes, goal.yes]);
            }
        }
    }
}

/// The person whom `review('…')` asks.
fn reviewer(asked: &Expr) -> Option<&str> {
    let ExprKind::Call { function, target: None, args } = &asked.kind else { return None };
    match args.as_slice() {
        [Expr { kind: ExprKind::Literal(Constant::String(reviewer)), .. }] if function.text == "review" => {
            Some(reviewer)
        }
        _ => None,
    }
}
