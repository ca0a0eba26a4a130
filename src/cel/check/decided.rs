//! What is decided before it runs: comparisons that no value can change, and what their operands are beyond their types.
//!
//! In: a checked expression. Out: a warning for each part that is always true or always false, though it looks like a
//! question, and the [`Domain`] of each part, for the static cost. Nothing is refused and no type changes: a part that
//! fails when it runs has no truth at all, so "always" means "whenever there is a value".

use super::{Checked, Reference, messages};
use crate::domain::{Constant, Domain};
use crate::env::Env;
use crate::issue::Issue;
use crate::syntax::{Comprehension, ComprehensionKind, Expr, ExprKind, Literal, Name};
use crate::types::Type;
use std::sync::Arc;

/// What is known of a part beyond its type.
type Known = Option<Arc<Domain>>;

/// The domains of all parts by their ids, and what is doubtful.
pub(super) fn decided(checked: &Checked, env: &Env) -> (Vec<Known>, Vec<Issue>) {
    let mut walk = Walk {
        checked,
        env,
        domains: vec![None; checked.types.len()],
        locals: Vec::new(),
        issues: Vec::new(),
        chains: 0,
    };
    walk.expr(&checked.expr);
    (walk.domains, walk.issues)
}

struct Walk<'c> {
    checked: &'c Checked,
    env: &'c Env,
    domains: Vec<Known>,
    /// The variables of the macros around, the innermost last.
    locals: Vec<Local<'c>>,
    issues: Vec<Issue>,
    /// Chains that have been reported.
    chains: usize,
}

/// A variable of a macro or of `cel.bind`.
#[derive(Clone, Default)]
struct Local<'c> {
    domain: Known,
    /// The list that the macro goes through, or the value that is named, as it is written.
    written: Option<&'c Expr>,
}

impl<'c> Local<'c> {
    const fn of(domain: Known, written: &'c Expr) -> Self {
        Self { domain, written: Some(written) }
    }
}

/// Chains of one expression that are reported: of a long one, each part would be.
const MAX_CHAINS: usize = 4;

impl<'c> Walk<'c> {
    fn expr(&mut self, expr: &'c Expr) -> Known {
        let domain = self.domain(expr);
        if let Some(place) = self.domains.get_mut(expr.id.0 as usize) {
            place.clone_from(&domain);
        }
        domain
    }

    fn domain(&mut self, expr: &'c Expr) -> Known {
        match &expr.kind {
            ExprKind::Ident { .. } => match self.checked.reference(expr.id) {
                Some(Reference::Local(out)) => self.locals.iter().rev().nth(*out)?.domain.clone(),
                _ => None,
            },
            // the parts of a qualified name are no expressions
            ExprKind::Select { .. }
                if matches!(
                    self.checked.reference(expr.id),
                    Some(Reference::Variable(_) | Reference::Type(_))
                ) =>
            {
                None
            }
            ExprKind::Select { operand, field, optional } => {
                let of = self.expr(operand);
                if !optional {
                    self.member(of, field);
                }
                self.field(operand, &field.text).filter(|_| !optional)
            }
            ExprKind::Index { operand, index, optional } => {
                let list = self.expr(operand);
                self.expr(index);
                let found = match &index.kind {
                    ExprKind::Literal(Literal::String(field)) => self.field(operand, field),
                    _ => list.and_then(|list| list.items.clone()),
                };
                found.filter(|_| !optional)
            }
            ExprKind::Has { operand, field } => {
                let of = self.expr(operand);
                self.member(of, field);
                None
            }
            ExprKind::Call { function, target, args } => {
                self.call(expr, function, target.as_deref(), args);
                match (self.function(expr)?, target.as_deref(), args.as_slice()) {
                    ("orValue", Some(optional), [instead]) => self.or_value(optional, instead),
                    (name, ..) => self.env.result_of(name).cloned(),
                }
            }
            ExprKind::Comprehension(comprehension) => self.comprehension(comprehension),
            ExprKind::Bind { value, body, .. } => {
                let local = Local::of(self.expr(value), value);
                self.with([local], |walk| walk.expr(body))
            }
            ExprKind::Block { bindings, body } => {
                let outside = self.locals.len();
                for binding in bindings {
                    let local = Local::of(self.expr(&binding.value), &binding.value);
                    self.locals.push(local);
                }
                let body = self.expr(body);
                self.locals.truncate(outside);
                body
            }
            ExprKind::OptMap { operand, body, .. } => {
                self.expr(operand);
                self.with([Local::default()], |walk| walk.expr(body));
                None
            }
            _ => {
                let mut parts = Vec::new();
                expr.for_each_part(&mut |part| parts.push(part));
                for part in parts {
                    self.expr(part);
                }
                None
            }
        }
    }

    fn with<const N: usize>(
        &mut self,
        locals: [Local<'c>; N],
        body: impl FnOnce(&mut Self) -> Known,
    ) -> Known {
        let outside = self.locals.len();
        self.locals.extend(locals);
        let known = body(self);
        self.locals.truncate(outside);
        known
    }

    /// The name of the function that a call means.
    fn function(&self, call: &Expr) -> Option<&'static str> {
        match self.checked.reference(call.id)? {
            Reference::Function { declaration, .. } => Some(declaration.function.name),
            _ => None,
        }
    }

    /// `a.?b.orValue('c')`: what the field is, or the constant in its place.
    fn or_value(&self, optional: &Expr, instead: &Expr) -> Known {
        let (operand, name) = match &optional.kind {
            ExprKind::Select { operand, field, .. } => (operand, &field.text),
            ExprKind::Index { operand, index, .. } => match &index.kind {
                ExprKind::Literal(Literal::String(name)) => (operand, name),
                _ => return None,
            },
            _ => return None,
        };
        let domain = match self.checked.type_of(operand.id) {
            Type::Optional(value) => domain_of(value, name),
            ty => domain_of(ty, name),
        };
        let allowed = domain?.allowed.clone()?.into_iter().chain([constant(instead)?]).collect();
        Domain { allowed: Some(allowed), ..Domain::default() }.known()
    }

    fn field(&self, operand: &Expr, name: &str) -> Known {
        match self.what(operand).0.and_then(|domain| domain.members.clone()) {
            Some(members) => members.iter().find(|(member, _)| **member == *name)?.1.clone(),
            None => domain_of(self.checked.type_of(operand.id), name),
        }
    }

    /// Reports a member that the map does not have.
    fn member(&mut self, of: Known, field: &Name) {
        if let Some(members) = of.and_then(|domain| domain.members.clone())
            && members.iter().all(|(member, _)| **member != *field.text)
        {
            let names: Vec<&str> = members.iter().map(|(member, _)| &**member).collect();
            self.issues.push(messages::unknown_member(field.span, &field.text, &names));
        }
    }

    fn comprehension(&mut self, comprehension: &'c Comprehension) -> Known {
        let range = self.expr(&comprehension.range);
        let is_list = self.checked.type_of(comprehension.range.id).element().is_some()
            || range.as_ref().is_some_and(|range| range.items.is_some());
        let item = range.as_ref().filter(|_| is_list).and_then(|range| range.items.clone());
        let body = |walk: &mut Self| {
            if let Some(filter) = &comprehension.filter {
                walk.expr(filter);
            }
            walk.expr(&comprehension.body)
        };
        let body = match &comprehension.second {
            Some(_) => self.with([Local::default(), Local::of(item, &comprehension.range)], body),
            None => self.with([Local::of(item, &comprehension.range)], body),
        };
        match comprehension.kind {
            // what is left of a list is no larger, and has the same elements
            ComprehensionKind::Filter | ComprehensionKind::SortBy if is_list => range,
            ComprehensionKind::Map => {
                let max_size = range.and_then(|range| range.max_size);
                Domain { max_size, items: body, ..Domain::default() }.known()
            }
            _ => None,
        }
    }

    fn call(&mut self, expr: &'c Expr, function: &Name, target: Option<&'c Expr>, args: &'c [Expr]) {
        let Some(Reference::Function { declaration, qualified, .. }) = self.checked.reference(expr.id) else {
            target.into_iter().chain(args).for_each(|part| drop(self.expr(part)));
            return;
        };
        let name = declaration.function.name;
        let operands: Vec<&Expr> = target.filter(|_| !qualified).into_iter().chain(args).collect();
        for operand in &operands {
            self.expr(operand);
        }
        match (name, operands.as_slice()) {
            ("_==_" | "_!=_", [left, right]) => {
                self.against(left, right, name == "_==_");
                self.against(right, left, name == "_==_");
                self.size(function, left, name, right);
                self.size(function, right, mirrored(name), left);
            }
            ("_<_" | "_<=_" | "_>_" | "_>=_", [left, right]) => {
                self.size(function, left, name, right);
                self.size(function, right, mirrored(name), left);
            }
            ("@in", [item, of]) => {
                let is = self.what(item);
                self.listed(&is, of);
                let items = self.items(of);
                self.against_one(&items, item, messages::never_listed);
            }
            ("sets.contains" | "sets.equivalent" | "sets.intersects", [left, right]) => {
                for (of, listed) in [(left, right), (right, left)] {
                    let items = self.items(of);
                    self.listed(&items, listed);
                }
            }
            ("_&&_" | "_||_", [left, right]) => self.logic(function, name == "_||_", [left, right]),
            _ => {}
        }
    }

    /// A value of which few constants are known, compared with a constant that is none of them.
    fn against(&mut self, value: &Expr, constant: &Expr, equal: bool) {
        let is = self.what(value);
        self.against_one(&is, constant, |span, written, allowed| {
            messages::not_in_schema(span, written, allowed, equal)
        });
    }

    /// The same for each element of a list that is written out, and each key of a map.
    fn listed(&mut self, is: &(Known, Type), of: &Expr) {
        let constants: Vec<&Expr> = match &of.kind {
            ExprKind::List(elements) => {
                elements.iter().filter(|element| !element.optional).map(|element| &element.value).collect()
            }
            ExprKind::Map(entries) => {
                entries.iter().filter(|entry| !entry.optional).map(|entry| &entry.key).collect()
            }
            _ => return,
        };
        for constant in constants {
            self.against_one(is, constant, messages::never_listed);
        }
    }

    fn against_one(
        &mut self,
        (domain, ty): &(Known, Type),
        written: &Expr,
        message: impl Fn(crate::source::Span, &Constant, &[Constant]) -> Issue,
    ) {
        let Some((domain, allowed)) =
            domain.as_ref().and_then(|domain| Some((domain, domain.allowed.as_deref()?)))
        else {
            return;
        };
        // of another type than all of them: that has been said
        let is_new = |constant: &Constant| {
            !domain.allows(constant) && (!matches!(ty, Type::String) || matches!(constant, Constant::Text(_)))
        };
        match constant(written) {
            Some(constant) if is_new(&constant) => {
                self.issues.push(message(written.span, &constant, allowed))
            }
            Some(_) => {}
            None => {
                for (element, constant) in self.constants_of(written) {
                    if is_new(&constant) {
                        self.issues.push(messages::never_listed(element.span, &constant, allowed));
                    }
                }
            }
        }
    }

    /// The constants that a variable stands for: the elements of the list that its macro goes through, or the constant that it names.
    fn constants_of(&self, variable: &Expr) -> Vec<(&'c Expr, Constant)> {
        let Some(Reference::Local(out)) = self.checked.reference(variable.id) else { return Vec::new() };
        let local = self.locals.iter().rev().nth(*out).and_then(|local| local.written);
        let known = |written: &'c Expr| Some((written, constant(written)?));
        match local.map(|written| (&written.kind, written)) {
            Some((ExprKind::List(elements), _)) => elements
                .iter()
                .filter(|element| !element.optional)
                .filter_map(|it| known(&it.value))
                .collect(),
            Some((_, written)) => known(written).into_iter().collect(),
            None => Vec::new(),
        }
    }

    /// What is known of a part, and its type.
    fn what(&self, value: &Expr) -> (Known, Type) {
        let domain = self.domains.get(value.id.0 as usize).cloned().flatten();
        (domain, self.checked.type_of(value.id).clone())
    }

    /// The same of its elements.
    fn items(&self, list: &Expr) -> (Known, Type) {
        let (domain, ty) = self.what(list);
        (domain.and_then(|domain| domain.items.clone()), ty.element().unwrap_or(Type::Dyn))
    }

    /// A size is never negative: `size(x) >= 0` asks nothing.
    fn size(&mut self, sign: &Name, size: &Expr, comparison: &str, bound: &Expr) {
        let ExprKind::Literal(Literal::Int(bound)) = &bound.kind else { return };
        let is_size = self.function(size) == Some("size");
        let truth = match (comparison, *bound) {
            ("_<_", ..=0) | ("_<=_" | "_==_", ..0) => false,
            ("_>=_", ..=0) | ("_>_" | "_!=_", ..0) => true,
            _ => return,
        };
        if is_size {
            self.issues.push(messages::size_is_never_negative(sign.span, truth));
        }
    }

    /// `x && false`, and `x != 'a' || x != 'b'`, which holds of everything.
    fn logic(&mut self, sign: &Name, or: bool, operands: [&Expr; 2]) {
        let decides =
            |operand: &&Expr| matches!(operand.kind, ExprKind::Literal(Literal::Bool(it)) if it == or);
        if let Some(operand) = operands.into_iter().find(decides) {
            self.report_chain(messages::decided_by_constant(operand.span, or));
            return;
        }
        let (own, comparison) = if or { ("_||_", "_!=_") } else { ("_&&_", "_==_") };
        let [left, right] = operands.map(|operand| {
            let mut comparisons = Vec::new();
            in_chain(operand, own, comparison, &mut comparisons);
            comparisons
        });
        let contrary = |(subject, constant): &(&Expr, Constant)| {
            left.iter().any(|(other, than)| than != constant && same(other, subject))
        };
        if right.iter().any(contrary) {
            self.report_chain(messages::decided_by_another(sign.span, or));
        }
    }

    fn report_chain(&mut self, issue: Issue) {
        if self.chains < MAX_CHAINS {
            self.issues.push(issue);
        }
        self.chains = self.chains.saturating_add(1);
    }
}

/// What is known of a field of a record.
fn domain_of(ty: &Type, field: &str) -> Known {
    let (Type::Record(record) | Type::Singleton(record)) = ty else { return None };
    let (_, field) = record.fields.get_index(record.slot(field)?)?;
    field.domain.clone()
}

/// Comparisons of one side of a chain that are looked at: each is held against each of the other side.
const MAX_CHAIN: usize = 16;

/// The comparisons with constants of a chain of one operator, the first few.
fn in_chain<'e>(expr: &'e Expr, own: &str, comparison: &str, found: &mut Vec<(&'e Expr, Constant)>) {
    match &expr.kind {
        ExprKind::Call { function, target: None, args } if function.text == own => {
            for arg in args {
                if found.len() < MAX_CHAIN {
                    in_chain(arg, own, comparison, found);
                }
            }
        }
        _ => found.extend(compared(expr, comparison)),
    }
}

/// The two sides of a comparison of something with a constant.
fn compared<'e>(expr: &'e Expr, comparison: &str) -> Option<(&'e Expr, Constant)> {
    let ExprKind::Call { function, target: None, args } = &expr.kind else { return None };
    let [left, right] = args.as_slice() else { return None };
    if function.text != comparison {
        return None;
    }
    match (constant(left), constant(right)) {
        (None, Some(constant)) => Some((left, constant)),
        (Some(constant), None) => Some((right, constant)),
        _ => None,
    }
}

/// Whether two paths are written alike. Calls are none: a host may answer each time anew.
fn same(a: &Expr, b: &Expr) -> bool {
    match (&a.kind, &b.kind) {
        (ExprKind::Ident { name: a, absolute }, ExprKind::Ident { name: b, absolute: other }) => {
            a == b && absolute == other
        }
        (
            ExprKind::Select { operand: a, field, optional: false },
            ExprKind::Select { operand: b, field: other, optional: false },
        ) => field.text == other.text && same(a, b),
        (
            ExprKind::Index { operand: a, index, optional: false },
            ExprKind::Index { operand: b, index: other, optional: false },
        ) => constant(index).is_some() && constant(index) == constant(other) && same(a, b),
        _ => false,
    }
}

#[expect(
    clippy::cast_precision_loss,
    reason = "two numbers that become one make a warning less, never a wrong one"
)]
fn constant(expr: &Expr) -> Option<Constant> {
    let ExprKind::Literal(literal) = &expr.kind else { return None };
    Some(match literal {
        Literal::Null => Constant::Null,
        Literal::Bool(value) => Constant::Bool(*value),
        Literal::Int(value) => Constant::Number(*value as f64),
        Literal::UInt(value) => Constant::Number(*value as f64),
        Literal::Double(value) => Constant::Number(*value),
        Literal::String(text) => Constant::Text(text.as_str().into()),
        Literal::Bytes(_) => return None,
    })
}

fn mirrored(comparison: &str) -> &str {
    match comparison {
        "_<_" => "_>_",
        "_<=_" => "_>=_",
        "_>_" => "_<_",
        "_>=_" => "_<=_",
        same => same,
    }
}
