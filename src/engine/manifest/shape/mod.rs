//! The keys of files that people write: which there are, which must be there, and what may stand under each.
//!
//! A mapping is described once, with [`mapping!`]. Its reader and its JSON Schema both come of that description: the reader
//! gets one method for each key and none besides, so it cannot ask for a key that is not described, and a key that it never
//! asks for is dead code, which the compiler reports. What may stand under a key is a type ([`Shape`]): it says what the
//! schema says of the value, and decides by which methods the reader gets it.
//!
//! | module | what it holds |
//! |---|---|
//! | `definitions` | JSON Schemas that others refer to, and the document of all that one needs |
//! | `mapping` | a mapping and its keys |
//! | `kinds` | what may stand under a key, as far as manifests and cases share it |

mod definitions;
mod kinds;
mod mapping;

pub(crate) use definitions::{Definitions, document, with};
pub(crate) use kinds::{
    Anything, Boolean, ByName, Count, Decimal, Duration, Expression, List, Name, Nullable, Object, OneOf,
    Part, Required, Text, TextOrTexts, Vocabulary, Whole, words,
};
pub(crate) use mapping::{Mapping, Row, Shape, closed, mapping, names, schema_of, shape};
