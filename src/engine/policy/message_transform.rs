//! Transforms of messages that give no message.
//!
//! In: the expression of a transform in `guardrails`. Out: the part of it that can take the place of no message. `input` and `output` are lists of one entry there, so
//! `pii.redact(output)` gives a list of that entry and not one of content parts: `output.message` is meant. Linear in the expression.

use super::expression::Expression;
use crate::cel::{Checked, Expr, ExprKind, Type};
use crate::source::Span;

/// Where a transform makes something that is neither a text, nor a list of content parts, nor an entry with `message`.
pub(super) fn no_message(transform: &Expression) -> Option<Span> {
    let checked = transform.checked()?;
    find(&checked, &checked.expr)
}

fn find(checked: &Checked, expr: &Expr) -> Option<Span> {
    match &expr.kind {
        ExprKind::Call { function, target: None, args } if function.text == "_?_:_" => {
            return args.iter().skip(1).find_map(|branch| find(checked, branch));
        }
        ExprKind::Bind { body, .. } => return find(checked, body),
        // what is redacted keeps its shape
        ExprKind::Call { function, args, .. } if is_redact(&function.text) => {
            return args.first().and_then(|value| find(checked, value));
        }
        _ => {}
    }
    let is_none = match checked.type_of(expr.id) {
        Type::Singleton(_) => true,
        Type::List(element) => match &**element {
            Type::Record(record) => record.slot("message").is_some(),
            element => !matches!(element, Type::Dyn | Type::Map(_)),
        },
        Type::Dyn | Type::String | Type::Map(_) | Type::Record(_) | Type::Optional(_) | Type::Param(_) => {
            false
        }
        _ => true,
    };
    is_none.then_some(expr.span)
}

fn is_redact(function: &str) -> bool {
    function == "redact" || function.ends_with(".redact")
}
