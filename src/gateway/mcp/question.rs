//! Questions of a server that the client is asked, and the requests in whose course they are asked.

use super::course::Course;
use super::methods::Method;
use super::peer::Cancellation;
use serde_json::Value;
use std::collections::BTreeMap;

/// A question that was judged and that the client has not answered.
#[derive(Clone)]
pub(super) struct Question {
    /// Its call in the task.
    pub(super) call: String,
    pub(super) method: &'static Method,
    /// The request as the client sees it.
    pub(super) shown: Value,
}

/// The client's request in whose course a question is asked.
#[derive(Clone, Default)]
pub(super) struct Origin {
    pub(super) id: Option<Value>,
    pub(super) modern: bool,
    pub(super) elicits: bool,
    pub(super) cancellation: Cancellation,
}

impl Origin {
    /// The request of a call.
    pub(super) fn of(course: &Course) -> Self {
        Self {
            id: course.id.clone(),
            modern: course.modern,
            elicits: course.elicits,
            cancellation: course.cancellation.clone(),
        }
    }
}

/// Questions as a result has them.
pub(super) fn shown(questions: &BTreeMap<String, Question>) -> Value {
    let shown = questions.iter().map(|(name, question)| (name.clone(), question.shown.clone()));
    Value::Object(shown.collect())
}
