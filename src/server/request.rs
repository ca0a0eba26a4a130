//! A request that was let in, and the answer to it: what a route's function takes and gives.
//!
//! In: a body within its bound, the caller, the parts of the path. Out: bodies read strictly, with no member unknown and no
//! value in what is said about them. Nothing here knows HTTP's connection; answers are complete when they are made.

use super::identity::Caller;
use super::messages;
use super::problem::{Kind, Problem};
use super::query;
use super::task_request::{OnceKey, TaskRequest};
use axum::http::HeaderName;
use celador::digest::Digest;
use celador::limits::EngineLimits;
use celador::task::Operation;
use celador::unfit::unfit;
use memchr::memchr2;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Deserializer;
use serde_json::de::SliceRead;
use std::net::IpAddr;

/// A request that was let in.
pub(super) struct Request {
    pub(super) caller: Caller,
    /// The method and the path as they came, for the digest of the request.
    pub(super) target: String,
    /// The id in the path; empty if the route has none.
    pub(super) id: String,
    /// The second id in the path; empty if the route has no second one.
    pub(super) part: String,
    pub(super) query: String,
    pub(super) body: Vec<u8>,
    /// `Idempotency-Key`.
    pub(super) key: Option<String>,
    pub(super) headers: Vec<(String, String)>,
    /// The network address from which it comes, if that is known.
    pub(super) address: Option<IpAddr>,
}

/// An answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Answer {
    pub(super) status: u16,
    pub(super) media_type: &'static str,
    pub(super) body: Vec<u8>,
    pub(super) headers: Vec<(HeaderName, String)>,
}

/// An object without members.
#[derive(Debug, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(super) struct Empty {}

/// Says that an answer was given before.
const REPLAYED: HeaderName = HeaderName::from_static("idempotency-replayed");

/// JSON on the wire.
pub(super) const JSON: &str = "application/json";

impl Answer {
    /// A JSON answer.
    pub(super) fn json<T: Serialize>(status: u16, value: &T) -> Result<Self, Problem> {
        let body = serde_json::to_vec(value).map_err(|_| Problem::from(Kind::Internal))?;
        Ok(Self { status, media_type: JSON, body, headers: Vec::new() })
    }

    /// The same, as an answer that was given before.
    pub(super) fn replayed(self) -> Self {
        self.with_header(REPLAYED, "true")
    }

    /// The same with one header more.
    pub(super) fn with_header(mut self, name: HeaderName, value: impl Into<String>) -> Self {
        self.headers.push((name, value.into()));
        self
    }
}

impl Request {
    /// What it asks of the task in its path.
    pub(super) fn of_task(&self) -> TaskRequest {
        let once = self.key.clone().map(|key| OnceKey { key, digest: self.digest() });
        TaskRequest { once, address: self.address, ..TaskRequest::new(self.caller.clone(), &self.id) }
    }

    /// The body as a type of the wire.
    ///
    /// # Errors
    /// A body that is not JSON, nested too deep, or not of this shape.
    pub(super) fn read<T: DeserializeOwned>(&self, limits: &EngineLimits) -> Result<T, Problem> {
        read_json(&self.body, limits.eval.max_json_depth)
    }

    /// The body as that of the operation of this name.
    ///
    /// # Errors
    /// As [`Request::read`].
    pub(super) fn operation(&self, name: &str, limits: &EngineLimits) -> Result<Operation, Problem> {
        read_with(&self.body, limits.eval.max_json_depth, |body| Operation::from_body(name, body))
    }

    /// What a retry must be like to be one: method, path and body.
    fn digest(&self) -> String {
        let caller = self.caller.identity.as_deref().unwrap_or_default();
        let parts = [caller.as_bytes(), self.target.as_bytes(), &self.body];
        Digest::of_parts(parts).to_string()
    }

    /// The parameters of the query as a type of the wire.
    ///
    /// # Errors
    /// A parameter that the type does not know, that does not fit or that is there twice.
    pub(super) fn query<T: DeserializeOwned>(&self) -> Result<T, Problem> {
        query::read(&self.query)
    }
}

/// A JSON text as a type of the wire.
pub(super) fn read_json<T: DeserializeOwned>(body: &[u8], max_depth: usize) -> Result<T, Problem> {
    read_with(body, max_depth, |body| T::deserialize(body))
}

/// A JSON text as this reads it, with nothing behind it.
fn read_with<T>(
    body: &[u8],
    max_depth: usize,
    read: impl FnOnce(&mut Deserializer<SliceRead<'_>>) -> serde_json::Result<T>,
) -> Result<T, Problem> {
    if depth(body) > max_depth {
        return Err(Problem::new(Kind::BadRequest, messages::too_deep(max_depth)));
    }
    let mut body = Deserializer::from_slice(body);
    read(&mut body).and_then(|value| body.end().map(|()| value)).map_err(|error| {
        let detail = if error.is_data() { unfit(&error) } else { messages::not_json(&error) };
        Problem::new(Kind::BadRequest, detail)
    })
}

/// How deep a JSON text is nested: brackets outside of strings. Linear, and right for whatever is JSON. Long strings, of which
/// long bodies mostly consist, are passed over quickly.
pub(super) fn depth(text: &[u8]) -> usize {
    let (mut depth, mut deepest, mut rest) = (0_usize, 0_usize, text);
    while let [byte, behind @ ..] = rest {
        rest = behind;
        match byte {
            b'"' => rest = behind_string(rest),
            b'[' | b'{' => {
                depth = depth.saturating_add(1);
                deepest = deepest.max(depth);
            }
            b']' | b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    deepest
}

/// What follows the string in which this text begins; nothing if it does not end.
fn behind_string(text: &[u8]) -> &[u8] {
    let mut rest = text;
    while let Some(at) = memchr2(b'"', b'\\', rest) {
        match rest.get(at..) {
            Some([b'\\', _, behind @ ..]) => rest = behind,
            Some([b'"', behind @ ..]) => return behind,
            _ => break,
        }
    }
    &[]
}

#[cfg(test)]
mod tests {
    use super::{depth, read_json};
    use serde::Deserialize;

    #[test]
    fn brackets_in_strings_do_not_nest() {
        for (text, expected) in [
            ("1", 0),
            (r#"{"a": [1, {}]}"#, 3),
            (r#""[[[""#, 0),
            (r#"["\"[", "\\", []]"#, 2),
            ("[[], [], []]", 2),
            (r#"[["\\\\"], "[", "\\"#, 2),
            (r#"["[\\"#, 1),
        ] {
            assert_eq!(depth(text.as_bytes()), expected, "{text}");
        }
    }

    #[test]
    fn what_is_wrong_with_a_body_is_said_without_its_values() {
        #[derive(Debug, Deserialize)]
        #[serde(deny_unknown_fields)]
        #[expect(dead_code, reason = "only read")]
        struct Body {
            amount: u64,
        }
        for (body, expected) in [
            (r#"{"amount": "secret"}"#, "a value that does not fit at line 1, column 19, expected u64"),
            (r#"{"amount": 1, "secret": 2}"#, "an unknown member at line 1, column 22, expected `amount`"),
            ("{}", "the member `amount` is missing in the object that ends at line 1, column 2"),
            (r#"{"amount": 1, "amount": 2}"#, "a member that is there already at line 1, column 22"),
            (r#"{"amount": secret"#, "the body is not JSON at line 1, column 12: expected value"),
        ] {
            let problem = read_json::<Body>(body.as_bytes(), 9).err();
            let said = problem.map(|problem| problem.to_string()).unwrap_or_default();
            assert_eq!(said, format!("The request cannot be read: {expected}"), "{body}");
        }
        assert!(read_json::<serde_json::Value>(b"[[1]]", 2).is_ok());
        assert!(read_json::<serde_json::Value>(b"[[1]]", 1).is_err());
    }
}
