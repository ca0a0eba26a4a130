//! What a terminal is sent: colours where there is one, and text that cannot steer it.

/// The text with its control characters escaped, so that a value of a task cannot move the cursor or hide a line.
#[must_use]
pub fn visible(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        if c.is_control() { shown.extend(c.escape_default()) } else { shown.push(c) }
    }
    shown
}

/// Escape sequences, all of them empty where there is no terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Palette {
    /// Good: allowed, expected.
    pub green: &'static str,
    /// Bad: blocked, failed.
    pub red: &'static str,
    /// Neither: waiting, doubtful.
    pub yellow: &'static str,
    /// For important text.
    pub bold: &'static str,
    /// For text that may be skipped.
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

#[cfg(test)]
mod tests {
    use super::visible;

    #[test]
    fn nothing_steers_the_terminal() {
        assert_eq!(visible("a\u{1b}[2Jb\n"), "a\\u{1b}[2Jb\\n");
    }
}
