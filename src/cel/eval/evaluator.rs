//! The walk over a plan.

use super::activation::{Activation, Host};
use super::block::Outcome;
use super::error::{Halt, Stop};
use crate::cel::fault::{ErrorCode, Fault};
use crate::cel::function::PureCode;
use crate::cel::meter::Meter;
use crate::cel::plan::{Arithmetic, Comparison, Item, Local, Node, NodeId, Plan};
use crate::cel::value::{Entries, Key, List, Map, Value};
use crate::limits::EvalLimits;
use smallvec::SmallVec;
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
    run: impl FnOnce(&mut Evaluator<'a, '_, '_>) -> Option<T>,
) -> (Result<T, Stop>, u64) {
    match plan.locals {
        0 => begin(plan, activation, limits, host, &mut [], run),
        1..=FEW_LOCALS => {
            begin(plan, activation, limits, host, &mut [const { Value::Null }; FEW_LOCALS], run)
        }
        many => begin(plan, activation, limits, host, &mut vec![Value::Null; many], run),
    }
}

#[inline]
fn begin<'a, T>(
    plan: &'a Plan,
    activation: &Activation<'a>,
    limits: &EvalLimits,
    host: Option<&mut (dyn Host + '_)>,
    locals: &mut [Value<'a>],
    run: impl FnOnce(&mut Evaluator<'a, '_, '_>) -> Option<T>,
) -> (Result<T, Stop>, u64) {
    let (meter, memos) = (Meter::new(limits), vec![None; plan.memos]);
    let mut evaluator = Evaluator { nodes: &plan.nodes, activation, locals, memos, meter, host, halt: None };
    let result = if activation.env() == plan.env {
        run(&mut evaluator)
    } else {
        evaluator.fail(plan.root, ErrorCode::WrongScope.into())
    };
    let cost = evaluator.meter.spent_cost();
    match result {
        Some(value) => (Ok(value), cost),
        None => (Err(evaluator.halt.map_or(Stop::Asked, |halt| halt.explain(plan, limits))), cost),
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
    let (meter, memos) = (Meter::new(limits), Vec::new());
    let mut evaluator =
        Evaluator { nodes, activation, locals: &mut [], memos, meter, host: None, halt: None };
    let value = evaluator.eval(step).and_then(|value| {
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
    /// What came out of the bindings that were asked for.
    pub(super) memos: Vec<Option<Outcome<'a>>>,
    pub(super) meter: Meter<'r>,
    host: Option<&'r mut (dyn Host + 'h)>,
    /// Why the evaluation stands still, while its steps give nothing.
    pub(super) halt: Option<Halt>,
}

impl<'a> Evaluator<'a, '_, '_> {
    #[inline]
    fn node(&mut self, id: NodeId) -> Option<&'a Node> {
        match self.nodes.get(id.0 as usize) {
            Some(node) => Some(node),
            None => self.fail(id, ErrorCode::Unbound.into()),
        }
    }

    /// Stops the evaluation at a step.
    #[cold]
    pub(super) fn fail<T>(&mut self, id: NodeId, fault: Fault) -> Option<T> {
        self.halt = Some(Halt::Fault(fault, id));
        None
    }

    /// Stops the evaluation where a computation failed.
    #[inline]
    pub(super) fn at<T>(&mut self, id: NodeId, result: Result<T, Fault>) -> Option<T> {
        match result {
            Ok(value) => Some(value),
            Err(fault) => self.fail(id, fault),
        }
    }

    /// Takes back why the evaluation stands still, if it may go on.
    pub(super) fn absorb(&mut self) -> Option<Halt> {
        self.halt.take_if(|halt| !halt.is_final())
    }

    /// Stands still for a reason that was taken back before.
    pub(super) fn halt<T>(&mut self, halt: Halt) -> Option<T> {
        self.halt = Some(halt);
        None
    }

    /// Looks at the value of a step where it lies: held by the activation or the plan, or where it was made. A value
    /// that is moved is copied piece by piece, which costs more than most of what is asked of it.
    #[inline(always)]
    fn with<T>(&mut self, id: NodeId, look: impl FnOnce(&mut Self, &Value<'a>) -> Option<T>) -> Option<T> {
        match self.nodes.get(id.0 as usize) {
            Some(Node::Constant(value)) => {
                self.charge(id, 1)?;
                look(self, value)
            }
            Some(Node::Variable(slot)) => {
                self.charge(id, 1)?;
                match self.activation.get(*slot) {
                    Some(value) => look(self, value),
                    None => self.fail(id, ErrorCode::Unbound.into()),
                }
            }
            _ => match &self.eval(id) {
                Some(value) => look(self, value),
                None => None,
            },
        }
    }

    /// The same with the values of two steps.
    #[inline(always)]
    fn with_both<T>(
        &mut self,
        a: NodeId,
        b: NodeId,
        look: impl FnOnce(&mut Self, &Value<'a>, &Value<'a>) -> Option<T>,
    ) -> Option<T> {
        self.with(a, |run, a| run.with(b, |run, b| look(run, a, b)))
    }

    /// Follows slots from one live record to the next.
    fn path(&mut self, id: NodeId, root: &Value<'a>, slots: &[usize]) -> Option<Value<'a>> {
        let Value::Map(Map::Live { of, at }) = root else {
            return self.fail(id, Fault::no_overload([root.kind()]));
        };
        let field = of.path(*at, slots);
        if field.is_none() {
            return self.fail(id, ErrorCode::NoSuchKey.into());
        }
        field
    }

    /// Pays for finding a key of so many bytes.
    #[inline]
    fn pay_for_key(&mut self, id: NodeId, bytes: usize) -> Option<()> {
        let paid = self.meter.charge_text(bytes);
        self.at(id, paid)
    }

    fn member(&mut self, id: NodeId, of: &Value<'a>, key: &str) -> Option<Value<'a>> {
        self.pay_for_key(id, key.len())?;
        let Value::Map(map) = of else { return self.at(id, of.member(key)) };
        let found = map.get_str(key);
        if found.is_none() {
            return self.fail(id, ErrorCode::NoSuchKey.into());
        }
        found
    }

    /// The value of a step.
    pub(super) fn eval(&mut self, id: NodeId) -> Option<Value<'a>> {
        let node = self.node(id)?;
        self.charge(id, 1)?;
        match node {
            Node::Constant(value) => Some(value.borrowed()),
            Node::Variable(slot) => match self.activation.get(*slot) {
                Some(value) => Some(value.clone()),
                None => self.fail(id, ErrorCode::Unbound.into()),
            },
            Node::Local(local) => Some(self.local(*local)),
            Node::Path { root, fields } => match self.activation.get(*root) {
                Some(root) => self.path(id, root, fields),
                None => self.fail(id, ErrorCode::Unbound.into()),
            },
            Node::Field { operand, field } => self.with(*operand, |run, of| run.path(id, of, &[*field])),
            Node::Member { operand, key } => self.with(*operand, |run, of| run.member(id, of, key)),
            Node::OptionalMember { operand, key } => self.with(*operand, |run, of| {
                run.pay_for_key(id, key.len())?;
                run.at(id, of.optional_member(key))
            }),
            Node::Index { operand, index } => self.with_both(*operand, *index, |run, of, index| {
                run.pay_for_key(id, key_bytes(index))?;
                run.at(id, of.index(index))
            }),
            Node::OptionalIndex { operand, index } => self.with_both(*operand, *index, |run, of, index| {
                run.pay_for_key(id, key_bytes(index))?;
                run.at(id, of.optional_index(index))
            }),
            Node::Conditional(condition, yes, no) => {
                if self.bool(*condition)? {
                    self.eval(*yes)
                } else {
                    self.eval(*no)
                }
            }
            Node::Arithmetic(operator, a, b) => self.with_both(*a, *b, |run, a, b| {
                let result = run.arithmetic(*operator, a, b);
                run.at(id, result)
            }),
            Node::Negate(a) => self.with(*a, |run, a| run.at(id, a.negated())),
            Node::Call { code, args, .. } => self.call(id, *code, args),
            Node::Host { name, args } => {
                let args: SmallVec<[Value<'a>; 3]> =
                    args.iter().map(|&arg| self.eval(arg)).collect::<Option<_>>()?;
                match self.host.as_mut().map(|host| host.call(name, &args)) {
                    Some(Ok(answer)) => Some(answer),
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
            Node::Block { bindings, body } => self.block(bindings, *body),
            Node::Bound(memo, value) => self.bound(*memo, *value),
            Node::MapOptional { operand, local, body, flat } => match self.eval(*operand)? {
                Value::Optional(None) => Some(Value::Optional(None)),
                Value::Optional(Some(value)) => {
                    self.set(*local, (*value).clone());
                    let body = self.eval(*body)?;
                    match (flat, &body) {
                        (false, _) => Some(Value::Optional(Some(Arc::new(body)))),
                        (true, Value::Optional(_)) => Some(body),
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
    pub(super) fn bool(&mut self, id: NodeId) -> Option<bool> {
        let node = self.node(id)?;
        if node.is_test() {
            self.charge(id, 1)?;
            return self.test(id, node);
        }
        match &self.eval(id) {
            Some(Value::Bool(value)) => Some(*value),
            Some(other) => self.fail(id, Fault::no_overload([other.kind()])),
            None => None,
        }
    }

    /// The steps that give a `bool` by what they are.
    fn test(&mut self, id: NodeId, node: &'a Node) -> Option<bool> {
        match node {
            Node::Not(a) => self.bool(*a).map(|value| !value),
            Node::And(a, b) => self.decide(*a, *b, false),
            Node::Or(a, b) => self.decide(*a, *b, true),
            Node::Equal(a, b) => self.equal(id, *a, *b),
            Node::NotEqual(a, b) => self.equal(id, *a, *b).map(|equal| !equal),
            Node::Compare(comparison, a, b) => self.compare(id, *comparison, *a, *b),
            Node::CompareSize { comparison, operand, bound } => self.with(*operand, |run, of| {
                let holds = compare_size(of, *comparison, *bound, &mut run.meter);
                run.at(id, holds)
            }),
            Node::In(a, b) => self.with_both(*a, *b, |run, item, of| {
                let found = run.is_in(item, of);
                run.at(id, found)
            }),
            Node::HasVariable(slot) => Some(self.activation.get(*slot).is_some()),
            Node::HasMember { operand, key } => self.with(*operand, |run, of| {
                run.pay_for_key(id, key.len())?;
                run.at(id, of.has_member(key))
            }),
            Node::Matches(operand, pattern) => self.with(*operand, |run, text| {
                let Value::String(text) = text else {
                    return run.fail(id, Fault::no_overload([text.kind()]));
                };
                let found = pattern.is_match(&mut run.meter, text);
                run.at(id, found)
            }),
            _ => self.fail(id, ErrorCode::NoMatchingOverload.into()),
        }
    }

    fn compare(&mut self, id: NodeId, comparison: Comparison, a: NodeId, b: NodeId) -> Option<bool> {
        self.with_both(a, b, |run, a, b| {
            // most of what a guard asks is whether a number is small enough
            if let (Value::Int(a), Value::Int(b)) = (a, b) {
                return Some(comparison.holds(a.cmp(b)));
            }
            let paid = run.charge_ordered(a, b);
            let order = run.at(id, paid.and_then(|()| a.order(b)))?;
            Some(order.is_some_and(|order| comparison.holds(order)))
        })
    }

    /// `&&` and `||`: whichever side has the deciding value decides, whatever the other side does (`CEL-03`).
    fn decide(&mut self, a: NodeId, b: NodeId, deciding: bool) -> Option<bool> {
        match self.bool(a) {
            Some(value) if value == deciding => return Some(deciding),
            Some(_) => return self.bool(b),
            None => {}
        }
        let first = self.absorb()?;
        match self.bool(b) {
            Some(value) if value == deciding => return Some(deciding),
            Some(_) => {}
            None => {
                self.absorb()?;
            }
        }
        self.halt(first)
    }

    /// `or` and `orValue`: the other operand is evaluated only if there is no value.
    fn or_optional(&mut self, id: NodeId, operand: NodeId, other: NodeId, value: bool) -> Option<Value<'a>> {
        let found = match (self.eval(operand)?, value) {
            (Value::Optional(Some(found)), true) => return Some((*found).clone()),
            (Value::Optional(None), true) => return self.eval(other),
            (Value::Optional(None), false) => self.eval(other)?,
            (found, _) => found,
        };
        match (&found, value) {
            (Value::Optional(_), false) => Some(found),
            _ => self.fail(id, Fault::no_overload([found.kind()])),
        }
    }

    fn equal(&mut self, id: NodeId, a: NodeId, b: NodeId) -> Option<bool> {
        self.with_both(a, b, |run, a, b| {
            let equal = a.equals_metered(b, &mut run.meter);
            run.at(id, equal)
        })
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
                self.meter.charge_text(key_bytes(item))?;
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

    fn call(&mut self, id: NodeId, code: PureCode, args: &'a [NodeId]) -> Option<Value<'a>> {
        match *args {
            [a] => self.with(a, |run, a| {
                let result = code(&mut run.meter, &[a]);
                run.at(id, result)
            }),
            [a, b] => self.with_both(a, b, |run, a, b| {
                let result = code(&mut run.meter, &[a, b]);
                run.at(id, result)
            }),
            _ => {
                let values = args.iter().map(|&arg| self.eval(arg)).collect::<Option<Vec<_>>>()?;
                let args: SmallVec<[&Value<'a>; 4]> = values.iter().collect();
                let result = code(&mut self.meter, &args);
                self.at(id, result)
            }
        }
    }

    fn list(&mut self, id: NodeId, items: &'a [Item]) -> Option<Value<'a>> {
        let paid = self.meter.charge_built(List::bytes(items.len()));
        self.at(id, paid)?;
        let mut list = Vec::with_capacity(items.len());
        for item in items {
            list.extend(self.item(id, *item)?);
        }
        Some(Value::list(list))
    }

    fn map(&mut self, id: NodeId, entries: &'a [(NodeId, Item)]) -> Option<Value<'a>> {
        let paid = self.meter.charge_built(Map::bytes(entries.len()));
        self.at(id, paid)?;
        let mut map = Entries::with_capacity(entries.len());
        for &(key, item) in entries {
            let key_value = self.eval(key)?;
            let Some(name) = Key::from_value(&key_value) else {
                return self.fail(key, Fault::no_overload([key_value.kind()]));
            };
            self.pay_for_key(key, key_bytes(&key_value))?;
            let Some(value) = self.item(id, item)? else { continue };
            if map.insert(name, value).is_some() {
                return self.fail(key, ErrorCode::DuplicateKey.into());
            }
        }
        Some(Value::map(map))
    }

    /// The value of an element, or nothing for an optional that is none.
    fn item(&mut self, id: NodeId, item: Item) -> Option<Option<Value<'a>>> {
        let value = self.eval(item.value)?;
        match (item.optional, value) {
            (false, value) => Some(Some(value)),
            (true, Value::Optional(value)) => Some(value.map(|value| (*value).clone())),
            (true, other) => self.fail(id, Fault::no_overload([other.kind()])),
        }
    }

    fn local(&self, local: Local) -> Value<'a> {
        self.locals.get(local.0 as usize).cloned().unwrap_or(Value::Null)
    }

    #[inline]
    pub(super) fn set(&mut self, local: Local, value: Value<'a>) {
        if let Some(place) = self.locals.get_mut(local.0 as usize) {
            *place = value;
        }
    }

    #[inline]
    pub(super) fn charge(&mut self, id: NodeId, units: u64) -> Option<()> {
        let paid = self.meter.charge(units);
        self.at(id, paid)
    }
}

/// The bytes of a key that is text.
#[inline]
fn key_bytes(key: &Value<'_>) -> usize {
    key.as_str().map_or(0, str::len)
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
