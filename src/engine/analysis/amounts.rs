//! Comparisons of sums, such as `paid + double(input.amount) <= 2500.0`, as inequalities between what they are made of.
//!
//! In: comparisons of expressions. Out: for each one that can be read so, which inequality it is when it is true, and which when it is false. The numbers are those of mathematics. So what is proved
//! of sums of doubles is proved but for their rounding, of which whoever asks is told.

use super::facts::is_number;
use super::inequality::{Inequality, Linear};
use super::path::{asks_host, function, is_path, key};
use super::questions::{Clause, Questions};
use super::reach::Reach;
use super::sample::{Sample, constant};
use super::tally::Tally;
use crate::cel::{Checked, Expr, ExprId, ExprKind, Numbers, Type};
use crate::policy::Policy;
use serde_json::Value;

/// A number that is not looked into.
pub(super) struct Term {
    /// Its name; what may have changed has another one.
    pub(super) name: String,
    pub(super) tally: Option<Tally>,
    /// When it was read: how often what passes had changed, or nothing if it lasts.
    pub(super) time: (Option<usize>, usize),
    /// Whether the calls that count are among those that the call at hand has read, so that none is added while it waits.
    pub(super) is_kept: bool,
    is_whole: bool,
    /// Whether it is a number wherever it is there, and no NaN.
    is_number: bool,
    /// Whether it is always there.
    is_sure: bool,
}

/// How two sums are compared.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Order {
    Less,
    AtMost,
    Equal,
}

/// A clause that compares sums.
pub(super) struct Compared {
    pub(super) clause: usize,
    /// The left sum less the right one, which is at most 0 if the clause is true.
    sum: Linear,
    order: Order,
    /// Whether the clause is false where that is true.
    is_negated: bool,
    /// Whether the clause is true or false wherever its terms are there.
    pub(super) is_total: bool,
    /// Whether doubles are added up, and so may be rounded.
    pub(super) is_rounded: bool,
}

/// Sums, and what they are made of.
pub(super) struct Amounts<'p> {
    pub(super) policy: &'p Policy,
    pub(super) function: usize,
    pub(super) terms: Vec<Term>,
    pub(super) compared: Vec<Compared>,
}

/// A sum that was read, and of which kind all numbers in it are: nothing, where that differs or is not known.
struct Read {
    sum: Linear,
    kind: Option<Type>,
    /// Whether doubles are added up in it.
    is_rounded: bool,
}

impl<'p> Amounts<'p> {
    pub(super) fn new(policy: &'p Policy, function: usize) -> Self {
        Self { policy, function, terms: Vec::new(), compared: Vec::new() }
    }

    /// Reads the clauses of an expression from this one on, as they stand at this time.
    pub(super) fn read(&mut self, checked: &Checked, questions: &Questions, first: usize) {
        for (at, Clause { id, .. }) in questions.clauses.iter().enumerate().skip(first) {
            if let Some(compared) =
                part(&checked.expr, *id).and_then(|it| self.comparison(checked, it, questions))
            {
                self.compared.push(Compared { clause: at, ..compared });
            }
        }
    }

    fn comparison(&mut self, checked: &Checked, expr: &Expr, questions: &Questions) -> Option<Compared> {
        let ExprKind::Call { target: None, args, .. } = &expr.kind else { return None };
        let [left, right] = args.as_slice() else { return None };
        let (order, is_swapped, is_negated) = match function(checked, expr)?.0 {
            "_<_" => (Order::Less, false, false),
            "_<=_" => (Order::AtMost, false, false),
            "_>_" => (Order::Less, true, false),
            "_>=_" => (Order::AtMost, true, false),
            "_==_" => (Order::Equal, false, false),
            "_!=_" => (Order::Equal, false, true),
            _ => return None,
        };
        let (less, more) = if is_swapped { (right, left) } else { (left, right) };
        let is_arithmetic = |expr: &Expr| matches!(expr.kind, ExprKind::Call { .. });
        // of two paths nobody knows whether they are numbers, and texts have an order, too
        let is_known = is_arithmetic(left)
            || is_arithmetic(right)
            || constant(left).is_some()
            || constant(right).is_some();
        let (less, more) = (self.amount(checked, less, questions)?, self.amount(checked, more, questions)?);
        let sum = less.sum.plus(&more.sum, -1.0)?;
        let all_numbers = sum.terms.keys().all(|at| self.terms.get(*at).is_some_and(|term| term.is_number));
        if !is_known && !all_numbers {
            return None;
        }
        let is_total = all_numbers && less.kind.is_some() && more.kind.is_some();
        // one number beside a constant is compared as it is
        let is_rounded = less.is_rounded || more.is_rounded;
        Some(Compared { clause: 0, sum, order, is_negated, is_total, is_rounded })
    }

    fn amount(&mut self, checked: &Checked, expr: &Expr, questions: &Questions) -> Option<Read> {
        #[expect(clippy::cast_precision_loss, reason = "greater ones are left out")]
        let number = |value: i64| (value.unsigned_abs() < 1 << 53).then_some(value as f64);
        let of_constant =
            |value: f64, kind| Read { sum: Linear::of_constant(value), kind: Some(kind), is_rounded: false };
        match constant(expr) {
            Some(Sample::Int(value)) => return Some(of_constant(number(value)?, Type::Int)),
            Some(Sample::UInt(value)) => {
                return Some(of_constant(number(value.try_into().ok()?)?, Type::Dyn));
            }
            Some(Sample::Double(value)) if value.is_finite() => {
                return Some(of_constant(value, Type::Double));
            }
            Some(_) => return None,
            None => {}
        }
        if let ExprKind::Call { target: None, args, .. } = &expr.kind
            && let Some((name, _)) = function(checked, expr)
        {
            match (name, args.as_slice()) {
                ("_+_" | "_-_", [left, right]) if is_number(checked, left) && is_number(checked, right) => {
                    let times = if name == "_+_" { 1.0 } else { -1.0 };
                    let [left, right] = [left, right].map(|part| self.amount(checked, part, questions));
                    let (left, right) = (left?, right?);
                    let kind =
                        left.kind.filter(|kind| right.kind.as_ref() == Some(kind) && *kind != Type::Dyn);
                    let is_rounded = left.is_rounded || right.is_rounded || kind != Some(Type::Int);
                    return Some(Read { sum: left.sum.plus(&right.sum, times)?, kind, is_rounded });
                }
                ("_*_", [left, right]) => {
                    let (by, of) = match (constant(left), constant(right)) {
                        (Some(_), None) => (left, right),
                        (None, Some(_)) => (right, left),
                        _ => return self.term(checked, expr, questions),
                    };
                    let [by, of] = [by, of].map(|part| self.amount(checked, part, questions));
                    let (by, of) = (by?, of?);
                    let kind = by.kind.filter(|kind| of.kind.as_ref() == Some(kind) && *kind != Type::Dyn);
                    let is_rounded = of.is_rounded || kind != Some(Type::Int);
                    let sum = Linear::default().plus(&of.sum, by.sum.constant)?;
                    return Some(Read { sum, kind, is_rounded });
                }
                // the same number in another form, above 2^53 the nearest
                ("double", [of]) if is_number(checked, of) => {
                    let read = self.amount(checked, of, questions)?;
                    return Some(Read { kind: read.kind.map(|_| Type::Double), ..read });
                }
                _ => {}
            }
        }
        self.term(checked, expr, questions)
    }

    fn term(&mut self, checked: &Checked, expr: &Expr, questions: &Questions) -> Option<Read> {
        if asks_host(checked, expr) {
            return None;
        }
        let reach = Reach::of(checked, expr);
        let tally = Tally::read(self.policy, checked, expr);
        let key = tally.as_ref().map_or_else(|| key(checked, expr), Tally::name);
        let lasts = match &tally {
            Some(tally) if tally.is_of_successful() => questions.lasts_for(tally.functions()),
            Some(_) => false,
            None => questions.lasts(&reach),
        };
        let name = questions.named(&key, &reach, lasts);
        let ty = checked.type_of(expr.id);
        let domain = checked.domain_of(expr.id);
        let numbers = domain.and_then(|domain| domain.numbers);
        let is_count = tally.as_ref().is_some_and(Tally::is_count);
        let kind = if is_count { Some(Type::Int) } else { Some(ty.clone()).filter(|ty| *ty == Type::Double) };
        let is_rounded = tally.is_some() && !is_count;
        let known = self.terms.iter().position(|term| term.name == name);
        let at = known.unwrap_or_else(|| {
            let path = is_path(checked, expr);
            // a double that is no JSON is one of the engine's own, and no NaN
            let is_number = path && (numbers.is_some() || matches!(ty, Type::Int | Type::Double))
                || kind.is_some() && tally.as_ref().is_some_and(|tally| self.adds_numbers(checked, tally));
            self.terms.push(Term {
                name,
                is_kept: tally.as_ref().is_some_and(|tally| questions.keeps(tally.functions())),
                time: (Some(questions.state_of(&reach, lasts)).filter(|_| !lasts), questions.lasting_state()),
                is_whole: is_count
                    || path
                        && (*ty == Type::Int || matches!(numbers, Some(Numbers::Whole | Numbers::Counts))),
                is_number,
                is_sure: tally.as_ref().is_some_and(Tally::is_sure)
                    || path && is_number && questions.given.contains(&key),
                tally,
            });
            self.terms.len().saturating_sub(1)
        });
        // an argument is compared as a number of any kind, and added up as one of its kind
        let is_path = self.terms.get(at).is_some_and(|term| term.is_number && term.tally.is_none());
        let kind = kind.or_else(|| is_path.then_some(Type::Dyn));
        Some(Read { sum: Linear::of_term(at), kind, is_rounded })
    }

    pub(super) fn is_whole(&self, term: usize) -> bool {
        self.terms.get(term).is_some_and(|term| term.is_whole)
    }

    /// The terms of a clause.
    pub(super) fn terms_of(compared: &Compared) -> impl Iterator<Item = usize> {
        compared.sum.terms.keys().copied()
    }

    /// How many terms there are, and which of them are always there.
    pub(super) fn sure(&self) -> impl Iterator<Item = bool> {
        self.terms.iter().map(|term| term.is_sure)
    }

    /// What a clause says if it is true, or if it is false; nothing if that is no inequality.
    pub(super) fn said(&self, compared: &Compared, is_true: bool) -> Vec<Inequality> {
        let Compared { sum, order, is_negated, .. } = compared;
        let opposite = || Linear::default().plus(sum, -1.0);
        let holds = is_true != *is_negated;
        let are_numbers = sum.terms.keys().all(|at| self.terms.get(*at).is_some_and(|term| term.is_number));
        let found = match (order, holds) {
            (Order::Equal, true) => vec![(Some(sum.clone()), false), (opposite(), false)],
            // two constants that are equal
            (Order::Equal, false) if sum.terms.is_empty() && sum.constant == 0.0 => {
                vec![(Some(Linear::of_constant(1.0)), false)]
            }
            (Order::Equal, false) => Vec::new(),
            (order, true) => vec![(Some(sum.clone()), *order == Order::Less)],
            // a NaN is neither at most 5 nor above
            (order, false) if are_numbers => vec![(opposite(), *order != Order::Less)],
            _ => Vec::new(),
        };
        let is_whole = |at| self.is_whole(at);
        let said = found
            .into_iter()
            .filter_map(|(sum, is_strict)| Inequality::at_most_zero(&sum?, is_strict, &is_whole));
        said.collect()
    }

    /// Whether all that is added are numbers of JSON, of which none is a NaN.
    fn adds_numbers(&self, checked: &Checked, tally: &Tally) -> bool {
        let is_argument = |argument: &str| {
            let mut functions = tally.functions();
            functions.all(|function| self.number_schema(function, argument).is_some())
        };
        tally.each().is_none_or(|each| is_plain(checked, each)) || tally.argument().is_some_and(is_argument)
    }

    /// The schema of an argument that is a number.
    pub(super) fn number_schema(&self, function: usize, argument: &str) -> Option<&Value> {
        let schema = self.policy.function(function)?.schema.get("properties")?.get(argument)?;
        let kind = schema.get("type").and_then(Value::as_str)?;
        matches!(kind, "number" | "integer").then_some(schema)
    }
}

/// Whether an expression is a number of JSON, or made of some by `double`, sums and products: never a NaN.
fn is_plain(checked: &Checked, expr: &Expr) -> bool {
    let of_domain = checked.domain_of(expr.id).is_some_and(|domain| domain.numbers.is_some());
    match &expr.kind {
        _ if constant(expr).is_some_and(|it| it.is_number()) => true,
        ExprKind::Call { target: None, args, .. } => {
            let name = function(checked, expr).map(|(name, _)| name);
            matches!(name, Some("double" | "_+_" | "_-_" | "_*_"))
                && args.iter().all(|it| is_plain(checked, it))
        }
        _ => of_domain && is_path(checked, expr),
    }
}

/// The part of an expression with this number.
fn part(expr: &Expr, id: ExprId) -> Option<&Expr> {
    if expr.id == id {
        return Some(expr);
    }
    let mut found = None;
    expr.for_each_part(&mut |inner| {
        if found.is_none() {
            found = part(inner, id);
        }
    });
    found
}
