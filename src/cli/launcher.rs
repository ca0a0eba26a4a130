//! How this program is started again: what hooks are written down with.

#![cfg_attr(not(feature = "server"), expect(dead_code, reason = "hooks alone start it again"))]

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

/// How this process was started.
pub(super) struct Started {
    launcher: Option<Launcher>,
}

impl Started {
    pub(super) fn new(launcher: Option<Launcher>) -> Self {
        Self { launcher }
    }

    /// What starts the program with these words: a program and its arguments; nothing if nobody knows.
    pub(super) fn with(&self, words: Vec<String>) -> Option<(String, Vec<String>)> {
        let Launcher { program, ahead } = self.launcher.as_ref()?;
        Some((program.display().to_string(), [ahead.clone(), words].concat()))
    }
}
