//! What tells one policy from another: whether a task that was suspended under it may go on under another.
//!
//! In: the digest of everything that decides, which `encoding` writes down. Out: a [`Fingerprint`] that can be compared, stored and shown. It is a
//! SHA-256 digest, so nobody can make a second policy that has the same.

use crate::digest::Digest;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::borrow::Cow;
use std::fmt;

/// A digest of everything in a policy that decides, to tell one policy from another.
///
/// Two policies whose manifests differ in comments, in layout, in texts for people or in the order of files have the same
/// one; any other difference makes another. It is written as 64 hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Fingerprint(Digest);

impl Fingerprint {
    /// The fingerprint of an encoded policy. The version of the encoding is part of what is digested.
    pub(super) const fn of(digest: Digest) -> Self {
        Self(digest)
    }
}

impl fmt::Display for Fingerprint {
    /// As it is stored, logged and shown: 64 hexadecimal digits.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

impl fmt::Debug for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Serialize for Fingerprint {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for Fingerprint {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = Cow::<str>::deserialize(deserializer)?;
        text.parse().map(Self).map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::{Digest, Fingerprint};

    #[test]
    fn a_fingerprint_is_read_as_it_was_written() {
        let text = format!("\"{}\"", Digest::of(b"a policy"));
        let read: Fingerprint = serde_json::from_str(&text).unwrap();
        assert_eq!(serde_json::to_string(&read).unwrap(), text);
        for text in ["255", "-1", "1.5", "\"00000000000000ff\"", "null", "\"\""] {
            assert!(serde_json::from_str::<Fingerprint>(text).is_err(), "{text}");
        }
    }
}
