//! A call that a model asks for, in any of the interfaces.
//!
//! In: the call as the interface writes it. Out: a name and arguments for rules; and back. The id on the wire is the model's, who may
//! use it again in a later turn; the key by which the task knows the call is one of the proxy's own then.

use super::json::read as read_json;
use super::{array, text_of};
use celador::digest::Digest;
use serde_json::{Map, Value, json};
use std::borrow::Cow;
use std::collections::BTreeMap;

/// A call that the model asks for.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ModelCall {
    /// The id on the wire.
    pub(crate) id: String,
    /// The id in the task.
    pub(crate) key: String,
    /// The name on the wire.
    pub(crate) name: String,
    /// The group of tools that the name belongs to: OpenAI's namespaces, Anthropic's toolsets.
    pub(crate) namespace: Option<String>,
    pub(crate) kind: CallKind,
    /// The arguments, if what the model wrote is an object of JSON that all readers read alike.
    pub(crate) arguments: Option<Map<String, Value>>,
}

/// What kind of tool a call is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CallKind {
    Function,
    /// A tool that takes a text. It is the argument `input` for rules.
    Custom,
    /// OpenAI's search for more tools, where the client carries it out.
    Search,
}

/// The name for rules of a search for tools.
pub(super) const SEARCH: &str = "tool_search";

/// The argument that the text of a custom tool is.
const INPUT: &str = "input";

/// The name for rules of a tool in a namespace.
pub(crate) fn full_name<'n>(namespace: Option<&str>, name: &'n str) -> Cow<'n, str> {
    match namespace.filter(|it| !it.is_empty()) {
        Some(namespace) => Cow::Owned(format!("{namespace}__{name}")),
        None => Cow::Borrowed(name),
    }
}

impl ModelCall {
    /// A call of a function.
    pub(crate) fn new(id: &str, name: &str, arguments: Option<Map<String, Value>>) -> Self {
        let [id, name] = [id, name].map(str::to_owned);
        Self { key: id.clone(), id, name, namespace: None, kind: CallKind::Function, arguments }
    }

    /// The name for rules.
    pub(crate) fn function(&self) -> Cow<'_, str> {
        full_name(self.namespace.as_deref(), &self.name)
    }

    /// Reads arguments, which are an object or a text of JSON. A text that is empty is that of a call without arguments, as models write it.
    fn read(arguments: Option<&Value>) -> Option<Map<String, Value>> {
        match arguments {
            None | Some(Value::Null) => Some(Map::new()),
            Some(Value::Object(members)) => Some(members.clone()),
            Some(Value::String(text)) if text.trim().is_empty() => Some(Map::new()),
            Some(Value::String(text)) => match read_json(text.as_bytes()) {
                Ok(Value::Object(members)) => Some(members),
                _ => None,
            },
            Some(_) => None,
        }
    }

    /// A digest of name and arguments that is the same however a client writes them again: in another order of members, or `1` for `1.0`.
    pub(crate) fn said(&self) -> Digest {
        said_by(&self.function(), self.arguments.as_ref())
    }

    fn custom(id: &str, name: &str, input: &str) -> Self {
        let arguments = [(INPUT.to_owned(), json!(input))].into_iter().collect();
        Self { kind: CallKind::Custom, ..Self::new(id, name, Some(arguments)) }
    }

    /// Its arguments as the interface writes them: a text of JSON, or that of a custom tool.
    fn text(&self) -> String {
        let Some(arguments) = &self.arguments else { return String::new() };
        match arguments.get(INPUT) {
            Some(Value::String(input)) if self.kind == CallKind::Custom => input.clone(),
            _ => json!(arguments).to_string(),
        }
    }

    /// A call of chat completions.
    pub(super) fn of_chat(call: &Value) -> Self {
        let id = text_of(call, "id");
        match call.get("custom") {
            Some(custom) => Self::custom(id, text_of(custom, "name"), text_of(custom, "input")),
            None => {
                let function = call.get("function").unwrap_or(&Value::Null);
                Self::new(id, text_of(function, "name"), Self::read(function.get("arguments")))
            }
        }
    }

    pub(super) fn for_chat(&self) -> Value {
        if self.kind == CallKind::Custom {
            return json!({"id": self.id, "type": "custom", "custom": {"name": self.name, "input": self.text()}});
        }
        json!({"id": self.id, "type": "function", "function": {"name": self.name, "arguments": self.text()}})
    }

    /// A call of responses.
    pub(super) fn of_item(item: &Value) -> Self {
        let (id, name) = (text_of(item, "call_id"), text_of(item, "name"));
        let namespace = Some(text_of(item, "namespace")).filter(|it| !it.is_empty()).map(str::to_owned);
        let call = match text_of(item, "type") {
            "custom_tool_call" => Self::custom(id, name, text_of(item, "input")),
            "tool_search_call" => {
                Self { kind: CallKind::Search, ..Self::new(id, SEARCH, Self::read(item.get("arguments"))) }
            }
            _ => Self::new(id, name, Self::read(item.get("arguments"))),
        };
        Self { namespace, ..call }
    }

    pub(super) fn for_item(&self) -> Value {
        let (kind, place, id) = match self.kind {
            CallKind::Custom => ("custom_tool_call", INPUT, "ctc"),
            CallKind::Function => ("function_call", "arguments", "fc"),
            CallKind::Search => {
                return json!({
                    "type": "tool_search_call", "id": format!("tsc_{}", self.id), "call_id": self.id,
                    "execution": "client", "arguments": self.arguments, "status": "completed"
                });
            }
        };
        let mut item = json!({
            "type": kind, "id": format!("{id}_{}", self.id), "call_id": self.id, "name": self.name,
            place: self.text(), "status": "completed"
        });
        if let (Some(namespace), Some(item)) = (&self.namespace, item.as_object_mut()) {
            item.insert("namespace".to_owned(), json!(namespace));
        }
        item
    }

    /// Puts the arguments into an item of the call.
    pub(super) fn put_into_item(&self, item: &mut Value) {
        let (place, value) = match self.kind {
            CallKind::Custom => (INPUT, json!(self.text())),
            CallKind::Function => ("arguments", json!(self.text())),
            CallKind::Search => ("arguments", json!(self.arguments)),
        };
        item.as_object_mut().map(|item| item.insert(place.to_owned(), value));
    }

    /// Takes the arguments of a call out of what holds it: a message of chat completions, an item of responses, or a block of messages.
    pub(crate) fn empty_arguments(holder: &mut Value, id: &str) {
        if text_of(holder, "call_id") == id {
            ["arguments", INPUT].iter().for_each(|place| empty(holder.get_mut(*place)));
        }
        for list in ["tool_calls", "content"] {
            let entries = holder.get_mut(list).and_then(Value::as_array_mut).into_iter().flatten();
            for call in entries.filter(|call| text_of(call, "id") == id) {
                let is_block = text_of(call, "type") == "tool_use";
                let places =
                    if is_block { &["/input"][..] } else { &["/function/arguments", "/custom/input"] };
                places.iter().for_each(|place| empty(call.pointer_mut(place)));
            }
        }
    }

    /// A call of messages.
    pub(super) fn of_block(block: &Value) -> Self {
        let namespace = Some(text_of(block, "toolset_name")).filter(|it| !it.is_empty()).map(str::to_owned);
        let call = Self::new(text_of(block, "id"), text_of(block, "name"), Self::read(block.get("input")));
        Self { namespace, ..call }
    }

    pub(super) fn for_block(&self) -> Value {
        let input = self.arguments.clone().unwrap_or_default();
        let mut block = json!({"type": "tool_use", "id": self.id, "name": self.name, "input": input});
        if let (Some(toolset), Some(block)) = (&self.namespace, block.as_object_mut()) {
            block.insert("toolset_name".to_owned(), json!(toolset));
        }
        block
    }
}

/// The digest of a call; see [`ModelCall::said`].
pub(crate) fn said_by(function: &str, arguments: Option<&Map<String, Value>>) -> Digest {
    let mut written = String::new();
    match arguments {
        Some(members) => write_members(members, &mut written),
        None => written.push('?'),
    }
    Digest::of_parts([function, &written])
}

fn write_members(members: &Map<String, Value>, to: &mut String) {
    let sorted: BTreeMap<&String, &Value> = members.iter().collect();
    to.push('{');
    for (name, value) in sorted {
        to.push_str(&json!(name).to_string());
        to.push(':');
        write_value(value, to);
        to.push(',');
    }
    to.push('}');
}

fn write_value(value: &Value, to: &mut String) {
    match value {
        Value::Object(members) => write_members(members, to),
        Value::Array(values) => {
            to.push('[');
            for value in values {
                write_value(value, to);
                to.push(',');
            }
            to.push(']');
        }
        // clients of JavaScript write a double that is whole without a fraction
        Value::Number(number) if number.is_f64() => match number.as_f64() {
            Some(whole) if whole.fract() == 0.0 && whole.abs() < 9_007_199_254_740_992.0 => {
                to.push_str(&format!("{whole:.0}"));
            }
            _ => to.push_str(&number.to_string()),
        },
        other => to.push_str(&other.to_string()),
    }
}

/// Puts arguments that say nothing in the place of others, in the form that these have.
fn empty(arguments: Option<&mut Value>) {
    if let Some(arguments) = arguments {
        *arguments = if arguments.is_object() { json!({}) } else { json!("{}") };
    }
}

/// Whether an item is a call that the client carries out.
pub(super) fn is_call(item: &Value) -> bool {
    match text_of(item, "type") {
        "function_call" | "custom_tool_call" => true,
        "tool_search_call" => !is_of_vendor(item),
        _ => false,
    }
}

/// Whether an item is what a call came to that the client has carried out.
pub(super) fn is_output(item: &Value) -> bool {
    match text_of(item, "type") {
        "function_call_output" | "custom_tool_call_output" => true,
        "tool_search_output" => !is_of_vendor(item),
        _ => false,
    }
}

/// Whether OpenAI itself has searched for tools: among those of the request.
pub(super) fn is_of_vendor(item: &Value) -> bool {
    item.get("execution").is_some_and(|it| it == "server")
}

/// Gives calls ids that have none, and others to those that have the id of one before them in the same answer.
pub(super) fn complete_ids<'c>(
    calls: impl Iterator<Item = &'c mut Value>,
    member: &str,
    mut made: impl FnMut() -> String,
) {
    let mut known: Vec<String> = Vec::new();
    for call in calls {
        let id = text_of(call, member);
        let id = if id.is_empty() || known.iter().any(|it| it == id) { made() } else { id.to_owned() };
        call.as_object_mut().map(|call| call.insert(member.to_owned(), json!(id)));
        known.push(id);
    }
}

/// The calls in a list of a message.
pub(super) fn of_chat_message(message: &Value) -> Vec<ModelCall> {
    array(message, "tool_calls").iter().map(ModelCall::of_chat).collect()
}
