//! Calls to macros: `has`, the loops over lists and maps, `cel.bind`, `cel.block`, `optMap` and `optFlatMap` become
//! nodes.
//!
//! A macro is known by its name, by whether it has a target, and by the number of its arguments; any other call of
//! its name stays a call. What must be a variable or a field there and is not, is an issue. The variables that tools
//! number (`cel.index(0)`, `cel.iterVar(0, 0)`) are named by the very call, which no other variable can be named.

use super::expr::{
    BlockBinding, Comprehension, ComprehensionKind as Kind, Element, Expr, ExprKind, Literal, Name,
};
use super::messages;
use crate::issue::Issue;

/// A loop: its name, its meaning, how many variables it has, and whether a condition stands before its body.
struct Loop {
    name: &'static str,
    kind: Kind,
    variables: usize,
    condition: bool,
}

const fn row(name: &'static str, kind: Kind, variables: usize, condition: bool) -> Loop {
    Loop { name, kind, variables, condition }
}

const LOOPS: [Loop; 18] = [
    row("all", Kind::All, 1, false),
    row("all", Kind::All, 2, false),
    row("exists", Kind::Exists, 1, false),
    row("exists", Kind::Exists, 2, false),
    row("exists_one", Kind::ExistsOne, 1, false),
    row("exists_one", Kind::ExistsOne, 2, false),
    row("existsOne", Kind::ExistsOne, 1, false),
    row("existsOne", Kind::ExistsOne, 2, false),
    row("filter", Kind::Filter, 1, false),
    row("map", Kind::Map, 1, false),
    row("map", Kind::Map, 1, true),
    row("transformList", Kind::Map, 2, false),
    row("transformList", Kind::Map, 2, true),
    row("transformMap", Kind::TransformMap, 2, false),
    row("transformMap", Kind::TransformMap, 2, true),
    row("transformMapEntry", Kind::TransformMapEntry, 2, false),
    row("transformMapEntry", Kind::TransformMapEntry, 2, true),
    row("sortBy", Kind::SortBy, 1, false),
];

impl Loop {
    /// The variables, the body, and the condition if there is one.
    const fn arguments(&self) -> usize {
        self.variables.saturating_add(1).saturating_add(if self.condition { 1 } else { 0 })
    }
}

/// What a call means: a macro, or the call that was written.
pub(super) fn expand(
    function: Name,
    target: Option<Box<Expr>>,
    args: Vec<Expr>,
    issues: &mut Vec<Issue>,
) -> ExprKind {
    let Some(target) = target else {
        return match <[Expr; 1]>::try_from(args) {
            Ok([operand]) if function.text == "has" => has(operand, issues),
            Ok(args) => ExprKind::Call { function, target: None, args: args.into() },
            Err(args) => ExprKind::Call { function, target: None, args },
        };
    };
    let rows = LOOPS.iter().filter(|row| row.name == function.text);
    if let Some(row) = rows.into_iter().find(|row| row.arguments() == args.len()) {
        return comprehension(row, function, *target, args, issues);
    }
    match (function.text.as_str(), args.len()) {
        ("bind", 3) if is_name(&target, "cel") => bind(function, args, issues),
        ("block", 2) if is_name(&target, "cel") => block(function, args, issues),
        ("index", 1) | ("iterVar" | "accuVar", 2) if is_name(&target, "cel") => {
            numbered(&function, &args, issues)
        }
        ("optMap" | "optFlatMap", 2) => opt_map(function, target, args, issues),
        _ => ExprKind::Call { function, target: Some(target), args },
    }
}

fn is_name(expr: &Expr, wanted: &str) -> bool {
    matches!(&expr.kind, ExprKind::Ident { name, absolute: false } if name == wanted)
}

fn has(operand: Expr, issues: &mut Vec<Issue>) -> ExprKind {
    match operand.kind {
        ExprKind::Select { operand, field, optional: false } => ExprKind::Has { operand, field },
        ExprKind::Ident { name, absolute: false } => {
            ExprKind::HasVariable(Name { text: name, span: operand.span })
        }
        kind => {
            issues.push(messages::has_of_neither(operand.span));
            kind
        }
    }
}

fn comprehension(row: &Loop, name: Name, range: Expr, args: Vec<Expr>, issues: &mut Vec<Issue>) -> ExprKind {
    let mut args = args.into_iter();
    let variable = args.next().and_then(|arg| variable(&name, arg, issues));
    let second = if row.variables == 2 {
        args.next().and_then(|arg| self::variable(&name, arg, issues))
    } else {
        None
    };
    let filter = if row.condition { args.next() } else { None };
    if let (Some(first), Some(second)) = (&variable, &second)
        && first.text == second.text
    {
        issues.push(messages::repeated_variable(&name.text, second));
    }
    match (variable, args.next()) {
        (Some(variable), Some(body)) => {
            let kind = row.kind;
            ExprKind::Comprehension(Box::new(Comprehension {
                kind,
                range,
                variable,
                second,
                filter,
                body,
                name,
            }))
        }
        // an issue says why
        _ => range.kind,
    }
}

fn bind(function: Name, args: Vec<Expr>, issues: &mut Vec<Issue>) -> ExprKind {
    let name = Name { text: "cel.bind".to_owned(), span: function.span };
    let mut args = args.into_iter();
    let variable = args.next().and_then(|arg| variable(&name, arg, issues));
    match (variable, args.next(), args.next()) {
        (Some(variable), Some(value), Some(body)) => {
            ExprKind::Bind { variable, value: Box::new(value), body: Box::new(body) }
        }
        (_, value, _) => ExprKind::Call { function: name, target: None, args: value.into_iter().collect() },
    }
}

fn block(function: Name, args: Vec<Expr>, issues: &mut Vec<Issue>) -> ExprKind {
    let mut args = args.into_iter();
    let bindings = args.next().and_then(|values| bindings(values, issues));
    match (bindings, args.next()) {
        (Some(bindings), Some(body)) => ExprKind::Block { bindings, body: Box::new(body) },
        (_, body) => ExprKind::Call { function, target: None, args: body.into_iter().collect() },
    }
}

/// The bindings of a block, which must be written out as a list.
fn bindings(values: Expr, issues: &mut Vec<Issue>) -> Option<Vec<BlockBinding>> {
    match values.kind {
        ExprKind::List(elements) if elements.iter().all(|element| !element.optional) => {
            let named = |(index, Element { value, .. })| BlockBinding {
                variable: variable_name("index", &[index]),
                value,
            };
            Some(elements.into_iter().enumerate().map(named).collect())
        }
        _ => {
            issues.push(messages::not_a_list_of_values(values.span));
            None
        }
    }
}

/// A variable that is known by numbers: `cel.index(0)`.
fn numbered(function: &Name, args: &[Expr], issues: &mut Vec<Issue>) -> ExprKind {
    let number = |arg: &Expr| match arg.kind {
        ExprKind::Literal(Literal::Int(number)) => usize::try_from(number).ok(),
        _ => None,
    };
    let not_one = args.iter().filter(|arg| number(arg).is_none());
    issues.extend(not_one.map(|arg| messages::not_a_number(&function.text, arg.span)));
    let numbers: Vec<usize> = args.iter().filter_map(number).collect();
    ExprKind::Ident { name: variable_name(&function.text, &numbers), absolute: false }
}

/// The name of a variable that is known by numbers, which is how it is written.
fn variable_name(function: &str, numbers: &[usize]) -> String {
    let numbers: Vec<String> = numbers.iter().map(ToString::to_string).collect();
    format!("cel.{function}({})", numbers.join(", "))
}

fn opt_map(function: Name, operand: Box<Expr>, args: Vec<Expr>, issues: &mut Vec<Issue>) -> ExprKind {
    let flat = function.text == "optFlatMap";
    let mut args = args.into_iter();
    let variable = args.next().and_then(|arg| variable(&function, arg, issues));
    match (variable, args.next()) {
        (Some(variable), Some(body)) => ExprKind::OptMap { operand, variable, body: Box::new(body), flat },
        _ => operand.kind,
    }
}

/// The name that an argument must be to declare a variable.
fn variable(of: &Name, arg: Expr, issues: &mut Vec<Issue>) -> Option<Name> {
    match arg.kind {
        ExprKind::Ident { name, absolute: false } => Some(Name { text: name, span: arg.span }),
        _ => {
            issues.push(messages::not_a_variable(&of.text, arg.span));
            None
        }
    }
}
