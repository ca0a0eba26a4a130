//! Reviews over HTTP: who sees one, who answers it, and what becomes of the answer.
//!
//! In: a caller, and the id of a review or which ones they want. Out: reviews as the store has them. A review is seen by those to
//! whom it is addressed, by the owner of its task and by operators; for all others there is no such review. It is answered by
//! those to whom it is addressed, as a step of its task, so it is decided, stored and written down as any other step is.

use super::identity::{Caller, Scope};
use super::messages;
use super::problem::{Kind, Problem};
use super::request::{Answer, Request};
use super::service::Service;
use super::steps::{Circumstances, StepBody};
use super::tasks::owner;
use celador::cel::{Json, Timestamp};
use celador::digest::Digest;
use celador::task::{self, Progress, QuestionId, Task, Verdict};
use celador_store::{
    OperationKind, ReviewAnswered, ReviewBy, ReviewChoice, ReviewFilter, ReviewRow, ReviewState,
    ReviewViewer, StoredReview,
};
use serde::{Deserialize, Serialize};

/// Which reviews are listed.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(super) struct ReviewsQuery {
    /// The name, e-mail address or group that is asked.
    reviewer: Option<String>,
    /// The state of the reviews, or `all`; `open` without it.
    state: Option<String>,
    /// The agent, by its name or as `namespace/name`.
    agent: Option<String>,
    /// The `next` of the page before.
    after: Option<u64>,
}

/// Reviews that the caller sees, in the order in which they were asked.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(super) struct ReviewPage {
    /// The reviews.
    reviews: Vec<StoredReview>,
    /// The value of `after` for the next page; null at the end.
    next: Option<u64>,
}

/// An answer to a review.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(super) struct AnswerReview {
    /// The answer.
    answer: ReviewChoice,
    /// The arguments to go on with; only with `edit`.
    #[serde(default)]
    #[cfg_attr(feature = "schema", schemars(extend("type" = ["object", "null"])))]
    arguments: Option<Json>,
    /// The result in the place of the tool's; only with `respond`.
    #[serde(default)]
    result: Option<Json>,
    /// What is to be said about it, of at most `max_reason_bytes`.
    #[serde(default)]
    note: Option<String>,
    /// The digest of the review that is answered: the answer is refused if the review has another one.
    #[serde(default)]
    digest: Option<String>,
}

/// A review with its answer.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(super) struct ReviewedReview {
    /// The review.
    review: StoredReview,
    /// What became of the operation that asked.
    decision: Option<Verdict>,
}

/// The names under which reviews are addressed to a caller; nothing if they see all reviews.
pub(super) fn names_of(caller: &Caller) -> Option<Vec<String>> {
    let person = caller.person.as_ref().filter(|_| !caller.may(Scope::TasksAdmin))?;
    Some(person.names())
}

/// Whether a caller sees a review.
pub(super) fn sees(caller: &Caller, row: &ReviewRow) -> bool {
    let Some(person) = caller.person.as_ref().filter(|_| !caller.may(Scope::TasksAdmin)) else { return true };
    row.owner == owner(caller) || person.is_addressed(&row.review)
}

/// `GET /v1/reviews`
pub(super) fn list(service: &Service, request: &Request) -> Result<Answer, Problem> {
    let ReviewsQuery { reviewer, state, agent, after } = request.query()?;
    let state = match state.as_deref() {
        None => Some(ReviewState::Open),
        Some("all") => None,
        Some(word) => {
            let state = ReviewState::parse(word);
            Some(state.ok_or_else(|| Problem::new(Kind::BadRequest, messages::review_state()))?)
        }
    };
    let (namespace, agent) = match agent.as_deref().map(|agent| (agent, agent.split_once('/'))) {
        None => (None, None),
        Some((_, Some((namespace, name)))) => (Some(namespace), Some(name)),
        Some((name, None)) => (None, Some(name)),
    };
    let (owner, names) = (owner(&request.caller), names_of(&request.caller));
    let seen_by = names.as_ref().map(|names| ReviewViewer { owner: &owner, names });
    let filter = ReviewFilter { seen_by, reviewer: reviewer.as_deref(), state, namespace, agent };
    let tasks = &service.tasks;
    let found = tasks.store.reviews(&filter, after.unwrap_or_default(), tasks.page);
    let (rows, is_cut) = found.map_err(|error| tasks.problem(&error))?;
    let next = rows.last().filter(|_| is_cut).map(|last| last.number);
    Answer::json(200, &ReviewPage { reviews: rows.into_iter().map(|row| row.review).collect(), next })
}

/// `GET /v1/reviews/{review}`
pub(super) fn read(service: &Service, request: &Request) -> Result<Answer, Problem> {
    Answer::json(200, &seen(service, request)?.review)
}

/// `GET /v1/reviews/stream`, which `review_stream` answers before any function of a route is asked.
pub(super) fn streamed(_: &Service, _: &Request) -> Result<Answer, Problem> {
    Err(Kind::Internal.into())
}

/// The review of a request, if its caller sees it.
fn seen(service: &Service, request: &Request) -> Result<ReviewRow, Problem> {
    let tasks = &service.tasks;
    let found = tasks.store.review(&request.id).map_err(|error| tasks.problem(&error))?;
    found.filter(|row| sees(&request.caller, row)).ok_or_else(|| Kind::UnknownReview.into())
}

/// `POST /v1/reviews/{review}`
pub(super) fn answer(service: &Service, request: &Request) -> Result<Answer, Problem> {
    let limits = &service.settings.limits.store.engine;
    let body: AnswerReview = request.read(limits)?;
    body.check(limits.max_reason_bytes)?;
    let row = seen(service, request)?;
    let by = answering(&request.caller, &row.review, body.answer)?;
    if body.digest.as_ref().is_some_and(|digest| *digest != row.review.digest) {
        return Err(Kind::ReviewChanged.into());
    }
    if row.review.state != ReviewState::Open {
        return body.once_more(row.review, by.as_ref());
    }
    if row.review.has_expired(service.now()) {
        return Err(Kind::ReviewClosed.into());
    }
    let step = Answering { body: &body, question: row.review.question, by: by.clone() };
    let of_task = Request {
        caller: request.caller.clone(),
        target: request.target.clone(),
        id: row.review.task.clone(),
        part: String::new(),
        query: String::new(),
        body: request.body.clone(),
        // the same answer twice is one answer, by whatever key it comes
        key: None,
        headers: Vec::new(),
    };
    let taken = service.tasks.step_of(&row.owner, &of_task, &step);
    let present = seen(service, request)?.review;
    match (taken, present.state) {
        (Ok(_), ReviewState::Open) => Err(Kind::TurnedAway.into()),
        (Ok(_), _) => body.once_more(present, by.as_ref()),
        // somebody else was first
        (Err(problem), state) if problem.kind == Kind::NothingAsked && state != ReviewState::Open => {
            body.once_more(present, by.as_ref())
        }
        (Err(problem), _) => Err(problem),
    }
}

/// Who answers, if they may. Where nobody has to say who they are, whoever asks may answer, and nobody is known.
fn answering(
    caller: &Caller,
    review: &StoredReview,
    choice: ReviewChoice,
) -> Result<Option<ReviewBy>, Problem> {
    let Some(person) = &caller.person else { return Ok(None) };
    if !person.is_addressed(review) {
        return Err(Kind::NotAddressed.into());
    }
    if choice != ReviewChoice::Deny && person.is_own_judge(review) {
        return Err(Kind::OwnJudge.into());
    }
    Ok(Some(person.by(false)))
}

impl AnswerReview {
    /// Whether its parts go together.
    fn check(&self, most: usize) -> Result<(), Problem> {
        let fits = match self.answer {
            ReviewChoice::Approve | ReviewChoice::Deny => self.arguments.is_none() && self.result.is_none(),
            ReviewChoice::Edit => self.arguments.is_some() && self.result.is_none(),
            ReviewChoice::Respond => self.arguments.is_none() && self.result.is_some(),
        };
        let is_short = self.note.as_ref().is_none_or(|note| note.len() <= most);
        match (fits, is_short) {
            (true, true) => Ok(()),
            (false, _) => Err(Problem::new(Kind::BadRequest, messages::review_answer())),
            (true, false) => Err(Problem::new(Kind::BadRequest, messages::bad_note(most))),
        }
    }

    /// A digest of the arguments or of the result that it brings.
    fn digest(&self) -> Option<String> {
        let brought = self.arguments.as_ref().or(self.result.as_ref())?;
        Some(Digest::of(brought.to_string().as_bytes()).to_string())
    }

    /// The answer to one that came before: the same if it was the same, by the same person.
    fn once_more(&self, review: StoredReview, by: Option<&ReviewBy>) -> Result<Answer, Problem> {
        let is_same = review.answered.as_ref().is_some_and(|answered| {
            answered.answer == self.answer && answered.by.as_ref() == by && answered.digest == self.digest()
        });
        if !is_same {
            return Err(Kind::ReviewClosed.into());
        }
        let decision = review.answered.as_ref().and_then(|answered| answered.decision);
        Answer::json(200, &ReviewedReview { review, decision })
    }
}

/// An answer to a review, as a step of its task.
struct Answering<'a> {
    body: &'a AnswerReview,
    question: QuestionId,
    by: Option<ReviewBy>,
}

impl StepBody for Answering<'_> {
    fn operation(&self) -> OperationKind {
        OperationKind::Review
    }

    fn answered(&self, _: &Task, _: &Caller, now: Timestamp) -> Option<(QuestionId, ReviewAnswered)> {
        let AnswerReview { answer, note, .. } = self.body;
        let answered = ReviewAnswered {
            answer: *answer,
            by: self.by.clone(),
            at: now.to_string(),
            note: note.clone(),
            digest: self.body.digest(),
            decision: None,
        };
        Some((self.question, answered))
    }

    fn take(&self, task: &mut Task, at: &Circumstances<'_>) -> Result<Progress, Problem> {
        let approved = match self.body.answer {
            ReviewChoice::Approve => true,
            ReviewChoice::Deny => false,
            ReviewChoice::Edit | ReviewChoice::Respond => return Err(Kind::WrongAnswer.into()),
        };
        Ok(task.answer(self.question, task::Answer::Review(approved), at.now)?.into_progress())
    }
}
