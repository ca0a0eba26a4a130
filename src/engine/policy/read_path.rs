//! The paths that an expression reads, as far as they are written: `context.user.id`, `i.items[0]`.
//!
//! In: an expression. Out: the root and the selectors of each longest path in it. An index that is computed
//! selects any part, and its own paths are read, too. A variable of a macro is no root: what it stands for is read where
//! the macro gets it. Linear in the expression, times the macros that stand within each other.

use super::template::{PathStep, Placeholder};
use crate::cel::{Expr, ExprKind, Literal};
use crate::context::Selector;

/// Hands over each path that an expression reads.
pub(super) fn for_each_path<'e>(expression: &'e Expr, found: &mut dyn FnMut(&'e str, &[Selector])) {
    Walk { local: Vec::new(), found }.expression(expression);
}

struct Walk<'e, 'f> {
    /// The variables of the macros around.
    local: Vec<&'e str>,
    found: &'f mut dyn FnMut(&'e str, &[Selector]),
}

impl<'e> Walk<'e, '_> {
    fn expression(&mut self, expression: &'e Expr) {
        let mut path = Vec::new();
        let mut computed = Vec::new();
        if let Some((root, absolute)) = path_of(expression, &mut path, &mut computed) {
            if absolute || !self.local.contains(&root) {
                (self.found)(root, &path);
            }
            computed.into_iter().for_each(|index| self.expression(index));
            return;
        }
        match &expression.kind {
            ExprKind::Comprehension(comprehension) => {
                self.expression(&comprehension.range);
                let variables = [Some(&comprehension.variable), comprehension.second.as_ref()];
                let variables = variables.into_iter().flatten().map(|name| &*name.text);
                self.within(variables, comprehension.filter.iter().chain([&comprehension.body]));
            }
            ExprKind::Bind { variable, value, body } => {
                self.expression(value);
                self.within([&*variable.text], [&**body]);
            }
            ExprKind::OptMap { operand, variable, body, .. } => {
                self.expression(operand);
                self.within([&*variable.text], [&**body]);
            }
            _ => expression.for_each_part(&mut |part| self.expression(part)),
        }
    }

    /// Parts that know these variables.
    fn within(
        &mut self,
        variables: impl IntoIterator<Item = &'e str>,
        parts: impl IntoIterator<Item = &'e Expr>,
    ) {
        let outer = self.local.len();
        self.local.extend(variables);
        parts.into_iter().for_each(|part| self.expression(part));
        self.local.truncate(outer);
    }
}

/// The root of a path of fields and indices and whether a dot in front skips local variables, with its selectors, and with
/// the indices that are computed.
fn path_of<'e>(
    expression: &'e Expr,
    path: &mut Vec<Selector>,
    computed: &mut Vec<&'e Expr>,
) -> Option<(&'e str, bool)> {
    match &expression.kind {
        ExprKind::Ident { name, absolute } => Some((name, *absolute)),
        ExprKind::Select { operand, field, .. } => {
            let root = path_of(operand, path, computed)?;
            path.push(Selector::Name(field.text.clone()));
            Some(root)
        }
        ExprKind::Index { operand, index, .. } => {
            let root = path_of(operand, path, computed)?;
            path.push(match &index.kind {
                ExprKind::Literal(Literal::String(key)) => Selector::Name(key.to_string()),
                ExprKind::Literal(Literal::Int(at)) => {
                    usize::try_from(*at).map_or(Selector::Any, Selector::Index)
                }
                _ => {
                    computed.push(index);
                    Selector::Any
                }
            });
            Some(root)
        }
        _ => None,
    }
}

impl Placeholder {
    /// The selectors from its root.
    pub(crate) fn selectors(&self) -> Vec<Selector> {
        let selector = |step: &PathStep| match step {
            PathStep::Key(key) => Selector::Name(key.to_string()),
            PathStep::Index(at) => Selector::Index(*at),
        };
        self.path.iter().map(selector).collect()
    }
}
