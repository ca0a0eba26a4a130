//! Members of objects keep the order in which they came, wherever arguments and results are shown or passed on: through
//! the engine, a task that is stored and opened, every kind of store, cases, recorded tasks, HTTP and the decision log.

#[cfg(feature = "store")]
use crate::store_database::databases;
use crate::task_fixture::{Script, call, decided, manifests, noon, start, text_of};
use celador::cel::Json;
use celador::engine::Engine;
use celador::limits::EvalLimits;
use celador::task::{Call, CallResult, SavedTask, Task, VerdictKind};
#[cfg(feature = "server")]
use celador_server::{Parts, Server, Settings};
#[cfg(feature = "server")]
use celador_store::decision_log::DecisionLog;
#[cfg(feature = "server")]
use celador_store::{Database, Location, StoreLimits};
#[cfg(feature = "store")]
use celador_store::{NewEvent, OperationKind, Owner, StoredTasks};
use proptest::prelude::*;
use std::fs;
use std::path::Path;
use std::process::Command;

/// An agent that shows arguments and results in every text that it has.
const AGENT: &str = "
parameters:
  properties: {order: {type: object, default: {}}}
capabilities:
  parcel:
    before: [{assert: \"input.to != 'nobody'\", error_message: 'Refused {input}'}]
    after:
    - {assert: \"!has(output.bad)\", error_message: 'Withheld {output}'}
    - {transform: \"output.put('zz', input)\"}
exposes: {last: 'context.capabilities.parcel.outputs[0]'}
";

/// A tool whose arguments hold an object.
const PARCEL: &str = "
---
kind: commonagents.info/v1beta2/tool
namespace: demo
name: parcel
description: Sends.
actions:
- name: send
  description: Sends.
  parameters: {properties: {to: {type: string, default: a}, content: {type: object, default: {}}}}
  execute: {stateless_http: {method: POST, url: 'https://svc.example.com/run'}}
";

fn documents(agent: &str) -> String {
    manifests(agent).replace("You are a careful clerk.", "'So far: {context.input[0].order}'") + PARCEL
}

fn engine(agent: &str) -> Engine {
    let (engine, findings) = crate::task_fixture::parse("test.yaml", &documents(agent));
    let errors: Vec<_> = findings.iter().filter(|finding| finding.is_error()).collect();
    assert!(errors.is_empty(), "{}", errors[0].render(false));
    engine
}

/// An object, as text, of members in any order, nested; some have so many members that they keep an index.
fn object() -> impl Strategy<Value = String> {
    let scalar = prop_oneof![Just("1".to_owned()), Just("\"x\"".to_owned()), Just("null".to_owned())];
    let members = |inner: BoxedStrategy<String>| {
        (Just((0..24).collect::<Vec<u8>>()).prop_shuffle(), prop::collection::vec(inner, 1..24)).prop_map(
            |(keys, values)| {
                let members = keys.iter().zip(&values).map(|(key, value)| format!("\"k{key}\":{value}"));
                format!("{{{}}}", members.collect::<Vec<_>>().join(","))
            },
        )
    };
    scalar
        .boxed()
        .prop_recursive(2, 24, 4, move |inner| {
            prop_oneof![members(inner.clone()), inner.prop_map(|one| format!("[{one},{one}]"))]
        })
        .prop_filter("an object", |text| text.starts_with('{'))
}

fn parcel(arguments: &str) -> Call {
    Call::new("parcel", json(arguments))
}

fn json(text: &str) -> Json {
    Json::parse(text, &EvalLimits::default()).unwrap()
}

/// The task, stored as text and opened again.
fn reopened(task: &Task, engine: &Engine) -> Task {
    let text = serde_json::to_string(&task.save()).unwrap();
    engine.restore(serde_json::from_str::<SavedTask>(&text).unwrap()).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, ..ProptestConfig::default() })]

    #[test]
    fn a_document_is_written_as_it_was_read(text in object()) {
        let document = json(&text);
        prop_assert_eq!(document.to_string(), text.clone());
        prop_assert_eq!(serde_json::to_string(&document).unwrap(), text.clone());
        prop_assert_eq!(serde_json::to_value(&document).unwrap().to_string(), text.clone());
        prop_assert_eq!(Json::from(serde_json::from_str::<serde_json::Value>(&text).unwrap()).to_string(), text.clone());
        prop_assert_eq!(Json::from_value(&document.value(), &EvalLimits::default()).unwrap().to_string(), text.clone());
        prop_assert_eq!(document.root().to_json().to_string(), text);
    }

    /// The members of `given`, in their order, through a call: shown, decided, recorded, stored, opened.
    #[test]
    fn a_call_is_shown_and_passed_on_as_it_was_written(given in object(), result in object()) {
        let engine = engine(AGENT);
        let mut task = start(&engine);
        let said = format!(r#"{{"order":{given},"message":"hi"}}"#);
        let admitted = decided(task.input(&json(&said), noon()));
        prop_assert_eq!(admitted.verdict.kind(), VerdictKind::Allow);
        prop_assert_eq!(task.render_prompt(noon()).unwrap(), format!("So far: {given}"));

        let arguments = format!(r#"{{"content":{given},"to":"nobody"}}"#);
        let refused = decided(task.before(&parcel(&arguments), noon()).unwrap());
        prop_assert_eq!(refused.verdict.message().unwrap(), format!("Refused {arguments}"));
        let withheld = arguments.replace("nobody", "b");
        let allowed = decided(task.before(&parcel(&withheld), noon()).unwrap());
        let arguments = text_of(allowed.verdict.value());
        prop_assert_eq!(&arguments, &withheld);
        let result_of = CallResult::successful(json(&result));
        let passed = decided(task.after(&allowed.call.unwrap(), result_of, noon()).unwrap());
        let shown = format!(r#"{},"zz":{arguments}}}"#, result.strip_suffix('}').unwrap());
        prop_assert_eq!(text_of(passed.verdict.value()), shown);

        for task in [&task, &reopened(&task, &engine)] {
            let context = task.context().to_json().unwrap().to_string();
            prop_assert!(context.contains(&format!(r#""outputs":[{result},null]"#)), "{context}");
            prop_assert!(context.contains(&format!(r#""order":{given}"#)), "{context}");
            prop_assert!(context.contains(&format!(r#""inputs":[{arguments},{}]"#, arguments.replace(r#""b""#, r#""nobody""#))), "{context}");
        }
        let spoken = decided(task.output(&json(r#"{"message":"done"}"#), noon()));
        prop_assert_eq!(text_of(spoken.verdict.exposes()), format!(r#"{{"last":{result}}}"#));
    }
}

#[test]
fn arguments_keep_their_order_and_what_is_added_its_place() {
    let engine = engine(
        "parameters: {properties: {order: {type: object, default: {}}}}\ncapabilities: {ledger: {bindings: {account: \"'a-1'\"}}, probe: '*'}",
    );
    let mut task = start(&engine);
    for (function, given, resolved) in [
        ("probe", r#"{"host":"h","depth":2}"#, r#"{"host":"h","depth":2}"#),
        ("probe", r#"{"depth":2,"host":"h"}"#, r#"{"depth":2,"host":"h"}"#),
        ("probe", r#"{"depth":2}"#, r#"{"host":"a","depth":2}"#),
        ("probe", r#"{"other":1,"depth":2,"more":3,"host":"h"}"#, r#"{"depth":2,"host":"h"}"#),
        // declared: account (bound), amount, memo, kind
        (
            "ledger_post_entry",
            r#"{"kind":"debit","memo":"m","amount":1}"#,
            r#"{"account":"a-1","kind":"debit","memo":"m","amount":1}"#,
        ),
        (
            "ledger_post_entry",
            r#"{"kind":"credit","account":"evil","amount":1}"#,
            r#"{"account":"a-1","kind":"credit","memo":"","amount":1}"#,
        ),
    ] {
        let call = Call::new(function, json(given));
        let decision = decided(task.before(&call, noon()).unwrap());
        assert_eq!(text_of(decision.verdict.value()), resolved, "{given}");
    }
}

#[test]
fn a_script_and_what_a_host_is_asked_keep_the_order() {
    let mut task = start(&engine(
        "parameters: {properties: {order: {type: object, default: {}}}}\ncapabilities: {probe: '*'}",
    ));
    let mut host = Script::default();
    host.results.push_back(CallResult::successful(json(r#"{"z":1,"a":{"y":2,"b":3}}"#)));
    let progress = task.script("[probe({'host': 'h', 'depth': 3})]", noon()).unwrap();
    let decision = progress.drive(&mut host).unwrap().into_decision();
    assert_eq!(host.log, [r#"invoke probe {"host":"h","depth":3}"#]);
    assert_eq!(text_of(decision.verdict.value()), r#"[{"z":1,"a":{"y":2,"b":3}}]"#);
    let mut task = start(&engine(
        "parameters: {properties: {order: {type: object, default: {}}}}\ncapabilities: {ledger: {bindings: {account: \"'a'\"}}}",
    ));
    let invoke = call("ledger_post_entry", serde_json::from_str(r#"{"memo":"m","amount":2}"#).unwrap());
    let progress = task.invoke(&invoke, noon()).unwrap();
    let _ = progress.drive(&mut host).unwrap();
    assert_eq!(
        host.log[1],
        r#"invoke ledger_post_entry {"account":"a","memo":"m","amount":2,"kind":"debit"}"#
    );
}

#[cfg(feature = "store")]
#[test]
fn every_store_keeps_the_order() {
    let engine = engine(AGENT);
    let owner = Owner::caller("kim");
    let result = r#"{"z":1,"a":{"y":2,"b":[{"q":1,"c":2}]},"m":null}"#;
    let arguments = r#"{"to":"b","content":{"z":1,"a":2}}"#;
    for (name, database, _folder) in databases() {
        let store = StoredTasks::new(database, &StoreLimits::default());
        let mut task = start(&engine);
        let mut head = store.create(&owner, &task, noon(), None).unwrap();
        let mut call = None;
        for operation in [OperationKind::Before, OperationKind::After] {
            let before = task.mark();
            let decision = decided(match call {
                None => task.before(&parcel(arguments), noon()).unwrap().into_progress(),
                Some(call) => {
                    task.after(&call, CallResult::successful(json(result)), noon()).unwrap().into_progress()
                }
            });
            let (task, at, once) = (&task, noon(), None);
            let step = NewEvent { operation, at, task, before: &before, decision: Some(&decision), once };
            head = store.append(&head, &step).unwrap();
            call = decision.call;
        }
        let opened = engine.restore(store.load(&owner, "t-1").unwrap().saved).unwrap();
        let context = opened.context().to_json().unwrap().to_string();
        assert!(context.contains(&format!(r#""outputs":[{result}]"#)), "{name}: {context}");
        assert!(context.contains(&format!(r#""inputs":[{arguments}]"#)), "{name}: {context}");
        let events = store.events(&owner, "t-1", 0, 10).unwrap();
        let decisions: Vec<_> = events.iter().filter_map(|event| event.decision.as_deref()).collect();
        assert!(decisions[0].contains(arguments), "{name}: {}", decisions[0]);
        assert!(decisions[1].contains(&result[..result.len() - 1]), "{name}: {}", decisions[1]);
    }
}

/// A folder with manifests whose texts show what came.
fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("agent.yaml"), documents(AGENT)).unwrap();
    folder
}

fn celador(folder: &Path, arguments: &[&str]) -> String {
    let output =
        Command::new(env!("CARGO_BIN_EXE_celador")).current_dir(folder).args(arguments).output().unwrap();
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn cases_and_recorded_tasks_show_what_came_in_its_order() {
    let folder = folder();
    let case = "name: order\nabout: The message shows the arguments as they came.\n\
                manifest: {files: [agent.yaml], agent: clerk}\n\
                call: {op: before, fn: parcel, args: {to: nobody, content: {z: 1, a: 2}}}\n\
                expect: {decision: block, message: 'Refused {\"to\":\"nobody\",\"content\":{\"z\":1,\"a\":2}}'}\n";
    fs::write(folder.path().join("order.yaml"), case).unwrap();
    let said = celador(folder.path(), &["test", "order.yaml"]);
    assert!(said.starts_with("1 passed"), "{said}");
    // what differs is shown as it is written and as it was found
    let wrong = case.replace("message: 'Refused", "value: {z: 1, b: 2}, message: 'Refused");
    fs::write(folder.path().join("order.yaml"), wrong).unwrap();
    let said = celador(folder.path(), &["test", "order.yaml", "--format", "json"]);
    assert!(said.contains(r#"{"z":1,"b":2}"#), "{said}");

    let script = "agent: clerk\nenv: {now: '2026-06-01T08:00:00Z', task: {id: t, started_at: '2026-06-01T08:00:00Z'}}\nsteps:\n\
                  - at: '2026-06-01T08:00:00Z'\n  call: {id: c1, fn: parcel, args: {to: b, content: {z: 1, a: 2}}}\n  \
                  result: {status: successful, output: {z: 1, a: {y: 2, b: 3}}}\n";
    fs::write(folder.path().join("task.yaml"), script).unwrap();
    for format in ["human", "json"] {
        let said = celador(folder.path(), &["run", "agent.yaml", "task.yaml", "--format", format]);
        for part in [r#"{"to":"b","content":{"z":1,"a":2}}"#, r#"{"z":1,"a":{"y":2,"b":3}"#] {
            assert!(said.contains(part), "{format}: {said}");
        }
    }
}

#[cfg(feature = "server")]
#[test]
fn answers_over_http_and_the_decision_log_keep_the_order() {
    let (folder, log) = (folder(), tempfile::tempdir().unwrap());
    let written =
        DecisionLog::open(celador_store::decision_log::LogSettings::new(log.path()), noon()).unwrap();
    let mut settings = Settings::new(vec![folder.path().to_owned()]);
    settings.address.set_port(0);
    settings.log_content = true;
    let database = Database::open(&Location::Memory, &StoreLimits::default()).unwrap();
    let parts = Parts { clock: std::sync::Arc::new(noon), database, log: Some(written) };
    let server = Server::start(settings, parts).unwrap_or_else(|error| panic!("{error}"));
    let base = format!("http://{}", server.address());
    let post = |path: &str, body: &str| {
        let request = ureq::post(format!("{base}{path}")).header("content-type", "application/json");
        request.send(body).unwrap().body_mut().read_to_string().unwrap()
    };
    let created = post("/v1/tasks", r#"{"namespace":"demo","agent":"clerk","user":{"id":"u-1"}}"#);
    let created: serde_json::Value = serde_json::from_str(&created).unwrap();
    let task = format!("/v1/tasks/{}", created["task"].as_str().unwrap());
    let arguments = r#"{"content":{"z":1,"a":{"y":2,"b":3}},"to":"b"}"#;
    let allowed =
        post(&format!("{task}/before"), &format!(r#"{{"function":"parcel","arguments":{arguments}}}"#));
    assert!(allowed.contains(arguments), "{allowed}");
    let result = r#"{"z":1,"a":{"y":2,"b":3}"#;
    let body = format!(r#"{{"call":"1","result":{{"status":"successful","output":{result}}}}}}}"#);
    let passed = post(&format!("{task}/after"), &body);
    assert!(passed.contains(&format!(r#"{result},"zz":{arguments}}}"#)), "{passed}");
    let context =
        ureq::get(format!("{base}{task}/context")).call().unwrap().body_mut().read_to_string().unwrap();
    assert!(context.contains(result) && context.contains(arguments), "{context}");
    server.stop();
    let lines = fs::read_dir(log.path()).unwrap().map(|file| fs::read_to_string(file.unwrap().path()));
    let lines: String = lines.map(Result::unwrap_or_default).collect();
    assert!(lines.contains(result) && lines.contains(arguments), "{lines}");
}
