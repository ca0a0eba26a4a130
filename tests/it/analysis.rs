//! What manifests permit, decided before anything runs: broken variants and fair rules as data, no false alarm about anything that
//! ships, and random manifests whose accusations are tried with random operations.
//!
//! In `tests/data/analysis` a comment `# finds CODE` stands above what is found, and nothing else is. `CELADOR_ANALYSIS=1000` tries so
//! many random manifests, each with as many operations.

use crate::shop_fixture::{NOW, begin};
use crate::suites::root;
use celador::analysis::Analysis;
use celador::cel::{EvalLimits, Expr, ExprKind, parse};
use celador::diagnostic::Standing;
use celador::limits::EngineLimits;
use celador::lint::{Found, warning};
use celador::manifest::load::{File, FileOrigin};
use celador::manifest::{Catalog, load};
use celador::source::Source;
use celador::task::StepOutcome;
use celador::{Call, Decision, Diagnostic, Engine, Outcome, VerdictKind};
use proptest::prelude::*;
use proptest::sample::select;
use proptest::strategy::ValueTree as _;
use proptest::test_runner::TestRunner;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;

pub fn shop() -> String {
    fs::read_to_string(root().join("tests/data/analysis/shop.yaml")).unwrap()
}

/// What is found of manifests, and how much was decided.
pub fn analysed(texts: &[(&str, &str)]) -> (Vec<Diagnostic>, Arc<Analysis>) {
    let file =
        |(name, text): &(&str, &str)| File { source: Source::new(*name, *text), origin: FileOrigin::Named };
    let files: Vec<File> = texts.iter().map(file).collect();
    let (catalog, mut found) = Catalog::parse(&files, &EngineLimits::default());
    let (engine, compiled) = Engine::from_catalog(&catalog, EngineLimits::default());
    found.extend(compiled);
    (found, engine.analysis())
}

fn is_decided(finding: &Diagnostic) -> bool {
    warning(finding.code).is_some_and(|warning| warning.found == Found::ByAnalysis)
}

#[test]
fn what_is_broken_is_found_where_it_stands_and_nothing_else_is() {
    let shop = shop();
    let (mut files, mut broken, mut wrong) = (0, 0, String::new());
    for entry in fs::read_dir(root().join("tests/data/analysis")).unwrap() {
        let path = entry.unwrap().path();
        if path.ends_with("shop.yaml") {
            continue;
        }
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        let text = fs::read_to_string(&path).unwrap();
        let expected: BTreeSet<(usize, &str)> = text
            .lines()
            .enumerate()
            .filter_map(|(at, line)| Some((at + 2, line.trim().strip_prefix("# finds ")?)))
            .flat_map(|(line, codes)| codes.split(", ").map(move |code| (line, code)))
            .collect();
        let (findings, analysis) = analysed(&[("shop.yaml", &shop), (&name, &text)]);
        assert_eq!(analysis.contradicted, 0, "{name}");
        let found: BTreeSet<(usize, &str)> =
            findings.iter().map(|finding| (finding.place.position().line, finding.code)).collect();
        let all = text.lines().collect::<Vec<_>>();
        for (at, code) in expected.symmetric_difference(&found) {
            let kind = if expected.contains(&(*at, code)) { "is not found" } else { "is found" };
            wrong += &format!("{name}:{at}: {code} {kind}: {}\n", all.get(at - 1).unwrap_or(&""));
        }
        files += 1;
        broken += expected.len();
    }
    assert!(wrong.is_empty(), "{wrong}");
    assert!(files >= 5 && broken >= 40, "{broken} findings in {files} files");
}

/// The folders of manifests that ship, or that people wrote, those of `CELADOR_RULES` too.
fn folders() -> Vec<PathBuf> {
    let below = |folder: PathBuf| {
        let mut found: Vec<PathBuf> =
            fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
        found.retain(|path| path.is_dir());
        found.sort();
        found
    };
    let mut all = below(root().join("policies"));
    all.retain(|path| !path.ends_with("library"));
    all.extend(below(root().join("policies/library")));
    all.extend(
        ["examples/first-policy", "examples/agent_loop/release", "examples/claude-code"]
            .map(|example| root().join(example)),
    );
    let further = std::env::var_os("CELADOR_RULES").map(PathBuf::from);
    for rules in [root().join("tests/data/rules")].into_iter().chain(further) {
        all.extend(below(rules).into_iter().flat_map(below));
    }
    all
}

#[test]
fn nothing_that_ships_is_accused() {
    let limits = EngineLimits::default();
    let (mut clauses, mut decided, mut wrong) = (0, 0, String::new());
    let folders = folders();
    for folder in &folders {
        let (files, _) = load(&[folder], &limits).unwrap();
        let (catalog, _) = Catalog::parse(&files, &limits);
        let (engine, findings) = Engine::from_catalog(&catalog, limits);
        let analysis = engine.analysis();
        assert_eq!(analysis.contradicted, 0, "{}", folder.display());
        let stands = |finding: &&Diagnostic| !matches!(finding.standing, Standing::Allowed(_));
        for finding in findings.iter().filter(|finding| is_decided(finding)).filter(stands) {
            wrong += &format!("{}\n", finding.render(false));
        }
        clauses += analysis.decided + analysis.unknown.len();
        decided += analysis.decided;
    }
    assert!(wrong.is_empty(), "{wrong}");
    assert!(folders.len() > 30, "{} folders", folders.len());
    assert!(decided * 2 > clauses, "{decided} of {clauses} clauses were decided");
    println!("{} folders, {clauses} clauses, {decided} decided", folders.len());
}

/// One of these texts.
fn one(of: &'static [&'static str]) -> impl Strategy<Value = &'static str> {
    select(of)
}

const NUMBERS: &[&str] = &["0", "5", "10", "10.5", "100", "-1", "'5'", "5u"];
const ORDERS: &[&str] = &["<", "<=", ">", ">=", "==", "!="];
const TEXTS: &[&str] = &["a", "ab", "b", "", "a.b", "ba"];

/// A question about the call at hand, or what the task has done.
fn clause() -> impl Strategy<Value = String> {
    let number = || one(NUMBERS);
    let order = || one(ORDERS);
    let text = || one(TEXTS);
    let asks = || one(&["startsWith", "endsWith", "contains", "matches"]);
    prop_oneof![
        3 => (order(), number()).prop_map(|(order, number)| format!("input.amount {order} {number}")),
        1 => (order(), number()).prop_map(|(order, number)| format!("input.count {order} {number}")),
        1 => (order(), number(), one(&["+", "-", "*"]), one(&["2", "3", "2.0"]))
            .prop_map(|(order, number, sign, by)| format!("input.amount {sign} {by} {order} {number}")),
        2 => computed(),
        1 => order().prop_map(|order| format!("input.amount {order} input.count")),
        1 => order().prop_map(|order| format!("input.count {order} input.amount")),
        1 => Just("input.urgent".to_owned()),
        1 => (one(&["==", "!="]), one(&["EUR", "USD", "GBP", "X"]))
            .prop_map(|(order, text)| format!("input.currency {order} '{text}'")),
        2 => (asks(), text()).prop_map(|(asks, text)| format!("input.order.{asks}('{text}')")),
        1 => (one(&["==", "!=", "<", ">="]), text()).prop_map(|(order, text)| format!("input.order {order} '{text}'")),
        1 => (number(), text()).prop_map(|(number, text)| format!("input.amount in [{number}, 10, '{text}']")),
        1 => (order(), number())
            .prop_map(|(order, number)| format!("c.cap.orders_refund.count_successful {order} {number}")),
        1 => (order(), number()).prop_map(|(order, number)| format!("size(input.order) {order} {number}")),
        1 => (one(&["&&", "||"]), text())
            .prop_map(|(sign, text)| format!("(has(input.address.city) {sign} input.address.city == '{text}')")),
        1 => (one(&["exists", "all"]), one(&["&&", "||"]), asks(), text(), order(), number()).prop_map(
            |(macro_name, sign, asks, text, order, number)| {
                format!("input.items.{macro_name}(i, i.{asks}('{text}') {sign} size(i) {order} {number})")
            }
        ),
        1 => one(&["input.address.city", "input.note"]).prop_map(|path| format!("{path} == input.order")),
        2 => bounded(),
        2 => ranged(),
        2 => filled(),
        2 => several(),
        2 => written_out(),
    ]
}

/// A question about what has a name, a list of constants, or a part of a text.
fn written_out() -> impl Strategy<Value = String> {
    let path = || one(&["input.amount", "input.parts", "input.order.size()", "input.address.city.size()"]);
    let number = || one(&["-1", "0", "1", "5", "10", "10.5", "20"]);
    let sign = || one(&["&&", "||"]);
    let text = || one(&["a", "ab", "b", "A", "", "a.b"]);
    let part = || {
        one(&[
            "input.order.substring(0, 2)",
            "input.order.charAt(0)",
            "input.order.split('b')[0]",
            "input.order.split('a')[1]",
            "input.note.lowerAscii()",
        ])
    };
    prop_oneof![
        (path(), one(ORDERS), number(), sign(), one(ORDERS), number()).prop_map(
            |(path, one, least, sign, other, most)| {
                format!("cel.bind(bound, {path}, bound {one} {least} {sign} bound {other} {most})")
            }
        ),
        (part(), text(), sign(), text()).prop_map(|(part, one, sign, other)| {
            format!("cel.bind(bound, {part}, bound == '{one}' {sign} bound.contains('{other}'))")
        }),
        (path(), number(), number()).prop_map(|(path, one, two)| format!("{path} in [{one}, {two}, 7]")),
        (part(), text(), text()).prop_map(|(part, one, two)| format!("{part} in ['{one}', '{two}', 'aa']")),
        (part(), one(&["==", "!="]), text())
            .prop_map(|(part, order, text)| format!("{part} {order} '{text}'")),
        (one(&["['a']", "['a', 'b']", "['ab', 'a']", "[]"]), one(&["input.items", "input.tags"]))
            .prop_map(|(constants, list)| format!("sets.contains({constants}, {list})")),
    ]
}

/// A question about two texts, or about the sum of two numbers.
fn several() -> impl Strategy<Value = String> {
    let text = || one(&["input.order", "input.note", "input.code", "c.user.id"]);
    let number = || one(&["input.amount", "input.count", "input.parts", "input.share"]);
    let number_of = || one(&["0", "0.0", "1.0", "5", "5.0", "10.0", "10.5", "20", "100.0"]);
    prop_oneof![
        (text(), one(&["==", "!="]), one(TEXTS))
            .prop_map(|(path, order, of)| format!("{path} {order} '{of}'")),
        (text(), one(&["==", "!=", "==", "<"]), text())
            .prop_map(|(one, order, two)| format!("{one} {order} {two}")),
        (number(), one(ORDERS), number()).prop_map(|(one, order, two)| format!("{one} {order} {two}")),
        (number(), one(&["+", "-"]), number(), one(ORDERS), number_of()).prop_map(
            |(one, sign, two, order, by)| format!("double({one}) {sign} double({two}) {order} {by}")
        ),
        (number(), one(&["+", "-"]), number(), one(ORDERS), number_of())
            .prop_map(|(one, sign, two, order, by)| format!("{one} {sign} {two} {order} {by}")),
        (number(), one(ORDERS), number(), one(ORDERS), number()).prop_map(
            |(one, order, two, other, three)| {
                format!("({one} {order} {two} && double({two}) {other} double({three}))")
            }
        ),
    ]
}

/// A number, or one that is computed of one or two.
fn figure() -> impl Strategy<Value = String> {
    let bare = || {
        one(&[
            "input.amount",
            "input.count",
            "input.parts",
            "input.share",
            "input.tags.size()",
            "c.cap.orders_refund.count_successful",
            "1",
            "10",
            "0.5",
            "-3",
        ])
    };
    let rounds = || one(&["abs", "sign", "sqrt", "ceil", "floor", "round", "trunc"]);
    prop_oneof![
        2 => bare().prop_map(str::to_owned),
        3 => (bare(), one(&["+", "-", "*", "/", "%"]), bare())
            .prop_map(|(one, sign, two)| format!("({one} {sign} {two})")),
        1 => (one(&["greatest", "least"]), bare(), bare())
            .prop_map(|(of, one, two)| format!("math.{of}({one}, {two})")),
        1 => (rounds(), bare()).prop_map(|(of, one)| format!("math.{of}(double({one}))")),
        1 => (one(&["math.abs", "math.sign", "int", "double", "-"]), bare()).prop_map(|(of, one)| format!("{of}({one})")),
        1 => (bare(), bare()).prop_map(|(one, two)| format!("(input.urgent ? {one} : {two})")),
    ]
}

/// A question about two numbers, of which each may be computed.
fn ranged() -> impl Strategy<Value = String> {
    (figure(), one(ORDERS), figure()).prop_map(|(one, order, two)| format!("{one} {order} {two}"))
}

/// A question whether a list has elements, or some of a kind.
fn filled() -> impl Strategy<Value = String> {
    let list = || one(&["input.items", "input.tags", "input.address.lines"]);
    let is_so = || one(&["i == 'a'", "'a' == i", "i != 'a'", "i.contains('a')", "size(i) > 1", "i == 'aa'"]);
    // of some of these the elements are others than those of the list
    let from = || {
        one(&[
            "",
            ".sort()",
            ".distinct()",
            ".filter(i, i != 'a')",
            ".map(i, i + 'a')",
            ".map(i, i == 'a', i + 'a')",
        ])
    };
    let size = || one(&["0", "1", "2"]);
    let constant = || one(&["['a']", "['a', 'b']", "['b', 'a']", "['aa']"]);
    prop_oneof![
        (list(), one(&["==", "!="]), constant()).prop_map(|(list, order, of)| format!("{list} {order} {of}")),
        (one(&["contains", "intersects"]), list(), constant())
            .prop_map(|(of, list, constant)| format!("sets.{of}({list}, {constant})")),
        (from(), is_so(), one(&["exists", "all"]), is_so()).prop_map(|(from, one, of, two)| {
            format!("input.items.filter(i, {one}){from}.{of}(i, {two})")
        }),
        (from(), one(ORDERS), size()).prop_map(|(from, order, size)| {
            format!("input.items{from}.map(i, i.size()).exists(n, n {order} {size})")
        }),
        (list(), one(&["==", "!="])).prop_map(|(list, order)| format!("{list} {order} []")),
        (list(), one(ORDERS), size()).prop_map(|(list, order, size)| format!("{list}.size() {order} {size}")),
        (one(&["a", "b", "aa"]), list()).prop_map(|(text, list)| format!("'{text}' in {list}")),
        (list(), one(&["==", "!="])).prop_map(|(list, order)| format!("{list}[0] {order} 'a'")),
        (from(), one(&["exists", "all", "exists_one"]), is_so())
            .prop_map(|(from, of, is_so)| format!("input.items{from}.{of}(i, {is_so})")),
        (from(), is_so(), one(ORDERS), size()).prop_map(|(from, is_so, order, size)| {
            format!("input.items{from}.filter(i, {is_so}).size() {order} {size}")
        }),
        (is_so(), one(ORDERS), size())
            .prop_map(|(is_so, order, size)| format!("input.items.filter(i, {is_so}).size() {order} {size}")),
        (is_so(), one(ORDERS)).prop_map(|(is_so, order)| format!(
            "input.items.filter(i, {is_so}).size() {order} input.items.size()"
        )),
        (is_so(), one(&["==", "!="]))
            .prop_map(|(is_so, order)| format!("input.items.filter(i, {is_so}) {order} []")),
        one(ORDERS).prop_map(|order| format!(
            "input.items.distinct().size() {order} input.items.map(i, i + 'a').size()"
        )),
    ]
}

/// A question about a number that is divided, turned or converted.
fn computed() -> impl Strategy<Value = String> {
    let order = || one(ORDERS);
    let number = || one(&["0", "1", "-1", "3", "5", "10", "2.5", "100"]);
    let path = || one(&["input.amount", "input.count", "input.parts", "size(input.order)"]);
    let by = || one(&["2", "3", "-3", "10", "2.0", "-0.5"]);
    prop_oneof![
        (path(), one(&["/", "%"]), by(), order(), number())
            .prop_map(|(path, sign, by, order, number)| format!("{path} {sign} {by} {order} {number}")),
        (path(), order(), number()).prop_map(|(path, order, number)| format!("-{path} {order} {number}")),
        (path(), one(&["==", "!="]), number())
            .prop_map(|(path, order, number)| format!("string({path}) {order} '{number}'")),
        (path(), one(&["int", "double", "string"])).prop_map(|(path, ty)| format!("type({path}) == {ty}")),
        (path(), one(&["int", "double"]), order(), number())
            .prop_map(|(path, made, order, number)| format!("{made}({path}) {order} {number}")),
        (path(), one(&["2", "5"]), by(), order(), number())
            .prop_map(|(path, from, by, order, number)| format!("{from} - -{path} / {by} {order} {number}")),
    ]
}

/// A question about an argument whose schema bounds it, or about what a function makes of a text.
fn bounded() -> impl Strategy<Value = String> {
    let order = || one(ORDERS);
    let bound = || one(&["0", "1", "2", "3", "8", "9", "10", "11", "0.5", "1.0"]);
    let asks = || one(&["startsWith", "endsWith", "contains", "matches"]);
    let text = || one(&["o", "o-", "A", "a", "-1", "1", " ", ""]);
    prop_oneof![
        (one(&["parts", "share"]), order(), bound())
            .prop_map(|(name, order, by)| format!("input.{name} {order} {by}")),
        (one(&["+", "-", "*"]), order(), bound())
            .prop_map(|(sign, order, by)| format!("input.parts {sign} 2 {order} {by}")),
        (one(&["code", "tags", "order"]), order(), one(&["0", "1", "2", "3", "4", "8", "9"]))
            .prop_map(|(name, order, by)| format!("size(input.{name}) {order} {by}")),
        (asks(), text()).prop_map(|(asks, text)| format!("input.code.{asks}('{text}')")),
        (one(&["order", "code"]), order(), text())
            .prop_map(|(name, order, text)| format!("input.{name} {order} '{text}'")),
        (one(&["lowerAscii", "upperAscii", "trim"]), asks(), text())
            .prop_map(|(made, asks, text)| format!("input.order.{made}().{asks}('{text}')")),
        (one(&["==", "!="]), one(&["true", "false"]), order(), bound())
            .prop_map(|(same, truth, order, by)| format!("((input.parts {order} {by}) {same} {truth})")),
    ]
}

pub fn expression() -> impl Strategy<Value = String> {
    clause().prop_recursive(3, 8, 3, |part| {
        prop_oneof![
            part.clone().prop_map(|part| format!("!({part})")),
            (part.clone(), part.clone(), part.clone())
                .prop_map(|(condition, yes, no)| format!("({condition} ? {yes} : {no})")),
            (part.clone(), one(&["&&", "||"]), part)
                .prop_map(|(left, sign, right)| format!("({left} {sign} {right})")),
        ]
    })
}

/// Some steps ahead of a call, as they stand in a policy.
fn steps() -> impl Strategy<Value = String> {
    let condition = proptest::option::weighted(0.3, expression());
    let step =
        (expression(), condition, proptest::bool::weighted(0.15)).prop_map(|(assert, condition, goes_on)| {
            let condition = condition.map(|condition| format!("        condition: \"{condition}\"\n"));
            let on_fail = if goes_on { "        on_fail: continue\n" } else { "" };
            format!("      - assert: \"{assert}\"\n{}{on_fail}", condition.unwrap_or_default())
        });
    proptest::collection::vec(step, 1..4).prop_map(|steps| steps.concat())
}

/// The arguments of a call.
pub fn arguments() -> impl Strategy<Value = Value> {
    let text = || one(&["", "a", "ab", "b", "a.b", "ba", "abc", "zz", "aXb", "A", " o-1 ", "o-1"]);
    let number = select(vec![
        json!(0),
        json!(5),
        json!(10),
        json!(10.5),
        json!(100),
        json!(-1),
        json!(5.0),
        json!(7),
        json!(1e300),
        json!(i64::MAX),
        json!(4.999),
        json!(8.5),
    ]);
    let whole = select(vec![json!(0), json!(5), json!(5.0), json!(10), json!(-1), json!(100), json!(99)]);
    let currency = one(&["EUR", "USD", "GBP"]);
    let items = proptest::collection::vec(text(), 0..3);
    let city = proptest::option::of(text());
    let bounded = (
        select(vec![json!(1), json!(2), json!(5.0), json!(9), json!(10)]),
        select(vec![json!(1), json!(1.0), json!(0.5), json!(1e-300)]),
        one(&["o-1", "o-10", "o-123456", "o-9"]),
        proptest::collection::vec(text(), 1..4),
    );
    let rest = (items, city, text(), any::<bool>(), bounded);
    (text(), number, whole, currency, rest).prop_map(|(order, amount, count, currency, (items, city, note, urgent, (parts, share, code, tags)))| {
        let address = city.map_or_else(|| json!({}), |city| json!({ "city": city }));
        json!({
            "order": order, "amount": amount, "count": count, "currency": currency, "urgent": urgent, "items": items,
            "address": address, "note": note, "parts": parts, "share": share, "code": code, "tags": tags,
        })
    })
}

pub fn policy(name: &str, steps: &str) -> String {
    format!(
        "---\nkind: celador/v1/policy\nnamespace: shop\nname: {name}\ncapabilities:\n  orders_refund:\n    before:\n{steps}"
    )
}

/// An engine with the shop and a policy, whatever warnings it has.
fn engine(text: &str) -> Engine {
    let file = File { source: Source::new("shop.yaml", text), origin: FileOrigin::Named };
    let (catalog, _) = Catalog::parse(&[file], &EngineLimits::default());
    Engine::lenient_from_catalog(&catalog, EngineLimits::default()).0
}

/// The expression in double quotes in which an accusation stands, and where in it.
fn asserted(finding: &Diagnostic) -> Option<(&str, Range<usize>)> {
    let Range { start, end } = finding.place.span.range();
    let text = finding.place.source.text();
    let begin = text[..start].rfind('"')? + 1;
    let whole = &text[begin..begin + text[begin..].find('"')?];
    Some((whole, start - begin..end - begin))
}

/// A part of an expression, together with all that has to be so for the part to decide: the operands beside it in each `&&`, the conditions ahead of it.
pub fn reached(expr: &Expr, text: &str, part: &Range<usize>) -> Option<String> {
    let of = |expr: &Expr| format!("({})", &text[expr.span.range()]);
    let is_within = |expr: &Expr| {
        let own = expr.span.range();
        own.start <= part.start && part.end <= own.end
    };
    if expr.span.range() == *part {
        return Some(of(expr));
    }
    if let ExprKind::Call { function, target: None, args } = &expr.kind {
        match (function.text.as_str(), args.as_slice()) {
            ("_&&_", [one, other]) => {
                let (inner, beside) = if is_within(one) { (one, other) } else { (other, one) };
                return Some(format!("{} && {}", of(beside), reached(inner, text, part)?));
            }
            ("_?_:_", [condition, then, _]) if is_within(then) => {
                return Some(format!("{} && {}", of(condition), reached(then, text, part)?));
            }
            ("_?_:_", [condition, _, otherwise]) if is_within(otherwise) => {
                return Some(format!("!{} && {}", of(condition), reached(otherwise, text, part)?));
            }
            _ => {}
        }
    }
    let mut found = None;
    expr.for_each_part(&mut |inner| {
        if found.is_none() && is_within(inner) {
            found = reached(inner, text, part);
        }
    });
    found
}

/// A part of the body of `cel.bind`, under the name that it mentions.
fn with_its_name(text: &str, part: &Range<usize>, denial: String) -> String {
    let begin = "cel.bind(bound, ";
    let is_free = denial.contains("bound") && !denial.contains(begin);
    let value = text[..part.start].rfind(begin).map(|at| &text[at + begin.len()..]);
    match value.and_then(|rest| rest.split(", bound").next()) {
        Some(value) if is_free => format!("{begin}{value}, {denial})"),
        _ => denial,
    }
}

/// What an accusation says, as an expression that no run may make true: of a part alone, or of all steps.
fn denial(finding: &Diagnostic) -> Option<String> {
    let part = finding.place.source.slice(finding.place.span);
    let denial = match finding.code {
        // one of both, and a run that is on neither side contradicts nothing
        "held_by_schema" if finding.message.contains("false") => format!("({part})"),
        "held_by_schema" => format!("!({part})"),
        "never_true" => format!("({part})"),
        "never_true_here" => {
            let (text, within) = asserted(finding)?;
            reached(&parse(text, &EvalLimits::default()).ok()?, text, &within)?
        }
        "never_false" => format!("!({part})"),
        "always_fails" => format!("(({part}) || !({part}))"),
        "never_member" => {
            let item = finding.message.split('`').nth(1)?;
            format!("({item}) == {part}")
        }
        _ => return None,
    };
    let denial = match asserted(finding) {
        Some((text, within)) => with_its_name(text, &within, denial),
        None => denial,
    };
    // the variable of a macro has a value in it only
    let is_of_macro = denial.contains("(i)") || denial.contains("i.");
    let inside = denial.contains("input.items");
    Some(if is_of_macro && !inside { format!("input.items.exists(i, {denial})") } else { denial })
}

/// The decision about the last of some equal calls.
pub fn judge(engine: &Engine, arguments: &Value, calls: usize) -> Decision {
    let mut task = begin(engine);
    for _ in 0..calls {
        let outcome =
            task.before(&Call::new("orders_refund", arguments.clone().into()), NOW).unwrap().outcome();
        if let Outcome::Allowed(allowed) = &outcome {
            let call = allowed.call.clone();
            let _ = task.after(&call, celador::CallResult::successful(json!({}).into()), NOW).unwrap();
        }
    }
    task.before(&Call::new("orders_refund", arguments.clone().into()), NOW).unwrap().outcome().into_decision()
}

/// Whether a decision of all steps is what an accusation about a step says cannot be.
fn is_contradicted(finding: &Diagnostic, arguments: &Value, decision: &Decision) -> bool {
    let step = finding.path.split("before[").nth(1).and_then(|rest| rest.split(']').next()).unwrap();
    let name = format!("before[{step}]");
    let ran = decision.trace.iter().find(|entry| entry.step.to_string() == name);
    match finding.code {
        // a condition that fails fails the step, which is no contradiction
        "dead_step" => {
            ran.is_some_and(|entry| entry.outcome == StepOutcome::Pass || decision.findings.is_empty())
        }
        "never_passes" => decision.verdict.kind() == VerdictKind::Allow,
        "moot_step" => ran.is_some_and(|entry| entry.outcome == StepOutcome::Fail),
        "read_without_has" => {
            let argument = finding.message.split('`').nth(3).unwrap();
            let is_left_out = arguments.pointer(&format!("/{}", argument.replace('.', "/"))).is_none();
            is_left_out && !argument.contains("[]") && decision.verdict.kind() == VerdictKind::Allow
        }
        // these say what calls are let by, which no single call contradicts
        "one_is_enough" | "loose_prefix" | "loose_host" | "loose_pattern" | "held_by_parameter" => false,
        other => panic!("{other} is not tried"),
    }
}

#[test]
fn no_run_contradicts_an_accusation() {
    let rounds = std::env::var("CELADOR_ANALYSIS").map_or(80, |rounds| rounds.parse().unwrap());
    let shop = shop();
    let mut runner = TestRunner::deterministic();
    let (mut accused, mut runs, mut decided) = (BTreeMap::new(), 0, 0);
    for round in 0..rounds {
        let steps = steps().new_tree(&mut runner).unwrap().current();
        let text = policy("chance", &steps);
        let (findings, analysis) = analysed(&[("shop.yaml", &shop), ("chance.yaml", &text)]);
        assert!(!findings.iter().any(Diagnostic::is_error), "{steps}");
        assert_eq!(analysis.contradicted, 0, "{steps}");
        decided += analysis.decided;
        let whole = engine(&format!("{shop}{text}"));
        let operations = (arguments(), 0..3_usize);
        for finding in findings.iter().filter(|finding| is_decided(finding)) {
            *accused.entry(finding.code).or_insert(0) += 1;
            let part = denial(finding).map(|denial| {
                let alone = format!("      - assert: \"{denial}\"\n");
                engine(&format!("{shop}{}", policy("part", &alone)))
            });
            // the first is about all numbers of a kind, the second about all values; the third was run with and without the part, which
            // `contradicted` counts; those of places say where a step stands, and not what it comes to
            let of_places = [
                "unheeded_assert",
                "early_review",
                "late_assert",
                "first_call_only",
                "loose_pattern",
                "loose_prefix",
                "text_order",
            ];
            if matches!(finding.code, "mixed_numbers" | "truth_of_unknown" | "moot_part")
                || of_places.contains(&finding.code)
                || finding.code == "read_without_has"
                    && !finding.message.ends_with("each call without it fails here")
            {
                continue;
            }
            for _ in 0..rounds {
                let (arguments, calls) = operations.new_tree(&mut runner).unwrap().current();
                runs += 1;
                let is_wrong = match &part {
                    Some(part) => judge(part, &arguments, 0).verdict.kind() == VerdictKind::Allow,
                    None => is_contradicted(finding, &arguments, &judge(&whole, &arguments, calls)),
                };
                assert!(
                    !is_wrong,
                    "round {round}: {arguments} after {calls} calls\n{}\n{steps}",
                    finding.render(false)
                );
            }
        }
    }
    println!("{rounds} manifests, {decided} clauses decided, {runs} runs, accused: {accused:?}");
    assert!(accused.len() >= 5 && runs > rounds * 10, "{runs} runs, accused: {accused:?}");
}

/// What a comment allows is allowed, and a comment that allows nothing is told.
#[test]
fn a_comment_allows_what_analysis_finds() {
    let steps = |comment: &str| {
        policy(
            "allowed",
            &format!("      # {comment}\n      - assert: input.amount > 0 || input.amount <= 1000\n"),
        )
    };
    let codes = |comment: &str| {
        let (findings, _) = analysed(&[("shop.yaml", &shop()), ("policy.yaml", &steps(comment))]);
        findings.iter().map(|it| (it.code, it.is_refused())).collect::<Vec<_>>()
    };
    assert_eq!(codes("a remark"), [("never_false", true)]);
    assert_eq!(codes("celador: allow(never_false) it stays until June"), [("never_false", false)]);
    let stale = codes("celador: allow(never_true) it stays until June");
    assert_eq!(stale, [("never_false", true), ("allow_stale", true)]);
}

/// A witness that many clauses are decided together, and within bounds.
#[test]
fn many_clauses_about_one_path_are_decided() {
    let clause = |at: usize| format!("input.amount != {at} && !input.order.startsWith('o{at}')");
    let all: Vec<String> = (0..60).map(clause).collect();
    let assert = format!("{} && input.amount == 59", all.join(" && "));
    let text = policy("many", &format!("      - assert: \"{assert}\"\n"));
    let (findings, _) = analysed(&[("shop.yaml", &shop()), ("policy.yaml", &text)]);
    assert_eq!(findings.iter().map(|it| it.code).collect::<Vec<_>>(), ["never_true"]);
    assert!(findings[0].message.contains("`input.amount != 59`"), "{}", findings[0].message);
}
