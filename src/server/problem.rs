//! A request that is not done, and why: what every function of the server gives for an error.
//!
//! In: a kind and, where it helps, a detail. Out: the body of the answer. Nothing of a body, a task or a token stands in a detail.

use super::identity::Scope;
use super::messages;
use celador_service::{Findings, ProblemDetails};
use std::borrow::Cow;
use std::fmt;

pub(super) use celador_service::ProblemKind as Kind;

/// A request that is not done.
#[derive(Clone, Debug)]
pub(super) struct Problem {
    pub(super) kind: Kind,
    detail: Option<Cow<'static, str>>,
    findings: Option<Findings>,
}

impl Problem {
    /// A problem of a kind, with a sentence about this one.
    pub(super) fn new(kind: Kind, detail: impl Into<Cow<'static, str>>) -> Self {
        Self { kind, detail: Some(detail.into()), findings: None }
    }

    /// The problem of a caller whose token does not allow this.
    pub(super) fn lacking(scope: Scope) -> Self {
        Self::new(Kind::Forbidden, messages::lacks(scope.as_str()))
    }

    /// The same with what is wrong with a text, finding by finding.
    pub(super) fn with_findings(self, findings: Findings) -> Self {
        Self { findings: Some(findings), ..self }
    }

    /// The sentence about this one.
    pub(super) fn detail(&self) -> Option<&str> {
        self.detail.as_deref()
    }

    /// What the caller is told; `instance` names the request.
    pub(super) fn details(&self, instance: &str) -> ProblemDetails {
        let findings = self.findings.as_ref().and_then(|findings| serde_json::to_value(findings).ok());
        let detail = self.detail.as_deref().map(str::to_owned);
        ProblemDetails { findings, ..ProblemDetails::new(self.kind, detail, instance) }
    }

    /// The body; `instance` names the request.
    pub(super) fn to_json(&self, instance: &str) -> Vec<u8> {
        serde_json::to_vec(&self.details(instance)).unwrap_or_default()
    }
}

impl From<Kind> for Problem {
    fn from(kind: Kind) -> Self {
        Self { kind, detail: None, findings: None }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.kind.title())?;
        self.detail.as_deref().map_or(Ok(()), |detail| write!(f, ": {detail}"))
    }
}
