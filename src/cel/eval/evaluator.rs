//! The walk over a plan.
//!
//! In: a step of it. Out: the step's value or truth, or nothing, and then why stands in the progress of the walk. What takes
//! more than a few lines has a file of its own: how values are found (`read`), loops, blocks, questions, operators.

use super::activation::{Activation, HostFunctions};
use super::error::{Halt, Outcome};
use super::guard::Guards;
use super::operators::{arithmetic, compare, is_in, key_bytes};
use super::place::Variables;
use super::progress::Progress;
use super::remembered::Remembered;
use super::watch::Watch;
use crate::fault::{ErrorCode, Fault};
use crate::function::PureCode;
use crate::plan::{Clause, Item, Local, Node, NodeId, Question};
use crate::value::{Entries, Key, List, Map, Value, View, same_bytes};
use smallvec::SmallVec;
use std::sync::Arc;

/// A walk that is under way: what it reads, and what it has come to.
pub(super) struct Evaluator<'a, 'r, 'h, W> {
    pub(super) nodes: &'a [Node],
    pub(super) guards: &'a Guards,
    pub(super) activation: &'r Activation<'a>,
    pub(super) locals: &'r mut [Value<'a>],
    /// What came out of the bindings that were asked for.
    pub(super) memos: &'r mut [Option<Outcome<'a>>],
    /// What came out of names of the host.
    pub(super) remembered: &'r mut Remembered<'a>,
    /// Which variables of loops are null because nothing is there, or records with fields that may be, a bit each.
    pub(super) gaps: u64,
    pub(super) progress: Progress<'r>,
    pub(super) host: Option<&'r mut (dyn HostFunctions + 'h)>,
    /// Who is told what each step came to.
    pub(super) watch: W,
}

impl<'a, W: Watch<'a>> Evaluator<'a, '_, '_, W> {
    #[inline]
    pub(super) fn node(&mut self, id: NodeId) -> Option<&'a Node> {
        match self.nodes.get(id.0 as usize) {
            Some(node) => Some(node),
            None => self.progress.fail(id, ErrorCode::Unbound),
        }
    }

    /// The value of a step.
    pub(super) fn eval(&mut self, id: NodeId) -> Option<Value<'a>> {
        if W::IS_ON {
            let note = self.watch.begin(id);
            let value = self.paid_value(id);
            let came = value.clone().ok_or_else(|| self.progress.halted());
            self.watch.end(note, id, came);
            return value;
        }
        self.paid_value(id)
    }

    /// The value of a step, which is paid for here.
    #[inline(always)]
    fn paid_value(&mut self, id: NodeId) -> Option<Value<'a>> {
        let node = self.node(id)?;
        self.progress.charge(id, 1)?;
        match self.value(id, node) {
            Some(Value::Shortened) => self.progress.fail(id, ErrorCode::ValueShortened),
            value => value,
        }
    }

    /// The value of a step that was paid for.
    #[inline]
    pub(super) fn value(&mut self, id: NodeId, node: &'a Node) -> Option<Value<'a>> {
        match node {
            Node::Constant(value) => Some(value.borrowed()),
            Node::Variable(slot) => match self.activation.get(*slot) {
                Some(value) => Some(value.clone()),
                None => self.progress.fail(id, ErrorCode::Unbound),
            },
            Node::Local(local) => Some(self.local(*local)),
            &Node::Path { root, part, field } => self.path(id, root, part, field),
            Node::Field { operand, field } => self.field(id, *operand, *field),
            Node::Member { operand, key, guess } => self.member(id, *operand, key, guess),
            Node::Index { operand, index } => self.index(id, *operand, *index),
            node if node.is_test() => self.test(id, node).map(Value::Bool),
            node => self.compute(id, node),
        }
    }

    /// The value of a step that makes one.
    fn compute(&mut self, id: NodeId, node: &'a Node) -> Option<Value<'a>> {
        match node {
            Node::OptionalMember { operand, key } => {
                let nothing = self.is_of_gap(*operand);
                self.with(*operand, |progress, of| {
                    progress.charge_text(id, key.len())?;
                    match of {
                        Value::Null if nothing => Some(Value::Optional(None)),
                        of => progress.at(id, of.optional_member(key)),
                    }
                })
            }
            Node::OptionalIndex { operand, index } => {
                let nothing = self.is_of_gap(*operand);
                self.with_both(*operand, *index, |progress, of, index| {
                    progress.charge_text(id, key_bytes(index))?;
                    match of {
                        Value::Null if nothing => Some(Value::Optional(None)),
                        of => progress.at(id, of.optional_index(index)),
                    }
                })
            }
            Node::Conditional(condition, yes, no) => {
                if self.bool(*condition)? {
                    self.eval(*yes)
                } else {
                    self.eval(*no)
                }
            }
            Node::Arithmetic(operator, a, b) => self.with_both(*a, *b, |progress, a, b| {
                let result = arithmetic(&mut progress.meter, *operator, a, b);
                progress.at(id, result)
            }),
            Node::Negate(a) => self.with(*a, |progress, a| progress.at(id, a.negated())),
            Node::Call { code, args, .. } => self.call(id, *code, args),
            Node::Host { name, member, signature, args } => {
                let mut args: SmallVec<[Value<'a>; 3]> =
                    args.iter().map(|&arg| self.eval(arg)).collect::<Option<_>>()?;
                if let Some(signature) = signature {
                    let paid = signature.enter(&mut self.progress.meter, args.into_iter());
                    args = self.progress.at(id, paid)?.into();
                }
                let answer = self.host.as_mut().map(|host| match member {
                    true => host.call_member(name, &args),
                    false => host.call(name, &args),
                });
                match answer {
                    Some(Ok(answer)) => match signature {
                        Some(signature) => {
                            let held = signature.leave(&mut self.progress.meter, answer);
                            self.progress.at(id, held)
                        }
                        None => Some(answer),
                    },
                    Some(Err(interruption)) => self.progress.halt(Halt::of(interruption, id)),
                    None => self.progress.fail(id, ErrorCode::HostFailed),
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
            &Node::Remembered { name, first, value } => self.recall(name, first, value),
            Node::MapOptional { operand, local, body, flat } => match self.eval(*operand)? {
                Value::Optional(None) => Some(Value::Optional(None)),
                Value::Optional(Some(value)) => {
                    self.set(*local, (*value).clone());
                    let body = self.eval(*body)?;
                    match (flat, &body) {
                        (false, _) => Some(Value::Optional(Some(Arc::new(body)))),
                        (true, Value::Optional(_)) => Some(body),
                        (true, other) => self.progress.fail(id, Fault::no_overload([other.kind()])),
                    }
                }
                other => self.progress.fail(id, Fault::no_overload([other.kind()])),
            },
            Node::OrOptional { operand, other, value } => self.or_optional(id, *operand, *other, *value),
            Node::Fail(fault) => self.progress.fail(id, *fault),
            _ => self.progress.fail(id, ErrorCode::NoMatchingOverload),
        }
    }

    /// The value of a step that must be a `bool`, without making a value of it where the step is a test.
    #[inline(always)]
    pub(super) fn bool(&mut self, id: NodeId) -> Option<bool> {
        // a guard tells of no step inside of it
        if W::IS_ON {
            let note = self.watch.begin(id);
            let truth = self.bool_at_length(id);
            let came = truth.map(Value::Bool).ok_or_else(|| self.progress.halted());
            self.watch.end(note, id, came);
            return truth;
        }
        let stretch = self.progress.meter.stretch();
        let variables = Variables { activation: self.activation, locals: self.locals };
        let Some((truth, left)) = self.guards.ask(id, &variables, stretch) else {
            return self.bool_at_length(id);
        };
        let cost = stretch.saturating_sub(left);
        // builds with assertions do not trust it
        if cfg!(debug_assertions) {
            return self.confirmed(id, truth, cost);
        }
        self.progress.meter.take(cost)?;
        Some(truth)
    }

    /// The same where no guard answers.
    #[inline(never)]
    fn bool_at_length(&mut self, id: NodeId) -> Option<bool> {
        let node = self.node(id)?;
        self.progress.charge(id, 1)?;
        self.test(id, node)
    }

    /// Runs the step that a guard has answered for, which must come to the same and cost the same.
    fn confirmed(&mut self, id: NodeId, truth: bool, cost: u64) -> Option<bool> {
        let left = self.progress.meter.left().saturating_sub(cost);
        let found = self.bool_at_length(id);
        debug_assert_eq!((found, self.progress.meter.left()), (Some(truth), left), "a guard is no step");
        found
    }

    /// The truth of a step that was paid for.
    fn test(&mut self, id: NodeId, node: &'a Node) -> Option<bool> {
        match node {
            Node::Ask { operand, question } => self.ask(id, *operand, question),
            Node::And(clauses) => self.junction(id, clauses, false),
            Node::Or(clauses) => self.junction(id, clauses, true),
            Node::Not(a) => self.bool(*a).map(|value| !value),
            Node::Equal(a, b) => self.equal(id, *a, *b),
            Node::NotEqual(a, b) => self.equal(id, *a, *b).map(|equal| !equal),
            Node::Compare(comparison, a, b) => self.with_both(*a, *b, |progress, a, b| {
                let holds = compare(&mut progress.meter, *comparison, a, b);
                progress.at(id, holds)
            }),
            Node::In(a, b) => self.with_both(*a, *b, |progress, item, of| {
                let found = is_in(&mut progress.meter, item, of);
                progress.at(id, found)
            }),
            Node::HasVariable(slot) => Some(self.activation.get(*slot).is_some()),
            Node::Test { code, a, b, .. } => self.with_both(*a, *b, |progress, a, b| {
                let holds = code(&mut progress.meter, a, b);
                progress.at(id, holds)
            }),
            other => match &self.value(id, other) {
                Some(Value::Bool(value)) => Some(*value),
                Some(other) => self.progress.fail(id, Fault::no_overload([other.kind()])),
                None => None,
            },
        }
    }

    /// The answer to a question about the value of a step.
    fn ask(&mut self, id: NodeId, operand: NodeId, question: &Question) -> Option<bool> {
        let absent = matches!(question, Question::Has(..)) && self.is_of_gap(operand);
        self.with(operand, |progress, of| {
            // a call without a result has no members: `has` asks it like an optional without a value
            let of = if absent && matches!(of, Value::Null) { &Value::Optional(None) } else { of };
            let answer = question.of(of, &mut progress.meter);
            progress.at(id, answer)
        })
    }

    /// `&&` and `||`: the clause with the deciding value decides, whatever the others do (`CEL-03`). If none decides, the first
    /// that failed is why.
    #[inline(never)]
    fn junction(&mut self, id: NodeId, clauses: &'a [Clause], deciding: bool) -> Option<bool> {
        let mut first = None;
        for clause in clauses {
            self.progress.charge(id, clause.operators.into())?;
            match self.bool(clause.step) {
                Some(value) if value == deciding => return Some(deciding),
                Some(_) => {}
                None => {
                    let halt = self.progress.absorb()?;
                    first.get_or_insert(halt);
                }
            }
        }
        match first {
            None => Some(!deciding),
            Some(halt) => self.progress.halt(halt),
        }
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
            _ => self.progress.fail(id, Fault::no_overload([found.kind()])),
        }
    }

    fn equal(&mut self, id: NodeId, a: NodeId, b: NodeId) -> Option<bool> {
        self.with_both(a, b, |progress, a, b| {
            if let (Value::String(a), Value::String(b)) = (a, b) {
                if a.len() != b.len() {
                    return Some(false);
                }
                progress.charge_text(id, a.len())?;
                return Some(same_bytes(a.as_bytes(), b.as_bytes()));
            }
            let equal = a.equals_metered(b, &mut progress.meter);
            progress.at(id, equal)
        })
    }

    fn call(&mut self, id: NodeId, code: PureCode, args: &'a [NodeId]) -> Option<Value<'a>> {
        match *args {
            [a] => self.with(a, |progress, a| {
                let result = code(&mut progress.meter, &[a]);
                progress.at(id, result)
            }),
            [a, b] => self.with_both(a, b, |progress, a, b| {
                let result = code(&mut progress.meter, &[a, b]);
                progress.at(id, result)
            }),
            _ => {
                let values = args.iter().map(|&arg| self.eval(arg)).collect::<Option<Vec<_>>>()?;
                let args: SmallVec<[&Value<'a>; 4]> = values.iter().collect();
                let result = code(&mut self.progress.meter, &args);
                self.progress.at(id, result)
            }
        }
    }

    fn list(&mut self, id: NodeId, items: &'a [Item]) -> Option<Value<'a>> {
        self.progress.charge_built(id, List::bytes(items.len()))?;
        let mut list = Vec::with_capacity(items.len());
        for item in items {
            list.extend(self.item(id, *item)?);
        }
        Some(Value::list(list))
    }

    fn map(&mut self, id: NodeId, entries: &'a [(NodeId, Item)]) -> Option<Value<'a>> {
        self.progress.charge_built(id, Map::bytes(entries.len()))?;
        let mut map = Entries::with_capacity(entries.len());
        for &(key, item) in entries {
            let key_value = self.eval(key)?;
            let Some(name) = Key::from_value(&key_value) else {
                return self.progress.fail(key, Fault::no_overload([key_value.kind()]));
            };
            self.progress.charge_text(key, key_bytes(&key_value))?;
            let Some(value) = self.item(id, item)? else { continue };
            if map.insert(name, value).is_some() {
                return self.progress.fail(key, ErrorCode::DuplicateKey);
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
            (true, other) => self.progress.fail(id, Fault::no_overload([other.kind()])),
        }
    }

    #[inline]
    pub(super) fn set(&mut self, local: Local, value: Value<'a>) {
        self.mark_gap(local, false);
        if let Some(place) = self.locals.get_mut(local.0 as usize) {
            *place = value;
        }
    }

    /// Notes whether a variable of a loop is null because nothing is there, or a record with such a field.
    #[inline(always)]
    pub(super) fn mark_gap(&mut self, local: Local, is_gap: bool) {
        if is_gap {
            self.gaps |= bit(local);
        } else if self.gaps != 0 {
            self.gaps &= !bit(local);
        }
    }

    /// Whether a step is a path that begins at a variable of a loop where nothing is.
    #[inline(always)]
    pub(super) fn is_of_gap(&self, step: NodeId) -> bool {
        self.gaps != 0 && self.begins_at_gap(step)
    }

    #[cold]
    fn begins_at_gap(&self, mut step: NodeId) -> bool {
        loop {
            match self.nodes.get(step.0 as usize) {
                Some(Node::Local(local)) => return self.gaps & bit(*local) != 0,
                Some(Node::Field { operand, field }) => return self.is_gap_field(*operand, *field),
                Some(Node::Member { operand, .. } | Node::Index { operand, .. }) => step = *operand,
                _ => return false,
            }
        }
    }

    /// Whether a field of a variable of a loop is null because nothing is there, such as the result of a call without one.
    fn is_gap_field(&self, operand: NodeId, field: usize) -> bool {
        let Some(Node::Local(local)) = self.nodes.get(operand.0 as usize) else { return false };
        let Some(Value::Map(Map::Live { of, at })) = self.locals.get(local.0 as usize) else { return false };
        self.gaps & bit(*local) != 0 && matches!(of.field(*at, field), Some(View::Null))
    }
}

/// The bit of a variable; those of more loops inside of one another than there are bits have none.
fn bit(local: Local) -> u64 {
    1_u64.checked_shl(local.0).unwrap_or_default()
}
