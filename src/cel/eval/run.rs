//! One run of a plan, from the outside: what it needs is set up, the evaluator walks, and what came of it is told.
//!
//! In: a plan with its guards, an activation, the limits, and the host if there is one. Out: a value or a truth, or why there
//! is none, and the cost either way. A step over constants, whose value the planner wants, is run here too.

use super::activation::{Activation, HostFunctions};
use super::error::{Outcome, Stop};
use super::evaluator::Evaluator;
use super::guard::Guards;
use super::place::Variables;
use super::progress::Progress;
use super::recording::Recording;
use super::remembered::Remembered;
use super::watch::{Notes, Unwatched, Watch};
use crate::fault::ErrorCode;
use crate::limits::EvalLimits;
use crate::meter::Meter;
use crate::plan::{Node, NodeId, Plan};
use crate::value::Value;

/// How many variables of loops fit without an allocation.
const FEW_LOCALS: usize = 6;

/// Runs a plan for its value. Says what it cost, whether it gave one or not.
#[inline(always)]
pub(crate) fn run<'a>(
    (plan, guards): (&'a Plan, &'a Guards),
    activation: &Activation<'a>,
    limits: &EvalLimits,
    (host, remembered): (Option<&mut (dyn HostFunctions + '_)>, &mut Remembered<'a>),
) -> (Result<Value<'a>, Stop>, u64) {
    let begins = (host, remembered, Unwatched);
    start((plan, guards), activation, limits, begins, |evaluator| evaluator.eval(plan.root))
}

/// The truth of a plan that is a guard as a whole, and what it cost, if the guard can tell. Builds with assertions do not
/// trust it.
#[inline(always)]
pub(crate) fn guarded<'a>(
    (plan, guards): (&'a Plan, &'a Guards),
    activation: &Activation<'a>,
    limits: &EvalLimits,
) -> Option<(bool, u64)> {
    if cfg!(debug_assertions) || activation.env() != plan.env {
        return None;
    }
    let stretch = Meter::new(limits).stretch();
    let (truth, left) = guards.ask(plan.root, &Variables { activation, locals: &[] }, stretch)?;
    Some((truth, stretch.saturating_sub(left)))
}

/// Runs a plan for the truth of its value, without making a value of a test.
pub(crate) fn holds<'a>(
    (plan, guards): (&'a Plan, &'a Guards),
    activation: &Activation<'a>,
    limits: &EvalLimits,
    (host, remembered): (Option<&mut (dyn HostFunctions + '_)>, &mut Remembered<'a>),
) -> (Result<bool, Stop>, u64) {
    let begins = (host, remembered, Unwatched);
    start((plan, guards), activation, limits, begins, |evaluator| match plan.node(plan.root) {
        Some(node) if node.is_test() => evaluator.bool(plan.root),
        _ => evaluator.eval(plan.root).map(|value| value.is_truthy()),
    })
}

/// Runs a plan for its value, as [`run`] does, and tells beside what each step came to.
#[inline(never)]
pub(crate) fn recorded<'a>(
    (plan, guards): (&'a Plan, &'a Guards),
    activation: &Activation<'a>,
    limits: &EvalLimits,
    (host, remembered): (Option<&mut (dyn HostFunctions + '_)>, &mut Remembered<'a>),
) -> (Result<Value<'a>, Stop>, u64, Recording<'a>) {
    let mut notes = Notes::default();
    let begins = (host, remembered, &mut notes);
    let (result, cost) =
        start((plan, guards), activation, limits, begins, |evaluator| evaluator.eval(plan.root));
    (result, cost, Recording::new(plan, *limits, notes))
}

/// Sets up what a run needs, on the stack as far as it goes.
#[inline(always)]
fn start<'a, T, W: Watch<'a>>(
    (plan, guards): (&'a Plan, &'a Guards),
    activation: &Activation<'a>,
    limits: &EvalLimits,
    begins: Begins<'_, 'a, '_, W>,
    run: impl FnOnce(&mut Evaluator<'a, '_, '_, W>) -> Option<T>,
) -> (Result<T, Stop>, u64) {
    match (plan.locals, plan.memos) {
        (0, 0) => begin((plan, guards), activation, limits, begins, (&mut [], &mut []), run),
        (1..=FEW_LOCALS, 0) => {
            let mut locals = [const { Value::Null }; FEW_LOCALS];
            begin((plan, guards), activation, limits, begins, (&mut locals, &mut []), run)
        }
        (locals, memos) => {
            let frame = (&mut *vec![Value::Null; locals], &mut *vec![None; memos]);
            begin((plan, guards), activation, limits, begins, frame, run)
        }
    }
}

/// The places for the variables of loops, and for what comes out of bindings.
type Frame<'f, 'a> = (&'f mut [Value<'a>], &'f mut [Option<Outcome<'a>>]);

/// What a run begins with: who answers, what is remembered, and who is told.
type Begins<'b, 'a, 'h, W> = (Option<&'b mut (dyn HostFunctions + 'h)>, &'b mut Remembered<'a>, W);

#[inline(always)]
fn begin<'a, T, W: Watch<'a>>(
    (plan, guards): (&'a Plan, &'a Guards),
    activation: &Activation<'a>,
    limits: &EvalLimits,
    (host, remembered, watch): Begins<'_, 'a, '_, W>,
    (locals, memos): Frame<'_, 'a>,
    run: impl FnOnce(&mut Evaluator<'a, '_, '_, W>) -> Option<T>,
) -> (Result<T, Stop>, u64) {
    let progress = Progress::new(limits);
    let mut evaluator = Evaluator {
        nodes: &plan.nodes,
        guards,
        activation,
        locals,
        memos,
        remembered,
        gaps: 0,
        progress,
        host,
        watch,
    };
    let result = if activation.env() == plan.env {
        run(&mut evaluator)
    } else {
        evaluator.progress.fail(plan.root, ErrorCode::WrongScope)
    };
    let cost = evaluator.progress.meter.spent_cost();
    match result {
        Some(value) => (Ok(value), cost),
        None => (Err(evaluator.progress.stop(plan)), cost),
    }
}

/// The value of a step over constants, for the planner, and what it cost; nothing if it fails, so that it fails when it
/// is run.
pub(crate) fn fold(nodes: &[Node], step: NodeId, limits: &EvalLimits) -> (Option<Value<'static>>, u64) {
    let (guards, activation) = (&Guards::default(), &Activation::empty());
    let progress = Progress::new(limits);
    let mut evaluator = Evaluator {
        nodes,
        guards,
        activation,
        locals: &mut [],
        memos: &mut [],
        remembered: &mut Remembered::default(),
        gaps: 0,
        progress,
        host: None,
        watch: Unwatched,
    };
    let value = evaluator.eval(step).and_then(|value| {
        // what is kept is a copy of all of it
        let meter = &mut evaluator.progress.meter;
        meter.charge(value.weight(meter.left())).ok()?;
        value.to_static()
    });
    (value, evaluator.progress.meter.spent_cost())
}
