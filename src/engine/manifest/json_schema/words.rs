//! The words of JSON Schema, one row each: what the engine makes of it, and what its value must be.
//!
//! In: a key of a schema. Out: its [`Word`]. The words are those of the draft 2020-12, the older spellings of draft-07
//! that say the same, and `nullable` and `example` of OpenAPI. A word that stands in no row is refused where it stands,
//! so nothing that an author writes is passed over in silence.

use super::schema_kind::SchemaKind;

/// What becomes of a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Treatment {
    /// Every value is held to it.
    Enforced,
    /// It says nothing about values.
    Annotation,
    /// It is refused when the manifest is loaded, for this reason.
    Refused(&'static str),
}

/// What the value of a word must be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Takes {
    /// Anything.
    Anything,
    /// A text.
    Text,
    /// A boolean.
    Boolean,
    /// A whole number, not negative.
    Count,
    /// A number.
    Number,
    /// A number above zero.
    Positive,
    /// The name of a type, or a list of such.
    Types,
    /// A list of values, at least one.
    Values,
    /// One value.
    Value,
    /// A list of names.
    Names,
    /// Lists of names by name.
    NamesByName,
    /// A regular expression.
    Pattern,
    /// The name of a format.
    Format,
    /// A reference into the document.
    Reference,
    /// The address of a dialect.
    Dialect,
    /// A schema for the very value that the schema around it is about.
    SchemaHere,
    /// Such schemas in a list.
    SchemasHere,
    /// Such schemas by name.
    SchemasHereByName,
    /// Schemas by name that apply where they are referred to.
    Definitions,
    /// A schema for parts of the value.
    SchemaBelow,
    /// Such schemas in a list.
    SchemasBelow,
    /// Such schemas by name.
    SchemasBelowByName,
    /// Such schemas by regular expression.
    SchemasByPattern,
    /// A schema for all items or, as draft-07 has it, a list of schemas for the first ones.
    Items,
    /// Names or a schema, by name, as draft-07 has it.
    Dependencies,
}

/// One word.
#[derive(Clone, Copy, Debug)]
pub struct Word {
    /// The word.
    pub name: &'static str,
    /// What becomes of it.
    pub treatment: Treatment,
    /// What its value must be.
    pub takes: Takes,
    /// What documentation says of it.
    pub about: &'static str,
}

const fn enforced(name: &'static str, takes: Takes, about: &'static str) -> Word {
    Word { name, treatment: Treatment::Enforced, takes, about }
}

const fn annotation(name: &'static str, takes: Takes, about: &'static str) -> Word {
    Word { name, treatment: Treatment::Annotation, takes, about }
}

const fn refused(name: &'static str, reason: &'static str) -> Word {
    Word { name, treatment: Treatment::Refused(reason), takes: Takes::Anything, about: reason }
}

/// Why words that name schemas other than by their place are refused.
const BY_PLACE: &str = "a reference names a schema by its place in the document, as `#/$defs/name` does";

/// Every word that is known.
pub const WORDS: &[Word] = &[
    enforced("type", Takes::Types, "one of the types, or one of a list of them; `1.0` is an integer"),
    enforced("enum", Takes::Values, "one of the values; numbers compare by value, `1` is `1.0`"),
    enforced("const", Takes::Value, "this value"),
    enforced("nullable", Takes::Boolean, "OpenAPI 3.0: null will do as well, whatever else is said"),
    enforced("multipleOf", Takes::Positive, "reckoned in decimals: 0.07 is a multiple of 0.01"),
    enforced("minimum", Takes::Number, "at least"),
    enforced("maximum", Takes::Number, "at most"),
    enforced("exclusiveMinimum", Takes::Number, "more than"),
    enforced("exclusiveMaximum", Takes::Number, "less than"),
    enforced("minLength", Takes::Count, "in Unicode characters (code points)"),
    enforced("maxLength", Takes::Count, "in Unicode characters (code points)"),
    enforced("pattern", Takes::Pattern, "found anywhere in the text, unless it is anchored"),
    enforced("format", Takes::Format, "the standard formats hold; any other is refused"),
    enforced("minItems", Takes::Count, "items of an array"),
    enforced("maxItems", Takes::Count, "items of an array"),
    enforced("uniqueItems", Takes::Boolean, "no two items are equal"),
    enforced("prefixItems", Takes::SchemasBelow, "schemas of the first items, by position"),
    enforced(
        "items",
        Takes::Items,
        "all items after those of `prefixItems`; a list is draft-07's `prefixItems`",
    ),
    enforced("additionalItems", Takes::SchemaBelow, "draft-07: the items after those of a list of `items`"),
    enforced("contains", Takes::SchemaBelow, "at least one item fits"),
    enforced("minContains", Takes::Count, "how many items fit `contains` at least"),
    enforced("maxContains", Takes::Count, "how many items fit `contains` at most"),
    enforced("unevaluatedItems", Takes::SchemaBelow, "items that nothing else spoke of"),
    enforced("minProperties", Takes::Count, "fields of an object"),
    enforced("maxProperties", Takes::Count, "fields of an object"),
    enforced("required", Takes::Names, "fields that are there, also those with a `default`"),
    enforced("properties", Takes::SchemasBelowByName, "schemas of fields by name"),
    enforced("patternProperties", Takes::SchemasByPattern, "schemas of fields by a pattern of their names"),
    enforced("additionalProperties", Takes::SchemaBelow, "fields that neither of the two speaks of"),
    enforced("propertyNames", Takes::SchemaBelow, "the names of all fields"),
    enforced("unevaluatedProperties", Takes::SchemaBelow, "fields that nothing else spoke of"),
    enforced("dependentRequired", Takes::NamesByName, "fields that are there if another is"),
    enforced("dependentSchemas", Takes::SchemasHereByName, "schemas that hold if a field is there"),
    enforced("dependencies", Takes::Dependencies, "draft-07: either of the two"),
    enforced("allOf", Takes::SchemasHere, "all of them fit"),
    enforced("anyOf", Takes::SchemasHere, "at least one of them fits"),
    enforced("oneOf", Takes::SchemasHere, "exactly one of them fits"),
    enforced("not", Takes::SchemaHere, "it does not fit"),
    enforced("if", Takes::SchemaHere, "decides between `then` and `else`"),
    enforced("then", Takes::SchemaHere, "holds where `if` fits"),
    enforced("else", Takes::SchemaHere, "holds where `if` does not fit"),
    enforced(
        "$ref",
        Takes::Reference,
        "a schema of the same block, as `#/$defs/name`; beside it other words hold too",
    ),
    enforced("$defs", Takes::Definitions, "schemas to refer to"),
    enforced("definitions", Takes::Definitions, "draft-07: schemas to refer to"),
    annotation(
        "$schema",
        Takes::Dialect,
        "2020-12, 2019-09, draft-07 or draft-06; read as 2020-12 all the same",
    ),
    annotation("$comment", Takes::Text, "for authors"),
    annotation("title", Takes::Text, "for people"),
    annotation("description", Takes::Text, "for people and the model"),
    annotation(
        "default",
        Takes::Anything,
        "of a parameter: makes it optional; within one it fills nothing in",
    ),
    annotation("examples", Takes::Anything, "for people and the model"),
    annotation("example", Takes::Anything, "OpenAPI: for people and the model"),
    annotation("deprecated", Takes::Boolean, "for people"),
    annotation("readOnly", Takes::Boolean, "for people"),
    annotation("writeOnly", Takes::Boolean, "for people"),
    annotation(
        SECRET,
        Takes::Boolean,
        "`true`: every view shows `***` in the place of the value; the model does not see the word",
    ),
    annotation("contentEncoding", Takes::Text, "JSON Schema holds no value to it: a warning says so"),
    annotation("contentMediaType", Takes::Text, "JSON Schema holds no value to it: a warning says so"),
    annotation("contentSchema", Takes::Anything, "JSON Schema holds no value to it: a warning says so"),
    refused("$id", BY_PLACE),
    refused("id", BY_PLACE),
    refused("$anchor", BY_PLACE),
    refused("$dynamicRef", BY_PLACE),
    refused("$dynamicAnchor", BY_PLACE),
    refused("$recursiveRef", BY_PLACE),
    refused("$recursiveAnchor", BY_PLACE),
    refused("$vocabulary", "what words mean is the engine's"),
    refused("discriminator", "it is OpenAPI's; write `const` in each schema of `oneOf`"),
];

/// The types whose values a word says something about, of a format those that it is about; nothing if it is about values of all
/// types.
pub(in crate::manifest) fn kinds(word: &str, format: Option<&str>) -> &'static [SchemaKind] {
    use SchemaKind::{Array, Integer, Number, Object, String};
    match word {
        "multipleOf" | "minimum" | "maximum" | "exclusiveMinimum" | "exclusiveMaximum" => &[Number, Integer],
        "format" if matches!(format, Some("int32" | "int64" | "float" | "double")) => &[Number, Integer],
        "minLength" | "maxLength" | "pattern" | "format" => &[String],
        "items" | "prefixItems" | "additionalItems" | "unevaluatedItems" | "minItems" | "maxItems"
        | "uniqueItems" | "contains" | "minContains" | "maxContains" => &[Array],
        "properties"
        | "patternProperties"
        | "additionalProperties"
        | "unevaluatedProperties"
        | "propertyNames"
        | "minProperties"
        | "maxProperties"
        | "required"
        | "dependentRequired"
        | "dependentSchemas"
        | "dependencies" => &[Object],
        _ => &[],
    }
}

/// The word that marks a value as secret: Celador's own, and no part of JSON Schema.
pub const SECRET: &str = "secret";

/// The words of parameters that are the specification's own and no part of JSON Schema (BND-05, KV-11).
pub const PARAMETER_WORDS: [&str; 2] = ["require_binding", "allow_from_llm"];

/// The row of a word.
#[must_use]
pub fn word(name: &str) -> Option<&'static Word> {
    WORDS.iter().find(|word| word.name == name)
}

/// A format, and whether values are held to it.
#[derive(Clone, Copy, Debug)]
pub struct Format {
    /// The name.
    pub name: &'static str,
    /// What becomes of it.
    pub treatment: Treatment,
    /// What documentation says of it.
    pub about: &'static str,
}

const fn format(name: &'static str, about: &'static str) -> Format {
    Format { name, treatment: Treatment::Enforced, about }
}

/// Formats of names that are written in any script: what becomes of them.
const IN_ANY_SCRIPT: Treatment = if cfg!(feature = "idna") {
    Treatment::Enforced
} else {
    Treatment::Refused("this format needs a build with the feature `idna`")
};

/// Every format that is known.
pub const FORMATS: &[Format] = &[
    format("date-time", "RFC 3339, with a zone"),
    format("date", "RFC 3339"),
    format("time", "RFC 3339, with a zone"),
    format("duration", "ISO 8601, as in RFC 3339"),
    format("email", "RFC 5321"),
    Format { name: "idn-email", treatment: IN_ANY_SCRIPT, about: "RFC 6531" },
    format("hostname", "RFC 1123"),
    Format { name: "idn-hostname", treatment: IN_ANY_SCRIPT, about: "RFC 5890" },
    format("ipv4", "RFC 2673"),
    format("ipv6", "RFC 4291"),
    format("uri", "RFC 3986"),
    format("uri-reference", "RFC 3986"),
    format("iri", "RFC 3987"),
    format("iri-reference", "RFC 3987"),
    format("uri-template", "RFC 6570"),
    format("uuid", "RFC 4122"),
    format("json-pointer", "RFC 6901"),
    format("relative-json-pointer", "of its draft"),
    format("regex", "ECMA 262"),
    format("int32", "OpenAPI: a number within 32 bits"),
    format("int64", "OpenAPI: a number within 64 bits"),
    Format { name: "float", treatment: Treatment::Annotation, about: "OpenAPI: says how a number is stored" },
    Format {
        name: "double",
        treatment: Treatment::Annotation,
        about: "OpenAPI: says how a number is stored",
    },
    Format {
        name: "password",
        treatment: Treatment::Annotation,
        about: "OpenAPI: hides what a person types",
    },
];

/// The dialects that `$schema` may name.
pub const DIALECTS: [&str; 4] = [
    "https://json-schema.org/draft/2020-12/schema",
    "https://json-schema.org/draft/2019-09/schema",
    "http://json-schema.org/draft-07/schema",
    "http://json-schema.org/draft-06/schema",
];
