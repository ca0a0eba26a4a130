//! Selection and indexing on values: `a.b`, `a[b]`, `has(a.b)`, and their optional forms.

use crate::fault::{ErrorCode, Fault};
use crate::types::Kind;
use crate::value::{Key, List, Value};
use std::sync::Arc;

impl<'a> Value<'a> {
    /// `self.key`
    #[inline]
    pub(super) fn member(&self, key: &str) -> Result<Self, Fault> {
        match self {
            Self::Map(map) => map.get_str(key).ok_or_else(|| ErrorCode::NoSuchKey.into()),
            Self::Optional(_) => self.optional_member(key),
            Self::List(List::Live { of, at }) if of.forwards(*at) => match of.item(*at, 0) {
                Some(first) => Value::from(first).member(key),
                None => Err(ErrorCode::IndexOutOfBounds.into()),
            },
            Self::Shortened => Err(ErrorCode::ValueShortened.into()),
            other => Err(Fault { found: [Some(other.kind()), None, None], ..ErrorCode::NoSuchField.into() }),
        }
    }

    /// `self.?key`: of an optional, and never failing for an absent key.
    pub(super) fn optional_member(&self, key: &str) -> Result<Self, Fault> {
        match self {
            Self::Optional(None) => Ok(Self::Optional(None)),
            Self::Optional(Some(value)) => value.optional_member(key),
            other => optional(other.member(key)),
        }
    }

    /// `has(self.key)`
    pub(super) fn has_member(&self, key: &str) -> Result<bool, Fault> {
        match self {
            Self::Optional(None) => Ok(false),
            Self::Optional(Some(value)) => value.has_member(key),
            other => match other.member(key) {
                Ok(_) => Ok(true),
                Err(Fault { code: ErrorCode::NoSuchKey | ErrorCode::IndexOutOfBounds, .. }) => Ok(false),
                Err(fault) => Err(fault),
            },
        }
    }

    /// `self[index]`
    pub(super) fn index(&self, index: &Self) -> Result<Self, Fault> {
        match self {
            Self::List(list) => {
                let position = match Key::lookup(index) {
                    Some(Key::Int(value)) => usize::try_from(value).ok(),
                    Some(Key::UInt(value)) => usize::try_from(value).ok(),
                    _ => return Err(Fault::no_overload([self.kind(), index.kind()])),
                };
                position
                    .and_then(|position| list.get(position))
                    .ok_or_else(|| ErrorCode::IndexOutOfBounds.into())
            }
            Self::Map(_) if index.kind() == Kind::Shortened => {
                Err(Fault::no_overload([self.kind(), index.kind()]))
            }
            // a value that cannot be a key is the key of nothing, as for `in`
            Self::Map(map) => {
                let found = Key::lookup(index).and_then(|key| map.get(&key));
                found.ok_or_else(|| ErrorCode::NoSuchKey.into())
            }
            Self::Optional(_) => self.optional_index(index),
            other => Err(Fault::no_overload([other.kind(), index.kind()])),
        }
    }

    /// `self[?index]`: of an optional, and never failing for an absent element.
    pub(super) fn optional_index(&self, index: &Self) -> Result<Self, Fault> {
        match self {
            Self::Optional(None) => Ok(Self::Optional(None)),
            Self::Optional(Some(value)) => value.optional_index(index),
            other => optional(other.index(index)),
        }
    }
}

/// What was found, as an optional.
fn optional<'a>(found: Result<Value<'a>, Fault>) -> Result<Value<'a>, Fault> {
    match found {
        Ok(value) => Ok(Value::Optional(Some(Arc::new(value)))),
        Err(Fault { code: ErrorCode::NoSuchKey | ErrorCode::IndexOutOfBounds, .. }) => {
            Ok(Value::Optional(None))
        }
        Err(fault) => Err(fault),
    }
}
