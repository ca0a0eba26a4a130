//! The types of JSON Schema: in goes a name, out comes the type, and the other way round.

/// The types of JSON Schema that a parameter may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SchemaKind {
    /// `string`
    String,
    /// `number`
    Number,
    /// `integer`
    Integer,
    /// `boolean`
    Boolean,
    /// `object`
    Object,
    /// `array`
    Array,
}

impl SchemaKind {
    /// The type of a name, if it is one of JSON Schema's; `null` is none that a value can have alone.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        KINDS.iter().find(|(known, _)| *known == name).map(|(_, kind)| *kind)
    }

    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        KINDS.iter().find(|(_, kind)| *kind == self).map_or("", |(name, _)| name)
    }

    /// All names.
    #[must_use]
    pub fn names() -> [&'static str; 6] {
        KINDS.map(|(name, _)| name)
    }
}

const KINDS: [(&str, SchemaKind); 6] = [
    ("string", SchemaKind::String),
    ("number", SchemaKind::Number),
    ("boolean", SchemaKind::Boolean),
    ("object", SchemaKind::Object),
    ("array", SchemaKind::Array),
    ("integer", SchemaKind::Integer),
];
