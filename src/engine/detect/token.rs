//! Tokens, keys and passwords: what a pattern cannot say of them.
//!
//! In: a candidate that has the shape of one. Out: its place, if its parts or the mixture of its characters make it one.

use super::kind::{after, before};
use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use std::ops::Range;

/// A JSON Web Token: its first part is an object that names an algorithm.
pub(super) fn jwt(text: &str, candidate: Range<usize>, found: &mut dyn FnMut(Range<usize>)) {
    let token = text.get(candidate.clone()).unwrap_or_default();
    let header = token.split('.').next().unwrap_or_default();
    let header = BASE64_URL_SAFE_NO_PAD.decode(header).unwrap_or_default();
    let header: Option<serde_json::Value> = serde_json::from_slice(&header).ok();
    if header.is_some_and(|header| header.get("alg").is_some() || header.get("enc").is_some()) {
        found(candidate);
    }
}

/// The password in an address of the form `scheme://user:password@host`; the mark stands in its place, the rest stays.
pub(super) fn url_password(text: &str, candidate: Range<usize>, found: &mut dyn FnMut(Range<usize>)) {
    let address = text.get(candidate.clone()).unwrap_or_default();
    let user = address.find("://").and_then(|at| at.checked_add(3)).unwrap_or_default();
    let password = address
        .get(user..)
        .and_then(|rest| rest.find(':'))
        .map(|at| user.saturating_add(at).saturating_add(1));
    if let Some(password) = password {
        found(candidate.start.saturating_add(password)..candidate.end.saturating_sub(1));
    }
}

/// What stands behind a name with a separator: `AccountKey=…`. The mark stands in its place, the name stays.
pub(super) fn assigned(text: &str, candidate: Range<usize>, found: &mut dyn FnMut(Range<usize>)) {
    let assignment = text.get(candidate.clone()).unwrap_or_default();
    let value = assignment
        .trim_end_matches('=')
        .rfind(['=', ':', ' ', '"', '\''])
        .map_or(0, |at| at.saturating_add(1));
    found(candidate.start.saturating_add(value)..candidate.end);
}

/// A key that a single short prefix marks: with digits and letters in it, and with no word before.
pub(super) fn mixed(text: &str, candidate: Range<usize>, found: &mut dyn FnMut(Range<usize>)) {
    let key = text.get(candidate.clone()).unwrap_or_default();
    let digits = key.bytes().filter(u8::is_ascii_digit).count();
    let inside_a_word = before(text, candidate.start).is_some_and(|it| it.is_alphanumeric() || it == '-');
    if digits >= 2 && !inside_a_word {
        found(candidate);
    }
}

/// Letters of one line of a key that count as such where its end is missing.
const KEY_LINE: usize = 16;

/// A private key between its two lines. One whose end is missing ends with its last line that looks like a key's, or with its first
/// line: nobody can say what a key that is cut off there had behind it.
pub(super) fn private_key(text: &str, candidate: Range<usize>, found: &mut dyn FnMut(Range<usize>)) {
    let key = text.get(candidate.clone()).unwrap_or_default();
    if key.contains("-----END ") {
        found(candidate);
        return;
    }
    let Some(body) = key.get(5..).and_then(|rest| rest.find("-----")).and_then(|at| at.checked_add(10))
    else {
        return;
    };
    let is_blank = |letter: char| letter.is_whitespace() || matches!(letter, '\\' | '"' | '\'' | ',');
    let mut end = None;
    for line in key.get(body..).unwrap_or_default().split(is_blank) {
        let at = line.as_ptr().addr().saturating_sub(key.as_ptr().addr());
        // the `n` of a line break that is written `\n`
        let line = line.strip_prefix('n').unwrap_or(line).trim_start_matches('r');
        let is_key =
            line.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'='));
        if is_key && line.len() >= KEY_LINE {
            end = Some(at.saturating_add(line.len()).saturating_add(1).min(key.len()));
        } else if !line.is_empty() && end.is_some() {
            break;
        }
    }
    found(candidate.start..candidate.start.saturating_add(end.unwrap_or(body).min(key.len())));
}

/// Bits for each character that chance has and words have not.
const MIXED_BITS: f64 = 3.7;
const HEX_BITS: f64 = 3.0;
/// Hexadecimal digits of the shortest key.
const HEX_KEY: usize = 32;

/// A long word of letters of both cases and digits, or of hexadecimal digits, that looks made by chance (Shannon's entropy).
pub(super) fn high_entropy(text: &str, candidate: Range<usize>, found: &mut dyn FnMut(Range<usize>)) {
    let word = text.get(candidate.clone()).unwrap_or_default();
    let has = |is: fn(&u8) -> bool| word.bytes().any(|byte| is(&byte));
    let mixture = has(u8::is_ascii_digit) && has(u8::is_ascii_lowercase) && has(u8::is_ascii_uppercase);
    let hex =
        word.len() >= HEX_KEY && word.bytes().all(|byte| byte.is_ascii_hexdigit()) && has(u8::is_ascii_digit);
    let bits = entropy(word);
    let goes_on = after(text, candidate.end).is_some_and(char::is_alphanumeric);
    if !goes_on && ((mixture && bits >= MIXED_BITS) || (hex && bits >= HEX_BITS)) {
        found(candidate);
    }
}

/// Bits that each byte of a word carries.
#[expect(clippy::cast_precision_loss, reason = "a word has far fewer than 2^53 bytes")]
fn entropy(word: &str) -> f64 {
    let mut counts = [0_u32; 256];
    for byte in word.bytes() {
        if let Some(count) = counts.get_mut(usize::from(byte)) {
            *count = count.saturating_add(1);
        }
    }
    let length = word.len().max(1) as f64;
    let shares = counts.iter().filter(|count| **count > 0).map(|count| f64::from(*count) / length);
    shares.map(|share| -share * share.log2()).sum()
}
