//! Expressions and data by chance: a run of numbers in, a typed expression and the JSON of its variables out.
//!
//! Every choice takes the next number; where there are none left the plainest form is taken, so an expression shrinks
//! as its numbers do. One operand in sixty is of another type than asked for. Text stays short, so that static
//! costs hold.

use celador::cel::{EXTENSIONS, Env, EnvBuilder, STANDARD, Type};
use proptest::prelude::*;
use serde_json::{Value as Data, json};

/// The type that an expression is made for.
#[derive(Clone, Debug, PartialEq)]
pub enum Kind {
    Bool,
    Int,
    UInt,
    Double,
    String,
    Bytes,
    Null,
    Timestamp,
    Duration,
    List(Box<Self>),
    Map(Box<Self>),
    Dyn,
}

use Kind::{Bool, Bytes, Double, Duration, Dyn, Int, List, Map, Null, String as Text, Timestamp, UInt};

/// An expression and the values of the variables that it may use.
#[derive(Clone)]
pub struct Case {
    pub text: String,
    pub data: Data,
}

impl std::fmt::Debug for Case {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}\n  with {}", self.text, self.data)
    }
}

/// The variables: name and type. Their values are JSON.
pub fn variables() -> Vec<(&'static str, Kind)> {
    let list = |of| List(Box::new(of));
    vec![
        ("b", Bool),
        ("n", Int),
        ("m", Int),
        ("d", Double),
        ("s", Text),
        ("t", Text),
        ("l", list(Int)),
        ("w", list(Text)),
        ("r", list(Map(Box::new(Int)))),
        ("o", Map(Box::new(Int))),
        ("p", Map(Box::new(Text))),
        ("j", Dyn),
    ]
}

/// A scope with the variables, typed or `dyn`.
pub fn scope(typed: bool) -> Env {
    let declared = |kind: &Kind| if typed { kind.to_type() } else { Type::Dyn };
    let scope =
        variables().iter().fold(Env::builder(), |scope, (name, kind)| scope.variable(name, declared(kind)));
    STANDARD.iter().chain(EXTENSIONS).copied().fold(scope, EnvBuilder::library).build()
}

impl Kind {
    fn to_type(&self) -> Type {
        match self {
            Bool => Type::Bool,
            Int => Type::Int,
            UInt => Type::UInt,
            Double => Type::Double,
            Text => Type::String,
            Bytes => Type::Bytes,
            Null => Type::Null,
            Timestamp => Type::Timestamp,
            Duration => Type::Duration,
            List(of) => Type::list(of.to_type()),
            Map(of) => Type::map(Type::String, of.to_type()),
            Dyn => Type::Dyn,
        }
    }
}

/// What the expressions may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Language {
    /// What the other interpreter has too, and now and then a name that nobody has.
    Common,
    /// All macros, optionals and the extension libraries.
    Whole,
}

/// So many cases, or as many as `PROPTEST_CASES` says.
pub fn many(cases: u32) -> ProptestConfig {
    let config = ProptestConfig { max_shrink_iters: 4_000, ..ProptestConfig::default() };
    if std::env::var_os("PROPTEST_CASES").is_some() { config } else { ProptestConfig { cases, ..config } }
}

/// Expressions of any type.
pub fn cases(language: Language) -> impl Strategy<Value = Case> {
    prop::collection::vec(any::<u16>(), 0..120).prop_map(move |numbers| {
        let mut choices = Choices::new(&numbers, language);
        let kind = choices.kind(2);
        let text = choices.expr(&kind, 4);
        Case { text, data: choices.data() }
    })
}

/// Several expressions of one type over the same data.
pub fn tuples<const N: usize>(kind: Kind) -> impl Strategy<Value = ([String; N], Data)> {
    prop::collection::vec(any::<u16>(), 0..120).prop_map(move |numbers| {
        let mut choices = Choices::new(&numbers, Language::Whole);
        let texts = std::array::from_fn(|_| choices.expr(&kind, 3));
        (texts, choices.data())
    })
}

/// Takes numbers for choices.
pub struct Choices<'n> {
    numbers: std::slice::Iter<'n, u16>,
    language: Language,
    /// The variables of loops around, the innermost last.
    locals: Vec<(String, Kind)>,
}

const WORDS: [&str; 10] = ["", "a", "b", "ab", "é", "A", "0", "10", "true", "2026-05-20T03:45:00Z"];
const KEYS: [&str; 5] = ["a", "b", "c", "key", "x y"];
const INTS: [i64; 12] = [0, 1, 2, -1, 3, 7, 10, 100, 1 << 53, i64::MAX, i64::MIN, -7];
const DOUBLES: [f64; 12] =
    [0.0, 1.0, 0.5, -1.0, -0.0, 2.5, 1e3, 1e100, -1e-7, 9_007_199_254_740_993.0, 1e19, 0.1];

impl<'n> Choices<'n> {
    pub fn new(numbers: &'n [u16], language: Language) -> Self {
        Self { numbers: numbers.iter(), language, locals: Vec::new() }
    }

    fn below(&mut self, count: usize) -> usize {
        self.numbers.next().map_or(0, |&number| usize::from(number) % count)
    }

    fn of<T: Clone>(&mut self, items: &[T]) -> T {
        items[self.below(items.len())].clone()
    }

    /// Once in so many.
    fn rarely(&mut self, times: usize) -> bool {
        self.below(times) == times - 1
    }

    fn kind(&mut self, depth: usize) -> Kind {
        let kinds = [Bool, Int, Text, Double, Dyn, UInt, Bytes, Null, Timestamp, Duration];
        match self.below(if depth == 0 { 10 } else { 14 }) {
            number @ 0..10 => kinds[number].clone(),
            10 | 11 => List(Box::new(self.kind(depth - 1))),
            _ => Map(Box::new(self.kind(depth - 1))),
        }
    }

    /// A value of a type, as JSON has it.
    fn json(&mut self, kind: &Kind, depth: usize) -> Data {
        match kind {
            Bool => (self.below(2) == 1).into(),
            Int => self.of(&INTS).into(),
            Double => (self.of(&DOUBLES) + 0.25).into(),
            Text => self.of(&WORDS).into(),
            List(of) => (0..self.below(4)).map(|_| self.json(of, depth)).collect(),
            Map(of) => {
                let entries = (0..self.below(4)).map(|_| (self.of(&KEYS).to_owned(), self.json(of, depth)));
                Data::Object(entries.collect::<Vec<_>>().into_iter().collect())
            }
            _ => {
                let kinds = [Null, Bool, Int, Double, Text];
                let kind = match (self.below(8), depth) {
                    (number, 0) => kinds[number % 5].clone(),
                    (5 | 6, _) => Map(Box::new(Dyn)),
                    (7, _) => List(Box::new(Dyn)),
                    (number, _) => kinds[number].clone(),
                };
                if kind == Null { Data::Null } else { self.json(&kind, depth.saturating_sub(1)) }
            }
        }
    }

    /// The values of all variables.
    pub fn data(&mut self) -> Data {
        let entries = variables().into_iter().map(|(name, kind)| (name.to_owned(), self.json(&kind, 3)));
        json!(entries.collect::<serde_json::Map<_, _>>())
    }

    /// An expression that should be of this type; now and then it is not.
    pub fn expr(&mut self, kind: &Kind, depth: usize) -> String {
        if self.rarely(60) {
            let other = self.kind(1);
            return if self.language == Language::Common && self.rarely(4) {
                self.of(&["nobody", "nobody.at.all", "nothing(1)", "s.nothing()"]).to_owned()
            } else {
                self.leaf(&other)
            };
        }
        if depth == 0 || self.below(5) == 0 {
            return self.leaf(kind);
        }
        match self.below(8) {
            0..5 => self.own(kind, depth - 1),
            _ => self.any(kind, depth - 1),
        }
    }

    /// A literal or a variable.
    fn leaf(&mut self, kind: &Kind) -> String {
        let variables = variables().into_iter().map(|(name, kind)| (name.to_owned(), kind));
        let known: Vec<(String, Kind)> = self.locals.iter().cloned().rev().chain(variables).collect();
        let fitting: Vec<String> =
            known.into_iter().filter(|(_, of)| of == kind).map(|(name, _)| name).collect();
        if !fitting.is_empty() && self.below(3) > 0 {
            return self.of(&fitting);
        }
        self.literal(kind)
    }

    fn literal(&mut self, kind: &Kind) -> String {
        match kind {
            Bool => self.of(&["true", "false"]).to_owned(),
            Int => self.of(&INTS).to_string(),
            UInt => format!("{}u", self.of(&[0_u64, 1, 2, 7, 1 << 53, u64::MAX])),
            Double => format!("{:?}", self.of(&DOUBLES)),
            Text => format!("'{}'", self.of(&WORDS)),
            Bytes => self.of(&["b''", "b'a'", r"b'\xff'", "b'ab'", "b'é'"]).to_owned(),
            Null => "null".to_owned(),
            Timestamp => {
                let text =
                    self.of(&["2026-05-20T03:45:00Z", "1970-01-01T00:00:00Z", "2000-02-29T23:59:59.5Z"]);
                format!("timestamp('{text}')")
            }
            Duration => {
                let text = self.of(&["0s", "90m", "-1.5s", "1h", "3600s", "100ms"]);
                format!("duration('{text}')")
            }
            List(of) => {
                let items: Vec<String> = (0..self.below(4)).map(|_| self.literal(of)).collect();
                format!("[{}]", items.join(", "))
            }
            Map(of) => {
                let keys = &KEYS[..self.below(4)];
                let entries: Vec<String> =
                    keys.iter().map(|key| format!("'{key}': {}", self.literal(of))).collect();
                format!("{{{}}}", entries.join(", "))
            }
            Dyn => {
                let kind = self.kind(1);
                if kind == Dyn { "null".to_owned() } else { format!("dyn({})", self.literal(&kind)) }
            }
        }
    }

    /// The forms that give a value of any type: choices, parts, elements.
    fn any(&mut self, kind: &Kind, depth: usize) -> String {
        match self.below(if self.language == Language::Whole { 8 } else { 5 }) {
            0 => {
                let [condition, yes, no] = [&Bool, kind, kind].map(|kind| self.expr(kind, depth));
                format!("({condition} ? {yes} : {no})")
            }
            1 => {
                let list = self.expr(&List(Box::new(kind.clone())), depth);
                format!("{list}[{}]", self.of(&[0, 1, -1]))
            }
            2 => {
                let map = self.expr(&Map(Box::new(kind.clone())), depth);
                format!("{map}.{}", self.of(&["a", "b", "key"]))
            }
            3 => {
                let map = self.expr(&Map(Box::new(kind.clone())), depth);
                format!("{map}[{}]", self.expr(&Text, 0))
            }
            4 => format!("j.{}", self.of(&["a", "b", "a.b", "c[0]"])),
            5 => {
                let of = self.kind(1);
                let value = self.expr(&of, depth);
                let body = self.with_local(&of, |choices, _| choices.expr(kind, depth));
                format!("cel.bind({}, {value}, {})", body.0, body.1)
            }
            6 => {
                let map = self.expr(&Map(Box::new(kind.clone())), depth);
                format!("{map}.?a.orValue({})", self.expr(kind, depth))
            }
            _ => {
                let value = self.expr(kind, depth);
                let body = self.with_local(kind, |choices, _| choices.expr(kind, depth));
                let absent = self.of(&["optional.none()", "optional.of(0).or(optional.none())"]);
                let of = if self.below(3) > 0 { format!("optional.of({value})") } else { absent.to_owned() };
                format!("{of}.optMap({}, {}).orValue({})", body.0, body.1, self.leaf(kind))
            }
        }
    }

    /// A name of a loop's variable, and what is made while it is known.
    fn with_local<T>(&mut self, kind: &Kind, make: impl FnOnce(&mut Self, &str) -> T) -> (String, T) {
        let name = format!("x{}", self.locals.len());
        self.locals.push((name.clone(), kind.clone()));
        let made = make(self, &name);
        self.locals.pop();
        (name, made)
    }

    /// A list, with the type of its elements, or a map, whose keys are text, and the variable that goes through it.
    fn range(&mut self, depth: usize) -> (String, Kind) {
        if self.below(4) == 3 {
            let of = self.kind(0);
            (self.expr(&Map(Box::new(of)), depth), Text)
        } else {
            let of = self.kind(1);
            (self.expr(&List(Box::new(of.clone())), depth), of)
        }
    }

    /// The forms that give a value of this type.
    fn own(&mut self, kind: &Kind, depth: usize) -> String {
        let whole = self.language == Language::Whole;
        match kind {
            Bool => self.test(depth),
            Int => match self.below(if whole { 8 } else { 6 }) {
                0..3 => self.infix(&["+", "-", "*", "/", "%"], &Int, depth),
                3 => {
                    let of = self.of(&[Text, Bytes, List(Box::new(Int)), Map(Box::new(Int))]);
                    let of = self.expr(&of, depth);
                    if self.below(2) == 0 { format!("size({of})") } else { format!("{of}.size()") }
                }
                4 => {
                    let of = self.of(&[Int, UInt, Double, Text, Timestamp]);
                    format!("int({})", self.expr(&of, depth))
                }
                5 => match self.below(3) {
                    0 => format!("(-{})", self.leaf(&Int).replace('-', "")),
                    1 => {
                        let (range, of) = self.range(depth);
                        let (name, body) = self.with_local(&of, |choices, _| choices.expr(&Bool, depth));
                        format!("{range}.filter({name}, {body}).size()")
                    }
                    _ => {
                        let field = self.of(&["getFullYear", "getMonth", "getHours", "getSeconds"]);
                        format!("{}.{field}()", self.expr(&Timestamp, depth))
                    }
                },
                6 => format!("math.greatest({}, {})", self.expr(&Int, depth), self.expr(&Int, depth)),
                _ => format!("{}.indexOf({})", self.expr(&Text, depth), self.expr(&Text, depth)),
            },
            UInt => match self.below(4) {
                0..3 => self.infix(&["+", "-", "*", "/", "%"], &UInt, depth),
                _ => {
                    let of = self.of(&[UInt, Int, Double, Text]);
                    format!("uint({})", self.expr(&of, depth))
                }
            },
            Double => match self.below(4) {
                0..3 => self.infix(&["+", "-", "*", "/"], &Double, depth),
                _ => {
                    let of = self.of(&[Double, Int, UInt, Text]);
                    format!("double({})", self.expr(&of, depth))
                }
            },
            Text => match self.below(if whole { 7 } else { 4 }) {
                0 | 1 => self.infix(&["+"], &Text, depth),
                2 | 3 => {
                    let of = self.of(&[Text, Int, UInt, Double, Bool, Bytes, Duration, Timestamp]);
                    format!("string({})", self.expr(&of, depth))
                }
                4 => format!("{}.upperAscii()", self.expr(&Text, depth)),
                5 => format!("{}.replace({}, 'x')", self.expr(&Text, depth), self.expr(&Text, depth)),
                _ => format!("{}.join({})", self.expr(&List(Box::new(Text)), depth), self.expr(&Text, 0)),
            },
            Bytes => match self.below(2) {
                0 => self.infix(&["+"], &Bytes, depth),
                _ => format!("bytes({})", self.expr(&Text, depth)),
            },
            Null => self.leaf(&Null),
            Timestamp => match self.below(3) {
                0 => self.infix_of("+", &Timestamp, &Duration, depth),
                1 => self.infix_of("-", &Timestamp, &Duration, depth),
                _ => format!("timestamp({})", self.expr(&Text, depth)),
            },
            Duration => match self.below(3) {
                0 => self.infix(&["+", "-"], &Duration, depth),
                1 => self.infix(&["-"], &Timestamp, depth),
                _ => format!("duration({})", self.expr(&Text, depth)),
            },
            List(of) => self.list(of, depth),
            Map(of) => {
                let count = self.below(3) + 1;
                let entries: Vec<String> = (0..count)
                    .map(|_| format!("{}: {}", self.expr(&Text, 0), self.expr(of, depth)))
                    .collect();
                match self.below(if whole { 3 } else { 1 }) {
                    0 => format!("{{{}}}", entries.join(", ")),
                    1 => {
                        let map = self.expr(&Map(Box::new(Int)), depth);
                        let (key, (value, body)) = self.with_local(&Text, |choices, _| {
                            choices.with_local(&Int, |choices, _| choices.expr(of, depth))
                        });
                        format!("{map}.transformMap({key}, {value}, {body})")
                    }
                    _ => {
                        let optional = self.expr(&Map(of.clone()), depth);
                        format!("{{?'a': {optional}.?b, {}}}", entries.join(", "))
                    }
                }
            }
            Dyn => {
                let kind = self.kind(1);
                let kind = if kind == Dyn { Int } else { kind };
                format!("dyn({})", self.expr(&kind, depth))
            }
        }
    }

    fn list(&mut self, of: &Kind, depth: usize) -> String {
        let list = List(Box::new(of.clone()));
        match self.below(if self.language == Language::Whole { 8 } else { 5 }) {
            0 => {
                let items: Vec<String> = (0..self.below(4)).map(|_| self.expr(of, depth)).collect();
                format!("[{}]", items.join(", "))
            }
            1 => self.infix(&["+"], &list, depth),
            2 => {
                let range = self.expr(&list, depth);
                let (name, body) = self.with_local(of, |choices, _| choices.expr(&Bool, depth));
                format!("{range}.filter({name}, {body})")
            }
            3 | 4 => {
                // lists only: the order of a map's entries is nobody's promise
                let from = self.kind(0);
                let range = self.expr(&List(Box::new(from.clone())), depth);
                let (name, body) = self.with_local(&from, |choices, _| choices.expr(of, depth));
                format!("{range}.map({name}, {body})")
            }
            5 => format!("{}.reverse()", self.expr(&list, depth)),
            6 => format!("[?{}.?b, {}]", self.expr(&Map(Box::new(of.clone())), depth), self.expr(of, depth)),
            _ => format!("[{}, {}].flatten()", self.expr(&list, depth), self.expr(&list, depth)),
        }
    }

    fn infix(&mut self, operators: &[&str], of: &Kind, depth: usize) -> String {
        let operator = self.of(operators);
        self.infix_of(operator, of, of, depth)
    }

    fn infix_of(&mut self, operator: &str, left: &Kind, right: &Kind, depth: usize) -> String {
        let left = self.expr(left, depth);
        format!("({left} {operator} {})", self.expr(right, depth))
    }

    fn test(&mut self, depth: usize) -> String {
        match self.below(11) {
            0 | 1 => self.infix(&["&&", "||"], &Bool, depth),
            2 => format!("!({})", self.expr(&Bool, depth)),
            3 | 4 => {
                let of = self.of(&[Int, Text, Double, UInt, Bool, Bytes, Timestamp, Duration]);
                let numbers = [Int, UInt, Double];
                let other =
                    if numbers.contains(&of) && self.rarely(3) { self.of(&numbers) } else { of.clone() };
                let operator = self.of(&["<", "<=", ">", ">="]);
                self.infix_of(operator, &of, &other, depth)
            }
            5 | 6 => {
                let of = self.kind(2);
                let numbers = [Int, UInt, Double];
                let other =
                    if numbers.contains(&of) && self.rarely(3) { self.of(&numbers) } else { of.clone() };
                let operator = self.of(&["==", "!="]);
                self.infix_of(operator, &of, &other, depth)
            }
            7 => {
                let (macro_name, (range, of)) =
                    (self.of(&["all", "exists", "exists_one"]), self.range(depth));
                let (name, body) = self.with_local(&of, |choices, _| choices.expr(&Bool, depth));
                format!("{range}.{macro_name}({name}, {body})")
            }
            8 => match self.below(3) {
                0 => {
                    let of = self.kind(1);
                    let list = List(Box::new(of.clone()));
                    self.infix_of("in", &of, &list, depth)
                }
                1 => self.infix_of("in", &Text, &Map(Box::new(Int)), depth),
                _ => format!("has({}.{})", self.leaf(&Map(Box::new(Int))), self.of(&["a", "b", "key"])),
            },
            9 => {
                let function = self.of(&["startsWith", "endsWith", "contains"]);
                format!("{}.{function}({})", self.expr(&Text, depth), self.expr(&Text, depth))
            }
            _ => match self.below(3) {
                0 => {
                    let pattern = self.of(&["^a", "b$", "[0-9]+", "a|b", ".", ""]);
                    format!("{}.matches('{pattern}')", self.expr(&Text, depth))
                }
                1 => {
                    let of = self.of(&[Text, List(Box::new(Int)), Bytes]);
                    let of = self.expr(&of, depth);
                    format!(
                        "(size({of}) {} {})",
                        self.of(&["<", "<=", ">", ">="]),
                        self.of(&[0, 1, 2, 3, -1])
                    )
                }
                _ => {
                    let (range, of) = self.range(depth);
                    let (name, body) = self.with_local(&of, |choices, _| choices.expr(&Bool, depth));
                    format!("({range}.filter({name}, {body}).size() > {})", self.of(&[0, 1]))
                }
            },
        }
    }
}
