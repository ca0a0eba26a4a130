//! A task that is kept as what it began with and what each step changed is the task that was never stored.

use crate::task_fixture::{at, call, engine, noon, start};
use celador::cel::Timestamp;
use celador::task::{
    Answer, CallId, CallResult, CallStatus, Decision, Next, Progress, Request, Task, TaskChange, TaskError,
    TaskMark, Usage,
};
use proptest::prelude::*;
use serde_json::{Value, json};

/// An agent that changes whatever a task can change: it asks, transforms, withholds, calls, binds late, locks.
pub const AGENT: &str = "mount: agent
limits: {max_age: 100h, max_turns: 8}
guardrails:
  before:
  - {invoke: 'audit:append', bindings: {what: 'input.message[0].text'}, on_fail: continue}
  - {assert: \"!input.message[0].text.startsWith('q')\", error_message: No.}
  - {transform: \"input.message[0].text.startsWith('a') ? input.message : input.message[0].text + '!'\"}
  - {assert: \"!input.message[0].text.startsWith('z')\", error_message: Enough., on_fail: lock_task}
  after:
  - {invoke: 'audit:append', bindings: {what: 'output.message[0].text'}, on_fail: continue}
  - {assert: \"!output.message[0].text.startsWith('z')\", error_message: 'Too long at {now}.'}
  - {transform: \"output.message[0].text + '?'\"}
exposes: {calls: context.capabilities._meta.count}
capabilities:
  probe:
    before:
    - {assert: \"input.depth < 3 || review('deep')\", error_message: 'Too deep: {input.depth}.'}
    after:
    - {invoke: 'audit:append', bindings: {what: \"'seen'\"}}
    - {assert: \"!has(output.roll) || output.roll % 3 != 0 || review('x')\", error_message: Withheld.}
    - {transform: \"{'was': output, 'n': c.cap.probe.count_successful}\"}
  ledger: {bindings: {account: \"c.cap.probe.outputs[0].roll\"}}
  notes: '*'
";

#[derive(Clone, Debug)]
pub enum Deed {
    Input(String),
    Output(String),
    Turn,
    Limits,
    Before(i64),
    Report(u8),
    Post(String),
    Sign,
    Script(i64),
    Interrupt,
}

pub fn deed() -> impl Strategy<Value = Deed> {
    prop_oneof![
        "[abqz][a-y]{0,4}".prop_map(Deed::Input),
        "[abz][a-y]{0,4}".prop_map(Deed::Output),
        Just(Deed::Turn),
        Just(Deed::Limits),
        (0..6_i64).prop_map(Deed::Before),
        (0..6_i64).prop_map(Deed::Before),
        any::<u8>().prop_map(Deed::Report),
        any::<u8>().prop_map(Deed::Report),
        "[ab]{1,2}".prop_map(Deed::Post),
        Just(Deed::Sign),
        (0..6_i64).prop_map(Deed::Script),
        Just(Deed::Interrupt),
    ]
}

/// What a deed ends in: an operation, or the misuse that it was.
fn perform(task: &mut Task, open: &[CallId], deed: &Deed, now: Timestamp) -> Option<Progress> {
    let probe = |depth: i64| call("probe", json!({ "depth": depth, "host": format!("h{depth}") }));
    Some(match deed {
        Deed::Input(text) => task.input(&json!({ "message": text }).into(), now).into_progress(),
        Deed::Output(text) => task.output(&json!({ "message": text }).into(), now).into_progress(),
        Deed::Turn => {
            task.model_turn(Usage { prompt_tokens: 3, completion_tokens: 2, ..Usage::default() }, now).into()
        }
        Deed::Limits => task.limits(Next::ModelTurn, now).into(),
        Deed::Interrupt => task.interrupt(now).into(),
        Deed::Before(depth) => task.before(&probe(*depth), now).unwrap().into_progress(),
        Deed::Report(roll) => task
            .after(open.get(usize::from(*roll) % open.len().max(1))?, result(*roll), now)
            .ok()?
            .into_progress(),
        Deed::Post(memo) => task
            .invoke(&call("ledger_post_entry", json!({ "amount": 1, "memo": memo })), now)
            .unwrap()
            .into_progress(),
        Deed::Sign => task.invoke(&call("notes_sign", json!({ "key": "k" })), now).unwrap().into_progress(),
        Deed::Script(depth) => {
            let script = format!("[probe({{'depth': {depth}}}), ledger_lookup({{}})]");
            task.script(&script, now).ok()?.into_progress()
        }
    })
}

fn result(roll: u8) -> CallResult {
    CallResult {
        status: if roll.is_multiple_of(5) { CallStatus::Errored } else { CallStatus::Successful },
        ..CallResult::successful(
            json!({ "roll": roll, "long": "text ".repeat(usize::from(roll % 4)) }).into(),
        )
    }
}

fn answer(request: &Request, roll: u8) -> Answer {
    match request {
        Request::Review { .. } => Answer::Review((!roll.is_multiple_of(3)).into()),
        Request::ReadMount { .. } => Answer::Text(format!("text {roll}")),
        Request::WriteMount { .. } => Answer::Written,
        Request::MeasureFile { .. } => Answer::Size(u64::from(roll)),
        Request::Counters { .. } => Answer::Failed,
        Request::Invoke(_) => Answer::Result(result(roll)),
    }
}

fn json_of(value: &impl serde::Serialize) -> Value {
    serde_json::to_value(value).unwrap()
}

/// What keeps a task: it is told of the task after each step and of where it was before, and may give the task back as it
/// was kept.
pub type Keep<'k> = dyn FnMut(&Task, &TaskMark) -> Option<Task> + 'k;

/// Does something to the task, tells whoever keeps it, and goes on with what was kept.
fn step<T>(task: &mut Task, keep: &mut Keep<'_>, step: impl FnOnce(&mut Task) -> T) -> T {
    let mark = task.mark();
    let done = step(task);
    if let Some(kept) = keep(task, &mark) {
        *task = kept;
    }
    done
}

/// All that can be seen of a run: decisions, questions and contexts.
pub type Seen = (Vec<Option<Decision>>, Vec<Request>, Vec<String>);

/// Runs a task that somebody keeps.
pub fn run(mut task: Task, deeds: &[Deed], rolls: &[u8], keep: &mut Keep<'_>) -> Seen {
    let (mut decisions, mut requests, mut contexts) = (Vec::new(), Vec::new(), Vec::new());
    let mut open = Vec::new();
    let mut minute = 0;
    let mut clock = || {
        minute += 1;
        at(&format!("2026-06-01T{:02}:{:02}:00Z", 12 + minute / 60, minute % 60))
    };
    let mut rolls = rolls.iter().copied().cycle();
    for deed in deeds {
        let mut roll = || rolls.next().unwrap();
        let now = clock();
        let mut progress = step(&mut task, keep, |task| perform(task, &open, deed, now));
        while let Some(Progress::Asks(question)) = progress {
            // somebody who does not wait is rejected, and changes nothing
            let now = clock();
            let rejected = step(&mut task, keep, |task| task.limits(Next::Other, now));
            decisions.push(Some(rejected));
            let answer = answer(&question.request, roll());
            requests.push(question.request);
            let now = clock();
            progress = step(&mut task, keep, |task| task.resume(answer, now).ok().map(Progress::from));
        }
        let decision = progress.and_then(|progress| match progress {
            Progress::Decided(decision) => Some(decision),
            Progress::Asks(_) => None,
        });
        open.extend(decision.as_ref().and_then(|decision| decision.call.clone()));
        decisions.push(decision);
        let context = task.context_json();
        contexts.push(context.map_or_else(|fault| fault.to_string(), |context| context.to_string()));
    }
    (decisions, requests, contexts)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn a_task_kept_as_its_changes_decides_the_same(
        deeds in prop::collection::vec(deed(), 1..24),
        rolls in prop::collection::vec(any::<u8>(), 1..32),
        reloads in prop::collection::vec(any::<bool>(), 1..8),
    ) {
        let engine = engine(AGENT);
        let mut saved = start(&engine).save();
        let mut reloads = reloads.into_iter().cycle();
        let mut keep = |task: &Task, mark: &TaskMark| {
            let change = serde_json::to_string(&task.change_since(mark)).unwrap();
            saved = saved.clone().apply(serde_json::from_str::<TaskChange>(&change).unwrap()).unwrap();
            assert_eq!(json_of(&saved), json_of(&task.save()), "after {change}");
            reloads.next().unwrap().then(|| engine.restore(saved.clone()).unwrap())
        };
        let kept = run(start(&engine), &deeds, &rolls, &mut keep);
        prop_assert_eq!(run(start(&engine), &deeds, &rolls, &mut |_, _| None), kept);
    }
}

#[test]
fn a_change_costs_what_it_changed() {
    let engine = engine(AGENT);
    let mut task = start(&engine);
    let mut sizes = Vec::new();
    for round in 0..400 {
        let mark = task.mark();
        let text = if round == 0 { "a".repeat(100_000) } else { "a".to_owned() };
        let _ = task.input(&json!({ "message": text }).into(), noon());
        let _ = task.resume(Answer::Result(result(1)), noon()).unwrap();
        let _ = task.invoke(&call("ledger_lookup", json!({ "account": "a" })), noon()).unwrap();
        sizes.push(serde_json::to_string(&task.change_since(&mark)).unwrap().len());
    }
    assert!(sizes[0] > 100_000, "{}", sizes[0]);
    assert!(sizes[1..].iter().all(|size| *size < 3_000), "{sizes:?}");
    let idle = task.mark();
    let nothing = serde_json::to_string(&task.change_since(&idle)).unwrap();
    assert!(nothing.len() < 300, "{nothing}");
}

#[test]
fn a_change_of_another_state_is_refused() {
    let engine = engine(AGENT);
    let mut task = start(&engine);
    let began = task.save();
    let mut change = |memo: &str| {
        let mark = task.mark();
        let _ =
            task.invoke(&call("ledger_post_entry", json!({ "amount": 1, "memo": memo })), noon()).unwrap();
        task.change_since(&mark)
    };
    let [first, second] = ["a", "b"].map(&mut change);
    assert!(matches!(began.clone().apply(second.clone()), Err(TaskError::NotRestorable(_))));
    let both = began.apply(first).unwrap().apply(second).unwrap();
    assert_eq!(json_of(&both), json_of(&task.save()));
}
