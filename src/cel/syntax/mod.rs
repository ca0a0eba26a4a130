//! Text to [`Expr`]: the grammar of the `cel` crate, our spans, our macros, our words for what is wrong.
//!
//! One line: `tokens` (words and signs) → `outline` (brackets and depth, bounded) → `parse`, which has two ways. `parser`
//! reads what people write, in one pass, with `literal` and `macros`. What it does not vouch for goes to the grammar, which
//! has the last word: `convert` gives its tree exact spans, `explain` turns its errors into issues. `print` makes text of an
//! [`Expr`]; `reference` says what each macro is for.

mod convert;
mod explain;
mod expr;
mod literal;
mod macros;
mod messages;
mod outline;
mod parse;
mod parser;
mod print;
mod reference;
mod tokens;

pub(in crate::cel) use parse::parse_rewritten;
pub use parse::{parse, parse_by_grammar, parse_by_precedence};
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
