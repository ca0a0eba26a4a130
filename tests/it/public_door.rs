//! The door of a task as hosts use it: typed outcomes, and the three ways to drive an operation.

use crate::task_fixture::{Script, call, engine, noon, start};
use celador::{
    Answer, Call, CallResult, Decision, Json, Outcome, Request, SavedTask, Task, Timestamp, VerdictKind,
};
use serde_json::json;
use std::time::{Duration, SystemTime};

#[path = "../../examples/async_host.rs"]
#[expect(dead_code, reason = "its `main` is for people")]
mod async_host;

const AGENT: &str = "\
capabilities:
  probe:
    before:
    - condition: input.depth > 3
      assert: review('lead')
    - assert: input.depth < 9
      error_message: '{input.depth} is too deep.'
    after:
    - transform: \"{'seen': output}\"
limits: {max_tool_calls: 3}
guardrails:
  before: [{assert: \"input.message[0].text != 'no'\"}]
exposes: {'n': '1 + 1'}
";

fn probe(depth: u32) -> Call {
    call("probe", json!({ "host": "h", "depth": depth }))
}

fn task() -> Task {
    start(&engine(AGENT))
}

fn now() -> SystemTime {
    noon().into()
}

/// A future that needs no runtime: nothing in it waits for anything.
fn block_on<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(future)
}

#[test]
fn a_call_that_may_run_has_its_id_and_its_arguments() {
    let mut task = task();
    let Outcome::Allowed(allowed) = task.before(&probe(1), now()).unwrap().outcome() else {
        panic!("allowed")
    };
    assert_eq!(allowed.arguments.to_string(), allowed.decision.verdict.value().cloned().unwrap().to_string());
    assert_eq!(Some(&allowed.call), allowed.decision.call.as_ref());
    let result = CallResult::successful(json!(7).into());
    let Outcome::Allowed(received) = task.after(&allowed.call, result, now()).unwrap().outcome() else {
        panic!("allowed")
    };
    assert_eq!(received.value.to_string(), r#"{"seen":7}"#);
}

#[test]
fn a_refusal_says_what_the_model_is_told_and_whether_the_task_goes_on() {
    let mut task = task();
    let Outcome::Refused(refusal) =
        task.before(&probe(12), now()).unwrap().drive(&mut Script::default()).unwrap()
    else {
        // the review is answered by nobody: `Script` has no answers
        let outcome = task.pending().unwrap().answer(Answer::approve(), now()).unwrap().outcome();
        let Outcome::Refused(refusal) = outcome else { panic!("refused") };
        assert_eq!((refusal.verdict(), refusal.message()), (VerdictKind::Block, "12 is too deep."));
        assert!(!refusal.ends_task());
        return;
    };
    panic!("{refusal:?} was not reviewed");
}

#[test]
fn a_limit_ends_the_task_and_is_named() {
    let mut task = task();
    for _ in 0..3 {
        let Outcome::Allowed(allowed) = task.before(&probe(1), now()).unwrap().outcome() else {
            panic!("allowed")
        };
        let _ = task.after(&allowed.call, CallResult::successful(Json::null()), now()).unwrap().outcome();
    }
    let Outcome::Refused(refusal) = task.before(&probe(1), now()).unwrap().outcome() else {
        panic!("the fourth of three")
    };
    assert!(refusal.ends_task());
    assert_eq!(refusal.limit().map(|limit| &*limit.which), Some("max_tool_calls"));
}

#[test]
fn inputs_and_outputs_hand_over_their_entries() {
    let mut task = task();
    let Outcome::Allowed(said) = task.input(&json!("hello").into(), now()).outcome() else {
        panic!("allowed")
    };
    assert!(said.entry.root().get("message").is_some());
    let Outcome::Refused(refused) = task.input(&json!("no").into(), now()).outcome() else {
        panic!("refused")
    };
    assert_eq!(refused.verdict(), VerdictKind::LockTask);
    assert!(refused.ends_task());
    let mut task = self::task();
    let Outcome::Allowed(told) = task.output(&json!("bye").into(), now()).outcome() else {
        panic!("allowed")
    };
    assert_eq!(told.exposes.map(|exposes| exposes.to_string()).as_deref(), Some(r#"{"n":2}"#));
    assert!(told.entry.root().get("message").is_some());
}

/// All three ways come to the same decision.
#[test]
fn the_three_ways_to_drive_an_operation_decide_the_same() {
    let by_host = |approved: bool| {
        let mut host = Script::default();
        host.verdicts.push_back(approved);
        task().before(&probe(5), now()).unwrap().drive(&mut host).unwrap().into_decision()
    };
    let by_effects = |approved: bool| {
        let mut task = task();
        let mut operation = task.before(&probe(5), now()).unwrap();
        while operation.request().is_some() {
            operation = operation.answer(Answer::Review(approved.into()), now()).unwrap();
        }
        operation.outcome().into_decision()
    };
    let by_closure = |approved: bool| {
        let mut task = task();
        let operation = task.before(&probe(5), now()).unwrap();
        let outcome = block_on(operation.drive_async(now, async |request| match request {
            Request::Review { .. } => Some(Answer::Review(approved.into())),
            _ => None,
        }));
        outcome.unwrap().into_decision()
    };
    for approved in [true, false] {
        let decided: Decision = by_host(approved);
        assert_eq!(decided.is_allowed(), approved);
        assert_eq!(decided, by_effects(approved));
        assert_eq!(decided, by_closure(approved));
    }
}

#[test]
fn an_operation_without_an_answer_waits_and_goes_on_in_another_process() {
    let engine = engine(AGENT);
    let mut task = start(&engine);
    let outcome = block_on(task.before(&probe(5), now()).unwrap().drive_async(now, async |_| None)).unwrap();
    let Outcome::Waits(waiting) = outcome else { panic!("nobody has answered") };
    assert_eq!((waiting.reviewer(), waiting.decision.verdict.kind()), (Some("lead"), VerdictKind::Suspend));

    let kept = serde_json::to_string(&task.save()).unwrap();
    let saved: SavedTask = serde_json::from_str(&kept).unwrap();
    let mut restored = engine.restore(saved).unwrap();
    assert!(restored.pending().unwrap().answer(Answer::Written, now()).is_err(), "an answer of another kind");
    let later = now() + Duration::from_secs(3_600);
    let outcome = restored.resume(Answer::approve(), later).unwrap().outcome();
    assert!(outcome.decision().call.is_some() && outcome.is_allowed());
    assert!(restored.pending().is_none());
}

#[test]
fn the_clock_of_the_system_comes_in_and_goes_out() {
    for text in [
        "2026-06-01T12:00:00.123456789Z",
        "1969-12-31T23:59:59.5Z",
        "0001-01-01T00:00:00Z",
        "9999-12-31T23:59:59Z",
    ] {
        let time: Timestamp = text.parse().unwrap();
        assert_eq!(Timestamp::from(SystemTime::from(time)), time, "{text}");
    }
    let beyond = SystemTime::UNIX_EPOCH + Duration::from_secs(400_000_000_000);
    assert_eq!(Timestamp::from(beyond).to_string(), "9999-12-31T23:59:59Z");
    assert!(celador::cel::Duration::try_from(Duration::MAX).is_err());
    let hour = celador::cel::Duration::try_from(Duration::from_secs(3_600)).unwrap();
    assert_eq!(hour.to_string(), "3600s");
}

#[test]
fn the_async_host_pays_asks_and_refuses() {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_time().build().unwrap();
    let told = runtime.block_on(async_host::play()).unwrap();
    assert_eq!(told, [r#"{"paid":40}"#, r#"{"paid":400}"#, "4000 is outside what a clerk may pay."]);
}
