//! Whether what an expression gives can fit a schema, as far as that is known before it runs.
//!
//! In: a shape, and an expression with its type. Out: whether nothing that it gives can fit. What is not known may fit. Constant, but
//! for an expression that is a constant itself: linear in that.

use super::expression::Expression;
use super::shape::Shape;
use crate::cel::{Json, Kind, Part, Type};
use crate::manifest::schema::SchemaKind;

impl Shape {
    /// Whether nothing that an expression gives can fit: by its type, or because it is a constant that does not.
    pub(super) fn excludes(&self, expression: &Expression) -> bool {
        let program = expression.program();
        let constant =
            program.constant().and_then(|constant| Json::from_value(&constant, expression.limits()).ok());
        self.excludes_type(program.result_type())
            || constant.is_some_and(|constant| self.check_part(Part::Json(constant.root())).is_err())
    }

    /// Whether no value of this type can fit. What JSON writes as text (times, durations, bytes) may.
    fn excludes_type(&self, ty: &Type) -> bool {
        let Some(kind) = ty.kind() else { return false };
        match (kind, self.kind()) {
            (Kind::Null, Some(_)) => !self.takes_null(),
            (Kind::Bool, Some(expected)) => expected != SchemaKind::Boolean,
            (Kind::Int | Kind::UInt | Kind::Double, Some(expected)) => {
                !matches!(expected, SchemaKind::Number | SchemaKind::Integer)
            }
            (Kind::String | Kind::Bytes | Kind::Timestamp | Kind::Duration, Some(expected)) => {
                expected != SchemaKind::String
            }
            (Kind::List, Some(expected)) => expected != SchemaKind::Array,
            (Kind::Map, Some(expected)) => expected != SchemaKind::Object,
            _ => false,
        }
    }
}
