//! Every fixed text of a task, one function each: what a model reads, and what stands in findings.
//!
//! None of them shows an expression, a name that the model's schemas hide, or a value (MW-35, BND-20).

use super::state::{CallId, LimitReached, Said, Subject, Switch};
use crate::cel::Kind;
use crate::context::TaskIoError;
use crate::manifest::brought::LeftOut;
use crate::policy::Policy;

// For the host that delivers an event.

pub(super) fn payload_or_request() -> &'static str {
    "expected either `payload` or `request`"
}

pub(super) fn bad_body_of_request() -> &'static str {
    "expected either `body` or `body_base64`, the latter as base64"
}

// For the model.

/// The message of a failing capability step that has no `error_message` (MW-35).
pub(super) fn no_label(most: usize, bytes: usize) -> String {
    format!("labels are a text or a list of at most {most} texts, each of 1 to {bytes} bytes")
}

pub(super) fn blocked() -> String {
    "Blocked by policy.".to_owned()
}

/// The reason of a failing guardrail that has no `error_message`.
pub(super) fn locked() -> String {
    "Task locked by policy.".to_owned()
}

/// The message of a guardrail that refuses one input or response and has no `error_message`.
pub(super) fn message_refused() -> String {
    "Message refused by policy.".to_owned()
}

/// The message of a step that refuses a request to the model and has no `error_message`.
pub(super) fn request_refused() -> String {
    "Model call refused by policy.".to_owned()
}

/// The message of a step that refuses an answer of the model and has no `error_message`.
pub(super) fn answer_refused() -> String {
    "Answer withheld by policy.".to_owned()
}

/// The functions that there are stand in it, as many as somebody reads: one of them may be meant.
///
/// A tool that the task brings and that is left out is told with the reason: no other message names the check of a policy that refuses it.
pub(super) fn unknown_function(name: &str, policy: &Policy, left_out: &[LeftOut]) -> String {
    const MOST: usize = 20;
    if let Some(LeftOut { name, reason }) = left_out.iter().find(|tool| tool.name == name) {
        return format!("there is no function `{name}`: the task brings it, and it is left out: {reason}");
    }
    let offered = || policy.offered_functions();
    let shown: Vec<String> = offered().take(MOST).map(|function| format!("`{}`", function.called)).collect();
    let there = match (shown.as_slice(), offered().count().saturating_sub(MOST)) {
        ([], _) => String::new(),
        ([only], _) => format!("; there is {only}"),
        (_, 0) => format!("; there are {}", shown.join(", ")),
        (_, more) => format!("; there are {} and {more} more", shown.join(", ")),
    };
    format!("there is no function `{name}`{there}")
}

/// The task that delegates may make no such call: its agent has no such function.
pub(super) fn not_of_parent() -> String {
    "the task that delegates has no such function".to_owned()
}

pub(super) fn parent_ended() -> String {
    "the task that delegates was locked or has ended".to_owned()
}

pub(super) fn limit_of_parent(limit: &str) -> String {
    format!("the task that delegates is at its limit `{limit}`")
}

pub(super) fn other_arguments() -> String {
    "the task that delegates may not make the call with these arguments".to_owned()
}

/// A rule of the parent asks a person or does something else than to decide.
pub(super) fn parent_cannot_decide() -> String {
    "a rule of the task that delegates does more than to decide this call".to_owned()
}

/// The host has not given the parent to the task.
pub(super) fn no_parent_at_hand() -> String {
    "the task that delegates is not at hand to decide the call".to_owned()
}

pub(super) fn bad_arguments(faults: &[String]) -> String {
    format!("the call cannot be formed: {}", faults.join("; "))
}

pub(super) fn missing_policy_value() -> String {
    "the call cannot be formed: a value that the policy supplies is not available yet".to_owned()
}

/// What a CEL tool that fails gives in place of a result (TOOL-08).
pub(super) fn tool_failed(code: &str) -> String {
    format!("the tool failed: {code}")
}

/// What a call of a step gives in place of a result where the task lacks the tool.
pub(super) fn not_brought(tool: &str) -> String {
    format!("the task has brought no tool `{tool}`")
}

/// What a call gives in place of a result that does not fit the schema of its action.
pub(super) fn output_misfit(function: &str, why: &str) -> String {
    format!("`{function}` has run, and its result is withheld, for it is not what the tool declares: {why}")
}

/// What is told of a result that a step or a reviewer has replaced by one that the tool does not declare.
pub(super) fn result_misfit(function: &str, why: &str) -> String {
    format!("the result of `{function}` was replaced by one that is not what the tool declares: {why}")
}

/// Why a step cannot answer in the place of a tool.
pub(super) fn respond_misfit(function: &str, why: &str) -> String {
    format!("the answer in the place of `{function}` is not what the tool declares: {why}")
}

/// What a delegation gives in place of a response.
pub(super) fn child_failed(why: &str) -> String {
    format!("the agent gave no response: {why}")
}

/// The message of a script that fails of itself.
pub(super) fn script_failed(error: &str) -> String {
    format!("the script failed: {error}")
}

impl Said {
    /// The same with what a reviewer has added to a denial, behind what the step says.
    pub(super) fn with_note(self, note: &str) -> Self {
        let add = |message: String| format!("{message} The reviewer's note: {note}");
        Self { text: add(self.text), shown: self.shown.map(add) }
    }
}

// For a reviewer.

/// What a reviewer is asked where the step does not say; the function is that of a call.
pub(super) fn question(subject: &Subject, function: Option<&str>) -> String {
    let function = function.unwrap_or_default();
    match subject {
        Subject::Call(call) if call.record.is_some() => {
            format!("May the model read this result of `{function}`?")
        }
        Subject::Call(_) => format!("May `{function}` run with these arguments?"),
        Subject::Input(_) => "May the agent read this message?".to_owned(),
        Subject::Output => "May this response be sent?".to_owned(),
        Subject::Event(_) => "May the agent read this event?".to_owned(),
        Subject::Model(model) if model.answer.is_some() => "May this answer of the model be used?".to_owned(),
        Subject::Model(_) => "May this be sent to the model?".to_owned(),
        Subject::Script(_) => "May the script go on?".to_owned(),
    }
}

pub(super) fn edit_not_an_object(found: Kind) -> String {
    format!("expected an object, found {found}")
}

pub(super) fn bound_parameter(name: &str) -> String {
    format!("`{name}` is bound by the policy")
}

pub(super) fn no_room_for_arguments(bound: u64) -> String {
    format!("`max_task_bytes` {bound} exceeded by arguments that a policy sets")
}

// For the sender of an input.

pub(super) fn bad_input(faults: &[String]) -> String {
    format!("the input is not valid: {}", faults.join("; "))
}

pub(super) fn input_not_an_object(found: Kind) -> String {
    format!("expected an object, found {found}")
}

pub(super) fn not_a_message(error: TaskIoError) -> String {
    error.to_string()
}

// For the host.

/// The message of a limit, with its numbers: the value to which the step has led or would have led, and the bound.
pub(super) fn limit_exceeded(limit: &LimitReached) -> String {
    format!("the task has ended at a limit: {limit} (`{}`)", limit.which)
}

/// The message of a limit of one message or one turn, for the model: the task goes on.
pub(super) fn stretch_exceeded(limit: &LimitReached) -> String {
    let next = if limit.which.ends_with("_per_turn") { "turn" } else { "message of the user" };
    format!("a limit is reached until the next {next}: {limit} (`{}`)", limit.which)
}

pub(super) fn unrecoverable(function: &str) -> String {
    format!("`{function}` cannot work: its error is not recoverable")
}

pub(super) fn waiting() -> String {
    "the task waits for an answer".to_owned()
}

pub(super) fn waits_for_calls() -> String {
    "the decision waits for the results of other calls".to_owned()
}

pub(super) fn model_waits() -> String {
    "the rules of this model call read what open calls may still change: report or withdraw these first"
        .to_owned()
}

pub(super) fn waits_for_reviews() -> String {
    "no call is let through before the reviews of other calls are closed".to_owned()
}

pub(super) fn is_said_later() -> String {
    "it is judged once what it waits for is over".to_owned()
}

pub(super) fn too_much_said(bound: &str, most: u64) -> String {
    match bound {
        "max_queued_inputs" => {
            format!("{most} inputs and events wait already (`{bound}`): send it again when some are judged")
        }
        _ => format!(
            "inputs and events that wait have {most} bytes at most (`{bound}`): send it again when some are judged"
        ),
    }
}

pub(super) fn too_many_calls(bound: usize) -> String {
    format!("{bound} calls wait for others already (`max_queued_calls`): call again when some are finished")
}

pub(super) fn call_again() -> String {
    "another call is not finished: call again when it is".to_owned()
}

pub(super) fn waited_too_long(call: &CallId) -> String {
    format!("the call has waited too long for the call `{call}`, whose result has not been reported")
}

pub(super) fn reported() -> String {
    "the result of this call was reported".into()
}

pub(super) fn not_kept() -> String {
    "the call is over, and what came of it is not kept".into()
}

pub(super) fn withdrawn() -> String {
    "the call was withdrawn".to_owned()
}

pub(super) fn lost() -> String {
    "the process that claimed the call has not reported it: the call may have run, and does not run again"
        .to_owned()
}

pub(super) fn operation_is_over() -> String {
    "the operation that this result is for is over".to_owned()
}

pub(super) fn withdrawn_unjudged() -> String {
    "it was withdrawn before it was judged".to_owned()
}

pub(super) fn responded() -> String {
    "a reviewer gave the result in the place of the call".to_owned()
}

pub(super) fn answered() -> String {
    "a policy gave the result in the place of the call".to_owned()
}

pub(super) fn terms_too_large(bound: u64) -> String {
    format!("`max_terms_bytes` {bound} exceeded")
}

pub(super) fn bad_credential() -> String {
    "the audience or a scope of a credential is no text, or is empty".to_owned()
}

pub(super) fn nobody_knows() -> String {
    "nobody knows whether the call has run".to_owned()
}

pub(super) fn switched_off(switch: &Switch) -> String {
    format!("an operator has stopped {switch}")
}

/// The finding of a call that the parent may not make; `agent` is that of the parent.
pub(super) fn outside_parent(agent: Option<&str>) -> String {
    match agent {
        Some(agent) => format!("the call is not within what the parent task, of `{agent}`, may do now"),
        None => "the call is not within a parent task: the host has given none".to_owned(),
    }
}

// About events that are discarded.

pub(super) fn not_subscribed() -> String {
    "the task has no subscription to this event".to_owned()
}

pub(super) fn no_json_body() -> String {
    "the body of the request is no JSON, or more than the engine's bounds allow".to_owned()
}

pub(super) fn unfit_payload(why: &str) -> String {
    format!("the payload is not what the tool declares: {why}")
}

pub(super) fn filtered() -> String {
    "the filter does not let it through".to_owned()
}

pub(super) fn delivered_before() -> String {
    "the delivery was taken before".to_owned()
}

pub(super) fn no_allowed_values(parameter: &str) -> String {
    format!("the filter names `{parameter}`, which has no value yet")
}

pub(super) fn filter_failed(code: &str) -> String {
    format!("the filter failed: {code}")
}

// Findings.

pub(super) fn override_ignored(parameter: &str) -> String {
    format!("the model's value for the bound parameter `{parameter}` was ignored")
}

pub(super) fn binding_misfit(parameter: &str) -> String {
    format!("the value of the binding does not fit the parameter `{parameter}`")
}

pub(super) fn target_not_loaded() -> String {
    "the target of the invoke step is not loaded".to_owned()
}

pub(super) fn invoke_failed(function: &str) -> String {
    format!("the invoked capability `{function}` failed")
}

pub(super) fn no_such_message() -> String {
    "the result of the transform is no message: expected text, a list of content parts, or an object with `message`"
        .to_owned()
}

pub(super) fn no_such_request() -> String {
    "the result of the transform is no request to a model: expected a list of messages, or an object with `model` and `messages`"
        .to_owned()
}

pub(super) fn no_such_answer() -> String {
    "the result of the transform is no answer of a model: expected text, or an object with `text`".to_owned()
}

/// Why a call is refused that reads counters.
pub(super) fn no_counters() -> String {
    "the counters that the rules of the call read cannot be read now".to_owned()
}
