//! [`Expr`] to CEL text with no more brackets than needed: parsed again, the text gives the same tree.
//!
//! Text between an operator and its operands is one blank, names and literals are written in their plainest form;
//! comments are not kept. Recursion is bounded by the depth of the tree.

use super::expr::{Comprehension, Expr, ExprKind, Literal, Name};
use std::fmt::{self, Display, Formatter, Write};

/// How tightly a form binds; an operand that binds less tightly than its place asks stands in brackets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Binding {
    Conditional,
    Or,
    And,
    Relation,
    Sum,
    Product,
    Unary,
    /// A negative number: may be negated by `!`, but neither selected on nor by `-`.
    SignedNumber,
    /// A number: selected on, its dot would be taken for a decimal point.
    Number,
    Member,
}

impl Display for Expr {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write_expr(f, self)
    }
}

/// An operator of two operands: its sign and how tightly it binds.
fn operator(name: &str) -> Option<(&'static str, Binding)> {
    Some(match name {
        "_||_" => ("||", Binding::Or),
        "_&&_" => ("&&", Binding::And),
        "_==_" => ("==", Binding::Relation),
        "_!=_" => ("!=", Binding::Relation),
        "_<_" => ("<", Binding::Relation),
        "_<=_" => ("<=", Binding::Relation),
        "_>_" => (">", Binding::Relation),
        "_>=_" => (">=", Binding::Relation),
        "@in" => ("in", Binding::Relation),
        "_+_" => ("+", Binding::Sum),
        "_-_" => ("-", Binding::Sum),
        "_*_" => ("*", Binding::Product),
        "_/_" => ("/", Binding::Product),
        "_%_" => ("%", Binding::Product),
        _ => return None,
    })
}

/// The sign by which CEL writes an operator's name: `_+_` as `+`; other names as they are.
pub(crate) fn sign_of(name: &str) -> &str {
    match name {
        "_?_:_" => "? :",
        "!_" => "!",
        "-_" => "-",
        "_[_]" | "_[?_]" => "[]",
        _ => operator(name).map_or(name, |(sign, _)| sign),
    }
}

fn binding(expr: &Expr) -> Binding {
    match &expr.kind {
        ExprKind::Literal(Literal::Int(value)) if *value < 0 => Binding::SignedNumber,
        ExprKind::Literal(Literal::Double(value)) if value.is_sign_negative() => Binding::SignedNumber,
        ExprKind::Literal(Literal::Int(_) | Literal::UInt(_) | Literal::Double(_)) => Binding::Number,
        ExprKind::Call { function, target: None, args } => match (function.text.as_str(), args.len()) {
            ("_?_:_", 3) => Binding::Conditional,
            ("!_" | "-_", 1) => Binding::Unary,
            (name, 2) => operator(name).map_or(Binding::Member, |(_, binding)| binding),
            _ => Binding::Member,
        },
        _ => Binding::Member,
    }
}

fn write_expr(f: &mut Formatter<'_>, expr: &Expr) -> fmt::Result {
    match &expr.kind {
        ExprKind::Literal(literal) => write_literal(f, literal),
        ExprKind::Ident { name, absolute } => write!(f, "{}{name}", if *absolute { "." } else { "" }),
        ExprKind::Select { operand, field, optional } => {
            write_at(f, operand, Binding::Member)?;
            f.write_str(if *optional { ".?" } else { "." })?;
            write_field(f, &field.text)
        }
        ExprKind::Index { operand, index, optional } => {
            write_at(f, operand, Binding::Member)?;
            write!(f, "[{}{index}]", if *optional { "?" } else { "" })
        }
        ExprKind::Call { function, target: Some(target), args } => {
            write_at(f, target, Binding::Member)?;
            write!(f, ".{}", function.text)?;
            write_list(f, "(", args, write_expr, ")")
        }
        ExprKind::Call { function, target: None, args } => write_call(f, expr, function, args),
        ExprKind::List(elements) => write_list(
            f,
            "[",
            elements,
            |f, element| write!(f, "{}{}", if element.optional { "?" } else { "" }, element.value),
            "]",
        ),
        ExprKind::Map(entries) => write_list(
            f,
            "{",
            entries,
            |f, entry| write!(f, "{}{}: {}", if entry.optional { "?" } else { "" }, entry.key, entry.value),
            "}",
        ),
        ExprKind::Struct { name, fields } => {
            f.write_str(name)?;
            let write_one = |f: &mut Formatter<'_>, field: &super::StructField| {
                f.write_str(if field.optional { "?" } else { "" })?;
                write_field(f, &field.name.text)?;
                write!(f, ": {}", field.value)
            };
            write_list(f, "{", fields, write_one, "}")
        }
        ExprKind::Has { operand, field } => {
            f.write_str("has(")?;
            write_at(f, operand, Binding::Member)?;
            f.write_str(".")?;
            write_field(f, &field.text)?;
            f.write_str(")")
        }
        ExprKind::HasVariable(name) => write!(f, "has({})", name.text),
        ExprKind::Comprehension(comprehension) => write_comprehension(f, comprehension),
        ExprKind::Bind { variable, value, body } => write!(f, "cel.bind({}, {value}, {body})", variable.text),
        ExprKind::Block { bindings, body } => {
            f.write_str("cel.block(")?;
            write_list(f, "[", bindings, |f, binding| write_expr(f, &binding.value), "]")?;
            write!(f, ", {body})")
        }
        ExprKind::OptMap { operand, variable, body, flat } => {
            write_at(f, operand, Binding::Member)?;
            let name = if *flat { "optFlatMap" } else { "optMap" };
            write!(f, ".{name}({}, {body})", variable.text)
        }
    }
}

/// An operand in a place that asks for at least this binding.
fn write_at(f: &mut Formatter<'_>, expr: &Expr, place: Binding) -> fmt::Result {
    if binding(expr) < place { write!(f, "({expr})") } else { write_expr(f, expr) }
}

fn write_call(f: &mut Formatter<'_>, expr: &Expr, function: &Name, args: &[Expr]) -> fmt::Result {
    match (function.text.as_str(), args) {
        ("_?_:_", [condition, yes, no]) => {
            write_at(f, condition, Binding::Or)?;
            f.write_str(" ? ")?;
            write_at(f, yes, Binding::Or)?;
            f.write_str(" : ")?;
            write_at(f, no, Binding::Conditional)
        }
        ("!_", [operand]) => {
            f.write_str("!")?;
            write_at(f, operand, Binding::SignedNumber)
        }
        ("-_", [operand]) => {
            f.write_str("-")?;
            // behind the sign a number, alone or selected on, would take it
            if starts_with_number(operand) {
                write!(f, "({operand})")
            } else {
                write_at(f, operand, Binding::Member)
            }
        }
        (name, [left, right]) if let Some((sign, binding)) = operator(name) => {
            let logic = matches!(binding, Binding::And | Binding::Or);
            let tighter = next(binding);
            let (left_place, right_place) = match (logic, logic && is_balanced(expr, name)) {
                (true, true) => (binding, binding),
                (true, false) => (tighter, tighter),
                (false, _) => (binding, tighter),
            };
            write_at(f, left, left_place)?;
            write!(f, " {sign} ")?;
            write_at(f, right, right_place)
        }
        (name, args) => {
            f.write_str(name)?;
            write_list(f, "(", args, write_expr, ")")
        }
    }
}

fn next(binding: Binding) -> Binding {
    match binding {
        Binding::Conditional => Binding::Or,
        Binding::Or => Binding::And,
        Binding::And => Binding::Relation,
        Binding::Relation => Binding::Sum,
        Binding::Sum => Binding::Product,
        Binding::Product => Binding::Unary,
        _ => Binding::Member,
    }
}

/// Whether what is written first is a number.
fn starts_with_number(expr: &Expr) -> bool {
    matches!(&expr.kind, ExprKind::Literal(Literal::Int(_) | Literal::UInt(_) | Literal::Double(_)))
}

/// Whether a chain of `&&` or `||` has the shape that the parser gives to a chain written without brackets.
fn is_balanced(expr: &Expr, name: &str) -> bool {
    fn operators(expr: &Expr, name: &str) -> usize {
        match &expr.kind {
            ExprKind::Call { function, target: None, args } if function.text == name => {
                args.iter().map(|arg| operators(arg, name)).sum::<usize>().saturating_add(1)
            }
            _ => 0,
        }
    }
    match &expr.kind {
        ExprKind::Call { function, target: None, args } if function.text == name => {
            let [left, right] = args.as_slice() else { return false };
            // the operator in the middle is the root, the one right of it if there are two
            let shape = operators(left, name).checked_sub(operators(right, name));
            matches!(shape, Some(0 | 1)) && is_balanced(left, name) && is_balanced(right, name)
        }
        _ => true,
    }
}

fn write_list<T>(
    f: &mut Formatter<'_>,
    open: &str,
    items: &[T],
    write_one: impl Fn(&mut Formatter<'_>, &T) -> fmt::Result,
    close: &str,
) -> fmt::Result {
    f.write_str(open)?;
    for (index, item) in items.iter().enumerate() {
        if index > 0 {
            f.write_str(", ")?;
        }
        write_one(f, item)?;
    }
    f.write_str(close)
}

fn write_comprehension(f: &mut Formatter<'_>, comprehension: &Comprehension) -> fmt::Result {
    write_at(f, &comprehension.range, Binding::Member)?;
    write!(f, ".{}({}, ", comprehension.name.text, comprehension.variable.text)?;
    if let Some(second) = &comprehension.second {
        write!(f, "{}, ", second.text)?;
    }
    if let Some(filter) = &comprehension.filter {
        write!(f, "{filter}, ")?;
    }
    write!(f, "{})", comprehension.body)
}

/// A field as it is selected, in quotes if it is no word.
fn write_field(f: &mut Formatter<'_>, field: &str) -> fmt::Result {
    let starts = field.starts_with(|c: char| c == '_' || c.is_ascii_alphabetic());
    let word = starts && field.chars().all(|c| c == '_' || c.is_ascii_alphanumeric());
    if word && !matches!(field, "true" | "false" | "null" | "in") {
        f.write_str(field)
    } else {
        write!(f, "`{field}`")
    }
}

fn write_literal(f: &mut Formatter<'_>, literal: &Literal) -> fmt::Result {
    match literal {
        Literal::Null => f.write_str("null"),
        Literal::Bool(value) => write!(f, "{value}"),
        Literal::Int(value) => write!(f, "{value}"),
        Literal::UInt(value) => write!(f, "{value}u"),
        Literal::Double(value) => write!(f, "{value:?}"),
        Literal::String(text) => {
            let quote = if text.contains('\'') && !text.contains('"') { '"' } else { '\'' };
            f.write_char(quote)?;
            for c in text.chars() {
                match c {
                    '\n' => f.write_str("\\n")?,
                    '\r' => f.write_str("\\r")?,
                    '\t' => f.write_str("\\t")?,
                    '\\' => f.write_str("\\\\")?,
                    c if c == quote => write!(f, "\\{c}")?,
                    c if c.is_control() => write!(f, "\\u{:04x}", u32::from(c))?,
                    c => f.write_char(c)?,
                }
            }
            f.write_char(quote)
        }
        Literal::Bytes(bytes) => {
            f.write_str("b'")?;
            for &byte in bytes {
                match byte {
                    b'\'' | b'\\' => write!(f, "\\{}", char::from(byte))?,
                    b' '..=b'~' => f.write_char(char::from(byte))?,
                    _ => write!(f, "\\x{byte:02x}")?,
                }
            }
            f.write_char('\'')
        }
    }
}
