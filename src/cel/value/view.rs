//! A value where it lies: what a host shows of its structs, and what a guard asks its question of.
//!
//! Out of the structs of a host, a stored document or a variable come a few words that are copied like a reference, own
//! nothing and need no thought when they go. Most of what a guard does is to find a value and to ask one thing of it, so
//! that is what most of its time goes to. What was computed has no view: it is a [`Value`] and nothing else.

use super::{JsonRef, LiveList, LiveRecord, Value};
use crate::types::At;

/// A value that something else holds.
#[derive(Clone, Copy, Debug)]
pub enum View<'a> {
    /// `null`
    Null,
    /// `true`
    Bool(bool),
    /// `1`
    Int(i64),
    /// `1u`
    UInt(u64),
    /// `1.0`
    Double(f64),
    /// `'text'`
    Text(&'a str),
    /// A point in time as text, RFC 3339, that is ordered as a time.
    Time(&'a str),
    /// A value of any kind in a stored document.
    Json(JsonRef<'a>),
    /// A part of a host's structs, seen as a record.
    Record {
        /// The structs.
        of: &'a dyn LiveRecord,
        /// Which part.
        at: At,
    },
    /// A part of a host's structs, seen as a list.
    List {
        /// The structs.
        of: &'a dyn LiveList,
        /// Which part.
        at: At,
    },
}

impl<'a> View<'a> {
    /// The number, if it is an `int`.
    #[inline]
    #[must_use]
    pub fn as_int(self) -> Option<i64> {
        match self {
            Self::Int(value) => Some(value),
            Self::Json(json) => json.as_int(),
            _ => None,
        }
    }

    /// The text, if it is a `string`.
    #[inline]
    #[must_use]
    pub fn as_str(self) -> Option<&'a str> {
        match self {
            Self::Text(text) | Self::Time(text) => Some(text),
            Self::Json(json) => json.as_str(),
            _ => None,
        }
    }
}

impl<'a> From<View<'a>> for Value<'a> {
    #[inline]
    fn from(view: View<'a>) -> Self {
        match view {
            View::Null => Self::Null,
            View::Bool(value) => Self::Bool(value),
            View::Int(value) => Self::Int(value),
            View::UInt(value) => Self::UInt(value),
            View::Double(value) => Self::Double(value),
            View::Text(text) => Self::text(text),
            View::Time(text) => Self::time_text(text),
            View::Json(json) => json.value(),
            View::Record { of, at } => Self::record(of, at),
            View::List { of, at } => Self::view(of, at),
        }
    }
}
