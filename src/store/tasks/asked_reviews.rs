//! The reviews that a task knows after a step, as they are stored.
//!
//! In: the head in front of the step, and the step. Out: the reviews that are open now, and those that it has closed, with what
//! became of their operation. What a manifest marks as secret is masked: whoever reviews is shown what views show.

use super::reviews::review_id;
use super::task_records::{NewEvent, TaskHead};
use crate::{StoreError, messages};
use celador::task::{QuestionId, Review, ReviewAnswered, ReviewRecord, ReviewState, TaskState};

/// The reviews after a step: all that are open, and those that were open before it. Linear in the reviews of the task.
pub(super) fn reviews_of(
    head: &TaskHead,
    step: &NewEvent<'_>,
    passed_on: bool,
) -> Result<Vec<ReviewRecord>, StoreError> {
    let mut reviews = Vec::new();
    if head.reviews.is_empty() && step.task.state() != TaskState::Suspended {
        // most steps: reviews that are closed for longer are as they were
        return Ok(reviews);
    }
    for review in step.task.reviews() {
        let stored = stored(head, review.question)?;
        if review.state == ReviewState::Open || stored.is_some() {
            reviews.push(told(head, step, review, stored, passed_on));
        }
    }
    Ok(reviews)
}

/// A review that was open before the step, as it is stored.
fn stored(head: &TaskHead, question: QuestionId) -> Result<Option<ReviewRecord>, StoreError> {
    let Some(content) = head.reviews.get(&question) else { return Ok(None) };
    let altered = |_| StoreError::Corrupt(messages::altered_task(head.id()));
    serde_json::from_str(content).map(Some).map_err(altered)
}

/// A review as it is stored after a step.
fn told(
    head: &TaskHead,
    step: &NewEvent<'_>,
    review: Review,
    stored: Option<ReviewRecord>,
    passed_on: bool,
) -> ReviewRecord {
    let id = review_id(head.owner(), step.task.id(), review.question);
    let now = ReviewRecord::of(step.task, review, id);
    let (result_before, message_before, asked_before) =
        stored.map_or((None, None, None), |it| (it.result, it.message, Some(it.asked_at)));
    let asked_at = Some(now.asked_at).filter(|at| !at.is_empty()).or(asked_before);
    let passed = |answered: ReviewAnswered| ReviewAnswered { passed_on, ..answered };
    // the answer is to what the operation came to, unless nobody gave it
    let decision = step.decision.map(|decision| decision.verdict.kind());
    ReviewRecord {
        result: now.result.or(result_before),
        message: now.message.or(message_before),
        asked_at: asked_at.unwrap_or_else(|| step.at.to_string()),
        approvals: now.approvals.into_iter().map(passed).collect(),
        answered: now.answered.map(|answered| ReviewAnswered { decision, ..passed(answered) }),
        ..now
    }
}
