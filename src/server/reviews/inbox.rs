//! Reviews over HTTP: who sees one, who answers it, and what becomes of the answer.
//!
//! In: a caller, and the id of a review or which ones they want. Out: reviews as the store has them. A review is seen by those to
//! whom it is addressed, by the owner of its task and by operators; for all others there is no such review. It is answered by
//! those to whom it is addressed, as a step of its task, so it is decided, stored and written down as any other step is.

use crate::identity::{Caller, Scope};
use crate::messages;
use crate::problem::{Kind, Problem};
use crate::request::{Answer, Request};
use crate::service::Service;
use crate::task_request::TaskRequest;
use crate::tasks::steps::{Circumstances, TaskStep};
use crate::tasks::{Tasks, owner};
use celador::cel::Json;
use celador::context::MASK;
use celador::task::{
    self, CallResult, CallStatus, Identity, Next, Progress, QuestionId, Review, ReviewAnswer, ReviewAnswered,
    ReviewChoice, ReviewRecord, ReviewReply, ReviewState, ReviewWord, Task, VerdictKind,
};
use celador_service::{ReviewPage, ReviewedReview, ReviewsQuery};
use celador_store::{OperationKind, ReviewFilter, ReviewRow, ReviewViewer};
use serde_json::Value;
use tracing::debug;

/// The names under which reviews are addressed to a caller; nothing if they see all reviews.
pub(crate) fn names_of(caller: &Caller) -> Option<Vec<String>> {
    let person = caller.person.as_ref().filter(|_| !caller.may(Scope::TasksAdmin))?;
    Some(person.names())
}

/// Whether a caller sees a review.
pub(crate) fn sees(caller: &Caller, row: &ReviewRow) -> bool {
    let Some(person) = caller.person.as_ref().filter(|_| !caller.may(Scope::TasksAdmin)) else { return true };
    row.owner == owner(caller) || person.is_addressed(&row.review)
}

/// `GET /v1/reviews`
pub(crate) fn list(service: &Service, request: &Request) -> Result<Answer, Problem> {
    Answer::json(200, &listed(service, &request.caller, &request.query()?)?)
}

/// The reviews that a caller sees and that are wanted, a page at a time.
pub(crate) fn listed(
    service: &Service,
    caller: &Caller,
    ReviewsQuery { reviewer, state, agent, after }: &ReviewsQuery,
) -> Result<ReviewPage, Problem> {
    let state = match state.as_deref() {
        None => Some(ReviewState::Open),
        Some("all") => None,
        Some(word) => {
            let state = serde_json::from_value(word.into());
            Some(state.map_err(|_| Problem::new(Kind::BadRequest, messages::review_state()))?)
        }
    };
    let (namespace, agent) = match agent.as_deref().map(|agent| (agent, agent.split_once('/'))) {
        None => (None, None),
        Some((_, Some((namespace, name)))) => (Some(namespace), Some(name)),
        Some((name, None)) => (None, Some(name)),
    };
    let (owner, names) = (owner(caller), names_of(caller));
    let seen_by = names.as_ref().map(|names| ReviewViewer { owner: &owner, names });
    let filter = ReviewFilter { seen_by, reviewer: reviewer.as_deref(), state, namespace, agent };
    let tasks = &service.tasks;
    let found = tasks.store.reviews(&filter, after.unwrap_or_default(), tasks.page);
    let (rows, is_cut) = found.map_err(|error| tasks.problem(&error))?;
    let next = rows.last().filter(|_| is_cut).map(|last| last.number);
    Ok(ReviewPage { reviews: rows.into_iter().map(|row| row.review).collect(), next })
}

/// `GET /v1/reviews/{review}`
pub(crate) fn read(service: &Service, request: &Request) -> Result<Answer, Problem> {
    Answer::json(200, &seen(service, &request.caller, &request.id)?.review)
}

/// `GET /v1/reviews/stream`, which `review_stream` answers before any function of a route is asked.
pub(crate) fn streamed(_: &Service, _: &Request) -> Result<Answer, Problem> {
    Err(Kind::Internal.into())
}

/// A review, if a caller sees it.
fn seen(service: &Service, caller: &Caller, review: &str) -> Result<ReviewRow, Problem> {
    let tasks = &service.tasks;
    let found = tasks.store.review(review).map_err(|error| tasks.problem(&error))?;
    found.filter(|row| sees(caller, row)).ok_or_else(|| Kind::UnknownReview.into())
}

/// `POST /v1/reviews/{review}`
pub(crate) fn answer(service: &Service, request: &Request) -> Result<Answer, Problem> {
    let reply = request.read(&service.settings.limits.store.engine)?;
    Answer::json(200, &answered(service, &request.caller, &request.id, reply)?)
}

/// Answers a review: a step of its task.
pub(crate) fn answered(
    service: &Service,
    caller: &Caller,
    review: &str,
    body: ReviewReply,
) -> Result<ReviewedReview, Problem> {
    let (tasks, limits) = (&service.tasks, &service.settings.limits.store.engine);
    let choice = choice_of(&body, limits.max_reason_bytes)?;
    let row = seen(service, caller, review)?;
    let by = answering(caller, &row.review, body.answer)?;
    if body.digest.as_ref().is_some_and(|digest| *digest != row.review.digest) {
        return Err(Kind::ReviewChanged.into());
    }
    let bound = (row.review.question, row.review.digest.clone());
    let names = caller.person.as_ref().map(|person| person.names_in(&row.review));
    let addressed_as = names.unwrap_or_default();
    let step = Answering { choice, bound, by, note: body.note.clone(), addressed_as, reply: body };
    if row.review.state != ReviewState::Open {
        return step.once_more(tasks, row, true);
    }
    let repeated = step.is_among(&row.review.approvals);
    // the same answer twice is one answer, by whatever key it comes
    let of_task = TaskRequest::new(caller.clone(), &row.review.task);
    let taken = tasks.step_of(&row.owner, &of_task, &step);
    let present = seen(service, caller, review)?;
    match (taken, present.review.state) {
        // one of several has approved, and the review waits for the others
        (Ok(_), ReviewState::Open) if step.is_among(&present.review.approvals) => {
            let review = present.review;
            Ok(ReviewedReview { review, decision: Some(VerdictKind::Suspend), repeated })
        }
        (Ok(_), ReviewState::Open) => Err(Kind::TurnedAway.into()),
        (Ok(_), _) => step.once_more(tasks, present, repeated),
        // somebody else was first
        (Err(problem), state) if problem.kind == Kind::NothingAsked && state != ReviewState::Open => {
            step.once_more(tasks, present, true)
        }
        (Err(problem), _) => Err(problem),
    }
}

/// Who answers, if they may. Where nobody has to say who they are, whoever asks may answer, and nobody is known.
fn answering(caller: &Caller, review: &ReviewRecord, word: ReviewWord) -> Result<Option<Identity>, Problem> {
    let Some(person) = &caller.person else { return Ok(None) };
    if !person.is_addressed(review) {
        return Err(Kind::NotAddressed.into());
    }
    if word != ReviewWord::Deny && person.is_own_judge(review) {
        return Err(Kind::OwnJudge.into());
    }
    Ok(Some(person.identity()))
}

/// What a reply says, if its parts go together.
fn choice_of(reply: &ReviewReply, most: usize) -> Result<ReviewChoice, Problem> {
    if reply.note.as_ref().is_some_and(|note| note.len() > most) {
        return Err(Problem::new(Kind::BadRequest, messages::bad_note(most)));
    }
    ReviewChoice::of(reply.answer, reply.arguments.clone(), reply.result.as_ref().map(output_of))
        .map_err(|expected| Problem::new(Kind::BadRequest, expected.to_owned()))
}

impl Answering {
    /// The answer as the task takes it, for a review of it.
    fn choice(&self, task: &Task, review: &Review) -> ReviewChoice {
        match &self.choice {
            ReviewChoice::Edit { arguments } => {
                ReviewChoice::Edit { arguments: with_secrets(task, review, arguments) }
            }
            as_given => as_given.clone(),
        }
    }

    /// The answer to one that came before: the same if it was the same, by the same person.
    fn once_more(&self, tasks: &Tasks, row: ReviewRow, repeated: bool) -> Result<ReviewedReview, Problem> {
        let ReviewRow { owner, review, .. } = row;
        let word = self.choice.word();
        let is_theirs = |answered: &&ReviewAnswered| {
            answered.answer == word && answered.by == self.by && !answered.passed_on
        };
        if review.state == ReviewState::Approved && self.is_among(&review.approvals) {
            let decision = review.answered.as_ref().and_then(|answered| answered.decision);
            return Ok(ReviewedReview { review, decision, repeated });
        }
        let Some(answered) = review.answered.as_ref().filter(is_theirs) else {
            return Err(Kind::ReviewClosed.into());
        };
        let is_same = match word {
            ReviewWord::Approve | ReviewWord::Deny => true,
            // rows show no secret, so only the task can tell whether this brings what the first one did
            ReviewWord::Edit | ReviewWord::Respond => tasks
                .look_at(&owner, &review.task, |open| Ok(self.is_on_record(&open.task, review.question)))?,
        };
        if !is_same {
            return Err(Kind::ReviewClosed.into());
        }
        let decision = answered.decision;
        Ok(ReviewedReview { review, decision, repeated })
    }

    /// Whether the approval is one of these.
    fn is_among(&self, approvals: &[ReviewAnswered]) -> bool {
        self.choice == ReviewChoice::Approve && approvals.iter().any(|known| known.by == self.by)
    }

    /// Whether a closed review of a task has this answer.
    fn is_on_record(&self, task: &Task, question: QuestionId) -> bool {
        let closed = task.reviews().find(|review| review.question == question);
        closed.is_some_and(|closed| {
            let given = closed.answered.as_ref().map(|answered| &answered.answer.choice);
            given == Some(&self.choice(task, &closed))
        })
    }
}

/// What a response gives the model: the output of a result, if it is written as one, and otherwise the value itself.
fn output_of(result: &Json) -> Json {
    let text = result.to_string();
    match serde_json::from_str::<CallResult>(&text) {
        Ok(CallResult { status: CallStatus::Successful | CallStatus::Errored, output, .. }) => output,
        _ => result.clone(),
    }
}

/// Edited arguments with the secrets of the call in the places where a view shows `***` and the editor left that.
fn with_secrets(task: &Task, review: &Review, edited: &Json) -> Json {
    fn put_back(edited: &mut Value, shown: &Value, original: &Value) {
        match (edited, shown, original) {
            (Value::Object(edited), Value::Object(shown), Value::Object(original)) => {
                for (name, value) in edited {
                    if let (Some(shown), Some(original)) = (shown.get(name), original.get(name)) {
                        put_back(value, shown, original);
                    }
                }
            }
            (Value::Array(edited), Value::Array(shown), Value::Array(original)) => {
                for (value, (shown, original)) in edited.iter_mut().zip(shown.iter().zip(original)) {
                    put_back(value, shown, original);
                }
            }
            (edited @ Value::String(_), Value::String(shown), original)
                if shown == MASK && edited.as_str() == Some(MASK) =>
            {
                edited.clone_from(original);
            }
            _ => {}
        }
    }
    let policy = task.policy();
    let (Some(function), Some(original)) = (&review.function, &review.arguments) else {
        return edited.clone();
    };
    if policy.secrets().is_empty() {
        return edited.clone();
    }
    let shown = policy.masked_arguments(function, original);
    let mut value = value_of(edited);
    put_back(&mut value, &value_of(&shown), &value_of(original));
    Json::from(&value)
}

fn value_of(json: &Json) -> Value {
    serde_json::to_value(json).unwrap_or_default()
}

/// Reviews that are looked at at a time when it is seen to those that have expired.
const PAGE: usize = 100;

/// Denies the reviews that nobody has answered in time, until it is to stop: so nobody has to ask for their tasks. A task that takes
/// no step now is asked again the next time.
pub(crate) fn expire(service: &Service, stop: &dyn Fn() -> bool) {
    let (tasks, now) = (&service.tasks, service.now());
    let mut after = None;
    while !stop() {
        let page = match tasks.store.expired_reviews(now, after.as_ref(), PAGE) {
            Ok(Some(page)) => page,
            Ok(None) => return,
            Err(error) => return drop(tasks.problem(&error)),
        };
        let (rows, last) = page;
        for row in &rows {
            let request = TaskRequest::of_server(&row.review.task);
            if let Err(problem) = tasks.step_of(&row.owner, &request, &Expiring) {
                debug!(%problem, "a review that has expired is still open");
            }
        }
        after = Some(last);
    }
}

/// Reviews of a task have expired.
pub(crate) struct Expiring;

impl TaskStep for Expiring {
    fn operation(&self) -> OperationKind {
        OperationKind::Expire
    }

    fn body(&self) -> Value {
        serde_json::json!({})
    }

    fn take(&self, task: &mut Task, at: &Circumstances<'_>) -> Result<Progress, Problem> {
        // any look at the limits denies what has expired, and takes no step
        Ok(task.limits(Next::Other, at.now).into())
    }
}

/// An answer to a review, as a step of its task.
struct Answering {
    choice: ReviewChoice,
    note: Option<String>,
    /// The question, and the digest of what the reviewer was shown.
    bound: (QuestionId, String),
    by: Option<Identity>,
    /// The names of a review of several people that are theirs.
    addressed_as: Vec<String>,
    /// The reply, as it was given.
    reply: ReviewReply,
}

impl TaskStep for Answering {
    fn operation(&self) -> OperationKind {
        OperationKind::Review
    }

    fn body(&self) -> Value {
        serde_json::to_value(&self.reply).unwrap_or_default()
    }

    fn masked(&self, task: &Task, mut body: Value) -> Value {
        let review = task.reviews().find(|review| review.question == self.bound.0);
        let function = review.and_then(|review| review.function).unwrap_or_default();
        let policy = task.policy();
        let (place, shown) = match &self.choice {
            ReviewChoice::Approve | ReviewChoice::Deny => return body,
            ReviewChoice::Edit { arguments } => ("arguments", policy.masked_arguments(&function, arguments)),
            ReviewChoice::Respond { result } => {
                ("result", policy.masked_result(&function, CallStatus::Successful, result))
            }
        };
        if let Some(place) = body.get_mut(place) {
            *place = value_of(&shown);
        }
        body
    }

    fn take(&self, task: &mut Task, at: &Circumstances<'_>) -> Result<Progress, Problem> {
        let (question, digest) = &self.bound;
        let open = task.reviews().find(|it| it.question == *question && it.state == ReviewState::Open);
        let review = open.ok_or(Kind::NothingAsked)?;
        if review.digest.to_string() != *digest {
            return Err(Kind::ReviewChanged.into());
        }
        let answer = ReviewAnswer {
            choice: self.choice(task, &review),
            by: self.by.clone(),
            note: self.note.clone(),
            addressed_as: self.addressed_as.clone(),
        };
        Ok(task.answer(*question, task::Answer::Review(answer), at.now)?.into_progress())
    }
}
