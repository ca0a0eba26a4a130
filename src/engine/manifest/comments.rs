//! The comments of a file that speak to celador, found as YAML finds comments.
//!
//! In: a source. Out: its comments that begin with `celador:`, each with the line that it speaks of, and the lines of the
//! keys of texts that go over several lines. `#` inside a quoted or a block scalar begins no comment; so the parser that
//! reads the documents is asked, in a walk of its own: most files have no such comment, and are read as before. Linear.

use crate::limits::EngineLimits;
use crate::lint::{Comment, Comments};
use crate::source::{Place, Source, Span};
use granit_parser::{Event, Marker, Parser};

/// The word by which a comment speaks to celador.
const MARK: &str = "celador:";

/// The comments of a source that speak to celador; none if there are none.
pub(crate) fn comments(source: &Source, limits: &EngineLimits) -> Option<Comments> {
    if source.text().len() > limits.max_manifest_bytes || !source.text().contains(MARK) {
        return None;
    }
    let nesting = limits.max_yaml_depth.saturating_add(1);
    let options = granit_parser::options! {
        emit_comments: true,
        emit_unresolved_aliases: true,
        // the text itself is bounded
        max_buffered_comment_events: usize::MAX,
        flow_nesting_limit: nesting,
        block_nesting_limit: nesting,
    };
    let mut parser = Parser::new_from_str_with_options(source.text(), options);
    let mut walk = Walk { source, found: Vec::new(), scalars: Vec::new(), open: Vec::new(), key_line: 0 };
    while let Some(event) = parser.next_event() {
        match event {
            Ok((event, at)) => walk.add(&event, Span::new(offset(&at.start), offset(&at.end))),
            Err(_) => {
                walk.open.clear();
                if !parser.proceed_next_document().unwrap_or(false) {
                    break;
                }
            }
        }
    }
    let Walk { found, scalars, .. } = walk;
    let mut comments = Vec::new();
    // below a comment that stands alone come others, or what all of them speak of
    let mut below = (0, 0);
    for (span, alone) in found.into_iter().rev() {
        let own = line(source, span);
        let mut speaks_of = own;
        if alone {
            let next = own.saturating_add(1);
            speaks_of = if below.0 == next { below.1 } else { next };
            below = (own, speaks_of);
        }
        let text = source.slice(span).strip_prefix('#').and_then(|text| text.trim_start().strip_prefix(MARK));
        let comment =
            |text: &str| Comment { place: Place::new(source, span), text: text.into(), line: speaks_of };
        comments.extend(text.map(comment));
    }
    comments.reverse();
    (!comments.is_empty()).then(|| Comments { source: source.clone(), comments, scalars })
}

struct Walk<'s> {
    source: &'s Source,
    /// Comments, and whether nothing else stands on their line.
    found: Vec<(Span, bool)>,
    scalars: Vec<(Span, usize)>,
    /// The collections that are open: for a mapping, whether the next node is a key.
    open: Vec<Option<bool>>,
    /// The line of the last key.
    key_line: usize,
}

impl Walk<'_> {
    fn add(&mut self, event: &Event<'_>, span: Span) {
        match event {
            Event::Comment(..) => {
                let before = self.source.text().get(..span.range().start).unwrap_or_default();
                let indent = before.rsplit('\n').next().unwrap_or_default();
                self.found.push((span, indent.chars().all(char::is_whitespace)));
            }
            Event::Scalar(..) => {
                let begins = line(self.source, span);
                let ends = self.source.position(span.end).line;
                match self.open.last() {
                    Some(Some(true)) => self.key_line = begins,
                    Some(Some(false)) if begins != self.key_line || ends != begins => {
                        self.scalars.push((span, self.key_line));
                    }
                    // an item of a list, or a document: it begins where its text does
                    _ if ends != begins => self.scalars.push((span, begins)),
                    _ => {}
                }
                self.node();
            }
            Event::Alias(_) | Event::UnresolvedAlias(_) => self.node(),
            Event::MappingStart(..) => self.open.push(Some(true)),
            Event::SequenceStart(..) => self.open.push(None),
            Event::MappingEnd | Event::SequenceEnd => {
                self.open.pop();
                self.node();
            }
            Event::DocumentEnd => self.open.clear(),
            _ => {}
        }
    }

    /// A node is finished: behind a key comes its value, behind a value the next key.
    fn node(&mut self) {
        if let Some(Some(key)) = self.open.last_mut() {
            *key = !*key;
        }
    }
}

fn line(source: &Source, span: Span) -> usize {
    source.position(span.start).line
}

fn offset(marker: &Marker) -> usize {
    marker.byte_offset().unwrap_or_default()
}
