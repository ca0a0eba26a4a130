//! A kind of what is looked for, as a row of data.

use std::ops::Range;

/// A kind of personal data or of secrets.
///
/// ```
/// use celador::detect::{Kind, PII};
///
/// let Kind { name, about, .. } = PII.iter().find(|kind| kind.name == "credit_card").ok_or("it is a kind")?;
/// assert_eq!(*name, "credit_card");
/// assert!(about.contains("Luhn"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Kind {
    /// The name that expressions say, and that a mark holds: `email`, `[email]`.
    pub name: &'static str,
    /// What counts as one, on one line.
    pub about: &'static str,
    /// Where the format is published.
    pub source: &'static str,
    /// Whether it is looked for only where an expression names it, because ordinary texts have it.
    pub on_request: bool,
    /// An example, in parts: whole, it would be taken for a secret of the files that it stands in.
    pub example: &'static [&'static str],
    /// A pattern that stands in every text with a candidate, and that is quickly looked for.
    pub(super) sign: &'static str,
    /// Letters of which some stand in every text with its sign, written small here, however there; empty where no letters can be said.
    pub(super) letters: &'static [&'static str],
    /// A pattern of candidates. A search never goes much further than what it matches, so that many are linear in a text.
    pub(super) pattern: &'static str,
    /// Decides about a candidate.
    pub(super) sift: Sift,
}

/// Decides about a candidate: in go the whole text as it is read and the candidate's place, out come the places of what counts.
/// They may reach beyond the candidate by a bounded number of bytes.
pub(super) type Sift = fn(&str, Range<usize>, &mut dyn FnMut(Range<usize>));

/// The candidate as it is.
pub(super) fn whole(_: &str, candidate: Range<usize>, found: &mut dyn FnMut(Range<usize>)) {
    found(candidate);
}

/// The candidate, unless a letter or a digit stands right before it.
pub(super) fn begins(text: &str, candidate: Range<usize>, found: &mut dyn FnMut(Range<usize>)) {
    if !before(text, candidate.start).is_some_and(char::is_alphanumeric) {
        found(candidate);
    }
}

/// The character before a place.
pub(super) fn before(text: &str, at: usize) -> Option<char> {
    text.get(..at)?.chars().next_back()
}

/// The character at a place.
pub(super) fn after(text: &str, at: usize) -> Option<char> {
    text.get(at..)?.chars().next()
}

/// Whether a digit stands right before or right after a range.
pub(super) fn touches_digits(text: &str, range: &Range<usize>) -> bool {
    [before(text, range.start), after(text, range.end)].into_iter().flatten().any(|it| it.is_ascii_digit())
}
