//! Lists that are made of the elements of another list.

use super::path::function;
use crate::cel::{Checked, ComprehensionKind, Expr, ExprKind};

/// A list as it is made of another one.
pub(super) struct Derived<'e> {
    pub(super) of: &'e Expr,
    pub(super) keeps: Keeps,
    /// Whether its elements are made of those of the other list, and may be none of them.
    pub(super) are_others: bool,
}

/// How many elements of the other list have one in it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Keeps {
    All,
    /// Those that differ: one at least, if there are any.
    Different,
    /// Those of which a condition is true.
    Chosen,
}

/// What a list is made of, if each of its elements stands for one of another list.
pub(super) fn derived<'e>(checked: &Checked, list: &'e Expr) -> Option<Derived<'e>> {
    match &list.kind {
        ExprKind::Comprehension(comprehension) => {
            let keeps = match (comprehension.kind, &comprehension.filter) {
                (ComprehensionKind::Map, None) | (ComprehensionKind::SortBy, _) => Keeps::All,
                (ComprehensionKind::Map | ComprehensionKind::Filter, _) => Keeps::Chosen,
                _ => return None,
            };
            let are_others = comprehension.kind == ComprehensionKind::Map;
            Some(Derived { of: &comprehension.range, keeps, are_others })
        }
        ExprKind::Call { target: Some(of), args, .. } if args.is_empty() => {
            let keeps = match function(checked, list)?.0 {
                "sort" | "reverse" => Keeps::All,
                "distinct" => Keeps::Different,
                _ => return None,
            };
            Some(Derived { of, keeps, are_others: false })
        }
        _ => None,
    }
}
