//! A request that is guarded, from the client to the server and back.
//!
//! In: a request, and how the task stands. Out: the server's response as a decision leaves it, or a response that says why there is none. A call
//! that waits for a person longer than a client would is parked: its request is answered with what to do, and the same call made
//! again goes on where it was.

use super::begun::Begun;
use super::course::{Course, elicits, whole};
use super::guard::{Asked, Standing};
use super::kinds::{ANSWER, Kind, Output};
use super::message::Message;
use super::messages;
use super::reviews::approves;
use super::session::{Later, OpenCall, Parked, Phase, Session};
use crate::delay::held_back;
use serde_json::Value;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};
use tokio_util::sync::CancellationToken;
use tracing::warn;
use uuid::Uuid;

/// How long one question about a call that waits may take. It is asked again as long as the call may wait.
const SLICE: Duration = Duration::from_secs(20);

/// What came of a call that had to wait.
pub(super) enum Settled {
    Goes {
        value: Value,
        delay: Duration,
    },
    Answered(Value),
    Refused(String),
    /// It waits on; the text says what to do.
    Waits(String),
    /// The user of the client is asked in the answer to the request.
    Ask(Asked),
    /// The client has taken it back, or is gone.
    Gone,
}

impl Session {
    /// Decides a request, and lets it run its course.
    pub(super) async fn admit(
        self: Arc<Self>,
        mut request: Message,
        kind: Kind,
        begun: Result<Arc<Begun>, String>,
    ) {
        let Some(id) = request.id().cloned() else { return };
        let (function, arguments) = kind.call(&request);
        let modern = request.protocol().is_some();
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
                return self.pass(request);
            }
            Err(why) => {
                self.to_client(whole(kind.refused(id, &why), modern)).await;
                return;
            }
        };
        begun.used.store(true, Ordering::Relaxed);
        let same = format!("{function} {arguments}");
        let parked = self.unpark(&mut request, &same, &begun).await;
        let call = parked.as_ref().map_or_else(|| Uuid::new_v4().to_string(), |(it, _)| it.call.clone());
        let cancelled = CancellationToken::new();
        let open = OpenCall { call: call.clone(), cancelled: cancelled.clone() };
        self.state().open.insert(id.to_string(), open);
        let stands = match &parked {
            None => begun.guard.before(&call, &function, &arguments).await,
            Some((Parked { asked: Some(asked), .. }, approves)) => {
                begun.guard.answer(&asked.question, *approves).await
            }
            Some((Parked { phase: Phase::Continues, .. }, _)) => {
                Ok(Standing::Goes { value: arguments, delay: Duration::ZERO })
            }
            Some(_) => begun.guard.standing(&call, Duration::ZERO).await,
        };
        let elicits = elicits(&request, self.state().elicits);
        let course = Course { begun, kind, id, call, function, same, cancelled, modern, elicits };
        let phase = parked.map(|(it, _)| it.phase);
        let session = self.clone();
        self.calls.spawn(async move {
            let key = course.id.to_string();
            session.carry(request, course, phase, stands).await;
            session.state().open.remove(&key);
        });
    }

    /// The call that goes on with this request, and whether the user has approved what they were asked in the answer to the one before.
    async fn unpark(&self, request: &mut Message, same: &str, begun: &Begun) -> Option<(Parked, bool)> {
        let asked = request.param("/requestState").and_then(Value::as_str).map(str::to_owned);
        let asked = asked.and_then(|state| self.state().parked.remove(&state));
        if let Some(parked) = asked {
            request.take_param("requestState");
            let answers = request.take_param("inputResponses");
            let approves = approves(answers.as_ref().and_then(|answers| answers.get(ANSWER)));
            return Some((parked, approves));
        }
        let parked = self.state().parked.remove(same)?;
        let goes_on = request.param("/inputResponses").is_some() || request.param("/requestState").is_some();
        if matches!(parked.phase, Phase::Continues) && !goes_on {
            // it is made anew, and nobody will report the one before
            begun.guard.withdraw(&parked.call, true).await;
            return None;
        }
        Some((parked, false))
    }

    /// A request that goes through although nobody has decided it, as everything is only observed.
    fn pass(self: Arc<Self>, request: Message) {
        let session = self.clone();
        self.calls.spawn(async move { session.to_server(request).await });
    }

    async fn carry(
        self: &Arc<Self>,
        mut request: Message,
        course: Course,
        phase: Option<Phase>,
        stands: Result<Standing, String>,
    ) {
        let settled = self.settle(&course, stands, false).await;
        let (value, delay) = match settled {
            Settled::Goes { value, delay } => (value, delay),
            Settled::Answered(value) => {
                let told = course.kind.answered(course.id, &value);
                self.to_client(whole(told, course.modern)).await;
                return;
            }
            other => return self.refuse(course, other, Phase::Asked).await,
        };
        if let Some(Phase::Ran(mut response)) = phase {
            // it ran when it was asked for the first time, and its result has been reviewed since
            let output = course.kind.output(&response);
            course.kind.tell(&mut response, &output, value);
            response = with_id(response, &course.id);
            self.to_client(response).await;
            return;
        }
        tokio::select! {
            () = held_back(delay) => {}
            () = course.cancelled.cancelled() => {
                course.begun.guard.withdraw(&course.call, false).await;
                return;
            }
        }
        course.kind.set(&mut request, value);
        let response = tokio::select! {
            response = self.ask_server(request) => response,
            () = course.cancelled.cancelled() => {
                let params = serde_json::json!({ "requestId": course.id, "reason": messages::CANCELLED });
                self.to_server(Message::notification("notifications/cancelled", params)).await;
                course.begun.guard.withdraw(&course.call, true).await;
                return;
            }
        };
        match response {
            Some(response) => self.report(course, response).await,
            None => {
                course.begun.guard.withdraw(&course.call, true).await;
                let told = course.kind.refused(course.id, messages::SERVER_GONE);
                self.to_client(whole(told, course.modern)).await;
            }
        }
    }

    /// A server has answered a call.
    async fn report(self: &Arc<Self>, course: Course, response: Message) {
        let result = response.outcome();
        let member = |name: &str| result.and_then(|result| result.get(name));
        if let Some(task) = member("task").and_then(|task| task.get("taskId")).and_then(Value::as_str) {
            let later = Later { call: course.call, function: course.function };
            self.state().later.insert(task.to_owned(), later);
            self.to_client(response).await;
            return;
        }
        match member("resultType").and_then(Value::as_str) {
            None | Some("complete") => {}
            Some("input_required") => {
                let parked = Parked { call: course.call, phase: Phase::Continues, asked: None };
                self.state().parked.insert(course.same, parked);
                self.to_client(response).await;
                return;
            }
            // a result of a kind that nobody here can read is judged by nobody
            Some(_) if self.settings.observe => {}
            Some(_) => {
                course.begun.guard.withdraw(&course.call, true).await;
                let told = course.kind.refused(course.id, messages::UNKNOWN_RESULT);
                self.to_client(whole(told, course.modern)).await;
                return;
            }
        }
        self.tell(course, response).await;
    }

    /// A result goes to the client, as the steps behind the call leave it.
    async fn tell(self: &Arc<Self>, course: Course, mut response: Message) {
        let output = course.kind.output(&response);
        let Output { failed, value } = &output;
        let stands = course.begun.guard.after(&course.call, *failed, value).await;
        match self.settle(&course, stands, true).await {
            Settled::Goes { value, .. } => {
                course.kind.tell(&mut response, &output, value);
                self.to_client(response).await;
            }
            Settled::Answered(value) => {
                let told = course.kind.answered(course.id, &value);
                self.to_client(whole(told, course.modern)).await;
            }
            other => self.refuse(course, other, Phase::Ran(response)).await,
        }
    }

    /// A client asks for a result that was to come later.
    pub(super) async fn result_of_later(
        self: Arc<Self>,
        request: Message,
        begun: Result<Arc<Begun>, String>,
    ) {
        let id = request.id().cloned().unwrap_or_default();
        let task = request.param("/taskId").and_then(Value::as_str).unwrap_or_default().to_owned();
        let later = self.state().later.get(&task).cloned();
        let Some(response) = self.ask_server(request).await else { return };
        let (Some(later), Ok(begun)) = (later, begun) else {
            let told = if self.settings.observe {
                response
            } else {
                Kind::Tool.refused(id, messages::UNKNOWN_RESULT)
            };
            self.to_client(told).await;
            return;
        };
        let Later { call, function } = later;
        let (same, cancelled) = (String::new(), CancellationToken::new());
        let (modern, elicits) = (false, self.state().elicits);
        let kind = Kind::Tool;
        let course = Course { begun, kind, id, call, function, same, cancelled, modern, elicits };
        self.tell(course, response).await;
    }

    /// What a client is told when it gets no result.
    async fn refuse(&self, course: Course, settled: Settled, phase: Phase) {
        let has_run = matches!(phase, Phase::Ran(_));
        let told = match settled {
            Settled::Refused(why) => course.kind.refused(course.id, &why),
            Settled::Waits(why) => {
                let why = if has_run { messages::ran_and_waits(&why) } else { why };
                if !course.same.is_empty() {
                    let parked = Parked { call: course.call, phase, asked: None };
                    self.state().parked.insert(course.same, parked);
                }
                course.kind.refused(course.id, &why)
            }
            Settled::Ask(asked) => {
                let (form, state) = (self.form(&course, &asked, has_run).await, self.next_id());
                let parked = Parked { call: course.call, phase, asked: Some(asked) };
                self.state().parked.insert(state.clone(), parked);
                self.to_client(Kind::asks(course.id, &form, &state)).await;
                return;
            }
            _ => return,
        };
        self.to_client(whole(told, course.modern)).await;
    }

    /// Waits until a call is decided, asks the user of the client where they are the one to answer, or says what it waits for.
    async fn settle(&self, course: &Course, stands: Result<Standing, String>, has_run: bool) -> Settled {
        let guard = &course.begun.guard;
        let until = Instant::now().checked_add(self.settings.review_wait);
        let mut stands = stands;
        loop {
            let left = until.map_or(SLICE, |until| until.saturating_duration_since(Instant::now()));
            let next = match stands {
                Err(why) => return Settled::Refused(why),
                Ok(Standing::Goes { value, delay }) => return Settled::Goes { value, delay },
                Ok(Standing::Answered(value)) => return Settled::Answered(value),
                Ok(Standing::Refused(why)) => return Settled::Refused(why),
                Ok(Standing::Beyond(why)) => {
                    guard.withdraw(&course.call, has_run).await;
                    return Settled::Refused(why.to_owned());
                }
                Ok(Standing::Review(asked)) if course.modern && self.may_elicit(course, &asked) => {
                    return Settled::Ask(asked);
                }
                Ok(Standing::Review(asked)) if self.may_elicit(course, &asked) => {
                    self.elicit(course, &asked, has_run).await
                }
                Ok(Standing::Review(asked)) if left.is_zero() => {
                    return Settled::Waits(self.how_to_review(&asked));
                }
                Ok(Standing::Waits(_)) if left.is_zero() => {
                    return Settled::Waits(messages::WAITS_FOR_OTHERS.to_owned());
                }
                Ok(Standing::Waits(others)) => {
                    self.forget(course, &others).await;
                    self.wait(course, left.min(SLICE)).await
                }
                Ok(Standing::Review(_)) => self.wait(course, left.min(SLICE)).await,
            };
            let Some(next) = next else {
                guard.withdraw(&course.call, has_run).await;
                return Settled::Gone;
            };
            stands = next;
        }
    }

    /// How a call stands after a while; nothing if the client takes it back.
    pub(super) async fn wait(&self, course: &Course, wait: Duration) -> Option<Result<Standing, String>> {
        tokio::select! {
            stands = course.begun.guard.standing(&course.call, wait) => Some(stands),
            () = course.cancelled.cancelled() => None,
        }
    }

    /// Takes back the calls that this one waits for and that nobody will ever report: those of a session before this one.
    async fn forget(&self, course: &Course, others: &[String]) {
        let known: Vec<String> = {
            let state = self.state();
            let open = state.open.values().map(|it| &it.call);
            let parked = state.parked.values().map(|it| &it.call);
            open.chain(parked).chain(state.later.values().map(|it| &it.call)).cloned().collect()
        };
        for other in others.iter().filter(|other| !known.contains(other)) {
            course.begun.guard.withdraw(other, true).await;
        }
    }

    fn how_to_review(&self, asked: &Asked) -> String {
        messages::waits_for_review(&asked.reviewer, self.settings.reviews_at.as_deref())
    }
}

/// A response under another id.
fn with_id(response: Message, id: &Value) -> Message {
    let mut body = response.into_value();
    if let Some(members) = body.as_object_mut() {
        members.insert("id".to_owned(), id.clone());
    }
    Message::of(body).unwrap_or_else(|| Message::error(id.clone(), 0, messages::REFUSED))
}
