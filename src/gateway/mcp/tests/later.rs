//! Tasks: calls whose results come later, in both forms.

use super::fixture::{Both, KEY, modern, text, tool};
use serde_json::{Value, json};

fn task(id: &str, status: &str) -> Value {
    json!({ "taskId": id, "status": status, "statusMessage": KEY, "createdAt": "2026-01-01T00:00:00Z", "lastUpdatedAt": "2026-01-01T00:00:00Z", "ttl": null, "x": KEY })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_task_of_2025_is_judged_by_the_call_that_created_it() {
    let mut both = Both::begin();
    let params = json!({ "name": "find", "arguments": {}, "task": { "ttl": 5 } });
    both.request(1, "tools/call", params.clone()).await;
    let request = both.at_server().await;
    assert_eq!(request["params"]["task"], json!({ "ttl": 5 }));
    both.answer(&request, json!({ "task": task("t", "working"), "content": text(KEY)["content"] })).await;
    let handle = both.at_client().await["result"].clone();
    assert_eq!(handle["task"]["taskId"], "t");
    assert!(!handle.to_string().contains(KEY) && handle["task"]["ttl"].is_null(), "{handle}");
    assert!(handle.get("content").is_none());

    // a second call under the same name, and tasks that no call has created
    both.request(2, "tools/call", params).await;
    let request = both.at_server().await;
    both.answer(&request, json!({ "task": task("t", "working") })).await;
    assert_eq!(both.at_client().await["result"]["isError"], true);
    for method in ["tasks/get", "tasks/result", "tasks/cancel"] {
        both.request(3, method, json!({ "taskId": "other" })).await;
        assert_eq!(both.at_client().await["error"]["code"], -32_602, "{method}");
    }

    both.request(4, "tasks/list", json!({})).await;
    let request = both.at_server().await;
    both.answer(&request, json!({ "tasks": [task("t", "working"), task("other", "working")] })).await;
    let listed = both.at_client().await["result"].clone();
    assert_eq!(listed["tasks"].as_array().unwrap().len(), 1, "{listed}");
    both.server(json!({ "method": "notifications/tasks/status", "params": task("other", "completed") }))
        .await;
    both.server(json!({ "method": "notifications/tasks/status", "params": task("t", "completed") })).await;
    let told = both.at_client().await;
    assert_eq!((&told["params"]["taskId"], told["params"].get("statusMessage")), (&json!("t"), None));

    both.request(5, "tasks/get", json!({ "taskId": "t" })).await;
    let request = both.at_server().await;
    let mut whole = task("t", "completed");
    whole["content"] = text(KEY)["content"].clone();
    both.answer(&request, whole).await;
    assert!(!both.at_client().await.to_string().contains(KEY));
    for _ in 0..2 {
        both.request(6, "tasks/result", json!({ "taskId": "t" })).await;
        let request = both.at_server().await;
        both.answer(&request, text(KEY)).await;
        let told = both.at_client().await["result"].clone();
        assert!(told["content"][0]["text"].is_string() && !told.to_string().contains(KEY), "{told}");
    }
    both.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_task_of_the_extension_is_judged_by_the_call_that_created_it() {
    let mut both = Both::begin();
    both.request(1, "tools/call", json!({ "name": "find", "arguments": {}, "_meta": modern() })).await;
    let request = both.at_server().await;
    let flat = |status: &str, more: Value| {
        let mut task = json!({ "resultType": "task", "taskId": "t", "status": status, "ttlMs": null, "statusMessage": KEY });
        task.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        task
    };
    both.answer(&request, flat("working", json!({ "result": text(KEY), "content": text(KEY)["content"] })))
        .await;
    assert_eq!(
        both.at_client().await["result"],
        json!({ "resultType": "task", "taskId": "t", "status": "working", "ttlMs": null })
    );
    let get = json!({ "taskId": "t", "_meta": modern() });
    let form = |message: &str| json!({ "method": "elicitation/create", "params": { "message": message, "requestedSchema": { "type": "object", "properties": {} } } });

    // its questions are judged, each once, and so are the answers
    for _ in 0..2 {
        both.request(2, "tasks/get", get.clone()).await;
        let request = both.at_server().await;
        let asks = flat(
            "input_required",
            json!({ "resultType": "complete", "inputRequests": { "q": form("Name?") } }),
        );
        both.answer(&request, asks).await;
        assert_eq!(both.at_client().await["result"]["inputRequests"], json!({ "q": form("Name?") }));
    }
    for (answers, goes_on) in [
        (json!({ "other": { "action": "accept" } }), false),
        (json!({ "q": { "action": "accept", "content": { "n": KEY } } }), true),
        (json!({ "q": { "action": "accept" } }), false),
    ] {
        both.request(
            3,
            "tasks/update",
            json!({ "taskId": "t", "inputResponses": answers, "_meta": modern() }),
        )
        .await;
        if goes_on {
            let request = both.at_server().await;
            assert!(!request.to_string().contains(KEY), "{request}");
            both.answer(&request, json!({ "resultType": "complete", "x": KEY })).await;
            assert_eq!(both.at_client().await["result"], json!({ "resultType": "complete" }));
        } else {
            assert_eq!(both.at_client().await["error"]["code"], -32_602);
        }
    }
    // another task, and the result
    both.request(4, "tasks/get", get.clone()).await;
    let request = both.at_server().await;
    both.answer(&request, json!({ "taskId": "other", "status": "completed", "result": text(KEY) })).await;
    assert!(both.at_client().await["error"]["code"].is_i64());
    let done = flat("completed", json!({ "resultType": "complete", "result": text(KEY) }));
    both.server(json!({ "method": "notifications/tasks", "params": done })).await;
    let told = both.at_client().await["params"].clone();
    assert!(told["result"]["content"][0]["text"].is_string() && !told.to_string().contains(KEY), "{told}");
    both.request(5, "tasks/get", get).await;
    let request = both.at_server().await;
    both.answer(&request, done).await;
    let told = both.at_client().await["result"].clone();
    assert_eq!((&told["status"], &told["resultType"]), (&json!("completed"), &json!("complete")));
    assert!(told["result"]["content"][0]["text"].is_string() && !told.to_string().contains(KEY), "{told}");
    both.end().await;
}

/// A handle goes on only for a call that allows a task.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_handle_is_withheld_where_no_task_was_asked_for() {
    let mut both = Both::begin();
    let plain = json!({ "io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {} });
    let flat = json!({ "resultType": "task", "taskId": "t", "status": "working" });
    for (params, result) in [
        (json!({ "name": "find" }), json!({ "task": task("t", "working"), "content": text(KEY)["content"] })),
        (json!({ "name": "find" }), flat.clone()),
        (json!({ "name": "find", "task": {} }), flat.clone()),
        (json!({ "name": "find", "_meta": plain }), flat),
        (
            json!({ "name": "find", "_meta": modern() }),
            json!({ "resultType": "complete", "task": task("t", "working") }),
        ),
    ] {
        both.request(1, "tools/call", params.clone()).await;
        let request = both.at_server().await;
        both.answer(&request, result).await;
        let told = both.at_client().await["result"].clone();
        assert!(told["isError"] == true && !told.to_string().contains(KEY), "{params}: {told}");
        both.request(2, "tasks/get", json!({ "taskId": "t" })).await;
        assert!(both.at_client().await["error"].is_object());
    }
    both.end().await;
}

/// A task whose result is under review works on for its client, which then gets the result, or the denial.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_result_under_review_comes_with_its_answer() {
    let completed =
        json!({ "resultType": "complete", "taskId": "t", "status": "completed", "result": text(KEY) });
    let failed = json!({ "resultType": "complete", "taskId": "t", "status": "failed", "error": { "code": -5, "message": KEY } });
    for (answer, approves) in [(&completed, true), (&completed, false), (&failed, true), (&failed, false)] {
        let mut both = Both::begin();
        both.tools = vec![tool("sign")];
        both.request(1, "tools/call", json!({ "name": "sign", "_meta": modern() })).await;
        let request = both.at_server().await;
        both.answer(&request, json!({ "resultType": "task", "taskId": "t", "status": "working" })).await;
        assert_eq!(both.at_client().await["result"]["status"], "working");
        let mut other = answer.clone();
        for round in 0..4 {
            both.request(2, "tasks/get", json!({ "taskId": "t", "_meta": modern() })).await;
            let request = both.at_server().await;
            both.answer(&request, other.clone()).await;
            let told = both.at_client().await["result"].clone();
            assert!(!told.to_string().contains(KEY), "{told}");
            if round < 2 {
                assert_eq!(told, json!({ "resultType": "complete", "taskId": "t", "status": "working" }));
            } else if approves {
                let said = told.pointer("/result/content/0/text").or_else(|| told.pointer("/error/message"));
                assert_eq!(said, Some(&json!("[aws_access_key]")), "{told}");
                assert_eq!(told["status"], answer["status"]);
            } else {
                assert_eq!(told["result"]["content"][0]["text"], "The boss says no.", "{told}");
                assert_eq!(
                    (&told["status"], &told["result"]["isError"]),
                    (&json!("completed"), &json!(true))
                );
            }
            if round == 1 {
                both.review(approves).await;
                // what the server says later is not what was reviewed
                other = json!({ "resultType": "complete", "taskId": "t", "status": "completed", "result": text("other") });
                if answer["status"] == "failed" {
                    other = failed.clone();
                }
            }
        }
        both.end().await;
    }
}

/// `tasks/result` of 2025-11-25 is answered with what to do, and with the result once it is reviewed.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_result_of_2025_under_review_is_asked_for_again() {
    let mut both = Both::begin();
    both.tools = vec![tool("sign")];
    both.request(1, "tools/call", json!({ "name": "sign", "arguments": {}, "task": {} })).await;
    let request = both.at_server().await;
    both.answer(&request, json!({ "task": task("t", "working") })).await;
    both.at_client().await;
    for (round, reviewed) in [false, false, true, true].into_iter().enumerate() {
        if round == 2 {
            both.review(true).await;
        }
        both.request(2, "tasks/result", json!({ "taskId": "t" })).await;
        let request = both.at_server().await;
        both.answer(&request, text("signed")).await;
        let told = both.at_client().await["result"].clone();
        assert_eq!(told["isError"] == true, !reviewed, "{told}");
        assert_eq!(told["content"][0]["text"] == "signed", reviewed, "{told}");
    }
    both.end().await;
}
