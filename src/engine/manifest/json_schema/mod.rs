//! JSON Schema: every word of a schema is enforced, an annotation, or refused where it stands.
//!
//! In: the schema of a parameter, of a result or of a payload, as YAML with places. Out: what its words mean, and a
//! [`Validator`] where a schema says more than its types do. References stay within their block; nothing is ever fetched.
//! The findings about a schema are made above, in `schema_check`.
//!
//! | module | what it holds |
//! |---|---|
//! | `words` | the words and formats, one row each |
//! | `schema_kind` | the types that a value may be said to have |
//! | `parts` | the schemas within a schema |
//! | `budget` | what all schemas of a document may weigh |
//! | `references` | where references lead |
//! | `plain` | whether a schema needs no validator |
//! | `pattern` | the regular expressions of ECMA 262 that are linear here |
//! | `secret` | which values a schema marks as secret |
//! | `standard` | a schema as plain JSON Schema 2020-12, for the validator and for the model |
//! | `violation` | what of a value does not fit |
//! | `validator`, `values` | a schema made ready, and the values that it looks at where they lie |

mod budget;
pub(super) mod parts;
mod pattern;
pub(super) mod plain;
pub(super) mod references;
pub(super) mod schema_kind;
pub(super) mod secret;
mod standard;
#[cfg(feature = "schemas")]
mod validator;
#[cfg(feature = "schemas")]
mod values;
mod violation;
pub mod words;

#[cfg(not(feature = "schemas"))]
mod without;
#[cfg(not(feature = "schemas"))]
pub use without::Validator;

pub(super) use budget::{Budget, Refusal};
pub use standard::Shown;
#[cfg(feature = "schemas")]
pub(super) use validator::NotReady;
#[cfg(feature = "schemas")]
pub use validator::Validator;
pub use violation::Violation;
