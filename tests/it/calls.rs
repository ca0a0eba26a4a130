//! `calls`: each call of a task as one object, the open ones too, and `within`.

use crate::task_fixture::{Kept, at, call, decided, engine, noon, parse, see, start, task};
use celador::context::Selector;
use celador::lint::{self, Class};
use celador::task::{Answer, CallId, CallResult, Outcome, Ran, Task, VerdictKind};
use serde_json::{Value, json};

fn let_through(task: &mut Task, function: &str, arguments: Value) -> CallId {
    let decision = decided(task.before(&call(function, arguments), noon()).unwrap());
    assert!(decision.is_allowed(), "{decision:?}");
    decision.call.unwrap()
}

fn report(task: &mut Task, id: &CallId, output: Value, time: &str) {
    let result = CallResult::successful(output.into());
    decided(task.after(id, result, at(time)).unwrap());
}

/// A call that is let through and reported at once.
fn make(task: &mut Task, function: &str, arguments: Value, output: Value, time: &str) {
    let id = decided(task.before(&call(function, arguments), at(time)).unwrap()).call.unwrap();
    report(task, &id, output, time);
}

#[test]
fn an_open_call_is_first_and_known_as_far_as_it_is() {
    let engine = engine("capabilities: {probe: \"*\", ledger: \"*\"}\n");
    let new = start(&engine);
    let mut kept = Kept::new(&engine, &new);
    let mut task = new;
    make(&mut task, "probe", json!({"host": "a"}), json!({"ok": true}), "2026-06-01T11:30:00Z");
    let lookup = let_through(&mut task, "ledger_lookup", json!({"account": "x"}));
    let probe = let_through(&mut task, "probe", json!({"host": "b", "depth": 2}));
    let open = |function: &str, input: Value| json!({"seq": null, "at": null, "fn": function, "input": input, "output": null, "status": "open", "open": true, "message": 0, "started_at": "2026-06-01T12:00:00Z", "invoked": false});
    let closed = |seq: i64, time: &str, function: &str, input: Value, output: Value| json!({"seq": seq, "at": time, "fn": function, "input": input, "output": output, "status": "successful", "open": false, "message": 0, "started_at": time, "invoked": false});
    let first =
        closed(1, "2026-06-01T11:30:00Z", "probe", json!({"host": "a", "depth": 1}), json!({"ok": true}));
    // opened again from the store, the task shows the same
    let mut task = kept.keep(&task);
    assert_eq!(
        see(&task, "c.calls"),
        json!([
            open("probe", json!({"host": "b", "depth": 2})),
            open("ledger_lookup", json!({"account": "x"})),
            first
        ])
    );
    assert_eq!(see(&task, "c.cap.ledger.calls.map(t, t.fn)"), json!(["ledger_lookup"]));
    assert_eq!(see(&task, "size(context.capabilities.ledger_post_entry.calls)"), json!(0));
    report(&mut task, &lookup, json!({"balance": 3}), "2026-06-01T12:00:00Z");
    task.withdraw(&probe, Ran::Never, at("2026-06-01T12:00:01Z")).unwrap();
    let task = kept.keep(&task);
    assert_eq!(
        see(&task, "c.calls.map(t, [string(t.seq), t.fn, t.status])"),
        json!([
            ["3", "probe", "restricted"],
            ["2", "ledger_lookup", "successful"],
            ["1", "probe", "successful"]
        ])
    );
    assert_eq!(
        see(&task, "c.cap.probe.calls.map(t, t.at)"),
        json!(["2026-06-01T12:00:01Z", "2026-06-01T11:30:00Z"])
    );
}

#[test]
fn what_calls_say() {
    let mut task = task("capabilities: {probe: \"*\", ledger: \"*\"}\n");
    make(&mut task, "probe", json!({"host": "a"}), json!({"id": 7, "of": {"x": 1}}), "2026-06-01T10:30:00Z");
    make(&mut task, "probe", json!({"host": "b", "depth": 3}), Value::Null, "2026-06-01T11:00:00Z");
    let id = let_through(&mut task, "ledger_lookup", json!({"account": "x"}));
    decided(
        task.after(&id, CallResult::errored(json!({"error": "away"}).into()), at("2026-06-01T11:59:30.5Z"))
            .unwrap(),
    );
    let_through(&mut task, "ledger_lookup", json!({"account": "y"}));
    for (expression, expected) in [
        ("c.calls.size()", json!(4)),
        ("c.calls[0].open && c.calls[1].status == 'errored' && c.calls[3].seq == 1", json!(true)),
        ("c.calls[?9].hasValue()", json!(false)),
        ("c.calls.exists(t, t.fn == 'probe' && t.input.host == 'b' && t.input.depth == 3.0)", json!(true)),
        // a call without a result has no id, which is no error
        ("c.calls.exists(t, t.output.id == 7)", json!(true)),
        ("c.cap.probe.calls.exists(t, t.output.id == 8)", json!(false)),
        ("c.cap.probe.calls.filter(t, t.output.of.x == 1).size()", json!(1)),
        ("c.calls.filter(t, has(t.output.id)).size()", json!(1)),
        ("c.calls.filter(t, t.output.?id.orValue(7) == 7).size()", json!(4)),
        ("c.calls.filter(t, t.output == null).map(t, t.fn)", json!(["ledger_lookup", "probe"])),
        // the last successful call, and what came before it
        ("c.calls.filter(t, t.status == 'successful')[0].seq", json!(2)),
        ("c.cap.probe.calls.exists(a, c.cap.ledger.calls.exists(b, !b.open && b.seq > a.seq))", json!(true)),
        // spans, to the nanosecond; an open call is within each
        ("c.calls.filter(t, within(t, '1m')).size()", json!(2)),
        ("c.calls.filter(t, within(t, '29.5s')).size()", json!(2)),
        ("c.calls.filter(t, within(t, '29.499999999s')).size()", json!(1)),
        ("c.calls.filter(t, within(t, '1h')).size()", json!(3)),
        ("c.calls.filter(t, within(t, '1h29m59s')).size()", json!(3)),
        ("c.calls.filter(t, within(t, '1h30m')).size()", json!(4)),
        ("within(c.agent.started_at, '1h')", json!(true)),
        ("within(c.agent.started_at, '59m')", json!(false)),
        // the list says again what the records say, so it is no key of the context
        ("has(c.calls) && 'calls' in c.cap.probe && !c.exists(k, k == 'calls')", json!(true)),
        ("c.cap.probe.all(k, k != 'calls')", json!(true)),
    ] {
        assert_eq!(see(&task, expression), expected, "{expression}");
    }
}

/// Probes twice for each message, reported or not.
const FOR_A_MESSAGE: &str = r#"
capabilities:
  probe:
    before:
    - assert: c.cap.probe.calls.filter(t, t.message == size(c.input)).size() < 2
  ledger: "*"
guardrails:
  before:
  - {assert: "!text(input.message).contains('wait') || size(c.cap.ledger.calls) >= 0"}
"#;

#[test]
fn calls_are_counted_for_the_message_that_they_were_made_for() {
    let engine = engine(FOR_A_MESSAGE);
    let new = start(&engine);
    let mut kept = Kept::new(&engine, &new);
    let mut task = new;
    let probe = |task: &mut Task| decided(task.before(&call("probe", json!({"host": "a"})), noon()).unwrap());
    let say = |task: &mut Task| {
        let said = decided(task.input(&json!({"message": "go on"}).into(), noon()));
        assert!(said.is_allowed(), "{said:?}");
    };
    // ahead of the first message, and what was not let through counts as well
    let early = probe(&mut task).call.unwrap();
    say(&mut task);
    let first = probe(&mut task).call.unwrap();
    let mut task = kept.keep(&task);
    assert!(probe(&mut task).is_allowed());
    assert_eq!(probe(&mut task).verdict.kind(), VerdictKind::Block);
    assert_eq!(see(&task, "c.cap.probe.calls.map(t, t.message)"), json!([1, 1, 0, 1]));
    // a call keeps its message, whenever it is reported
    say(&mut task);
    report(&mut task, &first, json!({}), "2026-06-01T12:00:00Z");
    task.withdraw(&early, Ran::Never, noon()).unwrap();
    let mut task = kept.keep(&task);
    assert_eq!(see(&task, "c.calls.map(t, t.message)"), json!([1, 0, 1, 1]));
    assert!(probe(&mut task).is_allowed() && probe(&mut task).is_allowed());
    assert_eq!(probe(&mut task).verdict.kind(), VerdictKind::Block);
    assert_eq!(
        see(&task, "c.calls.filter(t, t.message == size(c.input)).map(t, t.status)"),
        json!(["open", "open", "restricted"])
    );
}

/// `probe` is let through twice at a time, however long each takes; a `lookup` needs its `probe` to be over; what
/// `post-entry` books is also put on the trail when it is over.
const IN_FLIGHT: &str = r#"
capabilities:
  probe:
    before:
    - assert: c.cap.probe.calls.filter(t, t.open).size() < 2
  ledger:
    before:
    - match: lookup
      assert: c.cap.probe.calls.exists(t, t.input.host == input.account && t.status == 'successful')
    - match: post-entry
      assert: c.calls.filter(t, t.fn == 'probe').size() < 3
    after: [{match: post-entry, invoke: 'probe:check'}]
"#;

#[test]
fn what_is_known_of_an_open_call_is_read_without_waiting() {
    let mut task = task(IN_FLIGHT);
    let ask = |task: &mut Task, function: &str, arguments: Value| {
        let decision = decided(task.before(&call(function, arguments), noon()).unwrap());
        let waits = decision.verdict.waits_for().to_vec();
        (decision.verdict.kind(), decision.call.unwrap_or_else(|| "none".into()), waits)
    };
    let (_, first, _) = ask(&mut task, "probe", json!({"host": "a"}));
    let (verdict, second, _) = ask(&mut task, "probe", json!({"host": "b"}));
    assert_eq!(verdict, VerdictKind::Allow);
    assert_eq!(ask(&mut task, "probe", json!({"host": "c"})).0, VerdictKind::Block);
    // how a probe ends is not known before it has
    let (verdict, lookup, waits) = ask(&mut task, "ledger_lookup", json!({"account": "b"}));
    assert_eq!((verdict, waits), (VerdictKind::Wait, vec![first.clone(), second.clone()]));
    report(&mut task, &first, json!({}), "2026-06-01T12:00:00Z");
    let done = decided(task.after(&second, CallResult::successful(json!({}).into()), noon()).unwrap());
    assert_eq!(
        done.decided.iter().map(|it| (&it.call, it.decision.verdict.kind())).collect::<Vec<_>>(),
        [(&lookup, VerdictKind::Allow)]
    );
    // both are over: the next is let through, and counts as one of those in flight
    let (verdict, third, _) = ask(&mut task, "probe", json!({"host": "d"}));
    assert_eq!(verdict, VerdictKind::Allow);
    // four probes were asked for, one was refused; all are on record or open
    assert_eq!(
        ask(&mut task, "ledger_post_entry", json!({"account": "a", "amount": 1})).0,
        VerdictKind::Block
    );
    report(&mut task, &third, json!({}), "2026-06-01T12:00:00Z");
    assert_eq!(
        see(&task, "c.cap.probe.calls.map(t, t.status)"),
        json!(["successful", "successful", "successful", "restricted"])
    );
}

#[test]
fn a_call_that_will_make_others_is_waited_for() {
    let arguments = json!({"account": "a", "amount": 1});
    // the call of the ledger will put a probe on record, of which nothing is known yet
    for (function, arguments) in [("probe", json!({"host": "a"})), ("ledger_post_entry", arguments)] {
        let mut task = task(IN_FLIGHT);
        let post = let_through(&mut task, "ledger_post_entry", json!({"account": "a", "amount": 1}));
        let decision = decided(task.before(&call(function, arguments), noon()).unwrap());
        assert_eq!(
            (decision.verdict.kind(), decision.verdict.waits_for()),
            (VerdictKind::Wait, &*vec![post]),
            "{function}"
        );
    }
}

const IN_A_MINUTE: &str = r#"
capabilities:
  probe:
    before:
    - assert: c.cap.probe.calls.filter(t, within(t, '1m')).size() < 2
  ledger:
    before:
    - assert: "!c.cap.probe.calls.exists(t, t.fn == 'probe' && within(t.started_at, '10s'))"
"#;

/// An open call is within every span, whenever it ends: rate limits do not make parallel calls wait.
#[test]
fn spans_of_open_calls_are_known_at_once() {
    let mut task = task(IN_A_MINUTE);
    let ask = |task: &mut Task, function: &str, arguments: Value, time: &str| {
        decided(task.before(&call(function, arguments), at(time)).unwrap()).verdict.kind()
    };
    let lookup = || json!({"account": "a"});
    let first = let_through(&mut task, "probe", json!({"host": "a"}));
    assert_eq!(ask(&mut task, "ledger_lookup", lookup(), "2026-06-01T12:00:10Z"), VerdictKind::Block);
    assert_eq!(ask(&mut task, "ledger_lookup", lookup(), "2026-06-01T12:00:11Z"), VerdictKind::Allow);
    assert_eq!(ask(&mut task, "probe", json!({"host": "b"}), "2026-06-01T12:05:00Z"), VerdictKind::Allow);
    // both are open, however long ago they began
    assert_eq!(ask(&mut task, "probe", json!({"host": "c"}), "2026-06-01T12:06:00Z"), VerdictKind::Block);
    report(&mut task, &first, json!({}), "2026-06-01T12:06:00Z");
    // calls that were stopped count as well
    assert_eq!(ask(&mut task, "probe", json!({"host": "d"}), "2026-06-01T12:07:00Z"), VerdictKind::Block);
    assert_eq!(ask(&mut task, "probe", json!({"host": "e"}), "2026-06-01T12:08:01Z"), VerdictKind::Allow);
}

/// When a call was let through stays with it: through a store, a withdrawal, and a host that carries it out for the engine.
#[test]
fn calls_say_when_they_were_let_through() {
    let engine = engine("capabilities: {probe: \"*\", ledger: \"*\"}\n");
    let new = start(&engine);
    let mut kept = Kept::new(&engine, &new);
    let mut task = new;
    let begin = |task: &mut Task, function: &str, arguments: Value, time: &str| {
        decided(task.before(&call(function, arguments), at(time)).unwrap()).call.unwrap()
    };
    let first = begin(&mut task, "probe", json!({}), "2026-06-01T12:00:00Z");
    let second = begin(&mut task, "ledger_lookup", json!({"account": "a"}), "2026-06-01T12:00:05.5Z");
    let mut task = kept.keep(&task);
    assert_eq!(
        see(&task, "c.calls.map(t, t.started_at)"),
        json!(["2026-06-01T12:00:05.5Z", "2026-06-01T12:00:00Z"])
    );
    report(&mut task, &first, json!({}), "2026-06-01T12:01:00Z");
    task.withdraw(&second, Ran::Unknown, at("2026-06-01T12:02:00Z")).unwrap();
    // one that the host carries out when the engine asks it
    let asks = task.invoke(&call("probe", json!({})), at("2026-06-01T12:03:00Z")).unwrap().outcome();
    assert!(matches!(asks, Outcome::Waits(_)), "{asks:?}");
    let mut task = kept.keep(&task);
    let done = Answer::Result(CallResult::successful(json!({}).into()));
    decided(task.resume(done, at("2026-06-01T12:03:30Z")).unwrap());
    let task = kept.keep(&task);
    assert_eq!(
        see(&task, "c.calls.map(t, [t.started_at, t.at])"),
        json!([
            ["2026-06-01T12:03:00Z", "2026-06-01T12:03:30Z"],
            ["2026-06-01T12:00:05.5Z", "2026-06-01T12:02:00Z"],
            ["2026-06-01T12:00:00Z", "2026-06-01T12:01:00Z"]
        ])
    );
    assert_eq!(see(&task, "c.cap.ledger.calls.map(t, t.started_at)"), json!(["2026-06-01T12:00:05.5Z"]));
}

/// Arguments that are not what a function declares stand in a list of their own, so that those in `calls` have their types.
#[test]
fn rejected_calls_stand_apart() {
    let engine = engine("capabilities: {probe: \"*\", ledger: \"*\"}\n");
    let new = start(&engine);
    let mut kept = Kept::new(&engine, &new);
    let mut task = new;
    let post = |amount: Value| json!({"account": "a", "amount": amount});
    make(&mut task, "ledger_post_entry", post(json!(2)), json!({}), "2026-06-01T11:00:00Z");
    for arguments in [json!({}), json!({"account": "a"}), post(json!("much")), post(json!(null))] {
        let decision = decided(task.before(&call("ledger_post_entry", arguments), noon()).unwrap());
        assert_eq!(decision.verdict.kind(), VerdictKind::Error);
    }
    make(&mut task, "probe", json!({}), json!({}), "2026-06-01T12:00:00Z");
    make(&mut task, "ledger_post_entry", post(json!(40)), json!({}), "2026-06-01T12:00:00Z");
    let_through(&mut task, "ledger_post_entry", post(json!(500)));
    let task = kept.keep(&task);
    for (expression, expected) in [
        ("c.cap.ledger_post_entry.calls.map(t, double(t.input.amount)).sum()", json!(542.0)),
        ("c.cap.ledger.calls.size()", json!(3)),
        ("c.calls.map(t, t.seq == null ? 0 : t.seq)", json!([0, 7, 6, 1])),
        ("c.cap.ledger_post_entry.calls.map(t, t.seq == null ? 0 : t.seq)", json!([0, 7, 1])),
        ("c.rejected.map(t, t.seq)", json!([5, 4, 3, 2])),
        ("c.cap.ledger.rejected.size() + c.cap.ledger_post_entry.rejected.size()", json!(8)),
        ("c.cap.probe.rejected.size()", json!(0)),
        ("c.rejected.all(t, t.fn == 'ledger_post_entry' && t.status == 'errored' && !t.open)", json!(true)),
        ("c.rejected.filter(t, has(t.input.account)).size()", json!(3)),
        ("c.rejected[0].started_at == c.rejected[0].at", json!(true)),
        ("c.rejected.filter(t, within(t, '1m')).size()", json!(4)),
        // the records of the specification have each call
        ("c.cap.ledger_post_entry.count_errored + size(c.cap.ledger_post_entry.inputs)", json!(10)),
        ("'rejected' in c.cap.probe && c.cap.probe.all(k, k != 'rejected')", json!(true)),
    ] {
        assert_eq!(see(&task, expression), expected, "{expression}");
    }
}

const TYPED: &str = r#"
kind: commonagents.info/v1beta2/tool
namespace: demo
name: bank
description: Pays.
actions:
- name: pay
  description: Pays.
  parameters: {properties: {card: {type: string, secret: true}, amount: {type: number}}}
  output: {type: object, properties: {token: {type: string, secret: true}, id: {type: string}}}
  execute: {stateless_http: {method: POST, url: "https://svc.example.com/run"}}
- name: look
  description: Looks.
  parameters: {properties: {account: {type: string}}}
  execute: {stateless_http: {method: POST, url: "https://svc.example.com/run"}}
---
kind: commonagents.info/v1beta2/agent
namespace: demo
name: clerk
description: Pays.
prompt: You pay.
capabilities:
  bank:
    before:
"#;

#[test]
fn slips_are_found_when_a_policy_is_loaded() {
    for (assert, code) in [
        ("!c.calls.exists(t, t.fn == 'bank_pay' && t.status == 'successful' && within(t, '1h'))", None),
        ("c.cap.bank_pay.calls.all(t, t.input.amount < 5.0)", None),
        ("!c.calls.exists(t, t.fn == 'bank_pya')", Some("never_equal")),
        ("!c.calls.exists(t, t.status == 'success')", Some("never_equal")),
        ("!c.cap.bank_pay.calls.exists(t, t.input.amuont > 5.0)", Some("unknown_field")),
        ("!c.calls.exists(t, t.state == 'open')", Some("unknown_field")),
        ("!c.rejected.exists(t, t.fn == 'bank_pya')", Some("never_equal")),
        ("c.cap.bank_pay.rejected.all(t, t.input.amuont > 5.0)", None),
        ("!c.calls.exists(t, within(t, '1 hour'))", Some("refused_constant")),
        ("!c.calls.exists(t, within(t, '-1h'))", Some("refused_constant")),
    ] {
        let (_, findings) = parse(
            "calls.yaml",
            &format!("{TYPED}    - assert: {}\n", serde_json::to_string(assert).unwrap()),
        );
        let codes: Vec<_> = findings.iter().map(|finding| finding.code).collect();
        assert_eq!(codes, Vec::from_iter(code), "{assert}");
        if code.is_some() {
            assert_eq!(lint::class(findings[0].code), Class::MayLoseARule, "{assert}");
        }
    }
}

#[test]
fn secrets_are_found_in_calls() {
    let (engine, _) =
        parse("calls.yaml", &format!("{TYPED}    - assert: input.amount < 5.0\n      match: pay\n"));
    let policy = engine.policy("demo", "clerk").unwrap();
    let meets = |path: &str| {
        let selector = |step: &str| match step {
            "*" => Selector::Any,
            "each" => Selector::Each,
            step => step.parse().map_or_else(|_| Selector::Name(step.to_owned()), Selector::Index),
        };
        let path: Vec<_> = path.split('.').map(selector).collect();
        policy.schema().meets_secret(None, "c", &path)
    };
    for path in [
        "calls",
        "calls.0",
        "calls.each",
        "calls.*.*",
        "calls.0.input",
        "calls.0.input.card",
        "calls.each.output",
        "calls.each.output.token",
        "cap.bank.calls.2.input.card",
        "cap.bank_pay.calls.each.output.token",
        "cap.bank_pay.calls",
        "rejected.each.input.card",
        "cap.bank_pay.rejected",
        "cap.bank.rejected.0.input.card",
    ] {
        assert!(meets(path), "{path}");
    }
    for path in [
        "calls.0.fn",
        "calls.each.status",
        "calls.0.input.amount",
        "calls.each.output.id",
        "cap.bank_look.calls",
        "cap.bank_look.calls.each.input.account",
        "cap.bank_pay.calls.0.at",
        "cap.bank_pay.rejected.0.at",
        "rejected.each.started_at",
    ] {
        assert!(!meets(path), "{path}");
    }
}
