//! The size of a task: where `max_task_bytes` ends one, what is kept of a result that is too large, and what it means to
//! read that later.

use crate::task_change::{AGENT, deed, run};
use crate::task_fixture::{call, decided, manifests, noon, see, start};
use celador::cel::{ErrorCode, Json};
use celador::context::{Scope, TaskContext};
use celador::engine::Engine;
use celador::limits::EngineLimits;
use celador::limits::EvalLimits;
use celador::manifest::Catalog;
use celador::manifest::load::{File, FileOrigin};
use celador::source::Source;
use celador::task::{
    Answer, CallResult, CallStatus, Decision, Given, InterpolationError, Next, Past, PastCall, Progress,
    Request, SavedTask, Task, TaskChange, TemplateKind, Trial, Tried, Usage, VerdictKind,
};
use proptest::prelude::*;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

/// An engine for the agent with these further keys, under other bounds.
fn engine(agent: &str, change: impl FnOnce(&mut EngineLimits)) -> Engine {
    let mut limits = EngineLimits::default();
    change(&mut limits);
    let source = Source::new("test.yaml", manifests(agent));
    let (catalog, findings) = Catalog::parse(&[File { source, origin: FileOrigin::Named }], &limits);
    assert!(findings.iter().all(|finding| !finding.is_error()), "{}", findings[0].render(false));
    let (engine, findings) = Engine::from_catalog(&catalog, limits);
    assert!(findings.iter().all(|finding| !finding.is_error()), "{}", findings[0].render(false));
    engine
}

/// A task of an agent that may call `probe` and `ledger`, with so much room.
fn room(bytes: u64) -> Task {
    start(&engine("capabilities: {probe: '*', ledger: '*'}\n", |limits| limits.max_task_bytes = bytes))
}

/// A call that is let through and gives this.
fn report(task: &mut Task, output: &Value) -> Decision {
    let before = decided(task.before(&call("probe", json!({})), noon()).unwrap());
    let result = CallResult::successful(output.clone().into());
    decided(task.after(&before.call.unwrap(), result, noon()).unwrap())
}

/// A result of about so many bytes.
fn large(bytes: usize) -> Value {
    json!({"status": "ok", "text": "x".repeat(bytes)})
}

fn limit(decision: &Decision) -> (&str, u64, u64) {
    let limit = decision.verdict.limit().unwrap();
    (&limit.which, limit.bound.count(), limit.value.count())
}

// The limit.

#[test]
fn a_step_that_would_exceed_the_bound_ends_the_task_and_one_that_just_fits_does_not() {
    let message: Json = json!({"message": "m".repeat(5_000)}).into();
    let mut measured = room(u64::MAX);
    assert!(decided(measured.input(&message, noon())).is_allowed());
    let full = measured.bytes();
    assert!((5_000..6_000).contains(&full), "{full}");
    // an input
    assert!(decided(room(full).input(&message, noon())).is_allowed());
    let mut over = room(full - 600);
    let decision = decided(over.input(&message, noon()));
    assert_eq!(
        (decision.verdict.kind(), decision.verdict.reason()),
        (VerdictKind::Terminate, Some("limit_exceeded"))
    );
    assert!(limit(&decision).0 == "max_task_bytes" && limit(&decision).1 == full - 600);
    assert_eq!(over.context().inputs().len(), 0);
    // a response
    let decision = decided(room(full - 600).output(&message, noon()));
    assert_eq!(limit(&decision).0, "max_task_bytes");
    // arguments
    let posting = call("ledger_post_entry", json!({"account": "a", "amount": 1, "memo": "m".repeat(5_000)}));
    assert!(decided(room(5_500).before(&posting, noon()).unwrap()).is_allowed());
    let mut over = room(5_000);
    let decision = decided(over.before(&posting, noon()).unwrap());
    assert_eq!((decision.verdict.kind(), limit(&decision).0), (VerdictKind::Terminate, "max_task_bytes"));
    assert_eq!(see_count(&over), 0);
    // and so do the calls that nobody has reported
    let mut open = room(20_000);
    let decisions: Vec<Decision> = (0..4).map(|_| decided(open.before(&posting, noon()).unwrap())).collect();
    assert!(decisions[..3].iter().all(Decision::is_allowed));
    assert_eq!(limit(&decisions[3]).0, "max_task_bytes");
    assert_eq!(open.limits(Next::Other, noon()).verdict.kind(), VerdictKind::Rejected);
}

fn see_count(task: &Task) -> usize {
    task.context().invocations().len()
}

#[test]
fn the_limits_of_the_manifest_come_first() {
    let mut task = start(&engine("limits: {max_turns: 0}\n", |limits| limits.max_task_bytes = 0));
    assert_eq!(limit(&task.limits(Next::ModelTurn, noon())).0, "max_turns");
    let mut task = start(&engine("limits: {max_turns: 1}\n", |limits| limits.max_task_bytes = 0));
    assert!(task.limits(Next::ModelTurn, noon()).is_allowed());
    assert_eq!(limit(&task.model_turn(Usage::default(), noon())).0, "max_task_bytes");
}

// Results.

#[test]
fn the_result_of_a_call_is_recorded_however_full_the_task_is_and_the_next_step_says_so() {
    let mut task = room(20_000);
    let calls: Vec<_> = (0..5)
        .map(|_| decided(task.before(&call("probe", json!({})), noon()).unwrap()).call.unwrap())
        .collect();
    for call in calls {
        let result = CallResult::successful(large(8_000).into());
        let decision = decided(task.after(&call, result, noon()).unwrap());
        // whoever carried it out gets the whole of it
        assert_eq!(serde_json::to_value(decision.verdict.into_value().unwrap()).unwrap(), large(8_000));
    }
    let kept: Vec<bool> =
        task.context().invocations().map(|it| it.output.as_ref().unwrap().is_shortened()).collect();
    assert_eq!(kept, [false, false, true, true, true]);
    assert!(task.bytes() > 40_000, "{}", task.bytes());
    assert!(task.context().bytes() < 20_000);
    let decision = task.limits(Next::Other, noon());
    assert_eq!(
        (decision.verdict.kind(), limit(&decision)),
        (VerdictKind::Terminate, ("max_task_bytes", 20_000, task.bytes()))
    );
}

#[test]
fn a_result_that_is_too_large_by_itself_is_kept_as_its_digest_and_the_task_goes_on() {
    let bytes = Json::from(large(5_000)).heap_bytes();
    for (bound, is_shortened) in [(bytes, false), (bytes - 1, true), (usize::MAX, false)] {
        let engine = engine("capabilities: {probe: '*'}\n", |limits| limits.max_kept_value_bytes = bound);
        let mut task = start(&engine);
        assert!(report(&mut task, &large(5_000)).is_allowed());
        let output = task.context().invocations().next().unwrap().output.clone().unwrap();
        assert_eq!(output.is_shortened(), is_shortened);
        if let Some(shortened) = output.shortened() {
            let text = large(5_000).to_string();
            let digest: String = Sha256::digest(&text).iter().map(|byte| format!("{byte:02x}")).collect();
            assert_eq!((&*shortened.sha256, shortened.bytes), (&*digest, text.len() as u64));
            assert_eq!((&*shortened.kind, shortened.lacks_room), ("map", false));
        }
        assert!(task.limits(Next::Other, noon()).is_allowed());
    }
}

#[test]
fn the_steps_of_the_call_see_the_whole_result_also_after_a_review_and_in_another_process() {
    let agent = "capabilities:\n  probe:\n    after:\n    - {invoke: 'audit:append', bindings: {what: output.text}}\n    \
                 - {assert: \"review('boss') && c.cap.probe.outputs[0] == output && size(output.text) == 5000\"}\n    \
                 - {transform: \"{'n': size(c.cap.probe.outputs[0].text)}\"}\n";
    let engine = engine(agent, |limits| limits.max_kept_value_bytes = 1_000);
    let mut task = start(&engine);
    let before = decided(task.before(&call("probe", json!({})), noon()).unwrap());
    let progress =
        task.after(&before.call.unwrap(), CallResult::successful(large(5_000).into()), noon()).unwrap();
    assert!(matches!(
        progress.into_progress(),
        Progress::Asks(celador::Question { request: Request::Invoke(_), .. })
    ));
    let written = Answer::Result(CallResult::successful(large(3_000).into()));
    assert!(matches!(
        task.resume(written, noon()).unwrap().into_progress(),
        Progress::Asks(celador::Question { request: Request::Review { .. }, .. })
    ));
    let stored = serde_json::to_string(&task.save()).unwrap();
    let mut task = engine.restore(serde_json::from_str(&stored).unwrap()).unwrap();
    let mark = task.mark();
    let decision = decided(task.resume(Answer::approve(), noon()).unwrap());
    assert_eq!(decision.verdict.kind(), VerdictKind::Allow, "{:?}", decision.findings);
    assert_eq!(decision.verdict.into_value().unwrap().to_string(), r#"{"n":5000}"#);
    // now both results and the argument that middleware formed are digests, here and in the store
    let whole = |task: &Task| {
        let values = task.context().invocations();
        values
            .map(|it| (!it.input.is_shortened(), !it.output.as_ref().unwrap().is_shortened()))
            .collect::<Vec<_>>()
    };
    assert_eq!(whole(&task), [(true, false), (false, false)]);
    let change = serde_json::to_string(&task.change_since(&mark)).unwrap();
    let saved: SavedTask = serde_json::from_str(&stored).unwrap();
    let saved = saved.apply(serde_json::from_str::<TaskChange>(&change).unwrap()).unwrap();
    let restored = engine.restore(saved).unwrap();
    assert_eq!(whole(&restored), whole(&task));
    assert_eq!(serde_json::to_value(restored.save()).unwrap(), serde_json::to_value(task.save()).unwrap());
    assert!(!serde_json::to_string(&task.save()).unwrap().contains("xxx"));
}

#[test]
fn what_is_withheld_blocked_or_cannot_be_recovered_is_shortened_too() {
    let agent = "capabilities:\n  probe:\n    after: [{assert: \"false\"}]\n  ledger: '*'\n";
    let engine = engine(agent, |limits| limits.max_kept_value_bytes = 1_000);
    let mut task = start(&engine);
    assert_eq!(report(&mut task, &large(5_000)).verdict.kind(), VerdictKind::Block);
    let posting = call("ledger_lookup", json!({"account": "a"}));
    let [first, second] = [(); 2].map(|()| decided(task.before(&posting, noon()).unwrap()).call.unwrap());
    let dead = CallResult { status: CallStatus::Unrecoverable, ..CallResult::errored(large(5_000).into()) };
    assert_eq!(decided(task.after(&first, dead, noon()).unwrap()).verdict.kind(), VerdictKind::Terminate);
    let late = CallResult::successful(large(5_000).into());
    assert_eq!(decided(task.after(&second, late, noon()).unwrap()).verdict.kind(), VerdictKind::Rejected);
    assert!(task.context().invocations().all(|it| it.output.as_ref().unwrap().is_shortened()));
    assert_eq!(see_count(&task), 3);
}

// Reading.

/// A task with three results of `probe`, of which the second is shortened.
fn mixed() -> Task {
    let engine =
        engine("capabilities: {probe: '*', ledger: '*'}\n", |limits| limits.max_kept_value_bytes = 2_000);
    let mut task = start(&engine);
    for output in [json!({"status": "ok", "n": 1}), large(5_000), json!({"status": "no", "n": 3})] {
        assert!(report(&mut task, &output).is_allowed());
    }
    task
}

fn tried(task: &Task, text: &str) -> Result<Value, ErrorCode> {
    match task.evaluate(&Trial::new(Scope::Before, text), &[], noon()).unwrap_or_else(|issues| {
        panic!("{text}: {:?}", issues.iter().map(|issue| &issue.message).collect::<Vec<_>>())
    }) {
        Tried::Value(value) => Ok(serde_json::to_value(&value).unwrap()),
        Tried::Failed(error) => Err(error.code),
        Tried::Asks(request) => panic!("{text}: {request:?}"),
    }
}

#[test]
fn whoever_reads_a_value_that_was_shortened_gets_an_error_of_its_own() {
    let task = mixed();
    let texts = [
        "o[1]",
        "o[1].text",
        "o[1]['text']",
        "o[1].text == 'x'",
        "o[1].text != 'x'",
        "o[1].status == 'ok'",
        "o[1].status != 'ok'",
        "o[1].n > 0",
        "!(o[1].n > 0)",
        "o[1].n <= 0 || false",
        "o[1].n > 0 && true",
        "o[1].text.contains('y')",
        "!o[1].text.contains('y')",
        "o[1].text.startsWith('y')",
        "o[1].text.endsWith('y')",
        "o[1].text.matches('y')",
        "size(o[1].text) < 3",
        "size(o[1]) == 0",
        "o[1].size()",
        "o[1].text.size()",
        "has(o[1].text)",
        "!has(o[1].nothing)",
        "o[1] == null",
        "o[1] != null",
        "null == o[1]",
        "o[1] == {}",
        "o[1] == o[1]",
        "o[1] in [1]",
        "1 in o",
        "null in o",
        "'text' in o[1]",
        "type(o[1])",
        "dyn(o[1])",
        "string(o[1])",
        "bool(o[1])",
        "int(o[1])",
        "[o[1]]",
        "{'a': o[1]}",
        "o[1] ? 1 : 2",
        "o[1] + o[1]",
        "o[?1].orValue({})",
        "o[?1].?text",
        "o[?1].?text.hasValue()",
        "optional.of(o[1])",
        "o[?1].value()",
        "o[?1] == optional.of(1)",
        "o.map(x, x)",
        "o.map(x, x.n)",
        "o.filter(x, x.n > 0)",
        "o.filter(x, true)",
        "o.all(x, has(x.status))",
        "o.exists(x, x.status == 'gone')",
        "o.exists_one(x, x.n == 1)",
        "o.filter(x, x.status == 'ok').size()",
        "o.all(x, x != null)",
        "o.all(i, x, x.status != 'gone')",
        "o",
        "context.capabilities.probe",
        "context.capabilities",
        "context",
        "o == []+o",
        "o == o",
        "o != o",
        "[o] == [o]",
        "o + []",
        "context.capabilities.probe == context.capabilities.probe",
        "o.distinct()",
        "sets.contains(o, [1])",
        "sets.contains([o[0]], o)",
        "sets.intersects(o, [1])",
        "sets.equivalent(o, [1])",
        "'%s'.format([o])",
        "o.reverse()[1]",
        "o.slice(0, 3)[1]",
        "o.slice(1, 2).first().value()",
        "o.sortBy(x, 1)[1]",
        "o.flatten()[1]",
        "cel.bind(x, o[1], x)",
        "cel.bind(x, o, x[1].n)",
        "o.transformMap(i, x, x)",
        "o.transformList(i, x, x.n)",
        "[o][0][1].n",
    ];
    let mut others = Vec::new();
    for text in texts {
        let text = text.replace("o[", "context.capabilities.probe.outputs[");
        let text = names_of_lists(&text);
        let found = tried(&task, &text);
        if found != Err(ErrorCode::ValueShortened) {
            others.push((text, found));
        }
    }
    assert!(others.is_empty(), "{others:#?}");
}

/// Writes the list of results for `o`.
fn names_of_lists(text: &str) -> String {
    let is_word = |c: char| c.is_alphanumeric() || c == '_' || c == '.' || c == '\'';
    let chars: Vec<char> = text.chars().collect();
    let mut written = String::new();
    for (at, &c) in chars.iter().enumerate() {
        let alone = at.checked_sub(1).is_none_or(|before| !is_word(chars[before]))
            && chars.get(at + 1).is_none_or(|&next| !is_word(next) || next == '.');
        if c == 'o' && alone {
            written.push_str("context.capabilities.probe.outputs")
        } else {
            written.push(c)
        }
    }
    written
}

#[test]
fn what_does_not_touch_the_value_goes_on_working() {
    let task = mixed();
    let rows = [
        ("size(o)", json!(3)),
        ("o.size() > 2", json!(true)),
        ("o[0].n", json!(3)),
        ("o[2].status", json!("ok")),
        ("has(o[0].n)", json!(true)),
        ("has(context.capabilities.probe.outputs)", json!(true)),
        ("o.exists(x, x.status == 'no')", json!(true)),
        ("o.all(x, x.status == 'no')", json!(false)),
        ("3 in o.map(x, 3)", json!(true)),
        ("o.map(x, 1)", json!([1, 1, 1])),
        ("o.slice(0, 1)[0].n", json!(3)),
        ("o.first().value().n", json!(3)),
        ("o[?1].hasValue()", json!(true)),
        ("o[?7].hasValue()", json!(false)),
        ("o[?1] == optional.none()", json!(false)),
        ("false && o[1].n > 0", json!(false)),
        ("o[1].n > 0 || true", json!(true)),
        ("context.capabilities.probe.count_successful", json!(3)),
        ("context.capabilities.probe.successful", json!([true, true, true])),
        ("size(context.capabilities.probe.timestamps)", json!(3)),
        ("context.capabilities.probe.inputs[1].host", json!("a")),
        ("context.capabilities._meta.invocations", json!(["probe", "probe", "probe"])),
    ];
    for (text, wanted) in rows {
        let text = names_of_lists(&text.replace("o[", "context.capabilities.probe.outputs["));
        assert_eq!(tried(&task, &text), Ok(wanted), "{text}");
    }
}

#[test]
fn a_result_that_only_looks_like_what_is_left_of_one_is_read_as_it_is() {
    let shortened = mixed().context().invocations().nth(1).unwrap().output.clone().unwrap();
    let look_alike = serde_json::to_value(shortened.shortened().unwrap()).unwrap();
    let mut task = room(u64::MAX);
    for output in
        [look_alike.clone(), json!(shortened.to_string()), json!({"kept": {"output": look_alike.clone()}})]
    {
        report(&mut task, &output);
        assert_eq!(see(&task, "c.cap.probe.outputs[0]"), output);
        // and is what it was in a store
        let stored = serde_json::to_string(&task.save()).unwrap();
        let agent = engine("capabilities: {probe: '*', ledger: '*'}\n", |_| {});
        let restored = agent.restore(serde_json::from_str(&stored).unwrap()).unwrap();
        assert_eq!(see(&restored, "c.cap.probe.outputs[0]"), output);
    }
}

#[test]
fn conversions_to_json_fail_with_the_same_word() {
    let task = mixed();
    assert_eq!(task.context_json().unwrap_err().code, ErrorCode::ValueShortened);
    let output = task.context().invocations().nth(1).unwrap().output.clone().unwrap();
    assert!(serde_json::to_string(&output).unwrap_err().to_string().contains("shortened"));
    assert_eq!(
        Json::from_value(&output.value(), &EvalLimits::default()).unwrap_err().code,
        ErrorCode::ValueShortened
    );
    assert!(output.to_string().starts_with("<map of 5"), "{output}");
    assert_eq!(output, output.clone());
    assert_ne!(output, Json::null());
}

#[test]
fn steps_bindings_messages_and_templates_that_read_it_fail_and_fail_closed() {
    let agent = "capabilities:\n  probe: '*'\n  ledger:\n    bindings: {account: \"c.cap.probe.outputs[0].text\"}\n  notes:\n    \
                 before:\n    - {assert: \"!c.cap.probe.outputs[0].text.contains('stop')\", \
                 error_message: 'It said {c.cap.probe.outputs[0].text}.'}\n";
    let engine = engine(agent, |limits| limits.max_kept_value_bytes = 1_000);
    let mut task = start(&engine);
    report(&mut task, &large(5_000));
    let bound = decided(task.before(&call("ledger_lookup", json!({})), noon()).unwrap());
    assert_eq!((bound.verdict.kind(), &*bound.findings[0].code), (VerdictKind::Error, "value_shortened"));
    let guarded = decided(task.before(&call("notes_load", json!({"key": "k"})), noon()).unwrap());
    assert_eq!((guarded.verdict.kind(), &*guarded.findings[0].code), (VerdictKind::Block, "value_shortened"));
    assert_eq!(guarded.verdict.message().unwrap(), "It said (value_shortened).");
    // texts for the model say that there was more; a field that a call is formed from has no such text
    let read = |kind, path: &str| {
        task.interpolate(kind, &format!("<{{context.capabilities.probe.{path}}}>"), &Given::default(), noon())
    };
    for path in ["outputs[0]", "outputs[0].text", "outputs[0].deep.er", "outputs"] {
        assert_eq!(read(TemplateKind::Prompt, path).unwrap(), "<(value_shortened)>", "{path}");
        assert!(matches!(read(TemplateKind::Tool, path), Err(InterpolationError::Absent(_))), "{path}");
    }
    assert_eq!(read(TemplateKind::Prompt, "count_successful").unwrap(), "<1>");
}

#[test]
fn a_loop_over_a_history_forgets_what_it_came_to_once_a_value_of_it_is_shortened() {
    // the first loop sees the whole result, and what it came to is kept; the next must not take it from there
    let agent = "capabilities:\n  probe:\n    after:\n    - {assert: \"c.cap.probe.outputs.exists(x, x.status == 'ok')\"}\n    \
                 - {assert: \"c.cap.probe.outputs.exists(x, x.status == 'ok')\"}\n";
    let engine = engine(agent, |limits| limits.max_kept_value_bytes = 1_000);
    let mut task = start(&engine);
    assert!(report(&mut task, &large(5_000)).is_allowed());
    let text = "c.cap.probe.outputs.exists(x, x.status == 'ok')";
    assert_eq!(tried(&task, text), Err(ErrorCode::ValueShortened));
    let fresh: TaskContext =
        TaskContext::restore(task.context().schema().clone(), task.context().state()).unwrap();
    assert_eq!(fresh.bytes(), task.context().bytes());
    assert!(report(&mut task, &json!({"status": "ok"})).is_allowed());
    assert_eq!(tried(&task, text), Ok(json!(true)));
}

#[test]
fn a_past_that_is_told_is_kept_by_the_same_rule() {
    let mut task = room(20_000);
    for _ in 0..3 {
        let call = PastCall {
            function: "probe".into(),
            arguments: json!({}).into(),
            output: Some(large(9_000).into()),
            status: celador::context::InvocationStatus::Successful,
            executed: true,
            task_id: None,
            at: None,
        };
        task.record(Past::Call(call), noon()).unwrap();
    }
    assert!(task.context().bytes() < 20_000);
    assert_eq!(limit(&task.limits(Next::Other, noon())).0, "max_task_bytes");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 32, ..ProptestConfig::default() })]

    #[test]
    fn a_task_with_shortened_values_decides_the_same_when_it_is_kept_as_its_changes(
        deeds in prop::collection::vec(deed(), 1..24),
        rolls in prop::collection::vec(any::<u8>(), 1..32),
        reloads in prop::collection::vec(any::<bool>(), 1..8),
    ) {
        let engine = engine(AGENT, |limits| limits.max_kept_value_bytes = 92);
        let json_of = |saved: &SavedTask| serde_json::to_value(saved).unwrap();
        let mut saved = start(&engine).save();
        let mut reloads = reloads.into_iter().cycle();
        let mut keep = |task: &Task, mark: &celador::task::TaskMark| {
            let change = serde_json::to_string(&task.change_since(mark)).unwrap();
            saved = saved.clone().apply(serde_json::from_str::<TaskChange>(&change).unwrap()).unwrap();
            assert_eq!(json_of(&saved), json_of(&task.save()), "after {change}");
            reloads.next().unwrap().then(|| engine.restore(saved.clone()).unwrap())
        };
        let kept = run(start(&engine), &deeds, &rolls, &mut keep);
        prop_assert_eq!(run(start(&engine), &deeds, &rolls, &mut |_, _| None), kept);
    }
}
