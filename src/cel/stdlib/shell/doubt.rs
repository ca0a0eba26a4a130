//! The reasons for which a line is refused, each with the words that an author reads.
//!
//! A line is read only if every shell of the family gives it one meaning and nothing has to run first. Everything else is a
//! doubt, and a doubt is an error: a guard that guessed would let by whatever it guessed wrong.

use crate::fault::Fault;

/// A reason to refuse a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Doubt {
    /// A control character, or the sign that stands for bytes that were no text.
    Unreadable,
    /// A blank that some systems take for one and others for a letter.
    Blank,
    /// A quote that is not closed, or a backslash at the end.
    Unfinished,
    /// `$x`, `$(…)`, backticks, `$'…'`.
    Expansion,
    /// `*`, `?`, `[…]`, `{a,b}`.
    Pattern,
    /// `~/x`.
    Home,
    /// `!x`, which a shell at a terminal replaces.
    History,
    /// `if`, `for`, `[[`, `time` and the others.
    Reserved,
    /// `f() { …; }`, `((1 + 1))`.
    Bracket,
    /// `<<EOF`, `<<<word`, `<(…)`, `>(…)`.
    InlineInput,
    /// `12>x`, `>&file`.
    Descriptor,
    /// `a=(…)`, `a+=b`.
    Assignment,
    /// `eval`, `source`, `trap`, `alias`, `shopt`.
    Code,
    /// Words and signs in an order that no shell takes.
    Order,
    /// A file that is read or written, where only words were asked for.
    File,
    /// A variable that is set, where only words were asked for.
    Variable,
}

impl Doubt {
    /// The lines that would be accepted, in words.
    const fn accepted(self) -> &'static str {
        match self {
            Self::Unreadable => "a line without control characters, tabs and line ends apart",
            Self::Blank => "a line with no blanks outside of quotes but spaces, tabs and line ends",
            Self::Unfinished => "a line whose quotes are closed, and that does not end in a backslash",
            Self::Expansion => "a line with `$` and backticks in single quotes only",
            Self::Pattern => "a line with `*`, `?`, `[` and braces in quotes only",
            Self::Home => "a line without `~` where the shell replaces it",
            Self::History => "a line without `!` where a shell at a terminal replaces it",
            Self::Reserved => "a line of plain commands, without `if`, `for` and other reserved words",
            Self::Bracket => "a line without functions and `((`",
            Self::InlineInput => "a line without `<<`, `<(` and `>(`",
            Self::Descriptor => {
                "a line whose redirections have one digit in front at most, and a stream behind `>&` and `<&`"
            }
            Self::Assignment => "a line that sets variables by `NAME=value` only",
            Self::Code => "a line without `eval`, `source`, `trap`, `alias`, `shopt` and `set -k`",
            Self::Order => "a line that the shell can read",
            Self::File => {
                "a line that redirects to no file but `/dev/null`; `shell.parse` shows the files of others"
            }
            Self::Variable => "a line that sets no variable; `shell.parse` shows the variables of others",
        }
    }
}

impl From<Doubt> for Fault {
    fn from(doubt: Doubt) -> Self {
        Self::refused(doubt.accepted())
    }
}
