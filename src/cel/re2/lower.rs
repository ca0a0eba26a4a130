//! Lowering of a syntax tree to the intermediate representation that the engine compiles.

use super::ast::{Anchor, Ast};
use regex_syntax::hir::{Capture, Class, ClassUnicode, Dot, Hir, Look, Repetition};

/// Recurses no deeper than [`MAX_NESTING`](super::MAX_NESTING).
pub(super) fn hir(ast: &Ast) -> Hir {
    match ast {
        Ast::Empty => Hir::empty(),
        Ast::Literal { char, fold_case } => class(super::class::character(*char, *fold_case)),
        Ast::Dot { line_feed: true } => Hir::dot(Dot::AnyChar),
        Ast::Dot { line_feed: false } => Hir::dot(Dot::AnyCharExceptLF),
        Ast::Class(set) => class((**set).clone()),
        Ast::Bracket(bracket) => class(bracket.set.clone()),
        Ast::Anchor(anchor) => Hir::look(match anchor {
            Anchor::TextStart => Look::Start,
            Anchor::TextEnd => Look::End,
            Anchor::LineStart => Look::StartLF,
            Anchor::LineEnd => Look::EndLF,
            Anchor::WordBoundary => Look::WordAscii,
            Anchor::NotWordBoundary => Look::WordAsciiNegate,
        }),
        Ast::Capture(index, part) => {
            Hir::capture(Capture { index: *index, name: None, sub: Box::new(hir(part)) })
        }
        Ast::Group(part) => hir(part),
        Ast::Repeat { part, min, max, greedy } => {
            Hir::repetition(Repetition { min: *min, max: *max, greedy: *greedy, sub: Box::new(hir(part)) })
        }
        Ast::Concat(parts) => Hir::concat(parts.iter().map(hir).collect()),
        Ast::Alternate(parts) => Hir::alternation(parts.iter().map(hir).collect()),
    }
}

/// A class; one of no characters never matches.
fn class(set: ClassUnicode) -> Hir {
    Hir::class(Class::Unicode(set))
}
