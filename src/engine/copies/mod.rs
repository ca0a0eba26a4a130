//! Copies: out of which values of a task a text was taken.
//!
//! In: the values that came into a task, each under its number, and a text that is to go out. Out: the numbers of those that it
//! repeats. Two texts repeat each other if `least` letters in a row stand in both; shorter ones, and the digits of numbers, if they
//! are the same as a whole and have at least [`SHORTEST`] letters. What a model says in other words is no copy, and nothing here sees it.
//!
//! The values themselves are not kept. Of each text some of its runs of letters are, chosen so that two texts which share `least`
//! letters share one of them; a run in common makes a candidate, and the candidate is then read where it lies. So an
//! answer depends on the values alone, and so does its cost: a look-up for each letter that is asked about, beside the candidates.

mod grams;
mod letters;
mod number;
mod texts;
mod words;

use crate::cel::JsonRef;
use grams::{chosen, runs, whole};
use hashbrown::HashTable;
use std::collections::BTreeSet;

pub use letters::Letters;
pub use texts::{Found, each_text, text_bytes};
pub use words::is_whole_in;

/// The number of a run of letters.
type Number = u64;

/// The fewest letters of a value that can be repeated: below that `true`, `10` and `EUR` would be copies of each other everywhere.
pub const SHORTEST: usize = 4;

/// What came into a task, by its texts.
#[derive(Clone, Debug)]
pub struct Copies {
    least: usize,
    /// Chosen runs of letters, each with the value in which it stands. The number is cut to 32 bits: a value is looked at
    /// before it counts.
    runs: HashTable<(u32, u32)>,
    /// Whole texts that are shorter than `least`.
    wholes: HashTable<(u32, u32)>,
}

impl Copies {
    /// Nothing yet. `least` is how many letters in a row make a copy, of which at least [`SHORTEST`] are needed.
    #[must_use]
    pub fn new(least: usize) -> Self {
        Self { least: least.max(SHORTEST), runs: HashTable::new(), wholes: HashTable::new() }
    }

    /// The length of the runs that are kept, and how many neighbours one of them stands for: together they make up `least`.
    fn gram(&self) -> (usize, usize) {
        let gram = self.least.saturating_mul(2).div_ceil(3).max(2);
        (gram, self.least.saturating_sub(gram).saturating_add(1))
    }

    /// A value came in. Linear in its texts; some four bytes are kept for each letter.
    pub fn add(&mut self, value: u32, of: JsonRef<'_>) {
        each_text(of, &mut |text, found| {
            let letters = Letters::of(text);
            if letters.len() < self.least {
                if letters.len() >= SHORTEST && found != Found::Name {
                    put(&mut self.wholes, whole(letters.all()), value);
                }
                return;
            }
            let (gram, window) = self.gram();
            for number in chosen(runs(letters.all(), gram), window) {
                put(&mut self.runs, number, value);
            }
        });
    }

    /// The numbers of the values that may be what a text repeats; of all others it is certain that they are not. Linear in the text.
    #[must_use]
    pub fn candidates(&self, text: &Letters) -> BTreeSet<u32> {
        if text.len() < self.least {
            return get(&self.wholes, whole(text.all())).filter(|_| text.len() >= SHORTEST).collect();
        }
        let (gram, window) = self.gram();
        let runs = chosen(runs(text.all(), gram), window);
        runs.into_iter().flat_map(|number| get(&self.runs, number)).collect()
    }

    /// The bytes that it holds on the heap.
    #[must_use]
    pub fn heap_bytes(&self) -> usize {
        let entry = size_of::<(u32, u32)>().saturating_add(1);
        self.runs.capacity().saturating_add(self.wholes.capacity()).saturating_mul(entry)
    }
}

/// A text that is looked for in values one by one.
#[derive(Debug)]
pub struct Repeated<'t> {
    text: &'t Letters,
    least: usize,
    /// The numbers of its runs of `least` letters, rising. Two runs have one number about once in 2^60.
    runs: Vec<Number>,
}

impl<'t> Repeated<'t> {
    /// A text, and how many letters in a row make a copy. Linear in the text.
    #[must_use]
    pub fn new(text: &'t Letters, least: usize) -> Self {
        let least = least.max(SHORTEST);
        let mut runs: Vec<Number> = runs(text.all(), least).collect();
        runs.sort_unstable();
        Self { text, least, runs }
    }

    /// Whether the text repeats a value. Linear in the value.
    #[must_use]
    pub fn is_from(&self, value: JsonRef<'_>) -> bool {
        let mut is_from = false;
        each_text(value, &mut |text, found| {
            if is_from || (self.runs.is_empty() && text.len() < self.text.len()) {
                return;
            }
            let other = Letters::of(text);
            is_from = if other.len() < self.least {
                found != Found::Name && other.len() >= SHORTEST && other.all() == self.text.all()
            } else {
                runs(other.all(), self.least).any(|run| self.runs.binary_search(&run).is_ok())
            };
        });
        is_from
    }
}

/// Whether a text stands as a whole in one of the texts of a value. Linear in the value.
#[must_use]
pub fn stands_in(text: &Letters, value: JsonRef<'_>) -> bool {
    let number = whole(text.all());
    let mut stands = false;
    each_text(value, &mut |other, _| {
        if !stands {
            let other = Letters::of(other);
            stands = text.len() <= other.len() && runs(other.all(), text.len()).any(|run| run == number);
        }
    });
    stands
}

fn put(table: &mut HashTable<(u32, u32)>, number: Number, value: u32) {
    let entry = (short(number), value);
    // by the run alone, so that all values of a run are found together
    if table.find(hash(entry.0), |other| *other == entry).is_none() {
        table.insert_unique(hash(entry.0), entry, |(run, _)| hash(*run));
    }
}

fn get(table: &HashTable<(u32, u32)>, number: Number) -> impl Iterator<Item = u32> {
    let run = short(number);
    table.iter_hash(hash(run)).filter(move |(other, _)| *other == run).map(|(_, value)| *value)
}

/// The lower half.
fn short(number: Number) -> u32 {
    u32::try_from(number & u64::from(u32::MAX)).unwrap_or_default()
}

/// The number of a run is spread already; the table looks at the highest bits, too.
fn hash(run: u32) -> u64 {
    u64::from(run).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

#[cfg(test)]
mod tests;
