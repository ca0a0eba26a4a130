//! A point in time as expressions see it: `2026-05-20T03:45:00Z`, UTC, always to the whole second (`CEL-16`, `REC-09`).
//!
//! Expressions compare these texts (`timestamps[0] <= now`), so the order of the texts must be the order of the times.
//! With a fraction of varying length it is not: `…:00Z` sorts after `…:00.5Z`. So the fraction is cut, everywhere alike,
//! and every text is 20 characters long. The text is kept in place, because reading one must not allocate.

use crate::cel::{Fault, Timestamp, Value};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt::{self, Write as _};

const LENGTH: usize = "0000-00-00T00:00:00Z".len();

/// A point in time, to the second, kept as its text.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Moment([u8; LENGTH]);

impl Moment {
    /// The text; in the years 1 to 9999, which are CEL's, it always has the same length.
    #[must_use]
    pub fn as_str(&self) -> &str {
        std::str::from_utf8(&self.0).unwrap_or_default()
    }

    /// The text as a CEL value, borrowed.
    #[must_use]
    pub fn value(&self) -> Value<'_> {
        Value::text(self.as_str())
    }

    fn parse(text: &str) -> Result<Self, Fault> {
        text.parse().map(|time: Timestamp| time.into())
    }
}

/// A text being written where it stays.
struct InPlace {
    text: [u8; LENGTH],
    length: usize,
}

impl fmt::Write for InPlace {
    fn write_str(&mut self, part: &str) -> fmt::Result {
        let end = self.length.saturating_add(part.len());
        let place = self.text.get_mut(self.length..end).ok_or(fmt::Error)?;
        place.copy_from_slice(part.as_bytes());
        self.length = end;
        Ok(())
    }
}

impl From<Timestamp> for Moment {
    fn from(time: Timestamp) -> Self {
        let mut text = InPlace { text: *b"0001-01-01T00:00:00Z", length: 0 };
        // every time that there is has a whole second that can be written
        let written = Timestamp::from_unix(time.seconds()).map(|second| write!(text, "{second}"));
        debug_assert!(matches!(written, Ok(Ok(()))), "a whole second takes 20 characters");
        Self(text.text)
    }
}

impl fmt::Display for Moment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl fmt::Debug for Moment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Serialize for Moment {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl<'de> Deserialize<'de> for Moment {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::parse(&text).map_err(|_| serde::de::Error::custom("not an RFC 3339 time"))
    }
}

#[cfg(test)]
mod tests {
    use super::Moment;
    use crate::cel::Timestamp;

    #[test]
    fn the_order_of_the_texts_is_the_order_of_the_times() {
        let at = |text: &str| Moment::from(text.parse::<Timestamp>().unwrap());
        assert_eq!(at("2026-05-20T03:45:00.5Z").as_str(), "2026-05-20T03:45:00Z");
        assert_eq!(at("2026-05-20T05:45:00+02:00").as_str(), "2026-05-20T03:45:00Z");
        assert_eq!(at("0001-01-01T00:00:00Z").as_str(), "0001-01-01T00:00:00Z");
        assert_eq!(at("9999-12-31T23:59:59.9Z").as_str(), "9999-12-31T23:59:59Z");
        assert!(at("2026-05-20T03:45:00Z").as_str() <= at("2026-05-20T03:45:00.5Z").as_str());
        assert!(at("1999-12-31T23:59:59Z").as_str() < at("2026-05-20T03:45:00Z").as_str());
    }
}
