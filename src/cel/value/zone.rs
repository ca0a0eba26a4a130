//! Zones by whose clocks a time is read: an IANA name, or an offset from UTC.
//!
//! In: a zone as an expression writes it, and a point in time. Out: how far its clocks are from UTC then. Only here and in the cron lines
//! of `manifest` is `jiff` known, so that the crate can be exchanged.

use crate::diagnostic::nearest;
use chrono::FixedOffset;
use jiff::tz::TimeZone;

/// How far the clocks of a zone are from UTC, so many seconds after 1970. Nothing for a text that is no zone.
pub(super) fn offset_at(zone: &str, seconds: i64) -> Option<FixedOffset> {
    offset(zone).or_else(|| {
        // a name is written in one way: `europe/lisbon` is no zone
        let named = |found: &TimeZone| found.iana_name() == Some(zone) && !found.is_unknown();
        let zone = TimeZone::get(zone).ok().filter(named)?;
        // `jiff` ends a day before the calendar of the language does, and no clock is changed on that day
        let time = jiff::Timestamp::from_second(seconds).unwrap_or(jiff::Timestamp::MAX);
        FixedOffset::east_opt(zone.to_offset(time).seconds())
    })
}

/// The zones that there are, in words.
pub(crate) const ZONES: &str = "an IANA name such as `Europe/Lisbon`, or an offset such as `+02:00`";

/// The zone that a name was meant to be.
pub(crate) fn nearest_zone(name: &str) -> Option<String> {
    let known: Vec<String> = jiff::tz::db().available().map(|name| name.to_string()).collect();
    nearest(name, known.iter().map(String::as_str)).map(str::to_owned)
}

/// `+05:30`, `-08:00`, `02:00`.
fn offset(zone: &str) -> Option<FixedOffset> {
    let (sign, digits) = match zone.strip_prefix('-') {
        Some(digits) => (-1, digits),
        None => (1, zone.strip_prefix('+').unwrap_or(zone)),
    };
    let (hours, minutes) = digits.split_once(':')?;
    let part = |text: &str, below: i32| {
        let plain = (1..=2).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit());
        text.parse::<i32>().ok().filter(|&value| plain && value < below)
    };
    let seconds = part(hours, 24)?.saturating_mul(60).saturating_add(part(minutes, 60)?).saturating_mul(60);
    FixedOffset::east_opt(seconds.saturating_mul(sign))
}

#[cfg(test)]
mod tests {
    use super::offset_at;
    use crate::Timestamp;

    #[test]
    fn clocks_are_as_the_table_of_zones_says() {
        let rows = [
            ("Europe/Lisbon", "2026-03-29T00:59:59Z", Some(0)),
            ("Europe/Lisbon", "2026-03-29T01:00:00Z", Some(3_600)),
            // the rule of today holds in all years to come
            ("Europe/Lisbon", "2300-07-01T00:00:00Z", Some(3_600)),
            ("Europe/Lisbon", "2300-01-01T00:00:00Z", Some(0)),
            // the mean time of the place, before there was another
            ("Europe/Lisbon", "1800-01-01T00:00:00Z", Some(-2_205)),
            ("America/New_York", "0001-01-01T00:00:00Z", Some(-17_762)),
            ("America/New_York", "9999-12-31T23:59:59Z", Some(-18_000)),
            ("Australia/Lord_Howe", "9999-12-31T23:59:59Z", Some(39_600)),
            ("UTC", "2026-01-01T00:00:00Z", Some(0)),
            ("Etc/GMT+5", "2026-01-01T00:00:00Z", Some(-18_000)),
            ("-08:30", "2026-01-01T00:00:00Z", Some(-30_600)),
            ("02:00", "2026-01-01T00:00:00Z", Some(7_200)),
            ("europe/lisbon", "2026-01-01T00:00:00Z", None),
            ("utc", "2026-01-01T00:00:00Z", None),
            ("Etc/Unknown", "2026-01-01T00:00:00Z", None),
            ("Europe/Lisbonne", "2026-01-01T00:00:00Z", None),
            ("24:00", "2026-01-01T00:00:00Z", None),
            ("", "2026-01-01T00:00:00Z", None),
        ];
        for (zone, time, wanted) in rows {
            let time: Timestamp = time.parse().unwrap();
            let found = offset_at(zone, time.seconds()).map(|offset| offset.local_minus_utc());
            assert_eq!(found, wanted, "{zone} at {time}");
        }
    }
}
