//! Reviews as rows, written with the event that opens or closes them.
//!
//! In: the reviews of a task after a step. Out: the rows that differ from those of before, in the transaction of the step. The
//! order in which reviews are asked and change is one count, whose row every writer of reviews takes last in its transaction: so a
//! number is never seen before a smaller one.

use super::owner::Owner;
use super::review::{OpenReviews, reviewer_name};
use super::task_records::TaskHead;
use crate::row_digest::digest;
use crate::{Row, Sql, SqlValue, StoreError, messages};
use celador::task::{QuestionId, ReviewRecord, ReviewState};
use std::collections::BTreeSet;
use std::sync::Arc;

/// The columns of `review`, in the order in which [`ReviewRow::read`] takes them.
pub(super) const REVIEW: &str = "id, owner, task, question, state, reviewer, namespace, agent, user_id, asked_at, expires_at, \
     version, number, changed, content, digest";

/// The name of the count of changes.
pub(super) const CHANGES: &str = "changes";

/// A review that is stored, as it is shown: places that a manifest marks as secret hold `***`.
///
/// ```
/// use celador::task::{
///     Answer, Identity, ReviewAnswer, ReviewAnswered, ReviewChoice, ReviewRecord, ReviewRule, ReviewState, ReviewWord, ReviewedAgent,
///     ReviewedUser,
/// };
/// use celador::{Call, Engine, EngineLimits, StartTask, User};
/// use celador_store::{
///     Database, Location, NewEvent, OperationKind, Owner, ReviewFilter, ReviewRow, ReviewViewer, StoreLimits, StoredTasks,
/// };
/// # std::env::set_current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))?;
/// # let engine = Engine::open(&["examples/first-policy"], EngineLimits::default())?;
/// # let now: celador::Timestamp = "2026-06-01T12:00:00Z".parse()?;
/// # let limits = StoreLimits::default();
/// # let tasks = StoredTasks::new(Database::open(&Location::Memory, &limits)?, &limits);
///
/// let (desk, user) = (Owner::caller("desk"), User { id: "u-7".into(), email: None, ..User::default() });
/// let mut task = engine.start(StartTask::new("t-1", "shop", "clerk", user, now))?;
/// let head = tasks.create(&desk, &task, now, None)?;
/// let before = task.mark();
/// let call = Call { id: None, function: "payout".into(), arguments: serde_json::json!({"amount": 250}).into() };
/// assert!(!task.before(&call, now)?.outcome().is_allowed());
/// let operation = OperationKind::Before;
/// let step = NewEvent { operation, at: now, task: &task, before: &before, decision: None, once: None };
/// let head = tasks.append(&head, &step)?;
///
/// // what waits for the lead; somebody else sees none of it
/// let open = |names: &[String]| {
///     let seen_by = Some(ReviewViewer { owner: &Owner::caller("somebody"), names });
///     tasks.reviews(&ReviewFilter { seen_by, state: Some(ReviewState::Open), ..ReviewFilter::default() }, 0, 10)
/// };
/// assert_eq!(open(&["kim@example.com".into()])?.0, []);
/// let (rows, is_cut) = open(&["lead@example.com".into()])?;
/// let [ReviewRow { owner, review, .. }] = &*rows else { panic!("one review waits") };
/// assert_eq!((owner, is_cut), (&desk, false));
/// let ReviewRecord { id, question, agent, user, rule, .. } = review;
/// assert_eq!((agent, user), (
///     &ReviewedAgent { namespace: "shop".into(), name: "clerk".into() },
///     &ReviewedUser { id: "u-7".into(), email: None },
/// ));
/// let ReviewRule { line, .. } = rule.as_ref().ok_or("a step asks")?;
/// assert_eq!(*line, 17);
///
/// // the lead approves; the row says so from the moment when the step is stored
/// let before = task.mark();
/// let by = Some(Identity { issuer: None, subject: "lead".into(), email: Some("lead@example.com".into()) });
/// let answer = ReviewAnswer { choice: ReviewChoice::Approve, by, note: None, addressed_as: Vec::new() };
/// let decision = task.answer(*question, Answer::Review(answer), now)?.outcome().into_decision();
/// let operation = OperationKind::Review;
/// let step = NewEvent { operation, at: now, task: &task, before: &before, decision: Some(&decision), once: None };
/// tasks.append(&head, &step)?;
/// let closed = tasks.review(id)?.ok_or("it is there as long as its task")?.review;
/// let ReviewAnswered { answer, decision, .. } = closed.answered.ok_or("it was answered")?;
/// assert_eq!((closed.state, answer), (ReviewState::Approved, ReviewWord::Approve));
/// assert!(decision.is_some_and(|verdict| verdict.as_str() == "allow"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct ReviewRow {
    /// The owner of its task.
    pub owner: Owner,
    /// The number of the event of its task that opened or closed it last.
    pub version: u64,
    /// Its place in the order in which reviews were asked.
    pub number: u64,
    /// Its place in the order in which reviews changed.
    pub changed: u64,
    /// The review.
    pub review: ReviewRecord,
}

/// A review that a step opens or closes, as its row.
#[derive(Debug)]
pub(super) struct ReviewWrite {
    row: ReviewColumns,
    digest: String,
}

/// What of a row the digest is of.
#[derive(Debug)]
struct ReviewColumns {
    id: String,
    owner: String,
    task: String,
    question: u64,
    state: String,
    reviewer: String,
    namespace: String,
    agent: String,
    user_id: String,
    asked_at: String,
    expires_at: Option<String>,
    version: u64,
    content: String,
}

/// What parts the names of a review that is addressed to several. No name has one: names of several are without control characters.
pub(super) const BETWEEN: &str = "\n";

/// The names to which a review is addressed, as they are looked for: one name, or several with [`BETWEEN`] around each.
fn asked(review: &ReviewRecord) -> String {
    match &review.panel {
        None => reviewer_name(&review.reviewer),
        Some(panel) => {
            let names = panel.names().map(|name| reviewer_name(name) + BETWEEN);
            names.fold(BETWEEN.to_owned(), |all, name| all + &name)
        }
    }
}

impl ReviewColumns {
    fn of(owner: &Owner, version: u64, review: &ReviewRecord) -> Result<Self, StoreError> {
        let content = content_of(review)?;
        Ok(Self {
            id: review.id.clone(),
            owner: owner.as_str().to_owned(),
            task: review.task.clone(),
            question: review.question.0.into(),
            state: review.state.as_str().to_owned(),
            reviewer: asked(review),
            namespace: review.agent.namespace.clone(),
            agent: review.agent.name.clone(),
            user_id: review.user.id.replace('\0', "\u{fffd}"),
            asked_at: review.asked_at.clone(),
            expires_at: review.expires_at.clone(),
            version,
            content,
        })
    }

    fn digest(&self) -> String {
        let Self { id, owner, task, question, state, reviewer, namespace, agent, .. } = self;
        let Self { user_id, asked_at, expires_at, version, content, .. } = self;
        let (question, version) = (question.to_string(), version.to_string());
        let expires = expires_at.as_deref().unwrap_or_default();
        digest(&[
            id, owner, task, &question, state, reviewer, namespace, agent, user_id, asked_at, expires,
            &version, content,
        ])
    }
}

impl ReviewRow {
    /// The review of a row, if it is what was written.
    pub(super) fn read(row: &Row) -> Result<Self, StoreError> {
        let text = |column| row.text(column).map(str::to_owned);
        let columns = ReviewColumns {
            id: text(0)?,
            owner: text(1)?,
            task: text(2)?,
            question: row.count(3)?,
            state: text(4)?,
            reviewer: text(5)?,
            namespace: text(6)?,
            agent: text(7)?,
            user_id: text(8)?,
            asked_at: text(9)?,
            expires_at: row.optional_text(10)?.map(str::to_owned),
            version: row.count(11)?,
            content: text(14)?,
        };
        let altered = || StoreError::Corrupt(messages::altered_review(&columns.id));
        if row.text(15)? != columns.digest() {
            return Err(altered());
        }
        let review: ReviewRecord = serde_json::from_str(&columns.content).map_err(|_| altered())?;
        let owner = Owner::caller(&columns.owner);
        Ok(Self { owner, version: columns.version, number: row.count(12)?, changed: row.count(13)?, review })
    }
}

/// The id of a review.
///
/// ```
/// use celador::task::QuestionId;
/// use celador_store::{Owner, review_id};
///
/// let id = review_id(&Owner::caller("desk"), "t-1", QuestionId(0));
/// assert!(id.starts_with("rv_") && id.len() == 35);
/// assert_ne!(id, review_id(&Owner::caller("desk"), "t-1", QuestionId(1)));
/// ```
#[must_use]
pub fn review_id(owner: &Owner, task: &str, question: QuestionId) -> String {
    let digest = digest(&["review", owner.as_str(), task, &question.0.to_string()]);
    format!("rv_{}", digest.get(..32).unwrap_or_default())
}

fn content_of(review: &ReviewRecord) -> Result<String, StoreError> {
    serde_json::to_string(review).map_err(|_| StoreError::NotStorable(messages::NOT_JSON))
}

/// The rows that a step writes, and the reviews that are open behind it. In: the head in front of the step, the version of the
/// step, and the reviews that the task knows then. One that was open and is not known any more was withdrawn.
pub(super) fn writes(
    head: &TaskHead,
    version: u64,
    known: Vec<ReviewRecord>,
) -> Result<(Vec<ReviewWrite>, Arc<OpenReviews>), StoreError> {
    if known.is_empty() && head.reviews.is_empty() {
        return Ok((Vec::new(), head.reviews.clone()));
    }
    let (mut changed, mut open) = (Vec::new(), OpenReviews::new());
    let mut left = OpenReviews::clone(&head.reviews);
    for review in known {
        let stored = left.remove(&review.question);
        if review.state == ReviewState::Open {
            let content = content_of(&review)?;
            let is_same = stored.is_some_and(|stored| stored == content);
            open.insert(review.question, content);
            if is_same {
                continue;
            }
        } else if stored.is_none() {
            // closed by an earlier step, and stored with that
            continue;
        }
        changed.push(review);
    }
    for content in left.into_values() {
        let review: ReviewRecord = serde_json::from_str(&content)
            .map_err(|_| StoreError::Corrupt(messages::altered_task(head.id())))?;
        changed.push(ReviewRecord { state: ReviewState::Withdrawn, ..review });
    }
    let row = |review: &ReviewRecord| {
        let row = ReviewColumns::of(head.owner(), version, review)?;
        Ok(ReviewWrite { digest: row.digest(), row })
    };
    Ok((changed.iter().map(row).collect::<Result<_, StoreError>>()?, Arc::new(open)))
}

/// Writes the rows of a step. Behind all else in its transaction: whoever holds the row of the count waits for nobody.
pub(super) fn put(sql: &mut Sql<'_>, writes: &[ReviewWrite]) -> Result<(), StoreError> {
    for ReviewWrite { row, digest } in writes {
        let last = sql.query_one(
            "INSERT INTO review_count (name, last) VALUES ($1, 1) \
             ON CONFLICT (name) DO UPDATE SET last = review_count.last + 1 RETURNING last",
            &[CHANGES.into()],
        )?;
        let number = last.ok_or_else(|| StoreError::Corrupt(messages::altered_review(&row.id)))?.count(0)?;
        let key = [(&row.id).into(), (&row.owner).into(), (&row.task).into(), row.question.into()];
        let facts = [
            (&row.state).into(),
            (&row.reviewer).into(),
            (&row.namespace).into(),
            (&row.agent).into(),
            (&row.user_id).into(),
            (&row.asked_at).into(),
            row.expires_at.as_ref().into(),
            row.version.into(),
        ];
        let end: [SqlValue<'_>; 4] =
            [number.into(), number.into(), (&row.content).into(), SqlValue::from(digest)];
        sql.execute(
            &format!(
                "INSERT INTO review ({REVIEW}) \
                 VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16) \
                 ON CONFLICT (id) DO UPDATE SET state = excluded.state, reviewer = excluded.reviewer, \
                 asked_at = excluded.asked_at, expires_at = excluded.expires_at, version = excluded.version, \
                 changed = excluded.changed, content = excluded.content, digest = excluded.digest"
            ),
            &[&key[..], &facts, &end].concat(),
        )?;
    }
    Ok(())
}

/// The open reviews of a task.
pub(super) fn open_of(sql: &mut Sql<'_>, owner: &Owner, task: &str) -> Result<OpenReviews, StoreError> {
    let statement = format!(
        "SELECT {REVIEW} FROM review WHERE owner = $1 AND task = $2 AND state = 'open' ORDER BY question"
    );
    let rows = sql.query(&statement, &[owner.as_str().into(), task.into()])?;
    rows.iter()
        .map(|row| {
            let review = ReviewRow::read(row)?.review;
            Ok((review.question, row.text(14)?.to_owned()))
        })
        .collect()
}

/// Tests the reviews behind an id, one page; the last of them, and how many there are.
pub(super) fn verify_page(
    sql: &mut Sql<'_>,
    after: &str,
    page: u64,
) -> Result<Option<(String, u64)>, StoreError> {
    let statement = format!("SELECT {REVIEW} FROM review WHERE id > $1 ORDER BY id LIMIT $2");
    let rows = sql.query(&statement, &[after.into(), page.into()])?;
    let Some(last) = rows.last() else { return Ok(None) };
    for row in &rows {
        let ReviewRow { owner, review, .. } = ReviewRow::read(row)?;
        let is_its_own = review.id == review_id(&owner, &review.task, review.question);
        let fits = review.id == row.text(0)? && review.state.as_str() == row.text(4)?;
        if !(is_its_own && fits) {
            return Err(StoreError::Corrupt(messages::altered_review(row.text(0)?)));
        }
    }
    Ok(Some((last.text(0)?.to_owned(), rows.len() as u64)))
}

/// Tests that a task has the reviews that it has asked for, unless it was purged meanwhile.
pub(super) fn verify_asked(
    sql: &mut Sql<'_>,
    owner: &Owner,
    task: &str,
    asked: &BTreeSet<QuestionId>,
) -> Result<(), StoreError> {
    if asked.is_empty() {
        return Ok(());
    }
    let key: [SqlValue<'_>; 2] = [owner.as_str().into(), task.into()];
    let rows = sql.query("SELECT id FROM review WHERE owner = $1 AND task = $2", &key)?;
    let stored: BTreeSet<&str> = rows.iter().map(|row| row.text(0)).collect::<Result<_, _>>()?;
    let ids = asked.iter().map(|question| review_id(owner, task, *question));
    let Some(lost) = ids.into_iter().find(|id| !stored.contains(&**id)) else { return Ok(()) };
    match sql.query_one("SELECT 1 FROM task WHERE owner = $1 AND id = $2", &key)? {
        Some(_) => Err(StoreError::Corrupt(messages::lost_review(&lost, task))),
        None => Ok(()),
    }
}
