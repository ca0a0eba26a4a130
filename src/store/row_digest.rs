//! Digests of what is stored, so that what is read can be told from what was written.
//!
//! In: texts. Out: a SHA-256 in hexadecimal. It is a guard against damage and careless hands, not a signature: who may
//! write can make a new one.

use celador::digest::Digest;

/// The digest of some texts, in their order.
pub(crate) fn digest(texts: &[&str]) -> String {
    Digest::of_parts(texts).to_string()
}
