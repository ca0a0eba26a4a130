//! Reviews that policies write as constants, read before anything runs.
//!
//! In: an expression. Out: a finding for each `review` whose argument is a constant map that no review can be made of. What is
//! computed is read when it is asked, and fails there. Linear in the expression.

use super::expression::Expression;
use super::messages;
use super::panel::ReviewPanel;
use crate::cel::{Expr, ExprKind, Json, Literal};
use crate::diagnostic::Diagnostic;
use serde_json::Value;

/// What is wrong with the reviews of an expression.
pub(super) fn bad_reviews(expression: &Expression) -> Vec<Diagnostic> {
    let mut findings = Vec::new();
    look(expression.program().expr(), &mut |argument| {
        let Some(constant) = constant(argument) else { return };
        if let Err(why) = ReviewPanel::read(Json::from(&constant).root()) {
            let finding = messages::bad_review(expression.place_of(argument.span), &why);
            findings.push(finding.path(&expression.origin().path));
        }
    });
    findings
}

/// Hands over the map of each `review` in an expression. As deep as the expression.
fn look<'e>(part: &'e Expr, found: &mut dyn FnMut(&'e Expr)) {
    if let ExprKind::Call { function, target: None, args } = &part.kind
        && let ("review", [argument @ Expr { kind: ExprKind::Map(_), .. }]) = (&*function.text, &**args)
    {
        found(argument);
    }
    part.for_each_part(&mut |part| look(part, found));
}

/// The value of an expression that is made of literals; nothing if anything is computed. As deep as the expression.
fn constant(expression: &Expr) -> Option<Value> {
    match &expression.kind {
        ExprKind::Literal(Literal::String(text)) => Some(text.to_string().into()),
        ExprKind::Literal(Literal::Int(number)) => Some((*number).into()),
        ExprKind::Literal(_) => Some(Value::Null),
        ExprKind::List(items) => items.iter().map(|item| constant(&item.value)).collect(),
        ExprKind::Map(entries) => {
            let entries = entries.iter().map(|entry| {
                let name = constant(&entry.key)?.as_str()?.to_owned();
                Some((name, constant(&entry.value)?))
            });
            entries.collect::<Option<serde_json::Map<_, _>>>().map(Value::Object)
        }
        _ => None,
    }
}
