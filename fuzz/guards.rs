//! Guards by chance: an expression of the kind that policies ask, made of the bytes of an input, and the JSON it asks about.
//!
//! Each byte is a choice; where none is left the plainest form is taken. The same expression is made a second time with
//! every path as the element of a list, `[path][0]`: nothing is then asked in place, so every step is walked.

use serde_json::{Value, json};

/// A guard, the same in the form that is walked, and what the variable `input` holds.
pub struct Guard {
    pub asked: String,
    pub walked: String,
    pub input: Value,
}

/// Takes bytes for choices.
struct Choices<'b>(std::slice::Iter<'b, u8>);

const KEYS: [&str; 6] = ["a", "b", "list", "text", "map", "none"];
const TEXTS: [&str; 8] = ["", "a", "x", "hé", "héllo", "ok", "10", "\u{1F512}"];
const NUMBERS: [i64; 8] = [0, 1, -1, 2, 5, 1 << 53, i64::MAX, i64::MIN];
/// Roots that views of a live task stand behind.
const LIVE: [&str; 8] = [
    "context.input",
    "context.input[0].message",
    "context.input[0].message[0].text",
    "context.llm.tokens.total",
    "context._history.turns",
    "context._history.turn_count",
    "context.capabilities._meta.invocations",
    "context.agent.started_at",
];

impl Guard {
    /// The guard that some bytes choose.
    pub fn of(bytes: &[u8]) -> Self {
        let mut choices = Choices(bytes.iter());
        let input = json!({"a": choices.data(2), "b": choices.data(1), "list": choices.data(3), "text": choices.data(0)});
        let (asked, walked) = choices.clause(4);
        Self { asked, walked, input }
    }
}

impl Choices<'_> {
    fn below(&mut self, count: usize) -> usize {
        self.0.next().map_or(0, |&byte| usize::from(byte) % count)
    }

    fn of<T: Copy>(&mut self, items: &[T]) -> T {
        items[self.below(items.len())]
    }

    fn data(&mut self, depth: usize) -> Value {
        match self.below(if depth == 0 { 6 } else { 8 }) {
            0 => json!(self.of(&TEXTS)),
            1 => json!(self.of(&NUMBERS)),
            2 => json!(self.below(2) == 0),
            3 => Value::Null,
            4 => json!(self.of(&[0.5, -0.0, 1e300, 9_007_199_254_740_993.0])),
            5 => json!(u64::MAX),
            6 => (0..self.below(4)).map(|_| self.data(depth - 1)).collect(),
            _ => (0..self.below(4)).map(|_| (self.of(&KEYS).to_owned(), self.data(depth - 1))).collect(),
        }
    }

    /// A test in both forms.
    fn clause(&mut self, depth: usize) -> (String, String) {
        let kinds = if depth == 0 { 7 } else { 11 };
        match self.below(kinds) {
            0 => self.asked(|path, text, _| format!("{path} == {text}")),
            1 => self.asked(|path, text, _| format!("{path} != {text}")),
            2 => {
                let comparison = self.of(&["==", "!=", "<", "<=", ">", ">="]);
                self.asked(|path, _, number| format!("{path} {comparison} {number}"))
            }
            3 => {
                let comparison = self.of(&["==", "<", ">="]);
                self.asked(|path, _, number| format!("size({path}) {comparison} {number}"))
            }
            4 => {
                let function = self.of(&["startsWith", "endsWith", "matches", "contains"]);
                self.asked(|path, text, _| format!("{path}.{function}({text})"))
            }
            5 => {
                let path = self.path();
                let asked = format!("has({path}.{})", self.of(&KEYS));
                (asked.clone(), asked)
            }
            6 => self.asked(|path, text, _| format!("{text} in {path}")),
            7 | 8 => {
                let sign = self.of(&["&&", "||"]);
                let (left, right) = (self.clause(depth - 1), self.clause(depth - 1));
                let join = |left: String, right: String| format!("({left} {sign} {right})");
                (join(left.0, right.0), join(left.1, right.1))
            }
            9 => {
                let (asked, walked) = self.clause(depth - 1);
                (format!("!({asked})"), format!("!({walked})"))
            }
            _ => {
                let (path, call) = (self.path(), self.of(&["all", "exists", "exists_one"]));
                let (asked, walked) = self.clause(depth - 1);
                let over = |path: &str, clause: String| {
                    format!("{path}.{call}(it, {})", clause.replace("input.a", "it"))
                };
                (over(&path, asked), over(&format!("[{path}][0]"), walked))
            }
        }
    }

    fn asked(&mut self, form: impl Fn(&str, &str, i64) -> String) -> (String, String) {
        let (path, text, number) = (self.path(), format!("{:?}", self.of(&TEXTS)), self.of(&NUMBERS));
        (form(&path, &text, number), form(&format!("[{path}][0]"), &text, number))
    }

    fn path(&mut self) -> String {
        let mut path = if self.below(3) == 0 { self.of(&LIVE).to_owned() } else { "input".to_owned() };
        for _ in 0..=self.below(3) {
            match self.below(4) {
                0 => path.push_str(&format!("[{}]", self.of(&[0, 1, -1]))),
                1 => path.push_str(&format!("[{:?}]", self.of(&KEYS))),
                _ => path.push_str(&format!(".{}", self.of(&KEYS))),
            }
        }
        path
    }
}
