//! A line of the log and its digests.
//!
//! In: the members of an entry, its number, and the digest of the line before. Out: one line, and its digest; and back,
//! with what is wrong with it. A line is `{"number":…,members,"previous":"…","digest":"…"}`: the digest is SHA-256 over all
//! bytes before `,"digest"`, so that reading needs no canonical form of JSON. Nothing is repaired.

use super::messages;
use celador::digest::Digest;
use serde::{Deserialize, Serialize};

/// What stands for the line before the first.
const NONE: Digest = Digest::ZERO;

const HEAD: &[u8] = b",\"digest\":\"";
const TAIL: &[u8] = b"\"}";
/// Where a chain stands: how many lines it has, and the digest of the last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Link {
    pub(super) number: u64,
    pub(super) digest: Digest,
}

impl Link {
    /// Before the first line.
    pub(super) const START: Self = Self { number: 0, digest: NONE };

    pub(super) fn next_number(self) -> u64 {
        self.number.saturating_add(1)
    }
}

/// The line that follows, with its line break, and where the chain then stands.
///
/// # Errors
/// Those of an entry that cannot be written as a JSON object.
pub(super) fn seal<T: Serialize>(after: Link, entry: &T) -> Result<(Vec<u8>, Link), serde_json::Error> {
    let text = serde_json::to_string(entry)?;
    let members = text.strip_prefix('{').and_then(|text| text.strip_suffix('}'));
    let Some(members) = members.filter(|members| !members.is_empty()) else {
        return Err(serde::ser::Error::custom(messages::no_entry()));
    };
    let number = after.next_number();
    let mut line = format!("{{\"number\":{number},{members},\"previous\":\"{}\"", after.digest).into_bytes();
    let digest = Digest::of(&line);
    line.extend_from_slice(HEAD);
    line.extend_from_slice(digest.to_string().as_bytes());
    line.extend_from_slice(TAIL);
    line.push(b'\n');
    Ok((line, Link { number, digest }))
}

/// A flaw of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Flaw {
    /// The end of a file without a line break: the process died while it wrote, or the file was cut.
    #[error("{}", messages::cut_off())]
    CutOff,
    /// It is no line of a log.
    #[error("{}", messages::no_entry())]
    NotAnEntry,
    /// Its own digest is not that of its bytes.
    #[error("{}", messages::changed())]
    Changed,
    /// It does not follow the line before: one was dropped, inserted or moved.
    #[error("{}", messages::unchained(*.expected, *.found))]
    Unchained {
        /// The number that was to follow.
        expected: u64,
        /// The number that stands there.
        found: u64,
    },
    /// A file whose name is not the number of its first line.
    #[error("{}", messages::misnamed(*.0))]
    Misnamed(u64),
}

/// A line as it was read.
#[derive(Clone, Copy, Debug)]
pub(super) struct Line {
    pub(super) link: Link,
    previous: Digest,
}

impl Line {
    /// Whether it follows.
    pub(super) fn follows(self, before: Link) -> Result<Link, Flaw> {
        if self.link.number != before.next_number() || self.previous != before.digest {
            return Err(Flaw::Unchained { expected: before.next_number(), found: self.link.number });
        }
        Ok(self.link)
    }

    /// The link that it says it follows: what a log begins with whose first files were removed.
    pub(super) fn before(self) -> Link {
        Link { number: self.link.number.saturating_sub(1), digest: self.previous }
    }
}

/// Reads a line, without its line break, and holds it against its own digest.
pub(super) fn open(line: &[u8]) -> Result<Line, Flaw> {
    #[derive(Deserialize)]
    struct Read {
        number: u64,
        previous: String,
    }
    let parts = line.len().checked_sub(Digest::HEX.saturating_add(HEAD.len()).saturating_add(TAIL.len()));
    let (body, end) = parts.and_then(|at| line.split_at_checked(at)).ok_or(Flaw::NotAnEntry)?;
    let digest = end.strip_prefix(HEAD).and_then(|end| end.strip_suffix(TAIL)).ok_or(Flaw::NotAnEntry)?;
    let digest = std::str::from_utf8(digest).map_err(|_| Flaw::NotAnEntry)?;
    let digest: Digest = digest.parse().map_err(|_| Flaw::NotAnEntry)?;
    if Digest::of(body) != digest {
        return Err(Flaw::Changed);
    }
    let read: Read = serde_json::from_slice(line).map_err(|_| Flaw::NotAnEntry)?;
    let previous = read.previous.parse().map_err(|_| Flaw::NotAnEntry)?;
    Ok(Line { link: Link { number: read.number, digest }, previous })
}
