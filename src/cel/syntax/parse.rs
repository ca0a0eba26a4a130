//! Text to [`Expr`]: bounded by its tokens, then read from them.
//!
//! What comes out has exact spans, and macros in place of the calls that were written; ids number it from the root.
//! No text makes it panic or overflow a stack: depth is bounded before the grammar, which recurses, sees the tokens.

use super::expr::{Expr, ExprKind};
use super::grammar::{Misread, read};
use super::outline::outline;
use super::tokens::tokenize;
use super::{explain, messages};
use crate::issue::Issue;
use crate::limits::EvalLimits;

/// Reads an expression. Linear in the text.
///
/// # Errors
/// One issue for each fault: `max_source_bytes`, `max_tokens`, `max_depth`, `empty_expression`, `bad_character`,
/// `unterminated_string`, `unclosed_bracket`, `bad_escape`, `bad_literal`, `reserved_word`, `bad_macro`, or
/// `syntax_error`.
pub fn parse(text: &str, limits: &EvalLimits) -> Result<Expr, Vec<Issue>> {
    parse_rewritten(text, limits, |_| {})
}

/// The same for a scope that gives some of what is written a meaning of its own: the tree is what `rewrite` makes of it.
pub(crate) fn parse_rewritten(
    text: &str,
    limits: &EvalLimits,
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
    let mut expr = read(text, &tokens).map_err(|misread| match misread {
        Misread::Unexpected(at) => vec![explain::unexpected(text, &tokens, &outline, at)],
        Misread::Faults(issues) => issues,
    })?;
    rewrite(&mut expr);
    expr.number();
    match levels(&expr, &mut Vec::new()) {
        levels if levels < limits.max_depth => Ok(expr),
        _ => Err(vec![messages::bindings_too_deep(expr.span, limits.max_depth)]),
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
