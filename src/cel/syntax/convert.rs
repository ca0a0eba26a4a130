//! The grammar's tree to [`Expr`]: the same nodes with exact spans, and macros where calls of their names stood.
//!
//! The parser says of each node only where its operator, bracket or word stands. The rest of a span follows from the
//! tokens: its parts, brackets around them, and the bracket that closes what it opens. Recursion is bounded by the
//! depth of the tree, which the outline has bounded.

use super::expr::{Element, Entry, Expr, ExprId, ExprKind, Literal, Name, StructField};
use super::macros;
use super::outline::Outline;
use super::parse::token_at;
use super::tokens::Token;
use crate::cel::issue::Issue;
use crate::source::Span;
use cel::common::ast::{
    CallExpr, EntryExpr, Expr as Tree, IdedEntryExpr, IdedExpr, LiteralValue, SelectExpr, SourceInfo,
    StructExpr, operators,
};

/// The expression of a tree.
///
/// # Errors
/// Macros that are written wrongly.
pub(super) fn convert(
    tokens: &[Token],
    outline: &Outline,
    tree: IdedExpr,
    source: &SourceInfo,
) -> Result<Expr, Vec<Issue>> {
    let mut converter = Converter { tokens, outline, source, issues: Vec::new() };
    let expr = converter.expr(tree).expr;
    if !converter.issues.is_empty() {
        converter.issues.sort_by_key(|issue| issue.span);
        return Err(converter.issues);
    }
    Ok(expr)
}

/// An expression with the positions of its first and last token.
struct Placed {
    expr: Expr,
    first: usize,
    last: usize,
}

struct Converter<'t> {
    tokens: &'t [Token],
    outline: &'t Outline,
    source: &'t SourceInfo,
    issues: Vec<Issue>,
}

impl Converter<'_> {
    fn expr(&mut self, tree: IdedExpr) -> Placed {
        let at = self.position(tree.id);
        match tree.expr {
            Tree::Literal(value) => self.literal(at, value),
            Tree::Ident(name) => self.ident(at, name),
            Tree::Select(select) => self.select(at, select),
            Tree::Call(call) => self.call(at, call),
            Tree::List(list) => self.list(at, list.elements, &list.optional_indices),
            Tree::Map(map) => self.map(at, map.entries),
            Tree::Struct(message) => self.message(at, message),
            // the parser makes neither without macros and without errors
            Tree::Comprehension(_) | Tree::Unspecified => {
                self.place(ExprKind::Literal(Literal::Null), at, at)
            }
        }
    }

    /// The position of the token that the parser names for a node.
    fn position(&self, id: u64) -> usize {
        self.source.offset_for(id).map_or(0, |(start, _)| token_at(self.tokens, start))
    }

    fn sign(&self, at: usize) -> &'static str {
        self.tokens.get(at).map_or("", |token| token.sign())
    }

    fn span(&self, first: usize, last: usize) -> Span {
        let span = |at: usize| self.tokens.get(at).map(|token| token.span).unwrap_or_default();
        span(first).to(span(last))
    }

    fn place(&self, kind: ExprKind, first: usize, last: usize) -> Placed {
        Placed { expr: Expr { id: ExprId(0), span: self.span(first, last), kind }, first, last }
    }

    fn name(&self, text: String, at: usize) -> Name {
        Name { text, span: self.span(at, at) }
    }

    /// The closing bracket of the opening one at a position.
    fn end(&self, at: usize) -> usize {
        self.outline.partner(at).unwrap_or(at)
    }

    /// An operand's first and last token with the brackets that stand only for grouping.
    fn grouped(&self, operand: &Placed) -> (usize, usize) {
        let (mut first, mut last) = (operand.first, operand.last);
        while let Some(before) = first.checked_sub(1)
            && self.sign(before) == "("
            && self.outline.partner(before) == Some(last.saturating_add(1))
        {
            (first, last) = (before, last.saturating_add(1));
        }
        (first, last)
    }

    fn literal(&mut self, at: usize, value: LiteralValue) -> Placed {
        let literal = match value {
            LiteralValue::Null => Literal::Null,
            LiteralValue::Boolean(value) => Literal::Bool(value.into_inner()),
            LiteralValue::Int(value) => Literal::Int(value.into_inner()),
            LiteralValue::UInt(value) => Literal::UInt(value.into_inner()),
            LiteralValue::Double(value) => Literal::Double(value.into_inner()),
            LiteralValue::String(value) => Literal::String(value.into_inner()),
            LiteralValue::Bytes(value) => Literal::Bytes(value.into_inner()),
        };
        let negative = match literal {
            Literal::Int(value) => value < 0,
            Literal::Double(value) => value.is_sign_negative(),
            _ => false,
        };
        let first = if negative { at.saturating_sub(1) } else { at };
        self.place(ExprKind::Literal(literal), first, at)
    }

    fn ident(&mut self, at: usize, written: String) -> Placed {
        match written.strip_prefix('.') {
            Some(name) => {
                let kind = ExprKind::Ident { name: name.to_owned(), absolute: true };
                self.place(kind, at.saturating_sub(1), at)
            }
            None => self.place(ExprKind::Ident { name: written, absolute: false }, at, at),
        }
    }

    fn select(&mut self, dot: usize, select: SelectExpr) -> Placed {
        let operand = self.expr(*select.operand);
        self.selected(dot, operand, select.field, false)
    }

    fn selected(&mut self, dot: usize, operand: Placed, field: String, optional: bool) -> Placed {
        let at = dot.saturating_add(1).saturating_add(usize::from(optional));
        let (first, _) = self.grouped(&operand);
        let kind =
            ExprKind::Select { operand: Box::new(operand.expr), field: self.name(field, at), optional };
        self.place(kind, first, at)
    }

    fn call(&mut self, at: usize, call: CallExpr) -> Placed {
        let CallExpr { func_name, target, mut args } = call;
        match (func_name.as_str(), target, args.as_mut_slice()) {
            (operators::OPT_SELECT, None, [operand, field]) => {
                let field = match std::mem::take(&mut field.expr) {
                    Tree::Literal(LiteralValue::String(field)) => field.into_inner(),
                    _ => String::new(),
                };
                let operand = self.expr(std::mem::take(operand));
                self.selected(at, operand, field, true)
            }
            (operators::INDEX | operators::OPT_INDEX, None, [operand, index]) => {
                let operand = self.expr(std::mem::take(operand));
                let index = self.expr(std::mem::take(index));
                let (first, _) = self.grouped(&operand);
                let kind = ExprKind::Index {
                    operand: Box::new(operand.expr),
                    index: Box::new(index.expr),
                    optional: func_name == operators::OPT_INDEX,
                };
                self.place(kind, first, self.end(at))
            }
            (_, target, _) if self.sign(at) == "(" => self.function(at, func_name, target, args),
            _ => self.operator(at, func_name, args),
        }
    }

    fn operator(&mut self, at: usize, function: String, args: Vec<IdedExpr>) -> Placed {
        let operands: Vec<Placed> = args.into_iter().map(|arg| self.expr(arg)).collect();
        let ends = operands.iter().map(|operand| self.grouped(operand));
        let (first, last) =
            ends.fold((at, at), |(first, last), (start, end)| (first.min(start), last.max(end)));
        let args = operands.into_iter().map(|operand| operand.expr).collect();
        self.place(ExprKind::Call { function: self.name(function, at), target: None, args }, first, last)
    }

    /// A call written as one, which may be a macro.
    fn function(
        &mut self,
        open: usize,
        name: String,
        target: Option<Box<IdedExpr>>,
        args: Vec<IdedExpr>,
    ) -> Placed {
        let at = open.saturating_sub(1);
        let target = target.map(|target| self.expr(*target));
        let first = match &target {
            Some(target) => self.grouped(target).0,
            None => at.saturating_sub(usize::from(name.starts_with('.'))),
        };
        let target = target.map(|target| Box::new(target.expr));
        let args = args.into_iter().map(|arg| self.expr(arg).expr).collect();
        let function = self.name(name, at);
        let kind = macros::expand(function, target, args, &mut self.issues);
        self.place(kind, first, self.end(open))
    }

    fn list(&mut self, open: usize, elements: Vec<IdedExpr>, optional: &[usize]) -> Placed {
        let elements = elements.into_iter().enumerate().map(|(index, element)| Element {
            value: self.expr(element).expr,
            optional: optional.contains(&index),
        });
        let elements = elements.collect();
        self.place(ExprKind::List(elements), open, self.end(open))
    }

    fn map(&mut self, open: usize, entries: Vec<IdedEntryExpr>) -> Placed {
        let mut written = Vec::with_capacity(entries.len());
        for entry in entries {
            if let EntryExpr::MapEntry(entry) = entry.expr {
                let key = self.expr(entry.key).expr;
                let value = self.expr(entry.value).expr;
                written.push(Entry { key, value, optional: entry.optional });
            }
        }
        self.place(ExprKind::Map(written), open, self.end(open))
    }

    fn message(&mut self, open: usize, message: StructExpr) -> Placed {
        let mut fields = Vec::with_capacity(message.entries.len());
        for entry in message.entries {
            let at = self.position(entry.id).saturating_sub(1);
            if let EntryExpr::StructField(field) = entry.expr {
                let value = self.expr(field.value).expr;
                fields.push(StructField {
                    name: self.name(field.field, at),
                    value,
                    optional: field.optional,
                });
            }
        }
        // as many dots as the name has, one of them possibly in front, and a word for each between them
        let dots = message.type_name.matches('.').count();
        let words = dots.saturating_add(usize::from(!message.type_name.starts_with('.')));
        let first = open.saturating_sub(dots).saturating_sub(words);
        self.place(ExprKind::Struct { name: message.type_name, fields }, first, self.end(open))
    }
}
