//! The names that a policy document gives to expressions: data, and what can be read off it.
//!
//! `define` makes it, and `expansion` puts what names stand for in their place.

use crate::cel::Expr;
use crate::source::Place;
use std::collections::HashMap;
use std::sync::Arc;

/// The names that the expressions of a policy know.
#[derive(Debug, Default)]
pub(super) struct Definitions {
    pub(super) variables: HashMap<Arc<str>, Variable>,
}

/// A variable.
#[derive(Debug)]
pub(super) struct Variable {
    /// A tree that names no other variable; nothing if its own text is wrong, which is told there.
    pub(super) value: Option<Expr>,
    /// Where its expression stands.
    pub(super) place: Place,
}

impl Definitions {
    /// The variable of a name.
    pub(super) fn variable(&self, name: &str) -> Option<&Variable> {
        self.variables.get(name)
    }

    /// The names of all variables.
    pub(super) fn variables(&self) -> impl Iterator<Item = &str> {
        self.variables.keys().map(|name| &**name)
    }
}
