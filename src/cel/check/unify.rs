//! Whether types go together, and what type parameters must stand for if they do.
//!
//! Parameters of a signature get fresh names for each call, so that those of an empty list or of a call inside can be
//! decided by what stands around. Nothing is decided by an attempt that failed: it is taken back.

use crate::function::Overload;
use crate::types::{Kind, RecordType, Type};
use std::collections::HashMap;
use std::sync::Arc;

/// What type parameters stand for, so far.
#[derive(Default)]
pub(super) struct Substitution {
    bound: HashMap<Arc<str>, Type>,
    /// What was bound before, to go back.
    trail: Vec<(Arc<str>, Option<Type>)>,
    fresh: usize,
    /// Whether values are compared: then `int`, `uint` and `double` go together (`CEL-04`), and so do lists of any
    /// types, and maps, since both may be empty.
    pub(super) comparing: bool,
}

/// A point to go back to.
#[derive(Clone, Copy)]
pub(super) struct Mark(usize);

impl Substitution {
    /// A parameter that stands for nothing yet.
    pub(super) fn fresh(&mut self) -> Type {
        self.fresh = self.fresh.saturating_add(1);
        Type::Param(self.fresh.to_string().into())
    }

    /// A signature with parameters of its own: the types of its parameters, and of its result.
    pub(super) fn instantiate(&mut self, overload: &Overload) -> (Vec<Type>, Type) {
        let generic = overload.result.is_generic() || overload.parameters.iter().any(Type::is_generic);
        if !generic {
            return (overload.parameters.clone(), overload.result.clone());
        }
        let mut names: HashMap<Arc<str>, Type> = HashMap::new();
        let mut rename = |ty: &Type| {
            rewrite(ty, &mut |name| names.entry(name.clone()).or_insert_with(|| self.fresh()).clone())
        };
        (overload.parameters.iter().map(&mut rename).collect(), rename(&overload.result))
    }

    /// The type with all that is decided put in.
    pub(super) fn apply(&self, ty: &Type) -> Type {
        if !ty.is_generic() {
            return ty.clone();
        }
        rewrite(ty, &mut |name| match self.bound.get(name) {
            Some(bound) => self.apply(bound),
            None => Type::Param(name.clone()),
        })
    }

    /// The same at the end, when what was not decided is `dyn`.
    pub(super) fn settle(&self, ty: &Type) -> Type {
        rewrite(&self.apply(ty), &mut |_| Type::Dyn)
    }

    /// What the type is at its head, as far as decided.
    pub(super) fn head(&self, ty: &Type) -> Type {
        let mut ty = ty;
        while let Type::Param(name) = ty
            && let Some(bound) = self.bound.get(name)
        {
            ty = bound;
        }
        ty.clone()
    }

    pub(super) fn mark(&self) -> Mark {
        Mark(self.trail.len())
    }

    /// Takes back what was decided since the mark.
    pub(super) fn back_to(&mut self, mark: Mark) {
        while self.trail.len() > mark.0 {
            let Some((name, before)) = self.trail.pop() else { return };
            match before {
                Some(ty) => self.bound.insert(name, ty),
                None => self.bound.remove(&name),
            };
        }
    }

    fn bind(&mut self, name: &Arc<str>, ty: Type) {
        let before = self.bound.insert(name.clone(), ty);
        self.trail.push((name.clone(), before));
    }

    /// Whether a value of one type may be a value of the other; decides parameters so that it may.
    pub(super) fn unify(&mut self, a: &Type, b: &Type) -> bool {
        match (a, b) {
            (Type::Param(name), other) | (other, Type::Param(name)) => self.unify_parameter(name, other),
            (Type::Dyn, other) | (other, Type::Dyn) => {
                self.leave_open(other);
                true
            }
            (Type::Null, other) | (other, Type::Null) => is_nullable(other),
            (Type::List(a), Type::List(b)) | (Type::Optional(a), Type::Optional(b)) => self.unify(a, b),
            (Type::Map(a), Type::Map(b)) => self.unify(&a.0, &b.0) && self.unify(&a.1, &b.1),
            (Type::Opaque(a), Type::Opaque(b)) => {
                a.name == b.name
                    && a.parameters.len() == b.parameters.len()
                    && a.parameters.iter().zip(&b.parameters).all(|(a, b)| self.unify(a, b))
            }
            // types are values that may be compared, whatever they describe
            (Type::TypeOf(a), Type::TypeOf(b)) => {
                self.unify(a, b);
                true
            }
            // both are maps with string keys when they run; which keys they have is not for their types to say
            (Type::Record(_), Type::Record(_)) | (Type::Singleton(_), Type::Singleton(_)) => true,
            (Type::Record(record), Type::Map(map)) | (Type::Map(map), Type::Record(record)) => {
                self.unify(&Type::String, &map.0) && self.unify(&value_of(record), &map.1)
            }
            (Type::Singleton(record), Type::List(item)) | (Type::List(item), Type::Singleton(record)) => {
                self.unify(&Type::Record(record.clone()), item)
            }
            (a, b) => a == b || (self.comparing && is_number(a) && is_number(b)),
        }
    }

    /// What stands for an unknown value is not known, whatever else it stands for: nothing must make more of it.
    fn leave_open(&mut self, ty: &Type) {
        match ty {
            Type::Param(name) => match self.bound.get(name).cloned() {
                Some(Type::Param(other)) => self.leave_open(&Type::Param(other)),
                _ => self.bind(name, Type::Dyn),
            },
            Type::List(inner) | Type::Optional(inner) | Type::TypeOf(inner) => self.leave_open(inner),
            Type::Map(entry) => {
                self.leave_open(&entry.0);
                self.leave_open(&entry.1);
            }
            Type::Opaque(opaque) => opaque.parameters.iter().for_each(|parameter| self.leave_open(parameter)),
            _ => {}
        }
    }

    fn unify_parameter(&mut self, name: &Arc<str>, other: &Type) -> bool {
        if let Type::Param(same) = other
            && same == name
        {
            return true;
        }
        match self.bound.get(name).cloned() {
            Some(bound) => {
                if self.comparing && may_both_be_empty(&self.head(&bound), &self.head(other)) {
                    return true;
                }
                let fits = self.unify(&bound, other);
                // of a known and a less known type the less known one holds for both
                if fits && self.is_as_general(other, &bound) && !self.occurs(name, other) {
                    self.bind(name, other.clone());
                }
                fits
            }
            None if self.occurs(name, other) => false,
            None => {
                match other {
                    // of two open parameters the second follows the first, so that many do not make a chain
                    Type::Param(second) if !self.bound.contains_key(second) => {
                        self.bind(second, Type::Param(name.clone()));
                    }
                    _ => self.bind(name, other.clone()),
                }
                true
            }
        }
    }

    fn occurs(&self, name: &Arc<str>, ty: &Type) -> bool {
        match ty {
            Type::Param(other) if other == name => true,
            Type::Param(other) => self.bound.get(other).is_some_and(|bound| self.occurs(name, bound)),
            Type::List(inner) | Type::Optional(inner) | Type::TypeOf(inner) => self.occurs(name, inner),
            Type::Map(entry) => self.occurs(name, &entry.0) || self.occurs(name, &entry.1),
            Type::Opaque(opaque) => opaque.parameters.iter().any(|parameter| self.occurs(name, parameter)),
            _ => false,
        }
    }

    /// The type of what may be a value of either: the more general one if they go together, else `dyn`.
    pub(super) fn join(&mut self, a: &Type, b: &Type) -> Type {
        let mark = self.mark();
        if !self.unify(a, b) {
            self.back_to(mark);
            return Type::Dyn;
        }
        match (self.is_as_general(a, b), self.is_as_general(b, a)) {
            (true, _) => a.clone(),
            (false, true) => b.clone(),
            (false, false) => Type::Dyn,
        }
    }

    /// Whether a parameter is the very type of an argument, of which it is known what its values are.
    pub(super) fn is_exactly(&self, parameter: &Type, argument: &Type) -> bool {
        let argument = self.apply(argument);
        argument.kind().is_some() && self.apply(parameter) == argument
    }

    /// Whether the first type, which goes with the second, says no more than it.
    fn is_as_general(&self, a: &Type, b: &Type) -> bool {
        match (self.head(a), self.head(b)) {
            (Type::Dyn | Type::Param(_), _) => true,
            (_, Type::Null) => true,
            (Type::List(a), Type::List(b)) => self.is_as_general(&a, &b),
            (Type::Optional(a), Type::Optional(b)) => self.is_as_general(&a, &b),
            (Type::TypeOf(a), Type::TypeOf(b)) => self.is_as_general(&a, &b),
            (Type::Map(a), Type::Map(b)) => self.is_as_general(&a.0, &b.0) && self.is_as_general(&a.1, &b.1),
            (Type::Opaque(a), Type::Opaque(b)) => {
                a.name == b.name
                    && a.parameters.iter().zip(&b.parameters).all(|(a, b)| self.is_as_general(a, b))
            }
            (Type::Map(_) | Type::List(_), Type::Record(_) | Type::Singleton(_)) => true,
            (a, b) => a == b,
        }
    }
}

/// The type with another one in place of each parameter.
fn rewrite(ty: &Type, replace: &mut dyn FnMut(&Arc<str>) -> Type) -> Type {
    match ty {
        Type::Param(name) => replace(name),
        Type::List(inner) => Type::list(rewrite(inner, replace)),
        Type::Optional(inner) => Type::optional(rewrite(inner, replace)),
        Type::TypeOf(inner) => Type::TypeOf(Arc::new(rewrite(inner, replace))),
        Type::Map(entry) => {
            let key = rewrite(&entry.0, replace);
            Type::map(key, rewrite(&entry.1, replace))
        }
        Type::Opaque(opaque) => {
            Type::opaque(&opaque.name, opaque.parameters.iter().map(|ty| rewrite(ty, replace)))
        }
        _ => ty.clone(),
    }
}

fn value_of(record: &Arc<RecordType>) -> Type {
    Type::Record(record.clone()).entry().map_or(Type::Dyn, |(_, value)| value)
}

pub(super) fn is_number(ty: &Type) -> bool {
    matches!(ty, Type::Int | Type::UInt | Type::Double)
}

fn may_both_be_empty(a: &Type, b: &Type) -> bool {
    let kind = a.kind().filter(|kind| matches!(kind, Kind::List | Kind::Map | Kind::Optional));
    kind.is_some() && kind == b.kind()
}

/// Whether null may stand for a value of this type.
fn is_nullable(ty: &Type) -> bool {
    matches!(
        ty,
        Type::Null
            | Type::Dyn
            | Type::Timestamp
            | Type::Duration
            | Type::Optional(_)
            | Type::Opaque(_)
            | Type::Record(_)
    )
}
