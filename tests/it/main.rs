//! The one integration binary.

mod context;
mod context_scope;
