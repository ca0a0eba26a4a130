//! A request and an answer in the words of rules around calls of the model, and back.
//!
//! In: a request, or an answer. Out: what `model-before` and `model-after` take. What a policy makes of it goes back into the very
//! places it came from: each message says by a mark under `other` which item it is. What has no such place (messages that a policy
//! adds, removes or reorders) cannot be said in the client's own request, and is refused.

use super::inbound::as_text;
use super::memory::Judged;
use super::messages;
use super::wire::{Answer, Api, Conversation, Item, Kind, ModelCall, put_alone};
use serde_json::{Map, Value, json};

/// Options of requests that rules see as `parameters`.
const PARAMETERS: [&str; 10] = [
    "temperature",
    "top_p",
    "top_k",
    "max_tokens",
    "max_completion_tokens",
    "max_output_tokens",
    "seed",
    "presence_penalty",
    "frequency_penalty",
    "reasoning_effort",
];

/// Where a message says which item it is.
const MARK: &str = "item";

/// What is sent.
pub(crate) fn request(body: &Value, conversation: &Conversation) -> Value {
    let said = conversation.items.iter().enumerate();
    let said = said.filter(|(_, item)| item.kind != Kind::System || !item.texts.is_empty());
    let message =
        |(at, item): (usize, &Item)| json!({"role": role(item), "text": item.text(), "other": {MARK: at}});
    let parameters = PARAMETERS.iter().filter_map(|key| Some(((*key).to_owned(), body.get(key)?.clone())));
    let parameters: Map<String, Value> = parameters.filter(|(_, value)| !value.is_null()).collect();
    let tools: Vec<&str> = conversation.tools.iter().map(|tool| &*tool.name).collect();
    json!({
        "model": conversation.model, "messages": said.map(message).collect::<Vec<_>>(), "tools": tools,
        "parameters": parameters
    })
}

fn role(item: &Item) -> &'static str {
    match item.kind {
        Kind::System => "system",
        Kind::User => "user",
        Kind::Assistant(_) => "assistant",
        Kind::Result { .. } => "tool",
    }
}

/// Puts what a policy made of a request into the body.
///
/// # Errors
/// What the body cannot say.
pub(crate) fn put_request(
    api: Api,
    body: &mut Value,
    conversation: &Conversation,
    value: &Value,
) -> Result<(), &'static str> {
    let sent = request(body, conversation);
    let both =
        [&sent, value].map(|it| it.get("messages").and_then(Value::as_array).map_or(&[][..], Vec::as_slice));
    let [before, after] = both;
    let marks = |messages: &[Value]| -> Vec<(Value, Value)> {
        let pick = |it: &Value, at: &str| it.pointer(at).cloned().unwrap_or_default();
        messages.iter().map(|it| (pick(it, "/other/item"), pick(it, "/role"))).collect()
    };
    if marks(before) != marks(after) {
        return Err(messages::misshapen_transform());
    }
    for (before, after) in before.iter().zip(after) {
        let at =
            before.pointer("/other/item").and_then(Value::as_u64).and_then(|at| usize::try_from(at).ok());
        let item = at.and_then(|at| conversation.items.get(at));
        if let (Some(item), Some(text)) = (item, after.get("text").and_then(Value::as_str))
            && before.get("text") != after.get("text")
        {
            put_judged(body, item, &Judged::Changed(vec![text.to_owned()]));
        }
    }
    if sent.get("tools") != value.get("tools") {
        let kept: Vec<&str> = value
            .get("tools")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .collect();
        api.keep_tools(body, |name| kept.contains(&name));
    }
    let Some(members) = body.as_object_mut() else { return Ok(()) };
    for (key, value) in value.get("parameters").and_then(Value::as_object).into_iter().flatten() {
        if PARAMETERS.contains(&key.as_str()) {
            members.insert(key.clone(), value.clone());
        }
    }
    if let Some(model) = value.get("model") {
        members.insert("model".to_owned(), model.clone());
    }
    Ok(())
}

/// Puts what became of an item into the body.
pub(crate) fn put_judged(body: &mut Value, item: &Item, judged: &Judged) {
    // an empty text is none of a message's
    let some =
        |text: &str| if text.is_empty() { messages::withheld_input().to_owned() } else { text.to_owned() };
    match judged {
        Judged::AsItCame => {}
        Judged::Changed(texts) if texts.len() == item.texts.len() => {
            for (place, text) in item.texts.iter().zip(texts) {
                place.put(body, &some(text));
            }
        }
        Judged::Changed(texts) => put_alone(body, item, &some(&texts.join("\n"))),
        Judged::Withheld(_) if !matches!(item.kind, Kind::Result { .. }) => {
            put_alone(body, item, messages::withheld_input());
        }
        Judged::Withheld(text) => put_alone(body, item, &some(text)),
    }
}

/// What came back.
pub(crate) fn answer(answer: &Answer) -> Value {
    let call =
        |call: &ModelCall| json!({"id": call.key, "name": call.function(), "arguments": call.arguments});
    let calls: Vec<Value> = answer.calls.iter().filter(|call| call.arguments.is_some()).map(call).collect();
    let usage = json!({"prompt_tokens": answer.usage.prompt, "completion_tokens": answer.usage.completion});
    let mut said = json!({"text": answer.text, "tool_calls": calls, "usage": usage});
    if let (Some(said), Some(finish)) = (said.as_object_mut(), &answer.finish) {
        said.insert("finish_reason".to_owned(), json!(finish));
    }
    said
}

/// Puts what a policy made of an answer into it.
///
/// # Errors
/// Calls that the model did not make.
pub(crate) fn put_answer(
    api: Api,
    whole: &mut Value,
    answer: &Answer,
    value: &Value,
) -> Result<(), &'static str> {
    let text = value.get("text").map(as_text).unwrap_or_default();
    let kept = value.get("tool_calls").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    let made = |kept: &Value| {
        let of = |call: &&ModelCall| kept.get("id").is_some_and(|id| *id == call.key);
        let call = answer
            .calls
            .iter()
            .find(of)
            .filter(|call| kept.get("name").is_some_and(|it| *it == *call.function()));
        let arguments = kept.get("arguments").and_then(Value::as_object).cloned();
        call.map(|call| ModelCall { arguments, ..call.clone() }).ok_or(messages::misshapen_transform())
    };
    let mut calls = kept.iter().map(made).collect::<Result<Vec<_>, _>>()?;
    // what is no JSON was not shown to the rules, and is refused by itself
    calls.extend(answer.calls.iter().filter(|call| call.arguments.is_none()).cloned());
    if text != answer.text || calls != answer.calls {
        api.dress(whole, (text != answer.text).then_some(&*text), &calls);
    }
    Ok(())
}
