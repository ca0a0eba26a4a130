//! URLs in style sheets: `url(…)`, `@import "…"`, `image-set("…")`.

use super::{Links, text};
use crate::cel::Fault;
use indexmap::IndexSet;
use regex::Regex;
use std::sync::LazyLock;

/// A quoted text.
static QUOTED: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r#"(?s)"([^"]*)"|'([^']*)'"#).ok());

/// The content of the brackets of `url` and `src`.
static FUNCTION: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r#"(?is)(?:url|src)\(\s*["']?([^"')]*)"#).ok());

/// Adds the URLs of a style sheet, or of a `style` attribute. Comments and escapes (`u\72l(`) are read as browsers read them, and as
/// any other text: `"/*"` begins no comment.
pub(super) fn read(style: &str, links: &mut Links) -> Result<(), Fault> {
    let mut readings = IndexSet::from([style.to_owned(), without_comments(style)]);
    readings.extend(readings.clone().iter().map(|reading| unescape(reading)));
    for reading in &readings {
        for (pattern, is_function) in [(&FUNCTION, true), (&QUOTED, false)] {
            for captures in pattern.iter().flat_map(|pattern| pattern.captures_iter(reading)) {
                let groups = captures.iter().skip(1);
                let value = groups.flatten().next().map_or("", |value| value.as_str());
                // a quoted text is no URL in `content` and in names of fonts
                if is_function || value.contains(['/', '\\', ':']) {
                    links.resolve(value, "style", true)?;
                }
            }
        }
        text::read(reading, "style", true, links)?;
    }
    Ok(())
}

fn without_comments(style: &str) -> String {
    let mut kept = String::with_capacity(style.len());
    let mut rest = style;
    while let Some((before, comment)) = rest.split_once("/*") {
        kept.push_str(before);
        rest = comment.split_once("*/").map_or("", |(_, after)| after);
    }
    kept.push_str(rest);
    kept
}

/// Replaces escapes: up to six hexadecimal digits and a blank, or any other character for itself.
fn unescape(style: &str) -> String {
    let mut read = String::with_capacity(style.len());
    let mut letters = style.chars().peekable();
    while let Some(letter) = letters.next() {
        if letter != '\\' {
            read.push(letter);
            continue;
        }
        let mut digits = String::new();
        while let Some(digit) = letters.next_if(|next| digits.len() < 6 && next.is_ascii_hexdigit()) {
            digits.push(digit);
        }
        if digits.is_empty() {
            // an escaped line end is left out
            match letters.next() {
                Some('\r') => drop(letters.next_if_eq(&'\n')),
                other => read.extend(other.filter(|letter| !matches!(letter, '\n' | '\x0c'))),
            }
        } else {
            read.extend(u32::from_str_radix(&digits, 16).ok().and_then(char::from_u32));
            letters.next_if(|next| next.is_ascii_whitespace());
        }
    }
    read
}
