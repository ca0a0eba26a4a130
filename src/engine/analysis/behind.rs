//! What is said of a task, said ahead of a further call: of the task as it will be behind it.
//!
//! In: an expression over the calls of a task, a function and how its call ends. Out: an expression that is true ahead of the call if the first one is true behind it: where a tally
//! stands, the same with what the call adds; where `exists` or `all` goes through calls, the same or the call at hand. So whether something stays true is a question about one call,
//! whose arguments are `input`. Nothing, where the expression reads what is not understood. Linear in the expression, but for conditions, which double what they stand around.

use super::calls::{Calls, Status, is_unknown};
use super::reach::Reach;
use super::tally::{Tally, or_open};
use super::written::{call, conjunction, ident, with};
use crate::cel::{Checked, Comprehension, ComprehensionKind, Expr, ExprId, ExprKind, Literal, Type};
use crate::context::Root;
use crate::policy::{Expression, Policy};

/// Something that is said of a task.
pub(crate) struct Told<'p> {
    policy: &'p Policy,
    checked: Checked,
}

/// The name of the arguments of the call at hand.
const INPUT: &str = "input";

/// The most tallies in one comparison.
const MAX_TALLIES: usize = 4;

impl<'p> Told<'p> {
    pub(crate) fn new(policy: &'p Policy, expression: &Expression) -> Option<Self> {
        Some(Self { policy, checked: expression.checked()? })
    }

    /// As text.
    pub(crate) fn text(&self) -> String {
        self.checked.expr.to_string()
    }

    /// The same, said ahead of a call of a function that will stand so. It is the same text where the call changes nothing.
    pub(crate) fn behind(&self, function: usize, status: Status) -> Option<String> {
        Some(self.part_behind(&self.checked.expr, (function, status))?.to_string())
    }

    /// The same of a task in which nothing was called.
    pub(crate) fn at_first(&self) -> Option<String> {
        Some(self.part_at_first(&self.checked.expr)?.to_string())
    }

    /// What a call of a function adds to the sums if it succeeds: whether it is above or below a number, as text, for each of them.
    pub(crate) fn additions(&self, function: usize, order: &str, number: f64) -> Option<Vec<String>> {
        let mut additions = Vec::new();
        for (_, tally) in self.tallies(&self.checked.expr) {
            let case = tally.calls.case(self.policy, &self.checked, (function, Status::Successful), INPUT)?;
            let Some(conditions) = case else { continue };
            let key = &self.policy.function(function)?.key;
            let Some(addition) = tally.addition(&self.checked, key, INPUT)? else { continue };
            let number = with(&addition, ExprKind::Literal(Literal::Double(number)));
            let says = call(&addition, order, vec![addition.clone(), number]);
            let says = match conjunction(conditions) {
                Some(condition) => {
                    let opposite = call(&says, "!_", vec![condition]);
                    call(&says, "_||_", vec![opposite, says.clone()])
                }
                None => says,
            };
            if is_unknown(&says) {
                return None;
            }
            additions.push(says.to_string());
        }
        additions.dedup();
        Some(additions)
    }

    /// The same with open calls counted as if they had succeeded; nothing where a tally is about other calls, or where more could make it true: then that is
    /// not the worst that can come.
    pub(crate) fn with_open_calls(&self) -> Option<Self> {
        if !self.bounds_above(&self.checked.expr, true) {
            return None;
        }
        let mut checked = self.checked.clone();
        for (id, tally) in self.tallies(&self.checked.expr) {
            let own = part(&self.checked.expr, id)?;
            let changed = tally.with_open_calls(own)?;
            let is_so = |tally: &Tally| tally.counts_commitments();
            Tally::read(self.policy, &self.checked, &changed).filter(is_so)?;
            replace(&mut checked.expr, id, &changed);
        }
        let mut loops = Vec::new();
        self.find_loops(&self.checked.expr, &mut loops);
        for own in loops {
            let mut changed = own.clone();
            or_open(&mut changed);
            if !self.loops_over_commitments(&changed)? {
                return None;
            }
            replace(&mut checked.expr, own.id, &changed);
        }
        Some(Self { checked, ..*self })
    }

    fn find_loops<'e>(&self, expr: &'e Expr, found: &mut Vec<&'e Expr>) {
        match self.loop_over_calls(expr) {
            Some(_) => found.push(expr),
            None => expr.for_each_part(&mut |part| self.find_loops(part, found)),
        }
    }

    /// Whether `all` or `exists` asks of an open call what it asks of one that has succeeded, and of no other call anything.
    fn loops_over_commitments(&self, expr: &Expr) -> Option<bool> {
        let (comprehension, calls) = self.loop_over_calls(expr)?;
        let is_moot = comprehension.kind == ComprehensionKind::All;
        let loop_asks = |function: usize, status: Status| -> Option<Option<String>> {
            let at_hand = (function, status);
            let Some(mut conditions) = calls.case(self.policy, &self.checked, at_hand, INPUT)? else {
                return Some(None);
            };
            let body = (&*comprehension.variable.text, &comprehension.body);
            let asked = calls.asked(self.policy, &self.checked, at_hand, body, INPUT)?;
            if matches!(asked.kind, ExprKind::Literal(Literal::Bool(value)) if value == is_moot) {
                return Some(None);
            }
            conditions.push(asked);
            Some(conjunction(conditions).map(|all| all.to_string()))
        };
        let mut is_so = true;
        for function in 0..self.policy.functions().len() {
            let [successful, errored, restricted, open] =
                Status::ALL.map(|status| loop_asks(function, status));
            is_so &= successful? == open? && errored?.is_none() && restricted?.is_none();
        }
        Some(is_so)
    }

    /// The same, and that each sum is at most so often its calls as is said.
    pub(crate) fn with_bounds(&self, most: f64) -> Option<Self> {
        let mut checked = self.checked.clone();
        let sums = self.tallies(&self.checked.expr).into_iter().filter(|(_, tally)| !tally.is_count());
        for (id, tally) in sums {
            let own = part(&self.checked.expr, id)?;
            let count = call(own, "double", vec![tally.count_of(own)?]);
            let most = with(own, ExprKind::Literal(Literal::Double(most)));
            let bound = call(own, "_*_", vec![most, count]);
            let bound = call(own, "_<=_", vec![own.clone(), bound]);
            checked.expr = call(&self.checked.expr, "_&&_", vec![checked.expr.clone(), bound]);
        }
        Some(Self { checked, ..*self })
    }

    /// Whether it may read calls of `invoke` steps, too.
    pub(crate) fn reads_invoked(&self) -> bool {
        let mut loops = Vec::new();
        self.find_loops(&self.checked.expr, &mut loops);
        let in_loops = loops.into_iter().filter_map(|own| self.loop_over_calls(own));
        self.tallies(&self.checked.expr).iter().any(|(_, tally)| tally.has_invoked())
            || in_loops.into_iter().any(|(_, calls)| calls.is_record)
    }

    /// Whether it sums something up.
    pub(crate) fn has_sums(&self) -> bool {
        self.tallies(&self.checked.expr).iter().any(|(_, tally)| !tally.is_count())
    }

    /// The tallies in a part, none within another.
    fn tallies(&self, expr: &Expr) -> Vec<(ExprId, Tally)> {
        let mut found = Vec::new();
        self.find(expr, &mut found);
        found
    }

    fn find(&self, expr: &Expr, found: &mut Vec<(ExprId, Tally)>) {
        match Tally::read(self.policy, &self.checked, expr) {
            Some(tally) => found.push((expr.id, tally)),
            None => expr.for_each_part(&mut |part| self.find(part, found)),
        }
    }

    /// The operands of what joins truths.
    fn joined(expr: &Expr) -> Option<(&str, &[Expr])> {
        match &expr.kind {
            ExprKind::Call { function, target: None, args } => {
                let joins = matches!(function.text.as_str(), "_&&_" | "_||_" | "!_" | "_?_:_");
                joins.then_some((&*function.text, args))
            }
            _ => None,
        }
    }

    fn part_behind(&self, expr: &Expr, at_hand: (usize, Status)) -> Option<Expr> {
        if let Some((joins, args)) = Self::joined(expr) {
            let args: Option<Vec<Expr>> = args.iter().map(|part| self.part_behind(part, at_hand)).collect();
            return Some(call(expr, joins, args?));
        }
        if let Some((comprehension, calls)) = self.loop_over_calls(expr) {
            let case = calls.case(self.policy, &self.checked, at_hand, INPUT)?;
            let Some(mut conditions) = case else { return Some(expr.clone()) };
            let asked = calls.asked(
                self.policy,
                &self.checked,
                at_hand,
                (&comprehension.variable.text, &comprehension.body),
                INPUT,
            )?;
            let new = if comprehension.kind == ComprehensionKind::Exists {
                conditions.push(asked);
                call(expr, "_||_", vec![conjunction(conditions)?, expr.clone()])
            } else {
                let asked = match conjunction(conditions) {
                    Some(condition) => call(expr, "_||_", vec![call(expr, "!_", vec![condition]), asked]),
                    None => asked,
                };
                call(expr, "_&&_", vec![asked, expr.clone()])
            };
            return (!is_unknown(&new)).then_some(new);
        }
        let tallies = self.tallies(expr);
        if tallies.len() > MAX_TALLIES || !self.reads_nothing_else(expr, &tallies) {
            return None;
        }
        let mut cases = Vec::new();
        for (id, tally) in &tallies {
            let Some(conditions) = tally.calls.case(self.policy, &self.checked, at_hand, INPUT)? else {
                continue;
            };
            let own = part(expr, *id)?;
            let key = &self.policy.function(at_hand.0)?.key;
            let addition = tally.addition(&self.checked, key, INPUT)?;
            let addition = addition.unwrap_or_else(|| with(own, ExprKind::Literal(Literal::Int(1))));
            cases.push((*id, conjunction(conditions), call(own, "_+_", vec![own.clone(), addition])));
        }
        let new = added(expr, &cases);
        (!is_unknown(&new)).then_some(new)
    }

    fn part_at_first(&self, expr: &Expr) -> Option<Expr> {
        if let Some((joins, args)) = Self::joined(expr) {
            let args: Option<Vec<Expr>> = args.iter().map(|part| self.part_at_first(part)).collect();
            return Some(call(expr, joins, args?));
        }
        if let Some((comprehension, _)) = self.loop_over_calls(expr) {
            let is_true = comprehension.kind == ComprehensionKind::All;
            return Some(with(expr, ExprKind::Literal(Literal::Bool(is_true))));
        }
        let tallies = self.tallies(expr);
        if !self.reads_nothing_else(expr, &tallies) {
            return None;
        }
        let mut first = expr.clone();
        for (id, _) in &tallies {
            let own = part(expr, *id)?;
            let zero = match self.checked.type_of(*id) {
                Type::Double => Literal::Double(0.0),
                Type::Int => Literal::Int(0),
                _ => return None,
            };
            replace(&mut first, *id, &with(own, ExprKind::Literal(zero)));
        }
        Some(first)
    }

    /// `exists` and `all` over calls.
    fn loop_over_calls<'e>(&self, expr: &'e Expr) -> Option<(&'e Comprehension, Calls)> {
        let ExprKind::Comprehension(comprehension) = &expr.kind else { return None };
        let is_one = matches!(comprehension.kind, ComprehensionKind::Exists | ComprehensionKind::All);
        let calls = Calls::read(self.policy, &self.checked, &comprehension.range)?;
        (is_one && comprehension.second.is_none()).then_some((comprehension, calls))
    }

    /// Whether a part reads, beside its tallies, nothing that a call may change.
    fn reads_nothing_else(&self, expr: &Expr, tallies: &[(ExprId, Tally)]) -> bool {
        let mut rest = expr.clone();
        for (id, _) in tallies {
            replace(&mut rest, *id, &ident(expr, Root::Call.name()));
        }
        let Reach { input, calls, other, .. } = Reach::of(&self.checked, &rest);
        !input && !other && calls.is_empty()
    }

    /// Whether fewer calls, and smaller ones, never make it false.
    fn bounds_above(&self, expr: &Expr, is_positive: bool) -> bool {
        match Self::joined(expr) {
            Some(("_&&_" | "_||_", args)) => args.iter().all(|part| self.bounds_above(part, is_positive)),
            Some(("!_", args)) => args.iter().all(|part| self.bounds_above(part, !is_positive)),
            _ if self.loop_over_calls(expr).is_some() => {
                let is_all =
                    matches!(&expr.kind, ExprKind::Comprehension(it) if it.kind == ComprehensionKind::All);
                is_all == is_positive
            }
            _ => {
                let tallies = self.tallies(expr);
                if tallies.is_empty() {
                    return self.reads_nothing_else(expr, &tallies);
                }
                let ExprKind::Call { function, target: None, args } = &expr.kind else { return false };
                let [left, right] = args.as_slice() else { return false };
                let is_below = match function.text.as_str() {
                    "_<_" | "_<=_" => is_positive,
                    "_>_" | "_>=_" => !is_positive,
                    _ => return false,
                };
                self.rises(left, is_below) && self.rises(right, !is_below)
            }
        }
    }

    /// Whether all tallies of a sum are added, or all are taken away.
    fn rises(&self, expr: &Expr, is_added: bool) -> bool {
        if Tally::read(self.policy, &self.checked, expr).is_some() {
            return is_added;
        }
        let ExprKind::Call { function, target: None, args } = &expr.kind else {
            return self.tallies(expr).is_empty();
        };
        let is_positive = |expr: &Expr| match &expr.kind {
            ExprKind::Literal(Literal::Int(value)) => *value > 0,
            ExprKind::Literal(Literal::Double(value)) => *value > 0.0,
            _ => false,
        };
        match (function.text.as_str(), args.as_slice()) {
            ("_+_", [left, right]) => self.rises(left, is_added) && self.rises(right, is_added),
            ("_-_", [left, right]) => self.rises(left, is_added) && self.rises(right, !is_added),
            ("_*_", [by, of]) if is_positive(by) => self.rises(of, is_added),
            ("_*_", [of, by]) if is_positive(by) => self.rises(of, is_added),
            ("double", [of]) => self.rises(of, is_added),
            _ => self.tallies(expr).is_empty(),
        }
    }
}

/// A comparison with what each tally becomes, under its condition if it has one.
fn added(expr: &Expr, cases: &[(ExprId, Option<Expr>, Expr)]) -> Expr {
    let Some(((id, condition, new), rest)) = cases.split_first() else { return expr.clone() };
    let mut changed = expr.clone();
    replace(&mut changed, *id, new);
    let changed = added(&changed, rest);
    match condition {
        None => changed,
        Some(condition) => call(expr, "_?_:_", vec![condition.clone(), changed, added(expr, rest)]),
    }
}

/// The part of this number.
fn part(expr: &Expr, id: ExprId) -> Option<&Expr> {
    if expr.id == id {
        return Some(expr);
    }
    let mut found = None;
    expr.for_each_part(&mut |inner| found = found.or_else(|| part(inner, id)));
    found
}

/// Puts another expression in the place of the part of this number.
fn replace(expr: &mut Expr, id: ExprId, new: &Expr) {
    if expr.id == id {
        *expr = new.clone();
    } else {
        expr.for_each_part_mut(&mut |part| replace(part, id, new));
    }
}
