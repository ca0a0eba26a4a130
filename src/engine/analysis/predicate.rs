//! What a macro asks of each element of its list, written about an element that has one name, whatever the macro calls it.
//!
//! In: a macro. Out: its [`Predicate`], so that two macros over one list ask about the same element. Linear in the macro.

use super::path::mentions;
use crate::cel::{Comprehension, Expr, ExprKind};

/// The name that an element has in all predicates.
const ELEMENT: &str = "element";

/// The subject that an element is, where it is asked about as a whole.
pub(super) const ELEMENT_KEY: &str = "element_of_macro";

/// What is so of an element that a macro finds.
#[derive(Clone, Debug)]
pub(super) struct Predicate {
    pub(super) expr: Expr,
    /// What the expression says of such an element.
    pub(super) answer: bool,
}

impl Predicate {
    /// The predicate of a macro with one variable, if nothing in it has the name of that variable, or the name of all elements.
    pub(super) fn of(comprehension: &Comprehension, answer: bool) -> Option<Self> {
        let Comprehension { variable, second: None, filter, body, .. } = comprehension else { return None };
        let mut expr = filter.as_ref().unwrap_or(body).clone();
        if mentions(&expr, ELEMENT) || [ELEMENT, &variable.text].iter().any(|name| binds(&expr, name)) {
            return None;
        }
        rename(&mut expr, &variable.text);
        Some(Self { expr, answer })
    }

    /// What a macro makes of each element, if it has one variable.
    pub(super) fn made(comprehension: &Comprehension) -> Option<Expr> {
        let Comprehension { variable, second: None, body, .. } = comprehension else { return None };
        let mut made = body.clone();
        if mentions(&made, ELEMENT) || has_variables(&made) {
            return None;
        }
        rename(&mut made, &variable.text);
        Some(made)
    }

    /// Asks the same of what is made of an element, if no variable of its own could be meant by it.
    pub(super) fn ask(&mut self, made: &Expr) -> bool {
        let may_ask = !has_variables(&self.expr);
        if may_ask {
            put(&mut self.expr, made);
        }
        may_ask
    }
}

/// Whether something in it has a variable.
fn has_variables(expr: &Expr) -> bool {
    let mut found = matches!(
        expr.kind,
        ExprKind::Comprehension(_) | ExprKind::Bind { .. } | ExprKind::Block { .. } | ExprKind::OptMap { .. }
    );
    expr.for_each_part(&mut |part| found = found || has_variables(part));
    found
}

/// Puts what is made of an element in its place.
fn put(expr: &mut Expr, made: &Expr) {
    if matches!(&expr.kind, ExprKind::Ident { name, .. } if name == ELEMENT) {
        *expr = made.clone();
    } else {
        expr.for_each_part_mut(&mut |part| put(part, made));
    }
}

/// Whether something in it gives the name to something else.
fn binds(expr: &Expr, name: &str) -> bool {
    let mut found = match &expr.kind {
        ExprKind::Comprehension(comprehension) => {
            let Comprehension { variable, second, .. } = &**comprehension;
            variable.text == name || second.as_ref().is_some_and(|second| second.text == name)
        }
        ExprKind::Bind { .. } | ExprKind::Block { .. } | ExprKind::OptMap { .. } => true,
        _ => false,
    };
    expr.for_each_part(&mut |part| found = found || binds(part, name));
    found
}

fn rename(expr: &mut Expr, variable: &str) {
    if let ExprKind::Ident { name, .. } = &mut expr.kind
        && name == variable
    {
        ELEMENT.clone_into(name);
    }
    expr.for_each_part_mut(&mut |part| rename(part, variable));
}
