//! A mapping and its keys, described once for the reader and for JSON Schema.

use super::definitions::{Definitions, with};
use serde_json::{Map, Value, json};

/// What may stand under a key.
pub(crate) trait Shape {
    /// Whether the key must be there.
    const IS_REQUIRED: bool = false;
    /// The keys that stand in the mapping itself and not under a key, if that is what this is.
    const PART: Option<&'static [Row]> = None;

    /// What JSON Schema says of the value.
    fn schema(definitions: &mut Definitions) -> Value;
}

/// A mapping whose keys are known.
pub(crate) trait Mapping: Shape {
    /// Whose keys they are, as messages call it: `an agent`, `` `limits` ``.
    const OWNER: &'static str;
    /// The keys, in the order in which they are read.
    const ROWS: &'static [Row];
}

/// A key of a mapping.
#[derive(Clone, Copy)]
pub(crate) struct Row {
    name: &'static str,
    about: &'static str,
    is_required: bool,
    /// What counts where the key is absent, if that is one value.
    default: Option<fn() -> Value>,
    part: Option<&'static [Self]>,
    schema: fn(&mut Definitions) -> Value,
}

impl Row {
    /// The row of a key under which a value of this shape stands, and a sentence about it for whoever writes the file.
    pub(crate) const fn of<S: Shape>(name: &'static str, about: &'static str) -> Self {
        Self { name, about, is_required: S::IS_REQUIRED, default: None, part: S::PART, schema: S::schema }
    }

    /// The same where one value counts if the key is absent.
    pub(crate) const fn by_default(mut self, default: Option<fn() -> Value>) -> Self {
        self.default = default;
        self
    }

    /// Whether it is the row of this name.
    pub(crate) fn is(&self, name: &str) -> bool {
        self.name == name
    }

    /// The rows of keys under which values of one shape stand, whatever else their table says of them.
    pub(crate) const fn all<S: Shape, T: Copy, const N: usize>(table: &[(&'static str, T); N]) -> [Self; N] {
        let mut rows = [Self::of::<S>("", ""); N];
        let (mut names, mut free) = (table.as_slice(), rows.as_mut_slice());
        while let (Some(((name, _), other_names)), Some((row, others))) =
            (names.split_first(), free.split_first_mut())
        {
            row.name = name;
            (names, free) = (other_names, others);
        }
        rows
    }
}

/// The names of keys, in order.
pub(crate) fn names(rows: &'static [Row]) -> Vec<&'static str> {
    let names = rows.iter().flat_map(|row| match row.part {
        Some(part) => names(part),
        None => vec![row.name],
    });
    names.collect()
}

/// What JSON Schema says of a mapping that has these keys and no others.
pub(crate) fn closed<'r>(
    rows: impl IntoIterator<Item = &'r Row>,
    definitions: &mut Definitions,
) -> Map<String, Value> {
    let (mut properties, mut required) = (Map::new(), Vec::new());
    add(rows, definitions, &mut properties, &mut required);
    let mut schema = Map::new();
    schema.insert("type".to_owned(), json!("object"));
    schema.insert("properties".to_owned(), Value::Object(properties));
    if !required.is_empty() {
        schema.insert("required".to_owned(), json!(required));
    }
    schema.insert("additionalProperties".to_owned(), json!(false));
    schema
}

fn add<'r>(
    rows: impl IntoIterator<Item = &'r Row>,
    definitions: &mut Definitions,
    properties: &mut Map<String, Value>,
    required: &mut Vec<&'static str>,
) {
    for row in rows {
        if let Some(part) = row.part {
            add(part, definitions, properties, required);
            continue;
        }
        let schema = (row.schema)(definitions);
        let schema = match row.default {
            Some(default) => with(schema, "default", default()),
            None => schema,
        };
        properties.insert(row.name.to_owned(), described(row.about, schema));
        required.extend(row.is_required.then_some(row.name));
    }
}

/// A schema with a sentence about what it is for, in the place of its own.
fn described(about: &str, schema: Value) -> Value {
    let Value::Object(schema) = schema else { return schema };
    let mut all = Map::new();
    if !about.trim().is_empty() {
        all.insert("description".to_owned(), json!(about.trim()));
    }
    for (word, value) in schema {
        all.entry(word).or_insert(value);
    }
    Value::Object(all)
}

/// What JSON Schema says of a mapping: a title if its owner is called by words, a sentence, its keys, and more rules.
pub(crate) fn schema_of<M: Mapping>(about: &str, rules: Value, definitions: &mut Definitions) -> Value {
    let mut schema = Map::new();
    let mut owner = M::OWNER.chars();
    if let Some(first) = owner.next().filter(|first| first.is_alphabetic()) {
        let title = first.to_uppercase().chain(owner).collect::<String>();
        schema.insert("title".to_owned(), json!(title));
    }
    schema.extend(closed(M::ROWS, definitions));
    if let Value::Object(rules) = rules {
        schema.extend(rules);
    }
    described(about, Value::Object(schema))
}

/// Describes shapes, each by the function that makes its JSON Schema. With `as`, the schema has a name by which several places
/// refer to it.
macro_rules! shape {
    ($($(#[doc = $about:literal])* $visible:vis $shape:ident $(as $definition:literal)? = $schema:expr;)*) => {$(
        $(#[doc = $about])*
        $visible enum $shape {}

        impl $crate::manifest::shape::Shape for $shape {
            fn schema(definitions: &mut $crate::manifest::shape::Definitions) -> serde_json::Value {
                $crate::manifest::shape::mapping!(@refer definitions, $($definition)?, $schema)
            }
        }
    )*};
}

/// Describes mappings: a sentence, more rules of JSON Schema, the type that stands for the mapping, the name of its schema if
/// several places refer to it, whose keys they are, and the keys with a sentence and a [`Shape`] each, behind which `=>` says what counts
/// where the key is absent. A test holds the reader to that.
///
/// ```text
/// mapping! {
///     /// How long a lease holds.
///     #[rules = { "minProperties": 1 }]
///     pub(super) Lease as "lease" = "a lease" {
///         /// Who holds it.
///         owner: Required<Name>,
///         /// From when on.
///         since = "from": Text,
///         /// Whether others may see it.
///         public: Boolean => false,
///         // the name of a key that another reader takes begins with `_`
///         _kind = "kind": Anything,
///     }
/// }
/// ```
///
/// The module that describes a mapping has a method for each key and reads it: `fields.owner()` is a `Key` whose own methods are
/// those of its shape.
macro_rules! mapping {
    (
        $(#[doc = $about:literal])*
        $(#[rules = $rules:tt])?
        $visible:vis $mapping:ident $(as $definition:literal)? = $owner:literal {
            $( $(#[doc = $doc:literal])* $key:ident $(= $name:literal)? : $shape:ty $(=> $default:tt)? ),* $(,)?
        }
        $($others:tt)*
    ) => {
        $(#[doc = $about])*
        $visible enum $mapping {}

        impl $crate::manifest::shape::Shape for $mapping {
            fn schema(definitions: &mut $crate::manifest::shape::Definitions) -> serde_json::Value {
                use $crate::manifest::shape::{mapping, schema_of};
                let rules = mapping!(@rules $($rules)?);
                mapping!(@refer definitions, $($definition)?, |definitions| {
                    schema_of::<Self>(concat!($($about),*), rules, definitions)
                })
            }
        }

        impl $crate::manifest::shape::Mapping for $mapping {
            const OWNER: &'static str = $owner;
            const ROWS: &'static [$crate::manifest::shape::Row] = &[$(
                $crate::manifest::shape::Row::of::<$shape>(
                    $crate::manifest::shape::mapping!(@name $key $($name)?),
                    concat!($($doc),*),
                )
                .by_default($crate::manifest::shape::mapping!(@default $($default)?))
            ),*];
        }

        impl<'a> $crate::manifest::fields::Fields<'a, $mapping> {
            $(
                $(#[doc = $doc])*
                fn $key(&self) -> $crate::manifest::fields::Key<'_, 'a, $shape> {
                    self.key($crate::manifest::shape::mapping!(@name $key $($name)?))
                }
            )*
        }

        $crate::manifest::shape::mapping! { $($others)* }
    };
    () => {};
    (@name $key:ident) => { stringify!($key) };
    (@name $key:ident $name:literal) => { $name };
    (@default) => { None };
    (@default $default:tt) => { Some(|| serde_json::json!($default)) };
    (@rules) => { serde_json::Value::Null };
    (@rules $rules:tt) => { serde_json::json!($rules) };
    (@refer $definitions:ident, , $make:expr) => { $definitions.make($make) };
    (@refer $definitions:ident, $definition:literal, $make:expr) => { $definitions.refer($definition, $make) };
}

pub(crate) use {mapping, shape};
