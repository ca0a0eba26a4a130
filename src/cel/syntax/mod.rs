//! Text to [`Expr`]: the `cel` crate's grammar without its macros, our spans, our macros, our words for what is wrong.
//!
//! One line: `tokens` (words and signs) → `outline` (brackets and depth, bounded) → `parse` (the grammar) →
//! `convert` (exact spans) with `macros`; `explain` turns the grammar's errors into issues, `print` an [`Expr`] into text;
//! `reference` says what each macro is for.

mod convert;
mod explain;
mod expr;
mod macros;
mod messages;
mod outline;
mod parse;
mod print;
mod reference;
mod tokens;

pub use parse::parse;
pub(in crate::cel) use parse::parse_rewritten;
pub(crate) use print::sign_of;
pub(crate) use reference::form as macro_form;
pub use reference::{MACROS, Macro};

pub use expr::{
    Binding, Comprehension, ComprehensionKind, Element, Entry, Expr, ExprId, ExprKind, Literal, Name,
    StructField,
};

/// Words that CEL keeps for itself; as field names they are free.
pub const RESERVED: [&str; 17] = [
    "as",
    "break",
    "const",
    "continue",
    "else",
    "for",
    "function",
    "if",
    "import",
    "let",
    "loop",
    "package",
    "namespace",
    "return",
    "var",
    "void",
    "while",
];
