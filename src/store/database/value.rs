//! What goes into a statement and what comes out of it, the same for every database: null, whole numbers, text.
//!
//! JSON is text and a time is text or a number, so that every tool shows a row as it is. A column of another kind than
//! was asked for is damage and says so.

use crate::{StoreError, messages};
use std::borrow::Cow;

/// A value of a column or a parameter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SqlValue<'v> {
    /// Nothing.
    Null,
    /// A whole number.
    Int(i64),
    /// A text without the character U+0000, which Postgres does not store.
    Text(Cow<'v, str>),
}

impl From<i64> for SqlValue<'_> {
    fn from(number: i64) -> Self {
        Self::Int(number)
    }
}

impl From<u64> for SqlValue<'_> {
    /// A number beyond the largest that is stored becomes that one: of versions and counts there are never so many.
    fn from(number: u64) -> Self {
        Self::Int(i64::try_from(number).unwrap_or(i64::MAX))
    }
}

impl<'v> From<&'v str> for SqlValue<'v> {
    fn from(text: &'v str) -> Self {
        Self::Text(Cow::Borrowed(text))
    }
}

impl<'v> From<&'v String> for SqlValue<'v> {
    fn from(text: &'v String) -> Self {
        Self::Text(Cow::Borrowed(text))
    }
}

impl From<String> for SqlValue<'_> {
    fn from(text: String) -> Self {
        Self::Text(Cow::Owned(text))
    }
}

impl<'v, T: Into<SqlValue<'v>>> From<Option<T>> for SqlValue<'v> {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Null, Into::into)
    }
}

/// One row of an answer; columns are counted from 0.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row(pub(super) Vec<SqlValue<'static>>);

impl Row {
    /// A whole number.
    ///
    /// # Errors
    /// [`StoreError::Corrupt`] if there is none in this column.
    pub fn int(&self, column: usize) -> Result<i64, StoreError> {
        match self.0.get(column) {
            Some(SqlValue::Int(number)) => Ok(*number),
            _ => Err(StoreError::Corrupt(messages::column(column))),
        }
    }

    /// A whole number that is not negative.
    ///
    /// # Errors
    /// [`StoreError::Corrupt`] if there is none in this column.
    pub fn count(&self, column: usize) -> Result<u64, StoreError> {
        u64::try_from(self.int(column)?).map_err(|_| StoreError::Corrupt(messages::column(column)))
    }

    /// A text.
    ///
    /// # Errors
    /// [`StoreError::Corrupt`] if there is none in this column.
    pub fn text(&self, column: usize) -> Result<&str, StoreError> {
        self.optional_text(column)?.ok_or_else(|| StoreError::Corrupt(messages::column(column)))
    }

    /// A text, or nothing where the column is null.
    ///
    /// # Errors
    /// [`StoreError::Corrupt`] if something else is in this column.
    pub fn optional_text(&self, column: usize) -> Result<Option<&str>, StoreError> {
        match self.0.get(column) {
            Some(SqlValue::Text(text)) => Ok(Some(text)),
            Some(SqlValue::Null) => Ok(None),
            _ => Err(StoreError::Corrupt(messages::column(column))),
        }
    }

    /// A whole number, or nothing where the column is null.
    ///
    /// # Errors
    /// [`StoreError::Corrupt`] if something else is in this column.
    pub fn optional_int(&self, column: usize) -> Result<Option<i64>, StoreError> {
        match self.0.get(column) {
            Some(SqlValue::Null) => Ok(None),
            _ => self.int(column).map(Some),
        }
    }
}
