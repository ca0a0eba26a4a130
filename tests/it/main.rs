//! The one integration binary.

mod manifest;
mod manifest_cases;
mod manifest_scalars;
