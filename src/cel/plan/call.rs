//! Makes steps of calls and operators: the commonest tests with a constant become questions, and trees of one operator, as in
//! `a && b && c`, become one step with its clauses side by side.

use super::comparison::{Arithmetic, Comparison};
use super::node::{Clause, LoopKind, Node, NodeId, Summand};
use super::planner::Planner;
use super::question::Question;
use crate::check::Reference;
use crate::fault::{ErrorCode, Fault};
use crate::formats::glob_to_regex;
use crate::function::{Code, Declaration};
use crate::stdlib::{Extent, GLOB, Pattern, SUM};
use crate::syntax::{ComprehensionKind, Expr, ExprKind};
use crate::value::Value;
use std::sync::Arc;

impl Planner<'_> {
    /// The step of a call, or what its constants give.
    pub(super) fn call(&mut self, expr: &Expr) -> NodeId {
        let ExprKind::Call { target, args, .. } = &expr.kind else {
            return self.fail(expr, ErrorCode::NoMatchingOverload);
        };
        let Some(Reference::Function { declaration, qualified, .. }) = self.checked.reference(expr.id) else {
            return self.fail(expr, ErrorCode::NoMatchingOverload);
        };
        if let name @ ("_&&_" | "_||_") = declaration.function.name {
            return self.junction(expr, name);
        }
        let declaration: Declaration = declaration.clone();
        let receiver = target.as_deref().filter(|_| !qualified);
        if let ("size", Some(ExprKind::Comprehension(inner))) =
            (declaration.function.name, receiver.or(args.first()).map(|operand| &operand.kind))
            && inner.kind == ComprehensionKind::Filter
        {
            return self.comprehension(expr, inner, Some(LoopKind::Count));
        }
        if let (SUM, Some(ExprKind::Comprehension(inner))) =
            (declaration.function.name, receiver.map(|operand| &operand.kind))
            && inner.kind == ComprehensionKind::Map
            && inner.second.is_none()
        {
            return self.sum(expr, inner);
        }
        let from = self.nodes.len();
        let mut operands: Vec<NodeId> =
            receiver.into_iter().chain(args).map(|operand| self.expr(operand)).collect();
        if declaration.function.name == SUM {
            operands.push(self.add(expr, Node::Constant(Summand::of(self.checked.type_of(expr.id)).zero())));
        }
        let node = match declaration.function.code {
            Code::Plan => self.operator(declaration.function.name, &operands),
            Code::Pure(code) | Code::Named(code, _) => {
                match self.with_pattern(declaration.function.name, &operands) {
                    Some(node) => {
                        // the pattern is inside the step now
                        self.nodes.pop();
                        self.spans.pop();
                        node
                    }
                    None => Node::Call { name: declaration.function.name, code, args: operands.into() },
                }
            }
            Code::Test(code) => match *operands {
                [a, b] => self.text_question(declaration.function.name, a, b).unwrap_or(Node::Test {
                    name: declaration.function.name,
                    code,
                    a,
                    b,
                }),
                _ => Node::Fail(ErrorCode::NoMatchingOverload.into()),
            },
            Code::Given { variables, code, accepts, is_of_time } => {
                for (position, &operand) in operands.iter().enumerate() {
                    if self.constant(operand).is_some_and(|constant| !accepts(position, constant)) {
                        let span = self.spans.get(operand.0 as usize).copied();
                        self.bad_arguments.extend(span.map(|span| (span, declaration.function.name)));
                    }
                }
                let mut args = operands;
                for (position, variable) in variables.iter().enumerate() {
                    let given = match self.env.variable(variable) {
                        Some(known) => Node::Variable(known.slot),
                        None if position > 0 => Node::Constant(Value::Null),
                        None => return self.fail(expr, ErrorCode::Unbound),
                    };
                    args.push(self.add(expr, given));
                }
                let args = args.into();
                let id = self.add(expr, Node::Call { name: declaration.function.name, code, args });
                self.of_time.extend(is_of_time.then_some(id));
                return id;
            }
            Code::Host => {
                let (name, member) = (declaration.name, receiver.is_some());
                let (signature, args) = (declaration.signature, operands.into());
                return self.add(expr, Node::Host { name, member, signature, args });
            }
        };
        self.fold(expr, from, node)
    }

    /// `text.matches('pattern')` or `text.glob('pattern')` with a constant pattern that compiles within its bounds. Past the bounds of all patterns
    /// together, which refuse the expression, none is compiled any more.
    fn with_pattern(&mut self, name: &str, operands: &[NodeId]) -> Option<Node> {
        let ("matches" | GLOB, &[operand, pattern]) = (name, operands) else { return None };
        let last = self.nodes.len().checked_sub(1) == Some(pattern.0 as usize);
        let Some(Node::Constant(Value::String(pattern))) = self.nodes.last().filter(|_| last) else {
            return None;
        };
        let is_glob = name == GLOB;
        let pattern = if is_glob { glob_to_regex(pattern).ok()? } else { pattern.to_string() };
        match Extent::of_constant(&pattern, &mut self.properties) {
            Ok(extent) => {
                self.pattern_bytes = self.pattern_bytes.saturating_add(extent.bytes(&self.limits));
                let fits = self.pattern_bytes <= self.limits.max_patterns_bytes;
                let pattern = fits.then(|| Pattern::new(&pattern, extent, &self.limits).ok()).flatten();
                let pattern = Arc::new(pattern?);
                let question = if is_glob { Question::Glob(pattern) } else { Question::Matches(pattern) };
                Some(Node::Ask { operand, question })
            }
            Err(Fault { code: ErrorCode::BudgetExceeded, .. }) => {
                self.pattern_bytes = usize::MAX;
                None
            }
            Err(_) => None,
        }
    }

    /// `a && b && c`: the clauses of a tree of one operator, side by side.
    fn junction(&mut self, expr: &Expr, name: &str) -> NodeId {
        let from = self.nodes.len();
        let mut clauses = Vec::new();
        self.clauses(expr, name, 0, &mut clauses);
        let clauses = clauses.into();
        self.fold(expr, from, if name == "_&&_" { Node::And(clauses) } else { Node::Or(clauses) })
    }

    fn clauses(&mut self, expr: &Expr, name: &str, operators: u32, clauses: &mut Vec<Clause>) {
        let ExprKind::Call { args, .. } = &expr.kind else { return };
        let mut operators = Some(operators);
        for operand in args {
            // those outside are reached with the first clause, and are behind when the next one is
            let operators = operators.take().unwrap_or_default();
            let inner = match self.checked.reference(operand.id) {
                Some(Reference::Function { declaration, .. }) => declaration.function.name == name,
                _ => false,
            };
            // what stands for a name is a step of its own, which may be remembered
            if inner && operand.in_place_of.is_none() {
                self.clauses(operand, name, operators.saturating_add(1), clauses);
            } else {
                let step = self.expr(operand);
                clauses.push(Clause { step, operators });
            }
        }
    }

    /// `text.startsWith('a')` with a constant beginning, and its kin.
    fn text_question(&self, name: &str, operand: NodeId, part: NodeId) -> Option<Node> {
        let Value::String(part) = self.constant(part)? else { return None };
        let question = match name {
            "startsWith" => Question::StartsWith((**part).into()),
            "endsWith" => Question::EndsWith((**part).into()),
            _ => return None,
        };
        Some(Node::Ask { operand, question })
    }

    fn operator(&self, name: &str, operands: &[NodeId]) -> Node {
        match (name, operands) {
            ("!_", &[a]) => Node::Not(a),
            ("-_", &[a]) => Node::Negate(a),
            ("_?_:_", &[a, b, c]) => Node::Conditional(a, b, c),
            ("_==_", &[a, b]) => match self.with_text(a, b) {
                Some((operand, text)) => Node::Ask { operand, question: Question::Is(text) },
                None => Node::Equal(a, b),
            },
            ("_!=_", &[a, b]) => match self.with_text(a, b) {
                Some((operand, text)) => Node::Ask { operand, question: Question::IsNot(text) },
                None => Node::NotEqual(a, b),
            },
            ("_<_", &[a, b]) => self.compare(Comparison::Less, a, b),
            ("_<=_", &[a, b]) => self.compare(Comparison::LessEqual, a, b),
            ("_>_", &[a, b]) => self.compare(Comparison::Greater, a, b),
            ("_>=_", &[a, b]) => self.compare(Comparison::GreaterEqual, a, b),
            ("_+_", &[a, b]) => Node::Arithmetic(Arithmetic::Plus, a, b),
            ("_-_", &[a, b]) => Node::Arithmetic(Arithmetic::Minus, a, b),
            ("_*_", &[a, b]) => Node::Arithmetic(Arithmetic::Times, a, b),
            ("_/_", &[a, b]) => Node::Arithmetic(Arithmetic::Divide, a, b),
            ("_%_", &[a, b]) => Node::Arithmetic(Arithmetic::Modulo, a, b),
            ("@in", &[a, b]) => Node::In(a, b),
            ("or", &[operand, other]) => Node::OrOptional { operand, other, value: false },
            ("orValue", &[operand, other]) => Node::OrOptional { operand, other, value: true },
            ("_[_]", &[operand, index]) => Node::Index { operand, index },
            _ => Node::Fail(ErrorCode::NoMatchingOverload.into()),
        }
    }

    /// A comparison; one with a constant number has it inside, and one of a size looks no further than it must.
    fn compare(&self, comparison: Comparison, a: NodeId, b: NodeId) -> Node {
        let size_of = |id: NodeId| match self.nodes.get(id.0 as usize) {
            Some(Node::Call { name: "size", args, .. }) => args.first().copied(),
            _ => None,
        };
        match (size_of(a), self.constant(b), self.constant(a), size_of(b)) {
            (Some(operand), Some(&Value::Int(bound)), ..) => {
                Node::Ask { operand, question: Question::Size(comparison, bound) }
            }
            (.., Some(&Value::Int(bound)), Some(operand)) => {
                Node::Ask { operand, question: Question::Size(comparison.mirrored(), bound) }
            }
            (_, Some(&Value::Int(bound)), ..) => {
                Node::Ask { operand: a, question: Question::Compare(comparison, bound) }
            }
            _ => Node::Compare(comparison, a, b),
        }
    }

    /// One side and the text, if the other is a constant text.
    fn with_text(&self, a: NodeId, b: NodeId) -> Option<(NodeId, Arc<str>)> {
        let text = |id| match self.constant(id) {
            Some(Value::String(text)) => Some((**text).into()),
            _ => None,
        };
        text(b).map(|text| (a, text)).or_else(|| Some((b, text(a)?)))
    }
}
