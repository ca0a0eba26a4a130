//! A review as it is stored and told: what a person is asked about a task, and what they said.
//!
//! Plain data. `reviews` makes rows of it, and finds them again.

use crate::row_digest::digest;
use celador::cel::{Json, Timestamp};
use celador::policy::ReviewPanel;
use celador::task::{Identity, QuestionId, ReviewState, ReviewWord, Reviewed, VerdictKind};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The longest name of a reviewer that is kept as it is, in bytes: databases bound what an index holds.
const MAX_NAME_BYTES: usize = 512;

/// The open reviews of a task as they are stored, by question.
pub(super) type OpenReviews = BTreeMap<QuestionId, String>;

/// A question of a task to a person, with all that they need to answer it.
///
/// Places that a manifest marks as secret hold `***`: the store has the review as it is shown.
///
/// ```
/// use celador::task::{Answer, Identity, ReviewAnswer, ReviewChoice, ReviewState, ReviewWord};
/// use celador::{Call, Engine, EngineLimits, StartTask, User};
/// use celador_store::{
///     Database, Location, NewEvent, OperationKind, Owner, ReviewAnswered, ReviewFilter, ReviewRow, ReviewRule, ReviewViewer,
///     ReviewedAgent, ReviewedUser, StoreLimits, StoredReview, StoredTasks,
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
/// let StoredReview { id, question, agent, user, rule, .. } = review;
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
    /// The person or group that is asked, as the policy names them; of several people what `panel` says, in a text.
    pub reviewer: String,
    /// The people, where a policy asks several. Absent if it asks one person or group.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub panel: Option<ReviewPanel>,
    /// The people of the panel who have approved, in the order in which they did. Absent while nobody has.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub approvals: Vec<ReviewAnswered>,
    /// How many people a panel needs, and how many of these have approved. Absent if one person or group is asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub progress: Option<ReviewProgress>,
    /// The time when it was asked: RFC 3339.
    pub asked_at: String,
    /// The time after which it counts as denied: RFC 3339; null if it waits for ever.
    pub expires_at: Option<String>,
    /// A digest of what is approved, the arguments and the steps of the call: 64 hexadecimal digits.
    pub digest: String,
    /// The answer; null while it is open, and of a review that nobody answered.
    pub answered: Option<ReviewAnswered>,
}

/// How far a panel has come.
///
/// ```
/// use celador::policy::ReviewPanel;
/// use celador_store::ReviewProgress;
///
/// let asked = serde_json::json!({"all_of": ["group:legal", {"any_of": ["group:leads"], "at_least": 2}]});
/// let panel = ReviewPanel::read(celador::Json::from(&asked).root())?;
/// let lead = ["group:leads".to_owned()];
/// // three leads are two of three: nobody of the group `legal` is among them
/// let ReviewProgress { approved, needed } = ReviewProgress::of(&panel, &[&lead, &lead, &lead]);
/// assert_eq!((approved, needed), (2, 3));
/// # Ok::<(), String>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ReviewProgress {
    /// How many of those who are needed have approved. Somebody for whose part there is no need any more does not count.
    pub approved: usize,
    /// How many people have to approve.
    pub needed: usize,
}

impl ReviewProgress {
    /// Of a panel, and of the people who have approved, each given by the names of the panel that are theirs.
    #[must_use]
    pub fn of(panel: &ReviewPanel, people: &[&[String]]) -> Self {
        Self { approved: panel.filled(people), needed: panel.people() }
    }
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
    /// The names of the panel by which the answer counts. Absent where one person or group is asked.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub addressed_as: Vec<String>,
    /// What became of the operation that asked.
    #[serde(default)]
    pub decision: Option<VerdictKind>,
}

/// Who answered a review.
#[cfg(feature = "schema")]
#[derive(Serialize, schemars::JsonSchema)]
struct ReviewedBy {
    /// The issuer of their token; null of a token of the server's file.
    issuer: Option<String>,
    /// The name that the issuer, or the file, has for them.
    subject: String,
    /// Their e-mail address, if the issuer says that it is verified.
    email: Option<String>,
}

impl StoredReview {
    /// The names of those who are asked: ids, e-mail addresses and groups, as the policy has them.
    pub fn addressees(&self) -> impl Iterator<Item = &str> {
        let one = self.panel.is_none().then_some(&*self.reviewer);
        one.into_iter().chain(self.panel.iter().flat_map(|panel| panel.names().map(String::as_str)))
    }

    /// Whether it was to be answered by this time.
    #[must_use]
    pub fn has_expired(&self, now: Timestamp) -> bool {
        let expires = self.expires_at.as_deref().and_then(|at| at.parse::<Timestamp>().ok());
        expires.is_some_and(|expires| expires <= now)
    }
}

impl ReviewAnswered {
    /// An answer as a store has it: with what became of its operation, and whether the runtime of the task passed it on.
    pub(super) fn of(
        Reviewed { answer, at }: Reviewed,
        decision: Option<VerdictKind>,
        passed_on: bool,
    ) -> Self {
        let word = answer.choice.word();
        Self {
            answer: word,
            by: answer.by,
            passed_on,
            at: at.to_string(),
            note: answer.note,
            addressed_as: answer.addressed_as,
            decision,
        }
    }
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
