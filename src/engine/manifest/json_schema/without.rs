//! The place of the validator in a build without it, in which a schema that needs one is refused.

use super::violation::Violation;
use crate::cel::JsonRef;
use crate::limits::EvalLimits;

/// A schema made ready. There is none in this build.
#[derive(Clone, Debug)]
pub enum Validator {}

impl Validator {
    /// What it was made of.
    #[must_use]
    pub fn schema(&self) -> &serde_json::Value {
        match *self {}
    }

    /// The bounds of the values that it looks at.
    #[must_use]
    pub fn limits(&self) -> &EvalLimits {
        match *self {}
    }

    /// Whether a value fits.
    ///
    /// # Errors
    /// What does not fit.
    pub fn check(&self, _: JsonRef<'_>) -> Result<(), Violation> {
        match *self {}
    }
}
