//! A review as it is stored and told: what a person is asked about a task, and what they said.
//!
//! Plain data. `reviews` makes rows of it, and finds them again.

use crate::row_digest::digest;
use celador::cel::{Json, Timestamp};
use celador::task::{Identity, QuestionId, ReviewChoice, ReviewState, Reviewed, Verdict};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The longest name of a reviewer that is kept as it is, in bytes: databases bound what an index holds.
const MAX_NAME_BYTES: usize = 512;

/// The open reviews of a task as they are stored, by question.
pub(super) type OpenReviews = BTreeMap<QuestionId, String>;

/// A question of a task to a person, with all that they need to answer it.
///
/// Places that a manifest marks as secret hold `***`: the store has the review as it is shown.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "Review"))]
pub struct StoredReview {
    /// Its id, made of the owner, the task and the question: `rv_` and 32 hexadecimal digits.
    pub id: String,
    /// Whether it is open, and otherwise how it was closed.
    pub state: ReviewState,
    /// The task.
    pub task: String,
    /// The question of the task.
    pub question: QuestionId,
    /// The agent of the task.
    pub agent: ReviewedAgent,
    /// The person for whom the task runs.
    pub user: ReviewedUser,
    /// The call that asks; null where an input, an event or a response does.
    pub call: Option<String>,
    /// The function of the call; null where an input, an event or a response asks.
    pub function: Option<String>,
    /// The step that asks, such as `before[0]`.
    pub step: Option<String>,
    /// The resolved arguments of the call: an object.
    #[cfg_attr(feature = "schema", schemars(extend("type" = ["object", "null"])))]
    pub arguments: Option<Json>,
    /// The result of the call, where a step behind it asks.
    pub result: Option<Json>,
    /// The text of the input or of the response, where a guardrail asks.
    pub message: Option<String>,
    /// The text of the step.
    pub text: Option<String>,
    /// The rule that asks.
    pub rule: Option<ReviewRule>,
    /// The person or group that is asked, as the policy names them.
    pub reviewer: String,
    /// The time when it was asked: RFC 3339.
    pub asked_at: String,
    /// The time after which it counts as denied: RFC 3339; null if it waits for ever.
    pub expires_at: Option<String>,
    /// A digest of what is approved, the arguments and the steps of the call: 64 hexadecimal digits.
    pub digest: String,
    /// The answer; null while it is open, and of a review that nobody answered.
    pub answered: Option<ReviewAnswered>,
}

/// The agent whose task asks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ReviewedAgent {
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
}

/// The person for whom the task runs that asks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ReviewedUser {
    /// Their id.
    pub id: String,
    /// Their e-mail address.
    pub email: Option<String>,
}

/// The place of the rule that asks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ReviewRule {
    /// Its expression as the author wrote it.
    pub expression: Option<String>,
    /// The file of the manifest.
    pub file: String,
    /// The line, from 1.
    pub line: u64,
    /// The column, from 1, in characters.
    pub column: u64,
}

/// An answer to a review, in a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "ReviewAnswer"))]
pub enum ReviewWord {
    /// Go on.
    Approve,
    /// Do not.
    Deny,
    /// Go on with other arguments.
    Edit,
    /// Do not call the tool; this is its result.
    Respond,
}

/// The answer to a review.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ReviewAnswered {
    /// The answer.
    pub answer: ReviewWord,
    /// Who answered; null if nobody was known.
    #[cfg_attr(feature = "schema", schemars(with = "Option<ReviewedBy>"))]
    pub by: Option<Identity>,
    /// Whether that is the runtime of the task, which passed on the answer of somebody whom it alone knows. Absent if not.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub passed_on: bool,
    /// The time of the answer: RFC 3339.
    pub at: String,
    /// What they added.
    pub note: Option<String>,
    /// A digest of the arguments or of the result that it brought, as views show them: 64 hexadecimal digits; null if it brought
    /// neither.
    #[serde(default)]
    pub digest: Option<String>,
    /// What became of the operation that asked.
    #[serde(default)]
    pub decision: Option<Verdict>,
}

/// Who answered a review.
#[cfg(feature = "schema")]
#[derive(Serialize, schemars::JsonSchema)]
#[expect(dead_code, reason = "an identity as an answer writes it, with all of its members")]
struct ReviewedBy {
    /// The issuer of their token; null of a token of the server's file.
    issuer: Option<String>,
    /// The name that the issuer, or the file, has for them.
    subject: String,
    /// Their e-mail address, if the issuer says that it is verified.
    email: Option<String>,
}

impl StoredReview {
    /// Whether it was to be answered by this time.
    #[must_use]
    pub fn has_expired(&self, now: Timestamp) -> bool {
        let expires = self.expires_at.as_deref().and_then(|at| at.parse::<Timestamp>().ok());
        expires.is_some_and(|expires| expires <= now)
    }
}

impl From<&ReviewChoice> for ReviewWord {
    fn from(choice: &ReviewChoice) -> Self {
        match choice {
            ReviewChoice::Approve => Self::Approve,
            ReviewChoice::Deny => Self::Deny,
            ReviewChoice::Edit { .. } => Self::Edit,
            ReviewChoice::Respond { .. } => Self::Respond,
        }
    }
}

impl ReviewAnswered {
    /// An answer as a store has it: with what became of its operation, whether the runtime of the task passed it on, and the
    /// arguments or the result that it brought, as views show them.
    pub(super) fn of(
        Reviewed { answer, at }: Reviewed,
        decision: Option<Verdict>,
        passed_on: bool,
        brought: Option<&Json>,
    ) -> Self {
        let (word, digest) = (ReviewWord::from(&answer.choice), brought.map(review_answer_digest));
        Self {
            answer: word,
            by: answer.by,
            passed_on,
            at: at.to_string(),
            note: answer.note,
            digest,
            decision,
        }
    }
}

/// The digest of the arguments or of the result that an answer to a review brings, as views show them.
#[must_use]
pub fn review_answer_digest(brought: &Json) -> String {
    digest(&[&brought.to_string()])
}

/// The name of a reviewer as names are compared: an e-mail address without its case, any other name as it is. A name that is
/// longer than 512 bytes is compared by its digest.
///
/// ```
/// use celador_store::reviewer_name;
///
/// assert_eq!(reviewer_name("Lead@Example.com"), reviewer_name("lead@example.com"));
/// assert_ne!(reviewer_name("Lead"), reviewer_name("lead"));
/// ```
#[must_use]
pub fn reviewer_name(name: &str) -> String {
    // no database stores U+0000
    let name = name.trim().replace('\0', "\u{fffd}");
    let name = if name.contains('@') { name.to_ascii_lowercase() } else { name };
    if name.len() > MAX_NAME_BYTES { format!("sha256:{}", digest(&[&name])) } else { name }
}
