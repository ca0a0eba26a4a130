//! Where an expression of an operation would be evaluated: the task of a case as it is when the operation begins, and what comes with it.
//!
//! In: a case, and of one with steps the number of a step. Out: a [`Stage`]: the task, the time of the case's own clock, and the values that steps of the operation
//! see. Nothing of the operation has happened yet.

use super::case::{Case, TestedOperation};
use super::messages;
use super::replay::Replay;
use super::run::{Broken, Compiled, Runner, Running};
use super::step::{ScriptAction, ScriptStep};
use crate::cel::{Json, Timestamp};
use crate::context::Scope;
use crate::diagnostic::Diagnostic;
use crate::task::{Call, Operation, Task};

/// The state of a task ahead of an operation, and the values that come with it.
#[derive(Debug)]
pub struct Stage {
    /// The task.
    pub task: Task,
    /// The time.
    pub now: Timestamp,
    /// Where the steps of the operation stand.
    pub scope: Scope,
    /// `input`: the arguments as steps see them, or the message that comes in.
    pub input: Option<Json>,
    /// `output`: the result, or the response.
    pub output: Option<Json>,
}

impl Runner {
    /// The stage of a case: of its operation, or of the step of this number, from 1, and the first where none is given.
    ///
    /// # Errors
    /// What is wrong with the case or its manifests, and a number that no step has.
    pub fn stage(&mut self, case: &Case, step: Option<usize>) -> Result<Stage, Vec<Diagnostic>> {
        let compiled = self.compile(case);
        let compiled =
            compiled.map_err(|error| vec![messages::unreadable_manifests(&case.name.place, &error)])?;
        stage(&compiled, case, step.unwrap_or(1)).map_err(|Broken(findings)| findings)
    }
}

fn stage(compiled: &Compiled, case: &Case, number: usize) -> Result<Stage, Broken> {
    let Running { task, world, .. } = Running::start(case, compiled)?;
    let now = world.now;
    let none = || Broken::from(messages::no_such_step(&case.operation_place, number));
    let TestedOperation::Steps(steps) = &case.operation else {
        return if number == 1 { Ok(Stage::of(task, now, &case.operation)) } else { Err(none()) };
    };
    let all: Vec<ScriptStep> = steps.iter().map(|tested| tested.step.clone()).collect();
    let mut replay = Replay::of(task, world, case.settings.clone());
    let mut ahead = &*all;
    for at in 1.. {
        let (step, behind) = ahead.split_first().ok_or_else(none)?;
        if at == number {
            let now = step.at.unwrap_or(replay.now());
            return Ok(Stage::of_step(replay.into_task(), now, &step.action));
        }
        ahead = behind;
        replay.step(step, ahead, &mut Vec::new()).map_err(|finding| Broken::from(*finding))?;
    }
    Err(none())
}

impl Stage {
    fn new(task: Task, now: Timestamp, scope: Scope) -> Self {
        Self { task, now, scope, input: None, output: None }
    }

    fn of_call(task: Task, now: Timestamp, scope: Scope, call: &Call) -> Self {
        let resolved = task.resolve(call, now).verdict.into_value();
        let input = Some(resolved.unwrap_or_else(|| call.arguments.clone()));
        Self { input, ..Self::new(task, now, scope) }
    }

    fn of(task: Task, now: Timestamp, tested: &TestedOperation) -> Self {
        match tested {
            TestedOperation::Binding(call) => Self::of_call(task, now, Scope::Before, call),
            TestedOperation::Operation(operation) => Self::of_operation(task, now, operation),
            TestedOperation::After(call, result) => {
                let output = Some(result.output.clone());
                Self { output, ..Self::of_call(task, now, Scope::After, call) }
            }
            TestedOperation::Cel { scope, bound, .. } => Self {
                input: bound.input.clone(),
                output: bound.output.clone(),
                ..Self::new(task, now, *scope)
            },
            _ => Self::new(task, now, Scope::Before),
        }
    }

    fn of_step(task: Task, now: Timestamp, action: &ScriptAction) -> Self {
        match action {
            ScriptAction::Operation { operation, .. } => Self::of_operation(task, now, operation),
            ScriptAction::Call { call, .. } => Self::of_call(task, now, Scope::Before, call),
            ScriptAction::Review(_) => Self::new(task, now, Scope::Before),
        }
    }

    fn of_operation(task: Task, now: Timestamp, operation: &Operation) -> Self {
        match operation {
            Operation::Input(input) => {
                Self { input: Some(input.clone()), ..Self::new(task, now, Scope::GuardrailBefore) }
            }
            Operation::Output(output) => {
                Self { output: Some(output.clone()), ..Self::new(task, now, Scope::GuardrailAfter) }
            }
            Operation::Before(call) | Operation::Invoke(call) => {
                Self::of_call(task, now, Scope::Before, call)
            }
            Operation::Turn(turn) => match turn.calls.first() {
                Some(call) => Self::of_call(task, now, Scope::Before, call),
                None => Self::new(task, now, Scope::Before),
            },
            _ => Self::new(task, now, Scope::Before),
        }
    }
}
