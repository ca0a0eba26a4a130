//! A task, wherever it is kept: one interface, one shape of decisions.
//!
//! In: steps. Out: what they came to. A task in memory is decided on where it lies, one in a store or on a server by requests of the HTTP
//! API. A handle is cheap, may be used from many threads, and ends nothing when it is dropped.

use crate::decided::{Decided, Several, Stepped};
use crate::expression::{self, Tryout};
use crate::memory::{Held, Memory, reviews_of};
use crate::patience::Patience;
#[cfg(feature = "stores")]
use crate::remote::Desk;
use crate::review::{Person, ReviewFilter};
use crate::to_explain::ToExplain;
use crate::{Error, ErrorKind, Flaw};
use celador::cel::Json;
use celador::task::{
    Answer, Call, CallId, CallResult, ModelCall, Next, Operation, QuestionId, Ran, ReportedCall, Turn,
    VerdictKind,
};
use celador::task::{ReviewRecord, ReviewReply};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::hash::{Hash, Hasher};
use std::sync::Arc;
use std::time::Duration;

/// A handle of a task.
#[derive(Clone)]
pub struct Task {
    pub(crate) id: Arc<str>,
    /// Namespace and name of its agent.
    pub(crate) agent: Arc<str>,
    pub(crate) kept: Kept,
    pub(crate) left_out: Arc<BTreeMap<String, String>>,
}

/// Where a task is kept.
#[derive(Clone)]
pub(crate) enum Kept {
    Memory(Arc<Memory>, Arc<Held>),
    #[cfg(feature = "stores")]
    Desk(Arc<Desk>),
}

/// Whether two handles are of one task in one place.
impl PartialEq for Task {
    fn eq(&self, other: &Self) -> bool {
        match (&self.kept, &other.kept) {
            (Kept::Memory(_, own), Kept::Memory(_, held)) => Arc::ptr_eq(own, held),
            #[cfg(feature = "stores")]
            (Kept::Desk(own), Kept::Desk(desk)) => Arc::ptr_eq(own, desk) && self.id == other.id,
            #[cfg(feature = "stores")]
            _ => false,
        }
    }
}

impl Eq for Task {}

impl Hash for Task {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.id.hash(state);
    }
}

impl Task {
    /// Its id.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Namespace and name of its agent: `shop/desk`.
    #[must_use]
    pub fn agent(&self) -> &str {
        &self.agent
    }

    /// The word of its place: `memory`, `store` or `server`.
    #[must_use]
    pub fn place(&self) -> &'static str {
        match &self.kept {
            Kept::Memory(..) => "memory",
            #[cfg(feature = "stores")]
            Kept::Desk(desk) => desk.word(),
        }
    }

    /// Whether its steps take microseconds and wait for nobody, so that a binding need not let go of what it holds meanwhile. A function of the host may need just that.
    #[must_use]
    pub fn is_at_once(&self) -> bool {
        matches!(&self.kept, Kept::Memory(memory, _) if !memory.calls_host())
    }

    /// The tools that were brought and cannot be called, with the reasons.
    #[must_use]
    pub fn left_out(&self) -> &BTreeMap<String, String> {
        &self.left_out
    }

    /// Takes a step. With `wait` the answer may take so long until what waits for people or other calls is decided.
    ///
    /// # Errors
    /// What the caller did wrong, and stores and servers that do not answer. A denial is none.
    pub fn step(&self, step: Operation, wait: Option<Duration>) -> Result<Stepped, Error> {
        match &self.kept {
            Kept::Memory(memory, held) => {
                let came = memory.step(held, step)?;
                match wait {
                    Some(wait) => wait_for(memory, held, came, wait),
                    None => Ok(came),
                }
            }
            #[cfg(feature = "stores")]
            Kept::Desk(desk) => desk.step(&self.id, step, wait),
        }
    }

    /// A step that is one operation.
    ///
    /// # Errors
    /// As [`Task::step`].
    pub fn one(&self, step: Operation, wait: Option<Duration>) -> Result<Decided, Error> {
        match self.step(step, wait)? {
            Stepped::One(decided) => Ok(decided),
            Stepped::Several(_) => Err(internal()),
        }
    }

    fn several(&self, step: Operation, wait: Option<Duration>) -> Result<Several, Error> {
        match self.step(step, wait)? {
            Stepped::Several(several) => Ok(several),
            Stepped::One(_) => Err(internal()),
        }
    }

    /// Hands over what the user said: a text, or an object with `message` and the parameters of the agent.
    ///
    /// # Errors
    /// As [`Task::step`].
    pub fn input(&self, message: Json, wait: Option<Duration>) -> Result<Decided, Error> {
        self.one(Operation::Input(message), wait)
    }

    /// Hands over the response of the model, before the user sees it.
    ///
    /// # Errors
    /// As [`Task::step`].
    pub fn output(&self, message: Json, wait: Option<Duration>) -> Result<Decided, Error> {
        self.one(Operation::Output(message), wait)
    }

    /// Asks whether a step may be taken, without taking it.
    ///
    /// # Errors
    /// As [`Task::step`].
    pub fn limits(&self, next: Next) -> Result<Decided, Error> {
        self.one(Operation::Limits { next }, None)
    }

    /// Reports a turn of the model, and decides all of its calls.
    ///
    /// # Errors
    /// As [`Task::step`].
    pub fn turn(&self, turn: Turn, wait: Option<Duration>) -> Result<Several, Error> {
        self.several(Operation::Turn(turn), wait)
    }

    /// Asks whether a call may run.
    ///
    /// # Errors
    /// As [`Task::step`].
    pub fn before(&self, call: Call, wait: Option<Duration>) -> Result<Decided, Error> {
        self.one(Operation::Before(call), wait)
    }

    /// Reports what a call came to.
    ///
    /// # Errors
    /// As [`Task::step`].
    pub fn after(&self, call: CallId, result: CallResult) -> Result<Decided, Error> {
        self.one(Operation::After(ReportedCall { call, result }), None)
    }

    /// Reports what several calls came to, in the order in which the results came.
    ///
    /// # Errors
    /// As [`Task::step`].
    pub fn results(
        &self,
        results: Vec<(CallId, CallResult)>,
        wait: Option<Duration>,
    ) -> Result<Several, Error> {
        let results = results.into_iter().map(|(call, result)| ReportedCall { call, result }).collect();
        self.several(Operation::Results { results }, wait)
    }

    /// Claims a call that was let through, for one of several processes: exactly one claimant is allowed, and runs it. `claimant` is a random text,
    /// made anew for each attempt.
    ///
    /// # Errors
    /// `call_claimed` for a call that another claimant has, and as [`Task::step`].
    pub fn claim(&self, call: CallId, claimant: String) -> Result<Decided, Error> {
        self.one(Operation::Claim { call, claimant }, None)
    }

    /// Gives a claim back, of a call that was not run: another process may claim it.
    ///
    /// # Errors
    /// As [`Task::claim`].
    pub fn release(&self, call: CallId, claimant: String) -> Result<Decided, Error> {
        self.one(Operation::Release { call, claimant }, None)
    }

    /// Takes a call back that will never be reported.
    ///
    /// # Errors
    /// As [`Task::step`].
    pub fn withdraw(&self, call: CallId, ran: Ran) -> Result<Decided, Error> {
        self.one(Operation::Withdraw { call, ran }, None)
    }

    /// Answers what an operation asks.
    ///
    /// # Errors
    /// As [`Task::step`].
    pub fn resume(
        &self,
        question: Option<QuestionId>,
        answer: Answer,
        wait: Option<Duration>,
    ) -> Result<Decided, Error> {
        self.one(Operation::Resume { question, answer }, wait)
    }

    /// Asks whether something may be sent to the model.
    ///
    /// # Errors
    /// As [`Task::step`].
    pub fn model_before(&self, call: ModelCall) -> Result<Decided, Error> {
        self.one(Operation::ModelBefore(call), None)
    }

    /// Hands over what came back from the model.
    ///
    /// # Errors
    /// As [`Task::step`].
    pub fn model_after(&self, call: CallId, answer: Json) -> Result<Decided, Error> {
        self.one(Operation::ModelAfter { call, answer }, None)
    }

    /// Ends the task.
    ///
    /// # Errors
    /// As [`Task::step`].
    pub fn end(&self, reason: String) -> Result<Decided, Error> {
        self.one(Operation::End { reason }, None)
    }

    /// Removes the task and all that is known of it.
    ///
    /// # Errors
    /// A task that is not there, and stores and servers that do not answer.
    pub fn purge(&self, reason: Option<&str>) -> Result<(), Error> {
        match &self.kept {
            Kept::Memory(memory, held) => memory.purge(held, reason.unwrap_or("the task was purged")),
            #[cfg(feature = "stores")]
            Kept::Desk(desk) => desk.purge(&self.id, reason),
        }
    }

    /// How far a call has come, or an input, event or response that waits; with `wait` once it is decided or after so long.
    ///
    /// # Errors
    /// A call that the task does not know, and stores and servers that do not answer.
    pub fn standing(&self, call: &CallId, wait: Option<Duration>) -> Result<Decided, Error> {
        match &self.kept {
            Kept::Memory(memory, held) => {
                let stands = memory.decided(held, call, wait.unwrap_or_default())?;
                let unknown =
                    || Error::misuse("unknown_call", "the task knows no call of this id (any more)");
                stands.ok_or_else(unknown)
            }
            #[cfg(feature = "stores")]
            Kept::Desk(desk) => desk.standing(&self.id, call, wait),
        }
    }

    /// The word of its state: `active`, `suspended`, `locked` or `terminated`.
    ///
    /// # Errors
    /// A task that is not there, and stores and servers that do not answer.
    pub fn state(&self) -> Result<String, Error> {
        match &self.kept {
            Kept::Memory(_, held) => held.with(|task| task.state().as_str().to_owned()),
            #[cfg(feature = "stores")]
            Kept::Desk(desk) => desk.state(&self.id),
        }
    }

    /// Its reviews, in the order in which they were asked.
    ///
    /// # Errors
    /// As [`Task::state`].
    pub fn reviews(&self, filter: &ReviewFilter) -> Result<Vec<ReviewRecord>, Error> {
        match &self.kept {
            Kept::Memory(_, held) => held.with(|task| reviews_of(task, filter)),
            #[cfg(feature = "stores")]
            Kept::Desk(desk) => {
                let filter = ReviewFilter { task: Some(self.id.to_string()), ..filter.clone() };
                desk.reviews(&filter, &self.agent)
            }
        }
    }

    /// Answers a review of it. Out comes the review as it is then, and what became of the operation that asked.
    ///
    /// # Errors
    /// A review that is closed or addressed to others, arguments that the call cannot have, and stores and servers that do not answer.
    pub fn answer(
        &self,
        review: &ReviewRecord,
        reply: ReviewReply,
        by: Option<Person>,
    ) -> Result<(ReviewRecord, VerdictKind), Error> {
        match &self.kept {
            Kept::Memory(memory, held) => memory.answer(held, review, reply, by),
            #[cfg(feature = "stores")]
            Kept::Desk(desk) => desk.answer(review, reply, by),
        }
    }

    /// The functions as the model is to know them.
    ///
    /// # Errors
    /// As [`Task::state`].
    pub fn offers(&self) -> Result<Vec<Value>, Error> {
        match &self.kept {
            Kept::Memory(_, held) => held.with(|task| {
                let offer = |offer: celador::Offer<'_>| {
                    let mut shown = json!({
                        "name": offer.name,
                        "description": offer.description,
                        "schema": offer.schema,
                    });
                    if let (Some(members), Some(output)) = (shown.as_object_mut(), offer.output) {
                        members.insert("output_schema".to_owned(), output.clone());
                    }
                    if let (Some(members), Some(hints)) = (shown.as_object_mut(), offer.annotations) {
                        members.insert("destructive".to_owned(), hints.is_destructive().into());
                    }
                    shown
                };
                task.offers().map(offer).collect()
            }),
            #[cfg(feature = "stores")]
            Kept::Desk(desk) => {
                let offers = desk.offers(&self.id)?;
                offers.iter().map(|offer| serde_json::to_value(offer).map_err(|_| internal())).collect()
            }
        }
    }

    /// What expressions see of the task, with what is secret masked: some parts of it, or all; of very long lists the newest entries.
    ///
    /// # Errors
    /// A path that the context does not have, and as [`Task::state`].
    pub fn context(&self, paths: &[String]) -> Result<Json, Error> {
        match &self.kept {
            Kept::Memory(_, held) => held.with(|task| {
                let page = celador::context::PageRequest {
                    paths: paths.to_vec(),
                    from: 0,
                    entries: usize::MAX,
                    max_bytes: MAX_CONTEXT_BYTES,
                    masks_all: false,
                };
                let unknown = |_| Error::misuse("bad_request", "the context has no such part");
                let page = task.context().page(&page).map_err(unknown)?;
                serde_json::from_str(&page.text).map_err(|_| internal())
            })?,
            #[cfg(feature = "stores")]
            Kept::Desk(desk) => desk.context(&self.id, paths),
        }
    }

    /// Evaluates an expression on the task, without a trace in it.
    ///
    /// # Errors
    /// An expression that is not valid, that fails or that asks, and as [`Task::state`].
    pub fn evaluate(&self, tryout: &Tryout) -> Result<Json, Error> {
        match &self.kept {
            Kept::Memory(memory, held) => {
                held.with(|task| expression::on_task(task, tryout, memory.now()))?
            }
            #[cfg(feature = "stores")]
            Kept::Desk(desk) => desk.evaluate(&self.id, tryout),
        }
    }

    /// What is wrong with an expression in a scope of the task.
    ///
    /// # Errors
    /// A scope that does not exist, and as [`Task::state`].
    pub fn check(&self, scope: &str, expression: &str) -> Result<Vec<Flaw>, Error> {
        match &self.kept {
            Kept::Memory(_, held) => held.with(|task| expression::check_on_task(task, scope, expression))?,
            #[cfg(feature = "stores")]
            Kept::Desk(desk) => desk.check(&self.id, scope, expression),
        }
    }

    /// Why a decision of it was made as it was, or what a call would come to: `decision`, `steps`, `expressions`, and of a decision of the past whether it comes out the `same`.
    /// The operation is taken once more on a copy: nothing of the task changes, and nobody is asked.
    ///
    /// # Errors
    /// An event that does not tell what its operation was about, or of a task in memory, which keeps no events; and as [`Task::state`].
    pub fn explain(&self, what: &ToExplain) -> Result<Value, Error> {
        match &self.kept {
            Kept::Memory(memory, held) => memory.explain(held, what),
            #[cfg(feature = "stores")]
            Kept::Desk(desk) => desk.explain(&self.id, what),
        }
    }

    /// What has happened to it, in order: `version`, `at`, `operation`, `decision`, `reviews`.
    ///
    /// # Errors
    /// A task in memory, which keeps no events, and as [`Task::state`].
    pub fn events(&self) -> Result<Vec<Value>, Error> {
        match &self.kept {
            Kept::Memory(..) => Err(Error::no_events()),
            #[cfg(feature = "stores")]
            Kept::Desk(desk) => desk.events(&self.id),
        }
    }

    /// The whole task as a text, for [`Policies::restore`](crate::Policies::restore).
    ///
    /// # Errors
    /// A task in a store or on a server, which keep theirs.
    pub fn save(&self) -> Result<String, Error> {
        match &self.kept {
            Kept::Memory(_, held) => {
                let saved = held.with(|task| serde_json::to_string(&task.save()))?;
                saved.map_err(|_| internal())
            }
            #[cfg(feature = "stores")]
            Kept::Desk(_) => Err(Error::misuse("kept", "a task in a store or on a server is kept there")),
        }
    }
}

/// The longest text of a context: as much as a server's page has.
const MAX_CONTEXT_BYTES: usize = 16_777_216;

/// What a step came to once its calls are decided, or after so long.
fn wait_for(memory: &Memory, held: &Held, came: Stepped, wait: Duration) -> Result<Stepped, Error> {
    let patience = Patience::of(wait);
    let decided = |told: Decided| -> Result<Decided, Error> {
        let Some(call) = told.call().cloned().filter(|_| told.waits_for_others()) else { return Ok(told) };
        let Some(stands) = memory.decided(held, &call, patience.left())? else { return Ok(told) };
        Ok(Decided { kind: told.kind, function: told.function, ..stands })
    };
    Ok(match came {
        Stepped::One(told) => Stepped::One(decided(told)?),
        Stepped::Several(several) => {
            let calls = several.calls.into_iter().map(decided).collect::<Result<_, Error>>()?;
            Stepped::Several(Several { calls, ..several })
        }
    })
}

fn internal() -> Error {
    Error::new(ErrorKind::Internal, "internal", "the engine has come to what it cannot come to")
}
