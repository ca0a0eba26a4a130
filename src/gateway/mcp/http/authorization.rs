//! OAuth between a client of `--listen` and a server of `--url`: the client's token goes to the server, the server's challenge to the client.
//!
//! The guard never obtains, checks or stores a token. A challenge and the metadata of a protected resource are decoded into their known
//! members and written anew, with the address of the guard in the place of the server's.

use http::header::{AUTHORIZATION, WWW_AUTHENTICATE};
use http::{HeaderMap, HeaderValue, StatusCode};
use serde_json::{Map, Value};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Path of the metadata of a protected resource (RFC 9728).
pub(super) const METADATA_PATH: &str = "/.well-known/oauth-protected-resource";

/// Parameters of a challenge that a client reads.
const CHALLENGE_PARAMS: [&str; 4] = ["realm", "scope", "error", "error_description"];

/// Members of the metadata that a client reads, besides `resource`.
const METADATA_MEMBERS: [&str; 10] = [
    "authorization_servers",
    "jwks_uri",
    "scopes_supported",
    "bearer_methods_supported",
    "resource_signing_alg_values_supported",
    "resource_name",
    "resource_documentation",
    "resource_policy_uri",
    "resource_tos_uri",
    "authorization_details_types_supported",
];

/// The credentials of one session: both of its sides share them.
#[derive(Debug, Default)]
pub(in super::super) struct Credentials(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    /// The client's `Authorization`, as its latest request has it.
    authorization: Option<HeaderValue>,
    /// Number of challenges so far.
    challenges: u64,
    latest: Option<Challenge>,
}

/// The server's demand for other credentials.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Challenge {
    /// 401 or 403.
    pub(super) status: StatusCode,
    params: Vec<(&'static str, String)>,
    /// Whether the server names the metadata of its resource.
    has_metadata: bool,
}

impl Credentials {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes over the credentials of a request.
    pub(super) fn update(&self, request: &HeaderMap) {
        let authorization = request.get(AUTHORIZATION).cloned().map(|mut value| {
            value.set_sensitive(true);
            value
        });
        self.state().authorization = authorization;
    }

    pub(super) fn authorization(&self) -> Option<HeaderValue> {
        self.state().authorization.clone()
    }

    /// Records a response of the server if it is a challenge; returns whether it is one.
    pub(super) fn record(&self, status: StatusCode, response: &HeaderMap) -> bool {
        let challenge = Challenge::decode(status, response);
        let is_challenge = challenge.is_some();
        if is_challenge {
            let mut state = self.state();
            state.challenges = state.challenges.saturating_add(1);
            state.latest = challenge;
        }
        is_challenge
    }

    /// Number of challenges so far, for [`Self::challenge_since`].
    pub(super) fn challenges(&self) -> u64 {
        self.state().challenges
    }

    /// The latest challenge, if it came after so many.
    pub(super) fn challenge_since(&self, challenges: u64) -> Option<Challenge> {
        let state = self.state();
        (state.challenges > challenges).then(|| state.latest.clone()).flatten()
    }
}

impl Challenge {
    fn decode(status: StatusCode, response: &HeaderMap) -> Option<Self> {
        let params =
            response.get_all(WWW_AUTHENTICATE).iter().filter_map(|value| bearer_params(value.to_str().ok()?));
        let given: Vec<(String, String)> = params.flatten().collect();
        let find = |name: &str| given.iter().find(|(given, _)| given == name).map(|(_, value)| value.clone());
        match status {
            StatusCode::UNAUTHORIZED => {}
            StatusCode::FORBIDDEN if find("error").as_deref() == Some("insufficient_scope") => {}
            _ => return None,
        }
        let params = CHALLENGE_PARAMS.into_iter().filter_map(|name| Some((name, find(name)?))).collect();
        Some(Self { status, params, has_metadata: find("resource_metadata").is_some() })
    }

    /// Encodes the challenge for a client that reaches the guard at this origin.
    pub(super) fn encode(&self, origin: &str, path: &str) -> HeaderValue {
        let metadata =
            self.has_metadata.then(|| ("resource_metadata", format!("{origin}{METADATA_PATH}{path}")));
        let params = self.params.iter().cloned().chain(metadata);
        let params: Vec<_> = params
            .map(|(name, value)| format!("{name}=\"{}\"", value.replace('\\', "\\\\").replace('"', "\\\"")))
            .collect();
        let text = format!("Bearer {}", params.join(", "));
        HeaderValue::from_str(text.trim_end()).unwrap_or(HeaderValue::from_static("Bearer"))
    }
}

/// The parameters of the challenge for bearer tokens among the challenges of a header (RFC 9110 11.6.1).
fn bearer_params(header: &str) -> Option<Vec<(String, String)>> {
    let (mut params, mut is_bearer, mut was_bearer) = (Vec::new(), false, false);
    let mut rest = header;
    while !rest.is_empty() {
        rest = rest.trim_start_matches([' ', '\t', ',']);
        let end = rest.find(|at: char| !is_token(at)).unwrap_or(rest.len());
        let (token, behind) = rest.split_at_checked(end)?;
        if token.is_empty() {
            break;
        }
        let Some(value) = behind.trim_start_matches([' ', '\t']).strip_prefix('=') else {
            // a token without a value is the scheme of the next challenge
            is_bearer = token.eq_ignore_ascii_case("bearer");
            was_bearer |= is_bearer;
            rest = behind;
            continue;
        };
        let value = value.trim_start_matches([' ', '\t']);
        let (value, behind) = match value.strip_prefix('"') {
            Some(quoted) => unquote(quoted)?,
            None => {
                let end = value.find([',', ' ', '\t']).unwrap_or(value.len());
                let (value, behind) = value.split_at_checked(end)?;
                (value.to_owned(), behind)
            }
        };
        if is_bearer {
            params.push((token.to_ascii_lowercase(), value));
        }
        rest = behind;
    }
    was_bearer.then_some(params)
}

/// The address of the metadata that a challenge names.
pub(super) fn metadata_url(header: &str) -> Option<String> {
    bearer_params(header)?.into_iter().find(|(name, _)| name == "resource_metadata").map(|(_, url)| url)
}

fn is_token(at: char) -> bool {
    at.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(at)
}

/// The text of a quoted string, and what follows it.
fn unquote(quoted: &str) -> Option<(String, &str)> {
    let (mut text, mut chars) = (String::new(), quoted.chars());
    loop {
        match chars.next()? {
            '"' => return Some((text, chars.as_str())),
            '\\' => text.push(chars.next()?),
            char => text.push(char),
        }
    }
}

/// The metadata of the server's resource, for clients that know it at this address; nothing if it is none.
pub(super) fn metadata(upstream: Value, resource: String) -> Option<Value> {
    let Value::Object(mut given) = upstream else { return None };
    let servers = given.get("authorization_servers").and_then(Value::as_array);
    if servers.is_none_or(|servers| !servers.iter().all(Value::is_string)) {
        return None;
    }
    let mut members = Map::new();
    members.insert("resource".to_owned(), resource.into());
    for name in METADATA_MEMBERS {
        if let Some(value) = given.remove(name) {
            members.insert(name.to_owned(), value);
        }
    }
    Some(Value::Object(members))
}

#[cfg(test)]
mod tests {
    use super::{Challenge, Credentials, metadata};
    use http::header::{AUTHORIZATION, WWW_AUTHENTICATE};
    use http::{HeaderMap, HeaderValue, StatusCode};
    use serde_json::json;

    fn encoded(status: u16, headers: &[&'static str]) -> Option<String> {
        let mut map = HeaderMap::new();
        for header in headers {
            map.append(WWW_AUTHENTICATE, HeaderValue::from_static(header));
        }
        let challenge = Challenge::decode(StatusCode::from_u16(status).unwrap(), &map)?;
        Some(challenge.encode("http://127.0.0.1:1", "/mcp").to_str().unwrap().to_owned())
    }

    /// Challenges, and what the client reads of them.
    #[test]
    fn a_challenge_is_written_anew() {
        let here = "resource_metadata=\"http://127.0.0.1:1/.well-known/oauth-protected-resource/mcp\"";
        for (status, headers, expected) in [
            (401, &["Basic realm=\"x\""][..], Some("Bearer".to_owned())),
            (401, &[], Some("Bearer".to_owned())),
            (
                401,
                &["Bearer resource_metadata=\"https://a.example/x\", scope=\"a b\", evil=\"1\""][..],
                Some(format!("Bearer scope=\"a b\", {here}")),
            ),
            (
                401,
                &["Basic realm=\"basic\", bearer realm=\"a\\\"b, c\" , error=invalid_token"][..],
                Some("Bearer realm=\"a\\\"b, c\", error=\"invalid_token\"".to_owned()),
            ),
            (
                403,
                &["Bearer error=\"insufficient_scope\", scope=\"w\""][..],
                Some("Bearer scope=\"w\", error=\"insufficient_scope\"".to_owned()),
            ),
            (403, &["Bearer error=\"other\""][..], None),
            (403, &[][..], None),
            (500, &["Bearer"][..], None),
            (401, &["Bearer scope=\"unended"][..], Some("Bearer".to_owned())),
        ] {
            assert_eq!(encoded(status, headers), expected, "{status} {headers:?}");
        }
    }

    #[test]
    fn credentials_are_those_of_the_latest_request() {
        let credentials = Credentials::default();
        let headers = HeaderMap::from_iter([(AUTHORIZATION, HeaderValue::from_static("Bearer t"))]);
        credentials.update(&headers);
        assert_eq!(credentials.authorization().unwrap(), "Bearer t");
        assert!(!format!("{credentials:?}").contains("Bearer t"), "a token is in no log");
        credentials.update(&HeaderMap::new());
        assert_eq!(credentials.authorization(), None);
        let before = credentials.challenges();
        assert!(!credentials.record(StatusCode::OK, &headers));
        assert!(credentials.challenge_since(before).is_none());
        assert!(credentials.record(StatusCode::UNAUTHORIZED, &headers));
        assert_eq!(credentials.challenge_since(before).unwrap().status, StatusCode::UNAUTHORIZED);
        assert!(credentials.challenge_since(credentials.challenges()).is_none());
    }

    #[test]
    fn metadata_has_the_address_of_the_guard() {
        let upstream = json!({ "resource": "https://a", "authorization_servers": ["https://as"], "x": 1, "scopes_supported": ["s"] });
        let expected = json!({ "resource": "http://g/mcp", "authorization_servers": ["https://as"], "scopes_supported": ["s"] });
        assert_eq!(metadata(upstream, "http://g/mcp".to_owned()), Some(expected));
        assert_eq!(metadata(json!({ "authorization_servers": [1] }), String::new()), None);
        assert_eq!(metadata(json!([]), String::new()), None);
    }
}
