//! Bindings: parameter names and the expressions that supply them.
//!
//! In: the `bindings` mapping of a capability or of an invoke step. Out: one [`DeclaredBinding`] an entry, in order (BND-01).
//! Whether a name is declared is a question across documents and belongs to [`catalog`](super::catalog).

use super::fields::Key;
use super::node::Node;
use super::reader::{Path, Reader};
use super::shape::{ByName, Expression, shape, with};
use crate::source::Embedded;

/// One parameter and the expression or mount template that supplies it.
#[derive(Clone, Debug)]
pub struct DeclaredBinding {
    /// The parameter.
    pub name: Embedded,
    /// CEL, a bare word (BND-10) or a template of `{mount.…}` (BND-13); nothing here has read it yet.
    pub value: Embedded,
    /// The manifest path, such as `capabilities.ledger.bindings.amount`.
    pub path: String,
}

impl DeclaredBinding {
    /// Reads a mapping of names and texts; `rule` makes other values errors.
    pub(super) fn read_all(node: &Node, path: &Path, rule: &'static str, reader: &mut Reader) -> Vec<Self> {
        let Some(entries) = reader.mapping(node, path) else { return Vec::new() };
        entries
            .iter()
            .filter_map(|entry| {
                let path = path.key(&entry.key.text);
                let value = reader.expression(&entry.value, &path, rule)?;
                Some(Self { name: entry.key.clone(), value, path: path.into() })
            })
            .collect()
    }
}

shape! {
    /// Names and expressions.
    pub(super) Bindings as "bindings" = |definitions| {
        let about = "Parameters that the policy supplies: a name, and the expression of its value.";
        with(<ByName<Expression>>::schema(definitions), "description", about)
    };
}

impl Key<'_, '_, Bindings> {
    /// The bindings; `rule` makes values that are no texts errors.
    pub(super) fn bindings(&self, rule: &'static str, reader: &mut Reader) -> Vec<DeclaredBinding> {
        let Some(field) = self.get() else { return Vec::new() };
        DeclaredBinding::read_all(field.node, &field.path, rule, reader)
    }
}
