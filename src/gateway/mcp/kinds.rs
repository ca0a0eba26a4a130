//! The requests that are judged as calls of functions.
//!
//! In: the decoded parameters of a request, or the decoded outcome of it. Out: the function and its arguments, or the output that rules
//! read; and the way back: parameters and outcomes are written anew from what was decided.
//!
//! | request | function | output |
//! |---|---|---|
//! | `tools/call` | the tool | the structured content; without it the text, or the list of content blocks where it is not one text |
//! | `resources/read` | `resources/read` | the result as MCP has it |
//! | `prompts/get` | `prompts/get` | the result as MCP has it |
//!
//! Content that says something else than the structured content beside it is the member [`BESIDE`] of the output.

use super::message::{Failure, INTERNAL_ERROR, Members};
use super::shape::Decoder;
use super::{messages, schema};
use celador_server::strict_json;
use serde_json::{Value, json};

/// A kind of request that is judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Tool,
    Resource,
    Prompt,
}

/// The names of the functions that are requests. A tool of a server that has such a name is hidden.
pub(super) const RESOURCE: &str = "resources/read";
pub(super) const PROMPT: &str = "prompts/get";

/// The member of an output that has the content blocks beside structured content.
pub(super) const BESIDE: &str = "_content";

/// The outcome of a request, as rules read it.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Output {
    /// Whether the call failed.
    pub(super) failed: bool,
    pub(super) value: Value,
    pub(super) layout: Layout,
}

/// The outcome of a call as the task is told of it, and what stands beside it in the message.
#[derive(Clone)]
pub(super) struct Reported {
    pub(super) output: Output,
    pub(super) data: Option<Value>,
    pub(super) meta: Option<Value>,
}

/// The form of an outcome, in which what was decided is written.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Layout {
    /// An error of the protocol, with its code.
    Error(i64),
    /// The result of a tool.
    Tool { failed: bool, content: Content, is_object: bool },
    /// The result of another request, as it is.
    Plain,
}

/// The relation of content and structured content.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Content {
    /// There is no structured content.
    Alone,
    /// The content is empty.
    Missing,
    /// It is the JSON of the structured content.
    Whole,
    /// It is the only member of the structured content.
    Only,
    /// It has each entry of the list that is the only member.
    Entries,
    /// It says something else.
    Beside,
}

impl Kind {
    /// The kind of a request; nothing if it is not judged.
    pub(super) fn of(method: &str) -> Option<Self> {
        match method {
            "tools/call" => Some(Self::Tool),
            RESOURCE => Some(Self::Resource),
            PROMPT => Some(Self::Prompt),
            _ => None,
        }
    }

    /// The function and the arguments of a request.
    pub(super) fn call(self, params: &Members) -> (String, Value) {
        let member = |name: &str| params.get(name).cloned();
        let arguments = || member("arguments").unwrap_or_else(|| json!({}));
        let name = || member("name").and_then(|it| it.as_str().map(str::to_owned)).unwrap_or_default();
        match self {
            Self::Tool => (name(), arguments()),
            Self::Resource => (RESOURCE.to_owned(), json!({ "uri": member("uri") })),
            Self::Prompt => (PROMPT.to_owned(), json!({ "name": name(), "arguments": arguments() })),
        }
    }

    /// Writes the arguments that were decided into the parameters.
    pub(super) fn set(self, params: &mut Members, decided: Value) {
        match (self, decided) {
            (Self::Tool, arguments) => drop(params.insert("arguments".to_owned(), arguments)),
            (_, Value::Object(members)) => {
                // what a decision has left out goes out, too
                ["uri", "name", "arguments"].iter().for_each(|name| drop(params.remove(*name)));
                params.extend(members);
            }
            // another value fits no parameter
            _ => params.clear(),
        }
    }

    /// An outcome as rules read it. A result is decoded before.
    ///
    /// # Errors
    /// A result that rules cannot read.
    pub(super) fn output(self, outcome: Result<Value, Failure>) -> Result<Output, &'static str> {
        let mut result = match outcome {
            Ok(Value::Object(result)) => result,
            Ok(_) => return Err(messages::UNKNOWN_RESULT),
            Err(Failure { code, message, .. }) => {
                return Ok(Output { failed: true, value: message.into(), layout: Layout::Error(code) });
            }
        };
        if !result.values().all(is_exact) {
            return Err(messages::WIDE_NUMBER);
        }
        for member in ["_meta", "resultType", "ttlMs", "cacheScope"] {
            result.remove(member);
        }
        if self != Self::Tool {
            return Ok(Output { failed: false, value: Value::Object(result), layout: Layout::Plain });
        }
        let failed = result.get("isError") == Some(&Value::Bool(true));
        let content = result.remove("content").unwrap_or_else(|| json!([]));
        let structured = result.remove("structuredContent").filter(|it| !it.is_null());
        let is_object = structured.as_ref().is_none_or(Value::is_object);
        let layout = |content| Layout::Tool { failed, content, is_object };
        let Some(structured) = structured else {
            let value = match blocks(&content) {
                [only] if plain_text(only).is_some() => only.get("text").cloned().unwrap_or_default(),
                _ => content,
            };
            return Ok(Output { failed, value, layout: layout(Content::Alone) });
        };
        let relation = relation(&structured, blocks(&content));
        let value = match (relation, structured) {
            (Content::Beside, Value::Object(mut members)) => {
                if members.insert(BESIDE.to_owned(), content).is_some() {
                    return Err(messages::UNKNOWN_RESULT);
                }
                Value::Object(members)
            }
            (_, structured) => structured,
        };
        Ok(Output { failed, value, layout: layout(relation) })
    }

    /// The outcome that says what was decided.
    pub(super) fn outcome(self, layout: Layout, told: Value) -> Result<Value, Failure> {
        match layout {
            Layout::Error(code) => Err(Failure::new(code, as_text(&told))),
            Layout::Plain => Ok(self.plain(told)),
            Layout::Tool { failed, content: Content::Alone, .. } => {
                Ok(tool_result(content_of(told), None, failed))
            }
            Layout::Tool { failed, content, is_object } => {
                Ok(structured_result(content, told, failed, is_object))
            }
        }
    }

    /// An outcome that is given in the place of the server's.
    pub(super) fn answered(self, told: Value) -> Value {
        match self {
            Self::Tool if told.is_object() => tool_result(json!([text_block(&told)]), Some(told), false),
            Self::Tool => tool_result(json!([text_block(&told)]), None, false),
            _ => self.plain(told),
        }
    }

    /// An outcome that says why there is none of the server. The model reads that of a tool; the others are errors of the protocol.
    pub(super) fn refused(self, why: &str) -> Result<Value, Failure> {
        match self {
            Self::Tool => Ok(tool_result(json!([text_block(&why.into())]), None, true)),
            _ => Err(Failure::new(REFUSED, why)),
        }
    }

    /// A result of a resource or a prompt, with a text in it where what was decided is no result.
    fn plain(self, told: Value) -> Value {
        let shape =
            if self == Self::Prompt { schema::GET_PROMPT_RESULT } else { schema::READ_RESOURCE_RESULT };
        let decoded = Decoder::new(&[], false).decode(&shape, told.clone(), "");
        decoded.unwrap_or_else(|_| match self {
            Self::Prompt => json!({ "messages": [{ "role": "user", "content": text_block(&told) }] }),
            _ => json!({ "contents": [{ "uri": "celador:decision", "text": as_text(&told) }] }),
        })
    }
}

/// A code of JSON-RPC that servers may give a meaning: the request was refused.
pub(super) const REFUSED: i64 = -32_001;

/// The result of a tool as a later protocol wants it: it says that it is whole, and who may cache it.
pub(super) fn whole(mut outcome: Result<Value, Failure>, is_modern: bool) -> Result<Value, Failure> {
    if let (true, Ok(Value::Object(result))) = (is_modern, &mut outcome) {
        result.entry("resultType").or_insert_with(|| "complete".into());
    }
    outcome
}

/// Says that a result depends on the user and the policy: it is not cached.
pub(super) fn uncached(result: &mut Value, is_modern: bool) {
    if let Some(result) = result.as_object_mut() {
        let is_cached = result.remove("ttlMs").is_some() | result.remove("cacheScope").is_some();
        if is_modern || is_cached {
            result.insert("ttlMs".to_owned(), 0.into());
            result.insert("cacheScope".to_owned(), "private".into());
        }
    }
}

fn tool_result(content: Value, structured: Option<Value>, failed: bool) -> Value {
    let mut result = json!({ "content": content });
    if let Some(members) = result.as_object_mut() {
        members.extend(structured.map(|it| ("structuredContent".to_owned(), it)));
        members.extend(failed.then(|| ("isError".to_owned(), true.into())));
    }
    result
}

/// The result with structured content, and content that is to it as it was before.
fn structured_result(content: Content, told: Value, failed: bool, is_object: bool) -> Value {
    let (told, beside) = match told {
        Value::Object(mut members) => {
            let beside = if content == Content::Beside { members.remove(BESIDE) } else { None };
            (Value::Object(members), beside)
        }
        other if !is_object => (other, None),
        // what was an object and is none any more fits no schema of the tool
        other => return tool_result(json!([text_block(&other)]), None, true),
    };
    let content = match (content, beside, only_member(&told)) {
        (Content::Missing, ..) => json!([]),
        (_, Some(beside), _) => content_of(beside),
        (Content::Only, _, Some(only)) => json!([text_block(only)]),
        (Content::Entries, _, Some(Value::Array(entries))) => entries.iter().map(text_block).collect(),
        _ => json!([text_block(&told)]),
    };
    tool_result(content, Some(told), failed)
}

/// A value as content: the blocks that it is, or a text.
fn content_of(told: Value) -> Value {
    let decoded = Decoder::new(&[], false).decode(&schema::CONTENT, told.clone(), "");
    decoded.unwrap_or_else(|_| json!([text_block(&told)]))
}

fn blocks(content: &Value) -> &[Value] {
    content.as_array().map(Vec::as_slice).unwrap_or_default()
}

/// The text of a content block that is a text and nothing besides.
fn plain_text(block: &Value) -> Option<&str> {
    let members = block.as_object().filter(|members| members.len() == 2)?;
    members.get("type").filter(|it| *it == "text")?;
    members.get("text")?.as_str()
}

/// The relation of content to structured content.
fn relation(structured: &Value, content: &[Value]) -> Content {
    let says = |block: &Value, value: &Value| {
        plain_text(block).is_some_and(|text| {
            value.as_str() == Some(text)
                || strict_json::from_str(text).is_ok_and(|said| is_same(&said, value))
        })
    };
    let says_all = |values: &[Value]| {
        content.len() == values.len() && content.iter().zip(values).all(|(block, value)| says(block, value))
    };
    let only = only_member(structured);
    if content.is_empty() {
        Content::Missing
    } else if says_all(std::slice::from_ref(structured)) {
        Content::Whole
    } else if only.is_some_and(|value| says_all(std::slice::from_ref(value))) {
        Content::Only
    } else if only.and_then(Value::as_array).is_some_and(|list| says_all(list)) {
        Content::Entries
    } else {
        Content::Beside
    }
}

fn only_member(value: &Value) -> Option<&Value> {
    let members = value.as_object().filter(|members| members.len() == 1)?;
    members.values().next()
}

/// Whether two values are the same JSON: 1 and 1.0 are one number, but no two numbers are the same that differ.
fn is_same(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Number(one), Value::Number(other)) => {
            // a double is compared with an integer by the integer that it is
            let exact = |it: &serde_json::Number| it.as_i128().or_else(|| integral(it.as_f64()?));
            one == other || exact(one).is_some_and(|one| Some(one) == exact(other))
        }
        (Value::Array(one), Value::Array(other)) => {
            one.len() == other.len() && one.iter().zip(other).all(|(one, other)| is_same(one, other))
        }
        (Value::Object(one), Value::Object(other)) => {
            let same =
                |(name, value): (&String, &Value)| other.get(name).is_some_and(|it| is_same(value, it));
            one.len() == other.len() && one.iter().all(same)
        }
        (one, other) => one == other,
    }
}

/// Whether rules read every number of a value as it is: an integer above `i64::MAX` would be a double for them.
pub(super) fn is_exact(value: &Value) -> bool {
    match value {
        Value::Number(number) => !number.is_u64() || number.is_i64(),
        Value::Array(items) => items.iter().all(is_exact),
        Value::Object(members) => members.values().all(is_exact),
        _ => true,
    }
}

/// The integer that a double is, if it is one that no other double is.
fn integral(float: f64) -> Option<i128> {
    let is_exact = float.fract() == 0.0 && float.abs() < 9_007_199_254_740_992.0;
    if is_exact { format!("{float:.0}").parse().ok() } else { None }
}

fn text_block(value: &Value) -> Value {
    json!({ "type": "text", "text": as_text(value) })
}

/// A value as a text.
pub(super) fn as_text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// An error of the protocol that says that the server cannot be understood.
pub(super) fn unknown_result() -> Failure {
    Failure::new(INTERNAL_ERROR, messages::UNKNOWN_RESULT)
}

#[cfg(test)]
mod tests {
    use super::{Kind, is_same};
    use crate::mcp::message::Failure;
    use serde_json::{Value, json};

    /// What rules read, and what goes on if they change nothing and if they change it to `told`.
    fn around(kind: Kind, result: Value, told: Value) -> (Value, Value, Value) {
        let output = kind.output(Ok(result)).unwrap();
        let same = kind.outcome(output.layout, output.value.clone()).unwrap();
        (output.value, same, kind.outcome(output.layout, told).unwrap())
    }

    /// Results of tools: the result, the output, the result if nothing is changed, another value, and the result with that.
    #[test]
    fn a_result_is_written_from_what_was_judged() {
        let text = |text: &str| json!({ "type": "text", "text": text });
        let image = json!({ "type": "image", "data": "aa", "mimeType": "image/png" });
        let cases = [
            // one text, and several blocks
            [
                json!({ "content": [text("secret")] }),
                json!("secret"),
                json!({ "content": [text("secret")] }),
                json!("***"),
                json!({ "content": [text("***")] }),
            ],
            [
                json!({ "content": [text("a"), image], "isError": true }),
                json!([text("a"), image]),
                json!({ "content": [text("a"), image], "isError": true }),
                json!([text("b")]),
                json!({ "content": [text("b")], "isError": true }),
            ],
            [
                json!({ "content": [image] }),
                json!([image]),
                json!({ "content": [image] }),
                json!({ "gone": 1 }),
                json!({ "content": [text("{\"gone\":1}")] }),
            ],
            // content that says the same as the structure is written from it
            [
                json!({ "content": [text("{\"n\": 1.0}")], "structuredContent": { "n": 1 } }),
                json!({ "n": 1 }),
                json!({ "content": [text("{\"n\":1}")], "structuredContent": { "n": 1 } }),
                json!({ "n": 2 }),
                json!({ "content": [text("{\"n\":2}")], "structuredContent": { "n": 2 } }),
            ],
            [
                json!({ "content": [text("a"), text("2")], "structuredContent": { "result": ["a", 2] } }),
                json!({ "result": ["a", 2] }),
                json!({ "content": [text("a"), text("2")], "structuredContent": { "result": ["a", 2] } }),
                json!({ "result": ["b"] }),
                json!({ "content": [text("b")], "structuredContent": { "result": ["b"] } }),
            ],
            [
                json!({ "content": [text("a")], "structuredContent": { "content": "a" } }),
                json!({ "content": "a" }),
                json!({ "content": [text("a")], "structuredContent": { "content": "a" } }),
                json!({ "content": "***" }),
                json!({ "content": [text("***")], "structuredContent": { "content": "***" } }),
            ],
            [
                json!({ "structuredContent": { "n": 1 } }),
                json!({ "n": 1 }),
                json!({ "content": [], "structuredContent": { "n": 1 } }),
                json!({ "n": 2 }),
                json!({ "content": [], "structuredContent": { "n": 2 } }),
            ],
            // content that says something else is judged beside it
            [
                json!({ "content": [text("key"), image], "structuredContent": { "n": 1 } }),
                json!({ "n": 1, "_content": [text("key"), image] }),
                json!({ "content": [text("key"), image], "structuredContent": { "n": 1 } }),
                json!({ "n": 1, "_content": [text("***"), image] }),
                json!({ "content": [text("***"), image], "structuredContent": { "n": 1 } }),
            ],
            [
                json!({ "content": [text("{\"a\":\"KEY\",\"a\":1}")], "structuredContent": { "a": 1 } }),
                json!({ "a": 1, "_content": [text("{\"a\":\"KEY\",\"a\":1}")] }),
                json!({ "content": [text("{\"a\":\"KEY\",\"a\":1}")], "structuredContent": { "a": 1 } }),
                json!({ "a": 2 }),
                json!({ "content": [text("{\"a\":2}")], "structuredContent": { "a": 2 } }),
            ],
            // details of a failure
            [
                json!({ "content": [text("no")], "structuredContent": { "field": "x" }, "isError": true }),
                json!({ "field": "x", "_content": [text("no")] }),
                json!({ "content": [text("no")], "structuredContent": { "field": "x" }, "isError": true }),
                json!("gone"),
                json!({ "content": [text("gone")], "isError": true }),
            ],
        ];
        for [result, output, same, told, changed] in cases {
            assert_eq!(around(Kind::Tool, result.clone(), told), (output, same, changed), "{result}");
        }
        let taken = json!({ "content": [text("x")], "structuredContent": { "_content": 1 } });
        assert!(Kind::Tool.output(Ok(taken)).is_err());
    }

    #[test]
    fn other_results_are_judged_as_they_are() {
        let result = json!({ "contents": [{ "uri": "file:///a", "text": "x" }], "_meta": {}, "ttlMs": 5 });
        let read = json!({ "contents": [{ "uri": "file:///a", "text": "x" }] });
        let told = json!({ "contents": [] });
        assert_eq!(around(Kind::Resource, result, told.clone()), (read.clone(), read.clone(), told));
        let text = around(Kind::Resource, read, json!("gone")).2;
        assert_eq!(text, json!({ "contents": [{ "uri": "celador:decision", "text": "gone" }] }));

        let output = Kind::Prompt.output(Err(Failure::new(-5, "secret"))).unwrap();
        assert_eq!((output.failed, &output.value), (true, &json!("secret")));
        assert_eq!(Kind::Prompt.outcome(output.layout, json!("***")), Err(Failure::new(-5, "***")));
    }

    #[test]
    fn the_decided_arguments_are_always_written() {
        let params = json!({ "name": "t", "arguments": { "account": 1_234_567_890_123_456_788_u64 } });
        let mut params = params.as_object().cloned().unwrap();
        Kind::Tool.set(&mut params, json!({ "account": 1_234_567_890_123_456_789_u64 }));
        assert_eq!(params["arguments"]["account"].to_string(), "1234567890123456789");

        let read = json!({ "uri": "file:///a", "_meta": { "x": 1 } });
        let mut read = read.as_object().cloned().unwrap();
        assert_eq!(Kind::Resource.call(&read), ("resources/read".to_owned(), json!({ "uri": "file:///a" })));
        Kind::Resource.set(&mut read, json!({ "uri": "file:///b" }));
        assert_eq!(Value::Object(read), json!({ "uri": "file:///b", "_meta": { "x": 1 } }));

        let asked = json!({ "name": "p", "arguments": { "secret": "s" }, "_meta": { "x": 1 } });
        let mut asked = asked.as_object().cloned().unwrap();
        Kind::Prompt.set(&mut asked, json!({ "name": "p" }));
        assert_eq!(Value::Object(asked), json!({ "name": "p", "_meta": { "x": 1 } }));
    }

    #[test]
    fn numbers_are_the_same_by_their_exact_value() {
        assert!(is_same(&json!([1, { "a": 2.0 }]), &json!([1.0, { "a": 2 }])));
        for (one, other) in [
            (json!({ "a": 1 }), json!({ "a": 1, "b": null })),
            (json!(1_234_567_890_123_456_788_u64), json!(1_234_567_890_123_456_789_u64)),
            (json!(9_007_199_254_740_993_u64), json!(9_007_199_254_740_992.0)),
            (json!(u64::MAX), json!(-1)),
        ] {
            assert!(!is_same(&one, &other), "{one} {other}");
        }
    }
}
