//! The letters of a text as copies of it are compared: case, blanks and signs that nobody sees make no difference.
//!
//! A model that repeats a text changes its capitals, its line ends and its full-width letters, it writes a number with blanks or without,
//! and so does whoever wants a copy to pass for another text. More than that is a paraphrase, which nothing here finds.

use super::number;
use crate::detect::is_invisible;
use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark as is_mark;

/// The letters of a text: compatibility forms (NFKD) in lower case, without blanks, marks and characters that are not shown. A text that is a number is its
/// digits, whatever its letters are: `1e4`, `10000.0` and ` １０ ０００.0` are `10000`.
///
/// ```
/// use celador::copies::Letters;
/// assert_eq!(Letters::of(" Send\n\tIT \u{200b}now"), Letters::of("ｓｅｎｄ it now"));
/// assert_eq!(Letters::of("DE89 3704 0044"), Letters::of("de8937040044"));
/// assert_eq!(Letters::of("se\u{3164}nd e\u{301}"), Letters::of("send é"));
/// assert_eq!(Letters::of("4711.0"), Letters::of("4711"));
/// assert_eq!(Letters::of("４７１１.０\u{200b} "), Letters::of("4711"));
/// assert_ne!(Letters::of("s-e-n-d"), Letters::of("send"));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Letters(Vec<char>);

impl Letters {
    /// Linear in the text.
    #[must_use]
    pub fn of(text: &str) -> Self {
        let mut letters = Vec::with_capacity(text.len());
        let is_counted =
            |letter: &char| !letter.is_whitespace() && !is_mark(*letter) && !is_invisible(*letter);
        if text.is_ascii() {
            letters.extend(text.chars().map(|letter| letter.to_ascii_lowercase()).filter(is_counted));
        } else {
            letters.extend(text.nfkd().flat_map(char::to_lowercase).filter(is_counted));
        }
        if let Some(number) = number::plain_decimal(&letters) {
            letters = number.chars().collect();
        }
        Self(letters)
    }

    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are no letters.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// All of them.
    #[must_use]
    pub fn all(&self) -> &[char] {
        &self.0
    }
}
