//! Paths below a mount (MNT-07, MNT-08): whether one stays there, and if not, why.
//!
//! In: a path, whoever wrote it. Out: nothing, or a [`Refusal`]. Refused is what leaves the mount, what a backend may turn
//! into something that does, and what is no path that a person would write: `..`, a path from a root or a drive, backslashes,
//! control and format characters, characters without width, look-alikes of dots and separators, these written as
//! percent-escapes. Nothing is cleaned up: a path that has to be cleaned is refused. So each file has one spelling, up to
//! `.` and empty segments. Linear in the path.
//!
//! What a character is folded into is Unicode's own data (NFKC, general category, default-ignorable code points). Look-alikes
//! that NFKC leaves alone are a list of our own, from the confusables of UTS #39 without letters and digits.

use regex::Regex;
use std::sync::LazyLock;
use unicode_normalization::UnicodeNormalization as _;

/// A control or format character, a separator of lines, or one without width. Nothing if the pattern could not be compiled:
/// then every sign beyond ASCII counts as one.
static INVISIBLE: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"^[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]$").ok());

/// Why a path is refused. Holds nothing of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::task) enum Refusal {
    /// It names no file.
    Empty,
    /// `../a`, `a/..`
    Climbs,
    /// `/etc/passwd`, `C:/x`
    Rooted,
    /// `a\b`, which is a separator to some backends
    Backslash,
    /// A control or format character, or one without width.
    Invisible,
    /// A character that looks like a dot or a separator, or is folded into one.
    LookAlike,
    /// `%2e`, `%2f`, `%252e`, `%u002e`, or bytes that are not UTF-8 once they are decoded.
    Escaped,
    /// `a.`, `a /b`: Windows drops dots and spaces at the end of a name.
    Trailing,
}

impl Refusal {
    /// What was expected, in words; a backend's error would come too late.
    pub(in crate::task) const fn as_str(self) -> &'static str {
        match self {
            Self::Empty => "a path below the mount is not empty",
            Self::Climbs => "a path below the mount has no segment `..`",
            Self::Rooted => "a path below the mount begins with neither `/` nor a drive letter",
            Self::Backslash => "a path below the mount has no backslash",
            Self::Invisible => {
                "a path below the mount has no control or format characters, and none without width"
            }
            Self::LookAlike => "a path below the mount has no look-alikes of dots, slashes, colons and `%`",
            Self::Escaped => {
                "a path below the mount has no percent-escapes of dots, separators and special characters"
            }
            Self::Trailing => "a name in a path below the mount ends with neither a dot nor a space",
        }
    }
}

/// Whether a path names something below the mount's prefix, whatever a backend makes of it.
///
/// # Errors
/// The first reason why not.
pub(in crate::task) fn check(path: &str) -> Result<(), Refusal> {
    if path.is_empty() {
        return Err(Refusal::Empty);
    }
    path.chars().try_for_each(check_sign)?;
    check_segments(path)?;
    check_escapes(path.as_bytes())?;
    // signs that are folded together with their neighbours
    check_segments(&path.nfkc().collect::<String>())
}

/// The segments of a path as it is written.
fn check_segments(path: &str) -> Result<(), Refusal> {
    if path.starts_with('/') {
        return Err(Refusal::Rooted);
    }
    for segment in path.split('/') {
        // `x../y` holds `../`, which MNT-07 refuses by its characters
        let bare = segment.trim_end_matches(char::is_whitespace);
        if bare.trim_start() == ".." || path.contains("../") {
            return Err(Refusal::Climbs);
        }
        if has_drive(segment) {
            return Err(Refusal::Rooted);
        }
        if segment != "." && (bare != segment || segment.ends_with('.')) {
            return Err(Refusal::Trailing);
        }
    }
    Ok(())
}

/// `C:`, `c:x`: relative to the folder of a drive, or from its root.
fn has_drive(segment: &str) -> bool {
    matches!(segment.as_bytes(), [letter, b':', ..] if letter.is_ascii_alphabetic())
}

/// A sign by itself.
fn check_sign(sign: char) -> Result<(), Refusal> {
    match sign {
        '\\' => return Err(Refusal::Backslash),
        ' '..='~' => return Ok(()),
        _ => {}
    }
    let mut buffer = [0; 4];
    let text = sign.encode_utf8(&mut buffer);
    if is_noncharacter(sign) || INVISIBLE.as_ref().is_none_or(|invisible| invisible.is_match(text)) {
        return Err(Refusal::Invisible);
    }
    let is_like = |sign: char| LOOK_ALIKES.iter().any(|signs| signs.contains(sign));
    let is_look_alike = text.nfkc().any(|sign| matches!(sign, '.' | '/' | '\\' | ':' | '%') || is_like(sign));
    if is_look_alike { Err(Refusal::LookAlike) } else { Ok(()) }
}

/// Code points that are no characters and never will be.
fn is_noncharacter(sign: char) -> bool {
    matches!(u32::from(sign), 0xFDD0..=0xFDEF) || u32::from(sign) & 0xFFFE == 0xFFFE
}

/// What looks like a dot, a separator or a colon and is folded into none by NFKC; letters and digits are not among them.
const LOOK_ALIKES: &[&str] = &[
    // dots
    "\u{3002}\u{A4F8}\u{A60E}\u{0701}\u{0702}\u{06D4}\u{10A50}\u{1D16D}\u{2E31}\u{2E33}",
    // slashes
    "\u{2044}\u{2215}\u{29F8}\u{2571}\u{27CB}\u{2041}\u{1735}\u{3033}\u{2CC6}\u{1D23A}",
    "\u{31D3}\u{2AFB}\u{2AFD}\u{338}\u{337}",
    // backslashes
    "\u{2216}\u{29F5}\u{29F9}\u{2572}\u{27CD}\u{31D4}\u{1D20F}\u{1D23B}\u{20E5}",
    // colons
    "\u{2236}\u{A789}\u{2D0}\u{2F8}\u{589}\u{5C3}\u{703}\u{704}\u{16EC}\u{1803}",
    "\u{1809}\u{A4FD}\u{5C0}",
];

/// The percent-escapes of a path: each run of them is the UTF-8 of signs that might stand there plainly, but for dots,
/// separators, colons and `%`, which nobody has an honest reason to escape.
fn check_escapes(path: &[u8]) -> Result<(), Refusal> {
    let mut rest = path;
    let mut run = Vec::new();
    loop {
        if let Some((byte, after)) = escape(rest) {
            run.push(byte);
            rest = after;
            continue;
        }
        if !run.is_empty() {
            let decoded = std::str::from_utf8(&run).map_err(|_| Refusal::Escaped)?;
            let is_plain = |sign| check_sign(sign).is_ok() && !matches!(sign, '.' | '/' | ':' | '%');
            if !decoded.chars().all(is_plain)
                || (decoded.ends_with(char::is_whitespace) && ends_segment(rest))
            {
                return Err(Refusal::Escaped);
            }
            run.clear();
        }
        match rest {
            [] => return Ok(()),
            // `%u002e`, which some servers read
            [b'%', b'u' | b'U', a, b, c, d, ..]
                if [a, b, c, d].iter().all(|digit| digit.is_ascii_hexdigit()) =>
            {
                return Err(Refusal::Escaped);
            }
            [_, after @ ..] => rest = after,
        }
    }
}

fn ends_segment(rest: &[u8]) -> bool {
    matches!(rest, [] | [b'/', ..])
}

/// `%2e` at the front, and what comes after it.
fn escape(text: &[u8]) -> Option<(u8, &[u8])> {
    let [b'%', high, low, after @ ..] = text else { return None };
    let digit = |digit: &u8| char::from(*digit).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
    Some((digit(high)? << 4 | digit(low)?, after))
}

#[cfg(test)]
mod tests {
    use super::{Refusal, check};
    use proptest::prelude::*;
    use unicode_normalization::UnicodeNormalization as _;

    #[test]
    fn honest_paths_are_let_through() {
        for path in [
            "a",
            "a/b.txt",
            "_memory/k",
            "a/..b",
            "a..b/c",
            "a/./b",
            "./a",
            "a//b",
            "a/",
            "100%/a",
            "a%20b",
            "a%C3%BC.txt",
            "50%u",
            "für/ё.md",
            "レポート/ノート.txt",
            "تقرير ٢٠٢٦.pdf",
            "2026-06-01T12:00:00Z.log",
            ".env",
            "a b/c d.md",
            "naïve/e\u{301}.md",
            "日報/丿",
            "👍.png",
        ] {
            assert_eq!(check(path), Ok(()), "{path:?}");
        }
    }

    #[test]
    fn each_way_out_is_refused_with_its_reason() {
        use Refusal::{Backslash, Climbs, Empty, Escaped, Invisible, LookAlike, Rooted, Trailing};
        for (refusal, paths) in [
            (Empty, &[""][..]),
            (Climbs, &["..", "../a", "a/..", "a/../b", "x../y", "a/.. /b", " ../a", "a/\u{2003}../b"]),
            (Rooted, &["/etc/passwd", "//server/share", "C:/x", "c:x", "a/D:/x", "z:"]),
            (Backslash, &["a\\..", "\\\\server\\share", "a\\u002e"]),
            (
                Invisible,
                &[
                    "a\0",
                    "a\n",
                    "a\u{7f}",
                    "a\u{85}",
                    "a/.\u{61c}./x",
                    "a/.\u{34f}./x",
                    "..\u{3164}/y",
                    "a/.\u{200b}./b",
                    "a\u{202e}b",
                    "a\u{ad}b",
                    "a\u{fe0f}",
                    "a\u{feff}",
                    "a\u{2028}b",
                    "a\u{e0001}",
                    "a\u{115f}",
                    "a\u{17b4}",
                    "a\u{180e}",
                    "a\u{2065}",
                    "a\u{ffa0}",
                    "a\u{fff9}",
                    "a\u{ffff}",
                ],
            ),
            (
                LookAlike,
                &[
                    "\u{ff0e}\u{ff0e}/a",
                    "\u{2025}/a",
                    "\u{2024}.\u{ff0f}a",
                    "\u{2026}",
                    "a\u{2044}b",
                    "a\u{2215}b",
                    "a\u{29f8}b",
                    "a\u{ff3c}b",
                    "a\u{fe68}b",
                    "C\u{ff1a}/x",
                    "\u{ff05}2e",
                    "\u{fe6a}2e",
                    "\u{fe52}\u{fe52}/a",
                    "\u{3002}\u{3002}/a",
                    "\u{ff61}",
                    "a\u{2100}",
                    "a\u{2488}",
                    "c\u{2236}/x",
                    "\u{fe19}",
                    "a\u{fe30}",
                ],
            ),
            (
                Escaped,
                &[
                    "%2e%2e/a",
                    "a/%2E%2e",
                    "..%2fa",
                    "%2fetc",
                    "a%5cb",
                    "a%00b",
                    "%252e%252e%252fa",
                    "%25252525252e/a",
                    "%c0%ae%c0%ae%c0%afa",
                    "%e0%80%ae",
                    "%EF%BC%8E%EF%BC%8E/a",
                    "%uff0e%uff0e/x",
                    "%U002e",
                    "%u002F",
                    "a%e2%80%8bb",
                    "%43%3a/x",
                    "a%ff",
                    "a%0a",
                    "a%20",
                    "a%20/b",
                    "a%20%2e",
                ],
            ),
            (Trailing, &["...", "a.", "a./b", "a ", "a /b", "a\u{a0}/b", "a/ /b", "a/...."]),
        ] {
            for path in paths {
                assert_eq!(check(path), Err(refusal), "{path:?}");
            }
        }
    }

    /// What a careless backend may make of a path, one step of it.
    fn careless(path: &str, step: u8) -> String {
        let lossy = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
        match step % 5 {
            0 => path.nfkc().collect(),
            1 => {
                let (mut bytes, mut rest) = (Vec::new(), path.as_bytes());
                while let [first, tail @ ..] = rest {
                    let (byte, after) = super::escape(rest).unwrap_or((*first, tail));
                    bytes.push(byte);
                    rest = after;
                }
                lossy(bytes)
            }
            2 => path
                .chars()
                .filter(|sign| !sign.is_control() && !('\u{200b}'..='\u{200f}').contains(sign))
                .collect(),
            3 => path.replace('\\', "/"),
            _ => path
                .split('/')
                .map(|name| if name == "." { name } else { name.trim_end_matches(['.', ' ']) })
                .collect::<Vec<_>>()
                .join("/"),
        }
    }

    fn leaves(path: &str) -> bool {
        let drive = path.split('/').any(super::has_drive);
        path.starts_with('/') || drive || path.split('/').any(|name| name.trim() == "..")
    }

    fn piece() -> impl Strategy<Value = String> {
        prop_oneof![
            prop::sample::select(vec![
                ".",
                "..",
                "/",
                "\\",
                "%",
                "2e",
                "2f",
                "5c",
                "25",
                "%2e",
                "%2f",
                "u002e",
                "a",
                "C",
                ":",
                " ",
                "\u{ff0e}",
                "\u{2024}",
                "\u{2025}",
                "\u{ff0f}",
                "\u{2044}",
                "\u{200b}",
                "\u{34f}",
                "\u{3164}",
                "%c0%ae",
                "%ef%bc%8e",
                "\u{ff05}",
                "e",
                "\u{301}",
            ])
            .prop_map(str::to_owned),
            any::<char>().prop_map(String::from),
        ]
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 4000, ..ProptestConfig::default() })]

        /// However a backend decodes, normalises, drops or cuts, three times over: what was let through stays inside.
        #[test]
        fn what_is_let_through_stays_inside(pieces in prop::collection::vec(piece(), 1..8), steps in any::<[u8; 3]>()) {
            let path = pieces.concat();
            if check(&path).is_ok() {
                let mut form = path.clone();
                prop_assert!(!leaves(&form), "{path:?}");
                for step in steps {
                    form = careless(&form, step);
                    prop_assert!(!leaves(&form), "{path:?} became {form:?}");
                }
            }
        }

        /// A hidden sign inside of a path is a reason to refuse it, wherever it stands.
        #[test]
        fn no_format_character_gets_in(before in "[a-z]{0,4}", after in "[a-z]{1,4}", sign in "[\\p{Cf}\\p{Cc}\\p{Zl}\\p{Zp}]") {
            prop_assert_eq!(check(&format!("{before}{sign}{after}")), Err(Refusal::Invisible));
        }
    }
}
