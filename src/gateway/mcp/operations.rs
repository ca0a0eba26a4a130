//! Questions of a server to the client: elicitation, sampling, roots.
//!
//! In: a request of the server, or a question in a result (`inputRequests`). Out: the same as a call of the function that has the name of the
//! method: its parameters are judged before the client sees them, and the client's answer before the server gets it.

use super::begun::Begun;
use super::course::Course;
use super::kinds::{Kind, REFUSED};
use super::message::{Failure, INTERNAL_ERROR, METHOD_NOT_FOUND, Members};
use super::messages;
use super::methods::{Handling, Method, OBSERVED_REQUEST, Side, method};
use super::peer::{Peer, Reply};
use super::question::{Origin, Question};
use super::session::Session;
use super::settle::Settled;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use tracing::warn;
use uuid::Uuid;

impl Session {
    /// The server asks something of the client.
    pub(super) async fn asked_by_server(
        self: &Arc<Self>,
        id: Value,
        name: String,
        params: Option<Members>,
        within: Option<Value>,
    ) {
        let known = method(Side::Server, true, &name).filter(|it| it.handling != Handling::Refuse);
        let method = match known {
            Some(method) => method,
            None if self.settings.observe => {
                self.notices.unjudged(messages::UNJUDGED_METHOD, "method", &name);
                &OBSERVED_REQUEST
            }
            None => {
                self.notices.warn(messages::UNKNOWN_METHOD, &name);
                let refused = Failure::new(METHOD_NOT_FOUND, messages::METHOD_NOT_FOUND);
                self.server.refuse(id, refused).await;
                return;
            }
        };
        let cancellation = match self.server.open(&id) {
            Ok(Some(cancellation)) => cancellation,
            Ok(None) => return self.notices.warn(messages::SAME_ID, &name),
            Err(failure) => return self.server.refuse(id, failure).await,
        };
        let session = self.clone();
        self.calls.spawn(async move {
            let elicits = session.state().elicits;
            let origin = Origin { id: within, modern: false, elicits, cancellation };
            if let Some(outcome) = session.ask_through(method, &name, params, &origin).await {
                session.server.answer(&id, outcome).await;
            } else {
                session.server.close(&id);
            }
        });
    }

    /// Asks the client what a server asks; nothing if the server has taken it back.
    async fn ask_through(
        self: &Arc<Self>,
        method: &'static Method,
        name: &str,
        params: Option<Members>,
        origin: &Origin,
    ) -> Option<Result<Value, Failure>> {
        let params = match self.decode_params(Side::Client, method, params, name) {
            Ok(params) => params,
            Err(failure) => return Some(Err(failure)),
        };
        if method.handling != Handling::Operation {
            let outcome = self.ask_client(name, params, origin).await?;
            let result = |it| self.decode(Side::Server, &method.result, it, name);
            return Some(outcome.and_then(|it| result(it).map_err(|_| super::kinds::unknown_result())));
        }
        let begun = match self.begun(None).await {
            Ok(begun) => begun,
            Err(reason) => {
                warn!(method = name, reason, "a question of the server is refused");
                return Some(Err(Failure::new(REFUSED, messages::QUESTION_REFUSED)));
            }
        };
        let mut params = params.unwrap_or_default();
        let meta = params.remove("_meta");
        let (question, mut params) = match self.judge_question(&begun, method, params, origin).await {
            Ok(judged) => judged,
            Err(failure) => return Some(Err(failure)),
        };
        params.extend(meta.map(|meta| ("_meta".to_owned(), meta)));
        match self.ask_client(name, (!params.is_empty()).then_some(params), origin).await {
            Some(outcome) => Some(self.judge_answer(&begun, &question, outcome, origin).await),
            None => {
                self.withdraw(&begun, &question.call, true).await;
                None
            }
        }
    }

    /// Sends a question to the client; nothing if it is taken back.
    async fn ask_client(
        &self,
        name: &str,
        params: Option<Members>,
        origin: &Origin,
    ) -> Option<Result<Value, Failure>> {
        let gone = || Err(Failure::new(INTERNAL_ERROR, messages::CLIENT_GONE));
        let sent = Peer::ask(&self.client, name, params, None, origin.id.clone()).await;
        let Some(mut sent) = sent else { return Some(gone()) };
        match sent.reply(&origin.cancellation, &self.over).await {
            Reply::Outcome(outcome) => Some(outcome),
            Reply::Gone => Some(gone()),
            Reply::Cancelled => None,
        }
    }

    /// Judges a question, whose parameters are decoded. The parameters that the client may see are returned.
    ///
    /// # Errors
    /// The error for the server.
    pub(super) async fn judge_question(
        self: &Arc<Self>,
        begun: &Arc<Begun>,
        method: &'static Method,
        params: Members,
        origin: &Origin,
    ) -> Result<(Question, Members), Failure> {
        let arguments = Value::Object(params.clone());
        let course =
            self.question_course(begun, Uuid::new_v4().to_string(), method, arguments.clone(), origin);
        begun.used.store(true, Ordering::Relaxed);
        self.state().open.insert(course.call.clone());
        let stands = begun.guard.before(&course.call, method.name, &arguments).await;
        let decided = match self.settle(&course, stands, false).await {
            Settled::Goes { value, .. } => value,
            other => {
                let reason = other.reason();
                warn!(method = method.name, reason, "a question of the server is refused");
                self.withdraw(begun, &course.call, false).await;
                return Err(Failure::new(REFUSED, messages::QUESTION_REFUSED));
            }
        };
        let decided = if self.settings.observe { arguments } else { decided };
        let members = decided.as_object().cloned();
        let shown = match self.decode_params(Side::Client, method, members, method.name) {
            Ok(shown) => shown.unwrap_or_default(),
            Err(failure) => {
                self.withdraw(begun, &course.call, false).await;
                return Err(failure);
            }
        };
        let mut request = json!({ "method": method.name });
        if let (Some(request), false) = (request.as_object_mut(), shown.is_empty()) {
            request.insert("params".to_owned(), Value::Object(shown.clone()));
        }
        Ok((Question { call: course.call, method, shown: request }, shown))
    }

    /// Judges the client's answer to a question.
    ///
    /// # Errors
    /// The error for the server.
    pub(super) async fn judge_answer(
        self: &Arc<Self>,
        begun: &Arc<Begun>,
        question: &Question,
        outcome: Result<Value, Failure>,
        origin: &Origin,
    ) -> Result<Value, Failure> {
        let Question { call, method, .. } = question;
        let observed = self.settings.observe.then(|| outcome.clone());
        let name = format!("{} result", method.name);
        let output = match outcome {
            Ok(result) => self
                .decode(Side::Server, &method.result, result, &name)
                .map_err(|path| Failure::new(INTERNAL_ERROR, messages::malformed(&path))),
            Err(failure) => Err(failure),
        };
        let (failed, value) = match &output {
            Ok(Value::Object(result)) => {
                let mut result = result.clone();
                result.remove("_meta");
                (None, Value::Object(result))
            }
            Ok(_) => (None, Value::Null),
            Err(failure) => (Some(failure.code), failure.message.clone().into()),
        };
        let course = self.question_course(begun, call.clone(), method, Value::Null, origin);
        let stands = begun.guard.after(call, failed.is_some(), &value).await;
        let settled = self.settle(&course, stands, true).await;
        self.state().open.remove(call);
        if let Some(observed) = observed {
            return observed;
        }
        match (settled, failed) {
            (Settled::Goes { value, .. }, Some(code)) => {
                Err(Failure::new(code, value.as_str().unwrap_or(messages::QUESTION_REFUSED)))
            }
            (Settled::Goes { value, .. } | Settled::Answered(value), None) => self
                .decode(Side::Server, &method.result, value, &name)
                .map_err(|_| Failure::new(REFUSED, messages::QUESTION_REFUSED)),
            (other, _) => {
                let reason = other.reason();
                warn!(method = method.name, reason, "an answer to a question of the server is withheld");
                Err(Failure::new(REFUSED, messages::QUESTION_REFUSED))
            }
        }
    }

    fn question_course(
        &self,
        begun: &Arc<Begun>,
        call: String,
        method: &'static Method,
        arguments: Value,
        origin: &Origin,
    ) -> Course {
        Course {
            begun: begun.clone(),
            kind: Kind::Resource,
            id: origin.id.clone(),
            call,
            function: method.name.to_owned(),
            arguments,
            modern: origin.modern,
            // the answer to a request of a later revision has one set of questions: the server's
            elicits: origin.elicits && !origin.modern,
            repeats: false,
            cancellation: origin.cancellation.clone(),
        }
    }

    /// Judges the questions of a result, by their names. Those that were judged before are as they were.
    ///
    /// # Errors
    /// The error of the first that is refused.
    pub(super) async fn judge_questions(
        self: &Arc<Self>,
        begun: &Arc<Begun>,
        asked: &Members,
        known: &BTreeMap<String, Question>,
        origin: &Origin,
    ) -> Result<BTreeMap<String, Question>, Failure> {
        let mut judged = BTreeMap::new();
        for (name, question) in asked.iter().take(MAX_QUESTIONS) {
            if let Some(known) = known.get(name) {
                judged.insert(name.clone(), known.clone());
                continue;
            }
            let called = question.get("method").and_then(Value::as_str).unwrap_or_default();
            let row = method(Side::Server, true, called).filter(|it| it.handling == Handling::Operation);
            let Some(row) = row else {
                self.notices.warn(messages::UNKNOWN_METHOD, called);
                self.withdraw_all(begun, &judged).await;
                return Err(Failure::new(METHOD_NOT_FOUND, messages::METHOD_NOT_FOUND));
            };
            let params = question.get("params").and_then(Value::as_object).cloned();
            let decoded = self.decode_params(Side::Client, row, params, called);
            let judging = match decoded {
                Ok(params) => {
                    let mut params = params.unwrap_or_default();
                    params.remove("_meta");
                    self.judge_question(begun, row, params, origin).await
                }
                Err(failure) => Err(failure),
            };
            match judging {
                Ok((question, _)) => drop(judged.insert(name.clone(), question)),
                Err(failure) => {
                    self.withdraw_all(begun, &judged).await;
                    return Err(failure);
                }
            }
        }
        Ok(judged)
    }

    /// Judges the client's answers to questions.
    ///
    /// # Errors
    /// An answer to no question, or one that the server does not get.
    pub(super) async fn judge_answers(
        self: &Arc<Self>,
        begun: &Arc<Begun>,
        answers: &Members,
        questions: &mut BTreeMap<String, Question>,
        origin: &Origin,
    ) -> Result<Members, Failure> {
        let mut judged = Members::new();
        for (name, answer) in answers {
            let Some(question) = questions.remove(name) else {
                return Err(Failure::new(super::message::INVALID_PARAMS, messages::NO_SUCH_QUESTION));
            };
            let answer = self.judge_answer(begun, &question, Ok(answer.clone()), origin).await?;
            judged.insert(name.clone(), answer);
        }
        Ok(judged)
    }

    pub(super) async fn withdraw_all(&self, begun: &Begun, questions: &BTreeMap<String, Question>) {
        for question in questions.values() {
            self.withdraw(begun, &question.call, true).await;
        }
    }

    /// Takes a call of the task back.
    pub(super) async fn withdraw(&self, begun: &Begun, call: &str, may_have_run: bool) {
        self.state().open.remove(call);
        begun.guard.withdraw(call, may_have_run).await;
    }
}

/// The most questions of one result.
const MAX_QUESTIONS: usize = 64;
