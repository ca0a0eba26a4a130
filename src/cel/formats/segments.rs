//! Segments of paths as strangers may write them: percent-escapes, and dots that lead elsewhere in whatever form.

/// The text with its percent-escapes decoded, once. Nothing if one of them is no escape, or if what they decode to is not UTF-8:
/// readers that decode bytes leniently find a dot in `%c0%ae`.
pub(super) fn decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(if byte == b'%' { escaped(&mut rest)? } else { byte });
    }
    String::from_utf8(bytes).ok()
}

/// The byte that the two digits behind a `%` say.
fn escaped(rest: &mut impl Iterator<Item = u8>) -> Option<u8> {
    let mut digit = || char::from(rest.next()?).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
    let (high, low) = (digit()?, digit()?);
    high.checked_mul(16)?.checked_add(low)
}

/// For each `%` of a text, whether it begins an escape. One that is left in a text that was decoded makes another text for a reader
/// that decodes twice.
pub(super) fn escapes(text: &str) -> impl Iterator<Item = bool> {
    text.split('%').skip(1).map(|rest| escaped(&mut rest.bytes()).is_some())
}

pub(super) fn has_escape(text: &str) -> bool {
    escapes(text).any(|is_escape| is_escape)
}

/// Whether a character may be dropped or may end a text on the way: controls, and those without width or for the direction
/// of text.
pub(super) fn is_invisible(sign: char) -> bool {
    let hidden = matches!(
        sign,
        '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}'
    );
    sign.is_control() || hidden
}

/// Whether a segment of a text is made of dots alone (`.`, `..`), also if a reader takes another character for a dot or for a
/// separator, as those do that normalise or that convert to an old character set, drops spaces at its ends, or takes what stands behind
/// a `;` for parameters.
pub(super) fn has_dots_alone(text: &str) -> bool {
    let is_separator = |sign: char| {
        matches!(
            sign,
            '/' | '\\'
                | ';'
                | '\u{2044}'
                | '\u{2215}'
                | '\u{2216}'
                | '\u{29f5}'
                | '\u{29f8}'
                | '／'
                | '＼'
                | '﹨'
        )
    };
    let is_dot = |sign: char| matches!(sign, '.' | '\u{2024}'..='\u{2026}' | '．' | '﹒' | '｡');
    text.split(is_separator).map(str::trim).any(|segment| !segment.is_empty() && segment.chars().all(is_dot))
}

#[cfg(test)]
mod tests {
    use super::{decoded, has_dots_alone, has_escape};

    #[test]
    fn escapes_are_decoded_once_and_must_be_text() {
        assert_eq!(decoded("a%20b%C3%a9").as_deref(), Some("a bé"));
        assert_eq!(decoded("%252e").as_deref(), Some("%2e"));
        for text in ["%", "%2", "%zz", "%c0%ae", "%e0%80%ae", "%ff", "%+1"] {
            assert_eq!(decoded(text), None, "{text}");
        }
        assert!(has_escape("a%2e") && !has_escape("100%") && !has_escape("%é2"));
    }

    #[test]
    fn dots_are_found_in_whatever_form() {
        for text in
            ["..", "a/../b", ".", "a\\..\\b", " .. ", "．．", "a／..", "‥", "a/.. /b", "...", "a/..;x/b"]
        {
            assert!(has_dots_alone(text), "{text}");
        }
        for text in ["", "a..b", "..a", "/", "a/b", ".git", "a… b"] {
            assert!(!has_dots_alone(text), "{text}");
        }
    }
}
