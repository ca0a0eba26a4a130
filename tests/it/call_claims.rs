//! Claims on calls: of several processes that go on with one task, one runs a call that was let through.

use crate::servers::PostgresServer;
use crate::serving::Serving;
use crate::task_fixture::{call, decided, engine, engine_within, noon, see, start};
use celador::cel::Timestamp;
use celador::engine::Engine;
use celador::task::{
    Answer, CallResult, Decision, Progress, QuestionId, Ran, SavedTask, Switch, Task, TaskError, VerdictKind,
};
use celador_store::{Database, Location, StoreLimits};
use serde_json::{Value, json};
use std::sync::Barrier;
use std::time::{Duration, SystemTime};

/// `probe` runs at once, `lookup` asks `lead` first, and `post-entry` of more than 9 locks the task.
const AGENT: &str = r#"
capabilities:
  probe: "*"
  ledger:
    before:
    - {match: lookup, assert: review('lead')}
    - {match: post_entry, assert: input.amount < 10, on_fail: lock_task}
"#;

fn make(task: &mut Task, id: &str, function: &str) -> Progress {
    let call = call(function, json!({ "account": "a", "amount": 1 })).with_id(id);
    task.before(&call, noon()).unwrap().into_progress()
}

fn asks(progress: Progress) -> QuestionId {
    match progress {
        Progress::Asks(question) => question.id,
        Progress::Decided(decision) => panic!("{decision:?}"),
    }
}

fn report(task: &mut Task, id: &str) {
    let result = CallResult::successful(json!({ "ok": true }).into());
    decided(task.after(&id.into(), result, noon()).unwrap());
}

/// What one claimant of the call `c1` is told.
fn claim(task: &mut Task, claimant: &str) -> Result<Decision, TaskError> {
    task.claim(&"c1".into(), claimant, noon())
}

fn claimed() -> Result<Decision, TaskError> {
    Err(TaskError::CallClaimed("c1".into()))
}

/// Noon, and so many milliseconds.
fn after_noon(ms: u64) -> Timestamp {
    (SystemTime::UNIX_EPOCH + Duration::from_secs(1_780_315_200) + Duration::from_millis(ms)).into()
}

/// A task in which `c1` was let through.
fn open() -> Task {
    let mut task = start(&engine(AGENT));
    decided(make(&mut task, "c1", "ledger_post_entry"));
    task
}

#[test]
fn one_claimant_runs_a_call() {
    let mut task = open();
    let first = claim(&mut task, "one").unwrap();
    assert_eq!((first.verdict.kind(), first.call), (VerdictKind::Allow, Some("c1".into())));
    assert_eq!(
        first.verdict.into_value().unwrap().root().get("amount").and_then(|amount| amount.as_int()),
        Some(1)
    );
    assert_eq!(claim(&mut task, "two"), claimed());
    // the answer may have been lost
    assert!(claim(&mut task, "one").unwrap().is_allowed());
    // the call that it has run is over for everybody
    report(&mut task, "c1");
    for claimant in ["one", "two"] {
        assert_eq!(claim(&mut task, claimant).unwrap().verdict.kind(), VerdictKind::Rejected, "{claimant}");
    }
    assert_eq!(see(&task, "context.capabilities.ledger_post_entry.count_successful"), json!(1));
}

/// A claim never lets a call through that would not run otherwise.
#[test]
fn a_claim_is_the_last_check_of_a_call() {
    type Prepare = fn(&mut Task, &Engine);
    let rows: [(&str, Prepare, Result<VerdictKind, TaskError>); 10] = [
        ("let through", |task, _| drop(make(task, "c1", "probe")), Ok(VerdictKind::Allow)),
        ("unknown", |_, _| {}, Err(TaskError::UnknownCall("c1".into()))),
        ("in review", |task, _| drop(make(task, "c1", "ledger_lookup")), Ok(VerdictKind::Suspend)),
        (
            "behind a review",
            |task, _| {
                make(task, "c0", "ledger_lookup");
                make(task, "c1", "probe");
            },
            Ok(VerdictKind::Wait),
        ),
        (
            "approved behind a review",
            |task, _| {
                let first = asks(make(task, "c1", "ledger_lookup"));
                make(task, "c0", "ledger_lookup");
                let _ = task.answer(first, Answer::approve(), noon()).unwrap();
            },
            Ok(VerdictKind::Wait),
        ),
        (
            "approved, and the other review is over",
            |task, _| {
                let [first, second] = ["c1", "c0"].map(|id| asks(make(task, id, "ledger_lookup")));
                let _ = task.answer(first, Answer::approve(), noon()).unwrap();
                let _ = task.answer(second, Answer::deny(), noon()).unwrap();
            },
            Ok(VerdictKind::Allow),
        ),
        (
            "denied",
            |task, _| {
                let asked = asks(make(task, "c1", "ledger_lookup"));
                let _ = task.answer(asked, Answer::deny(), noon()).unwrap();
            },
            Ok(VerdictKind::Block),
        ),
        (
            "withdrawn",
            |task, _| {
                make(task, "c1", "probe");
                task.withdraw(&"c1".into(), Ran::Never, noon()).unwrap();
            },
            Ok(VerdictKind::Block),
        ),
        (
            "of a task that was locked",
            |task, _| {
                make(task, "c1", "probe");
                let other = call("ledger_post_entry", json!({ "account": "a", "amount": 10 }));
                decided(task.before(&other, noon()).unwrap());
            },
            Ok(VerdictKind::Rejected),
        ),
        (
            "stopped by an operator",
            |task, engine| {
                make(task, "c1", "probe");
                let (namespace, name) = ("demo".to_owned(), "probe".to_owned());
                engine.switches().turn_on(Switch::Tool { namespace, name, function: None });
            },
            Ok(VerdictKind::Rejected),
        ),
    ];
    for (name, prepare, expected) in rows {
        let engine = engine(AGENT);
        let mut task = start(&engine);
        prepare(&mut task, &engine);
        let mark = task.mark();
        let told = claim(&mut task, "one").map(|decision| decision.verdict.kind());
        assert_eq!(told, expected, "{name}");
        assert_eq!(task.is_at(&mark), expected != Ok(VerdictKind::Allow), "{name}");
    }
}

#[test]
fn a_claim_goes_with_the_task_into_other_processes() {
    let mut task = open();
    let mut saved = task.save();
    let mut step = |task: &mut Task, step: &dyn Fn(&mut Task)| {
        let mark = task.mark();
        step(task);
        assert!(!task.is_at(&mark), "the step is stored");
        saved = saved.clone().apply(task.change_since(&mark)).unwrap();
        let written = serde_json::to_string(&saved).unwrap();
        assert_eq!(written, serde_json::to_string(&task.save()).unwrap());
        engine(AGENT).restore(serde_json::from_str::<SavedTask>(&written).unwrap()).unwrap()
    };
    let mut other = step(&mut task, &|task| drop(claim(task, "one").unwrap()));
    assert_eq!(claim(&mut other, "two"), claimed());
    let mut other = step(&mut task, &|task| drop(task.release(&"c1".into(), "one").unwrap()));
    assert!(claim(&mut other, "two").unwrap().is_allowed());
    // a claim in the step that lets the call through
    let mut other = step(&mut task, &|task| {
        task.withdraw(&"c1".into(), Ran::Never, noon()).unwrap();
        make(task, "c2", "probe");
        task.claim(&"c2".into(), "one", noon()).unwrap();
    });
    assert!(matches!(other.claim(&"c2".into(), "two", noon()), Err(TaskError::CallClaimed(_))));
}

#[test]
fn a_claim_is_given_back_by_its_claimant_alone() {
    let mut task = open();
    // there is none
    assert!(task.release(&"c1".into(), "one").unwrap().is_allowed());
    claim(&mut task, "one").unwrap();
    assert_eq!(task.release(&"c1".into(), "two"), claimed());
    assert!(task.release(&"c1".into(), "one").unwrap().is_allowed());
    assert!(claim(&mut task, "two").unwrap().is_allowed());
    report(&mut task, "c1");
    assert_eq!(task.release(&"c1".into(), "two"), Err(TaskError::UnknownCall("c1".into())));
}

#[test]
fn a_claimed_call_is_carried_out_once() {
    let mut task = open();
    claim(&mut task, "one").unwrap();
    assert_eq!(task.execute(&"c1".into(), noon()).err(), Some(TaskError::CallClaimed("c1".into())));
    task.release(&"c1".into(), "one").unwrap();
    let question = asks(task.execute(&"c1".into(), noon()).unwrap().into_progress());
    assert_eq!(claim(&mut task, "two").unwrap().verdict.kind(), VerdictKind::Suspend);
    // its operation is taken back while the host has it in its hands
    task.end("enough", noon());
    assert_eq!(claim(&mut task, "two"), claimed());
    let result = CallResult::successful(json!({ "ok": true }).into());
    decided(task.answer(question, Answer::Result(result), noon()).unwrap());
}

#[test]
fn max_claim_ms() {
    for (bound, after, is_lost) in
        [(1_000, 1_000, false), (1_000, 1_001, true), (u64::MAX, 31_536_000_000, false)]
    {
        let mut task = start(&engine_within(AGENT, |limits| limits.max_claim_ms = bound));
        decided(make(&mut task, "c1", "ledger_post_entry"));
        claim(&mut task, "one").unwrap();
        let later = after_noon(after);
        let other = task.claim(&"c1".into(), "two", later);
        if !is_lost {
            assert_eq!(other, claimed(), "{after}");
            continue;
        }
        // it may have run: nobody runs it again, and the model is told so
        let lost = other.unwrap();
        assert_eq!(lost.verdict.kind(), VerdictKind::Block);
        assert!(lost.verdict.message().unwrap().contains("may have run"));
        assert_eq!(see(&task, "context.capabilities.ledger_post_entry.count_errored"), json!(1));
        for claimant in ["one", "two", "three"] {
            assert_eq!(
                task.claim(&"c1".into(), claimant, later).unwrap().verdict.kind(),
                VerdictKind::Block,
                "{claimant}"
            );
        }
        let result = CallResult::successful(json!({ "ok": true }).into());
        let late = task.after(&"c1".into(), result, later).err();
        assert_eq!(late, Some(TaskError::UnknownCall("c1".into())));
    }
}

#[test]
fn a_claim_counts_from_the_last_word_of_its_claimant() {
    let mut task = start(&engine_within(AGENT, |limits| limits.max_claim_ms = 1_000));
    decided(make(&mut task, "c1", "ledger_post_entry"));
    for ms in [0, 900, 1_800] {
        task.claim(&"c1".into(), "one", after_noon(ms)).unwrap();
    }
    assert_eq!(task.claim(&"c1".into(), "two", after_noon(2_800)), claimed());
    // its own claimant may be late
    assert!(task.claim(&"c1".into(), "one", after_noon(60_000)).unwrap().is_allowed());
}

#[test]
fn a_claimant_is_a_sound_text() {
    let mut task = start(&engine_within(AGENT, |limits| limits.max_id_bytes = 8));
    decided(make(&mut task, "c1", "probe"));
    for (claimant, is_sound) in [("", false), ("a\nb", false), ("123456789", false), ("12345678", true)] {
        let told = claim(&mut task, claimant);
        assert_eq!(told.is_ok(), is_sound, "{claimant:?}");
        assert!(is_sound || told == Err(TaskError::BadClaimant { max: 8 }), "{claimant:?}");
    }
}

const SHOP: &str = r#"
kind: commonagents.info/v1beta2/tool
namespace: shop
name: payments
description: Pays.
actions:
- name: refund
  description: Pays back.
  parameters: {properties: {order: {type: string}}}
  execute: {stateless_http: {method: POST, url: "https://pay.example.com"}}
---
kind: commonagents.info/v1beta2/agent
namespace: shop
name: clerk
description: d
prompt: p
capabilities:
  payments:
    before: [{assert: "review('lead')"}]
"#;

/// Two servers over one store hear of the same approval: a call that was held until another review was answered is claimed on both at once, and
/// one of them runs it.
#[test]
fn two_servers_run_a_held_call_once() {
    const ROUNDS: usize = 12;
    let folder = tempfile::tempdir().unwrap();
    let locations = [
        ("file", Location::File(folder.path().join("celador.db"))),
        ("postgres", Location::Postgres(PostgresServer::shared().database())),
    ];
    for (name, location) in locations {
        let servers = [(); 2].map(|()| {
            let database = Database::open(&location, &StoreLimits::default()).unwrap();
            Serving::over(database, |settings, folder| {
                let file = folder.join("shop.yaml");
                std::fs::write(&file, SHOP).unwrap();
                settings.policies = vec![file];
            })
        });
        for round in 0..ROUNDS {
            let begin = json!({ "namespace": "shop", "agent": "clerk", "user": { "id": "u-1" }, "id": format!("t-{round}") });
            servers[0].post("/v1/tasks", &begin);
            let path = format!("/v1/tasks/t-{round}");
            let refund = |id: &str| json!({ "id": id, "function": "payments", "arguments": { "order": id } });
            let turn = json!({ "usage": { "prompt_tokens": 1, "completion_tokens": 1 }, "calls": [refund("c1"), refund("c2")] });
            let turned = servers[0].post(&format!("{path}/turn"), &turn).json();
            let approve = |server: &Serving, at: usize| {
                let answer =
                    json!({ "question": turned["calls"][at]["question"], "answer": { "review": true } });
                let reply = server.post(&format!("{path}/resume"), &answer);
                assert_eq!(reply.status, 200, "{name} {}", reply.text());
            };
            approve(&servers[0], 0);
            let held =
                servers[1].post(&format!("{path}/claim"), &json!({ "call": "c1", "claimant": "early" }));
            assert_eq!(held.json()["decided"]["verdict"], "wait", "{name}");
            approve(&servers[1], 1);
            let barrier = Barrier::new(2);
            let told: Vec<(u16, Value)> = std::thread::scope(|scope| {
                let claims = servers.iter().enumerate().map(|(at, server)| {
                    let (barrier, path) = (&barrier, &path);
                    scope.spawn(move || {
                        let how = server.get(&format!("{path}/calls/c1")).json();
                        assert_eq!(how["decided"]["verdict"], "allow");
                        barrier.wait();
                        let claim = json!({ "call": "c1", "claimant": format!("server {at}") });
                        let reply = server.post(&format!("{path}/claim"), &claim);
                        (reply.status, reply.json())
                    })
                });
                let claims: Vec<_> = claims.collect();
                claims.into_iter().map(|claim| claim.join().unwrap()).collect()
            });
            let winners = told.iter().filter(|(status, _)| *status == 200).count();
            assert_eq!(winners, 1, "{name} {told:?}");
            for (status, body) in &told {
                match status {
                    200 => assert_eq!(body["decided"]["value"]["order"], "c1", "{name}"),
                    _ => assert_eq!(
                        (*status, &body["type"]),
                        (409, &json!("urn:celador:problem:call-claimed")),
                        "{name}"
                    ),
                }
            }
            // whoever has the result reports it, and each server knows it then
            let result = json!({ "call": "c1", "result": { "status": "successful", "output": {} } });
            assert_eq!(servers[round % 2].post(&format!("{path}/after"), &result).status, 200);
            for server in &servers {
                let late =
                    server.post(&format!("{path}/claim"), &json!({ "call": "c1", "claimant": "late" }));
                assert_eq!(late.json()["decided"]["verdict"], "rejected", "{name}");
            }
            let given_back =
                servers[0].post(&format!("{path}/claim"), &json!({ "call": "c2", "claimant": "one" }));
            assert_eq!(given_back.status, 200, "{name}");
            let release =
                servers[1].post(&format!("{path}/release"), &json!({ "call": "c2", "claimant": "one" }));
            assert_eq!(release.status, 200, "{name}");
            let next = servers[1].post(&format!("{path}/claim"), &json!({ "call": "c2", "claimant": "two" }));
            assert_eq!(next.json()["decided"]["verdict"], "allow", "{name}");
        }
    }
}
