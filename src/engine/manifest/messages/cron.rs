//! What is said of cron lines and time zones.
//!
//! In: names and places. Out: findings that quote nothing but the name of a zone.

use crate::diagnostic::{Diagnostic, nearest};
use crate::source::{Embedded, Place};

pub(in crate::manifest) fn cron_fields(cron: &Embedded, found: usize) -> Diagnostic {
    let message = format!("a cron line has five fields, found {found}");
    Diagnostic::error("cron_fields", message, cron.place.clone())
        .help("they are minute, hour, day of month, month and day of week; there are no seconds")
        .rule("SCH-01")
}

pub(in crate::manifest) fn cron_field(place: Place, field: &str, values: &str) -> Diagnostic {
    let message = format!("this is no {field}: expected {values}");
    Diagnostic::error("cron_field", message, place)
        .help("a field is `*`, a value, a range `1-5`, steps `*/2`, or several of them divided by commas")
        .rule("SCH-01")
}

pub(in crate::manifest) fn cron_never(cron: &Embedded) -> Diagnostic {
    let message = "no day of any year is met by the cron line";
    Diagnostic::error("cron_never", message, cron.place.clone()).rule("SCH-01")
}

pub(in crate::manifest) fn unknown_timezone(name: &Embedded, known: &[String]) -> Diagnostic {
    let message = format!("`{}` is no time zone", name.text);
    let finding = Diagnostic::error("unknown_timezone", message, name.place.clone()).rule("SCH-02");
    match nearest(&name.text, known.iter().map(String::as_str)) {
        Some(near) => finding.help(format!("did you mean `{near}`?")),
        None => finding.help("write an IANA name such as `Europe/Lisbon`"),
    }
}
