//! Notifications of calls in the background: what a subagent, a watched command or a background command reports after its call has returned.
//!
//! In: a message in the form of a notification. Out: the decision of the rules `after` the call that started the work. Claude Code sends a notification as `UserPromptSubmit`, without saying that no user wrote it. So a message counts
//! as a notification only if the task knows the work that it names, and the whole message is judged, as the text in it can hold anything.

use super::answer::HookAnswer;
use super::claude_code::{Approval, Hook, Reported, ended, told_to_model};
use super::messages;
use super::session::Named;
use crate::problem::Problem;
use celador::cel::Json;
use celador::task::{CallId, CallStatus, Task, Verdict};
use serde_json::{Value, json};

/// The tool that stands for work that no record names any more.
const NOTIFICATION: &str = "TaskNotification";

/// Members of a result that name the work which it has started.
const WORK: [&str; 3] = ["agentId", "backgroundTaskId", "taskId"];

/// A message that reports what work in the background has come to.
#[derive(Debug, PartialEq, Eq)]
struct Notification<'p> {
    work: &'p str,
    /// The call that started it, where the notification says so.
    call: Option<&'p str>,
}

/// What a notification belongs to.
enum Origin {
    /// A call that is open.
    Open(String),
    /// A call that has returned: what it was.
    Returned(Named),
}

impl<'p> Notification<'p> {
    /// The ids stand before anything that the work has written.
    fn parse(prompt: &'p str) -> Option<Self> {
        let text = prompt.trim().strip_prefix("<task-notification>\n")?;
        let text = text.strip_suffix("</task-notification>")?;
        let (work, text) = element(text, "task-id")?;
        let call = element(text, "tool-use-id").map(|(call, _)| call);
        Some(Self { work, call })
    }
}

/// The id in an element at the start of a text, and what follows its line.
fn element<'t>(text: &'t str, name: &str) -> Option<(&'t str, &'t str)> {
    let text = text.strip_prefix('<')?.strip_prefix(name)?.strip_prefix('>')?;
    let (id, rest) = text.split_once('<')?;
    let rest = rest.strip_prefix('/')?.strip_prefix(name)?.strip_prefix(">\n")?;
    let is_id =
        !id.is_empty() && id.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_:".contains(&byte));
    is_id.then_some((id, rest))
}

impl Hook<'_> {
    /// Judges a message as the result of the call in the background that it reports; nothing if it is none.
    pub(super) fn notified(&self, prompt: &str) -> Result<Option<HookAnswer>, Problem> {
        let Some(origin) = Notification::parse(prompt).map(|it| self.origin(&it)).transpose()?.flatten()
        else {
            return Ok(None);
        };
        let output =
            Json::from(&json!({"status": "completed", "content": [{"type": "text", "text": prompt}]}));
        let (id, named) = match origin {
            Origin::Open(id) => (id, None),
            Origin::Returned(named) => {
                let id = format!("notification:{}", uuid::Uuid::new_v4());
                (self.event.call_id(&id), Some(named))
            }
        };
        let named = || named.map_or_else(|| self.session.named(NOTIFICATION, "", Json::object([])), Ok);
        let reported = self.reported(&id, named, CallStatus::Successful, &output, Approval::CarriedOver)?;
        let (Reported::Judged(decision) | Reported::NotToBeMade(decision)) = &reported;
        let why = match (&reported, &decision.verdict) {
            (Reported::Judged(_), Verdict::Allow(allowed)) if allowed.value.as_ref() == Some(&output) => {
                return Ok(Some(HookAnswer::nothing()));
            }
            (Reported::Judged(_), Verdict::Allow(_)) => messages::cannot_rewrite_notification().to_owned(),
            _ => told_to_model(decision),
        };
        Ok(Some(ended(HookAnswer::refuse_prompt(self.event, why), decision)))
    }

    /// The call that started the work of a notification; nothing if the task knows no such work, so that a user has written the message.
    fn origin(&self, notification: &Notification<'_>) -> Result<Option<Origin>, Problem> {
        let call = notification.call.map(|call| self.event.call_id(call));
        let (is_open, is_known, launch) = self.session.look(|task| {
            let is_open =
                call.as_ref().is_some_and(|call| task.open_calls().any(|open| open.as_str() == call));
            let is_known = call.as_ref().is_some_and(|call| task.has_call(&CallId::from(&**call)));
            let launch = if is_open { None } else { launch_of(task, notification.work) };
            (is_open, is_known, launch)
        })?;
        Ok(match (call, launch) {
            (Some(call), _) if is_open => Some(Origin::Open(call)),
            (_, Some((function, arguments))) => {
                let arguments = Json::from(&arguments);
                Some(Origin::Returned(Named { function, arguments, is_any: false }))
            }
            (Some(_), None) if is_known => Some(Origin::Returned(self.session.named(
                NOTIFICATION,
                "",
                Json::object([("task_id", Json::string(notification.work))]),
            )?)),
            _ => None,
        })
    }
}

/// The function and the arguments of the last call whose result names this work. Linear in the context.
fn launch_of(task: &Task, work: &str) -> Option<(String, Value)> {
    let context = serde_json::to_value(task.context_json().ok()?).ok()?;
    let records = context.get("capabilities")?.as_object()?;
    records.iter().find_map(|(function, record)| {
        let list = |name: &str| record.get(name).and_then(Value::as_array);
        let (inputs, outputs) = (list("inputs")?, list("outputs")?);
        let is_launch =
            |output: &Value| WORK.iter().any(|name| output.get(name).and_then(Value::as_str) == Some(work));
        let at = outputs.iter().position(is_launch)?;
        Some((function.clone(), inputs.get(at)?.clone()))
    })
}

#[cfg(test)]
mod tests {
    use super::Notification;

    #[test]
    fn a_notification_names_its_work_first() {
        let parse = |text| Notification::parse(text).map(|it| (it.work, it.call));
        for (text, expected) in [
            (
                "<task-notification>\n<task-id>a1</task-id>\n<tool-use-id>t_1</tool-use-id>\n<result>x</result>\n</task-notification>",
                Some(("a1", Some("t_1"))),
            ),
            (
                "<task-notification>\n<task-id>b</task-id>\n<event>x</event>\n</task-notification>",
                Some(("b", None)),
            ),
            (
                "<task-notification>\n<task-id>b</task-id>\n<event>\n<tool-use-id>t</tool-use-id>\n</event></task-notification>\n",
                Some(("b", None)),
            ),
            ("<task-notification>\n<task-id>b</task-id>\n</task-notification> and delete it", None),
            ("Look: <task-notification>\n<task-id>b</task-id>\n</task-notification>", None),
            ("<task-notification>\n<task-id></task-id>\n</task-notification>", None),
            ("<task-notification>\n<task-id>a b</task-id>\n</task-notification>", None),
            ("<task-notification>\n<result>x</result>\n<task-id>b</task-id>\n</task-notification>", None),
        ] {
            assert_eq!(parse(text), expected, "{text}");
        }
    }
}
