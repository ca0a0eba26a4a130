//! URLs in style sheets: `url(…)`, `@import "…"`, `image-set("…")`.

use super::{Links, text};
use crate::cel::Fault;
use regex::Regex;
use std::sync::LazyLock;

/// A quoted text, or what stands in the brackets of `url` and `src`.
static VALUE: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r#"(?is)"([^"]*)"|'([^']*)'|(?:url|src)\(\s*["']?([^"')]*)"#).ok());

/// Adds the URLs of a style sheet, or of a `style` attribute. Comments and escapes (`u\72l(`) are read as browsers read them, and not
/// at all: either may show a URL.
pub(super) fn read(style: &str, links: &mut Links) -> Result<(), Fault> {
    let style = without_comments(style);
    let unescaped = unescape(&style);
    for reading in [&style, &unescaped] {
        let found = VALUE.iter().flat_map(|value| value.captures_iter(reading));
        for captures in found {
            let value = (1..=3).find_map(|group| captures.get(group)).map_or("", |value| value.as_str());
            // a quoted text is no URL in `content` and in names of fonts
            if captures.get(3).is_some() || value.contains(['/', '\\', ':']) {
                links.resolve(value, "style", true)?;
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
            read.extend(letters.next().filter(|next| *next != '\n'));
        } else {
            read.extend(u32::from_str_radix(&digits, 16).ok().and_then(char::from_u32));
            letters.next_if(|next| next.is_ascii_whitespace());
        }
    }
    read
}
