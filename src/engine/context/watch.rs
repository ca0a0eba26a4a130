//! Who is told what expressions come to while operations run.
//!
//! In: each expression that was evaluated on values with a watch, with the recording of its parts. Out: nothing. A watch is told and decides
//! nothing; where there is none, nothing is recorded.

use crate::cel::{Program, Recording, SeenClause};
use crate::source::Embedded;
use std::fmt;

/// Is told what expressions come to.
pub trait ExpressionWatch: fmt::Debug + Send + Sync {
    /// An expression was evaluated.
    fn evaluated(&self, expression: &WatchedExpression<'_>, recording: &Recording<'_>);

    /// An evaluation came to a name of a policy.
    fn named(&self, name: &WatchedName<'_>) {
        let _ = name;
    }
}

/// A name of a policy to which an evaluation came: a variable or a parameter.
#[derive(Clone, Copy, Debug)]
pub struct WatchedName<'w> {
    /// The policy: namespace and name.
    pub policy: &'w str,
    /// `variables` or `parameters`.
    pub root: &'static str,
    /// The name.
    pub name: &'w str,
    /// The text of a variable, with the way back into its file.
    pub text: Option<&'w Embedded>,
    /// The clauses of a variable, and what they came to.
    pub clauses: &'w [SeenClause],
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
