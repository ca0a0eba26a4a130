//! Digests of what is stored, so that what is read can be told from what was written.
//!
//! In: texts. Out: a SHA-256 in hexadecimal. Each text counts with its length, so that no two lists of texts come to the
//! same. It is a guard against damage and careless hands, not a signature: who may write can make a new one.

use sha2::{Digest, Sha256};
use std::fmt::Write;

/// The digest of some texts, in their order.
pub(super) fn digest(texts: &[&str]) -> String {
    let mut state = Sha256::new();
    for text in texts {
        state.update((text.len() as u64).to_be_bytes());
        state.update(text);
    }
    let mut hex = String::with_capacity(64);
    for byte in state.finalize() {
        // a String takes everything
        let _ = write!(hex, "{byte:02x}");
    }
    hex
}
