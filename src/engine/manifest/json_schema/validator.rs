//! A schema made ready: `jsonschema` under our bounds, over our documents.
//!
//! In: a schema that was checked. Out: a [`Validator`] that says of a value whether it fits and, if not, what does not.
//! Nothing is fetched, patterns are linear, and the work is bounded by `max_cost`.

use super::budget::Budget;
use super::standard;
use super::values::{Meter, Packed, Seen};
use super::violation::Violation;
use crate::cel::{JsonRef, Kind};
use crate::limits::EvalLimits;
use crate::manifest::node::Node;
use jsonschema::error::{TypeKind, ValidationErrorKind};
use jsonschema::paths::{Location, LocationSegment};
use jsonschema::{Draft, PatternOptions, ValidationError};
use serde_json::Value;
use std::collections::BTreeSet;
use std::fmt;

/// A schema made ready. Cheap to share, as a parameter's schema is by all functions that have it.
#[derive(Clone)]
pub struct Validator {
    schema: Value,
    ready: jsonschema::Validator<Packed>,
    /// The names of fields that the schema speaks of: in messages no other is repeated.
    names: BTreeSet<String>,
    /// What one look at a value may cost, and how deep values are.
    limits: EvalLimits,
    /// How many times the price of a text its patterns make of it.
    factor: u64,
}

/// Why a schema is not made ready.
pub(in crate::manifest) enum NotReady {
    /// It cannot be, for this reason.
    Refused(String),
    /// It is too much together with the schemas before it.
    TooLarge,
}

impl Validator {
    /// Makes a schema ready that was checked, and pays for it.
    ///
    /// # Errors
    /// Why it cannot be.
    pub(in crate::manifest) fn new(
        schema: &Node,
        root: &Node,
        budget: &mut Budget,
    ) -> Result<Self, NotReady> {
        let schema = standard::for_validator(schema, root);
        let factor = budget.schema(&schema).map_err(|_| NotReady::TooLarge)?;
        let limits = *budget.limits();
        let options = jsonschema::options_for::<Packed>()
            .with_draft(Draft::Draft202012)
            .with_pattern_options(PatternOptions::regex().size_limit(limits.eval.max_regex_bytes))
            .should_validate_formats(true)
            .should_ignore_unknown_formats(false)
            .offline();
        let ready = options.build(&schema).map_err(|error| NotReady::Refused(error.to_string()))?;
        let mut names = BTreeSet::new();
        name_fields(&schema, &mut names);
        Ok(Self { schema, ready, names, limits: limits.eval, factor })
    }

    /// What it was made of: the schema without words that say nothing of values.
    #[must_use]
    pub fn schema(&self) -> &Value {
        &self.schema
    }

    /// The bounds of the values that it looks at.
    #[must_use]
    pub fn limits(&self) -> &EvalLimits {
        &self.limits
    }

    /// Whether a value fits. A value that fits is looked at once and nothing is built.
    ///
    /// # Errors
    /// The first thing that does not fit.
    pub fn check(&self, value: JsonRef<'_>) -> Result<(), Violation> {
        let limit = self.limits.max_cost;
        let meter = Meter::new(limit, self.factor);
        let fits = self.ready.is_valid(Seen { value, meter: Some(&meter) });
        if !meter.is_left() {
            return Err(too_much(limit));
        }
        if fits {
            return Ok(());
        }
        let meter = Meter::new(limit, self.factor);
        let found = self.ready.validate(Seen { value, meter: Some(&meter) });
        match found {
            Err(error) if meter.is_left() => Err(self.violation(&error)),
            // it does not fit, whatever the longer look would have found
            _ => Err(Violation { at: String::new(), keyword: "schema", expected: None, found: None }),
        }
    }

    fn violation(&self, error: &ValidationError<'_>) -> Violation {
        let at = self.place(error.instance_path());
        let kind = error.kind();
        let (keyword, expected) = match kind {
            ValidationErrorKind::Type { kind } => ("type", Some(types(kind))),
            ValidationErrorKind::Enum { .. } => ("enum", None),
            ValidationErrorKind::Constant { .. } => ("const", None),
            ValidationErrorKind::Minimum { limit } => ("minimum", Some(limit.to_string())),
            ValidationErrorKind::Maximum { limit } => ("maximum", Some(limit.to_string())),
            ValidationErrorKind::ExclusiveMinimum { limit } => ("exclusiveMinimum", Some(limit.to_string())),
            ValidationErrorKind::ExclusiveMaximum { limit } => ("exclusiveMaximum", Some(limit.to_string())),
            ValidationErrorKind::MultipleOf { multiple_of } => ("multipleOf", Some(multiple_of.to_string())),
            ValidationErrorKind::MinLength { limit } => ("minLength", Some(limit.to_string())),
            ValidationErrorKind::MaxLength { limit } => ("maxLength", Some(limit.to_string())),
            ValidationErrorKind::MinItems { limit } => ("minItems", Some(limit.to_string())),
            ValidationErrorKind::MaxItems { limit } => ("maxItems", Some(limit.to_string())),
            ValidationErrorKind::MinProperties { limit } => ("minProperties", Some(limit.to_string())),
            ValidationErrorKind::MaxProperties { limit } => ("maxProperties", Some(limit.to_string())),
            ValidationErrorKind::Format { format } => ("format", Some(format.clone())),
            ValidationErrorKind::Pattern { .. } => ("pattern", None),
            ValidationErrorKind::Required { property } => {
                let name = property.as_str().unwrap_or_default();
                return Violation {
                    at: format!("{at}.{name}"),
                    keyword: "required",
                    expected: None,
                    found: None,
                };
            }
            ValidationErrorKind::AdditionalProperties { .. } => ("additionalProperties", None),
            ValidationErrorKind::UnevaluatedProperties { .. } => ("unevaluatedProperties", None),
            ValidationErrorKind::AdditionalItems { .. } => ("items", None),
            ValidationErrorKind::UnevaluatedItems { .. } => ("unevaluatedItems", None),
            ValidationErrorKind::AnyOf { .. } => ("anyOf", None),
            ValidationErrorKind::OneOfNotValid { .. } => ("oneOf", None),
            ValidationErrorKind::OneOfMultipleValid { .. } => ("oneOf", Some("only one of them".to_owned())),
            ValidationErrorKind::Not { .. } => ("not", None),
            ValidationErrorKind::Contains => ("contains", None),
            ValidationErrorKind::PropertyNames { .. } => ("propertyNames", None),
            ValidationErrorKind::UniqueItems => ("uniqueItems", None),
            ValidationErrorKind::FalseSchema => ("false", None),
            _ => ("schema", None),
        };
        let found = (keyword == "type").then(|| kind_of(error.instance()));
        Violation { at, keyword, expected, found }
    }

    /// Where in the value; names that the schema does not declare are the sender's.
    fn place(&self, path: &Location) -> String {
        let mut place = String::new();
        for segment in path {
            match segment {
                LocationSegment::Property(name) if self.names.contains(&*name) => {
                    place.extend([".", &*name]);
                }
                LocationSegment::Property(_) => place.push_str("[…]"),
                LocationSegment::Index(index) => place.push_str(&format!("[{index}]")),
            }
        }
        place
    }
}

impl fmt::Debug for Validator {
    /// What it means.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.schema)
    }
}

fn too_much(limit: u64) -> Violation {
    Violation { at: String::new(), keyword: "max_cost", expected: Some(limit.to_string()), found: None }
}

fn kind_of(value: &Value) -> Kind {
    match value {
        Value::Null => Kind::Null,
        Value::Bool(_) => Kind::Bool,
        Value::Number(number) if number.is_f64() => Kind::Double,
        Value::Number(_) => Kind::Int,
        Value::String(_) => Kind::String,
        Value::Array(_) => Kind::List,
        Value::Object(_) => Kind::Map,
    }
}

fn types(kind: &TypeKind) -> String {
    match kind {
        TypeKind::Single(one) => one.to_string(),
        TypeKind::Multiple(several) => {
            several.iter().map(|one| one.to_string()).collect::<Vec<_>>().join(" or ")
        }
    }
}

/// Gathers the names under `properties`, at any depth. A field that is called `properties` itself makes a name more,
/// which is the author's own.
fn name_fields(schema: &Value, names: &mut BTreeSet<String>) {
    match schema {
        Value::Object(members) => {
            for (key, value) in members {
                if let ("properties" | "dependentSchemas" | "dependentRequired", Value::Object(fields)) =
                    (&**key, value)
                {
                    names.extend(fields.keys().cloned());
                }
                name_fields(value, names);
            }
        }
        Value::Array(items) => items.iter().for_each(|item| name_fields(item, names)),
        _ => {}
    }
}
