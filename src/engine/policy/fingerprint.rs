//! What tells one policy from another: whether a task that was suspended under it may go on under another.
//!
//! In: the digest of everything that decides, which `encoding` writes down, or what an earlier release stored in its place.
//! Out: a [`Fingerprint`] that can be compared, stored and shown. It is a SHA-256 digest, so nobody can make a second policy
//! that has the same.

use crate::digest::Digest;
use serde::de::{Error, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;

/// A digest of everything in a policy that decides, to tell one policy from another.
///
/// Two policies whose manifests differ in comments, in layout, in texts for people or in the order of files have the same
/// one; any other difference makes another. It is written as 64 hexadecimal digits.
///
/// Releases before had a number, which came of how that very build printed its structs. A stored task may still hold one.
/// Such a number is equal to itself and to nothing else: it cannot be compared with the policy of a later release.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Fingerprint(Kind);

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// Of an encoding whose version is part of what is digested. A version that comes after it needs a written form of its
    /// own, so that a stored one can be told from another policy.
    Digest(Digest),
    /// Of a release before.
    Number(u64),
}

impl Fingerprint {
    /// The fingerprint of what was written down.
    pub(super) const fn of(digest: Digest) -> Self {
        Self(Kind::Digest(digest))
    }

    /// Whether an earlier release made it, so that it cannot be compared with the fingerprint of a policy.
    #[must_use]
    pub const fn is_of_earlier_kind(&self) -> bool {
        matches!(self.0, Kind::Number(_))
    }
}

impl fmt::Display for Fingerprint {
    /// As it is stored, logged and shown: 64 hexadecimal digits; 16 if it is of the earlier kind.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Kind::Digest(digest) => fmt::Display::fmt(&digest, f),
            Kind::Number(number) => write!(f, "{number:016x}"),
        }
    }
}

impl fmt::Debug for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Serialize for Fingerprint {
    /// One of the earlier kind stays the number that it was, so that what is read and written again is the same.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Kind::Digest(digest) => serializer.collect_str(&digest),
            Kind::Number(number) => serializer.serialize_u64(number),
        }
    }
}

impl<'de> Deserialize<'de> for Fingerprint {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct EitherKind;

        impl Visitor<'_> for EitherKind {
            type Value = Fingerprint;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a fingerprint: 64 hexadecimal digits, or a number of an earlier release")
            }

            fn visit_u64<E: Error>(self, number: u64) -> Result<Fingerprint, E> {
                Ok(Fingerprint(Kind::Number(number)))
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<Fingerprint, E> {
                text.parse().map(Fingerprint::of).map_err(E::custom)
            }
        }

        deserializer.deserialize_any(EitherKind)
    }
}

#[cfg(test)]
mod tests {
    use super::{Digest, Fingerprint};

    #[test]
    fn both_kinds_are_read_and_written_as_they_were() {
        let digest = format!("\"{}\"", Digest::of(b"a policy"));
        for (text, is_earlier) in [("2644137283012156827", true), ("0", true), (&*digest, false)] {
            let read: Fingerprint = serde_json::from_str(text).unwrap();
            assert_eq!(read.is_of_earlier_kind(), is_earlier);
            assert_eq!(serde_json::to_string(&read).unwrap(), text);
        }
        let number: Fingerprint = serde_json::from_str("255").unwrap();
        assert_eq!(number.to_string(), "00000000000000ff");
        for text in ["-1", "1.5", "\"00000000000000ff\"", "null", "\"\""] {
            let error = serde_json::from_str::<Fingerprint>(text).unwrap_err().to_string();
            assert!(error.contains("64 hexadecimal digits"), "{error}");
        }
    }
}
