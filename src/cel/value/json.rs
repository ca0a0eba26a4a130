//! JSON as it is stored: one text and one run of words, evaluated as it lies.
//!
//! A document keeps all its strings in one text and every value in one 64-bit word, the elements of an array and the
//! entries of an object side by side. So reading never allocates, an element is found in constant time, a key by
//! comparing lengths first, and a document costs little more than its JSON text. Documents never change; clones share.
//!
//! A word is a tag (4 bits), a length (28 bits) and an offset (32 bits); a whole number that fits in 60 bits is its
//! own word. An object with many keys is followed by its entries' order by key, for a binary search.

use super::{Key, Text, Value, same_bytes};
use crate::cel::fault::{ErrorCode, Fault};
use crate::limits::EvalLimits;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde::de::{DeserializeSeed, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};
use serde::ser::{Serialize, SerializeMap, SerializeSeq, Serializer};
use smallvec::SmallVec;
use std::collections::HashSet;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

/// A JSON value that owns what it holds.
#[derive(Clone)]
pub struct Json(Arc<Document>);

struct Document {
    words: Box<[u64]>,
    text: Box<str>,
    root: Word,
}

/// A value inside a [`Json`] document.
#[derive(Clone, Copy)]
pub struct JsonRef<'a> {
    document: &'a Document,
    word: Word,
}

/// Where a key stood when it was last found. Documents of one kind have their keys in one order, so it is where the key
/// stands in the next one, too; if not, nothing but time is lost.
#[derive(Debug, Default)]
pub struct Guess(AtomicU32);

/// Why a text is no acceptable JSON.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub struct JsonError {
    message: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Tag {
    Null,
    False,
    True,
    /// A whole number of at most 60 bits, in the word itself.
    Small,
    /// A whole number in a word of its own.
    Int,
    /// A double in a word of its own.
    Double,
    String,
    Array,
    Object,
}

#[derive(Clone, Copy, Default)]
struct Word(u64);

const TAG_BITS: u32 = 4;
const LENGTH_BITS: u32 = 28;
const MAX_LENGTH: usize = (1 << LENGTH_BITS) - 1;

/// From this many entries on, an object keeps its order by key.
const SORTED_FROM: usize = 17;

/// Whole numbers below this, either way, are their own words.
const SMALL: u64 = 1 << 58;

impl Word {
    fn new(tag: Tag, length: usize, offset: usize) -> Self {
        Self(tag as u64 | (length as u64) << TAG_BITS | (offset as u64) << (TAG_BITS + LENGTH_BITS))
    }

    #[inline]
    fn tag(self) -> Tag {
        match self.0 & 0xF {
            0 => Tag::Null,
            1 => Tag::False,
            2 => Tag::True,
            3 => Tag::Small,
            4 => Tag::Int,
            5 => Tag::Double,
            6 => Tag::String,
            7 => Tag::Array,
            _ => Tag::Object,
        }
    }

    #[inline]
    fn length(self) -> usize {
        ((self.0 >> TAG_BITS) as usize) & MAX_LENGTH
    }

    /// Tag and length.
    #[inline]
    #[expect(clippy::cast_possible_truncation, reason = "the lower half is what is asked for")]
    fn head(self) -> u32 {
        self.0 as u32
    }

    #[inline]
    fn offset(self) -> usize {
        (self.0 >> (TAG_BITS + LENGTH_BITS)) as usize
    }
}

impl Json {
    /// Whether both are one document, shared by its clones. Equal documents that were made apart are not.
    #[must_use]
    pub fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// `null`.
    #[must_use]
    pub fn null() -> Self {
        Builder::default().finish(Word::new(Tag::Null, 0, 0))
    }

    /// Reads JSON text. Numbers without fraction and exponent that fit in 64 bits are `int`, all others `double`
    /// (`CEL-40`); of equal keys the last wins, as elsewhere.
    ///
    /// # Errors
    /// Text that is no JSON, is longer than `max_json_bytes`, or is nested deeper than `max_json_depth`; the message
    /// has line and column and none of the data.
    pub fn parse(text: &str, limits: &EvalLimits) -> Result<Self, JsonError> {
        if text.len() > limits.max_json_bytes {
            return Err(JsonError {
                message: format!("`max_json_bytes` {} exceeded", limits.max_json_bytes),
            });
        }
        let mut builder = Builder::default();
        let mut deserializer = serde_json::Deserializer::from_str(text);
        let seed = Seed::new(&mut builder, limits.max_json_depth);
        let root = seed.deserialize(&mut deserializer).and_then(|root| deserializer.end().map(|()| root));
        match root {
            Ok(root) => Ok(builder.finish(root)),
            Err(error) => Err(JsonError { message: error.to_string() }),
        }
    }

    /// The value that an expression gave, as JSON (`CEL-41`): keys become text, bytes base64, times RFC 3339.
    ///
    /// A small expression can name one list a million times over, so the document may take no more than the default of
    /// `max_json_bytes`.
    ///
    /// # Errors
    /// `not_json` for a type, an optional, or a double that is not finite; `budget_exceeded`.
    pub fn from_value(value: &Value<'_>) -> Result<Self, Fault> {
        Self::from_value_within(value, usize::MAX)
    }

    /// The same for a value that will be stored, and must be read back some day: no deeper than this many levels.
    ///
    /// # Errors
    /// As [`Json::from_value`], and `budget_exceeded` for a value that is nested deeper.
    pub fn from_value_within(value: &Value<'_>, max_depth: usize) -> Result<Self, Fault> {
        Self::written(value, Room::new(EvalLimits::default().max_json_bytes, max_depth))
    }

    /// The same for a value that a host made and knows the size of: without a bound.
    ///
    /// # Errors
    /// `not_json`.
    pub fn from_host(value: &Value<'_>) -> Result<Self, Fault> {
        Self::written(value, Room::new(usize::MAX, usize::MAX))
    }

    fn written(value: &Value<'_>, mut room: Room) -> Result<Self, Fault> {
        room.add(value, 0)?;
        let mut builder = Builder::with_room(&room);
        let root = builder.value(value)?;
        Ok(builder.finish(root))
    }

    /// An object of these members, in their order, in one document: nothing in between is built.
    ///
    /// # Errors
    /// As [`Json::from_value_within`], for `max_json_depth`.
    pub fn from_members(members: &[(&str, Value<'_>)]) -> Result<Self, Fault> {
        let mut room = Room::new(usize::MAX, EvalLimits::default().max_json_depth);
        for (key, value) in members {
            room.take(2, key.len())?;
            room.add(value, 1)?;
        }
        let mut builder = Builder::with_room(&room);
        let members = members.iter().map(|(key, value)| {
            let key = builder.key(key);
            Ok((key, builder.value(value)?))
        });
        let members = members.collect::<Result<Members, Fault>>()?;
        let root = builder.object(members);
        Ok(builder.finish(root))
    }

    /// An object of these members, in their order.
    pub fn object<'k>(members: impl IntoIterator<Item = (&'k str, Self)>) -> Self {
        let mut builder = Builder::default();
        let members = members.into_iter().map(|(key, value)| {
            let key = builder.key(key);
            (key, builder.copy(value.root()))
        });
        let members = members.collect();
        let root = builder.object(members);
        builder.finish(root)
    }

    /// A string.
    #[must_use]
    pub fn string(text: &str) -> Self {
        let mut builder = Builder::default();
        let root = builder.string(text);
        builder.finish(root)
    }

    /// The whole document.
    #[must_use]
    pub fn root(&self) -> JsonRef<'_> {
        JsonRef { document: &self.0, word: self.0.root }
    }

    /// The whole document as a CEL value.
    #[inline]
    #[must_use]
    pub fn value(&self) -> Value<'_> {
        self.root().value()
    }

    /// The bytes that the document holds on the heap.
    #[must_use]
    pub fn heap_bytes(&self) -> usize {
        size_of::<Document>()
            .saturating_add(self.0.words.len().saturating_mul(size_of::<u64>()))
            .saturating_add(self.0.text.len())
    }
}

impl<'a> JsonRef<'a> {
    #[inline]
    fn at(self, word: Word) -> Self {
        Self { document: self.document, word }
    }

    #[inline]
    fn word(self, index: usize) -> Option<Word> {
        self.document.words.get(index).copied().map(Word)
    }

    /// The text of a string as bytes, which need no look at where characters begin.
    #[inline]
    fn bytes_of(self, word: Word) -> &'a [u8] {
        let end = word.offset().saturating_add(word.length());
        self.document.text.as_bytes().get(word.offset()..end).unwrap_or_default()
    }

    #[inline]
    fn text_of(self, word: Word) -> &'a str {
        let end = word.offset().saturating_add(word.length());
        self.document.text.get(word.offset()..end).unwrap_or_default()
    }

    /// The CEL value, borrowed.
    #[must_use]
    pub fn value(self) -> Value<'a> {
        match self.word.tag() {
            Tag::Null => Value::Null,
            Tag::False => Value::Bool(false),
            Tag::True => Value::Bool(true),
            Tag::Small => Value::Int(self.word.0.cast_signed() >> TAG_BITS),
            Tag::Int => {
                self.word(self.word.offset()).map_or(Value::Null, |word| Value::Int(word.0.cast_signed()))
            }
            Tag::Double => self
                .word(self.word.offset())
                .map_or(Value::Null, |word| Value::Double(f64::from_bits(word.0))),
            Tag::String => Value::text(self.text_of(self.word)),
            Tag::Array => Value::List(super::List::Json(self)),
            Tag::Object => Value::Map(super::Map::Json(self)),
        }
    }

    /// The number of elements or entries; zero for other values.
    #[inline]
    #[must_use]
    pub fn len(self) -> usize {
        match self.word.tag() {
            Tag::Array | Tag::Object => self.word.length(),
            _ => 0,
        }
    }

    /// Whether there are no elements or entries.
    #[must_use]
    pub fn is_empty(self) -> bool {
        self.len() == 0
    }

    /// The text, if it is a string.
    #[must_use]
    pub fn as_str(self) -> Option<&'a str> {
        (self.word.tag() == Tag::String).then(|| self.text_of(self.word))
    }

    /// Whether it is an object.
    #[must_use]
    pub fn is_object(self) -> bool {
        self.word.tag() == Tag::Object
    }

    /// Whether it is an array.
    #[must_use]
    pub fn is_array(self) -> bool {
        self.word.tag() == Tag::Array
    }

    /// Whether it is `null`.
    #[must_use]
    pub fn is_null(self) -> bool {
        self.word.tag() == Tag::Null
    }

    /// An element of an array. Constant time.
    #[inline]
    #[must_use]
    pub fn item(self, index: usize) -> Option<Self> {
        if self.word.tag() != Tag::Array || index >= self.word.length() {
            return None;
        }
        self.word(self.word.offset().checked_add(index)?).map(|word| self.at(word))
    }

    /// The entry of an object at a position, in the order of the text. Constant time.
    #[must_use]
    pub fn entry(self, index: usize) -> Option<(&'a str, Self)> {
        Some((self.text_of(self.member(index, 0)?), self.at(self.member(index, 1)?)))
    }

    /// The key (0) or the value (1) of an entry.
    #[inline]
    fn member(self, index: usize, part: usize) -> Option<Word> {
        if self.word.tag() != Tag::Object || index >= self.word.length() {
            return None;
        }
        self.word(self.word.offset().checked_add(index.checked_mul(2)?)?.checked_add(part)?)
    }

    /// The value under a key, which is looked for first where it was last found.
    #[inline]
    #[must_use]
    pub fn get_near(self, key: &str, guess: &Guess) -> Option<Self> {
        let index = guess.0.load(Ordering::Relaxed) as usize;
        let found = self.member(index, 0).is_some_and(|word| self.is(word, key));
        if found { self.member(index, 1).map(|word| self.at(word)) } else { self.get_guessing(key, guess) }
    }

    /// The same where the guess was wrong; the next one is better.
    #[inline(never)]
    fn get_guessing(self, key: &str, guess: &Guess) -> Option<Self> {
        let index = self.position(key)?;
        guess.0.store(u32::try_from(index).unwrap_or_default(), Ordering::Relaxed);
        self.member(index, 1).map(|word| self.at(word))
    }

    /// The value under a key. Looks at the entries one by one, or halves them where there are many.
    #[inline]
    #[must_use]
    pub fn get(self, key: &str) -> Option<Self> {
        let value = match self.few() {
            Some(entries) => entries.iter().find(self.is_key(key)).map(|&[_, value]| Word(value)),
            None => self.member(self.position_by_halves(key)?, 1),
        };
        value.map(|word| self.at(word))
    }

    /// The position of a key among the entries.
    #[must_use]
    pub fn position(self, key: &str) -> Option<usize> {
        match self.few() {
            Some(entries) => entries.iter().position(|entry| self.is_key(key)(&entry)),
            None => self.position_by_halves(key),
        }
    }

    /// Keys and values, if they are few enough to be looked at one by one.
    #[inline]
    fn few(self) -> Option<&'a [[u64; 2]]> {
        let count = Some(self.len()).filter(|&count| count < SORTED_FROM)?;
        self.document.words.get(self.word.offset()..)?.as_chunks().0.get(..count)
    }

    /// Whether an entry has this key.
    #[inline]
    fn is_key(self, key: &str) -> impl Fn(&&[u64; 2]) -> bool {
        move |&&[word, _]| self.is(Word(word), key)
    }

    /// Whether a string is this one.
    #[inline]
    fn is(self, word: Word, text: &str) -> bool {
        // tag and length stand in one half of a word: most keys are told apart without a look at the text
        let head = Word::new(Tag::String, text.len(), 0).head();
        word.head() == head && same_bytes(self.bytes_of(word), text.as_bytes())
    }

    /// The position of a key among entries whose order by key is known.
    #[inline(never)]
    fn position_by_halves(self, key: &str) -> Option<usize> {
        let count = self.len();
        let order = self.word.offset().checked_add(count.checked_mul(2)?)?;
        let mut range = 0..count;
        while !range.is_empty() {
            let middle = range.start.midpoint(range.end);
            let index = self.word(order.checked_add(middle)?)?.0 as usize;
            match self.text_of(self.member(index, 0)?).cmp(key) {
                std::cmp::Ordering::Equal => return Some(index),
                std::cmp::Ordering::Less => range.start = middle.saturating_add(1),
                std::cmp::Ordering::Greater => range.end = middle,
            }
        }
        None
    }

    /// All elements of an array.
    pub fn items(self) -> impl Iterator<Item = Self> {
        (0..if self.is_array() { self.len() } else { 0 }).filter_map(move |index| self.item(index))
    }

    /// All entries of an object.
    pub fn entries(self) -> impl Iterator<Item = (&'a str, Self)> {
        (0..if self.is_object() { self.len() } else { 0 }).filter_map(move |index| self.entry(index))
    }

    /// A document of its own with this value. Linear in the value.
    #[must_use]
    pub fn to_json(self) -> Json {
        let mut builder = Builder::default();
        let root = builder.copy(self);
        builder.finish(root)
    }
}

/// A document being written: children before their parents.
#[derive(Default)]
struct Builder {
    words: Vec<u64>,
    text: String,
    /// Keys that were written lately, each where a few of its bits put it.
    keys: [Word; LATE_KEYS],
}

/// How many keys a builder remembers: as many as the rows of most tables have.
const LATE_KEYS: usize = 32;

/// The entries of an object being written.
type Members = SmallVec<[(Word, Word); 8]>;

/// What a document needs at most: words, and bytes of text.
struct Room {
    words: usize,
    text: usize,
    max_bytes: usize,
    max_depth: usize,
}

impl Room {
    fn new(max_bytes: usize, max_depth: usize) -> Self {
        Self { words: 0, text: 0, max_bytes, max_depth }
    }

    fn take(&mut self, words: usize, text: usize) -> Result<(), Fault> {
        self.words = self.words.saturating_add(words);
        self.text = self.text.saturating_add(text);
        let bytes = self.words.saturating_mul(size_of::<Word>()).saturating_add(self.text);
        if bytes > self.max_bytes { Err(Fault::budget("max_json_bytes")) } else { Ok(()) }
    }

    /// Makes room for a value inside so many others. Texts that have to be written out first (times, bytes, keys that are
    /// none) are guessed.
    fn add(&mut self, value: &Value<'_>, depth: usize) -> Result<(), Fault> {
        let inner = depth.saturating_add(1);
        match value {
            Value::String(text) => self.take(0, text.len()),
            Value::Bytes(bytes) => self.take(0, bytes.len()),
            Value::Int(value) if value.unsigned_abs() < SMALL => Ok(()),
            Value::Int(_) | Value::UInt(_) | Value::Double(_) => self.take(1, 0),
            Value::List(_) | Value::Map(_) if depth >= self.max_depth => Err(Fault::budget("max_json_depth")),
            Value::List(list) => list.iter().try_for_each(|item| {
                self.take(1, 0)?;
                self.add(&item, inner)
            }),
            Value::Map(map) => map.iter().try_for_each(|(key, value)| {
                let key = match &key {
                    Key::String(key) => key.len(),
                    _ => 0,
                };
                self.take(2, key)?;
                self.add(&value, inner)
            }),
            _ => Ok(()),
        }
    }
}

impl Builder {
    /// A document that has this much room: it is then allocated once.
    fn with_room(room: &Room) -> Self {
        let (words, text) = (Vec::with_capacity(room.words), String::with_capacity(room.text));
        Self { words, text, ..Self::default() }
    }

    fn finish(self, root: Word) -> Json {
        let words = self.words.into_boxed_slice();
        Json(Arc::new(Document { words, text: self.text.into_boxed_str(), root }))
    }

    fn string(&mut self, text: &str) -> Word {
        let offset = self.text.len();
        self.text.push_str(text);
        Word::new(Tag::String, text.len(), offset)
    }

    /// A key. The rows of a table share the texts of theirs: one that was written lately is not written again.
    fn key(&mut self, text: &str) -> Word {
        let key = self.string(text);
        self.shared(key)
    }

    /// A key that was written last, or in its place the same text further up.
    fn shared(&mut self, key: Word) -> Word {
        let text = self.text_of(key).as_bytes();
        let [first, last] = [text.first(), text.last()].map(|byte| byte.copied().map_or(0, usize::from));
        let place = text.len().saturating_mul(7).saturating_add(first).saturating_add(last) % LATE_KEYS;
        let known = self.keys.get(place).copied().unwrap_or_default();
        if known.head() == key.head() && self.text_of(known).as_bytes() == text {
            self.text.truncate(key.offset());
            return known;
        }
        if let Some(late) = self.keys.get_mut(place) {
            *late = key;
        }
        key
    }

    fn int(&mut self, value: i64) -> Word {
        if value.unsigned_abs() < SMALL {
            Word((value << TAG_BITS).cast_unsigned() | Tag::Small as u64)
        } else {
            self.wide(Tag::Int, value.cast_unsigned())
        }
    }

    fn double(&mut self, value: f64) -> Word {
        self.wide(Tag::Double, value.to_bits())
    }

    fn wide(&mut self, tag: Tag, bits: u64) -> Word {
        self.words.push(bits);
        Word::new(tag, 0, self.words.len().saturating_sub(1))
    }

    fn bool(value: bool) -> Word {
        Word::new(if value { Tag::True } else { Tag::False }, 0, 0)
    }

    fn array(&mut self, items: &[Word]) -> Word {
        let offset = self.words.len();
        self.words.extend(items.iter().map(|word| word.0));
        Word::new(Tag::Array, items.len(), offset)
    }

    fn object(&mut self, members: Members) -> Word {
        // most objects have few keys, and none of them twice
        let few = members.len() < SORTED_FROM;
        if few && !self.has_key_twice(&members) { self.entries(&members) } else { self.sorted(members) }
    }

    /// Whether two of these keys are one. Most are told apart by their lengths.
    fn has_key_twice(&self, members: &[(Word, Word)]) -> bool {
        let mut before = 0..;
        members.iter().any(|&(key, _)| {
            let known = members.iter().take(before.next().unwrap_or_default());
            known.into_iter().any(|&(known, _)| {
                known.head() == key.head()
                    && (known.offset() == key.offset() || self.text_of(known) == self.text_of(key))
            })
        })
    }

    fn entries(&mut self, members: &[(Word, Word)]) -> Word {
        let offset = self.words.len();
        self.words.extend(members.iter().flat_map(|(key, value)| [key.0, value.0]));
        Word::new(Tag::Object, members.len(), offset)
    }

    fn sorted(&mut self, mut members: Members) -> Word {
        let mut order = self.order(&members);
        let twice = |&(first, second): &(&usize, &usize)| {
            self.key_of(&members, *first) == self.key_of(&members, *second)
        };
        let overwritten: SmallVec<[usize; 8]> =
            order.iter().zip(order.iter().skip(1)).filter(twice).map(|(first, _)| *first).collect();
        if !overwritten.is_empty() {
            let overwritten: HashSet<usize> = overwritten.into_iter().collect();
            let mut positions = 0..;
            members.retain(|_| positions.next().is_some_and(|position| !overwritten.contains(&position)));
            order = self.order(&members);
        }
        let object = self.entries(&members);
        if members.len() >= SORTED_FROM {
            self.words.extend(order.iter().map(|&index| index as u64));
        }
        object
    }

    fn key_of(&self, members: &[(Word, Word)], index: usize) -> &str {
        members.get(index).map_or("", |&(key, _)| self.text_of(key))
    }

    fn text_of(&self, word: Word) -> &str {
        let end = word.offset().saturating_add(word.length());
        self.text.get(word.offset()..end).unwrap_or_default()
    }

    /// The positions of the members, sorted by key and, of equal keys, by position.
    fn order(&self, members: &[(Word, Word)]) -> SmallVec<[usize; SORTED_FROM]> {
        let mut order: SmallVec<_> = (0..members.len()).collect();
        order.sort_by(|&a, &b| self.key_of(members, a).cmp(self.key_of(members, b)));
        order
    }

    fn copy(&mut self, value: JsonRef<'_>) -> Word {
        match value.word.tag() {
            Tag::Null | Tag::False | Tag::True | Tag::Small => value.word,
            Tag::Int | Tag::Double => {
                let bits = value.word(value.word.offset()).map_or(0, |word| word.0);
                self.wide(value.word.tag(), bits)
            }
            Tag::String => self.string(value.text_of(value.word)),
            Tag::Array => {
                let items: Vec<Word> = value.items().map(|item| self.copy(item)).collect();
                self.array(&items)
            }
            Tag::Object => {
                let members = value.entries().map(|(key, value)| {
                    let key = self.key(key);
                    (key, self.copy(value))
                });
                let members = members.collect();
                self.object(members)
            }
        }
    }

    fn value(&mut self, value: &Value<'_>) -> Result<Word, Fault> {
        Ok(match value {
            Value::Null => Word::new(Tag::Null, 0, 0),
            Value::Bool(value) => Self::bool(*value),
            Value::Int(value) => self.int(*value),
            Value::UInt(value) => self.unsigned(*value),
            Value::Double(value) if value.is_finite() => self.double(*value),
            Value::String(text) => self.string(text),
            Value::Bytes(bytes) => self.string(&BASE64.encode(&**bytes)),
            Value::Timestamp(time) => self.string(&time.to_string()),
            Value::Duration(duration) => self.string(&duration.to_string()),
            Value::List(list) => {
                let items = list.iter().map(|item| self.value(&item)).collect::<Result<Vec<_>, _>>()?;
                self.array(&items)
            }
            Value::Map(map) => {
                let members = map.iter().map(|(key, value)| {
                    let key = match key {
                        Key::String(text) => self.key(&text),
                        Key::Bool(value) => self.string(if value { "true" } else { "false" }),
                        Key::Int(value) => self.string(&value.to_string()),
                        Key::UInt(value) => self.string(&value.to_string()),
                    };
                    Ok::<_, Fault>((key, self.value(&value)?))
                });
                let members = members.collect::<Result<Members, _>>()?;
                self.object(members)
            }
            Value::Double(_) | Value::Optional(_) | Value::Type(_) | Value::Opaque(_) => {
                return Err(ErrorCode::NotJson.into());
            }
        })
    }

    #[expect(clippy::cast_precision_loss, reason = "what CEL-40 says of whole numbers beyond 64 bits")]
    fn unsigned(&mut self, value: u64) -> Word {
        match i64::try_from(value) {
            Ok(value) => self.int(value),
            Err(_) => self.double(value as f64),
        }
    }
}

/// Reads one value into a builder, no deeper than it may.
struct Seed<'b> {
    builder: &'b mut Builder,
    /// Levels below this one.
    depth: usize,
    max_depth: usize,
}

impl<'b> Seed<'b> {
    fn new(builder: &'b mut Builder, max_depth: usize) -> Self {
        Self { builder, depth: max_depth, max_depth }
    }

    fn inner<E: serde::de::Error>(&mut self) -> Result<Seed<'_>, E> {
        match self.depth.checked_sub(1) {
            Some(depth) => Ok(Seed { builder: self.builder, depth, max_depth: self.max_depth }),
            None => Err(E::custom(format_args!("`max_json_depth` {} exceeded", self.max_depth))),
        }
    }
}

impl<'de> DeserializeSeed<'de> for Seed<'_> {
    type Value = Word;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Word, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Seed<'_> {
    type Value = Word;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Word, E> {
        Ok(Word::new(Tag::Null, 0, 0))
    }

    fn visit_bool<E>(self, value: bool) -> Result<Word, E> {
        Ok(Builder::bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Word, E> {
        Ok(self.builder.int(value))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Word, E> {
        Ok(self.builder.unsigned(value))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Word, E> {
        Ok(self.builder.double(value))
    }

    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Word, E> {
        if text.len() > MAX_LENGTH || self.builder.text.len() > MAX_LENGTH {
            return Err(E::custom("text is too long for one document"));
        }
        Ok(self.builder.string(text))
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut array: A) -> Result<Word, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = array.next_element_seed(self.inner()?)? {
            items.push(item);
        }
        Ok(self.builder.array(&items))
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut object: A) -> Result<Word, A::Error> {
        let mut members = Members::new();
        while let Some(key) = object.next_key_seed(self.inner()?)? {
            if key.tag() != Tag::String {
                return Err(A::Error::custom("a key is not text"));
            }
            let key = self.builder.shared(key);
            members.push((key, object.next_value_seed(self.inner()?)?));
        }
        Ok(self.builder.object(members))
    }
}

impl<'de> serde::Deserialize<'de> for Json {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut builder = Builder::default();
        let max_depth = EvalLimits::default().max_json_depth;
        let root = Seed::new(&mut builder, max_depth).deserialize(deserializer)?;
        Ok(builder.finish(root))
    }
}

impl Serialize for JsonRef<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.value() {
            Value::Bool(value) => serializer.serialize_bool(value),
            Value::Int(value) => serializer.serialize_i64(value),
            Value::Double(value) => serializer.serialize_f64(value),
            Value::String(text) => serializer.serialize_str(&text),
            Value::List(_) => {
                let mut array = serializer.serialize_seq(Some(self.len()))?;
                self.items().try_for_each(|item| array.serialize_element(&item))?;
                array.end()
            }
            Value::Map(_) => {
                let mut object = serializer.serialize_map(Some(self.len()))?;
                self.entries().try_for_each(|(key, value)| object.serialize_entry(key, &value))?;
                object.end()
            }
            _ => serializer.serialize_unit(),
        }
    }
}

impl Serialize for Json {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.root().serialize(serializer)
    }
}

impl From<&serde_json::Value> for Json {
    fn from(value: &serde_json::Value) -> Self {
        let mut builder = Builder::default();
        let root = builder.foreign(value);
        builder.finish(root)
    }
}

impl From<serde_json::Value> for Json {
    fn from(value: serde_json::Value) -> Self {
        Self::from(&value)
    }
}

impl Builder {
    fn foreign(&mut self, value: &serde_json::Value) -> Word {
        match value {
            serde_json::Value::Null => Word::new(Tag::Null, 0, 0),
            serde_json::Value::Bool(value) => Self::bool(*value),
            serde_json::Value::Number(number) => match (number.as_i64(), number.as_f64()) {
                (Some(value), _) => self.int(value),
                (None, value) => self.double(value.unwrap_or(f64::NAN)),
            },
            serde_json::Value::String(text) => self.string(text),
            serde_json::Value::Array(items) => {
                let items: Vec<Word> = items.iter().map(|item| self.foreign(item)).collect();
                self.array(&items)
            }
            serde_json::Value::Object(members) => {
                let members = members.iter().map(|(key, value)| {
                    let key = self.key(key);
                    (key, self.foreign(value))
                });
                let members = members.collect();
                self.object(members)
            }
        }
    }
}

impl fmt::Display for JsonRef<'_> {
    /// Compact JSON text.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&serde_json::to_string(self).map_err(|_| fmt::Error)?)
    }
}

impl fmt::Display for Json {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.root().fmt(f)
    }
}

impl fmt::Debug for JsonRef<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Debug for Json {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl PartialEq for Json {
    /// Equality as CEL has it: `1` equals `1.0`, and the order of keys does not count.
    fn eq(&self, other: &Self) -> bool {
        self.value().equals(&other.value())
    }
}

impl From<&str> for Json {
    fn from(text: &str) -> Self {
        Self::string(text)
    }
}

impl From<Text<'_>> for Json {
    fn from(text: Text<'_>) -> Self {
        Self::string(&text)
    }
}
