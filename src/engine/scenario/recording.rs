//! A recorded task as steps to be judged anew.
//!
//! In: a [`Script`]. Out: [`Recorded`] steps. A script says what happened and not what was decided, so they hold no verdicts, but for what follows from the
//! steps: a call that has a result was let through.

use super::script::Script;
use super::step::{ScriptAction, ScriptCall, ScriptResult};
use crate::replay::{Recorded, RecordedStep};
use crate::task::{Call, CallId, Operation, ReportedCall, Turn};
use std::collections::BTreeMap;

impl Script {
    /// Its steps, each as one of the task of this name.
    pub fn recorded<'s>(&'s self, task: &'s str) -> impl Iterator<Item = Recorded> + 's {
        let mut is_first = true;
        let mut at = self.environment.now;
        self.steps.iter().flat_map(move |step| {
            at = step.at.unwrap_or(at);
            steps_of(&step.action)
                .into_iter()
                .map(|step| {
                    let environment = &self.environment;
                    let first = std::mem::take(&mut is_first);
                    Recorded {
                        task: task.to_owned(),
                        agent: first.then(|| self.agent.text.to_string()),
                        user: first.then(|| environment.user.clone()),
                        started_at: first.then_some(environment.started_at),
                        at: Some(at),
                        step,
                        was: None,
                        calls_were: Vec::new(),
                        gave: if first { self.mocks.clone() } else { BTreeMap::new() },
                        plays_others: true,
                    }
                })
                .collect::<Vec<_>>()
        })
    }
}

fn steps_of(action: &ScriptAction) -> Vec<RecordedStep> {
    let operation = RecordedStep::from_operation;
    match action {
        ScriptAction::Input(input) => operation(Operation::Input(input.clone())),
        ScriptAction::Output(output) => operation(Operation::Output(output.clone())),
        ScriptAction::ModelTurn { usage, calls } => {
            operation(Operation::Turn(Turn { usage: *usage, calls: calls.iter().map(made).collect() }))
        }
        ScriptAction::Call { call, result } => {
            let reported = result.as_ref().map(|(result, _)| {
                let call = CallId::from(&*call.id.text);
                Operation::After(ReportedCall { call, result: result.clone() })
            });
            let before = Operation::Before(made(call));
            std::iter::once(before).chain(reported).flat_map(RecordedStep::from_operation).collect()
        }
        ScriptAction::Results(results) => {
            operation(Operation::Results { results: results.iter().map(reported).collect() })
        }
        ScriptAction::Withdraw { id, ran } => {
            operation(Operation::Withdraw { call: CallId::from(&*id.text), ran: *ran })
        }
        ScriptAction::Review(review) => {
            let word = review.choice.word();
            let call = review.call.as_ref().map(|call| CallId::from(&*call.text));
            let reviewer = review.reviewer.as_ref().map(|reviewer| reviewer.text.to_string());
            vec![RecordedStep::Review { call, reviewer, word }]
        }
        ScriptAction::Event(delivery) => operation(Operation::Event(delivery.clone())),
        ScriptAction::Model(_) => vec![RecordedStep::Unreadable],
    }
}

fn reported(result: &ScriptResult) -> ReportedCall {
    ReportedCall { call: CallId::from(&*result.id.text), result: result.result.clone() }
}

fn made(call: &ScriptCall) -> Call {
    Call::new(&*call.function.text, call.arguments.clone()).with_id(&*call.id.text)
}
