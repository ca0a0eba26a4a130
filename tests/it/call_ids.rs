//! The ids of calls: the caller's own, those that a task makes up, and what becomes of a call or a result that comes again.

use crate::task_fixture::{call, decided, engine, engine_within, noon, start, task};
use celador::task::{
    Answer, Call, CallId, CallResult, Decision, Progress, Ran, Request, SavedTask, Task, TaskError,
    VerdictKind,
};
use serde_json::{Value, json};

const OPEN: &str = "capabilities: {probe: \"*\", ledger: \"*\"}\n";

const ONCE: &str = "capabilities:\n  ledger:\n    before:\n    - {match: post_entry, assert: \
                    'c.cap.ledger_post_entry.count_successful == 0', error_message: Once.}\n  probe: \"*\"\n";

fn probe(id: &str, host: &str) -> Call {
    call("probe", json!({ "host": host })).with_id(id)
}

fn entry(id: &str) -> Call {
    call("ledger_post_entry", json!({ "account": "a", "amount": 1 })).with_id(id)
}

fn before(task: &mut Task, call: &Call) -> Decision {
    decided(task.before(call, noon()).unwrap())
}

fn report(task: &mut Task, id: &str, output: Value) -> Result<Decision, TaskError> {
    Ok(decided(task.after(&id.into(), CallResult::successful(output.into()), noon())?))
}

/// The task as another process finds it.
fn moved(task: &Task) -> Task {
    let text = serde_json::to_string(&task.save()).unwrap();
    let saved: SavedTask = serde_json::from_str(&text).unwrap();
    engine(ONCE).restore(saved).unwrap()
}

#[test]
fn a_call_has_the_id_of_its_caller_or_one_that_no_other_has() {
    let mut task = task(OPEN);
    let ids = [Some("2"), None, None, Some("toolu_01"), None, Some("日本 1")];
    let given: Vec<CallId> = ids
        .iter()
        .map(|id| {
            let call = call("probe", json!({}));
            let call = id.map_or_else(|| call.clone(), |id| call.clone().with_id(id));
            before(&mut task, &call).call.unwrap()
        })
        .collect();
    let given: Vec<&str> = given.iter().map(CallId::as_str).collect();
    assert_eq!(given, ["2", "1", "3", "toolu_01", "4", "日本 1"]);
}

#[test]
fn max_id_bytes() {
    let mut task = start(&engine_within(OPEN, |limits| limits.max_id_bytes = 8));
    for (id, is_sound) in
        [("12345678", true), ("123456789", false), ("", false), ("a\nb", false), ("a b", true)]
    {
        let mark = task.mark();
        let made = task.before(&probe(id, "a"), noon()).map(decided).map(|decision| decision.verdict.kind());
        let expected = if is_sound { Ok(VerdictKind::Allow) } else { Err(TaskError::BadCallId { max: 8 }) };
        assert_eq!((made, !task.is_at(&mark)), (expected, is_sound), "{id:?}");
    }
}

/// Each stage of a call, what the same call gets that is made once more, and how often anything changed.
#[test]
fn a_call_that_is_made_again_is_told_how_far_it_is() {
    let mut task = task(ONCE);
    let again = |task: &mut Task, call: &Call| {
        let (mark, mut other) = (task.mark(), moved(task));
        let decision = before(task, call);
        assert!(task.is_at(&mark), "nothing happens");
        let stored = before(&mut other, call);
        assert_eq!(
            (&stored.verdict, stored.verdict.message()),
            (&decision.verdict, decision.verdict.message()),
            "{call:?}"
        );
        let same = json!({ "amount": 1, "account": "a" });
        if call.function != "probe" {
            let turned = Call::new(&*call.function, same.into()).with_id(call.id.clone().unwrap());
            assert_eq!(before(task, &turned), decision, "the order of keys is nothing");
        }
        (
            decision.verdict.kind(),
            decision.verdict.message().map(str::to_owned),
            decision.verdict.waits_for().iter().map(ToString::to_string).collect::<Vec<_>>(),
        )
    };
    assert!(before(&mut task, &entry("one")).is_allowed());
    assert_eq!(again(&mut task, &entry("one")), (VerdictKind::Allow, None, vec![]));
    assert_eq!(before(&mut task, &entry("two")).verdict.kind(), VerdictKind::Wait);
    let waits = "the call waits for calls that are still open";
    let (verdict, message, waits_for) = again(&mut task, &entry("two"));
    assert_eq!((verdict, waits_for), (VerdictKind::Wait, vec!["one".to_owned()]), "{message:?} {waits}");
    report(&mut task, "one", json!({ "ok": true })).unwrap();
    let reported = Some("the result of this call was reported".to_owned());
    assert_eq!(again(&mut task, &entry("one")), (VerdictKind::Rejected, reported, vec![]));
    assert_eq!(again(&mut task, &entry("two")), (VerdictKind::Block, Some("Once.".into()), vec![]));
    // the model's next turn forgets the decision with its trace, and not what it was
    assert!(task.model_turn(celador::task::Usage::default(), noon()).is_allowed());
    assert_eq!(again(&mut task, &entry("two")), (VerdictKind::Block, Some("Once.".into()), vec![]));
    assert_eq!(before(&mut task, &entry("three")).verdict.kind(), VerdictKind::Block);
    assert_eq!(again(&mut task, &entry("three")), (VerdictKind::Block, Some("Once.".into()), vec![]));
    assert!(before(&mut task, &probe("four", "a")).is_allowed());
    task.withdraw(&"four".into(), Ran::Never, noon()).unwrap();
    assert_eq!(
        again(&mut task, &probe("four", "a")),
        (VerdictKind::Block, Some("the call was withdrawn".into()), vec![])
    );
    assert_eq!(task.context().invocations().count(), 4);
}

#[test]
fn another_call_under_an_id_is_a_mistake_of_the_host() {
    let mut task = task(ONCE);
    assert!(before(&mut task, &probe("one", "a")).is_allowed());
    let mark = task.mark();
    let exists = Err(TaskError::CallExists("one".into()));
    let others = [probe("one", "b"), entry("one"), call("nope", json!({})).with_id("one")];
    for other in &others {
        assert_eq!(task.before(other, noon()).map(decided), exists, "{other:?}");
    }
    assert_eq!(
        task.invoke(&probe("one", "a"), noon()).map(decided),
        exists,
        "it was let through for its host to run"
    );
    assert_eq!(task.await_result(&probe("one", "a")), Err(TaskError::CallExists("one".into())));
    assert!(task.is_at(&mark));
    // an id that the task made up is nobody's to give
    let made_up = before(&mut task, &call("probe", json!({}))).call.unwrap();
    let same = call("probe", json!({})).with_id(made_up.clone());
    assert_eq!(task.before(&same, noon()).map(decided), Err(TaskError::CallExists(made_up)));
}

#[test]
fn a_result_counts_once() {
    let shown = "capabilities:\n  probe:\n    after: [{transform: \"output.n\"}]\n  ledger: \"*\"\n";
    let rows: [(&str, &str, Value, VerdictKind, Option<&str>); 3] = [
        (OPEN, "probe", json!({ "n": 7 }), VerdictKind::Allow, Some(r#"{"n":7}"#)),
        // the model was given another value than the one on record, which is nobody's to see
        (shown, "probe", json!({ "n": 7 }), VerdictKind::Rejected, None),
        (shown, "ledger_lookup", json!({ "n": 7 }), VerdictKind::Allow, Some(r#"{"n":7}"#)),
    ];
    for (agent, function, output, verdict, value) in rows {
        let mut task = task(agent);
        let arguments = if function == "probe" { json!({}) } else { json!({ "account": "a" }) };
        before(&mut task, &call(function, arguments).with_id("c"));
        let first = report(&mut task, "c", output.clone()).unwrap();
        assert_eq!(first.verdict.kind(), VerdictKind::Allow);
        let mark = task.mark();
        let again = report(&mut task, "c", output).unwrap();
        assert_eq!(
            (again.verdict.kind(), again.verdict.into_value().map(|it| it.to_string()).as_deref()),
            (verdict, value),
            "{function}"
        );
        assert_eq!(report(&mut task, "c", json!({ "n": 8 })), Err(TaskError::OtherResult("c".into())));
        let failed = CallResult::errored(json!({ "n": 7 }).into());
        let failed = task.after(&"c".into(), failed, noon()).map(decided);
        assert_eq!(failed, Err(TaskError::OtherResult("c".into())));
        assert!(task.is_at(&mark));
        assert_eq!(task.context().invocations().count(), 1);
    }
    // a call that was never let through, and one that nobody made
    let mut task = task(ONCE);
    assert_eq!(report(&mut task, "c", json!(1)), Err(TaskError::UnknownCall("c".into())));
    before(&mut task, &entry("one"));
    before(&mut task, &entry("two"));
    report(&mut task, "one", json!(1)).unwrap();
    assert_eq!(report(&mut task, "two", json!(1)), Err(TaskError::UnknownCall("two".into())));
}

#[test]
fn a_call_that_asks_asks_the_same_when_it_is_made_again() {
    let agent = "capabilities:\n  probe:\n    before: [{assert: \"review('lead')\"}]\n    after: [{assert: \"review('boss')\"}]\n";
    let mut task = task(agent);
    let asked = |progress: Progress| match progress {
        Progress::Asks(question) => (question.id, question.request),
        Progress::Decided(decision) => panic!("{decision:?}"),
    };
    let lead = asked(task.before(&probe("c", "a"), noon()).unwrap().into_progress());
    assert_eq!(asked(task.before(&probe("c", "a"), noon()).unwrap().into_progress()), lead);
    assert!(task.answer(lead.0, Answer::approve(), noon()).unwrap().outcome().is_allowed());
    let result = || CallResult::successful(json!({}).into());
    let boss = asked(task.after(&"c".into(), result(), noon()).unwrap().into_progress());
    assert_eq!(boss.1, Request::Review { reviewer: "boss".into(), panel: None });
    let mut stored = engine(agent).restore(task.save()).unwrap();
    for task in [&mut task, &mut stored] {
        assert_eq!(asked(task.after(&"c".into(), result(), noon()).unwrap().into_progress()), boss);
        let refused = decided(task.answer(boss.0, Answer::deny(), noon()).unwrap());
        let again = decided(task.after(&"c".into(), result(), noon()).unwrap());
        assert_eq!(
            (again.verdict.kind(), again.verdict.message()),
            (VerdictKind::Block, refused.verdict.message())
        );
        assert_eq!(task.context().invocations().count(), 1);
    }
}

#[test]
fn max_known_calls() {
    let mut task = start(&engine_within(OPEN, |limits| limits.max_known_calls = 2));
    before(&mut task, &probe("open", "a"));
    let mut saved = task.save();
    for id in ["one", "two", "three"] {
        let mark = task.mark();
        before(&mut task, &probe(id, "a"));
        report(&mut task, id, json!(1)).unwrap();
        saved = saved.apply(task.change_since(&mark)).unwrap();
    }
    let known = |task: &Task| ["open", "one", "two", "three"].map(|id| task.has_call(&id.into()));
    assert_eq!(known(&task), [true, false, true, true]);
    let stored = engine(OPEN).restore(saved.clone()).unwrap();
    assert_eq!(known(&stored), known(&task));
    assert_eq!(serde_json::to_value(&saved).unwrap(), serde_json::to_value(task.save()).unwrap());
    // an id that made room is that of a new call
    assert!(before(&mut task, &probe("one", "b")).is_allowed());
}

#[test]
fn calls_that_are_over_count_towards_what_a_task_may_hold() {
    let why = "why ".repeat(500);
    let agent =
        format!("capabilities:\n  probe:\n    before: [{{assert: 'false', error_message: '{why}'}}]\n");
    let mut task = start(&engine(&agent));
    before(&mut task, &probe("one", "a"));
    let held = task.bytes();
    before(&mut task, &probe("two", "a"));
    assert!(task.bytes() > held + 2_000, "the texts of refusals are kept");
}
