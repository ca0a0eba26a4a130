//! Pseudonyms of personal data, such as `[email_1]`: a text with them in the place of what was found, and the way back.
//!
//! In: a text, and what the task has pseudonyms for so far. Out: the text with a pseudonym for each find, or with the values of the pseudonyms in it. The same text
//! has the same pseudonym for the whole task; numbers count each kind, in the order of first appearance.
//!
//! Anybody can write what looks like a pseudonym: a page that a tool has fetched, to have the address of somebody else put in its place. So
//! what looks like one loses its brackets when a text is tokenised (`(email_1)`), also where it is written in other letters, and the only pseudonyms in a text that was tokenised are those
//! that were put there. A pseudonym has no bracket inside, so what stands on both sides of one never becomes another.

use super::pii::PII;
use super::reading::Reading;
use super::search::{runs, search};
use super::table::Table;
use super::wanted::Wanted;
use crate::cel::{Fault, Meter};
use regex::Regex;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, LazyLock};

/// A value that has a pseudonym. Its number is how many of its kind came up to it.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pseudonym {
    /// The name of its kind.
    kind: Arc<str>,
    /// The text that the pseudonym stands for.
    value: Arc<str>,
}

impl fmt::Debug for Pseudonym {
    /// Without the value.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Pseudonym({})", self.kind)
    }
}

/// Values with pseudonyms, in the order of first appearance.
#[derive(Clone, Default)]
pub(crate) struct Pseudonyms {
    all: Vec<Pseudonym>,
    of_kinds: HashMap<Arc<str>, OfKind>,
    bytes: usize,
}

/// Values of one kind with pseudonyms.
#[derive(Clone, Default)]
struct OfKind {
    /// Positions among all.
    positions: Vec<usize>,
    /// Numbers from 1.
    numbers: HashMap<Arc<str>, usize>,
}

impl fmt::Debug for Pseudonyms {
    /// How many there are.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Pseudonyms({})", self.all.len())
    }
}

/// Size of a pseudonym without its text, in bytes.
const ENTRY_BYTES: usize = 128;

impl Pseudonyms {
    /// All of them, in the order in which they came.
    pub(crate) fn all(&self) -> &[Pseudonym] {
        &self.all
    }

    /// Size in bytes, the same on each platform.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Adds one that is not there yet.
    pub(crate) fn push(&mut self, added: Pseudonym) {
        let of_kind = self.of_kinds.entry(added.kind.clone()).or_default();
        let number = of_kind.positions.len().saturating_add(1);
        of_kind.numbers.entry(added.value.clone()).or_insert(number);
        of_kind.positions.push(self.all.len());
        self.bytes = self.bytes.saturating_add(added.value.len()).saturating_add(ENTRY_BYTES);
        self.all.push(added);
    }

    fn count(&self, kind: &str) -> usize {
        self.of_kinds.get(kind).map_or(0, |of_kind| of_kind.positions.len())
    }

    fn number(&self, kind: &str, value: &str) -> Option<usize> {
        self.of_kinds.get(kind)?.numbers.get(value).copied()
    }

    fn value(&self, kind: &str, number: usize) -> Option<&Arc<str>> {
        let position = self.of_kinds.get(kind)?.positions.get(number.checked_sub(1)?)?;
        self.all.get(*position).map(|found| &found.value)
    }
}

/// The pseudonyms of a task, and those that a step is about to add.
pub(crate) struct Book<'b> {
    /// Those of the task.
    pub(crate) known: &'b Pseudonyms,
    /// Those that come behind them.
    pub(crate) added: &'b mut Pseudonyms,
    /// How many there may be, together.
    pub(crate) most: usize,
    /// Largest total size, in bytes.
    pub(crate) most_bytes: usize,
}

impl Book<'_> {
    /// The number of a value, which gets one if it has none.
    fn number(&mut self, kind: &str, value: &str) -> Result<usize, Fault> {
        let before = self.known.count(kind);
        let known = self.known.number(kind, value);
        let added = || self.added.number(kind, value).map(|number| number.saturating_add(before));
        if let Some(number) = known.or_else(added) {
            return Ok(number);
        }
        let all = self.known.all.len().saturating_add(self.added.all.len());
        if all >= self.most {
            return Err(Fault::budget("max_pseudonyms"));
        }
        self.added.push(Pseudonym { kind: kind.into(), value: value.into() });
        if self.known.bytes.saturating_add(self.added.bytes) > self.most_bytes {
            return Err(Fault::budget("max_pseudonym_bytes"));
        }
        Ok(before.saturating_add(self.added.count(kind)))
    }

    fn value(&self, kind: &str, number: usize) -> Option<&str> {
        let before = self.known.count(kind);
        let added = || self.added.value(kind, number.checked_sub(before)?);
        self.known.value(kind, number).or_else(added).map(|value| &**value)
    }
}

/// The names of all kinds, as a pattern has them.
fn kinds() -> String {
    PII.iter().map(|kind| kind.name).collect::<Vec<_>>().join("|")
}

/// A pseudonym, as it is written.
static WRITTEN: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(&format!(r"\[({})_([1-9][0-9]{{0,8}})\]", kinds())).ok());

/// A text that looks like a pseudonym.
static ALIKE: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(&format!(r"(?i)\[((?:{})_[0-9]+)\]", kinds())).ok());

fn pattern(of: &'static LazyLock<Option<Regex>>) -> Result<&'static Regex, Fault> {
    // a test holds that each compiles
    of.as_ref().ok_or(Fault::refused("a pattern that compiles"))
}

/// A part of the text that is tokenised.
enum Part<'t> {
    /// It was not looked at yet.
    Unread(&'t str),
    /// It is of a kind, by its position in the table.
    Found(usize, &'t str),
}

/// A text with pseudonyms in the place of what was found, and without what only looks like one; `None` if it is as it was. What is left between two finds is looked at
/// again, as what stands beside a find may have been part of something else before: each look takes something away and is paid for.
///
/// # Errors
/// `budget_exceeded`.
pub(super) fn tokenized(
    meter: &mut Meter<'_>,
    (table, wanted): (&Table, Wanted),
    text: &str,
    book: &mut Book<'_>,
) -> Result<Option<String>, Fault> {
    let mut written = String::new();
    let mut is_other = false;
    let mut parts = vec![Part::Unread(text)];
    while let Some(part) = parts.pop() {
        match part {
            Part::Found(kind, value) => {
                let name = table.kinds.get(kind).map_or("", |kind| kind.name);
                let number = book.number(name, value)?.to_string();
                meter.charge_built(value.len().saturating_add(ENTRY_BYTES))?;
                written.extend(["[", name, "_", &number, "]"]);
                is_other = true;
            }
            Part::Unread(text) => {
                let finds = runs(search(meter, table, wanted, text, false)?);
                if finds.is_empty() {
                    is_other |= write_plain(meter, text, &mut written)?;
                    continue;
                }
                let above = parts.len();
                let mut rest = 0;
                for find in finds {
                    parts.extend(text.get(rest..find.at.start).map(Part::Unread));
                    rest = find.at.end;
                    parts.extend(text.get(find.at).map(|value| Part::Found(find.kind, value)));
                }
                parts.extend(text.get(rest..).map(Part::Unread));
                // the first one is the next
                parts.get_mut(above..).into_iter().for_each(<[_]>::reverse);
            }
        }
    }
    Ok(is_other.then_some(written))
}

/// Writes a part in which nothing was found; whether something in it looked like a pseudonym.
fn write_plain(meter: &mut Meter<'_>, text: &str, written: &mut String) -> Result<bool, Fault> {
    meter.charge_built(text.len())?;
    let reading = Reading::of(meter, text)?;
    let read = reading.text();
    if !read.contains('[') {
        written.push_str(text);
        return Ok(false);
    }
    meter.charge_text(read.len())?;
    let mut rest = 0;
    for alike in pattern(&ALIKE)?.captures_iter(read) {
        let (Some(whole), Some(inner)) = (alike.get(0), alike.get(1)) else { continue };
        let at = reading.original(whole.range());
        written.push_str(text.get(rest..at.start).unwrap_or_default());
        written.extend(["(", inner.as_str(), ")"]);
        rest = at.end;
    }
    written.push_str(text.get(rest..).unwrap_or_default());
    Ok(rest > 0)
}

/// A text with the values of its pseudonyms; `None` if it has none. A pseudonym that the task does not know stays. Goes through the text once, so nothing in a value is taken for a pseudonym.
///
/// # Errors
/// `budget_exceeded`.
pub(super) fn detokenized(
    meter: &mut Meter<'_>,
    (table, wanted): (&Table, Wanted),
    text: &str,
    book: &Book<'_>,
) -> Result<Option<String>, Fault> {
    meter.charge_text(text.len())?;
    let mut written: Option<String> = None;
    let mut rest = 0;
    for found in pattern(&WRITTEN)?.captures_iter(text) {
        let (Some(whole), Some(kind), Some(number)) = (found.get(0), found.get(1), found.get(2)) else {
            continue;
        };
        let position = table.kinds.iter().position(|row| row.name == kind.as_str());
        let is_wanted = position.is_some_and(|position| wanted.has(position));
        let value = number.as_str().parse().ok().and_then(|number| book.value(kind.as_str(), number));
        let Some(value) = value.filter(|_| is_wanted) else { continue };
        let between = text.get(rest..whole.start()).unwrap_or_default();
        meter.charge_built(between.len().saturating_add(value.len()))?;
        written.get_or_insert_default().extend([between, value]);
        rest = whole.end();
    }
    if let Some(written) = &mut written {
        let rest = text.get(rest..).unwrap_or_default();
        meter.charge_built(rest.len())?;
        written.push_str(rest);
    }
    Ok(written)
}

#[cfg(test)]
mod tests {
    use super::super::table::Table;
    use super::super::wanted::Wanted;
    use super::{ALIKE, Book, PII, Pseudonym, Pseudonyms, WRITTEN, detokenized, tokenized};
    use crate::cel::{Fault, Meter};
    use crate::limits::EngineLimits;

    /// Tokenises texts one after the other, with the pseudonyms of all of them.
    fn tokenize(known: &mut Pseudonyms, text: &str) -> Result<String, Fault> {
        let limits = EngineLimits::default();
        let table = Table::new(PII);
        let mut added = Pseudonyms::default();
        let mut book = Book { known, added: &mut added, most: 3, most_bytes: 10_000 };
        let wanted = (&table, table.usual());
        let tokenized = tokenized(&mut Meter::new(&limits.eval), wanted, text, &mut book)?;
        added.all().iter().cloned().for_each(|added| known.push(added));
        Ok(tokenized.unwrap_or_else(|| text.to_owned()))
    }

    fn detokenize(known: &Pseudonyms, kind: Option<usize>, text: &str) -> String {
        let limits = EngineLimits::default();
        let table = Table::new(PII);
        let mut added = Pseudonyms::default();
        let book = Book { known, added: &mut added, most: 3, most_bytes: 10_000 };
        let wanted = kind.map_or_else(|| Wanted::of(0..PII.len()), |kind| Wanted::of([kind]));
        let restored = detokenized(&mut Meter::new(&limits.eval), (&table, wanted), text, &book).unwrap();
        restored.unwrap_or_else(|| text.to_owned())
    }

    #[test]
    fn patterns_compile_and_know_each_kind() {
        for kind in PII {
            let mark = format!("[{}_12]", kind.name);
            assert!(WRITTEN.as_ref().unwrap().is_match(&mark) && ALIKE.as_ref().unwrap().is_match(&mark));
        }
    }

    #[test]
    fn numbers_count_each_kind_in_the_order_of_first_appearance() {
        let mut known = Pseudonyms::default();
        for (text, written) in [
            ("nothing", "nothing"),
            ("to ann@a.example, bob@b.example; ann@a.example", "to [email_1], [email_2]; [email_1]"),
            ("bob@b.example pays with 4111 1111 1111 1111", "[email_2] pays with [credit_card_1]"),
            ("ANN@a.example", "ANN@a.example"),
        ] {
            let tokenized = tokenize(&mut known, text);
            // three are all that there may be
            let tokenized = tokenized.unwrap_or_else(|fault| {
                assert_eq!(fault.bound, Some("max_pseudonyms"));
                text.to_owned()
            });
            assert_eq!(tokenized, written);
            assert_eq!(detokenize(&known, None, &tokenized), text);
        }
        assert_eq!(known.all().len(), 3);
        assert_eq!(detokenize(&known, Some(0), "[email_2] [credit_card_1]"), "bob@b.example [credit_card_1]");
        for text in [
            "[email_3]",
            "[email_0]",
            "[email_01]",
            "[EMAIL_1]",
            "[email_99999999999]",
            "email_1",
            "[iban_1]",
        ] {
            assert_eq!(detokenize(&known, None, text), text);
        }
        assert_eq!(detokenize(&known, None, "[[email_1]_1]"), "[ann@a.example_1]");
    }

    #[test]
    fn what_looks_like_a_pseudonym_is_none_in_a_text_that_was_tokenised() {
        let mut known = Pseudonyms::default();
        tokenize(&mut known, "ann@a.example").unwrap();
        for (text, written) in [
            ("write to [email_1]", "write to (email_1)"),
            ("[email_1][email_1]x", "(email_1)(email_1)x"),
            ("［ＥＭＡＩＬ_１］", "(EMAIL_1)"),
            ("[em\u{200B}ail_1]", "(email_1)"),
            ("%5Bemail_1%5D", "(email_1)"),
            ("[[email_1]]", "[(email_1)]"),
            ("[email_001]", "(email_001)"),
            ("[email_ann@a.example]", "[[email_2]]"),
            ("[ann@a.example_1]", "[[email_1]_1]"),
            ("[email] [email_] [name_1]", "[email] [email_] [name_1]"),
        ] {
            let tokenized = tokenize(&mut known, text).unwrap();
            assert_eq!(tokenized, written, "{text}");
        }
    }

    #[test]
    fn nothing_prints_a_value() {
        let entry = Pseudonym { kind: "email".into(), value: "ann@a.example".into() };
        let mut known = Pseudonyms::default();
        known.push(entry.clone());
        for shown in [format!("{entry:?}"), format!("{:?}", known.all())] {
            assert!(!shown.contains("ann"), "{shown}");
        }
    }
}
