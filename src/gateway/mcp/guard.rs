//! The task of a session: what its calls come to.
//!
//! In: tools of a server, calls, results, answers of people. Out: how each stands, in the words of a guard: it may run, it is refused with
//! a text for the model, a person is asked, it waits for others. Each is an operation of a task, so what a session may do is said by
//! the same rules wherever they run. What cannot be decided is refused.

use super::kinds::as_text;
use super::messages;
use celador::BroughtTool;
use celador::cel::Json;
use celador::task::{
    Answer, Call, CallResult, Decision, Operation, QuestionId, Ran, ReportedCall, Request, ReviewAnswer,
    ReviewChoice, ReviewRecord, Terms, User, Verdict,
};
use celador::unfit::unfit;
use celador_server::TaskBackend;
use celador_service::{
    BegunTask, CameTo, NewTask, OperationAnswer, ProblemKind, ReviewsQuery, ServiceError, StepTerms,
    TaskProgress, TaskService,
};
use serde_json::Value;
use std::sync::Arc;
use std::time::Duration;

/// How a call stands.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Standing {
    /// It runs with these arguments, or the model receives this result.
    Goes {
        value: Value,
        /// How long it is held back before it runs.
        delay: Duration,
    },
    /// It does not run; the model receives this in the place of its result.
    Answered(Value),
    /// It does not run, or its result is withheld; the text is for the model.
    Refused(String),
    /// A person is asked.
    Review(Asked),
    /// It waits for these calls.
    Waits(Vec<String>),
    /// It asks for what no guard does, or under terms that no guard knows; the text is for people.
    Beyond(&'static str),
}

/// A question to a person.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Asked {
    /// Its name in the task.
    pub(super) question: QuestionId,
    /// Whom.
    pub(super) reviewer: String,
    /// Whether several people are asked.
    pub(super) several: bool,
}

/// What a task is begun with.
pub(super) struct Start {
    pub(super) id: String,
    pub(super) agent: (String, String),
    pub(super) user: User,
    /// Tools as `tools/list` has them.
    pub(super) tools: Vec<Value>,
}

/// What a task made of its tools.
#[derive(Debug, Default)]
pub(super) struct Offers {
    /// The functions that may be called, each with its schema as the model is to see it.
    pub(super) functions: Vec<(String, Value)>,
    /// Tools that nobody can call, with the reason.
    pub(super) left_out: Vec<(String, String)>,
}

/// Why a task does not have tools that were brought.
pub(super) struct Unbrought {
    /// Whether it cannot have them together, whatever happens; otherwise they may be brought later.
    pub(super) is_unfit: bool,
    /// The reason, for people.
    pub(super) reason: String,
}

/// A task that has begun.
pub(super) struct Guard {
    desk: Arc<TaskBackend>,
    id: String,
}

/// Members of a tool that a task is told of. The others are between server and client.
const TOLD: [&str; 6] = ["name", "title", "description", "inputSchema", "outputSchema", "annotations"];

impl Guard {
    /// Begins a task, or finds the one that was begun with the same tools.
    ///
    /// # Errors
    /// The reason why there is none, for people.
    pub(super) async fn begin(desk: Arc<TaskBackend>, start: Start) -> Result<(Self, Offers), String> {
        let Start { id, agent: (namespace, agent), user, tools } = start;
        let new = NewTask {
            id: Some(id.clone()),
            namespace,
            agent: Some(agent),
            user,
            tools: told(&tools)?,
            ..NewTask::default()
        };
        let guard = Self { desk, id };
        let begun = guard.desk.begin(new).await.map_err(|error| not_done(&error))?;
        let offers = guard.offers(begun).await?;
        Ok((guard, offers))
    }

    /// Brings tools that the task does not know. Those that it knows as they are here are passed over.
    ///
    /// # Errors
    /// The reason why it has none of them.
    pub(super) async fn bring(&self, tools: &[Value]) -> Result<Offers, Unbrought> {
        let later = |reason| Unbrought { is_unfit: false, reason };
        let brought = self.desk.bring(&self.id, told(tools).map_err(later)?).await;
        let brought = brought.map_err(|error| Unbrought {
            is_unfit: error.kind() == Some(ProblemKind::InvalidTools),
            reason: not_done(&error),
        })?;
        self.offers(brought).await.map_err(later)
    }

    /// The functions of the task, and which of its tools were left out.
    async fn offers(&self, begun: BegunTask) -> Result<Offers, String> {
        let left_out = begun.left_out.into_iter().map(|left| (left.name, left.reason)).collect();
        let offers = self.desk.offers(&self.id).await.map_err(|error| not_done(&error))?;
        let functions = offers.functions.into_iter().map(|function| (function.name, function.schema));
        Ok(Offers { functions: functions.collect(), left_out })
    }

    /// A call is asked for.
    pub(super) async fn before(
        &self,
        call: &str,
        function: &str,
        arguments: &Value,
    ) -> Result<Standing, String> {
        self.step(Operation::Before(Call::new(function, arguments.into()).with_id(call))).await
    }

    /// A call has run.
    pub(super) async fn after(&self, call: &str, failed: bool, output: &Value) -> Result<Standing, String> {
        let output = Json::from(output);
        let result = if failed { CallResult::errored(output) } else { CallResult::successful(output) };
        self.step(Operation::After(ReportedCall { call: call.into(), result })).await
    }

    /// How a call stands, at the latest after a while.
    pub(super) async fn standing(&self, call: &str, wait: Duration) -> Result<Standing, String> {
        let stands = self.desk.standing(&self.id, &call.into(), wait).await;
        Ok(standing(stands.map_err(|error| not_done(&error))?))
    }

    /// Passes on what a person has answered.
    pub(super) async fn answer(&self, question: QuestionId, approves: bool) -> Result<Standing, String> {
        let choice = if approves { ReviewChoice::Approve } else { ReviewChoice::Deny };
        let answer = ReviewAnswer { choice, by: None, note: None, addressed_as: Vec::new() };
        self.step(Operation::Resume { question: Some(question), answer: Answer::Review(answer) }).await
    }

    /// Takes a call back. One that may have run is on record as that.
    pub(super) async fn withdraw(&self, call: &str, may_have_run: bool) {
        let ran = if may_have_run { Ran::Unknown } else { Ran::Never };
        // a call that is not there is as good as taken back
        let _ = self.step(Operation::Withdraw { call: call.into(), ran }).await;
    }

    /// Ends the task, as its session is over.
    pub(super) async fn end(&self) {
        let _ = self.step(Operation::End { reason: messages::SESSION_OVER.to_owned() }).await;
    }

    /// What a question is about: the sentence of the rule, the function and its arguments as the person may see them.
    pub(super) async fn question(&self, asked: &Asked) -> Option<ReviewRecord> {
        let is_it = |review: &ReviewRecord| review.task == self.id && review.question == asked.question;
        let mut query = ReviewsQuery::default();
        loop {
            let page = self.desk.reviews(query.clone()).await.ok()?;
            if let Some(found) = page.reviews.into_iter().find(is_it) {
                return Some(found);
            }
            query.after = Some(page.next?);
        }
    }

    async fn step(&self, operation: Operation) -> Result<Standing, String> {
        let taken = self.desk.take(&self.id, operation, StepTerms::default()).await;
        match taken.map_err(|error| not_done(&error))? {
            OperationAnswer::One(progress) => Ok(standing(progress)),
            // no operation of a guard is about several calls
            OperationAnswer::Several(_) => Ok(Standing::Refused(messages::UNREADABLE.to_owned())),
        }
    }
}

/// Tools as a task is told of them.
fn told(tools: &[Value]) -> Result<Vec<BroughtTool>, String> {
    let told = |tool: &Value| {
        let members = TOLD.iter().filter_map(|name| Some(((*name).to_owned(), tool.get(name)?.clone())));
        let told = serde_json::from_value(Value::Object(members.collect()));
        told.map_err(|error| messages::unfit_tool(&unfit(&error)))
    };
    tools.iter().map(told).collect()
}

/// Why something was not done, for people.
fn not_done(error: &ServiceError) -> String {
    match error {
        ServiceError::Problem(problem) => messages::not_done(problem),
        ServiceError::NoAnswer(error) => messages::no_answer(error),
    }
}

/// How a call stands by the answer to a step of it.
fn standing(progress: TaskProgress<'static>) -> Standing {
    let decided = match progress.came_to {
        CameTo::Asks { asks, question, .. } => {
            return match asks.into_owned() {
                Request::Review { reviewer, panel } => {
                    Standing::Review(Asked { question, reviewer, several: panel.is_some() })
                }
                _ => Standing::Beyond(messages::ASKS_FOR_MORE),
            };
        }
        CameTo::Decided { decided } => decided.into_owned(),
    };
    if let Some(why) = replaced_by_misfit(&decided) {
        return Standing::Refused(why);
    }
    if let Some(why) = withheld_misfit(&decided) {
        return Standing::Refused(why);
    }
    match decided.verdict {
        Verdict::Allow(allowed) => match held_back_for(allowed.terms.as_deref()) {
            Ok(delay) => Standing::Goes { value: allowed.value.map_or(Value::Null, value_of), delay },
            Err(beyond) => Standing::Beyond(beyond),
        },
        Verdict::Respond { value, .. } => Standing::Answered(value.map_or(Value::Null, value_of)),
        Verdict::Wait { waits_for, .. } => {
            Standing::Waits(waits_for.iter().map(ToString::to_string).collect())
        }
        verdict => {
            let said = verdict.message().filter(|text| !text.is_empty());
            Standing::Refused(said.unwrap_or(messages::REFUSED).to_owned())
        }
    }
}

fn value_of(json: Json) -> Value {
    serde_json::to_value(&json).unwrap_or_default()
}

/// The text in the place of a result that is withheld because it does not fit the schema of its tool.
fn withheld_misfit(decided: &Decision) -> Option<String> {
    let Verdict::Allow(allowed) = &decided.verdict else { return None };
    let is_found = decided.findings.iter().any(|finding| finding.code == "output_misfit");
    let error = allowed.value.as_ref()?.root().get("error")?.as_str()?;
    is_found.then(|| error.to_owned())
}

/// The text in the place of a result that a rule or a reviewer has replaced by one that does not fit the schema of its tool. Clients hold results to
/// that schema, and fail on one that breaks it; a text with `isError` is held to nothing.
fn replaced_by_misfit(decided: &Decision) -> Option<String> {
    let finding = decided.findings.iter().find(|finding| finding.code == "result_misfit")?;
    match &decided.verdict {
        Verdict::Allow(_) => Some(messages::misfit(&finding.message)),
        // what somebody has said in the tool's place is for the model
        Verdict::Respond { value, .. } => value.clone().map(|value| as_text(&value_of(value))),
        _ => None,
    }
}

/// How long a call is held back, if that is all that is asked for.
fn held_back_for(terms: Option<&Terms>) -> Result<Duration, &'static str> {
    let Some(terms) = terms else { return Ok(Duration::ZERO) };
    if !terms.obligations.is_empty() || !terms.credentials.is_empty() {
        return Err(messages::UNKNOWN_TERMS);
    }
    Ok(Duration::from_millis(terms.delay_ms.unwrap_or_default()))
}
