//! What of a value does not fit: where, which word, and what was expected. Never the value.

use crate::cel::Kind;

/// One thing that does not fit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// Where in the value: `.address.street`, `[0]`; empty for the value itself. A name that the schema does not declare
    /// is the sender's own, and stands there as `[…]`.
    pub at: String,
    /// The word that is not kept to.
    pub keyword: &'static str,
    /// What the word says, if it can be said in a line: a bound, a pattern, the name of a type, of a format or of a field.
    pub expected: Option<String>,
    /// What the value is, if its type is what does not fit.
    pub found: Option<Kind>,
}
