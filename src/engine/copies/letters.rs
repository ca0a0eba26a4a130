//! The letters of a text as copies of it are compared: case, blanks and signs that nobody sees make no difference.
//!
//! A model that repeats a text changes its capitals, its line ends and its full-width letters, and so does whoever wants a copy to
//! pass for another text. More than that is a paraphrase, which nothing here finds.

use unicode_normalization::UnicodeNormalization;

/// The letters of a text: compatibility forms (NFKC) in lower case, each run of blanks as one, none at either end, no signs of
/// format. Linear.
pub(super) fn letters(text: &str) -> Vec<char> {
    let mut letters = Vec::with_capacity(text.len());
    for letter in text.nfkc().filter(|letter| !is_unseen(*letter)).flat_map(char::to_lowercase) {
        match (letter.is_whitespace(), letters.last()) {
            (false, _) => letters.push(letter),
            (true, None | Some(' ')) => {}
            (true, Some(_)) => letters.push(' '),
        }
    }
    if letters.last() == Some(&' ') {
        letters.pop();
    }
    letters
}

/// Whether a sign takes no room of its own: joiners, marks of direction, soft hyphens, variation selectors and tags.
fn is_unseen(letter: char) -> bool {
    matches!(letter,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{e0000}'..='\u{e0fff}')
}
