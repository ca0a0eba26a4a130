//! URLs in plain text, which programs turn into links.

use super::Links;
use crate::cel::Fault;
use linkify::{LinkFinder, LinkKind};

/// Letters of a scheme.
const MAX_SCHEME_LETTERS: usize = 20;

/// The part of a URL that is read.
const MAX_URL_LETTERS: usize = 2_048;

/// Adds the URLs of a text. One without a scheme counts if it begins with `www.` or has a path: `example.com/a`.
pub(super) fn read(text: &str, from: &str, is_fetched: bool, links: &mut Links) -> Result<(), Fault> {
    let mut finder = LinkFinder::new();
    finder.kinds(&[LinkKind::Url]);
    finder.url_must_have_scheme(false);
    for link in finder.links(text) {
        let url = link.as_str();
        if has_scheme(url) {
            links.resolve(url, from, is_fetched)?;
        } else if is_linked(url) {
            links.resolve(&format!("http://{url}"), from, is_fetched)?;
        }
    }
    // what programs take for a URL beyond that: a scheme and any host (`http://2130706433/`), and `//evil.test/x` after a blank or a sign
    for (at, _) in text.match_indices("//") {
        let ahead = text.get(..at).unwrap_or_default();
        let scheme = ahead.strip_suffix(':').map(|ahead| {
            let letters =
                ahead.chars().rev().take(MAX_SCHEME_LETTERS).take_while(char::is_ascii_alphanumeric);
            letters.count().saturating_add(1)
        });
        let before = ahead.chars().next_back();
        let is_start = before.is_none_or(|letter| {
            !letter.is_alphanumeric() && !matches!(letter, '/' | '\\' | ':' | '.' | '_' | '-')
        });
        let from_scheme = scheme.filter(|letters| *letters > 1);
        if !is_start && from_scheme.is_none() {
            continue;
        }
        let rest = text.get(at.saturating_sub(from_scheme.unwrap_or_default())..).unwrap_or_default();
        let ends = |letter: char| {
            letter.is_whitespace() || matches!(letter, '<' | '>' | '"' | '\'' | ')' | ']' | '}')
        };
        let length =
            rest.chars().take(MAX_URL_LETTERS).take_while(|letter| !ends(*letter)).map(char::len_utf8).sum();
        let url = rest.get(..length).unwrap_or_default();
        let host = url.split_once("//").map_or("", |(_, host)| host);
        if host.starts_with(char::is_alphanumeric) && (from_scheme.is_some() || host.contains('.')) {
            links.resolve(url.trim_end_matches(['.', ',', ';', ':', '!', '?', ']']), from, is_fetched)?;
        }
    }
    Ok(())
}

fn has_scheme(url: &str) -> bool {
    url.split_once("://").is_some_and(|(scheme, _)| {
        scheme.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.'))
    })
}

fn is_linked(url: &str) -> bool {
    let begins_with_www = url.get(..4).is_some_and(|start| start.eq_ignore_ascii_case("www."));
    begins_with_www || url.contains(['/', '?'])
}
