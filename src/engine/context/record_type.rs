//! The type of a record that is made of names.
//!
//! In: names, their types, whether each is always there, and a line about each. Out: the type of the record.

use crate::cel::{Field, RecordType, Storage, Type};
use std::sync::Arc;

/// A record of names, their types, whether each is always there, and a line about each.
pub(super) fn record<'d>(
    name: &str,
    fields: impl IntoIterator<Item = (Arc<str>, Type, bool, &'d str)>,
) -> Type {
    let field = |(name, ty, required, doc): (Arc<str>, Type, bool, &str)| {
        (name, Field { required, doc: doc.to_owned(), ..Field::required(ty) })
    };
    Type::Record(Arc::new(RecordType {
        name: name.to_owned(),
        fields: fields.into_iter().map(field).collect(),
        aliases: Vec::new(),
        storage: Storage::Closed,
    }))
}
