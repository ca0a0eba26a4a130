//! The walk over a plan.

use super::activation::{Activation, Host};
use super::error::{Halt, Halted, Stop};
use crate::cel::fault::{ErrorCode, Fault};
use crate::cel::meter::Meter;
use crate::cel::plan::{Arithmetic, Comparison, Item, Local, Node, NodeId, Plan};
use crate::cel::value::{Entries, Key, List, Map, Value};
use crate::limits::EvalLimits;
use smallvec::SmallVec;
use std::ops::Deref;
use std::sync::Arc;

/// How many variables of loops fit without an allocation.
const FEW_LOCALS: usize = 6;

/// Runs a plan for its value. Says what it cost, whether it gave one or not.
pub(in crate::cel) fn run<'a>(
    plan: &'a Plan,
    activation: &Activation<'a>,
    limits: &EvalLimits,
    host: Option<&mut (dyn Host + '_)>,
) -> (Result<Value<'a>, Stop>, u64) {
    start(plan, activation, limits, host, |evaluator| evaluator.eval(plan.root))
}

/// Runs a plan for the truth of its value, without making a value of a test.
pub(in crate::cel) fn holds<'a>(
    plan: &'a Plan,
    activation: &Activation<'a>,
    limits: &EvalLimits,
    host: Option<&mut (dyn Host + '_)>,
) -> Result<bool, Stop> {
    start(plan, activation, limits, host, |evaluator| match plan.node(plan.root) {
        Some(node) if node.is_test() => evaluator.bool(plan.root),
        _ => evaluator.eval(plan.root).map(|value| value.is_truthy()),
    })
    .0
}

/// Sets up what a run needs, on the stack as far as it goes.
#[inline]
fn start<'a, T>(
    plan: &'a Plan,
    activation: &Activation<'a>,
    limits: &EvalLimits,
    host: Option<&mut (dyn Host + '_)>,
    run: impl FnOnce(&mut Evaluator<'a, '_, '_>) -> Result<T, Halted>,
) -> (Result<T, Stop>, u64) {
    let mut few = [const { Value::Null }; FEW_LOCALS];
    let mut many = Vec::new();
    let locals = match few.get_mut(..plan.locals) {
        Some(few) => few,
        None => {
            many.resize(plan.locals, Value::Null);
            &mut many
        }
    };
    let mut evaluator =
        Evaluator { nodes: &plan.nodes, activation, locals, meter: Meter::new(limits), host, halt: None };
    let result = if activation.env() == plan.env {
        run(&mut evaluator)
    } else {
        evaluator.fail(plan.root, ErrorCode::WrongScope.into())
    };
    let cost = evaluator.meter.spent_cost();
    match result {
        Ok(value) => (Ok(value), cost),
        Err(Halted) => (Err(evaluator.halt.map_or(Stop::Asked, |halt| halt.explain(plan, limits))), cost),
    }
}

/// The value of a step over constants, for the planner, and what it cost; nothing if it fails, so that it fails when it
/// is run.
pub(in crate::cel) fn fold(
    nodes: &[Node],
    step: NodeId,
    limits: &EvalLimits,
) -> (Option<Value<'static>>, u64) {
    let activation = &Activation::empty();
    let meter = Meter::new(limits);
    let mut evaluator = Evaluator { nodes, activation, locals: &mut [], meter, host: None, halt: None };
    let value = evaluator.eval(step).ok().and_then(|value| {
        // what is kept is a copy of all of it
        evaluator.meter.charge(value.weight(evaluator.meter.left())).ok()?;
        value.to_static()
    });
    (value, evaluator.meter.spent_cost())
}

pub(super) struct Evaluator<'a, 'r, 'h> {
    nodes: &'a [Node],
    activation: &'r Activation<'a>,
    locals: &'r mut [Value<'a>],
    pub(super) meter: Meter<'r>,
    host: Option<&'r mut (dyn Host + 'h)>,
    /// Why the evaluation stands still, while a step returns [`Halted`].
    halt: Option<Halt>,
}

/// An operand: held by the activation or the plan, or made just now.
enum Operand<'r, 'a> {
    Held(&'r Value<'a>),
    Made(Value<'a>),
}

impl<'a> Deref for Operand<'_, 'a> {
    type Target = Value<'a>;

    #[inline]
    fn deref(&self) -> &Value<'a> {
        match self {
            Self::Held(value) => value,
            Self::Made(value) => value,
        }
    }
}

impl<'a, 'r> Evaluator<'a, 'r, '_> {
    #[inline]
    fn node(&mut self, id: NodeId) -> Result<&'a Node, Halted> {
        match self.nodes.get(id.0 as usize) {
            Some(node) => Ok(node),
            None => self.fail(id, ErrorCode::Unbound.into()),
        }
    }

    /// Stops the evaluation at a step.
    #[cold]
    pub(super) fn fail<T>(&mut self, id: NodeId, fault: Fault) -> Result<T, Halted> {
        self.halt = Some(Halt::Fault(fault, id));
        Err(Halted)
    }

    /// Stops the evaluation where a computation failed.
    #[inline]
    pub(super) fn at<T>(&mut self, id: NodeId, result: Result<T, Fault>) -> Result<T, Halted> {
        match result {
            Ok(value) => Ok(value),
            Err(fault) => self.fail(id, fault),
        }
    }

    /// Takes back why the evaluation stands still, if it may go on.
    pub(super) fn absorb(&mut self) -> Result<Halt, Halted> {
        match self.halt.take_if(|halt| !halt.is_final()) {
            Some(halt) => Ok(halt),
            None => Err(Halted),
        }
    }

    /// Stands still for a reason that was taken back before.
    pub(super) fn halt<T>(&mut self, halt: Halt) -> Result<T, Halted> {
        self.halt = Some(halt);
        Err(Halted)
    }

    /// The value of a step, without a copy where something holds it.
    #[inline]
    fn operand(&mut self, id: NodeId) -> Result<Operand<'r, 'a>, Halted>
    where
        'a: 'r,
    {
        match self.nodes.get(id.0 as usize) {
            Some(Node::Constant(value)) => {
                self.charge(id, 1)?;
                Ok(Operand::Held(value))
            }
            Some(Node::Variable(slot)) => {
                self.charge(id, 1)?;
                match self.activation.get(*slot) {
                    Some(value) => Ok(Operand::Held(value)),
                    None => self.fail(id, ErrorCode::Unbound.into()),
                }
            }
            _ => self.eval(id).map(Operand::Made),
        }
    }

    /// The value of a step.
    pub(super) fn eval(&mut self, id: NodeId) -> Result<Value<'a>, Halted> {
        let node = self.node(id)?;
        self.charge(id, 1)?;
        match node {
            Node::Constant(value) => Ok(value.borrowed()),
            Node::Variable(slot) => match self.activation.get(*slot) {
                Some(value) => Ok(value.clone()),
                None => self.fail(id, ErrorCode::Unbound.into()),
            },
            Node::Local(local) => Ok(self.local(*local)),
            Node::Path { root, fields } => match self.activation.get(*root) {
                Some(root) => self.at(id, path(root, fields)),
                None => self.fail(id, ErrorCode::Unbound.into()),
            },
            Node::Field { operand, field } => {
                let operand = self.operand(*operand)?;
                self.at(id, path(&operand, &[*field]))
            }
            Node::Member { operand, key } => {
                let operand = self.operand(*operand)?;
                let paid = self.meter.charge_text(key.len());
                self.at(id, paid.and_then(|()| operand.member(key)))
            }
            Node::OptionalMember { operand, key } => {
                let operand = self.operand(*operand)?;
                let paid = self.meter.charge_text(key.len());
                self.at(id, paid.and_then(|()| operand.optional_member(key)))
            }
            Node::Index { operand, index } => {
                let operand = self.operand(*operand)?;
                let index = self.operand(*index)?;
                self.pay_for_key(id, &index)?;
                self.at(id, operand.index(&index))
            }
            Node::OptionalIndex { operand, index } => {
                let operand = self.operand(*operand)?;
                let index = self.operand(*index)?;
                self.pay_for_key(id, &index)?;
                self.at(id, operand.optional_index(&index))
            }
            Node::Conditional(condition, yes, no) => {
                if self.bool(*condition)? {
                    self.eval(*yes)
                } else {
                    self.eval(*no)
                }
            }
            Node::Arithmetic(operator, a, b) => {
                let a = self.operand(*a)?;
                let b = self.operand(*b)?;
                let result = self.arithmetic(*operator, &a, &b);
                self.at(id, result)
            }
            Node::Negate(a) => {
                let a = self.operand(*a)?;
                self.at(id, a.negated())
            }
            Node::Call { code, args, .. } => {
                let args = self.args(args)?;
                let result = code(&mut self.meter, &args);
                self.at(id, result)
            }
            Node::Host { name, args } => {
                let args = self.args(args)?;
                match self.host.as_mut().map(|host| host.call(name, &args)) {
                    Some(Ok(answer)) => Ok(answer),
                    Some(Err(interruption)) => self.halt(Halt::of(interruption, id)),
                    None => self.fail(id, ErrorCode::HostFailed.into()),
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
                        (true, other) => self.fail(id, Fault::no_overload([other.kind()])),
                    }
                }
                other => self.fail(id, Fault::no_overload([other.kind()])),
            },
            Node::OrOptional { operand, other, value } => self.or_optional(id, *operand, *other, *value),
            Node::Fail(fault) => self.fail(id, *fault),
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
    #[inline]
    pub(super) fn bool(&mut self, id: NodeId) -> Result<bool, Halted> {
        let node = self.node(id)?;
        if node.is_test() {
            self.charge(id, 1)?;
            return self.test(id, node);
        }
        match &self.eval(id) {
            Ok(Value::Bool(value)) => Ok(*value),
            Ok(other) => self.fail(id, Fault::no_overload([other.kind()])),
            Err(Halted) => Err(Halted),
        }
    }

    /// The steps that give a `bool` by what they are.
    fn test(&mut self, id: NodeId, node: &'a Node) -> Result<bool, Halted> {
        match node {
            Node::Not(a) => self.bool(*a).map(|value| !value),
            Node::And(a, b) => self.decide(*a, *b, false),
            Node::Or(a, b) => self.decide(*a, *b, true),
            Node::Equal(a, b) => self.equal(id, *a, *b),
            Node::NotEqual(a, b) => self.equal(id, *a, *b).map(|equal| !equal),
            Node::Compare(comparison, a, b) => {
                // looked at where they were made: most of what a guard asks is whether a number is small enough
                let a = self.operand(*a);
                let Ok(a) = &a else { return Err(Halted) };
                let b = self.operand(*b);
                let Ok(b) = &b else { return Err(Halted) };
                if let (Value::Int(a), Value::Int(b)) = (&**a, &**b) {
                    return Ok(comparison.holds(a.cmp(b)));
                }
                let paid = self.charge_ordered(a, b);
                let order = self.at(id, paid.and_then(|()| a.order(b)))?;
                Ok(order.is_some_and(|order| comparison.holds(order)))
            }
            Node::CompareSize { comparison, operand, bound } => {
                let operand = self.operand(*operand)?;
                let holds = compare_size(&operand, *comparison, *bound, &mut self.meter);
                self.at(id, holds)
            }
            Node::In(a, b) => {
                let a = self.operand(*a)?;
                let b = self.operand(*b)?;
                let found = self.is_in(&a, &b);
                self.at(id, found)
            }
            Node::HasVariable(slot) => Ok(self.activation.get(*slot).is_some()),
            Node::HasMember { operand, key } => {
                let operand = self.operand(*operand)?;
                let paid = self.meter.charge_text(key.len());
                self.at(id, paid.and_then(|()| operand.has_member(key)))
            }
            Node::Matches(operand, pattern) => {
                let operand = self.operand(*operand)?;
                let Value::String(text) = &*operand else {
                    return self.fail(id, Fault::no_overload([operand.kind()]));
                };
                let found = pattern.is_match(&mut self.meter, text);
                self.at(id, found)
            }
            _ => self.fail(id, ErrorCode::NoMatchingOverload.into()),
        }
    }

    /// `&&` and `||`: whichever side has the deciding value decides, whatever the other side does (`CEL-03`).
    fn decide(&mut self, a: NodeId, b: NodeId, deciding: bool) -> Result<bool, Halted> {
        match self.bool(a) {
            Ok(value) if value == deciding => return Ok(deciding),
            Ok(_) => return self.bool(b),
            Err(Halted) => {}
        }
        let first = self.absorb()?;
        match self.bool(b) {
            Ok(value) if value == deciding => return Ok(deciding),
            Ok(_) => {}
            Err(Halted) => {
                self.absorb()?;
            }
        }
        self.halt(first)
    }

    /// `or` and `orValue`: the other operand is evaluated only if there is no value.
    fn or_optional(
        &mut self,
        id: NodeId,
        operand: NodeId,
        other: NodeId,
        value: bool,
    ) -> Result<Value<'a>, Halted> {
        let found = match (self.eval(operand)?, value) {
            (Value::Optional(Some(found)), true) => return Ok((*found).clone()),
            (Value::Optional(None), true) => return self.eval(other),
            (Value::Optional(None), false) => self.eval(other)?,
            (found, _) => found,
        };
        match (&found, value) {
            (Value::Optional(_), false) => Ok(found),
            _ => self.fail(id, Fault::no_overload([found.kind()])),
        }
    }

    fn equal(&mut self, id: NodeId, a: NodeId, b: NodeId) -> Result<bool, Halted> {
        let a = self.operand(a)?;
        let b = self.operand(b)?;
        let equal = a.equals_metered(&b, &mut self.meter);
        self.at(id, equal)
    }

    /// Pays for an order that has to walk over text.
    fn charge_ordered(&mut self, a: &Value<'a>, b: &Value<'a>) -> Result<(), Fault> {
        match (a, b) {
            (Value::String(a), Value::String(b)) => self.meter.charge_text(a.len().min(b.len())),
            (Value::Bytes(a), Value::Bytes(b)) => self.meter.charge_text(a.len().min(b.len())),
            _ => Ok(()),
        }
    }

    fn is_in(&mut self, item: &Value<'a>, of: &Value<'a>) -> Result<bool, Fault> {
        match of {
            Value::List(list) => {
                for other in list.iter() {
                    self.meter.charge(1)?;
                    if item.equals_metered(&other, &mut self.meter)? {
                        return Ok(true);
                    }
                }
                Ok(false)
            }
            Value::Map(map) => {
                self.meter.charge_text(item.as_str().map_or(0, str::len))?;
                Ok(Key::lookup(item).is_some_and(|key| map.get(&key).is_some()))
            }
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

    fn args(&mut self, args: &'a [NodeId]) -> Result<SmallVec<[Value<'a>; 3]>, Halted> {
        args.iter().map(|&arg| self.eval(arg)).collect()
    }

    fn list(&mut self, id: NodeId, items: &'a [Item]) -> Result<Value<'a>, Halted> {
        let paid = self.meter.charge_built(List::bytes(items.len()));
        self.at(id, paid)?;
        let mut list = Vec::with_capacity(items.len());
        for item in items {
            list.extend(self.item(id, *item)?);
        }
        Ok(Value::list(list))
    }

    fn map(&mut self, id: NodeId, entries: &'a [(NodeId, Item)]) -> Result<Value<'a>, Halted> {
        let paid = self.meter.charge_built(Map::bytes(entries.len()));
        self.at(id, paid)?;
        let mut map = Entries::with_capacity(entries.len());
        for &(key, item) in entries {
            let key_value = self.eval(key)?;
            let Some(name) = Key::from_value(&key_value) else {
                return self.fail(key, Fault::no_overload([key_value.kind()]));
            };
            self.pay_for_key(key, &key_value)?;
            let Some(value) = self.item(id, item)? else { continue };
            if map.insert(name, value).is_some() {
                return self.fail(key, ErrorCode::DuplicateKey.into());
            }
        }
        Ok(Value::map(map))
    }

    /// The value of an element, or nothing for an optional that is none.
    fn item(&mut self, id: NodeId, item: Item) -> Result<Option<Value<'a>>, Halted> {
        let value = self.eval(item.value)?;
        match (item.optional, value) {
            (false, value) => Ok(Some(value)),
            (true, Value::Optional(value)) => Ok(value.map(|value| (*value).clone())),
            (true, other) => self.fail(id, Fault::no_overload([other.kind()])),
        }
    }

    /// Pays for finding a key that is computed.
    #[inline]
    fn pay_for_key(&mut self, id: NodeId, key: &Value<'a>) -> Result<(), Halted> {
        let paid = self.meter.charge_text(key.as_str().map_or(0, str::len));
        self.at(id, paid)
    }

    fn local(&self, local: Local) -> Value<'a> {
        self.locals.get(usize::from(local.0)).cloned().unwrap_or(Value::Null)
    }

    #[inline]
    pub(super) fn set(&mut self, local: Local, value: Value<'a>) {
        if let Some(place) = self.locals.get_mut(usize::from(local.0)) {
            *place = value;
        }
    }

    #[inline]
    pub(super) fn charge(&mut self, id: NodeId, units: u64) -> Result<(), Halted> {
        let paid = self.meter.charge(units);
        self.at(id, paid)
    }
}

/// Follows slots from one live record to the next.
#[inline]
fn path<'a>(root: &Value<'a>, slots: &[usize]) -> Result<Value<'a>, Fault> {
    match root {
        Value::Map(Map::Live { of, at }) => of.path(*at, slots).ok_or_else(|| ErrorCode::NoSuchKey.into()),
        other => Err(Fault::no_overload([other.kind()])),
    }
}

/// Compares a size with a number. A text of `n` bytes has at least `n / 4` and at most `n` characters, which settles
/// most comparisons without counting.
fn compare_size(
    of: &Value<'_>,
    comparison: Comparison,
    bound: i64,
    meter: &mut Meter<'_>,
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
