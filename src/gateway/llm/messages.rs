//! Everything that the proxy says itself: to clients in the form of their API, to models in results, to users in answers.

use celador_service::ClientError;
use std::borrow::Cow;

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
        "the request has or asks for what cannot be held to policies: {}; the proxy lets it through with --allow-other",
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
    "the `Content-Encoding` is none of gzip, deflate, br and zstd"
}

pub(super) fn not_decoded() -> &'static str {
    "the body is not what its `Content-Encoding` says"
}

pub(super) fn crooked_path() -> &'static str {
    "the path is written in a way that others could read as another one"
}

pub(super) fn unjudged_address() -> &'static str {
    "a request to an address that is not judged goes on"
}

pub(super) fn bare_upstream() -> &'static str {
    "the address of the model's API has no path; most end with /v1"
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

pub(super) fn waits(reviewer: Option<&str>, functions: &[Cow<'_, str>]) -> String {
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
    "the answer of the API of the model broke off"
}

/// Why an answer is none.
pub(super) fn broken(why: &str) -> String {
    format!("the answer of the API of the model cannot be judged: {why}")
}

pub(super) fn unseen_answer(what: &[String]) -> String {
    format!("the answer of the API of the model cannot be held to policies: it has {}", what.join(", "))
}

pub(super) fn upstream_status(status: u16) -> String {
    format!("the API of the model answered with the status {status}")
}

pub(super) fn redirected() -> &'static str {
    "it leads to another address, where nothing would be judged"
}

pub(super) fn no_events() -> &'static str {
    "events were asked for, and it is one body of another type"
}

pub(super) fn no_body() -> &'static str {
    "one body was asked for, and it comes in events"
}

pub(super) fn not_strict(why: &str) -> String {
    format!("the body cannot be judged: {why}")
}

/// Parts of an answer that no table knows.
pub(super) fn dropped() -> &'static str {
    "the answer of the API of the model has what the proxy does not know; it is not passed on"
}

pub(super) fn unjudged() -> &'static str {
    "the request has what the proxy does not know; it goes on unjudged"
}

pub(super) fn tools_taken_out() -> &'static str {
    "tools that are no functions of the agent are taken out of the request"
}

pub(super) fn foreign_arguments(observes: bool) -> &'static str {
    if observes {
        "unjudged: arguments of calls that the client was not given go on"
    } else {
        "arguments of calls that the client was not given are taken out of the request"
    }
}

pub(super) fn hosted_dropped() -> &'static str {
    "tools that the vendor runs are taken out of the request"
}

pub(super) fn misshapen_transform() -> &'static str {
    "a policy changed the messages to the model in a way that this request cannot be changed in"
}

pub(super) fn header_left_out() -> &'static str {
    "left out of the request to the model's API; `--forward-header` sends it on"
}

pub(super) fn cut_off() -> &'static str {
    "the body did not come whole"
}
