//! Why a text is not a pattern.

use std::fmt::{self, Write};
use std::ops::Range;

/// A rejected pattern: the reason and its place.
///
/// ```
/// let error = celador_cel::re2::parse(r"^a\Z").unwrap_err();
/// assert_eq!(error.span, 2..4);
/// assert_eq!(error.to_string(), r"at character 3, expected an escape of RE2's syntax, found `\Z`");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct SyntaxError {
    /// The reason.
    pub kind: SyntaxErrorKind,
    /// The bytes of the pattern that the reason is about.
    pub span: Range<usize>,
    /// The number of the first of these characters, from 1.
    pub character: usize,
    /// These characters; empty at the end of the pattern.
    pub found: String,
}

/// The reason why a pattern is rejected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SyntaxErrorKind {
    /// `[a`
    OpenClass,
    /// `(a`
    OpenGroup,
    /// `a)`
    UnopenedGroup,
    /// A backslash at the end.
    TrailingBackslash,
    /// `\Z`, `\1`, `\x{}`
    Escape,
    /// `\C`
    Byte,
    /// `[z-a]`
    ReversedRange,
    /// `[[:letter:]]`
    PosixClass,
    /// `\p{greek}`
    Property,
    /// `*a`
    NothingToRepeat,
    /// `a**`
    RepeatedRepetition,
    /// `a{1001}`, `a{3,2}`
    RepetitionSize,
    /// `(?=a)`
    LookAround,
    /// `(?x)`
    GroupFlag,
    /// `(?P<a-b>c)`
    GroupName,
    /// Nested beyond [`MAX_NESTING`](super::MAX_NESTING).
    Nesting,
}

/// Most characters of the pattern that a message repeats.
const MAX_FOUND: usize = 24;

impl SyntaxError {
    pub(super) fn new(kind: SyntaxErrorKind, pattern: &str, span: Range<usize>) -> Self {
        let before = pattern.get(..span.start).unwrap_or_default();
        let found = pattern.get(span.clone()).unwrap_or_default();
        let character = before.chars().count().saturating_add(1);
        Self { kind, found: found.to_owned(), span, character }
    }

    /// What to write instead.
    #[must_use]
    pub fn help(&self) -> &'static str {
        match (self.kind, self.found.as_str()) {
            (SyntaxErrorKind::Escape, r"\Z") => r"write `\z` for the end of the text",
            (SyntaxErrorKind::Escape, r"\G" | r"\K" | r"\X" | r"\R") => "RE2 has no such assertion or class",
            (SyntaxErrorKind::Escape, r"\h") => r"write `[ \t]`",
            (SyntaxErrorKind::Escape, r"\u") => r"write `\x{…}` with the number of the character",
            (SyntaxErrorKind::Escape, r"\e") => r"write `\x1b`",
            (SyntaxErrorKind::Escape, found) if found.starts_with(r"\x") => {
                r"write `\x` and two hexadecimal digits, or `\x{…}` up to `\x{10FFFF}`"
            }
            (SyntaxErrorKind::Escape, found) if found.ends_with(|last: char| last.is_ascii_digit()) => {
                "RE2 has no back references; an octal number has at least two digits"
            }
            (SyntaxErrorKind::GroupFlag, "(?>") => "RE2 has no atomic groups",
            (SyntaxErrorKind::GroupFlag, "(?P=") => "RE2 has no back references",
            (SyntaxErrorKind::GroupFlag, "(?#") => "RE2 has no comments",
            (kind, _) => kind.help(),
        }
    }
}

impl SyntaxErrorKind {
    /// What was expected at the place.
    #[must_use]
    pub const fn expected(self) -> &'static str {
        match self {
            Self::OpenClass => "a class that ends with `]`",
            Self::OpenGroup => "a group that ends with `)`",
            Self::UnopenedGroup => "a `)` that ends a group",
            Self::TrailingBackslash => r"a character after `\`",
            Self::Escape => "an escape of RE2's syntax",
            Self::Byte => "a character",
            Self::ReversedRange => "a range whose first character is not after its last",
            Self::PosixClass => "a class of POSIX such as `[:alpha:]`",
            Self::Property => "a general category or script of Unicode",
            Self::NothingToRepeat => "a character or group before the repetition",
            Self::RepeatedRepetition => "one repetition",
            Self::RepetitionSize => {
                "a repetition of at most 1000 times in all, whose first bound is not above its last"
            }
            Self::LookAround => "a group without look-around",
            Self::GroupFlag => "`(?:`, `(?P<name>` or flags among `imsU`",
            Self::GroupName => "a name of letters, digits and `_`",
            Self::Nesting => "groups and repetitions at most 100 deep",
        }
    }

    const fn help(self) -> &'static str {
        match self {
            Self::OpenClass => r"write `\[` for the character",
            Self::OpenGroup => r"write `\(` for the character",
            Self::UnopenedGroup => r"write `\)` for the character",
            Self::TrailingBackslash => r"write `\\` for the character",
            Self::Escape => r"letters with a meaning after `\` are `A B D P Q S W a b d f n p r s t v w x z`",
            Self::Byte => r"a match does not split characters: write `(?s:.)` for any of them",
            Self::ReversedRange => {
                "write the lesser character first, and a `-` for the character at the end of the class"
            }
            Self::PosixClass => {
                "they are alnum, alpha, ascii, blank, cntrl, digit, graph, lower, print, punct, space, upper, word and xdigit"
            }
            Self::Property => r"write `\pL`, `\p{Lu}` or `\p{Greek}`, with capitals as Unicode has them",
            Self::NothingToRepeat => r"write a backslash before it for the character, as in `\*`",
            Self::RepeatedRepetition => {
                "RE2 has no possessive repetition; write `(?:a*)*` to repeat a repetition"
            }
            Self::RepetitionSize => "compare `size(text)` where the length of the text is meant",
            Self::LookAround => "RE2 has no look-around; ask two questions with `&&` or `||`",
            Self::GroupFlag => r"write `\(` and `\?` for the characters",
            Self::GroupName => "name the group as in `(?P<user_id>…)`",
            Self::Nesting => "write fewer groups",
        }
    }
}

impl fmt::Display for SyntaxError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "at character {}, expected {}, found ", self.character, self.kind.expected())?;
        if self.found.is_empty() {
            return f.write_str("the end of the pattern");
        }
        let mut rest = self.found.chars();
        f.write_str("`")?;
        for char in rest.by_ref().take(MAX_FOUND) {
            if char.is_control() { write!(f, "{}", char.escape_unicode())? } else { f.write_char(char)? }
        }
        f.write_str(if rest.next().is_some() { "…`" } else { "`" })
    }
}
