//! Operations of one task that wait side by side: results that are reported while somebody reviews, several reviews at once,
//! calls that are withdrawn.

use crate::task_fixture::{Kept, at, call, decided, engine, noon, see, start, task};
use celador::task::{
    Answer, CallId, CallResult, Progress, Question, Ran, Request, Task, TaskError, TaskState, VerdictKind,
};
use serde_json::json;

/// `probe` is let through, `lookup` asks `lead` first, and what `post-entry` gives is looked at by `auditor`.
const AGENT: &str = r#"
capabilities:
  probe: "*"
  ledger:
    before:
    - match: lookup
      assert: review('lead')
    after:
    - match: post-entry
      assert: review('auditor')
      on_fail: lock_task
"#;

fn let_through(task: &mut Task, function: &str) -> CallId {
    decided(task.before(&call(function, json!({"account": "a", "amount": 1})), noon()).unwrap()).call.unwrap()
}

fn asks<P: Into<Progress>>(progress: P) -> Question {
    match progress.into() {
        Progress::Asks(question) => question,
        Progress::Decided(decision) => panic!("{decision:?}"),
    }
}

fn report(task: &mut Task, id: CallId) -> Progress {
    let result = CallResult::successful(json!({"ok": true}).into());
    task.after(&id, result, noon()).unwrap().into_progress()
}

/// The task of most tests: two calls of `ledger` are let through, one of `probe`, and `lookup` is under review.
fn busy() -> (Task, [CallId; 3], Question) {
    let mut task = task(AGENT);
    let open = ["ledger_post_entry", "ledger_post_entry", "probe"].map(|name| let_through(&mut task, name));
    let review = asks(task.before(&call("ledger_lookup", json!({"account": "a"})), noon()).unwrap());
    assert!(matches!(&review.request, Request::Review { reviewer, .. } if reviewer == "lead"));
    (task, open, review)
}

#[test]
fn a_result_is_taken_while_somebody_reviews() {
    let (mut task, [_, _, probe], review) = busy();
    assert_eq!(decided(report(&mut task, probe)).verdict.kind(), VerdictKind::Allow);
    assert_eq!(see(&task, "context.capabilities.probe.count_successful"), json!(1));
    // the review goes on, and until then no further call is let through and no turn begins
    assert_eq!(task.state(), TaskState::Suspended);
    let held = decided(task.before(&call("probe", json!({})), noon()).unwrap());
    let asked = task.suspension_at(review.id).unwrap().call.unwrap();
    assert_eq!((held.verdict.kind(), held.verdict.waits_for()), (VerdictKind::Wait, &*vec![asked]));
    let approved = decided(task.answer(review.id, Answer::approve(), noon()).unwrap());
    assert_eq!(approved.verdict.kind(), VerdictKind::Allow);
    assert_eq!(task.state(), TaskState::Active);
}

#[test]
fn several_reviews_are_open_and_each_is_answered_by_its_name() {
    let (mut task, [first, second, _], lead) = busy();
    let one = asks(report(&mut task, first));
    let two = asks(report(&mut task, second));
    assert_eq!(task.questions().collect::<Vec<_>>(), [lead.clone(), one, two.clone()]);
    assert_eq!(task.resume(Answer::approve(), noon()).unwrap_err(), TaskError::SeveralPending);
    assert_eq!(task.suspension_at(two.id).unwrap().verdict.reviewer(), Some("auditor"));
    // the last first
    assert!(decided(task.answer(two.id, Answer::approve(), noon()).unwrap()).is_allowed());
    assert_eq!(
        task.answer(two.id, Answer::approve(), noon()).unwrap_err(),
        TaskError::UnknownQuestion(two.id.0)
    );
    assert!(!decided(task.answer(lead.id, Answer::deny(), noon()).unwrap()).is_allowed());
    assert!(decided(task.resume(Answer::approve(), noon()).unwrap()).is_allowed());
    assert_eq!(task.questions().count(), 0);
    assert_eq!(see(&task, "context.capabilities.ledger_post_entry.count_successful"), json!(2));
    assert_eq!(see(&task, "context.capabilities.ledger_lookup.count_restricted"), json!(1));
}

/// Two calls of one turn that are each checked first and then reviewed: whoever checks answers one after the other, and the
/// reviews are asked together.
#[test]
fn a_call_whose_check_is_made_gets_to_its_own_review_while_another_is_open() {
    const CHECKED: &str = r#"
capabilities:
  probe: "*"
  ledger:
    before:
    - {match: lookup, invoke: 'probe:check'}
    - match: lookup
      assert: review('lead')
"#;
    let mut task = task(CHECKED);
    let lookup = |task: &mut Task, account: &str| {
        asks(task.before(&call("ledger_lookup", json!({"account": account})), noon()).unwrap())
    };
    let checks = ["a", "b"].map(|account| lookup(&mut task, account));
    let reviews = checks.map(|check| {
        let result = Answer::Result(CallResult::successful(json!({"ok": true}).into()));
        asks(task.answer(check.id, result, noon()).unwrap())
    });
    assert!(reviews.iter().all(|review| matches!(&review.request, Request::Review { .. })));
    // a third one may not even be checked before they are answered
    let third = decided(task.before(&call("ledger_lookup", json!({"account": "c"})), noon()).unwrap());
    assert_eq!(third.verdict.kind(), VerdictKind::Wait);
    // an edit goes through the steps anew, and what was checked is not checked again
    let edited = json!({"answer": "edit", "arguments": {"account": "d"}});
    let edited = Answer::Review(serde_json::from_value(edited).unwrap());
    let [first, second] = reviews;
    let edited = decided(task.answer(first.id, edited, noon()).unwrap());
    assert_eq!(edited.verdict.kind(), VerdictKind::Wait, "it is held behind the other review");
    let approved = decided(task.answer(second.id, Answer::approve(), noon()).unwrap());
    assert_eq!(approved.verdict.kind(), VerdictKind::Allow);
    // the third one begins with its check, and the edited one is let through
    let told = approved.decided.iter().map(|told| (told.call.as_str(), told.decision.verdict.kind()));
    assert_eq!(told.collect::<Vec<_>>(), [("3", VerdictKind::Suspend), ("1", VerdictKind::Allow)]);
    assert_eq!(see(&task, "context.capabilities.probe.count_successful"), json!(2));
}

#[test]
fn a_lock_closes_what_else_waits() {
    let (mut task, [first, second, probe], lead) = busy();
    let one = asks(report(&mut task, first));
    let locked = decided(task.answer(one.id, Answer::deny(), noon()).unwrap());
    assert_eq!(locked.verdict.kind(), VerdictKind::LockTask);
    assert!(matches!(task.state(), TaskState::Locked { .. }) && task.questions().count() == 0);
    let late = task.answer(lead.id, Answer::approve(), noon()).unwrap_err();
    assert_eq!(late, TaskError::UnknownQuestion(lead.id.0));
    assert_eq!(see(&task, "context.capabilities.ledger_lookup.count_restricted"), json!(1));
    // results of calls that were let through are still taken, and withheld
    for id in [second, probe] {
        let withheld = decided(report(&mut task, id));
        assert_eq!((withheld.verdict.kind(), withheld.verdict.into_value()), (VerdictKind::Rejected, None));
    }
    assert_eq!(see(&task, "context.capabilities.probe.count_restricted"), json!(1));
}

#[test]
fn what_waits_side_by_side_is_kept_step_by_step() {
    let engine = engine(AGENT);
    let new = start(&engine);
    let mut kept = Kept::new(&engine, &new);
    let (task, [first, _, probe], lead) = busy();
    let mut task = kept.keep(&task);
    let one = asks(report(&mut task, first.clone()));
    let mut task = kept.keep(&task);
    assert_eq!(task.questions().collect::<Vec<_>>(), [lead.clone(), one.clone()]);
    // approved, it is held all the same: a review is still open
    let held = decided(task.answer(lead.id, Answer::approve(), noon()).unwrap());
    assert_eq!((held.verdict.kind(), held.verdict.waits_for()), (VerdictKind::Wait, &[first][..]));
    let mut task = kept.keep(&task);
    task.withdraw(&probe, Ran::Unknown, noon()).unwrap();
    let mut task = kept.keep(&task);
    let last = decided(task.answer(one.id, Answer::approve(), noon()).unwrap());
    assert!(last.is_allowed() && last.decided[0].decision.is_allowed(), "{last:?}");
    assert_eq!(last.decided[0].call, held.call.unwrap());
    // a question that is asked later has a name of its own
    let again =
        asks(kept.keep(&task).before(&call("ledger_lookup", json!({"account": "a"})), noon()).unwrap());
    assert!(again.id > one.id && again.id > lead.id);
}

#[test]
fn a_withdrawn_call_is_on_record_as_what_is_known_of_it() {
    let (mut task, [first, _, probe], lead) = busy();
    let withdrawn = task.withdraw(&probe, Ran::Never, noon()).unwrap();
    assert_eq!(withdrawn.verdict.kind(), VerdictKind::Block);
    assert_eq!(withdrawn.verdict.message(), Some("the call was withdrawn"));
    assert_eq!(task.withdraw(&probe, Ran::Never, noon()).unwrap_err(), TaskError::UnknownCall(probe));
    task.withdraw(&first, Ran::Unknown, noon()).unwrap();
    task.take_back(lead.id, Ran::Unknown, noon()).unwrap();
    let twice = task.take_back(lead.id, Ran::Never, noon()).unwrap_err();
    assert_eq!(twice, TaskError::UnknownQuestion(lead.id.0));
    // one under review has not run, whatever its runtime believes
    for (function, restricted, errored) in
        [("probe", 1, 0), ("ledger_post_entry", 0, 1), ("ledger_lookup", 1, 0)]
    {
        let count = |name| see(&task, &format!("context.capabilities.{function}.count_{name}"));
        assert_eq!(
            [count("restricted"), count("errored")],
            [json!(restricted), json!(errored)],
            "{function}"
        );
    }
    assert_eq!(task.state(), TaskState::Active);
}

#[test]
fn a_review_that_outlives_the_task_closes_all_that_wait() {
    let mut task = task(&format!("limits: {{max_age: 3h}}\n{AGENT}"));
    let open = let_through(&mut task, "ledger_post_entry");
    let lead = asks(task.before(&call("ledger_lookup", json!({"account": "a"})), noon()).unwrap());
    let one = asks(report(&mut task, open));
    let late = at("2026-06-01T15:00:00Z");
    let ended = decided(task.answer(one.id, Answer::approve(), late).unwrap());
    assert_eq!(ended.verdict.kind(), VerdictKind::Terminate);
    let gone = task.take_back(lead.id, Ran::Never, late).unwrap_err();
    assert_eq!(gone, TaskError::UnknownQuestion(lead.id.0));
    assert_eq!(see(&task, "context.capabilities.ledger_post_entry.count_restricted"), json!(1));
}

/// A call of `probe` is put on the trail first, and an input is, too.
const TRAILED: &str = r#"
guardrails:
  before:
  - {invoke: 'audit:append', bindings: {what: "'said'"}}
capabilities:
  probe:
    before:
    - {invoke: 'audit:append', bindings: {what: "'probe'"}}
    after:
    - {invoke: 'audit:append', bindings: {what: "'seen'"}}
  ledger: "*"
"#;

#[test]
fn what_a_step_has_invoked_is_on_record_although_the_task_has_ended_meanwhile() {
    let engine = engine(TRAILED);
    let ahead = |task: &mut Task| asks(task.before(&call("probe", json!({})), noon()).unwrap());
    let behind = |task: &mut Task| {
        let id = task.await_result(&call("probe", json!({}))).unwrap();
        asks(report(task, id))
    };
    let said = |task: &mut Task| asks(task.input(&celador::Json::string("hello"), noon()));
    type Begin<'a> = &'a dyn Fn(&mut Task) -> Question;
    let rows: [(Begin<'_>, u32); 3] = [(&ahead, 1), (&behind, 1), (&said, 0)];
    let results = [
        (Some(CallResult::successful(json!({"line": 7}).into())), "successful"),
        (Some(CallResult::errored(json!({"error": "503"}).into())), "errored"),
        (None, "restricted"),
    ];
    for (begin, by_model) in rows {
        for (result, count) in &results {
            let mut task = start(&engine);
            let question = begin(&mut task);
            let mut kept = Kept::new(&engine, &task);
            task.end("enough", noon());
            let mut task = kept.keep(&task);
            assert_eq!((task.questions().count(), see(&task, "c.cap.audit.count_successful")), (0, json!(0)));
            match result {
                Some(result) => {
                    assert_eq!(task.function_asked(Some(question.id)), Some("audit"));
                    let answer = Answer::Result(result.clone());
                    let told = decided(task.answer(question.id, answer.clone(), noon()).unwrap());
                    assert_eq!(
                        (told.verdict.kind(), told.verdict.into_value()),
                        (VerdictKind::Rejected, None)
                    );
                    let again = task.answer(question.id, answer, noon()).unwrap_err();
                    assert_eq!(again, TaskError::UnknownQuestion(question.id.0));
                }
                None => drop(task.take_back(question.id, Ran::Never, noon()).unwrap()),
            }
            let task = kept.keep(&task);
            assert_eq!(see(&task, &format!("c.cap.audit.count_{count}")), json!(1), "{count}");
            assert_eq!(task.context().calls_by_model(), by_model, "it is no call of the model");
        }
    }
}

#[test]
fn what_a_step_has_invoked_and_nobody_knows_of_is_on_record_as_an_error() {
    for (ran, errored) in [(Ran::Never, 0), (Ran::Unknown, 1)] {
        let mut task = task(TRAILED);
        let question = asks(task.before(&call("probe", json!({})), noon()).unwrap());
        task.take_back(question.id, ran, noon()).unwrap();
        assert_eq!(see(&task, "c.cap.audit.count_errored"), json!(errored), "{ran:?}");
        assert_eq!(see(&task, "c.cap.probe.count_restricted"), json!(1));
    }
}

#[test]
fn a_result_for_a_step_of_an_operation_that_a_lock_has_closed_is_taken_after_an_unlock() {
    let mut task = task(
        &TRAILED.replace("  ledger: \"*\"", "  ledger: {before: [{assert: 'false', on_fail: lock_task}]}"),
    );
    let question = asks(task.before(&call("probe", json!({})), noon()).unwrap());
    let locks = call("ledger_lookup", json!({"account": "a"}));
    assert_eq!(decided(task.before(&locks, noon()).unwrap()).verdict.kind(), VerdictKind::LockTask);
    task.unlock("looked into").unwrap();
    let result = Answer::Result(CallResult::successful(json!({}).into()));
    let told = decided(task.answer(question.id, result, noon()).unwrap());
    assert_eq!(
        (told.verdict.kind(), told.verdict.message()),
        (VerdictKind::Rejected, Some("the operation that this result is for is over"))
    );
    assert_eq!(see(&task, "c.cap.audit.count_successful"), json!(1));
}
