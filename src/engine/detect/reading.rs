//! How a text is read before something is looked for in it: as a person or a model would, not byte by byte.
//!
//! In: a text. Out: the same with every digit, dash and blank in its ASCII form, full-width and other compatible characters as what
//! they stand for (NFKC), percent-escapes as their characters, and without characters that have no width, marks that stand on others
//! and control characters; and the way back to the places of the original. A text of plain ASCII is read as it is and not copied.
//! So `４１１１ …`, `4111\u{200B}…` and `ann%40example.com` hide nothing. Letters that only look alike (a Cyrillic `А` for an `A`)
//! are not folded: a key with one in it is no key. Linear in the text.

use crate::cel::{Fault, Meter};
use regex_syntax::hir::{Class, HirKind};
use std::borrow::Cow;
use std::ops::Range;
use std::sync::LazyLock;
use unicode_normalization::char::decompose_compatible;

/// A text as it is read.
pub(crate) struct Reading<'t> {
    text: Cow<'t, str>,
    /// What stands where, in order; empty if the text is read as it is.
    parts: Vec<Part>,
}

/// A part of the reading and where it comes from.
struct Part {
    /// Where it begins in the reading.
    at: usize,
    /// The bytes of the original.
    from: Range<usize>,
    /// Whether it is those very bytes, so that each has its own place.
    same: bool,
}

/// Bytes that are looked at together.
const BLOCK: usize = 256;

/// How much dearer it is to read a text character by character than to look at it.
const DEARER: usize = 8;

impl<'t> Reading<'t> {
    /// Reads a text, paid for.
    ///
    /// # Errors
    /// `budget_exceeded`.
    pub(crate) fn of(meter: &mut Meter<'_>, text: &'t str) -> Result<Self, Fault> {
        meter.charge_text(text.len())?;
        // by blocks without a way out, which a processor compares many bytes of at a time
        let blocks = text.as_bytes().chunks(BLOCK);
        if blocks.into_iter().all(|block| block.iter().fold(true, |plain, &byte| plain & is_plain(byte))) {
            return Ok(Self { text: Cow::Borrowed(text), parts: Vec::new() });
        }
        meter.charge_text(text.len().saturating_mul(DEARER))?;
        meter.charge_built(text.len())?;
        let mut reading = Reading { text: Cow::Owned(String::with_capacity(text.len())), parts: Vec::new() };
        let mut at = 0;
        while let Some((letter, length)) = next(text.get(at..).unwrap_or_default()) {
            let end = at.saturating_add(length);
            reading.push(meter, letter, at..end, length == letter.len_utf8())?;
            at = end;
        }
        Ok(reading)
    }

    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// The bytes of the original that a part of the reading comes from.
    pub(super) fn original(&self, range: Range<usize>) -> Range<usize> {
        match (self.part(range.start), self.part(range.end.saturating_sub(1))) {
            (Some(first), Some(last)) => {
                let (start, _) = first.place(range.start);
                let (_, end) = last.place(range.end.saturating_sub(1));
                start..end
            }
            _ => range,
        }
    }

    fn part(&self, at: usize) -> Option<&Part> {
        let behind = self.parts.partition_point(|part| part.at <= at);
        self.parts.get(behind.checked_sub(1)?)
    }

    /// Adds what a character of the original is read as. `plain`: it stands there itself and not as an escape.
    fn push(
        &mut self,
        meter: &mut Meter<'_>,
        letter: char,
        from: Range<usize>,
        plain: bool,
    ) -> Result<(), Fault> {
        let (at, mut read) = (self.text.len(), 0_usize);
        let mut last = None;
        let text = self.text.to_mut();
        fold(letter, &mut |letter| {
            text.push(letter);
            last = Some(letter);
            read = read.saturating_add(1);
        });
        let grown = text.len().saturating_sub(at);
        let same = plain && read == 1 && last == Some(letter);
        match self.parts.last_mut() {
            _ if read == 0 => {}
            Some(before) if same && before.same && before.from.end == from.start => {
                before.from.end = from.end
            }
            _ => {
                meter.charge_built(size_of::<Part>().saturating_add(grown))?;
                self.parts.push(Part { at, from, same });
            }
        }
        Ok(())
    }
}

impl Part {
    /// The bytes of the original that one byte of the reading comes from.
    fn place(&self, at: usize) -> (usize, usize) {
        if self.same {
            let start = self.from.start.saturating_add(at.saturating_sub(self.at));
            (start, start.saturating_add(1))
        } else {
            (self.from.start, self.from.end)
        }
    }
}

/// A byte that is read as itself, whatever stands beside it.
fn is_plain(byte: u8) -> bool {
    matches!(byte, b' '..=b'~' | b'\t' | b'\n' | b'\r') && byte != b'%'
}

/// The first character of a text and the bytes that it is written with, which are more if it is an escape: `%40`.
fn next(text: &str) -> Option<(char, usize)> {
    let letter = text.chars().next()?;
    Some(if letter == '%' { escaped(text).unwrap_or((letter, 1)) } else { (letter, letter.len_utf8()) })
}

/// The character that a percent-escape at the beginning of a text stands for. An escaped percent sign that an escape follows
/// (`%2540`) is read through: who decodes twice would.
fn escaped(text: &str) -> Option<(char, usize)> {
    let bytes = text.as_bytes();
    let mut length = 0_usize;
    let byte = |length: &mut usize| {
        let mut at = length.checked_add(1).filter(|_| bytes.get(*length) == Some(&b'%'))?;
        while bytes.get(at..at.checked_add(2)?) == Some(b"25")
            && bytes.get(at.checked_add(2)?).is_some_and(u8::is_ascii_hexdigit)
        {
            at = at.checked_add(2)?;
        }
        let digits = text.get(at..at.checked_add(2)?)?;
        let value = u8::from_str_radix(digits, 16).ok().filter(|_| !digits.starts_with('+'))?;
        *length = at.checked_add(2)?;
        Some(value)
    };
    let first = byte(&mut length)?;
    let mut sequence = vec![first];
    let more = match first.leading_ones() {
        0 => 0,
        ones @ 2..=4 => ones.saturating_sub(1),
        _ => return None,
    };
    for _ in 0..more {
        sequence.push(byte(&mut length)?);
    }
    let letter = std::str::from_utf8(&sequence).ok()?.chars().next()?;
    Some((letter, length))
}

/// What a character is read as: no character, itself, or others.
fn fold(letter: char, read: &mut dyn FnMut(char)) {
    if letter.is_ascii() {
        if u8::try_from(letter).is_ok_and(|byte| is_plain(byte) || byte == b'%') {
            read(letter);
        }
        return;
    }
    decompose_compatible(letter, |part| {
        if let Some(part) = simple(part) {
            read(part);
        }
    });
}

/// The same of a character that stands for no others.
fn simple(letter: char) -> Option<char> {
    if letter.is_whitespace() {
        return Some(' ');
    }
    if letter.is_ascii() {
        return (!letter.is_control()).then_some(letter);
    }
    if is_of(&UNSEEN, letter) {
        return None;
    }
    if is_of(&DASHES, letter) {
        return Some('-');
    }
    if is_of(&DOTS, letter) {
        return Some('.');
    }
    Some(digit(letter).unwrap_or(letter))
}

/// The digit that a digit of another script is. Unicode promises that the ten digits of a script stand side by side, so a run of
/// them begins with a zero.
fn digit(letter: char) -> Option<char> {
    let (first, _) = range_of(&DIGITS, letter)?;
    let from_zero = u32::from(letter).checked_sub(u32::from(first))?;
    char::from_digit(from_zero.checked_rem(10)?, 10)
}

/// Characters in ranges, in order.
pub(super) type Characters = LazyLock<Vec<(char, char)>>;

/// Without width, on another character, or for machines only.
static UNSEEN: Characters =
    LazyLock::new(|| characters(r"[\p{Cc}\p{Cf}\p{Mn}\p{Me}\p{Default_Ignorable_Code_Point}]"));
static DASHES: Characters = LazyLock::new(|| characters(r"[\p{Pd}\u{2212}\u{2043}\u{30FC}]"));
/// Full stops of other scripts, which programs take for dots in addresses (UTS #46), and dots in the middle.
static DOTS: Characters = LazyLock::new(|| characters(r"[\u{3002}\u{00B7}\u{2027}\u{30FB}]"));
static DIGITS: Characters = LazyLock::new(|| characters(r"\p{Nd}"));

/// The ranges of a class of characters. A test holds that each class above can be read.
pub(super) fn characters(class: &str) -> Vec<(char, char)> {
    match regex_syntax::parse(class).map(|class| class.into_kind()) {
        Ok(HirKind::Class(Class::Unicode(class))) => {
            class.ranges().iter().map(|range| (range.start(), range.end())).collect()
        }
        _ => Vec::new(),
    }
}

fn range_of(ranges: &[(char, char)], letter: char) -> Option<(char, char)> {
    let behind = ranges.partition_point(|(first, _)| *first <= letter);
    ranges.get(behind.checked_sub(1)?).copied().filter(|(_, last)| letter <= *last)
}

pub(super) fn is_of(ranges: &[(char, char)], letter: char) -> bool {
    range_of(ranges, letter).is_some()
}

#[cfg(test)]
mod tests {
    use super::{DASHES, DIGITS, DOTS, Reading, UNSEEN};
    use crate::cel::Meter;
    use crate::limits::EngineLimits;
    use proptest::prelude::*;

    #[test]
    fn classes_can_be_read_and_digits_stand_in_tens() {
        assert!(UNSEEN.len() > 100 && DASHES.len() > 5 && DOTS.len() == 4);
        assert!(DIGITS.len() > 30);
        for (first, last) in DIGITS.iter() {
            assert_eq!((u32::from(*last) - u32::from(*first) + 1) % 10, 0, "{first}");
        }
    }

    #[test]
    fn texts_are_read_as_people_do() {
        for (text, read) in [
            ("plain, with 100 blanks\r\n\tand lines", "plain, with 100 blanks\r\n\tand lines"),
            ("４１１１", "4111"),
            ("٤١١١ १२३ 𝟗𝟘", "4111 123 90"),
            ("41\u{200B}1\u{00AD}1\u{FEFF}", "4111"),
            ("4\u{0336}1\u{0336}1\u{20DD}1", "4111"),
            ("4\u{0}1\u{1B}1\u{7F}1", "4111"),
            ("4111\u{00A0}1111\u{2009}1\u{3000}2\u{2028}3", "4111 1111 1 2 3"),
            ("4111‐1111‑1111–1111—1−1", "4111-1111-1111-1111-1-1"),
            ("ann＠example．com ann@example。com", "ann@example.com ann@example.com"),
            ("ann%40example%2Ecom", "ann@example.com"),
            ("ann%2540example%25252Ecom", "ann@example.com"),
            ("%EF%BC%91 %D9%A1", "1 1"),
            ("100% of %zz %+1 %e", "100% of %zz %+1 %e"),
            ("%FF%C3 %C3%28", "%FF%C3 %C3("),
            ("ﬁ ㏄ ½", "fi cc 1\u{2044}2"),
            ("é e\u{301}", "e e"),
            ("А is Cyrillic", "А is Cyrillic"),
        ] {
            let limits = EngineLimits::default();
            let reading = Reading::of(&mut Meter::new(&limits.eval), text).unwrap();
            assert_eq!(reading.text(), read, "{text}");
        }
    }

    proptest! {
        /// Every place of the reading leads back to characters of the original that are read as what stands there.
        #[test]
        fn the_way_back_is_to_the_same_characters(
            text in "([ -~]|[٠-٩０-９]|\u{200B}|\u{AD}|%4[0-9]|%C3%A9|ﬁ|é|漢|\u{0}|[\u{2010}-\u{2015}]){0,40}",
            from in 0_usize..60, length in 1_usize..20,
        ) {
            let limits = EngineLimits::default();
            let mut meter = Meter::new(&limits.eval);
            let reading = Reading::of(&mut meter, &text).unwrap();
            let read = reading.text();
            let bounds: Vec<usize> = read.char_indices().map(|(at, _)| at).chain([read.len()]).collect();
            if let (Some(&start), Some(&end)) = (bounds.get(from), bounds.get(from.saturating_add(length))) {
                let (part, original) = (read.get(start..end).unwrap(), reading.original(start..end));
                // a range of whole characters
                let original = text.get(original).unwrap();
                let again = Reading::of(&mut meter, original).unwrap();
                prop_assert!(again.text().contains(part), "{:?} {:?}", again.text(), part);
            }
        }
    }
}
