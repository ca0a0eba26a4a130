//! The static cost of an expression, in the units in which the meter counts an evaluation.
//!
//! A step costs 1, a loop 1 more for each element, text 1 for each ten bytes looked at. The least leaves out what the
//! planner may fold or fuse into another step, and what is skipped: the other side of `&&`, `||` and `?:`. The most
//! takes text of unknown length for 1,000 bytes, believes the sizes of schemas, and is absent if a list or map of unknown
//! size is gone through; it says which of these it did.

use super::{Assumptions, Checked, CostEstimate, Reference};
use crate::domain::Domain;
use crate::formats::glob_to_regex;
use crate::function::{Code, Function};
use crate::limits::EvalLimits;
use crate::stdlib::{Extent, GLOB, SUM};
use crate::syntax::{Comprehension, ComprehensionKind, Element, Expr, ExprKind, Literal, MapEntry, Name};
use crate::types::{Kind, Type};
use crate::value::{List, Map, Value};
use std::cell::Cell;

/// What text of unknown length is taken to cost.
const ASSUMED_TEXT_UNITS: u64 = 100;
/// Bytes of text that one unit pays for.
const BYTES_PER_UNIT: u64 = 10;

/// What building an element of a list costs at most.
const ELEMENT_UNITS: u64 = (size_of::<Value<'_>>() as u64).div_ceil(BYTES_PER_UNIT);
/// What building an entry of a map costs at most.
const ENTRY_UNITS: u64 = (Map::ENTRY_BYTES as u64).div_ceil(BYTES_PER_UNIT);

/// Functions of texts and numbers whose work grows faster than those, or that pay for each part which they find; functions
/// of lists and maps are none of these, because nothing is known of what is in those.
const UNBOUNDED: [&str; 12] = [
    "getQuery",
    "json.parse",
    "lists.range",
    "regex.extract",
    "regex.extractAll",
    "regex.replace",
    "replace",
    "shell.commands",
    "shell.parse",
    "shell.paths",
    "split",
    "text",
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

/// What looking at so many bytes, or building them, costs.
fn units(bytes: usize) -> Option<u64> {
    u64::try_from(bytes).ok().map(|bytes| bytes / BYTES_PER_UNIT)
}

fn sum(a: Option<u64>, b: Option<u64>) -> Option<u64> {
    a.zip(b).map(|(a, b)| a.saturating_add(b))
}

/// The static cost of a checked expression; the whole costs at least a step.
pub(super) fn estimate(checked: &Checked, limits: &EvalLimits) -> CostEstimate {
    let properties = Cell::new(Extent::max_properties(limits));
    let estimator = Estimator { checked, properties, assumes: Cell::default() };
    let cost = estimator.expr(&checked.expr);
    let mut assumes = estimator.assumes.get();
    match cost.max {
        Some(_) => assumes.unbounded = None,
        None => assumes = Assumptions { unbounded: assumes.unbounded, ..Assumptions::default() },
    }
    CostEstimate { min: cost.min.max(1), max: cost.max, assumes }
}

struct Estimator<'c> {
    checked: &'c Checked,
    /// Classes by property that patterns may still name; an expression that names more is refused later on.
    properties: Cell<usize>,
    /// What has been assumed so far.
    assumes: Cell<Assumptions>,
}

impl Estimator<'_> {
    fn expr(&self, expr: &Expr) -> Cost {
        match &expr.kind {
            ExprKind::Literal(_) => Cost { constant: true, ..Cost::FUSED },
            ExprKind::Ident { .. } => match self.checked.reference(expr.id) {
                Some(Reference::Type(_)) => Cost { constant: true, ..Cost::FUSED },
                _ => Cost::STEP,
            },
            ExprKind::Select { operand, field, .. } => match self.checked.reference(expr.id) {
                Some(Reference::Variable(_)) => Cost::STEP,
                Some(Reference::Type(_)) => Cost { constant: true, ..Cost::FUSED },
                Some(Reference::Field(_)) => self.expr(operand).step_over(Cost::FUSED),
                _ => self.expr(operand).step_over(Cost::STEP).at_most(units(field.text.len())),
            },
            ExprKind::Has { operand, field } => {
                self.expr(operand).step_over(Cost::STEP).at_most(units(field.text.len()))
            }
            ExprKind::HasVariable(_) => Cost::STEP,
            ExprKind::Index { operand, index, .. } => {
                let parts = self.expr(operand).and(self.expr(index));
                let found = match self.checked.type_of(operand.id).kind() {
                    Some(Kind::List) => Some(0),
                    _ => self.counted(index),
                };
                parts.step_over(Cost::STEP).at_most(found)
            }
            ExprKind::Call { function, target, args } => self.call(expr, function, target.as_deref(), args),
            ExprKind::List(elements) => self.list(elements),
            ExprKind::Map(entries) => self.map(entries),
            ExprKind::Struct { .. } => Cost::STEP,
            ExprKind::Comprehension(comprehension) => self.comprehension(comprehension),
            ExprKind::Bind { value, body, .. } => Cost::STEP.and(self.expr(value)).and(self.expr(body)),
            ExprKind::Block { bindings, body } => {
                // each value is computed at most once
                let values = Cost { min: 0, ..self.all(bindings.iter().map(|binding| &binding.value)) };
                Cost::STEP.and(values).and(self.expr(body))
            }
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
        let built = units(List::bytes(elements.len()));
        self.all(elements.iter().map(|element| &element.value)).step_over(Cost::STEP).at_most(built)
    }

    fn map(&self, entries: &[MapEntry]) -> Cost {
        let built = units(Map::bytes(entries.len()));
        let found = entries.iter().try_fold(0, |found, entry| sum(Some(found), self.counted(&entry.key)));
        let parts = self.all(entries.iter().flat_map(|entry| [&entry.key, &entry.value]));
        parts.step_over(Cost::STEP).at_most(sum(built, found))
    }

    fn call(&self, expr: &Expr, function: &Name, target: Option<&Expr>, args: &[Expr]) -> Cost {
        let (name, code, qualified, signature) = match self.checked.reference(expr.id) {
            Some(Reference::Function { declaration, qualified, .. }) => {
                let Function { name, code, .. } = declaration.function;
                (name, code, *qualified, declaration.signature.as_deref())
            }
            _ => (function.text.as_str(), Code::Host, false, None),
        };
        // what no constant is: an answer of the host, a variable
        let varies = matches!(code, Code::Host | Code::Given { .. });
        let operands: Vec<&Expr> = target.filter(|_| !qualified).into_iter().chain(args).collect();
        match (name, operands.as_slice()) {
            ("_&&_" | "_||_", [left, right]) => self.logic(left, right),
            ("_?_:_", [condition, yes, no]) => {
                let (yes, no) = (self.expr(yes), self.expr(no));
                let most = yes.max.zip(no.max).map(|(yes, no)| yes.max(no));
                let branches =
                    Cost { min: yes.min.min(no.min), max: most, constant: yes.constant && no.constant };
                self.expr(condition).and(branches).step_over(Cost::STEP)
            }
            // the other side is evaluated only if there is no value
            ("or" | "orValue", [optional, other]) => {
                let other = Cost { min: 0, ..self.expr(other) };
                self.expr(optional).and(other).step_over(Cost::STEP)
            }
            // the macro, and what it goes through if that is filtered, are one step with the sum
            (SUM, [operand]) if matches!(operand.kind, ExprKind::Comprehension(_)) => {
                self.note_unbounded(None, expr);
                let loops = self.expr(operand);
                Cost { min: loops.min.saturating_sub(1), max: None, constant: false }
            }
            ("size", [operand]) => self.expr(operand).step_over(Cost::FUSED).at_most(self.counted(operand)),
            (name, operands) => {
                let arguments = self.all(operands.iter().copied());
                // a function with a table goes through every part of a value, of which no type says how many there are
                let work = match code {
                    // how large the result is, no type says either
                    Code::Named(..) => None,
                    _ if signature.is_some() => None,
                    _ => sum(self.work(name, operands), self.built(name, expr)),
                };
                self.note_unbounded(work, expr);
                let arguments = Cost { constant: arguments.constant && !varies, ..arguments };
                // each variable is a step too
                let given = match code {
                    Code::Given { variables, .. } => variables.len() as u64,
                    _ => 0,
                };
                let paid = signature.map_or(0, |signature| signature.cost.call);
                let all = arguments.step_over(Cost::STEP).at_most(sum(work, Some(given)));
                Cost { min: all.min.saturating_add(paid), ..all }
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

    /// What looking at the operands costs at most besides their own cost.
    fn work(&self, function: &str, operands: &[&Expr]) -> Option<u64> {
        match (function, operands) {
            // equal and ordered texts are looked at as far as the shorter one goes
            ("_==_" | "_!=_" | "_<_" | "_<=_" | "_>_" | "_>=_", [left, right]) => {
                if let Some(constant) =
                    [left, right].into_iter().find(|it| matches!(it.kind, ExprKind::Literal(_)))
                {
                    return self.compared(constant);
                }
                let (left, right) = (self.compared(left), self.compared(right));
                left.zip(right).map(|(left, right)| left.min(right)).or(left).or(right)
            }
            ("@in", [item, of]) => match self.checked.type_of(of.id) {
                Type::Map(_) | Type::Record(_) => self.counted(item),
                _ => self.elements(of)?.checked_mul(self.compared(item)?.saturating_add(1)),
            },
            ("matches", [text, pattern]) => match &pattern.kind {
                ExprKind::Literal(Literal::String(pattern)) => {
                    let mut properties = self.properties.get();
                    let extent = Extent::of_constant(pattern, &mut properties);
                    self.properties.set(properties);
                    self.text(text)?.checked_mul(extent.map_or(0, Extent::factor))
                }
                // how dear a search is depends on the pattern
                _ => None,
            },
            (GLOB, [path, pattern]) => {
                let ExprKind::Literal(Literal::String(pattern)) = &pattern.kind else { return None };
                let extent = Extent::of_constant(&glob_to_regex(pattern).ok()?, &mut 0).ok()?;
                self.text(path)?.checked_mul(extent.factor().checked_add(1)?)
            }
            _ if UNBOUNDED.contains(&function) => None,
            _ => operands.iter().try_fold(0_u64, |work, operand| {
                Some(work.saturating_add(self.looked_at(function, operand)?))
            }),
        }
    }

    /// What comparing an operand costs at most; nothing is known of collections, whose parts are compared in turn.
    fn compared(&self, operand: &Expr) -> Option<u64> {
        match self.checked.type_of(operand.id).kind() {
            Some(Kind::List | Kind::Map | Kind::Optional) => None,
            Some(Kind::String | Kind::Bytes | Kind::Url) | None => self.text(operand),
            Some(_) => Some(0),
        }
    }

    /// What a function that looks at all of an operand pays for it at most; how often one goes through a list or a
    /// map is its own affair.
    fn looked_at(&self, function: &str, operand: &Expr) -> Option<u64> {
        match self.checked.type_of(operand.id).kind() {
            Some(Kind::List) if function == "_+_" => {
                self.elements(operand)?.checked_mul(ELEMENT_UNITS.saturating_add(1))
            }
            Some(Kind::List | Kind::Map) => None,
            Some(Kind::String | Kind::Bytes | Kind::Url) | None => self.text(operand),
            Some(_) => Some(0),
        }
    }

    /// What the text costs that a function builds; an operator builds no more than it has looked at.
    fn built(&self, function: &str, call: &Expr) -> Option<u64> {
        let kind = self.checked.type_of(call.id).kind();
        let text = matches!(kind, Some(Kind::String | Kind::Bytes | Kind::Url) | None);
        let builds = text && function.starts_with(char::is_alphabetic);
        Some(if builds { self.unknown_text(call) } else { 0 })
    }

    /// What text costs of which it is known from a schema alone how long it is, or not at all.
    fn unknown_text(&self, expr: &Expr) -> u64 {
        let bytes = self.checked.domain_of(expr.id).and_then(Domain::text_bytes);
        let mut assumes = self.assumes.get();
        assumes.sizes_of_schemas |= bytes.is_some();
        assumes.short_texts |= bytes.is_none();
        self.assumes.set(assumes);
        bytes.map_or(ASSUMED_TEXT_UNITS, |bytes| bytes.div_ceil(BYTES_PER_UNIT))
    }

    /// Keeps the first part that nothing bounds, for who wonders why.
    fn note_unbounded(&self, most: Option<u64>, part: &Expr) {
        let mut assumes = self.assumes.get();
        if most.is_none() && assumes.unbounded.is_none() {
            assumes.unbounded = Some(part.span);
            self.assumes.set(assumes);
        }
    }

    /// What counting the characters of an operand costs at most; lists and maps know their size.
    fn counted(&self, operand: &Expr) -> Option<u64> {
        match self.checked.type_of(operand.id).kind() {
            Some(Kind::String) | None => self.text(operand),
            Some(_) => Some(0),
        }
    }

    fn text(&self, operand: &Expr) -> Option<u64> {
        let bytes = match &operand.kind {
            ExprKind::Literal(Literal::String(text)) => text.len(),
            ExprKind::Literal(Literal::Bytes(bytes)) => bytes.len(),
            _ => return Some(self.unknown_text(operand)),
        };
        // what is put together of parts costs no more than each rounded up
        u64::try_from(bytes).ok().map(|bytes| bytes.div_ceil(BYTES_PER_UNIT))
    }

    fn comprehension(&self, comprehension: &Comprehension) -> Cost {
        let range = self.expr(&comprehension.range);
        let body = self.expr(&comprehension.body);
        let element = match &comprehension.filter {
            // what the condition leaves out is not looked at
            Some(filter) => self.expr(filter).and(Cost { min: 0, ..body }),
            None => body,
        };
        let built = match comprehension.kind {
            ComprehensionKind::Filter | ComprehensionKind::Map => Some(ELEMENT_UNITS),
            ComprehensionKind::TransformMap => Some(ENTRY_UNITS),
            ComprehensionKind::TransformMapEntry => {
                self.elements(&comprehension.body).map(|made| made.saturating_mul(ENTRY_UNITS))
            }
            _ => Some(0),
        };
        let element = Cost::STEP.and(element).at_most(built);
        let (least, most) = (fewest(&comprehension.range), self.elements(&comprehension.range));
        self.note_unbounded(most, &comprehension.range);
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
        let once = match comprehension.kind {
            ComprehensionKind::SortBy => None,
            ComprehensionKind::Filter | ComprehensionKind::Map => units(List::bytes(0)),
            ComprehensionKind::TransformMap | ComprehensionKind::TransformMapEntry => units(Map::bytes(0)),
            _ => Some(0),
        };
        self.note_unbounded(once, &comprehension.body);
        Cost::STEP.and(range).and(loops).at_most(once)
    }

    /// The most elements that a range has, if that is written down, in the expression or in a schema.
    fn elements(&self, range: &Expr) -> Option<u64> {
        let written = match &range.kind {
            ExprKind::List(elements) => u64::try_from(elements.len()).ok(),
            ExprKind::Map(entries) => u64::try_from(entries.len()).ok(),
            ExprKind::Comprehension(inner) => match inner.kind {
                ComprehensionKind::Map | ComprehensionKind::Filter => self.elements(&inner.range),
                _ => None,
            },
            _ => None,
        };
        written.or_else(|| {
            let size = self.checked.domain_of(range.id)?.max_size?;
            let mut assumes = self.assumes.get();
            assumes.sizes_of_schemas = true;
            self.assumes.set(assumes);
            Some(size)
        })
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
