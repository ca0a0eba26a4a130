//! The walk over a plan.

use super::activation::{Activation, Host};
use super::error::{Halt, Stop};
use crate::cel::fault::{ErrorCode, Fault};
use crate::cel::meter::Meter;
use crate::cel::plan::{Arithmetic, Comparison, Item, Local, Node, NodeId, Plan};
use crate::cel::value::{Entries, Key, Map, Value};
use crate::limits::EvalLimits;
use smallvec::SmallVec;
use std::sync::Arc;

/// Runs a plan. Says what it cost, whether it gave a value or not.
pub(in crate::cel) fn run<'a, 'r>(
    plan: &'a Plan,
    activation: &'r Activation<'a>,
    limits: &EvalLimits,
    host: Option<&'r mut (dyn Host + 'r)>,
) -> (Result<Value<'a>, Stop>, u64) {
    let mut evaluator = Evaluator {
        nodes: &plan.nodes,
        activation,
        locals: SmallVec::from_elem(Value::Null, plan.locals),
        meter: Meter::new(limits),
        host,
    };
    let result = if activation.env() == plan.env {
        evaluator.eval(plan.root)
    } else {
        Err(Halt::Fault(ErrorCode::WrongScope.into(), plan.root))
    };
    let result = result.map_err(|halt| halt.explain(plan, &evaluator.meter));
    (result, evaluator.meter.spent_cost())
}

/// The value of a step over constants, for the planner; nothing if it fails, so that it fails when it is run.
pub(in crate::cel) fn fold(nodes: &[Node], step: NodeId, limits: &EvalLimits) -> Option<Value<'static>> {
    let mut evaluator = Evaluator {
        nodes,
        activation: &Activation::empty(),
        locals: SmallVec::new(),
        meter: Meter::new(limits),
        host: None,
    };
    evaluator.eval(step).ok()?.to_static()
}

pub(super) struct Evaluator<'a, 'r> {
    nodes: &'a [Node],
    activation: &'r Activation<'a>,
    locals: SmallVec<[Value<'a>; 4]>,
    pub(super) meter: Meter,
    host: Option<&'r mut (dyn Host + 'r)>,
}

impl<'a> Evaluator<'a, '_> {
    fn node(&self, id: NodeId) -> Result<&'a Node, Halt> {
        self.nodes.get(id.0 as usize).ok_or(Halt::Fault(ErrorCode::Unbound.into(), id))
    }

    /// The value of a step.
    pub(super) fn eval(&mut self, id: NodeId) -> Result<Value<'a>, Halt> {
        let node = self.node(id)?;
        self.charge(id, 1)?;
        match node {
            Node::Constant(value) => Ok(value.borrowed()),
            Node::Variable(slot) => {
                self.activation.get(*slot).cloned().ok_or(Halt::Fault(ErrorCode::Unbound.into(), id))
            }
            Node::Local(local) => Ok(self.local(*local)),
            Node::Path { root, fields } => {
                let root = self.activation.get(*root).ok_or(Halt::Fault(ErrorCode::Unbound.into(), id))?;
                at(id, path(root, fields))
            }
            Node::Field { operand, field } => {
                let operand = self.eval(*operand)?;
                at(id, path(&operand, &[*field]))
            }
            Node::Member { operand, key } => {
                let operand = self.eval(*operand)?;
                at(id, operand.member(key))
            }
            Node::OptionalMember { operand, key } => {
                let operand = self.eval(*operand)?;
                at(id, operand.optional_member(key))
            }
            Node::Index { operand, index } => {
                let operand = self.eval(*operand)?;
                let index = self.eval(*index)?;
                at(id, operand.index(&index))
            }
            Node::OptionalIndex { operand, index } => {
                let operand = self.eval(*operand)?;
                let index = self.eval(*index)?;
                at(id, operand.optional_index(&index))
            }
            Node::Conditional(condition, yes, no) => {
                if self.bool(*condition)? {
                    self.eval(*yes)
                } else {
                    self.eval(*no)
                }
            }
            Node::Arithmetic(operator, a, b) => {
                let a = self.eval(*a)?;
                let b = self.eval(*b)?;
                at(id, self.arithmetic(*operator, &a, &b))
            }
            Node::Negate(a) => at(id, self.eval(*a)?.negated()),
            Node::Call { code, args, .. } => {
                let args = self.args(args)?;
                at(id, code(&mut self.meter, &args))
            }
            Node::Host { name, args } => {
                let args = self.args(args)?;
                match &mut self.host {
                    Some(host) => host.call(name, &args).map_err(|interruption| Halt::of(interruption, id)),
                    None => Err(Halt::Fault(ErrorCode::HostFailed.into(), id)),
                }
            }
            Node::List(items) => self.list(id, items),
            Node::Map(entries) => self.map(id, entries),
            Node::Loop(inner) => self.run_loop(id, inner),
            Node::Bind { local, value, body } => {
                let value = self.eval(*value)?;
                self.set(*local, value);
                self.eval(*body)
            }
            Node::MapOptional { operand, local, body, flat } => match self.eval(*operand)? {
                Value::Optional(None) => Ok(Value::Optional(None)),
                Value::Optional(Some(value)) => {
                    self.set(*local, (*value).clone());
                    let body = self.eval(*body)?;
                    match (flat, &body) {
                        (false, _) => Ok(Value::Optional(Some(Arc::new(body)))),
                        (true, Value::Optional(_)) => Ok(body),
                        (true, other) => Err(Halt::Fault(Fault::no_overload([other.kind()]), id)),
                    }
                }
                other => Err(Halt::Fault(Fault::no_overload([other.kind()]), id)),
            },
            Node::Fail(fault) => Err(Halt::Fault(*fault, id)),
            Node::HasVariable(_)
            | Node::HasMember { .. }
            | Node::Not(_)
            | Node::And(..)
            | Node::Or(..)
            | Node::Equal(..)
            | Node::NotEqual(..)
            | Node::Compare(..)
            | Node::CompareSize { .. }
            | Node::In(..)
            | Node::Matches(..) => self.test(id, node).map(Value::Bool),
        }
    }

    /// The value of a step that must be a `bool`, without making a value of it where the step is a test.
    pub(super) fn bool(&mut self, id: NodeId) -> Result<bool, Halt> {
        let node = self.node(id)?;
        match node {
            Node::HasVariable(_)
            | Node::HasMember { .. }
            | Node::Not(_)
            | Node::And(..)
            | Node::Or(..)
            | Node::Equal(..)
            | Node::NotEqual(..)
            | Node::Compare(..)
            | Node::CompareSize { .. }
            | Node::In(..)
            | Node::Matches(..) => {
                self.charge(id, 1)?;
                self.test(id, node)
            }
            _ => match self.eval(id)? {
                Value::Bool(value) => Ok(value),
                other => Err(Halt::Fault(Fault::no_overload([other.kind()]), id)),
            },
        }
    }

    /// The steps that give a `bool` by what they are.
    fn test(&mut self, id: NodeId, node: &'a Node) -> Result<bool, Halt> {
        match node {
            Node::Not(a) => self.bool(*a).map(|value| !value),
            Node::And(a, b) => self.decide(*a, *b, false),
            Node::Or(a, b) => self.decide(*a, *b, true),
            Node::Equal(a, b) => self.equal(id, *a, *b),
            Node::NotEqual(a, b) => self.equal(id, *a, *b).map(|equal| !equal),
            Node::Compare(comparison, a, b) => {
                let a = self.eval(*a)?;
                let b = self.eval(*b)?;
                self.charge_compared(id, &a, &b)?;
                at(id, a.order(&b)).map(|order| order.is_some_and(|order| comparison.holds(order)))
            }
            Node::CompareSize { comparison, operand, bound } => {
                let operand = self.eval(*operand)?;
                at(id, compare_size(&operand, *comparison, *bound, &mut self.meter))
            }
            Node::In(a, b) => {
                let a = self.eval(*a)?;
                let b = self.eval(*b)?;
                at(id, self.is_in(&a, &b))
            }
            Node::HasVariable(slot) => Ok(self.activation.get(*slot).is_some()),
            Node::HasMember { operand, key } => {
                let operand = self.eval(*operand)?;
                at(id, operand.has_member(key))
            }
            Node::Matches(operand, regex) => match self.eval(*operand)? {
                Value::String(text) => {
                    at(id, self.meter.charge_text(text.len()))?;
                    Ok(regex.is_match(&text))
                }
                other => Err(Halt::Fault(Fault::no_overload([other.kind()]), id)),
            },
            _ => Err(Halt::Fault(ErrorCode::NoMatchingOverload.into(), id)),
        }
    }

    /// `&&` and `||`: whichever side has the deciding value decides, whatever the other side does (`CEL-03`).
    fn decide(&mut self, a: NodeId, b: NodeId, deciding: bool) -> Result<bool, Halt> {
        let halt = match self.bool(a) {
            Ok(value) if value == deciding => return Ok(deciding),
            Ok(_) => return self.bool(b),
            Err(halt) => halt,
        };
        if halt.is_final() {
            return Err(halt);
        }
        match self.bool(b) {
            Ok(value) if value == deciding => Ok(deciding),
            Err(other) if other.is_final() => Err(other),
            _ => Err(halt),
        }
    }

    fn equal(&mut self, id: NodeId, a: NodeId, b: NodeId) -> Result<bool, Halt> {
        let a = self.eval(a)?;
        let b = self.eval(b)?;
        self.charge_compared(id, &a, &b)?;
        Ok(a.equals(&b))
    }

    /// Pays for a comparison that has to walk: collections of different lengths are told apart at once.
    fn charge_compared(&mut self, id: NodeId, a: &Value<'a>, b: &Value<'a>) -> Result<(), Halt> {
        match (a, b) {
            (Value::String(a), Value::String(b)) => at(id, self.meter.charge_text(a.len().min(b.len()))),
            (Value::Bytes(a), Value::Bytes(b)) => at(id, self.meter.charge_text(a.len().min(b.len()))),
            (Value::List(items), Value::List(others)) if items.len() == others.len() => {
                self.charge(id, a.weight(self.meter.left()))
            }
            (Value::Map(entries), Value::Map(others)) if entries.len() == others.len() => {
                self.charge(id, a.weight(self.meter.left()))
            }
            _ => Ok(()),
        }
    }

    fn is_in(&mut self, item: &Value<'a>, of: &Value<'a>) -> Result<bool, Fault> {
        match of {
            Value::List(list) => {
                for other in list.iter() {
                    self.meter.charge(1)?;
                    if item.equals(&other) {
                        return Ok(true);
                    }
                }
                Ok(false)
            }
            Value::Map(map) => Ok(Key::lookup(item).is_some_and(|key| map.get(&key).is_some())),
            other => Err(Fault::no_overload([item.kind(), other.kind()])),
        }
    }

    fn arithmetic(&mut self, operator: Arithmetic, a: &Value<'a>, b: &Value<'a>) -> Result<Value<'a>, Fault> {
        match operator {
            Arithmetic::Plus => a.plus(b, &mut self.meter),
            Arithmetic::Minus => a.minus(b),
            Arithmetic::Times => a.times(b),
            Arithmetic::Divide => a.divided_by(b),
            Arithmetic::Modulo => a.modulo(b),
        }
    }

    fn args(&mut self, args: &'a [NodeId]) -> Result<SmallVec<[Value<'a>; 3]>, Halt> {
        args.iter().map(|&arg| self.eval(arg)).collect()
    }

    fn list(&mut self, id: NodeId, items: &'a [Item]) -> Result<Value<'a>, Halt> {
        at(id, self.meter.charge_built(size_of_val(items)))?;
        let mut list = Vec::with_capacity(items.len());
        for item in items {
            list.extend(self.item(id, *item)?);
        }
        Ok(Value::list(list))
    }

    fn map(&mut self, id: NodeId, entries: &'a [(NodeId, Item)]) -> Result<Value<'a>, Halt> {
        at(id, self.meter.charge_built(size_of_val(entries)))?;
        let mut map = Entries::with_capacity(entries.len());
        for &(key, item) in entries {
            let key_value = self.eval(key)?;
            let name = Key::from_value(&key_value)
                .ok_or(Halt::Fault(Fault::no_overload([key_value.kind()]), key))?;
            let Some(value) = self.item(id, item)? else { continue };
            if map.insert(name, value).is_some() {
                return Err(Halt::Fault(ErrorCode::DuplicateKey.into(), key));
            }
        }
        Ok(Value::map(map))
    }

    /// The value of an element, or nothing for an optional that is none.
    fn item(&mut self, id: NodeId, item: Item) -> Result<Option<Value<'a>>, Halt> {
        let value = self.eval(item.value)?;
        match (item.optional, value) {
            (false, value) => Ok(Some(value)),
            (true, Value::Optional(value)) => Ok(value.map(|value| (*value).clone())),
            (true, other) => Err(Halt::Fault(Fault::no_overload([other.kind()]), id)),
        }
    }

    fn local(&self, local: Local) -> Value<'a> {
        self.locals.get(usize::from(local.0)).cloned().unwrap_or(Value::Null)
    }

    pub(super) fn set(&mut self, local: Local, value: Value<'a>) {
        if let Some(place) = self.locals.get_mut(usize::from(local.0)) {
            *place = value;
        }
    }

    #[inline]
    pub(super) fn charge(&mut self, id: NodeId, units: u64) -> Result<(), Halt> {
        self.meter.charge(units).map_err(|fault| Halt::Fault(fault, id))
    }
}

/// Says which step a fault is of.
#[inline]
pub(super) fn at<T>(id: NodeId, result: Result<T, Fault>) -> Result<T, Halt> {
    result.map_err(|fault| Halt::Fault(fault, id))
}

/// Follows slots from one live record to the next.
fn path<'a>(root: &Value<'a>, fields: &[usize]) -> Result<Value<'a>, Fault> {
    let (first, rest) = fields.split_first().ok_or(ErrorCode::NoSuchField)?;
    let mut value = field(root, *first)?;
    for slot in rest {
        value = field(&value, *slot)?;
    }
    Ok(value)
}

#[inline]
fn field<'a>(record: &Value<'a>, slot: usize) -> Result<Value<'a>, Fault> {
    match record {
        Value::Map(Map::Live { of, at }) => of.field(*at, slot).ok_or_else(|| ErrorCode::NoSuchKey.into()),
        // a record that a `put` or a transform has copied is a plain map; its order is still the declared one
        Value::Map(map) => map.entry(slot).map(|(_, value)| value).ok_or_else(|| ErrorCode::NoSuchKey.into()),
        other => Err(Fault::no_overload([other.kind()])),
    }
}

/// Compares a size with a number. A text of `n` bytes has at least `n / 4` and at most `n` characters, which settles
/// most comparisons without counting.
fn compare_size(
    of: &Value<'_>,
    comparison: Comparison,
    bound: i64,
    meter: &mut Meter,
) -> Result<bool, Fault> {
    let holds = |size: usize| comparison.holds(i64::try_from(size).unwrap_or(i64::MAX).cmp(&bound));
    match of {
        Value::String(text) => {
            let (least, most) = (text.len().div_ceil(4), text.len());
            if holds(least) == holds(most) {
                return Ok(holds(least));
            }
            meter.charge_text(text.len())?;
            Ok(holds(text.count()))
        }
        Value::Bytes(bytes) => Ok(holds(bytes.len())),
        Value::List(list) => Ok(holds(list.size())),
        Value::Map(map) => Ok(holds(map.len())),
        other => Err(Fault::no_overload([other.kind()])),
    }
}
