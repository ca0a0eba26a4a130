//! Headers of protocol 2026-07-28 that repeat parts of a request: `Mcp-Method`, `Mcp-Name` and `Mcp-Param-…`.
//!
//! Programs between client and server route requests by these headers, so they must say what the body says. On the way in a header that
//! disagrees with the body is refused. On the way out every header is written from the arguments that were decided.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::{HeaderMap, HeaderName, HeaderValue};
use serde_json::{Map, Value};
use std::collections::HashMap;

pub(super) const SESSION_ID: HeaderName = HeaderName::from_static("mcp-session-id");
pub(super) const PROTOCOL_VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");
pub(super) const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");
const METHOD: HeaderName = HeaderName::from_static("mcp-method");
const NAME: HeaderName = HeaderName::from_static("mcp-name");
/// Beginning of the names of headers that repeat an argument.
const PARAM: &str = "mcp-param-";

/// Methods whose `Mcp-Name` repeats a parameter, and the parameter.
const NAMED: [(&str, &str); 6] = [
    ("tools/call", "name"),
    ("prompts/get", "name"),
    ("resources/read", "uri"),
    ("tasks/get", "taskId"),
    ("tasks/update", "taskId"),
    ("tasks/cancel", "taskId"),
];

/// Largest integer of a header: clients in JavaScript leave out the header of a larger one.
const MAX_SAFE_INTEGER: u64 = 9_007_199_254_740_991;

/// An argument that a header repeats.
#[derive(Clone, Debug, PartialEq, Eq)]
struct ParamHeader {
    name: HeaderName,
    /// Names of properties from the root of the arguments.
    path: Vec<String>,
}

/// Headers of the tools that a server has listed.
#[derive(Debug, Default)]
pub(super) struct ParamHeaders(HashMap<String, Vec<ParamHeader>>);

impl ParamHeaders {
    /// Learns the headers from the result of `tools/list`. The first page replaces what was known.
    pub(super) fn learn(&mut self, is_first_page: bool, result: &Value) {
        if is_first_page {
            self.0.clear();
        }
        for tool in result.get("tools").and_then(Value::as_array).into_iter().flatten() {
            if let Some(name) = tool.get("name").and_then(Value::as_str) {
                let mut headers = Vec::new();
                let schema = tool.get("inputSchema").unwrap_or(&Value::Null);
                collect(schema, &mut Vec::new(), &mut headers);
                self.0.insert(name.to_owned(), headers);
            }
        }
    }

    /// Headers of a request, written from its body.
    pub(super) fn of_request(&self, request: &Value) -> HeaderMap {
        let mut headers = HeaderMap::new();
        let mut add = |name: HeaderName, text: &str| {
            if let Ok(value) = HeaderValue::from_str(&encode(text)) {
                headers.insert(name, value);
            }
        };
        let (method, params) = method_and_params(request);
        add(METHOD, method);
        if let Some(name) = name_of(method, params) {
            add(NAME, name);
        }
        if method == "tools/call" {
            let tool = params.and_then(|it| it.get("name")).and_then(Value::as_str).unwrap_or_default();
            let arguments = params.and_then(|it| it.get("arguments"));
            for header in self.0.get(tool).into_iter().flatten() {
                if let Some(text) = argument(arguments, &header.path) {
                    add(header.name.clone(), &text);
                }
            }
        }
        headers
    }

    /// Checks the headers of a request against its body.
    ///
    /// # Errors
    /// The name of a header that is missing, occurs twice, or says something else.
    pub(super) fn check(&self, request: &Value, headers: &HeaderMap) -> Result<(), String> {
        let (method, params) = method_and_params(request);
        let expect = |name: &HeaderName, expected: Option<&str>| {
            let given = single(headers, name)?;
            if given.as_deref() == expected { Ok(()) } else { Err(name.to_string()) }
        };
        expect(&METHOD, Some(method))?;
        // the extension of tasks came later: its clients may leave the header out
        if !method.starts_with("tasks/") || headers.contains_key(&NAME) {
            expect(&NAME, name_of(method, params))?;
        }
        let tool = params.and_then(|it| it.get("name")).and_then(Value::as_str).unwrap_or_default();
        let known = (method == "tools/call").then(|| self.0.get(tool)).flatten();
        let arguments = params.and_then(|it| it.get("arguments"));
        for header in known.into_iter().flatten() {
            expect(&header.name, argument(arguments, &header.path).as_deref())?;
        }
        for name in headers.keys().filter(|name| name.as_str().starts_with(PARAM)) {
            let is_known = known.is_some_and(|known| known.iter().any(|header| header.name == *name));
            if is_known {
                continue;
            }
            // the schema is not known here, or has no such header: it must repeat an argument all the same
            let given = single(headers, name)?;
            if !given.is_some_and(|given| has_text(arguments, &given)) {
                return Err(name.to_string());
            }
        }
        Ok(())
    }
}

/// Collects the headers along chains of `properties`; elsewhere none is allowed.
fn collect(schema: &Value, path: &mut Vec<String>, headers: &mut Vec<ParamHeader>) {
    let properties = schema.get("properties").and_then(Value::as_object);
    for (property, schema) in properties.into_iter().flatten() {
        path.push(property.clone());
        let name = schema.get("x-mcp-header").and_then(Value::as_str).filter(|name| !name.is_empty());
        let name = name.and_then(|name| HeaderName::try_from(format!("{PARAM}{name}")).ok());
        if let Some(name) = name.filter(|name| headers.iter().all(|it| it.name != *name)) {
            headers.push(ParamHeader { name, path: path.clone() });
        }
        collect(schema, path, headers);
        path.pop();
    }
}

fn method_and_params(request: &Value) -> (&str, Option<&Map<String, Value>>) {
    let method = request.get("method").and_then(Value::as_str).unwrap_or_default();
    (method, request.get("params").and_then(Value::as_object))
}

fn name_of<'v>(method: &str, params: Option<&'v Map<String, Value>>) -> Option<&'v str> {
    let (_, member) = NAMED.iter().find(|(named, _)| *named == method)?;
    params?.get(*member)?.as_str()
}

/// The text of an argument in a header; nothing if the argument is absent or has none.
fn argument(arguments: Option<&Value>, path: &[String]) -> Option<String> {
    text(path.iter().try_fold(arguments?, |value, name| value.get(name))?)
}

fn text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Bool(bool) => Some(bool.to_string()),
        Value::Number(number) => {
            let is_safe =
                number.is_f64() || number.as_i64().is_some_and(|it| it.unsigned_abs() <= MAX_SAFE_INTEGER);
            is_safe.then(|| number.to_string())
        }
        _ => None,
    }
}

/// Whether an argument at any depth has this text.
fn has_text(value: Option<&Value>, expected: &str) -> bool {
    match value {
        Some(Value::Object(members)) => members.values().any(|value| has_text(Some(value), expected)),
        Some(value) => text(value).as_deref() == Some(expected),
        None => false,
    }
}

/// The decoded value of a header that may occur once.
fn single(headers: &HeaderMap, name: &HeaderName) -> Result<Option<String>, String> {
    let mut values = headers.get_all(name).iter();
    match (values.next(), values.next()) {
        (None, _) => Ok(None),
        (Some(value), None) => {
            let decoded = value.to_str().ok().and_then(decode);
            decoded.map(Some).ok_or_else(|| name.to_string())
        }
        _ => Err(name.to_string()),
    }
}

const BASE64_BEGIN: &str = "=?base64?";
const BASE64_END: &str = "?=";

/// Encodes a text for a header: as it is where HTTP keeps it, else in Base64.
fn encode(text: &str) -> String {
    let is_plain = text.bytes().all(|byte| byte == b'\t' || (b' '..=b'~').contains(&byte))
        && !text.is_empty()
        && text.trim_matches([' ', '\t']).len() == text.len()
        && !(text.starts_with(BASE64_BEGIN) && text.ends_with(BASE64_END));
    if is_plain { text.to_owned() } else { format!("{BASE64_BEGIN}{}{BASE64_END}", STANDARD.encode(text)) }
}

fn decode(value: &str) -> Option<String> {
    match value.strip_prefix(BASE64_BEGIN).and_then(|rest| rest.strip_suffix(BASE64_END)) {
        Some(encoded) => String::from_utf8(STANDARD.decode(encoded).ok()?).ok(),
        None => Some(value.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::ParamHeaders;
    use http::{HeaderMap, HeaderName, HeaderValue};
    use serde_json::{Value, json};

    fn known() -> ParamHeaders {
        let mut headers = ParamHeaders::default();
        let schema = json!({ "properties": {
            "to": { "type": "string", "x-mcp-header": "Account" },
            "deep": { "properties": { "n": { "type": "integer", "x-mcp-header": "N" } } },
            "items": { "items": { "x-mcp-header": "Item" } },
        } });
        headers.learn(true, &json!({ "tools": [{ "name": "pay", "inputSchema": schema }] }));
        headers
    }

    fn map(headers: &[(&str, &str)]) -> HeaderMap {
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.append(HeaderName::try_from(*name).unwrap(), HeaderValue::from_str(value).unwrap());
        }
        map
    }

    #[test]
    fn headers_are_written_from_the_body() {
        for (request, expected) in [
            (
                json!({ "method": "tools/call", "params": { "name": "pay", "arguments": { "to": "a", "deep": { "n": 7 } } } }),
                &[
                    ("mcp-method", "tools/call"),
                    ("mcp-name", "pay"),
                    ("mcp-param-account", "a"),
                    ("mcp-param-n", "7"),
                ][..],
            ),
            (
                json!({ "method": "tools/call", "params": { "name": "pay", "arguments": { "to": "ä", "deep": { "n": 9_007_199_254_740_993_u64 } } } }),
                &[
                    ("mcp-method", "tools/call"),
                    ("mcp-name", "pay"),
                    ("mcp-param-account", "=?base64?w6Q=?="),
                ],
            ),
            (
                json!({ "method": "tools/call", "params": { "name": "pay\r\nx: y", "arguments": null } }),
                &[("mcp-method", "tools/call"), ("mcp-name", "=?base64?cGF5DQp4OiB5?=")],
            ),
            (
                json!({ "method": "resources/read", "params": { "uri": "a://b", "name": "no" } }),
                &[("mcp-method", "resources/read"), ("mcp-name", "a://b")],
            ),
            (json!({ "method": "tools/list" }), &[("mcp-method", "tools/list")]),
        ] {
            let headers = known().of_request(&request);
            assert_eq!(headers, map(expected), "{request}");
            assert_eq!(known().check(&request, &headers), Ok(()), "{request}");
        }
    }

    #[test]
    fn a_header_that_disagrees_with_the_body_is_refused() {
        let call = |arguments: Value| json!({ "method": "tools/call", "params": { "name": "pay", "arguments": arguments } });
        let other =
            json!({ "method": "tools/call", "params": { "name": "other", "arguments": { "a": "x" } } });
        let (method, name) = (("mcp-method", "tools/call"), ("mcp-name", "pay"));
        let task = json!({ "method": "tasks/get", "params": { "taskId": "t-1" } });
        let of_task = ("mcp-method", "tasks/get");
        for (request, headers, wrong) in [
            (call(json!({})), vec![name], "mcp-method"),
            (call(json!({})), vec![("mcp-method", "tools/list"), name], "mcp-method"),
            (call(json!({})), vec![method, method, name], "mcp-method"),
            (call(json!({})), vec![method], "mcp-name"),
            (call(json!({})), vec![method, ("mcp-name", "PAY")], "mcp-name"),
            (call(json!({})), vec![method, ("mcp-name", "=?base64?!?=")], "mcp-name"),
            (call(json!({ "to": "a" })), vec![method, name], "mcp-param-account"),
            (call(json!({ "to": "a" })), vec![method, name, ("mcp-param-account", "b")], "mcp-param-account"),
            (call(json!({})), vec![method, name, ("mcp-param-account", "b")], "mcp-param-account"),
            (
                call(json!({ "to": null })),
                vec![method, name, ("mcp-param-account", "null")],
                "mcp-param-account",
            ),
            (call(json!({})), vec![method, name, ("mcp-param-unknown", "b")], "mcp-param-unknown"),
            (other.clone(), vec![method, ("mcp-name", "other"), ("mcp-param-a", "y")], "mcp-param-a"),
            (json!({ "method": "tools/list" }), vec![("mcp-method", "tools/list"), name], "mcp-name"),
            (task.clone(), vec![of_task, ("mcp-name", "t-2")], "mcp-name"),
            (task.clone(), vec![of_task, ("mcp-name", "t-1"), ("mcp-name", "t-1")], "mcp-name"),
        ] {
            assert_eq!(
                known().check(&request, &map(&headers)),
                Err(wrong.to_owned()),
                "{request} {headers:?}"
            );
        }
        let headers = map(&[method, ("mcp-name", "other"), ("mcp-param-a", "x")]);
        assert_eq!(known().check(&other, &headers), Ok(()));
        for headers in [vec![of_task], vec![of_task, ("mcp-name", "t-1")]] {
            assert_eq!(known().check(&task, &map(&headers)), Ok(()), "{headers:?}");
        }
    }
}
