//! Places: the ends of paths, made ready to be found again and again.
//!
//! In: a step of a plan that is a variable, or a field, key or position of a path from there. Out, each time it is asked: the
//! value there as its holder shows it, or nothing where it is not plain. A place makes no value and says nothing of what is
//! wrong; the walk over the plan does.

use super::activation::Activation;
use crate::env::Slot;
use crate::meter::text_units;
use crate::plan::{Node, NodeId};
use crate::types::At;
use crate::value::{Guess, List, LiveRecord, Map, Value, View};

/// What paths begin at: the variables of the scope, and those of the loops around.
pub(super) struct Variables<'r, 'a> {
    pub(super) activation: &'r Activation<'a>,
    pub(super) locals: &'r [Value<'a>],
}

/// How the end of a path is found.
pub(super) trait Find: Send + Sync {
    /// The value there.
    fn view<'r>(&self, variables: &Variables<'r, '_>) -> Option<View<'r>>;

    /// The number there, if it is an `int`.
    #[inline(always)]
    fn int(&self, variables: &Variables<'_, '_>) -> Option<i64> {
        self.view(variables)?.as_int()
    }

    /// The bytes of the text there, if it is a `string`.
    #[inline(always)]
    fn bytes<'r>(&self, variables: &Variables<'r, '_>) -> Option<&'r [u8]> {
        self.view(variables)?.as_bytes()
    }
}

/// The end of a path: each kind is found in a way of its own.
#[derive(PartialEq)]
pub(super) enum Place {
    Root(Root),
    Field(Field),
    Item(Item),
    InRoot(Inside<Root>),
    InItem(Inside<Item>),
}

/// A variable.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Root {
    Scope(Slot),
    Loop(usize),
}

/// A field of the part of the host's structs that a variable holds, or of another part of them.
#[derive(Clone, Copy, PartialEq)]
pub(super) struct Field {
    root: Slot,
    part: Option<At>,
    slot: usize,
}

/// A document in a list of the host's, by its position.
#[derive(Clone, Copy, PartialEq)]
pub(super) struct Item {
    list: Field,
    index: usize,
}

/// A part of a document.
#[derive(PartialEq)]
pub(super) struct Inside<T> {
    document: T,
    steps: Box<[Step]>,
}

/// A step inside of a document.
enum Step {
    Key(Box<str>, Guess),
    Item(usize),
}

impl PartialEq for Step {
    /// Whether both lead to the same, wherever keys were last found.
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Key(one, _), Self::Key(other, _)) => one == other,
            (Self::Item(one), Self::Item(other)) => one == other,
            _ => false,
        }
    }
}

impl Place {
    /// The place that a step finds, and what finding it costs.
    pub(super) fn of(nodes: &[Node], id: NodeId) -> Option<(Self, u64)> {
        let (mut id, mut cost, mut steps) = (id, 1_u64, Vec::new());
        let place = loop {
            match nodes.get(id.0 as usize)? {
                &Node::Variable(slot) => break Self::in_root(Root::Scope(slot), steps),
                Node::Local(local) => break Self::in_root(Root::Loop(local.0 as usize), steps),
                &Node::Path { root, part, field } => {
                    let list = Field { root, part, slot: field };
                    break match steps.pop() {
                        None => Self::Field(list),
                        Some(Step::Item(index)) => Self::in_item(Item { list, index }, steps),
                        Some(Step::Key(..)) => return None,
                    };
                }
                Node::Member { operand, key, .. } => {
                    cost = cost.saturating_add(text_units(key.len())).saturating_add(1);
                    steps.push(Step::Key(key.clone(), Guess::default()));
                    id = *operand;
                }
                Node::Index { operand, index } => {
                    let Node::Constant(Value::Int(index)) = nodes.get(index.0 as usize)? else { return None };
                    // the constant is a step too
                    cost = cost.saturating_add(2);
                    steps.push(Step::Item(usize::try_from(*index).ok()?));
                    id = *operand;
                }
                _ => return None,
            }
        };
        Some((place, cost))
    }

    /// The place that steps, the last one first, lead to from a variable.
    fn in_root(root: Root, steps: Vec<Step>) -> Self {
        match Inside::new(root, steps) {
            Some(inside) => Self::InRoot(inside),
            None => Self::Root(root),
        }
    }

    /// The same from an element of a list.
    fn in_item(item: Item, steps: Vec<Step>) -> Self {
        match Inside::new(item, steps) {
            Some(inside) => Self::InItem(inside),
            None => Self::Item(item),
        }
    }
}

impl<T> Inside<T> {
    fn new(document: T, mut steps: Vec<Step>) -> Option<Self> {
        steps.reverse();
        (!steps.is_empty()).then(|| Self { document, steps: steps.into() })
    }
}

impl Find for Root {
    #[inline(always)]
    fn view<'r>(&self, variables: &Variables<'r, '_>) -> Option<View<'r>> {
        shown(match self {
            Self::Scope(slot) => variables.activation.get(*slot)?,
            Self::Loop(local) => variables.locals.get(*local)?,
        })
    }
}

impl<'a> Variables<'_, 'a> {
    /// The host's structs that a variable holds, and the part of them that it shows.
    #[inline(always)]
    pub(super) fn structs(&self, variable: Slot) -> Option<(&'a dyn LiveRecord, At)> {
        match self.activation.get(variable)? {
            Value::Map(Map::Live { of, at }) => Some((*of, *at)),
            _ => None,
        }
    }
}

impl Field {
    /// The variable that holds the structs.
    pub(super) fn variable(self) -> Slot {
        self.root
    }

    /// The record that has it.
    #[inline(always)]
    fn record<'a>(self, variables: &Variables<'_, 'a>) -> Option<(&'a dyn LiveRecord, At)> {
        let (of, at) = variables.structs(self.root)?;
        Some((of, self.part.unwrap_or(at)))
    }

    /// The number in it, if it is an `int`, of the structs that its variable holds.
    #[inline(always)]
    pub(super) fn int_of(self, (of, at): (&dyn LiveRecord, At)) -> Option<i64> {
        of.int(self.part.unwrap_or(at), self.slot)
    }
}

impl Find for Field {
    #[inline(always)]
    fn view<'r>(&self, variables: &Variables<'r, '_>) -> Option<View<'r>> {
        let (of, at) = self.record(variables)?;
        of.field(at, self.slot)
    }

    #[inline(always)]
    fn int(&self, variables: &Variables<'_, '_>) -> Option<i64> {
        self.int_of(variables.structs(self.root)?)
    }

    #[inline(always)]
    fn bytes<'r>(&self, variables: &Variables<'r, '_>) -> Option<&'r [u8]> {
        let (of, at) = self.record(variables)?;
        of.text(at, self.slot).map(str::as_bytes)
    }
}

impl Find for Item {
    #[inline(always)]
    fn view<'r>(&self, variables: &Variables<'r, '_>) -> Option<View<'r>> {
        let (of, at) = self.list.record(variables)?;
        of.document(at, self.list.slot, self.index).map(View::Json)
    }
}

impl<T: Find> Find for Inside<T> {
    #[inline(always)]
    fn view<'r>(&self, variables: &Variables<'r, '_>) -> Option<View<'r>> {
        let View::Json(mut json) = self.document.view(variables)? else { return None };
        for step in &self.steps {
            json = match step {
                Step::Key(key, guess) => json.get_near(key, guess)?,
                Step::Item(index) => json.item(*index)?,
            };
        }
        Some(View::Json(json))
    }
}

/// A value where it lies, if somebody else than the walk holds it.
#[inline(always)]
fn shown<'r>(value: &'r Value<'_>) -> Option<View<'r>> {
    Some(match value {
        Value::Null => View::Null,
        Value::Bool(value) => View::Bool(*value),
        Value::Int(value) => View::Int(*value),
        Value::UInt(value) => View::UInt(*value),
        Value::Double(value) => View::Double(*value),
        Value::String(text) => View::Text(text),
        Value::Map(Map::Json(json)) | Value::List(List::Json(json)) => View::Json(*json),
        Value::Map(Map::Live { of, at }) => View::Record { of: *of, at: *at },
        Value::List(List::Live { of, at }) => View::List { of: *of, at: *at },
        _ => return None,
    })
}
