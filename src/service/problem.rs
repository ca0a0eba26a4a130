//! What the server answers when it does not do what was asked: problem details (RFC 9457), one row a kind.
//!
//! In: a kind and, where it helps, a detail. Out: a status and a body of `application/problem+json`, or one read back. The `type` of a kind is
//! stable and documented in `docs/http.md`. Nothing of a body, a task or a token stands in a detail.

use crate::messages;
use celador::cel::Issue;
use celador::diagnostic::Diagnostic;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::fmt;

/// The media type of problems.
pub const PROBLEM_JSON: &str = "application/problem+json";

/// Where the `type` of every problem begins.
const TYPES: &str = "urn:celador:problem:";

/// What is wrong with a text that a problem is about, finding by finding.
#[derive(Clone, Debug, Serialize)]
#[serde(untagged)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(inline))]
pub enum Findings {
    /// With an expression.
    Expression(Vec<Issue>),
    /// With manifests.
    Manifests(Vec<Diagnostic>),
}

macro_rules! kinds {
    ($($(#[doc = $doc:literal])+ $name:ident = $word:literal, $status:literal, $title:literal;)+) => {
        /// Why a request is not done.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum ProblemKind {
            $($(#[doc = $doc])+ $name,)+
        }

        impl ProblemKind {
            /// All of them.
            pub const ALL: &'static [Self] = &[$(Self::$name,)+];

            /// The kind of a word; nothing of one that this release does not know.
            #[must_use]
            pub fn parse(word: &str) -> Option<Self> {
                match word { $($word => Some(Self::$name),)+ _ => None }
            }

            /// The last part of the `type`.
            #[must_use]
            pub const fn word(self) -> &'static str {
                match self { $(Self::$name => $word,)+ }
            }

            /// The HTTP status.
            #[must_use]
            pub const fn status(self) -> u16 {
                match self { $(Self::$name => $status,)+ }
            }

            /// The kind in words.
            #[must_use]
            pub const fn title(self) -> &'static str {
                match self { $(Self::$name => $title,)+ }
            }

            /// The meaning in the OpenAPI document.
            #[cfg(feature = "schema")]
            #[must_use]
            pub fn meaning(self) -> &'static str {
                match self { $(Self::$name => concat!($($doc),+).trim(),)+ }
            }
        }
    };
}

kinds! {
    /// The body or the query is not of the form that the operation takes.
    BadRequest = "bad-request", 400, "The request cannot be read";
    /// No valid token.
    Unauthenticated = "unauthenticated", 401, "Nobody is known to ask";
    /// A valid token that may not do this.
    Forbidden = "forbidden", 403, "The token lacks a scope";
    /// A token of the user that is not valid, or names somebody else.
    UserToken = "user-token", 403, "The token of the user is not accepted";
    /// Claims of a user that nobody vouches for.
    PlainClaims = "plain-claims", 403, "Claims of a user come with the user's own token";
    /// Claims of a user that do not fit what a policy says of them.
    ClaimsMisfit = "claims-misfit", 422, "The claims of the user do not fit a policy";
    /// Locks are for good on this server.
    UnlockDisabled = "unlock-disabled", 403, "The operator has not allowed to unlock tasks";
    /// A request of a page of another site.
    ForeignOrigin = "foreign-origin", 403, "The request comes from another site";
    /// A request for a host that is not this server's.
    ForeignHost = "foreign-host", 421, "The request is for another host";
    /// No such address.
    UnknownPath = "unknown-path", 404, "There is nothing at this address";
    /// No such task, or one of another caller.
    UnknownTask = "unknown-task", 404, "There is no such task";
    /// No such review, or one that the caller does not see.
    UnknownReview = "unknown-review", 404, "There is no such review";
    /// A review that the caller sees, and that is addressed to somebody else.
    NotAddressed = "not-addressed", 403, "The review is addressed to somebody else";
    /// The caller would approve for themselves.
    OwnJudge = "own-judge", 403, "Nobody approves for themselves";
    /// No such switch is on.
    UnknownSwitch = "unknown-switch", 404, "No such switch is on";
    /// Nobody has reserved such a counter.
    UnknownCounter = "unknown-counter", 404, "There is no such counter";
    /// An event that does not tell what its operation was about, or whose rules are not there any more.
    NotExplainable = "not-explainable", 409, "The decision cannot be explained";
    /// No context is kept under this key.
    UnknownContext = "unknown-context", 404, "Nothing is kept under this key";
    /// Another method is meant.
    WrongMethod = "wrong-method", 405, "The address does not take this method";
    /// The body did not come in time.
    SlowRequest = "slow-request", 408, "The request did not come in time";
    /// The id of a call that awaits no result.
    UnknownCall = "unknown-call", 409, "No result of this call is awaited";
    /// The id of another task of the caller.
    TaskExists = "task-exists", 409, "Another task has this id";
    /// The id of another call of the task.
    CallExists = "call-exists", 409, "The task has another call with this id";
    /// A call that another process has claimed and runs.
    CallClaimed = "call-claimed", 409, "Another process has claimed this call";
    /// Another result of a call that was reported.
    OtherResult = "other-result", 409, "Another result of this call was reported";
    /// The task that delegates has ended.
    ParentEnded = "parent-ended", 409, "The task that delegates has ended";
    /// A task that is not locked, or was terminated.
    NotLocked = "not-locked", 409, "The task is not locked";
    /// An answer to a task that asks nothing.
    NothingAsked = "nothing-asked", 409, "The task asks for nothing";
    /// An answer that does not name its question, to a task that asks several.
    SeveralAsked = "several-asked", 409, "The task asks several questions: name one";
    /// The task is under another policy than the one that is served, and takes no step.
    PolicyChanged = "policy-changed", 409, "The task is under a policy that is not served any more";
    /// The task waits for an answer in the middle of its policy.
    TaskWaits = "task-waits", 409, "The task waits for an answer";
    /// The review was answered otherwise, has expired, or needs no answer any more.
    ReviewClosed = "review-closed", 409, "The review is closed";
    /// The review is about something else than the digest of the answer says.
    ReviewChanged = "review-changed", 409, "The answer is to something else than the review is about";
    /// The task takes no answer now, as an operator has stopped its agent or user.
    TurnedAway = "turned-away", 409, "The task takes no answer now";
    /// Other processes were first, again and again.
    Contended = "contended", 409, "Other requests for the task were first";
    /// The task was there and was purged.
    Purged = "purged", 410, "The task was purged";
    /// The header is over its bound.
    HeaderTooLarge = "header-too-large", 431, "The header is too large";
    /// The body is over its bound.
    TooLarge = "too-large", 413, "The body is too large";
    /// The body is no JSON.
    NotJson = "not-json", 415, "The body has to be JSON";
    /// The key was used for another request.
    KeyReused = "key-reused", 422, "The idempotency key belongs to another request";
    /// An answer to a review with arguments that the call cannot have.
    BadEdit = "bad-edit", 422, "The call cannot have these arguments";
    /// An answer of another kind than the question.
    WrongAnswer = "wrong-answer", 422, "The answer is not of the kind that was asked for";
    /// No such agent.
    UnknownAgent = "unknown-agent", 422, "There is no such agent";
    /// Tools that no task of the agent may bring: too many, two of one key, or one of the key of what its manifests declare.
    InvalidTools = "invalid-tools", 422, "The task cannot have these tools";
    /// An agent whose manifests have errors.
    InvalidAgent = "invalid-agent", 422, "The agent is not valid and must not run";
    /// An expression or template that cannot be read.
    InvalidExpression = "invalid-expression", 422, "The expression is not valid in its scope";
    /// A context that does not fit the agent.
    InvalidContext = "invalid-context", 422, "The context is not one of the agent";
    /// Manifests that must not replace those that are served.
    InvalidManifests = "invalid-manifests", 422, "The manifests have errors; those of before are served on";
    /// A mistake of the server's own.
    Internal = "internal", 500, "The server has made a mistake";
    /// The stored task cannot be opened.
    NotRestorable = "not-restorable", 500, "The stored task cannot be opened";
    /// The store does not answer.
    StoreUnavailable = "store-unavailable", 503, "The store does not answer";
    /// The decision log takes no line, and no decision is answered that is not in it.
    LogUnavailable = "log-unavailable", 503, "The decision log cannot be written";
    /// More requests than the server takes at a time.
    Overloaded = "overloaded", 503, "The server has too much to do";
    /// The decision takes too long.
    TimedOut = "timed-out", 503, "The answer took too long";
}

impl ProblemKind {
    /// The `type` on the wire.
    #[must_use]
    pub fn uri(self) -> String {
        format!("{TYPES}{}", self.word())
    }

    /// Whether the same request may work a moment later.
    #[must_use]
    pub const fn is_passing(self) -> bool {
        matches!(
            self,
            Self::StoreUnavailable
                | Self::LogUnavailable
                | Self::Overloaded
                | Self::TimedOut
                | Self::Contended
        )
    }
}

/// The reason why a request is not done (RFC 9457).
///
/// ```
/// use celador_service::{ProblemDetails, ProblemKind};
///
/// let body = br#"{"type": "urn:celador:problem:task-exists", "title": "Another task has this id", "status": 409, "instance": "r-1"}"#;
/// let problem = ProblemDetails::read(409, body);
/// assert_eq!(problem.kind(), Some(ProblemKind::TaskExists));
/// // whatever else answers at the address
/// assert_eq!(ProblemDetails::read(502, b"<html>").kind(), None);
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "Problem"))]
pub struct ProblemDetails {
    /// The kind, which is stable.
    pub r#type: String,
    /// The kind in words.
    pub title: String,
    /// The HTTP status.
    pub status: u16,
    /// A sentence about this request, without data of a task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
    /// The id of the request, as the log of the server has it.
    pub instance: String,
    /// The findings about the expression or the manifests of the request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<Findings>"))]
    pub findings: Option<Value>,
}

impl ProblemDetails {
    /// Of a kind, with a sentence about this one; `instance` names the request.
    #[must_use]
    pub fn new(kind: ProblemKind, detail: Option<String>, instance: &str) -> Self {
        Self {
            r#type: kind.uri(),
            title: kind.title().to_owned(),
            status: kind.status(),
            detail,
            instance: instance.to_owned(),
            findings: None,
        }
    }

    /// What a server answers with a status that is none of success. What is no problem of the API has an empty type.
    #[must_use]
    pub fn read(status: u16, body: &[u8]) -> Self {
        serde_json::from_slice(body).unwrap_or_else(|_| Self {
            r#type: String::new(),
            title: messages::no_answer_of_celador().to_owned(),
            status,
            detail: None,
            instance: String::new(),
            findings: None,
        })
    }

    /// Its kind; nothing of one that this release does not know.
    #[must_use]
    pub fn kind(&self) -> Option<ProblemKind> {
        ProblemKind::parse(self.word())
    }

    /// The last part of its type, such as `task-exists`; empty if it is no problem of the API.
    #[must_use]
    pub fn word(&self) -> &str {
        self.r#type.strip_prefix(TYPES).unwrap_or_default()
    }

    /// What it says of itself: the sentence about this request, or its kind in words.
    #[must_use]
    pub fn said(&self) -> &str {
        self.detail.as_deref().filter(|detail| !detail.is_empty()).unwrap_or(&self.title)
    }
}

impl fmt::Display for ProblemDetails {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.title)?;
        self.detail.as_deref().map_or(Ok(()), |detail| write!(f, ": {detail}"))
    }
}

#[cfg(test)]
mod tests {
    use super::ProblemKind;

    #[test]
    fn every_problem_is_documented_with_its_status() {
        let page = include_str!("../../docs/http.md");
        for kind in ProblemKind::ALL {
            let row = format!("| `{}` | {} |", kind.uri(), kind.status());
            assert!(page.contains(&row), "docs/http.md lacks {row}");
        }
    }
}
