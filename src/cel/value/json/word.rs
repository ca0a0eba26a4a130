//! The words of a document: in goes what a value is and where it lies, out come both.
//!
//! A word is a tag (4 bits), a length (28 bits) and an offset (32 bits); a whole number that fits in 60 bits is its
//! own word. What a word points to is known to who reads and who builds documents, never to the word.

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::value) enum Tag {
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
    /// The record of a value that was not kept whole. It is stored like a text, and no reader takes it for a text.
    Shortened,
}

#[derive(Clone, Copy, Debug, Default)]
pub(in crate::value) struct Word(pub(super) u64);

pub(super) const TAG_BITS: u32 = 4;
const LENGTH_BITS: u32 = 28;
pub(super) const MAX_LENGTH: usize = (1 << LENGTH_BITS) - 1;

/// From this many entries on, an object keeps its order by key.
pub(in crate::value) const SORTED_FROM: usize = 17;

/// Whole numbers below this, either way, are their own words.
pub(in crate::value) const SMALL: u64 = 1 << 58;

impl Word {
    pub(in crate::value) fn new(tag: Tag, length: usize, offset: usize) -> Self {
        Self(tag as u64 | (length as u64) << TAG_BITS | (offset as u64) << (TAG_BITS + LENGTH_BITS))
    }

    #[inline]
    pub(in crate::value) fn tag(self) -> Tag {
        match self.0 & 0xF {
            0 => Tag::Null,
            1 => Tag::False,
            2 => Tag::True,
            3 => Tag::Small,
            4 => Tag::Int,
            5 => Tag::Double,
            6 => Tag::String,
            7 => Tag::Array,
            8 => Tag::Object,
            _ => Tag::Shortened,
        }
    }

    #[inline]
    pub(super) fn length(self) -> usize {
        ((self.0 >> TAG_BITS) as usize) & MAX_LENGTH
    }

    /// Tag and length.
    #[inline]
    #[expect(clippy::cast_possible_truncation, reason = "the lower half is what is asked for")]
    pub(super) fn head(self) -> u32 {
        self.0 as u32
    }

    #[inline]
    pub(super) fn offset(self) -> usize {
        (self.0 >> (TAG_BITS + LENGTH_BITS)) as usize
    }
}
