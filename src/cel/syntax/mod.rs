//! Text to [`Expr`]: CEL's grammar, with exact spans, its macros, and our words for what is wrong.
//!
//! One line: `tokens` (words and signs) → `outline` (brackets and depth, bounded) → `grammar` (the tree) with `literal`
//! and `macros`; `parse` is the door, `explain` says what stands where it cannot, `print` turns an [`Expr`] into text;
//! `reference` says what each macro is for.

mod explain;
mod expr;
mod grammar;
mod literal;
mod macros;
mod messages;
mod outline;
mod parse;
mod print;
mod reference;
mod tokens;

pub use parse::parse;
pub(crate) use parse::parse_rewritten;
pub(crate) use print::sign_of;
pub(crate) use reference::form as macro_form;
pub use reference::{MACROS, Macro};
pub use tokens::closing_brace;

pub use expr::{
    BlockBinding, Comprehension, ComprehensionKind, Element, Expr, ExprId, ExprKind, Literal, MapEntry, Name,
    NameId, StructField,
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
