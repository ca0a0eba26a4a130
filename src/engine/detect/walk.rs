//! Every text of a value: strings, keys, the digits of whole numbers, bytes as text, addresses.
//!
//! In: a value of any kind. Out: whether it has something, where, or the value without it. A text that is spread over several elements
//! of a list is not put together: those who want that join them first. What the host did not keep whole is an error, since nobody can
//! say what it had. Recurses into values, which are no deeper than what expressions and `max_json_depth` let in.

use super::search::{Instead, redacted, search};
use super::table::Table;
use super::wanted::Wanted;
use crate::cel::{Entries, ErrorCode, Fault, Key, List, Map, Meter, Value};
use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

/// A walk over one value.
pub(super) struct Walk<'w, 'l> {
    pub(super) meter: &'w mut Meter<'l>,
    pub(super) table: &'w Table,
    pub(super) wanted: Wanted,
}

/// Something that was found, and in which part of the value.
pub(super) struct Place {
    /// The name of its kind.
    pub(super) kind: &'static str,
    /// The part (RFC 6901), such as `/lines/0/note`; of a key, the path of the map that has it.
    pub(super) path: String,
    /// Where it begins in the text of that part, in characters.
    pub(super) start: usize,
    /// Where it ends.
    pub(super) end: usize,
    /// What stands there.
    pub(super) text: String,
}

impl Walk<'_, '_> {
    /// Whether a value has anything of the wanted kinds. Ends with the first find.
    ///
    /// # Errors
    /// `value_shortened`, `budget_exceeded`.
    pub(super) fn has(&mut self, value: &Value<'_>) -> Result<bool, Fault> {
        self.meter.charge(1)?;
        match value {
            Value::List(list) => {
                for item in list.iter() {
                    if self.has(&item)? {
                        return Ok(true);
                    }
                }
                Ok(false)
            }
            Value::Map(map) => {
                for (key, value) in map.iter() {
                    if self.has(&key.value())? || self.has(&value)? {
                        return Ok(true);
                    }
                }
                Ok(false)
            }
            Value::Optional(Some(value)) => self.has(value),
            other => match text_of(other)? {
                Some(text) => Ok(!search(self.meter, self.table, self.wanted, &text, true)?.is_empty()),
                None => Ok(false),
            },
        }
    }

    /// Everything that a value has of the wanted kinds, in the order in which it stands there.
    ///
    /// # Errors
    /// As [`Walk::has`].
    pub(super) fn places(&mut self, value: &Value<'_>) -> Result<Vec<Place>, Fault> {
        let mut places = Vec::new();
        self.find(value, &mut String::new(), &mut places)?;
        Ok(places)
    }

    fn find(&mut self, value: &Value<'_>, path: &mut String, places: &mut Vec<Place>) -> Result<(), Fault> {
        self.meter.charge(1)?;
        let above = path.len();
        match value {
            Value::List(list) => {
                for (index, item) in list.iter().enumerate() {
                    path.push('/');
                    path.push_str(&index.to_string());
                    self.find(&item, path, places)?;
                    path.truncate(above);
                }
            }
            Value::Map(map) => {
                for (key, value) in map.iter() {
                    self.find(&key.value(), path, places)?;
                    let key = self.without(&key)?.unwrap_or(key);
                    self.step_into(path, &key)?;
                    self.find(&value, path, places)?;
                    path.truncate(above);
                }
            }
            Value::Optional(Some(value)) => self.find(value, path, places)?,
            other => {
                let Some(text) = text_of(other)? else { return Ok(()) };
                // characters are counted from the beginning, as `substring` counts them, and on from the find before
                self.meter.charge_text(text.len())?;
                let (mut bytes, mut start) = (0, 0_usize);
                for find in search(self.meter, self.table, self.wanted, &text, false)? {
                    let found = text.get(find.at.clone()).unwrap_or_default();
                    self.meter.charge_built(path.len().saturating_add(found.len()))?;
                    let between = text.get(bytes..find.at.start).unwrap_or_default();
                    (bytes, start) = (find.at.start, start.saturating_add(between.chars().count()));
                    places.push(Place {
                        kind: self.table.kinds.get(find.kind).map_or("", |kind| kind.name),
                        path: path.clone(),
                        start,
                        end: start.saturating_add(found.chars().count()),
                        text: found.to_owned(),
                    });
                }
            }
        }
        Ok(())
    }

    /// Adds a key to a path.
    fn step_into(&mut self, path: &mut String, key: &Key<'_>) -> Result<(), Fault> {
        path.push('/');
        if let Some(key) = text_of(&key.value())? {
            self.meter.charge_built(key.len())?;
            path.push_str(&key.replace('~', "~0").replace('/', "~1"));
        }
        Ok(())
    }

    /// The value with something else in place of what was found; `None` if that is the value itself. A number or bytes become a text.
    ///
    /// # Errors
    /// As [`Walk::has`].
    pub(super) fn redacted<'a>(
        &mut self,
        value: &Value<'a>,
        instead: Instead,
    ) -> Result<Option<Value<'a>>, Fault> {
        let Self { meter, table, wanted } = self;
        let mut other = |meter: &mut Meter<'_>, text: &str| redacted(meter, table, *wanted, text, instead);
        Rewriting { meter, other: &mut other }.value(value)
    }

    /// A key with marks in place of what was found; `None` if nothing was.
    fn without<'a>(&mut self, key: &Key<'_>) -> Result<Option<Key<'a>>, Fault> {
        let Self { meter, table, wanted } = self;
        let mut other =
            |meter: &mut Meter<'_>, text: &str| redacted(meter, table, *wanted, text, Instead::Mark);
        Rewriting { meter, other: &mut other }.key(key)
    }
}

/// Gives for a text the one that is to stand in its place, if there is another one.
pub(crate) type OtherText<'r> = dyn FnMut(&mut Meter<'_>, &str) -> Result<Option<String>, Fault> + 'r;

/// Puts other texts in the place of those of a value.
pub(crate) struct Rewriting<'r, 'l> {
    pub(crate) meter: &'r mut Meter<'l>,
    pub(crate) other: &'r mut OtherText<'r>,
}

impl Rewriting<'_, '_> {
    /// The value with other texts; `None` if that is the value itself. A number or bytes for which there is a text become that.
    ///
    /// # Errors
    /// `value_shortened`, and those of `other`.
    pub(crate) fn value<'a>(&mut self, value: &Value<'a>) -> Result<Option<Value<'a>>, Fault> {
        self.meter.charge(1)?;
        match value {
            Value::List(list) => self.list(list),
            Value::Map(map) => self.map(map),
            Value::Optional(Some(value)) => {
                let inner = self.value(value)?;
                Ok(inner.map(|inner| Value::Optional(Some(Arc::new(inner)))))
            }
            other => match text_of(other)? {
                Some(text) => Ok((self.other)(self.meter, &text)?.map(Value::owned_text)),
                None => Ok(None),
            },
        }
    }

    fn list<'a>(&mut self, list: &List<'a>) -> Result<Option<Value<'a>>, Fault> {
        let mut copy: Option<Vec<Value<'a>>> = None;
        for (index, item) in list.iter().enumerate() {
            let Some(other) = self.value(&item)? else { continue };
            if copy.is_none() {
                List::charge(self.meter, list.len())?;
            }
            let items = copy.get_or_insert_with(|| list.iter().collect());
            if let Some(place) = items.get_mut(index) {
                *place = other;
            }
        }
        Ok(copy.map(Value::list))
    }

    fn map<'a>(&mut self, map: &Map<'a>) -> Result<Option<Value<'a>>, Fault> {
        let mut changed = Vec::new();
        for (index, (key, value)) in map.iter().enumerate() {
            let (key, value) = (self.key(&key)?, self.value(&value)?);
            if key.is_some() || value.is_some() {
                changed.push((index, key, value));
            }
        }
        if changed.is_empty() {
            return Ok(None);
        }
        self.meter.charge_built(Map::bytes(map.len()))?;
        let mut changed = changed.into_iter().peekable();
        let mut entries = Entries::with_capacity(map.len());
        let mut twins: HashMap<String, usize> = HashMap::new();
        for (index, (mut key, mut value)) in map.iter().enumerate() {
            if let Some((_, other, new)) = changed.next_if(|(changed, ..)| *changed == index) {
                value = new.unwrap_or(value);
                if let Some(text) = other {
                    key = self.apart(text, map, &entries, &mut twins)?;
                }
            }
            entries.insert(key, value);
        }
        Ok(Some(Value::map(entries)))
    }

    /// A key with another text; `None` if that is the key itself.
    fn key<'a>(&mut self, key: &Key<'_>) -> Result<Option<Key<'a>>, Fault> {
        let key = key.value();
        let Some(text) = text_of(&key)? else { return Ok(None) };
        let other = (self.other)(self.meter, &text)?;
        Ok(other.and_then(|text| Key::from_value(&Value::owned_text(text))))
    }

    /// A key that no other entry has: of two keys that come to one text, the later one is numbered, so that no entry is
    /// lost.
    fn apart<'a>(
        &mut self,
        key: Key<'a>,
        map: &Map<'a>,
        entries: &Entries<'a>,
        twins: &mut HashMap<String, usize>,
    ) -> Result<Key<'a>, Fault> {
        let text = text_of(&key.value())?.unwrap_or_default().into_owned();
        let number = twins.entry(text.clone()).or_insert(1);
        let mut numbered = key;
        while entries.contains_key(&numbered) || map.get(&numbered).is_some() {
            *number = number.saturating_add(1);
            let name = format!("{text} ({number})");
            self.meter.charge(1)?;
            self.meter.charge_built(name.len())?;
            numbered = Key::from_value(&Value::owned_text(name)).unwrap_or(numbered);
        }
        Ok(numbered)
    }
}

/// Whole numbers below this have too few digits to be anything.
const SMALL: u64 = 100_000_000;
/// The largest fraction-less number that is looked at as digits; beyond it they are not those that were written.
const LARGEST: f64 = 1e19;

/// The text that a value which has no parts is looked at as; `None` if it is none.
///
/// # Errors
/// `value_shortened`.
fn text_of<'v>(value: &'v Value<'_>) -> Result<Option<Cow<'v, str>>, Fault> {
    Ok(match value {
        Value::String(text) => Some(Cow::Borrowed(&**text)),
        Value::Bytes(bytes) => Some(String::from_utf8_lossy(bytes)),
        Value::Int(number) if number.unsigned_abs() >= SMALL => Some(Cow::Owned(number.to_string())),
        Value::UInt(number) if *number >= SMALL => Some(Cow::Owned(number.to_string())),
        #[expect(clippy::cast_precision_loss, reason = "a bound need not be exact")]
        Value::Double(number) if number.fract() == 0.0 && (SMALL as f64..LARGEST).contains(&number.abs()) => {
            Some(Cow::Owned(format!("{number:.0}")))
        }
        Value::Opaque(value) => Some(Cow::Owned(value.to_string())),
        Value::Shortened => return Err(ErrorCode::ValueShortened.into()),
        _ => None,
    })
}
