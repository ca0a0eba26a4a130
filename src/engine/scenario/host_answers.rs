//! Results of functions of the host in a case: the key `functions`, and the host that answers with it.
//!
//! In: for each function a list of arguments with their value. Out: a set of functions for the task of the case. Functions are pure, so a call is answered by its arguments, however
//! often it is made. A case that comes to a call without an answer is broken: no test could say what would have followed. Linear in the answers of a function for each call.

use super::messages;
use super::values::list;
use crate::cel::{HostFunctionSet, Json};
use crate::diagnostic::Diagnostic;
use crate::manifest::fields::Key;
use crate::manifest::reader::Reader;
use crate::manifest::shape::{Anything, ByName, List, Required, mapping};
use crate::policy::Policy;
use crate::source::Place;
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

mapping! {
    /// An answer of a function of the host.
    pub(super) AnswerKeys = "an answer" {
        /// The arguments of the call, in their order.
        args: Required<List<Anything>>,
        /// The result.
        result: Required<Anything>,
    }
}

/// By function, what it gives for which arguments.
pub(super) type Answers = ByName<List<AnswerKeys>>;

/// The functions of the host in a case.
#[derive(Clone, Debug, Default)]
pub struct HostAnswers {
    answers: BTreeMap<String, Vec<(Vec<Value>, Json)>>,
    place: Option<Place>,
}

/// The first call that nothing answered: the function and its arguments.
pub(super) type MissingAnswer = Arc<Mutex<Option<(String, String)>>>;

impl Key<'_, '_, Answers> {
    /// By function, what it gives.
    pub(super) fn answers(&self, reader: &mut Reader) -> HostAnswers {
        let answers = self.by_name(reader, |node, path, reader| {
            Some(list(node, path, reader, |node, path, reader| {
                let fields = reader.fields::<AnswerKeys>(node, path)?;
                let arguments = fields.args().required("", reader);
                let arguments = arguments.map(|key| key.items(reader, |node, _, _| Some(node.to_json())));
                let result = fields.result().required("", reader).and_then(|key| key.get());
                let result = result.map(|field| Json::from(field.node.to_json()));
                fields.refuse_others(reader);
                Some((arguments?, result?))
            }))
        });
        HostAnswers { answers, place: self.get().map(|field| field.key.place.clone()) }
    }
}

impl HostAnswers {
    /// A finding about an answer of a function that no policy of the agent declares.
    pub(super) fn undeclared(&self, policy: &Policy) -> Option<Diagnostic> {
        let known = policy.host_functions();
        let unknown = self.answers.keys().find(|name| known.iter().all(|known| **known != **name))?;
        Some(messages::undeclared_function(self.place.as_ref()?, unknown, known))
    }

    /// The host of a task under a policy, and the first call that it could not answer.
    pub(super) fn host(&self, policy: &Policy) -> (HostFunctionSet, MissingAnswer) {
        let unanswered = MissingAnswer::default();
        let mut host = HostFunctionSet::default();
        for name in policy.host_functions() {
            let answers = self.answers.get(&**name).cloned().unwrap_or_default();
            let (first, function) = (unanswered.clone(), name.to_string());
            host.register_json(name, policy.limits().eval, move |arguments| {
                let given: Vec<Value> =
                    arguments.iter().map(|it| serde_json::to_value(it).unwrap_or_default()).collect();
                match answers.iter().find(|(known, _)| is_same_list(known, &given)) {
                    Some((_, result)) => Ok(result.clone()),
                    None => {
                        let mut first = first.lock().unwrap_or_else(PoisonError::into_inner);
                        first.get_or_insert_with(|| (function.clone(), Value::from(given).to_string()));
                        Err("no answer".into())
                    }
                }
            });
        }
        (host, unanswered)
    }
}

fn is_same_list(one: &[Value], other: &[Value]) -> bool {
    one.len() == other.len() && one.iter().zip(other).all(|(one, other)| is_same(one, other))
}

/// Whether two values are the same to expressions: 10 is 10.0.
fn is_same(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Number(one), Value::Number(other)) => one == other || one.as_f64() == other.as_f64(),
        (Value::Array(one), Value::Array(other)) => is_same_list(one, other),
        (Value::Object(one), Value::Object(other)) => {
            one.len() == other.len()
                && one.iter().all(|(name, value)| other.get(name).is_some_and(|it| is_same(value, it)))
        }
        (one, other) => one == other,
    }
}
