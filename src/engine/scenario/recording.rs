//! A recorded task as steps to be judged anew.
//!
//! In: a [`Script`]. Out: [`Recorded`] steps. A script says what happened and not what was decided, so they hold no verdicts, but for what follows from the
//! steps: a call that has a result was let through.

use super::script::Script;
use super::step::ScriptAction;
use crate::replay::{Recorded, RecordedStep};
use crate::task::{CallId, Operation, ReportedCall};
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
    match action {
        ScriptAction::Operation { operation, .. } => RecordedStep::from_operation(operation.clone()),
        ScriptAction::Call { call, id, result } => {
            let reported = result.as_ref().map(|(result, _)| {
                Operation::After(ReportedCall { call: CallId::from(&*id.text), result: result.clone() })
            });
            let before = Operation::Before(call.clone());
            std::iter::once(before).chain(reported).map(RecordedStep::Operation).collect()
        }
        ScriptAction::Review(review) => {
            let word = review.choice.word();
            let call = review.call.as_ref().map(|call| CallId::from(&*call.text));
            let reviewer = review.reviewer.as_ref().map(|reviewer| reviewer.text.to_string());
            vec![RecordedStep::Review { call, reviewer, word }]
        }
    }
}
