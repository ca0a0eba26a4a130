//! How tasks end and what they say then: the kind of reason, and the sentence with its numbers.

use crate::task_fixture::{at, at_limit, call, decided, engine, engine_within, noon, start};
use celador::Timestamp;
use celador::task::{Decision, Next, Task, TaskState, TerminationReason, Usage, Verdict};
use serde_json::json;

/// A limit of a manifest, what is done, and what the task says at its end.
const LIMITS: [(&str, fn(&mut Task) -> Decision, &str); 7] = [
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
    let usage = Usage { prompt_tokens: 60, completion_tokens: 7 };
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
        assert_eq!(decision.verdict, Verdict::Terminate, "{limit}");
        assert_eq!(decision.termination(), Some(TerminationReason::LimitExceeded), "{limit}");
        let TaskState::Terminated(termination) = task.state() else { panic!("it has ended") };
        assert_eq!(decision.message.as_ref(), Some(&termination.message), "{limit}");
        // whoever tries a step later is told the same, in another process, too
        let mut task = engine.restore(task.save()).unwrap();
        let rejected = task.limits(Next::Other, at("2026-12-01T12:00:00Z"));
        assert_eq!(rejected.verdict, Verdict::Rejected, "{limit}");
        assert_eq!((rejected.reason, rejected.message), (decision.reason, decision.message), "{limit}");
    }
}

#[test]
fn a_task_that_holds_too_much_says_how_much() {
    let engine = engine_within("capabilities: {probe: '*'}\n", |limits| limits.max_task_bytes = 1_000);
    let mut task = start(&engine);
    let decision =
        decided(task.before(&call("probe", json!({ "host": "h".repeat(2_000) })), noon()).unwrap());
    assert_eq!(decision.verdict, Verdict::Terminate);
    let limit = decision.limit.unwrap();
    assert_eq!(task.state(), at_limit(&format!("{} of 1000 bytes (`max_task_bytes`)", limit.value)));
}
