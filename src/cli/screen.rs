//! Where a command writes: standard output for its product, standard error for what kept it from giving one.
//!
//! In: text for people or JSON for programs, as `--format` says. It promises that a closed pipe ends the output and
//! nothing else: the command goes on to its exit code. Colours only where a terminal reads, unless `--color` says.

use super::messages;
use celador::diagnostic::Diagnostic;
use celador::scenario::Palette;
use clap::ValueEnum;
use serde_json::{Value, json};
use std::io::{self, BufWriter, ErrorKind, IsTerminal as _, StdoutLock, Write};

/// For whom the output is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// Text for people.
    Human,
    /// JSON for programs: one object a line.
    Json,
}

/// When to use colours.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Color {
    /// On a terminal, unless `NO_COLOR` is set.
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

/// Where a command writes.
pub(crate) struct Screen {
    format: Format,
    out: BufWriter<StdoutLock<'static>>,
    palette: Palette,
    error_palette: Palette,
    closed: bool,
}

impl Screen {
    pub(crate) fn new(format: Format, color: Color) -> Self {
        let stdout = io::stdout().lock();
        Self {
            format,
            palette: palette(color, stdout.is_terminal()),
            error_palette: palette(color, io::stderr().is_terminal()),
            out: BufWriter::new(stdout),
            closed: false,
        }
    }

    pub(crate) fn format(&self) -> Format {
        self.format
    }

    /// The colours of standard output.
    pub(crate) fn palette(&self) -> Palette {
        self.palette
    }

    /// Writes text to standard output, as it is.
    pub(crate) fn text(&mut self, text: &str) -> io::Result<()> {
        self.bytes(text.as_bytes())
    }

    /// Writes a line to standard output.
    pub(crate) fn line(&mut self, text: &str) -> io::Result<()> {
        self.text(text)?;
        self.bytes(b"\n")
    }

    /// Writes a JSON object to standard output, as one line that says by `type` what it is.
    pub(crate) fn json(&mut self, kind: &str, value: Value) -> io::Result<()> {
        self.line(&tagged(kind, value).to_string())
    }

    /// Writes a diagnostic to standard output.
    pub(crate) fn diagnostic(&mut self, diagnostic: &Diagnostic) -> io::Result<()> {
        match self.format {
            Format::Human => {
                let text = diagnostic.render(self.palette.is_colored());
                self.line(&text)?;
                if let Some(standing) = messages::standing(diagnostic) {
                    self.line(&standing)?;
                }
                self.line("")
            }
            Format::Json => self.json("diagnostic", diagnostic.to_json()),
        }
    }

    /// Writes diagnostics to standard error: what keeps the command from giving what it is for.
    pub(crate) fn complain(&mut self, diagnostics: &[Diagnostic]) {
        let colored = self.error_palette.is_colored();
        for diagnostic in diagnostics {
            self.error_line(&match self.format {
                Format::Human => {
                    let standing = messages::standing(diagnostic).map(|standing| format!("{standing}\n"));
                    format!("{}\n{}", diagnostic.render(colored), standing.unwrap_or_default())
                }
                Format::Json => tagged("diagnostic", diagnostic.to_json()).to_string(),
            });
        }
    }

    /// Writes to standard error what is left out or else worth a word, on one line and without signs that a terminal obeys.
    pub(crate) fn note(&mut self, message: &str) {
        let message: String = message.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
        let Palette { bold, reset, .. } = self.error_palette;
        self.error_line(&match self.format {
            Format::Human => format!("{bold}note{reset}: {message}"),
            Format::Json => tagged("note", json!({ "message": message })).to_string(),
        });
    }

    /// Writes an error to standard error.
    pub(crate) fn error(&mut self, message: &str) {
        let Palette { red, bold, reset, .. } = self.error_palette;
        self.error_line(&match self.format {
            Format::Human => format!("{red}{bold}error{reset}: {message}"),
            Format::Json => tagged("error", json!({ "message": message })).to_string(),
        });
    }

    /// Standard error may be closed as well; then there is nobody left to tell.
    fn error_line(&mut self, text: &str) {
        let _ = self.flush();
        let _ = writeln!(io::stderr().lock(), "{text}");
    }

    /// Sends what is written on its way.
    pub(crate) fn flush(&mut self) -> io::Result<()> {
        let flushed = self.out.flush();
        self.still_open(flushed)
    }

    pub(crate) fn bytes(&mut self, bytes: &[u8]) -> io::Result<()> {
        if self.closed {
            return Ok(());
        }
        let written = self.out.write_all(bytes);
        self.still_open(written)
    }

    fn still_open(&mut self, written: io::Result<()>) -> io::Result<()> {
        match written {
            Err(error) if error.kind() == ErrorKind::BrokenPipe => {
                self.closed = true;
                Ok(())
            }
            other => other,
        }
    }
}

fn palette(color: Color, terminal: bool) -> Palette {
    let unwanted = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    let colored = match color {
        Color::Auto => terminal && !unwanted,
        Color::Always => true,
        Color::Never => false,
    };
    if colored { Palette::COLORED } else { Palette::PLAIN }
}

fn tagged(kind: &str, mut value: Value) -> Value {
    if let Some(object) = value.as_object_mut() {
        object.insert("type".to_owned(), kind.into());
    }
    value
}
