//! The steps of a plan: each shows the syntax that it stands for, names its operands by number and holds all else itself.

use super::comparison::{Arithmetic, Comparison};
use super::question::Question;
use crate::env::Slot;
use crate::fault::Fault;
use crate::function::{PureCode, TestCode};
use crate::signature::Signature;
use crate::syntax::NameId;
use crate::types::{At, Type};
use crate::value::{Duration, FoldId, Guess, Value};
use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

/// Names a step of a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NodeId(pub u32);

/// Where the frame carries a variable of a loop or binding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Local(pub u32);

/// The place where an evaluation keeps the value of a binding of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Memo(pub u32);

/// One step.
#[derive(Debug)]
pub enum Node {
    /// `1`, `'a'`, `[1, 2]`, `int`
    Constant(Value<'static>),
    /// `input`
    Variable(Slot),
    /// `x` in `list.all(x, …)`
    Local(Local),
    /// `has(event)`
    HasVariable(Slot),
    /// `context.llm.tokens.total`: a field of a live record, by slot
    Path {
        /// The variable that holds the host's structs.
        root: Slot,
        /// The part of them that is the record; the one that the variable shows if nothing is said.
        part: Option<At>,
        /// The slot.
        field: usize,
    },
    /// `f(x).field` of a live record
    Field {
        /// The record.
        operand: NodeId,
        /// The slot.
        field: usize,
    },
    /// `operand.key`
    Member {
        /// The map.
        operand: NodeId,
        /// The key.
        key: Box<str>,
        /// Where it was last found in a JSON object.
        guess: Guess,
    },
    /// `operand.?key`
    OptionalMember {
        /// The map, or an optional one.
        operand: NodeId,
        /// The key.
        key: Box<str>,
    },
    /// `operand[index]`
    Index {
        /// The list or map.
        operand: NodeId,
        /// The index or key.
        index: NodeId,
    },
    /// `operand[?index]`
    OptionalIndex {
        /// The list or map, or an optional one.
        operand: NodeId,
        /// The index or key.
        index: NodeId,
    },
    /// `!a`
    Not(NodeId),
    /// `a && b && c`
    And(Box<[Clause]>),
    /// `a || b || c`
    Or(Box<[Clause]>),
    /// `a ? b : c`
    Conditional(NodeId, NodeId, NodeId),
    /// `a == b`
    Equal(NodeId, NodeId),
    /// `a != b`
    NotEqual(NodeId, NodeId),
    /// `a < b`
    Compare(Comparison, NodeId, NodeId),
    /// A question with a constant, as most guards ask: `a < 3`, `a == 'text'`, `text.startsWith('a')`, `has(a.key)`
    Ask {
        /// The step whose value is asked about.
        operand: NodeId,
        /// The question.
        question: Question,
    },
    /// `a + b`
    Arithmetic(Arithmetic, NodeId, NodeId),
    /// `-a`
    Negate(NodeId),
    /// `a in b`
    In(NodeId, NodeId),
    /// `text.startsWith(other)`: a question about two values
    Test {
        /// The function.
        name: &'static str,
        /// Its code.
        code: TestCode,
        /// The first, or the receiver.
        a: NodeId,
        /// The second.
        b: NodeId,
    },
    /// `f(a, b)`
    Call {
        /// The function.
        name: &'static str,
        /// Its code.
        code: PureCode,
        /// The arguments, the receiver first.
        args: Box<[NodeId]>,
    },
    /// `review(user)`
    Host {
        /// The function.
        name: Cow<'static, str>,
        /// Whether the first argument is a receiver: `user.review()`.
        member: bool,
        /// What its host has declared of it.
        signature: Option<Arc<Signature>>,
        /// The arguments, the receiver first.
        args: Box<[NodeId]>,
    },
    /// `[a, ?b]`
    List(Box<[Item]>),
    /// `{k: v, ?k: v}`
    Map(Box<[(NodeId, Item)]>),
    /// `range.all(x, …)` and its kin
    Loop(Box<Loop>),
    /// `cel.bind(x, value, body)`
    Bind {
        /// The variable.
        local: Local,
        /// Its value.
        value: NodeId,
        /// Where it is known.
        body: NodeId,
    },
    /// `cel.block([a, b], body)`
    Block {
        /// Its bindings. They are not computed when the block begins.
        bindings: Range<Memo>,
        /// Where they are known.
        body: NodeId,
    },
    /// `cel.index(0)`, and the step that computes it
    Bound(Memo, NodeId),
    /// `optional.optMap(x, body)`, `optional.optFlatMap(x, body)`
    MapOptional {
        /// The optional.
        operand: NodeId,
        /// The variable.
        local: Local,
        /// The step that is evaluated with the value bound.
        body: NodeId,
        /// Whether the body gives an optional itself.
        flat: bool,
    },
    /// `optional.or(other)`, `optional.orValue(value)`: the other operand only if there is no value
    OrOptional {
        /// The optional.
        operand: NodeId,
        /// The step whose value replaces it.
        other: NodeId,
        /// Whether the value itself is asked for.
        value: bool,
    },
    /// What stands for a name of the host: its value, which is remembered.
    Remembered {
        /// What it is remembered as.
        name: RememberedAs,
        /// The first of the steps that compute it; they end with the one that gives it.
        first: NodeId,
        /// The step that gives it.
        value: NodeId,
    },
    /// A step that always fails.
    Fail(Fault),
}

/// What a value is remembered as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RememberedAs {
    /// The name.
    pub(crate) name: NameId,
    /// Which zeros its sums of nothing have: these depend on the types of the scope, and all else of a value does not.
    pub(crate) zeros: u64,
}

/// One side of `&&` or `||`. A tree of one operator is a row of its clauses: they are tried in the same order, and what
/// they come to together does not depend on the brackets.
#[derive(Clone, Copy, Debug)]
pub struct Clause {
    /// The step that is evaluated.
    pub step: NodeId,
    /// How many operators inside of the first one are reached with it, each of which is a step that costs.
    pub operators: u32,
}

/// An element of a list or map.
#[derive(Clone, Copy, Debug)]
pub struct Item {
    /// The value.
    pub value: NodeId,
    /// Whether it is an optional, left out if it is none.
    pub optional: bool,
}

/// A macro over the elements of a list or the keys of a map.
#[derive(Debug)]
pub struct Loop {
    /// The result that the loop makes of the elements.
    pub kind: LoopKind,
    /// The list or map that is gone through.
    pub range: NodeId,
    /// Element or key; of a two-variable macro index or key.
    pub first: Local,
    /// Element or value, of a two-variable macro.
    pub second: Option<Local>,
    /// Which elements count, where the body is another expression: of `map` with a condition, and of sums.
    pub filter: Option<NodeId>,
    /// The predicate, or the expression that maps each element.
    pub body: NodeId,
    /// Under which name what the loop came to may be kept: if that depends on nothing but the elements.
    pub(crate) fold: Option<FoldId>,
    /// How elements are left out that cannot matter, if the predicate compares a part of each with a value of its surroundings.
    pub(crate) correlation: Option<Correlation>,
    /// The same if the predicate asks of each whether it is late enough.
    pub(crate) window: Option<Window>,
}

/// A predicate that asks of each element whether it is late enough: `within(t, '1h') && …`, or `!within(t, '1h') || …`. In a list that stands in the
/// order of time the elements that are too early are found at once.
#[derive(Clone, Copy, Debug)]
pub struct Window {
    /// The call that asks it.
    pub(crate) call: NodeId,
    /// What the predicate comes to where the element is too early.
    pub(crate) otherwise: bool,
    /// Whether the predicate asks nothing else.
    pub(crate) is_alone: bool,
}

/// A predicate that compares a part of each element with a value that is the same for all: `t.id == input.id && …`, or
/// `t.id != input.id || …`. Elements of which it need not be asked are found in an index.
#[derive(Debug)]
pub struct Correlation {
    /// Under which name the index is kept.
    pub(crate) id: FoldId,
    /// The part of the element.
    pub(crate) key: NodeId,
    /// The value.
    pub(crate) value: NodeId,
    /// What the predicate comes to where the two are not equal.
    pub(crate) otherwise: bool,
    /// Other clauses that read nothing but the element, and come to the same where they come to `otherwise`.
    pub(crate) others: Box<[NodeId]>,
}

/// The result that a loop makes of its elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LoopKind {
    /// `all`
    All,
    /// `exists`
    Exists,
    /// `exists_one`
    ExistsOne,
    /// `filter`
    Filter,
    /// `filter(…).size()`, without building the list
    Count,
    /// `map(…).sum()` and `filter(…).map(…).sum()`, without building the lists
    Sum(Summand),
    /// `map`
    Map,
    /// `transformMap`
    TransformMap,
    /// `transformMapEntry`
    TransformMapEntry,
    /// `sortBy`
    SortBy,
}

/// The type of which summands are, as far as it is known: that of the sum of none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Summand {
    /// `int`, or not known
    Int,
    /// `uint`
    UInt,
    /// `double`
    Double,
    /// `google.protobuf.Duration`
    Duration,
}

impl Summand {
    /// That of a sum of a type.
    pub(super) fn of(ty: &Type) -> Self {
        match ty {
            Type::UInt => Self::UInt,
            Type::Double => Self::Double,
            Type::Duration => Self::Duration,
            _ => Self::Int,
        }
    }

    /// What an empty list adds up to.
    #[must_use]
    pub fn zero(self) -> Value<'static> {
        match self {
            Self::Int => Value::Int(0),
            Self::UInt => Value::UInt(0),
            Self::Double => Value::Double(0.0),
            Self::Duration => Value::Duration(Duration::ZERO),
        }
    }
}

impl LoopKind {
    /// Whether the outcome is a single number, however many elements there are.
    #[must_use]
    pub fn is_fold(self) -> bool {
        matches!(self, Self::All | Self::Exists | Self::ExistsOne | Self::Count | Self::Sum(_))
    }
}

impl Node {
    /// Whether the step gives the same whenever its operands and the variables of the loop around it are the same: it reads
    /// no variable of the scope, nothing of a block, asks no host, and no loop further out.
    pub(super) fn is_closed(&self, first: Local) -> bool {
        match self {
            Self::Local(local) => local.0 >= first.0,
            Self::Variable(_)
            | Self::HasVariable(_)
            | Self::Path { .. }
            | Self::Host { .. }
            | Self::Block { .. }
            | Self::Bound(..)
            | Self::Remembered { .. } => false,
            Self::Constant(_)
            | Self::Field { .. }
            | Self::Member { .. }
            | Self::OptionalMember { .. }
            | Self::Index { .. }
            | Self::OptionalIndex { .. }
            | Self::Not(_)
            | Self::And(..)
            | Self::Or(..)
            | Self::Conditional(..)
            | Self::Equal(..)
            | Self::NotEqual(..)
            | Self::Compare(..)
            | Self::Ask { .. }
            | Self::Arithmetic(..)
            | Self::Negate(_)
            | Self::In(..)
            | Self::Test { .. }
            | Self::Call { .. }
            | Self::List(_)
            | Self::Map(_)
            | Self::Loop(_)
            | Self::Bind { .. }
            | Self::MapOptional { .. }
            | Self::OrOptional { .. }
            | Self::Fail(_) => true,
        }
    }

    /// Whether the step gives a `bool` whatever its operands are.
    #[inline]
    #[must_use]
    pub fn is_test(&self) -> bool {
        matches!(
            self,
            Self::HasVariable(_)
                | Self::Not(_)
                | Self::And(..)
                | Self::Or(..)
                | Self::Equal(..)
                | Self::NotEqual(..)
                | Self::Compare(..)
                | Self::Ask { .. }
                | Self::In(..)
                | Self::Test { .. }
        )
    }

    /// Whether the step finds a value where it lies, or asks about values that are so found.
    pub(super) fn is_looked_up(&self) -> bool {
        matches!(
            self,
            Self::Constant(_)
                | Self::Variable(_)
                | Self::Local(_)
                | Self::HasVariable(_)
                | Self::Path { .. }
                | Self::Field { .. }
                | Self::Member { .. }
                | Self::OptionalMember { .. }
                | Self::Index { .. }
                | Self::Not(_)
                | Self::And(..)
                | Self::Or(..)
                | Self::Equal(..)
                | Self::NotEqual(..)
                | Self::Compare(..)
                | Self::Ask { .. }
        )
    }

    /// The function or operator that the step is, by CEL's name.
    #[must_use]
    pub fn function_name(&self) -> Option<Cow<'static, str>> {
        let name = match self {
            Self::Host { name, .. } => return Some(name.clone()),
            Self::Call { name, .. } | Self::Test { name, .. } => name,
            Self::Not(_) => "!_",
            Self::Negate(_) => "-_",
            Self::And(..) => "_&&_",
            Self::Or(..) => "_||_",
            Self::Conditional(..) => "_?_:_",
            Self::Compare(comparison, ..) => comparison.function_name(),
            Self::Ask { question, .. } => question.function_name()?,
            Self::Arithmetic(Arithmetic::Plus, ..) => "_+_",
            Self::Arithmetic(Arithmetic::Minus, ..) => "_-_",
            Self::Arithmetic(Arithmetic::Times, ..) => "_*_",
            Self::Arithmetic(Arithmetic::Divide, ..) => "_/_",
            Self::Arithmetic(Arithmetic::Modulo, ..) => "_%_",
            Self::In(..) => "@in",
            Self::OrOptional { value: false, .. } => "or",
            Self::OrOptional { value: true, .. } => "orValue",
            Self::Index { .. } | Self::OptionalIndex { .. } => "_[_]",
            _ => return None,
        };
        Some(Cow::Borrowed(name))
    }

    /// The variable that the step reads itself, if it reads one.
    pub(super) fn variable(&self) -> Option<Slot> {
        match self {
            Self::Variable(slot) | Self::HasVariable(slot) | Self::Path { root: slot, .. } => Some(*slot),
            _ => None,
        }
    }
}
