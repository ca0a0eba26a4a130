//! Reviews that the client asks its user.
//!
//! In: a question of the task. Out: how the call stands once it is answered, by the user in a form of the client, or elsewhere.
//! A form that is closed does not approve.

use super::course::Course;
use super::guard::{Asked, Standing};
use super::message::Members;
use super::messages;
use super::peer::{Peer, Reply};
use super::session::Session;
use super::settings::Elicit;
use celador::task::ReviewRecord;
use serde::Serialize;
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

    /// Asks the user of the client; nothing if the client takes the call back. The question has an id that the server does not know.
    pub(super) async fn elicit(
        &self,
        course: &Course,
        asked: &Asked,
        has_run: bool,
    ) -> Option<Result<Standing, String>> {
        let guard = &course.begun.guard;
        let form = self.form(course, asked, has_run).await;
        let sent = Peer::ask(&self.client, "elicitation/create", Some(form), None, course.id.clone()).await;
        let Some(mut sent) = sent else { return Some(Err(messages::CLIENT_GONE.to_owned())) };
        loop {
            tokio::select! {
                reply = sent.reply(&course.cancellation, &self.over) => return match reply {
                    Reply::Outcome(outcome) => {
                        let approves = approves(outcome.as_ref().ok());
                        Some(guard.answer(asked.question, approves).await)
                    }
                    Reply::Cancelled | Reply::Gone => None,
                },
                stands = guard.standing(&course.call, SLICE) => match stands {
                    Ok(Standing::Review(still)) if still.question == asked.question => {}
                    stands => {
                        sent.take_back(Some(messages::ANSWERED_ELSEWHERE)).await;
                        return Some(stands);
                    }
                },
            }
        }
    }
}

impl Session {
    /// What the user is asked.
    pub(super) async fn form(&self, course: &Course, asked: &Asked, has_run: bool) -> Members {
        form(course, course.begun.guard.question(asked).await.as_ref(), has_run)
    }
}

const APPROVE: &str = "approve";

/// Whether the answer to a form approves. Whatever else it says does not.
pub(super) fn approves(answer: Option<&Value>) -> bool {
    let said = |pointer| answer.and_then(|it| it.pointer(pointer)).and_then(Value::as_str);
    said("/action") == Some("accept") && said("/content/decision") == Some(APPROVE)
}

fn form(course: &Course, review: Option<&ReviewRecord>, has_run: bool) -> Members {
    let text = review.and_then(|it| it.text.as_deref());
    let message = if has_run {
        messages::approve_result(&course.function, text)
    } else {
        // the arguments that would be used, with what is secret masked
        let arguments = review.and_then(|it| it.arguments.as_ref()).map(pretty);
        messages::approve_call(&course.function, text, arguments.as_deref().unwrap_or("(not shown)"))
    };
    let schema = json!({
        "type": "object",
        "properties": { "decision": { "type": "string", "title": "Decision", "enum": [APPROVE, "deny"] } },
        "required": ["decision"],
    });
    Members::from_iter([("message".to_owned(), message.into()), ("requestedSchema".to_owned(), schema)])
}

/// A value for people, in which no sign is unseen.
fn pretty(value: &impl Serialize) -> String {
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
