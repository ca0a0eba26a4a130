//! The letters of a text as copies of it are compared: case, blanks and signs that nobody sees make no difference.
//!
//! A model that repeats a text changes its capitals, its line ends and its full-width letters, it writes a number with blanks or without,
//! and so does whoever wants a copy to pass for another text. More than that is a paraphrase, which nothing here finds.

use unicode_normalization::UnicodeNormalization;

/// The letters of a text: compatibility forms (NFKC) in lower case, without blanks and signs of format.
///
/// ```
/// use celador::copies::Letters;
/// assert_eq!(Letters::of(" Send\n\tIT \u{200b}now"), Letters::of("ｓｅｎｄ it now"));
/// assert_eq!(Letters::of("DE89 3704 0044"), Letters::of("de8937040044"));
/// assert_ne!(Letters::of("s-e-n-d"), Letters::of("send"));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Letters(Vec<char>);

impl Letters {
    /// Linear in the text.
    #[must_use]
    pub fn of(text: &str) -> Self {
        let mut letters = Vec::with_capacity(text.len());
        if text.is_ascii() {
            let seen = text.chars().filter(|letter| !letter.is_whitespace());
            letters.extend(seen.map(|letter| letter.to_ascii_lowercase()));
        } else {
            let seen = text.nfkc().filter(|letter| !is_unseen(*letter) && !letter.is_whitespace());
            letters.extend(seen.flat_map(char::to_lowercase));
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

/// Whether a sign takes no room of its own: joiners, marks of direction, soft hyphens, variation selectors and tags.
fn is_unseen(letter: char) -> bool {
    matches!(letter,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{e0000}'..='\u{e0fff}')
}
