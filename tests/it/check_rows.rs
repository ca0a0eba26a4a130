//! Tests as data: a file of expressions, each with what is expected of it; the format of `tests/data/{syntax,check}`.
//!
//! Lines that begin with `> ` are an expression, what follows up to a blank line is expected of it, other lines with
//! `#` in front are remarks. `{{text*N}}` stands for a text repeated N times. With `BLESS=1` the files are
//! rewritten with what is true now; the difference is then to be read before it is committed.

use crate::suites::root;
use celador::cel::{Expr, ExprKind, Issue, Literal};
use celador::source::Embedded;
use std::fmt::Write;
use std::fs;

/// Holds each row of a file to what `actual` says of its expression.
pub(crate) fn hold(file: &str, least: usize, actual: impl Fn(&str) -> String) {
    let path = root().join("tests/data").join(file);
    let text = fs::read_to_string(&path).unwrap();
    let (mut written, mut wrong, mut rows) = (String::new(), String::new(), 0);
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        let Some(first) = line.strip_prefix('>') else {
            writeln!(written, "{line}").unwrap();
            continue;
        };
        let mut expr = first.strip_prefix(' ').unwrap_or(first).to_owned();
        writeln!(written, "{line}").unwrap();
        while let Some(next) = lines.next_if(|line| line.starts_with('>')) {
            writeln!(written, "{next}").unwrap();
            expr.push('\n');
            expr.push_str(next.strip_prefix("> ").unwrap_or_default());
        }
        let mut expected = String::new();
        while let Some(next) = lines.next_if(|line| !line.is_empty() && !line.starts_with('>')) {
            writeln!(expected, "{next}").unwrap();
        }
        let mut found = String::new();
        for line in actual(&repeated(&expr)).lines() {
            writeln!(found, "{}", line.trim_end()).unwrap();
        }
        if found != expected {
            writeln!(wrong, "> {expr}\nexpected:\n{expected}found:\n{found}").unwrap();
        }
        written.push_str(&found);
        rows += 1;
    }
    if std::env::var_os("BLESS").is_some() {
        fs::write(&path, written).unwrap();
    } else {
        assert!(wrong.is_empty(), "{file}\n{wrong}");
    }
    assert!(rows >= least, "{file} has {rows} rows, at least {least} were expected");
}

/// Writes out each `{{text*N}}`.
fn repeated(expr: &str) -> String {
    let mut rest = expr;
    let mut whole = String::new();
    while let Some((before, group)) = rest.split_once("{{") {
        let (group, after) = group.split_once("}}").unwrap();
        let (text, count) = group.rsplit_once('*').unwrap();
        whole.push_str(before);
        whole.push_str(&text.repeat(count.parse().unwrap()));
        rest = after;
    }
    whole + rest
}

/// The issues as a person sees them.
pub(crate) fn rendered(expr: &str, issues: &[Issue]) -> String {
    let text = Embedded::alone("expression", expr);
    issues.iter().map(|issue| issue.locate(&text).render(false) + "\n").collect()
}

/// The structure of a tree in brackets, without ids and spans.
pub(crate) fn structure(expr: &Expr) -> String {
    let mut out = String::new();
    write_structure(&mut out, expr);
    out
}

fn write_structure(out: &mut String, expr: &Expr) {
    let mark = |optional: bool| if optional { "?" } else { "" };
    match &expr.kind {
        ExprKind::Literal(literal) => match literal {
            Literal::Double(value) => write!(out, "{value:?}").unwrap(),
            Literal::UInt(value) => write!(out, "{value}u").unwrap(),
            Literal::Int(value) => write!(out, "{value}").unwrap(),
            Literal::String(text) => write!(out, "{text:?}").unwrap(),
            Literal::Bytes(bytes) => write!(out, "b{bytes:?}").unwrap(),
            Literal::Bool(value) => write!(out, "{value}").unwrap(),
            Literal::Null => out.push_str("null"),
        },
        ExprKind::Ident { name, absolute } => {
            write!(out, "{}{name}", if *absolute { "." } else { "" }).unwrap()
        }
        ExprKind::HasVariable(name) => write!(out, "(has {})", name.text).unwrap(),
        kind => {
            let head = match kind {
                ExprKind::Select { field, optional, .. } => format!(".{}{}", mark(*optional), field.text),
                ExprKind::Index { optional, .. } => format!("[{}]", mark(*optional)),
                ExprKind::Call { function, target, .. } => {
                    format!("{}{}", if target.is_some() { "." } else { "" }, function.text) + "()"
                }
                ExprKind::List(elements) => {
                    "list".to_owned() + &elements.iter().map(|it| mark(it.optional)).collect::<String>()
                }
                ExprKind::Map(entries) => {
                    "map".to_owned() + &entries.iter().map(|it| mark(it.optional)).collect::<String>()
                }
                ExprKind::Struct { name, fields } => {
                    let fields = fields.iter().map(|it| mark(it.optional).to_owned() + &it.name.text);
                    format!("{name}{{{}}}", fields.collect::<Vec<_>>().join(","))
                }
                ExprKind::Has { field, .. } => format!("has .{}", field.text),
                ExprKind::Comprehension(it) => {
                    let second = it.second.iter().map(|second| format!(",{}", second.text));
                    let filter = if it.filter.is_some() { " if" } else { "" };
                    format!(
                        "{:?}:{} {}{}{filter}",
                        it.kind,
                        it.name.text,
                        it.variable.text,
                        second.collect::<String>()
                    )
                }
                ExprKind::Bind { variable, .. } => format!("bind {}", variable.text),
                ExprKind::Block { bindings, .. } => {
                    let names = bindings.iter().map(|it| format!(" {}", it.variable));
                    format!("block{}", names.collect::<String>())
                }
                ExprKind::OptMap { variable, flat, .. } => {
                    format!("{} {}", if *flat { "optFlatMap" } else { "optMap" }, variable.text)
                }
                _ => unreachable!(),
            };
            write!(out, "({head}").unwrap();
            expr.for_each_part(&mut |part| {
                out.push(' ');
                write_structure(out, part);
            });
            out.push(')');
        }
    }
}
