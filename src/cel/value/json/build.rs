//! A document being written: in go values, children before their parents, out comes the document.
//!
//! What is known to be large is measured first ([`Room`]), so that it is allocated once, and refused before it is
//! built. Of equal keys the last wins. An object with many keys is followed by its entries' order by key.

use super::reference::JsonRef;
use super::word::{SMALL, SORTED_FROM, TAG_BITS, Tag, Word};
use super::{Document, Json};
use crate::fault::Fault;
use crate::value::same_bytes;
use smallvec::SmallVec;
use std::collections::HashSet;
use triomphe::Arc;

/// A document being written: children before their parents.
#[derive(Default)]
pub(in crate::value) struct Builder {
    words: Vec<u64>,
    pub(in crate::value) text: String,
    /// Keys that were written lately, each where a few of its bits put it.
    keys: [Word; LATE_KEYS],
}

/// How many keys a builder remembers: as many as the rows of most tables have.
const LATE_KEYS: usize = 32;

/// The entries of an object being written.
pub(in crate::value) type Members = SmallVec<[(Word, Word); 8]>;

/// What a document needs at most: words, and bytes of text.
pub(in crate::value) struct Room {
    words: usize,
    text: usize,
    max_bytes: usize,
    pub(in crate::value) max_depth: usize,
}

impl Room {
    pub(in crate::value) fn new(max_bytes: usize, max_depth: usize) -> Self {
        Self { words: 0, text: 0, max_bytes, max_depth }
    }

    pub(in crate::value) fn take(&mut self, words: usize, text: usize) -> Result<(), Fault> {
        self.words = self.words.saturating_add(words);
        self.text = self.text.saturating_add(text);
        let bytes = self.words.saturating_mul(size_of::<Word>()).saturating_add(self.text);
        if bytes > self.max_bytes { Err(Fault::budget("max_json_bytes")) } else { Ok(()) }
    }

    /// Makes room for a value of another document inside so many others.
    #[inline]
    pub(in crate::value) fn add_json(&mut self, value: JsonRef<'_>, depth: usize) -> Result<(), Fault> {
        match value.word.tag() {
            Tag::Null | Tag::False | Tag::True | Tag::Small => Ok(()),
            Tag::Int | Tag::Double => self.take(1, 0),
            Tag::String | Tag::Shortened => self.take(0, value.word.length()),
            Tag::Array | Tag::Object => self.add_nested(value, depth),
        }
    }

    fn add_nested(&mut self, value: JsonRef<'_>, depth: usize) -> Result<(), Fault> {
        if depth >= self.max_depth {
            return Err(Fault::budget("max_json_depth"));
        }
        let inner = depth.saturating_add(1);
        value.items().try_for_each(|item| {
            self.take(1, 0)?;
            self.add_json(item, inner)
        })?;
        value.entries().try_for_each(|(key, value)| {
            self.take(2, key.len())?;
            self.add_json(value, inner)
        })
    }
}

impl Builder {
    /// A document that has this much room: it is then allocated once.
    #[inline]
    pub(in crate::value) fn with_room(room: &Room) -> Self {
        let (words, text) = (Vec::with_capacity(room.words), String::with_capacity(room.text));
        Self { words, text, ..Self::default() }
    }

    #[inline]
    pub(in crate::value) fn finish(self, root: Word) -> Json {
        let words = self.words.into_boxed_slice();
        Json(Arc::new(Document { words, text: self.text.into_boxed_str(), root }))
    }

    /// What the document has come to so far.
    pub(super) fn bytes(&self) -> usize {
        self.words.len().saturating_mul(size_of::<Word>()).saturating_add(self.text.len())
    }

    #[inline]
    pub(in crate::value) fn string(&mut self, text: &str) -> Word {
        let offset = self.text.len();
        self.text.push_str(text);
        Word::new(Tag::String, text.len(), offset)
    }

    /// What is left of a value that was not kept whole.
    pub(super) fn shortened(&mut self, text: &str) -> Word {
        let word = self.string(text);
        Word::new(Tag::Shortened, word.length(), word.offset())
    }

    /// A key. The rows of a table share the texts of theirs: one that was written lately is not written again.
    pub(in crate::value) fn key(&mut self, text: &str) -> Word {
        let key = self.string(text);
        self.shared(key)
    }

    /// A key that was written last, or in its place the same text further up.
    pub(super) fn shared(&mut self, key: Word) -> Word {
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

    pub(in crate::value) fn int(&mut self, value: i64) -> Word {
        if value.unsigned_abs() < SMALL {
            Word((value << TAG_BITS).cast_unsigned() | Tag::Small as u64)
        } else {
            self.wide(Tag::Int, value.cast_unsigned())
        }
    }

    pub(in crate::value) fn double(&mut self, value: f64) -> Word {
        self.wide(Tag::Double, value.to_bits())
    }

    fn wide(&mut self, tag: Tag, bits: u64) -> Word {
        self.words.push(bits);
        Word::new(tag, 0, self.words.len().saturating_sub(1))
    }

    pub(in crate::value) fn bool(value: bool) -> Word {
        Word::new(if value { Tag::True } else { Tag::False }, 0, 0)
    }

    pub(in crate::value) fn array(&mut self, items: &[Word]) -> Word {
        let offset = self.words.len();
        self.words.extend(items.iter().map(|word| word.0));
        Word::new(Tag::Array, items.len(), offset)
    }

    pub(in crate::value) fn object(&mut self, members: Members) -> Word {
        // most objects have few keys, and none of them twice
        let few = members.len() < SORTED_FROM;
        if few && !self.has_key_twice(&members) { self.entries(&members) } else { self.sorted(members) }
    }

    /// Whether two of these keys are one. Most are told apart by their lengths.
    pub(in crate::value) fn has_key_twice(&self, mut members: &[(Word, Word)]) -> bool {
        while let Some(((key, _), others)) = members.split_first() {
            let is_key = |other: Word| {
                other.head() == key.head()
                    && (other.offset() == key.offset()
                        || same_bytes(self.bytes_of(other), self.bytes_of(*key)))
            };
            if others.iter().any(|(other, _)| is_key(*other)) {
                return true;
            }
            members = others;
        }
        false
    }

    pub(in crate::value) fn entries(&mut self, members: &[(Word, Word)]) -> Word {
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

    /// The text of a string as bytes, which need no look at where characters begin.
    fn bytes_of(&self, word: Word) -> &[u8] {
        let end = word.offset().saturating_add(word.length());
        self.text.as_bytes().get(word.offset()..end).unwrap_or_default()
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

    #[inline]
    pub(in crate::value) fn copy(&mut self, value: JsonRef<'_>) -> Word {
        match value.word.tag() {
            Tag::Null | Tag::False | Tag::True | Tag::Small => value.word,
            Tag::Int | Tag::Double => {
                let bits = value.word(value.word.offset()).map_or(0, |word| word.0);
                self.wide(value.word.tag(), bits)
            }
            Tag::String => self.string(value.text_of(value.word)),
            Tag::Shortened => self.shortened(value.text_of(value.word)),
            Tag::Array | Tag::Object => self.copy_nested(value),
        }
    }

    fn copy_nested(&mut self, value: JsonRef<'_>) -> Word {
        if value.is_array() {
            let items: Vec<Word> = value.items().map(|item| self.copy(item)).collect();
            return self.array(&items);
        }
        let members = value.entries().map(|(key, value)| {
            let key = self.key(key);
            (key, self.copy(value))
        });
        let members = members.collect();
        self.object(members)
    }

    #[expect(clippy::cast_precision_loss, reason = "what CEL-40 says of whole numbers beyond 64 bits")]
    pub(in crate::value) fn unsigned(&mut self, value: u64) -> Word {
        match i64::try_from(value) {
            Ok(value) => self.int(value),
            Err(_) => self.double(value as f64),
        }
    }
}

impl JsonRef<'_> {
    /// A document of its own with this value. Linear in the value.
    #[must_use]
    pub fn to_json(self) -> Json {
        let mut builder = Builder::default();
        let root = builder.copy(self);
        builder.finish(root)
    }
}
