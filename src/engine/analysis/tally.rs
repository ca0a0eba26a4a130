//! Counts and sums over calls on record: `c.cap.pay.count_successful`, `c.calls.filter(t, …).size()`, `c.cap.pay.calls.filter(t, …).map(t, …).sum()`.
//!
//! In: an expression. Out: a [`Tally`]: which calls count, by function and by how they ended, and what each adds. So two ways to write one count are one tally, and
//! what a further call does to it can be said before it is made. What counts may ask anything of the function, the status, the arguments and what does not change; else it is
//! none of these. Linear in the expression, for each function.

use super::calls::{AtHand, CALL, Calls, Element, Status, functions_of, record, text};
use super::path::key;
use super::written::{call, equals, ident, name, select, with};
use crate::cel::{Checked, Comprehension, ComprehensionKind, Expr, ExprKind};
use crate::policy::Policy;
use serde_json::json;
use std::collections::{BTreeMap, BTreeSet};

/// A count of calls, or a sum over them.
#[derive(Clone, Debug)]
pub(super) struct Tally {
    pub(super) calls: Calls,
    /// What each adds, with the name of its variable; nothing for 1.
    each: Option<(String, Expr)>,
    /// By function: under which conditions a call counts that stands so, in the order of [`Status::ALL`]; nothing where it does not count.
    cases: BTreeMap<usize, [Option<BTreeSet<String>>; 4]>,
    /// What each adds, in one way of writing.
    adds: Option<String>,
    /// Whether calls of `invoke` steps may be among those that count.
    has_invoked: bool,
}

impl Tally {
    /// The tally that an expression is; nothing if it is none.
    pub(super) fn read(policy: &Policy, checked: &Checked, expr: &Expr) -> Option<Self> {
        let (calls, each) = read(policy, checked, expr)?;
        let mut cases = BTreeMap::new();
        for function in &calls.functions {
            let mut own = [const { None }; 4];
            for (case, status) in own.iter_mut().zip(Status::ALL) {
                let left = calls.case(policy, checked, (*function, status), CALL)?;
                *case = left.map(|left| left.iter().map(|part| key(checked, part)).collect());
            }
            cases.insert(*function, own);
        }
        let adds = match &each {
            None => None,
            Some((variable, each)) => {
                let at_hand =
                    AtHand { checked, element: calls.element, key: CALL, status: Status::Open, input: CALL };
                Some(key(checked, &at_hand.substituted(variable, each)?))
            }
        };
        let has_invoked =
            calls.is_record && policy.invoked().any(|function| calls.functions.contains(&function));
        Some(Self { calls, each, cases, adds, has_invoked })
    }

    /// One name for all ways to write it.
    pub(super) fn name(&self) -> String {
        let cases = self.cases.iter().filter(|(_, own)| own.iter().any(Option::is_some));
        let of_whom = if self.has_invoked { "all" } else { "model" };
        format!("tally {}", json!([of_whom, cases.collect::<Vec<_>>(), self.adds]))
    }

    /// Whether it counts, and sums up nothing.
    pub(super) fn is_count(&self) -> bool {
        self.adds.is_none()
    }

    /// Whether calls of `invoke` steps may be among those that count.
    pub(super) fn has_invoked(&self) -> bool {
        self.has_invoked
    }

    /// What each call adds, as it is written; nothing for 1.
    pub(super) fn each(&self) -> Option<&Expr> {
        self.each.as_ref().map(|(_, each)| each)
    }

    /// Whether it is known for every history: what counts is asked of nothing that may fail.
    pub(super) fn is_sure(&self) -> bool {
        let is_plain = |case: &BTreeSet<String>| case.is_empty();
        self.is_count() && self.cases.values().flatten().flatten().all(is_plain)
    }

    /// What the call at hand adds, its arguments written under this name.
    pub(super) fn addition(&self, checked: &Checked, key: &str, input: &str) -> Option<Option<Expr>> {
        let Some((variable, each)) = &self.each else { return Some(None) };
        let at_hand = AtHand { checked, element: self.calls.element, key, status: Status::Successful, input };
        Some(Some(at_hand.substituted(variable, each)?))
    }

    /// Whether a call of this function counts that stands so, and under no condition but those of `other`.
    fn counts_no_more_than(&self, other: &Self) -> bool {
        let none = [const { None }; 4];
        self.cases.iter().all(|(function, own)| {
            let theirs = other.cases.get(function).unwrap_or(&none);
            own.iter().zip(theirs).all(|pair| match pair {
                (None, _) => true,
                (Some(_), None) => false,
                // whatever fulfils more conditions fulfils fewer
                (Some(own), Some(theirs)) => theirs.is_subset(own),
            })
        })
    }

    /// Whether it is at most another one at any time, if nothing that is added is below 0 where `is_never_negative` says so.
    pub(super) fn is_at_most(&self, other: &Self, is_never_negative: &dyn Fn(&Self) -> bool) -> bool {
        let is_alike = self.adds == other.adds && self.counts_no_more_than(other);
        let is_within = other.has_invoked || !self.has_invoked;
        is_alike
            && is_within
            && (other.is_count()
                || other.has_invoked == self.has_invoked && other.counts_no_more_than(self)
                || is_never_negative(other))
    }

    /// Whether those calls alone count that succeeded.
    pub(super) fn is_of_successful(&self) -> bool {
        self.cases
            .values()
            .all(|[_, errored, restricted, open]| errored.is_none() && restricted.is_none() && open.is_none())
    }

    /// Whether a call that counts once counts for ever, however it ends.
    pub(super) fn never_falls(&self) -> bool {
        self.cases.values().all(|[successful, errored, restricted, open]| {
            let is_kept = |case: &Option<BTreeSet<String>>, later: [&Option<BTreeSet<String>>; 2]| {
                case.is_none() || later.iter().all(|it| *it == case)
            };
            let of_open = open.is_none() || successful == open && errored == open && restricted == open;
            of_open
                && is_kept(successful, [restricted, restricted])
                && is_kept(errored, [errored, restricted])
        })
    }

    /// The count of the calls of a sum.
    pub(super) fn count_of(&self, expr: &Expr) -> Option<Expr> {
        let ExprKind::Call { target, args, .. } = &expr.kind else { return None };
        let ExprKind::Comprehension(map) = &target.as_deref().or_else(|| args.first())?.kind else {
            return None;
        };
        let range = match &map.filter {
            None => map.range.clone(),
            Some(filter) => {
                let filtered = Comprehension {
                    kind: ComprehensionKind::Filter,
                    filter: None,
                    body: filter.clone(),
                    name: name(expr, "filter"),
                    ..(**map).clone()
                };
                with(expr, ExprKind::Comprehension(Box::new(filtered)))
            }
        };
        Some(call(expr, "size", vec![range]))
    }

    /// The functions of which some call counts.
    pub(super) fn functions(&self) -> impl Iterator<Item = usize> {
        let counts = self.cases.iter().filter(|(_, own)| own.iter().any(Option::is_some));
        counts.map(|(function, _)| *function)
    }

    /// The argument that each call adds, if it adds one as it is.
    pub(super) fn argument(&self) -> Option<&str> {
        let adds = self.adds.as_deref()?;
        let adds = adds.strip_prefix("double(").and_then(|inner| inner.strip_suffix(')')).unwrap_or(adds);
        let name = adds.strip_prefix(CALL)?.strip_prefix("_of_macro.")?;
        (!name.contains(['.', '[', '(', ' '])).then_some(name)
    }

    /// Whether a call that is open counts as it will if it succeeds, and no other call does.
    pub(super) fn counts_commitments(&self) -> bool {
        self.cases.values().all(|[successful, errored, restricted, open]| {
            successful == open && errored.is_none() && restricted.is_none()
        })
    }

    /// The expression that counts an open call as one that has succeeded, if this one counts successful calls; nothing if it is another kind of tally.
    pub(super) fn with_open_calls(&self, expr: &Expr) -> Option<Expr> {
        if self.has_invoked {
            return None;
        }
        if self.counts_commitments() {
            return Some(expr.clone());
        }
        let mut changed = expr.clone();
        if self.calls.only == Some(Status::Successful) {
            let ExprKind::Select { operand, .. } = &expr.kind else { return None };
            let list = select(expr, (**operand).clone(), "calls");
            let (variable, status) = (name(expr, "t"), Status::Successful.as_str());
            let status = equals(expr, select(expr, ident(expr, "t"), "status"), status);
            let body = call(expr, "_||_", vec![status, select(expr, ident(expr, "t"), "open")]);
            let filter = Comprehension {
                kind: ComprehensionKind::Filter,
                range: list,
                variable,
                second: None,
                filter: None,
                body,
                name: name(expr, "filter"),
            };
            let filter = with(expr, ExprKind::Comprehension(Box::new(filter)));
            return Some(with(
                expr,
                ExprKind::Call { function: name(expr, "size"), target: Some(Box::new(filter)), args: vec![] },
            ));
        }
        or_open(&mut changed);
        Some(changed)
    }
}

/// Puts `t.status == 'successful' || t.open` in the place of `t.status == 'successful'`, and its opposite in the place of `t.status != 'successful'`.
pub(super) fn or_open(expr: &mut Expr) {
    let found = match &expr.kind {
        ExprKind::Call { function, target: None, args } => {
            let status = args.iter().find_map(|part| match &part.kind {
                ExprKind::Select { operand, field, .. } if field.text == "status" => Some(operand),
                _ => None,
            });
            let is_word = |expr: &Expr| text(expr) == Some(Status::Successful.as_str());
            let asks = matches!(function.text.as_str(), "_==_" | "_!=_") && args.iter().any(is_word);
            status.filter(|_| asks).map(|of| (select(expr, (**of).clone(), "open"), function.text == "_==_"))
        }
        _ => None,
    };
    match found {
        Some((open, true)) => *expr = call(expr, "_||_", vec![expr.clone(), open]),
        Some((open, false)) => {
            *expr = call(expr, "_&&_", vec![expr.clone(), call(expr, "!_", vec![open])]);
        }
        None => expr.for_each_part_mut(&mut or_open),
    }
}

/// The calls that an expression counts or sums up, and what each adds.
fn read(policy: &Policy, checked: &Checked, expr: &Expr) -> Option<(Calls, Option<(String, Expr)>)> {
    match &expr.kind {
        ExprKind::Select { operand, field, optional: false } => {
            let only = match field.text.as_str() {
                "count_successful" => Some(Status::Successful),
                "count_errored" => Some(Status::Errored),
                "count_restricted" => Some(Status::Restricted),
                "count" if record(checked, operand)? == "_meta" => None,
                _ => return None,
            };
            let key = record(checked, operand)?;
            if key == "_meta" && only.is_some() {
                return None;
            }
            let functions = functions_of(policy, (key != "_meta").then_some(key))?;
            let element = Element::Call;
            let calls =
                Calls { functions, element, is_closed: true, is_record: true, only, conditions: Vec::new() };
            Some((calls, None))
        }
        ExprKind::Call { function, target, args } => {
            let of: Vec<&Expr> = target.as_deref().into_iter().chain(args).collect();
            match (function.text.as_str(), of.as_slice()) {
                ("size", [list]) => Some((Calls::read(policy, checked, list)?, None)),
                ("sum", [Expr { kind: ExprKind::Comprehension(comprehension), .. }]) => {
                    let Comprehension {
                        kind: ComprehensionKind::Map,
                        range,
                        variable,
                        second: None,
                        filter,
                        body,
                        ..
                    } = &**comprehension
                    else {
                        return None;
                    };
                    let mut calls = Calls::read(policy, checked, range)?;
                    calls.conditions.extend(filter.iter().map(|it| (variable.text.clone(), it.clone())));
                    Some((calls, Some((variable.text.clone(), body.clone()))))
                }
                _ => None,
            }
        }
        _ => None,
    }
}
