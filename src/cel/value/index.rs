//! Where the elements of a growing list stand, by a value that each of them has.
//!
//! In go the elements that stay as they are, oldest first, each with a digest of that value. Out come the positions of those
//! with the same digest, the most recent first, and of those whose value has no digest. Whoever asks looks at each of them:
//! two values may have one digest, so an index leaves out what cannot match and finds nothing by itself. It holds digests
//! under a key of its own and no value, and to add or to find one is constant time.

use super::Value;
use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::num::NonZeroU32;

/// The elements of a list by the digest of a value.
#[derive(Debug)]
pub(crate) struct Index {
    /// That of the list when the index was begun.
    pub(crate) epoch: u64,
    /// How many elements were looked at, from the oldest on.
    pub(crate) seen: usize,
    hasher: RandomState,
    chains: HashMap<u64, Chain>,
    links: Vec<Link>,
    /// The positions of elements whose value has no digest, or that have none.
    others: Vec<u32>,
}

/// The elements of one digest.
#[derive(Clone, Copy, Debug)]
struct Chain {
    /// The link of the most recent.
    last: u32,
    count: u32,
}

#[derive(Clone, Copy, Debug)]
struct Link {
    position: u32,
    /// The link of the next older one, if there is one.
    earlier: Option<NonZeroU32>,
}

impl Index {
    /// An index of no element.
    pub(crate) fn new(epoch: u64) -> Self {
        Self {
            epoch,
            seen: 0,
            hasher: RandomState::new(),
            chains: HashMap::new(),
            links: Vec::new(),
            others: Vec::new(),
        }
    }

    /// A digest that all values have that equal this one. Of texts, numbers, truths and null: what else there is, is equal in
    /// ways that a digest would have to follow.
    pub(crate) fn digest(&self, value: &Value<'_>) -> Option<u64> {
        Some(match value {
            Value::Null => self.hasher.hash_one(0_u8),
            Value::Bool(value) => self.hasher.hash_one((1_u8, value)),
            Value::String(text) => self.hasher.hash_one((2_u8, &**text)),
            #[expect(
                clippy::cast_precision_loss,
                reason = "numbers that are equal are equal when rounded, too"
            )]
            Value::Int(value) => self.number(*value as f64)?,
            #[expect(
                clippy::cast_precision_loss,
                reason = "numbers that are equal are equal when rounded, too"
            )]
            Value::UInt(value) => self.number(*value as f64)?,
            Value::Double(value) => self.number(*value)?,
            _ => return None,
        })
    }

    fn number(&self, value: f64) -> Option<u64> {
        // the two zeros are equal, and what is no number equals nothing
        (!value.is_nan()).then(|| self.hasher.hash_one((3_u8, (value + 0.0).to_bits())))
    }

    /// Adds the next element: with the digest of its value, or one that must always be looked at.
    pub(crate) fn add(&mut self, position: u32, digest: Option<u64>) {
        let Some(digest) = digest else {
            self.others.push(position);
            return;
        };
        let Ok(link) = u32::try_from(self.links.len()) else {
            self.others.push(position);
            return;
        };
        let chain = self.chains.get(&digest).copied();
        // counted from one, so that the absence of a link takes no room
        let earlier = chain.and_then(|chain| NonZeroU32::new(chain.last.saturating_add(1)));
        self.links.push(Link { position, earlier });
        let count = chain.map_or(0, |chain| chain.count).saturating_add(1);
        self.chains.insert(digest, Chain { last: link, count });
    }

    /// How many elements are to be looked at for a digest.
    pub(crate) fn count(&self, digest: u64) -> usize {
        let found = self.chains.get(&digest).map_or(0, |chain| chain.count as usize);
        found.saturating_add(self.others.len())
    }

    /// Their positions, counted from the oldest element, the most recent first.
    pub(crate) fn find(&self, digest: u64) -> Found<'_> {
        Found { index: self, link: self.chains.get(&digest).map(|chain| chain.last), others: &self.others }
    }

    /// The bytes on the heap.
    pub(crate) fn heap_bytes(&self) -> usize {
        // a place of the table has a byte of its own, and of eight places one stays free
        let place = size_of::<(u64, Chain)>().saturating_add(1);
        let chains = self.chains.capacity().saturating_mul(place).saturating_mul(8) / 7;
        let links = self.links.capacity().saturating_mul(size_of::<Link>());
        chains.saturating_add(links).saturating_add(self.others.capacity().saturating_mul(size_of::<u32>()))
    }
}

/// Positions that are left to look at.
pub(crate) struct Found<'i> {
    index: &'i Index,
    link: Option<u32>,
    others: &'i [u32],
}

impl Iterator for Found<'_> {
    type Item = u32;

    fn next(&mut self) -> Option<u32> {
        let link = self.link.and_then(|link| self.index.links.get(link as usize));
        match (link, self.others.split_last()) {
            (Some(link), other) if other.is_none_or(|(other, _)| *other < link.position) => {
                self.link = link.earlier.map(|earlier| earlier.get().saturating_sub(1));
                Some(link.position)
            }
            (_, Some((other, rest))) => {
                self.others = rest;
                Some(*other)
            }
            (_, None) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Index;
    use crate::value::Value;

    #[test]
    fn an_index_finds_what_is_equal_and_what_has_no_digest() {
        let values = [
            Value::text("a"),
            Value::Int(5),
            Value::list(Vec::new()),
            Value::Double(5.0),
            Value::text("a"),
            Value::UInt(5),
            Value::Double(f64::NAN),
            Value::Null,
            Value::Bool(false),
            Value::Double(-0.0),
        ];
        let mut index = Index::new(0);
        for (position, value) in (0..).zip(&values) {
            let digest = index.digest(value);
            index.add(position, digest);
        }
        let found = |value: Value<'_>| {
            let digest = index.digest(&value).unwrap();
            let found: Vec<u32> = index.find(digest).collect();
            assert_eq!(found.len(), index.count(digest));
            found
        };
        assert_eq!(found(Value::text("a")), [6, 4, 2, 0]);
        assert_eq!(found(Value::UInt(5)), [6, 5, 3, 2, 1]);
        assert_eq!(found(Value::Null), [7, 6, 2]);
        assert_eq!(found(Value::Bool(true)), [6, 2]);
        assert_eq!(found(Value::Int(0)), [9, 6, 2]);
        assert_eq!(found(Value::text("b")), [6, 2]);
        assert!(index.digest(&Value::Double(f64::NAN)).is_none() && index.heap_bytes() > 0);
    }
}
