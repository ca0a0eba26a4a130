//! Paths below a mount (MNT-07, MNT-08): whether one stays there.
//!
//! Refused are `../` and a segment `..` in any form, a path from the root, backslashes and NUL, and the empty path, which
//! names no file. Forms are also those that a backend may turn into these: percent-encoded, overlong or as a look-alike that
//! compatibility normalisation folds. Nothing is cleaned up: a path that has to be cleaned is refused.

/// How often a path may be encoded; one that hides more than this has no honest reason.
const LAYERS: usize = 4;

/// Encodings of signs that are longer than they must be, which careless decoders take.
const OVERLONG: &[(&[u8], char)] = &[
    (&[0xC0, 0xAE], '.'),
    (&[0xC0, 0xAF], '/'),
    (&[0xC1, 0x9C], '\\'),
    (&[0xC0, 0x80], '\0'),
    (&[0xE0, 0x80, 0xAE], '.'),
    (&[0xE0, 0x80, 0xAF], '/'),
    (&[0xE0, 0x81, 0x9C], '\\'),
];

/// Whether a path names something below the mount's prefix, whatever a backend makes of it.
#[must_use]
pub(super) fn is_inside(path: &str) -> bool {
    let mut form = path.to_owned();
    for _ in 0..LAYERS {
        if !stays(&form) {
            return false;
        }
        let below = unmasked(&form);
        if below == form {
            return true;
        }
        form = below;
    }
    false
}

/// Whether a path stays below its prefix as it is written.
fn stays(path: &str) -> bool {
    let climbs = path.contains("../") || path.split('/').any(|segment| segment.trim() == "..");
    let foreign = path.starts_with('/') || path.contains(['\\', '\0']);
    !path.is_empty() && !climbs && !foreign
}

/// The path with one layer of encoding taken off and look-alikes folded.
fn unmasked(path: &str) -> String {
    let decoded = decoded(path);
    let decoded = String::from_utf8_lossy(&decoded);
    let plain: String = decoded.chars().filter(|&sign| !is_invisible(sign)).map(look_alike).collect();
    plain.replace(['\u{2025}', '\u{FE30}'], "..")
}

/// The bytes with `%2e` and its kin decoded; overlong forms become what they stand for.
fn decoded(path: &str) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(path.len());
    let mut rest = path.as_bytes();
    while let [first, tail @ ..] = rest {
        let (byte, after) = escape(rest).unwrap_or((*first, tail));
        bytes.push(byte);
        rest = after;
    }
    let mut plain = Vec::with_capacity(bytes.len());
    let mut rest = bytes.as_slice();
    while let [first, tail @ ..] = rest {
        let sign = OVERLONG.iter().find_map(|(form, sign)| Some((*sign, rest.strip_prefix(*form)?)));
        match sign {
            Some((sign, after)) => {
                plain.extend_from_slice(sign.encode_utf8(&mut [0; 4]).as_bytes());
                rest = after;
            }
            None => {
                plain.push(*first);
                rest = tail;
            }
        }
    }
    plain
}

/// `%2e` at the front, and what comes after it.
fn escape(text: &[u8]) -> Option<(u8, &[u8])> {
    let [b'%', high, low, after @ ..] = text else { return None };
    let digit = |digit: &u8| char::from(*digit).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
    Some((digit(high)? << 4 | digit(low)?, after))
}

/// What compatibility normalisation makes of a sign, where that is one of a path.
fn look_alike(sign: char) -> char {
    match sign {
        '\u{2024}' | '\u{FE52}' | '\u{FF0E}' => '.',
        '\u{FF0F}' | '\u{2044}' | '\u{2215}' => '/',
        '\u{FE68}' | '\u{FF3C}' => '\\',
        '\u{FF05}' | '\u{FE6A}' => '%',
        other => other,
    }
}

/// Signs without any width, which some backends drop.
fn is_invisible(sign: char) -> bool {
    matches!(sign, '\u{AD}' | '\u{200B}'..='\u{200F}' | '\u{202A}'..='\u{202E}' | '\u{2060}'..='\u{2069}'
        | '\u{FE00}'..='\u{FE0F}' | '\u{FEFF}')
}

#[cfg(test)]
mod tests {
    use super::is_inside;

    #[test]
    fn only_paths_that_stay_inside_are_let_through() {
        for path in
            ["a", "a/b.txt", "_memory/k", "a/..b", "a..b/c", "...", "a/./b", "100%/a", "a%20b", "für/ё.md"]
        {
            assert!(is_inside(path), "{path}");
        }
        for path in ["", "..", "../a", "a/..", "a/../b", "x../y", "/etc/passwd", "a\\..", "a\0"] {
            assert!(!is_inside(path), "{path}");
        }
    }

    #[test]
    fn no_encoding_hides_a_way_out() {
        for path in [
            "%2e%2e/a",
            "a/%2E%2e",
            "..%2fa",
            "%2fetc",
            "a%5c..",
            "a%00b",
            "%252e%252e%252fa",
            "%25252525252e/a",
            "\u{FF0E}\u{FF0E}/a",
            "\u{2025}/a",
            "\u{2024}.\u{FF0F}a",
            "a/.\u{200B}./b",
            "%c0%ae%c0%ae%c0%afa",
            "a/.. /b",
            "%EF%BC%8E%EF%BC%8E/a",
        ] {
            assert!(!is_inside(path), "{path}");
        }
    }
}
