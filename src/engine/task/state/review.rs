//! Reviews as plain data: what a person is shown, what they answer, and what became of it.
//!
//! A review is a question for a person ([`Request::Review`](super::effect::Request::Review)). While it is open, it is read off the
//! operation that waits; once it is closed, the task keeps it with its answer, so that everybody who asks later is told the same.

use super::call_id::CallId;
use super::effect::QuestionId;
use super::review_answer::{ReviewAnswer, ReviewChoice};
use super::trace::StepName;
use crate::cel::{Json, Timestamp};
use crate::context::full_time;
use crate::digest::Digest;
use crate::policy::{Origin, ReviewPanel};
use serde::{Deserialize, Serialize};
use std::fmt;

/// A review: everything that a person needs who is asked.
///
/// ```
/// use celador::{Call, Engine, EngineLimits, Identity, Review, ReviewAnswer, ReviewChoice, ReviewState, Reviewed, Rule};
/// use celador::{StartTask, User};
/// # std::env::set_current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))?;
/// # let engine = Engine::open(&["examples/first-policy"], EngineLimits::default())?;
/// # let now = std::time::SystemTime::UNIX_EPOCH;
/// # let user = User { id: "u-7".into(), email: Some("kim@example.com".into()), ..User::default() };
/// # let mut task = engine.start(StartTask::new("t-1", "shop", "clerk", user, now))?;
/// let call = Call::new("payout", serde_json::json!({"amount": 250}).into());
/// assert!(!task.before(&call, now)?.outcome().is_allowed());
///
/// let review: Review = task.reviews().next().ok_or("250 needs a review")?;
/// assert_eq!((review.state, &*review.reviewer), (ReviewState::Open, "lead@example.com"));
/// assert_eq!(review.arguments.ok_or("it is about a call")?.to_string(), r#"{"customer":"u-7","amount":250}"#);
///
/// let Rule { expression, origin } = review.rule.ok_or("a step asks")?;
/// assert!(expression.is_some_and(|text| text.contains("review(")) && origin.line > 0);
///
/// // the lead pays less, and says why
/// let arguments = serde_json::json!({"amount": 90}).into();
/// let by = Some(Identity { issuer: None, subject: "lead".into(), email: Some("lead@example.com".into()) });
/// let note = Some("the rest is a voucher".to_owned());
/// let answer = ReviewAnswer { choice: ReviewChoice::Edit { arguments }, by, note, addressed_as: Vec::new() };
/// let outcome = task.answer(review.question, answer.into(), now)?.outcome();
/// assert_eq!(outcome.decision().verdict.value().ok_or("it may run")?.to_string(), r#"{"customer":"u-7","amount":90}"#);
/// let closed = task.reviews().next().ok_or("it is on record")?;
/// let Reviewed { answer, at } = closed.answered.ok_or("it is answered")?;
/// assert_eq!((closed.state, answer.note.as_deref()), (ReviewState::Edited, Some("the rest is a voucher")));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Review {
    /// The name of the question, for [`Task::answer`](super::Task::answer).
    pub question: QuestionId,
    /// Whether it is open, and otherwise what became of it.
    pub state: ReviewState,
    /// The person or group that the policy asks: a user's id or e-mail address (RV-09); of several people what `panel` says, in a text.
    pub reviewer: String,
    /// The people, where a policy asks several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub panel: Option<ReviewPanel>,
    /// The people of the panel who have approved, in the order in which they did.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub approvals: Vec<Reviewed>,
    /// The call that it is about; null for guardrails, events and scripts.
    pub call: Option<CallId>,
    /// The key of that call's function.
    pub function: Option<String>,
    /// The step that asks; null where the expression of a tool does.
    pub step: Option<StepName>,
    /// The resolved arguments of the call.
    pub arguments: Option<Json>,
    /// The result of the call, where a step behind it asks, while the review is open.
    pub result: Option<Json>,
    /// The input or response that a guardrail asks about, or what is sent to the model or came back, while the review is open.
    pub message: Option<Json>,
    /// What is asked: the `question` of the step, rendered, with `***` in the place of what is secret, or one that names the function. Null if a
    /// release asked that knew of no questions and the step said nothing.
    pub text: Option<String>,
    /// The rule that asks.
    pub rule: Option<Rule>,
    /// When it was asked; null if a release asked that did not keep the time.
    #[serde(with = "full_time::optional")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<String>", extend("format" = "date-time")))]
    pub asked_at: Option<Timestamp>,
    /// When it expires, and counts as denied; null if it never does.
    #[serde(with = "full_time::optional")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<String>", extend("format" = "date-time")))]
    pub expires_at: Option<Timestamp>,
    /// What an answer is bound to: the SHA-256 of what is reviewed and of the rules of that capability, 64 hexadecimal digits.
    #[serde(with = "digest_text")]
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub digest: Digest,
    /// The answer, with who gave it and when.
    pub answered: Option<Reviewed>,
}

impl Review {
    /// What expressions see of it in `context.reviews`, once it is closed.
    pub(in crate::task) fn in_context(&self) -> Json {
        let answered = self.answered.as_ref();
        let answer = answered.map(|answered| &answered.answer);
        let by = answer.and_then(|answer| answer.by.as_ref());
        let by = by.map(|by| by.email.clone().unwrap_or_else(|| by.subject.clone()));
        let always = [("reviewer", Some(self.reviewer.clone())), ("state", Some(self.state.to_string()))];
        let rest = [
            ("function", self.function.clone()),
            ("call", self.call.as_ref().map(ToString::to_string)),
            ("by", by),
            ("at", answered.map(|answered| answered.at.to_string())),
            ("note", answer.and_then(|answer| answer.note.clone())),
        ];
        let members = always.into_iter().chain(rest);
        Json::object(members.filter_map(|(name, text)| Some((name, Json::string(&text?)))))
    }

    /// The documents and texts that it holds once it is closed.
    pub(in crate::task) fn bytes(&self) -> u64 {
        let arguments = self.arguments.as_ref().map_or(0, Json::heap_bytes);
        let text = self.text.as_ref().map_or(0, String::len);
        let answer = self.answered.as_ref().map_or(0, |answered| answered.answer.bytes());
        let approvals = self.approvals.iter().fold(0, |sum: usize, it| sum.saturating_add(it.answer.bytes()));
        arguments.saturating_add(text).saturating_add(answer).saturating_add(approvals) as u64
    }
}

/// A rule that asks for a review.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Rule {
    /// Its text, as the manifest has it; null for the arguments of an invoke step.
    pub expression: Option<String>,
    /// Its place.
    pub origin: Origin,
}

/// Whether a review is open, and otherwise what became of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum ReviewState {
    /// Nobody has answered.
    Open,
    /// Somebody approved.
    Approved,
    /// Somebody denied.
    Denied,
    /// Somebody changed the arguments and approved of them.
    Edited,
    /// Somebody gave the result themselves: the call does not run.
    Responded,
    /// Nobody answered in time; it counts as denied.
    Expired,
    /// It needs no answer any more: the call was withdrawn, or the task came to its end.
    Withdrawn,
}

impl ReviewState {
    /// The words of all states.
    pub const WORDS: [&'static str; 7] =
        ["open", "approved", "denied", "edited", "responded", "expired", "withdrawn"];

    /// What a review comes to with an answer.
    #[must_use]
    pub fn after(answer: &ReviewAnswer) -> Self {
        match answer.choice {
            ReviewChoice::Approve => Self::Approved,
            ReviewChoice::Deny => Self::Denied,
            ReviewChoice::Edit { .. } => Self::Edited,
            ReviewChoice::Respond { .. } => Self::Responded,
        }
    }

    /// The word for wires, logs and stores.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Approved => "approved",
            Self::Denied => "denied",
            Self::Edited => "edited",
            Self::Responded => "responded",
            Self::Expired => "expired",
            Self::Withdrawn => "withdrawn",
        }
    }
}

impl fmt::Display for ReviewState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// An answer on record.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Reviewed {
    /// The answer.
    pub answer: ReviewAnswer,
    /// When it was given.
    #[serde(with = "full_time")]
    #[cfg_attr(feature = "schema", schemars(with = "String", extend("format" = "date-time")))]
    pub at: Timestamp,
}

mod digest_text {
    use crate::digest::Digest;
    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    pub(super) fn serialize<S: Serializer>(digest: &Digest, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(digest)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Digest, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(D::Error::custom)
    }
}
