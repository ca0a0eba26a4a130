//! What the analysis says of expressions, beside what z3 says of the same ones in an encoding of its own: theories of numbers and texts, no cells.
//!
//! In: every assert and condition of `tests/data/analysis`, and expressions by chance; `prove_z3` asks it of proofs. An expression that the encoding does not know is passed over and
//! counted. z3 is Debian's package, which `tests/run` installs.

use crate::analysis::{analysed, expression, policy, reached, shop};
use crate::suites::{missing, root};
use celador::cel::{EvalLimits, Expr, ExprKind, Literal, Timestamp, parse};
use proptest::strategy::{Strategy as _, ValueTree as _};
use proptest::test_runner::TestRunner;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::ops::Range;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

/// z3, asked line by line.
pub struct Z3 {
    process: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Z3 {
    pub fn start() -> Option<Self> {
        let mut command = Command::new("z3");
        command.args(["-in", "-smt2"]).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut process = command.spawn().ok()?;
        let (input, output) = (process.stdin.take()?, BufReader::new(process.stdout.take()?));
        Some(Self { process, input, output })
    }

    /// Whether something can hold of the values that are declared; nothing if z3 gives up.
    pub fn can_hold(
        &mut self,
        declared: &BTreeMap<String, (String, String)>,
        proposition: &str,
    ) -> Option<bool> {
        // what holds of a value may name another one
        let declarations: String = declared.values().map(|(constant, _)| constant.as_str()).collect();
        let holds: String = declared.values().map(|(_, holds)| holds.as_str()).collect();
        let text = format!(
            "(reset)(set-option :timeout 3000)\n{declarations}{holds}\n(assert {proposition})\n(check-sat)\n"
        );
        self.input.write_all(text.as_bytes()).unwrap();
        self.input.flush().unwrap();
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        match line.trim() {
            "sat" => Some(true),
            "unsat" => Some(false),
            "unknown" | "timeout" => None,
            other => panic!("z3 says {other} of {text}"),
        }
    }
}

impl Drop for Z3 {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// When a part is true, and when it is false; it fails otherwise.
#[derive(Clone)]
pub struct Truth {
    pub yes: String,
    pub no: String,
}

/// A number: when there is one, when it is an int, and what it is.
struct Number {
    is_there: String,
    is_int: String,
    value: String,
}

/// A text: when there is one, and what it is.
struct Text {
    is_there: String,
    value: String,
}

#[derive(Default)]
pub struct Encoder {
    /// Whether doubles are added up as the reals of z3, which are not rounded.
    pub unrounded: bool,
    /// By name: its declaration, and what holds of its values.
    pub declared: BTreeMap<String, (String, String)>,
    /// The parts that say yes or no, by their characters.
    parts: Vec<(usize, usize, Truth)>,
}

fn named(expr: &Expr) -> String {
    let text = expr.to_string();
    ["context.", "c."]
        .iter()
        .find_map(|root| text.strip_prefix(root))
        .map_or_else(|| text.clone(), |rest| format!("c.{rest}"))
}

fn real(value: f64) -> Option<String> {
    (value.abs() < 1e15).then(|| if value < 0.0 { format!("(- {:?})", -value) } else { format!("{value:?}") })
}

fn quoted(text: &str) -> String {
    let letters = text.chars().map(|c| match c {
        ' '..='~' if !matches!(c, '"' | '\\') => c.to_string(),
        c => format!("\\u{{{:x}}}", u32::from(c)),
    });
    format!("\"{}\"", letters.collect::<String>())
}

impl Encoder {
    fn declare(&mut self, name: &str, sort: &str, holds: &str) -> String {
        let name = format!("|{name}|");
        let holds = holds.replace("IT", &name);
        let texts = (format!("(declare-const {name} {sort})\n"), format!("(assert {holds})\n"));
        self.declared.insert(name.clone(), texts);
        name
    }

    /// A part that says yes or no, and is looked at by itself.
    pub fn part(&mut self, expr: &Expr) -> Option<Truth> {
        let truth = self.truth(expr)?;
        if !matches!(expr.kind, ExprKind::Literal(_)) {
            let range = expr.span.range();
            self.parts.push((range.start, range.end, truth.clone()));
        }
        Some(truth)
    }

    fn truth(&mut self, expr: &Expr) -> Option<Truth> {
        match &expr.kind {
            ExprKind::Literal(Literal::Bool(value)) => {
                Some(Truth { yes: value.to_string(), no: (!value).to_string() })
            }
            ExprKind::Select { .. } if named(expr) == "input.urgent" => {
                let urgent = self.declare("input.urgent", "Bool", "true");
                Some(Truth { no: format!("(not {urgent})"), yes: urgent })
            }
            ExprKind::Has { operand, field } if named(operand) == "input.address" && field.text == "city" => {
                let city = self.declare("has input.address.city", "Bool", "true");
                Some(Truth { no: format!("(not {city})"), yes: city })
            }
            ExprKind::Call { function, target, args } => {
                let operands: Vec<&Expr> = target.as_deref().into_iter().chain(args).collect();
                self.call(&function.text, &operands)
            }
            _ => None,
        }
    }

    fn call(&mut self, name: &str, operands: &[&Expr]) -> Option<Truth> {
        Some(match (name, operands) {
            ("review", [Expr { kind: ExprKind::Literal(Literal::String(reviewer)), .. }]) => {
                let approves = self.declare(&format!("{reviewer} approves"), "Bool", "true");
                Truth { no: format!("(not {approves})"), yes: approves }
            }
            ("!_", [operand]) => {
                let Truth { yes, no } = self.part(operand)?;
                Truth { yes: no, no: yes }
            }
            ("_&&_", [left, right]) => {
                let [left, right] = [self.part(left)?, self.part(right)?];
                Truth {
                    yes: format!("(and {} {})", left.yes, right.yes),
                    no: format!("(or {} {})", left.no, right.no),
                }
            }
            ("_||_", [left, right]) => {
                let [left, right] = [self.part(left)?, self.part(right)?];
                Truth {
                    yes: format!("(or {} {})", left.yes, right.yes),
                    no: format!("(and {} {})", left.no, right.no),
                }
            }
            ("_?_:_", [condition, yes, no]) => {
                let [condition, then, other] = [self.part(condition)?, self.part(yes)?, self.part(no)?];
                let either = |then: &str, other: &str| {
                    format!("(or (and {} {then}) (and {} {other}))", condition.yes, condition.no)
                };
                Truth { yes: either(&then.yes, &other.yes), no: either(&then.no, &other.no) }
            }
            ("_==_" | "_!=_" | "_<_" | "_<=_" | "_>_" | "_>=_", [left, right]) => {
                self.comparison(name, left, right)?
            }
            ("@in", [item, Expr { kind: ExprKind::List(elements), .. }]) => {
                let mut found = Truth { yes: "false".to_owned(), no: "true".to_owned() };
                for element in elements {
                    let Truth { yes, no } = self.comparison("_==_", item, &element.value)?;
                    found = Truth {
                        yes: format!("(or {} {yes})", found.yes),
                        no: format!("(and {} {no})", found.no),
                    };
                }
                found
            }
            (
                "startsWith" | "endsWith" | "contains" | "matches",
                [text, Expr { kind: ExprKind::Literal(Literal::String(part)), .. }],
            ) => {
                let Text { is_there, value } = self.text(text)?;
                let holds = match name {
                    "startsWith" => format!("(str.prefixof {} {value})", quoted(part)),
                    "endsWith" => format!("(str.suffixof {} {value})", quoted(part)),
                    "contains" => format!("(str.contains {value} {})", quoted(part)),
                    _ => format!("(str.in_re {value} {})", pattern(part)?),
                };
                answered(&[&is_there], &holds)
            }
            _ => return None,
        })
    }

    fn comparison(&mut self, name: &str, left: &Expr, right: &Expr) -> Option<Truth> {
        let (order, negated) = match name {
            "_==_" => ("=", false),
            "_!=_" => ("=", true),
            "_<_" => ("<", false),
            "_<=_" => ("<=", false),
            "_>_" => (">", false),
            _ => (">=", false),
        };
        let is_equality = order == "=";
        let negate = |truth: Truth| if negated { Truth { yes: truth.no, no: truth.yes } } else { truth };
        if let (Some(one), Some(two)) = (self.time(left), self.time(right)) {
            return Some(negate(answered(&[], &format!("({order} {one} {two})"))));
        }
        match (self.number(left), self.number(right)) {
            (Some(one), Some(two)) => {
                let holds = format!("({order} {} {})", one.value, two.value);
                return Some(negate(answered(&[&one.is_there, &two.is_there], &holds)));
            }
            (Some(number), None) | (None, Some(number)) => {
                let other = if self.number(left).is_some() { right } else { left };
                let is_other = matches!(other.kind, ExprKind::Literal(Literal::Null | Literal::Bool(_)));
                let is_there = match self.text(other) {
                    Some(text) => text.is_there,
                    None if is_other => "true".to_owned(),
                    None => return None,
                };
                // values of two kinds are unequal, and have no order
                return Some(if is_equality {
                    negate(answered(&[&number.is_there, &is_there], "false"))
                } else {
                    Truth { yes: "false".to_owned(), no: "false".to_owned() }
                });
            }
            (None, None) => {}
        }
        let (one, two) = (self.text(left)?, self.text(right)?);
        let (order, values) = match order {
            ">" => ("str.<", [two.value, one.value]),
            ">=" => ("str.<=", [two.value, one.value]),
            "<" => ("str.<", [one.value, two.value]),
            "<=" => ("str.<=", [one.value, two.value]),
            _ => ("=", [one.value, two.value]),
        };
        Some(negate(answered(
            &[&one.is_there, &two.is_there],
            &format!("({order} {} {})", values[0], values[1]),
        )))
    }

    fn time(&mut self, expr: &Expr) -> Option<String> {
        let ExprKind::Call { function, target: None, args } = &expr.kind else { return None };
        let ("timestamp", [argument]) = (function.text.as_str(), args.as_slice()) else { return None };
        match &argument.kind {
            ExprKind::Ident { name, .. } if name == "now" => Some(self.declare("now", "Int", "true")),
            ExprKind::Literal(Literal::String(text)) => {
                let time: Timestamp = text.parse().ok()?;
                Some(time.nanos().to_string())
            }
            _ => None,
        }
    }

    fn number(&mut self, expr: &Expr) -> Option<Number> {
        let whole = |value: String| Number { is_there: "true".to_owned(), is_int: "true".to_owned(), value };
        match &expr.kind {
            ExprKind::Literal(Literal::Int(value)) => Some(whole(real(*value as f64)?)),
            ExprKind::Literal(Literal::UInt(value)) => Some(whole(real(*value as f64)?)),
            ExprKind::Literal(Literal::Double(value)) => {
                Some(Number { is_int: "false".to_owned(), ..whole(real(*value)?) })
            }
            ExprKind::Call { function, target, args } => {
                let operands: Vec<&Expr> = target.as_deref().into_iter().chain(args).collect();
                match (function.text.as_str(), operands.as_slice()) {
                    ("-_", [Expr { kind: ExprKind::Literal(Literal::Int(value)), .. }]) => {
                        Some(whole(real(-(*value as f64))?))
                    }
                    ("size", [of]) if named(of) == "input.items" => Some(whole(self.declare(
                        "size(input.items)",
                        "Real",
                        "(and (is_int IT) (>= IT 0.0))",
                    ))),
                    // a number of which nothing is known, whatever calls there were; of a list of the call at hand its schema says how long it is
                    ("sum" | "size", [Expr { kind: ExprKind::Comprehension(of), .. }]) => {
                        if named(&of.range).starts_with("input") {
                            return None;
                        }
                        let is_sum = function.text == "sum";
                        let holds = if is_sum { "true" } else { "(and (is_int IT) (>= IT 0.0))" };
                        let number = whole(self.declare(&named(expr), "Real", holds));
                        Some(Number { is_int: (!is_sum).to_string(), ..number })
                    }
                    ("double", [of]) => Some(Number { is_int: "false".to_owned(), ..self.number(of)? }),
                    ("size", [of]) => {
                        let Text { is_there, value } = self.text(of)?;
                        Some(Number { is_there, ..whole(format!("(to_real (str.len {value}))")) })
                    }
                    ("_+_" | "_-_" | "_*_", [left, right]) => {
                        let [one, two] = [self.number(left)?, self.number(right)?];
                        let value =
                            format!("({} {} {})", function.text.trim_matches('_'), one.value, two.value);
                        if self.unrounded {
                            let alike = format!("(= {} {})", one.is_int, two.is_int);
                            let is_there = format!("(and {} {} {alike})", one.is_there, two.is_there);
                            return Some(Number { is_there, is_int: one.is_int, value });
                        }
                        // doubles are rounded, which the reals of z3 are not
                        if one.is_int == "false"
                            || two.is_int == "false"
                            || named(left) == "input.amount"
                            || named(right) == "input.amount"
                        {
                            return None;
                        }
                        let fits = format!(
                            "(and (<= (- 9223372036854775808.0) {value}) (<= {value} 9223372036854775807.0))"
                        );
                        let is_there = format!(
                            "(and {} {} {} {} {fits})",
                            one.is_there, two.is_there, one.is_int, two.is_int
                        );
                        Some(Number { is_there, is_int: "true".to_owned(), value })
                    }
                    (name, [of]) => {
                        self.time(of)?;
                        let ends = match name {
                            "getHours" => [0, 23],
                            "getMinutes" | "getSeconds" => [0, 59],
                            "getDayOfWeek" => [0, 6],
                            "getMonth" => [0, 11],
                            "getDate" => [1, 31],
                            _ => return None,
                        };
                        let [least, most] = ends;
                        let holds = format!("(and (is_int IT) (<= {least}.0 IT) (<= IT {most}.0))");
                        Some(whole(self.declare(&named(expr), "Real", &holds)))
                    }
                    _ => None,
                }
            }
            _ => match named(expr).as_str() {
                "input.amount" => {
                    let value = self.declare("input.amount", "Real", "true");
                    let is_int =
                        self.declare("input.amount is an int", "Bool", &format!("(=> IT (is_int {value}))"));
                    Some(Number { is_there: "true".to_owned(), is_int, value })
                }
                "input.count" => {
                    let value = self.declare("input.count", "Real", "(is_int IT)");
                    let is_int = self.declare("input.count is an int", "Bool", "true");
                    Some(Number { is_there: "true".to_owned(), is_int, value })
                }
                name if name.contains(".count") || name.contains("tokens.") => {
                    Some(whole(self.declare(name, "Real", "(and (is_int IT) (>= IT 0.0))")))
                }
                _ => None,
            },
        }
    }

    fn text(&mut self, expr: &Expr) -> Option<Text> {
        let there = |value: String| Text { is_there: "true".to_owned(), value };
        match &expr.kind {
            ExprKind::Literal(Literal::String(text)) => Some(there(quoted(text))),
            _ => match named(expr).as_str() {
                name @ ("input.order" | "input.note" | "input.command" | "input.to") => {
                    Some(there(self.declare(name, "String", "true")))
                }
                "input.currency" => {
                    let one = "(or (= IT \"EUR\") (= IT \"USD\") (= IT \"GBP\"))";
                    Some(there(self.declare("input.currency", "String", one)))
                }
                "input.address.city" => {
                    let is_there = self.declare("has input.address.city", "Bool", "true");
                    Some(Text { is_there, value: self.declare("input.address.city", "String", "true") })
                }
                _ => None,
            },
        }
    }
}

fn answered(there: &[&str], holds: &str) -> Truth {
    let there = there.join(" ");
    Truth { yes: format!("(and true {there} {holds})"), no: format!("(and true {there} (not {holds}))") }
}

/// A regular expression that is found anywhere in a text, of the plain kind: anchors stand at its ends.
fn pattern(text: &str) -> Option<String> {
    const ANY: &str = "(re.* re.allchar)";
    let (text, begin) = text.strip_prefix('^').map_or((text, ANY), |rest| (rest, "(str.to_re \"\")"));
    let (text, end) = text.strip_suffix('$').map_or((text, ANY), |rest| (rest, "(str.to_re \"\")"));
    let whole = celador::cel::re2::parse(text).ok()?.hir();
    Some(format!("(re.++ {begin} {} {end})", of_hir(&whole)?))
}

fn of_hir(hir: &regex_syntax::hir::Hir) -> Option<String> {
    use regex_syntax::hir::{Class, HirKind};
    let joined = |name: &str, parts: &[regex_syntax::hir::Hir]| {
        let parts: Vec<String> = parts.iter().map(of_hir).collect::<Option<_>>()?;
        Some(format!("({name} {})", parts.join(" ")))
    };
    match hir.kind() {
        HirKind::Empty => Some("(str.to_re \"\")".to_owned()),
        HirKind::Literal(literal) => {
            Some(format!("(str.to_re {})", quoted(std::str::from_utf8(&literal.0).ok()?)))
        }
        HirKind::Class(Class::Unicode(class)) => {
            let range = |range: &regex_syntax::hir::ClassUnicodeRange| {
                // z3 knows no letters beyond these, and they are none of what stands in the expressions
                let end = u32::from(range.end()).min(0x2_ffff);
                let end = char::from_u32(end).unwrap_or(range.end());
                format!("(re.range {} {})", quoted(&range.start().to_string()), quoted(&end.to_string()))
            };
            let ranges: Vec<String> = class.ranges().iter().map(range).collect();
            Some(match ranges.as_slice() {
                [] => "re.none".to_owned(),
                [only] => only.clone(),
                _ => format!("(re.union {})", ranges.join(" ")),
            })
        }
        HirKind::Repetition(repetition) => {
            let inner = of_hir(&repetition.sub)?;
            match (repetition.min, repetition.max) {
                (0, None) => Some(format!("(re.* {inner})")),
                (1, None) => Some(format!("(re.+ {inner})")),
                (0, Some(1)) => Some(format!("(re.opt {inner})")),
                _ => None,
            }
        }
        HirKind::Capture(capture) => of_hir(&capture.sub),
        HirKind::Concat(parts) => joined("re.++", parts),
        HirKind::Alternation(parts) => joined("re.union", parts),
        _ => None,
    }
}

/// The asserts and conditions of a file, as they are written in single quotes.
fn expressions(text: &str) -> impl Iterator<Item = String> {
    text.lines().filter_map(|line| {
        let line = line.trim().trim_start_matches("- ");
        let quoted = line.strip_prefix("assert: '").or_else(|| line.strip_prefix("condition: '"))?;
        Some(quoted.strip_suffix('\'')?.replace("''", "'"))
    })
}

/// Whether no input makes a part true for which the parts around it let it decide.
fn is_never_reached_true(tree: &Expr, text: &str, part: &Range<usize>, z3: &mut Z3) -> bool {
    let whole = reached(tree, text, part).unwrap();
    let mut encoder = Encoder::default();
    let Truth { yes, .. } = encoder.part(&parse(&whole, &EvalLimits::default()).unwrap()).unwrap();
    z3.can_hold(&encoder.declared, &yes) == Some(false)
}

#[test]
fn z3_says_the_same() {
    let Some(mut z3) = Z3::start() else {
        missing("z3", "apt-get install z3");
        return;
    };
    let mut all: BTreeSet<String> = BTreeSet::new();
    for entry in fs::read_dir(root().join("tests/data/analysis")).unwrap() {
        all.extend(expressions(&fs::read_to_string(entry.unwrap().path()).unwrap()));
    }
    let of_corpus = all.len();
    let mut runner = TestRunner::deterministic();
    let chance = std::env::var("CELADOR_ANALYSIS").map_or(30, |rounds| rounds.parse().unwrap());
    all.extend((0..chance).map(|_| expression().new_tree(&mut runner).unwrap().current()));
    let shop = shop();
    let (mut compared, mut parts, mut accused, mut left_open, mut unknown) = (0, 0, 0, 0, 0);
    let mut wrong = String::new();
    for text in &all {
        let Ok(tree) = parse(text, &EvalLimits::default()) else { continue };
        let mut encoder = Encoder::default();
        if encoder.part(&tree).is_none() {
            continue;
        }
        compared += 1;
        let file = policy("alone", &format!("      - assert: |-\n          {text}\n"));
        let begin = file.find(text.as_str()).unwrap();
        let (findings, analysis) = analysed(&[("shop.yaml", &shop), ("alone.yaml", &file)]);
        let is_open = |start: usize, end: usize| {
            let mut open = analysis.unknown.iter().map(|place| place.span.range());
            open.any(|range| range.start < end + begin && start + begin < range.end)
        };
        let found: Vec<(usize, usize, &str)> = findings
            .iter()
            .map(|finding| {
                let range = finding.place.span.range();
                (range.start.wrapping_sub(begin), range.end.wrapping_sub(begin), finding.code)
            })
            .collect();
        for (start, end, Truth { yes, no }) in &encoder.parts {
            parts += 1;
            let can_be = [yes, no].map(|answer| z3.can_hold(&encoder.declared, answer));
            let [Some(can_be_true), Some(can_be_false)] = can_be else {
                unknown += 1;
                continue;
            };
            let own = found.iter().find(|(from, to, _)| (from, to) == (start, end)).map(|(_, _, code)| *code);
            let is_right = match own {
                Some("never_true") => !can_be_true,
                Some("never_false") => !can_be_false,
                Some("never_true_here") => is_never_reached_true(&tree, text, &(*start..*end), &mut z3),
                Some("always_fails") => !can_be_true && !can_be_false,
                // what is not accused can be both, unless something in it or around it is, or some clause is left open
                _ => {
                    let overlaps = found.iter().any(|(from, to, _)| from < end && start < to);
                    left_open += usize::from(!overlaps && is_open(*start, *end));
                    overlaps || is_open(*start, *end) || can_be_true && can_be_false
                }
            };
            accused += usize::from(own.is_some());
            if !is_right {
                let part = &text[*start..*end];
                wrong += &format!(
                    "{text}\n  {part}: found {own:?}, z3: can be true {can_be_true}, can be false {can_be_false}\n"
                );
            }
        }
    }
    println!(
        "{of_corpus} expressions of the corpus and {chance} by chance, {compared} compared: {parts} parts, {accused} accused, {left_open} left open, \
         z3 gave up on {unknown}"
    );
    assert!(wrong.is_empty(), "{wrong}");
    assert!(compared > 60 && accused > 20 && (unknown + left_open) * 10 < parts);
}
