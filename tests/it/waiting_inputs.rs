//! Inputs and events that cannot be judged when they come: they wait, are judged in the order in which they came, and are told of.

use crate::task_fixture::{Kept, at, call, decided, engine, engine_within, noon, see, start, task};
use celador::Engine;
use celador::cel::Json;
use celador::task::{
    Answer, CallId, CallResult, DecidedCall, Decision, Next, Outcome, Progress, QuestionId, Ran, ReviewState,
    Task, TaskState, Usage, VerdictKind,
};
use serde_json::json;

/// A deep look asks the lead, and what is odd is put on the trail. What a guardrail counts of `ledger` makes inputs wait for its calls; `probe` is looked at by nobody.
const DESK: &str = r#"
guardrails:
  before:
  - assert: "!input.message[0].text.contains('bad')"
  - assert: c.cap.ledger.count_errored == 0
  - condition: "input.message[0].text.contains('odd')"
    invoke: audit:append
    bindings: {what: "'odd'"}
capabilities:
  probe:
    before:
    - condition: input.depth > 5
      assert: review('lead')
  notes:
    before:
    - assert: c.input.exists(i, i.message[0].text.contains('please'))
      error_message: Nobody asked for it.
  ledger: "*"
"#;

fn says(task: &mut Task, text: &str) -> Progress {
    task.input(&Json::string(text), noon()).into_progress()
}

/// The id of an input that waits, with the ids that it waits for.
fn waits(progress: Progress) -> (CallId, Vec<CallId>) {
    let decision = decided(progress);
    assert_eq!((decision.verdict.kind(), decision.verdict.value()), (VerdictKind::Wait, None));
    (decision.call.unwrap(), decision.verdict.waits_for().to_vec())
}

fn asks<P: Into<Progress>>(progress: P) -> QuestionId {
    match progress.into() {
        Progress::Asks(question) => question.id,
        Progress::Decided(decision) => panic!("{decision:?}"),
    }
}

fn deep(task: &mut Task) -> QuestionId {
    asks(task.before(&call("probe", json!({"depth": 9})), noon()).unwrap())
}

fn open(task: &mut Task, function: &str) -> CallId {
    let arguments = json!({"account": "a", "amount": 1, "key": "k"});
    let decision = decided(task.before(&call(function, arguments), noon()).unwrap());
    assert_eq!(decision.verdict.kind(), VerdictKind::Allow, "{decision:?}");
    decision.call.unwrap()
}

fn answer(task: &mut Task, question: QuestionId, answer: Answer) -> Progress {
    task.answer(question, answer, noon()).unwrap().into_progress()
}

fn report(task: &mut Task, call: &CallId, result: CallResult) -> Decision {
    decided(task.after(call, result, noon()).unwrap())
}

fn done() -> CallResult {
    CallResult::successful(json!({"ok": true}).into())
}

/// What was decided with an operation: ids, kinds and verdicts.
fn told(decision: &Decision) -> Vec<(String, &str, VerdictKind)> {
    let told = |it: &DecidedCall| (it.call.to_string(), it.kind.as_str(), it.decision.verdict.kind());
    decision.decided.iter().map(told).collect()
}

fn texts(task: &Task) -> serde_json::Value {
    see(task, "c.input.map(i, i.message[0].text)")
}

#[test]
fn what_is_said_during_a_review_is_judged_after_it_in_order() {
    let engine = engine(DESK);
    let mut task = start(&engine);
    let mut kept = Kept::new(&engine, &task);
    let question = deep(&mut task);
    let asked = task.suspension_at(question).unwrap().call.unwrap();
    let (first, waits_for) = waits(says(&mut task, "first"));
    assert_eq!(waits_for, std::slice::from_ref(&asked));
    task = kept.keep(&task);
    let (second, waits_for) = waits(says(&mut task, "second"));
    assert_eq!(waits_for, [asked.clone(), first.clone()]);
    task = kept.keep(&task);
    // nothing of them is in the context, and no turn begins
    assert_eq!((texts(&task), task.state()), (json!([]), TaskState::Suspended));
    assert_eq!(task.model_turn(Usage::default(), noon()).verdict.kind(), VerdictKind::Rejected);
    assert_eq!(task.standing(&second).unwrap().verdict.waits_for(), [asked, first.clone()]);
    let last = decided(answer(&mut task, question, Answer::approve()));
    assert_eq!(last.verdict.kind(), VerdictKind::Allow);
    let both = [&first, &second].map(|id| (id.to_string(), "input", VerdictKind::Allow));
    assert_eq!(told(&last), both);
    let value = last.decided[0].decision.verdict.value().unwrap().to_string();
    assert_eq!(value, r#"{"message":[{"mimeType":"text/plain","text":"first"}]}"#);
    assert_eq!((texts(&task), task.queued().count()), (json!(["first", "second"]), 0));
    task = kept.keep(&task);
    assert_eq!(task.standing(&first).unwrap().verdict.kind(), VerdictKind::Allow);
    // the model has its next turn
    assert!(task.model_turn(Usage::default(), noon()).is_allowed());
}

#[test]
fn an_input_waits_for_the_calls_that_its_guardrails_read_and_for_no_others() {
    let mut task = task(DESK);
    let probe = open(&mut task, "probe");
    assert!(decided(says(&mut task, "at once")).is_allowed());
    let entry = open(&mut task, "ledger_post_entry");
    let (input, waits_for) = waits(says(&mut task, "later"));
    assert_eq!(waits_for, std::slice::from_ref(&entry));
    assert!(told(&report(&mut task, &probe, done())).is_empty());
    // a turn may begin: it comes ahead of what was said and is not judged yet
    assert!(task.model_turn(Usage::default(), noon()).is_allowed());
    let reported = report(&mut task, &entry, done());
    assert_eq!(told(&reported), [(input.to_string(), "input", VerdictKind::Allow)]);
    // an error on record is one that the guardrail sees: it locks
    let entry = open(&mut task, "ledger_post_entry");
    let (refused, _) = waits(says(&mut task, "much later"));
    let (behind, _) = waits(says(&mut task, "last"));
    let failed = CallResult::errored(json!({"error": "503"}).into());
    let locked = [(refused, VerdictKind::LockTask), (behind, VerdictKind::Rejected)];
    let locked = locked.map(|(id, verdict)| (id.to_string(), "input", verdict));
    assert_eq!(told(&report(&mut task, &entry, failed)), locked);
    assert!(matches!(task.state(), TaskState::Locked { .. }));
    assert_eq!(texts(&task), json!(["at once", "later"]));
}

#[test]
fn a_call_that_reads_inputs_waits_for_one_that_was_said_before_it() {
    let mut task = task(DESK);
    let entry = open(&mut task, "ledger_post_entry");
    let (input, _) = waits(says(&mut task, "please"));
    let sign = call("notes_sign", json!({"key": "k"}));
    let sign = decided(task.before(&sign, noon()).unwrap());
    assert_eq!((sign.verdict.kind(), sign.verdict.waits_for()), (VerdictKind::Wait, &*vec![input.clone()]));
    // one that reads no input is decided at once
    open(&mut task, "probe");
    let reported = report(&mut task, &entry, done());
    let expected = [(input, "input"), (sign.call.unwrap(), "call")];
    assert_eq!(told(&reported), expected.map(|(id, kind)| (id.to_string(), kind, VerdictKind::Allow)));
}

#[test]
fn an_input_that_waited_may_ask_somebody_and_those_behind_it_wait_for_that() {
    let engine = engine(DESK);
    let mut task = start(&engine);
    let mut kept = Kept::new(&engine, &task);
    let question = deep(&mut task);
    let (odd, _) = waits(says(&mut task, "odd"));
    let (plain, _) = waits(says(&mut task, "plain"));
    let last = decided(answer(&mut task, question, Answer::deny()));
    assert_eq!(told(&last), [(odd.to_string(), "input", VerdictKind::Suspend)]);
    task = kept.keep(&task);
    let watch = last.decided[0].decision.verdict.question().unwrap();
    assert_eq!(task.standing(&plain).unwrap().verdict.waits_for(), std::slice::from_ref(&odd));
    assert_eq!(task.model_turn(Usage::default(), noon()).verdict.kind(), VerdictKind::Rejected);
    let answered = decided(answer(&mut task, watch, Answer::Result(done())));
    assert_eq!(answered.verdict.kind(), VerdictKind::Allow);
    assert_eq!(told(&answered), [(plain.to_string(), "input", VerdictKind::Allow)]);
    task = kept.keep(&task);
    assert_eq!(task.standing(&odd).unwrap().verdict.kind(), VerdictKind::Allow);
    assert_eq!(texts(&task), json!(["odd", "plain"]));
    // an input that never waited has a name once somebody waits for it
    let question = asks(says(&mut task, "odd again"));
    assert_eq!(task.suspension_at(question).unwrap().call, None);
    let (_, waits_for) = waits(says(&mut task, "next"));
    assert_eq!(waits_for, [task.suspension_at(question).unwrap().call.unwrap()]);
}

#[test]
fn the_end_of_a_task_refuses_inputs_that_wait() {
    let mut task = task(DESK);
    deep(&mut task);
    let (input, _) = waits(says(&mut task, "first"));
    let ended = task.end("enough", noon());
    assert_eq!(told(&ended), [(input.to_string(), "input", VerdictKind::Rejected)]);
    assert_eq!((task.queued().count(), texts(&task)), (0, json!([])));
    assert_eq!(task.standing(&input).unwrap().verdict.kind(), VerdictKind::Rejected);
}

#[test]
fn a_limit_that_ends_the_task_closes_its_reviews_and_refuses_what_waits() {
    let mut task = task(&format!("limits: {{max_tool_calls: 1}}\n{DESK}"));
    deep(&mut task);
    let (input, _) = waits(says(&mut task, "first"));
    let ended = decided(task.before(&call("probe", json!({"depth": 1})), noon()).unwrap());
    assert_eq!(ended.verdict.kind(), VerdictKind::Terminate);
    assert_eq!(told(&ended), [(input.to_string(), "input", VerdictKind::Rejected)]);
    assert_eq!(task.reviews().map(|review| review.state).collect::<Vec<_>>(), [ReviewState::Withdrawn]);
    assert_eq!(task.questions().count(), 0);
}

#[test]
fn an_input_that_waits_can_be_taken_back() {
    let mut task = task(DESK);
    let question = deep(&mut task);
    let (first, _) = waits(says(&mut task, "first"));
    let (second, _) = waits(says(&mut task, "second"));
    let gone = task.withdraw(&first, Ran::Never, noon()).unwrap();
    assert_eq!(
        (gone.verdict.kind(), gone.verdict.message()),
        (VerdictKind::Block, Some("it was withdrawn before it was judged"))
    );
    assert_eq!(task.standing(&first).unwrap().verdict.kind(), VerdictKind::Block);
    let last = decided(answer(&mut task, question, Answer::approve()));
    assert_eq!(told(&last), [(second.to_string(), "input", VerdictKind::Allow)]);
    assert_eq!(texts(&task), json!(["second"]));
}

#[test]
fn an_input_waits_as_long_as_what_it_waits_for() {
    let mut task = start(&engine_within(DESK, |limits| limits.max_queued_ms = 5_000));
    let entry = open(&mut task, "ledger_post_entry");
    let (input, _) = waits(says(&mut task, "first"));
    let late = at("2026-06-01T18:00:00Z");
    assert!(!task.has_overdue_calls(late));
    assert!(task.limits(Next::Other, late).decided.is_empty());
    assert_eq!(told(&report(&mut task, &entry, done())), [(input.to_string(), "input", VerdictKind::Allow)]);
}

#[test]
fn a_review_that_nobody_answers_lets_inputs_go() {
    let mut task = start(&engine_within(DESK, |limits| limits.max_review_ms = 60_000));
    let question = deep(&mut task);
    let asked = task.suspension_at(question).unwrap().call.unwrap();
    let (input, _) = waits(says(&mut task, "first"));
    let late = at("2026-06-01T12:01:00Z");
    let turned = task.model_turn(Usage::default(), late);
    assert_eq!(turned.verdict.kind(), VerdictKind::Allow);
    let expected = [(asked, "call", VerdictKind::Block), (input, "input", VerdictKind::Allow)];
    assert_eq!(told(&turned), expected.map(|(id, kind, verdict)| (id.to_string(), kind, verdict)));
}

#[test]
fn max_queued_inputs() {
    let mut task = start(&engine_within(DESK, |limits| limits.max_queued_inputs = 2));
    let question = deep(&mut task);
    waits(says(&mut task, "first"));
    waits(says(&mut task, "second"));
    let mark = task.mark();
    let refused = decided(says(&mut task, "third"));
    let why = "2 inputs and events wait already (`max_queued_inputs`): send it again when some are judged";
    assert_eq!((refused.verdict.kind(), refused.verdict.reason()), (VerdictKind::Rejected, Some(why)));
    assert!(task.turned_away_since(&mark, &refused));
    // calls have a bound of their own
    let held = decided(task.before(&call("probe", json!({"depth": 1})), noon()).unwrap());
    assert_eq!(held.verdict.kind(), VerdictKind::Wait);
    assert_eq!(decided(answer(&mut task, question, Answer::approve())).decided.len(), 3);
    assert!(decided(says(&mut task, "third")).is_allowed());
}

#[test]
fn max_queued_input_bytes() {
    let within = |most| start(&engine_within(DESK, |limits| limits.max_queued_input_bytes = most));
    let words = "a message of some length".repeat(10);
    let mut task = within(1_048_576);
    deep(&mut task);
    let before = task.bytes();
    waits(says(&mut task, &words));
    let taken = task.bytes() - before;
    assert!(taken >= 240, "what waits counts: {taken}");
    // just enough for one, and too little by a byte
    let one = Json::string(&words).heap_bytes();
    for (most, verdict) in [(one, VerdictKind::Wait), (one - 1, VerdictKind::Rejected)] {
        let mut task = within(most);
        deep(&mut task);
        let decision = decided(says(&mut task, &words));
        assert_eq!(decision.verdict.kind(), verdict);
        let names_it = |text: &str| text.contains("`max_queued_input_bytes`");
        assert_eq!(decision.verdict.reason().is_some_and(names_it), verdict == VerdictKind::Rejected);
    }
}

#[test]
fn hosts_see_an_input_that_waits_in_its_type() {
    let mut task = task(DESK);
    let question = deep(&mut task);
    let asked = task.suspension_at(question).unwrap().call.unwrap();
    let Outcome::Queued(queued) = task.input(&Json::string("first"), noon()).outcome() else {
        panic!("a review is open")
    };
    assert_eq!((queued.call.as_str(), queued.waits_for), ("input-2", vec![asked]));
}

#[test]
fn a_task_that_was_stored_with_calls_that_wait_opens() {
    let engine = engine(DESK);
    let mut task = start(&engine);
    deep(&mut task);
    let held = decided(task.before(&call("probe", json!({"depth": 1})), noon()).unwrap()).call.unwrap();
    let mut saved = serde_json::to_value(task.save()).unwrap();
    // as it was written when calls were all that could wait
    let queue = saved["queue"]["waiting"][0].as_object().unwrap();
    let mut keys: Vec<_> = queue.keys().map(String::as_str).collect();
    keys.sort_unstable();
    assert_eq!(keys, ["call", "extent", "held", "id"]);
    saved["pending"][0]["operation"].as_object_mut().unwrap().remove("name");
    let task = engine.restore(serde_json::from_value(saved).unwrap()).unwrap();
    assert_eq!(task.standing(&held).unwrap().verdict.kind(), VerdictKind::Wait);
}

/// A restored task goes on under other manifests with the words that wait, if no review does.
#[test]
fn what_waits_for_calls_is_judged_by_the_policy_of_its_time() {
    let mut task = task(DESK);
    let entry = open(&mut task, "ledger_post_entry");
    let (input, _) = waits(says(&mut task, "a strange word"));
    let other: Engine = engine(&DESK.replace("'bad'", "'strange'"));
    let mut task = other.restore(task.save()).unwrap();
    let reported = report(&mut task, &entry, done());
    assert_eq!(told(&reported), [(input.to_string(), "input", VerdictKind::LockTask)]);
}
