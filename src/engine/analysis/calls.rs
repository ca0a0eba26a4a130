//! Lists of calls on record, and what is asked of a further call that they may come to hold.
//!
//! In: an expression such as `c.cap.pay.calls.filter(t, t.status == 'successful')`. Out: [`Calls`]: the functions, and the conditions. Of a call whose function and status are known, and whose arguments
//! have a name, a condition comes to a truth or to what is left of it. Nothing is known of its result. Linear in the expression.

use super::reach::is_root;
use super::written::{call, ident, with};
use crate::cel::{Checked, Comprehension, ComprehensionKind, Expr, ExprKind, Literal, Reference};
use crate::context::{FunctionId, Root, Selector};
use crate::policy::Policy;

/// How a call on record stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Status {
    Successful,
    Errored,
    Restricted,
    Open,
}

impl Status {
    pub(crate) const ALL: [Self; 4] = [Self::Successful, Self::Errored, Self::Restricted, Self::Open];

    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::Successful => "successful",
            Self::Errored => "errored",
            Self::Restricted => "restricted",
            Self::Open => "open",
        }
    }
}

/// What the elements of a list are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Element {
    Call,
    /// The arguments of one.
    Input,
    /// The name of its function.
    Function,
}

/// Calls of a list that fulfil conditions.
#[derive(Clone, Debug)]
pub(super) struct Calls {
    pub(super) functions: Vec<usize>,
    pub(super) element: Element,
    /// Whether open calls are not in it.
    pub(super) is_closed: bool,
    /// Whether it is a record of the specification, which has calls of `invoke` steps as well.
    pub(super) is_record: bool,
    /// Those of this status alone.
    pub(super) only: Option<Status>,
    /// Each with the name of its variable.
    pub(super) conditions: Vec<(String, Expr)>,
}

/// The name of the call at hand in texts that are compared. No author can write it.
pub(super) const CALL: &str = "~call";

impl Calls {
    /// The calls of a list, if it is one of those that are known.
    pub(super) fn read(policy: &Policy, checked: &Checked, list: &Expr) -> Option<Self> {
        if let ExprKind::Comprehension(comprehension) = &list.kind {
            let Comprehension {
                kind: ComprehensionKind::Filter, range, variable, second: None, body, ..
            } = &**comprehension
            else {
                return None;
            };
            let mut calls = Self::read(policy, checked, range)?;
            calls.conditions.push((variable.text.clone(), body.clone()));
            return Some(calls);
        }
        let ExprKind::Select { operand, field, optional: false } = &list.kind else { return None };
        let (record, element, is_closed) = match field.text.as_str() {
            "calls" if is_root(checked, operand, Root::Context) => (None, Element::Call, false),
            "calls" => (Some(record(checked, operand)?), Element::Call, false),
            "inputs" => (Some(record(checked, operand)?), Element::Input, true),
            "invocations" if record(checked, operand)? == "_meta" => (None, Element::Function, true),
            _ => return None,
        };
        let functions = functions_of(policy, record)?;
        Some(Self { functions, element, is_closed, is_record: is_closed, only: None, conditions: Vec::new() })
    }

    /// Of calls of a function that stand so: the further conditions under which they are in the list; nothing where they are not.
    pub(super) fn case(
        &self,
        policy: &Policy,
        checked: &Checked,
        (function, status): (usize, Status),
        input: &str,
    ) -> Option<Option<Vec<Expr>>> {
        let is_out = !self.functions.contains(&function)
            || self.is_closed && status == Status::Open
            || self.only.is_some_and(|only| only != status);
        if is_out {
            return Some(None);
        }
        let key = policy.function(function)?.key.clone();
        let at_hand = AtHand { checked, element: self.element, key: &key, status, input };
        let mut left = Vec::new();
        for (variable, condition) in &self.conditions {
            match at_hand.settled(variable, condition)? {
                Settled::Bool(true) => {}
                Settled::Bool(false) => return Some(None),
                Settled::Open(condition) => join(condition, &mut left),
            }
        }
        Some(Some(left))
    }
}

/// The parts of a conjunction.
fn join(expr: Expr, parts: &mut Vec<Expr>) {
    match expr.kind {
        ExprKind::Call { function, target: None, args } if function.text == "_&&_" => {
            args.into_iter().for_each(|part| join(part, parts));
        }
        kind => parts.push(Expr { kind, ..expr }),
    }
}

impl Calls {
    /// What a loop over the calls asks of the call at hand, with what is known of it put in.
    pub(super) fn asked(
        &self,
        policy: &Policy,
        checked: &Checked,
        (function, status): (usize, Status),
        (variable, body): (&str, &Expr),
        input: &str,
    ) -> Option<Expr> {
        let key = policy.function(function)?.key.clone();
        let at_hand = AtHand { checked, element: self.element, key: &key, status, input };
        Some(match at_hand.settled(variable, body)? {
            Settled::Bool(value) => with(body, ExprKind::Literal(Literal::Bool(value))),
            Settled::Open(asked) => asked,
        })
    }
}

/// A call of which the variable of a macro is one.
pub(super) struct AtHand<'c> {
    pub(super) checked: &'c Checked,
    pub(super) element: Element,
    pub(super) key: &'c str,
    pub(super) status: Status,
    /// The name under which its arguments are written.
    pub(super) input: &'c str,
}

/// What becomes of a condition.
enum Settled {
    Bool(bool),
    Open(Expr),
}

impl AtHand<'_> {
    /// The condition with what is known of the call put in.
    fn settled(&self, variable: &str, expr: &Expr) -> Option<Settled> {
        let reduced = |known: &str, args: &[Expr]| -> Option<Settled> {
            let [left, right] = args else { return None };
            let decides = known == "_||_";
            Some(match (self.settled(variable, left)?, self.settled(variable, right)?) {
                (Settled::Bool(value), other) | (other, Settled::Bool(value)) if value != decides => other,
                (Settled::Bool(_), _) | (_, Settled::Bool(_)) => Settled::Bool(decides),
                (Settled::Open(left), Settled::Open(right)) => {
                    Settled::Open(call(expr, known, vec![left, right]))
                }
            })
        };
        match &expr.kind {
            ExprKind::Literal(Literal::Bool(value)) => Some(Settled::Bool(*value)),
            ExprKind::Call { function, target: None, args } => match (function.text.as_str(), &**args) {
                (joins @ ("_&&_" | "_||_"), args) => reduced(joins, args),
                ("!_", [operand]) => Some(match self.settled(variable, operand)? {
                    Settled::Bool(value) => Settled::Bool(!value),
                    Settled::Open(operand) => Settled::Open(call(expr, "!_", vec![operand])),
                }),
                (equal @ ("_==_" | "_!=_"), [left, right]) => {
                    let [left, right] = [left, right].map(|part| self.substituted(variable, part));
                    let (left, right) = (left?, right?);
                    Some(match (text(&left), text(&right)) {
                        (Some(one), Some(two)) => Settled::Bool((one == two) == (equal == "_==_")),
                        _ => Settled::Open(call(expr, equal, vec![left, right])),
                    })
                }
                ("@in", [item, Expr { kind: ExprKind::List(elements), .. }]) => {
                    let item = self.substituted(variable, item)?;
                    let words: Option<Vec<&str>> = elements.iter().map(|it| text(&it.value)).collect();
                    match (text(&item), words) {
                        (Some(item), Some(words)) => Some(Settled::Bool(words.contains(&item))),
                        _ => Some(Settled::Open(self.substituted(variable, expr)?)),
                    }
                }
                _ => Some(Settled::Open(self.substituted(variable, expr)?)),
            },
            ExprKind::Select { .. } if self.is_field(variable, expr, "open") => {
                Some(Settled::Bool(self.status == Status::Open))
            }
            _ => Some(Settled::Open(self.substituted(variable, expr)?)),
        }
    }

    fn is_field(&self, variable: &str, expr: &Expr, wanted: &str) -> bool {
        self.element == Element::Call
            && matches!(&expr.kind, ExprKind::Select { operand, field, .. } if field.text == wanted && is_variable(operand, variable))
    }

    /// The expression with the call in the place of the variable; nothing if another macro stands in it.
    pub(super) fn substituted(&self, variable: &str, expr: &Expr) -> Option<Expr> {
        let word = |text: &str| with(expr, ExprKind::Literal(Literal::String(text.into())));
        if self.is_field(variable, expr, "input") {
            return Some(ident(expr, self.input));
        }
        if self.key != CALL {
            if self.is_field(variable, expr, "fn") {
                return Some(word(self.key));
            }
            if self.is_field(variable, expr, "status") {
                return Some(word(self.status.as_str()));
            }
        }
        match &expr.kind {
            ExprKind::Ident { name, .. } if is_variable(expr, variable) => match self.element {
                Element::Input => Some(ident(expr, self.input)),
                Element::Function if self.key != CALL => Some(word(self.key)),
                _ => Some(ident(expr, &format!("{CALL} {name}"))),
            },
            // a variable of another macro around
            ExprKind::Ident { .. }
                if matches!(self.checked.reference(expr.id), Some(Reference::Local(_))) =>
            {
                None
            }
            ExprKind::Comprehension(_)
            | ExprKind::Bind { .. }
            | ExprKind::Block { .. }
            | ExprKind::OptMap { .. } => None,
            _ => {
                let mut changed = expr.clone();
                let mut is_known = true;
                changed.for_each_part_mut(&mut |part| match self.substituted(variable, part) {
                    Some(new) => *part = new,
                    None => is_known = false,
                });
                is_known.then_some(changed)
            }
        }
    }
}

/// Whether something of a call is left that nothing is known of, such as its result.
pub(super) fn is_unknown(expr: &Expr) -> bool {
    let mut is_unknown = matches!(&expr.kind, ExprKind::Ident { name, .. } if name.starts_with(CALL));
    expr.for_each_part(&mut |part| is_unknown |= self::is_unknown(part));
    is_unknown
}

fn is_variable(expr: &Expr, variable: &str) -> bool {
    matches!(&expr.kind, ExprKind::Ident { name, absolute: false } if name == variable)
}

pub(super) fn text(expr: &Expr) -> Option<&str> {
    match &expr.kind {
        ExprKind::Literal(Literal::String(text)) => Some(text),
        _ => None,
    }
}

/// The key of the record at the end of a path.
pub(super) fn record<'e>(checked: &Checked, expr: &'e Expr) -> Option<&'e str> {
    let (of, key) = match &expr.kind {
        ExprKind::Select { operand, field, optional: false } => (operand, &*field.text),
        ExprKind::Index { operand, index, optional: false } => (operand, text(index)?),
        _ => return None,
    };
    let ExprKind::Select { operand, field, optional: false } = &of.kind else { return None };
    let is_records = matches!(field.text.as_str(), "capabilities" | "cap");
    (is_records && is_root(checked, operand, Root::Context)).then_some(key)
}

/// The functions of a record; of all of them without one.
pub(super) fn functions_of(policy: &Policy, record: Option<&str>) -> Option<Vec<usize>> {
    let Some(key) = record else { return Some((0..policy.functions().len()).collect()) };
    let path = ["capabilities", key].map(|part| Selector::Name(part.to_owned()));
    let functions = policy.schema().calls_on_path(Root::Context.name(), &path).functions?;
    Some(functions.into_iter().map(|FunctionId(at)| at as usize).collect())
}
