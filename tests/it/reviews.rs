//! Reviews: what a person is shown, the four answers, expiry, and the calls that stand behind them.

use crate::task_fixture::{Kept, at, call, decided, engine, engine_within, noon, see, start};
use celador::Engine;
use celador::task::{
    Allowed, Answer, Call, CallResult, Decision, Identity, Operation, Progress, QuestionId, Refused, Request,
    Review, ReviewAnswer, ReviewChoice, ReviewState, Task, TaskError, TaskState, Verdict, VerdictKind,
};
use serde_json::{Value, json};

/// An entry over 100 needs the lead, twice; one of 500 needs the boss, too. Each is put on the trail before it is made. What
/// `lookup` gives is looked at by `auditor`, `probe` asks nobody, and its `host` is bound.
const DESK: &str = r#"
capabilities:
  probe:
    bindings: {host: "'a'"}
    before:
    - condition: input.depth > 5
      assert: review('lead')
  ledger:
    before:
    - match: post-entry
      invoke: audit:append
      bindings: {what: "'entry'"}
    - match: post-entry
      assert: input.amount <= 100 || review('lead')
      error_message: "{input.amount} is more than 100."
    - match: post-entry
      assert: input.amount < 500 || review('boss')
    - match: post-entry
      assert: input.amount <= 100 || review('lead')
    after:
    - match: lookup
      assert: review('auditor')
    - match: post-entry
      condition: has(output.hidden)
      transform: "{'shown': 'nothing'}"
"#;

fn desk() -> Engine {
    engine(DESK)
}

fn entry(amount: i64) -> Call {
    call("ledger_post_entry", json!({"account": "a", "amount": amount}))
}

fn asks<P: Into<Progress>>(progress: P) -> QuestionId {
    match progress.into() {
        Progress::Asks(question) => question.id,
        Progress::Decided(decision) => panic!("{decision:?}"),
    }
}

/// Answers the invoke step ahead of an entry.
fn on_trail(task: &mut Task, question: QuestionId) -> Progress {
    assert!(matches!(task.questions().find(|it| it.id == question).unwrap().request, Request::Invoke(_)));
    let done = Answer::Result(CallResult::successful(json!({}).into()));
    task.answer(question, done, noon()).unwrap().into_progress()
}

/// An entry that is under review.
fn under_review(task: &mut Task, amount: i64) -> QuestionId {
    let question = asks(task.before(&entry(amount), noon()).unwrap());
    asks(on_trail(task, question))
}

fn choose(choice: ReviewChoice) -> Answer {
    ReviewAnswer { choice, by: None, note: None, addressed_as: Vec::new() }.into()
}

fn edit(arguments: Value) -> Answer {
    choose(ReviewChoice::Edit { arguments: arguments.into() })
}

fn answer(task: &mut Task, question: QuestionId, answer: Answer) -> Progress {
    task.answer(question, answer, noon()).unwrap().into_progress()
}

fn value(decision: &Decision) -> String {
    decision.verdict.value().map(ToString::to_string).unwrap_or_default()
}

fn only(task: &Task) -> Review {
    let mut reviews: Vec<_> = task.reviews().collect();
    assert_eq!(reviews.len(), 1);
    reviews.remove(0)
}

#[test]
fn a_review_says_all_that_a_person_needs() {
    let mut task = start(&desk());
    let question = under_review(&mut task, 250);
    let review = only(&task);
    let text = serde_json::to_value(&review).unwrap();
    let digest = text["digest"].as_str().unwrap().to_owned();
    let expected = json!({
        "question": question.0, "state": "open", "reviewer": "lead", "call": review.call,
        "function": "ledger_post_entry", "step": "before[1]",
        "arguments": {"account": "a", "amount": 250, "memo": "", "kind": "debit"},
        "result": null, "message": null, "text": "May `ledger_post_entry` run with these arguments?",
        "rule": {"expression": "input.amount <= 100 || review('lead')", "origin": text["rule"]["origin"]},
        "asked_at": "2026-06-01T12:00:00Z", "expires_at": "2026-07-01T12:00:00Z",
        "digest": digest, "answered": null,
    });
    assert_eq!(text, expected);
    assert_eq!(text["rule"]["origin"]["path"], "capabilities.ledger.before[1].assert");
    assert_eq!(serde_json::from_value::<Review>(text).unwrap(), review);
    // the same call asks with the same digest, another with another
    let digest_of = |amount| {
        let mut task = start(&desk());
        under_review(&mut task, amount);
        only(&task).digest
    };
    assert_eq!(digest_of(250), review.digest);
    assert_ne!(digest_of(251), review.digest);
}

#[test]
fn the_digest_is_that_of_the_calls_own_rules() {
    let digest = |manifest: &str| {
        let mut task = start(&engine(manifest));
        under_review(&mut task, 250);
        only(&task).digest
    };
    let before = digest(DESK);
    // a rule of another capability, and words for people, change nothing
    assert_eq!(digest(&DESK.replace("input.depth > 5", "input.depth > 6")), before);
    assert_ne!(digest(&DESK.replace("input.amount < 500", "input.amount < 600")), before);
}

#[test]
fn an_answer_is_read_in_short_and_as_a_whole() {
    let read = |text: &str| serde_json::from_str::<ReviewAnswer>(text);
    for (short, whole) in [("true", r#"{"answer":"approve"}"#), ("false", r#"{"answer":"deny"}"#)] {
        assert_eq!(read(short).unwrap(), read(whole).unwrap());
    }
    let null = r#"{"answer":"respond","result":null,"note":"n","addressed_as":["group:leads"]}"#;
    assert_eq!(serde_json::to_string(&read(null).unwrap()).unwrap(), null);
    let either = "true, false, or an object with `answer`";
    let beside = "`arguments` goes with `edit`, `result` with `respond`, and neither with another answer";
    for (text, said) in [
        ("1", either),
        (r#""yes""#, either),
        ("null", either),
        (r#"{"note":"n"}"#, "missing field `answer`"),
        (r#"{"answer":"approve","arguments":{}}"#, beside),
        (r#"{"answer":"edit"}"#, beside),
        (r#"{"answer":"deny","why":"n"}"#, "unknown field `why`"),
    ] {
        let error = read(text).unwrap_err().to_string();
        assert!(error.contains(said), "{text}: {error}");
    }
}

#[test]
fn one_approval_covers_the_steps_of_a_call() {
    let mut task = start(&desk());
    let question = under_review(&mut task, 250);
    let by = Some(Identity { issuer: None, subject: "u-9".into(), email: None });
    let approval = ReviewAnswer {
        choice: ReviewChoice::Approve,
        by: by.clone(),
        note: Some("fine".into()),
        addressed_as: Vec::new(),
    };
    let decision = decided(answer(&mut task, question, approval.into()));
    assert_eq!(decision.verdict.kind(), VerdictKind::Allow);
    let review = only(&task);
    let answered = review.answered.unwrap();
    assert_eq!((review.state, answered.answer.by, answered.at), (ReviewState::Approved, by, noon()));
    assert_eq!(answered.answer.note.as_deref(), Some("fine"));
    // another reviewer is asked all the same, and the first one not again
    let mut task = start(&desk());
    let lead = under_review(&mut task, 700);
    let boss = asks(answer(&mut task, lead, Answer::approve()));
    assert_eq!(task.suspension_at(boss).unwrap().verdict.reviewer(), Some("boss"));
    assert!(decided(answer(&mut task, boss, Answer::approve())).is_allowed());
}

#[test]
fn an_edit_passes_the_steps_again_without_their_finished_invokes() {
    let mut task = start(&desk());
    let lead = under_review(&mut task, 700);
    let boss = asks(answer(&mut task, lead, Answer::approve()));
    // the boss makes it 200: the lead's approval was of 700, and is asked for anew
    let arguments = json!({"account": "a", "amount": 200});
    let again = asks(answer(&mut task, boss, edit(arguments)));
    let review = task.reviews().find(|review| review.question == again).unwrap();
    assert_eq!(
        (&*review.reviewer, &*review.text.unwrap()),
        ("lead", "May `ledger_post_entry` run with these arguments?")
    );
    let decision = decided(answer(&mut task, again, Answer::approve()));
    assert_eq!(value(&decision), r#"{"account":"a","amount":200,"memo":"","kind":"debit"}"#);
    assert_eq!(see(&task, "c.cap.audit.count_successful"), json!(1), "the trail was written once");
    let states: Vec<_> = task.reviews().map(|review| review.state).collect();
    assert_eq!(states, [ReviewState::Approved, ReviewState::Edited, ReviewState::Approved]);
    // an edit is its editor's approval
    let mut task = start(&desk());
    let lead = under_review(&mut task, 250);
    let decision = decided(answer(&mut task, lead, edit(json!({"account": "b", "amount": 240}))));
    assert_eq!(value(&decision), r#"{"account":"b","amount":240,"memo":"","kind":"debit"}"#);
    // arguments of which no step asks need nobody
    let mut task = start(&desk());
    let lead = under_review(&mut task, 250);
    assert!(decided(answer(&mut task, lead, edit(json!({"account": "a", "amount": 90})))).is_allowed());
}

#[test]
fn an_edit_that_cannot_be_made_changes_nothing() {
    let mut task = start(&desk());
    let probe = asks(task.before(&call("probe", json!({"depth": 9})), noon()).unwrap());
    let saved = serde_json::to_string(&task.save()).unwrap();
    let rows = [
        (json!({"depth": "deep"}), "the arguments cannot be edited so: the call cannot be formed: "),
        (
            json!({"depth": 8, "host": "b"}),
            "the arguments cannot be edited so: `host` is bound by the policy",
        ),
        (json!([8]), "the arguments cannot be edited so: expected an object, found list"),
    ];
    for (arguments, message) in rows {
        let error = task.answer(probe, edit(arguments), noon()).unwrap_err().to_string();
        assert!(error.starts_with(message), "{error}");
        assert_eq!(serde_json::to_string(&task.save()).unwrap(), saved);
    }
    // the bound value itself is no change
    let decision = decided(answer(&mut task, probe, edit(json!({"depth": 7, "host": "a"}))));
    assert_eq!(value(&decision), r#"{"host":"a","depth":7}"#);
}

#[test]
fn a_response_stands_in_the_place_of_the_tool() {
    let respond = |result: Value| choose(ReviewChoice::Respond { result: result.into() });
    let mut task = start(&desk());
    let lead = under_review(&mut task, 250);
    let decision = decided(answer(&mut task, lead, respond(json!({"paid": "in cash"}))));
    assert_eq!(
        (decision.verdict.kind(), &*value(&decision)),
        (VerdictKind::Respond, r#"{"paid":"in cash"}"#)
    );
    assert!(!decision.is_allowed() && decision.verdict.message().is_some());
    // nothing has run, and nothing is awaited
    assert_eq!(see(&task, "c.cap.ledger_post_entry.count_restricted"), json!(1));
    assert_eq!(see(&task, "c.cap.ledger_post_entry.outputs"), json!([null]));
    let late = task.after(
        &decision.call.unwrap_or_else(|| only(&task).call.unwrap()),
        CallResult::successful(json!(1).into()),
        noon(),
    );
    assert!(matches!(late.unwrap_err(), TaskError::UnknownCall(_)));
    assert_eq!(only(&task).state, ReviewState::Responded);
    // the steps behind the call see it
    let mut task = start(&desk());
    let lead = under_review(&mut task, 250);
    let decision = decided(answer(&mut task, lead, respond(json!({"hidden": true}))));
    assert_eq!(value(&decision), r#"{"shown":"nothing"}"#);
    // a whole call ends in what the model receives
    let mut task = start(&desk());
    let trail = asks(task.invoke(&entry(250), noon()).unwrap());
    let lead = asks(on_trail(&mut task, trail));
    let decision = decided(answer(&mut task, lead, respond(json!({"done": 1}))));
    assert_eq!((decision.verdict.kind(), &*value(&decision)), (VerdictKind::Allow, r#"{"done":1}"#));
}

/// A call that is made once more comes to what it came to: a response is never turned into a permission.
#[test]
fn a_call_with_a_response_comes_to_the_same_when_it_is_made_again() {
    for result in [json!(null), json!({"paid": "in cash"})] {
        let mut task = start(&desk());
        let named = call("probe", json!({"depth": 9})).with_id("c-9");
        let lead = asks(task.before(&named, noon()).unwrap());
        let given = choose(ReviewChoice::Respond { result: result.into() });
        let told = decided(answer(&mut task, lead, given));
        let again = decided(task.before(&named, noon()).unwrap());
        assert_eq!((told.verdict.kind(), again.verdict.kind()), (VerdictKind::Respond, VerdictKind::Respond));
        assert_eq!(again.verdict.message(), told.verdict.message());
    }
}

/// An explanation says whether it comes to the same kind of verdict. What its values are, what is kept of them and what limits left is
/// another question.
#[test]
fn an_explanation_compares_kinds_of_verdicts() {
    let task = start(&desk());
    let call = call("probe", json!({"depth": 1}));
    let told = decided(task.copy().unwrap().before(&call, noon()).unwrap());
    let rows = [
        (told.verdict.clone(), true),
        // the value that a store has kept of it
        (Verdict::Allow(Allowed::default()), true),
        (Verdict::Block(Refused::default()), false),
    ];
    for (verdict, same) in rows {
        let stored = Decision { verdict, ..told.clone() };
        let explained = Operation::Before(call.clone())
            .explained(task.copy().unwrap(), noon(), Some(&stored), |_| Ok::<_, TaskError>(Vec::new()))
            .unwrap();
        assert_eq!(explained.same, Some(same));
    }
}

#[test]
fn a_result_under_review_can_be_neither_edited_nor_replaced() {
    let mut task = start(&desk());
    let lookup =
        decided(task.before(&call("ledger_lookup", json!({"account": "a"})), noon()).unwrap()).call.unwrap();
    let result = CallResult::successful(json!({"balance": 3}).into());
    let auditor = asks(task.after(&lookup, result, noon()).unwrap());
    let review = only(&task);
    assert_eq!(review.result.unwrap().to_string(), r#"{"balance":3}"#);
    for choice in [
        ReviewChoice::Edit { arguments: json!({"account": "b"}).into() },
        ReviewChoice::Respond { result: json!(1).into() },
    ] {
        assert_eq!(task.answer(auditor, choose(choice), noon()).unwrap_err(), TaskError::WrongAnswer);
    }
    assert!(decided(answer(&mut task, auditor, Answer::approve())).is_allowed());
    assert_eq!(only(&task).result, None, "it is on record with the call");
}

#[test]
fn nobodys_answer_in_time_denies() {
    let engine = engine_within(DESK, |limits| limits.max_review_ms = 60_000);
    let mut task = start(&engine);
    let question = under_review(&mut task, 250);
    let review = only(&task);
    assert_eq!(review.expires_at, Some(at("2026-06-01T12:01:00Z")));
    let late = at("2026-06-01T12:01:00Z");
    let saved = serde_json::to_string(&task.save()).unwrap();
    let refused = task.answer(question, Answer::approve(), late).unwrap_err();
    assert_eq!(refused, TaskError::ReviewExpired(question.0));
    assert_eq!(serde_json::to_string(&task.save()).unwrap(), saved, "a late answer changes nothing");
    // the next operation finds it expired, and tells what the call came to
    let told = decided(task.before(&call("probe", json!({"depth": 1})), late).unwrap());
    assert_eq!(told.verdict.kind(), VerdictKind::Allow);
    let [denied] = &*told.decided else { panic!("{told:?}") };
    assert_eq!(
        (denied.call.clone(), denied.decision.verdict.kind()),
        (review.call.unwrap(), VerdictKind::Block)
    );
    assert_eq!(denied.decision.verdict.message(), Some("250 is more than 100."));
    assert_eq!(task.standing(&denied.call).unwrap().verdict.kind(), VerdictKind::Block);
    assert_eq!((only(&task).state, task.state()), (ReviewState::Expired, TaskState::Active));
    // an answer that is in time is taken
    let mut task = start(&engine);
    let question = under_review(&mut task, 250);
    let in_time = at("2026-06-01T12:00:59.999Z");
    assert!(decided(task.answer(question, Answer::approve(), in_time).unwrap()).is_allowed());
}

#[test]
fn an_end_closes_open_reviews() {
    let mut task = start(&desk());
    under_review(&mut task, 250);
    task.end("enough", noon());
    assert_eq!(only(&task).state, ReviewState::Withdrawn);
}

#[test]
fn all_reviews_of_a_turn_are_asked_together() {
    let engine = desk();
    let mut task = start(&engine);
    let mut kept = Kept::new(&engine, &task);
    let deep = |depth: i64| call("probe", json!({"depth": depth}));
    let first = asks(task.before(&deep(8), noon()).unwrap());
    let second = asks(task.before(&deep(9), noon()).unwrap());
    // a third asks nobody: it is held, as no call is let through while a review is open
    let third = decided(task.before(&deep(1), noon()).unwrap());
    let under: Vec<_> = task.reviews().map(|review| review.call.unwrap()).collect();
    assert_eq!((third.verdict.kind(), third.verdict.waits_for()), (VerdictKind::Wait, &*under));
    // a fourth would invoke another tool ahead of it, and is held before that
    let fourth = decided(task.before(&entry(1), noon()).unwrap());
    assert_eq!(fourth.verdict.kind(), VerdictKind::Wait);
    assert_eq!(see(&task, "c.cap.audit.count_successful"), json!(0));
    task = kept.keep(&task);
    // approved, the first is held until the second is answered, too
    let held = decided(answer(&mut task, first, Answer::approve()));
    assert_eq!((held.verdict.kind(), held.verdict.waits_for()), (VerdictKind::Wait, &under[1..]));
    task = kept.keep(&task);
    let last = decided(answer(&mut task, second, Answer::deny()));
    assert_eq!(last.verdict.kind(), VerdictKind::Block);
    let of = |id: &celador::task::CallId| {
        let decided = last.decided.iter().find(|decided| decided.call == *id).unwrap();
        decided.decision.verdict.kind()
    };
    assert_eq!(last.decided.len(), 3);
    assert_eq!(of(&held.call.unwrap()), VerdictKind::Allow);
    assert_eq!(of(&third.call.clone().unwrap()), VerdictKind::Allow);
    assert_eq!(of(&fourth.call.unwrap()), VerdictKind::Suspend, "its trail is to be written");
    task = kept.keep(&task);
    assert_eq!(task.questions().count(), 1);
    assert_eq!(task.standing(&third.call.clone().unwrap()).unwrap().verdict.kind(), VerdictKind::Allow);
}

#[test]
fn a_call_that_is_held_can_be_withdrawn_and_ends_with_its_task() {
    let deep = |depth: i64| call("probe", json!({"depth": depth}));
    let mut task = start(&desk());
    asks(task.before(&deep(8), noon()).unwrap());
    let [one, two] = [(); 2].map(|()| decided(task.before(&deep(1), noon()).unwrap()).call.unwrap());
    let withdrawn = task.withdraw(&one, celador::Ran::Never, noon()).unwrap();
    assert_eq!(withdrawn.verdict.kind(), VerdictKind::Block);
    assert_eq!(see(&task, "c.cap.probe.count_restricted"), json!(1));
    let ended = task.end("enough", noon());
    assert_eq!(
        (ended.decided[0].call.clone(), ended.decided[0].decision.verdict.kind()),
        (two, VerdictKind::Rejected)
    );
    // the one that was reviewed and the one that was held were never let through
    assert_eq!(see(&task, "c.cap.probe.count_restricted"), json!(3));
}

#[test]
fn answers_are_read_as_they_were_and_as_they_are() {
    let rows = [
        (json!({"review": true}), Answer::approve()),
        (json!({"review": false}), Answer::deny()),
        (json!({"review": {"answer": "approve"}}), Answer::approve()),
        (json!({"review": {"answer": "edit", "arguments": {"a": 1}}}), edit(json!({"a": 1}))),
        (
            json!({"review": {"answer": "deny", "note": "no", "by": {"subject": "u"}}}),
            ReviewAnswer {
                choice: ReviewChoice::Deny,
                by: Some(Identity { issuer: None, subject: "u".into(), email: None }),
                note: Some("no".into()),
                addressed_as: Vec::new(),
            }
            .into(),
        ),
    ];
    for (text, answer) in rows {
        assert_eq!(serde_json::from_value::<Answer>(text.clone()).unwrap(), answer, "{text}");
        let written = serde_json::to_value(&answer).unwrap();
        assert_eq!(serde_json::from_value::<Answer>(written).unwrap(), answer);
    }
    assert_eq!(serde_json::to_value(Answer::approve()).unwrap(), json!({"review": true}));
    for wrong in [
        json!({"review": "yes"}),
        json!({"review": {"answer": "maybe"}}),
        json!({"review": {"answer": "edit"}}),
        json!({"review": {"answer": "approve", "arguments": {}}}),
        json!({"review": {"answer": "approve", "who": "u"}}),
    ] {
        assert!(serde_json::from_value::<Answer>(wrong.clone()).is_err(), "{wrong}");
    }
}

#[test]
fn who_approved_and_when_is_part_of_the_context() {
    let agent = r#"
capabilities:
  probe:
    before:
    - condition: input.depth > 5
      assert: review('lead')
    - condition: input.depth == 4
      assert: c.reviews.exists(r, r.state == 'approved' && r.function == 'probe' && r.by == 'kim@example.com')
  ledger: "*"
"#;
    let engine = engine(agent);
    let mut task = start(&engine);
    let deep = |depth: i64| call("probe", json!({"depth": depth}));
    // before the first review the list is empty
    assert_eq!(decided(task.before(&deep(4), noon()).unwrap()).verdict.kind(), VerdictKind::Block);
    assert_eq!(see(&task, "context.reviews"), json!([]));
    let question = asks(task.before(&deep(8), noon()).unwrap());
    // a decision that reads reviews waits for the call that is reviewed
    let waits = decided(task.before(&deep(4), noon()).unwrap());
    assert_eq!(waits.verdict.kind(), VerdictKind::Wait);
    let kim =
        Identity { issuer: Some("idp".into()), subject: "u-9".into(), email: Some("kim@example.com".into()) };
    let approval = ReviewAnswer {
        choice: ReviewChoice::Approve,
        by: Some(kim),
        note: Some("fine".into()),
        addressed_as: Vec::new(),
    };
    let approved = decided(answer(&mut task, question, approval.into()));
    let expected = json!([{
        "reviewer": "lead", "state": "approved", "function": "probe", "call": approved.call, "by": "kim@example.com",
        "at": "2026-06-01T12:00:00Z", "note": "fine"
    }]);
    assert_eq!(see(&task, "context.reviews"), expected);
    let saved: celador::SavedTask =
        serde_json::from_str(&serde_json::to_string(&task.save()).unwrap()).unwrap();
    let mut task = engine.restore(saved).unwrap();
    assert_eq!(see(&task, "context.reviews"), expected);
    let reported =
        task.after(&approved.call.unwrap(), CallResult::successful(json!(1).into()), noon()).unwrap();
    let told = reported.outcome().into_decision();
    assert_eq!(told.decided[0].decision.verdict.kind(), VerdictKind::Allow);
}

/// A call that is approved while another review is open is held, in this process and in the next one, and runs with the note of who approved of it once nothing
/// holds it. Its decision names the review.
#[test]
fn an_approved_call_is_held_over_a_restart_and_runs_later() {
    let engine = desk();
    let mut task = start(&engine);
    let deep = |id: &str| call("probe", json!({"depth": 9})).with_id(id);
    let first = asks(task.before(&deep("c1"), noon()).unwrap());
    let second = asks(task.before(&deep("c2"), noon()).unwrap());
    let note = Some("Only today.".to_owned());
    let approval = ReviewAnswer { choice: ReviewChoice::Approve, by: None, note, addressed_as: Vec::new() };
    let held = decided(answer(&mut task, first, approval.into()));
    assert_eq!((held.verdict.kind(), held.verdict.held_by()), (VerdictKind::Wait, &[second][..]));
    assert_eq!(held.verdict.waits_for(), ["c2".into()]);

    let saved = serde_json::to_string(&task.save()).unwrap();
    let mut task = engine.restore(serde_json::from_str(&saved).unwrap()).unwrap();
    let again = decided(task.before(&deep("c1"), noon()).unwrap());
    assert_eq!((again.verdict.kind(), again.verdict.held_by()), (VerdictKind::Wait, &[second][..]));

    let denied = decided(answer(&mut task, second, Answer::deny()));
    assert_eq!(denied.verdict.kind(), VerdictKind::Block);
    let freed = denied.decided.first().unwrap();
    assert_eq!((freed.call.as_str(), freed.decision.verdict.kind()), ("c1", VerdictKind::Allow));
    assert_eq!(freed.decision.notes, ["Only today."]);

    // the note is told with the result, too, also by a process that begins here
    let saved = serde_json::to_string(&task.save()).unwrap();
    let mut task = engine.restore(serde_json::from_str(&saved).unwrap()).unwrap();
    let told = decided(task.after(&"c1".into(), CallResult::successful(json!(1).into()), noon()).unwrap());
    assert_eq!((told.verdict.kind(), &*told.notes), (VerdictKind::Allow, &["Only today.".to_owned()][..]));
}
