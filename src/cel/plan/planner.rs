//! Makes the plan: one pass over the tree, children first. What a call becomes stands in `call`.

use super::Plan;
use super::node::{Item, Local, Memo, Node, NodeId};
use super::question::Question;
use crate::check::{Checked, Reference};
use crate::env::{Env, Slot};
use crate::fault::{ErrorCode, Fault};
use crate::limits::EvalLimits;
use crate::source::Span;
use crate::stdlib::Extent;
use crate::syntax::{BlockBinding, Expr, ExprKind, Literal};
use crate::types::{At, Type};
use crate::value::{Blob, Guess, Text, TypeName, Value};

/// What a step over constants gives and what it costs; nothing if it fails. The evaluator's, which stands above and is
/// passed in.
pub(crate) type Fold = fn(&[Node], NodeId, &EvalLimits) -> (Option<Value<'static>>, u64);

/// What computing the constants of one expression may cost; those beyond are computed whenever it runs.
const FOLDING_COST: u64 = 100_000;

/// The plan of a checked expression.
#[must_use]
pub(crate) fn plan(checked: &Checked, env: &Env, fold: Fold) -> Plan {
    let mut limits = *env.limits();
    limits.max_cost = limits.max_cost.min(FOLDING_COST);
    let mut planner = Planner {
        checked,
        limits,
        fold,
        nodes: Vec::new(),
        spans: Vec::new(),
        known: Vec::new(),
        in_use: 0,
        locals: 0,
        memos: 0,
        pattern_bytes: 0,
        bad_arguments: Vec::new(),
        of_time: Vec::new(),
        env,
        properties: Extent::max_properties(env.limits()),
    };
    let root = planner.expr(&checked.expr);
    let (locals, memos) = (planner.locals as usize, planner.memos as usize);
    let Planner { nodes, spans, pattern_bytes, bad_arguments, .. } = planner;
    let mut variables: Vec<Slot> = nodes.iter().filter_map(Node::variable).collect();
    variables.sort_unstable();
    variables.dedup();
    Plan { env: env.id(), nodes, spans, root, variables, locals, memos, pattern_bytes, bad_arguments }
}

/// A plan while it is made.
pub(super) struct Planner<'c> {
    pub(super) checked: &'c Checked,
    /// The scope's bounds, with the rest of the budget for folding.
    pub(super) limits: EvalLimits,
    fold: Fold,
    pub(super) nodes: Vec<Node>,
    pub(super) spans: Vec<Span>,
    /// The variables of macros that are known here, the innermost last.
    known: Vec<Known>,
    /// How many places for locals are in use here.
    pub(super) in_use: u32,
    /// The most that are in use anywhere.
    locals: u32,
    /// The bindings of blocks so far.
    memos: u32,
    /// The bytes that compiled patterns hold.
    pub(super) pattern_bytes: usize,
    /// The calls that ask of an element if it is late enough.
    pub(super) of_time: Vec<NodeId>,
    /// Constants with which a call always fails.
    pub(super) bad_arguments: Vec<(Span, &'static str)>,
    pub(super) env: &'c Env,
    /// Classes by property that patterns may still name.
    pub(super) properties: usize,
}

/// How a variable of a macro is had.
#[derive(Clone, Copy)]
enum Known {
    Local(Local),
    Bound(Memo, NodeId),
}

impl Planner<'_> {
    pub(super) fn add(&mut self, expr: &Expr, node: Node) -> NodeId {
        self.nodes.push(node);
        self.spans.push(expr.span);
        NodeId(u32::try_from(self.nodes.len().saturating_sub(1)).unwrap_or(u32::MAX))
    }

    pub(super) fn constant(&self, id: NodeId) -> Option<&Value<'static>> {
        match self.nodes.get(id.0 as usize) {
            Some(Node::Constant(value)) => Some(value),
            _ => None,
        }
    }

    /// Adds a step whose operands are all there; if all are constants, what it gives is one too. Operands stand
    /// directly before it, so the folded ones are taken back.
    pub(super) fn fold(&mut self, expr: &Expr, from: usize, node: Node) -> NodeId {
        let constant = self.nodes.get(from..).is_some_and(|nodes| nodes.iter().all(is_constant));
        let id = self.add(expr, node);
        if !constant {
            return id;
        }
        let (value, cost) = (self.fold)(&self.nodes, id, &self.limits);
        self.limits.max_cost = self.limits.max_cost.saturating_sub(cost);
        match value {
            Some(value) => {
                self.nodes.truncate(from);
                self.spans.truncate(from);
                self.add(expr, Node::Constant(value))
            }
            None => id,
        }
    }

    pub(super) fn expr(&mut self, expr: &Expr) -> NodeId {
        let first = self.nodes.len();
        let value = self.value(expr);
        match expr.in_place_of {
            Some(name) => self.remembered(expr, name, first, value),
            None => value,
        }
    }

    fn value(&mut self, expr: &Expr) -> NodeId {
        let from = self.nodes.len();
        match &expr.kind {
            ExprKind::Literal(literal) => self.add(expr, Node::Constant(literal_value(literal))),
            ExprKind::Ident { .. } => self.named(expr).unwrap_or_else(|| self.fail(expr, ErrorCode::Unbound)),
            ExprKind::Select { operand, field, optional } => {
                if let Some(id) = self.named(expr) {
                    return id;
                }
                let slot = match self.checked.reference(expr.id) {
                    Some(Reference::Field(slot)) => Some(*slot),
                    _ => None,
                };
                let of = operand;
                let operand = self.expr(operand);
                match (slot, optional) {
                    (Some(field), false) => self.field(expr, of, operand, field),
                    (None, false) => self.fold(
                        expr,
                        from,
                        Node::Member { operand, key: field.text.as_str().into(), guess: Guess::default() },
                    ),
                    (_, true) => self.fold(
                        expr,
                        from,
                        Node::OptionalMember { operand, key: field.text.as_str().into() },
                    ),
                }
            }
            ExprKind::Has { operand, field } => {
                let operand = self.expr(operand);
                let question = Question::Has(field.text.as_str().into(), Guess::default());
                self.fold(expr, from, Node::Ask { operand, question })
            }
            ExprKind::HasVariable(_) => match self.checked.reference(expr.id) {
                Some(&Reference::Variable(slot)) => self.add(expr, Node::HasVariable(slot)),
                Some(Reference::Local(_)) => self.add(expr, Node::Constant(Value::Bool(true))),
                _ => self.fail(expr, ErrorCode::Unbound),
            },
            ExprKind::Index { operand, index, optional } => {
                let operand = self.expr(operand);
                let index = self.expr(index);
                let node = if *optional {
                    Node::OptionalIndex { operand, index }
                } else {
                    Node::Index { operand, index }
                };
                self.fold(expr, from, node)
            }
            ExprKind::Call { .. } => self.call(expr),
            ExprKind::List(elements) => {
                let items = elements.iter();
                let items = items
                    .map(|item| Item { value: self.expr(&item.value), optional: item.optional })
                    .collect();
                self.fold(expr, from, Node::List(items))
            }
            ExprKind::Map(entries) => {
                let entries = entries.iter().map(|entry| {
                    let key = self.expr(&entry.key);
                    (key, Item { value: self.expr(&entry.value), optional: entry.optional })
                });
                let entries = entries.collect();
                self.fold(expr, from, Node::Map(entries))
            }
            ExprKind::Struct { .. } => self.fail(expr, ErrorCode::NoMatchingOverload),
            ExprKind::Comprehension(comprehension) => self.comprehension(expr, comprehension, None),
            ExprKind::Bind { value, body, .. } => {
                let value = self.expr(value);
                let local = self.enter();
                let body = self.expr(body);
                self.leave(1);
                self.add(expr, Node::Bind { local, value, body })
            }
            ExprKind::Block { bindings, body } => self.block(expr, bindings, body),
            ExprKind::OptMap { operand, body, flat, .. } => {
                let operand = self.expr(operand);
                let local = self.enter();
                let body = self.expr(body);
                self.leave(1);
                self.add(expr, Node::MapOptional { operand, local, body, flat: *flat })
            }
        }
    }

    /// A name that stands for a variable or a type.
    fn named(&mut self, expr: &Expr) -> Option<NodeId> {
        match self.checked.reference(expr.id)? {
            &Reference::Variable(slot) => Some(self.add(expr, Node::Variable(slot))),
            &Reference::Local(out) => {
                let position = self.known.len().checked_sub(out)?.checked_sub(1)?;
                let node = match *self.known.get(position)? {
                    Known::Local(local) => Node::Local(local),
                    Known::Bound(memo, value) => Node::Bound(memo, value),
                };
                Some(self.add(expr, node))
            }
            Reference::Type(ty) => Some(self.add(expr, Node::Constant(Value::Type(type_name(ty))))),
            Reference::Field(_) | Reference::Function { .. } => None,
        }
    }

    pub(super) fn fail(&mut self, expr: &Expr, code: ErrorCode) -> NodeId {
        self.add(expr, Node::Fail(Fault::from(code)))
    }

    /// A field of a live record. The parts of a host's structs stand at known places, so a chain of fields from a
    /// variable is one step.
    fn field(&mut self, expr: &Expr, of: &Expr, operand: NodeId, field: usize) -> NodeId {
        let last = self.nodes.len().checked_sub(1) == Some(operand.0 as usize);
        let path = match self.nodes.last() {
            Some(&Node::Variable(root)) if last => Some(Node::Path { root, part: None, field }),
            Some(&Node::Path { root, .. }) if last => {
                self.part(of).map(|part| Node::Path { root, part: Some(part), field })
            }
            _ => None,
        };
        let Some(path) = path else { return self.add(expr, Node::Field { operand, field }) };
        self.nodes.pop();
        self.spans.pop();
        self.add(expr, path)
    }

    /// The part of the host's structs that a selected record is.
    fn part(&self, expr: &Expr) -> Option<At> {
        let ExprKind::Select { operand, .. } = &expr.kind else { return None };
        let Some(Reference::Field(slot)) = self.checked.reference(expr.id) else { return None };
        let Type::Record(record) = self.checked.type_of(operand.id) else { return None };
        record.fields.get_index(*slot)?.1.part
    }

    /// A value of a block may be computed anywhere in what comes after it, amid whatever loops go on there: so the
    /// locals of each value, and those of the body, get places that no other part of the block has.
    fn block(&mut self, expr: &Expr, bindings: &[BlockBinding], body: &Expr) -> NodeId {
        let (outside, in_use, first) = (self.known.len(), self.in_use, Memo(self.memos));
        for binding in bindings {
            let value = self.expr(&binding.value);
            self.in_use = self.locals;
            self.known.push(Known::Bound(Memo(self.memos), value));
            self.memos = self.memos.saturating_add(1);
        }
        let bindings = first..Memo(self.memos);
        let body = self.expr(body);
        self.known.truncate(outside);
        self.in_use = in_use;
        self.add(expr, Node::Block { bindings, body })
    }

    pub(super) fn enter(&mut self) -> Local {
        let local = Local(self.in_use);
        self.in_use = self.in_use.saturating_add(1);
        self.locals = self.locals.max(self.in_use);
        self.known.push(Known::Local(local));
        local
    }

    pub(super) fn leave(&mut self, count: u32) {
        self.in_use = self.in_use.saturating_sub(count);
        self.known.truncate(self.known.len().saturating_sub(count as usize));
    }
}

fn is_constant(node: &Node) -> bool {
    matches!(node, Node::Constant(_))
}

fn literal_value(literal: &Literal) -> Value<'static> {
    match literal {
        Literal::Null => Value::Null,
        Literal::Bool(value) => Value::Bool(*value),
        Literal::Int(value) => Value::Int(*value),
        Literal::UInt(value) => Value::UInt(*value),
        Literal::Double(value) => Value::Double(*value),
        Literal::String(text) => Value::String(Text::Shared(text.as_str().into())),
        Literal::Bytes(bytes) => Value::Bytes(Blob::Shared(bytes.as_slice().into())),
    }
}

fn type_name(ty: &Type) -> TypeName {
    match (ty, ty.kind()) {
        (Type::Opaque(opaque), _) => TypeName(opaque.name.as_str().into()),
        (_, Some(kind)) => TypeName(kind.name().into()),
        (_, None) => TypeName("dyn".into()),
    }
}
