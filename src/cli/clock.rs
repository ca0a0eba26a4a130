//! The point in time of a command: the one that it is given, or that of the clock.

use super::{Failure, messages};
use celador::cel::Timestamp;
use std::time::{SystemTime, UNIX_EPOCH};

/// The time that an option gives in RFC 3339; the clock's, if it was left out.
pub(crate) fn now(given: Option<&str>) -> Result<Timestamp, Failure> {
    let Some(text) = given else {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let nanos = i128::try_from(since.as_nanos()).unwrap_or_default();
        return Timestamp::from_nanos(nanos).map_err(|_| Failure::Unusable(messages::no_clock()));
    };
    text.parse().map_err(|_| Failure::Unusable(messages::not_a_time(text)))
}
