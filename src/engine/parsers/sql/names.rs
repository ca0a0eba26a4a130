//! Names of tables, functions and columns as text that a rule can compare.

use sqlparser::ast::{Ident, ObjectName};

/// A name of several parts, `schema.table`. Nothing for a part that is computed.
pub(super) fn qualified(name: &ObjectName, folds: bool) -> Option<String> {
    let parts = name.0.iter().map(|part| part.as_ident().map(|part| plain(part, folds)));
    parts.collect::<Option<Vec<_>>>().filter(|parts| !parts.is_empty()).map(|parts| parts.join("."))
}

/// A name of several identifiers.
pub(super) fn joined(parts: &[Ident], folds: bool) -> String {
    parts.iter().map(|part| plain(part, folds)).collect::<Vec<_>>().join(".")
}

/// One part of a name. Anything but a plain word in small letters is written in double quotes, so that `"a.b"` is not `a.b`, and
/// `Orders` of a database that keeps capitals is not `orders`.
pub(super) fn plain(name: &Ident, folds: bool) -> String {
    let is_folded = folds && name.quote_style.is_none() && name.value.is_ascii();
    let value = if is_folded { name.value.to_ascii_lowercase() } else { name.value.clone() };
    let is_plain = value.starts_with(|first: char| first.is_ascii_lowercase() || first == '_')
        && value
            .chars()
            .all(|letter| letter.is_ascii_lowercase() || letter.is_ascii_digit() || letter == '_');
    if is_plain { value } else { format!("\"{}\"", value.replace('"', "\"\"")) }
}
