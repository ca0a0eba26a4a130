//! What tests of reviews share: an agent whose every payment asks the lead, another one whose payments ask two people, and tasks that ask.

use crate::serving::Serving;
use celador_server::Settings;
use serde_json::json;
use std::fs;
use std::path::Path;

const MANIFESTS: &str = r#"
kind: commonagents.info/v1beta2/tool
namespace: pay
name: money
description: Pays.
actions:
  - name: pay
    description: Pays.
    parameters:
      properties:
        amount: {type: number, description: How much.}
        to: {type: string, description: To whom.}
        memo: {type: object, description: Anything.}
    execute: {stateless_http: {method: POST, url: "https://pay.example.com"}}
---
kind: commonagents.info/v1beta2/tool
namespace: pay
name: card
description: Charges a card.
actions:
  - name: charge
    description: Charges a card.
    parameters:
      properties:
        amount: {type: number, description: How much.}
        card: {type: string, secret: true, description: Which one.}
    execute: {stateless_http: {method: POST, url: "https://pay.example.com"}}
---
kind: commonagents.info/v1beta2/agent
namespace: pay
name: desk
description: Pays.
prompt: You pay.
capabilities:
  money: {include: [pay]}
  card:
    before:
      - assert: review('lead@example.com')
---
kind: commonagents.info/v1beta2/agent
namespace: pay
name: board
description: Pays what two people approve of.
prompt: You pay.
capabilities:
  money: {include: [pay]}
---
kind: celador/v1/policy
namespace: pay
name: lead
applies_to: {agents: [pay/desk]}
capabilities:
  money:
    before:
      - assert: review('lead@example.com')
        question: "Paying {input.to} asks the lead."
        error_message: "The lead did not approve."
---
kind: celador/v1/policy
namespace: pay
name: four-eyes
applies_to: {agents: [pay/board]}
capabilities:
  money:
    before:
      - assert: "review({'any_of': ['group:payments', 'group:leads', 'Boss@Example.com'], 'at_least': 2, 'expires': '1h'})"
"#;

/// Who is asked by the agent whose payments ask two people.
pub const BOARD: &str = "2 of group:payments, group:leads, Boss@Example.com";

/// The scopes of somebody who answers reviews.
pub const REVIEWER: [&str; 2] = ["reviews:read", "reviews:write"];

/// Has a server serve the agent.
pub fn policies(settings: &mut Settings, folder: &Path) {
    let folder = folder.join("policies");
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("pay.yaml"), MANIFESTS).unwrap();
    settings.policies = vec![folder];
}

/// A task that asks for a payment with these arguments, as JSON; the path of its review.
pub fn asks(serving: &Serving, token: Option<&str>, user: &str, arguments: &str) -> String {
    asks_to(serving, token, user, ("money", arguments))
}

/// The same with any call.
pub fn asks_to(serving: &Serving, token: Option<&str>, user: &str, call: (&str, &str)) -> String {
    asks_of(serving, token, ("desk", "lead@example.com"), user, call).1
}

/// A task that asks two people for a payment, and the path of its review.
pub fn asks_board(serving: &Serving, token: Option<&str>, user: &str) -> (String, String) {
    asks_of(serving, token, ("board", BOARD), user, ("money", r#"{"amount": 3, "to": "kim", "memo": {}}"#))
}

/// A task of an agent that asks somebody, and the path of its review.
fn asks_of(
    serving: &Serving,
    token: Option<&str>,
    (agent, reviewer): (&str, &str),
    user: &str,
    call: (&str, &str),
) -> (String, String) {
    let post = |path: &str, body: &str| {
        let bearer = format!("Bearer {}", token.unwrap_or_default());
        let headers = [("content-type", "application/json"), ("authorization", &*bearer)];
        let headers = if token.is_some() { &headers[..] } else { &headers[..1] };
        serving.send("POST", path, headers, body.as_bytes()).json()
    };
    let task = json!({"namespace": "pay", "agent": agent, "user": {"id": user}});
    let task = post("/v1/tasks", &task.to_string());
    let id = task["task"].as_str().unwrap();
    let (function, arguments) = call;
    let call = format!(r#"{{"function": "{function}", "arguments": {arguments}}}"#);
    let asked = post(&format!("/v1/tasks/{id}/before"), &call);
    assert_eq!(asked["asks"]["review"]["reviewer"], reviewer, "{asked}");
    let reviews = match token {
        Some(token) => serving.get_as(token, "/v1/reviews"),
        None => serving.get("/v1/reviews"),
    };
    let reviews = reviews.json();
    let review = reviews["reviews"].as_array().unwrap().iter().find(|review| review["task"] == id);
    (id.to_owned(), format!("/v1/reviews/{}", review.unwrap()["id"].as_str().unwrap()))
}
