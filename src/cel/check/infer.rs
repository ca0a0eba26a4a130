//! The walk over an expression: the type of each part from the types of its parts.
//!
//! Goes on after each problem with `dyn`, so that every problem is found once. Recursion is bounded by the depth of
//! the tree, which the parser has bounded.

use super::names::{self, Qualified};
use super::unify::{Substitution, is_number};
use super::{Reference, messages};
use crate::env::Env;
use crate::issue::Issue;
use crate::syntax::{Comprehension, ComprehensionKind, Expr, ExprKind, Literal, Name};
use crate::types::{Storage, Type};
use std::collections::HashSet;

/// The type and the reference of each expression by its id, and what is wrong.
pub(super) type Inferred = (Vec<Type>, Vec<Option<Reference>>, Vec<Issue>);

pub(super) fn infer(expr: &Expr, env: &Env) -> Inferred {
    let mut checker = Checker {
        env,
        types: Vec::new(),
        references: Vec::new(),
        locals: Vec::new(),
        substitution: Substitution::default(),
        asked: HashSet::new(),
        issues: Vec::new(),
    };
    checker.expr(expr);
    let types = checker.types.iter().map(|ty| checker.substitution.settle(ty)).collect();
    (types, checker.references, checker.issues)
}

pub(super) struct Checker<'e> {
    pub(super) env: &'e Env,
    types: Vec<Type>,
    references: Vec<Option<Reference>>,
    /// The variables of the macros around, the innermost last.
    locals: Vec<(&'e str, Type)>,
    pub(super) substitution: Substitution,
    /// Keys that no field declares and that the expression has asked for so far, by the names of their records.
    pub(super) asked: HashSet<(String, String)>,
    issues: Vec<Issue>,
}

impl<'e> Checker<'e> {
    pub(super) fn report(&mut self, issue: Issue) {
        self.issues.push(issue);
    }

    pub(super) fn refer(&mut self, expr: &Expr, reference: Reference) {
        if let Some(place) = self.references.get_mut(expr.id.0 as usize) {
            *place = Some(reference);
        }
    }

    /// The type of an expression; all of its parts are noted.
    pub(super) fn expr(&mut self, expr: &'e Expr) -> Type {
        let id = expr.id.0 as usize;
        if self.types.len() <= id {
            self.types.resize(id.saturating_add(1), Type::Dyn);
            self.references.resize(id.saturating_add(1), None);
        }
        let ty = self.kind(expr);
        if let Some(place) = self.types.get_mut(id) {
            place.clone_from(&ty);
        }
        ty
    }

    fn kind(&mut self, expr: &'e Expr) -> Type {
        match &expr.kind {
            ExprKind::Literal(literal) => literal_type(literal),
            ExprKind::Ident { name, .. } => self.ident(expr, name),
            ExprKind::Select { operand, field, optional } => self.select(expr, operand, field, *optional),
            ExprKind::Index { operand, index, optional } => self.index(operand, index, *optional),
            ExprKind::Call { function, target, args } => self.call(expr, function, target.as_deref(), args),
            ExprKind::List(elements) => {
                let types = elements.iter().map(|element| (&element.value, element.optional));
                let element = self.join_all(types);
                Type::list(element)
            }
            ExprKind::Map(entries) => {
                let key = self.join_all(entries.iter().map(|entry| (&entry.key, false)));
                let key = self.key(key);
                let value = self.join_all(entries.iter().map(|entry| (&entry.value, entry.optional)));
                Type::map(key, value)
            }
            ExprKind::Struct { name, fields } => {
                self.report(messages::undeclared_type(name, expr.span));
                for field in fields {
                    self.expr(&field.value);
                }
                Type::Dyn
            }
            ExprKind::Has { operand, field } => self.has(expr, operand, field),
            ExprKind::HasVariable(name) => self.has_variable(expr, name),
            ExprKind::Comprehension(comprehension) => self.comprehension(comprehension),
            ExprKind::Bind { variable, value, body } => {
                let ty = self.expr(value);
                self.with_locals([(variable.text.as_str(), ty)], |checker| checker.expr(body))
            }
            ExprKind::Block { bindings, body } => {
                let outside = self.locals.len();
                for binding in bindings {
                    let ty = self.expr(&binding.value);
                    self.locals.push((&binding.variable, ty));
                }
                let ty = self.expr(body);
                self.locals.truncate(outside);
                ty
            }
            ExprKind::OptMap { operand, variable, body, flat } => {
                self.opt_map(operand, variable, body, *flat)
            }
        }
    }

    /// The type of what may be any of these; of optional ones, of their values.
    fn join_all(&mut self, parts: impl Iterator<Item = (&'e Expr, bool)>) -> Type {
        let mut joined: Option<Type> = None;
        for (part, optional) in parts {
            let mut ty = self.expr(part);
            if optional {
                ty = match self.substitution.head(&ty) {
                    Type::Optional(value) => (*value).clone(),
                    Type::Dyn => Type::Dyn,
                    other => {
                        self.report(messages::not_optional(part.span, &self.substitution.settle(&other)));
                        Type::Dyn
                    }
                };
            }
            joined = Some(match joined {
                None => ty,
                Some(before) => self.substitution.join(&before, &ty),
            });
        }
        joined.unwrap_or_else(|| self.substitution.fresh())
    }

    /// The type of keys: what is no key in any map is `dyn`, or the types of maps of maps would double with each level.
    fn key(&self, ty: Type) -> Type {
        match self.substitution.head(&ty) {
            Type::Bool | Type::Int | Type::UInt | Type::String | Type::Param(_) => ty,
            _ => Type::Dyn,
        }
    }

    pub(super) fn with_locals<const N: usize, T>(
        &mut self,
        locals: [(&'e str, Type); N],
        body: impl FnOnce(&mut Self) -> T,
    ) -> T {
        let outside = self.locals.len();
        self.locals.extend(locals);
        let result = body(self);
        self.locals.truncate(outside);
        result
    }

    /// Whether the first part of a name is a variable of a macro, which hides whatever the scope has by that name.
    pub(super) fn is_local(&self, name: &Qualified<'_>) -> bool {
        let ExprKind::Ident { name: root, absolute: false } = &name.root.kind else { return false };
        self.locals.iter().any(|(local, _)| local == root)
    }

    /// Whether some beginning of a name stands for a variable or a type.
    pub(super) fn is_known(&self, name: &Qualified<'_>) -> bool {
        let mut parts = Some(name.name.as_str());
        while let Some(part) = parts {
            if names::resolve(self.env, part, name.absolute).is_some() {
                return true;
            }
            parts = part.rsplit_once('.').map(|(outer, _)| outer);
        }
        false
    }

    fn ident(&mut self, expr: &Expr, name: &str) -> Type {
        let absolute = matches!(&expr.kind, ExprKind::Ident { absolute: true, .. });
        let locals = self.locals.iter().rev().enumerate();
        let local = locals
            .filter(|(_, (local, _))| !absolute && *local == name)
            .map(|(out, (_, ty))| (out, ty.clone()));
        if let Some((out, ty)) = local.into_iter().next() {
            self.refer(expr, Reference::Local(out));
            return ty;
        }
        match names::resolve(self.env, name, absolute) {
            Some((reference, ty)) => {
                self.refer(expr, reference);
                ty
            }
            None => {
                let locals = self.locals.iter().map(|(local, _)| *local);
                self.issues.push(messages::undeclared_name(self.env, locals, name, expr.span));
                Type::Dyn
            }
        }
    }

    fn select(&mut self, expr: &Expr, operand: &'e Expr, field: &Name, optional: bool) -> Type {
        let name = names::qualified(expr).filter(|name| !self.is_local(name));
        if let Some((reference, ty)) =
            name.and_then(|name| names::resolve(self.env, &name.name, name.absolute))
        {
            self.refer(expr, reference);
            return ty;
        }
        let on = self.expr(operand);
        let on = self.substitution.head(&on);
        // selecting on an optional gives an optional
        let (on, wrapped) = match &on {
            Type::Optional(value) => (self.substitution.head(value), true),
            _ => (on, optional),
        };
        if let Type::Record(record) = &on
            && record.storage == Storage::Live
            && !wrapped
            && let Some(slot) = record.slot(&field.text)
        {
            self.refer(expr, Reference::Field(slot));
        }
        let ty = self.field(&on, &field.text, field.span, optional);
        if wrapped { Type::optional(ty) } else { ty }
    }

    fn index(&mut self, operand: &'e Expr, index: &'e Expr, optional: bool) -> Type {
        let on = self.expr(operand);
        let on = self.substitution.head(&on);
        let by = self.expr(index);
        let by = self.substitution.head(&by);
        let (on, wrapped) = match &on {
            Type::Optional(value) => (self.substitution.head(value), true),
            _ => (on, optional),
        };
        let number = is_number(&by) || matches!(by, Type::Dyn | Type::Param(_));
        let ty = match (&on, &index.kind) {
            (Type::Dyn | Type::Param(_), _) => Some(Type::Dyn),
            (Type::List(element), _) if number => Some((**element).clone()),
            (Type::Singleton(record), _) if number => Some(Type::Record(record.clone())),
            (Type::Record(record), ExprKind::Literal(Literal::String(field))) => {
                Some(self.record_field(record, field, index.span, optional))
            }
            (Type::Record(_), _) if matches!(by, Type::String | Type::Dyn | Type::Param(_)) => {
                on.entry().map(|(_, value)| value)
            }
            (Type::Map(entry), _) => {
                self.substitution.comparing = true;
                let fits = self.substitution.unify(&entry.0, &by);
                self.substitution.comparing = false;
                fits.then(|| entry.1.clone())
            }
            _ => None,
        };
        let ty = ty.unwrap_or_else(|| {
            let [on, by] = [&on, &by].map(|ty| self.substitution.settle(ty));
            self.report(messages::not_indexed(index.span, &on, &by));
            Type::Dyn
        });
        if wrapped { Type::optional(ty) } else { ty }
    }

    /// `has` of a variable itself: whether it has a value (`CEL-08`).
    fn has_variable(&mut self, expr: &Expr, name: &Name) -> Type {
        let locals = self.locals.iter().rev().enumerate();
        let local = locals.filter(|(_, (local, _))| *local == name.text).map(|(out, _)| out).next();
        if let Some(out) = local {
            self.refer(expr, Reference::Local(out));
            self.report(messages::always_bound(expr.span, &name.text));
            return Type::Bool;
        }
        let variable =
            names::candidates(self.env, &name.text, false).find_map(|name| self.env.variable(&name));
        match variable {
            Some(variable) => {
                self.refer(expr, Reference::Variable(variable.slot));
                if !variable.optional {
                    self.report(messages::always_bound(expr.span, &name.text));
                }
            }
            None => {
                let locals = self.locals.iter().map(|(local, _)| *local);
                self.issues.push(messages::undeclared_name(self.env, locals, &name.text, name.span));
            }
        }
        Type::Bool
    }

    fn comprehension(&mut self, comprehension: &'e Comprehension) -> Type {
        let range = self.expr(&comprehension.range);
        let range = self.substitution.head(&range);
        let (key, value) = match (range.element(), range.entry()) {
            (Some(element), None) => (Type::Int, element),
            (None, Some(entry)) => entry,
            _ if matches!(range, Type::Dyn | Type::Param(_)) => (Type::Dyn, Type::Dyn),
            _ => {
                let found = self.substitution.settle(&range);
                self.report(messages::not_iterable(
                    comprehension.range.span,
                    &comprehension.name.text,
                    &found,
                ));
                (Type::Dyn, Type::Dyn)
            }
        };
        let first = comprehension.variable.text.as_str();
        match &comprehension.second {
            Some(second) => {
                let locals = [(first, key.clone()), (second.text.as_str(), value)];
                self.with_locals(locals, |checker| checker.body(comprehension, &key, &key))
            }
            None => {
                // one variable goes through the elements of a list, and through the keys of a map
                let item = if range.entry().is_some() && range != Type::Dyn { key.clone() } else { value };
                self.with_locals([(first, item.clone())], |checker| checker.body(comprehension, &key, &item))
            }
        }
    }

    /// The type of a loop whose variables are known: `key` of the entries, `item` of what `filter` keeps.
    fn body(&mut self, comprehension: &'e Comprehension, key: &Type, item: &Type) -> Type {
        let name = comprehension.name.text.as_str();
        if let Some(filter) = &comprehension.filter {
            self.condition(name, filter);
        }
        match comprehension.kind {
            ComprehensionKind::All | ComprehensionKind::Exists | ComprehensionKind::ExistsOne => {
                self.condition(name, &comprehension.body);
                Type::Bool
            }
            ComprehensionKind::Filter => {
                self.condition(name, &comprehension.body);
                Type::list(item.clone())
            }
            ComprehensionKind::SortBy => {
                let ty = self.expr(&comprehension.body);
                let key = self.substitution.head(&ty);
                if !has_order(&key) {
                    let found = self.substitution.settle(&key);
                    let span = comprehension.body.span;
                    self.report(messages::body_of_wrong_type(
                        span,
                        name,
                        "a value that has an order",
                        &found,
                    ));
                }
                Type::list(item.clone())
            }
            ComprehensionKind::Map => Type::list(self.expr(&comprehension.body)),
            ComprehensionKind::TransformMap => Type::map(key.clone(), self.expr(&comprehension.body)),
            ComprehensionKind::TransformMapEntry => {
                let ty = self.expr(&comprehension.body);
                match self.substitution.head(&ty) {
                    ty @ Type::Map(_) => ty,
                    Type::Dyn | Type::Param(_) => Type::map(Type::Dyn, Type::Dyn),
                    other => {
                        let found = self.substitution.settle(&other);
                        self.report(messages::body_of_wrong_type(
                            comprehension.body.span,
                            name,
                            "a map",
                            &found,
                        ));
                        Type::map(Type::Dyn, Type::Dyn)
                    }
                }
            }
        }
    }

    fn condition(&mut self, of: &str, condition: &'e Expr) {
        let ty = self.expr(condition);
        let ty = self.substitution.head(&ty);
        if !matches!(ty, Type::Bool | Type::Dyn | Type::Param(_)) {
            let found = self.substitution.settle(&ty);
            self.report(messages::body_of_wrong_type(condition.span, of, "a bool", &found));
        }
    }

    fn opt_map(&mut self, operand: &'e Expr, variable: &'e Name, body: &'e Expr, flat: bool) -> Type {
        let name = if flat { "optFlatMap" } else { "optMap" };
        let on = self.expr(operand);
        let value = match self.substitution.head(&on) {
            Type::Optional(value) => (*value).clone(),
            Type::Dyn | Type::Param(_) => Type::Dyn,
            other => {
                let found = self.substitution.settle(&other);
                self.report(messages::body_of_wrong_type(operand.span, name, "an optional", &found));
                Type::Dyn
            }
        };
        let ty = self.with_locals([(variable.text.as_str(), value)], |checker| checker.expr(body));
        match (flat, self.substitution.head(&ty)) {
            (false, ty) => Type::optional(ty),
            (true, ty @ Type::Optional(_)) => ty,
            (true, Type::Dyn | Type::Param(_)) => Type::optional(Type::Dyn),
            (true, other) => {
                let found = self.substitution.settle(&other);
                self.report(messages::body_of_wrong_type(body.span, name, "an optional", &found));
                Type::optional(Type::Dyn)
            }
        }
    }
}

/// Whether values of a type come before and after each other, as far as is known.
fn has_order(ty: &Type) -> bool {
    use Type::{Bool, Bytes, Double, Duration, Dyn, Int, Param, String, Timestamp, UInt};
    matches!(ty, Dyn | Param(_) | Bool | Int | UInt | Double | String | Bytes | Timestamp | Duration)
}

fn literal_type(literal: &Literal) -> Type {
    match literal {
        Literal::Null => Type::Null,
        Literal::Bool(_) => Type::Bool,
        Literal::Int(_) => Type::Int,
        Literal::UInt(_) => Type::UInt,
        Literal::Double(_) => Type::Double,
        Literal::String(_) => Type::String,
        Literal::Bytes(_) => Type::Bytes,
    }
}
