//! A kind of what is looked for, as a row of data, and a table of such rows made ready to search with.

use crate::cel::{Fault, Value};
use regex::{Regex, RegexSet};
use std::ops::Range;
use std::sync::OnceLock;

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
    /// A pattern of candidates. A search never goes much further than what it matches, so that many are linear in a text.
    pub(super) pattern: &'static str,
    /// Decides about a candidate.
    pub(super) sift: Sift,
}

/// Decides about a candidate: in go the whole text as it is read and the candidate's place, out come the places of what counts.
/// They may reach beyond the candidate by a bounded number of bytes.
pub(super) type Sift = fn(&str, Range<usize>, &mut dyn FnMut(Range<usize>));

/// The rows of a table. The signs of all are compiled at once, and a pattern when its sign first stands in a text: a process that decides
/// about one call, as a hook does, hardly needs one.
pub(super) struct Table {
    pub(super) kinds: &'static [Kind],
    signs: Option<RegexSet>,
    patterns: Vec<OnceLock<Option<Regex>>>,
}

/// Kinds for which a pass over the text for the signs of all kinds does not pay.
const FEW: u32 = 2;

/// Some rows of a table, by their positions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Wanted(u64);

impl Table {
    pub(super) fn new(kinds: &'static [Kind]) -> Self {
        let signs = RegexSet::new(kinds.iter().map(|kind| kind.sign)).ok();
        Self { kinds, signs, patterns: vec![OnceLock::new(); kinds.len()] }
    }

    /// The wanted kinds whose sign stands in a text, each with its pattern; one or two kinds are as quickly looked for as their signs.
    ///
    /// # Errors
    /// `invalid_argument` if a pattern could not be compiled, which a test excludes: to find nothing would let everything by.
    pub(super) fn signed<'s>(
        &'s self,
        wanted: Wanted,
        text: &str,
    ) -> Result<Vec<(usize, &'static Kind, &'s Regex)>, Fault> {
        let broken = Fault::refused("a table whose patterns compile");
        let signs = match wanted.0.count_ones() > FEW {
            true => Some(self.signs.as_ref().ok_or(broken)?.matches(text)),
            false => None,
        };
        let signed =
            |index: &usize| wanted.has(*index) && signs.as_ref().is_none_or(|signs| signs.matched(*index));
        let rows = self.kinds.iter().zip(&self.patterns).enumerate().filter(|(index, _)| signed(index));
        rows.map(|(index, (kind, pattern))| {
            let pattern = pattern.get_or_init(|| Regex::new(kind.pattern).ok());
            Ok((index, kind, pattern.as_ref().ok_or(broken)?))
        })
        .collect()
    }

    /// The kinds that are looked for where none is named.
    pub(super) fn usual(&self) -> Wanted {
        let usual = self.kinds.iter().enumerate().filter(|(_, kind)| !kind.on_request);
        usual.fold(Wanted(0), |wanted, (index, _)| wanted.and(index))
    }

    /// The kinds that a value names: one as a text, several as a list of texts.
    ///
    /// # Errors
    /// `invalid_argument` for a name that no row has and for a list without names, which would let everything by;
    /// `no_matching_overload` for what is no text.
    pub(super) fn named(&self, names: &Value<'_>) -> Result<Wanted, Fault> {
        match names {
            Value::String(name) => self.wanted(Wanted(0), name),
            Value::List(names) if names.is_empty() => Err(Fault::refused("at least one kind")),
            Value::List(names) => names.iter().try_fold(Wanted(0), |wanted, name| match &name {
                Value::String(name) => self.wanted(wanted, name),
                other => Err(Fault::no_overload([other.kind()])),
            }),
            other => Err(Fault::no_overload([other.kind()])),
        }
    }

    fn wanted(&self, wanted: Wanted, name: &str) -> Result<Wanted, Fault> {
        let index = self.kinds.iter().position(|kind| kind.name == name);
        index.map(|index| wanted.and(index)).ok_or(Fault::refused("kinds that the function knows"))
    }
}

impl Wanted {
    fn has(self, index: usize) -> bool {
        u32::try_from(index)
            .ok()
            .and_then(|index| self.0.checked_shr(index))
            .is_some_and(|bits| bits & 1 == 1)
    }

    fn and(self, index: usize) -> Self {
        Self(self.0 | u32::try_from(index).ok().and_then(|index| 1_u64.checked_shl(index)).unwrap_or(0))
    }
}

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
