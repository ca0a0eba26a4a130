//! The size of a task over HTTP: what an ended task stores, where `max_task_bytes` ends one, and how much one answer holds.

use crate::serving::Serving;
use crate::task_fixture::manifests;
use celador::Retain;
use celador_server::Settings;
use celador_store::Location;
use serde_json::{Value, json};
use std::fs;

/// A server for the agent `demo/clerk` with these further keys.
fn serving(agent: &str, change: impl FnOnce(&mut Settings)) -> Serving {
    Serving::with(&Location::Memory, |settings, folder| {
        let file = folder.join("clerk.yaml");
        fs::write(&file, manifests(agent)).unwrap();
        settings.policies = vec![file];
        change(settings);
    })
}

/// A task of the clerk; its path.
fn new_task(serving: &Serving) -> String {
    let new = json!({"namespace": "demo", "agent": "clerk", "user": {"id": "u-1"}});
    let reply = serving.post("/v1/tasks", &new);
    assert_eq!(reply.status, 201, "{}", reply.text());
    format!("/v1/tasks/{}", reply.json()["task"].as_str().unwrap())
}

/// The version after a step, and its decision.
fn step(serving: &Serving, path: &str, body: &Value) -> (u64, Value) {
    let reply = serving.post(path, body);
    assert_eq!(reply.status, 200, "{}", reply.text());
    let reply = reply.json();
    (reply["version"].as_u64().unwrap(), reply["decided"].clone())
}

#[test]
fn what_an_ended_task_turns_away_is_not_stored_but_results_of_its_calls_are() {
    let serving = serving("limits: {max_turns: 1}\ncapabilities: {probe: '*'}\n", |_| {});
    let task = new_task(&serving);
    let call = json!({"function": "probe", "arguments": {}});
    let (_, let_through) = step(&serving, &format!("{task}/before"), &call);
    let turn = json!({"prompt_tokens": 1, "completion_tokens": 1});
    step(&serving, &format!("{task}/model-turn"), &turn);
    let (ended, decision) = step(&serving, &format!("{task}/model-turn"), &turn);
    assert_eq!(decision["limit"]["which"], "max_turns");
    let steps = [
        ("input", json!({"message": "Hello?"})),
        ("output", json!({"message": "Hello."})),
        ("before", call.clone()),
        ("invoke", call),
        ("model-turn", turn),
        ("limits", json!({"next": "other"})),
        ("interrupt", json!({})),
        ("script", json!({"source": "1"})),
        ("execute", json!({"call": let_through["call"]})),
        ("event", json!({"capability": "probe", "event": "none", "payload": {}})),
    ];
    for (name, body) in &steps {
        let headers = [("content-type", "application/json"), ("idempotency-key", *name)];
        let path = format!("{task}/{name}");
        for _ in 0..2 {
            let reply = serving.send("POST", &path, &headers, body.to_string().as_bytes());
            assert_eq!(reply.status, 200, "{name}: {}", reply.text());
            // nothing is stored under the key either
            assert_eq!(reply.header("idempotency-replayed"), None, "{name}");
            let reply = reply.json();
            let verdict = if *name == "event" { "discard" } else { "rejected" };
            assert_eq!((&reply["version"], &reply["decided"]["verdict"]), (&json!(ended), &json!(verdict)));
        }
    }
    // the call has run, so its result is on record; nothing of it goes to the model
    let result = json!({"status": "successful", "output": {"paid": 90}});
    let (version, decision) =
        step(&serving, &format!("{task}/after"), &json!({"call": let_through["call"], "result": result}));
    assert_eq!(
        (version, &decision["verdict"], &decision["value"]),
        (ended + 1, &json!("rejected"), &Value::Null)
    );
    let again =
        serving.post(&format!("{task}/after"), &json!({"call": let_through["call"], "result": result}));
    // the same result once more is told the same, and nothing is recorded twice
    assert_eq!((again.status, &again.json()["decided"]["verdict"]), (200, &json!("rejected")));
    assert_eq!(again.json()["version"], json!(version));
    let context = serving.get(&format!("{task}/context")).json()["context"].clone();
    let record = &context["capabilities"]["probe"];
    assert_eq!((&record["outputs"], &record["restricted"]), (&json!([{"paid": 90}]), &json!([true])));
    let events = serving.get(&format!("{task}/events")).json();
    assert_eq!(events["events"].as_array().unwrap().len() as u64, ended + 1);
    // what another process opens is the same
    let database = serving.database.clone();
    let other = Serving::over(database, |settings, folder| {
        let file = folder.join("clerk.yaml");
        fs::write(&file, manifests("limits: {max_turns: 1}\ncapabilities: {probe: '*'}\n")).unwrap();
        settings.policies = vec![file];
    });
    assert_eq!(other.get(&format!("{task}/context")).json()["context"], context);
}

#[test]
fn what_a_waiting_task_turns_away_is_not_stored_either() {
    let agent = "capabilities:\n  probe:\n    before: [{assert: \"review('boss')\"}]\n";
    let serving = serving(agent, |_| {});
    let task = new_task(&serving);
    let call = json!({"function": "probe", "arguments": {}});
    let asked = serving.post(&format!("{task}/before"), &call).json();
    let (version, decision) = step(&serving, &format!("{task}/output"), &json!({"message": "Well?"}));
    assert_eq!((json!(version), &decision["verdict"]), (asked["version"].clone(), &json!("rejected")));
    let (version, decision) = step(&serving, &format!("{task}/resume"), &json!({"answer": {"review": true}}));
    assert_eq!(
        (json!(version), &decision["verdict"]),
        (json!(asked["version"].as_u64().unwrap() + 1), &json!("allow"))
    );
}

/// A call that is let through and gives this; its decision.
fn report(serving: &Serving, task: &str, output: &Value) -> Value {
    let (_, before) =
        step(serving, &format!("{task}/before"), &json!({"function": "probe", "arguments": {"host": "h"}}));
    assert_eq!(before["verdict"], "allow", "{before}");
    let result = json!({"status": "successful", "output": output});
    step(serving, &format!("{task}/after"), &json!({"call": before["call"], "result": result})).1
}

const PROBE: &str = "capabilities: {probe: '*'}\n";

#[test]
fn a_task_that_is_full_ends_with_a_limit_and_its_results_are_recorded_until_then() {
    let serving = serving(PROBE, |settings| settings.limits.store.engine.max_task_bytes = 100_000);
    let task = new_task(&serving);
    let large = json!("x".repeat(40_000));
    for _ in 0..3 {
        let decision = report(&serving, &task, &large);
        assert_eq!((&decision["verdict"], &decision["value"]), (&json!("allow"), &large));
    }
    let call = json!({"function": "probe", "arguments": {}});
    let (_, decision) = step(&serving, &format!("{task}/before"), &call);
    assert_eq!((&decision["verdict"], &decision["reason"]), (&json!("terminate"), &json!("limit_exceeded")));
    assert_eq!(
        (&decision["limit"]["which"], &decision["limit"]["bound"]),
        (&json!("max_task_bytes"), &json!(100_000))
    );
    // newest first: the last one had no room
    let seen = serving.get(&format!("{task}/context?paths=capabilities.probe.outputs")).json();
    let outputs = &seen["context"]["capabilities"]["probe"]["outputs"];
    assert_eq!(outputs, &json!([null, large, large]));
    let shortened = &seen["shortened"][0];
    assert_eq!(
        (&shortened["pointer"], &shortened["bytes"]),
        (&json!("/capabilities/probe/outputs/0"), &json!(40_002))
    );
    // what another process opens is the same
    let other = Serving::over(serving.database.clone(), |settings, folder| {
        let file = folder.join("clerk.yaml");
        fs::write(&file, manifests(PROBE)).unwrap();
        settings.policies = vec![file];
    });
    assert_eq!(other.get(&format!("{task}/context")).json()["shortened"][0]["sha256"], shortened["sha256"]);
    let evaluated = other.post(
        &format!("{task}/evaluate"),
        &json!({"expression": "context.capabilities.probe.outputs[0] == ''", "scope": "before"}),
    );
    assert!(evaluated.text().contains("value_shortened"), "{}", evaluated.text());
}

#[test]
fn a_context_is_given_in_parts_and_pages() {
    let serving = serving(PROBE, |settings| settings.limits.store.max_page_bytes = 20_000);
    let task = new_task(&serving);
    for number in 0..10 {
        report(&serving, &task, &json!({"n": number, "text": "x".repeat(3_000)}));
    }
    let get = |query: &str| serving.get(&format!("{task}/context{query}"));
    // a part is that part and nothing else
    let part = get("?paths=agent,capabilities.probe.count_successful").json();
    assert_eq!(part["context"]["agent"]["name"], "clerk");
    assert_eq!(part["context"]["capabilities"], json!({"probe": {"count_successful": 10}}));
    assert_eq!((part["context"].as_object().unwrap().len(), &part["next"]), (2, &Value::Null));
    // all pages together are the whole, in its order, and none is longer than is allowed
    let (mut numbers, mut cursor, mut pages) = (Vec::new(), String::new(), 0);
    loop {
        let reply = get(&format!("?paths=capabilities.probe.outputs{cursor}"));
        assert!(reply.body.len() < 20_500, "{}", reply.body.len());
        let page = reply.json();
        let outputs = page["context"]["capabilities"]["probe"]["outputs"].as_array().unwrap().clone();
        numbers.extend(outputs.iter().map(|output| output["n"].as_u64().unwrap()));
        pages += 1;
        match page["next"].as_str() {
            Some(next) => cursor = format!("&cursor={next}"),
            None => break,
        }
    }
    assert_eq!((numbers, pages), ((0..10).rev().collect(), 2));
    // so many as are asked for
    let two = get("?limit=2&paths=capabilities.probe,_history").json();
    assert_eq!(two["context"]["capabilities"]["probe"]["outputs"].as_array().unwrap().len(), 2);
    assert_eq!(two["context"]["_history"]["turns"].as_array().unwrap().len(), 2);
    let next = two["next"].as_str().unwrap().to_owned();
    let behind = get(&format!("?limit=2&paths=capabilities.probe.outputs&cursor={next}")).json();
    assert_eq!(behind["context"]["capabilities"]["probe"]["outputs"][0]["n"], 7);
    // an entry stands in a page at least, however long it is
    report(&serving, &task, &json!({"n": 10, "text": "x".repeat(30_000)}));
    let one = get("?paths=capabilities.probe.outputs").json();
    assert_eq!(one["context"]["capabilities"]["probe"]["outputs"].as_array().unwrap().len(), 1);
    // the task has moved on, and what is not understood is said so
    for query in [
        &*format!("?cursor={next}"),
        "?cursor=x",
        "?limit=-1",
        "?paths=nothing",
        "?paths=agent.nam",
        "?page=1",
    ] {
        assert_eq!(get(query).status, 400, "{query}");
    }
}

#[test]
fn a_page_of_events_is_bounded_in_bytes_and_none_is_left_out() {
    let serving = serving(PROBE, |settings| settings.limits.store.max_page_bytes = 20_000);
    let task = new_task(&serving);
    for number in 0..6 {
        report(
            &serving,
            &task,
            // a character of three bytes: the bound is one of bytes
            &json!({"n": number, "text": "€".repeat(if number == 3 { 10_000 } else { 1_000 })}),
        );
    }
    let (mut versions, mut after, mut pages) = (Vec::new(), 0, 0);
    loop {
        let reply = serving.get(&format!("{task}/events?after={after}"));
        let page = reply.json();
        let events = page["events"].as_array().unwrap();
        assert!(reply.body.len() < 22_000 || events.len() == 1, "{} {}", reply.body.len(), events.len());
        versions.extend(events.iter().map(|event| event["version"].as_u64().unwrap()));
        pages += 1;
        match page["next"].as_u64() {
            Some(next) => after = next,
            None => break,
        }
    }
    assert_eq!(versions, (1..=13).collect::<Vec<u64>>());
    assert!(pages > 3, "{pages}");
    // and a task of many pages is opened whole
    let other = Serving::over(serving.database.clone(), |settings, folder| {
        let file = folder.join("clerk.yaml");
        fs::write(&file, manifests(PROBE)).unwrap();
        settings.policies = vec![file];
        settings.limits.store.max_page_bytes = 1;
    });
    let count = other.get(&format!("{task}/context?paths=capabilities.probe.count_successful")).json();
    assert_eq!(count["context"]["capabilities"]["probe"]["count_successful"], 6);
}

/// What no rule reads is not kept, and rules that come later are told of.
#[test]
fn a_server_that_keeps_what_is_needed_says_what_its_tasks_lack() {
    let serving = serving(PROBE, |settings| settings.retain_calls = Retain::Needed);
    let task = new_task(&serving);
    let decision = report(&serving, &task, &json!({"n": 5}));
    assert_eq!((&decision["verdict"], &decision["value"]), (&json!("allow"), &json!({"n": 5})));
    let seen = serving.get(&format!("{task}/context?paths=capabilities.probe")).json();
    assert_eq!(seen["context"]["capabilities"]["probe"]["outputs"], json!([null]));
    assert_eq!(seen["dropped"], json!(["/capabilities/probe/inputs/0", "/capabilities/probe/outputs/0"]));
    assert_eq!(serving.get(&task).json()["lacking"], json!([]));
    // another process, with a rule that looks back
    let looks_back =
        "capabilities:\n  probe:\n    before: [{assert: 'c.cap.probe.outputs.all(o, o.n < 9)'}]\n";
    let other = Serving::over(serving.database.clone(), |settings, folder| {
        let file = folder.join("clerk.yaml");
        fs::write(&file, manifests(looks_back)).unwrap();
        settings.policies = vec![file];
    });
    let lacking = json!([{"function": "probe", "value": "output", "calls": 1}]);
    assert_eq!(other.get(&task).json()["lacking"], lacking);
    let call = json!({"function": "probe", "arguments": {}});
    let (_, decision) = step(&other, &format!("{task}/before"), &call);
    assert_eq!(
        (&decision["verdict"], &decision["findings"][0]["code"]),
        (&json!("block"), &json!("value_shortened"))
    );
}
