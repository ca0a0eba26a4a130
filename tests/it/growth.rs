//! How work grows with its input, counted in bytes, allocations and cost units, never in time: four times the input takes
//! at most a little more than four times the work, and a step of a long task no more than one of a short task.

use crate::counting::{Allocated, counted};
use crate::task_fixture::{call, decided, engine, noon, start, task};
use celador::cel::{Activation, EXTENSIONS, Env, EnvBuilder, Json, Program, STANDARD, Type, Value};
use celador::context::InvocationStatus;
use celador::limits::EvalLimits;
use celador::task::{Call, CallResult, Past, PastCall, Task, VerdictKind};
use serde_json::json;

const AGENT: &str = "
capabilities:
  probe: '*'
  ledger:
    bindings: {account: context.user.id}
    before:
    - assert: input.amount < 100
      error_message: '{input.amount} is too much: {input.memo}'
    - condition: context.capabilities._meta.count > 0
      assert: context.capabilities.ledger_post_entry.count_errored == 0
";

/// A call that ran, with documents that all of them share: what is counted is the history's own.
fn past(arguments: &Json, output: &Json) -> Past {
    Past::Call(PastCall {
        function: "ledger_post_entry".into(),
        arguments: arguments.clone(),
        output: Some(output.clone()),
        status: InvocationStatus::Successful,
        executed: true,
        task_id: None,
        at: None,
    })
}

fn remember(task: &mut Task, steps: usize) {
    let (arguments, output) = (Json::from(json!({ "amount": 1 })), Json::from(json!({ "id": 7 })));
    for _ in 0..steps {
        task.record(past(&arguments, &output), noon()).unwrap();
    }
}

/// A call that runs.
fn report(task: &mut Task, call: &Call) {
    let id = decided(task.before(call, noon()).unwrap()).call.unwrap();
    let result = CallResult::successful(json!({ "id": 7 }).into());
    decided(task.after(&id, result, noon()).unwrap());
}

#[test]
fn a_task_of_a_million_steps_does_not_copy_its_history() {
    let engine = engine(AGENT);
    let mut task = start(&engine);
    remember(&mut task, 1_000_000);
    let held = task.context().heap_bytes() as u64;
    assert!(held > 60_000_000, "{held}");
    // one entry in a thousand seals a piece: the most that a step may copy
    const PIECE: u64 = 1024 * 64;
    let (arguments, output) = (Json::from(json!({ "amount": 1 })), Json::from(json!({ "id": 7 })));
    let mut all = 0;
    for _ in 0..3_000 {
        let step = past(&arguments, &output);
        let (_, step) = counted(|| task.record(step, noon()).unwrap());
        assert!(step.bytes <= 2 * PIECE, "a step took {} bytes", step.bytes);
        all += step.bytes;
    }
    assert!(all < 3_000 * 64 * 5, "3,000 steps took {all} bytes");

    let allowed = call("ledger_post_entry", json!({ "amount": 1 }));
    report(&mut task, &allowed);
    let (decision, decide) = counted(|| decided(task.before(&allowed, noon()).unwrap()));
    assert_eq!(decision.verdict.kind(), VerdictKind::Allow);
    assert!(decide.bytes < 2_000, "a decision took {} bytes", decide.bytes);

    let (snapshot, taken) = counted(|| task.context().clone());
    assert!(taken.bytes < 3 * PIECE, "a snapshot took {} bytes", taken.bytes);
    remember(&mut task, 1);
    let (seen, now) = (snapshot.invocations().count(), task.context().invocations().count());
    assert_eq!((seen, now), (1_003_001, 1_003_002));
}

/// A call with arguments and a result of 200 bytes of JSON each, most of their values new.
fn two_hundred_bytes(number: usize) -> Past {
    let memo = format!("chapter-{number:05} of what the user asked for, with its notes and with its tables");
    let words = "The quick brown fox jumps over the lazy dog while the guard looks on.";
    let arguments =
        json!({ "amount": number % 90, "memo": memo, "path": format!("/srv/{number:05}.md"), "note": words });
    let (id, body) = (format!("entry-{number:05}"), words.repeat(2));
    let output = json!({ "status": "open", "id": id, "bytes": 4096, "body": body });
    past(&arguments.into(), &output.into())
}

/// What a task holds, all told: its context, and the lists that its events are filtered by.
#[test]
fn a_task_weighs_little_more_than_its_json() {
    let engine = engine(AGENT);
    let mut task = start(&engine);
    let ((), held) = counted(|| {
        for number in 0..10_000 {
            let step = two_hundred_bytes(number);
            task.record(step, noon()).unwrap();
        }
    });
    let json = task.context_json().unwrap().to_string().len() as u64;
    let held = held.bytes - held.freed;
    assert!(held * 2 <= json * 3, "{held} bytes for {json} of JSON");
}

#[test]
fn a_decision_allocates_only_what_it_gives_back() {
    let mut task = task(AGENT);
    remember(&mut task, 100);
    let allowed = call("ledger_post_entry", json!({ "amount": 1 }));
    // the list of calls whose results are awaited has room for four from the first one on
    report(&mut task, &allowed);
    let (decision, made) = counted(|| decided(task.before(&allowed, noon()).unwrap()));
    assert_eq!((decision.verdict.kind(), decision.trace.len()), (VerdictKind::Allow, 2));
    let ((), given_back) = counted(|| drop(decision));
    assert!(made.times <= 10, "{made:?}");
    // the arguments stay with the call that was let through
    assert!(made.freed + given_back.freed <= made.bytes, "{made:?} {given_back:?}");
    assert_eq!(made.freed, 0, "nothing is built only to be thrown away: {made:?}");
}

/// Work by its name, measured for an input of this length.
type Work = (&'static str, fn(usize) -> u64);

/// The work for four times the input is at most this many times as much; what grows by doubling may be at another point
/// of its growth.
const FOUR_TIMES: f64 = 4.6;

fn assert_linear(length: usize, works: &[Work]) {
    for (name, work) in works {
        let (once, four) = (work(length), work(4 * length));
        let ratio = four as f64 / once as f64;
        assert!(ratio <= FOUR_TIMES, "{name}: {once} for {length}, {four} for four times that");
    }
}

fn bytes(allocated: Allocated) -> u64 {
    allocated.bytes
}

#[test]
fn operations_grow_with_their_input() {
    let works: &[Work] = &[
        ("recording steps", |n| {
            let mut task = task(AGENT);
            bytes(counted(|| remember(&mut task, n)).1)
        }),
        ("calls that are let through", |n| {
            let mut task = task(AGENT);
            let allowed = call("probe", json!({ "depth": 1 }));
            bytes(counted(|| (0..n).for_each(|_| drop(task.before(&allowed, noon()).unwrap()))).1)
        }),
        ("values on an allow list", |n| {
            let mut task = task(AGENT);
            let step = |memo| past(&Json::from(json!({ "memo": memo })), &Json::null());
            let steps: Vec<_> = (0..n).map(step).collect();
            let work = || steps.into_iter().for_each(|step| task.record(step, noon()).unwrap());
            bytes(counted(work).1)
        }),
        ("a message rendered", |n| {
            let mut task = task(AGENT);
            let far = call("ledger_post_entry", json!({ "amount": 100, "memo": "m".repeat(n) }));
            let (decision, allocated) = counted(|| decided(task.before(&far, noon()).unwrap()));
            assert!(decision.verdict.message().is_some_and(|message| message.len() > n));
            bytes(allocated)
        }),
        ("a task told as JSON", |n| {
            let mut task = task(AGENT);
            remember(&mut task, n);
            bytes(counted(|| task.context_json().unwrap()).1)
        }),
        ("a task saved and restored", |n| {
            let engine = engine(AGENT);
            let mut task = start(&engine);
            remember(&mut task, n);
            bytes(counted(|| engine.restore(task.save()).unwrap()).1)
        }),
        ("JSON read, rows", |n| {
            let text = serde_json::to_string(&vec![json!({ "a": 1, "b": [true, null] }); n]).unwrap();
            bytes(counted(|| Json::parse(&text, &EvalLimits::default()).unwrap()).1)
        }),
        ("JSON read, keys", |n| {
            let members: serde_json::Map<_, _> = (0..n).map(|n| (format!("key-{n:09}"), n.into())).collect();
            let text = serde_json::Value::Object(members).to_string();
            bytes(counted(|| Json::parse(&text, &EvalLimits::default()).unwrap()).1)
        }),
    ];
    assert_linear(2_000, works);
}

/// Expressions over `xs`, n numbers, `text`, n characters, `wide`, n of four bytes each, and `keys`, n keys, that a person
/// takes for linear. Sorting is a little more.
const LINEAR: &[&str] = &[
    "xs.all(x, x >= 0)",
    "xs.exists(x, x < 0)",
    "xs.exists_one(x, x == 1)",
    "xs.filter(x, x > 10).size() > 0",
    "xs.map(x, x + 1).size() > 0",
    "xs.map(x, string(x)).join(',').size() > 0",
    "xs.map(x, [x]).flatten().size() > 0",
    "(xs + xs).size() > 0",
    "xs.reverse().slice(0, 1).size() > 0",
    "xs.transformList(i, x, i + x).size() > 0",
    "xs.sort().size() > 0",
    "xs == xs",
    "-1 in xs",
    "lists.range(xs.size()).size() > 0",
    "text.contains('b')",
    "text.replace('a', 'bb').size() > 0",
    "text.split('').size() > 0",
    "text.upperAscii() == text",
    "text.matches('(a|aa)*b')",
    "text.substring(1).size() > 0",
    "(text + text).size() > 0",
    "text.reverse() == text",
    "base64.encode(bytes(text)).size() > 0",
    "wide.size() > 0",
    "wide.charAt(wide.size() - 1) != ''",
    "wide.substring(1).size() > 0",
    "wide.indexOf('x') == -1",
    "wide.reverse() == wide",
    "wide.split('').size() > 0",
    "keys.exists(k, k == 'none')",
    "keys.all(k, keys[k] >= 0)",
    "keys.map(k, k + '!').size() > 0",
    "keys.transformMap(k, v, v + 1).size() > 0",
    "keys == keys",
    // errors are no dearer than values
    "xs.exists(x, 1 / (x - x) == 1) || true",
    "keys.exists(k, keys[k + 'x'] == 1) || true",
];

#[test]
fn evaluation_grows_with_its_data() {
    let scope = Env::builder()
        .variable("xs", Type::list(Type::Int))
        .variable("text", Type::String)
        .variable("wide", Type::String)
        .variable("keys", Type::map(Type::String, Type::Int));
    let env = STANDARD.iter().chain(EXTENSIONS).copied().fold(scope, EnvBuilder::library).build();
    for text in LINEAR {
        let program = Program::compile(&env, text).unwrap_or_else(|issues| panic!("{text}: {issues:?}"));
        let work = |n: usize| {
            let numbers = Json::from_value(
                &Value::list((0..n as i64).map(Value::Int).collect()),
                &EvalLimits::default(),
            )
            .unwrap();
            let letters = "a".repeat(n);
            let wide = "𝄞".repeat(n);
            let keys: serde_json::Map<_, _> = (0..n).map(|n| (format!("k{n:05}"), n.into())).collect();
            let keys = Json::from(serde_json::Value::Object(keys));
            let activation = Activation::new(&env)
                .with(&env, "xs", numbers.value())
                .with(&env, "text", Value::text(&letters))
                .with(&env, "wide", Value::text(&wide))
                .with(&env, "keys", keys.value());
            let ((value, cost), allocated) = counted(|| program.run_metered(&activation, None));
            value.unwrap_or_else(|stop| panic!("{text}: {stop:?}"));
            (cost, allocated.bytes)
        };
        let ((cost, bytes), (four_cost, four_bytes)) = (work(1_000), work(4_000));
        let limit = if text.contains("sort") { 5.5 } else { FOUR_TIMES };
        assert!(four_cost as f64 <= cost as f64 * limit, "{text}: cost {cost}, then {four_cost}");
        let constant = 1_000.0;
        assert!(
            four_bytes as f64 <= bytes as f64 * FOUR_TIMES + constant,
            "{text}: {bytes} bytes, then {four_bytes}"
        );
    }
}

/// A folder of this many agents, each with a tool of its own, or with a reference that leads nowhere.
fn manifests_of(agents: usize, tools: bool) -> String {
    let agent = |n: usize| {
        let tool = format!("tool-{n}");
        let tool = if tools {
            format!(
                "kind: commonagents.info/v1beta2/tool\nnamespace: demo\nname: {tool}\ndescription: Looks.\nactions:\n\
                 - name: check\n  description: Checks.\n  parameters: {{properties: {{host: {{type: string}}}}}}\n  \
                 execute: {{stateless_http: {{method: POST, url: \"https://svc.example.com/run\"}}}}\n---\n"
            )
        } else {
            String::new()
        };
        format!(
            "{tool}kind: commonagents.info/v1beta2/agent\nnamespace: demo\nname: agent-{n}\ndescription: Looks.\n\
             prompt: Look.\ncapabilities:\n  tool-{n}:\n    before:\n    - assert: input.host != 'a'\n---\n"
        )
    };
    (0..agents).map(agent).collect()
}

#[test]
fn loading_grows_with_the_manifests() {
    for tools in [true, false] {
        let work = |agents: usize| {
            let text = manifests_of(agents, tools);
            let ((engine, findings), allocated) = counted(|| crate::task_fixture::parse("many.yaml", &text));
            assert_eq!(findings.iter().filter(|finding| finding.is_error()).count(), 0, "{:?}", findings[0]);
            // a capability whose tool is not there may have lost its rules
            assert_eq!(engine.policy("demo", "agent-0").is_ok(), tools);
            allocated
        };
        let (once, four) = (work(250), work(1_000));
        for (what, once, four) in [("allocations", once.times, four.times), ("bytes", once.bytes, four.bytes)]
        {
            let ratio = four as f64 / once as f64;
            assert!(ratio <= FOUR_TIMES, "tools {tools}: {once} {what} for 250 agents, {four} for 1,000");
        }
    }
}
