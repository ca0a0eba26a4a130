//! What is wrong with a text, place by place, in one shape: found here, or told by a server.
//!
//! In: a diagnostic of the engine, or the JSON of one. Out: plain data, with the text that shows the place with carets.

use celador::diagnostic::{Diagnostic, Standing};
#[cfg(feature = "stores")]
use celador::{
    diagnostic::Severity,
    source::{Embedded, Span},
};
#[cfg(feature = "stores")]
use serde::Deserialize;
use serde::Serialize;
use serde_json::{Value, json};

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
    /// The line behind the last character, from 1.
    pub end_line: usize,
    /// The column behind the last character, from 1.
    pub end_column: usize,
    /// What stands under the characters where the line is shown, such as the witness of what is accused; may be empty.
    pub label: String,
    /// The manifest path, such as `capabilities.ledger.before[0].assert`; empty outside manifests.
    pub path: String,
    /// The rule of the specification that decides.
    pub rule: Option<String>,
    /// The place in the documentation that says more.
    pub docs: Option<String>,
    /// What to do about it.
    pub help: Option<String>,
    /// The reason of the author who allows it, if a comment does.
    pub allowed: Option<String>,
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
    span: Span,
    help: Option<String>,
}

impl Flaw {
    /// A diagnostic of the engine.
    #[must_use]
    pub fn of(found: &Diagnostic) -> Self {
        let position = found.place.position();
        let end = found.place.source.position(found.place.span.end);
        Self {
            code: found.code.to_owned(),
            is_error: found.is_error(),
            is_refused: found.is_refused(),
            message: found.message.clone(),
            file: found.place.source.name().to_owned(),
            line: position.line,
            column: position.column,
            end_line: end.line,
            end_column: end.column,
            label: found.label.clone(),
            path: found.path.clone(),
            rule: found.rule.map(str::to_owned),
            docs: found.docs(),
            help: found.help.clone(),
            allowed: match &found.standing {
                Standing::Allowed(reason) if !found.is_error() => Some(reason.to_string()),
                _ => None,
            },
            shown: found.render(false),
        }
    }

    /// As JSON, with the names that the command gives it.
    #[must_use]
    pub fn to_json(&self) -> Value {
        json!({
            "severity": if self.is_error { "error" } else { "warning" },
            "code": self.code,
            "message": self.message,
            "file": self.file,
            "line": self.line,
            "column": self.column,
            "end_line": self.end_line,
            "end_column": self.end_column,
            "label": self.label,
            "path": self.path,
            "rule": self.rule,
            "docs": self.docs,
            "help": self.help,
            "allowed": self.allowed,
            "refused": self.is_refused,
            "shown": self.shown,
        })
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
pub(crate) fn span_within(told: Span, text: &str) -> Span {
    let within = |at: u32| {
        let mut at = (at as usize).min(text.len());
        while !text.is_char_boundary(at) {
            at = at.saturating_sub(1);
        }
        at
    };
    let start = within(told.start);
    Span::new(start, within(told.end).max(start))
}
