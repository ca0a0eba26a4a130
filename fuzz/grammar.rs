//! Our grammar beside that of the `cel` crate, whose trees are cel-go's: both read the same texts, and as the same trees.

use cel::common::ast::{EntryExpr, Expr as Theirs, IdedExpr, LiteralValue, operators};
use celador::cel::{Expr, ExprKind, Issue, Literal, parse};
use celador::limits::EvalLimits;

/// The stack of their parser, in bytes; what it does not use is not taken.
const STACK: usize = 1 << 28;

/// What their parser makes of a text. It takes up to some hundred KB of stack for each bracket, and panics on some texts, so it
/// has a thread of its own.
fn theirs(text: &str) -> Option<String> {
    let text = text.to_owned();
    let read = move || {
        let parser =
            cel::Env::default().parser().enable_optional_syntax(true).enable_ident_escape_syntax(true);
        parser.max_recursion_depth(u16::MAX).parse(&text).ok().map(|tree| their_tree(&tree))
    };
    let thread = std::thread::Builder::new().stack_size(STACK).spawn(read);
    thread.expect("a thread starts").join().ok()?
}

fn their_tree(tree: &IdedExpr) -> String {
    let all = |parts: &[IdedExpr]| parts.iter().map(their_tree).collect::<Vec<_>>();
    match &tree.expr {
        Theirs::Literal(literal) => match literal {
            LiteralValue::Null => "null".to_owned(),
            LiteralValue::Boolean(value) => value.inner().to_string(),
            LiteralValue::Int(value) => value.inner().to_string(),
            LiteralValue::UInt(value) => format!("{}u", value.inner()),
            LiteralValue::Double(value) => format!("{:?}", value.inner()),
            LiteralValue::String(value) => format!("{:?}", value.inner()),
            LiteralValue::Bytes(value) => format!("b{:?}", value.inner()),
        },
        Theirs::Ident(name) => name.clone(),
        Theirs::Select(select) => node(&format!(".{}", select.field), &[their_tree(&select.operand)]),
        Theirs::Call(call) => match (call.func_name.as_str(), &call.target, call.args.as_slice()) {
            (operators::OPT_SELECT, None, [operand, field]) => match &field.expr {
                Theirs::Literal(LiteralValue::String(field)) => {
                    node(&format!(".?{}", field.inner()), &[their_tree(operand)])
                }
                _ => unreachable!("a field is a name"),
            },
            (operators::INDEX, None, args) => node("[]", &all(args)),
            (operators::OPT_INDEX, None, args) => node("[?]", &all(args)),
            (name, None, args) => node(name, &all(args)),
            // variables that are known by numbers are names of ours
            (name, Some(target), args)
                if matches!((name, args.len()), ("index", 1) | ("iterVar" | "accuVar", 2))
                    && their_tree(target) == "cel" =>
            {
                format!("cel.{name}({})", all(args).join(", "))
            }
            (name, Some(target), args) => {
                let parts = [vec![their_tree(target)], all(args)].concat();
                node(&format!(".{name}()"), &parts)
            }
        },
        Theirs::List(list) => {
            let marked = |(at, part): (usize, &IdedExpr)| {
                mark(list.optional_indices.contains(&at)).to_owned() + &their_tree(part)
            };
            node("list", &list.elements.iter().enumerate().map(marked).collect::<Vec<_>>())
        }
        Theirs::Map(map) => {
            let entry = |entry: &EntryExpr| match entry {
                EntryExpr::MapEntry(it) => {
                    format!("{}{}: {}", mark(it.optional), their_tree(&it.key), their_tree(&it.value))
                }
                EntryExpr::StructField(_) => unreachable!("maps have no fields"),
            };
            node("map", &map.entries.iter().map(|it| entry(&it.expr)).collect::<Vec<_>>())
        }
        Theirs::Struct(message) => {
            let field = |entry: &EntryExpr| match entry {
                EntryExpr::StructField(it) => {
                    format!("{}{}: {}", mark(it.optional), it.field, their_tree(&it.value))
                }
                EntryExpr::MapEntry(_) => unreachable!("messages have no entries"),
            };
            let fields: Vec<_> = message.entries.iter().map(|it| field(&it.expr)).collect();
            node(&format!("{}{{}}", message.type_name), &fields)
        }
        Theirs::Comprehension(_) | Theirs::Unspecified => unreachable!("no macros, no errors"),
    }
}

/// Our tree in the same form: macros as the calls that were written.
fn our_tree(expr: &Expr) -> String {
    let mut parts = Vec::new();
    expr.for_each_part(&mut |part| parts.push(our_tree(part)));
    let member = |name: &str, parts: &[String]| node(&format!(".{name}()"), parts);
    match &expr.kind {
        ExprKind::Literal(literal) => match literal {
            Literal::Null => "null".to_owned(),
            Literal::Bool(value) => value.to_string(),
            Literal::Int(value) => value.to_string(),
            Literal::UInt(value) => format!("{value}u"),
            Literal::Double(value) => format!("{value:?}"),
            Literal::String(value) => format!("{value:?}"),
            Literal::Bytes(value) => format!("b{value:?}"),
        },
        ExprKind::Ident { name, absolute } => if *absolute { "." } else { "" }.to_owned() + name,
        ExprKind::Select { field, optional, .. } => {
            node(&format!(".{}{}", mark(*optional), field.text), &parts)
        }
        ExprKind::Index { optional, .. } => node(&format!("[{}]", mark(*optional)), &parts),
        ExprKind::Call { function, target: None, .. } => node(&function.text, &parts),
        ExprKind::Call { function, .. } => member(&function.text, &parts),
        ExprKind::List(elements) => {
            let marked = elements.iter().zip(&parts).map(|(it, part)| mark(it.optional).to_owned() + part);
            node("list", &marked.collect::<Vec<_>>())
        }
        ExprKind::Map(entries) => {
            let entry = |it: &celador::cel::MapEntry| {
                format!("{}{}: {}", mark(it.optional), our_tree(&it.key), our_tree(&it.value))
            };
            node("map", &entries.iter().map(entry).collect::<Vec<_>>())
        }
        ExprKind::Struct { name, fields } => {
            let field = |it: &celador::cel::StructField| {
                format!("{}{}: {}", mark(it.optional), it.name.text, our_tree(&it.value))
            };
            node(&format!("{name}{{}}"), &fields.iter().map(field).collect::<Vec<_>>())
        }
        ExprKind::Has { field, .. } => node("has", &[node(&format!(".{}", field.text), &parts)]),
        ExprKind::HasVariable(name) => node("has", std::slice::from_ref(&name.text)),
        ExprKind::Comprehension(it) => {
            let names = std::iter::once(&it.variable).chain(&it.second).map(|name| name.text.clone());
            parts.splice(1..1, names);
            member(&it.name.text, &parts)
        }
        ExprKind::Bind { variable, .. } => {
            member("bind", &[vec!["cel".to_owned(), variable.text.clone()], parts].concat())
        }
        ExprKind::Block { bindings, body } => {
            let values: Vec<_> = bindings.iter().map(|it| our_tree(&it.value)).collect();
            member("block", &["cel".to_owned(), node("list", &values), our_tree(body)])
        }
        ExprKind::OptMap { variable, flat, .. } => {
            parts.insert(1, variable.text.clone());
            member(if *flat { "optFlatMap" } else { "optMap" }, &parts)
        }
    }
}

fn node(head: &str, parts: &[String]) -> String {
    format!("({})", [&[head.to_owned()], parts].concat().join(" "))
}

fn mark(optional: bool) -> &'static str {
    if optional { "?" } else { "" }
}

/// Whether a text is an expression to both of them; an error where they differ.
pub fn agree(text: &str) -> Result<bool, String> {
    match (parse(text, &EvalLimits::default()), theirs(text)) {
        (Ok(ours), Some(theirs)) => match our_tree(&ours) == theirs {
            true => Ok(true),
            false => Err(format!("{text}\nours:   {}\ntheirs: {theirs}", our_tree(&ours))),
        },
        (Ok(_), None) => Err(format!("{text}\nis no expression of theirs")),
        (Err(issues), Some(_)) if issues.iter().any(|issue| !is_ours_alone(issue)) => {
            Err(format!("{text}\nis an expression of theirs, but {issues:?}"))
        }
        (Err(_), _) => Ok(false),
    }
}

/// Macros are no matter of their grammar, and bounds are ours.
fn is_ours_alone(issue: &Issue) -> bool {
    matches!(issue.code, "bad_macro" | "max_depth" | "max_tokens" | "max_source_bytes")
}
