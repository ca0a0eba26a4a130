//! Members of a map without which an expression has no value, or is not true: the step fails where one of them is missing.
//!
//! In: the expression of a step, and the map: the arguments of the call, the claims of the user, or the result. Out: paths into the map, each with the place where it is read. `input.?amount` needs nothing; `||` needs what both operands need; a macro
//! needs what its list needs, and `all`, `map` and `filter` what they read of its elements. For what is asked for by `has` its author has thought of a call without it. Linear in
//! the expression, times the paths.

use crate::cel::{ComprehensionKind, Expr, ExprId, ExprKind, Literal};
use crate::context::Root;
use crate::source::Span;

/// A map of which members may be missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum ReadMap {
    /// `input`
    Arguments,
    /// `context.user.claims`
    Claims,
    /// `output`
    Result,
}

/// The way from the map to a member, or to a part of one. An element of a list has no name.
pub(crate) type ArgumentPath = Vec<Option<String>>;

/// A member of the map, or a part of one, that an expression reads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct NeededArgument {
    pub(crate) path: ArgumentPath,
    /// The expression that reads it.
    pub(crate) id: ExprId,
    pub(crate) span: Span,
}

impl NeededArgument {
    /// The name of the member.
    pub(crate) fn name(&self) -> &str {
        self.path.first().and_then(Option::as_deref).unwrap_or_default()
    }

    /// Whether it is a member as a whole, and no part of one.
    pub(crate) fn is_whole(&self) -> bool {
        self.path.len() == 1
    }
}

/// Each path once.
type Needed = Vec<NeededArgument>;

/// The paths without which an expression is not true, but for those that it asks for.
pub(crate) fn needed_for_truth(map: ReadMap, expr: &Expr) -> Needed {
    but_for_asked(map, expr, Walk::of(map).for_truth(expr, true))
}

/// The paths without which an expression has no value, but for those that it asks for.
pub(crate) fn needed_for_value(map: ReadMap, expr: &Expr) -> Needed {
    but_for_asked(map, expr, Walk::of(map).for_value(expr))
}

/// The paths that are there wherever an expression is true, those too that it asks for.
pub(crate) fn given_by_truth(map: ReadMap, expr: &Expr) -> Vec<ArgumentPath> {
    Walk::of(map).for_truth(expr, true).into_iter().map(|needed| needed.path).collect()
}

/// The paths that an expression asks for.
pub(crate) fn asked_for(map: ReadMap, expr: &Expr) -> Vec<ArgumentPath> {
    let mut asked = Vec::new();
    Walk::of(map).asked(expr, &mut asked);
    asked
}

/// The paths that a negation or an inequality reads which exempts a call from the rest of an `||`: `flag` of `!input.flag || input.reason != ''`. But for those that the
/// expression asks for.
pub(crate) fn needed_for_exemption(map: ReadMap, expr: &Expr) -> Needed {
    let mut found = Vec::new();
    Walk::of(map).exemptions(expr, false, &mut found);
    but_for_asked(map, expr, found)
}

/// The paths of which an expression asks that they are not a constant, or not true, but for those that it asks for: `!context.user.claims.suspended`. A user without the
/// claim was hardly meant.
pub(crate) fn needed_for_denial(map: ReadMap, expr: &Expr) -> Needed {
    let mut found = Vec::new();
    Walk::of(map).denials(expr, &mut found);
    but_for_asked(map, expr, found)
}

/// Whether an expression compares an argument with constants, and so tells kinds of calls apart, which may have other arguments.
pub(crate) fn tells_kinds_apart(map: ReadMap, expr: &Expr) -> bool {
    Walk::of(map).tells_kinds_apart(expr)
}

fn but_for_asked(map: ReadMap, expr: &Expr, mut needed: Needed) -> Needed {
    let asked = asked_for(map, expr);
    needed.retain(|it| !asked.contains(&it.path));
    needed
}

/// The variables of the macros around, the innermost last, each with the path to what it stands for.
struct Walk<'e> {
    map: ReadMap,
    local: Vec<(&'e str, Option<ArgumentPath>)>,
}

impl<'e> Walk<'e> {
    const fn of(map: ReadMap) -> Self {
        Self { map, local: Vec::new() }
    }

    /// The paths without which an expression does not have this truth.
    fn for_truth(&mut self, expr: &'e Expr, truth: bool) -> Needed {
        match &expr.kind {
            ExprKind::Call { function, target: None, args } => {
                match (function.text.as_str(), args.as_slice()) {
                    ("!_", [operand]) => self.for_truth(operand, !truth),
                    (sign @ ("_&&_" | "_||_"), operands) => {
                        let takes_all = (sign == "_&&_") == truth;
                        let each = operands.iter().map(|operand| self.for_truth(operand, truth));
                        each.reduce(if takes_all { all_of } else { shared_by }).unwrap_or_default()
                    }
                    ("_?_:_", [condition, yes, no]) => {
                        let branches = shared_by(self.for_truth(yes, truth), self.for_truth(no, truth));
                        all_of(self.for_value(condition), branches)
                    }
                    ("@in", [_, of]) if truth => match (self.named_key(args), self.path_of(of)) {
                        (Some(path), Some(_)) => all_of(self.for_value(expr), needed(expr, path)),
                        _ => self.for_value(expr),
                    },
                    _ => self.for_value(expr),
                }
            }
            ExprKind::Has { operand, field } if truth => {
                let own = self.path_of(operand).map(|path| needed(expr, to_field(path, &field.text)));
                all_of(self.for_value(operand), own.unwrap_or_default())
            }
            ExprKind::Comprehension(comprehension) => {
                let decides = match comprehension.kind {
                    ComprehensionKind::All => truth,
                    ComprehensionKind::Exists => !truth,
                    _ => return self.for_value(expr),
                };
                let range = self.for_value(&comprehension.range);
                if !decides {
                    return range;
                }
                let of_elements = self.of_elements(expr, |walk| walk.for_truth(&comprehension.body, truth));
                all_of(range, of_elements)
            }
            ExprKind::Bind { variable, value, body } => {
                let path = self.path_of(value);
                let of_value = self.for_value(value);
                let of_body = self.within(&[(&variable.text, path)], |walk| walk.for_truth(body, truth));
                all_of(of_value, of_body)
            }
            _ => self.for_value(expr),
        }
    }

    /// The paths without which an expression has no value at all.
    fn for_value(&mut self, expr: &'e Expr) -> Needed {
        match &expr.kind {
            ExprKind::Select { operand, optional: false, .. } => {
                let own = self.path_of(expr).map(|path| needed(expr, path)).unwrap_or_default();
                all_of(self.for_value(operand), own)
            }
            ExprKind::Has { operand, .. } => self.for_value(operand),
            ExprKind::Index { operand, index, optional: false } => {
                let is_name = matches!(index.kind, ExprKind::Literal(Literal::String(_)));
                let own = if is_name { self.path_of(expr) } else { None };
                let own = own.map(|path| needed(expr, path)).unwrap_or_default();
                all_of(all_of(self.for_value(operand), self.for_value(index)), own)
            }
            ExprKind::Call { function, target: None, args }
                if matches!(function.text.as_str(), "_&&_" | "_||_" | "_?_:_") && !args.is_empty() =>
            {
                // which operand decides is not known
                match (function.text.as_str(), args.as_slice()) {
                    ("_?_:_", [condition, ..]) => self.for_value(condition),
                    _ => Vec::new(),
                }
            }
            ExprKind::Call { target, args, .. } => {
                let parts = target.as_deref().into_iter().chain(args);
                parts.map(|part| self.for_value(part)).reduce(all_of).unwrap_or_default()
            }
            ExprKind::List(elements) => {
                let parts = elements.iter().map(|element| self.for_value(&element.value));
                parts.reduce(all_of).unwrap_or_default()
            }
            ExprKind::Map(entries) => {
                let parts = entries.iter().map(|entry| self.for_value(&entry.value));
                parts.reduce(all_of).unwrap_or_default()
            }
            ExprKind::Comprehension(comprehension) => {
                let range = self.for_value(&comprehension.range);
                let takes_each = match comprehension.kind {
                    ComprehensionKind::Map => comprehension.filter.is_none(),
                    ComprehensionKind::Filter => true,
                    _ => false,
                };
                if !takes_each {
                    return range;
                }
                let of_elements = self.of_elements(expr, |walk| walk.for_value(&comprehension.body));
                all_of(range, of_elements)
            }
            ExprKind::Bind { variable, value, body } => {
                let path = self.path_of(value);
                let of_value = self.for_value(value);
                let of_body = self.within(&[(&variable.text, path)], |walk| walk.for_value(body));
                all_of(of_value, of_body)
            }
            _ => Vec::new(),
        }
    }

    /// What a macro needs of the elements of its list. Where the list is empty it needs nothing else.
    fn of_elements(&mut self, expr: &'e Expr, of_body: impl FnOnce(&mut Self) -> Needed) -> Needed {
        let Some((element, variables)) = self.variables(expr) else { return Vec::new() };
        let mut found = self.within(&variables, of_body);
        found.retain(|it| it.path.len() > element.len() && it.path.starts_with(&element));
        found
    }

    /// The path to the elements that a macro goes through, and its variables.
    #[expect(clippy::type_complexity, reason = "a pair of what is read off one macro")]
    fn variables(&self, expr: &'e Expr) -> Option<(ArgumentPath, Vec<(&'e str, Option<ArgumentPath>)>)> {
        let ExprKind::Comprehension(comprehension) = &expr.kind else { return None };
        let element = to_element(self.path_of(&comprehension.range)?);
        let first = comprehension.variable.text.as_str();
        let variables = match &comprehension.second {
            Some(second) => vec![(first, None), (second.text.as_str(), Some(element.clone()))],
            None => vec![(first, Some(element.clone()))],
        };
        Some((element, variables))
    }

    fn within<T>(
        &mut self,
        variables: &[(&'e str, Option<ArgumentPath>)],
        of: impl FnOnce(&mut Self) -> T,
    ) -> T {
        let outside = self.local.len();
        self.local.extend(variables.iter().cloned());
        let found = of(self);
        self.local.truncate(outside);
        found
    }

    /// The path that an expression is; an element of a list that a macro leaves as it is has the path of any element.
    fn path_of(&self, expr: &Expr) -> Option<ArgumentPath> {
        if self.is_claims(expr) {
            return Some(Vec::new());
        }
        match &expr.kind {
            ExprKind::Ident { name, absolute } => {
                let local = self.local.iter().rev().find(|(local, _)| local == name);
                match local.filter(|_| !absolute) {
                    Some((_, path)) => path.clone(),
                    None => self.is_map(name).then(Vec::new),
                }
            }
            ExprKind::Select { operand, field, optional: false } => {
                Some(to_field(self.path_of(operand)?, &field.text))
            }
            ExprKind::Index { operand, index, optional: false } => match &index.kind {
                ExprKind::Literal(Literal::String(name)) => Some(to_field(self.path_of(operand)?, name)),
                ExprKind::Literal(Literal::Int(_)) => Some(to_element(self.path_of(operand)?)),
                _ => None,
            },
            ExprKind::Comprehension(comprehension) if comprehension.kind == ComprehensionKind::Filter => {
                self.path_of(&comprehension.range)
            }
            _ => None,
        }
    }

    /// Whether a variable that no macro declares is the map.
    fn is_map(&self, name: &str) -> bool {
        let root = match self.map {
            ReadMap::Arguments => Root::Input,
            ReadMap::Result => Root::Output,
            ReadMap::Claims => return false,
        };
        Root::long_name(name) == root.name()
    }

    /// `context.user.claims`, where the claims are the map.
    fn is_claims(&self, expr: &Expr) -> bool {
        let context = selected(expr, "claims").and_then(|user| selected(user, "user"));
        self.map == ReadMap::Claims
            && context.is_some_and(|context| match &context.kind {
                ExprKind::Ident { name, absolute } => {
                    Root::long_name(name) == Root::Context.name()
                        && (*absolute || self.local.iter().all(|(local, _)| local != name))
                }
                _ => false,
            })
    }

    /// `'amount' in input`
    fn named_key(&self, args: &[Expr]) -> Option<ArgumentPath> {
        match args {
            [Expr { kind: ExprKind::Literal(Literal::String(name)), .. }, of] => {
                Some(to_field(self.path_of(of)?, name))
            }
            _ => None,
        }
    }

    /// Collects what [`needed_for_exemption`] is about; `is_operand` says whether the expression is an operand of an `||`.
    fn exemptions(&mut self, expr: &'e Expr, is_operand: bool, found: &mut Needed) {
        let ExprKind::Call { function, target: None, args } = &expr.kind else { return };
        let read = match (function.text.as_str(), args.as_slice()) {
            ("_&&_", operands) => {
                return operands.iter().for_each(|operand| self.exemptions(operand, false, found));
            }
            ("_||_", operands) => {
                // `!has(input.options) || input.options.mode != 'fast'`: of a call with options
                let asked: Vec<ArgumentPath> = operands.iter().filter_map(|it| self.absent(it)).collect();
                for operand in operands {
                    let mut parts = self.for_truth(operand, true);
                    parts.retain(|it| {
                        let is_part =
                            |asked: &ArgumentPath| it.path.len() > asked.len() && it.path.starts_with(asked);
                        asked.iter().any(is_part)
                    });
                    *found = all_of(std::mem::take(found), parts);
                }
                // the last operand demands something
                let exempting = operands.len().saturating_sub(1);
                return operands.iter().take(exempting).for_each(|it| self.exemptions(it, true, found));
            }
            ("!_", [operand]) => operand,
            ("_!=_", [one, other]) if is_constant(other) => one,
            ("_!=_", [one, other]) if is_constant(one) => other,
            _ => return,
        };
        if is_operand && let Some(path) = self.path_of(read) {
            *found = all_of(std::mem::take(found), needed(read, path));
        }
    }

    /// Collects what [`needed_for_denial`] is about.
    fn denials(&mut self, expr: &'e Expr, found: &mut Needed) {
        let ExprKind::Call { function, target: None, args } = &expr.kind else { return };
        let read = match (function.text.as_str(), args.as_slice()) {
            ("_&&_", operands) => return operands.iter().for_each(|operand| self.denials(operand, found)),
            ("!_", [Expr { kind: ExprKind::Call { function, target: None, args }, .. }])
                if matches!(function.text.as_str(), "_==_" | "@in") =>
            {
                args.first()
            }
            ("!_", [operand]) => Some(operand),
            ("_!=_", [one, other]) if is_constant(other) => Some(one),
            ("_!=_", [one, other]) if is_constant(one) => Some(other),
            _ => None,
        };
        if let Some(read) = read
            && let Some(path) = self.path_of(read)
        {
            *found = all_of(std::mem::take(found), needed(read, path));
        }
    }

    /// The path that `!has(…)` asks for.
    fn absent(&self, expr: &'e Expr) -> Option<ArgumentPath> {
        let ExprKind::Call { function, target: None, args } = &expr.kind else { return None };
        match args.as_slice() {
            [Expr { kind: ExprKind::Has { operand, field }, .. }] if function.text == "!_" => {
                self.path_of(operand).map(|path| to_field(path, &field.text))
            }
            _ => None,
        }
    }

    fn tells_kinds_apart(&self, expr: &'e Expr) -> bool {
        let is_argument = |expr: &Expr| self.path_of(expr).is_some_and(|path| !path.is_empty());
        let own = match &expr.kind {
            ExprKind::Call { function, target, args } => match (function.text.as_str(), args.as_slice()) {
                ("_==_" | "_!=_", [one, other]) => {
                    is_argument(one) && is_text(other) || is_argument(other) && is_text(one)
                }
                ("@in", [one, _]) => is_argument(one),
                ("startsWith" | "endsWith" | "contains" | "matches", _) => {
                    target.as_deref().is_some_and(is_argument)
                }
                _ => false,
            },
            // a flag
            _ => is_argument(expr),
        };
        let mut tells = own;
        if !own && matches!(expr.kind, ExprKind::Call { .. } | ExprKind::Bind { .. }) && is_logical(expr) {
            expr.for_each_part(&mut |part| tells |= self.tells_kinds_apart(part));
        }
        tells
    }

    /// Collects what `has` and `?` ask for, and what is looked for among the names.
    fn asked(&mut self, expr: &'e Expr, found: &mut Vec<ArgumentPath>) {
        match &expr.kind {
            ExprKind::Has { operand, field } | ExprKind::Select { operand, field, optional: true } => {
                found.extend(self.path_of(operand).map(|path| to_field(path, &field.text)));
            }
            ExprKind::Index { operand, index, optional: true } => {
                if let ExprKind::Literal(Literal::String(name)) = &index.kind {
                    found.extend(self.path_of(operand).map(|path| to_field(path, name)));
                }
            }
            ExprKind::Call { function, target: None, args } if function.text == "@in" => {
                found.extend(self.named_key(args));
            }
            _ => {}
        }
        match &expr.kind {
            ExprKind::Comprehension(comprehension) => {
                self.asked(&comprehension.range, found);
                let variables = match self.variables(expr) {
                    Some((_, variables)) => variables,
                    None => {
                        let second = comprehension.second.as_ref();
                        let names = std::iter::once(&comprehension.variable).chain(second);
                        names.map(|name| (name.text.as_str(), None)).collect()
                    }
                };
                self.within(&variables, |walk| {
                    let parts = comprehension.filter.iter().chain([&comprehension.body]);
                    parts.for_each(|part| walk.asked(part, found));
                });
            }
            ExprKind::Bind { variable, value, body } => {
                self.asked(value, found);
                let path = self.path_of(value);
                self.within(&[(&variable.text, path)], |walk| walk.asked(body, found));
            }
            _ => {
                let mut parts = Vec::new();
                expr.for_each_part(&mut |part| parts.push(part));
                parts.into_iter().for_each(|part| self.asked(part, found));
            }
        }
    }
}

/// The operand from which a field of this name is selected.
fn selected<'e>(expr: &'e Expr, name: &str) -> Option<&'e Expr> {
    match &expr.kind {
        ExprKind::Select { operand, field, optional: false } if field.text == name => Some(operand),
        _ => None,
    }
}

fn is_constant(expr: &Expr) -> bool {
    matches!(expr.kind, ExprKind::Literal(_))
}

fn is_text(expr: &Expr) -> bool {
    matches!(expr.kind, ExprKind::Literal(Literal::String(_) | Literal::Bool(_) | Literal::Null))
}

/// Whether an expression combines truths.
fn is_logical(expr: &Expr) -> bool {
    match &expr.kind {
        ExprKind::Call { function, target: None, .. } => {
            matches!(function.text.as_str(), "_&&_" | "_||_" | "!_" | "_?_:_")
        }
        ExprKind::Bind { .. } => true,
        _ => false,
    }
}

fn to_field(mut path: ArgumentPath, name: &str) -> ArgumentPath {
    path.push(Some(name.to_owned()));
    path
}

fn to_element(mut path: ArgumentPath) -> ArgumentPath {
    path.push(None);
    path
}

fn needed(expr: &Expr, path: ArgumentPath) -> Needed {
    let argument = NeededArgument { path, id: expr.id, span: expr.span };
    if argument.path.is_empty() { Vec::new() } else { vec![argument] }
}

fn all_of(mut one: Needed, other: Needed) -> Needed {
    for argument in other {
        if one.iter().all(|known| known.path != argument.path) {
            one.push(argument);
        }
    }
    one
}

fn shared_by(mut one: Needed, other: Needed) -> Needed {
    one.retain(|argument| other.iter().any(|known| known.path == argument.path));
    one
}

#[cfg(test)]
mod tests {
    use super::{
        ArgumentPath, ReadMap, given_by_truth, needed_for_denial, needed_for_truth, needed_for_value,
    };
    use crate::cel::{EvalLimits, parse};

    fn written(path: &ArgumentPath) -> String {
        let steps: Vec<&str> = path.iter().map(|step| step.as_deref().unwrap_or("*")).collect();
        steps.join(".")
    }

    #[test]
    fn what_an_assert_needs_it_cannot_do_without() {
        for (text, needed) in [
            ("input.amount < 5", "amount"),
            ("i.amount < 5 && input.order != ''", "amount, order"),
            ("input.amount < 5 || input.order != ''", ""),
            ("input.amount < 5 || input.amount > 7 && input.order == 'a'", "amount"),
            ("!(input.amount < 5 && input.order != '')", ""),
            ("!(input.amount < 5 || input.order != '')", "amount, order"),
            ("has(input.amount) && input.amount < 5", ""),
            ("'amount' in input && input.amount < input.parts", "parts"),
            ("!has(input.amount) || input.amount < 5", ""),
            ("has(input.amount) ? input.amount < 5 : true", ""),
            ("has(input.address.city) ? input.address.city == 'x' : true", "address"),
            ("input.urgent ? input.amount < 5 : input.amount < 3", "urgent, amount"),
            ("input.?amount.orValue(0) < 5", ""),
            ("input.?amount.orValue(0) < 5 && input.amount > 0", ""),
            ("input.items.all(x, x == input.order)", "items"),
            ("input.items.all(x, x.price < 5)", "items, items.*.price"),
            ("input.items.all(x, !has(x.price) || x.price < 5)", "items"),
            ("input.items.exists(x, x.price < 5)", "items"),
            ("!input.items.exists(x, x.price < 5)", "items, items.*.price"),
            ("input.items.map(x, x.price).sum() < 5", "items, items.*.price"),
            ("input.items.filter(x, has(x.price)).all(x, x.price < 5)", "items"),
            ("size(input.items) + input.parts < 5", "items, parts"),
            ("input.address.city in ['a', input.order]", "address, address.city, order"),
            ("input['amount'] < 5", "amount"),
            ("c.calls.all(t, t.input.amount < 5)", ""),
            ("c.calls.all(input, input.amount < 5)", ""),
            ("cel.bind(input, c, input.amount < 5)", ""),
            ("cel.bind(x, input.address, x.city != '')", "address, address.city"),
            ("(input.amount < 5) == (input.order == '')", "amount, order"),
        ] {
            let expr = parse(text, &EvalLimits::default()).unwrap();
            let found: Vec<String> =
                needed_for_truth(ReadMap::Arguments, &expr).iter().map(|it| written(&it.path)).collect();
            assert_eq!(found.join(", "), needed, "{text}");
        }
    }

    #[test]
    fn what_a_value_needs_is_less_than_what_a_truth_needs() {
        let expr = parse("input.amount < 5 && input.order != ''", &EvalLimits::default()).unwrap();
        assert_eq!(needed_for_value(ReadMap::Arguments, &expr), []);
        let expr = parse("input.amount < 5 ? input.order : ''", &EvalLimits::default()).unwrap();
        assert_eq!(
            needed_for_value(ReadMap::Arguments, &expr)
                .iter()
                .map(|it| written(&it.path))
                .collect::<Vec<_>>(),
            ["amount"]
        );
    }

    #[test]
    fn what_is_true_of_a_call_is_given_behind_the_step() {
        for (text, given) in [
            ("has(input.amount)", "amount"),
            ("has(input.amount) && input.order != ''", "amount, order"),
            ("'amount' in input", "amount"),
            ("has(input.amount) || input.order != ''", ""),
            ("!has(input.amount)", ""),
        ] {
            let expr = parse(text, &EvalLimits::default()).unwrap();
            let found: Vec<String> = given_by_truth(ReadMap::Arguments, &expr).iter().map(written).collect();
            assert_eq!(found.join(", "), given, "{text}");
        }
    }

    #[test]
    fn each_map_has_paths_of_its_own() {
        for (map, text, needed) in [
            (ReadMap::Claims, "context.user.claims.level > 2 && input.amount < 5", "level"),
            (ReadMap::Claims, "c.user.claims.address.city == 'x'", "address, address.city"),
            (ReadMap::Claims, "cel.bind(c, input, c.user.claims.level > 2)", ""),
            (ReadMap::Claims, "has(c.user.claims.level) && c.user.claims.level > 2", ""),
            (ReadMap::Result, "output.state == 'x' && o.id != ''", "state, id"),
            (ReadMap::Result, "input.state == 'x'", ""),
            (ReadMap::Arguments, "output.state == 'x'", ""),
        ] {
            let expr = parse(text, &EvalLimits::default()).unwrap();
            let found: Vec<String> =
                needed_for_truth(map, &expr).iter().map(|it| written(&it.path)).collect();
            assert_eq!(found.join(", "), needed, "{text}");
        }
    }

    #[test]
    fn a_denial_reads_what_it_denies() {
        for (text, needed) in [
            ("!c.user.claims.suspended", "suspended"),
            ("c.user.claims.team != 'guests' && input.amount < 5", "team"),
            ("!(c.user.claims.team in ['guests'])", "team"),
            ("!(c.user.claims.team == 'guests')", "team"),
            ("c.user.claims.team == 'staff'", ""),
            ("!has(c.user.claims.suspended) || !c.user.claims.suspended", ""),
        ] {
            let expr = parse(text, &EvalLimits::default()).unwrap();
            let found = needed_for_denial(ReadMap::Claims, &expr);
            let found: Vec<String> = found.iter().map(|it| written(&it.path)).collect();
            assert_eq!(found.join(", "), needed, "{text}");
        }
    }
}
