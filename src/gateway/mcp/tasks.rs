//! Tasks of a server: calls whose results come later, in the form of 2025-11-25 and in that of the extension `io.modelcontextprotocol/tasks`.
//!
//! A result with the handle of a task goes on only for a call that allows one. The session keeps the call under the server's id, and lets requests
//! and notifications through for these ids alone. The result is judged as that of the call, once, wherever it is first seen.

use super::course::{Course, Request};
use super::guard::Standing;
use super::kinds::{Kind, Output, unknown_result, whole};
use super::message::{Body, Failure, INTERNAL_ERROR, INVALID_PARAMS, Members, Message};
use super::messages;
use super::methods::{Handling, Side};
use super::peer::{Cancellation, ProgressReports};
use super::question::{Origin, shown};
use super::schema;
use super::session::Session;
use super::settle::Settled;
use super::task_list::{CallTask, MAX_TASKS};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

impl Session {
    /// A call has created a task; nothing if it may not.
    pub(super) fn create_task(
        &self,
        request: &Request,
        course: &Course,
        result: &Value,
        progress: Option<ProgressReports>,
    ) -> Option<Result<Value, Failure>> {
        let is_flat = result.get("resultType").is_some();
        let is_allowed = if is_flat { request.knows_tasks() } else { request.param("task").is_some() };
        if !is_allowed || course.kind != Kind::Tool {
            return None;
        }
        let (shape, pointer) = if is_flat {
            (schema::DETAILED_TASK, "/taskId")
        } else {
            (schema::CREATE_TASK_RESULT, "/task/taskId")
        };
        let mut handle = self.decode(Side::Client, &shape, result.clone(), "tools/call task").ok()?;
        if let (Some(handle), true) = (handle.as_object_mut(), is_flat) {
            for member in ["result", "error", "inputRequests", "_meta"] {
                handle.remove(member);
            }
        }
        let id = handle.pointer(pointer).and_then(Value::as_str)?.to_owned();
        let mut state = self.state();
        if state.tasks.is_known(&id) || state.tasks.tasks.len() >= MAX_TASKS {
            return None;
        }
        state.open.remove(&course.call);
        let mut course = course.clone();
        (course.repeats, course.elicits) = (false, course.elicits && !course.modern);
        let task = CallTask {
            course,
            reported: None,
            outcome: None,
            questions: BTreeMap::new(),
            _progress: progress,
        };
        state.tasks.tasks.insert(id, task);
        Some(Ok(handle))
    }

    /// The client asks for a task.
    pub(super) async fn ask_task(self: Arc<Self>, mut request: Request) {
        let id = request.text("taskId").to_owned();
        let known = self.state().tasks.tasks.get(&id).map(|task| task.course.clone());
        let Some(mut course) = known else {
            if self.settings.observe {
                return self.forward_unjudged(request).await;
            }
            let failure = Failure::new(INVALID_PARAMS, messages::NO_SUCH_TASK);
            return self.client.answer(&request.id, Err(failure)).await;
        };
        course.cancellation = request.cancellation.clone();
        course.id = Some(request.id.clone());
        if request.method.handling == Handling::UpdateTask
            && let Err(failure) = self.answer_task(&mut request, &id, &course).await
        {
            return self.client.answer(&request.id, Err(failure)).await;
        }
        let Some(sent) = self.ask_server(&request).await else {
            let failure = Failure::new(INTERNAL_ERROR, messages::SERVER_GONE);
            return self.client.answer(&request.id, Err(failure)).await;
        };
        let Some(outcome) = self.reply(&request, sent).await else { return };
        if self.settings.observe {
            return self.client.answer(&request.id, outcome).await;
        }
        let told = match (request.method.handling, outcome) {
            (Handling::TaskResult, outcome) => {
                let judged = self.task_outcome(&id, &course, outcome, true).await;
                judged.unwrap_or_else(|| Err(Failure::new(INVALID_PARAMS, messages::NO_SUCH_TASK)))
            }
            (_, Err(failure)) => Err(self.error(failure)),
            (Handling::GetTask, Ok(result)) => self.task_details(&id, &course, result).await,
            (Handling::CancelTask, Ok(result)) => {
                self.withdraw(&course.begun, &course.call, true).await;
                let decoded =
                    self.decode(Side::Client, &schema::DETAILED_TASK, result.clone(), "tasks/cancel result");
                let empty =
                    || self.decode(Side::Client, &schema::EMPTY_RESULT, result, "tasks/cancel result");
                decoded.map(handle_of).or_else(|_| empty()).map_err(|_| unknown_result())
            }
            (_, Ok(result)) => self
                .decode(Side::Client, &schema::EMPTY_RESULT, result, "tasks/update result")
                .map_err(|_| unknown_result()),
        };
        let is_modern = request.is_modern();
        let told = told.map(|mut result| {
            self.hold_meta(&mut result);
            result
        });
        self.client.answer(&request.id, whole(told, is_modern)).await;
    }

    async fn forward_unjudged(&self, request: Request) {
        self.notices.unjudged(messages::UNJUDGED_VALUE, "message", &request.name);
        let Some(sent) = self.ask_server(&request).await else { return };
        if let Some(outcome) = self.reply(&request, sent).await {
            self.client.answer(&request.id, outcome).await;
        }
    }

    /// Judges the client's answers to questions of a task.
    async fn answer_task(
        self: &Arc<Self>,
        request: &mut Request,
        id: &str,
        course: &Course,
    ) -> Result<(), Failure> {
        let answers = request.param("inputResponses").and_then(Value::as_object).cloned().unwrap_or_default();
        let mut asked = BTreeMap::new();
        {
            // a question that is answered is taken out, so that it is answered once
            let mut state = self.state();
            let task = state.tasks.tasks.get_mut(id);
            let task = task.ok_or_else(|| Failure::new(INVALID_PARAMS, messages::NO_SUCH_TASK))?;
            for name in answers.keys() {
                asked.extend(task.questions.remove_entry(name));
            }
        }
        let judged = self.judge_answers(&course.begun, &answers, &mut asked, &Origin::of(course)).await?;
        if let Some(params) = &mut request.params {
            params.insert("inputResponses".to_owned(), Value::Object(judged));
        }
        Ok(())
    }

    /// The state of a task, with what it has come to.
    async fn task_details(
        self: &Arc<Self>,
        id: &str,
        course: &Course,
        result: Value,
    ) -> Result<Value, Failure> {
        let decoded = self.decode(Side::Client, &schema::DETAILED_TASK, result, "tasks/get result");
        let details = decoded.map_err(|_| unknown_result())?;
        let is_it = details.get("taskId").and_then(Value::as_str) == Some(id);
        let status = details.get("status").and_then(Value::as_str).unwrap_or_default().to_owned();
        let member = |name: &str| details.get(name).cloned();
        let details = match (&*status, is_it) {
            (_, false) => return Err(unknown_result()),
            ("completed", _) if details.get("result").is_some() => {
                let result = Ok(member("result").unwrap_or_default());
                let outcome = self.task_outcome(id, course, result, !course.modern).await;
                let mut handle = handle_of(details);
                let (name, value) = match outcome {
                    None => return Ok(under_review(handle)),
                    Some(Ok(result)) => ("result", result),
                    Some(Err(failure)) => {
                        set(&mut handle, "status", "failed".into());
                        ("error", error_value(failure))
                    }
                };
                set(&mut handle, name, value);
                handle
            }
            ("failed", _) if details.get("error").is_some() => {
                let error = json!({ "jsonrpc": "2.0", "id": 0, "error": member("error") });
                let failure = match Message::of(error).map(|message| message.body) {
                    Some(Body::Response { outcome: Err(failure), .. }) => failure,
                    _ => unknown_result(),
                };
                let outcome = self.task_outcome(id, course, Err(failure), !course.modern).await;
                let mut handle = handle_of(details);
                match outcome {
                    None => return Ok(under_review(handle)),
                    Some(Err(failure)) => set(&mut handle, "error", error_value(failure)),
                    // what is withheld from the model is a result that says so
                    Some(Ok(result)) => {
                        set(&mut handle, "status", "completed".into());
                        set(&mut handle, "result", result);
                    }
                }
                handle
            }
            ("input_required", _) => {
                let asked =
                    details.get("inputRequests").and_then(Value::as_object).cloned().unwrap_or_default();
                let known = {
                    let state = self.state();
                    state.tasks.tasks.get(id).map(|task| task.questions.clone()).unwrap_or_default()
                };
                let questions =
                    self.judge_questions(&course.begun, &asked, &known, &Origin::of(course)).await?;
                let mut handle = handle_of(details);
                set(&mut handle, "inputRequests", shown(&questions));
                if let Some(task) = self.state().tasks.tasks.get_mut(id) {
                    task.questions = questions;
                }
                handle
            }
            _ => handle_of(details),
        };
        Ok(details)
    }

    /// The outcome of a task, judged as that of its call, once: what is told first is what the server has said first. Nothing while it is
    /// under review, unless `waits`: then it is waited for as for a result.
    async fn task_outcome(
        self: &Arc<Self>,
        id: &str,
        course: &Course,
        outcome: Result<Value, Failure>,
        waits: bool,
    ) -> Option<Result<Value, Failure>> {
        let known = {
            let state = self.state();
            let task = state.tasks.tasks.get(id)?;
            if let Some(judged) = &task.outcome {
                return Some(judged.clone());
            }
            task.reported.clone()
        };
        let is_again = known.is_some();
        let reported = match known {
            Some(reported) => Ok(reported),
            None => self.reported("tasks/result", course, outcome).await,
        };
        // a request that is taken back takes no task back
        let course = &Course { cancellation: Cancellation::default(), ..course.clone() };
        let told = match reported {
            Ok(reported) => {
                if let Some(task) = self.state().tasks.tasks.get_mut(id) {
                    task.reported = Some(reported.clone());
                }
                let Output { failed, value, .. } = &reported.output;
                let stands = match is_again {
                    true => course.begun.guard.standing(&course.call, Duration::ZERO).await,
                    false => course.begun.guard.after(&course.call, *failed, value).await,
                };
                if !waits && matches!(stands, Ok(Standing::Review(_) | Standing::Waits(_))) {
                    return None;
                }
                let settled = self.settle(course, stands, true).await;
                self.written(course, reported, settled)
            }
            Err(why) => Err(Settled::Refused(why)),
        };
        let judged = match told {
            Ok(judged) => judged,
            // the review goes on, and the result can be asked for again
            Err(Settled::Waits(why)) => {
                return Some(whole(course.kind.refused(&messages::ran_and_waits(&why)), course.modern));
            }
            Err(settled) => whole(course.kind.refused(settled.reason()), course.modern),
        };
        if let Some(task) = self.state().tasks.tasks.get_mut(id) {
            (task.outcome, task.reported, task._progress) = (Some(judged.clone()), None, None);
        }
        Some(judged)
    }

    /// The server reports the state of a task.
    pub(super) fn task_status(self: &Arc<Self>, name: &str, params: Members, within: Option<Value>) {
        let id = params.get("taskId").and_then(Value::as_str).unwrap_or_default().to_owned();
        let known = self.state().tasks.tasks.get(&id).map(|task| task.course.clone());
        if self.calls.len() > MAX_TASKS {
            return self.notices.warn(messages::TOO_MANY_REQUESTS, name);
        }
        let (session, name) = (self.clone(), name.to_owned());
        self.calls.spawn(async move {
            let params = match known {
                _ if session.settings.observe => params,
                None => return session.notices.warn(messages::NO_SUCH_TASK, &name),
                Some(_) if name == "notifications/tasks/status" => params,
                Some(mut course) => {
                    course.cancellation = Cancellation::default();
                    let meta = params.get("_meta").cloned();
                    let details = session.task_details(&id, &course, Value::Object(params)).await;
                    let Ok(Value::Object(mut details)) = details else { return };
                    details.remove("resultType");
                    details.extend(meta.map(|meta| ("_meta".to_owned(), meta)));
                    details
                }
            };
            session.client.notify(&name, Some(params), within).await;
        });
    }
}

/// The members of a task that are no content.
fn handle_of(mut details: Value) -> Value {
    if let Some(members) = details.as_object_mut() {
        for member in ["result", "error", "inputRequests"] {
            members.remove(member);
        }
    }
    details
}

/// A task whose result is under review: its client asks for it again, as for one that works.
fn under_review(mut handle: Value) -> Value {
    set(&mut handle, "status", "working".into());
    handle
}

fn set(details: &mut Value, name: &str, value: Value) {
    if let Some(members) = details.as_object_mut() {
        members.insert(name.to_owned(), value);
    }
}

fn error_value(failure: Failure) -> Value {
    let response = Message::response(0.into(), Err(failure)).into_value();
    response.get("error").cloned().unwrap_or_default()
}
