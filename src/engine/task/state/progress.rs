//! How far an operation came: to its decision, or to a question.

use super::decision::Decision;
use super::effect::Question;

/// How far an operation came.
#[derive(Clone, Debug, PartialEq)]
pub enum Progress {
    /// To its end.
    Decided(Decision),
    /// To a question. Until it is answered no further call is let through and no model turn begins (RV-13).
    Asks(Question),
}

impl From<Decision> for Progress {
    fn from(decision: Decision) -> Self {
        Self::Decided(decision)
    }
}
