//! Text to [`Expr`]: the `cel` crate's grammar without its macros, our spans, our macros, our words for what is wrong.

mod expr;

pub use expr::{
    Comprehension, ComprehensionKind, Element, Entry, Expr, ExprId, ExprKind, Literal, Name, StructField,
};
