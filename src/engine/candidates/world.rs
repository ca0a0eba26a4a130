//! The world around a generated task: results of functions that steps invoke, and counters that hold what the task begins with.
//!
//! In: a request of an operation. Out: its answer; none to a review, which the caller decides.

use super::Beginning;
use crate::cel::{Json, Timestamp};
use crate::counter::{CounterBook, CounterChanges, CounterId, Decimal, Reservation};
use crate::task::{Answer, BegunOperation, CallResult, HandedOver, Progress, Request, Task, TaskError};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

/// The world around a generated task.
#[derive(Clone, Debug)]
pub(crate) struct GeneratedWorld<'b> {
    pub(crate) now: Timestamp,
    pub(crate) beginning: &'b Beginning,
    /// By function, the result for steps that invoke it; `{}` for all others.
    pub(crate) invoked: Option<&'b BTreeMap<String, Value>>,
    /// What counts across tasks.
    pub(crate) book: CounterBook,
    /// The counters that the task has read, with what they held before it.
    pub(crate) filled: Vec<(CounterId, i64)>,
}

impl<'b> GeneratedWorld<'b> {
    /// A world in which only the beginning of a task has happened.
    pub(crate) fn new(now: Timestamp, beginning: &'b Beginning) -> Self {
        Self { now, beginning, invoked: None, book: CounterBook::default(), filled: Vec::new() }
    }

    /// Answers an operation until it is decided, or asks for something that `review` has no answer to.
    pub(crate) fn drive<T: HandedOver>(
        &mut self,
        mut operation: BegunOperation<'_, T>,
        review: &mut dyn FnMut(&Request) -> Option<Answer>,
    ) -> Result<Progress, TaskError> {
        while let Some(request) = operation.request() {
            let Some(answer) = self.answer(request, review) else { break };
            operation = operation.answer(answer, self.now)?;
        }
        Ok(operation.into_progress())
    }

    fn answer(
        &mut self,
        request: &Request,
        review: &mut dyn FnMut(&Request) -> Option<Answer>,
    ) -> Option<Answer> {
        Some(match request {
            Request::Review { .. } => return review(request),
            Request::Invoke(invocation) => {
                let output = self.invoked.and_then(|invoked| invoked.get(&invocation.function));
                let output = output.cloned().unwrap_or_else(|| json!({}));
                Answer::Result(CallResult::successful(Json::from(&output)))
            }
            // the mount is empty
            Request::ReadMount { .. } | Request::MeasureFile { .. } => Answer::Failed,
            Request::WriteMount { .. } => Answer::Written,
            Request::Counters { counters } => {
                counters.iter().for_each(|counter| self.fill(counter));
                Answer::Counters(counters.iter().map(|counter| self.book.read(counter)).collect())
            }
        })
    }

    /// Makes the changes of counters that a task has asked for; nothing if they cannot be made.
    pub(crate) fn keep_changes(&mut self, task: &mut Task) -> Option<()> {
        let changes = task.take_counter_changes();
        self.book.apply(task.id(), &changes, self.now).ok()
    }

    /// Gives a counter that is read for the first time what it holds at the beginning.
    fn fill(&mut self, id: &CounterId) {
        if self.filled.iter().any(|(known, _)| known == id) {
            return;
        }
        let own = self.beginning.counters.iter().find(|it| it.policy == id.policy() && it.name == id.name());
        let Some(counter) = own.filter(|it| it.amount > 0) else { return };
        let Ok(amount) = Decimal::from_int(counter.amount) else { return };
        let call = format!("before {id}");
        let spent = Reservation { counter: id.clone(), window: counter.window, call, amount };
        let changes = CounterChanges { spend: vec![spent], ..CounterChanges::default() };
        // another task has spent it
        if self.book.apply("t-0", &changes, self.now).is_ok() {
            self.filled.push((id.clone(), counter.amount));
        }
    }

    /// What counters held at the beginning, as `counters` of a case has it; nothing if all were empty.
    pub(crate) fn counters_json(filled: &[(CounterId, i64)]) -> Option<Value> {
        let mut counters = Map::new();
        for (id, amount) in filled {
            let name = format!("{}#{}", id.policy(), id.name());
            match serde_json::from_str::<String>(id.key()) {
                Ok(key) => {
                    let keyed = counters.entry(name).or_insert_with(|| json!({}));
                    if let Some(keyed) = keyed.as_object_mut() {
                        keyed.insert(key, (*amount).into());
                    }
                }
                Err(_) => drop(counters.insert(name, (*amount).into())),
            }
        }
        (!counters.is_empty()).then(|| counters.into())
    }
}
