//! A judged request, from the client to the server and back.
//!
//! In: a request, and how its call in the task stands. Out: the server's outcome as a decision leaves it, or a response that says why there is
//! none. A call that waits for a person longer than a client would is parked: its request is answered with what to do, and the call
//! goes on with a later request.

use super::begun::Begun;
use super::course::{Course, Request};
use super::guard::{Asked, Standing};
use super::kinds::{Kind, Layout, Reported, is_exact, uncached, unknown_result, whole};
use super::message::{Failure, Members};
use super::messages;
use super::methods::Side;
use super::parked::{Continued, Parked, Phase};
use super::peer::{Reply, Sent};
use super::question::{Origin, shown};
use super::reviews::approves;
use super::schema;
use super::session::Session;
use super::settle::Settled;
use crate::delay::held_back;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;
use tracing::warn;
use uuid::Uuid;

/// The name of the guard's question to the user among those of one answer.
const ANSWER: &str = "celador";

/// How a request goes on with a call that was parked.
struct Resumed {
    call: String,
    phase: Phase,
    /// The review that was asked, and whether the user has approved.
    review: Option<(Asked, bool)>,
    /// The answers of the client to the server's questions.
    answers: Members,
}

impl Session {
    /// Decides a request, and lets its call go on.
    pub(super) async fn admit(
        self: Arc<Self>,
        mut request: Request,
        kind: Kind,
        begun: Result<Arc<Begun>, String>,
    ) {
        let (function, arguments) = kind.call(request.params.as_ref().unwrap_or(&Members::new()));
        let observe = self.settings.observe;
        let obstacle = |begun: &Begun| begun.obstacle(&function).filter(|_| kind == Kind::Tool);
        let begun = match begun.map_err(|reason| messages::no_task(&reason)) {
            Ok(begun) => obstacle(&begun).map_or(Ok(begun), Err),
            refused => refused,
        };
        let begun = match begun {
            Ok(begun) => begun,
            Err(why) if observe => {
                warn!(function, why, "a call would have been refused");
                return self.pass_unjudged(request);
            }
            Err(why) => return self.end_with(&request, kind.refused(&why)).await,
        };
        if !is_exact(&arguments) && !observe {
            return self.end_with(&request, kind.refused(messages::WIDE_NUMBER)).await;
        }
        begun.used.store(true, Ordering::Relaxed);
        let resumed = match self.resume(&mut request, &function, &arguments, &begun).await {
            Ok(resumed) => resumed,
            Err(why) => return self.end_with(&request, kind.refused(why)).await,
        };
        let call = resumed.as_ref().map_or_else(|| Uuid::new_v4().to_string(), |it| it.call.clone());
        self.state().open.insert(call.clone());
        let stands = match &resumed {
            None => begun.guard.before(&call, &function, &arguments).await,
            Some(Resumed { review: Some((asked, approves)), .. }) => {
                begun.guard.answer(asked.question, *approves).await
            }
            Some(Resumed { phase: Phase::Continues(continued), .. }) => {
                Ok(Standing::Goes { value: continued.decided.clone(), delay: Duration::ZERO })
            }
            Some(_) => begun.guard.standing(&call, Duration::ZERO).await,
        };
        let course = Course {
            begun,
            kind,
            id: Some(request.id.clone()),
            call,
            function,
            arguments,
            modern: request.is_modern(),
            elicits: request.can_elicit(self.state().elicits),
            repeats: true,
            cancellation: request.cancellation.clone(),
        };
        let session = self.clone();
        self.calls.spawn(async move { session.carry(request, course, resumed, stands).await });
    }

    /// The call that goes on with this request.
    ///
    /// # Errors
    /// A state that is not one of this session for this very call.
    async fn resume(
        &self,
        request: &mut Request,
        function: &str,
        arguments: &Value,
        begun: &Begun,
    ) -> Result<Option<Resumed>, &'static str> {
        if self.settings.observe {
            return Ok(None);
        }
        let mut take = |name: &str| request.params.as_mut().and_then(|params| params.remove(name));
        let (state, answers) = (take("requestState"), take("inputResponses"));
        if state.is_none() && answers.is_none() {
            let parked = self.state().parked.take_same(&format!("{function} {arguments}"));
            let resumed = |it: Parked| Resumed {
                call: it.call,
                phase: it.phase,
                review: None,
                answers: Members::new(),
            };
            return Ok(parked.map(resumed));
        }
        let parked = state.as_ref().and_then(Value::as_str).and_then(|it| self.state().parked.take(it));
        let parked = parked.ok_or(messages::UNKNOWN_STATE)?;
        if parked.function != function || parked.arguments != *arguments {
            self.give_up(begun, parked).await;
            return Err(messages::UNKNOWN_STATE);
        }
        let answers = if let Some(Value::Object(answers)) = answers { answers } else { Members::new() };
        let review = parked.asked.map(|asked| (asked, approves(answers.get(ANSWER))));
        Ok(Some(Resumed { call: parked.call, phase: parked.phase, review, answers }))
    }

    /// Takes a parked call back.
    async fn give_up(&self, begun: &Begun, parked: Parked) {
        let has_run = match &parked.phase {
            Phase::Asked => false,
            Phase::Ran(_) => true,
            Phase::Continues(continued) => {
                self.withdraw_all(begun, &continued.questions).await;
                true
            }
        };
        self.withdraw(begun, &parked.call, has_run).await;
    }

    /// Forwards a request that nothing has decided, as everything is only observed.
    fn pass_unjudged(self: Arc<Self>, request: Request) {
        self.notices.unjudged(messages::UNJUDGED_CALL, "call", &request.name);
        let session = self.clone();
        self.calls.spawn(async move {
            let Some(sent) = session.ask_server(&request).await else { return };
            if let Some(outcome) = session.reply(&request, sent).await {
                session.client.answer(&request.id, outcome).await;
            }
        });
    }

    /// Answers a request for which nothing more is done.
    pub(super) async fn end_with(&self, request: &Request, outcome: Result<Value, Failure>) {
        self.client.answer(&request.id, whole(outcome, request.is_modern())).await;
    }

    async fn carry(
        self: &Arc<Self>,
        mut request: Request,
        course: Course,
        resumed: Option<Resumed>,
        stands: Result<Standing, String>,
    ) {
        let has_run = matches!(&resumed, Some(Resumed { phase: Phase::Ran(_), .. }));
        let (phase, answers) = resumed.map_or((Phase::Asked, Members::new()), |it| (it.phase, it.answers));
        let (value, delay) = match self.settle(&course, stands, has_run).await {
            Settled::Goes { value, delay } => (value, delay),
            Settled::Answered(value) => {
                self.state().open.remove(&course.call);
                return self.end_with(&request, Ok(course.kind.answered(value))).await;
            }
            other => return self.refuse(&request, course, other, phase).await,
        };
        if let Phase::Ran(layout) = phase {
            // it ran when it was asked for the first time, and its result has been reviewed since
            self.state().open.remove(&course.call);
            return self.end_with(&request, course.kind.outcome(layout, value)).await;
        }
        tokio::select! {
            () = held_back(delay) => {}
            () = course.cancellation.token.cancelled() => {
                self.client.close(&request.id);
                return self.withdraw(&course.begun, &course.call, false).await;
            }
        }
        let decided = if self.settings.observe { course.arguments.clone() } else { value };
        let mut params = request.params.take().unwrap_or_default();
        course.kind.set(&mut params, decided.clone());
        if let Phase::Continues(continued) = phase
            && let Err(failure) = self.continue_with(&mut params, &course, continued, &answers).await
        {
            self.withdraw(&course.begun, &course.call, true).await;
            return self.end_with(&request, course.kind.refused(&failure.message)).await;
        }
        request.params = Some(params);
        let sent = match self.ask_server(&request).await {
            Some(sent) => sent,
            None => return self.lost(&request, &course).await,
        };
        self.report(request, course, decided, sent).await;
    }

    /// Gives the server its own state and the client's answers to its questions.
    async fn continue_with(
        self: &Arc<Self>,
        params: &mut Members,
        course: &Course,
        continued: Continued,
        answers: &Members,
    ) -> Result<(), Failure> {
        let Continued { state, mut questions, .. } = continued;
        let origin = Origin::of(course);
        let judged = self.judge_answers(&course.begun, answers, &mut questions, &origin).await;
        // what is left was not answered, and its names may come again
        self.withdraw_all(&course.begun, &questions).await;
        let judged = judged?;
        if !judged.is_empty() {
            params.insert("inputResponses".to_owned(), Value::Object(judged));
        }
        params.extend(state.map(|state| ("requestState".to_owned(), state.into())));
        Ok(())
    }

    /// The server is gone.
    async fn lost(&self, request: &Request, course: &Course) {
        self.withdraw(&course.begun, &course.call, true).await;
        self.end_with(request, course.kind.refused(messages::SERVER_GONE)).await;
    }

    /// The server answers a call.
    async fn report(self: &Arc<Self>, request: Request, course: Course, decided: Value, mut sent: Sent) {
        let progress = sent.take_progress();
        let outcome = match sent.reply(&request.cancellation, &self.over).await {
            Reply::Outcome(outcome) => outcome,
            Reply::Gone => return self.lost(&request, &course).await,
            Reply::Cancelled => {
                self.client.close(&request.id);
                return self.withdraw(&course.begun, &course.call, true).await;
            }
        };
        let result = outcome.as_ref().ok();
        // a type that is no text is an unknown one
        let kind =
            result.and_then(|it| it.get("resultType")).map(|it| it.as_str().unwrap_or_default().to_owned());
        let kind = kind.as_deref();
        let is_task = course.kind == Kind::Tool && result.is_some_and(|it| it.get("task").is_some());
        let told = match (kind, outcome) {
            (None | Some("complete"), outcome) if !is_task => {
                drop(progress);
                return self.tell(&request, &course, outcome).await;
            }
            (Some("input_required"), Ok(result)) if request.is_modern() && !is_task => {
                self.ask_for_input(&request, &course, decided, result).await
            }
            (Some("task") | None, Ok(result)) => self.create_task(&request, &course, &result, progress),
            _ => None,
        };
        match told {
            Some(told) => self.client.answer(&request.id, told).await,
            None => {
                self.notices.warn(messages::UNKNOWN_RESULT, kind.unwrap_or("task"));
                self.withdraw(&course.begun, &course.call, true).await;
                self.end_with(&request, course.kind.refused(messages::UNKNOWN_RESULT)).await;
            }
        }
    }

    /// The server asks for more before it goes on: its questions are judged, and its state is kept.
    async fn ask_for_input(
        self: &Arc<Self>,
        request: &Request,
        course: &Course,
        decided: Value,
        result: Value,
    ) -> Option<Result<Value, Failure>> {
        let name = format!("{} result", request.name);
        let result = self.decode(Side::Client, &schema::INPUT_REQUIRED, result, &name).ok()?;
        if self.settings.observe {
            return Some(Ok(result));
        }
        let empty = Members::new();
        let asked = result.get("inputRequests").and_then(Value::as_object).unwrap_or(&empty);
        let origin = Origin::of(course);
        let questions = self.judge_questions(&course.begun, asked, &BTreeMap::new(), &origin).await;
        let questions = match questions {
            Ok(questions) => questions,
            Err(failure) => {
                self.withdraw(&course.begun, &course.call, true).await;
                return Some(whole(course.kind.refused(&failure.message), true));
            }
        };
        let state = result.get("requestState").and_then(Value::as_str).map(str::to_owned);
        let shown = (!questions.is_empty()).then(|| shown(&questions));
        let phase = Phase::Continues(Continued { decided, state, questions });
        Some(Ok(self.park(course, phase, None, shown).await))
    }

    /// Parks a call, and makes the result that has the client go on with it.
    async fn park(
        &self,
        course: &Course,
        phase: Phase,
        asked: Option<Asked>,
        questions: Option<Value>,
    ) -> Value {
        let (state, expired) = self.state().parked.park(course.parked(phase, asked));
        for call in expired {
            self.withdraw(&course.begun, &call, true).await;
        }
        let mut result = json!({ "resultType": "input_required", "requestState": state });
        if let (Some(result), Some(questions)) = (result.as_object_mut(), questions) {
            result.insert("inputRequests".to_owned(), questions);
        }
        result
    }

    /// A result goes to the client, as the steps after the call leave it.
    async fn tell(self: &Arc<Self>, request: &Request, course: &Course, outcome: Result<Value, Failure>) {
        let observed = self.settings.observe.then(|| outcome.clone());
        match self.judge_result(&request.name, course, outcome).await {
            Ok(told) => {
                self.state().open.remove(&course.call);
                self.client.answer(&request.id, observed.unwrap_or(told)).await;
            }
            Err((settled, layout)) if observed.is_none() => {
                self.refuse(request, course.clone(), settled, Phase::Ran(layout)).await;
            }
            Err(_) => {
                self.client.answer(&request.id, observed.unwrap_or_else(|| Err(unknown_result()))).await
            }
        }
    }

    /// Judges the outcome of a call.
    ///
    /// # Errors
    /// What stands in the way, and how the outcome is written if it goes away.
    async fn judge_result(
        self: &Arc<Self>,
        name: &str,
        course: &Course,
        outcome: Result<Value, Failure>,
    ) -> Result<Result<Value, Failure>, (Settled, Layout)> {
        let reported = match self.reported(name, course, outcome).await {
            Ok(reported) => reported,
            Err(why) => return Err((Settled::Refused(why), Layout::Plain)),
        };
        let stands =
            course.begun.guard.after(&course.call, reported.output.failed, &reported.output.value).await;
        let layout = reported.output.layout;
        let settled = self.settle(course, stands, true).await;
        self.written(course, reported, settled).map_err(|settled| (settled, layout))
    }

    /// Decodes the outcome of a call for the task.
    ///
    /// # Errors
    /// The reason why rules cannot read it, for the model. Then the call is taken back.
    pub(super) async fn reported(
        &self,
        name: &str,
        course: &Course,
        outcome: Result<Value, Failure>,
    ) -> Result<Reported, String> {
        let shape = match course.kind {
            Kind::Tool => schema::CALL_TOOL_RESULT,
            Kind::Resource => schema::READ_RESOURCE_RESULT,
            Kind::Prompt => schema::GET_PROMPT_RESULT,
        };
        let name = format!("{name} result");
        let outcome = match outcome {
            Ok(result) => self.decode(Side::Client, &shape, result, &name).map_err(|_| unknown_result()),
            // the data of an error are kept only where the protocol defines them
            Err(failure) => Err(failure),
        };
        let data = outcome.as_ref().err().and_then(|failure| self.error(failure.clone()).data);
        let meta = outcome.as_ref().ok().and_then(|it| it.get("_meta")).cloned();
        let output = match course.kind.output(outcome) {
            Ok(output) => output,
            Err(why) => {
                self.withdraw(&course.begun, &course.call, true).await;
                return Err(why.to_owned());
            }
        };
        Ok(Reported { output, data, meta })
    }

    /// An outcome as a decision leaves it.
    ///
    /// # Errors
    /// What stands in the way.
    pub(super) fn written(
        &self,
        course: &Course,
        reported: Reported,
        settled: Settled,
    ) -> Result<Result<Value, Failure>, Settled> {
        let Reported { output, data, meta } = reported;
        let mut told = match settled {
            Settled::Goes { value, .. } => course.kind.outcome(output.layout, value),
            Settled::Answered(value) => Ok(course.kind.answered(value)),
            other => return Err(other),
        };
        match &mut told {
            Ok(result) => {
                if let (Some(result), Some(meta)) = (result.as_object_mut(), meta) {
                    result.insert("_meta".to_owned(), meta);
                }
                self.hold_meta(result);
                if course.kind == Kind::Resource {
                    uncached(result, course.modern);
                }
            }
            Err(failure) => failure.data = data,
        }
        Ok(whole(told, course.modern))
    }

    /// Answers a request whose call does not go on now.
    async fn refuse(&self, request: &Request, course: Course, settled: Settled, phase: Phase) {
        let has_run = matches!(phase, Phase::Ran(_));
        let told = match settled {
            Settled::Refused(why) => {
                self.state().open.remove(&course.call);
                course.kind.refused(&why)
            }
            Settled::Waits(why) => {
                let why = if has_run { messages::ran_and_waits(&why) } else { why };
                if course.repeats {
                    let parked = course.parked(phase, None);
                    let expired = self.state().parked.park_same(course.same(), parked);
                    for call in expired {
                        self.withdraw(&course.begun, &call, true).await;
                    }
                }
                course.kind.refused(&why)
            }
            Settled::Ask(asked) => {
                let form = self.form(&course, &asked, has_run).await;
                let question = json!({ (ANSWER): { "method": "elicitation/create", "params": form } });
                let result = self.park(&course, phase, Some(asked), Some(question)).await;
                return self.client.answer(&request.id, Ok(result)).await;
            }
            _ => {
                self.client.close(&request.id);
                return;
            }
        };
        self.end_with(request, told).await;
    }
}

impl Course {
    fn parked(&self, phase: Phase, asked: Option<Asked>) -> Parked {
        Parked {
            call: self.call.clone(),
            function: self.function.clone(),
            arguments: self.arguments.clone(),
            phase,
            asked,
        }
    }
}
