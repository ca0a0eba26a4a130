//! How tasks end and what they say then: the kind of reason, and the sentence with its numbers.

use crate::task_fixture::{
    at, at_limit, call, decided, engine, engine_within, noon, parse, see, start, task, text_of,
};
use celador::task::{
    Answer, CallId, CallResult, Decision, Next, Progress, QuestionId, Ran, StartTask, Task, TaskError,
    TaskState, TerminationReason, Usage, User, VerdictKind,
};
use celador::{Engine, EngineLimits, Timestamp};
use serde_json::json;
use std::collections::BTreeMap;

/// Takes a task to a limit.
type ToTheLimit = fn(&mut Task) -> Decision;

/// A limit of a manifest, what is done, and what the task says at its end.
const LIMITS: [(&str, ToTheLimit, &str); 7] = [
    (
        "max_tool_calls: 0",
        |task| decided(task.before(&call("probe", json!({})), noon()).unwrap()),
        "1 of 0 tool calls (`max_tool_calls`)",
    ),
    ("max_turns: 1", two_turns, "2 of 1 model turns (`max_turns`)"),
    ("max_prompt_tokens: 100", two_turns, "120 of 100 prompt tokens (`max_prompt_tokens`)"),
    ("max_completion_tokens: 13", two_turns, "14 of 13 completion tokens (`max_completion_tokens`)"),
    ("max_age: 2h", |task| later(task, "13:01:00Z"), "2h1m of 2h since it began (`max_age`)"),
    ("max_age: 90m", |task| later(task, "12:30:00.5Z"), "1h30m0.5s of 1h30m since it began (`max_age`)"),
    ("max_age: 20s", |task| later(task, "11:01:01Z"), "1m1s of 20s since it began (`max_age`)"),
];

fn two_turns(task: &mut Task) -> Decision {
    let usage = Usage { prompt_tokens: 60, completion_tokens: 7, ..Usage::default() };
    assert!(task.limits(Next::ModelTurn, noon()).is_allowed());
    assert!(task.model_turn(usage, noon()).is_allowed());
    let decision = task.limits(Next::ModelTurn, noon());
    if decision.is_allowed() { task.model_turn(usage, noon()) } else { decision }
}

fn later(task: &mut Task, time: &str) -> Decision {
    let time: Timestamp = format!("{}{time}", &noon().to_string()[..11]).parse().unwrap();
    task.limits(Next::Other, time)
}

#[test]
fn a_task_at_a_limit_has_a_reason_for_programs_and_a_sentence_with_the_numbers() {
    for (limit, step, numbers) in LIMITS {
        let engine = engine(&format!("limits: {{{limit}}}\ncapabilities: {{probe: '*'}}\n"));
        let mut task = start(&engine);
        let decision = step(&mut task);
        assert_eq!(task.state(), at_limit(numbers), "{limit}");
        assert_eq!(decision.verdict.kind(), VerdictKind::Terminate, "{limit}");
        assert_eq!(decision.termination(), Some(TerminationReason::LimitExceeded), "{limit}");
        let TaskState::Terminated(termination) = task.state() else { panic!("it has ended") };
        assert_eq!(decision.verdict.message(), Some(&*termination.message), "{limit}");
        // whoever tries a step later is told the same, in another process, too
        let mut task = engine.restore(task.save()).unwrap();
        let rejected = task.limits(Next::Other, at("2026-12-01T12:00:00Z"));
        assert_eq!(rejected.verdict.kind(), VerdictKind::Rejected, "{limit}");
        assert_eq!(
            (rejected.verdict.reason().map(str::to_owned), rejected.verdict.message().map(str::to_owned)),
            (decision.verdict.reason().map(str::to_owned), decision.verdict.message().map(str::to_owned)),
            "{limit}"
        );
    }
}

#[test]
fn a_task_that_holds_too_much_says_how_much() {
    let engine = engine_within("capabilities: {probe: '*'}\n", |limits| limits.max_task_bytes = 1_000);
    let mut task = start(&engine);
    let decision =
        decided(task.before(&call("probe", json!({ "host": "h".repeat(2_000) })), noon()).unwrap());
    assert_eq!(decision.verdict.kind(), VerdictKind::Terminate);
    let limit = decision.verdict.limit().unwrap();
    assert_eq!(task.state(), at_limit(&format!("{} of 1000 bytes (`max_task_bytes`)", limit.value)));
}

/// Deep calls of `probe` lock the task; `ledger` is free.
const LOCKS: &str = r#"
capabilities:
  probe:
    before:
    - {assert: input.depth < 5, on_fail: lock_task, error_message: Too deep.}
  ledger: "*"
"#;

fn lock(task: &mut Task) {
    let decision = decided(task.before(&call("probe", json!({"depth": 9})), noon()).unwrap());
    assert_eq!(decision.verdict.kind(), VerdictKind::LockTask);
}

fn end(task: &mut Task) {
    assert_eq!(task.end("no longer wanted", noon()).verdict.kind(), VerdictKind::Terminate);
}

/// Where a call is in the hands of the host when its task ends.
enum InHands {
    LetThrough(CallId),
    Asked(QuestionId),
}

fn hand_over(task: &mut Task, how: &str) -> InHands {
    let posting = call("ledger_post_entry", json!({"amount": 7, "account": "a"}));
    let asked = |progress| match progress {
        Progress::Asks(question) => InHands::Asked(question.id),
        Progress::Decided(decision) => panic!("{decision:?}"),
    };
    if how == "invoke" {
        return asked(task.invoke(&posting, noon()).unwrap().into_progress());
    }
    let id = decided(task.before(&posting, noon()).unwrap()).call.unwrap();
    if how == "execute" {
        asked(task.execute(&id, noon()).unwrap().into_progress())
    } else {
        InHands::LetThrough(id)
    }
}

#[test]
fn the_result_of_a_call_in_the_hosts_hands_is_recorded_and_withheld_once_the_task_has_ended() {
    for (word, finish) in [("locked", lock as fn(&mut Task)), ("terminated", end)] {
        for how in ["before", "execute", "invoke"] {
            let row = format!("{how}, {word}");
            let engine = engine(LOCKS);
            let mut task = start(&engine);
            let in_hands = hand_over(&mut task, how);
            finish(&mut task);
            assert_eq!(task.state().as_str(), word, "{row}");
            // in another process, as in this one
            let mut task = engine.restore(task.save()).unwrap();
            let result = CallResult::successful(json!({"booked": 7}).into());
            let told = match &in_hands {
                InHands::LetThrough(call) => decided(task.after(call, result.clone(), noon()).unwrap()),
                InHands::Asked(question) => {
                    decided(task.answer(*question, Answer::Result(result.clone()), noon()).unwrap())
                }
            };
            assert_eq!((told.verdict.kind(), told.verdict.value()), (VerdictKind::Rejected, None), "{row}");
            let record = task.context().invocations().find(|record| record.output.is_some()).unwrap();
            assert_eq!(text_of(record.output.as_ref()), r#"{"booked":7}"#, "{row}");
            assert_eq!(
                see(&task, "context.capabilities.ledger_post_entry.count_restricted"),
                json!(1),
                "{row}"
            );
            // it counts once
            let again = match in_hands {
                InHands::LetThrough(call) => task.after(&call, result, noon()).map(drop),
                InHands::Asked(question) => task.answer(question, Answer::Result(result), noon()).map(drop),
            };
            assert!(again.is_err() || how == "before", "{row}");
            assert_eq!(
                see(&task, "context.capabilities.ledger_post_entry.count_restricted"),
                json!(1),
                "{row}"
            );
            assert_eq!(task.state().as_str(), word, "{row}");
        }
    }
}

#[test]
fn a_call_of_which_nobody_knows_whether_it_has_run_counts_as_one_that_did_even_after_the_end() {
    for (ran, expression) in [(Ran::Unknown, "count_errored"), (Ran::Never, "count_restricted")] {
        for finish in [lock as fn(&mut Task), end] {
            let mut task = task(LOCKS);
            let InHands::Asked(question) = hand_over(&mut task, "invoke") else {
                panic!("the host is asked")
            };
            finish(&mut task);
            assert_eq!(task.answer(question, Answer::approve(), noon()).err(), Some(TaskError::WrongAnswer));
            assert_eq!(task.take_back(question, ran, noon()).unwrap().verdict.kind(), VerdictKind::Block);
            assert_eq!(see(&task, &format!("context.capabilities.ledger_post_entry.{expression}")), json!(1));
            assert!(task.take_back(question, ran, noon()).is_err());
        }
    }
}

#[test]
fn a_locked_task_is_unlocked_with_a_reason_and_a_terminated_one_is_not() {
    let engine = engine(LOCKS);
    let mut task = start(&engine);
    assert_eq!(task.unlock("why not").err(), Some(TaskError::NotLocked));
    let waiting = hand_over(&mut task, "invoke");
    lock(&mut task);
    let before = task.mark();
    let decision = task.unlock("the lead has looked into it").unwrap();
    assert_eq!(
        (decision.verdict.kind(), decision.verdict.reason()),
        (VerdictKind::Allow, Some("the lead has looked into it"))
    );
    assert!(!task.turned_away_since(&before, &decision));
    assert_eq!(task.state(), TaskState::Active);
    // stored as a change, too
    let mut locked = start(&engine);
    lock(&mut locked);
    let saved = locked.save();
    let mark = locked.mark();
    locked.unlock("fine").unwrap();
    assert_eq!(saved.apply(locked.change_since(&mark)).unwrap().state(), TaskState::Active);
    // steps go on, and so does what was in the host's hands
    let result = CallResult::successful(json!({"booked": 7}).into());
    let InHands::Asked(question) = waiting else { panic!("the host is asked") };
    let told = decided(task.answer(question, Answer::Result(result), noon()).unwrap());
    assert_eq!(
        (told.verdict.kind(), text_of(told.verdict.value())),
        (VerdictKind::Allow, r#"{"booked":7}"#.to_owned())
    );
    assert!(decided(task.before(&call("probe", json!({})), noon()).unwrap()).is_allowed());
    end(&mut task);
    assert_eq!(task.unlock("again").err(), Some(TaskError::HasEnded));
}

#[test]
fn metadata_is_bounded_and_no_expression_sees_it() {
    let engine = engine("capabilities: {probe: '*'}\n");
    let limits = EngineLimits::default();
    let (long, name) =
        ("v".repeat(limits.max_metadata_value_bytes), "k".repeat(limits.max_metadata_key_bytes));
    let many =
        |count: usize| (0..count).map(|at| (format!("k{at}"), String::new())).collect::<BTreeMap<_, _>>();
    let one = |key: &str, value: &str| BTreeMap::from([(key.to_owned(), value.to_owned())]);
    let rows = [
        (one("order", "o-7"), ""),
        (one(&name, &long), ""),
        (many(32), ""),
        (many(33), "the metadata has more than 32 entries (`max_metadata_entries`)"),
        (
            one(&format!("{name}k"), ""),
            "the metadata has more than 64 bytes of a name (`max_metadata_key_bytes`)",
        ),
        (
            one("k", &format!("{long}v")),
            "the metadata has more than 512 bytes of a text (`max_metadata_value_bytes`)",
        ),
        (
            one("", "v"),
            "a name of metadata has letters and digits of ASCII, `_`, `-`, `.` and `/`, one at least",
        ),
        (
            one("a:b", "v"),
            "a name of metadata has letters and digits of ASCII, `_`, `-`, `.` and `/`, one at least",
        ),
        (one("k", "a\nb"), "a text of metadata has no control characters"),
    ];
    for (metadata, wrong) in rows {
        let start = StartTask {
            metadata: metadata.clone(),
            ..StartTask::new("t-1", "demo", "clerk", User::default(), noon())
        };
        match engine.start(start) {
            Err(error) => assert_eq!(error.to_string(), wrong),
            Ok(task) => {
                assert_eq!((wrong, task.metadata()), ("", &metadata));
                assert_eq!(engine.restore(task.save()).unwrap().metadata(), &metadata);
                assert!(!task.context_json().unwrap().to_string().contains("o-7"));
            }
        }
    }
}

fn agents(list: &[(&str, &str)]) -> Engine {
    let agent = |(name, capabilities): &(&str, &str)| {
        format!(
            "kind: commonagents.info/v1beta2/agent\nnamespace: acme\nname: {name}\ndescription: D.\nprompt: P.\n{capabilities}"
        )
    };
    let (engine, findings) = parse("agents.yaml", &list.iter().map(agent).collect::<Vec<_>>().join("---\n"));
    assert!(findings.iter().all(|finding| !finding.is_error()), "{findings:?}");
    engine
}

#[test]
fn a_namespace_has_a_default_agent_if_one_agent_is_nobodys_sub_agent() {
    let lead = ("lead", "capabilities: {reader: '*'}\n");
    let (reader, lone) = (("reader", ""), ("lone", ""));
    type Agents<'a> = &'a [(&'a str, &'a str)];
    let rows: [(Agents<'_>, Result<&str, usize>); 5] = [
        (&[lone], Ok("lone")),
        (&[lead, reader], Ok("lead")),
        (&[lead, reader, lone], Err(2)),
        (&[("lead", "capabilities: {reader: '*'}\n"), ("reader", "capabilities: {lead: '*'}\n")], Err(0)),
        (&[("lone", "")], Ok("lone")),
    ];
    for (list, wanted) in rows {
        let wanted = wanted.map(str::to_owned).map_err(|candidates| TaskError::NoDefaultAgent { candidates });
        assert_eq!(agents(list).default_agent("acme"), wanted, "{list:?}");
    }
    assert_eq!(agents(&[lone]).default_agent("other"), Err(TaskError::NoDefaultAgent { candidates: 0 }));
}
