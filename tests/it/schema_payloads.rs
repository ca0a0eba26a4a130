//! What a tool or a trigger says of the payloads of its events holds, and what an agent says of its parameters where another
//! agent calls it: the rows of `tests/data/schemas/words.yaml`.

use crate::schema_values::{Row, agent, engine, none, rows, start, values};
use crate::task_fixture::{call, decided, noon, see};
use celador::policy::FiringOutcome;
use celador::task::{Content, Decision, Delivery, EventStage, Progress, Task, VerdictKind};
use serde_json::{Value, json};
use std::collections::BTreeMap;

fn payload(row: &Row) -> Value {
    let mut payload = json!({ "type": "object", "required": ["v"], "properties": { "v": row.schema } });
    if !row.definitions.is_null() {
        payload["$defs"] = row.definitions.clone();
    }
    payload
}

/// A tool whose events, a webhook and one that we ask for, have this payload and this filter.
fn tool(name: &str, payload: &Value, filter: &str) -> Value {
    let event = |name: &str, way: &str| {
        let receive = json!({ way: { "filter": filter } });
        json!({ "name": name, "message": "It came.", "payload": payload, "receive": receive })
    };
    json!({
        "kind": "commonagents.info/v1beta2/tool", "namespace": "demo", "name": name,
        "description": "Tells of things.",
        "actions": [{"name": "take", "description": "Takes.",
            "execute": {"stateless_http": {"method": "POST", "url": "https://svc.example.com/run"}}}],
        "events": [event("posted", "webhook"), event("asked", "subscription")],
    })
}

fn manifests(rows: &[Row]) -> String {
    let tool = |(number, row)| tool(&format!("r{number}"), &payload(row), "true");
    let capabilities = (0..rows.len()).map(|number| (format!("r{number}"), json!("*"))).collect();
    let documents = rows.iter().enumerate().map(tool).chain([agent(Value::Object(capabilities))]);
    documents.map(|document| format!("---\n{document}\n")).collect()
}

/// What becomes of a payload as a request, and as what the host asked for.
fn deliver(task: &mut Task, tool: &str, payload: &Value) -> [Decision; 2] {
    let settings = BTreeMap::new();
    let body = payload.to_string();
    let posted = Delivery::new(tool, "posted", Content::request(&[], body));
    let asked = Delivery::new(tool, "asked", Content::Payload(payload.into()));
    [posted, asked].map(|delivery| decided(task.event(&delivery, &settings, noon())))
}

#[test]
fn payloads_are_held_to_their_schemas() {
    let rows = rows();
    let engine = engine(&manifests(&rows));
    let mut task = start(&engine, "t-1");
    let mut found = Vec::new();
    for (number, row, value, fits) in values(&rows) {
        for decision in deliver(&mut task, &format!("r{number}"), &json!({ "v": value })) {
            let message = decision.verdict.message().unwrap_or_default();
            let says = row.says.as_deref().map(|says| says.replace("`v", "`payload.v")).unwrap_or_default();
            let right = if fits {
                decision.verdict.kind() == VerdictKind::Route
            } else {
                (decision.verdict.kind(), decision.verdict.stage())
                    == (VerdictKind::Discard, Some(EventStage::Payload))
                    && message.starts_with("the payload is not what the tool declares: `payload.v")
                    && message.contains(&says)
            };
            found.extend((!right).then(|| format!("{} {}: {value}: {message}", row.word, row.schema)));
        }
        // nothing of a payload stands in what is said of it
        let secret = json!({ "v": "a text that nobody declared" });
        for decision in deliver(&mut task, &format!("r{number}"), &secret) {
            assert!(
                !decision.verdict.message().unwrap_or_default().contains("nobody declared"),
                "{}",
                row.schema
            );
        }
    }
    none(found);
}

/// An event that does not fit is discarded before its filter is asked, and leaves the task as it was.
#[test]
fn the_schema_comes_before_the_filter() {
    let schema = json!({ "type": "object", "required": ["n"], "properties": { "n": { "type": "integer" } } });
    let text =
        format!("{}\n---\n{}\n", tool("desk", &schema, "event.payload.n > 3"), agent(json!({ "desk": "*" })));
    let mut task = start(&engine(&text), "t-1");
    let stages = |task: &mut Task, payload: Value| {
        deliver(task, "desk", &payload).map(|it| (it.verdict.kind(), it.verdict.stage()))
    };
    let discard = |stage| [(VerdictKind::Discard, Some(stage)); 2];
    assert_eq!(stages(&mut task, json!({ "n": "4" })), discard(EventStage::Payload));
    assert_eq!(stages(&mut task, json!([4])), discard(EventStage::Payload));
    assert_eq!(stages(&mut task, json!({})), discard(EventStage::Payload));
    assert_eq!(stages(&mut task, json!({ "n": 3 })), discard(EventStage::Filter));
    assert_eq!(see(&task, "size(context.input)"), json!(0));
    assert_eq!(stages(&mut task, json!({ "n": 4 })), [(VerdictKind::Route, None); 2]);
    assert_eq!(see(&task, "size(context.input)"), json!(2));
}

#[test]
fn triggers_hold_payloads_to_their_schemas() {
    let rows = rows();
    let trigger = |(number, row): (usize, &Row)| {
        json!({
            "kind": "commonagents.info/v1/trigger", "namespace": "demo", "name": format!("t{number}"),
            "agent": "clerk", "owner": "user:ann@example.com", "enabled": true, "inputs": { "message": "Go." },
            "source": { "type": "email", "payload": payload(row), "before": [{ "assert": "now < '9999'" }] },
        })
    };
    let documents = rows.iter().enumerate().map(trigger).chain([agent(json!({}))]);
    let engine = engine(&documents.map(|document| format!("---\n{document}\n")).collect::<String>());
    let mut found = Vec::new();
    for (number, row, value, fits) in values(&rows) {
        let trigger = engine.trigger("demo", &format!("t{number}")).unwrap();
        let firing = trigger.fire(&json!({ "v": value }).into(), noon());
        let right = match &firing.outcome {
            FiringOutcome::Create(_) => fits,
            FiringOutcome::Misfit { message, by } => {
                !fits
                    && message.starts_with("the payload is not what the trigger declares: `payload.v")
                    && by.path == "source.payload"
                    && firing.trace.is_empty()
            }
            _ => false,
        };
        found.extend((!right).then(|| format!("{} {}: {value}: {:?}", row.word, row.schema, firing.outcome)));
    }
    none(found);
}

/// The parameters of an agent hold where another agent calls it.
#[test]
fn delegations_are_held_to_the_schemas_of_the_agent() {
    let mut found = Vec::new();
    for row in rows() {
        let mut child = agent(json!({}));
        child["name"] = json!("helper");
        child["parameters"] = json!({ "properties": { "v": row.schema } });
        if !row.definitions.is_null() {
            child["parameters"]["$defs"] = row.definitions.clone();
        }
        // a required parameter is bound (DEL-05): what the model may set has a default
        let (default, _) = row.values.iter().find(|(_, fits)| *fits).unwrap();
        let given = json!({ "helper": { "bindings": { "v": "context.input[0].v" } } });
        let mut parent = agent(given);
        parent["parameters"] = json!({ "properties": { "v": { "default": default } } });
        let engine = engine(&format!("{child}\n---\n{parent}\n"));
        for (value, fits) in &row.values {
            let mut task = start(&engine, "t-1");
            let input = json!({ "message": "hi", "v": value });
            assert_eq!(decided(task.input(&input.into(), noon())).verdict.kind(), VerdictKind::Allow);
            let decision = match task
                .before(&call("helper", json!({ "message": "go" })), noon())
                .unwrap()
                .into_progress()
            {
                Progress::Decided(decision) => decision,
                Progress::Asks(request) => panic!("{request:?}"),
            };
            let right = (decision.verdict.kind() == VerdictKind::Allow) == *fits;
            found.extend((!right).then(|| format!("{} {}: {value}: {decision:?}", row.word, row.schema)));
        }
    }
    none(found);
}
