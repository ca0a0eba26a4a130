//! Calls that are made in parallel are decided as if they had been made one after the other.

use crate::task_fixture::{Kept, Script, at, call, decided, engine, engine_within, noon, see, start, task};
use celador::task::{
    Answer, CallId, CallResult, Decision, Next, Progress, Ran, Request, Task, TaskError, Verdict,
};
use proptest::prelude::*;
use serde_json::{Value, json};

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
    decided(task.after(&id, result, noon()).unwrap())
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
    assert_eq!(decisions[0].verdict, Verdict::Allow);
    for (at, decision) in decisions.iter().enumerate().skip(1) {
        assert_eq!(decision.verdict, Verdict::Wait);
        assert_eq!(decision.waits_for, ids[..at], "each waits for those that were asked for before it");
    }
    // the first fails: the second may try
    let told = report(&mut task, &ids[0], failed());
    assert_eq!(with(&told), ids[1..=1]);
    assert_eq!(task.standing(&ids[1]).unwrap().verdict, Verdict::Allow);
    assert_eq!(task.standing(&ids[2]).unwrap().waits_for, ids[1..=1]);
    // it succeeds: all others are refused at once
    let told = report(&mut task, &ids[1], done());
    assert_eq!(with(&told), ids[2..]);
    for id in &ids[2..] {
        let refused = task.standing(&id).unwrap();
        assert_eq!((refused.verdict, refused.message.as_deref()), (Verdict::Block, Some("Once.")));
    }
    assert_eq!(task.queued().count(), 0);
    assert_eq!(see(&task, "context.capabilities.ledger_post_entry.count_successful"), json!(1));
    assert_eq!(see(&task, "context.capabilities.ledger_post_entry.count_restricted"), json!(48));
}

#[test]
fn what_reads_nothing_of_an_open_call_is_decided_at_once() {
    let mut task = task(ONCE);
    let first = before(&mut task, &entry()).call.unwrap();
    assert_eq!(before(&mut task, &call("probe", json!({}))).verdict, Verdict::Allow);
    let asked = before(&mut task, &lookup());
    let waiting = asked.call.unwrap();
    assert_eq!((asked.verdict, &*asked.waits_for), (Verdict::Wait, std::slice::from_ref(&first)));
    assert_eq!(before(&mut task, &call("probe", json!({}))).verdict, Verdict::Allow);
    assert_eq!(with(&report(&mut task, &first, done())), std::slice::from_ref(&waiting));
    assert_eq!(task.standing(&waiting).unwrap().verdict, Verdict::Allow);
    // the model's next turn knows of all that was decided
    let probed = task.standing(&waiting).unwrap();
    assert_eq!(probed.value.unwrap().to_string(), r#"{"account":"a"}"#);
    assert!(report(&mut task, &waiting, done()).is_allowed());
    assert_eq!(task.standing(&waiting).unwrap().verdict, Verdict::Rejected, "its result was reported");
}

#[test]
fn a_call_that_waits_is_withdrawn_or_counted_like_any_other() {
    let mut task = task(&format!("limits: {{max_tool_calls: 3}}\n{ONCE}"));
    let first = before(&mut task, &entry()).call.unwrap();
    let [second, third] = [(); 2].map(|()| before(&mut task, &entry()).call.unwrap());
    // three are open or wait: a fourth is one too many
    let withdrawn = task.withdraw(&second, Ran::Never, noon()).unwrap();
    assert_eq!(withdrawn.verdict, Verdict::Block);
    assert_eq!(
        task.withdraw(&second, Ran::Never, noon()).unwrap_err(),
        TaskError::UnknownCall(second.clone())
    );
    assert_eq!(see(&task, "context.capabilities.ledger_post_entry.count_restricted"), json!(1));
    // a result that is withdrawn lets the next one go
    let gone = task.withdraw(&first, Ran::Never, noon()).unwrap();
    assert_eq!(with(&gone), std::slice::from_ref(&third));
    assert_eq!(task.standing(&third).unwrap().verdict, Verdict::Allow);
    let beyond = before(&mut task, &call("probe", json!({})));
    assert_eq!(beyond.verdict, Verdict::Terminate, "three calls of the model are on record or open");
}

#[test]
fn the_end_of_a_task_refuses_what_waits() {
    let mut task = task(ONCE);
    before(&mut task, &entry());
    let second = before(&mut task, &entry()).call.unwrap();
    let ended = task.end("enough", noon());
    assert_eq!(with(&ended), std::slice::from_ref(&second));
    assert_eq!(task.standing(&second).unwrap().verdict, Verdict::Rejected);
    assert_eq!(task.queued().count(), 0);
}

#[test]
fn max_queued_calls() {
    let mut task = start(&engine_within(ONCE, |limits| limits.max_queued_calls = 2));
    let first = before(&mut task, &entry()).call.unwrap();
    let verdicts = [(); 3].map(|()| before(&mut task, &entry()));
    assert_eq!(verdicts.each_ref().map(|it| it.verdict), [Verdict::Wait, Verdict::Wait, Verdict::Rejected]);
    let why = "2 calls wait for others already (`max_queued_calls`): call again when some are finished";
    assert_eq!(verdicts[2].message.as_deref(), Some(why));
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
            (decided.decision.verdict, decided.decision.message.as_ref()),
            (Verdict::Block, Some(&why))
        );
    }
    assert_eq!(task.standing(&second).unwrap().message.as_ref(), Some(&why));
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
    assert_eq!(before(&mut task, &entry).verdict, Verdict::Allow);
    let held = task.bytes();
    assert_eq!(before(&mut task, &entry).verdict, Verdict::Wait);
    assert!(task.bytes() > held + 5_000);
    let verdicts = [(); 2].map(|()| before(&mut task, &entry).verdict);
    assert_eq!(verdicts, [Verdict::Wait, Verdict::Terminate]);
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
    assert_eq!(told.verdict, Verdict::Block);
    assert_eq!(told.message.as_deref(), Some("another call is not finished: call again when it is"));
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
    assert_eq!(task.standing(&second).unwrap().waits_for, std::slice::from_ref(&first));
    assert_eq!(with(&report(&mut task, &first, done())), std::slice::from_ref(&second));
    let task = kept.keep(&task);
    assert_eq!(task.standing(&second).unwrap().verdict, Verdict::Block);
}

/// The parts of the policies of the property.
const STEPS: [&str; 7] = [
    "    - assert: c.cap.probe.count_successful < 2",
    "    - assert: c.cap.ledger_lookup.count_errored < 1 || input.account != 'a'",
    "    - {match: post-entry, assert: c.cap.ledger_post_entry.count_successful + c.cap.ledger_post_entry.count_restricted < 3}",
    "    - {match: lookup, assert: \"c.cap.ledger.inputs.filter(i, i.account == 'a').size() < 3\"}",
    "    - {assert: c.cap._meta.count < 9}",
    "    - {assert: \"c.cap[input.account == 'a' ? 'probe' : 'ledger_lookup'].count_successful < 2\"}",
    "    - {invoke: 'audit:append', bindings: {what: \"'x'\"}}\n    - {condition: c.cap.audit.count_successful > 1, assert: c.cap.probe.count_successful > 0}",
];

/// What happens next: a call of one of the functions, or the end of one that is open.
#[derive(Clone, Debug)]
enum Deed {
    Call(usize, bool),
    Report(usize, bool),
    Withdraw(usize, bool),
    Answer(usize),
}

fn deed() -> impl Strategy<Value = Deed> {
    prop_oneof![
        4 => (0usize..3, any::<bool>()).prop_map(|(function, account)| Deed::Call(function, account)),
        3 => (any::<usize>(), any::<bool>()).prop_map(|(which, success)| Deed::Report(which, success)),
        1 => (any::<usize>(), any::<bool>()).prop_map(|(which, unknown)| Deed::Withdraw(which, unknown)),
        2 => any::<usize>().prop_map(Deed::Answer),
    ]
}

/// What became of one call, as far as a serial engine must agree.
#[derive(Debug)]
struct Fate {
    id: CallId,
    call: celador::task::Call,
    /// The verdict of its decision, with the arguments if it was let through.
    decided: Option<(Verdict, Option<String>)>,
    /// How it ended, once it was let through.
    end: Option<End>,
}

#[derive(Clone, Copy, Debug)]
enum End {
    Reported(bool),
    Withdrawn(Ran),
}

fn made(function: usize, account: bool) -> celador::task::Call {
    let account = if account { "a" } else { "b" };
    match function {
        0 => call("probe", json!({"host": account})),
        1 => call("ledger_lookup", json!({"account": account})),
        _ => call("ledger_post_entry", json!({"account": account, "amount": 1})),
    }
}

/// A task in which calls run side by side, with the calls in the order in which they were begun.
struct Parallel {
    task: Task,
    fates: Vec<Fate>,
    /// Calls that wait for others, as they were made.
    waiting: Vec<(CallId, celador::task::Call)>,
}

impl Parallel {
    fn deed(&mut self, deed: &Deed) {
        match deed {
            Deed::Call(function, account) => {
                let call = made(*function, *account);
                match self.task.before(&call, noon()).unwrap().into_progress() {
                    Progress::Decided(decision) if decision.verdict == Verdict::Wait => {
                        self.waiting.push((decision.call.unwrap(), call));
                    }
                    Progress::Decided(decision) => {
                        let id = decision.call.clone().unwrap_or(CallId::from(""));
                        self.fates.push(Fate { id, call, decided: Some(of(&decision)), end: None });
                    }
                    Progress::Asks(question) => {
                        let id = self.task.suspension_at(question.id).unwrap().call.unwrap();
                        self.fates.push(Fate { id, call, decided: None, end: None });
                    }
                }
            }
            Deed::Report(which, success) => {
                let Some(at) = self.some_open(*which) else { return };
                let result = if *success { done() } else { failed() };
                let told = report(&mut self.task, &self.fates[at].id, result);
                self.fates[at].end = Some(End::Reported(*success));
                self.follow(&with(&told));
            }
            Deed::Withdraw(which, unknown) => {
                let ran = if *unknown { Ran::Unknown } else { Ran::Never };
                let Some(at) = self.some_open(*which) else { return };
                let told = self.task.withdraw(&self.fates[at].id, ran, noon()).unwrap();
                self.fates[at].end = Some(End::Withdrawn(ran));
                self.follow(&with(&told));
            }
            Deed::Answer(which) => {
                let questions: Vec<_> = self.task.questions().collect();
                if questions.is_empty() {
                    return;
                }
                let question = &questions[which % questions.len()];
                assert!(matches!(question.request, Request::Invoke(_)));
                let id = self.task.suspension_at(question.id).unwrap().call.unwrap();
                let answer = Answer::Result(CallResult::successful(json!({}).into()));
                let progress = self.task.answer(question.id, answer, noon()).unwrap().into_progress();
                if let Progress::Decided(decision) = progress {
                    let fate = self.fates.iter_mut().find(|fate| fate.id == id).unwrap();
                    fate.decided = Some(of(&decision));
                    self.follow(&with(&decision));
                }
                self.catch_up();
            }
        }
    }

    /// A call that was let through and is open.
    fn some_open(&self, which: usize) -> Option<usize> {
        let is_open = |fate: &Fate| {
            fate.end.is_none() && fate.decided.as_ref().is_some_and(|(verdict, _)| *verdict == Verdict::Allow)
        };
        let open: Vec<_> = (0..self.fates.len()).filter(|at| is_open(&self.fates[*at])).collect();
        (!open.is_empty()).then(|| open[which % open.len()])
    }

    /// The calls that were begun because of an operation.
    fn follow(&mut self, begun: &[CallId]) {
        for id in begun {
            let at = self.waiting.iter().position(|(waiting, _)| waiting == id).unwrap();
            let (id, call) = self.waiting.remove(at);
            let decision = self.task.standing(&id).unwrap();
            let decided = (decision.verdict != Verdict::Suspend).then(|| of(&decision));
            self.fates.push(Fate { id, call, decided, end: None });
        }
    }

    /// The same for an operation that asks anew.
    fn catch_up(&mut self) {
        let queued: Vec<_> = self.task.queued().collect();
        let begun: Vec<_> =
            self.waiting.iter().map(|(id, _)| id).filter(|id| !queued.contains(id)).cloned().collect();
        self.follow(&begun);
    }
}

fn of(decision: &Decision) -> (Verdict, Option<String>) {
    let arguments = decision.value.as_ref().filter(|_| decision.verdict == Verdict::Allow);
    (decision.verdict, arguments.map(ToString::to_string))
}

/// The manifest with these steps, by number, ahead of each of the two capabilities.
fn policy(probe: &[usize], ledger: &[usize]) -> String {
    let steps = |chosen: &[usize], matches: bool| -> String {
        // `probe` has one action, and nothing to match
        let fit = chosen.iter().map(|at| STEPS[*at]).filter(|step| matches || !step.contains("match:"));
        let steps: Vec<_> = fit
            .map(|step| step.replace("input.account", if matches { "input.account" } else { "input.host" }))
            .collect();
        if steps.is_empty() { " \"*\"".to_owned() } else { format!("\n    before:\n{}", steps.join("\n")) }
    };
    format!("capabilities:\n  probe:{}\n  ledger:{}\n", steps(probe, false), steps(ledger, true))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, ..ProptestConfig::default() })]

    /// One after the other, in the order in which they were begun, the calls get the same verdicts and arguments.
    #[test]
    fn an_order_exists_in_which_a_serial_task_decides_the_same(
        probe in prop::collection::vec(0usize..STEPS.len(), 0..4),
        ledger in prop::collection::vec(0usize..STEPS.len(), 0..4),
        deeds in prop::collection::vec(deed(), 1..30),
    ) {
        let engine = engine(&policy(&probe, &ledger));
        let mut parallel = Parallel { task: start(&engine), fates: Vec::new(), waiting: Vec::new() };
        deeds.iter().for_each(|deed| parallel.deed(deed));
        // everything comes to its end
        while parallel.task.questions().next().is_some() || parallel.some_open(0).is_some() {
            parallel.deed(&Deed::Answer(0));
            parallel.deed(&Deed::Report(0, true));
        }
        prop_assert_eq!(parallel.task.queued().count(), 0, "a call waits for nothing");
        let mut serial = start(&engine);
        for Fate { call, decided, end, .. } in &parallel.fates {
            let decision = serial.before(call, noon()).unwrap().drive(&mut Script::default()).unwrap().into_decision();
            prop_assert_eq!(&Some(of(&decision)), decided, "{:?}", call);
            match (end, decision.call) {
                (Some(End::Reported(success)), Some(id)) => {
                    report(&mut serial, &id, if *success { done() } else { failed() });
                }
                (Some(End::Withdrawn(ran)), Some(id)) => drop(serial.withdraw(&id, *ran, noon()).unwrap()),
                _ => {}
            }
        }
        let counts = |task: &Task| -> Vec<Value> {
            ["probe", "ledger", "ledger_lookup"].iter().flat_map(|key| {
                let count = move |of: &str| format!("c.cap.{key}.count_{of}");
                ["successful", "errored", "restricted"].map(count)
            }).map(|expression| see(task, &expression)).collect()
        };
        prop_assert_eq!(counts(&parallel.task), counts(&serial));
    }
}
