//! What is wrong with a text, place by place, in one shape: found here, or told by a server.
//!
//! In: a diagnostic of the engine, or the JSON of one. Out: plain data, with the text that shows the place with carets.

use celador::diagnostic::Diagnostic;
#[cfg(feature = "stores")]
use celador::{
    diagnostic::Severity,
    source::{Embedded, Span},
};
#[cfg(feature = "stores")]
use serde::Deserialize;
use serde::Serialize;

/// The name under which an expression stands in diagnostics.
pub(crate) const EXPRESSION: &str = "expression";

/// One problem in manifests, policies or an expression.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Flaw {
    /// A stable word for programs, such as `unknown_key`.
    pub code: String,
    /// Whether the text cannot be used because of it; a warning otherwise.
    pub is_error: bool,
    /// Whether manifests with it are not loaded.
    pub is_refused: bool,
    /// The problem, on one line.
    pub message: String,
    /// The name of the file or text.
    pub file: String,
    /// The line, from 1.
    pub line: usize,
    /// The column, from 1.
    pub column: usize,
    /// The manifest path, such as `capabilities.ledger.before[0].assert`; empty outside manifests.
    pub path: String,
    /// The rule of the specification that decides.
    pub rule: Option<String>,
    /// What to do about it.
    pub help: Option<String>,
    /// The whole for people: the line itself with carets, help and rule.
    #[serde(skip)]
    pub shown: String,
}

/// A finding of a server about an expression.
#[cfg(feature = "stores")]
#[derive(Deserialize)]
pub(crate) struct ToldIssue {
    code: String,
    severity: String,
    message: String,
    #[serde(flatten)]
    span: ToldSpan,
    help: Option<String>,
}

#[cfg(feature = "stores")]
#[derive(Deserialize)]
pub(crate) struct ToldSpan {
    pub(crate) start: usize,
    pub(crate) end: usize,
}

impl Flaw {
    /// A diagnostic of the engine.
    #[must_use]
    pub fn of(found: &Diagnostic) -> Self {
        let position = found.place.position();
        Self {
            code: found.code.to_owned(),
            is_error: found.is_error(),
            is_refused: found.is_refused(),
            message: found.message.clone(),
            file: found.place.source.name().to_owned(),
            line: position.line,
            column: position.column,
            path: found.path.clone(),
            rule: found.rule.map(str::to_owned),
            help: found.help.clone(),
            shown: found.render(false),
        }
    }

    /// A finding of a server about this expression.
    #[cfg(feature = "stores")]
    pub(crate) fn told(issue: ToldIssue, text: &str) -> Self {
        let place = Embedded::alone(EXPRESSION, text).locate(span_within(issue.span, text));
        let mut found = Diagnostic::error("finding", issue.message, place);
        if issue.severity == "warning" {
            found.severity = Severity::Warning;
        }
        found.help = issue.help;
        let flaw = Self::of(&found);
        let shown = flaw.shown.replacen("[finding]", &format!("[{}]", issue.code), 1);
        Self { code: issue.code, shown, ..flaw }
    }
}

/// A span that lies between characters of the text, whatever was told.
#[cfg(feature = "stores")]
pub(crate) fn span_within(told: ToldSpan, text: &str) -> Span {
    let within = |at: usize| {
        let mut at = at.min(text.len());
        while !text.is_char_boundary(at) {
            at = at.saturating_sub(1);
        }
        at
    };
    let start = within(told.start);
    Span::new(start, within(told.end).max(start))
}
