//! Parsers of texts in other languages, as functions of expressions: SQL, lists of e-mail addresses, Markdown, HTML, and text in unusual spellings.
//!
//! Each function reads a text as its consumer does (a database, a mail server, a renderer) and returns what a rule can compare with a list of
//! allowed values. A text that cannot be read is an error, so a rule that asks one of these functions fails closed. The parsers
//! are libraries; this module bounds them, walks over what they return, and settles what different consumers read differently.

mod mail;
mod plain;
mod sql;
mod urls;

pub(crate) use sql::STATEMENT_KINDS;

use crate::cel::{Entries, ErrorCode, Fault, Function, Key, List, Map, Meter, Value};
use indexmap::IndexMap;

/// The functions of all parsers.
pub const PARSERS: &[Function] = &[sql::PARSE, mail::ADDRESSES, mail::DOMAIN, urls::URLS, plain::TEXT];

/// Rejects a text that is too long for a parser.
fn check_size(meter: &mut Meter<'_>, text: &str) -> Result<(), Fault> {
    meter.charge_text(text.len())?;
    if text.len() > meter.limits().max_parsed_bytes {
        return Err(Fault::budget("max_parsed_bytes"));
    }
    Ok(())
}

/// A list of texts as a value, paid for.
fn texts<'a>(meter: &mut Meter<'_>, texts: Vec<String>) -> Result<Value<'a>, Fault> {
    List::charge(meter, texts.len())?;
    meter.charge_built(texts.iter().map(String::len).sum())?;
    Ok(Value::list(texts.into_iter().map(Value::owned_text).collect()))
}

/// A map with texts as keys, paid for but for its values.
fn string_map<'a>(
    meter: &mut Meter<'_>,
    entries: Vec<(&'static str, Value<'a>)>,
) -> Result<Value<'a>, Fault> {
    meter.charge_built(Map::bytes(entries.len()))?;
    let entries =
        entries.into_iter().filter_map(|(key, value)| Some((Key::from_value(&Value::text(key))?, value)));
    Ok(Value::map(entries.collect::<Entries<'a>>()))
}

/// Which texts the elements of a list have.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Lists {
    /// Each its own.
    Apart,
    /// Each its own, and then those that they make together.
    Joined,
}

/// Visits every string of a value, keys included, in the order in which they are written.
fn each_string(
    meter: &mut Meter<'_>,
    value: &Value<'_>,
    lists: Lists,
    found: &mut dyn FnMut(&mut Meter<'_>, &str) -> Result<(), Fault>,
) -> Result<(), Fault> {
    meter.charge(1)?;
    match value {
        Value::String(text) => found(meter, text),
        Value::List(list) => {
            list.iter().try_for_each(|item| each_string(meter, &item, lists, found))?;
            if lists == Lists::Apart {
                return Ok(());
            }
            joined(meter, list)?.iter().try_for_each(|text| found(meter, text))
        }
        Value::Map(map) => map.iter().try_for_each(|(key, value)| {
            each_string(meter, &key.value(), lists, found)?;
            each_string(meter, &value, lists, found)
        }),
        Value::Optional(Some(value)) => each_string(meter, value, lists, found),
        Value::Shortened => Err(ErrorCode::ValueShortened.into()),
        _ => Ok(()),
    }
}

/// The texts that the elements of a list make together: parts of a message are delivered as one. Members of maps are joined by their
/// names.
fn joined(meter: &mut Meter<'_>, list: &List<'_>) -> Result<Vec<String>, Fault> {
    let mut texts: IndexMap<String, (usize, String)> = IndexMap::new();
    let mut push = |name: &str, text: &str| {
        let (count, joined) = texts.entry(name.to_owned()).or_default();
        *count = count.saturating_add(1);
        joined.push_str(text);
    };
    for item in list.iter() {
        match &item {
            Value::String(text) => {
                meter.charge_built(text.len())?;
                push("", text);
            }
            Value::Map(map) => {
                for (key, value) in map.iter() {
                    if let (Value::String(name), Value::String(text)) = (key.value(), &value) {
                        meter.charge_built(name.len().saturating_add(text.len()))?;
                        push(&name, text);
                    }
                }
            }
            _ => {}
        }
    }
    Ok(texts.into_values().filter(|(count, _)| *count > 1).map(|(_, text)| text).collect())
}
