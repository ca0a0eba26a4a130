//! The reviews that a task knows after a step, as they are stored.
//!
//! In: the head in front of the step, the step, and the answer to a review if the step is one. Out: the reviews that are open now,
//! and the one that was answered, with what became of its operation.

use super::review::{ReviewAnswered, ReviewRule, ReviewState, ReviewedAgent, ReviewedUser, StoredReview};
use super::reviews::review_id;
use super::task_records::{NewEvent, TaskHead};
use crate::row_digest::digest;
use crate::{StoreError, messages};
use celador::task::{Question, QuestionId, Request};

/// The reviews after a step. Linear in the questions that are open.
pub(super) fn reviews_of(
    head: &TaskHead,
    step: &NewEvent<'_>,
    answered: Option<&(QuestionId, ReviewAnswered)>,
) -> Result<Vec<StoredReview>, StoreError> {
    let stored = |question: QuestionId| -> Result<Option<StoredReview>, StoreError> {
        let Some(content) = head.reviews.get(&question) else { return Ok(None) };
        let altered = |_| StoreError::Corrupt(messages::altered_task(head.id()));
        serde_json::from_str(content).map(Some).map_err(altered)
    };
    let mut reviews = Vec::new();
    for question in step.task.questions() {
        if matches!(question.request, Request::Review { .. }) {
            reviews.extend(stored(question.id)?.or_else(|| asked(head, step, question)));
        }
    }
    if let Some((question, answer)) = answered
        && let Some(review) = stored(*question)?
        && reviews.iter().all(|open| open.question != *question)
    {
        let decision = step.decision.map(|decision| decision.verdict);
        let state = ReviewState::after(answer.answer);
        let answered = Some(ReviewAnswered { decision, ..answer.clone() });
        reviews.push(StoredReview { state, answered, ..review });
    }
    Ok(reviews)
}

/// A review that the step asks for.
fn asked(head: &TaskHead, step: &NewEvent<'_>, question: Question) -> Option<StoredReview> {
    let Request::Review { reviewer } = question.request else { return None };
    let (namespace, name) = head.agent();
    let (user, email) = step.task.context().user();
    let suspension = step.task.suspension_at(question.id);
    let call = suspension.as_ref().and_then(|decision| decision.call).map(|call| call.to_string());
    let origin = suspension.as_ref().and_then(|decision| decision.decided_by.clone());
    let asks =
        suspension.as_ref().and_then(|decision| decision.trace.last()).map(|entry| entry.step.to_string());
    let number = question.id.0.to_string();
    let bound = [step.task.id(), &step.task.policy().fingerprint().to_string(), &number];
    Some(StoredReview {
        id: review_id(head.owner(), step.task.id(), question.id),
        state: ReviewState::Open,
        task: step.task.id().to_owned(),
        question: question.id,
        agent: ReviewedAgent { namespace: namespace.to_owned(), name: name.to_owned() },
        user: ReviewedUser { id: user.to_owned(), email: email.map(str::to_owned) },
        call,
        function: None,
        step: asks,
        arguments: None,
        result: None,
        message: None,
        text: None,
        rule: origin.map(|origin| ReviewRule {
            expression: None,
            file: origin.file,
            line: origin.line as u64,
            column: origin.column as u64,
        }),
        reviewer,
        asked_at: step.at.to_string(),
        expires_at: None,
        digest: digest(&bound),
        answered: None,
    })
}
