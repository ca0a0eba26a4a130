//! Where things stand: named texts, byte spans, lines and columns.
//!
//! Every layer above speaks of places in these terms and none other, which is why they live at the bottom:
//! a diagnostic of the YAML loader, of the CEL checker and of a running step point into a file the same way.
//! Offsets are bytes, always on character boundaries; lines and columns are for people, one-based, in characters.

use serde::{Deserialize, Serialize};
use std::ops::Range;
use std::sync::Arc;

/// A half-open range of bytes in one [`Source`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Span {
    /// The first byte, from 0.
    pub start: u32,
    /// One past the last byte.
    pub end: u32,
}

impl Span {
    /// The span of `start..end`; an end before the start is taken as empty at the start.
    #[must_use]
    pub fn new(start: usize, end: usize) -> Self {
        let start = u32::try_from(start).unwrap_or(u32::MAX);
        let end = u32::try_from(end).unwrap_or(u32::MAX);
        Self { start, end: end.max(start) }
    }

    /// The smallest span that holds both.
    #[must_use]
    pub fn to(self, other: Self) -> Self {
        Self { start: self.start.min(other.start), end: self.end.max(other.end) }
    }

    /// Whether the other one lies in it.
    #[must_use]
    pub fn contains(self, other: Self) -> bool {
        self.start <= other.start && other.end <= self.end
    }

    /// The span as a range of indices.
    #[must_use]
    pub fn range(self) -> Range<usize> {
        self.start as usize..self.end as usize
    }
}

/// A line and a column, both one-based, the column in characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Position {
    /// The line, from 1.
    pub line: usize,
    /// The column, from 1, in characters.
    pub column: usize,
}

/// A named text. Cheap to clone; two clones are the same source.
#[derive(Clone, Debug)]
pub struct Source(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    name: String,
    text: String,
    /// The offset of the first byte of each line.
    lines: Vec<u32>,
}

impl Source {
    /// A source called `name` (a path, or a word such as `expression`). Linear in the text.
    #[must_use]
    pub fn new(name: impl Into<String>, text: impl Into<String>) -> Self {
        let text = text.into();
        let starts = text.bytes().enumerate().filter(|&(_, byte)| byte == b'\n');
        let lines = std::iter::once(0)
            .chain(starts.map(|(at, _)| u32::try_from(at.saturating_add(1)).unwrap_or(u32::MAX)))
            .collect();
        Self(Arc::new(Inner { name: name.into(), text, lines }))
    }

    /// The name as given.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.0.name
    }

    /// The whole text.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.0.text
    }

    /// The characters of a span, or nothing if the span is not of this source.
    #[must_use]
    pub fn slice(&self, span: Span) -> &str {
        self.0.text.get(span.range()).unwrap_or_default()
    }

    /// The line and column of a byte offset; an offset past the end is the end. Logarithmic in the lines.
    #[must_use]
    pub fn position(&self, offset: u32) -> Position {
        let line = self.0.lines.partition_point(|&start| start <= offset);
        let start = self.0.lines.get(line.saturating_sub(1)).copied().unwrap_or_default();
        let end = (offset as usize).min(self.0.text.len());
        let column = self.0.text.get(start as usize..end).map_or(0, |before| before.chars().count());
        Position { line, column: column.saturating_add(1) }
    }

    /// Whether both are the very same source, not merely equal texts.
    #[must_use]
    pub fn same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

/// A span in a source: the whole answer to "where".
#[derive(Clone, Debug)]
pub struct Place {
    /// The text.
    pub source: Source,
    /// The characters in it.
    pub span: Span,
}

impl Place {
    /// The place of `span` in `source`.
    #[must_use]
    pub fn new(source: &Source, span: Span) -> Self {
        Self { source: source.clone(), span }
    }

    /// The line and column of the first character.
    #[must_use]
    pub fn position(&self) -> Position {
        self.source.position(self.span.start)
    }
}

impl std::fmt::Display for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Position { line, column } = self.position();
        write!(f, "{}:{line}:{column}", self.source.name())
    }
}

/// A text that was read out of a file (a scalar of a YAML document), with the way back from each of its bytes.
///
/// A folded or escaped scalar differs from its characters in the file, so an offset into the value is not an
/// offset into the file. `Embedded` keeps the runs in which they go side by side.
#[derive(Clone, Debug)]
pub struct Embedded {
    /// The text as a program sees it.
    pub text: Arc<str>,
    /// The file it stands in, and the characters there, quotes included.
    pub place: Place,
    /// `(offset in the text, offset in the file)`, ascending: where a run of equal characters begins.
    runs: Arc<[(u32, u32)]>,
}

impl Embedded {
    /// A text whose run starts are known, ascending in both parts.
    #[must_use]
    pub fn new(text: impl Into<Arc<str>>, place: Place, runs: impl Into<Arc<[(u32, u32)]>>) -> Self {
        Self { text: text.into(), place, runs: runs.into() }
    }

    /// A text that is its own file: an expression of the command line, a template of a caller.
    #[must_use]
    pub fn alone(name: &str, text: &str) -> Self {
        let source = Source::new(name, text);
        let place = Place { span: Span::new(0, text.len()), source };
        Self { text: text.into(), place, runs: [(0, 0)].into() }
    }

    /// The place in the file of a span of the text.
    #[must_use]
    pub fn locate(&self, span: Span) -> Place {
        let start = self.offset(span.start);
        let end = if span.end > span.start {
            self.offset(span.end.saturating_sub(1)).saturating_add(1)
        } else {
            start
        };
        Place { source: self.place.source.clone(), span: Span { start, end: end.max(start) } }
    }

    /// A part of the text, with the way back of its own. Empty if the span is none of the text's.
    ///
    /// ```
    /// use celador_cel::source::{Embedded, Span};
    ///
    /// let text = Embedded::alone("message", "{5000 - x} is left");
    /// let part = text.part(Span::new(1, 9));
    /// assert_eq!(&*part.text, "5000 - x");
    /// assert_eq!(part.locate(Span::new(7, 8)).span, Span::new(8, 9));
    /// ```
    #[must_use]
    pub fn part(&self, span: Span) -> Self {
        let first = (0, self.offset(span.start));
        let within = self.runs.iter().filter(|(text, _)| span.start < *text && *text < span.end);
        let rest = within.map(|(text, file)| (text.saturating_sub(span.start), *file));
        let runs: Vec<_> = std::iter::once(first).chain(rest).collect();
        let text = self.text.get(span.range()).unwrap_or_default();
        Self { text: text.into(), place: self.locate(span), runs: runs.into() }
    }

    /// Where runs of equal characters begin: `(offset in the text, offset in the file)`, ascending.
    #[must_use]
    pub fn runs(&self) -> &[(u32, u32)] {
        &self.runs
    }

    fn offset(&self, offset: u32) -> u32 {
        let run = self.runs.partition_point(|&(text, _)| text <= offset);
        match self.runs.get(run.saturating_sub(1)) {
            Some(&(text, file)) => file.saturating_add(offset.saturating_sub(text)),
            None => self.place.span.start,
        }
    }
}
