//! Which function a call means, and which of its overloads the types of the arguments leave.

use super::Reference;
use super::infer::Checker;
use super::messages;
use super::names::{self, Qualified};
use crate::function::Declaration;
use crate::syntax::{Expr, ExprKind, Name};
use crate::types::Type;

impl<'e> Checker<'e> {
    /// The type of a call; what it means is noted.
    pub(super) fn call(
        &mut self,
        expr: &Expr,
        function: &Name,
        target: Option<&'e Expr>,
        args: &'e [Expr],
    ) -> Type {
        let named = target.and_then(names::qualified).filter(|name| !self.is_local(name));
        if let Some(name) = &named
            && let Some(declaration) =
                self.function(&format!("{}.{}", name.name, function.text), name.absolute)
        {
            let types = self.exprs(args);
            return self.resolve(expr, function, declaration, true, false, &types);
        }
        if let Some(target) = target {
            return match self.env.function(&function.text).cloned() {
                Some(declaration) => {
                    let mut types = vec![self.expr(target)];
                    types.extend(self.exprs(args));
                    self.resolve(expr, function, declaration, false, true, &types)
                }
                None => self.unknown_method(function, target, named, args),
            };
        }
        let name = function.text.strip_prefix('.');
        let declaration = self.function(name.unwrap_or(&function.text), name.is_some());
        match declaration {
            Some(declaration) => {
                let types = self.exprs(args);
                if declaration.function.name == "@in" {
                    self.key_in(args, &types);
                }
                self.resolve(expr, function, declaration, false, false, &types)
            }
            None => {
                let name = name.unwrap_or(&function.text);
                self.report(messages::undeclared_function(self.env, name, function.span));
                self.arguments_of_unknown(args)
            }
        }
    }

    fn exprs(&mut self, args: &'e [Expr]) -> Vec<Type> {
        args.iter().map(|arg| self.expr(arg)).collect()
    }

    /// A function of the scope, found through the container.
    fn function(&self, name: &str, absolute: bool) -> Option<Declaration> {
        names::candidates(self.env, name, absolute).find_map(|name| self.env.function(&name).cloned())
    }

    /// A call of a method that the scope does not declare; of a namespace that it does not know, one issue is enough.
    fn unknown_method(
        &mut self,
        function: &Name,
        target: &'e Expr,
        named: Option<Qualified<'_>>,
        args: &'e [Expr],
    ) -> Type {
        let unknown = named.filter(|name| !self.is_known(name));
        match unknown {
            Some(name) => {
                let full = format!("{}.{}", name.name, function.text);
                self.report(messages::undeclared_function(self.env, &full, target.span.to(function.span)));
            }
            None => {
                self.expr(target);
                self.report(messages::undeclared_function(self.env, &function.text, function.span));
            }
        }
        self.arguments_of_unknown(args)
    }

    /// Goes on in the arguments of a call that means nothing. If it was meant for a macro, its first argument names a
    /// variable: that nobody declares it follows from what has been said.
    fn arguments_of_unknown(&mut self, args: &'e [Expr]) -> Type {
        let variable = args.first().and_then(|arg| match &arg.kind {
            ExprKind::Ident { name, absolute: false } => Some(name.as_str()),
            _ => None,
        });
        match variable {
            Some(name) => self.with_locals([(name, Type::Dyn)], |checker| checker.exprs(args)),
            None => self.exprs(args),
        };
        Type::Dyn
    }

    /// Finds the overloads that take these types, the receiver first; none is worth a warning. One whose parameters
    /// are these very types is the one that runs; else any may be that fits, and the result is what theirs have in
    /// common.
    fn resolve(
        &mut self,
        expr: &Expr,
        function: &Name,
        declaration: Declaration,
        qualified: bool,
        member: bool,
        types: &[Type],
    ) -> Type {
        let name = declaration.function.name;
        // values of any types may be compared, and numbers of all types by value
        self.substitution.comparing = matches!(name, "_==_" | "_!=_" | "@in");
        let mut overloads = Vec::new();
        let mut result: Option<Type> = None;
        for overload in declaration.overloads.iter() {
            if overload.member != member || !overload.takes(types.len()) {
                continue;
            }
            let mark = self.substitution.mark();
            let (parameters, own) = self.substitution.instantiate(overload);
            let repeated = parameters.last().into_iter().cycle();
            let pairs = parameters.iter().chain(repeated).zip(types);
            if pairs.clone().all(|(to, from)| self.substitution.unify(to, from)) {
                let own = self.substitution.apply(&own);
                if pairs.into_iter().all(|(to, from)| self.substitution.is_exactly(to, from)) {
                    (overloads, result) = (vec![overload.id], Some(own));
                    break;
                }
                overloads.push(overload.id);
                result = Some(match result {
                    Some(before) => before.common(&own),
                    None => own,
                });
            } else {
                self.substitution.back_to(mark);
            }
        }
        self.substitution.comparing = false;
        let ty = match result {
            Some(ty) => ty,
            None => self.no_overload(expr, function, &declaration, member, types, &mut overloads),
        };
        self.refer(expr, Reference::Function { declaration, overloads, qualified });
        ty
    }

    /// No signature takes these types. Some calls mean something all the same, and get their overload back.
    fn no_overload(
        &mut self,
        expr: &Expr,
        function: &Name,
        declaration: &Declaration,
        member: bool,
        types: &[Type],
        overloads: &mut Vec<&'static str>,
    ) -> Type {
        let settled: Vec<Type> = types.iter().map(|ty| self.substitution.settle(ty)).collect();
        let first = declaration.overloads.first().map(|overload| overload.id);
        match (declaration.function.name, settled.as_slice()) {
            ("_==_" | "_!=_", [left, right]) => {
                let equal = declaration.function.name == "_==_";
                self.report(messages::never_equal(function.span, left, right, equal));
                overloads.extend(first);
                Type::Bool
            }
            ("@in", [item, of @ (Type::List(_) | Type::Map(_) | Type::Record(_) | Type::Singleton(_))]) => {
                self.report(messages::never_in(function.span, item, of));
                overloads.extend(declaration.overloads.iter().map(|overload| overload.id));
                Type::Bool
            }
            // branches of two types are what gradual types are for
            ("_?_:_", [Type::Bool | Type::Dyn, _, _]) => {
                overloads.extend(first);
                Type::Dyn
            }
            _ => {
                let span = if declaration.function.name.starts_with(char::is_alphabetic) {
                    expr.span
                } else {
                    function.span
                };
                self.report(messages::no_matching_overload(span, declaration, member, &settled));
                Type::Dyn
            }
        }
    }
}
