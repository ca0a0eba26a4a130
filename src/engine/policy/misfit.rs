//! Why a value does not fit its schema: where in it, which word, what was expected. Never the value.

use crate::cel::Kind;
use crate::manifest::json_schema::Violation;
use crate::manifest::schema::SchemaKind;

/// Why a value does not fit. Holds no value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Misfit {
    /// It is of another type.
    Kind {
        /// Where in the value: `.address.street`, `[0]`; empty for the value itself.
        at: String,
        /// The type it must have.
        expected: SchemaKind,
        /// The kind of the value that was found.
        found: Kind,
    },
    /// The value is not in `enum`, or is not the value of `const`.
    NotAllowed {
        /// Where in the value.
        at: String,
    },
    /// An object lacks a field that its schema requires.
    Missing {
        /// Where in the value the field would stand.
        at: String,
    },
    /// An object has a field that its schema does not declare, and refuses.
    Undeclared {
        /// Where in the value the object is.
        at: String,
    },
    /// The value fits no shape of `oneOf` or `anyOf`.
    NoAlternative {
        /// Where in the value.
        at: String,
    },
    /// It does not keep to a word of its schema.
    Broken {
        /// Where in the value.
        at: String,
        /// The word.
        keyword: &'static str,
        /// The value of the keyword in the schema, if it fits on a line.
        expected: Option<String>,
    },
}

impl From<Violation> for Misfit {
    fn from(violation: Violation) -> Self {
        let Violation { at, keyword, expected, found } = violation;
        let kind = expected.as_deref().and_then(SchemaKind::named);
        match keyword {
            "type" => match (kind, found) {
                (Some(expected), Some(found)) => Self::Kind { at, expected, found },
                _ => Self::Broken { at, keyword, expected },
            },
            "anyOf" | "oneOf" if expected.is_none() => Self::NoAlternative { at },
            "enum" | "const" => Self::NotAllowed { at },
            "required" => Self::Missing { at },
            "additionalProperties" | "unevaluatedProperties" => Self::Undeclared { at },
            _ => Self::Broken { at, keyword, expected },
        }
    }
}

impl Misfit {
    pub(super) fn broken(keyword: &'static str) -> Self {
        Self::Broken { at: String::new(), keyword, expected: None }
    }

    /// The same, seen from one level further out.
    pub(super) fn inside(mut self, step: &str) -> Self {
        let (Self::Kind { at, .. }
        | Self::NotAllowed { at }
        | Self::Missing { at }
        | Self::Undeclared { at }
        | Self::NoAlternative { at }
        | Self::Broken { at, .. }) = &mut self;
        at.insert_str(0, step);
        self
    }
}
