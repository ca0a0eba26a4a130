//! The static cost of an expression, in the units in which the meter counts an evaluation.
//!
//! A step costs 1, a loop 1 more for each element, text 1 for each ten bytes looked at. The least leaves out what the
//! planner may fold or fuse into another step, and what is skipped: the other side of `&&`, `||` and `?:`. The most
//! takes text of unknown length for 1,000 bytes, and is absent if a list or map of unknown size is gone through.

use super::{Checked, CostEstimate, Reference};
use crate::cel::function::Code;
use crate::cel::stdlib::COMPILE_COST;
use crate::cel::syntax::{Comprehension, ComprehensionKind, Element, Entry, Expr, ExprKind, Literal, Name};
use crate::cel::types::Type;

/// What text of unknown length is taken to cost.
const ASSUMED_TEXT_UNITS: u64 = 100;
/// Bytes of text that one unit pays for.
const BYTES_PER_UNIT: u64 = 10;

/// Functions whose work is not bounded by the sizes of their arguments as they are seen here: it grows faster than
/// those, with what is in a list, or with a number.
const UNBOUNDED: [&str; 13] = [
    "distinct",
    "flatten",
    "format",
    "join",
    "lists.range",
    "regex.extract",
    "regex.extractAll",
    "regex.replace",
    "replace",
    "sets.contains",
    "sets.equivalent",
    "sets.intersects",
    "sort",
];

/// What an expression costs.
#[derive(Clone, Copy)]
struct Cost {
    min: u64,
    max: Option<u64>,
    /// Whether it is made of constants alone, so that the planner may have its value already.
    constant: bool,
}

impl Cost {
    const STEP: Self = Self { min: 1, max: Some(1), constant: false };
    /// A step that may be part of another one.
    const FUSED: Self = Self { min: 0, max: Some(1), constant: false };

    fn and(self, other: Self) -> Self {
        Self {
            min: self.min.saturating_add(other.min),
            max: sum(self.max, other.max),
            constant: self.constant && other.constant,
        }
    }

    fn at_most(self, more: Option<u64>) -> Self {
        Self { max: sum(self.max, more), ..self }
    }

    /// The step of an operator or function over what its operands cost.
    fn step_over(self, step: Self) -> Self {
        let both = self.and(Self { constant: self.constant, ..step });
        if self.constant { Self { min: 0, ..both } } else { both }
    }
}

const NOTHING: Cost = Cost { min: 0, max: Some(0), constant: true };

fn sum(a: Option<u64>, b: Option<u64>) -> Option<u64> {
    a.zip(b).map(|(a, b)| a.saturating_add(b))
}

/// The static cost of a checked expression; the whole costs at least a step.
pub(super) fn estimate(checked: &Checked) -> CostEstimate {
    let cost = Estimator { checked }.expr(&checked.expr);
    CostEstimate { min: cost.min.max(1), max: cost.max }
}

struct Estimator<'c> {
    checked: &'c Checked,
}

impl Estimator<'_> {
    fn expr(&self, expr: &Expr) -> Cost {
        match &expr.kind {
            ExprKind::Literal(_) => Cost { constant: true, ..Cost::FUSED },
            ExprKind::Ident { .. } => match self.checked.reference(expr.id) {
                Some(Reference::Type(_)) => Cost { constant: true, ..Cost::FUSED },
                _ => Cost::STEP,
            },
            ExprKind::Select { operand, .. } => match self.checked.reference(expr.id) {
                Some(Reference::Variable(_)) => Cost::STEP,
                Some(Reference::Type(_)) => Cost { constant: true, ..Cost::FUSED },
                Some(Reference::Field(_)) => self.expr(operand).step_over(Cost::FUSED),
                _ => self.expr(operand).step_over(Cost::STEP),
            },
            ExprKind::Has { operand, .. } => self.expr(operand).step_over(Cost::STEP),
            ExprKind::HasVariable(_) => Cost::STEP,
            ExprKind::Index { operand, index, .. } => {
                self.expr(operand).and(self.expr(index)).step_over(Cost::STEP)
            }
            ExprKind::Call { function, target, args } => self.call(expr, function, target.as_deref(), args),
            ExprKind::List(elements) => self.list(elements),
            ExprKind::Map(entries) => self.map(entries),
            ExprKind::Struct { .. } => Cost::STEP,
            ExprKind::Comprehension(comprehension) => self.comprehension(comprehension),
            ExprKind::Bind { value, body, .. } => Cost::STEP.and(self.expr(value)).and(self.expr(body)),
            ExprKind::OptMap { operand, body, .. } => {
                let body = Cost { min: 0, ..self.expr(body) };
                Cost::STEP.and(self.expr(operand)).and(body)
            }
        }
    }

    fn all<'a>(&self, parts: impl Iterator<Item = &'a Expr>) -> Cost {
        parts.fold(NOTHING, |cost, part| cost.and(self.expr(part)))
    }

    fn list(&self, elements: &[Element]) -> Cost {
        let built = u64::try_from(elements.len()).ok();
        self.all(elements.iter().map(|element| &element.value)).step_over(Cost::STEP).at_most(built)
    }

    fn map(&self, entries: &[Entry]) -> Cost {
        let built = u64::try_from(entries.len()).ok().map(|size| size.saturating_mul(2));
        let parts = self.all(entries.iter().flat_map(|entry| [&entry.key, &entry.value]));
        parts.step_over(Cost::STEP).at_most(built)
    }

    fn call(&self, expr: &Expr, function: &Name, target: Option<&Expr>, args: &[Expr]) -> Cost {
        let qualified = match self.checked.reference(expr.id) {
            Some(Reference::Function { qualified, .. }) => *qualified,
            _ => false,
        };
        let operands: Vec<&Expr> = target.filter(|_| !qualified).into_iter().chain(args).collect();
        match (function.text.as_str(), operands.as_slice()) {
            ("_&&_" | "_||_", [left, right]) => self.logic(left, right),
            ("_?_:_", [condition, yes, no]) => {
                let (yes, no) = (self.expr(yes), self.expr(no));
                let most = yes.max.zip(no.max).map(|(yes, no)| yes.max(no));
                let branches =
                    Cost { min: yes.min.min(no.min), max: most, constant: yes.constant && no.constant };
                self.expr(condition).and(branches).step_over(Cost::STEP)
            }
            ("or" | "orValue", [optional, other]) => {
                let other = Cost { min: 0, ..self.expr(other) };
                self.expr(optional).and(other).step_over(Cost::STEP)
            }
            ("size", [operand]) => self.expr(operand).step_over(Cost::FUSED).at_most(self.text(operand)),
            (name, operands) => {
                let row = match self.checked.reference(expr.id) {
                    Some(Reference::Function { declaration, .. }) => Some(declaration.function),
                    _ => None,
                };
                let name = row.map_or(name, |row| row.name);
                let host = row.is_some_and(|row| matches!(row.code, Code::Host));
                let arguments = self.all(operands.iter().copied());
                let mut work = operands.iter().map(|operand| self.work(name, operand));
                let work = work
                    .try_fold(self.compiled(name, operands), |work, more| Some(work.saturating_add(more?)));
                let arguments = Cost { constant: arguments.constant && !host, ..arguments };
                arguments.step_over(Cost::STEP).at_most(work)
            }
        }
    }

    /// Either side may decide alone; a left side that fails may have cost no more than a step by then.
    fn logic(&self, left: &Expr, right: &Expr) -> Cost {
        let (left, right) = (self.expr(left), self.expr(right));
        let failed = left.min.min(1).saturating_add(right.min);
        let both = left.and(right);
        Cost { min: left.min.min(failed), ..both }.step_over(Cost::STEP)
    }

    /// What compiling a pattern costs that is known only when it runs.
    fn compiled(&self, function: &str, operands: &[&Expr]) -> u64 {
        match (function, operands) {
            ("matches", [.., pattern]) if !matches!(pattern.kind, ExprKind::Literal(_)) => {
                ASSUMED_TEXT_UNITS.saturating_mul(BYTES_PER_UNIT).saturating_mul(COMPILE_COST)
            }
            _ => 0,
        }
    }

    /// What looking at an operand costs at most besides its own cost.
    fn work(&self, function: &str, operand: &Expr) -> Option<u64> {
        if UNBOUNDED.contains(&function) {
            return None;
        }
        match self.checked.type_of(operand.id) {
            // once to look at it, once to build what it becomes
            Type::String | Type::Bytes | Type::Dyn => Some(self.text(operand)?.saturating_mul(2)),
            Type::List(_) | Type::Singleton(_) => elements(operand),
            Type::Map(_) | Type::Record(_) if function == "@in" => Some(0),
            Type::Map(_) | Type::Record(_) => match &operand.kind {
                ExprKind::Map(entries) => u64::try_from(entries.len()).ok()?.checked_mul(2),
                _ => None,
            },
            _ => Some(0),
        }
    }

    fn text(&self, operand: &Expr) -> Option<u64> {
        let bytes = match &operand.kind {
            ExprKind::Literal(Literal::String(text)) => text.len(),
            ExprKind::Literal(Literal::Bytes(bytes)) => bytes.len(),
            _ => return Some(ASSUMED_TEXT_UNITS),
        };
        u64::try_from(bytes).ok().map(|bytes| bytes / BYTES_PER_UNIT)
    }

    fn comprehension(&self, comprehension: &Comprehension) -> Cost {
        let range = self.expr(&comprehension.range);
        let body = self.expr(&comprehension.body);
        let element = match &comprehension.filter {
            // what the condition leaves out is not looked at
            Some(filter) => self.expr(filter).and(Cost { min: 0, ..body }),
            None => body,
        };
        let element = Cost::STEP.and(element);
        let (least, most) = (fewest(&comprehension.range), elements(&comprehension.range));
        let visited = match comprehension.kind {
            ComprehensionKind::All | ComprehensionKind::Exists => least.min(1),
            _ => least,
        };
        let loops = Cost {
            min: element.min.saturating_mul(visited),
            max: most.zip(element.max).map(|(most, element)| most.saturating_mul(element)),
            constant: false,
        };
        // what sorting costs depends on the keys
        let loops = if comprehension.kind == ComprehensionKind::SortBy { loops.at_most(None) } else { loops };
        Cost::STEP.and(range).and(loops)
    }
}

/// The most elements that a range has, if that is written down.
fn elements(range: &Expr) -> Option<u64> {
    match &range.kind {
        ExprKind::List(elements) => u64::try_from(elements.len()).ok(),
        ExprKind::Map(entries) => u64::try_from(entries.len()).ok(),
        ExprKind::Comprehension(inner) => match inner.kind {
            ComprehensionKind::Map | ComprehensionKind::Filter => elements(&inner.range),
            _ => None,
        },
        _ => None,
    }
}

/// The fewest elements that a range has.
fn fewest(range: &Expr) -> u64 {
    let count = match &range.kind {
        ExprKind::List(elements) => elements.iter().filter(|element| !element.optional).count(),
        ExprKind::Map(entries) => entries.iter().filter(|entry| !entry.optional).count(),
        _ => 0,
    };
    u64::try_from(count).unwrap_or(u64::MAX)
}
