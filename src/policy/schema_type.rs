//! The CEL type of every value that a schema lets through, and what is known of such values beyond their type.
//!
//! In: a [`Shape`]. Out: types and constants for the checker, which so finds what an expression asks in vain. Linear in
//! the shape.

use super::shape::{Others, Shape, ShapeField};
use crate::cel::{Constant, Domain, Field, RecordType, Storage, Type, Value};
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
        let field = |field: &ShapeField| {
            let ty = field.shape.ty(&format!("{name}.{}", field.name));
            let domain = field.shape.domain().known();
            (field.name.clone(), Field { required: field.required, domain, ..Field::required(ty) })
        };
        Type::Record(Arc::new(RecordType {
            name: name.to_owned(),
            fields: self.fields.iter().map(field).collect(),
            aliases: Vec::new(),
            storage: if matches!(self.others, Others::Refused) { Storage::Closed } else { Storage::Open },
        }))
    }

    /// What every value that fits is beyond its type, and how large it is where its sender keeps to its schema.
    #[must_use]
    pub fn domain(&self) -> Domain {
        let closed = matches!(self.others, Others::Refused) && !self.fields.is_empty();
        let fields = u64::try_from(self.fields.len()).ok().filter(|_| closed);
        Domain {
            allowed: self.constants().map(Into::into),
            max_size: self.max_size.or(fields),
            items: self.items.as_ref().and_then(|items| items.domain().known()),
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
