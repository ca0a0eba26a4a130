//! Resolution of one URL by the WHATWG's URL standard.

use std::sync::LazyLock;
use url::{ParseError, Url};

/// The page that a relative URL is resolved against. No other URL has this host.
static BASE: LazyLock<Option<Url>> = LazyLock::new(|| Url::parse("https://relative.invalid/").ok());

/// The URL, its scheme and its host. Nothing for a place in the page itself (`#below`).
pub(super) fn resolve(written: &str) -> Option<(String, String, String)> {
    let trimmed = written.trim_matches(|letter: char| letter <= ' ');
    if trimmed.is_empty() || trimmed.starts_with('#') {
        return None;
    }
    Some(match Url::parse(trimmed) {
        Ok(url) => parts(&url),
        Err(ParseError::RelativeUrlWithoutBase) => relative(trimmed),
        // no browser reads it, another program might
        Err(_) => unreadable(trimmed),
    })
}

fn relative(written: &str) -> (String, String, String) {
    let Some(base) = BASE.as_ref() else { return unreadable(written) };
    match base.join(written) {
        Ok(url) if url.host_str() == base.host_str() => (written.to_owned(), String::new(), String::new()),
        Ok(url) => parts(&url),
        Err(_) => unreadable(written),
    }
}

fn parts(url: &Url) -> (String, String, String) {
    (url.to_string(), url.scheme().to_owned(), url.host_str().unwrap_or_default().to_owned())
}

fn unreadable(written: &str) -> (String, String, String) {
    let scheme = written.split_once(':').map(|(scheme, _)| scheme.to_ascii_lowercase());
    (written.to_owned(), scheme.unwrap_or_default(), String::new())
}
