//! Copies of whole values: a text that is in another one from end to end, and not as a part of a word, a number or an address.
//!
//! A rule that forbids a copy asks for any part of the text. A rule that permits a value because the user has said it needs the whole text: a user who says
//! "update my password" did not choose `password1`, and `5000` is not in "pay 50000", "15,000" or "5000.75".

use super::{Letters, Number, SHORTEST, each_text, runs, whole};
use crate::cel::JsonRef;
use crate::detect::is_invisible;
use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark as is_mark;

/// Signs around a word that are no part of it: brackets, quotes, and signs of amounts and numbers.
const AROUND: &str = "\"“”„«»`<>()[]{}$€£¥#";

/// Signs that are quotes, or apostrophes within a word.
const APOSTROPHES: &str = "'‘’";

/// Signs behind a word that are no part of it where a blank or the end of the text follows.
const BEHIND: &str = ".,;:!?…。、";

/// Whether a text is as a whole in one of the texts of a value; never one with fewer than [`SHORTEST`] letters, which is in most texts by chance. Linear in the value.
#[must_use]
pub fn is_whole_in(text: &Letters, value: JsonRef<'_>) -> bool {
    let number = whole(text.all());
    let mut is_in = false;
    each_text(value, &mut |other, _| {
        if !is_in && text.len() >= SHORTEST {
            is_in = Letters::of(other) == *text || Words::of(other).have(text, number);
        }
    });
    is_in
}

/// The letters of a text as [`Letters`] has them, with the blanks before them. A number is not written out.
struct Words {
    letters: Vec<char>,
    /// Of each letter: whether a blank is before it.
    is_first: Vec<bool>,
}

impl Words {
    fn of(text: &str) -> Self {
        let mut words = Self { letters: Vec::new(), is_first: Vec::new() };
        let mut is_first = true;
        for letter in text.nfkd().flat_map(char::to_lowercase) {
            if letter.is_whitespace() {
                is_first = true;
            } else if !is_mark(letter) && !is_invisible(letter) {
                words.letters.push(letter);
                words.is_first.push(std::mem::take(&mut is_first));
            }
        }
        words
    }

    /// Whether a text, whose number this is, is among the letters with bounds on both sides. A number that two runs have in common is no proof, so
    /// the letters are compared; that ends the search unless someone has made up such runs.
    fn have(&self, text: &Letters, number: Number) -> bool {
        runs(&self.letters, text.len()).enumerate().any(|(start, run)| {
            let end = start.saturating_add(text.len());
            run == number
                && self.is_bound(start)
                && self.is_bound(end)
                && self.letters.get(start..end).is_some_and(|letters| letters == text.all())
        })
    }

    /// Whether a word may begin or end before this letter.
    fn is_bound(&self, at: usize) -> bool {
        let (Some(before), Some(after)) = (at.checked_sub(1).and_then(|at| self.sign(at)), self.sign(at))
        else {
            return true;
        };
        self.is_first.get(at) == Some(&true)
            || AROUND.contains([before, after])
            || (APOSTROPHES.contains(before) && !self.is_within_word(at.saturating_sub(1), at.checked_sub(2)))
            || (APOSTROPHES.contains(after) && !self.is_within_word(at.saturating_add(1), at.checked_add(1)))
            || self.closes(at)
    }

    fn sign(&self, at: usize) -> Option<char> {
        self.letters.get(at).copied()
    }

    /// Whether there is no blank before the first letter, and the second one is a letter or a digit.
    fn is_within_word(&self, first: usize, second: Option<usize>) -> bool {
        self.is_first.get(first) == Some(&false)
            && second.and_then(|at| self.sign(at)).is_some_and(char::is_alphanumeric)
    }

    /// Whether nothing but signs that end a sentence is between here and the next blank.
    fn closes(&self, at: usize) -> bool {
        let signs = self.letters.iter().zip(&self.is_first).skip(at);
        let ending = signs.take_while(|(_, is_first)| !**is_first).map(|(sign, _)| *sign);
        let mut ending = ending.peekable();
        ending.peek().is_some_and(|sign| BEHIND.contains(*sign))
            && ending.all(|sign| BEHIND.contains(sign) || AROUND.contains(sign) || APOSTROPHES.contains(sign))
    }
}

#[cfg(test)]
mod tests {
    use super::{Letters, is_whole_in};
    use crate::cel::Json;
    use proptest::prelude::*;

    fn is_in(text: &str, said: &str) -> bool {
        is_whole_in(&Letters::of(text), Json::string(said).root())
    }

    #[test]
    fn a_whole_is_no_part_of_a_word() {
        for (text, said, expected) in [
            ("password1", "update my password", false),
            ("pass", "update my password", false),
            ("word", "update my password", false),
            ("hunter2", "my password is \"hunter2\".", true),
            ("hunter2", "my password is 'hunter2'", true),
            ("Hunter2", "set it to hunter2, please", true),
            ("hunter", "set it to hunter2, please", false),
            ("5000", "pay 50000", false),
            ("5000", "pay 15,000", false),
            ("5000", "pay 5000.75", false),
            ("5000", "pay 15000.", false),
            ("5000", "pay -5000", false),
            ("5000", "pay 5000.", true),
            ("5000", "pay $5000 (no more)", true),
            ("5000", "pay 5000€", true),
            ("5e3", "5000", true),
            ("ann@example.com", "ask joann@example.com", false),
            ("ann@example.com", "ask ann@example.com.evil.test", false),
            ("ann@example.com", "ask x.ann@example.com", false),
            ("ann@example.com", "ask Ann <ann@example.com>, and Bob", true),
            ("ann@example.com", "ask ann@example.com?!", true),
            ("example.com", "ask ann@example.com", false),
            ("Ann Lee", "to ann\nlee: hello", true),
            ("annlee", "to ann lee", true),
            ("brien", "Mr O'Brien", false),
            ("o'brien", "Mr O’Brien", false),
            ("o'brien", "Mr O'Brien's", false),
            ("brien", "'Brien'", true),
            ("data", "/srv/data/x", false),
            ("xxx", "xxx", false),
            ("", "x", false),
            ("", "", false),
            ("café", "cafe", true),
            ("anna", "a\u{200b}nna", true),
        ] {
            assert_eq!(is_in(text, said), expected, "{text:?} in {said:?}");
        }
    }

    #[test]
    fn texts_of_a_value_are_asked_one_by_one() {
        let said = Json::parse(r#"{"to": ["anna", "lee"], "n": 4711}"#, &Default::default()).unwrap();
        for (text, expected) in [("anna", true), ("4711", true), ("annalee", false), ("471", false)] {
            assert_eq!(is_whole_in(&Letters::of(text), said.root()), expected, "{text}");
        }
    }

    proptest! {
        /// Of words with blanks between them the whole ones are those that a search in the words finds.
        #[test]
        fn words_are_whole_and_parts_are_not(said in prop::collection::vec("[ab]{1,3}", 1..8), text in prop::collection::vec("[ab]{1,3}", 1..3)) {
            let joined = text.concat();
            let some = |from: usize, count: usize| said.iter().skip(from).take(count).cloned().collect::<String>();
            let is_whole = joined.len() >= 4 && (0..said.len()).any(|from| (0..=said.len()).any(|count| some(from, count) == joined));
            prop_assert_eq!(is_in(&text.join(" "), &said.join(" ")), is_whole);
        }
    }
}
