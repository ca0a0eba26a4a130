//! What a JSON value must look like: JSON Schema as far as types follow from it, made ready to be asked.
//!
//! In: the schema of a parameter, of a result or of a payload. Out: a [`Shape`], which says whether a value fits (PAR-08),
//! and of which `schema_type` says the CEL type that every value that fits has. One thing gives both answers, so an
//! expression never sees a value that its type excludes. The types follow from `type`, `nullable`, `enum`, `const`, `items`, `properties`, `required`,
//! `additionalProperties`, `oneOf` and `anyOf`; the rest, `$ref` included, makes values fewer and is `dyn`. A schema that
//! says no more than the first of these is asked here; any other is asked of its validator, which knows all words.

use super::misfit::Misfit;
use crate::cel::{Json, Key, Kind, Map, Part, Value};
use crate::manifest::json_schema::Validator;
use crate::manifest::node::{Data, Entry, Node};
use crate::manifest::schema::{Schema, SchemaKind};
use std::sync::Arc;

/// The shape that a value must have: a schema, made ready for checking.
#[derive(Clone, Debug, Default)]
pub struct Shape {
    pub(super) kind: Option<SchemaKind>,
    /// Whether null will do as well.
    pub(super) nullable: bool,
    pub(super) allowed: Option<Box<[Json]>>,
    pub(super) items: Option<Box<Shape>>,
    /// Known fields of an object.
    pub(super) fields: Box<[ShapeField]>,
    /// What becomes of fields that are not known.
    pub(super) others: Others,
    /// Shapes of which one must fit; none if there is no choice.
    pub(super) alternatives: Box<[Shape]>,
    /// The words that bound numbers and sizes, for the checker.
    pub(super) bounds: Bounds,
    /// The whole schema made ready, if it says more than what stands above: then it alone is asked.
    pub(super) validator: Option<Arc<Validator>>,
}

/// The bounds of values, as far as the checker can use them: each is held by the validator of its schema.
#[derive(Clone, Debug, Default)]
pub(super) struct Bounds {
    /// The least and the greatest number.
    pub(super) numbers: [Option<f64>; 2],
    /// The least and the greatest size, of whichever the type has: characters, items or fields.
    pub(super) sizes: [Option<u64>; 2],
    /// `pattern`, as the regular expressions of expressions are written.
    pub(super) pattern: Option<Arc<str>>,
}

/// A known field of an object.
#[derive(Clone, Debug)]
pub(super) struct ShapeField {
    pub(super) name: Arc<str>,
    pub(super) shape: Shape,
    /// Whether an object without it does not fit. A default within a parameter fills nothing in, so it changes nothing here.
    pub(super) required: bool,
}

/// `additionalProperties`.
#[derive(Clone, Debug, Default)]
pub(super) enum Others {
    #[default]
    Any,
    Refused,
    Of(Box<Shape>),
}

impl Shape {
    /// Whether each value has the member at a path; nothing if the path is not declared. An element of a list has no name.
    pub(super) fn requires(&self, path: &[Option<String>]) -> Option<bool> {
        let field = |name: &str| self.fields.iter().find(|field| *field.name == *name);
        match path {
            [Some(name)] => field(name).map(|field| field.required),
            [Some(name), rest @ ..] => field(name)?.shape.requires(rest),
            [None, rest @ ..] => self.items.as_ref()?.requires(rest),
            [] => None,
        }
    }

    /// The shape of a schema. Linear in the schema, whose depth is that of its file.
    #[must_use]
    pub fn of(schema: &Schema) -> Self {
        Self { validator: schema.validator.clone(), ..Self::of_node(&schema.node) }
    }

    pub(super) fn of_node(node: &Node) -> Self {
        let each = |node: &Node| node.as_sequence().unwrap_or_default().iter().map(Self::of_node).collect();
        let (kind, null) = kind_of(node.get("type"));
        let constant = node.get("const").map(|value| [Json::from(&value.to_json())].into());
        let listed = node.get("enum").and_then(Node::as_sequence);
        let listed = listed.map(|values| values.iter().map(|value| Json::from(&value.to_json())).collect());
        let only_null = (kind.is_none() && null == Null::Only).then(|| [Json::null()].into());
        Self {
            kind,
            nullable: null == Null::Too || is_true(node.get("nullable")),
            allowed: constant.or(listed).or(only_null),
            // where the first items have schemas of their own, this one is not about all of them
            items: node
                .get("items")
                .filter(|items| items.as_mapping().is_some() && node.get("prefixItems").is_none())
                .map(|items| Box::new(Self::of_node(items))),
            fields: fields_of(node),
            others: match node.get("additionalProperties").filter(|_| node.get("patternProperties").is_none())
            {
                Some(Node { data: Data::Bool(false), .. }) => Others::Refused,
                Some(schema @ Node { data: Data::Mapping(_), .. }) => {
                    Others::Of(Box::new(Self::of_node(schema)))
                }
                _ => Others::Any,
            },
            alternatives: node.get("anyOf").or_else(|| node.get("oneOf")).map(each).unwrap_or_default(),
            bounds: Bounds::of(node, kind),
            validator: None,
        }
    }

    /// Any text.
    #[must_use]
    pub fn text() -> Self {
        Self { kind: Some(SchemaKind::String), ..Self::default() }
    }

    /// The type that every value has, if it is one; null may do as well ([`Shape::takes_null`]).
    pub(super) fn kind(&self) -> Option<SchemaKind> {
        self.kind
    }

    /// Whether null fits a schema that names another type.
    pub(super) fn takes_null(&self) -> bool {
        self.nullable
    }

    /// Whether no value has both types. An integer is a number.
    pub(super) fn is_contrary(&self, other: &Self) -> bool {
        let of_number = |kind: SchemaKind| matches!(kind, SchemaKind::Integer | SchemaKind::Number);
        let (Some(one), Some(two)) = (self.kind, other.kind) else { return false };
        one != two && !(of_number(one) && of_number(two)) && !(self.nullable && other.nullable)
    }

    /// Whether its bounds let nothing by: the least is above the greatest.
    pub(crate) fn is_impossible(&self) -> bool {
        let [least, most] = self.bounds.numbers;
        let [fewest, largest] = self.bounds.sizes;
        least.zip(most).is_some_and(|(least, most)| least > most)
            || fewest.zip(largest).is_some_and(|(fewest, largest)| fewest > largest)
    }

    /// Whether it names constants, and the rest of it allows none of them.
    pub(crate) fn refuses_its_constants(&self) -> bool {
        let is_refused = |constant: &Json| self.check(&constant.value()).is_err();
        self.allowed.as_deref().is_some_and(|allowed| allowed.iter().all(is_refused))
    }

    /// Whether it says something of texts beyond that a value is one.
    #[must_use]
    pub(super) fn restricts_texts(&self) -> bool {
        let takes_texts = matches!(self.kind, Some(SchemaKind::String) | None);
        takes_texts && (self.validator.is_some() || self.allowed.is_some() || !self.alternatives.is_empty())
    }

    /// Whether a value fits, which must be one that JSON can express. Linear in the value, times the alternatives of its
    /// schema; allocates only to say where it does not fit.
    ///
    /// # Errors
    /// The first misfit.
    pub fn check(&self, value: &Value<'_>) -> Result<(), Misfit> {
        if let Some(validator) = &self.validator {
            let too_deep = |_| Misfit::broken("max_json_depth");
            let value = Json::from_value_within(value, validator.limits()).map_err(too_deep)?;
            return validator.check(value.root()).map_err(Into::into);
        }
        if self.nullable && matches!(value, Value::Null) {
            return Ok(());
        }
        if let Some(expected) = self.kind.filter(|&kind| !is_of_kind(value, kind)) {
            return Err(Misfit::Kind { at: String::new(), expected, found: value.kind() });
        }
        let allowed = |values: &[Json]| values.iter().any(|allowed| allowed.value().equals(value));
        if !self.allowed.as_deref().is_none_or(allowed) {
            return Err(Misfit::NotAllowed { at: String::new() });
        }
        let fits = |shape: &Self| shape.check(value).is_ok();
        if !self.alternatives.is_empty() && !self.alternatives.iter().any(fits) {
            return Err(Misfit::NoAlternative { at: String::new() });
        }
        match value {
            Value::List(list) => {
                let Some(shape) = &self.items else { return Ok(()) };
                list.iter().enumerate().try_for_each(|(index, item)| {
                    shape.check(&item).map_err(|misfit| misfit.inside(&format!("[{index}]")))
                })
            }
            Value::Map(map) => {
                for ShapeField { name, shape, required } in &self.fields {
                    match map.get_str(name) {
                        Some(field) => {
                            shape.check(&field).map_err(|misfit| misfit.inside(&format!(".{name}")))?;
                        }
                        None if *required => return Err(Misfit::Missing { at: format!(".{name}") }),
                        None => {}
                    }
                }
                self.check_others(map)
            }
            _ => Ok(()),
        }
    }

    /// The same for a part of a document. Most schemas say no more than a type, which is read off where it lies.
    ///
    /// # Errors
    /// The first misfit.
    #[inline]
    pub fn check_part(&self, part: Part<'_>) -> Result<(), Misfit> {
        if self.is_only(part.kind()) {
            return Ok(());
        }
        match (part, &self.validator) {
            (Part::Json(value), Some(validator)) => validator.check(value).map_err(Into::into),
            (Part::Json(value), None) => self.check(&value.value()),
            (Part::Value(value), _) => self.check(value),
        }
    }

    /// Whether it says no more than a type, which any value of this kind has.
    #[inline]
    fn is_only(&self, kind: Kind) -> bool {
        let has_type = match self.kind {
            Some(SchemaKind::String) => kind == Kind::String,
            Some(SchemaKind::Boolean) => kind == Kind::Bool,
            Some(SchemaKind::Number) => matches!(kind, Kind::Int | Kind::Double),
            Some(SchemaKind::Integer) => kind == Kind::Int,
            Some(SchemaKind::Object | SchemaKind::Array) | None => false,
        };
        has_type && self.allowed.is_none() && self.alternatives.is_empty() && self.validator.is_none()
    }

    /// The fields of an object that its schema does not name.
    fn check_others(&self, map: &Map<'_>) -> Result<(), Misfit> {
        let known = |key: &Key<'_>| match key {
            Key::String(key) => self.fields.iter().any(|field| *field.name == **key),
            Key::Bool(_) | Key::Int(_) | Key::UInt(_) => false,
        };
        let mut others = map.iter().filter(|(key, _)| !known(key));
        match &self.others {
            Others::Any => Ok(()),
            Others::Refused if others.next().is_some() => Err(Misfit::Undeclared { at: String::new() }),
            Others::Refused => Ok(()),
            // the key is the caller's: it is not repeated
            Others::Of(shape) => {
                others.try_for_each(|(_, value)| shape.check(&value).map_err(|misfit| misfit.inside("[…]")))
            }
        }
    }
}

fn fields_of(node: &Node) -> Box<[ShapeField]> {
    let required = node.get("required").and_then(Node::as_sequence).unwrap_or_default();
    let required = |name: &str| required.iter().filter_map(Node::as_string).any(|text| *text.text == *name);
    let entries = node.get("properties").and_then(Node::as_mapping).unwrap_or_default();
    let field = |entry: &Entry| ShapeField {
        name: entry.key.text.clone(),
        shape: Shape::of_node(&entry.value),
        required: required(&entry.key.text),
    };
    entries.iter().map(field).collect()
}

/// Whether a `type` names null.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Null {
    No,
    Only,
    Too,
}

/// The type of a schema, if it is one and known, and what becomes of null.
fn kind_of(node: Option<&Node>) -> (Option<SchemaKind>, Null) {
    let is_null = |node: &Node| node.is_null() || node.as_string().is_some_and(|word| &*word.text == "null");
    let named = |node: &Node| SchemaKind::named(&node.as_string()?.text);
    match node {
        None => (None, Null::No),
        Some(node) => match node.as_sequence() {
            None if is_null(node) => (None, Null::Only),
            None => (named(node), Null::No),
            Some(several) => {
                let mut others = several.iter().filter(|node| !is_null(node));
                let kind = others.next().and_then(named).filter(|_| others.next().is_none());
                (kind, if several.iter().any(is_null) { Null::Too } else { Null::No })
            }
        },
    }
}

impl Bounds {
    fn of(node: &Node, kind: Option<SchemaKind>) -> Self {
        let size = |key: Option<&str>| {
            let Data::Int(size) = node.get(key?)?.data else { return None };
            u64::try_from(size).ok()
        };
        let keys = kind.and_then(size_keys);
        let sizes = [size(keys.map(|[least, _]| least)), size(keys.map(|[_, most]| most))];
        if !cfg!(feature = "schemas") {
            // nothing holds values to these words, and the greatest size is for the static cost
            return Self { sizes: [None, sizes[1]], ..Self::default() };
        }
        let number = |key| node.get(key).and_then(number);
        let tighter = |one: Option<f64>, two: Option<f64>, by: fn(f64, f64) -> f64| match (one, two) {
            (Some(one), Some(two)) => Some(by(one, two)),
            (one, two) => one.or(two),
        };
        let above = number("exclusiveMinimum").map(f64::next_up);
        let below = number("exclusiveMaximum").map(f64::next_down);
        Self {
            numbers: [
                tighter(number("minimum"), above, f64::max),
                tighter(number("maximum"), below, f64::min),
            ],
            sizes,
            pattern: node
                .get("pattern")
                .and_then(Node::as_string)
                .and_then(|pattern| regular_expression(&pattern.text)),
        }
    }
}

/// A pattern of a schema, which is one of JavaScript, as expressions have it.
#[cfg(feature = "schemas")]
fn regular_expression(pattern: &str) -> Option<Arc<str>> {
    jsonschema_regex::to_rust_regex(pattern).ok().map(|pattern| pattern.as_ref().into())
}

#[cfg(not(feature = "schemas"))]
fn regular_expression(_pattern: &str) -> Option<Arc<str>> {
    None
}

/// A number up to which an int and the double next to it are told apart.
#[expect(
    clippy::cast_precision_loss,
    clippy::as_conversions,
    reason = "it is below what doubles hold exactly"
)]
fn number(node: &Node) -> Option<f64> {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    let number = match node.data {
        Data::Int(number) => number as f64,
        Data::Float(number) => number,
        _ => return None,
    };
    (number.abs() < EXACT).then_some(number)
}

/// The words for the least and the greatest size.
fn size_keys(kind: SchemaKind) -> Option<[&'static str; 2]> {
    match kind {
        SchemaKind::String => Some(["minLength", "maxLength"]),
        SchemaKind::Array => Some(["minItems", "maxItems"]),
        SchemaKind::Object => Some(["minProperties", "maxProperties"]),
        SchemaKind::Number | SchemaKind::Integer | SchemaKind::Boolean => None,
    }
}

fn is_true(node: Option<&Node>) -> bool {
    matches!(node, Some(Node { data: Data::Bool(true), .. }))
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
