//! Why a JSON text is not what it should be, told without anything that stands in it.
//!
//! In: the error of serde. Out: a sentence with the place and with what was expected; what was found may be data of a task and is left out.

/// A sentence about a text that is no JSON, or whose members and values are other ones than were expected.
///
/// ```
/// let error = serde_json::from_str::<Vec<bool>>(r#"[true, "hunter2"]"#).unwrap_err();
/// assert_eq!(celador::unfit::unfit(&error), "a value that does not fit at line 1, column 16, expected a boolean");
/// let error = serde_json::from_str::<bool>("hunter2").unwrap_err();
/// assert_eq!(celador::unfit::unfit(&error), "no JSON at line 1, column 1");
/// let error = serde_json::from_str::<celador::task::Delivery>(r#"{"capability": "desk", "event": "replied"}"#).unwrap_err();
/// assert_eq!(celador::unfit::unfit(&error), "expected either `payload` or `request`");
/// ```
#[must_use]
pub fn unfit(error: &serde_json::Error) -> String {
    let place = format!("line {}, column {}", error.line(), error.column());
    if !error.is_data() {
        return format!("no JSON at {place}");
    }
    let said = error.to_string();
    let known =
        said.split_once("expected ").map(|(_, rest)| rest.split(" at line ").next().unwrap_or_default());
    if let Some(missing) = said.strip_prefix("missing field ") {
        let name = missing.split(" at line ").next().unwrap_or_default();
        return format!("the member {name} is missing in the object that ends at {place}");
    }
    if error.line() == 0 {
        // a check of the whole value, which has no place of its own
        return known
            .map_or_else(|| "a value that does not fit".to_owned(), |known| format!("expected {known}"));
    }
    let what = if said.starts_with("unknown field") {
        "an unknown member"
    } else if said.starts_with("duplicate field") {
        "a member that is there already"
    } else {
        "a value that does not fit"
    };
    match known {
        Some(known) => format!("{what} at {place}, expected {known}"),
        None => format!("{what} at {place}"),
    }
}
