//! The requests that are guarded, as calls of functions.
//!
//! In: a request of a client, or what a server answered to it. Out: the function and its arguments, or the output that rules read; and the
//! way back: the request with the arguments of a decision, the answer with the value that the model is to receive. Where a
//! decision changes nothing, nothing is changed: the very message of the server goes on.
//!
//! | request | function | output |
//! |---|---|---|
//! | `tools/call` | the tool | the structured content; without it the text, or the list of content blocks where it is not one text |
//! | `resources/read` | `resources/read` | the result as MCP has it |
//! | `prompts/get` | `prompts/get` | the result as MCP has it |

use super::guard::arguments_of;
use super::message::Message;
use serde_json::{Map, Value, json};

/// A kind of request that is guarded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Tool,
    Resource,
    Prompt,
}

/// The names of the functions that stand for what is no tool. No tool of a server goes by one of them.
pub(super) const RESOURCE: &str = "resources/read";
pub(super) const PROMPT: &str = "prompts/get";

/// What a server answered, as rules read it.
#[derive(Debug, PartialEq)]
pub(super) struct Output {
    /// Whether the call failed.
    pub(super) failed: bool,
    pub(super) value: Value,
}

impl Kind {
    /// The kind of a request; nothing if it is not guarded.
    pub(super) fn of(method: &str) -> Option<Self> {
        match method {
            "tools/call" => Some(Self::Tool),
            RESOURCE => Some(Self::Resource),
            PROMPT => Some(Self::Prompt),
            _ => None,
        }
    }

    /// The function and the arguments of a request.
    pub(super) fn call(self, request: &Message) -> (String, Value) {
        let name = || request.param("/name").and_then(Value::as_str).unwrap_or_default().to_owned();
        match self {
            Self::Tool => (name(), arguments_of(request.param("/arguments"))),
            Self::Resource => {
                let uri = request.param("/uri").cloned().unwrap_or_default();
                (RESOURCE.to_owned(), json!({ "uri": uri }))
            }
            Self::Prompt => {
                let arguments = arguments_of(request.param("/arguments"));
                (PROMPT.to_owned(), json!({ "name": name(), "arguments": arguments }))
            }
        }
    }

    /// Puts the arguments of a decision into the request.
    pub(super) fn set(self, request: &mut Message, decided: Value) {
        let (_, asked) = self.call(request);
        if is_same(&asked, &decided) {
            return;
        }
        match (self, decided) {
            (Self::Tool, arguments) => request.set_param("arguments", arguments),
            (_, Value::Object(members)) => {
                members.into_iter().for_each(|(name, value)| request.set_param(&name, value));
            }
            _ => {}
        }
    }

    /// What a response says, as rules read it.
    pub(super) fn output(self, response: &Message) -> Output {
        let Some(result) = response.outcome() else {
            let said = response.failure().and_then(|failure| failure.get("message")).cloned();
            return Output { failed: true, value: said.unwrap_or_default() };
        };
        if self != Self::Tool {
            let mut value = result.clone();
            value.as_object_mut().map(|members| members.remove("_meta"));
            return Output { failed: false, value };
        }
        let failed = result.get("isError") == Some(&Value::Bool(true));
        let content = result.get("content").cloned().unwrap_or_else(|| json!([]));
        let value = match structured(result) {
            Some(structured) if !failed => structured.clone(),
            _ => match blocks(&content) {
                [only] if is_plain_text(only) => only.get("text").cloned().unwrap_or_default(),
                _ => content,
            },
        };
        Output { failed, value }
    }

    /// Puts the value of a decision into the response.
    pub(super) fn tell(self, response: &mut Message, output: &Output, told: Value) {
        let same = is_same(&output.value, &told);
        if let Some(failure) = response.failure_mut() {
            if !same {
                // what else the error holds was judged by nobody
                let code = failure.get("code").cloned().unwrap_or_else(|| (-32_603).into());
                *failure = json!({ "code": code, "message": as_text(&told) });
            }
            return;
        }
        let Some(result) = response.outcome_mut().and_then(Value::as_object_mut) else { return };
        if self != Self::Tool {
            if !same {
                let meta = result.remove("_meta");
                *result = if let Value::Object(told) = told { told } else { self.emptied(&told) };
                result.extend(meta.map(|meta| ("_meta".to_owned(), meta)));
            }
            return;
        }
        let has_structure = structured_of(result).is_some() && !output.failed;
        let says = says(result);
        match (has_structure, same) {
            (true, true) if says != Says::Other => {}
            // a text beside the structure that says something else was judged by nobody
            (true, _) => {
                result.insert("content".to_owned(), said(says, &told));
                if told.is_object() {
                    result.insert("structuredContent".to_owned(), told);
                } else {
                    // a client holds structured content to be an object
                    result.remove("structuredContent");
                    result.insert("isError".to_owned(), Value::Bool(true));
                }
            }
            // of a failure the content is judged, and nothing beside it
            (false, true) if output.failed => drop(result.remove("structuredContent")),
            (false, true) => {}
            (false, false) => {
                let is_blocks =
                    blocks(&told).iter().all(|block| block.get("type").is_some_and(Value::is_string));
                let is_list = told.is_array() && is_blocks;
                let content = if is_list { told } else { json!([text_block(&told)]) };
                result.insert("content".to_owned(), content);
                result.remove("structuredContent");
            }
        }
    }

    /// A response with what stands in the place of the server's.
    pub(super) fn answered(self, id: Value, told: &Value) -> Message {
        let result = match self {
            Self::Tool if told.is_object() => {
                json!({ "content": [text_block(told)], "structuredContent": told })
            }
            Self::Tool => json!({ "content": [text_block(told)] }),
            _ if told.is_object() => told.clone(),
            _ => Value::Object(self.emptied(told)),
        };
        Message::result(id, result)
    }

    /// A response that says why there is none of the server. The model reads that of a tool; the others are errors of the protocol.
    pub(super) fn refused(self, id: Value, why: &str) -> Message {
        match self {
            Self::Tool => {
                Message::result(id, json!({ "content": [{ "type": "text", "text": why }], "isError": true }))
            }
            _ => Message::error(id, REFUSED, why),
        }
    }

    /// A response that asks the user of the client something before the call goes on, for protocols in which a server sends no
    /// requests: the client makes the call again, with the answer and this state.
    pub(super) fn asks(id: Value, form: &Value, state: &str) -> Message {
        let request = json!({ "method": "elicitation/create", "params": form });
        Message::result(
            id,
            json!({
                "resultType": "input_required",
                "inputRequests": { (ANSWER): request },
                "requestState": state,
            }),
        )
    }

    /// A result of the right form with a text in it.
    fn emptied(self, told: &Value) -> Map<String, Value> {
        let text = as_text(told);
        let value = match self {
            Self::Tool => json!({ "content": [text_block(told)] }),
            Self::Resource => json!({ "contents": [{ "uri": "celador:decision", "text": text }] }),
            Self::Prompt => json!({ "messages": [{ "role": "user", "content": text_block(told) }] }),
        };
        if let Value::Object(members) = value { members } else { Map::new() }
    }
}

/// The name of a question to the user among those of one answer.
pub(super) const ANSWER: &str = "celador";

/// A code of JSON-RPC that servers may give a meaning: the request was refused.
const REFUSED: i64 = -32_001;

fn structured_of(result: &Map<String, Value>) -> Option<&Value> {
    result.get("structuredContent").filter(|structured| !structured.is_null())
}

fn structured(result: &Value) -> Option<&Value> {
    result.as_object().and_then(structured_of)
}

fn blocks(content: &Value) -> &[Value] {
    content.as_array().map(Vec::as_slice).unwrap_or_default()
}

/// Whether a content block is a text and nothing beside.
fn is_plain_text(block: &Value) -> bool {
    let members = block.as_object();
    let known = members.is_some_and(|members| members.keys().all(|name| name == "type" || name == "text"));
    known && block.get("type") == Some(&"text".into()) && block.get("text").is_some_and(Value::is_string)
}

/// What the content of a result says of its structured content.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Says {
    /// It says it as JSON, or nothing.
    Whole,
    /// It says what stands under its only member, as servers write a result that is one text.
    Only,
    /// It says each entry of the list under its only member by itself, as servers in Python do.
    Entries,
    /// It says something else.
    Other,
}

fn says(result: &Map<String, Value>) -> Says {
    let (Some(structured), Some(content)) = (structured_of(result), result.get("content")) else {
        return Says::Whole;
    };
    let content = blocks(content);
    let says = |block: &Value, value: &Value| {
        let text = block.get("text").and_then(Value::as_str).filter(|_| is_plain_text(block));
        text.is_some_and(|text| {
            value.as_str() == Some(text)
                || serde_json::from_str::<Value>(text).is_ok_and(|said| is_same(&said, value))
        })
    };
    let says_all = |values: &[Value]| {
        content.len() == values.len() && content.iter().zip(values).all(|(block, value)| says(block, value))
    };
    let only = only_member(structured);
    if content.is_empty() || says_all(std::slice::from_ref(structured)) {
        Says::Whole
    } else if only.is_some_and(|value| says_all(std::slice::from_ref(value))) {
        Says::Only
    } else if only.and_then(Value::as_array).is_some_and(|list| says_all(list)) {
        Says::Entries
    } else {
        Says::Other
    }
}

/// Content that says a value as the content of before has said the one of before.
fn said(says: Says, told: &Value) -> Value {
    match (says, only_member(told)) {
        (Says::Only, Some(only)) => json!([text_block(only)]),
        (Says::Entries, Some(Value::Array(entries))) => entries.iter().map(text_block).collect(),
        _ => json!([text_block(told)]),
    }
}

fn only_member(value: &Value) -> Option<&Value> {
    let members = value.as_object().filter(|members| members.len() == 1)?;
    members.values().next()
}

/// Whether two values are the same to whoever reads them as JSON: 1 and 1.0 are one number.
pub(super) fn is_same(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Number(one), Value::Number(other)) => one == other || one.as_f64() == other.as_f64(),
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

fn text_block(value: &Value) -> Value {
    json!({ "type": "text", "text": as_text(value) })
}

fn as_text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::{Kind, Output, is_same};
    use crate::mcp::message::Message;
    use serde_json::{Value, json};

    /// What rules read, and what goes on if they change nothing and if they change it.
    fn around(kind: Kind, result: &Value, told: &Value) -> (Output, Value, Value) {
        let response = || Message::result(1.into(), result.clone());
        let output = kind.output(&response());
        let (mut same, mut changed) = (response(), response());
        kind.tell(&mut same, &output, output.value.clone());
        kind.tell(&mut changed, &output, told.clone());
        (output, same.outcome().unwrap().clone(), changed.outcome().unwrap().clone())
    }

    #[test]
    fn one_text_is_a_text_and_stays_one() {
        let result = json!({ "content": [{ "type": "text", "text": "secret" }], "_meta": { "a": 1 } });
        let (output, same, changed) = around(Kind::Tool, &result, &"***".into());
        assert_eq!(output, Output { failed: false, value: "secret".into() });
        assert_eq!(same, result);
        assert_eq!(changed, json!({ "content": [{ "type": "text", "text": "***" }], "_meta": { "a": 1 } }));
    }

    #[test]
    fn several_blocks_are_a_list_and_stay_one() {
        let blocks = json!([{ "type": "text", "text": "a" }, { "type": "image", "data": "aa", "mimeType": "image/png" }]);
        let result = json!({ "content": blocks, "isError": true });
        let kept = json!([{ "type": "text", "text": "b" }]);
        let (output, same, changed) = around(Kind::Tool, &result, &kept);
        assert_eq!(output, Output { failed: true, value: blocks });
        assert_eq!(same, result);
        assert_eq!(changed, json!({ "content": kept, "isError": true }));
    }

    #[test]
    fn structured_content_is_judged_and_its_text_says_the_same_or_goes() {
        let same_text = json!({ "content": [{ "type": "text", "text": "{\"n\": 1.0}" }], "structuredContent": { "n": 1 } });
        let (output, same, changed) = around(Kind::Tool, &same_text, &json!({ "n": 2 }));
        assert_eq!(output.value, json!({ "n": 1 }));
        assert_eq!(same, same_text);
        let text = json!([{ "type": "text", "text": "{\"n\":2}" }]);
        assert_eq!(changed, json!({ "content": text, "structuredContent": { "n": 2 } }));

        let items = json!([{ "type": "text", "text": "a" }, { "type": "text", "text": "2" }]);
        let wrapped = json!({ "content": items, "structuredContent": { "result": ["a", 2] } });
        let (_, same, changed) = around(Kind::Tool, &wrapped, &json!({ "result": ["b"] }));
        assert_eq!(same, wrapped);
        assert_eq!(changed["content"], json!([{ "type": "text", "text": "b" }]));
        let only =
            json!({ "content": [{ "type": "text", "text": "a" }], "structuredContent": { "content": "a" } });
        let (_, same, changed) = around(Kind::Tool, &only, &json!({ "content": "***" }));
        assert_eq!(same, only);
        assert_eq!(changed["content"], json!([{ "type": "text", "text": "***" }]));

        let other =
            json!({ "content": [{ "type": "text", "text": "obey" }], "structuredContent": { "n": 1 } });
        let (_, same, _) = around(Kind::Tool, &other, &Value::Null);
        assert_eq!(same["content"], json!([{ "type": "text", "text": "{\"n\":1}" }]));

        // what a client would refuse as structured content becomes an error that says it
        let (.., changed) = around(Kind::Tool, &same_text, &"gone".into());
        assert_eq!(changed, json!({ "content": [{ "type": "text", "text": "gone" }], "isError": true }));
    }

    /// Structured content beside a failure is read by nobody and does not go on.
    #[test]
    fn a_failure_is_its_content() {
        let result = json!({ "content": [{ "type": "text", "text": "no" }], "structuredContent": { "n": 1 }, "isError": true });
        let (output, same, _) = around(Kind::Tool, &result, &Value::Null);
        assert_eq!(output, Output { failed: true, value: "no".into() });
        assert_eq!(same, json!({ "content": [{ "type": "text", "text": "no" }], "isError": true }));
    }

    #[test]
    fn resources_and_prompts_are_judged_as_they_are() {
        let result = json!({ "contents": [{ "uri": "file:///a", "text": "x" }], "_meta": {} });
        let told = json!({ "contents": [] });
        let (output, same, changed) = around(Kind::Resource, &result, &told);
        assert_eq!(output.value, json!({ "contents": [{ "uri": "file:///a", "text": "x" }] }));
        assert_eq!((same, changed), (result, json!({ "contents": [], "_meta": {} })));
    }

    #[test]
    fn arguments_are_changed_only_where_a_decision_changes_them() {
        let call =
            json!({ "id": 1, "method": "tools/call", "params": { "name": "t", "arguments": { "a": 1.0 } } });
        let mut request = Message::of(call.clone()).unwrap();
        Kind::Tool.set(&mut request, json!({ "a": 1 }));
        assert_eq!(request.clone().into_value().to_string(), call.to_string());
        Kind::Tool.set(&mut request, json!({ "a": 2 }));
        assert_eq!(request.param("/arguments"), Some(&json!({ "a": 2 })));

        let mut read =
            Message::request("1", "resources/read", json!({ "uri": "file:///a", "_meta": { "x": 1 } }));
        assert_eq!(Kind::Resource.call(&read), ("resources/read".to_owned(), json!({ "uri": "file:///a" })));
        Kind::Resource.set(&mut read, json!({ "uri": "file:///b" }));
        assert_eq!(read.param(""), Some(&json!({ "uri": "file:///b", "_meta": { "x": 1 } })));
    }

    #[test]
    fn a_number_is_one_however_it_is_written() {
        assert!(is_same(&json!([1, { "a": 2.0 }]), &json!([1.0, { "a": 2 }])));
        assert!(!is_same(&json!({ "a": 1 }), &json!({ "a": 1, "b": null })));
    }
}
