//! What is kept of a value in its place when it is too large to be kept: its digest, its length and its kind.
//!
//! In: a document. Out: what is to be known of it. It is digested as it is written, so no text is built.

use crate::cel::{Json, Shortened};
use crate::digest::Digest;
use sha2::{Digest as _, Sha256};
use std::io::{self, Write};

/// Digests and counts what is written.
#[derive(Default)]
struct Digester {
    state: Sha256,
    bytes: u64,
}

impl Write for Digester {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.state.update(bytes);
        self.bytes = self.bytes.saturating_add(bytes.len() as u64);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The digest of a document's JSON, compact and with its keys in their order, and the bytes of that text. Linear.
pub(super) fn digest_of(document: &Json) -> (Digest, u64) {
    let mut digester = Digester::default();
    // a writer that cannot fail, and a document holds no number that JSON has no word for
    let _ = serde_json::to_writer(&mut digester, document);
    (Digest::finished(digester.state), digester.bytes)
}

/// What is to be known of a document. Of one that is shortened already, the same. Linear.
pub(super) fn shorten(document: &Json, lacks_room: bool) -> Shortened {
    if let Some(shortened) = document.shortened() {
        return shortened;
    }
    let (digest, bytes) = digest_of(document);
    Shortened {
        sha256: digest.to_string(),
        bytes,
        kind: document.root().kind().name().to_owned(),
        lacks_room,
    }
}
