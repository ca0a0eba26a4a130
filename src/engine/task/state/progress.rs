//! How far an operation came: to its decision, or to a question.

use super::decision::Decision;
use super::effect::Request;

/// How far an operation came.
#[derive(Clone, Debug, PartialEq)]
pub enum Progress {
    /// To its end.
    Decided(Decision),
    /// To a question. Until it is answered every other operation of the task is rejected (RV-13).
    Asks(Request),
}

impl From<Decision> for Progress {
    fn from(decision: Decision) -> Self {
        Self::Decided(decision)
    }
}
