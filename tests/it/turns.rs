//! A whole turn in one operation, results of several calls in one, and rules of the shipped policies that hold when a model asks
//! for fifty things at once, in one process and with two servers over one Postgres.

use crate::servers::PostgresServer;
use crate::serving::Serving;
use crate::task_fixture::{call, decided, engine, noon, see, start, task};
use celador::Engine;
use celador::limits::EngineLimits;
use celador::task::{
    Answer, Call, CallId, CallResult, DecidedCall, Decision, Request, StartTask, Task, TaskError, Turn,
    Usage, User, VerdictKind,
};
use celador_store::{Database, Location, StoreLimits};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::Mutex;

const DESK: &str = r#"
limits: {max_prompt_tokens: 100}
capabilities:
  probe:
    before:
    - assert: input.depth < 5 || review('lead')
  ledger:
    before:
    - match: post-entry
      assert: c.cap.ledger_lookup.count_successful > 0
      error_message: Look first.
    - match: post-entry
      assert: c.cap.ledger_post_entry.count_successful < 1
      error_message: Once.
"#;

fn turn(calls: impl IntoIterator<Item = Call>) -> Turn {
    Turn {
        usage: Usage { prompt_tokens: 10, completion_tokens: 2, ..Usage::default() },
        calls: calls.into_iter().collect(),
    }
}

fn probe(id: &str, depth: i64) -> Call {
    call("probe", json!({"depth": depth})).with_id(id)
}

fn lookup(id: &str) -> Call {
    call("ledger_lookup", json!({"account": "a"})).with_id(id)
}

fn entry(id: &str) -> Call {
    call("ledger_post_entry", json!({"account": "a", "amount": 1})).with_id(id)
}

fn done() -> CallResult {
    CallResult::successful(json!({"ok": true}).into())
}

fn verdicts(calls: &[DecidedCall]) -> Vec<(&str, VerdictKind)> {
    calls.iter().map(|decided| (decided.call.as_str(), decided.decision.verdict.kind())).collect()
}

#[test]
fn a_turn_is_what_its_parts_would_be() {
    let calls = [probe("a", 1), lookup("b"), entry("c"), probe("d", 9), call("nope", json!({})).with_id("e")];
    let mut whole = task(DESK);
    let turned = whole.turn(&turn(calls.clone()), noon()).unwrap();
    let mut parts = task(DESK);
    let limits = parts.model_turn(turn([]).usage, noon());
    assert_eq!(turned.limits, limits);
    for (call, decided) in calls.iter().zip(&turned.calls) {
        let decision = parts.before(call, noon()).unwrap().outcome().into_decision();
        assert_eq!(decided.decision, decision, "{call:?}");
    }
    let expected = [
        ("a", VerdictKind::Allow),
        ("b", VerdictKind::Allow),
        ("c", VerdictKind::Wait),
        ("d", VerdictKind::Suspend),
        ("e", VerdictKind::Error),
    ];
    assert_eq!(verdicts(&turned.calls), expected);
    assert_eq!(serde_json::to_string(&whole.save()).unwrap(), serde_json::to_string(&parts.save()).unwrap());
}

#[test]
fn what_a_rule_needs_and_what_it_guards_come_in_one_turn() {
    let mut task = task(DESK);
    let turned = task.turn(&turn([lookup("look"), entry("one"), entry("two")]), noon()).unwrap();
    let waits: Vec<_> = turned.calls.iter().map(|it| it.decision.verdict.waits_for().len()).collect();
    assert_eq!(waits, [0, 1, 2]);
    let reported = task.results(vec![("look".into(), done())], noon()).unwrap();
    assert_eq!(verdicts(&reported.calls), [("look", VerdictKind::Allow)]);
    assert_eq!(verdicts(&reported.decided), [("one", VerdictKind::Allow)]);
    let reported = task.results(vec![("one".into(), done())], noon()).unwrap();
    assert_eq!(verdicts(&reported.decided), [("two", VerdictKind::Block)]);
}

#[test]
fn a_turn_beyond_the_limits_lets_nothing_through() {
    let mut task = task(DESK);
    let usage = Usage { prompt_tokens: 101, completion_tokens: 0, ..Usage::default() };
    let turned = task.turn(&Turn { usage, calls: vec![probe("a", 1)] }, noon()).unwrap();
    assert_eq!(turned.limits.verdict.kind(), VerdictKind::Terminate);
    assert_eq!(verdicts(&turned.calls), [("a", VerdictKind::Rejected)]);
    assert_eq!(
        see(&task, "context._history.turns.filter(t, t == 'llm').size()"),
        json!(1),
        "it was made, and is on record"
    );
}

#[test]
fn a_turn_is_taken_whole_or_not_at_all() {
    let mut task = task(DESK);
    task.turn(&turn([probe("a", 1)]), noon()).unwrap();
    let before = serde_json::to_string(&task.save()).unwrap();
    let long = "x".repeat(257);
    type IsTold = fn(&TaskError) -> bool;
    let wrong: [(Vec<Call>, IsTold); 3] = [
        (vec![probe("b", 1), probe("b", 1)], |it| matches!(it, TaskError::CallExists(_))),
        (vec![probe("b", 1), probe("a", 2)], |it| matches!(it, TaskError::CallExists(_))),
        (vec![probe("b", 1), probe(&long, 1)], |it| matches!(it, TaskError::BadCallId { .. })),
    ];
    for (calls, is_told) in wrong {
        let error = task.turn(&turn(calls), noon()).unwrap_err();
        assert!(is_told(&error), "{error}");
        assert_eq!(serde_json::to_string(&task.save()).unwrap(), before);
    }
    let results = vec![(CallId::from("a"), done()), ("b".into(), done())];
    assert!(matches!(task.results(results, noon()).unwrap_err(), TaskError::UnknownCall(_)));
    let twice = vec![(CallId::from("a"), done()), ("a".into(), done())];
    assert!(matches!(task.results(twice, noon()).unwrap_err(), TaskError::OtherResult(_)));
    assert_eq!(serde_json::to_string(&task.save()).unwrap(), before);
}

#[test]
fn a_turn_that_comes_again_is_not_counted_again() {
    let mut task = task(DESK);
    let first = turn([probe("a", 1), entry("b")]);
    let turned = task.turn(&first, noon()).unwrap();
    let before = serde_json::to_string(&task.save()).unwrap();
    let again = task.turn(&first, noon()).unwrap();
    assert_eq!(verdicts(&again.calls), verdicts(&turned.calls));
    assert!(again.limits.is_allowed());
    assert_eq!(serde_json::to_string(&task.save()).unwrap(), before);
    // with a call that is new, it is another turn
    task.turn(&turn([probe("a", 1), probe("c", 1)]), noon()).unwrap();
    assert_eq!(see(&task, "context._history.turns.filter(t, t == 'llm').size()"), json!(2));
}

#[test]
fn calls_without_ids_get_some() {
    let mut task = task(DESK);
    let calls =
        [call("probe", json!({"depth": 1})), call("nope", json!({})), call("probe", json!({"depth": 2}))];
    let turned = task.turn(&turn(calls), noon()).unwrap();
    let ids: Vec<_> = turned.calls.iter().map(|decided| decided.call.clone()).collect();
    assert!(ids[0] != ids[1] && ids[1] != ids[2] && ids[0] != ids[2], "{ids:?}");
    assert_eq!(turned.calls[0].decision.call.as_ref(), Some(&ids[0]));
}

/// A shipped policy with room for so many calls, in a folder.
fn shipped(name: &str, folder: &Path) {
    fn copy(from: &Path, to: &Path) {
        fs::create_dir_all(to).unwrap();
        for entry in fs::read_dir(from).unwrap() {
            let path = entry.unwrap().path();
            let target = to.join(path.file_name().unwrap());
            if path.is_dir() {
                copy(&path, &target);
            } else {
                let text = fs::read_to_string(&path).unwrap();
                let roomy: Vec<_> =
                    text.lines()
                        .map(|line| {
                            if line.starts_with("  max_tool_calls:") { "  max_tool_calls: 500" } else { line }
                        })
                        .collect();
                fs::write(target, roomy.join("\n")).unwrap();
            }
        }
    }
    copy(&Path::new(env!("CARGO_MANIFEST_DIR")).join("policies").join(name), folder);
    // cases are about the policy as it is shipped
    let _ = fs::remove_dir_all(folder.join("cases"));
}

fn opened(name: &str) -> (tempfile::TempDir, Engine) {
    let folder = tempfile::tempdir().unwrap();
    shipped(name, folder.path());
    let engine = Engine::open(&[folder.path()], EngineLimits::default()).unwrap();
    (folder, engine)
}

fn begin(engine: &Engine, namespace: &str, agent: &str) -> Task {
    let user = User { id: "u-7".into(), email: Some("kim@example.com".into()), ..User::default() };
    engine.start(StartTask::new("t-1", namespace, agent, user, noon())).unwrap()
}

/// What tools give: a ticket, a harmless score, and else that it is done.
fn result_of(function: &str) -> Value {
    match function {
        "zendesk_fetch_ticket" => json!({
            "id": "T-1041", "status": "open", "subject": "Lamp", "description": "In pieces.", "order_id": "ord-77",
            "order_total": 240, "customer_id": "cus-5", "internal_notes": "none"
        }),
        "fraud_check" | "fraud_check_score" => json!({"score": 3}),
        "payments_refund" => json!({"id": "re-1", "state": "done", "amount": 80}),
        _ => json!({"ok": true}),
    }
}

/// Carries out what is asked and reports what was let through, in no order in particular, until nothing is open; how often each
/// function was let through.
fn carry_out(task: &mut Task, first: Vec<DecidedCall>) -> BTreeMap<String, usize> {
    let mut through: BTreeMap<String, usize> = BTreeMap::new();
    let mut open: Vec<(CallId, String)> = Vec::new();
    let mut news = first;
    loop {
        for DecidedCall { call, function, decision, .. } in std::mem::take(&mut news) {
            if decision.verdict.kind() == VerdictKind::Allow {
                *through.entry(function.clone()).or_default() += 1;
                open.push((call, function));
            }
        }
        let told: Decision = if let Some(question) = task.questions().last() {
            let Request::Invoke(invocation) = &question.request else { panic!("{question:?}") };
            let call = task.suspension_at(question.id).unwrap().call.unwrap();
            let result = CallResult::successful(result_of(&invocation.function).into());
            let progress = task.answer(question.id, Answer::Result(result), noon()).unwrap();
            let told = progress.outcome().into_decision();
            if told.verdict.kind() == VerdictKind::Allow {
                *through.entry("payments_refund".into()).or_default() += 1;
                open.push((call, "payments_refund".into()));
            }
            told
        } else if let Some((call, function)) = open.pop() {
            let result = CallResult::successful(result_of(&function).into());
            decided(task.after(&call, result, noon()).unwrap())
        } else {
            assert_eq!(task.queued().count(), 0, "nothing is open, and calls wait");
            return through;
        };
        news.extend(told.decided);
    }
}

#[test]
fn one_refund_stays_one_in_a_turn_of_fifty() {
    let (_folder, engine) = opened("support-desk");
    let mut task = begin(&engine, "support", "support-desk");
    let input = json!({"message": "Please see to this.", "ticket_id": "T-1041"}).into();
    assert!(decided(task.input(&input, noon())).is_allowed());
    let fetch = call("zendesk_fetch_ticket", json!({}));
    let refunds = (0..49).map(|_| call("payments_refund", json!({"amount": 80, "reason": "Broken."})));
    let turned = task.turn(&turn(std::iter::once(fetch).chain(refunds)), noon()).unwrap();
    let waiting = turned.calls.iter().filter(|it| it.decision.verdict.kind() == VerdictKind::Wait).count();
    assert_eq!(waiting, 49, "each depends on the ticket");
    let through = carry_out(&mut task, turned.calls);
    assert_eq!(through["payments_refund"], 1);
    assert_eq!(see(&task, "c.cap.payments_refund.count_successful"), json!(1));
    assert_eq!(see(&task, "c.cap.payments_refund.count_restricted"), json!(48));
    assert_eq!(see(&task, "c.cap.audit_log.count_successful"), json!(1));
}

#[test]
fn three_pages_stay_three_in_a_turn_of_fifty() {
    let (_folder, engine) = opened("operations-agent");
    let mut task = begin(&engine, "operations", "operations-agent");
    assert!(decided(task.input(&json!({"message": "Look into it."}).into(), noon())).is_allowed());
    let pages = (0..50).map(|_| call("pager_page", json!({"text": "help"})));
    let turned = task.turn(&turn(pages), noon()).unwrap();
    let through = carry_out(&mut task, turned.calls);
    assert_eq!(through["pager_page"], 3);
}

/// A sum of money, and a "once" that a failure gives back.
#[test]
fn sums_hold_in_a_turn_of_fifty() {
    let agent = r#"
capabilities:
  ledger:
    before:
    - match: post-entry
      assert: >-
        input.amount + cel.bind(spent, c.cap.ledger_post_entry.inputs,
          7 * size(spent.filter(i, i.amount == 7))
            + 8 * size(spent.filter(i, i.amount == 8)) + 9 * size(spent.filter(i, i.amount == 9))) <= 100
"#;
    let engine = engine(agent);
    let mut task = start(&engine);
    let entries = (0..50).map(|at| call("ledger_post_entry", json!({"account": "a", "amount": 7 + at % 3})));
    let turned = task.turn(&turn(entries), noon()).unwrap();
    carry_out(&mut task, turned.calls);
    let spent = task
        .context()
        .invocations()
        .filter(|record| record.output.is_some())
        .map(|record| record.input.root().get("amount").and_then(|it| it.as_int()).unwrap())
        .sum::<i64>();
    assert!(spent <= 100 && spent > 90, "{spent} of 100");
}

/// Fifty threads, each with one call, over two servers of one store: they report what was let through, carry out what is asked and
/// read how far a call is that waits.
fn in_parallel(servers: &[Serving; 2], path: &str, calls: &[Value]) -> BTreeMap<String, usize> {
    let through: Mutex<BTreeMap<String, usize>> = Mutex::default();
    let settled = |reply: &Value| -> Option<(String, Value)> {
        if let Some(asks) = reply.get("asks") {
            return Some(("suspend".into(), asks.clone()));
        }
        let verdict = reply["decided"]["verdict"].as_str()?.to_owned();
        (verdict != "wait").then_some((verdict, Value::Null))
    };
    std::thread::scope(|scope| {
        for (at, call) in calls.iter().enumerate() {
            let through = &through;
            scope.spawn(move || {
                let post = |turn: usize, step: &str, body: &Value| {
                    loop {
                        let reply = servers[turn % 2].post(&format!("{path}/{step}"), body);
                        if reply.status == 200 {
                            return reply.json();
                        }
                        // two servers over one task are in each other's way, and say so
                        assert!(matches!(reply.status, 409 | 503), "{}", reply.text());
                        assert!(
                            reply.text().contains("contended") || reply.status == 503,
                            "{}",
                            reply.text()
                        );
                    }
                };
                let id = call["id"].as_str().unwrap();
                let mut reply = post(at, "before", call);
                for turn in at + 1.. {
                    match settled(&reply) {
                        None => {
                            std::thread::sleep(std::time::Duration::from_millis(5));
                            reply = servers[turn % 2].get(&format!("{path}/calls/{id}")).json();
                        }
                        Some((verdict, asks)) if verdict == "suspend" => {
                            let function = asks["invoke"]["function"].as_str().unwrap();
                            let result = json!({"status": "successful", "output": result_of(function)});
                            let answer = json!({"question": reply["question"], "answer": {"result": result}});
                            reply = post(turn, "resume", &answer);
                        }
                        Some((verdict, _)) if verdict == "allow" => {
                            let function = call["function"].as_str().unwrap();
                            *through.lock().unwrap().entry(function.to_owned()).or_default() += 1;
                            let result = json!({"status": "successful", "output": result_of(function)});
                            post(turn, "after", &json!({"call": id, "result": result}));
                            return;
                        }
                        Some((verdict, _)) => {
                            assert_eq!(verdict, "block", "{reply}");
                            return;
                        }
                    }
                }
            });
        }
    });
    through.into_inner().unwrap()
}

#[test]
fn refunds_and_pages_hold_over_two_servers_and_one_postgres() {
    let folder = tempfile::tempdir().unwrap();
    shipped("support-desk", &folder.path().join("support-desk"));
    shipped("operations-agent", &folder.path().join("operations-agent"));
    let postgres = PostgresServer::shared();
    let location = Location::Postgres(postgres.database());
    let server = || {
        let database = Database::open(&location, &StoreLimits::default()).unwrap();
        Serving::over(database, |settings, _| {
            settings.policies = vec![folder.path().to_owned()];
            settings.limits.max_conflicts = 200;
        })
    };
    let servers = [server(), server()];
    let user = json!({"id": "u-7", "email": "kim@example.com"});
    let begin = |namespace: &str, agent: &str, input: Value| {
        let new = json!({"namespace": namespace, "agent": agent, "user": user});
        let reply = servers[0].post("/v1/tasks", &new);
        let path = format!("/v1/tasks/{}", reply.json()["task"].as_str().unwrap());
        assert_eq!(servers[1].post(&format!("{path}/input"), &input).status, 200);
        path
    };
    let refund = |at: usize| {
        let arguments = json!({"amount": 80, "reason": "Broken."});
        json!({"id": format!("r{at}"), "function": "payments_refund", "arguments": arguments})
    };
    let path =
        begin("support", "support-desk", json!({"message": "Please see to this.", "ticket_id": "T-1041"}));
    let fetch = json!({"id": "fetch", "function": "zendesk_fetch_ticket", "arguments": {}});
    assert_eq!(in_parallel(&servers, &path, &[fetch])["zendesk_fetch_ticket"], 1);
    let through = in_parallel(&servers, &path, &(0..50).map(refund).collect::<Vec<_>>());
    assert_eq!(through["payments_refund"], 1);

    let path = begin("operations", "operations-agent", json!({"message": "Look into it."}));
    let page =
        |at: usize| json!({"id": format!("p{at}"), "function": "pager_page", "arguments": {"text": "help"}});
    let through = in_parallel(&servers, &path, &(0..50).map(page).collect::<Vec<_>>());
    assert_eq!(through["pager_page"], 3);
}
