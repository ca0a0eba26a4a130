//! What is wrong with a text that a person wrote: one type for every phase, rendered for people or for programs.
//!
//! Three types say that something is wrong, and differ in what it is wrong with:
//!
//! - An [`Issue`](super::Issue) is about one expression. It knows the characters of that expression, and no file.
//! - A [`Diagnostic`] is about a file or another text that has a name: an issue whose place in a file is known, or a problem of a
//!   manifest. The command, `Engine::open` and `/v1/manifests` show diagnostics.
//! - A `Finding` (in `celador::task`) is about one decision: what failed or was ignored while it was made. It is part of the decision.
//!
//! A diagnostic is shown, never branched on: phases return `(thing, Vec<Diagnostic>)` and go on to the next problem.
//! It knows no phase; each phase builds its own in one file, one function a message. Messages follow one rule book:
//! lower case, no final stop, no line break, the user's words in backticks, what was expected and what was found.

use crate::source::{Place, Position};
use annotate_snippets::{AnnotationKind, Level, Renderer, Snippet};
use serde::Serialize;
use std::fmt;
use std::sync::Arc;

/// How much a diagnostic weighs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Severity {
    /// Worth a look; refused by `--strict`.
    Warning,
    /// The text cannot be used.
    Error,
}

/// Whether a warning keeps manifests from being used.
///
/// A warning leaves its text valid, as the specification has it. Those who serve or test the manifests do not have to
/// take it: a host says which warnings it refuses, and which ones the author may allow.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Standing {
    /// It is told, and nothing follows.
    #[default]
    Told,
    /// A rule may be lost, so manifests with it are not used.
    Refused,
    /// A comment at its place allows it, for this reason.
    Allowed(Arc<str>),
}

/// Characters to underline, and the text under them.
#[derive(Clone, Debug)]
pub struct Label {
    /// Where.
    pub place: Place,
    /// The text under the characters; may be empty.
    pub text: String,
    /// Whether it is a value that the expression of the problem reads: with another value there may be no problem.
    pub is_value: bool,
}

/// One problem in a text that has a name, such as a manifest.
///
/// ```
/// use celador_cel::diagnostic::Diagnostic;
/// use celador_cel::source::{Place, Source, Span};
///
/// let source = Source::new("rule.cel", "amount > limt");
/// let place = Place::new(&source, Span::new(9, 13));
/// let found = Diagnostic::error("undeclared_name", "no variable `limt` is declared here", place).help("did you mean `limit`?");
/// assert!(found.is_error());
/// assert!(found.render(false).contains("^^^^"));
/// assert_eq!(found.to_json()["column"], 10);
/// ```
#[derive(Clone, Debug, Serialize)]
#[serde(into = "Written")]
pub struct Diagnostic {
    /// A stable word for programs, such as `unknown_key`.
    pub code: &'static str,
    /// Its weight.
    pub severity: Severity,
    /// The problem, on one line.
    pub message: String,
    /// Where it is wrong.
    pub place: Place,
    /// The text under the characters.
    pub label: String,
    /// Further places that explain it.
    pub related: Vec<Label>,
    /// What to do about it.
    pub help: Option<String>,
    /// The rule of the specification that decides, such as `MW-26`.
    pub rule: Option<&'static str>,
    /// The manifest path, such as `capabilities.ledger.before[0].assert`; empty outside manifests.
    pub path: String,
    /// Whether it keeps manifests from being used, if it is a warning. An error always does.
    pub standing: Standing,
}

impl Diagnostic {
    /// An error with its code, message and place.
    #[must_use]
    pub fn error(code: &'static str, message: impl Into<String>, place: Place) -> Self {
        Self {
            code,
            severity: Severity::Error,
            message: message.into(),
            place,
            label: String::new(),
            related: Vec::new(),
            help: None,
            rule: None,
            path: String::new(),
            standing: Standing::Told,
        }
    }

    /// A warning with its code, message and place.
    #[must_use]
    pub fn warning(code: &'static str, message: impl Into<String>, place: Place) -> Self {
        Self { severity: Severity::Warning, ..Self::error(code, message, place) }
    }

    /// The words under the underlined characters.
    #[must_use]
    pub fn label(mut self, label: impl Into<String>) -> Self {
        self.label = label.into();
        self
    }

    /// One more place that explains this one.
    #[must_use]
    pub fn related(mut self, place: Place, text: impl Into<String>) -> Self {
        self.related.push(Label { place, text: text.into(), is_value: false });
        self
    }

    /// The place of a value that the expression reads by a name: `parameters.cap`.
    #[must_use]
    pub fn value(mut self, place: Place, name: &str) -> Self {
        self.related.push(Label { place, text: format!("`{name}` stands for this"), is_value: true });
        self
    }

    /// What to do about it.
    #[must_use]
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// The rule that decides.
    #[must_use]
    pub fn rule(mut self, rule: &'static str) -> Self {
        self.rule = Some(rule);
        self
    }

    /// The manifest path it speaks of.
    #[must_use]
    pub fn path(mut self, path: impl Into<String>) -> Self {
        self.path = path.into();
        self
    }

    /// Where the docs say more about its rule, such as `docs/rules.md#mw-26`.
    #[must_use]
    pub fn docs(&self) -> Option<String> {
        self.rule.map(|rule| format!("docs/rules.md#{}", rule.to_ascii_lowercase()))
    }

    /// Whether it makes its text unusable.
    #[must_use]
    pub fn is_error(&self) -> bool {
        self.severity == Severity::Error
    }

    /// Whether manifests with it are not used: an error, or a warning that is refused.
    #[must_use]
    pub fn is_refused(&self) -> bool {
        self.is_error() || self.standing == Standing::Refused
    }

    /// Whether a comment of its author allows it.
    #[must_use]
    pub fn is_allowed(&self) -> bool {
        matches!(self.standing, Standing::Allowed(_))
    }

    /// The diagnostic for a person: message, file, line and column, the line itself with carets, help and rule. A warning that keeps manifests from
    /// being used is shown as an error. Without `color` the text is plain.
    #[must_use]
    pub fn render(&self, color: bool) -> String {
        let level = if self.is_refused() { Level::ERROR } else { Level::WARNING };
        let mut snippets = vec![self.snippet(&self.place.source)];
        for label in &self.related {
            if !label.place.source.same(&self.place.source)
                && !snippets.iter().any(|(source, _)| source.same(&label.place.source))
            {
                snippets.push(self.snippet(&label.place.source));
            }
        }
        let mut group = level
            .primary_title(self.message.as_str())
            .id(self.code)
            .elements(snippets.into_iter().map(|(_, snippet)| snippet));
        if let Some(rule) = self.rule {
            group = group.element(Level::NOTE.message(format!("rule {rule}")));
        }
        if let Some(help) = &self.help {
            group = group.element(Level::HELP.message(help.as_str()));
        }
        let renderer = if color { Renderer::styled() } else { Renderer::plain() };
        renderer.render(&[group])
    }

    /// The snippet of one source with all labels that stand in it.
    fn snippet<'a>(
        &'a self,
        source: &'a crate::source::Source,
    ) -> (&'a crate::source::Source, Snippet<'a, annotate_snippets::Annotation<'a>>) {
        let mut snippet = Snippet::source(source.text()).path(source.name()).fold(true);
        if self.place.source.same(source) {
            let primary = AnnotationKind::Primary.span(self.place.span.range());
            snippet = snippet.annotation(if self.label.is_empty() {
                primary
            } else {
                primary.label(self.label.as_str())
            });
        }
        for label in self.related.iter().filter(|label| label.place.source.same(source)) {
            let context = AnnotationKind::Context.span(label.place.span.range()).label(label.text.as_str());
            snippet = snippet.annotation(context);
        }
        (source, snippet)
    }

    /// The diagnostic for a program, as it is serialised too. A warning also has its standing: `told`, `refused`, or
    /// `allowed` with the `reason` of its author.
    #[must_use]
    pub fn to_json(&self) -> serde_json::Value {
        // texts and numbers always have a value
        serde_json::to_value(self).unwrap_or_default()
    }
}

/// A problem in a manifest or another text that has a name, as programs read it.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "Diagnostic"))]
struct Written {
    /// A stable word for programs, such as `unknown_key`.
    code: &'static str,
    /// Its weight.
    severity: Severity,
    /// The problem, on one line.
    message: String,
    /// The name of the file or text.
    file: String,
    /// The line of the first character, from 1.
    line: usize,
    /// The column of the first character, from 1.
    column: usize,
    /// The line behind the last character, from 1.
    end_line: usize,
    /// The column behind the last character, from 1.
    end_column: usize,
    /// The text under the characters; may be empty.
    label: String,
    /// The manifest path, such as `capabilities.ledger.before[0].assert`; empty outside manifests.
    path: String,
    /// The rule of the specification that decides, such as `MW-26`; null if there is none.
    rule: Option<&'static str>,
    /// The place in the documentation that says more about the rule.
    docs: Option<String>,
    /// What to do about it.
    help: Option<String>,
    /// Whether a warning keeps manifests from being used. An error has no standing, and always does.
    #[serde(skip_serializing_if = "Option::is_none")]
    standing: Option<StandingWord>,
    /// The reason of the author who allows it.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<Arc<str>>,
}

#[cfg(feature = "schema")]
impl schemars::JsonSchema for Diagnostic {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        Written::schema_name()
    }

    fn schema_id() -> std::borrow::Cow<'static, str> {
        Written::schema_id()
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        Written::json_schema(generator)
    }
}

/// A [`Standing`] without its reason.
#[derive(Serialize)]
#[serde(rename_all = "lowercase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(inline))]
enum StandingWord {
    /// It is told, and nothing follows.
    Told,
    /// A rule may be lost, so manifests with it are not used.
    Refused,
    /// A comment at its place allows it.
    Allowed,
}

impl From<Diagnostic> for Written {
    fn from(diagnostic: Diagnostic) -> Self {
        let Position { line, column } = diagnostic.place.position();
        let end = diagnostic.place.source.position(diagnostic.place.span.end);
        let (docs, is_error) = (diagnostic.docs(), diagnostic.is_error());
        let (standing, reason) = match diagnostic.standing {
            _ if is_error => (None, None),
            Standing::Told => (Some(StandingWord::Told), None),
            Standing::Refused => (Some(StandingWord::Refused), None),
            Standing::Allowed(reason) => (Some(StandingWord::Allowed), Some(reason)),
        };
        Self {
            code: diagnostic.code,
            severity: diagnostic.severity,
            message: diagnostic.message,
            file: diagnostic.place.source.name().to_owned(),
            line,
            column,
            end_line: end.line,
            end_column: end.column,
            label: diagnostic.label,
            path: diagnostic.path,
            rule: diagnostic.rule,
            docs,
            help: diagnostic.help,
            standing,
            reason,
        }
    }
}

impl fmt::Display for Diagnostic {
    /// One line: place and message.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.place, self.message)
    }
}

/// Brings the findings of each file into the order of their places; the files stay as they come.
pub fn in_order(findings: &mut [Diagnostic]) {
    let mut files: Vec<String> = Vec::new();
    for finding in findings.iter() {
        let file = finding.place.source.name();
        if !files.iter().any(|known| known == file) {
            files.push(file.to_owned());
        }
    }
    findings.sort_by_key(|finding| {
        let file = finding.place.source.name();
        (files.iter().position(|known| known == file), finding.place.span.start)
    });
}

/// The candidate nearest to a misspelt `word`, if one is near enough to be meant: at most a third of its letters
/// changed, added, dropped or swapped. Cost is the product of the lengths for each candidate.
#[must_use]
pub fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let allowed = (word.chars().count().saturating_add(2) / 3).max(1);
    candidates
        .into_iter()
        .map(|candidate| (distance(word, candidate), candidate))
        .filter(|&(distance, candidate)| distance <= allowed && candidate != word)
        .min()
        .map(|(_, candidate)| candidate)
}

/// The candidate that a word is surely a slip of the pen for, where it could also be a word of its own: one letter is
/// changed, added, dropped or swapped, or two of eight. Of up to three letters, where words are near to each other by chance, two
/// are swapped, or one of two that are alike is dropped. Cost as of [`nearest`].
#[must_use]
pub fn slip<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let candidates: Vec<&str> = candidates.into_iter().collect();
    let other_case = |candidate: &&str| *candidate != word && candidate.eq_ignore_ascii_case(word);
    if let Some(meant) = candidates.iter().copied().find(other_case) {
        return Some(meant);
    }
    let allowed = match word.chars().count() {
        ..4 => return candidates.into_iter().find(|candidate| is_slip_of_few_letters(word, candidate)),
        4..8 => 1,
        8.. => 2,
    };
    nearest(word, candidates).filter(|near| distance(word, near) <= allowed)
}

/// `qyt` for `qty`, `fe` for `fee`
fn is_slip_of_few_letters(word: &str, meant: &str) -> bool {
    let sorted = |word: &str| {
        let mut letters: Vec<char> = word.chars().collect();
        letters.sort_unstable();
        letters
    };
    let once = |word: &str| {
        let mut letters: Vec<char> = word.chars().collect();
        letters.dedup();
        letters
    };
    let [of_word, of_meant] = [word, meant].map(|word| word.chars().count());
    word != meant
        && match of_meant.checked_sub(of_word) {
            Some(0) => of_word == 3 && sorted(word) == sorted(meant),
            Some(1) => of_word >= 2 && once(word) == once(meant),
            _ => false,
        }
}

/// How many letters are changed, added, dropped or swapped with their neighbour, over the first 64 of each word. Case counts for
/// nothing, and neither does which of `-` and `_` stands in it.
fn distance(a: &str, b: &str) -> usize {
    let plain = |word: &str| -> String {
        word.chars().take(64).map(|c| if c == '-' { '_' } else { c.to_ascii_lowercase() }).collect()
    };
    strsim::osa_distance(&plain(a), &plain(b))
}

#[cfg(test)]
mod tests {
    use super::{nearest, slip};

    #[test]
    fn the_nearest_name_is_the_one_meant() {
        assert_eq!(nearest("befor", ["before", "after"]), Some("before"));
        assert_eq!(nearest("on-fail", ["on_fail", "match"]), Some("on_fail"));
        assert_eq!(nearest("conditoin", ["condition", "match"]), Some("condition"));
        assert_eq!(nearest("zzz", ["before", "after"]), None);
    }

    #[test]
    fn words_of_few_letters_are_near_by_chance() {
        for (word, meant) in [("qyt", "qty"), ("fe", "fee"), ("totl", "total"), ("al", "all")] {
            assert_eq!(slip(word, ["id", meant]), Some(meant));
        }
        for (word, other) in [
            ("to", "tos"),
            ("ip", "zip"),
            ("id", "ids"),
            ("cc", "bcc"),
            ("a", "aa"),
            ("sku", "sum"),
            ("qty", "qty"),
        ] {
            assert_eq!(slip(word, [other]), None, "{word} {other}");
        }
    }
}
