//! Everything that the guard of MCP says, to models, to people and in its log.

use crate::desk::Reply;
use celador_server::ClientError;
use std::fmt::Display;

pub(super) const NO_MESSAGE: &str = "the line is no message of MCP";
pub(super) const NO_COMMAND: &str = "there is no command to run";
pub(super) const NO_PIPES: &str = "it has no input or no output";
pub(super) const SESSION_OVER: &str = "the session of MCP is over";
pub(super) const REFUSED: &str = "The call is refused.";
pub(super) const UNREADABLE: &str = "The call is refused, as the answer of Celador cannot be read.";
pub(super) const ASKS_FOR_MORE: &str = "The call is refused: its policy has a tool invoked or a file read first, which the guard of MCP does not do.";
pub(super) const UNKNOWN_TERMS: &str = "The call is refused: its policy lets it through with obligations or a credential, which the guard of MCP cannot meet.";
pub(super) const CANCELLED: &str = "the client has cancelled it";
pub(super) const SERVER_GONE: &str = "The MCP server has ended before it answered.";
pub(super) const CHANGED_IN_SESSION: &str = "its description or schema has changed since the session began";
pub(super) const NEW_IN_SESSION: &str = "it was not listed when the session began";
pub(super) const KEY_OF_OURS: &str = "its name is that of a request of MCP";
pub(super) const NO_LIST: &str = "the server's answer to `tools/list` is no list of tools";

/// Why nobody can say what holds.
pub(super) fn no_answer(error: &ClientError) -> String {
    format!("Celador cannot decide: {error}.")
}

pub(super) fn not_done(reply: &Reply) -> String {
    format!("Celador cannot decide: {} ({}).", reply.detail().trim_end_matches('.'), reply.status)
}

/// Why no call of the session goes through.
pub(super) fn no_task(reason: &str) -> String {
    format!("No call goes through in this session. {reason}")
}

pub(super) fn hidden(tool: &str, reason: &str) -> String {
    format!("The tool `{tool}` cannot be called: {reason}.")
}

pub(super) fn not_listed(tool: &str) -> String {
    format!("There is no tool `{tool}`.")
}

pub(super) fn waits_for_review(reviewer: &str, place: Option<&str>) -> String {
    let place = place.map(|place| format!(" at {place}")).unwrap_or_default();
    format!(
        "The call has not run yet: it waits for the review of `{reviewer}`{place}. Tell the user. Make the same call again once it is approved."
    )
}

pub(super) const WAITS_FOR_OTHERS: &str = "The call has not run: it waits for other calls, or for a review of one of them, and nothing has come of them in time. Make it again later.";

pub(super) fn pinned_otherwise(file: &dyn Display) -> String {
    format!("its description or schema is not the one that is pinned in `{file}`")
}

pub(super) fn not_pinned(file: &dyn Display) -> String {
    format!("it is not pinned in `{file}`")
}

pub(super) fn approve_call(function: &str, text: Option<&str>, arguments: &str) -> String {
    let why = text.map(|text| format!("{text}\n")).unwrap_or_default();
    format!("{why}May `{function}` run with these arguments?\n{arguments}")
}

pub(super) fn approve_result(function: &str, text: Option<&str>) -> String {
    let why = text.map(|text| format!("{text}\n")).unwrap_or_default();
    format!("{why}May the model receive the result of `{function}`?")
}

pub(super) const UNKNOWN_RESULT: &str =
    "The result is withheld: it is of a kind that the guard of MCP does not know.";
pub(super) const ANSWERED_ELSEWHERE: &str = "it was answered elsewhere";

pub(super) fn ran_and_waits(why: &str) -> String {
    format!("The call has run, and its result is withheld until it is reviewed. {why}")
}

pub(super) const NOT_LOOPBACK: &str =
    "whoever connects needs no token, so it is an address of this machine only";

pub(super) fn answers_error(method: &str) -> String {
    format!("it answers `{method}` with an error")
}

pub(super) fn slow(method: &str) -> String {
    format!("it has not answered `{method}` in time")
}

pub(super) const UNSEEN_SIGNS: &str = "what it says of itself has signs that nobody sees";
pub(super) const COMMENTS: &str = "what it says of itself has a comment, which a reader may not see";

pub(super) fn rule_fails(rule: &str) -> String {
    format!("the rule `{rule}` does not hold for what it says of itself")
}
