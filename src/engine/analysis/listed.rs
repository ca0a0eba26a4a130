//! Questions that a macro asks about one path with each constant of a list: `['rm ', 'sudo '].exists(w, input.command.contains(w))`.
//!
//! In: a macro over a list of constants. Out: the path, and which of its values may be answered differently. The macro itself stays what is asked: the
//! evaluator answers it for these values, whatever way round it asks. Linear in the list.

use super::path::{function, is_path, mentions};
use super::sample::{Sample, constant};
use super::text::Question;
use crate::cel::{Checked, Comprehension, ComprehensionKind, Expr, ExprKind};

/// A macro over a list of constants that asks about one path.
pub(super) struct Listed<'e> {
    /// The name of the elements.
    pub(super) variable: &'e str,
    pub(super) path: &'e Expr,
    pub(super) with: With,
}

/// What the values of the path are told apart by.
pub(super) enum With {
    /// Whether they are one of these.
    Constants(Vec<Sample>),
    Text(Question),
}

/// What a macro asks with each element of a list of constants; nothing if it asks anything else.
pub(super) fn listed<'e>(checked: &Checked, expr: &'e Expr) -> Option<Listed<'e>> {
    let ExprKind::Comprehension(comprehension) = &expr.kind else { return None };
    let Comprehension { kind, range, variable, second: None, filter: None, body, .. } = &**comprehension
    else {
        return None;
    };
    let ExprKind::List(elements) = &range.kind else { return None };
    let constants: Vec<Sample> =
        elements.iter().map(|it| constant(&it.value).filter(|_| !it.optional)).collect::<Option<_>>()?;
    if constants.is_empty() {
        return None;
    }
    let is_variable =
        |expr: &Expr| matches!(&expr.kind, ExprKind::Ident { name, .. } if *name == variable.text);
    let is_other_path = |expr: &Expr| is_path(checked, expr) && !mentions(expr, &variable.text);
    let (body, is_negated) = bare(body);
    let ExprKind::Call { target, args, .. } = &body.kind else { return None };
    let operands: Vec<&Expr> = target.as_deref().into_iter().chain(args).collect();
    let asked = |path: &'e Expr, with: With| {
        is_other_path(path).then_some(Listed { variable: &variable.text, path, with })
    };
    let (text, question): (_, fn(Vec<String>) -> Question) = match (function(checked, body)?.0, &*operands) {
        ("_==_" | "_!=_", [path, element]) | ("_==_" | "_!=_", [element, path]) if is_variable(element) => {
            return asked(path, With::Constants(constants));
        }
        ("startsWith", [text, part]) if is_variable(part) => (*text, Question::Starts),
        ("endsWith", [text, part]) if is_variable(part) => (*text, Question::Ends),
        ("contains", [text, part]) if is_variable(part) => (*text, Question::Contains),
        _ => return None,
    };
    // whether a text has one of them is one question; whether it has all of them is several
    let is_one_question = constants.len() == 1
        || match kind {
            ComprehensionKind::Exists => !is_negated,
            ComprehensionKind::All => is_negated,
            _ => false,
        };
    let texts = constants.iter().map(|it| match it {
        Sample::Text(text) => Some(text.to_string()),
        _ => None,
    });
    let texts = texts.collect::<Option<Vec<_>>>()?;
    if is_one_question { asked(text, With::Text(question(texts))) } else { None }
}

/// A predicate without its `!`, and whether it has an odd number of them.
fn bare(mut expr: &Expr) -> (&Expr, bool) {
    let mut is_negated = false;
    while let ExprKind::Call { function, target: None, args } = &expr.kind
        && let ("!_", [operand]) = (function.text.as_str(), args.as_slice())
    {
        expr = operand;
        is_negated = !is_negated;
    }
    (expr, is_negated)
}
