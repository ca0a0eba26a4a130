//! Scalars: their types by the core schema, and the way back from each byte of a value into the file.
//!
//! In: a value as YAML reads it, its style and its characters in the file. Out: [`Data`] and the runs of an [`Embedded`].
//! The runs are found by walking value and file side by side: what folding, escapes and indentation changed is what
//! separates two runs. An escape stands at its last character, so that a span which ends with it is whole. Linear.

use super::node::Data;
use crate::source::{Embedded, Place, Source, Span};
use granit_parser::ScalarStyle;

/// A text with the way back into the file; `span` are its characters there, quotes included.
pub(super) fn embed(source: &Source, style: ScalarStyle, value: &str, span: Span) -> Embedded {
    let mut runs = Runs::default();
    let raw = source.slice(span);
    let mut place = span;
    match style {
        ScalarStyle::Plain => flow(&mut runs, value, raw, span.range().start, style),
        ScalarStyle::SingleQuoted | ScalarStyle::DoubleQuoted => {
            let inside = raw.get(1..raw.len().saturating_sub(1)).unwrap_or_default();
            flow(&mut runs, value, inside, span.range().start.saturating_add(1), style);
        }
        ScalarStyle::Literal | ScalarStyle::Folded => {
            block(&mut runs, value, source.text(), span);
            place = Span::new(span.range().start, span.range().start.saturating_add(raw.trim_end().len()));
        }
    }
    Embedded::new(value, Place::new(source, place), runs.starts)
}

/// The type of a plain scalar by YAML's core schema; `text` is what it is if it is a text.
pub(super) fn resolve(text: Embedded) -> Data {
    match &*text.text {
        "" | "~" | "null" | "Null" | "NULL" => Data::Null,
        "true" | "True" | "TRUE" => Data::Bool(true),
        "false" | "False" | "FALSE" => Data::Bool(false),
        word => number(word).unwrap_or(Data::String(text)),
    }
}

/// A number of the core schema. A whole number beyond 64 bits is a float, as in JSON (CEL-40).
pub(super) fn number(word: &str) -> Option<Data> {
    if let Some(digits) = word.strip_prefix("0x") {
        return i64::from_str_radix(digits, 16)
            .ok()
            .filter(|_| !digits.starts_with(['+', '-']))
            .map(Data::Int);
    }
    if let Some(digits) = word.strip_prefix("0o") {
        return i64::from_str_radix(digits, 8)
            .ok()
            .filter(|_| !digits.starts_with(['+', '-']))
            .map(Data::Int);
    }
    let unsigned = word.strip_prefix(['+', '-']).unwrap_or(word);
    match unsigned {
        ".inf" | ".Inf" | ".INF" if word.starts_with('-') => return Some(Data::Float(f64::NEG_INFINITY)),
        ".inf" | ".Inf" | ".INF" => return Some(Data::Float(f64::INFINITY)),
        ".nan" | ".NaN" | ".NAN" if unsigned == word => return Some(Data::Float(f64::NAN)),
        _ => {}
    }
    let (mantissa, exponent) = match unsigned.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, Some(exponent.strip_prefix(['+', '-']).unwrap_or(exponent))),
        None => (unsigned, None),
    };
    let is_digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let is_mantissa = match mantissa.split_once('.') {
        Some((whole, "")) => is_digits(whole),
        Some(("", fraction)) => is_digits(fraction),
        Some((whole, fraction)) => is_digits(whole) && is_digits(fraction),
        None => is_digits(mantissa),
    };
    if !is_mantissa || !exponent.is_none_or(is_digits) {
        return None;
    }
    if is_digits(unsigned)
        && let Ok(value) = word.parse()
    {
        return Some(Data::Int(value));
    }
    word.parse().ok().map(Data::Float)
}

/// Where runs begin, ascending: `(offset in the value, offset in the file)`.
#[derive(Default)]
struct Runs {
    starts: Vec<(u32, u32)>,
}

impl Runs {
    /// The byte at `value` stands at `file`. A byte that only goes on side by side with the last run needs no entry.
    fn at(&mut self, value: usize, file: usize) {
        let Span { start: value, .. } = Span::new(value, value);
        let Span { start: file, .. } = Span::new(file, file);
        let goes_on = self
            .starts
            .last()
            .is_some_and(|&(text, begin)| begin.saturating_add(value.saturating_sub(text)) == file);
        if !goes_on {
            self.starts.push((value, file));
        }
    }
}

/// Walks a plain or quoted scalar; `raw` is what stands between the quotes, from `start` on.
fn flow(runs: &mut Runs, value: &str, raw: &str, start: usize, style: ScalarStyle) {
    // as most are: nothing in it is folded or escaped
    if raw == value {
        if !value.is_empty() {
            runs.at(0, start);
        }
        return;
    }
    let mut value = value.char_indices();
    let mut at = 0_usize;
    while let Some(rest) = raw.get(at..).filter(|rest| !rest.is_empty()) {
        let file = start.saturating_add(at);
        let blanks = rest.len().saturating_sub(rest.trim_start_matches([' ', '\t', '\r', '\n']).len());
        let breaks = rest.get(..blanks).map(breaks).unwrap_or_default();
        let piece = match rest.chars().next() {
            _ if !breaks.is_empty() => {
                // One break is a space; of several, all but the first are kept.
                let kept = if breaks.len() == 1 { &breaks } else { breaks.get(1..).unwrap_or_default() };
                for offset in kept {
                    let Some((text, _)) = value.next() else { return };
                    runs.at(text, file.saturating_add(*offset));
                }
                blanks
            }
            Some('\\') if style == ScalarStyle::DoubleQuoted => match escape(rest) {
                Escape::Break { length, kept } => {
                    for offset in kept {
                        let Some((text, _)) = value.next() else { return };
                        runs.at(text, file.saturating_add(offset));
                    }
                    length
                }
                Escape::Character { length } => {
                    let Some((text, character)) = value.next() else { return };
                    let last = file.saturating_add(length).saturating_sub(1);
                    if character.len_utf8() > 1 {
                        runs.at(text, file);
                    }
                    runs.at(text.saturating_add(character.len_utf8()).saturating_sub(1), last);
                    length
                }
            },
            Some('\'') if style == ScalarStyle::SingleQuoted => {
                let Some((text, _)) = value.next() else { return };
                runs.at(text, file.saturating_add(1));
                2
            }
            Some(character) => {
                let Some((text, _)) = value.next() else { return };
                runs.at(text, file);
                character.len_utf8()
            }
            None => return,
        };
        at = at.saturating_add(piece);
    }
}

/// What a backslash begins.
enum Escape {
    /// A line that goes on: `length` bytes with the blanks behind, and the offsets of the breaks that are kept.
    Break { length: usize, kept: Vec<usize> },
    /// One character, in `length` bytes.
    Character { length: usize },
}

fn escape(rest: &str) -> Escape {
    let digits = |count: usize| Escape::Character { length: count.saturating_add(2) };
    match rest.chars().nth(1) {
        Some('\r' | '\n') => {
            let behind = rest.strip_prefix('\\').unwrap_or(rest);
            let blanks =
                behind.len().saturating_sub(behind.trim_start_matches([' ', '\t', '\r', '\n']).len());
            let all = behind.get(..blanks).map(breaks).unwrap_or_default();
            let kept = all.iter().skip(1).map(|offset| offset.saturating_add(1)).collect();
            Escape::Break { length: blanks.saturating_add(1), kept }
        }
        Some('x') => digits(2),
        Some('u') => {
            let first = rest.get(2..6).and_then(|hex| u32::from_str_radix(hex, 16).ok()).unwrap_or_default();
            let pair = (0xD800..0xDC00).contains(&first)
                && rest.get(6..).is_some_and(|next| next.starts_with("\\u"));
            digits(if pair { 10 } else { 4 })
        }
        Some('U') => digits(8),
        Some(character) => Escape::Character { length: character.len_utf8().saturating_add(1) },
        None => Escape::Character { length: 1 },
    }
}

/// The offsets of the line breaks of a text.
fn breaks(text: &str) -> Vec<usize> {
    let mut last = None;
    let mut offsets = Vec::new();
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'\n' if last == Some(b'\r') => {}
            b'\n' | b'\r' => offsets.push(at),
            _ => {}
        }
        last = Some(byte);
    }
    offsets
}

/// Walks a literal or folded scalar; its span begins with its first character that is no indentation.
fn block(runs: &mut Runs, value: &str, text: &str, span: Span) {
    if value.trim_start_matches('\n').is_empty() {
        // Nothing but empty lines: there is no character to point at.
        return;
    }
    let start = span.range().start;
    let before = text.get(..start).unwrap_or_default();
    let line_start = before.rfind(['\n', '\r']).map_or(0, |at| at.saturating_add(1));
    let indent = start.saturating_sub(line_start);
    let mut at = leading_breaks(runs, value, before.get(..line_start).unwrap_or_default());
    let mut pending: Vec<usize> = Vec::new();
    let mut indented = true;
    for line in lines(text.get(span.range()).unwrap_or_default()) {
        let spaces = line.text.len().saturating_sub(line.text.trim_start_matches(' ').len());
        let skipped = if indented { 0 } else { indent.min(spaces) };
        indented = false;
        let content = line.text.get(skipped..).unwrap_or_default();
        if !content.is_empty() {
            at = between(runs, value, at, &pending);
            pending.clear();
            if !value.get(at..).is_some_and(|rest| rest.starts_with(content)) {
                return;
            }
            runs.at(at, start.saturating_add(line.start).saturating_add(skipped));
            at = at.saturating_add(content.len());
        }
        pending.extend(line.end.map(|end| start.saturating_add(end)));
    }
    let rest = value.get(at..).unwrap_or_default();
    for ((offset, _), file) in rest.char_indices().zip(pending) {
        runs.at(at.saturating_add(offset), file);
    }
}

/// Maps the breaks that a value begins with: empty lines between the header and the first line. Gives their number.
fn leading_breaks(runs: &mut Runs, value: &str, mut before: &str) -> usize {
    let count = value.len().saturating_sub(value.trim_start_matches('\n').len());
    let mut found = Vec::new();
    for _ in 0..count {
        before = before.strip_suffix('\n').map_or(before, |rest| rest.strip_suffix('\r').unwrap_or(rest));
        found.push(before.len());
        let line_start = before.rfind('\n').map_or(0, |at| at.saturating_add(1));
        before = before.get(..line_start).unwrap_or_default();
    }
    for (at, file) in found.into_iter().rev().enumerate() {
        runs.at(at, file);
    }
    count
}

/// Maps what stands in a value between two lines: a space for a folded break, or breaks, the last of those in the file.
/// Gives the offset behind.
fn between(runs: &mut Runs, value: &str, at: usize, pending: &[usize]) -> usize {
    let Some(&last) = pending.last() else { return at };
    let rest = value.get(at..).unwrap_or_default();
    if rest.starts_with(' ') && pending.len() == 1 {
        runs.at(at, last);
        return at.saturating_add(1);
    }
    let count = rest.bytes().take_while(|&byte| byte == b'\n').count().min(pending.len());
    for (offset, file) in pending.iter().skip(pending.len().saturating_sub(count)).enumerate() {
        runs.at(at.saturating_add(offset), *file);
    }
    at.saturating_add(count)
}

/// A line with its offset and that of its break.
struct Line<'a> {
    text: &'a str,
    start: usize,
    end: Option<usize>,
}

fn lines(text: &str) -> impl Iterator<Item = Line<'_>> {
    let mut next = Some(0_usize);
    std::iter::from_fn(move || {
        let start = next?;
        let rest = text.get(start..)?;
        let Some(length) = rest.find(['\n', '\r']) else {
            next = None;
            return Some(Line { text: rest, start, end: None });
        };
        let end = start.saturating_add(length);
        let pair = text.get(end..).is_some_and(|rest| rest.starts_with("\r\n"));
        next = Some(end.saturating_add(if pair { 2 } else { 1 }));
        Some(Line { text: rest.get(..length)?, start, end: Some(end) })
    })
}
