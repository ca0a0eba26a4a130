//! The parser's errors to issues: one for each real fault, in CEL's words, at the right character.
//!
//! The parser's own words list tokens of its grammar and its first error drags others behind it. Only the places
//! are taken from it; what was found and what could stand there is read off the tokens around.

use super::messages::{self, Expected};
use super::outline::Outline;
use super::parse::token_at;
use super::tokens::{Token, TokenKind};
use crate::cel::issue::Issue;
use cel::parser::ParseError;

/// The issues of a text that the parser refused.
pub(super) fn faults(text: &str, tokens: &[Token], outline: &Outline, errors: &[ParseError]) -> Vec<Issue> {
    let mut syntax: Option<usize> = None;
    let mut issues = Vec::new();
    for error in errors {
        let at = token_at(tokens, byte_of(text, error.pos));
        if error.msg.starts_with("Syntax error") {
            syntax = Some(syntax.map_or(at, |first| first.min(at)));
        } else if let Some(issue) = bad_word(text, tokens, at) {
            issues.push(issue);
        }
    }
    // words of a text that could not be read to its end may be misread
    if let Some(at) = syntax {
        return vec![unexpected(text, tokens, outline, at)];
    }
    if issues.is_empty() { vec![unexpected(text, tokens, outline, 0)] } else { issues }
}

/// The byte of a line and a column in characters, both from 1.
fn byte_of(text: &str, (line, column): (isize, isize)) -> u32 {
    let (line, column) = (usize::try_from(line).unwrap_or(1), usize::try_from(column).unwrap_or(1));
    let lines = text.split_inclusive('\n');
    let before: usize = lines.take(line.saturating_sub(1)).map(str::len).sum();
    let rest = text.get(before..).unwrap_or_default();
    let inside = rest.char_indices().nth(column.saturating_sub(1)).map_or(rest.len(), |(at, _)| at);
    u32::try_from(before.saturating_add(inside)).unwrap_or(u32::MAX)
}

/// A number beyond its type, or a reserved word in place of a name.
fn bad_word(text: &str, tokens: &[Token], at: usize) -> Option<Issue> {
    let token = tokens.get(at)?;
    let word = text.get(token.span.range()).unwrap_or_default();
    match token.kind {
        TokenKind::Number => Some(messages::number_out_of_range(token.span, word)),
        TokenKind::Name if super::RESERVED.contains(&word) => Some(messages::reserved_word(token.span, word)),
        _ => None,
    }
}

/// What stands where it cannot, and what could stand there.
fn unexpected(text: &str, tokens: &[Token], outline: &Outline, at: usize) -> Issue {
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
