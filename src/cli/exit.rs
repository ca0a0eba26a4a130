//! The exit codes of every command, in one place: what a script or a CI job branches on.

use std::fmt::Write as _;

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub(crate) enum ExitCode {
    /// The answer is yes.
    Yes = 0,
    /// The command could not do its work.
    Unusable = 1,
    /// The answer is no.
    No = 2,
    /// A manifest or an expression is not valid.
    Invalid = 3,
    /// There is no answer yet.
    Undecided = 4,
}

const MEANINGS: [(ExitCode, &str); 5] = [
    (ExitCode::Yes, "yes: valid, allowed, passed"),
    (
        ExitCode::Unusable,
        "the command could not do its work: wrong arguments, unreadable file, impossible step; a test failed",
    ),
    (ExitCode::No, "no: blocked, locked, terminated, a test is broken"),
    (ExitCode::Invalid, "a manifest or an expression is not valid"),
    (ExitCode::Undecided, "not decided yet: a review is pending"),
];

impl ExitCode {
    /// The table for `--help`.
    pub(crate) fn help() -> String {
        let mut text = "Exit codes:".to_owned();
        for (code, meaning) in MEANINGS {
            let _ = write!(text, "\n  {}  {meaning}", code as u8);
        }
        text
    }
}
