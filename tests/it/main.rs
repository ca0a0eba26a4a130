//! The one integration binary; a file a subject, data in `tests/data`.
#![expect(clippy::unwrap_used, clippy::indexing_slicing, clippy::string_slice, clippy::arithmetic_side_effects, clippy::missing_docs_in_private_items, reason = "a test that cannot go on should stop at once")]

mod architecture;
mod context;
mod context_scope;
mod manifest;
mod manifest_links;
mod manifest_scalars;
mod scenario_read;
