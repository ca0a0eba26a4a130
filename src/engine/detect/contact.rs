//! Addresses of people and machines: e-mail, telephone, IP and MAC.
//!
//! In: a candidate that has the shape of one. Out: its place, cut to what belongs to it, if it is one.

use super::kind::{after, before};
use core::net::{Ipv4Addr, Ipv6Addr};
use std::ops::Range;

/// Last parts of names of files that look like a domain: `icon@2x.png`. None of them is a top-level domain.
const FILES: [&str; 10] = ["css", "gif", "html", "jpeg", "jpg", "js", "json", "png", "svg", "webp"];

/// An address as RFC 5321 has them, unless it is the name of a file.
pub(super) fn email(text: &str, candidate: Range<usize>, found: &mut dyn FnMut(Range<usize>)) {
    let domain =
        text.get(candidate.clone()).and_then(|address| address.rsplit('.').next()).unwrap_or_default();
    let is_file = FILES.iter().any(|end| end.eq_ignore_ascii_case(domain));
    if !is_file && !is_login(text, &candidate) {
        found(candidate);
    }
}

/// How far from an address it is looked whether the address is a login, in bytes: so that a long text takes time in proportion to its length.
const LOGIN: usize = 256;

/// The end of a text, from its last [`LOGIN`] bytes on.
fn nearest(text: &str) -> &str {
    let start = text.len().saturating_sub(LOGIN);
    (start..text.len()).find_map(|start| text.get(start..)).unwrap_or(text)
}

/// Whether a candidate is a user and a host: of a URL (`https://user@host/`), of a path on another machine (`kim@host:group/project`), or of a
/// repository (`git@host`).
fn is_login(text: &str, candidate: &Range<usize>) -> bool {
    let user = text.get(candidate.clone()).and_then(|address| address.split('@').next());
    if user.is_some_and(|user| user.eq_ignore_ascii_case("git")) {
        return true;
    }
    let ahead = text.get(..candidate.start).unwrap_or_default();
    let behind = text.get(candidate.end..).unwrap_or_default();
    let behind = (0..LOGIN.min(behind.len())).rev().find_map(|end| behind.get(..=end)).unwrap_or_default();
    let is_path = |rest: &str| {
        let path = rest.split(|letter: char| {
            letter.is_whitespace() || matches!(letter, '"' | '\'' | ',' | ';' | ')' | '<' | '>')
        });
        path.into_iter().next().is_some_and(|path| {
            path.starts_with(['~', '.', '/']) || path.contains('/') || path.ends_with(".git")
        })
    };
    // the name of the user may stand ahead of the candidate: `user:` of `user:password@host`
    let word = nearest(ahead)
        .rsplit(|letter: char| letter.is_whitespace() || matches!(letter, '"' | '\'' | '(' | '<'))
        .next();
    let has_scheme = word.and_then(|word| word.split_once("://")).is_some_and(|(scheme, user)| {
        scheme.ends_with(|letter: char| letter.is_ascii_alphabetic())
            && user
                .chars()
                .all(|letter| letter.is_alphanumeric() || matches!(letter, ':' | '.' | '_' | '~' | '+' | '-'))
    });
    has_scheme || behind.strip_prefix(':').is_some_and(is_path)
}

/// Digits of a number with its country's code (ITU-T E.164).
const E164: Range<usize> = 7..16;
/// Digits of a number that begins with `00` in place of the plus sign.
const DIALLED: Range<usize> = 10..18;
/// Digits of a number of North America, with or without the code of its country.
const NATIONAL: Range<usize> = 10..12;

/// A number in its international form, or of North America where its parts are set apart. Groups of digits behind it that would make
/// it too long are not of it.
pub(super) fn phone(text: &str, candidate: Range<usize>, found: &mut dyn FnMut(Range<usize>)) {
    let number = text.get(candidate.clone()).unwrap_or_default();
    let lengths = match number.as_bytes() {
        [b'+', ..] => E164,
        [b'0', ..] => DIALLED,
        _ => NATIONAL,
    };
    let sign = before(text, candidate.start);
    let number_before = || {
        let sign = candidate.start.saturating_sub(sign.map_or(0, char::len_utf8));
        before(text, sign).is_some_and(|letter| letter.is_ascii_digit())
    };
    // `03:45:00 978…` goes on with a number, and so do `1.555.…` and `12-555-…`
    let glued = sign.is_some_and(|sign| match sign {
        ':' | '.' | ',' | '-' | '/' => lengths != E164 && number_before(),
        sign => sign.is_alphanumeric() || sign == '+',
    });
    let mut end = None;
    let mut digits = 0_usize;
    for (at, letter) in number.char_indices() {
        let behind = candidate.start.saturating_add(at).saturating_add(letter.len_utf8());
        digits = digits.saturating_add(usize::from(letter.is_ascii_digit()));
        let group_ends =
            letter.is_ascii_digit() && !after(text, behind).is_some_and(|next| next.is_ascii_digit());
        if group_ends && lengths.contains(&digits) {
            end = Some(behind);
        }
    }
    if let Some(end) = end.filter(|_| !glued) {
        found(candidate.start..end);
    }
}

/// Four numbers of a byte each, or eight groups of hexadecimal digits with at most one gap.
pub(super) fn ip(text: &str, candidate: Range<usize>, found: &mut dyn FnMut(Range<usize>)) {
    let glued = before(text, candidate.start).is_some_and(char::is_alphanumeric)
        || after(text, candidate.end).is_some_and(char::is_alphanumeric);
    let address = text.get(candidate.clone()).unwrap_or_default();
    // the full stop or colon behind it is the sentence's
    let address = if address.ends_with("::") { address } else { address.trim_end_matches(['.', ':']) };
    let end = candidate.start.saturating_add(address.len());
    // a leading zero is doubtful, and counts
    let bytes: Vec<Option<u8>> = address.split('.').map(|byte| byte.parse().ok()).collect();
    let four =
        matches!(*bytes, [Some(a), Some(b), Some(c), Some(d)] if !Ipv4Addr::new(a, b, c, d).is_unspecified());
    let groups = address.parse::<Ipv6Addr>().is_ok_and(|address| !address.is_unspecified());
    let has_digit = address.bytes().any(|byte| byte.is_ascii_digit());
    if !glued && (four || (groups && has_digit)) {
        found(candidate.start..end);
    }
}

/// Six bytes in hexadecimal with one sign between them.
pub(super) fn mac(text: &str, candidate: Range<usize>, found: &mut dyn FnMut(Range<usize>)) {
    let goes_on = |letter: Option<char>| letter.is_some_and(|it| it.is_ascii_alphanumeric() || it == ':');
    let signs = text.get(candidate.clone()).unwrap_or_default();
    let mut signs = signs.chars().filter(|sign| !sign.is_ascii_hexdigit());
    let first = signs.next();
    let alike = signs.all(|sign| Some(sign) == first);
    if alike && !goes_on(before(text, candidate.start)) && !goes_on(after(text, candidate.end)) {
        found(candidate);
    }
}
