//! Calls that are made in parallel are decided as if they had been made one after the other.

use crate::task_fixture::{Kept, at, call, decided, engine, engine_within, noon, see, start, task};
use celador::task::{CallId, CallResult, Decision, Next, Ran, Task, TaskError, VerdictKind};
use serde_json::json;

/// `post-entry` once, `lookup` as often as there were entries, `probe` whatever the others do.
const ONCE: &str = r#"
capabilities:
  probe: "*"
  ledger:
    before:
    - match: post-entry
      assert: c.cap.ledger_post_entry.count_successful < 1
      error_message: Once.
    - match: lookup
      assert: c.cap.ledger_lookup.count_successful < c.cap.ledger_post_entry.count_successful
"#;

fn entry() -> celador::task::Call {
    call("ledger_post_entry", json!({"account": "a", "amount": 1}))
}

fn lookup() -> celador::task::Call {
    call("ledger_lookup", json!({"account": "a"}))
}

fn before(task: &mut Task, call: &celador::task::Call) -> Decision {
    decided(task.before(call, noon()).unwrap())
}

fn report(task: &mut Task, id: &CallId, result: CallResult) -> Decision {
    decided(task.after(id, result, noon()).unwrap())
}

/// The calls that were decided with an operation.
fn with(decision: &Decision) -> Vec<CallId> {
    decision.decided.iter().map(|decided| decided.call.clone()).collect()
}

fn done() -> CallResult {
    CallResult::successful(json!({"ok": true}).into())
}

fn failed() -> CallResult {
    CallResult::errored(json!({"error": "503"}).into())
}

#[test]
fn one_entry_stays_one_with_fifty_calls_at_once() {
    let mut task = task(ONCE);
    let decisions: Vec<_> = (0..50).map(|_| before(&mut task, &entry())).collect();
    let ids: Vec<_> = decisions.iter().map(|decision| decision.call.clone().unwrap()).collect();
    assert_eq!(decisions[0].verdict.kind(), VerdictKind::Allow);
    for (at, decision) in decisions.iter().enumerate().skip(1) {
        assert_eq!(decision.verdict.kind(), VerdictKind::Wait);
        assert_eq!(
            decision.verdict.waits_for(),
            &ids[..at],
            "each waits for those that were asked for before it"
        );
    }
    // the first fails: the second may try
    let told = report(&mut task, &ids[0], failed());
    assert_eq!(with(&told), &ids[1..=1]);
    assert_eq!(task.standing(&ids[1]).unwrap().verdict.kind(), VerdictKind::Allow);
    assert_eq!(task.standing(&ids[2]).unwrap().verdict.waits_for(), &ids[1..=1]);
    // it succeeds: all others are refused at once
    let told = report(&mut task, &ids[1], done());
    assert_eq!(with(&told), ids[2..]);
    for id in &ids[2..] {
        let refused = task.standing(id).unwrap();
        assert_eq!((refused.verdict.kind(), refused.verdict.message()), (VerdictKind::Block, Some("Once.")));
    }
    assert_eq!(task.queued().count(), 0);
    assert_eq!(see(&task, "context.capabilities.ledger_post_entry.count_successful"), json!(1));
    assert_eq!(see(&task, "context.capabilities.ledger_post_entry.count_restricted"), json!(48));
}

/// A call that waits says which expression makes it wait for each of the others.
#[test]
fn a_call_that_waits_names_the_expressions_that_make_it_wait() {
    let mut task = task(ONCE);
    let first = before(&mut task, &entry());
    assert_eq!((first.verdict.kind(), first.verdict.because()), (VerdictKind::Allow, &[][..]));
    let (first, second, third) =
        (first.call.unwrap(), before(&mut task, &entry()), before(&mut task, &lookup()));
    let reasons = |decision: &Decision| -> Vec<(CallId, String)> {
        decision
            .verdict
            .because()
            .iter()
            .map(|reason| (reason.call.clone(), reason.reads.path.clone()))
            .collect()
    };
    let [once, entries] = [0, 1].map(|step| format!("capabilities.ledger.before[{step}].assert"));
    assert_eq!(reasons(&second), [(first.clone(), once.clone())]);
    let second = second.call.unwrap();
    assert_eq!(reasons(&third), [(first.clone(), entries.clone()), (second.clone(), entries.clone())]);
    // the same is said again, and as long as it holds
    let third = third.call.unwrap();
    assert_eq!(task.standing(&third).unwrap().verdict.because().len(), 2);
    report(&mut task, &first, failed());
    assert_eq!(reasons(&task.standing(&third).unwrap()), [(second, entries)]);
}

#[test]
fn what_reads_nothing_of_an_open_call_is_decided_at_once() {
    let mut task = task(ONCE);
    let first = before(&mut task, &entry()).call.unwrap();
    assert_eq!(before(&mut task, &call("probe", json!({}))).verdict.kind(), VerdictKind::Allow);
    let asked = before(&mut task, &lookup());
    let waiting = asked.call.unwrap();
    assert_eq!(
        (asked.verdict.kind(), asked.verdict.waits_for()),
        (VerdictKind::Wait, std::slice::from_ref(&first))
    );
    assert_eq!(before(&mut task, &call("probe", json!({}))).verdict.kind(), VerdictKind::Allow);
    assert_eq!(with(&report(&mut task, &first, done())), std::slice::from_ref(&waiting));
    assert_eq!(task.standing(&waiting).unwrap().verdict.kind(), VerdictKind::Allow);
    // the model's next turn knows of all that was decided
    let probed = task.standing(&waiting).unwrap();
    assert_eq!(probed.verdict.into_value().unwrap().to_string(), r#"{"account":"a"}"#);
    assert!(report(&mut task, &waiting, done()).is_allowed());
    assert_eq!(
        task.standing(&waiting).unwrap().verdict.kind(),
        VerdictKind::Rejected,
        "its result was reported"
    );
}

#[test]
fn a_call_that_waits_is_withdrawn_or_counted_like_any_other() {
    let mut task = task(&format!("limits: {{max_tool_calls: 3}}\n{ONCE}"));
    let first = before(&mut task, &entry()).call.unwrap();
    let [second, third] = [(); 2].map(|()| before(&mut task, &entry()).call.unwrap());
    // three are open or wait: a fourth is one too many
    let withdrawn = task.withdraw(&second, Ran::Never, noon()).unwrap();
    assert_eq!(withdrawn.verdict.kind(), VerdictKind::Block);
    assert_eq!(
        task.withdraw(&second, Ran::Never, noon()).unwrap_err(),
        TaskError::UnknownCall(second.clone())
    );
    assert_eq!(see(&task, "context.capabilities.ledger_post_entry.count_restricted"), json!(1));
    // a result that is withdrawn lets the next one go
    let gone = task.withdraw(&first, Ran::Never, noon()).unwrap();
    assert_eq!(with(&gone), std::slice::from_ref(&third));
    assert_eq!(task.standing(&third).unwrap().verdict.kind(), VerdictKind::Allow);
    let beyond = before(&mut task, &call("probe", json!({})));
    assert_eq!(
        beyond.verdict.kind(),
        VerdictKind::Terminate,
        "three calls of the model are on record or open"
    );
}

#[test]
fn the_end_of_a_task_refuses_what_waits() {
    let mut task = task(ONCE);
    before(&mut task, &entry());
    let second = before(&mut task, &entry()).call.unwrap();
    let ended = task.end("enough", noon());
    assert_eq!(with(&ended), std::slice::from_ref(&second));
    assert_eq!(task.standing(&second).unwrap().verdict.kind(), VerdictKind::Rejected);
    assert_eq!(task.queued().count(), 0);
}

#[test]
fn max_queued_calls() {
    let mut task = start(&engine_within(ONCE, |limits| limits.max_queued_calls = 2));
    let first = before(&mut task, &entry()).call.unwrap();
    let verdicts = [(); 3].map(|()| before(&mut task, &entry()));
    assert_eq!(
        verdicts.each_ref().map(|it| it.verdict.kind()),
        [VerdictKind::Wait, VerdictKind::Wait, VerdictKind::Rejected]
    );
    let why = "2 calls wait for others already (`max_queued_calls`): call again when some are finished";
    assert_eq!(verdicts[2].verdict.message(), Some(why));
    // what was turned away left nothing behind
    assert_eq!(report(&mut task, &first, done()).decided.len(), 2);
    assert_eq!(see(&task, "context.capabilities.ledger_post_entry.count_restricted"), json!(2));
}

#[test]
fn max_queued_ms() {
    let mut task = start(&engine_within(ONCE, |limits| limits.max_queued_ms = 5_000));
    let first = before(&mut task, &entry()).call.unwrap();
    let [second, third] = [(); 2].map(|()| before(&mut task, &entry()).call.unwrap());
    let (in_time, late) = (at("2026-06-01T12:00:05Z"), at("2026-06-01T12:00:06Z"));
    assert!(task.limits(Next::Other, in_time).decided.is_empty() && !task.has_overdue_calls(in_time));
    assert!(task.has_overdue_calls(late));
    let told = task.limits(Next::Other, late);
    assert_eq!(with(&told), [second.clone(), third]);
    let why =
        format!("the call has waited too long for the call `{first}`, whose result has not been reported");
    for decided in &told.decided {
        assert_eq!(
            (decided.decision.verdict.kind(), decided.decision.verdict.message()),
            (VerdictKind::Block, Some(&*why))
        );
    }
    assert_eq!(task.standing(&second).unwrap().verdict.message(), Some(&*why));
    assert_eq!(see(&task, "context.capabilities.ledger_post_entry.count_restricted"), json!(2));
    // the one that was not reported still may be
    assert!(!task.has_overdue_calls(late) && report(&mut task, &first, done()).is_allowed());
}

#[test]
fn what_is_turned_away_is_not_stored() {
    let mut task = start(&engine_within(ONCE, |limits| limits.max_queued_calls = 1));
    before(&mut task, &entry());
    let mark = task.mark();
    let queued = before(&mut task, &entry());
    assert!(!task.turned_away_since(&mark, &queued));
    let mark = task.mark();
    let full = before(&mut task, &entry());
    assert!(task.turned_away_since(&mark, &full), "sent again it may be decided otherwise");
}

#[test]
fn calls_that_wait_count_towards_what_a_task_may_hold() {
    let memo = "long ".repeat(1_000);
    let entry = call("ledger_post_entry", json!({"account": "a", "amount": 1, "memo": memo}));
    let mut task = start(&engine_within(ONCE, |limits| limits.max_task_bytes = 20_000));
    assert_eq!(before(&mut task, &entry).verdict.kind(), VerdictKind::Allow);
    let held = task.bytes();
    assert_eq!(before(&mut task, &entry).verdict.kind(), VerdictKind::Wait);
    assert!(task.bytes() > held + 5_000);
    let verdicts = [(); 2].map(|()| before(&mut task, &entry).verdict.kind());
    assert_eq!(verdicts, [VerdictKind::Wait, VerdictKind::Terminate]);
}

#[test]
fn secrets_of_calls_that_have_waited_are_masked() {
    let manifests = r#"
kind: commonagents.info/v1beta2/tool
namespace: demo
name: pay
description: Pays.
actions:
- name: send
  description: Sends.
  parameters: {properties: {card: {type: string, secret: true}}}
  execute: {stateless_http: {method: POST, url: "https://svc.example.com/run"}}
---
kind: commonagents.info/v1beta2/agent
namespace: demo
name: clerk
description: Pays.
prompt: You pay.
capabilities: {pay: {before: [{assert: c.cap.pay.count_successful < 1}]}}
"#;
    let engine = celador::Engine::parse("pay.yaml", manifests).unwrap();
    let mut task = start(&engine);
    let pay = call("pay", json!({"card": "HUSH"}));
    let first = before(&mut task, &pay).call.unwrap();
    before(&mut task, &pay);
    let told = report(&mut task, &first, failed());
    let text = serde_json::to_string(&told).unwrap();
    assert!(text.contains("HUSH"), "the runtime has what it carries out: {text}");
    for shown in [serde_json::to_string(&told.masked()).unwrap(), Decision::masked_json(text).unwrap()] {
        assert!(shown.contains("***") && !shown.contains("HUSH"), "{shown}");
    }
}

#[test]
fn a_script_does_not_wait() {
    let mut task = task(ONCE);
    before(&mut task, &entry());
    let script = task.script("ledger_post_entry({'account': 'a', 'amount': 2})", noon()).unwrap();
    let told = decided(script);
    assert_eq!(told.verdict.kind(), VerdictKind::Block);
    assert_eq!(told.verdict.message(), Some("another call is not finished: call again when it is"));
    assert_eq!(task.queued().count(), 0);
}

#[test]
fn what_waits_for_calls_is_kept_step_by_step() {
    let engine = engine(ONCE);
    let mut task = start(&engine);
    let mut kept = Kept::new(&engine, &task);
    let first = before(&mut task, &entry()).call.unwrap();
    task = kept.keep(&task);
    let second = before(&mut task, &entry()).call.unwrap();
    task = kept.keep(&task);
    assert_eq!(task.standing(&second).unwrap().verdict.waits_for(), std::slice::from_ref(&first));
    assert_eq!(with(&report(&mut task, &first, done())), std::slice::from_ref(&second));
    let task = kept.keep(&task);
    assert_eq!(task.standing(&second).unwrap().verdict.kind(), VerdictKind::Block);
}
