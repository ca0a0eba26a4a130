//! Literals to their values. The tokens have shown that they are well formed: what is left to go wrong is a number that
//! is beyond its type.

use super::expr::Literal;
use super::tokens::text_prefix;
use std::borrow::Cow;
use std::str::Chars;

/// `true`, `false`, `null`
pub(super) fn constant(word: &str) -> Literal {
    match word {
        "true" => Literal::Bool(true),
        "false" => Literal::Bool(false),
        _ => Literal::Null,
    }
}

/// A number, with a minus in front of it or without; nothing if its type does not have it.
pub(super) fn number(word: &str, negative: bool) -> Option<Literal> {
    let (radix, digits) = word.strip_prefix("0x").map_or((10, word), |digits| (16, digits));
    if let Some(digits) = digits.strip_suffix(['u', 'U']) {
        return u64::from_str_radix(digits, radix).ok().map(Literal::UInt);
    }
    if radix == 10 && digits.contains(['.', 'e', 'E']) {
        let value: f64 = digits.parse().ok()?;
        return value.is_finite().then_some(Literal::Double(if negative { -value } else { value }));
    }
    let whole = i128::from_str_radix(digits, radix).ok()?;
    i64::try_from(if negative { whole.checked_neg()? } else { whole }).ok().map(Literal::Int)
}

/// A string or bytes, in quotes of any kind.
pub(super) fn text(word: &str) -> Literal {
    let Some(prefix) = text_prefix(word) else { return Literal::Null };
    let quoted = word.get(prefix.bytes..).unwrap_or_default();
    let long = quoted.len() >= 6 && (quoted.starts_with("'''") || quoted.starts_with("\"\"\""));
    let mark = if long { 3 } else { 1 };
    let inside = quoted.get(mark..quoted.len().saturating_sub(mark)).unwrap_or_default();
    // lines end as CEL has it, whatever the file has
    let inside = match inside.contains('\r') {
        true => Cow::Owned(inside.replace("\r\n", "\n").replace('\r', "\n")),
        false => Cow::Borrowed(inside),
    };
    match (prefix.raw || !inside.contains('\\'), prefix.is_bytes) {
        (true, false) => Literal::String(inside.into_owned()),
        (true, true) => Literal::Bytes(inside.into_owned().into_bytes()),
        (false, true) => Literal::Bytes(unescaped(&inside, true)),
        (false, false) => Literal::String(String::from_utf8(unescaped(&inside, false)).unwrap_or_default()),
    }
}

/// The bytes of a text with escapes in it. A number stands for a byte in bytes, and for a character in a string.
fn unescaped(text: &str, is_bytes: bool) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.chars();
    while let Some(character) = rest.next() {
        let code = if character == '\\' { escaped(&mut rest) } else { Err(character) };
        match code {
            Ok(code) if is_bytes => bytes.extend(u8::try_from(code)),
            Ok(code) => push(&mut bytes, char::from_u32(code).unwrap_or_default()),
            Err(character) => push(&mut bytes, character),
        }
    }
    bytes
}

fn push(bytes: &mut Vec<u8>, character: char) {
    bytes.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
}

/// What stands behind a backslash: the number that was written, or else the character that is meant.
fn escaped(rest: &mut Chars<'_>) -> Result<u32, char> {
    let letter = rest.next().unwrap_or('\\');
    let (digits, radix) = match letter {
        'x' | 'X' => (2, 16),
        'u' => (4, 16),
        'U' => (8, 16),
        '0'..='3' => (2, 8),
        'a' => return Err('\x07'),
        'b' => return Err('\x08'),
        'f' => return Err('\x0c'),
        'n' => return Err('\n'),
        'r' => return Err('\r'),
        't' => return Err('\t'),
        'v' => return Err('\x0b'),
        itself => return Err(itself),
    };
    // the first octal digit is the letter itself
    let first = letter.to_digit(8).unwrap_or_default();
    let digits = rest.by_ref().take(digits).filter_map(|digit| digit.to_digit(radix));
    Ok(digits.fold(first, |code, digit| code.wrapping_mul(radix).wrapping_add(digit)))
}

#[cfg(test)]
mod tests {
    use super::super::expr::Literal;
    use super::{number, text};

    #[test]
    fn numbers_have_the_bounds_of_their_types() {
        assert_eq!(number("9223372036854775807", false), Some(Literal::Int(i64::MAX)));
        assert_eq!(number("9223372036854775808", true), Some(Literal::Int(i64::MIN)));
        assert_eq!(number("0x8000000000000000", true), Some(Literal::Int(i64::MIN)));
        assert_eq!(number("0xffU", false), Some(Literal::UInt(255)));
        assert_eq!(number("0xee", false), Some(Literal::Int(238)));
        assert_eq!(number("1.5e1", true), Some(Literal::Double(-15.0)));
        for beyond in ["9223372036854775808", "18446744073709551616u", "1e999", &"9".repeat(99)] {
            assert_eq!(number(beyond, false), None, "{beyond}");
        }
    }

    #[test]
    fn escapes_are_characters_in_strings_and_bytes_in_bytes() {
        let string = |literal: &str| match text(literal) {
            Literal::String(text) => text,
            other => panic!("{literal} is {other:?}"),
        };
        assert_eq!(string(r#"'\a\b\f\n\r\t\v\\\?\"\'\`'"#), "\x07\x08\x0c\n\r\t\x0b\\?\"'`");
        assert_eq!(string(r"'é\xe9\u00e9\U000000e9\351'"), "ééééé");
        assert_eq!(string(r"R'\n'"), r"\n");
        assert_eq!(string("''"), "");
        assert_eq!(string("'''it's\r\nso\r'''"), "it's\nso\n");
        assert_eq!(text(r"b'é\xe9\351\n'"), Literal::Bytes(b"\xc3\xa9\xe9\xe9\n".to_vec()));
        assert_eq!(text(r#"bR"\n""#), Literal::Bytes(br"\n".to_vec()));
    }
}
