//! Tasks in a store and on a server: the same requests of the HTTP API, answered in this process or by another one.
//!
//! In: steps. Out: what they came to, read out of the answers. A step that got no answer may have been taken. Who sends it again under the same
//! ids is answered as before, so nothing here is tried twice behind the caller's back.

use crate::decided::{Decided, Stepped};
use crate::expression::{self, Tryout};
use crate::flaw::{ToldIssue, ToldSpan, span_within};
use crate::review::{Person, Review, ReviewFilter, ReviewReply};
use crate::to_explain::ToExplain;
use crate::wire::{
    no_answer, path_of, problem, read, segment, stepped, told, unreadable, wait_query, written,
};
use crate::{Clock, Error, ErrorKind, Flaw, Host};
use celador::BroughtTool;
use celador::cel::Json;
use celador::manifest::load::File;
use celador::manifest::mode::Mode;
use celador::task::{CallId, DecidedKind, Operation, Parent, User, VerdictKind};
use celador_server::{ClientReply, InProcess, KeptClient, Parts, Settings};
use celador_store::{Database, Location};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::time::Duration;

/// Who answers requests.
pub(crate) enum Desk {
    /// This process, on a store.
    Store(InProcess),
    /// A server.
    Server(Box<KeptClient>),
}

/// A task to begin, as the API takes it.
#[derive(Serialize)]
pub(crate) struct NewTask<'t> {
    pub(crate) id: &'t str,
    pub(crate) namespace: &'t str,
    pub(crate) agent: &'t str,
    pub(crate) user: ToldUser<'t>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) model: Option<&'t str>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    pub(crate) tools: &'t [BroughtTool],
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) parent: Option<&'t Parent>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) metadata: &'t BTreeMap<String, String>,
}

/// The person for whom a task runs.
#[derive(Serialize)]
pub(crate) struct ToldUser<'t> {
    id: &'t str,
    #[serde(skip_serializing_if = "Option::is_none")]
    email: Option<&'t str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    claims: Option<&'t Json>,
}

impl<'t> From<&'t User> for ToldUser<'t> {
    fn from(user: &'t User) -> Self {
        Self { id: &user.id, email: user.email.as_deref(), claims: user.claims.as_ref() }
    }
}

impl Desk {
    /// The store of these manifests.
    pub(crate) fn open(
        store: &str,
        texts: Vec<File>,
        (mode, host): (Mode, Host),
        clock: Clock,
    ) -> Result<Self, Error> {
        let unusable = |error: &dyn std::fmt::Display| {
            Error::new(ErrorKind::Store, "store_unavailable", format!("the store cannot be opened: {error}"))
        };
        let observe = mode == Mode::Observe;
        let (hash_key, functions) = host.into_parts();
        let given = Settings { hash_key, functions, ..Settings::new(Vec::new()) };
        let settings = Settings { texts, observe, watch: None, ..given };
        let location = Location::parse(store);
        let database = Database::open(&location, &settings.limits.store).map_err(|error| unusable(&error))?;
        let parts = Parts { clock, database, log: None };
        let desk = InProcess::open(settings, parts).map_err(|error| unusable(&error))?;
        desk.keep_up();
        Ok(Self::Store(desk))
    }

    /// A server, which is not asked for anything yet.
    pub(crate) fn connect(address: &str, token: Option<&str>) -> Result<Self, Error> {
        Ok(Self::Server(Box::new(KeptClient::new(address, token).map_err(no_answer)?)))
    }

    /// The word of the place.
    pub(crate) fn word(&self) -> &'static str {
        match self {
            Self::Store(_) => "store",
            Self::Server(_) => "server",
        }
    }

    fn send(&self, method: &str, path: &str, body: Option<&[u8]>) -> Result<Vec<u8>, Error> {
        self.send_for(None, (method, path), body, "")
    }

    /// The same as somebody, and with the expression that the request is about.
    fn send_for(
        &self,
        person: Option<&Person>,
        (method, path): (&str, &str),
        body: Option<&[u8]>,
        about: &str,
    ) -> Result<Vec<u8>, Error> {
        let reply = match (self, person) {
            (Self::Store(desk), None) => desk.send(method, path, &[], body),
            (Self::Store(desk), Some(person)) => {
                let Person { id, email, groups } = person.clone();
                let person = celador_server::Person { id, email, groups };
                desk.send_as(&person, method, path, body)
            }
            (Self::Server(_), Some(_)) => {
                let message = "a server knows who answers by the token: leave `by` out";
                return Err(Error::misuse("bad_request", message));
            }
            (Self::Server(client), None) => client.send(method, path, body),
        };
        let ClientReply { status, body } = reply.map_err(no_answer)?;
        if (200..300).contains(&status) { Ok(body) } else { Err(problem(status, &body, about)) }
    }

    fn get<T: DeserializeOwned>(&self, path: &str) -> Result<T, Error> {
        read(&self.send("GET", path, None)?)
    }

    fn post<T: DeserializeOwned>(&self, path: &str, body: &impl Serialize) -> Result<T, Error> {
        read(&self.send("POST", path, Some(&written(body)?))?)
    }

    /// Gets or begins a task.
    pub(crate) fn begin(&self, new: &NewTask<'_>) -> Result<BTreeMap<String, String>, Error> {
        #[derive(Deserialize)]
        struct Begun {
            #[serde(default)]
            left_out: Vec<LeftOut>,
        }

        #[derive(Deserialize)]
        struct LeftOut {
            name: String,
            reason: String,
        }

        let Begun { left_out } = self.post("/v1/tasks", new)?;
        Ok(left_out.into_iter().map(|it| (it.name, it.reason)).collect())
    }

    /// Takes a step; with `wait` the answer may take so long until what is pending is decided.
    pub(crate) fn step(
        &self,
        task: &str,
        step: &Operation,
        wait: Option<Duration>,
    ) -> Result<Stepped, Error> {
        let (name, body, waits) = told(step)?;
        let query = wait.filter(|_| waits).map(wait_query).unwrap_or_default();
        let path = format!("{}/{name}{query}", path_of(task));
        let answer = self.send("POST", &path, Some(&written(&body)?))?;
        stepped(&answer, step.decided_kind(), step.function().map(str::to_owned))
    }

    /// How far a call has come.
    pub(crate) fn standing(
        &self,
        task: &str,
        call: &CallId,
        wait: Option<Duration>,
    ) -> Result<Decided, Error> {
        let query = wait.map(wait_query).unwrap_or_default();
        let path = format!("{}/calls/{}{query}", path_of(task), segment(call.as_str()));
        match stepped(&self.send("GET", &path, None)?, DecidedKind::Call, None)? {
            Stepped::One(decided) => Ok(decided.with_kind_of(call)),
            Stepped::Several(_) => Err(unreadable()),
        }
    }

    /// The word of the task's state.
    pub(crate) fn state(&self, task: &str) -> Result<String, Error> {
        #[derive(Deserialize)]
        struct Standing {
            state: String,
        }
        Ok(self.get::<Standing>(&path_of(task))?.state)
    }

    pub(crate) fn purge(&self, task: &str, reason: Option<&str>) -> Result<(), Error> {
        let query = reason.map(|reason| format!("?reason={}", segment(reason))).unwrap_or_default();
        self.send("DELETE", &format!("{}{query}", path_of(task)), None).map(drop)
    }

    pub(crate) fn offers(&self, task: &str) -> Result<Vec<Value>, Error> {
        #[derive(Deserialize)]
        struct Offers {
            functions: Vec<Value>,
        }
        Ok(self.get::<Offers>(&format!("{}/offers", path_of(task)))?.functions)
    }

    /// The context as expressions see it, or parts of it; of long lists the first page.
    pub(crate) fn context(&self, task: &str, paths: &[String]) -> Result<Json, Error> {
        #[derive(Deserialize)]
        struct Seen {
            context: Json,
        }
        let paths: Vec<String> = paths.iter().map(|path| segment(path)).collect();
        let query = if paths.is_empty() { String::new() } else { format!("?paths={}", paths.join(",")) };
        Ok(self.get::<Seen>(&format!("{}/context{query}", path_of(task)))?.context)
    }

    pub(crate) fn evaluate(&self, task: &str, tryout: &Tryout) -> Result<Json, Error> {
        #[derive(Serialize)]
        struct Asked<'t> {
            scope: &'t str,
            expression: &'t str,
            #[serde(skip_serializing_if = "Option::is_none")]
            input: Option<&'t Json>,
            #[serde(skip_serializing_if = "Option::is_none")]
            output: Option<&'t Json>,
        }

        #[derive(Deserialize)]
        #[serde(rename_all = "snake_case")]
        enum Outcome {
            Value(Json),
            Failed(Failed),
            Asks(serde::de::IgnoredAny),
        }

        #[derive(Deserialize)]
        struct Failed {
            code: String,
            message: String,
            #[serde(flatten)]
            span: ToldSpan,
        }

        let Tryout { scope, expression, input, output } = tryout;
        let asked = Asked { scope, expression, input: input.as_ref(), output: output.as_ref() };
        let path = format!("{}/evaluate", path_of(task));
        match read(&self.send_for(None, ("POST", &path), Some(&written(&asked)?), expression)?)? {
            Outcome::Value(value) => Ok(value),
            Outcome::Failed(Failed { code, message, span }) => {
                Err(expression::failed(&code, message, expression, span_within(span, expression)))
            }
            Outcome::Asks(_) => Err(expression::asks()),
        }
    }

    pub(crate) fn explain(&self, task: &str, what: &ToExplain) -> Result<Value, Error> {
        let asked = match what {
            ToExplain::Event(version) => json!({ "version": version }),
            ToExplain::Call(call) => json!({ "function": call.function, "arguments": call.arguments }),
        };
        self.post(&format!("{}/explain", path_of(task)), &asked)
    }

    /// The events of a task, page by page.
    pub(crate) fn events(&self, task: &str) -> Result<Vec<Value>, Error> {
        #[derive(Deserialize)]
        struct Page {
            events: Vec<Value>,
            next: Option<u64>,
        }
        let (mut events, mut after) = (Vec::new(), String::new());
        loop {
            let Page { events: found, next } = self.get(&format!("{}/events{after}", path_of(task)))?;
            events.extend(found);
            match next {
                Some(next) => after = format!("?after={next}"),
                None => return Ok(events),
            }
        }
    }

    pub(crate) fn check(&self, task: &str, scope: &str, expression: &str) -> Result<Vec<Flaw>, Error> {
        #[derive(Deserialize)]
        struct Checked {
            findings: Vec<ToldIssue>,
        }
        let asked = json!({ "scope": scope, "expression": expression });
        let Checked { findings } = self.post(&format!("{}/check", path_of(task)), &asked)?;
        Ok(findings.into_iter().map(|issue| Flaw::told(issue, expression)).collect())
    }

    /// The reviews that are wanted, page by page.
    pub(crate) fn reviews(&self, filter: &ReviewFilter, agent: &str) -> Result<Vec<Review>, Error> {
        #[derive(Deserialize)]
        struct Page {
            reviews: Vec<Review>,
            next: Option<u64>,
        }
        let state = filter.state.map_or("all", |state| state.as_str());
        let mut query = format!("?state={state}&agent={}", segment(agent));
        if let Some(reviewer) = &filter.reviewer {
            let _ = write!(query, "&reviewer={}", segment(reviewer));
        }
        let (mut reviews, mut after) = (Vec::new(), String::new());
        loop {
            let Page { reviews: found, next } = self.get(&format!("/v1/reviews{query}{after}"))?;
            let is_wanted = |review: &Review| filter.task.as_deref().is_none_or(|task| task == review.task);
            reviews.extend(found.into_iter().filter(is_wanted));
            match next {
                Some(next) => after = format!("&after={next}"),
                None => return Ok(reviews),
            }
        }
    }

    pub(crate) fn answer(
        &self,
        review: &Review,
        reply: &ReviewReply,
    ) -> Result<(Review, VerdictKind), Error> {
        #[derive(Serialize)]
        struct Told<'r> {
            answer: celador::task::ReviewWord,
            #[serde(skip_serializing_if = "Option::is_none")]
            arguments: Option<&'r Json>,
            #[serde(skip_serializing_if = "Option::is_none")]
            result: Option<&'r Json>,
            #[serde(skip_serializing_if = "Option::is_none")]
            note: Option<&'r str>,
            digest: &'r str,
        }

        #[derive(Deserialize)]
        struct Answered {
            review: Review,
            decision: Option<VerdictKind>,
        }

        let ReviewReply { word, arguments, result, note, by } = reply;
        let told = Told {
            answer: *word,
            arguments: arguments.as_ref(),
            result: result.as_ref(),
            note: note.as_deref(),
            digest: &review.digest,
        };
        let path = format!("/v1/reviews/{}", segment(&review.id));
        let answer = self.send_for(by.as_ref(), ("POST", &path), Some(&written(&told)?), "")?;
        let Answered { review, decision } = read(&answer)?;
        Ok((review, decision.unwrap_or(VerdictKind::Rejected)))
    }
}
