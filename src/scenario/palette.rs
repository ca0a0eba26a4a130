//! The colours of reports: escape sequences for a terminal, nothing elsewhere.

/// Escape sequences, all of them empty where there is no terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Palette {
    /// Good: allowed, expected.
    pub green: &'static str,
    /// Bad: blocked, failed.
    pub red: &'static str,
    /// Neither: waiting, doubtful.
    pub yellow: &'static str,
    /// What matters.
    pub bold: &'static str,
    /// What may be skipped.
    pub dim: &'static str,
    /// Back to plain text.
    pub reset: &'static str,
}

impl Palette {
    /// No colours.
    pub const PLAIN: Self = Self { green: "", red: "", yellow: "", bold: "", dim: "", reset: "" };

    /// The colours of a terminal.
    pub const COLORED: Self = Self {
        green: "\x1b[32m",
        red: "\x1b[31m",
        yellow: "\x1b[33m",
        bold: "\x1b[1m",
        dim: "\x1b[2m",
        reset: "\x1b[0m",
    };

    /// Whether there are colours.
    #[must_use]
    pub fn is_colored(&self) -> bool {
        !self.reset.is_empty()
    }
}
