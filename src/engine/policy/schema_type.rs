//! The CEL type of every value that a schema lets through, and what is known of such values beyond their type.
//!
//! In: a [`Shape`]. Out: types and constants for the checker, which so finds what an expression asks in vain. Linear in
//! the shape.

use super::shape::{Others, Shape};
use crate::cel::{Constant, Domain, Field, Numbers, RecordType, Storage, Type, Value};
use crate::manifest::schema::SchemaKind;
use std::sync::Arc;

impl Shape {
    /// The CEL type of every value that fits; `name` is what messages call an object. `number` and `integer` are `dyn`:
    /// JSON makes ints and doubles of them, as they are written. So is what may be null: only a record stays one, because
    /// null goes with a record, and its fields are worth more than the doubt.
    #[must_use]
    pub fn ty(&self, name: &str) -> Type {
        match self.kind {
            None if !self.alternatives.is_empty() && !self.nullable => {
                let mut types = self.alternatives.iter().map(|shape| shape.ty(name));
                let first = types.next().unwrap_or(Type::Dyn);
                types.fold(first, |common, ty| common.common(&ty))
            }
            None => match self.allowed.as_deref() {
                Some([only]) if matches!(only.value(), Value::Null) => Type::Null,
                _ => Type::Dyn,
            },
            Some(SchemaKind::Object) if !self.fields.is_empty() => self.record(name),
            Some(_) if self.nullable => Type::Dyn,
            Some(SchemaKind::Number | SchemaKind::Integer) => Type::Dyn,
            Some(SchemaKind::String) => Type::String,
            Some(SchemaKind::Boolean) => Type::Bool,
            Some(SchemaKind::Array) => {
                let item = format!("{name}[]");
                Type::list(self.items.as_ref().map_or(Type::Dyn, |items| items.ty(&item)))
            }
            Some(SchemaKind::Object) => {
                let value = match &self.others {
                    Others::Of(shape) => shape.ty(&format!("{name}[]")),
                    Others::Any | Others::Refused => Type::Dyn,
                };
                Type::map(Type::String, value)
            }
        }
    }

    /// An object with known fields. A name that it lacks is worth a warning only where the schema is closed: elsewhere
    /// JSON Schema lets any field through, tools add fields before their schemas do, and a warning that is mostly wrong
    /// teaches authors to skip all of them.
    fn record(&self, name: &str) -> Type {
        Type::Record(Arc::new(RecordType {
            name: name.to_owned(),
            fields: self.members(name).collect(),
            aliases: Vec::new(),
            storage: if matches!(self.others, Others::Refused) { Storage::Closed } else { Storage::Open },
        }))
    }

    /// The known fields of an object; `name` is what messages call it.
    pub(super) fn members(&self, name: &str) -> impl Iterator<Item = (Arc<str>, Field)> {
        self.fields.iter().map(move |field| {
            let ty = field.shape.ty(&format!("{name}.{}", field.name));
            let domain = field.shape.domain().known();
            (field.name.clone(), Field { required: field.required, domain, ..Field::required(ty) })
        })
    }

    /// The names of these fields.
    pub(super) fn names(&self) -> impl Iterator<Item = &Arc<str>> {
        self.fields.iter().map(|field| &field.name)
    }

    /// The bounds that the schema sets on its values besides their type: the only values, the ranges of numbers and sizes, and the pattern of texts.
    #[must_use]
    pub fn domain(&self) -> Domain {
        let closed = matches!(self.others, Others::Refused) && !self.fields.is_empty();
        let fields = u64::try_from(self.fields.len()).ok().filter(|_| closed);
        Domain {
            allowed: self.constants().map(Into::into),
            least: self.bounds.numbers[0],
            most: self.bounds.numbers[1],
            pattern: self.bounds.pattern.clone(),
            min_size: self.bounds.sizes[0],
            max_size: self.bounds.sizes[1].or(fields),
            items: self.items.as_ref().and_then(|items| items.domain().known()),
            members: None,
            numbers: self.numbers(),
            or_null: false,
        }
    }

    /// Which numbers fit, if nothing else does.
    fn numbers(&self) -> Option<Numbers> {
        match self.kind.filter(|_| !self.nullable)? {
            SchemaKind::Number => Some(Numbers::All),
            SchemaKind::Integer => Some(Numbers::Whole),
            SchemaKind::String | SchemaKind::Boolean | SchemaKind::Array | SchemaKind::Object => None,
        }
    }

    /// The constants that fit, if nothing else does. Of several shapes with constants, such as a `oneOf` of `const`, all.
    fn constants(&self) -> Option<Vec<Constant>> {
        let mut constants: Vec<Constant> = match &self.allowed {
            Some(allowed) => {
                allowed.iter().map(|allowed| constant(&allowed.value())).collect::<Option<_>>()?
            }
            None if self.alternatives.is_empty() => return None,
            None => {
                let of_each: Option<Vec<_>> = self.alternatives.iter().map(Self::constants).collect();
                of_each?.into_iter().flatten().collect()
            }
        };
        constants.extend(self.nullable.then_some(Constant::Null));
        Some(constants)
    }
}

/// The record of what is of any of these types; nothing if one of them is no record. A field is sure to be there if all of
/// them have it, and of its type if no other record may have one of that name and of another type.
pub(super) fn any_of(name: &str, types: impl IntoIterator<Item = Type>) -> Option<RecordType> {
    let mut all: Option<RecordType> = None;
    for ty in types {
        let Type::Record(record) = ty else { return None };
        let before = all.take().map_or_else(|| named(name, &record), |before| either(before, &record));
        all = Some(before);
    }
    all
}

fn named(name: &str, record: &RecordType) -> RecordType {
    RecordType { name: name.to_owned(), ..record.clone() }
}

fn either(mut all: RecordType, other: &RecordType) -> RecordType {
    let unknown = |storage: Storage| storage == Storage::Open;
    for (name, field) in &mut all.fields {
        match other.fields.get(name) {
            Some(same) => *field = either_field(field, same),
            None => *field = elsewhere(field, unknown(other.storage)),
        }
    }
    for (name, field) in &other.fields {
        let untyped = unknown(all.storage);
        all.fields.entry(name.clone()).or_insert_with(|| elsewhere(field, untyped));
    }
    if unknown(other.storage) {
        all.storage = Storage::Open;
    }
    all
}

/// A field that two records have.
fn either_field(one: &Field, other: &Field) -> Field {
    let both = [one.ty.clone(), other.ty.clone()];
    let ty = match &both {
        [Type::Record(record), Type::Record(_)] => {
            any_of(&record.name, both.clone()).map_or(Type::Dyn, |both| Type::Record(Arc::new(both)))
        }
        [one, other] => one.common(other),
    };
    let domain = one.domain.clone().filter(|_| one.domain == other.domain);
    Field { required: one.required && other.required, domain, ..Field::required(ty) }
}

/// A field that only one of two records has; the other one may have anything by that name, or nothing.
fn elsewhere(field: &Field, untyped: bool) -> Field {
    if untyped { Field::optional(Type::Dyn) } else { Field { required: false, ..field.clone() } }
}

/// A value as a constant, if it is a scalar.
pub(super) fn constant(value: &Value<'_>) -> Option<Constant> {
    #[expect(
        clippy::cast_precision_loss,
        reason = "two numbers that become one make a warning less, never a wrong one"
    )]
    Some(match value {
        Value::Null => Constant::Null,
        Value::Bool(value) => Constant::Bool(*value),
        Value::Int(value) => Constant::Number(*value as f64),
        Value::Double(value) => Constant::Number(*value),
        Value::String(text) => Constant::Text((&**text).into()),
        _ => return None,
    })
}
