//! What an action says that it returns (`output`), made ready: results are held to it, and expressions typed by it.
//!
//! In: the schema of an action. Out: an [`OutputSchema`], which says whether a result fits, what `output` and `outputs` are
//! to the checker, and whether a transform makes something else altogether. A call that failed gives what it likes, mostly
//! `{error: …}`, and is not held to the schema; so no type claims more than that a field is what the schema says where it
//! is there. Linear in the schema; holding a result to it costs at most `max_cost`.

use super::expression::Expression;
use super::messages;
use super::origin::Origin;
use super::schema_type::any_of;
use super::shape::Shape;
use crate::cel::{Field, Json, Part, Storage, Type};
use crate::manifest::json_schema::Shown;
use crate::manifest::schema::Schema;
use crate::source::Place;
use std::sync::Arc;

/// The field in which a failed call says what went wrong (TOOL-08, DEL-02).
const ERROR: &str = "error";

/// What else failed calls mostly say. To ask for one of these is never a slip.
const OF_FAILED_CALLS: &[&str] = &["code", "detail", "details", "message", "reason", "status"];

/// The schema of the results of an action that succeeds.
#[derive(Clone, Debug)]
pub struct OutputSchema {
    shape: Shape,
    shown: Arc<serde_json::Value>,
    path: String,
    place: Place,
}

impl OutputSchema {
    /// The schema of the action at this path.
    pub(super) fn of(declared: &Schema, action: &str) -> Self {
        let mut shown = Shown::default();
        let schema = shown.schema(&declared.node, &declared.root);
        Self {
            shape: Shape::of(declared),
            shown: Arc::new(shown.whole(schema)),
            path: format!("{action}.output"),
            place: declared.node.place.clone(),
        }
    }

    /// Whether a result fits.
    ///
    /// # Errors
    /// The part of the result that does not fit, and the word of the schema that it breaks, without a value of it.
    ///
    /// # Cost
    /// Linear in the result for a schema of types and constants; for any other at most `max_cost`.
    pub fn check(&self, output: &Json) -> Result<(), String> {
        self.shape.check_part(Part::Json(output.root())).map_err(|misfit| messages::output_misfit(&misfit))
    }

    /// Whether a result that succeeded may lack the member at a path.
    pub(crate) fn may_lack(&self, path: &[Option<String>]) -> bool {
        self.shape.requires(path) == Some(false)
    }

    /// The schema as the model may see it: the definitions that it refers to stand in its own `$defs`.
    #[must_use]
    pub fn schema(&self) -> &serde_json::Value {
        &self.shown
    }

    /// What its values look like.
    pub(super) fn shape(&self) -> &Shape {
        &self.shape
    }

    /// Where it stands, as decisions name it.
    #[must_use]
    pub fn origin(&self) -> Origin {
        Origin::new(&self.path, &self.place)
    }

    /// Where it stands.
    pub(super) fn place(&self) -> &Place {
        &self.place
    }

    /// The type of a result of any of these functions, successful or not; `name` is what messages call it. Only an object
    /// stays one: what a failed call gives is mostly one too.
    pub(super) fn ty<'o>(name: &str, outputs: impl Iterator<Item = Option<&'o Self>>) -> Type {
        let types = outputs.map(|output| output.map_or(Type::Dyn, |output| output.shape.ty(name)));
        let Some(mut record) = any_of(name, types).filter(|record| !record.fields.is_empty()) else {
            return Type::Dyn;
        };
        for field in record.fields.values_mut() {
            field.required = false;
        }
        record.fields.entry(ERROR.into()).or_insert_with(|| Field::optional(Type::Dyn));
        if record.storage == Storage::Closed {
            record.storage = Storage::ClosedUnlessFailed { beside: OF_FAILED_CALLS };
        }
        Type::Record(Arc::new(record))
    }

    /// Whether nothing that an expression gives can fit: by its type, or because it is a constant that does not.
    pub(super) fn excludes(&self, expression: &Expression) -> bool {
        self.shape.excludes(expression)
    }
}
