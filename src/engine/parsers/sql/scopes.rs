//! The common table expressions (`WITH name AS (…)`) that a name of a table may stand for.
//!
//! A name is an expression only where every database finds it: after its definition, in the query that defines it and the queries
//! inside. A definition sees itself if `RECURSIVE` is written, and never those after it. Everywhere else the name is a table.

use super::names::plain;
use sqlparser::ast::{Cte, Query};
use std::ptr;

/// The queries around the current position, outermost first.
#[derive(Default)]
pub(super) struct Scopes(Vec<Scope>);

struct Scope {
    /// The names, each with the address of the query that defines it, in the order in which they are written.
    names: Vec<(String, *const Query)>,
    is_recursive: bool,
    /// Number of names that can be seen at the current position.
    visible: usize,
}

impl Scopes {
    /// Enters a query. It may be the definition of a name of the query around it.
    pub(super) fn enter(&mut self, query: &Query, folds: bool) {
        if let Some((outer, index)) = self.definition(query) {
            outer.visible = index.saturating_add(usize::from(outer.is_recursive));
        }
        let name = |cte: &Cte| (plain(&cte.alias.name, folds), ptr::from_ref::<Query>(&cte.query));
        let (names, is_recursive) = query.with.as_ref().map_or((Vec::new(), false), |with| {
            (with.cte_tables.iter().map(name).collect::<Vec<_>>(), with.recursive)
        });
        let visible = names.len();
        self.0.push(Scope { names, is_recursive, visible });
    }

    /// Leaves a query.
    pub(super) fn leave(&mut self, query: &Query) {
        self.0.pop();
        if let Some((outer, index)) = self.definition(query) {
            outer.visible = index.saturating_add(1);
        }
    }

    /// Whether a name without a schema stands for an expression here.
    pub(super) fn has(&self, name: &str) -> bool {
        self.0.iter().any(|scope| scope.names.iter().take(scope.visible).any(|(other, _)| other == name))
    }

    fn definition(&mut self, query: &Query) -> Option<(&mut Scope, usize)> {
        let outer = self.0.last_mut()?;
        let index = outer.names.iter().position(|(_, defined)| ptr::eq(*defined, query))?;
        Some((outer, index))
    }
}
