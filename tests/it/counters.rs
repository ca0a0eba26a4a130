//! The rules of counters: exact amounts, windows against a plain list of what was spent when, clocks that go back, and what
//! becomes of a step whose counters were reserved since it read them.

use crate::task_fixture::at;
use celador::cel::Timestamp;
use celador::counter::{
    Amount, AmountError, CalendarUnit, CounterBook, CounterChanges, CounterConflict, CounterId, CounterRead,
    CounterWindow, Decimal, Hold, HoldEnd, Reservation, Tally,
};
use chrono::{DateTime, Datelike, Timelike, Utc};
use proptest::prelude::*;
use std::time::Duration;

/// Milliseconds since 1970 of a day in March, a little before midnight, on a Sunday.
const BEGIN: i64 = 1_774_827_000_000;

fn moment(millis: i64) -> Timestamp {
    Timestamp::from_nanos(i128::from(millis) * 1_000_000).unwrap()
}

fn amount(text: &str) -> Amount {
    text.parse().unwrap()
}

#[test]
fn amounts_are_the_decimals_that_somebody_wrote() {
    for (number, text) in [
        (0.0, "0"),
        (-0.0, "0"),
        (0.1, "0.1"),
        (12.5, "12.5"),
        (19.99, "19.99"),
        (1e18, "1000000000000000000"),
        (123_456_789.123_456_79, "123456789.12345679"),
        // a tenth of a billionth is none: it rounds up, and so does the smallest double
        (1e-10, "0.000000001"),
        (5e-324, "0.000000001"),
        (0.1 + 0.2, "0.300000001"),
        (1.000_000_001, "1.000000001"),
    ] {
        assert_eq!(Amount::from_double(number).unwrap().to_string(), text);
    }
    for (number, error) in [
        (f64::NAN, AmountError::NotFinite),
        (f64::INFINITY, AmountError::NotFinite),
        (f64::NEG_INFINITY, AmountError::NotFinite),
        (-1e-300, AmountError::Negative),
        (1.000_000_000_000_000_2e18, AmountError::TooLarge),
        (f64::MAX, AmountError::TooLarge),
    ] {
        assert_eq!(Amount::from_double(number), Err(error), "{number}");
    }
    assert_eq!(Amount::from_int(-1), Err(AmountError::Negative));
    assert_eq!(Amount::from_uint(1_000_000_000_000_000_001), Err(AmountError::TooLarge));
    assert_eq!((amount("7.2").to_int(), amount("7").to_int(), amount("7.2").to_double()), (8, 7, 7.2));
    for text in ["", ".", "1.", ".5", "-1", "+1", "1e3", "0x1", "1_0", " 1", "1,5", "1.2.3", "١"] {
        assert_eq!(text.parse::<Amount>(), Err(AmountError::NotDecimal), "{text:?}");
    }
    let long = "9".repeat(60);
    assert_eq!(long.parse::<Amount>(), Err(AmountError::TooLarge));
    // at the top a sum stays where it is, which is above every bound that a rule can name
    let most = "340282366920938463463374607431.768211455".parse::<Amount>().unwrap();
    assert_eq!((most.plus(amount("1")), most.to_int()), (most, i64::MAX));
    assert!(most.to_double() > 3e29);
}

/// The period of a time, by another calendar than the one that is tested.
fn period(window: CounterWindow, millis: i64) -> (i64, u32, u32, u32, u32) {
    let time: DateTime<Utc> = DateTime::from_timestamp_millis(millis).unwrap();
    let year = i64::from(time.year());
    match window {
        CounterWindow::Calendar(CalendarUnit::Minute) => {
            (year, time.month(), time.day(), time.hour(), time.minute())
        }
        CounterWindow::Calendar(CalendarUnit::Hour) => (year, time.month(), time.day(), time.hour(), 0),
        CounterWindow::Calendar(CalendarUnit::Day) => (year, time.month(), time.day(), 0, 0),
        CounterWindow::Calendar(CalendarUnit::Week) => {
            let week = time.iso_week();
            (i64::from(week.year()), week.week(), 0, 0, 0)
        }
        CounterWindow::Calendar(CalendarUnit::Month) => (year, time.month(), 0, 0, 0),
        CounterWindow::Calendar(CalendarUnit::Year) => (year, 0, 0, 0, 0),
        _ => (0, 0, 0, 0, 0),
    }
}

/// What a plain list says was spent in a window of a calendar or of all time.
fn in_period(spent: &[(i64, Amount)], window: CounterWindow, now: i64) -> Amount {
    let present = period(window, now);
    let counts = spent.iter().filter(|(at, _)| period(window, *at) >= present);
    counts.fold(Amount::ZERO, |sum, (_, amount)| sum.plus(*amount))
}

/// What a plain list says was spent since a moment.
fn since(spent: &[(i64, Amount)], from: i64) -> Amount {
    spent.iter().filter(|(at, _)| *at > from).fold(Amount::ZERO, |sum, (_, amount)| sum.plus(*amount))
}

/// A window, and how long it is in milliseconds, or how far a clock may go back in a period of the calendar.
fn window() -> impl Strategy<Value = (CounterWindow, i64)> {
    let sliding = prop_oneof![Just(1_000_i64), Just(1_019), Just(60_000), Just(3_600_000), Just(86_400_000)];
    let sliding = sliding.prop_map(|millis| {
        (CounterWindow::sliding(Duration::from_millis(millis.unsigned_abs())).unwrap(), millis)
    });
    let calendar = prop_oneof![
        Just(("minute", 60_000)),
        Just(("hour", 3_600_000)),
        Just(("day", 86_400_000)),
        Just(("week", 7 * 86_400_000)),
        Just(("month", 28 * 86_400_000)),
        Just(("year", 365 * 86_400_000)),
        Just(("ever", 1_000_000)),
    ];
    prop_oneof![sliding, calendar.prop_map(|(text, millis)| (text.parse().unwrap(), millis))]
}

/// One deed: how far the clock goes, in thousandths of the window and perhaps back, and what is spent then, in billionths.
fn deeds() -> impl Strategy<Value = Vec<(i64, u32)>> {
    let step = prop_oneof![4 => 0_i64..8, 2 => 0_i64..200, 1 => 0_i64..2_500, 1 => -400_i64..0];
    let spent = prop_oneof![1 => Just(0_u32), 6 => any::<u32>()];
    prop::collection::vec((step, spent), 1..500)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn a_window_counts_what_a_plain_list_does((window, length) in window(), deeds in deeds()) {
        let mut tally = Tally::default();
        let mut spent: Vec<(i64, Amount)> = Vec::new();
        let (mut now, mut latest) = (BEGIN, BEGIN);
        for (step, billionths) in deeds {
            // a clock may go back, but not by more than a window in all
            now = (now + step * length / 1_000).max(latest - length);
            latest = latest.max(now);
            let amount = format!("0.{billionths:010}").parse().unwrap();
            tally.hold(amount);
            prop_assert_eq!(tally.counted(window, moment(now)), in_tally(&spent, window, length, now, &tally)?.plus(amount));
            prop_assert!(tally.spend(window, amount, moment(now)));
            spent.push((now, amount));
            let counted = tally.counted(window, moment(now));
            prop_assert_eq!(in_tally(&spent, window, length, now, &tally)?, counted);
            // what is written down is what is read
            let read = Tally::read(&tally.spent_json(), tally.held());
            prop_assert_eq!(read.as_ref(), Some(&tally));
            let kept = serde_json::from_str::<Vec<serde_json::Value>>(&tally.spent_json()).unwrap().len();
            prop_assert!(kept <= 128, "{} amounts are kept", kept);
        }
    }

    #[test]
    fn what_is_taken_away_counts_as_in_a_plain_list(
        (window, length) in window(),
        deeds in prop::collection::vec((0_i64..200, any::<i16>()), 1..100),
    ) {
        let mut tally = Tally::default();
        let mut spent: Vec<(i64, Decimal)> = Vec::new();
        let mut now = BEGIN;
        for (step, amount) in deeds {
            now += step * length / 1_000;
            let amount = Decimal::from_int(amount.into()).unwrap();
            let before = tally.counted(window, moment(now));
            tally.hold(amount);
            // what a call will take away changes nothing while it is open
            prop_assert_eq!(tally.counted(window, moment(now)), before.plus(amount.or_zero()));
            prop_assert!(tally.spend(window, amount, moment(now)));
            spent.push((now, amount));
            let counts = spent.iter().filter(|(at, _)| match window {
                CounterWindow::Sliding(_) => *at > now - length,
                _ => period(window, *at) == period(window, now),
            });
            let counts: Vec<Decimal> = counts.map(|(_, amount)| *amount).collect();
            let down_to_zero = counts.iter().fold(Decimal::ZERO, |sum, amount| sum.plus(*amount).max(Decimal::ZERO));
            prop_assert_eq!(Decimal::from(tally.counted(window, moment(now))), down_to_zero);
            let below = counts.iter().fold(Decimal::ZERO, |sum, amount| sum.plus(*amount));
            prop_assert_eq!(tally.balance(window, moment(now)), below);
            let read = Tally::read(&tally.spent_json(), tally.held());
            prop_assert_eq!(read.as_ref(), Some(&tally));
        }
    }

    #[test]
    fn a_decimal_is_what_was_written(number in any::<i64>(), part in 0_u64..1_000_000_000) {
        let number = number / 10_000_000_000;
        let sign = if number < 0 { "-" } else { "" };
        let text = format!("{sign}{}.{part:09}", number.unsigned_abs());
        let decimal: Decimal = text.parse().unwrap();
        prop_assert_eq!(decimal.to_string().parse::<Decimal>(), Ok(decimal));
        prop_assert_eq!(decimal.to_double(), text.parse::<f64>().unwrap());
        prop_assert_eq!(decimal.negated().negated(), decimal);
        prop_assert!(decimal.to_int() as f64 >= decimal.to_double() && (decimal.to_int() - 1) as f64 <= decimal.to_double());
    }

    #[test]
    fn decimals_add_up_exactly(numbers in prop::collection::vec((0_u64..1_000_000_000, 0_u64..1_000_000_000), 0..50)) {
        // whole billionths on one side, doubles or texts on the other
        let billionths: u128 = numbers.iter().map(|(whole, part)| u128::from(*whole) * 1_000_000_000 + u128::from(*part)).sum();
        let texts = numbers.iter().map(|(whole, part)| format!("{whole}.{part:09}"));
        let sum = texts.clone().fold(Amount::ZERO, |sum, text| sum.plus(text.parse().unwrap()));
        prop_assert_eq!(sum.to_string().parse::<Amount>(), Ok(sum));
        let expected = format!("{}.{:09}", billionths / 1_000_000_000, billionths % 1_000_000_000);
        prop_assert_eq!(Ok(sum), expected.parse::<Amount>());
        prop_assert_eq!(sum.to_double(), expected.parse::<f64>().unwrap());
        for text in texts {
            // 15 digits are what a double always tells apart
            let short = text.get(..text.len() - 4).unwrap();
            let double = Amount::from_double(short.parse().unwrap());
            prop_assert_eq!(double, short.parse::<Amount>(), "{}", short);
        }
    }
}

/// What the list says, if the tally says the same or, of a sliding window with many amounts, a little more: those that left it
/// less than a sixtieth of it ago.
fn in_tally(
    spent: &[(i64, Amount)],
    window: CounterWindow,
    length: i64,
    now: i64,
    tally: &Tally,
) -> Result<Amount, TestCaseError> {
    let counted = tally.counted(window, moment(now)).minus(tally.held()).unwrap();
    if !matches!(window, CounterWindow::Sliding(_)) {
        prop_assert_eq!(counted, in_period(spent, window, now));
        return Ok(counted);
    }
    let exact = since(spent, now - length);
    if spent.len() <= 128 {
        prop_assert_eq!(counted, exact);
    }
    let most = since(spent, now - length - (length + 59) / 60);
    prop_assert!(exact <= counted && counted <= most, "{} is not within {} and {}", counted, exact, most);
    Ok(counted)
}

#[test]
fn digits_beyond_the_ninth_make_no_decimal_lower_than_it_is() {
    for (number, text) in
        [(-0.0, "0"), (-1e-10, "0"), (-0.1, "-0.1"), (-1e18, "-1000000000000000000"), (1e-10, "0.000000001")]
    {
        assert_eq!(Decimal::from_double(number).unwrap().to_string(), text);
    }
    for (number, error) in [
        (f64::NAN, AmountError::NotFinite),
        (f64::NEG_INFINITY, AmountError::NotFinite),
        (f64::MIN, AmountError::TooLarge),
        (f64::MAX, AmountError::TooLarge),
    ] {
        assert_eq!(Decimal::from_double(number), Err(error), "{number}");
    }
    assert_eq!(Decimal::from_int(i64::MIN), Err(AmountError::TooLarge));
    for text in ["", "-", "--1", "+1", "1e3", "-.5", "-١"] {
        assert!(text.parse::<Decimal>().is_err(), "{text:?}");
    }
}

#[test]
fn a_window_ends_where_it_says() {
    let noon = at("2026-06-01T12:00:00Z");
    for (window, spent, counts, not) in [
        ("24h", "2026-06-01T12:00:00.001Z", "2026-06-02T12:00:00Z", "2026-06-02T12:00:00.001Z"),
        ("90s", "2026-06-01T12:00:00Z", "2026-06-01T12:01:29.999Z", "2026-06-01T12:01:30Z"),
        ("minute", "2026-06-01T12:00:00Z", "2026-06-01T12:00:59.999Z", "2026-06-01T12:01:00Z"),
        ("hour", "2026-06-01T12:59:59Z", "2026-06-01T12:59:59.999Z", "2026-06-01T13:00:00Z"),
        ("day", "2026-06-01T00:00:00Z", "2026-06-01T23:59:59.999Z", "2026-06-02T00:00:00Z"),
        ("week", "2026-06-01T00:00:00Z", "2026-06-07T23:59:59.999Z", "2026-06-08T00:00:00Z"),
        ("month", "2028-02-01T00:00:00Z", "2028-02-29T23:59:59.999Z", "2028-03-01T00:00:00Z"),
        ("year", "2026-01-01T00:00:00Z", "2026-12-31T23:59:59.999Z", "2027-01-01T00:00:00Z"),
        // before 1970, and at the ends of the calendar
        ("week", "1969-12-29T00:00:00Z", "1970-01-04T23:59:59.999Z", "1970-01-05T00:00:00Z"),
        ("month", "0001-01-01T00:00:00Z", "0001-01-31T23:59:59.999Z", "0001-02-01T00:00:00Z"),
        ("year", "9999-01-01T00:00:00Z", "9999-12-31T23:59:59.999Z", ""),
        ("ever", "0001-01-01T00:00:00Z", "9999-12-31T23:59:59.999Z", ""),
    ] {
        let parsed: CounterWindow = window.parse().unwrap();
        let mut tally = Tally::default();
        tally.hold(amount("3"));
        assert!(tally.spend(parsed, amount("3"), at(spent)));
        assert_eq!(tally.counted(parsed, at(counts)), amount("3"), "{window} {counts}");
        // a clock that was ahead: what is in the future counts
        assert_eq!(tally.counted(parsed, at("0001-01-01T00:00:00Z")), amount("3"), "{window}");
        if !not.is_empty() {
            assert_eq!(tally.counted(parsed, at(not)), Amount::ZERO, "{window} {not}");
        }
        assert_eq!(parsed.to_string().parse(), Ok(parsed));
        let over = tally.over_at(parsed, noon);
        assert_eq!(over.is_none(), window == "ever");
        assert!(
            over.is_none_or(|over| not.is_empty() || i128::from(over) * 1_000_000 >= at(not).nanos()),
            "{window}"
        );
    }
}

#[test]
fn texts_that_are_no_windows_are_refused() {
    for text in
        ["", "1 day", "days", "Day", "24", "-24h", "0s", "999ms", "1.0005s", "100us", "90000h", "evermore"]
    {
        assert!(text.parse::<CounterWindow>().is_err(), "{text}");
    }
    for text in ["1s", "1.5s", "87660h", "1h30m"] {
        assert!(text.parse::<CounterWindow>().is_ok(), "{text}");
    }
}

fn spend() -> CounterId {
    CounterId::new("acme/payments", "spend", "\"u-7\"")
}

fn reserve(counter: &CounterId, call: &str, text: &str) -> Reservation {
    let window = "24h".parse().unwrap();
    Reservation { counter: counter.clone(), window, call: call.into(), amount: text.parse().unwrap() }
}

fn reserving(version: u64, call: &str, text: &str) -> CounterChanges {
    CounterChanges {
        read: vec![CounterRead { counter: spend(), version }],
        reserve: vec![reserve(&spend(), call, text)],
        ..CounterChanges::default()
    }
}

fn over(call: &str, end: HoldEnd) -> CounterChanges {
    CounterChanges { over: vec![(call.into(), end)], ..CounterChanges::default() }
}

#[test]
fn a_reservation_disturbs_whoever_has_read_and_nothing_else_does() {
    let (noon, day) = (at("2026-06-01T12:00:00Z"), "24h".parse().unwrap());
    let mut book = CounterBook::default();
    let counted = |book: &CounterBook| book.read(&spend()).counted(day, noon).to_string();
    book.apply("t-1", &reserving(0, "a", "10"), noon).unwrap();
    let moved = book.apply("t-2", &reserving(0, "a", "10"), noon);
    assert_eq!(moved, Err(CounterConflict::Moved(spend())));
    assert_eq!(moved.unwrap_err().to_string(), "the counter `spend` was reserved since it was read");
    book.apply("t-2", &reserving(1, "a", "5"), noon).unwrap();
    assert_eq!((counted(&book), book.read(&spend()).version), ("15".into(), 2));
    // the same call id in two tasks is two calls; in one task it is one
    let twice = book.apply("t-2", &reserving(2, "a", "1"), noon);
    assert_eq!(twice, Err(CounterConflict::Twice(spend())));
    assert_eq!(counted(&book), "15");
    // an edit: what the call held is given back, and it holds something else
    let edit = CounterChanges { over: vec![("a".into(), HoldEnd::Released)], ..reserving(2, "a", "7.5") };
    book.apply("t-2", &edit, noon).unwrap();
    assert_eq!(counted(&book), "17.5");
    // ends of calls move no version
    book.apply("t-1", &over("a", HoldEnd::Spent), noon).unwrap();
    book.apply("t-2", &over("a", HoldEnd::Released), noon).unwrap();
    assert_eq!((counted(&book), book.read(&spend()).version), ("10".into(), 3));
    assert_eq!((book.holds("t-1"), book.holds("t-2")), (&[][..], &[][..]));
    // a call that holds nothing may end as often as it likes
    book.apply("t-2", &over("a", HoldEnd::Released), noon).unwrap();
    assert_eq!(counted(&book), "10");
}

#[test]
fn what_a_task_holds_at_its_end_is_spent_unless_it_is_said_to_be_free() {
    let (noon, day) = (at("2026-06-01T12:00:00Z"), "24h".parse().unwrap());
    let mut book = CounterBook::default();
    for (call, text) in [("ran", "1"), ("waits", "20"), ("unknown", "300")] {
        let changes =
            CounterChanges { reserve: vec![reserve(&spend(), call, text)], ..CounterChanges::default() };
        book.apply("t-1", &changes, noon).unwrap();
    }
    assert_eq!(book.holds("t-1").len(), 3);
    let end = CounterChanges { all_over: true, ..over("waits", HoldEnd::Released) };
    book.apply("t-1", &end, noon).unwrap();
    assert_eq!(book.read(&spend()).counted(day, noon), amount("301"));
    assert_eq!(book.read(&spend()).tally.held(), Amount::ZERO);
    assert!(book.holds("t-1").is_empty());
    // a day later it counts for nobody, and another day later it is gone
    let (tomorrow, behind) = (at("2026-06-02T12:00:00Z"), at("2026-06-03T12:00:00Z"));
    assert_eq!(book.read(&spend()).counted(day, tomorrow), Amount::ZERO);
    assert_eq!((book.sweep(tomorrow), book.sweep(behind), book.sweep(behind)), (0, 1, 0));
}

#[test]
fn a_conflict_changes_nothing() {
    let noon = at("2026-06-01T12:00:00Z");
    let other = CounterId::new("acme/payments", "count", "\"u-7\"");
    let mut book = CounterBook::default();
    book.apply("t-1", &reserving(0, "a", "10"), noon).unwrap();
    let before = book.clone();
    let read = vec![
        CounterRead { counter: other.clone(), version: 0 },
        CounterRead { counter: spend(), version: 0 },
    ];
    let changes = CounterChanges {
        read,
        reserve: vec![reserve(&other, "b", "1"), reserve(&spend(), "b", "1")],
        ..over("a", HoldEnd::Spent)
    };
    assert_eq!(book.apply("t-1", &changes, noon), Err(CounterConflict::Moved(spend())));
    let twice = vec![reserve(&other, "b", "1"), reserve(&spend(), "c", "1"), reserve(&spend(), "c", "2")];
    let changes = CounterChanges { reserve: twice, ..over("a", HoldEnd::Spent) };
    assert_eq!(book.apply("t-1", &changes, noon), Err(CounterConflict::Twice(spend())));
    assert_eq!(book, before);
    // what a call holds and its counter does not know of
    let hold = Hold { call: "a".into(), counter: other.clone(), amount: amount("1").into() };
    let mut states = celador::counter::CounterStates::default();
    let damaged = states.apply(&[hold], &over("a", HoldEnd::Spent), noon);
    assert_eq!(damaged, Err(CounterConflict::Damaged(other)));
    assert_eq!(states, celador::counter::CounterStates::default());
}
