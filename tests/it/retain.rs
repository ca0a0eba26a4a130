//! What a task keeps of its calls that keeps only what is needed: which values that are, that decisions are the same, and what it is to read another.

use crate::counting::counted;
use crate::task_fixture::{decided, noon};
use celador::cel::{ErrorCode, Timestamp};
use celador::context::{CallValues, FunctionId, InvocationStatus, KeptPart, PageRequest, Scope};
use celador::engine::Engine;
use celador::task::{
    Answer, Call, CallResult, Decision, Past, PastCall, Progress, Ran, Retain, SavedTask, StartTask, Task,
    TaskChange, TaskError, Trial, Tried, User, VerdictKind,
};
use proptest::prelude::*;
use serde_json::json;
use sha2::{Digest, Sha256};
use std::sync::LazyLock;

/// A desk of three tools. `refund` is what the capability says.
fn manifests(refund: &str) -> String {
    format!(
        r#"
kind: commonagents.info/v1beta2/tool
namespace: desk
name: fetch
description: Reads a ticket.
actions:
- name: run
  description: Reads one.
  parameters: {{properties: {{ticket: {{type: string}}}}}}
  execute: {{stateless_http: {{method: POST, url: "https://tickets.example.com"}}}}
---
kind: commonagents.info/v1beta2/tool
namespace: desk
name: search
description: Looks for articles.
actions:
- name: run
  description: Looks for some.
  parameters: {{properties: {{query: {{type: string}}}}}}
  execute: {{stateless_http: {{method: POST, url: "https://search.example.com"}}}}
---
kind: commonagents.info/v1beta2/tool
namespace: desk
name: refund
description: Pays money back.
actions:
- name: run
  description: Pays.
  parameters: {{properties: {{ticket: {{type: string}}, amount: {{type: integer}}}}}}
  execute: {{stateless_http: {{method: POST, url: "https://pay.example.com"}}}}
---
kind: commonagents.info/v1beta2/agent
namespace: desk
name: clerk
description: Answers customers.
prompt: You are a careful clerk.
capabilities: {{fetch: '*', search: '*', refund: {refund}}}
"#
    )
}

fn engine_of(refund: &str) -> Engine {
    Engine::parse("desk.yaml", &manifests(refund)).unwrap_or_else(|error| panic!("{refund}: {error}"))
}

fn ruled(rule: &str) -> Engine {
    engine_of(&format!("{{before: [{{assert: {}}}]}}", json!(rule)))
}

fn start(engine: &Engine, retain: Retain) -> Task {
    let user = User { id: "u-1".into(), email: None, ..User::default() };
    let start = StartTask::new("t-1", "desk", "clerk", user, noon());
    engine.start(StartTask { retain, ..start }).unwrap()
}

fn past(function: &str, arguments: serde_json::Value, output: serde_json::Value) -> Past {
    Past::Call(PastCall {
        function: function.into(),
        arguments: arguments.into(),
        output: Some(output.into()),
        status: InvocationStatus::Successful,
        executed: true,
        task_id: None,
        at: None,
    })
}

/// The rule of the comparison with other engines: a refund only after this task fetched its ticket, at most three, at most 500 in all.
const THREE_REFUNDS: &str = "c.cap.fetch.calls.exists(t, t.input.ticket == input.ticket) && c.cap.refund.count_successful < 3 \
    && c.cap.refund.calls.filter(t, t.status == 'successful').map(t, t.input.amount).sum() + input.amount <= 500";

// Which values.

/// Of `fetch`, `search` and `refund` in turn: `i` where arguments are read, `o` where results are.
fn read(engine: &Engine) -> String {
    let policy = engine.policy("desk", "clerk").unwrap();
    let values = ["fetch", "search", "refund"].map(|key| policy.values_read(policy.position(key).unwrap()));
    let word = |CallValues { input, output }: CallValues| match (input, output) {
        (false, false) => "-",
        (true, false) => "i",
        (false, true) => "o",
        (true, true) => "io",
    };
    values.map(word).join(" ")
}

#[test]
fn the_values_that_a_rule_reads_are_those_that_it_names() {
    for (rule, expected) in [
        ("input.amount < 100", "- - -"),
        (THREE_REFUNDS, "i - i"),
        ("c.cap.fetch.count_successful > 0 && c.cap.search.timestamps.size() < 9", "- - -"),
        ("c.cap.fetch.outputs.exists(o, o.amount > 3)", "o - -"),
        ("c.cap.fetch.inputs[0].ticket == 'a'", "i - -"),
        ("c.cap.fetch.inputs.size() < 9", "i - -"),
        ("context['capabilities']['fetch']['outputs'].all(o, o.paid)", "o - -"),
        ("c.calls.exists(t, t.fn == 'fetch' && t.output.amount > 3)", "o o o"),
        ("c.calls.filter(t, within(t, '1m')).size() < 3", "- - -"),
        ("c.calls.filter(t, within(t, '1m') && t.open).size() < 3", "- - -"),
        ("c.cap.fetch.calls.filter(t, t.at > '2026').size() < 3", "- - -"),
        ("c.cap.fetch.calls[0].input.ticket == 'a'", "i - -"),
        (
            "c.cap.fetch.calls.exists(t, c.cap.search.calls.exists(s, s.input.query == t.output.title))",
            "o i -",
        ),
        // a list that is used in its order, or an item as a whole, may be read anywhere
        ("c.cap.fetch.calls.filter(t, t.open)[0].output.amount > 3", "io - -"),
        ("c.cap.fetch.calls.exists(t, t in c.cap.search.calls)", "io io -"),
        ("c.cap.fetch.calls[size(input.ticket)].status == 'successful'", "- - -"),
        ("c.cap[input.ticket].count_successful > 0", "io io io"),
        ("c.calls == []", "io io io"),
        ("context.capabilities._meta.count < 5 && c._history.turn_count < 9 && size(c.input) < 5", "- - -"),
        // labels are looked for in results that a step labels, of which there are none
        ("'secret' in labels(input.ticket)", "- - -"),
        ("sources(input.ticket).size() == 0", "o o o"),
    ] {
        let policy = format!(
            "---\nkind: celador/v1/policy\nnamespace: desk\nname: house\ncapabilities: {{refund: {{before: [{{id: a, assert: {}}}]}}}}\n",
            json!(rule)
        );
        let engine = Engine::parse("desk.yaml", &format!("{}{policy}", manifests("'*'")));
        let engine = engine.unwrap_or_else(|error| panic!("{rule}: {error}"));
        assert_eq!(read(&engine), expected, "{rule}");
    }
}

#[test]
fn texts_prompts_conditions_bindings_and_backends_read_too() {
    for (refund, expected) in [
        (
            "{before: [{assert: input.amount < 9, error_message: 'As in {context.capabilities.fetch.outputs[0].text}.'}]}",
            "o - -",
        ),
        (
            "{before: [{condition: \"c.cap.search.inputs.exists(i, i.query == 'x')\", assert: input.amount < 9}]}",
            "- i -",
        ),
        ("{bindings: {ticket: 'c.cap.fetch.inputs[0].ticket'}}", "i - -"),
        ("{after: [{transform: \"{'n': c.cap.refund.outputs[0].amount}\"}]}", "- - o"),
    ] {
        assert_eq!(read(&engine_of(refund)), expected, "{refund}");
    }
    let text = manifests("'*'");
    for (before, behind, expected) in [
        (
            "You are a careful clerk.",
            "The last ticket was {context.capabilities.fetch.outputs[0].title}.",
            "o - -",
        ),
        (
            "https://pay.example.com",
            "https://pay.example.com/{context.capabilities.fetch.inputs[0].ticket}",
            "i - -",
        ),
    ] {
        let engine = Engine::parse("desk.yaml", &text.replace(before, behind));
        assert_eq!(read(&engine.unwrap_or_else(|error| panic!("{behind}: {error}"))), expected, "{behind}");
    }
}

// What is kept.

#[test]
fn what_no_rule_reads_is_dropped_and_one_digest_tells_all_of_it() {
    let mut task = start(&ruled(THREE_REFUNDS), Retain::Needed);
    assert_eq!(task.context().dropped(), None);
    let found = json!({"articles": ["how to sit"]});
    task.record(past("search", json!({"query": "chairs"}), found.clone()), noon()).unwrap();
    task.record(past("fetch", json!({"ticket": "T-1"}), json!({"amount": 5})), noon()).unwrap();
    let kept: Vec<_> = task
        .context()
        .invocations()
        .map(|it| (it.input.is_dropped(), it.output.unwrap().is_dropped()))
        .collect();
    assert_eq!(kept, [(true, true), (false, true)]);

    let hex = |text: &str| Sha256::digest(text).iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    let lines =
        [(1, "input", json!({"query": "chairs"})), (1, "output", found), (2, "output", json!({"amount": 5}))];
    let running = lines.iter().fold(String::new(), |before, (call, part, value)| {
        hex(&format!("{before}{call} {part} {}\n", hex(&value.to_string())))
    });
    let dropped = task.context().dropped().unwrap();
    assert_eq!((dropped.values, dropped.sha256), (3, running));
    // what it is, is told of each call all the same
    let calls = Trial::new(Scope::Before, "c.calls.map(t, [t.seq, t.fn, t.status, t.at, t.open])");
    let Tried::Value(value) = task.evaluate(&calls, &[], noon()).unwrap() else { panic!("nobody is asked") };
    assert!(value.to_string().starts_with("[[2,\"fetch\",\"successful\",\"2026"), "{value}");
    // and nothing of it is in the store
    let stored = serde_json::to_string(&task.save()).unwrap();
    assert!(!stored.contains("chairs") && !stored.contains("amount") && stored.contains("T-1"), "{stored}");
}

#[test]
fn a_task_that_says_nothing_keeps_everything() {
    let engine = ruled(THREE_REFUNDS);
    let user = User { id: "u-1".into(), email: None, ..User::default() };
    let mut task = engine.start(StartTask::new("t-1", "desk", "clerk", user, noon())).unwrap();
    task.record(past("search", json!({"query": "chairs"}), json!({"n": 1})), noon()).unwrap();
    let record = task.context().invocations().next().unwrap();
    assert_eq!(
        (record.input.to_string(), record.output.unwrap().to_string()),
        (r#"{"query":"chairs"}"#.into(), r#"{"n":1}"#.into())
    );
    assert!(task.retain().is_all() && !serde_json::to_string(&task.save()).unwrap().contains("retain"));
}

fn tried(task: &Task, text: &str) -> Result<String, ErrorCode> {
    match task.evaluate(&Trial::new(Scope::Before, text), &[], noon()).unwrap() {
        Tried::Value(value) => Ok(value.to_string()),
        Tried::Failed(error) => Err(error.code),
        Tried::Asks(request) => panic!("{text}: {request:?}"),
    }
}

#[test]
fn to_read_a_value_that_was_dropped_is_an_error_however_it_is_read() {
    let mut task = start(&ruled("input.amount < 100"), Retain::Needed);
    task.record(past("fetch", json!({"ticket": "T-1"}), json!({"amount": 5})), noon()).unwrap();
    for text in [
        "c.cap.fetch.inputs[0]",
        "c.cap.fetch.inputs[0].ticket == 'T-1'",
        "c.cap.fetch.inputs[0].ticket != 'T-2'",
        "has(c.cap.fetch.inputs[0].ticket)",
        "!has(c.cap.fetch.inputs[0].other)",
        "c.cap.fetch.inputs[0].?ticket.orValue('none')",
        "size(c.cap.fetch.outputs[0]) == 0",
        "c.cap.fetch.outputs[0] == null",
        "c.cap.fetch.outputs[0] == c.cap.fetch.outputs[0]",
        "c.cap.fetch.outputs.exists(o, o.amount == 5)",
        "!c.cap.fetch.outputs.exists(o, o.amount == 6)",
        "c.cap.fetch.outputs.all(o, o.amount < 9)",
        "c.cap.fetch.calls.exists(t, t.input.ticket == 'T-1')",
        "c.cap.fetch.calls.filter(t, t.input.ticket == 'T-2').size() == 0",
        "c.cap.fetch.outputs.map(o, o.amount).sum() < 9",
        "c.cap.fetch.outputs",
        "c.cap.fetch.outputs == []  || c.cap.fetch.outputs == [1]",
        "{'a': c.cap.fetch.outputs[0]} == {'a': {}}",
        "c.cap.fetch.outputs[0] in [{}]",
        "string(c.cap.fetch.outputs[0].amount) == ''",
    ] {
        assert_eq!(tried(&task, text), Err(ErrorCode::ValueShortened), "{text}");
    }
    assert_eq!(tried(&task, "c.cap.fetch.outputs.size()"), Ok("1".into()));
    assert_eq!(tried(&task, "c.cap.fetch.outputs.exists(o, o.amount == 5) || true"), Ok("true".into()));
    // a context that is shown has null there, and says so beside it
    let request = PageRequest {
        paths: vec!["capabilities.fetch".into()],
        from: 0,
        entries: 9,
        max_bytes: 9_000,
        masks_all: false,
    };
    let page = task.context().page(&request).unwrap();
    let shown: serde_json::Value = serde_json::from_str(&page.text).unwrap();
    assert_eq!(shown["capabilities"]["fetch"]["inputs"], json!([null]));
    assert_eq!(page.dropped, ["/capabilities/fetch/inputs/0", "/capabilities/fetch/outputs/0"]);
    assert!(page.shortened.is_empty() && task.context_json().is_err());
}

#[test]
fn the_steps_behind_a_call_see_the_whole_result_also_after_a_review_and_in_another_process() {
    let engine = engine_of(
        "{after: [{assert: \"review('boss') && output.amount == 5\"}, {transform: \"{'of': input.ticket, 'n': output.amount}\"}]}",
    );
    assert_eq!(read(&engine), "- - -");
    let mut task = start(&engine, Retain::Needed);
    let call = Call::new("refund", json!({"ticket": "T-1", "amount": 5}).into());
    let id = decided(task.before(&call, noon()).unwrap()).call.unwrap();
    let result = CallResult::successful(json!({"amount": 5}).into());
    let progress = task.after(&id, result, noon()).unwrap().into_progress();
    assert!(matches!(progress, Progress::Asks(_)));
    let stored = serde_json::to_string(&task.save()).unwrap();
    let mut task = engine.restore(serde_json::from_str(&stored).unwrap()).unwrap();
    let decision = decided(task.resume(Answer::approve(), noon()).unwrap());
    assert_eq!(decision.verdict.kind(), VerdictKind::Allow, "{:?}", decision.findings);
    assert_eq!(decision.verdict.into_value().unwrap().to_string(), r#"{"of":"T-1","n":5}"#);
    assert_eq!(task.context().dropped().unwrap().values, 2);
}

#[test]
fn a_result_that_is_reported_again_is_answered_as_before_and_another_is_refused() {
    for retain in [Retain::All, Retain::Needed] {
        let engine = ruled("input.amount < 100");
        let mut task = start(&engine, retain);
        let call = Call::new("refund", json!({"ticket": "T-1", "amount": 5}).into()).with_id("a");
        let id = decided(task.before(&call, noon()).unwrap()).call.unwrap();
        let result = |paid: i64| CallResult::successful(json!({"paid": paid}).into());
        let first = decided(task.after(&id, result(5), noon()).unwrap());
        let mut task = engine.restore(task.save()).unwrap();
        let mark = task.mark();
        let again = decided(task.after(&id, result(5), noon()).unwrap());
        assert_eq!(
            (again.verdict.kind(), again.verdict.value()),
            (VerdictKind::Allow, first.verdict.value()),
            "{retain:?}"
        );
        assert!(matches!(task.after(&id, result(6), noon()), Err(TaskError::OtherResult(_))), "{retain:?}");
        assert!(matches!(
            task.before(
                &Call::new("refund", json!({"ticket": "T-2", "amount": 5}).into()).with_id("a"),
                noon()
            ),
            Err(TaskError::CallExists(_))
        ));
        // the call that is made again is over, and nothing happens
        assert_eq!(
            decided(task.before(&call, noon()).unwrap()).verdict.kind(),
            VerdictKind::Rejected,
            "{retain:?}"
        );
        assert!(task.is_at(&mark), "{retain:?}");
    }
}

// Other policies.

#[test]
fn a_rule_that_comes_later_is_told_of_and_fails_for_the_calls_of_before() {
    let mut task = start(&ruled("input.amount < 100"), Retain::Needed);
    let fetched = |n: i64| past("fetch", json!({"ticket": format!("T-{n}")}), json!({"amount": n}));
    task.record(fetched(1), noon()).unwrap();
    let later = ruled("c.cap.fetch.calls[0].input.ticket == input.ticket");
    let mut task = later.restore(task.save()).unwrap();
    let lacking: Vec<_> = task.values_lacking().collect();
    assert_eq!(lacking.len(), 1);
    assert_eq!((&*lacking[0].function, lacking[0].part, lacking[0].calls), ("fetch", KeptPart::Input, 1));
    let refund = |task: &mut Task, ticket: &str| {
        let call = Call::new("refund", json!({"ticket": ticket, "amount": 5}).into());
        decided(task.before(&call, noon()).unwrap())
    };
    let decision = refund(&mut task, "T-1");
    assert_eq!(decision.verdict.kind(), VerdictKind::Block);
    assert_eq!(decision.findings[0].code, "value_shortened");
    assert!(
        decision.findings[0].message.contains("was shortened or dropped"),
        "{}",
        decision.findings[0].message
    );
    // the calls from now on are kept, and the old one stays told of
    task.record(fetched(2), noon()).unwrap();
    assert!(refund(&mut task, "T-2").is_allowed());
    assert_eq!(task.values_lacking().next().map(|lacking| lacking.calls), Some(1));
    // under the rules of before nothing is lacking; what they do not read is dropped again
    let mut task = ruled("input.amount < 100").restore(task.save()).unwrap();
    assert_eq!(task.values_lacking().count(), 0);
    task.record(fetched(3), noon()).unwrap();
    assert_eq!(task.context().dropped_of(FunctionId(0), KeptPart::Input), 2);
}

// Laws.

/// Rules about what was called before, of many kinds.
const RULES: &[&str] = &[
    THREE_REFUNDS,
    "input.amount < 100",
    "c.cap.fetch.outputs.exists(o, o.amount >= input.amount)",
    "c.calls.exists(t, t.fn == 'fetch' && t.output.amount >= input.amount)",
    "c.cap.fetch.calls.filter(t, within(t, '1m')).size() < 4",
    "c.cap.refund.inputs.map(i, i.amount).sum() < 200",
    "c.cap.fetch.calls.size() == 0 || c.cap.fetch.calls[0].input.ticket == input.ticket",
    "c.calls.filter(t, t.status == 'restricted').size() < 3",
    "!c.cap.refund.calls.exists(t, t.open && t.input.ticket == input.ticket)",
    "c.calls.map(t, t.input).exists(i, has(i.ticket) && i.ticket == input.ticket)",
    "c.cap.search.inputs.all(i, i.query != input.ticket)",
    "!(c.cap.search.outputs.exists(o, o.n == input.amount))",
    "c.cap.search.calls.filter(t, t.output.n > 40).size() < 2",
    "c.cap.search.outputs[0] != {'n': input.amount}",
];

/// An engine for each of them.
static ENGINES: LazyLock<Vec<Engine>> = LazyLock::new(|| RULES.iter().map(|rule| ruled(rule)).collect());

#[derive(Clone, Debug)]
enum Deed {
    Call { function: usize, number: i64 },
    Report { number: i64 },
    Withdraw,
    Later { seconds: i64 },
    Store,
}

fn deeds() -> impl Strategy<Value = Vec<Deed>> {
    let deed = prop_oneof![
        5 => (0..3_usize, 0..6_i64).prop_map(|(function, number)| Deed::Call { function, number }),
        4 => (0..80_i64).prop_map(|number| Deed::Report { number }),
        1 => Just(Deed::Withdraw),
        1 => (1..50_i64).prop_map(|seconds| Deed::Later { seconds }),
        1 => Just(Deed::Store),
    ];
    proptest::collection::vec(deed, 1..40)
}

/// A task with those calls whose results are awaited.
struct Lived {
    task: Task,
    now: Timestamp,
    open: Vec<(celador::CallId, usize)>,
}

impl Lived {
    fn do_it(&mut self, engine: &Engine, deed: &Deed) -> Option<Decision> {
        let now = self.now;
        let decision = match deed {
            Deed::Call { function, number } => {
                let (name, arguments) = match function {
                    0 => ("fetch", json!({"ticket": format!("T-{number}")})),
                    1 => ("search", json!({"query": format!("T-{number}")})),
                    _ => ("refund", json!({"ticket": format!("T-{number}"), "amount": number * 30})),
                };
                let decision = decided(self.task.before(&Call::new(name, arguments.into()), now).unwrap());
                self.open.extend(
                    decision.call.clone().filter(|_| decision.is_allowed()).map(|id| (id, *function)),
                );
                decision
            }
            Deed::Report { number } if !self.open.is_empty() => {
                let (id, function) = self.open.remove(0);
                let output = if function == 1 { json!({"n": number}) } else { json!({"amount": number}) };
                let result = if *number == 7 {
                    CallResult::errored(output.into())
                } else {
                    CallResult::successful(output.into())
                };
                decided(self.task.after(&id, result, now).unwrap())
            }
            Deed::Withdraw if !self.open.is_empty() => {
                let (id, _) = self.open.remove(0);
                self.task.withdraw(&id, Ran::Never, now).unwrap()
            }
            Deed::Later { seconds } => {
                self.now = Timestamp::from_unix(now.seconds() + seconds).unwrap();
                return None;
            }
            Deed::Store => {
                let saved = serde_json::to_string(&self.task.save()).unwrap();
                self.task = engine.restore(serde_json::from_str(&saved).unwrap()).unwrap();
                return None;
            }
            Deed::Report { .. } | Deed::Withdraw => return None,
        };
        Some(decision)
    }

    fn live(engine: &Engine, retain: Retain) -> Self {
        Self { task: start(engine, retain), now: noon(), open: Vec::new() }
    }
}

/// A decision, and those that waited for it.
fn with_decided(decision: &Decision) -> Vec<&Decision> {
    std::iter::once(decision).chain(decision.decided.iter().map(|call| &call.decision)).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// A task that keeps what is needed decides as one that keeps everything, and what changed of it with each step makes the stored task.
    #[test]
    fn decisions_are_the_same(rule in 0..RULES.len(), deeds in deeds()) {
        let engine = &ENGINES[rule];
        let [mut all, mut needed] = [Retain::All, Retain::Needed].map(|retain| Lived::live(engine, retain));
        let mut stored: SavedTask = needed.task.save();
        for deed in &deeds {
            let mark = needed.task.mark();
            let decisions = [all.do_it(engine, deed), needed.do_it(engine, deed)];
            prop_assert_eq!(&decisions[0], &decisions[1], "{} at {:?}", RULES[rule], deed);
            if decisions[1].is_some() {
                let change = serde_json::to_string(&needed.task.change_since(&mark)).unwrap();
                stored = stored.apply(serde_json::from_str::<TaskChange>(&change).unwrap()).unwrap();
            }
        }
        let [stored, saved] = [&stored, &needed.task.save()].map(|saved| serde_json::to_value(saved).unwrap());
        prop_assert_eq!(stored, saved);
        prop_assert!(needed.task.values_lacking().count() == 0);
    }

    /// Under rules that read more than was kept, a step fails where it would have to read it, and never lets through what a task that keeps
    /// everything stops.
    #[test]
    fn what_is_not_kept_lets_nothing_through(first in 0..RULES.len(), second in 0..RULES.len(), before in deeds(), behind in deeds()) {
        let engines = [first, second].map(|rule| &ENGINES[rule]);
        let [mut all, mut needed] = [Retain::All, Retain::Needed].map(|retain| Lived::live(engines[0], retain));
        for deed in &before {
            for lived in [&mut all, &mut needed] {
                lived.do_it(engines[0], deed);
            }
        }
        for lived in [&mut all, &mut needed] {
            lived.task = engines[1].restore(lived.task.save()).unwrap();
        }
        let lacks = needed.task.values_lacking().count() > 0;
        for deed in &behind {
            let (Some(all), Some(needed)) = (all.do_it(engines[1], deed), needed.do_it(engines[1], deed)) else { continue };
            if all == needed {
                continue;
            }
            prop_assert!(lacks, "{} after {}: {:?} {:?}", RULES[second], RULES[first], all, needed);
            let [all, needed] = [&all, &needed].map(|decision| with_decided(decision));
            let differ = |(all, needed): &(&&Decision, &&Decision)| all.verdict != needed.verdict;
            for (all, needed) in all.iter().zip(&needed).filter(differ) {
                prop_assert!(!needed.is_allowed() && !needed.findings.is_empty(), "{all:?} {needed:?}");
            }
            // from here on the two have other histories
            return Ok(());
        }
    }
}

/// A long task keeps of the calls that no rule reads little more than that they were made.
#[test]
fn ten_thousand_calls_that_no_rule_reads_take_less_than_0_8_megabytes() {
    let held = |retain, is_decided: bool| {
        let engine = ruled(THREE_REFUNDS);
        let (task, allocated) = counted(|| {
            let mut task = start(&engine, retain);
            task.record(past("fetch", json!({"ticket": "T-0"}), json!({"amount": 90})), noon()).unwrap();
            for number in 1..10_000 {
                let found = json!({"articles": [number], "text": "How to sit on a chair, and how not to."});
                let query = json!({"query": format!("chair {number}")});
                if !is_decided {
                    task.record(past("search", query, found), noon()).unwrap();
                    continue;
                }
                let decision = decided(task.before(&Call::new("search", query.into()), noon()).unwrap());
                let result = CallResult::successful(found.into());
                assert!(task.after(&decision.call.unwrap(), result, noon()).unwrap().outcome().is_allowed());
            }
            task
        });
        assert_eq!(task.context().invocations().len(), 10_000);
        (allocated.bytes - allocated.freed, task.context().heap_bytes() as u64)
    };
    let (needed, told) = held(Retain::Needed, false);
    assert!(needed < 800_000, "{needed}");
    assert!(told <= needed && needed - told < 100_000, "{told} of {needed}");
    let (all, _) = held(Retain::All, false);
    assert!(all > 3 * needed, "{all}");
    // the last thousand are known by their ids, which is more than is kept of the others
    let (decided, _) = held(Retain::Needed, true);
    assert!(decided < 800_000, "{decided}");
}
