//! Operations of a task: what they decide, what they leave on record, what they ask.

use crate::task_fixture::{Script, at, at_limit, call, decided, engine, noon, see, start, task, text_of};
use celador::cel::{Json, Timestamp};
use celador::context::InvocationStatus;
use celador::limits::EvalLimits;
use celador::task::{
    Answer, Call, CallResult, CallStatus, Decision, Next, Past, PastCall, Progress, Ran, Request, Task,
    TaskError, TaskState, Termination, TerminationReason, Usage, VerdictKind,
};
use serde_json::{Value, json};

fn past(function: &str, status: InvocationStatus) -> PastCall {
    PastCall {
        function: function.into(),
        arguments: json!({}).into(),
        output: Some(json!({ "ok": true }).into()),
        status,
        executed: status != InvocationStatus::Restricted,
        task_id: None,
        at: None,
    }
}

fn arguments(decision: &Decision) -> Value {
    serde_json::to_value(decision.verdict.value().unwrap()).unwrap()
}

fn invoke(task: &mut Task, function: &str, given: Value, host: &mut Script) -> Decision {
    let progress = task.invoke(&call(function, given), noon()).unwrap();
    progress.drive(host).unwrap().into_decision()
}

// Calls and their results.

#[test]
fn calls_in_flight_keep_their_results_apart_and_count() {
    let mut task = task("limits: {max_tool_calls: 2}\ncapabilities: {probe: '*'}\n");
    let first = decided(task.before(&call("probe", json!({ "host": "a" })), noon()).unwrap()).call.unwrap();
    let second = decided(task.before(&call("probe", json!({ "host": "b" })), noon()).unwrap()).call.unwrap();
    assert_ne!(first, second);
    // both are on their way: a third would be one too many, though none is on record yet (LIM-02, LIM-12)
    assert_eq!(see(&task, "context.capabilities._meta.count"), 0);
    let mut third = task;
    let result = |n: i64| CallResult::successful(json!({ "n": n }).into());
    let after = decided(third.after(&second, result(2), noon()).unwrap());
    assert_eq!(text_of(after.verdict.value()), r#"{"n":2}"#);
    decided(third.after(&first, result(1), noon()).unwrap());
    assert_eq!(see(&third, "context.capabilities.probe.inputs.map(i, i.host)"), json!(["a", "b"]));
    let again = third.after(&first, result(3), noon()).map(decided);
    assert_eq!(again, Err(TaskError::OtherResult(first)));
    let decision = decided(third.before(&call("probe", json!({})), noon()).unwrap());
    assert_eq!(decision.verdict.kind(), VerdictKind::Terminate);
    assert_eq!(decision.verdict.limit().unwrap().which, "max_tool_calls");
    assert_eq!(third.state(), at_limit("3 of 2 tool calls (`max_tool_calls`)"));
}

#[test]
fn every_attempt_leaves_one_entry_and_one_turn() {
    let agent = "capabilities:\n  probe:\n    before:\n    - {assert: input.depth < 5}\n    after:\n    - {assert: output.ok}\n";
    let mut task = task(agent);
    let mut host = Script::default();
    host.results.extend([
        CallResult::successful(json!({ "ok": true }).into()),
        CallResult::successful(json!({ "ok": false }).into()),
        CallResult::errored(json!({ "ok": true }).into()),
    ]);
    let verdicts = [
        (json!({}), VerdictKind::Allow),
        (json!({}), VerdictKind::Block),
        (json!({}), VerdictKind::Allow),
        (json!({ "depth": 9 }), VerdictKind::Block),
        (json!({ "depth": "deep" }), VerdictKind::Error),
    ];
    for (given, verdict) in verdicts {
        assert_eq!(invoke(&mut task, "probe", given, &mut host).verdict.kind(), verdict);
    }
    // newest first: not formed, blocked ahead, errored, withheld, successful
    assert_eq!(see(&task, "c.cap.probe.successful"), json!([false, false, false, false, true]));
    assert_eq!(see(&task, "c.cap.probe.errored"), json!([true, false, true, false, false]));
    assert_eq!(see(&task, "c.cap.probe.restricted"), json!([false, true, false, true, false]));
    assert_eq!(
        see(&task, "c.cap.probe.outputs"),
        json!([null, null, { "ok": true }, { "ok": false }, { "ok": true }])
    );
    assert_eq!(see(&task, "c._history.turns"), json!(vec!["capability"; 5]));
}

#[test]
fn a_turn_is_added_when_the_model_gets_word_and_not_before() {
    // CTX-25: neither `before` nor `after` counts the call under way
    let step = "{assert: context._history.turn_count == 0}";
    let mut task =
        task(&format!("capabilities:\n  probe:\n    before:\n    - {step}\n    after:\n    - {step}\n"));
    assert!(invoke(&mut task, "probe", json!({}), &mut Script::default()).is_allowed());
    assert_eq!(see(&task, "context._history.turns"), json!(["capability"]));
    let unknown = decided(task.before(&call("nope", json!({})), noon()).unwrap());
    assert_eq!(unknown.verdict.kind(), VerdictKind::Error);
    assert_eq!(unknown.verdict.message().unwrap(), "there is no function `nope`; there is `probe`");
    assert_eq!(see(&task, "context._history.turn_count"), 2);
}

#[test]
fn an_error_that_nothing_recovers_ends_the_task() {
    // LIFE-02, LIFE-03: `after` has no say any more
    let mut task = task("capabilities:\n  probe:\n    after:\n    - {assert: 'false', on_fail: continue}\n");
    let mut host = Script::default();
    host.results.push_back(CallResult {
        status: CallStatus::Unrecoverable,
        ..CallResult::errored(json!({ "error": "no route" }).into())
    });
    let decision = invoke(&mut task, "probe", json!({}), &mut host);
    assert_eq!((decision.verdict.kind(), decision.trace.len()), (VerdictKind::Terminate, 0));
    let TaskState::Terminated(Termination { reason, message }) = task.state() else { panic!("it has ended") };
    assert_eq!((reason, message.contains("probe")), (TerminationReason::UnrecoverableError, true));
    assert_eq!(see(&task, "context.capabilities.probe.count_errored"), 1);
    let next = decided(task.input(&json!({ "message": "hello?" }).into(), noon()));
    assert_eq!(next.verdict.kind(), VerdictKind::Rejected);
}

#[test]
fn a_cel_tool_that_fails_is_a_tool_error() {
    // TOOL-08, MNT-09, MNT-11: absent, outside the mount, and without a mount
    for (agent, key) in [("mount: task\n", "absent"), ("mount: task\n", "../up"), ("", "k")] {
        let mut task = task(&format!("{agent}capabilities: {{notes: '*'}}\n"));
        let decision = invoke(&mut task, "notes_load", json!({ "key": key }), &mut Script::default());
        assert_eq!(decision.verdict.kind(), VerdictKind::Allow, "{key}");
        assert!(
            text_of(decision.verdict.value()).starts_with(r#"{"error":"the tool failed: "#),
            "{decision:?}"
        );
        assert_eq!(task.state(), TaskState::Active);
        assert_eq!(see(&task, "context.capabilities.notes_load.count_errored"), 1);
        assert_eq!(decision.findings.len(), 1);
    }
}

// Parameters and bindings.

#[test]
fn arguments_are_formed_from_bindings_the_model_and_defaults() {
    let agent = "capabilities:\n  ledger:\n    bindings: {account: context.user.id}\n";
    let task = task(agent);
    let resolve = |given: Value| task.resolve(&call("ledger_post_entry", given), noon());
    let allowed = resolve(json!({ "amount": 5, "account": "evil", "extra": 1 }));
    assert_eq!(arguments(&allowed), json!({ "account": "u-1", "amount": 5, "memo": "", "kind": "debit" }));
    assert_eq!(allowed.findings[0].code, "override_ignored");
    let rows = [
        (json!({}), "the call cannot be formed: the parameter `amount` is missing"),
        (json!(null), "the call cannot be formed: the parameter `amount` is missing"),
        (
            json!({ "amount": "5", "memo": 1 }),
            "the call cannot be formed: the parameter `amount`: expected number, found string; \
             the parameter `memo`: expected string, found int",
        ),
        (
            json!({ "amount": 5, "kind": "theft" }),
            "the call cannot be formed: the parameter `kind`: the value is none of those that its `enum` allows",
        ),
        (
            json!([1]),
            "the call cannot be formed: expected an object of arguments, found list; the parameter `amount` is missing",
        ),
        (
            json!({ "amount": null }),
            "the call cannot be formed: the parameter `amount`: expected number, found null_type",
        ),
    ];
    for (given, message) in rows {
        let decision = resolve(given);
        assert_eq!(
            (decision.verdict.kind(), decision.verdict.message()),
            (VerdictKind::Error, Some(message))
        );
    }
}

#[test]
fn what_the_model_wrote_is_the_arguments_where_nothing_is_added_or_dropped() {
    let task = task("capabilities: {ledger: '*'}\n");
    let whole = r#"{"account":"a","amount":1,"memo":"","kind":"debit"}"#;
    let rows = [
        (whole, true),
        (r#"{"amount":1,"account":"a","memo":"","kind":"debit"}"#, true),
        (r#"{"account":"a","amount":1,"memo":"","kind":"debit","extra":1}"#, false),
        (r#"{"account":"a","amount":1,"extra":1,"kind":"debit"}"#, false),
        (r#"{"extra":1,"account":"a","amount":1,"memo":""}"#, false),
    ];
    for (given, as_it_is) in rows {
        let whole = if as_it_is { given } else { whole };
        let given = Json::parse(given, &EvalLimits::default()).unwrap();
        let call = Call::new("ledger_post_entry", given.clone());
        let resolved = task.resolve(&call, noon()).verdict.into_value().unwrap();
        assert_eq!((resolved.to_string().as_str(), resolved.is_same(&given)), (whole, as_it_is), "{given}");
    }
}

#[test]
fn a_binding_that_fails_is_told_after_the_steps_and_nothing_stands_in_for_it() {
    // BND-08, BND-09
    let agent = |before: &str| {
        format!(
            "capabilities:\n  probe: '*'\n  ledger:\n    bindings: {{account: 'c.cap.probe.outputs[0].id'}}\n    before:\n    - {before}\n"
        )
    };
    let mut silent = task(&agent("{assert: '!has(input.account)'}"));
    let decision =
        decided(silent.before(&call("ledger_lookup", json!({ "account": "evil" })), noon()).unwrap());
    assert_eq!(decision.verdict.kind(), VerdictKind::Error);
    assert_eq!(
        decision.verdict.message().unwrap(),
        "the call cannot be formed: a value that the policy supplies is not available yet"
    );
    let codes: Vec<_> = decision.findings.iter().map(|finding| &*finding.code).collect();
    assert_eq!(codes, ["index_out_of_bounds", "override_ignored"]);
    let origin = decision.findings[0].origin.clone().unwrap();
    assert_eq!(origin.path, "capabilities.ledger.bindings.account");
    assert_eq!(see(&silent, "c.cap.ledger_lookup.errored"), json!([true]));
    assert_eq!(see(&silent, "c.cap.ledger_lookup.inputs"), json!([{}]));

    let mut speaking =
        task(&agent("{assert: 'c.cap.probe.count_successful > 0', error_message: Probe first.}"));
    let decision = decided(speaking.before(&call("ledger_lookup", json!({})), noon()).unwrap());
    assert_eq!(
        (decision.verdict.kind(), decision.verdict.message()),
        (VerdictKind::Block, Some("Probe first."))
    );
    assert_eq!(see(&speaking, "c.cap.ledger_lookup.restricted"), json!([true]));

    // a value that does not fit its parameter is none
    speaking
        .record(
            Past::Call(PastCall {
                output: Some(json!({ "id": 7 }).into()),
                ..past("probe", InvocationStatus::Successful)
            }),
            noon(),
        )
        .unwrap();
    let decision = decided(speaking.before(&call("ledger_lookup", json!({})), noon()).unwrap());
    assert_eq!(
        (decision.verdict.kind(), &*decision.findings[0].code),
        (VerdictKind::Error, "binding_misfit")
    );
}

#[test]
fn an_invoke_step_binds_over_the_agent_and_takes_nothing_from_the_model() {
    // BND-16, BND-17, BND-18, MW-12, MW-13
    let agent = "capabilities:\n  audit:\n    bindings: {who: \"'agent'\", what: \"'agent'\"}\n  probe:\n    before:\n    - {invoke: 'audit:append', bindings: {what: input.host}}\n";
    let mut task = task(agent);
    let mut host = Script::default();
    assert!(invoke(&mut task, "probe", json!({ "host": "h", "who": "evil" }), &mut host).is_allowed());
    assert_eq!(host.log[0], r#"invoke audit {"what":"h","who":"agent"}"#);
    // LIM-11, REC-13: on record, but none of the model's calls
    assert_eq!(task.context().calls_by_model(), 1);
    assert_eq!(see(&task, "c.cap._meta.invocations"), json!(["audit", "probe"]));
}

#[test]
fn an_invoke_step_that_cannot_be_formed_fails_and_is_on_record() {
    let agent = "capabilities:\n  probe:\n    before:\n    - {invoke: 'audit:append', bindings: {what: input.nope, who: input.host}, error_message: No audit.}\n";
    let mut task = task(agent);
    let decision = invoke(&mut task, "probe", json!({}), &mut Script::default());
    assert_eq!(
        (decision.verdict.kind(), decision.verdict.message()),
        (VerdictKind::Block, Some("No audit."))
    );
    assert_eq!(see(&task, "[c.cap.audit.errored[0], c.cap.audit.inputs[0]]"), json!([true, { "who": "a" }]));
    assert_eq!(
        decision.findings[0].origin.as_ref().unwrap().path,
        "capabilities.probe.before[0].bindings.what"
    );
}

#[test]
fn a_delegation_is_a_message_and_what_the_parent_binds() {
    // DEL-01, DEL-03, DEL-05
    let child = "kind: commonagents.info/v1beta2/agent\nnamespace: demo\nname: kid\ndescription: d\nprompt: p\n\
                 parameters: {properties: {repo: {type: string}, depth: {type: number, default: 3}}}\n---\n";
    let text = |bindings: &str| {
        crate::task_fixture::manifests(&format!("capabilities:\n  kid: {bindings}\n")).replacen(
            "kind:",
            &format!("{child}kind:"),
            1,
        )
    };
    let start_with = |bindings: &str| {
        let (engine, _) = crate::task_fixture::parse("t.yaml", &text(bindings));
        start(&engine)
    };
    let mut task = start_with("{bindings: {repo: \"'r'\"}}");
    let mut host = Script::default();
    host.results.push_back(CallResult {
        task_id: Some("t-2".into()),
        ..CallResult::successful(json!({ "message": "done" }).into())
    });
    let decision =
        invoke(&mut task, "kid", json!({ "message": "go", "repo": "evil", "depth": 9 }), &mut host);
    assert!(decision.is_allowed());
    assert_eq!(host.log, [r#"invoke kid {"message":"go","repo":"r"}"#]);
    assert_eq!(see(&task, "c.cap.kid.task_ids"), json!(["t-2"]));
    assert_eq!(see(&task, "c.cap._meta.delegation_count"), 1);
    assert_eq!(task.schema("kid").unwrap()["properties"].as_object().unwrap().len(), 1);

    let mut unbound = start_with("'*'");
    let decision = invoke(&mut unbound, "kid", json!({ "message": "go" }), &mut Script::default());
    assert_eq!(decision.verdict.kind(), VerdictKind::Error);
}

#[test]
fn nothing_is_put_on_record_that_could_not_be_read_back() {
    // a value of 100 levels comes in; one level more is an error, never an empty object
    let deep = |levels: usize| {
        let text = format!("{}1{}", "[".repeat(levels), "]".repeat(levels));
        Json::parse(&text, &EvalLimits::default()).unwrap()
    };
    let tool = "---\nkind: commonagents.info/v1beta2/tool\nnamespace: demo\nname: sink\ndescription: d\nactions:\n- name: go\n  description: d\n  parameters: {properties: {x: {default: 1}, y: {default: 1}}}\n  execute: {stateless_http: {method: POST, url: 'https://svc.example.com'}}\n";
    let agent = format!(
        "capabilities: {{sink: {{bindings: {{x: 'c.cap.probe.outputs[0]'}}, after: [{{transform: '[output]'}}]}}, probe: '*'}}\n{tool}"
    );
    for (levels, verdict) in [(99, VerdictKind::Allow), (100, VerdictKind::Error)] {
        let mut task = task(&agent);
        let id = task.await_result(&call("probe", json!({}))).unwrap();
        decided(task.after(&id, CallResult::successful(deep(levels)), noon()).unwrap());
        let decision = decided(task.before(&call("sink", json!({})), noon()).unwrap());
        assert_eq!(decision.verdict.kind(), verdict, "{decision:?}");
        if let Some(id) = decision.call {
            // a transform that goes beyond fails its step
            let after = decided(task.after(&id, CallResult::successful(deep(100)), noon()).unwrap());
            assert_eq!(
                (after.verdict.kind(), &*after.findings[0].code),
                (VerdictKind::Block, "budget_exceeded")
            );
            assert_eq!(after.findings[0].message, "evaluation budget `max_json_depth` 100 exceeded");
        }
        let text = serde_json::to_string(&task.save()).unwrap();
        assert!(serde_json::from_str::<celador::task::SavedTask>(&text).is_ok());
    }
}

#[test]
fn an_expression_asks_a_bounded_number_of_questions() {
    let agent = "mount: task\ncapabilities: {many: '*'}\n---\nkind: commonagents.info/v1beta2/tool\nnamespace: demo\nname: many\ndescription: d\nactions:\n- name: go\n  description: d\n  parameters: {properties: {paths: {type: array}}}\n  execute: {cel: {expression: 'input.paths.map(p, mount.read(p)).size()'}}\n";
    let mut task = task(agent);
    for (count, wanted) in [(256, "256"), (257, r#"{"error":"the tool failed: evaluation budget exceeded"}"#)]
    {
        let mut host = Script { files: [("f".to_owned(), "x".to_owned())].into(), ..Script::default() };
        let decision = invoke(&mut task, "many", json!({ "paths": vec!["f"; count] }), &mut host);
        assert_eq!(text_of(decision.verdict.value()), wanted);
        assert_eq!(host.log.len(), 256);
    }
}

// First calls.

#[test]
fn first_is_for_each_entry_and_with_match_for_each_action() {
    // MW-41, MW-42
    let agent = "capabilities:\n  ledger:\n    before_first:\n    - {assert: 'false', match: post-entry, error_message: post}\n    - {assert: 'false', error_message: any, condition: input.account != 'x'}\n";
    let mut task = task(agent);
    let first = |task: &mut Task, function: &str, given: Value| {
        let decision = decided(task.before(&call(function, given), noon()).unwrap());
        decision.call.map(|id| task.withdraw(&id, Ran::Never, noon()).unwrap());
        decision.verdict.message().map(str::to_owned)
    };
    let lookup = json!({ "account": "a" });
    let post = json!({ "account": "a", "amount": 1 });
    assert_eq!(first(&mut task, "ledger_lookup", lookup.clone()).as_deref(), Some("any"));
    // a blocked attempt and an invocation by middleware do not count
    task.record(Past::Invoke(past("ledger_lookup", InvocationStatus::Successful)), noon()).unwrap();
    assert_eq!(first(&mut task, "ledger_lookup", lookup.clone()).as_deref(), Some("any"));
    // one that ran does, also if it failed: for the entry, not for the other action
    task.record(Past::Call(past("ledger_lookup", InvocationStatus::Errored)), noon()).unwrap();
    assert_eq!(first(&mut task, "ledger_lookup", lookup), None);
    assert_eq!(first(&mut task, "ledger_post_entry", post.clone()).as_deref(), Some("post"));
    task.record(Past::Call(past("ledger_post_entry", InvocationStatus::Successful)), noon()).unwrap();
    assert_eq!(first(&mut task, "ledger_post_entry", post), None);
}

// Reviews.

const REVIEWED: &str = "limits: {max_age: 2h}\ncapabilities:\n  probe:\n    before:\n    - {invoke: 'audit:append', bindings: {what: \"'ask'\"}}\n    - {assert: \"review('a') && review('b')\", error_message: Denied.}\n";

fn asks<P: Into<Progress>>(progress: P) -> Request {
    match progress.into() {
        Progress::Asks(question) => question.request,
        Progress::Decided(decision) => panic!("decides {decision:?}"),
    }
}

fn review<P: Into<Progress>>(progress: P) -> String {
    match asks(progress) {
        Request::Review { reviewer, .. } => reviewer,
        other => panic!("asks {other:?}"),
    }
}

/// A task whose first reviewer is being asked.
fn in_review() -> Task {
    let mut task = task(REVIEWED);
    let Request::Invoke(_) = asks(task.invoke(&call("probe", json!({})), noon()).unwrap()) else {
        panic!("no audit")
    };
    let result = Answer::Result(CallResult::successful(json!({}).into()));
    assert_eq!(review(task.resume(result, noon()).unwrap()), "a");
    task
}

#[test]
fn reviewers_are_asked_one_after_the_other_and_nothing_runs_twice() {
    // RV-01 to RV-04, RV-10
    let mut task = in_review();
    assert_eq!(task.state(), TaskState::Suspended);
    let suspension = task.suspension().unwrap();
    assert_eq!((suspension.verdict.kind(), suspension.verdict.reviewer()), (VerdictKind::Suspend, Some("a")));
    let trace: Vec<_> =
        suspension.trace.iter().map(|entry| format!("{} {}", entry.step, entry.outcome.as_str())).collect();
    assert_eq!(trace, ["before[0] pass", "before[1] suspend"]);
    assert_eq!(review(task.resume(Answer::approve(), noon()).unwrap()), "b");
    let Request::Invoke(run) = asks(task.resume(Answer::approve(), noon()).unwrap()) else {
        panic!("not run")
    };
    assert_eq!(run.function, "probe");
    let decision =
        decided(task.resume(Answer::Result(CallResult::successful(json!(1).into())), noon()).unwrap());
    assert!(decision.is_allowed());
    assert_eq!(see(&task, "c.cap._meta.invocations"), json!(["audit", "probe"]));

    let mut denied = in_review();
    let decision = decided(denied.resume(Answer::deny(), noon()).unwrap());
    assert_eq!((decision.verdict.kind(), decision.verdict.message()), (VerdictKind::Block, Some("Denied.")));
    assert_eq!(see(&denied, "c.cap.probe.restricted"), json!([true]));
}

/// Covers: RV-13
#[test]
fn while_a_review_is_open_nothing_else_proceeds() {
    let mut task = in_review();
    let message = json!({ "message": "x" }).into();
    for call in [call("probe", json!({})), call("probe", json!({"host": "b"}))] {
        assert_eq!(decided(task.before(&call, noon()).unwrap()).verdict.kind(), VerdictKind::Wait);
        assert_eq!(decided(task.invoke(&call, noon()).unwrap()).verdict.kind(), VerdictKind::Wait);
    }
    assert_eq!(decided(task.input(&message, noon())).verdict.kind(), VerdictKind::Wait);
    let decisions = [
        decided(task.output(&message, noon())),
        task.model_turn(Usage::default(), noon()),
        task.limits(Next::ModelTurn, noon()),
        task.interrupt(noon()),
    ];
    for decision in decisions {
        assert_eq!(decision.verdict.kind(), VerdictKind::Rejected);
    }
    assert_eq!(see(&task, "context._history.turn_count"), 0);
    assert_eq!(task.resume(Answer::Written, noon()).unwrap_err(), TaskError::WrongAnswer);
    assert_eq!(task.record(Past::Interrupt, noon()).unwrap_err(), TaskError::Waiting);
    assert_eq!(review(task.resume(Answer::approve(), noon()).unwrap()), "b");
}

#[test]
fn a_review_that_outlives_the_task_ends_it() {
    // RV-12, LIM-08: started at 11, two hours allowed; equal is within
    let one = at("2026-06-01T13:00:00Z");
    let late = at("2026-06-01T13:00:01Z");
    let mut task = in_review();
    assert_eq!(task.limits(Next::Other, one).verdict.kind(), VerdictKind::Rejected);
    let decision = decided(task.resume(Answer::approve(), late).unwrap());
    assert_eq!(
        (decision.verdict.kind(), decision.verdict.limit().unwrap().which.as_ref()),
        (VerdictKind::Terminate, "max_age")
    );
    assert_eq!(see(&task, "c.cap.probe.restricted"), json!([true]));
    assert_eq!(task.resume(Answer::approve(), late).unwrap_err(), TaskError::NothingPending);
}

#[test]
fn an_answer_is_good_for_its_own_question_only() {
    // RV-11: by the time of the answer the expression asks somebody else
    let agent = "capabilities:\n  probe:\n    before:\n    - {assert: \"review(now < '2026-06-01T18:00:00Z' ? 'day' : 'night')\"}\n";
    let mut task = task(agent);
    assert_eq!(review(task.before(&call("probe", json!({})), noon()).unwrap()), "day");
    let night = at("2026-06-01T20:00:00Z");
    assert_eq!(review(task.resume(Answer::approve(), night).unwrap()), "night");
    assert!(decided(task.resume(Answer::approve(), night).unwrap()).is_allowed());
}

#[test]
fn a_condition_that_has_held_is_not_asked_again() {
    // a denial at night must not turn into a skipped step
    let agent = "capabilities:\n  probe:\n    before:\n    - {condition: \"now < '2026-06-01T18:00:00Z'\", assert: \"review('a')\"}\n";
    let mut task = task(agent);
    assert_eq!(review(task.before(&call("probe", json!({})), noon()).unwrap()), "a");
    let night = at("2026-06-01T20:00:00Z");
    assert_eq!(decided(task.resume(Answer::deny(), night).unwrap()).verdict.kind(), VerdictKind::Block);
}

#[test]
fn a_reviewer_must_be_somebody() {
    // RV-06
    for reviewer in ["''", "input.depth", "null"] {
        let agent =
            format!("capabilities:\n  probe:\n    before:\n    - {{assert: \"review({reviewer})\"}}\n");
        let mut task = task(&agent);
        let decision = decided(task.before(&call("probe", json!({})), noon()).unwrap());
        assert_eq!(decision.verdict.kind(), VerdictKind::Block, "{reviewer}");
    }
}

#[test]
fn a_cel_tool_asks_reviewers_and_files_and_a_binding_of_an_invoke_step_may_ask_too() {
    // RV-08
    let mut signing = task("mount: task\ncapabilities: {notes: '*'}\n");
    let mut host = Script::default();
    host.verdicts.extend([true, true]);
    let decision = invoke(&mut signing, "notes_sign", json!({ "key": "k" }), &mut host);
    assert_eq!(text_of(decision.verdict.value()), r#""signed""#);
    assert_eq!(host.log, ["review a", "review b", "write n/k signed"]);

    let agent = "capabilities:\n  probe:\n    before:\n    - invoke: audit:append\n      bindings: {what: \"review('a') ? 'yes' : 'no'\", who: \"review('b') ? 'yes' : 'no'\"}\n";
    let mut task = task(agent);
    let mut host = Script::default();
    host.verdicts.extend([true, false]);
    assert!(invoke(&mut task, "probe", json!({}), &mut host).is_allowed());
    assert_eq!(host.log[..3], ["review a", "review b", r#"invoke audit {"what":"yes","who":"no"}"#]);
}

// Limits.

#[test]
fn tokens_are_tested_after_the_turn_and_limits_are_named_in_order() {
    // LIM-05, LIM-06, LIM-16, LIM-13
    let mut task = task("limits: {max_prompt_tokens: 100, max_completion_tokens: 10, max_age: 2h}\n");
    let turn =
        |prompt_tokens, completion_tokens| Usage { prompt_tokens, completion_tokens, ..Usage::default() };
    assert!(task.model_turn(turn(100, 10), noon()).is_allowed());
    let decision = task.model_turn(turn(1, 1), noon());
    let limit = decision.verdict.limit().unwrap();
    assert_eq!(
        (limit.which.as_ref(), limit.bound.count(), limit.value.count()),
        ("max_prompt_tokens", 100, 101)
    );
    assert_eq!(decision.verdict.reason(), Some("limit_exceeded"));
    assert_eq!(task.limits(Next::Other, noon()).verdict.kind(), VerdictKind::Rejected);

    let mut none = crate::task_fixture::task("limits: {max_tool_calls: 0}\ncapabilities: {probe: '*'}\n");
    let decision = decided(none.invoke(&call("probe", json!({})), noon()).unwrap());
    assert_eq!(decision.verdict.limit().unwrap().which, "max_tool_calls");
    assert_eq!(see(&none, "c.cap._meta.count"), 0);
}

// Inputs and responses.

#[test]
fn parameters_of_an_input_are_inherited_then_defaulted() {
    // CTX-14, CTX-15, CTX-20
    let agent = "parameters: {properties: {ticket: {type: string}, level: {type: number, default: 1}}}\n";
    let mut task = task(agent);
    let input = |task: &mut Task, input: Value| decided(task.input(&input.into(), noon()));
    let refused = input(&mut task, json!({ "message": "hi" }));
    assert_eq!(refused.verdict.kind(), VerdictKind::InvalidInput);
    assert_eq!(
        refused.verdict.message().unwrap(),
        "the input is not valid: the parameter `ticket` is missing"
    );
    assert!(input(&mut task, json!({ "message": "hi", "ticket": "t", "level": 2, "other": 1 })).is_allowed());
    let second = input(&mut task, json!({ "message": [{ "mimeType": "text/plain", "text": "again" }] }));
    assert_eq!(second.text().unwrap(), "again");
    assert_eq!(see(&task, "context.input.map(i, i.level)"), json!([2, 2]));
    assert_eq!(see(&task, "has(context.input[0].other)"), false);
    for bad in [
        json!({ "message": 1 }),
        json!({ "message": ["x"] }),
        json!(7),
        json!({ "message": "x", "level": "high" }),
    ] {
        assert_eq!(input(&mut task, bad).verdict.kind(), VerdictKind::InvalidInput);
    }
    assert_eq!(see(&task, "size(context.input)"), 2);
}

#[test]
fn a_refused_input_was_never_accepted_and_a_refused_response_never_delivered() {
    let agent = "guardrails:\n  before:\n  - {assert: \"!input.message[0].text.contains('bad')\"}\n  after:\n  - {assert: \"output[0].score < 5\"}\nexposes: {score: size(output.message), lost: 'c.cap.probe.outputs[0]'}\ncapabilities: {probe: '*'}\n";
    let mut task = task(agent);
    let message = |text: &str| json!({ "message": text }).into();
    assert!(decided(task.input(&message("good"), noon())).is_allowed());
    let delivered = decided(task.output(&message("four"), noon()));
    // EXP-03, GR-17: what cannot be had is null and said so
    assert_eq!(text_of(delivered.verdict.exposes()), r#"{"score":4,"lost":null}"#);
    assert_eq!(delivered.findings[0].origin.as_ref().unwrap().path, "exposes.lost");
    let mut other = crate::task_fixture::task(agent);
    let locked = decided(other.input(&message("bad"), noon()));
    assert_eq!(
        (locked.verdict.kind(), locked.verdict.message()),
        (VerdictKind::LockTask, Some("Task locked by policy."))
    );
    assert_eq!(see(&other, "[size(context.input), context._history.turn_count]"), json!([0, 0]));
    assert_eq!(decided(task.output(&message("fifth"), noon())).verdict.kind(), VerdictKind::LockTask);
    assert_eq!(see(&task, "context.output.map(o, o.message[0].text)"), json!(["four"]));
}

#[test]
fn a_guardrail_transform_takes_three_forms_and_no_fourth() {
    // GR-11, GR-12
    let rows = [
        ("'text'", VerdictKind::Allow, json!(["text"])),
        ("[{'text': 'a'}, {'text': 'b'}]", VerdictKind::Allow, json!(["a", "b"])),
        ("{'message': 'm', 'extra': 1}", VerdictKind::Allow, json!(["m"])),
        ("7", VerdictKind::LockTask, json!([])),
        ("{'extra': 1}", VerdictKind::LockTask, json!([])),
        ("['text']", VerdictKind::LockTask, json!([])),
    ];
    for (transform, verdict, texts) in rows {
        let mut task = task(&format!("guardrails:\n  before:\n  - {{transform: \"{transform}\"}}\n"));
        let decision = decided(task.input(&json!({ "message": "x" }).into(), noon()));
        assert_eq!(decision.verdict.kind(), verdict, "{transform}");
        let seen = "context.input.map(i, i.message.map(p, p.text))";
        assert_eq!(see(&task, seen).get(0).cloned().unwrap_or(json!([])), texts, "{transform}");
    }
}

// Time.

/// Covers: CEL-17
#[test]
fn now_stands_still_through_a_list_and_moves_with_an_answer() {
    let agent = "capabilities:\n  probe:\n    before:\n    - {assert: \"now == '2026-06-01T12:00:00Z'\"}\n    - {assert: \"review('a')\"}\n    - {assert: \"now == '2026-06-01T12:30:00Z'\", error_message: '{now}'}\n";
    let mut task = task(agent);
    review(task.before(&call("probe", json!({})), noon()).unwrap());
    let later: Timestamp = at("2026-06-01T12:30:00Z");
    assert!(decided(task.resume(Answer::approve(), later).unwrap()).is_allowed());
}

// The engine.

#[test]
fn a_running_task_keeps_its_policy_and_a_bad_set_changes_nothing() {
    use celador::limits::EngineLimits;
    use celador::manifest::Catalog;
    use celador::manifest::load::{File, FileOrigin};
    use celador::source::Source;
    let catalog = |agent: &str| {
        let source = Source::new("next.yaml", crate::task_fixture::manifests(agent));
        Catalog::parse(&[File { source, origin: FileOrigin::Named }], &EngineLimits::default()).0
    };
    let step =
        |assert: &str| format!("capabilities:\n  probe:\n    before:\n    - {{assert: \"{assert}\"}}\n");
    let engine = engine(&step("true"));
    let mut old = start(&engine);
    let findings = engine.replace(&catalog(&step("contxt.x"))).unwrap_err();
    assert!(findings.iter().any(|finding| finding.path == "capabilities.probe.before[0].assert"));
    assert!(decided(start(&engine).before(&call("probe", json!({})), noon()).unwrap()).is_allowed());
    assert_eq!(engine.replace(&catalog(&step("now == ''"))).unwrap().len(), 0);
    assert!(decided(old.before(&call("probe", json!({})), noon()).unwrap()).is_allowed());
    assert_eq!(
        decided(start(&engine).before(&call("probe", json!({})), noon()).unwrap()).verdict.kind(),
        VerdictKind::Block
    );
    assert_eq!(engine.policy("demo", "nobody").unwrap_err(), TaskError::UnknownAgent("nobody".into()));
}

#[test]
fn tasks_and_the_engine_cross_threads() {
    fn crosses<T: Send + Sync>() {}
    crosses::<celador::engine::Engine>();
    crosses::<Task>();
    crosses::<Decision>();
}
