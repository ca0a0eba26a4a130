//! Dates, days of the week and times of day by the clocks of a zone, against those of Python's zoneinfo, and against the getters of standard CEL.

use celador::cel::{Activation, EXTENSIONS, Env, EnvBuilder, Program, STANDARD, Timestamp, Type, Value};
use proptest::prelude::*;
use std::sync::LazyLock;

/// A scope with a time as a text and a zone.
static SCOPE: LazyLock<Env> = LazyLock::new(|| {
    let scope = Env::builder().variable("time", Type::String).variable("zone", Type::String);
    STANDARD.iter().chain(EXTENSIONS).copied().fold(scope, EnvBuilder::library).build()
});

/// Whether an expression holds of a time and a zone.
fn holds(text: &str, time: &str, zone: &str) -> bool {
    let program = Program::compile(&SCOPE, text).unwrap();
    let activation = Activation::new(&SCOPE).with(&SCOPE, "time", Value::text(time)).with(
        &SCOPE,
        "zone",
        Value::text(zone),
    );
    program.holds(&activation, None) == Ok(true)
}

#[test]
fn clocks_show_what_zoneinfo_says() {
    let table = include_str!("../data/zones/clocks.tsv");
    assert!(table.lines().count() > 400, "tests/data/zones/make.py writes the table");
    for line in table.lines() {
        let [time, zone, date, weekday, seconds] = line.split('\t').collect::<Vec<_>>()[..] else {
            panic!("{line}")
        };
        let text = format!(
            "date(time, zone) == '{date}' && weekday(time, zone) == {weekday} && timeOfDay(time, zone) == duration('{seconds}s')
             && date(timestamp(time), zone) == '{date}' && weekday(timestamp(time), zone) == {weekday}
             && timeOfDay(timestamp(time), zone) == duration('{seconds}s')"
        );
        assert!(holds(&text, time, zone), "{line}");
    }
}

proptest! {
    /// The functions and the getters of standard CEL read one clock.
    #[test]
    fn functions_and_getters_agree(seconds in -62_135_510_400..253_402_214_400_i64, nanos in 0..1_000_000_000_u32, zone in
        prop_oneof![Just("UTC"), Just("+14:00"), Just("-12:00"), Just("Europe/Berlin"), Just("America/St_Johns"), Just("Pacific/Apia")])
    {
        let second = Timestamp::from_unix(seconds).unwrap().to_string();
        let time = format!("{}.{nanos:09}Z", second.strip_suffix('Z').unwrap());
        let text = "
            size(date(time, zone)) == 10 && int(date(time, zone).substring(0, 4)) == timestamp(time).getFullYear(zone)
               && int(date(time, zone).substring(5, 7)) == timestamp(time).getMonth(zone) + 1
               && int(date(time, zone).substring(8)) == timestamp(time).getDate(zone)
               && weekday(time, zone) % 7 == timestamp(time).getDayOfWeek(zone)
               && timeOfDay(time, zone).getSeconds() == timestamp(time).getHours(zone) * 3600
                  + timestamp(time).getMinutes(zone) * 60 + timestamp(time).getSeconds(zone)
               && timeOfDay(time, zone).getMilliseconds() == timestamp(time).getMilliseconds(zone)";
        prop_assert!(holds(text, &time, zone), "{} {}", time, zone);
    }
}
