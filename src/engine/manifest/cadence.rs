//! When a schedule runs: a cron line in a time zone (SCH-01, SCH-02).
//!
//! In: five fields and the name of a zone. Out: points in time, or which part of the texts is wrong. A line knows what
//! every cron knows (`*`, lists, ranges, steps, English names) and no dialect. Where clocks go forward, a run that falls
//! into the hour that is left out is made up for when the clocks have gone; where they go back, a run at a fixed time is
//! the first of the two. Nothing here reads a clock.

use super::messages;
use super::reader::{Path, Reader};
use crate::cel::Timestamp;
use crate::source::{Embedded, Span};
use croner::Cron;
use croner::parser::{CronParser, Seconds, Year};
use jiff::tz::{self, TimeZone};

/// A cron line and the zone whose clocks it is read by.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Cadence {
    cron: Cron,
    zone: TimeZone,
}

/// What is wrong with a cron line.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Problem {
    /// `0 0 3 * * *`: not five fields, but so many
    Fields(usize),
    /// `61 * * * *`: a field that is not what it should be, and where it stands in the line
    Field(&'static FieldRule, Span),
    /// `0 0 30 2 *`: no day is ever met
    Never,
}

/// One of the five fields.
#[derive(Debug, PartialEq, Eq)]
struct FieldRule {
    /// What it is.
    name: &'static str,
    /// What it holds.
    values: &'static str,
    /// The names that stand for numbers.
    words: &'static [&'static str],
}

/// The first second of 4972, seven leap years before the search for a run gives up.
const LAST_YEARS: i64 = 94_733_971_200;

const FIELDS: [FieldRule; 5] = [
    FieldRule { name: "minute", values: "0 to 59", words: &[] },
    FieldRule { name: "hour", values: "0 to 23", words: &[] },
    FieldRule { name: "day of month", values: "1 to 31", words: &[] },
    FieldRule {
        name: "month",
        values: "1 to 12 or `JAN` to `DEC`",
        words: &["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"],
    },
    FieldRule {
        name: "day of week",
        values: "0 to 7 or `SUN` to `SAT`; 0 and 7 are Sunday",
        words: &["sun", "mon", "tue", "wed", "thu", "fri", "sat"],
    },
];

impl Cadence {
    /// The cadence that a schedule writes. Nothing if one of its texts is wrong, which `reader` is told.
    pub(super) fn read(
        path: &Path,
        cron: &Embedded,
        timezone: Option<&Embedded>,
        reader: &mut Reader,
    ) -> Option<Self> {
        let zone = zone(timezone.map_or("UTC", |name| &name.text));
        if let Some(name) = timezone.filter(|_| zone.is_none()) {
            let known: Vec<String> = tz::db().available().map(|name| name.to_string()).collect();
            reader.report(&path.key("timezone"), messages::unknown_timezone(name, &known));
        }
        if cron.text.is_empty() {
            // absent, or empty: that has been said
            return None;
        }
        let finding = match Self::new(&cron.text, zone.clone().unwrap_or(TimeZone::UTC)) {
            Ok(cadence) => return zone.map(|_| cadence),
            Err(Problem::Fields(found)) => messages::cron_fields(cron, found),
            Err(Problem::Field(rule, span)) => {
                messages::cron_field(cron.locate(span), rule.name, rule.values)
            }
            Err(Problem::Never) => messages::cron_never(cron),
        };
        reader.report(&path.key("cron"), finding);
        None
    }

    /// The cadence of a line and a zone.
    fn new(line: &str, zone: TimeZone) -> Result<Self, Problem> {
        let fields = fields(line);
        if fields.len() != FIELDS.len() {
            return Err(Problem::Fields(fields.len()));
        }
        for ((position, (field, span)), rule) in fields.iter().enumerate().zip(&FIELDS) {
            let alone = (0..FIELDS.len()).map(|at| if at == position { field } else { "*" });
            let alone = alone.collect::<Vec<_>>().join(" ");
            if !rule.allows(field) || parse(&alone).is_none() {
                return Err(Problem::Field(rule, *span));
            }
        }
        let cron = parse(line).ok_or(Problem::Never)?;
        let cadence = Self { cron, zone };
        // a day that the last years of the search do not have is in none: the calendar repeats
        let start = Timestamp::from_unix(LAST_YEARS).map_err(|_| Problem::Never)?;
        cadence.next(start).ok_or(Problem::Never).map(|_| cadence)
    }

    /// The first run that is later than a point in time; none past the year 5000.
    pub(super) fn next(&self, after: Timestamp) -> Option<Timestamp> {
        let after = jiff::Timestamp::from_second(after.seconds()).ok()?.to_zoned(self.zone.clone());
        let next = self.cron.find_next_occurrence(&after, false).ok()?;
        Timestamp::from_unix(next.timestamp().as_second()).ok()
    }
}

/// The zone of an IANA name, which is written in one way: `europe/lisbon` is nobody's.
fn zone(name: &str) -> Option<TimeZone> {
    TimeZone::get(name).ok().filter(|zone| zone.iana_name() == Some(name) && !zone.is_unknown())
}

fn parse(line: &str) -> Option<Cron> {
    let parser = CronParser::builder().seconds(Seconds::Disallowed).year(Year::Disallowed).build();
    parser.parse(line).ok()
}

/// The fields of a line, each with its span.
fn fields(line: &str) -> Vec<(&str, Span)> {
    let mut fields = Vec::new();
    let mut at = 0_usize;
    for part in line.split_inclusive(char::is_whitespace) {
        let field = part.trim_end();
        let end = at.saturating_add(field.len());
        if !field.is_empty() {
            fields.push((field, Span::new(at, end)));
        }
        at = at.saturating_add(part.len());
    }
    fields
}

impl FieldRule {
    /// Whether a field holds nothing but numbers, names and the signs between them. What other crons know besides (`L`,
    /// `#`, `?`, `@daily`) means something else in each of them.
    fn allows(&self, field: &str) -> bool {
        field.split([',', '-', '/']).all(|word| {
            let number =
                !word.is_empty() && word.len() <= 2 && word.bytes().all(|byte| byte.is_ascii_digit());
            word == "*" || number || self.words.contains(&&*word.to_ascii_lowercase())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::{Cadence, FIELDS, Problem, zone};
    use crate::cel::Timestamp;
    use crate::source::Span;

    /// The runs after a time, four of them, as `MM-DDTHH:MM` in UTC.
    fn runs(line: &str, in_zone: &str, after: &str) -> Vec<String> {
        let cadence = Cadence::new(line, zone(in_zone).unwrap()).unwrap();
        let after: Timestamp = after.parse().unwrap();
        let runs = std::iter::successors(cadence.next(after), |run| cadence.next(*run));
        runs.take(4).map(|run| run.to_string().get(5..16).unwrap().to_owned()).collect()
    }

    #[test]
    fn runs_are_those_of_every_cron() {
        let after = "2026-06-01T12:00:00Z";
        let rows = [
            ("0 3 * * *", ["06-02T03:00", "06-03T03:00", "06-04T03:00", "06-05T03:00"]),
            ("*/20 12 * * *", ["06-01T12:20", "06-01T12:40", "06-02T12:00", "06-02T12:20"]),
            ("0 9 * * 1-5", ["06-02T09:00", "06-03T09:00", "06-04T09:00", "06-05T09:00"]),
            ("30 6 1,15 * *", ["06-15T06:30", "07-01T06:30", "07-15T06:30", "08-01T06:30"]),
            ("0 0 * jan,DEC 7", ["12-06T00:00", "12-13T00:00", "12-20T00:00", "12-27T00:00"]),
            // two kinds of days: either will do
            ("0 0 13 * Fri", ["06-05T00:00", "06-12T00:00", "06-13T00:00", "06-19T00:00"]),
            ("0 0 29 2 *", ["02-29T00:00", "02-29T00:00", "02-29T00:00", "02-29T00:00"]),
        ];
        for (line, wanted) in rows {
            assert_eq!(runs(line, "UTC", after), wanted, "{line}");
        }
    }

    #[test]
    fn a_run_is_later_than_the_time_it_follows() {
        assert_eq!(runs("0 12 * * *", "UTC", "2026-06-01T11:59:59.9Z").first().unwrap(), "06-01T12:00");
        assert_eq!(runs("0 12 * * *", "UTC", "2026-06-01T12:00:00Z").first().unwrap(), "06-02T12:00");
    }

    #[test]
    fn clocks_that_change_neither_drop_nor_double_a_daily_run() {
        // Lisbon: forward on 2026-03-29 from 01:00 to 02:00, back on 2026-10-25 from 02:00 to 01:00
        let gap = runs("30 1 * * *", "Europe/Lisbon", "2026-03-28T00:00:00Z");
        assert_eq!(gap, ["03-28T01:30", "03-29T01:00", "03-30T00:30", "03-31T00:30"]);
        let overlap = runs("30 1 * * *", "Europe/Lisbon", "2026-10-24T00:00:00Z");
        assert_eq!(overlap, ["10-24T00:30", "10-25T00:30", "10-26T01:30", "10-27T01:30"]);
        // what runs every half hour goes on doing so
        let through = runs("*/30 * * * *", "Europe/Lisbon", "2026-10-25T00:00:00Z");
        assert_eq!(through, ["10-25T00:30", "10-25T01:00", "10-25T01:30", "10-25T02:00"]);
        let over = runs("*/30 * * * *", "Europe/Lisbon", "2026-03-29T00:00:00Z");
        assert_eq!(over, ["03-29T00:30", "03-29T01:00", "03-29T01:30", "03-29T02:00"]);
    }

    #[test]
    fn what_is_wrong_is_named() {
        let problem = |line: &str| Cadence::new(line, zone("UTC").unwrap()).unwrap_err();
        assert_eq!(problem("0 0 3 * * *"), Problem::Fields(6));
        assert_eq!(problem("@daily"), Problem::Fields(1));
        assert_eq!(problem(""), Problem::Fields(0));
        assert_eq!(problem("0 0 30 2 *"), Problem::Never);
        let rows = [
            ("60 * * * *", 0),
            ("-5 * * * *", 0),
            ("1,, * * * *", 0),
            ("*/0 * * * *", 0),
            ("é * * * *", 0),
            ("0 24 * * *", 1),
            ("0 5-1 * * *", 1),
            ("0 0 0 * *", 2),
            ("0 0 L * *", 2),
            ("0 0 ? * *", 2),
            ("0 0 * 13 *", 3),
            ("0 0 * mon *", 3),
            ("0 0 * * 8", 4),
            ("0 0 * * mon#2", 4),
            ("0 0 * * +1", 4),
        ];
        for (line, field) in rows {
            let found = problem(line);
            assert!(matches!(found, Problem::Field(rule, _) if *rule == FIELDS[field]), "{line}: {found:?}");
        }
        assert_eq!(problem("0  24\t* * *"), Problem::Field(&FIELDS[1], Span::new(3, 5)));
    }
}
