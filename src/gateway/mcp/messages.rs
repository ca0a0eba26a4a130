//! Messages of the guard for MCP: to models, to people and in its log.

use celador_service::{ClientError, ProblemDetails};
use std::fmt::Display;

pub(super) const NO_JSON: &str = "the line is no JSON that all readers read alike";
pub(super) const LINE_TOO_LONG: &str = "the line is longer than a message may be";
pub(super) const UNREADABLE_ANSWER: &str = "The answer of the server cannot be read.";
pub(super) const METHOD_NOT_FOUND: &str = "the method is not known";
pub(super) const TOO_MANY_REQUESTS: &str = "too many requests are open";
pub(super) const CLIENT_GONE: &str = "The client does not answer.";
pub(super) const NO_SUCH_TASK: &str = "there is no such task in this session";
pub(super) const NO_SUCH_QUESTION: &str = "an answer to no open question";
pub(super) const NO_SUCH_CURSOR: &str = "there is no such cursor";
pub(super) const QUESTION_REFUSED: &str = "The request is refused.";
pub(super) const WITHHELD_ERROR: &str =
    "The server's error is withheld: it has signs that a reader does not see.";
pub(super) const WIDE_NUMBER: &str =
    "The call is refused: it has an integer above 9223372036854775807, which rules cannot read exactly.";
pub(super) const UNKNOWN_STATE: &str = "The call is refused: its `requestState` is not that of an open call of this session with this function and these arguments.";

// lines of the log
pub(super) const UNKNOWN_METHOD: &str = "a message with an unknown method is refused";
pub(super) const UNJUDGED_METHOD: &str = "a message with an unknown method is forwarded unjudged";
pub(super) const DROPPED_MEMBER: &str = "a member that no rule sees is dropped";
pub(super) const UNJUDGED_CALL: &str = "a call that cannot be decided is forwarded unjudged";
pub(super) const UNJUDGED_MEMBER: &str = "a member that no rule sees is forwarded unjudged";
pub(super) const MALFORMED_VALUE: &str = "a message that is not as the protocol defines it is refused";
pub(super) const UNJUDGED_VALUE: &str =
    "a message that is not as the protocol defines it is forwarded unjudged";
pub(super) const SAME_ID: &str = "a request with the id of an open one is dropped";
pub(super) const NO_SUCH_REQUEST: &str = "a message for no open request is dropped";
pub(super) const INSTRUCTIONS_WITHHELD: &str =
    "the instructions of the server are withheld, as they are not accepted";
pub(super) const SERVER_WITHHELD: &str = "the name of the server is withheld, as it is not accepted";
pub(super) const ENTRY_HIDDEN: &str = "an entry of a list is hidden";
pub(super) const TEXT_WITHHELD: &str = "a text is withheld: it has signs that a reader does not see";
pub(super) const SAME_NAME: &str = "a second tool of one name is hidden";
pub(super) const ENDLESS_LIST: &str = "a list does not end: the entries of its pages so far are used";
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
pub(super) const SAME_KEY: &str = "another tool or a request of MCP has the same name";
pub(super) const NO_LIST: &str = "the server's answer to `tools/list` has no list of tools under `tools`";

/// The server answers with an error of this code.
pub(super) fn list_refused(code: impl Display) -> String {
    format!("the server answers `tools/list` with the error {code}")
}

/// Why nobody can say what holds.
pub(super) fn no_answer(error: &ClientError) -> String {
    format!("Celador cannot decide: {error}.")
}

pub(super) fn not_done(problem: &ProblemDetails) -> String {
    format!("Celador cannot decide: {} ({}).", problem.said().trim_end_matches('.'), problem.status)
}

/// Why a tool of a server is none that a task can be told of.
pub(super) fn unfit_tool(why: &str) -> String {
    format!("Celador cannot decide: a tool of the server has another form than MCP gives it: {why}.")
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

/// The question of a review, with what it is about: a question of a policy need not name the function.
pub(super) fn approve_call(function: &str, question: Option<&str>, arguments: &str) -> String {
    format!("{}\n`{function}` {arguments}", question.unwrap_or("May this call run?"))
}

/// The question of a review of a result.
pub(super) fn approve_result(function: &str, question: Option<&str>) -> String {
    format!("{}\n`{function}` has run.", question.unwrap_or("May the model receive this result?"))
}

pub(super) const UNKNOWN_RESULT: &str =
    "The result is withheld: it is of a kind that the guard of MCP does not know.";
pub(super) const ANSWERED_ELSEWHERE: &str = "it was answered elsewhere";

pub(super) fn ran_and_waits(why: &str) -> String {
    format!("The call has run, and its result is withheld until it is reviewed. {why}")
}

pub(super) const NOT_LOOPBACK: &str =
    "whoever connects needs no token, so it is an address of this machine only";

/// The place in a message that is not as the protocol has it. It names members, never values.
pub(super) fn malformed(path: &str) -> String {
    format!("`{path}` is not as the protocol defines it")
}

/// A result that is withheld, as its client would fail on it.
pub(super) fn misfit(why: &str) -> String {
    format!("The result is withheld: {why}.")
}

pub(super) fn no_result(method: &str) -> String {
    format!("its answer to `{method}` is no result of it")
}

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
