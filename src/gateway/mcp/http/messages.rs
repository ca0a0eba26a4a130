//! Texts of the HTTP side of the guard: for clients, for models and for the log.

pub(super) const NO_MESSAGE: &str = "the body is no message of JSON-RPC 2.0";
pub(super) const NO_BATCH: &str = "the body must be a single message: batches are not supported";
pub(super) const NOT_HERE: &str = "the guard answers requests for its own address on this machine only";
pub(super) const FOREIGN_PAGE: &str = "the request comes from a page of another site";
pub(super) const NOT_JSON: &str = "the content type must be application/json";
pub(super) const ACCEPT_BOTH: &str = "the client must accept application/json and text/event-stream";
pub(super) const ACCEPT_EVENTS: &str = "the client must accept text/event-stream";
pub(super) const SLOW_BODY: &str = "the body did not arrive in time, or is over the limit of a message";
pub(super) const NO_SESSION: &str = "the header Mcp-Session-Id is missing";
pub(super) const SESSION_UNKNOWN: &str = "there is no such session";
pub(super) const SESSION_ENDED: &str = "the session has ended before the request was answered";
pub(super) const TOO_MANY: &str = "too many sessions are at work";
pub(super) const DUPLICATE_ID: &str = "a request with this id is under way";
pub(super) const NO_STREAM: &str = "there is no such stream of events";
pub(super) const POST_ONLY: &str = "this revision of the protocol has no sessions: only POST is allowed";
pub(super) const NO_CAPABILITIES: &str =
    "`_meta` must name the protocol version and the client's capabilities";
pub(super) const ONLY_REQUESTS: &str = "this revision of the protocol has no responses of clients";

pub(super) fn header_mismatch(header: &str) -> String {
    format!("the header `{header}` is missing, occurs twice, or disagrees with the body")
}

pub(super) fn unsupported_version(version: &str) -> String {
    format!("the protocol version `{version}` is not supported")
}

pub(super) const UNREACHABLE: &str = "The MCP server could not be reached.";
pub(super) const STREAM_ENDED: &str = "The MCP server ended its stream before it answered.";
pub(super) const UNREADABLE: &str = "The MCP server's answer cannot be read.";
pub(super) const SESSION_LOST: &str = "The MCP server has ended the session.";

/// The server refuses a request by its status.
pub(super) fn status(status: http::StatusCode) -> String {
    match status.as_u16() {
        401 => "The MCP server asks for authorization (401). Give a token with `--header-file`, or have a client that supports OAuth connect to the guard with `--listen`.".to_owned(),
        403 => "The MCP server refuses the request (403): the token does not allow it.".to_owned(),
        code => format!("The MCP server refuses the request ({code})."),
    }
}
