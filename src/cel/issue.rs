//! What is wrong with an expression: a message and a span of its own text.
//!
//! The language does not know where a text came from; whoever compiled it says so with [`Issue::locate`].

use crate::diagnostic::{Diagnostic, Severity};
use crate::source::{Embedded, Span};
use serde::Serialize;

/// One problem in an expression.
///
/// [`Issue::locate`] makes a [`Diagnostic`] of it; the module [`diagnostic`](crate::diagnostic) tells the
/// difference.
///
/// ```
/// use celador_cel::{Env, Program, Type};
///
/// let env = Env::builder().variable("amount", Type::Int).build();
/// let issues = Program::compile(&env, "amuont").unwrap_err();
/// assert_eq!(issues[0].code, "undeclared_name");
/// assert_eq!((issues[0].span.start, issues[0].span.end), (0, 6));
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Issue {
    /// A stable word for programs, such as `undeclared_name`.
    pub code: &'static str,
    /// Its weight. An expression that can only fail when it runs has a warning; a host may refuse warnings.
    pub severity: Severity,
    /// The problem, on one line.
    pub message: String,
    /// The characters of the expression.
    #[serde(flatten)]
    pub span: Span,
    /// The text under the characters; may be empty.
    #[serde(skip)]
    pub label: String,
    /// What to do about it.
    pub help: Option<String>,
}

impl Issue {
    /// An expression is over a bound of the engine.
    #[must_use]
    pub fn bound(name: &'static str, value: usize, span: Span) -> Self {
        Self {
            code: name,
            severity: Severity::Error,
            message: format!("`{name}` {value} exceeded"),
            span,
            label: String::new(),
            help: None,
        }
    }

    /// The diagnostic of this issue in an expression that was read out of a file.
    #[must_use]
    pub fn locate(&self, text: &Embedded) -> Diagnostic {
        let mut diagnostic = Diagnostic::error(self.code, self.message.clone(), text.locate(self.span));
        diagnostic.severity = self.severity;
        diagnostic.label.clone_from(&self.label);
        diagnostic.help.clone_from(&self.help);
        diagnostic
    }
}
