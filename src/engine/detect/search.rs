//! What one text has: a look for the signs of all kinds at once, then the patterns of those kinds whose sign stands there.
//!
//! In: a text, a table and the wanted kinds. Out: what was found, as places of the text as it was given, in order. Every pattern goes
//! through the text once, and candidates are disjoint, so all is linear in it; each candidate is paid for before code decides about it.

use super::reading::Reading;
use super::table::Table;
use super::wanted::Wanted;
use crate::cel::{Fault, Meter};
use std::ops::Range;

/// A part of a text that is of some kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Find {
    /// The position of its kind in the table.
    pub(super) kind: usize,
    /// Its bytes.
    pub(super) at: Range<usize>,
}

/// How much dearer a candidate is than text: digits are looked at again with each group before them.
const DEARER: usize = 20;

/// What a text has of the wanted kinds, ordered by place. `at_once`: the first find is enough.
///
/// # Errors
/// `budget_exceeded`.
pub(super) fn search(
    meter: &mut Meter<'_>,
    table: &Table,
    wanted: Wanted,
    text: &str,
    at_once: bool,
) -> Result<Vec<Find>, Fault> {
    let reading = Reading::of(meter, text)?;
    let read = reading.text();
    let mut finds = Vec::new();
    for (kind, row, pattern) in table.signed(wanted, read)? {
        meter.charge_text(read.len())?;
        for candidate in pattern.find_iter(read) {
            meter.charge(1)?;
            meter.charge_text(candidate.len().saturating_mul(DEARER))?;
            (row.sift)(read, candidate.range(), &mut |range| {
                finds.push(Find { kind, at: reading.original(range) });
            });
            if at_once && !finds.is_empty() {
                return Ok(finds);
            }
        }
    }
    finds.sort_by_key(|find| (find.at.start, find.at.end, find.kind));
    Ok(finds)
}

/// What stands in the place of a find.
#[derive(Clone, Copy, Debug)]
pub(super) enum Instead {
    /// The name of its kind in square brackets.
    Mark,
    /// Itself with a star for each letter and digit but the last four, so that a person knows it again.
    Stars,
}

/// The letters and digits that stars leave.
const LEFT: usize = 4;

/// A text with something else in place of what was found, until nothing is found any more: what stands beside a find may have been part of
/// something else before. `None` if nothing was found. Each round takes something away and is paid for.
///
/// # Errors
/// `budget_exceeded`.
pub(super) fn redacted(
    meter: &mut Meter<'_>,
    table: &Table,
    wanted: Wanted,
    text: &str,
    instead: Instead,
) -> Result<Option<String>, Fault> {
    let mut redacted = None;
    loop {
        let current: &str = redacted.as_deref().unwrap_or(text);
        let finds = search(meter, table, wanted, current, false)?;
        if finds.is_empty() {
            return Ok(redacted);
        }
        redacted = Some(without(meter, table, current, finds, instead)?);
    }
}

/// Finds with each run of those that overlap as one, of the kind of the first.
pub(super) fn runs(mut finds: Vec<Find>) -> Vec<Find> {
    finds.dedup_by(|next, run| {
        let overlaps = next.at.start < run.at.end;
        if overlaps {
            run.at.end = run.at.end.max(next.at.end);
        }
        overlaps
    });
    finds
}

/// A text with something else in place of each run of finds that overlap.
fn without(
    meter: &mut Meter<'_>,
    table: &Table,
    text: &str,
    finds: Vec<Find>,
    instead: Instead,
) -> Result<String, Fault> {
    meter.charge_built(text.len())?;
    let mut left = String::with_capacity(text.len());
    let mut rest = 0;
    for run in runs(finds) {
        left.push_str(text.get(rest..run.at.start).unwrap_or_default());
        let found = text.get(run.at.clone()).unwrap_or_default();
        let stars = match instead {
            Instead::Stars => starred(found),
            Instead::Mark => None,
        };
        match stars {
            Some(stars) => left.push_str(&stars),
            None => {
                let name = table.kinds.get(run.kind).map_or("", |kind| kind.name);
                meter.charge_built(name.len().saturating_add(2))?;
                left.extend(["[", name, "]"]);
            }
        }
        rest = run.at.end;
    }
    left.push_str(text.get(rest..).unwrap_or_default());
    Ok(left)
}

/// A text with stars for its letters and digits but the last four; of one with eight or fewer none is left, as half of it would tell too
/// much. `None` if it has neither letters nor digits: then stars take nothing away.
fn starred(text: &str) -> Option<String> {
    let count = text.chars().filter(|sign| sign.is_alphanumeric()).count();
    let hidden = if count > LEFT.saturating_mul(2) { count.saturating_sub(LEFT) } else { count };
    let mut seen = 0_usize;
    let star = |sign: char| {
        seen = seen.saturating_add(usize::from(sign.is_alphanumeric()));
        if sign.is_alphanumeric() && seen <= hidden { '*' } else { sign }
    };
    (count > 0).then(|| text.chars().map(star).collect())
}
