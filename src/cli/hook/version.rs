//! Version of Claude Code that hooks are installed for.
//!
//! In: the program. Out: its version, and what is to be said about it: `onFailure` exists since 2.1.295, and without it an action goes ahead where a hook fails.

use std::fmt;
use std::io::Read as _;
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// A version of Claude Code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Version(u32, u32, u32);

/// The first version in which a failing hook can refuse.
pub(super) const FIRST_FAIL_CLOSED: Version = Version(2, 1, 295);

/// The version whose events and settings the tables list.
pub(super) const TRIED: Version = Version(2, 1, 332);

/// The longest that a program takes to say its version.
const PATIENCE: Duration = Duration::from_secs(15);

/// How often the program is looked at.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// The longest output that is read.
const MOST_BYTES: u64 = 4_096;

impl Version {
    /// Reads `2.1.332 (Claude Code)`.
    fn parse(text: &str) -> Option<Self> {
        let word = text.split_whitespace().next()?;
        let mut numbers = word.split(['.', '-', '+']).map(|number| number.parse().ok());
        Some(Self(numbers.next()??, numbers.next()??, numbers.next()??))
    }

    /// The version of a program; nothing if it cannot be started, takes too long or says something else.
    pub(super) fn of(program: &str) -> Option<Self> {
        let mut command = Command::new(program);
        command.arg("--version").stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().ok()?;
        let begun = Instant::now();
        while child.try_wait().ok()?.is_none() {
            if begun.elapsed() > PATIENCE {
                let _ = child.kill();
                let _ = child.wait();
                return None;
            }
            sleep(LOOK_EVERY);
        }
        let mut text = String::new();
        child.stdout.take()?.take(MOST_BYTES).read_to_string(&mut text).ok()?;
        Self::parse(&text)
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.0, self.1, self.2)
    }
}

#[cfg(test)]
mod tests {
    use super::{FIRST_FAIL_CLOSED, Version};

    #[test]
    fn versions_are_read_and_compared() {
        for (text, expected) in [
            ("2.1.332 (Claude Code)\n", Some(Version(2, 1, 332))),
            ("2.1.295", Some(Version(2, 1, 295))),
            ("2.2.0-rc.1 (Claude Code)", Some(Version(2, 2, 0))),
            ("Claude Code 2.1.332", None),
            ("2.1", None),
            ("", None),
        ] {
            assert_eq!(Version::parse(text), expected, "{text}");
        }
        assert!(Version(2, 1, 294) < FIRST_FAIL_CLOSED && Version(2, 0, 999) < FIRST_FAIL_CLOSED);
        assert!(Version(2, 2, 0) > FIRST_FAIL_CLOSED && Version(2, 1, 1000) > FIRST_FAIL_CLOSED);
    }
}
