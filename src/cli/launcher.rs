//! How this program is started again: what hooks are written down with.

#![cfg_attr(not(feature = "server"), expect(dead_code, reason = "hooks alone start it again"))]

use std::ffi::OsString;
use std::path::PathBuf;

/// A program, and the words that it takes ahead of those of the command.
#[derive(Clone, Debug)]
pub struct Launcher {
    program: PathBuf,
    ahead: Vec<String>,
}

impl Launcher {
    /// A program that brings the command along, such as an interpreter of another language with the name of a module.
    ///
    /// ```
    /// use celador_cli::{Launcher, run_by};
    ///
    /// let python = Launcher::new("/usr/bin/python3".into(), ["-m", "celador"].map(Into::into).into());
    /// assert_eq!(run_by(Some(python), ["celador", "limits", "--format", "json"].map(Into::into)), 0);
    /// ```
    #[must_use]
    pub const fn new(program: PathBuf, ahead: Vec<String>) -> Self {
        Self { program, ahead }
    }

    /// This process itself; nothing if the system does not say where it came from.
    pub(super) fn own() -> Option<Self> {
        Some(Self::new(std::env::current_exe().ok()?, Vec::new()))
    }
}

/// How this process was started: by whom, and with which words.
pub(super) struct Started {
    launcher: Option<Launcher>,
    words: Vec<OsString>,
}

impl Started {
    /// `arguments` begin with the name of the program.
    pub(super) fn new(launcher: Option<Launcher>, arguments: &[OsString]) -> Self {
        Self { launcher, words: arguments.iter().skip(1).cloned().collect() }
    }

    /// What starts the program with these words: a program and its arguments; nothing if nobody knows.
    pub(super) fn with(&self, words: Vec<String>) -> Option<(String, Vec<String>)> {
        let Launcher { program, ahead } = self.launcher.as_ref()?;
        Some((program.display().to_string(), [ahead.clone(), words].concat()))
    }

    /// What started this process. A word that is no text is not told apart from others of this kind.
    pub(super) fn again(&self) -> Option<(String, Vec<String>)> {
        self.with(self.words.iter().map(|word| word.to_string_lossy().into_owned()).collect())
    }
}
