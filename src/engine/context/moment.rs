//! A point in time as expressions see it: `2026-05-20T03:45:00Z`, UTC, with as many digits of the second as it has
//! (`CEL-16`, `REC-09`): `…:00.25Z`.
//!
//! Two things may happen within one second, and a guard asks which came first. So nothing is cut off, and a time reads as
//! `string(timestamp(…))` writes it. Expressions also compare these texts (`timestamps[0] <= now`), and by their characters
//! `…:00Z` would come after `…:00.5Z`. So they are ordered as times, with each other and with any text that says a time
//! ([`Text::Time`](crate::cel::Text::Time)); `==` compares texts. The text is kept in place, because reading one must not
//! allocate.

use crate::cel::{Fault, Timestamp, Value};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::cmp::Ordering;
use std::fmt;

/// A point in time, kept as its text and zeros behind it.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Moment([u8; Timestamp::MAX_TEXT]);

/// The length of a text without a fraction.
const WHOLE: usize = "0000-00-00T00:00:00Z".len();

impl Moment {
    /// The text, 20 to 30 characters long.
    #[must_use]
    pub fn as_str(&self) -> &str {
        let fraction = self.0.iter().skip(WHOLE).take_while(|byte| **byte != 0).count();
        let text = self.0.get(..WHOLE.saturating_add(fraction)).unwrap_or_default();
        std::str::from_utf8(text).unwrap_or_default()
    }

    /// The time; nothing if the text says none, which no moment does that was made of a time.
    pub(crate) fn timestamp(&self) -> Option<Timestamp> {
        self.as_str().parse().ok()
    }

    /// The text as a CEL value, borrowed, that is ordered as a time.
    #[must_use]
    pub fn value(&self) -> Value<'_> {
        Value::time_text(self.as_str())
    }

    fn parse(text: &str) -> Result<Self, Fault> {
        text.parse().map(|time: Timestamp| time.into())
    }
}

impl Ord for Moment {
    fn cmp(&self, other: &Self) -> Ordering {
        // the year has four digits and a fraction ends in no zero: so without the `Z` the texts stand in the order of the times
        let [one, other] = [self.as_str(), other.as_str()].map(|text| text.strip_suffix('Z').unwrap_or(text));
        one.cmp(other)
    }
}

impl PartialOrd for Moment {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl From<Timestamp> for Moment {
    fn from(time: Timestamp) -> Self {
        Self(time.to_text())
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
    fn a_time_keeps_its_fraction_and_is_ordered_as_a_time() {
        let at = |text: &str| Moment::from(text.parse::<Timestamp>().unwrap());
        for (given, text) in [
            ("2026-05-20T03:45:00Z", "2026-05-20T03:45:00Z"),
            ("2026-05-20T03:45:00.000Z", "2026-05-20T03:45:00Z"),
            ("2026-05-20T03:45:00.100Z", "2026-05-20T03:45:00.1Z"),
            ("2026-05-20T03:45:00.000000001Z", "2026-05-20T03:45:00.000000001Z"),
            ("2026-05-20T05:45:00.25+02:00", "2026-05-20T03:45:00.25Z"),
            ("0001-01-01T00:00:00Z", "0001-01-01T00:00:00Z"),
            ("9999-12-31T23:59:59.9Z", "9999-12-31T23:59:59.9Z"),
        ] {
            assert_eq!(at(given).as_str(), text);
            assert_eq!(at(given).as_str(), given.parse::<Timestamp>().unwrap().to_string());
        }
        let times = ["03:44:59.9Z", "03:45:00Z", "03:45:00.05Z", "03:45:00.1Z", "03:45:00.15Z", "03:45:01Z"];
        let times = times.map(|time| at(&format!("2026-05-20T{time}")));
        assert!(times.is_sorted() && times[1] < times[2]);
        let texts = times.map(|time| time.as_str().to_owned());
        assert!(!texts.is_sorted(), "by their characters they are not in order");
    }
}
