//! One expression of a manifest, compiled in its scope.
//!
//! In: a text with the way back into its file. Out: an [`Expression`] that runs on the values of its scope, or diagnostics
//! with carets in the YAML. What goes wrong when it runs is told by its code and place, never by a value.

use super::messages;
use super::origin::Origin;
use crate::cel::{EvalError, Fault, Host, Issue, Json, Program, Stop, Value};
use crate::context::{Bound, ScopeEnv};
use crate::diagnostic::Diagnostic;
use crate::limits::EvalLimits;
use crate::source::{Embedded, Span};
use std::sync::Arc;

/// A compiled expression and where it stands.
#[derive(Debug)]
pub struct Expression {
    scope: Arc<ScopeEnv>,
    program: Box<Program>,
    text: Embedded,
    path: Box<str>,
}

impl Expression {
    /// Compiles an expression. Its errors and warnings are reported; with an error there is none.
    pub(super) fn compile(
        scope: &Arc<ScopeEnv>,
        text: &Embedded,
        path: &str,
        findings: &mut Vec<Diagnostic>,
    ) -> Option<Self> {
        let report = |issue: &Issue| messages::of_issue(issue, text).path(path);
        match Program::compile(scope.env(), &text.text) {
            Ok(program) => {
                findings.extend(program.issues().iter().map(report));
                Some(Self {
                    scope: scope.clone(),
                    program: Box::new(program),
                    text: text.clone(),
                    path: path.into(),
                })
            }
            Err(issues) => {
                findings.extend(issues.iter().map(report));
                None
            }
        }
    }

    /// Runs it on the values of its scope.
    ///
    /// # Errors
    /// As [`Program::run`].
    ///
    /// # Cost
    /// At most the scope's `max_cost`; what ends in a bool allocates nothing.
    pub fn run<'a>(&'a self, bound: &Bound<'a>, host: Option<&mut dyn Host>) -> Result<Value<'a>, Stop> {
        let activation = self.scope.activation(bound).map_err(|fault| self.failed(fault))?;
        self.program.run(&activation, host)
    }

    /// Runs it and judges the result by its truth (CEL-14).
    ///
    /// # Errors
    /// As [`Program::run`].
    pub fn holds(&self, bound: &Bound<'_>, host: Option<&mut dyn Host>) -> Result<bool, Stop> {
        let activation = self.scope.activation(bound).map_err(|fault| self.failed(fault))?;
        self.program.holds(&activation, host)
    }

    /// Runs it and keeps the result as JSON (CEL-41).
    ///
    /// # Errors
    /// As [`Program::run`], and `not_json` for a result that JSON cannot express.
    pub fn json(&self, bound: &Bound<'_>, host: Option<&mut dyn Host>) -> Result<Json, Stop> {
        let value = self.run(bound, host)?;
        Json::from_value(&value).map_err(|fault| self.failed(fault))
    }

    /// A failure that no part of the expression alone is to blame for.
    fn failed(&self, fault: Fault) -> Stop {
        Stop::Failed(EvalError {
            code: fault.code,
            span: self.program.expr().span,
            found: fault.found,
            function: None,
            // what a result may be is bounded by the defaults
            bound: fault.bound.and_then(|name| Some((name, EvalLimits::default().get(name)?))),
        })
    }

    /// The program.
    #[must_use]
    pub fn program(&self) -> &Program {
        &self.program
    }

    /// Where the expression stands.
    #[must_use]
    pub fn origin(&self) -> Origin {
        Origin::new(&self.path, &self.text.place)
    }

    /// Where a part of the expression stands.
    #[must_use]
    pub fn origin_of(&self, part: Span) -> Origin {
        Origin::new(&self.path, &self.text.locate(part))
    }
}
