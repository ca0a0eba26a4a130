//! A `Checked` expression to a [`Plan`]: slots for names, constants folded, regular expressions compiled, loops fused.
//!
//! A plan is a flat run of nodes that name each other by number, children before their parents; each node shows the
//! syntax that it stands for. The evaluator needs nothing else: no text, no names, no types. A plan never fails to be
//! made of a checked expression; what is bound to fail (an unknown overload) fails when it is run.

mod planner;
mod question;

pub(crate) use planner::plan;
pub use question::Question;

use super::env::{EnvId, Slot};
use super::fault::Fault;
use super::function::{PureCode, TestCode};
use super::types::At;
use super::value::{FoldId, Guess, Value};
use crate::source::Span;
use std::borrow::Cow;
use std::ops::Range;

/// A compiled expression.
#[derive(Debug)]
pub struct Plan {
    /// The scope it was made for.
    pub env: EnvId,
    /// The steps, children before parents.
    pub nodes: Vec<Node>,
    /// The characters of each step in the expression.
    pub spans: Vec<Span>,
    /// The step that gives the result.
    pub root: NodeId,
    /// The variables that its steps read, each once.
    pub variables: Vec<Slot>,
    /// How many variables of loops and bindings are alive at once.
    pub locals: usize,
    /// How many bindings its blocks have.
    pub memos: usize,
    /// About the bytes that the constant patterns hold, or would hold if they were compiled.
    pub pattern_bytes: usize,
}

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
    /// `has(operand.key)`
    HasMember {
        /// The map.
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
    /// A question with a constant, as most guards ask: `a < 3`, `a == 'text'`, `text.startsWith('a')`
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
    /// A step that always fails.
    Fail(Fault),
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

/// `<` and its kin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Comparison {
    /// `<`
    Less,
    /// `<=`
    LessEqual,
    /// `>`
    Greater,
    /// `>=`
    GreaterEqual,
}

/// `+` and its kin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arithmetic {
    /// `+`
    Plus,
    /// `-`
    Minus,
    /// `*`
    Times,
    /// `/`
    Divide,
    /// `%`
    Modulo,
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
    /// Which elements count.
    pub filter: Option<NodeId>,
    /// The predicate, or the expression that maps each element.
    pub body: NodeId,
    /// Under which name what the loop came to may be kept: if that depends on nothing but the elements.
    pub(crate) fold: Option<FoldId>,
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
    /// `map`
    Map,
    /// `transformMap`
    TransformMap,
    /// `transformMapEntry`
    TransformMapEntry,
    /// `sortBy`
    SortBy,
}

impl LoopKind {
    /// Whether the outcome is a single number, however many elements there are.
    #[must_use]
    pub fn is_fold(self) -> bool {
        matches!(self, Self::All | Self::Exists | Self::ExistsOne | Self::Count)
    }
}

impl Node {
    /// Whether the step gives the same whenever its operands and the variables of the loop around it are the same: it reads
    /// no variable of the scope, nothing of a block, asks no host, and no loop further out.
    fn is_closed(&self, first: Local) -> bool {
        match self {
            Self::Local(local) => local.0 >= first.0,
            Self::Variable(_)
            | Self::HasVariable(_)
            | Self::Path { .. }
            | Self::Host { .. }
            | Self::Block { .. }
            | Self::Bound(..) => false,
            Self::Constant(_)
            | Self::Field { .. }
            | Self::Member { .. }
            | Self::OptionalMember { .. }
            | Self::HasMember { .. }
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
                | Self::HasMember { .. }
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
}

impl Comparison {
    /// The operator, by CEL's name.
    #[must_use]
    pub fn function_name(self) -> &'static str {
        match self {
            Self::Less => "_<_",
            Self::LessEqual => "_<=_",
            Self::Greater => "_>_",
            Self::GreaterEqual => "_>=_",
        }
    }

    /// Whether two numbers satisfy it.
    #[inline]
    #[must_use]
    pub fn of_ints(self, a: i64, b: i64) -> bool {
        match self {
            Self::Less => a < b,
            Self::LessEqual => a <= b,
            Self::Greater => a > b,
            Self::GreaterEqual => a >= b,
        }
    }

    /// The least and the greatest number that satisfy it; if no number does, the least is greater than the greatest.
    #[must_use]
    pub fn range(self, bound: i64) -> (i64, i64) {
        const NONE: (i64, i64) = (1, 0);
        match self {
            Self::Less => bound.checked_sub(1).map_or(NONE, |most| (i64::MIN, most)),
            Self::LessEqual => (i64::MIN, bound),
            Self::Greater => bound.checked_add(1).map_or(NONE, |least| (least, i64::MAX)),
            Self::GreaterEqual => (bound, i64::MAX),
        }
    }

    /// Whether a size and a number satisfy it.
    #[inline]
    #[must_use]
    pub fn of_size(self, size: usize, bound: i64) -> bool {
        self.of_ints(i64::try_from(size).unwrap_or(i64::MAX), bound)
    }

    /// Whether the size of a text and a number satisfy it, if its bytes tell: a text of `n` has at least `n / 4` and at most
    /// `n` characters, which settles most comparisons without counting.
    #[inline]
    #[must_use]
    pub fn of_length(self, text: &str, bound: i64) -> Option<bool> {
        let least = self.of_size(text.len().div_ceil(4), bound);
        (least == self.of_size(text.len(), bound)).then_some(least)
    }

    /// Whether an order satisfies it.
    #[must_use]
    pub fn holds(self, order: std::cmp::Ordering) -> bool {
        match self {
            Self::Less => order.is_lt(),
            Self::LessEqual => order.is_le(),
            Self::Greater => order.is_gt(),
            Self::GreaterEqual => order.is_ge(),
        }
    }

    /// The same comparison seen from the other side: `3 > a` for `a < 3`.
    #[must_use]
    pub fn mirrored(self) -> Self {
        match self {
            Self::Less => Self::Greater,
            Self::LessEqual => Self::GreaterEqual,
            Self::Greater => Self::Less,
            Self::GreaterEqual => Self::LessEqual,
        }
    }
}

impl Node {
    /// The variable that the step reads itself, if it reads one.
    fn variable(&self) -> Option<Slot> {
        match self {
            Self::Variable(slot) | Self::HasVariable(slot) | Self::Path { root: slot, .. } => Some(*slot),
            _ => None,
        }
    }
}

impl Plan {
    /// A step.
    #[inline]
    #[must_use]
    pub fn node(&self, id: NodeId) -> Option<&Node> {
        self.nodes.get(id.0 as usize)
    }

    /// The characters of a step.
    #[must_use]
    pub fn span(&self, id: NodeId) -> Span {
        self.spans.get(id.0 as usize).copied().unwrap_or_default()
    }

    /// The result, if it is known before it runs.
    #[must_use]
    pub fn constant(&self) -> Option<&Value<'static>> {
        match self.node(self.root) {
            Some(Node::Constant(value)) => Some(value),
            _ => None,
        }
    }

    /// Where constant patterns of `matches` stand that did not compile; those that did are no calls any more.
    pub fn bad_patterns(&self) -> impl Iterator<Item = Span> {
        self.nodes.iter().filter_map(|node| match node {
            Node::Call { name: "matches", args, .. } => {
                let pattern = *args.last()?;
                matches!(self.node(pattern), Some(Node::Constant(Value::String(_))))
                    .then(|| self.span(pattern))
            }
            _ => None,
        })
    }

    /// An estimate of the bytes that the plan holds: its steps, its constants and its patterns.
    #[must_use]
    pub fn heap_bytes(&self) -> usize {
        let constants = self.nodes.iter().map(|node| match node {
            Node::Constant(value) => value.heap_bytes(),
            _ => 0,
        });
        constants
            .fold(self.pattern_bytes, usize::saturating_add)
            .saturating_add(self.nodes.len().saturating_mul(size_of::<(Node, Span)>()))
    }
}
