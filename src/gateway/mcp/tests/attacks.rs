//! What a server or a client may try: ids, states and results of other forms.

use super::fixture::{Both, KEY, modern, text};
use serde_json::{Value, json};

/// Responses that belong to no open request, however their ids are spelled, and second responses.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_response_belongs_to_one_open_request() {
    let mut both = Both::begin();
    both.call(7, "find", json!({})).await;
    let request = both.at_server().await;
    let id = request["id"].as_i64().unwrap();
    for other in [
        json!(7),
        json!("7"),
        json!(id.to_string()),
        json!(id.saturating_add(1)),
        json!(0),
        json!("celador-1"),
    ] {
        both.server(json!({ "id": other, "result": text(KEY) })).await;
        both.server(json!({ "id": other, "error": { "code": 1, "message": KEY } })).await;
    }
    both.nothing_for_client().await;
    // an integer is one however it is written
    both.server(json!({ "id": id as f64, "result": text("found") })).await;
    assert_eq!(both.at_client().await, json!({ "jsonrpc": "2.0", "id": 7, "result": text("found") }));
    both.answer(&request, text(KEY)).await;
    both.nothing_for_client().await;
    both.end().await;
}

/// A second request under the id of an open one is dropped, so that its answer is not taken for the other's.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_id_is_open_once() {
    let mut both = Both::begin();
    both.call(7, "find", json!({})).await;
    let request = both.at_server().await;
    both.request(7.0, "ping", json!({})).await;
    both.call(7, "danger", json!({})).await;
    both.nothing_for_server().await;
    both.nothing_for_client().await;
    both.answer(&request, text("found")).await;
    assert_eq!(both.at_client().await["result"], text("found"));
    both.end().await;
}

/// A server cannot see, cancel or answer the guard's question to the user.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_guards_questions_are_out_of_reach_of_the_server() {
    let mut both = Both::begin();
    let hello = json!({ "protocolVersion": "2025-11-25", "capabilities": { "elicitation": {} }, "clientInfo": { "name": "c", "version": "1" } });
    both.request(0, "initialize", hello).await;
    let request = both.at_server().await;
    both.answer(&request, json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "serverInfo": { "name": "s", "version": "1" } })).await;
    both.at_client().await;

    both.call(1, "pay", json!({ "amount": 60 })).await;
    let asked = both.at_client().await;
    assert_eq!(asked["method"], "elicitation/create");
    // even if the server knew the id
    both.server(json!({ "method": "notifications/cancelled", "params": { "requestId": asked["id"] } })).await;
    both.server(
        json!({ "id": asked["id"], "result": { "action": "accept", "content": { "decision": "approve" } } }),
    )
    .await;
    both.nothing_for_client().await;
    let form = json!({ "message": "Tea?", "requestedSchema": { "type": "object", "properties": {} } });
    both.server(json!({ "id": asked["id"], "method": "elicitation/create", "params": form })).await;
    // while a review is open, nothing else is asked
    assert_eq!(both.at_server().await["error"]["code"], -32_001);
    both.client(
        json!({ "id": asked["id"], "result": { "action": "accept", "content": { "decision": "deny" } } }),
    )
    .await;
    let refused = both.at_client().await;
    assert_eq!((&refused["id"], &refused["result"]["isError"]), (&json!(1), &json!(true)), "{refused}");
    both.end().await;
}

/// States that are not those of this call: made up, used, of another function, of other arguments, the server's own.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_state_stands_for_one_call() {
    let mut both = Both::begin();
    let params = |name: &str, arguments: Value, state: &str| json!({ "name": name, "arguments": arguments, "requestState": state, "inputResponses": {}, "_meta": modern() });
    let first = json!({ "name": "find", "arguments": { "note": "a" }, "_meta": modern() });
    for (name, arguments) in [
        ("danger", json!({ "note": "a" })),
        ("find", json!({ "note": "b" })),
        ("pay", json!({ "amount": 99 })),
    ] {
        both.request(1, "tools/call", first.clone()).await;
        let request = both.at_server().await;
        let more = json!({ "resultType": "input_required", "requestState": "find {\"note\":\"a\"}", "content": [{ "type": "text", "text": KEY }] });
        both.answer(&request, more).await;
        let asked = both.at_client().await["result"].clone();
        assert!(
            asked.as_object().unwrap().keys().all(|it| it == "resultType" || it == "requestState"),
            "{asked}"
        );
        let state = asked["requestState"].as_str().unwrap().to_owned();
        for (name, arguments, state) in [
            ("find", json!({ "note": "a" }), "find {\"note\":\"a\"}"),
            (name, arguments, &*state),
            // it is used up by that
            ("find", json!({ "note": "a" }), &*state),
        ] {
            both.request(2, "tools/call", params(name, arguments, state)).await;
            let refused = both.at_client().await;
            assert_eq!(
                (&refused["id"], &refused["result"]["isError"]),
                (&json!(2), &json!(true)),
                "{refused}"
            );
        }
    }
    // answers without a state, and the honest one
    let mut answers = params("find", json!({ "note": "a" }), "");
    answers.as_object_mut().unwrap().remove("requestState");
    both.request(3, "tools/call", answers).await;
    assert_eq!(both.at_client().await["result"]["isError"], true);
    both.request(4, "tools/call", first).await;
    let request = both.at_server().await;
    both.answer(&request, json!({ "resultType": "input_required", "requestState": "the server's" })).await;
    let state = both.at_client().await["result"]["requestState"].as_str().unwrap().to_owned();
    both.request(5, "tools/call", params("find", json!({ "note": "a" }), &state)).await;
    let request = both.at_server().await;
    assert_eq!(request["params"]["requestState"], "the server's");
    both.answer(&request, text("found")).await;
    assert_eq!(both.at_client().await["result"]["content"], text("found")["content"]);
    both.end().await;
}

/// Questions of a result are judged by name, and answers to other questions are refused.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn questions_of_a_result_are_judged() {
    let form = |message: &str| json!({ "method": "elicitation/create", "params": { "message": message, "requestedSchema": { "type": "object", "properties": {} } } });
    let asks = |question: Value| json!({ "resultType": "input_required", "requestState": "s", "inputRequests": { "q": question } });
    let params = json!({ "name": "find", "arguments": {}, "_meta": modern() });
    let mut both = Both::begin();
    for refused in [
        form("Do you like cookies?"),
        json!({ "method": "tools/call" }),
        json!({ "method": "elicitation/create" }),
    ] {
        both.request(1, "tools/call", params.clone()).await;
        let request = both.at_server().await;
        both.answer(&request, asks(refused.clone())).await;
        assert_eq!(both.at_client().await["result"]["isError"], true, "{refused}");
    }
    for (answers, goes_on) in [
        (json!({ "q": { "action": "accept", "content": { "a": KEY }, "x": 1 } }), true),
        (json!({ "other": { "action": "accept" } }), false),
        (json!({ "q": { "action": "whatever" } }), false),
    ] {
        both.request(1, "tools/call", params.clone()).await;
        let request = both.at_server().await;
        both.answer(&request, asks(form("Name?"))).await;
        let asked = both.at_client().await["result"].clone();
        assert_eq!(asked["inputRequests"]["q"], form("Name?"));
        let mut again = params.clone();
        again["requestState"] = asked["requestState"].clone();
        again["inputResponses"] = answers;
        both.request(2, "tools/call", again).await;
        if goes_on {
            let request = both.at_server().await;
            let sent = &request["params"]["inputResponses"]["q"];
            assert!(
                sent["action"] == "accept" && sent.get("x").is_none() && !sent.to_string().contains(KEY),
                "{sent}"
            );
            both.answer(&request, text("x")).await;
            both.at_client().await;
        } else {
            assert_eq!(both.at_client().await["result"]["isError"], true);
        }
    }
    both.end().await;
}

/// Results of kinds that a request does not allow are withheld.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_result_of_another_kind_is_withheld() {
    let mut both = Both::begin();
    let content = text(KEY)["content"].clone();
    for result in [
        json!({ "resultType": "input_required", "content": content }),
        json!({ "resultType": "task", "taskId": "t", "status": "working", "content": content }),
        json!({ "task": { "taskId": "t", "status": "working" }, "content": content }),
        json!({ "resultType": "of-tomorrow", "content": content }),
        json!({ "resultType": 1, "content": content }),
        json!({ "resultType": null, "content": content }),
        json!({ "content": KEY }),
        json!({ "content": { "type": "text", "text": KEY }, "structuredContent": {} }),
        json!({ "content": [{ "type": "text", "text": { "k": KEY } }] }),
    ] {
        let told = both.result_of("find", result.clone()).await;
        assert!(!told.to_string().contains(KEY), "{result}: {told}");
    }
    both.end().await;
}

/// Parameters that are not as the protocol defines them are refused by their place.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn malformed_parameters_are_refused() {
    let mut both = Both::begin();
    for (method, params) in [
        ("tools/call", json!({ "name": 5, "arguments": {} })),
        ("tools/call", json!({ "arguments": {} })),
        ("tools/call", json!({ "name": "find", "arguments": [1] })),
        ("tools/call", json!({ "name": "find", "arguments": "x" })),
        ("resources/read", json!({ "uri": ["file:///a"] })),
        ("prompts/get", json!({ "name": null })),
        (
            "completion/complete",
            json!({ "ref": { "type": "ref/tool", "name": "x" }, "argument": { "name": "a", "value": "b" } }),
        ),
    ] {
        both.request(1, method, params.clone()).await;
        let refused = both.at_client().await;
        assert_eq!(refused["error"]["code"], -32_602, "{method} {params}");
    }
    both.nothing_for_server().await;
    both.end().await;
}
