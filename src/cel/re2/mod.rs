//! RE2's syntax of regular expressions: the dialect of `matches` and of every other function that takes a pattern.
//!
//! [`parse`] is the only reader of patterns. Its [`Ast`] is analysed by the host's checks and lowered to an [`Hir`], which the
//! linear-time engine `regex-automata` compiles. So a pattern has one meaning wherever it is compiled, priced or proved about.
//!
//! The accepted patterns and their meaning are those of RE2 for UTF-8, with these exceptions:
//!
//! - `\C` (one byte) is rejected, as in Go: a match must not split a character;
//! - for the same reason `\B` is not tested between the bytes of a character;
//! - nesting is bounded by [`MAX_NESTING`], and the size of the compiled pattern by the host's limits instead of RE2's `max_mem`;
//! - characters that Unicode added after RE2's tables were made belong to their categories and scripts.

mod ast;
mod class;
mod error;
mod escape;
mod flags;
mod lower;
mod parser;

pub use ast::{Anchor, Ast, BracketClass};
pub use error::{SyntaxError, SyntaxErrorKind};
pub use parser::{MAX_NESTING, Parsed, parse};
#[doc(no_inline)]
pub use regex_syntax::hir::Hir;

#[cfg(test)]
mod tests;
