//! What an author most likely did where YAML breaks off: expressions hold signs that YAML reads first.
//!
//! In: a text, the byte at which its reading ended, and the parser's reason. Out: a [`Cause`], if reason and line agree on
//! one, and the escape that double quotes do not know. A reason alone is not enough, as a line that is indented wrongly
//! ends in the same ones. Linear in the line, or in the quoted text.

use crate::source::{Embedded, Place, Span};
use granit_parser::ErrorKind;

/// Why the text is not the YAML that its author meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cause {
    /// `: ` in a text without quotes, such as the end of `a ? b : c`.
    Colon,
    /// A text that begins with `{` or `[`, or holds them between brackets of YAML.
    Bracket,
    /// A text that begins with `!`.
    Tag,
    /// A text that begins with a quoted part: YAML takes the part for the whole.
    Quote,
    /// `\` in double quotes, before a sign that makes no escape of YAML.
    Escape,
}

/// The cause of this error at this byte, if there is a usual one.
pub(super) fn cause(text: &str, at: usize, error: &ErrorKind) -> Option<Cause> {
    match error {
        ErrorKind::UnknownQuotedScalarEscape => return Some(Cause::Escape),
        ErrorKind::InvalidTrailingSingleQuotedScalar | ErrorKind::InvalidTrailingDoubleQuotedScalar => {
            return Some(Cause::Quote);
        }
        _ => {}
    }
    let (before, rest) = text.split_at_checked(at)?;
    let start = before.rfind(['\n', '\r']).map_or(0, |end| end.saturating_add(1));
    let before = before.get(start..)?;
    let written = before.trim_start_matches(['-', ' ']);
    // what stands behind the first key of the line; without a key the line goes on with the text of the one above
    let value = written.split_once(": ").map(|(_, value)| value.trim_start());
    let (value, rest) = (value.filter(|value| !value.starts_with('#')), rest.trim_start());
    match error {
        ErrorKind::MappingValueNotAllowed => {
            let question = written.starts_with("? ") || written.contains(" ? ");
            (value.is_some() || question).then_some(Cause::Colon)
        }
        ErrorKind::ExpectedBlockMappingKey if rest.starts_with(": ") => Some(Cause::Colon),
        ErrorKind::ExpectedBlockMappingKey => {
            value.filter(|value| value.starts_with(['{', '['])).map(|_| Cause::Bracket)
        }
        ErrorKind::ExpectedFlowMappingSeparator | ErrorKind::ExpectedFlowSequenceSeparator => {
            match rest.chars().next() {
                Some(':') => Some(Cause::Colon),
                Some('{' | '[') => Some(Cause::Bracket),
                _ => None,
            }
        }
        ErrorKind::InvalidTagTerminator | ErrorKind::InvalidBlockScalarHeader => {
            let value = value.filter(|value| !value.is_empty()).unwrap_or(rest);
            value.starts_with('!').then_some(Cause::Tag)
        }
        _ => None,
    }
}

/// The comment behind a text without quotes, on its last line.
pub(crate) fn comment_behind(text: &Embedded) -> Option<Place> {
    let Place { source, span } = &text.place;
    if source.slice(*span).starts_with(['\'', '"', '|', '>']) {
        return None;
    }
    let end = span.range().end;
    let rest = source.text().get(end..)?.lines().next()?;
    let comment = rest.trim_start();
    let start = end.saturating_add(rest.len().saturating_sub(comment.len()));
    let whole = Span::new(start, start.saturating_add(comment.trim_end().len()));
    comment.starts_with('#').then(|| Place::new(source, whole))
}

/// The rest of a text that YAML took for a comment: `#5` is a number more likely than a remark, and `#{` a placeholder.
pub(super) fn cut_off(text: &Embedded) -> Option<Place> {
    let comment = comment_behind(text)?;
    let second = comment.source.slice(comment.span).chars().nth(1)?;
    (second.is_ascii_digit() || second == '{').then_some(comment)
}

/// The first unknown escape of the double-quoted text that begins at this byte.
pub(super) fn unknown_escape(text: &str, at: usize) -> Option<Span> {
    const ESCAPED: &str = "0abt\tnvfre \"/\\N_LPxuU\r\n";
    let mut characters = text.get(at..)?.char_indices();
    while let Some((offset, character)) = characters.next() {
        if character != '\\' {
            continue;
        }
        let (end, escaped) = characters.next()?;
        if !ESCAPED.contains(escaped) {
            let end = at.saturating_add(end).saturating_add(escaped.len_utf8());
            return Some(Span::new(at.saturating_add(offset), end));
        }
    }
    None
}
