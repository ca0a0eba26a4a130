//! The tools of a request, wherever it has them: read, taken out, and those that the vendor runs told from the client's.

use super::call::full_name;
use super::conversation::Tool;
use super::forms::{chat, messages_tools, responses_tools};
use super::shape::Kinds;
use super::{Api, array, is_type, text_of};
use celador_server::traffic::Treatment;
use serde_json::{Map, Value, json};

/// What a tool without a schema takes.
fn anything() -> Value {
    json!({"type": "object"})
}

/// What a tool takes that takes a text.
fn a_text() -> Value {
    json!({"type": "object", "properties": {"input": {"type": "string"}}, "required": ["input"]})
}

fn tool(name: &str, of: &Value, schema: Option<&Value>) -> Tool {
    let schema = schema.filter(|it| !it.is_null()).cloned().unwrap_or_else(anything);
    let description = of.get("description").and_then(Value::as_str).map(str::to_owned);
    Tool { name: name.to_owned(), description, schema }
}

pub(super) fn of_chat(body: &Value) -> Vec<Tool> {
    let read = |it: &Value| match (it.get("function"), it.get("custom")) {
        (Some(function), _) => Some(tool(text_of(function, "name"), function, function.get("parameters"))),
        (None, Some(custom)) => Some(tool(text_of(custom, "name"), custom, Some(&a_text()))),
        _ => None,
    };
    array(body, "tools").iter().filter_map(read).collect()
}

pub(super) fn of_responses(body: &Value) -> Vec<Tool> {
    let items = array(body, "input").iter().filter(|item| is_type(item, "additional_tools"));
    let lists = items.map(|item| array(item, "tools")).chain([array(body, "tools")]);
    let mut tools = Vec::new();
    for it in lists.flatten() {
        if is_type(it, "namespace") {
            let of = array(it, "tools").iter().map(|member| of_namespace(Some(text_of(it, "name")), member));
            tools.extend(of.flatten());
        } else {
            tools.extend(of_namespace(None, it));
        }
    }
    tools
}

fn of_namespace(namespace: Option<&str>, it: &Value) -> Option<Tool> {
    let name = full_name(namespace, text_of(it, "name"));
    match text_of(it, "type") {
        "function" => Some(tool(&name, it, it.get("parameters"))),
        "custom" => Some(tool(&name, it, Some(&a_text()))),
        _ => None,
    }
}

pub(super) fn of_messages(body: &Value) -> Vec<Tool> {
    let blocks = array(body, "messages").iter().flat_map(|message| array(message, "content"));
    let added = blocks.filter(|block| is_type(block, "tool_addition"));
    let added = added.filter_map(|block| block.pointer("/tool/definition"));
    let all = array(body, "tools").iter().chain(added);
    all.filter(|it| !is_hosted(Api::Messages, it))
        .map(|it| tool(text_of(it, "name"), it, it.get("input_schema")))
        .collect()
}

/// The table of the tools of an interface.
fn table(api: Api) -> &'static Kinds {
    match api {
        Api::Chat => &chat::TOOLS,
        Api::Responses => &responses_tools::TOOLS,
        Api::Messages => &messages_tools::TOOLS,
    }
}

/// Whether a tool is one that the proxy knows and does not let through. Others than known ones are no business of an option.
fn is_hosted(api: Api, it: &Value) -> bool {
    let row = it.as_object().and_then(|it| table(api).row(it));
    row.is_some_and(|row| row.treatment == Treatment::Refused)
}

/// The name of a tool for rules.
fn name_of(api: Api, it: &Value) -> &str {
    let of = match api {
        Api::Chat => it.get("function").or_else(|| it.get("custom")).unwrap_or(it),
        Api::Responses | Api::Messages => it,
    };
    text_of(of, "name")
}

/// Takes tools out, and says which.
pub(super) fn keep(api: Api, body: &mut Value, keep: &impl Fn(&str) -> bool) -> Vec<String> {
    let mut gone = Vec::new();
    retain(api, body, &mut |namespace, it| {
        let name = full_name(namespace, name_of(api, it));
        let stays = is_hosted(api, it) || keep(&name);
        if !stays {
            gone.push(name.into_owned());
        }
        stays
    });
    keep_choice(api, body, |choice| !gone.contains(choice));
    gone
}

/// Takes the tools out that the vendor runs, and says which.
pub(super) fn drop_hosted(api: Api, body: &mut Value) -> Vec<String> {
    let (mut gone, mut names) = (Vec::new(), Vec::new());
    retain(api, body, &mut |_, it| {
        let is_hosted = is_hosted(api, it);
        if is_hosted {
            gone.push(text_of(it, "type").to_owned());
            names.push(name_of(api, it).to_owned());
        }
        !is_hosted
    });
    if body.as_object_mut().and_then(|body| body.shift_remove("mcp_servers")).is_some() {
        gone.push("mcp_servers".to_owned());
    }
    if body.as_object_mut().and_then(|body| body.shift_remove("web_search_options")).is_some() {
        gone.push("web_search_options".to_owned());
    }
    keep_choice(api, body, |choice| !gone.contains(choice) && !names.contains(choice));
    gone
}

/// Keeps the tools of a request that pass a test, with the namespace of each.
fn retain(api: Api, body: &mut Value, test: &mut dyn FnMut(Option<&str>, &Value) -> bool) {
    let mut list = |tools: &mut Vec<Value>| {
        tools.retain_mut(|it| {
            if api == Api::Responses && is_type(it, "namespace") {
                let namespace = text_of(it, "name").to_owned();
                let Some(Value::Array(members)) = it.get_mut("tools") else { return false };
                members.retain(|member| test(Some(&namespace), member));
                return !members.is_empty();
            }
            test(None, it)
        });
        tools.is_empty()
    };
    let is_empty = match body.get_mut("tools") {
        Some(Value::Array(tools)) => list(tools),
        _ => false,
    };
    match api {
        Api::Chat => {}
        Api::Responses => {
            if let Some(Value::Array(items)) = body.get_mut("input") {
                items.retain_mut(|item| {
                    let is_empty = is_type(item, "additional_tools")
                        && item.get_mut("tools").and_then(Value::as_array_mut).is_some_and(&mut list);
                    !is_empty
                });
            }
        }
        Api::Messages => {
            for message in body.get_mut("messages").and_then(Value::as_array_mut).into_iter().flatten() {
                let Some(Value::Array(blocks)) = message.get_mut("content") else { continue };
                blocks.retain(|block| {
                    let added = block.get("tool").filter(|_| is_type(block, "tool_addition"));
                    added.is_none_or(|it| test(None, it.get("definition").unwrap_or(it)))
                });
            }
        }
    }
    if is_empty && let Some(body) = body.as_object_mut() {
        body.retain(|key, _| !["tools", "tool_choice", "parallel_tool_calls"].contains(&key.as_str()));
    }
}

/// Takes the choice of a tool out of a request, if a test does not keep it.
fn keep_choice(api: Api, body: &mut Value, keep: impl Fn(&String) -> bool) {
    let Some(body) = body.as_object_mut() else { return };
    let Some(Value::Object(choice)) = body.get_mut("tool_choice") else { return };
    let named = |it: &Map<String, Value>| {
        let of = match api {
            Api::Chat => ["function", "custom"].iter().find_map(|key| it.get(*key)).unwrap_or(&Value::Null),
            Api::Responses | Api::Messages => &Value::Null,
        };
        let name = [it.get("name"), of.get("name")].into_iter().flatten().find_map(Value::as_str);
        let name = name.map(|name| full_name(it.get("namespace").and_then(Value::as_str), name).into_owned());
        let kind = it.get("type").and_then(Value::as_str).map(str::to_owned);
        name.into_iter().chain(kind).collect::<Vec<_>>()
    };
    let stays = |it: &Map<String, Value>| named(it).iter().all(&keep);
    let lists = match api {
        Api::Chat => choice.get_mut("allowed_tools").and_then(|allowed| allowed.get_mut("tools")),
        Api::Responses | Api::Messages => choice.get_mut("tools"),
    };
    let is_empty = match lists {
        Some(Value::Array(tools)) => {
            tools.retain(|it| it.as_object().is_none_or(stays));
            tools.is_empty()
        }
        _ => false,
    };
    let Some(Value::Object(choice)) = body.get("tool_choice") else { return };
    if is_empty || !stays(choice) {
        body.shift_remove("tool_choice");
    }
}
