//! Tasks as a service: one trait for what a program wants of tasks, whether they are in this process or on a server.
//!
//! In: operations of tasks, as values. Out: what they came to, as the types of the HTTP API. [`TaskService`] is the trait. [`RemoteTasks`] asks a
//! server; `celador-server` has the implementation over a store. Nothing here decides.
//!
//! | module | what it holds |
//! |---|---|
//! | `task_service` | the trait |
//! | `new_task`, `begun_task` | a task to begin, and one that has begun |
//! | `progress` | how far an operation came, or several calls |
//! | `standing` | a task as it is now |
//! | `offers` | what the model is offered, and which messages are judged |
//! | `context_page`, `event_page` | its context as expressions see it, and what has happened to it, a page at a time |
//! | `expression` | expressions that are tried out on it, and what is to be explained |
//! | `purged_task` | what is left of one that was purged |
//! | `review_page` | reviews, a page at a time, and one that is answered |
//! | `problem` | the kinds of problems, one row each, and their form on the wire |
//! | `remote`, `client`, `kept_client` | requests to a server |
//!
//! A clerk may pay 40, asks the lead for 250, and 2,000 is too much for anybody:
//!
//! ```
//! use celador::task::{Call, Operation, ReviewReply, ReviewWord, Turn, Usage, User, VerdictKind};
//! use celador_server::{InProcess, Parts, Settings, system_clock};
//! use celador_service::{
//!     BegunTask, CallProgress, CameTo, CheckedExpression, ClosedReview, ContextPage, ContextQuery, CostBounds, EventPage, Explain,
//!     ExpressionOutcome, FailedExpression, Findings, Hold, JudgedMessages, LackingValue, NewTask, OfferedFunction, Offers, OperationAnswer,
//!     Person, PolicyStanding, ProblemKind, PurgedTask, ReviewPage, ReviewedReview, ReviewsQuery, ServiceError, SeveralCalls,
//!     ShortenedValue, StepTerms, TaskEvent, TaskExpression, TaskProgress, TaskService, TaskStanding, WayOut,
//! };
//! use celador_store::{Database, Location};
//! # std::env::set_current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))?;
//! # let runtime = tokio::runtime::Builder::new_current_thread().build()?;
//!
//! let settings = Settings::new(vec!["examples/first-policy".into()]);
//! let database = Database::open(&Location::Memory, &settings.limits.store)?;
//! let tasks = InProcess::open(settings, Parts { clock: system_clock()?, database, log: None })?;
//! # runtime.block_on(async {
//! let user = User { id: "u-7".into(), ..User::default() };
//! let new = NewTask { id: Some("t-1".into()), namespace: "shop".into(), agent: Some("clerk".into()), user, ..NewTask::default() };
//! let BegunTask { version, .. } = tasks.begin(new).await?;
//! assert_eq!(version, 1);
//! let Offers { functions, judged: JudgedMessages { outputs, .. } } = tasks.offers("t-1").await?;
//! let [OfferedFunction { name, .. }] = &*functions else { panic!("a clerk pays, and nothing else") };
//! assert_eq!((&**name, outputs), ("payout", false));
//!
//! // a turn of the model with three calls
//! let pay = |amount: i64| Call::new("payout", serde_json::json!({"amount": amount}).into()).with_id(format!("c-{amount}"));
//! let turn = Turn { usage: Usage::default(), calls: vec![pay(40), pay(250), pay(2_000)] };
//! let answer = tasks.take("t-1", Operation::Turn(turn), StepTerms::default()).await?;
//! let OperationAnswer::Several(SeveralCalls { calls, .. }) = answer else { panic!("it is a turn") };
//! let verdicts: Vec<_> = calls.iter().map(|CallProgress { decision, .. }| decision.verdict.kind()).collect();
//! assert_eq!(verdicts, [VerdictKind::Allow, VerdictKind::Suspend, VerdictKind::Block]);
//!
//! // the lead approves, and the clerk may not
//! let ReviewPage { reviews, .. } = tasks.reviews(ReviewsQuery::default()).await?;
//! let reply = ReviewReply::new(ReviewWord::Approve);
//! let answered = tasks.answer_review(&reviews[0].id, reply.clone(), Some(Person { id: "u-8".into(), ..Person::default() })).await;
//! assert_eq!(answered.map_err(|error: ServiceError| error.kind()), Err(Some(ProblemKind::NotAddressed)));
//! let lead = Person { id: "u-9".into(), email: Some("lead@example.com".into()), groups: Vec::new() };
//! let ReviewedReview { decision, .. } = tasks.answer_review(&reviews[0].id, reply, Some(lead)).await?;
//! assert_eq!(decision, Some(VerdictKind::Allow));
//! let TaskProgress { came_to, .. } = tasks.standing("t-1", &"c-250".into(), std::time::Duration::ZERO).await?;
//! assert!(matches!(came_to, CameTo::Decided { decided } if decided.is_allowed()));
//!
//! // the task as it is, what has happened to it, and why
//! let TaskStanding { policy: PolicyStanding { held, current, .. }, lacking, .. } = tasks.state("t-1").await?;
//! assert!(current && held.is_none_or(|Hold { can, .. }| can == [WayOut::Purge]));
//! assert!(lacking.iter().all(|LackingValue { calls, .. }| *calls > 0));
//! let EventPage { events, .. } = tasks.events("t-1", None).await?;
//! let approved = events.iter().filter(|TaskEvent { reviews, .. }| matches!(&**reviews, [ClosedReview { .. }]));
//! assert_eq!(approved.count(), 1);
//! let explained = tasks.explain("t-1", Explain { function: Some("payout".into()), ..Explain::default() }).await?;
//! assert_eq!(explained["decision"]["verdict"], "error");
//! let ContextPage { context, shortened, .. } = tasks.context("t-1", ContextQuery::default()).await?;
//! assert!(context.get().contains("payout") && shortened.iter().all(|ShortenedValue { bytes, .. }| *bytes > 0));
//!
//! // expressions on it
//! let count = TaskExpression { scope: "before".into(), expression: "1 / size(c.input)".into(), ..TaskExpression::default() };
//! let ExpressionOutcome::Failed(FailedExpression { code, .. }) = tasks.evaluate("t-1", count).await? else { panic!("nothing was said") };
//! assert_eq!(code, "divide_by_zero");
//! let CheckedExpression { cost, .. } = tasks.check("t-1", "before", "size(c.input) < 3").await?;
//! assert!(cost.is_some_and(|CostBounds { min, .. }| min > 0));
//!
//! // what is wrong with a text comes with its findings
//! let wrong = tasks.evaluate("t-1", TaskExpression { scope: "before".into(), expression: "1 +".into(), ..TaskExpression::default() }).await;
//! let Err(ServiceError::Problem(problem)) = wrong else { panic!("it cannot be read") };
//! assert!(problem.findings.is_some_and(|findings| findings.is_array()));
//! # let _ = |findings: Findings| matches!(findings, Findings::Expression(_));
//!
//! let PurgedTask { events, .. } = tasks.purge("t-1", Some("an example")).await?;
//! assert!(events > 2);
//! # Ok::<(), ServiceError>(())
//! # })?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod begun_task;
mod client;
mod context_page;
mod event_page;
mod expression;
mod kept_client;
mod messages;
mod new_task;
mod offers;
mod problem;
mod progress;
mod purged_task;
mod remote;
mod review_page;
mod standing;
mod task_service;

pub use begun_task::BegunTask;
pub use client::{Client, ClientError, ClientReply, is_loopback};
pub use context_page::{ContextPage, ContextQuery, ShortenedValue};
pub use event_page::{ClosedReview, EventPage, TaskEvent};
pub use expression::{
    CheckedExpression, CostBounds, Explain, ExpressionOutcome, FailedExpression, TaskExpression,
};
pub use kept_client::KeptClient;
pub use new_task::NewTask;
pub use offers::{JudgedMessages, OfferedFunction, Offers};
pub use problem::{Findings, PROBLEM_JSON, ProblemDetails, ProblemKind};
pub use progress::{CallProgress, CameTo, OperationAnswer, SeveralCalls, TaskProgress};
pub use purged_task::PurgedTask;
pub use remote::{RemoteTasks, path_segment};
pub use review_page::{Person, ReviewPage, ReviewedReview, ReviewsQuery};
pub use standing::{Hold, LackingValue, PolicyStanding, TaskStanding, WayOut};
pub use task_service::{ServiceError, StepTerms, TaskService};
