//! What a tool says that its actions return holds: the rows of `tests/data/schemas/words.yaml` as results.
//!
//! Each row becomes a tool of its own, whose results have one field `v` with the schema of the row.

use crate::schema_values::{Row, agent, all_pass, engine, none, rows, start, values};
use crate::task_fixture::{Script, call, decided, noon, see};
use celador::engine::Engine;
use celador::task::{
    CallResult, CallStatus, Decision, Progress, ReviewAnswer, ReviewChoice, Task, VerdictKind,
};
use serde_json::{Value, json};
use std::fs;

fn output(row: &Row) -> Value {
    let mut output = json!({ "type": "object", "required": ["v"], "properties": { "v": row.schema } });
    if !row.definitions.is_null() {
        output["$defs"] = row.definitions.clone();
    }
    output
}

/// A tool with one action, which returns this.
fn tool(name: &str, output: &Value) -> Value {
    json!({
        "kind": "commonagents.info/v1beta2/tool", "namespace": "demo", "name": name,
        "description": "Gives a value.",
        "actions": [{"name": "take", "description": "Gives.", "output": output,
            "execute": {"stateless_http": {"method": "POST", "url": "https://svc.example.com/run"}}}],
    })
}

fn manifests(rows: &[Row]) -> String {
    let tools = rows.iter().enumerate().map(|(number, row)| tool(&format!("r{number}"), &output(row)));
    let capabilities = (0..rows.len()).map(|number| (format!("r{number}"), json!("*"))).collect();
    let documents = tools.chain([agent(Value::Object(capabilities))]);
    documents.map(|document| format!("---\n{document}\n")).collect()
}

/// An agent whose tool `shop` returns a quote, with these steps about it.
fn shop(steps: Value) -> Engine {
    let quote = json!({
        "type": "object", "required": ["total", "status"], "additionalProperties": false,
        "properties": { "total": { "type": "number", "minimum": 0 }, "status": { "enum": ["open", "closed"] } },
    });
    engine(&format!("{}\n---\n{}\n", tool("shop", &quote), agent(json!({ "shop": steps }))))
}

/// What became of a result of a call of this function.
fn after(task: &mut Task, function: &str, result: CallResult) -> Decision {
    let admitted = decided(task.before(&call(function, json!({})), noon()).unwrap());
    decided(task.after(&admitted.call.unwrap(), result, noon()).unwrap())
}

/// What is wrong with what the model received, if it is not what the row has.
fn wrong(row: &Row, value: &Value, fits: bool, received: &Value) -> Option<String> {
    let error = received["error"].as_str().unwrap_or_default();
    let says = row.says.as_deref().map(|says| says.replace("`v", "`output.v")).unwrap_or_default();
    let right = if fits {
        *received == json!({ "v": value })
    } else {
        error.contains("its result is withheld") && error.contains("`output.v") && error.contains(&says)
    };
    (!right).then(|| format!("{} {}: {value}: {received}", row.word, row.schema))
}

#[test]
fn results_are_held_to_their_schemas() {
    let rows = rows();
    let engine = engine(&manifests(&rows));
    let mut task = start(&engine, "t-1");
    let mut found = Vec::new();
    for (number, row, value, fits) in values(&rows) {
        let function = format!("r{number}");
        let decision = after(&mut task, &function, CallResult::successful(json!({ "v": value }).into()));
        assert_eq!(decision.verdict.kind(), VerdictKind::Allow);
        let received = serde_json::to_value(decision.verdict.value()).unwrap();
        found.extend(wrong(row, value, fits, &received));
        let codes: Vec<_> = decision.findings.iter().map(|finding| &*finding.code).collect();
        assert_eq!(codes, if fits { vec![] } else { vec!["output_misfit"] }, "{} {value}", row.schema);
        assert_eq!(see(&task, &format!("context.capabilities.{function}.errored[0]")), json!(!fits));
        assert_eq!(see(&task, &format!("context.capabilities.{function}.outputs[0]")), received);
        // nothing of a result stands in what is said of it
        let secret = CallResult::successful(json!({ "v": "a text that nobody declared" }).into());
        let decision = after(&mut task, &function, secret);
        for finding in &decision.findings {
            assert!(!finding.message.contains("nobody declared"), "{}", row.schema);
        }
    }
    none(found);
}

/// The answer of a reviewer in the place of a result is held to no schema. A finding names one that does not fit.
#[test]
fn a_reviewers_result_is_reported_where_it_does_not_fit() {
    let steps = json!({ "before": [{ "assert": "review('lead')", "error_message": "Not approved." }] });
    for (result, expected) in [
        (json!({ "total": 6, "status": "open" }), ""),
        (json!({ "total": 6 }), "result_misfit"),
        (json!({ "total": -1, "status": "open" }), "result_misfit"),
        (json!("a secret"), "result_misfit"),
        (json!(null), "result_misfit"),
    ] {
        let mut task = start(&shop(steps.clone()), "t-1");
        let Progress::Asks(question) = task.before(&call("shop", json!({})), noon()).unwrap().into() else {
            panic!("the lead is asked")
        };
        let choice = ReviewChoice::Respond { result: result.clone().into() };
        let answer = ReviewAnswer { choice, by: None, note: None, addressed_as: Vec::new() };
        let decision = decided(task.answer(question.id, answer.into(), noon()).unwrap());
        assert_eq!(decision.verdict.kind(), VerdictKind::Respond, "{result}");
        let codes: Vec<&str> = decision.findings.iter().map(|finding| &*finding.code).collect();
        assert_eq!(codes.join(" "), expected, "{result}");
        assert!(decision.findings.iter().all(|finding| !finding.message.contains("secret")), "{result}");
    }
}

/// A transform is held to no schema. A finding names a result that does not fit any more.
#[test]
fn what_steps_make_of_a_result_is_told_where_it_does_not_fit() {
    let codes = |decision: &Decision| -> Vec<String> {
        decision.findings.iter().map(|finding| finding.code.to_string()).collect()
    };
    let fitting = || CallResult::successful(json!({ "total": 5, "status": "open" }).into());
    for (transforms, expected) in [
        (vec!["dyn({'total': 6.0, 'status': 'open'})"], vec![]),
        (vec!["dyn({'total': 6.0})"], vec!["result_misfit"]),
        (vec!["dyn({'total': 6.0})", "dyn({'total': 7.0, 'status': 'closed'})"], vec![]),
        (vec!["dyn({'total': 6.0, 'status': 'open'})", "dyn('a secret')"], vec!["result_misfit"]),
    ] {
        let steps: Vec<Value> = transforms.iter().map(|text| json!({ "transform": text })).collect();
        let mut task = start(&shop(json!({ "after": steps })), "t-1");
        let decision = after(&mut task, "shop", fitting());
        assert_eq!(
            (decision.verdict.kind(), codes(&decision)),
            (VerdictKind::Allow, expected.iter().map(ToString::to_string).collect()),
            "{transforms:?}"
        );
        assert!(decision.findings.iter().all(|finding| !finding.message.contains("secret")));
        // a failure is held to nothing
        let failed = after(&mut task, "shop", CallResult::errored(json!("no").into()));
        assert_eq!(codes(&failed), [""; 0], "{transforms:?}");
    }
}

/// What a guard sees of a result that breaks its schema is that the call has failed: it stands on record as such, and a
/// rule about what came back never reads a value that its schema excludes.
#[test]
fn guards_see_a_failed_call() {
    let steps = json!({ "after": [
        { "assert": "!has(output.total) || output.total < 100", "error_message": "Too dear." },
    ] });
    let mut task = start(&shop(steps), "t-1");
    let quote = |total: Value| CallResult::successful(json!({ "total": total, "status": "open" }).into());
    assert_eq!(after(&mut task, "shop", quote(json!(5))).verdict.kind(), VerdictKind::Allow);
    assert_eq!(after(&mut task, "shop", quote(json!(500))).verdict.kind(), VerdictKind::Block);
    let decision = after(&mut task, "shop", quote(json!("5 euros")));
    assert_eq!(decision.verdict.kind(), VerdictKind::Allow);
    let told = "`shop` has run, and its result is withheld, for it is not what the tool declares: `output.total`: \
                expected number, found string";
    assert_eq!(serde_json::to_value(decision.verdict.value()).unwrap(), json!({ "error": told }));
    let finding = &decision.findings[0];
    assert_eq!((&*finding.code, &*finding.message), ("output_misfit", told));
    assert_eq!(finding.origin.as_ref().unwrap().path, "actions[0].output");
    let counts = "[context.capabilities.shop.count_successful, context.capabilities.shop.count_errored]";
    assert_eq!(see(&task, counts), json!([1, 1]));
}

/// A call that failed is held to nothing, and ends the task if nothing can recover it; a transform makes what it likes.
#[test]
fn failures_and_transforms_are_held_to_nothing() {
    let mut task = start(&shop(json!({ "after": [{ "transform": "{'masked': output}" }] })), "t-1");
    let failed = CallResult::errored(json!("HTTP 500").into());
    let decision = after(&mut task, "shop", failed);
    assert_eq!(decision.verdict.into_value().unwrap().to_string(), r#"{"masked":"HTTP 500"}"#);
    assert!(decision.findings.is_empty());
    let output = json!({ "why": "unreachable" }).into();
    let lost = CallResult { status: CallStatus::Unrecoverable, ..CallResult::errored(output) };
    assert_eq!(after(&mut task, "shop", lost).verdict.kind(), VerdictKind::Terminate);
    assert_eq!(see(&task, "context.capabilities.shop.outputs[0].why"), json!("unreachable"));
}

/// A result that comes when its task has ended is held to its schema on record, and a call that a step makes fails.
#[test]
fn late_results_and_invoke_steps_are_held_to_schemas() {
    let steps = json!({ "before": [{ "invoke": "check:take" }] });
    let text = format!(
        "{}\n---\n{}\n---\n{}\n",
        tool("shop", &json!({ "type": "object" })),
        tool("check", &json!({ "const": "yes" })),
        agent(json!({ "shop": steps })),
    );
    let engine = engine(&text);
    let mut task = start(&engine, "t-1");
    let mut host = Script {
        results: [json!("yes"), json!("perhaps")].map(|it| CallResult::successful(it.into())).into(),
        ..Script::default()
    };
    let progress = task.before(&call("shop", json!({})), noon()).unwrap();
    let open = progress.drive(&mut host).unwrap().into_decision();
    assert_eq!(open.verdict.kind(), VerdictKind::Allow);
    let progress = task.before(&call("shop", json!({})), noon()).unwrap();
    let decision = progress.drive(&mut host).unwrap().into_decision();
    let codes: Vec<_> = decision.findings.iter().map(|finding| &*finding.code).collect();
    assert_eq!(
        (decision.verdict.kind(), codes),
        (VerdictKind::Block, vec!["output_misfit", "invoke_failed"])
    );
    assert_eq!(see(&task, "context.capabilities.check.errored"), json!([true, false]));
    assert!(!see(&task, "context.capabilities.check.outputs").to_string().contains("perhaps"));
    task.end("done", noon());
    let late = CallResult::successful(json!("no object").into());
    assert_eq!(
        decided(task.after(&open.call.unwrap(), late, noon()).unwrap()).verdict.kind(),
        VerdictKind::Rejected
    );
    assert!(!see(&task, "context.capabilities.shop.outputs").to_string().contains("no object"));
}

/// The model is shown what comes back, with the definitions that the schema refers to.
#[test]
fn offers_have_the_schemas_of_results() {
    let output = json!({ "$ref": "#/$defs/n", "$defs": { "n": { "type": "integer" }, "unused": true } });
    let text = format!("{}\n---\n{}\n", tool("shop", &output), agent(json!({ "shop": "*" })));
    let task = start(&engine(&text), "t-1");
    let offers: Vec<_> = task.offers().map(|offer| offer.output.cloned()).collect();
    assert_eq!(offers, [Some(json!({ "$ref": "#/$defs/n", "$defs": { "n": { "type": "integer" } } }))]);
}

/// The same over HTTP.
#[cfg(feature = "server")]
#[test]
fn the_server_holds_results_to_schemas() {
    use crate::serving::Serving;
    use celador_store::Location;
    let rows = rows();
    let serving = Serving::with(&Location::Memory, |settings, folder| {
        fs::write(folder.join("all.yaml"), manifests(&rows)).unwrap();
        settings.policies = vec![folder.join("all.yaml")];
    });
    let post = |path: &str, body: Value| {
        let headers = [("content-type", "application/json")];
        serving.send("POST", path, &headers, body.to_string().as_bytes()).json()
    };
    let begun = post("/v1/tasks", json!({ "namespace": "demo", "agent": "clerk", "user": { "id": "u-1" } }));
    let id = begun["task"].as_str().unwrap_or_else(|| panic!("{begun}")).to_owned();
    let mut found = Vec::new();
    for (number, row, value, fits) in values(&rows) {
        let admitted = post(
            &format!("/v1/tasks/{id}/before"),
            json!({ "function": format!("r{number}"), "arguments": {} }),
        );
        let result = json!({ "status": "successful", "output": { "v": value } });
        let body = json!({ "call": admitted["decided"]["call"], "result": result });
        let reply = post(&format!("/v1/tasks/{id}/after"), body);
        found.extend(wrong(row, value, fits, &reply["decided"]["value"]));
    }
    none(found);
    let offers = serving.send("GET", &format!("/v1/tasks/{id}/offers"), &[], b"").json();
    assert_eq!(offers["functions"][0]["output_schema"], output(&rows[0]));
}

/// The same in cases, which is what `celador run` and `celador test` do.
#[test]
fn cases_hold_results_to_schemas() {
    let folder = tempfile::tempdir().unwrap();
    let rows = rows();
    let mut count = 0;
    for (at, (number, row, value, fits)) in values(&rows).enumerate() {
        let name = format!("r{number}");
        let case = json!({
            "name": format!("row-{at}"),
            "about": row.word,
            "manifest": { "agent": agent(json!({ name.as_str(): "*" })), "tools": [tool(&name, &output(row))] },
            "call": { "op": "after", "fn": name, "args": {}, "output": { "v": value } },
            "expect": {
                "decision": "allow",
                "context": { format!("context.capabilities.{name}.errored"): [!fits] },
            },
        });
        fs::write(folder.path().join(format!("row-{at}.yaml")), case.to_string()).unwrap();
        count += 1;
    }
    all_pass(folder.path(), count);
}
