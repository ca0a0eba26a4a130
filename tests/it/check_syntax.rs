//! Reading and printing expressions: trees and spans, messages, bounds, and the laws that hold for all texts.

use crate::check_rows::{hold, rendered, structure};
use celador::cel::{
    BlockBinding, Comprehension, ComprehensionKind, Element, Expr, ExprId, ExprKind, Literal, MapEntry, Name,
    StructField, parse,
};
use celador::limits::{EngineLimits, EvalLimits};
use celador::source::Span;
use proptest::prelude::*;

fn parts<'e>(expr: &'e Expr, out: &mut Vec<&'e Expr>) {
    out.push(expr);
    expr.for_each_part(&mut |part| parts(part, out));
}

fn depth(expr: &Expr) -> usize {
    let mut deepest = 0;
    expr.for_each_part(&mut |part| deepest = deepest.max(depth(part)));
    deepest + 1
}

/// What holds of everything that was read: ids count from the root, spans nest, a part of the text is a text of the
/// same part, the bound on depth holds, and what is printed is read as the same tree.
fn hold_laws(text: &str, expr: &Expr) {
    let mut all = Vec::new();
    parts(expr, &mut all);
    for (number, part) in all.iter().enumerate() {
        assert_eq!(part.id, ExprId(number as u32), "{text}");
        part.for_each_part(&mut |inner| assert_eq!(inner.span.to(part.span), part.span, "{text}"));
        let written = &text[part.span.range()];
        let again = parse(written, &EvalLimits::default())
            .unwrap_or_else(|issues| panic!("{text}: {written}: {issues:?}"));
        assert_eq!(structure(&again), structure(part), "{text}: {written}");
    }
    assert!(depth(expr) <= EngineLimits::default().eval.max_depth, "{text}");
    let printed = expr.to_string();
    let again =
        parse(&printed, &EvalLimits::default()).unwrap_or_else(|issues| panic!("{printed}: {issues:?}"));
    assert_eq!(structure(&again), structure(expr), "{text} was printed as {printed}");
    assert_eq!(again.to_string(), printed);
}

#[test]
fn trees_and_spans() {
    hold("syntax/trees.txt", 100, |text| match parse(text, &EvalLimits::default()) {
        Ok(expr) => {
            hold_laws(text, &expr);
            let mut all = Vec::new();
            parts(&expr, &mut all);
            let spans = all.iter().map(|part| text[part.span.range()].replace('\n', "\\n"));
            format!("{}\n{}", structure(&expr), spans.collect::<Vec<_>>().join(" | "))
        }
        Err(issues) => rendered(text, &issues),
    });
}

#[test]
fn printing() {
    hold("syntax/printed.txt", 40, |text| match parse(text, &EvalLimits::default()) {
        Ok(expr) => {
            hold_laws(text, &expr);
            expr.to_string()
        }
        Err(issues) => rendered(text, &issues),
    });
}

#[test]
fn messages() {
    hold("syntax/errors.txt", 100, |text| match parse(text, &EvalLimits::default()) {
        Ok(expr) => format!("fine, {} levels", depth(&expr)),
        Err(issues) => {
            assert!(!issues.is_empty());
            for line in rendered(text, &issues).lines() {
                assert!(!line.contains("expecting"), "the parser's own words: {line}");
            }
            if text.len() > 300 {
                issues
                    .iter()
                    .map(|it| format!("{}: {} at {:?} {}\n", it.code, it.message, it.span.range(), it.label))
                    .collect()
            } else {
                rendered(text, &issues)
            }
        }
    });
}

/// Forms that nest: what is repeated before, the core, what is repeated behind.
const NESTS: [(&str, &str, &str); 24] = [
    ("(", "a", ")"),
    ("[", "a", "]"),
    ("{1:", "a", "}"),
    ("{", "a:1", "}"),
    ("f(", "a", ")"),
    ("a.f(", "a", ")"),
    ("a.all(x,", "a", ")"),
    ("a.b{c:", "a", "}"),
    ("a[", "a", "]"),
    ("!(", "a", ")"),
    ("-", "a", ""),
    ("!", "a", ""),
    ("a?b:", "c", ""),
    ("(a?", "b", ":c)"),
    ("a?b:(", "c", ")"),
    ("(a||b&&c<1+2*-", "a", ")"),
    ("", "a", ".a"),
    ("", "a", ".a()"),
    ("", "a", "[0]"),
    ("", "a", "+a"),
    ("", "a", "<a"),
    ("", "a", ".map(x,x)"),
    ("", "a", "&&a"),
    ("", "a", "||a&&a"),
];

/// However deep a text nests, a thread of 2 MB reads or refuses it, prints it and lets go of it.
#[test]
fn no_nesting_overflows_a_small_stack() {
    let small = std::thread::Builder::new().stack_size(2 * 1024 * 1024);
    let work = || {
        let wide = EngineLimits::default();
        for (before, core, behind) in NESTS {
            for count in [1, 8, 40, 80, 94, 95, 96, 1_000, 16_000] {
                let text = before.repeat(count) + core + &behind.repeat(count);
                if let Ok(expr) = parse(&text, &wide.eval) {
                    assert!(depth(&expr) <= wide.eval.max_depth);
                    drop((expr.to_string(), expr.clone()));
                }
            }
        }
    };
    small.spawn(work).unwrap().join().unwrap();
}

fn name() -> impl Strategy<Value = Name> {
    prop::sample::select(vec!["a", "b", "x1", "_y", "cel.index(0)", "cel.iterVar(0, 1)"])
        .prop_map(|text| Name { text: text.to_owned(), span: Span::default() })
}

fn field() -> impl Strategy<Value = Name> {
    prop::sample::select(vec!["f", "in", "x-y", "for", "size", "a.b c"])
        .prop_map(|text| Name { text: text.to_owned(), span: Span::default() })
}

fn leaf() -> impl Strategy<Value = ExprKind> {
    let literal = prop_oneof![
        Just(Literal::Null),
        any::<bool>().prop_map(Literal::Bool),
        any::<i64>().prop_map(Literal::Int),
        (-2..3_i64).prop_map(Literal::Int),
        any::<u64>().prop_map(Literal::UInt),
        any::<f64>().prop_filter("CEL writes no others", |value| value.is_finite()).prop_map(Literal::Double),
        any::<String>().prop_map(Literal::String),
        any::<Vec<u8>>().prop_map(Literal::Bytes),
    ];
    prop_oneof![
        literal.prop_map(ExprKind::Literal),
        (name(), any::<bool>()).prop_map(|(name, dot)| ExprKind::Ident {
            absolute: dot && !name.text.starts_with("cel."),
            name: name.text
        }),
        name().prop_map(ExprKind::HasVariable),
    ]
}

fn node(kind: ExprKind) -> Expr {
    Expr { id: ExprId(0), span: Span::default(), kind, in_place_of: None }
}

fn call(function: &str, target: Option<Expr>, args: Vec<Expr>) -> ExprKind {
    let function = Name { text: function.to_owned(), span: Span::default() };
    ExprKind::Call { function, target: target.map(Box::new), args }
}

/// Trees of every form that a text can have.
fn tree() -> impl Strategy<Value = Expr> {
    let loops = prop::sample::select(vec![
        ("all", ComprehensionKind::All, false),
        ("existsOne", ComprehensionKind::ExistsOne, false),
        ("filter", ComprehensionKind::Filter, false),
        ("map", ComprehensionKind::Map, false),
        ("transformMap", ComprehensionKind::TransformMap, true),
    ]);
    let binary = prop::sample::select(vec![
        "_&&_", "_||_", "_&&_", "_||_", "_==_", "_<_", "@in", "_+_", "_-_", "_*_", "_%_",
    ]);
    leaf().prop_map(node).prop_recursive(6, 48, 4, move |inner| {
        let boxed = || inner.clone().prop_map(Box::new);
        prop_oneof![
            6 => (binary.clone(), inner.clone(), inner.clone()).prop_map(|(op, a, b)| call(op, None, vec![a, b])),
            2 => (prop::sample::select(vec!["!_", "-_"]), inner.clone()).prop_map(|(op, a)| call(op, None, vec![a])),
            2 => (inner.clone(), inner.clone(), inner.clone()).prop_map(|(a, b, c)| call("_?_:_", None, vec![a, b, c])),
            1 => prop::collection::vec(inner.clone(), 0..3).prop_map(|args| call("f", None, args)),
            1 => (inner.clone(), prop::collection::vec(inner.clone(), 0..3)).prop_map(|(on, args)| call("g", Some(on), args)),
            2 => (boxed(), field(), any::<bool>()).prop_map(|(operand, field, optional)| ExprKind::Select { operand, field, optional }),
            1 => (boxed(), boxed(), any::<bool>()).prop_map(|(operand, index, optional)| ExprKind::Index { operand, index, optional }),
            1 => (boxed(), field()).prop_map(|(operand, field)| ExprKind::Has { operand, field }),
            1 => prop::collection::vec((inner.clone(), any::<bool>()), 0..3).prop_map(|items| {
                ExprKind::List(items.into_iter().map(|(value, optional)| Element { value, optional }).collect())
            }),
            1 => prop::collection::vec((inner.clone(), inner.clone(), any::<bool>()), 0..3).prop_map(|items| {
                ExprKind::Map(items.into_iter().map(|(key, value, optional)| MapEntry { key, value, optional }).collect())
            }),
            1 => prop::collection::vec((field(), inner.clone(), any::<bool>()), 0..3).prop_map(|fields| {
                let fields = fields.into_iter().map(|(name, value, optional)| StructField { name, value, optional });
                ExprKind::Struct { name: ".p.Q".to_owned(), fields: fields.collect() }
            }),
            2 => (loops.clone(), inner.clone(), inner.clone()).prop_map(|((name, kind, two), range, body)| {
                let word = |text: &str| Name { text: text.to_owned(), span: Span::default() };
                let second = two.then(|| word("w"));
                ExprKind::Comprehension(Box::new(Comprehension {
                    kind, range, variable: word("v"), second, filter: None, body, name: word(name),
                }))
            }),
            1 => (name(), boxed(), boxed()).prop_map(|(variable, value, body)| ExprKind::Bind { variable, value, body }),
            1 => (prop::collection::vec(inner.clone(), 0..3), boxed()).prop_map(|(values, body)| {
                let binding = |(index, value)| BlockBinding { variable: format!("cel.index({index})"), value };
                ExprKind::Block { bindings: values.into_iter().enumerate().map(binding).collect(), body }
            }),
            1 => (boxed(), name(), boxed(), any::<bool>()).prop_map(|(operand, variable, body, flat)| {
                ExprKind::OptMap { operand, variable, body, flat }
            }),
        ]
        .prop_map(node)
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn what_is_printed_is_read_as_the_same_tree(expr in tree()) {
        let printed = expr.to_string();
        let again = parse(&printed, &EvalLimits::default());
        match again {
            Ok(again) => {
                prop_assert_eq!(structure(&again), structure(&expr), "{}", printed);
                hold_laws(&printed, &again);
            }
            Err(issues) => prop_assert!(issues.iter().all(|it| it.code.starts_with("max_")), "{}: {:?}", printed, issues),
        }
    }

    #[test]
    fn any_words_in_any_order_are_read_or_refused(words in prop::collection::vec(prop::sample::select(vec![
        "a", "b", "1", "2u", ".5", "'s'", "b'x'", "true", "null", "in", "for", "has", "all", "cel", "bind", "block", "index", "(", ")", "[", "]", "{", "}",
        ".", ",", ":", "?", "+", "-", "*", "!", "&&", "||", "==", "<", "`q`", " ", "\n", "// c\n", "é", "'", "=", "0x", "(a)", "[1]", "a.b", "x.all(y, y)",
    ]), 1..14)) {
        for glue in ["", " "] {
            let text = words.join(glue);
            match parse(&text, &EvalLimits::default()) {
                Ok(expr) => hold_laws(&text, &expr),
                Err(issues) => {
                    prop_assert!(!issues.is_empty());
                    for issue in &issues {
                        prop_assert!(text.get(issue.span.range()).is_some(), "{:?}: {:?}", text, issue);
                    }
                }
            }
        }
    }

    #[test]
    fn any_text_is_read_or_refused(text in any::<String>()) {
        if let Err(issues) = parse(&text, &EvalLimits::default()) {
            prop_assert!(issues.iter().all(|issue| text.get(issue.span.range()).is_some()));
        }
    }
}
