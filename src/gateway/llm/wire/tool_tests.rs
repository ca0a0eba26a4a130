//! Tools in whatever form they come, calls of them, and what of an answer goes on that nobody judges.

use super::call::CallKind;
use super::sse::Events;
use super::{Api, Assembler, Kind, ModelCall, Told};
use serde_json::{Value, json};

fn names(api: Api, body: &Value) -> Vec<String> {
    api.read(body).unwrap().tools.into_iter().map(|it| it.name).collect()
}

#[test]
fn the_items_of_an_answer_are_those_that_a_client_sends_back() {
    let calls = [ModelCall::new("a", "look", json!({"order": "o-7"}).as_object().cloned())];
    for api in [Api::Chat, Api::Responses, Api::Messages] {
        let mut whole = api.made("1", "small-1", 7, "I look.");
        api.dress(&mut whole, None, &calls);
        let mut body = json!({"model": "small-1", "max_tokens": 9, "messages": [], "input": []});
        api.append(&mut body, &whole);
        let read = api.read(&body).unwrap().items;
        assert!(read.iter().any(|item| item.text() == "I look."), "{read:?}");
        assert_eq!(api.items(&whole), read, "{api:?}");
    }
}

#[test]
fn a_search_for_tools_is_a_call_where_the_client_carries_it_out() {
    let function = |name: &str| json!({"type": "function", "name": name, "parameters": {"type": "object"}});
    let search = |execution: &str| json!({"type": "tool_search_call", "call_id": "a", "execution": execution, "arguments": {"query": "pay"}});
    let found = |execution: &str| {
        json!({"type": "tool_search_output", "call_id": "a", "execution": execution,
            "tools": [function("refund"), {"type": "namespace", "name": "shop", "tools": [function("drop")]}]})
    };
    for (execution, is_call) in [("client", true), ("server", false), ("Client", true)] {
        let whole =
            json!({"id": "r", "status": "completed", "output": [search(execution), found(execution)]});
        let mut read = whole.clone();
        assert_eq!(Api::Responses.decode(&mut read, false, || "made".to_owned()), Ok(Vec::new()));
        let calls = Api::Responses.answer(&read).calls;
        assert_eq!(calls.len(), usize::from(is_call), "{execution}");
        if let Some(call) = calls.first() {
            assert_eq!((&*call.function(), call.kind), ("tool_search", CallKind::Search));
            let arguments = json!({"query": "look"}).as_object().cloned();
            let changed = [ModelCall { arguments, ..call.clone() }];
            Api::Responses.dress(&mut read, None, &changed);
            assert_eq!(read["output"][0]["arguments"], json!({"query": "look"}));
            Api::Responses.dress(&mut read, None, &[]);
            assert_eq!(read["output"][0]["type"], "tool_search_output", "a call that is refused goes");
        }
        let mut body = json!({"model": "m", "input": [search(execution), found(execution)],
            "tools": [function("look"), {"type": "tool_search", "execution": execution, "parameters": {}}]});
        let read = Api::Responses.read(&body).unwrap();
        assert_eq!(read.unseen, Vec::<String>::new());
        let kinds = read.items.iter().filter(|item| !matches!(item.kind, Kind::System)).count();
        assert_eq!(kinds, if is_call { 2 } else { 0 });
        let is_offered = execution == "client";
        let all = ["refund", "shop__drop", "look", "tool_search"];
        assert_eq!(names(Api::Responses, &body), all[..if is_offered { 4 } else { 3 }]);
        Api::Responses.keep_tools(&mut body, |name| name == "look");
        assert_eq!(names(Api::Responses, &body), ["look"]);
        assert_eq!(body["input"][1]["tools"], json!([]), "a search has an output, though nothing is found");
        assert_eq!(body["tools"].as_array().unwrap().len(), if is_offered { 1 } else { 2 });
    }
    let mut body = json!({"model": "m", "input": []});
    let call =
        ModelCall { kind: CallKind::Search, ..ModelCall::new("a", "tool_search", Some(Default::default())) };
    Api::Responses.tell(&mut body, &[Told { call, text: "No.".into(), failed: true }]);
    assert_eq!(Api::Responses.read(&body).unwrap().unseen, Vec::<String>::new());
}

#[test]
fn the_tools_of_a_toolset_are_functions_of_its_name() {
    let mut body = json!({"model": "m", "max_tokens": 9, "messages": [], "tools": [
        {"type": "browser_toolset_20260801", "configs": {"zoom": {"enabled": false}, "find": null}},
        {"type": "computer_toolset_20260801"}
    ]});
    let offered = names(Api::Messages, &body);
    assert_eq!(offered.len(), 47, "{offered:?}");
    assert!(
        offered.iter().any(|name| name == "computer__zoom")
            && !offered.iter().any(|name| name == "browser__zoom")
    );
    let gone =
        Api::Messages.keep_tools(&mut body, |name| ["browser__navigate", "browser__find"].contains(&name));
    assert_eq!(gone.len(), 45);
    assert_eq!(names(Api::Messages, &body), ["browser__find", "browser__navigate"]);
    let tools = body["tools"].as_array().unwrap();
    assert_eq!((tools.len(), &tools[0]["configs"]["left_click"]["enabled"]), (1, &json!(false)), "{body}");
    assert_eq!(Api::Messages.read(&body).unwrap().unseen, Vec::<String>::new());

    let mut whole = json!({"content": [
        {"type": "tool_use", "id": "a", "name": "navigate", "toolset_name": "browser", "input": {"url": "https://example.com"}}
    ]});
    Api::Messages.decode(&mut whole, false, || "made".to_owned()).unwrap();
    let calls = Api::Messages.answer(&whole).calls;
    assert_eq!(calls[0].function(), "browser__navigate");
    let mut other = json!({"content": []});
    Api::Messages.dress(&mut other, None, &calls);
    assert_eq!(other["content"], whole["content"], "a call is written with its toolset");
}

/// The events of a stream, with those that go on ahead of the end, as (early, all).
fn observed(api: Api, events: &[Value], goes_on: bool) -> (String, String) {
    let mut assembler = Assembler::new(api, true);
    let mut early = String::new();
    for event in events {
        assembler.take(event.clone()).unwrap();
        if goes_on {
            early += &assembler.more();
        }
    }
    let (whole, sent) = assembler.finish().unwrap();
    let rest = api.events(&whole, sent, true);
    (early.clone(), early + &rest)
}

#[test]
fn observed_events_that_no_table_has_go_on_once_behind_the_beginning() {
    let chunk = |choices: Value| json!({"id": "c", "object": "chat.completion.chunk", "choices": choices});
    let said = |text: &str| chunk(json!([{"index": 0, "delta": {"content": text}, "finish_reason": null}]));
    let end = chunk(json!([{"index": 0, "delta": {}, "finish_reason": "stop"}]));
    let response = json!({"id": "r", "status": "completed", "output": []});
    let message = json!({"id": "m", "type": "message", "role": "assistant", "content": []});
    let started = json!({"type": "message_start", "message": message});
    let block =
        json!({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}});
    let stopped = json!({"type": "message_stop"});
    let created = json!({"type": "response.created", "response": response});
    let completed = json!({"type": "response.completed", "response": response});
    for (api, events, first) in [
        (
            Api::Messages,
            vec![started.clone(), json!({"type": "new", "note": "new-1"}), stopped.clone()],
            "message_start",
        ),
        (
            Api::Messages,
            vec![json!({"type": "new", "note": "new-1"}), started.clone(), stopped.clone()],
            "message_start",
        ),
        (
            Api::Messages,
            vec![
                started,
                block,
                json!({"type": "content_block_delta", "index": 0, "delta": {"type": "new_delta", "text": "new-1"}}),
                stopped,
            ],
            "message_start",
        ),
        (
            Api::Responses,
            vec![created, json!({"type": "response.new", "note": "new-1"}), completed],
            "response.created",
        ),
        (
            Api::Chat,
            vec![said("Hi."), chunk(json!([{"index": 1, "delta": {"content": "new-1"}}])), end.clone()],
            "\"role\"",
        ),
        (
            Api::Chat,
            vec![chunk(json!([{"index": 0, "delta": {"content": "Hi.", "new": {"note": "new-1"}}}])), end],
            "\"role\"",
        ),
    ] {
        for goes_on in [true, false] {
            let (early, all) = observed(api, &events, goes_on);
            let shown = format!("{events:?}: {all}");
            assert_eq!(early.contains("new-1"), goes_on, "{shown}");
            assert_eq!(all.matches("new-1").count(), 1, "{shown}");
            assert!(all.find(first).unwrap() < all.find("new-1").unwrap(), "{shown}");
            assert!(all.matches("Hi.").count() <= 1, "{shown}");
            let mut reader = Events::default();
            reader.take(all.as_bytes()).unwrap();
            while let Some(event) = reader.next().filter(|event| event != "[DONE]") {
                serde_json::from_str::<Value>(&event).unwrap();
            }
        }
    }
}
