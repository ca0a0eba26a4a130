//! A `Checked` expression to a [`Plan`]: slots for names, constants folded, regular expressions compiled, loops fused.
//!
//! A plan is a flat run of nodes that name each other by number, children before their parents; each node shows the
//! syntax that it stands for. The evaluator needs nothing else: no text, no names, no types. A plan never fails to be
//! made of a checked expression; what is bound to fail (an unknown overload) fails when it is run.

mod call;
mod clauses;
mod comparison;
mod comprehension;
mod correlation;
mod node;
mod planner;
mod question;
mod remembered;
mod window;

pub use comparison::{Arithmetic, Comparison};
pub use node::{Clause, Correlation, Item, Local, Loop, LoopKind, Memo, Node, NodeId, RememberedAs, Window};
pub(crate) use planner::plan;
pub use question::Question;

use super::env::{EnvId, Slot};
use super::value::Value;
use crate::fault::ErrorCode;
use crate::limits::EvalLimits;
use crate::meter::Meter;
use crate::re2;
use crate::source::Span;
use crate::stdlib::{pattern_argument, sample};

/// What trying the constants of one expression may cost.
const TRYING_COST: u64 = 100_000;

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
    /// Where constants stand that a function refuses whatever its other arguments are, and the function.
    pub bad_arguments: Vec<(Span, &'static str)>,
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

    /// Constant patterns of calls that cannot be compiled, and where they stand. Patterns of `matches` that compiled are no calls any more.
    pub fn bad_patterns(&self) -> impl Iterator<Item = (Span, &str)> {
        self.nodes.iter().filter_map(|node| {
            let Node::Call { name, args, .. } = node else { return None };
            let pattern = *args.get(pattern_argument(name)?)?;
            let Some(Node::Constant(Value::String(text))) = self.node(pattern) else { return None };
            let is_bad = *name == "matches" || re2::parse(text).is_err();
            is_bad.then(|| (self.span(pattern), &**text))
        })
    }

    /// Calls that fail whenever they run because a function refuses its constants: where these stand, the function, and what it
    /// expects if it says so. What trying them costs is bounded; those beyond are passed over.
    pub fn refused_constants(
        &self,
        limits: &EvalLimits,
    ) -> impl Iterator<Item = (Span, &'static str, Option<&'static str>)> {
        let limits = EvalLimits { max_cost: limits.max_cost.min(TRYING_COST), ..*limits };
        let mut spent = 0;
        self.nodes.iter().zip(&self.spans).filter_map(move |(node, span)| {
            let Node::Call { name, code, args } = node else { return None };
            // a pattern has a finding of its own
            if let Some(position) = pattern_argument(name)
                && let Some(Node::Constant(Value::String(pattern))) = self.node(*args.get(position)?)
                && (*name == "matches" || re2::parse(pattern).is_err())
            {
                return None;
            }
            let constant = |id: &NodeId| match self.node(*id) {
                Some(Node::Constant(value)) => Some(value.borrowed()),
                _ => None,
            };
            let (first, rest) = args.split_first()?;
            let rest: Vec<Value<'_>> = rest.iter().map(constant).collect::<Option<_>>()?;
            let (first, span) = match constant(first) {
                Some(first) => (first, *span),
                None => (sample(name, &rest)?, self.span(*args.last()?)),
            };
            let mut meter = Meter::new(&limits);
            meter.charge(spent).ok()?;
            let arguments: Vec<&Value<'_>> = [&first].into_iter().chain(&rest).collect();
            let fault = code(&mut meter, &arguments).err();
            spent = meter.spent_cost();
            let refused = fault.filter(|fault| fault.code == ErrorCode::InvalidArgument)?;
            Some((span, *name, refused.detail()))
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
