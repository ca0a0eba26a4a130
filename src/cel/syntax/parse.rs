//! Text to [`Expr`]: bounded by its tokens, parsed by `parser`, or, where that does not vouch for it, by the `cel` crate's
//! grammar.
//!
//! What comes out has exact spans, and macros in place of the calls that were written; ids number it from the root.
//! No text makes it panic or overflow the caller's stack: depth is bounded before a parser runs, and a text of many
//! brackets goes to the grammar on a stack of its own, because that takes up to 170 KB for each of them unoptimised.

use super::expr::{Expr, ExprKind};
use super::outline::{Outline, outline};
use super::tokens::{Token, tokenize};
use super::{convert, explain, messages, parser};
use crate::cel::issue::Issue;
use crate::limits::EvalLimits;
use cel::common::ast::{IdedExpr, SourceInfo};
use cel::parser::ParseErrors;

/// Stack that the parser takes for each level of brackets in an unoptimised build, with a fifth to spare.
const STACK_PER_BRACKET: usize = 200 * 1024;
/// The same for each condition.
const STACK_PER_CONDITION: usize = 12 * 1024;
/// The same for a text of a hundred operators without brackets.
const STACK_AT_LEAST: usize = 512 * 1024;
/// What the parser may take of the caller's stack.
const STACK_OF_CALLER: usize = 1024 * 1024;

/// Reads an expression. Linear in the text; what only the grammar reads, and what is wrong, takes tens of times as long.
///
/// # Errors
/// One issue for each fault: `max_source_bytes`, `max_tokens`, `max_depth`, `empty_expression`, `bad_character`,
/// `unterminated_string`, `unclosed_bracket`, `bad_escape`, `bad_literal`, `reserved_word`, `bad_macro`, or
/// `syntax_error`.
pub fn parse(text: &str, limits: &EvalLimits) -> Result<Expr, Vec<Issue>> {
    parse_rewritten(text, limits, |_| {})
}

/// The same for a scope that gives some of what is written a meaning of its own: the tree is what `rewrite` makes of it.
pub(in crate::cel) fn parse_rewritten(
    text: &str,
    limits: &EvalLimits,
    rewrite: impl FnOnce(&mut Expr),
) -> Result<Expr, Vec<Issue>> {
    let either = |text: &str, tokens: &[Token], outline: &Outline| {
        parser::expression(text, tokens, outline).map_or_else(|| by_grammar(text, tokens, outline), Ok)
    };
    read(text, limits, either, rewrite)
}

/// Reads an expression by the grammar alone: what the tests hold the other parser to.
///
/// # Errors
/// As [`parse`].
#[doc(hidden)]
pub fn parse_by_grammar(text: &str, limits: &EvalLimits) -> Result<Expr, Vec<Issue>> {
    read(text, limits, by_grammar, |_| {})
}

/// Reads an expression by the other parser alone; nothing where that asks the grammar.
#[doc(hidden)]
#[must_use]
pub fn parse_by_precedence(text: &str, limits: &EvalLimits) -> Option<Expr> {
    let own = |text: &str, tokens: &[Token], outline: &Outline| {
        parser::expression(text, tokens, outline).ok_or_else(Vec::new)
    };
    read(text, limits, own, |_| {}).ok()
}

/// Bounds a text, parses it, and numbers what comes out.
fn read(
    text: &str,
    limits: &EvalLimits,
    parser: impl FnOnce(&str, &[Token], &Outline) -> Result<Expr, Vec<Issue>>,
    rewrite: impl FnOnce(&mut Expr),
) -> Result<Expr, Vec<Issue>> {
    if text.len() > limits.max_source_bytes {
        return Err(vec![messages::too_long(limits.max_source_bytes)]);
    }
    let (tokens, faults) = tokenize(text);
    if !faults.is_empty() {
        return Err(faults);
    }
    if tokens.is_empty() {
        return Err(vec![messages::empty(text.len())]);
    }
    if let Some(token) = tokens.get(limits.max_tokens) {
        return Err(vec![messages::too_many_tokens(token.span, limits.max_tokens)]);
    }
    let outline = outline(&tokens, limits.max_depth).map_err(|issue| vec![issue])?;
    let mut expr = parser(text, &tokens, &outline)?;
    rewrite(&mut expr);
    expr.number();
    match levels(&expr, &mut Vec::new()) {
        levels if levels < limits.max_depth => Ok(expr),
        _ => Err(vec![messages::bindings_too_deep(expr.span, limits.max_depth)]),
    }
}

/// The tree of the grammar, or what is wrong with the text.
fn by_grammar(text: &str, tokens: &[Token], outline: &Outline) -> Result<Expr, Vec<Issue>> {
    match grammar(text, outline) {
        None => Err(vec![messages::no_stack()]),
        Some(Err(errors)) => Err(explain::faults(text, tokens, outline, &errors.errors)),
        Some(Ok((tree, source))) => convert::convert(tokens, outline, tree, &source),
    }
}

/// How many levels an evaluation goes down below its root. The outline has bounded what the text shows; only a name of
/// a block's binding goes further down than its text, into the binding's value.
fn levels<'e>(expr: &'e Expr, bindings: &mut Vec<(&'e str, usize)>) -> usize {
    match &expr.kind {
        ExprKind::Ident { name, absolute: false } => {
            let binding = bindings.iter().rev().find(|(binding, _)| binding == name);
            binding.map_or(0, |(_, below)| below.saturating_add(1))
        }
        ExprKind::Block { bindings: own, body } => {
            let outside = bindings.len();
            for binding in own {
                let below = levels(&binding.value, bindings);
                bindings.push((&binding.variable, below));
            }
            let below = levels(body, bindings);
            bindings.truncate(outside);
            below.saturating_add(1)
        }
        _ => {
            let mut below = 0;
            expr.for_each_part(&mut |part| below = below.max(levels(part, bindings).saturating_add(1)));
            below
        }
    }
}

type Parsed = Result<(IdedExpr, SourceInfo), ParseErrors>;

/// Runs the grammar's parser where there is stack enough; nothing if the system gives none.
fn grammar(text: &str, outline: &Outline) -> Option<Parsed> {
    let parse = || {
        let parser =
            cel::Env::default().parser().enable_optional_syntax(true).enable_ident_escape_syntax(true);
        // the outline has bounded what this counts
        parser.max_recursion_depth(u16::MAX).parse_with_source_info(text)
    };
    let brackets = outline.brackets.saturating_mul(STACK_PER_BRACKET);
    let conditions = outline.conditions.saturating_mul(STACK_PER_CONDITION);
    let stack = STACK_AT_LEAST.saturating_add(brackets).saturating_add(conditions);
    if stack <= STACK_OF_CALLER {
        return Some(parse());
    }
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().stack_size(stack).spawn_scoped(scope, parse);
        thread.ok()?.join().ok()
    })
}

/// The first position of a token that starts at or behind a byte.
pub(super) fn token_at(tokens: &[Token], byte: u32) -> usize {
    tokens.partition_point(|token| token.span.start < byte)
}
