//! JSON-RPC 2.0 over the six methods of the protocols (section 3).
//!
//! In: the body of a request, who sent it, and the time. Out: the body of the answer, always one JSON-RPC object; the
//! HTTP status beside it is 200. Whatever the bytes are, nothing panics; a request without a usable `id` is never carried
//! out (J5), and of a failing store no more is told than that it failed (J12).

use super::members::{Members, is_null};
use super::messages;
use super::methods::{Failure, Method};
use super::service::Conversations;
use super::settings::ConversationSettings;
use celador::cel::Timestamp;
use serde::Serialize;
use serde_json::value::{RawValue, to_raw_value};

/// The code of a body that is not JSON (J1).
const PARSE: i32 = -32700;
/// The code of what is no request (J2 to J5, J7).
const REQUEST: i32 = -32600;
/// The code of an unknown method (J4).
const METHOD: i32 = -32601;
/// The code of parameters that are wrong (J7 to J11).
const PARAMS: i32 = -32602;
/// The code of Bindu's methods when the store fails (J12).
const INTERNAL: i32 = -32603;
/// The code of Aion's methods when the store fails (J12).
const SERVER: i32 = -32000;
/// The code when there is no user although there has to be one (section 4.5).
const AUTHENTICATION: i32 = -32009;
/// The code when a token does not allow the method (section 4.5).
const AUTHORIZATION: i32 = -32013;

/// The scope that a caller's token needs for a method, where a server looks at scopes (section 4.5).
///
/// ```
/// use celador_store::conversation::{TokenScope, forbidden, needed_scope};
///
/// let body = br#"{"jsonrpc": "2.0", "id": 7, "method": "contexts/clear", "params": {"contextId": "c-1"}}"#;
/// assert_eq!(needed_scope(body), Some(TokenScope::Write));
///
/// // the scopes of the caller's token
/// let granted = ["agent:read"];
/// let allowed = needed_scope(body).is_none_or(|scope| granted.contains(&scope.name()));
/// assert!(!allowed);
/// // the answer has the id of the request and a code of its own; it goes out with HTTP status 403
/// let answer: serde_json::Value = serde_json::from_slice(&forbidden(body))?;
/// assert_eq!((&answer["id"], &answer["error"]["code"]), (&7.into(), &(-32013).into()));
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TokenScope {
    /// `agent:read`: every method that only reads.
    Read,
    /// `agent:write`: `contexts/clear`.
    Write,
}

impl TokenScope {
    /// The name in a token.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Read => "agent:read",
            Self::Write => "agent:write",
        }
    }
}

/// Answers one request: the body of a `POST /`, from `caller` (an authenticated identity, or nobody), at `now`. No method needs
/// the time so far: the only change, `contexts/clear`, removes rows.
///
/// Blocks while the store is read; a server calls it where blocking is allowed.
///
/// # Cost
/// Linear in the body, and the cost of the method: see [`Conversations`].
pub fn answer(
    conversations: &Conversations,
    settings: &ConversationSettings,
    caller: Option<&str>,
    body: &[u8],
    _now: Timestamp,
) -> Vec<u8> {
    match Envelope::read(body) {
        Err(refused) => refused.bytes(),
        Ok(request) => match request.method.call(conversations, settings, caller, &request.params) {
            Ok(result) => Reply::result(request.id, &result).bytes(),
            Err(failure) => Reply::failure(request.id, request.method, &failure).bytes(),
        },
    }
}

/// The scope that a request's method needs, for servers that look at scopes. `None` for a body that [`answer`] will
/// refuse anyway.
#[must_use]
pub fn needed_scope(body: &[u8]) -> Option<TokenScope> {
    let request = Envelope::read(body).ok()?;
    Some(if request.method == Method::ContextsClear { TokenScope::Write } else { TokenScope::Read })
}

/// The answer to somebody without an identity where there has to be one; it goes out with HTTP status 401. The `id` is
/// that of the request, if it has a usable one.
#[must_use]
pub fn unauthenticated(body: &[u8]) -> Vec<u8> {
    refused(body, AUTHENTICATION, messages::NO_IDENTITY)
}

/// The answer to a caller whose token lacks the [`needed_scope`]; it goes out with HTTP status 403. The `id` is as
/// above.
#[must_use]
pub fn forbidden(body: &[u8]) -> Vec<u8> {
    refused(body, AUTHORIZATION, messages::NO_SCOPE)
}

/// The answer to a request of which nothing was read, with the code and the sentence that say why. Its `id` is null.
#[must_use]
pub fn error(code: i32, message: &str) -> Reply<'static> {
    Reply::error(RawValue::NULL, code, message, None)
}

fn refused(body: &[u8], code: i32, message: &str) -> Vec<u8> {
    let null = RawValue::NULL;
    let request =
        std::str::from_utf8(body).ok().and_then(|text| serde_json::from_str::<&RawValue>(text).ok());
    let id = request.and_then(|request| usable_id(&Members::of(request)?)).unwrap_or(null);
    Reply::error(id, code, message, None).bytes()
}

/// A request that can be carried out.
struct Envelope<'b> {
    id: &'b RawValue,
    method: Method,
    params: Members<'b>,
}

impl<'b> Envelope<'b> {
    /// Looks at the whole envelope before anything of it counts.
    fn read(body: &'b [u8]) -> Result<Self, Reply<'b>> {
        let null = RawValue::NULL;
        let text =
            std::str::from_utf8(body).map_err(|_| Reply::error(null, PARSE, messages::NOT_JSON, None))?;
        let value: &RawValue =
            serde_json::from_str(text).map_err(|_| Reply::error(null, PARSE, messages::NOT_JSON, None))?;
        let members =
            Members::of(value).ok_or_else(|| Reply::error(null, REQUEST, messages::NOT_A_REQUEST, None))?;
        let id =
            usable_id(&members).ok_or_else(|| Reply::error(null, REQUEST, messages::NO_USABLE_ID, None))?;
        let refused = |code: i32, message: &str| Reply::error(id, code, message, None);
        if members.text("jsonrpc").as_deref() != Some("2.0") {
            return Err(refused(REQUEST, messages::NOT_A_REQUEST));
        }
        let method = members.text("method").ok_or_else(|| refused(REQUEST, messages::NO_METHOD))?;
        let params = members.get("params");
        let kind = params.and_then(|params| params.get().bytes().next());
        if !matches!(kind, None | Some(b'{' | b'[' | b'n')) {
            return Err(refused(REQUEST, messages::NOT_STRUCTURED));
        }
        let method = Method::from_name(&method).ok_or_else(|| refused(METHOD, messages::UNKNOWN_METHOD))?;
        let params = match params {
            None => Members::default(),
            Some(params) => Members::of(params).ok_or_else(|| refused(PARAMS, messages::POSITIONAL))?,
        };
        Ok(Self { id, method, params })
    }
}

/// The `id`, if it is a string, an integer or null (J5).
fn usable_id<'b>(members: &Members<'b>) -> Option<&'b RawValue> {
    let id = members.get("id")?;
    let text = id.get();
    let integer = text.strip_prefix('-').unwrap_or(text).bytes().all(|byte| byte.is_ascii_digit());
    (integer || is_null(id) || text.starts_with('"')).then_some(id)
}

/// A JSON-RPC 2.0 answer.
///
/// ```
/// use celador_store::conversation::{Reply, error};
///
/// let reply: Reply<'_> = error(-32600, "Invalid Request");
/// let text = serde_json::to_string(&reply)?;
/// assert_eq!(text, r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"Invalid Request"}}"#);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "RpcAnswer"))]
pub struct Reply<'r> {
    /// Always `2.0`.
    #[cfg_attr(feature = "schema", schemars(extend("const" = "2.0")))]
    jsonrpc: &'static str,
    /// The `id` of the request; null if it has no usable one.
    #[cfg_attr(feature = "schema", schemars(with = "serde_json::Value", extend("type" = ["string", "integer", "null"])))]
    id: &'r RawValue,
    /// The result, if the method was carried out.
    #[cfg_attr(feature = "schema", schemars(with = "Option<serde_json::Value>"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    result: Option<&'r RawValue>,
    /// The error, if it was not.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<ErrorObject>,
}

/// A JSON-RPC 2.0 error.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "RpcError"))]
struct ErrorObject {
    /// The code of the protocol.
    code: i32,
    /// A sentence for people.
    message: String,
    /// Further facts, of the form that the method has.
    #[cfg_attr(feature = "schema", schemars(with = "Option<serde_json::Value>"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    data: Option<Box<RawValue>>,
}

impl<'r> Reply<'r> {
    fn result(id: &'r RawValue, result: &'r RawValue) -> Self {
        Self { jsonrpc: "2.0", id, result: Some(result), error: None }
    }

    fn error(id: &'r RawValue, code: i32, message: &str, data: Option<Box<RawValue>>) -> Self {
        let error = ErrorObject { code, message: message.to_owned(), data };
        Self { jsonrpc: "2.0", id, result: None, error: Some(error) }
    }

    fn failure(id: &'r RawValue, method: Method, failure: &Failure) -> Self {
        match failure {
            Failure::Refused(refusal) => Self::error(id, refusal.code(), &refusal.message(), failure.data()),
            Failure::Store if method.is_aion() => {
                let nothing = to_raw_value(&serde_json::Map::new()).ok();
                Self::error(id, SERVER, messages::STORE_FAILED, nothing)
            }
            Failure::Store => Self::error(id, INTERNAL, messages::STORE_FAILED, None),
        }
    }

    /// The text; a reply is made of strings and of values that were JSON, which always has one.
    fn bytes(&self) -> Vec<u8> {
        serde_json::to_vec(self).unwrap_or_default()
    }
}
