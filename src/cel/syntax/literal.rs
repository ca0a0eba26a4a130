//! The characters of a literal to its value.
//!
//! In: one token as it was written; its form and its escapes are known to be right. Out: the value, or nothing where it
//! is out of range or of a form that is left to the grammar. Linear in the token.

use super::expr::Literal;
use super::tokens::text_prefix;

/// `true`, `false`, `null`.
pub(super) fn constant(word: &str) -> Option<Literal> {
    match word {
        "true" => Some(Literal::Bool(true)),
        "false" => Some(Literal::Bool(false)),
        "null" => Some(Literal::Null),
        _ => None,
    }
}

/// `1`, `0x1f`, `1u`, `1.5`.
pub(super) fn number(word: &str) -> Option<Literal> {
    if let Some(digits) = word.strip_suffix(['u', 'U']) {
        let value = match digits.strip_prefix("0x") {
            Some(digits) => u64::from_str_radix(digits, 16),
            None => digits.parse(),
        };
        return value.ok().map(Literal::UInt);
    }
    if let Some(digits) = word.strip_prefix("0x") {
        return i64::from_str_radix(digits, 16).ok().map(Literal::Int);
    }
    if word.bytes().all(|byte| byte.is_ascii_digit()) {
        return word.parse().ok().map(Literal::Int);
    }
    word.parse().ok().filter(|value: &f64| value.is_finite()).map(Literal::Double)
}

/// A number with a minus in front, other than zero.
pub(super) fn negative(word: &str) -> Option<Literal> {
    if word.starts_with("0x") {
        return None;
    }
    match number(word)? {
        Literal::Int(value) if value > 0 => value.checked_neg().map(Literal::Int),
        Literal::Double(value) if value > 0.0 => Some(Literal::Double(-value)),
        _ => None,
    }
}

/// `'text'`, `r'text'`, `b'bytes'`, with any quotes.
pub(super) fn text(word: &str) -> Option<Literal> {
    let prefix = text_prefix(word)?;
    let quoted = word.get(prefix.bytes..)?;
    let mark = ["'''", "\"\"\"", "'", "\""].into_iter().find(|mark| quoted.starts_with(mark))?;
    let inside = quoted.strip_prefix(mark)?.strip_suffix(mark)?;
    // how line breaks of other systems are read is for the grammar to say
    if inside.contains('\r') {
        return None;
    }
    if !prefix.raw && inside.contains('\\') {
        return if prefix.is_bytes {
            bytes(inside).map(Literal::Bytes)
        } else {
            escaped(inside).map(Literal::String)
        };
    }
    Some(match prefix.is_bytes {
        true => Literal::Bytes(inside.as_bytes().to_vec()),
        false => Literal::String(inside.to_owned()),
    })
}

/// A piece of a text: as it stands, or what an escape sequence stands for.
enum Piece {
    Plain(char),
    /// A character by its number; in bytes, that byte.
    Coded(u32),
    /// A character by name.
    Named(char),
}

fn pieces(inside: &str) -> impl Iterator<Item = Option<Piece>> {
    let mut rest = inside.chars();
    std::iter::from_fn(move || {
        let first = rest.next()?;
        if first != '\\' {
            return Some(Some(Piece::Plain(first)));
        }
        let coded = |text: &str, radix: u32| u32::from_str_radix(text, radix).ok().map(Piece::Coded);
        let mut digits = |count: usize| rest.by_ref().take(count).collect::<String>();
        let letter = digits(1);
        Some(match letter.as_str() {
            "a" => Some(Piece::Named('\u{7}')),
            "b" => Some(Piece::Named('\u{8}')),
            "f" => Some(Piece::Named('\u{c}')),
            "n" => Some(Piece::Named('\n')),
            "r" => Some(Piece::Named('\r')),
            "t" => Some(Piece::Named('\t')),
            "v" => Some(Piece::Named('\u{b}')),
            "x" | "X" => coded(&digits(2), 16),
            "u" => coded(&digits(4), 16),
            "U" => coded(&digits(8), 16),
            "0" | "1" | "2" | "3" => coded(&(letter.clone() + &digits(2)), 8),
            other => other.chars().next().filter(|c| "\"'\\?`".contains(*c)).map(Piece::Named),
        })
    })
}

fn escaped(inside: &str) -> Option<String> {
    let character = |piece: Option<Piece>| match piece? {
        Piece::Plain(c) | Piece::Named(c) => Some(c),
        Piece::Coded(code) => char::from_u32(code),
    };
    pieces(inside).map(character).collect()
}

fn bytes(inside: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(inside.len());
    for piece in pieces(inside) {
        match piece? {
            Piece::Plain(c) | Piece::Named(c) => {
                bytes.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes())
            }
            Piece::Coded(code) => bytes.push(u8::try_from(code).ok()?),
        }
    }
    Some(bytes)
}
