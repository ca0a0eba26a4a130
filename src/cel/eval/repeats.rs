//! What a predicate came to for the names that a list holds again and again.
//!
//! A history of thousands of calls names a handful of functions, and its host lends the same text for each of them
//! (`LiveList::name`). A predicate that reads nothing but its element comes to the same for the same text, and costs the
//! same, so a loop asks it once for each. In: a text that outlives the loop, later the same one. Out: whether the
//! predicate held, and what that took. Texts are told apart by where they lie, never by what they say, and nothing
//! outlives the loop.

use crate::cel::meter::Spent;

/// From how many elements on a loop looks for repeats.
pub(super) const MANY: usize = 32;

/// How many texts are remembered. One that comes to lie where another is takes its place.
const PLACES: usize = 16;

/// Texts with what a predicate came to.
#[derive(Default)]
pub(super) struct Repeats<'a> {
    known: [Option<Known<'a>>; PLACES],
}

#[derive(Clone, Copy)]
struct Known<'a> {
    text: &'a str,
    held: bool,
    spent: Spent,
}

impl<'a> Repeats<'a> {
    /// Whether the predicate held for this text, and what that took, if the text came before.
    #[inline]
    pub(super) fn get(&self, text: &'a str) -> Option<(bool, Spent)> {
        let known = self.known.get(place(text))?.as_ref()?;
        std::ptr::eq(known.text, text).then_some((known.held, known.spent))
    }

    /// Remembers what a text came to.
    pub(super) fn put(&mut self, text: &'a str, held: bool, spent: Spent) {
        if let Some(known) = self.known.get_mut(place(text)) {
            *known = Some(Known { text, held, spent });
        }
    }
}

/// Where a text is remembered: its address, well mixed.
#[inline]
fn place(text: &str) -> usize {
    const GOLDEN: u64 = 0x9E37_79B9_7F4A_7C15;
    let mixed = (text.as_ptr().addr() as u64).wrapping_mul(GOLDEN);
    (mixed >> 32) as usize % PLACES
}
