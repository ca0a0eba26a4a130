//! The type of a record that is made of names.
//!
//! In: names, their types, and whether each is always there. Out: the type of the record.

use crate::cel::{Field, RecordType, Storage, Type};
use std::sync::Arc;

/// A record of names, their types, and whether each is always there.
pub(super) fn record(name: &str, fields: impl IntoIterator<Item = (Arc<str>, Type, bool)>) -> Type {
    let field = |(name, ty, required)| (name, Field { required, ..Field::required(ty) });
    Type::Record(Arc::new(RecordType {
        name: name.to_owned(),
        fields: fields.into_iter().map(field).collect(),
        aliases: Vec::new(),
        storage: Storage::Closed,
    }))
}
