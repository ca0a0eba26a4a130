//! The tools of a request, wherever it has them: read, taken out, and those that the vendor runs told from the client's.

use super::call::{SEARCH, full_name};
use super::conversation::Tool;
use super::forms::messages_tools::TOOLSETS;
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

/// Items of a request that bring tools into the conversation.
const LISTS: [&str; 2] = ["additional_tools", "tool_search_output"];

/// Whether a tool is OpenAI's search among the tools of the request: it is carried out there, and offers nothing of its own.
fn is_search_of_vendor(it: &Value) -> bool {
    is_type(it, SEARCH) && it.get("execution").is_none_or(|it| it != "client")
}

pub(super) fn of_responses(body: &Value) -> Vec<Tool> {
    let items = array(body, "input").iter().filter(|item| LISTS.iter().any(|kind| is_type(item, kind)));
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
        SEARCH if !is_search_of_vendor(it) => Some(tool(SEARCH, it, it.get("parameters"))),
        _ => None,
    }
}

pub(super) fn of_messages(body: &Value) -> Vec<Tool> {
    let blocks = array(body, "messages").iter().flat_map(|message| array(message, "content"));
    let added = blocks.filter(|block| is_type(block, "tool_addition"));
    let added = added.filter_map(|block| block.pointer("/tool/definition"));
    let all = array(body, "tools").iter().chain(added);
    let mut tools = Vec::new();
    for it in all.filter(|it| !is_hosted(Api::Messages, it)) {
        match toolset(it) {
            Some((name, members)) => tools.extend(
                members
                    .iter()
                    .filter(|member| is_enabled(it, member))
                    .map(|member| tool(&full_name(Some(name), member), &Value::Null, None)),
            ),
            None => tools.push(tool(text_of(it, "name"), it, it.get("input_schema"))),
        }
    }
    tools
}

/// The family and the members of one of Anthropic's toolsets.
fn toolset(it: &Value) -> Option<(&'static str, &'static [&'static str])> {
    let sets = TOOLSETS.iter().find(|(kind, ..)| is_type(it, kind));
    sets.map(|(_, name, members)| (*name, *members))
}

/// Whether a request offers a member of a toolset.
fn is_enabled(toolset: &Value, member: &str) -> bool {
    let enabled = toolset.get("configs").and_then(|it| it.get(member)?.get("enabled"));
    enabled.is_none_or(|it| *it != Value::Bool(false))
}

/// Leaves the members of a toolset that pass a test; whether one is left.
fn keep_members(toolset: &mut Value, members: &[&str], mut test: impl FnMut(&str) -> bool) -> bool {
    let mut is_left = false;
    for member in members {
        if !is_enabled(toolset, member) {
            continue;
        }
        if test(member) {
            is_left = true;
        } else if let Some(set) = toolset.as_object_mut() {
            let configs = set.entry("configs").or_insert_with(|| json!({}));
            if configs.is_null() {
                *configs = json!({});
            }
            let config = configs.as_object_mut().map(|it| it.entry(*member).or_insert_with(|| json!({})));
            if let Some(config) = config {
                if config.is_null() {
                    *config = json!({});
                }
                config.as_object_mut().map(|it| it.insert("enabled".to_owned(), json!(false)));
            }
        }
    }
    is_left
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
        Api::Responses if is_type(it, SEARCH) => return SEARCH,
        Api::Responses | Api::Messages => it,
    };
    text_of(of, "name")
}

/// Takes tools out, and says which.
pub(super) fn keep(api: Api, body: &mut Value, keep: &impl Fn(&str) -> bool) -> Vec<String> {
    let mut gone = Vec::new();
    retain(api, body, &mut |namespace, it| {
        let name = full_name(namespace, name_of(api, it));
        let is_search = api == Api::Responses && is_search_of_vendor(it);
        let stays = is_hosted(api, it) || is_search || keep(&name);
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
            match toolset(it) {
                Some((name, members)) if api == Api::Messages => {
                    keep_members(it, members, |member| test(Some(name), &json!({"name": member})))
                }
                _ => test(None, it),
            }
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
                    if !LISTS.iter().any(|kind| is_type(item, kind)) {
                        return true;
                    }
                    let tools = item.get_mut("tools").and_then(Value::as_array_mut);
                    let is_empty = tools.is_some_and(&mut list);
                    // a search has an output, though nothing is found
                    !is_empty || is_type(item, "tool_search_output")
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
