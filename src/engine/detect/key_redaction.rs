//! `redact`: a value without the values of named keys, at any depth of maps, lists, and JSON in texts.
//!
//! Keys are compared as people name them, not byte by byte: `cardNumber`, `card_number` and `Card-Number` are one name. The text of a result is often
//! JSON (MCP sends results as text), or has JSON between words, so a text is rewritten in place: the values of named keys are replaced, and each other
//! byte stays. The text need not be valid JSON: what was cut off, `NaN` and a key that is there twice are in texts of tools, and a text that were left as it is would keep
//! the value. `redact` knows names, not content; `pii.redact` and `secrets.redact` know content.

use super::reading::Reading;
use crate::cel::{Code, Entries, ErrorCode, Fault, Function, List, Map, Meter, Value};
use std::collections::HashSet;
use std::sync::Arc;

/// The text in the place of each value.
const MARK: &str = "[redacted]";

/// The mark as JSON.
const JSON_MARK: &str = "\"[redacted]\"";

/// Readings of a text that may have JSON in it: where its strings and brackets are, and strings once more without their escapes.
const READINGS: usize = 4;

/// The row of `redact`.
pub(super) const REDACT: Function = Function {
    name: "redact",
    doc: "the value with `[redacted]` in place of the value of each key that is named, at any depth of maps and lists, and of JSON that a text has in it, \
          which otherwise stays as it is written. Case, `_`, `-` and other signs of keys make no difference. Other notations in texts (`ssn: 1`, `ssn=1`), lists of names and values \
          (`[{'name': 'ssn', 'value': 1}]`), and bytes are not looked into",
    cost: "1 for each part, a tenth of the length of keys and texts, four tenths more of texts with `{`, and what is built",
    overloads: &[("redact_dyn_list", "redact(dyn, list(string)) -> dyn")],
    examples: &[
        (
            "redact({'name': 'Ann', 'accounts': [{'ssn': '078-05-1120', 'open': true}]}, ['ssn'])",
            "{'name': 'Ann', 'accounts': [{'ssn': '[redacted]', 'open': true}]}",
        ),
        (
            "redact({'cardNumber': 4111, 'CARD_NUMBER': {'last': 4}}, ['card-number'])",
            "{'cardNumber': '[redacted]', 'CARD_NUMBER': '[redacted]'}",
        ),
        (
            r#"redact([{'type': 'text', 'text': '{"ssn": 1, "n": 1.50, "ssn": 2}'}], ['ssn'])"#,
            r#"[{'type': 'text', 'text': '{"ssn": "[redacted]", "n": 1.50, "ssn": "[redacted]"}'}]"#,
        ),
        (
            r#"redact('Found: {"ssn": "078-05-1120", "open": tr', ['ssn'])"#,
            r#"'Found: {"ssn": "[redacted]", "open": tr'"#,
        ),
        ("redact('ssn: 078-05-1120', ['ssn'])", "'ssn: 078-05-1120'"),
        ("redact({'ssn_hint': 'x'}, ['ssn'])", "{'ssn_hint': 'x'}"),
        ("redact({'ssn': 1}, [])", "error: invalid_argument"),
        ("redact({'ssn': 1}, ['--'])", "error: invalid_argument"),
    ],
    code: Code::Pure(|meter, args| match args {
        [value, Value::List(names)] => {
            let keys = Keys::new(meter, names)?;
            let depth = meter.limits().max_json_depth;
            let redacted = Redaction { meter, keys }.value(value, depth)?;
            Ok(redacted.unwrap_or_else(|| Value::clone(value)))
        }
        _ => Err(Fault::no_overload(args.iter().map(|arg| arg.kind()))),
    }),
};

/// Names of keys in the form in which they are compared.
struct Keys(HashSet<String>);

impl Keys {
    /// Reads the names that an expression gives.
    ///
    /// # Errors
    /// `invalid_argument` without names and for a name without letters and digits: it would match no key, and nothing would be redacted.
    fn new(meter: &mut Meter<'_>, names: &List<'_>) -> Result<Self, Fault> {
        let mut keys = HashSet::new();
        for name in names.iter() {
            let Value::String(name) = &name else { return Err(Fault::no_overload([name.kind()])) };
            let key = comparable(meter, name)?;
            if key.is_empty() {
                return Err(Fault::refused("names with a letter or a digit"));
            }
            keys.insert(key);
        }
        if keys.is_empty() { Err(Fault::refused("at least one key")) } else { Ok(Self(keys)) }
    }
}

/// A key in small letters, without signs and characters that are not shown.
fn comparable(meter: &mut Meter<'_>, key: &str) -> Result<String, Fault> {
    let reading = Reading::of(meter, key)?;
    meter.charge_built(key.len())?;
    Ok(reading.text().chars().filter(|sign| sign.is_alphanumeric()).flat_map(char::to_lowercase).collect())
}

/// A walk over one value. It recurses no deeper than `max_json_depth`.
struct Redaction<'r, 'l> {
    meter: &'r mut Meter<'l>,
    keys: Keys,
}

impl Redaction<'_, '_> {
    fn is_named(&mut self, key: &str) -> Result<bool, Fault> {
        let key = comparable(self.meter, key)?;
        Ok(self.keys.0.contains(&key))
    }

    /// The value without the values of the keys; `None` if that is the value itself. `depth`: levels below this one.
    ///
    /// # Errors
    /// `value_shortened`, `budget_exceeded`.
    fn value<'a>(&mut self, value: &Value<'a>, depth: usize) -> Result<Option<Value<'a>>, Fault> {
        self.meter.charge(1)?;
        let below = || depth.checked_sub(1).ok_or(Fault::budget("max_json_depth"));
        match value {
            Value::List(list) => self.list(list, below()?),
            Value::Map(map) => self.map(map, below()?),
            Value::Optional(Some(value)) => {
                let inner = self.value(value, below()?)?;
                Ok(inner.map(|inner| Value::Optional(Some(Arc::new(inner)))))
            }
            Value::String(text) => Ok(self.text(text, depth)?.map(Value::owned_text)),
            Value::Shortened => Err(ErrorCode::ValueShortened.into()),
            _ => Ok(None),
        }
    }

    fn list<'a>(&mut self, list: &List<'a>, depth: usize) -> Result<Option<Value<'a>>, Fault> {
        let mut copy: Option<Vec<Value<'a>>> = None;
        for (index, item) in list.iter().enumerate() {
            let Some(redacted) = self.value(&item, depth)? else { continue };
            if copy.is_none() {
                List::charge(self.meter, list.len())?;
            }
            let items = copy.get_or_insert_with(|| list.iter().collect());
            if let Some(item) = items.get_mut(index) {
                *item = redacted;
            }
        }
        Ok(copy.map(Value::list))
    }

    fn map<'a>(&mut self, map: &Map<'a>, depth: usize) -> Result<Option<Value<'a>>, Fault> {
        let mut changed = Vec::new();
        for (index, (key, value)) in map.iter().enumerate() {
            let is_named = match key.value() {
                Value::String(key) => self.is_named(&key)?,
                _ => false,
            };
            let redacted = if is_named { Some(Value::text(MARK)) } else { self.value(&value, depth)? };
            changed.extend(redacted.map(|redacted| (index, redacted)));
        }
        if changed.is_empty() {
            return Ok(None);
        }
        self.meter.charge_built(Map::bytes(map.len()))?;
        let mut changed = changed.into_iter().peekable();
        let mut entries = Entries::with_capacity(map.len());
        for (index, (key, value)) in map.iter().enumerate() {
            let redacted = changed.next_if(|(changed, _)| *changed == index);
            entries.insert(key, redacted.map_or(value, |(_, redacted)| redacted));
        }
        Ok(Some(Value::map(entries)))
    }

    /// A text without the values of the keys in the JSON that it has; `None` if that is the text itself.
    fn text(&mut self, text: &str, depth: usize) -> Result<Option<String>, Fault> {
        self.meter.charge_text(text.len())?;
        if !text.contains('{') {
            return Ok(None);
        }
        self.meter.charge_text(text.len().saturating_mul(READINGS))?;
        let depth = depth.checked_sub(1).ok_or(Fault::budget("max_json_depth"))?;
        let first = text.trim_start().starts_with('"').then(|| text.find('"')).flatten();
        let mut written = String::new();
        let mut copied = 0;
        // of each open bracket: whether it is an object's
        let mut open = Vec::new();
        let mut is_key = false;
        let mut at = 0_usize;
        while let Some(sign) = text.as_bytes().get(at) {
            let mut next = at.saturating_add(1);
            match sign {
                b'{' | b'[' => {
                    is_key = *sign == b'{';
                    self.meter.charge_built(1)?;
                    open.push(is_key);
                }
                b'}' | b']' => {
                    open.pop();
                    is_key = false;
                }
                b',' => is_key = open.last() == Some(&true),
                // quotes around JSON are JSON's; elsewhere they are those of a sentence, or a text that is one string
                b'"' if !open.is_empty() || first == Some(at) => {
                    next = end_of_string(text, at);
                    let string = text.get(at..next).unwrap_or_default();
                    let value = std::mem::take(&mut is_key).then(|| start_of_value(text, next)).flatten();
                    let replaced = match value {
                        Some(start) if self.is_named(&decoded(string))? => {
                            (at, next) = (start, end_of_value(text, start));
                            Some(JSON_MARK.to_owned())
                        }
                        Some(_) => None,
                        None if string.contains(['{', '\\']) => {
                            let inner = self.text(&decoded(string), depth)?;
                            inner.map(|inner| serde_json::Value::from(inner).to_string())
                        }
                        None => None,
                    };
                    if let Some(replaced) = replaced {
                        let between = text.get(copied..at).unwrap_or_default();
                        self.meter.charge_built(between.len().saturating_add(replaced.len()))?;
                        written.push_str(between);
                        written.push_str(&replaced);
                        copied = next;
                    }
                }
                _ => {}
            }
            at = next;
        }
        if copied == 0 {
            return Ok(None);
        }
        let rest = text.get(copied..).unwrap_or_default();
        self.meter.charge_built(rest.len())?;
        written.push_str(rest);
        Ok(Some(written))
    }
}

/// The place behind a string that begins here.
fn end_of_string(json: &str, at: usize) -> usize {
    let mut is_escaped = false;
    let inside = json.bytes().skip(at.saturating_add(1)).take_while(|byte| {
        let goes_on = is_escaped || *byte != b'"';
        is_escaped = !is_escaped && *byte == b'\\';
        goes_on
    });
    at.saturating_add(inside.count()).saturating_add(2).min(json.len())
}

/// The place of the value behind a key that ends here; `None` without a colon, behind which a value comes.
fn start_of_value(json: &str, at: usize) -> Option<usize> {
    let behind = json.get(at..)?.trim_start().strip_prefix(':')?.trim_start();
    Some(json.len().saturating_sub(behind.len()))
}

/// The place behind a value that begins here.
fn end_of_value(json: &str, start: usize) -> usize {
    let (mut at, mut depth) = (start, 0_usize);
    while let Some(sign) = json.as_bytes().get(at) {
        match sign {
            b'"' => {
                at = end_of_string(json, at);
                if depth == 0 {
                    return at;
                }
                continue;
            }
            b'{' | b'[' => depth = depth.saturating_add(1),
            b'}' | b']' if depth > 1 => depth = depth.saturating_sub(1),
            b'}' | b']' if depth == 1 => return at.saturating_add(1),
            b',' | b'}' | b']' | b' ' | b'\t' | b'\n' | b'\r' if depth == 0 => return at,
            _ => {}
        }
        at = at.saturating_add(1);
    }
    at
}

/// A string of JSON without quotes and escapes. Half of a pair of surrogates, which is no character, is read as U+FFFD.
fn decoded(string: &str) -> String {
    let read = |string: &str| serde_json::from_str::<String>(string).ok();
    read(string).or_else(|| read(&without_surrogates(string))).unwrap_or_default()
}

/// A string of JSON with `\ufffd` in place of each escape of a surrogate.
fn without_surrogates(string: &str) -> String {
    let mut written = String::with_capacity(string.len());
    let mut rest = string;
    while let Some((before, escape)) = rest.split_once('\\') {
        written.push_str(before);
        let is_surrogate = escape.starts_with(['u'])
            && escape.get(1..3).is_some_and(|digits| {
                digits.starts_with(['d', 'D']) && digits.ends_with(|digit: char| !matches!(digit, '0'..='7'))
            });
        written.push('\\');
        let length = if is_surrogate { 5 } else { escape.chars().next().map_or(0, char::len_utf8) };
        let (escape, behind) = escape.split_at_checked(length).unwrap_or((escape, ""));
        written.push_str(if is_surrogate { "ufffd" } else { escape });
        rest = behind;
    }
    written.push_str(rest);
    written
}
