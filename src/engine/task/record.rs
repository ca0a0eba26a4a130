//! A task's past, told instead of lived: what happened before the engine was there, or in a test's first lines.
//!
//! In: one event after the other, each with its time. Out: a task as if it had gone through them. Nothing is tested and no
//! policy runs.

use super::flow::function_id;
use super::state::{End, Task, TaskError, Usage};
use crate::cel::{Json, Timestamp};
use crate::context::{
    Caller, InvocationRecord, InvocationStatus, LabelChange, LabelSet, Labelling, SeenBy, TaskIo, TurnKind,
    ValueSource,
};

/// Something that happened.
#[derive(Clone, Debug)]
pub enum Past {
    /// An input was accepted: `{message, …parameters}`.
    Input(Json),
    /// The model took a turn.
    ModelTurn(Usage),
    /// A call by the model came to its end.
    Call(PastCall),
    /// An invoke step called a capability.
    Invoke(PastCall),
    /// A response was delivered: `{message, …exposes}`.
    Output(Json),
    /// A step gave the last input these labels; nothing without one.
    InputLabels(LabelSet),
    /// A step gave the result of the last call these labels; nothing without one.
    CallLabels(LabelSet),
    /// Steps gave the task these labels.
    TaskLabels(LabelSet),
    /// The task was interrupted.
    Interrupt,
    /// The task was locked for this reason.
    Locked(String),
}

/// A call that came to its end.
#[derive(Clone, Debug)]
pub struct PastCall {
    /// The function's key.
    pub function: String,
    /// The resolved arguments.
    pub arguments: Json,
    /// Its result, if it ran.
    pub output: Option<Json>,
    /// How it ended.
    pub status: InvocationStatus,
    /// Whether it ran.
    pub executed: bool,
    /// The child task of a delegation.
    pub task_id: Option<String>,
    /// The time on record, if it is not that of the step.
    pub at: Option<Timestamp>,
}

impl Task {
    /// Puts an event of the past on record. All but the interruption itself end an interruption.
    ///
    /// # Errors
    /// [`TaskError::Waiting`] while an operation waits; [`TaskError::UnknownFunction`] for a call of a function that the agent does not have;
    /// [`TaskError::NotAMessage`] for an input or output that is no message.
    pub fn record(&mut self, past: Past, at: Timestamp) -> Result<(), TaskError> {
        if !self.waiting.is_empty() {
            return Err(TaskError::Waiting);
        }
        match past {
            Past::Interrupt => self.activity.interrupt(at),
            _ => self.take_step(at),
        }
        match past {
            Past::Input(input) => {
                let root = input.root();
                // parameters that the manifest does not let through were accepted when it still did
                let entry = self.entry(root).or_else(|_| entry(root))?;
                self.context.push_input(entry);
                self.record_message();
            }
            Past::Output(output) => self.context.push_output(entry(output.root())?),
            Past::ModelTurn(usage) => self.record_turn(usage),
            Past::Call(call) => {
                self.record_past(call, Caller::Model, at)?;
                self.context.turn(TurnKind::Capability);
            }
            Past::Invoke(call) => self.record_past(call, Caller::Middleware, at)?,
            Past::InputLabels(labels) => self.record_labels(self.context.last_input_source(), labels),
            Past::CallLabels(labels) => self.record_labels(self.context.last_call_source(), labels),
            Past::TaskLabels(labels) => self.record_labels(Some(ValueSource::Task), labels),
            Past::Interrupt => {}
            Past::Locked(reason) => self.end = Some(End::Locked(reason)),
        }
        self.seal(at);
        Ok(())
    }

    fn record_labels(&mut self, of: Option<ValueSource>, labels: LabelSet) {
        let (change, seen_by) = (LabelChange::Given, SeenBy::Everybody);
        let labelling = of.map(|of| Labelling { of, change, labels, by: None, seen_by });
        labelling.into_iter().for_each(|labelling| self.context.label(labelling));
    }

    fn record_past(&mut self, call: PastCall, origin: Caller, at: Timestamp) -> Result<(), TaskError> {
        let Some(position) = self.policy.position(&call.function) else {
            return Err(TaskError::UnknownFunction(call.function));
        };
        if call.executed && origin == Caller::Model {
            self.allow_arguments(position, &call.arguments);
        }
        let at = call.at.unwrap_or(at).into();
        let record = self.put_on_record(InvocationRecord {
            function: function_id(position),
            at,
            started_at: at,
            input: call.arguments,
            output: call.output,
            status: call.status,
            executed: call.executed,
            origin,
            task_id: call.task_id.map(Into::into),
            message: self.context.message(),
            rejected: call.status.is_rejection(call.executed),
        });
        self.keep_what_fits(&[record]);
        Ok(())
    }
}

fn entry(root: crate::cel::JsonRef<'_>) -> Result<TaskIo, TaskError> {
    TaskIo::of(root).map_err(|_| TaskError::NotAMessage)
}
