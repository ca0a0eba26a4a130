//! Syntax tree of a pattern, with its flags resolved.

use regex_syntax::hir::ClassUnicode;

/// A part of a pattern. Flags such as `(?i)` are resolved into the parts that they apply to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ast {
    /// Matches the empty text.
    Empty,
    /// One character, in either case if `fold_case` is set.
    Literal {
        /// The character.
        char: char,
        /// Whether the flag `i` holds.
        fold_case: bool,
    },
    /// `.`
    Dot {
        /// Whether the flag `s` holds: the dot matches a line feed.
        line_feed: bool,
    },
    /// A class outside brackets: `\d`, `\pL`, and a literal that no text contains (a surrogate such as `\x{D800}`).
    Class(Box<ClassUnicode>),
    /// `[a-z]`
    Bracket(Box<BracketClass>),
    /// `^`, `$`, `\b` and the like.
    Anchor(Anchor),
    /// `(…)` or `(?P<name>…)`. The number counts opening parentheses from 1.
    Capture(u32, Box<Self>),
    /// `(?:…)`
    Group(Box<Self>),
    /// `*`, `+`, `?` and `{2,5}`.
    Repeat {
        /// The repeated part.
        part: Box<Self>,
        /// The least number of times.
        min: u32,
        /// The greatest number of times; `None` if there is none.
        max: Option<u32>,
        /// Whether as many times as possible are preferred.
        greedy: bool,
    },
    /// Parts in a row.
    Concat(Vec<Self>),
    /// `a|b`
    Alternate(Vec<Self>),
}

/// An assertion about a position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Anchor {
    /// `\A`, and `^` without the flag `m`.
    TextStart,
    /// `\z`, and `$` without the flag `m`.
    TextEnd,
    /// `^` with the flag `m`.
    LineStart,
    /// `$` with the flag `m`.
    LineEnd,
    /// `\b`
    WordBoundary,
    /// `\B`
    NotWordBoundary,
}

/// A class in brackets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BracketClass {
    /// The characters that it matches, negation and case folding included.
    pub set: ClassUnicode,
    /// The ranges between two characters, as they are written.
    pub ranges: Vec<(char, char)>,
}
