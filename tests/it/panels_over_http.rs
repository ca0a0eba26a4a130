//! Reviews by several people over HTTP: who sees them, whose answer counts, and two servers over one store.

use crate::serving::Serving;
use celador_server::Settings;
use celador_store::{Database, Location, StoreLimits};
use serde_json::{Value, json};
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
    parameters: {properties: {amount: {type: number}}}
    execute: {stateless_http: {method: POST, url: "https://pay.example.com"}}
---
kind: commonagents.info/v1beta2/agent
namespace: pay
name: desk
description: Pays.
prompt: You pay.
capabilities:
  money: {include: [pay]}
---
kind: celador/v1/policy
namespace: pay
name: four-eyes
capabilities:
  money:
    before:
      - assert: "review({'any_of': ['group:payments', 'group:leads', 'Boss@Example.com'], 'at_least': 2, 'expires': '1h'})"
"#;

const REVIEWER: [&str; 2] = ["reviews:read", "reviews:write"];

fn serve(database: Database) -> Serving {
    Serving::over(database, |settings: &mut Settings, folder: &Path| {
        let policies = folder.join("policies");
        fs::create_dir_all(&policies).unwrap();
        fs::write(policies.join("pay.yaml"), MANIFESTS).unwrap();
        settings.policies = vec![policies];
        settings.authentication.tokens = Some(folder.join("tokens.json"));
    })
}

/// Asks for a payment for this user; the path of the review.
fn ask(serving: &Serving, runtime: &str, user: &str) -> (String, String) {
    let task = json!({"namespace": "pay", "agent": "desk", "user": {"id": user}});
    let task = serving.post_as(runtime, "/v1/tasks", &task).json()["task"].as_str().unwrap().to_owned();
    let call = json!({"function": "money", "arguments": {"amount": 3}});
    let asked = serving.post_as(runtime, &format!("/v1/tasks/{task}/before"), &call).json();
    assert_eq!(asked["question"], 0, "{asked}");
    let open = serving.get_as(runtime, "/v1/reviews").json();
    let review = open["reviews"].as_array().unwrap().iter().find(|review| review["task"] == *task).unwrap();
    (task, format!("/v1/reviews/{}", review["id"].as_str().unwrap()))
}

fn answer(serving: &Serving, token: &str, review: &str, answer: &str) -> (u16, Value) {
    let reply = serving.post_as(token, review, &json!({ "answer": answer }));
    (reply.status, reply.json())
}

#[test]
fn two_people_approve_over_two_servers_and_nobody_twice() {
    let database = Database::open(&Location::Memory, &StoreLimits::default()).unwrap();
    let servers = [serve(database.clone()), serve(database)];
    let token = |name: &str, scopes: &[&str], more: Value| {
        let tokens = servers.each_ref().map(|server| server.token_of(name, scopes, &more));
        tokens[0].clone()
    };
    let runtime = token("desk", &["tasks:read", "tasks:write", "reviews:read"], json!({}));
    let ann = token("ann", &REVIEWER, json!({"groups": ["payments", "leads"]}));
    let kim = token("kim", &REVIEWER, json!({"groups": ["leads"]}));
    let boss = token("b-1", &REVIEWER, json!({"email": "boss@example.com"}));
    let lee = token("lee", &REVIEWER, json!({"groups": ["Leads", "payment"]}));
    let [first, second] = &servers;

    let (task, review) = ask(first, &runtime, "u-1");
    let shown = first.get_as(&ann, &review).json();
    assert_eq!(shown["reviewer"], "2 of group:payments, group:leads, Boss@Example.com");
    assert_eq!(shown["panel"]["all_of"][0]["at_least"], 2);
    assert_eq!(shown["expires_at"], "2026-06-01T13:00:00Z", "its own time");
    for (token, seen) in [(&ann, 1), (&kim, 1), (&boss, 1), (&lee, 0)] {
        let listed = second.get_as(token, "/v1/reviews").json();
        assert_eq!(listed["reviews"].as_array().unwrap().len(), seen, "{listed}");
    }
    assert_eq!(
        second.get_as(&ann, "/v1/reviews?reviewer=group:leads").json()["reviews"].as_array().unwrap().len(),
        1
    );
    assert_eq!(
        second.get_as(&ann, "/v1/reviews?reviewer=group:lead").json()["reviews"].as_array().unwrap().len(),
        0
    );
    assert_eq!(answer(first, &lee, &review, "approve").0, 404);

    let (status, told) = answer(first, &ann, &review, "approve");
    assert_eq!(
        (status, &told["decision"], &told["review"]["state"]),
        (200, &json!("suspend"), &json!("open")),
        "{told}"
    );
    assert_eq!(told["review"]["approvals"][0]["addressed_as"], json!(["group:payments", "group:leads"]));
    // again, and elsewhere: still one person
    for server in &servers {
        let (status, told) = answer(server, &ann, &review, "approve");
        assert_eq!((status, told["review"]["approvals"].as_array().unwrap().len()), (200, 1), "{told}");
    }
    let (status, told) = answer(second, &boss, &review, "approve");
    assert_eq!((status, &told["decision"]), (200, &json!("allow")), "{told}");
    let by: Vec<&str> = told["review"]["approvals"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|it| it["by"]["subject"].as_str())
        .collect();
    assert_eq!(by, ["ann", "b-1"]);
    assert_eq!(told["review"]["state"], "approved");
    // late and early answers that come again are told the same; another one is too late
    assert_eq!(answer(first, &ann, &review, "approve").0, 200);
    assert_eq!(answer(first, &kim, &review, "approve").0, 409);
    assert_eq!(first.get_as(&runtime, &format!("/v1/tasks/{task}")).json()["state"], "active");

    // one denial denies
    let (_, review) = ask(second, &runtime, "u-1");
    assert_eq!(answer(second, &ann, &review, "approve").0, 200);
    let (status, told) = answer(first, &kim, &review, "deny");
    assert_eq!(
        (status, &told["decision"], &told["review"]["state"]),
        (200, &json!("block"), &json!("denied"))
    );

    // the person for whom the task runs speaks for no group
    let (_, review) = ask(first, &runtime, "kim");
    let (status, told) = answer(first, &kim, &review, "approve");
    assert_eq!((status, &told["type"]), (403, &json!("urn:celador:problem:own-judge")));

    // a runtime that passes answers on is nobody of the panel, and cannot say that it is
    let (task, _) = ask(first, &runtime, "u-2");
    let path = format!("/v1/tasks/{task}/resume");
    assert_eq!(first.post_as(&runtime, &path, &json!({"answer": {"review": true}})).status, 403);
    let passed_on = json!({"answer": {"review": {"answer": "approve", "addressed_as": ["group:leads"]}}});
    assert_eq!(first.post_as(&runtime, &path, &passed_on).status, 400);

    // nobody else in time: denied
    first.set_now("2026-06-01T13:00:01Z");
    let seen = first.post_as(&runtime, &format!("/v1/tasks/{task}/limits"), &json!({"next": "other"}));
    assert_eq!(seen.status, 200);
    let expired = first.get_as(&runtime, "/v1/reviews?state=expired").json();
    assert_eq!(expired["reviews"].as_array().unwrap().len(), 1, "{expired}");
}
