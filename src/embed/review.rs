//! Reviews in one shape, and the answers to them.
//!
//! In: what a task or a store says of a review. Out: the same fields, with the same things masked. Who answers is known to whoever
//! embeds the engine; to a server it is known by a token.

use celador::cel::Json;
use celador::policy::ReviewPanel;
use celador::task::{CallId, Identity, QuestionId, ReviewState, ReviewWord, VerdictKind};
use serde::{Deserialize, Serialize};

/// A review, as it was when it was read. What a manifest marks as secret is `***`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Review {
    /// Its id.
    pub id: String,
    /// Whether it is open, and otherwise what became of it.
    pub state: ReviewState,
    /// The task.
    pub task: String,
    /// The question of the task.
    pub question: QuestionId,
    /// The call that asks; nothing where an input, an event or a response does.
    pub call: Option<CallId>,
    /// The function of the call.
    pub function: Option<String>,
    /// The step that asks, such as `before[0]`.
    pub step: Option<String>,
    /// The resolved arguments of the call.
    pub arguments: Option<Json>,
    /// The result of the call, where a step behind it asks.
    pub result: Option<Json>,
    /// The text of the input or of the response, where a guardrail asks.
    pub message: Option<String>,
    /// The text of the step.
    pub text: Option<String>,
    /// The rule that asks.
    pub rule: Option<ReviewRule>,
    /// Who is asked.
    pub reviewer: String,
    /// The people, where a policy asks several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub panel: Option<ReviewPanel>,
    /// When it was asked: RFC 3339.
    pub asked_at: Option<String>,
    /// When it expires, and counts as denied: RFC 3339.
    pub expires_at: Option<String>,
    /// What an answer is bound to.
    pub digest: String,
    /// The answer, with who gave it and when.
    pub answered: Option<ReviewAnswered>,
}

/// A rule that asks for a review.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ReviewRule {
    /// Its text, as the manifest has it.
    pub expression: Option<String>,
    /// The file of the manifest.
    pub file: String,
    /// The line, from 1.
    pub line: u64,
    /// The column, from 1, in characters.
    pub column: u64,
}

/// The answer to a review that was given.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ReviewAnswered {
    /// The answer.
    pub answer: ReviewWord,
    /// Who answered; nothing if nobody was known.
    pub by: Option<Identity>,
    /// When: RFC 3339.
    pub at: String,
    /// What they added.
    pub note: Option<String>,
    /// What became of the operation that asked, where that is kept.
    #[serde(default)]
    pub decision: Option<VerdictKind>,
}

#[cfg(feature = "stores")]
impl From<celador_store::StoredReview> for Review {
    fn from(review: celador_store::StoredReview) -> Self {
        let answered = |answered: celador_store::ReviewAnswered| ReviewAnswered {
            answer: answered.answer,
            by: answered.by,
            at: answered.at,
            note: answered.note,
            decision: answered.decision,
        };
        Self {
            id: review.id,
            state: review.state,
            task: review.task,
            question: review.question,
            call: review.call.map(CallId::from),
            function: review.function,
            step: review.step,
            arguments: review.arguments,
            result: review.result,
            message: review.message,
            text: review.text,
            rule: review.rule.map(|rule| ReviewRule {
                expression: rule.expression,
                file: rule.file,
                line: rule.line,
                column: rule.column,
            }),
            reviewer: review.reviewer,
            panel: review.panel,
            asked_at: Some(review.asked_at),
            expires_at: review.expires_at,
            digest: review.digest,
            answered: review.answered.map(answered),
        }
    }
}

/// Which reviews are listed.
#[derive(Clone, Debug, Default)]
pub struct ReviewFilter {
    /// Those in this state; without one all.
    pub state: Option<ReviewState>,
    /// Those of this person or group.
    pub reviewer: Option<String>,
    /// Those of this task.
    pub task: Option<String>,
}

/// The answer to a review.
#[derive(Clone, Debug)]
pub struct ReviewReply {
    /// What they want.
    pub word: ReviewWord,
    /// The new arguments, of an edit.
    pub arguments: Option<Json>,
    /// The result in the tool's place, of a response.
    pub result: Option<Json>,
    /// What they add, in their own words.
    pub note: Option<String>,
    /// Who answers, as the program that embeds the engine knows them.
    pub by: Option<Person>,
}

/// A person who answers reviews. The program that embeds the engine vouches for them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Person {
    /// Their id.
    pub id: String,
    /// Their e-mail address.
    pub email: Option<String>,
    /// The groups that they are in.
    pub groups: Vec<String>,
}

impl Person {
    /// The names under which a review may be addressed to them.
    pub(crate) fn names(&self) -> Vec<String> {
        let groups = self.groups.iter().flat_map(|group| [group.clone(), format!("group:{group}")]);
        [Some(self.id.clone()), self.email.clone()].into_iter().flatten().chain(groups).collect()
    }
}
