//! Every row of the table of methods, and a message that has none.

use super::fixture::{Both, Options};
use crate::mcp::methods::{FORMS, Handling, METHODS, Side};
use serde_json::{Value, json};

/// Parameters that each method may have.
fn params(method: &str) -> Value {
    let info = json!({ "name": "n", "version": "1" });
    match method {
        "initialize" => json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": info }),
        "tools/call" => json!({ "name": "find", "arguments": {} }),
        "resources/read"
        | "resources/subscribe"
        | "resources/unsubscribe"
        | "notifications/resources/updated" => {
            json!({ "uri": "file:///a" })
        }
        "prompts/get" => json!({ "name": "p" }),
        "completion/complete" => {
            json!({ "ref": { "type": "ref/prompt", "name": "p" }, "argument": { "name": "a", "value": "b" } })
        }
        "logging/setLevel" => json!({ "level": "debug" }),
        "subscriptions/listen" | "notifications/subscriptions/acknowledged" => {
            json!({ "notifications": { "toolsListChanged": true } })
        }
        "notifications/message" => json!({ "level": "info", "data": { "a": [1.50] } }),
        "notifications/elicitation/complete" => json!({ "elicitationId": "e" }),
        "elicitation/create" => {
            json!({ "message": "Name?", "requestedSchema": { "type": "object", "properties": { "n": { "type": "string" } } } })
        }
        "sampling/createMessage" => {
            json!({ "messages": [{ "role": "user", "content": { "type": "text", "text": "hi" } }], "maxTokens": 5 })
        }
        "notifications/cancelled" => json!({ "requestId": 77 }),
        "notifications/progress" => json!({ "progressToken": 77, "progress": 1 }),
        "tasks/get" | "tasks/result" | "tasks/cancel" => json!({ "taskId": "t" }),
        "tasks/update" => json!({ "taskId": "t", "inputResponses": {} }),
        "notifications/tasks/status" | "notifications/tasks" => json!({ "taskId": "t", "status": "working" }),
        _ => json!({}),
    }
}

/// What no row of its own lets through: what belongs to no open request and no task of the session, and what is refused.
fn goes_on(from: Side, handling: Handling, name: &str) -> bool {
    use Handling::{
        Cancel, CancelTask, GetTask, ListTools, Progress, Refuse, TaskResult, TaskStatus, UpdateTask,
    };
    let belongs =
        matches!(handling, Cancel | Progress | GetTask | TaskResult | CancelTask | UpdateTask | TaskStatus);
    // the guard asks for the tools itself
    !(belongs || matches!(handling, Refuse | ListTools) || (from == Side::Client && name == "tools/list"))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_method_of_the_table_is_treated_as_its_row_says() {
    for row in METHODS {
        let mut both = Both::begin();
        let mut message = json!({ "method": row.name, "params": params(row.name) });
        message["params"]["unknownMember"] = json!(1);
        if row.is_request {
            message["id"] = json!("id");
        }
        let goes_on = goes_on(row.from, row.handling, row.name);
        let came = if row.from == Side::Client {
            both.client(message).await;
            if goes_on { both.at_server().await } else { Value::Null }
        } else {
            both.server(message).await;
            if goes_on { both.at_client().await } else { Value::Null }
        };
        if goes_on {
            assert_eq!(came["method"], row.name);
            assert_eq!(came.get("id").is_some(), row.is_request, "{came}");
            assert!(came["id"] != "id" && !came.to_string().contains("unknownMember"), "{came}");
        } else if row.is_request && row.from == Side::Client && row.handling != Handling::ListTools {
            assert!(both.at_client().await["error"]["code"].is_i64(), "{}", row.name);
        } else if row.is_request && row.from == Side::Server {
            assert_eq!(both.at_server().await["error"]["code"], -32_601, "{}", row.name);
        }
        both.end().await;
    }
}

/// A method without a row, in both directions and forms.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_method_without_a_row_is_refused_or_observed() {
    for method in [
        "vendor/run",
        "tools/Call",
        "Tools/call",
        "tools/call ",
        "rpc.discover",
        "notifications/of/tomorrow",
        "",
    ] {
        let mut both = Both::begin();
        both.request(1, method, json!({ "name": "find" })).await;
        assert_eq!(both.at_client().await["error"]["code"], -32_601, "{method}");
        both.client(json!({ "method": method, "params": {} })).await;
        both.nothing_for_server().await;
        both.server(json!({ "id": 1, "method": method })).await;
        assert_eq!(both.at_server().await["error"]["code"], -32_601, "{method}");
        both.server(json!({ "method": method })).await;
        both.nothing_for_client().await;
        both.end().await;

        let mut both = Both::with(Options { observe: true, ..Options::default() });
        both.request(1, method, json!({ "x": [1.50] })).await;
        let came = both.at_server().await;
        assert_eq!((&came["method"], &came["params"]), (&json!(method), &json!({ "x": [1.50] })));
        both.answer(&came, json!({ "y": 1 })).await;
        assert_eq!(both.at_client().await, json!({ "jsonrpc": "2.0", "id": 1, "result": { "y": 1 } }));
        both.end().await;
    }
}

/// Requests of a known method in the form of a notification, and the reverse.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_method_in_another_form_is_unknown() {
    let mut both = Both::begin();
    for row in METHODS.iter().filter(|row| row.from == Side::Client) {
        let message = json!({ "method": row.name, "params": params(row.name) });
        if row.is_request {
            both.client(message).await;
        } else {
            both.request("id", row.name, params(row.name)).await;
            assert_eq!(both.at_client().await["error"]["code"], -32_601, "{}", row.name);
        }
    }
    both.nothing_for_server().await;
    both.end().await;
}

#[test]
fn the_forms_are_named_once() {
    for (at, form) in FORMS.iter().enumerate() {
        assert!(!form.name.is_empty());
        let same = FORMS
            .iter()
            .skip(at.saturating_add(1))
            .any(|other| (form.name, form.from) == (other.name, other.from));
        assert!(!same, "{} of {} is there twice", form.name, form.from);
    }
}
