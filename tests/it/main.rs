//! The one integration binary.

mod architecture;
mod manifest;
mod manifest_cases;
mod manifest_scalars;
