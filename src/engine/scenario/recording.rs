//! A recorded task as steps to be judged anew.
//!
//! In: a [`Script`]. Out: [`Recorded`] steps. A script says what happened and not what was decided, so they hold no verdicts, but for what follows from the
//! steps: a call that has a result was let through.

use super::script::Script;
use super::step::{ScriptAction, ScriptCall, ScriptResult};
use crate::replay::{Recorded, RecordedStep};
use crate::task::{Call, CallId};
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
                        gave: if first { self.mocks.clone() } else { BTreeMap::new() },
                        plays_others: true,
                    }
                })
                .collect::<Vec<_>>()
        })
    }
}

fn steps_of(action: &ScriptAction) -> Vec<RecordedStep> {
    match action {
        ScriptAction::Input(input) => vec![RecordedStep::Input(input.clone())],
        ScriptAction::Output(output) => vec![RecordedStep::Output(output.clone())],
        ScriptAction::ModelTurn { usage, calls } => {
            let calls = calls.iter().map(|call| (made(call), None));
            vec![RecordedStep::Turn { usage: *usage, calls: calls.collect() }]
        }
        ScriptAction::Call { call, result } => {
            let id = CallId::from(&*call.id.text);
            let result =
                result.as_ref().map(|(result, _)| RecordedStep::Result { id, result: result.clone() });
            std::iter::once(RecordedStep::Call(made(call))).chain(result).collect()
        }
        ScriptAction::Results(results) => results.iter().map(reported).collect(),
        ScriptAction::Withdraw { id, ran } => {
            vec![RecordedStep::Withdraw { id: CallId::from(&*id.text), ran: *ran }]
        }
        ScriptAction::Review(review) => {
            let word = review.choice.word();
            let id = review.call.as_ref().map(|call| CallId::from(&*call.text));
            let reviewer = review.reviewer.as_ref().map(|reviewer| reviewer.text.to_string());
            vec![RecordedStep::Review { id, reviewer, word }]
        }
        ScriptAction::Model(_) | ScriptAction::Event(_) => vec![RecordedStep::Other],
    }
}

fn reported(result: &ScriptResult) -> RecordedStep {
    RecordedStep::Result { id: CallId::from(&*result.id.text), result: result.result.clone() }
}

fn made(call: &ScriptCall) -> Call {
    Call::new(&*call.function.text, call.arguments.clone()).with_id(&*call.id.text)
}
