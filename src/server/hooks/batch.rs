//! The end of a turn: the model reads the results of its calls next.
//!
//! In: the calls of the turn, each with its result as the model is about to read it. Out: whether the model may. Claude Code 2.1.332 shows the raw result where the hook of `PostToolUse`
//! does not start, fails, hangs or is killed, and where a changed result does not fit the schema of its tool. This event comes before the next request to the model, so it ends such a turn.

use super::answer::HookAnswer;
use super::claude_code::{Approval, Hook, Reported, told_to_user};
use super::event::BatchedCall;
use super::messages;
use super::session::Named;
use super::subagent::is_launch;
use crate::problem::{Kind as ProblemKind, Problem};
use celador::cel::Json;
use celador::task::{CallId, CallStatus, Ran, Review, VerdictKind};

/// What is on record about a call of a turn.
#[derive(Clone, Copy, PartialEq, Eq)]
enum OnRecord {
    /// Its result was judged, or it was refused.
    Settled,
    /// It was allowed, and no result was reported.
    Open,
    /// No event has told of it.
    Nothing,
}

/// What Claude Code 2.1.332 writes in the place of the result of a call that has not run.
const REFUSALS: [&str; 8] = [
    "<tool_use_error>",
    "Claude requested permissions to ",
    "Permission for this ",
    "Permission to ",
    "The user doesn't want to ",
    "[Request interrupted by user",
    "[Tool call did not complete",
    "[Tool result missing",
];

/// The text of a call that Claude Code has refused or could not make. A tool may write the same, so the text is judged as well.
fn refusal(call: &BatchedCall) -> Option<&Json> {
    let response = call.tool_response.as_ref()?;
    let text = response.root().as_str()?;
    let of_hook = text.strip_prefix("PreToolUse:").and_then(|rest| rest.strip_prefix(&*call.tool_name));
    let is_of_hook = of_hook.is_some_and(|rest| rest.starts_with(" hook error: "));
    (is_of_hook || REFUSALS.iter().any(|start| text.starts_with(start))).then_some(response)
}

impl Hook<'_> {
    /// A turn of the model is over, with all of its calls.
    pub(super) fn turn(&self) -> Result<HookAnswer, Problem> {
        let mut stop = None;
        for call in self.event.required(&self.event.tool_calls, "tool_calls")? {
            let why = self.unjudged(call)?;
            stop = stop.or(why);
        }
        if let Some(why) = stop {
            return Ok(HookAnswer::stop(&why));
        }
        match self.model_turn()? {
            Some(decision) => Ok(HookAnswer::nothing().ending(&told_to_user(&decision))),
            None => Ok(HookAnswer::nothing()),
        }
    }

    /// Why the model may not read the result of a call, if it may not. The call is over then.
    fn unjudged(&self, call: &BatchedCall) -> Result<Option<String>, Problem> {
        let id = self.event.call_id(&call.tool_use_id);
        let on_record = self.session.look(|task| {
            if task.open_calls().any(|open| open.as_str() == id) {
                OnRecord::Open
            } else if task.has_call(&CallId::from(&*id)) {
                OnRecord::Settled
            } else {
                OnRecord::Nothing
            }
        })?;
        let refused = match refusal(call) {
            Some(text) => Some(text),
            None => self.unanswered_question(&id, call)?,
        };
        let is_judged = match (on_record, refused) {
            (OnRecord::Settled, _) | (OnRecord::Nothing, Some(_)) => true,
            (OnRecord::Open, Some(text)) => self.allows_refusal(&id, text)?,
            (OnRecord::Open, None) if is_launch(&call.tool_name, call.tool_response.as_ref()) => true,
            (OnRecord::Open, None) => {
                self.withdraw(&id, Ran::Unknown)?;
                false
            }
            (OnRecord::Nothing, None) => false,
        };
        Ok((!is_judged).then(|| messages::unjudged_result(&call.tool_name, &call.tool_use_id)))
    }

    /// The text of a call, if it is what the hook has put to the user: where nobody can be asked, Claude Code refuses the call with it.
    fn unanswered_question<'c>(&self, id: &str, call: &'c BatchedCall) -> Result<Option<&'c Json>, Problem> {
        let response = call.tool_response.as_ref();
        let Some((response, text)) = response.and_then(|it| Some((it, it.root().as_str()?))) else {
            return Ok(None);
        };
        let asked: Vec<String> = self.session.look(|task| {
            let of_call = |review: &Review| review.call.as_ref().is_some_and(|call| call.as_str() == id);
            let asked = task.reviews().filter(of_call);
            asked.map(|review| review.text.unwrap_or_else(|| messages::asks(&review.reviewer))).collect()
        })?;
        let is_asked = !asked.is_empty() && asked.join("\n") == text;
        Ok((is_asked || text == messages::changed()).then_some(response))
    }

    /// Whether the rules after a call take nothing out of the text of a refusal. Rules about results cannot read such a text and fail, so a denial lets it pass.
    /// It is on record as an error, since the call may have run.
    fn allows_refusal(&self, id: &str, text: &Json) -> Result<bool, Problem> {
        let never = || -> Result<Named, Problem> { Err(ProblemKind::UnknownCall.into()) };
        let reported = self.reported(id, never, CallStatus::Errored, text, Approval::OfPrompt)?;
        let (Reported::Judged(decision) | Reported::NotToBeMade(decision)) = reported;
        Ok(match decision.verdict.kind() {
            VerdictKind::Allow => decision.verdict.into_value().is_none_or(|value| value == *text),
            VerdictKind::LockTask | VerdictKind::Terminate => false,
            _ => true,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::refusal;
    use crate::hooks::event::BatchedCall;
    use serde_json::{Value, json};

    #[test]
    fn refusals_of_claude_code_are_told_from_results() {
        let is_refusal = |response: Value| {
            let call = json!({"tool_use_id": "t", "tool_name": "Bash", "tool_response": response});
            let call: BatchedCall = serde_json::from_value(call).expect("a call");
            refusal(&call).is_some()
        };
        for text in [
            "Permission to use Bash with command rm x has been denied.",
            "Claude requested permissions to use Bash, but you haven't granted it yet.",
            "The user doesn't want to proceed with this tool use. The tool use was rejected",
            "PreToolUse:Bash hook error: No.",
            "<tool_use_error>Error: No such tool available: Nope</tool_use_error>",
        ] {
            assert!(is_refusal(json!(text)), "{text}");
        }
        for response in [
            json!("secret-result"),
            json!("PreToolUse:Read hook error: No."),
            json!(" Permission to use Bash"),
            json!([{"type": "text", "text": "<tool_use_error>"}]),
            json!(null),
        ] {
            assert!(!is_refusal(response.clone()), "{response}");
        }
    }
}
