//! Calls of the model and their answers, tried through both engines.
//!
//! In: the constants of both sides. Out: a witness for each direction, and the evidence. Requests and answers fit the schemas of calls of the model.

use super::Difference;
use super::changed_steps::ChangedSteps;
use super::search::Search;
use super::witness::MOST;
use crate::cel::Json;
use crate::evidence::Evidence;
use crate::policy::{answer_schema, request_schema};
use crate::task::{CallId, ModelCall, Progress, TaskError, Usage, VerdictKind};
use serde_json::{Map, Value, json};

/// A bound on the requests and on the answers, each.
const KINDS: usize = MOST / 3;

impl Search<'_> {
    /// Tries requests, requests with an estimate, and answers.
    pub(super) fn model(&self, changed: &ChangedSteps) -> (Difference, Evidence) {
        let requests = self.named().results(Some(&request_schema()), KINDS);
        let first = requests.iter().find(|request| request.pointer("/messages/0").is_some());
        let first = first.or(requests.first()).cloned().unwrap_or_default();
        let used = |amount: i64| json!({ "prompt_tokens": amount, "completion_tokens": 0, "cost": amount });
        let estimated = self
            .named()
            .amounts()
            .map(|amount| json!({ "op": "model_before", "request": first, "estimate": used(amount) }));
        let priced = self.named().amounts().map(|amount| json!({ "text": "x", "usage": used(amount) }));
        let answers = self.named().results(Some(&answer_schema()), KINDS).into_iter();
        let answered = answers
            .chain(priced)
            .map(|answer| json!({ "op": "model_after", "request": first, "answer": answer }));
        let asked = requests.iter().map(|request| json!({ "op": "model_before", "request": request }));
        let calls: Vec<Value> = asked.chain(estimated).chain(answered).collect();
        self.tried(changed, &calls, &|task, call, world| {
            let part = |name: &str| Json::from(call.get(name).unwrap_or(&Value::Null));
            let (id, now) = (CallId::from("m-1"), world.now);
            let made = ModelCall {
                estimate: call.get("estimate").and_then(Value::as_object).map(usage),
                ..ModelCall::new(part("request")).with_id(id.clone())
            };
            let asked = world.drive(task.model_before(&made, now)?, &mut |_| None)?;
            let Some(answer) = call.get("answer").map(Json::from) else { return Ok(asked) };
            // an answer comes only to what was sent
            if !matches!(&asked, Progress::Decided(decision) if decision.verdict.kind() == VerdictKind::Allow)
            {
                return Ok(asked);
            }
            if world.keep_changes(task).is_none() {
                return Err(TaskError::UnknownCall(id));
            }
            world.drive(task.model_after(&id, &answer, now)?, &mut |_| None)
        })
    }
}

/// An estimate as a case has it.
fn usage(estimate: &Map<String, Value>) -> Usage {
    let count = |name: &str| estimate.get(name).and_then(Value::as_u64).unwrap_or_default();
    let cost = crate::amount::Amount::from_uint(count("cost")).unwrap_or_default();
    Usage { prompt_tokens: count("prompt_tokens"), completion_tokens: count("completion_tokens"), cost }
}
