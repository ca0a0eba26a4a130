//! A review as it is shown and kept: what a person is asked about a task, and what they said, with its secrets masked.
//!
//! In: a review of a task. Out: plain data that says of which task, agent and user it is, so that it can stand in a list of many.

use super::call_id::CallId;
use super::effect::{CallStatus, QuestionId};
use super::review::{Review, ReviewState, Reviewed, Rule};
use super::review_answer::{Identity, ReviewWord};
use super::task::Task;
use super::verdict::VerdictKind;
use crate::cel::{Json, Timestamp};
use crate::policy::{Policy, ReviewPanel};
use serde::{Deserialize, Serialize};

/// A question of a task to a person, with all that they need to answer it. Places that a manifest marks as secret hold `***`.
///
/// ```
/// use celador::task::{ReviewAnswered, ReviewRecord, ReviewRule, ReviewedAgent, ReviewedUser};
/// use celador::{Call, Engine, EngineLimits, StartTask, User};
/// # std::env::set_current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))?;
/// # let engine = Engine::open(&["examples/first-policy"], EngineLimits::default())?;
/// # let now = std::time::SystemTime::UNIX_EPOCH;
/// let user = User { id: "u-7".into(), ..User::default() };
/// let mut task = engine.start(StartTask::new("t-1", "shop", "clerk", user, now))?;
/// task.before(&Call::new("payout", serde_json::json!({"amount": 250}).into()), now)?;
///
/// let asked = task.reviews().next().ok_or("250 needs a review")?;
/// let ReviewRecord { id, agent, user, rule, answered, .. } = ReviewRecord::of(&task, asked, "r-1".into());
/// assert_eq!((&*id, agent), ("r-1", ReviewedAgent { namespace: "shop".into(), name: "clerk".into() }));
/// assert_eq!(user, ReviewedUser { id: "u-7".into(), email: None });
/// let ReviewRule { line, .. } = rule.ok_or("a step asks")?;
/// assert_eq!((line, answered.map(|ReviewAnswered { at, .. }| at)), (17, None));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "Review"))]
pub struct ReviewRecord {
    /// Its id. In a store and on a server it is made of the owner, the task and the question: `rv_` and 32 hexadecimal digits.
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
    pub call: Option<CallId>,
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
/// use celador::task::ReviewProgress;
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

impl ReviewRecord {
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

impl ReviewRecord {
    /// A review of a task under an id, which is the host's. Nothing is known of the decision of an answer, nor whether a runtime passed it on.
    #[must_use]
    pub fn of(task: &Task, review: Review, id: String) -> Self {
        let policy = task.policy();
        let agent = policy.agent();
        let (user, email) = task.context().user();
        let of = review.function.as_deref().unwrap_or_default();
        let arguments =
            review.arguments.map(|arguments| masked(policy, arguments, |it| policy.masked_arguments(of, it)));
        let of_result = |it: &Json| policy.masked_result(of, CallStatus::Successful, it);
        let result = review.result.map(|result| masked(policy, result, of_result));
        let people: Vec<&[String]> = review.approvals.iter().map(|it| &*it.answer.addressed_as).collect();
        let progress = review.panel.as_ref().map(|panel| ReviewProgress::of(panel, &people));
        Self {
            id,
            state: review.state,
            task: task.id().to_owned(),
            question: review.question,
            agent: ReviewedAgent {
                namespace: agent.namespace.text.to_string(),
                name: agent.name.text.to_string(),
            },
            user: ReviewedUser { id: user.to_owned(), email: email.map(str::to_owned) },
            call: review.call,
            step: review.step.map(|step| step.to_string()),
            arguments,
            result,
            message: review.message.as_ref().map(text_of),
            text: review.text,
            rule: review.rule.map(|Rule { expression, origin }| ReviewRule {
                expression,
                file: origin.file,
                line: origin.line as u64,
                column: origin.column as u64,
            }),
            reviewer: review.reviewer,
            panel: review.panel,
            progress,
            approvals: review.approvals.into_iter().map(ReviewAnswered::from).collect(),
            asked_at: review.asked_at.map(|at| at.to_string()).unwrap_or_default(),
            expires_at: review.expires_at.map(|at| at.to_string()),
            digest: review.digest.to_string(),
            answered: review.answered.map(ReviewAnswered::from),
            function: review.function,
        }
    }
}

impl From<Reviewed> for ReviewAnswered {
    fn from(Reviewed { answer, at }: Reviewed) -> Self {
        Self {
            answer: answer.choice.word(),
            by: answer.by,
            passed_on: false,
            at: at.to_string(),
            note: answer.note,
            addressed_as: answer.addressed_as,
            decision: None,
        }
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
