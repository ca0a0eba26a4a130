//! JSON as it is read from clients and from APIs of models.
//!
//! In: bytes. Out: a value that every reader would read in them, or why there is none. Half a surrogate pair, which some programs write
//! where a text was cut, is read as U+FFFD: what goes on is written anew, so everybody reads the same.

use celador_server::strict_json::{self, NotStrict};
use serde_json::Value;

/// Reads a JSON text.
///
/// # Errors
/// [`NotStrict`].
pub(crate) fn read(text: &[u8]) -> Result<Value, NotStrict> {
    match strict_json::from_slice(text) {
        Err(error @ NotStrict::Syntax { .. }) => match mended(text) {
            Some(mended) => strict_json::from_slice(&mended),
            None => Err(error),
        },
        other => other,
    }
}

/// The text with U+FFFD in the place of each escape of a lone surrogate, if it has one.
fn mended(text: &[u8]) -> Option<Vec<u8>> {
    let mut mended = text.to_vec();
    let (mut at, mut is_mended) = (0_usize, false);
    while let Some(byte) = text.get(at) {
        if *byte != b'\\' {
            at = at.saturating_add(1);
            continue;
        }
        match unit(text, at) {
            Some(0xD800..=0xDBFF) if matches!(unit(text, at.saturating_add(6)), Some(0xDC00..=0xDFFF)) => {
                at = at.saturating_add(12);
            }
            Some(0xD800..=0xDFFF) => {
                if let Some(place) = mended.get_mut(at.saturating_add(2)..at.saturating_add(6)) {
                    place.copy_from_slice(b"FFFD");
                    is_mended = true;
                }
                at = at.saturating_add(6);
            }
            _ => at = at.saturating_add(2),
        }
    }
    is_mended.then_some(mended)
}

/// The UTF-16 unit that an escape at a place stands for.
fn unit(text: &[u8], at: usize) -> Option<u32> {
    let digits = text.get(at..at.saturating_add(6))?.strip_prefix(b"\\u")?;
    if !digits.iter().all(u8::is_ascii_hexdigit) {
        return None;
    }
    u32::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
}

/// Whether two texts of JSON are the same but for blanks between what they say.
pub(crate) fn is_same_but_for_blanks(text: &str, written: &str) -> bool {
    let (mut quoted, mut escaped) = (false, false);
    let tokens = text.chars().filter(|letter| {
        if quoted {
            quoted = escaped || *letter != '"';
            escaped = !escaped && *letter == '\\';
            return true;
        }
        quoted = *letter == '"';
        !matches!(letter, ' ' | '\t' | '\n' | '\r')
    });
    tokens.eq(written.chars())
}

#[cfg(test)]
mod tests {
    use super::{is_same_but_for_blanks, read};
    use serde_json::json;

    #[test]
    fn half_a_pair_is_one_bad_letter() {
        for (text, expected) in [
            (r#"{"a":"x\uD83D"}"#, "x\u{FFFD}"),
            (r#"{"a":"\udE00x"}"#, "\u{FFFD}x"),
            (r#"{"a":"\uD83D\uD83D\uDE00"}"#, "\u{FFFD}\u{1F600}"),
            (r#"{"a":"\\uD83D"}"#, "\\uD83D"),
            (r#"{"a":"\uD83D\\uDE00"}"#, "\u{FFFD}\\uDE00"),
        ] {
            assert_eq!(read(text.as_bytes()).unwrap(), json!({"a": expected}), "{text}");
        }
        for text in
            [r#"{"a":1,"a":"\uD83D"}"#, r#"{"a":"\uD83"#, "{\"a\":\"\\", r#"{"a":18446744073709551616}"#]
        {
            assert!(read(text.as_bytes()).is_err(), "{text}");
        }
    }

    #[test]
    fn blanks_between_tokens_alone_make_no_difference() {
        let written = r#"{"a":"b \" c","d":[1,2.5]}"#;
        assert!(is_same_but_for_blanks("{ \"a\": \"b \\\" c\",\n  \"d\": [1, 2.5]\n}", written));
        for other in [
            r#"{"a":"b\" c","d":[1,2.5]}"#,
            r#"{"a":"\u0062 \" c","d":[1,2.5]}"#,
            r#"{"a":"b \" c","d":[1,2.50]}"#,
            "{}",
        ] {
            assert!(!is_same_but_for_blanks(other, written), "{other}");
        }
    }
}
