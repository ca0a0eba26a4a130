//! Who is told what expressions come to while operations run.
//!
//! In: each expression that was evaluated on values with a watch, with the recording of its parts. Out: nothing. A watch is told and decides
//! nothing; where there is none, nothing is recorded.

use crate::cel::{Program, Recording};
use crate::source::Embedded;
use std::fmt;

/// Is told what expressions come to.
pub trait ExpressionWatch: fmt::Debug + Send + Sync {
    /// An expression was evaluated.
    fn evaluated(&self, expression: &WatchedExpression<'_>, recording: &Recording<'_>);
}

/// An expression that was evaluated.
#[derive(Debug)]
pub struct WatchedExpression<'w> {
    /// Its text, with the way back into its file.
    pub text: &'w Embedded,
    /// The path in the manifest, such as `capabilities.ledger.before[0].assert`.
    pub path: &'w str,
    /// The compiled expression.
    pub program: &'w Program,
}
