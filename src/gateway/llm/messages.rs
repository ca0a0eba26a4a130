//! Everything that the proxy says itself: to clients in the form of their API, to models in results, to users in answers.

use celador_server::ClientError;

pub(super) fn refused() -> &'static str {
    "This was refused by a policy."
}

pub(super) fn withheld_input() -> &'static str {
    "(A policy withheld this message.)"
}

pub(super) fn no_decision(error: &ClientError) -> String {
    format!("Celador gave no decision: {error}")
}

pub(super) fn not_decided(detail: &str) -> String {
    format!("Celador took no decision: {detail}")
}

pub(super) fn not_json() -> &'static str {
    "the body is no JSON object"
}

pub(super) fn not_readable(what: &str) -> String {
    format!("the request cannot be judged: {what}")
}

pub(super) fn unseen(what: &[String]) -> String {
    format!(
        "the request asks for what cannot be held to policies: {}; the proxy lets it through with --allow-other",
        what.join(", ")
    )
}

pub(super) fn other_endpoint() -> &'static str {
    "calls of tools could pass here that no policy sees; the proxy lets requests to this address through with --allow-other"
}

pub(super) fn foreign_page() -> &'static str {
    "a page of a browser may not use the proxy"
}

pub(super) fn foreign_host() -> &'static str {
    "the proxy answers for addresses of loopback and for the one that it listens on"
}

pub(super) fn too_large(most: usize) -> String {
    format!("the body is over {most} bytes")
}

pub(super) fn encoded_body() -> &'static str {
    "a body with a `Content-Encoding` is not taken"
}

pub(super) fn unknown_previous() -> &'static str {
    "the proxy does not know the answer that `previous_response_id` names, and so not the task; name the task in the header `x-celador-task`"
}

pub(super) fn unknown_call() -> &'static str {
    "the request has the result of a call that is neither in the conversation nor known to the task"
}

pub(super) fn bad_arguments() -> &'static str {
    "The arguments are not an object of JSON. Make the call again with arguments that are."
}

pub(super) fn beyond() -> &'static str {
    "A policy asks for more than a proxy can do for this call. It was not carried out."
}

pub(super) fn result_withheld(why: &str) -> String {
    format!("(The result is withheld: {why})")
}

pub(super) fn result_changed() -> &'static str {
    "(The text of this result was changed after it was judged, and is withheld.)"
}

pub(super) fn held_result() -> &'static str {
    "the call needs the approval of a person, which it does not have"
}

pub(super) fn waits(reviewer: Option<&str>, functions: &[&str]) -> String {
    let functions = functions.join(", ");
    match reviewer {
        Some(reviewer) => format!(
            "The call of {functions} waits for the approval of {reviewer}. Nothing was carried out. Please ask again once it is given."
        ),
        None => format!("The call of {functions} waits for results of other calls, which have not come."),
    }
}

pub(super) fn input_waits(reviewer: Option<&str>) -> String {
    match reviewer {
        Some(reviewer) => {
            format!("Your message waits for the approval of {reviewer}. Please ask again once it is given.")
        }
        None => {
            "Your message waits for what is under way before it. Please send it again in a while.".to_owned()
        }
    }
}

pub(super) fn other_task() -> &'static str {
    "the task belongs to another agent or another user"
}

pub(super) fn too_many_rounds() -> &'static str {
    "The model went on asking for calls that policies refuse, so its turn has ended here."
}

pub(super) fn no_upstream(error: &str) -> String {
    format!("the API of the model gave no answer: {error}")
}

pub(super) fn broken_answer() -> &'static str {
    "the answer of the API of the model broke off, or is none that the proxy can judge"
}

pub(super) fn misshapen_transform() -> &'static str {
    "a policy changed the messages to the model in a way that this request cannot be changed in"
}

pub(super) fn cut_off() -> &'static str {
    "the body did not come whole"
}
