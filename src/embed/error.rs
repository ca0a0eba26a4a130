//! What a binding raises: a kind that callers branch on, a stable word, a sentence. No denial is among them.

use crate::Flaw;
use celador::OpenError;
use celador::diagnostic::Diagnostic;
use celador::task::TaskError;
use std::borrow::Cow;

/// Why something was not done. No data of a task stands in it.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub struct Error {
    /// What kind of mistake it is.
    pub kind: ErrorKind,
    /// A stable word for programs, such as `unknown_call`: that of the HTTP API's problem, with `_` in the place of `-`.
    pub code: Cow<'static, str>,
    /// For people. Of manifests that are refused it shows each place with carets.
    pub message: String,
    /// What is wrong with manifests or an expression, place by place.
    pub flaws: Vec<Flaw>,
}

/// Whose mistake it is, and what may have happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorKind {
    /// Manifests, policies or an expression that cannot be used.
    Load,
    /// The program that calls is wrong, and nothing has happened.
    Misuse,
    /// The store or the server does not answer, or what it holds cannot be read. Whether anything has happened is open.
    Store,
    /// The engine is wrong, and nothing may run because of it.
    Internal,
}

impl Error {
    /// A mistake of the program that calls.
    pub fn misuse(code: impl Into<Cow<'static, str>>, message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Misuse, code, message)
    }

    /// A mistake of the engine.
    pub fn internal(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Internal, "internal", message)
    }

    /// A task in memory is what it is now.
    pub(crate) fn no_events() -> Self {
        let message = "a task in memory keeps no events: ask what a call would come to now, or keep the task in a store or on a server";
        Self::misuse("no_events", message)
    }

    /// What this build leaves out, as it is for deciding alone.
    #[cfg(not(feature = "authoring"))]
    pub(crate) fn not_here() -> Self {
        Self::misuse(
            "not_here",
            "this build decides and checks alone: load the one for authors, which has this as well",
        )
    }

    pub(crate) fn new(
        kind: ErrorKind,
        code: impl Into<Cow<'static, str>>,
        message: impl Into<String>,
    ) -> Self {
        Self { kind, code: code.into(), message: message.into(), flaws: Vec::new() }
    }

    /// Texts that are refused, with each place.
    pub(crate) fn refused(diagnostics: Vec<Diagnostic>) -> Self {
        Self::flawed(diagnostics.iter().map(Flaw::of).collect())
    }

    /// The same with what is wrong as data.
    pub(crate) fn flawed(flaws: Vec<Flaw>) -> Self {
        let shown: Vec<&str> = flaws.iter().map(|flaw| &*flaw.shown).collect();
        Self { flaws: flaws.clone(), ..Self::new(ErrorKind::Load, "refused", shown.join("\n\n")) }
    }
}

impl From<celador::manifest::load::LoadError> for Error {
    fn from(error: celador::manifest::load::LoadError) -> Self {
        Self::new(ErrorKind::Load, "unreadable", error.to_string())
    }
}

impl From<OpenError> for Error {
    fn from(error: OpenError) -> Self {
        match error {
            OpenError::Refused(diagnostics) => Self::refused(diagnostics),
            error => Self::new(ErrorKind::Load, "unreadable", error.to_string()),
        }
    }
}

impl From<TaskError> for Error {
    /// The words are those of the problems that a server answers with.
    fn from(error: TaskError) -> Self {
        let (kind, code) = match &error {
            TaskError::UnknownAgent(_) | TaskError::UnknownTrigger(_) | TaskError::NoDefaultAgent { .. } => {
                (ErrorKind::Misuse, "unknown_agent")
            }
            TaskError::InvalidAgent(_) | TaskError::InvalidTrigger(_) => (ErrorKind::Misuse, "invalid_agent"),
            TaskError::ClaimsMisfit { .. } => (ErrorKind::Misuse, "claims_misfit"),
            TaskError::Tools(_) => (ErrorKind::Misuse, "invalid_tools"),
            TaskError::UnknownCall(_) => (ErrorKind::Misuse, "unknown_call"),
            TaskError::CallExists(_) => (ErrorKind::Misuse, "call_exists"),
            TaskError::CallClaimed(_) => (ErrorKind::Misuse, "call_claimed"),
            TaskError::OtherResult(_) => (ErrorKind::Misuse, "other_result"),
            TaskError::NothingPending | TaskError::UnknownQuestion(_) => (ErrorKind::Misuse, "nothing_asked"),
            TaskError::ReviewExpired(_) => (ErrorKind::Misuse, "review_closed"),
            TaskError::NotAddressed(_) => (ErrorKind::Misuse, "not_addressed"),
            TaskError::SeveralPending => (ErrorKind::Misuse, "several_asked"),
            TaskError::WrongAnswer => (ErrorKind::Misuse, "wrong_answer"),
            TaskError::BadEdit(_) => (ErrorKind::Misuse, "bad_edit"),
            TaskError::NotLocked | TaskError::HasEnded => (ErrorKind::Misuse, "not_locked"),
            TaskError::PolicyChanged => (ErrorKind::Misuse, "policy_changed"),
            TaskError::UnknownFormat(_) | TaskError::NotRestorable(_) => (ErrorKind::Store, "not_restorable"),
            TaskError::CountersMoved => (ErrorKind::Internal, "internal"),
            _ => (ErrorKind::Misuse, "bad_request"),
        };
        Self::new(kind, code, error.to_string())
    }
}
