//! The steps that find a value where it lies: a constant, a variable, a field of the host's structs, a member of a
//! JSON object, an element of a list.
//!
//! Most of what a guard does is to find a value and to ask one thing of it. A value that is moved is copied piece by
//! piece, which costs more than most of what is asked of it; so it is looked at in place wherever it has one.

use super::evaluator::Evaluator;
use super::operators::key_bytes;
use super::progress::Progress;
use super::watch::Watch;
use crate::env::Slot;
use crate::fault::{ErrorCode, Fault};
use crate::plan::{Local, Node, NodeId};
use crate::types::At;
use crate::value::{Guess, JsonRef, Map, Value};

impl<'a, W: Watch<'a>> Evaluator<'a, '_, '_, W> {
    /// Looks at the value of a step: held by the activation, the frame or the plan, or where it was made.
    #[inline(always)]
    pub(super) fn with<T>(
        &mut self,
        operand: NodeId,
        look: impl FnOnce(&mut Progress<'_>, &Value<'a>) -> Option<T>,
    ) -> Option<T> {
        let made;
        let value = match self.nodes.get(operand.0 as usize) {
            _ if W::IS_ON => {
                made = self.eval(operand);
                made.as_ref()?
            }
            Some(Node::Constant(value)) => {
                self.progress.charge(operand, 1)?;
                value
            }
            Some(Node::Variable(slot)) => {
                self.progress.charge(operand, 1)?;
                match self.activation.get(*slot) {
                    Some(value) => value,
                    None => return self.progress.fail(operand, ErrorCode::Unbound),
                }
            }
            Some(Node::Local(local)) => {
                self.progress.charge(operand, 1)?;
                self.locals.get(local.0 as usize).unwrap_or(&Value::Null)
            }
            Some(&Node::Path { root, part, field }) => {
                self.progress.charge(operand, 1)?;
                made = self.path(operand, root, part, field);
                made.as_ref()?
            }
            Some(Node::Member { operand: of, key, guess }) => {
                self.progress.charge(operand, 1)?;
                made = self.member(operand, *of, key, guess);
                made.as_ref()?
            }
            Some(Node::Index { operand: of, index }) => {
                self.progress.charge(operand, 1)?;
                made = self.index(operand, *of, *index);
                made.as_ref()?
            }
            _ => {
                made = self.eval(operand);
                made.as_ref()?
            }
        };
        if matches!(value, Value::Shortened) {
            return self.progress.fail(operand, ErrorCode::ValueShortened);
        }
        look(&mut self.progress, value)
    }

    /// The same with the values of two steps.
    #[inline(always)]
    pub(super) fn with_both<T>(
        &mut self,
        a: NodeId,
        b: NodeId,
        look: impl FnOnce(&mut Progress<'_>, &Value<'a>, &Value<'a>) -> Option<T>,
    ) -> Option<T> {
        if !W::IS_ON
            && let Some(Node::Constant(constant)) = self.nodes.get(b.0 as usize)
        {
            return self.with(a, |progress, a| {
                progress.charge(b, 1)?;
                look(progress, a, constant)
            });
        }
        match &self.eval(a) {
            Some(a) => self.with(b, |progress, b| look(progress, a, b)),
            None => None,
        }
    }

    /// A field of a part of the host's structs that a variable holds.
    pub(super) fn path(
        &mut self,
        id: NodeId,
        root: Slot,
        part: Option<At>,
        field: usize,
    ) -> Option<Value<'a>> {
        self.progress.seek(id, ErrorCode::NoSuchKey);
        match self.activation.get(root) {
            Some(Value::Map(Map::Live { of, at })) => of.field(part.unwrap_or(*at), field).map(Value::from),
            Some(other) => self.progress.fail(id, Fault::no_overload([other.kind()])),
            None => self.progress.fail(id, ErrorCode::Unbound),
        }
    }

    /// A field of a live record that a step gives.
    pub(super) fn field(&mut self, id: NodeId, operand: NodeId, field: usize) -> Option<Value<'a>> {
        self.with(operand, |progress, of| {
            progress.seek(id, ErrorCode::NoSuchKey);
            match of {
                Value::Map(Map::Live { of, at }) => of.field(*at, field).map(Value::from),
                other => progress.fail(id, Fault::no_overload([other.kind()])),
            }
        })
    }

    /// `operand.key`
    #[inline(never)]
    pub(super) fn member(
        &mut self,
        id: NodeId,
        operand: NodeId,
        key: &str,
        guess: &Guess,
    ) -> Option<Value<'a>> {
        let nothing = self.is_of_gap(operand);
        self.with(operand, |progress, of| {
            progress.charge_text(id, key.len())?;
            progress.seek(id, ErrorCode::NoSuchKey);
            match of {
                Value::Null if nothing => Some(Value::Null),
                Value::Map(Map::Json(object)) => object.get_near(key, guess).map(JsonRef::value),
                Value::Map(map) => map.get_str(key),
                other => progress.at(id, other.member(key)),
            }
        })
    }

    /// `operand[index]`
    #[inline(never)]
    pub(super) fn index(&mut self, id: NodeId, operand: NodeId, index: NodeId) -> Option<Value<'a>> {
        let nothing = self.is_of_gap(operand);
        self.with_both(operand, index, |progress, of, index| {
            progress.charge_text(id, key_bytes(index))?;
            progress.seek(id, ErrorCode::IndexOutOfBounds);
            match (of, index) {
                (Value::Null, _) if nothing => Some(Value::Null),
                (Value::List(list), Value::Int(position)) => list.get(usize::try_from(*position).ok()?),
                (of, index) => progress.at(id, of.index(index)),
            }
        })
    }

    pub(super) fn local(&self, local: Local) -> Value<'a> {
        self.locals.get(local.0 as usize).cloned().unwrap_or(Value::Null)
    }
}
