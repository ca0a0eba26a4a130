//! What a JSON value must look like: the part of JSON Schema that the specification speaks of, made ready to be asked.
//!
//! In: the schema of a parameter. Out: a [`Shape`], which says whether a value fits (PAR-08) and which CEL type every
//! value that fits has. One thing gives both answers, so an expression never sees a value that its type excludes.
//! `number` and `integer` are `dyn` in expressions: JSON makes ints and doubles of them, as they are written.

use crate::cel::{Field, Json, Kind, RecordType, Storage, Type, Value};
use crate::manifest::schema::{Property, Schema, SchemaKind};
use std::sync::Arc;

/// What a value must look like.
#[derive(Clone, Debug, Default)]
pub struct Shape {
    kind: Option<SchemaKind>,
    allowed: Option<Box<[Json]>>,
    items: Option<Box<Shape>>,
    /// Known fields of an object; others may be there too.
    fields: Vec<(Arc<str>, Shape)>,
}

/// Why a value does not fit. Holds no value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Misfit {
    /// It is of another type.
    Kind {
        /// Where in the value: `.address.street`, `[0]`; empty for the value itself.
        at: String,
        /// The type it must have.
        expected: SchemaKind,
        /// What it is.
        found: Kind,
    },
    /// It is none of the values of `enum`.
    NotAllowed {
        /// Where in the value.
        at: String,
    },
}

impl Shape {
    /// The shape of a schema.
    #[must_use]
    pub fn of(schema: &Schema) -> Self {
        Self {
            kind: schema.kind,
            allowed: schema.allowed.as_ref().map(|values| values.iter().map(Json::from).collect()),
            items: schema.items.as_deref().map(|items| Box::new(Self::of(items))),
            fields: schema.properties.iter().map(Self::of_field).collect(),
        }
    }

    fn of_field(field: &Property) -> (Arc<str>, Self) {
        (field.name.text.clone(), Self::of(&field.schema))
    }

    /// Any text.
    #[must_use]
    pub fn text() -> Self {
        Self { kind: Some(SchemaKind::String), ..Self::default() }
    }

    /// Whether a value fits, which must be one that JSON can express. Linear in the value; allocates only to say where it
    /// does not.
    ///
    /// # Errors
    /// The first misfit.
    pub fn check(&self, value: &Value<'_>) -> Result<(), Misfit> {
        if let Some(expected) = self.kind.filter(|&kind| !is_of_kind(value, kind)) {
            return Err(Misfit::Kind { at: String::new(), expected, found: value.kind() });
        }
        let allowed = |values: &[Json]| values.iter().any(|allowed| allowed.value().equals(value));
        if !self.allowed.as_deref().is_none_or(allowed) {
            return Err(Misfit::NotAllowed { at: String::new() });
        }
        match value {
            Value::List(list) => {
                let Some(shape) = &self.items else { return Ok(()) };
                list.iter().enumerate().try_for_each(|(index, item)| {
                    shape.check(&item).map_err(|misfit| misfit.inside(&format!("[{index}]")))
                })
            }
            Value::Map(map) => self.fields.iter().try_for_each(|(name, shape)| match map.get_str(name) {
                Some(field) => shape.check(&field).map_err(|misfit| misfit.inside(&format!(".{name}"))),
                None => Ok(()),
            }),
            _ => Ok(()),
        }
    }

    /// The CEL type of every value that fits.
    #[must_use]
    pub fn ty(&self) -> Type {
        match self.kind {
            None | Some(SchemaKind::Number | SchemaKind::Integer) => Type::Dyn,
            Some(SchemaKind::String) => Type::String,
            Some(SchemaKind::Boolean) => Type::Bool,
            Some(SchemaKind::Array) => Type::list(self.items.as_ref().map_or(Type::Dyn, |items| items.ty())),
            Some(SchemaKind::Object) if self.fields.is_empty() => Type::map(Type::String, Type::Dyn),
            Some(SchemaKind::Object) => {
                let field = |(name, shape): &(Arc<str>, Self)| {
                    (name.clone(), Field { ty: shape.ty(), required: false, doc: String::new(), part: None })
                };
                Type::Record(Arc::new(RecordType {
                    name: "object".to_owned(),
                    fields: self.fields.iter().map(field).collect(),
                    aliases: Vec::new(),
                    storage: Storage::Open,
                }))
            }
        }
    }
}

fn is_of_kind(value: &Value<'_>, kind: SchemaKind) -> bool {
    match (value, kind) {
        (Value::String(_), SchemaKind::String)
        | (Value::Bool(_), SchemaKind::Boolean)
        | (Value::Int(_) | Value::Double(_), SchemaKind::Number)
        | (Value::Int(_), SchemaKind::Integer)
        | (Value::Map(_), SchemaKind::Object)
        | (Value::List(_), SchemaKind::Array) => true,
        (Value::Double(value), SchemaKind::Integer) => value.fract() == 0.0,
        _ => false,
    }
}

impl Misfit {
    /// The same, seen from one level further out.
    fn inside(mut self, step: &str) -> Self {
        let (Self::Kind { at, .. } | Self::NotAllowed { at }) = &mut self;
        at.insert_str(0, step);
        self
    }
}
