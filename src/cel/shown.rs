//! Values as people read them: CEL text, on one line or on many.
//!
//! In: any value. Out: text that, read again as CEL, gives the value (`1u`, `b'…'`, `timestamp('…')`); control
//! characters are escaped, so that no value steers the terminal. A line is cut where it is too long, and costs no more
//! than what is shown of it.

use crate::source::Span;
use crate::syntax::{Expr, ExprId, ExprKind, Literal};
use crate::value::{Opaque, Value};
use std::fmt::{self, Write};

impl Value<'_> {
    /// The value as CEL text on one line, cut after `width` characters.
    ///
    /// ```
    /// use celador_cel::Value;
    ///
    /// let list = Value::list(vec![Value::Int(1), Value::from("x\n"), Value::UInt(3)]);
    /// assert_eq!(list.shown(100), r"[1, 'x\n', 3u]");
    /// assert_eq!(list.shown(7), "[1, 'x\\…");
    /// ```
    #[must_use]
    pub fn shown(&self, width: usize) -> String {
        let mut room = Room { text: String::new(), left: width };
        match write(&mut room, self) {
            Ok(()) => room.text,
            Err(fmt::Error) => room.text + "…",
        }
    }

    /// The whole value as CEL text, on as many lines as it needs for `width` characters each.
    #[must_use]
    pub fn laid_out(&self, width: usize) -> String {
        let mut text = String::new();
        lay_out(&mut text, self, 0, width);
        text
    }
}

/// Text that ends where it is full.
struct Room {
    text: String,
    left: usize,
}

impl Write for Room {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        for c in text.chars() {
            self.left = self.left.checked_sub(1).ok_or(fmt::Error)?;
            self.text.push(c);
        }
        Ok(())
    }
}

fn write(out: &mut dyn Write, value: &Value<'_>) -> fmt::Result {
    match value {
        Value::Null => literal(out, Literal::Null),
        Value::Bool(value) => literal(out, Literal::Bool(*value)),
        Value::Int(value) => literal(out, Literal::Int(*value)),
        Value::UInt(value) => literal(out, Literal::UInt(*value)),
        Value::Double(value) if value.is_finite() => literal(out, Literal::Double(*value)),
        Value::Double(value) => write!(out, "double('{value}')"),
        Value::String(text) => literal(out, Literal::String(text.to_string())),
        Value::Bytes(bytes) => literal(out, Literal::Bytes(bytes.to_vec())),
        Value::Timestamp(time) => write!(out, "timestamp('{time}')"),
        Value::Duration(duration) => write!(out, "duration('{duration}')"),
        Value::Type(name) => out.write_str(&name.0),
        Value::Opaque(opaque) => write!(out, "{}('{opaque}')", constructor(opaque)),
        Value::Shortened => out.write_str("<shortened>"),
        Value::Optional(None) => out.write_str("optional.none()"),
        Value::Optional(Some(value)) => {
            out.write_str("optional.of(")?;
            write(out, value)?;
            out.write_str(")")
        }
        Value::List(list) => {
            out.write_str("[")?;
            for (index, item) in list.iter().enumerate() {
                out.write_str(if index > 0 { ", " } else { "" })?;
                write(out, &item)?;
            }
            out.write_str("]")
        }
        Value::Map(map) => {
            out.write_str("{")?;
            for (index, (key, value)) in map.iter().enumerate() {
                out.write_str(if index > 0 { ", " } else { "" })?;
                write(out, &key.value())?;
                out.write_str(": ")?;
                write(out, &value)?;
            }
            out.write_str("}")
        }
    }
}

/// Literals are written by the language itself.
fn literal(out: &mut dyn Write, literal: Literal) -> fmt::Result {
    write!(
        out,
        "{}",
        Expr { id: ExprId(0), span: Span::default(), kind: ExprKind::Literal(literal), in_place_of: None }
    )
}

fn constructor(opaque: &Opaque) -> &'static str {
    match opaque {
        Opaque::Ip(_) => "ip",
        Opaque::Cidr(_) => "cidr",
        Opaque::Url(_) => "url",
        Opaque::Semver(_) => "semver",
        Opaque::Quantity(_) => "quantity",
    }
}

/// Writes a value where `indent` characters stand before its lines.
fn lay_out(out: &mut String, value: &Value<'_>, indent: usize, width: usize) {
    let mut room = Room { text: String::new(), left: width.saturating_sub(indent) };
    let fits = write(&mut room, value).is_ok();
    let inner = indent.saturating_add(2);
    match value {
        Value::List(list) if !fits => {
            let items = list.iter().map(|item| (String::new(), item));
            lay_out_parts(out, ('[', ']'), items, inner, width);
        }
        Value::Map(map) if !fits => {
            let entries = map.iter().map(|(key, value)| (key.value().shown(usize::MAX) + ": ", value));
            lay_out_parts(out, ('{', '}'), entries, inner, width);
        }
        // a text of a thousand characters stays one line: broken, it could not be copied
        value if !fits => out.push_str(&value.shown(usize::MAX)),
        _ => out.push_str(&room.text),
    }
}

fn lay_out_parts<'a>(
    out: &mut String,
    (open, close): (char, char),
    parts: impl Iterator<Item = (String, Value<'a>)>,
    indent: usize,
    width: usize,
) {
    out.push(open);
    for (index, (key, value)) in parts.enumerate() {
        out.push_str(if index > 0 { ",\n" } else { "\n" });
        out.extend(std::iter::repeat_n(' ', indent));
        out.push_str(&key);
        lay_out(out, &value, indent, width);
    }
    out.push('\n');
    out.extend(std::iter::repeat_n(' ', indent.saturating_sub(2)));
    out.push(close);
}

#[cfg(test)]
mod tests {
    use crate::{Activation, EXTENSIONS, Env, Program, STANDARD, Value};

    fn with_value<T>(expression: &str, show: impl Fn(&Value<'_>) -> T) -> T {
        let libraries = STANDARD.iter().chain(EXTENSIONS);
        let env = libraries.fold(Env::builder(), |scope, library| scope.library(library)).build();
        let program = Program::compile(&env, expression).unwrap();
        let activation = Activation::new(&env);
        show(&program.run(&activation, None).unwrap())
    }

    #[test]
    fn values_are_shown_as_they_are_written() {
        for text in [
            "null",
            "true",
            "-1",
            "1u",
            "1.0",
            "'a\\u001b\\n'",
            "b'\\x00a'",
            "[1, 'x']",
            "{'a': {1: [null]}}",
            "timestamp('2026-05-20T03:45:00Z')",
            "duration('90s')",
            "optional.of(1)",
            "optional.none()",
            "int",
            "double('NaN')",
            "double('inf')",
            "ip('10.0.0.1')",
            "cidr('10.0.0.0/8')",
        ] {
            let shown = with_value(text, |value| value.shown(usize::MAX));
            let again = with_value(&shown, |value| value.shown(usize::MAX));
            assert_eq!(shown, again, "{text}");
            assert!(!shown.contains('\u{1b}'), "{text}");
        }
        assert_eq!(with_value("[1, 2, 3, 4]", |value| value.shown(5)), "[1, 2…");
    }

    #[test]
    fn long_values_take_several_lines() {
        let shown = with_value("{'a': [1, 2, 3], 'b': 'text of some length'}", |value| value.laid_out(24));
        assert_eq!(shown, "{\n  'a': [1, 2, 3],\n  'b': 'text of some length'\n}");
    }
}
