//! Reviews that the client asks its user.
//!
//! In: a question of the task. Out: how the call stands once somebody has answered it: the user in a form of the client, or anybody who is asked
//! elsewhere and was faster. Whoever closes the form has not approved.

use super::course::Course;
use super::guard::{Asked, Standing};
use super::message::Message;
use super::messages;
use super::session::Session;
use super::settings::Elicit;
use serde_json::{Value, json};
use std::time::Duration;

/// How long one look takes whether somebody else has answered.
const SLICE: Duration = Duration::from_secs(20);

impl Session {
    /// Whether the user of the client may be asked.
    pub(super) fn may_elicit(&self, course: &Course, asked: &Asked) -> bool {
        let settings = &self.settings;
        let is_user = || {
            let email = settings.email.as_ref();
            asked.reviewer == settings.user
                || email.is_some_and(|it| it.eq_ignore_ascii_case(&asked.reviewer))
        };
        let is_theirs = match settings.elicit {
            Elicit::User => is_user(),
            Elicit::Anyone => !asked.several,
            Elicit::Never => false,
        };
        is_theirs && course.elicits
    }

    /// Asks the user of the client; nothing if the client takes the call back.
    pub(super) async fn elicit(
        &self,
        course: &Course,
        asked: &Asked,
        has_run: bool,
    ) -> Option<Result<Standing, String>> {
        let guard = &course.begun.guard;
        let id = self.next_id();
        let form = self.form(course, asked, has_run).await;
        let answering = self.ask_client(&id, "elicitation/create", form, &course.id);
        tokio::pin!(answering);
        loop {
            tokio::select! {
                answer = &mut answering => {
                    let approves = approves(answer.as_ref().and_then(Message::outcome));
                    return Some(guard.answer(&asked.question, approves).await);
                }
                stands = self.wait(course, SLICE) => match stands {
                    Some(Ok(Standing::Review(still))) if still.question == asked.question => {}
                    stands => {
                        self.take_back(&id, messages::ANSWERED_ELSEWHERE, &course.id).await;
                        return stands;
                    }
                },
            }
        }
    }
}

impl Session {
    /// What the user is asked.
    pub(super) async fn form(&self, course: &Course, asked: &Asked, has_run: bool) -> Value {
        form(course, course.begun.guard.question(asked).await.as_ref(), has_run)
    }
}

const APPROVE: &str = "approve";

/// Whether the answer to a form approves. Whatever else it says does not.
pub(super) fn approves(answer: Option<&Value>) -> bool {
    let said = |pointer| answer.and_then(|it| it.pointer(pointer)).and_then(Value::as_str);
    said("/action") == Some("accept") && said("/content/decision") == Some(APPROVE)
}

fn form(course: &Course, review: Option<&Value>, has_run: bool) -> Value {
    let text = review.and_then(|it| it.get("text")).and_then(Value::as_str);
    let message = if has_run {
        messages::approve_result(&course.function, text)
    } else {
        // the arguments that would be used, with what is secret masked
        let arguments = review.and_then(|it| it.get("arguments")).map(pretty);
        messages::approve_call(&course.function, text, arguments.as_deref().unwrap_or("(not shown)"))
    };
    json!({
        "message": message,
        "requestedSchema": {
            "type": "object",
            "properties": { "decision": { "type": "string", "title": "Decision", "enum": [APPROVE, "deny"] } },
            "required": ["decision"],
        },
    })
}

/// A value for people, in which no sign is unseen.
fn pretty(value: &Value) -> String {
    let text = serde_json::to_string_pretty(value).unwrap_or_default();
    text.chars().map(visible).collect()
}

/// A sign that nobody sees, or that turns others around, by its number.
fn visible(sign: char) -> String {
    let is_unseen = matches!(sign,
        '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}');
    let is_control = sign.is_control() && sign != '\n';
    if is_unseen || is_control { format!("U+{:04X}", u32::from(sign)) } else { sign.to_string() }
}

#[cfg(test)]
mod tests {
    use super::pretty;

    #[test]
    fn what_nobody_sees_is_shown_by_its_number() {
        let shown = pretty(&serde_json::json!({ "to": "a\u{202e}b\u{200b}c\u{e0041}" }));
        assert_eq!(shown, "{\n  \"to\": \"aU+202EbU+200BcU+E0041\"\n}");
    }
}
