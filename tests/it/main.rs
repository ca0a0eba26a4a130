//! The one integration binary; a file a subject, data in `tests/data`.
#![expect(
    clippy::unwrap_used,
    clippy::string_slice,
    clippy::arithmetic_side_effects,
    reason = "a test that cannot go on should stop at once"
)]

mod manifest;
mod manifest_links;
mod manifest_scalars;
