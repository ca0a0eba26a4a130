//! A value inside a document, and how it is looked up: in goes a position or a key, out comes another such value or what
//! it holds, both borrowed.
//!
//! Nothing is copied. An element or an entry is found in constant time, a key by looking at few entries
//! one by one, or by halves where an object is followed by its entries' order by key.

use super::Document;
use super::word::{SORTED_FROM, TAG_BITS, Tag, Word};
use crate::types::Kind;
use crate::value::same_bytes;
use std::sync::atomic::{AtomicU32, Ordering};

/// A value inside a [`Json`](super::Json) document.
///
/// ```
/// use celador_cel::{EvalLimits, Json, JsonRef};
///
/// // all texts of a document, at any depth; they are lent from it
/// fn texts<'j>(value: JsonRef<'j>, found: &mut Vec<&'j str>) {
///     found.extend(value.as_str());
///     value.items().for_each(|item| texts(item, found));
///     value.entries().for_each(|(_, value)| texts(value, found));
/// }
///
/// let order = r#"{"id": 7, "note": "fragile", "lines": [{"name": "lamp"}, {"name": "bulb"}]}"#;
/// let order = Json::parse(order, &EvalLimits::default())?;
/// let mut found = Vec::new();
/// texts(order.root(), &mut found);
/// assert_eq!(found, ["fragile", "lamp", "bulb"]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy)]
pub struct JsonRef<'a> {
    pub(super) document: &'a Document,
    pub(in crate::value) word: Word,
}

/// Where a key stood when it was last found. Documents of one kind have their keys in one order, so it is where the key
/// stands in the next one, too; if not, nothing but time is lost.
#[derive(Debug, Default)]
pub(crate) struct Guess(AtomicU32);

impl Clone for Guess {
    /// A guess of its own, which begins where this one is now.
    fn clone(&self) -> Self {
        Self(self.0.load(Ordering::Relaxed).into())
    }
}

impl<'a> JsonRef<'a> {
    #[inline]
    fn at(self, word: Word) -> Self {
        Self { document: self.document, word }
    }

    #[inline]
    pub(super) fn word(self, index: usize) -> Option<Word> {
        self.document.words.get(index).copied().map(Word)
    }

    /// The text of a string as bytes, which need no look at where characters begin.
    #[inline]
    fn bytes_of(self, word: Word) -> &'a [u8] {
        let end = word.offset().saturating_add(word.length());
        self.document.text.as_bytes().get(word.offset()..end).unwrap_or_default()
    }

    #[inline]
    pub(in crate::value) fn text_of(self, word: Word) -> &'a str {
        let end = word.offset().saturating_add(word.length());
        self.document.text.get(word.offset()..end).unwrap_or_default()
    }

    /// The kind of the value.
    #[inline]
    #[must_use]
    pub fn kind(self) -> Kind {
        match self.word.tag() {
            Tag::Null => Kind::Null,
            Tag::False | Tag::True => Kind::Bool,
            Tag::Small | Tag::Int => Kind::Int,
            Tag::Double => Kind::Double,
            Tag::String => Kind::String,
            Tag::Array => Kind::List,
            Tag::Object => Kind::Map,
            Tag::Shortened => Kind::Shortened,
        }
    }

    /// The number, if it is an `int`.
    #[inline]
    #[must_use]
    pub fn as_int(self) -> Option<i64> {
        match self.word.tag() {
            Tag::Small => Some(self.word.0.cast_signed() >> TAG_BITS),
            Tag::Int => self.word(self.word.offset()).map(|word| word.0.cast_signed()),
            _ => None,
        }
    }

    /// The number, if it is a `double`.
    #[inline]
    #[must_use]
    pub(in crate::value) fn as_double(self) -> Option<f64> {
        let word = (self.word.tag() == Tag::Double).then(|| self.word(self.word.offset())).flatten();
        word.map(|word| f64::from_bits(word.0))
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

    /// The bytes of the text, if it is a string. Cheaper than [`JsonRef::as_str`], which makes sure that the text begins and ends between characters.
    #[inline]
    #[must_use]
    pub fn as_bytes(self) -> Option<&'a [u8]> {
        (self.word.tag() == Tag::String).then(|| self.bytes_of(self.word))
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
        let [key, value] = self.member(index)?;
        Some((self.text_of(key), self.at(value)))
    }

    /// The key and the value of an entry.
    #[inline]
    fn member(self, index: usize) -> Option<[Word; 2]> {
        if self.word.tag() != Tag::Object || index >= self.word.length() {
            return None;
        }
        let place = self.word.offset().checked_add(index.checked_mul(2)?)?;
        self.document.words.get(place..)?.first_chunk().map(|entry| entry.map(Word))
    }

    /// The value of the entry at a position, if it stands under this key. Constant time.
    #[inline]
    #[must_use]
    pub fn get_at(self, index: usize, key: &str) -> Option<Self> {
        self.member(index).filter(|[word, _]| self.is(*word, key)).map(|[_, value]| self.at(value))
    }

    /// The value under a key, which is looked for first where it was last found.
    #[inline]
    #[must_use]
    pub(crate) fn get_near(self, key: &str, guess: &Guess) -> Option<Self> {
        self.get_at(guess.0.load(Ordering::Relaxed) as usize, key).or_else(|| self.get_guessing(key, guess))
    }

    /// The same where the guess was wrong; the next one is better.
    #[inline(never)]
    fn get_guessing(self, key: &str, guess: &Guess) -> Option<Self> {
        let index = self.position(key)?;
        guess.0.store(u32::try_from(index).unwrap_or_default(), Ordering::Relaxed);
        self.member(index).map(|[_, value]| self.at(value))
    }

    /// The value under a key. Looks at the entries one by one, or halves them where there are many.
    #[inline]
    #[must_use]
    pub fn get(self, key: &str) -> Option<Self> {
        let value = match self.few() {
            Some(entries) => entries.iter().find(self.is_key(key)).map(|&[_, value]| Word(value)),
            None => self.member(self.position_by_halves(key)?).map(|[_, value]| value),
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
        let count = Some(self.len()).filter(|&count| count < SORTED_FROM && self.is_object())?;
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
            let [word, _] = self.member(index)?;
            match self.text_of(word).cmp(key) {
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

    /// Whether nothing in it is nested deeper than this many levels. Linear in the value.
    #[must_use]
    pub fn is_within(self, levels: usize) -> bool {
        let inner = |levels: usize| match self.word.tag() {
            Tag::Array => self.items().all(|item| item.is_within(levels)),
            _ => self.entries().all(|(_, value)| value.is_within(levels)),
        };
        !matches!(self.word.tag(), Tag::Array | Tag::Object) || levels.checked_sub(1).is_some_and(inner)
    }

    /// An identity of an object or array that is not empty, different from that of any other that exists at the same time. `None` for
    /// other values.
    #[must_use]
    pub fn identity(self) -> Option<(usize, u32)> {
        let place = u32::try_from(self.word.offset()).ok().filter(|_| !self.is_empty())?;
        Some((std::ptr::from_ref(self.document).addr(), place))
    }
}
