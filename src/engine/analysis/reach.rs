//! What an expression reads, as far as steps and time may change it: arguments, calls on record, anything else.
//!
//! In: an expression. Out: a [`Reach`], and whether a reading of calls lasts while a call waits for a person. The engine lets no call by that would change what
//! the waiting call has read (`task/waiting/queue.rs`). But a call that is taken back from the queue is recorded as restricted, and one with wrong
//! arguments as errored. So a reading lasts if its functions are among those that the steps read, and if it asks of successful calls alone. Linear in the
//! expression, times the macros that stand within each other.

use crate::cel::{Checked, Comprehension, ComprehensionKind, Expr, ExprId, ExprKind, Literal, Reference};
use crate::context::{ContextSchema, FunctionId, Root, Selector};
use crate::manifest::step::Hook;
use crate::policy::{Policy, Step, StepAction, for_each_path};
use std::collections::BTreeSet;
use std::sync::Arc;

/// What an expression reads.
#[derive(Clone, Debug, Default)]
pub(super) struct Reach {
    pub(super) input: bool,
    /// The paths to calls on record, behind `context`.
    pub(super) calls: Vec<Vec<Selector>>,
    /// Whether it asks of calls that succeeded, and of no other.
    pub(super) of_successful: bool,
    /// Anything else that may change.
    pub(super) other: bool,
}

impl Reach {
    pub(super) fn of(checked: &Checked, expr: &Expr) -> Self {
        let mut reach = Self { of_successful: asks_of_successful(checked, expr), ..Self::default() };
        for_each_path(expr, &mut |root, path| {
            let root = Root::long_name(root);
            if root == Root::Input.name() {
                reach.input = true;
            } else if root == Root::Context.name() {
                match path.first() {
                    Some(Selector::Name(part))
                        if matches!(part.as_str(), "calls" | "capabilities" | "cap") =>
                    {
                        reach.calls.push(path.to_vec());
                    }
                    // who works for whom is settled when the task begins
                    Some(Selector::Name(part)) if matches!(part.as_str(), "user" | "agent" | "request") => {}
                    _ => reach.other = true,
                }
            } else {
                reach.other |= root != Root::Call.name();
            }
        });
        reach
    }

    /// What both read.
    pub(super) fn and(mut self, other: &Self) -> Self {
        self.input |= other.input;
        self.other |= other.other;
        self.of_successful &= other.of_successful;
        self.calls.extend(other.calls.iter().cloned());
        self
    }
}

/// The calls on record that a call keeps from changing, as its decision has read them.
pub(super) struct Lasting {
    schema: Arc<ContextSchema>,
    /// The functions of which no call is open when the call begins, and none is let through while it waits.
    closed: BTreeSet<usize>,
    /// Those of which none is let through while it waits.
    held: BTreeSet<usize>,
}

impl Lasting {
    /// Until a call of this function is let through; nothing where steps beside those of calls invoke functions, which wait for nobody.
    pub(super) fn until_let_through(policy: &Policy, function: usize) -> Option<Self> {
        let invokes = |step: &Step| matches!(step.action, StepAction::Invoke(_));
        let of_output = policy.guardrails(Hook::GuardrailAfter);
        let of_model = [Hook::ModelBefore, Hook::ModelAfter].map(|hook| policy.steps_of_model(hook));
        if of_model.into_iter().chain([of_output]).any(|list| list.iter().any(invokes)) {
            return None;
        }
        let reads = &policy.dependencies(function)?.reads;
        let changes = |other: &usize| policy.dependencies(*other).map(|other| &other.changes);
        let all = || 0..policy.functions().len();
        Some(Self {
            schema: policy.schema().clone(),
            closed: all().filter(|other| changes(other).is_some_and(|it| reads.meet_open(it))).collect(),
            held: all().filter(|other| changes(other).is_some_and(|it| reads.meet(it))).collect(),
        })
    }

    /// Until its result is taken: then those count alone whose decisions wait for open calls of this function.
    pub(super) fn until_closed(policy: &Policy, function: usize) -> Option<Self> {
        let own = &policy.dependencies(function)?.changes;
        let invoked: Vec<usize> = policy.invoked().collect();
        let waits = |other: &usize| {
            !invoked.contains(other) && policy.dependencies(*other).is_some_and(|it| it.reads.meet_open(own))
        };
        let Self { schema, closed, .. } = Self::until_let_through(policy, function)?;
        let closed: BTreeSet<usize> = closed.into_iter().filter(waits).collect();
        Some(Self { schema, held: closed.clone(), closed })
    }

    /// Whether calls that are read so are the same for as long as the call waits.
    pub(super) fn covers(&self, reach: &Reach) -> bool {
        let closes = |FunctionId(at): FunctionId| self.closes(at as usize);
        reach.of_successful
            && reach.calls.iter().all(|path| {
                match self.schema.calls_on_path(Root::Context.name(), path).functions {
                    Some(functions) => functions.into_iter().all(closes),
                    None => self.schema.functions().all(|(function, _)| closes(function)),
                }
            })
    }

    /// Whether no call of a function succeeds as long as the call waits.
    pub(super) fn closes(&self, function: usize) -> bool {
        self.closed.contains(&function)
    }

    /// Whether none is let through.
    pub(super) fn holds(&self, function: usize) -> bool {
        self.held.contains(&function)
    }
}

/// Whether whatever is read of calls is about those that succeeded.
fn asks_of_successful(checked: &Checked, expr: &Expr) -> bool {
    if is_of_calls(checked, expr) {
        return matches!(&expr.kind, ExprKind::Select { field, .. } if field.text == "count_successful");
    }
    let mut all = true;
    match &expr.kind {
        ExprKind::Comprehension(comprehension) => {
            let Comprehension { range, filter, body, .. } = &**comprehension;
            all = match list_of_successful(checked, range) {
                Some(already) => already || leaves_others_out(comprehension),
                None => asks_of_successful(checked, range),
            };
            for part in filter.iter().chain([body]) {
                all &= asks_of_successful(checked, part);
            }
        }
        _ => expr.for_each_part(&mut |part| all &= asks_of_successful(checked, part)),
    }
    all
}

/// Of a list of calls, whether those are left out that did not succeed; nothing if it is no list of calls.
fn list_of_successful(checked: &Checked, list: &Expr) -> Option<bool> {
    match &list.kind {
        ExprKind::Comprehension(comprehension) if comprehension.kind == ComprehensionKind::Filter => {
            let already = list_of_successful(checked, &comprehension.range)?;
            Some(already || leaves_others_out(comprehension))
        }
        _ => is_of_calls(checked, list).then_some(false),
    }
}

/// Whether an expression is a path to what is known of calls.
fn is_of_calls(checked: &Checked, expr: &Expr) -> bool {
    match &expr.kind {
        ExprKind::Select { operand, field, .. } => {
            let is_record = matches!(field.text.as_str(), "calls" | "capabilities" | "cap")
                && is_root(checked, operand, Root::Context);
            is_record || is_of_calls(checked, operand)
        }
        ExprKind::Index { operand, .. } => is_of_calls(checked, operand),
        _ => false,
    }
}

/// Whether a macro passes over every call that did not succeed.
fn leaves_others_out(comprehension: &Comprehension) -> bool {
    let Comprehension { kind, variable, second: None, filter, body, .. } = comprehension else {
        return false;
    };
    match kind {
        ComprehensionKind::Filter | ComprehensionKind::Exists | ComprehensionKind::ExistsOne => {
            asks_for_success(body, &variable.text, ("_&&_", "_==_"))
        }
        ComprehensionKind::All => asks_for_success(body, &variable.text, ("_||_", "_!=_")),
        ComprehensionKind::Map => {
            filter.as_ref().is_some_and(|filter| asks_for_success(filter, &variable.text, ("_&&_", "_==_")))
        }
        _ => false,
    }
}

/// Whether `t.status == 'successful'` stands among the parts of an expression.
fn asks_for_success(expr: &Expr, variable: &str, (joins, compares): (&str, &str)) -> bool {
    let ExprKind::Call { function, target: None, args } = &expr.kind else { return false };
    let is_status = |expr: &Expr| {
        matches!(&expr.kind, ExprKind::Select { operand, field, .. } if field.text == "status"
            && matches!(&operand.kind, ExprKind::Ident { name, .. } if name == variable))
    };
    let is_word = |expr: &Expr| matches!(&expr.kind, ExprKind::Literal(Literal::String(word)) if &**word == "successful");
    match args.as_slice() {
        [left, right] if function.text == compares => {
            is_status(left) && is_word(right) || is_word(left) && is_status(right)
        }
        [left, right] if function.text == joins => {
            [left, right].into_iter().any(|part| asks_for_success(part, variable, (joins, compares)))
        }
        _ => false,
    }
}

/// The long name of the variable of the scope that a name is; nothing for the variable of a macro.
pub(super) fn root<'n>(checked: &Checked, id: ExprId, name: &'n str) -> Option<&'n str> {
    match checked.reference(id) {
        Some(Reference::Variable(_)) => Some(Root::long_name(name)),
        _ => None,
    }
}

/// Whether an expression is this variable of the scope.
pub(super) fn is_root(checked: &Checked, expr: &Expr, wanted: Root) -> bool {
    matches!(&expr.kind, ExprKind::Ident { name, .. } if root(checked, expr.id, name) == Some(wanted.name()))
}
