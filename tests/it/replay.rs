//! Recorded tasks judged anew: lines, a decision log and a store of a real server, recorded tasks; differences, bounds, parts.

use crate::serving::{SCOPES, Serving};
use crate::shop_fixture::{shop_agent, shop_tool};
use celador::replay::{NotJudged, Recorded, RecordedStep, Replayer, Tally};
use celador::task::{Operation, Ran};
use celador::{Engine, EngineLimits, VerdictKind};
use celador_store::decision_log::{DecisionLog, LogSettings, LoggedDecision, Recording};
use celador_store::{Database, Location, StoreLimits};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

/// An agent whose refunds come to 100 in all its tasks.
const COUNTED: &str = concat!(
    shop_tool!("payments", "refund" takes "{amount: {type: number}}"),
    shop_agent!("clerk", "payments: {include: [refund]}"),
    r#"---
kind: celador/v1/policy
namespace: shop
name: money
counters:
  spend: {on: payments, window: ever, add: input.amount}
capabilities:
  payments:
    before:
      - assert: counters.spend + input.amount <= 100
"#
);

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn engine(folder: &str) -> Arc<Engine> {
    Arc::new(Engine::open(&[root().join(folder)], EngineLimits::default()).unwrap())
}

/// What comes of lines under policies.
fn judged(mut replayer: Replayer, lines: &[Value]) -> Tally {
    for line in lines {
        replayer.step(&Recorded::parse(line.to_string().as_bytes(), &EngineLimits::default()).unwrap());
    }
    replayer.into_tally()
}

fn rows(tally: &Tally) -> Vec<String> {
    let rows = tally.rows();
    let rows = rows.iter().map(|row| {
        let kind = &row.kind;
        let by = kind.is_by.as_ref().or(kind.was_by.as_ref()).map_or("-", String::as_str);
        let function = kind.function.as_deref().unwrap_or("-");
        format!("{} {function} {}>{} {by} x{}", kind.operation, kind.was, kind.is, row.count)
    });
    rows.collect()
}

fn line(task: &str, step: Value) -> Value {
    let mut line = json!({ "task": task, "agent": "shop/clerk", "at": "2026-06-01T12:00:00Z" });
    line.as_object_mut().unwrap().extend(step.as_object().unwrap().clone());
    line
}

fn call(id: &str, amount: i64, verdict: &str) -> Value {
    line(
        "t",
        json!({ "call": { "id": id, "fn": "payout", "args": { "amount": amount } }, "verdict": verdict }),
    )
}

fn result(id: &str) -> Value {
    line("t", json!({ "result": { "id": id, "output": { "paid": true } }, "verdict": "allow" }))
}

#[test]
fn each_step_is_judged_on_what_was_recorded() {
    let said = line("t", json!({ "input": { "message": "Pay." }, "verdict": "allow" }));
    let first = || Replayer::new(engine("examples/first-policy"));
    // what was decided alike
    let alike =
        judged(first(), &[said.clone(), call("c1", 40, "allow"), result("c1"), call("c2", 2000, "block")]);
    assert_eq!((alike.decisions, alike.flips(), alike.tasks), (4, 0, 1), "{:?}", alike.rows());
    // a call that ran and would be stopped is on record as one that ran, so that its result is taken
    let stopped =
        judged(first(), &[said.clone(), call("c1", 2000, "allow"), result("c1"), call("c2", 40, "allow")]);
    assert_eq!(rows(&stopped), ["before payout allow>block capabilities.payout.before[0].assert x1"]);
    assert_eq!((stopped.decisions, stopped.not_judged.len()), (4, 0));
    // one that was stopped and would run is taken back, so that nothing waits for its result
    let let_by =
        judged(first(), &[said.clone(), call("c1", 40, "block"), call("c2", 60, "allow"), result("c2")]);
    assert_eq!(rows(&let_by), ["before payout block>allow - x1"]);
    // a review that nobody was asked for is answered as the call went on
    let asked =
        judged(first(), &[said.clone(), call("c1", 250, "allow"), result("c1"), call("c2", 40, "allow")]);
    assert_eq!(rows(&asked), ["before payout allow>suspend capabilities.payout.before[1].assert x1"]);
    assert_eq!((asked.decisions, asked.not_judged.len()), (4, 0));
    // a review that was recorded is answered as it was
    let review = |verdict: &str, came: &str| {
        line("t", json!({ "review": { "call": "c1", "verdict": verdict }, "verdict": came }))
    };
    let answered = [said.clone(), call("c1", 250, "suspend"), review("approved", "allow"), result("c1")];
    assert_eq!(rows(&judged(first(), &answered)), [""; 0]);
    let denied = [said, call("c1", 250, "suspend"), review("denied", "block"), call("c2", 40, "allow")];
    assert_eq!(rows(&judged(first(), &denied)), [""; 0]);
}

/// Two tasks under way have calls of one name, and each call holds an amount of its own.
#[test]
fn what_a_call_holds_is_that_of_its_task() {
    let engine = Arc::new(Engine::parse("shop.yaml", COUNTED).unwrap());
    let said = |task| line(task, json!({ "input": { "message": "Pay." }, "verdict": "allow" }));
    let pays = |task, id, amount: i64, verdict| {
        let call = json!({ "id": id, "fn": "payments", "args": { "amount": amount } });
        line(task, json!({ "call": call, "verdict": verdict }))
    };
    let paid = |task, id| line(task, json!({ "result": { "id": id, "output": {} }, "verdict": "allow" }));
    let lines = [
        said("t-1"),
        said("t-2"),
        pays("t-1", "c1", 40, "allow"),
        pays("t-2", "c1", 50, "allow"),
        paid("t-1", "c1"),
        // it has not run, so its 50 are given back
        line("t-2", json!({ "withdraw": { "id": "c1", "ran": false } })),
        pays("t-1", "c2", 60, "allow"),
        pays("t-2", "c2", 1, "block"),
    ];
    let tally = judged(Replayer::new(engine), &lines);
    assert_eq!((tally.decisions, rows(&tally)), (7, Vec::new()), "{:?}", tally.not_judged);
}

#[test]
fn policies_are_compared_with_policies_to_the_value() {
    let old = engine("examples/first-policy");
    let text = std::fs::read_to_string(root().join("examples/first-policy/agent.yaml")).unwrap();
    let changed = text.replace("customer: context.user.id", "customer: context.user.id + '-x'");
    let new = Arc::new(Engine::parse("agent.yaml", &changed).unwrap());
    // what was recorded does not matter then
    let lines = [
        line("t", json!({ "input": { "message": "Pay." } })),
        call("c1", 40, "block"),
        call("c2", 2000, "allow"),
    ];
    let tally = judged(Replayer::new(new).against(old.clone()), &lines);
    assert_eq!(rows(&tally), ["before payout allow>allow - x1"]);
    assert!(tally.rows()[0].kind.other_value);
    let same = judged(Replayer::new(old.clone()).against(old), &lines);
    assert_eq!((same.decisions, same.flips()), (3, 0));
}

#[test]
fn what_cannot_be_judged_is_counted_and_parts_add_up() {
    let policies = || engine("examples/first-policy");
    let nobody =
        json!({ "task": "u", "agent": "shop/nobody", "input": { "message": "Hi." }, "verdict": "allow" });
    let silent = json!({ "task": "v", "agent": "clerk", "input": { "message": "Hi." } });
    let first = judged(Replayer::new(policies()), &[nobody, silent, call("c1", 2000, "allow")]);
    assert_eq!(first.not_judged[&NotJudged::NoAgent], 1);
    // a part that has the end of a task alone
    let end = json!({ "task": "w", "output": { "message": "Bye." }, "verdict": "allow" });
    assert_eq!(judged(Replayer::new(policies()), &[end]).not_judged[&NotJudged::NoBeginning], 1);
    assert_eq!(first.not_judged[&NotJudged::NothingToCompare], 1);
    assert_eq!((first.decisions, first.flips()), (1, 1));
    let second = judged(Replayer::new(policies()), &[call("c1", 3000, "allow"), call("c2", 40, "allow")]);
    let mut whole = Tally::from_json(&first.to_json().to_string()).unwrap();
    assert_eq!(whole.to_json(), first.to_json());
    whole.add(&second);
    assert_eq!((whole.decisions, whole.flips(), whole.rows().len()), (3, 2, 1));
    assert_eq!(whole.rows()[0].kind.is, VerdictKind::Block);
    // tasks that rested longest make room, and are told of
    let mut few = Replayer::new(policies()).with_max_tasks(4);
    for task in 0..100 {
        let line = line(&format!("t-{task}"), json!({ "input": { "message": "Hi." }, "verdict": "allow" }));
        few.step(&Recorded::parse(line.to_string().as_bytes(), &EngineLimits::default()).unwrap());
    }
    let late = json!({ "task": "t-0", "output": { "message": "Bye." }, "verdict": "allow" });
    few.step(&Recorded::parse(late.to_string().as_bytes(), &EngineLimits::default()).unwrap());
    assert_eq!((few.tally().decisions, few.tally().not_judged[&NotJudged::PutAside]), (100, 1));
}

#[test]
fn a_logged_withdrawal_says_itself_whether_the_call_has_run() {
    for (said, expected) in [(json!(false), Ran::Never), (json!("unknown"), Ran::Unknown)] {
        let line = json!({
            "at": "2026-06-01T12:00:00Z", "task": "t-1", "namespace": "shop", "agent": "clerk",
            "operation": "withdraw", "verdict": "error",
            "content": { "request": { "call": "unknown-7", "ran": said }, "answer": {} },
        });
        let line: LoggedDecision = serde_json::from_str(&line.to_string()).unwrap();
        let steps = Recording::default().take(line);
        assert!(
            matches!(
                &*steps,
                [Recorded { step: RecordedStep::Operation(Operation::Withdraw { ran, .. }), .. }] if *ran == expected
            ),
            "{steps:?}"
        );
    }
}

/// Lines of a decision log: the operation, its verdict, the request, and the operations of the steps that are made of it.
#[test]
fn a_logged_line_becomes_the_steps_of_its_operation() {
    let call = json!({ "id": "c1", "function": "payout", "arguments": { "amount": 40 } });
    let result = |call: &str| json!({ "call": call, "result": { "status": "successful", "output": {} } });
    let event = |request| json!({ "capability": "desk", "event": "signed", "request": request });
    let (claim, review) = (json!({ "call": "c1", "claimant": "w" }), json!({ "answer": { "review": true } }));
    for (operation, verdict, request, expected) in [
        ("input", "allow", json!("Hi."), &["input"][..]),
        ("output", "allow", json!({ "message": "Bye." }), &["output"]),
        ("before", "allow", call.clone(), &["before"]),
        ("invoke", "allow", call.clone(), &["before"]),
        (
            "turn",
            "allow",
            json!({ "calls": [call.clone(), { "function": "payout", "arguments": {} }] }),
            &["turn"],
        ),
        ("model_turn", "allow", json!({ "prompt_tokens": 3, "completion_tokens": 4 }), &["model_turn"]),
        ("after", "allow", result("c1"), &["after"]),
        ("results", "allow", json!({ "results": [result("c1"), result("c2")] }), &["after", "after"]),
        ("results", "allow", json!({ "results": [] }), &[]),
        ("withdraw", "block", json!({ "call": "c1", "ran": false }), &["withdraw"]),
        ("claim", "allow", claim.clone(), &[]),
        ("claim", "block", claim.clone(), &["withdraw"]),
        ("release", "allow", claim, &[]),
        ("review", "allow", review, &["review"]),
        ("unlock", "allow", json!({ "reason": "It was a mistake." }), &["unlock"]),
        ("unlock", "allow", json!({ "reason": "It was a mistake.", "owner": "kim" }), &["unlock"]),
        ("event", "route", event(json!({ "headers": [], "body": "{}" })), &["event"]),
        ("event", "route", event(json!("***")), &["other"]),
        ("before", "allow", json!("***"), &["other"]),
        ("before", "allow", Value::Null, &["other"]),
        ("after", "allow", json!({ "call": "c1" }), &["other"]),
        ("Before", "allow", call.clone(), &["other"]),
        (r#"input": 1, "before"#, "allow", call, &["other"]),
        ("another", "allow", json!({}), &["other"]),
    ] {
        let line = json!({
            "at": "2026-06-01T12:00:00Z", "task": "t-1", "namespace": "shop", "agent": "clerk",
            "operation": operation, "verdict": verdict, "content": { "request": request, "answer": {} },
        });
        let line: LoggedDecision = serde_json::from_str(&line.to_string()).unwrap();
        let steps = Recording::default().take(line);
        let operations: Vec<_> = steps.iter().map(|recorded| recorded.step.operation()).collect();
        assert_eq!(operations, expected, "{operation}");
        // each call has an id, so that later steps can name it
        let calls = steps.iter().flat_map(|recorded| match &recorded.step {
            RecordedStep::Operation(Operation::Before(call)) => std::slice::from_ref(call),
            RecordedStep::Operation(Operation::Turn(turn)) => &turn.calls,
            _ => &[],
        });
        assert!(calls.into_iter().all(|call| call.id.is_some()), "{steps:?}");
    }
}

#[test]
fn a_line_that_is_no_step_is_refused_without_its_values() {
    let limits = EngineLimits::default();
    let said = |line: &str| Recorded::parse(line.as_bytes(), &limits).unwrap_err().to_string();
    assert!(said(r#"{"task": "t", "verdict": "allow"}"#).contains("exactly one of"));
    assert!(said(r#"{"task": "t", "input": {}, "output": {}}"#).contains("exactly one of"));
    assert!(said(r#"{"task": "t", "result": {}}"#).contains("names the call by its `id`"));
    assert!(said(r#"{"task": "t", "at": "hunter2", "input": {}}"#).contains("no time of RFC 3339"));
    assert!(said(r#"{"task": "t", "withdraw": {"id": "c", "ran": true}}"#).contains("`false` or `unknown`"));
    assert!(
        said(r#"{"task": "t", "input": {}, "verdict": "hunter2"}"#)
            .contains("a value that does not fit at line 1")
    );
    assert!(said(r#"{"task": "t", "result": {"id": "c", "status": "hunter2"}}"#).contains("expected"));
    let values =
        [r#"{"task": "t", "input": {}, "verdict": "hunter2"}"#, r#"{"task": "t", "hunter2": {}}"#, "hunter2"];
    for line in ["", "[]", "{", r#"{"task": 7}"#, r#"{"task": "t", "inptu": {}}"#, "\u{feff}{}"]
        .into_iter()
        .chain(values)
    {
        assert!(!said(line).contains("hunter2"), "{line}");
    }
    let mut small = EngineLimits::default();
    small.eval.max_json_bytes = 10;
    assert!(
        Recorded::parse(br#"{"task": "t", "input": {}}"#, &small)
            .unwrap_err()
            .to_string()
            .contains("max_json_bytes")
    );
}

/// A server with a store and a log with content, and a task that has gone through calls, a review and results.
#[test]
fn a_decision_log_and_a_store_are_judged_anew() {
    let data = tempfile::tempdir().unwrap();
    let (store, logs) = (data.path().join("tasks.db"), data.path().join("log"));
    let database = Database::open(&Location::File(store.clone()), &StoreLimits::default()).unwrap();
    let log = DecisionLog::open(LogSettings::new(&logs), crate::task_fixture::noon()).unwrap();
    let serving = Serving::over_log(database, log, |settings, _| {
        settings.policies = vec![root().join("examples/first-policy")];
        settings.log_content = true;
    });
    let token = serving.token("kim", &SCOPES);
    let post = |path: &str, body: &Value| {
        let reply = serving.post_as(&token, path, body);
        assert!(reply.status < 300, "{path}: {}", reply.text());
        reply.json()
    };
    let new = json!({ "namespace": "shop", "agent": "clerk", "user": { "id": "u-7" } });
    let task = format!("/v1/tasks/{}", post("/v1/tasks", &new)["task"].as_str().unwrap());
    let step = |step: &str, body: Value| post(&format!("{task}/{step}"), &body);
    step("input", json!({ "message": "Pay." }));
    let pay = |id: &str, amount: i64| {
        step("before", json!({ "id": id, "function": "payout", "arguments": { "amount": amount } }))
    };
    let result = |call: &str| {
        step("after", json!({ "call": call, "result": { "status": "successful", "output": {} } }))
    };
    pay("c1", 40);
    result("c1");
    pay("c2", 2000);
    pay("c3", 250);
    step("resume", json!({ "answer": { "review": { "answer": "approve" } } }));
    result("c3");
    pay("c4", 60);
    result("c4");
    step("output", json!({ "message": "Done." }));
    drop(serving);

    let replay = |arguments: &[&str]| {
        let output = Command::new(env!("CARGO_BIN_EXE_celador"))
            .args(["replay", "--format", "json"])
            .args(arguments)
            .current_dir(root())
            .output()
            .unwrap();
        let lines = String::from_utf8(output.stdout).unwrap();
        let lines: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        (output.status.code().unwrap(), lines, String::from_utf8(output.stderr).unwrap())
    };
    let text = |path: &Path| path.display().to_string();
    for source in [vec![text(&logs)], vec!["--store".to_owned(), text(&store)]] {
        let source: Vec<&str> = source.iter().map(String::as_str).collect();
        let (code, lines, said) = replay(&[&source[..], &["--policies", "examples/first-policy"]].concat());
        assert_eq!((code, lines.len()), (0, 1), "{source:?} {lines:?} {said}");
        // an input, four calls, three results, an answer and a response
        assert_eq!((&lines[0]["decisions"], &lines[0]["flips"]), (&json!(10), &json!(0)), "{lines:?}");
        let (code, lines, said) =
            replay(&[&source[..], &["--policies", "tests/data/replay/stricter"]].concat());
        assert_eq!(code, 2, "{said}");
        let flips: Vec<String> = lines[..lines.len() - 1]
            .iter()
            .map(|row| format!("{} {} {}>{}", row["operation"], row["function"], row["was"], row["is"]))
            .collect();
        assert_eq!(flips, [r#""before" "payout" "allow">"suspend""#], "60 is asked for now: {lines:?}");
    }
}
