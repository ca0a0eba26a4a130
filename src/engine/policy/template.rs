//! Templates (INT): text with `{path}` in it, read once and rendered in a single pass.
//!
//! A placeholder is a root name followed by `.name`, `[index]` or `['key']` parts, and nothing else (INT-02): no operator,
//! no call but `auth.<provider>()`. What a rendered value contains is never read again (INT-17), so task data cannot
//! smuggle a placeholder in. Reading and rendering are linear.

use crate::cel::{ErrorCode, Json, List, Value};
use crate::limits::EvalLimits;
use crate::source::Span;

/// A template, read.
#[derive(Clone, Debug, Default)]
pub struct Template {
    parts: Vec<Part>,
}

#[derive(Clone, Debug)]
enum Part {
    Text(Box<str>),
    Placeholder(Placeholder),
}

/// One `{path}`.
#[derive(Clone, Debug)]
pub struct Placeholder {
    /// The root name.
    pub root: Box<str>,
    /// The fields and indexes after the root, in order.
    pub path: Vec<PathStep>,
    /// Whether a call stands at the end: `{auth.github()}`.
    pub call: bool,
    /// Its characters in the template, braces included.
    pub span: Span,
}

/// One part of a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PathStep {
    /// `.name`, `['key']`
    Key(Box<str>),
    /// `[0]`
    Index(usize),
}

/// A brace group of a template in which each must be a placeholder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BadPlaceholder {
    /// `{input..x}`, `{1 + 1}`, `{`
    Malformed(Span),
    /// `{foo.x}`: a root that the scope does not have
    UnknownRoot {
        /// The root.
        root: Box<str>,
        /// The placeholder.
        span: Span,
    },
}

impl Template {
    /// A template in which every brace must open a placeholder with a known root (INT-19).
    ///
    /// # Errors
    /// Every group in braces that is not a placeholder, with its place.
    pub fn strict(text: &str, is_root: impl Fn(&str) -> bool) -> Result<Self, Vec<BadPlaceholder>> {
        let mut bad = Vec::new();
        let template = Self::read(text, |group, span| match group {
            Some(placeholder) if is_root(&placeholder.root) => Some(placeholder),
            Some(placeholder) => {
                bad.push(BadPlaceholder::UnknownRoot { root: placeholder.root, span });
                None
            }
            None => {
                bad.push(BadPlaceholder::Malformed(span));
                None
            }
        });
        if bad.is_empty() { Ok(template) } else { Err(bad) }
    }

    /// The text between its placeholders.
    pub(super) fn texts(&self) -> impl Iterator<Item = &str> {
        self.parts.iter().filter_map(|part| match part {
            Part::Text(text) => Some(&**text),
            Part::Placeholder(_) => None,
        })
    }

    /// A template that is one placeholder.
    pub(super) fn of_placeholder(placeholder: Placeholder) -> Self {
        Self { parts: vec![Part::Placeholder(placeholder)] }
    }

    /// A template without a placeholder.
    pub(super) fn of_text(text: &str) -> Self {
        Self { parts: vec![Part::Text(text.into())] }
    }

    /// A template in which a brace group that is no placeholder with a known root stays as it is written (INT-18).
    pub fn lenient(text: &str, is_root: impl Fn(&str) -> bool) -> Self {
        Self::read(text, |group, _| group.filter(|placeholder| is_root(&placeholder.root)))
    }

    /// The groups in braces of a text that are no placeholders. One without its own end goes on to the next brace, or to the end of the text.
    pub(super) fn other_groups(text: &str) -> Vec<Span> {
        let mut others = Vec::new();
        Self::read(text, |group, span| {
            if group.is_none() {
                others.push(span);
            }
            group
        });
        others
    }

    /// Splits a text at its placeholders. `judge` is asked about every opening brace: with the placeholder that it
    /// opens or with nothing, and the span of the group; what it gives back becomes a part.
    fn read(text: &str, mut judge: impl FnMut(Option<Placeholder>, Span) -> Option<Placeholder>) -> Self {
        let mut parts = Vec::new();
        let mut literal = String::new();
        let mut rest = text;
        while let Some(open) = rest.find('{') {
            let start = text.len().saturating_sub(rest.len()).saturating_add(open);
            let (before, group) = rest.split_at_checked(open).unwrap_or((rest, ""));
            literal.push_str(before);
            // a group ends where the next brace stands, whichever it is: so no byte is looked at twice
            let inner = group.strip_prefix('{').unwrap_or_default();
            let next = inner.find(['{', '}']).unwrap_or(inner.len());
            let closed = usize::from(inner.get(next..).is_some_and(|end| end.starts_with('}')));
            let end = next.saturating_add(1).saturating_add(closed);
            let span = Span::new(start, start.saturating_add(end));
            let (written, after) = group.split_at_checked(end).unwrap_or((group, ""));
            if let Some(placeholder) = judge(Reader::placeholder(written, span), span) {
                if !literal.is_empty() {
                    parts.push(Part::Text(std::mem::take(&mut literal).into()));
                }
                parts.push(Part::Placeholder(placeholder));
                rest = after;
            } else {
                // only the brace is passed over: a placeholder may stand inside a group that is none
                literal.push('{');
                rest = inner;
            }
        }
        literal.push_str(rest);
        if !literal.is_empty() {
            parts.push(Part::Text(literal.into()));
        }
        Self { parts }
    }

    /// The placeholders, in order.
    pub fn placeholders(&self) -> impl Iterator<Item = &Placeholder> {
        self.parts.iter().filter_map(|part| match part {
            Part::Placeholder(placeholder) => Some(placeholder),
            Part::Text(_) => None,
        })
    }

    /// The text with each placeholder's value in its place; an absent one renders as nothing (INT-20), one that was shortened
    /// as `(value_shortened)`.
    pub fn render<'v>(
        &self,
        limits: &EvalLimits,
        value: impl Fn(&Placeholder) -> Option<Value<'v>>,
    ) -> String {
        let rendered = self.render_or(limits, value, |_| Ok::<_, std::convert::Infallible>(()));
        rendered.unwrap_or_default()
    }

    /// The same where a hole must not be: in the fields that a call is formed from (INT-20).
    ///
    /// # Errors
    /// The first placeholder whose value is absent or was shortened.
    pub fn render_whole<'v, 't>(
        &'t self,
        limits: &EvalLimits,
        value: impl Fn(&Placeholder) -> Option<Value<'v>>,
    ) -> Result<String, &'t Placeholder> {
        self.render_or(limits, value, Err)
    }

    fn render_or<'v, 't, E>(
        &'t self,
        limits: &EvalLimits,
        value: impl Fn(&Placeholder) -> Option<Value<'v>>,
        absent: impl Fn(&'t Placeholder) -> Result<(), E>,
    ) -> Result<String, E> {
        let mut text = String::new();
        for part in &self.parts {
            match part {
                Part::Text(literal) => text.push_str(literal),
                Part::Placeholder(placeholder) => match value(placeholder) {
                    Some(value) if render_value(&value, limits, &mut text) => {}
                    Some(_) => {
                        absent(placeholder)?;
                        text.push_str(SHORTENED);
                    }
                    None => absent(placeholder)?,
                },
            }
        }
        Ok(text)
    }
}

impl Placeholder {
    /// The placeholder that a group is, braces included, if it is one.
    pub(super) fn read(group: &str, span: Span) -> Option<Self> {
        Reader::placeholder(group, span)
    }

    /// The value at the end of the path, from that of the root; nothing where the path leads nowhere.
    #[must_use]
    pub fn follow<'v>(&self, root: Value<'v>) -> Option<Value<'v>> {
        self.path.iter().try_fold(root, |value, step| step.of(&value))
    }

    /// The path as one key with dots, as settings are named (INT-04); nothing if an index is in it.
    #[must_use]
    pub fn dotted(&self) -> Option<String> {
        let mut dotted = String::new();
        for step in &self.path {
            let PathStep::Key(key) = step else { return None };
            if !dotted.is_empty() {
                dotted.push('.');
            }
            dotted.push_str(key);
        }
        Some(dotted)
    }
}

impl PathStep {
    /// The value one step further on; nothing where there is none.
    #[must_use]
    pub fn of<'v>(&self, value: &Value<'v>) -> Option<Value<'v>> {
        match (self, value) {
            (_, Value::Shortened) => Some(Value::Shortened),
            (Self::Key(key), Value::Map(map)) => map.get_str(key),
            // a field selected on the list that holds just the entry under test is the entry's (GR-08)
            (Self::Key(_), Value::List(List::Live { of, at })) if of.forwards(*at) => {
                self.of(&of.item(*at, 0)?.into())
            }
            (Self::Index(index), Value::List(list)) => list.get(*index),
            _ => None,
        }
    }
}

/// What stands in a text for a value of which only the digest is kept. An empty text would say that there was nothing.
pub(super) const SHORTENED: &str = "(value_shortened)";

/// Writes a value as INT-16 has it: text as it is, numbers without an empty fraction, null as nothing, lists and maps as
/// compact JSON. What JSON cannot hold leaves nothing. Says whether there was nothing in it that was shortened.
pub(super) fn render_value(value: &Value<'_>, limits: &EvalLimits, out: &mut String) -> bool {
    match value {
        Value::Null => {}
        Value::String(text) => out.push_str(text),
        Value::Double(value) => out.push_str(&value.to_string()),
        Value::Optional(Some(value)) => return render_value(value, limits, out),
        other => match Json::from_value(other, limits) {
            Ok(json) => match json.root().as_str() {
                Some(text) => out.push_str(text),
                None => out.push_str(&json.to_string()),
            },
            Err(fault) => return fault.code != ErrorCode::ValueShortened,
        },
    }
    true
}

/// Reads one brace group.
struct Reader<'t> {
    rest: &'t str,
}

impl<'t> Reader<'t> {
    /// The placeholder that a group is, braces included, if it is one.
    fn placeholder(group: &'t str, span: Span) -> Option<Placeholder> {
        let mut reader = Self { rest: group.strip_prefix('{')?.strip_suffix('}')? };
        let root: Box<str> = reader.name()?.into();
        let mut path = Vec::new();
        let mut call = false;
        while !reader.rest.is_empty() {
            if &*root == "auth" && path.len() == 1 && reader.rest == "()" {
                call = true;
                break;
            }
            path.push(reader.step()?);
        }
        Some(Placeholder { root, path, call, span })
    }

    /// An identifier.
    fn name(&mut self) -> Option<&'t str> {
        let end = self.rest.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_'));
        let (name, rest) = self.rest.split_at_checked(end.unwrap_or(self.rest.len()))?;
        let first = name.bytes().next()?;
        self.rest = rest;
        (!first.is_ascii_digit()).then_some(name)
    }

    fn step(&mut self) -> Option<PathStep> {
        if let Some(rest) = self.rest.strip_prefix('.') {
            self.rest = rest;
            return self.name().map(|name| PathStep::Key(name.into()));
        }
        let (inner, rest) = self.rest.strip_prefix('[')?.split_once(']')?;
        self.rest = rest;
        let quoted = |quote| inner.strip_prefix(quote)?.strip_suffix(quote);
        if let Some(key) = quoted('\'').or_else(|| quoted('"')) {
            return (!key.contains(['\'', '"', '\\'])).then(|| PathStep::Key(key.into()));
        }
        let digits = !inner.is_empty() && inner.bytes().all(|byte| byte.is_ascii_digit());
        digits.then(|| inner.parse().ok().map(PathStep::Index)).flatten()
    }
}

#[cfg(test)]
mod tests {
    use super::{BadPlaceholder, Template};
    use crate::cel::Json;
    use crate::limits::EvalLimits;
    use crate::source::Span;

    fn data() -> Json {
        let data = r#"{"a":{"b":[{"k-1":"v"}],"n":200.0,"f":0.5,"t":true,"z":null,"big":1e21},"s":"{a.t}"}"#;
        Json::parse(data, &EvalLimits::default()).unwrap()
    }

    fn render(text: &str) -> String {
        let data = data();
        let template = Template::lenient(text, |root| matches!(root, "a" | "s"));
        let limits = EvalLimits::default();
        template
            .render(&limits, |placeholder| placeholder.follow(data.root().get(&placeholder.root)?.value()))
    }

    #[test]
    fn values_render_as_the_specification_says() {
        let rows = [
            ("{a.b[0]['k-1']}", "v"),
            ("{a.b[0][\"k-1\"]}", "v"),
            ("<{a.n}> <{a.f}> <{a.t}> <{a.z}>", "<200> <0.5> <true> <>"),
            ("{a.b}", r#"[{"k-1":"v"}]"#),
            ("{a.nope}|{a.b[7]}|{a.n.x}", "||"),
            // single pass: what a value holds is not read again
            ("{s}", "{a.t}"),
            // no placeholder, or none with a known root: as written
            (
                r#"{"ok": true} {1+1} {b.c} {} { a.t } {a.} {"#,
                r#"{"ok": true} {1+1} {b.c} {} { a.t } {a.} {"#,
            ),
            (r#"{"x": "{a.t}"}"#, r#"{"x": "true"}"#),
            ("{a.b[0}", "{a.b[0}"),
            ("é{a.t}é", "étrueé"),
        ];
        for (text, wanted) in rows {
            assert_eq!(render(text), wanted, "{text}");
        }
    }

    #[test]
    fn a_strict_template_names_every_bad_group() {
        let bad = Template::strict("x {a.b} {input..x} {foo.x}", |root| root == "a").unwrap_err();
        let unknown = BadPlaceholder::UnknownRoot { root: "foo".into(), span: Span::new(19, 26) };
        assert_eq!(bad, [BadPlaceholder::Malformed(Span::new(8, 18)), unknown]);
        assert!(Template::strict("{", |_| true).is_err());
        assert!(Template::strict("plain }", |_| true).is_ok());
    }
}
