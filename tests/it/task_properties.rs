//! What must hold for every input: bindings are out of the model's reach, and waiting in a store changes nothing.

use crate::task_fixture::{at, call, engine, noon, start};
use celador::cel::{Json, Timestamp};
use celador::engine::Engine;
use celador::task::{
    Answer, Call, CallResult, CallStatus, Decision, Progress, Request, SavedTask, Task, TaskError,
    VerdictKind,
};
use proptest::prelude::*;
use serde_json::{Map, Value, json};

// The model and bound parameters.

const BOUND: &str = "mount: task
capabilities:
  ledger: {bindings: {account: \"'bound'\"}}
  notes: {bindings: {key: context.user.id}}
  remote: {bindings: {account: \"'bound'\"}}
  kid: {bindings: {account: \"'bound'\"}}
  late: {bindings: {account: 'c.cap.ledger_lookup.outputs[0].id'}}
";

const MORE: &str = "kind: commonagents.info/v1beta2/agent
namespace: demo
name: kid
description: d
prompt: p
parameters: {properties: {account: {type: string}}}
---
kind: commonagents.info/v1beta2/tool
namespace: demo
name: remote
description: Elsewhere.
mcp: {url: 'https://mcp.example.com'}
actions: [{name: go, description: Goes.}]
---
kind: commonagents.info/v1beta2/tool
namespace: demo
name: late
description: Late.
actions:
- name: go
  description: Goes.
  parameters: {properties: {account: {type: string}, memo: {type: string, default: ''}}}
  execute: {stateless_http: {method: POST, url: 'https://svc.example.com/run'}}
---";

fn bound_engine() -> Engine {
    let text = crate::task_fixture::manifests(BOUND).replacen("\nkind:", &format!("\n{MORE}\nkind:"), 1);
    let (engine, findings) = crate::task_fixture::parse("bound.yaml", &text);
    let error = findings.iter().find(|finding| finding.is_error());
    assert!(error.is_none(), "{}", error.unwrap().render(false));
    engine
}

fn json_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        "(bound|u-1|evil|debit|.{0,8})".prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 16, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec((key(), inner), 0..4)
                .prop_map(|entries| Value::Object(Map::from_iter(entries))),
        ]
    })
}

fn key() -> impl Strategy<Value = String> {
    prop_oneof![Just("account".to_owned()), Just("key".to_owned()), "(amount|memo|kind|message|.{0,4})"]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn no_arguments_of_the_model_change_a_bound_parameter(
        calls in prop::collection::vec(
            (prop::sample::select(vec!["ledger_lookup", "ledger_post_entry", "notes_load", "remote", "kid", "late"]), json_value()),
            1..12,
        ),
        output in json_value(),
    ) {
        let engine = bound_engine();
        let mut task = start(&engine);
        for (function, given) in calls {
            let mut arguments = given;
            if let Some(arguments) = arguments.as_object_mut() {
                // such as make a call valid now and then
                arguments.entry("amount").or_insert(json!(1));
                arguments.entry("message").or_insert(json!("m"));
            }
            let progress = task.before(&call(function, arguments), noon()).unwrap();
            let Progress::Decided(decision) = progress.into_progress() else { panic!("nobody is asked") };
            prop_assert!(matches!(decision.verdict.kind(), VerdictKind::Allow | VerdictKind::Error));
            if let Some(id) = decision.call {
                let resolved = decision.verdict.into_value().unwrap();
                let (name, wanted) = match function {
                    "notes_load" => ("key", json!("u-1")),
                    // what an earlier result says, and nothing else
                    "late" => ("account", output["id"].clone()),
                    _ => ("account", json!("bound")),
                };
                prop_assert_eq!(resolved.root().get(name).map(|value| value.to_json()), Some(Json::from(wanted)));
                let _ = task.after(&id, CallResult::successful(output.clone().into()), noon()).unwrap();
            }
        }
        for schema in ["ledger_lookup", "ledger_post_entry", "remote", "kid", "late"] {
            let schema = task.schema(schema).unwrap().to_string();
            prop_assert!(!schema.contains("account") && !schema.contains("bound"));
        }
    }
}

// A task that waits in a store.

/// An agent that asks wherever it can.
const ASKING: &str = "mount: agent
limits: {max_age: 100h}
guardrails:
  before:
  - {invoke: 'audit:append', bindings: {what: 'input.message[0].text'}, on_fail: continue}
  - {transform: \"input.message[0].text + '!'\"}
  after:
  - {invoke: 'audit:append', bindings: {what: 'output.message[0].text', who: 'now'}}
  - {assert: \"size(output.message) < 40\", error_message: 'Too long at {now}.'}
exposes: {calls: context.capabilities._meta.count}
capabilities:
  probe:
    before_first:
    - {assert: \"review('first')\", error_message: Not at first.}
    before:
    - invoke: audit:append
      bindings: {what: \"review('x') ? now : 'no'\", who: \"review('y') ? 'y' : input.host\"}
      on_fail: continue
    - {assert: \"input.depth < 3 || review('deep') && review('deeper')\", error_message: 'Too deep: {input.depth}.'}
    after:
    - {transform: \"review(context.user.id) ? output : {'withheld': now}\"}
    - {invoke: 'notes:sign', bindings: {key: \"'k'\"}, on_fail: continue}
    - {transform: \"{'was': output, 'n': c.cap.probe.count_successful}\"}
  notes: '*'
";

#[derive(Clone, Debug)]
enum Act {
    Input(String),
    Before(i64),
    Invoke(i64),
    Load,
    Sign,
    Output(String),
}

fn act() -> impl Strategy<Value = Act> {
    prop_oneof![
        "[a-z]{1,6}".prop_map(Act::Input),
        (0..6_i64).prop_map(Act::Before),
        (0..6_i64).prop_map(Act::Invoke),
        Just(Act::Load),
        Just(Act::Sign),
        "[a-z]{1,60}".prop_map(Act::Output),
    ]
}

/// The answers of a host, one after the other.
#[derive(Clone, Debug)]
struct Answers(Vec<u8>, usize);

impl Answers {
    fn to(&mut self, request: &Request) -> Answer {
        let roll = self.0[self.1 % self.0.len()];
        self.1 += 1;
        match request {
            Request::Review { .. } => Answer::Review((!roll.is_multiple_of(4)).into()),
            Request::ReadMount { .. } if roll.is_multiple_of(3) => Answer::Failed,
            Request::ReadMount { .. } => Answer::Text(format!("text {roll}")),
            Request::WriteMount { .. } if roll.is_multiple_of(3) => Answer::Failed,
            Request::WriteMount { .. } => Answer::Written,
            Request::MeasureFile { .. } => Answer::Size(u64::from(roll)),
            Request::Counters { .. } => Answer::Failed,
            Request::Invoke(_) => Answer::Result(CallResult {
                status: if roll.is_multiple_of(5) { CallStatus::Errored } else { CallStatus::Successful },
                ..CallResult::successful(json!({ "roll": roll }).into())
            }),
        }
    }
}

fn perform(task: &mut Task, act: &Act, now: Timestamp) -> Progress {
    let probe = |depth: i64| Call::new("probe", json!({ "depth": depth }).into());
    match act {
        Act::Input(text) => task.input(&json!({ "message": text }).into(), now).into_progress(),
        Act::Output(text) => task.output(&json!({ "message": text }).into(), now).into_progress(),
        Act::Before(depth) => task.before(&probe(*depth), now).unwrap().into_progress(),
        Act::Invoke(depth) => task.invoke(&probe(*depth), now).unwrap().into_progress(),
        Act::Load => task.invoke(&call("notes_load", json!({ "key": "k" })), now).unwrap().into_progress(),
        Act::Sign => task.invoke(&call("notes_sign", json!({ "key": "k" })), now).unwrap().into_progress(),
    }
}

/// Everything that can be seen of a run.
#[derive(Debug, Default, PartialEq)]
struct Seen {
    decisions: Vec<Decision>,
    requests: Vec<Request>,
    contexts: Vec<String>,
}

/// Runs a task; where `keep` says so it goes through a store before each answer and after each decision.
fn run(engine: &Engine, acts: &[Act], answers: &[u8], keep: bool) -> Seen {
    let mut task = start(engine);
    let mut answers = Answers(answers.to_vec(), 0);
    let mut seen = Seen::default();
    let mut minute = 0;
    let mut clock = || {
        minute += 1;
        at(&format!("2026-06-01T{:02}:{:02}:00Z", 12 + minute / 60, minute % 60))
    };
    for act in acts {
        let mut progress = perform(&mut task, act, clock());
        while let Progress::Asks(question) = progress {
            if keep {
                task = through_store(engine, &task);
                assert!(task.questions().eq([question.clone()]));
            }
            let answer = answers.to(&question.request);
            seen.requests.push(question.request);
            progress = task.resume(answer, clock()).unwrap().into_progress();
        }
        if let Progress::Decided(decision) = progress {
            if keep {
                task = through_store(engine, &task);
            }
            seen.decisions.push(decision);
        }
        seen.contexts.push(task.context_json().unwrap().to_string());
    }
    seen
}

fn through_store(engine: &Engine, task: &Task) -> Task {
    let text = serde_json::to_string(&task.save()).unwrap();
    engine.restore(serde_json::from_str::<SavedTask>(&text).unwrap()).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn a_task_that_was_stored_at_every_question_decides_the_same(
        acts in prop::collection::vec(act(), 1..8),
        answers in prop::collection::vec(any::<u8>(), 1..24),
    ) {
        let engine = engine(ASKING);
        let straight = run(&engine, &acts, &answers, false);
        let stored = run(&engine, &acts, &answers, true);
        prop_assert_eq!(straight, stored);
    }
}

#[test]
fn a_task_that_waits_goes_on_only_under_the_very_policy() {
    let before = |more: &str| {
        format!("capabilities:\n  probe:\n    before:\n    - {{assert: \"review('a')\"}}\n{more}")
    };
    let old = engine(&before(""));
    let mut task = start(&old);
    let idle = task.save();
    let _ = task.before(&call("probe", json!({})), noon()).unwrap();
    let waiting = task.save();
    let changed = engine(&before("    - {assert: 'false'}\n"));
    assert_eq!(changed.restore(waiting.clone()).unwrap_err(), TaskError::PolicyChanged);
    assert!(changed.restore(idle).is_ok());
    // a comment changes nothing, nor does another agent
    let commented = engine(&format!("# a comment\n{}", before("")));
    let mut restored = commented.restore(waiting.clone()).unwrap();
    let decision = restored.resume(Answer::approve(), noon()).unwrap();
    assert!(matches!(decision.into_progress(), Progress::Decided(decision) if decision.is_allowed()));
    let other = serde_json::to_string(&waiting).unwrap().replacen("\"format\":1", "\"format\":2", 1);
    assert_eq!(old.restore(serde_json::from_str(&other).unwrap()).unwrap_err(), TaskError::UnknownFormat(2));
}
