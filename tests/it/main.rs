//! The one integration binary.

mod context;
