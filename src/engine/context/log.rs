//! A list that grows at its end and never copies what it holds.
//!
//! In: one entry after the other. Out: any of them by its position, in constant time. Entries stand in pieces of a fixed
//! length; a full piece is sealed and from then on shared by all clones. So adding moves at most one piece, and a clone
//! copies no more than the piece that still grows and one reference for each sealed one, however long the list is.

use std::ops::Range;
use std::sync::Arc;

/// Entries of a sealed piece: enough that references to pieces weigh nothing, few enough that copying one does not.
pub(super) const PIECE: usize = 1024;

/// An append-only list.
#[derive(Clone, Debug)]
pub(crate) struct Log<T> {
    sealed: Vec<Arc<[T]>>,
    /// The entries since the last piece was sealed; at most a piece.
    open: Vec<T>,
}

impl<T> Default for Log<T> {
    fn default() -> Self {
        Self { sealed: Vec::new(), open: Vec::new() }
    }
}

impl<T: Clone> Log<T> {
    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.sealed.len().saturating_mul(PIECE).saturating_add(self.open.len())
    }

    /// Constant time, but for the one entry in a thousand that seals a piece.
    pub(crate) fn push(&mut self, entry: T) {
        if self.open.len() >= PIECE {
            // the buffer stays for the next piece
            self.sealed.push(self.open.drain(..).collect());
        }
        self.open.push(entry);
    }

    /// Takes the last entry back.
    pub(crate) fn pop(&mut self) -> Option<T> {
        if self.open.is_empty() {
            self.open = self.sealed.pop()?.to_vec();
        }
        self.open.pop()
    }

    #[inline]
    pub(crate) fn get(&self, index: usize) -> Option<&T> {
        match self.sealed.get(index / PIECE) {
            Some(piece) => piece.get(index % PIECE),
            None => self.open.get(index.checked_sub(self.sealed.len().saturating_mul(PIECE))?),
        }
    }

    /// An entry by its position from the end, 0 the last. The last piece is looked at first, as most questions are about
    /// recent entries.
    #[inline]
    pub(crate) fn nth_back(&self, index: usize) -> Option<&T> {
        match self.open.len().checked_sub(index).and_then(|after| after.checked_sub(1)) {
            Some(position) => self.open.get(position),
            None => self.get(self.len().checked_sub(index)?.checked_sub(1)?),
        }
    }

    /// An entry to be changed. Copies a sealed piece that a clone shares.
    pub(crate) fn get_mut(&mut self, index: usize) -> Option<&mut T> {
        let sealed = self.sealed.len().saturating_mul(PIECE);
        match self.sealed.get_mut(index / PIECE) {
            Some(piece) => Arc::make_mut(piece).get_mut(index % PIECE),
            None => self.open.get_mut(index.checked_sub(sealed)?),
        }
    }

    pub(crate) fn last(&self) -> Option<&T> {
        self.nth_back(0)
    }

    /// The entries in order.
    pub(crate) fn iter(&self) -> Entries<'_, T> {
        self.iter_from(0)
    }

    /// Those from a position on, in order.
    pub(crate) fn iter_from(&self, start: usize) -> Entries<'_, T> {
        Entries { log: self, positions: start..self.len().max(start) }
    }

    /// The bytes on the heap, sealed pieces in full even if clones share them. Constant time.
    pub(crate) fn heap_bytes(&self) -> usize {
        let pieces = self.sealed.capacity().saturating_mul(size_of::<Arc<[T]>>());
        let entries = self.sealed.len().saturating_mul(PIECE).saturating_add(self.open.capacity());
        pieces.saturating_add(entries.saturating_mul(size_of::<T>()))
    }
}

/// The entries of a log, or what is left of them.
pub(crate) struct Entries<'l, T> {
    log: &'l Log<T>,
    positions: Range<usize>,
}

impl<'l, T: Clone> Iterator for Entries<'l, T> {
    type Item = &'l T;

    fn next(&mut self) -> Option<&'l T> {
        self.positions.next().and_then(|position| self.log.get(position))
    }

    /// Constant time, so that to skip entries is.
    fn nth(&mut self, count: usize) -> Option<&'l T> {
        self.positions.nth(count).and_then(|position| self.log.get(position))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.positions.size_hint()
    }
}

impl<T: Clone> DoubleEndedIterator for Entries<'_, T> {
    fn next_back(&mut self) -> Option<Self::Item> {
        self.positions.next_back().and_then(|position| self.log.get(position))
    }
}

impl<T: Clone> ExactSizeIterator for Entries<'_, T> {}

#[cfg(test)]
mod tests {
    use super::{Log, PIECE};

    #[test]
    fn a_log_is_a_list_across_the_ends_of_its_pieces() {
        let mut log = Log::default();
        let mut list = Vec::new();
        for number in 0..3 * PIECE + 2 {
            log.push(number);
            list.push(number);
            assert_eq!((log.len(), log.last()), (list.len(), list.last()));
        }
        let shared = log.clone();
        for index in [0, 1, PIECE - 1, PIECE, 2 * PIECE, 3 * PIECE, 3 * PIECE + 1, 3 * PIECE + 2, usize::MAX]
        {
            assert_eq!(log.get(index), list.get(index), "{index}");
            assert_eq!(log.nth_back(index), list.iter().rev().nth(index), "{index}");
            assert_eq!(log.get_mut(index).map(std::mem::take), list.get_mut(index).map(std::mem::take));
        }
        assert!(
            log.iter().eq(&list) && log.iter().rev().eq(list.iter().rev()) && log.iter().len() == list.len()
        );
        assert!(shared.iter().copied().eq(0..3 * PIECE + 2), "a clone does not see what changes");
        while let Some(last) = list.pop() {
            assert_eq!((log.pop(), log.len(), log.last()), (Some(last), list.len(), list.last()));
        }
        assert_eq!(log.pop(), None);
    }
}
