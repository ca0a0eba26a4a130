//! Counters of calls of the model through the library: estimates, what answers and turns tell, and what becomes of both where a call is
//! withdrawn, saved, cannot be counted or belongs to a child. What can be said in a case stands in `tests/data/cases/own/counter-model-*.yaml`.

use celador::InvocationTarget;
use celador::context::Caller;
use celador::counter::{CounterBook, CounterId, CounterState};
use celador::{
    Call, CallResult, Engine, Invocation, ModelCall, Outcome, Parent, Ran, StartTask, Task, TaskError,
    Timestamp, Turn, Usage, User, VerdictKind,
};
use serde_json::json;

const AGENTS: &str = r#"
kind: commonagents.info/v1beta2/tool
namespace: shop
name: desk
description: Keeps tickets.
actions:
  - name: open
    description: Opens a ticket.
    parameters: {properties: {weight: {type: number, default: 1}}}
    execute: {stateless_http: {method: POST, url: "https://desk.example.com"}}
  - name: close
    description: Closes a ticket.
    parameters: {properties: {weight: {type: number, default: 1}}}
    execute: {stateless_http: {method: POST, url: "https://desk.example.com"}}
---
kind: commonagents.info/v1beta2/agent
namespace: shop
name: helper
description: Helps.
prompt: You are careful.
capabilities: {desk: "*"}
---
kind: commonagents.info/v1beta2/agent
namespace: shop
name: clerk
description: Answers customers.
prompt: You are a careful clerk.
capabilities: {desk: "*", helper: {before: [{assert: "input.message != ''"}]}}
---
kind: celador/v1/policy
namespace: shop
name: budget
"#;

fn engine(policy: &str) -> Engine {
    let text = format!("{AGENTS}{policy}\n");
    Engine::parse("shop.yaml", &text).unwrap_or_else(|error| panic!("{error}"))
}

const TOKENS: &str =
    "counters: {tokens: {model: usage.total_tokens, key: context.user.id, window: day, limit: 1000}}";

fn now() -> Timestamp {
    "2026-06-01T12:00:00Z".parse().unwrap()
}

fn start(id: &str) -> StartTask {
    StartTask::new(id, "shop", "clerk", User { id: "u-7".into(), ..User::default() }, now())
}

fn usage(prompt_tokens: u64, completion_tokens: u64, cost: &str) -> Usage {
    Usage { prompt_tokens, completion_tokens, cost: cost.parse().unwrap() }
}

fn request(id: &str) -> ModelCall {
    let request = json!({"model": "small-1", "messages": [{"role": "user", "text": "Hello."}]});
    ModelCall::new(request.into()).with_id(id)
}

/// A host with a book, which makes the changes of each step.
#[derive(Default)]
struct Desk(CounterBook);

impl Desk {
    fn tokens(&self) -> i64 {
        self.balance("tokens", r#""u-7""#)
    }

    fn balance(&self, name: &str, key: &str) -> i64 {
        let id = CounterId::new("shop/budget", name, key);
        self.0.read(&id).balance("day".parse().unwrap(), now()).to_int()
    }

    fn keep(&mut self, task: &mut Task) {
        let changes = task.take_counter_changes();
        self.0.apply(task.id(), &changes, now()).unwrap();
    }

    fn decided(&mut self, task: &mut Task, progress: celador::Progress) -> celador::Decision {
        let read = |counters: &[CounterId]| {
            Ok::<Vec<CounterState>, TaskError>(counters.iter().map(|counter| self.0.read(counter)).collect())
        };
        let progress = task.settle_counters(progress, read, now()).unwrap();
        let celador::Progress::Decided(decision) = progress else { panic!("nobody is asked") };
        self.keep(task);
        decision
    }

    fn before(&mut self, task: &mut Task, call: &ModelCall) -> celador::Decision {
        let progress = task.model_before(call, now()).unwrap().into_progress();
        self.decided(task, progress)
    }

    fn after(&mut self, task: &mut Task, id: &str, answer: serde_json::Value) -> celador::Decision {
        let progress = task.model_after(&id.into(), &answer.into(), now()).unwrap().into_progress();
        self.decided(task, progress)
    }

    fn call(
        &mut self,
        task: &mut Task,
        id: &str,
        function: &str,
        arguments: serde_json::Value,
    ) -> VerdictKind {
        let call = Call::new(function, arguments.into()).with_id(id);
        let progress = task.before(&call, now()).unwrap().into_progress();
        self.decided(task, progress).verdict.kind()
    }

    fn ran(&mut self, task: &mut Task, id: &str) {
        let result = CallResult::successful(json!({}).into());
        let progress = task.after(&id.into(), result, now()).unwrap().into_progress();
        self.decided(task, progress);
    }
}

#[test]
fn an_estimate_is_held_and_gives_way_to_what_was_used() {
    let engine = engine(TOKENS);
    let (mut desk, mut task) = (Desk::default(), engine.start(start("t-1")).unwrap());
    let call = request("m-1").with_estimate(usage(300, 200, "0"));
    assert_eq!(desk.before(&mut task, &call).verdict.kind(), VerdictKind::Allow);
    assert_eq!(desk.tokens(), 500);
    // saved and restored the call holds what it held
    let text = serde_json::to_string(&task.save()).unwrap();
    let mut task = engine.restore(serde_json::from_str(&text).unwrap()).unwrap();
    // another task of the user sees it
    let mut other = engine.start(start("t-2")).unwrap();
    let large = request("m-1").with_estimate(usage(501, 0, "0"));
    assert_eq!(desk.before(&mut other, &large).verdict.kind(), VerdictKind::Block);
    let answer = json!({"text": "Hi.", "usage": {"prompt_tokens": 100, "completion_tokens": 20}});
    let told = desk.after(&mut task, "m-1", answer.clone());
    assert_eq!((told.verdict.kind(), desk.tokens()), (VerdictKind::Allow, 120));
    assert_eq!(told.counters[0].adds.unwrap().to_int(), 120);
    // the same answer once more, and the turn that is the same one, change nothing
    desk.after(&mut task, "m-1", answer);
    task.model_turn(usage(100, 20, "0"), now());
    desk.keep(&mut task);
    assert_eq!(desk.tokens(), 120);
}

#[test]
fn a_turn_that_is_reported_corrects_what_its_answer_did_not_tell() {
    let engine = engine(TOKENS);
    for (reported, sum) in [(usage(10, 5, "0"), 15), (usage(900, 700, "0"), 1600)] {
        let (mut desk, mut task) = (Desk::default(), engine.start(start("t-1")).unwrap());
        desk.before(&mut task, &request("m-1").with_estimate(usage(300, 200, "0")));
        desk.after(&mut task, "m-1", json!({"text": "Hi."}));
        assert_eq!(desk.tokens(), 500);
        task.model_turn(reported, now());
        desk.keep(&mut task);
        assert_eq!(desk.tokens(), sum);
        // and a second turn is one of its own
        task.model_turn(reported, now());
        desk.keep(&mut task);
        assert_eq!(desk.tokens(), 2 * sum);
    }
}

#[test]
fn a_turn_without_a_question_counts() {
    let engine = engine(TOKENS);
    let (mut desk, mut task) = (Desk::default(), engine.start(start("t-1")).unwrap());
    let turn = Turn { usage: usage(600, 500, "0"), calls: Vec::new() };
    assert!(task.turn(&turn, now()).unwrap().limits.is_allowed());
    desk.keep(&mut task);
    assert_eq!(desk.tokens(), 1100);
    assert_eq!(desk.before(&mut task, &request("m-1")).verdict.kind(), VerdictKind::Block);
    // one that comes in the place of an answer takes the place of the estimate
    let mut other = engine
        .start(StartTask { user: User { id: "u-8".into(), ..User::default() }, ..start("t-2") })
        .unwrap();
    desk.before(&mut other, &request("m-1").with_estimate(usage(500, 0, "0")));
    other.model_turn(usage(7, 0, "0"), now());
    desk.keep(&mut other);
    assert_eq!(desk.balance("tokens", r#""u-8""#), 7);
}

#[test]
fn a_turn_that_cannot_be_counted_lets_nothing_run() {
    let engine =
        engine("counters: {tokens: {model: usage.total_tokens, key: input.model, window: day, limit: 1000}}");
    let (mut desk, mut task) = (Desk::default(), engine.start(start("t-1")).unwrap());
    let turn = Turn { usage: usage(6, 5, "0"), calls: vec![Call::new("desk_open", json!({}).into())] };
    let turned = task.turn(&turn, now()).unwrap();
    assert_eq!(turned.limits.verdict.kind(), VerdictKind::Block);
    assert!(turned.calls.iter().all(|call| call.decision.verdict.kind() == VerdictKind::Rejected));
    // of a call that it was asked about the request is known
    desk.before(&mut task, &request("m-1"));
    task.model_turn(usage(6, 5, "0"), now());
    desk.keep(&mut task);
    assert_eq!(desk.balance("tokens", r#""small-1""#), 11);
}

#[test]
fn what_a_call_holds_ends_with_it() {
    let engine = engine(TOKENS);
    for (ran, sum) in [(Ran::Never, 0), (Ran::Unknown, 500)] {
        let (mut desk, mut task) = (Desk::default(), engine.start(start("t-1")).unwrap());
        desk.before(&mut task, &request("m-1").with_estimate(usage(300, 200, "0")));
        task.withdraw(&"m-1".into(), ran, now()).unwrap();
        desk.keep(&mut task);
        assert_eq!(desk.tokens(), sum, "{ran:?}");
    }
    let (mut desk, mut task) = (Desk::default(), engine.start(start("t-1")).unwrap());
    desk.before(&mut task, &request("m-1").with_estimate(usage(300, 200, "0")));
    task.end("done", now());
    desk.keep(&mut task);
    assert_eq!(desk.tokens(), 500);
    // an answer behind the end is not counted once more
    let answer = json!({"text": "Hi.", "usage": {"prompt_tokens": 100, "completion_tokens": 20}});
    let _ = task.model_after(&"m-1".into(), &answer.into(), now());
    desk.keep(&mut task);
    assert_eq!(desk.tokens(), 500);
}

#[test]
fn an_answer_counts_although_the_task_was_locked_meanwhile() {
    let policy = "guardrails: {before: [{assert: context.llm.tokens.total > 5, on_fail: lock_task}]}";
    let engine = engine(&format!("{TOKENS}\n{policy}"));
    let (mut desk, mut task) = (Desk::default(), engine.start(start("t-1")).unwrap());
    desk.before(&mut task, &request("m-1").with_estimate(usage(300, 200, "0")));
    let _ = task.input(&json!("bad").into(), now());
    desk.keep(&mut task);
    let answer = json!({"text": "Hi.", "usage": {"prompt_tokens": 100, "completion_tokens": 20}});
    let told = desk.after(&mut task, "m-1", answer);
    assert_eq!((told.verdict.kind(), desk.tokens()), (VerdictKind::Rejected, 120));
}

#[test]
fn what_a_transform_makes_of_a_request_has_the_counter() {
    let policy = "counters: {tokens: {model: usage.total_tokens, key: input.model, window: day, limit: 1000}}\n\
                  model:\n  before:\n    - {assert: counters.tokens < 1000}\n    \
                  - {transform: \"input.put('model', 'small-2')\"}";
    let engine = engine(policy);
    let (mut desk, mut task) = (Desk::default(), engine.start(start("t-1")).unwrap());
    assert_eq!(desk.before(&mut task, &request("m-1")).verdict.kind(), VerdictKind::Allow);
    assert_eq!((desk.balance("tokens", r#""small-1""#), desk.balance("tokens", r#""small-2""#)), (0, 1));
}

#[test]
fn bad_usage_is_no_answer() {
    let engine = engine("counters: {cost: {model: usage.cost, window: day, limit: 1000}}");
    let (mut desk, mut task) = (Desk::default(), engine.start(start("t-1")).unwrap());
    desk.before(&mut task, &request("m-1").with_estimate(usage(1, 1, "5")));
    for usage in [
        json!({"prompt_tokens": -1, "completion_tokens": 1}),
        json!({"prompt_tokens": 1, "completion_tokens": 1, "cost": -0.5}),
        json!({"prompt_tokens": 1, "completion_tokens": 1, "cost": 1e300}),
        json!({"prompt_tokens": 1, "completion_tokens": 1, "cost": "NaN"}),
        json!({"prompt_tokens": 1e30, "completion_tokens": 1}),
    ] {
        let told = desk.after(&mut task, "m-1", json!({"text": "Hi.", "usage": usage}));
        assert_eq!(
            (told.verdict.kind(), desk.balance("cost", "")),
            (VerdictKind::InvalidInput, 5),
            "{usage}"
        );
    }
    let usage = json!({"prompt_tokens": 1, "completion_tokens": 1, "cost": 7});
    assert_eq!(
        desk.after(&mut task, "m-1", json!({"text": "Hi.", "usage": usage})).verdict.kind(),
        VerdictKind::Allow
    );
    assert_eq!(desk.balance("cost", ""), 7);
}

const TICKETS: &str = "counters:\n  tickets: {on: desk, window: day, decrease: HOW, \
                       add: \"call.fn == 'desk_open' ? input.weight : -input.weight\", limit: 3}";

#[test]
fn what_calls_take_away_counts_when_they_have_run() {
    for (how, left) in [("to_zero", 0), ("below_zero", -2)] {
        let engine = engine(&TICKETS.replace("HOW", how));
        let (mut desk, mut task) = (Desk::default(), engine.start(start("t-1")).unwrap());
        let weight = |weight: i64| json!({ "weight": weight });
        assert_eq!(desk.call(&mut task, "a", "desk_open", weight(3)), VerdictKind::Allow);
        desk.ran(&mut task, "a");
        assert_eq!(desk.call(&mut task, "b", "desk_open", weight(1)), VerdictKind::Block, "{how}");
        // a call that is open makes no room, nor does one that never ran
        assert_eq!(desk.call(&mut task, "c", "desk_close", weight(3)), VerdictKind::Allow);
        let mut other = engine.start(start("t-2")).unwrap();
        assert_eq!(desk.call(&mut other, "d", "desk_open", weight(1)), VerdictKind::Block, "{how}");
        task.withdraw(&"c".into(), Ran::Never, now()).unwrap();
        desk.keep(&mut task);
        assert_eq!(desk.call(&mut other, "e", "desk_open", weight(1)), VerdictKind::Block, "{how}");
        // one that has run does, and what is taken away beyond zero is what `decrease` says
        assert_eq!(desk.call(&mut task, "f", "desk_close", weight(5)), VerdictKind::Allow);
        desk.ran(&mut task, "f");
        let room = desk.call(&mut other, "g", "desk_open", weight(3 - left));
        assert_eq!(room, VerdictKind::Allow, "{how}");
        other.withdraw(&"g".into(), Ran::Never, now()).unwrap();
        desk.keep(&mut other);
        assert_eq!(desk.call(&mut other, "h", "desk_open", weight(4 - left)), VerdictKind::Block, "{how}");
    }
}

#[test]
fn without_a_word_nothing_is_taken_away() {
    let engine = engine(&TICKETS.replace("HOW", "none"));
    let (mut desk, mut task) = (Desk::default(), engine.start(start("t-1")).unwrap());
    assert_eq!(desk.call(&mut task, "a", "desk_close", json!({"weight": 1})), VerdictKind::Block);
    assert_eq!(desk.balance("tickets", ""), 0);
}

#[test]
fn tasks_of_a_tree_count_together_and_others_do_not() {
    let engine = engine(
        "counters: {tokens: {model: usage.total_tokens, window: day, scope: tree, limit: 1000}}\n\
         model: {before: [{assert: context.depth < 2, on_fail: block}]}",
    );
    let mut desk = Desk::default();
    let mut root = engine.start(start("t-1")).unwrap();
    let invocation = |arguments: serde_json::Value| Invocation {
        function: "helper".into(),
        caller: Caller::Model,
        target: InvocationTarget::Agent { namespace: "shop".into(), agent: "helper".into() },
        arguments: arguments.into(),
        terms: None,
    };
    let child = root.child("t-2", &invocation(json!({"message": "Help."})), now()).unwrap();
    let mut child = engine.start(child).unwrap();
    assert_eq!((root.depth(), child.depth(), child.tree_root()), (0, 1, "t-1"));
    // saved and restored a child stays where it is
    let text = serde_json::to_string(&child.save()).unwrap();
    child = engine.restore(serde_json::from_str(&text).unwrap()).unwrap();
    let grandchild = StartTask { parent: Some(Parent::new("t-2").below(child.parent())), ..start("t-3") };
    let mut grandchild = engine.start(grandchild).unwrap();
    assert_eq!((grandchild.depth(), grandchild.tree_root()), (2, "t-1"));

    let large = |id: &str| request(id).with_estimate(usage(600, 0, "0"));
    assert_eq!(desk.before(&mut child, &large("m-1")).verdict.kind(), VerdictKind::Allow);
    assert_eq!(desk.before(&mut root, &large("m-1")).verdict.kind(), VerdictKind::Block);
    // another tree of the same user has a counter of its own
    let mut other = engine.start(start("t-9")).unwrap();
    assert_eq!(desk.before(&mut other, &large("m-1")).verdict.kind(), VerdictKind::Allow);
    assert_eq!((desk.balance("tokens", r#"["t-1"]"#), desk.balance("tokens", r#"["t-9"]"#)), (600, 600));
    // and two delegations are deep enough
    let small = request("m-1").with_estimate(usage(1, 0, "0"));
    let Outcome::Refused(_) = grandchild.model_before(&small, now()).unwrap().outcome() else {
        panic!("too deep")
    };
}
