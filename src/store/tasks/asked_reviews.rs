//! The reviews that a task knows after a step, as they are stored.
//!
//! In: the head in front of the step, and the step. Out: the reviews that are open now, and those that it has closed, with what
//! became of their operation. What a manifest marks as secret is masked here: whoever reviews is shown what views show.

use super::review::{ReviewAnswered, ReviewProgress, ReviewRule, ReviewedAgent, ReviewedUser, StoredReview};
use super::reviews::review_id;
use super::task_records::{NewEvent, TaskHead};
use crate::{StoreError, messages};
use celador::cel::Json;
use celador::policy::Policy;
use celador::task::{CallStatus, QuestionId, Review, ReviewState, Rule, TaskState};

/// The reviews after a step: all that are open, and those that were open before it. Linear in the reviews of the task.
pub(super) fn reviews_of(
    head: &TaskHead,
    step: &NewEvent<'_>,
    passed_on: bool,
) -> Result<Vec<StoredReview>, StoreError> {
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
fn stored(head: &TaskHead, question: QuestionId) -> Result<Option<StoredReview>, StoreError> {
    let Some(content) = head.reviews.get(&question) else { return Ok(None) };
    let altered = |_| StoreError::Corrupt(messages::altered_task(head.id()));
    serde_json::from_str(content).map(Some).map_err(altered)
}

/// A review as it is stored after a step.
fn told(
    head: &TaskHead,
    step: &NewEvent<'_>,
    review: Review,
    stored: Option<StoredReview>,
    passed_on: bool,
) -> StoredReview {
    let (task, policy) = (step.task, step.task.policy());
    let Review { question, state, reviewer, call, function, step: asks, arguments, result, message, .. } =
        review;
    let Review { text, rule, asked_at, expires_at, digest, answered, panel, approvals, .. } = review;
    let (namespace, name) = head.agent();
    let (user, email) = task.context().user();
    let of = function.as_deref().unwrap_or_default();
    let arguments =
        arguments.map(|arguments| masked(policy, arguments, |it| policy.masked_arguments(of, it)));
    let of_result = |it: &Json| policy.masked_result(of, CallStatus::Successful, it);
    let result = result.map(|result| masked(policy, result, of_result));
    // the answer is to what the operation came to, unless nobody gave it
    let decision = step.decision.map(|decision| decision.verdict.kind());
    let (result_before, message_before, asked_before) =
        stored.map_or((None, None, None), |it| (it.result, it.message, Some(it.asked_at)));
    let people: Vec<&[String]> = approvals.iter().map(|it| &*it.answer.addressed_as).collect();
    let progress = panel.as_ref().map(|panel| ReviewProgress::of(panel, &people));
    StoredReview {
        id: review_id(head.owner(), task.id(), question),
        state,
        task: task.id().to_owned(),
        question,
        agent: ReviewedAgent { namespace: namespace.to_owned(), name: name.to_owned() },
        user: ReviewedUser { id: user.to_owned(), email: email.map(str::to_owned) },
        call: call.map(|call| call.to_string()),
        function,
        step: asks.map(|step| step.to_string()),
        arguments,
        result: result.or(result_before),
        message: message.as_ref().map(text_of).or(message_before),
        text,
        rule: rule.map(|Rule { expression, origin }| ReviewRule {
            expression,
            file: origin.file,
            line: origin.line as u64,
            column: origin.column as u64,
        }),
        reviewer,
        panel,
        progress,
        approvals: approvals.into_iter().map(|it| ReviewAnswered::of(it, None, passed_on)).collect(),
        asked_at: asked_at.map(|at| at.to_string()).or(asked_before).unwrap_or_else(|| step.at.to_string()),
        expires_at: expires_at.map(|at| at.to_string()),
        digest: digest.to_string(),
        answered: answered.map(|answered| ReviewAnswered::of(answered, decision, passed_on)),
    }
}

/// A document as views show it; as it is where nothing of the task is secret.
fn masked(policy: &Policy, document: Json, mask: impl FnOnce(&Json) -> Json) -> Json {
    if policy.secrets().is_empty() { document } else { mask(&document) }
}

/// The text of an input or a response: that of its parts, one after the other. What is sent to a model, or has come back, is shown whole.
fn text_of(entry: &Json) -> String {
    let Some(message) = entry.root().get("message") else {
        return entry.root().as_str().map_or_else(|| entry.to_string(), str::to_owned);
    };
    message.items().filter_map(|part| part.get("text")?.as_str()).collect()
}
