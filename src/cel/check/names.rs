//! What names stand for: variables of macros around them, of the scope, and types; in containers, qualified or not.
//!
//! The order is the language definition's: the longest qualified name first, each looked up in the container and in
//! all that the container stands in; a dot in front skips the container. A variable of a macro hides all of them.

use super::Reference;
use crate::env::Env;
use crate::syntax::{Expr, ExprKind};
use crate::types::Type;
use std::sync::Arc;

/// A name with its parts: an identifier, or selections on one.
pub(super) struct Qualified<'e> {
    /// The parts joined by dots.
    pub(super) name: String,
    /// The first part.
    pub(super) root: &'e Expr,
    /// Whether a dot in front skips the container, and variables of macros.
    pub(super) absolute: bool,
}

/// An expression as a name, if it is written as one.
pub(super) fn qualified(expr: &Expr) -> Option<Qualified<'_>> {
    match &expr.kind {
        ExprKind::Ident { name, absolute } => {
            Some(Qualified { name: name.clone(), root: expr, absolute: *absolute })
        }
        ExprKind::Select { operand, field, optional: false } => {
            let mut name = qualified(operand)?;
            name.name.push('.');
            name.name.push_str(&field.text);
            Some(name)
        }
        _ => None,
    }
}

/// The names that a name may mean, in the order in which they are tried.
pub(super) fn candidates(env: &Env, name: &str, absolute: bool) -> impl Iterator<Item = String> {
    let mut container = if absolute { "" } else { env.container() };
    let mut ended = false;
    let name = name.to_owned();
    std::iter::from_fn(move || {
        if ended {
            return None;
        }
        if container.is_empty() {
            ended = true;
            return Some(name.clone());
        }
        let candidate = format!("{container}.{name}");
        container = container.rsplit_once('.').map_or("", |(outer, _)| outer);
        Some(candidate)
    })
}

/// What a name of the scope stands for, and its type.
pub(super) fn resolve(env: &Env, name: &str, absolute: bool) -> Option<(Reference, Type)> {
    candidates(env, name, absolute).find_map(|candidate| match env.variable(&candidate) {
        Some(variable) => Some((Reference::Variable(variable.slot), variable.ty.clone())),
        None => {
            type_named(env, &candidate).map(|ty| (Reference::Type(ty.clone()), Type::TypeOf(Arc::new(ty))))
        }
    })
}

/// The type that a name denotes as a value.
fn type_named(env: &Env, name: &str) -> Option<Type> {
    Some(match name {
        "bool" => Type::Bool,
        "int" => Type::Int,
        "uint" => Type::UInt,
        "double" => Type::Double,
        "string" => Type::String,
        "bytes" => Type::Bytes,
        "list" => Type::list(Type::Dyn),
        "map" => Type::map(Type::Dyn, Type::Dyn),
        "null_type" => Type::Null,
        "type" => Type::TypeOf(Arc::new(Type::Dyn)),
        "optional_type" => Type::optional(Type::Dyn),
        "google.protobuf.Timestamp" => Type::Timestamp,
        "google.protobuf.Duration" => Type::Duration,
        _ => match env.type_given(name)? {
            Type::Opaque(own) => Type::opaque(name, own.parameters.iter().map(|_| Type::Dyn)),
            _ => return None,
        },
    })
}
