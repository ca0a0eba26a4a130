//! Calls of tools, resources and prompts, questions of the server, and reviews.

use super::fixture::{Both, KEY, Options, modern, text, tool};
use serde_json::{Value, json};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn calls_are_decided_on_both_ways() {
    let mut both = Both::begin();
    for (id, name, arguments) in
        [(1, "pay", json!({ "amount": 200 })), (2, "danger", json!({})), (3, "nothing", json!({}))]
    {
        both.call(id, name, arguments).await;
        let refused = both.at_client().await;
        assert_eq!((&refused["id"], &refused["result"]["isError"]), (&json!(id), &json!(true)), "{name}");
    }
    // a number that rules would read as another one
    both.call(4, "find", json!({ "amount": 12_345_678_901_234_567_891_u64 })).await;
    assert_eq!(both.at_client().await["result"]["isError"], true);
    let wide = json!({ "content": [], "structuredContent": { "n": 12_345_678_901_234_567_891_u64 } });
    assert_eq!(both.result_of("find", wide).await["result"]["isError"], true);
    both.call("5", "pay", json!({ "amount": 20 })).await;
    let at_server = both.at_server().await;
    assert_eq!(at_server["params"]["arguments"], json!({ "amount": 20, "note": "checked" }));
    both.answer(&at_server, text("paid")).await;
    assert_eq!(both.at_client().await, json!({ "jsonrpc": "2.0", "id": "5", "result": text("paid") }));

    both.request(6, "resources/read", json!({ "uri": "file:///a" })).await;
    let read = both.at_server().await;
    both.answer(&read, json!({ "contents": [{ "uri": "file:///a", "text": KEY }] })).await;
    assert!(!both.at_client().await.to_string().contains(KEY));
    both.end().await;
}

/// Results, and what the client gets of them. The policy redacts keys.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_result_is_written_from_what_was_judged() {
    let structured = json!({
        "content": [{ "type": "text", "text": "a summary" }, { "type": "image", "data": "aa", "mimeType": "image/png" }],
        "structuredContent": { "n": 1 },
    });
    let cases = [
        (text("plain"), text("plain")),
        (structured.clone(), structured),
        // members and blocks that the protocol does not define are dropped
        (
            json!({ "content": [{ "type": "text", "text": "a", "x": KEY, "_meta": { "k": KEY } }, { "type": "video", "data": KEY }],
                "toolResult": KEY, "_meta": { "k": KEY, "com.example/kept": 1 } }),
            json!({ "content": [{ "type": "text", "text": "a" }], "_meta": { "com.example/kept": 1 } }),
        ),
        (json!({ "content": [], "isError": true }), json!({ "content": [], "isError": true })),
        // numbers are exact
        (
            json!({ "content": [], "structuredContent": { "n": 1_234_567_890_123_456_789_u64 } }),
            json!({ "content": [], "structuredContent": { "n": 1_234_567_890_123_456_789_u64 } }),
        ),
    ];
    let mut both = Both::begin();
    for (result, expected) in cases {
        let told = both.result_of("find", result.clone()).await;
        assert_eq!(told["result"].to_string(), expected.to_string(), "{result}");
    }
    both.end().await;
}

/// Structured content that does not fit its schema is an error with the reason as text.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_result_that_is_withheld_is_an_error() {
    let mut both = Both::begin();
    both.tools[1]["outputSchema"] = json!({ "type": "object", "properties": { "n": { "type": "integer" } }, "required": ["n"], "additionalProperties": false });
    let fitting = json!({ "content": [{ "type": "text", "text": "one" }], "structuredContent": { "n": 1 } });
    assert_eq!(both.result_of("find", fitting.clone()).await["result"], fitting);
    let told = both.result_of("find", json!({ "content": [], "structuredContent": { "n": "x" } })).await;
    assert_eq!(told["result"]["isError"], true);
    assert!(told["result"].get("structuredContent").is_none(), "{told}");
    assert!(told["result"]["content"][0]["text"].as_str().unwrap().contains("withheld"), "{told}");
    both.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_error_has_a_code_and_a_judged_message() {
    let mut both = Both::begin();
    both.call(1, "find", json!({})).await;
    let request = both.at_server().await;
    let error = json!({ "code": -5, "message": format!("no {KEY}"), "data": { "key": KEY } });
    both.server(json!({ "id": request["id"], "error": error })).await;
    let told = both.at_client().await;
    assert_eq!(told["error"]["code"], -5);
    assert!(told["error"].get("data").is_none() && !told.to_string().contains(KEY), "{told}");
    both.end().await;
}

/// A call that is taken back is taken back at the server, with the client's reason, and its late result is dropped.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cancelled_call_is_taken_back() {
    let mut both = Both::begin();
    both.call(1, "pay", json!({ "amount": 20 })).await;
    let request = both.at_server().await;
    both.client(
        json!({ "method": "notifications/cancelled", "params": { "requestId": 1.0, "reason": "escape" } }),
    )
    .await;
    let cancelled = both.at_server().await;
    assert_eq!(cancelled["params"], json!({ "requestId": request["id"], "reason": "escape" }));
    both.answer(&request, text("late")).await;
    both.nothing_for_client().await;
    both.call(2, "pay", json!({ "amount": 30 })).await;
    let request = both.at_server().await;
    both.answer(&request, text("paid")).await;
    assert_eq!(both.at_client().await["result"], text("paid"));
    both.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn progress_goes_to_the_request_that_asked_for_it() {
    let mut both = Both::begin();
    let params = json!({ "name": "find", "arguments": {}, "_meta": { "progressToken": "mine", "x": 1 } });
    both.request(1, "tools/call", params).await;
    let request = both.at_server().await;
    let token = &request["params"]["_meta"]["progressToken"];
    assert!(token != "mine" && request["params"]["_meta"].get("x").is_none());
    let progress = |token: &Value| json!({ "method": "notifications/progress", "params": { "progressToken": token, "progress": 1 } });
    both.server(progress(token)).await;
    assert_eq!(both.at_client().await["params"], json!({ "progressToken": "mine", "progress": 1 }));
    both.server(progress(&json!("mine"))).await;
    both.nothing_for_client().await;
    both.answer(&request, text("x")).await;
    both.at_client().await;
    both.server(progress(token)).await;
    both.nothing_for_client().await;
    both.end().await;
}

/// Questions of a server are judged, and so are the answers.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn questions_of_the_server_are_operations() {
    let mut both = Both::begin();
    let form = |message: &str| json!({ "message": message, "requestedSchema": { "type": "object", "properties": {} } });
    both.server(json!({ "id": 1, "method": "elicitation/create", "params": form("Do you like cookies?") }))
        .await;
    let refused = both.at_server().await;
    assert_eq!((&refused["id"], &refused["error"]["code"]), (&json!(1), &json!(-32_001)));
    assert!(!refused.to_string().contains("No cookies"), "{refused}");

    both.server(json!({ "id": 1, "method": "elicitation/create", "params": form("Your name?") })).await;
    let asked = both.at_client().await;
    assert_eq!(asked["params"], form("Your name?"));
    both.client(
        json!({ "id": asked["id"], "result": { "action": "accept", "content": { "name": KEY }, "x": 1 } }),
    )
    .await;
    let answer = both.at_server().await;
    assert_eq!((&answer["id"], &answer["result"]["action"]), (&json!(1), &json!("accept")));
    assert!(!answer.to_string().contains(KEY) && answer["result"].get("x").is_none(), "{answer}");
    // a second answer has no question
    both.client(json!({ "id": asked["id"], "result": { "action": "accept" } })).await;
    both.nothing_for_server().await;
    both.end().await;
}

/// A client of a protocol without requests of servers is asked in the answer, and says what its user said with the call made again.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_user_is_asked_in_the_answer_where_servers_send_no_requests() {
    for (decision, runs) in [("approve", true), ("deny", false)] {
        let mut both = Both::begin();
        let mut params = json!({ "name": "pay", "arguments": { "amount": 60 }, "_meta": modern() });
        both.request(1, "tools/call", params.clone()).await;
        let asked = both.at_client().await["result"].clone();
        assert_eq!(asked["resultType"], "input_required");
        let form = &asked["inputRequests"]["celador"];
        assert_eq!(form["method"], "elicitation/create");
        assert!(form["params"]["message"].as_str().unwrap().contains("\"amount\": 60"), "{form}");

        params["inputResponses"] =
            json!({ "celador": { "action": "accept", "content": { "decision": decision } } });
        params["requestState"] = asked["requestState"].clone();
        both.request(2, "tools/call", params).await;
        if runs {
            let at_server = both.at_server().await;
            let sent = at_server["params"].as_object().unwrap();
            assert_eq!(sent["arguments"]["note"], "checked");
            assert!(
                !sent.contains_key("requestState") && !sent.contains_key("inputResponses"),
                "{at_server}"
            );
            both.answer(&at_server, json!({ "resultType": "complete", "content": [] })).await;
            assert_eq!(both.at_client().await["result"], json!({ "content": [], "resultType": "complete" }));
        } else {
            let refused = both.at_client().await["result"].clone();
            assert_eq!((&refused["isError"], &refused["resultType"]), (&json!(true), &json!("complete")));
        }
        both.end().await;
    }
}

/// The same call goes on where it was, and nothing else does.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_call_that_waits_is_told_what_to_do() {
    let mut both = Both::begin();
    for id in [1, 2] {
        both.call(id, "pay", json!({ "amount": 60 })).await;
        let waits = both.at_client().await;
        let told = waits["result"]["content"][0]["text"].as_str().unwrap();
        assert!(told.contains("waits for the review of `kim`"), "{told}");
    }
    both.call(3, "pay", json!({ "amount": 1 })).await;
    let behind = both.at_client().await;
    assert!(behind["result"]["content"][0]["text"].as_str().unwrap().contains("waits for other calls"));
    both.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn observed_everything_goes_on_as_it_came() {
    let mut both = Both::with(Options { observe: true, ..Options::default() });
    for (id, name, arguments) in [
        (1, "pay", json!({ "amount": 200 })),
        (2, "pay", json!({ "amount": 60 })),
        (3, "hidden\u{200b}", json!({ "amount": 1 })),
        (4, "find", json!({ "amount": 1 })),
    ] {
        both.call(id, name, arguments.clone()).await;
        let request = both.at_server().await;
        assert_eq!(request["params"]["arguments"], arguments, "{name}");
        let result = json!({ "content": [{ "type": "video", "x": KEY }], "toolResult": 1 });
        both.answer(&request, result.clone()).await;
        assert_eq!(both.at_client().await["result"], result, "{name}");
    }
    both.end().await;
}

/// A server that ends leaves no request without an answer.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_ends_ends_the_session() {
    let mut both = Both::begin();
    both.call(1, "pay", json!({ "amount": 20 })).await;
    both.at_server().await;
    assert_eq!(both.lose_server().await["result"]["isError"], true);
}

/// Clients hold structured content to the `outputSchema` of its tool, and fail on what breaks it. What fits or is an error goes on.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_result_that_a_rule_makes_unfitting_is_an_error() {
    let mut both = Both::begin();
    let mut quote = tool("quote");
    quote["outputSchema"] = json!({
        "type": "object",
        "properties": { "total": { "type": "number" }, "status": { "type": "string" } },
        "required": ["total"],
    });
    both.tools = vec![quote];
    let of = |structured: Value| json!({ "content": [], "structuredContent": structured });
    for open in [json!({ "total": 5 }), json!({ "total": 5, "status": "open" })] {
        let told = both.result_of("quote", of(open.clone())).await["result"].clone();
        assert_eq!((&told["structuredContent"], told.get("isError")), (&open, None), "{told}");
    }
    let closed = json!({ "total": 5, "status": "closed" });
    let told = both.result_of("quote", of(closed.clone())).await["result"].clone();
    assert_eq!((&told["isError"], told.get("structuredContent")), (&json!(true), None), "{told}");
    let said = told["content"][0]["text"].as_str().unwrap();
    assert!(said.contains("`output.total`") && !said.contains("hidden"), "{said}");
    // a failure is held to nothing
    let mut failed = of(closed);
    failed["isError"] = json!(true);
    let told = both.result_of("quote", failed).await["result"].clone();
    assert_eq!(
        (&told["isError"], &told["structuredContent"]),
        (&json!(true), &json!({ "total": "hidden" })),
        "{told}"
    );
    both.end().await;
}
