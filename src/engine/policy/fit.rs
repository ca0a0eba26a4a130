//! Whether what an expression gives can fit a schema, as far as that is known before it runs.
//!
//! In: a shape, and an expression with the types of its parts. Out: whether nothing that it gives can fit. What is not known may fit. Of a map that is
//! written out, each value is held against the schema of its field. Linear in the expression, and in a constant that it is.

use super::expression::Expression;
use super::shape::Shape;
use crate::cel::{Checked, Expr, ExprKind, Json, Kind, Literal, Part, Type, Value};
use crate::manifest::schema::SchemaKind;

impl Shape {
    /// Whether nothing that an expression gives can fit: by its type, because it is a constant that does not, or because a part of it does not.
    pub(super) fn excludes(&self, expression: &Expression) -> bool {
        let program = expression.program();
        match program.constant() {
            Some(constant) => {
                let constant = Json::from_value(&constant, expression.limits());
                self.excludes_type(program.result_type())
                    || constant.is_ok_and(|constant| self.check_part(Part::Json(constant.root())).is_err())
            }
            None => expression.checked().is_some_and(|checked| self.excludes_part(&checked, &checked.expr)),
        }
    }

    /// The same of a part of an expression.
    fn excludes_part(&self, checked: &Checked, part: &Expr) -> bool {
        match &part.kind {
            ExprKind::Literal(Literal::String(text)) => self.excludes_value(&Value::from(text.as_str())),
            ExprKind::Literal(Literal::Int(number)) => self.excludes_value(&Value::Int(*number)),
            ExprKind::Literal(Literal::Double(number)) => self.excludes_value(&Value::Double(*number)),
            ExprKind::Literal(Literal::Bool(truth)) => self.excludes_value(&Value::Bool(*truth)),
            ExprKind::Map(entries) if self.kind() == Some(SchemaKind::Object) => {
                entries.iter().any(|entry| {
                    let ExprKind::Literal(Literal::String(key)) = &entry.key.kind else { return false };
                    let field = self.fields.iter().find(|field| *field.name == **key);
                    field.is_some_and(|field| {
                        !entry.optional && field.shape.excludes_part(checked, &entry.value)
                    })
                })
            }
            _ => {
                let numbers = checked.domain_of(part.id).and_then(|domain| domain.numbers);
                match (checked.type_of(part.id), numbers) {
                    // whichever number it is
                    (Type::Dyn, Some(_)) => self.excludes_type(&Type::Double),
                    (ty, _) => self.excludes_type(ty),
                }
            }
        }
    }

    fn excludes_value(&self, value: &Value<'_>) -> bool {
        self.check(value).is_err()
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
