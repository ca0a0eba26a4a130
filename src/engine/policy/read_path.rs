//! The paths that an expression reads, as far as they are written: `context.user.id`, `i.items[0]`.
//!
//! In: an expression. Out: the root and the selectors of each longest path in it. An index that is computed
//! selects any part, and its own paths are read, too. The variable of a macro over a path stands for the items of the list
//! there: `l.all(t, t.id > 0)` reads `id` of each item of `l`. Whether their order matters is part of what is read: `all`,
//! `size(l)` and `l.filter(…).size()` come to the same in any order, and `l[0]` and `l.map(…)` do not. A variable of any other
//! macro is no root: what it stands for is read where the macro gets it. `within(t, '1h')` reads of an item what is known of it at once. Linear in the expression, times the macros that
//! stand within each other.

use super::template::{PathStep, Placeholder};
use crate::cel::{Comprehension, ComprehensionKind, Expr, ExprKind, Literal, Name};
use crate::context::{CALL_LABELS, LABELS, SOURCES, Selector, TASK_LABELS, WITHIN};

/// The root of what functions read of the context beside their arguments. No author can write it.
pub(super) const CONTEXT_ASKED: &str = "@context";

/// Those functions.
const ASKS_CONTEXT: [&str; 4] = [LABELS, SOURCES, CALL_LABELS, TASK_LABELS];

/// Hands over each path that an expression reads.
pub(crate) fn for_each_path<'e>(expression: &'e Expr, found: &mut dyn FnMut(&'e str, &[Selector])) {
    Walk { local: Vec::new(), found }.expression(expression);
}

struct Walk<'e, 'f> {
    /// The variables of the macros around, the innermost last.
    local: Vec<Local<'e>>,
    found: &'f mut dyn FnMut(&'e str, &[Selector]),
}

struct Local<'e> {
    name: &'e str,
    /// The path to what it stands for, if it is an item of a list at the end of a path.
    item: Option<Path<'e>>,
}

/// A root and the selectors from there.
type Path<'e> = (&'e str, Vec<Selector>);

/// What `within` reads of a call: an open one is within every span, and so it is whenever it ends, as that is not before `now`. So the
/// answer is known while it is open, and those that are closed do not change.
const ENDED_BY_NOW: &str = "open";

/// Functions of one list that come to the same in whatever order its items stand; a sum is one of them, as it is exact.
const IN_ANY_ORDER: [&str; 4] = ["size", "min", "max", "sum"];

impl<'e> Walk<'e, '_> {
    fn expression(&mut self, expression: &'e Expr) {
        if let Some((path, computed)) = self.path(expression) {
            if let Some((root, path)) = path {
                (self.found)(root, &path);
            }
            computed.into_iter().for_each(|index| self.expression(index));
            return;
        }
        match &expression.kind {
            ExprKind::Comprehension(comprehension) => {
                let decides = matches!(
                    comprehension.kind,
                    ComprehensionKind::All | ComprehensionKind::Exists | ComprehensionKind::ExistsOne
                );
                self.comprehension(comprehension, decides);
            }
            ExprKind::Bind { variable, value, body } => {
                self.expression(value);
                self.within(variable, None, [&**body]);
            }
            ExprKind::OptMap { operand, variable, body, .. } => {
                self.expression(operand);
                self.within(variable, None, [&**body]);
            }
            ExprKind::Call { target: None, function, args }
                if WITHIN.iter().any(|it| *it.name == *function.text) =>
            {
                let mut args = args.iter();
                if let Some((root, mut item)) = args.as_slice().first().and_then(|item| self.item(item)) {
                    item.push(Selector::Name(ENDED_BY_NOW.to_owned()));
                    (self.found)(root, &item);
                    args.next();
                }
                args.for_each(|part| self.expression(part));
            }
            ExprKind::Call { target: None, function, args } if ASKS_CONTEXT.contains(&&*function.text) => {
                (self.found)(CONTEXT_ASKED, &[Selector::Name(function.text.clone())]);
                let item = args.first().filter(|_| *function.text == *CALL_LABELS);
                if let Some((root, mut item)) = item.and_then(|item| self.item(item)) {
                    // that there is the call; its labels are those of its function's results
                    item.push(Selector::Name("fn".to_owned()));
                    (self.found)(root, &item);
                    return;
                }
                args.iter().for_each(|about| self.expression(about));
            }
            ExprKind::Call { target, function, args } => match (target.as_deref(), &**args) {
                (Some(list), []) | (None, [list]) if IN_ANY_ORDER.contains(&&*function.text) => {
                    self.list(list, true);
                }
                _ => expression.for_each_part(&mut |part| self.expression(part)),
            },
            _ => expression.for_each_part(&mut |part| self.expression(part)),
        }
    }

    /// A list of which the items are read, in whatever order or in that in which they stand; gives the path to its items,
    /// if they are those at the end of one.
    fn list(&mut self, expression: &'e Expr, in_any_order: bool) -> Option<Path<'e>> {
        if let Some((path, computed)) = self.path(expression) {
            computed.into_iter().for_each(|index| self.expression(index));
            let (root, mut path) = path?;
            path.push(if in_any_order { Selector::Each } else { Selector::Any });
            (self.found)(root, &path);
            return Some((root, path));
        }
        match &expression.kind {
            ExprKind::Comprehension(comprehension) => {
                let item = self.comprehension(comprehension, in_any_order);
                item.filter(|_| comprehension.kind == ComprehensionKind::Filter)
            }
            _ => {
                self.expression(expression);
                None
            }
        }
    }

    /// A macro; gives the path to the items of its range. One with two variables says where an item stands.
    fn comprehension(&mut self, comprehension: &'e Comprehension, in_any_order: bool) -> Option<Path<'e>> {
        let Comprehension { range, variable, second, filter, body, .. } = comprehension;
        let item = self.list(range, in_any_order && second.is_none());
        let parts = filter.iter().chain([body]);
        match second {
            None => self.within(variable, item.clone(), parts),
            Some(second) => {
                self.local.push(Local { name: &variable.text, item: None });
                self.within(second, item.clone(), parts);
                self.local.pop();
            }
        }
        item
    }

    /// Parts that know this variable.
    fn within(
        &mut self,
        variable: &'e Name,
        item: Option<Path<'e>>,
        parts: impl IntoIterator<Item = &'e Expr>,
    ) {
        self.local.push(Local { name: &variable.text, item });
        parts.into_iter().for_each(|part| self.expression(part));
        self.local.pop();
    }

    /// If an expression is the variable of a macro over a path, alone: the path to its items.
    fn item(&self, expression: &Expr) -> Option<Path<'e>> {
        let ExprKind::Ident { name, absolute: false } = &expression.kind else { return None };
        self.local.iter().rev().find(|local| *local.name == **name)?.item.clone()
    }

    /// If an expression is a path: the path, unless it begins at a variable of which nothing is known here, and the indices
    /// that are computed.
    fn path(&self, expression: &'e Expr) -> Option<(Option<Path<'e>>, Vec<&'e Expr>)> {
        let mut path = Vec::new();
        let mut computed = Vec::new();
        let (root, absolute) = path_of(expression, &mut path, &mut computed)?;
        let local = self.local.iter().rev().find(|local| !absolute && local.name == root);
        let path = match local {
            None => Some((root, path)),
            Some(local) => local.item.clone().map(|(root, mut item)| {
                if path.is_empty() {
                    // the whole item
                    path.push(Selector::Any);
                }
                item.append(&mut path);
                (root, item)
            }),
        };
        Some((path, computed))
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
