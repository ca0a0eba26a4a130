//! What one text has: a look for the signs of all kinds at once, then the patterns of those kinds whose sign stands there.
//!
//! In: a text, a table and the wanted kinds. Out: what was found, as places of the text as it was given, in order. Every pattern goes
//! through the text once, and candidates are disjoint, so all is linear in it; each candidate is paid for before code decides about it.

use super::kind::{Table, Wanted};
use super::reading::Reading;
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

/// A text with marks in place of what was found, until nothing is found any more: what stands beside a mark may have been part of
/// something else before. `None` if nothing was found. Each round takes something away and is paid for.
///
/// # Errors
/// `budget_exceeded`.
pub(super) fn redacted(
    meter: &mut Meter<'_>,
    table: &Table,
    wanted: Wanted,
    text: &str,
) -> Result<Option<String>, Fault> {
    let mut redacted = None;
    loop {
        let current: &str = redacted.as_deref().unwrap_or(text);
        let finds = search(meter, table, wanted, current, false)?;
        if finds.is_empty() {
            return Ok(redacted);
        }
        redacted = Some(marked(meter, table, current, &finds)?);
    }
}

/// A text with one mark in place of each run of finds that overlap, with the name of the first one's kind.
fn marked(meter: &mut Meter<'_>, table: &Table, text: &str, finds: &[Find]) -> Result<String, Fault> {
    meter.charge_built(text.len())?;
    let mut marked = String::with_capacity(text.len());
    let mut rest = 0;
    for find in finds {
        if find.at.start >= rest {
            let name = table.kinds.get(find.kind).map_or("", |kind| kind.name);
            meter.charge_built(name.len().saturating_add(2))?;
            marked.push_str(text.get(rest..find.at.start).unwrap_or_default());
            marked.push('[');
            marked.push_str(name);
            marked.push(']');
        }
        rest = rest.max(find.at.end);
    }
    marked.push_str(text.get(rest..).unwrap_or_default());
    Ok(marked)
}
