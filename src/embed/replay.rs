//! Recorded steps judged anew: a part of a recording in, a tally out, so that any engine for large data can divide the work.
//!
//! In: policies, and lines of recorded steps as `celador replay` reads them. Out: a tally as JSON; tallies add up. Lines of one task belong into one part.

use crate::sources::{Purpose, Sources};
use crate::{Error, Host, Mode, Source};
use celador::EngineLimits;
use celador::replay::{Recorded, Replayer, Tally};
use serde_json::Value;
use std::fs::File;
use std::io::{BufRead, BufReader, Read as _};
use std::path::Path;
use std::sync::Arc;

/// Judges lines of a recording under policies, and compares with others or with what was recorded.
#[derive(Debug)]
pub struct Replaying {
    replayer: Replayer,
    limits: EngineLimits,
    lines: u64,
}

impl Replaying {
    /// Opens the policies, and those to compare with, if there are any. Functions of the host are called anew: they are pure.
    ///
    /// # Errors
    /// Policies that are refused, and paths that cannot be read.
    pub fn open(policies: &[Source], against: &[Source], host: &Host) -> Result<Self, Error> {
        let limits = EngineLimits::default();
        let engine = |sources: &[Source]| {
            let sources = Sources::open(sources, Mode::Enforce, Purpose::Deciding(host), limits)?;
            Ok::<_, Error>(Arc::new(sources.engine))
        };
        let mut replayer = Replayer::new(engine(policies)?);
        if !against.is_empty() {
            replayer = replayer.against(engine(against)?);
        }
        Ok(Self { replayer, limits, lines: 0 })
    }

    /// Judges a line; one without anything in it is passed over.
    ///
    /// # Errors
    /// A line that is no recorded step.
    pub fn line(&mut self, line: &[u8]) -> Result<(), Error> {
        self.lines = self.lines.saturating_add(1);
        if line.iter().all(u8::is_ascii_whitespace) {
            return Ok(());
        }
        let recorded = Recorded::parse(line, &self.limits)
            .map_err(|error| Error::misuse("no_recorded_step", format!("line {}: {error}", self.lines)))?;
        self.replayer.step(&recorded);
        Ok(())
    }

    /// Judges the lines of a file, a line at a time.
    ///
    /// # Errors
    /// A file that cannot be read, and a line that is no recorded step.
    pub fn file(&mut self, path: &Path) -> Result<(), Error> {
        let unreadable = |error: std::io::Error| {
            Error::misuse("unreadable", format!("cannot read `{}`: {error}", path.display()))
        };
        let most = u64::try_from(self.limits.eval.max_json_bytes).unwrap_or(u64::MAX).saturating_add(1);
        let mut lines = BufReader::with_capacity(1 << 18, File::open(path).map_err(unreadable)?);
        let mut line = Vec::new();
        self.lines = 0;
        loop {
            line.clear();
            if lines.by_ref().take(most).read_until(b'\n', &mut line).map_err(unreadable)? == 0 {
                return Ok(());
            }
            self.line(&line).map_err(|error| Error {
                message: format!("`{}`: {}", path.display(), error.message),
                ..error
            })?;
        }
    }

    /// The tally: `decisions`, `tasks`, `flips`, `not_judged`, `rows`.
    #[must_use]
    pub fn tally(self) -> Value {
        self.replayer.into_tally().to_json()
    }
}

/// The tally of a whole recording out of those of its parts, each as JSON.
///
/// # Errors
/// What is no tally.
pub fn add_tallies<'t>(tallies: impl IntoIterator<Item = &'t str>) -> Result<Value, Error> {
    let mut whole = Tally::default();
    for tally in tallies {
        let part = Tally::from_json(tally)
            .map_err(|error| Error::misuse("no_tally", format!("this is no tally of a replay: {error}")))?;
        whole.add(&part);
    }
    Ok(whole.to_json())
}
