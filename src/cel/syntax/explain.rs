//! A token that cannot stand where it stands, in CEL's words: what was found there, and what could stand there.
//!
//! In: its position. Out: an issue at its characters. What could stand there is read off the tokens around.

use super::messages::{self, Expected};
use super::outline::Outline;
use super::tokens::Token;
use crate::issue::Issue;

/// What stands where it cannot, and what could stand there.
pub(super) fn unexpected(text: &str, tokens: &[Token], outline: &Outline, at: usize) -> Issue {
    let back = |count: usize| at.checked_sub(count).and_then(|at| tokens.get(at));
    let (before, found) = (back(1), tokens.get(at));
    let sign = |count: usize| back(count).map_or("", |token| token.sign());
    let word = |token: &Token| text.get(token.span.range()).unwrap_or_default();
    let expected = match (sign(2), sign(1)) {
        (_, ".") | (".", "?") => Expected::Field,
        _ if before.is_some_and(|before| before.ends_operand()) => after_operand(tokens, outline, at),
        (_, opened @ ("(" | "[" | "{")) => Expected::Operand { opened },
        _ => Expected::Operand { opened: "" },
    };
    let end = tokens.last().map_or(0, |last| last.span.end);
    messages::unexpected(found.map(|found| (found.span, word(found))), end, expected, before.map(word))
}

/// What may follow an operand depends on the bracket around it and on an open `?`.
fn after_operand(tokens: &[Token], outline: &Outline, at: usize) -> Expected {
    let ends_operand =
        |at: usize| at.checked_sub(1).and_then(|at| tokens.get(at)).is_some_and(|it| it.ends_operand());
    let mut position = at;
    let mut colons: usize = 0;
    let mut asked = false;
    // whether a comma was passed: what stands before it is another part
    let mut passed = false;
    while let Some(before) = position.checked_sub(1) {
        position = before;
        match tokens.get(before).map_or("", |token| token.sign()) {
            ")" | "]" | "}" => position = outline.partner(before).unwrap_or(before),
            inside @ ("(" | "[" | "{") => {
                return Expected::Operator {
                    asked,
                    inside,
                    postfix: ends_operand(before),
                    keyed: colons > 0,
                };
            }
            "," => passed = true,
            ":" if !passed => colons = colons.saturating_add(1),
            "?" if !passed && ends_operand(before) => match colons.checked_sub(1) {
                Some(rest) => colons = rest,
                None => asked = true,
            },
            _ => {}
        }
    }
    Expected::Operator { asked, inside: "", postfix: false, keyed: false }
}
